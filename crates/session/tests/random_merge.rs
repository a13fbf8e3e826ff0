//! MERGE with random clauses over random rows, against a model that joins and acts row by row in memory; and concurrent MERGE statements.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use std::collections::BTreeMap;

use crate::common::random::Random;
use crate::common::simulated::{Server, connect, number, on_a_machine};
use crate::common::{World, numbers, rows, run};

const STATEMENTS: usize = 400;

/// A WHEN clause.
#[derive(Clone, Copy, Debug)]
struct When {
    /// Matched, not matched by the target, not matched by the source.
    kind: Kind,
    /// The condition: a column of the rows, less than this.
    below: Option<i64>,
    deletes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Matched,
    ByTarget,
    BySource,
}

impl When {
    fn text(&self) -> String {
        let (kind, column) = match self.kind {
            Kind::Matched => ("MATCHED", "s.w"),
            Kind::ByTarget => ("NOT MATCHED BY TARGET", "s.w"),
            Kind::BySource => ("NOT MATCHED BY SOURCE", "t.v"),
        };
        let condition = self.below.map_or(String::new(), |below| format!(" AND {column} < {below}"));
        let action = match (self.kind, self.deletes) {
            (Kind::ByTarget, _) => "INSERT (id, v) VALUES (s.id, s.w * 2)",
            (_, true) => "DELETE",
            (Kind::Matched, false) => "UPDATE SET v = t.v + s.w, id = t.id + 1000",
            (Kind::BySource, false) => "UPDATE SET v = t.v - 1",
        };
        format!("WHEN {kind}{condition} THEN {action}")
    }

    fn is_about(&self, kind: Kind, value: i64) -> bool {
        self.kind == kind && self.below.is_none_or(|below| value < below)
    }
}

/// Up to two clauses of a kind: the first then has a condition, and they do different things.
fn clauses(random: &mut Random) -> Vec<When> {
    let mut all = Vec::new();
    for kind in [Kind::Matched, Kind::ByTarget, Kind::BySource] {
        let below = |random: &mut Random| Some(random.below(12) as i64);
        let deletes = random.below(2) == 0;
        match random.below(4) {
            0 => {}
            1 => all.push(When { kind, below: None, deletes }),
            2 => all.push(When { kind, below: below(random), deletes }),
            _ if kind == Kind::ByTarget => all.push(When { kind, below: below(random), deletes }),
            _ => {
                all.push(When { kind, below: below(random), deletes });
                let last = if random.below(2) == 0 { None } else { below(random) };
                all.push(When { kind, below: last, deletes: !deletes });
            }
        }
    }
    if all.is_empty() {
        all.push(When { kind: Kind::ByTarget, below: None, deletes: false });
    }
    all
}

/// The table's final rows and the number of rows acted on; `None` where a row is changed twice (8672) or a key comes twice (2627).
fn model(
    table: &BTreeMap<i64, i64>,
    source: &[(i64, i64)],
    clauses: &[When],
) -> Result<(BTreeMap<i64, i64>, u64), i32> {
    let (mut kept, mut moved, mut added) = (table.clone(), Vec::new(), Vec::new());
    let mut count = 0;
    let mut act = |id: i64, kind: Kind, value: i64, change: &dyn Fn(i64) -> (i64, i64)| -> Result<(), i32> {
        let Some(when) = clauses.iter().find(|when| when.is_about(kind, value)) else { return Ok(()) };
        let old = kept.remove(&id).ok_or(8672)?;
        count += 1;
        if !when.deletes {
            moved.push(change(old));
        }
        Ok(())
    };
    for (id, w) in source.iter().filter(|row| table.contains_key(&row.0)) {
        act(*id, Kind::Matched, *w, &|old| (*id + 1000, old + w))?;
    }
    for (id, v) in table.iter().filter(|row| source.iter().all(|other| other.0 != *row.0)) {
        act(*id, Kind::BySource, *v, &|old| (*id, old - 1))?;
    }
    for (id, w) in source.iter().filter(|row| !table.contains_key(&row.0)) {
        if clauses.iter().any(|when| when.is_about(Kind::ByTarget, *w)) {
            added.push((*id, w * 2));
            count += 1;
        }
    }
    for (id, v) in moved.into_iter().chain(added) {
        if kept.insert(id, v).is_some() {
            return Err(2627);
        }
    }
    Ok((kept, count))
}

