//! The process and its machine: identity, standard streams, processors, memory.

/// The process id.
pub fn id() -> u32 {
    std::process::id()
}

/// The machine's host name (`@@SERVERNAME`), `localhost` when it has none.
pub fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is valid for its length less one; the last byte stays 0.
    let result = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let length = buffer.iter().position(|&byte| byte == 0).unwrap_or(0);
    if result != 0 || length == 0 {
        return "localhost".to_owned();
    }
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

/// The program that this process runs; empty when unknown.
pub fn program() -> String {
    std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default()
}

/// The account that this process runs as: its name, or its number where it has none.
pub fn account() -> String {
    use std::os::unix::fs::MetadataExt;
    let Ok(own) = std::fs::metadata("/proc/self") else { return String::new() };
    let number = own.uid().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    named.unwrap_or(number)
}

/// An environment variable, if it is set and is text.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Processors that this process may use (at least 1).
pub fn processor_count() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Resident memory of this process in bytes (0 when unknown).
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// Processor time that this process has used, in milliseconds: user and kernel time (0 when unknown).
pub fn processor_times_ms() -> (u64, u64) {
    /// The unit of the kernel's figures, whatever its own clock: 10 ms.
    const TICK_MS: u64 = 10;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, in parentheses, is a name of any characters; the times are the fourteenth and fifteenth.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    (ticks(11) * TICK_MS, ticks(12) * TICK_MS)
}

/// Memory of the machine in bytes (0 when unknown).
pub fn physical_memory_bytes() -> u64 {
    machine_memory().total_bytes
}

/// Memory of the machine, each in bytes, 0 when unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineMemory {
    /// All of it.
    pub total_bytes: u64,
    /// Memory available without swapping.
    pub available_bytes: u64,
    /// Swap space.
    pub swap_total_bytes: u64,
    /// Free swap space.
    pub swap_free_bytes: u64,
    /// Contents of files.
    pub cached_bytes: u64,
    /// The kernel's own, reclaimable.
    pub slab_reclaimable_bytes: u64,
    /// The kernel's own, not reclaimable.
    pub slab_unreclaimable_bytes: u64,
}

/// Memory of the machine as it is now.
pub fn machine_memory() -> MachineMemory {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.unwrap_or(0) * 1024
    };
    MachineMemory {
        total_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        swap_total_bytes: bytes("SwapTotal"),
        swap_free_bytes: bytes("SwapFree"),
        cached_bytes: bytes("Cached"),
        slab_reclaimable_bytes: bytes("SReclaimable"),
        slab_unreclaimable_bytes: bytes("SUnreclaim"),
    }
}

/// Ends the process at once with `code`, without running destructors.
pub fn exit(code: i32) -> ! {
    std::process::exit(code)
}

/// Raises the limit of open files to its hard limit; returns the limit.
pub fn raise_open_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writing, then for reading.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        }
    }
    limit.rlim_cur
}
