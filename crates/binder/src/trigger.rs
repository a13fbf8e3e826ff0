//! Triggers: which ones a change of rows fires; in the body of one, the tables `inserted` and `deleted`, `UPDATE(column)` and
//! `COLUMNS_UPDATED()`.

use std::sync::{Arc, OnceLock};

use engine::{Database, ModuleDef, ObjectDef, TriggerEvent};
use plan_ir::bound::change::BoundConstraints;
use plan_ir::bound::tree::{Expr, Rel};
use plan_ir::built_ins::UnnamedFunction;
use plan_ir::context::{EventTriggers, FunctionColumn, TriggerScope, TriggerTable, UserFunction};
use plan_ir::kinds::ColumnId;
use plan_ir::names::same_name;
use plan_ir::table::TableSource;
use tsql::ast::{self, ObjectName};
use types::{SqlError, SqlType, Value};

use super::constraints::Change;
use super::found_target::FoundTarget;
use super::{Binder, ScopeColumn, ScopeTable};

/// The enabled AFTER triggers for an event, or the INSTEAD OF trigger, in the order in which they run.
pub(super) fn triggers_for(
    database: &Arc<Database>,
    target: &ObjectDef,
    event: TriggerEvent,
    is_instead_of: bool,
) -> Option<Arc<EventTriggers>> {
    let mut triggers: Vec<Arc<ModuleDef>> = database.catalog().triggers_of(target.object_id());
    triggers
        .retain(|found| found.trigger.is_enabled_for(event) && found.trigger.is_instead_of == is_instead_of);
    if triggers.is_empty() {
        return None;
    }
    // The first one, those in between in the order of their creation, the last one.
    triggers.sort_by_key(|found| match &found.trigger {
        def if def.first.has(event) => 0,
        def if def.last.has(event) => 2,
        _ => 1,
    });
    Some(Arc::new(EventTriggers {
        database: database.clone(),
        target: target.clone(),
        event,
        is_instead_of,
        triggers,
    }))
}

