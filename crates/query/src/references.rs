//! The references of a module's text: objects, their columns, and how the text uses them. Each of its statements is bound again.
//!
//! A statement that cannot be bound (an object is not there, a temporary table or a table variable does not exist yet) is reported as far as
//! binding came: its references are incomplete. MERGE reads its target's rows whole, so that all columns that it names count as read. Temporary tables and system objects are not references.

use std::cell::RefCell;
use std::sync::Arc;

use binder::{Binder, Clause, Observed, Scope};
use engine::{ModuleDef, ModuleKind, ObjectDef};
use plan_ir::context::{BindContext, TriggerScope, VariableDef};
use plan_ir::data_type::TypePlace;
use plan_ir::front_end::{ColumnUse, Reference};
use plan_ir::names::same_name;
use tsql::ast::{self, ObjectName, StatementKind};

/// The references of a view, function, procedure or trigger, in the order in which they appear.
pub(crate) fn of_module(context: &BindContext<'_>, module: &ModuleDef) -> Vec<Reference> {
    let mut walk = Walk { context, module, found: Vec::new(), variables: Vec::new() };
    match module.kind {
        ModuleKind::View => walk.bind(|binder| binder.view_query(module).is_ok(), None),
        ModuleKind::InlineFunction => walk.bind(|binder| binder.inline_function_query(module).is_ok(), None),
        _ => walk.body(),
    }
    walk.found
}

struct Walk<'a> {
    context: &'a BindContext<'a>,
    module: &'a ModuleDef,
    found: Vec<Reference>,
    /// Parameters and variables that have been declared so far.
    variables: Vec<VariableDef>,
}

