//! Finds stalls: times in which the target did next to nothing.
//!
//! In: the stalls of the run phase, and the slow operations that show shorter ones. Out: notes.
//! Limits: those of [`crate::course::shape::stalls`].

use super::phrases::{SPANS_LISTED_MAX, span};
use super::{CourseDisturbance, Detects, Finding, FindingKind, ShownBy, Watched};
use crate::Span;
use crate::computed_phase::Measured;
use crate::course::shape::Shape;
use crate::course::shape::rhythm::Period;
use crate::course::shape::stalls::SlowOps;
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::math::units::{Share, nanos};
use crate::recorded::facts::slots;
use model::{CounterRole, Nanos};
use serde::Serialize;
use words::list::listed;
use words::quantity::{counted, percent, range, rate, seconds, time, whole};

/// Stalls, by what shows them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "seen_in", rename_all = "kebab-case")]
pub enum Stalls {
    /// In the rates of the intervals: the spans of the finding are theirs.
    Rates(LongStalls),
    /// In single operations, because they are shorter than an interval.
    Operations(ShortStalls),
}

/// Stalls that the rates of the intervals show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LongStalls {
    pub count: usize,
    /// The length of all together.
    pub total_ns: Nanos,
    /// The length of the longest.
    pub longest_ns: Nanos,
    /// When the longest began, since the run phase began.
    pub longest_at_ns: Nanos,
    /// The time from one to the next; `None` if they are irregular.
    pub period: Option<EventPeriod>,
    /// The median rate of the run.
    pub usual_per_s: f64,
    /// The lowest rate in them, as a share of it.
    pub deepest_share: Share,
    /// The length of an interval, which is how exactly the times are known.
    pub interval_ns: Nanos,
    /// By what factor answers took longer, if operations ended all the time in all of them: they were slow, and nothing stood still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower: Option<f64>,
}

/// Stalls that single operations show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShortStalls {
    #[serde(flatten)]
    pub slow: SlowOps,
    /// How many intervals there are.
    pub intervals_of: usize,
    /// The mean time from one to the next; `None` if not each operation is a stall of its own, or they are few.
    pub period_ns: Option<Nanos>,
}

/// The time from one event to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventPeriod {
    /// The median of these times.
    pub gap_ns: Nanos,
    /// Half the range of these times.
    pub spread_ns: Nanos,
}

impl From<Period> for EventPeriod {
    fn from(period: Period) -> EventPeriod {
        EventPeriod { gap_ns: nanos(period.gap_s), spread_ns: nanos(period.spread_s) }
    }
}

// Two stalls have one gap, which shows no period.
const PERIOD_STALLS_MIN: u64 = 3;

/// Shorter intervals cost more than they show.
const INTERVAL_MIN: Nanos = Nanos::from_millis(100);

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured.filter(|_| !view.has_variant()) else { return Vec::new() };
    let shape = measured.shape;
    let long = (!shape.stalls.is_empty()).then(|| long_stalls(shape, &measured));
    let short = shape.short_stalls.map(|slow| short_stalls(slow, view, &measured));
    let is_watched = view.point.traits.observed.is_some();
    long.into_iter().chain(short).filter(|found| !is_watched || was_asked(&measured, &found.spans)).collect()
}

/// Whether a client waited for an answer in `spans`. If none did, the server was idle because nobody asked it.
fn was_asked(measured: &Measured, spans: &[Span]) -> bool {
    let counters = measured.series.counters.iter();
    let mut busy = counters.filter(|counter| counter.role == Some(CounterRole::BusyConnections)).peekable();
    let is_inside = |at_s: f64| spans.iter().any(|span| span.from_s <= at_s && at_s <= span.to_s);
    busy.peek().is_none()
        || busy.any(|counter| counter.values.iter().any(|(at, level)| is_inside(at.middle_s()) && *level >= 1.0))
}

