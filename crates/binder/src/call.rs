//! Function calls: special forms (ISNULL, COALESCE, IIF, ...), aggregates, then the registry.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use plan_ir::bound::coercibility::{check_key, combined, is_incomparable, resolved};
use plan_ir::bound::tree::{AggregateCall, Expr, ExprKind, SortKey};
use plan_ir::built_ins::{AT_TIME_ZONE, BuiltIns, UnnamedFunction};
use plan_ir::function_def::{Argument, FunctionDef, Parameter, ResultRule};
use plan_ir::kinds::{AggregateKind, Conversion, ConversionKind};
use plan_ir::names::written;
use tsql::ast;
use types::sql_type::TypeFamily;
use types::{Length, SqlError, SqlType, Value};

use super::arguments::{
    check_moment_of_bucket, check_old_large, check_old_large_argument, collation_of_call, offset_of_text,
    operation_of_aggregate,
};
use super::next_values::{AGGREGATE, CONDITIONAL};
use super::not_here::is_documented;
use super::{Binder, Clause, ScopeColumn, coerce, formatted};

/// Arguments of GREATEST and LEAST.
const EXTREME_ARGUMENTS_MAX: u8 = 254;

/// Functions with side effects: each call changes the result of the next.
const SIDE_EFFECTS: [&str; 4] = ["NEWID", "NEWSEQUENTIALID", "RAND", "CRYPT_GEN_RANDOM"];

