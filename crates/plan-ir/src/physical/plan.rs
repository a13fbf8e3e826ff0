//! The physical plan: operators and the programs of their expressions, immutable and shared, with positions instead of column numbers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{NumberStep, NumberSteps};
use types::arith::{BinaryOp, UnaryOp};
use types::{Collation, SqlType, Value};

pub use super::scan_columns::ScanColumns;
use crate::context::UserFunction;
use crate::function_def::FunctionDef;
use crate::kinds::{
    AggregateKind, CatalogReading, ColumnId, CompareOp, Conversion, JoinKind, ScanHints, WindowFrame,
};
use crate::rows_format::RowsFormat;
use crate::table::{SequenceSource, TableSource};
use crate::view::View;

/// An operator and its inputs.
#[derive(Debug)]
pub enum Plan {
    OneRow,
    /// No rows: a predicate was found false when bound.
    Empty,
    Values(Vec<Vec<Node>>),
    Scan(Box<ScanPlan>),
    System(Box<SystemPlan>),
    /// The table that a multi-statement table-valued function returns.
    FunctionTable(Box<FunctionTable>),
    Filter {
        input: Box<Plan>,
        predicate: BoolNode,
    },
    /// A predicate that reads nothing of the input's rows: it is judged before the input is started (`executor/src/startup.rs`).
    Startup {
        input: Box<Plan>,
        predicate: BoolNode,
    },
    Project {
        input: Box<Plan>,
        items: Vec<Node>,
    },
    NestedLoop(Box<NestedLoopPlan>),
    HashJoin(Box<HashJoinPlan>),
    MergeJoin(Box<MergeJoinPlan>),
    Aggregate(Box<AggregatePlan>),
    Window(Box<WindowPlan>),
    /// Adds the next value of a sequence to each row.
    NextValue {
        input: Box<Plan>,
        sequence: Arc<SequenceSource>,
    },
    /// FOR XML, FOR JSON: the rows as one text.
    Formatted {
        input: Box<Plan>,
        format: Arc<RowsFormat>,
    },
    Distinct {
        input: Box<Plan>,
        collations: Vec<Collation>,
        /// By the last column alone, a locator, which goes no further: the rows of a union of indexes.
        by_locator: bool,
    },
    Sort {
        input: Box<Plan>,
        keys: Vec<SortNode>,
        limit: Option<Node>,
    },
    /// Rows that come sorted by these keys: whoever asks for the order has it without a sort.
    Ordered {
        input: Box<Plan>,
        keys: Vec<SortNode>,
    },
    Top {
        input: Box<Plan>,
        count: Node,
        percent: bool,
        ties: Vec<SortNode>,
    },
    Offset {
        input: Box<Plan>,
        offset: Node,
        fetch: Option<Node>,
    },
    Concat(Box<Plan>, Box<Plan>),
    SetOp {
        intersect: bool,
        left: Box<Plan>,
        right: Box<Plan>,
        collations: Vec<Collation>,
    },
    Recursive {
        anchor: Box<Plan>,
        step: Box<Plan>,
        work: u32,
    },
    WorkTable(u32),
    /// Rows that the first read computes, kept under the number for all readers.
    Spool {
        input: Arc<Plan>,
        number: u32,
    },
    /// A tree over catalog views alone: as a whole it waits for uncommitted changes on which its rows depend.
    Catalog(Box<CatalogPlan>),
}

