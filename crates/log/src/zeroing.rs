//! Zeroing after growth: the part that growth adds is counted at once and zeroed afterwards, ahead of the end of the log.
//!
//! Preallocated space reads as zeros, but the first durable write into it costs several device latencies, because the file system has
//! to mark it as written. So it is filled with zeros before the log gets there, piece by piece. No block is placed where nothing has been zeroed
//! yet (`Vlf::zeroed_sectors`), and nothing is zeroed below that: zeros never meet a block. When a piece cannot be written, or the log stops,
//! the rest is used as it is.
//!
//! ```text
//!  growth_is_over ─zero_behind─► zeroing ─next_piece─► a piece is under way ─piece_is_zeroed─► zeroing ─► none left: idle
//!                                   └─leave_unzeroed (stop, failure, no thread)─► idle
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

use os::{AlignedBuf, LatchGuard, WaitType};

use crate::cache::Cache;
use crate::error::LogError;
use crate::file::LogFile;
use crate::limits::SECTOR_BYTES;
use crate::shared::Shared;
use crate::vlf::Vlf;

/// One write of zeros: short, since a commit may wait behind it.
const PIECE_BYTES: usize = 256 * 1024;
/// With fewer zeroed bytes than this ahead of the log, zeroing runs without pauses, until as many are ahead as the pace says.
const NEAR_BYTES: u64 = 8 << 20;
/// Most bytes zeroed without pauses.
const BURST_BYTES_MAX: u64 = 256 << 20;
/// Otherwise the pause between pieces: most durable writes of the log then find the file system's journal idle.
const REST_NS: u64 = 5_000_000;

const _: () = assert!(PIECE_BYTES.is_multiple_of(SECTOR_BYTES));
const _: () = assert!(PIECE_BYTES >= 2 * crate::limits::BLOCK_BYTES_MAX, "a piece has room for a block");

/// The pace of zeroing: when the log catches up, zeroing runs in bursts, each twice as long as the one before, since zeros and durable writes of
/// the log slow each other down.
struct Pace {
    is_burst: bool,
    burst_bytes: u64,
}

impl Pace {
    fn new() -> Pace {
        Pace { is_burst: false, burst_bytes: NEAR_BYTES }
    }

    /// Whether the next piece follows without a pause, with so many zeroed bytes ahead of the log.
    fn hurries(&mut self, ahead_bytes: u64) -> bool {
        if self.is_burst {
            self.is_burst = ahead_bytes < self.burst_bytes;
        } else if ahead_bytes < NEAR_BYTES {
            self.burst_bytes = (self.burst_bytes * 2).min(BURST_BYTES_MAX);
            self.is_burst = true;
        }
        assert!(self.is_burst || ahead_bytes >= NEAR_BYTES, "nobody rests with the log near");
        self.is_burst
    }
}

/// The piece that is zeroed next.
struct Piece {
    vlf: Vlf,
    file: Arc<LogFile>,
    end_sector: u32,
}

impl Shared {
    /// Begins to zero the part that growth has added, if there is one and no task does it.
    pub(crate) fn zero_behind(self: &Arc<Self>, cache: &mut Cache) {
        if cache.zeroing || self.vlfs.lock().next_unzeroed(cache.next_sector()).is_none() {
            return;
        }
        cache.zeroing = true;
        let shared = Arc::clone(self);
        let body = move || {
            let (zeros, mut pace) = (AlignedBuf::new(PIECE_BYTES), Pace::new());
            while let Some(piece) = shared.next_piece(&mut pace) {
                let written = shared.zero_piece(&piece, &zeros);
                shared.piece_is_zeroed(&piece, written.is_ok());
            }
        };
        let stops = self.stopping.load(Acquire);
        if stops || self.os.try_spawn(&os::SpawnOptions::named("LOG ZEROING"), body).is_err() {
            self.leave_unzeroed(cache);
        }
    }

