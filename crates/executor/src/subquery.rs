//! Subqueries inside expressions: scalar, EXISTS, IN, ANY, ALL. An uncorrelated subquery runs once per statement.

use std::sync::Arc;

use plan_ir::kinds::CompareOp;
use plan_ir::physical::plan::{Node, SubPlan};
use plan_ir::row::Row;
use plan_ir::runtime::{KeptSubquery, Runtime};
use plan_ir::values::write_value;
use rustc_hash::FxHashSet;
use types::{Collation, SqlError, Value};

use super::operations::{Evaluate, Open};
use super::room::Room;

/// The one value, NULL without a row, error 512 with more than one.
pub(crate) fn scalar(plan: &SubPlan, runtime: &Runtime<'_>, row: &[Value]) -> Result<Value, SqlError> {
    if let Some(number) = plan.constant
        && let Some(KeptSubquery::Value(value)) = runtime.kept_subquery(number)
    {
        return Ok(value);
    }
    runtime.set_params(&plan.pass, row);
    let mut source = plan.plan.open(runtime)?;
    let mut inner = Row::new();
    let value = if source.next(runtime, &mut inner)? {
        debug_assert!(plan.column < inner.len(), "a subquery's rows have its column");
        let value = std::mem::take(&mut inner[plan.column]);
        if source.next(runtime, &mut inner)? {
            return Err(plan_ir::errors::subquery_many_values());
        }
        value
    } else {
        Value::Null
    };
    if let Some(number) = plan.constant {
        runtime.keep_subquery(number, KeptSubquery::Value(value.clone()));
    }
    Ok(value)
}

/// Is there a row?
pub(crate) fn exists(plan: &SubPlan, runtime: &Runtime<'_>, row: &[Value]) -> Result<bool, SqlError> {
    if let Some(number) = plan.constant
        && let Some(KeptSubquery::Exists(found)) = runtime.kept_subquery(number)
    {
        return Ok(found);
    }
    runtime.set_params(&plan.pass, row);
    let found = plan.plan.open(runtime)?.next(runtime, &mut Row::new())?;
    if let Some(number) = plan.constant {
        runtime.keep_subquery(number, KeptSubquery::Exists(found));
    }
    Ok(found)
}

/// `left IN (subquery)`.
pub(crate) fn is_in(
    plan: &SubPlan,
    runtime: &Runtime<'_>,
    row: &[Value],
    left: &Node,
    collation: Collation,
) -> Result<Option<bool>, SqlError> {
    let Some(number) = plan.constant else {
        return quantified(plan, runtime, row, CompareOp::Equal, left, collation, false);
    };
    let (keys, has_null) = match runtime.kept_subquery(number) {
        Some(KeptSubquery::Keys(keys, has_null)) => (keys, has_null),
        _ => {
            let mut keys = FxHashSet::default();
            let mut has_null = false;
            let mut source = plan.plan.open(runtime)?;
            let mut inner = Row::new();
            while source.next(runtime, &mut inner)? {
                runtime.check_cancelled()?;
                debug_assert!(plan.column < inner.len(), "a subquery's rows have its column");
                let value = &inner[plan.column];
                has_null |= value.is_null();
                let mut key = Vec::new();
                write_value(value, collation, &mut key);
                keys.room_for_one()?;
                keys.insert(key);
            }
            let keys = Arc::new(keys);
            runtime.keep_subquery(number, KeptSubquery::Keys(keys.clone(), has_null));
            (keys, has_null)
        }
    };
    if keys.is_empty() {
        return Ok(Some(false));
    }
    let value = left.eval(runtime, row)?;
    if value.is_null() {
        return Ok(None);
    }
    let mut key = Vec::new();
    write_value(&value, collation, &mut key);
    Ok(match (keys.contains(&key), has_null) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    })
}

/// `left op ANY (subquery)`, or ALL.
pub(crate) fn quantified(
    plan: &SubPlan,
    runtime: &Runtime<'_>,
    row: &[Value],
    op: CompareOp,
    left: &Node,
    collation: Collation,
    all: bool,
) -> Result<Option<bool>, SqlError> {
    let left = left.eval(runtime, row)?;
    let mut unknown = false;
    for value in values(plan, runtime, row)?.iter() {
        match types::compare(&left, value, collation) {
            None => unknown = true,
            Some(ordering) if op.accepts(ordering) != all => return Ok(Some(!all)),
            Some(_) => {}
        }
    }
    Ok(if unknown { None } else { Some(all) })
}

fn values(plan: &SubPlan, runtime: &Runtime<'_>, row: &[Value]) -> Result<Arc<Vec<Value>>, SqlError> {
    if let Some(number) = plan.constant
        && let Some(KeptSubquery::List(list)) = runtime.kept_subquery(number)
    {
        return Ok(list);
    }
    runtime.set_params(&plan.pass, row);
    let mut source = plan.plan.open(runtime)?;
    let mut inner = Row::new();
    let mut list = Vec::new();
    while source.next(runtime, &mut inner)? {
        runtime.check_cancelled()?;
        list.room_for_one()?;
        debug_assert!(plan.column < inner.len(), "a subquery's rows have its column");
        list.push(std::mem::take(&mut inner[plan.column]));
    }
    let list = Arc::new(list);
    if let Some(number) = plan.constant {
        runtime.keep_subquery(number, KeptSubquery::List(list.clone()));
    }
    Ok(list)
}
