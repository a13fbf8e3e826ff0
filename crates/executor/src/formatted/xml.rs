//! Writes rows as XML: FOR XML.

use plan_ir::row::Row;
use plan_ir::rows_format::{XmlElement, XmlFormat, XmlNode};
use plan_ir::runtime::Runtime;
use types::{SqlError, SqlType};

use super::text::{Shown, Text, changed_level, shown};

/// Writes one text.
pub(super) struct XmlWriter<'p> {
    format: &'p XmlFormat,
    types: &'p [SqlType],
    /// The columns of each level.
    columns: Vec<&'p [usize]>,
    before: Option<Row>,
    /// EXPLICIT: the open elements, by their places among the levels.
    open: Vec<usize>,
    /// EXPLICIT: the start tag of the innermost one still lacks its end.
    has_open_tag: bool,
    /// An item of a list has just been written: another one is separated from it.
    follows_item: bool,
}

/// One row on its way into a text.
struct Writing<'a, 'p, 'r> {
    format: &'p XmlFormat,
    types: &'p [SqlType],
    runtime: &'a Runtime<'r>,
    row: &'a Row,
    text: &'a mut Text,
    follows_item: &'a mut bool,
}

impl<'p> XmlWriter<'p> {
    pub(super) fn new(format: &'p XmlFormat, types: &'p [SqlType]) -> XmlWriter<'p> {
        debug_assert!(!format.levels.is_empty(), "a row has an element, or content alone");
        let columns = format.levels.iter().map(|level| level.columns.as_slice()).collect();
        XmlWriter {
            format,
            types,
            columns,
            before: None,
            open: Vec::new(),
            has_open_tag: false,
            follows_item: false,
        }
    }

    /// Writes a row: the elements of the levels that it does not share with the row before.
    pub(super) fn row(&mut self, runtime: &Runtime<'_>, row: &Row, text: &mut Text) -> Result<(), SqlError> {
        if !self.format.tags.is_empty() {
            return self.tagged_row(runtime, row, text);
        }
        let last = self.columns.len() - 1;
        let first = match &self.before {
            None => {
                self.begin(text)?;
                0
            }
            Some(before) => {
                let changed = changed_level(before, row, &self.columns, self.types);
                self.close(changed..last, text)?;
                changed
            }
        };
        for (at, level) in self.format.levels.iter().enumerate().skip(first) {
            let is_outermost = at == 0 && self.format.root.is_none();
            let mut writing = Writing {
                format: self.format,
                types: self.types,
                runtime,
                row,
                text,
                follows_item: &mut self.follows_item,
            };
            if at == last {
                writing.element(level, is_outermost)?;
            } else {
                writing.start_tag(level, is_outermost)?;
                writing.text.push(">")?;
                writing.content(level, false)?;
            }
        }
        match &mut self.before {
            // Only inner levels look back.
            _ if last == 0 => self.before = Some(Row::new()),
            Some(before) => before.clone_from(row),
            None => self.before = Some(row.clone()),
        }
        Ok(())
    }

    /// A row of EXPLICIT: an element in the one of its parent's tag. Errors 6803, 6806, 6833.
    fn tagged_row(&mut self, runtime: &Runtime<'_>, row: &Row, text: &mut Text) -> Result<(), SqlError> {
        debug_assert_eq!(self.format.tags.len(), self.format.levels.len(), "each tag has its element");
        if self.before.is_none() {
            self.begin(text)?;
            self.before = Some(Row::new());
        }
        let tag = row[0].as_i64().filter(|tag| *tag > 0).ok_or_else(|| SqlError::new(6803, &[]))?;
        let parent = row[1].as_i64().unwrap_or(0);
        let place = self.format.tags.iter().position(|own| *own == tag);
        let place = place.ok_or_else(|| SqlError::new(6806, &[&tag]))?;
        while self.open.last().is_some_and(|open| parent == 0 || self.format.tags[*open] != parent) {
            self.close_tagged(text)?;
        }
        if parent != 0 && self.open.is_empty() {
            return Err(SqlError::new(6833, &[&parent]));
        }
        if std::mem::take(&mut self.has_open_tag) {
            text.push(">")?;
        }
        let element = &self.format.levels[place];
        let is_outermost = self.open.is_empty() && self.format.root.is_none();
        let follows_item = &mut self.follows_item;
        let mut writing =
            Writing { format: self.format, types: self.types, runtime, row, text, follows_item };
        writing.start_tag(element, is_outermost)?;
        self.has_open_tag = !element.content.iter().any(|node| writing.is_present(node));
        if !self.has_open_tag {
            writing.text.push(">")?;
            writing.content(element, false)?;
        }
        self.open.push(place);
        Ok(())
    }

    /// Closes the innermost element of EXPLICIT.
    fn close_tagged(&mut self, text: &mut Text) -> Result<(), SqlError> {
        let Some(place) = self.open.pop() else { return Ok(()) };
        match std::mem::take(&mut self.has_open_tag) {
            true => text.push("/>"),
            false => end_tag(&self.format.levels[place].name, text),
        }
    }

    fn begin(&self, text: &mut Text) -> Result<(), SqlError> {
        match &self.format.root {
            Some(root) => text.push(&format!("<{root}{}>", self.format.declarations)),
            None => Ok(()),
        }
    }

    /// Closes the elements of levels that have others inside.
    fn close(&self, levels: std::ops::Range<usize>, text: &mut Text) -> Result<(), SqlError> {
        levels.rev().try_for_each(|at| end_tag(&self.format.levels[at].name, text))
    }

    /// Writes what stands behind the last row.
    pub(super) fn end(&mut self, text: &mut Text) -> Result<(), SqlError> {
        if self.format.tags.is_empty() {
            self.close(0..self.columns.len() - 1, text)?;
        }
        while !self.open.is_empty() {
            self.close_tagged(text)?;
        }
        self.format.root.as_ref().map_or(Ok(()), |root| end_tag(root, text))
    }
}

