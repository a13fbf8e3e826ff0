//! JSON_OBJECT and JSON_ARRAY: their grammar is their own.

use plan_ir::bound::tree::Expr;
use plan_ir::built_ins::UnnamedFunction;
use tsql::ast;
use types::{SqlError, SqlType, Value};

use super::{Binder, coerce, formatted};

impl Binder<'_> {
    /// A call of either. Its first argument says whether NULL stands in the result, and of each value whether it is JSON.
    pub(super) fn json_made(&mut self, call: &ast::FunctionCall, is_object: bool) -> Result<Expr, SqlError> {
        let extra = call.extra.as_deref();
        if extra.is_some_and(|extra| extra.json_returning.is_some()) {
            return Err(plan_ir::errors::unsupported("RETURNING"));
        }
        let keeps_nulls = extra.and_then(|extra| extra.null_on_null).unwrap_or(is_object);
        let mut marks = String::from(if keeps_nulls { "n" } else { "a" });
        let mut arguments = vec![Expr::null()];
        for argument in &call.args {
            let value = match (&argument.kind, is_object) {
                (ast::ExprKind::KeyValue(pair), true) => {
                    let key = self.value(&pair.0)?;
                    arguments.push(coerce::implicit(key, &SqlType::NVARCHAR_MAX)?);
                    self.value(&pair.1)?
                }
                (ast::ExprKind::KeyValue(_), false) => return Err(plan_ir::errors::syntax_near(":")),
                (_, true) => return Err(plan_ir::errors::syntax_near(")")),
                (_, false) => self.value(argument)?,
            };
            marks.push(if formatted::is_json(&value) { 'j' } else { 'v' });
            arguments.push(value);
        }
        arguments[0] = Expr::constant(Value::nvarchar(&marks), SqlType::NVARCHAR_MAX);
        let function = if is_object { UnnamedFunction::JsonObject } else { UnnamedFunction::JsonArray };
        let made = self.finish_call(self.built_ins.unnamed(function), arguments)?;
        Ok(Expr { nullable: false, ..made })
    }
}
