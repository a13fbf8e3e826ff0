//! Runs XML DML: what it does to each node, and the text of the changed value.

use super::evaluator::{Evaluator, Focus, Item, NodeRef};
use super::expr::{Change, Placement};
use super::tree::{Kind, Tree};
use super::writer::{Edits, Inserted, Writer};
use crate::{SqlError, SqlResult};

impl Evaluator<'_> {
    /// The value's text after the change. Errors 2240, 2249, 6308.
    pub(super) fn apply(&mut self, change: &Change, focus: &Focus) -> SqlResult<String> {
        let mut edits = Edits::default();
        match change {
            Change::Insert { source, place, target } => {
                let targets = self.eval(target, focus)?;
                if let Some(target) = own_node(targets.first()) {
                    let items = self.eval(source, focus)?;
                    self.insert(&items, *place, target, &mut edits)?;
                }
            }
            Change::Delete(target) => {
                for item in self.eval(target, focus)? {
                    if let Some(node) = own_node(Some(&item)).filter(|node| *node != 0) {
                        edits.nodes.entry(node).or_default().is_deleted = true;
                    }
                }
            }
            Change::Replace { target, value } => {
                let targets = self.eval(target, focus)?;
                let values = self.eval(value, focus)?;
                if let Some(node) = own_node(targets.first()) {
                    edits.nodes.entry(node).or_default().value = Some(self.spaced(&values));
                }
            }
        }
        let tree = self.trees[0].clone();
        self.ask(tree.bytes())?;
        let mut writer = Writer::default();
        writer.node(&tree, 0, &edits);
        Ok(writer.out)
    }

    fn insert(&mut self, items: &[Item], place: Placement, target: u32, edits: &mut Edits) -> SqlResult<()> {
        let kind = self.trees[0].node(target).kind;
        let is_beside = matches!(place, Placement::Before | Placement::After);
        let prefix = "XQuery [modify()]: ";
        match kind {
            Kind::Attribute | Kind::Document if is_beside => {
                return Err(SqlError::new(2249, &[&prefix, &shown(kind)]));
            }
            Kind::Element | Kind::Document => {}
            _ if is_beside => {}
            _ => return Err(SqlError::new(2240, &[&prefix, &shown(kind)])),
        }
        let mut inserted = Vec::new();
        for item in items {
            let Item::Node(node) = item else { continue };
            let tree = self.trees[node.tree as usize].clone();
            match self.kind(*node) {
                Kind::Document => {
                    let mut child = tree.first_child(node.node);
                    while child < tree.node(node.node).end {
                        inserted.push(Inserted { tree: tree.clone(), node: child });
                        child = tree.node(child).end;
                    }
                }
                Kind::Attribute => add_attribute(&self.trees[0], &tree, *node, target, edits)?,
                _ => inserted.push(Inserted { tree, node: node.node }),
            }
        }
        let edit = edits.nodes.entry(target).or_default();
        match place {
            Placement::Into | Placement::Last => edit.last = inserted,
            Placement::First => edit.first = inserted,
            Placement::Before => edit.before = inserted,
            Placement::After => edit.after = inserted,
        }
        Ok(())
    }
}

/// The attribute becomes one of the target's. Error 6308.
fn add_attribute(own: &Tree, tree: &Tree, from: NodeRef, target: u32, edits: &mut Edits) -> SqlResult<()> {
    let name = tree.name(from.node);
    let is_same = |other: &super::tree::Name| other.local == name.local && other.uri == name.uri;
    let edit = edits.nodes.entry(target).or_default();
    let is_there =
        own.attributes(target).any(|at| own.node(at).kind == Kind::Attribute && is_same(own.name(at)));
    if is_there || edit.attributes.iter().any(|known| is_same(&known.0)) {
        return Err(SqlError::new(6308, &[&name.local]));
    }
    edit.attributes.push((name.clone(), tree.value(from.node).to_string()));
    Ok(())
}

/// The number of a node of the value itself.
fn own_node(item: Option<&Item>) -> Option<u32> {
    match item {
        Some(Item::Node(node)) if node.tree == 0 => Some(node.node),
        _ => None,
    }
}

fn shown(kind: Kind) -> &'static str {
    match kind {
        Kind::Document => "document",
        Kind::Element => "element",
        Kind::Attribute | Kind::Namespace => "attribute",
        Kind::Text => "text",
        Kind::Comment => "comment",
        Kind::Instruction => "processing-instruction",
    }
}
