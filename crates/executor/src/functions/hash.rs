//! HASHBYTES.

use md5::Md5;
use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use types::{SqlError, SqlType, Value};

pub(crate) static TABLE: &[FunctionDef] = &[FunctionDef::new(
    "HASHBYTES",
    &[Parameter::Wide, Parameter::Any],
    ResultRule::Fixed(SqlType::varbinary(8000)),
    hash_bytes,
)];

/// The digest of the bytes of a string or binary value. An unknown algorithm gives NULL, as in SQL Server; MD2 and MD4, which SQL Server
/// knows and Hardpan does not support, are refused. Errors 8116, 40514.
fn hash_bytes(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    let bytes: Vec<u8> = match &call.args[1] {
        Value::Char(bytes) | Value::Binary(bytes) => bytes.to_vec(),
        Value::NChar(units) => units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
        _ => return Err(SqlError::new(8116, &[&call.types[1].name(), &2, &"hashbytes"])),
    };
    let algorithm = call.text(0).unwrap_or_default().to_ascii_uppercase();
    let digest = match algorithm.as_str() {
        "MD5" => Md5::digest(&bytes).to_vec(),
        "SHA" | "SHA1" => Sha1::digest(&bytes).to_vec(),
        "SHA2_256" => Sha256::digest(&bytes).to_vec(),
        "SHA2_512" => Sha512::digest(&bytes).to_vec(),
        "MD2" | "MD4" => return Err(SqlError::new(40514, &[&format!("HASHBYTES('{algorithm}')")])),
        _ => return Ok(Value::Null),
    };
    Ok(Value::binary(&digest))
}
