//! Pages of a live view in three sizes, as they are on the screen.
//!
//! In: the events of a run. Out: the text of the page, compared with the files in `pages/` (`UPDATE_GOLDEN=1` writes them). Limits: tones are
//! not compared.

use super::event::{CellMark, LiveEvent, LivePlan, Note};
use super::page::paint_with;
use super::state::{LiveState, ScreenPanel, SoFar, Wish};
use super::words::Looks;
use crate::output::progress::machine::{CpuUse, DiskCeilings, DiskUse, MachineUse};
use crate::output::progress::sums::{ResponseTimes, Second};
use analysis::Severity;
use model::{Nanos, Phase};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

const UNICODE: Looks = Looks { colour: true, is_unicode: true };

/// The cells of the plan `quick`.
fn cells() -> Vec<(String, String)> {
    let sweep = |group: &str, places: &[&str]| {
        places.iter().map(|place| (group.to_owned(), (*place).to_owned())).collect::<Vec<_>>()
    };
    [
        sweep("file rndrd", &["depth 1", "depth 8", "depth 32"]),
        sweep("file rndwr", &["depth 1"]),
        sweep("sqlite l.i1 indexes 0", &[""]),
        sweep("sqlite l.i1 indexes 3", &[""]),
        sweep("fjall l.i1 indexes 0", &[""]),
        sweep("fjall drain indexes 0", &[""]),
        sweep("sqlite oltp", &["clients 1", "clients 4", "clients 16"]),
    ]
    .concat()
}

fn second(nth: u64) -> Second {
    let cpu = CpuUse { engine: None, plimsoll: 0.62, is_embedded: true, others: 0.031, steal: 0.004, idle: 0.34 };
    let disk = DiskUse {
        reads_per_s: 13_500.0,
        writes_per_s: 40.0,
        read_bytes_per_s: 55.2e6,
        write_bytes_per_s: 0.6e6,
        busy: 0.82,
    };
    let p99_ns = if nth == 30 { 3_790_000 } else { 120_000 + 1_000 * (nth % 7) };
    Second {
        ops_per_s: 14_000.0 + 300.0 * (nth % 5) as f64,
        noun: "ops",
        failed: 0,
        times: Some(ResponseTimes { p50_ns: 67_700, p99_ns, max_ns: p99_ns + 1_000 }),
        machine: Some(MachineUse { cpu: Some(cpu), disk: Some(disk) }),
    }
}

/// In the fifth point, 3 seconds into its run, after 41 in all. Returns the state and the time.
fn in_the_middle() -> (LiveState, Instant) {
    let now = Instant::now();
    let (began, phase_began) = (now - Duration::from_secs(41), now - Duration::from_millis(3_400));
    let plan = LivePlan { name: "quick".into(), cells: cells(), done: BTreeSet::new(), colour: true };
    let mut state = LiveState::new(plan, began);
    let left = "at least 0:32 left".to_owned();
    state.take(
        LiveEvent::Disk(DiskCeilings { reads: vec![(4096.0, 17_000.0)], writes: vec![(4096.0, 16_000.0)] }),
        began,
    );
    for (trial, mark) in
        [CellMark::Valid, CellMark::Valid, CellMark::Indicative, CellMark::Skipped].into_iter().enumerate()
    {
        state.take(LiveEvent::PointBegan { trial, label: format!("point {trial}") }, began);
        (0..10).for_each(|nth| {
            let second = Box::new(second(10 * trial as u64 + nth));
            state.take(LiveEvent::Second { second, left: left.clone() }, began);
        });
        state.take(LiveEvent::Marked { trial, mark }, began);
    }
    let warning = Note {
        severity: Some(Severity::Warning),
        text: "file rndrd depth 32: the throughput is known only to ±12 %".into(),
    };
    state.take(LiveEvent::Note(warning), began);
    state.take(LiveEvent::note("sqlite l.i1 indexes 0: the server was restarted".into()), began);
    state.take(LiveEvent::PointBegan { trial: 4, label: "sqlite l.i1 indexes 0".into() }, began);
    let planned = Some(Nanos::from_secs(10));
    state.take(LiveEvent::PhaseBegan { phase: Phase::Run, planned, left: left.clone() }, phase_began);
    (0..3).for_each(|nth| {
        state.take(LiveEvent::Second { second: Box::new(second(40 + nth)), left: left.clone() }, now);
    });
    (state, now)
}

