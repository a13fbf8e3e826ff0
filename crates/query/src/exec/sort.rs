//! Sort in memory, stable; with a limit it keeps only the first rows.

use types::{SqlError, Value};

use super::keys::{compare_values, sort_values};
use super::room::Room;
use super::simple::row_limit;
use super::{Row, RowSource, open};
use crate::expr::program::Node;
use crate::expr::runtime::Runtime;
use crate::plan::physical::{Plan, SortNode};

pub(crate) struct Sort<'p> {
    input: &'p Plan,
    keys: &'p [SortNode],
    limit: Option<&'p Node>,
    sorted: Option<std::vec::IntoIter<(Vec<Value>, Row)>>,
}

impl<'p> Sort<'p> {
    pub(crate) fn new(input: &'p Plan, keys: &'p [SortNode], limit: Option<&'p Node>) -> Sort<'p> {
        Sort { input, keys, limit, sorted: None }
    }

    fn sort(&mut self, runtime: &Runtime<'_>) -> Result<std::vec::IntoIter<(Vec<Value>, Row)>, SqlError> {
        let limit = match self.limit {
            Some(node) => usize::try_from(row_limit(node, runtime)?).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        // Trim whenever twice the wanted rows have gathered: amortised cost is that of sorting the kept ones.
        let high_water = limit.saturating_mul(2).max(1024);
        let mut rows: Vec<(Vec<Value>, Row)> = Vec::new();
        let mut source = open(self.input, runtime)?;
        let mut row = Row::new();
        while source.next(runtime, &mut row)? {
            runtime.check_cancelled()?;
            let key = sort_values(self.keys, runtime, &row)?;
            rows.room_for_one()?;
            rows.push((key, std::mem::take(&mut row)));
            if rows.len() >= high_water {
                rows.sort_by(|a, b| compare_values(self.keys, &a.0, &b.0));
                rows.truncate(limit);
            }
        }
        rows.sort_by(|a, b| compare_values(self.keys, &a.0, &b.0));
        rows.truncate(limit);
        Ok(rows.into_iter())
    }
}

impl RowSource for Sort<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(runtime)?);
        }
        match self.sorted.as_mut().and_then(Iterator::next) {
            Some((_, next)) => {
                *row = next;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}
