//! Statistics in the catalog: created, updated and dropped by statements, and automatically when a plan asks for them.
//!
//! Statements work in their own transaction: their changes are rolled back with it, and they hold the table's definition (Sch-S) and its statistics
//! (Sch-M on a lock of their own) until it ends. Automatic statistics are created in a transaction of its own, which never waits: a transaction that
//! changes the table's definition or statistics meanwhile, even of the planner's own session, prevents them.

use std::sync::Arc;

use txn::{CommitMode, LockMode, LockWait, TxnOptions};
use types::{SqlError, SqlType, Value};

use crate::catalog::{Entry, EntryKey};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::filter::{FilterTerm, FilterTest, IndexFilter};
use crate::schema::{IndexDef, IndexKind, ObjectDef, TableDef};
use crate::statistics::bytes::{
    CONSTANT_BYTES_MAX, column_ids_of, of_column_ids, of_prefixes, of_steps, of_terms, prefixes_of, steps_of,
    terms_of,
};
use crate::statistics::{
    Counted, FIRST_COLUMN_STATISTICS_ID, StatisticsContent, StatisticsDef, StatisticsFilter,
};
use crate::system_databases::shared_resource;
use crate::table::{SampleSize, Table};

/// Pages sampled for a plan: few enough that no statement is delayed for long, and all of a small table.
const AUTO_PAGES: u64 = 256;
/// No automatic statistics for a smaller table: the planner assumes this many rows.
const AUTO_ROWS_MIN: u64 = 1_000;

/// Bits of sysstats.status.
mod status {
    pub(super) const AUTO: i32 = 1;
    pub(super) const NO_RECOMPUTE: i32 = 2;
}

/// New statistics of a statement.
#[derive(Clone, Debug)]
pub struct NewStatistics {
    /// Name.
    pub name: String,
    /// Columns, by position.
    pub columns: Vec<usize>,
    /// NORECOMPUTE.
    pub no_recompute: bool,
    /// PERSIST_SAMPLE_PERCENT.
    pub kept_percent: Option<f64>,
    /// WHERE.
    pub filter: Option<Arc<StatisticsFilter>>,
}

/// The options of UPDATE STATISTICS for later updates; none: unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatisticsSettings {
    /// NORECOMPUTE.
    pub no_recompute: Option<bool>,
    /// PERSIST_SAMPLE_PERCENT.
    pub kept_percent: Option<Option<f64>>,
}

/// Is it a valid sample percentage?
fn is_percent(percent: f64) -> bool {
    percent > 0.0 && percent <= 100.0
}

impl StatisticsDef {
    /// The row of sysstats.
    pub(crate) fn row(&self) -> Vec<Value> {
        let flag = |on: bool, bit: i32| if on { bit } else { 0 };
        let bits = flag(self.is_auto, status::AUTO) | flag(self.no_recompute, status::NO_RECOMPUTE);
        let mut row = vec![
            Value::Int(self.object_id),
            Value::Int(self.stats_id),
            self.name.as_ref().map_or(Value::Null, |name| Value::nvarchar(name)),
            Value::Int(bits),
            Value::binary(&of_column_ids(&self.column_ids)),
        ];
        match &self.content {
            Some(content) => row.extend([
                Value::DateTime(content.updated),
                Value::BigInt(content.rows.cast_signed()),
                Value::BigInt(content.rows_sampled.cast_signed()),
                Value::binary(&of_prefixes(&content.prefixes)),
                Value::binary(&of_steps(&content.steps)),
            ]),
            None => row.extend(std::iter::repeat_n(Value::Null, 5)),
        }
        row.push(match &self.content {
            Some(content) => Value::BigInt(content.unfiltered_rows.cast_signed()),
            None => Value::Null,
        });
        row.extend(match &self.filter {
            Some(filter) => [Value::nvarchar(&filter.text), Value::binary(&of_terms(&filter.terms))],
            None => [Value::Null, Value::Null],
        });
        row.push(self.kept_percent.map_or(Value::Null, Value::Float));
        row
    }

