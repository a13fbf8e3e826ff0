//! Four sessions create, alter, drop and use objects of three names in transactions, in an order drawn from the seed. A model of the names
//! gives the allowed answers: a state that was committed at some moment of the statement, or the session's own changes.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::simulated::{Server, connect, kept, on_a_machine};
use crate::common::{Seen, numbers, rows, run};
use hardpan_session::{Session, SessionShared};
use os::{Latch, Os, WaitType};

const NAMES: [&str; 3] = ["a", "b", "c"];
const SESSIONS: usize = 4;
const TRANSACTIONS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Table,
    View,
    Procedure,
}

/// The object of a name: the only column's name, or the module's text.
const STATE: &str = "SELECT o.name, COALESCE(c.name, OBJECT_DEFINITION(o.object_id)) FROM sys.objects o LEFT JOIN sys.columns c \
                     ON c.object_id = o.object_id AND o.type = 'U' WHERE o.type IN ('U', 'V', 'P')";

/// The meaning of a name: the stamp is in the name of the object's only column.
type Meaning = Option<(Kind, u32)>;

/// A meaning, since the beginning of its commit; `sure` since the end of that commit.
struct Version {
    meaning: Meaning,
    from: u64,
    sure: u64,
}

/// What has been committed, and when.
#[derive(Default)]
struct History {
    now: u64,
    stamps: u32,
    names: BTreeMap<&'static str, Vec<Version>>,
    /// How often each thing happened, for the test of the test.
    counts: BTreeMap<&'static str, u32>,
    lies: Vec<String>,
}

impl History {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// The possible meanings of the name between two moments.
    fn possible(&self, name: &str, began: u64, ended: u64) -> Vec<Meaning> {
        let mut possible = Vec::new();
        let versions = self.names.get(name).map_or(&[][..], Vec::as_slice);
        if versions.first().is_none_or(|first| first.sure >= began) {
            possible.push(None);
        }
        for (at, version) in versions.iter().enumerate() {
            let until = versions.get(at + 1).map_or(u64::MAX, |next| next.sure);
            if version.from <= ended && until >= began {
                possible.push(version.meaning);
            }
        }
        possible
    }
}

struct Actor {
    os: Os,
    session: Session,
    history: Arc<Latch<History>>,
    rng: os::Rng,
    /// The changes of the open transaction.
    own: BTreeMap<&'static str, Meaning>,
    saved: Option<BTreeMap<&'static str, Meaning>>,
    /// The planted bug: the catalog is read as under READ UNCOMMITTED.
    reads_dirty: bool,
}

fn make(kind: Kind, verb: &str, name: &str, stamp: u32) -> String {
    match kind {
        Kind::Table => format!("CREATE TABLE {name} (stamp_{stamp} INT)"),
        Kind::View => format!("EXEC ('{verb} VIEW {name} AS SELECT 1 AS stamp_{stamp}')"),
        Kind::Procedure => format!("EXEC ('{verb} PROCEDURE {name} AS SELECT 1 AS stamp_{stamp}')"),
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Table => "TABLE",
        Kind::View => "VIEW",
        Kind::Procedure => "PROCEDURE",
    }
}

/// The stamp in the name of the first column of the last result.
fn stamp_of(seen: &Seen) -> Option<u32> {
    seen.sets.last()?.0.first()?.strip_prefix("stamp_")?.parse().ok()
}

impl Actor {
    fn pick(&mut self, count: u64) -> usize {
        usize::try_from(self.rng.below(count)).unwrap()
    }

    fn pause(&mut self, ms_max: u64) {
        let pause_ns = self.rng.below(ms_max * 1_000_000);
        self.os.sleep(pause_ns, WaitType::WAITFOR).unwrap();
    }

    fn kind(&mut self) -> Kind {
        [Kind::Table, Kind::View, Kind::Procedure][self.pick(3)]
    }

    /// Runs a statement; returns the possible meanings of the name meanwhile. `None`: the transaction has ended or the statement gave up waiting.
    fn ask(&mut self, name: &'static str, text: &str) -> Option<(Seen, Vec<Meaning>)> {
        let (seen, mut possible) = self.ask_of(&[name], text)?;
        Some((seen, possible.remove(0)))
    }