impl Plan {
    /// How many values its rows have; `None` where the plan alone does not tell.
    pub fn width(&self) -> Option<usize> {
        let joined = |kind: JoinKind, left: usize, right: usize| match kind {
            JoinKind::Semi | JoinKind::Anti => left,
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => left + right,
        };
        Some(match self {
            Plan::OneRow => 0,
            Plan::Empty | Plan::System(_) | Plan::WorkTable(_) => return None,
            Plan::FunctionTable(table) => table.function.columns.len(),
            Plan::Values(rows) => rows.first()?.len(),
            Plan::Scan(scan) => scan.columns.count + usize::from(scan.has_locators()),
            Plan::Project { items, .. } => items.len(),
            Plan::NestedLoop(join) => joined(join.kind, join.left_width, join.right_width),
            Plan::HashJoin(join) => joined(join.kind, join.left_width, join.right_width),
            Plan::MergeJoin(join) => joined(join.kind, join.left_width, join.right_width),
            Plan::Aggregate(aggregate) => aggregate.keys.len() + aggregate.aggregates.len(),
            Plan::Window(window) => window.input.width()? + window.calls.len(),
            Plan::Formatted { .. } => 1,
            Plan::NextValue { input, .. } => input.width()? + 1,
            Plan::Distinct { input, by_locator, .. } => input.width()? - usize::from(*by_locator),
            Plan::SetOp { collations, .. } => collations.len(),
            Plan::Filter { input, .. }
            | Plan::Startup { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Ordered { input, .. }
            | Plan::Top { input, .. }
            | Plan::Offset { input, .. } => return input.width(),
            Plan::Concat(input, _) | Plan::Recursive { anchor: input, .. } => return input.width(),
            Plan::Spool { input, .. } => return input.width(),
            Plan::Catalog(catalog) => return catalog.input.width(),
        })
    }

    /// The operators that it reads from; none of subqueries in its expressions.
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Plan::OneRow
            | Plan::Empty
            | Plan::Values(_)
            | Plan::Scan(_)
            | Plan::System(_)
            | Plan::FunctionTable(_)
            | Plan::WorkTable(_) => Vec::new(),
            Plan::Filter { input, .. }
            | Plan::Startup { input, .. }
            | Plan::Project { input, .. }
            | Plan::NextValue { input, .. }
            | Plan::Formatted { input, .. }
            | Plan::Distinct { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Ordered { input, .. }
            | Plan::Top { input, .. }
            | Plan::Offset { input, .. } => vec![&**input],
            Plan::Spool { input, .. } => vec![&**input],
            Plan::NestedLoop(join) => vec![&join.left, &join.right],
            Plan::HashJoin(join) => vec![&join.left, &join.right],
            Plan::MergeJoin(join) => vec![&join.left, &join.right],
            Plan::Aggregate(aggregate) => vec![&aggregate.input],
            Plan::Window(window) => vec![&window.input],
            Plan::Concat(left, right) | Plan::SetOp { left, right, .. } => vec![&**left, &**right],
            Plan::Recursive { anchor, step, .. } => vec![&**anchor, &**step],
            Plan::Catalog(catalog) => vec![&catalog.input],
        }
    }
}

/// See `executor/src/catalog.rs`.
pub struct CatalogPlan {
    pub input: Plan,
    /// The databases whose catalogs are read.
    pub databases: Vec<Arc<engine::Database>>,
}

impl std::fmt::Debug for CatalogPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.input)
    }
}

/// Nested loops; the right side is run once a left row, or kept in memory when it does not depend on it.
#[derive(Debug)]
pub struct NestedLoopPlan {
    pub kind: JoinKind,
    pub left: Plan,
    pub right: Plan,
    pub on: Option<BoolNode>,
    /// Left positions handed to the right side as parameters.
    pub pass: Vec<(usize, ColumnId)>,
    /// The right side does not depend on the left row: read it once.
    pub keep_right: bool,
    pub left_width: usize,
    pub right_width: usize,
}

/// Hash join: the right side is the build side.
#[derive(Debug)]
pub struct HashJoinPlan {
    /// The keys of its hash table may be a runtime filter for the scan of its left side.
    pub has_runtime_filter: bool,
    pub kind: JoinKind,
    pub left: Plan,
    pub right: Plan,
    pub left_keys: Vec<Node>,
    pub right_keys: Vec<Node>,
    pub collations: Vec<Collation>,
    pub key_kind: JoinKeyKind,
    pub residual: Option<BoolNode>,
    pub left_width: usize,
    pub right_width: usize,
}

/// Merge join: both sides come in the order of the keys.
#[derive(Debug)]
pub struct MergeJoinPlan {
    pub kind: JoinKind,
    pub left: Plan,
    pub right: Plan,
    pub keys: Vec<MergeKey>,
    /// No two left rows are equal in all keys.
    pub has_unique_left: bool,
    pub residual: Option<BoolNode>,
    pub left_width: usize,
    pub right_width: usize,
}

/// Columns of both sides that are equal, by their positions.
#[derive(Debug)]
pub struct MergeKey {
    pub left: usize,
    pub right: usize,
    pub descending: bool,
    pub collation: Collation,
}

/// How the keys of a hash join or a grouping are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKeyKind {
    /// As bytes.
    Bytes,
    /// One integer.
    Number,
    /// Two integers of at most 32 bits.
    Pair,
}