    /// The statistics of a row of sysstats; none when it has no identity. Invalid content counts as absent.
    pub(crate) fn from_row(row: &[Value]) -> Option<StatisticsDef> {
        let int = |at: usize| row.get(at)?.as_i64().and_then(|number| i32::try_from(number).ok());
        let bytes = |at: usize| match row.get(at)? {
            Value::Binary(bytes) => Some(bytes.as_bytes()),
            _ => None,
        };
        let (object_id, stats_id, bits) = (int(0)?, int(1)?, int(3)?);
        let column_ids = column_ids_of(bytes(4)?)?;
        let name = row.get(2)?.as_text().map(Arc::from);
        if name.is_none() && stats_id >= FIRST_COLUMN_STATISTICS_ID {
            return None;
        }
        // Statistics with an invalid filter would describe few rows as if they were all.
        let filter = match row.get(11).and_then(Value::as_text) {
            Some(text) => {
                Some(Arc::new(StatisticsFilter { text: text.into(), terms: terms_of(bytes(12)?)? }))
            }
            None => None,
        };
        let content = || {
            let Value::DateTime(updated) = row.get(5)? else { return None };
            let count = |at: usize| row.get(at)?.as_i64().and_then(|rows| u64::try_from(rows).ok());
            let prefixes = prefixes_of(bytes(8)?)?;
            let is_whole = prefixes.len() == column_ids.len();
            is_whole.then_some(())?;
            Some(StatisticsContent {
                updated: *updated,
                rows: count(6)?,
                rows_sampled: count(7)?,
                // Rows of an earlier version do not have it.
                unfiltered_rows: count(10).or_else(|| count(6))?,
                prefixes,
                steps: steps_of(bytes(9)?)?,
            })
        };
        Some(StatisticsDef {
            object_id,
            stats_id,
            name,
            content: content().map(Arc::new),
            column_ids,
            is_auto: bits & status::AUTO != 0,
            no_recompute: bits & status::NO_RECOMPUTE != 0,
            kept_percent: match row.get(13) {
                Some(Value::Float(percent)) if is_percent(*percent) => Some(*percent),
                _ => None,
            },
            filter,
            counted: Counted::default(),
        })
    }

    /// The columns of the statistics and of their filter.
    fn all_column_ids(&self) -> impl Iterator<Item = i32> + '_ {
        let of_filter = self.filter.iter().flat_map(|filter| filter.terms.iter().map(|term| term.0));
        self.column_ids.iter().copied().chain(of_filter)
    }
}

impl StatisticsFilter {
    /// The filter in the form in which the table evaluates it.
    pub fn of_table(&self, table: &TableDef) -> IndexFilter {
        let term = |(id, test): &(i32, FilterTest)| {
            let ordinal = table.columns.iter().position(|column| column.column_id == *id)?;
            Some(FilterTerm { ordinal, test: test.clone() })
        };
        // Statistics that name a column are dropped before it: `forget_statistics_between`.
        let terms = self.terms.iter().filter_map(term).collect();
        IndexFilter { text: self.text.clone(), terms }
    }
}

impl TableDef {
    /// The columns of an index's statistics: its key and then the columns of the clustered key that are not in it.
    pub fn statistics_columns(&self, index: &IndexDef) -> Vec<usize> {
        let mut columns: Vec<usize> = index.key.iter().map(|key| key.ordinal).collect();
        for key in self.base().key.iter().filter(|_| index.kind == IndexKind::Nonclustered && !index.unique) {
            if !columns.contains(&key.ordinal) {
                columns.push(key.ordinal);
            }
        }
        columns
    }

    /// The positions of columns by their numbers; `None` when one does not exist.
    pub fn ordinals_of(&self, column_ids: &[i32]) -> Option<Vec<usize>> {
        let ordinal = |id: &i32| self.columns.iter().position(|column| column.column_id == *id);
        column_ids.iter().map(ordinal).collect()
    }

    /// The filter of the statistics, if any; an index's statistics have the index's filter.
    pub fn filter_of(&self, def: &StatisticsDef) -> Option<IndexFilter> {
        if def.is_of_index() {
            return self.index(def.stats_id)?.filter.clone();
        }
        def.filter.as_ref().map(|filter| filter.of_table(self))
    }

    fn ids_of(&self, ordinals: &[usize]) -> Vec<i32> {
        ordinals.iter().map(|ordinal| self.columns[*ordinal].column_id).collect()
    }
}

/// Can values of the type be sorted and counted?
fn is_countable(sql_type: &SqlType) -> bool {
    !sql_type.is_large_object() && *sql_type != SqlType::SqlVariant && *sql_type != SqlType::Xml
}

