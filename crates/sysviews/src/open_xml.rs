//! The rows of OPENXML: the nodes that a pattern finds in a document of sp_xml_preparedocument, or their edge table.

use std::sync::Arc;

use engine::Database;
use plan_ir::context::PreparedXml;
use plan_ir::errors::xml_pattern_error;
use plan_ir::row::Row;
use plan_ir::row_source::{Empty, RowSource};
use plan_ir::runtime::{Runtime, xml_room};
use plan_ir::view::SystemView;
use plan_ir::view::stream::StreamRequest;
use types::xml::{Edge, Items, Method, Subject, Tree, edges};
use types::{SqlError, Value, WideStr};

/// Not to be called by name: a name has no spaces.
pub(super) const PREPARED: &str = "OPENXML WITH";
pub(super) const EDGES: &str = "OPENXML EDGES";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::streamed(PREPARED, "value xml, node int, prolog nvarchar(max)", prepared, &[])
        .with_parameters(2)
        .in_schema("dbo"),
    SystemView::streamed(
        EDGES,
        "id bigint, parentid bigint, nodetype int, localname nvarchar(4000), prefix nvarchar(4000), namespaceuri nvarchar(4000), datatype nvarchar(4000), prev bigint, text ntext",
        edge_table,
        &[],
    )
    .with_parameters(2)
    .in_schema("dbo"),
];

type Opened = Result<Box<dyn RowSource>, SqlError>;

/// The document of the handle with its tree and the nodes of the pattern.
struct Found {
    document: Arc<PreparedXml>,
    tree: std::rc::Rc<Tree>,
    nodes: Vec<u32>,
}

/// Nothing without a pattern. Errors 8179, 6603.
fn found(runtime: &Runtime<'_>, request: &StreamRequest<'_>) -> Result<Option<Found>, SqlError> {
    let Some(pattern) = request.arguments.get(1).and_then(Value::as_text) else { return Ok(None) };
    let handle = request.arguments.first().and_then(Value::as_i64).unwrap_or(0) as i32;
    let document = runtime.state.prepared_xml(handle);
    let document = document.ok_or_else(|| SqlError::new(8179, &[&handle]).with_state(5))?;
    let text = WideStr::from_text(&format!("{}{pattern}", document.prolog));
    let documents = runtime.xml_documents();
    let query = documents.borrow_mut().query(&text, Method::Pattern, false, &mut |_| Ok(Items::Unknown));
    let query = query.map_err(xml_pattern_error)?;
    let tree = documents.borrow_mut().tree(&document.xml, &xml_room)?;
    let subject = Subject { tree: tree.clone(), node: 0, arguments: &[], room: &xml_room };
    let nodes = subject.nodes(&query)?;
    Ok(Some(Found { document, tree, nodes }))
}

struct Nodes {
    found: Found,
    at: usize,
}

fn prepared(runtime: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    Ok(match found(runtime, request)? {
        Some(found) => Box::new(Nodes { found, at: 0 }),
        None => Box::new(Empty),
    })
}

impl RowSource for Nodes {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        let Some(node) = self.found.nodes.get(self.at) else { return Ok(false) };
        self.at += 1;
        row.clear();
        row.push(Value::NChar(self.found.document.xml.clone()));
        row.push(Value::Int(i32::try_from(*node).unwrap_or(i32::MAX)));
        row.push(Value::nvarchar(&self.found.document.prolog));
        Ok(true)
    }
}

struct Edges {
    rows: std::vec::IntoIter<Edge>,
}

fn edge_table(runtime: &Runtime<'_>, _: &Arc<Database>, request: &StreamRequest<'_>) -> Opened {
    let Some(found) = found(runtime, request)? else { return Ok(Box::new(Empty)) };
    Ok(Box::new(Edges { rows: edges(&found.tree, &found.nodes, &xml_room)?.into_iter() }))
}

impl RowSource for Edges {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        runtime.check_cancelled()?;
        let Some(edge) = self.rows.next() else { return Ok(false) };
        let text = |text: Option<String>| text.map_or(Value::Null, |text| Value::nvarchar(&text));
        let number = |number: Option<i64>| number.map_or(Value::Null, Value::BigInt);
        row.clear();
        row.push(Value::BigInt(edge.id));
        row.push(number(edge.parent));
        row.push(Value::Int(edge.kind));
        row.push(Value::nvarchar(&edge.local));
        row.push(text(edge.prefix));
        row.push(text(edge.uri));
        row.push(Value::Null);
        row.push(number(edge.previous));
        row.push(text(edge.text));
        Ok(true)
    }
}
