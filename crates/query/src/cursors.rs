//! The rows of a cursor by their keys: the one table that its query reads, and the statements that list its keys and read one row again.

use std::sync::Arc;

use engine::{Database, IndexDef, TableDef};
use plan_ir::bound::tree::Rel;
use plan_ir::context::{BindContext, VariableDef};
use plan_ir::table::TableSource;
use tsql::ast;
use types::{SqlError, SqlType};

/// The table under a cursor whose rows can be found again.
pub struct CursorTable {
    /// Its database.
    pub database: Arc<Database>,
    /// Its number there.
    pub object_id: i32,
    /// The parts of its name as the query writes them; empty for a table variable.
    pub parts: Vec<String>,
    /// For each column of the query its name in the table; `None`: an expression.
    pub origins: Vec<Option<String>>,
    /// The `column_id` of each of them.
    pub column_ids: Vec<Option<i32>>,
    /// The columns of a unique key without NULL, with their types.
    pub key: Vec<(String, SqlType)>,
    /// The rows come in an index's order, or in no order that was asked for.
    pub is_ordered_by_index: bool,
    /// Whether each column of the key goes down, when the rows come in the key's order: then the next row can be sought. `None`: they
    /// come in another order, or are limited by TOP or OFFSET.
    pub seek_order: Option<Vec<bool>>,
}

/// The table whose rows a query shows one for one. `None`: it has more than one table, or rows that are made of several (DISTINCT, GROUP BY,
/// window functions), or its table has no unique key without NULL.
///
/// # Errors
/// Those of the query's names.
pub fn cursor_table(
    select: &ast::SelectStatement,
    context: &BindContext<'_>,
) -> Result<Option<CursorTable>, SqlError> {
    let ast::QueryBody::Select(block) = &select.query.body else { return Ok(None) };
    let has_one_table =
        matches!(block.from.as_slice(), [ast::TableSource::Table(_) | ast::TableSource::Variable { .. }]);
    if select.with.is_some() || select.query.for_clause.is_some() || !has_one_table {
        return Ok(None);
    }
    let mut binder = crate::registry::binder(context);
    let bound = binder.query(&select.query)?;
    let Some(source) = table_under(&bound.rel) else { return Ok(None) };
    let def = &source.def;
    if !is_written_table(&block.from[0], def) {
        return Ok(None);
    }
    let wanted = wanted_order(&select.query.order_by, &block.items, def);
    let mut identifying = def.indexes.iter().filter(|index| identifies_rows(index, def)).peekable();
    let Some(first) = identifying.peek().copied() else { return Ok(None) };
    let sought = identifying.find_map(|index| Some((index, directions(index, wanted.as_ref()?)?)));
    let is_limited = block.top.is_some() || select.query.offset.is_some();
    let (index, directions) = sought.map_or((first, None), |(index, down)| (index, Some(down)));
    let key = index.key.iter().map(|column| {
        let column = &def.columns[column.ordinal];
        (column.name.to_string(), column.sql_type)
    });
    let origins = origins(&block.items, def);
    Ok(Some(CursorTable {
        database: source.database.clone(),
        object_id: def.object_id,
        parts: parts_of(&block.from[0]),
        column_ids: origins
            .iter()
            .map(|name| def.columns.iter().find(|own| Some(&*own.name) == name.as_deref()))
            .map(|own| own.map(|own| own.column_id))
            .collect(),
        origins,
        key: key.collect(),
        is_ordered_by_index: wanted.is_some_and(|wanted| is_ordered_by_index(&wanted, def)),
        seek_order: directions.filter(|_| !is_limited),
    }))
}

fn parts_of(source: &ast::TableSource) -> Vec<String> {
    let ast::TableSource::Table(table) = source else { return Vec::new() };
    let name = &table.name;
    let outer = [&name.server, &name.database, &name.schema];
    let outer = outer.into_iter().skip_while(|part| part.is_none());
    let outer = outer.map(|part| part.as_ref().map_or_else(String::new, |part| part.value.clone()));
    outer.chain([name.name.value.clone()]).collect()
}

