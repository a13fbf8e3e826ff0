//! Memory requests for growing lists and hash tables: they double when they are full, and operators request memory before that.

use std::hash::Hash;

use plan_ir::errors::out_of_memory;
use rustc_hash::{FxHashMap, FxHashSet};
use types::SqlError;

/// Something that grows by doubling.
pub(crate) trait Room {
    /// Makes room for one more element.
    ///
    /// # Errors
    /// 701 when there is none.
    fn room_for_one(&mut self) -> Result<(), SqlError>;
}

impl<T> Room for Vec<T> {
    #[inline]
    fn room_for_one(&mut self) -> Result<(), SqlError> {
        if self.len() < self.capacity() {
            Ok(())
        } else {
            double(self.capacity(), size_of::<T>(), || self.try_reserve(1))
        }
    }
}

/// Makes room for so many more elements.
///
/// # Errors
/// 701 when there is none.
#[inline]
pub(super) fn room_for<T>(list: &mut Vec<T>, more: usize) -> Result<(), SqlError> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    double(list.capacity().max(more), size_of::<T>(), || list.try_reserve(more))
}

impl<K: Eq + Hash, V> Room for FxHashMap<K, V> {
    #[inline]
    fn room_for_one(&mut self) -> Result<(), SqlError> {
        if self.len() < self.capacity() {
            return Ok(());
        }
        double(self.capacity(), size_of::<(K, V)>() + 1, || self.try_reserve(1))
    }
}

impl<K: Eq + Hash> Room for FxHashSet<K> {
    #[inline]
    fn room_for_one(&mut self) -> Result<(), SqlError> {
        if self.len() < self.capacity() {
            return Ok(());
        }
        double(self.capacity(), size_of::<K>() + 1, || self.try_reserve(1))
    }
}

/// Asks for twice `capacity` elements, then lets them be made.
#[cold]
fn double<E>(
    capacity: usize,
    element_bytes: usize,
    make: impl FnOnce() -> Result<(), E>,
) -> Result<(), SqlError> {
    let bytes = capacity.max(4).saturating_mul(2).saturating_mul(element_bytes);
    os::memory::ask(bytes).map_err(out_of_memory)?;
    make().map_err(|_| out_of_memory(os::memory::OutOfMemory))
}
