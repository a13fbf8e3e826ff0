//! Undeclared parameters, and the deduction of their types from their places (documentation of
//! sp_describe_undeclared_parameters, "Parameter Selection Algorithm").
//!
//! Such a parameter is bound as a NULL without a type, so that the rules for NULL find the type of the other operand. The code that binds a
//! place records its expected type here (`bound::untyped`); the first one counts: with `=` and `<>`, in assignments, VALUES and CAST exactly the other's type
//! (simple deduction); elsewhere the widest of its kind (general deduction).

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use types::{SqlError, SqlType};

/// One parameter.
#[derive(Debug)]
pub struct Undeclared {
    name: String,
    /// Where it stands first, in bytes.
    offset: u32,
    deduced: OnceLock<SqlType>,
    /// The parameter of the procedure to which it is passed, and whether it comes back.
    formal: OnceLock<(String, bool)>,
}

impl Undeclared {
    /// As it is written, with `@`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type that was found for it.
    pub fn sql_type(&self) -> Option<SqlType> {
        self.deduced.get().copied()
    }

    /// The parameter to which it is passed, and whether that is one for output.
    pub fn formal(&self) -> Option<(&str, bool)> {
        self.formal.get().map(|(name, output)| (name.as_str(), *output))
    }

    /// The place wants this type. Only the first place is asked.
    pub fn note(&self, sql_type: SqlType) {
        self.deduced.get_or_init(|| sql_type);
    }

    pub fn note_formal(&self, name: &str, sql_type: SqlType, is_output: bool) {
        self.note(sql_type);
        self.formal.get_or_init(|| (name.to_string(), is_output));
    }
}

/// All of a text.
#[derive(Debug, Default)]
pub struct UndeclaredParameters {
    found: RefCell<Vec<Arc<Undeclared>>>,
    /// One that stands in two places.
    repeated: RefCell<Option<String>>,
}

impl UndeclaredParameters {
    /// The parameter of that name, which stands at that place of the text.
    pub fn meet(&self, name: &str, offset: u32) -> Arc<Undeclared> {
        let mut found = self.found.borrow_mut();
        if let Some(known) = found.iter().find(|known| known.name.eq_ignore_ascii_case(name)) {
            // Binding may look at a place twice.
            if known.offset != offset {
                self.repeated.borrow_mut().get_or_insert_with(|| known.name.clone());
            }
            return Arc::clone(known);
        }
        let (deduced, formal) = (OnceLock::new(), OnceLock::new());
        let new = Arc::new(Undeclared { name: name.to_string(), offset, deduced, formal });
        found.push(Arc::clone(&new));
        new
    }

    /// All of them in the order of the text.
    ///
    /// # Errors
    /// 11508 for one that stands in two places, 11506 for one to which no place gives a type.
    pub fn finish(self) -> Result<Vec<Arc<Undeclared>>, SqlError> {
        if let Some(name) = self.repeated.into_inner() {
            return Err(SqlError::new(11508, &[&name]));
        }
        let mut found = self.found.into_inner();
        found.sort_by_key(|parameter| parameter.offset);
        match found.iter().find(|parameter| parameter.sql_type().is_none()) {
            Some(untyped) => Err(SqlError::new(11506, &[&untyped.name])),
            None => Ok(found),
        }
    }
}
