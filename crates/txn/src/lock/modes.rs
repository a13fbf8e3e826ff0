//! Lock modes, their compatibility and their conversion, as SQL Server documents them.
//!
//! A mode is a set of components: `SIX` is S and IX, `RangeS-U` is a shared range and U on the key. Two modes conflict when a component
//! of one conflicts with a component of the other; converting takes the union and names it. Both official matrices follow from the
//! dozen rules below; the tests compare every cell with the matrices as published.

use os::WaitType;

/// A lock mode. The order of declaration is the order of the published matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum LockMode {
    /// Schema stability: compiling or using an object; conflicts only with Sch-M.
    SchS,
    /// Schema modification: DDL; conflicts with everything.
    SchM,
    /// Shared.
    S,
    /// Update: read now, X later; one at a time.
    U,
    /// Exclusive.
    X,
    /// Intent shared.
    IS,
    /// Intent update.
    IU,
    /// Intent exclusive.
    IX,
    /// Shared with intent update.
    SIU,
    /// Shared with intent exclusive.
    SIX,
    /// Update with intent exclusive.
    UIX,
    /// Bulk update.
    BU,
    /// Shared range, shared key: serializable range scan.
    RangeSS,
    /// Shared range, update key: serializable update scan.
    RangeSU,
    /// Insert range, no key lock: the test before inserting.
    RangeIN,
    /// RangeI-N with S.
    RangeIS,
    /// RangeI-N with U.
    RangeIU,
    /// RangeI-N with X.
    RangeIX,
    /// RangeI-N with RangeS-S.
    RangeXS,
    /// RangeI-N with RangeS-U.
    RangeXU,
    /// Exclusive range, exclusive key.
    RangeXX,
}

const SCH_S: u16 = 1;
const SCH_M: u16 = 1 << 1;
const SHARED: u16 = 1 << 2;
const UPDATE: u16 = 1 << 3;
const EXCLUSIVE: u16 = 1 << 4;
const INTENT_S: u16 = 1 << 5;
const INTENT_U: u16 = 1 << 6;
const INTENT_X: u16 = 1 << 7;
const BULK: u16 = 1 << 8;
const RANGE_S: u16 = 1 << 9;
const RANGE_I: u16 = 1 << 10;
const RANGE_X: u16 = 1 << 11;

const KEY_PART: u16 = SHARED | UPDATE | EXCLUSIVE;
const RANGE_PART: u16 = RANGE_S | RANGE_I | RANGE_X;
const INTENT_PART: u16 = INTENT_S | INTENT_U | INTENT_X;

impl LockMode {
    /// Each mode once.
    pub const ALL: [LockMode; 21] = [
        LockMode::SchS,
        LockMode::SchM,
        LockMode::S,
        LockMode::U,
        LockMode::X,
        LockMode::IS,
        LockMode::IU,
        LockMode::IX,
        LockMode::SIU,
        LockMode::SIX,
        LockMode::UIX,
        LockMode::BU,
        LockMode::RangeSS,
        LockMode::RangeSU,
        LockMode::RangeIN,
        LockMode::RangeIS,
        LockMode::RangeIU,
        LockMode::RangeIX,
        LockMode::RangeXS,
        LockMode::RangeXU,
        LockMode::RangeXX,
    ];

    /// Is a request of this mode compatible with `granted`, held by another space?
    #[inline]
    pub fn is_compatible_with(self, granted: LockMode) -> bool {
        CONFLICTS[self as usize] & COMPONENTS[granted as usize] == 0
    }

    /// Its components, a bit each.
    #[inline]
    pub(super) fn parts(self) -> u16 {
        COMPONENTS[self as usize]
    }

    /// The parts that it conflicts with: with a mode that has one of them, and no other.
    #[inline]
    pub(super) fn conflicting_parts(self) -> u16 {
        CONFLICTS[self as usize]
    }

    /// The mode that a holder of `self` needs to have `wanted` as well (the published conversion matrix).
    #[inline]
    pub fn combine(self, wanted: LockMode) -> LockMode {
        if self == wanted { self } else { COMBINED[self as usize][wanted as usize] }
    }

    /// Does `self` already include `wanted`?
    #[inline]
    pub fn covers(self, wanted: LockMode) -> bool {
        self.combine(wanted) == self
    }

    /// Is it for reading only (S, IS, RangeS-S, Sch-S)? Such a lock may be released before the transaction ends.
    pub fn is_read_only(self) -> bool {
        matches!(self, LockMode::S | LockMode::IS | LockMode::RangeSS | LockMode::SchS)
    }

    /// Does it keep other transactions from inserting into the gap below the key? (RangeI-N only tests for such a lock.)
    pub fn guards_gap(self) -> bool {
        let guards = COMPONENTS[self as usize] & (RANGE_S | RANGE_X) != 0;
        assert_eq!(guards, !self.is_compatible_with(LockMode::RangeIN) && self != LockMode::SchM, "{self:?}");
        guards
    }

