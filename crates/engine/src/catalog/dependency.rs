//! [`Dependency`]: what the catalog has said to somebody who keeps what he made of it. Whether it would say the same now is all that his work
//! hangs on: other changes of the database do not matter to him.

use std::sync::Arc;

use types::Collation;

use super::Catalog;
use super::names::{NameKey, State, key_of};
use crate::schema::{ObjectDef, ObjectId};

/// In place of a schema's number: there is none of the name.
const NO_SCHEMA: i32 = 0;

/// A question and its answer. What was found is kept by its identity: a definition that has been changed is another one, and one that a
/// rollback has brought back is the same.
#[derive(Clone, Debug)]
pub enum Dependency {
    /// Who has a name: an object, the table whose constraint has it, or nobody.
    Name {
        /// The schema as it was asked for.
        schema: Box<str>,
        /// Its number then, and the name.
        key: (i32, String),
        /// Who had it.
        holder: Option<ObjectDef>,
    },
    /// The object of a number.
    Number(ObjectId, Option<ObjectDef>),
}

impl ObjectDef {
    /// The very same definition: nothing has changed it, and it is not another object's.
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

    /// Is that the number of the schema of that name?
    fn is_schema(&self, id: i32, name: &str) -> bool {
        match self.schemas.get(&id) {
            // No two have one name.
            Some(schema) => Collation::DEFAULT.same_name(&schema.name, name),
            None => id == NO_SCHEMA && self.schema_id(name).is_none(),
        }
    }
}

impl Catalog {
    /// The answer that a look-up has given, as it can be asked for again. What has changed since it was given is another answer.
    pub(crate) fn answer_to(&self, schema: &str, name: &str, holder: Option<&ObjectDef>) -> Dependency {
        let schema_id = self.schema_id(schema).unwrap_or(NO_SCHEMA);
        let key: NameKey = key_of(schema_id, name);
        Dependency::Name { schema: schema.into(), key, holder: holder.cloned() }
    }

    /// Would it say all of that now, settled or not?
    pub(crate) fn holds(&self, dependencies: &[Dependency]) -> bool {
        let state = self.state.read();
        dependencies.iter().all(|dependency| state.holds(dependency))
    }
}
