//! Temporary tables and procedures of one session: what in tempdb stands behind `#name` at each nesting level.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use query::SessionNames;
use types::SqlError;

/// Characters of a real name: 116 of the given name, padded, and 12 hexadecimal digits, as SQL Server does.
const PREFIX_CHARACTERS: usize = 116;

/// How many real names the sessions of a server have made since it started: makes them unique.
pub(crate) type NameCount = Arc<AtomicU32>;

/// The temporary tables that a session can see, innermost procedure last.
pub struct TemporaryNames {
    count: NameCount,
    scopes: RefCell<Vec<Vec<Entry>>>,
}

struct Entry {
    /// As written, lower case.
    name: String,
    /// In tempdb.
    real_name: String,
}

impl TemporaryNames {
    pub(crate) fn new(count: NameCount) -> TemporaryNames {
        TemporaryNames { count, scopes: RefCell::new(vec![Vec::new()]) }
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
            scope.push(Entry { name: name.to_lowercase(), real_name: real_name.clone() });
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
            return find(scopes.last()?, &wanted);
        }
        scopes.iter().rev().find_map(|scope| find(scope, &wanted))
    }

    fn add_temp_table(&self, name: &str) -> Result<String, SqlError> {
        let mut scopes = self.scopes.borrow_mut();
        let wanted = name.to_lowercase();
        let scope = scopes.last_mut().expect("the outermost scope is never left");
        if find(scope, &wanted).is_some() {
            return Err(SqlError::new(2714, &[&name]));
        }
        let real_name = self.real_name(name);
        scope.push(Entry { name: wanted, real_name: real_name.clone() });
        Ok(real_name)
    }

    /// Unlike a table it lasts as long as the session, wherever it is made. A global one is known to all by its own name.
    fn add_temp_procedure(&self, name: &str) -> Result<String, SqlError> {
        let mut scopes = self.scopes.borrow_mut();
        let wanted = name.to_lowercase();
        if scopes.iter().any(|scope| find(scope, &wanted).is_some()) {
            return Err(SqlError::new(2714, &[&name]));
        }
        let real_name = if name.starts_with("##") { name.to_string() } else { self.real_name(name) };
        let outermost = scopes.first_mut().expect("the outermost scope is never left");
        outermost.push(Entry { name: wanted, real_name: real_name.clone() });
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
}

/// By the name as written or by the real one, which the binder puts in its place.
fn find(scope: &[Entry], wanted: &str) -> Option<String> {
    let found =
        scope.iter().rev().find(|entry| entry.name == wanted || entry.real_name.eq_ignore_ascii_case(wanted));
    found.map(|entry| entry.real_name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_table_hides_the_outer_one_and_goes_with_its_scope() {
        let names = TemporaryNames::new(NameCount::default());
        let outer = names.add_temp_table("#T").unwrap();
        assert_eq!(names.temp_table("#t"), Some(outer.clone()));
        assert_eq!(names.add_temp_table("#t").unwrap_err().number, 2714);
        names.enter_scope();
        assert_eq!(names.temp_table("#t"), Some(outer.clone()));
        let inner = names.add_temp_table("#t").unwrap();
        assert_ne!(inner, outer);
        assert_eq!(names.temp_table("#t"), Some(inner.clone()));
        assert_eq!(names.leave_scope(), vec![inner]);
        assert_eq!(names.temp_table("#t"), Some(outer.clone()));
        names.remove_temp_table("#t");
        assert_eq!(names.temp_table("#t"), None);
    }

    #[test]
    fn a_table_variable_is_seen_only_in_its_own_scope() {
        let names = TemporaryNames::new(NameCount::default());
        names.add_table_variable("@t");
        assert!(names.temp_table("@T").is_some());
        names.enter_scope();
        assert!(names.temp_table("@t").is_none());
        names.leave_scope();
        assert_eq!(names.clear().len(), 1);
    }
}
