//! The shape of a run: how its rate moved over time. It is computed once for each point; detectors judge it, charts draw it.
//!
//! In: the intervals and the service times of the part of the run phase that counts. Out: a [`Shape`].
//! Limits: nothing here decides what a form means for the numbers of the point. What [`Shape`] holds is what was found; whether
//! a form is worth a finding is for its detector to decide.

pub mod bursts;
pub mod drops;
pub mod levels;
pub mod rhythm;
pub mod stalls;
pub mod two_levels;
pub mod waves;

use crate::facts::slots;
use crate::numbers::quantiles::Quantiles;
use crate::window::Window;
use crate::{IntervalPoint, Series, Span};
use bursts::{Bursts, find_bursts};
use drops::{Drop, DropSpan, find_drops};
use levels::{Level, LevelSpan, find_levels, settled_levels};
use model::PointData;
use rhythm::{Period, find_period};
use stalls::{SlowOpSearch, SlowOps, Stall, find_stalls, usual_rate};
use std::ops::Range;
use two_levels::{TwoLevels, find_two_levels};
use waves::{Wave, find_wave};

/// How the rate of a run phase moved. Times are in seconds since the run phase began, rates in operations per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// The rate that stalls are measured against: the median, or that of the busy intervals if most are empty. `None` if too
    /// little was done to have one.
    pub usual_per_s: Option<f64>,
    /// The stretches of intervals in which next to nothing was done.
    pub stalls: Vec<Stall>,
    /// How often they come, if they come regularly.
    pub stall_period: Option<Period>,
    /// The operations that show stalls shorter than an interval.
    pub short_stalls: Option<SlowOps>,
    /// The operations that waited for very long while others were served.
    pub starved_ops: Option<SlowOps>,
    /// The levels that the rate kept to, one after the other; stalls are left out. One level if nothing shifted.
    pub levels: Vec<LevelSpan>,
    /// The stretches far below their level that are no stalls; none if the rate comes in bursts or jumps between two levels.
    pub drops: Vec<DropSpan>,
    /// How often they come, if they come regularly.
    pub drop_period: Option<Period>,
    /// The bursts in which everything was done.
    pub bursts: Option<Bursts>,
    /// The two rates between which it jumps to and fro.
    pub two_levels: Option<TwoLevels>,
    /// The wave that it swings in; `None` if it comes in bursts or jumps between two levels, which are waves of another form.
    pub wave: Option<Wave>,
}

impl Shape {
    /// The shape of the part of the run phase of `point` that `window` cuts, of which `series` is drawn.
    pub fn compute(point: &PointData, window: &Window, series: &Series) -> Shape {
        let run = series.counted_intervals();
        let mut shape = Shape::from_rates(run);
        let search = Quantiles::from_times(&series.service).map(|service| SlowOpSearch {
            window,
            service,
            usual_per_s: shape.usual_per_s.unwrap_or(0.0),
            stalls: &shape.stalls,
        });
        let (short_stalls, starved_ops) = search
            .map(|search| (search.short_stalls(slots(point)), search.starved_ops(slots(point))))
            .unwrap_or_default();
        (shape.short_stalls, shape.starved_ops) = (short_stalls, starved_ops);
        shape
    }

    /// What the rates of the intervals alone show.
    fn from_rates(run: &[IntervalPoint]) -> Shape {
        let rates: Vec<f64> = run.iter().map(|interval| interval.ops_per_s).collect();
        let (bursts, two_levels) = (find_bursts(run), find_two_levels(&rates));
        let is_restless = bursts.is_some() || two_levels.is_some();
        let stalls = find_stalls(run, bursts.as_ref());
        let stall_spans: Vec<Span> = stalls.iter().map(|stall| stall.span).collect();
        let found = find_levels(&rates);
        let drops = if is_restless { Vec::new() } else { drops_beside_stalls(run, &rates, &found, &stall_spans) };
        Shape {
            usual_per_s: usual_rate(run),
            stall_period: period_of(stall_spans.iter()),
            drop_period: period_of(drops.iter().map(|drop| &drop.span)),
            levels: settled_levels(found.iter().map(|level| level_span(run, level)), &stall_spans),
            wave: if is_restless { None } else { find_wave(&rates) },
            stalls,
            drops,
            bursts,
            two_levels,
            short_stalls: None,
            starved_ops: None,
        }
    }

    /// Whether the target stalled, for longer than an interval or for less.
    pub fn has_stalls(&self) -> bool {
        !self.stalls.is_empty() || self.short_stalls.is_some()
    }
}

fn drops_beside_stalls(run: &[IntervalPoint], rates: &[f64], levels: &[Level], stalls: &[Span]) -> Vec<DropSpan> {
    let drop_span = |drop: Drop| DropSpan { span: span(run, &drop.range), from_per_s: drop.from, to_per_s: drop.to };
    let is_no_stall = |drop: &DropSpan| !stalls.iter().any(|stall| stall.overlap_s(&drop.span) > 0.0);
    find_drops(rates, levels).into_iter().map(drop_span).filter(is_no_stall).collect()
}

fn level_span(run: &[IntervalPoint], level: &Level) -> LevelSpan {
    LevelSpan { span: span(run, &level.range), ops_per_s: level.median, deviation: level.deviation }
}

fn span(run: &[IntervalPoint], range: &Range<usize>) -> Span {
    let last = run[range.end - 1];
    Span { from_s: run[range.start].at_s, to_s: last.at_s + last.length_s }
}

fn period_of<'a>(spans: impl Iterator<Item = &'a Span>) -> Option<Period> {
    find_period(&spans.map(|span| span.from_s).collect::<Vec<_>>())
}