    /// The object lock that makes row or page locks of this mode unnecessary: S for readers, X for the rest.
    pub fn escalates_to(self) -> LockMode {
        if self.is_read_only() { LockMode::S } else { LockMode::X }
    }

    /// The intent that a lock of this mode needs on the levels above: IS, IU or IX.
    pub fn intent(self) -> LockMode {
        let components = COMPONENTS[self as usize];
        if components & (EXCLUSIVE | INTENT_X | RANGE_I | RANGE_X | BULK) != 0 {
            LockMode::IX
        } else if components & (UPDATE | INTENT_U) != 0 {
            LockMode::IU
        } else {
            LockMode::IS
        }
    }

    /// The name in `sys.dm_tran_locks.request_mode`.
    pub fn name(self) -> &'static str {
        match self {
            LockMode::SchS => "Sch-S",
            LockMode::SchM => "Sch-M",
            LockMode::S => "S",
            LockMode::U => "U",
            LockMode::X => "X",
            LockMode::IS => "IS",
            LockMode::IU => "IU",
            LockMode::IX => "IX",
            LockMode::SIU => "SIU",
            LockMode::SIX => "SIX",
            LockMode::UIX => "UIX",
            LockMode::BU => "BU",
            LockMode::RangeSS => "RangeS-S",
            LockMode::RangeSU => "RangeS-U",
            LockMode::RangeIN => "RangeI-N",
            LockMode::RangeIS => "RangeI-S",
            LockMode::RangeIU => "RangeI-U",
            LockMode::RangeIX => "RangeI-X",
            LockMode::RangeXS => "RangeX-S",
            LockMode::RangeXU => "RangeX-U",
            LockMode::RangeXX => "RangeX-X",
        }
    }

    /// Its wait type in `sys.dm_os_wait_stats`.
    pub fn wait_type(self) -> WaitType {
        match self {
            LockMode::SchS => WaitType::LCK_M_SCH_S,
            LockMode::SchM => WaitType::LCK_M_SCH_M,
            LockMode::S => WaitType::LCK_M_S,
            LockMode::U => WaitType::LCK_M_U,
            LockMode::X => WaitType::LCK_M_X,
            LockMode::IS => WaitType::LCK_M_IS,
            LockMode::IU => WaitType::LCK_M_IU,
            LockMode::IX => WaitType::LCK_M_IX,
            LockMode::SIU => WaitType::LCK_M_SIU,
            LockMode::SIX => WaitType::LCK_M_SIX,
            LockMode::UIX => WaitType::LCK_M_UIX,
            LockMode::BU => WaitType::LCK_M_BU,
            LockMode::RangeSS => WaitType::LCK_M_RS_S,
            LockMode::RangeSU => WaitType::LCK_M_RS_U,
            LockMode::RangeIN => WaitType::LCK_M_RIn_NL,
            LockMode::RangeIS => WaitType::LCK_M_RIn_S,
            LockMode::RangeIU => WaitType::LCK_M_RIn_U,
            LockMode::RangeIX => WaitType::LCK_M_RIn_X,
            LockMode::RangeXS => WaitType::LCK_M_RX_S,
            LockMode::RangeXU => WaitType::LCK_M_RX_U,
            LockMode::RangeXX => WaitType::LCK_M_RX_X,
        }
    }
}

const fn components(mode: LockMode) -> u16 {
    match mode {
        LockMode::SchS => SCH_S,
        LockMode::SchM => SCH_M,
        LockMode::S => SHARED,
        LockMode::U => UPDATE,
        LockMode::X => EXCLUSIVE,
        LockMode::IS => INTENT_S,
        LockMode::IU => INTENT_U,
        LockMode::IX => INTENT_X,
        LockMode::SIU => SHARED | INTENT_U,
        LockMode::SIX => SHARED | INTENT_X,
        LockMode::UIX => UPDATE | INTENT_X,
        LockMode::BU => BULK,
        LockMode::RangeSS => RANGE_S | SHARED,
        LockMode::RangeSU => RANGE_S | UPDATE,
        LockMode::RangeIN => RANGE_I,
        LockMode::RangeIS => RANGE_I | SHARED,
        LockMode::RangeIU => RANGE_I | UPDATE,
        LockMode::RangeIX => RANGE_I | EXCLUSIVE,
        LockMode::RangeXS => RANGE_X | SHARED,
        LockMode::RangeXU => RANGE_X | UPDATE,
        LockMode::RangeXX => RANGE_X | EXCLUSIVE,
    }
}