impl JoinKeyKind {
    /// The kind of keys of these types.
    pub fn of(types: &[SqlType]) -> JoinKeyKind {
        match types {
            [one] if IntKind::of(one).is_some() => JoinKeyKind::Number,
            [one, other]
                if [one, other]
                    .iter()
                    .all(|key| IntKind::of(key).is_some_and(|kind| kind != IntKind::Big)) =>
            {
                JoinKeyKind::Pair
            }
            _ => JoinKeyKind::Bytes,
        }
    }
}

/// Grouping; no keys means one group that always exists.
#[derive(Debug)]
pub struct AggregatePlan {
    pub input: Plan,
    /// The rows of a group come one behind the other. Otherwise groups are looked up in a hash table.
    pub is_in_order: bool,
    pub keys: Vec<Node>,
    pub collations: Vec<Collation>,
    pub key_kind: JoinKeyKind,
    pub aggregates: Vec<AggregateNode>,
}

/// A compiled aggregate.
#[derive(Debug)]
pub struct AggregateNode {
    pub kind: AggregateKind,
    pub argument: Option<Node>,
    pub argument_type: SqlType,
    pub separator: Option<Node>,
    pub distinct: bool,
    pub order: Vec<SortNode>,
    pub collation: Collation,
    pub sql_type: SqlType,
}

/// Window functions over one partitioning and order.
#[derive(Debug)]
pub struct WindowPlan {
    pub input: Plan,
    /// Rows come sorted by `partition` and `order`.
    pub is_in_order: bool,
    pub partition: Vec<Node>,
    pub partition_collations: Vec<Collation>,
    pub order: Vec<SortNode>,
    pub calls: Vec<WindowNode>,
}

impl WindowPlan {
    /// Nothing but numbers for rows as they come: none waits for a later one.
    pub fn only_numbers_rows(&self) -> bool {
        self.partition.is_empty()
            && (self.is_in_order || self.order.is_empty())
            && self.calls.iter().all(|call| matches!(call.kind, WindowNodeKind::RowNumber))
    }
}

/// A compiled window function.
#[derive(Debug)]
pub struct WindowNode {
    pub kind: WindowNodeKind,
    pub frame: WindowFrame,
}

/// Which one.
#[derive(Debug)]
pub enum WindowNodeKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Tile(Node),
    Shift { value: Node, offset: Node, default: Option<Node>, lead: bool, ignores_nulls: bool },
    Edge { value: Node, last: bool, ignores_nulls: bool },
    Aggregate(AggregateNode),
}

/// A compiled sort key.
#[derive(Debug)]
pub struct SortNode {
    pub node: Node,
    pub descending: bool,
    pub collation: Collation,
}

/// A plan used by an expression.
#[derive(Debug)]
pub struct SubPlan {
    pub plan: Arc<Plan>,
    /// Position of its single value in its rows.
    pub column: usize,
    /// Positions of the current row handed in as parameters.
    pub pass: Vec<(usize, ColumnId)>,
    /// It depends on nothing outside: run once and kept, under this number.
    pub constant: Option<u32>,
}

/// A compiled expression that gives a value.
#[derive(Debug)]
pub enum Node {
    Constant(Value),
    Variable(usize),
    /// Position in the current row.
    Column(usize),
    /// Value of an outer row's column.
    Param(usize),
    NextValue(std::sync::Arc<crate::table::SequenceSource>),
    /// Integers of 8 to 64 bits, evaluated without building values.
    Integer(Box<IntNode>, IntKind),
    Binary(Box<BinaryNode>),
    Unary(UnaryOp, Box<Node>, SqlType),
    Convert(Box<ConvertNode>),
    /// A predicate as a bit: TRUE 1, FALSE and UNKNOWN 0 or NULL by context.
    Predicate(Box<BoolNode>),
    Case(Vec<(BoolNode, Node)>, Option<Box<Node>>),
    Coalesce(Vec<Node>),
    Call(Box<CallNode>),
    UserCall(Box<UserCallNode>),
    Scalar(Box<SubPlan>),
}

/// Integer width, for overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntKind {
    Tiny,
    Small,
    Int,
    Big,
}

