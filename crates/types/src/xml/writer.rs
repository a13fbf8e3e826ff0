//! Writes nodes as XML, with the declarations of namespaces that their new place needs, and with the changes of XML DML.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::tree::{Kind, Name, Tree, XML_NAMESPACE};

/// What XML DML does to a tree, by the numbers of nodes.
#[derive(Default)]
pub struct Edits {
    pub nodes: BTreeMap<u32, Edit>,
}

/// What it does to a node.
#[derive(Default)]
pub struct Edit {
    pub is_deleted: bool,
    /// The new text of a text node or attribute.
    pub value: Option<String>,
    pub before: Vec<Inserted>,
    pub after: Vec<Inserted>,
    pub first: Vec<Inserted>,
    pub last: Vec<Inserted>,
    pub attributes: Vec<(Name, String)>,
}

/// A node that is inserted.
#[derive(Clone)]
pub struct Inserted {
    pub tree: Rc<Tree>,
    pub node: u32,
}

/// Writes XML.
#[derive(Default)]
pub struct Writer {
    pub out: String,
    /// Declared prefixes: depth, prefix, URI.
    scopes: Vec<(usize, String, String)>,
    /// The written names of the open elements.
    open: Vec<String>,
    /// The start tag has no end yet.
    is_tag_open: bool,
}

impl Writer {
    /// Begins an element with its own declarations of namespaces: prefix, URI.
    pub fn start(&mut self, name: &Name, own: &[(String, String)]) {
        self.end_tag();
        self.open.push(String::new());
        let depth = self.open.len();
        for (prefix, uri) in own {
            self.scopes.push((depth, prefix.clone(), uri.clone()));
        }
        let declared = self.scopes.len();
        let prefix = self.prefix_for(name, false);
        let written = qualified(&prefix, &name.local);
        self.out.push('<');
        self.out.push_str(&written);
        self.open[depth - 1] = written;
        for (prefix, uri) in own {
            self.declaration(prefix, uri);
        }
        for (_, prefix, uri) in self.scopes.split_off(declared) {
            self.declaration(&prefix, &uri);
            self.scopes.push((depth, prefix, uri));
        }
        self.is_tag_open = true;
    }

    /// An attribute of the element that was just begun; behind other content there is no place for one.
    pub fn attribute(&mut self, name: &Name, value: &str) {
        if !self.is_tag_open {
            return;
        }
        let declared = self.scopes.len();
        let prefix = self.prefix_for(name, true);
        if let Some((_, prefix, uri)) = self.scopes.get(declared).cloned() {
            self.declaration(&prefix, &uri);
        }
        self.out.push(' ');
        self.out.push_str(&qualified(&prefix, &name.local));
        self.out.push_str("=\"");
        escape(value, true, &mut self.out);
        self.out.push('"');
    }

    pub fn end(&mut self) {
        let name = self.open.pop().unwrap_or_default();
        if std::mem::take(&mut self.is_tag_open) {
            self.out.push_str("/>");
        } else {
            self.out.push_str("</");
            self.out.push_str(&name);
            self.out.push('>');
        }
        let depth = self.open.len();
        while self.scopes.last().is_some_and(|scope| scope.0 > depth) {
            self.scopes.pop();
        }
    }

