//! Temporary tables and procedures of one session: maps `#name` at each nesting level to its real name in tempdb.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::Database;
use os::{Latch, LatchRank};
use query::SessionNames;
use types::SqlError;

use crate::table_types::TableType;

/// Characters of a real name: 116 of the given name, padded, and 12 hexadecimal digits, as in SQL Server.
const PREFIX_CHARACTERS: usize = 116;

/// Number of real names that the server has made since it started: makes them unique.
pub(crate) type NameCount = Arc<AtomicU32>;

/// The temporary tables that a session can see, innermost procedure last.
pub struct TemporaryNames {
    count: NameCount,
    /// Asked which objects exist: a rollback may have restored or removed some.
    tempdb: Arc<Database>,
    scopes: RefCell<Vec<Vec<Entry>>>,
    /// Tables for the parameters of the next scope.
    passed: RefCell<Vec<Passed>>,
    /// Version of `scopes`: each change takes a new one.
    version: Cell<u64>,
    has_dropped: Cell<bool>,
    /// Global tables and procedures that the session has created; their names are visible to all sessions.
    globals: RefCell<Vec<Ended>>,
}

/// A temporary object to drop from tempdb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) real_name: String,
    /// Drop only the object with this id: another session may have dropped a global object and created another of that name.
    pub(crate) object_id: Option<i32>,
}

/// Global temporary objects whose creating session has ended while others used them: the end of any request drops those that are free.
#[derive(Clone)]
pub(crate) struct Orphans {
    count: Arc<AtomicU32>,
    objects: Arc<Latch<Vec<Ended>>>,
}

impl Default for Orphans {
    fn default() -> Self {
        let objects = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
        Orphans { count: Arc::default(), objects }
    }
}

impl Orphans {
    pub(crate) fn add(&self, object: Ended) {
        let mut objects = self.objects.lock();
        objects.push(object);
        self.count.store(objects.len() as u32, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Takes all of them; the caller adds again those that it cannot drop now.
    pub(crate) fn take(&self) -> Vec<Ended> {
        let mut objects = self.objects.lock();
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *objects)
    }
}

struct Entry {
    /// As written, lower case.
    name: String,
    /// Name in tempdb.
    real_name: String,
    /// Dropped in a transaction.
    is_dropped: bool,
    /// The table type of a table variable that was declared with one.
    table_type: Option<Arc<TableType>>,
    /// A table parameter. It may be a table of the caller, who drops it.
    parameter: Option<Ownership>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ownership {
    /// Of the scope.
    Own,
    /// Of the caller.
    Lent,
}

/// A table for a parameter of the scope that is entered next.
struct Passed {
    name: String,
    real_name: String,
    table_type: Arc<TableType>,
    ownership: Ownership,
}

impl From<Passed> for Entry {
    fn from(passed: Passed) -> Entry {
        let Passed { name, real_name, table_type, ownership } = passed;
        Entry { table_type: Some(table_type), parameter: Some(ownership), ..Entry::new(name, real_name) }
    }
}

impl Entry {
    fn new(name: String, real_name: String) -> Entry {
        Entry { name, real_name, is_dropped: false, table_type: None, parameter: None }
    }

    fn is_called(&self, wanted: &str) -> bool {
        self.name == wanted || self.real_name.eq_ignore_ascii_case(wanted)
    }

    fn is_there(&self, tempdb: &Database) -> bool {
        tempdb.catalog().find("dbo", &self.real_name).is_some()
    }
}

impl TemporaryNames {
    pub(crate) fn new(count: NameCount, tempdb: Arc<Database>) -> TemporaryNames {
        let scopes = RefCell::new(vec![Vec::new()]);
        let (version, has_dropped, globals) = (Cell::new(0), Cell::new(false), RefCell::default());
        let passed = RefCell::default();
        TemporaryNames { count, tempdb, scopes, passed, version, has_dropped, globals }
    }

    /// Write access to the scopes; changes their version.
    fn scopes_mut(&self) -> RefMut<'_, Vec<Vec<Entry>>> {
        self.version.update(|version| version + 1);
        self.scopes.borrow_mut()
    }

    /// Called when no transaction is open: removes entries whose objects were dropped, keeps those that a rollback restored.
    pub fn settle(&self) {
        if !self.has_dropped.replace(false) {
            return;
        }
        for scope in self.scopes_mut().iter_mut() {
            scope.retain_mut(|entry| {
                entry.is_dropped = entry.is_dropped && !entry.is_there(&self.tempdb);
                !entry.is_dropped
            });
        }
    }

