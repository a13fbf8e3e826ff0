//! The binder's state for NEXT VALUE FOR: why it is not allowed at the current place, and the next values bound so far.

use std::sync::Arc;

use plan_ir::bound::tree::{Expr, SortKey};
use plan_ir::kinds::ColumnId;
use plan_ir::table::SequenceSource;
use tsql::ast;
use types::SqlError;

/// A subquery, a derived table, a view, a function, a CHECK, a computed column.
pub const NESTED: i32 = 11719;
/// An argument of a table-valued function.
pub const TABLE_FUNCTION: i32 = 11724;
/// An argument of an aggregate.
pub const AGGREGATE: i32 = 11725;
/// DISTINCT, UNION and the like.
pub const SET_OPERATION: i32 = 11721;
/// The statement has an ORDER BY; OVER lifts this one.
pub const ORDERED: i32 = 11723;
/// TOP, OVER, OUTPUT, ON, WHERE, GROUP BY, HAVING, ORDER BY.
pub const CLAUSE: i32 = 11720;
/// The statement has TOP, OFFSET or SET ROWCOUNT.
pub const LIMITED: i32 = 11739;
/// The same for what a default draws in such a statement.
pub const LIMITED_DEFAULT: i32 = 11740;
/// The actions of MERGE.
pub const MERGED: i32 = 11742;
/// CASE and its kin.
pub const CONDITIONAL: i32 = 11741;

/// Which refusal is told of several: the first.
const PRECEDENCE: [i32; 9] =
    [NESTED, TABLE_FUNCTION, AGGREGATE, SET_OPERATION, ORDERED, CLAUSE, MERGED, LIMITED, CONDITIONAL];

/// The binder's state for NEXT VALUE FOR at the current place.
#[derive(Default)]
pub struct NextValues {
    /// The next query or SELECT block is the statement's own.
    pub is_statement_next: bool,
    /// Why it may not stand here.
    pub(super) refusals: Vec<i32>,
    /// The next values of the current select list.
    pub(super) of_rows: Option<Vec<NextValue>>,
    /// The text of a default: 11717, 11730.
    pub(super) is_default: bool,
    /// Where the call stands that is the whole of that text: NEWSEQUENTIALID is nothing else.
    default_call: Option<usize>,
    /// The statement, or its own query, has TOP or OFFSET: its defaults may not draw.
    pub is_limited: bool,
    /// The statement draws itself, not by defaults alone.
    pub is_written: bool,
    /// The SET clause of an UPDATE: 11717.
    pub(super) refuses_over: bool,
    /// The next values of the statement's own query, and their columns.
    pub(super) drawn: Vec<(Arc<SequenceSource>, ColumnId)>,
    /// All sequences of the statement.
    pub sequences: Vec<Arc<SequenceSource>>,
}

/// One sequence of a select list.
pub struct NextValue {
    pub(super) source: Arc<SequenceSource>,
    pub(super) over: Option<ast::Window>,
    pub(super) order: Vec<SortKey>,
    /// How often it is written.
    pub(super) uses: usize,
}

/// The state that is saved while a stored text is bound.
pub struct Outside {
    refusals: Vec<i32>,
    of_rows: Option<Vec<NextValue>>,
    is_default: bool,
    default_call: Option<usize>,
    refuses_over: bool,
    is_statement_next: bool,
}

impl NextValues {
    /// A view, a function or an expression of a table begins.
    pub fn enter_stored(&mut self) -> Outside {
        Outside {
            refusals: std::mem::replace(&mut self.refusals, vec![NESTED]),
            of_rows: self.of_rows.take(),
            is_default: std::mem::take(&mut self.is_default),
            default_call: self.default_call.take(),
            refuses_over: std::mem::take(&mut self.refuses_over),
            is_statement_next: std::mem::take(&mut self.is_statement_next),
        }
    }

    /// It ends.
    pub fn leave_stored(&mut self, outside: Outside) {
        self.refusals = outside.refusals;
        self.of_rows = outside.of_rows;
        self.is_default = outside.is_default;
        self.default_call = outside.default_call;
        self.refuses_over = outside.refuses_over;
        self.is_statement_next = outside.is_statement_next;
    }

    /// The binder binds a default from here on.
    pub fn allow_in_default(&mut self, value: &ast::Expr) {
        self.refusals.clear();
        self.is_default = true;
        self.default_call = match &value.kind {
            ast::ExprKind::Function(call) => Some(place_of(call)),
            _ => None,
        };
    }

    /// Is the call the whole of a default?
    pub(super) fn is_whole_default(&self, call: &ast::FunctionCall) -> bool {
        self.default_call == Some(place_of(call))
    }

    /// The binder binds the text of a CHECK or a computed column from here on.
    pub fn refuse_in_definition(&mut self) {
        self.refusals.push(NESTED);
    }

    /// The binder binds the SET clause of an UPDATE from here on.
    pub fn refuse_over(&mut self) {
        self.refuses_over = true;
    }

    /// Takes the next values of the statement's own query.
    pub fn take_drawn(&mut self) -> Vec<(Arc<SequenceSource>, ColumnId)> {
        std::mem::take(&mut self.drawn)
    }

    pub(super) fn refusal(&self, has_over: bool) -> Option<i32> {
        let applies = |number: &&i32| self.refusals.contains(number) && (**number != ORDERED || !has_over);
        PRECEDENCE.iter().find(applies).copied()
    }
}

fn place_of(call: &ast::FunctionCall) -> usize {
    std::ptr::from_ref(call).addr()
}

/// The keys of all OVER clauses, to be grouped with the rest of the block.
pub fn take_orders(draws: &mut [NextValue]) -> Vec<SortKey> {
    draws.iter_mut().flat_map(|draw| draw.order.drain(..).collect::<Vec<_>>()).collect()
}

/// The inverse, by the numbers of keys that each had.
pub fn give_orders(draws: &mut [NextValue], counts: &[usize], mut keys: Vec<SortKey>) {
    for (draw, count) in draws.iter_mut().zip(counts) {
        draw.order = keys.drain(..*count).collect();
    }
}

/// How many keys each OVER has.
pub fn order_counts(draws: &[NextValue]) -> Vec<usize> {
    draws.iter().map(|draw| draw.order.len()).collect()
}

/// An expression that is assigned to a variable by SET or DECLARE, too: 11736.
pub fn check_single_use(assigned: &Expr) -> Result<(), SqlError> {
    let mut drawn: Vec<Arc<SequenceSource>> = Vec::new();
    assigned.collect_sequences(&mut drawn);
    let is_twice = drawn.iter().enumerate().any(|(at, one)| drawn[..at].iter().any(|other| one.is(other)));
    if is_twice { Err(SqlError::new(11736, &[])) } else { Ok(()) }
}
