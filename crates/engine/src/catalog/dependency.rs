//! [`Dependency`]: a catalog look-up and its result, which a plan depends on. The plan is valid while the look-up would have the same result:
//! other changes of the database do not matter to it.

use std::sync::Arc;

use types::Collation;

use super::Catalog;
use super::names::{NameKey, State, key_of};
use crate::schema::{ObjectDef, ObjectId};

/// Instead of a schema's number: no schema has the name.
const NO_SCHEMA: i32 = 0;

/// A look-up and its result. A definition is compared by identity: a changed definition is another one, and one restored by a
/// rollback is the same.
#[derive(Clone, Debug)]
pub enum Dependency {
    /// The holder of a name: an object, the table whose constraint has it, or none.
    Name {
        /// The schema name of the look-up.
        schema: Box<str>,
        /// Its number then, and the name.
        key: (i32, String),
        /// The holder.
        holder: Option<ObjectDef>,
    },
    /// The object of a number.
    Number(ObjectId, Option<ObjectDef>),
}

impl ObjectDef {
    /// Is it the same definition object: unchanged, and not another object's?
    fn is(&self, other: &ObjectDef) -> bool {
        match (self, other) {
            (ObjectDef::Table(one), ObjectDef::Table(other)) => Arc::ptr_eq(one, other),
            (ObjectDef::Module(one), ObjectDef::Module(other)) => Arc::ptr_eq(one, other),
            (ObjectDef::Sequence(one), ObjectDef::Sequence(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

fn are_same(now: Option<&ObjectDef>, then: Option<&ObjectDef>) -> bool {
    match (now, then) {
        (None, None) => true,
        (Some(now), Some(then)) => now.is(then),
        _ => false,
    }
}

impl State {
    fn holds(&self, answer: &Dependency) -> bool {
        match answer {
            Dependency::Name { schema, key, holder } => {
                self.is_schema(key.0, schema)
                    && are_same(self.names.get(key).and_then(|id| self.objects.get(id)), holder.as_ref())
            }
            Dependency::Number(id, object) => are_same(self.objects.get(id), object.as_ref()),
        }
    }

    /// Has the schema of that name this number?
    fn is_schema(&self, id: i32, name: &str) -> bool {
        match self.schemas.get(&id) {
            // No two schemas have one name.
            Some(schema) => Collation::DEFAULT.same_name(&schema.name, name),
            None => id == NO_SCHEMA && self.schema_id(name).is_none(),
        }
    }
}

impl Catalog {
    /// The result of a look-up, in a form that can be checked later. A change since the look-up makes it invalid.
    pub(crate) fn answer_to(&self, schema: &str, name: &str, holder: Option<&ObjectDef>) -> Dependency {
        let schema_id = self.schema_id(schema).unwrap_or(NO_SCHEMA);
        let key: NameKey = key_of(schema_id, name);
        Dependency::Name { schema: schema.into(), key, holder: holder.cloned() }
    }

    /// Would all look-ups have the same results now, settled or not?
    pub(crate) fn holds(&self, dependencies: &[Dependency]) -> bool {
        let state = self.state.read();
        dependencies.iter().all(|dependency| state.holds(dependency))
    }
}
