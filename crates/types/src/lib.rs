//! SQL values, types, collations, conversions and the error catalogue, as SQL Server has them. No storage, no syntax, no I/O.
//!
//! The entry points: [`Value`] and [`SqlType`] (a value and its type name), [`convert()`] and [`assign`] (from one type to
//! another), [`compare()`] with a [`Collation`], [`arith`] (operators and their result types), [`Collation::key`] (memcomparable
//! sort keys), [`functions`] (built-in functions that need no session), [`SqlError`] with [`messages`] (every error's number,
//! severity and text), [`substitute()`] (values put into a message of users).

pub mod arith;
pub mod codepage;
pub mod collation;
pub mod compare;
pub mod convert;
pub mod datetime;
pub mod decimal;
pub mod error;
pub mod functions;
pub mod guid;
pub mod messages;
pub mod money;
pub mod nearest;
pub mod operator;
pub mod sql_type;
pub mod strings;
pub mod styles;
pub mod substitute;
pub mod temporal;
pub mod value;
pub mod xml;

pub use collation::{Collation, LikePattern};
pub use compare::{compare, hash_value, is_equal, sort_compare};
pub use convert::assign::{AssignTarget, assign};
pub use convert::{ConvertContext, check_xml, convert};
pub use datetime::{Date, DateFormat, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
pub use decimal::Decimal;
pub use error::{ErrorFields, SqlError};
pub use nearest::{Nearest, SeekFit, keeps_values, nearest, seek_fit};
pub use sql_type::{Length, SqlType};
pub use strings::{ByteStr, WideStr};
pub use styles::DEFAULT_STYLE;
pub use substitute::substitute;
pub use temporal::DatePart;
pub use value::{Value, Variant};

/// The result of operations that a user's mistake can make fail.
pub type SqlResult<T> = Result<T, SqlError>;
