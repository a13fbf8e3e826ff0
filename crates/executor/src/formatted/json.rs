//! Writes rows as JSON: FOR JSON.

use plan_ir::row::Row;
use plan_ir::rows_format::{JsonFormat, JsonLevel, JsonMember};
use plan_ir::runtime::Runtime;
use types::functions::json;
use types::{SqlError, SqlType, Value};

use super::text::{Shown, Text, changed_level, shown};

/// Writes one text.
pub(super) struct JsonWriter<'p> {
    format: &'p JsonFormat,
    types: &'p [SqlType],
    /// The columns of each level.
    columns: Vec<&'p [usize]>,
    before: Option<Row>,
}

impl<'p> JsonWriter<'p> {
    pub(super) fn new(format: &'p JsonFormat, types: &'p [SqlType]) -> JsonWriter<'p> {
        debug_assert!(!format.levels.is_empty(), "a row has an object");
        debug_assert!(!format.is_bare || format.root.is_none(), "a root needs one value");
        let columns = format.levels.iter().map(|level| level.columns.as_slice()).collect();
        JsonWriter { format, types, columns, before: None }
    }

    /// Writes a row: the objects of the levels that it does not share with the row before.
    pub(super) fn row(&mut self, runtime: &Runtime<'_>, row: &Row, text: &mut Text) -> Result<(), SqlError> {
        let last = self.columns.len() - 1;
        let first = match &self.before {
            None => {
                self.begin(text)?;
                0
            }
            Some(before) => {
                let changed = changed_level(before, row, &self.columns, self.types);
                (changed..last).try_for_each(|_| text.push("}]"))?;
                text.push("},")?;
                changed
            }
        };
        for (at, level) in self.format.levels.iter().enumerate().skip(first) {
            let is_empty = self.object(level, runtime, row, text)?;
            if at < last {
                let comma = if is_empty { "" } else { "," };
                text.push(comma)?;
                text.push(&json::quote(&self.format.levels[at + 1].name))?;
                text.push(":[")?;
            }
        }
        match &mut self.before {
            // Only inner levels look back.
            _ if last == 0 => self.before = Some(Row::new()),
            Some(before) => before.clone_from(row),
            None => self.before = Some(row.clone()),
        }
        Ok(())
    }

    /// Writes what stands before the first row.
    fn begin(&self, text: &mut Text) -> Result<(), SqlError> {
        if let Some(root) = &self.format.root {
            text.push("{")?;
            text.push(&json::quote(root))?;
            text.push(":")?;
        }
        if self.format.is_bare { Ok(()) } else { text.push("[") }
    }

    /// Writes what stands behind the last row.
    pub(super) fn end(&mut self, text: &mut Text) -> Result<(), SqlError> {
        (1..self.columns.len()).try_for_each(|_| text.push("}]"))?;
        text.push("}")?;
        if !self.format.is_bare {
            text.push("]")?;
        }
        if self.format.root.is_some() { text.push("}") } else { Ok(()) }
    }

    /// Opens the object of a level with its own properties; tells whether there are none.
    fn object(
        &self,
        level: &JsonLevel,
        runtime: &Runtime<'_>,
        row: &Row,
        text: &mut Text,
    ) -> Result<bool, SqlError> {
        text.push("{")?;
        let mut is_empty = true;
        self.members(&level.members, runtime, row, text, &mut is_empty)?;
        Ok(is_empty)
    }

    fn members(
        &self,
        members: &[JsonMember],
        runtime: &Runtime<'_>,
        row: &Row,
        text: &mut Text,
        is_first: &mut bool,
    ) -> Result<(), SqlError> {
        for member in members.iter().filter(|member| self.is_present(member, row)) {
            if !std::mem::take(is_first) {
                text.push(",")?;
            }
            match member {
                JsonMember::Value { name, column, is_json } => {
                    text.push(&json::quote(name))?;
                    text.push(":")?;
                    push_value(&row[*column], &self.types[*column], *is_json, runtime, text)?;
                }
                JsonMember::Object { name, members } => {
                    text.push(&json::quote(name))?;
                    text.push(":{")?;
                    self.members(members, runtime, row, text, &mut true)?;
                    text.push("}")?;
                }
            }
        }
        Ok(())
    }

    /// Is anything written of a property? Not of a NULL, nor of an object of NULLs alone.
    fn is_present(&self, member: &JsonMember, row: &Row) -> bool {
        self.format.keeps_nulls
            || match member {
                JsonMember::Value { column, .. } => !row[*column].is_null(),
                JsonMember::Object { members, .. } => {
                    members.iter().any(|member| self.is_present(member, row))
                }
            }
    }
}

/// Adds the characters of a string, escaped. The base64 alphabet has a slash, so binary values are escaped, too.
fn push_escaped(units: &[u16], text: &mut Text) -> Result<(), SqlError> {
    let is_plain = |unit: &u16| *unit >= 0x20 && ![0x22, 0x2F, 0x5C].contains(unit);
    for part in units.chunk_by(|a, b| is_plain(a) && is_plain(b)) {
        match part {
            [unit] if !is_plain(unit) => {
                let escaped = json::escape(&String::from_utf16_lossy(&[*unit]));
                text.push(&escaped)?;
            }
            plain => text.push_units(plain)?,
        }
    }
    Ok(())
}

/// Adds a value; one that is JSON as it is.
pub(crate) fn push_value(
    value: &Value,
    sql_type: &SqlType,
    is_json: bool,
    runtime: &Runtime<'_>,
    text: &mut Text,
) -> Result<(), SqlError> {
    if value.is_null() {
        return text.push("null");
    }
    match shown(value, sql_type, runtime)? {
        Shown::Bit(true) => text.push("true"),
        Shown::Bit(false) => text.push("false"),
        Shown::Number(digits) => text.push(&digits),
        Shown::Units(units) if is_json => text.push_units(&units),
        Shown::Plain(plain) => {
            text.push("\"")?;
            push_escaped(&plain.encode_utf16().collect::<Vec<u16>>(), text)?;
            text.push("\"")
        }
        Shown::Units(units) => {
            text.push("\"")?;
            push_escaped(&units, text)?;
            text.push("\"")
        }
    }
}
