//! Queries: SELECT, FROM, hints.

use super::Printer;
use crate::ast::{
    AssignOp, DerivedTable, Expr, ForClause, GroupByWith, GroupingElement, Ident, Join, JoinHint, JoinKind,
    OpenRowset, OpenRowsetKind, Pivot, Query, QueryBody, QueryHint, RowsetColumn, Select, SelectItem,
    SelectStatement, SetOperation, SetOperator, SetQuantifier, SystemTime, TableFunction, TableHint,
    TableRef, TableSource, Top, Unpivot, With, XmlMode,
};

impl Printer {
    pub(super) fn select_statement(&mut self, select: &SelectStatement) {
        self.with(&select.with);
        self.query(&select.query);
        self.query_hints(&select.options);
    }

    pub(super) fn with(&mut self, with: &Option<With>) {
        let Some(with) = with else { return };
        self.w("WITH ");
        let mut first = true;
        if !with.xml_namespaces.is_empty() {
            self.w("XMLNAMESPACES ");
            self.paren_list(&with.xml_namespaces, |p, (uri, prefix)| {
                p.flag("DEFAULT ", prefix.is_none());
                p.string(uri);
                p.opt(" AS ", prefix, Self::ident);
            });
            first = false;
        }
        if let Some(context) = &with.change_tracking_context {
            self.flag(", ", !first);
            self.w("CHANGE_TRACKING_CONTEXT (");
            self.expr(context);
            self.w(")");
            first = false;
        }
        for table in &with.tables {
            self.flag(", ", !first);
            first = false;
            self.ident(&table.name);
            self.paren_idents(&table.columns);
            self.w(" AS (");
            self.query(&table.query);
            self.w(")");
        }
        self.w(" ");
    }

    pub(super) fn query(&mut self, query: &Query) {
        self.query_body(&query.body);
        self.flag(" ", !query.order_by.is_empty());
        self.order_by(&query.order_by);
        self.opt(" OFFSET ", &query.offset, |p, offset| {
            p.expr(&offset.skip);
            p.w(" ROWS");
            if let Some(fetch) = &offset.fetch {
                p.w(if offset.approximate { " FETCH APPROXIMATE NEXT " } else { " FETCH NEXT " });
                p.expr(fetch);
                p.w(" ROWS ONLY");
            }
        });
        self.opt(" FOR ", &query.for_clause, |p, clause| p.for_clause(clause));
    }

