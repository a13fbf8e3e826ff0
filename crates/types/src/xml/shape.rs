//! Static types of XQuery expressions: what SQL Server knows of a result before it reads a node, and how its messages write it.

use std::fmt;

use super::atom::AtomType;

/// How many items there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    One,
    Optional,
    Many,
}

impl Count {
    /// That many of each of so many.
    pub fn times(self, other: Count) -> Count {
        match (self, other) {
            (Count::Many, _) | (_, Count::Many) => Count::Many,
            (Count::Optional, _) | (_, Count::Optional) => Count::Optional,
            _ => Count::One,
        }
    }
}

/// What the items are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Items {
    /// There is none.
    Nothing,
    /// Elements of a name, `*` for any.
    Element(String),
    /// Attributes of a name.
    Attribute(String),
    /// Text nodes.
    Text,
    /// Comments.
    Comment,
    /// Processing instructions.
    Instruction,
    /// The root.
    Document,
    /// Nodes of several kinds.
    Node,
    /// Atomic values.
    Atom(AtomType),
    /// Not known: what a text is compiled for when it runs, whose types were checked before.
    Unknown,
}

/// The static type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub items: Items,
    pub count: Count,
    /// It may be of nodes that the expression makes.
    pub is_constructed: bool,
}

impl Shape {
    pub fn new(items: Items, count: Count) -> Shape {
        Shape { items, count, is_constructed: false }
    }

    pub fn atom(atom_type: AtomType, count: Count) -> Shape {
        Shape::new(Items::Atom(atom_type), count)
    }

    pub fn is_node(&self) -> bool {
        !matches!(self.items, Items::Nothing | Items::Atom(_) | Items::Unknown)
    }

    /// Could it be of nodes?
    pub fn may_be_nodes(&self) -> bool {
        !matches!(self.items, Items::Atom(_))
    }

    pub fn atom_type(&self) -> Option<AtomType> {
        match self.items {
            Items::Atom(atom_type) => Some(atom_type),
            _ => None,
        }
    }

    /// The type of the values of its items.
    pub fn atomized(&self) -> Shape {
        match &self.items {
            Items::Nothing | Items::Atom(_) | Items::Unknown => self.clone(),
            Items::Comment | Items::Instruction => Shape::atom(AtomType::Text, self.count),
            _ => Shape::atom(AtomType::Untyped, self.count),
        }
    }

    /// The type of either.
    pub fn either(&self, other: &Shape) -> Shape {
        let count = match (self.count, other.count) {
            (Count::Many, _) | (_, Count::Many) => Count::Many,
            (Count::One, Count::One) => Count::One,
            _ => Count::Optional,
        };
        let items = match (&self.items, &other.items) {
            (Items::Unknown, _) | (_, Items::Unknown) => Items::Unknown,
            (Items::Nothing, items) | (items, Items::Nothing) => items.clone(),
            (one, two) if one == two => one.clone(),
            (Items::Atom(one), Items::Atom(two)) => Items::Atom(match one.is_numeric() && two.is_numeric() {
                true => wider(*one, *two),
                false => AtomType::Text,
            }),
            _ => Items::Node,
        };
        let count = match (&self.items, &other.items) {
            (Items::Nothing, _) | (_, Items::Nothing) if count == Count::One => Count::Optional,
            _ => count,
        };
        Shape { items, count, is_constructed: self.is_constructed || other.is_constructed }
    }
}

/// The type of an operator's result.
pub fn wider(one: AtomType, two: AtomType) -> AtomType {
    match (one, two) {
        (AtomType::Integer, AtomType::Integer) => AtomType::Integer,
        (AtomType::Integer | AtomType::Decimal, AtomType::Integer | AtomType::Decimal) => AtomType::Decimal,
        _ => AtomType::Double,
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.items {
            Items::Nothing => return f.write_str("empty"),
            Items::Element(name) => write!(f, "element({name},xdt:untyped)")?,
            Items::Attribute(name) => write!(f, "attribute({name},xdt:untypedAtomic)")?,
            Items::Text => f.write_str("text")?,
            Items::Comment => f.write_str("comment")?,
            Items::Instruction => f.write_str("processing-instruction")?,
            Items::Document => f.write_str(
                "document { (element(*,xdt:untyped) ? & text ? & comment ? & processing-instruction ?) * }",
            )?,
            Items::Node | Items::Unknown => f.write_str("node()")?,
            Items::Atom(atom_type) => f.write_str(atom_type.name())?,
        }
        f.write_str(match self.count {
            Count::One => "",
            Count::Optional => " ?",
            Count::Many => " *",
        })
    }
}
