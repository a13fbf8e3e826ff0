//! The pushed predicate of a scan: the conditions that are evaluated on a row's bytes before it is
//! copied. Conditions that need decoded values (`rest`) are tested above, on the columns that they read, before other columns are decoded.

use plan_ir::bound::tree::{Expr, ExprKind, TableScan, comparison_collation};
use plan_ir::kinds::{ColumnId, CompareOp};
use plan_ir::physical::plan::{
    IntKind, Node, PushedCondition, PushedConditionKind, PushedPredicate, PushedStep, PushedTest,
};
use rustc_hash::FxHashSet;
use types::arith::{BinaryOp, UnaryOp};
use types::{SqlError, Value};

use super::Planner;
use super::access::is_among;
use super::compile::{Layout, known_pattern};

/// Longer lists are looked up behind the pushed predicate.
const LIST_MAX: usize = 64;

/// An OR of more branches is judged behind the pushed predicate.
const BRANCHES_MAX: usize = 16;

/// The part of a conjunct that the pushed predicate evaluates.
struct Judged {
    condition: PushedCondition,
    /// Nothing of the conjunct is left.
    is_all: bool,
}

impl Planner<'_> {
    /// Splits predicates; `None` when the pushed predicate supports none of them. `sought`: predicates whose seek finds exactly the rows that satisfy
    /// them: they are not evaluated again. Where the rows are not `in_place`,
    /// they are evaluated above the pushed predicate: state that depends on the values of a run is made again for each run.
    pub(super) fn pushed_filter(
        &mut self,
        scan: &TableScan,
        predicates: &[Expr],
        own: &FxHashSet<ColumnId>,
        layout: &Layout,
        (sought, in_place): (&[&Expr], bool),
    ) -> Result<Option<PushedPredicate>, SqlError> {
        let (sought, others): (Vec<&Expr>, Vec<&Expr>) =
            predicates.iter().partition(|predicate| is_among(sought, predicate));
        let mut conjuncts = Vec::new();
        others.into_iter().for_each(|predicate| predicate.clone().split_conjuncts(&mut conjuncts));
        let has_sought = in_place && !sought.is_empty();
        let (mut conditions, mut rest) = (Vec::new(), Vec::new());
        if !in_place {
            rest.extend(sought.into_iter().cloned());
        }
        for conjunct in conjuncts {
            let judged = self.pushed_condition(scan, &conjunct, false, own)?;
            if !judged.as_ref().is_some_and(|judged| judged.is_all) {
                rest.push(conjunct);
            }
            conditions.extend(judged.map(|judged| judged.condition));
        }
        if conditions.is_empty() && !has_sought {
            return Ok(None);
        }
        let rest = Expr::all(rest).map(|rest| self.predicate(&rest, layout)).transpose()?;
        Ok(Some(PushedPredicate { conditions, rest }))
    }

    /// The part of a conjunct, or (`is_negated`) of its negation, that the pushed predicate can evaluate.
    fn pushed_condition(
        &mut self,
        scan: &TableScan,
        conjunct: &Expr,
        is_negated: bool,
        own: &FxHashSet<ColumnId>,
    ) -> Result<Option<Judged>, SqlError> {
        let found = match &conjunct.kind {
            ExprKind::Not(inner) => return self.pushed_condition(scan, inner, !is_negated, own),
            ExprKind::Or(..) | ExprKind::And(..) => {
                return self.pushed_branches(scan, conjunct, is_negated, own);
            }
            ExprKind::IsNull(inner) => judged_column(scan, inner)
                .map(|ordinal| (ordinal, PushedConditionKind::Null { is_null: !is_negated })),
            ExprKind::Compare(op, left, right) => {
                let op = if is_negated { op.negated() } else { *op };
                self.pushed_comparison(scan, op, left, right, own)?
            }
            ExprKind::InList(left, list) if list.iter().all(|item| is_plain(item, own)) => {
                match judged_column(scan, left) {
                    Some(ordinal) if list.len() <= LIST_MAX => {
                        let values = self.nodes(list.iter(), &Layout::default())?;
                        let collation = conjunct.collation;
                        Some((ordinal, PushedConditionKind::OneOf { values, collation, is_negated }))
                    }
                    None if list.len() <= LIST_MAX && list.iter().all(is_integer) => {
                        let values = self.nodes(list.iter(), &Layout::default())?;
                        self.pushed_computed(scan, left, own, PushedTest::OneOf { values, is_negated })?
                    }
                    _ => None,
                }
            }
            ExprKind::Like(like) => judged_column(scan, &like.input).and_then(|ordinal| {
                let pattern = known_pattern(like, conjunct.collation)?;
                Some((ordinal, PushedConditionKind::Like { pattern: pattern.into(), is_negated }))
            }),
            _ => None,
        };
        Ok(found.map(|(ordinal, kind)| {
            // An error in the computation is raised when it is repeated with decoded values.
            let is_all = match &kind {
                PushedConditionKind::Computed { kind, steps, .. } => PushedStep::are_safe(*kind, steps),
                _ => true,
            };
            Judged { condition: PushedCondition { ordinal, kind }, is_all }
        }))
    }

    /// A test of what is computed of an integer column of the scan and plain numbers.
    fn pushed_computed(
        &mut self,
        scan: &TableScan,
        expr: &Expr,
        own: &FxHashSet<ColumnId>,
        test: PushedTest,
    ) -> Result<Option<(usize, PushedConditionKind)>, SqlError> {
        let mut parts = Vec::new();
        let Some(ordinal) = arithmetic(scan, expr, own, &mut parts) else { return Ok(None) };
        let Some(kind) = IntKind::of(&scan.source.def.columns[ordinal].sql_type) else { return Ok(None) };
        let mut steps = Vec::with_capacity(parts.len());
        for Part { op, kind, operand, is_flipped } in parts {
            let operand = match operand {
                Operand::Plain(expr) => self.node(expr, &Layout::default())?,
                Operand::Number(number) => Node::Constant(Value::BigInt(number)),
            };
            steps.push(PushedStep { op, kind, operand, is_flipped });
        }
        Ok(Some((ordinal, PushedConditionKind::Computed { kind, steps, test })))
    }

    /// The same part of an OR, or of a negated AND, and of an AND inside it. A branch that the pushed predicate evaluates in part admits more rows
    /// than the whole branch; a branch that it cannot evaluate admits all rows.
    fn pushed_branches(
        &mut self,
        scan: &TableScan,
        conjunct: &Expr,
        is_negated: bool,
        own: &FxHashSet<ColumnId>,
    ) -> Result<Option<Judged>, SqlError> {
        let parts = disjuncts(conjunct, is_negated);
        if parts.len() > BRANCHES_MAX {
            return Ok(None);
        }
        let (mut is_all, mut branches) = (true, Vec::with_capacity(parts.len()));
        for branch in parts {
            let mut conditions = Vec::new();
            for (part, is_negated) in branch {
                let judged = self.pushed_condition(scan, part, is_negated, own)?;
                is_all &= judged.as_ref().is_some_and(|judged| judged.is_all);
                conditions.extend(judged.map(|judged| judged.condition));
            }
            if conditions.is_empty() {
                return Ok(None);
            }
            branches.push(conditions);
        }
        let ordinal = branches[0][0].ordinal;
        Ok(Some(Judged {
            condition: PushedCondition { ordinal, kind: PushedConditionKind::Any(branches) },
            is_all,
        }))
    }

    fn pushed_comparison(
        &mut self,
        scan: &TableScan,
        op: CompareOp,
        left: &Expr,
        right: &Expr,
        own: &FxHashSet<ColumnId>,
    ) -> Result<Option<(usize, PushedConditionKind)>, SqlError> {
        let (ordinal, op, value) = match (judged_column(scan, left), judged_column(scan, right)) {
            (Some(ordinal), Some(other)) if engine::compare_as_numbers(&left.sql_type, &right.sql_type) => {
                return Ok(Some((ordinal, PushedConditionKind::CompareColumn { op, other })));
            }
            (Some(ordinal), _) if is_plain(right, own) => (ordinal, op, right),
            (_, Some(ordinal)) if is_plain(left, own) => (ordinal, op.flipped(), left),
            _ => {
                let (computed, op, value) = match is_plain(left, own) {
                    true => (right, op.flipped(), left),
                    false => (left, op, right),
                };
                if !is_plain(value, own) || !is_integer(value) {
                    return Ok(None);
                }
                let value = self.node(value, &Layout::default())?;
                return self.pushed_computed(scan, computed, own, PushedTest::Compare { op, value });
            }
        };
        let collation = comparison_collation(left, right);
        let value = self.node(value, &Layout::default())?;
        Ok(Some((ordinal, PushedConditionKind::Compare { op, value, collation })))
    }
}

