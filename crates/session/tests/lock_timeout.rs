//! SET LOCK_TIMEOUT applies to lock waits: in the session, in a procedure's own scope, until the session is reset.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{Seen, World, numbers, run};

#[test]
fn lock_timeout_holds_in_its_scope() {
    let world = World::new("lock-timeout");
    let mut holder = world.session();
    run(&mut holder, "CREATE TABLE T (a int NOT NULL PRIMARY KEY, b int NOT NULL); INSERT T VALUES (1, 1)");
    run(&mut holder, "CREATE PROCEDURE impatient AS SET LOCK_TIMEOUT 0; UPDATE T SET b = 3");
    run(&mut holder, "BEGIN TRAN; UPDATE T SET b = 2");
    let mut other = world.session();
    let seen = run(&mut other, "SET LOCK_TIMEOUT 0; SELECT b FROM T");
    assert_eq!(numbers(&seen)[0], 1222);
    let seen = run(&mut other, "SET LOCK_TIMEOUT 20; UPDATE T SET b = 3");
    assert_eq!(numbers(&seen), [1222, 3621]);
    // A procedure's own setting ends with it: the longer one counts again.
    let seen = run(&mut other, "EXEC impatient; SELECT @@LOCK_TIMEOUT");
    assert_eq!((numbers(&seen)[0], seen.sets[0].1[0][0].as_str()), (1222, "20"));
    assert_eq!(numbers(&run(&mut other, "SELECT b FROM T"))[0], 1222);
    // After a reset it waits for ever again: until the holder is gone.
    other.reset(false, &mut Seen::default());
    let waiter = std::thread::spawn(move || {
        let seen = run(&mut other, "SELECT b FROM T");
        other.close();
        seen
    });
    run(&mut holder, "ROLLBACK");
    let seen = waiter.join().unwrap();
    assert_eq!((numbers(&seen), seen.sets[0].1[0][0].as_str()), (vec![], "1"));
    holder.close();
}