impl Binder<'_> {
    /// A function call of any kind. Errors 195, 174, 189, 4121.
    pub fn call(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        match &call.name.schema {
            None => {}
            Some(schema) if schema.is("sys") => {}
            Some(schema) if schema.is("$PARTITION") => {
                return Err(plan_ir::errors::unsupported("$PARTITION"));
            }
            Some(_) => {
                return match self.method_target(&call.name) {
                    Some(column) => {
                        let subject = self.subject_of_column(column.id);
                        self.xml_method(subject, &call.name.name.value, &call.args)
                    }
                    None => self.user_call(call),
                };
            }
        }
        let mut name = call.name.name.value.to_ascii_uppercase();
        if call.is_odbc
            && let Some(own) = odbc_function(&name)
        {
            name = own.to_string();
        }
        if let Some(over) = call.extra.as_ref().and_then(|extra| extra.over.as_ref()) {
            return self.window_call(&name, call, over);
        }
        if let Some(kind) = aggregate_kind(&name) {
            return self.aggregate(&name, kind, call);
        }
        match name.as_str() {
            "ISNULL" => self.refusing_next_values(CONDITIONAL, true, |binder| binder.is_null_function(call)),
            "COALESCE" => self.refusing_next_values(CONDITIONAL, true, |binder| binder.coalesce(call)),
            "NULLIF" => self.refusing_next_values(CONDITIONAL, true, |binder| binder.null_if(call)),
            "IIF" => self.refusing_next_values(CONDITIONAL, true, |binder| binder.iif(call)),
            "CHOOSE" => self.choose(call),
            "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "NTILE" | "LAG" | "LEAD" | "FIRST_VALUE"
            | "LAST_VALUE" | "PERCENT_RANK" | "CUME_DIST" => Err(plan_ir::errors::needs_over(&name)),
            "COLUMNS_UPDATED" => {
                self.check_in_trigger()?;
                let function = self.built_ins.function(&name).expect("registered");
                self.registered(function, call)
            }
            "GROUPING" | "GROUPING_ID" => self.grouping_function(&name, call),
            "TRIM" => self.trim(call),
            "JSON_OBJECT" | "JSON_ARRAY" => self.json_made(call, name == "JSON_OBJECT"),
            "GREATEST" | "LEAST" => self.extreme(call, name == "GREATEST"),
            "CHECKSUM" | "BINARY_CHECKSUM" if call.star => self.checksum_of_all(&name),
            _ if call.star => Err(SqlError::new(102, &[&"*"])),
            _ => match self.built_ins.function(&name) {
                Some(function) => self.registered(function, call),
                None if is_documented(&name) => Err(plan_ir::errors::unsupported(&name)),
                None => Err(plan_ir::errors::unknown_function(&written(&call.name))),
            },
        }
    }

    /// The column in sight of which a method of the xml type is called: `d.value(...)`, `t.d.exist(...)`.
    pub(super) fn method_target(&self, name: &ast::ObjectName) -> Option<ScopeColumn> {
        const METHODS: [&str; 5] = ["value", "query", "exist", "nodes", "modify"];
        let column = name.schema.clone().filter(|_| METHODS.contains(&name.name.value.as_str()))?;
        let qualifier = name.database.clone().map(|table| {
            let mut qualifier = name.clone();
            (qualifier.name, qualifier.schema) = (table, name.server.clone());
            (qualifier.database, qualifier.server) = (None, None);
            Box::new(qualifier)
        });
        self.find_column(&ast::ColumnRef { qualifier, name: column }).ok().map(|found| found.0)
    }

    /// CHECKSUM(*): of all columns in sight, but for those without a hash. Error 263 without FROM.
    fn checksum_of_all(&mut self, name: &str) -> Result<Expr, SqlError> {
        let function = self.built_ins.function(name).expect("registered");
        let columns = self.star_columns(None)?;
        let all = columns.iter().map(|column| self.column_expr(column.id));
        self.finish_call(function, all.collect())
    }

    /// `@@NAME`.
    pub fn global(&mut self, name: &str) -> Result<Expr, SqlError> {
        let function =
            self.built_ins.function(name).ok_or_else(|| plan_ir::errors::undeclared_variable(name))?;
        self.finish_call(function, Vec::new())
    }

    fn registered(
        &mut self,
        function: &'static FunctionDef,
        call: &ast::FunctionCall,
    ) -> Result<Expr, SqlError> {
        // A view that the function reads may call them.
        if self.makes_function && self.view_depth == 0 && SIDE_EFFECTS.contains(&function.name) {
            return Err(SqlError::new(443, &[&function.name.to_ascii_lowercase()]));
        }
        if function.name == "NEWSEQUENTIALID" && !self.next_values.is_whole_default(call) {
            return Err(SqlError::new(302, &[]));
        }
        if call.args.len() < usize::from(function.min_arguments)
            || (function.max_arguments != u8::MAX && call.args.len() > usize::from(function.max_arguments))
        {
            return Err(plan_ir::errors::argument_count(
                &function.name.to_ascii_lowercase(),
                function.min_arguments,
                function.max_arguments,
            ));
        }
        let mut arguments = Vec::with_capacity(call.args.len());
        for (index, argument) in call.args.iter().enumerate() {
            let parameter = function.parameter(index);
            arguments.push(match parameter {
                Parameter::Word => word(function.name, argument)?,
                _ => {
                    let bound = self.value(argument)?;
                    let is_undeclared = plan_ir::bound::untyped::of(&bound).is_some();
                    if is_undeclared && needs_type(function.name, index) && function.name != "CHECKSUM" {
                        plan_ir::bound::untyped::note(&bound, SqlType::nvarchar(4000));
                    }
                    if bound.is_null_literal() && !is_undeclared && needs_type(function.name, index) {
                        return Err(null_argument(function.name, index));
                    }
                    check_old_large_argument(function.name, index, &bound)?;
                    check_moment_of_bucket(function.name, index, &bound)?;
                    match offset_of_text(function.name, &arguments, &bound) {
                        true => coerce::implicit(bound, &SqlType::DateTimeOffset(7))?,
                        false => converted(bound, parameter)?,
                    }
                }
            });
        }
        if function.name == "RAND" && arguments.is_empty() {
            let place = Value::BigInt(next_place());
            let place = Expr::constant(place, SqlType::BigInt);
            return self.finish_call(self.built_ins.unnamed(UnnamedFunction::RandOfPlace), vec![place]);
        }
        self.finish_call(by_origin(function, &arguments, self.built_ins), arguments)
    }

    /// `moment AT TIME ZONE zone`. Error 8116.
    pub fn at_time_zone(&mut self, moment: Expr, zone: Expr) -> Result<Expr, SqlError> {
        let function = self.built_ins.function(AT_TIME_ZONE);
        self.finish_call(function.expect("it stands in the registry"), vec![moment, zone])
    }

    /// `PARSE(text AS type USING culture)`. Errors 10761 for what it does not make, 8116 for what is no text.
    pub fn parse_call(&mut self, parse: &ast::Convert, to: SqlType) -> Result<Expr, SqlError> {
        let function = if parse.is_try { UnnamedFunction::TryParse } else { UnnamedFunction::Parse };
        let function = self.built_ins.unnamed(function);
        // SQL Server's decimals are numerics here, in messages and in metadata.
        let to = match to {
            SqlType::Decimal { precision, scale } => SqlType::Numeric { precision, scale },
            to => to,
        };
        if !types::functions::parse::makes(&to) {
            return Err(SqlError::new(10761, &[&to.name(), &function.name]).with_state(2));
        }
        let mut arguments = Vec::new();
        for (index, argument) in
            [Some(&parse.operand), parse.style.as_ref()].into_iter().flatten().enumerate()
        {
            let bound = self.value(argument)?;
            let is_undeclared = plan_ir::bound::untyped::of(&bound).is_some();
            plan_ir::bound::untyped::note(&bound, SqlType::nvarchar(4000));
            // A culture may be NULL when it is asked for: error 9818 then.
            let is_null = bound.is_null_literal() && !is_undeclared;
            if is_null && index == 0 {
                return Err(null_argument("parse", index));
            }
            if !bound.sql_type.is_character() && !is_null && !is_undeclared {
                return Err(SqlError::new(8116, &[&bound.sql_type.name(), &(index + 1), &"parse"]));
            }
            arguments.push(bound);
        }
        Ok(Expr::new(ExprKind::Call(function, arguments), to, true))
    }

    /// A call of a registered function with its arguments already converted.
    pub fn finish_call(
        &mut self,
        function: &'static FunctionDef,
        arguments: Vec<Expr>,
    ) -> Result<Expr, SqlError> {
        let sql_type = match function.result {
            ResultRule::Fixed(sql_type) => sql_type,
            ResultRule::Argument(index) => {
                arguments.get(index).map_or(SqlType::Int, |argument| argument.sql_type)
            }
            ResultRule::Rule(rule) => {
                let shown: Vec<Argument<'_>> = arguments
                    .iter()
                    .map(|argument| Argument {
                        sql_type: argument.sql_type,
                        constant: match &argument.kind {
                            ExprKind::Constant(value) => Some(value),
                            _ => None,
                        },
                    })
                    .collect();
                rule(&shown)?
            }
        };
        let (collation, coercibility) = collation_of_call(function.name, &arguments)?;
        Ok(Expr { collation, coercibility, ..Expr::new(ExprKind::Call(function, arguments), sql_type, true) })
    }

    /// An argument of an aggregate.
    fn aggregated(&mut self, argument: &ast::Expr) -> Result<Expr, SqlError> {
        self.refusing_next_values(AGGREGATE, true, |binder| {
            binder.in_clause(Clause::Aggregate, |binder| binder.value(argument))
        })
    }

    /// ISNULL: the type of the first argument.
    fn is_null_function(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        let [first, second] = self.exactly::<2>("isnull", call)?;
        let to = if first.is_null_literal() { second.sql_type } else { first.sql_type };
        let (collation, coercibility) = combined("ISNULL", [&first, &second])?;
        let first = coerce::implicit(first, &to)?;
        // A value without an implicit conversion is refused as in an assignment; text is cut to the first one's length.
        if !second.is_null_literal() {
            types::convert::matrix::check(&second.sql_type, &to, false)?;
        }
        let second = coerce::convert(
            second,
            &to,
            Conversion { kind: ConversionKind::Explicit, style: types::DEFAULT_STYLE },
        )?;
        let nullable = first.nullable && second.nullable;
        let operands = vec![first, second];
        Ok(Expr { collation, coercibility, ..Expr::new(ExprKind::Coalesce(operands), to, nullable) })
    }

    fn coalesce(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        if call.args.len() < 2 {
            return Err(plan_ir::errors::argument_count("coalesce", 2, u8::MAX));
        }
        let values = call.args.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>, _>>()?;
        if values.iter().all(Expr::is_null_literal) {
            return Err(plan_ir::errors::all_arguments_null());
        }
        let (collation, coercibility) = combined("CASE", &values)?;
        let (values, to) = coerce::unify(values)?;
        // As a CASE, and unlike ISNULL: a value that can be NULL makes the whole one that can.
        let nullable = values.iter().any(|value| value.nullable);
        Ok(Expr { collation, coercibility, ..Expr::new(ExprKind::Coalesce(values), to, nullable) })
    }

    /// NULLIF: CASE WHEN a = b THEN NULL ELSE a END.
    fn null_if(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        let [first, second] = self.exactly::<2>("nullif", call)?;
        if first.is_null_literal() {
            return Err(plan_ir::errors::nullif_first_null());
        }
        let (sql_type, collation, coercibility) = (first.sql_type, first.collation, first.coercibility);
        let equal = coerce::compare(plan_ir::kinds::CompareOp::Equal, first.clone(), second)?;
        let kind =
            ExprKind::Case(vec![(equal, Expr::constant(Value::Null, sql_type))], Some(Box::new(first)));
        Ok(Expr { collation, coercibility, ..Expr::new(kind, sql_type, true) })
    }

    fn iif(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        let [condition, yes, no] = call.args.as_slice() else {
            return Err(plan_ir::errors::argument_count("iif", 3, 3));
        };
        let condition = self.condition(condition)?;
        let values = vec![self.value(yes)?, self.value(no)?];
        if values.iter().all(Expr::is_null_literal) {
            return Err(plan_ir::errors::all_branches_null());
        }
        self.make_case(vec![condition], values)
    }

    fn choose(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        if call.args.len() < 2 {
            return Err(plan_ir::errors::argument_count("choose", 2, u8::MAX));
        }
        let index = coerce::implicit(self.value(&call.args[0])?, &SqlType::Int)?;
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        for (position, argument) in call.args[1..].iter().enumerate() {
            let number = Expr::constant(Value::Int(position as i32 + 1), SqlType::Int);
            conditions.push(coerce::compare(plan_ir::kinds::CompareOp::Equal, index.clone(), number)?);
            values.push(self.value(argument)?);
        }
        self.make_case(conditions, values)
    }

    fn extreme(&mut self, call: &ast::FunctionCall, greatest: bool) -> Result<Expr, SqlError> {
        let name = if greatest { "GREATEST" } else { "LEAST" };
        let function = self.built_ins.function(name).expect("registered");
        if call.args.is_empty() {
            return Err(plan_ir::errors::argument_count(
                &function.name.to_lowercase(),
                1,
                EXTREME_ARGUMENTS_MAX,
            ));
        }
        let values = call.args.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>, _>>()?;
        check_old_large(function.name, &values)?;
        let (values, _) = coerce::unify(values)?;
        self.finish_call(function, values)
    }

    fn trim(&mut self, call: &ast::FunctionCall) -> Result<Expr, SqlError> {
        let side = call.extra.as_ref().and_then(|extra| extra.trim);
        let name = match side {
            None | Some(ast::TrimSide::Both) => "TRIM",
            Some(ast::TrimSide::Leading) => "LTRIM",
            Some(ast::TrimSide::Trailing) => "RTRIM",
        };
        let function = self.built_ins.function(name).expect("registered");
        let mut arguments = Vec::new();
        // TRIM(x FROM y) is (y, x) in the registry.
        for argument in call.args.iter().rev() {
            let bound = self.value(argument)?;
            check_old_large_argument("TRIM", arguments.len(), &bound)?;
            arguments.push(converted(bound, Parameter::Text)?);
        }
        self.finish_call(function, arguments)
    }

    fn exactly<const N: usize>(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<[Expr; N], SqlError> {
        let values = call.args.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>, _>>()?;
        <[Expr; N]>::try_from(values).map_err(|_| plan_ir::errors::argument_count(name, N as u8, N as u8))
    }

    /// An aggregate without OVER. Errors 147, 130, 158.
    fn aggregate(
        &mut self,
        name: &str,
        kind: AggregateKind,
        call: &ast::FunctionCall,
    ) -> Result<Expr, SqlError> {
        if self.scopes.last().is_some_and(|scope| scope.clause == Clause::Aggregate) {
            return Err(plan_ir::errors::aggregate_over_subquery());
        }
        let aggregate = self.aggregate_call(name, kind, call)?;
        let owner = self.scope_of_aggregate(&aggregate);
        match self.scopes.get(owner).map(|scope| scope.clause) {
            Some(Clause::Output | Clause::Groups | Clause::Window) => {}
            Some(Clause::Aggregate) => return Err(plan_ir::errors::aggregate_over_subquery()),
            Some(Clause::RowCount) => return Err(SqlError::new(162, &[&"TOP or OFFSET"])),
            Some(Clause::Rows) | None => return Err(plan_ir::errors::aggregate_in_where()),
        }
        let known = self.scopes[owner]
            .aggregates
            .iter()
            .find(|known| same_aggregate(&known.1, &aggregate))
            .map(|known| known.0);
        let id = match known {
            Some(id) => id,
            None => {
                let nullable = !matches!(kind, AggregateKind::Count | AggregateKind::CountRows);
                let id = self.value_column(aggregate.sql_type, nullable, aggregate.argument.as_ref());
                self.scopes[owner].aggregates.push((id, aggregate));
                id
            }
        };
        Ok(self.column_expr(id))
    }

    /// The query whose rows an aggregate sums up: the innermost one of whose tables it names a column. One that names none belongs to the
    /// query in which it stands.
    fn scope_of_aggregate(&self, aggregate: &AggregateCall) -> usize {
        let innermost = self.scopes.len().saturating_sub(1);
        let Some(argument) = &aggregate.argument else { return innermost };
        let named = argument.columns();
        let has = |scope: &super::Scope| {
            scope.tables.iter().flat_map(|table| &table.columns).any(|column| named.contains(&column.id))
        };
        self.scopes.iter().rposition(has).unwrap_or(innermost)
    }

    /// The parts of an aggregate, with or without OVER.
    pub fn aggregate_call(
        &mut self,
        name: &str,
        kind: AggregateKind,
        call: &ast::FunctionCall,
    ) -> Result<AggregateCall, SqlError> {
        // An exact count is within what is promised of an approximate one.
        let approximate = name == "APPROX_COUNT_DISTINCT";
        let distinct = approximate || call.quantifier == Some(ast::SetQuantifier::Distinct);
        let big = name == "COUNT_BIG";
        if call.star && (kind != AggregateKind::Count || approximate) {
            return Err(SqlError::new(102, &[&"*"]));
        }
        if call.star {
            let sql_type = if big { SqlType::BigInt } else { SqlType::Int };
            return Ok(AggregateCall {
                kind: AggregateKind::CountRows,
                argument: None,
                separator: None,
                distinct: false,
                order: Vec::new(),
                sql_type,
            });
        }
        let has_order = call.extra.as_ref().is_some_and(|extra| extra.within_group.is_some());
        if has_order && kind != AggregateKind::StringAgg {
            return Err(SqlError::new(10757, &[&name.to_ascii_lowercase()]));
        }
        let wanted = if kind == AggregateKind::StringAgg { 2 } else { 1 };
        if call.args.len() != wanted {
            let shown = name.to_ascii_lowercase();
            return Err(plan_ir::errors::argument_count(&shown, wanted as u8, wanted as u8));
        }
        let mut argument = self.aggregated(&call.args[0])?;
        if argument.is_null_literal() {
            return Err(match kind {
                AggregateKind::StringAgg => null_argument(name, 0),
                _ => plan_ir::errors::operand_type("NULL", &name.to_ascii_lowercase()),
            });
        }
        let (mut separator, mut order) = (None, Vec::new());
        if kind == AggregateKind::StringAgg {
            if !argument.sql_type.is_character() {
                argument = coerce::implicit(argument, &SqlType::nvarchar(4000))?;
            }
            separator =
                Some(self.refusing_next_values(AGGREGATE, true, |binder| binder.value(&call.args[1]))?);
            for item in call.extra.iter().flat_map(|extra| extra.within_group.iter().flatten()) {
                let expr = self.aggregated(&item.expr)?;
                check_key(&expr, "ORDER BY", order.len() + 1)?;
                order.push(SortKey { expr, descending: item.descending == Some(true) });
            }
        }
        if matches!(
            kind,
            AggregateKind::StandardDeviation
                | AggregateKind::StandardDeviationPopulation
                | AggregateKind::Variance
                | AggregateKind::VariancePopulation
        ) {
            argument = coerce::implicit(argument, &SqlType::Float)?;
        }
        let sql_type = aggregate_type(name, kind, distinct, &argument.sql_type)?;
        if distinct || matches!(kind, AggregateKind::Minimum | AggregateKind::Maximum) {
            resolved(operation_of_aggregate(kind), [&argument])?;
        }
        Ok(AggregateCall { kind, argument: Some(argument), separator, distinct, order, sql_type })
    }
}

