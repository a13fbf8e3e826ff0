//! Sorting of many rows in pieces, with a check for interrupts between them: an attention does not wait for the whole sort.

use std::cmp::Ordering;

use crate::task;
use crate::wait::Interrupted;

/// Rows sorted or merged between two checks: some milliseconds, whatever a comparison costs.
const PIECE_ROWS: usize = 1 << 14;

/// Sorts by `compare`, stable. `Interrupted`: the task was interrupted; the rows are then lost, and the caller does not need them.
///
/// Pieces are sorted in place, then runs of one, two, four, ... pieces are merged by pairs into a second list. Without memory for that
/// list, all rows are sorted at once.
pub fn sort_by<T: Default>(
    rows: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(), Interrupted> {
    let count = rows.len();
    let mut merged: Vec<T> = Vec::new();
    if count <= PIECE_ROWS || merged.try_reserve_exact(count).is_err() {
        rows.sort_by(compare);
        return Ok(());
    }
    let sorted = sort_pieces(rows, &compare).and_then(|()| {
        let mut run = PIECE_ROWS;
        while run < count {
            for pair in rows.chunks_mut(2 * run) {
                let (left, right) = pair.split_at_mut(run.min(pair.len()));
                merge(left, right, &mut merged, &compare)?;
            }
            assert_eq!(merged.len(), count, "each row is in one pair of runs");
            std::mem::swap(rows, &mut merged);
            merged.clear();
            run *= 2;
        }
        Ok(())
    });
    sorted.inspect_err(|_| rows.clear())
}

fn sort_pieces<T>(rows: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) -> Result<(), Interrupted> {
    for piece in rows.chunks_mut(PIECE_ROWS) {
        look()?;
        piece.sort_by(compare);
    }
    Ok(())
}

/// Merges two sorted runs and appends the result; among equal rows those of the left run come first.
fn merge<T: Default>(
    left: &mut [T],
    right: &mut [T],
    merged: &mut Vec<T>,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Result<(), Interrupted> {
    let (mut at_left, mut at_right) = (0, 0);
    let is_in_order = match (left.last(), right.first()) {
        (Some(last), Some(first)) => compare(last, first).is_le(),
        _ => true,
    };
    while !is_in_order && at_left < left.len() && at_right < right.len() {
        if (at_left + at_right).is_multiple_of(PIECE_ROWS) {
            look()?;
        }
        let at = match compare(&left[at_left], &right[at_right]).is_le() {
            true => {
                at_left += 1;
                &mut left[at_left - 1]
            }
            false => {
                at_right += 1;
                &mut right[at_right - 1]
            }
        };
        merged.push(std::mem::take(at));
    }
    for rest in left[at_left..].chunks_mut(PIECE_ROWS).chain(right[at_right..].chunks_mut(PIECE_ROWS)) {
        look()?;
        merged.extend(rest.iter_mut().map(std::mem::take));
    }
    Ok(())
}

fn look() -> Result<(), Interrupted> {
    if task::interrupt_pending() { Err(Interrupted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::task::{self, InterruptReason};

    /// Numbers in no order, with duplicates.
    fn numbers(count: usize, kinds: u64) -> Vec<(u64, usize)> {
        let number = |at: usize| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        (0..count).map(|at| (number(at) % kinds, at)).collect()
    }

    #[test]
    fn rows_are_sorted_and_equal_ones_stay_as_they_came() {
        let piece = PIECE_ROWS;
        for count in [0, 1, 2, piece, piece + 1, 2 * piece, 2 * piece + 1, 5 * piece - 1, 7 * piece + 3] {
            for kinds in [1, 7, u64::MAX] {
                let mut rows = numbers(count, kinds);
                let mut expected = rows.clone();
                expected.sort_by_key(|row| row.0);
                sort_by(&mut rows, |a, b| a.0.cmp(&b.0)).expect("nobody interrupts");
                assert!(rows == expected, "{count} rows of {kinds} kinds");
            }
        }
    }

    #[test]
    fn rows_in_order_are_compared_about_once_each() {
        let compared = Cell::new(0);
        let mut rows: Vec<u64> = (0..8 * PIECE_ROWS as u64).collect();
        sort_by(&mut rows, |a, b| {
            compared.set(compared.get() + 1);
            a.cmp(b)
        })
        .expect("nobody interrupts");
        assert!(rows.is_sorted() && compared.get() <= rows.len() + 16, "{} comparisons", compared.get());
    }

    #[test]
    fn whoever_is_interrupted_sorts_no_more_than_a_piece() {
        let whole = {
            let compared = Cell::new(0_u64);
            sort_by(&mut numbers(8 * PIECE_ROWS, u64::MAX), |a, b| {
                compared.set(compared.get() + 1);
                a.cmp(b)
            })
            .expect("nobody interrupts");
            compared.get()
        };
        // Wherever the sort is, the work after an interrupt is bounded by one piece.
        let piece = 2 * (PIECE_ROWS as u64) * u64::from(PIECE_ROWS.ilog2());
        for twelfth in 0..12 {
            let (compared, behind) = (Cell::new(0), Cell::new(0));
            let (mut rows, at) = (numbers(8 * PIECE_ROWS, u64::MAX), whole * twelfth / 12);
            let outcome = sort_by(&mut rows, |a, b| {
                compared.set(compared.get() + 1);
                if compared.get() > at {
                    task::current().interrupt(InterruptReason::Attention);
                    behind.set(behind.get() + 1);
                }
                a.cmp(b)
            });
            task::current().clear_interrupt();
            assert!(outcome == Err(Interrupted) && rows.is_empty(), "interrupted at {at} of {whole}");
            assert!(behind.get() <= piece, "{} comparisons behind it", behind.get());
        }
    }
}
