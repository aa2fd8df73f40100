//! Ctrl-C and its kin: once ends the load and keeps what was measured, twice ends the process at once.
//!
//! In: the signals of the process. Out: a request to stop, and the exit code that belongs to the signal.
//! Limits: nothing is done in the handler but to set flags. What an ended process leaves is removed by the next start.

use crate::exit::{Exit, Fault};
use load::{Stop, StopReason};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};

/// The signal that came, 0 for none.
static CAME: AtomicI32 = AtomicI32::new(0);

/// From now on signals end the load.
pub fn listen(stop: &Arc<Stop>) -> Result<(), Fault> {
    let cannot = |error| Fault::new(Exit::Internal, format!("cannot listen to signals: {error}"));
    let second = Arc::new(AtomicBool::new(false));
    for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated), (SIGHUP, Exit::Terminated)] {
        let code = i32::from(exit.code());
        signal_hook::flag::register_conditional_shutdown(signal, code, second.clone()).map_err(cannot)?;
        let (stop, second) = (stop.clone(), second.clone());
        let act = move || {
            CAME.store(signal, SeqCst);
            second.store(true, SeqCst);
            stop.request(StopReason::Interrupted);
        };
        // SAFETY: the action stores to atomics only, which is allowed in a signal handler.
        unsafe { signal_hook::low_level::register(signal, act) }.map_err(cannot)?;
    }
    // A file that may not grow is a failed write, which is counted, and no reason to die: with any handler it returns EFBIG.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(cannot)?;
    Ok(())
}

/// Whether a signal came: a request to stop that came after another reason to stop is told by nothing else.
pub fn came() -> bool {
    CAME.load(SeqCst) != 0
}

/// How a process ends that a signal has ended.
pub fn exit() -> Exit {
    if CAME.load(SeqCst) == SIGINT { Exit::Interrupted } else { Exit::Terminated }
}
