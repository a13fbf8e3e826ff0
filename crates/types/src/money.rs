//! money and smallmoney: ten-thousandths in an i64.

/// Ten-thousandths in one unit.
pub const UNIT: i64 = 10_000;
