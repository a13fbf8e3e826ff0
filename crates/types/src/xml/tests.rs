//! XQuery over values: what the methods give, and which texts are refused.

use std::rc::Rc;

use super::{Argument, Atom, External, Items, Method, Subject, Tree, compile};
use crate::{SqlError, SqlResult};

fn no_argument(_: &External) -> SqlResult<Items> {
    Ok(Items::Unknown)
}

fn run(xml: &str, method: Method, text: &str, arguments: &[Argument]) -> Result<String, i32> {
    let number = |error: SqlError| error.number;
    let query = compile(text, method, false, &mut no_argument).map_err(number)?;
    let room = |_: usize| Ok(());
    let subject = Subject { tree: Rc::new(Tree::parse(xml, false)), node: 0, arguments, room: &room };
    match method {
        Method::Value => {
            let value = subject.value(&query).map_err(number)?;
            Ok(value.map_or_else(|| "NULL".to_string(), |atom| atom.text()))
        }
        Method::Query => subject.query(&query).map_err(number),
        Method::Exist => Ok(i32::from(subject.exist(&query).map_err(number)?).to_string()),
        Method::Nodes | Method::Pattern => Ok(subject.nodes(&query).map_err(number)?.len().to_string()),
        Method::Modify => subject.modify(&query).map_err(number),
    }
}

fn query(xml: &str, text: &str) -> Result<String, i32> {
    run(xml, Method::Query, text, &[])
}

fn value(xml: &str, text: &str) -> Result<String, i32> {
    run(xml, Method::Value, text, &[])
}

fn modify(xml: &str, text: &str) -> Result<String, i32> {
    run(xml, Method::Modify, text, &[])
}

const LETTERS: &str = "<r><a x='1'><b>a1</b><c><b>c1</b></c></a><b>r1</b><a x='2'><b>a2</b></a></r>";

