//! The constraints of a table, bound for the statement that changes it: checks, computed columns, foreign keys of both directions
//! and their cascades.

use std::sync::Arc;

use engine::{ColumnDef, ForeignKeyDef, ObjectDef};
use plan_ir::bound::change::{BoundAction, BoundCheck, BoundConstraints, BoundDependent, BoundKey};
use plan_ir::context::EventTriggers;
use plan_ir::foreign_key::Reference;
use plan_ir::table::TableSource;
use types::SqlError;

use super::{Binder, ScopeTable};

/// How a statement changes the rows.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    Insert,
    /// It sets these columns.
    Update(&'a [usize]),
    Delete,
}

impl Change<'_> {
    /// Does it give any of the columns a new value? Computed columns and row versions follow the others.
    fn touches(self, source: &TableSource, ordinals: &[usize]) -> bool {
        let follows =
            |column: &ColumnDef| column.computed.is_some() || column.sql_type == types::SqlType::RowVersion;
        match self {
            Change::Insert => true,
            Change::Update(changed) => ordinals
                .iter()
                .any(|ordinal| changed.contains(ordinal) || follows(&source.def.columns[*ordinal])),
            Change::Delete => false,
        }
    }
}

impl Binder<'_> {
    /// Binds what rows of a table must satisfy. Disabled constraints are left out, and those of columns that do not change.
    pub fn constraints(
        &mut self,
        source: &Arc<TableSource>,
        change: Change<'_>,
    ) -> Result<BoundConstraints, SqlError> {
        let mut constraints = BoundConstraints::default();
        if !matches!(change, Change::Delete) {
            self.row_constraints(source, change, &mut constraints)?;
            for key in source.def.foreign_keys.iter().filter(|key| !key.state.is_disabled) {
                if let Some(reference) = self.reference(source, key)?
                    && change.touches(source, &reference.here.columns)
                {
                    constraints.references.push(reference);
                }
            }
        }
        if !matches!(change, Change::Insert) {
            constraints.dependents = self.dependents(source, change)?;
        }
        constraints.triggers = self.after_triggers(source, change);
        Ok(constraints)
    }

    /// What is left of them when a trigger runs instead of the change.
    pub(super) fn replaced_constraints(
        &mut self,
        source: &Arc<TableSource>,
        change: Change<'_>,
        instead_of: Arc<EventTriggers>,
    ) -> Result<BoundConstraints, SqlError> {
        let mut constraints = BoundConstraints::default();
        if !matches!(change, Change::Delete) {
            self.row_constraints(source, change, &mut constraints)?;
            constraints.checks.clear();
        }
        constraints.instead_of = Some(instead_of);
        Ok(constraints)
    }

    /// Only the constraints with these numbers, for rows that exist.
    pub fn constraints_named(
        &mut self,
        source: &Arc<TableSource>,
        numbers: &[engine::ObjectId],
    ) -> Result<BoundConstraints, SqlError> {
        let mut constraints = BoundConstraints::default();
        self.row_constraints(source, Change::Insert, &mut constraints)?;
        let checks = source.def.checks.iter().filter(|check| !check.state.is_disabled);
        let wanted: Vec<bool> = checks.map(|check| numbers.contains(&check.object_id)).collect();
        let mut wanted = wanted.into_iter();
        constraints.checks.retain(|_| wanted.next() == Some(true));
        for key in source.def.foreign_keys.iter().filter(|key| numbers.contains(&key.object_id)) {
            constraints.references.extend(self.reference(source, key)?);
        }
        Ok(constraints)
    }

    /// Computed columns and checks.
    fn row_constraints(
        &mut self,
        source: &Arc<TableSource>,
        change: Change<'_>,
        constraints: &mut BoundConstraints,
    ) -> Result<(), SqlError> {
        let def = source.def.clone();
        if def.checks.is_empty() && def.columns.iter().all(|column| column.computed.is_none()) {
            return Ok(());
        }
        let table = self.table_columns(source, &def.name);
        constraints.columns = table.columns.iter().map(|column| column.id).collect();
        for (ordinal, column) in def.columns.iter().enumerate() {
            let Some(computed) = &column.computed else {
                continue;
            };
            let expr =
                self.stored_expression(&def, &computed.text, Some(table.clone()), |binder, expr| {
                    binder.value(expr)
                })?;
            let expr = plan_ir::bound::convert::implicit(expr, &column.sql_type)?;
            constraints.computed.push((ordinal, expr));
        }
        for check in def.checks.iter().filter(|check| !check.state.is_disabled) {
            constraints.checks.extend(self.check(source, check, &table, change)?);
        }
        Ok(())
    }

    fn check(
        &mut self,
        source: &TableSource,
        check: &engine::CheckDef,
        table: &ScopeTable,
        change: Change<'_>,
    ) -> Result<Option<BoundCheck>, SqlError> {
        let expr =
            self.stored_expression(&source.def, &check.text, Some(table.clone()), |binder, expr| {
                binder.condition(expr)
            })?;
        let used = expr.columns();
        let ordinals: Vec<usize> =
            (0..table.columns.len()).filter(|ordinal| used.contains(&table.columns[*ordinal].id)).collect();
        // A check that reads no column holds for each row or for none.
        if !ordinals.is_empty() && !change.touches(source, &ordinals) {
            return Ok(None);
        }
        let column = match ordinals.as_slice() {
            [one] => Some(table.columns[*one].name.clone()),
            _ => None,
        };
        Ok(Some(BoundCheck { name: check.name.to_string(), predicate: expr, column }))
    }

    /// A foreign key of this table.
    fn reference(
        &mut self,
        source: &Arc<TableSource>,
        key: &ForeignKeyDef,
    ) -> Result<Option<Reference>, SqlError> {
        let found = self.dependencies.of(&source.database).object(key.referenced_object_id);
        let Some(ObjectDef::Table(table)) = found else { return Ok(None) };
        let other = Arc::new(TableSource::new(source.database.clone(), table));
        Ok(Reference::new(key, source, &other))
    }

    /// Foreign keys of this and other tables that refer to this one, seen from here.
    pub fn referenced_by(
        &mut self,
        source: &Arc<TableSource>,
    ) -> Result<Vec<(Reference, Arc<TableSource>, ForeignKeyDef)>, SqlError> {
        let mut found = Vec::new();
        if source.def.is_temporary() || !source.def.indexes.iter().any(|index| index.unique) {
            return Ok(found);
        }
        for object in source.database.catalog().objects() {
            let ObjectDef::Table(table) = &object else {
                continue;
            };
            for key in
                table.foreign_keys.iter().filter(|key| key.referenced_object_id == source.def.object_id)
            {
                // Which tables refer to one stands in its own definition; what each of them is, in theirs.
                self.dependencies.of(&source.database).note_object(&object);
                let child = Arc::new(TableSource::new(source.database.clone(), table.clone()));
                if let Some(reference) = Reference::new(key, &child, source) {
                    found.push((reference, child, key.clone()));
                }
            }
        }
        Ok(found)
    }

    fn dependents(
        &mut self,
        source: &Arc<TableSource>,
        change: Change<'_>,
    ) -> Result<Vec<BoundDependent>, SqlError> {
        let mut dependents = Vec::new();
        for (reference, child, key) in self.referenced_by(source)? {
            let is_update = matches!(change, Change::Update(_));
            if key.state.is_disabled || is_update && !change.touches(source, &reference.there.columns) {
                continue;
            }
            let action = if is_update { key.update_action } else { key.delete_action };
            let action = match action {
                0 => BoundAction::Nothing,
                1 if !is_update => BoundAction::Delete(self.constraints(&child, Change::Delete)?),
                action => {
                    let columns = reference.here.columns.clone();
                    let mut values = Vec::with_capacity(columns.len());
                    for ordinal in &columns {
                        values.push(match action {
                            1 => BoundKey::Same,
                            2 => BoundKey::Null,
                            _ => BoundKey::Default(self.default_store(&child, *ordinal)?),
                        });
                    }
                    let constraints = self.constraints(&child, Change::Update(&columns))?;
                    let mut changed = columns;
                    changed.extend(follows_others(&child));
                    BoundAction::Assign { values, changed, constraints }
                }
            };
            dependents.push(BoundDependent { reference, action });
        }
        Ok(dependents)
    }
}

/// Columns that change with any other one: computed ones and row versions.
pub fn follows_others(source: &TableSource) -> impl Iterator<Item = usize> + '_ {
    let follows =
        |column: &ColumnDef| column.computed.is_some() || column.sql_type == types::SqlType::RowVersion;
    (0..source.def.columns.len()).filter(move |ordinal| follows(&source.def.columns[*ordinal]))
}
