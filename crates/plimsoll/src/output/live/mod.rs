//! The screen that shows a run while it is measured.
//!
//! In: what the run is about, the events of its progress, keys. Out: a page on the other screen of the terminal, drawn by a thread of its
//! own at most four times a second; requests to skip a point or to end the run; what is over as lines when the view closes. Limits: it
//! needs a terminal and its foreground. Events wait in a queue of bounded length, so that a terminal that blocks cannot hold up the run:
//! the oldest figures are dropped then.

mod chart;
mod grid;
mod keys;
mod machine_rows;
mod page;
#[cfg(test)]
mod page_tests;
mod queue;
pub mod screen;
mod state;
mod words;

use super::progress::left::clock;
use super::progress::machine::DiskCeilings;
use super::progress::sums::Second;
use analysis::{PointAnalysis, Severity};
use load::Stop;
use model::{Nanos, Phase, Plan};
use queue::EventQueue;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event;
use state::LiveState;
use std::collections::BTreeSet;
use std::io::{BufWriter, Stderr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The least time between two drawings.
const DRAW_EVERY: Duration = Duration::from_millis(250);
/// Without any news the clock still goes on.
const DRAW_AT_LEAST: Duration = Duration::from_secs(1);

/// What a run is about.
pub struct LivePlan {
    /// Its name.
    pub name: String,
    /// Of each trial the group and the place in it: `file rndrd`, `depth 8`.
    pub cells: Vec<(String, String)>,
    /// The trials that were complete before.
    pub done: BTreeSet<usize>,
    /// Whether the terminal is to show colours.
    pub colour: bool,
}

impl LivePlan {
    /// That of `plan`, of which the trials `done` are complete.
    pub fn new(plan: &Plan, done: &BTreeSet<usize>, colour: bool) -> LivePlan {
        LivePlan { name: plan.name.clone(), cells: super::label::cells(plan), done: done.clone(), colour }
    }
}

/// What happened in a run.
pub enum LiveEvent {
    /// A point begins.
    PointBegan {
        /// The number of its trial in the plan, from 0.
        trial: usize,
        /// What it is called.
        label: String,
    },
    /// A phase of it begins.
    PhaseBegan {
        /// Which.
        phase: Phase,
        /// How long it is to last; `None` if its work ends it.
        planned: Option<Nanos>,
        /// The work left in the run.
        left: String,
    },
    /// What was done in about a second.
    Second {
        /// The figures.
        second: Box<Second>,
        /// The work left in the run.
        left: String,
    },
    /// Data is read back.
    ReadingBack(String),
    /// What the disk can do is known.
    Disk(DiskCeilings),
    /// Something to read.
    Note(Note),
    /// The cell of a trial changes.
    Marked {
        /// The number of the trial in the plan, from 0.
        trial: usize,
        /// What it shows from now on.
        mark: Mark,
    },
    /// A point is judged.
    Judged(Box<EndedPoint>),
}

impl LiveEvent {
    /// A note without severity.
    pub fn note(text: String) -> LiveEvent {
        LiveEvent::Note(Note { severity: None, text })
    }
}

/// A finding, or what the run reports of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// That of a finding.
    pub severity: Option<Severity>,
    /// One line, fit for a terminal.
    pub text: String,
}

/// The state of a cell in the grid of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Not measured yet.
    ToDo,
    /// Measured now.
    Running,
    /// Measured, and not judged yet.
    Done,
    /// Valid.
    Valid,
    /// Indicative.
    Indicative,
    /// Invalid.
    Invalid,
    /// Failed or interrupted.
    Failed,
    /// Left out by the user.
    Skipped,
}

/// A point that is over and judged.
pub struct EndedPoint {
    /// The number of its trial in the plan, from 0.
    pub trial: usize,
    /// What it is called.
    pub label: String,
    /// Its numbers.
    pub analysis: PointAnalysis,
}

impl EndedPoint {
    /// Its row.
    pub fn lines(&self, width: usize, colour: bool) -> Vec<String> {
        report::terminal::ended_point(&self.analysis, &self.label, width, colour)
    }
}

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

/// A key that is pressed within `wait`, or a change of the size of the window; `None` if there is neither.
fn key_within(wait: Duration) -> std::io::Result<Option<event::Event>> {
    // Never 0: a key that is held down must not make the thread spin.
    if event::poll(wait.max(Duration::from_millis(10)))? { event::read().map(Some) } else { Ok(None) }
}

fn draw(terminal: &mut Screen, state: &mut LiveState) -> std::io::Result<()> {
    state.measure_own_cost();
    if std::mem::take(&mut state.is_torn) {
        terminal.clear()?;
    }
    let now = Instant::now();
    terminal.draw(|frame| page::paint(state, now, frame.buffer_mut())).map(drop)
}

/// How much the thread of the view gives way to others.
const NICE: i32 = 10;

/// `1:20`, since `began`.
fn time_since(began: Instant, now: Instant) -> String {
    clock(now.saturating_duration_since(began).as_secs_f64().floor())
}
