//! The reserved keywords of T-SQL and their lookup.

/// A reserved keyword. Words with a meaning only in some contexts are ordinary identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Keyword {
    Add,
    All,
    Alter,
    And,
    Any,
    As,
    Asc,
    Authorization,
    Backup,
    Begin,
    Between,
    Break,
    Browse,
    Bulk,
    By,
    Cascade,
    Case,
    Check,
    Checkpoint,
    Close,
    Clustered,
    Coalesce,
    Collate,
    Column,
    Commit,
    Compute,
    Constraint,
    Contains,
    Containstable,
    Continue,
    Convert,
    Create,
    Cross,
    Current,
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    CurrentUser,
    Cursor,
    Database,
    Dbcc,
    Deallocate,
    Declare,
    Default,
    Delete,
    Deny,
    Desc,
    Disk,
    Distinct,
    Distributed,
    Double,
    Drop,
    Dump,
    Else,
    End,
    Errlvl,
    Escape,
    Except,
    Exec,
    Execute,
    Exists,
    Exit,
    External,
    Fetch,
    File,
    Fillfactor,
    For,
    Foreign,
    Freetext,
    Freetexttable,
    From,
    Full,
    Function,
    Goto,
    Grant,
    Group,
    Having,
    Holdlock,
    Identity,
    IdentityInsert,
    Identitycol,
    If,
    In,
    Index,
    Inner,
    Insert,
    Intersect,
    Into,
    Is,
    Join,
    Key,
    Kill,
    Left,
    Like,
    Lineno,
    Load,
    Merge,
    National,
    Nocheck,
    Nonclustered,
    Not,
    Null,
    Nullif,
    Of,
    Off,
    Offsets,
    On,
    Open,
    Opendatasource,
    Openquery,
    Openrowset,
    Openxml,
    Option,
    Or,
    Order,
    Outer,
    Over,
    Percent,
    Pivot,
    Plan,
    Primary,
    Print,
    Proc,
    Procedure,
    Public,
    Raiserror,
    Read,
    Readtext,
    Reconfigure,
    References,
    Replication,
    Restore,
    Restrict,
    Return,
    Revert,
    Revoke,
    Right,
    Rollback,
    Rowcount,
    Rowguidcol,
    Rule,
    Save,
    Schema,
    Securityaudit,
    Select,
    Semantickeyphrasetable,
    Semanticsimilaritydetailstable,
    Semanticsimilaritytable,
    SessionUser,
    Set,
    Setuser,
    Shutdown,
    Some,
    Statistics,
    SystemUser,
    Table,
    Tablesample,
    Textsize,
    Then,
    To,
    Top,
    Tran,
    Transaction,
    Trigger,
    Truncate,
    TryConvert,
    Tsequal,
    Union,
    Unique,
    Unpivot,
    Update,
    Updatetext,
    Use,
    User,
    Values,
    Varying,
    View,
    Waitfor,
    When,
    Where,
    While,
    With,
    Writetext,
}

