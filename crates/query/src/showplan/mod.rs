//! Showplan: a plan as SQL Server's operators with their arguments and estimates, for SET SHOWPLAN_TEXT, _ALL and _XML.
//!
//! A compiled statement is described from its plan on request; no part of the description is kept with plans that run.

mod actual;
mod backward;
mod change;
mod expressions;
mod operators;
mod plan_hash;
mod scalar;
mod several;
mod writer;
mod xml;

use plan_ir::context::VariableDef;
use plan_ir::physical::plan::SubPlan;
use plan_ir::profile::{Actual, Profile};
use rustc_hash::FxHashMap;

use crate::statement::{CompiledStatement, StatementKind};

pub use scalar::{PlanColumn, Scalar};
pub use xml::batch_document;

/// One statement of a batch.
#[derive(Clone, Debug)]
pub struct StatementPlan {
    /// As written.
    pub text: String,
    /// `SELECT`, `INSERT`, `COND`, `ASSIGN`, ...
    pub statement_type: &'static str,
    /// Its operators; none for statements without a plan.
    pub root: Option<Operator>,
}

/// An operator with its inputs.
#[derive(Clone, Debug)]
pub struct Operator {
    /// `Clustered Index Seek`
    pub physical: &'static str,
    /// `Inner Join`
    pub logical: &'static str,
    /// What StmtText shows in the parentheses behind the operators.
    pub argument: String,
    /// Values that it makes.
    pub defined: Vec<(PlanColumn, Scalar)>,
    /// Columns of its rows.
    pub output: Vec<PlanColumn>,
    /// Estimated rows.
    pub rows: f64,
    /// Estimated cost of input and output.
    pub io: f64,
    /// Estimated cost of computing.
    pub cpu: f64,
    /// How often it is run.
    pub executions: f64,
    /// What it has done in a run, where that was counted.
    pub actual: Option<Actual>,
    /// Inputs.
    pub children: Vec<Operator>,
    objects: Vec<PlanObject>,
    predicate: Option<Scalar>,
    shape: Shape,
}

/// A table or index that is read or changed.
#[derive(Clone, Debug)]
struct PlanObject {
    names: Vec<String>,
    index: Option<String>,
    kind: Option<&'static str>,
}

/// A seek into an index: equal columns first, then bounds on the next one.
#[derive(Clone, Debug, Default)]
struct Seek {
    prefix: Vec<(PlanColumn, Scalar)>,
    /// Element, comparison, column and value.
    bounds: Vec<(&'static str, &'static str, (PlanColumn, Scalar))>,
}

/// What XML shows of an operator in its own element.
#[derive(Clone, Debug)]
enum Shape {
    TableScan,
    IndexScan { seeks: Vec<Seek>, lookup: bool, backward: bool },
    Filter { is_startup: bool },
    Compute(&'static str),
    Constant { rows: Vec<Vec<Scalar>> },
    Loops { outer: Vec<PlanColumn> },
    Hash { build: Vec<PlanColumn>, probe: Vec<PlanColumn> },
    Merge { outer: Vec<PlanColumn>, inner: Vec<PlanColumn>, many_to_many: bool },
    StreamAggregate { keys: Vec<PlanColumn> },
    Sort { keys: Vec<(PlanColumn, bool)>, limit: Option<i32> },
    Top { offset: Option<Scalar>, count: Option<Scalar>, percent: bool, ties: Vec<PlanColumn> },
    Segment { keys: Vec<PlanColumn>, segment: PlanColumn },
    Concatenation,
    Spool { stack: bool },
    Function,
    Update,
}

/// Describes one statement.
struct Describer<'p> {
    variables: &'p [VariableDef],
    last_expression: u32,
    /// Columns of outer rows that inner operators may read.
    outer: FxHashMap<usize, PlanColumn>,
    /// Those that have been read.
    outer_used: Vec<PlanColumn>,
    /// Subqueries met in expressions, with the join that stands for each and the name of its result.
    subqueries: Vec<(&'p SubPlan, &'static str, PlanColumn)>,
    /// Columns and rows of what is kept for several places, by its number.
    kept: FxHashMap<u32, (Vec<PlanColumn>, f64)>,
    /// What a run has done.
    profile: Option<&'p Profile>,
}

