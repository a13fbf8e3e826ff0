//! Virtual log files: their number when a log is made or grows, their header on disk, and the map of all VLFs of a log.

use rustc_hash::FxHashMap;

use crate::block::PARITIES;
use crate::codec::DecodeError;
use crate::limits::{FILE_HEADER_BYTES, FIRST_BLOCK_SECTOR, SECTOR_BYTES, VLF_BYTES_MIN, VLF_HEADER_BYTES};
use crate::lsn::{BLOCK_MAX, Lsn, VLF_MAX};

const KB: u64 = 1024;
const MB: u64 = 1024 * KB;
const GB: u64 = 1024 * MB;

/// How many VLFs a new part of the log gets (reference 1.3; claims of seed 004).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum VlfRule {
    /// SQL Server up to 2012: up to 64 MB 4, up to 1 GB 8, above 16.
    Pre2014,
    /// 2014 to 2019: one when the growth is below an eighth of the log, else as before.
    Sql2014,
    /// 2022: one when the growth is below an eighth of the log or at most 64 MB, up to 1 GB 8, above 16.
    /// A new log gets 4, 8 or 16 as before.
    #[default]
    Sql2022,
    /// Hardpan's own: VLFs of one size as far as possible, a 32nd of the resulting log size, 16 to 256 MB in steps of 16 MB; a new log has at
    /// least four.
    Fixed,
}

impl VlfRule {
    /// All, in the order of their numbers.
    pub const ALL: [VlfRule; 4] = [VlfRule::Pre2014, VlfRule::Sql2014, VlfRule::Sql2022, VlfRule::Fixed];

    /// The word of `ALTER DATABASE ... SET VLF_RULE`.
    pub const fn word(self) -> &'static str {
        match self {
            VlfRule::Pre2014 => "PRE_2014",
            VlfRule::Sql2014 => "2014",
            VlfRule::Sql2022 => "2022",
            VlfRule::Fixed => "FIXED",
        }
    }

    /// By its word, in any case.
    pub fn from_word(word: &str) -> Option<VlfRule> {
        VlfRule::ALL.into_iter().find(|rule| rule.word().eq_ignore_ascii_case(word))
    }

    /// By its number, which is kept with the database.
    pub fn from_number(number: u8) -> Option<VlfRule> {
        VlfRule::ALL.get(usize::from(number)).copied()
    }

    /// Size of a VLF by the rule `Fixed`, in a log of so many bytes.
    fn fixed_bytes(log_bytes: u64) -> u64 {
        let bytes = (log_bytes / 32 / (16 * MB) * (16 * MB)).clamp(16 * MB, 256 * MB);
        assert!(bytes <= VLF_BYTES_MAX, "its blocks have addresses");
        bytes
    }

    /// Number of VLFs for `added_bytes` more of a log that has `present_bytes` (0: it is being created).
    pub fn vlf_count(self, present_bytes: u64, added_bytes: u64) -> u64 {
        let table = match added_bytes {
            bytes if bytes <= 64 * MB => 4,
            bytes if bytes <= GB => 8,
            _ => 16,
        };
        let grows_little = present_bytes > 0 && added_bytes < present_bytes / 8;
        let count = match self {
            VlfRule::Pre2014 => table,
            VlfRule::Fixed => {
                let least = if present_bytes == 0 { 4 } else { 1 };
                (added_bytes / VlfRule::fixed_bytes(present_bytes + added_bytes)).max(least)
            }
            VlfRule::Sql2014 | VlfRule::Sql2022 if grows_little => 1,
            VlfRule::Sql2022 if present_bytes > 0 && added_bytes <= 64 * MB => 1,
            VlfRule::Sql2014 | VlfRule::Sql2022 => table,
        };
        // None below about 256 KB; none so large that a block's position does not fit an LSN.
        let at_most = (added_bytes / (256 * KB)).max(1);
        let at_least = added_bytes.div_ceil(VLF_BYTES_MAX);
        let count = count.min(at_most).max(at_least);
        assert!(count > 0 && count * VLF_BYTES_MIN <= added_bytes, "{added_bytes} bytes hold {count} VLFs");
        count
    }

    /// The VLFs, as (begin offset in the file, bytes), that `added_bytes` at the end of a log of `present_bytes` become.
    /// A new log's (`present_bytes` 0) bytes include the file header page.
    pub fn layout(self, present_bytes: u64, added_bytes: u64) -> Vec<(u64, u64)> {
        assert!(
            present_bytes.is_multiple_of(8 * KB) && added_bytes.is_multiple_of(8 * KB),
            "log sizes are pages"
        );
        self.layout_in(present_bytes, added_bytes, present_bytes)
    }

    /// The VLFs in a file of `present_bytes` of a log of `log_bytes` in all its files, whose growth counts as that of the log. A new file
    /// (`present_bytes` 0) is laid out as a new log.
    pub fn layout_in(self, present_bytes: u64, added_bytes: u64, log_bytes: u64) -> Vec<(u64, u64)> {
        assert!(present_bytes <= log_bytes, "a file is part of its log");
        let begin = if present_bytes == 0 { FILE_HEADER_BYTES } else { present_bytes };
        let end = present_bytes + added_bytes;
        assert!(end >= begin + VLF_BYTES_MIN, "log growth of {added_bytes} bytes is below one VLF");
        let count = self.vlf_count(if present_bytes == 0 { 0 } else { log_bytes }, added_bytes);
        let share = (end - begin) / count;
        let coarse = share / (64 * KB) * (64 * KB);
        let each = if coarse >= 256 * KB { coarse } else { share / (8 * KB) * (8 * KB) };
        let mut layout: Vec<(u64, u64)> = (0..count).map(|index| (begin + index * each, each)).collect();
        if let Some(last) = layout.last_mut() {
            last.1 = end - last.0;
        }
        assert!(layout.iter().all(|vlf| vlf.0.is_multiple_of(8 * KB) && vlf.1.is_multiple_of(8 * KB)));
        assert!(layout.iter().all(|vlf| vlf.1 >= VLF_BYTES_MIN && vlf.1 <= 2 * VLF_BYTES_MAX));
        layout
    }
}