fn end_tag(name: &str, text: &mut Text) -> Result<(), SqlError> {
    text.push("</")?;
    text.push(name)?;
    text.push(">")
}

impl Writing<'_, '_, '_> {
    /// Writes an element with all that is in it; the content alone where it has no name.
    fn element(&mut self, element: &XmlElement, is_outermost: bool) -> Result<(), SqlError> {
        if element.name.is_empty() {
            return self.content(element, is_outermost);
        }
        self.start_tag(element, is_outermost)?;
        if !element.content.iter().any(|node| self.is_present(node)) {
            if (self.format.keeps_nulls || element.keeps_null) && is_null_leaf(element) {
                self.text.push(" xsi:nil=\"true\"")?;
            }
            return self.text.push("/>");
        }
        self.text.push(">")?;
        let start = self.text.units.len();
        self.content(element, false)?;
        *self.follows_item = false;
        // A value of type xml does not distinguish an empty text from none.
        if self.format.is_typed && self.text.units.len() == start {
            self.text.units.pop();
            return self.text.push("/>");
        }
        end_tag(&element.name, self.text)
    }

    /// Writes `<name attribute="value"`.
    fn start_tag(&mut self, element: &XmlElement, is_outermost: bool) -> Result<(), SqlError> {
        *self.follows_item = false;
        self.text.push("<")?;
        self.text.push(&element.name)?;
        if is_outermost {
            self.text.push(&self.format.declarations)?;
        }
        for (name, column) in &element.attributes {
            if self.row[*column].is_null() {
                continue;
            }
            self.text.push(" ")?;
            self.text.push(name)?;
            self.text.push("=\"")?;
            self.value(*column, name, true)?;
            self.text.push("\"")?;
        }
        Ok(())
    }

    fn content(&mut self, element: &XmlElement, is_outermost: bool) -> Result<(), SqlError> {
        for node in &element.content {
            if !self.is_present(node) {
                continue;
            }
            match node {
                XmlNode::Element(inner) => self.element(inner, is_outermost)?,
                XmlNode::Value { column, name } => {
                    *self.follows_item = false;
                    self.value(*column, name, false)?;
                }
                XmlNode::Item(column) => {
                    if std::mem::replace(self.follows_item, true) {
                        self.text.push(" ")?;
                    }
                    self.value(*column, "data()", false)?;
                }
                XmlNode::Raw(column) => {
                    *self.follows_item = false;
                    self.raw(*column)?;
                }
                XmlNode::Cdata(column) => {
                    *self.follows_item = false;
                    self.text.push("<![CDATA[")?;
                    self.raw(*column)?;
                    self.text.push("]]>")?;
                }
                XmlNode::Comment(column) => {
                    *self.follows_item = false;
                    self.text.push("<!--")?;
                    self.raw(*column)?;
                    self.text.push("-->")?;
                }
                XmlNode::Instruction(target, column) => {
                    *self.follows_item = false;
                    self.text.push(&format!("<?{target} "))?;
                    self.raw(*column)?;
                    self.text.push("?>")?;
                }
            }
        }
        Ok(())
    }

    /// Is anything written of it? Not of a NULL, nor of an element of NULLs alone, but with XSINIL.
    fn is_present(&self, node: &XmlNode) -> bool {
        match node {
            XmlNode::Value { column, .. }
            | XmlNode::Item(column)
            | XmlNode::Raw(column)
            | XmlNode::Cdata(column)
            | XmlNode::Comment(column)
            | XmlNode::Instruction(_, column) => !self.row[*column].is_null(),
            XmlNode::Element(element) => {
                ((self.format.keeps_nulls || element.keeps_null) && is_null_leaf(element))
                    || element.attributes.iter().any(|attribute| !self.row[attribute.1].is_null())
                    || element.content.iter().any(|node| self.is_present(node))
            }
        }
    }

    /// A value that is not NULL as text or as the value of an attribute; of type xml as nodes.
    fn value(&mut self, column: usize, name: &str, is_attribute: bool) -> Result<(), SqlError> {
        let sql_type = &self.types[column];
        match shown(&self.row[column], sql_type, self.runtime)? {
            Shown::Bit(set) => self.text.push(if set { "1" } else { "0" }),
            Shown::Number(plain) | Shown::Plain(plain) => self.text.push(&plain),
            Shown::Units(units) if *sql_type == SqlType::Xml => self.text.push_units(&units),
            Shown::Units(units) => {
                let is_typed = self.format.is_typed;
                push_escaped(&units, is_attribute, self.text, |unit| match is_typed {
                    true => Err(SqlError::new(6841, &[&name, &format!("{unit:04X}")])),
                    false => Ok(format!("&#x{unit:02X};")),
                })
            }
        }
    }

    /// A value as it is.
    fn raw(&mut self, column: usize) -> Result<(), SqlError> {
        match shown(&self.row[column], &self.types[column], self.runtime)? {
            Shown::Bit(set) => self.text.push(if set { "1" } else { "0" }),
            Shown::Number(plain) | Shown::Plain(plain) => self.text.push(&plain),
            Shown::Units(units) => self.text.push_units(&units),
        }
    }
}

