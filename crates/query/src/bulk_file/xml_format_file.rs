//! XML format files: fields of a record, and a row of columns that name their fields.

use types::SqlError;

use super::format_file::{FIELDS_MAX, FormatField, delimited};

/// An element's start, with its attributes.
struct Tag {
    /// Without a prefix.
    name: String,
    attributes: Vec<(String, String)>,
    line: usize,
}

impl Tag {
    fn attribute(&self, wanted: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    /// Error 4859.
    fn required(&self, file: &str, wanted: &str) -> Result<&str, SqlError> {
        self.attribute(wanted).ok_or_else(|| SqlError::new(4859, &[&self.line, &file, &wanted]))
    }

    /// Error 4858.
    fn wrong(&self, file: &str, attribute: &str) -> SqlError {
        let value = self.attribute(attribute).unwrap_or_default();
        SqlError::new(4858, &[&self.line, &file, &value, &attribute])
    }
}

/// The fields in their order. The columns of the row are those of the table from the first on, whatever their names are. Errors 4822 (the number of
/// fields), 4858, 4859, those of XML; a refusal for fields that are not text up to a terminator.
pub(super) fn xml_fields(file: &str, text: &str) -> Result<Vec<FormatField>, SqlError> {
    // The declaration tells the encoding of the file, not of the text.
    let trimmed = text.trim_start_matches(|c: char| c == '\u{FEFF}' || c.is_whitespace());
    let content = match trimmed.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")) {
        Some((_, content)) => content,
        None => trimmed,
    };
    types::check_xml(&content.encode_utf16().collect::<Vec<u16>>())?;
    let line_before = text[..text.len() - content.len()].matches('\n').count();
    let (mut fields, mut ids, mut columns) = (Vec::new(), Vec::new(), 0);
    for tag in tags(content, line_before + 1) {
        match tag.name.as_str() {
            "FIELD" => {
                let id = tag.required(file, "ID")?.to_string();
                if ids.contains(&id) {
                    return Err(tag.wrong(file, "ID"));
                }
                ids.push(id);
                fields.push(field(file, &tag)?);
            }
            "COLUMN" => {
                let source = tag.required(file, "SOURCE")?;
                tag.required(file, "NAME")?;
                let at = ids.iter().position(|id| id == source);
                let field: Option<&mut FormatField> = at.and_then(|at| fields.get_mut(at));
                let field =
                    field.filter(|field| field.column == 0).ok_or_else(|| tag.wrong(file, "SOURCE"))?;
                columns += 1;
                field.column = columns;
            }
            _ => {}
        }
    }
    if fields.is_empty() || fields.len() > FIELDS_MAX || columns == 0 {
        return Err(SqlError::new(4822, &[&file]));
    }
    Ok(fields)
}

fn field(file: &str, tag: &Tag) -> Result<FormatField, SqlError> {
    let is_wide = match tag.required(file, "type")? {
        "CharTerm" => false,
        "NCharTerm" => true,
        other @ ("CharFixed" | "CharPrefix" | "NCharFixed" | "NCharPrefix" | "NativeFixed"
        | "NativePrefix") => {
            return Err(crate::errors::unsupported(&format!("a field of type {other} in a format file")));
        }
        _ => return Err(tag.wrong(file, "type")),
    };
    let written = tag.required(file, "TERMINATOR")?;
    if written.is_empty() {
        return Err(tag.wrong(file, "TERMINATOR"));
    }
    delimited(is_wide, written, 0)
}

