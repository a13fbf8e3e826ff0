//! Changes through a view, a common table expression, a derived table or an inline function: the one base table behind them, and how
//! its rows are found from the columns of the query.
//!
//! What may be changed is judged by the bound tree: projections, filters, windows, sorts and joins are looked through, everything that makes
//! new rows (groups, DISTINCT, set operations, recursion) is not. Conditions: documentation of CREATE VIEW, "Updatable views".

use std::sync::Arc;

use engine::IndexKind;
use plan_ir::bound::columns::Columns;
use plan_ir::bound::tree::{Expr, ExprKind, Rel, SetOpKind, SubqueryExpr, SubqueryKind, TableScan};
use plan_ir::kinds::{ColumnId, ScanHints};
use plan_ir::names::same_name;
use rustc_hash::FxHashMap;
use types::SqlError;

use super::found_target::{Access, FoundTarget};
use super::seen_through::{Definitions, NamedQuery, Through, ThroughColumn, expanded};
use super::{Binder, ScopeTable};

/// What a tree is made of, as far as it can be looked through.
struct BaseTableSearch<'r> {
    queries: &'r FxHashMap<ColumnId, NamedQuery>,
    definitions: Definitions,
    /// Tables whose rows are rows of the query, perhaps several times.
    tables: Vec<&'r TableScan>,
    /// Other tables, behind groups and the like, and system views.
    others: usize,
    has_system_view: bool,
}

