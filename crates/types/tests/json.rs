//! JSON functions: the documented behaviours of lax and strict paths.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::number;
use hardpan_types::functions::json::{NewValue, is_json, json_modify, json_query, json_value};

const TEXT: &str = r#"{ "info": {"type": 1, "address": {"town": "Bristol", "x y": "q\u0041\n"}, "tags": ["Sport", "Water polo"]}, "n": null, "b": true, "e": 1.5e3 }"#;

#[test]
fn values_and_queries() {
    for (path, value, query) in [
        ("$", None, Some(TEXT.trim())),
        ("$.info.type", Some("1"), None),
        ("$.info.address.town", Some("Bristol"), None),
        (r#"$.info.address."x y""#, Some("qA\n"), None),
        ("$.info.tags", None, Some(r#"["Sport", "Water polo"]"#)),
        ("$.info.tags[1]", Some("Water polo"), None),
        ("$.info.tags[2]", None, None),
        ("$.n", None, None),
        ("$.b", Some("true"), None),
        ("$.e", Some("1.5e3"), None),
        ("lax $.none.deeper", None, None),
        ("$.Info.type", None, None),
    ] {
        assert_eq!(json_value(TEXT, path), Ok(value.map(str::to_owned)), "JSON_VALUE {path}");
        assert_eq!(json_query(TEXT, path), Ok(query.map(str::to_owned)), "JSON_QUERY {path}");
    }
    assert_eq!(number(json_value(TEXT, "strict $.none")), 13608);
    assert_eq!(number(json_value(TEXT, "strict $.info.tags")), 13623);
    assert_eq!(number(json_query(TEXT, "strict $.b")), 13624);
    for path in ["", "info", "$.", "$x", "$[a]", "$.a..b", "$.\"a"] {
        assert_eq!(number(json_value(TEXT, path)), 13607, "{path}");
    }
    for text in
        ["", "{", "{a:1}", "[1,]", "{\"a\" 1}", "[01]", "[1.]", "[\"\\x\"]", "[1] 2", "tru", "[\"a\nb\"]"]
    {
        assert_eq!(number(json_value(text, "$")), 13609, "{text}");
    }
}

#[test]
fn deep_nesting_is_refused_not_overflowed() {
    let deep = "[".repeat(100_000);
    assert_eq!(number(json_value(&deep, "$")), 13609);
    assert_eq!(is_json(&deep, None), Some(false));
    let allowed = format!("{}{}", "[".repeat(100), "]".repeat(100));
    assert_eq!(is_json(&allowed, None), Some(true));
}

#[test]
fn isjson() {
    assert_eq!(is_json("{}", None), Some(true));
    assert_eq!(is_json(" [1] ", None), Some(true));
    assert_eq!(is_json("1", None), Some(false));
    assert_eq!(is_json("1", Some("value")), Some(true));
    assert_eq!(is_json("\"a\"", Some("SCALAR")), Some(true));
    assert_eq!(is_json("[]", Some("OBJECT")), Some(false));
    assert_eq!(is_json("[]", Some("ARRAY")), Some(true));
    assert_eq!(is_json("[]", Some("NOTHING")), None);
}

#[test]
fn modify() {
    let info = r#"{"name":"John","skills":["C#","SQL"]}"#;
    let text = |path, value| json_modify(info, path, NewValue::Text(value)).expect("valid");
    assert_eq!(text("$.name", "Mike"), r#"{"name":"Mike","skills":["C#","SQL"]}"#);
    assert_eq!(text("$.surname", "Smith"), r#"{"name":"John","skills":["C#","SQL"],"surname":"Smith"}"#);
    assert_eq!(text("append $.skills", "Azure"), r#"{"name":"John","skills":["C#","SQL","Azure"]}"#);
    assert_eq!(text("append $.more", "x"), r#"{"name":"John","skills":["C#","SQL"],"more":["x"]}"#);
    assert_eq!(text("$.skills[0]", "a\"b"), r#"{"name":"John","skills":["a\"b","SQL"]}"#);
    let delete = |path| json_modify(info, path, NewValue::Null).expect("valid");
    assert_eq!(delete("$.name"), r#"{"skills":["C#","SQL"]}"#);
    assert_eq!(delete("$.skills"), r#"{"name":"John"}"#);
    assert_eq!(delete("strict $.name"), r#"{"name":null,"skills":["C#","SQL"]}"#);
    assert_eq!(delete("$.skills[0]"), r#"{"name":"John","skills":[null,"SQL"]}"#);
    assert_eq!(delete("$.none"), info);
    assert_eq!(json_modify("{\"a\":1}", "$.a", NewValue::Null).as_deref(), Ok("{}"));
    assert_eq!(
        json_modify(info, "$.n", NewValue::Raw("5")).as_deref(),
        Ok(r#"{"name":"John","skills":["C#","SQL"],"n":5}"#)
    );
    assert_eq!(number(json_modify(info, "strict $.none", NewValue::Text("x"))), 13608);
    assert_eq!(number(json_modify(info, "append strict $.name", NewValue::Text("x"))), 13611);
}

#[test]
fn broken_text_never_panics() {
    let mut random = common::Random(17);
    for _ in 0..20_000 {
        let mut bytes = TEXT.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = b"{}[]\",:\\u0a "[random.below(12) as usize];
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = json_modify(&text, "$.info.tags[0]", NewValue::Null);
        let _ = json_modify(&text, "$.info.address", NewValue::Null);
        let _ = json_value(&text, "$.info.address.\"x y\"");
    }
}
