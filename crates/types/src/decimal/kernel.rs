//! 256-bit arithmetic for decimals: a product of two 128-bit numbers, its quotient by a third.

const POW10: [u128; 39] = {
    let mut table = [1u128; 39];
    let mut index = 1;
    while index < 39 {
        table[index] = table[index - 1] * 10;
        index += 1;
    }
    table
};

/// 10^n for n up to 38.
#[inline]
pub fn pow10(n: u8) -> u128 {
    POW10[usize::from(n)]
}

/// The number of decimal digits; 0 for 0.
pub fn digits(value: u128) -> u8 {
    POW10.partition_point(|power| *power <= value) as u8
}

/// An unsigned number of 256 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct U256 {
    /// Upper half (first, so that the derived order is right).
    pub high: u128,
    /// Lower half.
    pub low: u128,
}

/// The full product.
#[inline]
pub fn multiply(a: u128, b: u128) -> U256 {
    if (a | b) >> 64 == 0 {
        return U256 { high: 0, low: a * b };
    }
    let (a1, a0) = (a >> 64, a & MASK);
    let (b1, b0) = (b >> 64, b & MASK);
    let low = a0 * b0;
    let middle_one = a1 * b0 + (low >> 64);
    let middle_two = a0 * b1 + (middle_one & MASK);
    U256 { high: a1 * b1 + (middle_one >> 64) + (middle_two >> 64), low: middle_two << 64 | low & MASK }
}

const MASK: u128 = u64::MAX as u128;

impl U256 {
    /// Quotient and remainder; `None` when the quotient needs more than 128 bits or the divisor is 0.
    pub fn divide(self, divisor: u128) -> Option<(u128, u128)> {
        if divisor == 0 || self.high >= divisor {
            return None;
        }
        if self.high == 0 {
            return Some((self.low / divisor, self.low % divisor));
        }
        if divisor >> 64 == 0 {
            // high < divisor < 2^64: two steps of 128 by 64 bits.
            let upper = self.high << 64 | self.low >> 64;
            let (q1, r1) = (upper / divisor, upper % divisor);
            let lower = r1 << 64 | self.low & MASK;
            return Some(((q1 << 64) | (lower / divisor), lower % divisor));
        }
        Some(self.divide_long(divisor))
    }

    /// Knuth's algorithm D with two 64-bit digits of quotient; high < divisor, divisor >= 2^64.
    fn divide_long(self, divisor: u128) -> (u128, u128) {
        let shift = divisor.leading_zeros();
        let divisor = divisor << shift;
        let (d1, d0) = (divisor >> 64, divisor & MASK);
        let high = if shift == 0 { self.high } else { self.high << shift | self.low >> (128 - shift) };
        let low = self.low << shift;
        let step = |high: u128, next: u128| {
            // The estimate from the leading digits is at most two too big.
            let mut quotient = (high / d1).min(MASK);
            let mut rest = high - quotient * d1;
            while rest <= MASK && quotient * d0 > (rest << 64 | next) {
                quotient -= 1;
                rest += d1;
            }
            let remainder = (high << 64 | next).wrapping_sub(quotient.wrapping_mul(divisor));
            (quotient, remainder)
        };
        let (q1, r1) = step(high, low >> 64);
        let (q0, r0) = step(r1, low & MASK);
        (q1 << 64 | q0, r0 >> shift)
    }
}

/// `value / 10^places`, rounded half away from zero.
#[inline]
pub fn divide_rounding(value: i128, places: u8) -> i128 {
    let divisor = pow10(places) as i128;
    let (quotient, remainder) = (value / divisor, value % divisor);
    if remainder.unsigned_abs() >= (divisor as u128).div_ceil(2) && places > 0 {
        quotient + value.signum()
    } else {
        quotient
    }
}

/// `a * b / 10^places`, rounded half away from zero; `None` when it needs more than 127 bits.
#[inline]
pub fn multiply_rounding(a: i128, b: i128, places: u8) -> Option<i128> {
    let negative = (a < 0) != (b < 0);
    let product = multiply(a.unsigned_abs(), b.unsigned_abs());
    let magnitude = if places == 0 {
        if product.high != 0 {
            return None;
        }
        product.low
    } else if places <= 38 {
        let divisor = pow10(places);
        let (quotient, remainder) = product.divide(divisor)?;
        quotient + u128::from(remainder >= divisor.div_ceil(2))
    } else {
        // Two steps; the first only cuts, the cut part cannot turn a half into less than a half.
        let (quotient, _) = product.divide(pow10(38))?;
        let divisor = pow10(places - 38);
        quotient / divisor + u128::from(quotient % divisor >= divisor.div_ceil(2))
    };
    signed(magnitude, negative)
}

/// `a * 10^places / b`, cut towards zero; `None` when it needs more than 127 bits. `b` is not 0.
#[inline]
pub fn divide_scaled(a: i128, places: u8, b: i128) -> Option<i128> {
    let negative = (a < 0) != (b < 0);
    let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
    let first = places.min(38);
    let numerator = multiply(a, pow10(first));
    let numerator = match places - first {
        0 => numerator,
        more => {
            let factor = pow10(more);
            let low = multiply(numerator.low, factor);
            let high = multiply(numerator.high, factor);
            if high.high != 0 {
                return None;
            }
            U256 { high: high.low.checked_add(low.high)?, low: low.low }
        }
    };
    signed(numerator.divide(b)?.0, negative)
}

fn signed(magnitude: u128, negative: bool) -> Option<i128> {
    let value = i128::try_from(magnitude).ok()?;
    Some(if negative { -value } else { value })
}
