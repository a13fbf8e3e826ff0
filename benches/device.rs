//! The raw device: durable 512-byte writes into preallocated space.

use std::path::Path;
use std::time::{Duration, Instant};

use os::{AlignedBuf, OpenOptions, Os, WriteMode};

use crate::work::{Engine, Sample, Scale, Work};

const WRITE_BYTES: usize = 512;

/// The raw device.
pub struct Device {
    os: Os,
    file: std::sync::Arc<dyn os::File>,
    writes: u64,
}

impl Device {
    /// A file of its own below `work`, with room for `writes` writes.
    pub fn open(work: &Path, writes: u64) -> Result<Device, String> {
        let os = Os::real();
        let options = OpenOptions { direct: true, ..OpenOptions::create() };
        let file = os.disk().open(&work.join("device"), &options).map_err(|error| error.to_string())?;
        let bytes = (writes * WRITE_BYTES as u64).next_multiple_of(1 << 20);
        file.allocate_zeroed(0, bytes).map_err(|error| error.to_string())?;
        Ok(Device { os, file, writes })
    }

    /// The longest of `count` durable writes of `bytes` each, one after the other, in ms: the time that a commit without other waits may take.
    pub fn longest_ms(work: &Path, count: u64, bytes: usize) -> Result<f64, String> {
        let device = Device::open(work, count * bytes.div_ceil(WRITE_BYTES) as u64)?;
        let buffer = AlignedBuf::new(bytes.next_multiple_of(WRITE_BYTES));
        let mut longest = Duration::ZERO;
        for number in 0..count {
            let began = Instant::now();
            let written = device.file.write_at(&buffer, number * buffer.len() as u64, WriteMode::Durable);
            written.map_err(|error| error.to_string())?;
            longest = longest.max(began.elapsed());
        }
        Ok(longest.as_secs_f64() * 1_000.0)
    }
}

impl Engine for Device {
    fn name(&self) -> &'static str {
        "raw device"
    }

    fn measure(&mut self, work: Work, _scale: &Scale) -> Option<Result<Sample, String>> {
        if work != Work::RawDevice {
            return None;
        }
        let mut buffer = AlignedBuf::new(WRITE_BYTES);
        let began = Instant::now();
        for number in 0..self.writes {
            buffer[..8].copy_from_slice(&number.to_le_bytes());
            let written = self.file.write_at(&buffer, number * WRITE_BYTES as u64, WriteMode::Durable);
            if let Err(error) = written {
                return Some(Err(error.to_string()));
            }
        }
        let _ = &self.os;
        Some(Ok(Sample::rate(self.writes as f64 / began.elapsed().as_secs_f64())))
    }
}
