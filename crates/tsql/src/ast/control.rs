//! Control of flow, variables, EXECUTE.

use super::{
    AssignOp, CursorDefinition, DataType, Expr, Ident, NamedOption, ObjectName, Span, Statement, TableElement,
};

/// `BEGIN ATOMIC WITH (..) .. END`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AtomicBlock {
    /// TRANSACTION ISOLATION LEVEL, LANGUAGE, DELAYED_DURABILITY, ..
    pub options: Vec<NamedOption>,
    pub body: Vec<Statement>,
}

/// IF with its ELSE IF ladder flattened.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct If {
    /// Condition and statement; at least one. The second and later ones are ELSE IF.
    pub branches: Vec<(Expr, Statement)>,
    pub otherwise: Option<Statement>,
}

/// WHILE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct While {
    pub condition: Expr,
    pub body: Statement,
}

/// BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct TryCatch {
    pub body: Vec<Statement>,
    pub catch: Vec<Statement>,
}

/// `THROW number, message, state`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Throw {
    pub number: Expr,
    pub message: Expr,
    pub state: Expr,
}

/// `RAISERROR (message, severity, state, args..) WITH options`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct RaisError {
    /// Message text, number or variable.
    pub message: Expr,
    /// None in the old form `RAISERROR 50001 'text'`.
    pub severity: Option<Expr>,
    pub state: Option<Expr>,
    pub args: Vec<Expr>,
    /// LOG, NOWAIT, SETERROR.
    pub options: Vec<Ident>,
}

/// WAITFOR.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum WaitFor {
    Delay(Expr),
    Time(Expr),
    /// Hardpan's own: DURABLE ticket [, TIMEOUT ms].
    Durable {
        ticket: Expr,
        timeout_ms: Option<Expr>,
    },
    /// WAITFOR (RECEIVE ..), TIMEOUT n: kept as text.
    Statement(String),
}

/// One variable of DECLARE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct VariableDeclaration {
    /// With `@`.
    pub name: String,
    /// `cursor` for cursor variables.
    pub data_type: DataType,
    pub nullable: Option<bool>,
    pub initial: Option<Expr>,
    pub span: Span,
}

/// `DECLARE @t TABLE (..)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DeclareTable {
    pub name: String,
    pub elements: Vec<TableElement>,
    /// WITH (MEMORY_OPTIMIZED = ON) and the like.
    pub options: Vec<NamedOption>,
}

/// `SET @v = ..`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum SetVariable {
    /// `SET @v op expr`
    Assign { variable: String, op: AssignOp, value: Expr },
    /// `SET @v = CURSOR ..`
    Cursor { variable: String, definition: CursorDefinition },
    /// `SET @v.method(..)`
    Method { variable: String, method: Ident, args: Vec<Expr> },
    /// `SET @v.property = expr`
    Property { variable: String, property: Ident, op: AssignOp, value: Expr },
}

/// EXECUTE of a procedure, a variable or a string.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Execute {
    /// `@r =`
    pub return_variable: Option<String>,
    pub target: ExecuteTarget,
    pub args: Vec<ExecuteArgument>,
    /// RECOMPILE, RESULT SETS ..
    pub options: Vec<ExecuteOption>,
    /// Written without EXEC at the start of the batch.
    pub bare: bool,
    /// `{call ..}`
    pub odbc: bool,
}

/// What is executed.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ExecuteTarget {
    /// Name, and number behind `;` (procedure groups).
    Procedure(ObjectName, Option<i32>),
    /// `EXEC @name args`
    Variable(String, Option<i32>),
    /// `EXEC ('..' + @x) [AS USER|LOGIN = '..'] [AT server]`
    Text {
        /// A concatenation as in ordinary expressions.
        text: Expr,
        /// Parameters of the pass-through form `EXEC ('..', @a OUTPUT) AT s`.
        run_as: Option<RunAs>,
        at: Option<ExecuteAt>,
    },
}

/// `AS USER = 'u'`, `AS LOGIN = 'l'`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct RunAs {
    pub login: bool,
    pub name: String,
}

/// `AT server`, `AT DATA_SOURCE name`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ExecuteAt {
    pub data_source: bool,
    pub name: Ident,
}

/// One argument.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ExecuteArgument {
    /// `@p =`
    pub name: Option<String>,
    /// A bare word (`EXEC p abc`) comes as a string literal; DEFAULT as `ExprKind::Default`.
    pub value: Expr,
    pub output: bool,
}

/// `WITH ..` of EXECUTE.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ExecuteOption {
    Recompile,
    ResultSetsNone,
    ResultSetsUndefined,
    ResultSets(Vec<ResultSet>),
}

/// One described result set.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ResultSet {
    Columns(Vec<ResultColumn>),
    AsObject(ObjectName),
    AsType(ObjectName),
    AsForXml,
}

/// Column of a described result set.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ResultColumn {
    pub name: Ident,
    pub data_type: DataType,
    pub collation: Option<Ident>,
    pub nullable: Option<bool>,
}
