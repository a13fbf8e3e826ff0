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
        match &self.inner.base {
            Base::Heap(_) => {
                let rid =
                    Rid::from_bytes(bytes.as_bytes()).expect("a locator of a heap's row is its address");
                Some(RowLocator::Heap(rid))
            }
            Base::Tree(_) => Some(RowLocator::Key(Arc::from(bytes.as_bytes()))),
        }
    }
}
