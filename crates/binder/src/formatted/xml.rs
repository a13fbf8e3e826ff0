//! FOR XML: the elements and attributes that the columns become.

use plan_ir::rows_format::{XmlElement, XmlFormat, XmlNode};
use tsql::ast::{self, XmlMode};
use types::sql_type::TypeFamily;
use types::{SqlError, SqlType};

use super::columns::{AutoLevel, RowColumn, auto_levels, has_option, root_name};
use super::{explicit, xml_names};
use crate::XmlNamespace;

/// The namespace of `xsi:nil`.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The namespaces that a WITH clause declares. Errors 6869, 6870, 6871, 6874.
pub(crate) fn namespaces(with: &ast::With) -> Result<Vec<XmlNamespace>, SqlError> {
    let mut declared: Vec<XmlNamespace> = Vec::new();
    for (uri, prefix) in &with.xml_namespaces {
        let prefix = prefix.as_ref().map(|prefix| prefix.value.clone());
        if uri.is_empty() {
            return Err(SqlError::new(6874, &[]));
        }
        if let Some(prefix) = &prefix {
            if prefix.eq_ignore_ascii_case("xmlns") {
                return Err(SqlError::new(6870, &[prefix]));
            }
            if xml_names::check("Prefix", prefix, prefix, &[]).is_err() {
                return Err(SqlError::new(6871, &[prefix]));
            }
        }
        if declared.iter().any(|other| other.0 == prefix) {
            return Err(SqlError::new(6869, &[&prefix.unwrap_or_default()]));
        }
        declared.push((prefix, uri.clone()));
    }
    Ok(declared)
}

/// What the options say about the columns.
struct Modes<'a> {
    /// ELEMENTS: columns become elements.
    has_elements: bool,
    /// BINARY BASE64.
    takes_binary: bool,
    is_auto: bool,
    prefixes: &'a [&'a str],
}

/// The form of a text. Errors 6800 to 6804, 6809, 6810, 6812, 6829, 6846 to 6864, 6868.
pub(super) fn format(
    mode: &XmlMode,
    options: &[ast::NamedOption],
    columns: &[RowColumn],
    select: &ast::Select,
    namespaces: &[XmlNamespace],
) -> Result<XmlFormat, SqlError> {
    for word in ["XMLDATA", "XMLSCHEMA"] {
        if has_option(options, word) {
            return Err(plan_ir::errors::unsupported(&format!("FOR XML {word}")));
        }
    }
    let prefixes: Vec<&str> = namespaces.iter().filter_map(|one| one.0.as_deref()).collect();
    let keeps_nulls = has_option(options, "ELEMENTS XSINIL");
    let modes = Modes {
        has_elements: keeps_nulls
            || has_option(options, "ELEMENTS")
            || has_option(options, "ELEMENTS ABSENT"),
        takes_binary: has_option(options, "BINARY BASE64"),
        is_auto: *mode == XmlMode::Auto,
        prefixes: &prefixes,
    };
    let mut tags = Vec::new();
    let levels = match mode {
        XmlMode::Raw(name) => {
            let all: Vec<usize> = (0..columns.len()).collect();
            let level = plain_level(&modes, row_name(name, &modes)?, &all, columns)?;
            check_omitted(&level)?;
            vec![level]
        }
        XmlMode::Auto => {
            if select.from.is_empty() {
                return Err(SqlError::new(6800, &[]));
            }
            let levels = auto_levels(columns, select).into_iter();
            let level = |level: AutoLevel| {
                plain_level(&modes, xml_names::escaped(&level.name), &level.columns, columns)
            };
            levels.map(level).collect::<Result<_, _>>()?
        }
        XmlMode::Path(name) => {
            let level = path_level(&modes, row_name(name, &modes)?, columns)?;
            check_omitted(&level)?;
            vec![level]
        }
        XmlMode::Explicit => {
            if !namespaces.is_empty() {
                return Err(SqlError::new(6868, &[]));
            }
            check_binary(&modes, columns)?;
            let (own, elements) = explicit::elements(columns)?;
            tags = own;
            elements
        }
    };
    let root = root_name(options)?;
    match root.as_deref() {
        Some("") => return Err(SqlError::new(6861, &[])),
        Some(root) => xml_names::check("Root tag", root, root, &prefixes)?,
        None => {}
    }
    let is_typed = has_option(options, "TYPE");
    let keeps_null = |level: &XmlElement| {
        level.content.iter().any(|node| matches!(node, XmlNode::Element(inner) if inner.keeps_null))
    };
    let declarations = declarations(keeps_nulls || levels.iter().any(keeps_null), namespaces);
    Ok(XmlFormat { root, is_typed, keeps_nulls, declarations, tags, levels })
}

/// Binary values need BINARY BASE64 in EXPLICIT. Error 6829.
fn check_binary(modes: &Modes<'_>, columns: &[RowColumn]) -> Result<(), SqlError> {
    let is_binary = |column: &&RowColumn| column.sql_type.family() == TypeFamily::Binary;
    match columns.iter().find(is_binary).filter(|_| !modes.takes_binary) {
        Some(column) => Err(SqlError::new(6829, &[&column.name])),
        None => Ok(()),
    }
}

/// The element of a row: `row` if the mode says none.
fn row_name(name: &Option<String>, modes: &Modes<'_>) -> Result<String, SqlError> {
    let name = name.clone().unwrap_or_else(|| "row".to_string());
    if !name.is_empty() {
        xml_names::check("Row tag", &name, &name, modes.prefixes)?;
    }
    Ok(name)
}

/// Attributes need an element. Error 6864.
fn check_omitted(level: &XmlElement) -> Result<(), SqlError> {
    match level.name.is_empty() && !level.attributes.is_empty() {
        true => Err(SqlError::new(6864, &[])),
        false => Ok(()),
    }
}