    pub fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.end_tag();
            escape(text, false, &mut self.out);
        }
    }

    pub fn comment(&mut self, text: &str) {
        self.end_tag();
        self.out.push_str("<!--");
        self.out.push_str(text);
        self.out.push_str("-->");
    }

    pub fn instruction(&mut self, target: &str, data: &str) {
        self.end_tag();
        self.out.push_str("<?");
        self.out.push_str(target);
        if !data.is_empty() {
            self.out.push(' ');
            self.out.push_str(data);
        }
        self.out.push_str("?>");
    }

    /// A node with all that is in it; no attribute.
    pub fn node(&mut self, tree: &Tree, number: u32, edits: &Edits) {
        let end = tree.node(number).end;
        let mut open: Vec<u32> = Vec::new();
        let mut at = number;
        loop {
            while let Some(last) = open.last().copied().filter(|last| tree.node(*last).end <= at) {
                open.pop();
                self.close(tree, last, edits);
            }
            if at >= end {
                return;
            }
            let edit = edits.nodes.get(&at);
            self.insert(edit.map(|edit| edit.before.as_slice()));
            let node = tree.node(at);
            if edit.is_some_and(|edit| edit.is_deleted) {
                self.insert(edit.map(|edit| edit.after.as_slice()));
                at = node.end;
                continue;
            }
            match node.kind {
                Kind::Element | Kind::Document => {
                    if node.kind == Kind::Element {
                        self.start_node(tree, at, edits);
                    }
                    self.insert(edit.map(|edit| edit.first.as_slice()));
                    open.push(at);
                    at = tree.first_child(at);
                    continue;
                }
                Kind::Text => {
                    let new = edit.and_then(|edit| edit.value.as_deref());
                    self.text(new.unwrap_or_else(|| tree.value(at)));
                }
                Kind::Comment => self.comment(tree.value(at)),
                Kind::Instruction => self.instruction(&tree.name(at).local, tree.value(at)),
                Kind::Attribute | Kind::Namespace => {}
            }
            self.insert(edit.map(|edit| edit.after.as_slice()));
            at = node.end;
        }
    }

    fn close(&mut self, tree: &Tree, number: u32, edits: &Edits) {
        let edit = edits.nodes.get(&number);
        self.insert(edit.map(|edit| edit.last.as_slice()));
        if tree.node(number).kind == Kind::Element {
            self.end();
        }
        self.insert(edit.map(|edit| edit.after.as_slice()));
    }

    /// The start tag of an element. A new attribute stands behind an old one, where SQL Server puts it.
    fn start_node(&mut self, tree: &Tree, number: u32, edits: &Edits) {
        let is_gone = |at: u32| edits.nodes.get(&at).is_some_and(|edit| edit.is_deleted);
        let own: Vec<(String, String)> = tree
            .attributes(number)
            .filter(|at| tree.node(*at).kind == Kind::Namespace)
            .map(|at| (tree.name(at).local.clone(), tree.value(at).to_string()))
            .collect();
        self.start(tree.name(number), &own);
        let mut added = edits.nodes.get(&number).map_or(&[][..], |edit| &edit.attributes).iter();
        for at in tree.attributes(number).filter(|at| !is_gone(*at)) {
            if tree.node(at).kind == Kind::Attribute {
                let new = edits.nodes.get(&at).and_then(|edit| edit.value.as_deref());
                self.attribute(tree.name(at), new.unwrap_or_else(|| tree.value(at)));
            }
            if let Some((name, value)) = added.next() {
                self.attribute(name, value);
            }
        }
        for (name, value) in added {
            self.attribute(name, value);
        }
    }

    fn insert(&mut self, list: Option<&[Inserted]>) {
        for inserted in list.unwrap_or_default() {
            self.node(&inserted.tree, inserted.node, &Edits::default());
        }
    }

    fn end_tag(&mut self) {
        if std::mem::take(&mut self.is_tag_open) {
            self.out.push('>');
        }
    }

    fn declaration(&mut self, prefix: &str, uri: &str) {
        self.out.push_str(" xmlns");
        if !prefix.is_empty() {
            self.out.push(':');
            self.out.push_str(prefix);
        }
        self.out.push_str("=\"");
        escape(uri, true, &mut self.out);
        self.out.push('"');
    }

    fn uri_of(&self, prefix: &str) -> Option<&str> {
        self.scopes.iter().rev().find(|scope| scope.1 == prefix).map(|scope| scope.2.as_str())
    }

    /// The prefix under which a name is written here; it is declared if it must be.
    fn prefix_for(&mut self, name: &Name, is_attribute: bool) -> String {
        let depth = self.open.len();
        if name.uri == XML_NAMESPACE {
            return "xml".to_string();
        }
        if name.uri.is_empty() {
            if !is_attribute && self.uri_of("").is_some_and(|uri| !uri.is_empty()) {
                self.scopes.push((depth, String::new(), String::new()));
            }
            return String::new();
        }
        let takes = |prefix: &str| !is_attribute || !prefix.is_empty();
        if takes(&name.prefix) && self.uri_of(&name.prefix) == Some(name.uri.as_str()) {
            return name.prefix.clone();
        }
        let is_free = |prefix: &str| !self.scopes.iter().any(|scope| scope.0 == depth && scope.1 == prefix);
        let mut prefix = name.prefix.clone();
        let mut number = 0;
        while !takes(&prefix) || !is_free(&prefix) {
            number += 1;
            prefix = format!("p{number}");
        }
        self.scopes.push((depth, prefix.clone(), name.uri.clone()));
        prefix
    }
}

fn qualified(prefix: &str, local: &str) -> String {
    if prefix.is_empty() { local.to_string() } else { format!("{prefix}:{local}") }
}

/// Appends text with references for what may not stand there as it is.
fn escape(text: &str, is_attribute: bool, out: &mut String) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let reference = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'\r' => "&#xD;",
            b'"' if is_attribute => "&quot;",
            b'\n' if is_attribute => "&#xA;",
            b'\t' if is_attribute => "&#x9;",
            _ => continue,
        };
        out.push_str(&text[from..at]);
        out.push_str(reference);
        from = at + 1;
    }
    out.push_str(&text[from..]);
}

#[cfg(test)]
mod tests {
    use super::{Edits, Tree, Writer};

    fn written(xml: &str, node: u32) -> String {
        let mut writer = Writer::default();
        writer.node(&Tree::parse(xml, false), node, &Edits::default());
        writer.out
    }

    #[test]
    fn values_are_written_as_sql_server_does() {
        for (xml, wanted) in [
            (
                "<a  x = '&lt;\"&#10;' ><b></b>&gt;<![CDATA[<]]></a >",
                "<a x=\"&lt;&quot;&#xA;\"><b/>&gt;&lt;</a>",
            ),
            ("<?xml version='1.0'?><a/>x<!--c--><?p d?>", "<a/>x<!--c--><?p d?>"),
            ("<p:a xmlns:p='u' p:x='1'><p:b/></p:a>", "<p:a xmlns:p=\"u\" p:x=\"1\"><p:b/></p:a>"),
        ] {
            assert_eq!(written(xml, 0), wanted);
        }
    }

    #[test]
    fn a_part_declares_the_namespaces_that_it_uses() {
        let xml = "<a xmlns='u' xmlns:p='v'><b p:x='1'/><c xmlns=''><d/></c></a>";
        assert_eq!(written(xml, 4), "<b xmlns=\"u\" xmlns:p=\"v\" p:x=\"1\"/>");
        assert_eq!(written(xml, 8), "<d/>");
    }
}
