//! Formatting of numbers with their units.

/// A time: `12 us`, `0.19 ms`, `5.4 ms`, `2.5 s`.
pub(super) fn time(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ns {
        0..10_000 => format!("{:.1} us", ns as f64 / 1e3),
        10_000..100_000 => format!("{} us", ns / 1_000),
        100_000..1_000_000 => format!("{ms:.2} ms"),
        1_000_000..1_000_000_000 => format!("{ms:.1} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

/// A size: `512 bytes`, `1.9 KB`, `3.8 MB`.
pub(super) fn size(bytes: u64) -> String {
    const KB: u64 = 1 << 10;
    const MB: u64 = 1 << 20;
    match bytes {
        0..KB => format!("{bytes} bytes"),
        KB..MB => format!("{:.1} KB", bytes as f64 / KB as f64),
        _ => format!("{:.1} MB", bytes as f64 / MB as f64),
    }
}

/// A count per second.
pub(super) fn rate(count: u64, window_ns: u64) -> String {
    let rate = count as f64 * 1e9 / window_ns.max(1) as f64;
    if rate >= 10.0 { format!("{rate:.0}/s") } else { format!("{rate:.1}/s") }
}

/// A share as a percentage.
pub(super) fn percent(part: f64) -> String {
    if part < 0.1 { format!("{:.1} %", part * 100.0) } else { format!("{:.0} %", part * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        let times = [950, 12_345, 193_000, 5_400_000, 2_500_000_000].map(time);
        assert_eq!(times, ["0.9 us", "12 us", "0.19 ms", "5.4 ms", "2.5 s"]);
        assert_eq!([512, 1_946, 3_932_160].map(size), ["512 bytes", "1.9 KB", "3.8 MB"]);
        assert_eq!((rate(7, 1_000_000_000), rate(5_181, 1_000_000_000)), ("7.0/s".into(), "5181/s".into()));
        assert_eq!((percent(0.013), percent(0.5)), ("1.3 %".into(), "50 %".into()));
    }
}
