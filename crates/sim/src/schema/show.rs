//! The observed state of a recovered server in scenario `schema`: every table of every author read three ways (definition, rows, each index), the
//! marks, the databases.

use std::collections::BTreeMap;
use std::path::Path;

use os::Os;
use session::SessionShared;
use types::Value;

use super::ledger::Shown;
use super::model::{Index, Kind, Row, Table, Tables, Text};
use super::{DATA, DATABASE, SHELF, WIDE, WIDE_ROWS, WorldKind, keeper, open};
use crate::client::{Client, number, shared};

/// All data that the oracles check.
pub(super) struct Everything {
    pub(super) authors: Vec<Shown>,
    /// Version by mark.
    pub(super) marks: BTreeMap<i64, i64>,
    /// Does the table exist for whose name authors compete?
    pub(super) has_contest: bool,
    /// The founder's databases with their rows, if they can be read.
    pub(super) databases: BTreeMap<String, Option<i64>>,
    /// Is there a second data file? Checked only in worlds that change data files.
    pub(super) has_second_file: Option<bool>,
}

/// Prefix of an error that the structure check should have reported first.
pub(super) const BLIND: &str = "BLIND";

/// DBCC CHECKDB of the authors' database.
pub(super) fn check(sessions: &SessionShared) -> Result<(), String> {
    let mut client = Client::connect(sessions, DATABASE).map_err(|error| format!("{error:?}"))?;
    let checked = rows(&mut client, "DBCC CHECKDB WITH NO_INFOMSGS");
    client.close();
    checked.map(|_| ())
}

/// Opens the instance, reads everything, and stops it in an orderly way. On a consistent disk no file of a dropped database may be left.
pub(super) fn show(os: &Os, authors: usize, kind: WorldKind, is_sound: bool) -> Result<Everything, String> {
    let instance = open(os, 1 << 20)?;
    let mut client = Client::connect(&shared(&instance), DATABASE).map_err(|error| format!("{error:?}"))?;
    // Structure, ownership of every page, indexes against rows: checked before any data is read.
    let everything = rows(&mut client, "DBCC CHECKDB WITH NO_INFOMSGS").and_then(|_| {
        read_all(&mut client, authors, kind.is_wild)
            .map_err(|text| format!("{BLIND}: CHECKDB finds nothing, yet {text}"))
    });
    let everything = everything.and_then(|mut everything| {
        if kind.has_keeper {
            everything.has_second_file = Some(keeper::show(os, &mut client)?);
        }
        Ok(everything)
    });
    let everything = everything.and_then(|everything| match orphan(os, everything.databases.keys()) {
        Some(file) if is_sound => Err(format!("FILE: {file} is on the disk, and its database is not listed")),
        _ => Ok(everything),
    });
    client.close();
    instance.shutdown();
    everything
}

/// A file of a founder's database that is not `listed`.
fn orphan<'a>(os: &Os, listed: impl Iterator<Item = &'a String> + Clone) -> Option<String> {
    let in_folder = |folder: &Path| os.disk().list(folder).unwrap_or_default();
    let (folders, files): (Vec<_>, Vec<_>) =
        in_folder(Path::new(DATA)).into_iter().partition(|entry| entry.is_directory);
    let below = folders.iter().flat_map(|folder| in_folder(&Path::new(DATA).join(&folder.name)));
    let mut extra =
        files.into_iter().chain(below).map(|file| file.name).filter(|name| name.starts_with("extra"));
    extra.find(|file| {
        let stem = file.split_once('.').map_or(file.as_str(), |(stem, _)| stem);
        let database = stem.strip_suffix("_log").unwrap_or(stem);
        !listed.clone().any(|name| name == database)
    })
}

