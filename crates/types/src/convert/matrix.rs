//! Which type converts to which: the documented matrix of implicit and explicit conversions ("Data type conversion").

use crate::sql_type::TypeFamily;
use crate::{SqlError, SqlType};

/// How a conversion may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Done unasked.
    Implicit,
    /// Needs CAST or CONVERT (error 257 otherwise).
    Explicit,
    /// Never (error 529 for CAST, 206 unasked).
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
        (F::Variant, _) if *to == SqlType::RowVersion || to.is_large_object() => NotAllowed,
        (F::Variant, _) => Explicit,
        (_, F::Variant) if from.is_large_object() => NotAllowed,
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
