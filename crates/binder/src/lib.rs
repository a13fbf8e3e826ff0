//! The binder: gives names their meaning and expressions their types, and inserts the implicit conversions.

mod arguments;
mod call;
mod call_arguments;
pub mod clauses;
pub mod coerce;
mod constraints;
pub mod formatted;
mod found_target;
mod from;
mod group;
mod grouping;
mod grouping_sets;
pub mod hinted_tables;
mod hints;
pub mod identity;
mod inlining;
mod insert;
pub mod item;
mod json_made;
pub mod kept_stars;
mod limits;
mod merge;
mod named_window;
mod names;
pub mod next_values;
pub mod not_here;
pub mod observe;
mod open_bulk;
mod open_json;
mod open_xml;
mod output;
mod pivot;
mod reachable;
mod recursion;
mod rowset;
mod scalar;
mod seen_through;
mod select;
mod sequence;
pub mod set_op;
mod stars;
mod table_argument;
mod target;
mod through;
mod trigger;
mod update;
mod user_function;
mod window;
mod xml_method;

use std::cell::RefCell;
use std::sync::Arc;

use engine::Database;
use plan_ir::bound::coercibility::check_resolved;
use plan_ir::bound::columns::{ColumnInfo, Columns};
use plan_ir::bound::tree::{AggregateCall, Expr, Rel, WindowCall};
use plan_ir::built_ins::BuiltIns;
use plan_ir::context::BindContext;
use plan_ir::kinds::{Coercibility, ColumnId};
use plan_ir::plan_dependencies::PlanDependencies;
use types::{Collation, SqlError, SqlType};

/// Nesting beyond this is refused with error 191, long before the stack ends.
const MAX_DEPTH: u32 = 200;
/// A statement may stand for this many queries of views, functions and common table expressions: those that name others twice grow
/// by doubling (8623).
const MAX_EXPANSIONS: u32 = 2000;
/// Views inside views inside views: error 223-like limit of the field, 32.
const MAX_VIEW_DEPTH: u32 = 32;

