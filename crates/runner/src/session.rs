//! One session of a run: the conductor and this host's performer, put together.
//!
//! In: a plan, the place to measure, a run file, a request to stop, an observer. Out: every point recorded, or as many as can be.
//! Limits: one host, this one.

use crate::conduct::Conductor;
use crate::conduct::resume::RunInterruption;
use crate::conduct::strategy::{PlanMatrix, Strategy};
use crate::error::RunnerError;
use crate::events::{RunObserver, note};
use crate::perform::TrialPerformer;
use crate::preflight::RunSite;
use crate::preflight::wall_time_of_run;
use crate::rehearsal;
use load::{MonotonicClock, Stop};
use model::{Catalogue, Plan};
use std::sync::Arc;
use store::RunWriter;

/// A session that measures points of one run, from its start or after a resume.
pub struct RunSession<'a> {
    /// The plan that is run.
    pub plan: &'a Plan,
    /// The directory to measure.
    pub site: &'a RunSite,
    /// The run file that records it.
    pub writer: &'a mut RunWriter,
    /// The request to end it early.
    pub stop: Arc<Stop>,
    /// The receiver of its events.
    pub observer: &'a mut dyn RunObserver,
    /// The earlier sessions, if the run is resumed.
    pub interruption: Option<RunInterruption>,
}

impl RunSession<'_> {
    /// Measures all trials of the plan that are not complete.
    pub fn measure_all(self, catalogue: &Catalogue) -> Result<(), RunnerError> {
        let matrix = PlanMatrix::new(self.plan, catalogue, self.writer.path());
        let mut matrix = matrix.of_session(self.interruption.as_ref());
        self.measure(&mut matrix)
    }

    /// Measures the trials that `strategy` asks for.
    pub fn measure(self, strategy: &mut dyn Strategy) -> Result<(), RunnerError> {
        let RunSession { plan, site, writer, stop, observer, interruption } = self;
        rehearsal::try_servers(plan, site, &stop, &mut *observer)?;
        // All sessions of a run share one time axis, which is that of the wall clock at their start: charts are compared with other
        // programs' logs. The clock of a resumed run starts after its earlier points.
        let (started_unix_ms, earliest) = (writer.started_unix_ms()?, interruption.as_ref().map(|gap| gap.over));
        let clock = MonotonicClock::start_when(|| wall_time_of_run(started_unix_ms).max(earliest.unwrap_or_default()));
        let mut performer = TrialPerformer::new(plan, site, clock, stop.clone());
        let done = interruption.iter().flat_map(|gap| &gap.done).map(|done| done.point).collect();
        let conductor = Conductor { writer, observer: &mut *observer, stop, clock, done, interruption };
        let measured = conductor.conduct_run(strategy, &mut performer);
        performer.release_machine().iter().for_each(|text| note(observer, text));
        measured
    }
}
