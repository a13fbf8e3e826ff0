//! Reading tables and system views.

use std::cmp::Ordering;
use std::ops::Bound;

use engine::{
    CatalogImage, Condition, ConditionKind, Cursor, IsolationLevel, KeyRange, KeyValues, LockWait, RowLock,
    ScanOptions,
};
use plan_ir::kinds::CatalogReading;
use plan_ir::physical::plan::{
    AccessPath, BoolNode, IntKind, ScanColumns, ScanPlan, SeekKey, SeekRange, SystemPlan,
};
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use plan_ir::view::stream::{self, StreamRequest};
use types::sql_type::TypeFamily;
use types::{Collation, SqlError, Value};

use super::intersection::{RowNames, names_by};
use super::operations::{Evaluate, Test};
use super::runtime_filter::RuntimeFilter;
use super::simple::Buffered;

/// Starts a scan or seek.
pub(crate) fn open<'p>(
    plan: &'p ScanPlan,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    open_filtered(plan, runtime, &[])
}

/// Opens a scan with runtime filters: it may drop rows that do not match them.
pub(super) fn open_filtered<'p>(
    plan: &'p ScanPlan,
    runtime: &Runtime<'_>,
    filters: &[RuntimeFilter],
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    assert!(plan.columns.for_filter <= plan.columns.count, "a filter reads columns of the row");
    assert!(plan.other_index.is_none() || plan.path.is_seek(), "a second index narrows what the first finds");
    let Some(ranges) = ranges(plan, runtime)? else {
        return Ok(Box::new(plan_ir::row_source::Empty));
    };
    let options = scan_options(plan, runtime)?;
    let (mut conditions, filter) = conditions(plan, runtime);
    conditions.extend(filters.iter().filter_map(|filter| condition_of(&plan.columns, &plan.source, filter)));
    let names = match &plan.other_index {
        Some(other) => {
            let ranges = key_ranges(&other.ranges, runtime)?.unwrap_or_default();
            names_by(plan, (other.index_id, ranges), &options, runtime)?
        }
        None => None,
    };
    Ok(Box::new(Scan {
        plan,
        ranges: ranges.into_iter(),
        cursor: None,
        is_open: false,
        names,
        options,
        conditions,
        filter,
        has_new_conditions: false,
        is_filtered: !filters.is_empty(),
        done: false,
        rows: 0,
        at: 0,
    }))
}

/// The ranges of a seek; `None`: no row can match.
fn ranges(plan: &ScanPlan, runtime: &Runtime<'_>) -> Result<Option<Vec<KeyRange>>, SqlError> {
    match &plan.path {
        AccessPath::Scan => Ok(Some(Vec::new())),
        AccessPath::Seek { ranges, .. } => key_ranges(ranges, runtime),
    }
}

fn key_ranges(ranges: &[SeekRange], runtime: &Runtime<'_>) -> Result<Option<Vec<KeyRange>>, SqlError> {
    let mut keys = Vec::with_capacity(ranges.len());
    for range in ranges {
        keys.extend(key_range(range, runtime)?);
    }
    if keys.is_empty() {
        return Ok(None);
    }
    if keys.len() > 1 {
        let collation = ranges[0].equal.last().map_or_else(Collation::default, |key| key.collation);
        distinct_ranges(&mut keys, collation);
    }
    Ok(Some(keys))
}

/// The conditions of the pushed predicate, and the rest of the filter, which is tested on values.
fn conditions<'p>(plan: &'p ScanPlan, runtime: &Runtime<'_>) -> (Vec<Condition>, Option<&'p BoolNode>) {
    let Some(pushed) = &plan.pushed else { return (Vec::new(), plan.filter.as_ref()) };
    match super::pushed_predicate::conditions(pushed, runtime) {
        Some(conditions) => (conditions, pushed.rest.as_ref()),
        None => (Vec::new(), plan.filter.as_ref()),
    }
}

/// A runtime filter as a condition on the table's column; none if the column is no integer.
fn condition_of(columns: &ScanColumns, source: &TableSource, filter: &RuntimeFilter) -> Option<Condition> {
    debug_assert!(filter.position <= columns.count, "what is asked is of a column, or of the locator");
    let column = columns.ordinals().nth(filter.position)?;
    IntKind::of(&source.def.columns[column].sql_type)?;
    Some(Condition { column, kind: ConditionKind::InSet(filter.set.clone()) })
}