/// The branches of an OR or of the opposite of an AND, each as the list of its conditions and whether their opposite is meant. By the rules of three
/// values a NOT goes through both.
fn disjuncts(expr: &Expr, is_negated: bool) -> Vec<Vec<(&Expr, bool)>> {
    match (&expr.kind, is_negated) {
        (ExprKind::Not(inner), _) => disjuncts(inner, !is_negated),
        (ExprKind::Or(left, right), false) | (ExprKind::And(left, right), true) => {
            disjuncts(left, is_negated).into_iter().chain(disjuncts(right, is_negated)).collect()
        }
        _ => vec![conjuncts(expr, is_negated)],
    }
}

/// The conditions of an AND or of the opposite of an OR.
fn conjuncts(expr: &Expr, is_negated: bool) -> Vec<(&Expr, bool)> {
    match (&expr.kind, is_negated) {
        (ExprKind::Not(inner), _) => conjuncts(inner, !is_negated),
        (ExprKind::And(left, right), false) | (ExprKind::Or(left, right), true) => {
            conjuncts(left, is_negated).into_iter().chain(conjuncts(right, is_negated)).collect()
        }
        _ => vec![(expr, is_negated)],
    }
}

/// The column of the scan that an expression is, if conditions on it can be judged where its rows lie.
fn judged_column(scan: &TableScan, expr: &Expr) -> Option<usize> {
    let ExprKind::Column(id) = &expr.kind else { return None };
    let ordinal = scan.columns.iter().position(|own| own == id)?;
    let is_variant = scan.source.def.columns[ordinal].sql_type == types::SqlType::SqlVariant;
    (!is_variant && scan.source.table.judges_in_place(ordinal)).then_some(ordinal)
}