/// Largest VLF: its last sector's number must fit an LSN.
const VLF_BYTES_MAX: u64 = 15 * GB;
const _: () = assert!((VLF_BYTES_MAX * 2 / SECTOR_BYTES as u64) < BLOCK_MAX as u64);

/// First bytes of a VLF header on disk (docs/formats/log-file.md).
const VLF_MAGIC: [u8; 4] = *b"HVLF";
/// Bytes of a VLF header that carry meaning; the rest of its 8 KB is zero.
pub(crate) const VLF_HEADER_USED_BYTES: usize = 512;

/// The header of a VLF on disk; written once, when the VLF is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlfHeader {
    /// The log it belongs to.
    pub log_id: u32,
    /// Position in the file.
    pub begin_offset: u64,
    /// Size, header included.
    pub size_bytes: u64,
    /// End of the log when it was made; NULL for those made with the file.
    pub create_lsn: Lsn,
}

impl VlfHeader {
    /// The 512 bytes on disk.
    pub fn encode(&self) -> [u8; VLF_HEADER_USED_BYTES] {
        assert!(self.is_possible(), "what decode refuses is never written: {self:?}");
        let mut out = [0; VLF_HEADER_USED_BYTES];
        out[..4].copy_from_slice(&VLF_MAGIC);
        out[4..6].copy_from_slice(&crate::block::LOG_FORMAT_VERSION.to_le_bytes());
        out[8..12].copy_from_slice(&self.log_id.to_le_bytes());
        out[16..24].copy_from_slice(&self.begin_offset.to_le_bytes());
        out[24..32].copy_from_slice(&self.size_bytes.to_le_bytes());
        out[32..40].copy_from_slice(&self.create_lsn.raw().to_le_bytes());
        let checksum = crc32c::crc32c(&out[..508]);
        out[508..].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads and checks it. Arbitrary bytes give an error, never a panic.
    pub fn decode(bytes: &[u8]) -> Result<VlfHeader, DecodeError> {
        let header = bytes.get(..VLF_HEADER_USED_BYTES).ok_or(DecodeError("VLF header ends early"))?;
        let u32_at =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if header[..4] != VLF_MAGIC {
            return Err(DecodeError("no VLF magic"));
        }
        if crc32c::crc32c(&header[..508]) != u32_at(508) {
            return Err(DecodeError("VLF header checksum"));
        }
        let decoded = VlfHeader {
            log_id: u32_at(8),
            begin_offset: u64_at(16),
            size_bytes: u64_at(24),
            create_lsn: Lsn::from_raw(u64_at(32)),
        };
        if decoded.is_possible() { Ok(decoded) } else { Err(DecodeError("impossible VLF")) }
    }

    fn is_possible(&self) -> bool {
        self.size_bytes >= VLF_BYTES_MIN
            && self.size_bytes <= 2 * VLF_BYTES_MAX
            && self.size_bytes.is_multiple_of(8 * KB)
            && self.begin_offset >= FILE_HEADER_BYTES
            && self.begin_offset.is_multiple_of(8 * KB)
    }
}

/// One VLF in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlf {
    /// Number of its file.
    pub file: u16,
    /// Position in the file.
    pub begin_offset: u64,
    /// Size, header included.
    pub size_bytes: u64,
    /// Sequence number of its present or last use; 0: never used.
    pub sequence: u32,
    /// 0 when never used, else 0x40 and 0x80 in turn.
    pub parity: u8,
    /// Whether anything in it is still needed.
    pub active: bool,
    /// End of the log when it was made.
    pub create_lsn: Lsn,
    /// The sector that its blocks end before, once the log has moved on from it; 0 while unknown.
    pub end_sector: u32,
    /// Blocks may be placed before this sector; from it on a growth is still being zeroed.
    pub zeroed_sectors: u32,
}

