//! Directives: lines of a script for the client instead of the server, in the manner of sqlcmd. A line is a directive only if it is code from its
//! first character on.

/// A directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    /// EXIT, QUIT: without running the collected text.
    Quit,
    /// EXIT(query): runs the collected text, then the query; its first value is the status. Without a query it only runs the text.
    ExitWith(String),
    /// Drops the collected text.
    Reset,
    /// `:r FILE`
    Read(String),
    /// `:setvar NAME [VALUE]`; without a value it removes the variable.
    SetVariable(String, Option<String>),
    /// `:on error exit` or `ignore`.
    StopOnError(bool),
    /// `:out FILE`, `stdout` or `stderr`.
    Out(String),
    /// `:connect SERVER [-U LOGIN [-P PASSWORD]]`
    Connect(Connect),
    /// `:listvar`
    ListVariables,
    /// `:list`: prints the collected text.
    List,
    /// `:help`
    Help,
}

/// The target of `:connect`; parts that it does not name stay the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Connect {
    pub(super) server: String,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
}

/// Directives of sqlcmd that this client does not support.
const NOT_HERE: [&str; 5] = ["error", "perftrace", "serverlist", "xml", "ed"];

/// The directives, for `:help`.
pub(super) const HELP: &str = "\
GO [N]                   runs the batch, N times
:r FILE                  reads a file here
:setvar NAME [VALUE]     sets a scripting variable, $(NAME) in the text; forgets it without a value
:listvar                 shows the scripting variables
:on error exit|ignore    stops at the first error of severity above 10, or goes on
:out FILE|stdout|stderr  where results go
:connect SERVER[,PORT] [-U LOGIN [-P PASSWORD]]   goes on there
:list, :reset            shows, forgets the batch
:exit, :quit             leaves; EXIT(QUERY) runs the batch and leaves with the query's first value as status
";

/// The directive on a line, if it is one. Unknown and malformed ones are errors.
pub(super) fn parse(line: &str) -> Option<Result<Directive, String>> {
    let line = line.trim().trim_start_matches('\u{FEFF}').trim_start();
    if line.starts_with("!!") {
        return Some(Err("'!!' is not supported: this client starts no other programs.".into()));
    }
    let Some(text) = line.strip_prefix(':').filter(|text| !text.starts_with(':')) else {
        return bare(line);
    };
    let end = text.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(text.len());
    let (word, rest) = (text[..end].to_lowercase(), text[end..].trim());
    Some(directive(&word, rest).unwrap_or_else(|| {
        Err(match NOT_HERE.contains(&word.as_str()) || text.starts_with("!!") {
            true => format!("the command ':{word}' is not supported by this client."),
            false => format!("Syntax error: ':{word}' is no command of this client."),
        })
    }))
}

/// The directives without a colon.
fn bare(line: &str) -> Option<Result<Directive, String>> {
    let word = line.trim_end_matches(';').trim_end().to_lowercase();
    match word.as_str() {
        "exit" | "quit" => Some(Ok(Directive::Quit)),
        "reset" => Some(Ok(Directive::Reset)),
        "ed" => Some(Err("the command 'ed' is not supported by this client.".into())),
        _ => {
            let rest = line.get(4..).filter(|_| word.starts_with("exit"))?.trim();
            rest.starts_with('(').then(|| exit(rest))
        }
    }
}

fn directive(word: &str, rest: &str) -> Option<Result<Directive, String>> {
    let alone = |directive: Directive| match rest.trim_end_matches(';') {
        "" => Ok(directive),
        _ => Err(format!("Syntax error: ':{word}' takes nothing behind it, not '{rest}'.")),
    };
    Some(match word {
        "quit" => alone(Directive::Quit),
        "exit" if rest.starts_with('(') => exit(rest),
        "exit" => alone(Directive::Quit),
        "reset" => alone(Directive::Reset),
        "list" => alone(Directive::List),
        "listvar" => alone(Directive::ListVariables),
        "help" => alone(Directive::Help),
        "r" => one_argument(word, rest).map(Directive::Read),
        "out" => one_argument(word, rest).map(Directive::Out),
        "setvar" => set_variable(rest),
        "on" => on_error(rest),
        "connect" => connect(rest).map(Directive::Connect),
        _ => return None,
    })
}

fn exit(rest: &str) -> Result<Directive, String> {
    let inside = rest.trim_end_matches(';').trim_end();
    match inside.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')) {
        Some(query) => Ok(Directive::ExitWith(query.trim().into())),
        None => Err(format!("Syntax error: EXIT wants its query in parentheses on one line, not '{rest}'.")),
    }
}

