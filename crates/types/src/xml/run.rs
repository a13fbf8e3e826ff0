//! Runs compiled texts over values: what the methods of the xml type give. Values and texts are parsed once for a statement.

use std::rc::Rc;

use super::atom::Atom;
use super::compile::{Method, compile};
use super::evaluator::{Argument, Evaluator, Focus, Item, Items, NodeRef, Room};
use super::expr::{Body, External, Query};
use super::shape;
use super::tree::{Tree, bytes_for};
use super::writer::{Edits, Writer};
use crate::{SqlResult, WideStr};

/// How many parsed values are kept: those of the tables that a row is joined of.
const TREES_MAX: usize = 4;

/// A text compiled for a method of a value, or of a node.
struct CompiledText {
    text: WideStr,
    method: Method,
    is_node: bool,
    query: Rc<Query>,
}

/// The parsed values and compiled texts of a statement.
#[derive(Default)]
pub struct Documents {
    /// The one used last is the last.
    trees: Vec<(WideStr, Rc<Tree>)>,
    queries: Vec<CompiledText>,
}

impl Documents {
    /// The tree of a value: parsed once while its text is the same.
    pub fn tree(&mut self, xml: &WideStr, room: Room<'_>) -> SqlResult<Rc<Tree>> {
        let is_it =
            |known: &(WideStr, Rc<Tree>)| std::ptr::eq(known.0.as_units(), xml.as_units()) || known.0 == *xml;
        if let Some(at) = self.trees.iter().rposition(is_it) {
            let last = self.trees.len() - 1;
            self.trees.swap(at, last);
            return Ok(self.trees[last].1.clone());
        }
        room(bytes_for(xml.len()))?;
        if self.trees.len() == TREES_MAX {
            self.trees.remove(0);
        }
        let tree = Rc::new(Tree::parse(&xml.to_text(), false));
        self.trees.push((xml.clone(), tree.clone()));
        Ok(tree)
    }

    /// A text compiled, once for a method.
    pub fn query(
        &mut self,
        text: &WideStr,
        method: Method,
        is_node: bool,
        type_of: &mut dyn FnMut(&External) -> SqlResult<shape::Items>,
    ) -> SqlResult<Rc<Query>> {
        let is_it = |known: &&CompiledText| {
            known.method == method && known.is_node == is_node && is_same(&known.text, text)
        };
        if let Some(known) = self.queries.iter().find(is_it) {
            return Ok(known.query.clone());
        }
        let query = Rc::new(compile(&text.to_text(), method, is_node, type_of)?);
        self.queries.push(CompiledText { text: text.clone(), method, is_node, query: query.clone() });
        Ok(query)
    }
}

/// Most often a text is the very same, not only equal.
fn is_same(one: &WideStr, other: &WideStr) -> bool {
    std::ptr::eq(one.as_units(), other.as_units()) || one == other
}

/// What a method is called of: a node of a tree, with the arguments of its text.
pub struct Subject<'a> {
    /// The value.
    pub tree: Rc<Tree>,
    /// The node of it.
    pub node: u32,
    /// In the order of the compiled text's externals.
    pub arguments: &'a [Argument],
    /// Where bytes are asked for.
    pub room: Room<'a>,
}

impl Subject<'_> {
    fn evaluator(&self, query: &Query) -> (Evaluator<'_>, Focus) {
        let evaluator = Evaluator::new(self.tree.clone(), query.variables, self.arguments, self.room);
        let node = NodeRef { tree: 0, node: self.node.min(self.tree.node_count() - 1) };
        (evaluator, Focus { item: Item::Node(node), position: 1, size: 1 })
    }

    fn items(&self, query: &Query) -> SqlResult<(Items, Evaluator<'_>)> {
        let (mut evaluator, focus) = self.evaluator(query);
        let items = match &query.body {
            Body::Expr(expr) => evaluator.eval(expr, &focus)?,
            Body::Change(_) => Vec::new(),
        };
        Ok((items, evaluator))
    }

    /// `value`: the value of the item, if there is one.
    pub fn value(&self, query: &Query) -> SqlResult<Option<Atom>> {
        let (items, evaluator) = self.items(query)?;
        Ok(items.first().map(|item| evaluator.atom(item)))
    }

    /// `exist`: is there an item?
    pub fn exist(&self, query: &Query) -> SqlResult<bool> {
        Ok(!self.items(query)?.0.is_empty())
    }

    /// `query`: the items as XML.
    pub fn query(&self, query: &Query) -> SqlResult<String> {
        let (items, mut evaluator) = self.items(query)?;
        let mut writer = Writer::default();
        evaluator.write_items(&items, &mut writer, &mut Vec::new())?;
        Ok(writer.out)
    }

    /// `nodes`: the numbers of the nodes.
    pub fn nodes(&self, query: &Query) -> SqlResult<Vec<u32>> {
        let (items, _) = self.items(query)?;
        let own = |item: &Item| match item {
            Item::Node(node) if node.tree == 0 => Some(node.node),
            _ => None,
        };
        Ok(items.iter().filter_map(own).collect())
    }

    /// `modify`: the changed value.
    pub fn modify(&self, query: &Query) -> SqlResult<String> {
        let (mut evaluator, focus) = self.evaluator(query);
        match &query.body {
            Body::Change(change) => evaluator.apply(change, &focus),
            Body::Expr(_) => {
                let mut writer = Writer::default();
                writer.node(&self.tree, 0, &Edits::default());
                Ok(writer.out)
            }
        }
    }
}