/// The names of the query's columns in its only table.
fn origins(items: &[ast::SelectItem], def: &TableDef) -> Vec<Option<String>> {
    let all = || def.columns.iter().map(|column| Some(column.name.to_string()));
    let mut origins = Vec::new();
    for item in items {
        match item {
            ast::SelectItem::Star(_) | ast::SelectItem::QualifiedStar(_) => origins.extend(all()),
            ast::SelectItem::Expr { expr: ast::Expr { kind: ast::ExprKind::Column(column), .. }, .. } => {
                let own = def.columns.iter().find(|candidate| column.name.is(&candidate.name));
                origins.push(own.map(|own| own.name.to_string()));
            }
            _ => origins.push(None),
        }
    }
    origins
}

/// The only table of a tree that neither joins nor combines rows.
fn table_under(rel: &Rel) -> Option<&Arc<TableSource>> {
    match rel {
        Rel::Table(scan) => Some(&scan.source),
        Rel::Filter { input, .. }
        | Rel::Project { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Top { input, .. }
        | Rel::Offset { input, .. } => table_under(input),
        _ => None,
    }
}

/// Does FROM name the table itself, not a view over it?
fn is_written_table(source: &ast::TableSource, def: &TableDef) -> bool {
    match source {
        ast::TableSource::Table(table) => {
            table.name.name.value.starts_with('#') || table.name.name.value.eq_ignore_ascii_case(&def.name)
        }
        _ => true,
    }
}

fn identifies_rows(index: &IndexDef, def: &TableDef) -> bool {
    index.unique
        && index.filter.is_none()
        && !index.is_disabled
        && index.key.iter().all(|column| !def.columns[column.ordinal].nullable)
}

/// The columns of ORDER BY, each with whether it goes down; `None` when it names something else.
fn wanted_order(
    order: &[ast::OrderByItem],
    items: &[ast::SelectItem],
    def: &TableDef,
) -> Option<Vec<(usize, bool)>> {
    let mut wanted = Vec::with_capacity(order.len());
    for item in order {
        let ast::ExprKind::Column(column) = &item.expr.kind else { return None };
        // A name that the query gives to another value means that value.
        let is_renamed = items.iter().any(|item| match item {
            ast::SelectItem::Expr { expr, alias: Some(alias) } => {
                let is_same =
                    matches!(&expr.kind, ast::ExprKind::Column(own) if own.name.is(&column.name.value));
                column.name.is(&alias.value) && !is_same
            }
            _ => false,
        });
        let named = |candidate: &engine::ColumnDef| column.name.is(&candidate.name);
        let ordinal = def.columns.iter().position(named).filter(|_| !is_renamed)?;
        wanted.push((ordinal, item.descending == Some(true)));
    }
    Some(wanted)
}

fn is_ordered_by_index(wanted: &[(usize, bool)], def: &TableDef) -> bool {
    wanted.is_empty()
        || def.indexes.iter().any(|index| index.filter.is_none() && directions(index, wanted).is_some())
}

/// Whether each column of an index goes down when it is read in the wanted order, forward or backward. `None`: it does not give that order.
fn directions(index: &IndexDef, wanted: &[(usize, bool)]) -> Option<Vec<bool>> {
    let in_direction = |reversed: bool| {
        let fits = wanted.len() <= index.key.len()
            && wanted
                .iter()
                .zip(&index.key)
                .all(|(wanted, column)| *wanted == (column.ordinal, column.descending != reversed));
        fits.then(|| index.key.iter().map(|column| column.descending != reversed).collect())
    };
    in_direction(false).or_else(|| in_direction(true))
}

/// The table that an UPDATE or DELETE names: its database and number.
///
/// # Errors
/// 208, and 330 when it is no table.
pub fn changed_table(
    target: &ast::DmlTarget,
    context: &BindContext<'_>,
) -> Result<(Arc<Database>, i32), SqlError> {
    let source = crate::registry::binder(context).output_table(&target.kind)?;
    Ok((source.database.clone(), source.def.object_id))
}

/// The variables that hold the key of a row and its checksum, behind those of the cursor's query.
pub fn key_variables(table: &CursorTable) -> impl Iterator<Item = VariableDef> + '_ {
    let named = |(at, (_, sql_type)): (usize, &(String, SqlType))| VariableDef {
        name: key_variable(at),
        sql_type: *sql_type,
    };
    let checksum = VariableDef { name: CHECKSUM.to_string(), sql_type: SqlType::Int };
    table.key.iter().enumerate().map(named).chain([checksum])
}

