//! Workers run ready work: at once, in turn, beside waiting work and long computations.

use super::*;

/// Work that counts its runs and how many ran at once, and returns whether it has more to do.
struct Job {
    body: Box<dyn Fn(&Job) -> bool + Send + Sync>,
    runs: AtomicUsize,
}

impl Job {
    fn new(body: impl Fn(&Job) -> bool + Send + Sync + 'static) -> Arc<Job> {
        Arc::new(Job { body: Box::new(body), runs: AtomicUsize::new(0) })
    }
}

impl Work for Job {
    fn run(self: &Arc<Self>) -> bool {
        self.runs.fetch_add(1, SeqCst);
        (self.body)(self)
    }
}

fn workers(os: &Os, processors: usize) -> Arc<Workers<Job>> {
    Workers::new(os, 256 * 1024, processors, Box::new(|_| None)).unwrap()
}

fn wait_until(os: &Os, holds: impl Fn() -> bool) {
    while !holds() {
        os.sleep(100_000, WaitType::SLEEP_TASK).unwrap();
    }
}

#[test]
fn what_does_not_wait_runs_on_about_as_many_workers_as_wanted() {
    let os = Os::real();
    let workers = workers(&os, 3);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let jobs: Vec<_> = (0..1_000)
        .map(|_| {
            let (now, most) = (now.clone(), most.clone());
            Job::new(move |_| {
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                (0..1_000).for_each(|_| std::hint::spin_loop());
                now.fetch_sub(1, SeqCst);
                false
            })
        })
        .collect();
    jobs.iter().for_each(|job| workers.push(job.clone()));
    wait_until(&os, || jobs.iter().all(|job| job.runs.load(SeqCst) == 1));
    // One or two wake-ups may be superfluous, but not one for each job.
    assert!(most.load(SeqCst) <= 5, "{most:?} at once");
    workers.stop(10_000_000_000);
    assert_eq!(workers.all.lock().len(), 0);
}

#[test]
fn what_waits_makes_room_for_others() {
    let os = Os::real();
    let workers = workers(&os, 2);
    let go = Arc::new(Signal::new());
    // Each waits for the one that is pushed after it.
    let mut next = go.clone();
    let mut jobs = Vec::new();
    for _ in 0..60 {
        let (mine, theirs) = (Arc::new(Signal::new()), next);
        next = mine.clone();
        jobs.push(Job::new(move |_| {
            mine.wait(WaitType::WAITFOR, None);
            theirs.set();
            false
        }));
    }
    jobs.iter().for_each(|job| workers.push(job.clone()));
    let last = next;
    workers.push(Job::new(move |_| {
        last.set();
        false
    }));
    go.wait(WaitType::WAITFOR, None);
    assert!(jobs.iter().all(|job| job.runs.load(SeqCst) == 1));
    workers.stop(10_000_000_000);
    assert_eq!(workers.all.lock().len(), 0, "parked and polling ones have ended");
    assert_eq!(workers.active.load(SeqCst), 0);
}

#[test]
fn what_has_more_to_do_lets_others_go_first() {
    let os = Os::real();
    let workers = workers(&os, 2);
    // No wake-up is possible: this thread is the only worker.
    workers.called.store(true, SeqCst);
    let order = Arc::new(Latch::new(LatchRank::Session, Vec::new()));
    for name in ["a", "b", "c"] {
        let order = order.clone();
        workers.push(Job::new(move |job: &Job| {
            order.lock().push(name);
            job.runs.load(SeqCst) < 3
        }));
    }
    let me = Worker::default();
    while let Some(work) = workers.take_ready() {
        workers.run(&me, work);
    }
    assert_eq!(*order.lock(), ["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
    assert_eq!((workers.all.lock().len(), me.turns.load(SeqCst)), (0, 18));
}

#[test]
fn what_computes_for_long_does_not_keep_others() {
    let os = Os::real();
    let workers = workers(&os, 2);
    let done = Arc::new(AtomicBool::new(false));
    let spinning = |done: &Arc<AtomicBool>| {
        let done = done.clone();
        Job::new(move |_| {
            while !done.load(SeqCst) {
                std::hint::spin_loop();
            }
            false
        })
    };
    let jobs: Vec<_> = (0..2).map(|_| spinning(&done)).collect();
    jobs.iter().for_each(|job| workers.push(job.clone()));
    wait_until(&os, || jobs.iter().all(|job| job.runs.load(SeqCst) == 1));
    // Both ran at the first check and still run at the second.
    workers.look();
    assert_eq!(workers.long_active.load(SeqCst), 0);
    workers.look();
    assert_eq!(workers.long_active.load(SeqCst), 2);
    let after = Job::new({
        let done = done.clone();
        move |_| {
            done.store(true, SeqCst);
            false
        }
    });
    workers.push(after.clone());
    wait_until(&os, || after.runs.load(SeqCst) == 1);
    workers.stop(10_000_000_000);
    assert_eq!(workers.all.lock().len(), 0);
}
