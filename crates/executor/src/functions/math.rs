//! Mathematical functions.

use plan_ir::function_def::{Argument, Call, FunctionDef, Parameter, ResultRule};
use plan_ir::random_numbers::RandomNumbers;
use plan_ir::values::to_f64;
use types::{Decimal, SqlError, SqlType, Value};

use Parameter::{Any, Float, Int, Number};
use ResultRule::{Argument as Same, Fixed, Rule};

type Result<T> = std::result::Result<T, SqlError>;

const FLOAT: ResultRule = Fixed(SqlType::Float);

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("ABS", &[Number], Rule(widened), abs),
    FunctionDef::new("CEILING", &[Number], Rule(whole), ceiling),
    FunctionDef::new("FLOOR", &[Number], Rule(whole), floor),
    FunctionDef::new("ROUND", &[Number, Int, Int], Rule(widened), round).arity(2, 3),
    FunctionDef::new("SIGN", &[Number], Rule(widened), sign),
    FunctionDef::new("POWER", &[Number, Float], Rule(widened), power),
    FunctionDef::new("SQRT", &[Float], FLOAT, |call| {
        float(call, |x| if x < 0.0 { None } else { Some(x.sqrt()) })
    }),
    FunctionDef::new("SQUARE", &[Float], FLOAT, |call| float(call, |x| Some(x * x))),
    FunctionDef::new("EXP", &[Float], FLOAT, |call| float(call, |x| Some(x.exp()))),
    FunctionDef::new("LOG", &[Float, Float], FLOAT, log).arity(1, 2),
    FunctionDef::new("LOG10", &[Float], FLOAT, |call| {
        float(call, |x| if x <= 0.0 { None } else { Some(x.log10()) })
    }),
    FunctionDef::new("PI", &[], FLOAT, |_| Ok(Value::Float(std::f64::consts::PI))),
    FunctionDef::new("SIN", &[Float], FLOAT, |call| float(call, |x| Some(x.sin()))),
    FunctionDef::new("COS", &[Float], FLOAT, |call| float(call, |x| Some(x.cos()))),
    FunctionDef::new("TAN", &[Float], FLOAT, |call| float(call, |x| Some(x.tan()))),
    FunctionDef::new("COT", &[Float], FLOAT, |call| {
        float(call, |x| if x == 0.0 { None } else { Some(1.0 / x.tan()) })
    }),
    FunctionDef::new("ASIN", &[Float], FLOAT, |call| {
        float(call, |x| if x.abs() > 1.0 { None } else { Some(x.asin()) })
    }),
    FunctionDef::new("ACOS", &[Float], FLOAT, |call| {
        float(call, |x| if x.abs() > 1.0 { None } else { Some(x.acos()) })
    }),
    FunctionDef::new("ATAN", &[Float], FLOAT, |call| float(call, |x| Some(x.atan()))),
    FunctionDef::new("ATN2", &[Float, Float], FLOAT, |call| {
        Ok(Value::Float(call.float(0).unwrap_or(0.0).atan2(call.float(1).unwrap_or(0.0))))
    }),
    FunctionDef::new("DEGREES", &[Number], Rule(angle), |call| {
        back(call, to_f64(&call.args[0]).to_degrees())
    }),
    FunctionDef::new("RADIANS", &[Number], Rule(angle), |call| {
        back(call, to_f64(&call.args[0]).to_radians())
    }),
    FunctionDef::new("RAND", &[Int], FLOAT, seeded).arity(0, 1).runtime(),
    FunctionDef::new("GREATEST", &[Any], Same(0), |call| extreme(call, std::cmp::Ordering::Greater))
        .arity(1, 254)
        .sees_nulls(),
    FunctionDef::new("LEAST", &[Any], Same(0), |call| extreme(call, std::cmp::Ordering::Less))
        .arity(1, 254)
        .sees_nulls(),
    FunctionDef::new("CHECKSUM", &[Any], Fixed(SqlType::Int), |call| Ok(Value::Int(checksum(call, true))))
        .arity(1, 254)
        .sees_nulls(),
    FunctionDef::new("BINARY_CHECKSUM", &[Any], Fixed(SqlType::Int), |call| {
        Ok(Value::Int(checksum(call, false)))
    })
    .arity(1, 254)
    .sees_nulls(),
];

