//! Text to date and time: every literal form that SQL Server documents.
//!
//! Separated numbers (`1/2/2024`, `2024-01-02`, `1.2.24`) by DATEFORMAT, alphabetic months (`Jan 2, 2024 3:04PM`, `2 January 2024`),
//! unseparated digits (`20240102`, `240102`, `2024`), ISO 8601 (`2024-01-02T03:04:05.678Z`), ODBC (`{ts '...'}`), times alone.

use super::{DateFormat, Moment, TICKS_PER_SECOND, civil};

/// Settings for reading a text: the older types know fewer forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseOptions {
    /// Order of separated numbers.
    pub date_format: DateFormat,
    /// datetime and smalldatetime: at most three digits of fraction, no offsets; `yyyy-mm-dd` follows DATEFORMAT.
    pub is_old_type: bool,
    /// Two digits of a year mean the hundred years ending here.
    pub two_digit_year_cutoff: u16,
}

/// Why a text is no date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParseDateError {
    /// Not a form of a date: error 241 (295 for smalldatetime).
    Malformed,
    /// A form, but no such day or time: error 242 for datetime, 241 for the newer types.
    OutOfRange,
}

use ParseDateError::{Malformed, OutOfRange};

/// The fields of a text, and whether it had an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parsed {
    /// The moment as written.
    pub moment: Moment,
    /// The text had `Z` or `+hh:mm`.
    pub has_offset: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'a> {
    Number(&'a str),
    Word(&'a str),
    Mark(u8),
}

/// The numbers of the date part, in the order written.
#[derive(Default)]
struct Fields<'a> {
    numbers: Vec<&'a str>,
    separators: Vec<u8>,
    month: Option<u32>,
    /// How many numbers stood before the month's name.
    before_month: usize,
    time: Option<u64>,
    offset: Option<i16>,
}

/// Reads a date, a time, or both. Blank text is 1900-01-01 00:00.
pub fn parse(text: &str, options: &ParseOptions) -> Result<Parsed, ParseDateError> {
    let text = strip_odbc(text.trim())?;
    let tokens = tokenize(text)?;
    let mut fields = Fields::default();
    let mut rest = tokens.as_slice();
    while let Some(token) = rest.first() {
        rest = match token {
            Token::Number(_) if fields.time.is_none() && starts_time(rest) => {
                parse_time(rest, &mut fields, options)?
            }
            Token::Number(digits) => {
                fields.numbers.push(digits);
                &rest[1..]
            }
            Token::Word(word) => parse_word(word, &mut fields, rest, options)?,
            Token::Mark(b'+' | b'-') if fields.time.is_some() => parse_offset(rest, &mut fields, options)?,
            Token::Mark(mark @ (b'-' | b'/' | b'.'))
                if !fields.numbers.is_empty() || fields.month.is_some() =>
            {
                fields.separators.push(*mark);
                &rest[1..]
            }
            Token::Mark(b',') => &rest[1..],
            Token::Mark(_) => return Err(Malformed),
        };
    }
    let days = date_of(&fields, options)?;
    let moment = Moment { days, ticks: fields.time.unwrap_or(0), offset_minutes: fields.offset.unwrap_or(0) };
    Ok(Parsed { moment, has_offset: fields.offset.is_some() })
}

/// `{ts '...'}`, `{d '...'}`, `{t '...'}`.
fn strip_odbc(text: &str) -> Result<&str, ParseDateError> {
    let Some(body) = text.strip_prefix('{') else { return Ok(text) };
    let body = body.strip_suffix('}').ok_or(Malformed)?.trim();
    let quoted = ["ts", "d", "t"].iter().find_map(|kind| body.strip_prefix(kind)).ok_or(Malformed)?.trim();
    quoted.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')).map(str::trim).ok_or(Malformed)
}

fn tokenize(text: &str) -> Result<Vec<Token<'_>>, ParseDateError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let run =
            |class: fn(&u8) -> bool| start + bytes[start..].iter().take_while(|byte| class(byte)).count();
        let end = match bytes[start] {
            b'0'..=b'9' => {
                let end = run(u8::is_ascii_digit);
                tokens.push(Token::Number(&text[start..end]));
                end
            }
            b'a'..=b'z' | b'A'..=b'Z' => {
                let end = run(u8::is_ascii_alphabetic);
                tokens.push(Token::Word(&text[start..end]));
                end
            }
            byte if byte.is_ascii_whitespace() => start + 1,
            byte @ (b'-' | b'/' | b'.' | b',' | b':' | b'+') => {
                tokens.push(Token::Mark(byte));
                start + 1
            }
            _ => return Err(Malformed),
        };
        start = end;
        if tokens.len() > 40 {
            return Err(Malformed);
        }
    }
    Ok(tokens)
}

