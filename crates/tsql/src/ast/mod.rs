//! The syntax tree of T-SQL, without semantics: names are unresolved, types unchecked.
//!
//! Every node owns its text, so a tree outlives its source. Positions are byte offsets into the batch text
//! plus the 1-based line there; two spans always compare equal, so that trees compare by shape.

mod admin;
mod backup;
mod control;
mod cursor;
mod database;
mod dml;
mod expr;
mod index;
mod module;
mod name;
mod query;
mod security;
mod set;
mod table;
mod tran;

pub use admin::*;
pub use backup::*;
pub use control::*;
pub use cursor::*;
pub use database::*;
pub use dml::*;
pub use expr::*;
pub use index::*;
pub use module::*;
pub use name::*;
pub use query::*;
pub use security::*;
pub use set::*;
pub use table::*;
pub use tran::*;

/// A range of the batch text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line of `start`, counted from 1 at the start of the batch text.
    pub line: u32,
}

impl PartialEq for Span {
    /// Always true: the position of a node does not affect its equality.
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Span {
    /// The part of `text` (the batch this span comes from) that the span covers.
    pub fn slice<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// One parsed batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// The statements in order; empty for a batch of blanks and comments.
    pub statements: Vec<Statement>,
}

/// One statement with its place in the batch text (without a closing `;`).
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// From the first token to the last.
    pub span: Span,
    /// What it is.
    pub kind: StatementKind,
}

/// All statements. One struct per kind, in the file of its family.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum StatementKind {
    // Data (query.rs, dml.rs)
    Select(Box<SelectStatement>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    Truncate(Box<Truncate>),
    BulkInsert(Box<BulkInsert>),
    InsertBulk(Box<InsertBulk>),

    // Control of flow, variables (control.rs)
    Block(Vec<Statement>),
    AtomicBlock(Box<AtomicBlock>),
    If(Box<If>),
    While(Box<While>),
    Break,
    Continue,
    Return(Option<Box<Expr>>),
    Goto(Ident),
    Label(Ident),
    TryCatch(Box<TryCatch>),
    Throw(Option<Box<Throw>>),
    RaisError(Box<RaisError>),
    Print(Box<Expr>),
    WaitFor(Box<WaitFor>),
    Declare(Vec<VariableDeclaration>),
    DeclareTable(Box<DeclareTable>),
    SetVariable(Box<SetVariable>),
    Execute(Box<Execute>),

    // Transactions (tran.rs)
    BeginTransaction(Box<BeginTransaction>),
    Commit(Box<Commit>),
    Rollback(Box<Rollback>),
    SaveTransaction(TransactionName),

    // Session options (set.rs)
    Set(Box<SetStatement>),

    // Cursors (cursor.rs)
    DeclareCursor(Box<DeclareCursor>),
    OpenCursor(CursorRef),
    Fetch(Box<Fetch>),
    CloseCursor(CursorRef),
    DeallocateCursor(CursorRef),

    // Tables, indexes, types, sequences (table.rs, index.rs)
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    CreateIndex(Box<CreateIndex>),
    AlterIndex(Box<AlterIndex>),
    DropIndex(Box<DropIndex>),
    CreateStatistics(Box<CreateStatistics>),
    UpdateStatistics(Box<UpdateStatistics>),
    DropStatistics(Vec<ObjectName>),
    CreatePartitionFunction(Box<CreatePartitionFunction>),
    CreatePartitionScheme(Box<CreatePartitionScheme>),
    CreateSequence(Box<SequenceDefinition>),
    AlterSequence(Box<SequenceDefinition>),
    CreateType(Box<CreateType>),
    CreateSynonym(Box<CreateSynonym>),
    /// DROP of every kind that takes a list of names.
    Drop(Box<Drop>),

    // Modules (module.rs)
    CreateView(Box<CreateView>),
    CreateProcedure(Box<CreateProcedure>),
    CreateFunction(Box<CreateFunction>),
    CreateTrigger(Box<CreateTrigger>),
    EnableTrigger(Box<EnableTrigger>),
    CreateSchema(Box<CreateSchema>),
    AlterSchema(Box<AlterSchema>),

    // Databases (database.rs)
    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    DropDatabase(Box<DropDatabase>),
    AlterDatabaseScopedConfiguration(Box<AlterDatabaseScopedConfiguration>),
    Use(Ident),

    // Backup (backup.rs)
    Backup(Box<Backup>),
    Restore(Box<Restore>),

    // Security (security.rs)
    Permission(Box<Permission>),
    CreateLogin(Box<CreateLogin>),
    AlterLogin(Box<AlterLogin>),
    CreateUser(Box<CreateUser>),
    AlterUser(Box<AlterUser>),
    CreateRole(Box<CreateRole>),
    AlterRole(Box<AlterRole>),
    AlterAuthorization(Box<AlterAuthorization>),
    ExecuteAs(Box<ExecuteAs>),
    Revert(Option<Box<Expr>>),

    // Administration (admin.rs)
    Dbcc(Box<Dbcc>),
    Checkpoint(Option<Box<Expr>>),
    Kill(Box<Kill>),
    Shutdown {
        no_wait: bool,
    },
    Reconfigure {
        with_override: bool,
    },
    /// Valid T-SQL that is kept as text: refused by name when executed, never a syntax error.
    Other(Box<Other>),
}
