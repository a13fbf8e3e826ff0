//! Date and time functions.

use plan_ir::function_def::{Argument, Call, FunctionDef, Parameter, ResultRule};
use types::datetime::Moment;
use types::temporal::functions::{self, DateTimeParts};
use types::temporal::parts;
use types::{DatePart, DateTime2, SqlError, SqlType, Value};

use Parameter::{Any, Int, Moment as Time, Word};
use ResultRule::{Fixed, Rule};

type Result<T> = std::result::Result<T, SqlError>;

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("GETDATE", &[], Fixed(SqlType::DateTime), |call| now(call, true, SqlType::DateTime))
        .runtime(),
    FunctionDef::new("CURRENT_TIMESTAMP", &[], Fixed(SqlType::DateTime), |call| {
        now(call, true, SqlType::DateTime)
    })
    .runtime(),
    FunctionDef::new("GETUTCDATE", &[], Fixed(SqlType::DateTime), |call| now(call, false, SqlType::DateTime))
        .runtime(),
    FunctionDef::new("SYSDATETIME", &[], Fixed(SqlType::DateTime2(7)), |call| {
        now(call, true, SqlType::DateTime2(7))
    })
    .runtime(),
    FunctionDef::new("SYSUTCDATETIME", &[], Fixed(SqlType::DateTime2(7)), |call| {
        now(call, false, SqlType::DateTime2(7))
    })
    .runtime(),
    FunctionDef::new("SYSDATETIMEOFFSET", &[], Fixed(SqlType::DateTimeOffset(7)), sys_offset).runtime(),
    FunctionDef::new("CURRENT_DATE", &[], Fixed(SqlType::Date), |call| now(call, true, SqlType::Date))
        .runtime(),
    FunctionDef::new("DATEADD", &[Word, Int, Parameter::OldMoment], Rule(date_add_type), date_add),
    FunctionDef::new("DATEDIFF", &[Word, Time, Time], Fixed(SqlType::Int), |call| {
        functions::date_diff(part(call, "datediff")?, &call.args[1], &call.args[2])
    }),
    FunctionDef::new("DATEDIFF_BIG", &[Word, Time, Time], Fixed(SqlType::BigInt), |call| {
        functions::date_diff_big(part(call, "datediff_big")?, &call.args[1], &call.args[2])
    }),
    FunctionDef::new("DATEPART", &[Word, Time], Fixed(SqlType::Int), |call| {
        parts::date_part(part(call, "datepart")?, &call.args[1], first_day(call))
    }),
    FunctionDef::new("DATENAME", &[Word, Time], Fixed(SqlType::nvarchar(30)), |call| {
        parts::date_name(part(call, "datename")?, &call.args[1], first_day(call))
    }),
    FunctionDef::new("DATETRUNC", &[Word, Time], ResultRule::Argument(1), |call| {
        functions::date_trunc(part(call, "datetrunc")?, &call.args[1], &call.types[1], first_day(call))
    }),
    FunctionDef::new("DATE_BUCKET", &[Word, Int, Time, Time], ResultRule::Argument(2), |call| {
        let width = call.int(1).unwrap_or(0);
        functions::date_bucket(part(call, "date_bucket")?, width, &call.args[2], call.args.get(3))
    })
    .arity(3, 4),
    FunctionDef::new("YEAR", &[Time], Fixed(SqlType::Int), |call| {
        parts::date_part(DatePart::Year, &call.args[0], first_day(call))
    }),
    FunctionDef::new("MONTH", &[Time], Fixed(SqlType::Int), |call| {
        parts::date_part(DatePart::Month, &call.args[0], first_day(call))
    }),
    FunctionDef::new("DAY", &[Time], Fixed(SqlType::Int), |call| {
        parts::date_part(DatePart::Day, &call.args[0], first_day(call))
    }),
    FunctionDef::new("EOMONTH", &[Time, Int], Fixed(SqlType::Date), |call| {
        functions::end_of_month(&call.args[0], call.int(1).unwrap_or(0))
    })
    .arity(1, 2),
    FunctionDef::new("DATEFROMPARTS", &[Int], Fixed(SqlType::Date), |call| {
        functions::date_from_parts(number(call, 0), number(call, 1), number(call, 2))
    })
    .arity(3, 3),
    FunctionDef::new(
        "TIMEFROMPARTS",
        &[Int],
        Rule(|arguments| Ok(SqlType::Time(scale_of(arguments, 4, "time")?))),
        time_from_parts,
    )
    .arity(5, 5),
    FunctionDef::new("DATETIMEFROMPARTS", &[Int], Fixed(SqlType::DateTime), |call| {
        all_parts(call, 3).to_value(&SqlType::DateTime)
    })
    .arity(7, 7),
    FunctionDef::new("SMALLDATETIMEFROMPARTS", &[Int], Fixed(SqlType::SmallDateTime), |call| {
        all_parts(call, 0).to_value(&SqlType::SmallDateTime)
    })
    .arity(5, 5),
    FunctionDef::new(
        "DATETIME2FROMPARTS",
        &[Int],
        Rule(|arguments| Ok(SqlType::DateTime2(scale_of(arguments, 7, "datetime2")?))),
        |call| all_parts(call, call.int(7).unwrap_or(7) as u8).to_value(&call.result),
    )
    .arity(8, 8),
    FunctionDef::new(
        "DATETIMEOFFSETFROMPARTS",
        &[Int],
        Rule(|arguments| Ok(SqlType::DateTimeOffset(scale_of(arguments, 9, "datetimeoffset")?))),
        |call| {
            all_parts(call, call.int(9).unwrap_or(7) as u8).to_offset_value(number(call, 7), number(call, 8))
        },
    )
    .arity(10, 10),
    FunctionDef::new("ISDATE", &[Any], Fixed(SqlType::Int), is_date).sees_nulls().runtime(),
    FunctionDef::new("SWITCHOFFSET", &[Any, Any], Rule(offset_type), switch_offset),
    FunctionDef::new("TODATETIMEOFFSET", &[Time, Any], Rule(offset_type), to_offset),
];

