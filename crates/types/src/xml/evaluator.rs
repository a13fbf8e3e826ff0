//! What the parts of the evaluator share: the trees, the variables, the room, and the values of items.

use std::rc::Rc;

use super::atom::{Atom, AtomType};
use super::tree::{Kind, Tree};
use crate::SqlResult;

/// A node: the number of its tree among those of the evaluator, and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeRef {
    pub tree: u32,
    pub node: u32,
}

/// An item of a sequence.
#[derive(Clone, Debug)]
pub enum Item {
    Node(NodeRef),
    Atom(Atom),
}

/// A sequence.
pub type Items = Vec<Item>;

/// An argument: `sql:variable`, `sql:column`.
#[derive(Clone, Debug)]
pub enum Argument {
    /// NULL.
    Nothing,
    /// A value of any other type.
    Atom(Atom),
    /// A value of type xml, as its text.
    Xml(String),
}

/// Asks for so many bytes, and looks for an interrupt.
pub type Room<'a> = &'a dyn Fn(usize) -> SqlResult<()>;

/// How many nodes are looked at between two looks for an interrupt.
const NODES_PER_LOOK: u32 = 4096;

/// The focus: the item of `.`, its position, and how many there are.
#[derive(Clone, Debug)]
pub struct Focus {
    pub item: Item,
    pub position: usize,
    pub size: usize,
}

/// Evaluates one expression over one value.
pub struct Evaluator<'a> {
    /// The value's own tree is the first.
    pub trees: Vec<Rc<Tree>>,
    pub variables: Vec<Items>,
    pub arguments: &'a [Argument],
    /// The trees of arguments of type xml.
    pub argument_trees: Vec<Option<u32>>,
    room: Room<'a>,
    looked_at: u32,
}

impl<'a> Evaluator<'a> {
    pub fn new(tree: Rc<Tree>, variables: usize, arguments: &'a [Argument], room: Room<'a>) -> Evaluator<'a> {
        Evaluator {
            trees: vec![tree],
            variables: vec![Vec::new(); variables],
            arguments,
            argument_trees: vec![None; arguments.len()],
            room,
            looked_at: 0,
        }
    }

    /// Asks for the bytes of something.
    pub fn ask(&self, bytes: usize) -> SqlResult<()> {
        (self.room)(bytes)
    }

    /// Counts a node that is looked at.
    pub fn look(&mut self) -> SqlResult<()> {
        self.looked_at += 1;
        if self.looked_at >= NODES_PER_LOOK {
            self.looked_at = 0;
            return (self.room)(0);
        }
        Ok(())
    }

    /// Adds to a list; asks for its room before it grows.
    pub fn push<T>(&self, list: &mut Vec<T>, item: T) -> SqlResult<()> {
        if list.len() == list.capacity() && list.len() >= 64 {
            (self.room)(list.len() * 2 * size_of::<T>())?;
        }
        list.push(item);
        Ok(())
    }

    /// The tree of a text that the expression makes, or of an argument.
    pub fn add_tree(&mut self, source: &str, keeps_blanks: bool) -> SqlResult<u32> {
        (self.room)(super::tree::bytes_for(source.len()))?;
        self.trees.push(Rc::new(Tree::parse(source, keeps_blanks)));
        Ok(self.trees.len() as u32 - 1)
    }

    pub fn tree(&self, of: NodeRef) -> &Tree {
        &self.trees[of.tree as usize]
    }

    pub fn kind(&self, of: NodeRef) -> Kind {
        self.tree(of).node(of.node).kind
    }

    /// The value of an item.
    pub fn atom(&self, item: &Item) -> Atom {
        match item {
            Item::Atom(atom) => atom.clone(),
            Item::Node(node) => {
                let text = self.tree(*node).value(node.node).to_string();
                match self.kind(*node) {
                    Kind::Comment | Kind::Instruction => Atom::Text(text),
                    _ => Atom::Untyped(text),
                }
            }
        }
    }

    /// The text of an item.
    pub fn text(&self, item: &Item) -> String {
        match item {
            Item::Atom(atom) => atom.text(),
            Item::Node(node) => self.tree(*node).value(node.node).to_string(),
        }
    }

    /// The value of a sequence of one item; nothing for any other.
    pub fn only_atom(&self, items: &[Item]) -> Option<Atom> {
        match items {
            [item] => Some(self.atom(item)),
            _ => None,
        }
    }

    /// Is a sequence true?
    pub fn truth(&self, items: &[Item]) -> bool {
        match items {
            [] => false,
            [Item::Node(_), ..] => true,
            [Item::Atom(atom), ..] => match atom {
                Atom::Boolean(truth) => *truth,
                Atom::Untyped(text) | Atom::Text(text) => !text.is_empty(),
                Atom::Moment(..) => true,
                number => {
                    number.cast(AtomType::Boolean).is_some_and(|truth| matches!(truth, Atom::Boolean(true)))
                }
            },
        }
    }
}
