//! NEXT VALUE FOR: where it may stand, and what it becomes there.
//!
//! In the select list of a statement's own query it becomes a column of [`Rel::Draw`], which adds one value of each sequence to each row
//! (documentation of NEXT VALUE FOR: once a row, however often it is written). In VALUES, SET and defaults it is an expression that the
//! runtime answers once a row. Elsewhere it is refused; where two refusals meet, SQL Server's order decides which is told.

use std::sync::Arc;

use engine::ObjectDef;
use tsql::ast;
use types::SqlError;

use super::names::Resolved;
use super::select::Item;
use super::{Binder, Clause};
use crate::bound::tree::{Expr, ExprKind, Rel, SortKey};
use crate::kinds::ColumnId;
use crate::names::written;
use crate::table::SequenceSource;

/// A subquery, a derived table, a view, a function, a CHECK, a computed column.
pub(crate) const NESTED: i32 = 11719;
/// An argument of a table-valued function.
pub(crate) const TABLE_FUNCTION: i32 = 11724;
/// An argument of an aggregate.
pub(crate) const AGGREGATE: i32 = 11725;
/// DISTINCT, UNION and the like.
pub(crate) const SET_OPERATION: i32 = 11721;
/// The statement has an ORDER BY; OVER lifts this one.
pub(crate) const ORDERED: i32 = 11723;
/// TOP, OVER, OUTPUT, ON, WHERE, GROUP BY, HAVING, ORDER BY.
pub(crate) const CLAUSE: i32 = 11720;
/// The statement has TOP, OFFSET or SET ROWCOUNT.
pub(crate) const LIMITED: i32 = 11739;
/// The same for what a default draws in such a statement.
pub(crate) const LIMITED_DEFAULT: i32 = 11740;
/// The actions of MERGE.
pub(crate) const MERGED: i32 = 11742;
/// CASE and its kin.
pub(crate) const CONDITIONAL: i32 = 11741;

/// Which refusal is told of several: the first.
const PRECEDENCE: [i32; 9] =
    [NESTED, TABLE_FUNCTION, AGGREGATE, SET_OPERATION, ORDERED, CLAUSE, MERGED, LIMITED, CONDITIONAL];

/// What the binder knows of NEXT VALUE FOR at the place where it is.
#[derive(Default)]
pub(crate) struct Draws {
    /// The next query or SELECT block is the statement's own.
    pub(crate) is_statement_next: bool,
    /// Why it may not stand here.
    refusals: Vec<i32>,
    /// What the select list at hand draws.
    of_rows: Option<Vec<Draw>>,
    /// The text of a default: 11717, 11730.
    is_default: bool,
    /// The statement, or its own query, has TOP or OFFSET: its defaults may not draw.
    pub(crate) is_limited: bool,
    /// The statement draws itself, not by defaults alone.
    pub(crate) is_written: bool,
    /// The SET clause of an UPDATE: 11717.
    refuses_over: bool,
    /// What the statement's own query has drawn, and the columns that hold it.
    drawn: Vec<(Arc<SequenceSource>, ColumnId)>,
    /// All sequences of the statement.
    pub(crate) sequences: Vec<Arc<SequenceSource>>,
}

/// One sequence of a select list.
pub(crate) struct Draw {
    source: Arc<SequenceSource>,
    over: Option<ast::Window>,
    order: Vec<SortKey>,
    /// How often it is written.
    uses: usize,
}

/// What is put aside while a stored text is bound.
pub(crate) struct Outside {
    refusals: Vec<i32>,
    of_rows: Option<Vec<Draw>>,
    is_default: bool,
    refuses_over: bool,
    is_statement_next: bool,
}

impl Draws {
    /// A view, a function or an expression of a table begins.
    pub(crate) fn enter_stored(&mut self) -> Outside {
        Outside {
            refusals: std::mem::replace(&mut self.refusals, vec![NESTED]),
            of_rows: self.of_rows.take(),
            is_default: std::mem::take(&mut self.is_default),
            refuses_over: std::mem::take(&mut self.refuses_over),
            is_statement_next: std::mem::take(&mut self.is_statement_next),
        }
    }

    /// It ends.
    pub(crate) fn leave_stored(&mut self, outside: Outside) {
        self.refusals = outside.refusals;
        self.of_rows = outside.of_rows;
        self.is_default = outside.is_default;
        self.refuses_over = outside.refuses_over;
        self.is_statement_next = outside.is_statement_next;
    }

    /// What is bound now is a default.
    pub(crate) fn allow_in_default(&mut self) {
        self.refusals.clear();
        self.is_default = true;
    }