    /// The real name of a temporary name, searched from the innermost entry on. If several entries have the name, some were dropped or their
    /// creation was rolled back: the first that exists counts.
    fn find<'e>(&self, entries: impl Iterator<Item = &'e Entry>, wanted: &str) -> Option<String> {
        let is_there = |entry: &Entry| entry.is_there(&self.tempdb);
        let found: Vec<&Entry> = entries
            .filter(|entry| entry.is_called(wanted) && (!entry.is_dropped || is_there(entry)))
            .collect();
        let first = match found.as_slice() {
            [] => return None,
            [one] => one,
            [first, ..] => found.iter().find(|entry| is_there(entry)).unwrap_or(first),
        };
        Some(first.real_name.clone())
    }

    /// A procedure or dynamic batch begins; its temporary tables are dropped when it ends.
    pub fn enter_scope(&self) {
        let passed = self.passed.take();
        let mut scopes = self.scopes_mut();
        let outer = scopes.last_mut().expect("the outermost scope is never left");
        // Tables that were made for the parameters alone move to the new scope.
        outer.retain(|entry| {
            !passed
                .iter()
                .any(|table| table.ownership == Ownership::Own && table.real_name == entry.real_name)
        });
        scopes.push(passed.into_iter().map(Entry::from).collect());
    }

    /// A table variable of the innermost scope, by that name or its real one: its real name and its table type.
    pub(crate) fn table_variable(&self, name: &str) -> Option<(String, Option<Arc<TableType>>)> {
        let wanted = name.to_lowercase();
        let scopes = self.scopes.borrow();
        let entry = scopes.last()?.iter().rev().find(|entry| entry.is_called(&wanted))?;
        Some((entry.real_name.clone(), entry.table_type.clone()))
    }

    /// A table variable was declared with a table type.
    pub(crate) fn note_table_type(&self, name: &str, table_type: Arc<TableType>) {
        let wanted = name.to_lowercase();
        let mut scopes = self.scopes_mut();
        let entry = scopes.last_mut().and_then(|scope| scope.iter_mut().find(|entry| entry.name == wanted));
        if let Some(entry) = entry {
            entry.table_type = Some(table_type);
        }
    }

    /// Passes a table to a parameter of the scope that is entered next: a table variable of this scope, or one that was made for the parameter.
    pub(crate) fn pass(
        &self,
        name: &str,
        real_name: String,
        table_type: Arc<TableType>,
        is_made_for_it: bool,
    ) {
        let ownership = if is_made_for_it { Ownership::Own } else { Ownership::Lent };
        self.passed.borrow_mut().push(Passed { name: name.to_lowercase(), real_name, table_type, ownership });
    }

    /// Drops what was passed to a scope that was not entered.
    pub(crate) fn forget_passed(&self) {
        self.passed.borrow_mut().clear();
    }

    /// Ends the innermost scope; returns the real names of the tables to drop.
    pub(crate) fn leave_scope(&self) -> Vec<Ended> {
        let mut scopes = self.scopes_mut();
        assert!(scopes.len() > 1, "the outermost scope ends only with the session");
        let ended = scopes.pop().unwrap_or_default();
        let own = ended.into_iter().filter(|entry| entry.parameter != Some(Ownership::Lent));
        own.map(Ended::from).collect()
    }

    /// Ends a batch; returns the real names of its table variables. Those of inner scopes have been dropped already.
    pub(crate) fn end_batch(&self) -> Vec<Ended> {
        let mut scopes = self.scopes_mut();
        let outermost = scopes.first_mut().expect("the outermost scope is never left");
        let ended = outermost.extract_if(.., |entry| entry.name.starts_with('@'));
        ended.map(Ended::from).collect()
    }

    /// The session ends or is reset: returns the real names of all tables to drop.
    pub(crate) fn clear(&self) -> Vec<Ended> {
        let ended = std::mem::replace(&mut *self.scopes_mut(), vec![Vec::new()]);
        let own = ended.into_iter().flatten().map(Ended::from);
        own.chain(self.globals.take()).collect()
    }

    /// Reserves a name for a table variable, which belongs to the scope that declares it.
    pub fn add_table_variable(&self, name: &str) -> String {
        let real_name = self.real_name(name);
        let mut scopes = self.scopes_mut();
        if let Some(scope) = scopes.last_mut() {
            scope.retain(|entry| entry.name != name.to_lowercase());
            scope.push(Entry::new(name.to_lowercase(), real_name.clone()));
        }
        real_name
    }

