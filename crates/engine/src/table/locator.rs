//! Locators of rows as values: what a query carries along with a row that it is going to change.

use std::sync::Arc;

use access::Rid;
use types::Value;

use super::{Base, RowLocator, Table};

impl RowLocator {
    /// Its bytes, as index entries carry them.
    pub fn to_value(&self) -> Value {
        match self {
            RowLocator::Heap(rid) => Value::binary(&rid.to_bytes()),
            RowLocator::Key(key) => Value::binary(key),
        }
    }
}

impl Table {
    /// The locator of a row of this table that was made a value; `None` for NULL, which stands where a join has found no row.
    pub fn locator(&self, value: &Value) -> Option<RowLocator> {
        let Value::Binary(bytes) = value else {
            assert!(value.is_null(), "a locator is bytes");
            return None;
        };
        let locator = self.locator_of(bytes.as_bytes());
        assert!(locator.is_some(), "a locator of a heap's row is its address");
        locator
    }

    /// The same of its bytes; `None` of such that are none.
    pub(super) fn locator_of(&self, bytes: &[u8]) -> Option<RowLocator> {
        match &self.inner.base {
            Base::Heap(_) => Rid::from_bytes(bytes).map(RowLocator::Heap),
            Base::Tree(_) => Some(RowLocator::Key(Arc::from(bytes))),
        }
    }
}
