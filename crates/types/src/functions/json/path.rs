//! JSON paths: `[lax | strict] $ .member ."quoted member" [index] ...`.

use crate::{SqlError, SqlResult};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A member of an object by name.
    Member(String),
    /// An element of an array by position from 0.
    Element(usize),
}

/// A parsed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// A missing value is an error.
    pub strict: bool,
    /// The steps from the root.
    pub steps: Vec<Step>,
}

impl Path {
    /// Reads a path. Error 13607 with the character and its position.
    pub fn parse(text: &str) -> SqlResult<Path> {
        let trimmed = text.trim_start();
        let mode =
            |word: &str| trimmed.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let (strict, rest) = if mode("strict ") {
            (true, &trimmed[7..])
        } else if mode("lax ") {
            (false, &trimmed[4..])
        } else {
            (false, trimmed)
        };
        let rest = rest.trim_start();
        let error = |rest: &str| {
            let position = text.chars().count() - rest.chars().count();
            let found = rest.chars().next().map_or_else(|| "end of path".to_owned(), String::from);
            SqlError::new(13607, &[&found, &position])
        };
        let mut rest = rest.strip_prefix('$').ok_or_else(|| error(rest))?;
        let mut steps = Vec::new();
        while !rest.trim_end().is_empty() {
            let (step, after) = parse_step(rest).ok_or_else(|| error(rest))?;
            steps.push(step);
            rest = after;
        }
        Ok(Path { strict, steps })
    }
}

fn parse_step(text: &str) -> Option<(Step, &str)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        return Some((Step::Element(index.trim().parse().ok()?), rest));
    }
    let rest = text.strip_prefix('.')?;
    if rest.starts_with('"') {
        let end = super::scan::string_end(rest, 0)?;
        return Some((Step::Member(super::scan::unescape(&rest[..end])), &rest[end..]));
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    (end > 0).then(|| (Step::Member(rest[..end].to_owned()), &rest[end..]))
}