impl<'r> BaseTableSearch<'r> {
    /// Before anything of a tree has been looked at.
    fn new(queries: &'r FxHashMap<ColumnId, NamedQuery>) -> BaseTableSearch<'r> {
        BaseTableSearch {
            queries,
            definitions: Definitions::default(),
            tables: Vec::new(),
            others: 0,
            has_system_view: false,
        }
    }

    /// Looks at a tree; `alone`: no join stands above it. `query` is the innermost named one around it.
    fn visit(&mut self, rel: &'r Rel, alone: bool, query: &NamedQuery) -> Result<(), SqlError> {
        let named = rel.output().first().and_then(|first| self.queries.get(first)).cloned();
        let query = named.as_ref().unwrap_or(query);
        match rel {
            Rel::Project { input, items } => {
                self.definitions.extend(items.iter().cloned());
                self.visit(input, alone, query)
            }
            Rel::Filter { input, .. }
            | Rel::Window { input, .. }
            | Rel::NextValue { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Top { input, .. }
            | Rel::Offset { input, .. } => self.visit(input, alone, query),
            Rel::Join { left, right, .. } | Rel::Apply { left, right, .. } => {
                self.visit(left, false, query)?;
                self.visit(right, false, query)
            }
            Rel::Table(scan) => {
                self.tables.push(scan);
                Ok(())
            }
            Rel::System(_) => {
                self.has_system_view = true;
                self.others += 1;
                Ok(())
            }
            Rel::FunctionTable { .. } => {
                self.others += 1;
                Ok(())
            }
            Rel::OneRow | Rel::Values { .. } | Rel::WorkTable { .. } => Ok(()),
            Rel::Aggregate { .. }
            | Rel::Distinct { .. }
            | Rel::SetOp { .. }
            | Rel::Recursive { .. }
            | Rel::Formatted { .. } => {
                if alone {
                    return Err(why_not(rel, query));
                }
                self.others += count_tables(rel);
                Ok(())
            }
        }
    }

    /// The table and column that a column of the query is.
    fn origin(&self, id: ColumnId) -> Option<(usize, usize)> {
        let mut id = id;
        while let Some(definition) = self.definitions.get(&id) {
            // A column with another collation is a derived one.
            let ExprKind::Column(below) = definition.kind else { return None };
            id = below;
        }
        self.tables.iter().enumerate().find_map(|(table, scan)| {
            scan.columns.iter().position(|column| *column == id).map(|ordinal| (table, ordinal))
        })
    }

    /// The table that the statement changes. Errors 207, 259, 4405, 4406 and those of derived tables.
    fn choose(&self, visible: &ScopeTable, access: &Access, query: &NamedQuery) -> Result<usize, SqlError> {
        let ids: Vec<ColumnId> = match access {
            Access::Delete => Vec::new(),
            Access::AllColumns => visible.columns.iter().map(|column| column.id).collect(),
            Access::Columns(names) => {
                let find = |name: &String| {
                    let found = visible.columns.iter().find(|column| same_name(&column.name, name));
                    found.map(|column| column.id).ok_or_else(|| plan_ir::errors::invalid_column(name))
                };
                names.iter().map(find).collect::<Result<_, SqlError>>()?
            }
        };
        if self.tables.is_empty() {
            return Err(match self.has_system_view {
                true => plan_ir::errors::system_catalog_update(),
                false => query.derived_column(),
            });
        }
        let mut chosen: Option<usize> = None;
        let mut is_derived = false;
        for id in &ids {
            match self.origin(*id) {
                None => is_derived = true,
                Some((table, _)) if chosen.is_some_and(|other| other != table) => {
                    return Err(query.several_tables());
                }
                Some((table, _)) => chosen = Some(table),
            }
        }
        if is_derived {
            return Err(query.derived_column());
        }
        let chosen = match chosen {
            Some(table) => table,
            None if self.tables.len() + self.others == 1 => 0,
            None => return Err(query.several_tables()),
        };
        match self.tables[chosen].source.def.is_system {
            true => Err(plan_ir::errors::system_catalog_update()),
            false => Ok(chosen),
        }
    }
}

impl Binder<'_> {
    /// Remembers the name of a query's tree.
    pub fn note_query(&mut self, rel: &Rel, name: &str, is_derived: bool, has_check_option: bool) {
        if let Some(first) = rel.output().first() {
            let query = NamedQuery { name: name.to_string(), is_derived, has_check_option };
            self.named_queries.insert(*first, query);
        }
    }

    /// Makes a tree give the rows of the table that the statement changes through it: with a locator and all of the table's columns. The
    /// query's own columns are those of the table added last to the innermost scope.
    pub fn look_through(
        &mut self,
        rel: &mut Rel,
        access: &Access,
        hints: &ScanHints,
    ) -> Result<FoundTarget, SqlError> {
        let visible = self.scope().tables.last().expect("the query was added").clone();
        let unnamed =
            || NamedQuery { name: visible.alias.clone(), is_derived: true, has_check_option: false };
        let query = rel.output().first().and_then(|first| self.named_queries.get(first)).cloned();
        let query = query.unwrap_or_else(unnamed);
        let queries = std::mem::take(&mut self.named_queries);
        let mut search = BaseTableSearch::new(&queries);
        search.visit(rel, true, &query)?;
        let chosen = search.choose(&visible, access, &query)?;
        let scan = search.tables[chosen];
        let (source, table_columns) = (scan.source.clone(), scan.columns.clone());
        let scan_hints = super::hints::for_target(scan.hints.clone(), hints)?;
        let columns = visible.columns.iter().map(|column| ThroughColumn {
            name: column.name.clone(),
            id: column.id,
            is_identity: column.identity,
            ordinal: search.origin(column.id).filter(|origin| origin.0 == chosen).map(|origin| origin.1),
        });
        let columns = columns.collect();
        let mut definitions = Definitions::default();
        collect_definitions(rel, table_columns[0], &mut definitions);
        let checks = match access {
            Access::Delete => Vec::new(),
            _ => checks(rel, table_columns[0], &queries, &definitions)?,
        };
        self.named_queries = queries;
        self.check_changeable(&source.def.name)?;
        let locator = self.new_locator();
        thread(rel, table_columns[0], locator, &scan_hints, &self.columns);
        let through = Through { query, columns, definitions, checks, table_columns: table_columns.clone() };
        Ok(FoundTarget { source, columns: table_columns, locator, through: Some(Arc::new(through)) })
    }

    /// May rows be inserted or updated through a query that is about to be a view WITH CHECK OPTION? Error 4510, and 40514 for windows.
    pub fn check_can_check(&mut self, rel: &Rel, name: &str) -> Result<(), SqlError> {
        let query = NamedQuery { name: name.to_string(), is_derived: false, has_check_option: true };
        let queries = std::mem::take(&mut self.named_queries);
        let mut search = BaseTableSearch::new(&queries);
        let seen = search.visit(rel, true, &query);
        let is_changeable = rel.output().iter().any(|id| search.origin(*id).is_some());
        if seen.is_err() || !is_changeable {
            return Err(SqlError::new(4510, &[&"CHECK OPTION"]));
        }
        refuse_windows(rel)
    }
}

/// Why a tree that makes new rows cannot be changed through.
fn why_not(rel: &Rel, query: &NamedQuery) -> SqlError {
    match rel {
        Rel::Distinct { input } if matches!(**input, Rel::SetOp { .. }) => query.set_operation(),
        Rel::SetOp { kind: SetOpKind::UnionAll, columns, .. } => {
            let mut branches = Vec::new();
            union_branches(rel, &mut branches);
            union_all(&branches, columns.len(), query)
        }
        Rel::SetOp { .. } => query.set_operation(),
        Rel::Recursive { .. } => SqlError::new(4416, &[&query.name]),
        _ => query.grouped(),
    }
}

fn union_branches<'r>(rel: &'r Rel, into: &mut Vec<&'r Rel>) {
    match rel {
        Rel::SetOp { kind: SetOpKind::UnionAll, left, right, .. } => {
            union_branches(left, into);
            union_branches(right, into);
        }
        Rel::Project { input, items } if items.iter().all(|item| item.1.as_column().is_some()) => {
            match &**input {
                Rel::SetOp { .. } => union_branches(input, into),
                _ => into.push(rel),
            }
        }
        rel => into.push(rel),
    }
}

