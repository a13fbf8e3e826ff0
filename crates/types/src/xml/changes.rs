//! Compiles XML DML: `insert`, `delete`, `replace value of`.

use super::expr::{Change, Expr, Placement};
use super::parser::{Parser, Typed};
use super::shape::{Count, Items};
use crate::{SqlError, SqlResult};

impl Parser<'_> {
    /// The statement that stands here, if one does.
    pub(super) fn change(&mut self) -> SqlResult<Option<Change>> {
        let before = self.scan.at;
        let word = self.scan.name();
        match word {
            Some(word @ ("insert" | "delete" | "replace")) if !self.scan.is_end() => {
                let change = match word {
                    "insert" => self.insert()?,
                    "delete" => self.delete()?,
                    _ => self.replace()?,
                };
                Ok(Some(change))
            }
            _ => {
                self.scan.at = before;
                Ok(None)
            }
        }
    }

    /// `insert nodes [as first | as last] into | before | after target`. Errors 2248, 2351, 2226, 2207, 2258, 2240, 2249.
    fn insert(&mut self) -> SqlResult<Change> {
        let (source, inserted) = self.single()?;
        let place = if self.scan.take_word("as") {
            let place = match (self.scan.take_word("first"), self.scan.take_word("last")) {
                (true, _) => Placement::First,
                (_, true) => Placement::Last,
                _ => return Err(SqlError::new(2351, &[&self.scan.prefix])),
            };
            self.scan.expect_word("into")?;
            place
        } else if self.scan.take_word("into") {
            Placement::Into
        } else if self.scan.take_word("before") {
            Placement::Before
        } else if self.scan.take_word("after") {
            Placement::After
        } else {
            let near = self.scan.near();
            return Err(SqlError::new(2248, &[&self.scan.prefix, &near]));
        };
        let (target, shape) = self.target("insert")?;
        if shape.count == Count::Many {
            return Err(SqlError::new(2226, &[&self.scan.prefix, &shape]));
        }
        let is_instance = matches!(source, Expr::External(_)) && inserted.is_node();
        if inserted.atom_type().is_some() || (inserted.items == Items::Document && !is_instance) {
            return Err(SqlError::new(2207, &[&self.scan.prefix, &inserted]));
        }
        let is_beside = matches!(place, Placement::Before | Placement::After);
        if is_beside && matches!(inserted.items, Items::Attribute(_)) {
            return Err(SqlError::new(2258, &[&self.scan.prefix, &inserted]));
        }
        match (&shape.items, is_beside) {
            (Items::Attribute(_) | Items::Text | Items::Comment | Items::Instruction, false) => {
                Err(SqlError::new(2240, &[&self.scan.prefix, &shape]))
            }
            (Items::Attribute(_) | Items::Document, true) => {
                Err(SqlError::new(2249, &[&self.scan.prefix, &shape]))
            }
            _ => Ok(Change::Insert { source, place, target }),
        }
    }

    /// A target: nodes of the value itself. Errors 2359, 2374.
    fn target(&mut self, what: &str) -> SqlResult<Typed> {
        let (target, shape) = self.single()?;
        if shape.is_constructed {
            return Err(SqlError::new(2359, &[&self.scan.prefix, &what]));
        }
        if !shape.may_be_nodes() {
            return Err(SqlError::new(2374, &[&self.scan.prefix, &format!("'{what}'")]));
        }
        Ok((target, shape))
    }

    /// `delete nodes`. Error 2264.
    fn delete(&mut self) -> SqlResult<Change> {
        let (target, shape) = self.expr()?;
        if shape.items == Items::Document || shape.atom_type().is_some() {
            return Err(SqlError::new(2264, &[&self.scan.prefix, &shape]));
        }
        if shape.is_constructed {
            return Err(SqlError::new(2359, &[&self.scan.prefix, &"delete"]));
        }
        Ok(Change::Delete(target))
    }

    /// `replace value of target with value`. Errors 2205, 2337, 2356, 9310.
    fn replace(&mut self) -> SqlResult<Change> {
        if !self.scan.take_words(&["value", "of"]) {
            return Err(SqlError::new(2205, &[&self.scan.prefix, &"value of"]));
        }
        let (target, shape) = self.target("replace value of")?;
        if !self.scan.take_word("with") {
            return Err(SqlError::new(2205, &[&self.scan.prefix, &"with"]));
        }
        let (value, replaced) = self.single()?;
        if shape.count == Count::Many {
            return Err(SqlError::new(2337, &[&self.scan.prefix, &shape]));
        }
        if !matches!(shape.items, Items::Attribute(_) | Items::Text | Items::Nothing) {
            return Err(SqlError::new(2356, &[&self.scan.prefix, &shape]));
        }
        if replaced.is_constructed {
            return Err(SqlError::new(9310, &[&self.scan.prefix]));
        }
        Ok(Change::Replace { target, value })
    }
}
