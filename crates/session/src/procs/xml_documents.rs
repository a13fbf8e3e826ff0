//! sp_xml_preparedocument and sp_xml_removedocument: the documents that OPENXML reads.

use query::context::PreparedXml;
use types::xml::{Kind, Tree};
use types::{SqlError, SqlType, Value, WideStr};

use super::arguments::{argument, int_argument};
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

/// CONVERT's style that takes a DTD.
const WITH_DTD: i32 = 2;

/// `sp_xml_preparedocument @hdoc OUTPUT [, @xmltext [, @xpath_namespaces]]`. Errors 201, 6602, 701.
pub(super) fn sp_xml_preparedocument(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    if arguments.is_empty() {
        return Err(SqlError::new(201, &[&"sp_xml_preparedocument", &"@hdoc"]).into());
    }
    let text = document(argument(&arguments, 1, "@xmltext"))?;
    let declared = document(argument(&arguments, 2, "@xpath_namespaces"))?;
    let prolog = declared.map_or_else(String::new, |declared| prolog_of(&declared));
    let prepared = PreparedXml { xml: text.unwrap_or_default(), prolog };
    let handle = session.state.xml_documents.keep(prepared)?;
    let named =
        |argument: &Argument| argument.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("@hdoc"));
    let place = arguments.iter().position(named).unwrap_or(0);
    let mut outputs = Vec::new();
    if arguments.get(place).is_some_and(|argument| argument.output) {
        outputs.push((place, "@hdoc".to_string(), SqlType::Int, Value::Int(handle)));
    }
    Ok(CallResult { status: 0, outputs, returned: None })
}

/// `sp_xml_removedocument @hdoc`. Errors 201, 8179.
pub(super) fn sp_xml_removedocument(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    if arguments.is_empty() {
        return Err(SqlError::new(201, &[&"sp_xml_removedocument", &"@hdoc"]).into());
    }
    let handle = int_argument(&arguments, 0, "@hdoc")?.unwrap_or(0);
    match session.state.xml_documents.remove(handle) {
        true => Ok(CallResult::default()),
        false => Err(SqlError::new(8179, &[&handle]).with_state(5).into()),
    }
}

/// The text of a document, which has one element at its top. Error 6602.
fn document(given: Option<&Argument>) -> Result<Option<WideStr>, SqlError> {
    let Some(given) = given else { return Ok(None) };
    let value = given.or_null();
    let context = types::ConvertContext::default();
    let invalid = |text: &str| SqlError::new(6602, &[&text]).with_state(2);
    let xml = types::convert(&value, &given.sql_type, &SqlType::Xml, WITH_DTD, &context)
        .map_err(|error| if error.number == 701 { error } else { invalid(&error.message) })?;
    let Value::NChar(text) = xml else { return Ok(None) };
    os::memory::ask(text.len().saturating_mul(16)).map_err(query::errors::out_of_memory)?;
    let tree = Tree::parse(&text.to_text(), false);
    let (mut elements, mut at) = (0, 1);
    while at < tree.node_count() {
        match tree.node(at).kind {
            Kind::Element => elements += 1,
            Kind::Text => return Err(invalid("Text is not allowed at the top of a document.")),
            _ => {}
        }
        at = tree.node(at).end;
    }
    match elements {
        1 => Ok(Some(text)),
        0 => Err(invalid("A document must have an element at its top.")),
        _ => Err(invalid("Only one element is allowed at the top of a document.")),
    }
}

/// The namespaces that the element of a text declares, as declarations of patterns. The default one is that of no prefix: patterns have none.
fn prolog_of(declared: &WideStr) -> String {
    let tree = Tree::parse(&declared.to_text(), false);
    let Some(element) = (1..tree.node_count()).find(|at| tree.node(*at).kind == Kind::Element) else {
        return String::new();
    };
    let mut prolog = String::new();
    for at in tree.attributes(element) {
        let prefix = match tree.node(at).kind {
            Kind::Namespace => &tree.name(at).local,
            _ => continue,
        };
        if !prefix.is_empty() {
            let uri = tree.value(at).replace('&', "&amp;").replace('"', "&quot;");
            prolog.push_str(&format!("declare namespace {prefix}=\"{uri}\"; "));
        }
    }
    prolog
}