/// A value that is the same for all rows of the scan and costs nothing to have: a constant, a variable, an outer row's column, converted.
fn is_plain(expr: &Expr, own: &FxHashSet<ColumnId>) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Variable(_) => true,
        ExprKind::Column(id) => !own.contains(id),
        ExprKind::Convert(inner, _) => is_plain(inner, own),
        _ => false,
    }
}

fn is_integer(expr: &Expr) -> bool {
    IntKind::of(&expr.sql_type).is_some()
}

/// A step of what is computed of a column.
struct Part<'e> {
    op: BinaryOp,
    /// The type of what comes of it.
    kind: IntKind,
    operand: Operand<'e>,
    /// The operand is on the left.
    is_flipped: bool,
}

enum Operand<'e> {
    Plain(&'e Expr),
    Number(i64),
}

/// Takes apart what is computed of one integer column and plain numbers; the steps in their order. `None`: it is something else.
fn arithmetic<'e>(
    scan: &TableScan,
    expr: &'e Expr,
    own: &FxHashSet<ColumnId>,
    parts: &mut Vec<Part<'e>>,
) -> Option<usize> {
    let kind = IntKind::of(&expr.sql_type)?;
    match &expr.kind {
        ExprKind::Column(_) => judged_column(scan, expr),
        ExprKind::Convert(inner, _) => {
            let ((low, high), (least, most)) = (IntKind::of(&inner.sql_type)?.range(), kind.range());
            // A conversion to a wider type keeps the number.
            if least <= low && high <= most { arithmetic(scan, inner, own, parts) } else { None }
        }
        ExprKind::Unary(op, inner) => {
            let ordinal = arithmetic(scan, inner, own, parts)?;
            let (op, number) = match op {
                UnaryOp::Plus => return Some(ordinal),
                UnaryOp::Negate => (BinaryOp::Subtract, 0),
                UnaryOp::BitNot => {
                    (BinaryOp::BitXor, if kind == IntKind::Tiny { i64::from(u8::MAX) } else { -1 })
                }
            };
            parts.push(Part { op, kind, operand: Operand::Number(number), is_flipped: true });
            Some(ordinal)
        }
        ExprKind::Binary(op, left, right) => {
            let is_flipped = is_plain(left, own);
            let (inner, operand) = if is_flipped { (right, left) } else { (left, right) };
            let is_known = match op {
                BinaryOp::Divide | BinaryOp::Modulo => !is_flipped,
                BinaryOp::ShiftLeft | BinaryOp::ShiftRight => false,
                _ => true,
            };
            if !is_known || !is_plain(operand, own) || !is_integer(operand) {
                return None;
            }
            let ordinal = arithmetic(scan, inner, own, parts)?;
            parts.push(Part { op: *op, kind, operand: Operand::Plain(operand), is_flipped });
            Some(ordinal)
        }
        _ => None,
    }
}
