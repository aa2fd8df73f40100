//! What is computed of each host, with the functions that compute a point of one machine.
//!
//! In: the parts of the hosts of a point. Out: their run phases with all numbers, from which summaries and views for detectors are made.
//! Limits: a part whose run phase was not reached has no numbers.

use super::{HostPartView, PointView};
use crate::Rounds;
use crate::computed_phase::{ComputedPhase, Measured, compute_phase};
use crate::hosts::views::{HostPoint, host_points};
use crate::hosts::{HostSummary, summarise_hosts};
use crate::numbers::background::BackgroundLoads;
use crate::numbers::steps::without_steps;
use crate::recorded::window::Window;
use model::{Machine, Phase, PhaseData, PointData};

/// The parts of the hosts of a point, each with its phases as they count.
pub(crate) struct RecordedHosts(Vec<RecordedPart>);

struct RecordedPart {
    host: HostPoint,
    /// The phases, with the operations of foreground clients.
    phases: Vec<PhaseData>,
    /// The part of the run phase that counts; `None` if it was not reached.
    counted: Option<PhaseData>,
}

/// The same with their numbers.
pub(crate) struct MeasuredHosts<'a>(Vec<MeasuredPart<'a>>);

struct MeasuredPart<'a> {
    host: &'a HostPoint,
    computed: Option<(Window<'a>, ComputedPhase)>,
}

impl RecordedHosts {
    /// The hosts of `point`; none if only the recording machine measured it. `rounds` are those of the point.
    pub(crate) fn of_point(point: &PointData, recorded: &Machine, rounds: Option<&Rounds>) -> RecordedHosts {
        let parts = host_points(point, recorded).into_iter().map(|host| {
            let loads = BackgroundLoads::from_point(&host.point);
            let phases = without_steps(&host.point, loads.own_phases(&host.point)).into_owned();
            let run = phases.iter().find(|phase| phase.phase == Phase::Run);
            let counted =
                run.map(|run| rounds.map_or_else(|| run.clone(), |rounds| rounds.cut_phase(run).into_owned()));
            RecordedPart { host, phases, counted }
        });
        RecordedHosts(parts.collect())
    }

    /// Computes the numbers of each part.
    pub(crate) fn measure(&self) -> MeasuredHosts<'_> {
        MeasuredHosts(self.0.iter().map(RecordedPart::measure).collect())
    }
}

impl RecordedPart {
    fn measure(&self) -> MeasuredPart<'_> {
        let point = &self.host.point;
        let run = self.phases.iter().find(|phase| phase.phase == Phase::Run);
        let computed = run.zip(self.counted.as_ref()).map(|(run, counted)| {
            let window = Window::cut(counted, run.start, &point.trial);
            let background = BackgroundLoads::from_point(point).summarise(point, &window);
            let sequence = std::slice::from_ref(point);
            let computed =
                compute_phase(point, &self.phases, sequence, &window, background, self.host.machine.stated_links());
            (window, computed)
        });
        MeasuredPart { host: &self.host, computed }
    }
}

impl MeasuredHosts<'_> {
    /// The hosts of `point` next to each other.
    pub(crate) fn summarise(&self, point: &PointData) -> Vec<HostSummary> {
        let parts: Vec<(&HostPoint, Option<Measured>)> =
            self.0.iter().map(|part| (part.host, part.as_measured())).collect();
        summarise_hosts(point, &parts)
    }

    /// Each part as detectors look at it; the names are those in `hosts`.
    pub(crate) fn views<'b>(&'b self, hosts: &'b [HostSummary], rounds: Option<&'b Rounds>) -> Vec<HostPartView<'b>> {
        let mut last = None;
        let views = self.0.iter().map(|part| {
            let is_first = last.replace(part.host.place) != Some(part.host.place);
            let view = PointView {
                point: &part.host.point,
                sequence: std::slice::from_ref(&part.host.point),
                ceilings: &[],
                broken_off: Vec::new(),
                machine: &part.host.machine,
                measured: part.as_measured(),
                rounds,
                inserts: None,
                line: None,
                bottlenecks: None,
                hosts: &[],
                parts: &[],
            };
            HostPartView { host: &hosts[part.host.place].host, part: part.host.part, is_first, view }
        });
        views.collect()
    }
}

impl MeasuredPart<'_> {
    fn as_measured(&self) -> Option<Measured<'_>> {
        self.computed.as_ref().map(|(window, computed)| computed.as_measured(window))
    }
}
