//! Golden scripts: statements with the rows or the error they must give. `session` runs the same files through itself.
//!
//! Format, one blank line between records:
//! ```text
//! # comment
//! statement              query               error 8134
//! CREATE TABLE ...       SELECT ...          SELECT 1/0
//!                        ----
//!                        1|abc
//!                        2|NULL
//! ```
//! Rows are compared in order; `query unordered` sorts both sides. Values print as `CAST(... AS nvarchar)` would show them.

/// One record of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Line of its first word, from 1.
    pub line: usize,
    /// What is expected.
    pub expect: Expect,
    /// The batch.
    pub sql: String,
}

/// What a record expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    /// It runs.
    Success,
    /// It fails with this number.
    Error(i32),
    /// It gives these rows, columns divided by `|`.
    Rows {
        /// Order does not matter.
        unordered: bool,
        /// The rows.
        rows: Vec<String>,
    },
}

/// Parses a script. A malformed one is an error with its line.
pub fn parse(text: &str) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let head = line.trim();
        if head.is_empty() || head.starts_with('#') {
            continue;
        }
        let mut body = Vec::new();
        while let Some((_, line)) = lines.peek() {
            if line.trim().is_empty() {
                break;
            }
            body.push(lines.next().map_or("", |line| line.1));
        }
        let divider = body.iter().position(|line| line.trim() == "----");
        let sql = body[..divider.unwrap_or(body.len())].join("\n");
        let rows = divider.map_or_else(Vec::new, |divider| {
            body[divider + 1..].iter().map(|row| row.trim_end().to_string()).collect()
        });
        let expect = match head.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["statement"] => Expect::Success,
            ["query"] => Expect::Rows { unordered: false, rows },
            ["query", "unordered"] => Expect::Rows { unordered: true, rows },
            ["error", number] => {
                Expect::Error(number.parse().map_err(|_| format!("line {}: bad error number", index + 1))?)
            }
            _ => return Err(format!("line {}: unknown record {head:?}", index + 1)),
        };
        records.push(Record { line: index + 1, expect, sql });
    }
    Ok(records)
}

/// Compares what a record gave (rows, or an error number) with what it expects; the difference as text.
pub fn judge(record: &Record, outcome: &Result<Vec<String>, types::SqlError>) -> Result<(), String> {
    match (&record.expect, outcome) {
        (Expect::Success, Ok(_)) => Ok(()),
        (Expect::Error(number), Err(error)) if error.first().number == *number => Ok(()),
        (Expect::Rows { unordered, rows }, Ok(found)) => {
            let (mut wanted, mut found) = (rows.clone(), found.clone());
            if *unordered {
                wanted.sort();
                found.sort();
            }
            if wanted == found {
                Ok(())
            } else {
                Err(format!("line {}: {}\nwanted {wanted:#?}\nfound {found:#?}", record.line, record.sql))
            }
        }
        (_, Ok(rows)) => {
            Err(format!("line {}: {}\nwanted an error, found {rows:?}", record.line, record.sql))
        }
        (_, Err(error)) => Err(format!("line {}: {}\nfound {error}", record.line, record.sql)),
    }
}

/// A row as scripts show it.
pub fn show_row(row: &[types::Value]) -> String {
    row.iter().map(show_value).collect::<Vec<_>>().join("|")
}

fn show_value(value: &types::Value) -> String {
    if value.is_null() {
        return "NULL".to_string();
    }
    let from = value.natural_type();
    let context = types::ConvertContext::default();
    match types::convert(value, &from, &types::SqlType::NVARCHAR_MAX, types::DEFAULT_STYLE, &context) {
        Ok(text) => text.as_text().unwrap_or_default(),
        Err(_) => format!("{value:?}"),
    }
}