/// Binds one statement.
pub struct Binder<'a> {
    /// Name resolution, and the declarations of the session.
    pub context: &'a BindContext<'a>,
    /// The functions and views of the system.
    pub built_ins: &'static dyn BuiltIns,
    /// The database in which one- and two-part names are looked up; a view's own while it is expanded.
    pub database: Arc<Database>,
    /// SET ANSI_NULLS of the text; a view's own while it is expanded.
    pub ansi_nulls: bool,
    /// The columns of the statement.
    pub columns: Columns,
    /// The FROM clauses in sight, the innermost last.
    pub scopes: Vec<Scope>,
    /// The common table expressions in sight.
    pub common_tables: Vec<CommonTableEntry>,
    /// The plan dependencies: the statement is valid while the name lookups give these answers.
    pub dependencies: PlanDependencies,
    /// Tables that are read, as often as they are named.
    pub tables: Vec<Arc<plan_ir::table::TableSource>>,
    /// Column aliases of inlined function parameters: name -> expression.
    pub arguments: Vec<(String, Expr)>,
    /// Tables that the parameters of an inlined function stand for.
    pub(crate) table_arguments: Vec<(String, table_argument::ParameterTable)>,
    /// The target of UPDATE or DELETE with FROM.
    pub target: Option<found_target::TargetRequest>,
    /// Queries under names that stand in the statement's tree, by the first column of each.
    pub named_queries: rustc_hash::FxHashMap<ColumnId, seen_through::NamedQuery>,
    /// Columns of type text, ntext and image with the names of their base tables.
    pub long_columns: Vec<(ColumnId, Arc<[String]>)>,
    /// The next SELECT block may have INTO: it is the first of a SELECT statement.
    pub expects_into: bool,
    /// Name of that table.
    pub into_name: String,
    /// The item of a SELECT INTO that is IDENTITY(...), by position.
    pub identity_item: Option<(usize, engine::IdentityDef)>,
    /// Columns of derived tables whose rows all have the NULL literal there: named, they are that literal, whose type is its reader's.
    pub untyped_nulls: rustc_hash::FxHashSet<ColumnId>,
    /// The collation labels of columns that come from expressions; all other columns have the label of a column.
    pub coercibilities: rustc_hash::FxHashMap<ColumnId, Coercibility>,
    /// Names mean columns also where these are untyped NULLs: in keys of groups and orders.
    pub names_columns: bool,
    /// The names in the text itself, if the caller asked for them (dependencies of a view, columns of a CHECK).
    pub observed: Option<RefCell<Observed>>,
    /// The text is stored for all sessions: it must not name temporary tables, which belong to one session.
    pub refuses_temporary: bool,
    /// It is the query of a function that is being made: what has side effects may not be called in its text (443).
    pub makes_function: bool,
    /// It is the text of a CHECK, a default or a computed column that is being made: one expression, no queries (1046).
    pub refuses_subqueries: bool,
    /// The columns of the xml method `nodes`, each with the hidden one that has the node's number.
    node_columns: rustc_hash::FxHashMap<ColumnId, ColumnId>,
    /// WITH XMLNAMESPACES.
    xml_namespaces: Vec<XmlNamespace>,
    /// The words between INNER or the like and JOIN, as they come.
    pub join_hints: Vec<tsql::ast::JoinHint>,
    /// TABLE HINT of OPTION.
    pub table_hints: Vec<hinted_tables::HintedTable>,
    /// NEXT VALUE FOR: where it may stand and what it becomes there.
    pub next_values: next_values::NextValues,
    /// Where names without a schema are looked for before `dbo`, when it is not the schema of the context: that of the current view or function.
    pub schema: Option<Arc<str>>,
    /// The expansion of `*` in the text of a module.
    pub stars: kept_stars::Stars,
    /// A column that cannot be found does not end the binding: `unknown_name`.
    pub tells_all_names: bool,
    /// Where they are written, and what is wrong with them.
    unknown_names: Vec<(usize, SqlError)>,
    /// Scalar functions are inlined where that is possible.
    pub inlines_functions: bool,
    /// The functions that are being inlined, by their object ids, the innermost last.
    inlining: Vec<i32>,
    /// A key of GROUP BY is being bound.
    is_binding_group_key: bool,
    depth: u32,
    view_depth: u32,
    expansions: u32,
    next_work: u32,
}

/// The objects and columns that a text names, not those behind its views.
#[derive(Default)]
pub struct Observed {
    /// Each once, in order of appearance: database, object.
    pub objects: Vec<(Arc<Database>, engine::ObjectDef)>,
    /// Where the columns come from: position in `objects`, name.
    sources: rustc_hash::FxHashMap<ColumnId, (usize, String)>,
    /// Those that are referred to.
    used: std::collections::BTreeSet<ColumnId>,
    /// Names as they are written, with what they mean.
    pub written: Vec<(tsql::ast::ObjectName, engine::ObjectDef)>,
    /// The synonyms among them: database and number of the base object, the synonym with its database.
    pub synonyms: Vec<(i16, i32, Arc<Database>, Arc<engine::ModuleDef>)>,
    /// The same of the system's own views and functions.
    pub system: Vec<tsql::ast::ObjectName>,
    /// Names of tables and views that mean nothing.
    pub missing: Vec<tsql::ast::ObjectName>,
    /// Columns that a statement gives values to: number of the table, name.
    pub changed: std::collections::BTreeSet<(i32, String)>,
    /// Columns for which `*` stands.
    starred: std::collections::BTreeSet<ColumnId>,
}

impl Observed {
    /// The position of an object among those that are named; a new one is added.
    fn position_of(&mut self, database: &Arc<Database>, object: &engine::ObjectDef) -> usize {
        let is_it = |(of, known): &(Arc<Database>, engine::ObjectDef)| {
            of.id() == database.id() && known.object_id() == object.object_id()
        };
        self.objects.iter().position(is_it).unwrap_or_else(|| {
            self.objects.push((database.clone(), object.clone()));
            self.objects.len() - 1
        })
    }

    /// Puts synonyms in the place of their base objects: the text names them.
    fn name_synonyms(&mut self) {
        for (base_database, base, database, synonym) in &self.synonyms {
            let is_base = |(of, known): &&mut (Arc<Database>, engine::ObjectDef)| {
                of.id() == *base_database && known.object_id() == *base
            };
            if let Some(found) = self.objects.iter_mut().find(is_base) {
                *found = (database.clone(), engine::ObjectDef::Module(synonym.clone()));
            }
        }
    }