    /// What is bound from here on is the text of a CHECK or a computed column.
    pub(crate) fn refuse_in_definition(&mut self) {
        self.refusals.push(NESTED);
    }

    /// What is bound from here on is the SET clause of an UPDATE.
    pub(crate) fn refuse_over(&mut self) {
        self.refuses_over = true;
    }

    /// What the statement's own query has drawn.
    pub(crate) fn take_drawn(&mut self) -> Vec<(Arc<SequenceSource>, ColumnId)> {
        std::mem::take(&mut self.drawn)
    }

    fn refusal(&self, has_over: bool) -> Option<i32> {
        let applies = |number: &&i32| self.refusals.contains(number) && (**number != ORDERED || !has_over);
        PRECEDENCE.iter().find(applies).copied()
    }
}

impl Binder<'_> {
    /// Runs `f` with NEXT VALUE FOR refused by `number`, if `applies`.
    pub(crate) fn refusing_draws<T>(
        &mut self,
        number: i32,
        applies: bool,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if !applies {
            return f(self);
        }
        self.draws.refusals.push(number);
        let result = f(self);
        self.draws.refusals.pop();
        result
    }

    /// The same for what a SELECT block as a whole rules out.
    pub(crate) fn refusing_draws_of<T>(
        &mut self,
        select: &ast::Select,
        query: &ast::Query,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let is_distinct = select.quantifier == Some(ast::SetQuantifier::Distinct);
        let is_limited = select.top.is_some() || query.offset.is_some();
        self.refusing_draws(SET_OPERATION, is_distinct, |binder| {
            binder.refusing_draws(ORDERED, !query.order_by.is_empty(), |binder| {
                binder.refusing_draws(LIMITED, is_limited, f)
            })
        })
    }

    /// A clause in which it may not stand.
    pub(crate) fn clause_without_draws<T>(
        &mut self,
        clause: Clause,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.refusing_draws(CLAUSE, true, |binder| binder.in_clause(clause, f))
    }

    /// Binds a select list; gives what it draws. `is_statement`: of the statement's own query.
    pub(crate) fn drawing_for_rows<T>(
        &mut self,
        is_statement: bool,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<(T, Vec<Draw>), SqlError> {
        let outer = std::mem::replace(&mut self.draws.of_rows, is_statement.then(Vec::new));
        let result = f(self);
        let draws = std::mem::replace(&mut self.draws.of_rows, outer);
        Ok((result?, draws.unwrap_or_default()))
    }

    /// NEXT VALUE FOR.
    pub(crate) fn next_value(&mut self, next: &ast::NextValueFor) -> Result<Expr, SqlError> {
        if let Some(number) = self.draws.refusal(next.over.is_some()) {
            return Err(SqlError::new(number, &[]));
        }
        if self.draws.is_default && self.draws.is_limited {
            return Err(SqlError::new(LIMITED_DEFAULT, &[]));
        }
        self.draws.is_written |= !self.draws.is_default;
        let over = next.over.as_ref().map(|over| self.over_of_draw(over)).transpose()?;
        if self.draws.is_default && next.sequence.database.is_some() {
            return Err(SqlError::new(11730, &[]));
        }
        let source = self.sequence_source(&next.sequence)?;
        let (sql_type, collation) = (source.def.sql_type, types::Collation::default());
        if let Some(mut draws) = self.draws.of_rows.take() {
            let noted = self.note_draw(&mut draws, &source, over);
            self.draws.of_rows = Some(draws);
            noted?;
        }
        Ok(Expr { collation, ..Expr::new(ExprKind::NextValue(source), sql_type, false) })
    }

    /// OVER of a draw, its name resolved. Errors 11716, 11717, 11718.
    fn over_of_draw(&mut self, over: &ast::Window) -> Result<ast::Window, SqlError> {
        if self.draws.is_default || self.draws.refuses_over {
            return Err(SqlError::new(11717, &[]));
        }
        let over = self.named_window(over)?;
        if !over.partition_by.is_empty() {
            return Err(SqlError::new(11716, &[]));
        }
        if over.order_by.is_empty() {
            return Err(SqlError::new(11718, &[]));
        }
        Ok(over)
    }

    /// One more use of a sequence in the select list. Error 11727 when its OVER is another than before.
    fn note_draw(
        &mut self,
        draws: &mut Vec<Draw>,
        source: &Arc<SequenceSource>,
        over: Option<ast::Window>,
    ) -> Result<(), SqlError> {
        let same_over = |one: &Option<ast::Window>, other: &Option<ast::Window>| match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => {
                let direction = |item: &ast::OrderByItem| item.descending == Some(true);
                one.order_by.len() == other.order_by.len()
                    && one
                        .order_by
                        .iter()
                        .zip(&other.order_by)
                        .all(|(a, b)| a.expr == b.expr && direction(a) == direction(b))
            }
            _ => false,
        };
        if let Some(known) = draws.iter_mut().find(|known| known.source.is(source)) {
            known.uses += 1;
            return match same_over(&known.over, &over) {
                true => Ok(()),
                false => Err(SqlError::new(11727, &[])),
            };
        }
        let mut order = Vec::new();
        for item in over.iter().flat_map(|over| &over.order_by) {
            let expr = self.clause_without_draws(Clause::Window, |binder| binder.value(&item.expr))?;
            let orders_nothing = matches!(expr.kind, ExprKind::Constant(_))
                || (expr.columns().is_empty() && matches!(expr.kind, ExprKind::Subquery(_)));
            if !orders_nothing {
                order.push(SortKey { expr, descending: item.descending == Some(true) });
            }
        }
        draws.push(Draw { source: source.clone(), over, order, uses: 1 });
        Ok(())
    }

    /// The sequence of that name. Errors 208, 11726.
    fn sequence_source(&mut self, name: &ast::ObjectName) -> Result<Arc<SequenceSource>, SqlError> {
        let missing = |error: SqlError| if error.number == 208 { error.with_state(211) } else { error };
        let found = self.resolve_table(name).map_err(missing)?;
        let Resolved::Object(database, ObjectDef::Sequence(def)) = found else {
            return Err(SqlError::new(11726, &[&written(name)]));
        };
        if let Some(observed) = &self.observed {
            let object = ObjectDef::Sequence(def.clone());
            observed.borrow_mut().objects.push((database.clone(), object));
        }
        let source = SequenceSource { database, def };
        if let Some(known) = self.draws.sequences.iter().find(|known| known.is(&source)) {
            return Ok(known.clone());
        }
        let source = Arc::new(source);
        self.draws.sequences.push(source.clone());
        Ok(source)
    }

    /// Puts the draws of a select list over its rows, each in the order of its OVER, and their columns into the expressions.
    pub(crate) fn draw(
        &mut self,
        mut rel: Rel,
        draws: Vec<Draw>,
        items: &mut [Item],
        order: &mut [SortKey],
    ) -> Rel {
        for draw in draws {
            if !draw.order.is_empty() {
                rel = Rel::Sort { input: Box::new(rel), keys: draw.order };
            }
            let id = self.new_column(draw.source.def.sql_type, false, types::Collation::default());
            let column = self.column_expr(id);
            let mut replace = |expr: &Expr| match &expr.kind {
                ExprKind::NextValue(source) if source.is(&draw.source) => Some(column.clone()),
                _ => None,
            };
            items.iter_mut().for_each(|item| item.expr.rewrite(&mut replace));
            order.iter_mut().for_each(|key| key.expr.rewrite(&mut replace));
            self.draws.drawn.push((draw.source.clone(), id));
            rel = Rel::Draw { input: Box::new(rel), sequence: (id, draw.source) };
        }
        rel
    }
}

