//! Cursors: DECLARE, OPEN, FETCH, CLOSE, DEALLOCATE.

use super::{Parsed, Parser};
use crate::ast::{
    CursorDefinition, CursorOption, CursorRef, CursorUpdatability, DeclareCursor, Fetch, FetchDirection,
    StatementKind,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

const OPTIONS: [(&str, CursorOption); 13] = [
    ("INSENSITIVE", CursorOption::Insensitive),
    ("LOCAL", CursorOption::Local),
    ("GLOBAL", CursorOption::Global),
    ("FORWARD_ONLY", CursorOption::ForwardOnly),
    ("SCROLL", CursorOption::Scroll),
    ("STATIC", CursorOption::Static),
    ("KEYSET", CursorOption::Keyset),
    ("DYNAMIC", CursorOption::Dynamic),
    ("FAST_FORWARD", CursorOption::FastForward),
    ("READ_ONLY", CursorOption::ReadOnly),
    ("SCROLL_LOCKS", CursorOption::ScrollLocks),
    ("OPTIMISTIC", CursorOption::Optimistic),
    ("TYPE_WARNING", CursorOption::TypeWarning),
];

/// Options that exclude each other, as SQL Server checks and names them: the first such pair is reported (1048). `FOR UPDATE` and
/// `FOR READ ONLY` behind the query count as options.
const CONFLICTS: [(CursorWord, CursorWord); 19] = {
    use CursorOption as O;
    use CursorWord::{ForUpdate, Option as Is};
    [
        (ForUpdate, Is(O::Insensitive)),
        (Is(O::Local), Is(O::Global)),
        (Is(O::Scroll), Is(O::ForwardOnly)),
        (Is(O::Scroll), Is(O::FastForward)),
        (Is(O::Static), Is(O::Keyset)),
        (Is(O::Static), Is(O::Dynamic)),
        (Is(O::Static), Is(O::FastForward)),
        (Is(O::Static), Is(O::ScrollLocks)),
        (Is(O::Keyset), Is(O::Dynamic)),
        (Is(O::Keyset), Is(O::FastForward)),
        (Is(O::Dynamic), Is(O::FastForward)),
        (Is(O::FastForward), Is(O::ScrollLocks)),
        (Is(O::FastForward), Is(O::Optimistic)),
        (Is(O::ReadOnly), Is(O::ScrollLocks)),
        (Is(O::Optimistic), Is(O::ReadOnly)),
        (Is(O::ScrollLocks), Is(O::Optimistic)),
        (ForUpdate, Is(O::Static)),
        (Is(O::FastForward), ForUpdate),
        (ForUpdate, Is(O::ReadOnly)),
    ]
};

/// The properties in a cursor's declaration.
#[derive(Clone, Copy)]
enum CursorWord {
    Option(CursorOption),
    ForUpdate,
}

impl CursorWord {
    fn stands_in(self, definition: &CursorDefinition) -> bool {
        match self {
            CursorWord::ForUpdate => matches!(definition.updatability, Some(CursorUpdatability::Update(_))),
            CursorWord::Option(CursorOption::ReadOnly) if is_for_read_only(definition) => true,
            CursorWord::Option(option) => definition.options.contains(&option),
        }
    }

    fn text(self) -> &'static str {
        let named = |option| OPTIONS.iter().find(|(_, other)| *other == option).map_or("", |(word, _)| word);
        match self {
            CursorWord::ForUpdate => "FOR UPDATE",
            CursorWord::Option(option) => named(option),
        }
    }
}

fn is_for_read_only(definition: &CursorDefinition) -> bool {
    definition.updatability == Some(CursorUpdatability::ReadOnly)
}

