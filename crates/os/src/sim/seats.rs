//! The seats of simulated threads, and the world's implementation for `Os`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

use super::world::World;
use crate::error::IoError;
use crate::futex::Woke;
use crate::os::SimulatedWorld;
use crate::persistent::{PersistentMemory, PersistentVolume};
use crate::seat::{Seat, unwind_if_over};
use crate::surviving::{SurvivingClaim, SurvivingImage, SurvivingLayout, SurvivingMemory};
use crate::task::TaskRef;

/// A simulated thread's seat.
struct TaskSeat {
    world: World,
    index: usize,
}

impl Seat for TaskSeat {
    fn await_first_turn(&self) -> bool {
        self.world.inner.sched.await_first_turn(self.index)
    }

    fn leave(&self) {
        self.world.inner.sched.leave(self.index);
    }

    fn give_up(&self) {
        self.world.inner.sched.forget_unstarted(self.index);
    }

    fn wait_word(&self, word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Woke {
        if word.load(Relaxed) != expected {
            return Woke::Woken;
        }
        let woke = self.world.inner.sched.block(self.index, word.as_ptr() as usize, deadline_ns);
        unwind_if_over();
        woke
    }

    fn wake_word(&self, word: &AtomicU32, count: u32) {
        self.world.inner.sched.wake(word.as_ptr() as usize, count);
    }

    fn pass_time(&self, duration_ns: u64) {
        let deadline_ns = self.world.now_ns().saturating_add(duration_ns);
        // No word has address 0, so only the deadline ends this.
        self.world.inner.sched.block(self.index, 0, Some(deadline_ns));
        unwind_if_over();
    }

    fn maybe_switch(&self) {
        self.world.inner.sched.maybe_switch(self.index);
    }

    fn stall(&self, place: &'static str) {
        self.world.spring(place);
        let drawn = self.world.draw_stall(place);
        if let Some(duration_ns) = drawn {
            self.reached(format!("stalled {place}"));
            self.pass_time(duration_ns);
        }
    }

    fn is_over(&self) -> bool {
        self.world.inner.sched.is_over()
    }

    fn fail(&self, text: &str) {
        self.world.inner.sched.fail(text);
    }

    fn panicked(&self, message: &str, place: &str) {
        let name = self.world.inner.sched.name_of(self.index);
        self.fail(&format!("task {name} panicked: {message} ({place})"));
    }

    fn report(&self, line: &str) {
        let line = format!("{:>12} ns {line}", self.world.now_ns());
        let mut log = self.world.inner.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() >= 400 {
            log.drain(..200);
        }
        log.push(line);
    }

    fn is_planted(&self, bug: u8) -> bool {
        self.world.inner.planted.load(Relaxed) == bug + 1
    }

    fn reached(&self, place: String) {
        let mut reached = self.world.inner.reached.lock().unwrap_or_else(PoisonError::into_inner);
        *reached.entry(place).or_default() += 1;
    }
}

/// The functions that an `Os` calls on its simulated world instead of the machine.
impl SimulatedWorld for World {
    fn new_seat(&self, task: &TaskRef) -> Arc<dyn Seat> {
        Arc::new(TaskSeat { world: self.clone(), index: self.inner.sched.add_seat(task) })
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.inner.secrets.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
    }

    fn boot_id(&self) -> [u8; 16] {
        self.surviving_boot_id()
    }

    fn create_surviving(&self, path: &Path, layout: SurvivingLayout) -> Result<SurvivingMemory, IoError> {
        self.make_surviving(path, layout)
    }

    fn read_surviving(&self, path: &Path, layout: SurvivingLayout) -> Result<SurvivingImage, IoError> {
        self.surviving_image(path, layout)
    }

    fn claim_surviving(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<Option<SurvivingClaim>, IoError> {
        self.take_surviving(path, layout)
    }

    fn names_of_surviving(&self, folder: &Path) -> Result<Vec<PathBuf>, IoError> {
        self.surviving_names_in(folder)
    }

    fn remove_surviving(&self, path: &Path) -> bool {
        self.forget_surviving(path)
    }

    fn make_surviving_folder(&self, folder: &Path) -> Result<(), IoError> {
        self.make_folder_of_surviving(folder)
    }

    fn check_surviving_folder(&self, folder: &Path) -> Result<(), IoError> {
        self.check_folder_of_surviving(folder)
    }

    fn remove_surviving_folder(&self, folder: &Path) -> bool {
        self.remove_folder_of_surviving(folder)
    }

    fn persistent_memory(
        &self,
        path: &Path,
        len_bytes: usize,
        is_new: bool,
        volume: PersistentVolume,
    ) -> Result<PersistentMemory, IoError> {
        self.open_persistent(path, len_bytes, is_new, volume)
    }

    fn remove_persistent(&self, path: &Path) {
        self.forget_persistent(path);
    }

    fn is_persistent_volume(&self, folder: &Path, volume: PersistentVolume) -> bool {
        self.has_persistent_volume(folder, volume)
    }
}
