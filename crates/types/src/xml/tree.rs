//! A value of type xml as a tree of nodes: an arena in document order, so that a node's subtree is a range and the order of nodes that of numbers.
//!
//! Each element and attribute has one place for its text: the text of all text nodes stands in one string in document order, so the string value of
//! an element is a part of it.

use std::collections::BTreeMap;
use std::ops::Range;

/// The namespace of the prefix `xml`.
pub(super) const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// The kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The root: a document, or the content of one.
    Document,
    /// An element.
    Element,
    /// An attribute.
    Attribute,
    /// A declaration of a namespace: no node of a path, but kept for its place.
    Namespace,
    /// Text.
    Text,
    /// A comment.
    Comment,
    /// A processing instruction.
    Instruction,
}

/// One node.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub kind: Kind,
    /// Position in the tree's names; of elements, attributes, namespaces (the prefix is the local name) and instructions.
    name: u32,
    /// 0 for the root, too.
    pub parent: u32,
    /// The number behind those of the subtree.
    pub end: u32,
    /// Where its text stands.
    start: u32,
    stop: u32,
}

/// A name with its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Name {
    /// As it is written; empty for none.
    pub prefix: String,
    /// Behind the prefix.
    pub local: String,
    /// Empty for none.
    pub uri: String,
}

/// A value as nodes.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    names: Vec<Name>,
    /// The text of all text nodes.
    text: String,
    /// The text of attributes, namespaces, comments and instructions.
    aside: String,
}

/// About the bytes that a tree takes of so many bytes of XML.
pub fn bytes_for(source_bytes: usize) -> usize {
    source_bytes.saturating_mul(8)
}

impl Tree {
    /// The tree of well-formed XML. Blanks between tags are kept only if `keeps_blanks`, or where xml:space="preserve" says so.
    pub fn parse(source: &str, keeps_blanks: bool) -> Tree {
        let mut reader = Reader {
            source,
            at: 0,
            tree: Tree::default(),
            open: vec![0],
            known: BTreeMap::new(),
            scopes: vec![(0, "xml".to_string(), XML_NAMESPACE.to_string())],
            preserved: vec![keeps_blanks],
            text_node: None,
        };
        reader.tree.nodes.push(Node { kind: Kind::Document, name: 0, parent: 0, end: 1, start: 0, stop: 0 });
        reader.tree.names.push(Name::default());
        reader.content();
        reader.finish()
    }

    /// How many nodes it has.
    pub fn node_count(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// A node by its number.
    pub fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    /// The name of a node that has one.
    pub fn name(&self, number: u32) -> &Name {
        &self.names[self.node(number).name as usize]
    }

    /// The string value of a node.
    pub fn value(&self, number: u32) -> &str {
        let node = self.node(number);
        let range = node.start as usize..node.stop as usize;
        match node.kind {
            Kind::Document | Kind::Element | Kind::Text => &self.text[range],
            Kind::Attribute | Kind::Namespace | Kind::Comment | Kind::Instruction => &self.aside[range],
        }
    }

    /// The attributes and namespaces of an element.
    pub fn attributes(&self, number: u32) -> Range<u32> {
        let first = number + 1;
        let end = self.node(number).end;
        let is_one = |at: &u32| matches!(self.node(*at).kind, Kind::Attribute | Kind::Namespace);
        let count = (first..end).take_while(is_one).count() as u32;
        first..first + count
    }

    /// The first child's number, or the end of the node.
    pub fn first_child(&self, number: u32) -> u32 {
        match self.node(number).kind {
            Kind::Element => self.attributes(number).end,
            Kind::Document => number + 1,
            _ => self.node(number).end,
        }
    }

    /// The URI of a prefix where a node stands.
    pub fn namespace_of(&self, number: u32, prefix: &str) -> Option<&str> {
        let mut at = number;
        loop {
            if self.node(at).kind == Kind::Element {
                for attribute in self.attributes(at) {
                    if self.node(attribute).kind == Kind::Namespace && self.name(attribute).local == prefix {
                        return Some(self.value(attribute));
                    }
                }
            }
            if at == 0 {
                return (prefix == "xml").then_some(XML_NAMESPACE);
            }
            at = self.node(at).parent;
        }
    }

    /// About the bytes it takes.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>() + self.text.len() + self.aside.len() + self.names.len() * 96
    }
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    tree: Tree,
    /// The open elements, the root first.
    open: Vec<u32>,
    known: BTreeMap<Name, u32>,
    /// Prefixes in sight: the number of open elements at the declaration, prefix, URI.
    scopes: Vec<(usize, String, String)>,
    /// Are blanks kept in each open element?
    preserved: Vec<bool>,
    /// The text node that is being read, and whether it is more than blanks.
    text_node: Option<(u32, bool)>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn content(&mut self) {
        while self.at < self.source.len() {
            let rest = self.rest();
            if !rest.starts_with('<') {
                self.text();
            } else if rest.starts_with("<![CDATA[") {
                let end = self.until(9, "]]>");
                let part = &rest[9..end];
                self.add_text(part, true);
            } else if rest.starts_with("<!--") {
                self.end_text();
                let end = self.until(4, "-->");
                self.add_aside(Kind::Comment, Name::default(), &rest[4..end]);
            } else if rest.starts_with("<?") {
                self.end_text();
                let end = self.until(2, "?>");
                self.instruction(&rest[2..end]);
            } else if rest.starts_with("<!") {
                self.doctype();
            } else if rest.starts_with("</") {
                self.end_text();
                self.until(2, ">");
                self.close();
            } else {
                self.end_text();
                self.start_tag();
            }
        }
        self.end_text();
    }

