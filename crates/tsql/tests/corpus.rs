//! The scripts of `tests/scripts`: each batch parses, prints and parses back to an equal tree; no damage to them
#![allow(clippy::unwrap_used, reason = "a test")]
//! makes the parser panic.

use hardpan_tsql::{ParseOptions, ast::Batch, format, parse_batch, split_go};

const SCRIPTS: [(&str, &str); 5] = [
    ("shop_schema", include_str!("scripts/shop_schema.sql")),
    ("modules", include_str!("scripts/modules.sql")),
    ("queries", include_str!("scripts/queries.sql")),
    ("batches", include_str!("scripts/batches.sql")),
    ("administration", include_str!("scripts/administration.sql")),
];

fn parse(text: &str) -> Result<Batch, Vec<hardpan_tsql::SyntaxError>> {
    parse_batch(text, &ParseOptions::default())
}

#[test]
fn every_batch_parses() {
    let mut failures = Vec::new();
    for (name, script) in SCRIPTS {
        for batch in split_go(script) {
            if let Err(errors) = parse(&batch.text) {
                for error in errors {
                    failures.push(format!("{name}.sql:{}: {error}", batch.line + error.line - 1));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn printing_is_a_fixpoint() {
    for (name, script) in SCRIPTS {
        for batch in split_go(script) {
            let tree = parse(&batch.text).expect("parses");
            let printed = format(&tree);
            let again = parse(&printed)
                .unwrap_or_else(|errors| panic!("{name}.sql:{}: {} in\n{printed}", batch.line, errors[0]));
            for (before, after) in tree.statements.iter().zip(&again.statements) {
                assert_eq!(before, after, "{name}.sql:{}: {}", batch.line, before.span.slice(&batch.text));
            }
            assert_eq!(tree, again, "{name}.sql:{}", batch.line);
            assert_eq!(printed, format(&again), "{name}.sql:{}", batch.line);
        }
    }
}

/// Prints and parses statement by statement, so that a failure shows only one statement.
fn check_fixpoint(text: &str, tree: &Batch) {
    let printed = format(tree);
    if parse(&printed).as_ref() == Ok(tree) {
        return;
    }
    for statement in &tree.statements {
        let alone = Batch { statements: vec![statement.clone()] };
        let printed = format(&alone);
        let again = parse(&printed);
        let source = statement.span.slice(text);
        assert_eq!(again.as_ref(), Ok(&alone), "\nfrom:  {source}\nprint: {printed}");
    }
    panic!("only together:\n{printed}");
}

#[test]
fn no_prefix_panics() {
    for (_, script) in SCRIPTS {
        for batch in split_go(script) {
            for end in (0..batch.text.len()).filter(|end| batch.text.is_char_boundary(*end)) {
                let _ = parse(&batch.text[..end]);
            }
        }
    }
}

#[test]
fn no_changed_byte_panics() {
    // A fixed generator: every run tries the same damage.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let alphabet: Vec<char> = " \n'\"[](){}.,;:@#$%&*+-/<=>!~^|\\\u{0}aN0x9_é".chars().collect();
    for (_, script) in SCRIPTS {
        for batch in split_go(script) {
            let chars: Vec<char> = batch.text.chars().collect();
            for _ in 0..200 {
                let mut damaged = chars.clone();
                for _ in 0..=random(3) {
                    let at = random(damaged.len());
                    match random(3) {
                        0 => damaged[at] = alphabet[random(alphabet.len())],
                        1 => {
                            damaged.remove(at);
                            damaged.push(' ');
                        }
                        _ => damaged.insert(at, alphabet[random(alphabet.len())]),
                    }
                }
                let text: String = damaged.into_iter().collect();
                if let Ok(tree) = parse(&text) {
                    check_fixpoint(&text, &tree);
                }
            }
        }
    }
}

#[test]
fn statements_know_their_text() {
    let text = "SELECT 1;\n  PRINT 'x'\nIF 1 = 1\n  SELECT a\n  FROM b";
    let batch = parse(text).expect("parses");
    let texts: Vec<(&str, u32)> =
        batch.statements.iter().map(|s| (s.span.slice(text), s.span.line)).collect();
    assert_eq!(texts, [("SELECT 1", 1), ("PRINT 'x'", 2), ("IF 1 = 1\n  SELECT a\n  FROM b", 3)]);
}
