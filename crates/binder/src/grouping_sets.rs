//! The grouping of a query: its keys, and the grouping sets of ROLLUP, CUBE and GROUPING SETS.

use plan_ir::bound::tree::Expr;
use plan_ir::kinds::ColumnId;
use types::SqlError;

/// Most grouping sets of a query, and most different expressions in them (SELECT - GROUP BY, "Limitations").
const SETS_MAX: usize = 4_096;
pub(super) const KEYS_MAX: usize = 32;

/// A set of keys, by position.
pub(super) type KeySet = Vec<usize>;

/// The keys and grouping sets of a query.
#[derive(Clone, Default)]
pub struct Grouping {
    /// Each once.
    pub(super) keys: Vec<Expr>,
    /// `None`: by all keys, and by nothing else.
    pub(super) sets: Option<GroupingSets>,
}

/// Several sets.
#[derive(Clone)]
pub struct GroupingSets {
    pub(super) sets: Vec<KeySet>,
    /// The number of a group's set, in its row.
    pub(super) number: ColumnId,
}

pub(super) fn check_count(sets: usize) -> Result<(), SqlError> {
    if sets > SETS_MAX { Err(SqlError::new(10703, &[&SETS_MAX])) } else { Ok(()) }
}

/// All parts, then without the last one, and so on to none.
pub(super) fn rolled_up(parts: &[KeySet]) -> Vec<KeySet> {
    (0..=parts.len()).rev().map(|count| united(&parts[..count].iter().collect::<Vec<_>>())).collect()
}

/// Each choice of parts, all of them first.
pub(super) fn cubed(parts: &[KeySet]) -> Result<Vec<KeySet>, SqlError> {
    check_count(1_usize.checked_shl(parts.len() as u32).unwrap_or(usize::MAX))?;
    let chosen = |choice: usize| {
        let is_in = |at: &usize| choice >> (parts.len() - 1 - at) & 1 == 1;
        united(&(0..parts.len()).filter(is_in).map(|at| &parts[at]).collect::<Vec<_>>())
    };
    Ok((0..1 << parts.len()).rev().map(chosen).collect())
}

pub(super) fn united(sets: &[&KeySet]) -> KeySet {
    let mut all: KeySet = sets.iter().flat_map(|set| set.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

pub(super) fn number_of(at: i64, set: &KeySet, lacks_all: i64) -> i64 {
    let has = set.iter().fold(0, |bits, key| bits | 1_i64 << key);
    assert!(has & !lacks_all == 0, "keys of the query");
    at << KEYS_MAX | (lacks_all & !has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_come_from_their_parts() {
        let parts = [vec![0], vec![1, 2], vec![3]];
        assert_eq!(rolled_up(&parts), [vec![0, 1, 2, 3], vec![0, 1, 2], vec![0], vec![]]);
        let all = cubed(&parts).expect("eight sets");
        assert_eq!(all.len(), 8);
        assert_eq!((&all[0], &all[1], &all[7]), (&vec![0, 1, 2, 3], &vec![0, 1, 2], &vec![]));
        let many: Vec<KeySet> = (0..13).map(|at| vec![at]).collect();
        assert_eq!(cubed(&many).expect_err("8,192 sets").number, 10703);
        assert_eq!(number_of(2, &vec![0], 0b111), 2 << 32 | 0b110);
    }
}
