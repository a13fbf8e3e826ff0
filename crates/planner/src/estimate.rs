//! The selectivity of conditions. A range of constants is looked up in the index that begins with its column (the positions of its ends in the
//! tree). For run-time values the index's density is used, also for ranges between two of them that differ by a
//! constant, or whose distance the plan is made for (`plan_ir::bound::variable_ranges`). Columns that begin no index use statistics
//! (`statistics`). All other conditions use default guesses.

use std::ops::Bound;

use engine::{IndexDef, KeyRange};
use plan_ir::bound::tree::{Expr, ExprKind};
use plan_ir::bound::variable_ranges::{RangeEnd, VariableRange};
use plan_ir::kinds::CompareOp;
use types::arith::BinaryOp;
use types::{SqlType, Value};

use super::known::Estimates;
use super::sargable::{Sargable, sargable};
use super::statistics::Told;

/// Default selectivity of an equality without statistics.
const EQUAL_SHARE: f64 = 0.1;
/// Default selectivity of a range bound, and of a condition of another kind.
const BOUND_SHARE: f64 = 0.3;
/// Default selectivity of a LIKE that begins with text.
const LIKE_SHARE: f64 = 0.1;
/// Assumed share of the rows in a filtered index.
const FILTERED_SHARE: f64 = 0.2;
/// With fewer rows between two variables the plan does not hang on their distance.
const ASKED_ROWS_MIN: f64 = 200.0;
/// So many values of a list are looked up; the others are assumed to be like them.
const LIST_LOOKED_UP: usize = 8;

/// The sargable conditions that bound an index's key, by their positions in the list of sargable conditions.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyMatch {
    pub(super) equal: Vec<usize>,
    pub(super) list: Option<usize>,
    pub(super) lower: Option<usize>,
    pub(super) upper: Option<usize>,
    pub(super) like: Option<usize>,
}

impl KeyMatch {
    /// How much of an index's key the conditions say.
    pub(super) fn of(index: &IndexDef, sargables: &[Sargable<'_>]) -> KeyMatch {
        let find = |ordinal: usize, accept: &dyn Fn(&Sargable<'_>) -> bool| {
            sargables.iter().position(|found| found.ordinal == ordinal && accept(found))
        };
        let compares = |op: CompareOp| move |found: &Sargable<'_>| !found.is_like && found.op == op;
        let mut matched = KeyMatch::default();
        for column in &index.key {
            let is_equal = compares(CompareOp::Equal);
            if let Some(found) = find(column.ordinal, &|found| is_equal(found) && found.values.len() == 1) {
                matched.equal.push(found);
                continue;
            }
            if let Some(found) = find(column.ordinal, &is_equal) {
                matched.list = Some(found);
                break;
            }
            matched.lower = find(column.ordinal, &|found| {
                compares(CompareOp::Greater)(found) || compares(CompareOp::GreaterOrEqual)(found)
            });
            matched.upper = find(column.ordinal, &|found| {
                compares(CompareOp::Less)(found) || compares(CompareOp::LessOrEqual)(found)
            });
            if matched.lower.is_none() && matched.upper.is_none() {
                matched.like = find(column.ordinal, &|found| found.is_like);
            }
            break;
        }
        let mut key = index.key.iter();
        assert!(
            matched
                .equal
                .iter()
                .all(|at| key.next().is_some_and(|own| own.ordinal == sargables[*at].ordinal)),
            "what is equal is the beginning of the key, without a gap"
        );
        let bounds = [matched.lower, matched.upper, matched.like].into_iter().flatten();
        let next = key.next().map(|own| own.ordinal);
        assert!(
            bounds.chain(matched.list).all(|at| Some(sargables[at].ordinal) == next),
            "a list or bounds are about the next column"
        );
        matched
    }

    /// The conditions.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> + '_ {
        let others = [self.list, self.lower, self.upper, self.like];
        self.equal.iter().copied().chain(others.into_iter().flatten())
    }

    /// Does every column of a unique key have a value, or one of a list?
    pub(super) fn is_unique(&self, index: &IndexDef) -> bool {
        index.unique && self.equal.len() + usize::from(self.list.is_some()) == index.key.len()
    }
}

