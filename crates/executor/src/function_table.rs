//! Multi-statement table-valued functions, and a trigger's tables of rows: the body runs when the rows are first asked for, and again for each outer row.

use plan_ir::context::FunctionCall;
use plan_ir::physical::plan::{BoolNode, FunctionTable};
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::{SqlError, Value};

use super::operations::{Evaluate, Test};

/// Runs the function, and gives the rows of its table that pass the filter.
pub(crate) fn open<'p>(
    plan: &'p FunctionTable,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    if let Some(table) = plan.function.trigger_table {
        return super::trigger::open(table, plan, runtime);
    }
    let arguments = plan.arguments.iter().map(|node| node.eval(runtime, &[])).collect::<Result<_, _>>()?;
    let rows = runtime.functions.call_table_function(FunctionCall {
        function: &plan.function,
        arguments,
        instance: runtime.instance,
        options: runtime.options,
        transactions: &mut runtime.transactions.borrow_mut(),
    })?;
    let width = plan.function.columns.len();
    debug_assert!(rows.iter().all(|row| row.len() == width), "a row has each column of the function");
    Ok(Box::new(Returned { rows: rows.into_iter(), filter: plan.filter.as_ref() }))
}

/// The rows of the table that the function has returned.
struct Returned<'p> {
    rows: std::vec::IntoIter<Vec<Value>>,
    filter: Option<&'p BoolNode>,
}

impl RowSource for Returned<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        for values in self.rows.by_ref() {
            runtime.check_cancelled()?;
            *row = values;
            let is_kept = match self.filter {
                Some(filter) => filter.is_true(runtime, row)?,
                None => true,
            };
            if is_kept {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