    /// The columns referred to: position in `objects`, name; each once.
    pub fn columns(&self) -> std::collections::BTreeSet<(usize, String)> {
        self.used.iter().filter_map(|id| self.sources.get(id).cloned()).collect()
    }

    /// Positions in `objects` of those whose columns a `*` takes.
    pub fn taken_whole(&self) -> std::collections::BTreeSet<usize> {
        self.starred.iter().filter_map(|id| self.sources.get(id).map(|source| source.0)).collect()
    }
}

/// The tables of one FROM clause and what its SELECT collects.
#[derive(Default)]
pub struct Scope {
    /// The tables, from the left.
    pub tables: Vec<ScopeTable>,
    /// The aggregates of the block.
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
    /// Its window functions.
    pub windows: Vec<(ColumnId, WindowCall)>,
    /// Which clause is being bound.
    pub clause: Clause,
    /// GROUP BY, while what stands above it is bound.
    pub grouping: Option<grouping_sets::Grouping>,
    /// Columns of the first so many tables need a qualifier: `inserted` and `deleted` of OUTPUT.
    pub qualified_only: usize,
    /// The block is the whole query of a SELECT INTO: its items may be IDENTITY(...).
    pub takes_identity: bool,
    /// The count of its TOP, OFFSET or FETCH is being bound: its columns are seen and refused (4115).
    pub refuses_columns: bool,
    /// WINDOW clause.
    pub named_windows: Vec<(tsql::ast::Ident, tsql::ast::Window)>,
}

/// Which clause is being bound: decides whether aggregates and windows may stand there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clause {
    /// FROM, ON, WHERE, SET, VALUES: neither.
    #[default]
    Rows,
    /// HAVING: aggregates.
    Groups,
    /// Select list and ORDER BY: both.
    Output,
    /// Inside an aggregate's argument.
    Aggregate,
    /// Inside a window function.
    Window,
    /// The argument of TOP, OFFSET or FETCH.
    RowCount,
}

/// A table, view or derived table under its alias.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    /// The name under which it is seen.
    pub alias: String,
    /// Schema and database when the table has no alias and may be named in full.
    pub schema: Option<String>,
    /// See `schema`.
    pub database: Option<String>,
    /// Its columns in order.
    pub columns: Vec<ScopeColumn>,
}

/// One visible column.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    /// Its name.
    pub name: String,
    /// Its number in the statement.
    pub id: ColumnId,
    /// It is an identity column of a base table.
    pub identity: bool,
    /// It has the ROWGUIDCOL property.
    pub rowguid: bool,
    /// It is a column of a base table.
    pub base: bool,
}

/// A common table expression in sight.
#[derive(Clone)]
pub struct CommonTableEntry {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub definition: CommonTableDefinition,
    /// How many entries were in sight where it was defined (it sees only these, and itself).
    pub visible: usize,
}

/// What it stands for.
#[derive(Clone)]
pub enum CommonTableDefinition {
    /// A query.
    Query(Arc<tsql::ast::CommonTable>),
    /// Inside its own recursive part: the rows made last.
    Work {
        /// The number of the recursion.
        work: u32,
        /// The columns of its rows.
        columns: Vec<WorkColumn>,
    },
}

/// A column of a recursion's rows: its name, and a value of its type and collation.
pub type WorkColumn = (String, Expr);

/// A namespace of WITH XMLNAMESPACES: its prefix, none for the default one, and its URI.
pub type XmlNamespace = (Option<String>, String);

/// A bound query: rows and their visible columns.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    /// The tree.
    pub rel: Rel,
    /// Its visible columns in order.
    pub columns: Vec<OutputColumn>,
}

/// A column of a bound query.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Its name; empty when it has none.
    pub name: String,
    /// Its number in the statement.
    pub id: ColumnId,
    /// It is an identity column of a base table.
    pub identity: bool,
    /// It is a column of a base table.
    pub base: bool,
    /// It is an untyped NULL, whose type another branch may decide.
    pub untyped_null: bool,
}

