//! Log sequence numbers and transaction ids: packing, order, text forms.

use std::fmt;
use std::str::FromStr;

/// Bits of the record number inside a block.
pub const SLOT_BITS: u32 = 14;
/// Bits of the block's position, in 512-byte sectors from the start of its VLF.
pub const BLOCK_BITS: u32 = 26;
/// Bits of the VLF sequence number.
pub const VLF_BITS: u32 = 24;
/// Highest slot number a block can hold.
pub const SLOT_MAX: u32 = (1 << SLOT_BITS) - 1;
/// Highest block position inside a VLF (512-byte sectors: a VLF is below 32 GiB).
pub const BLOCK_MAX: u32 = (1 << BLOCK_BITS) - 1;
/// Highest VLF sequence number.
pub const VLF_MAX: u32 = (1 << VLF_BITS) - 1;

const _: () = assert!(SLOT_BITS + BLOCK_BITS + VLF_BITS == 64);
const _: () = assert!(SLOT_MAX < 100_000, "the slot has its own digits in `to_numeric`");
const _: () = assert!((BLOCK_MAX as u64 + 1) * 100_000 <= 1_000_000_000_000_000, "and so has the block");

/// The address of one log record, totally ordered by age: VLF sequence number, block (its first 512-byte sector, counted
/// from the start of the VLF; the first block of a VLF is sector 16), slot in the block (from 1).
///
/// Text form `00000025:000001a8:0003` (hexadecimal), as SQL Server prints it. Packed in 64 bits so that it fits page
/// headers and atomics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(u64);

impl Lsn {
    /// No record; older than every record. Prints `00000000:00000000:0000`.
    pub const NULL: Lsn = Lsn(0);
    /// Newer than every record.
    pub const MAX: Lsn = Lsn(u64::MAX);

    /// Packs the three parts. Panics when a part is out of range (a bug of the caller: hostile input goes through
    /// [`Lsn::from_raw`] or `parse`).
    pub fn new(vlf: u32, block: u32, slot: u16) -> Lsn {
        assert!(vlf <= VLF_MAX, "VLF sequence {vlf} out of range");
        assert!(block <= BLOCK_MAX, "block {block} out of range");
        assert!(u32::from(slot) <= SLOT_MAX, "slot {slot} out of range");
        Lsn((u64::from(vlf) << (BLOCK_BITS + SLOT_BITS)) | (u64::from(block) << SLOT_BITS) | u64::from(slot))
    }

    /// The packed form, as kept in page headers and watermarks.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// From the packed form; every bit pattern is some LSN.
    pub const fn from_raw(raw: u64) -> Lsn {
        Lsn(raw)
    }

    /// VLF sequence number (1 and up for a real record).
    pub const fn vlf(self) -> u32 {
        (self.0 >> (BLOCK_BITS + SLOT_BITS)) as u32
    }

    /// First 512-byte sector of the block, counted from the start of the VLF.
    pub const fn block(self) -> u32 {
        ((self.0 >> SLOT_BITS) & BLOCK_MAX as u64) as u32
    }

    /// Number of the record in its block, from 1; 0 names the block itself.
    pub const fn slot(self) -> u16 {
        (self.0 & SLOT_MAX as u64) as u16
    }

    /// Whether this is [`Lsn::NULL`].
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The block of this record, as an LSN with slot 0.
    pub const fn block_start(self) -> Lsn {
        Lsn(self.0 & !(SLOT_MAX as u64))
    }

    /// The same block with another slot.
    pub fn with_slot(self, slot: u16) -> Lsn {
        assert!(u32::from(slot) <= SLOT_MAX);
        Lsn((self.0 & !u64::from(SLOT_MAX)) | u64::from(slot))
    }

    /// SQL Server's `numeric(25,0)` form: vlf * 10^15 + block * 10^5 + slot.
    pub fn to_numeric(self) -> u128 {
        u128::from(self.vlf()) * 1_000_000_000_000_000
            + u128::from(self.block()) * 100_000
            + u128::from(self.slot())
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}:{:08x}:{:04x}", self.vlf(), self.block(), self.slot())
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not an LSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LsnParseError;

impl fmt::Display for LsnParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a log sequence number (expected vlf:block:slot)")
    }
}

impl FromStr for Lsn {
    type Err = LsnParseError;

    /// Reads `00000025:000001a8:0003` and `0x00000025:...` (hexadecimal) and `37:424:3` (decimal: no part padded to its
    /// full hexadecimal width), the forms fn_dblog takes.
    fn from_str(text: &str) -> Result<Lsn, LsnParseError> {
        let (body, prefixed) = match text.strip_prefix("0x") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let parts: Vec<&str> = body.split(':').collect();
        let [vlf, block, slot] = parts.as_slice() else { return Err(LsnParseError) };
        let padded = vlf.len() == 8 && block.len() == 8 && slot.len() == 4;
        let radix = if prefixed || padded { 16 } else { 10 };
        let read = |part: &str, max: u32| match u32::from_str_radix(part, radix) {
            Ok(number) if number <= max && !part.starts_with('+') => Ok(number),
            _ => Err(LsnParseError),
        };
        Ok(Lsn::new(read(vlf, VLF_MAX)?, read(block, BLOCK_MAX)?, read(slot, SLOT_MAX)? as u16))
    }
}

/// The id of a transaction that wrote to the log, handed out in increasing order per database; prints `0000:0000035a`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TxnId(pub u64);

impl TxnId {
    /// Not part of any transaction (checkpoint records and the like).
    pub const NULL: TxnId = TxnId(0);

    /// Whether this is [`TxnId::NULL`].
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:08x}", self.0 >> 32, self.0 & 0xffff_ffff)
    }
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_prints_and_parses() {
        let lsn = Lsn::new(0x25, 0x1a8, 3);
        assert_eq!((lsn.vlf(), lsn.block(), lsn.slot()), (0x25, 0x1a8, 3));
        assert_eq!(lsn.to_string(), "00000025:000001a8:0003");
        assert_eq!("00000025:000001a8:0003".parse(), Ok(lsn));
        assert_eq!("0x00000025:000001a8:0003".parse(), Ok(lsn));
        assert_eq!("37:424:3".parse(), Ok(lsn));
        assert_eq!(Lsn::NULL.to_string(), "00000000:00000000:0000");
        assert_eq!(Lsn::from_raw(lsn.raw()), lsn);
        for bad in ["", "1:2", "1:2:3:4", "x:1:1", "99999999999:1:1", "1:1:99999", "+1:1:1"] {
            assert_eq!(bad.parse::<Lsn>(), Err(LsnParseError), "{bad}");
        }
    }

    #[test]
    fn numeric_form_is_sql_servers() {
        assert_eq!(Lsn::new(2094, 272, 481).to_numeric(), 2_094_000_000_027_200_481);
        assert_eq!(Lsn::new(43, 701, 1).to_numeric(), 43_000_000_070_100_001);
    }

    #[test]
    fn order_is_vlf_then_block_then_slot() {
        let ordered = [
            Lsn::NULL,
            Lsn::new(1, 16, 1),
            Lsn::new(1, 16, 2),
            Lsn::new(1, 17, 1),
            Lsn::new(2, 16, 1),
            Lsn::MAX,
        ];
        assert!(ordered.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(Lsn::new(1, 17, 9).block_start().with_slot(2), Lsn::new(1, 17, 2));
    }

    #[test]
    fn transaction_ids_print_as_in_fn_dblog() {
        assert_eq!(TxnId(0x35a).to_string(), "0000:0000035a");
        assert_eq!(TxnId(0x1_0000_0001).to_string(), "0001:00000001");
    }
}
