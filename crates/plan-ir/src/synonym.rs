//! Synonyms: the name of the object that one stands for.

use engine::{Database, ModuleDef};
use tsql::ast::{Ident, ObjectName};
use types::SqlError;

use crate::names::name_parts;

/// A name of up to four parts as a synonym stores it: each part in brackets, an empty one stays empty.
pub fn bracketed(name: &ObjectName) -> String {
    let parts = [name.server.as_ref(), name.database.as_ref(), name.schema.as_ref(), Some(&name.name)];
    let written = parts.into_iter().skip_while(Option::is_none).map(|part| match part {
        Some(part) if !part.value.is_empty() => format!("[{}]", part.value.replace(']', "]]")),
        _ => String::new(),
    });
    written.collect::<Vec<String>>().join(".")
}

/// The base object of a synonym in this database. The name tells its database, unless the object is temporary.
pub fn base_of(synonym: &ModuleDef, database: &Database) -> ObjectName {
    let mut parts = name_parts(&synonym.definition).into_iter().rev();
    let mut part = || parts.next().filter(|part| !part.is_empty()).map(|value| Ident { value, quoted: true });
    let name = part().unwrap_or_else(|| Ident::new(""));
    let (schema, own_database, server) = (part(), part(), part());
    let is_temporary = name.value.starts_with('#');
    let here = || (!is_temporary).then(|| Ident { value: database.name().to_string(), quoted: true });
    ObjectName { server, database: own_database.or_else(here), schema, name, ..ObjectName::default() }
}

/// 5313: the base object of the synonym does not exist, or is of a kind that the statement cannot use.
pub fn invalid(written: &str) -> SqlError {
    SqlError::new(5313, &[&written])
}

/// 470: the base object of the synonym is a synonym.
pub fn chained(synonym: &str, base: &str) -> SqlError {
    SqlError::new(470, &[&synonym, &base])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stored_in_brackets() {
        let part = |value: &str| Some(Ident::new(value));
        let mut name = ObjectName::simple("t]x");
        assert_eq!(bracketed(&name), "[t]]x]");
        name.schema = part("s");
        assert_eq!(bracketed(&name), "[s].[t]]x]");
        name.schema = None;
        name.database = part("d");
        assert_eq!(bracketed(&name), "[d]..[t]]x]");
        name.server = part("far");
        assert_eq!(bracketed(&name), "[far].[d]..[t]]x]");
    }
}
