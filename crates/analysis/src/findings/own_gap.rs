//! Finds stretches of the measurement in which plimsoll itself did not run.
//!
//! In: the gaps that the recorder saw. Out: a note for short waits for a CPU, else a warning, and an error if they took much of the run.
//! Limits: what the engine did meanwhile is unknown. Gaps before and after the part that counts do no harm and are left out.

use super::{Detects, Finding, FindingKind, Watched};
use crate::Span;
use crate::computed_phase::Measured;
use crate::course::own_gaps::GapSpan;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::{Share, nanos};
use model::{EventKind, Nanos, OWN_GAP_MIN, OwnGapCause};
use serde::Serialize;
use words::list::listed;
use words::quantity::{percent, plural, range, time};

/// Stretches in which plimsoll itself did not run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecorderGaps {
    pub cause: GapCause,
    pub count: usize,
    /// How long they were in all, without the time in which the machine was suspended.
    pub total_ns: Nanos,
    pub longest_ns: Nanos,
    /// All of them as a share of the run.
    pub share: Share,
    /// What was recorded of each time at which the machine was suspended.
    pub quoted: Vec<String>,
}

/// Why plimsoll did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapCause {
    /// The machine was suspended.
    Suspended,
    /// Plimsoll was stopped or frozen, or its machine did not run.
    Stopped,
    /// It waited for a CPU.
    NoCpu,
    /// One gap was a stop, another a wait.
    StoppedAndNoCpu,
}

/// From this share of the run on its numbers are no longer those of the engine: a rate is too low by as much.
pub const VOID_SHARE: f64 = 0.05;

/// The same for waits for a CPU: clients may have ended a few operations in them, and the finding `foreign-cpu` weighs them, too.
pub const WAIT_VOID_SHARE: f64 = 0.20;

/// Below this share waits for a CPU are those of a machine that has other things to do now and then.
pub const WAIT_SHARE_MIN: f64 = 0.01;

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let gaps = measured.shape.own_gaps.within(measured.window);
    let suspends = suspends(view, &measured);
    if gaps.is_empty() && suspends.is_empty() {
        return Vec::new();
    }
    let lengths = gaps.iter().map(|gap| gap.span.length_s());
    let (total_s, longest_s) = (lengths.clone().sum::<f64>(), lengths.fold(0.0, f64::max));
    let cause = cause_of(&gaps, &suspends);
    let share = Share(total_s / measured.window.seconds().max(f64::MIN_POSITIVE));
    let detail = RecorderGaps {
        cause,
        count: gaps.len() + suspends.len(),
        total_ns: nanos(total_s),
        longest_ns: nanos(longest_s),
        share,
        quoted: suspends,
    };
    let spans: Vec<Span> = gaps.iter().map(|gap| gap.span).collect();
    vec![Finding::new(severity(cause, share), detail).at(spans).next(advice(cause))]
}

/// What was recorded of the times at which the machine was suspended.
fn suspends(view: &PointView, measured: &Measured) -> Vec<String> {
    let phase = measured.window.phase;
    // It is noticed after the machine has resumed.
    let in_phase = view.events(EventKind::Suspend).filter(|e| e.at >= phase.start && e.at <= phase.end + OWN_GAP_MIN);
    in_phase.map(|event| event.text.clone()).collect()
}

fn cause_of(gaps: &[GapSpan], suspends: &[String]) -> GapCause {
    let has = |cause| gaps.iter().any(|gap| gap.cause == cause);
    match (has(OwnGapCause::Stopped), has(OwnGapCause::NoCpu)) {
        _ if !suspends.is_empty() => GapCause::Suspended,
        (true, true) => GapCause::StoppedAndNoCpu,
        (true, false) => GapCause::Stopped,
        (false, _) => GapCause::NoCpu,
    }
}

fn severity(cause: GapCause, share: Share) -> Severity {
    match cause {
        // How long it was does not matter: connections, timers and caches of all that ran before it.
        GapCause::Suspended => Severity::Error,
        GapCause::NoCpu if share.0 >= WAIT_VOID_SHARE => Severity::Error,
        GapCause::NoCpu if share.0 < WAIT_SHARE_MIN => Severity::Note,
        GapCause::NoCpu => Severity::Warning,
        GapCause::Stopped | GapCause::StoppedAndNoCpu if share.0 >= VOID_SHARE => Severity::Error,
        GapCause::Stopped | GapCause::StoppedAndNoCpu => Severity::Warning,
    }
}

fn advice(cause: GapCause) -> NextStep {
    match cause {
        GapCause::NoCpu => NextStep::FreeCpu,
        GapCause::Suspended | GapCause::Stopped | GapCause::StoppedAndNoCpu => NextStep::KeepRunning,
    }
}

/// So many gaps are listed with their times.
const GAPS_LISTED_MAX: usize = 5;

impl FindingKind for RecorderGaps {
    const SEVERITIES: &'static [Severity] = &[Severity::Note, Severity::Warning, Severity::Error];
    const DETECTS: Detects = Detects::EachHost(detect);
    const WATCHED: Watched = Watched::AsOwnFault;
    const REASON: &'static str = "lost time in which plimsoll itself did not run";

    fn is_like(&self, other: &Self) -> bool {
        self.cause == other.cause
    }