fn read_all(client: &mut Client, authors: usize, is_wild: bool) -> Result<Everything, String> {
    let mut shown = Vec::new();
    for author in 0..authors {
        let number = one_number(client, &format!("SELECT number FROM progress WHERE client = {author}"))?;
        shown.push(Shown { number, tables: tables_of(client, author)? });
    }
    let mut marks = BTreeMap::new();
    for row in rows(client, "SELECT id, version FROM marks")? {
        marks.insert(number(&row[0])?, number(&row[1])?);
    }
    let through_index = rows(
        client,
        "SELECT id, version FROM marks WITH (INDEX(by_version)) WHERE version >= 0 ORDER BY id",
    )?;
    let through_index: Vec<(i64, i64)> = through_index
        .iter()
        .map(|row| Ok((number(&row[0])?, number(&row[1])?)))
        .collect::<Result<_, String>>()?;
    if !through_index.iter().copied().eq(marks.iter().map(|(id, version)| (*id, *version))) {
        return Err(format!("INDEX: by_version says {through_index:?}, marks {marks:?}"));
    }
    if is_wild {
        for row in rows(client, "SELECT id, version FROM shelf")? {
            if marks.insert(SHELF + number(&row[0])?, number(&row[1])?).is_some() {
                return Err(format!("TWICE: {row:?} on the shelf"));
            }
        }
    }
    if is_wild {
        let wide = rows(client, "SELECT MIN(version), MAX(version), COUNT(*) FROM wide")?;
        let (low, high, count) = (number(&wide[0][0])?, number(&wide[0][1])?, number(&wide[0][2])?);
        if (high, count) != (low, WIDE_ROWS) {
            return Err(format!("TORN: {count} wide rows of versions {low} to {high}"));
        }
        marks.insert(WIDE, low);
    }
    let has_contest = one_number(client, "SELECT COUNT(*) FROM sys.tables WHERE name = 'contest'")? != 0;
    let mut databases = BTreeMap::new();
    for row in rows(client, "SELECT name FROM sys.databases WHERE name LIKE 'extra%'")? {
        let name = text(&row[0])?;
        let answer = client.execute(&format!("SELECT COUNT(*) FROM {name}.dbo.t"));
        let count = match answer.error_number() {
            None => Some(number(&answer.rows[0][0])?),
            // The CREATE TABLE after CREATE DATABASE was not acknowledged.
            Some(208) => Some(0),
            Some(_) => None,
        };
        databases.insert(name, count);
    }
    Ok(Everything { authors: shown, marks, has_contest, databases, has_second_file: None })
}

fn tables_of(client: &mut Client, author: usize) -> Result<Tables, String> {
    let names =
        rows(client, &format!("SELECT name FROM sys.tables WHERE name LIKE 'c{author}[_]%' ORDER BY name"))?;
    let mut tables = Tables::new();
    for name in names {
        let name = text(&name[0])?;
        let table = read_table(client, &name)?;
        if tables.insert(name.clone(), table).is_some() {
            return Err(format!("TWICE: table {name}"));
        }
    }
    Ok(tables)
}

fn read_table(client: &mut Client, name: &str) -> Result<Table, String> {
    let mut added = Vec::new();
    let columns = format!(
        "SELECT name, CAST(is_nullable AS int) FROM sys.columns WHERE object_id = OBJECT_ID('{name}') ORDER BY column_id"
    );
    for row in rows(client, &columns)? {
        added.push((text(&row[0])?, number(&row[1])? != 0));
    }
    let own: Vec<&str> = added.iter().take(3).map(|(name, _)| name.as_str()).collect();
    if own != ["k", "s", "l"] {
        return Err(format!("SHAPE: {name} has columns {added:?}"));
    }
    added.drain(..3);
    let (kind, indexes) = read_indexes(client, name)?;
    let mut table = Table { kind, added, indexes, rows: BTreeMap::new() };
    read_rows(client, name, &mut table)?;
    for index in table.indexes.keys() {
        check_index(client, name, &table, index)?;
    }
    Ok(table)
}

fn read_indexes(client: &mut Client, name: &str) -> Result<(Kind, BTreeMap<String, Index>), String> {
    let mut indexes = BTreeMap::new();
    let (mut is_clustered, mut has_key) = (false, false);
    let text_of_query = format!(
        "SELECT i.name, CAST(i.type AS int), CAST(i.is_primary_key AS int), c.name, i.filter_definition FROM sys.indexes AS i \
         JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id \
         JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id \
         WHERE i.object_id = OBJECT_ID('{name}')"
    );
    for row in rows(client, &text_of_query)? {
        is_clustered |= number(&row[1])? == 1;
        if number(&row[2])? != 0 {
            has_key = true;
        } else {
            let filter = if row[4].is_null() { None } else { Some(text(&row[4])?) };
            indexes.insert(text(&row[0])?, Index { column: text(&row[3])?, filter });
        }
    }
    let kind = match (has_key, is_clustered) {
        (false, false) => Kind::Heap,
        (true, false) => Kind::KeyedHeap,
        (true, true) => Kind::Clustered,
        (false, true) => return Err(format!("SHAPE: {name} is clustered without a key")),
    };
    Ok((kind, indexes))
}