impl<'p> Describer<'p> {
    fn new(variables: &'p [VariableDef]) -> Describer<'p> {
        Describer {
            variables,
            last_expression: 1000,
            outer: FxHashMap::default(),
            outer_used: Vec::new(),
            subqueries: Vec::new(),
            kept: FxHashMap::default(),
            profile: None,
        }
    }

    fn statement(&mut self, statement: &'p CompiledStatement) -> Option<Operator> {
        match &statement.kind {
            StatementKind::Select(select) => Some(self.plan(&select.plan).0),
            StatementKind::Assign(assign) => Some(self.assignment(&assign.plan, &assign.items)),
            StatementKind::Insert(insert) => Some(self.insert(insert)),
            StatementKind::Update(update) => Some(self.update(update)),
            StatementKind::Delete(delete) => Some(self.delete(delete)),
            StatementKind::Merge(merge) => Some(self.merge(merge)),
            StatementKind::SelectInto(into) => Some(self.select_into(into)),
            StatementKind::Truncate(_) => None,
        }
    }

    fn new_expression(&mut self) -> PlanColumn {
        self.last_expression += 1;
        PlanColumn::expression(format!("Expr{}", self.last_expression))
    }
}

impl PlanObject {
    /// `[db].[schema].[table].[index]`
    fn text(&self) -> String {
        let parts: Vec<String> =
            self.names.iter().chain(&self.index).map(|part| scalar::quoted(part)).collect();
        parts.join(".")
    }

    fn parts(&self) -> Vec<(&'static str, String)> {
        let names: &[&str] = match self.names.len() {
            3 => &["Database", "Schema", "Table"],
            2 => &["Schema", "Table"],
            _ => &["Table"],
        };
        let mut parts: Vec<(&'static str, String)> =
            names.iter().copied().zip(self.names.iter().map(|name| scalar::quoted(name))).collect();
        parts.extend(self.index.iter().map(|index| ("Index", scalar::quoted(index))));
        parts.extend(self.kind.map(|kind| ("IndexKind", kind.to_string())));
        parts
    }
}

impl Operator {
    /// Cost of it and everything below.
    pub fn subtree_cost(&self) -> f64 {
        let own = (self.io + self.cpu) * self.executions.max(1.0);
        own + self.children.iter().map(Operator::subtree_cost).sum::<f64>()
    }

    /// Estimated bytes of a row.
    pub fn row_bytes(&self) -> u32 {
        9 + 8 * u32::try_from(self.output.len()).unwrap_or(u32::MAX / 16)
    }

    /// `Nested Loops(Inner Join, OUTER REFERENCES:(..))` as StmtText shows it.
    pub fn text(&self) -> String {
        let is_join = self.logical.ends_with("Join");
        let names_both = is_join || (self.physical != self.logical && self.shows_logical());
        match (names_both, self.argument.is_empty()) {
            (true, true) => format!("{}({})", self.physical, self.logical),
            (true, false) => format!("{}({}, {})", self.physical, self.logical, self.argument),
            (false, true) => self.physical.to_string(),
            (false, false) => format!("{}({})", self.physical, self.argument),
        }
    }

    /// Physical operators that carry out several logical ones name theirs.
    fn shows_logical(&self) -> bool {
        matches!(self.physical, "Hash Match" | "Table Spool" | "Index Spool")
            || matches!(self.logical, "TopN Sort")
    }

    /// `OBJECT:(..)` with further arguments; for DefinedValues and Argument.
    pub fn defined_text(&self) -> String {
        let each: Vec<String> = self
            .defined
            .iter()
            .map(|(column, value)| format!("{}={}", column.text(), value.text()))
            .collect();
        each.join(", ")
    }
}

impl CompiledStatement {
    /// Its operators, if it has a plan.
    pub fn describe(&self, variables: &[VariableDef]) -> Option<Operator> {
        Describer::new(variables).statement(self)
    }

    /// What showplan calls the kind of statement.
    pub fn statement_type(&self) -> &'static str {
        match &self.kind {
            StatementKind::Select(_) | StatementKind::Assign(_) => "SELECT",
            StatementKind::Insert(_) => "INSERT",
            StatementKind::Update(_) => "UPDATE",
            StatementKind::Delete(_) => "DELETE",
            StatementKind::Merge(_) => "MERGE",
            StatementKind::SelectInto(_) => "SELECT INTO",
            StatementKind::Truncate(_) => "TRUNCATE TABLE",
        }
    }
}