impl Parser<'_> {
    /// The rest of `DECLARE name [INSENSITIVE] [SCROLL] CURSOR ..`.
    pub(super) fn declare_cursor(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        let mut options = Vec::new();
        for (word, option) in [OPTIONS[0], OPTIONS[4]] {
            if self.accept_word(word) {
                options.push(option);
            }
        }
        let definition = self.cursor_definition(options)?;
        Ok(StatementKind::DeclareCursor(Box::new(DeclareCursor { name, definition })))
    }

    /// `CURSOR options FOR query [FOR READ ONLY | FOR UPDATE [OF ..]]`
    pub(super) fn cursor_definition(&mut self, mut options: Vec<CursorOption>) -> Parsed<CursorDefinition> {
        self.expect(Keyword::Cursor)?;
        let is_iso = !options.is_empty();
        while !self.accept(Keyword::For) {
            if self.at_word("INSENSITIVE") {
                return Err(self.error_at(153, self.token(), "insensitive".to_string()));
            }
            let Some((word, option)) = OPTIONS.iter().skip(1).find(|(word, _)| self.at_word(word)) else {
                return Err(self.unexpected());
            };
            if is_iso {
                return Err(self.error_at(1049, self.token(), String::new()));
            }
            self.accept_word(word);
            options.push(*option);
        }
        let with = if self.at(Keyword::With) { Some(self.with_clause()?) } else { None };
        let query = self.query()?;
        let mut hints = self.query_hints_opt()?;
        let updatability = self.updatability_opt()?;
        if hints.is_empty() {
            hints = self.query_hints_opt()?;
        }
        let definition = CursorDefinition { options, is_iso, with, query, hints, updatability };
        self.check_cursor_options(&definition)?;
        Ok(definition)
    }

    /// Errors 1048 and 1058: conflicting properties of the cursor.
    fn check_cursor_options(&self, definition: &CursorDefinition) -> Parsed<()> {
        if is_for_read_only(definition) && definition.options.contains(&CursorOption::ReadOnly) {
            return Err(self.error_at(1058, self.token(), String::new()));
        }
        let both =
            |pair: &&(CursorWord, CursorWord)| pair.0.stands_in(definition) && pair.1.stands_in(definition);
        match CONFLICTS.iter().find(both) {
            Some((first, second)) => {
                let words = format!("{} and {}", first.text(), second.text());
                Err(self.error_at(1048, self.token(), words))
            }
            None => Ok(()),
        }
    }

    fn updatability_opt(&mut self) -> Parsed<Option<CursorUpdatability>> {
        if self.at(Keyword::For) && self.at_ahead(1, Keyword::Read) {
            self.advance();
            self.advance();
            self.expect_word("ONLY")?;
            return Ok(Some(CursorUpdatability::ReadOnly));
        }
        if self.at(Keyword::For) && self.at_ahead(1, Keyword::Update) {
            self.advance();
            self.advance();
            let columns =
                if self.accept(Keyword::Of) { self.comma_list(Self::column_ref)? } else { Vec::new() };
            return Ok(Some(CursorUpdatability::Update(columns)));
        }
        Ok(None)
    }

    /// `[GLOBAL] name` or `@cursor`
    pub(super) fn cursor_ref(&mut self) -> Parsed<CursorRef> {
        if self.kind() == TokenKind::Variable {
            return Ok(CursorRef::Variable(self.variable()?));
        }
        let global = self.at_word("GLOBAL") && self.ident_ahead(1);
        if global {
            self.advance();
        }
        Ok(CursorRef::Name { name: self.ident()?, global })
    }

    /// OPEN, CLOSE, DEALLOCATE; OPEN and CLOSE of keys are kept as text.
    pub(super) fn cursor_statement(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        if self.at_ahead(2, Keyword::Key) || (self.at_ahead(2, Keyword::All) && self.word_ahead(1, "ALL")) {
            return self.other(match (keyword, self.word_ahead(1, "MASTER")) {
                (Keyword::Open, true) => "OPEN MASTER KEY",
                (Keyword::Open, false) => "OPEN SYMMETRIC KEY",
                (_, true) => "CLOSE MASTER KEY",
                (_, false) => "CLOSE SYMMETRIC KEY",
            });
        }
        if keyword == Keyword::Close && self.at_ahead(1, Keyword::All) {
            return self.other("CLOSE ALL SYMMETRIC KEYS");
        }
        self.advance();
        let cursor = self.cursor_ref()?;
        Ok(match keyword {
            Keyword::Open => StatementKind::OpenCursor(cursor),
            Keyword::Close => StatementKind::CloseCursor(cursor),
            _ => StatementKind::DeallocateCursor(cursor),
        })
    }

    /// FETCH [direction FROM] cursor [INTO ..]
    pub(super) fn fetch(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let direction = self.fetch_direction_opt()?;
        if !self.accept(Keyword::From)
            && direction.is_some()
            && !self.at_ident()
            && self.kind() != TokenKind::Variable
        {
            return Err(self.unexpected());
        }
        let cursor = self.cursor_ref()?;
        let into = if self.accept(Keyword::Into) { self.comma_list(Self::variable)? } else { Vec::new() };
        Ok(StatementKind::Fetch(Box::new(Fetch { direction, cursor, into })))
    }

    fn fetch_direction_opt(&mut self) -> Parsed<Option<FetchDirection>> {
        // `FETCH next` may also name a cursor: a direction has FROM or another name behind it.
        let simple = |p: &Self| {
            p.at_ahead(1, Keyword::From) || p.ident_ahead(1) || p.peek_kind(1) == TokenKind::Variable
        };
        let direction = match () {
            () if self.at_word("NEXT") && simple(self) => FetchDirection::Next,
            () if self.at_word("PRIOR") && simple(self) => FetchDirection::Prior,
            () if self.at_word("FIRST") && simple(self) => FetchDirection::First,
            () if self.at_word("LAST") && simple(self) => FetchDirection::Last,
            () if self.at_word("ABSOLUTE") => {
                self.advance();
                return Ok(Some(FetchDirection::Absolute(self.signed_constant()?)));
            }
            () if self.at_word("RELATIVE") => {
                self.advance();
                return Ok(Some(FetchDirection::Relative(self.signed_constant()?)));
            }
            () => return Ok(None),
        };
        self.advance();
        Ok(Some(direction))
    }
}
