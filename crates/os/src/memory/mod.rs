//! Memory accounting: the allocations of the process and of each request, and their limits. The process's allocator counts every
//! allocation, so that no code charges by hand and none can be missed; running requests check their limit now and then.
//!
//! ```text
//!  allocate, free ──► a count of the thread ──every 64 KB──► the process's total, the request's use, its account for the views
//!                                                              │ one of them above its limit
//!                                                              ▼
//!                      check() and ask() on that thread refuse, until enough has been freed
//! ```
//!
//! The buffers of [`crate::AlignedBuf`] (pages, log blocks) do not count: their number has limits of its own.
//! Decision 0014 has the reasons.

mod allocator;
mod reserve;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64};

/// A thread's count is added to the total whenever it has changed by so much, in bytes.
const CHUNK_BYTES: i64 = 64 << 10;
/// Requests that use no more than this may continue when the total is used up, a little beyond it.
const SMALL_BYTES: i64 = 1 << 20;
/// Larger blocks are mapped, and unmapped when they are freed; an arena keeps no more at its end.
const KEPT_BLOCK_BYTES: usize = 4 << 20;
/// Blocks at least this large come from the system, one by one: it can be tested whether the system has one. (glibc maps blocks beyond 32 MB.)
const MAPPED_BYTES: usize = 33 << 20;

/// All allocated and counted bytes, without the threads' counts that were not added yet.
static TOTAL: AtomicI64 = AtomicI64::new(0);
static TOTAL_MAX: AtomicI64 = AtomicI64::new(i64::MAX);
static REQUEST_MAX: AtomicI64 = AtomicI64::new(i64::MAX);
/// The system had less than the limit, and the error log does not say so yet.
static FELL_SHORT: AtomicBool = AtomicBool::new(false);
/// The peak of the total: memory freed since then may be returned to the system.
static PEAK: AtomicI64 = AtomicI64::new(0);
/// The allocated bytes when the limits were set: the total's limit stays above that.
static BASE: AtomicI64 = AtomicI64::new(0);

thread_local! {
    /// Bytes allocated less freed since the last update of the total.
    static UNTOLD: Cell<i64> = const { Cell::new(0) };
    /// Bytes allocated less freed since the request began, up to that update.
    static USED: Cell<i64> = const { Cell::new(0) };
    /// The limit of the thread's request; unlimited if none runs.
    static USED_MAX: Cell<i64> = const { Cell::new(i64::MAX) };
    static IS_SPENT: Cell<bool> = const { Cell::new(false) };
    /// The memory that the request's session holds from before, which is added to the use of the request.
    static HELD: Cell<i64> = const { Cell::new(0) };
    /// The session has much memory, and little is left for the others.
    static IS_PRESSED: Cell<bool> = const { Cell::new(false) };
    /// The account of the request; null without one. Points into the `Arc` of the innermost `Request` guard.
    static ACCOUNT: Cell<*const Account> = const { Cell::new(std::ptr::null()) };
}

/// A request has reached its limit, or the server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the memory that may be used is spent")
    }
}

impl std::error::Error for OutOfMemory {}

/// The memory use of a session's requests, for the views. Written by the thread that runs the request, 64 KB at a time.
#[derive(Debug, Default)]
pub struct Account {
    used_bytes: AtomicI64,
    peak_bytes: AtomicI64,
}

impl Account {
    /// The memory use of the running request, in bytes; 0 when none runs.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Relaxed).max(0).unsigned_abs()
    }

    /// The most that the running or last request has used at once, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes.load(Relaxed).max(0).unsigned_abs()
    }
}

/// While it lives, the calling thread works for a request: its allocations are the request's use.
pub struct Request {
    account: Arc<Account>,
    outer: (i64, i64, *const Account, i64),
}

