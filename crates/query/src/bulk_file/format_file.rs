//! Format files: which field of the file goes into which column, and what ends it.

use types::SqlError;

use super::options::{Encoding, Terminator, terminator};

/// Columns of a line: number, type, prefix, length, terminator, number and name of the column; the collation may be missing.
const WORDS_MIN: usize = 7;
/// The most fields.
pub(super) const FIELDS_MAX: usize = 1_024;

/// A field as the format file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FormatField {
    pub(crate) is_wide: bool,
    pub(crate) end: Terminator,
    /// The column, from 1; 0: the field is passed over.
    pub(crate) column: usize,
}

/// The fields in their order. Errors 4822 (their number), 4823 (a column's number); a refusal for what is not text up to a terminator.
pub(crate) fn format_fields(name: &str, text: &str) -> Result<Vec<FormatField>, SqlError> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    // The version says nothing about text fields.
    lines.next();
    let wrong_count = || SqlError::new(4822, &[&name]);
    let count: usize = lines.next().and_then(|line| line.trim().parse().ok()).ok_or_else(wrong_count)?;
    if count == 0 || count > FIELDS_MAX {
        return Err(wrong_count());
    }
    let fields: Vec<FormatField> =
        lines.take(count).map(|line| field(name, line)).collect::<Result<_, _>>()?;
    if fields.len() == count { Ok(fields) } else { Err(wrong_count()) }
}

fn field(name: &str, line: &str) -> Result<FormatField, SqlError> {
    let words = words(line);
    let wrong = || SqlError::new(4823, &[&name]);
    if words.len() < WORDS_MIN {
        return Err(wrong());
    }
    let is_wide = match words[1].to_uppercase().as_str() {
        "SQLCHAR" => false,
        "SQLNCHAR" => true,
        other => return Err(crate::errors::unsupported(&format!("the type {other} of a format file"))),
    };
    if words[2] != "0" || words[4].is_empty() {
        return Err(crate::errors::unsupported(
            "a field of a format file without a terminator, or with a length before it",
        ));
    }
    let column = words[5].parse().map_err(|_| wrong())?;
    delimited(is_wide, &words[4], column)
}

/// A field that ends with a terminator, as it is written in a format file.
pub(super) fn delimited(is_wide: bool, written: &str, column: usize) -> Result<FormatField, SqlError> {
    let encoding = if is_wide { Encoding::Wide } else { Encoding::Page1252 };
    // The terminators of wide fields are written with a zero behind each character.
    let written = if is_wide { written.replace("\\0", "") } else { written.to_string() };
    Ok(FormatField { is_wide, end: terminator(&written, encoding)?, column })
}

/// Words between blanks; quotes keep blanks, and a backslash a quote.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut characters = line.trim().chars().peekable();
    while let Some(first) = characters.peek().copied() {
        if first.is_whitespace() {
            characters.next();
            continue;
        }
        let mut word = String::new();
        let is_quoted = first == '"';
        if is_quoted {
            characters.next();
        }
        while let Some(character) = characters.next_if(|next| is_quoted || !next.is_whitespace()) {
            match character {
                '"' if is_quoted => break,
                '\\' if characters.peek() == Some(&'"') => word.extend(characters.next()),
                other => word.push(other),
            }
        }
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Non-XML Format Files (SQL Server)": version, number of fields, one line a field.
    #[test]
    fn a_line_describes_a_field() {
        let text = "14.0\n3\n1 SQLCHAR 0 7 \",\" 1 PersonID \"\"\n2 SQLCHAR 0 100 \"\\t\" 0 none SQL_Latin1_General_CP1_CI_AS\n3 SQLCHAR 0 24 \"\\r\\n\" 2 \"First Name\" \"\"\n";
        let fields = format_fields("f.fmt", text).expect("well-formed");
        let of = |bytes: &[u8], column, strips_return| FormatField {
            is_wide: false,
            end: Terminator { bytes: bytes.to_vec(), strips_return },
            column,
        };
        assert_eq!(fields, [of(b",", 1, false), of(b"\t", 0, false), of(b"\n", 2, true)]);
    }

    #[test]
    fn other_files_are_refused() {
        let number = |text: &str| format_fields("f", text).map(|_| ()).map_err(|error| error.number);
        assert_eq!(number(""), Err(4822));
        assert_eq!(number("14.0\n0\n"), Err(4822));
        assert_eq!(number("14.0\n2\n1 SQLCHAR 0 7 \",\" 1 a \"\"\n"), Err(4822));
        assert_eq!(number("14.0\n1\n1 SQLCHAR 0 7 \",\" x a \"\"\n"), Err(4823));
        assert_eq!(number("14.0\n1\n1 SQLCHAR\n"), Err(4823));
        assert_eq!(number("14.0\n1\n1 SQLINT 0 4 \"\" 1 a \"\"\n"), Err(40514));
    }
}