impl Vlf {
    /// A VLF as made.
    pub fn unused(header: &VlfHeader, file: u16) -> Vlf {
        Vlf {
            file,
            begin_offset: header.begin_offset,
            size_bytes: header.size_bytes,
            sequence: 0,
            parity: 0,
            active: false,
            create_lsn: header.create_lsn,
            end_sector: 0,
            zeroed_sectors: (header.size_bytes / SECTOR_BYTES as u64) as u32,
        }
    }

    /// Number of its 512-byte sectors, header included: block positions are below.
    pub fn sectors(&self) -> u32 {
        (self.size_bytes / SECTOR_BYTES as u64) as u32
    }

    /// The offset of a sector in its file.
    pub(crate) fn offset_of(&self, sector: u32) -> u64 {
        assert!(sector <= self.sectors(), "sector {sector} of {self:?}");
        self.begin_offset + u64::from(sector) * SECTOR_BYTES as u64
    }

    /// Bytes it has for blocks.
    pub fn block_bytes(&self) -> u64 {
        assert!(self.size_bytes > VLF_HEADER_BYTES);
        self.size_bytes - VLF_HEADER_BYTES
    }
}

/// A row of sys.dm_db_log_info.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VlfInfo {
    /// file_id.
    pub file: u16,
    /// vlf_begin_offset.
    pub begin_offset: u64,
    /// vlf_size in bytes.
    pub size_bytes: u64,
    /// vlf_sequence_number; 0: never used.
    pub sequence: u32,
    /// vlf_active.
    pub active: bool,
    /// vlf_status: 0 inactive, 1 initialised but unused, 2 active.
    pub status: u8,
    /// vlf_parity.
    pub parity: u8,
    /// vlf_first_lsn; NULL when never used.
    pub first_lsn: Lsn,
    /// vlf_create_lsn.
    pub create_lsn: Lsn,
}

/// All VLFs of a log, file after file, and in each in the order of their places. One is current: the one being written.
#[derive(Debug)]
pub struct VlfMap {
    vlfs: Vec<Vlf>,
    by_sequence: FxHashMap<u32, usize>,
    current: usize,
}

