//! The table that a data change statement changes, and how its rows are made.

use std::sync::Arc;

use engine::{ModuleKind, ObjectDef};
use tsql::ast::{self, ObjectName};
use types::{SqlError, SqlType, Value};

use super::coerce;
use super::names::{Resolved, same_name, written};
use super::{Binder, Clause, Scope};
use crate::exec::store::{Store, StoreKind};
use crate::expr::compile::Layout;
use crate::expr::{ColumnId, Expr};
use crate::plan::Planner;
use crate::plan::logical::ScanHints;
use crate::plan::table::TableSource;

/// The target looked for while a FROM clause is bound.
pub(crate) struct TargetRequest {
    /// Alias or simple name to look for; `None`: look for the object.
    pub(crate) alias: Option<String>,
    /// The object, when the name means one.
    pub(crate) object: Option<Arc<TableSource>>,
    pub(crate) found: Option<FoundTarget>,
    /// Scopes open where the FROM clause is bound: sources of subqueries are not looked at.
    pub(crate) depth: usize,
    /// Hints written behind the target's name.
    pub(crate) hints: ScanHints,
}

/// The target with its columns in the statement's rows.
#[derive(Clone)]
pub(crate) struct FoundTarget {
    pub(crate) source: Arc<TableSource>,
    pub(crate) columns: Vec<ColumnId>,
    pub(crate) locator: ColumnId,
}

