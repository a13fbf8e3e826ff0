//! PARSE: text to a number, a date or a time, as .NET's `Parse` of the type reads it in a culture (documentation of PARSE).

use super::Culture;
use crate::datetime::Moment;
use crate::{SqlType, Value};

mod date;
mod number;

/// Is it a type that PARSE makes? Numbers without bit, dates and times.
pub fn makes(target: &SqlType) -> bool {
    use SqlType::{
        BigInt, Date, DateTime, DateTime2, DateTimeOffset, Decimal, Float, Int, Money, Numeric, Real,
        SmallDateTime, SmallInt, SmallMoney, Time, TinyInt,
    };
    matches!(
        target,
        TinyInt
            | SmallInt
            | Int
            | BigInt
            | Decimal { .. }
            | Numeric { .. }
            | Float
            | Real
            | Money
            | SmallMoney
            | Date
            | Time(_)
            | DateTime
            | SmallDateTime
            | DateTime2(_)
            | DateTimeOffset(_)
    )
}

/// Text as a value of the type. `now` is the present local time, for fields that the text omits. `None`: the text is not valid for the type
/// in this culture, or outside its range.
pub fn parse(text: &str, target: &SqlType, culture: &Culture, now: &Moment) -> Option<Value> {
    if crate::sql_type::TypeFamily::DateTime == target.family() {
        date::parse(text, target, culture, now)
    } else {
        number::parse(text, target, culture)
    }
}
