//! The poller of this machine's sockets, and reads that do not wait: which thread gets each event, and how often.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use hardpan_os::{Latch, LatchRank, Listener, Os, Poller, Stream, WaitType};

/// Much longer than anything here takes: a thread that waits so long got no event.
const LONG_MS: u32 = 60_000;

struct Bench {
    os: Os,
    listener: Arc<dyn Listener>,
    poller: Arc<Poller>,
}

/// Both ends of a connection.
struct Pair {
    client: Arc<dyn Stream>,
    server: Arc<dyn Stream>,
}

impl Bench {
    fn new() -> Bench {
        let os = Os::real();
        let listener = os.net().listen("127.0.0.1:0").unwrap();
        let poller = Arc::new(os.net().poller().unwrap());
        Bench { os, listener, poller }
    }

    fn pair(&self) -> Pair {
        let client = self.os.net().connect(&self.listener.local_address(), 10_000_000_000).unwrap();
        let server = self.listener.accept(None).unwrap().unwrap();
        Pair { client, server }
    }

    fn wait(&self, timeout_ms: u32) -> Vec<u64> {
        // What was in the vector before does not stay.
        let mut ready = vec![12345];
        self.poller.wait(timeout_ms, &mut ready);
        ready
    }
}

impl Pair {
    /// The server's end has that many bytes to read when this returns.
    fn send(&self, bytes: &[u8]) {
        let mut buffer = [0; 64];
        let before = self.server.peek_now(&mut buffer).unwrap().unwrap_or(0);
        self.client.write_all(bytes).unwrap();
        while self.server.peek_now(&mut buffer).unwrap() != Some(before + bytes.len()) {}
    }
}

#[test]
fn what_is_readable_already_is_told_at_once_and_once() {
    let bench = Bench::new();
    let pair = bench.pair();
    pair.send(b"x");
    bench.poller.add(&*pair.server, 7).unwrap();
    assert_eq!(bench.wait(LONG_MS), [7]);
    assert_eq!(bench.wait(0), [], "once, although nobody has read it");
    pair.send(b"y");
    assert_eq!(bench.wait(LONG_MS), [7], "new bytes are told of anew");
    assert_eq!(bench.wait(0), []);
    let quiet = bench.pair();
    bench.poller.add(&*quiet.server, 8).unwrap();
    assert_eq!(bench.wait(1), [], "nothing has come: the time-out");
}

#[test]
fn nothing_is_told_of_a_paused_stream_until_it_is_resumed() {
    let bench = Bench::new();
    let (paused, other) = (bench.pair(), bench.pair());
    bench.poller.add(&*paused.server, 1).unwrap();
    bench.poller.add(&*other.server, 2).unwrap();
    bench.poller.pause(&*paused.server, 1).unwrap();
    paused.send(b"x");
    other.send(b"y");
    assert_eq!(bench.wait(LONG_MS), [2]);
    assert_eq!(bench.wait(0), []);
    bench.poller.resume(&*paused.server, 1).unwrap();
    assert_eq!(bench.wait(LONG_MS), [1], "what has come meanwhile is told at once");
    bench.poller.pause(&*paused.server, 1).unwrap();
    bench.poller.resume(&*paused.server, 1).unwrap();
    assert_eq!(bench.wait(LONG_MS), [1], "and what was told before and is still there");
    paused.server.read(&mut [0; 8]).unwrap();
    bench.poller.pause(&*paused.server, 1).unwrap();
    bench.poller.resume(&*paused.server, 1).unwrap();
    assert_eq!(bench.wait(0), []);
    paused.send(b"z");
    assert_eq!(bench.wait(LONG_MS), [1]);
}

#[test]
fn each_arrival_is_told_to_one_of_several_waiting_threads() {
    const ARRIVALS: usize = 300;
    let bench = Bench::new();
    let pairs: Vec<Pair> = (0..3).map(|_| bench.pair()).collect();
    for (token, pair) in pairs.iter().enumerate() {
        bench.poller.add(&*pair.server, token as u64).unwrap();
    }
    let (told, is_over) =
        (Arc::new(Latch::new(LatchRank::Leaf, Vec::<u64>::new())), Arc::new(AtomicBool::new(false)));
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let (poller, told, is_over) = (bench.poller.clone(), told.clone(), is_over.clone());
            bench.os.spawn("waiter", move || {
                let mut ready = Vec::new();
                while !is_over.load(SeqCst) {
                    poller.wait(LONG_MS, &mut ready);
                    told.lock().extend(&ready);
                }
                // The calls may have come as one: pass it on.
                poller.wake_one();
            })
        })
        .collect();
    for arrival in 0..ARRIVALS {
        let pair = &pairs[arrival % pairs.len()];
        pair.client.write_all(b"x").unwrap();
        while told.lock().len() <= arrival {
            std::thread::yield_now();
        }
        assert_eq!(told.lock()[arrival], (arrival % pairs.len()) as u64);
    }
    is_over.store(true, SeqCst);
    bench.poller.wake_one();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert_eq!(told.lock().len(), ARRIVALS, "no arrival was told twice");
}