/// datetimeoffset with the digits of the argument; 7 for strings.
pub(super) fn offset_type(arguments: &[Argument<'_>]) -> Result<SqlType> {
    Ok(SqlType::DateTimeOffset(match arguments[0].sql_type {
        SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) | SqlType::Time(scale) => scale,
        SqlType::DateTime => 3,
        SqlType::SmallDateTime | SqlType::Date => 0,
        _ => 7,
    }))
}

fn first_day(call: &Call<'_, '_>) -> u8 {
    call.runtime.options.date_first
}

fn number(call: &Call<'_, '_>, index: usize) -> i32 {
    call.int(index).unwrap_or(0) as i32
}

/// The date part in the first argument; error 155.
fn part(call: &Call<'_, '_>, function: &str) -> Result<DatePart> {
    let word = call.text(0).unwrap_or_default();
    DatePart::by_name(&word).ok_or_else(|| plan_ir::errors::unknown_date_part(&word, function))
}

/// The statement's current time in a type, in local time or UTC.
fn now(call: &Call<'_, '_>, local: bool, to: SqlType) -> Result<Value> {
    let mut ticks = call.runtime.now_utc_ticks();
    if local {
        ticks += i64::from(call.runtime.instance.os().clock().local_offset_minutes()) * 600_000_000;
    }
    let moment = Moment::from_ticks(ticks).ok_or_else(|| plan_ir::errors::overflow("datetime2"))?;
    moment.to_value(&to).ok_or_else(|| plan_ir::errors::overflow(to.name()))
}

fn sys_offset(call: &Call<'_, '_>) -> Result<Value> {
    let offset = call.runtime.instance.os().clock().local_offset_minutes();
    let utc = DateTime2 { ticks: call.runtime.now_utc_ticks() };
    Ok(Value::DateTimeOffset(types::DateTimeOffset { utc, offset_minutes: offset as i16 }))
}

