//! [`TriggerDef`]: when a trigger fires, and its form in the catalog.

/// What a statement does to the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriggerEvent {
    /// INSERT, and the WHEN NOT MATCHED of MERGE.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl TriggerEvent {
    /// All, in the order of their numbers.
    pub const ALL: [TriggerEvent; 3] = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];

    /// Its name in T-SQL.
    pub fn name(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }

    /// `type` of `sys.trigger_events`.
    pub fn number(self) -> i32 {
        match self {
            TriggerEvent::Insert => 1,
            TriggerEvent::Update => 2,
            TriggerEvent::Delete => 3,
        }
    }

    fn bit(self) -> u8 {
        match self {
            TriggerEvent::Insert => 1,
            TriggerEvent::Update => 2,
            TriggerEvent::Delete => 4,
        }
    }
}

/// Some of the events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriggerEvents(u8);

impl TriggerEvents {
    /// Is it one of them?
    pub fn has(self, event: TriggerEvent) -> bool {
        self.0 & event.bit() != 0
    }

    /// These and one more.
    #[must_use]
    pub fn with(self, event: TriggerEvent) -> TriggerEvents {
        TriggerEvents(self.0 | event.bit())
    }

    /// These without one.
    #[must_use]
    pub fn without(self, event: TriggerEvent) -> TriggerEvents {
        TriggerEvents(self.0 & !event.bit())
    }

    /// Is there none?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// When a trigger fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriggerDef {
    /// For which statements.
    pub events: TriggerEvents,
    /// INSTEAD OF; otherwise AFTER.
    pub is_instead_of: bool,
    /// DISABLE TRIGGER.
    pub is_disabled: bool,
    /// NOT FOR REPLICATION. There are no replication agents, so it has no effect.
    pub is_not_for_replication: bool,
    /// The events for which it is the first trigger of its table (`sp_settriggerorder`).
    pub first: TriggerEvents,
    /// For which it is the last.
    pub last: TriggerEvents,
}

/// Bits of `status` in the row of a trigger in the catalog's list of objects: the events of three sets, and three settings.
const EVENTS_SHIFT: u32 = 8;
const INSTEAD_OF_BIT: i32 = 1 << 11;
const DISABLED_BIT: i32 = 1 << 12;
const NOT_FOR_REPLICATION_BIT: i32 = 1 << 13;
const FIRST_SHIFT: u32 = 16;
const LAST_SHIFT: u32 = 20;

impl TriggerDef {
    /// Does it fire for the event, unless it is disabled?
    pub fn is_enabled_for(&self, event: TriggerEvent) -> bool {
        self.events.has(event) && !self.is_disabled
    }

    /// From the catalog's form.
    pub(crate) fn from_status(status: i32) -> TriggerDef {
        let events = |shift: u32| TriggerEvents((status >> shift) as u8 & 7);
        TriggerDef {
            events: events(EVENTS_SHIFT),
            is_instead_of: status & INSTEAD_OF_BIT != 0,
            is_disabled: status & DISABLED_BIT != 0,
            is_not_for_replication: status & NOT_FOR_REPLICATION_BIT != 0,
            first: events(FIRST_SHIFT),
            last: events(LAST_SHIFT),
        }
    }

    /// In the catalog's form.
    pub(crate) fn status(self) -> i32 {
        let events = |events: TriggerEvents, shift: u32| i32::from(events.0) << shift;
        let bit = |is_set: bool, bit: i32| if is_set { bit } else { 0 };
        events(self.events, EVENTS_SHIFT)
            | bit(self.is_instead_of, INSTEAD_OF_BIT)
            | bit(self.is_disabled, DISABLED_BIT)
            | bit(self.is_not_for_replication, NOT_FOR_REPLICATION_BIT)
            | events(self.first, FIRST_SHIFT)
            | events(self.last, LAST_SHIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_survives_as_a_status() {
        let all = TriggerEvent::ALL.iter().fold(TriggerEvents::default(), |all, event| all.with(*event));
        let some = TriggerDef {
            events: all.without(TriggerEvent::Update),
            is_disabled: true,
            last: TriggerEvents::default().with(TriggerEvent::Delete),
            ..TriggerDef::default()
        };
        let other = TriggerDef {
            events: all,
            is_instead_of: true,
            is_not_for_replication: true,
            first: all.without(TriggerEvent::Insert),
            ..TriggerDef::default()
        };
        for def in [TriggerDef::default(), some, other] {
            assert_eq!(TriggerDef::from_status(def.status() | 15), def);
        }
        assert!(!some.is_enabled_for(TriggerEvent::Insert) && other.is_enabled_for(TriggerEvent::Insert));
    }
}