impl Binder<'_> {
    /// The AFTER triggers that a change of a table's rows fires.
    pub(super) fn after_triggers(
        &self,
        source: &TableSource,
        change: Change<'_>,
    ) -> Option<Arc<EventTriggers>> {
        if source.def.is_temporary() || source.def.is_system {
            return None;
        }
        let event = event_of(change);
        triggers_for(&source.database, &ObjectDef::Table(source.def.clone()), event, false)
    }

    /// The trigger that runs instead of a change of a table's or view's rows. None for its own statements: they change the rows.
    pub(super) fn instead_of(
        &self,
        database: &Arc<Database>,
        target: &ObjectDef,
        event: TriggerEvent,
    ) -> Option<Arc<EventTriggers>> {
        let is_own = |scope: TriggerScope<'_>| {
            let module = scope.module;
            module.parent_object_id == target.object_id()
                && module.trigger.is_instead_of
                && (module.object_id == 0 || module.trigger.events.has(event))
        };
        if self.own_trigger().is_some_and(is_own) {
            return None;
        }
        triggers_for(database, target, event, true)
    }

    /// The constraints of a statement's own target: none but the computed columns, if a trigger runs instead of the change.
    pub(super) fn target_constraints(
        &mut self,
        source: &Arc<TableSource>,
        change: Change<'_>,
    ) -> Result<BoundConstraints, SqlError> {
        let event = event_of(change);
        let is_plain = source.def.is_temporary() || source.def.is_system;
        let found = source.database.catalog().object(source.def.object_id).filter(|_| !is_plain);
        match found.and_then(|target| self.instead_of(&source.database, &target, event)) {
            Some(triggers) => self.replaced_constraints(source, change, triggers),
            None => self.constraints(source, change),
        }
    }

    /// A view with an INSTEAD OF trigger for the event, as the table that a statement changes; its rows are in no table.
    pub(super) fn view_as_table(
        &mut self,
        database: &Arc<Database>,
        view: &Arc<ModuleDef>,
        event: TriggerEvent,
    ) -> Result<Option<Arc<TableSource>>, SqlError> {
        if self.instead_of(database, &ObjectDef::Module(view.clone()), event).is_none() {
            return Ok(None);
        }
        let columns = self.view_columns(database, view)?;
        let column = |(at, column): (usize, FunctionColumn)| engine::ColumnDef {
            column_id: i32::try_from(at + 1).unwrap_or(i32::MAX),
            name: column.name.into(),
            sql_type: match column.sql_type {
                SqlType::RowVersion => SqlType::Binary(8),
                other => other,
            },
            nullable: true,
            collation: column.collation,
            identity: None,
            default: None,
            computed: None,
            is_rowguidcol: false,
            user_type_id: 0,
        };
        let def = engine::TableDef {
            object_id: view.object_id,
            schema_id: view.schema_id,
            schema: view.schema.clone(),
            name: view.name.clone(),
            is_system: false,
            ansi_nulls: view.ansi_nulls,
            columns: columns.into_iter().enumerate().map(column).collect(),
            indexes: vec![engine::IndexDef::heap()],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            create_date: view.create_date,
            modify_date: view.modify_date,
            next_column_id: 1,
        };
        Ok(Some(Arc::new(TableSource::new(database.clone(), Arc::new(def)))))
    }

    /// The rows of a view that is a statement's target, and whose changes a trigger makes: each has a place, which says nothing.
    pub(super) fn rows_for_trigger(&mut self, rel: Rel, source: Arc<TableSource>) -> (Rel, FoundTarget) {
        let table = self.scope().tables.last().expect("the view was added");
        let columns: Vec<ColumnId> = table.columns.iter().map(|column| column.id).collect();
        let locator = self.new_locator();
        let mut items: Vec<(ColumnId, Expr)> =
            rel.output().into_iter().map(|id| (id, self.column_expr(id))).collect();
        items.push((locator, Expr::constant(Value::binary(&[1]), SqlType::VARBINARY_MAX)));
        let rel = Rel::Project { input: Box::new(rel), items };
        (rel, FoundTarget { source, columns, locator, through: None })
    }

    /// The trigger whose body the text itself is, not that of a view or function that it names.
    fn own_trigger(&self) -> Option<TriggerScope<'_>> {
        self.context.trigger.filter(|_| self.is_in_statement())
    }

    /// Which table of the running trigger a name means.
    pub(super) fn trigger_table_named(&self, name: &ObjectName) -> Option<TriggerTable> {
        self.own_trigger().filter(|_| name.is_simple())?;
        match &name.name.value {
            own if same_name(own, "inserted") => Some(TriggerTable::Inserted),
            own if same_name(own, "deleted") => Some(TriggerTable::Deleted),
            _ => None,
        }
    }

    /// The rows of `inserted` or `deleted` under an alias.
    pub(super) fn trigger_table(&mut self, table: TriggerTable, alias: &str) -> Result<Rel, SqlError> {
        let scope = self.own_trigger().expect("asked for in its body");
        let database = scope.database.clone();
        let module = scope.module.clone();
        let found = self.dependencies.of(&database).object(module.parent_object_id);
        let (columns, marks) = match &found {
            Some(ObjectDef::Table(table)) => columns_of_table(table),
            Some(ObjectDef::Module(view)) => (self.view_columns(&database, view)?, Vec::new()),
            _ => return Err(plan_ir::errors::invalid_object(alias)),
        };
        let (mut ids, mut visible) = (Vec::new(), Vec::new());
        for (at, column) in columns.iter().enumerate() {
            let id = self.new_column(column.sql_type, column.nullable, column.collation);
            ids.push(id);
            let (identity, rowguid) = marks.get(at).copied().unwrap_or_default();
            visible.push(ScopeColumn { name: column.name.clone(), id, identity, rowguid, base: true });
        }
        let table_of = ScopeTable { alias: alias.into(), schema: None, database: None, columns: visible };
        self.scope().tables.push(table_of);
        let function = UserFunction {
            database,
            module,
            parameters: Vec::new(),
            is_strict: false,
            is_deterministic: false,
            columns,
            program: OnceLock::new(),
            trigger_table: Some(table),
        };
        Ok(Rel::FunctionTable { function: Arc::new(function), arguments: Vec::new(), columns: ids })
    }

    /// The columns of a view as a table would have them.
    pub(super) fn view_columns(
        &mut self,
        database: &Arc<Database>,
        view: &Arc<ModuleDef>,
    ) -> Result<Vec<FunctionColumn>, SqlError> {
        let (schema, ansi_nulls) = (view.schema.clone(), view.ansi_nulls);
        let query = self.isolated(database.clone(), schema, ansi_nulls, |binder| binder.view_query(view))?;
        let columns = query.rows.columns.iter().enumerate().map(|(at, column)| {
            let info = &self.columns[column.id.0 as usize];
            let name = query.names.get(at).map_or_else(|| column.name.clone(), |name| name.value.clone());
            FunctionColumn { name, sql_type: info.sql_type, nullable: true, collation: info.collation }
        });
        Ok(columns.collect())
    }

    /// `UPDATE(column)`. Errors 140 outside of triggers, 207.
    pub(super) fn is_column_set(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        let Some(scope) = self.own_trigger() else { return Err(SqlError::new(140, &[])) };
        let (database, parent) = (scope.database.clone(), scope.module.parent_object_id);
        let [ast::Expr { kind: ast::ExprKind::Column(column), .. }] = call.args.as_slice() else {
            return Err(SqlError::new(140, &[]));
        };
        let name = &column.name.value;
        let found = self.dependencies.of(&database).object(parent);
        let ordinal = match &found {
            Some(ObjectDef::Table(table)) => super::names::ordinal_of(table, name),
            Some(ObjectDef::Module(view)) => {
                let columns = self.view_columns(&database, view)?;
                columns.iter().position(|column| same_name(&column.name, name))
            }
            _ => None,
        };
        let ordinal = ordinal.ok_or_else(|| plan_ir::errors::invalid_column(name))?;
        let function = self.built_ins.unnamed(UnnamedFunction::ColumnSet);
        let ordinal = Expr::constant(Value::Int(i32::try_from(ordinal).unwrap_or(i32::MAX)), SqlType::Int);
        let set = self.finish_call(function, vec![ordinal])?;
        let yes = Expr::constant(Value::Bit(true), SqlType::Bit);
        super::coerce::compare(plan_ir::kinds::CompareOp::Equal, set, yes)
    }

    /// Error 140 where `COLUMNS_UPDATED()` means nothing.
    pub(super) fn check_in_trigger(&self) -> Result<(), SqlError> {
        if self.own_trigger().is_some() { Ok(()) } else { Err(SqlError::new(140, &[])) }
    }

    /// Error 286 when a statement would change `inserted` or `deleted`.
    pub(super) fn refuse_trigger_table(&self, name: &ObjectName) -> Result<(), SqlError> {
        match self.trigger_table_named(name) {
            Some(_) => Err(SqlError::new(286, &[])),
            None => Ok(()),
        }
    }
}

fn event_of(change: Change<'_>) -> TriggerEvent {
    match change {
        Change::Insert => TriggerEvent::Insert,
        Change::Update(_) => TriggerEvent::Update,
        Change::Delete => TriggerEvent::Delete,
    }
}

/// The columns of a table, and which of them are identity and ROWGUIDCOL columns.
fn columns_of_table(table: &engine::TableDef) -> (Vec<FunctionColumn>, Vec<(bool, bool)>) {
    let columns = table.columns.iter().map(|column| FunctionColumn {
        name: column.name.to_string(),
        sql_type: column.sql_type,
        // An INSTEAD OF trigger gets rows before they are checked.
        nullable: true,
        collation: column.collation,
    });
    let marks = table.columns.iter().map(|column| (column.identity.is_some(), column.is_rowguidcol));
    (columns.collect(), marks.collect())
}
