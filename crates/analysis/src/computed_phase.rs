//! A run phase with all that is computed of it before anything is judged: numbers, series, the shape of its rate, states of threads.

use crate::course::series::compute_series;
use crate::numbers::phase_times::PhaseTimes;
use crate::numbers::summary::summarise;
use crate::recorded::counters::growth_of_all;
use crate::recorded::window::Window;
use crate::{BackgroundSummary, Series, Shape, Summary, ThreadStates};
use model::{CounterRole, PhaseData, PointData, StatedLinks};

/// What is computed of a run phase before anything is judged.
pub(crate) struct ComputedPhase {
    pub(crate) summary: Summary,
    series: Series,
    shape: Shape,
    threads: ThreadStates,
}

impl ComputedPhase {
    pub(crate) fn as_measured<'a>(&'a self, window: &'a Window<'a>) -> Measured<'a> {
        let ComputedPhase { summary, series, shape, threads } = self;
        Measured { window, summary, series, shape, threads }
    }

    /// The parts of `computed`, as far as there was a run phase.
    pub(crate) fn take_apart(
        computed: Option<ComputedPhase>,
    ) -> (Option<Summary>, Option<Series>, Option<Shape>, ThreadStates) {
        match computed {
            Some(ComputedPhase { summary, series, shape, threads }) => {
                (Some(summary), Some(series), Some(shape), threads)
            }
            None => Default::default(),
        }
    }
}

/// The run phase of a point, recorded and computed.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// The phase, cut into what counts.
    pub window: &'a Window<'a>,
    pub summary: &'a Summary,
    /// What is drawn of it.
    pub series: &'a Series,
    /// How its rate moved.
    pub shape: &'a Shape,
    /// Where the time of its threads went.
    pub threads: &'a ThreadStates,
}

impl Measured<'_> {
    /// By how much all counters of `role` together grew in the run phase; `None` if there is none, or if its readings do not cover it.
    pub fn growth_of_all(&self, point: &PointData, role: CounterRole) -> Option<f64> {
        let phase = self.window.phase;
        growth_of_all(point, role, phase.start, phase.end).map(|growth| growth.amount)
    }
}

pub(crate) fn compute_phase(
    point: &PointData,
    phases: &[PhaseData],
    sequence: &[PointData],
    window: &Window,
    background: Vec<BackgroundSummary>,
    links: StatedLinks<'_>,
) -> ComputedPhase {
    let times = PhaseTimes::from_window(window);
    let summary = summarise(point, window, &times, background, links);
    let series = compute_series(point, phases, sequence, window, times);
    let shape = Shape::compute(point, window, &series, summary.service_ns);
    ComputedPhase { summary, series, shape, threads: ThreadStates::measure(point, window) }
}