/// `hh:` or `hh AM`.
fn starts_time(rest: &[Token<'_>]) -> bool {
    match rest.get(1) {
        Some(Token::Mark(b':')) => true,
        Some(Token::Word(word)) => is_half(word).is_some(),
        _ => false,
    }
}

/// AM is false, PM is true.
fn is_half(word: &str) -> Option<bool> {
    if word.eq_ignore_ascii_case("am") {
        return Some(false);
    }
    word.eq_ignore_ascii_case("pm").then_some(true)
}

/// With a T between date and time every part has all its digits; the older types need the seconds, too.
fn is_iso_8601(fields: &Fields<'_>, time: &[Token<'_>], options: &ParseOptions) -> bool {
    let lengths: Vec<usize> = fields.numbers.iter().map(|digits| digits.len()).collect();
    let is_pair = |at: usize| matches!(time.get(at), Some(Token::Number(digits)) if digits.len() == 2);
    let is_colon = |at: usize| time.get(at) == Some(&Token::Mark(b':'));
    lengths == [4, 2, 2]
        && fields.separators == [b'-', b'-']
        && is_pair(0)
        && is_colon(1)
        && is_pair(2)
        && (if is_colon(3) { is_pair(4) } else { !options.is_old_type })
}

fn parse_word<'a, 't>(
    word: &str,
    fields: &mut Fields<'_>,
    rest: &'a [Token<'t>],
    options: &ParseOptions,
) -> Result<&'a [Token<'t>], ParseDateError> {
    if word.eq_ignore_ascii_case("t") && fields.numbers.len() == 3 && fields.time.is_none() && rest.len() > 1
    {
        return if is_iso_8601(fields, &rest[1..], options) { Ok(&rest[1..]) } else { Err(Malformed) };
    }
    if word.eq_ignore_ascii_case("z") && fields.time.is_some() && fields.offset.is_none() {
        fields.offset = Some(0);
        return Ok(&rest[1..]);
    }
    let month = civil::MONTHS.iter().position(|name| {
        name.eq_ignore_ascii_case(word)
            || (word.len() == 3 && name[..3].eq_ignore_ascii_case(word))
            || (word.eq_ignore_ascii_case("sept") && *name == "September")
    });
    match month {
        Some(index) if fields.month.is_none() => {
            fields.month = Some(index as u32 + 1);
            fields.before_month = fields.numbers.len();
            Ok(&rest[1..])
        }
        _ => Err(Malformed),
    }
}

fn parse_time<'a, 't>(
    tokens: &'a [Token<'t>],
    fields: &mut Fields<'_>,
    options: &ParseOptions,
) -> Result<&'a [Token<'t>], ParseDateError> {
    let number = |token: Option<&Token<'_>>| match token {
        Some(Token::Number(digits)) if digits.len() <= 2 => digits.parse::<u64>().map_err(|_| Malformed),
        _ => Err(Malformed),
    };
    let mut hour = number(tokens.first())?;
    let mut rest = &tokens[1..];
    let mut parts = [0u64; 2];
    let mut count = 0;
    while rest.first() == Some(&Token::Mark(b':')) && count < 2 {
        parts[count] = number(rest.get(1))?;
        count += 1;
        rest = &rest[2..];
    }
    let mut fraction = 0;
    if let (Some(Token::Mark(mark @ (b'.' | b':'))), Some(Token::Number(digits)), 2) =
        (rest.first(), rest.get(1), count)
    {
        fraction = parse_fraction(*mark, digits, options)?;
        rest = &rest[2..];
    }
    if let Some(Token::Word(word)) = rest.first()
        && let Some(is_afternoon) = is_half(word)
    {
        if hour > 12 && !is_afternoon || hour > 23 {
            return Err(OutOfRange);
        }
        hour = match (hour, is_afternoon) {
            (12, false) => 0,
            (0..12, true) => hour + 12,
            _ => hour,
        };
        rest = &rest[1..];
    } else if count == 0 {
        return Err(Malformed);
    }
    if hour > 23 || parts[0] > 59 || parts[1] > 59 {
        return Err(OutOfRange);
    }
    fields.time = Some((hour * 3600 + parts[0] * 60 + parts[1]) * TICKS_PER_SECOND + fraction);
    Ok(rest)
}

/// `.5` is half a second, `:5` five milliseconds. Nanoseconds are rounded to the precision of a value, but not into the next second.
fn parse_fraction(mark: u8, digits: &str, options: &ParseOptions) -> Result<u64, ParseDateError> {
    // As many digits as a value holds, or those of nanoseconds.
    let is_known = match digits.len() {
        ..=3 => true,
        4..=7 | 9 => !options.is_old_type && mark == b'.',
        _ => false,
    };
    if !is_known {
        return Err(Malformed);
    }
    let number: u64 = digits.parse().map_err(|_| Malformed)?;
    if mark == b':' {
        return Ok(number * 10_000);
    }
    let nanoseconds = number * 10u64.pow(9 - digits.len() as u32);
    Ok(((nanoseconds + 50) / 100).min(TICKS_PER_SECOND - 1))
}

