//! INSERT in all its forms.

use std::sync::Arc;

use plan_ir::bound::change::{
    BoundConstraints, BoundInput, BoundInsert, BoundOutputs, BoundRowsInsert, BoundSource, BoundStore,
    BoundValue,
};
use plan_ir::bound::tree::{Rel, TopSpec};
use plan_ir::bulk_rules::BulkRules;
use plan_ir::kinds::{ColumnId, IdentityRule, ScanHints};
use plan_ir::table::{SequenceSource, TableSource, is_identity_insert_on};
use tsql::ast;
use types::SqlError;

use super::constraints::Change;
use super::found_target::{Access, ChangedTable, InsertTarget};
use super::next_values::{CLAUSE, LIMITED};
use super::{Binder, BoundQuery, Clause, Scope};

/// The defaults of the columns that rows of one statement have got no value for.
#[derive(Default)]
struct Defaults(Vec<(usize, Arc<BoundValue>)>);

impl Defaults {
    fn store(
        &mut self,
        binder: &mut Binder<'_>,
        source: &TableSource,
        ordinal: usize,
    ) -> Result<BoundStore, SqlError> {
        if let Some((_, value)) = self.0.iter().find(|(known, _)| *known == ordinal) {
            return Ok(BoundStore { ordinal, value: BoundValue::Shared(value.clone()) });
        }
        let BoundStore { value, .. } = binder.default_store(source, ordinal)?;
        let value = match value {
            BoundValue::Direct(_) | BoundValue::Assign(_) => {
                let value = Arc::new(value);
                self.0.push((ordinal, value.clone()));
                BoundValue::Shared(value)
            }
            // There is nothing to bind.
            value => value,
        };
        Ok(BoundStore { ordinal, value })
    }
}

