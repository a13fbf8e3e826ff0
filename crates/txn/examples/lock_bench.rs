//! Measures an uncontended lock and its release: `cargo run --release -p hardpan-txn --example lock_bench`.

use hardpan_txn::lock::LockManager;
use hardpan_txn::{HeldLocks, LockMode, LockOwner, LockWait, Resource};
use os::Os;

const ROUNDS: u32 = 2_000_000;

fn main() {
    let os = Os::real();
    let manager = LockManager::new(&os);
    let space = manager.new_space(51);
    let mut locks = HeldLocks::new(std::sync::Arc::clone(&manager), space, LockOwner::Transaction(1));
    for round in 0..3 {
        let began_ns = os.clock().monotonic_ns();
        for number in 0..ROUNDS {
            let resource = Resource::Rid {
                database: 5,
                object: 9,
                file: 1,
                page: number / 100,
                slot: (number % 100) as u16,
            };
            locks.lock(resource, LockMode::S, LockWait::Forever).expect("nobody else locks");
            locks.unlock(&resource, LockMode::S);
        }
        let ns = (os.clock().monotonic_ns() - began_ns) / u64::from(ROUNDS);
        println!("round {round}: {ns} ns per lock and release");
    }
}
