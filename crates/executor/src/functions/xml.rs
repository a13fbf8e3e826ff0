//! The methods of the xml type: `types::xml` evaluates their texts. Arguments: the value, the number of a node in it or NULL, the text, of `modify`
//! the name of what is changed, and the values that the text names.

use plan_ir::errors::xml_pattern_error;
use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use plan_ir::runtime::xml_room;
use types::xml::{Argument, Atom, Column, Method, Subject, items_of};
use types::{SqlError, SqlType, Value, WideStr};

use Parameter::Any;
use ResultRule::Fixed;

/// `value`: the text of the item, which the binder converts.
pub(super) static VALUE: FunctionDef =
    FunctionDef::new("value", &[Any], Fixed(SqlType::NVARCHAR_MAX), |call| run(call, Method::Value))
        .arity(3, 255)
        .sees_nulls()
        .copies(0);

/// `query`
pub(super) static QUERY: FunctionDef =
    FunctionDef::new("query", &[Any], Fixed(SqlType::Xml), |call| run(call, Method::Query))
        .arity(3, 255)
        .sees_nulls()
        .copies(0);

/// `exist`
pub(super) static EXIST: FunctionDef =
    FunctionDef::new("exist", &[Any], Fixed(SqlType::Bit), |call| run(call, Method::Exist))
        .arity(3, 255)
        .sees_nulls()
        .copies(0);

/// `modify`. Error 5302 of NULL.
pub(super) static MODIFY: FunctionDef =
    FunctionDef::new("modify", &[Any], Fixed(SqlType::Xml), |call| run(call, Method::Modify))
        .arity(4, 255)
        .sees_nulls()
        .copies(0);

/// A column of OPENXML. Error 6603: its pattern is not valid.
pub(super) static COLUMN: FunctionDef =
    FunctionDef::new("OPENXML", &[Any], Fixed(SqlType::NVARCHAR_MAX), open_column)
        .arity(8, 8)
        .sees_nulls()
        .copies(0);

fn open_column(call: &Call<'_, '_>) -> Result<Value, SqlError> {
    let Value::NChar(xml) = &call.args[0] else { return Ok(Value::Null) };
    let text = |index| call.text(index);
    let (pattern, name, prolog) = (text(2), text(3).unwrap_or_default(), text(4).unwrap_or_default());
    let all: Vec<String> = text(7).unwrap_or_default().split('\n').map(str::to_string).collect();
    let column = Column {
        pattern: pattern.as_deref(),
        name: &name,
        prolog: &prolog,
        flags: call.int(5).unwrap_or(0),
        is_xml: call.int(6) == Some(1),
        all: &all,
    };
    let documents = call.runtime.xml_documents();
    let tree = documents.borrow_mut().tree(xml, &xml_room)?;
    let node = call.int(1).and_then(|node| u32::try_from(node).ok()).unwrap_or(0);
    let value = column.value(&mut documents.borrow_mut(), (&tree, node), &xml_room);
    value.map_err(xml_pattern_error)?.map_or(Ok(Value::Null), |text| made(&text))
}

fn run(call: &Call<'_, '_>, method: Method) -> Result<Value, SqlError> {
    let Value::NChar(xml) = &call.args[0] else {
        return match method {
            Method::Modify => Err(SqlError::new(5302, &[&"modify()", &call.text(3).unwrap_or_default()])),
            _ => Ok(Value::Null),
        };
    };
    let Value::NChar(text) = &call.args[2] else { return Ok(Value::Null) };
    let named = if method == Method::Modify { 4 } else { 3 };
    let mut types = call.types[named..].iter();
    let documents = call.runtime.xml_documents();
    let is_node = !call.args[1].is_null();
    let query = documents.borrow_mut().query(text, method, is_node, &mut |_| {
        let sql_type = types.next().copied().unwrap_or(SqlType::Int);
        items_of(&sql_type, method == Method::Modify, method)
    })?;
    let tree = documents.borrow_mut().tree(xml, &xml_room)?;
    let arguments: Vec<Argument> =
        call.args[named..].iter().zip(&call.types[named..]).map(|(value, of)| argument(value, of)).collect();
    let node = call.int(1).and_then(|node| u32::try_from(node).ok()).unwrap_or(0);
    let subject = Subject { tree, node, arguments: &arguments, room: &xml_room };
    match method {
        Method::Value => match subject.value(&query)? {
            Some(atom) => made(&atom.text()),
            None => Ok(Value::Null),
        },
        Method::Exist => Ok(Value::Bit(subject.exist(&query)?)),
        Method::Query => made(&subject.query(&query)?),
        Method::Modify | Method::Nodes | Method::Pattern => {
            let changed = made(&subject.modify(&query)?)?;
            if let Value::NChar(units) = &changed {
                types::check_xml(units)?;
            }
            Ok(changed)
        }
    }
}

/// A text as a value.
fn made(text: &str) -> Result<Value, SqlError> {
    xml_room(text.len().saturating_mul(4))?;
    Ok(Value::NChar(WideStr::from_text(text)))
}

fn argument(value: &Value, sql_type: &SqlType) -> Argument {
    if value.is_null() {
        return Argument::Nothing;
    }
    if *sql_type == SqlType::Xml {
        return Argument::Xml(value.as_text().unwrap_or_default());
    }
    Atom::of_sql(value, sql_type).map_or(Argument::Nothing, Argument::Atom)
}