    fn title(alike: &[&Self]) -> String {
        let total = range(alike, |one| one.total_ns.0 as f64, time);
        let share = range(alike, |one| one.share.0, percent);
        match alike[0].cause {
            GapCause::Suspended => "the machine was suspended during the run phase".to_owned(),
            GapCause::Stopped => {
                format!(
                    "plimsoll itself was stopped or frozen, or its machine paused: {total}, {share} of the run phase"
                )
            }
            GapCause::NoCpu => format!("plimsoll itself waited for a CPU: {total}, {share} of the run phase"),
            GapCause::StoppedAndNoCpu => {
                format!("plimsoll itself was stopped, and waited for a CPU: {total}, {share} of the run phase")
            }
        }
    }

    fn evidence(&self) -> String {
        let longest = time(self.longest_ns.0 as f64);
        let gaps = format!("{}, the longest {longest}", plural(self.count as u64, "gap"));
        [gaps].into_iter().chain(self.quoted.iter().cloned()).collect::<Vec<_>>().join("; ")
    }

    fn times(&self, spans: &[Span]) -> String {
        match spans {
            [] => String::new(),
            _ => format!(": {}", listed(spans, GAPS_LISTED_MAX, |gap| format!("{:.2}-{:.2} s", gap.from_s, gap.to_s))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Validity;
    use crate::simulated::{SECOND, Simulation};
    use model::{OwnGap, Tick};

    /// `simulation` with a gap of plimsoll.
    fn with_gap(simulation: Simulation, from_ms: u64, to_ms: u64, cause: OwnGapCause) -> Simulation {
        let [from, to] = [from_ms, to_ms].map(|ms| Tick(ms * 1_000_000));
        simulation.with(|point| point.events.extend(OwnGap { from, to, cause }.to_events()))
    }

    /// Sixty seconds of a client of 1,000 operations a second that plimsoll performs while it runs, and one gap of so many milliseconds.
    fn stopped_for(gap_ms: u64) -> Simulation {
        let first = 10_000;
        let simulation = Simulation::closed(60, |seq| if seq == first { gap_ms * 1_000_000 } else { 1_000_000 });
        with_gap(simulation, first, first + gap_ms, OwnGapCause::Stopped)
    }

    #[test]
    fn a_stop_is_never_valid_and_never_a_stall_of_the_target() {
        for (gap_ms, validity) in
            [(200, Validity::Indicative), (1_000, Validity::Indicative), (4_000, Validity::Invalid)]
        {
            let stopped = stopped_for(gap_ms);
            assert_eq!(stopped.analysis().points[0].validity, validity, "{gap_ms} ms");
            let found: RecorderGaps = stopped.figures();
            assert_eq!((found.cause, found.count), (GapCause::Stopped, 1));
            assert_eq!((found.longest_ns, found.total_ns), (Nanos::from_millis(gap_ms), Nanos::from_millis(gap_ms)));
            for blamed in ["stall", "starvation", "drops", "bursts", "level-shift", "coordinated-omission", "unsteady"]
            {
                assert!(stopped.findings(blamed).is_empty(), "{gap_ms} ms: {:?}", stopped.findings(blamed));
            }
            let steadiness = stopped.analysis().verdict.steadiness();
            assert_eq!((steadiness.longest_stall, steadiness.longest_wait), (None, None), "{gap_ms} ms");
        }
    }

    #[test]
    fn a_stall_of_the_target_is_found_though_plimsoll_was_stopped_at_another_time() {
        let both = Simulation::closed(60, |seq| match seq {
            10_000 => SECOND,
            30_000 => 3 * SECOND,
            _ => 1_000_000,
        });
        let both = with_gap(both, 10_000, 11_000, OwnGapCause::Stopped);
        let stalls = both.analysis().points.remove(0).shape.expect("it ran").stalls;
        let found: Vec<(f64, f64)> = stalls.iter().map(|stall| (stall.span.from_s, stall.length_s)).collect();
        assert_eq!(found, [(31.0, 3.0)]);
    }

    #[test]
    fn a_stall_that_was_longer_than_the_gap_in_it_is_still_the_targets() {
        let frozen = Simulation::closed(60, |seq| if seq == 10_000 { 5 * SECOND } else { 1_000_000 });
        let half = with_gap(frozen, 11_000, 12_000, OwnGapCause::Stopped);
        assert_eq!(half.findings("stall").len(), 1);
    }

    #[test]
    fn short_waits_for_a_cpu_are_a_note_and_long_ones_void_the_point() {
        let waited = |ms: u64| with_gap(Simulation::counts(&[2000; 60]), 5_000, 5_000 + ms, OwnGapCause::NoCpu);
        let severity = |ms| waited(ms).finding("own-gap").severity;
        assert_eq!(
            [severity(150), severity(3_500), severity(13_000)],
            [Severity::Note, Severity::Warning, Severity::Error]
        );
        assert_eq!(waited(150).finding("own-gap").next, NextStep::FreeCpu);
    }

    #[test]
    fn gaps_outside_of_the_run_phase_do_no_harm_and_one_across_its_end_counts_in_part() {
        let run = || Simulation::counts(&[2000; 10]);
        assert!(with_gap(run(), 11_000, 15_000, OwnGapCause::Stopped).findings("own-gap").is_empty());
        let across: RecorderGaps = with_gap(run(), 9_800, 15_000, OwnGapCause::Stopped).figures();
        assert_eq!(across.total_ns, Nanos::from_millis(200));
    }

    #[test]
    fn a_machine_that_was_suspended_voids_the_point() {
        let asleep = Simulation::counts(&[2000; 10]).event(EventKind::Suspend, "the machine was suspended for 7.00 s");
        let finding = asleep.finding("own-gap");
        assert_eq!((finding.severity, finding.next), (Severity::Error, NextStep::KeepRunning));
        assert_eq!(asleep.figures::<RecorderGaps>().quoted, ["the machine was suspended for 7.00 s"]);
    }
}
