//! Cursors.

use super::{ColumnRef, Expr, Ident, Query, QueryHint, With};

/// A cursor named in OPEN, FETCH, CLOSE, DEALLOCATE, CURRENT OF.
#[derive(Debug, Clone, PartialEq)]
pub enum CursorRef {
    /// `[GLOBAL] name`
    Name {
        /// The name.
        name: Ident,
        /// GLOBAL written.
        global: bool,
    },
    /// `@cursor`
    Variable(String),
}

/// `DECLARE name [INSENSITIVE] [SCROLL] CURSOR options FOR query`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DeclareCursor {
    pub name: Ident,
    pub definition: CursorDefinition,
}

/// The definition of a cursor.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CursorDefinition {
    /// INSENSITIVE and SCROLL before CURSOR, or the words behind it, in order.
    pub options: Vec<CursorOption>,
    /// Whether the options are before CURSOR (ISO form).
    pub is_iso: bool,
    pub with: Option<With>,
    pub query: Query,
    /// OPTION (..)
    pub hints: Vec<QueryHint>,
    /// FOR READ ONLY / FOR UPDATE [OF ..]
    pub updatability: Option<CursorUpdatability>,
}

/// Options of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CursorOption {
    Insensitive,
    Local,
    Global,
    ForwardOnly,
    Scroll,
    Static,
    Keyset,
    Dynamic,
    FastForward,
    ReadOnly,
    ScrollLocks,
    Optimistic,
    TypeWarning,
}

/// FOR clause behind the query.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum CursorUpdatability {
    ReadOnly,
    /// Columns of OF.
    Update(Vec<ColumnRef>),
}

/// FETCH.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Fetch {
    /// None when not written (NEXT).
    pub direction: Option<FetchDirection>,
    pub cursor: CursorRef,
    /// Variables with `@`.
    pub into: Vec<String>,
}

/// Which row.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum FetchDirection {
    Next,
    Prior,
    First,
    Last,
    Absolute(Expr),
    Relative(Expr),
}
