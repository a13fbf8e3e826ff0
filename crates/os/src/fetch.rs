//! Software prefetch: loads memory that will be read soon into the processor's caches.

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// Prefetches the cache line at an address. The program reads nothing and does not wait: an address that is not mapped any more does no harm.
#[inline]
pub fn fetch_early(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint to the processor: it reads nothing that the program could see, and faults at no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::fetch_early;

    #[test]
    fn no_address_is_a_wrong_one() {
        let bytes = [7u8; 64];
        for address in [bytes.as_ptr().addr(), 0, 1, usize::MAX] {
            fetch_early(address);
        }
        assert_eq!(bytes, [7; 64]);
    }
}
