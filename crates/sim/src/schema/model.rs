//! The clients' model of their tables in scenario `schema`: table kinds, indexes and rows, and the statements that change them.

use std::collections::BTreeMap;
use std::fmt::Write;

use os::Rng;

/// All tables of one client, by name.
pub(crate) type Tables = BTreeMap<String, Table>;

/// The storage of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A heap without a key.
    Heap,
    /// A heap with a nonclustered primary key.
    KeyedHeap,
    /// A tree by its primary key.
    Clustered,
}

/// One table: `k bigint NOT NULL, s varchar(800) NULL, l varchar(max) NULL`, and the integer columns that were added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) kind: Kind,
    /// Added columns in their order, and whether they may be NULL.
    pub(crate) added: Vec<(String, bool)>,
    /// Each index other than the primary key.
    pub(crate) indexes: BTreeMap<String, Index>,
    pub(crate) rows: BTreeMap<i64, Row>,
}

/// An index other than the primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// Its key column.
    pub(crate) column: String,
    /// The filter as sys.indexes shows it; `None`: all rows.
    pub(crate) filter: Option<String>,
}

impl Index {
    /// Does the index contain this row of the table?
    pub(crate) fn has(&self, table: &Table, key: i64, row: &Row) -> bool {
        let Some(filter) = &self.filter else { return true };
        let subject = filter.trim_start_matches("([").split(']').next().unwrap_or_default();
        let bound = || filter.trim_end_matches(')').rsplit('(').next().and_then(|number| number.parse().ok());
        match subject {
            "k" if filter.contains("]>(") => bound().is_some_and(|bound: i64| key > bound),
            "k" => bound().is_some_and(|bound: i64| key <= bound),
            "s" => row.short.is_some(),
            added => {
                let at = table.added.iter().position(|(column, _)| column == added);
                at.is_some_and(|at| row.added[at].is_some())
            }
        }
    }

    /// Does the key or filter use the column?
    fn uses(&self, column: &str) -> bool {
        let is_in_filter = |filter: &String| filter.contains(&format!("[{column}]"));
        self.column == column || self.filter.as_ref().is_some_and(is_in_filter)
    }
}

/// Columns s, l and the added ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) short: Option<Text>,
    pub(crate) long: Option<Text>,
    pub(crate) added: Vec<Option<i64>>,
}

/// One letter, repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) letter: u8,
    pub(crate) length: u32,
}

impl Text {
    fn sql(self) -> String {
        format!("REPLICATE(CAST('{}' AS varchar(max)), {})", char::from(self.letter), self.length)
    }
}

fn text_sql(text: Option<Text>) -> String {
    text.map_or("NULL".to_owned(), Text::sql)
}

/// Values of a column that is added NOT NULL.
pub(crate) const ADDED_DEFAULT: i64 = 7;
/// Limit of the rows of a table.
const ROWS_MAX: usize = 400;
const TABLES_MAX: usize = 3;
/// Keys grow by multiples of this when rows are copied or moved, so that keys stay unique.
const KEY_STEP: i64 = 1 << 24;

/// One change of a client's tables: the SQL text for the server, and `apply` for the model.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The kind of change, for the counters.
    pub(crate) kind: &'static str,
    pub(crate) sql: String,
    apply: Apply,
}

#[derive(Clone, Debug)]
enum Apply {
    Create(String, Kind),
    Drop(String),
    AddColumn(String, String, bool),
    DropColumn(String, String),
    CreateIndex(String, String, Index),
    DropIndex(String, String),
    /// Rebuilds the table.
    Rebuild,
    Truncate(String),
    Insert(String, Vec<(i64, Row)>),
    /// Inserts a copy of every row, with keys larger by this value.
    Copy(String, i64),
    /// Adds a value to the keys of a range.
    Move(String, (i64, i64), i64),
    SetShort(String, (i64, i64), Option<Text>),
    SetLong(String, (i64, i64), Option<Text>),
    Delete(String, (i64, i64)),
}