fn same_aggregate(a: &AggregateCall, b: &AggregateCall) -> bool {
    let same_argument = match (&a.argument, &b.argument) {
        (None, None) => true,
        (Some(x), Some(y)) => x.same_as(y),
        _ => false,
    };
    a.kind == b.kind
        && a.distinct == b.distinct
        && same_argument
        && a.separator.is_none()
        && b.separator.is_none()
        && a.sql_type == b.sql_type
}

/// The aggregate of a name in upper case.
pub fn aggregate_kind(name: &str) -> Option<AggregateKind> {
    Some(match name {
        "COUNT" | "COUNT_BIG" | "APPROX_COUNT_DISTINCT" => AggregateKind::Count,
        "SUM" => AggregateKind::Sum,
        "AVG" => AggregateKind::Average,
        "MIN" => AggregateKind::Minimum,
        "MAX" => AggregateKind::Maximum,
        "STDEV" => AggregateKind::StandardDeviation,
        "STDEVP" => AggregateKind::StandardDeviationPopulation,
        "VAR" => AggregateKind::Variance,
        "VARP" => AggregateKind::VariancePopulation,
        "STRING_AGG" => AggregateKind::StringAgg,
        "CHECKSUM_AGG" => AggregateKind::ChecksumAgg,
        _ => return None,
    })
}