/// Does the element stand for one column and nothing else? With XSINIL it stands for a NULL, too.
fn is_null_leaf(element: &XmlElement) -> bool {
    matches!(element.content.as_slice(), [XmlNode::Value { .. }]) && element.attributes.is_empty()
}

/// Adds text with the characters escaped that mean something else there. `refused` replaces a character that XML does not allow.
fn push_escaped(
    units: &[u16],
    is_attribute: bool,
    text: &mut Text,
    refused: impl Fn(u16) -> Result<String, SqlError>,
) -> Result<(), SqlError> {
    for (at, unit) in units.iter().enumerate() {
        match (*unit, is_attribute) {
            (0x26, _) => text.push("&amp;")?,
            (0x3C, _) => text.push("&lt;")?,
            (0x3E, _) => text.push("&gt;")?,
            (0x22, true) => text.push("&quot;")?,
            (0x0D, _) => text.push("&#x0D;")?,
            (0x09, true) => text.push("&#x09;")?,
            (0x0A, true) => text.push("&#x0A;")?,
            (0x09 | 0x0A, false) => text.push_unit(*unit)?,
            (..0x20 | 0xFFFE | 0xFFFF, _) => text.push(&refused(*unit)?)?,
            (0xD800..=0xDBFF, _) if !matches!(units.get(at + 1), Some(0xDC00..=0xDFFF)) => {
                text.push(&refused(*unit)?)?;
            }
            (0xDC00..=0xDFFF, _) if at == 0 || !matches!(units[at - 1], 0xD800..=0xDBFF) => {
                text.push(&refused(*unit)?)?;
            }
            _ => text.push_unit(*unit)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::text::Text;
    use super::push_escaped;

    fn escaped(text: &str, is_attribute: bool) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut out = Text::default();
        push_escaped(&units, is_attribute, &mut out, |unit| Ok(format!("[{unit:X}]"))).expect("memory");
        String::from_utf16_lossy(&out.units)
    }

    #[test]
    fn text_and_attributes_escape_what_they_must() {
        assert_eq!(escaped("a<b>&\"\r\n\t", false), "a&lt;b&gt;&amp;\"&#x0D;\n\t");
        assert_eq!(escaped("a<b>&\"\r\n\t", true), "a&lt;b&gt;&amp;&quot;&#x0D;&#x0A;&#x09;");
        assert_eq!(escaped("\u{1}x\u{1F600}", false), "[1]x\u{1F600}");
    }
}