/// Draws changes; names and keys are never reused.
pub(crate) struct Drawer {
    client: usize,
    /// Short texts fill up to a fifth of a page, so that rows of heaps move often and trees are high.
    is_wild: bool,
    /// Counter for names and keys.
    serial: i64,
}

impl Drawer {
    /// `generation` distinguishes names of different lives.
    pub(crate) fn new(client: usize, generation: i64, is_wild: bool) -> Drawer {
        Drawer { client, is_wild, serial: generation << 14 }
    }

    fn short_bytes_max(&self) -> u64 {
        if self.is_wild { 1_600 } else { 800 }
    }

    fn next(&mut self) -> i64 {
        self.serial += 1;
        self.serial
    }

    /// How far the keys in a range can be moved without meeting another key.
    fn step(&mut self, table: &Table, (low, high): (i64, i64)) -> i64 {
        loop {
            let by = self.next() * KEY_STEP;
            if table.rows.range(low..=high).all(|(key, _)| !table.rows.contains_key(&(key + by))) {
                return by;
            }
        }
    }

    /// Draws a change that is valid for these tables.
    pub(crate) fn draw(&mut self, rng: &mut Rng, tables: &Tables) -> Change {
        if tables.is_empty() || (tables.len() < TABLES_MAX && rng.chance(1, 12)) {
            return self.create(rng);
        }
        let name = pick(rng, tables.keys().cloned().collect());
        let table = &tables[&name];
        if table.rows.len() < 3 && rng.chance(3, 4) {
            return self.insert(rng, &name, table);
        }
        match rng.below(40) {
            0 => drop_table(&name),
            1 | 2 => self.add_column(rng, &name),
            3 => drop_column(rng, &name, table).unwrap_or_else(|| self.add_column(rng, &name)),
            4..=6 => self.create_index(rng, &name, table),
            7 | 8 => drop_index(rng, &name, table).unwrap_or_else(|| self.create_index(rng, &name, table)),
            9 if rng.chance(1, 2) => rebuild(&name),
            9 => truncate(&name),
            10..=17 => self.insert(rng, &name, table),
            18 | 19 => self.copy(&name, table).unwrap_or_else(|| delete(&name, all(table))),
            20..=22 => self.move_keys(rng, &name, table),
            23..=28 => set_short(rng, &name, table, self.short_bytes_max()),
            29..=32 => set_long(rng, &name, table),
            33 => delete(&name, all(table)),
            _ => delete(&name, range(rng, table)),
        }
    }

    fn create(&mut self, rng: &mut Rng) -> Change {
        let serial = self.next();
        let name = format!("c{}_t{serial}", self.client);
        let kind = pick(rng, vec![Kind::Heap, Kind::KeyedHeap, Kind::Clustered, Kind::Clustered]);
        let key = match kind {
            Kind::Heap => String::new(),
            Kind::KeyedHeap => format!("CONSTRAINT pk_{name} PRIMARY KEY NONCLUSTERED"),
            Kind::Clustered => format!("CONSTRAINT pk_{name} PRIMARY KEY CLUSTERED"),
        };
        let sql = format!(
            "CREATE TABLE {name} (k bigint NOT NULL {key}, s varchar({}) NULL, l varchar(max) NULL)",
            self.short_bytes_max()
        );
        Change { kind: "CREATE TABLE", sql, apply: Apply::Create(name, kind) }
    }

    fn add_column(&mut self, rng: &mut Rng, table: &str) -> Change {
        let column = format!("a{}", self.next());
        let is_nullable = rng.chance(1, 2);
        let sql = if is_nullable {
            format!("ALTER TABLE {table} ADD {column} int NULL")
        } else {
            format!(
                "ALTER TABLE {table} ADD {column} int NOT NULL CONSTRAINT df_{table}_{column} DEFAULT {ADDED_DEFAULT}"
            )
        };
        let apply = Apply::AddColumn(table.to_owned(), column, is_nullable);
        Change { kind: "ALTER TABLE ADD", sql, apply }
    }

