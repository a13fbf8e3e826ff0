//! The table of options and clauses (`binder/src/clauses/table.txt`) is complete and correct: each word of the parser and each branch of the code has
//! a row, and the statements of each row are refused or run as the row says. No clause is accepted without effect.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test reads the parser's source")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::{World, run};
use query::clauses::{Row, TABLE, Takes, rows};

fn table() -> Vec<Row<'static>> {
    rows(TABLE).expect("every line has its form")
}

/// Words in capitals between quotation marks: what the parser compares tokens with, and the names that it gives to statements.
fn words_of(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let mut words = BTreeSet::new();
    for line in code.lines().map(|line| line.split("//").next().unwrap()) {
        for text in line.split('"').skip(1).step_by(2) {
            let is_word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == ' ';
            if text.len() > 1
                && text.starts_with(|c: char| c.is_ascii_uppercase())
                && text.chars().all(is_word)
            {
                words.insert(text.trim().to_string());
            }
        }
    }
    words
}

/// The words that the table has under a place.
fn in_table(table: &[Row<'_>], place: &str) -> BTreeSet<String> {
    let rows = table.iter().filter(|row| row.place == place);
    rows.flat_map(|row| row.words.iter().map(|word| word.to_string())).collect()
}

#[test]
fn every_word_of_the_parser_has_its_row() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tsql/src/parser");
    let table = table();
    let mut missing = Vec::new();
    let mut files = BTreeSet::new();
    let beside = folder.join("../set_words.rs");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in paths.chain([beside]) {
        let place = format!("parser/{}", path.file_stem().unwrap().to_string_lossy());
        let words = words_of(&std::fs::read_to_string(&path).unwrap());
        let known = in_table(&table, &place);
        missing.extend(
            words.difference(&known).map(|word| format!("{place} | {word}: in the parser, not in the table")),
        );
        missing.extend(
            known.difference(&words).map(|word| format!("{place} | {word}: in the table, not in the parser")),
        );
        files.insert(place);
    }
    assert!(files.len() > 20, "the parser's folder was read");
    let gone = table.iter().filter(|row| row.place.starts_with("parser/") && !files.contains(row.place));
    missing.extend(gone.map(|row| format!("{}: no such file", row.place)));
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_word_stands_once_in_its_place() {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let table = table();
    for row in &table {
        assert!(!row.meaning.is_empty(), "{row:?}");
        for word in &row.words {
            *seen.entry((row.place, word)).or_default() += 1;
        }
        let must_be_shown = matches!(row.takes, Takes::Refused | Takes::Only(_));
        let shown = row.examples.iter().any(|example| !example.ends_with("=> ok"));
        assert!(
            shown || !must_be_shown || row.place == "SET",
            "a refusal needs a statement that shows it: {row:?}"
        );
    }
    let twice: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Numbers that say "not here", "not any more" or "not like this" of what a row refuses.
const REFUSALS: [i32; 27] = [
    40514, 40517, 102, 129, 153, 155, 195, 321, 448, 1088, 1731, 1921, 2552, 2706, 2727, 3701, 3952, 5082,
    5083, 5133, 7729, 10715, 10782, 10783, 10784, 10794, 10796,
];

#[test]
fn the_statements_of_each_row_are_refused_or_run() {
    let world = World::new("clauses");
    let mut wrong = Vec::new();
    for (number, row) in table().iter().enumerate() {
        for example in &row.examples {
            let (statement, runs) = match example.strip_suffix("=> ok") {
                Some(statement) => (statement.trim(), true),
                None => (*example, false),
            };
            let mut session = world.session();
            let database = format!("clauses{number}");
            let own = statement.contains("DATABASE");
            if own {
                run(&mut session, &format!("CREATE DATABASE {database}"));
                run(&mut session, &format!("USE {database}"));
            }
            run(&mut session, "CREATE TABLE t (i int NOT NULL)");
            run(&mut session, "CREATE SEQUENCE q AS int START WITH 1");
            let statement = statement.replace("DATABASE d ", &format!("DATABASE {database} "));
            let statement = statement.replace("DATABASE x ", &format!("DATABASE x{database} "));
            let seen = run(&mut session, &statement);
            let error = seen.messages.iter().find(|message| message.0 != 0 && message.0 != 2528);
            let fits = match error {
                None => runs,
                Some(error) => !runs && REFUSALS.contains(&error.0),
            };
            if !fits {
                wrong.push(format!("{} | {statement}: {:?}", row.place, seen.messages));
            }
            session.close();
            let mut session = world.session();
            if own {
                run(&mut session, &format!("DROP DATABASE IF EXISTS x{database}, {database}"));
            }
            run(
                &mut session,
                "DROP PROCEDURE IF EXISTS p DROP VIEW IF EXISTS v DROP FUNCTION IF EXISTS f DROP TABLE IF EXISTS t, x",
            );
            session.close();
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
