//! Collations: order, equality, keys, hashes, LIKE.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::cmp::Ordering;
use std::hash::Hasher;

use common::{Random, d, n, s};
use hardpan_types::collation::LikePattern;
use hardpan_types::{Collation, Value, compare, hash_value, is_equal, sort_compare};

fn collation(name: &str) -> Collation {
    Collation::by_name(name).expect("a known collation")
}

fn key(value: &Value, collation: Collation) -> Vec<u8> {
    let mut out = Vec::new();
    collation.key(value, &mut out);
    out
}

fn hash(value: &Value, collation: Collation) -> u64 {
    let mut state = std::hash::DefaultHasher::new();
    hash_value(value, collation, &mut state);
    state.finish()
}

#[test]
fn the_default_collation_ignores_case_and_trailing_blanks_but_not_accents() {
    let default = Collation::DEFAULT;
    assert_eq!(default.name(), "SQL_Latin1_General_CP1_CI_AS");
    for make in [s as fn(&str) -> Value, n] {
        let equal = |a: &str, b: &str| is_equal(&make(a), &make(b), default) == Some(true);
        assert!(equal("ABC", "abc"));
        assert!(equal("abc", "abc   "));
        assert!(equal("", "  "));
        assert!(equal("\u{c9}t\u{e9}", "\u{e9}T\u{c9}"));
        assert!(!equal("e", "\u{e9}"));
        assert!(!equal(" a", "a"));
        assert!(!equal("a b", "ab"));
    }
    assert_eq!(compare(&s("a"), &Value::Null, default), None);
    assert!(!is_equal(&s("a"), &n("A"), collation("Latin1_General_CS_AS")).expect("not NULL"));
    assert!(is_equal(&s("a"), &n("A"), default).expect("not NULL"));
}

#[test]
fn hyphens_count_in_sql_order_and_are_passed_over_in_windows_order() {
    // The documented difference of SQL and Windows collations for varchar: 'a-c' and 'ab'.
    let sql = Collation::DEFAULT;
    let windows = collation("Latin1_General_CI_AS");
    assert_eq!(compare(&s("a-c"), &s("ab"), sql), Some(Ordering::Less));
    assert_eq!(compare(&s("a-c"), &s("ab"), windows), Some(Ordering::Greater));
    assert_eq!(compare(&n("a-c"), &n("ab"), sql), Some(Ordering::Greater));
    // Word sort: coop < co-op < cork.
    assert_eq!(compare(&n("coop"), &n("co-op"), sql), Some(Ordering::Less));
    assert_eq!(compare(&n("co-op"), &n("cork"), sql), Some(Ordering::Less));
    assert_eq!(is_equal(&n("coop"), &n("co-op"), sql), Some(false));
}

#[test]
fn punctuation_digits_letters_sort_in_that_order() {
    for make in [s as fn(&str) -> Value, n] {
        let order = ["!", "#", "0", "1", "10", "2", "a", "\u{e1}", "B", "c", "Z"];
        for pair in order.windows(2) {
            let found = compare(&make(pair[0]), &make(pair[1]), Collation::DEFAULT);
            assert_eq!(found, Some(Ordering::Less), "{pair:?}");
        }
    }
}

