//! The parts of a table definition: columns, constraints, inline indexes.

use super::{CALL, Parsed, Parser, QUERY};
use crate::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDefinition, Computed, CreateIndexColumn, Expr, Generated,
    Ident, Identity, InlineIndex, KeyConstraint, NamedOption, OptionValue, References, ReferentialAction,
    Storage, TableConstraint, TableConstraintKind, TableElement,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `( element, .. )`; a trailing comma is allowed, as in SQL Server.
    pub(super) fn table_elements(&mut self) -> Parsed<Vec<TableElement>> {
        self.expect_symbol(b'(')?;
        let mut elements = vec![self.new_table_element()?];
        while !self.accept_symbol(b')') {
            // The comma before a constraint may be missing.
            let comma = self.accept_symbol(b',');
            if comma && self.accept_symbol(b')') {
                break;
            }
            if !comma && !self.at_table_constraint() {
                return Err(self.unexpected());
            }
            elements.push(self.new_table_element()?);
        }
        Ok(elements)
    }

    /// An element of a table that is being made: its defaults belong to its columns (142).
    fn new_table_element(&mut self) -> Parsed<TableElement> {
        let start = self.token();
        let element = self.table_element()?;
        match &element {
            TableElement::Constraint(constraint)
                if matches!(constraint.kind, TableConstraintKind::Default { .. }) =>
            {
                Err(Box::new(self.error_at(142, start, "TABLE".to_string()).with_state(2)))
            }
            _ => Ok(element),
        }
    }

    /// The elements of a type, a variable or a function's table: their constraints have no names (156).
    pub(super) fn nameless_elements(&mut self) -> Parsed<Vec<TableElement>> {
        let start = self.position;
        let elements = self.table_elements()?;
        let is_named = |at: &usize| self.tokens[*at].kind == TokenKind::Keyword(Keyword::Constraint);
        match (start..self.position).find(is_named) {
            Some(at) => Err(self.unexpected_at(at)),
            None => Ok(elements),
        }
    }

    pub(super) fn at_table_constraint(&self) -> bool {
        matches!(
            self.kind(),
            TokenKind::Keyword(
                Keyword::Constraint | Keyword::Primary | Keyword::Unique | Keyword::Foreign | Keyword::Check
            )
        )
    }

    /// A column, constraint, index or period.
    pub(super) fn table_element(&mut self) -> Parsed<TableElement> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Index) => Ok(TableElement::Index(self.inline_index(false)?)),
            TokenKind::Keyword(Keyword::Default) => Ok(TableElement::Constraint(self.table_constraint()?)),
            TokenKind::Keyword(_) if self.at_table_constraint() => {
                Ok(TableElement::Constraint(self.table_constraint()?))
            }
            TokenKind::Word if self.at_word("PERIOD") && self.at_ahead(1, Keyword::For) => {
                self.advance();
                self.advance();
                self.expect_word("SYSTEM_TIME")?;
                self.expect_symbol(b'(')?;
                let from = self.ident()?;
                self.expect_symbol(b',')?;
                let to = self.ident()?;
                self.expect_symbol(b')')?;
                Ok(TableElement::Period(from, to))
            }
            TokenKind::Word if self.at_word("CONNECTION") && self.symbol_ahead(1, b'(') => {
                Ok(TableElement::Constraint(self.table_constraint()?))
            }
            _ => Ok(TableElement::Column(self.column_definition()?)),
        }
    }

    fn column_definition(&mut self) -> Parsed<ColumnDefinition> {
        let start = self.token();
        let name = self.ident()?;
        let mut column = ColumnDefinition {
            name,
            data_type: None,
            computed: None,
            collation: None,
            nullable: None,
            is_nullable_said_again: false,
            identity: None,
            is_rowguidcol: false,
            is_sparse: false,
            is_filestream: false,
            is_hidden: false,
            is_column_set: false,
            generated: None,
            masked: None,
            encrypted: Vec::new(),
            constraints: Vec::new(),
            index: None,
            span: self.span_of(start),
        };
        if self.accept(Keyword::As) {
            let expr = self.value()?;
            let persisted = self.accept_word("PERSISTED");
            column.computed = Some(Computed { expr, persisted });
        } else if !self.at_untyped_column(&column.name) {
            column.data_type = Some(self.data_type()?);
        }
        while self.column_property(&mut column)? {}
        column.span = self.span_from(start);
        Ok(column)
    }

    /// `timestamp` alone is both name and type.
    fn at_untyped_column(&self, name: &Ident) -> bool {
        name.is("timestamp") && !self.at_ident()
    }

    /// One property behind a column's type; false when none follows.
    fn column_property(&mut self, column: &mut ColumnDefinition) -> Parsed<bool> {
        match self.kind() {
            TokenKind::Keyword(_) if self.at_misplaced_property(column) => return Err(self.unexpected()),
            TokenKind::Keyword(Keyword::Collate) => column.collation = self.collation_opt()?,
            TokenKind::Keyword(Keyword::Null) => self.column_nullable(column)?,
            TokenKind::Keyword(Keyword::Not) => {
                if let (true, Some(identity)) = (self.at_ahead(1, Keyword::For), &mut column.identity) {
                    if identity.not_for_replication {
                        return Err(self.unexpected());
                    }
                    self.not_for_replication()?;
                    identity.not_for_replication = true;
                } else if self.at_ahead(1, Keyword::Null) {
                    self.column_nullable(column)?;
                } else {
                    self.advance();
                    return Err(self.unexpected());
                }
            }
            TokenKind::Keyword(Keyword::Identity) => column.identity = Some(self.identity()?),
            TokenKind::Keyword(Keyword::Rowguidcol) => {
                self.advance();
                column.is_rowguidcol = true;
            }
            TokenKind::Keyword(Keyword::Index) => column.index = Some(self.inline_index(true)?),
            TokenKind::Keyword(
                Keyword::Constraint
                | Keyword::Default
                | Keyword::Check
                | Keyword::Primary
                | Keyword::Unique
                | Keyword::Foreign
                | Keyword::References,
            ) => {
                if self.at_separate_constraint() {
                    return Ok(false);
                }
                column.constraints.push(self.column_constraint()?);
            }
            TokenKind::Word => return self.column_word(column),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A property that the column has already, or that a computed column does not have.
    fn at_misplaced_property(&self, column: &ColumnDefinition) -> bool {
        let is_computed = column.computed.is_some();
        match self.kind() {
            TokenKind::Keyword(Keyword::Collate) => column.collation.is_some(),
            TokenKind::Keyword(Keyword::Identity) => is_computed || column.identity.is_some(),
            TokenKind::Keyword(Keyword::Rowguidcol) => is_computed || column.is_rowguidcol,
            TokenKind::Keyword(Keyword::Index) => column.index.is_some(),
            TokenKind::Keyword(Keyword::Null | Keyword::Default) => is_computed,
            _ => false,
        }
    }

    fn column_nullable(&mut self, column: &mut ColumnDefinition) -> Parsed<()> {
        column.is_nullable_said_again = column.nullable.is_some();
        column.nullable = self.nullable_opt()?;
        Ok(())
    }

    /// A table constraint behind a column without a comma: its key lists columns, or it is a foreign key.
    fn at_separate_constraint(&self) -> bool {
        let mut ahead = if self.at(Keyword::Constraint) { 2 } else { 0 };
        if self.at_ahead(ahead, Keyword::Foreign) {
            // `FOREIGN KEY REFERENCES` belongs to the column.
            return self.symbol_ahead(ahead + 2, b'(');
        }
        if self.at_ahead(ahead, Keyword::Primary) {
            ahead += 2;
        } else if self.at_ahead(ahead, Keyword::Unique) {
            ahead += 1;
        } else {
            return false;
        }
        if self.at_ahead(ahead, Keyword::Clustered) || self.at_ahead(ahead, Keyword::Nonclustered) {
            ahead += 1;
        }
        if self.word_ahead(ahead, "HASH") {
            ahead += 1;
        }
        self.symbol_ahead(ahead, b'(')
    }

    /// Properties of columns that start with an ordinary word.
    fn column_word(&mut self, column: &mut ColumnDefinition) -> Parsed<bool> {
        if !column.is_sparse && self.accept_word("SPARSE") {
            column.is_sparse = true;
        } else if self.accept_word("FILESTREAM") {
            column.is_filestream = true;
        } else if self.accept_word("HIDDEN") {
            column.is_hidden = true;
        } else if self.accept_word("PERSISTED") {
            match &mut column.computed {
                Some(computed) if !computed.persisted => computed.persisted = true,
                _ => return Err(self.unexpected_at(self.position - 1)),
            }
        } else if self.accept_word("COLUMN_SET") {
            self.expect(Keyword::For)?;
            self.expect_word("ALL_SPARSE_COLUMNS")?;
            column.is_column_set = true;
        } else if self.accept_word("GENERATED") {
            self.expect_word("ALWAYS")?;
            self.expect(Keyword::As)?;
            let what = self.ident()?;
            let start = self.accept_word("START");
            if !start {
                self.expect(Keyword::End)?;
            }
            column.generated = Some(Generated { what, start });
        } else if self.accept_word("MASKED") {
            column.masked = Some(self.mask_function()?);
        } else if self.accept_word("ENCRYPTED") {
            self.expect(Keyword::With)?;
            column.encrypted = self.option_list()?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `WITH (FUNCTION = '..')`
    pub(super) fn mask_function(&mut self) -> Parsed<String> {
        self.expect(Keyword::With)?;
        self.expect_symbol(b'(')?;
        self.expect(Keyword::Function)?;
        self.expect_symbol(b'=')?;
        let function = self.expect_string()?;
        self.expect_symbol(b')')?;
        Ok(function)
    }

    fn identity(&mut self) -> Parsed<Identity> {
        self.advance();
        let mut identity = Identity { seed: None, increment: None, not_for_replication: false };
        if self.accept_symbol(b'(') {
            // Both numbers or none.
            identity.seed = Some(self.signed_constant()?);
            self.expect_symbol(b',')?;
            identity.increment = Some(self.signed_constant()?);
            self.expect_symbol(b')')?;
        }
        if self.at(Keyword::Not) && self.at_ahead(1, Keyword::For) {
            self.not_for_replication()?;
            identity.not_for_replication = true;
        }
        Ok(identity)
    }

    /// `NOT FOR REPLICATION`, which must be here.
    pub(super) fn not_for_replication(&mut self) -> Parsed<()> {
        self.expect(Keyword::Not)?;
        self.expect(Keyword::For)?;
        self.expect(Keyword::Replication)
    }

    pub(super) fn not_for_replication_opt(&mut self) -> Parsed<bool> {
        if !self.at(Keyword::Not) || !self.at_ahead(1, Keyword::For) {
            return Ok(false);
        }
        self.not_for_replication()?;
        Ok(true)
    }

    fn constraint_name_opt(&mut self) -> Parsed<Option<Ident>> {
        if self.accept(Keyword::Constraint) { Ok(Some(self.ident()?)) } else { Ok(None) }
    }

    fn column_constraint(&mut self) -> Parsed<ColumnConstraint> {
        let start = self.token();
        let name = self.constraint_name_opt()?;
        let kind = match self.kind() {
            TokenKind::Keyword(Keyword::Default) => {
                let (value, with_values) = self.default_value()?;
                ColumnConstraintKind::Default { value, with_values }
            }
            TokenKind::Keyword(Keyword::Check) => {
                let (condition, not_for_replication) = self.check()?;
                ColumnConstraintKind::Check { condition, not_for_replication }
            }
            TokenKind::Keyword(Keyword::Primary | Keyword::Unique) => {
                ColumnConstraintKind::Key(self.key_constraint()?)
            }
            TokenKind::Keyword(Keyword::Foreign | Keyword::References) => {
                if self.accept(Keyword::Foreign) {
                    self.expect(Keyword::Key)?;
                }
                ColumnConstraintKind::References(Box::new(self.references()?))
            }
            _ => return Err(self.unexpected()),
        };
        Ok(ColumnConstraint { name, kind, span: self.span_from(start) })
    }

    pub(super) fn table_constraint(&mut self) -> Parsed<TableConstraint> {
        let start = self.token();
        let name = self.constraint_name_opt()?;
        let kind = match self.kind() {
            TokenKind::Keyword(Keyword::Primary | Keyword::Unique) => {
                TableConstraintKind::Key(self.key_constraint()?)
            }
            TokenKind::Keyword(Keyword::Foreign) => {
                self.advance();
                self.expect(Keyword::Key)?;
                let columns = self.ident_list()?;
                TableConstraintKind::ForeignKey { columns, references: Box::new(self.references()?) }
            }
            TokenKind::Keyword(Keyword::Check) => {
                let (condition, not_for_replication) = self.check()?;
                TableConstraintKind::Check { condition, not_for_replication }
            }
            TokenKind::Keyword(Keyword::Default) => {
                let (value, mut with_values) = self.default_value()?;
                self.expect(Keyword::For)?;
                let column = self.ident()?;
                with_values |= self.accept_words(&["WITH", "VALUES"]);
                TableConstraintKind::Default { value, column, with_values }
            }
            TokenKind::Word if self.at_word("CONNECTION") => {
                self.advance();
                let pairs = self.paren_list(|p| {
                    let from = p.object_name()?;
                    p.expect(Keyword::To)?;
                    Ok((from, p.object_name()?))
                })?;
                let on_delete = if self.accept_words(&["ON", "DELETE"]) {
                    Some(self.referential_action()?)
                } else {
                    None
                };
                TableConstraintKind::Connection(pairs, on_delete)
            }
            _ => return Err(self.unexpected()),
        };
        Ok(TableConstraint { name, kind, span: self.span_from(start) })
    }

    /// `DEFAULT value [WITH VALUES]`
    fn default_value(&mut self) -> Parsed<(Expr, bool)> {
        self.expect(Keyword::Default)?;
        let value = self.value_without_rows()?;
        let with_values = self.accept_words(&["WITH", "VALUES"]);
        Ok((value, with_values))
    }

    /// `CHECK [NOT FOR REPLICATION] (condition)`
    fn check(&mut self) -> Parsed<(Expr, bool)> {
        self.expect(Keyword::Check)?;
        let not_for_replication = self.not_for_replication_opt()?;
        self.expect_symbol(b'(')?;
        let condition = self.nested(QUERY, Self::condition)?;
        self.expect_symbol(b')')?;
        Ok((condition, not_for_replication))
    }

    /// PRIMARY KEY or UNIQUE.
    fn key_constraint(&mut self) -> Parsed<KeyConstraint> {
        let primary = self.accept(Keyword::Primary);
        if primary {
            self.expect(Keyword::Key)?;
        } else {
            self.expect(Keyword::Unique)?;
        }
        let clustered = self.clustered_opt();
        let hash = self.accept_word("HASH");
        let columns = if self.at_symbol(b'(') { self.index_columns()? } else { Vec::new() };
        let not_enforced = self.accept_words(&["NOT", "ENFORCED"]);
        let options = self.index_options_opt()?;
        let on = self.storage_opt()?;
        Ok(KeyConstraint { primary, clustered, hash, columns, options, on, not_enforced })
    }

    /// CLUSTERED (true) or NONCLUSTERED (false), if present.
    pub(super) fn clustered_opt(&mut self) -> Option<bool> {
        if self.accept(Keyword::Clustered) {
            Some(true)
        } else if self.accept(Keyword::Nonclustered) {
            Some(false)
        } else {
            None
        }
    }

    /// `(a ASC, b DESC)`
    pub(super) fn index_columns(&mut self) -> Parsed<Vec<CreateIndexColumn>> {
        self.paren_list(|p| {
            let name = p.ident_or_column_keyword()?;
            Ok(CreateIndexColumn { name, descending: p.direction_opt() })
        })
    }

    fn ident_or_column_keyword(&mut self) -> Parsed<Ident> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Identitycol | Keyword::Rowguidcol) => self.ident_or_keyword(),
            _ => self.ident(),
        }
    }

    /// `WITH (..)`, or the old `WITH FILLFACTOR = n, PAD_INDEX`, where a word alone is ON.
    pub(super) fn index_options_opt(&mut self) -> Parsed<Vec<NamedOption>> {
        if self.at(Keyword::With) && self.symbol_ahead(1, b'(') {
            self.advance();
            return self.index_option_list();
        }
        let old_options = [
            "FILLFACTOR",
            "PAD_INDEX",
            "IGNORE_DUP_KEY",
            "DROP_EXISTING",
            "STATISTICS_NORECOMPUTE",
            "SORT_IN_TEMPDB",
        ];
        if self.at(Keyword::With) && old_options.iter().any(|word| self.spells_ahead(1, word)) {
            let mut options = Vec::new();
            // The next column of a table's definition may follow the comma.
            loop {
                self.advance();
                let name = self.ident_or_keyword()?;
                let value = match self.accept_symbol(b'=') {
                    true => self.option_value()?,
                    false if name.is("FILLFACTOR") => return Err(self.unexpected()),
                    false => OptionValue::Switch(true, Vec::new()),
                };
                options.push(NamedOption { name, value: Some(value) });
                if !(self.at_symbol(b',') && old_options.iter().any(|word| self.spells_ahead(1, word))) {
                    return Ok(options);
                }
            }
        }
        Ok(Vec::new())
    }

    /// `(option = value, ..)`: in parentheses, every option of an index has a value.
    pub(super) fn index_option_list(&mut self) -> Parsed<Vec<NamedOption>> {
        self.nested(CALL, |p| {
            p.paren_list(|p| {
                let name = p.words()?;
                p.expect_symbol(b'=')?;
                Ok(NamedOption { name, value: Some(p.option_value()?) })
            })
        })
    }

    /// `ON filegroup` or `ON scheme (column)`, if present; not `ON DELETE` and `ON UPDATE`.
    pub(super) fn storage_opt(&mut self) -> Parsed<Option<Storage>> {
        if !self.at(Keyword::On)
            || !(self.ident_ahead(1)
                || matches!(self.peek_kind(1), TokenKind::String)
                || self.at_ahead(1, Keyword::Primary)
                || self.at_ahead(1, Keyword::Default))
        {
            return Ok(None);
        }
        self.advance();
        let name = match self.kind() {
            TokenKind::Keyword(_) => self.ident_or_keyword()?,
            _ => self.ident_or_string()?,
        };
        let column = if self.accept_symbol(b'(') {
            let column = self.ident()?;
            self.expect_symbol(b')')?;
            Some(column)
        } else {
            None
        };
        Ok(Some(Storage { name, column }))
    }

    fn references(&mut self) -> Parsed<References> {
        self.expect(Keyword::References)?;
        let table = self.object_name()?;
        let columns = self.ident_list_opt()?;
        let mut references =
            References { table, columns, on_delete: None, on_update: None, not_for_replication: false };
        loop {
            if references.on_delete.is_none() && self.accept_words(&["ON", "DELETE"]) {
                references.on_delete = Some(self.referential_action()?);
            } else if references.on_update.is_none() && self.accept_words(&["ON", "UPDATE"]) {
                references.on_update = Some(self.referential_action()?);
            } else if !references.not_for_replication && self.not_for_replication_opt()? {
                references.not_for_replication = true;
            } else {
                return Ok(references);
            }
        }
    }

    fn referential_action(&mut self) -> Parsed<ReferentialAction> {
        if self.accept(Keyword::Cascade) {
            return Ok(ReferentialAction::Cascade);
        }
        if self.accept_word("NO") {
            self.expect_word("ACTION")?;
            return Ok(ReferentialAction::NoAction);
        }
        self.expect(Keyword::Set)?;
        if self.accept(Keyword::Null) {
            return Ok(ReferentialAction::SetNull);
        }
        self.expect(Keyword::Default)?;
        Ok(ReferentialAction::SetDefault)
    }

    /// INDEX inside a table definition.
    pub(super) fn inline_index(&mut self, of_column: bool) -> Parsed<InlineIndex> {
        self.expect(Keyword::Index)?;
        let name = self.ident()?;
        let unique = self.accept(Keyword::Unique);
        let clustered = self.clustered_opt();
        let hash = self.accept_word("HASH");
        let columnstore = self.accept_word("COLUMNSTORE");
        let has_columns = self.at_symbol(b'(');
        if !(has_columns || of_column || columnstore) {
            return Err(self.unexpected());
        }
        let columns = if has_columns { self.index_columns()? } else { Vec::new() };
        let include = if self.accept_word("INCLUDE") { self.ident_list()? } else { Vec::new() };
        let filter = if self.accept(Keyword::Where) { Some(self.condition()?) } else { None };
        let options = self.index_options_opt()?;
        let on = self.storage_opt()?;
        let filestream_on =
            if self.accept_word("FILESTREAM_ON") { Some(self.ident_or_string()?) } else { None };
        Ok(InlineIndex {
            name,
            unique,
            clustered,
            hash,
            columnstore,
            columns,
            include,
            filter,
            options,
            on,
            filestream_on,
        })
    }
}
