//! Queries: SELECT blocks with ORDER BY, TOP, OFFSET, DISTINCT, and the destination of a SELECT statement's rows.

use plan_ir::bound::coercibility::{check_key, check_resolved, is_incomparable};
use plan_ir::bound::tree::{Expr, ExprKind, Rel, SortKey};
use plan_ir::names::same_name;
use tsql::ast::{self, SelectItem};
use types::{SqlError, SqlType};

use super::item::{Item, SelectParts};
use super::next_values;
use super::scalar::assignment_operator;
use super::{
    Binder, BoundQuery, Clause, OutputColumn, Scope, ScopeTable, coerce, formatted, named_window, sequence,
};

/// Most items of a select list.
const SELECT_ITEMS_MAX: usize = 4_096;

impl Binder<'_> {
    /// Binds a query whose rows are used (not assigned).
    pub fn query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        self.deeper(|binder| match std::mem::take(&mut binder.next_values.is_statement_next) {
            true => binder.query_inside(query, true),
            false => binder
                .refusing_next_values(next_values::NESTED, true, |binder| binder.query_inside(query, false)),
        })
    }

    fn query_inside(&mut self, query: &ast::Query, is_statement: bool) -> Result<BoundQuery, SqlError> {
        if let Some(clause) = formatted::text_clause(query) {
            return self.formatted_query(query, clause, is_statement);
        }
        match &query.body {
            ast::QueryBody::Select(select) => {
                self.next_values.is_statement_next = is_statement;
                let parts = self.select(select, query)?;
                if parts.items.iter().any(|item| item.variable.is_some()) {
                    return Err(plan_ir::errors::assignment_mixed());
                }
                Ok(self.project(parts))
            }
            ast::QueryBody::SetOperation(_) | ast::QueryBody::Ordered(_) => self.combined_query(query),
        }
    }

    /// A query that is not a single block.
    pub(super) fn combined_query(&mut self, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        self.refusing_next_values(next_values::SET_OPERATION, true, |binder| {
            let bound = binder.query_body(&query.body)?;
            binder.order_output(bound, query)
        })
    }

    /// Gives the items their columns.
    pub fn project(&mut self, parts: SelectParts) -> BoundQuery {
        let mut items = Vec::with_capacity(parts.items.len());
        let mut columns = Vec::with_capacity(parts.items.len());
        for item in parts.items {
            let untyped_null = item.expr.is_untyped_null();
            let id = self.column_for(&item.expr);
            items.push((id, item.expr));
            columns.push(OutputColumn {
                name: item.name,
                id,
                identity: item.identity,
                base: item.base,
                untyped_null,
            });
        }
        BoundQuery { rel: Rel::Project { input: Box::new(parts.rel), items }, columns }
    }

    /// Binds one SELECT block together with the ORDER BY and OFFSET of its query.
    pub fn select(&mut self, select: &ast::Select, query: &ast::Query) -> Result<SelectParts, SqlError> {
        if select.into.is_some() && !std::mem::take(&mut self.expects_into) {
            return Err(plan_ir::errors::syntax_near_keyword("INTO"));
        }
        // The target of an UPDATE or DELETE is not a table of a query inside it.
        let target = self.target.take();
        let takes_identity = select.into.is_some() && matches!(query.body, ast::QueryBody::Select(_));
        named_window::check(&select.windows)?;
        self.scopes.push(Scope { named_windows: select.windows.clone(), takes_identity, ..Scope::default() });
        let draws = std::mem::take(&mut self.next_values.is_statement_next);
        let result =
            self.refusing_next_values_of(select, query, |binder| binder.select_inside(select, query, draws));
        self.scopes.pop();
        self.target = target;
        result
    }

    fn select_inside(
        &mut self,
        select: &ast::Select,
        query: &ast::Query,
        draws: bool,
    ) -> Result<SelectParts, SqlError> {
        let mut rel = self.from(&select.from)?;
        if let Some(condition) = &select.where_clause {
            let predicate = self.clause_without_draws(Clause::Rows, |binder| binder.condition(condition));
            let never = Expr::predicate(ExprKind::Constant(types::Value::Null));
            rel = Rel::Filter { input: Box::new(rel), predicate: self.or_instead(predicate, never)? };
        }
        if let Some(group) = &select.group_by {
            let grouping =
                self.refusing_next_values(next_values::CLAUSE, true, |binder| binder.grouping(group));
            self.scope().grouping = self.or_instead(grouping.map(Some), None)?;
        }
        let bound = self.drawing_for_rows(draws, |binder| {
            binder.in_clause(Clause::Output, |binder| binder.items(&select.items))
        });
        let (mut items, mut draws) = bound?;
        sequence::check_single_uses(&draws, &items)?;
        if formatted::text_clause(query).is_some() {
            self.note_tables(&mut items);
        }
        let mut having = match &select.having {
            Some(having) => {
                let bound = self.clause_without_draws(Clause::Groups, |binder| binder.condition(having));
                self.or_instead(bound.map(Some), None)?
            }
            None => None,
        };
        let order =
            self.clause_without_draws(Clause::Output, |binder| binder.order_keys(&query.order_by, &items));
        let mut order = self.or_instead(order, Vec::new())?;
        let grouped = select.group_by.is_some() || having.is_some() || !self.scope().aggregates.is_empty();
        if grouped {
            let (own, counts) = (order.len(), next_values::order_counts(&draws));
            order.extend(next_values::take_orders(&mut draws));
            let grouping = self.scope().grouping.take().unwrap_or_default();
            rel = self.group(rel, grouping, &mut items, &mut having, &mut order)?;
            next_values::give_orders(&mut draws, &counts, order.split_off(own));
            if let Some(predicate) = having {
                rel = Rel::Filter { input: Box::new(rel), predicate };
            }
        }
        let windows = std::mem::take(&mut self.scope().windows);
        if !windows.is_empty() {
            rel = Rel::Window { input: Box::new(rel), calls: windows };
        }
        rel = self.draw(rel, draws, &mut items, &mut order);
        if select.quantifier == Some(ast::SetQuantifier::Distinct) {
            return self.distinct(rel, items, order, select, query);
        }
        if !order.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys: order.clone() };
        }
        rel = self.limit(rel, &order, select.top.as_ref(), query.offset.as_deref())?;
        Ok(SelectParts { rel, items })
    }

    /// DISTINCT: projection first, then order and limits over the projected columns only (error 145). Errors 421, 451.
    fn distinct(
        &mut self,
        rel: Rel,
        items: Vec<Item>,
        order: Vec<SortKey>,
        select: &ast::Select,
        query: &ast::Query,
    ) -> Result<SelectParts, SqlError> {
        let mut projected = Vec::new();
        let mut outer_items = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            if is_incomparable(&item.expr.sql_type) {
                return Err(SqlError::new(421, &[&item.expr.sql_type.name()]));
            }
            check_resolved(&item.expr, "SELECT", at + 1)?;
            let id = self.column_for(&item.expr);
            let outer = self.column_expr(id);
            projected.push((id, item.expr.clone()));
            outer_items.push(Item { expr: outer, ..item });
        }
        let mut keys = Vec::new();
        for key in order {
            let position = projected
                .iter()
                .position(|item| item.1.same_as(&key.expr))
                .ok_or_else(plan_ir::errors::order_by_not_selected)?;
            keys.push(SortKey { expr: outer_items[position].expr.clone(), descending: key.descending });
        }
        let mut rel =
            Rel::Distinct { input: Box::new(Rel::Project { input: Box::new(rel), items: projected }) };
        if !keys.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys: keys.clone() };
        }
        rel = self.limit(rel, &keys, select.top.as_ref(), query.offset.as_deref())?;
        Ok(SelectParts { rel, items: outer_items })
    }

    fn items(&mut self, list: &[SelectItem]) -> Result<Vec<Item>, SqlError> {
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            match item {
                SelectItem::Star(span) => self.star(None, span.start, &mut items)?,
                SelectItem::QualifiedStar(name) => self.star(Some(name), name.span.start, &mut items)?,
                SelectItem::Expr { expr, alias } => {
                    let item = match &expr.kind {
                        ast::ExprKind::Identity(call) if self.scope().takes_identity => {
                            self.identity_item(call, alias.as_ref(), items.len())?
                        }
                        _ => {
                            let item = self.item(expr, alias.as_ref());
                            self.or_instead(item, item_shell(String::new(), false, false, None))?
                        }
                    };
                    items.push(item);
                }
                SelectItem::Assign { variable, op, expr } => {
                    let slot = self.variable_slot(variable)?;
                    let value = (self.value(expr)?, coerce::is_number(expr));
                    let expr = self.assigned(slot, *op, value)?;
                    items.push(Item { expr, ..item_shell(String::new(), false, false, Some(slot)) });
                }
            }
            if items.len() > SELECT_ITEMS_MAX {
                return Err(plan_ir::errors::too_many_items(SELECT_ITEMS_MAX));
            }
        }
        Ok(items)
    }

    /// Notes of which table each item is a column, for AUTO of FOR XML and FOR JSON.
    fn note_tables(&mut self, items: &mut [Item]) {
        let tables = &self.scope().tables;
        for item in items {
            let Some(id) = item.expr.as_column() else { continue };
            let is_of = |table: &ScopeTable| table.columns.iter().any(|column| column.id == id);
            let found = tables.iter().enumerate().find(|table| is_of(table.1));
            item.table = found.map(|(at, table)| (at, table.alias.clone()));
        }
    }

    /// IDENTITY(type, seed, increment): the value comes when the row is stored. Errors 2749, 2752, 2753, 8108.
    fn identity_item(
        &mut self,
        call: &ast::IdentityCall,
        alias: Option<&ast::Ident>,
        position: usize,
    ) -> Result<Item, SqlError> {
        let name = alias.map_or_else(String::new, |alias| alias.value.clone());
        let sql_type = plan_ir::data_type::declared(
            &call.data_type,
            plan_ir::data_type::TypePlace::Column(position + 1),
        )?;
        let def = crate::identity::identity_definition((&call.seed, &call.increment), &name, &sql_type)?;
        if self.identity_item.replace((position, def)).is_some() {
            return Err(SqlError::new(8108, &[&self.into_name, &name]));
        }
        let zero = coerce::implicit(Expr::constant(types::Value::Int(0), SqlType::Int), &sql_type)?;
        Ok(Item { expr: zero, ..item_shell(name, true, false, None) })
    }

    fn item(&mut self, expr: &ast::Expr, alias: Option<&ast::Ident>) -> Result<Item, SqlError> {
        let (mut name, mut identity, mut base) = (String::new(), false, false);
        if let ast::ExprKind::Column(column) = &expr.kind
            && let Ok((found, _)) = self.find_column(column)
        {
            (name, identity, base) = (shown_name(column, found.name), found.identity, found.base);
        }
        if let Some(alias) = alias {
            name.clone_from(&alias.value);
        }
        let bound = self.value(expr)?;
        Ok(Item { expr: bound, ..item_shell(name, identity, base, None) })
    }

    fn star(
        &mut self,
        qualifier: Option<&ast::ObjectName>,
        place: u32,
        items: &mut Vec<Item>,
    ) -> Result<(), SqlError> {
        for column in self.columns_of_star(qualifier, place)? {
            self.observe_star(column.id);
            let expr = self.named_column(column.id);
            items.push(Item { expr, ..item_shell(column.name, column.identity, column.base, None) });
        }
        Ok(())
    }

    /// Slot of a variable; error 137.
    pub fn variable_slot(&self, name: &str) -> Result<usize, SqlError> {
        let found =
            self.context.variables.iter().rposition(|variable| variable.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| plan_ir::errors::undeclared_variable(name))
    }

    /// The variables that OPTIMIZE FOR names are declared: 137.
    pub fn check_variables_of_hints(&self, hints: &[ast::QueryHint]) -> Result<(), SqlError> {
        hints.iter().try_for_each(|hint| match hint {
            ast::QueryHint::OptimizeFor(named) => {
                named.iter().try_for_each(|(name, _)| self.variable_slot(name).map(|_| ()))
            }
            _ => Ok(()),
        })
    }

    /// `@v op value`, converted to the variable's type; beside the value stands whether it is a number as it is written.
    pub fn assigned(
        &mut self,
        slot: usize,
        op: ast::AssignOp,
        value: (Expr, bool),
    ) -> Result<Expr, SqlError> {
        let sql_type = self.context.variables[slot].sql_type;
        let value = match assignment_operator(op) {
            None => value.0,
            Some(op) => {
                let variable = Expr::new(ExprKind::Variable(slot), sql_type, true);
                coerce::written_binary(op, (variable, false), value)?
            }
        };
        coerce::for_variable(value, &sql_type)
    }

    /// ORDER BY keys over the rows of the block: ordinals and aliases stand for the items. Errors 108, 169, 209, 408, 1008.
    fn order_keys(&mut self, order: &[ast::OrderByItem], items: &[Item]) -> Result<Vec<SortKey>, SqlError> {
        let (mut keys, mut named) = (Vec::with_capacity(order.len()), Vec::new());
        for (position, item) in order.iter().enumerate() {
            if is_written_constant(&item.expr) {
                return Err(SqlError::new(408, &[&(position + 1)]));
            }
            if matches!(item.expr.kind, ast::ExprKind::Variable(_)) {
                return Err(SqlError::new(1008, &[&(position + 1)]));
            }
            let expr = self.order_expr(&item.expr, items)?;
            check_key(&expr, "ORDER BY", position + 1)?;
            if is_name_or_ordinal(&item.expr) {
                if named.iter().any(|other: &Expr| other.same_as(&expr)) {
                    return Err(SqlError::new(169, &[]));
                }
                named.push(expr.clone());
            }
            // A constant orders nothing.
            if matches!(expr.kind, ExprKind::Constant(_)) {
                continue;
            }
            keys.push(SortKey { expr, descending: item.descending == Some(true) });
        }
        Ok(keys)
    }

    fn order_expr(&mut self, expr: &ast::Expr, items: &[Item]) -> Result<Expr, SqlError> {
        match &expr.kind {
            ast::ExprKind::Literal(ast::Literal::Int(ordinal)) => {
                let index = usize::try_from(*ordinal)
                    .ok()
                    .and_then(|ordinal| ordinal.checked_sub(1))
                    .filter(|index| *index < items.len());
                index
                    .map(|index| items[index].expr.clone())
                    .ok_or_else(|| plan_ir::errors::order_ordinal(*ordinal))
            }
            ast::ExprKind::Column(column) if column.qualifier.is_none() => {
                // A name alone is that of an item; it must be that of one only, even if several are the same column.
                let is_meant =
                    |item: &&Item| item.variable.is_none() && same_name(&item.name, &column.name.value);
                let mut meant = items.iter().filter(is_meant);
                match (meant.next(), meant.next()) {
                    (Some(_), Some(_)) => Err(plan_ir::errors::ambiguous_column(&column.name.value)),
                    (Some(item), None) => Ok(item.expr.clone()),
                    (None, _) => self.key_value(expr),
                }
            }
            ast::ExprKind::Collate(inner, name) => match self.telling_first_name(|binder| binder.value(expr))
            {
                Ok(bound) => Ok(bound),
                Err(_) => {
                    let inner = self.order_expr(inner, items)?;
                    self.collate(inner, &name.value)
                }
            },
            _ => self.key_value(expr),
        }
    }

    /// ORDER BY and OFFSET over the output of a set operation: only its columns may be named.
    pub fn order_output(&mut self, bound: BoundQuery, query: &ast::Query) -> Result<BoundQuery, SqlError> {
        let not_selected = plan_ir::errors::order_by_not_in_union;
        let mut rel = bound.rel;
        let mut keys = Vec::new();
        for item in &query.order_by {
            let id = match &item.expr.kind {
                ast::ExprKind::Literal(ast::Literal::Int(ordinal)) => {
                    let index =
                        usize::try_from(*ordinal - 1).ok().filter(|index| *index < bound.columns.len());
                    bound.columns[index.ok_or_else(|| plan_ir::errors::order_ordinal(*ordinal))?].id
                }
                ast::ExprKind::Column(column) => {
                    let is_simple = column.qualifier.is_none();
                    let is_named = |output: &super::OutputColumn| {
                        is_simple && same_name(&output.name, &column.name.value)
                    };
                    let named = bound.columns.iter().position(is_named);
                    if bound.columns.iter().filter(|output| is_named(output)).count() > 1 {
                        return Err(plan_ir::errors::ambiguous_column(&column.name.value));
                    }
                    let found = named.or_else(|| selected_as(&query.body, &item.expr));
                    found.and_then(|index| bound.columns.get(index)).ok_or_else(not_selected)?.id
                }
                _ => {
                    let found = selected_as(&query.body, &item.expr);
                    found.and_then(|index| bound.columns.get(index)).ok_or_else(not_selected)?.id
                }
            };
            let expr = self.column_expr(id);
            check_key(&expr, "ORDER BY", keys.len() + 1)?;
            if keys.iter().any(|other: &SortKey| other.expr.same_as(&expr)) {
                return Err(SqlError::new(169, &[]));
            }
            keys.push(SortKey { expr, descending: item.descending == Some(true) });
        }
        if !keys.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys: keys.clone() };
        }
        self.scopes.push(Scope::default());
        let limited = self.limit(rel, &keys, None, query.offset.as_deref());
        self.scopes.pop();
        Ok(BoundQuery { rel: limited?, columns: bound.columns })
    }
}

