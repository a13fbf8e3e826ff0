//! The fetch buffer of an API server cursor: the rows of the last `sp_cursorfetch`, and which rows the next one asks for.

use query::ColumnDescription;
use types::Value;

use crate::sink::ColumnOrigin;

/// What a cursor is beyond one of T-SQL when a client has opened it by `sp_cursoropen`.
pub(crate) struct ApiCursor {
    pub(crate) handle: i32,
    /// The type and the concurrency that it has got, as the bits of scrollopt and ccopt.
    pub(crate) scroll: i32,
    pub(crate) concurrency: i32,
    /// UPDT_IN_PLACE: a row whose key it changes keeps its place.
    pub(crate) updates_in_place: bool,
    /// AUTO_CLOSE: it closes behind the last row.
    pub(crate) closes_itself: bool,
    /// The columns of its query and the status of the row.
    pub(crate) columns: Vec<ColumnDescription>,
    /// The parts of its table's name as they are written; empty without such a table.
    pub(crate) table: Vec<String>,
    pub(crate) origins: Vec<ColumnOrigin>,
    pub(crate) place: Place,
    pub(crate) buffer: Vec<BufferRow>,
}

/// A row of the buffer.
#[derive(Clone, Debug)]
pub(crate) struct BufferRow {
    /// Its position among the rows of the cursor, from 1.
    pub(crate) position: usize,
    /// The key that finds it again; empty when the cursor keeps a copy of its rows.
    pub(crate) key: Vec<Value>,
    /// Its checksum when it was fetched; NULL when nothing is to be checked.
    pub(crate) checksum: Value,
    /// It was not there any more.
    pub(crate) is_missing: bool,
}

/// Where a cursor stands: a buffer of rows begins at a position, or is empty before the first row or behind the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    #[default]
    BeforeFirst,
    AfterLast,
    /// The positions of the buffer's first row and of the last one.
    Rows(usize, usize),
}

/// What a fetch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    First,
    Next,
    Prior,
    /// As many rows before the buffer as there are, and no other.
    PriorWithoutAdjustment,
    Last,
    Absolute(i64),
    Relative(i64),
}

/// What a call asks for.
#[derive(Clone, Copy)]
pub(crate) enum BufferFetch {
    /// Other rows, so many.
    Move(Wanted, usize),
    /// The rows of the buffer again.
    Refresh,
    /// One of them again, by its number in the buffer from 0.
    RefreshRow(usize),
    /// The description of the columns alone.
    Describe,
}

/// The rows that a fetch gives, from 1, none when `count` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The place afterwards.
    pub(crate) place: Place,
    /// It would have begun before the first row, and begins with it instead.
    pub(crate) is_adjusted: bool,
}

const NOTHING: Window = Window { first: 0, count: 0, place: Place::BeforeFirst, is_adjusted: false };

/// The rows that a fetch of `size` rows gives of a cursor with `total` rows that stands at `place`. These are the rules of ODBC's
/// SQLFetchScroll, which are those of `sp_cursorfetch`.
pub(crate) fn window(wanted: Wanted, size: usize, total: usize, place: Place) -> Window {
    let total_rows = i64::try_from(total).unwrap_or(i64::MAX);
    let size_rows = i64::try_from(size).unwrap_or(i64::MAX);
    let first_of = |row: usize| i64::try_from(row).unwrap_or(i64::MAX);
    let from = |first: i64| starting_at(first, size, total);
    match wanted {
        // Without rows these only move the cursor.
        Wanted::First if size == 0 => NOTHING,
        Wanted::Last if size == 0 => Window { place: Place::AfterLast, ..NOTHING },
        Wanted::First => from(1),
        Wanted::Last => from((total_rows - size_rows + 1).max(1)),
        Wanted::Next => match place {
            Place::BeforeFirst => from(1),
            Place::AfterLast => from(total_rows + 1),
            Place::Rows(_, last) => from(first_of(last) + 1),
        },
        Wanted::Prior => match place {
            Place::BeforeFirst | Place::Rows(1, _) => NOTHING,
            Place::AfterLast => before_the_first(total_rows - size_rows + 1, true, size, total),
            Place::Rows(first, _) => before_the_first(first_of(first) - size_rows, true, size, total),
        },
        Wanted::PriorWithoutAdjustment => {
            let end = match place {
                Place::BeforeFirst => 0,
                Place::AfterLast => total,
                Place::Rows(first, _) => first - 1,
            };
            let size = size.min(end);
            if size == 0 { NOTHING } else { starting_at(first_of(end + 1 - size), size, total) }
        }
        Wanted::Absolute(0) => NOTHING,
        Wanted::Absolute(row) if row < 0 => {
            let first = total_rows.saturating_add(row).saturating_add(1);
            before_the_first(first, row.saturating_neg() <= size_rows, size, total)
        }
        Wanted::Absolute(row) => from(row),
        Wanted::Relative(offset) => match place {
            Place::BeforeFirst if offset <= 0 => NOTHING,
            Place::BeforeFirst => from(offset),
            Place::AfterLast if offset >= 0 => from(total_rows + 1),
            Place::AfterLast => window(Wanted::Absolute(offset), size, total, place),
            Place::Rows(1, _) if offset < 0 => NOTHING,
            Place::Rows(first, _) => {
                let may_adjust = offset.saturating_neg() <= size_rows;
                before_the_first(first_of(first).saturating_add(offset), may_adjust, size, total)
            }
        },
    }
}

