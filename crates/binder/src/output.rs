//! OUTPUT clauses and the constraints of a table, bound for data change statements.

use std::sync::Arc;

use engine::TriggerEvent;
use plan_ir::bound::change::{BoundOutput, BoundOutputInto, BoundOutputs};
use plan_ir::bound::tree::{Expr, ExprKind};
use plan_ir::context::ColumnDescription;
use plan_ir::kinds::ColumnId;
use plan_ir::table::TableSource;
use rustc_hash::FxHashMap;
use tsql::ast::{self, SelectItem};
use types::SqlError;

use super::constraints::Change;
use super::found_target::ChangedTable;
use super::seen_through::Through;
use super::{Binder, Clause, Scope, ScopeColumn, ScopeTable};

/// Values of columns that a query computes.
type Derived = FxHashMap<ColumnId, Result<Expr, SqlError>>;

/// Rows of OUTPUT go to the client only where no trigger may stop the statement behind them. Error 334. `inserted` and `deleted`: the tables that
/// the statement has, both that of UPDATE and of MERGE.
fn refuse_triggers(source: &TableSource, (inserted, deleted): (bool, bool)) -> Result<(), SqlError> {
    if source.def.is_temporary() {
        return Ok(());
    }
    let events: &[TriggerEvent] = match (inserted, deleted) {
        (true, false) => &[TriggerEvent::Insert],
        (false, true) => &[TriggerEvent::Delete],
        _ => &TriggerEvent::ALL,
    };
    let triggers = source.database.catalog().triggers_of(source.def.object_id);
    let fires =
        |found: &Arc<engine::ModuleDef>| events.iter().any(|event| found.trigger.is_enabled_for(*event));
    if triggers.iter().any(fires) { Err(SqlError::new(334, &[&source.def.name])) } else { Ok(()) }
}

/// Puts the values in the columns' places.
fn replace_derived(expr: &mut Expr, derived: &Derived) -> Result<(), SqlError> {
    let mut problem = None;
    expr.rewrite_deep(&mut |part| match &part.kind {
        ExprKind::Column(id) => match derived.get(id)? {
            Ok(value) => Some(value.clone()),
            Err(error) => {
                problem = Some(error.clone());
                None
            }
        },
        _ => None,
    });
    problem.map_or(Ok(()), Err)
}

