//! Numbers in a culture's notation: the type determines the parts that a text may have (.NET's NumberStyles).

use crate::functions::Culture;
use crate::{Decimal, SqlType, Value};

/// The parts that a text may have besides blanks around it, a sign before it, digits and one decimal separator.
#[derive(Clone, Copy)]
struct Style {
    /// A sign behind the digits, group separators.
    grouped: bool,
    /// The currency's symbol, parentheses for a number below zero.
    currency: bool,
    exponent: bool,
}

/// NumberStyles.Number.
const NUMBER: Style = Style { grouped: true, currency: false, exponent: false };
/// NumberStyles.Currency.
const CURRENCY: Style = Style { grouped: true, currency: true, exponent: false };
/// NumberStyles.Float.
const FLOAT: Style = Style { grouped: false, currency: false, exponent: true };

pub(super) fn parse(text: &str, target: &SqlType, culture: &Culture) -> Option<Value> {
    match *target {
        SqlType::Float => float(text, culture).map(Value::Float),
        SqlType::Real => {
            let narrow = float(text, culture)? as f32;
            narrow.is_finite().then_some(Value::Real(narrow))
        }
        SqlType::Money => money(text, culture).map(Value::Money),
        SqlType::SmallMoney => {
            i32::try_from(money(text, culture)?).ok().map(|units| Value::Money(units.into()))
        }
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            exact(&read(text, culture, NUMBER)?)?.rescale(precision, scale).ok().map(Value::Decimal)
        }
        _ => {
            let number = exact(&read(text, culture, NUMBER)?)?;
            if number.scale() > 0 {
                return None;
            }
            let whole = number.mantissa();
            Some(match target {
                SqlType::TinyInt => Value::TinyInt(whole.try_into().ok()?),
                SqlType::SmallInt => Value::SmallInt(whole.try_into().ok()?),
                SqlType::Int => Value::Int(whole.try_into().ok()?),
                SqlType::BigInt => Value::BigInt(whole.try_into().ok()?),
                _ => return None,
            })
        }
    }
}

fn float(text: &str, culture: &Culture) -> Option<f64> {
    let read = read(text, culture, FLOAT)?;
    let sign = if read.negative { "-" } else { "" };
    let plain = format!("{sign}{}.{}0e{}", read.whole, read.fraction, read.exponent);
    plain.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Ten-thousandths.
fn money(text: &str, culture: &Culture) -> Option<i64> {
    let number = exact(&read(text, culture, CURRENCY)?)?.rescale(38, 4).ok()?;
    i64::try_from(number.mantissa()).ok()
}

/// The range of .NET's Decimal: 96 bits, 28 digits behind the point. More digits are refused, not rounded.
fn exact(read: &Read) -> Option<Decimal> {
    const MAX: u128 = (1 << 96) - 1;
    let fraction = read.fraction.trim_end_matches('0');
    let scale = u8::try_from(fraction.len()).ok().filter(|scale| *scale <= 28)?;
    let mut mantissa: u128 = 0;
    for digit in read.whole.bytes().chain(fraction.bytes()) {
        mantissa = mantissa.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
        if mantissa > MAX {
            return None;
        }
    }
    let mantissa = mantissa as i128;
    Some(Decimal::new(if read.negative { -mantissa } else { mantissa }, 38, scale))
}

/// A text's digits.
struct Read {
    negative: bool,
    whole: String,
    fraction: String,
    exponent: i32,
}

/// Blanks between the parts of a number: no others.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

/// Takes a separator or symbol off the front. A blank in the text is also a culture's non-breaking one, which keyboards do not have.
fn take(rest: &mut &str, wanted: &str) -> bool {
    let typed = wanted.replace('\u{a0}', " ");
    let found = [wanted, &typed].into_iter().find_map(|form| rest.strip_prefix(form));
    match found {
        Some(tail) if !wanted.is_empty() => {
            *rest = tail;
            true
        }
        _ => false,
    }
}

/// The parts around the digits.
#[derive(Default)]
struct Around {
    negative: bool,
    has_sign: bool,
    has_currency: bool,
    is_open: bool,
}

impl Around {
    /// A sign, unless there is one.
    fn sign(&mut self, rest: &mut &str) -> bool {
        if self.has_sign || !(rest.starts_with('-') || rest.starts_with('+')) {
            return false;
        }
        self.has_sign = true;
        self.negative = rest.starts_with('-');
        *rest = &rest[1..];
        true
    }

    fn currency(&mut self, rest: &mut &str, symbol: &str) -> bool {
        let found = !self.has_currency && take(rest, symbol);
        self.has_currency |= found;
        found
    }

    fn before(&mut self, rest: &mut &str, symbol: Option<&str>) {
        loop {
            let next = rest.chars().next();
            // `-$ 1` is one, `- 1` is none.
            if next.is_some_and(is_blank) && (!self.has_sign || self.has_currency) {
                *rest = &rest[1..];
            } else if symbol.is_some() && next == Some('(') && !self.has_sign {
                (self.has_sign, self.negative, self.is_open) = (true, true, true);
                *rest = &rest[1..];
            } else if !self.sign(rest) && !symbol.is_some_and(|symbol| self.currency(rest, symbol)) {
                return;
            }
        }
    }

    fn behind(&mut self, rest: &mut &str, symbol: Option<&str>, signed: bool) {
        loop {
            if rest.starts_with(is_blank) {
                *rest = &rest[1..];
            } else if self.is_open && rest.starts_with(')') {
                self.is_open = false;
                *rest = &rest[1..];
            } else {
                let is_sign = signed && self.sign(rest);
                if !is_sign && !symbol.is_some_and(|symbol| self.currency(rest, symbol)) {
                    return;
                }
            }
        }
    }
}

fn read(text: &str, culture: &Culture, style: Style) -> Option<Read> {
    let symbol = culture.currency.trim_matches(|c: char| c == 'n' || c.is_whitespace());
    let symbol = style.currency.then_some(symbol);
    let mut rest = text;
    let mut around = Around::default();
    around.before(&mut rest, symbol);
    let mut read = Read { negative: false, whole: String::new(), fraction: String::new(), exponent: 0 };
    let mut is_fraction = false;
    while let Some(next) = rest.chars().next() {
        if next.is_ascii_digit() {
            if is_fraction { &mut read.fraction } else { &mut read.whole }.push(next);
            rest = &rest[1..];
        } else if is_fraction {
            break;
        } else if take(&mut rest, culture.decimal) {
            is_fraction = true;
        } else if !(style.grouped && !read.whole.is_empty() && take(&mut rest, culture.group)) {
            break;
        }
    }
    if read.whole.is_empty() && read.fraction.is_empty() {
        return None;
    }
    if style.exponent {
        read.exponent = exponent(&mut rest);
    }
    around.behind(&mut rest, symbol, style.grouped);
    read.negative = around.negative;
    (rest.is_empty() && !around.is_open).then_some(read)
}

/// Takes `e+12` off the front, if it is there. Large ones are all the same.
fn exponent(rest: &mut &str) -> i32 {
    let Some(tail) = rest.strip_prefix(['e', 'E']) else { return 0 };
    let digits = tail.strip_prefix(['+', '-']).unwrap_or(tail);
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return 0;
    }
    *rest = &digits[length..];
    let size =
        digits[..length].bytes().fold(0i32, |size, digit| (size * 10 + i32::from(digit - b'0')).min(9_999));
    if tail.starts_with('-') { -size } else { size }
}
