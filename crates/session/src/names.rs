//! Temporary tables and procedures of one session: what in tempdb stands behind `#name` at each nesting level.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::Database;
use query::SessionNames;
use types::SqlError;

/// Characters of a real name: 116 of the given name, padded, and 12 hexadecimal digits, as SQL Server does.
const PREFIX_CHARACTERS: usize = 116;

/// How many real names the sessions of a server have made since it started: makes them unique.
pub(crate) type NameCount = Arc<AtomicU32>;

/// The temporary tables that a session can see, innermost procedure last.
pub struct TemporaryNames {
    count: NameCount,
    /// Tells what a rollback has brought back or taken away.
    tempdb: Arc<Database>,
    scopes: RefCell<Vec<Vec<Entry>>>,
    has_dropped: Cell<bool>,
}

struct Entry {
    /// As written, lower case.
    name: String,
    /// In tempdb.
    real_name: String,
    /// Dropped in a transaction.
    is_dropped: bool,
}

impl Entry {
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
        TemporaryNames { count, tempdb, scopes, has_dropped: Cell::new(false) }
    }

    /// No transaction is open: what it dropped is gone, or is there again.
    pub fn settle(&self) {
        if !self.has_dropped.replace(false) {
            return;
        }
        for scope in self.scopes.borrow_mut().iter_mut() {
            scope.retain_mut(|entry| {
                entry.is_dropped = entry.is_dropped && !entry.is_there(&self.tempdb);
                !entry.is_dropped
            });
        }
    }

    /// The real name behind a name, from the innermost entry on. Where several have the name, some have been dropped or were made by what was
    /// rolled back: the first that is there counts.
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

    /// A procedure or dynamic batch begins; what it creates is dropped when it ends.
    pub fn enter_scope(&self) {
        self.scopes.borrow_mut().push(Vec::new());
    }

    /// It ends: the real names of the tables to drop.
    pub fn leave_scope(&self) -> Vec<String> {
        let mut scopes = self.scopes.borrow_mut();
        assert!(scopes.len() > 1, "the outermost scope ends only with the session");
        let ended = scopes.pop().unwrap_or_default();
        ended.into_iter().map(|entry| entry.real_name).collect()
    }

    /// A batch ends: the real names of its table variables. Those of inner scopes have gone with them.
    pub fn end_batch(&self) -> Vec<String> {
        let mut scopes = self.scopes.borrow_mut();
        let outermost = scopes.first_mut().expect("the outermost scope is never left");
        let ended = outermost.extract_if(.., |entry| entry.name.starts_with('@'));
        ended.map(|entry| entry.real_name).collect()
    }

    /// The session ends or is reset: the real names of all tables to drop.
    pub fn clear(&self) -> Vec<String> {
        let ended = std::mem::replace(&mut *self.scopes.borrow_mut(), vec![Vec::new()]);
        ended.into_iter().flatten().map(|entry| entry.real_name).collect()
    }

    /// Reserves a name for a table variable, which belongs to the scope that declares it.
    pub fn add_table_variable(&self, name: &str) -> String {
        let real_name = self.real_name(name);
        let mut scopes = self.scopes.borrow_mut();
        if let Some(scope) = scopes.last_mut() {
            scope.retain(|entry| entry.name != name.to_lowercase());
            scope.push(Entry { name: name.to_lowercase(), real_name: real_name.clone(), is_dropped: false });
        }
        real_name
    }

    fn real_name(&self, name: &str) -> String {
        let suffix = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if name.starts_with('@') {
            return format!("#{suffix:08X}");
        }
        let mut prefix: String = name.chars().take(PREFIX_CHARACTERS).collect();
        let missing = PREFIX_CHARACTERS.saturating_sub(prefix.chars().count());
        prefix.extend(std::iter::repeat_n('_', missing));
        format!("{prefix}{suffix:012X}")
    }
}

impl SessionNames for TemporaryNames {
    fn temp_table(&self, name: &str) -> Option<String> {
        let wanted = name.to_lowercase();
        let scopes = self.scopes.borrow();
        if wanted.starts_with('@') {
            return self.find(scopes.last()?.iter().rev(), &wanted);
        }
        self.find(scopes.iter().rev().flat_map(|scope| scope.iter().rev()), &wanted)
    }

    fn add_temp_table(&self, name: &str) -> Result<String, SqlError> {
        let mut scopes = self.scopes.borrow_mut();
        let wanted = name.to_lowercase();
        let scope = scopes.last_mut().expect("the outermost scope is never left");
        // One that a rollback has taken back leaves its name to others.
        scope.retain(|entry| entry.is_dropped || !entry.is_called(&wanted) || entry.is_there(&self.tempdb));
        if self.find(scope.iter().rev(), &wanted).is_some() {
            return Err(SqlError::new(2714, &[&name]));
        }
        let real_name = self.real_name(name);
        scope.push(Entry { name: wanted, real_name: real_name.clone(), is_dropped: false });
        Ok(real_name)
    }

    /// Unlike a table it lasts as long as the session, wherever it is made. A global one is known to all by its own name.
    fn add_temp_procedure(&self, name: &str) -> Result<String, SqlError> {
        let mut scopes = self.scopes.borrow_mut();
        let wanted = name.to_lowercase();
        if self.find(scopes.iter().flatten(), &wanted).is_some() {
            return Err(SqlError::new(2714, &[&name]));
        }
        let real_name = if name.starts_with("##") { name.to_string() } else { self.real_name(name) };
        let outermost = scopes.first_mut().expect("the outermost scope is never left");
        outermost.push(Entry { name: wanted, real_name: real_name.clone(), is_dropped: false });
        Ok(real_name)
    }

    fn remove_temp_table(&self, name: &str) {
        let wanted = name.to_lowercase();
        for scope in self.scopes.borrow_mut().iter_mut().rev() {
            if let Some(at) = scope.iter().position(|entry| entry.name == wanted || entry.real_name == name) {
                scope.remove(at);
                return;
            }
        }
    }

    fn drop_temp_table(&self, name: &str) {
        let wanted = name.to_lowercase();
        let mut scopes = self.scopes.borrow_mut();
        let mut entries = scopes.iter_mut().rev().flat_map(|scope| scope.iter_mut().rev());
        if let Some(entry) = entries.find(|entry| !entry.is_dropped && entry.is_called(&wanted)) {
            entry.is_dropped = true;
            self.has_dropped.set(true);
        }
    }
}