/// The components that conflict with one component. Ranges conflict only with ranges, the key part only with modes that cover the key.
const fn conflicts_of_component(component: u16) -> u16 {
    match component {
        SCH_S => SCH_M,
        SCH_M => u16::MAX,
        SHARED => SCH_M | EXCLUSIVE | INTENT_X | BULK,
        UPDATE => SCH_M | UPDATE | EXCLUSIVE | INTENT_U | INTENT_X | BULK,
        EXCLUSIVE => SCH_M | KEY_PART | INTENT_PART | BULK,
        INTENT_S => SCH_M | EXCLUSIVE | BULK,
        INTENT_U => SCH_M | UPDATE | EXCLUSIVE | BULK,
        INTENT_X => SCH_M | KEY_PART | BULK,
        BULK => SCH_M | KEY_PART | INTENT_PART,
        RANGE_S => SCH_M | RANGE_I | RANGE_X,
        RANGE_I => SCH_M | RANGE_S | RANGE_X,
        RANGE_X => SCH_M | RANGE_PART,
        _ => 0,
    }
}

const fn conflicts(mode: LockMode) -> u16 {
    let components = components(mode);
    let mut all = 0;
    let mut bit = 0;
    while bit < 12 {
        if components & (1 << bit) != 0 {
            all |= conflicts_of_component(1 << bit);
        }
        bit += 1;
    }
    all
}

/// The least mode that has all components of `left` and `right`.
const fn union(left: LockMode, right: LockMode) -> LockMode {
    let all = components(left) | components(right);
    if all & SCH_M != 0 {
        return LockMode::SchM;
    }
    let key = if all & EXCLUSIVE != 0 {
        EXCLUSIVE
    } else if all & UPDATE != 0 {
        UPDATE
    } else {
        all & SHARED
    };
    if all & RANGE_PART != 0 {
        return range_union(all, key);
    }
    if all & BULK != 0 {
        return if all & (KEY_PART | INTENT_PART) == 0 { LockMode::BU } else { LockMode::X };
    }
    let intent = if all & INTENT_X != 0 {
        INTENT_X
    } else if all & INTENT_U != 0 {
        INTENT_U
    } else {
        all & INTENT_S
    };
    match (key, intent) {
        (EXCLUSIVE, _) => LockMode::X,
        (UPDATE, INTENT_X) => LockMode::UIX,
        (UPDATE, _) => LockMode::U,
        (SHARED, INTENT_X) => LockMode::SIX,
        (SHARED, INTENT_U) => LockMode::SIU,
        (SHARED, _) => LockMode::S,
        (_, INTENT_X) => LockMode::IX,
        (_, INTENT_U) => LockMode::IU,
        (_, INTENT_S) => LockMode::IS,
        _ => LockMode::SchS,
    }
}

const fn range_union(all: u16, key: u16) -> LockMode {
    let exclusive_range = all & RANGE_X != 0
        || all & (RANGE_S | RANGE_I) == RANGE_S | RANGE_I
        || all & RANGE_S != 0 && key == EXCLUSIVE;
    match (exclusive_range, all & RANGE_S != 0, key) {
        (true, _, EXCLUSIVE) => LockMode::RangeXX,
        (true, _, UPDATE) => LockMode::RangeXU,
        (true, _, _) => LockMode::RangeXS,
        (false, true, UPDATE) => LockMode::RangeSU,
        (false, true, _) => LockMode::RangeSS,
        (false, false, EXCLUSIVE) => LockMode::RangeIX,
        (false, false, UPDATE) => LockMode::RangeIU,
        (false, false, SHARED) => LockMode::RangeIS,
        (false, false, _) => LockMode::RangeIN,
    }
}

const MODES: usize = LockMode::ALL.len();

// The rules are consistent: conflicts are mutual, Sch-M conflicts with all, a mode combined with itself is itself, and combining once
// more changes nothing, whatever the order.
const _: () = {
    let (all, mut left) = (LockMode::ALL, 0);
    while left < MODES {
        assert!(all[left] as usize == left, "the published matrices' order");
        assert!(conflicts(all[left]) & SCH_M != 0, "Sch-M conflicts with everything");
        assert!(union(all[left], all[left]) as usize == left, "a mode combined with itself");
        let mut right = 0;
        while right < MODES {
            let (one, other) = (all[left], all[right]);
            let forth = conflicts(one) & components(other) != 0;
            assert!(forth == (conflicts(other) & components(one) != 0), "conflicts are mutual");
            let both = union(one, other);
            assert!(both as usize == union(other, one) as usize, "the order of asking does not matter");
            assert!(union(both, one) as usize == both as usize, "what is held is covered");
            right += 1;
        }
        left += 1;
    }
};

static COMPONENTS: [u16; MODES] = {
    let mut table = [0; MODES];
    let mut at = 0;
    while at < MODES {
        table[at] = components(LockMode::ALL[at]);
        at += 1;
    }
    table
};