/// A compiled integer expression; NULL is `None`.
#[derive(Debug)]
pub enum IntNode {
    Constant(i64),
    Null,
    Variable(usize),
    Column(usize),
    Param(usize),
    Binary(BinaryOp, IntKind, Box<IntNode>, Box<IntNode>),
    /// Variable and constant: the commonest loop step.
    VariablePlus(IntKind, usize, i64),
    Negate(IntKind, Box<IntNode>),
    /// Narrowing among integer types with overflow check; widening needs no node.
    Narrow(IntKind, Box<IntNode>),
    Other(Node),
}

/// A compiled predicate; UNKNOWN is `None`.
#[derive(Debug)]
pub enum BoolNode {
    Constant(Option<bool>),
    CompareInt(CompareOp, IntNode, IntNode),
    /// Variable against constant.
    VariableInt(CompareOp, usize, i64),
    Compare(CompareOp, Collation, Node, Node),
    And(Box<BoolNode>, Box<BoolNode>),
    Or(Box<BoolNode>, Box<BoolNode>),
    Not(Box<BoolNode>),
    /// TRUE where the condition fails.
    Tolerant(Box<BoolNode>),
    IsNull(Node),
    Like(Box<LikeNode>),
    InList(Collation, Node, Vec<Node>),
    /// IN over many constants: memcomparable keys in a set.
    InSet(Collation, Node, Box<InSet>),
    Exists(Box<SubPlan>),
    Any(CompareOp, Collation, Node, Box<SubPlan>),
    All(CompareOp, Collation, Node, Box<SubPlan>),
    /// A bit value used as a predicate inside our own rewrites.
    Value(Node),
}

/// Keys of the constants of an IN list.
#[derive(Debug)]
pub struct InSet {
    pub keys: rustc_hash::FxHashSet<Vec<u8>>,
    pub has_null: bool,
}

/// Arithmetic outside the integer fast path.
#[derive(Debug)]
pub struct BinaryNode {
    pub op: BinaryOp,
    pub left: Node,
    pub right: Node,
    pub result: SqlType,
}

/// Conversion.
#[derive(Debug)]
pub struct ConvertNode {
    pub input: Node,
    pub from: SqlType,
    pub to: SqlType,
    pub conversion: Conversion,
}

/// LIKE.
#[derive(Debug)]
pub struct LikeNode {
    pub input: Node,
    pub pattern: Node,
    pub escape: Option<Node>,
    pub collation: Collation,
    /// The pattern, where it is a constant without an escape character.
    pub known: Option<types::LikePattern>,
}

/// A call of a registered function.
#[derive(Debug)]
pub struct CallNode {
    pub function: &'static FunctionDef,
    pub arguments: Vec<Node>,
    pub argument_types: Vec<SqlType>,
    pub result: SqlType,
    pub collation: Collation,
}

/// A call of a scalar function that a user has created; the arguments have the types of its parameters.
#[derive(Debug)]
pub struct UserCallNode {
    pub function: Arc<UserFunction>,
    pub arguments: Vec<Node>,
}

/// Running a multi-statement table-valued function.
#[derive(Debug)]
pub struct FunctionTable {
    pub function: Arc<UserFunction>,
    pub arguments: Vec<Node>,
    /// The parts of conditions above that read its rows alone.
    pub filter: Option<BoolNode>,
}

impl IntKind {
    /// The kind of an integer type.
    #[inline]
    pub fn of(sql_type: &SqlType) -> Option<IntKind> {
        match sql_type {
            SqlType::TinyInt => Some(IntKind::Tiny),
            SqlType::SmallInt => Some(IntKind::Small),
            SqlType::Int => Some(IntKind::Int),
            SqlType::BigInt => Some(IntKind::Big),
            _ => None,
        }
    }

    /// Smallest and greatest value.
    #[inline]
    pub fn range(self) -> (i64, i64) {
        match self {
            IntKind::Tiny => (0, u8::MAX as i64),
            IntKind::Small => (i16::MIN as i64, i16::MAX as i64),
            IntKind::Int => (i32::MIN as i64, i32::MAX as i64),
            IntKind::Big => (i64::MIN, i64::MAX),
        }
    }

    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            IntKind::Tiny => "tinyint",
            IntKind::Small => "smallint",
            IntKind::Int => "int",
            IntKind::Big => "bigint",
        }
    }

    /// The value of this width.
    #[inline]
    pub fn value(self, number: i64) -> Value {
        match self {
            IntKind::Tiny => Value::TinyInt(number as u8),
            IntKind::Small => Value::SmallInt(number as i16),
            IntKind::Int => Value::Int(number as i32),
            IntKind::Big => Value::BigInt(number),
        }
    }
}

