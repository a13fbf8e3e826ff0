//! Random DELETE, UPDATE and INSERT over random trees of foreign keys, against a model that applies the actions by hand.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use std::collections::BTreeMap;

use crate::common::random::Random;
use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const TABLES: usize = 6;
const STATEMENTS: usize = 60;
const SCHEMAS: usize = 12;
/// A DEFAULT of the foreign key columns, which exists at times.
const DEFAULT: i64 = 3;
const ACTIONS: [&str; 4] = ["NO ACTION", "CASCADE", "SET NULL", "SET DEFAULT"];

/// A foreign key from `child` to `parent`.
#[derive(Clone, Copy)]
struct Key {
    child: usize,
    parent: usize,
    on_delete: usize,
    on_update: usize,
}

/// Rows by their permanent number: the key `k`, and the reference of each of the table's foreign keys.
type Rows = BTreeMap<i64, (i64, BTreeMap<usize, Option<i64>>)>;

#[derive(Clone, Default)]
struct Model {
    keys: Vec<Key>,
    tables: Vec<Rows>,
}

impl Model {
    /// One foreign key a table but the first, to an earlier one, so that the actions are a tree; then some without actions anywhere.
    fn new(random: &mut Random) -> Model {
        let mut keys = Vec::new();
        for child in 1..TABLES {
            let parent = random.below(child as u64) as usize;
            let (on_delete, on_update) = (random.below(4) as usize, random.below(4) as usize);
            keys.push(Key { child, parent, on_delete, on_update });
        }
        for _ in 0..2 {
            let (child, parent) =
                (random.below(TABLES as u64) as usize, random.below(TABLES as u64) as usize);
            keys.push(Key { child, parent, on_delete: 0, on_update: 0 });
        }
        Model { keys, tables: vec![Rows::new(); TABLES] }
    }

    fn definition(&self, random: &mut Random, table: usize) -> Vec<String> {
        let kind = *random.one_of(&["PRIMARY KEY", "UNIQUE", "PRIMARY KEY NONCLUSTERED"]);
        let mut texts = vec![format!("CREATE TABLE t{table}(n int, k int NOT NULL {kind})")];
        for (number, key) in self.keys.iter().enumerate().filter(|key| key.1.child == table) {
            texts.push(format!("ALTER TABLE t{table} ADD f{number} int DEFAULT {DEFAULT}"));
            if random.below(2) == 0 {
                texts.push(format!("CREATE INDEX i{number} ON t{table}(f{number})"));
            }
            texts.push(format!(
                "ALTER TABLE t{table} ADD CONSTRAINT fk{number} FOREIGN KEY(f{number}) REFERENCES t{}(k) ON DELETE {} ON UPDATE {}",
                key.parent, ACTIONS[key.on_delete], ACTIONS[key.on_update]
            ));
        }
        texts
    }

    /// Deletes rows and applies the actions.
    fn delete(&mut self, table: usize, victims: &[i64]) {
        let gone: Vec<i64> =
            victims.iter().filter_map(|n| self.tables[table].remove(n)).map(|row| row.0).collect();
        let moves: Vec<(i64, Option<i64>)> = gone.into_iter().map(|k| (k, None)).collect();
        self.follow(table, &moves, |key| key.on_delete, true);
    }

    fn update(&mut self, table: usize, new_keys: &[(i64, i64)]) {
        let mut moves = Vec::new();
        for (n, k) in new_keys {
            let row = self.tables[table].get_mut(n).unwrap();
            if row.0 != *k {
                moves.push((row.0, Some(*k)));
            }
            row.0 = *k;
        }
        self.follow(table, &moves, |key| key.on_update, false);
    }

    fn follow(
        &mut self,
        table: usize,
        moves: &[(i64, Option<i64>)],
        action: fn(&Key) -> usize,
        deletes: bool,
    ) {
        for (number, key) in self.keys.clone().into_iter().enumerate().filter(|key| key.1.parent == table) {
            let referring: Vec<(i64, Option<i64>)> = self.tables[key.child]
                .iter()
                .filter_map(|(n, row)| {
                    let to = row.1.get(&number).copied().flatten()?;
                    moves.iter().find(|found| found.0 == to).map(|found| (*n, found.1))
                })
                .collect();
            match action(&key) {
                0 => {}
                1 if deletes => {
                    let victims: Vec<i64> = referring.iter().map(|found| found.0).collect();
                    self.delete(key.child, &victims);
                }
                action => {
                    for (n, moved) in referring {
                        let new = [None, moved, None, Some(DEFAULT)][action];
                        self.tables[key.child].get_mut(&n).unwrap().1.insert(number, new);
                    }
                }
            }
        }
    }

    /// Does every reference find its row, and is every key unique?
    fn holds(&self) -> bool {
        let unique = self.tables.iter().all(|rows| {
            let keys: std::collections::BTreeSet<i64> = rows.values().map(|row| row.0).collect();
            keys.len() == rows.len()
        });
        unique
            && self.keys.iter().enumerate().all(|(number, key)| {
                self.tables[key.child]
                    .values()
                    .filter_map(|row| row.1.get(&number).copied().flatten())
                    .all(|wanted| self.tables[key.parent].values().any(|row| row.0 == wanted))
            })
    }