fn long_stalls(shape: &Shape, measured: &Measured) -> Finding {
    let spans: Vec<_> = shape.stalls.iter().map(|stall| stall.span).collect();
    let longest = shape.stalls.iter().max_by(|a, b| a.length_s.total_cmp(&b.length_s)).expect("there is a stall");
    let detail = Stalls::Rates(LongStalls {
        count: spans.len(),
        total_ns: nanos(shape.stalls.iter().map(|stall| stall.length_s).sum()),
        longest_ns: nanos(longest.length_s),
        longest_at_ns: nanos(longest.span.from_s),
        period: shape.stall_period.map(EventPeriod::from),
        usual_per_s: shape.usual_per_s.unwrap_or(0.0),
        deepest_share: Share(shape.stalls.iter().map(|stall| stall.rate_share).fold(1.0, f64::min)),
        interval_ns: measured.window.whole[0].length,
        slower: shape.stalls.iter().map(|stall| stall.slower).reduce(|most, one| Some(most?.max(one?))).flatten(),
    });
    Finding::new(Severity::Note, detail).at(spans).next(NextStep::CompareCharts)
}

fn short_stalls(slow: SlowOps, view: &PointView, measured: &Measured) -> Finding {
    // Each slow operation is a stall of its own only if one is in flight at a time.
    let countable = slots(view.point) == 1 && slow.count >= PERIOD_STALLS_MIN;
    let detail = Stalls::Operations(ShortStalls {
        slow,
        intervals_of: measured.window.phase.intervals.len(),
        period_ns: countable.then(|| nanos(measured.summary.seconds / slow.count as f64)),
    });
    let is_coarse = view.point.trial.phases.interval > INTERVAL_MIN;
    let next = if is_coarse { NextStep::ShortenInterval } else { NextStep::None };
    Finding::new(Severity::Note, detail).next(next)
}

impl FindingKind for Stalls {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);
    const WATCHED: Watched = Watched::OfStatements;
    const DISTURBANCE: Option<CourseDisturbance> = Some(CourseDisturbance::StoodStill);
    const SHOWN_BY: ShownBy = ShownBy::Rates;

    fn is_like(&self, other: &Self) -> bool {
        let is_slow = |one: &Stalls| one.in_rates().is_some_and(|found| found.slower.is_some());
        std::mem::discriminant(self) == std::mem::discriminant(other) && is_slow(self) == is_slow(other)
    }

    fn gravity(&self) -> Option<f64> {
        self.in_rates().map(|found| found.total_ns.0 as f64)
    }

    fn title(alike: &[&Self]) -> String {
        let short: Vec<&ShortStalls> = alike.iter().filter_map(|one| one.in_operations()).collect();
        alike[0].in_rates().map_or_else(|| short_title(&short), long_title)
    }

    fn evidence(&self) -> String {
        match self {
            Stalls::Rates(found) => format!(
                "below 20 % of the median rate of {}, down to {} of it",
                rate(found.usual_per_s),
                percent(found.deepest_share.0)
            ),
            Stalls::Operations(found) => {
                let period = found
                    .period_ns
                    .map_or(String::new(), |period| format!("; one every {:.2} s on average", period.as_secs_f64()));
                let which = if found.slow.count == 1 { "it" } else { "the longest" };
                let at = found.slow.longest_at_ns as f64 / 1e9;
                let median = time(found.slow.median_ns as f64);
                format!("median service time {median}; {which} ended in the interval at {at:.1} s{period}")
            }
        }
    }

    fn times(&self, spans: &[Span]) -> String {
        match self.in_rates() {
            Some(found) => format!(": {}", listed(spans, SPANS_LISTED_MAX, |one| span(one, found.interval_ns))),
            None => String::new(),
        }
    }
}

impl Stalls {
    fn in_rates(&self) -> Option<&LongStalls> {
        if let Stalls::Rates(found) = self { Some(found) } else { None }
    }

    fn in_operations(&self) -> Option<&ShortStalls> {
        if let Stalls::Operations(found) = self { Some(found) } else { None }
    }
}

