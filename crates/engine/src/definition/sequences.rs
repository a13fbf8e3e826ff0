//! CREATE, ALTER and DROP SEQUENCE.

use std::sync::Arc;

use txn::LockMode;
use types::{SqlError, SqlType, Value};

use crate::catalog::system_tables;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::ObjectDef;
use crate::sequence_def::{Counting, SequenceCounter, SequenceDef};

/// CREATE SEQUENCE, checked by the caller: start within the limits, minimum below the maximum, increment not 0.
#[derive(Clone, Debug)]
pub struct NewSequence {
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Type of the values.
    pub sql_type: SqlType,
    /// Alias type, 0 when there is none.
    pub user_type_id: i32,
    /// Its counting.
    pub counting: Counting,
}

/// The change of ALTER SEQUENCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlteredSequence {
    /// Its counting from now on.
    pub counting: Counting,
    /// RESTART: counting begins at `start`.
    pub restarts: bool,
}

impl Database {
    /// CREATE SEQUENCE.
    ///
    /// # Errors
    /// 2714, 2760; those of storage.
    pub fn create_sequence(
        self: &Arc<Self>,
        txn: &DbTransaction,
        new: &NewSequence,
    ) -> SqlResult<Arc<SequenceDef>> {
        self.make_sequence(txn, new, None)
    }

    /// Creates a copy in another database, which continues from the present position.
    pub(crate) fn copy_sequence(
        self: &Arc<Self>,
        txn: &DbTransaction,
        from: &SequenceDef,
    ) -> SqlResult<Arc<SequenceDef>> {
        let new = NewSequence {
            schema: from.schema.to_string(),
            name: from.name.to_string(),
            sql_type: from.sql_type,
            user_type_id: from.user_type_id,
            counting: from.counting,
        };
        self.make_sequence(txn, &new, from.state().last)
    }

    fn make_sequence(
        self: &Arc<Self>,
        txn: &DbTransaction,
        new: &NewSequence,
        turned_at: Option<i128>,
    ) -> SqlResult<Arc<SequenceDef>> {
        let home = self.schema_for(txn, &new.schema)?;
        let object_id = self.catalog().new_object_id();
        txn.lock_object(object_id, LockMode::SchM)?;
        self.reserve_name(txn, home.schema_id, &new.name, txn.object_resource(object_id))?;
        self.share_type(txn, new.user_type_id)?;
        let now = self.now();
        let sequence = Arc::new(SequenceDef {
            object_id,
            schema_id: home.schema_id,
            schema: home.name.clone(),
            name: new.name.as_str().into(),
            sql_type: new.sql_type,
            user_type_id: new.user_type_id,
            counting: new.counting,
            counter_id: self.catalog().new_object_id(),
            turned_at,
            counter: SequenceCounter::new(turned_at),
            create_date: now,
            modify_date: now,
        });
        self.write_definition(txn, None, Some(ObjectDef::Sequence(sequence.clone())))?;
        Ok(sequence)
    }

    /// ALTER SEQUENCE of a sequence found before; `change` computes the new definition from the one under the lock.
    ///
    /// Counting continues from its position, even if the transaction rolls back: a rollback does not return values.
    /// A restart, and an increment of the other sign, use a new counter; the rollback restores the old one
    /// unchanged.
    ///
    /// # Errors
    /// Those of `change` and of storage.
    pub fn alter_sequence(
        self: &Arc<Self>,
        txn: &DbTransaction,
        found: &Arc<SequenceDef>,
        change: &dyn Fn(&SequenceDef) -> SqlResult<AlteredSequence>,
    ) -> SqlResult<Arc<SequenceDef>> {
        let old = self.lock_sequence(txn, found)?;
        let AlteredSequence { counting, restarts } = change(&old)?;
        let mut new = SequenceDef { counting, modify_date: self.now(), ..old.as_ref().clone() };
        if restarts || counting.increment.signum() != old.counting.increment.signum() {
            new.turned_at = if restarts { None } else { old.state().last };
            new.counter_id = self.catalog().new_object_id();
            new.counter = SequenceCounter::new(new.turned_at);
            self.forget_recovery_value(txn, &old)?;
        } else if let Some(position) = old.counter.position()
            && !self.is_volatile()
        {
            self.write_recovery_value(old.counter_id, position)?;
        }
        let new = Arc::new(new);
        self.write_definition(txn, Some(ObjectDef::Sequence(old)), Some(ObjectDef::Sequence(new.clone())))?;
        Ok(new)
    }

    /// DROP SEQUENCE. The caller has locked it by [`Database::lock_sequence`] and checks whether a default uses it.
    ///
    /// # Errors
    /// Those of storage.
    pub fn drop_sequence(self: &Arc<Self>, txn: &DbTransaction, found: &Arc<SequenceDef>) -> SqlResult<()> {
        let sequence = self.lock_sequence(txn, found)?;
        self.forget_recovery_value(txn, &sequence)?;
        self.write_definition(txn, Some(ObjectDef::Sequence(sequence)), None)
    }

    /// Locks a sequence for a change of its definition; returns the definition under the lock.
    ///
    /// # Errors
    /// 1205, 1222; the marker of a stale plan.
    pub fn lock_sequence(
        &self,
        txn: &DbTransaction,
        found: &Arc<SequenceDef>,
    ) -> SqlResult<Arc<SequenceDef>> {
        self.lock_definition(txn, &ObjectDef::Sequence(found.clone()))?;
        match self.catalog().object(found.object_id) {
            Some(ObjectDef::Sequence(sequence)) => Ok(sequence),
            _ => Err(SqlError::stale_plan()),
        }
    }

    /// Deletes the recovery value: no session draws from this counter any more, unless the transaction is rolled back.
    fn forget_recovery_value(self: &Arc<Self>, txn: &DbTransaction, sequence: &SequenceDef) -> SqlResult<()> {
        let table = self.system_table(system_tables::SEQUENCE_VALUES);
        table.delete_key(txn, &[Value::Int(sequence.counter_id)])
    }
}
