//! JSON_VALUE, JSON_QUERY, JSON_MODIFY, ISJSON, JSON_PATH_EXISTS over JSON text: no tree is built, values are positions in the text, so that returned
//! and unchanged parts stay as they were written.

use std::ops::Range;

use crate::{SqlError, SqlResult};

mod path;
mod scan;

pub use path::{Path, Step};
pub use scan::{Kind, check, elements, escape, kind_at, members, quote};

/// What a new value of JSON_MODIFY is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewValue<'a> {
    /// NULL: deletes a member (lax) or writes `null` (strict, and elements of arrays).
    Null,
    /// Text, written as a JSON string.
    Text(&'a str),
    /// Numbers, true, false, and JSON from JSON_QUERY and FOR JSON, written as they are.
    Raw(&'a str),
}

/// JSON_VALUE: the scalar at the path as text. `None`: JSON null, not there, or no scalar (lax). Errors 13607, 13608, 13609, 13623.
pub fn json_value(text: &str, path: &str) -> SqlResult<Option<String>> {
    let path = Path::parse(path)?;
    let Some(place) = find(text, &path)? else { return Ok(None) };
    match kind_at(text, place.start) {
        Kind::Object | Kind::Array if path.strict => Err(SqlError::new(13623, &[])),
        Kind::Object | Kind::Array | Kind::Null => Ok(None),
        Kind::String => Ok(Some(scan::unescape(&text[place]))),
        Kind::Number | Kind::Boolean => Ok(Some(text[place].to_owned())),
    }
}

/// JSON_QUERY: the object or array at the path as written in the text. `None`: not there, or a scalar (lax). Errors 13607, 13608,
/// 13609, 13624.
pub fn json_query(text: &str, path: &str) -> SqlResult<Option<String>> {
    let path = Path::parse(path)?;
    let Some(place) = find(text, &path)? else { return Ok(None) };
    match kind_at(text, place.start) {
        Kind::Object | Kind::Array => Ok(Some(text[place].to_owned())),
        _ if path.strict => Err(SqlError::new(13624, &[])),
        _ => Ok(None),
    }
}

/// ISJSON: is it a JSON object or array? With a constraint (`VALUE`, `SCALAR`, `ARRAY`, `OBJECT`): of that kind. `None`: no such
/// constraint.
pub fn is_json(text: &str, constraint: Option<&str>) -> Option<bool> {
    let kind = check(text).ok().map(|place| kind_at(text, place.start));
    let accepts: fn(Kind) -> bool = match constraint.map(str::to_ascii_uppercase).as_deref() {
        None => |kind| matches!(kind, Kind::Object | Kind::Array),
        Some("VALUE") => |_| true,
        Some("ARRAY") => |kind| kind == Kind::Array,
        Some("OBJECT") => |kind| kind == Kind::Object,
        Some("SCALAR") => |kind| matches!(kind, Kind::String | Kind::Number),
        Some(_) => return None,
    };
    Some(kind.is_some_and(accepts))
}

/// A row of OPENJSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the member, or position of the element.
    pub key: String,
    /// A scalar's text, or a part of JSON; `None`: `null`.
    pub value: Option<String>,
    /// 0 null, 1 string, 2 number, 3 true or false, 4 array, 5 object.
    pub kind: u8,
}

/// The source of OPENJSON's rows, one after the other.
#[derive(Debug)]
pub struct Parts {
    text: String,
    /// The next element begins here or behind it.
    at: usize,
    /// Elements returned.
    given: usize,
    whole: Whole,
}

/// The value at OPENJSON's path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Whole {
    Object,
    Array,
    /// One row, an object.
    One(Range<usize>),
    Nothing,
}

impl Parts {
    /// OPENJSON: the members or elements of the object or array at the path. No value, or a scalar: no rows (lax). Errors 13607, 13608, 13609.
    pub fn entries(text: String, path: &str) -> SqlResult<Parts> {
        Parts::at(text, path, |_| Whole::Object)
    }

    /// OPENJSON ... WITH: each a text of JSON, the elements of the array at the path, or the object there.
    pub fn items(text: String, path: &str) -> SqlResult<Parts> {
        Parts::at(text, path, Whole::One)
    }

    fn at(text: String, path: &str, object: impl FnOnce(Range<usize>) -> Whole) -> SqlResult<Parts> {
        let path = Path::parse(path)?;
        let (at, whole) = match find(&text, &path)? {
            None => (0, Whole::Nothing),
            Some(place) => match kind_at(&text, place.start) {
                Kind::Object => (place.start + 1, object(place)),
                Kind::Array => (place.start + 1, Whole::Array),
                _ if path.strict => return Err(SqlError::new(13608, &[])),
                _ => (0, Whole::Nothing),
            },
        };
        Ok(Parts { text, at, given: 0, whole })
    }

    /// The next member of the object, or element of the array.
    pub fn next_entry(&mut self) -> Option<Entry> {
        let (key, place) = match self.whole {
            Whole::Object => {
                let (key, value) = scan::next_member(&self.text, &mut self.at)?;
                (scan::unescape(&self.text[key]), value)
            }
            Whole::Array => (self.given.to_string(), scan::next_element(&self.text, &mut self.at)?),
            Whole::One(_) | Whole::Nothing => return None,
        };
        self.given += 1;
        let part = &self.text[place.clone()];
        let (kind, value) = match kind_at(&self.text, place.start) {
            Kind::Null => (0, None),
            Kind::String => (1, Some(scan::unescape(part))),
            Kind::Number => (2, Some(part.to_owned())),
            Kind::Boolean => (3, Some(part.to_owned())),
            Kind::Array => (4, Some(part.to_owned())),
            Kind::Object => (5, Some(part.to_owned())),
        };
        Some(Entry { key, value, kind })
    }