impl Walk<'_> {
    /// The statements of a procedure, function or trigger.
    fn body(&mut self) {
        let (parameters, body) = match plan_ir::stored::parse_module(self.module) {
            Ok(StatementKind::CreateProcedure(procedure)) => match procedure.body {
                ast::ModuleBody::Statements(body) => (procedure.parameters, body),
                ast::ModuleBody::External(_) => return,
            },
            Ok(StatementKind::CreateTrigger(trigger)) => match trigger.body {
                ast::ModuleBody::Statements(body) => (Vec::new(), body),
                ast::ModuleBody::External(_) => return,
            },
            Ok(StatementKind::CreateFunction(function)) => match function.body {
                ast::FunctionBody::Block(body) => (function.parameters, body),
                _ => return,
            },
            _ => return,
        };
        for (at, parameter) in parameters.iter().enumerate() {
            self.declare(&parameter.name, &parameter.data_type, at);
        }
        self.statements(&body);
    }

    fn declare(&mut self, name: &str, data_type: &ast::DataType, at: usize) {
        let place = TypePlace::Variable(at + 1);
        let declared =
            plan_ir::data_type::declared_in(data_type, place, self.context.database, self.context.lookup);
        if let Ok(declared) = declared {
            self.variables.push(VariableDef { name: name.to_string(), sql_type: declared.sql_type });
        }
    }

    fn statements(&mut self, statements: &[ast::Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &ast::Statement) {
        match &statement.kind {
            StatementKind::Declare(declarations) => {
                for (at, declaration) in declarations.iter().enumerate() {
                    self.declare(&declaration.name, &declaration.data_type, at);
                    declaration.initial.iter().for_each(|value| self.value(value));
                }
            }
            StatementKind::SetVariable(set) => {
                if let ast::SetVariable::Assign { value, .. } = &**set {
                    self.value(value);
                }
            }
            StatementKind::Block(statements) => self.statements(statements),
            StatementKind::AtomicBlock(block) => self.statements(&block.body),
            StatementKind::If(branches) => {
                for (when, then) in &branches.branches {
                    self.condition(when);
                    self.statement(then);
                }
                branches.otherwise.iter().for_each(|last| self.statement(last));
            }
            StatementKind::While(repeat) => {
                self.condition(&repeat.condition);
                self.statement(&repeat.body);
            }
            StatementKind::TryCatch(guarded) => {
                self.statements(&guarded.body);
                self.statements(&guarded.catch);
            }
            StatementKind::Return(Some(value)) | StatementKind::Print(value) => self.value(value),
            StatementKind::Execute(execute) => self.execute(execute),
            StatementKind::Select(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_)
            | StatementKind::Truncate(_) => {
                if let StatementKind::Insert(insert) = &statement.kind
                    && let ast::InsertSource::Execute(execute) = &insert.source
                {
                    self.execute(execute);
                }
                let bind =
                    |binder: &mut Binder<'_>| crate::statement::compile_inside(statement, binder).is_ok();
                self.bind(bind, Some(statement));
            }
            _ => {}
        }
    }

    fn value(&mut self, value: &ast::Expr) {
        let bind = |binder: &mut Binder<'_>| {
            binder.scopes.push(Scope { clause: Clause::Rows, ..Scope::default() });
            binder.value(value).is_ok()
        };
        self.bind(bind, None);
    }

    fn condition(&mut self, condition: &ast::Expr) {
        let bind = |binder: &mut Binder<'_>| {
            binder.scopes.push(Scope { clause: Clause::Rows, ..Scope::default() });
            binder.condition(condition).is_ok()
        };
        self.bind(bind, None);
    }

    /// A procedure that is called: which one is settled when it is called, unless its schema is written.
    fn execute(&mut self, execute: &ast::Execute) {
        let ast::ExecuteTarget::Procedure(name, _) = &execute.target else { return };
        let own = name.name.value.to_ascii_lowercase();
        if own.starts_with("sp_") || own.starts_with("xp_") || own.starts_with('#') {
            return;
        }
        let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
        let is_here = name.database.is_none() && name.server.is_none();
        let object = match is_here {
            true => {
                self.context.lookup.object(self.context.database, schema, &name.name.value).ok().flatten()
            }
            false => None,
        };
        let reference = entry(&mut self.found, name, object.as_ref());
        reference.is_called = true;
    }

    /// Binds a part of the text and takes down what it names.
    fn bind(&mut self, bind: impl FnOnce(&mut Binder<'_>) -> bool, statement: Option<&ast::Statement>) {
        let variables = std::mem::take(&mut self.variables);
        // A trigger's text sees the tables `inserted` and `deleted`.
        let own = (self.module.kind == ModuleKind::Trigger).then(|| Arc::new(self.module.clone()));
        let trigger = own.as_ref().map(|module| TriggerScope { database: self.context.database, module });
        let context = BindContext { variables: &variables, trigger, ..*self.context };
        let mut binder = crate::registry::binder(&context);
        binder.observed = Some(RefCell::default());
        binder.schema = Some(self.module.schema.clone());
        let is_bound = bind(&mut binder);
        let observed = binder.observed.take().map(RefCell::into_inner).unwrap_or_default();
        drop(binder);
        self.variables = variables;
        self.note(&observed, is_bound, statement);
    }

    fn note(&mut self, observed: &Observed, is_bound: bool, statement: Option<&ast::Statement>) {
        let target = statement.and_then(target);
        let is_target = |name: &ObjectName| target.is_some_and(|target| same_written(target, name));
        let takes_all_into = matches!(
            statement.map(|statement| &statement.kind),
            Some(StatementKind::Insert(insert)) if insert.columns.is_empty()
        );
        for (name, object) in &observed.written {
            if name.name.value.starts_with('#') {
                continue;
            }
            let reference = entry(&mut self.found, name, Some(object));
            reference.is_incomplete |= !is_bound;
            match is_target(name) {
                true => {
                    reference.is_updated = true;
                    reference.takes_all_into |= takes_all_into;
                }
                false => reference.is_selected = true,
            }
        }
        for name in observed.missing.iter().filter(|name| !name.name.value.starts_with('#')) {
            let reference = entry(&mut self.found, name, None);
            reference.is_incomplete = true;
        }
        for (at, column) in observed.columns() {
            let object_id = observed.objects[at].1.object_id();
            if let Some(reference) = self.found.iter_mut().find(|one| one.object_id() == Some(object_id)) {
                reference.is_selected = true;
                column_of(reference, &column).is_selected = true;
            }
        }
        for at in observed.taken_whole() {
            let object_id = observed.objects[at].1.object_id();
            self.found
                .iter_mut()
                .filter(|one| one.object_id() == Some(object_id))
                .for_each(|one| one.takes_all = true);
        }
        for (object_id, column) in &observed.changed {
            if let Some(reference) = self.found.iter_mut().find(|one| one.object_id() == Some(*object_id)) {
                column_of(reference, column).is_updated = true;
            }
        }
    }
}