fn is_name_or_ordinal(expr: &ast::Expr) -> bool {
    matches!(expr.kind, ast::ExprKind::Column(_) | ast::ExprKind::Literal(ast::Literal::Int(_)))
}

/// The name of a column in a result: as the query writes it, in its letter case; `$identity` by the column's own.
pub fn shown_name(column: &ast::ColumnRef, found: String) -> String {
    if same_name(&column.name.value, &found) { column.name.value.clone() } else { found }
}

fn item_shell(name: String, identity: bool, base: bool, variable: Option<usize>) -> Item {
    Item { name, expr: Expr::null(), identity, base, variable, table: None }
}

/// The item of a set operation's first SELECT that is written like `wanted`, or is the column of that name under an alias. Behind a `*`
/// items have no known position.
fn selected_as(body: &ast::QueryBody, wanted: &ast::Expr) -> Option<usize> {
    let select = match body {
        ast::QueryBody::Select(select) => select,
        ast::QueryBody::SetOperation(operation) => return selected_as(&operation.first, wanted),
        ast::QueryBody::Ordered(query) => return selected_as(&query.body, wanted),
    };
    let items = select.items.iter().map_while(|item| match item {
        ast::SelectItem::Expr { expr, .. } => Some(expr),
        _ => None,
    });
    let last_name = |expr: &ast::Expr| match &expr.kind {
        ast::ExprKind::Column(column) => Some((column.name.value.clone(), column.qualifier.is_none())),
        _ => None,
    };
    let wanted_name = last_name(wanted);
    let is_meant = |expr: &ast::Expr| match (last_name(expr), &wanted_name) {
        (Some((name, plain)), Some((wanted_name, wanted_plain))) => {
            same_name(&name, wanted_name) && (plain || *wanted_plain || expr == wanted)
        }
        _ => expr == wanted,
    };
    items.into_iter().position(is_meant)
}

/// Is it made of literals alone, and no ordinal?
fn is_written_constant(expr: &ast::Expr) -> bool {
    fn is_made_of_literals(expr: &ast::Expr) -> bool {
        match &expr.kind {
            ast::ExprKind::Literal(_) => true,
            ast::ExprKind::Unary(_, inner) => is_made_of_literals(inner),
            ast::ExprKind::Arithmetic(arithmetic) => {
                is_made_of_literals(&arithmetic.first)
                    && arithmetic.rest.iter().all(|(_, operand)| is_made_of_literals(operand))
            }
            ast::ExprKind::Convert(convert) => is_made_of_literals(&convert.operand),
            _ => false,
        }
    }
    !matches!(expr.kind, ast::ExprKind::Literal(ast::Literal::Int(_))) && is_made_of_literals(expr)
}
