//! Table variables are no part of the user's transaction: a statement's changes of them are kept when the statement succeeds, even if
//! the transaction around it rolls back, and rolled back when it fails.
//!
//! A statement that touches one has a transaction of its own in tempdb for all of them. It shares the session's lock space, so that it
//! conflicts with no lock: not with the session's own transaction in tempdb, and no other session knows the table.

use txn::{CommitMode, IsolationLevel, TxnOptions};

use super::TransactionSet;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::table::Table;

impl TransactionSet {
    /// The transaction in which a table is read and changed: the user's in its database, or that of the table variables.
    ///
    /// # Errors
    /// As [`TransactionSet::in_database`].
    #[inline]
    pub fn for_table(&mut self, table: &Table, isolation: IsolationLevel) -> SqlResult<&DbTransaction> {
        match table.definition().is_table_variable() && table.database().is_volatile() {
            true => self.for_table_variables(isolation),
            false => self.in_database(table.database(), isolation),
        }
    }

    /// The transaction of the table variables that the running statement creates, changes, reads or drops.
    ///
    /// # Errors
    /// As [`TransactionSet::in_database`].
    pub fn for_table_variables(&mut self, isolation: IsolationLevel) -> SqlResult<&DbTransaction> {
        self.assert_settled();
        if self.variables.is_none() {
            let tempdb = self.instance.tempdb();
            tempdb.check_usable()?;
            crate::checkpoint::before_transaction(&tempdb);
            let options = TxnOptions { space: Some(self.space.clone()), ..TxnOptions::default() };
            let inner = tempdb.transactions().begin(options);
            self.variables = Some(DbTransaction::new(tempdb, inner, self.session_id));
        }
        let transaction = self.variables.as_ref().expect("begun above");
        transaction.set_isolation(isolation);
        Ok(transaction)
    }

    /// The statement, or the expression outside of one, has ended.
    ///
    /// # Errors
    /// Those of tempdb's log.
    pub fn keep_table_variables(&mut self) -> SqlResult<()> {
        if !self.in_statement {
            self.open.iter().for_each(|member| member.transaction.end_statement_point());
        }
        self.settle_table_variables()
    }

    /// Commits the changes of them.
    #[inline]
    pub(super) fn settle_table_variables(&mut self) -> SqlResult<()> {
        // Called at the end of each expression: without table variables this is the fast path.
        if self.variables.is_none() {
            return Ok(());
        }
        self.variables.take().map_or(Ok(()), |transaction| transaction.commit(CommitMode::Volatile))
    }

    /// A function of a user begins inside the running statement: its table variables have a transaction of their own. Returns that of the
    /// statement, for [`TransactionSet::resume_table_variables`].
    pub fn suspend_table_variables(&mut self) -> Option<DbTransaction> {
        self.assert_settled();
        self.variables.take()
    }

    /// The function has ended, and its table variables are dropped.
    pub fn resume_table_variables(&mut self, of_statement: Option<DbTransaction>) {
        assert!(self.variables.is_none(), "a function settles its table variables before it ends");
        self.variables = of_statement;
    }

    /// The statement has failed: rolls back its changes of them.
    ///
    /// # Errors
    /// Those of tempdb's log.
    pub fn take_back_table_variables(&mut self) -> SqlResult<()> {
        self.variables.take().map_or(Ok(()), DbTransaction::rollback)
    }
}
