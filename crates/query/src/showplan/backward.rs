//! Shows backward index scans.

use super::{Operator, Seek, Shape};

impl Shape {
    /// An index that is read from its beginning.
    pub(super) fn index(seeks: Vec<Seek>, lookup: bool) -> Shape {
        Shape::IndexScan { seeks, lookup, backward: false }
    }
}

impl Operator {
    /// Says of the index that it is read backward; of a look-up's inputs that is the first.
    pub(super) fn read_backward(&mut self, is_backward: bool) {
        if !is_backward {
            return;
        }
        match &mut self.shape {
            Shape::IndexScan { backward, .. } => *backward = true,
            _ => return self.children.iter_mut().take(1).for_each(|child| child.read_backward(true)),
        }
        match self.argument.strip_suffix(" ORDERED FORWARD") {
            Some(rest) => self.argument = format!("{rest} ORDERED BACKWARD"),
            None => self.argument += ", ORDERED BACKWARD",
        }
    }
}