/// Starts a system view.
pub(crate) fn open_system<'p>(
    plan: &'p SystemPlan,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    let arguments = plan
        .arguments
        .iter()
        .map(|node| node.eval(runtime, &[]))
        .collect::<Result<Vec<Value>, SqlError>>()?;
    if let Some(function) = &plan.view.stream {
        let mut bounds = Vec::with_capacity(plan.bounds.len());
        for (column, kind, value) in &plan.bounds {
            let value = value.eval(runtime, &[])?;
            bounds.push(stream::Bound { column: *column, kind: *kind, value });
        }
        let wanted = plan.wanted.as_deref();
        let request = StreamRequest { arguments: &arguments, bounds: &bounds, wanted };
        let source = (function.open)(runtime, &plan.database, &request)?;
        return Ok(Box::new(Streamed { source, filter: plan.filter.as_ref() }));
    }
    let reads_uncommitted = runtime.options.isolation == IsolationLevel::ReadUncommitted;
    let rows = match plan.reading {
        CatalogReading::SkipUnsettled => {
            // Only rows that exist both with and without the uncommitted changes.
            let present = read_system(plan, &arguments, CatalogImage::Present, runtime)?;
            let mut settled = read_system(plan, &arguments, CatalogImage::Settled, runtime)?;
            settled.retain(|row| present.contains(row));
            settled
        }
        CatalogReading::Settled if !reads_uncommitted => match runtime.read_as.get() {
            Some(image) => read_system(plan, &arguments, image, runtime)?,
            None => read_settled(plan, &arguments, runtime)?,
        },
        CatalogReading::Settled | CatalogReading::Uncommitted => {
            read_system(plan, &arguments, CatalogImage::Present, runtime)?
        }
    };
    Ok(Box::new(Buffered { rows: rows.into_iter() }))
}

/// A system function that streams its rows.
struct Streamed<'p> {
    source: Box<dyn RowSource>,
    filter: Option<&'p BoolNode>,
}

