//! The catalogue of messages against the code that raises them, and against the words that client programs search for in a message.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test reads the workspace's source")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hardpan_types::messages;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The number of elements in the list behind `text`'s opening bracket, at its own level.
fn arguments(text: &str) -> usize {
    let (mut depth, mut count, mut something, mut quoted) = (0, 0, false, false);
    for character in text.chars() {
        quoted ^= character == '"';
        match character {
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return count + usize::from(something),
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                count += usize::from(something);
                something = false;
                continue;
            }
            _ => {}
        }
        something |= !character.is_whitespace();
    }
    panic!("the list ends");
}

fn placeholders(text: &str) -> usize {
    let text = text.replace("%%", "");
    text.matches("%s").count() + text.matches("%d").count()
}

/// Each call that raises a message by its number passes as many arguments as its text has placeholders, and the number is in the catalogue: no
/// message says "(null)" or that its text is missing.
#[test]
fn messages_are_raised_with_their_arguments() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    let mut raised: BTreeMap<i32, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for path in files.iter().filter(|path| path.components().any(|part| part.as_os_str() == "src")) {
        let source = std::fs::read_to_string(path).unwrap();
        for call_start in ["SqlError::new(", " error(", "(error("] {
            for (at, _) in source.match_indices(call_start) {
                let call = source[at + call_start.len()..].trim_start();
                let digits: String = call.chars().take_while(char::is_ascii_digit).collect();
                let Ok(number) = digits.parse::<i32>() else { continue };
                let rest = call[digits.len()..].trim_start_matches([',', ' ', '\n']);
                let Some(list) = rest.strip_prefix("&[") else { continue };
                *raised.entry(number).or_default() += 1;
                let given = arguments(list);
                match messages::lookup(number) {
                    None => wrong.push(format!("{}: {number} is not in the catalogue", path.display())),
                    Some(message) if placeholders(message.text) != given => {
                        let wanted = placeholders(message.text);
                        wrong.push(format!(
                            "{}: {number} takes {wanted} arguments, not {given}",
                            path.display()
                        ));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    assert!(raised.len() > 200, "the source was read: {}", raised.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every message, with an argument for each of its placeholders, has no placeholder left.
#[test]
fn every_message_of_the_catalogue_can_be_filled() {
    for message in messages::all() {
        let arguments: Vec<&dyn std::fmt::Display> =
            (0..placeholders(message.text)).map(|_| &7 as _).collect();
        let text = messages::fill(message.text, &arguments);
        assert!(!text.contains("(null)") && !text.contains("%s") && !text.contains("%d"), "{text}");
    }
}

/// Words that client programs search for; they are part of the interface.
#[test]
fn messages_have_the_words_that_clients_look_for() {
    let phrases = [
        // Retry code of many (Laravel, Active Record, node-mssql's users).
        (1205, "has been chosen as the deadlock victim"),
        (1205, "was deadlocked on"),
        (1222, "Lock request time out period exceeded"),
        // Active Record's adapter and Sequelize distinguish their exceptions by these.
        (
            2627,
            "Violation of %s constraint '%s'. Cannot insert duplicate key in object '%s'. The duplicate key value is",
        ),
        (2601, "Cannot insert duplicate key row in object '%s' with unique index '%s'"),
        (
            547,
            "The %s statement conflicted with the %s constraint \"%s\". The conflict occurred in database \"%s\", table \"%s\"",
        ),
        (515, "Cannot insert the value NULL into column"),
        (2628, "String or binary data would be truncated"),
        (8152, "String or binary data would be truncated"),
        (8115, "Arithmetic overflow error"),
        (911, "Database '%s' does not exist"),
        (1750, "Could not create constraint"),
        // Migration tools and test suites (EF Core, Liquibase, Alembic, Django, dbt).
        (2714, "There is already an object named '%s' in the database"),
        (208, "Invalid object name '%s'"),
        (207, "Invalid column name '%s'"),
        (2812, "Could not find stored procedure '%s'"),
        (4060, "Cannot open database \"%s\""),
        (18456, "Login failed for user '%s'"),
        (1801, "Database '%s' already exists"),
        (3701, "because it does not exist or you do not have permission"),
        (3702, "because it is currently in use"),
        (3726, "because it is referenced by a FOREIGN KEY constraint"),
        (4902, "Cannot find the object"),
        (102, "Incorrect syntax near"),
        (245, "Conversion failed when converting"),
        (8134, "Divide by zero error encountered"),
        (3906, "because the database is read-only"),
        (9002, "The transaction log for database '%s' is full"),
    ];
    for (number, words) in phrases {
        let text = messages::lookup(number).unwrap().text;
        assert!(text.contains(words), "{number}: {text}");
    }
}