impl Binder<'_> {
    /// Binds an INSERT. Errors 208, 207, 213, 109, 110, 120, 121, 544, 545, 8101.
    pub fn insert(&mut self, insert: &ast::Insert) -> Result<BoundInsert, SqlError> {
        if let Some(with) = &insert.with {
            self.add_common_tables(with)?;
        }
        let (target, ordinals) = self.insert_into(insert)?;
        let source = target.source.clone();
        let explicit = !insert.columns.is_empty();
        self.next_values.is_limited = insert.top.is_some() || has_limited_query(&insert.source);
        let input = match &insert.source {
            ast::InsertSource::DefaultValues => {
                BoundInput::Values(vec![self.all_stores(&source, Vec::new())?])
            }
            ast::InsertSource::Values(rows) => {
                self.refusing_next_values(LIMITED, insert.top.is_some(), |binder| {
                    binder.insert_values(&source, &ordinals, explicit, rows)
                })?
            }
            ast::InsertSource::Query(query) => {
                let query = self.insert_query(query, insert.top.as_ref())?;
                self.insert_from(&source, &ordinals, explicit, query)?
            }
            ast::InsertSource::Execute(_) => {
                return Err(plan_ir::errors::unsupported("INSERT ... EXEC through this call"));
            }
        };
        let identity = identity_rule(&source, &ordinals, explicit, &insert.source);
        let constraints = self.insert_constraints(&target)?;
        let through = target.through.as_deref();
        let changed = ChangedTable { source: &source, through, hidden: Vec::new(), may_be_missing: false };
        let outputs = self.refusing_next_values(CLAUSE, true, |binder| {
            binder.outputs(&insert.output, changed, None, (true, false))
        })?;
        let hints = super::hints::target_hints(&insert.target.hints)?;
        let top = match input {
            BoundInput::Values(_) => self.top_of_rows(insert.top.as_ref())?,
            BoundInput::Query(_) => None,
        };
        let has_top = insert.top.is_some() || has_query_top(&insert.source);
        Ok(BoundInsert { source, input, constraints, outputs, hints, identity, top, has_top })
    }

    /// INSERT ... EXEC: rows come from the caller with the given types.
    pub fn insert_rows(
        &mut self,
        insert: &ast::Insert,
        columns: &[types::SqlType],
    ) -> Result<BoundRowsInsert, SqlError> {
        if !insert.output.is_empty() {
            return Err(SqlError::new(483, &[]));
        }
        let (target, ordinals) = self.insert_into(insert)?;
        let source = target.source.clone();
        if ordinals.len() != columns.len() {
            return Err(plan_ir::errors::values_do_not_match());
        }
        let columns: Vec<ColumnId> = columns
            .iter()
            .map(|sql_type| self.new_column(*sql_type, true, types::Collation::default()))
            .collect();
        let mut stores = Vec::new();
        for (ordinal, id) in ordinals.iter().zip(&columns) {
            refuse_rowversion(&source, *ordinal)?;
            let value = self.column_expr(*id);
            stores.push(self.store(&source, *ordinal, value)?);
        }
        let stores = self.all_stores(&source, stores)?;
        let identity = identity_rule(&source, &ordinals, !insert.columns.is_empty(), &insert.source);
        let constraints = self.insert_constraints(&target)?;
        let hints = super::hints::target_hints(&insert.target.hints)?;
        let insert = BoundInsert {
            source,
            input: BoundInput::Values(Vec::new()),
            constraints,
            outputs: BoundOutputs::default(),
            hints,
            identity,
            top: self.top_of_rows(insert.top.as_ref())?,
            has_top: insert.top.is_some(),
        };
        Ok(BoundRowsInsert { insert, columns, stores })
    }

    /// A bulk load into the columns of these names, or into all that are not computed; `types`: those of the rows that come. Errors 208, 207, 264, 271,
    /// 4406; 4816 for a type that cannot become that of its column.
    pub fn bulk_insert(
        &mut self,
        table: &ast::ObjectName,
        names: &[ast::Ident],
        types: Option<&[types::SqlType]>,
        rules: &BulkRules,
    ) -> Result<BoundRowsInsert, SqlError> {
        let access = match names.is_empty() {
            true => Access::AllColumns,
            false => Access::Columns(names.iter().map(|name| name.value.clone()).collect()),
        };
        let target =
            self.insert_target(&ast::DmlTargetKind::Table(table.clone()), &access, rules.fire_triggers)?;
        let (source, through) = (target.source.clone(), target.through.as_deref());
        if names.is_empty() && through.is_some() {
            return Err(plan_ir::errors::unsupported("a bulk load into all columns of a view"));
        }
        let columns: Vec<ast::ColumnRef> =
            names.iter().map(|name| ast::ColumnRef { qualifier: None, name: name.clone() }).collect();
        let ordinals = match columns.is_empty() {
            true => (0..source.def.columns.len())
                .filter(|at| source.def.columns[*at].computed.is_none())
                .collect(),
            false => self.target_columns(&source, through, &columns)?,
        };
        let own: Vec<types::SqlType> = ordinals.iter().map(|at| source.def.columns[*at].sql_type).collect();
        let types = types.unwrap_or(&own);
        if types.len() != ordinals.len() {
            return Err(SqlError::new(4816, &[&(ordinals.len().min(types.len()) + 1)]));
        }
        let columns: Vec<ColumnId> = types
            .iter()
            .map(|sql_type| self.new_column(*sql_type, true, types::Collation::default()))
            .collect();
        let mut stores = Vec::new();
        for (place, (ordinal, id)) in ordinals.iter().zip(&columns).enumerate() {
            if let Some(store) = self.bulk_store(&source, *ordinal, *id, rules, place)? {
                stores.push(store);
            }
        }
        let stores = self.all_stores(&source, stores)?;
        let mut constraints = self.insert_constraints(&target)?;
        if !rules.check_constraints {
            constraints.checks.clear();
            constraints.references.clear();
        }
        if !rules.fire_triggers {
            (constraints.triggers, constraints.instead_of) = (None, None);
        }
        let hints = ScanHints { table_lock: rules.table_lock, ..ScanHints::default() };
        let (input, outputs) = (BoundInput::Values(Vec::new()), BoundOutputs::default());
        let insert = BoundInsert {
            source,
            input,
            constraints,
            outputs,
            hints,
            identity: None,
            top: None,
            has_top: true,
        };
        Ok(BoundRowsInsert { insert, columns, stores })
    }

    /// How a column gets what comes for it; `None`: as if nothing came.
    fn bulk_store(
        &mut self,
        source: &TableSource,
        ordinal: usize,
        id: ColumnId,
        rules: &BulkRules,
        place: usize,
    ) -> Result<Option<BoundStore>, SqlError> {
        let column = &source.def.columns[ordinal];
        if column.sql_type == types::SqlType::RowVersion
            || (column.identity.is_some() && !rules.keep_identity)
        {
            return Ok(None);
        }
        let value = self.column_expr(id);
        let stored = self.store(source, ordinal, value);
        let mut store = stored.map_err(|_| SqlError::new(4816, &[&(place + 1)]))?;
        if !rules.keep_nulls && column.default.is_some() && column.identity.is_none() {
            let default = self.default_store(source, ordinal)?.value;
            store.value = BoundValue::OrDefault(Box::new(store.value), Box::new(default));
        }
        Ok(Some(store))
    }

    /// TOP over rows that no query gives.
    fn top_of_rows(&mut self, top: Option<&ast::Top>) -> Result<Option<TopSpec>, SqlError> {
        top.map(|top| self.top(top, Vec::new())).transpose()
    }

    /// The table behind the target, and its columns to which the values go: those named, or all that take explicit values.
    fn insert_into(&mut self, insert: &ast::Insert) -> Result<(InsertTarget, Vec<usize>), SqlError> {
        let names = || insert.columns.iter().map(|column| column.name.value.clone()).collect();
        let access = match &insert.source {
            ast::InsertSource::DefaultValues => Access::Columns(Vec::new()),
            _ if insert.columns.is_empty() => Access::AllColumns,
            _ => Access::Columns(names()),
        };
        let target = self.insert_target(&insert.target.kind, &access, true)?;
        let (source, through) = (&target.source, target.through.as_deref());
        if !insert.columns.is_empty() {
            let ordinals = self.target_columns(source, through, &insert.columns)?;
            return Ok((target, ordinals));
        }
        let explicit_identity = is_identity_insert_on(self.context.options, source);
        let takes_value = |ordinal: &usize| {
            let column = &source.def.columns[*ordinal];
            column.computed.is_none() && (column.identity.is_none() || explicit_identity)
        };
        let ordinals = match through {
            Some(through) => {
                through.columns.iter().filter_map(|column| column.ordinal).filter(takes_value).collect()
            }
            None => (0..source.def.columns.len()).filter(takes_value).collect(),
        };
        Ok((target, ordinals))
    }

    fn insert_constraints(&mut self, target: &InsertTarget) -> Result<BoundConstraints, SqlError> {
        let mut constraints = self.target_constraints(&target.source, Change::Insert)?;
        let is_replaced = constraints.instead_of.is_some();
        if let Some(through) = target.through.as_ref().filter(|_| !is_replaced) {
            constraints.view_checks = through.row_conditions(&target.source, None)?;
        }
        Ok(constraints)
    }

    fn insert_values(
        &mut self,
        source: &Arc<TableSource>,
        ordinals: &[usize],
        explicit: bool,
        rows: &[Vec<ast::Expr>],
    ) -> Result<BoundInput, SqlError> {
        let mut all = Vec::with_capacity(rows.len());
        let mut written = Vec::new();
        let mut defaults = Defaults::default();
        if rows.windows(2).any(|pair| pair[0].len() != pair[1].len()) {
            return Err(plan_ir::errors::values_width());
        }
        self.scopes.push(Scope { clause: Clause::Rows, ..Scope::default() });
        for row in rows {
            check_width(explicit, row.len(), ordinals.len())?;
            let mut stores = Vec::with_capacity(row.len());
            for (ordinal, expr) in ordinals.iter().zip(row) {
                if matches!(expr.kind, ast::ExprKind::Default) {
                    continue;
                }
                refuse_rowversion(source, *ordinal)?;
                let value = self.value(expr)?;
                value.collect_sequences(&mut written);
                stores.push(self.store(source, *ordinal, value)?);
            }
            all.push(self.all_stores_with(source, stores, &mut defaults)?);
        }
        if rows.len() > 1 && !written.is_empty() {
            self.check_unlisted_defaults(source, ordinals, &written)?;
        }
        self.scopes.pop();
        Ok(BoundInput::Values(all))
    }

    /// Several rows that draw from a sequence, from which a column that is not listed draws by its default, too: 11731.
    fn check_unlisted_defaults(
        &mut self,
        source: &Arc<TableSource>,
        ordinals: &[usize],
        written: &[Arc<SequenceSource>],
    ) -> Result<(), SqlError> {
        let def = source.def.clone();
        for (ordinal, column) in def.columns.iter().enumerate() {
            let Some(default) = column.default.as_ref().filter(|_| !ordinals.contains(&ordinal)) else {
                continue;
            };
            let mut drawn = Vec::new();
            self.stored_default(source, &default.text)?.collect_sequences(&mut drawn);
            if drawn.iter().any(|one| written.iter().any(|other| one.is(other))) {
                return Err(SqlError::new(11731, &[]));
            }
        }
        Ok(())
    }

    fn insert_query(&mut self, query: &ast::Query, top: Option<&ast::Top>) -> Result<BoundQuery, SqlError> {
        crate::formatted::refuse_text_clause(query, "INSERT")?;
        self.next_values.is_statement_next = true;
        let mut bound = self.refusing_next_values(LIMITED, top.is_some(), |binder| binder.query(query))?;
        if let Some(top) = top {
            let top = self.top(top, Vec::new())?;
            bound.rel = Rel::Top { input: Box::new(bound.rel), top };
        }
        Ok(bound)
    }

    fn insert_from(
        &mut self,
        source: &Arc<TableSource>,
        ordinals: &[usize],
        explicit: bool,
        mut query: BoundQuery,
    ) -> Result<BoundInput, SqlError> {
        if query.columns.len() != ordinals.len() {
            return Err(if explicit {
                plan_ir::errors::insert_select_width(query.columns.len() < ordinals.len())
            } else {
                plan_ir::errors::values_do_not_match()
            });
        }
        let mut order: Vec<ColumnId> = query.columns.iter().map(|column| column.id).collect();
        let drawn = self.keep_drawn(&mut query.rel, &mut order);
        let mut stores = Vec::with_capacity(ordinals.len());
        for (ordinal, column) in ordinals.iter().zip(&query.columns) {
            refuse_rowversion(source, *ordinal)?;
            let value = self.column_expr(column.id);
            let value = if column.untyped_null {
                Binder::null_of(source.def.columns[*ordinal].sql_type)
            } else {
                value
            };
            stores.push(self.store(source, *ordinal, value)?);
        }
        let stores = self.all_stores(source, stores)?;
        Ok(BoundInput::Query(Box::new(BoundSource { rel: query.rel, order, stores, drawn })))
    }

    /// The next values of the query are columns of its rows: a default over the same sequence gets the same value.
    fn keep_drawn(&mut self, rel: &mut Rel, order: &mut Vec<ColumnId>) -> Vec<(Arc<SequenceSource>, usize)> {
        let drawn = self.next_values.take_drawn();
        let Rel::Project { items, .. } = rel else { return Vec::new() };
        let mut kept = Vec::with_capacity(drawn.len());
        for (source, id) in drawn {
            let value = self.column_expr(id);
            let column = self.column_for(&value);
            items.push((column, value));
            kept.push((source, order.len()));
            order.push(column);
        }
        kept
    }

    /// The stores given, and defaults for all other columns.
    pub fn all_stores(
        &mut self,
        source: &TableSource,
        stores: Vec<BoundStore>,
    ) -> Result<Vec<BoundStore>, SqlError> {
        self.all_stores_with(source, stores, &mut Defaults::default())
    }

    /// The same for one of several rows: a default is bound for the first row that takes it.
    fn all_stores_with(
        &mut self,
        source: &TableSource,
        mut stores: Vec<BoundStore>,
        defaults: &mut Defaults,
    ) -> Result<Vec<BoundStore>, SqlError> {
        for ordinal in 0..source.def.columns.len() {
            if source.def.columns[ordinal].computed.is_none()
                && !stores.iter().any(|store| store.ordinal == ordinal)
            {
                stores.push(defaults.store(self, source, ordinal)?);
            }
        }
        Ok(stores)
    }
}

