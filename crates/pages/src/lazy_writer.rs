//! The lazy writer: a background thread that keeps clean frames available, so that statements seldom write pages themselves; and returns memory that
//! requests have freed to the system. Since it wakes up often it also maintains the cached time that statements are stamped with.

use std::sync::Arc;

use os::{JoinHandle, Signal, WaitOutcome, WaitType};

use crate::error::PageError;
use crate::frame::Frame;
use crate::pool::BufferPool;

/// The pause between rounds.
const PAUSE_NS: u64 = 100_000_000;
/// Pages that it writes in one round, at most.
const ROUND_PAGES: usize = 256;

/// Rounds between two attempts to return memory.
const GIVE_BACK_ROUNDS: u32 = 10;

/// The least amount to return, in bytes: the smaller the pool, the smaller the amount that matters.
fn worth_giving_back(pool_bytes: u64) -> u64 {
    (pool_bytes / 16).clamp(4 << 20, 16 << 20)
}

/// The running lazy writer; [`LazyWriter::stop`] ends it.
pub struct LazyWriter {
    stop: Arc<Signal>,
    thread: JoinHandle,
}

impl LazyWriter {
    /// Starts the thread `LAZY WRITER`.
    pub fn start(pool: &Arc<BufferPool>) -> LazyWriter {
        let stop = Arc::new(Signal::new());
        let (signal, pool) = (Arc::clone(&stop), Arc::clone(pool));
        let os = pool.os().clone();
        let thread = os.spawn("LAZY WRITER", move || {
            let mut rounds: u32 = 0;
            let worth_bytes = worth_giving_back(pool.memory_bytes());
            let time = KeptTime(pool.os().clone());
            time.0.clock().keep_about(true);
            while !matches!(signal.wait(WaitType::LAZYWRITER_SLEEP, Some(PAUSE_NS)), WaitOutcome::Set) {
                time.0.clock().keep_about(true);
                if let Err(error) = write_round(&pool) {
                    os::report::warn("lazy writer", &error.to_string());
                }
                rounds = rounds.wrapping_add(1);
                if rounds.is_multiple_of(GIVE_BACK_ROUNDS) {
                    os::memory::give_back(worth_bytes);
                }
            }
        });
        LazyWriter { stop, thread }
    }

    /// Ends it and waits for its last round.
    pub fn stop(self) {
        self.stop.set();
        // A panic in it has been reported where it happened.
        let _ = self.thread.join();
    }
}

/// Clears the cached time however the thread ends, so that it is not read when it is no longer updated.
struct KeptTime(os::Os);

impl Drop for KeptTime {
    fn drop(&mut self) {
        self.0.clock().keep_about(false);
    }
}

/// Writes some of the dirty pages that have not been used lately, if the pool is nearly full.
pub(crate) fn write_round(pool: &BufferPool) -> Result<usize, PageError> {
    if !pool.is_nearly_full() {
        return Ok(0);
    }
    let mut victims: Vec<Arc<Frame>> = Vec::new();
    pool.for_each_frame(|frame| {
        let is_to_write = frame.is_dirty() && !frame.has_failed() && !frame.latch().is_held();
        if victims.len() < ROUND_PAGES && is_to_write {
            victims.push(Arc::clone(frame));
        }
    });
    assert!(victims.len() <= ROUND_PAGES, "a round is bounded: others wait for the device, too");
    pool.write_victims(victims)
}

#[cfg(test)]
mod tests {
    use super::worth_giving_back;

    #[test]
    fn a_small_server_gives_less_back_at_once() {
        assert_eq!(worth_giving_back(64 << 20), 4 << 20);
        assert_eq!(worth_giving_back(128 << 20), 8 << 20);
        assert_eq!(worth_giving_back(256 << 20), 16 << 20);
        assert_eq!(worth_giving_back(8 << 30), 16 << 20);
    }
}
