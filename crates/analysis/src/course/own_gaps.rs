//! The gaps of plimsoll itself, and its stops of the engine for stacks, set against the run phase: what they hide, and which operations
//! they delayed.
//!
//! In: the events and stacks of a point, and the part of its run phase that counts. Out: [`OwnGaps`], by which the shape of the run leaves
//! out what the engine cannot be blamed for.
//! Limits: a gap is known to 20 ms, and none below 100 ms is recorded. The numbers of the point still hold what happened in its gaps:
//! the finding `own-gap` weakens them.

use crate::recorded::window::{OpTally, Window};
use crate::{IntervalPoint, Span};
use model::{Nanos, OwnGap, OwnGapCause, PointData};

/// An interval of which less than this was seen is left out: the rate of the rest would be a guess.
const SEEN_MIN: f64 = 0.5;

/// How long after a gap the operations that it delayed may end: all clients wake at once and wait for each other.
const AFTERMATH_S: f64 = 0.1;

/// A gap in seconds since the run phase began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapSpan {
    pub span: Span,
    /// Why plimsoll did not run.
    pub cause: OwnGapCause,
}

/// What touches the part of a run phase that counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnGaps {
    /// Plimsoll did not run.
    gaps: Vec<GapSpan>,
    /// It stopped the engine for its stacks.
    stops: Vec<Span>,
}

impl OwnGaps {
    /// The gaps of `point` that lie in the phase of `window` or end just before it.
    pub fn from_point(point: &PointData, window: &Window) -> OwnGaps {
        let counted = counted_span(window);
        let spans = OwnGap::from_events(&point.events).into_iter().map(|gap| GapSpan {
            span: Span { from_s: window.seconds_at(gap.from), to_s: window.seconds_at(gap.to) },
            cause: gap.cause,
        });
        let touches = |span: &Span| span.from_s < counted.to_s && span.to_s + AFTERMATH_S > counted.from_s;
        // A tool reads symbols before it stops the engine, and lets it go when it ends.
        let stops = point.stacks.iter().filter(|snapshot| snapshot.stopped > Nanos(0)).map(|snapshot| {
            let to_s = window.seconds_at(snapshot.at + snapshot.took);
            Span { from_s: to_s - snapshot.stopped.as_secs_f64(), to_s }
        });
        OwnGaps {
            gaps: spans.filter(|gap| touches(&gap.span)).collect(),
            stops: stops.filter(|span| touches(span)).collect(),
        }
    }

    /// All that hides the engine.
    fn hidden(&self) -> impl Iterator<Item = Span> {
        self.spans().chain(self.stops.iter().copied())
    }

    /// When plimsoll did not run.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        self.gaps.iter().map(|gap| gap.span)
    }

    /// The gaps, cut to the phase of `window`.
    pub fn within(&self, window: &Window) -> Vec<GapSpan> {
        let counted = counted_span(window);
        let cut = self.gaps.iter().map(|gap| GapSpan { span: cut_to(gap.span, &counted), ..*gap });
        cut.filter(|gap| gap.span.length_s() > 0.0).collect()
    }

    /// `run` without what the gaps hide. An interval that was seen in part has the rate of that part.
    pub fn seen_intervals(&self, run: &[IntervalPoint]) -> Vec<IntervalPoint> {
        let seen = run.iter().filter_map(|interval| {
            let share = self.seen_share(&Span { from_s: interval.at_s, to_s: interval.at_s + interval.length_s });
            (share >= SEEN_MIN).then(|| IntervalPoint { ops_per_s: interval.ops_per_s / share, ..*interval })
        });
        seen.collect()
    }

    /// The whole intervals of `window` that no gap touches.
    pub fn untouched(&self, window: &Window) -> Vec<OpTally> {
        window
            .whole
            .iter()
            .filter(|tally| {
                let from_s = window.seconds_at(tally.start);
                self.seen_share(&Span { from_s, to_s: from_s + tally.length.as_secs_f64() }) == 1.0
            })
            .copied()
            .collect()
    }

    /// Whether operations that ended in `span` may have been delayed by a gap.
    pub fn has_delayed(&self, span: &Span) -> bool {
        self.hidden().any(|hidden| span.from_s < hidden.to_s + AFTERMATH_S && hidden.from_s < span.to_s)
    }

    /// The share of `span` in which plimsoll ran and did not stop the engine.
    fn seen_share(&self, span: &Span) -> f64 {
        let hidden: f64 = self.hidden().map(|hidden| hidden.overlap_s(span)).sum();
        1.0 - (hidden / span.length_s()).clamp(0.0, 1.0)
    }
}

fn counted_span(window: &Window) -> Span {
    Span { from_s: window.seconds_at(window.phase.start), to_s: window.seconds_at(window.phase.end) }
}

fn cut_to(span: Span, counted: &Span) -> Span {
    Span { from_s: span.from_s.max(counted.from_s), to_s: span.to_s.min(counted.to_s) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    /// Gaps of a run of ten seconds.
    fn gaps(stretches: &[(f64, f64)]) -> OwnGaps {
        let gap = |(from_s, to_s): &(f64, f64)| GapSpan {
            span: Span { from_s: *from_s, to_s: *to_s },
            cause: OwnGapCause::Stopped,
        };
        OwnGaps { gaps: stretches.iter().map(gap).collect(), stops: Vec::new() }
    }

    #[test]
    fn a_hidden_interval_is_left_out_and_one_that_was_half_seen_has_the_rate_of_that_half() {
        let point = Simulation::counts(&[1000, 500, 0, 1000]);
        let series = point.analysis().points.remove(0).series.expect("it ran");
        let seen = gaps(&[(1.5, 3.0)]).seen_intervals(series.counted_intervals());
        let rates: Vec<(f64, f64)> = seen.iter().map(|interval| (interval.at_s, interval.ops_per_s)).collect();
        assert_eq!(rates, [(0.0, 1000.0), (1.0, 1000.0), (3.0, 1000.0)]);
    }

    #[test]
    fn a_stop_of_the_engine_for_its_stacks_is_no_stall_and_no_gap() {
        use crate::numbers::stacks::tests::snapshot;
        let counts = |second: u32| if second == 4 { 40 } else { 4_000 };
        let stalled = Simulation::counts(&(0..12).map(counts).collect::<Vec<_>>());
        assert_eq!(stalled.findings("stall").len(), 1);
        let stopped = stalled.with(|point| point.stacks = vec![snapshot(3, model::StackReason::Random, 990, &["f"])]);
        assert!(stopped.findings("stall").is_empty() && stopped.findings("own-gap").is_empty());
    }

    #[test]
    fn operations_that_end_just_after_a_gap_were_delayed_by_it() {
        let found = gaps(&[(1.5, 2.95)]);
        let ended = |from_s, to_s| found.has_delayed(&Span { from_s, to_s });
        assert_eq!([ended(0.0, 1.0), ended(1.0, 2.0), ended(3.0, 4.0), ended(4.0, 5.0)], [false, true, true, false]);
    }
}
