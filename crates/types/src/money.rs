//! money and smallmoney: ten-thousandths in an i64.

/// Ten-thousandths in one unit.
pub const UNIT: i64 = 10_000;

/// How money is written: CONVERT's styles 0, 1 and 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoneyStyle {
    /// Two decimals.
    Plain,
    /// Two decimals, commas every three digits.
    Commas,
    /// Four decimals.
    FourDecimals,
}

/// Money as text.
pub fn format(units: i64, style: MoneyStyle) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let magnitude = units.unsigned_abs();
    if style == MoneyStyle::FourDecimals {
        return format!("{sign}{}.{:04}", magnitude / 10_000, magnitude % 10_000);
    }
    let cents = (magnitude + 50) / 100;
    let whole = (cents / 100).to_string();
    let whole = if style == MoneyStyle::Commas { group_thousands(&whole) } else { whole };
    format!("{sign}{whole}.{:02}", cents % 100)
}

/// Commas between groups of three digits.
pub fn group_thousands(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Reads money: a sign and a currency symbol in any order, digits with commas, a fraction rounded to four digits. Blank is 0. `None`:
/// error 235.
pub fn parse(text: &str) -> Option<i128> {
    let mut rest = text.trim();
    let mut negative = false;
    let mut signs = 0;
    let mut symbols = 0;
    while let Some(c) = rest.chars().next() {
        match c {
            '-' | '+' => {
                negative = c == '-';
                signs += 1;
            }
            '$' | '¢' | '£' | '¤' | '¥' | '€' | '₤' | '₩' | '₪' | '₫' => symbols += 1,
            _ => break,
        }
        rest = rest[c.len_utf8()..].trim_start();
    }
    if signs > 1 || symbols > 1 {
        return None;
    }
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let mut units: i128 = 0;
    for digit in whole.chars().filter(|c| *c != ',') {
        units = units.checked_mul(10)?.checked_add(i128::from(digit.to_digit(10)?))?;
    }
    for place in 0..4 {
        let digit = fraction.as_bytes().get(place).map_or(Some(0), |byte| char::from(*byte).to_digit(10))?;
        units = units.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    units += i128::from(fraction.as_bytes().get(4).is_some_and(|digit| *digit >= b'5'));
    Some(if negative { -units } else { units })
}

/// The nearest ten-thousandth; `None` when far outside the range.
pub fn from_f64(value: f64) -> Option<i128> {
    let scaled = (value * UNIT as f64).round();
    (scaled.abs() < 1e20).then_some(scaled as i128)
}

/// Whole units, rounded half away from zero.
pub fn round_to_units(units: i64) -> i64 {
    crate::decimal::kernel::divide_rounding(i128::from(units), 4) as i64
}

/// `a * b`: rounded to ten-thousandths; `None` on overflow.
pub fn multiply(a: i64, b: i64) -> Option<i64> {
    i64::try_from(crate::decimal::kernel::divide_rounding(i128::from(a) * i128::from(b), 4)).ok()
}

/// `a / b`, cut to ten-thousandths (money division loses digits in SQL Server too); `None` on overflow. `b` is not 0.
pub fn divide(a: i64, b: i64) -> Option<i64> {
    i64::try_from(i128::from(a) * i128::from(UNIT) / i128::from(b)).ok()
}
