//! Access paths: which index a table is read through, from the predicates that reach it.

use engine::{IndexDef, IndexKind};
use rustc_hash::FxHashSet;
use types::sql_type::TypeFamily;
use types::{SqlError, SqlType};

use super::choice::{Choice, base_order, cheapest_pair, choose};
use super::compile::Layout;
use super::estimate::{Estimates, KeyMatch};
use super::filter::Facts;
use super::infer::has_contradiction;
use super::order::{Desired, Order};
use super::{Asked, Planned, Planner};
use crate::bound::tree::{Expr, ExprKind, SystemScan, TableScan};
use crate::kinds::{ColumnId, CompareOp, Conversion, ConversionKind};
use crate::physical::plan::{
    AccessPath, BoolNode, IntKind, Node, OtherIndex, Plan, ScanColumns, ScanPlan, SeekKey, SeekRange,
    SystemPlan,
};
use crate::table::TableSource;
use crate::view::stream::BoundKind;

/// A row that is looked up through an index costs so many rows read one after the other. Measured: 2.9 us against 0.073 us of a scanned row with
/// its conditions, 40 times; a scan that gives its rows up costs more than one that throws them away.
pub(super) const LOOKUP_COST: f64 = 30.0;
/// Where nothing is locked all but the first so many rows are fetched together, in the order in which they lie: each page that has some of them costs so
/// much, and each row. Measured: 38,000 rows of 20,000 pages take 46 ms more than none, 12,500 take 22 ms, where a scanned row takes 0.037 us.
const LOOKUPS_SINGLE: f64 = 64.0;
const PAGE_COST: f64 = 50.0;
const LOOKUP_COST_OF_MANY: f64 = 7.0;
/// A page is thought to have so many rows.
pub(super) const ROWS_OF_PAGE: f64 = 50.0;
/// An entry of an index that has all columns that are wanted, in rows read: it is narrower.
pub(super) const ENTRY_COST: f64 = 0.8;
/// The way down a tree to where a range begins, in rows read.
pub(super) const RANGE_COST: f64 = 5.0;
/// A smaller table is read through its base rather than through a narrower index: there is nothing to save.
const NARROW_ROWS_MIN: f64 = 2000.0;

/// The pseudo column of rows' locators in the branches of a union, which leaves it behind: no column of the statement has this number.
pub(super) const ROW_NAME: ColumnId = ColumnId(u32::MAX);

/// A predicate `column op value` that an index can use.
pub(super) struct Sargable<'e> {
    /// The whole of it.
    pub(super) predicate: &'e Expr,
    pub(super) ordinal: usize,
    pub(super) op: CompareOp,
    pub(super) values: Vec<&'e Expr>,
    /// `column LIKE value`; `op` means nothing then.
    pub(super) is_like: bool,
}

/// A candidate path.
#[derive(Clone)]
pub(super) struct Candidate<'e> {
    pub(super) index: &'e IndexDef,
    /// The columns that have one value.
    constants: Vec<usize>,
    pub(super) matched: KeyMatch,
    pub(super) cost: f64,
    pub(super) rows: f64,
}

impl<'e> Candidate<'e> {
    /// Every column of a unique key has one value.
    fn finds_one_row(&self) -> bool {
        self.matched.list.is_none() && self.matched.is_unique(self.index)
    }

    /// Is it the index that the rows themselves lie in?
    fn is_of_rows(&self) -> bool {
        self.index.kind == IndexKind::Clustered
    }