/// UNION ALL is changed through only where it is a partitioned view: a primary key in each table, whole in the result, and a CHECK that says
/// which rows are whose. Errors 4406, 4436, 4440, 4444; a view that meets all that is refused by name.
fn union_all(branches: &[&Rel], width: usize, query: &NamedQuery) -> SqlError {
    let no_queries = FxHashMap::default();
    let mut has_checks = true;
    for branch in branches {
        let mut search = BaseTableSearch {
            queries: &no_queries,
            definitions: Definitions::default(),
            tables: Vec::new(),
            others: 0,
            has_system_view: false,
        };
        if search.visit(branch, true, query).is_err() {
            return SqlError::new(4416, &[&query.name]);
        }
        let origins: Vec<_> = branch.output().iter().filter_map(|id| search.origin(*id)).collect();
        if origins.len() < width {
            return query.derived_column();
        }
        let [scan] = search.tables.as_slice() else { return SqlError::new(4416, &[&query.name]) };
        let def = &scan.source.def;
        let Some(key) = def.indexes.iter().find(|index| index.primary_key && index.kind != IndexKind::Heap)
        else {
            return SqlError::new(4440, &[&query.name, &def.name]);
        };
        if key.key.iter().any(|part| !origins.iter().any(|origin| origin.1 == part.ordinal)) {
            return SqlError::new(4444, &[&query.name, &def.name]);
        }
        has_checks &= def.checks.iter().any(|check| !check.state.is_disabled);
    }
    match has_checks {
        true => plan_ir::errors::unsupported("changing data through a partitioned view"),
        false => SqlError::new(4436, &[&query.name]),
    }
}

/// Base tables and system views of a tree, each as often as it is named; those of subqueries are only read.
fn count_tables(rel: &Rel) -> usize {
    match rel {
        Rel::Table(_) | Rel::System(_) | Rel::FunctionTable { .. } => 1,
        rel => rel.inputs().into_iter().map(count_tables).sum(),
    }
}

/// Is the table with this first column in the tree?
fn holds(rel: &Rel, first: ColumnId) -> bool {
    match rel {
        Rel::Table(scan) => scan.columns.first() == Some(&first),
        rel => rel.inputs().into_iter().any(|input| holds(input, first)),
    }
}

/// The items of the projections above the table.
fn collect_definitions(rel: &Rel, first: ColumnId, into: &mut Definitions) {
    if let Rel::Project { items, .. } = rel {
        into.extend(items.iter().cloned());
    }
    if let Some(input) = rel.inputs().into_iter().find(|input| holds(input, first)) {
        collect_definitions(input, first, into);
    }
}

