//! Waits with an end: how long something may take, and the looks at it until then.
//!
//! In: a limit; a look that finds something or nothing; a program. Out: what was found, or that the time is over. Limits: what happens between
//! two looks is seen at the second, 5 ms later if nothing else is asked; of a look that does not return nothing is known here.
//!
//! What waits for another process, thread or file does so here, or by a call that has a limit of its own: `cargo xtask tidy` finds what does not
//! (`xtask/src/tidy/waits.rs`). Files that a user names are opened by `model::open_regular`, which waits for nobody.

mod interruption;
mod program;

pub use interruption::{Heeding, has_cut_a_wait, heed};
pub use program::{end_child, end_group, has_ended, output_within};

use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a process that is on its way out, or back, is given.
pub const MOMENT: Duration = Duration::from_secs(1);

/// What is removed within this time after Ctrl-C, by a server that answers.
const REMOVAL_AFTER_INTERRUPTION: Duration = Duration::from_secs(10);

/// The moment at which something must be done.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    allowed: Duration,
    /// Whether it comes sooner after Ctrl-C.
    heeds_interruption: bool,
}

/// Why nothing is waited for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOver {
    /// It took longer than this, which it was allowed.
    Late(Duration),
    /// The user wants the end.
    Interrupted,
}

impl Deadline {
    /// The moment when `allowed` has passed from now on.
    pub fn after(allowed: Duration) -> Deadline {
        Deadline { at: Instant::now() + allowed, allowed, heeds_interruption: false }
    }

    /// The same, or sooner if the user wants the end.
    pub fn unless_interrupted(allowed: Duration) -> Deadline {
        Deadline { heeds_interruption: true, ..Deadline::after(allowed) }
    }

    /// The same for a removal. A user who has pressed Ctrl-C before wants it all the same.
    pub fn for_removal(allowed: Duration) -> Deadline {
        match interruption::time_left(Duration::ZERO) {
            None => Deadline::unless_interrupted(allowed),
            Some(_) => Deadline::after(allowed.min(REMOVAL_AFTER_INTERRUPTION)),
        }
    }

    /// All the time that it may take.
    pub fn allowed(&self) -> Duration {
        self.allowed
    }

    /// The time that is left.
    ///
    /// # Errors
    /// If there is none.
    pub fn time_left(&self) -> Result<Duration, WaitOver> {
        let left = self.at.saturating_duration_since(Instant::now());
        let hurried = interruption::time_left(self.allowed.saturating_sub(left));
        match hurried.filter(|hurried| self.heeds_interruption && *hurried < left) {
            Some(Duration::ZERO) => {
                interruption::note_cut();
                Err(WaitOver::Interrupted)
            }
            Some(hurried) => Ok(hurried),
            None if left.is_zero() => Err(WaitOver::Late(self.allowed)),
            None => Ok(left),
        }
    }

    /// How long one wait may take before it looks again at the time that is left.
    ///
    /// # Errors
    /// As of [`time_left`](Self::time_left).
    pub fn wait_at_most(&self) -> Result<Duration, WaitOver> {
        let left = self.time_left()?;
        let looks = self.heeds_interruption && interruption::is_heeded();
        Ok(if looks { left.min(interruption::LOOK_EVERY) } else { left })
    }

    /// What `look` finds first; `None` if it finds nothing in time. It looks once in any case.
    fn find<T>(self, look_every: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            let found = look();
            if found.is_some() {
                return found;
            }
            std::thread::sleep(self.time_left().ok()?.min(look_every));
        }
    }
}

/// What `look` finds first; `None` if it finds nothing for `at_most`. It looks once in any case.
pub fn poll_until<T>(at_most: Duration, look: impl FnMut() -> Option<T>) -> Option<T> {
    Deadline::after(at_most).find(LOOK_EVERY, look)
}

/// The same for a look that costs something: there is one each `every`.
pub fn poll_each<T>(every: Duration, at_most: Duration, look: impl FnMut() -> Option<T>) -> Option<T> {
    Deadline::after(at_most).find(every, look)
}

/// The same for what a user who has pressed Ctrl-C does not wait for: it then ends soon, as the waits for a server's answers do.
pub fn poll_until_interrupted<T>(at_most: Duration, look: impl FnMut() -> Option<T>) -> Option<T> {
    Deadline::unless_interrupted(at_most).find(LOOK_EVERY, look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_ends_a_wait_that_heeds_it_and_no_other() {
        let _heeding = heed(|| Some(Duration::from_secs(2)));
        let began = Instant::now();
        assert_eq!(poll_until_interrupted(Duration::from_secs(600), || None::<()>), None);
        assert!(began.elapsed() < Duration::from_secs(300), "it ends long before its time");
        assert!(has_cut_a_wait());
        assert_eq!(Deadline::unless_interrupted(Duration::from_secs(600)).time_left(), Err(WaitOver::Interrupted));
        assert!(Deadline::after(Duration::from_secs(600)).time_left().is_ok());
        let removal = Deadline::for_removal(Duration::from_secs(600));
        assert!(removal.time_left().is_ok_and(|left| left <= REMOVAL_AFTER_INTERRUPTION));
        let mut looks = 0;
        let third = poll_until(Duration::from_secs(600), || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(third, Some(3));
    }

    #[test]
    fn it_looks_once_without_time_and_again_until_something_is_found() {
        let mut looks = 0;
        let mut nth = |found_at: u32, at_most| {
            looks = 0;
            let found = poll_until(at_most, || {
                looks += 1;
                (looks == found_at).then_some(looks)
            });
            (found, looks)
        };
        assert_eq!(nth(1, Duration::ZERO), (Some(1), 1));
        assert_eq!(nth(2, Duration::ZERO), (None, 1));
        assert_eq!(nth(3, Duration::from_secs(600)), (Some(3), 3));
        assert_eq!(Deadline::after(Duration::ZERO).time_left(), Err(WaitOver::Late(Duration::ZERO)));
    }
}
