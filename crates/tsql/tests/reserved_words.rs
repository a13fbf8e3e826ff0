//! Every word that T-SQL reserves is refused as a bare name, in each position of a name; every other word that the parser knows is a
//! name in each of them. The reserved words are data: `reserved_words.txt`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test reads the parser's source")]

use std::collections::BTreeSet;
use std::path::Path;

use hardpan_tsql as tsql;

const LIST: &str = include_str!("reserved_words.txt");

fn reserved() -> Vec<&'static str> {
    LIST.lines().filter(|line| !line.starts_with(['#', '-']) && !line.is_empty()).collect()
}

/// Words in capitals between quotation marks in the parser's source, without the reserved ones.
fn other_words() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/parser");
    let mut words = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let source = source.split("#[cfg(test)]").next().unwrap();
        for word in source.split('"').skip(1).step_by(2) {
            let is_word = word.len() > 1
                && word.starts_with(|c: char| c.is_ascii_uppercase())
                && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            if is_word && !reserved().contains(&word) {
                words.insert(word.to_string());
            }
        }
    }
    words
}

fn number(text: &str) -> Option<i32> {
    let parsed = tsql::parse_batch(text, &tsql::ParseOptions::default());
    parsed.err().and_then(|errors| errors.first().map(|error| error.number))
}

/// `$` is the word.
const NAMES: [&str; 34] = [
    "CREATE TABLE $ (a int)",
    "CREATE TABLE dbo.$ (a int)",
    "CREATE TABLE t ($ int)",
    "CREATE TABLE t (a int, $ varchar(10) NOT NULL)",
    "CREATE TABLE t (a int CONSTRAINT $ PRIMARY KEY)",
    "CREATE TABLE t (a int, CONSTRAINT $ CHECK (a > 0))",
    "CREATE TABLE t (a int INDEX $)",
    "CREATE INDEX $ ON t (a)",
    "CREATE INDEX i ON t ($) INCLUDE ($)",
    "CREATE SCHEMA $",
    "CREATE VIEW $ AS SELECT 1 AS a",
    "CREATE PROCEDURE $ AS SELECT 1",
    "CREATE FUNCTION dbo.$ (@a int) RETURNS int AS BEGIN RETURN 1 END",
    "ALTER TABLE $ ADD a int",
    "ALTER TABLE t ADD $ int",
    "ALTER TABLE t ALTER COLUMN $ int",
    "DROP TABLE $",
    "SELECT a AS $ FROM t",
    "SELECT a AS x, t.$ FROM t",
    "SELECT * FROM $",
    "SELECT * FROM dbo.$",
    "SELECT * FROM $.t",
    "SELECT * FROM t AS $",
    "SELECT * FROM (SELECT 1 AS a) AS $",
    "SELECT * FROM (VALUES (1)) AS v ($)",
    "SELECT a FROM t ORDER BY $",
    "WITH $ AS (SELECT 1 AS a) SELECT a FROM x",
    "WITH x ($) AS (SELECT 1) SELECT a FROM x",
    "INSERT INTO $ VALUES (1)",
    "INSERT INTO t ($) VALUES (1)",
    "UPDATE t SET $ = 1",
    "DELETE FROM $",
    "TRUNCATE TABLE $",
    "EXEC dbo.$",
];

/// Positions in which a reserved word means something else, so that only other words are tried there.
const OTHER_PLACES: [&str; 14] = [
    "SELECT $ FROM t",
    "SELECT $, $ + 1, ($), -$ FROM t WHERE $ = 1 AND $ IN ($, 2) GROUP BY $ HAVING MAX($) > $ ORDER BY $ DESC",
    "SELECT a $ FROM t",
    "SELECT 1 $",
    "SELECT $ = 1",
    "SELECT (SELECT 1) $, 'x' $",
    "SELECT $.$, $.* FROM t $ JOIN u ON u.a = $.a",
    "SELECT * FROM (SELECT 1 a) $",
    "INSERT $ VALUES (1)",
    "INSERT $ ($) SELECT $ FROM $",
    "UPDATE $ SET $ = $ + 1 FROM $ WHERE $ = 1",
    "DELETE $ WHERE $ = 1",
    "EXEC $",
    "CREATE TABLE $ ($ int NOT NULL, CONSTRAINT $ UNIQUE ($), INDEX $ ($))",
];

/// Positions of the name of a variable, which may be any word.
const VARIABLES: [&str; 4] = [
    "DECLARE @$ int = 1; SELECT @$",
    "CREATE PROCEDURE p @$ int AS SELECT @$",
    "EXEC p @$ = 1",
    "DECLARE @$ TABLE (a int); SELECT * FROM @$",
];

/// Is the word a token of its own, in any letter case?
fn is_reserved(word: &str) -> bool {
    let is_keyword = |text: &str| {
        let token = tsql::Lexer::new(text, true).next().unwrap();
        matches!(token.kind, tsql::TokenKind::Keyword(_))
    };
    is_keyword(word) && is_keyword(&word.to_lowercase())
}

#[test]
fn the_list_and_the_parser_have_the_same_words() {
    let reserved = reserved();
    let distinct: BTreeSet<_> = reserved.iter().collect();
    assert_eq!((reserved.len(), distinct.len()), (183, 183));
    for word in &reserved {
        assert!(is_reserved(word), "{word} is not reserved");
    }
    for word in other_words() {
        assert!(!is_reserved(&word), "{word} is reserved and not on the list");
    }
}

#[test]
fn reserved_words_are_no_names() {
    // Words that begin an allowed construct there, or that are a column by themselves.
    let allowed = |place: &str, word: &str| match place {
        "SELECT a AS x, t.$ FROM t" | "UPDATE t SET $ = 1" => matches!(word, "IDENTITYCOL" | "ROWGUIDCOL"),
        // A hint without WITH.
        "INSERT INTO t ($) VALUES (1)" => matches!(word, "IDENTITYCOL" | "ROWGUIDCOL" | "HOLDLOCK"),
        "SELECT a FROM t ORDER BY $" => matches!(
            word,
            "IDENTITYCOL"
                | "ROWGUIDCOL"
                | "NULL"
                | "USER"
                | "CURRENT_USER"
                | "SESSION_USER"
                | "SYSTEM_USER"
                | "CURRENT_TIMESTAMP"
                | "CURRENT_DATE"
        ),
        _ => false,
    };
    let mut wrong = Vec::new();
    for word in reserved() {
        for place in NAMES {
            for word in [word.to_string(), word.to_lowercase()] {
                let text = place.replace('$', &word);
                let found = number(&text);
                if !allowed(place, &word.to_uppercase()) && !matches!(found, Some(102 | 156 | 319)) {
                    wrong.push(format!("{found:?}: {text}"));
                }
            }
            for text in [place.replace('$', &format!("[{word}]")), place.replace('$', &format!("\"{word}\""))]
            {
                if let Some(found) = number(&text) {
                    wrong.push(format!("{found}: {text}"));
                }
            }
        }
        for place in VARIABLES {
            let text = place.replace('$', word);
            if let Some(found) = number(&text) {
                wrong.push(format!("{found}: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn other_words_are_names() {
    let words = other_words();
    assert!(words.len() > 300, "{} words of the parser", words.len());
    let mut wrong = Vec::new();
    for word in words.iter().map(String::as_str).chain(["PRECISION", "WITHIN", "LABEL"]) {
        for place in NAMES.iter().chain(&OTHER_PLACES).chain(&VARIABLES) {
            for word in [word.to_string(), word.to_lowercase()] {
                let text = place.replace('$', &word);
                if let Some(found) = number(&text) {
                    wrong.push(format!("{found}: {text}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
