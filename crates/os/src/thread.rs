//! Threads with a name and a stack size, whose panics are values.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::patience;
use crate::seat::{self, Seat};
use crate::signal::Signal;
use crate::task::{self, TaskRef};
use crate::wait::WaitType;

/// The body of a task panicked; carries the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked(pub String);

/// The options of a new thread.
#[derive(Clone, Debug)]
pub struct SpawnOptions {
    /// As shown in `ps` (15 bytes there) and in system views.
    pub name: String,
    /// Stack in bytes.
    pub stack_bytes: usize,
}

impl SpawnOptions {
    /// A thread with 512 KB of stack.
    pub fn named(name: &str) -> SpawnOptions {
        SpawnOptions { name: name.to_owned(), stack_bytes: 512 * 1024 }
    }

    /// The same with another stack size.
    pub fn stack_bytes(mut self, stack_bytes: usize) -> SpawnOptions {
        self.stack_bytes = stack_bytes;
        self
    }
}

/// A running task. Dropping the handle lets the task run on.
pub struct JoinHandle {
    task: TaskRef,
    end: Arc<End>,
}

#[derive(Default)]
struct End {
    done: Signal,
    panic: std::sync::Mutex<Option<Panicked>>,
}

impl JoinHandle {
    /// Waits (not interruptible) until the task has ended.
    pub fn join(self) -> Result<(), Panicked> {
        let _mask = task::mask_interrupts();
        self.end.done.wait(WaitType::SLEEP_TASK, None);
        match self.end.panic.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            None => Ok(()),
            Some(panicked) => Err(panicked),
        }
    }

    /// The task, to interrupt it or to see what it waits for.
    pub fn task(&self) -> &TaskRef {
        &self.task
    }
}

/// Starts `body` on a thread, as `task`; in a simulated world with a seat there. Fails when the system has no more threads (or no memory for a stack).
pub(crate) fn spawn(
    task: TaskRef,
    seat: Option<Arc<dyn Seat>>,
    options: &SpawnOptions,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle, crate::IoError> {
    let end = Arc::new(End::default());
    let handle = JoinHandle { task: task.clone(), end: Arc::clone(&end) };
    let ticket = seat.clone();
    let parent_is_patient = patience::is_patient();
    let run = move || {
        patience::forget_parent(parent_is_patient);
        task::set_current(task);
        let Some(seat) = ticket else {
            return run_body(&end, body);
        };
        seat::run(&seat, || run_body(&end, body));
    };
    let short_name: String = options.name.chars().take(15).collect();
    let builder = std::thread::Builder::new().name(short_name).stack_size(options.stack_bytes);
    match builder.spawn(run) {
        Ok(_thread) => Ok(handle),
        Err(error) => {
            if let Some(seat) = seat {
                seat.give_up();
            }
            Err(crate::IoError::from_std(&error, format!("start thread {}", options.name)))
        }
    }
}

fn run_body(end: &End, body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        let message = panic_message(payload.as_ref());
        seat::note_panic(payload.as_ref(), &message);
        *end.panic.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Panicked(message));
    }
    end.done.set();
}

thread_local! {
    static CONTAINED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs work and returns the payload of its panic.
pub(crate) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    let before = CONTAINED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(before);
    done
}

/// Does a panic of the calling thread fail only some contained work ([`crate::Os::contain`])? For a panic hook.
pub fn is_panic_contained() -> bool {
    CONTAINED.try_with(std::cell::Cell::get).unwrap_or(false)
}

/// The text of a panic's payload.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    if let Some(text) = payload.downcast_ref::<String>() {
        return text.clone();
    }
    "a panic without text".to_owned()
}
