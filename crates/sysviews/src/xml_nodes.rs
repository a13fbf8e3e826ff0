//! The rows of the xml method `nodes`: the value itself and the number of a node in it. The binder shows them as one column.

use std::sync::Arc;

use engine::Database;
use plan_ir::row::Row;
use plan_ir::row_source::{Empty, RowSource};
use plan_ir::runtime::{Runtime, xml_room};
use plan_ir::view::SystemView;
use plan_ir::view::stream::StreamRequest;
use types::xml::{Argument, Atom, Items, Method, Subject, items_of};
use types::{SqlError, Value};

/// Not to be called by name: a name has no spaces.
pub(super) const NODES: &str = "XML NODES";

pub(super) static VIEWS: &[SystemView] =
    &[SystemView::streamed(NODES, "value xml, node int", nodes, &[]).with_parameters(3).in_schema("dbo")];

struct Nodes {
    xml: Value,
    numbers: std::vec::IntoIter<u32>,
}

/// Arguments: the value, the number of a node in it or NULL, the text, and the values that the text names.
fn nodes(
    runtime: &Runtime<'_>,
    _: &Arc<Database>,
    request: &StreamRequest<'_>,
) -> Result<Box<dyn RowSource>, SqlError> {
    let [Value::NChar(xml), node, Value::NChar(text), named @ ..] = request.arguments else {
        return Ok(Box::new(Empty));
    };
    let mut values = named.iter();
    let documents = runtime.xml_documents();
    let query = documents.borrow_mut().query(text, Method::Nodes, !node.is_null(), &mut |_| match values
        .next()
        .filter(|value| !value.is_null())
    {
        Some(value) => items_of(&value.natural_type(), false, Method::Nodes),
        None => Ok(Items::Unknown),
    })?;
    let tree = documents.borrow_mut().tree(xml, &xml_room)?;
    let argument =
        |value: &Value| Atom::of_sql(value, &value.natural_type()).map_or(Argument::Nothing, Argument::Atom);
    let arguments: Vec<Argument> = named.iter().map(argument).collect();
    let node = node.as_i64().and_then(|node| u32::try_from(node).ok()).unwrap_or(0);
    let numbers = Subject { tree, node, arguments: &arguments, room: &xml_room }.nodes(&query)?;
    Ok(Box::new(Nodes { xml: Value::NChar(xml.clone()), numbers: numbers.into_iter() }))
}

impl RowSource for Nodes {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        let Some(number) = self.numbers.next() else { return Ok(false) };
        row.clear();
        row.push(self.xml.clone());
        row.push(Value::Int(i32::try_from(number).unwrap_or(i32::MAX)));
        Ok(true)
    }
}
