//! The catalogue of messages: number, severity, text with `%s` and `%d` for the arguments in order. Texts are our own words; numbers,
//! severities, sense and order of arguments are SQL Server's.

use std::fmt;
use std::fmt::Write;

mod databases;
mod execution;
mod language;
mod message;
mod newer;
mod objects;
pub(crate) mod raised;

pub use message::Message;

/// The parts of the catalogue, each in the order of its numbers, and they in the order of theirs.
const PARTS: [&[Message]; 5] =
    [language::MESSAGES, objects::MESSAGES, databases::MESSAGES, execution::MESSAGES, newer::MESSAGES];

/// The entry of a number.
pub fn lookup(number: i32) -> Option<&'static Message> {
    let part = PARTS.iter().find(|part| part.last().is_some_and(|last| number <= last.number))?;
    part.binary_search_by_key(&number, |message| message.number).ok().map(|index| &part[index])
}

/// All entries by number: `sys.messages`.
pub fn all() -> impl Iterator<Item = &'static Message> {
    PARTS.iter().flat_map(|part| part.iter())
}

/// Fills the arguments in; missing ones show as `(null)`, as in SQL Server.
pub fn fill(text: &str, args: &[&dyn fmt::Display]) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut args = args.iter();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('s' | 'd') => match args.next() {
                Some(arg) => write!(out, "{arg}").expect("writing to a String cannot fail"),
                None => out.push_str("(null)"),
            },
            Some(other) => out.push(other),
            None => out.push('%'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_sorted_and_found_by_number() {
        let numbers: Vec<i32> = all().map(|message| message.number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "numbers ascend, each once");
        assert!(all().all(|message| lookup(message.number) == Some(message)));
        assert!(all().all(|message| message.severity <= 25 && !message.text.is_empty()));
        assert_eq!(lookup(3), None);
        assert_eq!(lookup(2_000_000), None);
    }

    #[test]
    fn arguments_are_filled_in_order() {
        assert_eq!(fill("a %s b %d c %% %s", &[&"x", &7]), "a x b 7 c % (null)");
        assert_eq!(fill("100%", &[]), "100%");
    }

    #[test]
    fn severities_are_those_of_the_documentation() {
        let documented = [
            (102, 15),
            (105, 15),
            (134, 15),
            (137, 15),
            (156, 15),
            (207, 16),
            (208, 16),
            (213, 16),
            (229, 14),
            (262, 14),
            (512, 16),
            (515, 16),
            (547, 16),
            (628, 16),
            (823, 24),
            (824, 24),
            (911, 16),
            (922, 14),
            (942, 14),
            (1205, 13),
            (1222, 16),
            (1505, 16),
            (1801, 16),
            (2601, 14),
            (2627, 14),
            (2628, 16),
            (2714, 16),
            (3013, 16),
            (3609, 16),
            (3621, 10),
            (3702, 16),
            (3902, 16),
            (3903, 16),
            (3906, 16),
            (3908, 16),
            (3915, 16),
            (3930, 16),
            (3931, 16),
            (3998, 16),
            (4060, 11),
            (4712, 16),
            (5011, 14),
            (5061, 16),
            (5069, 16),
            (5149, 16),
            (5170, 16),
            (6401, 16),
            (8101, 16),
            (8114, 16),
            (8115, 16),
            (8134, 16),
            (8152, 16),
            (9002, 17),
            (9003, 20),
            (9004, 21),
            (9005, 16),
            (9012, 10),
            (18456, 14),
        ];
        for (number, severity) in documented {
            assert_eq!(lookup(number).map(|message| message.severity), Some(severity), "message {number}");
        }
    }
}
