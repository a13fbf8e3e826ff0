//! The options of BULK INSERT and OPENROWSET(BULK ...): how the file is read, and what becomes of its rows.

use plan_ir::bulk_rules::BulkRules;
use tsql::ast::{Expr, ExprKind, Literal, NamedOption, OptionValue};
use types::SqlError;

/// The errors that a load bears unless MAXERRORS says otherwise.
const ERRORS_MAX: u64 = 10;

/// How the characters of a file are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Code page 1252 (ACP, OEM), or bytes as they are (RAW): that is the page of the columns.
    Page1252,
    Utf8,
    /// UTF-16, little-endian; it is read as UTF-8.
    Wide,
}

/// What ends a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terminator {
    pub(crate) bytes: Vec<u8>,
    /// `\n` stands for the end of a line: with or without a carriage return before it.
    pub(crate) strips_return: bool,
}

/// The options of a load from a file.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// What the load does with its rows.
    pub rules: BulkRules,
    /// BATCHSIZE: rows of a transaction; `None`: all.
    pub batch_rows: Option<u64>,
    pub(crate) encoding: Encoding,
    pub(crate) is_csv: bool,
    pub(crate) quote: u8,
    pub(crate) field: Terminator,
    pub(crate) row: Terminator,
    pub(crate) first_row: u64,
    pub(crate) last_row: u64,
    pub(crate) errors_max: u64,
    pub(crate) error_file: Option<String>,
    pub(crate) format_file: Option<String>,
}

/// As they are written.
#[derive(Default)]
struct Written {
    code_page: Option<String>,
    file_type: Option<String>,
    field: Option<String>,
    row: Option<String>,
    quote: Option<String>,
    format: Option<String>,
}

/// Reads the options of the list `place`. Error 155 for another word, a refusal for what is not done.
pub fn file_options(place: &str, options: &[NamedOption]) -> Result<FileOptions, SqlError> {
    let mut written = Written::default();
    let mut read = FileOptions {
        rules: BulkRules::default(),
        batch_rows: None,
        encoding: Encoding::Page1252,
        is_csv: false,
        quote: b'"',
        field: Terminator { bytes: vec![b'\t'], strips_return: false },
        row: line_end(),
        first_row: 1,
        last_row: u64::MAX,
        errors_max: ERRORS_MAX,
        error_file: None,
        format_file: None,
    };
    for option in options {
        let name = option.name.value.to_uppercase();
        binder::clauses::check_option(place, &name, None)?;
        let value = || text_of(option).ok_or_else(|| plan_ir::errors::syntax_near(&option.name.value));
        let number = || number_of(option).ok_or_else(|| plan_ir::errors::syntax_near(&option.name.value));
        match name.as_str() {
            "KEEPNULLS" => read.rules.keep_nulls = true,
            "KEEPIDENTITY" => read.rules.keep_identity = true,
            "CHECK_CONSTRAINTS" => read.rules.check_constraints = true,
            "FIRE_TRIGGERS" => read.rules.fire_triggers = true,
            "TABLOCK" => read.rules.table_lock = true,
            "ORDER" => read.rules.order = crate::bulk::order_of(option.value.as_ref()),
            "CODEPAGE" => written.code_page = Some(value()?.to_uppercase()),
            "DATAFILETYPE" => written.file_type = Some(value()?.to_lowercase()),
            "FIELDTERMINATOR" => written.field = Some(value()?),
            "ROWTERMINATOR" => written.row = Some(value()?),
            "FIELDQUOTE" => written.quote = Some(value()?),
            "FORMAT" => written.format = Some(value()?.to_uppercase()),
            "FORMATFILE" => read.format_file = Some(value()?),
            "ERRORFILE" => read.error_file = Some(value()?),
            "FIRSTROW" => read.first_row = number()?.max(1),
            "LASTROW" => read.last_row = Some(number()?).filter(|row| *row > 0).unwrap_or(u64::MAX),
            "MAXERRORS" => read.errors_max = number()?,
            "BATCHSIZE" => read.batch_rows = Some(number()?).filter(|rows| *rows > 0),
            _ => {}
        }
    }
    apply(&mut read, &written)?;
    Ok(read)
}