impl Table {
    /// The statistics of a column for a plan, created or updated automatically if the database's options say so. `None`: there are none.
    pub fn statistics_on(&self, ordinal: usize) -> Option<Arc<StatisticsContent>> {
        let (database, definition) = (self.database(), self.definition());
        let column = &definition.columns[ordinal];
        if definition.is_system || !is_countable(&column.sql_type) || column.is_made_when_read() {
            return None;
        }
        let all = database.catalog().statistics(definition.object_id);
        let about = all.into_iter().filter(|def| {
            def.column_ids.first() == Some(&column.column_id) && definition.filter_of(def).is_none()
        });
        let found =
            about.max_by_key(|def| def.content.as_ref().map(|content| (content.updated, content.rows)));
        match found {
            Some(def) => self.renewed(&def),
            None if self.row_count_estimate() < AUTO_ROWS_MIN || !database.options().creates_statistics() => {
                None
            }
            None => self.gather_alone(None, &[ordinal]),
        }
    }

    /// The statistics of a column in some rows only: the newest whose filter `accepts`, and the share of the
    /// table's rows that satisfy the filter.
    pub fn filtered_statistics_on(
        &self,
        ordinal: usize,
        accepts: &dyn Fn(&IndexFilter) -> bool,
    ) -> Option<(IndexFilter, Arc<StatisticsContent>)> {
        let definition = self.definition();
        let column_id = definition.columns[ordinal].column_id;
        let all = self.database().catalog().statistics(definition.object_id);
        let about = all.into_iter().filter(|def| def.column_ids.first() == Some(&column_id));
        let filtered = about.filter_map(|def| Some((definition.filter_of(&def)?, def)));
        let found = filtered
            .filter(|(filter, def)| def.content.is_some() && accepts(filter))
            .max_by_key(|(_, def)| def.content.as_ref().map(|content| content.updated));
        let (filter, def) = found?;
        Some((filter, self.renewed(&def)?))
    }

    /// The content of statistics, updated if it is stale and the database's options say so.
    fn renewed(&self, def: &Arc<StatisticsDef>) -> Option<Arc<StatisticsContent>> {
        let may_renew = !def.no_recompute && self.database().options().updates_statistics();
        let renewed = match may_renew && self.is_stale(def) {
            true => self.gather_alone(Some(def), &self.definition().ordinals_of(&def.column_ids)?),
            false => None,
        };
        renewed.or_else(|| def.content.clone())
    }

    /// Rows inserted, deleted and updated since the statistics were created; updates only if one has set the first column.
    pub fn modifications_since(&self, def: &StatisticsDef) -> u64 {
        let count = self.row_count();
        let now = count.touched();
        let then =
            if def.counted.unit == self.definition().base().unit { def.counted } else { Counted::default() };
        let first = self.definition().ordinals_of(&def.column_ids[..1]);
        let is_updated = first.is_some_and(|first| count.has_updated(first[0]));
        let updated = if is_updated { now.updated.saturating_sub(then.updated) } else { 0 };
        now.changed.saturating_sub(then.changed) + updated
    }

    /// Have so many rows changed that the statistics must be updated? After a start the count of changes is 0 again, but the row count
    /// shows the difference.
    pub fn is_stale(&self, def: &StatisticsDef) -> bool {
        let Some(content) = &def.content else { return true };
        let level = self.database().options().compatibility_level;
        let of_rows = self.row_count_estimate().abs_diff(content.unfiltered_rows);
        let changed = self.modifications_since(def).max(of_rows) as f64;
        // Assumes that the rows of a filter change as often as the others.
        let of_filter = content.rows as f64 / (content.unfiltered_rows.max(1) as f64);
        (changed * of_filter.min(1.0)) as u64 > StatisticsContent::threshold(content.rows, level)
    }

    /// A number that grows when the table's statistics change.
    pub fn statistics_version(&self) -> u64 {
        self.row_count().statistics_version()
    }

    /// Rows that were inserted, deleted and updated since the count began.
    pub fn modifications(&self) -> u64 {
        let touched = self.row_count().touched();
        touched.changed + touched.updated
    }

