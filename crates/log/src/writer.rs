//! The LOG WRITER: the thread that writes full blocks, drains delayed commits, and leads when many committers wait.

use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

use os::{IoQueue, LatchRank, Request, WaitType, WriteMode};
use rustc_hash::FxHashMap;

use crate::cached_block::CachedBlock;
use crate::flush_queue::{WriterRole, WriterState, WriterWakeup};
use crate::flush_reason::FlushReason;
use crate::shared::Shared;
use crate::writer_work::{LastWait, REST_NS, Work};

/// Attempts to start a thread, and the pause between them, when the system cannot make one.
const START_TRIES: u32 = 50;
const START_PAUSE_NS: u64 = 20_000_000;

/// Writes in flight of the LOG WRITER itself: the device queue (made when two blocks are first queued at once; most logs
/// never need one) and the blocks whose buffers it has.
struct OwnWrites {
    queue: Option<Box<dyn IoQueue>>,
    blocks: FxHashMap<u64, (CachedBlock, u64)>,
}

impl Shared {
    /// Delivers the wakeup that `FlushQueue::wake_writer` has decided. The queue latch is free.
    pub(crate) fn deliver_wakeup(&self, wakeup: WriterWakeup) {
        debug_assert!(
            !os::held_ranks().contains(&LatchRank::FlushQueue),
            "a wake-up is delivered outside the latch"
        );
        match wakeup {
            WriterWakeup::None => {}
            WriterWakeup::Notify => self.writer_signal.set(),
            WriterWakeup::Start => self.start_writer(),
        }
    }

    /// Wakes the LOG WRITER if it is in one of these states, or starts it: something has changed that its next step depends on.
    pub(crate) fn wake_writer(&self, sleepers: &[WriterState]) {
        let wakeup = self.queue.lock().wake_writer(sleepers);
        self.deliver_wakeup(wakeup);
    }

    /// Starts the LOG WRITER. If the system can make no thread for a second, the log fails: no other thread writes full blocks.
    #[cold]
    fn start_writer(&self) {
        let me = self.me.upgrade().expect("the caller holds the log");
        if self.stopping.load(Acquire) || self.is_failed() {
            self.queue.lock().writer = WriterState::Ended;
            return;
        }
        assert_eq!(self.queue.lock().writer, WriterState::Awake, "one has been asked for, and no other runs");
        let mut writer = self.writer.lock();
        let mut tries = 0;
        *writer = loop {
            let (body, on_panic) = (Arc::clone(&me), Arc::clone(&me));
            let started = self.os.try_spawn_guarded(
                &os::SpawnOptions::named("LOG WRITER"),
                move || run(&body),
                move |message| on_panic.fail(stopped(&format!("the log writer stopped: {message}"))),
            );
            match started {
                Ok(thread) => break Some(thread),
                Err(_) if tries < START_TRIES => tries += 1,
                Err(error) => {
                    drop(writer);
                    return self.fail(error);
                }
            }
            // An interrupt only makes the next try earlier.
            let _ = self.os.sleep(START_PAUSE_NS, WaitType::SLEEP_TASK);
        };
    }
}

fn stopped(message: &str) -> os::IoError {
    os::IoError::new(os::IoErrorKind::Io, message.to_owned())
}

/// The body of the LOG WRITER.
fn run(shared: &Arc<Shared>) {
    let _mask = os::task::mask_interrupts();
    let mut own = OwnWrites { queue: None, blocks: FxHashMap::default() };
    let mut last = LastWait::Rung;
    loop {
        match shared.next_work(last) {
            Work::Write(role, seal_open) => {
                last = LastWait::Rung;
                write_out(shared, role, seal_open, &mut own);
            }
            Work::Wait(timeout_ns) => last = wait(shared, timeout_ns, LastWait::TimedOut),
            Work::Rest => last = wait(shared, Some(REST_NS), LastWait::Rested),
            Work::Stop => break,
        }
    }
    assert!(own.blocks.is_empty(), "each block that was taken has been told of");
    assert!(own.queue.is_none_or(|queue| queue.in_flight() == 0), "nothing is on its way behind the writer");
}

