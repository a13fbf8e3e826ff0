//! Splitting a script into batches at GO, as SQL Server's clients do.

/// One batch of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptBatch {
    /// The text between two GO lines; never blank.
    pub text: String,
    /// 1-based line of the script where the text starts.
    pub line: u32,
    /// How often to run it (`GO 5`).
    pub count: u64,
}

/// Splits `script` at lines that hold only `GO [count]`, outside of strings, quoted names and comments. A comment may
/// follow on the line; `GO;` is not a separator. Blank batches are left out.
pub fn split_go(script: &str) -> Vec<ScriptBatch> {
    let mut batches = Vec::new();
    let mut state = State::Code;
    let (mut start, mut start_line) = (0, 1);
    let mut offset = 0;
    for (line, number) in script.split_inclusive('\n').zip(1u32..) {
        let count = if state == State::Code { go_count(line) } else { None };
        match count {
            Some(count) => {
                push(&mut batches, &script[start..offset], start_line, count);
                (start, start_line) = (offset + line.len(), number + 1);
            }
            None => state = scan_line(line.as_bytes(), state, &mut |_, _| {}),
        }
        offset += line.len();
    }
    push(&mut batches, &script[start..], start_line, 1);
    batches
}

/// The kind of a script line, for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoLine {
    /// Text of a batch.
    No,
    /// The end of a batch that runs so many times.
    Count(u64),
    /// It begins with the word GO, but what follows is no count: clients refuse that.
    Wrong,
}

/// Follows a script line by line: which lines are code from their first character on, and which string or comment is left open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScriptPlace {
    state: State,
}

impl ScriptPlace {
    /// Is the next line code from its first character on? Only then can it be GO or a directive of a client.
    pub fn is_code(&self) -> bool {
        self.state == State::Code
    }

    /// The construct that the next line begins inside, in words for a message.
    pub fn open(&self) -> Option<&'static str> {
        match self.state {
            State::Code => None,
            State::Quoted(b']') => Some("a name in brackets"),
            State::Quoted(b'"') => Some("a quoted name"),
            State::Quoted(_) => Some("a string"),
            State::Comment(_) => Some("a comment"),
        }
    }

    /// The kind of the next line, if it is code.
    pub fn go(line: &str) -> GoLine {
        if let Some(count) = go_count(line) {
            return GoLine::Count(count);
        }
        let mut words = line.split_whitespace();
        let is_go = words.next().is_some_and(|word| word.eq_ignore_ascii_case("go"));
        if is_go && words.next().is_some() { GoLine::Wrong } else { GoLine::No }
    }

    /// Goes over the next line.
    pub fn advance(&mut self, line: &str) {
        self.state = scan_line(line.as_bytes(), self.state, &mut |_, _| {});
    }

    /// The pieces of the next line, from the left, each with whether it is inside a comment.
    pub fn pieces<'l>(&self, line: &'l str) -> Vec<(&'l str, bool)> {
        let mut borders = Vec::new();
        let mut was_comment = matches!(self.state, State::Comment(_));
        let mut pieces = Vec::new();
        scan_line(line.as_bytes(), self.state, &mut |at, is_comment| borders.push((at, is_comment)));
        let mut start = 0;
        for (at, is_comment) in borders {
            pieces.push((&line[start..at], was_comment));
            (start, was_comment) = (at, is_comment);
        }
        pieces.push((&line[start..], was_comment));
        pieces.retain(|piece| !piece.0.is_empty());
        pieces
    }
}

/// The construct that the end of a line is inside of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Code,
    /// A string, quoted or bracketed name that ends with this byte.
    Quoted(u8),
    /// Comments nest.
    Comment(u32),
}

fn push(batches: &mut Vec<ScriptBatch>, text: &str, line: u32, count: u64) {
    if !text.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}').is_empty() {
        batches.push(ScriptBatch { text: text.to_string(), line, count });
    }
}

/// The count of a GO line, or None for any other line.
fn go_count(line: &str) -> Option<u64> {
    let line = line.trim().trim_start_matches('\u{FEFF}');
    let rest = line.get(..2).filter(|word| word.eq_ignore_ascii_case("go")).map(|_| &line[2..])?;
    let rest = before_comment(rest);
    if rest.trim().is_empty() {
        return Some(1);
    }
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    rest.trim().parse().ok()
}

