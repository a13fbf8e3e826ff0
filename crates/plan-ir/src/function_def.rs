//! The definition of a built-in function: arity, argument rule, result rule, evaluator.

use types::{Collation, SqlError, SqlType, Value};

use crate::runtime::Runtime;

/// One built-in function.
#[derive(Debug)]
pub struct FunctionDef {
    /// Upper case.
    pub name: &'static str,
    pub min_arguments: u8,
    /// 255: any number.
    pub max_arguments: u8,
    /// The type rule of each argument; the last repeats.
    pub parameters: &'static [Parameter],
    pub result: ResultRule,
    pub determinism: Determinism,
    /// Any NULL argument makes the result NULL without calling the evaluator.
    pub strict: bool,
    /// How many times the length of its arguments it allocates at most, as the result and on the way. What makes more than that asks itself.
    pub copies: usize,
    /// The result is NULL only for NULL arguments (for `nullable` of columns).
    pub evaluate: fn(&Call<'_, '_>) -> Result<Value, SqlError>,
}

/// When a call may be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Determinism {
    /// Same arguments, same value, for ever: folded when bound.
    Deterministic,
    /// One value a statement: GETDATE, DB_ID, @@ROWCOUNT.
    Runtime,
    /// A new value a call: NEWID.
    Volatile,
}

/// The type rule by which the binder converts an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// As it is.
    Any,
    Int,
    BigInt,
    Float,
    /// A number stays, anything else becomes float.
    Number,
    /// char and nchar families stay, others become varchar.
    Text,
    /// Becomes nvarchar.
    Wide,
    /// Date and time types stay; strings become datetime2(7), numbers datetime.
    Moment,
    /// Date and time types stay; strings and numbers become datetime (DATEADD).
    OldMoment,
    /// A bare word such as `day`; arrives as an nchar constant.
    Word,
}

/// The type of a result.
#[derive(Clone, Copy, Debug)]
pub enum ResultRule {
    Fixed(SqlType),
    /// Type of an argument.
    Argument(usize),
    /// Computed from the arguments.
    Rule(fn(&[Argument<'_>]) -> Result<SqlType, SqlError>),
}

/// An argument as a result rule sees it: after conversion.
pub struct Argument<'a> {
    pub sql_type: SqlType,
    /// Its value when it is a constant.
    pub constant: Option<&'a Value>,
}

/// A call being evaluated.
pub struct Call<'a, 'r> {
    pub args: &'a [Value],
    pub types: &'a [SqlType],
    pub result: SqlType,
    pub collation: Collation,
    pub runtime: &'a Runtime<'r>,
}

impl Call<'_, '_> {
    /// An integer argument; the binder has made it int or bigint. NULL and absent are `None`.
    #[inline]
    pub fn int(&self, index: usize) -> Option<i64> {
        self.args.get(index).and_then(Value::as_i64)
    }

    /// A float argument.
    #[inline]
    pub fn float(&self, index: usize) -> Option<f64> {
        match self.args.get(index) {
            Some(Value::Float(number)) => Some(*number),
            Some(Value::Null) | None => None,
            Some(other) => Some(crate::values::to_f64(other)),
        }
    }

    /// A character argument as text.
    #[inline]
    pub fn text(&self, index: usize) -> Option<String> {
        self.args.get(index).and_then(Value::as_text)
    }
}

impl FunctionDef {
    /// A deterministic function of exactly as many arguments as parameters that is NULL when any argument is.
    pub const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        result: ResultRule,
        evaluate: fn(&Call<'_, '_>) -> Result<Value, SqlError>,
    ) -> FunctionDef {
        let count = parameters.len() as u8;
        FunctionDef {
            name,
            min_arguments: count,
            max_arguments: count,
            parameters,
            result,
            determinism: Determinism::Deterministic,
            strict: true,
            copies: 10,
            evaluate,
        }
    }

    /// With another range of argument counts; 255 is unlimited.
    pub const fn arity(mut self, min: u8, max: u8) -> FunctionDef {
        self.min_arguments = min;
        self.max_arguments = max;
        self
    }

    /// Looks at NULL arguments itself.
    pub const fn sees_nulls(mut self) -> FunctionDef {
        self.strict = false;
        self
    }

    /// Allocates no more than so many times the length of its arguments, instead of the usual: one unit of UTF-16 and one weight for each byte,
    /// and the same for the result.
    pub const fn copies(mut self, copies: usize) -> FunctionDef {
        self.copies = copies;
        self
    }

    /// One value a statement.
    pub const fn runtime(mut self) -> FunctionDef {
        self.determinism = Determinism::Runtime;
        self
    }

    /// A new value a call.
    pub const fn volatile(mut self) -> FunctionDef {
        self.determinism = Determinism::Volatile;
        self
    }

    /// The type rule of argument `index`.
    pub fn parameter(&self, index: usize) -> Parameter {
        self.parameters.get(index).or(self.parameters.last()).copied().unwrap_or(Parameter::Any)
    }
}