    fn create_index(&mut self, rng: &mut Rng, name: &str, table: &Table) -> Change {
        let index = format!("i{}", self.next());
        let mut columns = vec!["k".to_owned(), "s".to_owned(), "s".to_owned()];
        columns.extend(table.added.iter().map(|(column, _)| column.clone()));
        let column = pick(rng, columns);
        let unique = if column == "k" { "UNIQUE " } else { "" };
        let filter = if self.is_wild && rng.chance(2, 3) { Some(draw_filter(rng, table)) } else { None };
        let (kind, condition) = match &filter {
            Some(filter) => ("CREATE INDEX with a filter", format!(" WHERE {filter}")),
            None => ("CREATE INDEX", String::new()),
        };
        let condition = condition.replace('(', " ").replace(')', "");
        let sql = format!("CREATE {unique}INDEX {index} ON {name} ({column}){condition}");
        Change { kind, sql, apply: Apply::CreateIndex(name.to_owned(), index, Index { column, filter }) }
    }

    fn insert(&mut self, rng: &mut Rng, name: &str, table: &Table) -> Change {
        let most = if !rng.chance(1, 4) {
            8
        } else if self.is_wild {
            110
        } else {
            60
        };
        let count = 1 + rng.below(most);
        let has_long = rng.chance(1, 5);
        let mut rows = Vec::new();
        for _ in 0..count {
            let short = rng.chance(7, 8).then(|| short(rng, self.short_bytes_max()));
            let long = (has_long && rng.chance(1, 3)).then(|| long(rng));
            let added =
                table.added.iter().map(|(_, nullable)| (!nullable).then_some(ADDED_DEFAULT)).collect();
            rows.push((self.next(), Row { short, long, added }));
        }
        let mut sql = format!("INSERT INTO {name} (k, s, l) VALUES ");
        for (at, (key, row)) in rows.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let _ = write!(sql, "{comma}({key}, {}, {})", text_sql(row.short), text_sql(row.long));
        }
        Change { kind: "INSERT", sql, apply: Apply::Insert(name.to_owned(), rows) }
    }

    fn copy(&mut self, name: &str, table: &Table) -> Option<Change> {
        if table.rows.is_empty() || table.rows.len() * 2 > ROWS_MAX {
            return None;
        }
        let by = self.step(table, (i64::MIN, i64::MAX));
        let columns: String = table.added.iter().map(|(column, _)| format!(", {column}")).collect();
        let sql = format!("INSERT INTO {name} (k, s, l{columns}) SELECT k + {by}, s, l{columns} FROM {name}");
        Some(Change { kind: "INSERT SELECT", sql, apply: Apply::Copy(name.to_owned(), by) })
    }

    fn move_keys(&mut self, rng: &mut Rng, name: &str, table: &Table) -> Change {
        let (low, high) = range(rng, table);
        let by = self.step(table, (low, high));
        let sql = format!("UPDATE {name} SET k = k + {by} WHERE k BETWEEN {low} AND {high}");
        Change { kind: "UPDATE key", sql, apply: Apply::Move(name.to_owned(), (low, high), by) }
    }
}

fn pick<T>(rng: &mut Rng, mut from: Vec<T>) -> T {
    let at = rng.below(from.len() as u64) as usize;
    from.swap_remove(at)
}

fn short(rng: &mut Rng, bytes_max: u64) -> Text {
    let length = if rng.chance(1, 3) { 300 + rng.below(bytes_max - 300) } else { 1 + rng.below(60) };
    Text { letter: b'a' + rng.below(26) as u8, length: length as u32 }
}

/// Draws a long text: from one that fits in a row to several pages.
fn long(rng: &mut Rng) -> Text {
    let most = if rng.chance(1, 3) { 40_000 } else { 6_000 };
    Text { letter: b'A' + rng.below(26) as u8, length: 1 + rng.below(most) as u32 }
}