impl VlfMap {
    /// The map of a log being opened; `vlfs` carry the sequences found in their first blocks.
    /// The caller then finds the end of the log and calls [`VlfMap::restore`].
    pub fn new(vlfs: Vec<Vlf>) -> VlfMap {
        assert!(!vlfs.is_empty());
        assert_places(&vlfs);
        let by_sequence = index_of(&vlfs);
        let used = vlfs.iter().filter(|vlf| vlf.sequence > 0).count();
        assert_eq!(by_sequence.len(), used, "no two VLFs have the same sequence number");
        VlfMap { vlfs, by_sequence, current: 0 }
    }

    /// Makes the VLF of sequence `current` the current one and marks those from `oldest` on active. A VLF with a
    /// number above `current` was never part of the log: it counts as unused.
    pub fn restore(&mut self, oldest: u32, current: u32) {
        assert!(oldest <= current);
        self.current = *self.by_sequence.get(&current).expect("the current VLF is in the map");
        for vlf in &mut self.vlfs {
            if vlf.sequence > current {
                self.by_sequence.remove(&vlf.sequence);
                vlf.sequence = 0;
            }
            vlf.active = vlf.sequence >= oldest && vlf.sequence > 0;
        }
        self.assert_state();
    }

    /// The sequence numbers found do not count: the log is empty.
    pub fn forget_all(&mut self) {
        self.by_sequence.clear();
        self.vlfs.iter_mut().for_each(|vlf| vlf.sequence = 0);
    }

    /// Invariants once the log has begun: the current VLF is active, newest, and found by its sequence number.
    fn assert_state(&self) {
        let current = &self.vlfs[self.current];
        assert!(current.active && current.sequence > 0 && current.end_sector == 0, "{current:?}");
        assert!(PARITIES.contains(&current.parity));
        assert_eq!(self.by_sequence.get(&current.sequence), Some(&self.current));
        assert!(self.by_sequence.len() <= self.vlfs.len());
        assert!(self.oldest_active() <= current.sequence, "the current VLF is the newest");
    }

    /// Every VLF in file order.
    pub fn vlfs(&self) -> &[Vlf] {
        &self.vlfs
    }

    /// The one being written.
    pub fn current(&self) -> &Vlf {
        &self.vlfs[self.current]
    }

    /// The VLF whose present or last use has this sequence number.
    pub fn by_sequence(&self, sequence: u32) -> Option<&Vlf> {
        let vlf = self.by_sequence.get(&sequence).map(|index| &self.vlfs[*index]);
        assert!(vlf.is_none_or(|vlf| vlf.sequence == sequence), "a VLF is found by its own number");
        vlf
    }

    /// The file offset of a block; `None` when its VLF is not (or no longer) in the log.
    pub fn offset_of(&self, block: Lsn) -> Option<u64> {
        let vlf = self.by_sequence(block.vlf())?;
        (block.block() < vlf.sectors())
            .then(|| vlf.begin_offset + u64::from(block.block()) * SECTOR_BYTES as u64)
    }

    /// Makes the next reusable VLF in file order (wrapping round) current under the next sequence number; `None` when
    /// all are active: the log must grow. The blocks of the present one end before `end_sector`.
    pub fn advance(&mut self, end_sector: u32) -> Option<Vlf> {
        let count = self.vlfs.len();
        let next =
            (1..count).map(|step| (self.current + step) % count).find(|index| !self.vlfs[*index].active)?;
        assert!(next != self.current && self.vlfs[self.current].active, "the log moves on to another VLF");
        let sequence = self.vlfs[self.current].sequence + 1;
        assert!(sequence <= VLF_MAX, "the log has used up its VLF sequence numbers");
        assert!((FIRST_BLOCK_SECTOR..=self.vlfs[self.current].sectors()).contains(&end_sector));
        self.vlfs[self.current].end_sector = end_sector;
        self.begin_use(next, sequence);
        Some(self.vlfs[next])
    }

    /// Begins the first use ever of the log: its first VLF under `sequence`.
    pub fn begin_first(&mut self, sequence: u32) {
        assert!(self.by_sequence.is_empty() && sequence > 0);
        self.begin_use(0, sequence);
    }

