//! Patience: one of many threads that wake up together does not preempt the thread that runs on its processor.
//!
//! A log flush wakes all of its waiters at once. Each would preempt the one before it in the middle of its work; with
//! many, processors do little but switch. Linux's SCHED_BATCH leaves a thread its share of the processors and disables only
//! wakeup preemption. It needs no privilege. With few waiters it would cost latency on a busy machine, so it is on only with many.

use std::cell::Cell;

use crate::seat;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// As the system made the thread.
    Off,
    /// We have put it into SCHED_BATCH.
    On,
    /// The process was started in another class (or the system refuses ours): left unchanged.
    Foreign,
}

thread_local! {
    static PATIENCE: Cell<Patience> = const { Cell::new(Patience::Off) };
}

/// Makes the calling thread patient, or as it was before. Cheap when nothing changes; nothing in simulation.
#[inline]
pub fn set_patient(patient: bool) {
    let now = PATIENCE.get();
    if (now == Patience::On) != patient && now != Patience::Foreign {
        change(patient);
    }
}

/// True while the calling thread is patient.
pub(crate) fn is_patient() -> bool {
    PATIENCE.get() == Patience::On
}

/// A new thread whose parent was patient at its birth has inherited the class; this resets it.
pub(crate) fn forget_parent(was_patient: bool) {
    if was_patient {
        set_class(libc::SCHED_OTHER);
    }
}

#[cold]
fn change(patient: bool) {
    if seat::baton().is_some() {
        return;
    }
    // SAFETY: asks for the class of the calling thread.
    let class = unsafe { libc::sched_getscheduler(0) };
    let expected = if patient { libc::SCHED_OTHER } else { libc::SCHED_BATCH };
    let changed = class == expected && set_class(if patient { libc::SCHED_BATCH } else { libc::SCHED_OTHER });
    PATIENCE.set(match (changed, patient) {
        (false, _) => Patience::Foreign,
        (true, true) => Patience::On,
        (true, false) => Patience::Off,
    });
}

fn set_class(class: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters outlive the call, which concerns the calling thread only.
    unsafe { libc::sched_setscheduler(0, class, &parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Os;

    fn class() -> i32 {
        // SAFETY: asks for the class of the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_thread_is_patient_until_it_is_not_and_its_children_are_not() {
        let os = Os::real();
        let child_os = os.clone();
        let before = class();
        let thread = os.spawn("patience", move || {
            set_patient(true);
            if before != libc::SCHED_OTHER {
                // Started in another class: the class stays.
                assert_eq!(class(), before);
                return;
            }
            assert_eq!((class(), is_patient()), (libc::SCHED_BATCH, true));
            let child =
                child_os.spawn("child", || assert_eq!((class(), is_patient()), (libc::SCHED_OTHER, false)));
            assert_eq!(child.join(), Ok(()));
            set_patient(false);
            assert_eq!((class(), is_patient()), (libc::SCHED_OTHER, false));
        });
        assert_eq!(thread.join(), Ok(()));
    }

    #[test]
    fn a_class_chosen_by_somebody_else_stays() {
        let thread = Os::real().spawn("foreign", || {
            assert!(set_class(libc::SCHED_IDLE), "everybody may be idle");
            set_patient(true);
            assert_eq!(class(), libc::SCHED_IDLE);
            set_patient(false);
            assert_eq!(class(), libc::SCHED_IDLE);
        });
        assert_eq!(thread.join(), Ok(()));
    }
}