    /// The predicates that its one range says whole: a row of it satisfies them. What the range was not made of is not among them, though it may say
    /// something of the same column.
    fn sought_exactly(&self, sargables: &[Sargable<'e>], ranges: &[SeekRange]) -> Vec<&'e Expr> {
        let [range] = ranges else { return Vec::new() };
        let used = self.matched.equal.iter().map(|at| sargables[*at].predicate);
        let same = used.zip(&range.equal).filter(|(_, key)| key.from == key.to);
        same.map(|(predicate, _)| predicate).filter(|predicate| is_equality_of_integers(predicate)).collect()
    }

    /// The order of what it finds; several ranges have none together.
    pub(super) fn order(&self, scan: &TableScan) -> Order {
        match self.matched.list {
            None => base_order(scan, self.index, &self.constants),
            Some(_) => Order::default(),
        }
    }
}

impl Planner<'_> {
    /// Plans the reading of a table with the predicates that concern it. A row's locator is there behind the scan: what is said of it is
    /// tested there.
    pub(super) fn plan_table(
        &mut self,
        scan: &TableScan,
        predicates: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        if !scan.computed.is_empty() {
            return self.plan_computing(scan, predicates, desired);
        }
        self.note_scan(scan);
        if has_contradiction(&predicates, self.columns) {
            let layout = scan.columns.iter().copied().chain(scan.locator).collect();
            return Ok(Planned::leaf(Plan::Empty, layout, 0.0));
        }
        let Some(locator) = scan.locator else {
            let one = self.plan_one_way(scan, predicates.clone(), desired.clone())?;
            return self.cheaper_union(scan, &predicates, desired.as_ref(), one);
        };
        let (above, below): (Vec<Expr>, Vec<Expr>) =
            predicates.into_iter().partition(|predicate| predicate.columns().contains(&locator));
        let planned = self.plan_one_way(scan, below, desired)?;
        self.filter(planned, above)
    }

    /// A table with columns that are computed when they are read: conditions say what they are, and its rows get them.
    fn plan_computing(
        &mut self,
        scan: &TableScan,
        mut predicates: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        let definition = |id: ColumnId| {
            let found = scan.computed.iter().find(|computed| scan.columns[computed.0] == id);
            found.map(|computed| &computed.1)
        };
        for predicate in &mut predicates {
            predicate.rewrite_deep(&mut |part| match &part.kind {
                ExprKind::Column(id) => definition(*id).cloned(),
                _ => None,
            });
        }
        let plain = TableScan { computed: Vec::new(), ..scan.clone() };
        let planned = self.plan_table(&plain, predicates, desired)?;
        let layout = planned.layout();
        let item = |(position, id): (usize, &ColumnId)| match definition(*id) {
            Some(value) => self.node(value, &layout),
            None => Ok(Node::Column(position)),
        };
        let items = planned.layout.iter().enumerate().map(item).collect::<Result<Vec<_>, _>>()?;
        Ok(planned.map(|input| Plan::Project { input, items }))
    }

    /// One range or several of one index, or all of the table.
    pub(super) fn plan_one_way(
        &mut self,
        scan: &TableScan,
        predicates: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        let source = scan.source.clone();
        let total = source.row_estimate();
        let own: FxHashSet<ColumnId> = scan.columns.iter().copied().chain(scan.locator).collect();
        let wanted = self.wanted_of(scan);
        let locks_rows = scan.hints.update_lock || scan.hints.exclusive_lock;
        let columns = ScanColumns::of(scan, wanted.as_deref(), &predicates);
        let mut layout = columns.ids(scan);
        layout.extend(scan.locator.or(scan.names_rows.then_some(ROW_NAME)));
        let covers = |index: &IndexDef| match &wanted {
            // Rows that are to be changed are always looked at.
            Some(wanted) if !locks_rows && scan.locator.is_none() => {
                source.table.is_covered_by(index.index_id, wanted)
            }
            _ => false,
        };
        let (sargables, others) = sargables_and_others(&predicates, scan, &own);
        let estimates = Estimates::new(scan, total, &predicates);
        let wishes = (desired.is_some(), wanted.is_some());
        let candidates = candidates(scan, &predicates, &sargables, &estimates, wishes, &covers)?;
        let rows = rows_left(&source, &estimates, &others, &sargables, &candidates);
        let (Choice { candidate, order, backward, cost }, second) =
            choose_way(candidates, &sargables, &estimates, rows, desired.as_ref());
        let (mut is_covered, mut is_one_row, mut locks_for_change) = (false, false, false);
        let mut exact = (Vec::new(), true);
        let (path, seeks_by_outer) = match candidate {
            Some(best) => {
                is_covered = best.index.kind == IndexKind::Nonclustered && covers(best.index);
                let is_in_place = is_covered || best.is_of_rows();
                is_one_row = best.finds_one_row();
                let (ranges, by_outer) = self.ranges(&best, &sargables, &source)?;
                // A row that is looked up may say something else than the entry that has led to it.
                exact = (best.sought_exactly(&sargables, &ranges), is_in_place);
                let is_key_alone = best.is_of_rows() && predicates.len() == best.index.key.len();
                locks_for_change = scan.locator.is_some() && is_one_row && is_key_alone && !by_outer;
                (AccessPath::Seek { index_id: best.index.index_id, ranges }, by_outer)
            }
            None => (AccessPath::Scan, false),
        };
        let positions = Layout::new(&layout);
        let is_left = |predicate: &&Expr| !(is_one_row && exact.1 && is_among(&exact.0, predicate));
        let (filter, asked) = self.filter_of(predicates.iter().filter(is_left), &positions)?;
        let cost = cost + asked.once + rows * asked.each;
        let other_index = second.map(|second| self.other_index(&second, &sargables, &source)).transpose()?;
        let door = match is_one_row {
            true => None,
            false => self.door_filter(scan, &predicates, &own, &positions, (&exact.0, exact.1))?,
        };
        let plan = ScanPlan {
            source,
            columns,
            door,
            hints: scan.hints.clone(),
            path,
            filter,
            locator: scan.locator.is_some(),
            names_rows: scan.names_rows,
            locks_for_change,
            is_covered,
            other_index,
            backward,
            rows,
        };
        Ok(Planned { plan: Plan::Scan(Box::new(plan)), layout, rows, cost, seeks_by_outer, order })
    }

    fn other_index(
        &mut self,
        second: &Candidate<'_>,
        sargables: &[Sargable<'_>],
        source: &TableSource,
    ) -> Result<OtherIndex, SqlError> {
        let (ranges, by_outer) = self.ranges(second, sargables, source)?;
        assert!(!by_outer, "names are gathered once");
        Ok(OtherIndex { index_id: second.index.index_id, ranges, rows: second.rows })
    }

    fn filter_of<'e>(
        &mut self,
        predicates: impl Iterator<Item = &'e Expr>,
        layout: &Layout,
    ) -> Result<(Option<BoolNode>, Asked), SqlError> {
        let Some(all) = Expr::all(predicates.cloned()) else { return Ok((None, Asked::default())) };
        let (filter, asked) = self.predicate_with_cost(&all, layout)?;
        Ok((Some(filter), asked))
    }

    /// The ordinals of a table whose values matter; `None`: all do.
    pub(super) fn wanted_of(&self, scan: &TableScan) -> Option<Vec<usize>> {
        let wanted = self.wanted.as_ref()?;
        Some((0..scan.columns.len()).filter(|at| wanted.contains(&scan.columns[*at])).collect())
    }

    /// Plans the reading of a system view.
    pub(super) fn plan_system(
        &mut self,
        scan: &SystemScan,
        predicates: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let arguments = self.nodes(scan.arguments.iter(), &Layout::default())?;
        let mut bounds = Vec::new();
        if let Some(stream) = &scan.view.stream {
            for predicate in &predicates {
                self.system_bounds(scan, stream.bounded, predicate, &mut bounds)?;
            }
        }
        let is_wanted = |wanted: &FxHashSet<ColumnId>| {
            (0..scan.columns.len()).filter(|at| wanted.contains(&scan.columns[*at])).collect::<Vec<_>>()
        };
        let wanted = self.wanted.as_ref().map(is_wanted);
        let filter = match Expr::all(predicates) {
            Some(predicate) => Some(self.predicate(&predicate, &Layout::new(&scan.columns))?),
            None => None,
        };
        self.catalog_order.note_view(&scan.columns, scan.view.key());
        let (database, reading) = (scan.database.clone(), scan.reading);
        let plan = SystemPlan { view: scan.view, database, arguments, filter, reading, bounds, wanted };
        Ok(Planned {
            plan: Plan::System(Box::new(plan)),
            layout: scan.columns.clone(),
            rows: 100.0,
            cost: 100.0,
            seeks_by_outer: false,
            order: Order::default(),
        })
    }

    /// What a predicate says of columns whose bounds the function can make use of.
    fn system_bounds(
        &mut self,
        scan: &SystemScan,
        bounded: &[&str],
        predicate: &Expr,
        bounds: &mut Vec<(usize, BoundKind, Node)>,
    ) -> Result<(), SqlError> {
        if let ExprKind::And(left, right) = &predicate.kind {
            self.system_bounds(scan, bounded, left, bounds)?;
            return self.system_bounds(scan, bounded, right, bounds);
        }
        let ExprKind::Compare(op, left, right) = &predicate.kind else { return Ok(()) };
        let own: FxHashSet<ColumnId> = scan.columns.iter().copied().collect();
        let column_of = |expr: &Expr| match seekable_column(expr)? {
            (id, true) => scan.columns.iter().position(|own| *own == id),
            _ => None,
        };
        let independent = |expr: &Expr| !expr.uses_any(&own) && !expr.is_volatile();
        let (column, op, value) = match (column_of(left), column_of(right)) {
            (Some(column), _) if independent(right) => (column, *op, right),
            (_, Some(column)) if independent(left) => (column, op.flipped(), left),
            _ => return Ok(()),
        };
        let declared = &scan.view.columns()[column];
        let kind = match op {
            CompareOp::Equal => BoundKind::Equal,
            CompareOp::Greater | CompareOp::GreaterOrEqual => BoundKind::Lower,
            CompareOp::Less | CompareOp::LessOrEqual => BoundKind::Upper,
            CompareOp::NotEqual => return Ok(()),
        };
        if bounded.contains(&declared.name.as_str()) && value.sql_type.is_character() {
            bounds.push((column, kind, self.node(value, &Layout::default())?));
        }
        Ok(())
    }

    fn ranges(
        &mut self,
        best: &Candidate<'_>,
        sargables: &[Sargable<'_>],
        source: &TableSource,
    ) -> Result<(Vec<SeekRange>, bool), SqlError> {
        let empty = Layout::default();
        let mut by_outer = false;
        let mut key = |planner: &mut Self, expr: &Expr, ordinal: usize| -> Result<SeekKey, SqlError> {
            by_outer |= !expr.columns().is_empty();
            let column = &source.def.columns[ordinal];
            Ok(SeekKey {
                node: planner.node(expr, &empty)?,
                from: expr.sql_type,
                to: column.sql_type,
                collation: column.collation,
            })
        };
        let best = &best.matched;
        let lists = best.list.map_or(1, |list| sargables[list].values.len());
        let mut ranges = Vec::with_capacity(lists);
        for position in 0..lists {
            let mut equal = Vec::new();
            for index in &best.equal {
                let found = &sargables[*index];
                equal.push(key(self, found.values[0], found.ordinal)?);
            }
            if let Some(list) = best.list {
                equal.push(key(self, sargables[list].values[position], sargables[list].ordinal)?);
            }
            let mut bound =
                |planner: &mut Self, index: Option<usize>| -> Result<Option<(SeekKey, bool)>, SqlError> {
                    let Some(found) = index.map(|index| &sargables[index]) else {
                        return Ok(None);
                    };
                    let inclusive = matches!(found.op, CompareOp::GreaterOrEqual | CompareOp::LessOrEqual);
                    Ok(Some((key(planner, found.values[0], found.ordinal)?, inclusive)))
                };
            let lower = bound(self, best.lower)?;
            let upper = bound(self, best.upper)?;
            let like = match best.like.map(|index| &sargables[index]) {
                Some(found) => Some(key(self, found.values[0], found.ordinal)?),
                None => None,
            };
            ranges.push(SeekRange { equal, lower, upper, like });
        }
        Ok((ranges, by_outer))
    }
}

/// Is it one of them, itself?
pub(super) fn is_among(those: &[&Expr], predicate: &Expr) -> bool {
    those.iter().any(|one| std::ptr::eq(*one, predicate))
}

/// Is it `column = value`, both of one integer type?
fn is_equality_of_integers(predicate: &Expr) -> bool {
    let ExprKind::Compare(CompareOp::Equal, left, right) = &predicate.kind else { return false };
    (left.as_column().is_some() || right.as_column().is_some())
        && left.sql_type == right.sql_type
        && IntKind::of(&left.sql_type).is_some()
}

/// The cheapest way, and the second index where the rows of two are looked up.
fn choose_way<'e>(
    candidates: Vec<Candidate<'e>>,
    sargables: &[Sargable<'e>],
    estimates: &Estimates<'e>,
    rows: f64,
    desired: Option<&Desired>,
) -> (Choice<'e>, Option<Candidate<'e>>) {
    let all = candidates.clone();
    let choice = choose(estimates.scan, candidates, estimates.total, rows, desired);
    // Who asks for an order has been told what a sort costs.
    let pair = match desired {
        None => cheapest_pair(&all, sargables, estimates, (rows, choice.cost)),
        Some(_) => None,
    };
    let Some(pair) = pair else { return (choice, None) };
    let (sought, second) = (all[pair.sought].clone(), all[pair.other].clone());
    let order = sought.order(estimates.scan);
    (Choice { candidate: Some(sought), order, backward: false, cost: pair.cost }, Some(second))
}

/// The ways through indexes that hold all rows that are asked for. Error 8622 when a hint names one that does not.
fn candidates<'e>(
    scan: &'e TableScan,
    predicates: &[Expr],
    sargables: &[Sargable<'_>],
    estimates: &Estimates<'_>,
    (has_desired, may_cover): (bool, bool),
    covers: &dyn Fn(&IndexDef) -> bool,
) -> Result<Vec<Candidate<'e>>, SqlError> {
    let def = &scan.source.def;
    let hinted = scan.hints.hinted(def)?;
    let facts = match def.has_filtered_index() {
        true => Facts::of(predicates, scan),
        false => Facts::default(),
    };
    let has_all_rows = |index: &IndexDef| {
        index.has_unit() && index.filter.as_ref().is_none_or(|filter| facts.imply(filter, def))
    };
    let is_without = |id: &i32| def.index(*id).is_some_and(|index| !has_all_rows(index));
    if hinted.iter().any(is_without) {
        return Err(SqlError::new(8622, &[]));
    }
    let usable = def
        .indexes
        .iter()
        .filter(|index| index.kind != IndexKind::Heap)
        .filter(|index| hinted.is_empty() || hinted.contains(&index.index_id))
        .filter(|index| has_all_rows(index));
    let mut matched: Vec<(&IndexDef, KeyMatch)> =
        usable.map(|index| (index, KeyMatch::of(index, sargables))).collect();
    let is_one = |found: &(&IndexDef, KeyMatch)| found.1.list.is_none() && found.1.is_unique(found.0);
    if matched.iter().any(is_one) {
        // Nothing beats one row, and no others need be looked at.
        matched.retain(is_one);
    }
    let found = matched.into_iter().filter_map(|(index, matched)| {
        // An index that is asked for, that has only some of the rows, or that has all columns and is narrower, may also be read from end to
        // end.
        let is_covered = covers(index);
        let is_narrow = may_cover && is_covered && estimates.total > NARROW_ROWS_MIN;
        let is_scanned = index.kind == IndexKind::Nonclustered
            && (index.filter.is_some() || !hinted.is_empty() || has_desired || is_narrow);
        candidate(index, matched, sargables, estimates, is_covered, is_scanned)
    });
    Ok(found.collect())
}

/// The rows that are left behind all predicates: what these say one by one, and no more than the best index finds.
fn rows_left(
    source: &TableSource,
    estimates: &Estimates<'_>,
    others: &[&Expr],
    sargables: &[Sargable<'_>],
    candidates: &[Candidate<'_>],
) -> f64 {
    if candidates.iter().any(Candidate::finds_one_row) {
        return 1.0;
    }
    source.note_planned();
    let left = estimates.rows_left(sargables, others);
    candidates.iter().map(|candidate| candidate.rows).fold(left, f64::min)
}

/// What indexes can use of the predicates, and those of which they can use nothing.
fn sargables_and_others<'e>(
    predicates: &'e [Expr],
    scan: &TableScan,
    own: &FxHashSet<ColumnId>,
) -> (Vec<Sargable<'e>>, Vec<&'e Expr>) {
    let (mut sargables, mut others) = (Vec::new(), Vec::new());
    for predicate in predicates {
        let before = sargables.len();
        sargables.extend(sargable(predicate, scan, own));
        if sargables.len() == before {
            others.push(predicate);
        }
    }
    (sargables, others)
}

/// What an index can use of a predicate.
pub(super) fn sargable<'e>(
    predicate: &'e Expr,
    scan: &TableScan,
    own: &FxHashSet<ColumnId>,
) -> Vec<Sargable<'e>> {
    let ordinal_of = |expr: &Expr| {
        let (column, plain) = seekable_column(expr)?;
        let ordinal = scan.columns.iter().position(|id| *id == column)?;
        Some((ordinal, plain))
    };
    let independent = |expr: &Expr| !expr.uses_any(own) && !expr.has_subquery() && !expr.is_volatile();
    match &predicate.kind {
        ExprKind::Compare(op, left, right) if *op != CompareOp::NotEqual => {
            let pair = match (ordinal_of(left), ordinal_of(right)) {
                (Some(found), _) if independent(right) => Some((found, *op, &**right)),
                (_, Some(found)) if independent(left) => Some((found, op.flipped(), &**left)),
                _ => None,
            };
            let Some(((ordinal, plain), op, value)) = pair else {
                return Vec::new();
            };
            let column = &scan.source.def.columns[ordinal];
            // Through a conversion of the column only equality is safe: a range may be cut differently in the other type.
            let usable = comparable(&column.sql_type, &value.sql_type, op == CompareOp::Equal, plain)
                && (!column.sql_type.is_character() || predicate.collation == column.collation);
            let found = || Sargable { predicate, ordinal, op, values: vec![value], is_like: false };
            if usable { vec![found()] } else { Vec::new() }
        }
        ExprKind::InList(left, list) => match ordinal_of(left) {
            Some((ordinal, plain)) if list.iter().all(independent) => {
                let column = &scan.source.def.columns[ordinal];
                let usable =
                    list.iter().all(|item| comparable(&column.sql_type, &item.sql_type, true, plain))
                        && (!column.sql_type.is_character() || predicate.collation == column.collation);
                if usable {
                    let values = list.iter().collect();
                    vec![Sargable { predicate, ordinal, op: CompareOp::Equal, values, is_like: false }]
                } else {
                    Vec::new()
                }
            }
            _ => Vec::new(),
        },
        ExprKind::Like(like) => match ordinal_of(&like.input) {
            Some((ordinal, true)) if like.escape.is_none() && independent(&like.pattern) => {
                let column = &scan.source.def.columns[ordinal];
                let usable = matches!(
                    (column.sql_type.family(), like.pattern.sql_type.family()),
                    (TypeFamily::Char, TypeFamily::Char)
                        | (TypeFamily::NChar, TypeFamily::NChar | TypeFamily::Char)
                ) && predicate.collation == column.collation
                    && begins_with_text(&like.pattern);
                let found = || Sargable {
                    predicate,
                    ordinal,
                    op: CompareOp::NotEqual,
                    values: vec![&like.pattern],
                    is_like: true,
                };
                if usable { vec![found()] } else { Vec::new() }
            }
            _ => Vec::new(),
        },
        ExprKind::And(left, right) => {
            sargable(left, scan, own).into_iter().chain(sargable(right, scan, own)).collect()
        }
        _ => Vec::new(),
    }
}

