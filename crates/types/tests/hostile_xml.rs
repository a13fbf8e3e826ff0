//! Hostile XQuery and XML: any text gives a tree of expressions or an error, and any value a result or an error, never a panic or a deep stack.

mod common;

use std::rc::Rc;

use common::Random;
use hardpan_types::xml::{Argument, Atom, External, Items, Method, Subject, Tree, compile};
use hardpan_types::{SqlResult, check_xml};

const METHODS: [Method; 6] =
    [Method::Value, Method::Query, Method::Exist, Method::Nodes, Method::Modify, Method::Pattern];

/// Parts of texts, meaningful and not.
const WORDS: &[&str] = &[
    "/",
    "//",
    "@",
    ".",
    "..",
    "*",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "=",
    "!=",
    "<=",
    "<<",
    ",",
    "|",
    "+",
    "-",
    " div ",
    " mod ",
    " idiv ",
    " and ",
    " or ",
    " eq ",
    " is ",
    "$x",
    "$",
    "for $x in ",
    "let $x := ",
    " return ",
    " where ",
    " order by ",
    " descending ",
    "some $x in ",
    "every $x in ",
    " satisfies ",
    "if (",
    ") then ",
    " else ",
    "a",
    "b",
    "p:a",
    "p:*",
    "*:a",
    "text()",
    "node()",
    "comment()",
    "last()",
    "position()",
    "count(",
    "sum(",
    "avg(",
    "min(",
    "max(",
    "string(",
    "number(",
    "concat(",
    "substring(",
    "distinct-values(",
    "data(",
    "not(",
    "local-name(",
    "round(",
    "empty(",
    "1",
    "-1",
    "0",
    "1.5",
    "1e400",
    "9223372036854775807",
    "99999999999999999999999999999999999999999",
    "\"t\"",
    "'t'",
    "\"",
    "'",
    "&lt;",
    "&#1114112;",
    "(:",
    ":)",
    "declare namespace p=\"u\"; ",
    "declare default element namespace \"d\"; ",
    "sql:variable(\"@v\")",
    "sql:column(\"c\")",
    "xs:int(",
    "xs:date(",
    " cast as xs:int ?",
    " instance of element()*",
    "<a b=\"{1}\">",
    "</a>",
    "<a/>",
    "<!--",
    "-->",
    "<?p",
    "?>",
    "<![CDATA[",
    "]]>",
    "element e {",
    "attribute f {",
    "text {",
    "child::",
    "descendant::",
    "self::",
    "parent::",
    "ancestor::",
    "insert ",
    " into ",
    " as first into ",
    " before ",
    "delete ",
    "replace value of ",
    " with ",
    "/a/b",
    "(/a/b)[1]",
    "[1]",
    "[@x = 1]",
    "é",
    "\u{1F600}",
    "\0",
    "\r\n",
];

const VALUES: &[&str] = &[
    "",
    " ",
    "<a/>",
    "<a x='1' y='a'>t<b>1</b><b>x</b><!--c--><?p d?></a>",
    "t<a><b><c/></b></a>u<a xmlns='d' xmlns:p='u' p:x='&lt;'><p:b/></a>",
];

fn type_of(external: &External) -> SqlResult<Items> {
    Ok(if external.is_column { Items::Node } else { Items::Unknown })
}

/// Compiles a text for each method, and evaluates it over each value; gives how many texts were taken.
fn try_text(text: &str) -> usize {
    let mut taken = 0;
    let left = std::cell::Cell::new(1u64 << 28);
    let room = |bytes: usize| {
        left.set(left.get().saturating_sub(bytes as u64 + 64));
        if left.get() == 0 { Err(hardpan_types::SqlError::new(701, &[&"test"])) } else { Ok(()) }
    };
    for method in METHODS {
        for is_node in [false, true] {
            let Ok(query) = compile(text, method, is_node, &mut type_of) else { continue };
            taken += 1;
            for value in VALUES {
                let tree = Rc::new(Tree::parse(value, false));
                let argument = |external: &External| match external.is_column {
                    true => Argument::Xml("<n/>t".to_string()),
                    false => Argument::Atom(Atom::Integer(1)),
                };
                let arguments: Vec<Argument> = query.externals.iter().map(argument).collect();
                let node = if is_node { tree.node_count() - 1 } else { 0 };
                let subject = Subject { tree, node, arguments: &arguments, room: &room };
                let changed = match method {
                    Method::Value => subject.value(&query).map(|_| None),
                    Method::Exist => subject.exist(&query).map(|_| None),
                    Method::Nodes | Method::Pattern => subject.nodes(&query).map(|_| None),
                    Method::Query => subject.query(&query).map(Some),
                    Method::Modify => subject.modify(&query).map(Some),
                };
                if let Ok(Some(xml)) = changed {
                    let units: Vec<u16> = xml.encode_utf16().collect();
                    if let Err(error) = check_xml(&units) {
                        // A comment or instruction takes the text that the expression has; a character may not stand in XML.
                        let is_of_text = text.contains("<!--") || text.contains("<?") || text.contains('\0');
                        assert!(is_of_text, "{text} of {value} made {xml}: {error:?}");
                    }
                }
            }
        }
    }
    taken
}

