//! Values of a table's identity column: the next one, and the last.

use types::{SqlError, Value};

use super::Table;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::identity::{self, Identities};

impl Table {
    /// The next identity value, recorded in the database when the cache is used up.
    ///
    /// # Errors
    /// 8115 when the column's type cannot hold it.
    pub fn next_identity(&self, txn: &DbTransaction) -> SqlResult<Value> {
        let definition = &self.inner.definition;
        let ordinal = definition.identity_ordinal().expect("asked only for tables with an identity column");
        let column = &definition.columns[ordinal];
        let def = column.identity.expect("found by its identity");
        let cache = match self.inner.database.caches_identities() {
            true => identity::cache_size(&column.sql_type),
            false => 1,
        };
        let limits = crate::sequence_def::SequenceDef::limits(&column.sql_type);
        let handed =
            limits.and_then(|limits| self.identities().next(definition.object_id, def, cache, limits));
        let handed = handed.ok_or_else(|| SqlError::new(8115, &[&"IDENTITY", &column.sql_type.name()]))?;
        let value = identity::value_of(handed.value, &column.sql_type)?;
        if let Some(noted) = handed.note {
            self.inner.database.note_identity(txn, definition.object_id, def, noted)?;
        }
        Ok(value)
    }

    /// A value was inserted explicitly into the identity column.
    ///
    /// # Errors
    /// Those of storage.
    pub fn note_identity(&self, txn: &DbTransaction, value: &Value) -> SqlResult<()> {
        let definition = &self.inner.definition;
        let identity = definition.identity_ordinal().and_then(|at| definition.columns[at].identity);
        if let (Some(identity), Some(value)) = (identity, identity::number_of(value)) {
            if let Some(noted) = self.identities().note_explicit(definition.object_id, identity, value) {
                self.inner.database.note_identity(txn, definition.object_id, identity, noted)?;
            }
        }
        Ok(())
    }

    /// The identity value assigned last (IDENT_CURRENT); before the first, the value that will be the first.
    pub fn current_identity(&self) -> Option<i128> {
        let definition = &self.inner.definition;
        let identity = definition.identity_ordinal().and_then(|at| definition.columns[at].identity)?;
        let identities = self.identities();
        let start = || identities.start(definition.object_id, identity);
        Some(identities.current(definition.object_id).unwrap_or_else(start))
    }

    /// The identity value assigned last; none before the first.
    pub fn last_identity(&self) -> Option<i128> {
        self.identities().current(self.inner.definition.object_id)
    }

    pub(super) fn identities(&self) -> &Identities {
        &self.inner.database.identities
    }
}
