//! The errors of a duplicate key: in a statement that changes rows, and while an index is being built.

use types::{SqlError, Value};

use super::Table;
use crate::schema::IndexDef;

impl Table {
    /// 2627 for a constraint's key, 2601 for a plain unique index's.
    pub(super) fn duplicate(&self, index: &IndexDef, row: &[Value]) -> SqlError {
        let shown: Vec<String> = index.key.iter().map(|k| shown_value(&row[k.ordinal])).collect();
        self.duplicate_of(index, &format!("({})", shown.join(", ")))
    }

    /// The error, for key values that are text already.
    pub(super) fn duplicate_of(&self, index: &IndexDef, values: &str) -> SqlError {
        let name = index.name.clone().unwrap_or_else(|| "".into());
        let object = self.inner.definition.qualified_name();
        match (index.primary_key, index.unique_constraint) {
            (true, _) => SqlError::new(2627, &[&"PRIMARY KEY", &name, &object, &values]),
            (_, true) => SqlError::new(2627, &[&"UNIQUE KEY", &name, &object, &values]),
            _ => SqlError::new(2601, &[&object, &name, &values]),
        }
    }

    /// A duplicate key while an index is being built has its own error, 1505, which names the index.
    pub(crate) fn while_building(&self, error: SqlError) -> SqlError {
        const VALUES: char = '\u{1}';
        for index in &self.inner.definition.indexes {
            let alike = self.duplicate_of(index, &VALUES.to_string());
            if let Some((before, behind)) = alike.message.split_once(VALUES)
                && alike.number == error.number
                && let Some(values) =
                    error.message.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind))
            {
                let name = index.name.clone().unwrap_or_else(|| "".into());
                let object = self.inner.definition.qualified_name();
                return SqlError::new(1505, &[&object, &name, &values]);
            }
        }
        error
    }
}

/// A value in a message.
pub(super) fn shown_value(value: &Value) -> String {
    if value.is_null() {
        return "<NULL>".into();
    }
    let text = types::SqlType::NVarChar(types::Length::Max);
    let context = types::ConvertContext::default();
    let converted = types::convert(value, &value.natural_type(), &text, types::DEFAULT_STYLE, &context);
    converted.ok().and_then(|v| v.as_text()).map_or_else(|| "?".into(), |t| t.trim_end().to_string())
}
