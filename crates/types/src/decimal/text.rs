//! Decimals as text.

use std::fmt;

use super::{Decimal, DecimalOverflow, PRECISION_MAX, kernel, pow10};

/// Why a text is no decimal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParseDecimalError {
    /// Not a number: error 8114.
    Malformed,
    /// Too many digits before the point: error 8115.
    Overflow,
}

impl From<DecimalOverflow> for ParseDecimalError {
    fn from(_: DecimalOverflow) -> Self {
        ParseDecimalError::Overflow
    }
}

/// All digits, the point only when the scale is above 0: `-0.50`, `12`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.mantissa().unsigned_abs();
        let sign = if self.mantissa() < 0 { "-" } else { "" };
        let power = pow10(self.scale());
        if self.scale() == 0 {
            return write!(f, "{sign}{magnitude}");
        }
        write!(
            f,
            "{sign}{}.{:0width$}",
            magnitude / power,
            magnitude % power,
            width = usize::from(self.scale())
        )
    }
}

impl Decimal {
    /// Reads `[sign] digits [. digits]` between blanks and rounds to the scale, half away from zero.
    pub fn parse(text: &str, precision: u8, scale: u8) -> Result<Decimal, ParseDecimalError> {
        let (negative, whole, fraction) = split(text)?;
        let mut mantissa: u128 = 0;
        for digit in whole.bytes().chain(fraction.bytes().take(usize::from(scale))) {
            mantissa = push(mantissa, digit)?;
        }
        for _ in fraction.len()..usize::from(scale) {
            mantissa = push(mantissa, b'0')?;
        }
        if fraction.as_bytes().get(usize::from(scale)).is_some_and(|digit| *digit >= b'5') {
            mantissa += 1;
        }
        let mantissa = i128::try_from(mantissa).map_err(|_| ParseDecimalError::Overflow)?;
        Ok(Decimal::checked(if negative { -mantissa } else { mantissa }, precision, scale)?)
    }

    /// A numeric literal (`1.50`, `007.1`) with the precision and scale it shows, leading zeros not counted. `None`: not a decimal
    /// literal or more than 38 digits (error 1007).
    pub fn from_literal(text: &str) -> Option<Decimal> {
        let (negative, whole, fraction) = split(text).ok()?;
        let scale = u8::try_from(fraction.len()).ok().filter(|scale| *scale <= PRECISION_MAX)?;
        let mut mantissa: u128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            mantissa = push(mantissa, digit).ok()?;
        }
        let precision = kernel::digits(mantissa).max(scale).max(1);
        if precision > PRECISION_MAX {
            return None;
        }
        let mantissa = mantissa as i128;
        Some(Decimal::new(if negative { -mantissa } else { mantissa }, precision, scale))
    }
}

fn push(mantissa: u128, digit: u8) -> Result<u128, ParseDecimalError> {
    let longer = mantissa.checked_mul(10).and_then(|product| product.checked_add(u128::from(digit - b'0')));
    longer.ok_or(ParseDecimalError::Overflow)
}

fn split(text: &str) -> Result<(bool, &str, &str), ParseDecimalError> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{A0}');
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, text[1..].trim_start()),
        Some(b'+') => (false, text[1..].trim_start()),
        _ => (false, text),
    };
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return Err(ParseDecimalError::Malformed);
    }
    Ok((negative, whole, fraction))
}
