//! The steps of cursors as a program holds them: declarations with their properties, OPEN, FETCH, CLOSE, DEALLOCATE, cursor variables.

use std::sync::Arc;

use os::{Latch, LatchRank};
use query::cursors::CursorTable;
use query::{CompiledStatement, VariableDef};
use tsql::ast::{self, CursorOption, CursorUpdatability};

use crate::batch::cell::Cell;

/// One step that concerns a cursor.
pub(crate) enum CursorStep {
    Declare(Arc<CursorPlan>),
    /// `DECLARE @c CURSOR`
    DeclareVariable(String),
    /// `SET @c = CURSOR ... FOR ...`
    SetNew(String, Arc<CursorPlan>),
    /// `SET @c = name`
    SetOther(String, CursorName),
    Open(CursorName),
    Fetch(FetchStep),
    Close(CursorName),
    Deallocate(CursorName),
    /// UPDATE or DELETE ... WHERE CURRENT OF.
    Current(Box<CurrentStep>),
}

/// The cursor that a step names; the names are in lower case.
#[derive(Clone)]
pub(crate) enum CursorName {
    /// `@c`
    Variable(String),
    Name {
        key: String,
        /// As it is written.
        written: String,
        is_global: bool,
    },
}

impl CursorName {
    pub(crate) fn of(reference: &ast::CursorRef) -> CursorName {
        match reference {
            ast::CursorRef::Variable(name) => CursorName::Variable(name.to_lowercase()),
            ast::CursorRef::Name { name, global } => {
                let (key, written) = (name.value.to_lowercase(), name.value.clone());
                CursorName::Name { key, written, is_global: *global }
            }
        }
    }
}

/// FETCH.
pub(crate) struct FetchStep {
    pub(crate) direction: Direction,
    pub(crate) cursor: CursorName,
    /// Slots of the variables; empty: the row goes to the client.
    pub(crate) into: Vec<usize>,
}

/// Which row FETCH asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Next,
    Prior,
    First,
    Last,
    Absolute(Cell),
    Relative(Cell),
}

impl Direction {
    /// The word in messages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Direction::Next => "next",
            Direction::Prior => "prior",
            Direction::First => "first",
            Direction::Last => "last",
            Direction::Absolute(_) => "absolute",
            Direction::Relative(_) => "relative",
        }
    }
}

/// How a cursor follows the changes of its rows, as it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sensitivity {
    Static,
    Keyset,
    Dynamic,
    FastForward,
}

/// What a declaration says of its cursor.
#[derive(Clone, Debug)]
pub(crate) struct Properties {
    pub(crate) sensitivity: Sensitivity,
    pub(crate) scrolls: bool,
    pub(crate) is_read_only: bool,
    pub(crate) locks: bool,
    pub(crate) warns: bool,
    /// `None`: as the database option says.
    pub(crate) is_global: Option<bool>,
    /// FOR UPDATE OF: the names in lower case; empty: any column.
    pub(crate) updatable: Vec<String>,
    /// FOR UPDATE: the cursor must be updatable.
    pub(crate) is_for_update: bool,
}

impl Properties {
    /// OPTIMISTIC: a change of a row that others have changed since its FETCH fails.
    pub(crate) fn is_checked(&self) -> bool {
        !self.is_read_only && !self.locks
    }

    /// The rules of DECLARE CURSOR and of its defaults.
    pub(crate) fn of(definition: &ast::CursorDefinition) -> Properties {
        let has = |option| definition.options.contains(&option);
        let scroll = has(CursorOption::Scroll);
        let sensitivity = match () {
            () if has(CursorOption::Insensitive) || has(CursorOption::Static) => Sensitivity::Static,
            () if has(CursorOption::FastForward) => Sensitivity::FastForward,
            () if has(CursorOption::Keyset) => Sensitivity::Keyset,
            () if has(CursorOption::Dynamic) => Sensitivity::Dynamic,
            // SCROLL alone has all fetch options, ABSOLUTE too, which a dynamic cursor has not.
            () if scroll => Sensitivity::Keyset,
            () => Sensitivity::Dynamic,
        };
        let has_type =
            [CursorOption::Static, CursorOption::Keyset, CursorOption::Dynamic].into_iter().any(has);
        let copies = matches!(sensitivity, Sensitivity::Static | Sensitivity::FastForward);
        let columns = match &definition.updatability {
            Some(CursorUpdatability::Update(columns)) => Some(columns),
            _ => None,
        };
        let is_for_read = definition.updatability == Some(CursorUpdatability::ReadOnly);
        Properties {
            sensitivity,
            scrolls: scroll || (has_type && !has(CursorOption::ForwardOnly)),
            is_read_only: copies || is_for_read || has(CursorOption::ReadOnly),
            locks: has(CursorOption::ScrollLocks),
            warns: has(CursorOption::TypeWarning),
            is_global: match () {
                () if has(CursorOption::Local) => Some(false),
                () if has(CursorOption::Global) => Some(true),
                () => None,
            },
            updatable: columns.into_iter().flatten().map(|column| column.name.value.to_lowercase()).collect(),
            is_for_update: columns.is_some(),
        }
    }
}

