//! INSERT, UPDATE, DELETE, MERGE, TRUNCATE, bulk loading.

use super::Printer;
use crate::ast::{
    BulkInsert, ColumnRef, Delete, DmlFilter, DmlTarget, DmlTargetKind, Insert, InsertBulk, InsertSource,
    Merge, MergeAction, MergeClause, MergeWhen, Output, SetClause, Truncate, Update,
};

impl Printer {
    pub(super) fn insert(&mut self, insert: &Insert) {
        self.with(&insert.with);
        self.w("INSERT ");
        self.top(&insert.top);
        self.w("INTO ");
        self.dml_target(&insert.target);
        self.columns(&insert.columns);
        self.output(&insert.output);
        match &insert.source {
            InsertSource::Values(rows) => {
                self.w(" VALUES ");
                self.list(rows, |p, row| p.paren_list(row, Self::expr));
            }
            InsertSource::Query(query) => {
                self.w(" ");
                self.query(query);
            }
            InsertSource::Execute(execute) => {
                self.w(" ");
                self.execute(execute);
            }
            InsertSource::DefaultValues => self.w(" DEFAULT VALUES"),
        }
        self.query_hints(&insert.options);
    }

    fn columns(&mut self, columns: &[ColumnRef]) {
        if !columns.is_empty() {
            self.w(" ");
            self.paren_list(columns, Self::column);
        }
    }

    fn dml_target(&mut self, target: &DmlTarget) {
        self.target_kind(&target.kind);
        self.table_hints(&target.hints);
    }

    fn target_kind(&mut self, kind: &DmlTargetKind) {
        match kind {
            DmlTargetKind::Table(name) => self.name(name),
            DmlTargetKind::Variable(name, _) => self.w(name),
            DmlTargetKind::Source(source) => self.table_source(source),
        }
    }

    fn output(&mut self, clauses: &[Output]) {
        for clause in clauses {
            self.w(" OUTPUT ");
            self.list(&clause.items, Self::select_item);
            if let Some(into) = &clause.into {
                self.w(" INTO ");
                self.target_kind(&into.target);
                self.columns(&into.columns);
            }
        }
    }

    pub(super) fn update(&mut self, update: &Update) {
        self.with(&update.with);
        self.w("UPDATE ");
        self.top(&update.top);
        self.dml_target(&update.target);
        self.w(" SET ");
        self.list(&update.set, Self::set_clause);
        self.output(&update.output);
        if !update.from.is_empty() {
            self.w(" FROM ");
            self.list(&update.from, Self::table_source);
        }
        self.filter(&update.filter);
        self.query_hints(&update.options);
    }

    fn set_clause(&mut self, clause: &SetClause) {
        match clause {
            SetClause::Column { column, op, value } => {
                self.column(column);
                self.assign_op(*op);
                self.expr(value);
            }
            SetClause::Variable { variable, op, value } => {
                self.w(variable);
                self.assign_op(*op);
                self.expr(value);
            }
            SetClause::VariableAndColumn { variable, column, op, value } => {
                self.w(variable);
                self.w(" = ");
                self.column(column);
                self.assign_op(*op);
                self.expr(value);
            }
            SetClause::Method { column, method, args } => {
                self.column(column);
                self.w(".");
                self.ident(method);
                self.paren_list(args, Self::expr);
            }
        }
    }

    fn filter(&mut self, filter: &Option<DmlFilter>) {
        match filter {
            Some(DmlFilter::Where(condition)) => {
                self.w(" WHERE ");
                self.expr(condition);
            }
            Some(DmlFilter::CurrentOf(cursor)) => {
                self.w(" WHERE CURRENT OF ");
                self.cursor_ref(cursor);
            }
            None => {}
        }
    }

    pub(super) fn delete(&mut self, delete: &Delete) {
        self.with(&delete.with);
        self.w("DELETE ");
        self.top(&delete.top);
        self.w("FROM ");
        self.dml_target(&delete.target);
        self.output(&delete.output);
        if !delete.from.is_empty() {
            self.w(" FROM ");
            self.list(&delete.from, Self::table_source);
        }
        self.filter(&delete.filter);
        self.query_hints(&delete.options);
    }

    pub(super) fn merge(&mut self, merge: &Merge) {
        self.with(&merge.with);
        self.w("MERGE ");
        self.top(&merge.top);
        self.w("INTO ");
        self.dml_target(&merge.target);
        self.opt(" AS ", &merge.alias, Self::ident);
        self.w(" USING ");
        self.table_source(&merge.source);
        self.w(" ON ");
        self.expr(&merge.on);
        for clause in &merge.clauses {
            self.merge_clause(clause);
        }
        self.output(&merge.output);
        self.query_hints(&merge.options);
    }

    fn merge_clause(&mut self, clause: &MergeClause) {
        self.w(match clause.when {
            MergeWhen::Matched => " WHEN MATCHED",
            MergeWhen::NotMatchedByTarget => " WHEN NOT MATCHED",
            MergeWhen::NotMatchedBySource => " WHEN NOT MATCHED BY SOURCE",
        });
        self.opt(" AND ", &clause.condition, Self::expr);
        self.w(" THEN ");
        match &clause.action {
            MergeAction::Update(set) => {
                self.w("UPDATE SET ");
                self.list(set, Self::set_clause);
            }
            MergeAction::Delete => self.w("DELETE"),
            MergeAction::Insert(columns, values) => {
                self.w("INSERT");
                self.columns(columns);
                match values {
                    Some(values) => {
                        self.w(" VALUES ");
                        self.paren_list(values, Self::expr);
                    }
                    None => self.w(" DEFAULT VALUES"),
                }
            }
        }
    }

    pub(super) fn truncate(&mut self, truncate: &Truncate) {
        self.w("TRUNCATE TABLE ");
        self.name(&truncate.table);
        if !truncate.partitions.is_empty() {
            self.w(" WITH (PARTITIONS ");
            self.ranges(&truncate.partitions);
            self.w(")");
        }
    }

    pub(super) fn bulk_insert(&mut self, bulk: &BulkInsert) {
        self.w("BULK INSERT ");
        self.name(&bulk.table);
        self.w(" FROM ");
        self.expr(&bulk.file);
        self.with_options(&bulk.options);
    }

    pub(super) fn insert_bulk(&mut self, bulk: &InsertBulk) {
        self.w("INSERT BULK ");
        self.name(&bulk.table);
        if !bulk.columns.is_empty() {
            self.w(" ");
            self.paren_list(&bulk.columns, |p, column| {
                p.ident(&column.name);
                p.w(" ");
                p.data_type(&column.data_type);
                p.opt(" COLLATE ", &column.collation, Self::ident);
                p.nullable(column.nullable);
            });
        }
        self.with_options(&bulk.options);
    }
}
