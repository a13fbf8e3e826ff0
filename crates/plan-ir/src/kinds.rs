//! Types that the bound tree and the physical plan share: column numbers, comparisons, conversions, kinds of join and aggregate, hints of tables.

use engine::IsolationLevel;
use types::{Collation, SqlError};

/// Identifies one column of one row source inside one statement. Positions come only when a plan is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

/// Whence an expression of text has its collation: what decides beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coercibility {
    /// The database's, of what names no column of text.
    #[default]
    Default,
    /// A column's.
    Implicit,
    /// COLLATE asked for it.
    Explicit,
    /// It has none: columns disagree, the expression's collation and this one, in the operator of this name.
    Unresolved(Collation, &'static str),
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl CompareOp {
    /// Does `ordering` of left against right satisfy the operator?
    #[inline]
    pub fn accepts(self, ordering: std::cmp::Ordering) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            CompareOp::Equal => ordering == Equal,
            CompareOp::NotEqual => ordering != Equal,
            CompareOp::Less => ordering == Less,
            CompareOp::LessOrEqual => ordering != Greater,
            CompareOp::Greater => ordering == Greater,
            CompareOp::GreaterOrEqual => ordering != Less,
        }
    }

    /// As messages 402 and 468 name it.
    pub fn name(self) -> &'static str {
        match self {
            CompareOp::Equal => "equal to",
            CompareOp::NotEqual => "not equal to",
            CompareOp::Less => "less than",
            CompareOp::LessOrEqual => "less than or equal to",
            CompareOp::Greater => "greater than",
            CompareOp::GreaterOrEqual => "greater than or equal to",
        }
    }

    /// The operator with its sides exchanged.
    pub fn flipped(self) -> CompareOp {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
            same => same,
        }
    }

    /// NOT applied to the operator.
    pub fn negated(self) -> CompareOp {
        match self {
            CompareOp::Equal => CompareOp::NotEqual,
            CompareOp::NotEqual => CompareOp::Equal,
            CompareOp::Less => CompareOp::GreaterOrEqual,
            CompareOp::LessOrEqual => CompareOp::Greater,
            CompareOp::Greater => CompareOp::LessOrEqual,
            CompareOp::GreaterOrEqual => CompareOp::Less,
        }
    }
}

/// How a conversion was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    pub kind: ConversionKind,
    /// Style of CONVERT, `types::DEFAULT_STYLE` when none.
    pub style: i32,
}

/// The kinds of conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionKind {
    /// Inserted by the binder; silent truncation of strings is not an error in expressions.
    Implicit,
    /// CAST or CONVERT.
    Explicit,
    /// TRY_CAST or TRY_CONVERT: failure is NULL.
    Try,
    /// Store into a column or a variable.
    Assign,
}

impl Conversion {
    pub const IMPLICIT: Conversion =
        Conversion { kind: ConversionKind::Implicit, style: types::DEFAULT_STYLE };
}

/// How an INSERT treats the identity column.
#[derive(Clone, Copy, Debug)]
pub struct IdentityRule {
    /// It gives it a value.
    pub is_given: bool,
    /// It names its columns.
    pub has_list: bool,
}

/// Table hints that change locking or access.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanHints {
    pub isolation: Option<engine::IsolationLevel>,
    /// READCOMMITTEDLOCK: READ COMMITTED with locks, whatever the database does.
    pub locks_committed: bool,
    pub update_lock: bool,
    pub exclusive_lock: bool,
    pub table_lock: bool,
    pub read_past: bool,
    pub no_wait: bool,
    /// INDEX (..): empty when nothing is said.
    pub indexes: Vec<HintedIndex>,
    /// FORCESEEK (index (columns)): only looked at for what is not there; the plan is chosen by cost.
    pub seek: Option<(HintedIndex, Vec<String>)>,
}