/// Result type of an aggregate (documented table of SUM and AVG). Error 8117.
fn aggregate_type(
    name: &str,
    kind: AggregateKind,
    distinct: bool,
    argument: &SqlType,
) -> Result<SqlType, SqlError> {
    let numeric = |sql_type: &SqlType| sql_type.is_numeric() && *sql_type != SqlType::Bit;
    match kind {
        AggregateKind::Count if is_incomparable(argument) && (distinct || *argument != SqlType::Xml) => {
            Err(plan_ir::errors::operand_type(argument.name(), "count"))
        }
        AggregateKind::CountRows | AggregateKind::Count => {
            Ok(if name == "COUNT" { SqlType::Int } else { SqlType::BigInt })
        }
        AggregateKind::Sum | AggregateKind::Average => {
            if !numeric(argument) {
                return Err(plan_ir::errors::operand_type(argument.name(), &name.to_ascii_lowercase()));
            }
            Ok(match *argument {
                SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => SqlType::Int,
                SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
                    SqlType::decimal(38, if kind == AggregateKind::Average { scale.max(6) } else { scale })
                }
                SqlType::Money | SqlType::SmallMoney => SqlType::Money,
                SqlType::Real | SqlType::Float => SqlType::Float,
                other => other,
            })
        }
        AggregateKind::Minimum | AggregateKind::Maximum => {
            if matches!(
                argument,
                SqlType::Bit | SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml
            ) {
                return Err(plan_ir::errors::operand_type(argument.name(), &name.to_ascii_lowercase()));
            }
            Ok(*argument)
        }
        AggregateKind::StringAgg => Ok(match *argument {
            SqlType::VarChar(Length::Max) | SqlType::Text => SqlType::VARCHAR_MAX,
            SqlType::NVarChar(Length::Max) | SqlType::NText => SqlType::NVARCHAR_MAX,
            other if other.family() == TypeFamily::Char => SqlType::varchar(8000),
            _ => SqlType::nvarchar(4000),
        }),
        AggregateKind::ChecksumAgg => Ok(SqlType::Int),
        _ => Ok(SqlType::Float),
    }
}

