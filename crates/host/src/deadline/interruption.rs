//! A user who wants the end waits for no silent server: what Ctrl-C means for the waits of the thread that starts and stops instances.
//!
//! In: how long ago the user asked. Out: the time that waits of this thread have left. Limits: the request is known to the thread that
//! called [`heed`], so a client's thread does not see it; a wait looks for it 20 times a second.
//!
//! It is known by thread because the waits are deep in the protocols of the servers: all of them go through
//! [`Deadline::time_left`](super::Deadline::time_left), and none of the functions in between has to pass it on.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::time::Duration;

/// All waits of a thread end so long after Ctrl-C: what was measured is still to be shown within 2 s.
const WAITS_AT_MOST: Duration = Duration::from_millis(1_600);

/// A wait that Ctrl-C finds ends so soon after it: there is time left to cancel what the server does, and to clean up.
const FOUND_WAIT_AT_MOST: Duration = Duration::from_millis(500);

/// Between two looks at the request to stop.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long ago the user asked for the end; `None` if that was not asked for.
type SinceInterruption = Box<dyn Fn() -> Option<Duration>>;

thread_local! {
    static HEEDED: RefCell<Option<SinceInterruption>> = const { RefCell::new(None) };
    static WAS_CUT: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, waits of this thread heed a request to stop.
#[must_use = "nothing is heeded any more when this is dropped"]
pub struct Heeding {
    /// It belongs to its thread.
    of_thread: PhantomData<*const ()>,
}

/// From now on waits of this thread end soon after an interruption, which was `since_interruption` ago.
pub fn heed(since_interruption: impl Fn() -> Option<Duration> + 'static) -> Heeding {
    HEEDED.set(Some(Box::new(since_interruption)));
    WAS_CUT.set(false);
    Heeding { of_thread: PhantomData }
}

impl Drop for Heeding {
    fn drop(&mut self) {
        HEEDED.set(None);
    }
}

/// Whether an interruption has ended a wait of this thread, so that what failed since may have failed for that reason.
pub fn has_cut_a_wait() -> bool {
    WAS_CUT.get()
}

/// Whether waits of this thread have to look for an interruption.
pub(super) fn is_heeded() -> bool {
    HEEDED.with_borrow(Option::is_some)
}

/// The time that a wait of this thread has left, which has lasted for `waited`, after an interruption; `None` if there was none.
pub(super) fn time_left(waited: Duration) -> Option<Duration> {
    let since = HEEDED.with_borrow(|since| since.as_ref()?())?;
    let at_most = if waited > since { FOUND_WAIT_AT_MOST } else { WAITS_AT_MOST };
    Some(at_most.saturating_sub(since))
}

/// A wait ended because of an interruption.
pub(super) fn note_cut() {
    WAS_CUT.set(true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn waits_have_little_time_left_after_an_interruption_and_only_while_it_is_heeded() {
        let asked = Rc::new(Cell::new(None));
        let new_wait = || time_left(Duration::ZERO);
        assert!(!is_heeded() && new_wait().is_none());
        let of_user = asked.clone();
        let heeding = heed(move || of_user.get());
        assert!(is_heeded() && new_wait().is_none());
        asked.set(Some(Duration::from_millis(100)));
        assert_eq!(new_wait(), Some(Duration::from_millis(1_500)));
        assert_eq!(time_left(Duration::from_secs(3_600)), Some(Duration::from_millis(400)));
        assert!(
            std::thread::spawn(|| time_left(Duration::ZERO)).join().unwrap().is_none(),
            "another thread heeds nothing"
        );
        drop(heeding);
        assert!(!is_heeded() && new_wait().is_none());
    }
}
