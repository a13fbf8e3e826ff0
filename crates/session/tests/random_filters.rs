//! A table with filtered indexes beside one without any index: random changes give both the same rows, unique filtered indexes refuse exactly
//! the duplicates among the rows of their filter, and each query returns the same rows from both, with and without a hint.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::random::Random;
use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const ROUNDS: usize = 12;
const CHANGES: usize = 40;
const QUERIES: usize = 40;

/// A comparison of one column, in a filter or a query.
fn condition(random: &mut Random, of_filter: bool) -> String {
    let number = random.below(6);
    let column = *random.one_of(&["a", "b", "n"]);
    let op = *random.one_of(&["=", "<>", "<", "<=", ">", ">=", "!<", "!>"]);
    let word = *random.one_of(&["'x'", "'Y'", "'z'"]);
    match random.below(if of_filter { 7 } else { 12 }) {
        0 | 1 => format!("{column} {op} {number}"),
        2 => format!("{column} IN ({number}, {})", random.below(6)),
        3 => format!("s {} {word}", random.one_of(&["=", "<>", ">", "<="])),
        4 => format!("{} IS NOT NULL", random.one_of(&["a", "b", "n", "s"])),
        5 => format!("{} IS NULL", random.one_of(&["a", "b", "s"])),
        6 => format!("s IN ({word}, 'w')"),
        7 => format!("{column} BETWEEN {number} AND {}", number + 2),
        8 => format!("({column} = {number} OR {column} = {})", random.below(6)),
        9 => format!("{column} {op} @v"),
        10 => "s LIKE 'x%'".to_string(),
        _ => format!("({column} = {number} OR s = {word})"),
    }
}

fn conjunction(random: &mut Random, of_filter: bool) -> String {
    let count = 1 + random.below(if of_filter { 2 } else { 3 });
    let list: Vec<String> = (0..count).map(|_| condition(random, of_filter)).collect();
    list.join(" AND ")
}

/// An index of the table: its name, its filter, and its key column when it is unique.
struct Filtered {
    name: String,
    filter: String,
    unique: Option<&'static str>,
}

fn make_indexes(session: &mut Session, random: &mut Random) -> Vec<Filtered> {
    let mut made = Vec::new();
    for number in 0..5 {
        let key = *random.one_of(&["a", "b", "s", "id", "n"]);
        let unique = number == 0 && key != "id";
        let filter = conjunction(random, true);
        let name = format!("f{number}");
        let included = if random.below(2) == 0 { " INCLUDE (id)" } else { "" };
        let included = if key == "id" { "" } else { included };
        let text = format!(
            "CREATE {} INDEX {name} ON t({key}){included} WHERE {filter}",
            if unique { "UNIQUE" } else { "" }
        );
        match numbers(&run(session, &text)).as_slice() {
            [] => made.push(Filtered { name, filter, unique: unique.then_some(key) }),
            [1505] if unique => assert!(has_duplicates(session, key, &filter), "{text}"),
            other => panic!("{other:?}: {text}"),
        }
    }
    made
}

fn has_duplicates(session: &mut Session, key: &str, filter: &str) -> bool {
    let text = format!("SELECT TOP (1) 1 FROM m WHERE {filter} GROUP BY {key} HAVING COUNT(*) > 1");
    !rows(session, &text).is_empty()
}

fn change(random: &mut Random, next: &mut u64) -> String {
    let value = |random: &mut Random| match random.below(5) {
        0 => "NULL".to_string(),
        _ => random.below(6).to_string(),
    };
    match random.below(6) {
        0..=2 => {
            *next += 1;
            let word = *random.one_of(&["'x'", "'y'", "'Z'", "'w'", "NULL"]);
            let (a, b, n) = (value(random), value(random), random.below(6));
            format!("INSERT $ VALUES({next}, {a}, {b}, {word}, {n})")
        }
        3 => {
            let assigned = match random.below(4) {
                0 => "a = a + 1".to_string(),
                1 => format!("b = {}, a = b", value(random)),
                2 => "s = CASE s WHEN 'x' THEN 'y' ELSE 'x' END".to_string(),
                _ => format!("n = {}", random.below(6)),
            };
            format!("UPDATE $ SET {assigned} WHERE {}", conjunction(random, true))
        }
        4 => format!("UPDATE $ SET id = id + 1000, a = {} WHERE id % 7 = {}", value(random), random.below(7)),
        _ => format!("DELETE $ WHERE id % 5 = {} AND {}", random.below(5), conjunction(random, true)),
    }
}

