//! The form in which the catalog keeps an expression of a default, a CHECK or a computed column: SQL Server's, as its
//! scripted sample databases show it. Tools that compare definitions read it.
//!
//! `DATEADD(YEAR, -18, GetDate()) >= a AND b IN ('M', 'F')` becomes
//! `dateadd(year,(-18),getdate())>=[a] AND ([b]='F' OR [b]='M')`: names in brackets, numbers in parentheses, functions in
//! lower case, no blanks around operators, IN and BETWEEN expanded. Expressions that are not listed here have no such form.

use std::fmt::Write;

use crate::ast::{
    Arithmetic, BinaryOp, Case, ColumnRef, ComparisonOp, Convert, ConvertForm, DataType, Expr, ExprKind,
    FunctionCall, InList, Literal, ObjectName, TypeArgument, UnaryOp,
};

/// Functions whose first argument is a part of a date.
const WITH_DATE_PART: [&str; 7] =
    ["dateadd", "datediff", "datediff_big", "datename", "datepart", "datetrunc", "date_bucket"];

/// Parts of dates with their other spellings.
const DATE_PARTS: [(&str, &[&str]); 14] = [
    ("year", &["yy", "yyyy"]),
    ("quarter", &["qq", "q"]),
    ("month", &["mm", "m"]),
    ("dayofyear", &["dy", "y"]),
    ("day", &["dd", "d"]),
    ("week", &["wk", "ww"]),
    ("iso_week", &["isowk", "isoww"]),
    ("weekday", &["dw", "w"]),
    ("hour", &["hh"]),
    ("minute", &["mi", "n"]),
    ("second", &["ss", "s"]),
    ("millisecond", &["ms"]),
    ("microsecond", &["mcs"]),
    ("nanosecond", &["ns"]),
];

/// Functions without parentheses, and how the catalog calls them.
const NILADIC: [(&str, &str); 5] = [
    ("current_timestamp", "getdate()"),
    ("current_user", "user_name()"),
    ("session_user", "user_name()"),
    ("user", "user_name()"),
    ("system_user", "suser_sname()"),
];

/// Type names that are synonyms.
const SYNONYMS: [(&str, &str); 9] = [
    ("integer", "int"),
    ("dec", "decimal"),
    ("character", "char"),
    ("char varying", "varchar"),
    ("character varying", "varchar"),
    ("national char", "nchar"),
    ("national char varying", "nvarchar"),
    ("double precision", "float"),
    ("rowversion", "timestamp"),
];

// How strongly an operator binds.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const PREDICATE: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const PRIMARY: u8 = 7;

/// The expression in that form; `None` when it has a part without one.
pub(crate) fn text(expr: &Expr) -> Option<String> {
    let mut out = String::new();
    write(&mut out, expr)?;
    Some(out)
}

fn level(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Or(_) => OR,
        ExprKind::In(list) => match &list.list {
            InList::Values(values) if values.len() > 1 => OR,
            _ => PREDICATE,
        },
        ExprKind::And(_) | ExprKind::Between(_) => AND,
        ExprKind::Not(_) => NOT,
        ExprKind::Like(like) if like.negated => NOT,
        ExprKind::Comparison(_) | ExprKind::IsNull { .. } | ExprKind::Like(_) => PREDICATE,
        ExprKind::Arithmetic(chain) => chain.rest.last().map_or(SUM, |(op, _)| level_of(*op)),
        ExprKind::Collate(..) => PRODUCT,
        _ => PRIMARY,
    }
}

fn level_of(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => PRODUCT,
        _ => SUM,
    }
}

/// In parentheses unless it binds at least as strongly as `least`.
fn at_least(out: &mut String, expr: &Expr, least: u8) -> Option<()> {
    if level(expr) >= least {
        return write(out, expr);
    }
    out.push('(');
    write(out, expr)?;
    out.push(')');
    Some(())
}

