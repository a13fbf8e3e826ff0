//! Values put into a message of users: the formats of RAISERROR and FORMATMESSAGE, `%[flags][width][.precision][I64]type`, as printf has them.

use crate::styles::DEFAULT_STYLE;
use crate::{ConvertContext, Length, SqlError, SqlResult, SqlType, Value, convert};

/// A message has at most so many characters; a longer one ends in points instead.
const CHARACTERS_MAX: usize = 2_047;
const ELLIPSIS: &str = "...";

/// The message that `template` makes with these values; one that is missing, or NULL, is `(null)`.
///
/// Types of format are d and i (signed), u, o, x and X (unsigned), s (text) and the percent sign itself. Flags are `-` (left-aligned), `+` and blank
/// (a sign before non-negative numbers), `0` (zeros before numbers) and `#` (0, 0x or 0X before octal and hexadecimal numbers). `*` takes a width or
/// precision from the values.
///
/// # Errors
/// 2786 (a value of another type), 2787 (no such format).
pub fn substitute(template: &str, values: &[Value]) -> SqlResult<String> {
    let mut out = String::with_capacity(template.len());
    let mut values = Values { all: values, taken: 0 };
    let mut characters = template.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '%' if characters.next_if_eq(&'%').is_some() => out.push('%'),
            '%' => {
                let (format, kind) = Format::read(&mut characters, &mut values)?;
                let value = values.next();
                format.write(&mut out, kind, value, values.taken)?;
            }
            character => out.push(character),
        }
    }
    if out.chars().nth(CHARACTERS_MAX).is_some() {
        out = out.chars().take(CHARACTERS_MAX - ELLIPSIS.len()).chain(ELLIPSIS.chars()).collect();
    }
    Ok(out)
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// The values of a format, counted as they are taken.
struct Values<'a> {
    all: &'a [Value],
    taken: usize,
}

impl<'a> Values<'a> {
    fn next(&mut self) -> Option<&'a Value> {
        self.taken += 1;
        self.all.get(self.taken - 1)
    }
}

