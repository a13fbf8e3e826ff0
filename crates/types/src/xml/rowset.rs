//! What OPENXML gives of a document: the nodes of a pattern, the text of a column, the metaproperties, and the rows of the edge table.

use std::rc::Rc;

use super::compile::Method;
use super::evaluator::Room;
use super::run::{Documents, Subject};
use super::scanner::{is_further, is_start};
use super::tree::{Kind, Tree};
use super::writer::{Edits, Writer};
use crate::{SqlResult, WideStr};

/// A row of the edge table.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// The number of the node.
    pub id: i64,
    /// That of its parent; none of the top.
    pub parent: Option<i64>,
    /// 1 element, 2 attribute, 3 text, 7 instruction, 8 comment.
    pub kind: i32,
    /// Name without prefix.
    pub local: String,
    /// Prefix.
    pub prefix: Option<String>,
    /// Namespace.
    pub uri: Option<String>,
    /// The number of the node before it under its parent.
    pub previous: Option<i64>,
    /// Of texts, comments and instructions.
    pub text: Option<String>,
}

/// The numbers of a document's nodes as OPENXML shows them, by the tree's own; and those of the texts of attributes.
struct Numbers {
    nodes: Vec<i64>,
    attribute_texts: Vec<Option<i64>>,
}

impl Numbers {
    /// The document element is 0, but takes a number; a text right behind its parent changes places with the node behind it; the texts of attributes
    /// come last.
    fn of(tree: &Tree) -> Numbers {
        let count = tree.node_count() as usize;
        let mut numbers = Numbers { nodes: vec![0; count], attribute_texts: vec![None; count] };
        let (mut next, mut last, mut waiting, mut has_top) = (1, 0u32, None, false);
        for at in 1..tree.node_count() {
            let node = tree.node(at);
            if node.kind == Kind::Text && last == node.parent && node.parent != 0 && waiting.is_none() {
                waiting = Some(at);
                continue;
            }
            let is_top = node.kind == Kind::Element && node.parent == 0 && !has_top;
            has_top |= is_top;
            numbers.nodes[at as usize] = if is_top { 0 } else { next };
            next += 1;
            last = at;
            if let Some(text) = waiting.take() {
                numbers.nodes[text as usize] = next;
                next += 1;
                last = text;
            }
        }
        if let Some(text) = waiting {
            numbers.nodes[text as usize] = next;
            next += 1;
        }
        for at in 1..tree.node_count() {
            if matches!(tree.node(at).kind, Kind::Attribute | Kind::Namespace) {
                numbers.attribute_texts[at as usize] = Some(next);
                next += 1;
            }
        }
        numbers
    }

    fn parent(&self, tree: &Tree, at: u32) -> Option<i64> {
        let parent = tree.node(at).parent;
        (parent != 0).then(|| self.nodes[parent as usize])
    }

    fn previous(&self, tree: &Tree, at: u32) -> Option<i64> {
        previous(tree, at).map(|before| self.nodes[before as usize])
    }
}

/// The node before it under its parent.
fn previous(tree: &Tree, at: u32) -> Option<u32> {
    if at == 0 || matches!(tree.node(at).kind, Kind::Attribute | Kind::Namespace) {
        return None;
    }
    let (mut before, mut child) = (None, tree.first_child(tree.node(at).parent));
    while child < at {
        before = Some(child);
        child = tree.node(child).end;
    }
    before
}