/// Gives the table a locator, and lets every projection above it pass all columns on: those of the table for the change, and the others for
/// OUTPUT.
fn thread(rel: &mut Rel, first: ColumnId, locator: ColumnId, hints: &ScanHints, columns: &Columns) -> bool {
    match rel {
        Rel::Table(scan) if scan.columns.first() == Some(&first) => {
            scan.locator = Some(locator);
            scan.hints = hints.clone();
            true
        }
        Rel::Project { input, items } => {
            let is_above = thread(input, first, locator, hints, columns);
            if is_above {
                for id in input.output() {
                    let info = &columns[id.0 as usize];
                    let expr = Expr::column(id, info.sql_type, info.nullable, info.collation);
                    items.push((id, expr));
                }
            }
            is_above
        }
        Rel::Filter { input, .. }
        | Rel::Window { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Top { input, .. }
        | Rel::Offset { input, .. } => thread(input, first, locator, hints, columns),
        Rel::Join { left, right, .. } | Rel::Apply { left, right, .. } => {
            thread(left, first, locator, hints, columns) || thread(right, first, locator, hints, columns)
        }
        _ => false,
    }
}

/// The conditions of the views WITH CHECK OPTION above the table, over the table's columns. Errors 4427, and 40514 for windows.
fn checks(
    rel: &Rel,
    first: ColumnId,
    queries: &FxHashMap<ColumnId, NamedQuery>,
    definitions: &Definitions,
) -> Result<Vec<Expr>, SqlError> {
    // A view's tree begins with its projection; what stands above that shows the same columns, but is not the view's.
    let query = match rel {
        Rel::Project { items, .. } => items.first().and_then(|item| queries.get(&item.0)),
        _ => None,
    };
    if let Some(query) = query.filter(|query| query.has_check_option) {
        let mut path = rel;
        while let Some(next) = path.inputs().into_iter().find(|input| holds(input, first)) {
            if matches!(path, Rel::Top { .. } | Rel::Offset { .. }) {
                return Err(SqlError::new(4427, &[&query.name]));
            }
            path = next;
        }
        refuse_windows(rel)?;
        let mut conditions = Vec::new();
        conditions_of(rel, first, definitions, &mut conditions);
        // Views below it that have the option, too, ask for nothing more than this one asks for anyway.
        return Ok(conditions);
    }
    match rel.inputs().into_iter().find(|input| holds(input, first)) {
        Some(input) => checks(input, first, queries, definitions),
        None => Ok(Vec::new()),
    }
}

/// When a row of the table is a row of the tree.
fn conditions_of(rel: &Rel, first: ColumnId, definitions: &Definitions, into: &mut Vec<Expr>) {
    match rel {
        Rel::Table(_) => {}
        Rel::Project { input, .. } | Rel::Sort { input, .. } => {
            conditions_of(input, first, definitions, into);
        }
        Rel::Filter { input, predicate } if !is_joined(input, first) => {
            into.push(expanded(predicate, definitions));
            conditions_of(input, first, definitions, into);
        }
        // With other tables: there is a row of the tree with this row in it.
        joined => {
            let mut others = joined.clone();
            replace_table(&mut others, first);
            let subquery = SubqueryExpr { kind: SubqueryKind::Exists, rel: Arc::new(others), column: None };
            into.push(Expr::predicate(ExprKind::Subquery(Box::new(subquery))));
        }
    }
}

/// Is there a join between the tree's rows and the table's?
fn is_joined(rel: &Rel, first: ColumnId) -> bool {
    matches!(rel, Rel::Join { .. } | Rel::Apply { .. })
        || rel.inputs().into_iter().any(|input| holds(input, first) && is_joined(input, first))
}

/// Puts one row of no columns in the table's place: its columns come from outside then.
fn replace_table(rel: &mut Rel, first: ColumnId) {
    match rel {
        Rel::Table(scan) if scan.columns.first() == Some(&first) => *rel = Rel::OneRow,
        Rel::Project { input, .. } | Rel::Filter { input, .. } | Rel::Sort { input, .. } => {
            replace_table(input, first);
        }
        Rel::Join { left, right, .. } | Rel::Apply { left, right, .. } => {
            replace_table(left, first);
            replace_table(right, first);
        }
        _ => {}
    }
}

/// The number of a row among others cannot be asked of the row alone.
fn refuse_windows(rel: &Rel) -> Result<(), SqlError> {
    match rel {
        Rel::Window { .. } => Err(plan_ir::errors::unsupported("WITH CHECK OPTION over window functions")),
        rel => rel.inputs().into_iter().try_for_each(refuse_windows),
    }
}