/// A filter that some rows satisfy, in the form of sys.indexes: by the key, by whether a text is NULL, or by an
/// added column.
fn draw_filter(rng: &mut Rng, table: &Table) -> String {
    let nullable = table.added.iter().filter(|(_, is_nullable)| *is_nullable).map(|(column, _)| column);
    let mut columns: Vec<&str> = nullable.map(String::as_str).collect();
    columns.extend(["k", "k", "s"]);
    match pick(rng, columns) {
        "k" => {
            let operator = if rng.chance(1, 2) { ">" } else { "<=" };
            format!("([k]{operator}({}))", range(rng, table).0)
        }
        column => format!("([{column}] IS NOT NULL)"),
    }
}

/// Some of a table's keys, next to each other.
fn range(rng: &mut Rng, table: &Table) -> (i64, i64) {
    let keys: Vec<i64> = table.rows.keys().copied().collect();
    if keys.is_empty() {
        return (0, 0);
    }
    let from = rng.below(keys.len() as u64) as usize;
    let count = if rng.chance(1, 3) { keys.len() / 2 } else { rng.below(6) as usize };
    (keys[from], keys[(from + count).min(keys.len() - 1)])
}

fn all(table: &Table) -> (i64, i64) {
    let first = table.rows.keys().next().copied().unwrap_or(0);
    (first, table.rows.keys().next_back().copied().unwrap_or(0))
}

fn drop_table(name: &str) -> Change {
    Change { kind: "DROP TABLE", sql: format!("DROP TABLE {name}"), apply: Apply::Drop(name.to_owned()) }
}

fn rebuild(name: &str) -> Change {
    Change { kind: "ALTER TABLE REBUILD", sql: format!("ALTER TABLE {name} REBUILD"), apply: Apply::Rebuild }
}

fn truncate(name: &str) -> Change {
    let sql = format!("TRUNCATE TABLE {name}");
    Change { kind: "TRUNCATE TABLE", sql, apply: Apply::Truncate(name.to_owned()) }
}

fn drop_column(rng: &mut Rng, name: &str, table: &Table) -> Option<Change> {
    let is_free = |column: &&(String, bool)| !table.indexes.values().any(|index| index.uses(&column.0));
    let free: Vec<(String, bool)> = table.added.iter().filter(is_free).cloned().collect();
    if free.is_empty() {
        return None;
    }
    let (column, is_nullable) = pick(rng, free);
    let constraint = match is_nullable {
        true => String::new(),
        false => format!("ALTER TABLE {name} DROP CONSTRAINT df_{name}_{column}; "),
    };
    let sql = format!("{constraint}ALTER TABLE {name} DROP COLUMN {column}");
    Some(Change { kind: "ALTER TABLE DROP", sql, apply: Apply::DropColumn(name.to_owned(), column) })
}

fn drop_index(rng: &mut Rng, name: &str, table: &Table) -> Option<Change> {
    if table.indexes.is_empty() {
        return None;
    }
    let index = pick(rng, table.indexes.keys().cloned().collect());
    let sql = format!("DROP INDEX {index} ON {name}");
    Some(Change { kind: "DROP INDEX", sql, apply: Apply::DropIndex(name.to_owned(), index) })
}

fn set_short(rng: &mut Rng, name: &str, table: &Table, bytes_max: u64) -> Change {
    let (low, high) = range(rng, table);
    let text = rng.chance(7, 8).then(|| short(rng, bytes_max));
    let sql = format!("UPDATE {name} SET s = {} WHERE k BETWEEN {low} AND {high}", text_sql(text));
    Change { kind: "UPDATE", sql, apply: Apply::SetShort(name.to_owned(), (low, high), text) }
}

fn set_long(rng: &mut Rng, name: &str, table: &Table) -> Change {
    let (low, _) = range(rng, table);
    let text = rng.chance(3, 4).then(|| long(rng));
    let sql = format!("UPDATE {name} SET l = {} WHERE k = {low}", text_sql(text));
    Change { kind: "UPDATE large", sql, apply: Apply::SetLong(name.to_owned(), (low, low), text) }
}

fn delete(name: &str, (low, high): (i64, i64)) -> Change {
    let sql = format!("DELETE FROM {name} WHERE k BETWEEN {low} AND {high}");
    Change { kind: "DELETE", sql, apply: Apply::Delete(name.to_owned(), (low, high)) }
}