/// A window that begins at `first`; if that is before the first row, it begins with the first one or holds nothing.
fn before_the_first(first: i64, may_adjust: bool, size: usize, total: usize) -> Window {
    match first {
        1.. => starting_at(first, size, total),
        _ if may_adjust && total > 0 => Window { is_adjusted: true, ..starting_at(1, size, total) },
        _ => NOTHING,
    }
}

fn starting_at(first: i64, size: usize, total: usize) -> Window {
    let behind = Window { place: Place::AfterLast, ..NOTHING };
    let Ok(first) = usize::try_from(first) else { return NOTHING };
    if first > total || size == 0 {
        return behind;
    }
    let count = size.min(total - first + 1);
    Window { first, count, place: Place::Rows(first, first + count - 1), is_adjusted: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First row, number of rows, adjusted.
    fn of(wanted: Wanted, size: usize, total: usize, place: Place) -> (usize, usize, bool) {
        let window = window(wanted, size, total, place);
        (window.first, window.count, window.is_adjusted)
    }

    /// sp-cursorfetch-transact-sql, examples A and B: six rows, the buffer begins with the fourth.
    #[test]
    fn prev_is_adjusted_and_prev_noadjust_is_not() {
        let place = Place::Rows(4, 4);
        assert_eq!(of(Wanted::Prior, 5, 6, place), (1, 5, true));
        assert_eq!(of(Wanted::PriorWithoutAdjustment, 5, 6, place), (1, 3, false));
        assert_eq!(of(Wanted::PriorWithoutAdjustment, 2, 6, place), (2, 2, false));
        for prior in [Wanted::Prior, Wanted::PriorWithoutAdjustment] {
            assert_eq!(window(prior, 5, 6, Place::Rows(1, 5)), NOTHING);
            assert_eq!(window(prior, 5, 6, Place::BeforeFirst), NOTHING);
            assert_eq!(of(prior, 2, 6, Place::AfterLast), (5, 2, false));
        }
    }

    #[test]
    fn next_goes_on_behind_the_buffer_and_stops_behind_the_last_row() {
        assert_eq!(of(Wanted::Next, 4, 6, Place::BeforeFirst), (1, 4, false));
        assert_eq!(of(Wanted::Next, 4, 6, Place::Rows(1, 4)), (5, 2, false));
        assert_eq!(window(Wanted::Next, 4, 6, Place::Rows(5, 6)).place, Place::AfterLast);
        assert_eq!(window(Wanted::Next, 4, 0, Place::BeforeFirst).place, Place::AfterLast);
        assert_eq!(window(Wanted::Next, 4, 6, Place::AfterLast).place, Place::AfterLast);
    }

    /// sp-cursorfetch-transact-sql: without rows FIRST stands before the result set, LAST behind it.
    #[test]
    fn first_and_last() {
        assert_eq!(of(Wanted::First, 4, 6, Place::AfterLast), (1, 4, false));
        assert_eq!(of(Wanted::Last, 4, 6, Place::BeforeFirst), (3, 4, false));
        assert_eq!(of(Wanted::Last, 40, 6, Place::BeforeFirst), (1, 6, false));
        assert_eq!(window(Wanted::First, 0, 6, Place::AfterLast), NOTHING);
        assert_eq!(window(Wanted::Last, 0, 6, Place::BeforeFirst).place, Place::AfterLast);
        assert_eq!(of(Wanted::Last, 4, 0, Place::BeforeFirst), (0, 0, false));
    }

    /// sp-cursorfetch-transact-sql: a negative number counts from the end.
    #[test]
    fn absolute() {
        assert_eq!(of(Wanted::Absolute(5), 4, 6, Place::BeforeFirst), (5, 2, false));
        assert_eq!(window(Wanted::Absolute(7), 4, 6, Place::BeforeFirst).place, Place::AfterLast);
        assert_eq!(window(Wanted::Absolute(0), 4, 6, Place::AfterLast), NOTHING);
        assert_eq!(of(Wanted::Absolute(-2), 4, 6, Place::BeforeFirst), (5, 2, false));
        assert_eq!(of(Wanted::Absolute(-7), 8, 6, Place::BeforeFirst), (1, 6, true));
        assert_eq!(window(Wanted::Absolute(-7), 4, 6, Place::AfterLast), NOTHING);
        assert_eq!(window(Wanted::Absolute(i64::MIN), 4, 6, Place::AfterLast), NOTHING);
    }

    #[test]
    fn relative_counts_from_the_first_row_of_the_buffer() {
        let place = Place::Rows(3, 4);
        assert_eq!(of(Wanted::Relative(2), 2, 6, place), (5, 2, false));
        assert_eq!(of(Wanted::Relative(0), 2, 6, place), (3, 2, false));
        assert_eq!(of(Wanted::Relative(-1), 2, 6, place), (2, 2, false));
        assert_eq!(of(Wanted::Relative(-3), 4, 6, place), (1, 4, true));
        assert_eq!(window(Wanted::Relative(-3), 2, 6, place), NOTHING);
        assert_eq!(window(Wanted::Relative(9), 2, 6, place).place, Place::AfterLast);
        assert_eq!(window(Wanted::Relative(-1), 2, 6, Place::Rows(1, 2)), NOTHING);
        assert_eq!(of(Wanted::Relative(2), 2, 6, Place::BeforeFirst), (2, 2, false));
        assert_eq!(of(Wanted::Relative(-2), 2, 6, Place::AfterLast), (5, 2, false));
        assert_eq!(window(Wanted::Relative(1), 2, 6, Place::AfterLast).place, Place::AfterLast);
    }
}