    fn query_body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::SetOperation(operation) => self.set_operation(operation),
            QueryBody::Ordered(query) => {
                self.w("(");
                self.query(query);
                self.w(")");
            }
        }
    }

    fn set_operation(&mut self, operation: &SetOperation) {
        let intersect = operation.rest.first().is_some_and(|(op, _)| *op == SetOperator::Intersect);
        self.set_operand(&operation.first, intersect);
        for (operator, operand) in &operation.rest {
            self.w(match operator {
                SetOperator::Union => " UNION ",
                SetOperator::UnionAll => " UNION ALL ",
                SetOperator::Except => " EXCEPT ",
                SetOperator::Intersect => " INTERSECT ",
            });
            self.set_operand(operand, intersect);
        }
    }

    /// Only a chain of INTERSECT inside a chain of UNION needs no parentheses.
    fn set_operand(&mut self, body: &QueryBody, inside_intersect: bool) {
        let bare = match body {
            QueryBody::Select(_) | QueryBody::Ordered(_) => true,
            QueryBody::SetOperation(inner) => {
                !inside_intersect && inner.rest.first().is_some_and(|(op, _)| *op == SetOperator::Intersect)
            }
        };
        self.flag("(", !bare);
        self.query_body(body);
        self.flag(")", !bare);
    }

    fn select(&mut self, select: &Select) {
        self.w("SELECT ");
        match select.quantifier {
            Some(SetQuantifier::Distinct) => self.w("DISTINCT "),
            Some(SetQuantifier::All) => self.w("ALL "),
            None => {}
        }
        self.top(&select.top);
        self.list(&select.items, Self::select_item);
        self.opt(" INTO ", &select.into, |p, into| {
            p.name(&into.table);
            p.opt(" ON ", &into.filegroup, Self::ident);
        });
        if !select.from.is_empty() {
            self.w(" FROM ");
            self.list(&select.from, Self::table_source);
        }
        self.opt(" WHERE ", &select.where_clause, Self::expr);
        self.opt(" GROUP BY ", &select.group_by, |p, group_by| {
            p.flag("ALL ", group_by.all);
            p.list(&group_by.items, Self::grouping_element);
            match group_by.with {
                Some(GroupByWith::Cube) => p.w(" WITH CUBE"),
                Some(GroupByWith::Rollup) => p.w(" WITH ROLLUP"),
                None => {}
            }
        });
        self.opt(" HAVING ", &select.having, Self::expr);
        if !select.windows.is_empty() {
            self.w(" WINDOW ");
            self.list(&select.windows, |p, (name, window)| {
                p.ident(name);
                p.w(" AS ");
                p.window_body(window);
            });
        }
    }

    /// `TOP (n) PERCENT WITH TIES ` with a blank behind.
    pub(super) fn top(&mut self, top: &Option<Top>) {
        let Some(top) = top else { return };
        self.w("TOP (");
        self.expr(&top.count);
        self.w(") ");
        self.flag("PERCENT ", top.percent);
        self.flag("WITH TIES ", top.with_ties);
    }

    pub(super) fn select_item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::Star(_) => self.w("*"),
            SelectItem::QualifiedStar(name) => {
                self.name(name);
                self.w(".*");
            }
            SelectItem::Expr { expr, alias } => {
                self.expr(expr);
                self.opt(" AS ", alias, Self::ident);
            }
            SelectItem::Assign { variable, op, expr } => {
                self.w(variable);
                self.assign_op(*op);
                self.expr(expr);
            }
        }
    }

    pub(super) fn assign_op(&mut self, op: AssignOp) {
        self.w(match op {
            AssignOp::Set => " = ",
            AssignOp::Add => " += ",
            AssignOp::Subtract => " -= ",
            AssignOp::Multiply => " *= ",
            AssignOp::Divide => " /= ",
            AssignOp::Modulo => " %= ",
            AssignOp::BitAnd => " &= ",
            AssignOp::BitOr => " |= ",
            AssignOp::BitXor => " ^= ",
            AssignOp::Concat => " ||= ",
        });
    }

    fn grouping_element(&mut self, element: &GroupingElement) {
        match element {
            GroupingElement::Expr(expr) => self.expr(expr),
            GroupingElement::Group(exprs) => self.paren_list(exprs, Self::expr),
            GroupingElement::Rollup(elements) => {
                self.w("ROLLUP ");
                self.paren_list(elements, Self::grouping_element);
            }
            GroupingElement::Cube(elements) => {
                self.w("CUBE ");
                self.paren_list(elements, Self::grouping_element);
            }
            GroupingElement::Sets(elements) => {
                self.w("GROUPING SETS ");
                self.paren_list(elements, Self::grouping_element);
            }
        }
    }

    fn for_clause(&mut self, clause: &ForClause) {
        let options = match clause {
            ForClause::Browse => return self.w("BROWSE"),
            ForClause::Json(path, options) => {
                self.w(if *path { "JSON PATH" } else { "JSON AUTO" });
                options
            }
            ForClause::Xml(mode, options) => {
                let name = match mode {
                    XmlMode::Raw(name) => {
                        self.w("XML RAW");
                        name
                    }
                    XmlMode::Path(name) => {
                        self.w("XML PATH");
                        name
                    }
                    XmlMode::Auto => {
                        self.w("XML AUTO");
                        &None
                    }
                    XmlMode::Explicit => {
                        self.w("XML EXPLICIT");
                        &None
                    }
                };
                self.opt(" (", name, |p, name| {
                    p.string(name);
                    p.w(")");
                });
                options
            }
        };
        for option in options {
            self.w(", ");
            self.option(option);
        }
    }

    pub(super) fn table_source(&mut self, source: &TableSource) {
        match source {
            TableSource::Table(table) => self.table_ref(table),
            TableSource::Variable { name, alias, .. } => {
                self.w(name);
                self.opt(" AS ", alias, Self::ident);
            }
            TableSource::Derived(derived) => self.derived_table(derived),
            TableSource::Values(values) => {
                self.w("(VALUES ");
                self.list(&values.rows, |p, row| p.paren_list(row, Self::expr));
                self.w(")");
                self.table_alias(&values.alias, &values.columns);
            }
            TableSource::Function(function) => self.table_function(function),
            TableSource::OpenJson(json) => {
                self.w("OPENJSON ");
                self.paren_list(&json.args, Self::expr);
                self.rowset_schema(&json.columns);
                self.table_alias(&json.alias, &[]);
            }
            TableSource::OpenXml(xml) => {
                self.w("OPENXML ");
                self.paren_list(&xml.args, Self::expr);
                self.rowset_schema(&xml.columns);
                self.opt(" WITH ", &xml.table, Self::name);
                self.table_alias(&xml.alias, &[]);
            }
            TableSource::OpenRowset(rowset) => self.open_rowset(rowset),
            TableSource::Join(join) => self.join(join),
            TableSource::Pivot(pivot) => self.pivot(pivot),
            TableSource::Unpivot(unpivot) => self.unpivot(unpivot),
            TableSource::Dml(dml) => {
                self.w("(");
                self.statement(&dml.statement);
                self.w(")");
                self.table_alias(&dml.alias, &dml.columns);
            }
            TableSource::OdbcOuterJoin(inner) => {
                self.w("{oj ");
                self.table_source(inner);
                self.w("}");
            }
        }
    }

    fn table_alias(&mut self, alias: &Option<Ident>, columns: &[Ident]) {
        self.opt(" AS ", alias, Self::ident);
        self.paren_idents(columns);
    }

    fn table_ref(&mut self, table: &TableRef) {
        self.name(&table.name);
        self.flag(" FOR PATH", table.for_path);
        self.opt(" FOR SYSTEM_TIME ", &table.system_time, Self::system_time);
        self.opt(" AS ", &table.alias, Self::ident);
        if let Some(sample) = &table.sample {
            self.w(" TABLESAMPLE (");
            self.expr(&sample.amount);
            self.opt("", &sample.rows, |p, rows| p.w(if *rows { " ROWS" } else { " PERCENT" }));
            self.w(")");
            self.opt(" REPEATABLE (", &sample.repeatable, |p, seed| {
                p.expr(seed);
                p.w(")");
            });
        }
        self.table_hints(&table.hints);
    }

    /// ` WITH (..)`, or nothing.
    pub(super) fn table_hints(&mut self, hints: &[TableHint]) {
        if !hints.is_empty() {
            self.w(" WITH ");
            self.paren_list(hints, Self::table_hint);
        }
    }

    fn table_hint(&mut self, hint: &TableHint) {
        self.ident(&hint.name);
        if hint.args.is_empty() {
            return;
        }
        if hint.name.is("SPATIAL_WINDOW_MAX_CELLS") {
            self.w(" = ");
            return self.list(&hint.args, Self::expr);
        }
        self.w("(");
        self.list(&hint.args, Self::expr);
        self.paren_idents(&hint.columns);
        self.w(")");
    }

    fn system_time(&mut self, time: &SystemTime) {
        let pair = |p: &mut Self, before: &str, from: &Expr, between: &str, to: &Expr| {
            p.w(before);
            p.expr(from);
            p.w(between);
            p.expr(to);
        };
        match time {
            SystemTime::All => self.w("ALL"),
            SystemTime::AsOf(at) => {
                self.w("AS OF ");
                self.expr(at);
            }
            SystemTime::FromTo(from, to) => pair(self, "FROM ", from, " TO ", to),
            SystemTime::Between(from, to) => pair(self, "BETWEEN ", from, " AND ", to),
            SystemTime::ContainedIn(from, to) => {
                pair(self, "CONTAINED IN (", from, ", ", to);
                self.w(")");
            }
        }
    }

    fn derived_table(&mut self, derived: &DerivedTable) {
        self.w("(");
        self.query(&derived.query);
        self.w(")");
        self.table_alias(&derived.alias, &derived.columns);
    }

    fn table_function(&mut self, function: &TableFunction) {
        self.flag("::", function.double_colon);
        self.expr(&function.call);
        self.rowset_schema(&function.schema);
        self.table_alias(&function.alias, &function.columns);
        self.table_hints(&function.hints);
    }

    /// ` WITH (name type ..)`, or nothing.
    fn rowset_schema(&mut self, columns: &[RowsetColumn]) {
        if columns.is_empty() {
            return;
        }
        self.w(" WITH ");
        self.paren_list(columns, |p, column| {
            p.ident(&column.name);
            p.w(" ");
            p.data_type(&column.data_type);
            p.opt(" COLLATE ", &column.collation, Self::ident);
            p.opt(" ", &column.path, Self::expr);
            p.flag(" AS JSON", column.as_json);
        });
    }

    fn open_rowset(&mut self, rowset: &OpenRowset) {
        self.w(match rowset.kind {
            OpenRowsetKind::Rowset => "OPENROWSET(",
            OpenRowsetKind::Bulk => "OPENROWSET(BULK ",
            OpenRowsetKind::Query => "OPENQUERY(",
            OpenRowsetKind::DataSource => "OPENDATASOURCE(",
        });
        // OPENQUERY's server comes as a column reference, OPENROWSET's table behind its strings.
        self.list(&rowset.args, Self::expr);
        for option in &rowset.options {
            self.w(", ");
            self.option(option);
        }
        match (&rowset.table, rowset.kind) {
            (Some(table), OpenRowsetKind::DataSource) => {
                self.w(").");
                self.name(table);
            }
            (table, _) => {
                self.opt(", ", table, Self::name);
                self.w(")");
            }
        }
        self.rowset_schema(&rowset.columns);
        self.table_alias(&rowset.alias, &rowset.column_aliases);
        self.table_hints(&rowset.hints);
    }

    fn join(&mut self, join: &Join) {
        self.table_source(&join.left);
        let (before, after) = match join.kind {
            JoinKind::Inner => (" INNER", " JOIN "),
            JoinKind::Left => (" LEFT", " JOIN "),
            JoinKind::Right => (" RIGHT", " JOIN "),
            JoinKind::Full => (" FULL", " JOIN "),
            JoinKind::Cross => (" CROSS", " JOIN "),
            JoinKind::CrossApply => (" CROSS", " APPLY "),
            JoinKind::OuterApply => (" OUTER", " APPLY "),
        };
        self.w(before);
        self.opt(" ", &join.hint, |p, hint| {
            p.w(match hint {
                JoinHint::Loop => "LOOP",
                JoinHint::Hash => "HASH",
                JoinHint::Merge => "MERGE",
                JoinHint::Remote => "REMOTE",
                JoinHint::Redistribute => "REDISTRIBUTE",
                JoinHint::Reduce => "REDUCE",
                JoinHint::Replicate => "REPLICATE",
            });
        });
        self.w(after);
        let wrap =
            matches!(join.right, TableSource::Join(_) | TableSource::Pivot(_) | TableSource::Unpivot(_));
        self.flag("(", wrap);
        self.table_source(&join.right);
        self.flag(")", wrap);
        self.opt(" ON ", &join.on, Self::expr);
    }

    fn pivot(&mut self, pivot: &Pivot) {
        self.table_source(&pivot.source);
        self.w(" PIVOT (");
        self.expr(&pivot.aggregate);
        self.w(" FOR ");
        self.name(&pivot.column);
        self.w(" IN (");
        self.idents(&pivot.values);
        self.w("))");
        self.table_alias(&pivot.alias, &pivot.columns);
    }

    fn unpivot(&mut self, unpivot: &Unpivot) {
        self.table_source(&unpivot.source);
        self.w(" UNPIVOT (");
        self.ident(&unpivot.value);
        self.w(" FOR ");
        self.ident(&unpivot.column);
        self.w(" IN ");
        self.paren_list(&unpivot.columns, Self::name);
        self.w(")");
        self.table_alias(&unpivot.alias, &unpivot.column_aliases);
    }

    /// ` OPTION (..)`, or nothing.
    pub(super) fn query_hints(&mut self, hints: &[QueryHint]) {
        if !hints.is_empty() {
            self.w(" OPTION ");
            self.paren_list(hints, Self::query_hint);
        }
    }

    fn query_hint(&mut self, hint: &QueryHint) {
        match hint {
            QueryHint::Plain(words, value) => {
                self.ident(words);
                let assigned =
                    ["LABEL", "MIN_GRANT_PERCENT", "MAX_GRANT_PERCENT"].iter().any(|word| words.is(word));
                self.opt(if assigned { " = " } else { " " }, value, Self::expr);
            }
            QueryHint::UseHint(names) => {
                self.w("USE HINT ");
                self.paren_list(names, |p, name| p.string(name));
            }
            QueryHint::UsePlan(plan) => {
                self.w("USE PLAN ");
                self.expr(plan);
            }
            QueryHint::OptimizeFor(variables) => {
                self.w("OPTIMIZE FOR ");
                self.paren_list(variables, |p, (variable, value)| {
                    p.w(variable);
                    match value {
                        Some(value) => {
                            p.w(" = ");
                            p.expr(value);
                        }
                        None => p.w(" UNKNOWN"),
                    }
                });
            }
            QueryHint::OptimizeForUnknown => self.w("OPTIMIZE FOR UNKNOWN"),
            QueryHint::TableHint(name, hints) => {
                self.w("TABLE HINT (");
                self.name(name);
                for hint in hints {
                    self.w(", ");
                    self.table_hint(hint);
                }
                self.w(")");
            }
            QueryHint::ForTimestamp(at) => {
                self.w("FOR TIMESTAMP AS OF ");
                self.expr(at);
            }
        }
    }
}
