//! FROM: tables, views, derived tables, common table expressions, joins, table-valued functions.

use std::sync::Arc;

use engine::{ModuleDef, ModuleKind, ObjectDef};
use plan_ir::bound::tree::{Expr, ExprKind, Rel, SystemScan, TableScan};
use plan_ir::kinds::{CatalogReading, Coercibility, ColumnId, JoinKind, ScanHints};
use plan_ir::names::same_name;
use plan_ir::names::written;
use plan_ir::table::TableSource as BaseTable;
use plan_ir::view::{ColumnRule, View};
use tsql::ast::{self, Ident, ObjectName, TableSource};
use types::{Collation, SqlError, SqlType};

use super::found_target::Access;
use super::names::Resolved;
use super::next_values::{CLAUSE, NESTED, TABLE_FUNCTION};
use super::rowset::{parts_of_text, series};
use super::stars::not_usable;
use super::table_argument::Argument;
use super::{Binder, BoundQuery, Clause, CommonTableDefinition, CommonTableEntry, ScopeColumn, ScopeTable};

/// The query of a view.
pub struct ViewQuery {
    pub rows: BoundQuery,
    /// Names of its columns, when they stand behind the view's name.
    pub names: Vec<Ident>,
    pub has_check_option: bool,
}

/// Most tables of a FROM clause.
const TABLES_MAX: usize = 256;