impl<'a> Binder<'a> {
    /// A binder of one statement.
    pub fn new(context: &'a BindContext<'a>, built_ins: &'static dyn BuiltIns) -> Binder<'a> {
        Binder {
            context,
            built_ins,
            database: context.database.clone(),
            ansi_nulls: context.options.ansi_nulls,
            columns: Columns::default(),
            scopes: Vec::new(),
            common_tables: Vec::new(),
            dependencies: PlanDependencies::default(),
            tables: Vec::new(),
            arguments: Vec::new(),
            table_arguments: Vec::new(),
            target: None,
            named_queries: rustc_hash::FxHashMap::default(),
            long_columns: Vec::new(),
            expects_into: false,
            into_name: String::new(),
            identity_item: None,
            untyped_nulls: rustc_hash::FxHashSet::default(),
            coercibilities: rustc_hash::FxHashMap::default(),
            names_columns: false,
            observed: None,
            makes_function: context.in_function,
            refuses_temporary: false,
            refuses_subqueries: false,
            node_columns: rustc_hash::FxHashMap::default(),
            xml_namespaces: Vec::new(),
            join_hints: Vec::new(),
            table_hints: Vec::new(),
            next_values: next_values::NextValues::default(),
            schema: None,
            stars: kept_stars::Stars::default(),
            tells_all_names: false,
            unknown_names: Vec::new(),
            inlines_functions: true,
            inlining: Vec::new(),
            is_binding_group_key: false,
            depth: 0,
            view_depth: 0,
            expansions: 0,
            next_work: 0,
        }
    }

    /// A new column of the statement.
    pub fn new_column(&mut self, sql_type: SqlType, nullable: bool, collation: Collation) -> ColumnId {
        self.columns.add(ColumnInfo { sql_type, nullable, collation })
    }

    /// A new column that holds the value of an expression.
    pub fn column_for(&mut self, expr: &Expr) -> ColumnId {
        self.value_column(expr.sql_type, expr.nullable, Some(expr))
    }

    /// A new column of a type, with the collation of the value from which it comes.
    pub fn value_column(&mut self, sql_type: SqlType, nullable: bool, value: Option<&Expr>) -> ColumnId {
        let value = value.filter(|value| value.sql_type.is_character());
        let id = self.new_column(sql_type, nullable, value.map(|value| value.collation).unwrap_or_default());
        let coercibility = value.map(|value| value.coercibility).unwrap_or_default();
        if sql_type.is_character() && coercibility != Coercibility::Implicit {
            self.coercibilities.insert(id, coercibility);
        }
        id
    }

    /// The columns of a query that is shown or named have collations. Error 451.
    pub fn check_output(&self, query: &BoundQuery) -> Result<(), SqlError> {
        for (at, column) in query.columns.iter().enumerate() {
            if let Some(coercibility) = self.coercibilities.get(&column.id) {
                let info = &self.columns[column.id.0 as usize];
                let value = Expr::column(column.id, info.sql_type, info.nullable, info.collation);
                check_resolved(&Expr { coercibility: *coercibility, ..value }, "SELECT", at + 1)?;
            }
        }
        Ok(())
    }

    /// A reference to a column of the statement.
    pub fn column_expr(&self, id: ColumnId) -> Expr {
        if let Some(observed) = &self.observed {
            observed.borrow_mut().used.insert(id);
        }
        let info = &self.columns[id.0 as usize];
        let column = Expr::column(id, info.sql_type, info.nullable, info.collation);
        match self.coercibilities.get(&id) {
            Some(coercibility) => Expr { coercibility: *coercibility, ..column },
            None => column,
        }
    }

    /// Number of a recursion.
    pub fn next_work(&mut self) -> u32 {
        self.next_work += 1;
        self.next_work
    }

    /// Runs `f` one level deeper; error 191 when that is too deep.
    pub fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, SqlError>) -> Result<T, SqlError> {
        self.deeper_by(1, f)
    }

    /// The same for something that makes the tree several levels deep at once: a chain of operators.
    pub fn deeper_by<T>(
        &mut self,
        levels: u32,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if levels > MAX_DEPTH - self.depth {
            return Err(plan_ir::errors::too_deep());
        }
        os::memory::check().map_err(plan_ir::errors::out_of_memory)?;
        self.depth += levels;
        let result = f(self);
        self.depth -= levels;
        result
    }