/// Every keyword with its spelling.
const KEYWORDS: [(&str, Keyword); 183] = [
    ("ADD", Keyword::Add),
    ("ALL", Keyword::All),
    ("ALTER", Keyword::Alter),
    ("AND", Keyword::And),
    ("ANY", Keyword::Any),
    ("AS", Keyword::As),
    ("ASC", Keyword::Asc),
    ("AUTHORIZATION", Keyword::Authorization),
    ("BACKUP", Keyword::Backup),
    ("BEGIN", Keyword::Begin),
    ("BETWEEN", Keyword::Between),
    ("BREAK", Keyword::Break),
    ("BROWSE", Keyword::Browse),
    ("BULK", Keyword::Bulk),
    ("BY", Keyword::By),
    ("CASCADE", Keyword::Cascade),
    ("CASE", Keyword::Case),
    ("CHECK", Keyword::Check),
    ("CHECKPOINT", Keyword::Checkpoint),
    ("CLOSE", Keyword::Close),
    ("CLUSTERED", Keyword::Clustered),
    ("COALESCE", Keyword::Coalesce),
    ("COLLATE", Keyword::Collate),
    ("COLUMN", Keyword::Column),
    ("COMMIT", Keyword::Commit),
    ("COMPUTE", Keyword::Compute),
    ("CONSTRAINT", Keyword::Constraint),
    ("CONTAINS", Keyword::Contains),
    ("CONTAINSTABLE", Keyword::Containstable),
    ("CONTINUE", Keyword::Continue),
    ("CONVERT", Keyword::Convert),
    ("CREATE", Keyword::Create),
    ("CROSS", Keyword::Cross),
    ("CURRENT", Keyword::Current),
    ("CURRENT_DATE", Keyword::CurrentDate),
    ("CURRENT_TIME", Keyword::CurrentTime),
    ("CURRENT_TIMESTAMP", Keyword::CurrentTimestamp),
    ("CURRENT_USER", Keyword::CurrentUser),
    ("CURSOR", Keyword::Cursor),
    ("DATABASE", Keyword::Database),
    ("DBCC", Keyword::Dbcc),
    ("DEALLOCATE", Keyword::Deallocate),
    ("DECLARE", Keyword::Declare),
    ("DEFAULT", Keyword::Default),
    ("DELETE", Keyword::Delete),
    ("DENY", Keyword::Deny),
    ("DESC", Keyword::Desc),
    ("DISK", Keyword::Disk),
    ("DISTINCT", Keyword::Distinct),
    ("DISTRIBUTED", Keyword::Distributed),
    ("DOUBLE", Keyword::Double),
    ("DROP", Keyword::Drop),
    ("DUMP", Keyword::Dump),
    ("ELSE", Keyword::Else),
    ("END", Keyword::End),
    ("ERRLVL", Keyword::Errlvl),
    ("ESCAPE", Keyword::Escape),
    ("EXCEPT", Keyword::Except),
    ("EXEC", Keyword::Exec),
    ("EXECUTE", Keyword::Execute),
    ("EXISTS", Keyword::Exists),
    ("EXIT", Keyword::Exit),
    ("EXTERNAL", Keyword::External),
    ("FETCH", Keyword::Fetch),
    ("FILE", Keyword::File),
    ("FILLFACTOR", Keyword::Fillfactor),
    ("FOR", Keyword::For),
    ("FOREIGN", Keyword::Foreign),
    ("FREETEXT", Keyword::Freetext),
    ("FREETEXTTABLE", Keyword::Freetexttable),
    ("FROM", Keyword::From),
    ("FULL", Keyword::Full),
    ("FUNCTION", Keyword::Function),
    ("GOTO", Keyword::Goto),
    ("GRANT", Keyword::Grant),
    ("GROUP", Keyword::Group),
    ("HAVING", Keyword::Having),
    ("HOLDLOCK", Keyword::Holdlock),
    ("IDENTITY", Keyword::Identity),
    ("IDENTITY_INSERT", Keyword::IdentityInsert),
    ("IDENTITYCOL", Keyword::Identitycol),
    ("IF", Keyword::If),
    ("IN", Keyword::In),
    ("INDEX", Keyword::Index),
    ("INNER", Keyword::Inner),
    ("INSERT", Keyword::Insert),
    ("INTERSECT", Keyword::Intersect),
    ("INTO", Keyword::Into),
    ("IS", Keyword::Is),
    ("JOIN", Keyword::Join),
    ("KEY", Keyword::Key),
    ("KILL", Keyword::Kill),
    ("LEFT", Keyword::Left),
    ("LIKE", Keyword::Like),
    ("LINENO", Keyword::Lineno),
    ("LOAD", Keyword::Load),
    ("MERGE", Keyword::Merge),
    ("NATIONAL", Keyword::National),
    ("NOCHECK", Keyword::Nocheck),
    ("NONCLUSTERED", Keyword::Nonclustered),
    ("NOT", Keyword::Not),
    ("NULL", Keyword::Null),
    ("NULLIF", Keyword::Nullif),
    ("OF", Keyword::Of),
    ("OFF", Keyword::Off),
    ("OFFSETS", Keyword::Offsets),
    ("ON", Keyword::On),
    ("OPEN", Keyword::Open),
    ("OPENDATASOURCE", Keyword::Opendatasource),
    ("OPENQUERY", Keyword::Openquery),
    ("OPENROWSET", Keyword::Openrowset),
    ("OPENXML", Keyword::Openxml),
    ("OPTION", Keyword::Option),
    ("OR", Keyword::Or),
    ("ORDER", Keyword::Order),
    ("OUTER", Keyword::Outer),
    ("OVER", Keyword::Over),
    ("PERCENT", Keyword::Percent),
    ("PIVOT", Keyword::Pivot),
    ("PLAN", Keyword::Plan),
    ("PRIMARY", Keyword::Primary),
    ("PRINT", Keyword::Print),
    ("PROC", Keyword::Proc),
    ("PROCEDURE", Keyword::Procedure),
    ("PUBLIC", Keyword::Public),
    ("RAISERROR", Keyword::Raiserror),
    ("READ", Keyword::Read),
    ("READTEXT", Keyword::Readtext),
    ("RECONFIGURE", Keyword::Reconfigure),
    ("REFERENCES", Keyword::References),
    ("REPLICATION", Keyword::Replication),
    ("RESTORE", Keyword::Restore),
    ("RESTRICT", Keyword::Restrict),
    ("RETURN", Keyword::Return),
    ("REVERT", Keyword::Revert),
    ("REVOKE", Keyword::Revoke),
    ("RIGHT", Keyword::Right),
    ("ROLLBACK", Keyword::Rollback),
    ("ROWCOUNT", Keyword::Rowcount),
    ("ROWGUIDCOL", Keyword::Rowguidcol),
    ("RULE", Keyword::Rule),
    ("SAVE", Keyword::Save),
    ("SCHEMA", Keyword::Schema),
    ("SECURITYAUDIT", Keyword::Securityaudit),
    ("SELECT", Keyword::Select),
    ("SEMANTICKEYPHRASETABLE", Keyword::Semantickeyphrasetable),
    ("SEMANTICSIMILARITYDETAILSTABLE", Keyword::Semanticsimilaritydetailstable),
    ("SEMANTICSIMILARITYTABLE", Keyword::Semanticsimilaritytable),
    ("SESSION_USER", Keyword::SessionUser),
    ("SET", Keyword::Set),
    ("SETUSER", Keyword::Setuser),
    ("SHUTDOWN", Keyword::Shutdown),
    ("SOME", Keyword::Some),
    ("STATISTICS", Keyword::Statistics),
    ("SYSTEM_USER", Keyword::SystemUser),
    ("TABLE", Keyword::Table),
    ("TABLESAMPLE", Keyword::Tablesample),
    ("TEXTSIZE", Keyword::Textsize),
    ("THEN", Keyword::Then),
    ("TO", Keyword::To),
    ("TOP", Keyword::Top),
    ("TRAN", Keyword::Tran),
    ("TRANSACTION", Keyword::Transaction),
    ("TRIGGER", Keyword::Trigger),
    ("TRUNCATE", Keyword::Truncate),
    ("TRY_CONVERT", Keyword::TryConvert),
    ("TSEQUAL", Keyword::Tsequal),
    ("UNION", Keyword::Union),
    ("UNIQUE", Keyword::Unique),
    ("UNPIVOT", Keyword::Unpivot),
    ("UPDATE", Keyword::Update),
    ("UPDATETEXT", Keyword::Updatetext),
    ("USE", Keyword::Use),
    ("USER", Keyword::User),
    ("VALUES", Keyword::Values),
    ("VARYING", Keyword::Varying),
    ("VIEW", Keyword::View),
    ("WAITFOR", Keyword::Waitfor),
    ("WHEN", Keyword::When),
    ("WHERE", Keyword::Where),
    ("WHILE", Keyword::While),
    ("WITH", Keyword::With),
    ("WRITETEXT", Keyword::Writetext),
];

