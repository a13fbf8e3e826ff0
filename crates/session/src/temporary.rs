//! Drops temporary objects when the scope, request or session that created them ends.

use std::sync::Arc;

use engine::{Instance, IsolationLevel, Lookup, ObjectDef, TransactionSet};
use types::{SqlError, SqlResult};

use crate::names::Ended;
use crate::session::Session;

impl Session {
    pub(crate) fn drop_temporary_tables(&mut self) {
        let (own, global): (Vec<Ended>, Vec<Ended>) =
            self.names.clear().into_iter().partition(|ended| !ended.real_name.starts_with("##"));
        self.drop_real_tables(&own);
        self.drop_free_tables(global);
    }

    /// Drops global temporary objects that are not in use. An object in use becomes an orphan, which the end of a later request drops.
    pub(crate) fn drop_free_tables(&mut self, objects: Vec<Ended>) {
        for object in objects {
            self.transactions.set_lock_timeout_ms(0);
            self.transactions.statement_begin();
            let dropped = drop_temporary_table(&self.instance, &mut self.transactions, &object);
            let ended = self.end_statement(dropped.is_ok());
            match dropped.and(ended) {
                Ok(()) => {}
                Err(error) if error.is_stale_plan() || matches!(error.number, 1205 | 1222) => {
                    self.orphans.add(object);
                }
                Err(error) => warn_not_dropped(&object, &error),
            }
        }
        self.tell_lock_options();
    }

    /// Drops tables of tempdb by their real names; a table that no longer exists is no error.
    pub(crate) fn drop_real_tables(&mut self, tables: &[Ended]) {
        for table in tables {
            if let Err(error) = drop_temporary_table(&self.instance, &mut self.transactions, table) {
                warn_not_dropped(table, &error);
            }
            if self.state.transaction_count == 0 {
                if let Err(error) = self.end_statement(true) {
                    warn_not_dropped(table, &error);
                }
            }
        }
    }
}

/// Drops a table or procedure of tempdb by its real name; one that no longer exists is no error.
pub(crate) fn drop_temporary_table(
    instance: &Arc<Instance>,
    transactions: &mut TransactionSet,
    ended: &Ended,
) -> SqlResult<()> {
    let tempdb = instance.tempdb();
    let found = Lookup::new(transactions).object(&tempdb, "dbo", &ended.real_name)?;
    let is_it = |found: &ObjectDef| ended.object_id.is_none_or(|id| id == found.object_id());
    let Some(found) = found.filter(is_it) else { return Ok(()) };
    match found {
        ObjectDef::Table(table) => {
            let handle = tempdb.table(&table);
            let dropped = {
                let transaction = transactions.for_table(&handle, IsolationLevel::ReadCommitted)?;
                tempdb.drop_table(transaction, &table)
            };
            match dropped {
                Ok(()) => transactions.keep_table_variables(),
                Err(error) => transactions.take_back_table_variables().and(Err(error)),
            }
        }
        ObjectDef::Module(module) => {
            let transaction = transactions.in_database(&tempdb, IsolationLevel::ReadCommitted)?;
            tempdb.drop_module(transaction, &module)
        }
        // No sequence has a temporary name (11714).
        ObjectDef::Sequence(_) => Ok(()),
    }
}

fn warn_not_dropped(object: &Ended, error: &SqlError) {
    let name = &object.real_name;
    os::report::warn("session", &format!("temporary table {name} was not dropped: {error}"));
}