    /// Creates or updates statistics in a transaction of its own. `None` when it would have to wait, or nothing can be written: a plan works
    /// without.
    fn gather_alone(
        &self,
        old: Option<&Arc<StatisticsDef>>,
        ordinals: &[usize],
    ) -> Option<Arc<StatisticsContent>> {
        let (database, definition) = (self.database(), self.definition());
        if database.options().read_only {
            return None;
        }
        let own = DbTransaction::new(database.clone(), database.txns.begin(TxnOptions::default()), 0);
        own.set_lock_wait(LockWait::NoWait);
        match self.gather_with(&own, old, ordinals) {
            Ok(content) => own.commit(CommitMode::Volatile).ok().map(|()| content),
            Err(_) => {
                // A rollback that fails reports it, and the database is suspect.
                let _ = own.rollback();
                os::sim::reach(|| format!("statistics of {} are in somebody's way", definition.name));
                None
            }
        }
    }

    fn gather_with(
        &self,
        own: &DbTransaction,
        old: Option<&Arc<StatisticsDef>>,
        ordinals: &[usize],
    ) -> SqlResult<Arc<StatisticsContent>> {
        let (database, definition) = (self.database(), self.definition());
        // A plan is compiled before its session has locked anything of a database that it is not in: this lock prevents a drop meanwhile.
        if let Some(resource) = shared_resource(database.number()) {
            let locked = own.inner().lock(resource, LockMode::S, LockWait::NoWait);
            locked.map_err(|error| own.sql_error(&error.into()))?;
        }
        if database.catalog().is_retired() {
            return Err(SqlError::stale_plan());
        }
        // Locked first, so that no sample is read in vain.
        database.lock_statistics(own, definition)?;
        let present = database.catalog().statistics(definition.object_id);
        let new = match old {
            Some(old) if present.iter().any(|def| Arc::ptr_eq(def, old)) => old.as_ref().clone(),
            Some(_) => return Err(SqlError::stale_plan()),
            None => {
                let column_ids = definition.ids_of(ordinals);
                let says_all = |def: &Arc<StatisticsDef>| {
                    def.column_ids.first() == column_ids.first() && definition.filter_of(def).is_none()
                };
                if present.iter().any(says_all) {
                    return Err(SqlError::stale_plan());
                }
                let name = format!("_WA_Sys_{:08X}_{:08X}", column_ids[0], definition.object_id);
                StatisticsDef {
                    object_id: definition.object_id,
                    stats_id: next_id(&present),
                    name: Some(name.into()),
                    column_ids,
                    is_auto: true,
                    no_recompute: false,
                    kept_percent: None,
                    filter: None,
                    content: None,
                    counted: Counted::default(),
                }
            }
        };
        let counted = self.counted_now(own);
        let kept = new.kept_percent.map(|percent| SampleSize::Share(percent / 100.0));
        let (filter, size) = (definition.filter_of(&new), kept.unwrap_or(SampleSize::Pages(AUTO_PAGES)));
        let content =
            self.sample_statistics(ordinals, filter.as_ref(), size).ok_or_else(SqlError::stale_plan)?;
        let content = Arc::new(content);
        let new = StatisticsDef { content: Some(content.clone()), counted, ..new };
        let old = old.map(|old| Entry::Statistics(old.clone()));
        database.change_entry(own, old.as_ref(), Some(Entry::Statistics(Arc::new(new))))?;
        self.row_count().note_statistics();
        Ok(content)
    }

    /// The count of changes after the commit of this transaction, if it makes no further changes.
    fn counted_now(&self, txn: &DbTransaction) -> Counted {
        let (all, own) = (self.row_count().touched(), txn.row_counts.borrow().own_touched(self.row_count()));
        Counted {
            unit: self.definition().base().unit,
            changed: all.changed + own.changed,
            updated: all.updated + own.updated,
        }
    }
}

/// A number for new statistics of columns.
fn next_id(present: &[Arc<StatisticsDef>]) -> i32 {
    let last = present.iter().map(|def| def.stats_id).max().unwrap_or(0);
    (last + 1).max(FIRST_COLUMN_STATISTICS_ID)
}

impl Database {
    /// Locks a table's definition, and its statistics against changes, until the transaction ends.
    fn lock_statistics(&self, txn: &DbTransaction, table: &Arc<TableDef>) -> SqlResult<()> {
        txn.lock_object(table.object_id, LockMode::SchS)?;
        match self.catalog().object(table.object_id) {
            Some(ObjectDef::Table(current)) if Arc::ptr_eq(&current, table) => {}
            _ => return Err(SqlError::stale_plan()),
        }
        self.lock_entry(txn, &EntryKey::Statistics(table.object_id, 0), LockMode::SchM).map(drop)
    }