fn read_rows(client: &mut Client, name: &str, table: &mut Table) -> Result<(), String> {
    let columns: String = table.added.iter().map(|(column, _)| format!(", {column}")).collect();
    let query = format!(
        "SELECT k, ASCII(s), LEN(s), CASE WHEN s = REPLICATE(LEFT(s, 1), LEN(s)) THEN 1 ELSE 0 END, \
         ASCII(LEFT(l, 1)), CAST(DATALENGTH(l) AS int), \
         CASE WHEN l = REPLICATE(CAST(LEFT(l, 1) AS varchar(max)), DATALENGTH(l)) THEN 1 ELSE 0 END{columns} FROM {name}"
    );
    for row in rows(client, &query)? {
        let key = number(&row[0])?;
        let text_at = |at: usize| -> Result<Option<Text>, String> {
            let Some(letter) = maybe(&row[at])? else { return Ok(None) };
            if number(&row[at + 2])? == 0 {
                return Err(format!("TORN: a text of row {key} of {name} is not of one letter"));
            }
            Ok(Some(Text { letter: letter as u8, length: number(&row[at + 1])? as u32 }))
        };
        let (short, long) = (text_at(1)?, text_at(4)?);
        let added = row[7..].iter().map(maybe).collect::<Result<_, String>>()?;
        if table.rows.insert(key, Row { short, long, added }).is_some() {
            return Err(format!("TWICE: row {key} of {name}"));
        }
    }
    Ok(())
}

/// The index must lead to each of its rows and to no other row.
fn check_index(client: &mut Client, name: &str, table: &Table, index: &str) -> Result<(), String> {
    let definition = &table.indexes[index];
    let column = definition.column.as_str();
    let value = if column == "s" { "LEN(s)" } else { column };
    let condition = definition.filter.as_ref().map_or(String::new(), |filter| format!("WHERE {filter} "));
    let mut found = Vec::new();
    for row in
        rows(client, &format!("SELECT k, {value} FROM {name} WITH (INDEX({index})) {condition}ORDER BY 1"))?
    {
        found.push((number(&row[0])?, maybe(&row[1])?));
    }
    let at = table.added.iter().position(|(added, _)| added == column);
    let value_of = |key: i64, row: &Row| match (column, at) {
        ("k", _) => Some(key),
        ("s", _) => row.short.map(|text| i64::from(text.length)),
        (_, Some(at)) => row.added[at],
        _ => None,
    };
    let has = table.rows.iter().filter(|(key, row)| definition.has(table, **key, row));
    let expected: Vec<(i64, Option<i64>)> = has.map(|(key, row)| (*key, value_of(*key, row))).collect();
    if found == expected {
        return Ok(());
    }
    let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
    Err(format!(
        "INDEX: {index} of {name} ({column}) leads to {} rows of {}; first difference {differs:?}",
        found.len(),
        expected.len()
    ))
}

fn rows(client: &mut Client, text: &str) -> Result<Vec<Vec<Value>>, String> {
    let answer = client.execute(text);
    if answer.errors.is_empty() { Ok(answer.rows) } else { Err(format!("{text}: {}", answer.error_text())) }
}

fn one_number(client: &mut Client, text: &str) -> Result<i64, String> {
    let rows = rows(client, text)?;
    let row = rows.first().ok_or_else(|| format!("{text}: no row"))?;
    number(&row[0])
}

fn maybe(value: &Value) -> Result<Option<i64>, String> {
    if value.is_null() { Ok(None) } else { number(value).map(Some) }
}

fn text(value: &Value) -> Result<String, String> {
    value.as_text().ok_or_else(|| format!("{value:?} is no text"))
}
