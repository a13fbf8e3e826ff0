//! UPDATE and DELETE over random FROM clauses: none may panic, and each changes the rows that a SELECT over the same clause returns.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::random::Random;
use crate::common::{World, run};
use hardpan_session::Session;

const STATEMENTS: usize = 400;
const TABLES: [&str; 3] = ["r1", "r2", "r3"];
const COLUMNS: [&str; 3] = ["id", "a", "b"];

/// A FROM clause under construction.
struct Shape<'r> {
    random: &'r mut Random,
    /// Aliases in scope of the next condition.
    aliases: Vec<String>,
    /// Aliases of base tables: the possible targets, with the name of the table.
    targets: Vec<(String, &'static str)>,
    next: usize,
}

impl Shape<'_> {
    fn alias(&mut self) -> String {
        self.next += 1;
        format!("x{}", self.next)
    }

    fn leaf(&mut self) -> String {
        let alias = self.alias();
        let table = *self.random.one_of(&TABLES);
        self.aliases.push(alias.clone());
        match self.random.below(6) {
            0 => format!("(SELECT id, a, b FROM {table} WHERE a > {}) {alias}", self.random.below(6)),
            1 => format!("(SELECT MAX(id) AS id, a, MIN(b) AS b FROM {table} GROUP BY a) {alias}"),
            2 => format!("v1 {alias}"),
            _ => {
                self.targets.push((alias.clone(), table));
                format!("{table} {alias}")
            }
        }
    }

    fn source(&mut self, depth: u64) -> String {
        if depth == 0 || self.random.below(4) == 0 {
            return self.leaf();
        }
        let first = self.aliases.len();
        let left = self.source(depth - 1);
        if self.random.below(4) == 0 {
            return format!("{left} {}", self.apply(first));
        }
        let right = self.source(depth - 1);
        // ON sees the tables of its own join.
        let outside = self.aliases.drain(..first).collect::<Vec<_>>();
        let kind = *self.random.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT JOIN"]);
        let joined = format!("{left} {kind} ({right}) ON {}", self.condition(1));
        let joined = if right.contains(" JOIN ") || right.contains(" APPLY ") {
            joined
        } else {
            joined.replacen(&format!("({right})"), &right, 1)
        };
        self.aliases.splice(0..0, outside);
        joined
    }

    /// The right side of APPLY, which reads the tables to its left from `first` on.
    fn apply(&mut self, first: usize) -> String {
        let kind = *self.random.one_of(&["CROSS APPLY", "OUTER APPLY"]);
        let outer = self.random.one_of(&self.aliases[first..]).clone();
        let table = *self.random.one_of(&TABLES);
        let alias = self.alias();
        self.aliases.push(alias.clone());
        let column = *self.random.one_of(&COLUMNS);
        match self.random.below(3) {
            0 => {
                self.targets.push((alias.clone(), table));
                format!("{kind} {table} {alias}")
            }
            1 => format!("{kind} f1({outer}.{column}) {alias}"),
            _ => format!(
                "{kind} (SELECT TOP (2) * FROM {table} i WHERE i.{column} = {outer}.a ORDER BY i.id) {alias}"
            ),
        }
    }

    fn column(&mut self) -> String {
        format!("{}.{}", self.random.one_of(&self.aliases), self.random.one_of(&COLUMNS))
    }

    fn condition(&mut self, depth: u64) -> String {
        let (left, right) = (self.column(), self.column());
        let table = *self.random.one_of(&TABLES);
        match self.random.below(if depth > 0 { 10 } else { 6 }) {
            0..=2 => format!("{left} = {right}"),
            3 => format!("{left} {} {right}", self.random.one_of(&["<", "<>", ">="])),
            4 => format!("{left} IS NULL"),
            5 => format!("{left} IN ({}, {})", self.random.below(8), self.random.below(8)),
            6 => format!("{left} IN (SELECT {} FROM {table})", self.random.one_of(&COLUMNS)),
            7 => format!("EXISTS (SELECT * FROM {table} e WHERE e.id = {left})"),
            8 => format!("({} OR {})", self.condition(0), self.condition(0)),
            _ => format!("NOT ({} AND {left} = {})", self.condition(0), self.random.below(8)),
        }
    }
}

