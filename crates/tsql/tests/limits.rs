//! Deep and long inputs: error 191 or success, never a stack overflow, on a worker's stack of 512 KB.
#![allow(clippy::unwrap_used, reason = "a test")]

use hardpan_tsql::{ParseOptions, parse_batch};

/// Parses on a stack as small as a worker's; gives the first error number, 0 for success.
#[allow(clippy::disallowed_methods)] // a test needs a thread of a given stack size
fn parse_on_small_stack(text: String) -> i32 {
    std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(move || {
            let parsed = parse_batch(&text, &ParseOptions::default());
            // Copying, comparing and dropping recurse as well.
            assert_eq!(parsed.clone(), parsed);
            match parsed {
                Ok(_) => 0,
                Err(errors) => errors[0].number,
            }
        })
        .expect("a thread starts")
        .join()
        .expect("no overflow, no panic")
}

#[test]
fn deep_nesting_is_error_191() {
    let deep = 100_000;
    let nested = |before: &str, open: &str, inner: &str, close: &str| {
        format!("{before}{}{inner}{}", open.repeat(deep), close.repeat(deep))
    };
    for text in [
        nested("SELECT ", "(", "1", ")"),
        nested("SELECT ", "(", "", ""),
        nested("IF ", "(", "1 = 1", ") PRINT 1"),
        nested("IF ", "NOT ", "1 = 1 PRINT 1", ""),
        nested("SELECT ", "- ", "1", ""),
        nested("SELECT ", "~", "1", ""),
        nested("SELECT ", "f(", "1", ")"),
        nested("SELECT ", "CASE WHEN 1 = 1 THEN ", "1", " END"),
        nested("SELECT ", "CAST(", "1", " AS int)"),
        nested("SELECT ", "(SELECT ", "1", ")"),
        nested("SELECT * FROM ", "(", "t", ")"),
        nested("SELECT * FROM ", "(SELECT * FROM ", "t", ") AS t"),
        nested("SELECT 1 WHERE ", "EXISTS (SELECT 1 WHERE ", "1 = 1", ")"),
        nested("SELECT * FROM t ", "JOIN t ", "", " ON 1 = 1"),
        nested("", "BEGIN ", "PRINT 1", " END"),
        nested("", "BEGIN TRY ", "PRINT 1", " END TRY BEGIN CATCH END CATCH"),
        nested("", "IF 1 = 1 ", "PRINT 1", ""),
        nested("", "WHILE 1 = 1 ", "PRINT 1", ""),
        nested("", "(", "SELECT 1", ")"),
        nested("SELECT 1 UNION ", "(", "SELECT 1", ")"),
        nested("SELECT ", "{fn f(", "1", ")}"),
        nested("SELECT sum(x) ", "OVER (ORDER BY sum(x) ", "", ")"),
        nested("SELECT 1 GROUP BY ", "ROLLUP(", "a", ")"),
        nested("CREATE TABLE t (a int) WITH (", "x = ON (", "y = 1", ")"),
        format!("SELECT 1{}", " COLLATE x".repeat(deep)),
        format!("SELECT @x{}", ".m()".repeat(deep)),
        format!("SELECT * FROM t{}", " CROSS JOIN t".repeat(deep)),
    ] {
        let start = text[..text.len().min(40)].to_string();
        assert_eq!(parse_on_small_stack(text), 191, "{start}");
    }
}

#[test]
fn long_chains_are_flat() {
    let long = 100_000;
    for text in [
        format!("SELECT 1{}", " + 1".repeat(long)),
        format!("SELECT 'a'{}", " + 'a' + @b".repeat(long)),
        format!("SELECT 1{}", " * 2".repeat(long)),
        format!("IF 1 = 1{} PRINT 1", " AND 1 = 1".repeat(long)),
        format!("IF 1 = 1{} PRINT 1", " OR 1 = 1".repeat(long)),
        format!("IF 1 = 1 PRINT 1{}", " ELSE IF 1 = 1 PRINT 1".repeat(long)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(long)),
        format!("SELECT CASE{} END", " WHEN 1 = 1 THEN 1".repeat(long)),
        format!("INSERT t VALUES (1){}", ", (1)".repeat(long)),
        format!("SELECT * FROM t{}", " JOIN t ON 1 = 1".repeat(400)),
        "PRINT 1 ".repeat(long),
    ] {
        let start = text[..text.len().min(40)].to_string();
        assert_eq!(parse_on_small_stack(text), 0, "{start}");
    }
}

#[test]
fn ordinary_nesting_is_accepted() {
    let text = format!("SELECT {}x{}", "REPLACE(".repeat(100), ", 'a', 'b')".repeat(100));
    assert_eq!(parse_on_small_stack(text), 0);
    let text = format!("IF {}1 = 1{} PRINT 1", "(".repeat(150), " OR 2 = 2)".repeat(150));
    assert_eq!(parse_on_small_stack(text), 0);
}

#[test]
fn a_parse_is_given_up_when_its_caller_says_so() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    fn is_spent() -> bool {
        LOOKS.fetch_add(1, Ordering::Relaxed) > 500
    }
    let options = hardpan_tsql::ParseOptions::default();
    let texts = [
        "SELECT 1\n".repeat(100_000),
        format!("SELECT {}", vec!["a.b"; 1_000_000].join(",")),
        "x 'y' ".repeat(2_000_000),
        format!("BEGIN {} END", "IF 1 = 1 PRINT (1) ".repeat(50_000)),
    ];
    for text in texts {
        LOOKS.store(0, Ordering::Relaxed);
        let errors = hardpan_tsql::parse_batch_while(&text, &options, is_spent).expect_err("given up");
        let found: Vec<_> = errors.iter().map(|error| (error.number, error.severity, error.state)).collect();
        assert_eq!(found, [(701, 17, 123)]);
        assert!(LOOKS.load(Ordering::Relaxed) < 1_000, "at once");
    }
    assert!(hardpan_tsql::parse_batch_while("SELECT 1", &options, || false).is_ok());
}
