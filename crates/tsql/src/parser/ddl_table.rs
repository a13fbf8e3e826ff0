//! CREATE TABLE and ALTER TABLE.

use super::{Parsed, Parser, QUERY};
use crate::ast::{
    AlterColumn, AlterColumnChange, AlterTable, AlterTableAction, AlterTableDrop, CreateTable, Expr,
    ExprKind, Ident, Literal, Names, StatementKind, TableElement, TableKind,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// The rest of CREATE TABLE, behind TABLE.
    pub(super) fn create_table(&mut self) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        let mut table = CreateTable {
            name,
            kind: TableKind::Plain,
            elements: Vec::new(),
            on: None,
            textimage_on: None,
            filestream_on: None,
            options: Vec::new(),
        };
        if self.at(Keyword::As) && self.word_ahead(1, "FILETABLE") {
            self.advance();
            self.advance();
            table.kind = TableKind::FileTable;
        } else if !self.at(Keyword::As) {
            table.elements = self.nested(QUERY, Self::table_elements)?;
        }
        if self.at(Keyword::As) && (self.word_ahead(1, "NODE") || self.word_ahead(1, "EDGE")) {
            self.advance();
            table.kind = if self.at_word("NODE") { TableKind::GraphNode } else { TableKind::GraphEdge };
            self.advance();
        }
        if table.kind == TableKind::Plain && table.elements.is_empty() {
            return Err(self.unexpected());
        }
        loop {
            if self.at(Keyword::On) && table.on.is_none() {
                table.on = self.storage_opt()?;
                if table.on.is_none() {
                    self.advance();
                    return Err(self.unexpected());
                }
            } else if self.accept_word("TEXTIMAGE_ON") {
                table.textimage_on = Some(self.filegroup()?);
            } else if self.accept_word("FILESTREAM_ON") {
                table.filestream_on = Some(self.filegroup()?);
            } else if self.at(Keyword::With) && self.symbol_ahead(1, b'(') {
                table.options.extend(self.with_options_opt()?);
            } else {
                return Ok(StatementKind::CreateTable(Box::new(table)));
            }
        }
    }

    fn filegroup(&mut self) -> Parsed<Ident> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Primary | Keyword::Default) => self.ident_or_keyword(),
            _ => self.ident_or_string(),
        }
    }

    /// The rest of ALTER TABLE, behind TABLE.
    pub(super) fn alter_table(&mut self) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        let action = self.alter_table_action()?;
        Ok(StatementKind::AlterTable(Box::new(AlterTable { name, action })))
    }

    fn alter_table_action(&mut self) -> Parsed<AlterTableAction> {
        let with_check = match () {
            () if self.accept_words(&["WITH", "CHECK"]) => Some(true),
            () if self.accept_words(&["WITH", "NOCHECK"]) => Some(false),
            () => None,
        };
        match self.kind() {
            TokenKind::Keyword(Keyword::Add) => {
                self.advance();
                let elements = self.added_elements()?;
                Ok(AlterTableAction::Add { check: with_check, elements })
            }
            TokenKind::Keyword(keyword @ (Keyword::Check | Keyword::Nocheck)) => {
                self.advance();
                self.expect(Keyword::Constraint)?;
                let enable = keyword == Keyword::Check;
                Ok(AlterTableAction::CheckConstraint { with_check, enable, names: self.names()? })
            }
            _ if with_check.is_some() => Err(self.unexpected()),
            TokenKind::Keyword(Keyword::Alter) if self.at_ahead(1, Keyword::Column) => self.alter_column(),
            TokenKind::Keyword(Keyword::Alter) => {
                self.advance();
                if !self.at(Keyword::Index) {
                    return Err(self.unexpected());
                }
                Ok(AlterTableAction::Other(format!("ALTER {}", self.rest_as_text()?)))
            }
            TokenKind::Keyword(Keyword::Drop) => {
                self.advance();
                Ok(AlterTableAction::Drop(self.alter_table_drops()?))
            }
            TokenKind::Keyword(Keyword::Set) => {
                self.advance();
                Ok(AlterTableAction::Set(self.option_list()?))
            }
            _ => self.alter_table_word(),
        }
    }

    /// Actions that start with an ordinary word.
    fn alter_table_word(&mut self) -> Parsed<AlterTableAction> {
        if self.at_word("ENABLE") || self.at_word("DISABLE") {
            let enable = self.at_word("ENABLE");
            self.advance();
            if self.accept(Keyword::Trigger) {
                return Ok(AlterTableAction::Trigger { enable, names: self.names()? });
            }
            if self.accept_word("CHANGE_TRACKING") {
                return Ok(AlterTableAction::ChangeTracking { enable, options: self.with_options_opt()? });
            }
            self.expect_word("FILETABLE_NAMESPACE")?;
            return Ok(AlterTableAction::FileTableNamespace { enable });
        }
        if self.accept_word("SWITCH") {
            let partition = if self.accept_word("PARTITION") { Some(self.value()?) } else { None };
            self.expect(Keyword::To)?;
            let target = self.object_name()?;
            let target_partition = if self.accept_word("PARTITION") { Some(self.value()?) } else { None };
            let options = self.with_options_opt()?;
            return Ok(AlterTableAction::Switch { partition, target, target_partition, options });
        }
        self.expect_word("REBUILD")?;
        let partition = self.partition_opt()?;
        Ok(AlterTableAction::Rebuild { partition, options: self.with_options_opt()? })
    }

    /// `PARTITION = n`, `PARTITION = ALL` (as a bare word), if present.
    pub(super) fn partition_opt(&mut self) -> Parsed<Option<Expr>> {
        if !self.accept_word("PARTITION") {
            return Ok(None);
        }
        self.expect_symbol(b'=')?;
        let token = self.token();
        if self.accept(Keyword::All) {
            let kind = ExprKind::Literal(Literal::String("ALL".to_string()));
            return Ok(Some(Expr { span: self.span_of(token), kind }));
        }
        Ok(Some(self.value()?))
    }

    /// ALL or a list of names.
    pub(super) fn names(&mut self) -> Parsed<Names> {
        if self.accept(Keyword::All) {
            return Ok(Names::All);
        }
        Ok(Names::List(self.comma_list(Self::ident)?))
    }

    /// Elements of ALTER TABLE ADD; the word COLUMN is not part of the language.
    fn added_elements(&mut self) -> Parsed<Vec<TableElement>> {
        let mut elements = vec![self.table_element()?];
        while self.accept_symbol(b',') || self.at_table_constraint() {
            self.accept(Keyword::Add);
            elements.push(self.table_element()?);
        }
        Ok(elements)
    }

    fn alter_column(&mut self) -> Parsed<AlterTableAction> {
        self.advance();
        self.advance();
        let name = self.ident()?;
        let change = if self.at(Keyword::Add) || self.at(Keyword::Drop) {
            let add = self.at(Keyword::Add);
            self.advance();
            let property = self.column_property_name()?;
            let masked = add && property.is("MASKED") && self.at(Keyword::With);
            let mask = if masked { Some(self.mask_function()?) } else { None };
            AlterColumnChange::Property { add, property, mask }
        } else {
            self.alter_column_type()?
        };
        let options = self.with_options_opt()?;
        Ok(AlterTableAction::AlterColumn(Box::new(AlterColumn { name, change, options })))
    }

    fn column_property_name(&mut self) -> Parsed<Ident> {
        if self.at(Keyword::Not) {
            self.not_for_replication()?;
            return Ok(Ident::new("NOT FOR REPLICATION"));
        }
        let token = self.token();
        let property = self.ident_or_keyword()?;
        let known = ["PERSISTED", "ROWGUIDCOL", "SPARSE", "HIDDEN", "MASKED"];
        if known.iter().any(|word| property.is(word)) {
            Ok(property)
        } else {
            Err(self.unknown_word(&property, token))
        }
    }

    fn alter_column_type(&mut self) -> Parsed<AlterColumnChange> {
        let data_type = self.data_type()?;
        let (mut collation, mut nullable, mut is_sparse) = (None, None, false);
        let (mut encrypted, mut masked) = (Vec::new(), None);
        loop {
            // A repeated clause is an error here.
            if collation.is_none() && self.at(Keyword::Collate) {
                collation = self.collation_opt()?;
            } else if !is_sparse && self.accept_word("SPARSE") {
                is_sparse = true;
            } else if encrypted.is_empty() && self.accept_word("ENCRYPTED") {
                self.expect(Keyword::With)?;
                encrypted = self.option_list()?;
            } else if masked.is_none() && self.accept_word("MASKED") {
                masked = Some(self.mask_function()?);
            } else if nullable.is_some() && (self.at(Keyword::Not) || self.at(Keyword::Null)) {
                return Err(self.unexpected());
            } else {
                match self.nullable_opt()? {
                    Some(value) => nullable = Some(value),
                    None => break,
                }
            }
        }
        Ok(AlterColumnChange::Type { data_type, collation, nullable, is_sparse, encrypted, masked })
    }

    /// `CONSTRAINT a, b, COLUMN c, d`: a name without a word takes the word before it.
    fn alter_table_drops(&mut self) -> Parsed<Vec<AlterTableDrop>> {
        let mut drops: Vec<AlterTableDrop> = Vec::new();
        loop {
            let drop = if self.accept(Keyword::Column) {
                AlterTableDrop::Column { if_exists: self.if_exists()?, name: self.ident()? }
            } else if self.accept(Keyword::Constraint) {
                self.dropped_constraint()?
            } else if self.accept(Keyword::Index) {
                AlterTableDrop::Index { if_exists: self.if_exists()?, name: self.ident()? }
            } else if self.at_word("PERIOD") && self.at_ahead(1, Keyword::For) {
                self.advance();
                self.advance();
                self.expect_word("SYSTEM_TIME")?;
                AlterTableDrop::Period
            } else {
                match drops.last() {
                    Some(AlterTableDrop::Column { .. }) => {
                        AlterTableDrop::Column { if_exists: false, name: self.ident()? }
                    }
                    Some(AlterTableDrop::Index { .. }) => {
                        AlterTableDrop::Index { if_exists: false, name: self.ident()? }
                    }
                    _ => self.dropped_constraint()?,
                }
            };
            drops.push(drop);
            if !self.accept_symbol(b',') {
                return Ok(drops);
            }
        }
    }

    fn dropped_constraint(&mut self) -> Parsed<AlterTableDrop> {
        let if_exists = self.if_exists()?;
        let name = self.ident()?;
        Ok(AlterTableDrop::Constraint { if_exists, name, options: self.with_options_opt()? })
    }
}
