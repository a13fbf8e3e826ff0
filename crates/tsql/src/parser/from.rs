//! FROM: tables, joins, derived tables, rowset functions, PIVOT, table hints.

use super::function::empty_call;
use super::{LIGHT, Parsed, Parser, QUERY};
use crate::ast::{
    DerivedTable, DmlTable, Expr, ExprKind, Ident, Join, JoinHint, JoinKind, ObjectName, OpenJson,
    OpenRowset, OpenRowsetKind, OpenXml, Pivot, RowsetColumn, SystemTime, TableFunction, TableHint, TableRef,
    TableSample, TableSource, Unpivot, ValuesTable,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

/// Words that make `t (word)` an old-style table hint.
const OLD_STYLE_HINTS: [&str; 22] = [
    "NOLOCK",
    "HOLDLOCK",
    "UPDLOCK",
    "TABLOCK",
    "TABLOCKX",
    "PAGLOCK",
    "ROWLOCK",
    "XLOCK",
    "READPAST",
    "NOWAIT",
    "READCOMMITTED",
    "READCOMMITTEDLOCK",
    "READUNCOMMITTED",
    "REPEATABLEREAD",
    "SERIALIZABLE",
    "SNAPSHOT",
    "NOEXPAND",
    "FORCESEEK",
    "FORCESCAN",
    "INDEX",
    "FASTFIRSTROW",
    "KEEPIDENTITY",
];

/// Table hints with a value behind `=`.
const HINTS_WITH_VALUES: [&str; 2] = ["INDEX", "SPATIAL_WINDOW_MAX_CELLS"];

impl Parser<'_> {
    /// A table source with all joins behind it.
    pub(super) fn table_source(&mut self) -> Parsed<TableSource> {
        let outer_deepest = std::mem::replace(&mut self.deepest, self.depth);
        let mut source = self.table_primary()?;
        while let Some(joined) = self.join_opt(&mut source)? {
            source = joined;
            self.wrapped()?;
        }
        self.deepest = self.deepest.max(outer_deepest);
        Ok(source)
    }

    /// The right side of a join that has its own ON: joins before that ON belong to it.
    #[inline(never)]
    fn joined_operand(&mut self) -> Parsed<TableSource> {
        self.table_source()
    }

    /// One join or PIVOT behind `left`, which is taken if there is one.
    #[inline(never)]
    fn join_opt(&mut self, left: &mut TableSource) -> Parsed<Option<TableSource>> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Pivot) => return Ok(Some(self.pivot(take(left))?)),
            TokenKind::Keyword(Keyword::Unpivot) => return Ok(Some(self.unpivot(take(left))?)),
            _ => {}
        }
        let Some((kind, hint)) = self.join_operator_opt()? else { return Ok(None) };
        let has_on = matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full);
        let (right, on) = if has_on {
            let right = self.nested(QUERY, Self::joined_operand)?;
            self.expect(Keyword::On)?;
            (right, Some(self.condition()?))
        } else {
            (self.table_primary()?, None)
        };
        Ok(Some(TableSource::Join(Box::new(Join { kind, hint, left: take(left), right, on }))))
    }

    #[inline(never)]
    fn join_operator_opt(&mut self) -> Parsed<Option<(JoinKind, Option<JoinHint>)>> {
        let kind = match self.kind() {
            TokenKind::Keyword(Keyword::Join) => {
                self.advance();
                return Ok(Some((JoinKind::Inner, None)));
            }
            TokenKind::Keyword(Keyword::Inner) => JoinKind::Inner,
            TokenKind::Keyword(Keyword::Left) => JoinKind::Left,
            TokenKind::Keyword(Keyword::Right) => JoinKind::Right,
            TokenKind::Keyword(Keyword::Full) => JoinKind::Full,
            TokenKind::Keyword(Keyword::Cross) => {
                self.advance();
                if self.accept_word("APPLY") {
                    return Ok(Some((JoinKind::CrossApply, None)));
                }
                self.expect(Keyword::Join)?;
                return Ok(Some((JoinKind::Cross, None)));
            }
            TokenKind::Keyword(Keyword::Outer) => {
                self.advance();
                self.expect_word("APPLY")?;
                return Ok(Some((JoinKind::OuterApply, None)));
            }
            _ => return Ok(None),
        };
        self.advance();
        if kind != JoinKind::Inner {
            self.accept(Keyword::Outer);
        }
        let hint = self.join_hint_opt();
        self.expect(Keyword::Join)?;
        Ok(Some((kind, hint)))
    }

    fn join_hint_opt(&mut self) -> Option<JoinHint> {
        let hint = match () {
            () if self.at_word("LOOP") => JoinHint::Loop,
            () if self.at_word("HASH") => JoinHint::Hash,
            () if self.at(Keyword::Merge) => JoinHint::Merge,
            () if self.at_word("REMOTE") => JoinHint::Remote,
            () if self.at_word("REDISTRIBUTE") => JoinHint::Redistribute,
            () if self.at_word("REDUCE") => JoinHint::Reduce,
            () if self.at_word("REPLICATE") => JoinHint::Replicate,
            () => return None,
        };
        self.advance();
        Some(hint)
    }

    fn table_primary(&mut self) -> Parsed<TableSource> {
        match self.kind() {
            TokenKind::Symbol(b'(') => self.nested(QUERY, Self::parenthesized_source),
            TokenKind::Symbol(b'{') => self.nested(QUERY, Self::odbc_outer_join),
            TokenKind::Variable => self.variable_source(),
            TokenKind::Symbol(b':') if self.symbol_ahead(1, b':') => {
                self.advance();
                self.advance();
                let name = self.object_name()?;
                self.function_source(name, true)
            }
            TokenKind::Keyword(
                keyword @ (Keyword::Openrowset | Keyword::Openquery | Keyword::Opendatasource),
            ) => self.nested(QUERY, |p| p.open_rowset(keyword)),
            TokenKind::Keyword(Keyword::Openxml) => self.nested(QUERY, Self::open_xml),
            TokenKind::Keyword(
                Keyword::Containstable
                | Keyword::Freetexttable
                | Keyword::Semantickeyphrasetable
                | Keyword::Semanticsimilaritytable
                | Keyword::Semanticsimilaritydetailstable,
            ) => self.full_text_table(),
            TokenKind::Word if self.at_word("OPENJSON") && self.symbol_ahead(1, b'(') => {
                self.nested(QUERY, Self::open_json)
            }
            TokenKind::Word
                if (self.at_word("CHANGETABLE") || self.at_word("PREDICT")) && self.symbol_ahead(1, b'(') =>
            {
                self.opaque_function()
            }
            _ => self.named_source(),
        }
    }

    #[inline(never)]
    fn parenthesized_source(&mut self) -> Parsed<TableSource> {
        self.advance();
        match self.kind() {
            TokenKind::Keyword(Keyword::Values) => return self.values_source(),
            TokenKind::Keyword(Keyword::Insert | Keyword::Update | Keyword::Delete | Keyword::Merge) => {
                let statement = self.nested(QUERY, Self::dml_statement)?;
                self.expect_symbol(b')')?;
                let (alias, columns) = self.alias_of_derived()?;
                return Ok(TableSource::Dml(Box::new(DmlTable { statement, alias, columns })));
            }
            TokenKind::Keyword(Keyword::Select) => return self.derived_source(),
            TokenKind::Symbol(b'(') if self.parenthesis_starts_query() => return self.derived_source(),
            _ => {}
        }
        let source = self.table_source()?;
        self.expect_symbol(b')')?;
        // `(t) AS a` renames a single source inside.
        Ok(source)
    }

    /// At `(`, inside another: whether it opens a query that continues behind it (`((SELECT ..) UNION ..)`).
    fn parenthesis_starts_query(&self) -> bool {
        let mut inside = 1;
        while self.symbol_ahead(inside, b'(') {
            inside += 1;
        }
        let goes_on = matches!(
            self.kind_behind_parenthesis(),
            TokenKind::Symbol(b')') | TokenKind::Keyword(Keyword::Order | Keyword::For) | TokenKind::End
        );
        self.at_ahead(inside, Keyword::Select) && (goes_on || self.set_operator_behind_parenthesis())
    }

    /// Whether UNION, EXCEPT or INTERSECT follows the `)` that closes the `(` here.
    pub(super) fn set_operator_behind_parenthesis(&self) -> bool {
        matches!(
            self.kind_behind_parenthesis(),
            TokenKind::Keyword(Keyword::Union | Keyword::Except | Keyword::Intersect)
        )
    }

    /// The token behind the `)` that closes the `(` here.
    fn kind_behind_parenthesis(&self) -> TokenKind {
        let mut depth = 0u32;
        for ahead in 0.. {
            match self.peek_kind(ahead) {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') if depth == 1 => return self.peek_kind(ahead + 1),
                TokenKind::Symbol(b')') => depth -= 1,
                TokenKind::End => break,
                _ => {}
            }
        }
        TokenKind::End
    }

    #[inline(never)]
    fn derived_source(&mut self) -> Parsed<TableSource> {
        let query = self.subquery_expression()?;
        self.expect_symbol(b')')?;
        let (alias, columns) = self.alias_of_derived()?;
        Ok(TableSource::Derived(Box::new(DerivedTable { query, alias, columns })))
    }

    /// `VALUES (..), (..) ) AS alias (columns)`
    #[inline(never)]
    fn values_source(&mut self) -> Parsed<TableSource> {
        let start = self.token();
        self.advance();
        let rows = self.value_rows()?;
        let span = self.span_from(start);
        self.expect_symbol(b')')?;
        let (alias, columns) = self.alias_of_derived()?;
        Ok(TableSource::Values(Box::new(ValuesTable { rows, alias, columns, span })))
    }

    /// `(a, b), (c, d)`
    pub(super) fn value_rows(&mut self) -> Parsed<Vec<Vec<Expr>>> {
        self.comma_list(|p| p.paren_list(Self::value_or_default))
    }

    /// `{ oj source }`
    #[inline(never)]
    fn odbc_outer_join(&mut self) -> Parsed<TableSource> {
        self.advance();
        self.expect_word("OJ")?;
        let source = self.table_source()?;
        self.expect_symbol(b'}')?;
        Ok(TableSource::OdbcOuterJoin(Box::new(source)))
    }

    /// `@t [AS a]` or `@x.nodes('..') AS t (c)`
    #[inline(never)]
    fn variable_source(&mut self) -> Parsed<TableSource> {
        let start = self.token();
        if self.symbol_ahead(1, b'.') {
            let call = self.value()?;
            return self.table_function(call, false);
        }
        let name = self.variable()?;
        let span = self.span_of(start);
        let alias = self.table_alias_opt()?;
        // Hints on table variables are accepted and mean nothing.
        if self.at(Keyword::With) && self.symbol_ahead(1, b'(') {
            self.table_hints_opt()?;
        }
        Ok(TableSource::Variable { name, alias, span })
    }

    #[inline(never)]
    fn named_source(&mut self) -> Parsed<TableSource> {
        let name = self.object_name()?;
        if self.at_symbol(b'(') && !self.at_old_style_hint() {
            return self.function_source(name, false);
        }
        let mut table = TableRef {
            name,
            alias: None,
            hints: Vec::new(),
            sample: None,
            system_time: None,
            for_path: false,
        };
        loop {
            match self.kind() {
                TokenKind::Keyword(Keyword::For) if self.word_ahead(1, "SYSTEM_TIME") => {
                    self.advance();
                    self.advance();
                    table.system_time = Some(self.system_time()?);
                }
                TokenKind::Keyword(Keyword::For) if self.word_ahead(1, "PATH") => {
                    self.advance();
                    self.advance();
                    table.for_path = true;
                }
                TokenKind::Keyword(Keyword::Tablesample) => table.sample = Some(self.table_sample()?),
                TokenKind::Keyword(Keyword::With) if self.symbol_ahead(1, b'(') => {
                    table.hints.extend(self.table_hints_opt()?);
                }
                TokenKind::Symbol(b'(') if self.at_old_style_hint() => {
                    table.hints.extend(self.paren_hints()?);
                }
                _ if table.alias.is_none() => {
                    table.alias = self.table_alias_opt()?;
                    if table.alias.is_none() {
                        break;
                    }
                }
                _ => break,
            }
        }
        Ok(TableSource::Table(Box::new(table)))
    }

    /// `[AS] alias`
    pub(super) fn table_alias_opt(&mut self) -> Parsed<Option<Ident>> {
        if self.accept(Keyword::As) {
            return Ok(Some(self.ident()?));
        }
        let named_window = self.at_word("WINDOW")
            && self.ident_ahead(1)
            && self.at_ahead(2, Keyword::As)
            && self.symbol_ahead(3, b'(');
        // USING of MERGE has a source behind it.
        let using = self.at_word("USING")
            && !matches!(
                self.peek_kind(1),
                TokenKind::End
                    | TokenKind::Symbol(b',' | b')' | b';')
                    | TokenKind::Keyword(
                        Keyword::Where
                            | Keyword::Join
                            | Keyword::Inner
                            | Keyword::Left
                            | Keyword::Right
                            | Keyword::Full
                            | Keyword::Cross
                            | Keyword::On
                            | Keyword::Order
                            | Keyword::Group
                            | Keyword::With
                    )
            );
        if self.at_label() || named_window || using {
            return Ok(None);
        }
        Ok(self.ident_opt())
    }

    /// `[AS] alias [(columns)]`
    /// A derived table has a name: 102.
    fn alias_of_derived(&mut self) -> Parsed<(Option<Ident>, Vec<Ident>)> {
        let (alias, columns) = self.alias_and_columns()?;
        if alias.is_none() {
            return Err(self.unexpected());
        }
        Ok((alias, columns))
    }

    fn alias_and_columns(&mut self) -> Parsed<(Option<Ident>, Vec<Ident>)> {
        let alias = self.table_alias_opt()?;
        let columns = match alias {
            Some(_) if self.at_symbol(b'(') => self.ident_list()?,
            _ => Vec::new(),
        };
        Ok((alias, columns))
    }

    #[inline(never)]
    fn function_source(&mut self, name: ObjectName, double_colon: bool) -> Parsed<TableSource> {
        let start = self.token();
        let mut call = Expr { span: name.span, kind: self.call(empty_call(name))? };
        call.span.end = self.span_from(start).end;
        while self.at_symbol(b'.') && self.ident_ahead(1) {
            let method_start = self.token();
            self.advance();
            let method = self.ident()?;
            let args = self.call_args()?;
            let span = self.span_from(method_start);
            let method = crate::ast::MethodCall { target: call, method, args, is_mutator: false };
            let kind = ExprKind::MethodCall(Box::new(method));
            call = Expr { span, kind };
            self.wrapped()?;
        }
        self.table_function(call, double_colon)
    }

    fn table_function(&mut self, call: Expr, double_colon: bool) -> Parsed<TableSource> {
        let schema = if self.at(Keyword::With) && self.symbol_ahead(1, b'(') && self.at_rowset_schema() {
            self.advance();
            self.paren_list(Self::rowset_column)?
        } else {
            Vec::new()
        };
        let mut hints = self.table_hints_opt()?;
        let (alias, columns) = self.alias_and_columns()?;
        hints.extend(self.table_hints_opt()?);
        Ok(TableSource::Function(Box::new(TableFunction {
            call,
            double_colon,
            alias,
            columns,
            hints,
            schema,
        })))
    }

    /// At `WITH (`: whether `name type` follows rather than a hint.
    fn at_rowset_schema(&self) -> bool {
        self.ident_ahead(2) && self.ident_ahead(3)
    }

    /// CHANGETABLE (CHANGES t, v), PREDICT (MODEL = ..): the arguments are kept as one text.
    #[inline(never)]
    fn opaque_function(&mut self) -> Parsed<TableSource> {
        let start = self.token();
        let name = self.object_name()?;
        let open = self.token();
        self.skip_parentheses()?;
        let inner = self.raw_since(open);
        let text = inner.trim_start_matches('(').strip_suffix(')').unwrap_or("").trim().to_string();
        let span = self.span_from(start);
        let arg = Expr { span, kind: ExprKind::Literal(crate::ast::Literal::String(text)) };
        let mut call = empty_call(name);
        call.args.push(arg);
        self.table_function(Expr { span, kind: ExprKind::Function(call) }, false)
    }

    /// CONTAINSTABLE (table, columns, 'term' [, ..])
    #[inline(never)]
    fn full_text_table(&mut self) -> Parsed<TableSource> {
        let start = self.token();
        let name = self.keyword_name();
        let open = self.token();
        self.skip_parentheses()?;
        let inner = self.raw_since(open);
        let text = inner.trim_start_matches('(').strip_suffix(')').unwrap_or("").trim().to_string();
        let span = self.span_from(start);
        let arg = Expr { span, kind: ExprKind::Literal(crate::ast::Literal::String(text)) };
        let mut call = empty_call(name);
        call.args.push(arg);
        self.table_function(Expr { span, kind: ExprKind::Function(call) }, false)
    }

    #[inline(never)]
    fn open_json(&mut self) -> Parsed<TableSource> {
        let start = self.advance();
        let args = self.paren_list(Self::value)?;
        let columns = if self.at(Keyword::With) && self.symbol_ahead(1, b'(') {
            self.advance();
            self.paren_list(Self::rowset_column)?
        } else {
            Vec::new()
        };
        let span = self.span_from(start);
        let alias = self.table_alias_opt()?;
        Ok(TableSource::OpenJson(Box::new(OpenJson { args, columns, alias, span })))
    }

    /// `name type ['path'] [AS JSON]`
    fn rowset_column(&mut self) -> Parsed<RowsetColumn> {
        let name = self.ident()?;
        let data_type = self.data_type()?;
        let collation = self.collation_opt()?;
        self.nullable_opt()?;
        let path = match self.kind() {
            TokenKind::String | TokenKind::NString | TokenKind::Integer => Some(self.value()?),
            _ => None,
        };
        let as_json = self.at(Keyword::As) && self.word_ahead(1, "JSON");
        if as_json {
            self.advance();
            self.advance();
        }
        Ok(RowsetColumn { name, data_type, collation, path, as_json })
    }

    #[inline(never)]
    fn open_xml(&mut self) -> Parsed<TableSource> {
        let start = self.advance();
        let args = self.paren_list(Self::value)?;
        let (mut columns, mut table) = (Vec::new(), None);
        if self.at(Keyword::With) && (self.symbol_ahead(1, b'(') || self.ident_ahead(1)) {
            self.advance();
            if self.at_symbol(b'(') {
                columns = self.paren_list(Self::rowset_column)?;
            } else {
                table = Some(self.object_name()?);
            }
        }
        let span = self.span_from(start);
        let alias = self.table_alias_opt()?;
        Ok(TableSource::OpenXml(Box::new(OpenXml { args, columns, table, alias, span })))
    }

    /// OPENROWSET, OPENQUERY, OPENDATASOURCE.
    #[inline(never)]
    pub(super) fn open_rowset(&mut self, keyword: Keyword) -> Parsed<TableSource> {
        let start = self.advance();
        self.expect_symbol(b'(')?;
        let mut rowset = OpenRowset {
            kind: match keyword {
                Keyword::Openquery => OpenRowsetKind::Query,
                Keyword::Opendatasource => OpenRowsetKind::DataSource,
                _ => OpenRowsetKind::Rowset,
            },
            args: Vec::new(),
            options: Vec::new(),
            table: None,
            columns: Vec::new(),
            hints: Vec::new(),
            alias: None,
            column_aliases: Vec::new(),
            span: self.span_of(start),
        };
        if self.accept(Keyword::Bulk) {
            rowset.kind = OpenRowsetKind::Bulk;
            rowset.args.push(match self.at_symbol(b'(') {
                true => self.nested(LIGHT, Self::value)?,
                false => self.value()?,
            });
            while self.accept_symbol(b',') {
                rowset.options.push(self.named_option()?);
            }
        } else {
            self.open_rowset_args(&mut rowset)?;
        }
        self.expect_symbol(b')')?;
        if rowset.kind == OpenRowsetKind::DataSource {
            self.expect_symbol(b'.')?;
            rowset.table = Some(self.object_name()?);
        }
        rowset.span = self.span_from(start);
        if self.at(Keyword::With) && self.symbol_ahead(1, b'(') && self.at_rowset_schema() {
            self.advance();
            rowset.columns = self.paren_list(Self::rowset_column)?;
        }
        rowset.hints = self.table_hints_opt()?;
        (rowset.alias, rowset.column_aliases) = self.alias_and_columns()?;
        rowset.hints.extend(self.table_hints_opt()?);
        Ok(TableSource::OpenRowset(Box::new(rowset)))
    }

    /// Strings, and for OPENROWSET a table's name behind them.
    fn open_rowset_args(&mut self, rowset: &mut OpenRowset) -> Parsed<()> {
        loop {
            if rowset.kind == OpenRowsetKind::Rowset && self.at_ident() {
                if rowset.args.is_empty() {
                    return Err(self.unexpected());
                }
                rowset.table = Some(self.object_name()?);
                return Ok(());
            }
            rowset.args.push(self.value()?);
            if !self.accept_symbol(b',') && !self.accept_symbol(b';') {
                return Ok(());
            }
        }
    }

    #[inline(never)]
    fn pivot(&mut self, source: TableSource) -> Parsed<TableSource> {
        self.advance();
        self.expect_symbol(b'(')?;
        let aggregate = self.nested_value()?;
        self.expect(Keyword::For)?;
        let column = self.object_name()?;
        self.expect(Keyword::In)?;
        let values = self.ident_list()?;
        self.expect_symbol(b')')?;
        let (alias, columns) = self.alias_and_columns()?;
        Ok(TableSource::Pivot(Box::new(Pivot { source, aggregate, column, values, alias, columns })))
    }

    #[inline(never)]
    fn unpivot(&mut self, source: TableSource) -> Parsed<TableSource> {
        self.advance();
        self.expect_symbol(b'(')?;
        let value = self.ident()?;
        self.expect(Keyword::For)?;
        let column = self.ident()?;
        self.expect(Keyword::In)?;
        let columns = self.paren_list(Self::object_name)?;
        self.expect_symbol(b')')?;
        let (alias, column_aliases) = self.alias_and_columns()?;
        Ok(TableSource::Unpivot(Box::new(Unpivot { source, value, column, columns, alias, column_aliases })))
    }

    fn system_time(&mut self) -> Parsed<SystemTime> {
        if self.accept(Keyword::All) {
            return Ok(SystemTime::All);
        }
        if self.accept(Keyword::As) {
            self.expect(Keyword::Of)?;
            return Ok(SystemTime::AsOf(self.value()?));
        }
        if self.accept(Keyword::From) {
            let from = self.value()?;
            self.expect(Keyword::To)?;
            return Ok(SystemTime::FromTo(from, self.value()?));
        }
        if self.accept(Keyword::Between) {
            let from = self.value()?;
            self.expect(Keyword::And)?;
            return Ok(SystemTime::Between(from, self.value()?));
        }
        self.expect_word("CONTAINED")?;
        self.expect(Keyword::In)?;
        self.expect_symbol(b'(')?;
        let from = self.value()?;
        self.expect_symbol(b',')?;
        let to = self.value()?;
        self.expect_symbol(b')')?;
        Ok(SystemTime::ContainedIn(from, to))
    }

    fn table_sample(&mut self) -> Parsed<TableSample> {
        self.advance();
        self.accept_word("SYSTEM");
        self.expect_symbol(b'(')?;
        let amount = self.value()?;
        let rows = if self.accept_word("ROWS") {
            Some(true)
        } else if self.accept(Keyword::Percent) {
            Some(false)
        } else {
            None
        };
        self.expect_symbol(b')')?;
        let repeatable = if self.accept_word("REPEATABLE") {
            self.expect_symbol(b'(')?;
            let seed = self.value()?;
            self.expect_symbol(b')')?;
            Some(seed)
        } else {
            None
        };
        Ok(TableSample { amount, rows, repeatable })
    }

    /// At `(`: whether an old-style hint follows rather than arguments or columns.
    pub(super) fn at_old_style_hint(&self) -> bool {
        OLD_STYLE_HINTS.iter().any(|hint| self.spells_ahead(1, hint))
            && matches!(
                self.peek_kind(2),
                TokenKind::Symbol(b')' | b',' | b'(' | b'=') | TokenKind::Word | TokenKind::Keyword(_)
            )
    }

    /// `WITH ( hint, .. )`, or nothing.
    pub(super) fn table_hints_opt(&mut self) -> Parsed<Vec<TableHint>> {
        if !self.at(Keyword::With) || !self.symbol_ahead(1, b'(') {
            return Ok(Vec::new());
        }
        self.advance();
        self.paren_hints()
    }

    /// `( hint [,] .. )`
    pub(super) fn paren_hints(&mut self) -> Parsed<Vec<TableHint>> {
        self.expect_symbol(b'(')?;
        let mut hints = vec![self.table_hint()?];
        loop {
            if self.accept_symbol(b')') {
                return Ok(hints);
            }
            // The comma may be missing between hints.
            self.accept_symbol(b',');
            hints.push(self.table_hint()?);
        }
    }

    pub(super) fn table_hint(&mut self) -> Parsed<TableHint> {
        let name = match self.kind() {
            TokenKind::Keyword(Keyword::Holdlock | Keyword::Index) => self.ident_or_keyword()?,
            TokenKind::Word => self.ident()?,
            _ => return Err(self.unexpected()),
        };
        let mut hint = TableHint { name, args: Vec::new(), columns: Vec::new() };
        if self.at_symbol(b'=') && !HINTS_WITH_VALUES.iter().any(|word| hint.name.is(word)) {
            return Err(self.unexpected());
        }
        if self.accept_symbol(b'=') {
            hint.args.push(match self.at_symbol(b'(') {
                true => {
                    self.advance();
                    let value = self.value()?;
                    self.expect_symbol(b')')?;
                    value
                }
                false => self.value()?,
            });
        } else if self.accept_symbol(b'(') {
            self.hint_arguments(&mut hint)?;
            if hint.name.is("FORCESEEK") && hint.columns.is_empty() {
                return Err(self.unexpected());
            }
            self.expect_symbol(b')')?;
        } else if hint.name.is("INDEX") {
            return Err(self.unexpected());
        }
        Ok(hint)
    }

    /// `1, ix` of INDEX, `ix (a, b)` of FORCESEEK
    fn hint_arguments(&mut self, hint: &mut TableHint) -> Parsed<()> {
        loop {
            if self.at_ident() {
                let token = self.token();
                let column = self.column_ref()?;
                hint.args.push(Expr { span: self.span_of(token), kind: ExprKind::Column(column) });
            } else {
                hint.args.push(self.value()?);
            }
            if hint.name.is("FORCESEEK") && self.at_symbol(b'(') {
                hint.columns = self.ident_list()?;
                return Ok(());
            }
            if !self.accept_symbol(b',') {
                return Ok(());
            }
        }
    }
}

/// Moves the source out, leaving a placeholder that is overwritten at once.
fn take(source: &mut TableSource) -> TableSource {
    let span = crate::ast::Span::default();
    std::mem::replace(source, TableSource::Variable { name: String::new(), alias: None, span })
}
