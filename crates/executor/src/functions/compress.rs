//! COMPRESS and DECOMPRESS: the GZIP format (RFC 1952), compatible with other programs.

use std::io::{Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::{Length, SqlError, SqlType, Value};

const RESULT: ResultRule = ResultRule::Fixed(SqlType::VarBinary(Length::Max));

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("COMPRESS", &[Parameter::Any], RESULT, compress),
    FunctionDef::new("DECOMPRESS", &[Parameter::Any], RESULT, decompress),
];

/// Largest value.
const BYTES_MAX: usize = i32::MAX as usize;
/// Bytes decompressed between two memory checks: a few bytes may expand to gigabytes.
const STEP_BYTES: usize = 64 << 10;

/// Compresses the bytes of a string or binary value; strings in their own encoding. Error 8116 for other types.
fn compress(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    let bytes = match &call.args[0] {
        Value::Null => return Ok(Value::Null),
        Value::Char(bytes) | Value::Binary(bytes) => bytes.to_vec(),
        Value::NChar(units) => units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
        _ => return Err(SqlError::new(8116, &[&call.types[0].name(), &1, &"Compress"])),
    };
    os::memory::ask(bytes.len()).map_err(plan_ir::errors::out_of_memory)?;
    // No time and no system's name, as SQL Server's: equal values give equal bytes.
    let mut packer = GzBuilder::new().operating_system(0).write(Vec::new(), Compression::fast());
    let packed = packer.write_all(&bytes).and_then(|()| packer.finish());
    Ok(Value::binary(&packed.expect("a vector takes everything")))
}

/// Decompresses a value. NULL when the bytes have another format or are damaged, as in SQL Server. Errors 8116 for other types, 701.
fn decompress(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    let packed = match &call.args[0] {
        Value::Binary(bytes) => bytes,
        Value::Null if matches!(call.types[0], SqlType::Binary(_) | SqlType::VarBinary(_)) => {
            return Ok(Value::Null);
        }
        _ => return Err(SqlError::new(8116, &[&call.types[0].name(), &1, &"Decompress"])),
    };
    let mut unpacker = MultiGzDecoder::new(&packed[..]);
    let mut bytes = Vec::new();
    loop {
        os::memory::ask(bytes.len() + STEP_BYTES).map_err(plan_ir::errors::out_of_memory)?;
        match (&mut unpacker).take(STEP_BYTES as u64).read_to_end(&mut bytes) {
            Ok(0) => return Ok(Value::binary(&bytes)),
            Ok(_) if bytes.len() <= BYTES_MAX => {}
            Ok(_) | Err(_) => return Ok(Value::Null),
        }
    }
}
