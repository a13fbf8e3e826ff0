//! Expressions and predicates: one tree for both; the binder decides where each is allowed.

use super::{DataType, Ident, ObjectName, OrderByItem, Query, Span};

/// An expression with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// Its position.
    pub span: Span,
    /// Its kind.
    pub kind: ExprKind,
}

/// All expressions. Parentheses are not kept: the shape carries them.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// `@x`, name with its `@`.
    Variable(String),
    /// `@@rowcount`, name with its `@@`.
    GlobalVariable(String),
    /// `c`, `t.c`, `dbo.t.c`, `$action`, `$identity`.
    Column(ColumnRef),
    /// `DEFAULT` in VALUES, in SET and as a procedure argument.
    Default,
    /// `+x`, `-x`, `~x`.
    Unary(UnaryOp, Box<Expr>),
    /// `a + b - c`: a left-to-right chain of operators of one precedence level.
    Arithmetic(Box<Arithmetic>),
    /// `a = b`
    Comparison(Box<Comparison>),
    /// `a AND b AND c`, two operands or more.
    And(Vec<Expr>),
    /// `a OR b OR c`, two operands or more.
    Or(Vec<Expr>),
    /// `NOT p`
    Not(Box<Expr>),
    /// `x IS [NOT] NULL`
    IsNull {
        /// Tested expression.
        operand: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `a IS [NOT] DISTINCT FROM b`
    IsDistinct {
        /// Left and right side.
        operands: Box<(Expr, Expr)>,
        /// IS NOT DISTINCT FROM.
        negated: bool,
    },
    /// `x [NOT] BETWEEN low AND high`
    Between(Box<Between>),
    /// `x [NOT] IN (..)`
    In(Box<In>),
    /// `x [NOT] LIKE pattern [ESCAPE e]`
    Like(Box<Like>),
    /// `EXISTS (query)`
    Exists(Box<Query>),
    /// `x > ALL (query)`, `x = ANY (query)`
    Quantified(Box<Quantified>),
    /// A query in parentheses used as a value.
    Subquery(Box<Query>),
    /// CASE in both forms.
    Case(Box<Case>),
    /// CAST, TRY_CAST, CONVERT, TRY_CONVERT, PARSE, TRY_PARSE.
    Convert(Box<Convert>),
    /// A call of a built-in or user function, aggregate or window function; also `col.method(..)`,
    /// which looks the same.
    Function(Box<FunctionCall>),
    /// `x COLLATE name`
    Collate(Box<Expr>, Ident),
    /// `x AT TIME ZONE zone`
    AtTimeZone(Box<(Expr, Expr)>),
    /// `NEXT VALUE FOR seq [OVER (ORDER BY ..)]`
    NextValueFor(Box<NextValueFor>),
    /// `@x.method(..)`, `f(..).method(..)`
    MethodCall(Box<MethodCall>),
    /// `type::method(..)` or `type::property`
    StaticCall(Box<StaticCall>),
    /// `@x.property`, `f(..).property`
    Property(Box<Expr>, Ident),
    /// `IDENTITY(type, seed, increment)` in SELECT INTO.
    Identity(Box<IdentityCall>),
    /// `{d '2020-01-01'}`, `{t '..'}`, `{ts '..'}`, `{guid '..'}`: kind and text.
    OdbcLiteral(OdbcLiteralKind, String),
    /// `CONTAINS(..)`, `FREETEXT(..)`
    FullText(Box<FullText>),
    /// `key : value` inside JSON_OBJECT.
    KeyValue(Box<(Expr, Expr)>),
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// NULL
    Null,
    /// Digits that fit an int.
    Int(i32),
    /// Digits with a point, or too many for an int: decimal(p,s); text without sign, e.g. `3000000000`, `1.50`, `.5`.
    Numeric(String),
    /// With an exponent: float.
    Float(f64),
    /// `'..'`: varchar.
    String(String),
    /// `N'..'`: nvarchar.
    NString(String),
    /// `0x..`: varbinary; an odd number of digits is completed with a leading 0.
    Binary(Vec<u8>),
    /// `$1.5`, `£3`: the number behind the currency sign, without separators (may be empty, meaning 0).
    Money(String),
}

/// A possibly qualified column name.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnRef {
    /// `t`, `dbo.t`, `db.dbo.t`, `srv.db.dbo.t`.
    pub qualifier: Option<Box<ObjectName>>,
    /// The column; `$action`, `$identity`, `$rowguid` keep their `$`.
    pub name: Ident,
}

/// Sign operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Plus,
    Minus,
    /// `~`
    BitNot,
}

/// Left-to-right: `((first op1 x1) op2 x2) ...`. At least one step. All operators are of one precedence level
/// (`* / %`, or `+ - & | ^ || << >>`); a chain instead of a binary tree, so that long concatenations stay flat.
#[derive(Debug, Clone, PartialEq)]
pub struct Arithmetic {
    /// Leftmost operand.
    pub first: Expr,
    /// Operator and right operand of each step.
    pub rest: Vec<(BinaryOp, Expr)>,
}

/// Operators on values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    /// `||` (2025)
    Concat,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// `left op right`
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Operator.
    pub op: ComparisonOp,
    /// Left side.
    pub left: Expr,
    /// Right side.
    pub right: Expr,
}

/// Comparison operators; `!<` is `GreaterEqual`, `!>` is `LessEqual`, `!=` is `NotEqual`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ComparisonOp {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// `*=` of old outer joins.
    LeftOuter,
    /// `=*` of old outer joins.
    RightOuter,
}