impl RowSource for Streamed<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while self.source.next(runtime, row)? {
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

/// The rows of a catalog view without uncommitted changes. If the rows depend on such changes, it waits until their transactions end; it does not
/// wait for changes of other definitions.
fn read_settled(plan: &SystemPlan, arguments: &[Value], runtime: &Runtime<'_>) -> Result<Vec<Row>, SqlError> {
    let database = &plan.database;
    // User-defined messages of all databases are in master.
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
            if filter.is_true(runtime, &row)? {
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
    /// The cursor has not ended; an ended cursor restarts with the next range.
    is_open: bool,
    options: ScanOptions,
    /// The row names that the second index of an intersection has found.
    names: Option<RowNames>,
    /// The conditions of the pushed predicate; `filter` is the rest, which is tested on values.
    conditions: Vec<Condition>,
    filter: Option<&'p BoolNode>,
    /// The conditions have changed since the ended cursor was opened.
    has_new_conditions: bool,
    /// The reader has set runtime filters.
    is_filtered: bool,
    done: bool,
    /// Rows that the cursor has buffered, and the next of them.
    rows: usize,
    at: usize,
}

impl Scan<'_> {
    /// Opens the next cursor; false when there is none left.
    fn advance(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        let (index_id, range) = match &self.plan.path {
            AccessPath::Scan if self.done => return Ok(false),
            AccessPath::Scan => (self.plan.source.def.base().index_id, KeyRange::all()),
            AccessPath::Seek { index_id, .. } => match self.ranges.next() {
                Some(range) => (*index_id, range),
                None => return Ok(false),
            },
        };
        self.done = true;
        let is_new = std::mem::take(&mut self.has_new_conditions);
        if let Some(cursor) = &mut self.cursor {
            cursor.restart(&range, is_new.then(|| self.conditions.clone()));
            self.is_open = true;
            return Ok(true);
        }
        let source = &self.plan.source;
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
        let columns = self.plan.columns.listed.as_ref();
        let conditions = self.conditions.clone();
        let mut cursor =
            source.table.read(transaction, index_id, &range, &self.options, columns, conditions)?;
        if let Some(names) = &self.names {
            cursor.look_up_only(names.clone());
        }
        let used = (index_id, self.plan.path.is_seek(), cursor.looks_up());
        super::uses::note_scan(self.plan, used, runtime);
        (self.cursor, self.is_open) = (Some(cursor), true);
        Ok(true)
    }

    /// Buffers the next rows of the cursor; false at the end.
    fn turn_page(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        (self.rows, self.at) = (0, 0);
        loop {
            if !self.is_open && !self.advance(runtime)? {
                return Ok(false);
            }
            let cursor = self.cursor.as_mut().expect("it is open");
            let mut transactions = runtime.transactions.borrow_mut();
            let transaction = transactions.for_table(&self.plan.source.table, runtime.options.isolation)?;
            let before = cursor.looked_up();
            self.rows = cursor.next_page(transaction)?;
            if let Some(profile) = runtime.profile() {
                let looked_up = cursor.looked_up().zip(before).map(|(after, before)| after - before);
                profile.note_handed(self.plan, looked_up.unwrap_or(self.rows as u64));
            }
            if self.rows > 0 {
                return Ok(true);
            }
            self.is_open = false;
        }
    }

    /// Appends the next buffered row to `out`; false when it does not qualify.
    fn take_row(&mut self, runtime: &Runtime<'_>, out: &mut Row) -> Result<bool, SqlError> {
        let cursor = self.cursor.as_mut().expect("rows are in its hand");
        let (start, at, columns) = (out.len(), self.at, &self.plan.columns);
        assert!(at < self.rows, "a row is left");
        self.at += 1;
        let first = if self.filter.is_some() { columns.for_filter } else { 0 };
        cursor.values(at, 0..first, out)?;
        if let Some(filter) = self.filter
            && !filter.is_true(runtime, &out[start..])?
        {
            out.truncate(start);
            if self.rows == 1 {
                let mut transactions = runtime.transactions.borrow_mut();
                let transaction =
                    transactions.for_table(&self.plan.source.table, runtime.options.isolation)?;
                cursor.release_row(transaction);
            }
            return Ok(false);
        }
        cursor.values(at, first..columns.count, out)?;
        debug_assert_eq!(out.len() - start, columns.count, "a row has the columns of its plan");
        if self.plan.has_locators() {
            out.push(cursor.locator_value_at(at)?);
        }
        Ok(true)
    }
}

impl RowSource for Scan<'_> {
    /// A seek restarts with its cursor: the table stays locked, the statement's snapshot of it stays open.
    fn again(&mut self, runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        if !self.plan.path.is_seek() || self.is_filtered {
            return Ok(false);
        }
        self.ranges = ranges(self.plan, runtime)?.unwrap_or_default().into_iter();
        if self.plan.pushed.as_ref().is_some_and(|pushed| !pushed.is_constant()) {
            (self.conditions, self.filter) = conditions(self.plan, runtime);
            self.has_new_conditions = true;
        }
        self.is_open = false;
        (self.rows, self.at) = (0, 0);
        Ok(true)
    }

    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        row.clear();
        loop {
            if self.at == self.rows && !self.turn_page(runtime)? {
                return Ok(false);
            }
            runtime.check_cancelled()?;
            if self.take_row(runtime, row)? {
                return Ok(true);
            }
        }
    }

    /// The rows of one page.
    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        batch.clear(self.plan.columns.count + usize::from(self.plan.has_locators()));
        while batch.rows == 0 {
            if self.at == self.rows && !self.turn_page(runtime)? {
                return Ok(false);
            }
            runtime.check_cancelled()?;
            if batch.width == 0 && self.filter.is_none() {
                batch.rows = self.rows - self.at;
                self.at = self.rows;
                return Ok(true);
            }
            if self.filter.is_none() && !self.plan.has_locators() {
                let cursor = self.cursor.as_mut().expect("rows are in its hand");
                cursor.values_from(self.at, &mut batch.values)?;
                batch.rows = self.rows - self.at;
                self.at = self.rows;
            }
            while self.at < self.rows {
                batch.rows += usize::from(self.take_row(runtime, &mut batch.values)?);
            }
        }
        Ok(true)
    }
}

fn scan_options(plan: &ScanPlan, runtime: &Runtime<'_>) -> Result<ScanOptions, SqlError> {
    let hints = &plan.hints;
    let isolation = hints.isolation.unwrap_or(runtime.options.isolation);
    // A SNAPSHOT transaction searches its snapshot, and locks what it changes.
    let searches_snapshot = isolation == IsolationLevel::Snapshot && plan.source.table.has_versions();
    let lock = if hints.exclusive_lock || (plan.locks_for_change && !hints.update_lock && !searches_snapshot)
    {
        RowLock::Exclusive
    } else if hints.update_lock || (plan.locator && !searches_snapshot) {
        RowLock::Update
    } else {
        RowLock::Shared
    };
    hints.check_level(isolation, lock != RowLock::Shared)?;
    Ok(ScanOptions {
        isolation,
        row_lock: lock,
        skip_locked: hints.read_past,
        wait: if hints.no_wait { LockWait::NoWait } else { LockWait::Session },
        table_lock: hints.table_lock,
        backward: plan.backward,
        may_be_versioned: !hints.locks_committed,
        counts_only: plan.counts_only(),
        ..ScanOptions::default()
    })
}

