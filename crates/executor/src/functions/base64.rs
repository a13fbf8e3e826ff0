//! BASE64_ENCODE and BASE64_DECODE: RFC 4648, with its standard alphabet or the URL-safe one, whose output has no padding.

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

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_ADDRESSES: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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
    let for_addresses = call.int(1).unwrap_or(0) != 0;
    let alphabet = if for_addresses { FOR_ADDRESSES } else { ALPHABET };
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            if at <= three.len() {
                text.push(char::from(alphabet[(bits >> (18 - 6 * at) & 63) as usize]));
            } else if !for_addresses {
                text.push('=');
            }
        }
    }
    Ok(Value::varchar(&text))
}

/// Accepts either alphabet, with or without padding; skips blanks and line ends. Error 9803 for other characters.
fn decode(call: &Call<'_, '_>) -> Result<Value> {
    let text = call.text(0).unwrap_or_default();
    let invalid = || SqlError::new(9803, &[&"Base64Decode"]).with_state(20);
    let shown = text.trim_end_matches([' ', '\t', '\r', '\n']);
    let padding = shown.len() - shown.trim_end_matches('=').len();
    let (mut bytes, mut bits, mut digits) = (Vec::with_capacity(text.len() / 4 * 3 + 3), 0u32, 0usize);
    for byte in shown[..shown.len() - padding].bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let is_it = |known: &u8| *known == byte;
        let digit = ALPHABET.iter().position(is_it).or_else(|| FOR_ADDRESSES.iter().position(is_it));
        bits = bits << 6 | digit.ok_or_else(invalid)? as u32;
        digits += 1;
        if digits % 4 == 0 {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            bits = 0;
        }
    }
    match (digits % 4, padding) {
        (0, 0) => {}
        (2, 0 | 2) => bytes.push((bits >> 4) as u8),
        (3, 0 | 1) => bytes.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        _ => return Err(invalid()),
    }
    Ok(Value::binary(&bytes))
}
