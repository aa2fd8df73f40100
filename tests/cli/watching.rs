//! The live view on a real terminal: its page, its keys, and the terminal afterwards.
//!
//! In: the binary in a window of tmux. Out: what the window shows. Limits: without tmux nothing is tested, and colours are not looked at.

use crate::lab::{Lab, has_ended, wait_until};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than a screen takes to show anything, also on a machine with other work.
const WAITS_AT_MOST: Duration = Duration::from_secs(120);

/// Three points of a minute each on an engine that does nothing, whose clients mostly sleep.
const SWEEP: &str = "file --engine null --service 1ms --interval 100ms --clients 1,2,3 --time 60s --no-report";

/// A shell in a window of its own.
struct Window {
    lab: Lab,
}

impl Window {
    /// A window of so many columns and rows; `None` without tmux.
    fn open(columns: u16, rows: u16) -> Option<Window> {
        let window = Window { lab: Lab::new() };
        let (x, y) = (columns.to_string(), rows.to_string());
        let mut start = Command::new("tmux");
        start.current_dir(window.lab.path()).env("LC_ALL", "C.UTF-8").env("PS1", "$ ").env("ENV", "").arg("-S");
        let shell = ["-u", "-f", "/dev/null", "new-session", "-d", "-x", &x, "-y", &y, "sh"];
        match start.arg(window.socket()).args(shell).status() {
            Ok(status) if status.success() => Some(window),
            _ => {
                eprintln!("skipped: needs tmux");
                None
            }
        }
    }

    fn socket(&self) -> std::path::PathBuf {
        self.lab.path().join("tmux")
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux").arg("-S").arg(self.socket()).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// What is on the screen; with `scrollback` also what was on it before, with lines whole that were broken.
    fn shown(&self, scrollback: bool) -> String {
        self.tmux(if scrollback { &["capture-pane", "-p", "-J", "-S", "-200"] } else { &["capture-pane", "-p"] })
    }

    fn wait_for(&self, text: &str) {
        let until = Instant::now() + WAITS_AT_MOST;
        while !self.shown(false).contains(text) {
            assert!(Instant::now() < until, "`{text}` did not come:\n{}", self.shown(true));
            std::thread::sleep(Duration::from_millis(50)); // the real time of another process: there is nothing to fake
        }
    }

    /// Runs plimsoll in the shell, and `after` when it has ended.
    fn run(&self, arguments: &str, after: &str) {
        self.keys(&[&format!("'{}' {arguments}; {after}", env!("CARGO_BIN_EXE_plimsoll")), "Enter"]);
    }

    /// The number of the process that the shell has started.
    fn child(&self) -> String {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        children.split_whitespace().next().expect("plimsoll runs").to_owned()
    }

    /// The terminal shows its usual screen and its cursor, and edits lines again.
    fn assert_restored(&self) {
        let state = self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        assert_eq!(state.trim(), "0 1", "the screen: {}", self.shown(true));
        // The screen may show what was checked before, so each check has a mark of its own.
        let mark = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
        self.keys(&[&format!("stty -a | grep -c -- '-icanon\\|-echo ' | sed s/^/raw=/; echo {mark}"), "Enter"]);
        self.wait_for(&format!("raw=0\n{mark}"));
    }

    fn states(&self) -> Vec<Value> {
        let shown = self.lab.json(&["show", "last"]);
        shown["points"].as_array().unwrap().iter().map(|point| point["state"].clone()).collect()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn keys_show_panels_and_skip_a_point_and_a_sigterm_gives_the_terminal_back() {
    let Some(window) = Window::open(80, 24) else { return };
    window.run(&format!("{SWEEP} --details"), "echo exit=$?");
    window.wait_for("point 1 of 3");
    window.wait_for("max ");
    window.keys(&["2"]);
    window.wait_for("no point is over yet");
    window.keys(&["?"]);
    window.wait_for("s, then s again");
    window.keys(&["1", "s"]);
    window.wait_for("s again skips this point");
    window.keys(&["s"]);
    window.wait_for("point 2 of 3");
    window.keys(&["3"]);
    window.wait_for("skipped at your request");
    let sent = Command::new("kill").args(["-s", "TERM", &window.child()]).status().unwrap();
    assert!(sent.success());
    window.wait_for("exit=143");
    let all = window.shown(true);
    assert!(all.contains("rate 95 % CI     p50     p99     max   validity"), "{all}");
    assert!(all.contains("`plimsoll run --resume last`"), "a command is in one line: {all}");
    window.assert_restored();
    assert_eq!(window.states(), ["partial", "partial"]);
}

#[test]
fn q_ends_the_run_and_a_second_q_ends_at_once_with_the_terminal_as_it_was() {
    let Some(window) = Window::open(40, 10) else { return };
    window.run(SWEEP, "echo exit=$?");
    window.wait_for("file 1/3");
    window.wait_for("p99 ");
    window.keys(&["q"]);
    window.wait_for("exit=130");
    window.assert_restored();
    // An operation of half an hour holds up the end of the run for a moment, in which the second request comes.
    window.run("file --engine null --service 30m --time 60m --no-report", "echo again=$?");
    window.wait_for("run 0:01");
    window.keys(&["q"]);
    window.wait_for("ending the run");
    window.keys(&["q"]);
    window.wait_for("again=130");
    window.assert_restored();
}

#[test]
fn a_terminal_that_is_closed_ends_the_run_and_keeps_what_was_measured() {
    let Some(window) = Window::open(80, 24) else { return };
    window.run(SWEEP, "true");
    window.wait_for("max ");
    let plimsoll = window.child().parse().expect("the number of a process");
    window.tmux(&["kill-server"]);
    wait_until("plimsoll ends", || has_ended(plimsoll));
    assert_eq!(window.states(), ["partial"]);
}

#[test]
fn on_a_terminal_lines_are_printed_if_they_are_asked_for() {
    let Some(window) = Window::open(80, 24) else { return };
    window.run(&format!("--plain {}", SWEEP.replace("60s", "1500ms")), "echo exit=$?");
    window.wait_for("exit=0");
    let all = window.shown(true);
    assert!(all.contains("[1/3] ") && all.contains("[3/3] "), "{all}");
    assert_eq!(all.matches("max   validity").count(), 1, "the rows of points that ended, and no table again:\n{all}");
}
