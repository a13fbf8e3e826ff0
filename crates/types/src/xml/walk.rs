//! Evaluates paths: each step over all nodes of the one before, in document order, each node once.

use super::evaluator::{Evaluator, Focus, Item, Items, NodeRef};
use super::expr::{Axis, Expr, Step, Test};
use super::tree::{Kind, Name};
use crate::SqlResult;

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn path(&mut self, start: &Expr, steps: &[Step], focus: &Focus) -> SqlResult<Items> {
        let mut nodes: Vec<NodeRef> = match start {
            Expr::Context => match &focus.item {
                Item::Node(node) => vec![*node],
                Item::Atom(_) => Vec::new(),
            },
            start => {
                let items = self.eval(start, focus)?;
                items
                    .into_iter()
                    .filter_map(|item| if let Item::Node(node) = item { Some(node) } else { None })
                    .collect()
            }
        };
        for step in steps {
            nodes = self.step(&nodes, step)?;
        }
        self.ask(nodes.len() * size_of::<Item>())?;
        Ok(nodes.into_iter().map(Item::Node).collect())
    }

    #[inline(never)]
    fn step(&mut self, from: &[NodeRef], step: &Step) -> SqlResult<Vec<NodeRef>> {
        let mut found: Vec<NodeRef> = Vec::new();
        let is_deep = matches!(step.axis, Axis::Descendant | Axis::DescendantOrSelf);
        let mut covered = NodeRef { tree: 0, node: 0 };
        for node in from {
            // The subtree of a node that stands in that of another one has been looked at.
            if is_deep && step.predicates.is_empty() {
                if node.tree == covered.tree && node.node < covered.node {
                    continue;
                }
                covered = NodeRef { tree: node.tree, node: self.tree(*node).node(node.node).end };
            }
            let first = found.len();
            self.axis(*node, step, &mut found)?;
            for predicate in &step.predicates {
                if found.len() == first {
                    break;
                }
                self.filter(&mut found, first, predicate, |node| Item::Node(*node))?;
            }
        }
        if !found.is_sorted_by(|one, other| one < other) {
            found.sort_unstable();
            found.dedup();
        }
        Ok(found)
    }

    /// The nodes of an axis that pass the step's test, in document order.
    #[inline(never)]
    fn axis(&mut self, from: NodeRef, step: &Step, found: &mut Vec<NodeRef>) -> SqlResult<()> {
        let tree = self.trees[from.tree as usize].clone();
        let node = *tree.node(from.node);
        let at = |number: u32| NodeRef { tree: from.tree, node: number };
        match step.axis {
            Axis::Own => {
                if self.passes(from, &step.test, false) {
                    self.push(found, from)?;
                }
            }
            Axis::Parent => {
                if from.node != 0 && self.passes(at(node.parent), &step.test, false) {
                    self.push(found, at(node.parent))?;
                }
            }
            Axis::Attribute => {
                if node.kind == Kind::Element {
                    for number in tree.attributes(from.node) {
                        if tree.node(number).kind == Kind::Attribute
                            && self.passes(at(number), &step.test, true)
                        {
                            self.push(found, at(number))?;
                        }
                    }
                }
            }
            Axis::Child => {
                let mut number = tree.first_child(from.node);
                while number < node.end {
                    self.look()?;
                    if self.passes(at(number), &step.test, false) {
                        self.push(found, at(number))?;
                    }
                    number = tree.node(number).end;
                }
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                let first = if step.axis == Axis::Descendant { from.node + 1 } else { from.node };
                for number in first..node.end {
                    self.look()?;
                    let kind = tree.node(number).kind;
                    let is_aside = matches!(kind, Kind::Attribute | Kind::Namespace) && number != from.node;
                    if !is_aside && self.passes(at(number), &step.test, false) {
                        self.push(found, at(number))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Does a node pass a test? `is_attribute`: on the axis of attributes, whose names the test means.
    pub(super) fn passes(&self, node: NodeRef, test: &Test, is_attribute: bool) -> bool {
        let (tree, kind) = (self.tree(node), self.kind(node));
        let wanted = if is_attribute { Kind::Attribute } else { Kind::Element };
        let is_named = |name: &Option<Name>| {
            name.as_ref().is_none_or(|name| {
                let own = tree.name(node.node);
                own.local == name.local && own.uri == name.uri
            })
        };
        match test {
            Test::Any => true,
            Test::Text => kind == Kind::Text,
            Test::Comment => kind == Kind::Comment,
            Test::Document => kind == Kind::Document,
            Test::Instruction(target) => {
                kind == Kind::Instruction
                    && target.as_ref().is_none_or(|target| tree.name(node.node).local == *target)
            }
            Test::Name { uri, local } => {
                kind == wanted && {
                    let own = tree.name(node.node);
                    local.as_ref().is_none_or(|local| own.local == *local)
                        && uri.as_ref().is_none_or(|uri| own.uri == *uri)
                }
            }
            Test::Element(name) => kind == Kind::Element && is_named(name),
            Test::Attribute(name) => kind == Kind::Attribute && is_named(name),
        }
    }
}