    /// Another query stands where its name stood.
    pub fn note_expansion(&mut self) -> Result<(), SqlError> {
        self.expansions += 1;
        if self.expansions > MAX_EXPANSIONS { Err(plan_ir::errors::plan_too_large()) } else { Ok(()) }
    }

    /// Runs `f` as the body of a view or function of a schema, or an expression of a table, made under `ansi_nulls`: nothing of the
    /// surrounding statement is in sight.
    pub fn isolated<T>(
        &mut self,
        database: Arc<Database>,
        schema: Arc<str>,
        ansi_nulls: bool,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if self.view_depth >= MAX_VIEW_DEPTH {
            return Err(plan_ir::errors::too_deep());
        }
        self.note_expansion()?;
        let scopes = std::mem::take(&mut self.scopes);
        let common_tables = std::mem::take(&mut self.common_tables);
        let arguments = std::mem::take(&mut self.arguments);
        let table_arguments = std::mem::take(&mut self.table_arguments);
        let namespaces = std::mem::take(&mut self.xml_namespaces);
        let outer = std::mem::replace(&mut self.database, database);
        let outer_schema = self.schema.replace(schema);
        let outer_nulls = std::mem::replace(&mut self.ansi_nulls, ansi_nulls);
        let draws = self.next_values.enter_stored();
        let stars = std::mem::take(&mut self.stars);
        self.view_depth += 1;
        let result = self.telling_first_name(f);
        self.view_depth -= 1;
        self.stars = stars;
        self.next_values.leave_stored(draws);
        self.ansi_nulls = outer_nulls;
        self.schema = outer_schema;
        self.database = outer;
        self.arguments = arguments;
        self.table_arguments = table_arguments;
        self.xml_namespaces = namespaces;
        self.common_tables = common_tables;
        self.scopes = scopes;
        result
    }

    /// Is the current text the statement's own, not that of a view or function that it names?
    pub fn is_in_statement(&self) -> bool {
        self.view_depth == 0
    }

    /// The text itself names this object, whose columns stand in the table added last.
    pub fn observe(&self, database: &Arc<Database>, object: &engine::ObjectDef) {
        let (Some(observed), 0) = (&self.observed, self.view_depth) else {
            return;
        };
        let mut observed = observed.borrow_mut();
        let at = observed.position_of(database, object);
        if let Some(table) = self.scopes.last().and_then(|scope| scope.tables.last()) {
            for column in &table.columns {
                observed.sources.insert(column.id, (at, column.name.clone()));
            }
        }
    }

    /// The text itself calls this scalar function.
    pub fn observe_call(&self, database: &Arc<Database>, object: &engine::ObjectDef) {
        if let (Some(observed), 0) = (&self.observed, self.view_depth) {
            observed.borrow_mut().position_of(database, object);
        }
    }

    /// A `*` of the text itself stands for the column.
    pub fn observe_star(&self, id: ColumnId) {
        if let (Some(observed), 0) = (&self.observed, self.view_depth) {
            observed.borrow_mut().starred.insert(id);
        }
    }

    /// The text itself gives a column a value.
    pub fn observe_change(&self, object_id: i32, column: &str) {
        if let (Some(observed), 0) = (&self.observed, self.view_depth) {
            observed.borrow_mut().changed.insert((object_id, column.to_string()));
        }
    }

    /// The innermost scope.
    pub fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a clause is bound inside a scope")
    }

    /// Binds with the innermost scope in a clause.
    pub fn in_clause<T>(
        &mut self,
        clause: Clause,
        f: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let before = std::mem::replace(&mut self.scope().clause, clause);
        let result = f(self);
        self.scope().clause = before;
        result
    }

    /// The database in which names without one are looked up.
    pub fn current_database(&mut self) -> Arc<Database> {
        let database = self.database.clone();
        // Inside of a view or a default it is the view's or the table's.
        if Arc::ptr_eq(&database, self.context.database) {
            self.dependencies.note_home(&database);
        }
        self.dependencies.of(&database);
        database
    }
}