/// Reading a table.
#[derive(Debug)]
pub struct ScanPlan {
    pub source: Arc<TableSource>,
    pub hints: ScanHints,
    pub path: AccessPath,
    /// The columns of its rows.
    pub columns: ScanColumns,
    /// Evaluated on each row.
    pub filter: Option<BoolNode>,
    /// The filter in two parts (pushed predicate and rest), where rows are read in place and may be many.
    pub pushed: Option<PushedPredicate>,
    /// The row's locator follows the columns: it is to be changed.
    pub locator: bool,
    /// The row's locator itself follows the columns: the union that this is a branch of gives each row once.
    pub names_rows: bool,
    /// It is for a change and finds by the whole clustered key, and nothing but that, the one row there is: it locks it as the change will, not to look
    /// at it first. Two that have read a row and change it so do not wait for each other in a circle.
    pub locks_for_change: bool,
    /// The index that is sought has all columns that are wanted: the row itself is not looked at, nor locked.
    pub is_covered: bool,
    /// A second index: only rows that its entries name, too, are looked up. All of them are judged by the filter.
    pub other_index: Option<OtherIndex>,
    /// The index is read from its end.
    pub backward: bool,
    /// Estimated rows, for showplan.
    pub rows: f64,
    /// An index that is not there and would have been cheaper.
    pub missing: Option<Box<Missing>>,
}

/// An index that a plan wishes for.
#[derive(Debug)]
pub struct Missing {
    pub index: engine::MissingIndex,
    /// The estimated cost without the index, and the estimated saving in per cent.
    pub cost: f64,
    pub impact: f64,
    /// Has a run of the plan been told of?
    pub is_told: AtomicBool,
}

impl ScanPlan {
    /// Does a locator follow the columns of each row?
    pub fn has_locators(&self) -> bool {
        self.locator || self.names_rows
    }

    /// Is nothing wanted of its rows but their number?
    pub fn counts_only(&self) -> bool {
        self.columns.listed.as_ref().is_some_and(|columns| columns.is_empty()) && !self.has_locators()
    }
}

/// Ranges of an index whose entries name rows.
#[derive(Debug)]
pub struct OtherIndex {
    pub index_id: i32,
    pub ranges: Vec<SeekRange>,
    /// Estimated entries.
    pub rows: f64,
}

/// How.
#[derive(Debug)]
pub enum AccessPath {
    /// All rows.
    Scan,
    /// Rows of an index between keys.
    Seek { index_id: i32, ranges: Vec<SeekRange> },
}

impl AccessPath {
    /// Is an index sought?
    pub fn is_seek(&self) -> bool {
        matches!(self, AccessPath::Seek { .. })
    }
}

/// One range of keys: equal prefix, then perhaps bounds on the next column.
#[derive(Debug)]
pub struct SeekRange {
    pub equal: Vec<SeekKey>,
    pub lower: Option<(SeekKey, bool)>,
    pub upper: Option<(SeekKey, bool)>,
    /// The pattern of a LIKE on the next column.
    pub like: Option<SeekKey>,
}

impl SeekRange {
    /// Are its keys the first ones of an index with so many key columns, its bounds on the next one, and a pattern in their place?
    pub fn fits(&self, key_columns: usize) -> bool {
        let is_bounded = self.lower.is_some() || self.upper.is_some();
        let next = usize::from(is_bounded || self.like.is_some());
        self.equal.len() + next <= key_columns && !(is_bounded && self.like.is_some())
    }
}

/// A key value, computed when the seek starts and brought to the column's type.
#[derive(Debug)]
pub struct SeekKey {
    pub node: Node,
    pub from: SqlType,
    pub to: SqlType,
    pub collation: Collation,
}

/// Reading a system view.
pub struct SystemPlan {
    pub view: &'static View,
    pub database: Arc<engine::Database>,
    pub arguments: Vec<Node>,
    pub filter: Option<BoolNode>,
    pub reading: CatalogReading,
    /// Bounds that a streaming function can use: position of the column, kind of bound, value.
    pub bounds: Vec<(usize, crate::view::stream::BoundKind, Node)>,
    /// The columns whose values matter; `None`: all.
    pub wanted: Option<Vec<usize>>,
}

impl std::fmt::Debug for SystemPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.view)
    }
}

