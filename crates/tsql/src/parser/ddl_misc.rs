//! CREATE, ALTER and DROP: which kind of object, and the small kinds.

use super::{Parsed, Parser, QUERY};
use crate::ast::{
    CreateSynonym, CreateType, Drop, DropKind, ModuleAction, ObjectName, SequenceCache, SequenceDefinition,
    StatementKind, TypeDefinition,
};
use crate::keywords::Keyword;
use crate::lexer::{Token, TokenKind};

/// Objects that are recognised and kept as text, longest phrases first where one starts another.
const OPAQUE_OBJECTS: [&str; 54] = [
    "AGGREGATE",
    "APPLICATION ROLE",
    "ASSEMBLY",
    "ASYMMETRIC KEY",
    "AVAILABILITY GROUP",
    "BROKER PRIORITY",
    "CERTIFICATE",
    "COLUMN ENCRYPTION KEY",
    "COLUMN MASTER KEY",
    "CONTRACT",
    "COUNTER SIGNATURE",
    "CREDENTIAL",
    "CRYPTOGRAPHIC PROVIDER",
    "DATABASE AUDIT SPECIFICATION",
    "DATABASE ENCRYPTION KEY",
    "DATABASE SCOPED CREDENTIAL",
    "DEFAULT",
    "ENDPOINT",
    "EVENT NOTIFICATION",
    "EVENT SESSION",
    "EXTERNAL DATA SOURCE",
    "EXTERNAL FILE FORMAT",
    "EXTERNAL LANGUAGE",
    "EXTERNAL LIBRARY",
    "EXTERNAL MODEL",
    "EXTERNAL RESOURCE POOL",
    "EXTERNAL TABLE",
    "FULLTEXT CATALOG",
    "FULLTEXT INDEX",
    "FULLTEXT STOPLIST",
    "MASTER KEY",
    "MESSAGE TYPE",
    "QUEUE",
    "REMOTE SERVICE BINDING",
    "RESOURCE GOVERNOR",
    "RESOURCE POOL",
    "ROUTE",
    "RULE",
    "SEARCH PROPERTY LIST",
    "SECURITY POLICY",
    "SELECTIVE XML INDEX",
    "SENSITIVITY CLASSIFICATION",
    "SERVER AUDIT SPECIFICATION",
    "SERVER AUDIT",
    "SERVER CONFIGURATION",
    "SERVICE MASTER KEY",
    "SERVICE",
    "SIGNATURE",
    "SYMMETRIC KEY",
    "WORKLOAD CLASSIFIER",
    "WORKLOAD GROUP",
    "XML SCHEMA COLLECTION",
    "PARTITION FUNCTION",
    "PARTITION SCHEME",
];