impl<'s> Estimates<'s> {
    /// The rows that an index finds.
    pub(super) fn rows_found(&self, index: &IndexDef, matched: &KeyMatch, sargables: &[Sargable<'_>]) -> f64 {
        let lists = matched.list.map_or(1.0, |list| sargables[list].values.len() as f64);
        if matched.is_unique(index) {
            return lists;
        }
        let mut share = 1.0;
        let of_bounds = |at: Option<usize>, of: f64| if at.is_some() { of } else { 1.0 };
        let behind = of_bounds(matched.lower, BOUND_SHARE)
            * of_bounds(matched.upper, BOUND_SHARE)
            * of_bounds(matched.like, LIKE_SHARE);
        let all = match self.of_values(index, matched, sargables) {
            Some((rows, has_bounds)) => {
                share = if has_bounds { 1.0 } else { behind };
                rows
            }
            None => {
                let columns = matched.equal.len() + usize::from(matched.list.is_some());
                share *= behind;
                let filtered = if index.filter.is_some() { FILTERED_SHARE } else { 1.0 };
                match columns {
                    0 => self.total * filtered,
                    _ => self.of_density(index, columns) * lists,
                }
            }
        };
        let between = self.rows_between(index, matched, sargables, all * share).unwrap_or(f64::INFINITY);
        debug_assert!(all >= 0.0 && between >= 0.0, "an index finds {all} rows, {between} between bounds");
        (all * share).min(between).clamp(1.0, self.total.max(1.0))
    }

    /// The rows between two bounds whose distance is known, behind columns with one value each. The distance of variables is asked for where the
    /// `guess` without it is large enough for another plan.
    fn rows_between(
        &self,
        index: &IndexDef,
        matched: &KeyMatch,
        sargables: &[Sargable<'_>],
        guess: f64,
    ) -> Option<f64> {
        let (lower, upper) = (&sargables[matched.lower?], &sargables[matched.upper?]);
        let values = values_between(lower, upper).or_else(|| {
            let range = range_between(lower, upper).filter(|_| guess >= ASKED_ROWS_MIN)?;
            self.ranges.width(range)
        });
        Some(values? * self.of_density(index, matched.equal.len() + 1))
    }

    /// The rows of the range whose values are known now, and whether its bounds are among them; `None` when one of the equal columns is not.
    fn of_values(
        &self,
        index: &IndexDef,
        matched: &KeyMatch,
        sargables: &[Sargable<'_>],
    ) -> Option<(f64, bool)> {
        let value =
            |at: usize, position: usize| self.known(sargables[at].values[position], sargables[at].ordinal);
        let prefix: Vec<Value> = matched.equal.iter().map(|at| value(*at, 0)).collect::<Option<_>>()?;
        let rows_in = |range: &KeyRange| self.scan.source.table.rows_in(index.index_id, range);
        if let Some(list) = matched.list {
            let count = sargables[list].values.len();
            let (mut rows, looked_up) = (0.0, count.min(LIST_LOOKED_UP));
            for position in 0..looked_up {
                let mut values = prefix.clone();
                values.push(value(list, position)?);
                rows += rows_in(&KeyRange::equal(values))?;
            }
            return Some((rows * count as f64 / looked_up.max(1) as f64, true));
        }
        let side = |at: Option<usize>| -> Option<Bound<Vec<Value>>> {
            let Some(at) = at else {
                return Some(match prefix.is_empty() {
                    true => Bound::Unbounded,
                    false => Bound::Included(prefix.clone()),
                });
            };
            let mut values = prefix.clone();
            values.push(value(at, 0)?);
            Some(match sargables[at].op {
                CompareOp::GreaterOrEqual | CompareOp::LessOrEqual => Bound::Included(values),
                _ => Bound::Excluded(values),
            })
        };
        if let (Some(lower), Some(upper), None) = (side(matched.lower), side(matched.upper), matched.like)
            && (!prefix.is_empty() || matched.lower.is_some() || matched.upper.is_some())
        {
            return Some((rows_in(&KeyRange::between(lower, upper))?, true));
        }
        let is_all = prefix.is_empty();
        if is_all { None } else { Some((rows_in(&KeyRange::equal(prefix))?, false)) }
    }

    fn of_density(&self, index: &IndexDef, columns: usize) -> f64 {
        let found = self.scan.source.table.density(index.index_id, columns);
        found.map_or_else(
            || (self.total * EQUAL_SHARE.powi(columns as i32)).max(1.0),
            |found| found.rows_per_value,
        )
    }

    /// The share of the rows that one condition leaves.
    pub(super) fn share_of(&self, found: &Sargable<'_>) -> f64 {
        // Statistics of the rows that the other conditions leave are more precise than statistics of all rows.
        if let Some(Told::OfAll(share) | Told::OfOthers(share)) = self.share_by_filtered_statistics(found) {
            return share;
        }
        let matched = KeyMatch::default();
        let at = Some(0);
        let is_equal = !found.is_like && found.op == CompareOp::Equal;
        let matched = match (found.is_like, found.op) {
            (true, _) => KeyMatch { like: at, ..matched },
            (_, CompareOp::Equal) if found.values.len() == 1 => KeyMatch { equal: vec![0], ..matched },
            (_, CompareOp::Equal) => KeyMatch { list: at, ..matched },
            (_, CompareOp::Greater | CompareOp::GreaterOrEqual) => KeyMatch { lower: at, ..matched },
            _ => KeyMatch { upper: at, ..matched },
        };
        let rows = match self.index_on(found.ordinal) {
            Some(index) => self.rows_found(index, &matched, std::slice::from_ref(found)),
            None if let Some(share) = self.share_by_statistics(found) => return share,
            None if found.is_like => self.total * LIKE_SHARE,
            None if is_equal => self.total * EQUAL_SHARE * found.values.len() as f64,
            None => self.total * BOUND_SHARE,
        };
        debug_assert!(rows >= 0.0 && self.total > 0.0, "{rows} of {} rows", self.total);
        (rows / self.total).min(1.0)
    }

    /// The share of the found entries that also satisfy conditions on their other columns: only these rows are looked up.
    pub(super) fn share_of_entries(
        &self,
        index: &IndexDef,
        matched: &KeyMatch,
        sargables: &[Sargable<'_>],
    ) -> f64 {
        let sought: Vec<usize> = matched.used().map(|used| sargables[used].ordinal).collect();
        let is_judged = |found: &&Sargable<'_>| {
            !found.is_like
                && found.values.len() == 1
                && !sought.contains(&found.ordinal)
                && self.scan.source.table.is_covered_by(index.index_id, &[found.ordinal])
        };
        combined(sargables.iter().filter(is_judged).map(|found| self.share_of(found)).collect())
    }

    /// The index that begins with a column and has all rows.
    fn index_on(&self, ordinal: usize) -> Option<&'s IndexDef> {
        let begins = |index: &&IndexDef| {
            index.is_whole() && index.key.first().is_some_and(|key| key.ordinal == ordinal)
        };
        self.scan.source.def.indexes.iter().find(begins)
    }

    /// The rows that all conditions leave: those that can be sought, two bounds of a column together, and the `others`. Each further one is
    /// thought to be half as independent as the one before.
    pub(super) fn rows_left(&self, sargables: &[Sargable<'_>], others: &[&Expr]) -> f64 {
        let mut shares: Vec<f64> = Vec::with_capacity(sargables.len() + others.len());
        // A share of the rows that other conditions leave counts fully: it is not a guess.
        let mut of_others: Vec<f64> = Vec::new();
        let mut is_told = vec![false; sargables.len()];
        for (at, found) in sargables.iter().enumerate() {
            if is_told[at] {
                continue;
            }
            let other = (at + 1..sargables.len()).find(|other| {
                !is_told[*other]
                    && is_other_bound(found, &sargables[*other])
                    && self.index_on(found.ordinal).is_none()
            });
            if let Some(other) = other {
                let (lower, upper) = match is_lower(found) {
                    true => (found, &sargables[other]),
                    false => (&sargables[other], found),
                };
                if let Some(share) = self.share_between(lower, upper) {
                    is_told[other] = true;
                    shares.push(share);
                    continue;
                }
            }
            match self.share_by_filtered_statistics(found) {
                Some(Told::OfOthers(share)) => of_others.push(share),
                Some(Told::OfAll(share)) => shares.push(share),
                None => shares.push(self.share_of(found)),
            }
        }
        shares.extend(others.iter().map(|other| self.share_of_other(other)));
        (self.total * combined(shares) * combined(of_others)).max(1.0)
    }

    /// The share that a condition leaves which no index can use: NULL, its opposite, another value than one, the opposite of a condition, one of
    /// several. What nothing is known of is guessed.
    pub(super) fn share_of_other(&self, predicate: &Expr) -> f64 {
        let share = self.share_by_form(predicate).unwrap_or(BOUND_SHARE);
        debug_assert!(!share.is_nan(), "what a condition leaves is a number");
        share
    }

    fn share_by_form(&self, predicate: &Expr) -> Option<f64> {
        match &predicate.kind {
            ExprKind::IsNull(inner) => {
                let content = self.scan.source.table.statistics_on(self.ordinal_of(inner)?)?;
                Some(content.share_of_null())
            }
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(_) => Some(1.0 - self.share_by_form(inner)?),
                _ => Some(1.0 - self.share_of_sought(inner)?),
            },
            ExprKind::Compare(CompareOp::NotEqual, column, value) => {
                let (column, value) = match self.ordinal_of(column) {
                    Some(ordinal) => (ordinal, value),
                    None => (self.ordinal_of(value)?, column),
                };
                let content = self.scan.source.table.statistics_on(column)?;
                let known = self.known(value, column)?;
                let others = 1.0 - content.share_of_null();
                Some((others - content.share_of_value(&known, self.collation(column))).max(0.0))
            }
            ExprKind::Or(left, right) => {
                let share =
                    |side: &Expr| self.share_of_sought(side).unwrap_or_else(|| self.share_of_other(side));
                Some(1.0 - (1.0 - share(left)) * (1.0 - share(right)))
            }
            _ => None,
        }
    }

    /// The selectivity of a sargable condition.
    fn share_of_sought(&self, predicate: &Expr) -> Option<f64> {
        let own = self.scan.columns.iter().copied().collect();
        let found = sargable(predicate, self.scan, &own);
        match found.as_slice() {
            [] => None,
            several => Some(several.iter().map(|found| self.share_of(found)).product()),
        }
    }
}

fn is_lower(found: &Sargable<'_>) -> bool {
    !found.is_like && matches!(found.op, CompareOp::Greater | CompareOp::GreaterOrEqual)
}

fn is_upper(found: &Sargable<'_>) -> bool {
    !found.is_like && matches!(found.op, CompareOp::Less | CompareOp::LessOrEqual)
}

/// Are they the two ends of a range of one column?
fn is_other_bound(one: &Sargable<'_>, other: &Sargable<'_>) -> bool {
    one.ordinal == other.ordinal && (is_lower(one) && is_upper(other) || is_upper(one) && is_lower(other))
}

/// How many whole numbers lie between two bounds that are the same but for constants: `k >= @x - 20 AND k < @x` lets 20 in, whatever `@x` is.
fn values_between(lower: &Sargable<'_>, upper: &Sargable<'_>) -> Option<f64> {
    let ((from, least), (to, most)) = (base_and_offset(lower.values[0]), base_and_offset(upper.values[0]));
    if !is_whole_number(&from.sql_type) || from.is_volatile() || !from.same_as(to) {
        return None;
    }
    let left_out = i128::from(lower.op == CompareOp::Greater) + i128::from(upper.op == CompareOp::Less);
    Some((most - least + 1 - left_out).max(0) as f64)
}

/// The range of whole numbers, or of days, between two bounds of which a variable is one.
fn range_between(lower: &Sargable<'_>, upper: &Sargable<'_>) -> Option<VariableRange> {
    let ((from, least), (to, most)) = (base_and_offset(lower.values[0]), base_and_offset(upper.values[0]));
    let range = VariableRange { low: range_end(from, least)?, high: range_end(to, most)? };
    (range.low.slot.is_some() || range.high.slot.is_some()).then_some(range)
}

fn range_end(base: &Expr, offset: i128) -> Option<RangeEnd> {
    if !is_whole_number(&base.sql_type) && base.sql_type != SqlType::Date {
        return None;
    }
    match &base.kind {
        ExprKind::Variable(slot) => Some(RangeEnd { slot: Some(*slot), offset }),
        ExprKind::Constant(Value::Date(date)) => Some(RangeEnd { slot: None, offset: i128::from(date.days) }),
        ExprKind::Constant(value) => {
            Some(RangeEnd { slot: None, offset: offset + i128::from(value.as_i64()?) })
        }
        // The number is the same in another type of whole numbers.
        ExprKind::Convert(inner, _)
            if is_whole_number(&inner.sql_type) && is_whole_number(&base.sql_type) =>
        {
            range_end(inner, offset)
        }
        _ => None,
    }
}

fn is_whole_number(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt)
}

/// A sum as what it is about and the constants that are added to that.
fn base_and_offset(expr: &Expr) -> (&Expr, i128) {
    let constant = |expr: &Expr| match &expr.kind {
        ExprKind::Constant(value) => value.as_i64().map(i128::from),
        _ => None,
    };
    let ExprKind::Binary(op, left, right) = &expr.kind else { return (expr, 0) };
    let (inner, more) = match (op, constant(left), constant(right)) {
        (BinaryOp::Add, _, Some(more)) => (left, more),
        (BinaryOp::Subtract, _, Some(less)) => (left, -less),
        (BinaryOp::Add, Some(more), _) => (right, more),
        _ => return (expr, 0),
    };
    let (base, offset) = base_and_offset(inner);
    (base, offset + more)
}

/// The share that several conditions leave together: the least counts whole, each further one as the root of what it would alone.
fn combined(mut shares: Vec<f64>) -> f64 {
    debug_assert!(shares.iter().all(|share| !share.is_nan()), "shares are numbers: {shares:?}");
    shares.sort_by(f64::total_cmp);
    let mut power = 1.0;
    shares.iter().take(4).fold(1.0, |all, share| {
        let all = all * share.max(0.0).powf(power);
        power /= 2.0;
        all
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn further_conditions_count_less_and_less() {
        assert!((super::combined(vec![]) - 1.0).abs() < 1e-9);
        assert!((super::combined(vec![0.25, 0.01]) - 0.005).abs() < 1e-9);
        assert!((super::combined(vec![1.0, 0.5]) - 0.5).abs() < 1e-9);
    }
}
