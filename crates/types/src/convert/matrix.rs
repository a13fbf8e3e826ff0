//! The allowed conversions between types: the documented matrix of implicit and explicit conversions ("Data type conversion").

use crate::sql_type::TypeFamily;
use crate::{SqlError, SqlType};

/// How a conversion may be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Also done implicitly.
    Implicit,
    /// Needs CAST or CONVERT (error 257 otherwise).
    Explicit,
    /// Never (error 529 for CAST, 206 for implicit conversion).
    NotAllowed,
}

use Conversion::{Explicit, Implicit, NotAllowed};

/// The matrix.
pub fn conversion(from: &SqlType, to: &SqlType) -> Conversion {
    use TypeFamily as F;
    let is_old_date = |t: &SqlType| matches!(t, SqlType::DateTime | SqlType::SmallDateTime);
    match (from.family(), to.family()) {
        _ if is_old_large(from) || is_old_large(to) => old_large(from, to),
        (F::Variant, F::Variant) | (F::Xml, F::Xml) => Implicit,
        (F::Variant, F::Xml) | (F::Xml, F::Variant) => NotAllowed,
        (F::Variant, _) if *to == SqlType::RowVersion => NotAllowed,
        (F::Variant, _) => Explicit,
        (_, F::Variant) if from.is_large_object() || *from == SqlType::RowVersion => NotAllowed,
        (_, F::Variant) => Implicit,
        (F::Xml, F::Char | F::NChar | F::Binary) => Explicit,
        (F::Xml, _) => NotAllowed,
        (F::Char | F::NChar | F::Binary, F::Xml) => Implicit,
        (_, F::Xml) => NotAllowed,
        (F::NChar, F::Binary) if *to == SqlType::RowVersion => NotAllowed,
        (F::Char | F::NChar, F::Binary) => Explicit,
        (F::Char | F::NChar, _) => Implicit,
        (F::Binary, F::NChar) if *from == SqlType::RowVersion => NotAllowed,
        (F::Binary, F::Guid) if *from == SqlType::RowVersion => NotAllowed,
        (F::Binary, F::Approximate) => NotAllowed,
        (F::Binary, F::DateTime) if !is_old_date(to) => Explicit,
        (F::Binary, _) => Implicit,
        (F::Guid, F::Guid | F::Char | F::NChar | F::Binary) => {
            if *to == SqlType::RowVersion {
                NotAllowed
            } else {
                Implicit
            }
        }
        (F::Guid, _) | (_, F::Guid) => NotAllowed,
        (F::DateTime, F::DateTime) => match (from, to) {
            (SqlType::Date, SqlType::Time(_)) | (SqlType::Time(_), SqlType::Date) => NotAllowed,
            _ => Implicit,
        },
        (F::DateTime, F::Char | F::NChar) => Implicit,
        (F::DateTime, F::Binary) => Explicit,
        (F::DateTime, _) => {
            if is_old_date(from) {
                Explicit
            } else {
                NotAllowed
            }
        }
        (_, F::DateTime) => {
            if is_old_date(to) {
                Implicit
            } else {
                NotAllowed
            }
        }
        (F::Money, F::Char | F::NChar) => Explicit,
        (F::Approximate, F::Binary) if *to == SqlType::RowVersion => NotAllowed,
        _ => Implicit,
    }
}

fn is_old_large(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text | SqlType::NText | SqlType::Image)
}

/// text, ntext, image: to and from their own kind only.
fn old_large(from: &SqlType, to: &SqlType) -> Conversion {
    use TypeFamily as F;
    match (from.family(), to.family()) {
        (F::Char | F::NChar, F::Char | F::NChar) => Implicit,
        (F::Binary, F::Binary) => Implicit,
        (F::Char, F::Binary) if *to == SqlType::Image => Implicit,
        (F::Char | F::NChar | F::Binary, F::Xml) => Explicit,
        _ => NotAllowed,
    }
}

/// May `from` become `to`? `explicit`: by CAST or CONVERT. Errors 206, 257, 529.
pub fn check(from: &SqlType, to: &SqlType, explicit: bool) -> Result<(), SqlError> {
    match conversion(from, to) {
        Implicit => Ok(()),
        Explicit if explicit => Ok(()),
        Explicit => Err(SqlError::new(257, &[&from.name(), &to.name()])),
        NotAllowed if explicit => Err(SqlError::new(529, &[&from.name(), &to.name()])),
        NotAllowed => Err(SqlError::new(206, &[&from.name(), &to.name()])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Length;

    /// The types of the chart, in its order.
    const TYPES: [SqlType; 30] = [
        SqlType::Binary(8),
        SqlType::VarBinary(Length::N(8)),
        SqlType::Char(8),
        SqlType::VarChar(Length::N(8)),
        SqlType::NChar(8),
        SqlType::NVarChar(Length::N(8)),
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::Date,
        SqlType::Time(7),
        SqlType::DateTimeOffset(7),
        SqlType::DateTime2(7),
        SqlType::Decimal { precision: 9, scale: 2 },
        SqlType::Numeric { precision: 9, scale: 2 },
        SqlType::Float,
        SqlType::Real,
        SqlType::BigInt,
        SqlType::Int,
        SqlType::SmallInt,
        SqlType::TinyInt,
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Bit,
        SqlType::RowVersion,
        SqlType::UniqueIdentifier,
        SqlType::Image,
        SqlType::NText,
        SqlType::Text,
        SqlType::SqlVariant,
        SqlType::Xml,
    ];

    #[test]
    fn the_matrix_is_the_chart() {
        let lines: Vec<&str> =
            include_str!("matrix.txt").lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), TYPES.len());
        for (from, line) in TYPES.iter().zip(lines) {
            let letters: Vec<&str> = line.split_whitespace().skip(1).collect();
            assert_eq!(letters.len(), TYPES.len(), "{line}");
            for (to, letter) in TYPES.iter().zip(letters) {
                let expected = match letter {
                    "I" => Implicit,
                    "E" => Explicit,
                    _ => NotAllowed,
                };
                assert_eq!(conversion(from, to), expected, "{} to {}", from.name(), to.name());
            }
        }
    }

    #[test]
    fn types_without_limit_do_not_enter_a_variant_but_take_what_is_in_one() {
        for sql_type in
            [SqlType::VARCHAR_MAX, SqlType::NVarChar(Length::Max), SqlType::VarBinary(Length::Max)]
        {
            assert_eq!(conversion(&sql_type, &SqlType::SqlVariant), NotAllowed);
            assert_eq!(conversion(&SqlType::SqlVariant, &sql_type), Explicit);
        }
    }
}