/// The result type of DATEADD: the type of its date.
fn date_add_type(arguments: &[Argument<'_>]) -> Result<SqlType> {
    Ok(arguments[2].sql_type)
}

fn date_add(call: &Call<'_, '_>) -> Result<Value> {
    functions::date_add(part(call, "dateadd")?, call.int(1).unwrap_or(0), &call.args[2])
}

/// The scale of a ...FROMPARTS result, from its last argument. Errors 1002 (above 7), 10760 (not a constant, or NULL).
fn scale_of(arguments: &[Argument<'_>], index: usize, type_name: &str) -> Result<u8> {
    let given = arguments.get(index).and_then(|argument| argument.constant).and_then(Value::as_i64);
    let scale = given.ok_or_else(|| SqlError::new(10760, &[&type_name]))?;
    match u8::try_from(scale) {
        Ok(scale @ 0..=7) => Ok(scale),
        _ => Err(SqlError::new(1002, &[&1, &scale])),
    }
}

fn time_from_parts(call: &Call<'_, '_>) -> Result<Value> {
    let scale = call.int(4).unwrap_or(7).clamp(0, 7) as u8;
    functions::time_from_parts(number(call, 0), number(call, 1), number(call, 2), number(call, 3), scale)
}

/// Year, month, day, hour, minute, second, fraction; missing ones are 0.
fn all_parts(call: &Call<'_, '_>, scale: u8) -> DateTimeParts {
    let fractions = if call.args.len() > 6 { number(call, 6) } else { 0 };
    DateTimeParts {
        date: [number(call, 0), number(call, 1), number(call, 2)],
        time: [number(call, 3), number(call, 4), if call.args.len() > 5 { number(call, 5) } else { 0 }],
        fractions,
        scale,
    }
}

fn is_date(call: &Call<'_, '_>) -> Result<Value> {
    let value = &call.args[0];
    let context = call.runtime.convert_context();
    let convert = |value: &Value, from: &SqlType, to: &SqlType| {
        types::convert(value, from, to, types::DEFAULT_STYLE, context)
    };
    let is_date = |text: &Value, from: &SqlType| convert(text, from, &SqlType::DateTime).is_ok();
    let from = &call.types[0];
    let good = match value {
        Value::Null => false,
        Value::DateTime(_) | Value::SmallDateTime(_) => true,
        _ if from.is_character() => is_date(value, from),
        // A number is converted to text and parsed: 20200131 is a date.
        _ if from.is_numeric() => {
            let text = SqlType::varchar(64);
            convert(value, from, &text).is_ok_and(|value| is_date(&value, &text))
        }
        _ => false,
    };
    Ok(Value::Int(i32::from(good)))
}

/// An offset given as `+hh:mm` or in minutes. Error 9812.
fn offset_minutes(call: &Call<'_, '_>, function: &str) -> Result<i32> {
    if let Some(minutes) = call.int(1) {
        return Ok(minutes as i32);
    }
    let text = call.text(1).unwrap_or_default();
    let parsed = || {
        let (sign, rest) = match text.trim().split_at_checked(1)? {
            ("+", rest) => (1, rest),
            ("-", rest) => (-1, rest),
            _ => return None,
        };
        let (hours, minutes) = rest.split_once(':')?;
        Some(sign * (hours.parse::<i32>().ok()? * 60 + minutes.parse::<i32>().ok()?))
    };
    parsed().ok_or_else(|| SqlError::new(9812, &[&function]))
}

/// The first argument as a value of another type.
fn first_as(call: &Call<'_, '_>, to: SqlType) -> Result<Value> {
    types::convert(&call.args[0], &call.types[0], &to, types::DEFAULT_STYLE, call.runtime.convert_context())
}

fn switch_offset(call: &Call<'_, '_>) -> Result<Value> {
    match first_as(call, SqlType::DateTimeOffset(7))? {
        Value::DateTimeOffset(value) => {
            functions::switch_offset(value, offset_minutes(call, "switchoffset")?).map(Value::DateTimeOffset)
        }
        other => Ok(other),
    }
}

fn to_offset(call: &Call<'_, '_>) -> Result<Value> {
    match first_as(call, SqlType::DateTime2(7))? {
        Value::DateTime2(value) => {
            functions::to_datetimeoffset(value, offset_minutes(call, "todatetimeoffset")?)
                .map(Value::DateTimeOffset)
        }
        other => Ok(other),
    }
}