impl Request {
    /// Begins a request of a session that holds `held_bytes` from before: they count as its own, although other code may have to free them.
    /// A nested request has a use of its own, which is added to the outer one in the end.
    pub fn begin(account: &Arc<Account>, held_bytes: u64) -> Request {
        let account = account.clone();
        account.used_bytes.store(0, Relaxed);
        account.peak_bytes.store(0, Relaxed);
        // The total is not updated here: it is one cache line for all threads, and the request does not need it.
        let untold = UNTOLD.get();
        let held = HELD.replace(i64::try_from(held_bytes).unwrap_or(i64::MAX / 2));
        let outer = (USED.get() + untold, USED_MAX.get(), ACCOUNT.replace(Arc::as_ptr(&account)), held);
        USED.set(-untold);
        USED_MAX.set(REQUEST_MAX.load(Relaxed));
        note_judgement(0, TOTAL.load(Relaxed));
        Request { account, outer }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.account.used_bytes.store(0, Relaxed);
        let (used, used_max, account, held) = self.outer;
        HELD.set(held);
        USED.set(used + USED.get());
        USED_MAX.set(used_max);
        ACCOUNT.set(account);
        judge();
    }
}

/// Makes the system's allocator keep little freed memory, for a long-lived process: by default each of its arenas (eight a processor) may
/// keep up to 64 MB at its end once large blocks have been freed, which is never returned. To be called before threads are started.
pub fn keep_little() {
    let arenas = (2 * crate::process::processor_count()).clamp(4, 64);
    let settings = [
        (libc::M_ARENA_MAX, arenas),
        (libc::M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES),
        (libc::M_TRIM_THRESHOLD, KEPT_BLOCK_BYTES),
    ];
    for (setting, value) in settings {
        // SAFETY: plain numbers; what the allocator does not take it ignores.
        unsafe { libc::mallopt(setting, libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX)) };
    }
}

/// Sets how much may be allocated beyond the present total, by all and by one request, in bytes. Without this call there is no limit.
pub fn set_limits(beyond_now_bytes: u64, request_bytes: u64) {
    tell();
    let limit = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let base = TOTAL.load(Relaxed).max(0);
    BASE.store(base, Relaxed);
    TOTAL_MAX.store(base.saturating_add(limit(beyond_now_bytes)), Relaxed);
    REQUEST_MAX.store(limit(request_bytes), Relaxed);
    reserve::hold();
}

/// Changes the limit of all requests together, and that of one: three quarters of it. The other allowance of [`set_limits`] stays, and so do
/// the limits of running requests.
pub fn set_requests(bytes: u64) {
    tell();
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let request_max = REQUEST_MAX.load(Relaxed);
    let others = match TOTAL_MAX.load(Relaxed) {
        i64::MAX => TOTAL.load(Relaxed).max(0),
        total_max => total_max.saturating_sub(request_max / 3 * 4).max(0),
    };
    TOTAL_MAX.store(others.saturating_add(bytes), Relaxed);
    REQUEST_MAX.store(bytes / 4 * 3, Relaxed);
}

/// All allocated and counted bytes, without at most 64 KB a thread.
pub fn total_bytes() -> u64 {
    TOTAL.load(Relaxed).max(0).unsigned_abs()
}

/// Bytes that the calling thread has allocated less freed: the difference of two readings is the memory kept from the work between them.
pub fn thread_bytes() -> i64 {
    USED.get() + UNTOLD.get()
}

/// The limit of the total, `None` without one.
pub fn total_bytes_max() -> Option<u64> {
    Some(TOTAL_MAX.load(Relaxed)).filter(|max| *max != i64::MAX).map(i64::unsigned_abs)
}

/// The limit of one request, `None` without one.
pub fn request_bytes_max() -> Option<u64> {
    Some(REQUEST_MAX.load(Relaxed)).filter(|max| *max != i64::MAX).map(i64::unsigned_abs)
}

/// May the thread's request continue? To be called wherever data grows: costs one read of thread-local memory.
///
/// # Errors
/// The request exceeds its limit, or all together exceed theirs and it is not a small one.
#[inline]
pub fn check() -> Result<(), OutOfMemory> {
    if IS_SPENT.get() { Err(refused()) } else { Ok(()) }
}

/// [`check`] as a boolean.
#[inline]
pub fn is_spent() -> bool {
    IS_SPENT.get()
}

/// May the session of the thread's request use more memory, including the memory it holds from before? To be called before work that
/// may leave memory with the session, but not by work that frees memory (the end of a transaction): that needs little, and `check` allows it.
///
/// # Errors
/// As [`check`], as if the request had allocated what the session holds.
#[inline]
pub fn check_session() -> Result<(), OutOfMemory> {
    check()?;
    let held = HELD.get();
    if held > SMALL_BYTES && is_beyond(held.saturating_add(USED.get()), TOTAL.load(Relaxed)) {
        return Err(refused());
    }
    Ok(())
}