fn write(out: &mut String, expr: &Expr) -> Option<()> {
    match &expr.kind {
        ExprKind::Literal(literal) => write_literal(out, literal)?,
        ExprKind::GlobalVariable(name) => out.push_str(&name.to_lowercase()),
        ExprKind::Column(column) => write_column(out, column),
        ExprKind::Unary(op, operand) => write_sign(out, *op, operand)?,
        ExprKind::Arithmetic(chain) => write_chain(out, chain)?,
        ExprKind::Comparison(comparison) => {
            at_least(out, &comparison.left, SUM)?;
            out.push_str(sign(comparison.op)?);
            at_least(out, &comparison.right, SUM)?;
        }
        ExprKind::And(operands) => write_list(out, operands, " AND ", NOT)?,
        ExprKind::Or(operands) => write_list(out, operands, " OR ", OR)?,
        ExprKind::Not(operand) => {
            out.push_str("NOT ");
            at_least(out, operand, NOT)?;
        }
        ExprKind::IsNull { operand, negated } => {
            at_least(out, operand, SUM)?;
            out.push_str(if *negated { " IS NOT NULL" } else { " IS NULL" });
        }
        ExprKind::Between(between) if !between.negated => {
            at_least(out, &between.operand, SUM)?;
            out.push_str(">=");
            at_least(out, &between.low, SUM)?;
            out.push_str(" AND ");
            at_least(out, &between.operand, SUM)?;
            out.push_str("<=");
            at_least(out, &between.high, SUM)?;
        }
        ExprKind::In(list) if !list.negated => {
            let InList::Values(values) = &list.list else { return None };
            for (index, value) in values.iter().rev().enumerate() {
                out.push_str(if index > 0 { " OR " } else { "" });
                at_least(out, &list.operand, SUM)?;
                out.push('=');
                at_least(out, value, SUM)?;
            }
        }
        ExprKind::Like(like) if like.escape.is_none() => {
            out.push_str(if like.negated { "NOT " } else { "" });
            at_least(out, &like.operand, SUM)?;
            out.push_str(" like ");
            at_least(out, &like.pattern, SUM)?;
        }
        ExprKind::Case(case) => write_case(out, case)?,
        ExprKind::Convert(convert) => write_convert(out, convert)?,
        ExprKind::Function(call) => write_call(out, call)?,
        ExprKind::Collate(operand, collation) => {
            at_least(out, operand, PRIMARY)?;
            write!(out, " collate {}", collation.value).ok()?;
        }
        ExprKind::NextValueFor(next) if next.over.is_none() && next.sequence.schema.is_some() => {
            out.push_str("NEXT VALUE FOR ");
            write_name(out, &next.sequence);
        }
        _ => return None,
    }
    Some(())
}

fn write_literal(out: &mut String, literal: &Literal) -> Option<()> {
    match literal {
        Literal::Null => out.push_str("NULL"),
        Literal::Int(number) => write!(out, "({number})").ok()?,
        Literal::Numeric(digits) => write!(out, "({digits})").ok()?,
        Literal::String(text) => write!(out, "'{}'", text.replace('\'', "''")).ok()?,
        Literal::NString(text) => write!(out, "N'{}'", text.replace('\'', "''")).ok()?,
        Literal::Binary(bytes) => {
            out.push_str("0x");
            bytes.iter().try_for_each(|byte| write!(out, "{byte:02X}").ok())?;
        }
        Literal::Float(_) | Literal::Money(_) => return None,
    }
    Some(())
}

fn write_sign(out: &mut String, op: UnaryOp, operand: &Expr) -> Option<()> {
    match (op, &operand.kind) {
        (UnaryOp::Minus, ExprKind::Literal(Literal::Int(number))) => write!(out, "(-{number})").ok()?,
        (UnaryOp::Minus, ExprKind::Literal(Literal::Numeric(digits))) => write!(out, "(-{digits})").ok()?,
        (UnaryOp::Minus, _) => {
            out.push('-');
            at_least(out, operand, PRIMARY)?;
        }
        (UnaryOp::Plus | UnaryOp::BitNot, _) => return None,
    }
    Some(())
}

/// `a+b+c` is `([a]+[b])+[c]`.
fn write_chain(out: &mut String, chain: &Arithmetic) -> Option<()> {
    let steps = chain.rest.len();
    (1..steps).for_each(|_| out.push('('));
    let first = chain.rest.first().map_or(PRIMARY, |(op, _)| level_of(*op) + 1);
    at_least(out, &chain.first, first)?;
    for (index, (op, operand)) in chain.rest.iter().enumerate() {
        out.push(match op {
            BinaryOp::Add => '+',
            BinaryOp::Subtract => '-',
            BinaryOp::Multiply => '*',
            BinaryOp::Divide => '/',
            BinaryOp::Modulo => '%',
            BinaryOp::BitAnd => '&',
            BinaryOp::BitOr => '|',
            BinaryOp::BitXor => '^',
            BinaryOp::Concat | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => return None,
        });
        at_least(out, operand, level_of(*op) + 1)?;
        out.push_str(if index + 1 < steps { ")" } else { "" });
    }
    Some(())
}

