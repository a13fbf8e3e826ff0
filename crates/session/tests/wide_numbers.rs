//! Identity columns and sequences of decimal(38, 0) beyond bigint: every place that shows or accepts their values, restarts, crashes, the
//! type's limits, and random lives against a model, on a simulated machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::random::Random;
use crate::common::simulated::{Server, kept, on_a_machine};
use crate::common::{numbers, rows, run};
use hardpan_session::Session;
use os::Os;
use os::sim::{Profile, World as Machine};

const NOTHING: [i32; 0] = [];
/// The cache of all types but the small ones.
const CACHE: i128 = 10_000;
const WIDE: i128 = 12_345_678_901_234_567_890_123;
/// The greatest number of decimal(38, 0).
const LAST: i128 = 99_999_999_999_999_999_999_999_999_999_999_999_999;

fn one(session: &mut Session, text: &str) -> String {
    let mut found = rows(session, text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found.remove(0)
}

fn assert_fails(session: &mut Session, text: &str, error: i32) {
    assert_eq!(numbers(&run(session, text)).first(), Some(&error), "{text}");
}

fn create(session: &mut Session, name: &str, seed: i128, increment: i128) {
    let text = format!("CREATE TABLE {name} (i decimal(38, 0) IDENTITY({seed}, {increment}), a int)");
    assert_eq!(numbers(&run(session, &text)), NOTHING, "{text}");
}

fn insert(session: &mut Session, name: &str) -> i128 {
    one(session, &format!("INSERT {name} OUTPUT inserted.i VALUES (1)")).parse().unwrap()
}

/// Each function and view shows the whole number; CHECKIDENT shows and accepts it; an orderly stop leaves no gap.
#[test]
fn identity_values_beyond_bigint_are_told_everywhere() {
    on_a_machine(330, |os| {
        let (server, mut session) = Server::with_table(os);
        create(&mut session, "w", WIDE, 7);
        assert_eq!(insert(&mut session, "w"), WIDE);
        assert_eq!(insert(&mut session, "w"), WIDE + 7);
        let told = "SELECT SCOPE_IDENTITY(), @@IDENTITY, IDENT_CURRENT('w'), IDENT_SEED('w'), IDENT_INCR('w'), $IDENTITY FROM w WHERE i = IDENT_CURRENT('w')";
        let next = WIDE + 7;
        assert_eq!(one(&mut session, told), format!("{next}|{next}|{next}|{WIDE}|7|{next}"));
        let view = "SELECT CAST(seed_value AS decimal(38)), CAST(increment_value AS int), CAST(last_value AS decimal(38)), \
                    SQL_VARIANT_PROPERTY(last_value, 'BaseType') FROM sys.identity_columns WHERE object_id = OBJECT_ID('w')";
        assert_eq!(one(&mut session, view), format!("{WIDE}|7|{next}|decimal"));
        // An explicit value beyond the current one moves the counter.
        let further = WIDE * 1_000_000;
        run(
            &mut session,
            &format!(
                "SET IDENTITY_INSERT w ON; INSERT w (i, a) VALUES ({further}, 2); SET IDENTITY_INSERT w OFF"
            ),
        );
        assert_eq!(insert(&mut session, "w"), further + 7);
        let seen = run(&mut session, "DBCC CHECKIDENT ('w', NORESEED)");
        assert!(
            seen.messages[0].2.contains(&format!(
                "'{}', current column value '{}'",
                further + 7,
                further + 7
            )),
            "{:?}",
            seen.messages
        );
        run(&mut session, &format!("DBCC CHECKIDENT ('w', RESEED, {WIDE}) WITH NO_INFOMSGS"));
        assert_eq!(insert(&mut session, "w"), WIDE + 7);
        run(&mut session, "DBCC CHECKIDENT ('w', RESEED) WITH NO_INFOMSGS");
        assert_eq!(insert(&mut session, "w"), further + 14);
        server.stop(session);
        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(insert(&mut session, "w"), further + 21);
        run(&mut session, "TRUNCATE TABLE w");
        assert_eq!(insert(&mut session, "w"), WIDE);
        run(
            &mut session,
            &format!("TRUNCATE TABLE w; DBCC CHECKIDENT ('w', RESEED, {}) WITH NO_INFOMSGS", -further),
        );
        server.stop(session);
        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(insert(&mut session, "w"), -further);
        server.stop(session);
    });
}

/// The type's last values come, then 8115 for each further request and after a restart; no view shows a number outside the type.
#[test]
fn counting_ends_with_the_type() {
    on_a_machine(331, |os| {
        let (server, mut session) = Server::with_table(os);
        for (name, seed, increment) in [("up", LAST - 1, 1), ("down", 1 - LAST, -1), ("leap", LAST - 9, LAST)]
        {
            create(&mut session, name, seed, increment);
            let values = if name == "leap" { 1 } else { 2 };
            for step in 0..values {
                assert_eq!(insert(&mut session, name), seed + increment * step, "{name}");
            }
            for _ in 0..3 {
                assert_fails(&mut session, &format!("INSERT {name} VALUES (1)"), 8115);
            }
            let current = seed + increment * (values - 1);
            assert_eq!(one(&mut session, &format!("SELECT IDENT_CURRENT('{name}')")), current.to_string());
        }
        for wrong in ["100000000000000000000000000000000000000", "1.5"] {
            let text = format!("CREATE TABLE x (i decimal(38, 0) IDENTITY({wrong}, 1))");
            assert!(!numbers(&run(&mut session, &text)).is_empty(), "{wrong}");
        }
        create(&mut session, "narrow", 9, 1);
        run(&mut session, "CREATE TABLE digits (i decimal(20, 0) IDENTITY(99999999999999999999, 1), a int)");
        assert_eq!(insert(&mut session, "digits"), 99_999_999_999_999_999_999);
        assert_fails(&mut session, "INSERT digits VALUES (1)", 8115);
        run(&mut session, &format!("CREATE SEQUENCE s AS decimal(38, 0) START WITH {}", LAST - 1));
        assert_eq!(one(&mut session, "SELECT NEXT VALUE FOR s"), (LAST - 1).to_string());
        assert_eq!(one(&mut session, "SELECT NEXT VALUE FOR s"), LAST.to_string());
        assert_fails(&mut session, "SELECT NEXT VALUE FOR s", 11728);
        server.stop(session);
        let server = Server::open(os);
        let mut session = server.session();
        for name in ["up", "down", "leap", "digits"] {
            assert_fails(&mut session, &format!("INSERT {name} VALUES (1)"), 8115);
        }
        assert_fails(&mut session, "SELECT NEXT VALUE FOR s", 11728);
        server.stop(session);
    });
}

/// The current value of a column and a sequence, by the model.
#[derive(Clone, Copy, Debug)]
struct Model {
    increment: i128,
    /// The next value of an exact count, and how far a crash may have moved it.
    next: i128,
    slack: i128,
}

impl Model {
    /// A value was given: it is new, and not further than the caches explain.
    fn give(&mut self, value: i128, what: &str) {
        let gap = (value - self.next) / self.increment;
        assert!(
            (value - self.next) % self.increment == 0 || self.slack > 0,
            "{what}: {value} is off the steps, {self:?}"
        );
        assert!((0..=self.slack).contains(&gap), "{what}: {value} after {self:?}");
        self.next = value + self.increment;
        self.slack = 0;
    }
}

/// The server of a life; the first life creates the column and the sequence.
fn begin(os: &Os, life: u64, [column, sequence]: &[Model; 2]) -> (Server, Session) {
    if life > 0 {
        let server = Server::open(os);
        let session = server.session();
        return (server, session);
    }
    let (server, mut session) = Server::with_table(os);
    create(&mut session, "w", column.next, column.increment);
    let (start, step) = (sequence.next, sequence.increment);
    let text = format!("CREATE SEQUENCE s AS decimal(38, 0) START WITH {start} INCREMENT BY {step} CACHE 20");
    assert_eq!(numbers(&run(&mut session, &text)), NOTHING, "{text}");
    (server, session)
}

/// One life: random draws, rollbacks, explicit values and reseeds, then an orderly stop or a power failure.
fn live(machine: &Machine, seed: u64, life: u64, models: &[Model; 2]) -> [Model; 2] {
    let kept_models = kept(*models);
    let (into, handle, models) = (kept_models.clone(), machine.clone(), *models);
    let report = machine.run(move |os| {
        let mut random = Random::new(seed * 100 + life);
        let (server, mut session) = begin(os, life, &models);
        for _ in 0..random.below(40) {
            match random.below(10) {
                0..4 => {
                    let value = insert(&mut session, "w");
                    into.lock()[0].give(value, "identity");
                }
                4 => {
                    let value = one(&mut session, "BEGIN TRAN; INSERT w OUTPUT inserted.i VALUES (2); ROLLBACK");
                    into.lock()[0].give(value.parse().unwrap(), "rolled back");
                }
                5 => {
                    let mut all = into.lock();
                    let column = &mut all[0];
                    let own = column.next + column.increment * (i128::from(random.below(30_000)) + column.slack);
                    let text = format!("SET IDENTITY_INSERT w ON; INSERT w (i, a) VALUES ({own}, 2); SET IDENTITY_INSERT w OFF");
                    drop(all);
                    assert_eq!(numbers(&run(&mut session, &text)), NOTHING);
                    let column = &mut into.lock()[0];
                    (column.next, column.slack) = (own + column.increment, 0);
                }
                6 => {
                    let [column, _] = *into.lock();
                    let back = column.next - column.increment * 5;
                    run(&mut session, &format!("DBCC CHECKIDENT ('w', RESEED, {back}) WITH NO_INFOMSGS"));
                    let told = one(&mut session, "SELECT IDENT_CURRENT('w')");
                    assert_eq!(told, back.to_string());
                    let mut all = into.lock();
                    // Where no value has been counted yet, the value itself comes next.
                    all[0].slack = 1;
                    all[0].next = back;
                }
                _ => {
                    let value = one(&mut session, "SELECT NEXT VALUE FOR s");
                    into.lock()[1].give(value.parse().unwrap(), "sequence");
                }
            }
        }
        if random.below(2) == 0 {
            server.stop(session);
        } else {
            // A durable commit hardens all earlier recovery values.
            run(&mut session, "INSERT T1 VALUES (1)");
            for (model, cache) in into.lock().iter_mut().zip([CACHE, 20]) {
                model.slack += cache;
            }
            handle.power_off();
        }
    });
    assert!(report.failures.is_empty(), "seed {seed}, life {life}: {:?}", report.failures);
    *kept_models.lock()
}

/// Random lives with orderly stops and power cuts: no value comes twice except by RESEED, gaps are no larger than lost caches.
#[test]
fn lives_of_wide_numbers_follow_the_model() {
    for seed in 0..12 {
        let machine = Machine::new(seed, Profile { switches_max: 40_000_000, ..Profile::drawn(seed) });
        let sign = if seed % 2 == 0 { 1 } else { -1 };
        let start = [WIDE, i128::from(i64::MAX) - 30, -(WIDE * 1_000_000_000)][seed as usize % 3] * sign;
        let column = Model { increment: sign * (1 + seed as i128 % 4), next: start, slack: 0 };
        let sequence = Model { increment: -sign * (1 + seed as i128 % 3), next: -start, slack: 0 };
        let mut models = [column, sequence];
        for life in 0..6 {
            models = live(&machine, seed, life, &models);
        }
    }
}