/// The edge table of nodes with all that is in them.
pub fn edges(tree: &Tree, nodes: &[u32], room: Room<'_>) -> SqlResult<Vec<Edge>> {
    let numbers = Numbers::of(tree);
    let mut rows = Vec::new();
    for first in nodes {
        // The node before each one under its parent, the innermost parent last.
        let mut before: Vec<(u32, Option<i64>)> = vec![(*first, numbers.previous(tree, *first))];
        for at in *first..tree.node(*first).end {
            let node = tree.node(at);
            if node.kind == Kind::Document {
                before = vec![(1, None)];
                continue;
            }
            if rows.len() % 1024 == 0 {
                room(1024 * size_of::<Edge>())?;
            }
            let is_aside = matches!(node.kind, Kind::Attribute | Kind::Namespace);
            let mut edge = Edge {
                id: numbers.nodes[at as usize],
                parent: numbers.parent(tree, at),
                kind: code(node.kind),
                ..Edge::default()
            };
            if !is_aside {
                before.truncate(depth_within(tree, *first, at) + 1);
                if let Some(level) = before.last_mut() {
                    edge.previous = level.1.replace(edge.id);
                }
                before.push((at, None));
            }
            named(tree, at, &mut edge);
            let text_id = numbers.attribute_texts[at as usize];
            let text = Edge {
                id: text_id.unwrap_or_default(),
                parent: Some(edge.id),
                kind: code(Kind::Text),
                local: "#text".to_string(),
                text: Some(tree.value(at).to_string()),
                ..Edge::default()
            };
            rows.push(edge);
            if text_id.is_some() {
                rows.push(text);
            }
        }
    }
    Ok(rows)
}

/// How many levels a node stands below another one of its ancestors, which may be the root.
fn depth_within(tree: &Tree, first: u32, at: u32) -> usize {
    let (mut depth, mut node) = (0, at);
    while node != first && tree.node(node).parent != 0 {
        (depth, node) = (depth + 1, tree.node(node).parent);
    }
    depth
}

fn code(kind: Kind) -> i32 {
    match kind {
        Kind::Document => 9,
        Kind::Element => 1,
        Kind::Attribute | Kind::Namespace => 2,
        Kind::Text => 3,
        Kind::Instruction => 7,
        Kind::Comment => 8,
    }
}

fn named(tree: &Tree, at: u32, edge: &mut Edge) {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
    match tree.node(at).kind {
        Kind::Element | Kind::Attribute => {
            let name = tree.name(at);
            edge.local.clone_from(&name.local);
            (edge.prefix, edge.uri) = (some(&name.prefix), some(&name.uri));
        }
        Kind::Namespace => {
            let prefix = &tree.name(at).local;
            edge.local = if prefix.is_empty() { "xmlns".to_string() } else { prefix.clone() };
            edge.prefix = Some("xmlns".to_string());
        }
        Kind::Instruction => {
            edge.local.clone_from(&tree.name(at).local);
            edge.text = Some(tree.value(at).to_string());
        }
        Kind::Text | Kind::Comment => {
            edge.local = if edge.kind == 3 { "#text" } else { "#comment" }.to_string();
            edge.text = Some(tree.value(at).to_string());
        }
        Kind::Document => {}
    }
}

/// A column of OPENXML ... WITH.
pub struct Column<'a> {
    /// Where its value is; none: by its name.
    pub pattern: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
    /// The declarations of namespaces.
    pub prolog: &'a str,
    /// 1: attributes, 2: elements, 8: `@mp:xmltext` leaves out what other columns read.
    pub flags: i64,
    /// The value is xml.
    pub is_xml: bool,
    /// The patterns of all columns.
    pub all: &'a [String],
}

impl Column<'_> {
    /// Its value in the row of a node.
    pub fn value(
        &self,
        documents: &mut Documents,
        (tree, node): (&Rc<Tree>, u32),
        room: Room<'_>,
    ) -> SqlResult<Option<String>> {
        if let Some(property) = self.pattern.and_then(|pattern| pattern.strip_prefix("@mp:")) {
            return match property {
                "xmltext" => self.whole(documents, (tree, node), room).map(Some),
                _ => Ok(property_of(tree, node, property)),
            };
        }
        let is_name = self.name.starts_with(is_start) && self.name.chars().all(is_further);
        if self.pattern.is_none() && !is_name {
            return Ok(None);
        }
        for pattern in patterns(self.pattern, self.name, self.flags) {
            if let Some(found) = first(documents, (tree, node), &format!("{}{pattern}", self.prolog), room)? {
                room(tree.value(found).len())?;
                return Ok(Some(match self.is_xml && tree.node(found).kind == Kind::Element {
                    true => written(tree, found, &Edits::default()),
                    false => tree.value(found).to_string(),
                }));
            }
        }
        Ok(None)
    }

    /// The node as XML, without what other columns read if the flags say so.
    fn whole(
        &self,
        documents: &mut Documents,
        (tree, node): (&Rc<Tree>, u32),
        room: Room<'_>,
    ) -> SqlResult<String> {
        let mut edits = Edits::default();
        if self.flags & 8 != 0 {
            for pattern in self.all {
                if let Some(read) =
                    first(documents, (tree, node), &format!("{}{pattern}", self.prolog), room)?
                    && read != node
                {
                    edits.nodes.entry(read).or_default().is_deleted = true;
                }
            }
        }
        room(tree.bytes())?;
        Ok(written(tree, node, &edits))
    }
}