fn parse_offset<'a, 't>(
    tokens: &'a [Token<'t>],
    fields: &mut Fields<'_>,
    options: &ParseOptions,
) -> Result<&'a [Token<'t>], ParseDateError> {
    let (Some(Token::Mark(sign)), Some(Token::Number(hours))) = (tokens.first(), tokens.get(1)) else {
        return Err(Malformed);
    };
    if options.is_old_type || fields.offset.is_some() {
        return Err(Malformed);
    }
    let (hours, minutes, rest) = match (tokens.get(2), tokens.get(3)) {
        (Some(Token::Mark(b':')), Some(Token::Number(minutes))) if hours.len() <= 2 && minutes.len() <= 2 => {
            (*hours, *minutes, &tokens[4..])
        }
        _ if hours.len() == 4 => (&hours[..2], &hours[2..], &tokens[2..]),
        _ => return Err(Malformed),
    };
    let hours: i16 = hours.parse().map_err(|_| Malformed)?;
    let minutes: i16 = minutes.parse().map_err(|_| Malformed)?;
    if minutes > 59 || hours > 14 || hours * 60 + minutes > 840 {
        return Err(OutOfRange);
    }
    let total = hours * 60 + minutes;
    fields.offset = Some(if *sign == b'-' { -total } else { total });
    Ok(rest)
}

fn date_of(fields: &Fields<'_>, options: &ParseOptions) -> Result<i32, ParseDateError> {
    match (fields.month, fields.numbers.as_slice()) {
        (None, []) if fields.separators.is_empty() => Ok(civil::DAYS_TO_1900),
        (None, [digits]) if fields.separators.is_empty() => unseparated(digits, options),
        (None, [_, _, _]) if fields.separators.len() == 2 => separated(fields, options),
        (Some(month), numbers) if numbers.len() <= 2 => alphabetic(month, fields, options),
        _ => Err(Malformed),
    }
}

fn unseparated(digits: &str, options: &ParseOptions) -> Result<i32, ParseDateError> {
    let part = |from: usize, to: usize| digits[from..to].parse::<u32>().map_err(|_| Malformed);
    match digits.len() {
        4 => day(part(0, 4)? as i32, 1, 1),
        6 => day(full_year(part(0, 2)?, options), part(2, 4)?, part(4, 6)?),
        8 => day(part(0, 4)? as i32, part(4, 6)?, part(6, 8)?),
        _ => Err(Malformed),
    }
}

fn separated(fields: &Fields<'_>, options: &ParseOptions) -> Result<i32, ParseDateError> {
    let numbers = &fields.numbers;
    if numbers.iter().any(|digits| !matches!(digits.len(), 1 | 2 | 4)) {
        return Err(Malformed);
    }
    use DateFormat::*;
    let format = match options.date_format {
        // Four digits in front are a year, whatever the format says; the newer types then always read month before day.
        Mdy | Ymd | Myd if numbers[0].len() == 4 => Ymd,
        Dmy | Ydm | Dym if numbers[0].len() == 4 && options.is_old_type => Ydm,
        _ if numbers[0].len() == 4 => Ymd,
        // Four digits at the end are a year too.
        Ymd | Myd if numbers[2].len() == 4 => Mdy,
        Ydm | Dym if numbers[2].len() == 4 => Dmy,
        other => other,
    };
    let (year, month, day_number) = match format {
        Mdy => (2, 0, 1),
        Dmy => (2, 1, 0),
        Ymd => (0, 1, 2),
        Ydm => (0, 2, 1),
        Myd => (1, 0, 2),
        Dym => (1, 2, 0),
    };
    let short = |index: usize| match numbers[index].len() {
        1 | 2 => numbers[index].parse::<u32>().map_err(|_| Malformed),
        _ => Err(Malformed),
    };
    day(year_of(numbers[year], options)?, short(month)?, short(day_number)?)
}

fn alphabetic(month: u32, fields: &Fields<'_>, options: &ParseOptions) -> Result<i32, ParseDateError> {
    let short = |digits: &str| match digits.len() {
        1 | 2 => digits.parse::<u32>().map_err(|_| Malformed),
        _ => Err(Malformed),
    };
    match fields.numbers.as_slice() {
        // A year alone means the first of the month.
        [year] if year.len() == 4 => day(year_of(year, options)?, month, 1),
        [first, second] => match (first.len(), second.len()) {
            (4, 1 | 2) => day(year_of(first, options)?, month, short(second)?),
            (1 | 2, 2 | 4) => day(year_of(second, options)?, month, short(first)?),
            _ => Err(Malformed),
        },
        _ => Err(Malformed),
    }
}

fn year_of(digits: &str, options: &ParseOptions) -> Result<i32, ParseDateError> {
    let number: u32 = digits.parse().map_err(|_| Malformed)?;
    match digits.len() {
        4 => Ok(number as i32),
        1 | 2 => Ok(full_year(number, options)),
        _ => Err(Malformed),
    }
}

fn full_year(two_digits: u32, options: &ParseOptions) -> i32 {
    let cutoff = i32::from(options.two_digit_year_cutoff);
    let candidate = cutoff - cutoff % 100 + two_digits as i32;
    if candidate > cutoff { candidate - 100 } else { candidate }
}

fn day(year: i32, month: u32, day: u32) -> Result<i32, ParseDateError> {
    civil::to_days(year, month, day).ok_or(OutOfRange)
}
