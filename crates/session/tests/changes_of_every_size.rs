//! Each data-changing statement over one row, two, a page of them, 5,000, 5,001 (one more than the limit of lock escalation) and
//! 100,000: with locks of rows, pages and the table, with row versions, on every shape of table, in and outside the transaction that created it,
//! rolled back or not. A model predicts the statement's result and the contents of each index afterwards.
//!
//! A run tests a part of all combinations; `HARDPAN_TEST_SEEDS=n` tests n times as many, `HARDPAN_TEST_SEED` others.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::collections::BTreeMap;

use crate::common::random::{Random, seed};
use crate::common::{World, rows, run};
use hardpan_session::Session;

/// What a row holds besides its id: the length stands for the text.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    n: i64,
    f: i64,
    length: i64,
}

type Rows = BTreeMap<i64, Row>;

/// A table's columns, keys and indexes.
#[derive(Debug)]
struct Shape {
    columns: &'static str,
    /// The nonclustered indexes.
    indexes: &'static [&'static str],
    /// Text lies beside the rows.
    is_large: bool,
    /// Another table refers to it.
    is_referenced: bool,
}

const fn shape(columns: &'static str, indexes: &'static [&'static str]) -> Shape {
    Shape { columns, indexes, is_large: false, is_referenced: false }
}

const HEAP: &str = "id int NOT NULL, n int, f int, s varchar(400)";
const BOTH: &str = "id int PRIMARY KEY, n int, f int, s varchar(400), INDEX ix (n)";
const SHAPES: [Shape; 9] = [
    shape(HEAP, &[]),
    shape("id int NOT NULL, n int, f int, s varchar(400), INDEX ix (n), INDEX u UNIQUE (id)", &["ix", "u"]),
    shape("id int PRIMARY KEY, n int, f int, s varchar(400)", &[]),
    shape("id int NOT NULL, n int, f int, s varchar(400), PRIMARY KEY (id DESC)", &[]),
    shape(BOTH, &["ix"]),
    // Keys that are not unique; an index that grows with its rows.
    shape(
        "id int NOT NULL, n int, f int, s varchar(400), INDEX c CLUSTERED (n), INDEX u UNIQUE (id) INCLUDE (s)",
        &["u"],
    ),
    shape(
        "id int NOT NULL, n int, f int, s varchar(400), INDEX c CLUSTERED (n DESC, f), INDEX g (f) INCLUDE (n, id, s)",
        &["g"],
    ),
    Shape {
        is_large: true,
        ..shape("id int PRIMARY KEY, n int, f int, s varchar(max), INDEX ix (n)", &["ix"])
    },
    Shape { is_referenced: true, ..shape(BOTH, &["ix"]) },
];

/// Where the table is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Database,
    Temporary,
    Variable,
}

/// How rows are locked.
#[derive(Debug)]
struct Mode {
    database: &'static str,
    hint: &'static str,
    level: &'static str,
    /// Another session has a lock of the table, so that locks of rows do not become the table's.
    is_watched: bool,
}

const fn mode(database: &'static str, level: &'static str, hint: &'static str) -> Mode {
    Mode { database, hint, level, is_watched: false }
}

const MODES: [Mode; 12] = [
    mode("d", "READ COMMITTED", ""),
    mode("d", "READ COMMITTED", " WITH (ROWLOCK)"),
    mode("d", "READ COMMITTED", " WITH (PAGLOCK)"),
    mode("d", "READ COMMITTED", " WITH (TABLOCK)"),
    mode("d", "READ COMMITTED", " WITH (TABLOCKX)"),
    mode("d", "READ COMMITTED", " WITH (UPDLOCK)"),
    Mode { is_watched: true, ..mode("d", "READ COMMITTED", "") },
    mode("d", "SERIALIZABLE", ""),
    mode("d", "READ UNCOMMITTED", ""),
    mode("versions", "READ COMMITTED", ""),
    mode("versions", "SNAPSHOT", ""),
    mode("versions", "REPEATABLE READ", " WITH (TABLOCK)"),
];

