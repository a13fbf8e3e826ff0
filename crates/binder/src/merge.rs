//! MERGE: target and source are joined, and each row goes to the first WHEN clause of its kind whose condition holds.

use std::sync::Arc;

use plan_ir::bound::change::{BoundConstraints, BoundMerge, BoundMergeAction};
use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::{ColumnId, CompareOp, IdentityRule, JoinKind};
use plan_ir::table::{TableSource, is_identity_insert_on};
use tsql::ast::{self, MergeAction as Written, MergeWhen};
use types::{SqlError, SqlType, Value};

use super::constraints::{Change, follows_others};
use super::found_target::{FoundTarget, Named};
use super::next_values::{CLAUSE, MERGED};
use super::update::SetValue;
use super::{Binder, Clause, Scope, ScopeColumn, ScopeTable};

/// Longest name of an action: the type of `$action` is nvarchar(10).
const ACTION_NAME_LENGTH: u16 = 10;

/// An action before it is known how its values are stored.
enum Action {
    Insert { values: Vec<(usize, Expr)> },
    Update(Vec<SetValue>),
    Delete,
}

/// The joined rows.
struct Joined {
    rel: Rel,
    target: FoundTarget,
    /// A column of the source's side that is NULL where a row has no source.
    marker: ColumnId,
    /// Rows without a target row come, too; rows without a source row.
    keeps_source: bool,
    keeps_target: bool,
}