    /// The same for several names.
    fn ask_of(&mut self, names: &[&'static str], text: &str) -> Option<(Seen, Vec<Vec<Meaning>>)> {
        let began = self.history.lock().tick();
        let seen = run(&mut self.session, text);
        let mut history = self.history.lock();
        let ended = history.tick();
        let errors = numbers(&seen);
        if errors.contains(&1222) || errors.contains(&1205) {
            history.count(if errors.contains(&1222) { "time-outs" } else { "deadlocks" });
            drop(history);
            if errors.contains(&1205) {
                assert!(!self.session.in_transaction(), "the victim's transaction is rolled back");
                self.own.clear();
                self.saved = None;
            }
            return None;
        }
        let possible = names.iter().map(|name| match self.own.get(name) {
            Some(own) => vec![*own],
            None => history.possible(name, began, ended),
        });
        let possible = possible.collect();
        drop(history);
        if !self.session.in_transaction() {
            // The error has rolled it back.
            self.own.clear();
            self.saved = None;
        }
        Some((seen, possible))
    }

    fn expect(&mut self, is_true: bool, what: &'static str, text: &str, seen: &Seen, possible: &[Meaning]) {
        let mut history = self.history.lock();
        history.count(what);
        if !is_true {
            let told = (numbers(seen), seen.sets.iter().map(|set| &set.0).collect::<Vec<_>>());
            let lie = format!("{text}: told {told:?}, but the name meant one of {possible:?}");
            history.lies.push(lie);
        }
    }

    fn create(&mut self, name: &'static str) {
        let kind = self.kind();
        let stamp = self.new_stamp();
        let text = make(kind, "CREATE", name, stamp);
        let Some((seen, possible)) = self.ask(name, &text) else { return };
        let made = numbers(&seen).is_empty();
        let is_true = match made {
            true => possible.contains(&None),
            false => numbers(&seen) == [2714] && possible.iter().any(Option::is_some),
        };
        self.expect(is_true, if made { "created" } else { "refused" }, &text, &seen, &possible);
        if made {
            self.own.insert(name, Some((kind, stamp)));
        }
    }

    fn new_stamp(&mut self) -> u32 {
        let mut history = self.history.lock();
        history.stamps += 1;
        history.stamps
    }

    fn drop_object(&mut self, name: &'static str) {
        let kind = self.kind();
        let text = format!("DROP {} {name}", word(kind));
        let Some((seen, possible)) = self.ask(name, &text) else { return };
        let dropped = numbers(&seen).is_empty();
        let is_it = |meaning: &Meaning| meaning.is_some_and(|(known, _)| known == kind);
        let is_true = match dropped {
            true => possible.iter().any(is_it),
            false => possible.iter().any(|meaning| !is_it(meaning)),
        };
        self.expect(is_true, if dropped { "dropped" } else { "not dropped" }, &text, &seen, &possible);
        if dropped {
            self.own.insert(name, None);
        }
    }

    fn alter(&mut self, name: &'static str) {
        let kind = if self.pick(2) == 0 { Kind::View } else { Kind::Procedure };
        let stamp = self.new_stamp();
        let text = make(kind, "ALTER", name, stamp);
        let Some((seen, possible)) = self.ask(name, &text) else { return };
        let altered = numbers(&seen).is_empty();
        let is_it = |meaning: &Meaning| meaning.is_some_and(|(known, _)| known == kind);
        let is_true = match altered {
            true => possible.iter().any(is_it),
            false => possible.iter().any(|meaning| !is_it(meaning)),
        };
        self.expect(is_true, if altered { "altered" } else { "not altered" }, &text, &seen, &possible);
        if altered {
            self.own.insert(name, Some((kind, stamp)));
        }
    }

    /// Renames it. Its kind is queried afterwards, when no other session can change it.
    fn rename(&mut self, name: &'static str, to: &'static str) {
        let text = format!("EXEC sp_rename '{name}', '{to}'");
        let Some((seen, possible)) = self.ask_of(&[name, to], &text) else { return };
        let (was, target) = (&possible[0], &possible[1]);
        let renamed = numbers(&seen) == [15477];
        let mut meaning = None;
        if renamed {
            // Functions of one name do not wait for other sessions' functions.
            let asked = format!(
                "SELECT COALESCE(COL_NAME(OBJECT_ID('{to}'), 1), OBJECT_DEFINITION(OBJECT_ID('{to}')))"
            );
            let row = rows(&mut self.session, &asked).pop().unwrap_or_default();
            let stamp = row.rsplit_once("stamp_").and_then(|(_, stamp)| stamp.parse().ok());
            meaning = was.iter().flatten().find(|known| Some(known.1) == stamp).copied();
        }
        let is_true = match numbers(&seen)[..] {
            [15477] => meaning.is_some() && target.contains(&None),
            [15335] => target.iter().any(Option::is_some) && was.iter().any(Option::is_some),
            [15225] => was.contains(&None),
            _ => false,
        };
        let both: Vec<Meaning> = possible.concat();
        self.expect(is_true, if renamed { "renamed" } else { "not renamed" }, &text, &seen, &both);
        if renamed {
            self.own.insert(name, None);
            self.own.insert(to, meaning);
        }
    }

    /// Selects from it, executes it, or looks into the catalog.
    fn look(&mut self, name: &'static str) {
        let way = self.pick(3);
        let hint = if self.reads_dirty { "WITH (NOLOCK)" } else { "" };
        let text = match way {
            0 => format!("SELECT * FROM {name}"),
            1 => format!("EXEC {name}"),
            _ => format!(
                "SELECT c.name FROM sys.objects o {hint} JOIN sys.columns c {hint} ON c.object_id = o.object_id WHERE o.name = '{name}'"
            ),
        };
        let Some((seen, possible)) = self.ask(name, &text) else { return };
        let of_ways: &[Kind] = match way {
            0 => &[Kind::Table, Kind::View],
            1 => &[Kind::Procedure],
            _ => &[Kind::Table],
        };
        let stamp = match way {
            2 if seen.sets.last().is_some_and(|set| set.1.len() == 1) => {
                let column = seen.sets[0].1[0][0].clone();
                column.strip_prefix("stamp_").and_then(|stamp| stamp.parse().ok())
            }
            2 => None,
            _ => stamp_of(&seen),
        };
        let found = stamp.is_some();
        let is_true = possible.iter().any(|meaning| match (meaning, stamp) {
            (Some((kind, known)), Some(stamp)) => *known == stamp && (way == 2 || of_ways.contains(kind)),
            (Some((kind, _)), None) => !of_ways.contains(kind),
            (None, stamp) => stamp.is_none(),
        });
        self.expect(is_true, if found { "found" } else { "not found" }, &text, &seen, &possible);
    }

    fn commit(&mut self) {
        let mut history = self.history.lock();
        let from = history.tick();
        for (name, meaning) in &self.own {
            let version = Version { meaning: *meaning, from, sure: u64::MAX };
            history.names.entry(name).or_default().push(version);
        }
        drop(history);
        let seen = run(&mut self.session, "COMMIT");
        assert!(numbers(&seen).is_empty(), "{:?}", seen.messages);
        let mut history = self.history.lock();
        let sure = history.tick();
        history.count("commits");
        for name in self.own.keys() {
            history.names.get_mut(name).unwrap().last_mut().unwrap().sure = sure;
        }
        drop(history);
        self.own.clear();
    }

    fn transaction(&mut self) {
        run(&mut self.session, "BEGIN TRAN");
        for _ in 0..1 + self.pick(4) {
            let name = NAMES[self.pick(NAMES.len() as u64)];
            match self.pick(9) {
                0 | 1 => self.create(name),
                2 => self.drop_object(name),
                3 => self.alter(name),
                4 if self.saved.is_none() => {
                    run(&mut self.session, "SAVE TRAN here");
                    self.saved = Some(self.own.clone());
                }
                4 => {
                    run(&mut self.session, "ROLLBACK TRAN here");
                    self.own = self.saved.clone().unwrap();
                    self.history.lock().count("savepoints");
                }
                5 => {
                    let to = NAMES[self.pick(NAMES.len() as u64)];
                    if to != name {
                        self.rename(name, to);
                    }
                }
                _ => self.look(name),
            }
            if !self.session.in_transaction() {
                return;
            }
            self.pause(10);
        }
        self.saved = None;
        match self.pick(3) {
            0 => {
                run(&mut self.session, "ROLLBACK");
                self.own.clear();
                self.history.lock().count("rollbacks");
            }
            _ => self.commit(),
        }
    }
}

fn actor(os: Os, shared: &SessionShared, number: usize, history: Arc<Latch<History>>, reads_dirty: bool) {
    let mut session = connect(shared, "db");
    run(&mut session, &format!("SET LOCK_TIMEOUT {}", [5, 20, 200, 5000][number]));
    let rng = os.rng(&format!("actor {number}"));
    let mut actor = Actor { os, session, history, rng, own: BTreeMap::new(), saved: None, reads_dirty };
    for _ in 0..TRANSACTIONS {
        actor.transaction();
        actor.pause(20);
    }
    actor.session.close();
}

/// The final state of the catalog.
fn final_state(session: &mut Session) -> Vec<String> {
    rows(session, &format!("{STATE} ORDER BY 1"))
}

/// One run; returns the impossible answers, and how often each kind of event occurred.
fn play(seed: u64, reads_dirty: bool) -> (Vec<String>, BTreeMap<&'static str, u32>) {
    let outcome = kept((Vec::new(), BTreeMap::new()));
    let place = outcome.clone();
    on_a_machine(seed, move |os| {
        let server = Server::open(os);
        let mut maker = server.session_in("master");
        run(&mut maker, "CREATE DATABASE db");
        let history = kept(History::default());
        let threads: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let (own_os, shared, history) = (os.clone(), server.shared(), history.clone());
                os.spawn("actor", move || actor(own_os, &shared, number, history, reads_dirty))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        run(&mut maker, "USE db");
        let told = final_state(&mut maker);
        let mut history = history.lock();
        let meant: Vec<(&str, u32)> = history
            .names
            .iter()
            .filter_map(|(name, versions)| Some((*name, versions.last()?.meaning?.1)))
            .collect();
        let agrees = told.len() == meant.len()
            && told.iter().zip(&meant).all(|(row, (name, stamp))| {
                row.starts_with(&format!("{name}|")) && row.ends_with(&format!("stamp_{stamp}"))
            });
        if !agrees {
            history.lies.push(format!("at the end: told {told:?}, meant {meant:?}"));
        }
        let (lies, counts) = (std::mem::take(&mut history.lies), history.counts.clone());
        drop(history);
        *place.lock() = (lies, counts);
        maker.close();
        assert_eq!(server.instance.locks().snapshot(), [], "locks left behind");
        server.instance.shutdown();
        // The rows of the system tables say the same.
        let again = Server::open(os);
        let mut reader = again.session_in("db");
        assert_eq!(final_state(&mut reader), told, "after a restart");
        again.stop(reader);
    });
    let mut outcome = outcome.lock();
    std::mem::take(&mut outcome)
}

fn seeds() -> u64 {
    std::env::var("HARDPAN_TEST_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(25)
}

#[test]
fn nobody_is_told_what_was_not_committed() {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..seeds() {
        let (lies, happened) = play(seed, false);
        assert!(lies.is_empty(), "seed {seed}: {lies:#?}");
        for (what, count) in happened {
            *counts.entry(what).or_default() += count;
        }
    }
    for what in [
        "created",
        "refused",
        "dropped",
        "not dropped",
        "altered",
        "renamed",
        "not renamed",
        "found",
        "not found",
        "commits",
        "rollbacks",
        "savepoints",
        "time-outs",
        "deadlocks",
    ] {
        assert!(counts.get(what).is_some_and(|count| *count >= 5), "{what} happened too seldom: {counts:?}");
    }
}

/// The model notices a reader that sees uncommitted changes.
#[test]
fn a_dirty_reader_is_found() {
    let found = (0..10).filter(|seed| !play(*seed, true).0.is_empty()).count();
    assert!(found > 0, "ten runs with a reader of uncommitted definitions and nobody noticed");
}