impl Binder<'_> {
    /// Binds the sources of a FROM clause; their tables go into the innermost scope.
    pub fn from(&mut self, sources: &[TableSource]) -> Result<Rel, SqlError> {
        let mut all: Option<Rel> = None;
        if sources.len() > TABLES_MAX {
            return Err(plan_ir::errors::too_many_tables(TABLES_MAX));
        }
        for source in sources {
            let rel = self.refusing_next_values(CLAUSE, true, |binder| binder.source(source))?;
            all = Some(match all {
                None => rel,
                Some(left) => join(JoinKind::Inner, left, rel, None),
            });
        }
        Ok(all.unwrap_or(Rel::OneRow))
    }

    pub(super) fn source(&mut self, source: &TableSource) -> Result<Rel, SqlError> {
        let before = self.scope().tables.len();
        let rel = self.deeper(|binder| binder.source_inside(source))?;
        self.check_exposed_names(before)?;
        Ok(rel)
    }

    /// No two tables of a FROM clause have one exposed name: 1011, 1012, 1013. `before`: how many there were without the newest.
    fn check_exposed_names(&mut self, before: usize) -> Result<(), SqlError> {
        let start = self.scope().qualified_only;
        let tables = &self.scope().tables;
        for (at, new) in tables.iter().enumerate().skip(before) {
            let mut before = tables.iter().take(at).skip(start);
            if let Some(other) = before.find(|other| is_same_exposed(other, new)) {
                return Err(match (&other.schema, &new.schema) {
                    (Some(_), Some(_)) => SqlError::new(1013, &[&shown(new), &shown(other)]),
                    (None, None) => SqlError::new(1011, &[&new.alias]),
                    _ => {
                        let table = if other.schema.is_some() { other } else { new };
                        SqlError::new(1012, &[&new.alias, &shown(table)])
                    }
                });
            }
        }
        Ok(())
    }

    fn source_inside(&mut self, source: &TableSource) -> Result<Rel, SqlError> {
        let is_join = matches!(source, TableSource::Join(_) | TableSource::OdbcOuterJoin(_));
        let wanted = !is_join && self.is_next_target();
        match source {
            TableSource::Table(table) => {
                crate::clauses::check_table_reference(table)?;
                self.named_source(&table.name, table.alias.as_ref(), &table.hints, wanted)
            }
            TableSource::Variable { name, alias, .. } => {
                if let Some(source) = self.parameter_source(name, alias.as_ref()) {
                    return source;
                }
                let real = self
                    .dependencies
                    .temporary(self.context.names, name)
                    .ok_or_else(|| plan_ir::errors::undeclared_table_variable(name))?;
                let object = ObjectName {
                    database: Some(Ident::new("tempdb")),
                    schema: Some(Ident::new("dbo")),
                    ..ObjectName::simple(real)
                };
                let alias = alias.clone().unwrap_or_else(|| Ident::new(name.clone()));
                self.named_source(&object, Some(&alias), &[], wanted)
            }
            TableSource::Derived(derived) => {
                let query = self.hidden(|binder| binder.query(&derived.query))?;
                let alias = derived.alias.as_ref().map_or("", |alias| alias.value.as_str());
                self.note_query(&query.rel, alias, true, false);
                let rel = self.add_query(query, alias, &derived.columns)?;
                self.wanted_query(rel, wanted)
            }
            TableSource::Values(values) => {
                let query = self.refusing_next_values(NESTED, true, |binder| {
                    binder.hidden(|binder| binder.values_query(&values.rows))
                })?;
                let alias = values.alias.as_ref().map_or("", |alias| alias.value.as_str());
                let rel = self.add_query(query, alias, &values.columns)?;
                self.wanted_query(rel, wanted)
            }
            TableSource::Join(join) => self.join(join),
            TableSource::OdbcOuterJoin(inner) => self.source(inner),
            TableSource::Function(function) => {
                let rel = self
                    .refusing_next_values(TABLE_FUNCTION, true, |binder| binder.function_source(function))?;
                self.wanted_query(rel, wanted)
            }
            TableSource::OpenJson(open) => {
                let rel = self.refusing_next_values(TABLE_FUNCTION, true, |binder| binder.open_json(open))?;
                self.wanted_query(rel, wanted)
            }
            TableSource::OpenXml(open) => self.open_xml(open),
            TableSource::OpenRowset(open) if open.kind == ast::OpenRowsetKind::Bulk => {
                let rel = self.refusing_next_values(TABLE_FUNCTION, true, |binder| binder.open_bulk(open))?;
                self.wanted_query(rel, wanted)
            }
            TableSource::OpenRowset(open) => Err(plan_ir::errors::unsupported(match open.kind {
                ast::OpenRowsetKind::Query => "OPENQUERY",
                ast::OpenRowsetKind::DataSource => "OPENDATASOURCE",
                _ => "OPENROWSET",
            })),
            TableSource::Pivot(pivot) => self.pivot(pivot),
            TableSource::Unpivot(unpivot) => self.unpivot(unpivot),
            TableSource::Dml(_) => Err(plan_ir::errors::unsupported("a data change statement in FROM")),
        }
    }

    /// Runs `f` with the tables of this FROM clause out of sight: a derived table does not see its neighbours.
    pub(super) fn hidden<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let tables = std::mem::take(&mut self.scope().tables);
        let result = f(self);
        self.scope().tables = tables;
        result
    }

    /// The rows of a query that is the statement's target lead to the table behind it.
    fn wanted_query(&mut self, mut rel: Rel, wanted: bool) -> Result<Rel, SqlError> {
        if wanted && let Some(mut request) = self.target.take() {
            request.found = Some(self.look_through(&mut rel, &request.access, &request.hints)?);
            self.target = Some(request);
        }
        Ok(rel)
    }

    /// The same of a view, which a trigger may change.
    fn wanted_view(
        &mut self,
        rel: Rel,
        database: &Arc<engine::Database>,
        view: &Arc<ModuleDef>,
        wanted: bool,
    ) -> Result<Rel, SqlError> {
        let event = match self.target.as_ref().map(|request| &request.access) {
            Some(Access::Delete) => engine::TriggerEvent::Delete,
            Some(Access::Columns(_)) => engine::TriggerEvent::Update,
            _ => return self.wanted_query(rel, wanted),
        };
        let source = if wanted { self.view_as_table(database, view, event)? } else { None };
        let Some(source) = source else { return self.wanted_query(rel, wanted) };
        let (rel, found) = self.rows_for_trigger(rel, source);
        if let Some(request) = &mut self.target {
            request.found = Some(found);
        }
        Ok(rel)
    }

    /// A table, view or common table expression by its name.
    pub fn named_source(
        &mut self,
        name: &ObjectName,
        alias: Option<&Ident>,
        hints: &[ast::TableHint],
        wanted: bool,
    ) -> Result<Rel, SqlError> {
        if name.is_simple()
            && let Some(index) =
                self.common_tables.iter().rposition(|entry| same_name(&entry.name, &name.name.value))
        {
            let hints = self.hints_of(name, alias, hints)?;
            let mut rel = self.common_table(index, alias)?;
            super::hints::hint_tables(&mut rel, &hints)?;
            return self.wanted_query(rel, wanted);
        }
        if let Some(table) = self.trigger_table_named(name) {
            if wanted {
                return Err(SqlError::new(286, &[]));
            }
            let alias = alias.unwrap_or(&name.name);
            self.hints_of(name, Some(alias), hints)?;
            return self.trigger_table(table, &alias.value);
        }
        let (resolved, synonym) = self.resolve_base(name)?;
        let tables = self.scope().tables.len();
        let rel = self.object_source(resolved, name, alias, hints, wanted)?;
        if let (Some((database, module)), None) = (synonym, alias)
            && let Some(table) = self.scope().tables.get_mut(tables)
        {
            // The synonym is what qualifies columns.
            table.schema = Some(module.schema.to_string());
            table.database = Some(database.name().to_string());
        }
        Ok(rel)
    }

    /// An object or system view in FROM.
    fn object_source(
        &mut self,
        resolved: Resolved,
        name: &ObjectName,
        alias: Option<&Ident>,
        hints: &[ast::TableHint],
        wanted: bool,
    ) -> Result<Rel, SqlError> {
        let exposed = alias.map_or(name.name.value.as_str(), |alias| alias.value.as_str()).to_string();
        let hints = self.hints_of(name, alias, hints)?;
        match resolved {
            Resolved::System(..) if wanted => Err(plan_ir::errors::system_catalog_update()),
            Resolved::System(view, database) => {
                if view.parameters > 0 {
                    return Err(plan_ir::errors::function_needs_arguments(&written(name)));
                }
                self.add_system(
                    view,
                    database,
                    Vec::new(),
                    (&exposed, alias.is_some()),
                    super::hints::catalog_reading(&hints),
                )
            }
            Resolved::Object(database, object) => match &object {
                ObjectDef::Table(table) if wanted && table.is_system => {
                    Err(plan_ir::errors::system_catalog_update())
                }
                ObjectDef::Table(table) => {
                    super::target::check_in_use(table)?;
                    let source = Arc::new(BaseTable::new(database, table.clone()));
                    self.base_source(source, &object, (&exposed, alias.is_some()), hints, wanted)
                }
                ObjectDef::Module(module) if module.kind == ModuleKind::View => {
                    let (schema, ansi_nulls) = (module.schema.clone(), module.ansi_nulls);
                    let query = self
                        .isolated(database.clone(), schema, ansi_nulls, |binder| binder.view_query(module));
                    let mut query = query.map_err(|error| not_usable(error, &written(name)))?;
                    // The view has said that it is an int.
                    query.rows.columns.iter_mut().for_each(|column| column.untyped_null = false);
                    self.note_query(&query.rows.rel, &module.name, false, query.has_check_option);
                    let mut rel = self.add_query(query.rows, &exposed, &query.names)?;
                    super::hints::hint_tables(&mut rel, &hints)?;
                    let view = self.scope().tables.last_mut().expect("added above");
                    view.schema = alias.is_none().then(|| module.schema.to_string());
                    view.database = alias.is_none().then(|| database.name().to_string());
                    self.observe(&database, &object);
                    self.wanted_view(rel, &database, module, wanted)
                }
                _ => Err(plan_ir::errors::invalid_object(&written(name))),
            },
        }
    }

    /// The rows of a base table, and where the statement finds them if it is its target. `exposed`: the name in sight, is it an alias?
    fn base_source(
        &mut self,
        source: Arc<BaseTable>,
        object: &ObjectDef,
        (exposed, is_alias): (&str, bool),
        mut hints: ScanHints,
        wanted: bool,
    ) -> Result<Rel, SqlError> {
        self.tables.push(source.clone());
        let (schema, catalog) = if is_alias {
            (None, None)
        } else {
            (Some(source.schema().to_string()), Some(source.database.name().to_string()))
        };
        if wanted && let Some(request) = &self.target {
            hints = super::hints::for_target(hints, &request.hints)?;
        }
        let rel = self.add_table(source.clone(), exposed, schema, catalog, hints, wanted);
        self.observe(&source.database, object);
        let mut read_only = None;
        if wanted
            && let (Rel::Table(scan), Some(request)) = (&rel, &mut self.target)
            && let Some(locator) = scan.locator
        {
            let columns = scan.columns.clone();
            read_only = source.def.is_table_variable().then(|| source.def.name.clone());
            request.found =
                Some(super::found_target::FoundTarget { source, columns, locator, through: None });
        }
        read_only.map_or(Ok(()), |name| self.check_changeable(&name))?;
        Ok(rel)
    }

    /// Puts a base table into scope.
    pub fn add_table(
        &mut self,
        source: Arc<BaseTable>,
        alias: &str,
        schema: Option<String>,
        database: Option<String>,
        hints: ScanHints,
        locator: bool,
    ) -> Rel {
        let mut columns = Vec::new();
        let mut visible = Vec::new();
        for column in &source.def.columns {
            let id = self.new_column(column.sql_type, column.nullable, column.collation);
            columns.push(id);
            if matches!(column.sql_type, SqlType::Text | SqlType::NText | SqlType::Image) {
                let parts = [
                    source.database.name().to_string(),
                    source.def.schema.to_string(),
                    source.def.name.to_string(),
                ];
                self.long_columns.push((id, Arc::new(parts)));
            }
            visible.push(ScopeColumn {
                name: column.name.to_string(),
                id,
                identity: column.identity.is_some(),
                rowguid: column.is_rowguidcol,
                base: true,
            });
        }
        let locator = locator.then(|| self.new_locator());
        let table = ScopeTable { alias: alias.to_string(), schema, database, columns: visible };
        let computed = self.computed_when_read(&source, &table);
        self.scope().tables.push(table);
        Rel::Table(Box::new(TableScan { source, columns, locator, names_rows: false, computed, hints }))
    }

    /// The columns of a table whose values are none of its rows', with what they are. What cannot be bound any more gives what the rows hold.
    fn computed_when_read(&mut self, source: &BaseTable, table: &ScopeTable) -> Vec<(usize, Expr)> {
        let mut computed = Vec::new();
        for (ordinal, column) in source.def.columns.iter().enumerate() {
            if let Some(definition) = column.computed.as_ref().filter(|computed| !computed.is_deterministic) {
                let bound = self.stored_expression(
                    &source.def,
                    &definition.text,
                    Some(table.clone()),
                    |binder, expr| {
                        let value = binder.value(expr)?;
                        plan_ir::bound::convert::implicit(value, &column.sql_type)
                    },
                );
                computed.extend(bound.ok().map(|bound| (ordinal, bound)));
            }
        }
        computed
    }

    /// The pseudo column of the locators of a target's rows; NULL where a join has found none.
    pub(super) fn new_locator(&mut self) -> ColumnId {
        self.new_column(SqlType::VARBINARY_MAX, true, Collation::default())
    }

    pub(super) fn add_system(
        &mut self,
        view: &'static View,
        database: Arc<engine::Database>,
        arguments: Vec<Expr>,
        (exposed, is_alias): (&str, bool),
        reading: CatalogReading,
    ) -> Result<Rel, SqlError> {
        let (schema, catalog) = if is_alias {
            (None, None)
        } else {
            (Some(view.schema.to_string()), Some(database.name().to_string()))
        };
        if let Some(text) = view.query {
            let query =
                self.isolated(database, "dbo".into(), true, |binder| binder.system_view_query(view, text))?;
            let rel = self.add_query(query, exposed, &[])?;
            let table = self.scope().tables.last_mut().expect("added above");
            (table.schema, table.database) = (schema, catalog);
            return Ok(rel);
        }
        let mut columns = Vec::new();
        let mut visible = Vec::new();
        for column in view.columns() {
            let id = self.new_column(column.sql_type, column.nullable, Collation::default());
            columns.push(id);
            visible.push(ScopeColumn {
                name: column.name.clone(),
                id,
                identity: false,
                rowguid: false,
                base: false,
            });
        }
        self.scope().tables.push(ScopeTable {
            alias: exposed.to_string(),
            schema,
            database: catalog,
            columns: visible,
        });
        Ok(Rel::System(Box::new(SystemScan { view, database, arguments, columns, reading })))
    }

    /// A system view that is a query: its rows in the types that the view's column list says.
    fn system_view_query(&mut self, view: &'static View, text: &str) -> Result<BoundQuery, SqlError> {
        let batch = tsql::parse_batch(text, &tsql::ParseOptions::default());
        let statement = batch.ok().and_then(|batch| batch.statements.into_iter().next());
        let Some(ast::StatementKind::Select(select)) = statement.map(|statement| statement.kind) else {
            panic!("the query of {view:?} is one SELECT");
        };
        let query = self.query(&select.query)?;
        let declared = view.columns();
        assert_eq!(query.columns.len(), declared.len(), "{view:?} has as many columns as its query");
        let mut items = Vec::with_capacity(declared.len());
        let mut columns = Vec::with_capacity(declared.len());
        for (column, declared) in query.columns.iter().zip(declared) {
            let expr = if column.untyped_null { Expr::null() } else { self.column_expr(column.id) };
            let expr = plan_ir::bound::convert::for_variable(expr, &declared.sql_type)?;
            let id = self.new_column(declared.sql_type, declared.nullable, Collation::default());
            items.push((id, expr));
            columns.push(super::OutputColumn {
                name: declared.name.clone(),
                id,
                identity: false,
                base: false,
                untyped_null: false,
            });
        }
        Ok(BoundQuery { rel: Rel::Project { input: Box::new(query.rel), items }, columns })
    }

    /// Puts a query's rows into scope under an alias with other column names. Errors 8155, 8158, 8159.
    pub fn add_query(&mut self, query: BoundQuery, alias: &str, names: &[Ident]) -> Result<Rel, SqlError> {
        if !names.is_empty() && names.len() != query.columns.len() {
            return Err(plan_ir::errors::column_list_mismatch(alias, names.len(), query.columns.len()));
        }
        self.check_output(&query)?;
        let mut visible: Vec<ScopeColumn> = Vec::with_capacity(query.columns.len());
        for (index, column) in query.columns.iter().enumerate() {
            let name = names.get(index).map_or(column.name.as_str(), |name| name.value.as_str());
            if name.is_empty() {
                return Err(plan_ir::errors::column_without_name(index + 1, alias));
            }
            if visible.iter().any(|other| same_name(&other.name, name)) {
                return Err(plan_ir::errors::column_named_twice(name, alias));
            }
            if column.untyped_null {
                self.untyped_nulls.insert(column.id);
            }
            visible.push(ScopeColumn {
                name: name.to_string(),
                id: column.id,
                identity: column.identity,
                rowguid: false,
                base: column.base,
            });
        }
        self.scope().tables.push(ScopeTable {
            alias: alias.to_string(),
            schema: None,
            database: None,
            columns: visible,
        });
        Ok(query.rel)
    }

    /// The query of a view's text.
    pub fn view_query(&mut self, module: &ModuleDef) -> Result<ViewQuery, SqlError> {
        let ast::StatementKind::CreateView(view) = plan_ir::stored::parse_module(module)? else {
            return Err(plan_ir::errors::stored_text_damaged());
        };
        self.expand_as_kept(module);
        if let Some(with) = &view.query.with {
            self.add_common_tables(with)?;
        }
        let rows = self.query(&view.query.query)?;
        Ok(ViewQuery { rows, names: view.columns, has_check_option: view.check_option })
    }

    /// Brings the tables of WITH into sight. The caller restores `common_tables`.
    pub fn add_common_tables(&mut self, with: &ast::With) -> Result<(), SqlError> {
        crate::clauses::check_common_tables(with)?;
        self.xml_namespaces = crate::formatted::namespaces(with)?;
        for table in &with.tables {
            let visible = self.common_tables.len();
            let definition = CommonTableDefinition::Query(Arc::new(table.clone()));
            self.common_tables.push(CommonTableEntry { name: table.name.value.clone(), definition, visible });
        }
        Ok(())
    }

    fn common_table(&mut self, index: usize, alias: Option<&Ident>) -> Result<Rel, SqlError> {
        let entry = self.common_tables[index].clone();
        let exposed = alias.map_or(entry.name.as_str(), |alias| alias.value.as_str()).to_string();
        match &entry.definition {
            CommonTableDefinition::Work { work, columns } => {
                let mut ids = Vec::new();
                let mut visible = Vec::new();
                for (name, value) in columns {
                    let id = self.value_column(value.sql_type, true, Some(value));
                    ids.push(id);
                    visible.push(ScopeColumn {
                        name: name.clone(),
                        id,
                        identity: false,
                        rowguid: false,
                        base: false,
                    });
                }
                self.scope().tables.push(ScopeTable {
                    alias: exposed,
                    schema: None,
                    database: None,
                    columns: visible,
                });
                Ok(Rel::WorkTable { work: *work, columns: ids })
            }
            CommonTableDefinition::Query(table) => {
                self.note_expansion()?;
                let table = table.clone();
                let later = self.common_tables.split_off(entry.visible);
                let scopes = std::mem::take(&mut self.scopes);
                let result = if super::set_op::is_recursive(&table) {
                    self.recursive(&table)
                } else {
                    self.query(&table.query)
                };
                self.scopes = scopes;
                self.common_tables.truncate(entry.visible);
                self.common_tables.extend(later);
                let query = result?;
                self.note_query(&query.rel, &entry.name, false, false);
                self.add_query(query, &exposed, &table.columns)
            }
        }
    }

    fn join(&mut self, node: &ast::Join) -> Result<Rel, SqlError> {
        crate::clauses::check_join_hint(node.hint)?;
        self.join_hints.extend(node.hint);
        let left = self.source(&node.left)?;
        let outer_tables = self.scope().tables.len();
        if matches!(node.kind, ast::JoinKind::CrossApply | ast::JoinKind::OuterApply) {
            let right = self.apply_right(&node.right)?;
            if node.kind == ast::JoinKind::OuterApply {
                self.mark_nullable(JoinKind::Left, false, outer_tables);
            }
            return Ok(Rel::Apply {
                outer: node.kind == ast::JoinKind::OuterApply,
                left: Box::new(left),
                right: Box::new(right),
            });
        }
        let right = self.source(&node.right)?;
        let on = match &node.on {
            Some(on) => Some(self.in_clause(Clause::Rows, |binder| binder.condition(on))?),
            None => None,
        };
        let (kind, left, right) = match node.kind {
            ast::JoinKind::Inner | ast::JoinKind::Cross | ast::JoinKind::CrossApply => {
                (JoinKind::Inner, left, right)
            }
            ast::JoinKind::Left | ast::JoinKind::OuterApply => (JoinKind::Left, left, right),
            ast::JoinKind::Right => (JoinKind::Left, right, left),
            ast::JoinKind::Full => (JoinKind::Full, left, right),
        };
        self.mark_nullable(kind, node.kind == ast::JoinKind::Right, outer_tables);
        Ok(join(kind, left, right, on))
    }

    /// The right side of APPLY sees the tables to its left as outer tables.
    fn apply_right(&mut self, source: &TableSource) -> Result<Rel, SqlError> {
        self.scopes.push(super::Scope::default());
        let result = self.source(source);
        let inner = self.scopes.pop().expect("pushed above");
        let before = self.scope().tables.len();
        self.scope().tables.extend(inner.tables);
        let rel = result?;
        self.check_exposed_names(before)?;
        Ok(rel)
    }

    /// Columns of the side that an outer join may fill with NULLs become nullable.
    fn mark_nullable(&mut self, kind: JoinKind, right_join: bool, outer_tables: usize) {
        let tables = &self.scopes.last().expect("inside FROM").tables;
        let affected: Vec<&ScopeTable> = match (kind, right_join) {
            (JoinKind::Full, _) => tables.iter().collect(),
            (JoinKind::Left, false) => tables[outer_tables..].iter().collect(),
            (JoinKind::Left, true) => tables[..outer_tables].iter().collect(),
            _ => Vec::new(),
        };
        let ids: Vec<usize> = affected
            .iter()
            .flat_map(|table| table.columns.iter().map(|column| column.id.0 as usize))
            .collect();
        for id in ids {
            self.columns[id].nullable = true;
        }
    }

    fn function_source(&mut self, function: &ast::TableFunction) -> Result<Rel, SqlError> {
        if let Some(rel) = self.method_source(function)? {
            return Ok(rel);
        }
        let ast::ExprKind::Function(call) = &function.call.kind else {
            return Err(plan_ir::errors::unsupported("a method that gives rows"));
        };
        crate::clauses::check_row_function(function, call)?;
        let arguments = self.call_arguments(&call.args)?;
        let alias = function
            .alias
            .as_ref()
            .map_or(call.name.name.value.as_str(), |alias| alias.value.as_str())
            .to_string();
        let resolved = self.resolve_table(&call.name)?;
        match resolved {
            Resolved::System(view, database) => {
                let value = |argument| match argument {
                    Argument::Value(value) => Ok(value),
                    Argument::Default => Ok(Expr::null()),
                    Argument::Table(table) => Err(plan_ir::errors::undeclared_variable(&table.written)),
                    Argument::Unknown(variable) => self.value(&variable),
                };
                let arguments = arguments.into_iter().map(value).collect::<Result<Vec<Expr>, _>>()?;
                if arguments.len() > view.parameters {
                    return Err(plan_ir::errors::too_many_arguments(&written(&call.name)));
                }
                if arguments.len() < view.parameters && view.schema == "sys" {
                    return Err(plan_ir::errors::too_few_arguments(&written(&call.name)));
                }
                let rel = match view.column_rule {
                    ColumnRule::Listed => {
                        self.add_system(view, database, arguments, (&alias, true), CatalogReading::Settled)?
                    }
                    ColumnRule::PartsOfText => {
                        self.add_rowset(view, database, parts_of_text(view.name, &arguments)?, &alias)?
                    }
                    ColumnRule::Series => {
                        self.add_rowset(view, database, series(view.name, &arguments)?, &alias)?
                    }
                };
                self.rename_columns(&function.columns)?;
                Ok(rel)
            }
            Resolved::Object(database, object) => match &object {
                ObjectDef::Module(module) if module.kind == ModuleKind::InlineFunction => {
                    let (schema, ansi_nulls) = (module.schema.clone(), module.ansi_nulls);
                    let query = self.isolated(database.clone(), schema, ansi_nulls, |binder| {
                        binder.expand_as_kept(module);
                        binder.inline_function(&*stored_function(module)?, arguments)
                    });
                    let mut query = query.map_err(|error| not_usable(error, &written(&call.name)))?;
                    query.columns.iter_mut().for_each(|column| column.untyped_null = false);
                    self.note_query(&query.rel, &module.name, false, false);
                    let rel = self.add_query(query, &alias, &function.columns)?;
                    self.observe(&database, &object);
                    Ok(rel)
                }
                ObjectDef::Module(module) if module.kind == ModuleKind::TableFunction => {
                    let rel = self.function_table(&database, module, arguments, (&alias, &call.name))?;
                    self.rename_columns(&function.columns)?;
                    self.observe(&database, &object);
                    Ok(rel)
                }
                _ => Err(plan_ir::errors::invalid_object(&written(&call.name))),
            },
        }
    }

    /// The query of an inline table-valued function, its parameters replaced by arguments.
    fn inline_function(
        &mut self,
        function: &ast::CreateFunction,
        arguments: Vec<Argument>,
    ) -> Result<BoundQuery, SqlError> {
        let ast::FunctionBody::Query(select) = &function.body else {
            return Err(plan_ir::errors::stored_text_damaged());
        };
        self.take_arguments(function, arguments)?;
        if let Some(with) = &select.with {
            self.add_common_tables(with)?;
        }
        self.query(&select.query)
    }

    /// The query of an inline function with typed NULLs for its parameters: what its columns are.
    pub fn inline_function_query(&mut self, module: &ModuleDef) -> Result<BoundQuery, SqlError> {
        self.expand_as_kept(module);
        self.inline_function_columns(&*stored_function(module)?)
    }

    /// The same for one that is being made.
    pub fn inline_function_columns(
        &mut self,
        function: &ast::CreateFunction,
    ) -> Result<BoundQuery, SqlError> {
        let database = self.current_database();
        let arguments = self.unknown_arguments(function, &database)?;
        self.inline_function(function, arguments)
    }

    pub(super) fn rename_columns(&mut self, names: &[Ident]) -> Result<(), SqlError> {
        if names.is_empty() {
            return Ok(());
        }
        let table = self.scope().tables.last_mut().expect("a table was added");
        if names.len() != table.columns.len() {
            return Err(plan_ir::errors::column_list_mismatch(
                &table.alias,
                names.len(),
                table.columns.len(),
            ));
        }
        for (column, name) in table.columns.iter_mut().zip(names) {
            column.name.clone_from(&name.value);
        }
        Ok(())
    }
}