/// A declaration: shared by all cursors that it makes.
pub(crate) struct CursorPlan {
    /// As it is written; empty for that of a variable.
    pub(crate) name: String,
    pub(crate) properties: Properties,
    pub(crate) select: ast::SelectStatement,
    pub(crate) span: ast::Span,
    /// The bound query.
    pub(crate) cell: Cell,
    /// The variables that the query sees.
    pub(crate) variables: Vec<VariableDef>,
    /// The statements for rows by their keys, kept for the next OPEN.
    pub(crate) keyed: Latch<Option<Arc<Keyed>>>,
}

impl CursorPlan {
    pub(crate) fn new(
        name: &str,
        definition: &ast::CursorDefinition,
        span: ast::Span,
        (cell, variables): (Cell, &[VariableDef]),
    ) -> CursorPlan {
        let (name, properties) = (name.to_string(), Properties::of(definition));
        let variables = variables.to_vec();
        let keyed = Latch::new(LatchRank::PlanCache, None);
        CursorPlan { name, properties, select: select_of(definition), span, cell, variables, keyed }
    }

    /// The plan of a cursor that a client opens by a procedure call: no program holds its query.
    pub(crate) fn for_client(
        select: ast::SelectStatement,
        span: ast::Span,
        properties: Properties,
        variables: &[VariableDef],
    ) -> CursorPlan {
        let variables = variables.to_vec();
        let keyed = Latch::new(LatchRank::PlanCache, None);
        CursorPlan { name: String::new(), properties, select, span, cell: 0, variables, keyed }
    }

    /// The query as a statement.
    pub(crate) fn statement(&self) -> ast::Statement {
        select_statement(self.select.clone(), self.span)
    }
}

/// The query of a cursor's definition.
pub(crate) fn select_of(definition: &ast::CursorDefinition) -> ast::SelectStatement {
    ast::SelectStatement {
        with: definition.with.clone(),
        query: definition.query.clone(),
        options: definition.hints.clone(),
    }
}

pub(crate) fn select_statement(select: ast::SelectStatement, span: ast::Span) -> ast::Statement {
    ast::Statement { span, kind: ast::StatementKind::Select(Box::new(select)) }
}

/// The statements of a cursor whose rows are found by their keys.
pub(crate) struct Keyed {
    pub(crate) table: CursorTable,
    /// Gives the columns of the query and behind them the key.
    pub(crate) keys: CompiledStatement,
    /// Gives one row.
    pub(crate) row: CompiledStatement,
    /// Its rows come and go; otherwise its rows are fixed when it is opened.
    pub(crate) is_dynamic: bool,
    /// The statements that seek the first row and the next one, forward and backward, made at their first use: a dynamic cursor whose rows come in
    /// the order of their keys sees rows that others insert. Empty for all others.
    pub(crate) seeks: Vec<Latch<Option<Arc<CompiledStatement>>>>,
}

impl Keyed {
    /// Does it seek each row, so that it keeps no keys?
    pub(crate) fn is_seeking(&self) -> bool {
        !self.seeks.is_empty()
    }

    /// The place for the statement that seeks from a key or from the end, forward or backward.
    pub(crate) fn seek(&self, from_key: bool, forward: bool) -> &Latch<Option<Arc<CompiledStatement>>> {
        &self.seeks[usize::from(from_key) * 2 + usize::from(forward)]
    }
}

/// Empty places for the four statements of [`Keyed::seek`].
pub(crate) fn seek_places() -> Vec<Latch<Option<Arc<CompiledStatement>>>> {
    (0..4).map(|_| Latch::new(LatchRank::PlanCache, None)).collect()
}

/// UPDATE or DELETE ... WHERE CURRENT OF.
pub(crate) struct CurrentStep {
    pub(crate) cursor: CursorName,
    pub(crate) statement: ast::Statement,
    pub(crate) command: u16,
    pub(crate) kept: Latch<Option<Arc<Current>>>,
}

/// Its statement bound for the key of a table.
pub(crate) struct Current {
    pub(crate) key: Vec<VariableDef>,
    pub(crate) names: Vec<String>,
    pub(crate) object_id: i32,
    pub(crate) database: Arc<engine::Database>,
    pub(crate) statement: CompiledStatement,
}