#[test]
fn a_closed_peer_is_told_of() {
    let bench = Bench::new();
    for (token, close) in [Pair::shut_down, Pair::drop_client].into_iter().enumerate() {
        let pair = bench.pair();
        bench.poller.add(&*pair.server, token as u64).unwrap();
        assert_eq!(bench.wait(0), []);
        let server = close(pair);
        assert_eq!(bench.wait(LONG_MS), [token as u64]);
        assert_eq!(server.read_now(&mut [0; 8]).unwrap(), Some(0), "the end of the stream");
    }
}

impl Pair {
    fn shut_down(self) -> Arc<dyn Stream> {
        self.client.shutdown();
        self.server
    }

    fn drop_client(self) -> Arc<dyn Stream> {
        self.server
    }
}

#[test]
fn one_waiting_thread_is_called_or_the_next_that_waits() {
    let bench = Bench::new();
    bench.poller.wake_one();
    assert_eq!(bench.wait(LONG_MS), [], "called before it waited");
    let called = Arc::new(AtomicU64::new(0));
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let (poller, called) = (bench.poller.clone(), called.clone());
            bench.os.spawn("waiter", move || {
                let mut ready = Vec::new();
                poller.wait(u32::MAX, &mut ready);
                assert_eq!(ready, []);
                called.fetch_add(1, SeqCst);
            })
        })
        .collect();
    for count in 1..=3 {
        bench.poller.wake_one();
        while called.load(SeqCst) < count {
            std::thread::yield_now();
        }
        bench.os.sleep(5_000_000, WaitType::SLEEP_TASK).unwrap();
        assert_eq!(called.load(SeqCst), count, "one call, one thread");
    }
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

#[test]
fn a_call_takes_no_stream_away() {
    let bench = Bench::new();
    let pair = bench.pair();
    bench.poller.add(&*pair.server, 3).unwrap();
    bench.poller.wake_one();
    pair.send(b"x");
    let told: Vec<u64> = [bench.wait(0), bench.wait(0)].concat();
    assert_eq!(told, [3]);
}

#[test]
fn few_are_told_at_once_and_the_rest_to_others() {
    let bench = Bench::new();
    let pairs: Vec<Pair> = (0..12).map(|_| bench.pair()).collect();
    for (token, pair) in pairs.iter().enumerate() {
        pair.send(b"x");
        bench.poller.add(&*pair.server, token as u64).unwrap();
    }
    let (first, second) = (bench.wait(LONG_MS), bench.wait(LONG_MS));
    assert_eq!((first.len(), second.len()), (8, 4));
    let mut all = [first, second].concat();
    all.sort_unstable();
    assert_eq!(all, (0..12).collect::<Vec<_>>());
    assert_eq!(bench.wait(0), []);
}

#[test]
fn a_stream_that_has_ended_is_forgotten() {
    let bench = Bench::new();
    let (gone, there) = (bench.pair(), bench.pair());
    bench.poller.add(&*gone.server, 1).unwrap();
    bench.poller.add(&*there.server, 2).unwrap();
    drop(gone);
    there.send(b"x");
    assert_eq!(bench.wait(LONG_MS), [2]);
    assert_eq!(bench.wait(0), []);
}

#[test]
fn a_read_now_does_not_wait() {
    let bench = Bench::new();
    let pair = bench.pair();
    let (waits, _) = hardpan_os::task::current().waits_total();
    let mut buffer = [0; 4];
    assert_eq!(pair.server.read_now(&mut buffer).unwrap(), None);
    pair.send(b"hello");
    assert_eq!((pair.server.read_now(&mut buffer).unwrap(), &buffer), (Some(4), b"hell"));
    assert_eq!((pair.server.read_now(&mut buffer).unwrap(), buffer[0]), (Some(1), b'o'));
    assert_eq!(pair.server.read_now(&mut buffer).unwrap(), None);
    pair.client.shutdown();
    while pair.server.peek_now(&mut buffer).unwrap() != Some(0) {}
    assert_eq!(pair.server.read_now(&mut buffer).unwrap(), Some(0));
    assert_eq!(hardpan_os::task::current().waits_total().0, waits);
}
