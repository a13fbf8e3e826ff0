//! The column names under which a query shows the table that is changed through it, and the query's conditions on changed rows.

use std::sync::Arc;

use plan_ir::bound::change::RowConditions;
use plan_ir::bound::reads::expr_reads_table;
use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::ColumnId;
use plan_ir::names::same_name;
use plan_ir::table::TableSource;
use rustc_hash::FxHashMap;
use types::SqlError;

/// A query under a name; its tree is known by the first column that it gives.
#[derive(Clone, Debug)]
pub struct NamedQuery {
    pub name: String,
    /// It has other messages than a view, a function or a common table expression.
    pub is_derived: bool,
    pub has_check_option: bool,
}

/// The names under which a changed table's columns are seen, when it is reached through a query.
#[derive(Clone)]
pub struct Through {
    pub(super) query: NamedQuery,
    pub columns: Vec<ThroughColumn>,
    /// The definitions of the query's columns by the projections above the table.
    pub(super) definitions: Definitions,
    /// Conditions of WITH CHECK OPTION over the table's columns.
    pub(super) checks: Vec<Expr>,
    /// The table's columns in `checks` and `definitions`.
    pub(super) table_columns: Vec<ColumnId>,
}

/// A column of the query.
#[derive(Clone, Debug)]
pub struct ThroughColumn {
    pub name: String,
    pub id: ColumnId,
    pub is_identity: bool,
    /// The column of the table that it is; none when it is derived or of another table.
    pub ordinal: Option<usize>,
}

pub(super) type Definitions = FxHashMap<ColumnId, Expr>;

impl Through {
    /// The table's column behind one of the query's. Errors 207, 4406, 4421.
    pub fn ordinal(&self, name: &str) -> Result<usize, SqlError> {
        let column = self.columns.iter().find(|column| same_name(&column.name, name));
        let column = column.ok_or_else(|| plan_ir::errors::invalid_column(name))?;
        column.ordinal.ok_or_else(|| self.query.derived_column())
    }

    /// The value of one of the query's columns for a row of the table with other values: `inserted` gives the id of each of the table's
    /// columns. What comes from elsewhere stays as it was found. Error 4186 for columns that are subqueries.
    pub fn value_over(&self, id: ColumnId, inserted: &[ColumnId]) -> Result<Expr, SqlError> {
        let definition = self.definitions.get(&id).expect("a query's columns are those of its projection");
        let mut value = expanded(definition, &self.definitions);
        if value.has_subquery() {
            let name = self.columns.iter().find(|column| column.id == id).map_or("", |column| &column.name);
            return Err(SqlError::new(4186, &[&"inserted", &name]));
        }
        value.rewrite(&mut |part| match &part.kind {
            ExprKind::Column(id) => {
                let ordinal = self.table_columns.iter().position(|own| own == id)?;
                Some(Expr { kind: ExprKind::Column(inserted[ordinal]), ..part.clone() })
            }
            _ => None,
        });
        Ok(value)
    }

    /// The conditions of WITH CHECK OPTION, over a row of the table. `statement` is the tree that finds the rows to change: error 4415 when
    /// it reads the table once more.
    pub fn row_conditions(
        &self,
        source: &TableSource,
        statement: Option<&Rel>,
    ) -> Result<RowConditions, SqlError> {
        let times = statement.map_or(0, |rel| times_read(rel, source));
        if !self.checks.is_empty()
            && (times > 1 || self.checks.iter().any(|check| expr_reads_table(check, source)))
        {
            return Err(SqlError::new(4415, &[&self.query.name]));
        }
        Ok(RowConditions { columns: self.table_columns.clone(), conditions: self.checks.clone() })
    }
}

impl NamedQuery {
    /// 4406, 4421: the column is no column of a base table.
    pub(super) fn derived_column(&self) -> SqlError {
        SqlError::new(if self.is_derived { 4421 } else { 4406 }, &[&self.name])
    }

    /// 4405, 4420: more than one base table.
    pub(super) fn several_tables(&self) -> SqlError {
        SqlError::new(if self.is_derived { 4420 } else { 4405 }, &[&self.name])
    }

    /// 4403, 4418: aggregates, GROUP BY, DISTINCT.
    pub(super) fn grouped(&self) -> SqlError {
        SqlError::new(if self.is_derived { 4418 } else { 4403 }, &[&self.name])
    }

    /// 4426, 4417: UNION, EXCEPT, INTERSECT.
    pub(super) fn set_operation(&self) -> SqlError {
        SqlError::new(if self.is_derived { 4417 } else { 4426 }, &[&self.name])
    }
}

/// How often a tree reads the table, subqueries included.
fn times_read(rel: &Rel, source: &TableSource) -> usize {
    if let Rel::Table(scan) = rel {
        return usize::from(is_same_table(&scan.source, source));
    }
    let inputs: usize = rel.inputs().into_iter().map(|input| times_read(input, source)).sum();
    inputs + rel.expressions().into_iter().filter(|expr| expr_reads_table(expr, source)).count()
}

fn is_same_table(one: &TableSource, other: &TableSource) -> bool {
    one.def.object_id == other.def.object_id && Arc::ptr_eq(&one.database, &other.database)
}

/// An expression over what stands below the projections.
pub(super) fn expanded(expr: &Expr, definitions: &Definitions) -> Expr {
    let mut expr = expr.clone();
    expr.rewrite_deep(&mut |part| match &part.kind {
        ExprKind::Column(id) => definitions.get(id).map(|definition| expanded(definition, definitions)),
        _ => None,
    });
    expr
}