    fn begin_use(&mut self, index: usize, sequence: u32) {
        let vlf = &mut self.vlfs[index];
        assert!(!vlf.active, "VLF {} is still active", vlf.sequence);
        assert!(sequence > vlf.sequence);
        self.by_sequence.remove(&vlf.sequence);
        vlf.parity = if vlf.parity == PARITIES[0] { PARITIES[1] } else { PARITIES[0] };
        vlf.sequence = sequence;
        vlf.active = true;
        vlf.end_sector = 0;
        self.by_sequence.insert(sequence, index);
        self.current = index;
        self.assert_state();
    }

    /// Adds durable VLFs that growth has made at the end of a file, or as a new file behind all others. VLFs that are not zeroed are used as
    /// far as [`VlfMap::note_zeroed`] says.
    pub fn add(&mut self, file: u16, headers: &[VlfHeader], is_zeroed: bool) {
        let end = self.end_offset(file);
        let place = self.vlfs.iter().rposition(|vlf| vlf.file <= file).map_or(0, |last| last + 1);
        let current = self.vlfs[self.current].sequence;
        assert!(headers.first().is_some_and(|header| header.begin_offset == end), "what is added follows");
        assert!(headers.iter().all(|header| header.size_bytes >= VLF_BYTES_MIN));
        let is_behind_all = place == self.vlfs.len();
        let of = |header: &VlfHeader| {
            let vlf = Vlf::unused(header, file);
            let zeroed_sectors = if is_zeroed { vlf.sectors() } else { FIRST_BLOCK_SECTOR };
            Vlf { zeroed_sectors, ..vlf }
        };
        self.vlfs.splice(place..place, headers.iter().map(of));
        if !is_behind_all {
            self.renumber(current);
        }
        debug_assert!({
            assert_places(&self.vlfs);
            true
        });
    }

    /// The VLF that is to be zeroed next, in the order of their use, and how many bytes the log can use before the first sector that is not zeroed.
    /// The log's next block stands at `next_sector` of the current VLF.
    pub fn next_unzeroed(&self, next_sector: u32) -> Option<(Vlf, u64)> {
        let count = self.vlfs.len();
        let mut ahead_sectors = 0;
        for step in 0..count {
            let vlf = &self.vlfs[(self.current + step) % count];
            let from = if step == 0 { next_sector } else { FIRST_BLOCK_SECTOR };
            if step == 0 || !vlf.active {
                ahead_sectors += u64::from(vlf.zeroed_sectors.saturating_sub(from));
            }
            if vlf.zeroed_sectors < vlf.sectors() {
                return Some((*vlf, ahead_sectors * SECTOR_BYTES as u64));
            }
        }
        None
    }

    /// Notes that a VLF is zeroed up to a sector. It may be in another use by now, or removed.
    pub fn note_zeroed(&mut self, vlf: &Vlf, sectors: u32) {
        let place = (vlf.file, vlf.begin_offset);
        let found = self.vlfs.iter_mut().find(|other| (other.file, other.begin_offset) == place);
        let Some(found) = found else { return };
        assert!((found.zeroed_sectors..=found.sectors()).contains(&sectors), "zeros go on where they ended");
        found.zeroed_sectors = sectors;
    }

    /// Removes the last `count` VLFs of a file from the map, none of which is active. Returns them in file order.
    pub fn take(&mut self, file: u16, count: usize) -> Vec<Vlf> {
        let end = self.vlfs.iter().rposition(|vlf| vlf.file == file).map_or(0, |last| last + 1);
        assert!(count > 0 && count <= end, "a file has the VLFs that are taken from it");
        let current = self.current().sequence;
        let taken: Vec<Vlf> = self.vlfs.splice(end - count..end, []).collect();
        assert!(taken.iter().all(|vlf| vlf.file == file && !vlf.active), "nobody needs what is taken away");
        self.renumber(current);
        taken
    }