/// `operand [NOT] BETWEEN low AND high`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Between {
    pub operand: Expr,
    pub low: Expr,
    pub high: Expr,
    pub negated: bool,
}

/// `operand [NOT] IN (..)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct In {
    pub operand: Expr,
    pub list: InList,
    pub negated: bool,
}

/// The right side of IN.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum InList {
    Values(Vec<Expr>),
    Query(Query),
}

/// `operand [NOT] LIKE pattern [ESCAPE escape]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Like {
    pub operand: Expr,
    pub pattern: Expr,
    pub escape: Option<Expr>,
    pub negated: bool,
}

/// `operand op ALL|ANY (query)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Quantified {
    pub operand: Expr,
    pub op: ComparisonOp,
    /// ALL; otherwise ANY or SOME.
    pub all: bool,
    pub query: Query,
}

/// `CASE [operand] WHEN .. THEN .. [ELSE ..] END`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Case {
    pub operand: Option<Expr>,
    /// WHEN and THEN; at least one.
    pub branches: Vec<(Expr, Expr)>,
    pub otherwise: Option<Expr>,
}

/// CAST, CONVERT or PARSE, plain or TRY_.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Convert {
    pub form: ConvertForm,
    /// NULL instead of an error.
    pub is_try: bool,
    pub operand: Expr,
    pub target: DataType,
    /// Style of CONVERT, culture of PARSE.
    pub style: Option<Expr>,
}

/// Which spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ConvertForm {
    Cast,
    Convert,
    Parse,
}

/// A function call.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// Up to four parts; built-ins have one. `left`, `right`, `update` etc. come here in spite of being keywords.
    pub name: ObjectName,
    /// `COUNT(DISTINCT x)`, `SUM(ALL x)`.
    pub quantifier: Option<SetQuantifier>,
    /// `COUNT(*)`: `args` is empty.
    pub star: bool,
    /// Date parts (`DATEADD(day, ..)`) come as unqualified columns.
    pub args: Vec<Expr>,
    /// Called without parentheses: CURRENT_TIMESTAMP, CURRENT_USER, SYSTEM_USER, SESSION_USER, USER, CURRENT_DATE.
    pub is_niladic: bool,
    /// `{fn name(..)}`.
    pub is_odbc: bool,
    /// Parts that only some functions have.
    pub extra: Option<Box<FunctionExtra>>,
}

/// Rare parts of a function call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FunctionExtra {
    /// `TRIM(LEADING x FROM y)`: the word; args are then `[x, y]` (or `[y]`).
    pub trim: Option<TrimSide>,
    /// `TRIM(x FROM y)`.
    pub trim_from: bool,
    /// `WITHIN GROUP (ORDER BY ..)`
    pub within_group: Option<Vec<OrderByItem>>,
    /// `IGNORE NULLS` (true) or `RESPECT NULLS` (false).
    pub ignore_nulls: Option<bool>,
    /// `NULL ON NULL` (true) or `ABSENT ON NULL` (false) of JSON constructors.
    pub null_on_null: Option<bool>,
    /// `RETURNING type`, `WITH ARRAY WRAPPER` of JSON functions.
    pub json_returning: Option<DataType>,
    /// `OVER (..)`
    pub over: Option<Window>,
}

/// The word inside TRIM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TrimSide {
    Leading,
    Trailing,
    Both,
}

/// DISTINCT or ALL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SetQuantifier {
    All,
    Distinct,
}

/// `OVER (..)`, `OVER name`, or the body of `WINDOW name AS (..)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// `OVER name` or a base window at the start of the parentheses.
    pub name: Option<Ident>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderByItem>,
    /// ROWS or RANGE.
    pub frame: Option<Frame>,
}

/// The frame of a window.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Frame {
    /// ROWS; otherwise RANGE.
    pub rows: bool,
    pub start: FrameBound,
    /// After BETWEEN .. AND.
    pub end: Option<FrameBound>,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

/// `NEXT VALUE FOR name [OVER (ORDER BY ..)]`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct NextValueFor {
    pub sequence: ObjectName,
    pub over: Option<Window>,
}

/// `target.method(args)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct MethodCall {
    pub target: Expr,
    pub method: Ident,
    pub args: Vec<Expr>,
    /// The new value of `SET @v.method(args)`: never parsed so, but made of it.
    pub is_mutator: bool,
}

impl MethodCall {
    /// The new value of a variable that a method changes.
    pub fn mutator(variable: &str, method: &Ident, args: &[Expr]) -> Expr {
        let span = Span::default();
        let target = Expr { span, kind: ExprKind::Variable(variable.to_string()) };
        let (method, args) = (method.clone(), args.to_vec());
        let call = MethodCall { target, method, args, is_mutator: true };
        Expr { span, kind: ExprKind::MethodCall(Box::new(call)) }
    }
}

/// `type::member` or `type::member(args)`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct StaticCall {
    pub type_name: ObjectName,
    pub member: Ident,
    /// None for a property.
    pub args: Option<Vec<Expr>>,
}

/// `IDENTITY(type [, seed, increment])`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct IdentityCall {
    pub data_type: DataType,
    pub seed: Option<Expr>,
    pub increment: Option<Expr>,
}

/// Which ODBC escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum OdbcLiteralKind {
    Date,
    Time,
    Timestamp,
    Guid,
}

/// `CONTAINS(columns, term [, LANGUAGE l])`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct FullText {
    /// FREETEXT; otherwise CONTAINS.
    pub freetext: bool,
    /// Empty for `*`.
    pub columns: Vec<ColumnRef>,
    pub term: Expr,
    pub language: Option<Expr>,
}
