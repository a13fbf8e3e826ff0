//! Integer loops run without the query runtime (`plain.rs`): their results and errors equal those of a SELECT of the same expression.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::random::{Random, seed};
use crate::common::{Seen, World, numbers, rows, run};
use hardpan_session as session;

const DECLARATIONS: &str =
    "DECLARE @i int = 2147483600, @s smallint = -7, @t tinyint = 250, @b bigint = 9223372036854775000,
    @z int = 0, @n int, @one int = 1";

fn expression(random: &mut Random, depth: u64) -> String {
    if depth == 0 || random.below(4) == 0 {
        let leaf = ["@i", "@s", "@t", "@b", "@z", "@n", "@one", "3", "-1", "2147483647", "NULL"];
        return (*random.one_of(&leaf)).to_string();
    }
    let op = *random.one_of(&["+", "-", "*", "/", "%", "&", "|", "^"]);
    let (left, right) = (expression(random, depth - 1), expression(random, depth - 1));
    format!("({left} {op} {right})")
}

/// From its second run on a statement of a loop is bound and may be plain.
fn three_times(body: &str) -> String {
    format!("{DECLARATIONS}, @k int = 0; WHILE @k < 3 BEGIN SET @k += 1; {body} END")
}

/// The rows of all result sets.
fn all(seen: &Seen) -> Vec<String> {
    seen.sets.iter().flat_map(|(_, rows)| rows).map(|row| row.join("|")).collect()
}

#[test]
fn assignments_in_a_loop_give_and_raise_what_a_select_does() {
    let world = World::new("plain-assignments");
    let mut s = world.session();
    run(&mut s, "SET NOCOUNT ON");
    let mut random = Random::new(seed(1));
    let (mut given, mut raised) = (0, 0);
    for _ in 0..400 {
        let text = expression(&mut random, 3);
        let set = run(&mut s, &three_times(&format!("DECLARE @r bigint = 77; SET @r = {text}; SELECT @r;")));
        let select =
            run(&mut s, &three_times(&format!("DECLARE @r bigint = 77; SELECT @r = {text}; SELECT @r;")));
        assert_eq!((all(&set), numbers(&set)), (all(&select), numbers(&select)), "{text}");
        *if numbers(&set).is_empty() { &mut given } else { &mut raised } += 1;
    }
    assert!(given > 50 && raised > 50, "{given} values, {raised} errors");
}

#[test]
fn conditions_in_a_loop_are_true_when_a_case_is() {
    let world = World::new("plain-conditions");
    let mut s = world.session();
    run(&mut s, "SET NOCOUNT ON");
    let mut random = Random::new(seed(2));
    let mut seen = [0, 0];
    for _ in 0..300 {
        let op = *random.one_of(&["=", "<>", "<", "<=", ">", ">=", "!<"]);
        let text = format!("{} {op} {}", expression(&mut random, 1), expression(&mut random, 1));
        let branch = run(&mut s, &three_times(&format!("IF {text} SELECT 1 ELSE SELECT 0;")));
        let case = run(&mut s, &three_times(&format!("SELECT CASE WHEN {text} THEN 1 ELSE 0 END;")));
        assert_eq!(numbers(&branch), numbers(&case), "{text}");
        if numbers(&branch).is_empty() {
            assert_eq!(all(&branch), all(&case), "{text}");
            seen[usize::from(all(&branch) == ["1", "1", "1"])] += 1;
        }
    }
    assert!(seen[0] > 30 && seen[1] > 30, "{seen:?} false and true");
}

#[test]
fn plain_steps_leave_what_others_leave_in_the_functions() {
    let world = World::new("plain-functions");
    let mut s = world.session();
    let text = "DECLARE @i int = 0, @seen varchar(100) = ''; WHILE @i < 3 BEGIN SELECT 1 UNION ALL SELECT 2; SET @i = @i + 1;
        SET @seen = @seen + CAST(@@ROWCOUNT AS varchar) + CAST(@@ERROR AS varchar);
        IF @i < 9 SET @seen = @seen + CAST(@@ROWCOUNT AS varchar) END SELECT @seen";
    assert_eq!(all(&run(&mut s, text)).last().unwrap(), "100100100");
    // An overflow in a loop belongs to its statement: it is caught with its line, or reported, and the loop continues.
    let text = "DECLARE @t tinyint = 250, @k int = 0;\nWHILE @k < 8 BEGIN SET @k += 1;\nBEGIN TRY\nSET @t = @t + 1\nEND TRY\nBEGIN CATCH
        SELECT ERROR_NUMBER(), ERROR_LINE(), @k END CATCH END SELECT @t, @k, ERROR_NUMBER()";
    assert_eq!(all(&run(&mut s, text)), ["220|4|6", "220|4|7", "220|4|8", "255|8|NULL"]);
}

#[test]
fn a_loop_that_leaves_catch_blocks_forgets_their_errors() {
    let world = World::new("plain-catch");
    let mut s = world.session();
    let text = "DECLARE @k int = 0, @z int = 0; WHILE @k < 5 BEGIN SET @k += 1;
        BEGIN TRY SET @k = @k / @z END TRY BEGIN CATCH IF @k < 4 CONTINUE; BREAK END CATCH END
        SELECT @k, ERROR_NUMBER()";
    assert_eq!(rows(&mut s, text), ["4|NULL"]);
}

#[test]
fn an_attention_ends_an_empty_loop() {
    let world = World::new("plain-attention");
    let mut s = world.session();
    let task = os::task::current();
    let ringer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        task.interrupt(os::task::InterruptReason::Attention);
    });
    let mut sink = session::NullSink;
    let end = s.execute_batch("DECLARE @i bigint = 0; WHILE @i >= 0 SET @i = @i + 1", &mut sink);
    ringer.join().unwrap();
    os::task::current().clear_interrupt();
    assert_eq!(end, session::RequestEnd::Attention);
    assert_eq!(rows(&mut s, "SELECT 5"), ["5"]);
}
