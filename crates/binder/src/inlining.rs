//! Inlining of scalar functions: a body of assignments, IF and RETURN becomes one expression over the arguments, so that the planner sees what a
//! call computes (documentation: "Scalar UDF inlining"; Ramachandra et al., "Froid", VLDB 2017).
//!
//! The body is evaluated symbolically. Each variable has an expression as its value; an assignment replaces it; IF becomes CASE. Parameters are
//! columns of no table meanwhile: the arguments take their places at the end, if that evaluates none of them twice which must not be.

use std::sync::Arc;

use engine::{Database, ModuleDef};
use plan_ir::bound::convert::for_variable;
use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::context::UserFunction;
use plan_ir::data_type::{TypePlace, declared_in};
use plan_ir::function_def::Determinism;
use plan_ir::kinds::ColumnId;
use tsql::ast::{
    self, AssignOp, FunctionBody, ModuleOption, QueryBody, SelectItem, SetVariable, Statement, StatementKind,
};
use types::{Collation, SqlError, SqlType};

use super::call::aggregate_kind;
use super::from::{as_parameter, stored_function};
use super::{Binder, Clause, Scope};

/// A larger expression than this, in nodes, is not worth what is saved by it.
const NODES_MAX: usize = 400;

/// Errors that end the binding whatever it was about: memory, deadlock, a lock that is not free, attention.
const ENDING: [i32; 5] = [701, 1205, 1222, 3617, 8623];

/// What a statement list comes to.
enum Flow {
    /// RETURN with this value.
    Returned(Expr),
    /// It falls through to what follows.
    Continues,
    /// It has something that cannot be inlined.
    Unsuitable,
}