/// The declarations of namespaces, the last one first.
fn declarations(keeps_nulls: bool, namespaces: &[XmlNamespace]) -> String {
    let own = keeps_nulls.then(|| format!(" xmlns:xsi=\"{SCHEMA_INSTANCE}\""));
    let declared = namespaces.iter().rev().map(|(prefix, uri)| {
        let uri = uri.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        match prefix {
            Some(prefix) => format!(" xmlns:{prefix}=\"{uri}\""),
            None => format!(" xmlns=\"{uri}\""),
        }
    });
    own.into_iter().chain(declared).collect()
}

fn value(at: usize, column: &RowColumn) -> XmlNode {
    let name = if column.name.is_empty() { "NoName".to_string() } else { column.name.clone() };
    XmlNode::Value { column: at, name }
}

/// The element of a row of RAW, or of a table of AUTO. Errors 6809, 6810, 6829.
fn plain_level(
    modes: &Modes<'_>,
    name: String,
    own: &[usize],
    columns: &[RowColumn],
) -> Result<XmlElement, SqlError> {
    let mut level = XmlElement { name, columns: own.to_vec(), ..XmlElement::default() };
    for at in own {
        let column = &columns[*at];
        let is_xml = column.sql_type == SqlType::Xml;
        if column.name.is_empty() && is_xml {
            level.content.push(value(*at, column));
            continue;
        }
        if column.name.is_empty() {
            return Err(SqlError::new(6809, &[]));
        }
        if column.sql_type.family() == TypeFamily::Binary && !modes.takes_binary {
            return Err(match modes.is_auto {
                true => plan_ir::errors::unsupported("FOR XML AUTO of binary values without BINARY BASE64"),
                false => SqlError::new(6829, &[&column.name]),
            });
        }
        let name = match column.name.split_once(':') {
            Some((prefix, local)) if modes.prefixes.contains(&prefix) => {
                format!("{prefix}:{}", xml_names::escaped(local))
            }
            _ => xml_names::escaped(&column.name),
        };
        if modes.has_elements || is_xml {
            let content = vec![value(*at, column)];
            level.content.push(XmlNode::Element(XmlElement { name, content, ..XmlElement::default() }));
        } else {
            add_attribute(&mut level, name, *at, column)?;
        }
    }
    Ok(level)
}

fn add_attribute(
    element: &mut XmlElement,
    name: String,
    at: usize,
    column: &RowColumn,
) -> Result<(), SqlError> {
    if element.attributes.iter().any(|attribute| attribute.0 == name) {
        return Err(SqlError::new(6810, &[&column.name]));
    }
    element.attributes.push((name, at));
    Ok(())
}

/// PATH: the names of the columns are paths. Errors 6850 to 6854.
fn path_level(modes: &Modes<'_>, name: String, columns: &[RowColumn]) -> Result<XmlElement, SqlError> {
    let mut level = XmlElement { name, ..XmlElement::default() };
    for (at, column) in columns.iter().enumerate() {
        if column.name.is_empty() {
            level.content.push(value(at, column));
            continue;
        }
        let steps: Vec<&str> = column.name.split('/').collect();
        place(modes, &mut level, &steps, at, column)?;
    }
    Ok(level)
}

/// Adds a column under a path. An element takes further columns as long as it is the last node.
fn place(
    modes: &Modes<'_>,
    element: &mut XmlElement,
    steps: &[&str],
    at: usize,
    column: &RowColumn,
) -> Result<(), SqlError> {
    let [step, rest @ ..] = steps else { return Ok(()) };
    let is_xml = column.sql_type == SqlType::Xml;
    if rest.is_empty() {
        if let Some(name) = step.strip_prefix('@') {
            xml_names::check("Column", name, &column.name, modes.prefixes)?;
            if is_xml {
                return Err(SqlError::new(6851, &[&column.name]));
            }
            if !element.content.is_empty() {
                return Err(SqlError::new(6852, &[&column.name]));
            }
            return add_attribute(element, name.to_string(), at, column);
        }
        let node = match *step {
            "*" | "node()" => Some(value(at, column)),
            "text()" | "data()" | "comment()" if is_xml => {
                return Err(SqlError::new(6853, &[&column.name]));
            }
            "text()" => Some(value(at, column)),
            "data()" => Some(XmlNode::Item(at)),
            "comment()" => Some(XmlNode::Comment(at)),
            other => match other.strip_prefix("processing-instruction(") {
                Some(target) => Some(instruction(target, at, column, modes)?),
                None => None,
            },
        };
        if let Some(node) = node {
            element.content.push(node);
            return Ok(());
        }
    }
    xml_names::check("Column", step, &column.name, modes.prefixes)?;
    let is_last = |node: Option<&XmlNode>| matches!(node, Some(XmlNode::Element(last)) if last.name == *step);
    if !is_last(element.content.last()) {
        let inner = XmlElement { name: (*step).to_string(), ..XmlElement::default() };
        element.content.push(XmlNode::Element(inner));
    }
    let Some(XmlNode::Element(inner)) = element.content.last_mut() else {
        unreachable!("the last node is the element of the step")
    };
    if rest.is_empty() {
        inner.content.push(value(at, column));
        return Ok(());
    }
    place(modes, inner, rest, at, column)
}

fn instruction(target: &str, at: usize, column: &RowColumn, modes: &Modes<'_>) -> Result<XmlNode, SqlError> {
    let invalid = || SqlError::new(6854, &[&column.name]);
    let target = target.strip_suffix(')').filter(|target| !target.is_empty()).ok_or_else(invalid)?;
    xml_names::check("Column", target, &column.name, modes.prefixes)?;
    Ok(XmlNode::Instruction(target.to_string(), at))
}
