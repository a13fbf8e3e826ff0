//! Methods of the xml type: `value(path, type)` with the paths that read text without a step to an element.

use plan_ir::bound::tree::Expr;
use plan_ir::built_ins::UnnamedFunction;
use plan_ir::kinds::{Conversion, ConversionKind};
use tsql::ast::{self, Literal};
use types::{SqlError, SqlType};

use super::{Binder, call, coerce};

/// Paths to the text of all nodes together, and to the first text that stands in no element.
const WHOLE: [&str; 2] = [".", "(.)[1]"];
const FIRST_TEXT: [&str; 6] =
    ["text()[1]", "./text()[1]", "(text())[1]", "(./text())[1]", "(text()[1])", "(./text()[1])"];

impl Binder<'_> {
    /// A method of a value. Errors 258 (it is not xml), 174, 8172, 243.
    pub(super) fn xml_method(
        &mut self,
        target: Expr,
        method: &str,
        arguments: &[ast::Expr],
    ) -> Result<Expr, SqlError> {
        if target.sql_type != SqlType::Xml || method != "value" {
            return Err(call::method_of(&target.sql_type));
        }
        let [path, to] = arguments else { return Err(SqlError::new(174, &[&"value", &2])) };
        let path: String = literal(path, 1)?.split_whitespace().collect();
        let function = match path.as_str() {
            path if WHOLE.contains(&path) => UnnamedFunction::XmlText,
            path if FIRST_TEXT.contains(&path) => UnnamedFunction::XmlFirstText,
            _ => return Err(call::method_of(&target.sql_type)),
        };
        let to = named_type(&literal(to, 2)?)?;
        let text = self.finish_call(self.built_ins.unnamed(function), vec![target])?;
        let conversion = Conversion { kind: ConversionKind::Explicit, style: types::DEFAULT_STYLE };
        let converted = coerce::convert(text, &to, conversion)?;
        Ok(Expr { nullable: true, ..converted })
    }
}

/// An argument that must be written as a text. Error 8172.
fn literal(argument: &ast::Expr, position: usize) -> Result<String, SqlError> {
    match &argument.kind {
        ast::ExprKind::Literal(Literal::String(text) | Literal::NString(text)) => Ok(text.clone()),
        _ => Err(SqlError::new(8172, &[&position, &"value"])),
    }
}

/// The type that a text names. Error 9500 when it names none, or one that no value can be read as.
fn named_type(text: &str) -> Result<SqlType, SqlError> {
    let invalid = || SqlError::new(9500, &[&text]);
    let cast = plan_ir::stored::parse_expression(&format!("CAST(NULL AS {text})")).map_err(|_| invalid())?;
    let ast::ExprKind::Convert(convert) = &cast.kind else { return Err(invalid()) };
    if !matches!(convert.operand.kind, ast::ExprKind::Literal(Literal::Null)) {
        return Err(invalid());
    }
    match plan_ir::data_type::cast_target(&convert.target)? {
        SqlType::Xml | SqlType::Text | SqlType::NText | SqlType::Image | SqlType::SqlVariant => {
            Err(invalid())
        }
        sql_type => Ok(sql_type),
    }
}