impl Binder<'_> {
    /// Binds a MERGE. Errors 5318, 5324, 5333, 5334, 10714, 10739, and those of INSERT, UPDATE and DELETE.
    pub fn merge(&mut self, merge: &ast::Merge) -> Result<BoundMerge, SqlError> {
        check_clauses(&merge.clauses)?;
        if let Some(with) = &merge.with {
            self.add_common_tables(with)?;
        }
        self.scopes.push(Scope { clause: Clause::Rows, ..Scope::default() });
        self.next_values.refuse_over();
        let joined = self.refusing_next_values(CLAUSE, true, |binder| binder.merged_rows(merge))?;
        let target = &joined.target;
        self.next_values.is_limited = merge.top.is_some();
        let mut cases = Vec::new();
        let mut written = Vec::new();
        let mut identity = None;
        for (number, clause) in merge.clauses.iter().enumerate() {
            let when = self.when(clause, &joined)?;
            cases.push((when, Expr::constant(Value::Int(number as i32), SqlType::Int)));
            written.push(self.bind_action(clause, target, &mut identity)?);
        }
        let action = self.new_column(SqlType::Int, true, Default::default());
        let action_name = self.new_column(SqlType::nvarchar(ACTION_NAME_LENGTH), false, Default::default());
        let number = Expr::new(ExprKind::Case(cases, None), SqlType::Int, true);
        let rel = self.acting_rows(joined.rel, (action, number), action_name, merge.top.as_ref())?;
        let source = target.source.clone();
        let mut changed = Vec::new();
        let mut actions = Vec::with_capacity(written.len());
        for one in written {
            actions.push(self.bound_action(one, target, &mut changed)?);
        }
        self.next_values.is_limited = false;
        changed.sort_unstable();
        changed.dedup();
        let inserts = self.constraints_for(&source, Change::Insert, &actions)?;
        let updates = self.constraints_for(&source, Change::Update(&changed), &actions)?;
        let deletes = self.constraints_for(&source, Change::Delete, &actions)?;
        check_replaced(&source, &actions, [&inserts, &updates, &deletes])?;
        changed.extend(follows_others(&source));
        self.show_action_name(action_name);
        let outputs = self.refusing_next_values(CLAUSE, true, |binder| {
            let shown = target.changed().with_missing_rows();
            binder.outputs(&merge.output, shown, Some(&rel.output()), (true, true))
        })?;
        self.scopes.pop();
        Ok(BoundMerge {
            rows: joined.target.changed_rows(rel, merge.top.is_some()),
            action,
            action_name,
            actions,
            changed,
            inserts,
            updates,
            deletes,
            outputs,
            identity,
        })
    }

    /// Target and source, joined so that the rows come that the clauses are about.
    fn merged_rows(&mut self, merge: &ast::Merge) -> Result<Joined, SqlError> {
        let hints = match &merge.target.kind {
            ast::DmlTargetKind::Table(name) => {
                self.target_hints_of(name, merge.alias.as_ref(), &merge.target.hints)?
            }
            _ => super::hints::target_hints(&merge.target.hints)?,
        };
        let Named::Table(table) = self.named_target(&merge.target.kind)? else {
            return Err(plan_ir::errors::unsupported("MERGE into a view or common table expression"));
        };
        let schema = Some(table.schema().to_string());
        let database = Some(table.database.name().to_string());
        let (alias, schema, database) = match (&merge.alias, &merge.target.kind) {
            (Some(alias), _) => (alias.value.clone(), None, None),
            (None, ast::DmlTargetKind::Variable(name, _)) => (name.clone(), None, None),
            (None, ast::DmlTargetKind::Table(name)) => (name.name.value.clone(), schema, database),
            (None, ast::DmlTargetKind::Source(_)) => (table.def.name.to_string(), schema, database),
        };
        let target_rel = self.add_table(table.clone(), &alias, schema, database, hints, true);
        self.observe(&table.database, &engine::ObjectDef::Table(table.def.clone()));
        let target = super::update::found_in(&target_rel, table);
        let (source_rel, marker) = self.merge_source(&merge.source)?;
        let on = self.condition(&merge.on)?;
        let is_about = |when: MergeWhen| merge.clauses.iter().any(|clause| clause.when == when);
        let keeps_source = is_about(MergeWhen::NotMatchedByTarget);
        let keeps_target = is_about(MergeWhen::NotMatchedBySource);
        let (own, other) = self.scope().tables.split_at(1);
        let ids = |tables: &[ScopeTable]| -> Vec<ColumnId> {
            tables.iter().flat_map(|table| table.columns.iter().map(|column| column.id)).collect()
        };
        let (own, other) = (ids(own), ids(other));
        let missing = if keeps_source { own } else { Vec::new() };
        let missing = missing.into_iter().chain(if keeps_target { other } else { Vec::new() });
        for id in missing {
            self.columns[id.0 as usize].nullable = true;
        }
        let (kind, left, right) = match (keeps_source, keeps_target) {
            (false, false) => (JoinKind::Inner, target_rel, source_rel),
            (true, false) => (JoinKind::Left, source_rel, target_rel),
            (false, true) => (JoinKind::Left, target_rel, source_rel),
            (true, true) => (JoinKind::Full, target_rel, source_rel),
        };
        let rel = super::from::join(kind, left, right, Some(on));
        Ok(Joined { rel, target, marker, keeps_source, keeps_target })
    }

    /// The source with its marker. It does not see the target. Error 5318 when both have one name.
    fn merge_source(&mut self, source: &ast::TableSource) -> Result<(Rel, ColumnId), SqlError> {
        let outer =
            std::mem::replace(&mut self.scopes, vec![Scope { clause: Clause::Rows, ..Scope::default() }]);
        let bound = self.from(std::slice::from_ref(source));
        let inner = std::mem::replace(&mut self.scopes, outer).pop().expect("set above");
        let rel = bound?;
        let target = &self.scope().tables[0];
        if inner.tables.iter().any(|table| super::from::is_same_exposed(target, table)) {
            return Err(SqlError::new(5318, &[]));
        }
        self.scope().tables.extend(inner.tables);
        let marker = self.new_column(SqlType::Int, true, Default::default());
        let mut items: Vec<(ColumnId, Expr)> =
            rel.output().into_iter().map(|id| (id, self.column_expr(id))).collect();
        items.push((marker, Expr::constant(Value::Int(1), SqlType::Int)));
        Ok((Rel::Project { input: Box::new(rel), items }, marker))
    }

    /// Is a row one of the clause's?
    fn when(&mut self, clause: &ast::MergeClause, joined: &Joined) -> Result<Expr, SqlError> {
        let is_missing =
            |binder: &Self, id: ColumnId| Expr::predicate(ExprKind::IsNull(Box::new(binder.column_expr(id))));
        let not = |predicate: Expr| Expr::predicate(ExprKind::Not(Box::new(predicate)));
        let (no_target, no_source) =
            (is_missing(self, joined.target.locator), is_missing(self, joined.marker));
        // A side that always has a row is not tested: then the join may evaluate conditions on one side before it joins.
        let mut parts = Vec::new();
        match clause.when {
            MergeWhen::Matched => {
                parts.extend(joined.keeps_source.then(|| not(no_target)));
                parts.extend(joined.keeps_target.then(|| not(no_source)));
            }
            MergeWhen::NotMatchedByTarget => parts.push(no_target),
            MergeWhen::NotMatchedBySource => parts.push(no_source),
        }
        if let Some(condition) = &clause.condition {
            let bound = self.refusing_next_values(CLAUSE, true, |binder| {
                let bind =
                    |binder: &mut Self| binder.telling_first_name(|binder| binder.condition(condition));
                binder.seeing(clause.when, bind)
            });
            parts.push(match bound.map_err(|error| out_of_sight(clause.when, error)) {
                Err(error) => self.unknown_name(std::ptr::from_ref(condition).addr(), error)?,
                Ok(condition) => condition,
            });
        }
        let always = || {
            let one = || Box::new(Expr::constant(Value::Int(1), SqlType::Int));
            Expr::predicate(ExprKind::Compare(CompareOp::Equal, one(), one()))
        };
        Ok(Expr::all(parts).unwrap_or_else(always))
    }

    /// Runs `f` while only those tables are in sight that the rows of the clause have.
    fn seeing<T>(
        &mut self,
        when: MergeWhen,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let all = self.scope().tables.clone();
        let seen = match when {
            MergeWhen::Matched => all.clone(),
            MergeWhen::NotMatchedByTarget => all[1..].to_vec(),
            MergeWhen::NotMatchedBySource => all[..1].to_vec(),
        };
        self.scope().tables = seen;
        let result = f(self);
        self.scope().tables = all;
        result
    }

    fn bind_action(
        &mut self,
        clause: &ast::MergeClause,
        target: &FoundTarget,
        identity: &mut Option<IdentityRule>,
    ) -> Result<Action, SqlError> {
        self.refusing_next_values(MERGED, true, |binder| {
            binder.seeing(clause.when, |binder| match &clause.action {
                Written::Delete => Ok(Action::Delete),
                Written::Update(set) => {
                    let mut steps = Vec::new();
                    binder.set_clauses(set, target, &mut steps)?;
                    Ok(Action::Update(steps))
                }
                Written::Insert(columns, values) => {
                    let source = target.source.clone();
                    binder.bind_insert(&source, columns, values.as_deref(), identity)
                }
            })
        })
    }

    fn bind_insert(
        &mut self,
        source: &Arc<TableSource>,
        columns: &[ast::ColumnRef],
        values: Option<&[ast::Expr]>,
        identity: &mut Option<IdentityRule>,
    ) -> Result<Action, SqlError> {
        if columns.iter().any(|column| column.qualifier.is_some()) {
            return Err(SqlError::new(10739, &[]));
        }
        let explicit = !columns.is_empty();
        let ordinals = if explicit {
            self.target_columns(source, None, columns)?
        } else {
            let takes_identity = is_identity_insert_on(self.context.options, source);
            let takes_value = |ordinal: &usize| {
                let column = &source.def.columns[*ordinal];
                column.computed.is_none() && (column.identity.is_none() || takes_identity)
            };
            (0..source.def.columns.len()).filter(takes_value).collect()
        };
        *identity = source.def.identity_ordinal().map(|at| IdentityRule {
            is_given: values.is_some() && ordinals.contains(&at),
            has_list: explicit,
        });
        let Some(values) = values else { return Ok(Action::Insert { values: Vec::new() }) };
        super::insert::check_width(explicit, values.len(), ordinals.len())?;
        let mut bound = Vec::with_capacity(values.len());
        for (ordinal, value) in ordinals.into_iter().zip(values) {
            if matches!(value.kind, ast::ExprKind::Default) {
                continue;
            }
            super::insert::refuse_rowversion(source, ordinal)?;
            bound.push((ordinal, self.value(value)?));
        }
        Ok(Action::Insert { values: bound })
    }

    /// Only rows for which there is something to do; TOP counts these.
    fn acting_rows(
        &mut self,
        joined: Rel,
        (action, number): (ColumnId, Expr),
        action_name: ColumnId,
        top: Option<&ast::Top>,
    ) -> Result<Rel, SqlError> {
        let mut items: Vec<(ColumnId, Expr)> =
            joined.output().into_iter().map(|id| (id, self.column_expr(id))).collect();
        items.push((action, number));
        // Its value is put there when the action is known.
        items.push((action_name, Expr::constant(Value::nvarchar(""), SqlType::nvarchar(ACTION_NAME_LENGTH))));
        let input = Box::new(Rel::Project { input: Box::new(joined), items });
        let is_nothing = Expr::predicate(ExprKind::IsNull(Box::new(self.column_expr(action))));
        let predicate = Expr::predicate(ExprKind::Not(Box::new(is_nothing)));
        let rel = Rel::Filter { input, predicate };
        match top {
            Some(top) => Ok(Rel::Top { input: Box::new(rel), top: self.top(top, Vec::new())? }),
            None => Ok(rel),
        }
    }

    fn bound_action(
        &mut self,
        action: Action,
        target: &FoundTarget,
        changed: &mut Vec<usize>,
    ) -> Result<BoundMergeAction, SqlError> {
        let source = &target.source;
        Ok(match action {
            Action::Delete => BoundMergeAction::Delete,
            Action::Update(steps) => BoundMergeAction::Update(self.bound_steps(steps, target, changed)?),
            Action::Insert { values } => {
                let stores = values
                    .into_iter()
                    .map(|(ordinal, value)| self.store(source, ordinal, value))
                    .collect::<Result<_, _>>()?;
                BoundMergeAction::Insert(self.all_stores(source, stores)?)
            }
        })
    }

    /// The constraints on rows that are changed this way, if an action does it.
    fn constraints_for(
        &mut self,
        source: &Arc<TableSource>,
        change: Change<'_>,
        actions: &[BoundMergeAction],
    ) -> Result<BoundConstraints, SqlError> {
        let is_done = actions.iter().any(|action| {
            matches!(
                (action, change),
                (BoundMergeAction::Insert(_), Change::Insert)
                    | (BoundMergeAction::Update(_), Change::Update(_))
                    | (BoundMergeAction::Delete, Change::Delete)
            )
        });
        if is_done { self.target_constraints(source, change) } else { Ok(BoundConstraints::default()) }
    }

    /// `$action` for OUTPUT.
    fn show_action_name(&mut self, id: ColumnId) {
        let column =
            ScopeColumn { name: "$action".to_string(), id, identity: false, rowguid: false, base: false };
        self.scope().tables.push(ScopeTable {
            alias: String::new(),
            schema: None,
            database: None,
            columns: vec![column],
        });
    }
}