    /// Moves behind a mark, or to the end; gives where it stands from here.
    fn until(&mut self, from: usize, mark: &str) -> usize {
        let rest = self.rest();
        let from = from.min(rest.len());
        match rest[from..].find(mark) {
            Some(found) => {
                self.at += from + found + mark.len();
                from + found
            }
            None => {
                self.at = self.source.len();
                rest.len()
            }
        }
    }

    fn text(&mut self) {
        let rest = self.rest();
        let length = rest.find('<').unwrap_or(rest.len());
        self.at += length;
        let raw = &rest[..length];
        let is_solid = raw.bytes().any(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
        self.add_text("", is_solid);
        let mut text = std::mem::take(&mut self.tree.text);
        unescape(raw, false, &mut text);
        self.tree.text = text;
    }

    /// Goes on with a text node, or begins one.
    fn add_text(&mut self, part: &str, is_solid: bool) {
        let (number, was_solid) = match self.text_node {
            Some(known) => known,
            None => (self.add(Kind::Text, 0, self.tree.text.len()), false),
        };
        self.tree.text.push_str(part);
        self.text_node = Some((number, was_solid || is_solid));
    }

    /// Ends the text node; one of blanks between tags is dropped.
    fn end_text(&mut self) {
        let Some((number, is_solid)) = self.text_node.take() else { return };
        let node = &mut self.tree.nodes[number as usize];
        node.stop = self.tree.text.len() as u32;
        let is_alone = self.at >= self.source.len() && number == 1;
        let is_kept = is_solid || is_alone || self.preserved.last().copied().unwrap_or(false);
        if !is_kept || node.start == node.stop {
            self.tree.text.truncate(node.start as usize);
            self.tree.nodes.truncate(number as usize);
        }
    }

    fn add(&mut self, kind: Kind, name: u32, start: usize) -> u32 {
        let number = self.tree.nodes.len() as u32;
        let parent = self.open.last().copied().unwrap_or(0);
        let start = start as u32;
        self.tree.nodes.push(Node { kind, name, parent, end: number + 1, start, stop: start });
        number
    }

    fn add_aside(&mut self, kind: Kind, name: Name, text: &str) -> u32 {
        let name = self.name(name);
        let start = self.tree.aside.len();
        let number = self.add(kind, name, start);
        if kind == Kind::Comment || kind == Kind::Instruction {
            self.tree.aside.push_str(text);
        } else {
            let mut aside = std::mem::take(&mut self.tree.aside);
            unescape(text, true, &mut aside);
            self.tree.aside = aside;
        }
        self.tree.nodes[number as usize].stop = self.tree.aside.len() as u32;
        number
    }

    fn name(&mut self, name: Name) -> u32 {
        if let Some(known) = self.known.get(&name) {
            return *known;
        }
        let number = self.tree.names.len() as u32;
        self.tree.names.push(name.clone());
        self.known.insert(name, number);
        number
    }

    fn instruction(&mut self, text: &str) {
        let (target, data) = text.split_once(is_blank).unwrap_or((text, ""));
        if target == "xml" {
            return;
        }
        let name = Name { local: target.to_string(), ..Name::default() };
        self.add_aside(Kind::Instruction, name, data.trim_start_matches(is_blank));
    }

    /// A DTD says nothing here.
    fn doctype(&mut self) {
        let (mut depth, mut quote) = (0usize, None);
        for (at, c) in self.rest().char_indices() {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, '<' | '[') => depth += 1,
                (None, '>' | ']') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                self.at += at + c.len_utf8();
                return;
            }
        }
        self.at = self.source.len();
    }

    fn start_tag(&mut self) {
        let rest = self.rest();
        let is_end = |c: char| is_blank(c) || c == '>' || c == '/';
        let length = rest[1..].find(is_end).map_or(rest.len(), |at| at + 1);
        let element = &rest[1..length];
        self.at += length;
        let depth = self.open.len();
        let mut attributes: Vec<(&str, &str)> = Vec::new();
        let is_empty = self.attributes(&mut attributes);
        let mut keeps = self.preserved.last().copied().unwrap_or(false);
        for (name, value) in &attributes {
            let prefix = match name.strip_prefix("xmlns") {
                Some("") => "",
                Some(prefix) if prefix.starts_with(':') => &prefix[1..],
                _ => {
                    if *name == "xml:space" {
                        keeps = *value == "preserve";
                    }
                    continue;
                }
            };
            let mut uri = String::new();
            unescape(value, true, &mut uri);
            self.scopes.push((depth, prefix.to_string(), uri));
        }
        let name = self.resolved(element, true);
        let name = self.name(name);
        let number = self.add(Kind::Element, name, self.tree.text.len());
        self.open.push(number);
        self.preserved.push(keeps);
        for (name, value) in attributes {
            let prefix = match name.strip_prefix("xmlns") {
                Some("") => Some(""),
                Some(prefix) => prefix.strip_prefix(':'),
                None => None,
            };
            match prefix {
                Some(prefix) => {
                    let name = Name { local: prefix.to_string(), ..Name::default() };
                    self.add_aside(Kind::Namespace, name, value);
                }
                None => {
                    let name = self.resolved(name, false);
                    self.add_aside(Kind::Attribute, name, value);
                }
            }
        }
        if is_empty {
            self.close();
        }
    }

    /// The attributes of a tag, up to its end. Is it the tag of an empty element?
    fn attributes(&mut self, attributes: &mut Vec<(&'a str, &'a str)>) -> bool {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches(is_blank).len();
            self.at += blanks;
            let rest = self.rest();
            match rest.chars().next() {
                None => return true,
                Some('>') => {
                    self.at += 1;
                    return false;
                }
                Some('/') => {
                    self.until(0, ">");
                    return true;
                }
                _ => {}
            }
            let Some(equal) = rest.find('=') else {
                self.at = self.source.len();
                return true;
            };
            let name = rest[..equal].trim_matches(is_blank);
            let behind = rest[equal + 1..].trim_start_matches(is_blank);
            let from = rest.len() - behind.len();
            let Some(mark) = ["\"", "'"].into_iter().find(|mark| behind.starts_with(mark)) else {
                self.at = self.source.len();
                return true;
            };
            let end = self.until(from + 1, mark);
            attributes.push((name, rest.get(from + 1..end).unwrap_or_default()));
        }
    }

    /// A written name with the namespace of its prefix.
    fn resolved(&self, written: &str, is_element: bool) -> Name {
        let (prefix, local) = written.split_once(':').unwrap_or(("", written));
        let uri = match prefix {
            "" if !is_element => None,
            prefix => self.scopes.iter().rev().find(|scope| scope.1 == prefix).map(|scope| scope.2.clone()),
        };
        Name { prefix: prefix.to_string(), local: local.to_string(), uri: uri.unwrap_or_default() }
    }

    fn close(&mut self) {
        if self.open.len() < 2 {
            return;
        }
        let number = self.open.pop().expect("more than the root is open");
        self.preserved.pop();
        let depth = self.open.len();
        while self.scopes.last().is_some_and(|scope| scope.0 >= depth && scope.0 > 0) {
            self.scopes.pop();
        }
        let end = self.tree.nodes.len() as u32;
        let node = &mut self.tree.nodes[number as usize];
        (node.end, node.stop) = (end, self.tree.text.len() as u32);
    }

    fn finish(mut self) -> Tree {
        while self.open.len() > 1 {
            self.close();
        }
        let end = self.tree.nodes.len() as u32;
        let root = &mut self.tree.nodes[0];
        (root.end, root.stop) = (end, self.tree.text.len() as u32);
        self.tree
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Appends text with its references replaced. Ends of lines become one character; blanks in attributes become spaces.
pub(super) fn unescape(raw: &str, is_attribute: bool, out: &mut String) {
    let mut rest = raw;
    let special = |c: char| c == '&' || c == '\r' || (is_attribute && (c == '\n' || c == '\t'));
    while let Some(at) = rest.find(special) {
        out.push_str(&rest[..at]);
        let here = &rest[at..];
        rest = match here.as_bytes()[0] {
            b'&' => {
                let (name, behind) = here[1..].split_once(';').unwrap_or(("", &here[1..]));
                out.extend(reference(name));
                behind
            }
            b'\r' => {
                out.push(if is_attribute { ' ' } else { '\n' });
                let behind = &here[1..];
                behind.strip_prefix('\n').unwrap_or(behind)
            }
            _ => {
                out.push(' ');
                &here[1..]
            }
        };
    }
    out.push_str(rest);
}

/// The character that a reference stands for.
pub(super) fn reference(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        other => {
            let code = match other.strip_prefix("#x") {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => other.strip_prefix('#').and_then(|digits| digits.parse().ok()),
            };
            char::from_u32(code?)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Kind, Tree};

    fn kinds(xml: &str) -> String {
        let tree = Tree::parse(xml, false);
        (0..tree.node_count())
            .map(|at| match tree.node(at).kind {
                Kind::Document => 'd',
                Kind::Element => 'e',
                Kind::Attribute => 'a',
                Kind::Namespace => 'n',
                Kind::Text => 't',
                Kind::Comment => 'c',
                Kind::Instruction => 'p',
            })
            .collect()
    }

    #[test]
    fn nodes_stand_in_document_order() {
        assert_eq!(kinds("<a x='1' xmlns:p='u'>t<p:b/> <!--c--><?p d?><![CDATA[<]]>u</a>"), "deantecpt");
        assert_eq!(kinds(""), "d");
        assert_eq!(kinds("<a> </a> <b xml:space='preserve'> </b>"), "deeat");
        assert_eq!(kinds(" "), "dt");
    }

    #[test]
    fn texts_are_read() {
        let tree = Tree::parse("<a y=' &lt;&#65;\n'>x&amp;<b>\r\ny<c/></b>&#x42;</a>", false);
        assert_eq!(tree.value(0), "x&\nyB");
        assert_eq!(tree.value(1), "x&\nyB");
        assert_eq!(tree.value(2), " <A ");
        assert_eq!(tree.node(1).end, tree.node_count());
        assert_eq!(tree.value(4), "\ny");
    }

    #[test]
    fn names_have_the_namespaces_in_sight() {
        let xml = "<a xmlns='u' xmlns:p='v' p:x='1' y='2'><p:b xmlns=''><c/></p:b><d/></a>";
        let tree = Tree::parse(xml, false);
        let named: Vec<String> = (1..tree.node_count())
            .filter(|at| matches!(tree.node(*at).kind, Kind::Element | Kind::Attribute))
            .map(|at| format!("{}|{}", tree.name(at).uri, tree.name(at).local))
            .collect();
        assert_eq!(named, ["u|a", "v|x", "|y", "v|b", "|c", "u|d"]);
        assert_eq!(tree.namespace_of(5, "p"), Some("v"));
    }

    #[test]
    fn what_is_not_well_formed_ends_too() {
        for text in
            ["<", "<a", "<a x", "<a x='", "</", "</a>", "<a>", "&", "&;", "<!", "<!-", "<?", "<a x=1>", "<a/"]
        {
            Tree::parse(text, false);
        }
    }
}