impl Binder<'_> {
    /// The value of a call as an expression; `None` where the function is called instead. `function` is the statement that made it.
    pub(super) fn inlined(
        &mut self,
        called: &UserFunction,
        function: &ast::CreateFunction,
        returns: SqlType,
        arguments: &[Expr],
    ) -> Result<Option<Expr>, SqlError> {
        // Expressions of tables keep the call (documentation: "not in a computed column or a check constraint definition").
        let is_off = function.options.contains(&ModuleOption::Inline(false));
        if is_off || !self.inlines_functions || self.refuses_subqueries {
            return Ok(None);
        }
        let Some((value, parameters)) = self.body_as_expression(called, function, returns)? else {
            return Ok(None);
        };
        let is_grouped =
            self.is_binding_group_key || self.scopes.last().is_some_and(|scope| scope.grouping.is_some());
        if is_grouped && value.has_subquery() {
            return Ok(None);
        }
        for (id, argument) in parameters.iter().zip(arguments) {
            let is_once = !argument.has_subquery() && !argument.is_volatile();
            if !is_once && uses_of(&value, *id) != 1 {
                return Ok(None);
            }
        }
        let mut value = value;
        value.rewrite_deep(&mut |part| match &part.kind {
            ExprKind::Column(id) => {
                let at = parameters.iter().position(|parameter| parameter == id)?;
                Some(as_parameter(arguments[at].clone()))
            }
            _ => None,
        });
        if called.is_strict {
            let nulls = arguments
                .iter()
                .map(|argument| Expr::predicate(ExprKind::IsNull(Box::new(as_parameter(argument.clone())))));
            if let Some(is_null) = plan_ir::bound::tree::balanced(nulls.collect(), ExprKind::Or) {
                let null = as_parameter(for_variable(Expr::null(), &returns)?);
                let kind = ExprKind::Case(vec![(is_null, null)], Some(Box::new(value)));
                value = Expr::new(kind, returns, true);
            }
        }
        // A group key that reads no column is refused (164): a call with columns stays one, also when its value does not read them.
        let reads_none = |expr: &Expr| expr.columns().is_empty();
        if self.is_binding_group_key && reads_none(&value) && !arguments.iter().all(reads_none) {
            return Ok(None);
        }
        Ok(Some(value))
    }

    /// Does the value depend on the arguments alone? Of a body that is no expression it is not known.
    pub(super) fn is_body_deterministic(
        &mut self,
        called: &UserFunction,
        function: &ast::CreateFunction,
        returns: SqlType,
    ) -> Result<bool, SqlError> {
        let body = self.body_as_expression(called, function, returns)?;
        Ok(body.is_some_and(|(value, _)| value.is_deterministic() && !value.has_subquery()))
    }

    /// Can a function be inlined: `is_inlineable` of `sys.sql_modules`.
    pub fn is_inlineable(&mut self, database: &Arc<Database>, module: &Arc<ModuleDef>) -> bool {
        let Ok(text) = stored_function(module) else { return false };
        let Ok(arguments) = self.unknown_arguments(&text, database) else { return false };
        match self.signature(database, module, &text, arguments) {
            Ok((function, Some(returns), _)) => {
                matches!(self.body_as_expression(&function, &text, returns), Ok(Some(_)))
            }
            _ => false,
        }
    }

    /// The body as an expression over a column for each parameter; `None` when it is not suitable.
    fn body_as_expression(
        &mut self,
        called: &UserFunction,
        function: &ast::CreateFunction,
        returns: SqlType,
    ) -> Result<Option<(Expr, Vec<ColumnId>)>, SqlError> {
        let FunctionBody::Block(body) = &function.body else { return Ok(None) };
        let id = called.module.object_id;
        // READONLY stands behind tables alone (documentation: "doesn't reference table-valued parameters").
        let has_table = function.parameters.iter().any(|parameter| parameter.read_only);
        if has_table || self.inlining.contains(&id) || !is_suitable(body) {
            return Ok(None);
        }
        let database = called.database.clone();
        let (schema, ansi_nulls) = (called.module.schema.clone(), called.module.ansi_nulls);
        self.inlining.push(id);
        let group_key = std::mem::replace(&mut self.is_binding_group_key, false);
        let result = self.isolated(database, schema, ansi_nulls, |binder| {
            let mut parameters = Vec::with_capacity(called.parameters.len());
            for (parameter, sql_type) in function.parameters.iter().zip(&called.parameters) {
                let id = binder.new_column(*sql_type, true, Collation::default());
                parameters.push(id);
                let value = Expr::new(ExprKind::Column(id), *sql_type, true);
                binder.arguments.push((parameter.name.clone(), value));
            }
            binder.scopes.push(Scope { clause: Clause::Rows, ..Scope::default() });
            let statements: Vec<&Statement> = body.iter().collect();
            let flow = binder.flow(&statements, returns);
            binder.scopes.pop();
            Ok(match flow? {
                Flow::Returned(value) if is_worth_it(&value, &called.module.definition) => {
                    Some((value, parameters))
                }
                _ => None,
            })
        });
        self.is_binding_group_key = group_key;
        self.inlining.pop();
        match result {
            // What the body names may be missing or wrong: then a call that runs says so, and one that does not run succeeds.
            Err(error) if !error.is_stale_plan() && !ENDING.contains(&error.number) => Ok(None),
            result => result,
        }
    }

    /// The value that statements return, one after the other.
    fn flow(&mut self, statements: &[&Statement], returns: SqlType) -> Result<Flow, SqlError> {
        let Some((first, rest)) = statements.split_first() else { return Ok(Flow::Continues) };
        os::memory::check().map_err(plan_ir::errors::out_of_memory)?;
        let is_done = match &first.kind {
            StatementKind::Return(Some(value)) => {
                let value = self.value(value)?;
                return Ok(Flow::Returned(as_parameter(for_variable(value, &returns)?)));
            }
            StatementKind::Block(body) => {
                let all: Vec<&Statement> = body.iter().chain(rest.iter().copied()).collect();
                return self.deeper(|binder| binder.flow(&all, returns));
            }
            StatementKind::If(branching) => return self.branches(branching, rest, returns),
            StatementKind::Declare(variables) => self.declare_symbolically(variables)?,
            StatementKind::SetVariable(assignment) => match assignment.as_ref() {
                SetVariable::Assign { variable, op: AssignOp::Set, value } => {
                    let value = self.value(value)?;
                    self.assign_symbolically(variable, value)?
                }
                _ => false,
            },
            StatementKind::Select(select) => self.select_symbolically(select)?,
            _ => false,
        };
        if is_done { self.flow(rest, returns) } else { Ok(Flow::Unsuitable) }
    }

    /// IF: what follows the statement follows each branch.
    fn branches(
        &mut self,
        branching: &ast::If,
        rest: &[&Statement],
        returns: SqlType,
    ) -> Result<Flow, SqlError> {
        let mut cases = Vec::with_capacity(branching.branches.len());
        for (condition, body) in &branching.branches {
            let condition = self.condition(condition)?;
            match self.branch(Some(body), rest, returns)? {
                Flow::Returned(value) => cases.push((condition, value)),
                Flow::Continues | Flow::Unsuitable => return Ok(Flow::Unsuitable),
            }
        }
        let Flow::Returned(last) = self.branch(branching.otherwise.as_ref(), rest, returns)? else {
            return Ok(Flow::Unsuitable);
        };
        let kind = ExprKind::Case(cases, Some(Box::new(last)));
        Ok(Flow::Returned(Expr::new(kind, returns, true)))
    }

    /// A branch and what follows it; its assignments hold in it alone.
    fn branch(
        &mut self,
        body: Option<&Statement>,
        rest: &[&Statement],
        returns: SqlType,
    ) -> Result<Flow, SqlError> {
        let before = self.arguments.clone();
        let all: Vec<&Statement> = body.into_iter().chain(rest.iter().copied()).collect();
        let flow = self.deeper(|binder| binder.flow(&all, returns));
        self.arguments = before;
        flow
    }

    fn declare_symbolically(&mut self, variables: &[ast::VariableDeclaration]) -> Result<bool, SqlError> {
        let database = self.current_database();
        for (at, variable) in variables.iter().enumerate() {
            if variable.data_type.name.name.is("cursor") {
                return Ok(false);
            }
            let place = TypePlace::Variable(at + 1);
            let declared = declared_in(&variable.data_type, place, &database, self.context.lookup)?;
            let initial = match &variable.initial {
                Some(initial) => self.value(initial)?,
                None => Expr::null(),
            };
            let value = as_parameter(for_variable(initial, &declared.sql_type)?);
            self.arguments.push((variable.name.clone(), value));
        }
        Ok(true)
    }

    fn assign_symbolically(&mut self, variable: &str, value: Expr) -> Result<bool, SqlError> {
        let is_it = |known: &(String, Expr)| known.0.eq_ignore_ascii_case(variable);
        let Some(at) = self.arguments.iter().position(is_it) else { return Ok(false) };
        let sql_type = self.arguments[at].1.sql_type;
        self.arguments[at].1 = as_parameter(for_variable(value, &sql_type)?);
        Ok(true)
    }

    /// SELECT that assigns: of expressions alone, or of one value of a query that gives exactly one row.
    fn select_symbolically(&mut self, statement: &ast::SelectStatement) -> Result<bool, SqlError> {
        let QueryBody::Select(select) = &statement.query.body else { return Ok(false) };
        let assigns_only =
            select.items.iter().all(|item| matches!(item, SelectItem::Assign { op: AssignOp::Set, .. }));
        if !assigns_only || statement.with.is_some() || !statement.options.is_empty() {
            return Ok(false);
        }
        if select.from.is_empty() {
            if select.where_clause.is_some() || select.top.is_some() {
                return Ok(false);
            }
            for item in &select.items {
                let SelectItem::Assign { variable, expr, .. } = item else { return Ok(false) };
                let value = self.value(expr)?;
                if !self.assign_symbolically(variable, value)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let [SelectItem::Assign { variable, expr, .. }] = select.items.as_slice() else { return Ok(false) };
        // An aggregate of all rows has one row, whatever there is. Without a row a variable keeps its value.
        let is_one_row = select.group_by.is_none()
            && select.having.is_none()
            && select.top.is_none()
            && select.quantifier.is_none()
            && is_aggregate(expr);
        if !is_one_row || !statement.query.order_by.is_empty() || statement.query.offset.is_some() {
            return Ok(false);
        }
        let mut query = statement.query.clone();
        if let QueryBody::Select(select) = &mut query.body {
            select.items = vec![SelectItem::Expr { expr: expr.clone(), alias: None }];
        }
        let span = expr.span;
        let subquery = ast::Expr { span, kind: ast::ExprKind::Subquery(Box::new(query)) };
        let value = self.value(&subquery)?;
        self.assign_symbolically(variable, value)
    }
}

/// Has the body only statements that can be inlined?
fn is_suitable(body: &[Statement]) -> bool {
    body.iter().all(|statement| match &statement.kind {
        StatementKind::Block(inner) => is_suitable(inner),
        StatementKind::If(branching) => {
            let bodies = branching.branches.iter().map(|(_, body)| body).chain(&branching.otherwise);
            bodies.into_iter().all(|body| is_suitable(std::slice::from_ref(body)))
        }
        StatementKind::Return(_)
        | StatementKind::Declare(_)
        | StatementKind::SetVariable(_)
        | StatementKind::Select(_) => true,
        _ => false,
    })
}

/// Is its value that of an aggregate over all rows?
fn is_aggregate(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Function(call) => {
            let has_window = call.extra.as_ref().is_some_and(|extra| extra.over.is_some());
            let is_own = call.name.schema.is_none()
                && aggregate_kind(&call.name.name.value.to_ascii_uppercase()).is_some();
            !has_window && (is_own || call.args.iter().any(is_aggregate))
        }
        ast::ExprKind::Convert(convert) => is_aggregate(&convert.operand),
        ast::ExprKind::Arithmetic(chain) => {
            is_aggregate(&chain.first) || chain.rest.iter().any(|(_, operand)| is_aggregate(operand))
        }
        _ => false,
    }
}