#[test]
fn sensitivities() {
    let cases = [
        // (collation, left, right, equal)
        ("Latin1_General_CS_AS", "a", "A", false),
        ("Latin1_General_CI_AI", "Resume", "r\u{e9}sum\u{e9}", true),
        ("Latin1_General_CS_AI", "Resume", "r\u{e9}sum\u{e9}", false),
        ("Latin1_General_CI_AS", "stra\u{df}e", "STRASSE", true),
        ("Latin1_General_CI_AS", "\u{c6}on", "aeon", true),
        ("Latin1_General_CI_AS", "e\u{301}", "\u{e9}", true),
        ("Latin1_General_CI_AS", "\u{30a2}", "\u{3042}", true),
        ("Latin1_General_CI_AS_KS", "\u{30a2}", "\u{3042}", false),
        ("Latin1_General_CI_AS", "\u{ff21}", "a", true),
        ("Latin1_General_CI_AS_WS", "\u{ff21}", "a", false),
        ("Latin1_General_CI_AS", "\u{416}", "\u{436}", true),
        ("Latin1_General_CI_AS", "\u{3a9}", "\u{3c9}", true),
        ("Latin1_General_BIN2", "a", "A", false),
        ("Latin1_General_BIN", "a", "a  ", true),
    ];
    for (name, left, right, equal) in cases {
        assert_eq!(is_equal(&n(left), &n(right), collation(name)), Some(equal), "{name} {left} {right}");
    }
    let upper_first = collation("SQL_Latin1_General_CP1_CS_AS");
    assert_eq!(compare(&s("A"), &s("a"), upper_first), Some(Ordering::Less));
    assert_eq!(compare(&s("a"), &s("B"), upper_first), Some(Ordering::Less));
    assert_eq!(compare(&n("a"), &n("A"), collation("Latin1_General_CS_AS")), Some(Ordering::Less));
    assert_eq!(
        is_equal(&s("resume"), &s("R\u{e9}sum\u{e9}"), collation("SQL_Latin1_General_CP1_CI_AI")),
        Some(true)
    );
}

#[test]
fn shorter_strings_are_filled_with_blanks() {
    // A control character is below a blank: 'a' + tab comes before 'a'.
    for collation in [Collation::DEFAULT, Collation::BIN2] {
        assert_eq!(compare(&s("a\t"), &s("a"), collation), Some(Ordering::Less));
        assert_eq!(compare(&s("a  \t"), &s("a"), collation), Some(Ordering::Less));
        assert_eq!(compare(&s("a b"), &s("a"), collation), Some(Ordering::Greater));
    }
}

#[test]
fn keys_order_and_hashes_agree_with_comparison() {
    let mut random = Random(11);
    let alphabet: Vec<char> =
        "  aAbBz0-'!\t\u{1}\u{e9}\u{c9}\u{df}s\u{e6}\u{ff}\u{7f}\u{20ac}~_".chars().collect();
    let wide: Vec<char> = "\u{301}\u{436}\u{416}\u{4e00}\u{ff21}\u{30a2}\u{ffee}\u{2010}"
        .chars()
        .chain(alphabet.clone())
        .collect();
    for info in hardpan_types::collation::all() {
        let collation = collation(info.name);
        for _ in 0..3000 {
            let mut word = |letters: &[char]| -> String {
                (0..random.below(6)).map(|_| letters[random.below(letters.len() as u64) as usize]).collect()
            };
            let pairs = [(s(&word(&alphabet)), s(&word(&alphabet))), (n(&word(&wide)), n(&word(&wide)))];
            for (left, right) in pairs {
                agree(&left, &right, collation, info.name);
                agree(&left, &Value::Null, collation, info.name);
            }
        }
    }
}

