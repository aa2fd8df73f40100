//! The way to the bus at the beginning: a launcher may start the bus, the agents and the coordinator at the same time.
//!
//! In: a link, and how long to wait. Out: a server that answers and has streams. Limits: only one that cannot be reached, or is still starting, is
//! waited for; what it refuses is an error at once.

use crate::error::RunnerError;
use crate::events::{RunObserver, note};
use bus::BusLink;
use load::Stop;
use std::time::{Duration, Instant};

/// How often a process that waits looks around.
pub(super) const LOOK_EACH: Duration = Duration::from_millis(200);

/// Waits until the bus answers, for at most `wait`.
///
/// # Errors
/// If it does not come, is no bus, is too old, or refuses the login.
pub(super) fn reach_bus(
    link: &mut BusLink,
    wait: Duration,
    stop: &Stop,
    observer: &mut dyn RunObserver,
) -> Result<(), RunnerError> {
    let (since, mut is_noted) = (Instant::now(), false);
    loop {
        match link.ask(|bus| bus.check_version()) {
            Ok(()) => return Ok(()),
            Err(error) if !error.is_away() || since.elapsed() >= wait => return Err(error.into()),
            Err(_) if is_noted => {}
            Err(error) => {
                note(observer, format_args!("{error}; waiting for it for up to {} s", wait.as_secs()));
                is_noted = true;
            }
        }
        if let Some(reason) = stop.reason() {
            return Err(RunnerError::Stopped(reason));
        }
        std::thread::sleep(LOOK_EACH);
    }
}