/// `5 stalls, 15.0 s in all; the longest 3.0 s, at 97.0 s; one every 20.0 s (±0.0 s)`, or `1 stall of 3.0 s, at 3.0 s`.
fn long_title(found: &LongStalls) -> String {
    let in_seconds = |time| seconds(time, found.interval_ns);
    let (longest, at) = (in_seconds(found.longest_ns), in_seconds(found.longest_at_ns));
    if let Some(slower) = found.slower {
        let total = in_seconds(found.total_ns);
        let from = if found.count == 1 { format!("from {at} on") } else { format!("{} times", found.count) };
        return format!("answers took {} times as long for {total}, {from}", whole(slower));
    }
    if found.count == 1 {
        return format!("1 stall of {longest}, at {at}");
    }
    let every = found.period.map_or(String::new(), |period| format!("; {}", one_every(period, found.interval_ns)));
    let total = in_seconds(found.total_ns);
    format!("{} stalls, {total} in all; the longest {longest}, at {at}{every}", found.count)
}

fn short_title(alike: &[&ShortStalls]) -> String {
    let is_one = alike.iter().all(|one| one.slow.count == 1);
    let ops = match alike.len() {
        1 => counted(alike, |one| one.slow.count, "operation"),
        _ if is_one => "one operation of each".to_owned(),
        _ => format!("{} of each", counted(alike, |one| one.slow.count, "operation")),
    };
    let took = if is_one { "took" } else { "took up to" };
    format!(
        "{ops} {took} {}, {} times the median",
        range(alike, |one| one.slow.longest_ns as f64, time),
        range(alike, |one| (one.slow.longest_ns / one.slow.median_ns.max(1)) as f64, whole)
    )
}

