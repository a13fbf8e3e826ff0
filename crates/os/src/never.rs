//! `never!`: checks for conditions believed impossible that must not end the process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// `if never!(condition, "text {}", x) { return the_safe_way }`: true when the impossible has happened; then it is
/// logged, counted and fails a simulation. `assert!` is for what is proved, `never!` for what is believed.
#[macro_export]
macro_rules! never {
    ($condition:expr, $($message:tt)+) => {{
        let happened: bool = $condition;
        if happened {
            $crate::note_never(&format!($($message)+), file!(), line!());
        }
        happened
    }};
}

/// The cold part of [`never!`].
#[cold]
pub fn note_never(message: &str, file: &str, line: u32) {
    COUNT.fetch_add(1, Relaxed);
    let text = format!("believed impossible: {message} ({file}:{line})");
    crate::report::error("never", &text);
    crate::seat::note_failure(&text);
}

/// How often the impossible has happened in this process.
pub fn never_count() -> u64 {
    COUNT.load(Relaxed)
}
