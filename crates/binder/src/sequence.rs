//! NEXT VALUE FOR: the places where it is allowed, and its bound form at each.
//!
//! In the select list of a statement's own query it becomes a column of [`Rel::NextValue`], which adds one value of each sequence to each row
//! (documentation of NEXT VALUE FOR: once a row, however often it is written). In VALUES, SET and defaults it is an expression that the
//! runtime answers once a row. Elsewhere it is refused; where two refusals meet, SQL Server's order decides which is told.

use std::sync::Arc;

use engine::ObjectDef;
use plan_ir::bound::tree::{Expr, ExprKind, Rel, SortKey};
use plan_ir::names::written;
use plan_ir::table::SequenceSource;
use tsql::ast;
use types::SqlError;

use super::item::Item;
use super::names::Resolved;
use super::next_values::{CLAUSE, LIMITED, LIMITED_DEFAULT, NextValue, ORDERED, SET_OPERATION};
use super::{Binder, Clause};

impl Binder<'_> {
    /// Runs `f` with NEXT VALUE FOR refused by `number`, if `applies`.
    pub fn refusing_next_values<T>(
        &mut self,
        number: i32,
        applies: bool,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if !applies {
            return f(self);
        }
        self.next_values.refusals.push(number);
        let result = f(self);
        self.next_values.refusals.pop();
        result
    }

    /// The same for what a SELECT block as a whole rules out.
    pub fn refusing_next_values_of<T>(
        &mut self,
        select: &ast::Select,
        query: &ast::Query,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let is_distinct = select.quantifier == Some(ast::SetQuantifier::Distinct);
        let is_limited = select.top.is_some() || query.offset.is_some();
        self.refusing_next_values(SET_OPERATION, is_distinct, |binder| {
            binder.refusing_next_values(ORDERED, !query.order_by.is_empty(), |binder| {
                binder.refusing_next_values(LIMITED, is_limited, f)
            })
        })
    }

    /// A clause in which it may not stand.
    pub fn clause_without_draws<T>(
        &mut self,
        clause: Clause,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.refusing_next_values(CLAUSE, true, |binder| binder.in_clause(clause, f))
    }

    /// Binds a select list; gives what it draws. `is_statement`: of the statement's own query.
    pub fn drawing_for_rows<T>(
        &mut self,
        is_statement: bool,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<(T, Vec<NextValue>), SqlError> {
        let outer = std::mem::replace(&mut self.next_values.of_rows, is_statement.then(Vec::new));
        let result = f(self);
        let draws = std::mem::replace(&mut self.next_values.of_rows, outer);
        Ok((result?, draws.unwrap_or_default()))
    }

    /// NEXT VALUE FOR.
    pub fn next_value(&mut self, next: &ast::NextValueFor) -> Result<Expr, SqlError> {
        if let Some(number) = self.next_values.refusal(next.over.is_some()) {
            return Err(SqlError::new(number, &[]));
        }
        if self.next_values.is_default && self.next_values.is_limited {
            return Err(SqlError::new(LIMITED_DEFAULT, &[]));
        }
        self.next_values.is_written |= !self.next_values.is_default;
        let over = next.over.as_ref().map(|over| self.over_of_draw(over)).transpose()?;
        if self.next_values.is_default && next.sequence.database.is_some() {
            return Err(SqlError::new(11730, &[]));
        }
        let source = self.sequence_source(&next.sequence)?;
        let (sql_type, collation) = (source.def.sql_type, types::Collation::default());
        if let Some(mut draws) = self.next_values.of_rows.take() {
            let noted = self.note_draw(&mut draws, &source, over);
            self.next_values.of_rows = Some(draws);
            noted?;
        }
        Ok(Expr { collation, ..Expr::new(ExprKind::NextValue(source), sql_type, false) })
    }

    /// OVER of a draw, its name resolved. Errors 11716, 11717, 11718.
    fn over_of_draw(&mut self, over: &ast::Window) -> Result<ast::Window, SqlError> {
        if self.next_values.is_default || self.next_values.refuses_over {
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
        draws: &mut Vec<NextValue>,
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
        draws.push(NextValue { source: source.clone(), over, order, uses: 1 });
        Ok(())
    }

    /// The sequence of that name. Errors 208, 11726.
    fn sequence_source(&mut self, name: &ast::ObjectName) -> Result<Arc<SequenceSource>, SqlError> {
        let missing = |error: SqlError| if error.number == 208 { error.with_state(211) } else { error };
        let found = self.resolve_own(name).map_err(missing)?;
        let Resolved::Object(database, ObjectDef::Sequence(def)) = found else {
            return Err(SqlError::new(11726, &[&written(name)]));
        };
        if let Some(observed) = &self.observed {
            let object = ObjectDef::Sequence(def.clone());
            observed.borrow_mut().objects.push((database.clone(), object));
        }
        let source = SequenceSource { database, def };
        if let Some(known) = self.next_values.sequences.iter().find(|known| known.is(&source)) {
            return Ok(known.clone());
        }
        let source = Arc::new(source);
        self.next_values.sequences.push(source.clone());
        Ok(source)
    }

    /// Puts the draws of a select list over its rows, each in the order of its OVER, and their columns into the expressions.
    pub fn draw(
        &mut self,
        mut rel: Rel,
        draws: Vec<NextValue>,
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
            self.next_values.drawn.push((draw.source.clone(), id));
            rel = Rel::NextValue { input: Box::new(rel), sequence: (id, draw.source) };
        }
        rel
    }
}

/// A SELECT that assigns to variables may name a sequence once: 11736.
pub fn check_single_uses(draws: &[NextValue], items: &[Item]) -> Result<(), SqlError> {
    let assigns = items.iter().any(|item| item.variable.is_some());
    match assigns && draws.iter().any(|draw| draw.uses > 1) {
        true => Err(SqlError::new(11736, &[])),
        false => Ok(()),
    }
}