/// `one every 20.0 s (±0.0 s)`
pub(super) fn one_every(period: EventPeriod, interval: Nanos) -> String {
    format!("one every {} (±{})", seconds(period.gap_ns, interval), seconds(period.spread_ns, interval))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::shape::stalls::Stall;
    use crate::simulated::{Random, Simulation, costly_seeds, figures_of};

    fn in_rates(simulation: &Simulation) -> LongStalls {
        match simulation.figures() {
            Stalls::Rates(found) => found,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_frozen_for_three_seconds_is_found_where_it_was() {
        let simulation = Simulation::counts(&[1000, 1010, 990, 0, 0, 0, 1000, 1000, 1005, 1000, 995, 1000]);
        let analysis = simulation.analysis();
        let stalls = &analysis.points[0].shape.as_ref().expect("it ran").stalls;
        assert_eq!(
            stalls[..],
            [Stall { span: Span { from_s: 3.0, to_s: 6.0 }, length_s: 3.0, rate_share: 0.0, slower: None }]
        );
        let finding = simulation.finding("stall");
        assert_eq!((finding.severity, &finding.spans[..]), (Severity::Note, &[Span { from_s: 3.0, to_s: 6.0 }][..]));
        let found = in_rates(&simulation);
        assert_eq!((found.count, found.total_ns, found.longest_ns), (1, Nanos::from_secs(3), Nanos::from_secs(3)));
        assert_eq!((found.longest_at_ns, found.deepest_share, found.period), (Nanos::from_secs(3), Share(0.0), None));
    }

    #[test]
    fn a_stall_that_lasts_to_the_end_of_the_run_is_found_though_nobody_recorded_it() {
        let mut counts = Simulation::counts(&[500; 10]).recorded;
        counts.phases[0].end.0 += 5_000_000_000;
        let simulation = Simulation { recorded: counts, environment: Vec::new() };
        let found = in_rates(&simulation);
        assert_eq!((found.longest_ns, found.longest_at_ns), (Nanos::from_secs(5), Nanos::from_secs(10)));
    }

    #[test]
    fn answers_that_are_slow_while_operations_end_all_the_time_are_no_stall() {
        let slow_at_the_end = |at: u64| if at < 28 { 8_000 } else { 80 };
        let counts: Vec<u64> = (0..30).map(slow_at_the_end).collect();
        let simulation = Simulation::counts(&counts);
        let found = in_rates(&simulation);
        assert_eq!((found.count, found.slower.map(f64::round)), (1, Some(100.0)));
        let title = crate::findings::title(&[&simulation.finding("stall").detail]);
        assert!(title.starts_with("answers took 100 times as long for 2.0 s, from 28.0 s on"), "{title}");
        assert!(in_rates(&Simulation::counts(&[1000, 1000, 1000, 0, 0, 1000, 1000, 1000])).slower.is_none());
    }

    #[test]
    fn regular_drops_have_a_period() {
        let counts: Vec<u64> = (0..100).map(|second| if second % 20 >= 17 { 10 } else { 1000 + second % 7 }).collect();
        let found = in_rates(&Simulation::counts(&counts));
        assert_eq!((found.count, found.total_ns, found.longest_ns), (5, Nanos::from_secs(15), Nanos::from_secs(3)));
        assert_eq!(found.longest_at_ns, Nanos::from_secs(97));
        assert_eq!(found.period, Some(EventPeriod { gap_ns: Nanos::from_secs(20), spread_ns: Nanos(0) }));
    }

    #[test]
    fn times_are_told_as_finely_as_the_intervals_are_long() {
        let counts: Vec<u64> = (0..200).map(|n| if n % 17 < 7 { 0 } else { 300 }).collect();
        let simulation = Simulation::counts(&counts).with(|point| {
            point.phases[0].end.0 = 200 * 20_000_000;
            for interval in &mut point.phases[0].intervals {
                interval.start.0 = u64::from(interval.index) * 20_000_000;
                interval.length = Nanos::from_millis(20);
            }
        });
        let Some(Stalls::Rates(found)) = figures_of(&simulation.findings("stall")).pop() else {
            panic!("rates show it")
        };
        assert_eq!((found.longest_ns, found.interval_ns), (Nanos::from_millis(140), Nanos::from_millis(20)));
        let gap_ns = found.period.expect("they are regular").gap_ns;
        assert_eq!(gap_ns, Nanos::from_millis(340));
    }

    #[test]
    fn irregular_drops_have_none() {
        let at = [5, 9, 40, 77, 81];
        let counts: Vec<u64> = (0..100).map(|second| if at.contains(&second) { 0 } else { 1000 }).collect();
        let found = in_rates(&Simulation::counts(&counts));
        assert_eq!((found.count, found.period), (5, None));
    }

    #[test]
    fn a_disk_that_stands_still_most_of_the_time_stalls() {
        let counts: Vec<u64> = (0..60).map(|second| if second % 10 < 4 { 300 } else { 0 }).collect();
        let found = in_rates(&Simulation::counts(&counts));
        assert_eq!((found.count, found.total_ns), (6, Nanos::from_secs(36)));
    }

    #[test]
    fn stalls_of_200_ms_in_one_second_intervals_show_in_the_service_times() {
        let simulation = Simulation::closed(60, |seq| if seq % 10_000 == 9_999 { 200_000_000 } else { 100_000 });
        let Stalls::Operations(found) = simulation.figures() else { panic!("operations show them") };
        assert_eq!((found.slow.count, found.slow.longest_ns / 1_000_000), (50, 200));
        let times = found.slow.longest_ns as f64 / found.slow.median_ns as f64;
        assert!((1_990.0..2_010.0).contains(&times), "{times}");
        assert_eq!(found.period_ns, Some(Nanos::from_millis(1_200)));
        assert_eq!(simulation.finding("stall").next, NextStep::ShortenInterval);
        let fine = simulation.clone().with(|point| point.trial.phases.interval = Nanos::from_millis(100));
        assert_eq!(fine.finding("stall").next, NextStep::None, "intervals of 100 ms are short already");
        assert!(simulation.analysis().points[0].shape.as_ref().expect("it ran").stalls.is_empty());
    }

    #[test]
    fn the_same_stall_is_not_reported_in_both_forms() {
        let simulation = Simulation::closed(30, |seq| if seq == 10_000 { 3_000_000_000 } else { 1_000_000 });
        let found = in_rates(&simulation);
        assert_eq!((found.count, found.total_ns), (1, Nanos::from_secs(3)));
    }

    #[test]
    fn a_heavy_tail_of_many_clients_is_no_stall() {
        let simulation = Simulation::closed(60, |seq| if seq % 100 == 99 { 80_000_000 } else { 500_000 });
        let many = simulation.with(|point| point.trial.load.clients = 8);
        assert!(many.findings("stall").is_empty());
    }

    #[test]
    fn no_stall_is_found_in_exponential_service_times() {
        for seed in costly_seeds() {
            let mut random = Random::new(seed);
            let simulation = Simulation::closed(10, |_| random.exponential(1_000_000.0) as u64);
            assert!(simulation.findings("stall").is_empty(), "seed {seed}");
        }
    }
}