/// The keys of all OVER clauses, to be grouped with the rest of the block.
pub(crate) fn take_orders(draws: &mut [Draw]) -> Vec<SortKey> {
    draws.iter_mut().flat_map(|draw| draw.order.drain(..).collect::<Vec<_>>()).collect()
}

/// The inverse, by the numbers of keys that each had.
pub(crate) fn give_orders(draws: &mut [Draw], counts: &[usize], mut keys: Vec<SortKey>) {
    for (draw, count) in draws.iter_mut().zip(counts) {
        draw.order = keys.drain(..*count).collect();
    }
}

/// How many keys each OVER has.
pub(crate) fn order_counts(draws: &[Draw]) -> Vec<usize> {
    draws.iter().map(|draw| draw.order.len()).collect()
}

/// A SELECT that assigns to variables may name a sequence once: 11736.
pub(crate) fn check_single_uses(draws: &[Draw], items: &[Item]) -> Result<(), SqlError> {
    let assigns = items.iter().any(|item| item.variable.is_some());
    match assigns && draws.iter().any(|draw| draw.uses > 1) {
        true => Err(SqlError::new(11736, &[])),
        false => Ok(()),
    }
}

/// An expression that is assigned to a variable by SET or DECLARE, too: 11736.
pub(crate) fn check_single_use(assigned: &Expr) -> Result<(), SqlError> {
    let mut drawn: Vec<Arc<SequenceSource>> = Vec::new();
    assigned.collect_sequences(&mut drawn);
    let is_twice = drawn.iter().enumerate().any(|(at, one)| drawn[..at].iter().any(|other| one.is(other)));
    if is_twice { Err(SqlError::new(11736, &[])) } else { Ok(()) }
}