fn prepare(session: &mut Session, random: &mut Random) {
    run(
        session,
        "CREATE TABLE r1(id int PRIMARY KEY, a int, b int); CREATE TABLE r2(id int NOT NULL, a int, b int); \
         CREATE TABLE r3(id int PRIMARY KEY, a int INDEX ia, b int INDEX ib)",
    );
    run(session, "CREATE VIEW v1 AS SELECT p.id, p.a, q.b FROM r1 p JOIN r2 q ON p.id = q.id");
    run(
        session,
        "CREATE FUNCTION f1(@n int) RETURNS TABLE AS RETURN SELECT id, a, b FROM r3 WHERE a = @n OR id = @n",
    );
    for table in TABLES {
        for id in 0..8 {
            let mut value = || match random.below(5) {
                0 => "NULL".to_string(),
                _ => random.below(8).to_string(),
            };
            let (a, b) = (value(), value());
            run(session, &format!("INSERT {table} VALUES({id}, {a}, {b})"));
        }
    }
}

/// The only number in the result of a batch.
fn number(session: &mut Session, text: &str) -> i64 {
    let seen = run(session, text);
    let is_error = |message: &&(i32, u32, String)| message.0 != 8153;
    assert_eq!(seen.messages.iter().find(is_error), None, "{text}");
    seen.sets.last().unwrap().1[0][0].parse().unwrap()
}

fn one_statement(session: &mut Session, random: &mut Random) -> bool {
    let depth = random.below(4);
    let mut shape = Shape { random, aliases: Vec::new(), targets: Vec::new(), next: 0 };
    let mut from = shape.source(depth);
    if shape.random.below(4) == 0 {
        from = format!("{from}, {}", shape.source(1));
    }
    if shape.targets.is_empty() {
        return false;
    }
    let (target, table) = shape.random.one_of(&shape.targets).clone();
    let filter = match shape.random.below(3) {
        0 => String::new(),
        _ => format!(" WHERE {}", shape.condition(1)),
    };
    let wanted = number(session, &format!("SELECT COUNT(DISTINCT {target}.id) FROM {from}{filter}"));
    let value = shape.column();
    let changes = [
        format!("DELETE {target} FROM {from}{filter}"),
        format!("UPDATE {target} SET b = {value}, a += 1 FROM {from}{filter}"),
        format!("DELETE {target} OUTPUT deleted.* FROM {from}{filter}"),
    ];
    for change in changes {
        let before = number(session, &format!("BEGIN TRAN; SELECT COUNT(*) FROM {table}"));
        let changed = number(session, &format!("{change}; SELECT @@ROWCOUNT"));
        assert_eq!(changed, wanted, "{change}");
        let after = number(session, &format!("SELECT COUNT(*) FROM {table}"));
        assert_eq!(before - after, if change.starts_with("DELETE") { wanted } else { 0 }, "{change}");
        run(session, "ROLLBACK");
    }
    wanted > 0
}

#[test]
fn changes_over_random_joins_change_what_a_select_names() {
    let world = World::new("random-changes");
    let mut session = world.session();
    let seed = crate::common::random::seed(9);
    let mut random = Random::new(seed);
    prepare(&mut session, &mut random);
    let changed = (0..STATEMENTS)
        .filter(|at| {
            // With and without spilling to disk.
            let rows = if at % 2 == 0 { usize::MAX } else { 1 + random.below(9) as usize };
            world.instance.workspaces().keep_no_more_than(rows);
            one_statement(&mut session, &mut random)
        })
        .count();
    assert!(changed > STATEMENTS / 4, "seed {seed}: only {changed} statements changed anything");
}