/// Can a pattern begin with something to seek? A constant is looked at; of others it shows when they run.
fn begins_with_text(pattern: &Expr) -> bool {
    match &pattern.kind {
        ExprKind::Constant(value) => {
            value.as_text().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphanumeric()))
        }
        _ => true,
    }
}

/// The column inside an expression, and whether it stands there without conversion.
fn seekable_column(expr: &Expr) -> Option<(ColumnId, bool)> {
    match &expr.kind {
        ExprKind::Column(id) => Some((*id, true)),
        ExprKind::Convert(inner, Conversion { kind: ConversionKind::Implicit, .. }) => {
            seekable_column(inner).map(|found| (found.0, false))
        }
        _ => None,
    }
}

/// May a value of one type be sought in a column of another, converting the value?
fn comparable(column: &SqlType, value: &SqlType, equality: bool, plain: bool) -> bool {
    use TypeFamily::{Binary, Char, DateTime, Decimal, Integer, Money, NChar};
    if column == value {
        return true;
    }
    match (column.family(), value.family()) {
        (Char, Char) | (NChar, NChar | Char) | (Binary, Binary) => plain,
        // The value is narrowed; one that does not fit equals no row.
        (Char, NChar) => equality,
        (Integer, Integer) => true,
        (Integer | Decimal | Money, Integer | Decimal | Money) => equality,
        (DateTime, DateTime) => equality && std::mem::discriminant(column) == std::mem::discriminant(value),
        _ => false,
    }
}

