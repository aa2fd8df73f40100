//! The keys of a live view.
//!
//! In: a key that was pressed. Out: another panel, a request to skip the point or to end the run. Limits: Ctrl-Z does nothing, because a
//! benchmark that is stopped measures its own pause.

use super::state::{ANSWER_WITHIN, LiveState, ScreenPanel, Wish};
use load::{Stop, StopReason};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::process::{Signal, getpid, kill_process};
use std::time::Instant;

/// The keys, for the page that explains them.
pub const KEYS: [(&str, &str); 6] = [
    ("1 to 5, Tab", "another panel: overview, the answer so far, points, machine, notes"),
    ("Up, Down, PgUp, PgDn", "scroll in points and notes"),
    ("s, then s again", "skip this point: what was measured is kept, a resumed run measures it"),
    ("q or Ctrl-C", "end the run and report what was measured; once more: end at once"),
    ("Ctrl-L", "redraw the screen"),
    ("?", "these lines; any key closes them"),
];

/// Does what `event` asks for. Returns whether the screen changes.
pub fn act(state: &mut LiveState, event: Event, stop: &Stop) -> bool {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => press(state, key, stop),
        Event::Key(_) => return false,
        _ => {}
    }
    true
}

fn press(state: &mut LiveState, key: KeyEvent, stop: &Stop) {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let was_helping = std::mem::replace(&mut state.is_helping, false);
    match key.code {
        KeyCode::Char('c') if is_control => end_run(state),
        KeyCode::Char('l') if is_control => state.is_torn = true,
        KeyCode::Char(_) if is_control => {}
        KeyCode::Char('q') => end_run(state),
        _ if was_helping => {}
        KeyCode::Char('?' | 'h') => state.is_helping = true,
        KeyCode::Char('s') => skip(state, stop, Instant::now()),
        KeyCode::Tab => show(state, state.panel.next()),
        KeyCode::Char(digit @ '1'..='5') => show(state, ScreenPanel::ALL[digit as usize - '1' as usize]),
        KeyCode::Up => state.scroll += 1,
        KeyCode::PageUp => state.scroll += 10,
        KeyCode::Down => state.scroll = state.scroll.saturating_sub(1),
        KeyCode::PageDown => state.scroll = state.scroll.saturating_sub(10),
        KeyCode::Esc => show(state, ScreenPanel::Overview),
        _ => {}
    }
}

fn show(state: &mut LiveState, panel: ScreenPanel) {
    (state.panel, state.scroll) = (panel, 0);
}

/// As Ctrl-C does without a view: the first time what was measured is kept, the second time ends at once.
fn end_run(state: &mut LiveState) {
    state.wish = Wish::Stop;
    let _ = kill_process(getpid(), Signal::INT);
}

/// Asks first: a key that is hit by accident must not cost an hour.
fn skip(state: &mut LiveState, stop: &Stop, now: Instant) {
    match state.wish {
        Wish::PerhapsSkip(asked) if now.saturating_duration_since(asked) <= ANSWER_WITHIN => {
            state.wish = Wish::Skip;
            stop.request(StopReason::Skipped);
        }
        Wish::None | Wish::PerhapsSkip(_) if state.is_measuring() => state.wish = Wish::PerhapsSkip(now),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::live::event::{LiveEvent, LivePlan};
    use std::collections::BTreeSet;
    use std::time::Duration;

    fn state() -> LiveState {
        let cells = ["depth 1", "depth 8"].map(|place| ("file rndrd".to_owned(), place.to_owned())).into();
        let plan = LivePlan { name: "p".into(), cells, done: BTreeSet::new(), colour: false };
        LiveState::new(plan, Instant::now())
    }

    fn press_all(state: &mut LiveState, keys: &[KeyCode], stop: &Stop) {
        keys.iter().for_each(|key| assert!(act(state, Event::Key(KeyEvent::from(*key)), stop)));
    }

    #[test]
    fn a_point_is_skipped_by_two_presses_soon_after_each_other_while_it_is_measured() {
        let (mut state, stop, s) = (state(), Stop::default(), KeyCode::Char('s'));
        press_all(&mut state, &[s, s], &stop);
        assert_eq!((state.wish, stop.reason()), (Wish::None, None), "nothing is measured yet");
        state.take(LiveEvent::PointBegan { trial: 0, label: "a".into() }, Instant::now());
        press_all(&mut state, &[s], &stop);
        let Wish::PerhapsSkip(asked) = state.wish else { panic!("it asks") };
        skip(&mut state, &stop, asked + ANSWER_WITHIN + Duration::from_millis(1));
        assert_eq!(stop.reason(), None, "the answer came too late");
        press_all(&mut state, &[s], &stop);
        assert_eq!((state.wish, stop.reason()), (Wish::Skip, Some(StopReason::Skipped)));
    }

    #[test]
    fn panels_have_numbers_and_help_closes_with_any_key() {
        let (mut state, stop) = (state(), Stop::default());
        press_all(&mut state, &[KeyCode::Char('4'), KeyCode::Tab], &stop);
        assert_eq!(state.panel, ScreenPanel::Notes);
        press_all(&mut state, &[KeyCode::Tab, KeyCode::Char('?')], &stop);
        assert!(state.panel == ScreenPanel::Overview && state.is_helping);
        press_all(&mut state, &[KeyCode::Char('2')], &stop);
        assert!(state.panel == ScreenPanel::Overview && !state.is_helping);
    }
}
