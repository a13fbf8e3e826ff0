//! UPDATE and DELETE: the rows to change come from a query over the target and the FROM clause.

use plan_ir::bound::change::{BoundDelete, BoundStep, BoundUpdate, StoredVariable};
use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::{ColumnId, JoinKind, ScanHints};
use plan_ir::names::written;
use tsql::ast::{self, SetClause};
use types::SqlError;

use super::constraints::{Change, follows_others};
use super::found_target::{Access, FoundTarget, Named, TargetRequest};
use super::next_values::{CLAUSE, LIMITED};
use super::scalar::assignment_operator;
use super::{Binder, Clause, Scope, coerce};

impl Binder<'_> {
    /// Binds an UPDATE. Errors 207, 208, 264, 271, 8102.
    pub fn update(&mut self, update: &ast::Update) -> Result<BoundUpdate, SqlError> {
        if let Some(with) = &update.with {
            self.add_common_tables(with)?;
        }
        self.scopes.push(Scope { clause: Clause::Rows, ..Scope::default() });
        let access = Access::Columns(columns_set(&update.set));
        let filter = update.filter.as_ref();
        let (rel, target, may_repeat) = self.refusing_next_values(CLAUSE, true, |binder| {
            binder.changed_rows(&update.target, &update.from, filter, update.top.as_ref(), access)
        })?;
        let mut steps = Vec::new();
        self.next_values.refuse_over();
        self.next_values.is_limited = update.top.is_some();
        self.refusing_next_values(LIMITED, update.top.is_some(), |binder| {
            binder.set_clauses(&update.set, &target, &mut steps)
        })?;
        // Other next values belong to rows of other tables, which no TOP counts.
        self.next_values.is_limited = false;
        let mut changed = Vec::new();
        let steps = self.bound_steps(steps, &target, &mut changed)?;
        changed.sort_unstable();
        let mut constraints = self.target_constraints(&target.source, Change::Update(&changed))?;
        let is_replaced = constraints.instead_of.is_some();
        if let Some(through) = target.through.as_ref().filter(|_| !is_replaced) {
            constraints.view_checks = through.row_conditions(&target.source, Some(&rel))?;
        }
        changed.extend(follows_others(&target.source));
        let outputs = self.refusing_next_values(CLAUSE, true, |binder| {
            binder.outputs(&update.output, target.changed(), Some(&rel.output()), (true, true))
        })?;
        self.scopes.pop();
        let may_repeat = may_repeat && !is_view(&target.source);
        let rows = target.changed_rows(rel, update.top.is_some());
        Ok(BoundUpdate { rows, steps, changed, constraints, outputs, may_repeat })
    }

    /// Binds a DELETE.
    pub fn delete(&mut self, delete: &ast::Delete) -> Result<BoundDelete, SqlError> {
        if let Some(with) = &delete.with {
            self.add_common_tables(with)?;
        }
        self.scopes.push(Scope { clause: Clause::Rows, ..Scope::default() });
        let (filter, top) = (delete.filter.as_ref(), delete.top.as_ref());
        let (rel, target, may_repeat) = self.refusing_next_values(CLAUSE, true, |binder| {
            binder.changed_rows(&delete.target, &delete.from, filter, top, Access::Delete)
        })?;
        let constraints = self.target_constraints(&target.source, Change::Delete)?;
        let outputs = self.refusing_next_values(CLAUSE, true, |binder| {
            binder.outputs(&delete.output, target.changed(), Some(&rel.output()), (false, true))
        })?;
        self.scopes.pop();
        let may_repeat = may_repeat && !is_view(&target.source);
        let rows = target.changed_rows(rel, top.is_some());
        Ok(BoundDelete { rows, constraints, outputs, may_repeat })
    }

    /// The rows of the target that the statement changes, joined with FROM. The flag: a row may come several times.
    fn changed_rows(
        &mut self,
        target: &ast::DmlTarget,
        from: &[ast::TableSource],
        filter: Option<&ast::DmlFilter>,
        top: Option<&ast::Top>,
        access: Access,
    ) -> Result<(Rel, FoundTarget, bool), SqlError> {
        let hints = match &target.kind {
            ast::DmlTargetKind::Table(name) if from.is_empty() => {
                self.target_hints_of(name, None, &target.hints)?
            }
            _ => super::hints::target_hints(&target.hints)?,
        };
        let (mut rel, found) = self.target_rows(target, from, hints, access)?;
        let is_joined = may_repeat(&rel);
        match filter {
            Some(ast::DmlFilter::Where(condition)) => {
                let predicate = self.condition(condition)?;
                rel = Rel::Filter { input: Box::new(rel), predicate };
            }
            Some(ast::DmlFilter::CurrentOf(_)) => {
                return Err(plan_ir::errors::unsupported("WHERE CURRENT OF"));
            }
            None => {}
        }
        if let Some(top) = top {
            let top = self.top(top, Vec::new())?;
            if may_miss(&rel, found.locator) {
                // Rows that an outer join has made without the target do not count.
                let is_missing = Expr::predicate(ExprKind::IsNull(Box::new(self.column_expr(found.locator))));
                let predicate = Expr::predicate(ExprKind::Not(Box::new(is_missing)));
                rel = Rel::Filter { input: Box::new(rel), predicate };
            }
            rel = Rel::Top { input: Box::new(rel), top };
        }
        Ok((rel, found, is_joined))
    }

    fn target_rows(
        &mut self,
        target: &ast::DmlTarget,
        from: &[ast::TableSource],
        hints: ScanHints,
        access: Access,
    ) -> Result<(Rel, FoundTarget), SqlError> {
        let request = if from.is_empty() {
            let beside = Some(self.named_target(&target.kind)?);
            TargetRequest { position: None, seen: 0, beside, access, found: None, hints }
        } else {
            self.target_request(&target.kind, from, hints, access)?
        };
        let outer = self.target.replace(request);
        let result = self.sources_with_target(&target.kind, from);
        let request = std::mem::replace(&mut self.target, outer);
        let rel = result?;
        let found = request.and_then(|request| request.found);
        Ok((rel, found.expect("the request names one of the sources, or the target stands beside them")))
    }

    /// The rows of FROM, and those of the target if it stands beside them.
    fn sources_with_target(
        &mut self,
        target: &ast::DmlTargetKind,
        from: &[ast::TableSource],
    ) -> Result<Rel, SqlError> {
        let others = if from.is_empty() { None } else { Some(self.from(from)?) };
        let (beside, hints) = match &self.target {
            Some(request) => (request.beside.clone(), request.hints.clone()),
            None => (None, ScanHints::default()),
        };
        let own = match beside {
            None => return Ok(others.expect("a target without FROM stands by itself")),
            Some(Named::View(name, ..) | Named::CommonTable(name)) => {
                self.named_source(&name, None, &[], true)?
            }
            Some(Named::Table(source)) => {
                // A temporary table and a table variable have other names inside.
                let alias = match target {
                    ast::DmlTargetKind::Variable(name, _) => name.clone(),
                    ast::DmlTargetKind::Table(name) => name.name.value.clone(),
                    ast::DmlTargetKind::Source(_) => source.def.name.to_string(),
                };
                let schema = Some(source.schema().to_string());
                let database = Some(source.database.name().to_string());
                let rel = self.add_table(source.clone(), &alias, schema, database, hints, true);
                self.observe(&source.database, &engine::ObjectDef::Table(source.def.clone()));
                let found = found_in(&rel, source);
                if let Some(request) = &mut self.target {
                    request.found = Some(found);
                }
                rel
            }
        };
        Ok(match others {
            None => own,
            Some(others) => super::from::join(JoinKind::Inner, own, others, None),
        })
    }

    /// Binds what SET says; of each clause the name that it cannot find is told.
    pub(super) fn set_clauses(
        &mut self,
        set: &[SetClause],
        target: &FoundTarget,
        steps: &mut Vec<SetValue>,
    ) -> Result<(), SqlError> {
        set.iter().try_for_each(|clause| match self.set_clause(clause, target, steps) {
            Err(error) => self.unknown_name(std::ptr::from_ref(clause).addr(), error).map(drop),
            set => set,
        })
    }

    fn set_clause(
        &mut self,
        clause: &SetClause,
        target: &FoundTarget,
        steps: &mut Vec<SetValue>,
    ) -> Result<(), SqlError> {
        match clause {
            SetClause::Column { column, op, value } => {
                let step = self.column_step(column, *op, value, target, steps)?;
                steps.push(step);
            }
            SetClause::Variable { variable, op, value } => {
                let slot = self.variable_slot(variable)?;
                let value = (self.value(value)?, coerce::is_number(value));
                let value = self.assigned(slot, *op, value)?;
                steps.push(SetValue { ordinal: None, variable: Some(slot), value });
            }
            SetClause::VariableAndColumn { variable, column, op, value } => {
                let slot = self.variable_slot(variable)?;
                let mut step = self.column_step(column, *op, value, target, steps)?;
                step.variable = Some(slot);
                steps.push(step);
            }
            SetClause::Method { column, method, args } => {
                let ordinal = self.step_ordinal(column, target, steps)?;
                let old = self.column_expr(target.columns[ordinal]);
                let value = self.xml_mutator((old, &column.name.value), &method.value, args)?;
                steps.push(SetValue { ordinal: Some(ordinal), variable: None, value });
            }
        }
        Ok(())
    }

    fn column_step(
        &mut self,
        column: &ast::ColumnRef,
        op: ast::AssignOp,
        value: &ast::Expr,
        target: &FoundTarget,
        steps: &[SetValue],
    ) -> Result<SetValue, SqlError> {
        let ordinal = self.step_ordinal(column, target, steps)?;
        let value = if matches!(value.kind, ast::ExprKind::Default) {
            let def = target.source.def.clone();
            match &def.columns[ordinal].default {
                Some(default) => self.stored_default(&target.source, &default.text)?,
                None => Binder::null_of(def.columns[ordinal].sql_type),
            }
        } else {
            let is_number = coerce::is_number(value);
            let value = self.value(value)?;
            match assignment_operator(op) {
                Some(op) => {
                    let column = self.column_expr(target.columns[ordinal]);
                    coerce::written_binary(op, (column, false), (value, is_number))?
                }
                None => value,
            }
        };
        Ok(SetValue { ordinal: Some(ordinal), variable: None, value })
    }

    /// The column that gets a new value. Errors 4104, 272, 8102, 264.
    fn step_ordinal(
        &mut self,
        column: &ast::ColumnRef,
        target: &FoundTarget,
        steps: &[SetValue],
    ) -> Result<usize, SqlError> {
        if let Some(qualifier) = &column.qualifier
            && !self.names_target(qualifier, target)
        {
            let name = format!("{}.{}", written(qualifier), column.name.value);
            return Err(plan_ir::errors::multi_part_not_bound(&name));
        }
        let through = target.through.as_deref();
        let ordinal = self.target_column(&target.source, through, &column.name.value)?;
        if target.source.def.columns[ordinal].sql_type == types::SqlType::RowVersion {
            return Err(SqlError::new(272, &[]));
        }
        if target.source.def.columns[ordinal].identity.is_some() {
            return Err(plan_ir::errors::update_identity(&target.source.def.columns[ordinal].name));
        }
        if steps.iter().any(|step| step.ordinal == Some(ordinal)) {
            return Err(plan_ir::errors::column_assigned_twice(&column.name.value));
        }
        Ok(ordinal)
    }

    /// Is it the name under which the statement's rows have the target?
    fn names_target(&mut self, qualifier: &ast::ObjectName, target: &FoundTarget) -> bool {
        let seen_as = target.changed().hidden;
        self.scope().tables.iter().any(|table| {
            super::names::names_table(qualifier, table)
                && table.columns.iter().any(|column| seen_as.contains(&column.id))
        })
    }

    /// How the values are stored; the columns that they change are added to `changed`.
    pub(super) fn bound_steps(
        &mut self,
        steps: Vec<SetValue>,
        target: &FoundTarget,
        changed: &mut Vec<usize>,
    ) -> Result<Vec<BoundStep>, SqlError> {
        steps.into_iter().map(|step| self.bound_step(step, target, changed)).collect()
    }

    fn bound_step(
        &mut self,
        step: SetValue,
        target: &FoundTarget,
        changed: &mut Vec<usize>,
    ) -> Result<BoundStep, SqlError> {
        match (step.ordinal, step.variable) {
            (Some(ordinal), variable) => {
                changed.push(ordinal);
                let store = self.store(&target.source, ordinal, step.value)?;
                let variable = match variable {
                    None => None,
                    Some(slot) => {
                        // The variable gets what was stored, converted to its own type.
                        let stored = self.new_column(
                            target.source.def.columns[ordinal].sql_type,
                            true,
                            Default::default(),
                        );
                        let value = self.column_expr(stored);
                        let value = coerce::for_variable(value, &self.context.variables[slot].sql_type)?;
                        Some(StoredVariable { slot, stored, value })
                    }
                };
                Ok(BoundStep::Column { store, variable })
            }
            (None, Some(slot)) => Ok(BoundStep::Variable { slot, value: step.value }),
            (None, None) => unreachable!("a step sets a column or a variable"),
        }
    }
}

