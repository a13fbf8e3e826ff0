//! The key and value pairs of sp_set_session_context, which SESSION_CONTEXT returns.

use std::collections::BTreeMap;

use types::{SqlError, SqlResult, Value};

/// Limit of all keys and values of a session together.
const BYTES_MAX: usize = 1 << 20;

/// Values by key in lower case.
#[derive(Default)]
pub(crate) struct SessionContext(BTreeMap<String, Entry>);

struct Entry {
    value: Value,
    is_read_only: bool,
}

impl SessionContext {
    /// The value of a key; NULL when there is none.
    pub(crate) fn get(&self, key: &str) -> Value {
        self.0.get(&key.to_lowercase()).map_or(Value::Null, |kept| kept.value.clone())
    }

    /// Stores a value; for the rest of the session if it `is_read_only`.
    ///
    /// # Errors
    /// 15664 when the key is read-only; 15665 when all pairs together would be larger than 1 MB.
    pub(crate) fn set(&mut self, key: &str, value: Value, is_read_only: bool) -> SqlResult<()> {
        let name = key.to_lowercase();
        if self.0.get(&name).is_some_and(|kept| kept.is_read_only) {
            return Err(SqlError::new(15664, &[&key]));
        }
        let others = self.0.iter().filter(|(other, _)| **other != name);
        let bytes: usize = others.map(|(other, kept)| size(other, &kept.value)).sum();
        if bytes + size(&name, &value) > BYTES_MAX {
            return Err(SqlError::new(15665, &[&key]));
        }
        self.0.insert(name, Entry { value, is_read_only });
        Ok(())
    }
}

/// Bytes of a key and its value.
fn size(key: &str, value: &Value) -> usize {
    let of_value = match value {
        Value::Char(bytes) | Value::Binary(bytes) => bytes.len(),
        Value::NChar(units) => 2 * units.len(),
        other => usize::try_from(other.natural_type().max_length()).unwrap_or(0),
    };
    2 * key.encode_utf16().count() + of_value
}
