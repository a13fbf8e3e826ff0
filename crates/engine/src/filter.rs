//! The filter of an index (CREATE INDEX ... WHERE): selects the rows that have entries in it.
//!
//! The language allows comparisons of a column with constants, IN, IS [NOT] NULL and AND. That needs no expressions: a filter is a list of
//! terms, each about one column, with values of that column's type. So it can be evaluated here, without the expression evaluator.

use std::sync::Arc;

use types::{Collation, Value};

/// Rows that satisfy every term have entries.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexFilter {
    /// As `sys.indexes.filter_definition` shows it.
    pub text: Arc<str>,
    /// All must hold; never empty.
    pub terms: Vec<FilterTerm>,
}

/// A condition of a filter on one column.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterTerm {
    /// Position in `TableDef::columns`.
    pub ordinal: usize,
    /// The condition on its value.
    pub test: FilterTest,
}

/// A condition on a value. NULL satisfies `IsNull` only.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterTest {
    /// IS NULL.
    IsNull,
    /// IS NOT NULL.
    IsNotNull,
    /// A comparison with a constant, which is not NULL.
    Compare(FilterOp, Value),
    /// IN a list of constants, none of them NULL.
    In(Vec<Value>),
}

/// A comparison operator; `!<` and `!>` are stored as `>=` and `<=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterOp {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl FilterOp {
    /// All, in order of their numbers in the catalog.
    pub const ALL: [FilterOp; 6] = [
        FilterOp::Equal,
        FilterOp::NotEqual,
        FilterOp::Less,
        FilterOp::LessOrEqual,
        FilterOp::Greater,
        FilterOp::GreaterOrEqual,
    ];

    /// Does a value with this order to the constant satisfy the operator?
    pub fn accepts(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            FilterOp::Equal => ordering.is_eq(),
            FilterOp::NotEqual => ordering.is_ne(),
            FilterOp::Less => ordering.is_lt(),
            FilterOp::LessOrEqual => ordering.is_le(),
            FilterOp::Greater => ordering.is_gt(),
            FilterOp::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl FilterTest {
    /// Does a value of the column satisfy it?
    pub fn accepts(&self, value: &Value, collation: Collation) -> bool {
        let compared = |constant: &Value| types::sort_compare(value, constant, collation);
        match self {
            FilterTest::IsNull => value.is_null(),
            FilterTest::IsNotNull => !value.is_null(),
            FilterTest::Compare(op, constant) => !value.is_null() && op.accepts(compared(constant)),
            FilterTest::In(list) => {
                !value.is_null() && list.iter().any(|constant| compared(constant).is_eq())
            }
        }
    }
}

/// Numbers of tests in the catalog; a comparison is its operator's place in `FilterOp::ALL`.
mod test_number {
    pub(super) const IS_NULL: u8 = 10;
    pub(super) const IS_NOT_NULL: u8 = 11;
    pub(super) const IN: u8 = 12;
}

impl FilterTest {
    /// Its number in the catalog.
    pub(crate) fn number(&self) -> u8 {
        match self {
            FilterTest::IsNull => test_number::IS_NULL,
            FilterTest::IsNotNull => test_number::IS_NOT_NULL,
            FilterTest::Compare(op, _) => {
                FilterOp::ALL.iter().position(|one| one == op).expect("all are listed") as u8
            }
            FilterTest::In(_) => test_number::IN,
        }
    }

    /// Its constants.
    pub(crate) fn constants(&self) -> &[Value] {
        match self {
            FilterTest::IsNull | FilterTest::IsNotNull => &[],
            FilterTest::Compare(_, value) => std::slice::from_ref(value),
            FilterTest::In(list) => list,
        }
    }

    /// The test of a number with its first constant, NULL where it has none.
    pub(crate) fn of_number(number: u8, constant: Value) -> Option<FilterTest> {
        Some(match number {
            test_number::IS_NULL => FilterTest::IsNull,
            test_number::IS_NOT_NULL => FilterTest::IsNotNull,
            test_number::IN => FilterTest::In(vec![constant]),
            op => FilterTest::Compare(*FilterOp::ALL.get(usize::from(op))?, constant),
        })
    }
}

impl IndexFilter {
    /// Does a row satisfy it? The values are those of the columns of its terms, one for each.
    pub fn accepts_values(&self, values: &[Value], collations: &[Collation]) -> bool {
        assert_eq!(
            (values.len(), collations.len()),
            (self.terms.len(), self.terms.len()),
            "one for each term"
        );
        self.terms.iter().enumerate().all(|(at, term)| term.test.accepts(&values[at], collations[at]))
    }

    /// Has it a condition on one of these columns?
    pub fn is_about(&self, ordinals: &[usize]) -> bool {
        self.terms.iter().any(|term| ordinals.contains(&term.ordinal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_satisfies_is_null_only() {
        let tests = [
            (FilterTest::IsNull, true, false),
            (FilterTest::IsNotNull, false, true),
            (FilterTest::Compare(FilterOp::NotEqual, Value::Int(5)), false, true),
            (FilterTest::Compare(FilterOp::Less, Value::Int(5)), false, true),
            (FilterTest::Compare(FilterOp::GreaterOrEqual, Value::Int(5)), false, false),
            (FilterTest::In(vec![Value::Int(5), Value::Int(4)]), false, true),
            (FilterTest::In(vec![Value::Int(5)]), false, false),
        ];
        for (test, of_null, of_four) in tests {
            assert_eq!(test.accepts(&Value::Null, Collation::DEFAULT), of_null, "{test:?} of NULL");
            assert_eq!(test.accepts(&Value::Int(4), Collation::DEFAULT), of_four, "{test:?} of 4");
        }
    }

    #[test]
    fn text_compares_as_the_column_does() {
        let open = FilterTest::Compare(FilterOp::Equal, Value::varchar("Open"));
        assert!(open.accepts(&Value::varchar("OPEN  "), Collation::DEFAULT));
        assert!(!open.accepts(&Value::varchar("closed"), Collation::DEFAULT));
    }
}
