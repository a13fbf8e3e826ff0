//! Plans as rows: the lines of SHOWPLAN_TEXT, the columns and rows of SHOWPLAN_ALL and STATISTICS PROFILE.

use query::ColumnDescription;
use query::showplan::{Operator, PlanColumn, StatementPlan};
use types::{SqlType, Value};

/// The lines of an operator tree; a vertical line connects an operator with the next input of its parent.
pub(crate) fn plan_lines(operator: &Operator, lead: &str, has_next: bool, lines: &mut Vec<String>) {
    lines.push(format!("{lead}|--{}", operator.text()));
    let inner = format!("{lead}{}", if has_next { "|    " } else { "     " });
    let last = operator.children.len().saturating_sub(1);
    for (index, child) in operator.children.iter().enumerate() {
        plan_lines(child, &inner, index < last, lines);
    }
}

/// Rows and executions of operators, in the order of their lines.
pub(crate) fn figures_of(operator: &Operator, figures: &mut Vec<Option<(u64, u64)>>) {
    figures.push(operator.actual.map(|actual| (actual.rows, actual.executions)));
    operator.children.iter().for_each(|child| figures_of(child, figures));
}

/// Columns of STATISTICS PROFILE before those of SHOWPLAN_ALL.
pub(crate) const PROFILE_COLUMNS: [(&str, SqlType); 2] =
    [("Rows", SqlType::BigInt), ("Executes", SqlType::BigInt)];

/// Columns of SHOWPLAN_ALL as documented.
pub(crate) const ALL_COLUMNS: [(&str, SqlType); 18] = [
    ("StmtText", SqlType::NVARCHAR_MAX),
    ("StmtId", SqlType::Int),
    ("NodeId", SqlType::Int),
    ("Parent", SqlType::Int),
    ("PhysicalOp", SqlType::SysName),
    ("LogicalOp", SqlType::SysName),
    ("Argument", SqlType::NVARCHAR_MAX),
    ("DefinedValues", SqlType::NVARCHAR_MAX),
    ("EstimateRows", SqlType::Real),
    ("EstimateIO", SqlType::Real),
    ("EstimateCPU", SqlType::Real),
    ("AvgRowSize", SqlType::Int),
    ("TotalSubtreeCost", SqlType::Real),
    ("OutputList", SqlType::NVARCHAR_MAX),
    ("Warnings", SqlType::NVARCHAR_MAX),
    ("Type", SqlType::SysName),
    ("Parallel", SqlType::Bit),
    ("EstimateExecutions", SqlType::Real),
];

pub(crate) fn column(name: &str, sql_type: SqlType) -> ColumnDescription {
    ColumnDescription {
        name: name.to_string(),
        sql_type,
        nullable: true,
        identity: false,
        updatable: false,
        computed: true,
        table: None,
    }
}

fn real(value: f64) -> Value {
    Value::Real(value.min(f64::from(f32::MAX)) as f32)
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::nvarchar(text) }
}

/// The rows of one statement: its text, then its operators.
pub(crate) fn all_rows(statement: &StatementPlan, id: i32, rows: &mut Vec<Vec<Value>>) {
    let first_node = i32::try_from(rows.len() + 1).unwrap_or(i32::MAX);
    let root = statement.root.as_ref();
    let of_root = |value: fn(&Operator) -> f64| root.map_or(Value::Null, |root| real(value(root)));
    rows.push(vec![
        Value::nvarchar(&statement.text),
        Value::Int(id),
        Value::Int(first_node),
        Value::Int(0),
        Value::Null,
        Value::Null,
        Value::nvarchar(&id.to_string()),
        Value::Null,
        of_root(|root| root.rows),
        Value::Null,
        Value::Null,
        Value::Null,
        of_root(Operator::subtree_cost),
        Value::Null,
        Value::Null,
        Value::nvarchar(statement.statement_type),
        Value::Bit(false),
        Value::Null,
    ]);
    let Some(root) = root else { return };
    let mut lines = Vec::new();
    plan_lines(root, "  ", false, &mut lines);
    let mut lines = lines.into_iter();
    operator_rows(root, id, first_node, &mut lines, rows);
}

fn operator_rows(
    operator: &Operator,
    id: i32,
    parent: i32,
    lines: &mut std::vec::IntoIter<String>,
    rows: &mut Vec<Vec<Value>>,
) {
    let node = i32::try_from(rows.len() + 1).unwrap_or(i32::MAX);
    let output: Vec<String> = operator.output.iter().map(PlanColumn::text).collect();
    rows.push(vec![
        Value::nvarchar(&lines.next().unwrap_or_default()),
        Value::Int(id),
        Value::Int(node),
        Value::Int(parent),
        Value::nvarchar(operator.physical),
        Value::nvarchar(operator.logical),
        text_or_null(&operator.argument),
        text_or_null(&operator.defined_text()),
        real(operator.rows),
        real(operator.io),
        real(operator.cpu),
        Value::Int(i32::try_from(operator.row_bytes()).unwrap_or(i32::MAX)),
        real(operator.subtree_cost()),
        text_or_null(&output.join(", ")),
        Value::Null,
        Value::nvarchar("PLAN_ROW"),
        Value::Bit(false),
        real(operator.executions),
    ]);
    operator.children.iter().for_each(|child| operator_rows(child, id, node, lines, rows));
}