/// A value of SET before it is known how it is stored.
pub(super) struct SetValue {
    ordinal: Option<usize>,
    variable: Option<usize>,
    value: Expr,
}

/// A view whose changes a trigger makes: its rows have no places by which they are told apart.
fn is_view(source: &plan_ir::table::TableSource) -> bool {
    matches!(source.database.catalog().object(source.def.object_id), Some(engine::ObjectDef::Module(_)))
}

pub(super) fn found_in(rel: &Rel, source: std::sync::Arc<plan_ir::table::TableSource>) -> FoundTarget {
    let Rel::Table(scan) = rel else {
        unreachable!("a table was added");
    };
    let locator = scan.locator.expect("asked for");
    FoundTarget { source, columns: scan.columns.clone(), locator, through: None }
}

/// The names of the columns that get new values.
fn columns_set(clauses: &[SetClause]) -> Vec<String> {
    let name = |clause: &SetClause| match clause {
        SetClause::Column { column, .. }
        | SetClause::VariableAndColumn { column, .. }
        | SetClause::Method { column, .. } => Some(column.name.value.clone()),
        SetClause::Variable { .. } => None,
    };
    clauses.iter().filter_map(name).collect()
}

/// May a row of the target come more than once? It may behind a join.
fn may_repeat(rel: &Rel) -> bool {
    match rel {
        Rel::Table(_) => false,
        Rel::Filter { input, .. }
        | Rel::Project { input, .. }
        | Rel::Window { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Top { input, .. }
        | Rel::Offset { input, .. } => may_repeat(input),
        _ => true,
    }
}

/// May an outer join give rows without the table of the locator?
fn may_miss(rel: &Rel, locator: ColumnId) -> bool {
    let (left, right, left_optional, right_optional) = match rel {
        Rel::Join { kind, left, right, .. } => {
            (left, right, *kind == JoinKind::Full, matches!(kind, JoinKind::Left | JoinKind::Full))
        }
        Rel::Apply { outer, left, right } => (left, right, false, *outer),
        Rel::Filter { input, .. }
        | Rel::Project { input, .. }
        | Rel::Window { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Top { input, .. }
        | Rel::Offset { input, .. } => return may_miss(input, locator),
        _ => return false,
    };
    if left.output().contains(&locator) {
        left_optional || may_miss(left, locator)
    } else {
        right.output().contains(&locator) && (right_optional || may_miss(right, locator))
    }
}