/// Long strings are compared many characters at a time: equal ones, equal ones except for case, and blanks at the end.
#[test]
fn keys_of_long_strings_order_as_they_compare() {
    let mut random = Random(29);
    let narrow: Vec<char> = "  aAzZ@[`{09-'\t\u{1}\u{e9}\u{c9}\u{df}\u{7f}".chars().collect();
    let wide: Vec<char> =
        "\u{301}\u{300}\u{416}\u{436}\u{ff21}\u{ff41}\u{141}\u{161}".chars().chain(narrow.clone()).collect();
    for info in hardpan_types::collation::all() {
        let collation = collation(info.name);
        let mut equals = 0;
        for round in 0..4000 {
            let letters: &[char] = match round % 3 {
                0 => &['a', 'B', '7', ' '],
                1 => &narrow,
                _ => &wide,
            };
            let left: Vec<char> =
                (0..random.below(28)).map(|_| letters[random.below(letters.len() as u64) as usize]).collect();
            let mut right = left.clone();
            if random.below(3) == 0 {
                right.iter_mut().for_each(|c| *c = c.to_lowercase().next().unwrap_or(*c));
            }
            for _ in 0..random.below(3) {
                let letter = letters[random.below(letters.len() as u64) as usize];
                match random.below(right.len() as u64 + 1) as usize {
                    at if at < right.len() => right[at] = letter,
                    at => right.insert(at, letter),
                }
            }
            right.extend(std::iter::repeat_n(' ', random.below(3) as usize * random.below(12) as usize));
            let text = |chars: &[char]| chars.iter().collect::<String>();
            for make in [s as fn(&str) -> Value, n] {
                let (left, right) = (make(&text(&left)), make(&text(&right)));
                agree(&left, &right, collation, info.name);
                equals += u32::from(is_equal(&left, &right, collation) == Some(true));
            }
        }
        assert!((1000..7000).contains(&equals), "{}: {equals} of 8000 are equal", info.name);
    }
}

fn agree(left: &Value, right: &Value, collation: Collation, what: &str) {
    let order = sort_compare(left, right, collation);
    let (a, b) = (key(left, collation), key(right, collation));
    assert_eq!(a.cmp(&b), order, "{what}: {left:?} {right:?} {a:02x?} {b:02x?}");
    assert_eq!(sort_compare(right, left, collation), order.reverse(), "{what}: {left:?} {right:?}");
    if order.is_eq() {
        assert_eq!(hash(left, collation), hash(right, collation), "{what}: {left:?} {right:?}");
    } else {
        assert!(!a.starts_with(&b) && !b.starts_with(&a), "a key is a prefix of another: {left:?} {right:?}");
    }
}

#[test]
fn keys_of_other_types_agree_with_comparison() {
    let mut random = Random(5);
    for _ in 0..3000 {
        let bits = random.next();
        let more = random.next() >> random.below(64);
        let pairs = [
            (Value::Int(bits as i32), Value::Int(more as i32)),
            (Value::BigInt(bits as i64), Value::BigInt(more as i64)),
            (Value::SmallInt(bits as i16), Value::SmallInt(more as i16)),
            (Value::TinyInt(bits as u8), Value::TinyInt(more as u8)),
            (Value::Money(bits as i64), Value::Money(-(more as i64 >> 1))),
            (Value::Float(bits as i64 as f64), Value::Float(-(more as f64))),
            (Value::Real(bits as i32 as f32), Value::Real(more as f32)),
            (
                Value::binary(&bits.to_be_bytes()[..(bits % 9) as usize]),
                Value::binary(&more.to_be_bytes()[(more % 9) as usize..]),
            ),
        ];
        for (left, right) in pairs {
            agree(&left, &right, Collation::DEFAULT, "other types");
        }
        let decimal = |mantissa: i128, scale: u64| {
            Value::Decimal(hardpan_types::Decimal::new(mantissa, 38, scale as u8))
        };
        let left = decimal(random.digits(20) - random.digits(20), random.below(12));
        let right = decimal(random.digits(20) - random.digits(20), random.below(12));
        agree(&left, &right, Collation::DEFAULT, "decimals");
    }
    for (left, right) in
        [("1.0", "1"), ("0.00", "0"), ("-1.50", "-1.5"), ("100", "100.000"), ("0.001", "0.0010")]
    {
        agree(&d(left), &d(right), Collation::DEFAULT, "decimals of several scales");
    }
    agree(&Value::Float(0.0), &Value::Float(-0.0), Collation::DEFAULT, "zeros");
    // Binary strings compare as if filled with zero bytes.
    assert_eq!(is_equal(&Value::binary(&[1]), &Value::binary(&[1, 0]), Collation::DEFAULT), Some(true));
}