/// The page as text, a line for each line of the screen, without spaces at their ends.
fn shown(looks: Looks, state: &LiveState, now: Instant, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| paint_with(looks, state, now, frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

fn assert_page(name: &str, page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/output/live/pages").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, page).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    assert!(page == expected, "{name}: expected\n{expected}\nbut it is\n{page}");
}

#[test]
fn the_overview_fits_terminals_of_three_sizes() {
    let (state, now) = in_the_middle();
    for (width, height) in [(40, 10), (80, 24), (120, 40)] {
        assert_page(&format!("{width}x{height}"), &shown(UNICODE, &state, now, width, height));
    }
}

#[test]
fn the_machine_has_a_panel_and_the_keys_are_explained() {
    let (mut state, now) = in_the_middle();
    state.panel = ScreenPanel::Machine;
    assert_page("machine", &shown(UNICODE, &state, now, 80, 24));
    state.is_helping = true;
    assert_page("keys", &shown(UNICODE, &state, now, 80, 24));
}

#[test]
fn the_answer_so_far_has_a_panel() {
    let (mut state, now) = in_the_middle();
    state.panel = ScreenPanel::Answer;
    assert!(shown(UNICODE, &state, now, 80, 24).contains("no point is over yet"));
    let lines = vec!["Which one?".to_owned(), String::new(), "SQLite does 1.6 times as many.".to_owned()];
    state.answer = SoFar { points: 4, width: 80, lines };
    let page = shown(UNICODE, &state, now, 80, 24);
    let shown: Vec<&str> = page.lines().skip(3).take(5).collect();
    assert_eq!(shown, ["so far, of 4 points", "", "Which one?", "", "SQLite does 1.6 times as many."]);
}

#[test]
fn a_terminal_without_utf_8_gets_ascii() {
    let (mut state, now) = in_the_middle();
    state.notes.clear();
    let looks = Looks { colour: false, is_unicode: false };
    for panel in ScreenPanel::ALL {
        state.panel = panel;
        let page = shown(looks, &state, now, 80, 24);
        assert!(page.is_ascii(), "{page}");
    }
}

#[test]
fn every_panel_can_be_drawn_in_any_size_and_at_any_time() {
    let (mut state, now) = in_the_middle();
    let empty = LivePlan { name: "p".into(), cells: cells(), done: BTreeSet::new(), colour: false };
    let empty = LiveState::new(empty, now);
    for (width, height) in [(1, 1), (20, 6), (59, 12), (60, 7), (61, 9), (80, 10), (200, 60)] {
        for panel in ScreenPanel::ALL {
            state.panel = panel;
            for wish in [Wish::None, Wish::PerhapsSkip(now), Wish::Skip, Wish::Stop] {
                state.wish = wish;
                let page = shown(UNICODE, &state, now, width, height);
                assert_eq!(page.lines().count(), usize::from(height), "{page}");
            }
        }
        shown(UNICODE, &empty, now, width, height);
    }
}

#[test]
fn a_key_that_was_pressed_is_answered_in_the_last_line() {
    let (mut state, now) = in_the_middle();
    let mut foot = |wish| {
        state.wish = wish;
        shown(UNICODE, &state, now, 80, 24).lines().last().unwrap().to_owned()
    };
    assert!(foot(Wish::None).starts_with("1 overview  2 answer  3 points  4 machine  5 notes"));
    assert_eq!(foot(Wish::PerhapsSkip(now)), "s again skips this point; what was measured is kept");
    assert!(foot(Wish::PerhapsSkip(now - Duration::from_secs(6))).starts_with("1 overview"), "the question is over");
    assert!(foot(Wish::Stop).starts_with("ending the run"));
}

#[test]
fn notes_scroll_from_the_newest_back() {
    let (mut state, now) = in_the_middle();
    (0..40).for_each(|nth| state.take(LiveEvent::note(format!("note {nth}")), now));
    state.panel = ScreenPanel::Notes;
    let line = |state: &LiveState, nth| shown(UNICODE, state, now, 80, 24).lines().nth(nth).unwrap().to_owned();
    assert_eq!([line(&state, 3), line(&state, 22)], ["note 20", "note 39"]);
    state.scroll = 5;
    assert_eq!(line(&state, 22), "note 34");
    state.scroll = 500;
    assert!(line(&state, 3).starts_with("warning: file rndrd depth 32"));
}

#[test]
fn a_first_look_fills_the_overview_and_stays_among_the_notes() {
    let (mut state, now) = in_the_middle();
    let lines = ["First look after 8.00 s of 80.0 s", " ops/s  sqlite", " 1         910", " 1         910"];
    state.take(LiveEvent::FirstLook(lines.map(str::to_owned).into()), now);
    assert_eq!(state.panel, ScreenPanel::Notes);
    let page = shown(UNICODE, &state, now, 80, 24);
    assert_eq!(page.matches("1         910").count(), 2, "{page}");
    assert!(page.contains("First look after 8.00 s of 80.0 s") && page.contains("ops/s  sqlite"), "{page}");
    let last: Vec<String> = state.scrollback(80).into_iter().filter(|line| line.starts_with("First look")).collect();
    assert_eq!(last.len(), 1);
    state.panel = ScreenPanel::Machine;
    state.take(LiveEvent::FirstLook(vec!["First look".to_owned()]), now);
    assert_eq!(state.panel, ScreenPanel::Machine, "who looks at something else is left alone");
}