    /// Can these statistics be created besides the existing ones? Not for a catalog table: its statistics would not be read.
    ///
    /// # Errors
    /// 259, 1909, 1919, 1927, 2729.
    pub fn check_new_statistics(
        table: &TableDef,
        new: &NewStatistics,
        present: &[Arc<StatisticsDef>],
    ) -> SqlResult<()> {
        if table.is_system {
            return Err(SqlError::new(259, &[]));
        }
        for (at, ordinal) in new.columns.iter().enumerate() {
            let column = &table.columns[*ordinal];
            if !is_countable(&column.sql_type) {
                return Err(SqlError::new(1919, &[&column.name, &table.name]));
            }
            if !column.is_deterministic() {
                return Err(SqlError::new(2729, &[&column.name, &"statistics", &new.name]));
            }
            if new.columns[..at].contains(ordinal) {
                return Err(SqlError::new(1909, &[&column.name]));
            }
        }
        let constants =
            new.filter.iter().flat_map(|filter| &filter.terms).flat_map(|term| term.1.constants());
        if constants.map(Value::long_bytes).sum::<usize>() > CONSTANT_BYTES_MAX {
            return Err(SqlError::new(10735, &[&"statistics", &new.name, &table.name]));
        }
        if table.index_named(&new.name).is_some() || present.iter().any(|def| def.is_named(&new.name)) {
            return Err(SqlError::new(1927, &[&table.name, &new.name]));
        }
        Ok(())
    }

    /// CREATE STATISTICS, with the sampled content.
    ///
    /// # Errors
    /// As `check_new_statistics`; 1205, 1222, those of storage; the marker of a stale plan.
    pub fn create_statistics(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        new: &NewStatistics,
        content: StatisticsContent,
    ) -> SqlResult<()> {
        self.lock_statistics(txn, table)?;
        let present = self.catalog().statistics(table.object_id);
        // Another transaction may have created them meanwhile.
        Self::check_new_statistics(table, new, &present)?;
        let def = StatisticsDef {
            object_id: table.object_id,
            stats_id: next_id(&present),
            name: Some(new.name.as_str().into()),
            column_ids: table.ids_of(&new.columns),
            is_auto: false,
            no_recompute: new.no_recompute,
            kept_percent: new.kept_percent,
            filter: new.filter.clone(),
            content: None,
            counted: Counted::default(),
        };
        self.put_statistics(txn, table, None, def, content)
    }

    /// UPDATE STATISTICS: of an index by its number, whether statistics of it were stored before or not; others by their own number.
    ///
    /// # Errors
    /// 1205, 1222, those of storage; the marker of a stale plan.
    pub fn renew_statistics(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        stats_id: i32,
        settings: StatisticsSettings,
        content: StatisticsContent,
    ) -> SqlResult<()> {
        self.lock_statistics(txn, table)?;
        let (old, new) = self.present_or_new(table, stats_id).ok_or_else(SqlError::stale_plan)?;
        let new = StatisticsDef {
            no_recompute: settings.no_recompute.unwrap_or(new.no_recompute),
            kept_percent: settings.kept_percent.unwrap_or(new.kept_percent),
            ..new
        };
        self.put_statistics(txn, table, old, new, content)
    }

    /// Sets whether statistics are updated automatically. Also for an index without stored statistics.
    ///
    /// # Errors
    /// 1205, 1222, those of storage; the marker of a stale plan.
    pub fn set_recompute(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        stats_id: i32,
        no_recompute: bool,
    ) -> SqlResult<()> {
        self.lock_statistics(txn, table)?;
        let (old, new) = self.present_or_new(table, stats_id).ok_or_else(SqlError::stale_plan)?;
        let old = old.map(Entry::Statistics);
        let new = Entry::Statistics(Arc::new(StatisticsDef { no_recompute, ..new }));
        self.change_entry(txn, old.as_ref(), Some(new))?;
        // Plans that use old ones are validated again.
        self.table(table).row_count().note_statistics();
        Ok(())
    }

    /// Statistics of a table by number: as stored, and the copy to change.
    fn present_or_new(
        &self,
        table: &TableDef,
        stats_id: i32,
    ) -> Option<(Option<Arc<StatisticsDef>>, StatisticsDef)> {
        let present = self.catalog().statistics(table.object_id);
        let old = present.into_iter().find(|def| def.stats_id == stats_id);
        let of_index = || {
            let index = table.index(stats_id)?;
            Some(StatisticsDef {
                object_id: table.object_id,
                stats_id,
                name: None,
                column_ids: table.ids_of(&table.statistics_columns(index)),
                is_auto: false,
                no_recompute: false,
                kept_percent: None,
                filter: None,
                content: None,
                counted: Counted::default(),
            })
        };
        let new = old.as_ref().map(|old| old.as_ref().clone()).or_else(of_index)?;
        Some((old, new))
    }

