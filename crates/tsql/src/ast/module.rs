//! Views, procedures, functions, triggers, schemas: objects that keep their source text.
//!
//! The text of a module (`sys.sql_modules.definition`) is the whole batch; the statement's span and the spans
//! inside `body` are offsets into it.

use super::{
    DataType, Expr, Ident, NamedOption, ObjectName, SelectStatement, Span, Statement, TableElement,
    TriggerScope,
};

/// CREATE, ALTER or CREATE OR ALTER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ModuleAction {
    Create,
    Alter,
    CreateOrAlter,
}

/// CREATE VIEW.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateView {
    pub action: ModuleAction,
    pub name: ObjectName,
    pub columns: Vec<Ident>,
    /// SCHEMABINDING, ENCRYPTION, VIEW_METADATA
    pub options: Vec<Ident>,
    pub query: SelectStatement,
    pub check_option: bool,
    /// CREATE MATERIALIZED VIEW
    pub materialized: bool,
}

/// CREATE PROCEDURE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateProcedure {
    pub action: ModuleAction,
    pub name: ObjectName,
    /// `;number`
    pub number: Option<i32>,
    pub parameters: Vec<Parameter>,
    pub options: Vec<ModuleOption>,
    pub for_replication: bool,
    pub body: ModuleBody,
}

/// A parameter of a procedure or function.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Parameter {
    /// With `@`.
    pub name: String,
    pub data_type: DataType,
    pub nullable: Option<bool>,
    pub default: Option<Expr>,
    pub output: bool,
    pub read_only: bool,
    pub span: Span,
}

/// WITH options of procedures, functions and triggers.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ModuleOption {
    Encryption,
    Recompile,
    SchemaBinding,
    NativeCompilation,
    ReturnsNullOnNullInput,
    CalledOnNullInput,
    ExecuteAs(ExecuteAsClause),
    /// INLINE = ON|OFF
    Inline(bool),
    ViewMetadata,
}

/// EXECUTE AS of a module.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ExecuteAsClause {
    Caller,
    SelfUser,
    Owner,
    User(String),
}

/// What a module does.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ModuleBody {
    Statements(Vec<Statement>),
    /// EXTERNAL NAME assembly.class.method
    External(ObjectName),
}

/// CREATE FUNCTION.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateFunction {
    pub action: ModuleAction,
    pub name: ObjectName,
    pub parameters: Vec<Parameter>,
    pub returns: FunctionReturns,
    pub options: Vec<ModuleOption>,
    pub body: FunctionBody,
}

/// RETURNS.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum FunctionReturns {
    Scalar(DataType),
    /// RETURNS TABLE
    InlineTable,
    /// RETURNS @t TABLE (..)
    Table {
        variable: String,
        elements: Vec<TableElement>,
        options: Vec<NamedOption>,
    },
    /// RETURNS TABLE (..) of CLR functions
    ClrTable(Vec<TableElement>),
}

/// Body of a function.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum FunctionBody {
    Block(Vec<Statement>),
    /// BEGIN ATOMIC WITH (..) of native functions
    Atomic(Box<super::AtomicBlock>),
    /// RETURN (query)
    Query(Box<SelectStatement>),
    External(ObjectName),
}

/// CREATE TRIGGER.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateTrigger {
    pub action: ModuleAction,
    pub name: ObjectName,
    pub on: TriggerScope,
    pub options: Vec<ModuleOption>,
    pub timing: TriggerTiming,
    /// INSERT, UPDATE, DELETE, or DDL event names.
    pub events: Vec<Ident>,
    pub with_append: bool,
    pub not_for_replication: bool,
    pub body: ModuleBody,
}

/// When a trigger runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TriggerTiming {
    For,
    After,
    InsteadOf,
}

/// ENABLE|DISABLE TRIGGER names|ALL ON ..
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct EnableTrigger {
    pub enable: bool,
    /// Empty for ALL.
    pub triggers: Vec<ObjectName>,
    pub on: TriggerScope,
}

/// CREATE SCHEMA [name] [AUTHORIZATION owner] elements
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateSchema {
    pub name: Option<Ident>,
    pub authorization: Option<Ident>,
    /// CREATE TABLE, CREATE VIEW, GRANT, DENY, REVOKE
    pub elements: Vec<Statement>,
}

/// ALTER SCHEMA name TRANSFER [class::]object
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterSchema {
    pub name: Ident,
    /// OBJECT, TYPE, XML SCHEMA COLLECTION
    pub class: Option<Ident>,
    pub object: ObjectName,
}