/// Does the function need an argument with a type there? The literal NULL has none.
fn needs_type(function: &str, index: usize) -> bool {
    match function {
        "SUBSTRING" | "CRYPT_GEN_RANDOM" => index == 0,
        "PATINDEX" => index == 1,
        "CHECKSUM" => true,
        _ => false,
    }
}

fn null_argument(function: &str, index: usize) -> SqlError {
    SqlError::new(8116, &[&"NULL", &(index + 1), &function.to_ascii_lowercase()])
}

/// A bare word argument such as `day`; error 1023-like 155 comes from the function.
fn word(function: &str, argument: &ast::Expr) -> Result<Expr, SqlError> {
    match &argument.kind {
        ast::ExprKind::Column(column) if column.qualifier.is_none() => {
            let value = Value::nvarchar(&column.name.value);
            let sql_type = value.natural_type();
            Ok(Expr::constant(value, sql_type))
        }
        _ => Err(plan_ir::errors::invalid_parameter(1, &function.to_ascii_lowercase())),
    }
}

/// An argument converted as its parameter asks.
fn converted(argument: Expr, parameter: Parameter) -> Result<Expr, SqlError> {
    let family = argument.sql_type.family();
    // Of the types that a parameter of a function takes as they are, the one of highest precedence.
    match parameter {
        Parameter::Text | Parameter::Wide => {
            plan_ir::bound::untyped::note(&argument, SqlType::nvarchar(4000))
        }
        Parameter::Moment => plan_ir::bound::untyped::note(&argument, SqlType::DateTimeOffset(7)),
        _ => {}
    }
    match parameter {
        Parameter::Any | Parameter::Word => Ok(argument),
        Parameter::Int => coerce::implicit(argument, &SqlType::Int),
        Parameter::BigInt => coerce::implicit(argument, &SqlType::BigInt),
        Parameter::Float => coerce::implicit(argument, &SqlType::Float),
        Parameter::Number if argument.sql_type.is_numeric() => Ok(argument),
        Parameter::Number => coerce::implicit(argument, &SqlType::Float),
        Parameter::Text if matches!(family, TypeFamily::Char | TypeFamily::NChar) => Ok(argument),
        Parameter::Text if argument.is_null_literal() => coerce::implicit(argument, &SqlType::varchar(1)),
        Parameter::Text => {
            let to = if family == TypeFamily::Xml { SqlType::NVARCHAR_MAX } else { SqlType::varchar(8000) };
            coerce::convert(
                argument,
                &to,
                Conversion { kind: ConversionKind::Explicit, style: types::DEFAULT_STYLE },
            )
        }
        Parameter::Wide if family == TypeFamily::NChar => Ok(argument),
        Parameter::Wide if argument.sql_type == SqlType::VARCHAR_MAX => {
            coerce::implicit(argument, &SqlType::NVARCHAR_MAX)
        }
        Parameter::Wide => coerce::convert(
            argument,
            &SqlType::nvarchar(4000),
            Conversion { kind: ConversionKind::Explicit, style: types::DEFAULT_STYLE },
        ),
        Parameter::Moment | Parameter::OldMoment if family == TypeFamily::DateTime => Ok(argument),
        Parameter::Moment if matches!(family, TypeFamily::Char | TypeFamily::NChar) => {
            coerce::implicit(argument, &SqlType::DateTime2(7))
        }
        Parameter::Moment | Parameter::OldMoment => coerce::implicit(argument, &SqlType::DateTime),
    }
}