impl Binder<'_> {
    /// The base table of a target name. Errors 208, 259 (system catalog), 4405-like for views.
    pub(crate) fn target_table(&mut self, target: &ast::DmlTargetKind) -> Result<Arc<TableSource>, SqlError> {
        match target {
            ast::DmlTargetKind::Table(name) => self.base_table(name),
            ast::DmlTargetKind::Variable(name, _) => {
                let real = self
                    .context
                    .names
                    .temp_table(name)
                    .ok_or_else(|| crate::errors::undeclared_table_variable(name))?;
                self.base_table(&temp_name(&real))
            }
            ast::DmlTargetKind::Source(_) => Err(crate::errors::unsupported("OPENROWSET as a target")),
        }
    }

    /// The base table of a name; a view over one table's plain columns is not followed.
    pub(crate) fn base_table(&mut self, name: &ObjectName) -> Result<Arc<TableSource>, SqlError> {
        match self.resolve_table(name)? {
            Resolved::Object(database, object) => match &object {
                ObjectDef::Table(table) if table.is_system => Err(crate::errors::system_catalog_update()),
                ObjectDef::Table(table) => Ok(Arc::new(TableSource::new(database, table.clone()))),
                ObjectDef::Module(module) if module.kind == ModuleKind::View => {
                    Err(crate::errors::unsupported("changing data through a view"))
                }
                ObjectDef::Module(_) => Err(crate::errors::invalid_object(&written(name))),
            },
            Resolved::System(..) => Err(crate::errors::system_catalog_update()),
        }
    }

    /// What the target of UPDATE or DELETE with FROM is looked for by.
    pub(crate) fn target_request(
        &mut self,
        target: &ast::DmlTargetKind,
        from: &[ast::TableSource],
        hints: ScanHints,
    ) -> Result<TargetRequest, SqlError> {
        let depth = self.scopes.len();
        if let ast::DmlTargetKind::Table(name) = target
            && name.is_simple()
            && from.iter().any(|source| has_alias(source, &name.name.value))
        {
            return Ok(TargetRequest {
                alias: Some(name.name.value.clone()),
                object: None,
                found: None,
                depth,
                hints,
            });
        }
        let object = self.target_table(target)?;
        Ok(TargetRequest { alias: None, object: Some(object), found: None, depth, hints })
    }

    /// Is the table being added to scope the target that is looked for?
    pub(crate) fn is_wanted_target(&self, source: &TableSource, alias: Option<&ast::Ident>) -> bool {
        let Some(request) = &self.target else {
            return false;
        };
        if request.found.is_some() || self.scopes.len() != request.depth {
            return false;
        }
        match (&request.alias, &request.object) {
            (Some(wanted), _) => {
                alias.is_some_and(|alias| same_name(&alias.value, wanted))
                    || alias.is_none() && same_name(&source.def.name, wanted)
            }
            (None, Some(object)) => {
                object.def.object_id == source.def.object_id
                    && Arc::ptr_eq(&object.database, &source.database)
            }
            (None, None) => false,
        }
    }

    /// How a value of an expression is stored into a column.
    pub(crate) fn store(
        &mut self,
        source: &TableSource,
        ordinal: usize,
        value: Expr,
        layout: &Layout,
    ) -> Result<Store, SqlError> {
        let to = source.def.columns[ordinal].sql_type;
        let by_length = is_cut_by_length(&to);
        let value = if by_length {
            if !value.is_null_literal() {
                types::convert::matrix::check(&value.sql_type, &to, false)?;
            }
            value
        } else {
            coerce::implicit(value, &to)?
        };
        let from = value.sql_type;
        let node = Planner::new(&self.columns).node(&value, layout)?;
        Ok(Store {
            ordinal,
            kind: if by_length { StoreKind::Assign(node, from) } else { StoreKind::Direct(node) },
        })
    }

    /// How a column gets its value when none is given.
    pub(crate) fn default_store(&mut self, source: &TableSource, ordinal: usize) -> Result<Store, SqlError> {
        let column = &source.def.columns[ordinal];
        if column.identity.is_some() {
            return Ok(Store { ordinal, kind: StoreKind::Identity });
        }
        if column.sql_type == SqlType::RowVersion {
            return Ok(Store { ordinal, kind: StoreKind::RowVersion });
        }
        let Some(default) = &column.default else {
            return Ok(Store { ordinal, kind: StoreKind::Null });
        };
        let text = default.text.clone();
        let expr = self.stored_expression(&text, None, |binder, expr| binder.value(expr))?;
        self.store(source, ordinal, expr, &Layout::default())
    }

    /// Binds a stored expression (default, check, computed column) over the columns of a table.
    pub(crate) fn stored_expression(
        &mut self,
        text: &str,
        columns: Option<super::ScopeTable>,
        bind: impl FnOnce(&mut Self, &ast::Expr) -> Result<Expr, SqlError>,
    ) -> Result<Expr, SqlError> {
        let parsed = tsql::parse_expression(text, &tsql::ParseOptions::default())
            .map_err(|_| crate::errors::stored_text_damaged())?;
        let database = self.database.clone();
        self.isolated(database, |binder| {
            binder.scopes.push(Scope {
                tables: columns.into_iter().collect(),
                clause: Clause::Rows,
                ..Scope::default()
            });
            bind(binder, &parsed)
        })
    }

    /// Ordinals of named target columns. Errors 207, 264, 271, 273.
    pub(crate) fn target_columns(
        &self,
        source: &TableSource,
        columns: &[ast::ColumnRef],
    ) -> Result<Vec<usize>, SqlError> {
        let mut ordinals = Vec::with_capacity(columns.len());
        for column in columns {
            let ordinal = self.target_column(source, &column.name.value)?;
            if ordinals.contains(&ordinal) {
                return Err(crate::errors::column_assigned_twice(&column.name.value));
            }
            ordinals.push(ordinal);
        }
        Ok(ordinals)
    }

    /// The ordinal of one target column that may be written.
    pub(crate) fn target_column(&self, source: &TableSource, name: &str) -> Result<usize, SqlError> {
        let ordinal = source.def.column_ordinal(name).ok_or_else(|| crate::errors::invalid_column(name))?;
        let column = &source.def.columns[ordinal];
        if column.computed.is_some() {
            return Err(crate::errors::column_computed(&column.name));
        }
        if column.sql_type == SqlType::RowVersion {
            return Err(crate::errors::insert_rowversion());
        }
        Ok(ordinal)
    }

    /// The literal NULL for a column.
    pub(crate) fn null_of(sql_type: SqlType) -> Expr {
        Expr::constant(Value::Null, sql_type)
    }
}

/// Types whose values may be longer than the column: checked when stored (2628).
pub(crate) fn is_cut_by_length(sql_type: &SqlType) -> bool {
    use types::sql_type::TypeFamily::{Binary, Char, NChar, Variant, Xml};
    matches!(sql_type.family(), Char | NChar | Binary | Variant | Xml)
}

/// `tempdb.dbo.real`.
pub(crate) fn temp_name(real: &str) -> ObjectName {
    ObjectName {
        database: Some(ast::Ident::new("tempdb")),
        schema: Some(ast::Ident::new("dbo")),
        ..ObjectName::simple(real)
    }
}

fn has_alias(source: &ast::TableSource, name: &str) -> bool {
    match source {
        ast::TableSource::Table(table) => {
            table.alias.as_ref().is_some_and(|alias| same_name(&alias.value, name))
        }
        ast::TableSource::Variable { alias, .. } => {
            alias.as_ref().is_some_and(|alias| same_name(&alias.value, name))
        }
        ast::TableSource::Join(join) => has_alias(&join.left, name) || has_alias(&join.right, name),
        ast::TableSource::OdbcOuterJoin(inner) => has_alias(inner, name),
        _ => false,
    }
}
