//! The device below everything: 512-byte writes that are durable when they return, into space written before.

use std::path::Path;
use std::time::Instant;

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