/// The starts of elements in a text that is well-formed.
fn tags(text: &str, first_line: usize) -> Vec<Tag> {
    let (mut tags, mut at) = (Vec::new(), 0);
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let rest = &text[start..];
        let skipped = [("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("</", ">"), ("<!", ">")];
        if let Some((open, close)) = skipped.iter().find(|(open, _)| rest.starts_with(open)) {
            let Some(end) = rest[open.len()..].find(close) else { break };
            at = start + open.len() + end + close.len();
            continue;
        }
        let line = first_line + text[..start].matches('\n').count();
        let (tag, length) = one_tag(&rest[1..], line);
        tags.push(tag);
        at = start + 1 + length;
    }
    tags
}

/// The tag whose name begins here, and its length.
fn one_tag(text: &str, line: usize) -> (Tag, usize) {
    let local = |name: &str| name.rsplit(':').next().unwrap_or_default().to_string();
    let name_ends = |c: char| c.is_whitespace() || matches!(c, '/' | '>' | '=');
    let name_length = text.find(name_ends).unwrap_or(text.len());
    let mut tag = Tag { name: local(&text[..name_length]), attributes: Vec::new(), line };
    let mut at = name_length;
    loop {
        at += text[at..].find(|c: char| !c.is_whitespace() && c != '/').unwrap_or(text.len() - at);
        let rest = &text[at..];
        if rest.is_empty() || rest.starts_with('>') {
            return (tag, at);
        }
        let name = local(&rest[..rest.find(name_ends).unwrap_or(rest.len())]);
        let Some(quote_at) = rest.find(['"', '\'']) else { return (tag, text.len()) };
        let (quote, value) = (&rest[quote_at..=quote_at], &rest[quote_at + 1..]);
        let Some(length) = value.find(quote) else { return (tag, text.len()) };
        tag.attributes.push((name, unescaped(&value[..length])));
        at += quote_at + 1 + length + 1;
    }
}

/// A value with its references resolved.
fn unescaped(value: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        let Some((reference, others)) = behind.split_once(';') else { break };
        let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let meant = match reference {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => match (reference.strip_prefix("#x"), reference.strip_prefix('#')) {
                (Some(digits), _) => number(digits, 16),
                (None, Some(digits)) => number(digits, 10),
                _ => None,
            },
        };
        out.extend(meant);
        rest = others;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<BCPFORMAT xmlns=\"http://schemas.microsoft.com/sqlserver/2004/bulkload/format\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">";

    fn file(record: &str, row: &str) -> String {
        format!("{HEAD}\n<!-- <FIELD/> --><RECORD>\n{record}</RECORD>\n<ROW>{row}</ROW></BCPFORMAT>")
    }

    fn number(text: &str) -> i32 {
        xml_fields("f.xml", text).map(|_| ()).map_err(|error| error.number).expect_err("refused")
    }

    /// "XML Format Files (SQL Server)": fields, and columns that name them; a field without a column is passed over.
    #[test]
    fn columns_name_their_fields() {
        let record = "<FIELD ID=\"1\" xsi:type=\"CharTerm\" TERMINATOR=\",\" MAX_LENGTH=\"7\"/>\n<FIELD ID='2' xsi:type='CharTerm' TERMINATOR='&quot;&#44;\\t'></FIELD>\n<FIELD ID=\"3\" xsi:type=\"CharTerm\" TERMINATOR=\"\\r\\n\" COLLATION=\"Latin1_General_CI_AS\"/>";
        let row = "<COLUMN SOURCE=\"3\" NAME=\"a\" xsi:type=\"SQLINT\"/><COLUMN SOURCE=\"1\" NAME=\"b\" xsi:type=\"SQLVARYCHAR\"/>";
        let fields = xml_fields("f.xml", &file(record, row)).expect("well-formed");
        let of: Vec<_> = fields.iter().map(|field| (field.end.bytes.as_slice(), field.column)).collect();
        assert_eq!(of, [(&b","[..], 2), (b"\",\t", 0), (b"\n", 1)]);
        assert!(fields.iter().all(|field| !field.is_wide));
    }

    #[test]
    fn wrong_files_are_refused() {
        let field = "<FIELD ID=\"1\" xsi:type=\"CharTerm\" TERMINATOR=\",\"/>";
        let column = "<COLUMN SOURCE=\"1\" NAME=\"a\"/>";
        assert!(xml_fields("f.xml", &file(field, column)).is_ok());
        assert_eq!(number(&file("", "")), 4822);
        assert_eq!(number(&file(field, "")), 4822);
        assert_eq!(number(&file(&field.repeat(2), column)), 4858);
        assert_eq!(number(&file(field, &column.repeat(2))), 4858);
        assert_eq!(number(&file(field, "<COLUMN SOURCE=\"2\" NAME=\"a\"/>")), 4858);
        assert_eq!(number(&file(field, "<COLUMN SOURCE=\"1\"/>")), 4859);
        assert_eq!(number(&file(&field.replace("ID=\"1\"", ""), column)), 4859);
        assert_eq!(number(&file(&field.replace("TERMINATOR=\",\"", ""), column)), 4859);
        assert_eq!(number(&file(&field.replace("\",\"", "\"\""), column)), 4858);
        assert_eq!(number(&file(&field.replace("CharTerm", "Text"), column)), 4858);
        assert_eq!(number(&file(&field.replace("CharTerm", "NativeFixed"), column)), 40514);
        let error = number(&file("<FIELD ID=\"1\"", column));
        assert!((9400..9500).contains(&error), "{error}");
    }
}