    /// Puts back what [`VlfMap::take`] took, because the file keeps these VLFs.
    pub fn put_back(&mut self, taken: &[Vlf]) {
        let (current, file) = (self.current().sequence, taken[0].file);
        assert!(taken.iter().all(|vlf| vlf.file == file && !vlf.active));
        let before =
            |vlf: &Vlf| vlf.file < file || (vlf.file == file && vlf.begin_offset < taken[0].begin_offset);
        let place = self.vlfs.iter().rposition(before).map_or(0, |last| last + 1);
        self.vlfs.splice(place..place, taken.iter().copied());
        self.renumber(current);
        assert_eq!(self.current().sequence, current, "the log goes on where it did");
        assert_places(&self.vlfs);
    }

    /// The VLFs' indexes in the list have changed: finds the current one again.
    fn renumber(&mut self, current: u32) {
        self.by_sequence = index_of(&self.vlfs);
        self.current = self.by_sequence[&current];
        self.assert_state();
    }

    /// Bytes of log from one position to a later one, and the number of VLFs with them; unused ends of VLFs do
    /// not count, as far as they are known.
    pub fn extent(&self, from: Lsn, to: Lsn) -> (u64, u64) {
        let (mut bytes, mut count) = (0, 0);
        if from.is_null() || from >= to {
            return (0, 0);
        }
        for vlf in self.vlfs.iter().filter(|vlf| (from.vlf()..=to.vlf()).contains(&vlf.sequence)) {
            let end = if vlf.end_sector > 0 { vlf.end_sector } else { vlf.sectors() };
            let first = if vlf.sequence == from.vlf() { from.block() } else { FIRST_BLOCK_SECTOR };
            let last = if vlf.sequence == to.vlf() { to.block() } else { end };
            bytes += u64::from(last.saturating_sub(first)) * SECTOR_BYTES as u64;
            count += 1;
        }
        assert!(count <= self.vlfs.len() as u64, "each VLF counts once");
        (bytes, count)
    }

    /// The VLFs of a file.
    pub fn of_file(&self, file: u16) -> impl DoubleEndedIterator<Item = &Vlf> {
        self.vlfs.iter().filter(move |vlf| vlf.file == file)
    }

    /// Frees the VLFs before the one of `min`; returns how many and their block bytes.
    pub fn truncate(&mut self, min: Lsn) -> (u64, u64) {
        let (mut freed, mut freed_bytes) = (0, 0);
        for (index, vlf) in self.vlfs.iter_mut().enumerate() {
            if vlf.active && vlf.sequence < min.vlf() && index != self.current {
                vlf.active = false;
                freed += 1;
                freed_bytes += vlf.block_bytes();
            }
        }
        let kept = self.by_sequence(self.oldest_active());
        assert!(kept.is_some_and(|vlf| vlf.active), "the oldest VLF in use is found by its number");
        self.assert_state();
        (freed, freed_bytes)
    }

    /// Number of VLFs that could be used next, and their block bytes.
    pub fn reusable(&self) -> (u64, u64) {
        let free = self.vlfs.iter().filter(|vlf| !vlf.active);
        free.fold((0, 0), |(count, bytes), vlf| (count + 1, bytes + vlf.block_bytes()))
    }

    /// Sequence number of the oldest active VLF.
    pub fn oldest_active(&self) -> u32 {
        self.vlfs.iter().filter(|vlf| vlf.active).map(|vlf| vlf.sequence).min().unwrap_or(0)
    }

    /// Size of the formatted part of a file; that of one without VLFs is its header page.
    pub fn end_offset(&self, file: u16) -> u64 {
        self.of_file(file).next_back().map_or(FILE_HEADER_BYTES, |vlf| vlf.begin_offset + vlf.size_bytes)
    }

    /// Size of all files together, header pages included.
    pub fn size_bytes(&self) -> u64 {
        let pages = self.vlfs.iter().filter(|vlf| vlf.begin_offset == FILE_HEADER_BYTES).count() as u64;
        self.vlfs.iter().map(|vlf| vlf.size_bytes).sum::<u64>() + pages * FILE_HEADER_BYTES
    }

