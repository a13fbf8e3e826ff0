//! The canonical printer: upper-case keywords, one statement a line, brackets only where they were written.
//! Parsing what it prints gives an equal tree (tested on the whole script corpus).

mod control;
mod database;
mod dml;
mod expr;
mod module;
pub(crate) mod normal;
mod query;
mod security;
mod table;

use crate::ast::{Batch, Expr, Ident, NamedOption, ObjectName, OptionValue, Statement, StatementKind};

/// Prints a batch.
pub(crate) fn batch(batch: &Batch) -> String {
    let mut printer = Printer::default();
    printer.statement_list(&batch.statements);
    printer.out
}

/// Prints an expression.
pub(crate) fn expression(expr: &Expr) -> String {
    let mut printer = Printer::default();
    printer.expr(expr);
    printer.out
}

/// Text so far and the current indentation.
#[derive(Default)]
pub(crate) struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    fn w(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    /// `a, b, c`
    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (index, value) in items.iter().enumerate() {
            if index > 0 {
                self.w(", ");
            }
            item(self, value);
        }
    }

    /// `(a, b, c)`
    fn paren_list<T>(&mut self, items: &[T], item: impl FnMut(&mut Self, &T)) {
        self.w("(");
        self.list(items, item);
        self.w(")");
    }

    /// `before` and the item, if there is one.
    fn opt<T>(&mut self, before: &str, value: &Option<T>, print: impl FnOnce(&mut Self, &T)) {
        if let Some(value) = value {
            self.w(before);
            print(self, value);
        }
    }

    fn flag(&mut self, text: &str, on: bool) {
        if on {
            self.w(text);
        }
    }

    fn on_off(&mut self, on: bool) {
        self.w(if on { "ON" } else { "OFF" });
    }

    fn ident(&mut self, ident: &Ident) {
        if !ident.quoted {
            return self.w(&ident.value);
        }
        self.w("[");
        self.w(&ident.value.replace(']', "]]"));
        self.w("]");
    }

    fn idents(&mut self, idents: &[Ident]) {
        self.list(idents, Self::ident);
    }

    /// ` (a, b)`, or nothing for an empty list.
    fn paren_idents(&mut self, idents: &[Ident]) {
        if !idents.is_empty() {
            self.w(" (");
            self.idents(idents);
            self.w(")");
        }
    }

    fn name(&mut self, name: &ObjectName) {
        let outer = [&name.server, &name.database, &name.schema];
        let mut started = false;
        for part in outer {
            if let Some(part) = part {
                self.ident(part);
                started = true;
            }
            self.flag(".", started);
        }
        self.ident(&name.name);
    }

    /// `'..'`; a backslash at the end of a line would be a continuation, so an extra line continuation is written behind it.
    fn string(&mut self, text: &str) {
        let text = text.replace('\'', "''");
        let text = text.replace("\\\n", "\\\\\n\n").replace("\\\r\n", "\\\\\n\r\n");
        self.w("'");
        self.w(&text);
        self.w("'");
    }

    fn options(&mut self, options: &[NamedOption]) {
        self.list(options, Self::option);
    }

    /// ` WITH (..)`, or nothing for an empty list.
    fn with_options(&mut self, options: &[NamedOption]) {
        if !options.is_empty() {
            self.w(" WITH (");
            self.options(options);
            self.w(")");
        }
    }

    fn option(&mut self, option: &NamedOption) {
        if option.name.is("STOPATMARK AFTER") || option.name.is("STOPBEFOREMARK AFTER") {
            return self.stop_at_mark(option);
        }
        self.ident(&option.name);
        match &option.value {
            None => {}
            Some(OptionValue::List(list)) => {
                self.w(" (");
                self.options(list);
                self.w(")");
            }
            Some(OptionValue::Ranges(ranges)) => {
                self.w(" ");
                self.ranges(ranges);
            }
            Some(OptionValue::Value(value, unit)) if option.name.is("SAMPLE") => {
                self.w(" ");
                self.value_with_unit(value, unit);
            }
            Some(OptionValue::OnPartitions(word, ranges)) if option.name.is("RESAMPLE") => {
                self.w(" ON ");
                self.ident(word);
                self.w(" ");
                self.ranges(ranges);
            }
            Some(value) => {
                self.w(" = ");
                self.option_value(value);
            }
        }
    }

    fn option_value(&mut self, value: &OptionValue) {
        match value {
            OptionValue::Switch(on, list) => {
                self.on_off(*on);
                if !list.is_empty() {
                    self.w(" (");
                    self.options(list);
                    self.w(")");
                }
            }
            OptionValue::Word(word) => self.ident(word),
            OptionValue::Value(value, unit) => self.value_with_unit(value, unit),
            OptionValue::OnPartitions(word, ranges) => {
                self.ident(word);
                self.w(" ON PARTITIONS ");
                self.ranges(ranges);
            }
            OptionValue::Name(name) => self.name(name),
            OptionValue::List(list) => self.paren_list(list, Self::option),
            OptionValue::Ranges(ranges) => self.ranges(ranges),
        }
    }

    fn stop_at_mark(&mut self, option: &NamedOption) {
        self.w(option.name.value.split(' ').next().unwrap_or_default());
        if let Some(OptionValue::Ranges(parts)) = &option.value
            && let [(mark, _), (after, _)] = parts.as_slice()
        {
            self.w(" = ");
            self.expr(mark);
            self.w(" AFTER ");
            self.expr(after);
        }
    }

    fn value_with_unit(&mut self, value: &Expr, unit: &Option<Ident>) {
        self.expr(value);
        self.opt(" ", unit, Self::ident);
    }

    /// `(1, 3 TO 5)`
    fn ranges(&mut self, ranges: &[(Expr, Option<Expr>)]) {
        self.paren_list(ranges, |p, (from, to)| {
            p.expr(from);
            p.opt(" TO ", to, Self::expr);
        });
    }

    /// Statements, each closed with `;` and on its own line.
    fn statement_list(&mut self, statements: &[Statement]) {
        for (index, statement) in statements.iter().enumerate() {
            if index > 0 {
                self.new_line();
            }
            self.statement(statement);
            self.w(";");
        }
    }

    /// `before`, indented statements, `after` on its own line.
    fn block(&mut self, before: &str, statements: &[Statement], after: &str) {
        self.w(before);
        self.indent += 1;
        self.new_line();
        if statements.is_empty() && before == "BEGIN" {
            self.w(";");
        }
        self.statement_list(statements);
        self.indent -= 1;
        self.new_line();
        self.w(after);
    }

    /// One statement without a closing `;`.
    fn statement(&mut self, statement: &Statement) {
        use StatementKind as K;
        match &statement.kind {
            K::Select(select) => self.select_statement(select),
            K::Insert(insert) => self.insert(insert),
            K::Update(update) => self.update(update),
            K::Delete(delete) => self.delete(delete),
            K::Merge(merge) => self.merge(merge),
            K::Truncate(truncate) => self.truncate(truncate),
            K::BulkInsert(bulk) => self.bulk_insert(bulk),
            K::InsertBulk(bulk) => self.insert_bulk(bulk),
            K::CreateTable(_)
            | K::AlterTable(_)
            | K::CreateIndex(_)
            | K::AlterIndex(_)
            | K::DropIndex(_)
            | K::CreateStatistics(_)
            | K::UpdateStatistics(_)
            | K::DropStatistics(_)
            | K::CreatePartitionFunction(_)
            | K::CreatePartitionScheme(_)
            | K::CreateSequence(_)
            | K::AlterSequence(_)
            | K::CreateType(_)
            | K::CreateSynonym(_)
            | K::Drop(_) => self.table_statement(&statement.kind),
            K::CreateView(_)
            | K::CreateProcedure(_)
            | K::CreateFunction(_)
            | K::CreateTrigger(_)
            | K::EnableTrigger(_)
            | K::CreateSchema(_)
            | K::AlterSchema(_) => self.module_statement(&statement.kind),
            K::CreateDatabase(_)
            | K::AlterDatabase(_)
            | K::DropDatabase(_)
            | K::AlterDatabaseScopedConfiguration(_)
            | K::Use(_)
            | K::Backup(_)
            | K::Restore(_) => self.database_statement(&statement.kind),
            K::Permission(_)
            | K::CreateLogin(_)
            | K::AlterLogin(_)
            | K::CreateUser(_)
            | K::AlterUser(_)
            | K::CreateRole(_)
            | K::AlterRole(_)
            | K::AlterAuthorization(_)
            | K::ExecuteAs(_)
            | K::Revert(_)
            | K::Dbcc(_)
            | K::Checkpoint(_)
            | K::Kill(_)
            | K::Shutdown { .. }
            | K::Reconfigure { .. } => self.security_statement(&statement.kind),
            K::Other(other) => self.w(&other.text),
            _ => self.control_statement(&statement.kind),
        }
    }
}