/// In which transaction the statement runs, and how that ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Frame {
    Alone,
    Committed,
    RolledBack,
    BackToSavepoint,
    /// The transaction has made the table, too.
    Own,
    OwnBackToSavepoint,
    OwnRolledBack,
}

const FRAMES: [Frame; 7] = [
    Frame::Alone,
    Frame::Committed,
    Frame::RolledBack,
    Frame::BackToSavepoint,
    Frame::Own,
    Frame::OwnBackToSavepoint,
    Frame::OwnRolledBack,
];

impl Frame {
    fn is_own(self) -> bool {
        matches!(self, Frame::Own | Frame::OwnBackToSavepoint | Frame::OwnRolledBack)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Statement {
    InsertValues,
    InsertSelect,
    InsertBackward,
    InsertOwnRows,
    UpdatePlain,
    UpdateIndexed,
    UpdateKeyByOne,
    UpdateKeyFar,
    UpdateKeyBackward,
    UpdateGrowing,
    UpdateGrowingHalf,
    UpdateShrinking,
    DeleteAll,
    DeleteTrue,
    DeleteHalf,
    DeleteOne,
    DeleteRange,
    DeleteByIndexed,
    DeleteTop,
    DeleteTopOrdered,
    DeleteOutput,
    DeleteAndInsert,
    MergeAll,
    MergeDelete,
    Truncate,
}

const STATEMENTS: [Statement; 25] = [
    Statement::InsertValues,
    Statement::InsertSelect,
    Statement::InsertBackward,
    Statement::InsertOwnRows,
    Statement::UpdatePlain,
    Statement::UpdateIndexed,
    Statement::UpdateKeyByOne,
    Statement::UpdateKeyFar,
    Statement::UpdateKeyBackward,
    Statement::UpdateGrowing,
    Statement::UpdateGrowingHalf,
    Statement::UpdateShrinking,
    Statement::DeleteAll,
    Statement::DeleteTrue,
    Statement::DeleteHalf,
    Statement::DeleteOne,
    Statement::DeleteRange,
    Statement::DeleteByIndexed,
    Statement::DeleteTop,
    Statement::DeleteTopOrdered,
    Statement::DeleteOutput,
    Statement::DeleteAndInsert,
    Statement::MergeAll,
    Statement::MergeDelete,
    Statement::Truncate,
];

/// The rows of a table before the statement.
fn first_rows(first: i64, last: i64, is_large: bool) -> Rows {
    let length = |id: i64| if is_large { 9_000 } else { 20 + id % 11 };
    (first..=last).map(|id| (id, Row { n: id % 97, f: id % 5, length: length(id) })).collect()
}

fn filling(table: &str, hint: &str, (first, last): (i64, i64), is_large: bool, order: &str) -> String {
    let text = if is_large {
        "REPLICATE(CAST('x' AS varchar(max)), 9000)"
    } else {
        "REPLICATE('x', 20 + value % 11)"
    };
    format!(
        "INSERT {table}{hint} (id, n, f, s) SELECT value, value % 97, value % 5, {text} FROM GENERATE_SERIES({first}, {last}){order}"
    )
}

impl Statement {
    fn can_run(self, case: &Case) -> bool {
        let large_only_where_few = !case.shape.is_large || case.size <= 200;
        let values_fit = self != Statement::InsertValues || case.size <= 6_000;
        let may_truncate = !case.shape.is_referenced && case.place != Place::Variable;
        let is_foreign = case.shape.is_referenced && case.place != Place::Database;
        let is_framed = case.place == Place::Variable && case.frame.is_own();
        let is_hidden = case.place != Place::Database || case.frame.is_own();
        let may_be_watched = !is_hidden && self != Statement::Truncate;
        large_only_where_few
            && values_fit
            && (may_truncate || self != Statement::Truncate)
            && !is_foreign
            && !is_framed
            && (may_be_watched || !case.mode.is_watched)
    }

    /// The statements; the last one tells its rows.
    fn texts(self, case: &Case) -> Vec<String> {
        let (size, table) = (case.size, case.table.as_str());
        let hint = case.hint();
        let half = size / 2;
        let series = |from: i64, to: i64, order: &str| {
            vec![filling(table, hint, (from, to), case.shape.is_large, order)]
        };
        let update = |set: &str| vec![format!("UPDATE {table}{hint} SET {set}")];
        let delete = |of: &str| vec![format!("DELETE {table}{hint}{of}")];
        let padding = if case.shape.is_large {
            "REPLICATE(CAST('y' AS varchar(max)), 5000)"
        } else {
            "REPLICATE('y', 200)"
        };
        match self {
            Statement::InsertValues => insert_values(table, hint, size),
            Statement::InsertSelect => series(size + 1, size * 2, ""),
            Statement::InsertBackward => series(size + 1, size * 2, " ORDER BY value DESC"),
            Statement::InsertOwnRows => vec![format!(
                "INSERT {table}{hint} (id, n, f, s) SELECT id + {size}, n, f, s FROM {table}"
            )],
            Statement::UpdatePlain => update("f = f + 1"),
            Statement::UpdateIndexed => update("n = n + 1"),
            Statement::UpdateKeyByOne => update("id = id + 1"),
            Statement::UpdateKeyFar => update(&format!("id = id + {}", size * 3)),
            Statement::UpdateKeyBackward => update("id = -id"),
            Statement::UpdateGrowing => update(&format!("s = s + {padding}")),
            Statement::UpdateGrowingHalf => update(&format!("s = s + {padding} WHERE id % 2 = 0")),
            Statement::UpdateShrinking => update("s = 'z'"),
            Statement::DeleteAll => delete(""),
            Statement::DeleteTrue => delete(" WHERE 1 = 1"),
            Statement::DeleteHalf => delete(" WHERE id % 2 = 0"),
            Statement::DeleteOne => delete(&format!(" WHERE id = {}", half + 1)),
            Statement::DeleteRange => delete(&format!(" WHERE id > {half}")),
            Statement::DeleteByIndexed => delete(" WHERE n < 20"),
            Statement::DeleteTop => vec![format!("DELETE TOP ({}) {table}{hint}", half + 1)],
            Statement::DeleteTopOrdered => vec![format!(
                "WITH lowest AS (SELECT TOP ({}) id FROM {table}{hint} ORDER BY id) DELETE lowest",
                half + 1
            )],
            Statement::DeleteOutput => vec![format!(
                "DECLARE @gone TABLE (id int, s varchar(max)); DELETE {table}{hint} OUTPUT deleted.id, deleted.s INTO @gone"
            )],
            Statement::DeleteAndInsert => {
                let mut texts = delete("");
                texts.append(&mut series(half + 1, size + half, ""));
                texts
            }
            Statement::MergeAll => vec![format!(
                "MERGE {table}{hint} AS x USING (SELECT value FROM GENERATE_SERIES({}, {})) AS y ON x.id = y.value
                 WHEN MATCHED THEN UPDATE SET f = x.f + 1
                 WHEN NOT MATCHED BY TARGET THEN INSERT (id, n, f, s) VALUES (y.value, 1, 2, 'new')
                 WHEN NOT MATCHED BY SOURCE THEN DELETE;",
                half + 1,
                size + half
            )],
            Statement::MergeDelete => vec![format!(
                "MERGE {table}{hint} AS x USING (SELECT 1 AS one) AS y ON 1 = 0 WHEN NOT MATCHED BY SOURCE THEN DELETE;"
            )],
            Statement::Truncate => vec![format!("TRUNCATE TABLE {table}")],
        }
    }

    /// What the table holds afterwards, and the number of rows that the statement tells.
    fn apply(self, case: &Case, before: &Rows) -> (Expected, i64) {
        let (size, half) = (case.size, case.size / 2);
        let mut after = before.clone();
        let padding = if case.shape.is_large { 5_000 } else { 200 };
        let mut count = size;
        match self {
            Statement::InsertValues => {
                after.extend((size + 1..=size * 2).map(|id| (id, Row { n: id % 97, f: 3, length: 5 })));
            }
            Statement::InsertSelect | Statement::InsertBackward => {
                after.extend(first_rows(size + 1, size * 2, case.shape.is_large));
            }
            Statement::InsertOwnRows => after.extend(before.iter().map(|(id, row)| (id + size, *row))),
            Statement::UpdatePlain => after.values_mut().for_each(|row| row.f += 1),
            Statement::UpdateIndexed => after.values_mut().for_each(|row| row.n += 1),
            Statement::UpdateKeyByOne => after = moved(before, |id| id + 1),
            Statement::UpdateKeyFar => after = moved(before, |id| id + size * 3),
            Statement::UpdateKeyBackward => after = moved(before, |id| -id),
            Statement::UpdateGrowing => after.values_mut().for_each(|row| row.length += padding),
            Statement::UpdateGrowingHalf => {
                after.iter_mut().filter(|(id, _)| *id % 2 == 0).for_each(|(_, row)| row.length += padding);
                count = half;
            }
            Statement::UpdateShrinking => after.values_mut().for_each(|row| row.length = 1),
            Statement::DeleteAll
            | Statement::DeleteTrue
            | Statement::DeleteOutput
            | Statement::MergeDelete => after.clear(),
            Statement::DeleteHalf => after.retain(|id, _| id % 2 != 0),
            Statement::DeleteOne => after.retain(|id, _| *id != half + 1),
            Statement::DeleteRange => after.retain(|id, _| *id <= half),
            Statement::DeleteByIndexed => after.retain(|_, row| row.n >= 20),
            Statement::DeleteTop => return (Expected::Some(after, size - half - 1), half + 1),
            Statement::DeleteTopOrdered => after.retain(|id, _| *id > half + 1),
            Statement::DeleteAndInsert => after = first_rows(half + 1, size + half, case.shape.is_large),
            Statement::MergeAll => {
                after.retain(|id, _| *id > half);
                after.values_mut().for_each(|row| row.f += 1);
                after.extend((size + 1..=size + half).map(|id| (id, Row { n: 1, f: 2, length: 3 })));
                count = size + half;
            }
            Statement::Truncate => {
                after.clear();
                count = 0;
            }
        }
        let deletes_some = matches!(
            self,
            Statement::DeleteHalf
                | Statement::DeleteOne
                | Statement::DeleteRange
                | Statement::DeleteByIndexed
                | Statement::DeleteTopOrdered
        );
        if deletes_some {
            count = (before.len() - after.len()) as i64;
        }
        if self == Statement::InsertValues {
            // What the last of several statements has inserted.
            count = (size - 1) % VALUES_MAX + 1;
        }
        (Expected::Exactly(after), count)
    }
}

fn moved(rows: &Rows, key: impl Fn(i64) -> i64) -> Rows {
    rows.iter().map(|(id, row)| (key(*id), *row)).collect()
}

/// Rows of one VALUES, at most.
const VALUES_MAX: i64 = 1_000;

fn insert_values(table: &str, hint: &str, size: i64) -> Vec<String> {
    let ids: Vec<i64> = (size + 1..=size * 2).collect();
    let values = |ids: &[i64]| {
        let rows: Vec<String> = ids.iter().map(|id| format!("({id}, {}, 3, 'value')", id % 97)).collect();
        format!("INSERT {table}{hint} (id, n, f, s) VALUES {}", rows.join(", "))
    };
    ids.chunks(VALUES_MAX as usize).map(values).collect()
}

/// What a table must hold.
#[derive(Clone, Debug)]
enum Expected {
    Exactly(Rows),
    /// So many of these.
    Some(Rows, i64),
}

/// What is done next.
enum Step {
    Run(String),
    /// The other session does.
    Other(String),
    /// The statement's number of rows.
    Counted(String, i64),
    Check(Expected),
    /// There is no such table.
    Gone,
}

/// One combination.
#[derive(Debug)]
struct Case {
    table: String,
    shape: &'static Shape,
    place: Place,
    mode: &'static Mode,
    frame: Frame,
    statement: Statement,
    size: i64,
}

impl Case {
    fn hint(&self) -> &'static str {
        if self.place == Place::Variable { "" } else { self.mode.hint }
    }

    fn make(&self) -> Vec<Step> {
        let (table, columns) = (&self.table, self.shape.columns);
        let mut steps = vec![Step::Run(match self.place {
            Place::Variable => format!("DECLARE {table} TABLE ({columns})"),
            Place::Database | Place::Temporary => {
                format!("CREATE TABLE {table} ({columns})")
            }
        })];
        if self.shape.is_referenced {
            steps.push(Step::Run(format!("CREATE TABLE {table}_child (parent int REFERENCES {table} (id))")));
        }
        steps.push(Step::Run(filling(table, "", (1, self.size), self.shape.is_large, "")));
        steps
    }

    fn steps(&self) -> Vec<Step> {
        let before = first_rows(1, self.size, self.shape.is_large);
        let (after, count) = self.statement.apply(self, &before);
        let unchanged = || Step::Check(Expected::Exactly(before.clone()));
        // What is in a variable stays as it is.
        let rolled_back =
            || if self.place == Place::Variable { Step::Check(after.clone()) } else { unchanged() };
        let text = |text: &str| Step::Run(text.into());
        let mut statements: Vec<Step> = self.statement.texts(self).into_iter().map(Step::Run).collect();
        if let Some(Step::Run(last)) = statements.pop() {
            statements.push(Step::Counted(last, count));
        }
        statements.push(Step::Check(after.clone()));
        let level = text(&format!("SET TRANSACTION ISOLATION LEVEL {}", self.mode.level));
        let mut steps = Vec::new();
        if self.frame.is_own() {
            steps.extend([level, text("BEGIN TRAN")]);
            steps.extend(self.make());
        } else {
            steps.extend(self.make());
            if self.mode.is_watched {
                let look = format!("BEGIN TRAN; SELECT TOP (0) id FROM {} WITH (REPEATABLEREAD)", self.table);
                steps.push(Step::Other(look));
            }
            steps.push(level);
            if self.frame != Frame::Alone {
                steps.push(text("BEGIN TRAN"));
            }
        }
        let to_savepoint = matches!(self.frame, Frame::BackToSavepoint | Frame::OwnBackToSavepoint);
        if to_savepoint {
            steps.push(text("SAVE TRAN before"));
        }
        steps.extend(statements);
        match self.frame {
            Frame::Alone => {}
            Frame::Committed | Frame::Own => steps.extend([text("COMMIT"), Step::Check(after.clone())]),
            Frame::RolledBack => steps.extend([text("ROLLBACK"), rolled_back()]),
            Frame::BackToSavepoint | Frame::OwnBackToSavepoint => {
                steps.extend([text("ROLLBACK TRAN before"), rolled_back(), text("COMMIT"), rolled_back()])
            }
            Frame::OwnRolledBack => steps.extend([text("ROLLBACK"), Step::Gone]),
        }
        steps
    }

    /// Reads the table in each of its orders.
    fn reading(&self, expected: &Expected) -> Vec<String> {
        let table = &self.table;
        let sums = |hint: &str| {
            format!(
                "SELECT COUNT_BIG(*), ISNULL(SUM(CAST(id AS bigint)), 0), ISNULL(SUM(CAST(id AS bigint) * n), 0),
                 ISNULL(SUM(CAST(f AS bigint) * (id % 1009)), 0), ISNULL(SUM(CAST(LEN(s) AS bigint) * (id % 1009)), 0) FROM {table}{hint}"
            )
        };
        let mut texts = Vec::new();
        if let Expected::Some(..) = expected {
            texts.push(format!("SELECT id FROM {table}"));
        }
        texts.push(sums(""));
        for index in self.shape.indexes {
            texts.push(sums(&format!(" WITH (INDEX({index}))")));
        }
        if self.place == Place::Database {
            texts.push(format!(
                "SELECT MIN(rows), MAX(rows) FROM sys.partitions WHERE object_id = OBJECT_ID('{table}')"
            ));
        }
        texts
    }

    /// What `reading` gives; the first of the sets are its answers, and are taken away.
    fn judge(&self, expected: &Expected, sets: &mut impl Iterator<Item = Vec<String>>) {
        let rows = match expected {
            Expected::Exactly(rows) => rows.clone(),
            Expected::Some(of, count) => {
                let ids = sets.next().unwrap();
                assert_eq!(ids.len() as i64, *count, "rows are left: {self:?}");
                let left: Rows =
                    ids.iter().map(|id| (id.parse().unwrap(), of[&id.parse().unwrap()])).collect();
                assert_eq!(left.len(), ids.len(), "each once: {self:?}");
                left
            }
        };
        let sum =
            |value: &dyn Fn(i64, &Row) -> i64| -> i64 { rows.iter().map(|(id, row)| value(*id, row)).sum() };
        let sums = format!(
            "{}|{}|{}|{}|{}",
            rows.len(),
            sum(&|id, _| id),
            sum(&|id, row| id * row.n),
            sum(&|id, row| id % 1009 * row.f),
            sum(&|id, row| id % 1009 * row.length)
        );
        for order in std::iter::once(&"the table").chain(self.shape.indexes) {
            assert_eq!(sets.next().unwrap(), [sums.as_str()], "{order}: {self:?}");
        }
        if self.place == Place::Database {
            assert_eq!(sets.next().unwrap(), [format!("{0}|{0}", rows.len())], "kept counts: {self:?}");
        }
    }

    fn run(&self, session: &mut Session, other: &mut Session) {
        let steps = self.steps();
        let mut sets = match self.place {
            // It lives as long as its batch.
            Place::Variable => {
                let texts: Vec<String> = steps.iter().map(|step| self.text_of(step)).collect();
                self.sets(session, &texts.join(";\n"))
            }
            Place::Database | Place::Temporary => {
                let sets_of = |step: &Step| match step {
                    Step::Other(text) => {
                        run(other, text);
                        Vec::new()
                    }
                    step => self.sets(session, &self.text_of(step)),
                };
                steps.iter().flat_map(sets_of).collect()
            }
        }
        .into_iter();
        for step in &steps {
            match step {
                Step::Run(_) | Step::Other(_) => {}
                Step::Counted(_, count) => {
                    assert_eq!(sets.next().unwrap(), [count.to_string()], "rows of the statement: {self:?}");
                }
                Step::Check(expected) => self.judge(expected, &mut sets),
                Step::Gone => assert_eq!(sets.next().unwrap(), ["NULL"], "{self:?}"),
            }
        }
        assert!(sets.next().is_none(), "no more was read: {self:?}");
        if self.mode.is_watched {
            run(other, "COMMIT");
        }
        if self.place == Place::Variable || self.frame == Frame::OwnRolledBack {
            return;
        }
        if self.shape.is_referenced {
            run(session, &format!("DROP TABLE {}_child", self.table));
        }
        run(session, &format!("DROP TABLE {}", self.table));
    }

    fn text_of(&self, step: &Step) -> String {
        match step {
            Step::Run(text) | Step::Other(text) => text.clone(),
            Step::Counted(text, _) => format!("{text}\n;SELECT ROWCOUNT_BIG()"),
            Step::Check(expected) => self.reading(expected).join(";\n"),
            Step::Gone => match self.place {
                Place::Temporary => format!("SELECT OBJECT_ID('tempdb..{}')", self.table),
                Place::Database | Place::Variable => {
                    format!("SELECT OBJECT_ID('{}')", self.table)
                }
            },
        }
    }

    /// The result sets of a batch that must succeed.
    fn sets(&self, session: &mut Session, text: &str) -> Vec<Vec<String>> {
        let seen = run(session, text);
        let shown = &text[..text.len().min(200)];
        assert!(seen.messages.is_empty(), "{:?} by {shown}: {self:?}", seen.messages);
        seen.sets.into_iter().map(|(_, rows)| rows.into_iter().map(|row| row.join("|")).collect()).collect()
    }
}

/// How many rows of a heap fill a page.
fn rows_of_a_page(session: &mut Session) -> i64 {
    run(session, &format!("CREATE TABLE page ({HEAP})"));
    let pages = "SELECT page_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('page'), 0, NULL, 'DETAILED')";
    let mut fits = 0;
    while rows(session, pages) != ["2"] {
        fits += 1;
        run(session, &filling("page", "", (fits, fits), false, ""));
        assert!(fits < 1_000, "a page has no more rows");
    }
    run(session, "DROP TABLE page");
    fits - 1
}

/// Runs so many combinations of each statement with each mode.
fn run_cases(name: &str, sizes: &[i64], number: usize) {
    let (world, mut session) = World::in_database(&format!("every-size-{name}"));
    let page = rows_of_a_page(&mut session);
    let sizes: Vec<i64> = if sizes.is_empty() { vec![page, page + 1] } else { sizes.to_vec() };
    let mut other = world.session();
    run(&mut other, "USE d");
    run(&mut session, "CREATE DATABASE versions");
    for database in ["d", "versions"] {
        run(&mut session, &format!("ALTER DATABASE {database} SET RECOVERY SIMPLE"));
    }
    for option in ["ALLOW_SNAPSHOT_ISOLATION", "READ_COMMITTED_SNAPSHOT"] {
        run(&mut session, &format!("ALTER DATABASE versions SET {option} ON"));
    }
    let times = std::env::var("HARDPAN_TEST_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut random = Random::new(seed(sizes[0] as u64));
    let mut ran = 0;
    for _ in 0..times {
        for statement in STATEMENTS {
            let modes = (0..MODES.len()).cycle().skip(random.below(MODES.len() as u64) as usize);
            for mode in modes.take(number) {
                let place =
                    *random.one_of(&[Place::Database, Place::Database, Place::Temporary, Place::Variable]);
                let table = match place {
                    Place::Database => format!("t{ran}"),
                    Place::Temporary => format!("#t{ran}"),
                    Place::Variable => "@t".into(),
                };
                let case = Case {
                    table,
                    shape: random.one_of(&SHAPES),
                    place,
                    mode: &MODES[mode],
                    frame: *random.one_of(&FRAMES),
                    statement,
                    size: *random.one_of(&sizes),
                };
                if statement.can_run(&case) {
                    let begin =
                        format!("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; USE {}", case.mode.database);
                    run(&mut session, &begin);
                    case.run(&mut session, &mut other);
                    ran += 1;
                }
            }
        }
    }
    assert!(ran > STATEMENTS.len() * number / 2 * times, "{ran} combinations ran");
    for database in ["d", "versions", "tempdb"] {
        let seen = run(&mut session, &format!("DBCC CHECKDB ({database}) WITH NO_INFOMSGS"));
        assert!(seen.messages.is_empty(), "{database}: {:?}", seen.messages);
    }
    session.close();
    other.close();
    drop(world);
}

#[test]
fn one_row() {
    run_cases("one", &[1], MODES.len() * 4);
}

#[test]
fn two_rows() {
    run_cases("two", &[2], MODES.len() * 4);
}

#[test]
fn a_page_of_rows() {
    run_cases("page", &[], MODES.len() * 2);
}

#[test]
fn five_thousand_rows() {
    run_cases("5000", &[5_000], 5);
}

/// One more than locks of rows become the table's at.
#[test]
fn five_thousand_and_one_rows() {
    run_cases("5001", &[5_001], 8);
}

#[test]
fn a_hundred_thousand_rows() {
    run_cases("100000", &[100_000], 1);
}