/// The keys of a range; `None` when no row can match (a NULL, or to be equal to a value that the column cannot hold). A bound that the column cannot hold
/// is the nearest one that lets the same rows in. A NULL comes before an error of another bound: the conditions, in the order in which they are
/// written, may stop at the NULL.
fn key_range(range: &SeekRange, runtime: &Runtime<'_>) -> Result<Option<KeyRange>, SqlError> {
    let is_bounded = range.lower.is_some() || range.upper.is_some();
    debug_assert!(!is_bounded || range.like.is_none(), "a column has bounds or a pattern");
    let mut prefix = KeyValues::new();
    let mut failed = None;
    for key in &range.equal {
        match seek_value(key, runtime) {
            Ok(Some(value)) => prefix.push(value),
            Ok(None) => return Ok(None),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    if range.lower.is_none() && range.upper.is_none() && range.like.is_none() && !range.equal.is_empty() {
        return failed.map_or_else(|| Ok(Some(KeyRange::equal(prefix))), Err);
    }
    let lower = bound_of(&range.lower, &prefix, true, runtime);
    let upper = bound_of(&range.upper, &prefix, false, runtime);
    let like = range.like.as_ref().map(|key| Ok((key, key.node.eval(runtime, &[])?))).transpose();
    let is_null = matches!(&like, Ok(Some((_, Value::Null))));
    if is_null || matches!(lower, Ok(None)) || matches!(upper, Ok(None)) {
        return Ok(None);
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let (Some(lower), Some(upper), like) = (lower?, upper?, like?) else { unreachable!("no bound is NULL") };
    let text_prefix = like.and_then(|(key, pattern)| literal_prefix(&pattern, key));
    Ok(Some(KeyRange { text_prefix, ..KeyRange::between(lower, upper) }))
}

/// One end of a range behind the values that all its keys begin with; `None`: it is NULL.
fn bound_of(
    bound: &Option<(SeekKey, bool)>,
    prefix: &KeyValues,
    is_lower: bool,
    runtime: &Runtime<'_>,
) -> Result<Option<Bound<KeyValues>>, SqlError> {
    let open = || if prefix.is_empty() { Bound::Unbounded } else { Bound::Included(prefix.clone()) };
    let Some((key, inclusive)) = bound else { return Ok(Some(open())) };
    let value = key.node.eval(runtime, &[])?;
    if value.is_null() {
        return Ok(None);
    }
    // What cannot be told bounds nothing: the filter on the rows decides.
    let Some(near) = types::nearest(&value, &key.to, key.collation) else { return Ok(Some(open())) };
    let mut full = prefix.clone();
    full.push(near.value);
    let is_included = match near.order {
        Ordering::Equal => *inclusive,
        Ordering::Less => !is_lower,
        Ordering::Greater => is_lower,
    };
    Ok(Some(if is_included { Bound::Included(full) } else { Bound::Excluded(full) }))
}

/// The letters and digits that a LIKE pattern begins with, as a value of the column's kind.
fn literal_prefix(pattern: &Value, key: &SeekKey) -> Option<Value> {
    let text = pattern.as_text()?;
    let plain: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
    match key.to.family() {
        TypeFamily::NChar => Some(Value::nvarchar(&plain)),
        TypeFamily::Char => Some(Value::varchar(&plain)),
        _ => None,
    }
}

/// The value as the column's keys have it; `None` when it is NULL or nothing equals it.
fn seek_value(key: &SeekKey, runtime: &Runtime<'_>) -> Result<Option<Value>, SqlError> {
    let value = key.node.eval(runtime, &[])?;
    if key.from == key.to {
        return Ok((!value.is_null()).then_some(value));
    }
    let near = types::nearest(&value, &key.to, key.collation);
    Ok(near.filter(|near| near.order.is_eq()).map(|near| near.value))
}

/// IN lists may name a value twice: each range is read once.
fn distinct_ranges(ranges: &mut Vec<KeyRange>, collation: Collation) {
    debug_assert!(ranges.len() > 1, "one range is read once");
    let mut seen: rustc_hash::FxHashSet<Vec<u8>> = rustc_hash::FxHashSet::default();
    ranges.retain(|range| {
        let mut key = Vec::new();
        for bound in [&range.lower, &range.upper] {
            if let Bound::Included(values) | Bound::Excluded(values) = bound {
                for value in values {
                    plan_ir::values::write_value(value, collation, &mut key);
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
