//! TOP, OFFSET and FETCH. Their counts are computed before the rows, so columns of the query itself are recognized and refused.

use plan_ir::bound::tree::{Expr, ExprKind, Rel, SortKey, TopSpec};
use tsql::ast;
use types::{SqlError, SqlType, Value};

use super::{Binder, Clause, Scope, coerce, next_values};

/// Which count it is: decides what is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowCount {
    Top,
    Percent,
    Offset,
    Fetch,
}

impl Binder<'_> {
    /// TOP and OFFSET ... FETCH.
    pub fn limit(
        &mut self,
        mut rel: Rel,
        order: &[SortKey],
        top: Option<&ast::Top>,
        offset: Option<&ast::Offset>,
    ) -> Result<Rel, SqlError> {
        if let Some(top) = top {
            if offset.is_some() {
                return Err(plan_ir::errors::top_with_offset());
            }
            if top.with_ties && order.is_empty() {
                return Err(plan_ir::errors::ties_without_order());
            }
            let spec = self.top(top, if top.with_ties { order.to_vec() } else { Vec::new() })?;
            rel = Rel::Top { input: Box::new(rel), top: spec };
        }
        if let Some(offset) = offset {
            let skip = self.row_count(&offset.skip, RowCount::Offset)?;
            let fetch = match &offset.fetch {
                Some(fetch) => Some(self.row_count(fetch, RowCount::Fetch)?),
                None => None,
            };
            rel = Rel::Offset { input: Box::new(rel), offset: skip, fetch };
        }
        Ok(rel)
    }

    /// TOP of any statement.
    pub fn top(&mut self, top: &ast::Top, ties: Vec<SortKey>) -> Result<TopSpec, SqlError> {
        let count =
            self.row_count(&top.count, if top.percent { RowCount::Percent } else { RowCount::Top })?;
        Ok(TopSpec { count, percent: top.percent, ties })
    }

    /// One count. Columns of outer queries, variables and subqueries may stand in it. Errors 4115, 162, 1031, and those of [`check`].
    fn row_count(&mut self, count: &ast::Expr, which: RowCount) -> Result<Expr, SqlError> {
        let own = self.scopes.len().checked_sub(1);
        if let Some(own) = own {
            self.scopes[own].refuses_columns = true;
        }
        self.scopes.push(Scope { clause: Clause::RowCount, ..Scope::default() });
        let count = self.refusing_next_values(next_values::CLAUSE, true, |binder| binder.value(count));
        self.scopes.pop();
        if let Some(own) = own {
            self.scopes[own].refuses_columns = false;
        }
        let count = count?;
        check(&count, which)?;
        if which != RowCount::Percent {
            return coerce::implicit(count, &SqlType::BigInt);
        }
        let share = coerce::implicit(count, &SqlType::Float)?;
        match share.kind {
            ExprKind::Constant(Value::Float(percent)) if !(0.0..=100.0).contains(&percent) => {
                Err(plan_ir::errors::top_percent_range())
            }
            _ => Ok(share),
        }
    }
}

/// Checks a count at bind time. Errors 1060, 10743 (not of an integer type), 127, 10742, 10744 (too small a constant),
/// 1014 (NULL percent).
fn check(count: &Expr, which: RowCount) -> Result<(), SqlError> {
    if matches!(count.kind, ExprKind::Undeclared(_)) {
        return Ok(());
    }
    if count.is_null_literal() || (count.is_constant_null() && which != RowCount::Percent) {
        return Err(match which {
            RowCount::Percent => plan_ir::errors::row_count_null(),
            other => not_whole(other),
        });
    }
    let constant = match &count.kind {
        ExprKind::Constant(value) => Some(value),
        _ => None,
    };
    if which == RowCount::Percent {
        return Ok(());
    }
    let is_whole = match count.sql_type {
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => true,
        // A literal above 2,147,483,647 is a decimal.
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => scale == 0 && constant.is_some(),
        _ => false,
    };
    if !is_whole {
        return Err(not_whole(which));
    }
    match (constant.and_then(Value::as_i64), which) {
        (Some(..0), RowCount::Top) => Err(plan_ir::errors::row_count_negative()),
        (Some(..0), RowCount::Offset) => Err(plan_ir::errors::offset_negative()),
        (Some(..1), RowCount::Fetch) => Err(plan_ir::errors::fetch_not_positive()),
        _ => Ok(()),
    }
}

fn not_whole(which: RowCount) -> SqlError {
    match which {
        RowCount::Offset => plan_ir::errors::offset_not_whole(),
        _ => plan_ir::errors::row_count_invalid(),
    }
}
