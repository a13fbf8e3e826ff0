//! An attention ends a query at once, also while an operator processes many rows and emits none.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test waits for a real thread")]

use std::time::{Duration, Instant};

use crate::common::{World, rows, run};
use hardpan_session::{NullSink, RequestEnd, Session};

/// Each would take hours; between two looks for attentions nothing takes longer than some hundred rows. Before: 256 outer rows with all their inner ones.
#[test]
fn joins_look_for_attentions_at_the_rows_that_they_pass_over() {
    let world = World::new("attentions");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE T (i int NOT NULL, k int NOT NULL); CREATE CLUSTERED INDEX k ON T (k)");
    run(&mut session, "INSERT T SELECT value, 1 FROM GENERATE_SERIES(1, 150000)");
    for text in [
        "SELECT COUNT(*) FROM T a CROSS JOIN T b WHERE a.i + b.i < 0",
        "SELECT COUNT(*) FROM T a LEFT JOIN T b ON a.i + b.i < 0",
        "SELECT COUNT(*) FROM T a INNER HASH JOIN T b ON a.k = b.k AND a.i + b.i < 0",
        "SELECT COUNT(*) FROM T a INNER MERGE JOIN T b ON a.k = b.k AND a.i + b.i < 0",
        "SELECT COUNT(*) FROM T a INNER LOOP JOIN T b ON a.k = b.k AND a.i + b.i < 0",
        "SELECT COUNT(*) FROM T a WHERE NOT EXISTS (SELECT 1 FROM T b WHERE b.k = a.k AND b.i + a.i < 0)",
        "SELECT COUNT(*) FROM T a WHERE a.i < (SELECT SUM(b.i) FROM T b WHERE b.i + a.i < 0)",
    ] {
        // A machine that is busy otherwise may be late once, not each time.
        let is_prompt = (0..5).any(|_| wait_for_attention(&mut session, text) < Duration::from_millis(300));
        assert!(is_prompt, "{text}");
    }
    assert_eq!(rows(&mut session, "SELECT 5"), ["5"]);
}

/// How long the statement goes on behind an attention in its middle.
fn wait_for_attention(session: &mut Session, text: &str) -> Duration {
    let task = os::task::current();
    let ringer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        let rung = Instant::now();
        task.interrupt(os::task::InterruptReason::Attention);
        rung
    });
    let end = session.execute_batch(text, &mut NullSink);
    let waited = ringer.join().unwrap().elapsed();
    os::task::current().clear_interrupt();
    assert_eq!(end, RequestEnd::Attention, "{text}");
    waited
}
