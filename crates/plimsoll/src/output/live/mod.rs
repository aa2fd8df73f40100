//! The screen that shows a run while it is measured.
//!
//! In: what the run is about, the events of its progress, keys. Out: a page on the other screen of the terminal, drawn by a thread of its
//! own at most four times a second; requests to skip a point or to end the run; what is over as lines when the view closes. Limits: it
//! needs a terminal and its foreground. Events wait in a queue of bounded length, so that a terminal that blocks cannot hold up the run:
//! the oldest figures are dropped then.

mod chart;
mod event;
mod grid;
mod keys;
mod machine_rows;
mod page;
#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod panic_tests;
mod queue;
pub mod screen;
mod state;
mod words;

pub use event::{CellMark, EndedPoint, LiveEvent, LivePlan, Note};

use load::Stop;
use queue::EventQueue;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self as terminal_event, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use state::LiveState;
use std::io::{BufWriter, Stderr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The least time between two drawings.
const DRAW_EVERY: Duration = Duration::from_millis(250);
/// Without any news the clock still goes on.
const DRAW_AT_LEAST: Duration = Duration::from_secs(1);

/// The view of a run, on the side of the thread that records. When it is dropped, it gives the screen back and prints what is over: notes,
/// and the row of each point.
pub struct LiveView {
    /// Columns of a row.
    width: usize,
    queue: Arc<EventQueue>,
    thread: Option<JoinHandle<LiveState>>,
}

impl LiveView {
    /// Takes the screen. The keys work on `stop`. What stays afterwards has rows of `width` columns.
    pub fn open(plan: LivePlan, stop: Arc<Stop>, width: usize) -> std::io::Result<LiveView> {
        let queue = Arc::new(EventQueue::default());
        screen::enter()?;
        let (events, state) = (queue.clone(), LiveState::new(plan, Instant::now()));
        let thread = std::thread::Builder::new().name("view".into()).spawn(move || show(state, &events, &stop));
        match thread {
            Ok(thread) => Ok(LiveView { width, queue, thread: Some(thread) }),
            Err(error) => {
                screen::leave();
                Err(error)
            }
        }
    }

    /// Whether the view still has the screen: a panic gives it back.
    pub fn is_open(&self) -> bool {
        screen::is_entered()
    }

    /// Hands over an event. Never waits for the terminal.
    pub fn send(&self, event: LiveEvent) {
        self.queue.push(event);
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.queue.close();
        let state = self.thread.take().and_then(|thread| thread.join().ok());
        screen::leave();
        state.iter().flat_map(|state| state.scrollback(self.width)).for_each(super::say);
    }
}

type Screen = Terminal<CrosstermBackend<BufWriter<Stderr>>>;

/// The thread of the view: takes events and keys, and draws, until the queue is closed or the screen is gone.
fn show(mut state: LiveState, events: &EventQueue, stop: &Stop) -> LiveState {
    // The load goes first.
    let _ = rustix::process::nice(NICE);
    let Ok(mut terminal) = Terminal::new(CrosstermBackend::new(BufWriter::new(std::io::stderr()))) else {
        return state;
    };
    let (mut drawn, mut is_news) = (None::<Instant>, true);
    loop {
        let is_closed = events.is_closed();
        is_news |= events.take().into_iter().map(|event| state.take(event, Instant::now())).count() > 0;
        if is_closed || !screen::is_entered() {
            return state;
        }
        let passed = drawn.map_or(DRAW_AT_LEAST, |drawn| drawn.elapsed());
        if passed >= if is_news { DRAW_EVERY } else { DRAW_AT_LEAST } {
            if draw(&mut terminal, &mut state).is_err() {
                return state;
            }
            (drawn, is_news) = (Some(Instant::now()), false);
        }
        match key_within(DRAW_EVERY.saturating_sub(drawn.map_or(Duration::ZERO, |drawn| drawn.elapsed()))) {
            Ok(Some(key)) => is_news |= keys::act(&mut state, key, stop),
            Ok(None) => {}
            // Without keys the view still shows what happens.
            Err(_) => std::thread::sleep(DRAW_EVERY),
        }
    }
}

/// A key that is pressed within `wait`; `None` if there is none. An error if the terminal is gone.
fn key_within(wait: Duration) -> std::io::Result<Option<Event>> {
    // The library may have read it together with the one before.
    if let Some(key) = key_at_hand()? {
        return Ok(Some(key));
    }
    // Never 0: a key that is held down must not make the thread spin.
    wait_for_keyboard(wait.max(Duration::from_millis(10)))?;
    key_at_hand()
}

fn key_at_hand() -> std::io::Result<Option<Event>> {
    // From a terminal that is gone the library reads again and again, and never returns.
    wait_for_keyboard(Duration::ZERO)?;
    terminal_event::poll(Duration::ZERO)?.then(terminal_event::read).transpose()
}

/// Waits until there is something to read, `wait` at most. An error if the terminal is gone.
fn wait_for_keyboard(wait: Duration) -> std::io::Result<()> {
    let keyboard = std::io::stdin();
    let mut ready = [PollFd::new(&keyboard, PollFlags::IN)];
    match poll(&mut ready, Timespec::try_from(wait).ok().as_ref()) {
        Ok(_) | Err(Errno::INTR) if PollFlags::IN.contains(ready[0].revents()) => Ok(()),
        Ok(_) | Err(Errno::INTR) => Err(std::io::ErrorKind::BrokenPipe.into()),
        Err(error) => Err(error.into()),
    }
}

fn draw(terminal: &mut Screen, state: &mut LiveState) -> std::io::Result<()> {
    state.measure_own_cost();
    state.look_for_answer(terminal.size()?.width.into());
    if std::mem::take(&mut state.is_torn) {
        terminal.clear()?;
    }
    let now = Instant::now();
    terminal.draw(|frame| page::paint(state, now, frame.buffer_mut())).map(drop)
}

/// How much the thread of the view gives way to others.
const NICE: i32 = 10;