    fn put_statistics(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        old: Option<Arc<StatisticsDef>>,
        new: StatisticsDef,
        content: StatisticsContent,
    ) -> SqlResult<()> {
        let opened = self.table(table);
        let counted = opened.counted_now(txn);
        assert_eq!(content.prefixes.len(), new.column_ids.len(), "what was found is about these columns");
        let new = StatisticsDef { content: Some(Arc::new(content)), counted, ..new };
        let old = old.map(Entry::Statistics);
        self.change_entry(txn, old.as_ref(), Some(Entry::Statistics(Arc::new(new))))?;
        opened.row_count().note_statistics();
        Ok(())
    }

    /// DROP STATISTICS that belong to no index.
    ///
    /// # Errors
    /// 1205, 1222, those of storage; the marker of a stale plan.
    pub fn drop_statistics(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        def: &Arc<StatisticsDef>,
    ) -> SqlResult<()> {
        assert!(!def.is_of_index(), "those of an index go with it");
        self.lock_statistics(txn, table)?;
        self.change_entry(txn, Some(&Entry::Statistics(def.clone())), None)?;
        self.table(table).row_count().note_statistics();
        Ok(())
    }

    /// TRUNCATE TABLE: resets the sample percentages.
    pub(crate) fn forget_sample_percents(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &TableDef,
    ) -> SqlResult<()> {
        for def in self.catalog().statistics(table.object_id) {
            if def.kept_percent.is_some() {
                let new = StatisticsDef { kept_percent: None, ..def.as_ref().clone() };
                self.change_entry(
                    txn,
                    Some(&Entry::Statistics(def)),
                    Some(Entry::Statistics(Arc::new(new))),
                )?;
            }
        }
        Ok(())
    }

    /// Users' statistics of a column: an error 5074 for each.
    pub(crate) fn users_statistics_on(&self, table: &TableDef, ordinal: usize) -> Vec<SqlError> {
        let column = &table.columns[ordinal];
        let present = self.catalog().statistics(table.object_id);
        let is_about = |def: &StatisticsDef| def.all_column_ids().any(|id| id == column.column_id);
        let made = present.iter().filter(|def| !def.is_auto && is_about(def));
        let named = made.filter_map(|def| def.name.as_ref());
        named.map(|name| SqlError::new(5074, &[&"statistics", name, &"column", &column.name])).collect()
    }

    /// Drops statistics of dropped or changed parts: of a dropped table, index or column, of a column that has another
    /// type, of an index with another key.
    pub(crate) fn forget_statistics_between(
        self: &Arc<Self>,
        txn: &DbTransaction,
        old: Option<&ObjectDef>,
        new: Option<&ObjectDef>,
    ) -> SqlResult<()> {
        let Some(ObjectDef::Table(old)) = old else { return Ok(()) };
        for def in self.catalog().statistics(old.object_id) {
            let stays = matches!(new, Some(ObjectDef::Table(new)) if still_means(&def, old, new));
            if !stays {
                self.change_entry(txn, Some(&Entry::Statistics(def)), None)?;
            }
        }
        Ok(())
    }
}

/// Do statistics of one definition of a table have the same meaning in another?
fn still_means(def: &StatisticsDef, old: &TableDef, new: &TableDef) -> bool {
    if def.is_of_index() {
        let columns = |table: &TableDef| {
            let index = table.index(def.stats_id)?;
            Some((table.ids_of(&table.statistics_columns(index)), index.name.clone()))
        };
        let (Some((before, _)), Some((after, _))) = (columns(old), columns(new)) else { return false };
        if before != after || after != def.column_ids {
            return false;
        }
    }
    let column = |table: &TableDef, id: i32| {
        let found = table.columns.iter().find(|column| column.column_id == id)?;
        Some((found.sql_type.system_type_id(), found.collation))
    };
    def.all_column_ids().all(|id| column(new, id).is_some() && column(old, id) == column(new, id))
}

impl StatisticsDef {
    /// Has it this name, in any letter case?
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|own| types::Collation::DEFAULT.same_name(own, name))
    }
}
