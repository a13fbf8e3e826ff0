//! Triggers as statements know them: which ones a change fires, the rows that it has changed, and the trigger whose body is running.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use engine::{Database, ModuleDef, ObjectDef, TriggerEvent};

/// The enabled triggers of a table or view for one event, in the order in which they run; or its INSTEAD OF trigger alone.
pub struct EventTriggers {
    /// The database of the table.
    pub database: Arc<Database>,
    /// The table or view.
    pub target: ObjectDef,
    /// What is done to its rows.
    pub event: TriggerEvent,
    /// Is it the one INSTEAD OF trigger?
    pub is_instead_of: bool,
    /// The triggers.
    pub triggers: Vec<Arc<ModuleDef>>,
}

impl std::fmt::Debug for EventTriggers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {}", self.event.name(), self.target.name())
    }
}

/// The table `inserted` or `deleted` of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerTable {
    /// The new rows.
    Inserted,
    /// The old rows.
    Deleted,
}

/// What a statement has done to the rows of a table with triggers. They run when the statement has made all its changes.
#[derive(Clone, Debug)]
pub struct Fired {
    /// What runs.
    pub triggers: Arc<EventTriggers>,
    /// The rows; only operators know their form.
    pub rows: Rc<dyn Any>,
    /// How many there are.
    pub count: u64,
    /// Positions of the columns that the statement sets; `None`: all, or (DELETE) none.
    pub set: Option<Vec<usize>>,
}

/// The trigger whose body is running.
#[derive(Clone, Debug)]
pub struct RunningTrigger {
    /// Its rows.
    pub fired: Rc<Fired>,
    /// The trigger.
    pub module: Arc<ModuleDef>,
}

/// The trigger to whose body a statement belongs, while it is bound.
#[derive(Clone, Copy)]
pub struct TriggerScope<'a> {
    /// Its database.
    pub database: &'a Arc<Database>,
    /// The trigger itself.
    pub module: &'a Arc<ModuleDef>,
}

impl RunningTrigger {
    /// Does the statement that fired it set the column of this position? Each INSERT sets all columns, no DELETE one.
    pub fn sets(&self, ordinal: usize) -> bool {
        match (self.fired.triggers.event, &self.fired.set) {
            (TriggerEvent::Insert, _) => true,
            (TriggerEvent::Update, Some(set)) => set.contains(&ordinal),
            (TriggerEvent::Update, None) => true,
            (TriggerEvent::Delete, _) => false,
        }
    }
}
