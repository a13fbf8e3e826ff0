//! SELECT: common table expressions, set operations, the clauses of one SELECT, hints.

use super::{CALL, Parsed, Parser, QUERY};
use crate::ast::{
    AssignOp, CommonTable, ForClause, GroupBy, GroupByWith, GroupingElement, Ident, NamedOption, Offset,
    OptionValue, OrderByItem, Query, QueryBody, Select, SelectInto, SelectItem, SelectStatement,
    SetOperation, SetOperator, Span, Top, Window, With, XmlMode,
};
use crate::keywords::Keyword;
use crate::lexer::{Token, TokenKind};

/// A query in parentheses as an operand: only one with an order keeps its own node.
fn operand(query: Query) -> QueryBody {
    let is_plain = query.order_by.is_empty() && query.offset.is_none() && query.for_clause.is_none();
    if is_plain { query.body } else { QueryBody::Ordered(Box::new(query)) }
}

/// Options of FOR XML and of FOR JSON, by their first words.
const XML_OPTIONS: [&str; 6] = ["BINARY", "TYPE", "ROOT", "ELEMENTS", "XMLDATA", "XMLSCHEMA"];
const JSON_OPTIONS: [&str; 3] = ["ROOT", "INCLUDE_NULL_VALUES", "WITHOUT_ARRAY_WRAPPER"];
/// The two of them that do not go together: 13620.
const JSON_ROOT_OR_BARE: [&str; 2] = ["ROOT", "WITHOUT_ARRAY_WRAPPER"];