#[test]
fn paths_give_nodes_in_document_order_once() {
    for (text, wanted) in [
        ("/r/a/b", "<b>a1</b><b>a2</b>"),
        ("//b", "<b>a1</b><b>c1</b><b>r1</b><b>a2</b>"),
        ("(//b)[3]", "<b>r1</b>"),
        ("//b[1]", "<b>a1</b><b>c1</b><b>r1</b><b>a2</b>"),
        ("/r/a[1]/b", "<b>a1</b>"),
        ("/r/a[@x=\"2\"]/b", "<b>a2</b>"),
        ("/r/a[@x=2]/b", "<b>a2</b>"),
        ("/r/a[last()]/b", "<b>a2</b>"),
        ("/r/a[position()=2]/b", "<b>a2</b>"),
        ("/r/a[c]/b", "<b>a1</b>"),
        ("/r/a[not(c)]/b", "<b>a2</b>"),
        ("/r/a[c/b=\"c1\" and @x=1]/b/text()", "a1"),
        ("/r/*[2]", "<b>r1</b>"),
        ("/r/a/c/..", "<a x=\"1\"><b>a1</b><c><b>c1</b></c></a>"),
        ("/r/a/../b", "<b>r1</b>"),
        ("/r/a/c//b/text()", "c1"),
        ("/r/child::a/descendant::b/text()", "a1c1a2"),
        ("/r/a/self::a[2]", ""),
        ("/r/a/parent::r/b", "<b>r1</b>"),
        ("/descendant-or-self::b[.=\"r1\"]", "<b>r1</b>"),
        ("/r/a/attribute::x = \"2\"", "true"),
        ("/r/*:b", "<b>r1</b>"),
        ("/node()/b", "<b>r1</b>"),
        ("r/b", "<b>r1</b>"),
        ("(/r/b, /r/a/c/b)", "<b>r1</b><b>c1</b>"),
        ("/r/a(: a comment (: in one :) :)/b[2]", ""),
        ("/r/nothing", ""),
    ] {
        assert_eq!(query(LETTERS, text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn values_are_of_one_item() {
    for (text, wanted) in [
        ("(/r/a/@x)[2]", "2"),
        ("(//b)[last()]", "a2"),
        ("/r[1]/b[1]", "r1"),
        (".", "a1c1r1a2"),
        ("count(//b)", "4"),
        ("sum(//@x)", "3"),
        ("avg(//@x)", "1.5"),
        ("max(//@x)", "2"),
        ("min(//b)", "a1"),
        ("string((/r/b)[1])", "r1"),
        ("concat((/r/b)[1], \"-\", string((//@x)[1]))", "r1-1"),
        ("substring((/r/b)[1], 2)", "1"),
        ("substring(\"12345\", 1.5, 2.6)", "234"),
        ("string-length((/r/b)[1])", "2"),
        ("upper-case((/r/b)[1])", "R1"),
        ("local-name((/r/*)[1])", "a"),
        ("namespace-uri((/r/*)[1])", ""),
        ("contains((/r/b)[1], \"r\")", "true"),
        ("(/r/a/@x)[1] + 1", "2"),
        ("7 idiv 2", "3"),
        ("7 div 2", "3.5"),
        ("-(3 - 5)", "2"),
        ("xs:int(\"12\") * 2", "24"),
        ("(\"12\" cast as xs:int ?) + 1", "13"),
        ("xs:int(\"x\")", "NULL"),
        ("number(\"x\")", "NaN"),
        ("if (/r/b) then \"yes\" else \"no\"", "yes"),
        ("every $a in /r/a satisfies $a/b", "true"),
        ("some $a in /r/a satisfies $a/c", "true"),
        ("(distinct-values(//b))[2]", "c1"),
        ("empty(/r/z)", "true"),
        ("(/r/z)[1]", "NULL"),
        ("round(2.5)", "3"),
        ("floor(-2.5)", "-3"),
        ("ceiling(2.1)", "3"),
        ("(/r/b)[1] instance of element()", "true"),
        ("(/r/a)[1] << (/r/b)[1]", "true"),
        ("1 to 2", "9335"),
    ] {
        let found = value(LETTERS, text).unwrap_or_else(|number| number.to_string());
        assert_eq!(found, wanted, "{text}");
    }
}

#[test]
fn the_static_type_decides_what_is_refused() {
    for (method, text, number) in [
        (Method::Value, "/r/b", 2389),
        (Method::Value, "/r/b[1]", 2389),
        (Method::Value, "/r/a[@x=\"1\"]", 2389),
        (Method::Value, "//@x", 2389),
        (Method::Value, "for $i in /r/a return \"x\"", 2389),
        (Method::Value, "@x", 2390),
        (Method::Value, "<a/>", 2373),
        (Method::Query, "/r/a/@x", 2396),
        (Method::Query, "/r/a[b eq 1]", 2389),
        (Method::Query, "string(/r/a)", 2389),
        (Method::Query, "/r/b + 1", 2389),
        (Method::Query, "/r/a[\"a\"=1]", 2234),
        (Method::Query, "/r/a[\"a\"]", 2203),
        (Method::Query, "if (1) then 2 else 3", 2204),
        (Method::Query, "(/r/a, 1)", 2210),
        (Method::Query, "position()", 2371),
        (Method::Query, "starts-with(\"a\", \"b\")", 2395),
        (Method::Query, "contains(\"a\")", 2236),
        (Method::Query, "count(1, 2)", 2238),
        (Method::Query, "$x", 2227),
        (Method::Query, "p:a", 2229),
        (Method::Query, "/r/", 9341),
        (Method::Query, "/r[", 2209),
        (Method::Query, "/r/a b", 2209),
        (Method::Query, "/r/a[1", 9303),
        (Method::Query, "for $i at $p in /r return $i", 9335),
        (Method::Query, "for $i /r return $i", 2205),
        (Method::Query, "for $i in /r", 9332),
        (Method::Query, "/r/ancestor::a", 9335),
        (Method::Query, "/r/nowhere::a", 2392),
        (Method::Query, "/r/a | /r/b", 9335),
        (Method::Query, " ", 6306),
        (Method::Query, "declare namespace p=u; 1", 2225),
        (Method::Query, "declare namespace p=\"u\" 1", 9327),
        (Method::Query, "<a></b>", 2323),
        (Method::Query, "<a>", 2267),
        (Method::Query, "<a>}</a>", 9324),
        (Method::Query, "element {\"a\"} {1}", 9315),
        (Method::Query, "comment {\"a\"}", 9326),
        (Method::Query, "\"a", 2274),
        (Method::Query, "\"&é\"", 2282),
        (Method::Query, "<a>&nbsp;</a>", 2282),
        (Method::Nodes, "1", 2374),
        (Method::Nodes, "<a/>", 2373),
        (Method::Modify, "/r", 6305),
        (Method::Modify, "(", 2209),
        (Method::Modify, "insert <b/> into /r/a", 2226),
        (Method::Modify, "insert \"s\" into (/r)[1]", 2207),
        (Method::Modify, "insert attribute n {1} before (/r)[1]", 2258),
        (Method::Modify, "insert <b/> into (/r/text())[1]", 2240),
        (Method::Modify, "insert <b/> before /", 2249),
        (Method::Modify, "insert <b/> (/r)[1]", 2248),
        (Method::Modify, "replace value of /r/a/text() with 1", 2337),
        (Method::Modify, "replace value of (/r/a)[1] with 1", 2356),
        (Method::Modify, "replace value of (/r/text())[1] with <b/>", 9310),
        (Method::Modify, "replace value of (/r/text())[1] 1", 2205),
        (Method::Modify, "delete .", 2264),
    ] {
        assert_eq!(run("<r/>", method, text, &[]), Err(number), "{text}");
    }
}

#[test]
fn too_complex_texts_are_refused() {
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(query("<r/>", &deep), Err(2363));
    assert_eq!(query("<r/>", &format!("1{}", " + 1".repeat(5000))), Err(2363));
    assert_eq!(query("<r/>", &"<a>".repeat(5000)), Err(2363));
    assert_eq!(query("<r/>", &format!("1{}", " or 1=1".repeat(2000))).err(), Some(2204));
    assert_eq!(query("<r/>", &format!("1=1{}", " or 1=1".repeat(2000))).as_deref(), Ok("true"));
}

#[test]
fn namespaces_are_declared_in_the_prolog() {
    let xml = "<a xmlns='u' xmlns:p='v'><p:b p:x='1' y='2'>t</p:b></a>";
    for (text, wanted) in [
        ("/a", ""),
        ("declare namespace q=\"u\"; declare namespace p='v'; data(/q:a/p:b)", "t"),
        ("declare default element namespace \"u\"; declare namespace p=\"v\"; data((/a/p:b/@y)[1])", "2"),
        ("declare namespace p=\"v\"; data((//p:b/@p:x)[1])", "1"),
        ("declare namespace p=\"v\"; count(//p:*)", "1"),
        ("declare namespace p=\"v\"; //p:b", "<p:b xmlns:p=\"v\" p:x=\"1\" y=\"2\">t</p:b>"),
        ("declare default element namespace \"d\"; <b/>", "<b xmlns=\"d\"/>"),
    ] {
        let found = query(xml, text);
        assert_eq!(found.as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn for_let_where_order_and_return() {
    for (text, wanted) in [
        ("for $i in (1,2,3) return $i", "1 2 3"),
        ("for $i in (3,1,2) order by $i return $i", "1 2 3"),
        ("for $i in (3,1,2) order by $i descending return $i", "3 2 1"),
        ("for $a in /r/a order by $a/@x descending return string($a/@x)", "2 1"),
        ("for $a in /r/a where $a/c return $a/b", "<b>a1</b>"),
        (
            "for $a in /r/a let $b := $a/b return <o n=\"{$a/@x}\">{count($b)}</o>",
            "<o n=\"1\">1</o><o n=\"2\">1</o>",
        ),
        ("for $a in (1,2), $b in (3,4) return $a * $b", "3 4 6 8"),
        ("<x>{for $b in //b return <y>{string($b)}</y>}</x>", "<x><y>a1</y><y>c1</y><y>r1</y><y>a2</y></x>"),
        ("let $i := (1,2) return count($i)", "2"),
    ] {
        assert_eq!(query(LETTERS, text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn constructors_make_elements() {
    for (text, wanted) in [
        ("<o/>", "<o/>"),
        ("<o a=\"{1+1}{{}}\" b='x'> t {{ }} {1,2} </o>", "<o a=\"2{}\" b=\"x\"> t { } 1 2</o>"),
        ("<o> <p/> {(/r/b)[1]} </o>", "<o><p/><b>r1</b></o>"),
        ("element o { attribute a { 1 }, text { \"t<\" }, <p/> }", "<o a=\"1\">t&lt;<p/></o>"),
        ("<o>{(/r/a/@x)[1]}<![CDATA[<]]>&lt;</o>", "<o x=\"1\">&lt;&lt;</o>"),
        ("<!-- c -->", "<!-- c -->"),
        ("<?p d?>", "<?p d?>"),
        ("<o xmlns=\"u\"><p/></o>", "<o xmlns=\"u\"><p/></o>"),
        ("(<o><p>1</p></o>)/p", "<p>1</p>"),
    ] {
        assert_eq!(query(LETTERS, text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn values_change() {
    for (xml, text, wanted) in [
        ("<r><b>7</b></r>", "insert <c/> into (/r)[1]", "<r><b>7</b><c/></r>"),
        ("<r><b>7</b></r>", "insert <c/> as first into (/r)[1]", "<r><c/><b>7</b></r>"),
        ("<r><b>7</b></r>", "insert (<c/>, <d/>) before (/r/b)[1]", "<r><c/><d/><b>7</b></r>"),
        ("<r><b>7</b></r>", "insert /r/b/text() into (/r)[1]", "<r><b>7</b>7</r>"),
        ("<r/>", "insert <b/> after (/r)[1]", "<r/><b/>"),
        ("<r/>", "insert text {\"a<\"} into (/r)[1]", "<r>a&lt;</r>"),
        ("<r b='1'><c/></r>", "insert /r/@b into (/r/c)[1]", "<r b=\"1\"><c b=\"1\"/></r>"),
        (
            "<a m='1' n='2' o='3'/>",
            "insert (attribute z {9}, attribute y {8}) into (/a)[1]",
            "<a m=\"1\" z=\"9\" n=\"2\" y=\"8\" o=\"3\"/>",
        ),
        ("<r><a>1</a><a>2</a></r>", "delete /r/a[.=\"1\"]", "<r><a>2</a></r>"),
        ("<r x='1' y='2'/>", "delete /r/@x", "<r y=\"2\"/>"),
        ("<r/>", "delete /r", ""),
        ("<r><a>1</a></r>", "replace value of (/r/a/text())[1] with \"2\"", "<r><a>2</a></r>"),
        ("<r><a>1</a></r>", "replace value of (/r/a/text())[1] with \"\"", "<r><a/></r>"),
        ("<r x='1'/>", "replace value of (/r/@x)[1] with 1 + 1", "<r x=\"2\"/>"),
        ("<r>  <a></a> </r>", "delete /nothing", "<r><a/></r>"),
        (
            "<r xmlns='u'/>",
            "declare namespace u=\"u\"; insert <b/> into (/u:r)[1]",
            "<r xmlns=\"u\"><b xmlns=\"\"/></r>",
        ),
    ] {
        assert_eq!(modify(xml, text).as_deref(), Ok(wanted), "{text}");
    }
    assert_eq!(modify("<r n='1'/>", "insert attribute n {2} into (/r)[1]"), Err(6308));
}

#[test]
fn arguments_have_their_places() {
    let arguments = [Argument::Atom(Atom::Integer(2)), Argument::Xml("<n/>t".to_string()), Argument::Nothing];
    let found = run(LETTERS, Method::Value, "(/r/a[@x = sql:variable(\"@i\")]/b)[1]", &arguments);
    assert_eq!(found.as_deref(), Ok("a2"));
    let text = "insert sql:column(\"c\") into (/r/a[@x = sql:variable(\"@i\")])[1]";
    let arguments = [arguments[1].clone(), arguments[0].clone()];
    assert_eq!(
        run("<r><a x='2'/></r>", Method::Modify, text, &arguments).as_deref(),
        Ok("<r><a x=\"2\"><n/>t</a></r>")
    );
}

#[test]
fn patterns_of_openxml_are_lenient() {
    for (text, wanted) in [
        ("/r/a[contains(b, 'a')]", "2"),
        ("/r/a[starts-with(@x, '1')]", "1"),
        ("/r/a | /r/b | /r/a", "3"),
        ("//*[name()='b']", "4"),
        ("/r/a[normalize-space(' 1  2 ')='1 2']", "2"),
        ("/r/a[@x = 1 or 'x' = 2]", "1"),
        ("@x", "0"),
    ] {
        assert_eq!(run(LETTERS, Method::Pattern, text, &[]).as_deref(), Ok(wanted), "{text}");
    }
    assert_eq!(run(LETTERS, Method::Pattern, "/r[", &[]), Err(2209));
}

#[test]
fn what_grows_asks_for_its_room() {
    let xml = format!("<r>{}</r>", "<a/>".repeat(1000));
    let query =
        compile("for $a in //a, $b in //a return $b", Method::Query, false, &mut no_argument).unwrap();
    let left = std::cell::Cell::new(1 << 20);
    let room = |bytes: usize| match left.get() < bytes {
        true => Err(SqlError::new(701, &[&"default"])),
        false => {
            left.set(left.get() - bytes);
            Ok(())
        }
    };
    let subject = Subject { tree: Rc::new(Tree::parse(&xml, false)), node: 0, arguments: &[], room: &room };
    assert_eq!(subject.query(&query).map_err(|error| error.number), Err(701));
}