/// An index as a hint names it.
#[derive(Clone, Debug, PartialEq)]
pub enum HintedIndex {
    Name(String),
    /// `index_id`; 0 is a scan of the heap or clustered index.
    Number(i32),
}

impl ScanHints {
    /// The numbers of the indexes that INDEX (..) asks for. Errors 307, 308, 315; of FORCESEEK also 362, 365, 10749.
    pub fn hinted(&self, table: &engine::TableDef) -> Result<Vec<i32>, SqlError> {
        let number = |hint: &HintedIndex| {
            let found = match hint {
                HintedIndex::Number(0) => return Ok(0),
                HintedIndex::Number(id) => table.index(*id),
                HintedIndex::Name(name) => table.index_named(name),
            };
            match (found, hint) {
                (Some(index), _) if index.is_disabled => {
                    let name = index.name.clone().unwrap_or_default();
                    Err(SqlError::new(315, &[&name, &table.qualified_name()]))
                }
                (Some(index), _) => Ok(index.index_id),
                (None, HintedIndex::Number(id)) => Err(SqlError::new(307, &[id, &table.qualified_name()])),
                (None, HintedIndex::Name(name)) => Err(SqlError::new(308, &[name, &table.qualified_name()])),
            }
        };
        if let Some((hint, columns)) = &self.seek {
            check_seek(table, number(hint)?, hint, columns)?;
        }
        self.indexes.iter().map(number).collect()
    }

    /// READPAST needs READ COMMITTED or REPEATABLE READ, or SNAPSHOT with a hint that locks rows: 650.
    pub fn check_level(&self, level: IsolationLevel, locks_rows: bool) -> Result<(), SqlError> {
        let is_allowed = match level {
            IsolationLevel::ReadCommitted | IsolationLevel::RepeatableRead => true,
            IsolationLevel::Snapshot => locks_rows,
            IsolationLevel::ReadUncommitted | IsolationLevel::Serializable => false,
        };
        if self.read_past && !is_allowed { Err(crate::errors::read_past_level()) } else { Ok(()) }
    }
}

/// The columns that FORCESEEK names are the first of the index's key, in its order. Errors 362, 365, 10749.
fn check_seek(
    table: &engine::TableDef,
    index_id: i32,
    hint: &HintedIndex,
    columns: &[String],
) -> Result<(), SqlError> {
    let Some(index) = table.index(index_id).filter(|_| index_id != 0) else {
        return Err(SqlError::new(10749, &[]));
    };
    let shown = match hint {
        HintedIndex::Name(name) => name.clone(),
        HintedIndex::Number(number) => number.to_string(),
    };
    if columns.len() > index.key.len() {
        return Err(SqlError::new(365, &[&table.name, &shown]));
    }
    let is_other = |(name, key): &(&String, &engine::IndexColumn)| {
        !crate::names::same_name(name, &table.columns[key.ordinal].name)
    };
    match columns.iter().zip(&index.key).find(is_other) {
        Some((name, _)) => Err(SqlError::new(362, &[name, &table.name, &shown])),
        None => Ok(()),
    }
}

/// How a catalog view treats uncommitted changes of other transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogReading {
    /// It waits until they end, if its answer depends on them.
    Settled,
    /// NOLOCK: the change.
    Uncommitted,
    /// READPAST: nothing of it.
    SkipUnsettled,
}

/// Kinds of join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Full,
    /// Left rows that have a match, once.
    Semi,
    /// Left rows that have none.
    Anti,
}

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    CountRows,
    Count,
    Sum,
    Average,
    Minimum,
    Maximum,
    StandardDeviation,
    StandardDeviationPopulation,
    Variance,
    VariancePopulation,
    StringAgg,
    ChecksumAgg,
}

/// ROWS or RANGE frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowFrame {
    pub rows: bool,
    pub start: FrameBound,
    pub end: FrameBound,
}

/// End of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(u64),
    Current,
    Following(u64),
    UnboundedFollowing,
}