/// tinyint and smallint become int, smallmoney money, real float; decimals keep their type.
fn widened(arguments: &[Argument<'_>]) -> Result<SqlType> {
    Ok(match arguments[0].sql_type {
        SqlType::Bit => SqlType::Float,
        SqlType::TinyInt | SqlType::SmallInt => SqlType::Int,
        SqlType::SmallMoney => SqlType::Money,
        SqlType::Real => SqlType::Float,
        other => other,
    })
}

/// As `widened`; a decimal angle gets 18 digits after the point, whatever its own scale.
fn angle(arguments: &[Argument<'_>]) -> Result<SqlType> {
    Ok(match widened(arguments)? {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => SqlType::decimal(38, 18),
        other => other,
    })
}

/// As `widened`; decimals lose their fraction.
fn whole(arguments: &[Argument<'_>]) -> Result<SqlType> {
    Ok(match widened(arguments)? {
        SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => {
            SqlType::decimal(precision, 0)
        }
        other => other,
    })
}

/// A float function; `None` is a domain error (3623).
fn float(call: &Call<'_, '_>, f: impl Fn(f64) -> Option<f64>) -> Result<Value> {
    let result = f(call.float(0).unwrap_or(0.0)).ok_or_else(plan_ir::errors::invalid_float)?;
    if result.is_finite() { Ok(Value::Float(result)) } else { Err(plan_ir::errors::overflow("float")) }
}

/// Converts a float to the result type; integers are rounded.
fn back(call: &Call<'_, '_>, number: f64) -> Result<Value> {
    if !number.is_finite() {
        return Err(plan_ir::errors::overflow(call.result.name()));
    }
    match call.result {
        SqlType::Float => Ok(Value::Float(number)),
        SqlType::Int => integer(call, number.trunc() as i128),
        SqlType::BigInt => integer(call, number.trunc() as i128),
        SqlType::Money => Ok(Value::Money((number * 10_000.0).round() as i64)),
        _ => types::convert(
            &Value::Float(number),
            &SqlType::Float,
            &call.result,
            types::DEFAULT_STYLE,
            call.runtime.convert_context(),
        ),
    }
}

fn integer(call: &Call<'_, '_>, number: i128) -> Result<Value> {
    let overflow = || plan_ir::errors::overflow(call.result.name());
    match call.result {
        SqlType::BigInt => i64::try_from(number).map(Value::BigInt).map_err(|_| overflow()),
        _ => i32::try_from(number).map(Value::Int).map_err(|_| overflow()),
    }
}

fn decimal(call: &Call<'_, '_>, mantissa: i128, scale: u8) -> Result<Value> {
    let precision = call.result.precision();
    if mantissa.unsigned_abs() >= 10u128.pow(u32::from(precision)) {
        return Err(plan_ir::errors::overflow(call.result.name()));
    }
    Ok(Value::Decimal(Decimal::new(mantissa, precision, scale)))
}

fn abs(call: &Call<'_, '_>) -> Result<Value> {
    match &call.args[0] {
        Value::Float(x) => Ok(Value::Float(x.abs())),
        Value::Real(x) => Ok(Value::Float(f64::from(x.abs()))),
        Value::Money(x) => {
            x.checked_abs().map(Value::Money).ok_or_else(|| plan_ir::errors::overflow("money"))
        }
        Value::Decimal(x) => decimal(call, x.mantissa().abs(), x.scale()),
        value => match call.result {
            SqlType::Float => Ok(Value::Float(to_f64(value).abs())),
            _ => integer(call, i128::from(value.as_i64().unwrap_or(0)).abs()),
        },
    }
}

fn sign(call: &Call<'_, '_>) -> Result<Value> {
    let sign = match &call.args[0] {
        Value::Decimal(x) => x.mantissa().signum() as i64,
        Value::Money(x) => x.signum(),
        value => {
            let x = to_f64(value);
            if x > 0.0 { 1 } else { -i64::from(x < 0.0) }
        }
    };
    match call.result {
        SqlType::Float => Ok(Value::Float(sign as f64)),
        SqlType::Money => Ok(Value::Money(sign * 10_000)),
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            decimal(call, i128::from(sign) * 10i128.pow(u32::from(scale)), scale)
        }
        _ => integer(call, i128::from(sign)),
    }
}

/// Rounds a scaled number up or down.
fn towards(mantissa: i128, unit: i128, up: bool) -> i128 {
    let floor = mantissa.div_euclid(unit);
    if up && mantissa.rem_euclid(unit) != 0 { floor + 1 } else { floor }
}

fn to_whole(call: &Call<'_, '_>, up: bool) -> Result<Value> {
    match &call.args[0] {
        Value::Float(x) => Ok(Value::Float(if up { x.ceil() } else { x.floor() })),
        Value::Real(x) => Ok(Value::Float(f64::from(if up { x.ceil() } else { x.floor() }))),
        Value::Money(x) => Ok(Value::Money((towards(i128::from(*x), 10_000, up) * 10_000) as i64)),
        Value::Decimal(x) => decimal(call, towards(x.mantissa(), 10i128.pow(u32::from(x.scale())), up), 0),
        value => match call.result {
            SqlType::Float => Ok(Value::Float(to_f64(value))),
            _ => integer(call, i128::from(value.as_i64().unwrap_or(0))),
        },
    }
}

fn ceiling(call: &Call<'_, '_>) -> Result<Value> {
    to_whole(call, true)
}

fn floor(call: &Call<'_, '_>) -> Result<Value> {
    to_whole(call, false)
}

/// Rounds half away from zero, or truncates, at `digits` after the decimal point of a number scaled by 10^scale.
fn round_mantissa(mantissa: i128, scale: i64, digits: i64, cut: bool) -> i128 {
    if digits >= scale {
        return mantissa;
    }
    let Some(unit) = u32::try_from(scale - digits)
        .ok()
        .filter(|power| *power <= 38)
        .and_then(|power| 10i128.checked_pow(power))
    else {
        return 0;
    };
    let (quotient, rest) = (mantissa / unit, mantissa % unit);
    let away = if !cut && rest.abs() >= unit - rest.abs() { rest.signum() } else { 0 };
    (quotient + away) * unit
}

fn round(call: &Call<'_, '_>) -> Result<Value> {
    let digits = call.int(1).unwrap_or(0);
    let cut = call.int(2).unwrap_or(0) != 0;
    match &call.args[0] {
        Value::Money(x) => Ok(Value::Money(round_mantissa(i128::from(*x), 4, digits, cut) as i64)),
        Value::Decimal(x) => {
            decimal(call, round_mantissa(x.mantissa(), i64::from(x.scale()), digits, cut), x.scale())
        }
        Value::Float(_) | Value::Real(_) => {
            let x = to_f64(&call.args[0]);
            let factor = 10f64.powi(digits.clamp(-300, 300) as i32);
            let scaled = x * factor;
            let rounded = if cut { scaled.trunc() } else { scaled.round() };
            let result = if scaled.is_finite() && factor != 0.0 { rounded / factor } else { x };
            Ok(Value::Float(result))
        }
        value => match call.result {
            SqlType::Float => Ok(Value::Float(to_f64(value))),
            _ => integer(call, round_mantissa(i128::from(value.as_i64().unwrap_or(0)), 0, digits, cut)),
        },
    }
}

fn power(call: &Call<'_, '_>) -> Result<Value> {
    let (base, exponent) = (to_f64(&call.args[0]), call.float(1).unwrap_or(0.0));
    if base == 0.0 && exponent < 0.0 {
        return Err(SqlError::new(8134, &[]));
    }
    let result = base.powf(exponent);
    if result.is_nan() {
        return Err(plan_ir::errors::invalid_float());
    }
    if result.is_infinite() {
        return Err(plan_ir::errors::overflow(call.result.name()));
    }
    // POWER(10, 10): the documented error for an int base is 232, with the value.
    let limit = match call.result {
        SqlType::Int => 2_147_483_648.0,
        SqlType::BigInt => 9.223_372_036_854_776e18,
        _ => f64::INFINITY,
    };
    if result.abs() >= limit {
        return Err(SqlError::new(232, &[&call.result.name(), &format!("{result:.6}")]));
    }
    back(call, result)
}

fn log(call: &Call<'_, '_>) -> Result<Value> {
    let x = call.float(0).unwrap_or(0.0);
    if x <= 0.0 {
        return Err(plan_ir::errors::invalid_float());
    }
    match call.args.get(1) {
        None => Ok(Value::Float(x.ln())),
        Some(_) => {
            let base = call.float(1).unwrap_or(0.0);
            if base <= 0.0 || base == 1.0 {
                Err(plan_ir::errors::invalid_float())
            } else {
                Ok(Value::Float(x.log(base)))
            }
        }
    }
}

/// RAND() without a seed: the binder adds the number of its place as the argument. As documented, each place has one value per statement for all
/// rows, so a seek by it and the repeated test of the rows use one number.
pub static RAND_OF_PLACE: FunctionDef = FunctionDef::new("RAND", &[Parameter::BigInt], FLOAT, |call| {
    let [Value::BigInt(place)] = call.args[..] else { unreachable!("the binder gives RAND() its place") };
    Ok(Value::Float(call.runtime.random_of(place, || {
        with_generator(call, |numbers| {
            numbers.next(|| {
                let mut bytes = [0u8; 8];
                call.runtime.instance.os().fill_random(&mut bytes);
                i64::from_le_bytes(bytes)
            })
        })
    })))
})
.runtime();

/// RAND(seed): the same number for the same seed, and the same ones after it.
fn seeded(call: &Call<'_, '_>) -> Result<Value> {
    let Some(seed) = call.int(0) else { return Ok(Value::Null) };
    Ok(Value::Float(with_generator(call, |numbers| {
        numbers.seed(seed);
        numbers.next(|| seed)
    })))
}

/// Uses the session's generator, or a temporary one where there is none.
fn with_generator(call: &Call<'_, '_>, draw: impl FnOnce(&RandomNumbers) -> f64) -> f64 {
    match call.runtime.state.random_numbers() {
        Some(numbers) => draw(numbers),
        None => draw(&RandomNumbers::default()),
    }
}

fn extreme(call: &Call<'_, '_>, wanted: std::cmp::Ordering) -> Result<Value> {
    let mut best = Value::Null;
    for value in call.args.iter().filter(|value| !value.is_null()) {
        if best.is_null() || types::sort_compare(value, &best, call.collation) == wanted {
            best = value.clone();
        }
    }
    Ok(best)
}

/// A hash of all arguments; CHECKSUM ignores letter case under the collation. Integers up to 32 bits are hashed as such, NULL as the
/// largest of them; other values byte by byte.
fn checksum(call: &Call<'_, '_>, by_collation: bool) -> i32 {
    let mut sum: u32 = 0;
    for value in call.args {
        let mut key = Vec::new();
        let whole = match value {
            Value::Null => Some(i64::from(i32::MAX)),
            Value::Bit(_) | Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) => value.as_i64(),
            _ => None,
        };
        if let Some(whole) = whole {
            sum = sum.rotate_left(4) ^ whole as u32;
        } else if by_collation || value.as_text().is_none() {
            call.collation.key(value, &mut key);
        } else if let Value::Char(bytes) | Value::Binary(bytes) = value {
            key.extend_from_slice(bytes);
        } else if let Value::NChar(units) = value {
            units.write_le_bytes(&mut key);
        }
        for byte in key {
            sum = sum.rotate_left(4) ^ u32::from(byte);
        }
    }
    sum as i32
}
