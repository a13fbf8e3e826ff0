//! Schedules: sessions on threads of a simulated machine run steps in turn. A step without an answer after a second of virtual time is blocked;
//! the schedule continues with other sessions and takes the answer when it comes.

use std::collections::VecDeque;
use std::sync::Arc;

use hardpan_session::{Session, SessionShared};
use os::{JoinHandle, Latch, LatchRank, Os, Signal, WaitOutcome, WaitType};

use super::run;
use super::simulated::{Server, connect};

/// A database with locking readers, and one with both options of row versions.
pub const DATABASES: [&str; 2] = ["isolation", "versioned"];
const A_SECOND_NS: u64 = 1_000_000_000;

/// The result of one step: its rows (`id:value`, separated by blanks), or the error that ended it.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Rows(String),
    Error(i32),
}

/// Both databases of [`DATABASES`], with what `definitions` creates in each.
pub fn prepare(os: &Os, definitions: &str) -> Server {
    let server = Server::open(os);
    for database in DATABASES {
        let mut session = server.session_in("master");
        run(&mut session, &format!("CREATE DATABASE {database}"));
        if database == "versioned" {
            for option in ["READ_COMMITTED_SNAPSHOT", "ALLOW_SNAPSHOT_ISOLATION"] {
                run(&mut session, &format!("ALTER DATABASE {database} SET {option} ON"));
            }
        }
        run(&mut session, &format!("USE {database}"));
        let made = run(&mut session, definitions);
        assert!(made.messages.is_empty(), "{definitions}: {:?}", made.messages);
        session.close();
    }
    server
}

/// An update conflict, which ends the transaction.
const CONFLICT: Answer = Answer::Error(3960);
/// Marks a step that was skipped after a conflict.
const OVER: Answer = Answer::Error(0);

/// A session on a thread of its own, which answers one statement after the other.
struct Actor {
    board: Arc<Board>,
    thread: JoinHandle,
    /// Steps sent and not answered yet.
    open: VecDeque<usize>,
}

/// Statements for an actor and its answers.
struct Board {
    sent: Latch<VecDeque<Option<String>>>,
    signal: Signal,
    answers: Latch<VecDeque<Answer>>,
    answered: Signal,
}

impl Actor {
    fn start(os: &Os, shared: SessionShared, place: (&'static str, &'static str), name: &str) -> Actor {
        let board = Arc::new(Board {
            sent: Latch::new(LatchRank::Leaf, VecDeque::new()),
            signal: Signal::new(),
            answers: Latch::new(LatchRank::Leaf, VecDeque::new()),
            answered: Signal::new(),
        });
        let mine = Arc::clone(&board);
        let thread = os.spawn(name, move || {
            let mut session = connect(&shared, place.0);
            run(&mut session, &format!("SET TRANSACTION ISOLATION LEVEL {}; BEGIN TRAN", place.1));
            let mut is_over = false;
            loop {
                let next = mine.sent.lock().pop_front();
                match next {
                    Some(Some(statement)) => {
                        // After a conflict the transaction has ended, and its other statements would run outside of any transaction.
                        let answer = if is_over { OVER } else { answer(&mut session, &statement) };
                        is_over |= answer == CONFLICT;
                        mine.answers.lock().push_back(answer);
                        mine.answered.set();
                    }
                    Some(None) => break,
                    None => {
                        mine.signal.wait(WaitType::WAITFOR, None);
                        mine.signal.reset();
                    }
                }
            }
            session.close();
        });
        Actor { board, thread, open: VecDeque::new() }
    }

    fn send(&mut self, step: usize, statement: &str) {
        self.board.sent.lock().push_back(Some(statement.to_owned()));
        self.open.push_back(step);
        self.board.signal.set();
    }

    /// Takes the answers that arrive within a second each.
    fn collect(&mut self, answers: &mut [Answer]) {
        loop {
            while let Some(answer) = self.board.answers.lock().pop_front() {
                answers[self.open.pop_front().unwrap()] = answer;
            }
            if self.open.is_empty() {
                return;
            }
            if self.board.answered.wait(WaitType::WAITFOR, Some(A_SECOND_NS)) != WaitOutcome::Set {
                return;
            }
            self.board.answered.reset();
        }
    }

    fn stop(self) {
        self.board.sent.lock().push_back(None);
        self.board.signal.set();
        self.thread.join().unwrap();
    }
}

/// A session's answer to a statement.
pub fn answer(session: &mut Session, statement: &str) -> Answer {
    let seen = run(session, statement);
    let show = |row: &Vec<String>| row.join(":");
    match (seen.messages.first(), seen.sets.first()) {
        // After a deadlock the transaction has ended; its later COMMIT is error 3902, which does not matter.
        (Some(message), _) => Answer::Error(message.0),
        (None, Some((_, set))) => Answer::Rows(set.iter().map(show).collect::<Vec<_>>().join(" ")),
        (None, None) => Answer::Rows(String::new()),
    }
}

/// Plays a schedule of sessions and their statements in a database at a level; returns the answers by step.
pub fn play(
    os: &Os,
    shared: &SessionShared,
    name: &str,
    steps: &[(usize, &str)],
    place: (&'static str, &'static str),
) -> Vec<Answer> {
    let count = 1 + steps.iter().map(|step| step.0).max().unwrap();
    let mut actors: Vec<Actor> =
        (0..count).map(|at| Actor::start(os, shared.clone(), place, &format!("actor {at}"))).collect();
    let mut answers = vec![Answer::Error(0); steps.len()];
    for (step, (actor, statement)) in steps.iter().enumerate() {
        actors[*actor].send(step, statement);
        // Sessions that this step has unblocked continue before the next step.
        actors[*actor].collect(&mut answers);
        actors.iter_mut().for_each(|actor| actor.collect(&mut answers));
    }
    for _ in 0..count {
        actors.iter_mut().for_each(|actor| actor.collect(&mut answers));
    }
    assert!(actors.iter().all(|actor| actor.open.is_empty()), "{name}, {place:?}: nobody is left waiting");
    actors.into_iter().for_each(Actor::stop);
    answers
}