    /// Rows for sys.dm_db_log_info.
    pub fn info(&self) -> Vec<VlfInfo> {
        let row = |vlf: &Vlf| VlfInfo {
            file: vlf.file,
            begin_offset: vlf.begin_offset,
            size_bytes: vlf.size_bytes,
            sequence: vlf.sequence,
            active: vlf.active,
            status: if vlf.active { 2 } else { u8::from(vlf.sequence == 0) },
            parity: vlf.parity,
            first_lsn: if vlf.sequence == 0 {
                Lsn::NULL
            } else {
                Lsn::new(vlf.sequence, FIRST_BLOCK_SECTOR, 1)
            },
            create_lsn: vlf.create_lsn,
        };
        self.vlfs.iter().map(row).collect()
    }
}

/// VLFs are contiguous in their file, and files follow each other in the order of their numbers.
fn assert_places(vlfs: &[Vlf]) {
    let follow = |one: &Vlf, next: &Vlf| match one.file == next.file {
        true => one.begin_offset + one.size_bytes == next.begin_offset,
        false => one.file < next.file && next.begin_offset == FILE_HEADER_BYTES,
    };
    assert!(vlfs.is_sorted_by(follow), "VLFs lie side by side, file after file");
    assert!(vlfs.first().is_some_and(|vlf| vlf.begin_offset == FILE_HEADER_BYTES));
}