const SLOTS: usize = 1024;

/// Open-addressed table from spelling to index + 1 in `KEYWORDS`.
static TABLE: [u8; SLOTS] = build();

/// First eight bytes of each keyword, as `head` gives them.
static HEADS: [u64; KEYWORDS.len()] = heads();

/// Length of the longest keyword in bytes.
const LONGEST: usize = 30;

/// Folds the case of letters, and maps no other character of a word to a letter or `_`.
const UPPER: u64 = 0xDFDF_DFDF_DFDF_DFDF;

/// The keyword that the word `text[start..end]` (letters, digits and `_@#$` only) spells in any case of letters.
#[inline]
pub fn lookup(text: &[u8], start: usize, end: usize) -> Option<Keyword> {
    let length = end - start;
    if !(2..=LONGEST).contains(&length) {
        return None;
    }
    let head = match text.get(start..start + 8) {
        Some(eight) => u64::from_le_bytes(eight.try_into().unwrap_or_default()),
        None => last_head(&text[start..end]),
    };
    let keep = if length < 8 { (1 << (8 * length)) - 1 } else { u64::MAX };
    let head = head & keep & UPPER;
    let mut slot = hash(head, length);
    loop {
        let index = usize::from(TABLE[slot]).checked_sub(1)?;
        if HEADS[index] == head {
            let (spelling, keyword) = KEYWORDS[index];
            if spelling.len() == length
                && spelling.as_bytes()[8.min(length)..].eq_ignore_ascii_case(&text[(start + 8).min(end)..end])
            {
                return Some(keyword);
            }
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// The first eight bytes of a word at the very end of the text.
#[cold]
fn last_head(word: &[u8]) -> u64 {
    word.iter().take(8).rev().fold(0, |head, byte| head << 8 | u64::from(*byte))
}

impl Keyword {
    /// The keyword in upper case.
    pub fn spelling(self) -> &'static str {
        KEYWORDS[self as usize].0
    }
}

const fn hash(head: u64, length: usize) -> usize {
    ((head ^ (length as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize % SLOTS
}

const fn head(spelling: &[u8]) -> u64 {
    let mut head = 0;
    let mut at = if spelling.len() < 8 { spelling.len() } else { 8 };
    while at > 0 {
        at -= 1;
        head = head << 8 | spelling[at] as u64;
    }
    head
}

const fn heads() -> [u64; KEYWORDS.len()] {
    let mut heads = [0; KEYWORDS.len()];
    let mut index = 0;
    while index < KEYWORDS.len() {
        heads[index] = head(KEYWORDS[index].0.as_bytes());
        index += 1;
    }
    heads
}

const fn build() -> [u8; SLOTS] {
    assert!(KEYWORDS.len() < 255);
    let mut table = [0; SLOTS];
    let mut index = 0;
    while index < KEYWORDS.len() {
        let spelling = KEYWORDS[index].0.as_bytes();
        let mut slot = hash(head(spelling), spelling.len());
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = index as u8 + 1;
        index += 1;
    }
    table
}

/// The values of the server that are read by a name with two at signs.
const GLOBALS: [&str; 35] = [
    "@@COMMIT_TICKET",
    "@@CONNECTIONS",
    "@@CPU_BUSY",
    "@@CURSOR_ROWS",
    "@@DATEFIRST",
    "@@DBTS",
    "@@ERROR",
    "@@FETCH_STATUS",
    "@@IDENTITY",
    "@@IDLE",
    "@@IO_BUSY",
    "@@LANGID",
    "@@LANGUAGE",
    "@@LOCK_TIMEOUT",
    "@@MAX_CONNECTIONS",
    "@@MAX_PRECISION",
    "@@MICROSOFTVERSION",
    "@@NESTLEVEL",
    "@@OPTIONS",
    "@@PACKET_ERRORS",
    "@@PACK_RECEIVED",
    "@@PACK_SENT",
    "@@PROCID",
    "@@REMSERVER",
    "@@ROWCOUNT",
    "@@SERVERNAME",
    "@@SERVICENAME",
    "@@SPID",
    "@@TEXTSIZE",
    "@@TIMETICKS",
    "@@TOTAL_ERRORS",
    "@@TOTAL_READ",
    "@@TOTAL_WRITE",
    "@@TRANCOUNT",
    "@@VERSION",
];

/// Is it, at signs and all, the name of a value of the server's? No variable can have it.
pub fn is_global(name: &str) -> bool {
    GLOBALS.iter().any(|global| global.eq_ignore_ascii_case(name))
}

/// Is the first argument of the function of that name the name of a unit of time, which is a word and no column?
pub(crate) fn takes_unit(function: &str) -> bool {
    const FUNCTIONS: [&str; 10] = [
        "DATEADD",
        "DATEDIFF",
        "DATEDIFF_BIG",
        "DATENAME",
        "DATEPART",
        "DATETRUNC",
        "DATE_BUCKET",
        "EXTRACT",
        "TIMESTAMPADD",
        "TIMESTAMPDIFF",
    ];
    FUNCTIONS.iter().any(|name| name.eq_ignore_ascii_case(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(word: &str) -> Option<Keyword> {
        let alone = lookup(word.as_bytes(), 0, word.len());
        // In the middle of a text, too: the characters behind the word must not matter.
        let text = format!("({word})XXXXXXXX");
        assert_eq!(lookup(text.as_bytes(), 1, 1 + word.len()), alone, "{word}");
        alone
    }

    #[test]
    fn every_keyword_is_found_in_any_case_and_nothing_else() {
        for (spelling, keyword) in KEYWORDS {
            assert!(spelling.len() <= LONGEST, "{spelling}");
            assert_eq!(found(spelling), Some(keyword));
            assert_eq!(found(&spelling.to_lowercase()), Some(keyword));
            assert_eq!(found(&format!("{spelling}x")).filter(|found| *found == keyword), None);
            assert_eq!(keyword.spelling(), spelling);
        }
        for word in
            ["x", "selec", "selects", "throw", "offset", "output", "go", "_rom", "semantickeyphrasetablf"]
        {
            assert_eq!(found(word), None, "{word}");
        }
    }
}