impl Parser<'_> {
    /// `query [OPTION (..)]`, the WITH clause being parsed already.
    #[inline(never)]
    pub(super) fn select_statement(&mut self, with: Option<With>) -> Parsed<SelectStatement> {
        let mut query = self.query()?;
        let options = self.query_hints_opt()?;
        if !options.is_empty() && query.for_clause.is_none() {
            query.for_clause = self.for_clause_opt()?;
        }
        Ok(SelectStatement { with, query, options })
    }

    /// `WITH [XMLNAMESPACES (..),] name [(columns)] AS (query), ..`
    #[inline(never)]
    pub(super) fn with_clause(&mut self) -> Parsed<With> {
        self.expect(Keyword::With)?;
        let mut with = With::default();
        loop {
            if self.at_word("XMLNAMESPACES") && self.symbol_ahead(1, b'(') {
                self.advance();
                with.xml_namespaces = self.paren_list(Self::xml_namespace)?;
            } else if self.at_word("CHANGE_TRACKING_CONTEXT") && self.symbol_ahead(1, b'(') {
                self.advance();
                self.advance();
                with.change_tracking_context = Some(self.value()?);
                self.expect_symbol(b')')?;
            } else {
                with.tables.push(self.common_table()?);
            }
            if !self.accept_symbol(b',') {
                return Ok(with);
            }
        }
    }

    fn xml_namespace(&mut self) -> Parsed<(String, Option<Ident>)> {
        if self.accept(Keyword::Default) {
            return Ok((self.expect_string()?, None));
        }
        let uri = self.expect_string()?;
        self.expect(Keyword::As)?;
        Ok((uri, Some(self.ident()?)))
    }

    #[inline(never)]
    fn common_table(&mut self) -> Parsed<CommonTable> {
        let name = self.ident()?;
        let columns = self.ident_list_opt()?;
        self.expect(Keyword::As)?;
        self.expect_symbol(b'(')?;
        let query = self.nested(QUERY, |p| match p.at(Keyword::With) {
            true => Err(p.error_at(319, p.token(), p.near(p.token()))),
            false => p.subquery_expression(),
        })?;
        self.expect_symbol(b')')?;
        Ok(CommonTable { name, columns, query })
    }

    /// A query expression with ORDER BY, OFFSET and FOR.
    #[inline(never)]
    pub(super) fn query(&mut self) -> Parsed<Query> {
        let start = self.token();
        let body = self.query_body()?;
        self.query_tail(start, body)
    }

    /// A query of a subquery, derived table or common table expression.
    #[inline(never)]
    pub(super) fn subquery_expression(&mut self) -> Parsed<Query> {
        if self.in_output {
            return Err(self.error_at(10705, self.token(), String::new()));
        }
        self.must_have_rows(1046, self.token(), String::new());
        let outer = std::mem::replace(&mut self.in_subquery, true);
        let in_values = std::mem::take(&mut self.in_values);
        let query = self.query().and_then(|query| self.limited(query));
        self.in_subquery = outer;
        self.in_values = in_values;
        query
    }

    /// ORDER BY of a query whose rows another query uses is allowed only with TOP, OFFSET or FOR: else 1033.
    pub(super) fn limited(&self, query: Query) -> Parsed<Query> {
        let has_top = matches!(&query.body, QueryBody::Select(select) if select.top.is_some());
        let has_meaning = has_top || query.offset.is_some() || query.for_clause.is_some();
        if query.order_by.is_empty() || has_meaning {
            return Ok(query);
        }
        Err(self.error_at(1033, self.token(), String::new()))
    }

    /// Continues behind a query in parentheses that is the first of several.
    pub(super) fn query_after(&mut self, start: Token, first: Query) -> Parsed<Query> {
        let outer = std::mem::replace(&mut self.in_subquery, true);
        let query = self.set_operations(operand(first)).and_then(|body| self.query_tail(start, body));
        self.in_subquery = outer;
        query
    }

    #[inline(never)]
    fn query_tail(&mut self, start: Token, body: QueryBody) -> Parsed<Query> {
        let order_by = match self.order_read.take() {
            Some(order_by) => order_by,
            None => self.order_by_opt()?,
        };
        let offset = if self.at_word("OFFSET") { Some(Box::new(self.offset()?)) } else { None };
        let for_clause = self.for_clause_opt()?;
        Ok(Query { span: self.span_from(start), body, order_by, offset, for_clause })
    }

    pub(super) fn at_set_operator(&self) -> bool {
        matches!(self.kind(), TokenKind::Keyword(Keyword::Union | Keyword::Except | Keyword::Intersect))
    }

    #[inline(never)]
    fn query_body(&mut self) -> Parsed<QueryBody> {
        let first = self.query_term()?;
        self.set_operations(first)
    }

    /// `first [op term]..`; INTERSECT binds tighter than UNION and EXCEPT. `first` still lacks its own INTERSECTs.
    #[inline(never)]
    fn set_operations(&mut self, first: QueryBody) -> Parsed<QueryBody> {
        let first = self.ordered_first(first)?;
        let first = self.intersections(first)?;
        let mut rest = Vec::new();
        loop {
            let operator = match self.kind() {
                TokenKind::Keyword(Keyword::Union) => SetOperator::Union,
                TokenKind::Keyword(Keyword::Except) => SetOperator::Except,
                _ => break,
            };
            self.advance();
            let all = operator == SetOperator::Union && self.accept(Keyword::All);
            let term = self.ordered_term()?;
            let operand = self.intersections(term)?;
            rest.push((if all { SetOperator::UnionAll } else { operator }, operand));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(QueryBody::SetOperation(Box::new(SetOperation { first, rest })))
    }

    #[inline(never)]
    fn intersections(&mut self, first: QueryBody) -> Parsed<QueryBody> {
        let mut rest = Vec::new();
        while self.accept(Keyword::Intersect) {
            rest.push((SetOperator::Intersect, self.ordered_term()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(QueryBody::SetOperation(Box::new(SetOperation { first, rest })))
    }

    /// May the SELECT that has just been read have an order of its own? In a subquery, with TOP.
    fn at_order_of_branch(&self, term: &QueryBody) -> bool {
        self.in_subquery
            && self.at(Keyword::Order)
            && matches!(term, QueryBody::Select(select) if select.top.is_some())
    }

    /// The first SELECT of a chain: ORDER BY behind it is its own if a set operator follows, and else that of the whole query.
    fn ordered_first(&mut self, first: QueryBody) -> Parsed<QueryBody> {
        if !self.at_order_of_branch(&first) {
            return Ok(first);
        }
        let start = self.token();
        let order_by = self.order_by_opt()?;
        if self.at_set_operator() {
            return Ok(self.ordered(start, first, order_by));
        }
        self.order_read = Some(order_by);
        Ok(first)
    }

    /// A later SELECT of a chain: ORDER BY behind it is its own, unless OFFSET makes it that of the whole query.
    fn ordered_term(&mut self) -> Parsed<QueryBody> {
        let term = self.query_term()?;
        if !self.at_order_of_branch(&term) {
            return Ok(term);
        }
        let start = self.token();
        let order_by = self.order_by_opt()?;
        if self.at_word("OFFSET") {
            self.order_read = Some(order_by);
            return Ok(term);
        }
        Ok(self.ordered(start, term, order_by))
    }

    fn ordered(&self, start: Token, body: QueryBody, order_by: Vec<OrderByItem>) -> QueryBody {
        let span = self.span_from(start);
        QueryBody::Ordered(Box::new(Query { span, body, order_by, offset: None, for_clause: None }))
    }

    /// One SELECT or a query expression in parentheses.
    #[inline(never)]
    fn query_term(&mut self) -> Parsed<QueryBody> {
        if !self.at_symbol(b'(') {
            let mut select = empty_select();
            self.select(&mut select)?;
            return Ok(QueryBody::Select(select));
        }
        self.nested(QUERY, |p| {
            p.advance();
            let start = p.token();
            let body = p.query_body()?;
            let body = if p.in_subquery {
                p.query_tail(start, body).and_then(|query| p.limited(query)).map(operand)?
            } else {
                body
            };
            p.expect_symbol(b')')?;
            Ok(body)
        })
    }

    #[inline(never)]
    fn select(&mut self, select: &mut Select) -> Parsed<()> {
        let start = self.token();
        self.expect(Keyword::Select)?;
        select.quantifier = self.quantifier_opt();
        if self.at(Keyword::Top) {
            select.top = self.top_opt()?;
        }
        select.items = self.comma_list(Self::select_item)?;
        if self.accept(Keyword::Into) {
            select.into = Some(self.select_into()?);
        }
        if self.accept(Keyword::From) {
            select.from = self.comma_list(Self::table_source)?;
        }
        if self.accept(Keyword::Where) {
            select.where_clause = Some(self.condition()?);
        }
        if self.at(Keyword::Group) {
            select.group_by = Some(self.group_by()?);
        }
        if self.accept(Keyword::Having) {
            select.having = Some(self.condition()?);
        }
        if self.at_word("WINDOW") && self.ident_ahead(1) && self.at_ahead(2, Keyword::As) {
            select.windows = self.named_windows()?;
        }
        select.span = self.span_from(start);
        Ok(())
    }

    #[inline(never)]
    fn select_into(&mut self) -> Parsed<SelectInto> {
        let table = self.object_name()?;
        let filegroup = if self.accept(Keyword::On) { Some(self.ident()?) } else { None };
        Ok(SelectInto { table, filegroup })
    }

    /// `WINDOW name AS (..), ..`
    #[inline(never)]
    fn named_windows(&mut self) -> Parsed<Vec<(Ident, Window)>> {
        self.advance();
        self.comma_list(|p| {
            let name = p.ident()?;
            p.expect(Keyword::As)?;
            Ok((name, p.window()?))
        })
    }

    /// TOP of INSERT, UPDATE, DELETE and MERGE: its count stands in parentheses, and without an order nothing ties.
    pub(super) fn top_of_change_opt(&mut self) -> Parsed<Option<Top>> {
        if self.at(Keyword::Top) && !self.symbol_ahead(1, b'(') {
            self.advance();
            return Err(self.unexpected());
        }
        let top = self.top_opt()?;
        if top.as_ref().is_some_and(|top| top.with_ties) {
            return Err(self.unexpected_at(self.position - 2));
        }
        Ok(top)
    }

    /// `TOP n`, `TOP (expr) [PERCENT] [WITH TIES]`, if present.
    #[inline(never)]
    pub(super) fn top_opt(&mut self) -> Parsed<Option<Top>> {
        if !self.accept(Keyword::Top) {
            return Ok(None);
        }
        let count = if self.at_symbol(b'(') {
            if self.at_ahead(1, Keyword::Select) {
                self.subquery()?
            } else {
                self.advance();
                let count = self.nested_value()?;
                self.expect_symbol(b')')?;
                count
            }
        } else {
            self.signed_constant()?
        };
        let percent = self.accept(Keyword::Percent);
        let with_ties = self.at(Keyword::With) && self.word_ahead(1, "TIES");
        if with_ties {
            self.advance();
            self.advance();
        }
        Ok(Some(Top { count, percent, with_ties }))
    }

    #[inline(never)]
    pub(super) fn select_item(&mut self) -> Parsed<SelectItem> {
        let start = self.token();
        match start.kind {
            TokenKind::Symbol(b'*') => {
                self.advance();
                return Ok(SelectItem::Star(self.span_of(start)));
            }
            TokenKind::Variable => {
                if let Some(length) = self.assign_operator_at(1) {
                    return self.assign_item(length);
                }
            }
            TokenKind::Word | TokenKind::Bracketed | TokenKind::Quoted => {
                if self.symbol_ahead(1, b'=') {
                    return self.aliased_before();
                }
                if self.at_qualified_star() {
                    return self.qualified_star();
                }
            }
            TokenKind::String | TokenKind::NString if self.symbol_ahead(1, b'=') => {
                return self.aliased_before();
            }
            _ => {}
        }
        let expr = self.value()?;
        let alias = self.item_alias_opt()?;
        Ok(SelectItem::Expr { expr, alias })
    }

    /// `alias = expr`
    #[inline(never)]
    fn aliased_before(&mut self) -> Parsed<SelectItem> {
        let alias = Some(self.ident_or_string()?);
        self.advance();
        Ok(SelectItem::Expr { expr: self.value()?, alias })
    }

    #[inline(never)]
    fn assign_item(&mut self, length: usize) -> Parsed<SelectItem> {
        let variable = self.variable()?;
        let op = self.assign_operator(length);
        Ok(SelectItem::Assign { variable, op, expr: self.value()? })
    }

    /// Number of tokens of the assignment operator at `ahead`.
    pub(super) fn assign_operator_at(&self, ahead: usize) -> Option<usize> {
        let equals = |offset| self.symbol_ahead(ahead + offset, b'=');
        match self.peek_kind(ahead) {
            TokenKind::Symbol(b'=') => Some(1),
            TokenKind::Symbol(b'|') if self.symbol_ahead(ahead + 1, b'|') && equals(2) => Some(3),
            TokenKind::Symbol(b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^') if equals(1) => Some(2),
            _ => None,
        }
    }

    /// Takes the operator that `assign_operator_at(0)` found.
    pub(super) fn assign_operator(&mut self, length: usize) -> AssignOp {
        let first = self.kind();
        for _ in 0..length {
            self.advance();
        }
        match (first, length) {
            (TokenKind::Symbol(b'|'), 3) => AssignOp::Concat,
            (TokenKind::Symbol(b'+'), _) => AssignOp::Add,
            (TokenKind::Symbol(b'-'), _) => AssignOp::Subtract,
            (TokenKind::Symbol(b'*'), _) => AssignOp::Multiply,
            (TokenKind::Symbol(b'/'), _) => AssignOp::Divide,
            (TokenKind::Symbol(b'%'), _) => AssignOp::Modulo,
            (TokenKind::Symbol(b'&'), _) => AssignOp::BitAnd,
            (TokenKind::Symbol(b'|'), _) => AssignOp::BitOr,
            (TokenKind::Symbol(b'^'), _) => AssignOp::BitXor,
            _ => AssignOp::Set,
        }
    }

    /// Takes the assignment operator that must be here.
    pub(super) fn expect_assign(&mut self) -> Parsed<AssignOp> {
        match self.assign_operator_at(0) {
            Some(length) => Ok(self.assign_operator(length)),
            None => Err(self.unexpected()),
        }
    }

    /// Whether `a.b.*` is here.
    fn at_qualified_star(&self) -> bool {
        let mut ahead = 1;
        while self.symbol_ahead(ahead, b'.') {
            match self.peek_kind(ahead + 1) {
                TokenKind::Symbol(b'*') => return true,
                TokenKind::Word | TokenKind::Bracketed | TokenKind::Quoted => ahead += 2,
                TokenKind::Symbol(b'.') => ahead += 1,
                _ => return false,
            }
        }
        false
    }

    #[inline(never)]
    fn qualified_star(&mut self) -> Parsed<SelectItem> {
        let start = self.token();
        let mut parts = Vec::with_capacity(1);
        while !self.at_symbol(b'*') {
            parts.push(self.ident_opt());
            self.expect_symbol(b'.')?;
        }
        if parts.len() > 4 {
            return Err(self.error_at(117, start, self.raw_since(start)));
        }
        let name = self.name_from_parts(parts, start)?;
        self.advance();
        Ok(SelectItem::QualifiedStar(name))
    }

    /// `[AS] alias` behind an item of a select list.
    fn item_alias_opt(&mut self) -> Parsed<Option<Ident>> {
        if self.accept(Keyword::As) {
            return Ok(Some(self.ident_or_string()?));
        }
        match self.kind() {
            TokenKind::String | TokenKind::NString => Ok(Some(self.ident_or_string()?)),
            _ if self.at_label() => Ok(None),
            _ => Ok(self.ident_opt()),
        }
    }

    /// Whether `word:` is here.
    pub(super) fn at_label(&self) -> bool {
        self.at_ident() && self.symbol_ahead(1, b':') && !self.symbol_ahead(2, b':')
    }

    #[inline(never)]
    fn group_by(&mut self) -> Parsed<GroupBy> {
        let start = self.token();
        self.advance();
        self.expect(Keyword::By)?;
        let all = self.accept(Keyword::All);
        let items = self.comma_list(Self::grouping_element)?;
        let with = match () {
            () if self.accept_words(&["WITH", "CUBE"]) => Some(GroupByWith::Cube),
            () if self.accept_words(&["WITH", "ROLLUP"]) => Some(GroupByWith::Rollup),
            () => None,
        };
        Ok(GroupBy { all, items, with, span: self.span_from(start) })
    }

    #[inline(never)]
    fn grouping_element(&mut self) -> Parsed<GroupingElement> {
        if self.at_word("ROLLUP") && self.symbol_ahead(1, b'(') {
            self.advance();
            return Ok(GroupingElement::Rollup(self.grouping_elements()?));
        }
        if self.at_word("CUBE") && self.symbol_ahead(1, b'(') {
            self.advance();
            return Ok(GroupingElement::Cube(self.grouping_elements()?));
        }
        if self.at_word("GROUPING") && self.word_ahead(1, "SETS") {
            self.advance();
            self.advance();
            return Ok(GroupingElement::Sets(self.grouping_elements()?));
        }
        if self.at_symbol(b'(') && self.symbol_ahead(1, b')') {
            self.advance();
            self.advance();
            return Ok(GroupingElement::Group(Vec::new()));
        }
        if self.at_column_group() {
            return Ok(GroupingElement::Group(self.paren_list(Self::value)?));
        }
        Ok(GroupingElement::Expr(self.value()?))
    }

    /// Whether the parenthesis here holds a comma at its own level: a group, not an expression.
    fn at_column_group(&self) -> bool {
        if !self.at_symbol(b'(') {
            return false;
        }
        let mut depth = 0u32;
        for ahead in 0.. {
            match self.peek_kind(ahead) {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') if depth == 1 => return false,
                TokenKind::Symbol(b')') => depth -= 1,
                TokenKind::Symbol(b',') if depth == 1 => return true,
                TokenKind::End => return false,
                _ => {}
            }
        }
        false
    }

    fn grouping_elements(&mut self) -> Parsed<Vec<GroupingElement>> {
        self.nested(CALL, |p| p.paren_list(Self::grouping_element))
    }

    /// `ORDER BY ..`, or nothing.
    #[inline(never)]
    pub(super) fn order_by_opt(&mut self) -> Parsed<Vec<OrderByItem>> {
        if !self.accept(Keyword::Order) {
            return Ok(Vec::new());
        }
        self.expect(Keyword::By)?;
        self.comma_list(|p| {
            let expr = p.value()?;
            Ok(OrderByItem { expr, descending: p.direction_opt() })
        })
    }

    /// `ASC` (false) or `DESC` (true), if present.
    pub(super) fn direction_opt(&mut self) -> Option<bool> {
        if self.accept(Keyword::Asc) {
            Some(false)
        } else if self.accept(Keyword::Desc) {
            Some(true)
        } else {
            None
        }
    }

    #[inline(never)]
    fn offset(&mut self) -> Parsed<Offset> {
        self.advance();
        let skip = self.value()?;
        self.row_word()?;
        let mut offset = Offset { skip, fetch: None, approximate: false };
        let fetch_follows = self.at(Keyword::Fetch)
            && (self.word_ahead(1, "NEXT")
                || self.word_ahead(1, "FIRST")
                || self.word_ahead(1, "APPROXIMATE"))
            && !self.at_ahead(2, Keyword::From);
        if fetch_follows {
            self.advance();
            offset.approximate = self.accept_word("APPROXIMATE");
            if !self.accept_word("NEXT") {
                self.expect_word("FIRST")?;
            }
            offset.fetch = Some(self.value()?);
            self.row_word()?;
            self.expect_word("ONLY")?;
        }
        Ok(offset)
    }

    fn row_word(&mut self) -> Parsed<()> {
        if self.accept_word("ROWS") || self.accept_word("ROW") { Ok(()) } else { Err(self.unexpected()) }
    }

    #[inline(never)]
    fn for_clause_opt(&mut self) -> Parsed<Option<Box<ForClause>>> {
        if !self.at(Keyword::For) {
            return Ok(None);
        }
        let clause = if self.at_ahead(1, Keyword::Browse) {
            self.advance();
            self.advance();
            ForClause::Browse
        } else if self.word_ahead(1, "XML") {
            self.advance();
            self.advance();
            let mode = self.xml_mode()?;
            ForClause::Xml(mode, self.for_options(&XML_OPTIONS)?)
        } else if self.word_ahead(1, "JSON") {
            self.advance();
            self.advance();
            let path = self.accept_word("PATH");
            if !path {
                self.expect_word("AUTO")?;
            }
            let options = self.for_options(&JSON_OPTIONS)?;
            if JSON_ROOT_OR_BARE.iter().all(|word| options.iter().any(|option| option.name.is(word))) {
                return Err(self.error_at(13620, self.token(), String::new()));
            }
            ForClause::Json(path, options)
        } else {
            return Ok(None);
        };
        Ok(Some(Box::new(clause)))
    }

    fn xml_mode(&mut self) -> Parsed<XmlMode> {
        if self.accept_word("RAW") {
            return Ok(XmlMode::Raw(self.paren_string_opt()?));
        }
        if self.accept_word("PATH") {
            return Ok(XmlMode::Path(self.paren_string_opt()?));
        }
        if self.accept_word("AUTO") {
            return Ok(XmlMode::Auto);
        }
        self.expect_word("EXPLICIT")?;
        Ok(XmlMode::Explicit)
    }

    fn paren_string_opt(&mut self) -> Parsed<Option<String>> {
        if !self.accept_symbol(b'(') {
            return Ok(None);
        }
        let text = self.expect_string()?;
        self.expect_symbol(b')')?;
        Ok(Some(text))
    }

    /// `, ROOT ('x'), TYPE, ELEMENTS XSINIL`; a word that is not `known` is no option.
    fn for_options(&mut self, known: &[&str]) -> Parsed<Vec<NamedOption>> {
        let mut options = Vec::new();
        while self.accept_symbol(b',') {
            if !known.iter().any(|word| self.at_word(word)) {
                return Err(self.unexpected());
            }
            let mut name = self.ident()?;
            for second in ["XSINIL", "ABSENT", "BASE64"] {
                if self.at_word(second) {
                    let token = self.advance();
                    name.value = format!("{} {}", name.value, self.token_text(token));
                }
            }
            let value = if self.at_symbol(b'(') {
                Some(OptionValue::Ranges(self.paren_list(Self::range)?))
            } else {
                None
            };
            options.push(NamedOption { name, value });
        }
        Ok(options)
    }
}

/// A SELECT without anything, on the heap from the start: it is large and SELECTs nest.
#[inline(never)]
fn empty_select() -> Box<Select> {
    Box::new(Select {
        span: Span::default(),
        quantifier: None,
        top: None,
        items: Vec::new(),
        into: None,
        from: Vec::new(),
        where_clause: None,
        group_by: None,
        having: None,
        windows: Vec::new(),
    })
}