#[test]
fn numbers_of_several_types_compare_and_hash_as_numbers() {
    let ones = [
        Value::Bit(true),
        Value::TinyInt(1),
        Value::Int(1),
        Value::BigInt(1),
        d("1.00"),
        Value::Money(10_000),
        Value::Float(1.0),
    ];
    for left in &ones {
        for right in &ones {
            assert_eq!(is_equal(left, right, Collation::DEFAULT), Some(true), "{left:?} {right:?}");
            assert_eq!(hash(left, Collation::DEFAULT), hash(right, Collation::DEFAULT), "{left:?} {right:?}");
        }
    }
    assert_eq!(compare(&d("1.5"), &Value::Int(1), Collation::DEFAULT), Some(Ordering::Greater));
    assert_eq!(compare(&Value::Int(1), &Value::Float(1.5), Collation::DEFAULT), Some(Ordering::Less));
}

#[test]
fn guids_compare_by_their_last_six_bytes_first() {
    let guid = |text: &str| Value::Guid(hardpan_types::guid::parse(text).expect("a guid"));
    let small = guid("FFFFFFFF-FFFF-FFFF-FFFF-000000000001");
    let large = guid("00000000-0000-0000-0000-000000000002");
    agree(&small, &large, Collation::DEFAULT, "guids");
    assert_eq!(compare(&small, &large, Collation::DEFAULT), Some(Ordering::Less));
}

#[test]
fn like_patterns() {
    let cases = [
        // (text, pattern, matches)
        ("abc", "abc", true),
        ("ABC", "abc", true),
        ("abc", "a%", true),
        ("abc", "%c", true),
        ("abc", "_b_", true),
        ("abc", "_b", false),
        ("dd3", "dd[1-8]", true),
        ("dd9", "dd[1-8]", false),
        ("cd", "[^a]d", true),
        ("ad", "[^a]d", false),
        ("50%", "50[%]", true),
        ("500", "50[%]", false),
        ("a-c", "a[a-]c", true),
        ("", "%", true),
        ("", "_", false),
        ("abcabc", "%bc", true),
        ("aXbXc", "a%b%c", true),
        ("abc", "[", false),
        ("D", "[a-f]", true),
        ("\u{e9}", "e", false),
    ];
    for make in [s as fn(&str) -> Value, n] {
        for (text, pattern, expected) in cases {
            let found = Collation::DEFAULT.like(&make(text), &make(pattern), None);
            assert_eq!(found, Some(expected), "{text:?} LIKE {pattern:?}");
        }
        let escaped = |text: &str, pattern: &str| {
            Collation::DEFAULT.like(&make(text), &make(pattern), Some(u16::from(b'!'))).expect("not NULL")
        };
        assert!(escaped("50%", "50!%"));
        assert!(!escaped("500", "50!%"));
        assert!(escaped("a_b", "a!_b"));
    }
    // Trailing blanks of the text: ignored for varchar, significant for nvarchar.
    assert_eq!(Collation::DEFAULT.like(&s("abc  "), &s("abc"), None), Some(true));
    assert_eq!(Collation::DEFAULT.like(&n("abc  "), &n("abc"), None), Some(false));
    assert_eq!(Collation::DEFAULT.like(&s("abc"), &s("abc "), None), Some(false));
    assert_eq!(Collation::DEFAULT.like(&Value::Null, &s("%"), None), None);
    assert_eq!(collation("Latin1_General_CS_AS").like(&s("ABC"), &s("abc"), None), Some(false));
}

/// Recursion over every way to split: slow and obvious.
fn naive(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|skip| naive(&text[skip..], rest)),
        Some(('_', rest)) => text.split_first().is_some_and(|(_, text)| naive(text, rest)),
        Some((c, rest)) => {
            text.split_first().is_some_and(|(first, text)| first.eq_ignore_ascii_case(c) && naive(text, rest))
        }
    }
}

