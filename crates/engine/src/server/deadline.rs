//! Waits for a process with a deadline, by looking at it again and again.
//!
//! In: a look that finds something or nothing. Out: what it found, or nothing if it took too long. Limits: it looks every 5 ms; only a
//! parent could wait for the end of a process without looking, and not with a deadline.

use super::answers::Deadline;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a process that is on its way out, or back, is given.
pub const MOMENT: Duration = Duration::from_secs(1);

/// What `look` finds first; `None` if it finds nothing for `at_most`. It looks once in any case.
pub fn poll_until<T>(at_most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + at_most;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= until {
            return found;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The same for what a user who has pressed Ctrl-C does not wait for: it then ends soon, as the waits for a server's answers do.
pub fn poll_until_interrupted<T>(at_most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Deadline::from_now(at_most);
    let ended = poll_until(at_most, || match look() {
        None if deadline.time_left().is_err() => Some(None),
        found => found.map(Some),
    });
    ended.flatten()
}

#[cfg(test)]
mod tests {
    use super::super::interruption;
    use super::*;
    use load::{Stop, StopReason};
    use std::sync::Arc;

    #[test]
    fn an_interruption_ends_a_wait_that_heeds_it_and_no_other() {
        let stop = Arc::<Stop>::default();
        let _heeding = interruption::heed(&stop);
        stop.request(StopReason::Interrupted);
        let began = Instant::now();
        assert_eq!(poll_until_interrupted(Duration::from_secs(600), || None::<()>), None);
        assert!(began.elapsed() < Duration::from_secs(300), "it ends long before its time");
        assert!(interruption::has_cut_a_wait());
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
    }
}
