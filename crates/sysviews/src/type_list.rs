//! The types of `sys.types`.

use types::SqlType;

/// The types of `sys.types`, with their greatest or usual arguments.
pub(crate) fn all_types() -> &'static [SqlType] {
    use types::Length::N;
    &[
        SqlType::Image,
        SqlType::Text,
        SqlType::UniqueIdentifier,
        SqlType::Date,
        SqlType::Time(7),
        SqlType::DateTime2(7),
        SqlType::DateTimeOffset(7),
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::SmallDateTime,
        SqlType::Real,
        SqlType::Money,
        SqlType::DateTime,
        SqlType::Float,
        SqlType::SqlVariant,
        SqlType::NText,
        SqlType::Bit,
        SqlType::Decimal { precision: 38, scale: 38 },
        SqlType::Numeric { precision: 38, scale: 38 },
        SqlType::SmallMoney,
        SqlType::BigInt,
        SqlType::VarBinary(N(8000)),
        SqlType::VarChar(N(8000)),
        SqlType::Binary(8000),
        SqlType::Char(8000),
        SqlType::RowVersion,
        SqlType::SysName,
        SqlType::NVarChar(N(4000)),
        SqlType::NChar(4000),
        SqlType::Xml,
    ]
}

/// A type by its name in `sys.types`.
pub(crate) fn type_by_name(name: &str) -> Option<SqlType> {
    all_types().iter().find(|sql_type| sql_type.name().eq_ignore_ascii_case(name.trim())).copied()
}
