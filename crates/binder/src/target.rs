//! The table that a data change statement changes, and how its rows are made.

use std::sync::Arc;

use engine::{ModuleKind, ObjectDef};
use plan_ir::bound::change::{BoundStore, BoundValue};
use plan_ir::bound::tree::Expr;
use plan_ir::kinds::ScanHints;
use plan_ir::names::same_name;
use plan_ir::names::written;
use plan_ir::table::TableSource;
use tsql::ast::{self, ObjectName};
use types::{SqlError, SqlType, Value};

use super::found_target::{Access, InsertTarget, Named, TargetRequest};
use super::names::Resolved;
use super::seen_through::Through;
use super::{Binder, Clause, Scope, coerce};

impl Binder<'_> {
    /// The base table behind OUTPUT ... INTO: error 330 when it is no table.
    pub fn output_table(&mut self, target: &ast::DmlTargetKind) -> Result<Arc<TableSource>, SqlError> {
        match self.named_target(target)? {
            Named::Table(source) => Ok(source),
            Named::View(name, ..) | Named::CommonTable(name) => Err(SqlError::new(330, &[&written(&name)])),
        }
    }

    /// Resolves a target's name. Errors 208, 259 (system catalog).
    pub fn named_target(&mut self, target: &ast::DmlTargetKind) -> Result<Named, SqlError> {
        match target {
            ast::DmlTargetKind::Table(name) => self.named(name),
            ast::DmlTargetKind::Variable(name, _) => {
                self.check_changeable(name)?;
                let real = self
                    .dependencies
                    .temporary(self.context.names, name)
                    .ok_or_else(|| plan_ir::errors::undeclared_table_variable(name))?;
                self.named(&temp_name(&real))
            }
            ast::DmlTargetKind::Source(_) => Err(plan_ir::errors::unsupported("OPENROWSET as a target")),
        }
    }

    /// Error 10700 when the table variable of this name, written or real, is a READONLY parameter.
    pub(super) fn check_changeable(&self, name: &str) -> Result<(), SqlError> {
        match self.context.names.read_only_table(name) {
            Some(written) => Err(plan_ir::errors::read_only_parameter(&written)),
            None => Ok(()),
        }
    }

    fn named(&mut self, name: &ObjectName) -> Result<Named, SqlError> {
        if self.is_common_table(name) {
            return Ok(Named::CommonTable(name.clone()));
        }
        self.refuse_trigger_table(name)?;
        match self.resolve_table(name)? {
            Resolved::Object(database, object) => match &object {
                ObjectDef::Table(table) if table.is_system => Err(plan_ir::errors::system_catalog_update()),
                ObjectDef::Table(table) => {
                    check_in_use(table)?;
                    Ok(Named::Table(Arc::new(TableSource::new(database, table.clone()))))
                }
                ObjectDef::Module(module) if module.kind == ModuleKind::View => {
                    Ok(Named::View(name.clone(), database, object.object_id()))
                }
                ObjectDef::Module(_) | ObjectDef::Sequence(_) => {
                    Err(plan_ir::errors::invalid_object(&written(name)))
                }
            },
            Resolved::System(..) => Err(plan_ir::errors::system_catalog_update()),
        }
    }

    /// The base table of a name, for what is done to tables only: error 4708 for a view or a synonym.
    pub fn base_table(&mut self, name: &ObjectName) -> Result<Arc<TableSource>, SqlError> {
        let target = self.named(name)?;
        if let Resolved::Object(_, ObjectDef::Module(module)) = self.resolve_own(name)?
            && module.kind == ModuleKind::Synonym
        {
            return Err(SqlError::new(4708, &[&written(name)]));
        }
        match target {
            Named::Table(source) => Ok(source),
            Named::View(name, ..) | Named::CommonTable(name) => Err(SqlError::new(4708, &[&written(&name)])),
        }
    }

    /// Which source of FROM an UPDATE or DELETE changes: the one with the alias, else the one that reads the table, without an alias if
    /// several do, else the table beside them all. Errors 208, 8154.
    pub fn target_request(
        &mut self,
        target: &ast::DmlTargetKind,
        from: &[ast::TableSource],
        hints: ScanHints,
        access: Access,
    ) -> Result<TargetRequest, SqlError> {
        let mut sources = Vec::new();
        from.iter().for_each(|source| own_sources(source, &mut sources));
        let request =
            |position, beside| TargetRequest { position, seen: 0, beside, access, found: None, hints };
        if let ast::DmlTargetKind::Table(name) = target
            && name.is_simple()
            && let Some(position) = sources.iter().position(|source| {
                exposed_alias(source).is_some_and(|alias| same_name(alias, &name.name.value))
            })
        {
            return match sources[position] {
                ast::TableSource::Table(_)
                | ast::TableSource::Variable { .. }
                | ast::TableSource::Derived(_)
                | ast::TableSource::Values(_)
                | ast::TableSource::Function(_) => Ok(request(Some(position), None)),
                _ => Err(plan_ir::errors::unsupported("changing data through this table source")),
            };
        }
        let object = self.named_target(target)?;
        let mut same = Vec::new();
        for (position, source) in sources.iter().enumerate() {
            if self.reads_object(source, &object)? {
                same.push((position, exposed_alias(source).is_none()));
            }
        }
        let plain: Vec<usize> = same.iter().filter(|found| found.1).map(|found| found.0).collect();
        match (same.as_slice(), plain.as_slice()) {
            ([], _) => Ok(request(None, Some(object))),
            ([(position, _)], _) | (_, [position]) => Ok(request(Some(*position), None)),
            _ => Err(SqlError::new(8154, &[&written_target(target)])),
        }
    }

    /// Where an INSERT goes; to the view itself if its INSTEAD OF trigger fires. Errors 207, 208, 259 and those of a query that cannot be changed through.
    pub fn insert_target(
        &mut self,
        target: &ast::DmlTargetKind,
        access: &Access,
        fires_triggers: bool,
    ) -> Result<InsertTarget, SqlError> {
        let name = match self.named_target(target)? {
            Named::Table(source) => return Ok(InsertTarget { source, through: None }),
            Named::View(name, database, id) => {
                if fires_triggers
                    && let Some(ObjectDef::Module(view)) = database.catalog().object(id)
                    && let Some(source) =
                        self.view_as_table(&database, &view, engine::TriggerEvent::Insert)?
                {
                    return Ok(InsertTarget { source, through: None });
                }
                name
            }
            Named::CommonTable(name) => name,
        };
        self.scopes.push(Scope::default());
        let found = self.named_source(&name, None, &[], false).and_then(|mut rel| {
            // The rows of the query are not read: only what its columns are matters.
            self.look_through(&mut rel, access, &ScanHints::default())
        });
        self.scopes.pop();
        found.map(|found| InsertTarget { source: found.source, through: found.through })
    }

    /// Is the source the one that is looked for? Called once for each, from the left.
    pub fn is_next_target(&mut self) -> bool {
        let Some(request) = &mut self.target else {
            return false;
        };
        request.seen += 1;
        request.position == Some(request.seen - 1)
    }

    /// Does a source of FROM read the table, view or common table expression under its own name?
    fn reads_object(&mut self, source: &ast::TableSource, object: &Named) -> Result<bool, SqlError> {
        let found = match source {
            ast::TableSource::Table(table) => self.named(&table.name),
            ast::TableSource::Variable { name, span, .. } => {
                self.named_target(&ast::DmlTargetKind::Variable(name.clone(), *span))
            }
            _ => return Ok(false),
        };
        match found {
            Ok(found) => Ok(found.is_same(object)),
            Err(error) if matches!(error.number, 1205 | 1222 | 3617) => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn is_common_table(&self, name: &ObjectName) -> bool {
        name.is_simple() && self.common_tables.iter().any(|entry| same_name(&entry.name, &name.name.value))
    }

    /// How a value of an expression is stored into a column.
    pub fn store(
        &mut self,
        source: &TableSource,
        ordinal: usize,
        value: Expr,
    ) -> Result<BoundStore, SqlError> {
        let to = source.def.columns[ordinal].sql_type;
        plan_ir::bound::untyped::note(&value, to);
        plan_ir::bound::coercibility::check_stored(&value, &to)?;
        let by_length = is_cut_by_length(&to);
        let value = if by_length {
            if !value.is_null_literal() {
                types::convert::matrix::check(&value.sql_type, &to, false)?;
            }
            BoundValue::Assign(value)
        } else {
            BoundValue::Direct(coerce::implicit(value, &to)?)
        };
        Ok(BoundStore { ordinal, value })
    }

    /// How a column gets its value when none is given.
    pub fn default_store(&mut self, source: &TableSource, ordinal: usize) -> Result<BoundStore, SqlError> {
        let column = &source.def.columns[ordinal];
        if column.identity.is_some() {
            return Ok(BoundStore { ordinal, value: BoundValue::Identity });
        }
        if column.sql_type == SqlType::RowVersion {
            return Ok(BoundStore { ordinal, value: BoundValue::RowVersion });
        }
        let Some(default) = &column.default else {
            return Ok(BoundStore { ordinal, value: BoundValue::Null });
        };
        let text = default.text.clone();
        let expr = self.stored_default(source, &text)?;
        self.store(source, ordinal, expr)
    }

    /// Binds a default of a table. The sequences that it names are those of the table's database.
    pub fn stored_default(&mut self, source: &TableSource, text: &str) -> Result<Expr, SqlError> {
        // Those of a table variable's are of the session's own, although it lives in tempdb.
        let home = if source.def.is_table_variable() { &self.database } else { &source.database };
        let home = home.clone();
        let outer = std::mem::replace(&mut self.database, home);
        let bound = self.stored_expression(&source.def, text, None, |binder, expr| {
            binder.next_values.allow_in_default(expr);
            binder.value(expr)
        });
        self.database = outer;
        bound
    }

    /// Binds a stored expression (default, check, computed column) of a table over its columns.
    pub fn stored_expression(
        &mut self,
        table: &engine::TableDef,
        text: &str,
        columns: Option<super::ScopeTable>,
        bind: impl FnOnce(&mut Self, &ast::Expr) -> Result<Expr, SqlError>,
    ) -> Result<Expr, SqlError> {
        let parsed = plan_ir::stored::parse_expression(text)?;
        let database = self.database.clone();
        let inlines_functions = std::mem::replace(&mut self.inlines_functions, false);
        let bound = self.isolated(database, "dbo".into(), table.ansi_nulls, |binder| {
            binder.scopes.push(Scope {
                tables: columns.into_iter().collect(),
                clause: Clause::Rows,
                ..Scope::default()
            });
            bind(binder, &parsed)
        });
        self.inlines_functions = inlines_functions;
        bound
    }

    /// Ordinals of named target columns. Errors 207, 264, 271, 4406.
    pub fn target_columns(
        &self,
        source: &TableSource,
        through: Option<&Through>,
        columns: &[ast::ColumnRef],
    ) -> Result<Vec<usize>, SqlError> {
        let mut ordinals = Vec::with_capacity(columns.len());
        let mut unknown = Vec::new();
        for column in columns {
            let ordinal = match self.target_column(source, through, &column.name.value) {
                Err(error) if error.number == 207 && self.tells_all_names => {
                    unknown.push(error);
                    continue;
                }
                ordinal => ordinal?,
            };
            if ordinals.contains(&ordinal) {
                return Err(plan_ir::errors::column_assigned_twice(&column.name.value));
            }
            ordinals.push(ordinal);
        }
        super::names::all_of(unknown).map_or(Ok(ordinals), Err)
    }

    /// The ordinal of one target column that may be written.
    pub fn target_column(
        &self,
        source: &TableSource,
        through: Option<&Through>,
        name: &str,
    ) -> Result<usize, SqlError> {
        let ordinal = match through {
            Some(through) => through.ordinal(name)?,
            None => super::names::ordinal_of(&source.def, name)
                .ok_or_else(|| plan_ir::errors::invalid_column(name))?,
        };
        let column = &source.def.columns[ordinal];
        if column.computed.is_some() {
            return Err(plan_ir::errors::column_computed(&column.name));
        }
        self.observe_change(source.def.object_id, &column.name);
        Ok(ordinal)
    }

    /// The literal NULL for a column.
    pub fn null_of(sql_type: SqlType) -> Expr {
        Expr::constant(Value::Null, sql_type)
    }
}

/// Types whose values may be longer than the column: checked when stored (2628).
pub fn is_cut_by_length(sql_type: &SqlType) -> bool {
    use types::sql_type::TypeFamily::{Binary, Char, NChar, Variant, Xml};
    matches!(sql_type.family(), Char | NChar | Binary | Variant | Xml)
}

/// The rows of a table are out of reach while its clustered index is disabled. Error 8655.
pub(super) fn check_in_use(table: &engine::TableDef) -> Result<(), SqlError> {
    let base = table.base();
    if base.is_disabled {
        return Err(SqlError::new(8655, &[&base.name.clone().unwrap_or_default(), &table.name]));
    }
    Ok(())
}

/// `tempdb.dbo.real`.
pub fn temp_name(real: &str) -> ObjectName {
    ObjectName {
        database: Some(ast::Ident::new("tempdb")),
        schema: Some(ast::Ident::new("dbo")),
        ..ObjectName::simple(real)
    }
}

/// The sources of a FROM clause in the order in which they are bound.
fn own_sources<'q>(source: &'q ast::TableSource, into: &mut Vec<&'q ast::TableSource>) {
    match source {
        ast::TableSource::Join(join) => {
            own_sources(&join.left, into);
            own_sources(&join.right, into);
        }
        ast::TableSource::OdbcOuterJoin(inner) => own_sources(inner, into),
        own => into.push(own),
    }
}

/// The alias of a source, or the name of a common table expression or view without one.
fn exposed_alias(source: &ast::TableSource) -> Option<&str> {
    let alias = match source {
        ast::TableSource::Table(table) => table.alias.as_ref(),
        ast::TableSource::Variable { alias, .. } => alias.as_ref(),
        ast::TableSource::Derived(derived) => derived.alias.as_ref(),
        ast::TableSource::Values(values) => values.alias.as_ref(),
        ast::TableSource::Function(function) => function.alias.as_ref(),
        ast::TableSource::Pivot(pivot) => pivot.alias.as_ref(),
        ast::TableSource::Unpivot(unpivot) => unpivot.alias.as_ref(),
        _ => None,
    };
    alias.map(|alias| alias.value.as_str())
}

fn written_target(target: &ast::DmlTargetKind) -> String {
    match target {
        ast::DmlTargetKind::Table(name) => written(name),
        ast::DmlTargetKind::Variable(name, _) => name.clone(),
        ast::DmlTargetKind::Source(_) => String::new(),
    }
}