    fn shown(&self, table: usize) -> Vec<String> {
        let text = |value: &Option<i64>| value.map_or("NULL".to_string(), |value| value.to_string());
        let row = |(n, (k, references)): (&i64, &(i64, BTreeMap<usize, Option<i64>>))| {
            let parts = references.values().map(text);
            [n.to_string(), k.to_string()].into_iter().chain(parts).collect::<Vec<_>>().join("|")
        };
        self.tables[table].iter().map(row).collect()
    }
}

/// One random statement: its text, and its effect on the model.
fn statement(random: &mut Random, model: &Model, next: &mut i64) -> (String, Model) {
    let table = random.below(TABLES as u64) as usize;
    let mut after = model.clone();
    let chosen: Vec<(i64, i64)> =
        model.tables[table].iter().filter(|_| random.below(3) == 0).map(|(n, row)| (*n, row.0)).collect();
    let list =
        chosen.iter().map(|found| found.0.to_string()).chain(["-1".into()]).collect::<Vec<_>>().join(", ");
    match random.below(4) {
        0 => {
            after.delete(table, &chosen.iter().map(|found| found.0).collect::<Vec<_>>());
            (format!("DELETE t{table} WHERE n IN ({list})"), after)
        }
        1 => {
            // Far enough that no key meets one that has not moved yet.
            let by = 100 * (1 + random.below(3) as i64);
            after.update(table, &chosen.iter().map(|found| (found.0, found.1 + by)).collect::<Vec<_>>());
            (format!("UPDATE t{table} SET k += {by} WHERE n IN ({list})"), after)
        }
        _ => {
            *next += 1;
            let k = 1 + random.below(9) as i64;
            let mut row = BTreeMap::new();
            let (mut names, mut values) = ("n, k".to_string(), format!("{next}, {k}"));
            for (number, key) in model.keys.iter().enumerate().filter(|key| key.1.child == table) {
                let others: Vec<i64> =
                    model.tables[key.parent].values().map(|row| row.0).chain([k]).collect();
                let value = (random.below(5) > 0).then(|| *random.one_of(&others));
                row.insert(number, value);
                names += &format!(", f{number}");
                values += &value.map_or(", NULL".to_string(), |value| format!(", {value}"));
            }
            after.tables[table].insert(*next, (k, row));
            (format!("INSERT t{table}({names}) VALUES({values})"), after)
        }
    }
}

fn one_schema(session: &mut Session, random: &mut Random, seed: u64) -> (usize, usize) {
    let mut model = Model::new(random);
    let texts: Vec<String> = (0..TABLES).flat_map(|table| model.definition(random, table)).collect();
    let (made, keys): (Vec<&String>, Vec<&String>) =
        texts.iter().partition(|text| !text.contains("FOREIGN KEY"));
    for text in made.into_iter().chain(keys) {
        let seen = run(session, text);
        assert!(seen.messages.is_empty(), "seed {seed}: {text}: {:?}", seen.messages);
    }
    let (mut next, mut done, mut refused) = (0, 0, 0);
    for _ in 0..STATEMENTS {
        let (text, after) = statement(random, &model, &mut next);
        let seen = run(session, &text);
        if after.holds() {
            assert!(seen.messages.is_empty(), "seed {seed}: {text}: {:?}", seen.messages);
            done += 1;
            model = after;
        } else {
            let number = numbers(&seen).first().copied().unwrap_or(0);
            assert!([547, 2627].contains(&number), "seed {seed}: {text} must fail: {:?}", seen.messages);
            refused += 1;
        }
        for table in 0..TABLES {
            let found = rows(session, &format!("SELECT * FROM t{table} ORDER BY n"));
            assert_eq!(found, model.shown(table), "seed {seed}: table {table} after {text}");
        }
    }
    for key in 0..model.keys.len() {
        run(session, &format!("ALTER TABLE t{} DROP CONSTRAINT fk{key}", model.keys[key].child));
    }
    (0..TABLES).for_each(|table| drop(run(session, &format!("DROP TABLE t{table}"))));
    (done, refused)
}

#[test]
fn actions_of_foreign_keys_do_what_the_model_does() {
    let world = World::new("random-cascades");
    let mut session = world.session();
    let seed = crate::common::random::seed(1);
    let mut random = Random::new(seed);
    let (mut done, mut refused) = (0, 0);
    for at in 0..SCHEMAS {
        // With and without spilling to disk.
        world.instance.workspaces().keep_no_more_than(if at % 2 == 0 { usize::MAX } else { 1 });
        let counts = one_schema(&mut session, &mut random, seed);
        done += counts.0;
        refused += counts.1;
    }
    assert!(
        done > SCHEMAS * STATEMENTS / 4 && refused > SCHEMAS * STATEMENTS / 20,
        "{done} done, {refused} refused"
    );
}
