//! Indexes, statistics, partition functions and schemes.

use super::{Parsed, Parser};
use crate::ast::{
    AlterIndex, AlterIndexAction, CreateIndex, CreatePartitionFunction, CreatePartitionScheme,
    CreateStatistics, DropIndex, DropIndexItem, Ident, IndexKind, NamedOption, ObjectName, StatementKind,
    UpdateStatistics,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

/// Which statistics of a table UPDATE STATISTICS renews: one of these.
const STATISTICS_KINDS: [&str; 3] = ["ALL", "COLUMNS", "INDEX"];

impl Parser<'_> {
    /// Whether a kind of index follows CREATE.
    pub(super) fn at_create_index(&self) -> bool {
        match self.kind() {
            TokenKind::Keyword(
                Keyword::Unique
                | Keyword::Clustered
                | Keyword::Nonclustered
                | Keyword::Index
                | Keyword::Primary,
            ) => true,
            TokenKind::Word => ["COLUMNSTORE", "XML", "SPATIAL", "JSON", "VECTOR", "HASH"]
                .iter()
                .any(|word| self.at_word(word) && self.at_ahead(1, Keyword::Index)),
            _ => false,
        }
    }

    /// The rest of CREATE INDEX.
    pub(super) fn create_index(&mut self) -> Parsed<StatementKind> {
        let unique = self.accept(Keyword::Unique);
        let clustered = self.clustered_opt();
        let mut kind = IndexKind::Rows;
        if self.accept_word("COLUMNSTORE") {
            kind = IndexKind::Columnstore;
        } else if self.accept(Keyword::Primary) {
            self.expect_word("XML")?;
            kind = IndexKind::PrimaryXml;
        } else if self.at_ident() {
            kind = IndexKind::Special { word: self.ident()?, rest: String::new() };
        }
        self.expect(Keyword::Index)?;
        let name = self.ident()?;
        self.expect(Keyword::On)?;
        let table = self.object_name()?;
        let mut index = CreateIndex {
            name,
            table,
            unique,
            clustered,
            kind,
            columns: Vec::new(),
            include: Vec::new(),
            filter: None,
            order: Vec::new(),
            options: Vec::new(),
            on: None,
            filestream_on: None,
        };
        self.index_body(&mut index)?;
        Ok(StatementKind::CreateIndex(Box::new(index)))
    }

    fn index_body(&mut self, index: &mut CreateIndex) -> Parsed<()> {
        if let IndexKind::Special { word, rest } = &mut index.kind {
            if !word.is("XML") {
                *rest = self.rest_as_text()?;
                return Ok(());
            }
            index.columns = self.index_columns()?;
            let secondary = self.accept_word("USING");
            if secondary {
                index.kind = self.secondary_xml()?;
            }
        } else if index.kind == IndexKind::Columnstore
            && index.clustered == Some(true)
            && !self.at_symbol(b'(')
        {
            // CREATE CLUSTERED COLUMNSTORE INDEX names no columns.
        } else {
            index.columns = self.index_columns()?;
        }
        if self.accept_word("INCLUDE") {
            index.include = self.ident_list()?;
        }
        if self.accept(Keyword::Order) {
            index.order = self.index_columns()?;
        }
        if self.accept(Keyword::Where) {
            index.filter = Some(self.condition()?);
        }
        index.options = self.index_options_opt()?;
        if self.at(Keyword::On) {
            index.on = self.storage_opt()?;
            if index.on.is_none() {
                self.advance();
                return Err(self.unexpected());
            }
        }
        if self.accept_word("FILESTREAM_ON") {
            index.filestream_on = Some(self.ident_or_string()?);
        }
        Ok(())
    }

    /// `XML INDEX name FOR PATH`, behind USING.
    fn secondary_xml(&mut self) -> Parsed<IndexKind> {
        self.expect_word("XML")?;
        self.expect(Keyword::Index)?;
        let using = self.ident()?;
        self.expect(Keyword::For)?;
        Ok(IndexKind::SecondaryXml { using, purpose: self.ident()? })
    }

    /// The rest of ALTER INDEX.
    pub(super) fn alter_index(&mut self) -> Parsed<StatementKind> {
        let name = if self.accept(Keyword::All) { None } else { Some(self.ident()?) };
        self.expect(Keyword::On)?;
        let table = self.object_name()?;
        let action = self.alter_index_action()?;
        Ok(StatementKind::AlterIndex(Box::new(AlterIndex { name, table, action })))
    }

    fn alter_index_action(&mut self) -> Parsed<AlterIndexAction> {
        if self.accept_word("REBUILD") {
            let partition = self.partition_opt()?;
            return Ok(AlterIndexAction::Rebuild { partition, options: self.index_options_opt()? });
        }
        if self.accept_word("REORGANIZE") {
            let partition = self.partition_opt()?;
            return Ok(AlterIndexAction::Reorganize { partition, options: self.index_options_opt()? });
        }
        if self.accept(Keyword::Set) {
            return Ok(AlterIndexAction::Set(self.index_option_list()?));
        }
        if self.accept_word("RESUME") {
            return Ok(AlterIndexAction::Resume(self.with_options_opt()?));
        }
        match () {
            () if self.accept_word("DISABLE") => Ok(AlterIndexAction::Disable),
            () if self.accept_word("PAUSE") => Ok(AlterIndexAction::Pause),
            () if self.accept_word("ABORT") => Ok(AlterIndexAction::Abort),
            () if self.at(Keyword::For) || self.at(Keyword::With) => {
                Ok(AlterIndexAction::Other(self.rest_as_text()?))
            }
            () => Err(self.unexpected()),
        }
    }

    /// The rest of DROP INDEX.
    pub(super) fn drop_index(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let indexes = self.comma_list(Self::drop_index_item)?;
        Ok(StatementKind::DropIndex(Box::new(DropIndex { if_exists, indexes })))
    }

    fn drop_index_item(&mut self) -> Parsed<DropIndexItem> {
        let mut first: ObjectName = self.object_name()?;
        if self.accept(Keyword::On) {
            let table = self.object_name()?;
            let options = self.with_options_opt()?;
            return Ok(DropIndexItem { name: first.name, table, options, old_style: false });
        }
        let Some(table) = first.schema.take() else {
            return Err(self.error_at(159, self.tokens[self.position.saturating_sub(1)], String::new()));
        };
        let name = std::mem::replace(&mut first.name, table);
        first.schema = first.database.take();
        first.database = first.server.take();
        Ok(DropIndexItem { name, table: first, options: Vec::new(), old_style: true })
    }

    /// The rest of CREATE STATISTICS.
    pub(super) fn create_statistics(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        self.expect(Keyword::On)?;
        let table = self.object_name()?;
        let columns = self.ident_list()?;
        let filter = if self.accept(Keyword::Where) { Some(self.condition()?) } else { None };
        let options = self.statistics_options_opt()?;
        let statistics = CreateStatistics { name, table, columns, filter, options };
        Ok(StatementKind::CreateStatistics(Box::new(statistics)))
    }

    /// `WITH FULLSCAN, NORECOMPUTE, SAMPLE 50 PERCENT, INCREMENTAL = ON`
    fn statistics_options_opt(&mut self) -> Parsed<Vec<NamedOption>> {
        if !self.accept(Keyword::With) {
            return Ok(Vec::new());
        }
        self.comma_list(Self::named_option_with_partitions)
    }

    /// `RESAMPLE ON PARTITIONS (1, 2 TO 5)` beside ordinary options.
    fn named_option_with_partitions(&mut self) -> Parsed<NamedOption> {
        let resample = self.at_word("RESAMPLE") && self.at_ahead(1, Keyword::On);
        if !resample {
            return self.statistics_option();
        }
        let name = self.ident()?;
        self.advance();
        let partitions = self.ident()?;
        let ranges = self.paren_list(Self::range)?;
        Ok(NamedOption { name, value: Some(crate::ast::OptionValue::OnPartitions(partitions, ranges)) })
    }

    /// One word only: what follows may be the next statement.
    fn statistics_option(&mut self) -> Parsed<NamedOption> {
        let name = self.ident_or_keyword()?;
        if self.accept_symbol(b'=') {
            return Ok(NamedOption { name, value: Some(self.option_value()?) });
        }
        if !name.is("SAMPLE") {
            return Ok(NamedOption { name, value: None });
        }
        let amount = self.signed_constant()?;
        let unit = match self.kind() {
            TokenKind::Keyword(Keyword::Percent) => Some(self.ident_or_keyword()?),
            _ if self.at_word("ROWS") => Some(self.ident()?),
            _ => None,
        };
        Ok(NamedOption { name, value: Some(crate::ast::OptionValue::Value(amount, unit)) })
    }

    /// UPDATE STATISTICS t [s | (s, ..)] [WITH ..]
    pub(super) fn update_statistics(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        let table = self.object_name()?;
        let statistics: Vec<Ident> = match self.at_symbol(b'(') {
            true => self.ident_list()?,
            false if self.at_label() => Vec::new(),
            false => self.ident_opt().into_iter().collect(),
        };
        let options = self.statistics_options_opt()?;
        let kinds = |option: &&NamedOption| STATISTICS_KINDS.iter().any(|kind| option.name.is(kind));
        if options.iter().filter(kinds).count() > 1 {
            return Err(self.unexpected_at(self.position - 1));
        }
        let update = UpdateStatistics { table, statistics, options };
        Ok(StatementKind::UpdateStatistics(Box::new(update)))
    }

    /// CREATE PARTITION FUNCTION or SCHEME, behind PARTITION.
    pub(super) fn create_partition(&mut self) -> Parsed<StatementKind> {
        if self.accept(Keyword::Function) {
            return self.create_partition_function();
        }
        self.expect_word("SCHEME")?;
        let name = self.ident()?;
        self.expect(Keyword::As)?;
        self.expect_word("PARTITION")?;
        let function = self.ident()?;
        let all = self.accept(Keyword::All);
        self.expect(Keyword::To)?;
        let filegroups = self.paren_list(|p| match p.kind() {
            TokenKind::Keyword(Keyword::Primary) => p.ident_or_keyword(),
            _ => p.ident_or_string(),
        })?;
        let scheme = CreatePartitionScheme { name, function, all, filegroups };
        Ok(StatementKind::CreatePartitionScheme(Box::new(scheme)))
    }

    fn create_partition_function(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        self.expect_symbol(b'(')?;
        let data_type = self.data_type()?;
        self.collation_opt()?;
        self.expect_symbol(b')')?;
        self.expect(Keyword::As)?;
        self.expect_word("RANGE")?;
        let right = match () {
            () if self.accept(Keyword::Right) => Some(true),
            () if self.accept(Keyword::Left) => Some(false),
            () => None,
        };
        self.expect(Keyword::For)?;
        self.expect(Keyword::Values)?;
        let values = match self.symbol_ahead(1, b')') {
            true => {
                self.expect_symbol(b'(')?;
                self.expect_symbol(b')')?;
                Vec::new()
            }
            false => self.paren_list(Self::value)?,
        };
        let function = CreatePartitionFunction { name, data_type, right, values };
        Ok(StatementKind::CreatePartitionFunction(Box::new(function)))
    }
}