fn sign(op: ComparisonOp) -> Option<&'static str> {
    Some(match op {
        ComparisonOp::Equal => "=",
        ComparisonOp::NotEqual => "<>",
        ComparisonOp::Less => "<",
        ComparisonOp::LessEqual => "<=",
        ComparisonOp::Greater => ">",
        ComparisonOp::GreaterEqual => ">=",
        ComparisonOp::LeftOuter | ComparisonOp::RightOuter => return None,
    })
}

fn write_list(out: &mut String, operands: &[Expr], between: &str, least: u8) -> Option<()> {
    for (index, operand) in operands.iter().enumerate() {
        out.push_str(if index > 0 { between } else { "" });
        // A nested list of the same kind is flattened.
        let joins = least == NOT && matches!(operand.kind, ExprKind::Between(_) | ExprKind::And(_));
        at_least(out, operand, if joins { AND } else { least })?;
    }
    Some(())
}

fn write_case(out: &mut String, case: &Case) -> Option<()> {
    out.push_str("case");
    if let Some(operand) = &case.operand {
        out.push(' ');
        write(out, operand)?;
    }
    for (when, then) in &case.branches {
        out.push_str(" when ");
        write(out, when)?;
        out.push_str(" then ");
        write(out, then)?;
    }
    if let Some(otherwise) = &case.otherwise {
        out.push_str(" else ");
        write(out, otherwise)?;
    }
    out.push_str(" end");
    Some(())
}

fn write_convert(out: &mut String, convert: &Convert) -> Option<()> {
    if convert.is_try || convert.form == ConvertForm::Parse {
        return None;
    }
    out.push_str("CONVERT(");
    write_type(out, &convert.target)?;
    out.push(',');
    write(out, &convert.operand)?;
    if let Some(style) = &convert.style {
        out.push(',');
        write(out, style)?;
    }
    out.push(')');
    Some(())
}

fn write_type(out: &mut String, data_type: &DataType) -> Option<()> {
    if data_type.xml_schema.is_some() || data_type.varying {
        return None;
    }
    match &data_type.name.schema {
        Some(_) => write_name(out, &data_type.name),
        None => {
            let name = data_type.name.name.value.to_lowercase();
            let synonym = SYNONYMS.iter().find(|(other, _)| *other == name);
            out.push_str(&bracketed(synonym.map_or(name.as_str(), |(_, real)| real)));
        }
    }
    for (index, argument) in data_type.args.iter().enumerate() {
        out.push(if index == 0 { '(' } else { ',' });
        match argument {
            TypeArgument::Max => out.push_str("max"),
            TypeArgument::Number(number) => write!(out, "{number}").ok()?,
            TypeArgument::Word(_) => return None,
        }
    }
    out.push_str(if data_type.args.is_empty() { "" } else { ")" });
    Some(())
}

fn write_call(out: &mut String, call: &FunctionCall) -> Option<()> {
    if call.quantifier.is_some() || call.star || call.is_odbc || call.extra.is_some() {
        return None;
    }
    let name = call.name.name.value.to_lowercase();
    if call.is_niladic {
        out.push_str(NILADIC.iter().find(|(written, _)| *written == name)?.1);
        return Some(());
    }
    // These two are CASE to SQL Server.
    if call.name.schema.is_none() && matches!(name.as_str(), "iif" | "choose") {
        return None;
    }
    match call.name.schema {
        Some(_) => write_name(out, &call.name),
        None => out.push_str(&name),
    }
    out.push('(');
    for (index, argument) in call.args.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        if index == 0 && call.name.schema.is_none() && WITH_DATE_PART.contains(&name.as_str()) {
            out.push_str(date_part(argument)?);
        } else {
            write(out, argument)?;
        }
    }
    out.push(')');
    Some(())
}

fn date_part(argument: &Expr) -> Option<&'static str> {
    let ExprKind::Column(column) = &argument.kind else { return None };
    let written = column.name.value.to_lowercase();
    let known = |part: &&(&'static str, &[&str])| part.0 == written || part.1.contains(&written.as_str());
    DATE_PARTS.iter().find(known).map(|part| part.0)
}

fn write_column(out: &mut String, column: &ColumnRef) {
    if let Some(qualifier) = &column.qualifier {
        write_name(out, qualifier);
        out.push('.');
    }
    out.push_str(&bracketed(&column.name.value));
}