/// The one word of a directive, possibly in quotes.
fn one_argument(word: &str, rest: &str) -> Result<String, String> {
    let argument = match rest.strip_prefix('"') {
        Some(inside) => inside.strip_suffix('"').unwrap_or(""),
        None => rest,
    };
    match argument.is_empty() || argument.contains('"') {
        true => Err(format!("Syntax error: ':{word}' wants one file, not '{rest}'.")),
        false => Ok(argument.to_string()),
    }
}

fn set_variable(rest: &str) -> Result<Directive, String> {
    let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!("Syntax error: ':setvar' wants a name, not '{name}'."));
    }
    let value = value.trim();
    let value = match value.strip_prefix('"') {
        None if value.is_empty() => None,
        None => Some(value.to_string()),
        // A quote inside is doubled.
        Some(inside) => match inside.strip_suffix('"') {
            Some(inside) => Some(inside.replace("\"\"", "\"")),
            None => return Err(format!("Syntax error: the value of ':setvar {name}' has no closing quote.")),
        },
    };
    Ok(Directive::SetVariable(name.to_string(), value))
}

fn on_error(rest: &str) -> Result<Directive, String> {
    let words: Vec<String> = rest.split_whitespace().map(str::to_lowercase).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["error", "exit"] => Ok(Directive::StopOnError(true)),
        ["error", "ignore"] => Ok(Directive::StopOnError(false)),
        _ => Err(format!("Syntax error: ':on error' wants exit or ignore, not '{rest}'.")),
    }
}

fn connect(rest: &str) -> Result<Connect, String> {
    let wrong = || format!("Syntax error: ':connect' wants SERVER [-U LOGIN [-P PASSWORD]], not '{rest}'.");
    let mut words = rest.split_whitespace();
    let server = words.next().filter(|word| !word.starts_with('-')).ok_or_else(wrong)?.to_string();
    let mut target = Connect { server, user: None, password: None };
    while let Some(flag) = words.next() {
        let value = words.next().ok_or_else(wrong)?.trim_matches('"').to_string();
        match flag {
            "-U" => target.user = Some(value),
            "-P" => target.password = Some(value),
            _ => return Err(wrong()),
        }
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(line: &str) -> Directive {
        parse(line).unwrap_or_else(|| panic!("{line} is one")).unwrap()
    }

    #[test]
    fn directives_are_read() {
        for (line, directive) in [
            ("  :R a b.sql\r\n", Directive::Read("a b.sql".into())),
            (":r \"c d.sql\"", Directive::Read("c d.sql".into())),
            (":setvar Db Sales", Directive::SetVariable("Db".into(), Some("Sales".into()))),
            (":setvar t \"a \"\"b\"\" c\"", Directive::SetVariable("t".into(), Some("a \"b\" c".into()))),
            (":setvar t", Directive::SetVariable("t".into(), None)),
            (":on ERROR exit", Directive::StopOnError(true)),
            (":exit", Directive::Quit),
            ("EXIT;", Directive::Quit),
            ("exit (SELECT 3)", Directive::ExitWith("SELECT 3".into())),
            (":exit(SELECT (3))", Directive::ExitWith("SELECT (3)".into())),
            ("quit", Directive::Quit),
            ("RESET", Directive::Reset),
            (
                ":connect db,99 -U me -P \"x\"",
                Directive::Connect(Connect {
                    server: "db,99".into(),
                    user: Some("me".into()),
                    password: Some("x".into()),
                }),
            ),
        ] {
            assert_eq!(taken(line), directive, "{line}");
        }
    }

    #[test]
    fn what_is_none_is_text_and_what_is_wrong_is_an_error() {
        for text in ["SELECT 1", "::fn_helpcollations()", "exits", "EXITING(1)", "label:", "reset_all", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
        for wrong in [
            ":",
            ":x",
            ":r",
            ":setvar",
            ":setvar a \"b",
            ":on error",
            ":on",
            ":quit now",
            "!!ls",
            ":!!ls",
            ":xml on",
            ":error x",
            ":connect",
            ":connect a -U",
            ":connect a -X b",
            ":out",
            "ed",
            "exit (SELECT 1",
            ":r a\" b",
        ] {
            assert!(parse(wrong).is_some_and(|found| found.is_err()), "{wrong}");
        }
    }
}
