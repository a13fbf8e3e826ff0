//! Complete transfers from partial system calls: the rest of a short read or write is requested again, as POSIX requires. Both
//! disks, the real and the simulated one, move the bytes of files through this code.
//!
//! A file that bypasses the page cache transfers whole units only. After a transfer that ended inside a unit, the next one begins at that unit, whose
//! bytes are moved again.

use crate::error::{IoError, IoErrorKind};

/// Consecutive calls without progress before the transfer fails.
const FRUITLESS_CALLS_MAX: u32 = 100;

/// How far a transfer has come.
struct Progress {
    /// 1, or the unit of a file that bypasses the page cache.
    unit: usize,
    /// Bytes that need not be moved again; whole units.
    done: usize,
    fruitless: u32,
}

impl Progress {
    fn new(unit: usize) -> Progress {
        assert!(unit > 0, "a transfer has a unit");
        Progress { unit, done: 0, fruitless: 0 }
    }

    /// A call has moved `count` bytes from `done` on. False after too many calls without progress.
    fn note(&mut self, count: usize) -> bool {
        let reached = (self.done + count) / self.unit * self.unit;
        assert!(reached >= self.done, "a transfer never goes back behind a whole unit");
        self.fruitless = if reached > self.done { 0 } else { self.fruitless + 1 };
        self.done = reached;
        self.fruitless < FRUITLESS_CALLS_MAX
    }
}

fn stuck(what: &str) -> IoError {
    IoError::new(IoErrorKind::Io, format!("{what}: {FRUITLESS_CALLS_MAX} calls moved nothing"))
}

/// Fills `buffer` as far as the file goes; returns how far. `read_once(part, from)` reads into a part that begins at byte `from` of the
/// buffer and returns how many bytes it got, `bytes_there` says how many bytes the file has for the buffer.
pub(crate) fn read_whole(
    buffer: &mut [u8],
    unit: usize,
    mut read_once: impl FnMut(&mut [u8], usize) -> Result<usize, IoError>,
    bytes_there: impl Fn() -> Result<u64, IoError>,
    what: impl Fn() -> String,
) -> Result<usize, IoError> {
    let wanted = buffer.len();
    let mut progress = Progress::new(unit);
    while progress.done < wanted {
        let from = progress.done;
        let count = read_once(&mut buffer[from..], from)?;
        assert!(count <= wanted - from, "read {count} bytes into {}", wanted - from);
        let reached = from + count;
        // A short read is the end of the file only if the file ends there.
        if reached == wanted || bytes_there()? <= reached as u64 {
            return Ok(reached);
        }
        if !progress.note(count) {
            return Err(stuck(&what()));
        }
    }
    Ok(wanted)
}

/// Writes all of `bytes`. `write_once(part, from)` writes a part that begins at byte `from` and returns how many bytes it has written.
pub(crate) fn write_whole(
    bytes: &[u8],
    unit: usize,
    mut write_once: impl FnMut(&[u8], usize) -> Result<usize, IoError>,
    what: impl Fn() -> String,
) -> Result<(), IoError> {
    let mut progress = Progress::new(unit);
    while progress.done < bytes.len() {
        let from = progress.done;
        let count = write_once(&bytes[from..], from)?;
        assert!(count <= bytes.len() - from, "wrote {count} of {} bytes", bytes.len() - from);
        if from + count == bytes.len() {
            return Ok(());
        }
        if !progress.note(count) {
            return Err(stuck(&what()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn what() -> String {
        "a test".to_owned()
    }

    /// All of it, or a random part.
    fn some_of(rng: &mut Rng, most: usize) -> usize {
        if rng.chance(1, 3) { most } else { rng.below(most as u64 + 1) as usize }
    }

    /// Random short transfers of a file of odd length, by bytes and by units: all of it arrives, and every request is aligned.
    #[test]
    fn short_transfers_are_continued_on_the_grid() {
        let mut rng = Rng::named(7, "short transfers");
        for round in 0..2_000 {
            let unit = [1, 512, 4096][round % 3];
            let length = rng.below(40) as usize * unit.max(300);
            let source: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut file = vec![0; length];
            write_whole(
                &source,
                unit,
                |part, from| {
                    assert!(from.is_multiple_of(unit) && part.len().is_multiple_of(unit.min(length)));
                    let count = some_of(&mut rng, part.len());
                    file[from..from + count].copy_from_slice(&part[..count]);
                    Ok(count)
                },
                what,
            )
            .expect("it gets on");
            assert_eq!(file, source);
            let there = length - rng.below(length as u64 / 2 + 1) as usize;
            let mut buffer = vec![0; length];
            let got = read_whole(
                &mut buffer,
                unit,
                |part, from| {
                    assert!(from.is_multiple_of(unit));
                    let most = part.len().min(there.saturating_sub(from));
                    let count = some_of(&mut rng, most);
                    part[..count].copy_from_slice(&file[from..from + count]);
                    Ok(count)
                },
                || Ok(there as u64),
                what,
            )
            .expect("it gets on");
            assert_eq!((got, &buffer[..got]), (there, &source[..there]));
        }
    }

    #[test]
    fn a_transfer_that_gets_nowhere_fails() {
        let mut calls = 0;
        let mut nothing = |_: &[u8], _: usize| {
            calls += 1;
            Ok(511)
        };
        let error = write_whole(&[0; 1024], 512, &mut nothing, what).expect_err("never a whole unit");
        assert_eq!((error.kind, calls), (IoErrorKind::Io, FRUITLESS_CALLS_MAX));
        let nothing = |_: &mut [u8], _: usize| Ok(0);
        let error =
            read_whole(&mut [0; 8], 1, nothing, || Ok(8), what).expect_err("the file says that it goes on");
        assert_eq!(error.kind, IoErrorKind::Io);
    }

    #[test]
    fn an_error_ends_a_transfer() {
        let fails = |_: &[u8], from: usize| match from {
            0 => Ok(3),
            _ => Err(IoError::from_code(libc::EIO, what())),
        };
        assert_eq!(write_whole(&[0; 8], 1, fails, what).expect_err("EIO").os_code, libc::EIO);
    }
}