impl Change {
    /// Applies the change to the model's tables.
    pub(crate) fn apply(&self, tables: &mut Tables) {
        match &self.apply {
            Apply::Create(name, kind) => {
                let table =
                    Table { kind: *kind, added: Vec::new(), indexes: BTreeMap::new(), rows: BTreeMap::new() };
                assert!(tables.insert(name.clone(), table).is_none(), "names are used once");
            }
            Apply::Drop(name) => drop(tables.remove(name)),
            Apply::AddColumn(name, column, is_nullable) => {
                let table = table(tables, name);
                table.added.push((column.clone(), *is_nullable));
                let value = (!is_nullable).then_some(ADDED_DEFAULT);
                table.rows.values_mut().for_each(|row| row.added.push(value));
            }
            Apply::DropColumn(name, column) => {
                let table = table(tables, name);
                let at = table.added.iter().position(|(added, _)| added == column).expect("it was added");
                table.added.remove(at);
                for row in table.rows.values_mut() {
                    row.added.remove(at);
                }
            }
            Apply::CreateIndex(name, index, definition) => {
                table(tables, name).indexes.insert(index.clone(), definition.clone());
            }
            Apply::DropIndex(name, index) => drop(table(tables, name).indexes.remove(index)),
            Apply::Rebuild => {}
            Apply::Truncate(name) => table(tables, name).rows.clear(),
            Apply::Insert(name, rows) => table(tables, name).rows.extend(rows.iter().cloned()),
            Apply::Copy(name, by) => {
                let rows = &mut table(tables, name).rows;
                let copies: Vec<(i64, Row)> = rows.iter().map(|(key, row)| (key + by, row.clone())).collect();
                rows.extend(copies);
            }
            Apply::Move(name, range, by) => {
                let rows = &mut table(tables, name).rows;
                for key in keys_in(rows, *range) {
                    let row = rows.remove(&key).expect("just listed");
                    assert!(rows.insert(key + by, row).is_none(), "keys are used once");
                }
            }
            Apply::SetShort(name, range, text) => {
                let rows = &mut table(tables, name).rows;
                keys_in(rows, *range).iter().for_each(|key| rows.get_mut(key).expect("listed").short = *text);
            }
            Apply::SetLong(name, range, text) => {
                let rows = &mut table(tables, name).rows;
                keys_in(rows, *range).iter().for_each(|key| rows.get_mut(key).expect("listed").long = *text);
            }
            Apply::Delete(name, range) => {
                let rows = &mut table(tables, name).rows;
                keys_in(rows, *range).iter().for_each(|key| drop(rows.remove(key)));
            }
        }
    }
}

fn table<'a>(tables: &'a mut Tables, name: &str) -> &'a mut Table {
    tables.get_mut(name).expect("changes are drawn for tables that are there")
}

fn keys_in(rows: &BTreeMap<i64, Row>, (low, high): (i64, i64)) -> Vec<i64> {
    rows.range(low..=high).map(|(key, _)| *key).collect()
}

/// Describes the first difference between two sets of tables.
pub(crate) fn difference(expected: &Tables, found: &Tables) -> Option<String> {
    let names = |tables: &Tables| tables.keys().cloned().collect::<Vec<_>>();
    if names(expected) != names(found) {
        return Some(format!("tables are {:?}, expected {:?}", names(found), names(expected)));
    }
    for (name, expected) in expected {
        let found = &found[name];
        if (expected.kind, &expected.added, &expected.indexes) != (found.kind, &found.added, &found.indexes) {
            let shape = |table: &Table| format!("{:?} {:?} {:?}", table.kind, table.added, table.indexes);
            return Some(format!("{name} is {}, expected {}", shape(found), shape(expected)));
        }
        for key in expected.rows.keys().chain(found.rows.keys()) {
            if expected.rows.get(key) != found.rows.get(key) {
                return Some(format!(
                    "row {key} of {name} is {:?}, expected {:?}",
                    found.rows.get(key),
                    expected.rows.get(key)
                ));
            }
        }
    }
    None
}