#[test]
fn a_merge_does_what_the_model_does() {
    for layout in ["PRIMARY KEY", "PRIMARY KEY NONCLUSTERED"] {
        let world = World::new("random-merge");
        let mut session = world.session();
        run(
            &mut session,
            &format!("CREATE TABLE t (id int {layout}, v int INDEX ix) CREATE TABLE s (id int, w int)"),
        );
        let mut random = Random::new(layout.len() as u64);
        let (mut done, mut failed) = (0, BTreeMap::new());
        for at in 0..STATEMENTS {
            // With and without spilling to disk.
            world.instance.workspaces().keep_no_more_than(if at % 2 == 0 { usize::MAX } else { 1 + at % 3 });
            let mut table = BTreeMap::new();
            for _ in 0..random.below(12) {
                table.insert(
                    random.below(10) as i64 + 1000 * i64::from(random.below(8) == 0),
                    random.below(12) as i64,
                );
            }
            let source: Vec<(i64, i64)> =
                (0..random.below(8)).map(|_| (random.below(14) as i64, random.below(12) as i64)).collect();
            run(&mut session, "DELETE t DELETE s");
            for (id, v) in &table {
                run(&mut session, &format!("INSERT t VALUES ({id}, {v})"));
            }
            for (id, w) in &source {
                run(&mut session, &format!("INSERT s VALUES ({id}, {w})"));
            }
            let clauses = clauses(&mut random);
            let written: Vec<String> = clauses.iter().map(When::text).collect();
            let text = format!("MERGE t USING s ON t.id = s.id {} OUTPUT $action;", written.join(" "));
            let expected = model(&table, &source, &clauses);
            let seen = run(&mut session, &text);
            let found = rows(&mut session, "SELECT id, v FROM t ORDER BY id");
            let shown = |table: &BTreeMap<i64, i64>| -> Vec<String> {
                table.iter().map(|(id, v)| format!("{id}|{v}")).collect()
            };
            match expected {
                Ok((after, count)) => {
                    assert_eq!(found, shown(&after), "{text}\n{table:?}\n{source:?}\n{:?}", seen.messages);
                    assert_eq!(seen.sets[0].1.len() as u64, count, "{text}");
                    done += 1;
                }
                Err(number) => {
                    assert!(
                        numbers(&seen).contains(&number),
                        "{text}\n{table:?}\n{source:?}\n{:?}",
                        seen.messages
                    );
                    assert_eq!(found, shown(&table), "{text}");
                    *failed.entry(number).or_insert(0) += 1;
                }
            }
        }
        assert!(done > STATEMENTS / 2, "{done}");
        assert!(
            failed.len() == 2 && failed.values().all(|count| *count > 3),
            "both errors were met: {failed:?}"
        );
        let checked = run(&mut session, "DBCC CHECKTABLE ('t') WITH NO_INFOMSGS");
        assert!(checked.messages.is_empty(), "{:?}", checked.messages);
    }
}

/// "MERGE ... WITH (HOLDLOCK)" is how programs insert or update without meeting a key twice (2627): the range is locked before it is known that
/// the key is not there. Sessions that meet may deadlock (1205), but no change is lost.
#[test]
fn upserts_with_holdlock_never_meet_a_key_twice() {
    const SESSIONS: i64 = 3;
    const UPSERTS: i64 = 40;
    for seed in 0..6 {
        on_a_machine(seed, move |os| {
            let server = Server::open(os);
            let mut session = server.session_in("master");
            run(
                &mut session,
                "CREATE DATABASE db; CREATE TABLE db.dbo.t (id int PRIMARY KEY, n int) CREATE TABLE db.dbo.taken (n int)",
            );
            let mut workers = Vec::new();
            for worker in 0..SESSIONS {
                let shared = server.shared();
                workers.push(os.spawn("upserts", move || {
                    let mut session = connect(&shared, "db");
                    let mut random = Random::new(seed * 100 + worker as u64);
                    for _ in 0..UPSERTS {
                        let id = random.below(6);
                        let upsert = format!(
                            "MERGE t WITH (HOLDLOCK) USING (SELECT {id} AS id) s ON t.id = s.id
                             WHEN MATCHED THEN UPDATE SET n += 1 WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1);"
                        );
                        loop {
                            match numbers(&run(&mut session, &upsert)).as_slice() {
                                [] => break,
                                [1205] => {}
                                other => panic!("{other:?}"),
                            }
                        }
                        if random.below(8) == 0 {
                            // Another session deletes the row, with its count.
                            run(&mut session, &format!("DELETE t OUTPUT deleted.n INTO taken WHERE id = {}", random.below(6)));
                        }
                    }
                    session.close();
                }));
            }
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            let counted = "SELECT (SELECT ISNULL(SUM(n), 0) FROM db.dbo.t) + (SELECT ISNULL(SUM(n), 0) FROM db.dbo.taken)";
            assert_eq!(number(&mut session, counted), SESSIONS * UPSERTS, "seed {seed}");
            server.stop(session);
        });
    }
}