/// The reference to an object, or to a name that means none.
fn entry<'f>(
    found: &'f mut Vec<Reference>,
    name: &ObjectName,
    object: Option<&ObjectDef>,
) -> &'f mut Reference {
    let text = |part: &Option<ast::Ident>| part.as_ref().map(|part| part.value.clone());
    let is_same = |known: &Reference| match (object, known.object_id()) {
        (Some(object), Some(id)) => object.object_id() == id && text(&name.database) == known.database,
        (None, None) => {
            // Without a schema a name means one of dbo's, if it comes to be.
            let schema = |written: &Option<String>| written.clone().unwrap_or_else(|| "dbo".to_string());
            same_name(&known.name, &name.name.value)
                && same_name(&schema(&text(&name.schema)), &schema(&known.schema))
                && text(&name.database) == known.database
        }
        _ => false,
    };
    let at = found.iter().position(is_same).unwrap_or_else(|| {
        found.push(Reference {
            server: text(&name.server),
            database: text(&name.database),
            schema: text(&name.schema),
            name: name.name.value.clone(),
            object: object.cloned(),
            ..Reference::default()
        });
        found.len() - 1
    });
    &mut found[at]
}

fn column_of<'r>(reference: &'r mut Reference, name: &str) -> &'r mut ColumnUse {
    let known = reference.columns.iter().position(|column| column.name == name);
    let at = known.unwrap_or_else(|| {
        reference.columns.push(ColumnUse { name: name.to_string(), is_selected: false, is_updated: false });
        reference.columns.len() - 1
    });
    &mut reference.columns[at]
}

fn same_written(one: &ObjectName, other: &ObjectName) -> bool {
    let parts = |name: &ObjectName| {
        let text = |part: &Option<ast::Ident>| part.as_ref().map(|part| part.value.to_lowercase());
        (text(&name.server), text(&name.database), text(&name.schema), name.name.value.to_lowercase())
    };
    parts(one) == parts(other)
}

/// The table or view that a statement changes, by the name that its FROM gives it when that is an alias.
fn target(statement: &ast::Statement) -> Option<&ObjectName> {
    let (target, from): (_, &[ast::TableSource]) = match &statement.kind {
        StatementKind::Insert(insert) => (&insert.target.kind, &[]),
        StatementKind::Merge(merge) => (&merge.target.kind, &[]),
        StatementKind::Update(update) => (&update.target.kind, &update.from),
        StatementKind::Delete(delete) => (&delete.target.kind, &delete.from),
        StatementKind::Truncate(truncate) => return Some(&truncate.table),
        _ => return None,
    };
    let ast::DmlTargetKind::Table(name) = target else { return None };
    from.iter().find_map(|source| aliased(source, name)).or(Some(name))
}

fn aliased<'q>(source: &'q ast::TableSource, alias: &ObjectName) -> Option<&'q ObjectName> {
    match source {
        ast::TableSource::Join(join) => aliased(&join.left, alias).or_else(|| aliased(&join.right, alias)),
        ast::TableSource::Table(table) => {
            let own = table.alias.as_ref()?;
            (alias.schema.is_none() && same_name(&own.value, &alias.name.value)).then_some(&table.name)
        }
        _ => None,
    }
}