    /// The next element of the array, or the object, once.
    pub fn next_item(&mut self) -> Option<String> {
        let place = match std::mem::replace(&mut self.whole, Whole::Nothing) {
            Whole::One(place) => place,
            Whole::Array => {
                self.whole = Whole::Array;
                scan::next_element(&self.text, &mut self.at)?
            }
            Whole::Object | Whole::Nothing => return None,
        };
        Some(self.text[place].to_owned())
    }
}

/// JSON_PATH_EXISTS: is there anything at the path, be it `null`? There are no errors: false for invalid JSON or an invalid path.
pub fn path_exists(text: &str, path: &str) -> bool {
    Path::parse(path).and_then(|path| find_lax(text, &path)).is_ok_and(|found| found.is_some())
}

/// JSON_MODIFY: the text with the value at the path replaced, added, appended (`append` before the path) or deleted. Errors 13607,
/// 13608, 13609, 13611.
pub fn json_modify(text: &str, path: &str, value: NewValue<'_>) -> SqlResult<String> {
    let (append, path) = match path.trim_start().strip_prefix("append ") {
        Some(rest) => (true, Path::parse(rest)?),
        None => (false, Path::parse(path)?),
    };
    let written = match value {
        NewValue::Null => "null".to_owned(),
        NewValue::Text(text) => scan::quote(text),
        NewValue::Raw(raw) => raw.to_owned(),
    };
    let found = find_lax(text, &path)?;
    if append {
        return append_to(text, &path, found, &written);
    }
    match found {
        Some(place) => match (value, path.steps.split_last()) {
            (NewValue::Null, Some((Step::Member(name), parents))) if !path.strict => {
                delete_member(text, parents, name, path.strict)
            }
            _ => Ok(splice(text, place, &written)),
        },
        None if path.strict => Err(SqlError::new(13608, &[])),
        None => match (value, path.steps.split_last()) {
            (NewValue::Null, _) | (_, None) => Ok(text.to_owned()),
            (_, Some((last, parents))) => insert(text, parents, last, &written),
        },
    }
}

/// The place of the value at the path. `None`: not there (lax). Errors 13608 (strict), 13609.
fn find(text: &str, path: &Path) -> SqlResult<Option<Range<usize>>> {
    match find_lax(text, path)? {
        None if path.strict => Err(SqlError::new(13608, &[])),
        found => Ok(found),
    }
}

fn find_lax(text: &str, path: &Path) -> SqlResult<Option<Range<usize>>> {
    let whole = check(text)?;
    Ok(walk(text, whole, &path.steps))
}

fn walk(text: &str, from: Range<usize>, steps: &[Step]) -> Option<Range<usize>> {
    steps.iter().try_fold(from, |place, step| match (step, kind_at(text, place.start)) {
        (Step::Member(name), Kind::Object) => members(text, place.start)
            .find(|(key, _)| scan::unescape(&text[key.clone()]) == *name)
            .map(|(_, value)| value),
        (Step::Element(index), Kind::Array) => elements(text, place.start).nth(*index),
        _ => None,
    })
}

fn splice(text: &str, place: Range<usize>, written: &str) -> String {
    format!("{}{written}{}", &text[..place.start], &text[place.end..])
}

fn append_to(text: &str, path: &Path, found: Option<Range<usize>>, written: &str) -> SqlResult<String> {
    let Some(place) = found else {
        return match (path.strict, path.steps.split_last()) {
            (true, _) => Err(SqlError::new(13608, &[])),
            (false, Some((last, parents))) => insert(text, parents, last, &format!("[{written}]")),
            (false, None) => Ok(text.to_owned()),
        };
    };
    if kind_at(text, place.start) != Kind::Array {
        return if path.strict { Err(SqlError::new(13611, &[])) } else { Ok(text.to_owned()) };
    }
    let separator = if elements(text, place.start).next().is_some() { "," } else { "" };
    let end = place.end - 1;
    Ok(format!("{}{separator}{written}{}", &text[..end], &text[end..]))
}

/// Adds a member to an object; an index just behind an array appends. Otherwise nothing changes.
fn insert(text: &str, parents: &[Step], last: &Step, written: &str) -> SqlResult<String> {
    let Some(parent) = walk(text, check(text)?, parents) else { return Ok(text.to_owned()) };
    let end = parent.end - 1;
    let (is_empty, addition) = match (last, kind_at(text, parent.start)) {
        (Step::Member(name), Kind::Object) => {
            (members(text, parent.start).next().is_none(), format!("{}:{written}", scan::quote(name)))
        }
        (Step::Element(index), Kind::Array) if elements(text, parent.start).count() == *index => {
            (*index == 0, written.to_owned())
        }
        _ => return Ok(text.to_owned()),
    };
    let separator = if is_empty { "" } else { "," };
    Ok(format!("{}{separator}{addition}{}", &text[..end], &text[end..]))
}

/// Removes a member, with one of the adjacent commas.
fn delete_member(text: &str, parents: &[Step], name: &str, strict: bool) -> SqlResult<String> {
    let missing = || if strict { Err(SqlError::new(13608, &[])) } else { Ok(text.to_owned()) };
    let Some(parent) = walk(text, check(text)?, parents) else { return missing() };
    let all: Vec<_> = members(text, parent.start).collect();
    let Some(index) = all.iter().position(|(key, _)| scan::unescape(&text[key.clone()]) == name) else {
        return missing();
    };
    let place = match (index, all.get(index + 1)) {
        // From the end of the member before, or up to the next one.
        (1.., _) => all[index - 1].1.end..all[index].1.end,
        (0, Some((next, _))) => all[0].0.start..next.start,
        (0, None) => all[0].0.start..all[0].1.end,
    };
    Ok(splice(text, place, ""))
}