/// INSTEAD OF triggers stand for all actions of the statement or for none. Error 5316.
fn check_replaced(
    source: &TableSource,
    actions: &[BoundMergeAction],
    constraints: [&BoundConstraints; 3],
) -> Result<(), SqlError> {
    let [inserts, updates, deletes] = constraints.map(|of| of.instead_of.is_some());
    let is_replaced = |action: &BoundMergeAction| match action {
        BoundMergeAction::Insert(_) => inserts,
        BoundMergeAction::Update(_) => updates,
        BoundMergeAction::Delete => deletes,
    };
    let count = actions.iter().filter(|action| is_replaced(action)).count();
    if count == 0 || count == actions.len() {
        return Ok(());
    }
    Err(SqlError::new(5316, &[&source.def.name]))
}

/// Checks the combination of the clauses: 5324, 10714.
fn check_clauses(clauses: &[ast::MergeClause]) -> Result<(), SqlError> {
    for (at, clause) in clauses.iter().enumerate() {
        let name = clause_name(clause.when);
        for before in clauses[..at].iter().filter(|before| before.when == clause.when) {
            if std::mem::discriminant(&before.action) == std::mem::discriminant(&clause.action) {
                let action = match clause.action {
                    Written::Insert(..) => "INSERT",
                    Written::Update(_) => "UPDATE",
                    Written::Delete => "DELETE",
                };
                return Err(SqlError::new(10714, &[&action, &name]));
            }
            if before.condition.is_none() {
                return Err(SqlError::new(5324, &[&name, &name]));
            }
        }
    }
    Ok(())
}

fn clause_name(when: MergeWhen) -> &'static str {
    match when {
        MergeWhen::Matched => "WHEN MATCHED",
        MergeWhen::NotMatchedByTarget => "WHEN NOT MATCHED",
        MergeWhen::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
    }
}

/// A condition that names a column which rows of the clause do not have: 5333, 5334; state 2 for a name of several parts.
fn out_of_sight(when: MergeWhen, error: SqlError) -> SqlError {
    let number = match when {
        MergeWhen::NotMatchedByTarget => 5333,
        MergeWhen::NotMatchedBySource => 5334,
        MergeWhen::Matched => return error,
    };
    let state = match error.number {
        207 => 1,
        4104 => 2,
        _ => return error,
    };
    let name = error.message.split(['\'', '"']).nth(1).unwrap_or_default().to_string();
    SqlError::new(number, &[&name]).with_state(state)
}