/// Texts of random parts; what is made of values is well-formed.
#[test]
fn any_text_is_compiled_or_refused() {
    let mut random = Random(7);
    let mut taken = 0;
    for _ in 0..20_000 {
        let parts = 1 + random.below(8) as usize;
        let text: String = (0..parts).map(|_| WORDS[random.below(WORDS.len() as u64) as usize]).collect();
        taken += try_text(&text);
    }
    assert!(taken > 1000, "some texts are valid: {taken}");
}

/// Valid texts with a part taken out, doubled or put elsewhere.
#[test]
fn changed_texts_are_compiled_or_refused() {
    let texts = [
        "declare namespace p=\"u\"; for $x in /a/b[@x = 1 and position() < 3], $y in //p:a let $z := $x/text() where count($z) > 0 order by $x descending return <o a=\"{$y}\">{data($x)} t <i/></o>",
        "insert (<a b=\"1\">{sql:variable(\"@v\")}</a>, attribute c {\"d\"}, sql:column(\"c\")) as first into (/a/b[2])[1]",
        "replace value of (/a/@x)[1] with (if (/a/b) then concat(\"a\", string((/a/b)[1])) else 1 + 2 * -3)",
        "every $x in //a satisfies some $y in $x/b satisfies substring($y, 1, 2) = \"t\" or xs:int($y) idiv 2 >= 1",
    ];
    let mut random = Random(11);
    let mut taken = 0;
    for _ in 0..4000 {
        let mut characters: Vec<char> = texts[random.below(texts.len() as u64) as usize].chars().collect();
        for _ in 0..=random.below(3) {
            let at = random.below(characters.len() as u64) as usize;
            let length = (1 + random.below(6) as usize).min(characters.len() - at);
            let part: Vec<char> = characters[at..at + length].to_vec();
            if random.below(2) == 0 {
                characters.drain(at..at + length);
            }
            if random.below(2) == 0 {
                let to = random.below(characters.len() as u64 + 1) as usize;
                characters.splice(to..to, part);
            }
            if characters.is_empty() {
                characters.push('a');
            }
        }
        taken += try_text(&characters.into_iter().collect::<String>());
    }
    assert!(taken > 100, "some texts are valid: {taken}");
}

/// A tree is read of any text.
#[test]
fn any_text_is_a_tree() {
    let parts = [
        "<",
        ">",
        "/",
        "a",
        "</a>",
        "<a>",
        "<a ",
        "x='",
        "'",
        "\"",
        "=",
        "&",
        ";",
        "&#x",
        "<!",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?",
        "?>",
        "xmlns:p='u' ",
        "p:",
        " ",
        "é",
        "<!DOCTYPE a [",
        "]>",
    ];
    let mut random = Random(13);
    for _ in 0..20_000 {
        let count = random.below(12) as usize;
        let text: String = (0..count).map(|_| parts[random.below(parts.len() as u64) as usize]).collect();
        let tree = Tree::parse(&text, random.below(2) == 0);
        for at in 0..tree.node_count() {
            assert!(tree.node(at).end > at && tree.node(at).end <= tree.node_count(), "{text}");
            let _ = tree.value(at);
        }
    }
}

/// A quarter of the stack that a worker has is enough for the deepest texts.
#[test]
fn deep_texts_need_no_deep_stack() {
    let run = || {
        for (open, inner, close) in [
            ("(", "1", ")"),
            ("<a>{", "1", "}</a>"),
            ("/a[", "1", "]"),
            ("not(", "1=1", ")"),
            ("if (1=1) then ", "1", " else 1"),
            ("-(", "1", ")"),
            ("for $x in ", "1", " return 1"),
        ] {
            for depth in [10, 19, 20, 38, 39, 1000, 100_000] {
                try_text(&format!("{}{inner}{}", open.repeat(depth), close.repeat(depth)));
            }
        }
        let chain = format!("1{}", " + 1".repeat(149));
        assert!(try_text(&chain) > 0);
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread");
    thread.join().expect("no overflow");
}