/// Would a column `name.x` be one of either table? An alias hides schema and database.
pub(super) fn is_same_exposed(one: &ScopeTable, other: &ScopeTable) -> bool {
    let same_part = |one: &Option<String>, other: &Option<String>| match (one, other) {
        (Some(one), Some(other)) => same_name(one, other),
        _ => true,
    };
    !one.alias.is_empty()
        && same_name(&one.alias, &other.alias)
        && same_part(&one.schema, &other.schema)
        && same_part(&one.database, &other.database)
}

fn shown(table: &ScopeTable) -> String {
    let parts = [&table.database, &table.schema];
    parts.into_iter().flatten().map(|part| format!("{part}.")).collect::<String>() + &table.alias
}

/// The statement that made a function.
pub(super) fn stored_function(module: &ModuleDef) -> Result<Box<ast::CreateFunction>, SqlError> {
    match plan_ir::stored::parse_module(module)? {
        ast::StatementKind::CreateFunction(function) => Ok(function),
        _ => Err(plan_ir::errors::stored_text_damaged()),
    }
}

/// A join node.
pub fn join(kind: JoinKind, left: Rel, right: Rel, on: Option<Expr>) -> Rel {
    Rel::Join { kind, left: Box::new(left), right: Box::new(right), on }
}

/// The value of a parameter of an inline function: a value of the database's collation, be it a column's. NULL is no literal there: the
/// parameter may stand wherever a variable may.
pub(super) fn as_parameter(argument: Expr) -> Expr {
    if argument.is_constant_null() {
        let sql_type = argument.sql_type;
        return Expr::new(ExprKind::Coalesce(vec![argument]), sql_type, true);
    }
    if argument.collation == Collation::default() || !argument.sql_type.is_character() {
        return Expr { coercibility: Coercibility::Default, ..argument };
    }
    let (sql_type, nullable) = (argument.sql_type, argument.nullable);
    Expr::new(ExprKind::Retype(Box::new(argument)), sql_type, nullable)
}
