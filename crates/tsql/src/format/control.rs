//! Control of flow, variables, EXECUTE, transactions, SET, cursors.

use super::Printer;
use crate::ast::{
    CursorDefinition, CursorOption, CursorRef, CursorUpdatability, Execute, ExecuteArgument, ExecuteOption,
    ExecuteTarget, Fetch, FetchDirection, If, IsolationLevel, RaisError, ResultSet, SetStatement,
    SetVariable, Statement, StatementKind, TransactionName, VariableDeclaration, WaitFor,
};
use crate::set_words::{STATISTICS, SWITCHES, VALUES};

impl Printer {
    pub(super) fn control_statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Block(statements) => self.block("BEGIN", statements, "END"),
            StatementKind::AtomicBlock(block) => self.atomic_block(block),
            StatementKind::If(statement) => self.if_statement(statement),
            StatementKind::While(statement) => {
                self.w("WHILE ");
                self.expr(&statement.condition);
                self.w(" ");
                self.statement(&statement.body);
            }
            StatementKind::Break => self.w("BREAK"),
            StatementKind::Continue => self.w("CONTINUE"),
            StatementKind::Return(value) => {
                self.w("RETURN");
                self.opt(" ", value, |p, value| p.expr(value));
            }
            StatementKind::Goto(label) => {
                self.w("GOTO ");
                self.ident(label);
            }
            StatementKind::Label(label) => {
                self.ident(label);
                self.w(":");
            }
            StatementKind::TryCatch(statement) => {
                self.block("BEGIN TRY", &statement.body, "END TRY");
                self.new_line();
                self.block("BEGIN CATCH", &statement.catch, "END CATCH");
            }
            StatementKind::Throw(throw) => {
                self.w("THROW");
                self.opt(" ", throw, |p, throw| {
                    p.expr(&throw.number);
                    p.w(", ");
                    p.expr(&throw.message);
                    p.w(", ");
                    p.expr(&throw.state);
                });
            }
            StatementKind::RaisError(raise) => self.raiserror(raise),
            StatementKind::Print(value) => {
                self.w("PRINT ");
                self.expr(value);
            }
            StatementKind::WaitFor(wait) => self.waitfor(wait),
            StatementKind::Declare(variables) => {
                self.w("DECLARE ");
                self.list(variables, Self::variable);
            }
            StatementKind::DeclareTable(table) => {
                self.w("DECLARE ");
                self.w(&table.name);
                self.w(" TABLE ");
                self.table_elements(&table.elements);
                self.with_options(&table.options);
            }
            StatementKind::SetVariable(set) => self.set_variable(set),
            StatementKind::Execute(execute) => self.execute(execute),
            StatementKind::Set(set) => self.set(set),
            _ => self.transaction_or_cursor(kind),
        }
    }

    pub(super) fn atomic_block(&mut self, block: &crate::ast::AtomicBlock) {
        self.w("BEGIN ATOMIC WITH (");
        self.options(&block.options);
        self.block(")", &block.body, "END");
    }

    fn transaction_or_cursor(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::BeginTransaction(begin) => {
                self.w(if begin.distributed { "BEGIN DISTRIBUTED TRANSACTION" } else { "BEGIN TRANSACTION" });
                self.opt(" ", &begin.name, Self::transaction_name);
                self.flag(" WITH MARK", begin.mark);
                self.opt(" ", &begin.mark_description, Self::expr);
            }
            StatementKind::Commit(commit) => {
                self.w(if commit.work { "COMMIT WORK" } else { "COMMIT TRANSACTION" });
                self.opt(" ", &commit.name, Self::transaction_name);
                self.opt(" WITH (DELAYED_DURABILITY = ", &commit.delayed_durability, |p, on| p.on_off(*on));
                if let Some(wait) = &commit.max_wait_ms {
                    self.w(if commit.delayed_durability.is_some() { ", " } else { " WITH (" });
                    self.w("MAX_WAIT = ");
                    self.expr(wait);
                    self.w(" MS");
                }
                self.flag(")", commit.delayed_durability.is_some() || commit.max_wait_ms.is_some());
            }
            StatementKind::Rollback(rollback) => {
                self.w(if rollback.work { "ROLLBACK WORK" } else { "ROLLBACK TRANSACTION" });
                self.opt(" ", &rollback.name, Self::transaction_name);
            }
            StatementKind::SaveTransaction(name) => {
                self.w("SAVE TRANSACTION ");
                self.transaction_name(name);
            }
            StatementKind::DeclareCursor(cursor) => {
                self.w("DECLARE ");
                self.ident(&cursor.name);
                if cursor.definition.is_iso {
                    self.cursor_options(&cursor.definition.options);
                }
                self.w(" ");
                self.cursor_definition(&cursor.definition);
            }
            StatementKind::OpenCursor(cursor) => {
                self.w("OPEN ");
                self.cursor_ref(cursor);
            }
            StatementKind::CloseCursor(cursor) => {
                self.w("CLOSE ");
                self.cursor_ref(cursor);
            }
            StatementKind::DeallocateCursor(cursor) => {
                self.w("DEALLOCATE ");
                self.cursor_ref(cursor);
            }
            StatementKind::Fetch(fetch) => self.fetch(fetch),
            _ => {}
        }
    }

    fn if_statement(&mut self, statement: &If) {
        let last = statement.branches.len() - 1;
        for (index, (condition, body)) in statement.branches.iter().enumerate() {
            self.w("IF ");
            self.expr(condition);
            self.w(" ");
            let followed = index < last || statement.otherwise.is_some();
            // An ELSE would join an inner IF that has none of its own.
            if followed && takes_else(body) {
                self.block("BEGIN", std::slice::from_ref(body), "END");
            } else {
                self.statement(body);
            }
            if followed {
                self.w(";");
                self.new_line();
                self.w("ELSE ");
            }
        }
        if let Some(otherwise) = &statement.otherwise {
            self.statement(otherwise);
        }
    }

    fn raiserror(&mut self, raise: &RaisError) {
        if raise.severity.is_none() {
            self.w("RAISERROR ");
            self.expr(&raise.message);
            for arg in &raise.args {
                self.w(" ");
                self.expr(arg);
            }
            return;
        }
        self.w("RAISERROR (");
        self.expr(&raise.message);
        self.opt(", ", &raise.severity, Self::expr);
        self.opt(", ", &raise.state, Self::expr);
        for arg in &raise.args {
            self.w(", ");
            self.expr(arg);
        }
        self.w(")");
        if !raise.options.is_empty() {
            self.w(" WITH ");
            self.idents(&raise.options);
        }
    }

    fn waitfor(&mut self, wait: &WaitFor) {
        self.w("WAITFOR ");
        match wait {
            WaitFor::Delay(delay) => {
                self.w("DELAY ");
                self.expr(delay);
            }
            WaitFor::Time(time) => {
                self.w("TIME ");
                self.expr(time);
            }
            WaitFor::Durable { ticket, timeout_ms } => {
                self.w("DURABLE ");
                self.expr(ticket);
                self.opt(", TIMEOUT ", timeout_ms, Self::expr);
            }
            WaitFor::Statement(text) => self.w(text),
        }
    }

    fn variable(&mut self, variable: &VariableDeclaration) {
        self.w(&variable.name);
        self.w(" ");
        self.data_type(&variable.data_type);
        self.nullable(variable.nullable);
        self.opt(" = ", &variable.initial, Self::expr);
    }

    /// ` NULL`, ` NOT NULL` or nothing.
    pub(super) fn nullable(&mut self, nullable: Option<bool>) {
        self.opt("", &nullable, |p, nullable| p.w(if *nullable { " NULL" } else { " NOT NULL" }));
    }

    fn set_variable(&mut self, set: &SetVariable) {
        self.w("SET ");
        match set {
            SetVariable::Assign { variable, op, value } => {
                self.w(variable);
                self.assign_op(*op);
                self.expr(value);
            }
            SetVariable::Cursor { variable, definition } => {
                self.w(variable);
                self.w(" = ");
                self.cursor_definition(definition);
            }
            SetVariable::Method { variable, method, args } => {
                self.w(variable);
                self.w(".");
                self.ident(method);
                self.paren_list(args, Self::expr);
            }
            SetVariable::Property { variable, property, op, value } => {
                self.w(variable);
                self.w(".");
                self.ident(property);
                self.assign_op(*op);
                self.expr(value);
            }
        }
    }

    pub(super) fn execute(&mut self, execute: &Execute) {
        if execute.odbc {
            return self.odbc_call(execute);
        }
        self.flag("EXECUTE ", !execute.bare);
        self.opt("", &execute.return_variable, |p, variable| {
            p.w(variable);
            p.w(" = ");
        });
        match &execute.target {
            ExecuteTarget::Procedure(name, number) => {
                self.name(name);
                self.opt(";", number, |p, number| p.w(&number.to_string()));
            }
            ExecuteTarget::Variable(name, number) => {
                self.w(name);
                self.opt(";", number, |p, number| p.w(&number.to_string()));
            }
            ExecuteTarget::Text { text, run_as, at } => {
                self.w("(");
                self.expr(text);
                for arg in &execute.args {
                    self.w(", ");
                    self.argument(arg);
                }
                self.w(")");
                self.opt(" AS ", run_as, |p, run_as| {
                    p.w(if run_as.login { "LOGIN = " } else { "USER = " });
                    p.string(&run_as.name);
                });
                self.opt(" AT ", at, |p, at| {
                    p.flag("DATA_SOURCE ", at.data_source);
                    p.ident(&at.name);
                });
            }
        }
        if !matches!(execute.target, ExecuteTarget::Text { .. }) && !execute.args.is_empty() {
            self.w(" ");
            self.list(&execute.args, Self::argument);
        }
        if !execute.options.is_empty() {
            self.w(" WITH ");
            self.list(&execute.options, Self::execute_option);
        }
    }

    fn odbc_call(&mut self, execute: &Execute) {
        self.w("{");
        self.opt("", &execute.return_variable, |p, variable| {
            p.w(variable);
            p.w(" = ");
        });
        self.w("call ");
        if let ExecuteTarget::Procedure(name, number) = &execute.target {
            self.name(name);
            self.opt(";", number, |p, number| p.w(&number.to_string()));
        }
        self.paren_list(&execute.args, Self::argument);
        self.w("}");
    }

    fn argument(&mut self, argument: &ExecuteArgument) {
        self.opt("", &argument.name, |p, name| {
            p.w(name);
            p.w(" = ");
        });
        self.expr(&argument.value);
        self.flag(" OUTPUT", argument.output);
    }

    fn execute_option(&mut self, option: &ExecuteOption) {
        match option {
            ExecuteOption::Recompile => self.w("RECOMPILE"),
            ExecuteOption::ResultSetsNone => self.w("RESULT SETS NONE"),
            ExecuteOption::ResultSetsUndefined => self.w("RESULT SETS UNDEFINED"),
            ExecuteOption::ResultSets(sets) => {
                self.w("RESULT SETS ");
                self.paren_list(sets, |p, set| match set {
                    ResultSet::AsForXml => p.w("AS FOR XML"),
                    ResultSet::AsObject(name) => {
                        p.w("AS OBJECT ");
                        p.name(name);
                    }
                    ResultSet::AsType(name) => {
                        p.w("AS TYPE ");
                        p.name(name);
                    }
                    ResultSet::Columns(columns) => p.paren_list(columns, |p, column| {
                        p.ident(&column.name);
                        p.w(" ");
                        p.data_type(&column.data_type);
                        p.opt(" COLLATE ", &column.collation, Self::ident);
                        p.nullable(column.nullable);
                    }),
                });
            }
        }
    }

    fn transaction_name(&mut self, name: &TransactionName) {
        match name {
            TransactionName::Name(name) => self.ident(name),
            TransactionName::Variable(name) => self.w(name),
        }
    }

    fn set(&mut self, set: &SetStatement) {
        self.w("SET ");
        match set {
            SetStatement::Switches { options, on } => {
                self.list(options, |p, option| p.w(spelling(&SWITCHES, option)));
                self.w(" ");
                self.on_off(*on);
            }
            SetStatement::Statistics { kinds, on } => {
                self.w("STATISTICS ");
                self.list(kinds, |p, kind| p.w(spelling(&STATISTICS, kind)));
                self.w(" ");
                self.on_off(*on);
            }
            SetStatement::Offsets { words, on } => {
                self.w("OFFSETS ");
                self.idents(words);
                self.w(" ");
                self.on_off(*on);
            }
            SetStatement::TransactionIsolation(level) => {
                self.w("TRANSACTION ISOLATION LEVEL ");
                self.w(match level {
                    IsolationLevel::ReadUncommitted => "READ UNCOMMITTED",
                    IsolationLevel::ReadCommitted => "READ COMMITTED",
                    IsolationLevel::RepeatableRead => "REPEATABLE READ",
                    IsolationLevel::Snapshot => "SNAPSHOT",
                    IsolationLevel::Serializable => "SERIALIZABLE",
                });
            }
            SetStatement::IdentityInsert { table, on } => {
                self.w("IDENTITY_INSERT ");
                self.name(table);
                self.w(" ");
                self.on_off(*on);
            }
            SetStatement::Value { option, value } => {
                self.w(spelling(&VALUES, option));
                self.w(" ");
                self.expr(value);
            }
            SetStatement::ErrorLevel(value) => {
                self.w("ERRLVL ");
                self.expr(value);
            }
        }
    }

    pub(super) fn cursor_ref(&mut self, cursor: &CursorRef) {
        match cursor {
            CursorRef::Name { name, global } => {
                self.flag("GLOBAL ", *global);
                self.ident(name);
            }
            CursorRef::Variable(name) => self.w(name),
        }
    }

    fn cursor_definition(&mut self, definition: &CursorDefinition) {
        self.w("CURSOR");
        if !definition.is_iso {
            self.cursor_options(&definition.options);
        }
        self.w(" FOR ");
        self.with(&definition.with);
        self.query(&definition.query);
        self.query_hints(&definition.hints);
        match &definition.updatability {
            Some(CursorUpdatability::ReadOnly) => self.w(" FOR READ ONLY"),
            Some(CursorUpdatability::Update(columns)) => {
                self.w(" FOR UPDATE");
                if !columns.is_empty() {
                    self.w(" OF ");
                    self.list(columns, Self::column);
                }
            }
            None => {}
        }
    }

    fn cursor_options(&mut self, options: &[CursorOption]) {
        for option in options {
            self.w(match option {
                CursorOption::Insensitive => " INSENSITIVE",
                CursorOption::Local => " LOCAL",
                CursorOption::Global => " GLOBAL",
                CursorOption::ForwardOnly => " FORWARD_ONLY",
                CursorOption::Scroll => " SCROLL",
                CursorOption::Static => " STATIC",
                CursorOption::Keyset => " KEYSET",
                CursorOption::Dynamic => " DYNAMIC",
                CursorOption::FastForward => " FAST_FORWARD",
                CursorOption::ReadOnly => " READ_ONLY",
                CursorOption::ScrollLocks => " SCROLL_LOCKS",
                CursorOption::Optimistic => " OPTIMISTIC",
                CursorOption::TypeWarning => " TYPE_WARNING",
            });
        }
    }

    fn fetch(&mut self, fetch: &Fetch) {
        self.w("FETCH ");
        self.opt("", &fetch.direction, |p, direction| {
            match direction {
                FetchDirection::Next => p.w("NEXT"),
                FetchDirection::Prior => p.w("PRIOR"),
                FetchDirection::First => p.w("FIRST"),
                FetchDirection::Last => p.w("LAST"),
                FetchDirection::Absolute(row) => {
                    p.w("ABSOLUTE ");
                    p.expr(row);
                }
                FetchDirection::Relative(row) => {
                    p.w("RELATIVE ");
                    p.expr(row);
                }
            }
            p.w(" ");
        });
        self.w("FROM ");
        self.cursor_ref(&fetch.cursor);
        if !fetch.into.is_empty() {
            self.w(" INTO ");
            self.list(&fetch.into, |p, variable| p.w(variable));
        }
    }
}

/// Whether an ELSE behind the statement would belong to an IF at its end.
fn takes_else(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::If(inner) => match &inner.otherwise {
            Some(otherwise) => takes_else(otherwise),
            None => true,
        },
        StatementKind::While(inner) => takes_else(&inner.body),
        _ => false,
    }
}

fn spelling<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> &'static str {
    choices.iter().find(|(_, choice)| choice == value).map_or("", |(word, _)| word)
}