/// Small enough, no query more than once, nothing that depends on when it is called.
fn is_worth_it(value: &Expr, text: &str) -> bool {
    let (mut nodes, mut queries, mut depends) = (0, 0, false);
    count(value, &mut nodes, &mut queries, &mut depends);
    let written = text.to_ascii_uppercase().matches("SELECT").count();
    nodes <= NODES_MAX && queries <= written && !depends
}

fn count(expr: &Expr, nodes: &mut usize, queries: &mut usize, depends: &mut bool) {
    *nodes += 1;
    match &expr.kind {
        ExprKind::Call(function, _) => *depends |= function.determinism != Determinism::Deterministic,
        ExprKind::UserCall(..) | ExprKind::NextValue(_) => *depends = true,
        ExprKind::Subquery(subquery) => {
            *queries += 1;
            count_in(&subquery.rel, nodes, queries, depends);
        }
        _ => {}
    }
    expr.children().into_iter().for_each(|child| count(child, nodes, queries, depends));
}

fn count_in(rel: &Rel, nodes: &mut usize, queries: &mut usize, depends: &mut bool) {
    *nodes += 1;
    // The computed columns of a table are its own.
    if !matches!(rel, Rel::Table(_)) {
        rel.expressions().into_iter().for_each(|expr| count(expr, nodes, queries, depends));
    }
    rel.inputs().into_iter().for_each(|input| count_in(input, nodes, queries, depends));
}

/// How often an expression reads a column, its subqueries included; those count twice, since they may run for each row.
fn uses_of(expr: &Expr, id: ColumnId) -> usize {
    fn in_rel(rel: &Rel, id: ColumnId) -> usize {
        let own: usize = rel.expressions().into_iter().map(|expr| uses_of(expr, id)).sum();
        own + rel.inputs().into_iter().map(|input| in_rel(input, id)).sum::<usize>()
    }
    let own = match &expr.kind {
        ExprKind::Column(read) => usize::from(*read == id),
        ExprKind::Subquery(subquery) => 2 * in_rel(&subquery.rel, id),
        _ => 0,
    };
    own + expr.children().into_iter().map(|child| uses_of(child, id)).sum::<usize>()
}
