//! A procedure call: its arguments and its results.

use types::{SqlType, Value};

use crate::rpc::RpcParameter;

/// One evaluated argument of a call.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    /// Name with `@`; `None`: positional.
    pub(crate) name: Option<String>,
    pub(crate) sql_type: SqlType,
    /// `None` asks for the parameter's default.
    pub(crate) value: Option<Value>,
    pub(crate) output: bool,
}

/// The results of a call.
#[derive(Debug, Default)]
pub(crate) struct CallResult {
    pub(crate) status: i32,
    /// OUTPUT arguments: index of the argument, the parameter's name and type, its last value.
    pub(crate) outputs: Vec<(usize, String, SqlType, Value)>,
    /// The value of a scalar function.
    pub(crate) returned: Option<(SqlType, Value)>,
}

impl Argument {
    /// The value; NULL when the default is asked for.
    pub(crate) fn or_null(&self) -> Value {
        self.value.clone().unwrap_or(Value::Null)
    }

    pub(crate) fn from_rpc(parameter: RpcParameter) -> Argument {
        let RpcParameter { name, sql_type, value, output, default } = parameter;
        let name = Some(name).filter(|n| !n.is_empty());
        Argument { name, sql_type, value: (!default).then_some(value), output }
    }
}