/// How well an index serves the predicates; `None` when not at all. `is_scanned`: without any keys it is read from end to end.
fn candidate<'e>(
    index: &'e IndexDef,
    matched: KeyMatch,
    sargables: &[Sargable<'_>],
    estimates: &Estimates<'_>,
    covers: bool,
    is_scanned: bool,
) -> Option<Candidate<'e>> {
    let has_keys = matched.used().next().is_some();
    if !has_keys && !is_scanned {
        return None;
    }
    let rows = estimates.rows_found(index, &matched, sargables);
    let ranges = matched.list.map_or(1.0, |list| sargables[list].values.len() as f64);
    let is_whole_row = index.kind == IndexKind::Clustered;
    let reading = match (covers, is_whole_row) {
        (true, false) => rows * ENTRY_COST,
        (_, true) => rows,
        (false, false) => {
            let looked_up = rows * estimates.share_of_entries(index, &matched, sargables);
            rows * ENTRY_COST + lookups_cost(estimates, looked_up)
        }
    };
    // Among equals prefer unique and longer matches.
    let equal = matched.equal.len() + usize::from(matched.list.is_some());
    let cost = ranges * RANGE_COST + reading - equal as f64 * 0.01;
    let constants = matched.equal.iter().map(|found| sargables[*found].ordinal).collect();
    Some(Candidate { index, constants, matched, cost, rows })
}

/// What it costs to read the entries of a candidate's ranges.
pub(super) fn entries_cost(candidate: &Candidate<'_>, sargables: &[Sargable<'_>]) -> f64 {
    let ranges = candidate.matched.list.map_or(1.0, |list| sargables[list].values.len() as f64);
    ranges * RANGE_COST + candidate.rows * ENTRY_COST
}

/// What it costs to look up so many rows by their entries, beside these.
pub(super) fn lookups_cost(estimates: &Estimates<'_>, rows: f64) -> f64 {
    let hints = &estimates.scan.hints;
    let locks = estimates.scan.locator.is_some() || hints.update_lock || hints.exclusive_lock;
    let single = if locks { rows } else { rows.min(LOOKUPS_SINGLE) };
    let (many, pages) = (rows - single, (estimates.total / ROWS_OF_PAGE).max(1.0));
    // So many pages have one of them at least when they lie anywhere.
    let met = pages * (1.0 - (-many / pages).exp());
    single * (LOOKUP_COST - ENTRY_COST) + met * PAGE_COST + many * LOOKUP_COST_OF_MANY
}
