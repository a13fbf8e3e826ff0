//! Reading tables and system views.

use std::ops::Bound;

use engine::{CatalogImage, Cursor, IsolationLevel, KeyRange, LockWait, RowLock, ScanOptions};
use types::{Collation, SqlError, Value};

use super::simple::{Buffered, Empty};
use super::{Row, RowSource};
use crate::expr::runtime::Runtime;
use crate::plan::access::{AccessPath, ScanPlan, SeekKey, SeekRange, SystemPlan};
use crate::plan::logical::CatalogReading;

/// Starts a scan or seek.
pub(crate) fn open<'p>(
    plan: &'p ScanPlan,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    let ranges = match &plan.path {
        AccessPath::Scan => Vec::new(),
        AccessPath::Seek { ranges, .. } => {
            let mut keys = Vec::with_capacity(ranges.len());
            for range in ranges {
                keys.extend(key_range(range, runtime)?);
            }
            if keys.is_empty() {
                return Ok(Box::new(Empty));
            }
            if keys.len() > 1 {
                let collation = ranges[0].equal.last().map_or_else(Collation::default, |key| key.collation);
                distinct_ranges(&mut keys, collation);
            }
            keys
        }
    };
    Ok(Box::new(Scan {
        plan,
        ranges: ranges.into_iter(),
        cursor: None,
        options: scan_options(plan, runtime)?,
        done: false,
    }))
}

/// Starts a system view.
pub(crate) fn open_system(plan: &SystemPlan, runtime: &Runtime<'_>) -> Result<Buffered, SqlError> {
    let arguments = plan
        .arguments
        .iter()
        .map(|node| node.eval(runtime, &[]))
        .collect::<Result<Vec<Value>, SqlError>>()?;
    let reads_uncommitted = runtime.options.isolation == IsolationLevel::ReadUncommitted;
    let rows = match plan.reading {
        CatalogReading::SkipUnsettled => {
            // What is the same before and after the changes that are under way.
            let present = read_system(plan, &arguments, CatalogImage::Present, runtime)?;
            let mut settled = read_system(plan, &arguments, CatalogImage::Settled, runtime)?;
            settled.retain(|row| present.contains(row));
            settled
        }
        CatalogReading::Settled if !reads_uncommitted => read_settled(plan, &arguments, runtime)?,
        CatalogReading::Settled | CatalogReading::Uncommitted => {
            read_system(plan, &arguments, CatalogImage::Present, runtime)?
        }
    };
    Ok(Buffered { rows: rows.into_iter() })
}

/// The rows of a catalog as it is settled. When the answer hangs on what others are changing, it waits until they have ended: no change
/// of something else is in the way.
fn read_settled(plan: &SystemPlan, arguments: &[Value], runtime: &Runtime<'_>) -> Result<Vec<Row>, SqlError> {
    let database = &plan.database;
    // Messages of users are in master for everybody.
    let master = runtime.instance.master();
    let has_unsettled =
        || runtime.look_up(|lookup| lookup.has_unsettled(database) || lookup.has_unsettled(&master));
    runtime.saw_catalog.set(false);
    let had_unsettled = has_unsettled();
    let settled = read_system(plan, arguments, CatalogImage::Settled, runtime)?;
    if !runtime.saw_catalog.get() || !(had_unsettled || has_unsettled()) {
        return Ok(settled);
    }
    // The filter itself may have waited (OBJECT_ID of a name).
    let settled = read_system(plan, arguments, CatalogImage::Settled, runtime)?;
    if settled == read_system(plan, arguments, CatalogImage::Present, runtime)? {
        return Ok(settled);
    }
    runtime.look_up(|lookup| {
        lookup.wait_for_changes(database)?;
        lookup.wait_for_changes(&master)
    })?;
    read_system(plan, arguments, CatalogImage::Settled, runtime)
}

fn read_system(
    plan: &SystemPlan,
    arguments: &[Value],
    image: CatalogImage,
    runtime: &Runtime<'_>,
) -> Result<Vec<Row>, SqlError> {
    let before = runtime.catalog_image.replace(image);
    let rows = plan.view.read(runtime, &plan.database, arguments);
    runtime.catalog_image.set(before);
    let mut rows = rows?;
    if let Some(filter) = &plan.filter {
        let mut kept = Vec::new();
        for row in rows {
            if filter.test(runtime, &row)? == Some(true) {
                kept.push(row);
            }
        }
        rows = kept;
    }
    Ok(rows)
}

struct Scan<'p> {
    plan: &'p ScanPlan,
    ranges: std::vec::IntoIter<KeyRange>,
    cursor: Option<Cursor>,
    options: ScanOptions,
    done: bool,
}

impl Scan<'_> {
    /// Opens the next cursor; false when there is none left.
    fn advance(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let source = &self.plan.source;
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
        self.cursor = match &self.plan.path {
            AccessPath::Scan if self.done => None,
            AccessPath::Scan => {
                self.done = true;
                Some(source.table.scan(transaction, source.def.base().index_id, &self.options, None)?)
            }
            AccessPath::Seek { index_id, .. } => match self.ranges.next() {
                Some(range) => {
                    let covered = self.plan.covered.as_deref();
                    Some(source.table.seek(transaction, *index_id, &range, &self.options, covered)?)
                }
                None => None,
            },
        };
        Ok(self.cursor.is_some())
    }
}