fn index_of(vlfs: &[Vlf]) -> FxHashMap<u32, usize> {
    let used = vlfs.iter().enumerate().filter(|(_, vlf)| vlf.sequence > 0);
    used.map(|(index, vlf)| (vlf.sequence, index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rule: VlfRule, present: u64, added: u64) -> Vec<u64> {
        rule.layout(present, added).iter().map(|vlf| vlf.1).collect()
    }

    #[test]
    fn new_logs_are_laid_out_as_sql_server_does() {
        // Reference 1.3: an 8 MB log begins its VLFs at these offsets, the last one is larger.
        let layout = VlfRule::Sql2022.layout(0, 8 * MB);
        assert_eq!(
            layout.iter().map(|vlf| vlf.0).collect::<Vec<_>>(),
            [8192, 2_039_808, 4_071_424, 6_103_040]
        );
        assert_eq!(sizes(VlfRule::Sql2022, 0, 8 * MB), [2_031_616, 2_031_616, 2_031_616, 2_285_568]);
        assert_eq!(sizes(VlfRule::Sql2022, 0, MB), [253_952, 253_952, 253_952, 278_528]);
        for (added, count) in [(64 * MB, 4), (GB, 8), (2 * GB, 16), (512 * KB, 2)] {
            assert_eq!(sizes(VlfRule::Sql2022, 0, added).len(), count, "{added}");
        }
    }

    /// Claims 298 and 299.
    #[test]
    fn growth_in_small_steps_makes_the_counts_of_the_articles() {
        // 1 MB, then 1,000 MB twice: 20 VLFs; 1 MB steps to 2,000 MB: 8,000 (rule up to 2012).
        let grow = |rule: VlfRule, steps: &[u64]| {
            let mut size = 0;
            let mut count = 0;
            for step in steps {
                count += rule.layout(size, *step).len();
                size += step;
            }
            count
        };
        assert_eq!(grow(VlfRule::Pre2014, &[MB, 1000 * MB, 1000 * MB]), 20);
        let small_steps = [MB; 2000];
        assert_eq!(grow(VlfRule::Pre2014, &small_steps), 8000);
        assert_eq!(grow(VlfRule::Sql2014, &small_steps), 2027);
        assert_eq!(grow(VlfRule::Sql2022, &small_steps), 2003);
    }

    #[test]
    fn the_fixed_rule_makes_vlfs_of_one_size() {
        assert_eq!(sizes(VlfRule::Fixed, 0, 8 * MB).len(), 4, "a new log goes on in another VLF");
        assert_eq!(sizes(VlfRule::Fixed, 8 * MB, 64 * MB), [16 * MB; 4]);
        assert_eq!(sizes(VlfRule::Fixed, 3 * GB, GB), [128 * MB; 8]);
        assert_eq!(sizes(VlfRule::Fixed, 64 * GB, GB), [256 * MB; 4]);
        assert_eq!(sizes(VlfRule::Fixed, GB, MB), [MB], "a small growth is one");
    }

    #[test]
    fn rules_have_words_and_numbers() {
        for (number, rule) in VlfRule::ALL.into_iter().enumerate() {
            assert_eq!(VlfRule::from_word(&rule.word().to_lowercase()), Some(rule));
            assert_eq!(VlfRule::from_number(number as u8), Some(rule));
            assert_eq!(rule as usize, number);
        }
        assert_eq!((VlfRule::from_word("2019"), VlfRule::from_number(9)), (None, None));
    }

    #[test]
    fn layouts_cover_their_bytes_without_a_gap() {
        for rule in VlfRule::ALL {
            for (present, added) in
                [(0, 512 * KB), (0, 100 * MB), (8 * MB, 136 * KB), (8 * MB, 560 * KB), (3 * GB, 64 * MB)]
            {
                let layout = rule.layout(present, added);
                let begin = if present == 0 { FILE_HEADER_BYTES } else { present };
                let end = layout.iter().fold(begin, |at, (offset, size)| {
                    assert_eq!(*offset, at);
                    assert!(*size >= VLF_BYTES_MIN, "{rule:?} {present} {added}");
                    at + size
                });
                assert_eq!(end, present + added);
            }
        }
    }

    fn map(count: u64) -> VlfMap {
        let header = |index| VlfHeader {
            log_id: 7,
            begin_offset: FILE_HEADER_BYTES + index * 256 * KB,
            size_bytes: 256 * KB,
            create_lsn: Lsn::NULL,
        };
        VlfMap::new((0..count).map(|index| Vlf::unused(&header(index), 2)).collect())
    }

    #[test]
    fn the_log_wraps_round_and_parity_flips() {
        let mut map = map(3);
        map.begin_first(37);
        assert_eq!(map.advance(500).map(|vlf| (vlf.sequence, vlf.parity)), Some((38, 0x40)));
        assert_eq!(map.truncate(Lsn::new(38, 20, 1)), (1, 248 * KB));
        assert_eq!(map.advance(500).map(|vlf| (vlf.sequence, vlf.begin_offset)), Some((39, 8192 + 512 * KB)));
        assert_eq!(map.advance(500).map(|vlf| (vlf.sequence, vlf.parity)), Some((40, 0x80)));
        assert_eq!(map.advance(500), None, "all active");
        assert_eq!(map.offset_of(Lsn::new(37, 16, 1)), None, "reused");
        assert_eq!(map.offset_of(Lsn::new(40, 16, 1)), Some(16_384));
        assert_eq!(map.oldest_active(), 38);
        assert_eq!(map.truncate(Lsn::MAX).0, 2, "the current VLF stays");
    }

    #[test]
    fn an_extent_counts_blocks_and_vlfs() {
        let mut map = map(3);
        map.begin_first(37);
        map.advance(500);
        map.advance(400);
        let at = |vlf, block| Lsn::new(vlf, block, 1);
        assert_eq!(map.extent(at(37, 20), at(37, 30)), (10 * 512, 1));
        assert_eq!(map.extent(at(37, 490), at(39, 26)), ((10 + 384 + 10) * 512, 3));
        assert_eq!(map.extent(at(38, 30), at(38, 30)), (0, 0));
        assert_eq!(map.extent(Lsn::NULL, at(38, 30)), (0, 0));
    }

    #[test]
    fn vlf_headers_round_trip_and_damage_shows() {
        let header =
            VlfHeader { log_id: 9, begin_offset: 8192, size_bytes: 256 * KB, create_lsn: Lsn::new(1, 16, 1) };
        let bytes = header.encode();
        assert_eq!(VlfHeader::decode(&bytes), Ok(header));
        for at in 0..bytes.len() {
            let mut damaged = bytes;
            damaged[at] ^= 4;
            assert!(VlfHeader::decode(&damaged).is_err(), "byte {at}");
        }
    }
}