    /// A number that no other name has.
    pub(crate) fn new_number(&self) -> u32 {
        self.count.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn real_name(&self, name: &str) -> String {
        let suffix = self.new_number();
        if name.starts_with('@') {
            return format!("#{suffix:08X}");
        }
        let mut prefix: String = name.chars().take(PREFIX_CHARACTERS).collect();
        let missing = PREFIX_CHARACTERS.saturating_sub(prefix.chars().count());
        prefix.extend(std::iter::repeat_n('_', missing));
        format!("{prefix}{suffix:012X}")
    }
}

impl From<Entry> for Ended {
    fn from(entry: Entry) -> Ended {
        Ended { real_name: entry.real_name, object_id: None }
    }
}

fn is_global(name: &str) -> bool {
    name.starts_with("##")
}

impl SessionNames for TemporaryNames {
    fn temp_table(&self, name: &str) -> Option<String> {
        if is_global(name) {
            return Some(name.to_string());
        }
        let wanted = name.to_lowercase();
        let scopes = self.scopes.borrow();
        if wanted.starts_with('@') {
            return self.find(scopes.last()?.iter().rev(), &wanted);
        }
        self.find(scopes.iter().rev().flat_map(|scope| scope.iter().rev()), &wanted)
    }

    fn read_only_table(&self, name: &str) -> Option<String> {
        let wanted = name.to_lowercase();
        let scopes = self.scopes.borrow();
        let found =
            scopes.last()?.iter().find(|entry| entry.parameter.is_some() && entry.is_called(&wanted))?;
        Some(found.name.clone())
    }

    fn type_of_table_variable(&self, name: &str) -> Option<((u16, i32), Arc<str>)> {
        let (_, table_type) = self.table_variable(name)?;
        table_type.map(|table_type| table_type.identified())
    }

    fn version(&self) -> u64 {
        self.version.get()
    }

    fn add_temp_table(&self, name: &str) -> Result<String, SqlError> {
        if is_global(name) {
            // It lasts as long as the session; the catalog checks whether the name is free.
            self.globals.borrow_mut().push(Ended { real_name: name.to_string(), object_id: None });
            return Ok(name.to_string());
        }
        let mut scopes = self.scopes_mut();
        let wanted = name.to_lowercase();
        let scope = scopes.last_mut().expect("the outermost scope is never left");
        // An entry whose table a rollback removed does not block its name.
        scope.retain(|entry| entry.is_dropped || !entry.is_called(&wanted) || entry.is_there(&self.tempdb));
        if self.find(scope.iter().rev(), &wanted).is_some() {
            return Err(SqlError::new(2714, &[&name]));
        }
        let real_name = self.real_name(name);
        scope.push(Entry::new(wanted, real_name.clone()));
        Ok(real_name)
    }

    /// Unlike a table, a temporary procedure lasts as long as the session, wherever it is created. A global one has its own name for all sessions.
    fn add_temp_procedure(&self, name: &str) -> Result<String, SqlError> {
        if is_global(name) {
            return self.add_temp_table(name);
        }
        let mut scopes = self.scopes_mut();
        let wanted = name.to_lowercase();
        if self.find(scopes.iter().flatten(), &wanted).is_some() {
            return Err(SqlError::new(2714, &[&name]));
        }
        let real_name = self.real_name(name);
        let outermost = scopes.first_mut().expect("the outermost scope is never left");
        outermost.push(Entry::new(wanted, real_name.clone()));
        Ok(real_name)
    }

    fn note_made(&self, real_name: &str, object_id: i32) {
        let mut globals = self.globals.borrow_mut();
        let is_it = |made: &&mut Ended| made.real_name == real_name && made.object_id.is_none();
        if let Some(made) = globals.iter_mut().find(is_it) {
            made.object_id = Some(object_id);
        }
    }

    fn remove_temp_table(&self, name: &str) {
        if is_global(name) {
            // Only entries whose object was not created yet. A dropped object needs no removal: no other object gets its id.
            let is_it = |made: &Ended| made.object_id.is_none() && made.real_name.eq_ignore_ascii_case(name);
            self.globals.borrow_mut().retain(|made| !is_it(made));
            return;
        }
        let wanted = name.to_lowercase();
        for scope in self.scopes_mut().iter_mut().rev() {
            if let Some(at) = scope.iter().position(|entry| entry.name == wanted || entry.real_name == name) {
                scope.remove(at);
                return;
            }
        }
    }

    fn drop_temp_table(&self, name: &str) {
        let wanted = name.to_lowercase();
        let mut scopes = self.scopes_mut();
        let mut entries = scopes.iter_mut().rev().flat_map(|scope| scope.iter_mut().rev());
        if let Some(entry) = entries.find(|entry| !entry.is_dropped && entry.is_called(&wanted)) {
            entry.is_dropped = true;
            self.has_dropped.set(true);
        }
    }
}
