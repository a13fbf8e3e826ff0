//! The text in a value of type xml: what its method `value` reads.

use plan_ir::function_def::{Call, FunctionDef, Parameter, ResultRule};
use types::{SqlError, SqlType, Value, WideStr};

const RESULT: ResultRule = ResultRule::Fixed(SqlType::NVARCHAR_MAX);

/// The text of all nodes.
pub(super) static TEXT: FunctionDef = FunctionDef::new("value", &[Parameter::Any], RESULT, |call| {
    Ok(Value::NChar(WideStr::from(units(call)?.map_or_else(Vec::new, |units| text_of(&units, Take::All)))))
});

/// The first text that stands in no element; NULL if there is none.
pub(super) static FIRST_TEXT: FunctionDef = FunctionDef::new("value", &[Parameter::Any], RESULT, |call| {
    let found = units(call)?.map_or_else(Vec::new, |units| text_of(&units, Take::First));
    Ok(if found.is_empty() { Value::Null } else { Value::NChar(WideStr::from(found)) })
});

fn units(call: &Call<'_, '_>) -> Result<Option<WideStr>, SqlError> {
    Ok(match &call.args[0] {
        Value::NChar(units) => Some(units.clone()),
        _ => None,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    All,
    First,
}

/// The text of well-formed XML without its tags, comments and instructions.
fn text_of(units: &[u16], take: Take) -> Vec<u16> {
    let mut out = Vec::new();
    let (mut at, mut depth) = (0, 0usize);
    while at < units.len() {
        let rest = &units[at..];
        let is_taken = take == Take::All || depth == 0;
        match rest[0] {
            0x3C if starts(rest, "<![CDATA[") => {
                let end = end_of(rest, "]]>");
                if is_taken {
                    out.extend_from_slice(&rest[9..end.saturating_sub(3).max(9)]);
                }
                at += end;
            }
            0x3C => {
                let end = markup_end(rest);
                if take == Take::First && !out.is_empty() {
                    break;
                }
                let is_element = !starts(rest, "<!") && !starts(rest, "<?");
                if starts(rest, "</") {
                    depth = depth.saturating_sub(1);
                } else if is_element && rest.get(end.wrapping_sub(2)) != Some(&0x2F) {
                    depth += 1;
                }
                at += end;
            }
            0x26 => {
                let end = end_of(rest, ";");
                if is_taken {
                    out.extend(reference(&rest[1..end.saturating_sub(1).max(1)]));
                }
                at += end;
            }
            unit => {
                if is_taken {
                    out.push(unit);
                }
                at += 1;
            }
        }
    }
    out
}

fn starts(units: &[u16], text: &str) -> bool {
    units.len() >= text.len() && text.encode_utf16().zip(units).all(|(wanted, unit)| wanted == *unit)
}

/// The length up to the end of a mark.
fn end_of(units: &[u16], mark: &str) -> usize {
    let found = (0..units.len()).find(|at| starts(&units[*at..], mark));
    found.map_or(units.len(), |at| at + mark.len())
}

/// The length of a tag, comment or instruction.
fn markup_end(units: &[u16]) -> usize {
    if starts(units, "<!--") {
        return 4 + end_of(&units[4..], "-->");
    }
    if starts(units, "<?") {
        return end_of(units, "?>");
    }
    let mut quote = None;
    for (at, unit) in units.iter().enumerate() {
        match (quote, *unit) {
            (None, 0x22 | 0x27) => quote = Some(*unit),
            (Some(open), unit) if open == unit => quote = None,
            (None, 0x3E) => return at + 1,
            _ => {}
        }
    }
    units.len()
}

/// The character that a reference stands for.
fn reference(name: &[u16]) -> Vec<u16> {
    let name = String::from_utf16_lossy(name);
    let c = match name.as_str() {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        other => {
            let code = match other.strip_prefix("#x") {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => other.strip_prefix('#').and_then(|digits| digits.parse().ok()),
            };
            code.and_then(char::from_u32)
        }
    };
    c.map_or_else(Vec::new, |c| c.encode_utf16(&mut [0; 2]).to_vec())
}

#[cfg(test)]
mod tests {
    use super::{Take, text_of};

    fn read(xml: &str, take: Take) -> String {
        let units: Vec<u16> = xml.encode_utf16().collect();
        String::from_utf16_lossy(&text_of(&units, take))
    }

    #[test]
    fn text_is_read_without_markup() {
        let xml = "a<b c=\"1>2\">d&lt;<e/>&#x41;&#66;</b><!--x--><?p y?><![CDATA[<z>]]>f";
        assert_eq!(read(xml, Take::All), "ad<AB<z>f");
        assert_eq!(read(xml, Take::First), "a");
        assert_eq!(read("<b>c</b>x&amp;y<d/>z", Take::First), "x&y");
        assert_eq!(read("<b>c</b>", Take::First), "");
        assert_eq!(read("", Take::All), "");
    }
}
