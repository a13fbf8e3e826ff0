//! The operators on decimals, into a shape given by [`super::rules`].

use super::kernel;
use super::rules::Shape;
use super::{Decimal, DecimalOverflow, pow10};

/// `mantissa * 10^places`; `None` beyond 127 bits. Small numbers take one machine multiplication.
#[inline]
fn lift(mantissa: i128, places: u8) -> Option<i128> {
    match (i64::try_from(mantissa), places) {
        (_, 0) => Some(mantissa),
        (Ok(small), ..=18) => Some(i128::from(small) * i128::from(pow10(places) as i64)),
        _ => mantissa.checked_mul(pow10(places) as i128),
    }
}

impl Decimal {
    /// `self + other`, rounded into the shape.
    pub fn add(&self, other: &Decimal, shape: Shape) -> Result<Decimal, DecimalOverflow> {
        self.sum(other.mantissa(), other.scale(), shape)
    }

    /// `self - other`, rounded into the shape.
    pub fn subtract(&self, other: &Decimal, shape: Shape) -> Result<Decimal, DecimalOverflow> {
        self.sum(-other.mantissa(), other.scale(), shape)
    }

    fn sum(
        &self,
        other: i128,
        other_scale: u8,
        (precision, scale): Shape,
    ) -> Result<Decimal, DecimalOverflow> {
        if self.scale() == other_scale && scale == other_scale {
            let sum = self.mantissa().checked_add(other).ok_or(DecimalOverflow)?;
            return Decimal::checked(sum, precision, scale);
        }
        let common = self.scale().max(other_scale);
        let lifted = |mantissa: i128, from: u8| lift(mantissa, common - from);
        let exact = lifted(self.mantissa(), self.scale())
            .zip(lifted(other, other_scale))
            .and_then(|(a, b)| a.checked_add(b));
        let mantissa = match exact {
            Some(sum) if scale == common => sum,
            Some(sum) if scale > common => {
                sum.checked_mul(pow10(scale - common) as i128).ok_or(DecimalOverflow)?
            }
            Some(sum) => kernel::divide_rounding(sum, common - scale),
            // The common scale does not fit 127 bits: bring each side to the result's scale first.
            None => {
                let a = self.rescale(super::PRECISION_MAX, scale)?;
                let b = Decimal::new(other, super::PRECISION_MAX, other_scale)
                    .rescale(super::PRECISION_MAX, scale)?;
                a.mantissa().checked_add(b.mantissa()).ok_or(DecimalOverflow)?
            }
        };
        Decimal::checked(mantissa, precision, scale)
    }

    /// `self * other`, rounded half away from zero into the shape.
    pub fn multiply(&self, other: &Decimal, (precision, scale): Shape) -> Result<Decimal, DecimalOverflow> {
        let natural = self.scale() + other.scale();
        if let (true, Some(a), Some(b)) = (natural == scale, self.small(), other.small()) {
            return Decimal::checked(i128::from(a) * i128::from(b), precision, scale);
        }
        let places = natural.saturating_sub(scale);
        let product =
            kernel::multiply_rounding(self.mantissa(), other.mantissa(), places).ok_or(DecimalOverflow)?;
        let product =
            product.checked_mul(pow10(scale.saturating_sub(natural)) as i128).ok_or(DecimalOverflow)?;
        Decimal::checked(product, precision, scale)
    }

    /// The mantissa, if one machine word holds it.
    #[inline]
    fn small(&self) -> Option<i64> {
        i64::try_from(self.mantissa()).ok()
    }

    /// `self / other`, cut (not rounded) into the shape, as SQL Server does: `2 / 3.0` is 0.666666. `other` is not zero.
    pub fn divide(&self, other: &Decimal, (precision, scale): Shape) -> Result<Decimal, DecimalOverflow> {
        let places = i32::from(scale) - i32::from(self.scale()) + i32::from(other.scale());
        let quotient = if places >= 0 {
            kernel::divide_scaled(self.mantissa(), places as u8, other.mantissa())
        } else {
            other
                .mantissa()
                .checked_mul(pow10(-places as u8) as i128)
                .map(|divisor| self.mantissa() / divisor)
                .or(Some(0))
        };
        Decimal::checked(quotient.ok_or(DecimalOverflow)?, precision, scale)
    }

    /// The remainder of division towards zero; the sign is that of `self`. `other` is not zero.
    pub fn modulo(&self, other: &Decimal, (precision, scale): Shape) -> Result<Decimal, DecimalOverflow> {
        let common = self.scale().max(other.scale());
        let (a, b) = (self.mantissa(), other.mantissa());
        let divisor = kernel::multiply(b.unsigned_abs(), pow10(common - other.scale()));
        let dividend = kernel::multiply(a.unsigned_abs(), pow10(common - self.scale()));
        let magnitude = if dividend < divisor {
            dividend.low
        } else if divisor.high == 0 {
            // Two steps keep the quotient within 128 bits.
            let upper = dividend.high % divisor.low;
            let reduced = kernel::U256 { high: upper, low: dividend.low };
            reduced.divide(divisor.low).ok_or(DecimalOverflow)?.1
        } else {
            return Err(DecimalOverflow);
        };
        let magnitude = i128::try_from(magnitude).map_err(|_| DecimalOverflow)?;
        let remainder = if a < 0 { -magnitude } else { magnitude };
        if common <= scale {
            let lifted = remainder.checked_mul(pow10(scale - common) as i128).ok_or(DecimalOverflow)?;
            return Decimal::checked(lifted, precision, scale);
        }
        Decimal::checked(kernel::divide_rounding(remainder, common - scale), precision, scale)
    }

    /// `-self`.
    pub fn negate(&self) -> Decimal {
        Decimal::new(-self.mantissa(), self.precision(), self.scale())
    }
}