/// The variable of the checksum.
const CHECKSUM: &str = "@key checksum";

/// No name that can be written in a text.
fn key_variable(at: usize) -> String {
    format!("@key {at}")
}

/// The query with the key's columns behind its own.
pub fn with_keys(select: &ast::SelectStatement, table: &CursorTable) -> ast::SelectStatement {
    let mut with_keys = select.clone();
    if let ast::QueryBody::Select(block) = &mut with_keys.query.body {
        let span = block.span;
        block.items.extend(key_items(table, span));
    }
    with_keys
}

fn key_name(at: usize) -> String {
    format!("key {at}")
}

/// The key's columns, behind those of a query.
fn key_items(table: &CursorTable, span: ast::Span) -> impl Iterator<Item = ast::SelectItem> + '_ {
    table.key.iter().enumerate().map(move |(at, (name, _))| ast::SelectItem::Expr {
        expr: column(name, span),
        alias: Some(ast::Ident { value: key_name(at), quoted: true }),
    })
}

/// The query for one row: `keeps_where` asks again whether the row belongs to it, `is_checked` adds the row's checksum, `locks` keeps the row from being changed by others.
pub fn one_row(
    select: &ast::SelectStatement,
    table: &CursorTable,
    keeps_where: bool,
    is_checked: bool,
    locks: bool,
) -> ast::SelectStatement {
    let mut one = select.clone();
    one.query.order_by.clear();
    one.query.offset = None;
    if let ast::QueryBody::Select(block) = &mut one.query.body {
        block.top = None;
        if is_checked {
            block.items.push(ast::SelectItem::Expr { expr: checksum(block.span), alias: None });
        }
        let own = block.where_clause.take().filter(|_| keeps_where);
        block.where_clause = Some(is_row(table, block.span, own));
        lock_rows(block, locks);
    }
    one
}

/// The query for the first row in the order of the key, or for the next one behind the key that the variables hold; `forward`: in that order or
/// against it. The row has the checksum behind the query's columns if `is_checked`, and the key at its end.
pub fn sought_row(
    select: &ast::SelectStatement,
    table: &CursorTable,
    (from_key, forward): (bool, bool),
    is_checked: bool,
    locks: bool,
) -> ast::SelectStatement {
    let down: Vec<bool> = table.seek_order.iter().flatten().map(|is_down| *is_down == forward).collect();
    let mut one = select.clone();
    if let ast::QueryBody::Select(block) = &mut one.query.body {
        let span = block.span;
        if is_checked {
            block.items.push(ast::SelectItem::Expr { expr: checksum(span), alias: None });
        }
        block.items.extend(key_items(table, span));
        if from_key {
            let mut terms: Vec<ast::Expr> = block.where_clause.take().into_iter().collect();
            terms.push(behind_key(table, &down, 0, span));
            block.where_clause = Some(all_of(terms, span));
        }
        let count = ast::Expr { span, kind: ast::ExprKind::Literal(ast::Literal::Int(1)) };
        block.top = Some(ast::Top { count, percent: false, with_ties: false });
        lock_rows(block, locks);
    }
    let order = down.iter().enumerate().map(|(at, is_down)| ast::OrderByItem {
        expr: column(&key_name(at), Default::default()),
        descending: Some(*is_down),
    });
    one.query.order_by = order.collect();
    one
}

