//! `NumberSteps`: arithmetic on a column's number before its comparison, step by step. Errors (an overflow, a division by 0) are
//! not raised here: the code that computes with decoded values raises them.

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberStep {
    /// The number and another one.
    Add(i64),
    /// The number less another one.
    Subtract(i64),
    /// Another one less the number.
    SubtractFrom(i64),
    /// The number times another one.
    Multiply(i64),
    /// The number divided by another one, towards 0.
    Divide(i64),
    /// The remainder of that division, with the number's sign.
    Modulo(i64),
    /// Bits that both have.
    And(i64),
    /// Bits that one of them has.
    Or(i64),
    /// Bits that one of them has and the other has not.
    Xor(i64),
}

/// Steps one after the other, each with the lowest and the highest number that its type has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberSteps(Vec<(NumberStep, i64, i64)>);

impl NumberStep {
    #[inline]
    fn of(self, number: i64) -> Option<i64> {
        match self {
            NumberStep::Add(other) => number.checked_add(other),
            NumberStep::Subtract(other) => number.checked_sub(other),
            NumberStep::SubtractFrom(other) => other.checked_sub(number),
            NumberStep::Multiply(other) => number.checked_mul(other),
            NumberStep::Divide(other) => number.checked_div(other),
            NumberStep::Modulo(other) => match (i32::try_from(number), i32::try_from(other)) {
                // The processor divides short numbers in less time.
                (Ok(number), Ok(other)) => number.checked_rem(other).map(i64::from),
                _ => number.checked_rem(other),
            },
            NumberStep::And(other) => Some(number & other),
            NumberStep::Or(other) => Some(number | other),
            NumberStep::Xor(other) => Some(number ^ other),
        }
    }

    /// Is it a bit operation with a number of that type?
    fn has_bits_of(self, least: i64, most: i64) -> bool {
        match self {
            NumberStep::And(other) | NumberStep::Or(other) | NumberStep::Xor(other) => {
                (least..=most).contains(&other)
            }
            _ => false,
        }
    }

    /// Between which numbers the results for `low..=high` lie; `None`: there may be none of one of them.
    fn range(self, low: i64, high: i64) -> Option<(i64, i64)> {
        let ends = (self.of(low), self.of(high));
        match self {
            NumberStep::Modulo(0 | -1) => None,
            NumberStep::Modulo(other) => {
                let most = i64::try_from(other.unsigned_abs() - 1).unwrap_or(i64::MAX);
                Some((if low < 0 { -most } else { 0 }, if high > 0 { most } else { 0 }))
            }
            // No bit is set beyond those of the longer one: both ends of its type.
            NumberStep::And(_) | NumberStep::Or(_) | NumberStep::Xor(_) => None,
            // They rise or fall all the way.
            _ => ends.0.zip(ends.1).map(|(one, other)| (one.min(other), one.max(other))),
        }
    }
}

impl NumberSteps {
    /// One more step, whose type has the numbers `low..=high`.
    pub fn push(&mut self, step: NumberStep, low: i64, high: i64) {
        assert!(low <= high, "a type has numbers");
        self.0.push((step, low, high));
    }

    /// Can everything be computed of all numbers `low..=high`?
    pub fn is_safe(&self, mut low: i64, mut high: i64) -> bool {
        assert!(low <= high, "a column has numbers");
        for (step, least, most) in &self.0 {
            (low, high) = match step.range(low, high) {
                Some((low, high)) if *least <= low && high <= *most => (low, high),
                // Numbers of a type have the bits of that type.
                None if step.has_bits_of(*least, *most) && *least <= low && high <= *most => (*least, *most),
                _ => return false,
            };
        }
        true
    }

    /// The result for a number; `None`: it cannot be computed.
    #[inline]
    pub fn of(&self, number: i64) -> Option<i64> {
        self.0.iter().try_fold(number, |number, (step, low, high)| {
            step.of(number).filter(|number| low <= number && number <= high)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [(i64, i64); 4] =
        [(0, 255), (-32_768, 32_767), (-2_147_483_648, 2_147_483_647), (i64::MIN, i64::MAX)];

    /// Steps that are said to be safe are: tried on the ends of each type and numbers between them.
    #[test]
    fn what_is_said_to_be_safe_never_fails() {
        let others = [0, 1, -1, 2, -2, 7, 100, 255, 256, -32_768, 2_147_483_647, i64::MIN, i64::MAX];
        let make: [fn(i64) -> NumberStep; 9] = [
            NumberStep::Add,
            NumberStep::Subtract,
            NumberStep::SubtractFrom,
            NumberStep::Multiply,
            NumberStep::Divide,
            NumberStep::Modulo,
            NumberStep::And,
            NumberStep::Or,
            NumberStep::Xor,
        ];
        let (mut safe, mut unsafe_count) = (0, 0);
        for (low, high) in KINDS {
            for (least, most) in KINDS {
                for first in make.iter().flat_map(|make| others.map(make)) {
                    for second in [NumberStep::Modulo(7), NumberStep::Add(1), NumberStep::Multiply(-1)] {
                        let mut steps = NumberSteps::default();
                        steps.push(first, least, most);
                        steps.push(second, least, most);
                        let tried = [low, low + 1, low / 2, 0.clamp(low, high), 1, high / 3, high - 1, high];
                        let works = tried.iter().all(|number| steps.of(*number).is_some());
                        if steps.is_safe(low, high) {
                            assert!(works, "{steps:?} of {low}..={high}");
                            safe += 1;
                        } else {
                            unsafe_count += 1;
                        }
                    }
                }
            }
        }
        assert!(safe > 500 && unsafe_count > 500, "{safe} {unsafe_count}");
    }

    #[test]
    fn numbers_are_computed_as_in_sql() {
        let of = |step: NumberStep, number| step.of(number);
        assert_eq!((of(NumberStep::Modulo(3), -7), of(NumberStep::Modulo(-3), 7)), (Some(-1), Some(1)));
        assert_eq!((of(NumberStep::Divide(2), -7), of(NumberStep::Divide(0), 1)), (Some(-3), None));
        assert_eq!((of(NumberStep::SubtractFrom(0), i64::MIN), of(NumberStep::Modulo(0), 1)), (None, None));
        assert_eq!(of(NumberStep::Modulo(5_000_000_000), 12_000_000_000), Some(2_000_000_000));
    }
}