fn apply(read: &mut FileOptions, written: &Written) -> Result<(), SqlError> {
    read.encoding = match written.file_type.as_deref() {
        None | Some("char") => encoding_of(written.code_page.as_deref())?,
        Some("widechar") => Encoding::Wide,
        Some(other) => return Err(crate::errors::unsupported(&format!("DATAFILETYPE = '{other}'"))),
    };
    match written.format.as_deref() {
        None => {}
        Some("CSV") => {
            read.is_csv = true;
            read.field = Terminator { bytes: vec![b','], strips_return: false };
        }
        Some(other) => return Err(crate::errors::unsupported(&format!("FORMAT = '{other}'"))),
    }
    if let Some(quote) = &written.quote {
        read.quote = match quote.as_bytes() {
            [one] => *one,
            _ => return Err(crate::errors::unsupported("FIELDQUOTE of anything but one ASCII character")),
        };
    }
    if let Some(field) = &written.field {
        read.field = terminator(field, read.encoding)?;
    }
    if let Some(row) = &written.row {
        read.row = terminator(row, read.encoding)?;
    }
    Ok(())
}

fn encoding_of(code_page: Option<&str>) -> Result<Encoding, SqlError> {
    match code_page {
        None | Some("ACP" | "OEM" | "RAW" | "1252") => Ok(Encoding::Page1252),
        Some("65001") => Ok(Encoding::Utf8),
        Some(other) => Err(crate::errors::unsupported(&format!("CODEPAGE = '{other}'"))),
    }
}

/// The end of a line.
fn line_end() -> Terminator {
    Terminator { bytes: vec![b'\n'], strips_return: true }
}

/// A terminator as it is written: characters, `\t`, `\n`, `\r`, `\0`, `\\`, or the bytes of the file as `0x0a`.
pub(crate) fn terminator(written: &str, encoding: Encoding) -> Result<Terminator, SqlError> {
    if written == "\\n" || written == "\n" || written == "\\r\\n" || written == "\r\n" {
        return Ok(line_end());
    }
    if let Some(digits) = written.strip_prefix("0x").filter(|digits| !digits.is_empty()) {
        let pairs: Option<Vec<u8>> = digits
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        if let Some(bytes) = pairs.filter(|_| digits.len().is_multiple_of(2)) {
            let bytes = match encoding {
                Encoding::Wide => tds_text(&bytes).into_bytes(),
                _ => bytes,
            };
            return Ok(Terminator { bytes, strips_return: false });
        }
    }
    let mut text = String::new();
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.clone().next() } else { None };
        let meant = match escaped {
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('0') => '\0',
            Some('\\') => '\\',
            _ => {
                text.push(character);
                continue;
            }
        };
        characters.next();
        text.push(meant);
    }
    let bytes = match encoding {
        Encoding::Page1252 => types::codepage::encode(&text),
        Encoding::Utf8 | Encoding::Wide => text.into_bytes(),
    };
    if bytes.is_empty() {
        return Err(crate::errors::unsupported("an empty terminator"));
    }
    Ok(Terminator { bytes, strips_return: false })
}

/// UTF-16LE bytes as text.
fn tds_text(bytes: &[u8]) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    String::from_utf16_lossy(&units)
}

fn text_of(option: &NamedOption) -> Option<String> {
    match option.value.as_ref()? {
        OptionValue::Value(value, None) => match &value.kind {
            ExprKind::Literal(Literal::Int(number)) => Some(number.to_string()),
            _ => literal_text(value),
        },
        OptionValue::Word(word) => Some(word.value.clone()),
        _ => None,
    }
}

/// The text of a literal.
pub fn literal_text(value: &Expr) -> Option<String> {
    match &value.kind {
        ExprKind::Literal(Literal::String(text) | Literal::NString(text)) => Some(text.clone()),
        _ => None,
    }
}

fn number_of(option: &NamedOption) -> Option<u64> {
    match option.value.as_ref()? {
        OptionValue::Value(value, None) => match &value.kind {
            ExprKind::Literal(Literal::Int(number)) => u64::try_from(*number).ok(),
            ExprKind::Literal(Literal::Numeric(digits)) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BULK INSERT, "Specify field and row terminators": escapes, and bytes in hexadecimal.
    #[test]
    fn terminators_are_escapes_bytes_or_characters() {
        let of =
            |written: &str, encoding| terminator(written, encoding).map(|one| (one.bytes, one.strips_return));
        assert_eq!(of("\\n", Encoding::Page1252), Ok((vec![10], true)));
        assert_eq!(of("0x0a", Encoding::Page1252), Ok((vec![10], false)));
        assert_eq!(of("0x0a00", Encoding::Wide), Ok((vec![10], false)));
        assert_eq!(of("\\t|\\\\", Encoding::Utf8), Ok((b"\t|\\".to_vec(), false)));
        assert_eq!(of("\u{20AC}", Encoding::Page1252), Ok((vec![0x80], false)));
        assert_eq!(of("\u{20AC}", Encoding::Utf8), Ok((vec![0xE2, 0x82, 0xAC], false)));
        assert_eq!(of("0xg", Encoding::Utf8), Ok((b"0xg".to_vec(), false)));
        assert!(of("", Encoding::Utf8).is_err());
    }
}
