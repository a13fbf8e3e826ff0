//! Compiles the text of a method of the xml type.

use super::atom::AtomType;
use super::expr::{Body, External, Query};
use super::parser::Parser;
use super::scanner::Scanner;
use super::shape::{Count, Items, Shape};
use crate::{SqlError, SqlResult, SqlType};

/// The methods of the xml type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// One value of a SQL type.
    Value,
    /// Nodes and values as xml.
    Query,
    /// Is there an item?
    Exist,
    /// Nodes as rows.
    Nodes,
    /// XML DML.
    Modify,
    /// A pattern of OPENXML, in XPath 1.0: without static types.
    Pattern,
}

impl Method {
    /// The method of a name: they are written in small letters.
    pub fn named(name: &str) -> Option<Method> {
        Some(match name {
            "value" => Method::Value,
            "query" => Method::Query,
            "exist" => Method::Exist,
            "nodes" => Method::Nodes,
            "modify" => Method::Modify,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Value => "value",
            Method::Query => "query",
            Method::Exist => "exist",
            Method::Nodes => "nodes",
            Method::Modify => "modify",
            Method::Pattern => "OPENXML",
        }
    }
}

/// What an argument of a SQL type is. Error 9344: a type that XQuery does not know.
pub fn items_of(sql_type: &SqlType, is_modify: bool, method: Method) -> SqlResult<Items> {
    Ok(Items::Atom(match sql_type {
        SqlType::Xml if is_modify => return Ok(Items::Node),
        SqlType::Xml => return Err(SqlError::new(9342, &[&prefix(method)])),
        SqlType::Bit => AtomType::Boolean,
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => AtomType::Integer,
        SqlType::Decimal { .. } | SqlType::Numeric { .. } | SqlType::Money | SqlType::SmallMoney => {
            AtomType::Decimal
        }
        SqlType::Float | SqlType::Real => AtomType::Double,
        SqlType::Date => AtomType::Date,
        SqlType::Time(_) => AtomType::Time,
        SqlType::DateTime | SqlType::SmallDateTime | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_) => {
            AtomType::DateTime
        }
        SqlType::Text | SqlType::NText | SqlType::Image | SqlType::SqlVariant | SqlType::RowVersion => {
            return Err(SqlError::new(9344, &[&prefix(method), &sql_type.name()]));
        }
        _ => AtomType::Text,
    }))
}

fn prefix(method: Method) -> String {
    format!("XQuery [{}()]: ", method.name())
}

/// Compiles a text for a method of a whole value, or of a node that `nodes` gave. `type_of` tells the types of arguments.
///
/// # Errors
/// The static errors of XQuery, 6305 and 6306.
pub fn compile(
    text: &str,
    method: Method,
    is_node: bool,
    type_of: &mut dyn FnMut(&External) -> SqlResult<Items>,
) -> SqlResult<Query> {
    let scan = Scanner { text, at: 0, prefix: prefix(method) };
    let context = Shape::new(if is_node { Items::Node } else { Items::Document }, Count::One);
    let mut parser = Parser::new(scan, context, type_of);
    parser.is_lenient = method == Method::Pattern;
    parser.prolog()?;
    if parser.scan.is_end() {
        return Err(SqlError::new(6306, &[]));
    }
    let body = match method {
        Method::Modify => match parser.change()? {
            Some(change) => Body::Change(change),
            None => {
                parser.expr()?;
                check_end(&mut parser)?;
                return Err(SqlError::new(6305, &[]));
            }
        },
        _ => {
            let (expr, shape) = parser.expr()?;
            check_end(&mut parser)?;
            check(method, &shape)?;
            Body::Expr(expr)
        }
    };
    check_end(&mut parser)?;
    Ok(Query { body, variables: parser.variable_count, externals: parser.externals })
}

fn check_end(parser: &mut Parser<'_>) -> SqlResult<()> {
    if parser.scan.is_end() { Ok(()) } else { Err(parser.scan.syntax()) }
}

/// What a method asks of the type of its expression. Errors 2373, 2374, 2389, 2396.
fn check(method: Method, shape: &Shape) -> SqlResult<()> {
    let prefix = prefix(method);
    match method {
        Method::Value if shape.is_constructed => Err(SqlError::new(2373, &[&prefix, &"data()"])),
        Method::Value => {
            let shape = shape.atomized();
            match shape.count == Count::Many && shape.items != Items::Unknown {
                true => Err(SqlError::new(2389, &[&prefix, &"value()", &shape])),
                false => Ok(()),
            }
        }
        Method::Nodes if shape.is_constructed => Err(SqlError::new(2373, &[&prefix, &"'nodes()'"])),
        Method::Nodes if !shape.may_be_nodes() => Err(SqlError::new(2374, &[&prefix, &"'nodes()'"])),
        Method::Query if matches!(shape.items, Items::Attribute(_)) => Err(SqlError::new(2396, &[&prefix])),
        _ => Ok(()),
    }
}
