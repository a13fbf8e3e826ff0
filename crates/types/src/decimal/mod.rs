//! decimal and numeric: up to 38 digits, an i128 mantissa with a scale.

/// A decimal number: mantissa / 10^scale, with the precision it is declared with. 24 bytes, aligned to 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Decimal {
    low: u64,
    high: i64,
    precision: u8,
    scale: u8,
}

impl Decimal {
    /// A decimal from its parts; the caller has checked that `mantissa` fits `precision` digits.
    pub fn new(mantissa: i128, precision: u8, scale: u8) -> Decimal {
        debug_assert!(precision >= 1 && precision <= 38 && scale <= precision);
        Decimal { low: mantissa as u64, high: (mantissa >> 64) as i64, precision, scale }
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
}