/// Has the session of the thread's request much memory, while little is left for the others? Code that can trade memory for other costs (lock
/// escalation) does so then.
#[inline]
pub fn is_pressed() -> bool {
    IS_PRESSED.get()
}

/// May the thread's request allocate `bytes` more? To be called before a large allocation; reserves nothing.
///
/// # Errors
/// As [`check`], as if the bytes were allocated; and when they are many and the system has no such block.
#[inline]
pub fn ask(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes < CHUNK_BYTES as usize { check() } else { ask_for_many(bytes) }
}

fn ask_for_many(bytes: usize) -> Result<(), OutOfMemory> {
    tell();
    let wanted = i64::try_from(bytes).unwrap_or(i64::MAX);
    if is_too_much(USED.get().saturating_add(wanted), TOTAL.load(Relaxed).saturating_add(wanted)) {
        return Err(refused());
    }
    if bytes >= MAPPED_BYTES && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(refused());
    }
    Ok(())
}

/// Does the total allow `bytes` more? For code that runs before a request: its admission.
pub fn has_room_for(bytes: usize) -> bool {
    let wanted = i64::try_from(bytes).unwrap_or(i64::MAX);
    TOTAL.load(Relaxed).saturating_add(wanted) <= TOTAL_MAX.load(Relaxed)
}

/// May a request of so many bytes be admitted? For code that runs before the request: a small one always may, as long as small ones alone
/// have not used up the memory kept for them.
pub fn may_take_in(bytes: usize) -> bool {
    let wanted = i64::try_from(bytes).unwrap_or(i64::MAX);
    TOTAL.load(Relaxed).saturating_add(wanted) <= allowance(wanted)
}

#[cold]
fn refused() -> OutOfMemory {
    OutOfMemory
}

fn is_too_much(used: i64, total: i64) -> bool {
    // A thread without a request (recovery, checkpoints, a rollback at a connection's end) is never stopped.
    if USED_MAX.get() == i64::MAX && ACCOUNT.get().is_null() {
        return false;
    }
    // A session beyond its limit may still do work that needs almost no memory: to free what it holds.
    used > CHUNK_BYTES && is_beyond(used.saturating_add(HELD.get()), total)
}

/// Does a session with `own` bytes exceed its allowance, at this total?
fn is_beyond(own: i64, total: i64) -> bool {
    own > USED_MAX.get() || total > allowance(own)
}

/// The total up to which a session with `own` bytes may continue: sessions with much memory leave a part to those with little.
fn allowance(own: i64) -> i64 {
    let total_max = TOTAL_MAX.load(Relaxed);
    let request_max = REQUEST_MAX.load(Relaxed);
    match own {
        ..=SMALL_BYTES => total_max.saturating_add(kept_free(request_max) / 2),
        own if own <= request_max / 12 => total_max,
        _ => total_max.saturating_sub(kept_free(request_max)),
    }
}

/// The memory that large requests leave to the others.
fn kept_free(request_max: i64) -> i64 {
    if request_max == i64::MAX { 0 } else { request_max / 3 }
}

/// Counts what the thread has allocated (or, below 0, freed).
#[inline]
fn count(bytes: i64) {
    let untold = UNTOLD.get() + bytes;
    UNTOLD.set(untold);
    if !(-CHUNK_BYTES..=CHUNK_BYTES).contains(&untold) {
        tell();
        judge();
    }
}

/// Adds the thread's count to the total. Allocates nothing.
fn tell() {
    let untold = UNTOLD.replace(0);
    let total = TOTAL.fetch_add(untold, Relaxed) + untold;
    if total > PEAK.load(Relaxed) {
        PEAK.store(total, Relaxed);
    }
    USED.set(USED.get() + untold);
}

/// Notes whether the thread's request has to stop. Allocates nothing.
fn judge() {
    let used = USED.get();
    let account = ACCOUNT.get();
    if !account.is_null() {
        // SAFETY: set by `Request`, which owns a share of the account and takes the pointer away before it lets go of it.
        let account = unsafe { &*account };
        account.used_bytes.store(used, Relaxed);
        account.peak_bytes.fetch_max(used, Relaxed);
    }
    note_judgement(used, TOTAL.load(Relaxed));
}

