//! Views, procedures, functions, triggers, schemas.

use super::Printer;
use crate::ast::{
    CreateFunction, CreateProcedure, CreateTrigger, CreateView, ExecuteAsClause, FunctionBody,
    FunctionReturns, ModuleAction, ModuleBody, ModuleOption, Parameter, StatementKind, TriggerTiming,
};

impl Printer {
    pub(super) fn module_statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::CreateView(view) => self.view(view),
            StatementKind::CreateProcedure(procedure) => self.procedure(procedure),
            StatementKind::CreateFunction(function) => self.create_function(function),
            StatementKind::CreateTrigger(trigger) => self.trigger(trigger),
            StatementKind::EnableTrigger(enable) => {
                self.w(if enable.enable { "ENABLE TRIGGER " } else { "DISABLE TRIGGER " });
                if enable.triggers.is_empty() {
                    self.w("ALL");
                }
                self.list(&enable.triggers, Self::name);
                self.w(" ON ");
                self.trigger_scope(&enable.on);
            }
            StatementKind::CreateSchema(schema) => {
                self.w("CREATE SCHEMA");
                self.opt(" ", &schema.name, Self::ident);
                self.opt(" AUTHORIZATION ", &schema.authorization, Self::ident);
                self.indent += 1;
                for element in &schema.elements {
                    self.new_line();
                    self.statement(element);
                }
                self.indent -= 1;
            }
            StatementKind::AlterSchema(schema) => {
                self.w("ALTER SCHEMA ");
                self.ident(&schema.name);
                self.w(" TRANSFER ");
                self.opt("", &schema.class, |p, class| {
                    p.ident(class);
                    p.w("::");
                });
                self.name(&schema.object);
            }
            _ => {}
        }
    }

    fn action(&mut self, action: ModuleAction) {
        self.w(match action {
            ModuleAction::Create => "CREATE ",
            ModuleAction::Alter => "ALTER ",
            ModuleAction::CreateOrAlter => "CREATE OR ALTER ",
        });
    }

    fn view(&mut self, view: &CreateView) {
        self.action(view.action);
        self.flag("MATERIALIZED ", view.materialized);
        self.w("VIEW ");
        self.name(&view.name);
        self.paren_idents(&view.columns);
        if !view.options.is_empty() {
            self.w(" WITH ");
            self.idents(&view.options);
        }
        self.w(" AS");
        self.new_line();
        self.select_statement(&view.query);
        self.flag(" WITH CHECK OPTION", view.check_option);
    }

    fn parameter(&mut self, parameter: &Parameter) {
        self.w(&parameter.name);
        self.w(" ");
        self.data_type(&parameter.data_type);
        self.nullable(parameter.nullable);
        self.opt(" = ", &parameter.default, Self::expr);
        self.flag(" OUTPUT", parameter.output);
        self.flag(" READONLY", parameter.read_only);
    }

    fn module_options(&mut self, options: &[ModuleOption]) {
        if options.is_empty() {
            return;
        }
        self.w(" WITH ");
        self.list(options, |p, option| match option {
            ModuleOption::Encryption => p.w("ENCRYPTION"),
            ModuleOption::Recompile => p.w("RECOMPILE"),
            ModuleOption::SchemaBinding => p.w("SCHEMABINDING"),
            ModuleOption::NativeCompilation => p.w("NATIVE_COMPILATION"),
            ModuleOption::ReturnsNullOnNullInput => p.w("RETURNS NULL ON NULL INPUT"),
            ModuleOption::CalledOnNullInput => p.w("CALLED ON NULL INPUT"),
            ModuleOption::ViewMetadata => p.w("VIEW_METADATA"),
            ModuleOption::Inline(on) => {
                p.w("INLINE = ");
                p.on_off(*on);
            }
            ModuleOption::ExecuteAs(clause) => {
                p.w("EXECUTE AS ");
                match clause {
                    ExecuteAsClause::Caller => p.w("CALLER"),
                    ExecuteAsClause::SelfUser => p.w("SELF"),
                    ExecuteAsClause::Owner => p.w("OWNER"),
                    ExecuteAsClause::User(user) => p.string(user),
                }
            }
        });
    }

    fn body(&mut self, body: &ModuleBody) {
        match body {
            ModuleBody::Statements(statements) => self.statement_list(statements),
            ModuleBody::External(name) => {
                self.w("EXTERNAL NAME ");
                self.name(name);
            }
        }
    }

    fn procedure(&mut self, procedure: &CreateProcedure) {
        self.action(procedure.action);
        self.w("PROCEDURE ");
        self.name(&procedure.name);
        self.opt(";", &procedure.number, |p, number| p.w(&number.to_string()));
        if !procedure.parameters.is_empty() {
            self.w(" ");
            self.list(&procedure.parameters, Self::parameter);
        }
        self.module_options(&procedure.options);
        self.flag(" FOR REPLICATION", procedure.for_replication);
        self.w(" AS");
        self.new_line();
        self.body(&procedure.body);
    }

    fn create_function(&mut self, function: &CreateFunction) {
        self.action(function.action);
        self.w("FUNCTION ");
        self.name(&function.name);
        self.w(" ");
        self.paren_list(&function.parameters, Self::parameter);
        self.w(" RETURNS ");
        match &function.returns {
            FunctionReturns::Scalar(data_type) => self.data_type(data_type),
            FunctionReturns::InlineTable => self.w("TABLE"),
            FunctionReturns::Table { variable, elements, options } => {
                self.w(variable);
                self.w(" TABLE ");
                self.table_elements(elements);
                self.with_options(options);
            }
            FunctionReturns::ClrTable(elements) => {
                self.w("TABLE ");
                self.table_elements(elements);
            }
        }
        self.module_options(&function.options);
        self.w(" AS");
        self.new_line();
        match &function.body {
            FunctionBody::Block(statements) => self.block("BEGIN", statements, "END"),
            FunctionBody::Atomic(block) => self.atomic_block(block),
            FunctionBody::Query(query) => {
                self.w("RETURN (");
                self.select_statement(query);
                self.w(")");
            }
            FunctionBody::External(name) => {
                self.w("EXTERNAL NAME ");
                self.name(name);
            }
        }
    }

    fn trigger(&mut self, trigger: &CreateTrigger) {
        self.action(trigger.action);
        self.w("TRIGGER ");
        self.name(&trigger.name);
        self.w(" ON ");
        self.trigger_scope(&trigger.on);
        self.module_options(&trigger.options);
        self.w(match trigger.timing {
            TriggerTiming::For => " FOR ",
            TriggerTiming::After => " AFTER ",
            TriggerTiming::InsteadOf => " INSTEAD OF ",
        });
        self.idents(&trigger.events);
        self.flag(" WITH APPEND", trigger.with_append);
        self.flag(" NOT FOR REPLICATION", trigger.not_for_replication);
        self.w(" AS");
        self.new_line();
        self.body(&trigger.body);
    }
}
