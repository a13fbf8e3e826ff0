//! FOR XML EXPLICIT: the names of the columns, `element!tag!attribute!directive`, say what each tag's element consists of.

use plan_ir::rows_format::{XmlElement, XmlNode};
use types::sql_type::TypeFamily;
use types::{SqlError, SqlType};

use super::columns::RowColumn;
use super::xml_names;

/// A column's name in its parts.
struct Part<'a> {
    element: &'a str,
    tag: i64,
    attribute: &'a str,
    directive: String,
}

/// The tags and the element of each. Errors 6801 to 6804, 6810, 6812, 6850.
pub(super) fn elements(columns: &[RowColumn]) -> Result<(Vec<i64>, Vec<XmlElement>), SqlError> {
    let [tag, parent, rest @ ..] = columns else { return Err(SqlError::new(6801, &[])) };
    if rest.is_empty() {
        return Err(SqlError::new(6801, &[]));
    }
    for (column, number) in [(tag, 6803), (parent, 6804)] {
        if column.sql_type.family() != TypeFamily::Integer {
            return Err(SqlError::new(number, &[]));
        }
    }
    let (mut tags, mut elements) = (Vec::new(), Vec::<XmlElement>::new());
    for (at, column) in rest.iter().enumerate() {
        let part = part(&column.name)?;
        let found = tags.iter().position(|tag| *tag == part.tag);
        let element = match found {
            Some(found) if part.element.is_empty() || elements[found].name == part.element => {
                &mut elements[found]
            }
            Some(found) => {
                return Err(SqlError::new(6812, &[&part.tag, &elements[found].name, &part.element]));
            }
            None => {
                xml_names::check("Tag", part.element, part.element, &[])?;
                tags.push(part.tag);
                elements.push(XmlElement { name: part.element.to_string(), ..XmlElement::default() });
                elements.last_mut().expect("it has just been added")
            }
        };
        add(element, &part, at + 2, column)?;
    }
    Ok((tags, elements))
}

/// Error 6802.
fn part(name: &str) -> Result<Part<'_>, SqlError> {
    let invalid = || SqlError::new(6802, &[&name]);
    let parts: Vec<&str> = name.split('!').collect();
    let [element, tag, more @ ..] = parts.as_slice() else { return Err(invalid()) };
    let tag = tag.parse().ok().filter(|tag| *tag > 0).ok_or_else(invalid)?;
    let (attribute, directive) = match more {
        [] => ("", String::new()),
        [attribute] => (*attribute, String::new()),
        [attribute, directive] => (*attribute, directive.to_ascii_lowercase()),
        _ => return Err(invalid()),
    };
    Ok(Part { element, tag, attribute, directive })
}

/// Adds a column to the element of its tag.
fn add(element: &mut XmlElement, part: &Part<'_>, at: usize, column: &RowColumn) -> Result<(), SqlError> {
    let name = part.attribute.to_string();
    if !name.is_empty() {
        xml_names::check("Column", &name, &column.name, &[])?;
    }
    let value = XmlNode::Value { column: at, name: column.name.clone() };
    let inner = |node| match name.is_empty() {
        true => node,
        false => {
            let (name, content) = (name.clone(), vec![node]);
            XmlNode::Element(XmlElement { name, content, ..XmlElement::default() })
        }
    };
    let is_binary = column.sql_type.family() == TypeFamily::Binary;
    match part.directive.as_str() {
        "hide" => {}
        "element" => element.content.push(inner(value)),
        "elementxsinil" => element.content.push(match inner(value) {
            XmlNode::Element(inner) => XmlNode::Element(XmlElement { keeps_null: true, ..inner }),
            value => value,
        }),
        "xml" => element.content.push(inner(XmlNode::Raw(at))),
        "cdata" if name.is_empty() && !is_binary => element.content.push(XmlNode::Cdata(at)),
        "" | "id" | "idref" | "idrefs" | "nmtoken" | "nmtokens" => {
            if name.is_empty() || column.sql_type == SqlType::Xml {
                element.content.push(inner(value));
            } else if element.attributes.iter().any(|attribute| attribute.0 == name) {
                return Err(SqlError::new(6810, &[&column.name]));
            } else {
                element.attributes.push((name, at));
            }
        }
        "xmltext" => return Err(plan_ir::errors::unsupported("FOR XML EXPLICIT with xmltext")),
        _ => return Err(SqlError::new(6802, &[&column.name])),
    }
    Ok(())
}
