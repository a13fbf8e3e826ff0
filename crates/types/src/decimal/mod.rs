//! decimal and numeric: up to 38 digits, an i128 mantissa with a scale. [`kernel`] multiplies and divides through 256 bits,
//! [`rules`] says precision and scale of results, [`ops`] computes, [`text`] reads and writes.

use std::cmp::Ordering;

pub mod kernel;
pub mod ops;
pub mod rules;
pub mod text;

pub use kernel::pow10;

/// The most digits a decimal has.
pub const PRECISION_MAX: u8 = 38;

/// A decimal number: mantissa / 10^scale, with the precision it is declared with. 24 bytes, aligned to 8.
///
/// `==` distinguishes 1.0 and 1.00; [`Decimal::compare`] does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Decimal {
    low: u64,
    high: i64,
    precision: u8,
    scale: u8,
}

/// The number does not fit the requested precision (error 8115, which the caller raises with the types).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecimalOverflow;

impl Decimal {
    /// A decimal from its parts; the caller has checked that `mantissa` fits `precision` digits.
    #[inline]
    pub fn new(mantissa: i128, precision: u8, scale: u8) -> Decimal {
        debug_assert!((1..=PRECISION_MAX).contains(&precision) && scale <= PRECISION_MAX);
        debug_assert!(mantissa.unsigned_abs() < pow10(PRECISION_MAX), "a decimal has at most 38 digits");
        Decimal { low: mantissa as u64, high: (mantissa >> 64) as i64, precision, scale }
    }

    /// As [`Decimal::new`], checking the digits.
    #[inline]
    pub fn checked(mantissa: i128, precision: u8, scale: u8) -> Result<Decimal, DecimalOverflow> {
        if mantissa.unsigned_abs() >= pow10(precision) {
            return Err(DecimalOverflow);
        }
        Ok(Decimal::new(mantissa, precision, scale))
    }

    /// The number times 10^scale.
    #[inline]
    pub fn mantissa(&self) -> i128 {
        i128::from(self.high) << 64 | i128::from(self.low)
    }

    /// All digits, 1..=38.
    #[inline]
    pub fn precision(&self) -> u8 {
        self.precision
    }

    /// Digits after the point.
    #[inline]
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// A whole number with the fewest digits that hold it.
    pub fn from_i64(value: i64) -> Decimal {
        Decimal::new(i128::from(value), kernel::digits(u128::from(value.unsigned_abs())).max(1), 0)
    }

    /// The same number in another precision and scale, rounded half away from zero.
    pub fn rescale(&self, precision: u8, scale: u8) -> Result<Decimal, DecimalOverflow> {
        let mantissa = self.mantissa();
        let moved = if scale >= self.scale {
            let factor = i128::try_from(pow10(scale - self.scale)).map_err(|_| DecimalOverflow)?;
            mantissa.checked_mul(factor).ok_or(DecimalOverflow)?
        } else {
            kernel::divide_rounding(mantissa, self.scale - scale)
        };
        Decimal::checked(moved, precision, scale)
    }

    /// The number without its fraction, towards zero.
    pub fn truncate_to_i128(&self) -> i128 {
        self.mantissa() / pow10(self.scale) as i128
    }

    /// Orders by number, whatever the scales.
    pub fn compare(&self, other: &Decimal) -> Ordering {
        let (a, b) = (self.mantissa(), other.mantissa());
        if self.scale == other.scale {
            return a.cmp(&b);
        }
        let sign = a.signum().cmp(&b.signum());
        if sign.is_ne() || a == 0 {
            return sign;
        }
        let scale = self.scale.max(other.scale);
        let left = kernel::multiply(a.unsigned_abs(), pow10(scale - self.scale));
        let right = kernel::multiply(b.unsigned_abs(), pow10(scale - other.scale));
        if a < 0 { right.cmp(&left) } else { left.cmp(&right) }
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        let mantissa = self.mantissa();
        if mantissa.unsigned_abs() < 1 << 53 && self.scale <= 22 {
            // Both parts are exact, so the quotient is the nearest.
            return mantissa as f64 / pow10(self.scale) as f64;
        }
        self.to_string().parse().expect("the text of a decimal is a float's text too")
    }

    /// The float's 17 significant digits, rounded to the scale (SQL Server converts float to decimal this way).
    pub fn from_f64(value: f64, precision: u8, scale: u8) -> Result<Decimal, DecimalOverflow> {
        if !value.is_finite() || value.abs() >= 1e38 {
            return Err(DecimalOverflow);
        }
        let text = format!("{value:.16e}");
        let (digits, exponent) = text.split_once('e').expect("the e format has an exponent");
        let exponent: i32 = exponent.parse().expect("the exponent is an integer");
        let mantissa: i128 = digits.replace('.', "").parse().expect("17 digits and a sign");
        // value = mantissa * 10^(exponent - 16); shift it to the scale.
        let shift = exponent - 16 + i32::from(scale);
        let moved = match shift {
            0.. => {
                i128::try_from(pow10(u8::try_from(shift).map_err(|_| DecimalOverflow)?.min(PRECISION_MAX)))
                    .ok()
                    .and_then(|factor| mantissa.checked_mul(factor))
                    .ok_or(DecimalOverflow)?
            }
            -38..0 => kernel::divide_rounding(mantissa, (-shift) as u8),
            _ => 0,
        };
        Decimal::checked(moved, precision, scale)
    }
}