/// The patterns by which a column is looked for, the first that finds something counts.
pub fn patterns(pattern: Option<&str>, name: &str, flags: i64) -> Vec<String> {
    match (pattern, flags & 3) {
        (Some(pattern), _) => vec![pattern.to_string()],
        (None, 2) => vec![name.to_string()],
        (None, 3) => vec![format!("@{name}"), name.to_string()],
        (None, _) => vec![format!("@{name}")],
    }
}

fn written(tree: &Tree, node: u32, edits: &Edits) -> String {
    let mut writer = Writer::default();
    writer.node(tree, node, edits);
    writer.out
}

/// The first node of a pattern.
fn first(
    documents: &mut Documents,
    (tree, node): (&Rc<Tree>, u32),
    pattern: &str,
    room: Room<'_>,
) -> SqlResult<Option<u32>> {
    let text = WideStr::from_text(pattern);
    let query = documents.query(&text, Method::Pattern, true, &mut |_| Ok(super::shape::Items::Unknown))?;
    let subject = Subject { tree: tree.clone(), node, arguments: &[], room };
    Ok(subject.nodes(&query)?.first().copied())
}

/// A metaproperty of a node.
fn property_of(tree: &Tree, node: u32, property: &str) -> Option<String> {
    let numbers = || Numbers::of(tree);
    let mut own = Edge::default();
    let is_parent = property.starts_with("parent");
    let of = if is_parent { tree.node(node).parent } else { node };
    if of == 0 {
        return None;
    }
    named(tree, of, &mut own);
    match property {
        "id" | "parentid" => Some(numbers().nodes[of as usize].to_string()),
        "prev" => numbers().previous(tree, node).map(|id| id.to_string()),
        "localname" | "parentlocalname" => Some(own.local),
        "prefix" | "parentprefix" => own.prefix,
        "namespaceuri" | "parentnamespaceuri" => own.uri,
        _ => None,
    }
}

/// Is it the name of a metaproperty?
pub fn is_property(name: &str) -> bool {
    matches!(
        name,
        "id" | "parentid"
            | "prev"
            | "localname"
            | "parentlocalname"
            | "prefix"
            | "parentprefix"
            | "namespaceuri"
            | "parentnamespaceuri"
            | "xmltext"
    )
}

#[cfg(test)]
mod tests {
    use super::{Numbers, edges};
    use crate::xml::Tree;

    #[test]
    fn nodes_are_numbered_as_sql_server_does() {
        for (xml, wanted) in [
            ("<root>t1<b/>t2<c/></root>", "0 0 3 2 4 5"),
            ("<root><a id='1'><b>bb</b></a></root>", "0 0 2 3 4 5"),
            ("<!--c--><root/>", "0 1 0"),
        ] {
            let found = Numbers::of(&Tree::parse(xml, false)).nodes;
            let found: Vec<String> = found.iter().map(i64::to_string).collect();
            assert_eq!(found.join(" "), wanted, "{xml}");
        }
    }

    #[test]
    fn edges_are_the_nodes_of_subtrees() {
        let tree = Tree::parse("<r><a x='1'>t</a><b/><c/></r>", false);
        let rows = edges(&tree, &[0], &|_| Ok(())).expect("room");
        let shown: Vec<String> = rows
            .iter()
            .map(|row| format!("{}:{}:{:?}:{:?}", row.local, row.kind, row.parent, row.previous))
            .collect();
        assert_eq!(
            shown,
            [
                "r:1:None:None",
                "a:1:Some(0):None",
                "x:2:Some(2):None",
                "#text:3:Some(3):None",
                "#text:3:Some(2):None",
                "b:1:Some(0):Some(2)",
                "c:1:Some(0):Some(5)",
            ]
        );
    }
}
