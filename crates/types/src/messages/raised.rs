//! The severity and state of raised errors, where they differ from the severity of `sys.messages` and state 1. From published transcripts of
//! SQL Server ("Msg 1088, Level 16, State 12"): where one number has several states, the most common one is here, and code that raises it
//! with another one sets it (`SqlError::with_state`).

/// Number, state; ordered.
const STATES: [(i32, u8); 59] = [
    (103, 4),
    (137, 2),
    (195, 10),
    (206, 2),
    (220, 2),
    (229, 5),
    (232, 3),
    (242, 3),
    (257, 3),
    (266, 2),
    (306, 2),
    (468, 9),
    (506, 2),
    (515, 2),
    (529, 2),
    (535, 0),
    (537, 3),
    (547, 0),
    (574, 0),
    (701, 123),
    (1038, 4),
    (1087, 2),
    (1088, 12),
    (1105, 2),
    (1205, 51),
    (1222, 51),
    (1753, 0),
    (1767, 0),
    (1776, 0),
    (1778, 0),
    (1779, 0),
    (1785, 0),
    (1801, 3),
    (1807, 3),
    (1902, 3),
    (2702, 2),
    (2705, 4),
    (2714, 3),
    (2715, 6),
    (2744, 2),
    (2749, 2),
    (2812, 62),
    (3701, 5),
    (3702, 4),
    (3723, 4),
    (3960, 2),
    (4113, 4),
    (4512, 3),
    (4922, 9),
    (5362, 3),
    (8114, 5),
    (8115, 2),
    (8144, 2),
    (8145, 2),
    (8146, 2),
    (8152, 14),
    (9002, 2),
    (9806, 0),
    (10757, 9),
];

/// Number, severity; ordered. `sys.messages` says 16, 15, 10, 10, 16, 16, 16 and 16.
const SEVERITIES: [(i32, u8); 8] =
    [(130, 15), (1088, 16), (1750, 16), (3727, 16), (4112, 15), (4113, 15), (5308, 15), (5309, 15)];

fn of(table: &[(i32, u8)], number: i32) -> Option<u8> {
    table.binary_search_by_key(&number, |row| row.0).ok().map(|at| table[at].1)
}

/// The state of an error.
pub(crate) fn state(number: i32) -> u8 {
    of(&STATES, number).unwrap_or(1)
}

/// The severity of an error, where `sys.messages` has another one.
pub(crate) fn severity(number: i32) -> Option<u8> {
    of(&SEVERITIES, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_ordered_and_of_known_errors() {
        for table in [&STATES[..], &SEVERITIES[..]] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0), "numbers ascend, each once");
            assert!(table.iter().all(|row| crate::messages::lookup(row.0).is_some()));
        }
        assert_eq!((state(547), state(208)), (0, 1));
        assert_eq!((severity(1750), severity(547)), (Some(16), None));
    }
}