static CONFLICTS: [u16; MODES] = {
    let mut table = [0; MODES];
    let mut at = 0;
    while at < MODES {
        table[at] = conflicts(LockMode::ALL[at]);
        at += 1;
    }
    table
};

static COMBINED: [[LockMode; MODES]; MODES] = {
    let mut table = [[LockMode::SchS; MODES]; MODES];
    let mut held = 0;
    while held < MODES {
        let mut wanted = 0;
        while wanted < MODES {
            table[held][wanted] = union(LockMode::ALL[held], LockMode::ALL[wanted]);
            wanted += 1;
        }
        held += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The matrix as published: rows requested, columns granted, `C` conflict, `.` none, `I` pairs that never meet (a key mode and a
    /// table mode). Order of `LockMode::ALL`.
    const PUBLISHED: [&str; MODES] = [
        ".C..........IIIIIIIII",
        "CCCCCCCCCCCCIIIIIIIII",
        ".C..C..C.CCC.....C..C",
        ".C.CC.CCCCCC.C..CC.CC",
        ".CCCCCCCCCCCCC.CCCCCC",
        ".C..C......CIIIIIIIII",
        ".C.CC.....CCIIIIIIIII",
        ".CCCC...CCCCIIIIIIIII",
        ".C.CC..C.CCCIIIIIIIII",
        ".CCCC..CCCCCIIIIIIIII",
        ".CCCC.CCCCCCIIIIIIIII",
        ".CCCCCCCCCC.IIIIIIIII",
        "II..CIIIIIII..CCCCCCC",
        "II.CCIIIIIII.CCCCCCCC",
        "II...IIIIIIICC....CCC",
        "II..CIIIIIIICC...CCCC",
        "II.CCIIIIIIICC..CCCCC",
        "IICCCIIIIIIICC.CCCCCC",
        "II..CIIIIIIICCCCCCCCC",
        "II.CCIIIIIIICCCCCCCCC",
        "IICCCIIIIIIICCCCCCCCC",
    ];

    #[test]
    fn compatibility_is_the_published_matrix() {
        for (row, &requested) in PUBLISHED.iter().zip(&LockMode::ALL) {
            assert_eq!(row.len(), MODES);
            for (cell, &granted) in row.bytes().zip(&LockMode::ALL) {
                let expected = match cell {
                    b'C' => false,
                    b'.' => true,
                    _ => continue,
                };
                let found = requested.is_compatible_with(granted);
                assert_eq!(found, expected, "{} asked beside {}", requested.name(), granted.name());
            }
        }
    }

    #[test]
    fn compatibility_is_symmetric() {
        for &left in &LockMode::ALL {
            for &right in &LockMode::ALL {
                assert_eq!(
                    left.is_compatible_with(right),
                    right.is_compatible_with(left),
                    "{left:?} {right:?}"
                );
            }
        }
    }

    #[test]
    fn conversions_are_the_published_ones() {
        use LockMode::*;
        let published = [
            (S, RangeIN, RangeIS),
            (U, RangeIN, RangeIU),
            (X, RangeIN, RangeIX),
            (RangeIN, RangeSS, RangeXS),
            (RangeIN, RangeSU, RangeXU),
            (S, IX, SIX),
            (S, IU, SIU),
            (U, IX, UIX),
            (IS, IX, IX),
            (IS, S, S),
            (S, U, U),
            (U, X, X),
            (S, X, X),
            (SIX, U, UIX),
            (SchS, SchM, SchM),
            (IX, SchM, SchM),
            (RangeSS, X, RangeXX),
            (RangeSS, U, RangeSU),
            (RangeIN, X, RangeIX),
        ];
        for (held, wanted, result) in published {
            assert_eq!(held.combine(wanted), result, "{held:?} + {wanted:?}");
            assert_eq!(wanted.combine(held), result, "{wanted:?} + {held:?}");
        }
    }

    #[test]
    fn a_converted_lock_conflicts_with_all_that_either_part_conflicted_with() {
        let never_meet =
            |left: LockMode, right: LockMode| PUBLISHED[left as usize].as_bytes()[right as usize] == b'I';
        for &held in &LockMode::ALL {
            for &wanted in &LockMode::ALL {
                if never_meet(held, wanted) {
                    continue;
                }
                let both = held.combine(wanted);
                assert!(both.covers(held) && both.covers(wanted), "{held:?} + {wanted:?} = {both:?}");
                for &other in &LockMode::ALL {
                    if !held.is_compatible_with(other) || !wanted.is_compatible_with(other) {
                        assert!(
                            !both.is_compatible_with(other),
                            "{held:?} + {wanted:?} = {both:?} beside {other:?}"
                        );
                    }
                }
            }
        }
    }
}