fn write_name(out: &mut String, name: &ObjectName) {
    let parts = [name.server.as_ref(), name.database.as_ref(), name.schema.as_ref(), Some(&name.name)];
    let parts: Vec<String> = parts.into_iter().flatten().map(|part| bracketed(&part.value)).collect();
    out.push_str(&parts.join("."));
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

#[cfg(test)]
mod tests {
    use crate::{ParseOptions, parse_expression};

    /// Source and catalog form: from Microsoft's sample databases, whose scripts exist in both.
    const CASES: &[(&str, &str)] = &[
        ("0", "(0)"),
        ("-1", "(-1)"),
        ("0.00", "(0.00)"),
        ("'x''y'", "'x''y'"),
        ("N'q'", "N'q'"),
        ("null", "NULL"),
        ("GetDate()", "getdate()"),
        ("NEWSEQUENTIALID()", "newsequentialid()"),
        ("CURRENT_TIMESTAMP", "getdate()"),
        ("system_user", "suser_sname()"),
        ("1 + 2 * 3", "(1)+(2)*(3)"),
        (
            "ISNULL([UnitPrice] * (1.0 - [UnitPriceDiscount]) * [OrderQty], 0.0)",
            "isnull(([UnitPrice]*((1.0)-[UnitPriceDiscount]))*[OrderQty],(0.0))",
        ),
        ("ISNULL([SubTotal] + [TaxAmt] + [Freight], 0)", "isnull(([SubTotal]+[TaxAmt])+[Freight],(0))"),
        (
            "ISNULL('AW' + [dbo].[ufnLeadingZeros](CustomerID), '')",
            "isnull('AW'+[dbo].[ufnLeadingZeros]([CustomerID]),'')",
        ),
        ("a - (b - c)", "[a]-([b]-[c])"),
        ("(a + b) % 7 & 3", "([a]+[b])%(7)&(3)"),
        ("[Status] BETWEEN 0 AND 8", "[Status]>=(0) AND [Status]<=(8)"),
        (
            "BirthDate BETWEEN '1930-01-01' AND DATEADD(YEAR, -18, GETDATE())",
            "[BirthDate]>='1930-01-01' AND [BirthDate]<=dateadd(year,(-18),getdate())",
        ),
        ("UPPER([Gender]) IN ('M', 'F')", "upper([Gender])='F' OR upper([Gender])='M'"),
        (
            "UPPER(Class) IN ('L', 'M') OR Class IS NULL",
            "upper([Class])='M' OR upper([Class])='L' OR [Class] IS NULL",
        ),
        ("a IN (1, 2) AND b is not null", "([a]=(2) OR [a]=(1)) AND [b] IS NOT NULL"),
        ("(EndDate >= StartDate) OR (EndDate IS NULL)", "[EndDate]>=[StartDate] OR [EndDate] IS NULL"),
        ("not (a = 1 or b != 2) and c !< 3", "NOT ([a]=(1) OR [b]<>(2)) AND [c]>=(3)"),
        ("Phone NOT LIKE '%[^0-9]%'", "NOT [Phone] like '%[^0-9]%'"),
        ("CAST(a AS Int)", "CONVERT([int],[a])"),
        ("Convert(varchar(10), GetDate(), 112)", "CONVERT([varchar](10),getdate(),(112))"),
        ("CAST(a AS NVARCHAR(MAX))", "CONVERT([nvarchar](max),[a])"),
        ("CAST(a AS dec(10, 2))", "CONVERT([decimal](10,2),[a])"),
        ("CASE WHEN a = 1 THEN 'x' ELSE 'y' END", "case when [a]=(1) then 'x' else 'y' end"),
        ("CASE a WHEN 1 THEN 'x' END", "case [a] when (1) then 'x' end"),
        ("dateadd(dd, 1, t.c)", "dateadd(day,(1),[t].[c])"),
        ("@@SPID", "@@spid"),
        ("a COLLATE Latin1_General_BIN", "[a] collate Latin1_General_BIN"),
        ("0x0a", "0x0A"),
    ];

    #[test]
    fn expressions_have_the_form_of_the_sample_databases() {
        let options = ParseOptions::default();
        for (written, kept) in CASES {
            let expr = parse_expression(written, &options).expect(written);
            assert_eq!(super::text(&expr).as_deref(), Some(*kept), "{written}");
            // The form can be parsed again, and is a fixed point.
            let again = parse_expression(kept, &options).expect(kept);
            assert_eq!(super::text(&again).as_deref(), Some(*kept), "{kept}");
        }
    }

    #[test]
    fn what_has_no_such_form_is_left_alone() {
        for written in [
            "1.5e0",
            "$1.5",
            "a NOT IN (1, 2)",
            "a NOT BETWEEN 1 AND 2",
            "TRY_CAST(a AS int)",
            "IIF(a = 1, 2, 3)",
        ] {
            let expr = parse_expression(written, &ParseOptions::default()).expect(written);
            assert_eq!(super::text(&expr), None, "{written}");
        }
    }
}
