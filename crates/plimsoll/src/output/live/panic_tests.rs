//! A panic gives the terminal back, whichever thread panics.
//!
//! In: this test program once more, on a terminal of its own. Out: what it left on that terminal, and the settings of it. Limits: a screen
//! that is drawn in the same moment may still be written after it.

use super::{LivePlan, LiveView};
use load::Stop;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::process::{Command, ExitStatus};
use std::sync::Arc;

/// Set for the program on the terminal: which thread panics.
const WHO: &str = "PLIMSOLL_TEST_PANICS";
const MESSAGE: &str = "a panic that was planned";

/// What a program left on its terminal.
struct Left {
    status: ExitStatus,
    shown: String,
    modes: LocalModes,
}

#[test]
fn a_panic_in_any_thread_gives_the_terminal_back_and_prints_its_message_there() {
    if let Ok(who) = std::env::var(WHO) {
        return panic_on_terminal(&who);
    }
    for (who, code) in [("the run", 101), ("another thread", 0)] {
        let (left, before) = run_on_terminal(who);
        let shown = &left.shown;
        assert_eq!(left.status.code(), Some(code), "{who}: {shown}");
        let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{who}: no {text:?} in {shown:?}"));
        let (taken, given, message) = (at("\x1b[?1049h"), at("\x1b[?1049l"), at(MESSAGE));
        assert!(taken < given && given < message, "{who}: {shown:?}");
        assert_eq!(shown.matches("\x1b[?1049l").count(), 1, "{who}: it is given back once: {shown:?}");
        assert_eq!(left.modes, before, "{who}: the settings are as before");
        assert!(before.contains(LocalModes::ICANON | LocalModes::ECHO));
    }
}

/// Opens the view, and panics in the thread `who`.
fn panic_on_terminal(who: &str) {
    let cells = vec![("file rndrd".to_owned(), "depth 1".to_owned())];
    let plan = LivePlan { name: "p".into(), cells, done: BTreeSet::new(), colour: false };
    let view = LiveView::open(plan, Arc::new(Stop::default()), 80).expect("there is a terminal");
    let is_raw = || !tcgetattr(std::io::stdin()).expect("it is a terminal").local_modes.contains(LocalModes::ICANON);
    assert!(is_raw() && view.is_open(), "the view has the terminal");
    match who {
        "the run" => panic_as_planned(),
        _ => drop(std::thread::spawn(panic_as_planned).join().expect_err("it panics")),
    }
    assert!(!is_raw() && !view.is_open(), "the terminal is given back while the run goes on");
}

fn panic_as_planned() {
    panic!("{MESSAGE}");
}

/// Runs this test on a terminal of its own. Returns what is left there, and the settings of the terminal before.
fn run_on_terminal(who: &str) -> (Left, LocalModes) {
    let (mut person, tty) = terminal();
    let modes = |person: &File| tcgetattr(person).expect("it is a terminal").local_modes;
    let before = modes(&person);
    let name = concat!(module_path!(), "::a_panic_in_any_thread_gives_the_terminal_back_and_prints_its_message_there");
    let (_, name) = name.split_once("::").expect("a test is in its crate");
    let mut child = {
        let mut command = Command::new(std::env::current_exe().expect("a program has a path"));
        command.args(["--exact", name, "--nocapture"]).env(WHO, who).env("TERM", "xterm");
        let [stdin, stdout] = [&tty, &tty].map(|tty| tty.try_clone().expect("a copy"));
        command.stdin(stdin).stdout(stdout).stderr(tty).spawn().expect("it starts")
    };
    // It ends with an error when the program has closed its end.
    let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = person.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
    }
    let status = child.wait().expect("it ends");
    let shown = String::from_utf8_lossy(&shown).into_owned();
    (Left { status, shown, modes: modes(&person) }, before)
}

/// A terminal of 80 columns and 24 rows: the side of the person, and the side of the program.
fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("it can be used");
    tcsetwinsize(&person, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).expect("it has a size");
    let name = ptsname(&person, Vec::new()).expect("a name").into_string().expect("of letters");
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    let tty = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).expect("its other side");
    (person.into(), tty.into())
}