/// The condition that a row stands behind the key of the variables, from column `at` of the key on.
fn behind_key(table: &CursorTable, down: &[bool], at: usize, span: ast::Span) -> ast::Expr {
    let compared = |op| {
        let right = ast::Expr { span, kind: ast::ExprKind::Variable(key_variable(at)) };
        let compared = ast::Comparison { op, left: column(&table.key[at].0, span), right };
        ast::Expr { span, kind: ast::ExprKind::Comparison(Box::new(compared)) }
    };
    use ast::ComparisonOp::{Greater, GreaterEqual, Less, LessEqual};
    let (behind, behind_or_at) = if down[at] { (Less, LessEqual) } else { (Greater, GreaterEqual) };
    if at + 1 == table.key.len() {
        return compared(behind);
    }
    // The first comparison is the range that an index is sought by.
    let rest = behind_key(table, down, at + 1, span);
    let either = ast::Expr { span, kind: ast::ExprKind::Or(vec![compared(behind), rest]) };
    all_of(vec![compared(behind_or_at), either], span)
}

fn all_of(mut terms: Vec<ast::Expr>, span: ast::Span) -> ast::Expr {
    if terms.len() == 1 {
        return terms.swap_remove(0);
    }
    ast::Expr { span, kind: ast::ExprKind::And(terms) }
}

fn lock_rows(block: &mut ast::Select, locks: bool) {
    if let [ast::TableSource::Table(source)] = block.from.as_mut_slice()
        && locks
        && source.hints.is_empty()
    {
        let name = ast::Ident::new("UPDLOCK");
        source.hints.push(ast::TableHint { name, args: Vec::new(), columns: Vec::new() });
    }
}

/// The condition that a row is the one whose key the variables hold.
pub fn is_row(table: &CursorTable, span: ast::Span, also: Option<ast::Expr>) -> ast::Expr {
    let mut terms: Vec<ast::Expr> = table
        .key
        .iter()
        .enumerate()
        .map(|(at, (name, _))| {
            let right = ast::Expr { span, kind: ast::ExprKind::Variable(key_variable(at)) };
            let equal = ast::Comparison { op: ast::ComparisonOp::Equal, left: column(name, span), right };
            ast::Expr { span, kind: ast::ExprKind::Comparison(Box::new(equal)) }
        })
        .collect();
    terms.extend(also);
    all_of(terms, span)
}

/// The condition that a row has the checksum of its FETCH, or that there is none.
pub fn is_unchanged(span: ast::Span) -> ast::Expr {
    let variable = || ast::Expr { span, kind: ast::ExprKind::Variable(CHECKSUM.to_string()) };
    let none = ast::ExprKind::IsNull { operand: Box::new(variable()), negated: false };
    let equal = ast::Comparison { op: ast::ComparisonOp::Equal, left: checksum(span), right: variable() };
    let equal = ast::ExprKind::Comparison(Box::new(equal));
    let either = [none, equal].map(|kind| ast::Expr { span, kind });
    ast::Expr { span, kind: ast::ExprKind::Or(either.into()) }
}

/// `BINARY_CHECKSUM(*)`
fn checksum(span: ast::Span) -> ast::Expr {
    let name = ast::ObjectName { name: ast::Ident::new("BINARY_CHECKSUM"), span, ..Default::default() };
    let call = ast::FunctionCall {
        name,
        quantifier: None,
        star: true,
        args: Vec::new(),
        is_niladic: false,
        is_odbc: false,
        extra: None,
    };
    ast::Expr { span, kind: ast::ExprKind::Function(Box::new(call)) }
}

fn column(name: &str, span: ast::Span) -> ast::Expr {
    let name = ast::Ident { value: name.to_string(), quoted: true };
    ast::Expr { span, kind: ast::ExprKind::Column(ast::ColumnRef { qualifier: None, name }) }
}
