//! Order as a property of plans: the columns by which the rows are sorted, and the order that an operator above desires.

use engine::{IndexDef, IndexKind};
use plan_ir::bound::columns::Columns;
use plan_ir::bound::tree::{Expr, Rel, TableScan};
use plan_ir::kinds::{ColumnId, JoinKind};
use types::SqlType;

/// A column of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderKey {
    pub(crate) column: ColumnId,
    pub(crate) descending: bool,
}

/// The order of a plan's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) keys: Vec<OrderKey>,
    /// Columns with one value in all rows: they may stand anywhere in an order.
    pub(crate) constants: Vec<ColumnId>,
    /// No two rows are equal in all keys: further sort keys have no effect.
    pub(crate) is_total: bool,
}

/// An order that would save a sort, and the number of rows that are needed at most.
#[derive(Clone, Debug)]
pub(super) struct Desired {
    pub(super) keys: Vec<OrderKey>,
    pub(super) limit: Option<f64>,
    /// Rows that are equal in all keys must be adjacent; the order of the groups does not matter.
    pub(super) is_grouping: bool,
}

impl Order {
    /// Rising numbers, none twice.
    pub(super) fn of_numbers(column: ColumnId) -> Order {
        Order { keys: vec![OrderKey { column, descending: false }], constants: Vec::new(), is_total: true }
    }

    /// Are rows of this order sorted by these keys, too?
    pub(super) fn satisfies(&self, wanted: &[OrderKey]) -> bool {
        let mut own = self.keys.iter();
        for key in wanted {
            if self.constants.contains(&key.column) {
                continue;
            }
            match own.next() {
                Some(found) if found == key => {}
                Some(_) => return false,
                None => return self.is_total,
            }
        }
        true
    }

    /// Do rows of this order that are equal in all these columns come one behind the other?
    pub(super) fn groups(&self, columns: &[ColumnId]) -> bool {
        let is_varying = |column: &&ColumnId| !self.constants.contains(column);
        let mut left: Vec<ColumnId> = columns.iter().filter(is_varying).copied().collect();
        for key in &self.keys {
            if left.is_empty() {
                return true;
            }
            let before = left.len();
            left.retain(|column| *column != key.column);
            if left.len() == before {
                return false;
            }
        }
        // Behind a total order no two rows are equal.
        left.is_empty() || self.is_total
    }

    /// The order of a join that reads the left rows one after the other: a row with several matches is emitted several times.
    pub(super) fn with_matches(&self, kind: JoinKind) -> Order {
        match kind {
            JoinKind::Semi | JoinKind::Anti => self.clone(),
            JoinKind::Inner | JoinKind::Left => Order { is_total: false, ..self.clone() },
            JoinKind::Full => Order::default(),
        }
    }

    /// The same rows read from their end.
    pub(super) fn reversed(&self) -> Order {
        let turn = |key: &OrderKey| OrderKey { descending: !key.descending, ..*key };
        Order { keys: self.keys.iter().map(turn).collect(), ..self.clone() }
    }

    /// The order above a projection.
    pub(super) fn behind(&self, items: &[(ColumnId, Expr)]) -> Order {
        let passed = |column: ColumnId| {
            items.iter().find(|item| item.1.as_column() == Some(column)).map(|item| item.0)
        };
        let kept = |key: &OrderKey| passed(key.column).map(|column| OrderKey { column, ..*key });
        let keys: Vec<OrderKey> = self.keys.iter().map_while(kept).collect();
        Order {
            is_total: self.is_total && keys.len() == self.keys.len(),
            keys,
            constants: self.constants.iter().filter_map(|column| passed(*column)).collect(),
        }
    }
}

impl Desired {
    /// The desired order in columns of a projection's input; `None` when it names a computed column of the projection.
    pub(super) fn below(&self, items: &[(ColumnId, Expr)]) -> Option<Desired> {
        let source = |key: &OrderKey| {
            let item = items.iter().find(|item| item.0 == key.column)?;
            item.1.as_column().map(|column| OrderKey { column, ..*key })
        };
        let keys: Option<Vec<OrderKey>> = self.keys.iter().map(source).collect();
        Some(Desired { keys: keys?, ..self.clone() })
    }

    /// Have rows of an order what is desired?
    pub(super) fn is_met_by(&self, order: &Order) -> bool {
        match self.is_grouping {
            true => {
                let columns: Vec<ColumnId> = self.keys.iter().map(|key| key.column).collect();
                order.groups(&columns)
            }
            false => order.satisfies(&self.keys),
        }
    }
}

/// A sort key that is a column, compared as its indexes compare it; `None` when it is anything else.
pub(super) fn plain_key(expr: &Expr, descending: bool, columns: &Columns) -> Option<OrderKey> {
    let column = expr.as_column()?;
    let info = &columns[column.0 as usize];
    let is_same = info.sql_type == expr.sql_type
        && (!info.sql_type.is_character() || info.collation == expr.collation)
        && info.sql_type != SqlType::SqlVariant;
    is_same.then_some(OrderKey { column, descending })
}

/// Is it one table, filtered and renamed at most?
pub(super) fn is_one_table(rel: &Rel) -> bool {
    match rel {
        Rel::Table(_) => true,
        Rel::Filter { input, predicate } => !predicate.has_subquery() && is_one_table(input),
        Rel::Project { input, .. } => is_one_table(input),
        _ => false,
    }
}

/// The order of an index's entries, when the columns `equal` have one value each.
pub(super) fn base_order(scan: &TableScan, index: &IndexDef, equal: &[usize]) -> Order {
    if index.kind == IndexKind::Heap {
        return Order::default();
    }
    let columns = &scan.source.def.columns;
    // Entries of equal keys come in the order of their locators: the clustered key.
    let base = scan.source.def.base();
    let behind = if index.unique || index.kind == IndexKind::Clustered { &[][..] } else { &base.key[..] };
    let is_ordered = |ordinal: usize| columns[ordinal].sql_type != SqlType::SqlVariant;
    let all = index.key.iter().map(|key| (key.ordinal, key.descending));
    let all = all.chain(behind.iter().map(|key| (key.ordinal, key.descending)));
    let mut order = Order { is_total: index.unique, ..Order::default() };
    for (ordinal, descending) in all {
        let column = scan.columns[ordinal];
        if equal.contains(&ordinal) {
            order.constants.push(column);
        } else if !is_ordered(ordinal) {
            order.is_total = false;
            break;
        } else if order.keys.iter().all(|key| key.column != column) {
            order.keys.push(OrderKey { column, descending });
        }
    }
    debug_assert!(
        order.keys.iter().all(|key| !order.constants.contains(&key.column)),
        "what has one value orders nothing"
    );
    order
}