/// Those of them that CREATE makes in a batch of its own.
const ALONE_IN_BATCH: [&str; 2] = ["DEFAULT", "RULE"];

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Parsed<StatementKind> {
        let start = self.token();
        let phrase = self.opaque_phrase().map_or("", |found| found.0);
        let is_alone = ALONE_IN_BATCH.contains(&phrase);
        if is_alone && self.scope.blocks > 0 {
            return Err(self.unexpected_at(self.position + 1));
        }
        if is_alone && !self.is_first(start) {
            let error = self.error_at(111, start, format!("CREATE {phrase}"));
            self.report(error);
        }
        if let Some(opaque) = self.opaque_object("CREATE", &["PARTITION FUNCTION", "PARTITION SCHEME"]) {
            if is_alone {
                self.expect_batch_end()?;
            }
            return opaque;
        }
        self.advance();
        let action = if self.at(Keyword::Or) && self.at_ahead(1, Keyword::Alter) {
            self.advance();
            self.advance();
            return self.module(start, ModuleAction::CreateOrAlter, false);
        } else {
            ModuleAction::Create
        };
        if self.at_word("MATERIALIZED") && self.at_ahead(1, Keyword::View) {
            self.advance();
            return self.module(start, action, true);
        }
        if self.at_create_index() {
            return self.create_index();
        }
        match self.kind() {
            TokenKind::Keyword(
                Keyword::Proc | Keyword::Procedure | Keyword::View | Keyword::Function | Keyword::Trigger,
            ) => self.module(start, action, false),
            TokenKind::Keyword(Keyword::Schema) => self.create_schema(start),
            TokenKind::Keyword(keyword) => self.create_keyword(keyword),
            _ => self.create_word(),
        }
    }

    fn create_keyword(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        match keyword {
            Keyword::Table => {
                self.advance();
                self.create_table()
            }
            Keyword::Statistics => {
                self.advance();
                self.create_statistics()
            }
            Keyword::Database => {
                self.advance();
                self.create_database()
            }
            Keyword::User => {
                self.advance();
                self.create_user()
            }
            _ => Err(self.unexpected()),
        }
    }

    fn create_word(&mut self) -> Parsed<StatementKind> {
        if self.accept_word("SEQUENCE") {
            return Ok(StatementKind::CreateSequence(Box::new(self.sequence("CREATE")?)));
        }
        if self.accept_word("TYPE") {
            return self.create_type();
        }
        if self.accept_word("SYNONYM") {
            let name = self.object_name()?;
            self.expect(Keyword::For)?;
            let target = self.object_name()?;
            return Ok(StatementKind::CreateSynonym(Box::new(CreateSynonym { name, target })));
        }
        if self.accept_word("LOGIN") {
            return self.create_login();
        }
        if self.accept_word("ROLE") {
            return self.create_role(false);
        }
        if self.accept_words(&["SERVER", "ROLE"]) {
            return self.create_role(true);
        }
        if self.accept_word("PARTITION") {
            return self.create_partition();
        }
        Err(self.unknown_object())
    }

    /// Error 343: no such kind of object.
    fn unknown_object(&self) -> Box<crate::error::SyntaxError> {
        match self.kind() {
            TokenKind::Word => self.error_at(343, self.token(), self.near(self.token())),
            _ => self.unexpected(),
        }
    }

    /// Whether the word behind CREATE, ALTER or DROP is a kind of object that no opaque phrase starts with.
    fn names_common_object(&self) -> bool {
        matches!(
            self.peek_kind(1),
            TokenKind::Keyword(
                Keyword::Table
                    | Keyword::Index
                    | Keyword::View
                    | Keyword::Proc
                    | Keyword::Procedure
                    | Keyword::Function
                    | Keyword::Trigger
                    | Keyword::Unique
                    | Keyword::Clustered
                    | Keyword::Nonclustered
                    | Keyword::Statistics
                    | Keyword::Schema
                    | Keyword::User
                    | Keyword::Or
            )
        )
    }

    /// The kind of an object that is only known by name, behind the verb, and of how many words it is.
    fn opaque_phrase(&self) -> Option<(&'static str, usize)> {
        if self.names_common_object() {
            return None;
        }
        let first = self.token_text(self.peek(1)).as_bytes().first()?.to_ascii_uppercase();
        let phrase = OPAQUE_OBJECTS.iter().filter(|phrase| phrase.as_bytes()[0] == first).find(|phrase| {
            phrase.split(' ').enumerate().all(|(index, word)| self.spells_ahead(1 + index, word))
        })?;
        Some((phrase, phrase.split(' ').count()))
    }

    /// A statement on an object that is kept as text; `verb` is the current token.
    fn opaque_object(&mut self, verb: &str, except: &[&str]) -> Option<Parsed<StatementKind>> {
        let (phrase, words) = self.opaque_phrase()?;
        if except.contains(&phrase) {
            return None;
        }
        // A database or table may be named like the second word of a phrase; the phrase needs something behind it.
        if self.peek_kind(1 + words) == TokenKind::End
            && !matches!(phrase, "MASTER KEY" | "DATABASE ENCRYPTION KEY")
        {
            return Some(Err(self.unexpected_at((self.position + 1 + words).min(self.tokens.len() - 1))));
        }
        let start = self.token();
        for _ in 0..words {
            self.advance();
        }
        Some(self.opaque_text(start, format!("{verb} {phrase}")))
    }

    fn opaque_text(&mut self, start: Token, kind_name: String) -> Parsed<StatementKind> {
        self.advance();
        self.skip_statement()?;
        let text = self.raw_since(start);
        Ok(StatementKind::Other(Box::new(crate::ast::Other { kind_name, text })))
    }

    pub(super) fn alter(&mut self) -> Parsed<StatementKind> {
        let start = self.token();
        if let Some(opaque) = self.opaque_object("ALTER", &[]) {
            return opaque;
        }
        self.advance();
        match self.kind() {
            TokenKind::Keyword(
                Keyword::Proc | Keyword::Procedure | Keyword::View | Keyword::Function | Keyword::Trigger,
            ) => self.module(start, ModuleAction::Alter, false),
            TokenKind::Keyword(keyword) => {
                self.advance();
                match keyword {
                    Keyword::Table => self.alter_table(),
                    Keyword::Index => self.alter_index(),
                    Keyword::Database => self.alter_database(),
                    Keyword::Schema => self.alter_schema(),
                    Keyword::User => self.alter_user(),
                    Keyword::Authorization => self.alter_authorization(),
                    _ => Err(self.unexpected_at(self.position - 1)),
                }
            }
            _ if self.accept_word("SEQUENCE") => {
                Ok(StatementKind::AlterSequence(Box::new(self.sequence("ALTER")?)))
            }
            _ if self.accept_word("LOGIN") => self.alter_login(),
            _ if self.accept_word("ROLE") => self.alter_role(false),
            _ if self.accept_words(&["SERVER", "ROLE"]) => self.alter_role(true),
            _ => Err(self.unknown_object()),
        }
    }

    pub(super) fn drop(&mut self) -> Parsed<StatementKind> {
        let simple = self.drop_kind();
        if simple.is_none()
            && let Some((phrase, words)) = self.opaque_phrase()
            && self.at_ahead(1 + words, Keyword::If)
        {
            // Of the kinds that are only known by name, these have the clause.
            if !matches!(phrase, "ASSEMBLY" | "SECURITY POLICY") {
                return Err(self.unexpected_at(self.position + 1 + words));
            }
            for _ in 0..=words {
                self.advance();
            }
            let if_exists = self.if_exists()?;
            let names = self.comma_list(Self::object_name)?;
            let kind = DropKind::Named(phrase);
            return Ok(StatementKind::Drop(Box::new(Drop { kind, if_exists, names, scope: None })));
        }
        if simple.is_none()
            && let Some(opaque) = self.opaque_object("DROP", &[])
        {
            return opaque;
        }
        self.advance();
        let Some((kind, words)) = simple else {
            return match self.kind() {
                TokenKind::Keyword(Keyword::Index) => {
                    self.advance();
                    self.drop_index()
                }
                TokenKind::Keyword(Keyword::Statistics) => {
                    self.advance();
                    Ok(StatementKind::DropStatistics(self.comma_list(Self::object_name)?))
                }
                TokenKind::Keyword(Keyword::Database) => {
                    self.advance();
                    self.drop_database()
                }
                _ => Err(self.unknown_object()),
            };
        };
        for _ in 0..words {
            self.advance();
        }
        let if_exists = self.if_exists()?;
        let names: Vec<ObjectName> = self.comma_list(Self::object_name)?;
        let scoped = kind == DropKind::Trigger && self.accept(Keyword::On);
        let scope = if scoped { Some(self.trigger_scope()?) } else { None };
        Ok(StatementKind::Drop(Box::new(Drop { kind, if_exists, names, scope })))
    }

    /// The kind behind DROP and how many words it has.
    fn drop_kind(&self) -> Option<(DropKind, usize)> {
        match self.peek_kind(1) {
            TokenKind::Keyword(keyword) => match keyword {
                Keyword::Table => Some((DropKind::Table, 1)),
                Keyword::View => Some((DropKind::View, 1)),
                Keyword::Proc | Keyword::Procedure => Some((DropKind::Procedure, 1)),
                Keyword::Function => Some((DropKind::Function, 1)),
                Keyword::Trigger => Some((DropKind::Trigger, 1)),
                Keyword::Schema => Some((DropKind::Schema, 1)),
                Keyword::User => Some((DropKind::User, 1)),
                Keyword::Default => Some((DropKind::Default, 1)),
                Keyword::Rule => Some((DropKind::Rule, 1)),
                Keyword::External if self.at_ahead(2, Keyword::Table) => Some((DropKind::ExternalTable, 2)),
                _ => None,
            },
            TokenKind::Word => [
                ("SEQUENCE", "", DropKind::Sequence),
                ("TYPE", "", DropKind::Type),
                ("SYNONYM", "", DropKind::Synonym),
                ("ROLE", "", DropKind::Role),
                ("LOGIN", "", DropKind::Login),
                ("AGGREGATE", "", DropKind::Aggregate),
                ("SERVER", "ROLE", DropKind::ServerRole),
                ("APPLICATION", "ROLE", DropKind::ApplicationRole),
                ("PARTITION", "FUNCTION", DropKind::PartitionFunction),
                ("PARTITION", "SCHEME", DropKind::PartitionScheme),
            ]
            .into_iter()
            .find(|(first, second, _)| {
                self.word_ahead(1, first) && (second.is_empty() || self.spells_ahead(2, second))
            })
            .map(|(_, second, kind)| (kind, if second.is_empty() { 1 } else { 2 })),
            _ => None,
        }
    }

    /// The rest of CREATE SEQUENCE (`verb` "CREATE") or ALTER SEQUENCE: 11709, 11710, 11711, 11715 for options of the other one.
    fn sequence(&mut self, verb: &str) -> Parsed<SequenceDefinition> {
        let is_altered = verb == "ALTER";
        let mut sequence = SequenceDefinition {
            name: self.object_name()?,
            data_type: None,
            start_with: None,
            restart: None,
            increment: None,
            min_value: None,
            max_value: None,
            cycle: None,
            cache: None,
            options: Vec::new(),
        };
        let start = self.token();
        if self.at(Keyword::As) && is_altered {
            return Err(self.error_at(11711, start, String::new()));
        }
        if self.accept(Keyword::As) {
            sequence.data_type = Some(self.data_type()?);
        }
        let mut named = Vec::new();
        loop {
            let token = self.token();
            let Some(option) = self.sequence_option(&mut sequence)? else { break };
            match option {
                "START" if is_altered => return Err(self.error_at(11710, token, String::new())),
                "RESTART" if !is_altered => return Err(self.error_at(11709, token, String::new())),
                _ if named.contains(&option) => {
                    return Err(self.error_at(11712, token, option.to_string()));
                }
                _ => named.push(option),
            }
        }
        sequence.options = self.with_options_opt()?;
        if is_altered && named.is_empty() && sequence.options.is_empty() {
            return Err(self.error_at(11715, start, String::new()));
        }
        Ok(sequence)
    }

    /// The next option, if there is one; a NO form is the same option as its positive.
    fn sequence_option(&mut self, sequence: &mut SequenceDefinition) -> Parsed<Option<&'static str>> {
        let is_negative = self.at_word("NO");
        if is_negative {
            self.advance();
        }
        Ok(Some(match () {
            () if self.accept_word("MINVALUE") => {
                sequence.min_value = Some(if is_negative { None } else { Some(self.signed_constant()?) });
                "MINVALUE"
            }
            () if self.accept_word("MAXVALUE") => {
                sequence.max_value = Some(if is_negative { None } else { Some(self.signed_constant()?) });
                "MAXVALUE"
            }
            () if self.accept_word("CYCLE") => {
                sequence.cycle = Some(!is_negative);
                "CYCLE"
            }
            () if self.accept_word("CACHE") => {
                sequence.cache = Some(match (is_negative, self.kind()) {
                    (true, _) => SequenceCache::NoCache,
                    (false, TokenKind::Integer) => SequenceCache::Size(self.signed_constant()?),
                    (false, _) => SequenceCache::Default,
                });
                "CACHE"
            }
            () if is_negative => return Err(self.unexpected()),
            () if self.accept_word("START") => {
                self.expect(Keyword::With)?;
                sequence.start_with = Some(self.signed_constant()?);
                "START"
            }
            () if self.accept_word("RESTART") => {
                let has_value = self.at(Keyword::With) && !self.symbol_ahead(1, b'(');
                let value = if has_value && self.accept(Keyword::With) {
                    Some(self.signed_constant()?)
                } else {
                    None
                };
                sequence.restart = Some(value);
                "RESTART"
            }
            () if self.accept_word("INCREMENT") => {
                self.expect(Keyword::By)?;
                sequence.increment = Some(self.signed_constant()?);
                "INCREMENT"
            }
            () => return Ok(None),
        }))
    }

    /// The rest of CREATE TYPE.
    fn create_type(&mut self) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        let definition = if self.accept(Keyword::From) {
            let base = self.data_type()?;
            TypeDefinition::Alias { base, nullable: self.nullable_opt()? }
        } else if self.accept(Keyword::External) {
            self.expect_word("NAME")?;
            TypeDefinition::External(self.rest_as_text()?)
        } else {
            self.expect(Keyword::As)?;
            self.expect(Keyword::Table)?;
            let elements = self.nested(QUERY, Self::nameless_elements)?;
            TypeDefinition::Table { elements, options: self.with_options_opt()? }
        };
        Ok(StatementKind::CreateType(Box::new(CreateType { name, definition })))
    }
}
