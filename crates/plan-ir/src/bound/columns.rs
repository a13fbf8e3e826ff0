//! The columns of a statement.

use std::cell::Cell;

use types::{Collation, SqlType};

use crate::bound::variable_ranges::VariableRanges;
use crate::kinds::ColumnId;
use crate::optimizer_rules::RuleSet;

/// The type, nullability and collation of a column of the statement.
#[derive(Clone, Debug)]
pub struct ColumnInfo {
    pub sql_type: SqlType,
    pub nullable: bool,
    pub collation: Collation,
}

/// The columns of one statement, by the numbers in their ids.
#[derive(Debug, Default)]
pub struct Columns {
    list: Vec<ColumnInfo>,
    /// The rules that the statement is planned by.
    pub rules: RuleSet,
    /// The ranges between variables in its conditions.
    pub ranges: VariableRanges,
    /// Subqueries that have a number so far. It is the statement's count, not a planner's: a statement is planned in several pieces that run
    /// together, and a kept result is found by the number.
    subqueries: Cell<u32>,
}

impl Columns {
    /// One more column.
    pub fn add(&mut self, info: ColumnInfo) -> ColumnId {
        self.list.push(info);
        ColumnId(self.list.len() as u32 - 1)
    }

    /// A number that no other subquery of the statement has.
    pub fn next_subquery(&self) -> u32 {
        self.subqueries.set(self.subqueries.get() + 1);
        self.subqueries.get()
    }
}

impl std::ops::Index<usize> for Columns {
    type Output = ColumnInfo;

    fn index(&self, at: usize) -> &ColumnInfo {
        &self.list[at]
    }
}

impl std::ops::IndexMut<usize> for Columns {
    fn index_mut(&mut self, at: usize) -> &mut ColumnInfo {
        &mut self.list[at]
    }
}
