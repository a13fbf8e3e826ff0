//! The events of DDL triggers and their groups, as documented of `sys.trigger_event_types`: those of the statements that a database has here.

/// An event, or a group of them.
#[derive(Debug)]
pub struct DdlEvent {
    /// `type`.
    pub number: i32,
    /// `type_name`.
    pub name: &'static str,
    /// The group that it belongs to; `None` for the group of all.
    pub parent: Option<i32>,
}

/// Groups have numbers from here on.
const FIRST_GROUP: i32 = 10_000;

const fn event(number: i32, name: &'static str, parent: i32) -> DdlEvent {
    DdlEvent { number, name, parent: Some(parent) }
}

/// All.
pub static ALL: &[DdlEvent] = &[
    event(21, "CREATE_TABLE", 10018),
    event(22, "ALTER_TABLE", 10018),
    event(23, "DROP_TABLE", 10018),
    event(24, "CREATE_INDEX", 10020),
    event(25, "ALTER_INDEX", 10020),
    event(26, "DROP_INDEX", 10020),
    event(27, "CREATE_STATISTICS", 10021),
    event(28, "UPDATE_STATISTICS", 10021),
    event(29, "DROP_STATISTICS", 10021),
    event(34, "CREATE_SYNONYM", 10022),
    event(36, "DROP_SYNONYM", 10022),
    event(41, "CREATE_VIEW", 10019),
    event(42, "ALTER_VIEW", 10019),
    event(43, "DROP_VIEW", 10019),
    event(51, "CREATE_PROCEDURE", 10024),
    event(52, "ALTER_PROCEDURE", 10024),
    event(53, "DROP_PROCEDURE", 10024),
    event(61, "CREATE_FUNCTION", 10023),
    event(62, "ALTER_FUNCTION", 10023),
    event(63, "DROP_FUNCTION", 10023),
    event(71, "CREATE_TRIGGER", 10025),
    event(72, "ALTER_TRIGGER", 10025),
    event(73, "DROP_TRIGGER", 10025),
    event(91, "CREATE_TYPE", 10028),
    event(93, "DROP_TYPE", 10028),
    event(141, "CREATE_SCHEMA", 10034),
    event(142, "ALTER_SCHEMA", 10034),
    event(143, "DROP_SCHEMA", 10034),
    DdlEvent { number: 10001, name: "DDL_EVENTS", parent: None },
    event(10016, "DDL_DATABASE_LEVEL_EVENTS", 10001),
    event(10017, "DDL_TABLE_VIEW_EVENTS", 10016),
    event(10018, "DDL_TABLE_EVENTS", 10017),
    event(10019, "DDL_VIEW_EVENTS", 10017),
    event(10020, "DDL_INDEX_EVENTS", 10017),
    event(10021, "DDL_STATISTICS_EVENTS", 10017),
    event(10022, "DDL_SYNONYM_EVENTS", 10016),
    event(10023, "DDL_FUNCTION_EVENTS", 10016),
    event(10024, "DDL_PROCEDURE_EVENTS", 10016),
    event(10025, "DDL_TRIGGER_EVENTS", 10016),
    event(10028, "DDL_TYPE_EVENTS", 10016),
    event(10029, "DDL_DATABASE_SECURITY_EVENTS", 10016),
    event(10034, "DDL_SCHEMA_EVENTS", 10029),
];

impl DdlEvent {
    /// Is it a group?
    pub fn is_group(&self) -> bool {
        self.number > FIRST_GROUP
    }

    /// Is it this event, or a group that it belongs to?
    pub fn covers(&self, event: &DdlEvent) -> bool {
        self.number == event.number
            || event.parent.and_then(numbered).is_some_and(|parent| self.covers(parent))
    }
}

fn numbered(number: i32) -> Option<&'static DdlEvent> {
    ALL.iter().find(|event| event.number == number)
}

/// The event or group of that name.
pub fn named(name: &str) -> Option<&'static DdlEvent> {
    ALL.iter().find(|event| event.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_covers_what_is_below_it() {
        let all = |name: &str| named(name).expect("a known name");
        assert!(all("ddl_events").covers(all("CREATE_SCHEMA")));
        assert!(all("DDL_TABLE_VIEW_EVENTS").covers(all("DROP_INDEX")));
        assert!(!all("DDL_TABLE_EVENTS").covers(all("DROP_INDEX")));
        assert!(
            all("CREATE_TABLE").covers(all("CREATE_TABLE")) && !all("CREATE_TABLE").covers(all("DROP_TABLE"))
        );
        assert!(
            ALL.iter().all(|event| event
                .parent
                .is_none_or(|parent| numbered(parent).is_some_and(DdlEvent::is_group)))
        );
    }
}