#[test]
fn like_agrees_with_a_naive_matcher() {
    let mut random = Random(3);
    for _ in 0..20_000 {
        let mut word = |letters: &[u8], most: u64| -> Vec<char> {
            (0..random.below(most))
                .map(|_| char::from(letters[random.below(letters.len() as u64) as usize]))
                .collect()
        };
        let (text, pattern) = (word(b"aAb", 9), word(b"ab%%_", 7));
        let to_text = |chars: &[char]| chars.iter().collect::<String>();
        let expected = naive(&text, &pattern);
        let compiled = LikePattern::new(Collation::DEFAULT, &s(&to_text(&pattern)), None).expect("not NULL");
        assert_eq!(compiled.matches(&s(&to_text(&text))), Some(expected), "{text:?} LIKE {pattern:?}");
        assert_eq!(compiled.matches(&n(&to_text(&text))), Some(expected), "{text:?} LIKE {pattern:?}");
    }
}

#[test]
fn patindex_finds_the_first_place() {
    let find = |pattern: &str, text: &str| {
        LikePattern::new(Collation::DEFAULT, &s(pattern), None).and_then(|pattern| pattern.position(&s(text)))
    };
    assert_eq!(find("%bc%", "abcbc"), Some(2));
    assert_eq!(find("%[0-9]%", "abc7"), Some(4));
    assert_eq!(find("a%", "abc"), Some(1));
    assert_eq!(find("b%", "abc"), Some(0));
    assert_eq!(find("%c", "abc"), Some(3));
    assert_eq!(find("%z%", "abc"), Some(0));
}

#[test]
fn names_on_the_wire() {
    assert_eq!(Collation::DEFAULT.tds_bytes(), [0x09, 0x04, 0xD0, 0x00, 0x34]);
    let mut on_the_wire = std::collections::BTreeSet::new();
    for info in hardpan_types::collation::all() {
        let collation = collation(info.name);
        if !info.name.ends_with("_SC") {
            assert!(on_the_wire.insert(collation.tds_bytes()), "{} and another look alike", info.name);
        }
        assert_eq!(Collation::by_id(collation.id()), Some(collation));
    }
    assert!(Collation::DEFAULT.same_name("Order Details", "ORDER details "));
    assert!(!Collation::BIN2.same_name("a", "A"));
    assert_eq!(Collation::by_name("no_such_collation"), None);
}

/// Every text that matches `LIKE 'prefix%'` has a key that begins with the prefix's: a seek by it misses none.
#[test]
fn keys_of_texts_begin_with_the_key_of_their_prefix() {
    let tails = [
        "", " ", "  x", "\u{1}", "\t", "-", "'", "a", "Z", "9", "_", "é", "ß", "æ", "\u{301}", "\u{301}x",
        "-\u{301}", "  \u{1}", "ÿ", "\u{FF41}", "名", "\u{FFFF}",
    ];
    let prefixes =
        ["a", "Ab", "zZ9", "0", "ss", "AE", "oe", "th", "I", "co-op", "it's", "new york", "é", "-a", ""];
    let mut known = 0;
    for info in hardpan_types::collation::all() {
        let collation = Collation::by_name(info.name).unwrap();
        for prefix in prefixes {
            for make in [Value::varchar as fn(&str) -> Value, Value::nvarchar] {
                let mut begin = Vec::new();
                if !collation.prefix_key(&make(prefix), &mut begin) {
                    assert!(begin.is_empty());
                    continue;
                }
                known += 1;
                for text in [prefix.to_lowercase(), prefix.to_uppercase(), prefix.to_string()] {
                    for tail in tails {
                        let value = make(&format!("{text}{tail}"));
                        if collation.like(&value, &make(&format!("{prefix}%")), None) != Some(true) {
                            continue;
                        }
                        let mut key = Vec::new();
                        collation.key(&value, &mut key);
                        assert!(key.starts_with(&begin), "{}: {prefix:?} and {value:?}", info.name);
                    }
                }
            }
        }
    }
    assert!(known > 20, "the default collations know prefixes: {known}");
}