fn note_judgement(used: i64, total: i64) {
    IS_SPENT.set(is_too_much(used, total));
    let own = used.saturating_add(HELD.get());
    let is_much = own > SMALL_BYTES && (own > USED_MAX.get() / 2 || total > allowance(i64::MAX));
    IS_PRESSED.set(is_much && !ACCOUNT.get().is_null());
}

/// Returns freed memory of the process to the system, when that is worth the work: at least
/// `at_least_bytes` less are allocated than at the peak since the last time. True when it was done.
///
/// Walks the allocator's free lists, some ms for each 100 MB: for a background thread.
pub fn give_back(at_least_bytes: u64) -> bool {
    if FELL_SHORT.swap(false, Relaxed) {
        crate::report::error(
            "Server",
            "the system has refused memory although the limit of --memory allowed it; the limit is lower from now on",
        );
    }
    let total = TOTAL.load(Relaxed);
    let freed = PEAK.load(Relaxed).saturating_sub(total).max(0).unsigned_abs();
    if freed < at_least_bytes.max(1) {
        return false;
    }
    PEAK.store(total, Relaxed);
    reserve::hold();
    give_back_all();
    true
}

/// Returns it unconditionally, including memory that is not counted ([`crate::AlignedBuf`]): once, after a start that needed more than later work.
pub fn give_back_all() {
    // SAFETY: no arguments that could be wrong; the allocator takes its own locks.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts and limits belong to the process: only one test checks them.
    #[test]
    fn a_request_is_refused_beyond_its_share_and_goes_on_when_it_has_freed_enough() {
        what_is_freed_goes_back_to_the_system();
        buffers_of_blocks_take_no_more_than_they_hold();
        pages_and_log_blocks_do_not_count();
        let before = total_bytes();
        set_limits(64 << 20, 8 << 20);
        let account = Arc::new(Account::default());
        let request = Request::begin(&account, 0);
        assert_eq!((check(), ask(8 << 20 >> 1)), (Ok(()), Ok(())));
        assert_eq!(ask(9 << 20), Err(OutOfMemory), "asked for before it is made");
        assert_eq!(ask(usize::MAX), Err(OutOfMemory), "no sum overflows");
        let mut kept: Vec<Vec<u8>> = Vec::new();
        while check().is_ok() {
            assert!(kept.len() < 10_000, "refused at last");
            kept.push(vec![1; 1_000]);
        }
        let used = kept.len() * 1_000;
        assert!((7 << 20..10 << 20).contains(&used), "{used}");
        assert!((7 << 20..10 << 20).contains(&account.used_bytes()), "{account:?}");
        assert!(total_bytes() >= before + (7 << 20));
        kept.truncate(1_000);
        assert_eq!(check(), Ok(()), "enough is free again");
        let before = thread_bytes();
        let both = (vec![1_u8; 1_000], drop(vec![1_u8; 1 << 20]));
        assert_eq!(thread_bytes() - before, 1_000, "what is there still");
        drop(both);
        assert_eq!(thread_bytes(), before);
        // A request inside: a use of its own, which the outer one has used in the end.
        let inner = Request::begin(&Arc::default(), 0);
        kept.push(vec![1; 6 << 20]);
        assert_eq!(check(), Ok(()));
        drop(inner);
        kept.push(vec![1; 2 << 20]);
        assert_eq!(check(), Err(OutOfMemory));
        // The limit can be changed while requests run: theirs stays, later ones have the new one, and the other allowance stays.
        let total_max = total_bytes_max().unwrap();
        set_requests(32 << 20);
        assert_eq!((check(), request_bytes_max()), (Err(OutOfMemory), Some(24 << 20)));
        let next = Request::begin(&Arc::default(), 0);
        assert_eq!((ask(20 << 20), ask(25 << 20)), (Ok(()), Err(OutOfMemory)));
        drop(next);
        set_requests((8 << 20) / 3 * 4);
        assert!(
            total_max.abs_diff(total_bytes_max().unwrap()) < 16 && request_bytes_max().unwrap() <= 8 << 20
        );
        drop(kept);
        drop(request);
        assert_eq!((account.used_bytes(), check()), (0, Ok(())));
        assert!(account.peak_bytes() > 8 << 20);

        the_total_is_shared();
        what_a_session_holds_counts_as_its_own();
        threads_without_a_request_are_not_stopped();
        set_limits(i64::MAX as u64, i64::MAX as u64);
    }

    /// Two requests within their shares, together beyond the total: the large ones are refused, a small one is not.
    fn the_total_is_shared() {
        set_limits(16 << 20, 12 << 20);
        std::thread::scope(|scope| {
            let (holds, held) = std::sync::mpsc::channel();
            let (release, released) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                let _request = Request::begin(&Arc::default(), 0);
                let kept = vec![1_u8; 11 << 20];
                holds.send(check()).expect("awaited");
                released.recv().expect("sent");
                drop(kept);
            });
            assert_eq!(held.recv().expect("sent"), Ok(()));
            let _request = Request::begin(&Arc::default(), 0);
            let small = vec![1_u8; 500 << 10];
            assert_eq!(check(), Ok(()));
            let large = vec![1_u8; 6 << 20];
            assert_eq!((check(), ask(1 << 20)), (Err(OutOfMemory), Err(OutOfMemory)));
            drop(large);
            assert_eq!(check(), Ok(()));
            drop(small);
            release.send(()).expect("awaited");
        });
    }

    /// Much memory held from before makes a session's requests large ones; small work is still allowed, so that it can be freed.
    fn what_a_session_holds_counts_as_its_own() {
        set_limits(16 << 20, 12 << 20);
        let (kept, held_bytes) = (vec![1_u8; 13 << 20], 2 << 20);
        for (held_bytes, is_large) in [(0, false), (held_bytes, true), (13 << 20, true)] {
            let _request = Request::begin(&Arc::default(), held_bytes);
            assert_eq!(check(), Ok(()), "{held_bytes}: nothing has been used yet");
            assert_eq!((check_session().is_err(), is_pressed()), (is_large, is_large), "{held_bytes}");
            let some = vec![1_u8; 200 << 10];
            assert_eq!(check().is_err(), is_large, "{held_bytes}");
            drop(some);
            assert_eq!(check(), Ok(()), "{held_bytes}");
        }
        // Requests before a login, or while sending, are admitted as long as they are small.
        assert!(may_take_in(100 << 10) && !may_take_in(4 << 20));
        drop(kept);
        let _request = Request::begin(&Arc::default(), held_bytes);
        assert_eq!((check_session(), is_pressed()), (Ok(()), false), "there is room");
    }

    fn threads_without_a_request_are_not_stopped() {
        set_limits(1 << 20, 1 << 20);
        let kept = vec![1_u8; 20 << 20];
        assert_eq!((check(), ask(100 << 20)), (Ok(()), Ok(())));
        drop(kept);
    }

    fn what_is_freed_goes_back_to_the_system() {
        let rows: Vec<Vec<u8>> = (0..400_000).map(|at| vec![at as u8; 200]).collect();
        let resident = crate::process::resident_bytes();
        assert!(resident > 80 << 20);
        // One row stays at the end of the heap.
        let last = rows.into_iter().last();
        assert!(give_back(50 << 20));
        let left = crate::process::resident_bytes();
        assert!(left + (60 << 20) < resident, "{resident} before, {left} after");
        assert!(!give_back(50 << 20), "nothing more to give");
        drop(last);
    }

    /// Buffers of pages need no more memory than their size: there are no gaps between them.
    fn buffers_of_blocks_take_no_more_than_they_hold() {
        let before = crate::process::resident_bytes();
        let all: Vec<Vec<_>> = (0..64).map(|_| crate::AlignedBuf::several(64, 8192)).collect();
        let taken = crate::process::resident_bytes().saturating_sub(before);
        assert!(taken < 38 << 20, "{} KB for 32 MB", taken >> 10);
        drop(all);
    }

    fn pages_and_log_blocks_do_not_count() {
        tell();
        let used = USED.get();
        let buffer = crate::AlignedBuf::new(32 << 20);
        tell();
        assert!(USED.get() - used < 1 << 20);
        drop(buffer);
    }
}
