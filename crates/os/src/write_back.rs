//! Making stores into mapped persistent memory durable: the processor's caches are written back line by line, then a fence; without
//! such an instruction by msync. See docs/decisions/0041.

use crate::error::IoError;

/// Bytes that are written back together, at most.
pub(crate) const LINE_BYTES: usize = 64;

/// How stores into a mapping become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteBack {
    /// `clwb`, which leaves the line in the cache.
    #[cfg(target_arch = "x86_64")]
    Clwb,
    /// `clflushopt`.
    #[cfg(target_arch = "x86_64")]
    Clflushopt,
    /// `dc cvap`: to the point of persistence.
    #[cfg(target_arch = "aarch64")]
    DcCvap,
    /// The msync system call.
    Msync,
}

impl WriteBack {
    /// The write-back instruction of this processor for memory mapped with MAP_SYNC.
    pub(crate) fn of_processor() -> WriteBack {
        #[cfg(target_arch = "x86_64")]
        {
            // Leaf 7: bit 24 of EBX is CLWB, bit 23 CLFLUSHOPT.
            let features = std::arch::x86_64::__cpuid_count(7, 0).ebx;
            if features & 1 << 24 != 0 {
                return WriteBack::Clwb;
            }
            if features & 1 << 23 != 0 {
                return WriteBack::Clflushopt;
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            /// Of the kernel's uapi/asm/hwcap.h.
            const HWCAP_DCPOP: libc::c_ulong = 1 << 16;
            // SAFETY: takes a number, cannot fail.
            if unsafe { libc::getauxval(libc::AT_HWCAP) } & HWCAP_DCPOP != 0 {
                return WriteBack::DcCvap;
            }
        }
        WriteBack::Msync
    }

    /// Begins to write the lines of `len` bytes at `start` back; [`WriteBack::fence`] ends it. `Msync` completes it at once.
    ///
    /// # Safety
    /// The bytes lie in one mapping of ours, which begins at a page.
    pub(crate) unsafe fn begin(self, start: *const u8, len: usize) -> Result<(), IoError> {
        let first = start as usize / LINE_BYTES * LINE_BYTES;
        let end = start as usize + len;
        match self {
            #[cfg(target_arch = "x86_64")]
            WriteBack::Clwb => {
                for line in (first..end).step_by(LINE_BYTES) {
                    // SAFETY: the processor has the instruction; the line is mapped; it changes no memory.
                    unsafe { std::arch::asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)) };
                }
            }
            #[cfg(target_arch = "x86_64")]
            WriteBack::Clflushopt => {
                for line in (first..end).step_by(LINE_BYTES) {
                    // SAFETY: as above.
                    unsafe {
                        std::arch::asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags))
                    };
                }
            }
            #[cfg(target_arch = "aarch64")]
            WriteBack::DcCvap => {
                // A line may be shorter than 64 bytes, never shorter than 16.
                for line in (first..end).step_by(16) {
                    // SAFETY: the processor has the instruction (its number, since assemblers ask for a newer target to know its name);
                    // the line is mapped; it changes no memory.
                    unsafe {
                        std::arch::asm!("sys #3, c7, c12, #1, {}", in(reg) line, options(nostack, preserves_flags))
                    };
                }
            }
            WriteBack::Msync => {
                let page = first / 4096 * 4096;
                // SAFETY: whole pages of a mapping of ours, which begins at a page.
                let result = unsafe { libc::msync(page as *mut libc::c_void, end - page, libc::MS_SYNC) };
                if result != 0 {
                    return Err(IoError::last("write persistent memory back"));
                }
            }
        }
        Ok(())
    }

    /// Makes the write-backs begun before durable, before all later stores.
    pub(crate) fn fence(self) {
        #[cfg(target_arch = "x86_64")]
        if self != WriteBack::Msync {
            // SAFETY: every x86-64 processor has it.
            unsafe { std::arch::x86_64::_mm_sfence() };
        }
        #[cfg(target_arch = "aarch64")]
        if self != WriteBack::Msync {
            // SAFETY: it waits for what was begun; it changes no memory.
            unsafe { std::arch::asm!("dsb sy", options(nostack, preserves_flags)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instructions run where the processor has them; only a loss of power could show that lines become durable.
    #[test]
    fn this_processors_write_back_runs() {
        let lines = vec![7_u8; 5 * LINE_BYTES];
        let way = WriteBack::of_processor();
        if way != WriteBack::Msync {
            // SAFETY: no mapping is asked for by these instructions; the bytes are ours.
            let result = unsafe { way.begin(lines[3..].as_ptr(), 4 * LINE_BYTES) };
            assert!(result.is_ok());
            way.fence();
        }
        assert!(lines.iter().all(|byte| *byte == 7));
    }
}
