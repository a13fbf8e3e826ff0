//! BASE64_ENCODE and BASE64_DECODE: RFC 4648, with its standard alphabet or the URL-safe one, whose output has no padding.

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD, URL_SAFE_NO_PAD};
use base64::{Engine, alphabet};
use plan_ir::function_def::{Argument, Call, FunctionDef, Parameter, ResultRule};
use types::{Length, SqlError, SqlType, Value};

type Result<T> = std::result::Result<T, SqlError>;

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new(
        "BASE64_ENCODE",
        &[Parameter::Any, Parameter::Int],
        ResultRule::Rule(encoded_type),
        encode,
    )
    .arity(1, 2)
    .copies(3),
    FunctionDef::new("BASE64_DECODE", &[Parameter::Text], ResultRule::Rule(decoded_type), decode),
];

/// Padding is checked here, and bits behind the last byte are ignored, as SQL Server ignores them.
const WITHOUT_PADDING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// varchar(8000) if the result cannot be longer, otherwise varchar(max). Error 8116 unless the argument is a binary string.
fn encoded_type(arguments: &[Argument<'_>]) -> Result<SqlType> {
    match arguments[0].sql_type {
        SqlType::Binary(size) | SqlType::VarBinary(Length::N(size)) if size <= 6000 => {
            Ok(SqlType::varchar(8000))
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) => Ok(SqlType::VARCHAR_MAX),
        other => Err(SqlError::new(8116, &[&other.name(), &1, &"Base64_Encode"])),
    }
}

fn decoded_type(arguments: &[Argument<'_>]) -> Result<SqlType> {
    Ok(match arguments[0].sql_type {
        SqlType::VarChar(Length::Max) | SqlType::NVarChar(Length::Max) | SqlType::Text | SqlType::NText => {
            SqlType::VarBinary(Length::Max)
        }
        _ => SqlType::VarBinary(Length::N(8000)),
    })
}

fn encode(call: &Call<'_, '_>) -> Result<Value> {
    let Value::Binary(bytes) = &call.args[0] else { unreachable!("the result rule has refused others") };
    let is_url_safe = call.int(1).unwrap_or(0) != 0;
    Ok(Value::varchar(&if is_url_safe {
        URL_SAFE_NO_PAD.encode(&bytes[..])
    } else {
        STANDARD.encode(&bytes[..])
    }))
}

/// Accepts either alphabet, with or without padding; skips blanks and line ends. Error 9803 for other characters.
fn decode(call: &Call<'_, '_>) -> Result<Value> {
    let text = call.text(0).unwrap_or_default();
    let invalid = || SqlError::new(9803, &[&"Base64Decode"]).with_state(20);
    let shown = text.trim_end_matches([' ', '\t', '\r', '\n']);
    let padding = shown.len() - shown.trim_end_matches('=').len();
    let standard = |byte: u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => byte,
    };
    let digits = shown[..shown.len() - padding].bytes().filter(|byte| !byte.is_ascii_whitespace());
    let digits: Vec<u8> = digits.map(standard).collect();
    match (digits.len() % 4, padding) {
        (0, 0) | (2, 0 | 2) | (3, 0 | 1) => {}
        _ => return Err(invalid()),
    }
    Ok(Value::binary(&WITHOUT_PADDING.decode(digits).map_err(|_| invalid())?))
}