/// A filter taken apart for the pushed predicate. What the whole one says, both parts together say.
#[derive(Debug)]
pub struct PushedPredicate {
    pub conditions: Vec<PushedCondition>,
    pub rest: Option<BoolNode>,
}

/// A condition on a column that the pushed predicate can judge.
#[derive(Debug)]
pub struct PushedCondition {
    pub ordinal: usize,
    pub kind: PushedConditionKind,
}

impl PushedPredicate {
    /// Do all conditions compare with constants?
    pub fn is_constant(&self) -> bool {
        self.conditions.iter().all(PushedCondition::is_constant)
    }
}

impl PushedCondition {
    fn is_constant(&self) -> bool {
        let is_constant = |node: &Node| matches!(node, Node::Constant(_));
        match &self.kind {
            PushedConditionKind::Null { .. }
            | PushedConditionKind::CompareColumn { .. }
            | PushedConditionKind::Like { .. } => true,
            PushedConditionKind::Compare { value, .. } => is_constant(value),
            PushedConditionKind::OneOf { values, .. } => values.iter().all(is_constant),
            PushedConditionKind::Computed { steps, test, .. } => {
                let is_test_constant = match test {
                    PushedTest::Compare { value, .. } => is_constant(value),
                    PushedTest::OneOf { values, .. } => values.iter().all(is_constant),
                };
                is_test_constant && steps.iter().all(|step| is_constant(&step.operand))
            }
            PushedConditionKind::Any(branches) => branches.iter().flatten().all(PushedCondition::is_constant),
        }
    }
}

/// Which condition.
#[derive(Debug)]
pub enum PushedConditionKind {
    Null {
        is_null: bool,
    },
    Compare {
        op: CompareOp,
        value: Node,
        collation: Collation,
    },
    /// Against another column of the row.
    CompareColumn {
        op: CompareOp,
        other: usize,
    },
    /// IN, or NOT IN.
    OneOf {
        values: Vec<Node>,
        collation: Collation,
        is_negated: bool,
    },
    /// LIKE with a pattern that is known, or NOT LIKE.
    Like {
        pattern: Arc<types::LikePattern>,
        is_negated: bool,
    },
    /// Of what is computed of the column, of that type.
    Computed {
        kind: IntKind,
        steps: Vec<PushedStep>,
        test: PushedTest,
    },
    /// All conditions of one of these lists hold.
    Any(Vec<Vec<PushedCondition>>),
}

/// One step of what is computed of an integer column.
#[derive(Debug)]
pub struct PushedStep {
    pub op: BinaryOp,
    /// The type of what comes of it.
    pub kind: IntKind,
    pub operand: Node,
    /// The operand is on the left.
    pub is_flipped: bool,
}

impl PushedStep {
    /// The step with the number that its operand is; `None`: the pushed predicate knows none like it.
    pub fn with(&self, operand: i64) -> Option<NumberStep> {
        Some(match (self.op, self.is_flipped) {
            (BinaryOp::Add, _) => NumberStep::Add(operand),
            (BinaryOp::Subtract, false) => NumberStep::Subtract(operand),
            (BinaryOp::Subtract, true) => NumberStep::SubtractFrom(operand),
            (BinaryOp::Multiply, _) => NumberStep::Multiply(operand),
            (BinaryOp::Divide, false) => NumberStep::Divide(operand),
            (BinaryOp::Modulo, false) => NumberStep::Modulo(operand),
            (BinaryOp::BitAnd, _) => NumberStep::And(operand),
            (BinaryOp::BitOr, _) => NumberStep::Or(operand),
            (BinaryOp::BitXor, _) => NumberStep::Xor(operand),
            _ => return None,
        })
    }

    /// Can all steps be computed of every number of a column of that type?
    pub fn are_safe(kind: IntKind, steps: &[PushedStep]) -> bool {
        let mut known = NumberSteps::default();
        for step in steps {
            let Node::Constant(operand) = &step.operand else { return false };
            let Some(step_known) = operand.as_i64().and_then(|operand| step.with(operand)) else {
                return false;
            };
            let (low, high) = step.kind.range();
            known.push(step_known, low, high);
        }
        let (low, high) = kind.range();
        known.is_safe(low, high)
    }
}

/// The test of a computed value.
#[derive(Debug)]
pub enum PushedTest {
    Compare { op: CompareOp, value: Node },
    OneOf { values: Vec<Node>, is_negated: bool },
}
