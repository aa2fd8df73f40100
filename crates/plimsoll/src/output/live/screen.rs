//! The terminal while a live view has it: its other screen, its keys without echo, and the way back.
//!
//! In: the terminal of the process. Out: the same terminal, as it was, however the process ends: by its own, by a panic, by a signal.
//! Limits: SIGKILL leaves the terminal as it is; `reset` helps then. A process that is stopped by SIGSTOP leaves it, too.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGABRT, SIGQUIT};
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Once, OnceLock};

/// Whether the view has the terminal.
static ENTERED: AtomicBool = AtomicBool::new(false);
/// The settings of the terminal before the view took it.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// The ways back are prepared once.
static PREPARED: Once = Once::new();

/// The other screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l";
/// Plain letters, the cursor, and the screen as it was.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// A smaller window has no room for anything.
const COLUMNS_MIN: u16 = 20;
const ROWS_MIN: u16 = 6;

/// Whether a live view can be shown: everything is on a terminal that can move its cursor, and plimsoll is in its foreground.
pub fn is_possible() -> bool {
    let is_terminal = stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal();
    let is_able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    // A job in the background would be stopped when it sets the terminal.
    let is_in_front = || tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp());
    is_terminal
        && is_able
        && is_in_front()
        && tcgetwinsize(stderr()).is_ok_and(|size| size.ws_col >= COLUMNS_MIN && size.ws_row >= ROWS_MIN)
}

pub fn enter() -> std::io::Result<()> {
    let mut raw = tcgetattr(stdin())?;
    let _ = BEFORE.set(raw.clone()); // one that is known already is the same
    PREPARED.call_once(prepare_ways_back);
    raw.make_raw();
    tcsetattr(stdin(), OptionalActions::Now, &raw)?;
    ENTERED.store(true, SeqCst);
    write_all(ENTER);
    Ok(())
}

/// Whether the view has the terminal.
pub fn is_entered() -> bool {
    ENTERED.load(SeqCst)
}

/// Gives the terminal back, once. Only system calls and atomics: a signal handler may call it.
pub fn leave() {
    if !ENTERED.swap(false, SeqCst) {
        return;
    }
    write_all(LEAVE);
    if let Some(before) = BEFORE.get() {
        let _ = tcsetattr(stdin(), OptionalActions::Now, before);
    }
}

/// A panic prints its message on the screen that stays, and a signal that ends the process at once leaves it, too.
fn prepare_ways_back() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        report(panic);
    }));
    for signal in [SIGQUIT, SIGABRT] {
        let act = move || {
            leave();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        };
        // SAFETY: the action makes system calls and uses atomics, which a signal handler may do, and ends the process.
        let _ = unsafe { signal_hook::low_level::register(signal, act) };
    }
}

fn write_all(mut bytes: &[u8]) {
    while let Ok(written @ 1..) = rustix::io::write(stderr(), bytes) {
        bytes = &bytes[written..];
    }
}