/// Our name of a function of ODBC's `{fn name(..)}` that has another there.
fn odbc_function(name: &str) -> Option<&'static str> {
    Some(match name {
        "ATAN2" => "ATN2",
        "CHAR_LENGTH" | "CHARACTER_LENGTH" | "LENGTH" => "LEN",
        "DATABASE" => "DB_NAME",
        "DAYOFMONTH" => "DAY",
        "IFNULL" => "ISNULL",
        "INSERT" => "STUFF",
        "LCASE" => "LOWER",
        "LOCATE" => "CHARINDEX",
        "NOW" => "GETDATE",
        "REPEAT" => "REPLICATE",
        "UCASE" => "UPPER",
        "USER" => "USER_NAME",
        _ => return None,
    })
}

/// A number for a place where RAND() is written that no other place has.
fn next_place() -> i64 {
    static PLACES: AtomicI64 = AtomicI64::new(0);
    PLACES.fetch_add(1, Relaxed)
}

/// The function that is called: JSON_MODIFY takes what another call or FOR JSON gives as JSON in another way than text.
fn by_origin(
    function: &'static FunctionDef,
    arguments: &[Expr],
    built_ins: &'static dyn BuiltIns,
) -> &'static FunctionDef {
    match arguments {
        [_, _, value] if function.name == "JSON_MODIFY" && formatted::is_json(value) => {
            built_ins.unnamed(UnnamedFunction::JsonModifyByJson)
        }
        _ => function,
    }
}

/// A method that is not here is called of a value of that type: only xml has any. Error 258.
pub(super) fn method_of(sql_type: &SqlType) -> SqlError {
    match sql_type {
        SqlType::Xml => plan_ir::errors::unsupported("methods of CLR and xml types"),
        other if other.to_string().ends_with("(max)") => SqlError::new(258, &[other]),
        other => SqlError::new(258, &[&other.name()]),
    }
}