/// The part of a GO line before `--` or before a comment that ends on the line.
fn before_comment(rest: &str) -> &str {
    if let Some((before, _)) = rest.split_once("--") {
        return before;
    }
    match rest.split_once("/*") {
        Some((before, comment)) if comment.trim_end().ends_with("*/") => before,
        _ => rest,
    }
}

/// Scans one line (with its line feed) and returns the construct that its end is inside of. `border` is called where comments begin and end.
fn scan_line(line: &[u8], mut state: State, border: &mut dyn FnMut(usize, bool)) -> State {
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        let next = line.get(at + 1).copied();
        match (state, byte, next) {
            (State::Code, b'-', Some(b'-')) => {
                border(at, true);
                return state;
            }
            (State::Code, b'/', Some(b'*')) => {
                border(at, true);
                state = State::Comment(1);
                at += 1;
            }
            (State::Code, b'\'' | b'"', _) => state = State::Quoted(byte),
            (State::Code, b'[', _) => state = State::Quoted(b']'),
            // A doubled closing quote closes and, for strings, opens again at once; a bracket must be skipped.
            (State::Quoted(b']'), b']', Some(b']')) => at += 1,
            (State::Quoted(close), _, _) if byte == close => state = State::Code,
            (State::Comment(depth), b'/', Some(b'*')) => {
                state = State::Comment(depth.saturating_add(1));
                at += 1;
            }
            (State::Comment(depth), b'*', Some(b'/')) => {
                state = if depth > 1 { State::Comment(depth - 1) } else { State::Code };
                at += 1;
                if state == State::Code {
                    border(at + 1, false);
                }
            }
            _ => {}
        }
        at += 1;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(script: &str) -> Vec<(String, u32, u64)> {
        split_go(script).into_iter().map(|b| (b.text.trim().to_string(), b.line, b.count)).collect()
    }

    #[test]
    fn batches_end_at_go_lines() {
        assert_eq!(
            split("SELECT 1\nGO\n\nSELECT 2\r\n  go 500 -- twice\r\nSELECT 3"),
            [("SELECT 1".into(), 1, 1), ("SELECT 2".into(), 3, 500), ("SELECT 3".into(), 6, 1)]
        );
        assert_eq!(split("GO\nGO\n \n"), []);
    }

    #[test]
    fn go_inside_strings_names_and_comments_is_text() {
        let script = "SELECT N'a\nGO\nb''\nGO\n', [x]]\nGO\n], \"y\nGO\n\" /* /* \nGO\n */ \nGO\n*/ -- it's\nGO\nSELECT 2";
        let batches = split_go(script);
        assert_eq!(batches.len(), 2);
        assert_eq!(batches[1].text, "SELECT 2");
    }

    #[test]
    fn a_place_knows_what_is_open_and_what_is_a_comment() {
        let mut place = ScriptPlace::default();
        let line = "SELECT 'a--' /* b */ + [c/*] -- d /* e\n";
        assert_eq!(
            place.pieces(line),
            [("SELECT 'a--' ", false), ("/* b */", true), (" + [c/*] ", false), ("-- d /* e\n", true)]
        );
        place.advance(line);
        assert!(place.is_code());
        for (line, open) in [("/* x", "a comment"), ("*/ 'y", "a string"), ("' [z", "a name in brackets")] {
            place.advance(line);
            assert_eq!(place.open(), Some(open), "{line}");
        }
        assert_eq!(ScriptPlace::go("go 3 -- times"), GoLine::Count(3));
        assert_eq!(ScriptPlace::go("GO x"), GoLine::Wrong);
        assert_eq!(ScriptPlace::go("GO -1"), GoLine::Wrong);
        assert_eq!(ScriptPlace::go("GOTO x"), GoLine::No);
    }

    #[test]
    fn what_only_looks_like_go_is_not() {
        for line in ["GO;", "GOTO x", "GO x", "GO 1.5", "SELECT 1 GO", "GO5"] {
            assert_eq!(split(line).len(), 1, "{line}");
            assert_eq!(split(line)[0].0, line);
        }
        assert_eq!(split("x\nGO/* end */\ny").len(), 2);
    }
}