/// Waits for a notification; `timed_out` when none came in time.
fn wait(shared: &Shared, timeout_ns: Option<u64>, timed_out: LastWait) -> LastWait {
    assert_ne!(timed_out, LastWait::Rung, "a wait that times out was not rung for");
    match shared.writer_signal.wait(WaitType::LOGMGR_QUEUE, timeout_ns) {
        os::WaitOutcome::TimedOut => timed_out,
        _ => LastWait::Rung,
    }
}

/// Writes the sealed blocks (and the open one, if `seal_open` gives a reason), several at once when there are several.
/// Returns when all of its own writes are complete.
fn write_out(shared: &Shared, mut role: WriterRole, mut seal_open: Option<FlushReason>, own: &mut OwnWrites) {
    loop {
        // The open block is written alone: while full blocks are written, it keeps collecting records.
        let Some(mut block) = shared.take_next(if own.blocks.is_empty() { seal_open } else { None }) else {
            break;
        };
        seal_open = None;
        shared.finish_header(&mut role, &mut block);
        let number = shared.issue_holding(&block);
        let began_ns = shared.os.clock().monotonic_ns();
        let more = shared.positions.sealed() > shared.positions.issued();
        if !more && own.blocks.is_empty() {
            shared.give_role_back(role, false);
            let result = os::wait_as(WaitType::LOGMGR_FLUSH, || shared.write_block(&block));
            let write_ns = shared.os.clock().monotonic_ns() - began_ns;
            shared.complete(number, block, result, write_ns, false);
            return;
        }
        submit(shared, own, number, block, began_ns);
        while !own.blocks.is_empty() && !shared.admits_another() {
            reap(shared, own);
        }
        if shared.is_failed() {
            break;
        }
    }
    shared.give_role_back(role, false);
    while !own.blocks.is_empty() {
        reap(shared, own);
    }
    assert!(own.queue.as_ref().is_none_or(|queue| queue.in_flight() == 0), "every write has been told of");
}

fn submit(shared: &Shared, own: &mut OwnWrites, number: u64, mut block: CachedBlock, began_ns: u64) {
    let depth = shared.options.queue_places() as usize;
    let queue = own.queue.get_or_insert_with(|| shared.os.disk().io_queue(depth));
    while queue.in_flight() >= queue.depth() {
        // The limits were checked before; a queue of smaller depth than requested waits here.
        let completions = queue.reap(true);
        finish(shared, &mut own.blocks, completions);
    }
    let buffer = std::mem::replace(&mut block.buffer, os::AlignedBuf::new(0));
    let mode = if shared.options.volatile { WriteMode::Cached } else { WriteMode::Durable };
    let (bytes, offset, file) = (block.padded_bytes, block.file_offset, shared.files.blocks(block.file));
    assert!(bytes <= buffer.len(), "the buffer goes with its block");
    let before = own.blocks.insert(number, (block, began_ns));
    assert!(before.is_none(), "each write has its own number");
    queue.submit(&file, Request::Write(mode), buffer, bytes, offset, number);
}

fn reap(shared: &Shared, own: &mut OwnWrites) {
    assert!(!own.blocks.is_empty(), "a wait for writes in flight ends");
    let Some(queue) = own.queue.as_mut() else { return };
    let completions = os::wait_as(WaitType::LOGMGR_FLUSH, || queue.reap(true));
    finish(shared, &mut own.blocks, completions);
}

fn finish(
    shared: &Shared,
    blocks: &mut FxHashMap<u64, (CachedBlock, u64)>,
    completions: Vec<os::Completion>,
) {
    let now_ns = shared.os.clock().monotonic_ns();
    for completion in completions {
        let (mut block, began_ns) =
            blocks.remove(&completion.token).expect("a completion of a write in flight");
        assert!(completion.buffer.len() >= block.padded_bytes, "a write gives its whole buffer back");
        block.buffer = completion.buffer;
        shared.complete(completion.token, block, completion.result, now_ns - began_ns, false);
    }
}
