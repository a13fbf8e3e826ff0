//! Locators of rows as values: a query keeps them with the rows that it will change.

use std::sync::Arc;

use access::Rid;
use types::Value;

use super::{Base, RowLocator, Table};

impl RowLocator {
    /// Its bytes, in the form of index entries.
    pub fn to_value(&self) -> Value {
        self.with_bytes(Value::binary)
    }

    /// Passes them to `work`.
    pub(super) fn with_bytes<T>(&self, work: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            RowLocator::Heap(rid) => work(&rid.to_bytes()),
            RowLocator::Key(key) => work(key),
        }
    }
}

impl Table {
    /// The locator from a value of `to_value`; `None` for NULL, which an outer join gives for a missing row.
    pub fn locator(&self, value: &Value) -> Option<RowLocator> {
        let Value::Binary(bytes) = value else {
            assert!(value.is_null(), "a locator is bytes");
            return None;
        };
        let locator = self.locator_of(bytes.as_bytes());
        assert!(locator.is_some(), "a locator of a heap's row is its address");
        locator
    }

    /// The locator from its bytes; `None` if they are invalid.
    pub(super) fn locator_of(&self, bytes: &[u8]) -> Option<RowLocator> {
        match &self.inner.base {
            Base::Heap(_) => Rid::from_bytes(bytes).map(RowLocator::Heap),
            Base::Tree(_) => Some(RowLocator::Key(Arc::from(bytes))),
        }
    }
}