fn all_rows(session: &mut Session, table: &str) -> Vec<String> {
    rows(session, &format!("SELECT id, a, b, s, n FROM {table} ORDER BY id"))
}

fn change_both(session: &mut Session, random: &mut Random, indexes: &[Filtered], next: &mut u64) -> bool {
    let text = change(random, next);
    run(session, "BEGIN TRAN");
    assert_eq!(run(session, &text.replace('$', "m")).messages, [], "{text}");
    let breaks = indexes
        .iter()
        .any(|index| index.unique.is_some_and(|key| has_duplicates(session, key, &index.filter)));
    let seen = numbers(&run(session, &text.replace('$', "t")));
    assert_eq!(seen.contains(&2601), breaks, "{text}: {seen:?}");
    let undone = breaks || random.below(6) == 0;
    run(session, if undone { "ROLLBACK" } else { "COMMIT" });
    breaks
}

/// Returns how many hints were accepted and how many refused.
fn query_both(session: &mut Session, random: &mut Random, indexes: &[Filtered]) -> (usize, usize) {
    let predicate = conjunction(random, false);
    let columns = *random.one_of(&["id", "id, a", "COUNT(*), SUM(n)", "id, s, n"]);
    let ask = |table: &str| format!("DECLARE @v int = 2; SELECT {columns} FROM {table} WHERE {predicate}");
    let sorted = |session: &mut Session, text: &str| {
        let mut found = rows(session, text);
        found.sort();
        found
    };
    let expected = sorted(session, &ask("m"));
    assert_eq!(sorted(session, &ask("t")), expected, "{}", ask("t"));
    let joined = "SELECT m.id FROM m JOIN $ x ON x.a = m.b AND x.n = m.n WHERE x.s = 'x' AND x.b > 1";
    assert_eq!(
        sorted(session, &joined.replace('$', "t")),
        sorted(session, &joined.replace('$', "m")),
        "{joined}"
    );
    let (mut taken, mut refused) = (0, 0);
    for index in indexes {
        let text = ask(&format!("t WITH (INDEX({}))", index.name));
        let seen = run(session, &text);
        match numbers(&seen).as_slice() {
            [8622] => {
                refused += 1;
                // Without other predicates, the filter implies itself.
                let own = text.replace(&predicate, &index.filter);
                assert_eq!(
                    sorted(session, &own),
                    sorted(session, &ask("m").replace(&predicate, &index.filter))
                );
            }
            [] => {
                taken += 1;
                assert_eq!(sorted(session, &text), expected, "{text}; filter {}", index.filter);
            }
            other => panic!("{other:?}: {text}"),
        }
    }
    (taken, refused)
}

#[test]
fn filtered_indexes_agree_with_their_table() {
    let (mut taken, mut refused, mut broken) = (0, 0, 0);
    for round in 0..ROUNDS {
        let mut random = Random::new(round as u64 + 77);
        let mut world = World::new(&format!("random-filters-{round}"));
        let mut session = world.session();
        let base = if round % 2 == 0 { "PRIMARY KEY" } else { "" };
        run(
            &mut session,
            &format!(
                "CREATE DATABASE d; USE d; CREATE TABLE t(id int NOT NULL {base}, a int, b smallint, s varchar(5), n decimal(5,1) NOT NULL); \
                 CREATE TABLE m(id int NOT NULL, a int, b smallint, s varchar(5), n decimal(5,1) NOT NULL)"
            ),
        );
        let mut next = 0;
        for _ in 0..CHANGES {
            change_both(&mut session, &mut random, &[], &mut next);
        }
        let indexes = make_indexes(&mut session, &mut random);
        for step in 0..CHANGES {
            broken += usize::from(change_both(&mut session, &mut random, &indexes, &mut next));
            if step == CHANGES / 2 {
                session.close();
                world.restart();
                session = world.session();
                run(&mut session, "USE d");
            }
        }
        assert_eq!(all_rows(&mut session, "t"), all_rows(&mut session, "m"));
        assert_eq!(run(&mut session, "DBCC CHECKDB WITH NO_INFOMSGS").messages, []);
        for _ in 0..QUERIES {
            let (yes, no) = query_both(&mut session, &mut random, &indexes);
            taken += yes;
            refused += no;
        }
        session.close();
    }
    assert!(
        taken > 100 && refused > 100 && broken > 10,
        "{taken} hints taken, {refused} refused, {broken} duplicates"
    );
}