    /// The next piece, once no task changes the log's size; none when all is zeroed, or the log stops.
    fn next_piece(&self, pace: &mut Pace) -> Option<Piece> {
        let mut cache = self.cache.lock();
        assert!(cache.zeroing && !cache.zero_underway, "one zeroes a log, one piece at a time");
        let mut has_rested = false;
        loop {
            if self.stopping.load(Acquire) || self.is_failed() {
                self.leave_unzeroed(&mut cache);
                self.wake_waiting(cache);
                return None;
            }
            if cache.growing {
                (cache, _) = self.room.wait(cache, WaitType::LOGMGR_QUEUE, None);
                continue;
            }
            let next = self.vlfs.lock().next_unzeroed(cache.next_sector());
            let Some((vlf, ahead_bytes)) = next else {
                cache.zeroing = false;
                self.wake_waiting(cache);
                return None;
            };
            if !has_rested && !pace.hurries(ahead_bytes) {
                has_rested = true;
                (cache, _) = self.room.wait(cache, WaitType::LOGMGR_QUEUE, Some(REST_NS));
                continue;
            }
            cache.zero_underway = true;
            let file =
                self.files.get(vlf.file).expect("a file keeps its VLFs, except while the size changes");
            let end_sector = vlf.zeroed_sectors + (PIECE_BYTES / SECTOR_BYTES) as u32;
            return Some(Piece { vlf, file, end_sector: end_sector.min(vlf.sectors()) });
        }
    }

    fn zero_piece(&self, piece: &Piece, zeros: &AlignedBuf) -> Result<(), LogError> {
        let (from, to) = (piece.vlf.zeroed_sectors, piece.end_sector);
        assert!(from < to && to <= piece.vlf.sectors(), "a piece of the VLF that is not zeroed yet");
        assert!(!self.options.volatile, "nothing of a volatile log is zeroed");
        let bytes = (to - from) as usize * SECTOR_BYTES;
        let offset = piece.vlf.begin_offset + u64::from(from) * SECTOR_BYTES as u64;
        piece.file.write_zeros(&zeros[..bytes], offset)
    }

    fn piece_is_zeroed(&self, piece: &Piece, is_written: bool) {
        let mut cache = self.cache.lock();
        assert!(cache.zero_underway, "a piece that ends has begun");
        cache.zero_underway = false;
        // A part whose zeroing failed still reads as zeros; the rest of the VLF is not zeroed either.
        let sectors = if is_written { piece.end_sector } else { piece.vlf.sectors() };
        self.vlfs.lock().note_zeroed(&piece.vlf, sectors);
        cache.note_zeroed(&piece.vlf, sectors);
        self.wake_waiting(cache);
    }

    /// The parts that are not zeroed yet are used as they are.
    fn leave_unzeroed(&self, cache: &mut Cache) {
        assert!(cache.zeroing && !cache.zero_underway, "nothing is written any more");
        let mut vlfs = self.vlfs.lock();
        while let Some((vlf, _)) = vlfs.next_unzeroed(cache.next_sector()) {
            vlfs.note_zeroed(&vlf, vlf.sectors());
            cache.note_zeroed(&vlf, vlf.sectors());
        }
        cache.zeroing = false;
    }

    fn wake_waiting(&self, cache: LatchGuard<'_, Cache>) {
        drop(cache);
        self.room.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_comes_after_is_outrun_in_longer_and_longer_bursts() {
        let mut pace = Pace::new();
        assert!(pace.hurries(0) && pace.hurries(NEAR_BYTES), "until twice as much is ahead");
        assert!(!pace.hurries(2 * NEAR_BYTES) && !pace.hurries(NEAR_BYTES));
        assert!(pace.hurries(NEAR_BYTES - 1) && pace.hurries(3 * NEAR_BYTES), "twice as far");
        assert!(!pace.hurries(4 * NEAR_BYTES));
        for _ in 0..20 {
            assert!(pace.hurries(0) && !pace.hurries(BURST_BYTES_MAX));
        }
    }
}