impl RowSource for Scan<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        loop {
            let Some(cursor) = &mut self.cursor else {
                if !self.advance(runtime)? {
                    return Ok(false);
                }
                continue;
            };
            let found = {
                let mut transactions = runtime.transactions.borrow_mut();
                let transaction =
                    transactions.for_table(&self.plan.source.table, runtime.options.isolation)?;
                cursor.next(transaction, row)?
            };
            if !found {
                self.cursor = None;
                continue;
            }
            runtime.check_cancelled()?;
            if let Some(filter) = &self.plan.filter
                && filter.test(runtime, row)? != Some(true)
            {
                let mut transactions = runtime.transactions.borrow_mut();
                cursor
                    .release_row(transactions.for_table(&self.plan.source.table, runtime.options.isolation)?);
                continue;
            }
            if self.plan.locator {
                row.push(runtime.add_locator(cursor.locator()?));
            }
            return Ok(true);
        }
    }
}

fn scan_options(plan: &ScanPlan, runtime: &Runtime<'_>) -> Result<ScanOptions, SqlError> {
    let hints = &plan.hints;
    let lock = if hints.exclusive_lock {
        RowLock::Exclusive
    } else if hints.update_lock || plan.locator {
        RowLock::Update
    } else {
        RowLock::Shared
    };
    let isolation = hints.isolation.unwrap_or(runtime.options.isolation);
    hints.check_level(isolation)?;
    Ok(ScanOptions {
        isolation,
        row_lock: lock,
        skip_locked: hints.read_past,
        wait: if hints.no_wait { LockWait::NoWait } else { LockWait::Session },
        table_lock: hints.table_lock,
        ..ScanOptions::default()
    })
}

/// The keys of a range; `None` when no row can match (a NULL or a value that the column cannot hold).
fn key_range(range: &SeekRange, runtime: &Runtime<'_>) -> Result<Option<KeyRange>, SqlError> {
    let mut prefix = Vec::with_capacity(range.equal.len() + 1);
    for key in &range.equal {
        match seek_value(key, runtime)? {
            Some(value) => prefix.push(value),
            None => return Ok(None),
        }
    }
    let side = |bound: &Option<(SeekKey, bool)>| -> Result<Option<Bound<Vec<Value>>>, SqlError> {
        let Some((key, inclusive)) = bound else {
            return Ok(Some(if prefix.is_empty() {
                Bound::Unbounded
            } else {
                Bound::Included(prefix.clone())
            }));
        };
        let value = key.node.eval(runtime, &[])?;
        if value.is_null() {
            return Ok(None);
        }
        // A bound that the column's type cannot hold bounds nothing: the filter on the rows decides.
        let converted =
            types::convert(&value, &key.from, &key.to, types::DEFAULT_STYLE, runtime.convert_context());
        let Ok(converted) = converted else {
            return Ok(Some(if prefix.is_empty() {
                Bound::Unbounded
            } else {
                Bound::Included(prefix.clone())
            }));
        };
        let mut full = prefix.clone();
        full.push(converted);
        Ok(Some(if *inclusive { Bound::Included(full) } else { Bound::Excluded(full) }))
    };
    let (Some(lower), Some(upper)) = (side(&range.lower)?, side(&range.upper)?) else {
        return Ok(None);
    };
    let text_prefix = match &range.like {
        None => None,
        Some(key) => match key.node.eval(runtime, &[])? {
            Value::Null => return Ok(None),
            pattern => literal_prefix(&pattern, key, runtime),
        },
    };
    Ok(Some(KeyRange { text_prefix, ..KeyRange::between(lower, upper) }))
}

/// The letters and digits that a LIKE pattern begins with, as a value of the column's type.
fn literal_prefix(pattern: &Value, key: &SeekKey, runtime: &Runtime<'_>) -> Option<Value> {
    let text = pattern.as_text()?;
    let plain: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
    let prefix =
        if matches!(pattern, Value::Char(_)) { Value::varchar(&plain) } else { Value::nvarchar(&plain) };
    types::convert(&prefix, &key.from, &key.to, types::DEFAULT_STYLE, runtime.convert_context()).ok()
}

/// The value in the column's type; `None` when it is NULL or changes its meaning on the way (then nothing equals it).
fn seek_value(key: &SeekKey, runtime: &Runtime<'_>) -> Result<Option<Value>, SqlError> {
    let value = key.node.eval(runtime, &[])?;
    if value.is_null() {
        return Ok(None);
    }
    if key.from == key.to {
        return Ok(Some(value));
    }
    let Ok(converted) =
        types::convert(&value, &key.from, &key.to, types::DEFAULT_STYLE, runtime.convert_context())
    else {
        return Ok(None);
    };
    let same =
        types::convert(&converted, &key.to, &key.from, types::DEFAULT_STYLE, runtime.convert_context())
            .is_ok_and(|back| types::sort_compare(&back, &value, key.collation).is_eq());
    Ok(same.then_some(converted))
}

/// IN lists may name a value twice: each range is read once.
fn distinct_ranges(ranges: &mut Vec<KeyRange>, collation: Collation) {
    let mut seen: rustc_hash::FxHashSet<Vec<u8>> = rustc_hash::FxHashSet::default();
    ranges.retain(|range| {
        let mut key = Vec::new();
        for bound in [&range.lower, &range.upper] {
            if let Bound::Included(values) | Bound::Excluded(values) = bound {
                for value in values {
                    super::keys::write_value(value, collation, &mut key);
                }
            }
            key.push(match bound {
                Bound::Unbounded => 0xfd,
                Bound::Included(_) => 0xfe,
                Bound::Excluded(_) => 0xff,
            });
        }
        seen.insert(key)
    });
}