/// Has the query whose rows are inserted TOP or OFFSET?
fn has_limited_query(source: &ast::InsertSource) -> bool {
    has_query_top(source) || matches!(source, ast::InsertSource::Query(query) if query.offset.is_some())
}

fn has_query_top(source: &ast::InsertSource) -> bool {
    let ast::InsertSource::Query(query) = source else { return false };
    matches!(&query.body, ast::QueryBody::Select(block) if block.top.is_some())
}

/// As many values as columns; 213 without a list of columns, 109 and 110 with one.
pub(super) fn check_width(explicit: bool, values: usize, columns: usize) -> Result<(), SqlError> {
    match (explicit, values.cmp(&columns)) {
        (_, std::cmp::Ordering::Equal) => Ok(()),
        (false, _) => Err(plan_ir::errors::values_do_not_match()),
        (true, std::cmp::Ordering::Less) => Err(plan_ir::errors::more_columns_than_values()),
        (true, std::cmp::Ordering::Greater) => Err(plan_ir::errors::fewer_columns_than_values()),
    }
}

/// A rowversion column takes DEFAULT only; error 273.
pub(super) fn refuse_rowversion(source: &TableSource, ordinal: usize) -> Result<(), SqlError> {
    match source.def.columns[ordinal].sql_type {
        types::SqlType::RowVersion => Err(plan_ir::errors::insert_rowversion()),
        _ => Ok(()),
    }
}

/// How the statement treats an identity column; a session option at run time decides whether that is allowed.
fn identity_rule(
    source: &TableSource,
    ordinals: &[usize],
    has_list: bool,
    kind: &ast::InsertSource,
) -> Option<IdentityRule> {
    let identity = source.def.identity_ordinal()?;
    let is_given = ordinals.contains(&identity) && !matches!(kind, ast::InsertSource::DefaultValues);
    Some(IdentityRule { is_given, has_list })
}
