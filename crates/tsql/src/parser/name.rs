//! Identifiers, object names, column references, data types.

use super::{Parsed, Parser};
use crate::ast::{ColumnRef, DataType, Ident, ObjectName, TypeArgument};
use crate::keywords::Keyword;
use crate::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// An identifier.
    pub(super) fn ident(&mut self) -> Parsed<Ident> {
        if !self.at_ident() {
            return Err(self.unexpected());
        }
        let token = self.advance();
        Ok(self.ident_of(token))
    }

    pub(super) fn ident_opt(&mut self) -> Option<Ident> {
        if !self.at_ident() {
            return None;
        }
        let token = self.advance();
        Some(self.ident_of(token))
    }

    /// An identifier or any keyword (where the grammar is unambiguous).
    pub(super) fn ident_or_keyword(&mut self) -> Parsed<Ident> {
        match self.kind() {
            TokenKind::Keyword(_) => {
                let token = self.advance();
                Ok(Ident::new(self.token_text(token)))
            }
            _ => self.ident(),
        }
    }

    /// An identifier or a string used as a name (`'x' = expr`, `AS 'x'`).
    pub(super) fn ident_or_string(&mut self) -> Parsed<Ident> {
        if self.at_string() {
            return Ok(Ident { value: self.expect_string()?, quoted: true });
        }
        self.ident()
    }

    /// `@x`
    pub(super) fn variable(&mut self) -> Parsed<String> {
        if self.kind() != TokenKind::Variable {
            return Err(self.unexpected());
        }
        let token = self.advance();
        Ok(self.token_text(token).to_string())
    }

    /// `(a, b)`
    pub(super) fn ident_list(&mut self) -> Parsed<Vec<Ident>> {
        self.paren_list(Self::ident)
    }

    pub(super) fn ident_list_opt(&mut self) -> Parsed<Vec<Ident>> {
        if self.at_symbol(b'(') { self.ident_list() } else { Ok(Vec::new()) }
    }

    /// A name of up to four parts, the inner ones possibly empty.
    pub(super) fn object_name(&mut self) -> Parsed<ObjectName> {
        let start = self.token();
        match self.short_name_opt() {
            Some((schema, name)) => {
                Ok(ObjectName { server: None, database: None, schema, name, span: self.span_from(start) })
            }
            None => {
                let parts = self.name_parts(4)?;
                self.name_from_parts(parts, start)
            }
        }
    }

    /// `x` or `x.y` with nothing more behind it, as nearly all names are; takes nothing otherwise.
    pub(super) fn short_name_opt(&mut self) -> Option<(Option<Ident>, Ident)> {
        if !self.at_ident() {
            return None;
        }
        let first = self.token();
        if !self.symbol_ahead(1, b'.') {
            self.advance();
            return Some((None, self.ident_of(first)));
        }
        if !self.ident_ahead(2) || self.symbol_ahead(3, b'.') {
            return None;
        }
        self.advance();
        self.advance();
        let second = self.advance();
        Some((Some(self.ident_of(first)), self.ident_of(second)))
    }

    /// Parts between dots; `None` for an empty one. At most `most` parts, error 117 beyond.
    pub(super) fn name_parts(&mut self, most: usize) -> Parsed<Vec<Option<Ident>>> {
        let start = self.token();
        let mut parts = Vec::with_capacity(2);
        loop {
            match self.ident_opt() {
                Some(ident) => parts.push(Some(ident)),
                None if self.at_symbol(b'.') => parts.push(None),
                None => return Err(self.unexpected()),
            }
            if parts.len() > most {
                return Err(self.error_at(117, start, self.raw_since(start)));
            }
            if !self.at_symbol(b'.') {
                return Ok(parts);
            }
            self.advance();
        }
    }

    /// Gives parts (at most four, the last present) their roles.
    pub(super) fn name_from_parts(
        &mut self,
        mut parts: Vec<Option<Ident>>,
        start: Token,
    ) -> Parsed<ObjectName> {
        let Some(Some(name)) = parts.pop() else { return Err(self.unexpected()) };
        let schema = parts.pop().flatten();
        let database = parts.pop().flatten();
        let server = parts.pop().flatten();
        Ok(ObjectName { server, database, schema, name, span: self.span_from(start) })
    }

    /// A column with up to four qualifiers.
    pub(super) fn column_ref(&mut self) -> Parsed<ColumnRef> {
        if let TokenKind::Keyword(Keyword::Identitycol | Keyword::Rowguidcol) = self.kind() {
            let token = self.advance();
            return Ok(ColumnRef { qualifier: None, name: Ident::new(self.token_text(token)) });
        }
        let start = self.token();
        if let Some((table, name)) = self.short_name_opt() {
            return Ok(ColumnRef { qualifier: table.map(|table| self.qualifier(table, start)), name });
        }
        let mut parts = self.name_parts(5)?;
        let Some(Some(name)) = parts.pop() else { return Err(self.unexpected()) };
        let qualifier = match parts.is_empty() {
            true => None,
            false => Some(Box::new(self.name_from_parts(parts, start)?)),
        };
        Ok(ColumnRef { qualifier, name })
    }

    /// A column's qualifier of one part, whose token is `start`.
    pub(super) fn qualifier(&self, table: Ident, start: Token) -> Box<ObjectName> {
        let span = self.span_of(start);
        Box::new(ObjectName { server: None, database: None, schema: None, name: table, span })
    }

    /// A principal's name, which may be `public` or in a string-like bracket.
    pub(super) fn principal(&mut self) -> Parsed<Ident> {
        if self.at(Keyword::Public) || self.at(Keyword::Null) {
            return self.ident_or_keyword();
        }
        self.ident()
    }

    /// A data type.
    pub(super) fn data_type(&mut self) -> Parsed<DataType> {
        let name = self.type_name()?;
        let mut data_type = DataType { name, args: Vec::new(), xml_schema: None, varying: false };
        if self.at_symbol(b'(') {
            if data_type.name.name.is("xml") {
                self.advance();
                data_type.xml_schema = Some(Box::new(self.xml_schema()?));
                self.expect_symbol(b')')?;
            } else {
                data_type.args = self.paren_list(Self::type_argument)?;
            }
        }
        self.trailing_varying(&mut data_type);
        Ok(data_type)
    }

    /// `char varying (10)` has its VARYING before the length; `cursor varying` behind.
    fn trailing_varying(&mut self, data_type: &mut DataType) {
        if self.at(Keyword::Varying) && data_type.name.name.is("cursor") {
            self.advance();
            data_type.varying = true;
        }
    }

    fn type_name(&mut self) -> Parsed<ObjectName> {
        let start = self.token();
        let folded = match start.kind {
            TokenKind::Keyword(Keyword::Cursor) => {
                self.advance();
                Some("cursor".to_string())
            }
            TokenKind::Keyword(Keyword::Double) => {
                self.advance();
                self.expect_word("PRECISION")?;
                Some("double precision".to_string())
            }
            TokenKind::Keyword(Keyword::National) => {
                self.advance();
                let base = self.ident()?;
                let varying = self.accept(Keyword::Varying);
                Some(format!("national {}{}", base.value, if varying { " varying" } else { "" }))
            }
            TokenKind::Word if self.at_ahead(1, Keyword::Varying) => {
                let base = self.ident()?;
                self.advance();
                Some(format!("{} varying", base.value))
            }
            _ => None,
        };
        match folded {
            Some(name) => Ok(ObjectName { span: self.span_from(start), ..ObjectName::simple(name) }),
            None => self.object_name(),
        }
    }

    fn type_argument(&mut self) -> Parsed<TypeArgument> {
        let token = self.token();
        match token.kind {
            TokenKind::Integer => {
                self.advance();
                Ok(TypeArgument::Number(self.token_text(token).parse().unwrap_or(u64::MAX)))
            }
            TokenKind::Word if self.at_word("MAX") => {
                self.advance();
                Ok(TypeArgument::Max)
            }
            TokenKind::Word => Ok(TypeArgument::Word(self.ident()?)),
            _ => Err(self.unexpected()),
        }
    }

    fn xml_schema(&mut self) -> Parsed<(Option<bool>, ObjectName)> {
        let document = match () {
            () if self.at_symbol_after_word("DOCUMENT") => Some(true),
            () if self.at_symbol_after_word("CONTENT") => Some(false),
            () => None,
        };
        if document.is_some() {
            self.advance();
        }
        Ok((document, self.object_name()?))
    }

    /// Whether the token is `word`, followed by a name.
    fn at_symbol_after_word(&self, word: &str) -> bool {
        self.at_word(word) && self.ident_ahead(1)
    }

    /// `COLLATE name`, if present.
    pub(super) fn collation_opt(&mut self) -> Parsed<Option<Ident>> {
        if self.accept(Keyword::Collate) { Ok(Some(self.ident()?)) } else { Ok(None) }
    }

    /// `NULL` (true) or `NOT NULL` (false), if present.
    pub(super) fn nullable_opt(&mut self) -> Parsed<Option<bool>> {
        if self.accept(Keyword::Null) {
            return Ok(Some(true));
        }
        if self.at(Keyword::Not) && self.at_ahead(1, Keyword::Null) {
            self.advance();
            self.advance();
            return Ok(Some(false));
        }
        Ok(None)
    }

    /// `ON` (true) or `OFF` (false).
    pub(super) fn on_off(&mut self) -> Parsed<bool> {
        if self.accept(Keyword::On) {
            return Ok(true);
        }
        self.expect(Keyword::Off)?;
        Ok(false)
    }

    /// `IF EXISTS`, if present.
    pub(super) fn if_exists(&mut self) -> Parsed<bool> {
        if !self.accept(Keyword::If) {
            return Ok(false);
        }
        self.expect(Keyword::Exists)?;
        Ok(true)
    }
}