impl Binder<'_> {
    /// Binds OUTPUT clauses. Rows they read are the source row (`from`: its columns), then `inserted`, then `deleted`. Tables of the
    /// statement's own FROM are in the innermost scope if there is one; the target itself is seen as `inserted` and `deleted` only.
    pub fn outputs(
        &mut self,
        outputs: &[ast::Output],
        target: ChangedTable<'_>,
        from: Option<&[ColumnId]>,
        (inserted, deleted): (bool, bool),
    ) -> Result<BoundOutputs, SqlError> {
        if outputs.is_empty() {
            return Ok(BoundOutputs::default());
        }
        if outputs.iter().any(|output| output.into.is_none()) {
            refuse_triggers(target.source, (inserted, deleted))?;
        }
        let source_columns = from.unwrap_or_default();
        let mut tables = Vec::new();
        let mut derived = Derived::default();
        let mut changed = Vec::new();
        for (wanted, name) in [(inserted, "inserted"), (deleted, "deleted")] {
            if wanted {
                let mut table = self.table_columns(target.source, name);
                for column in &table.columns {
                    self.columns[column.id.0 as usize].nullable |= target.may_be_missing;
                    changed.push(column.id);
                }
                if let Some(through) = target.through {
                    table = self.columns_through(through, &table, source_columns, &mut derived);
                }
                tables.push(table);
            }
        }
        let qualified_only = tables.len();
        let statement_scopes = std::mem::take(&mut self.scopes);
        let is_target = |table: &&ScopeTable| {
            table.columns.first().is_some_and(|first| target.hidden.contains(&first.id))
        };
        let own = statement_scopes.last().map_or(&[][..], |scope| &scope.tables);
        tables.extend(own.iter().filter(|table| !is_target(table)).cloned());
        self.scopes = vec![Scope { tables, clause: Clause::Rows, qualified_only, ..Scope::default() }];
        let clauses = outputs.iter().map(|output| self.output(output, &derived)).collect::<Result<_, _>>();
        self.scopes = statement_scopes;
        Ok(BoundOutputs { changed, clauses: clauses? })
    }

    /// `inserted` or `deleted` with the columns of the query through which the table is changed. What the query computes is computed anew
    /// for the inserted row, and as it was found for the deleted one.
    fn columns_through(
        &mut self,
        through: &Through,
        table: &ScopeTable,
        source_columns: &[ColumnId],
        derived: &mut Derived,
    ) -> ScopeTable {
        let base: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
        let mut columns = Vec::with_capacity(through.columns.len());
        for column in &through.columns {
            let id = match column.ordinal {
                Some(ordinal) => base[ordinal],
                None => {
                    let value = match table.alias.as_str() {
                        "deleted" => Ok(self.column_expr(column.id)),
                        _ => through.value_over(column.id, &base),
                    };
                    let is_known = |id: &ColumnId| base.contains(id) || source_columns.contains(id);
                    let value = value.and_then(|value| match value.columns().iter().all(is_known) {
                        true => Ok(value),
                        false => Err(plan_ir::errors::unsupported(
                            "OUTPUT of a column that comes from another table than the one with the new rows",
                        )),
                    });
                    let info = &self.columns[column.id.0 as usize];
                    let (sql_type, collation) = (info.sql_type, info.collation);
                    let id = self.new_column(sql_type, true, collation);
                    derived.insert(id, value);
                    id
                }
            };
            let identity = column.is_identity;
            let base = column.ordinal.is_some();
            columns.push(ScopeColumn { name: column.name.clone(), id, identity, rowguid: false, base });
        }
        ScopeTable { alias: table.alias.clone(), schema: None, database: None, columns }
    }

    fn output(&mut self, output: &ast::Output, derived: &Derived) -> Result<BoundOutput, SqlError> {
        let mut exprs: Vec<(String, Expr, bool)> = Vec::new();
        for item in &output.items {
            match item {
                SelectItem::Star(_) => return Err(plan_ir::errors::syntax_near("*")),
                SelectItem::QualifiedStar(name) => {
                    for column in self.star_columns(Some(name))? {
                        exprs.push((column.name.clone(), self.column_expr(column.id), column.identity));
                    }
                }
                SelectItem::Expr { expr, alias } => {
                    let value = self.value(expr)?;
                    let (mut name, mut identity) = (String::new(), false);
                    if let ast::ExprKind::Column(column) = &expr.kind {
                        let (found, _) = self.find_column(column)?;
                        (name, identity) = (super::select::shown_name(column, found.name), found.identity);
                    }
                    if let Some(alias) = alias {
                        name.clone_from(&alias.value);
                    }
                    exprs.push((name, value, identity));
                }
                SelectItem::Assign { .. } => return Err(plan_ir::errors::assignment_mixed()),
            }
        }
        for (at, (_, expr, _)) in exprs.iter_mut().enumerate() {
            replace_derived(expr, derived)?;
            if output.into.is_none() {
                plan_ir::bound::coercibility::check_resolved(expr, "OUTPUT", at + 1)?;
            }
        }
        let columns = exprs
            .iter()
            .map(|(name, expr, identity)| ColumnDescription {
                name: name.clone(),
                sql_type: expr.sql_type,
                nullable: expr.nullable,
                identity: *identity,
                updatable: false,
                computed: expr.as_column().is_none(),
                table: None,
            })
            .collect();
        let items: Vec<Expr> = exprs.into_iter().map(|item| item.1).collect();
        let into = output.into.as_ref().map(|into| self.output_into(into, &items)).transpose()?;
        Ok(BoundOutput { items, columns, into })
    }

    fn output_into(&mut self, into: &ast::OutputInto, values: &[Expr]) -> Result<BoundOutputInto, SqlError> {
        let source = self.output_table(&into.target)?;
        self.check_output_target(&source)?;
        let triggers = source.database.catalog().triggers_of(source.def.object_id);
        if !source.def.is_temporary() && triggers.iter().any(|found| !found.trigger.is_disabled) {
            return Err(SqlError::new(331, &[&source.def.name]));
        }
        let ordinals = if into.columns.is_empty() {
            let takes_value = |column: &engine::ColumnDef| {
                column.computed.is_none()
                    && column.identity.is_none()
                    && column.sql_type != types::SqlType::RowVersion
            };
            source
                .def
                .columns
                .iter()
                .enumerate()
                .filter(|column| takes_value(column.1))
                .map(|column| column.0)
                .collect()
        } else {
            let ordinals = self.target_columns(&source, None, &into.columns)?;
            if ordinals.iter().any(|at| source.def.columns[*at].sql_type == types::SqlType::RowVersion) {
                return Err(plan_ir::errors::insert_rowversion());
            }
            ordinals
        };
        if ordinals.len() != values.len() {
            return Err(plan_ir::errors::values_do_not_match());
        }
        let items: Vec<ColumnId> = values.iter().map(|value| self.column_for(value)).collect();
        let mut stores = Vec::new();
        for (ordinal, id) in ordinals.iter().zip(&items) {
            let value = self.column_expr(*id);
            stores.push(self.store(&source, *ordinal, value)?);
        }
        let stores = self.all_stores(&source, stores)?;
        let constraints = self.constraints(&source, Change::Insert)?;
        Ok(BoundOutputInto { source, items, stores, constraints })
    }

    /// What may not be behind OUTPUT ... INTO: 332 for an end of a foreign key, 333 for a table with checks.
    fn check_output_target(&mut self, source: &Arc<TableSource>) -> Result<(), SqlError> {
        let name = &source.def.name;
        let key = match source.def.foreign_keys.first() {
            Some(own) => Some(own.name.to_string()),
            None => self.referenced_by(source)?.into_iter().next().map(|found| found.0.name),
        };
        if let Some(key) = key {
            return Err(SqlError::new(332, &[name, &key]));
        }
        match source.def.checks.iter().find(|check| !check.state.is_disabled) {
            Some(check) => Err(SqlError::new(333, &[name, &check.name])),
            None => Ok(()),
        }
    }

    /// The columns of a table under an alias, with new ids.
    pub fn table_columns(&mut self, source: &TableSource, alias: &str) -> ScopeTable {
        let mut columns = Vec::new();
        for column in &source.def.columns {
            let id = self.new_column(column.sql_type, column.nullable, column.collation);
            columns.push(ScopeColumn {
                name: column.name.to_string(),
                id,
                identity: column.identity.is_some(),
                rowguid: column.is_rowguidcol,
                base: true,
            });
        }
        ScopeTable { alias: alias.to_string(), schema: None, database: None, columns }
    }
}