/// The parts between the percent sign and the type.
#[derive(Default)]
struct Format {
    left: bool,
    zero: bool,
    plus: bool,
    blank: bool,
    prefix: bool,
    wide: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl Format {
    /// Reads it with its type. Error 2787.
    fn read(characters: &mut Characters<'_>, values: &mut Values<'_>) -> SqlResult<(Format, char)> {
        let mut format = Format::default();
        let percent = std::iter::once('%');
        let written: String = percent.chain(characters.clone().take_while(|c| !c.is_alphabetic())).collect();
        while let Some(flag) = characters.next_if(|c| "-+0 #".contains(*c)) {
            match flag {
                '-' => format.left = true,
                '+' => format.plus = true,
                '0' => format.zero = true,
                '#' => format.prefix = true,
                _ => format.blank = true,
            }
        }
        format.width = number(characters, values);
        if characters.next_if_eq(&'.').is_some() {
            format.precision = Some(number(characters, values).unwrap_or(0));
        }
        let mut size = String::new();
        while let Some(part) = characters.next_if(|c| "hlI64".contains(*c)) {
            size.push(part);
        }
        format.wide = size == "I64";
        let kind = characters.next().unwrap_or(' ');
        let is_known = "diouxXs".contains(kind) && matches!(size.as_str(), "" | "h" | "l" | "I64");
        if is_known {
            Ok((format, kind))
        } else {
            Err(SqlError::new(2787, &[&format!("{written}{size}{kind}").trim_end()]))
        }
    }

    /// `position`: of the value, from 1, for the error 2786.
    fn write(&self, out: &mut String, kind: char, value: Option<&Value>, position: usize) -> SqlResult<()> {
        let misfit = || SqlError::new(2786, &[&position]);
        let (sign, digits) = match (kind, value) {
            (_, None | Some(Value::Null)) => (String::new(), "(null)".to_owned()),
            ('s', Some(value)) if value.as_i64().is_some() => return Err(misfit()),
            ('s', Some(value)) => {
                let text = text_of(value).ok_or_else(misfit)?;
                (String::new(), self.precision.map_or(text.clone(), |most| text.chars().take(most).collect()))
            }
            (kind, Some(value)) => self.number(kind, value).ok_or_else(misfit)?,
        };
        let fills_with_zeros = self.zero && !self.left && value.is_some_and(|value| value.as_i64().is_some());
        let missing = self.width.unwrap_or(0).saturating_sub(sign.chars().count() + digits.chars().count());
        match (self.left, fills_with_zeros) {
            (true, _) => out.extend([sign, digits, " ".repeat(missing)]),
            (false, true) => out.extend([sign, "0".repeat(missing), digits]),
            (false, false) => out.extend([" ".repeat(missing), sign, digits]),
        }
        Ok(())
    }

    /// The prefix of a number, and its digits; `None` for a value that is no whole number, or too wide for the format.
    fn number(&self, kind: char, value: &Value) -> Option<(String, String)> {
        let number = match value {
            Value::BigInt(number) if self.wide => *number,
            Value::BigInt(_) => return None,
            // A constant that is no int is a decimal number.
            Value::Decimal(number) if self.wide && number.scale() == 0 => {
                i64::try_from(number.mantissa()).ok()?
            }
            value => value.as_i64()?,
        };
        // An int has the width of its type.
        let unsigned = if self.wide {
            number.cast_unsigned()
        } else {
            u64::from(i32::try_from(number).ok()?.cast_unsigned())
        };
        let (sign, mut digits) = match kind {
            'u' => ("", unsigned.to_string()),
            'o' if self.prefix => ("0", format!("{unsigned:o}")),
            'x' if self.prefix && unsigned > 0 => ("0x", format!("{unsigned:x}")),
            'X' if self.prefix && unsigned > 0 => ("0X", format!("{unsigned:X}")),
            'o' => ("", format!("{unsigned:o}")),
            'x' => ("", format!("{unsigned:x}")),
            'X' => ("", format!("{unsigned:X}")),
            _ if number < 0 => ("-", number.unsigned_abs().to_string()),
            _ if self.plus => ("+", number.to_string()),
            _ if self.blank => (" ", number.to_string()),
            _ => ("", number.to_string()),
        };
        if let Some(least) = self.precision {
            digits = format!("{digits:0>least$}");
        }
        Some((sign.to_owned(), digits))
    }
}

/// A width or precision, written or taken from the values; none is wider than a message.
fn number(characters: &mut Characters<'_>, values: &mut Values<'_>) -> Option<usize> {
    let number = if characters.next_if_eq(&'*').is_some() {
        values.next().and_then(Value::as_i64).and_then(|number| usize::try_from(number).ok())
    } else {
        let mut digits = String::new();
        while let Some(digit) = characters.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if digits.is_empty() { None } else { Some(digits.parse().unwrap_or(usize::MAX)) }
    };
    number.map(|number| number.min(CHARACTERS_MAX))
}

fn text_of(value: &Value) -> Option<String> {
    if let Some(text) = value.as_text() {
        return Some(text);
    }
    let to = SqlType::NVarChar(Length::Max);
    convert(value, &value.natural_type(), &to, DEFAULT_STYLE, &ConvertContext::default()).ok()?.as_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(template: &str, values: &[Value]) -> String {
        substitute(template, values).unwrap()
    }

    /// The examples of FORMATMESSAGE's documentation page.
    #[test]
    fn numbers_are_written_as_documented() {
        let ints = |values: &[i32]| values.iter().map(|value| Value::Int(*value)).collect::<Vec<_>>();
        let signed = made("%i, %d %i, %d, %+i, %+d, %+i, %+d", &ints(&[5, -5, 50, -50, -11, -11, 11, 11]));
        assert_eq!(signed, "5, -5 50, -50, -11, -11, +11, +11");
        assert_eq!(
            made("%03i|%020i|%020i", &ints(&[5, 5, -55])),
            "005|00000000000000000005|-0000000000000000055"
        );
        assert_eq!(made("%u, %u", &ints(&[50, -50])), "50, 4294967246");
        assert_eq!(made("%o, %o|%#o, %#o", &ints(&[50, -50, 50, -50])), "62, 37777777716|062, 037777777716");
        assert_eq!(
            made("%x, %X, %X, %X, %x", &ints(&[11, 11, -11, 50, -50])),
            "b, B, FFFFFFF5, 32, ffffffce"
        );
        assert_eq!(made("%#x, %#X, %#X, %#x", &ints(&[11, 11, -11, 0])), "0xb, 0XB, 0XFFFFFFF5, 0");
        assert_eq!(made("%5d|%-5d|% d|%.3d|%*d", &ints(&[7, 7, 7, 7, 4, 1])), "    7|7    | 7|007|   1");
        assert_eq!(
            made("%I64d %I64x", &[Value::BigInt(3_000_000_000), Value::BigInt(-1)]),
            "3000000000 ffffffffffffffff"
        );
        let constant = Value::Decimal(crate::Decimal::new(3_000_000_000, 10, 0));
        assert_eq!(made("%I64d", &[constant]), "3000000000");
    }

    #[test]
    fn texts_are_cut_and_filled() {
        let texts = |values: &[&str]| values.iter().map(|value| Value::varchar(value)).collect::<Vec<_>>();
        assert_eq!(
            made("Hello %20s!%-6s!%.2s%%", &texts(&["TEST", "TEST", "abc"])),
            "Hello                 TEST!TEST  !ab%"
        );
        assert_eq!(made("%s %d %s", &[Value::Null]), "(null) (null) (null)");
        assert_eq!(made("100%%", &[]), "100%");
        let long = made("%s", &texts(&["x".repeat(3_000).as_str()]));
        assert!(long.chars().count() == 2_047 && long.ends_with("xx..."));
        assert_eq!(made("%s", &texts(&["x".repeat(2_047).as_str()])), "x".repeat(2_047));
        assert_eq!(made("%2000000000s", &texts(&["x"])).len(), 2_047, "no more memory than a message takes");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let number = |template: &str, value: Value| substitute(template, &[value]).unwrap_err().number;
        assert_eq!(number("%d", Value::varchar("x")), 2786);
        assert_eq!(number("%s", Value::Int(1)), 2786);
        assert_eq!(number("%d", Value::BigInt(1)), 2786);
        for format in ["%", "%y", "%5", "%f", "%I6d", "%hld"] {
            assert_eq!(number(format, Value::Int(1)), 2787, "{format}");
        }
    }
}
