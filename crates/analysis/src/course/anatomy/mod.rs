//! The anatomy of stalls and drops: which counters moved with them, and what the server logged at the time.
//!
//! In: a point, the part of its run phase that counts, and the shape of that. Out: [`StallCauses`].
//! Limits: it shows what moved at the same time, which is no proof of a cause; three dips that lie apart are the least that show anything,
//! and counters that move in the same rhythm by chance cannot be distinguished from those that have to do with them. A rate that
//! fell is left out: whatever serves operations falls with them.
//!
//! It follows Yoon, Niu and Mozafari, "DBSherlock: A Performance Diagnostic Tool for Transactional Databases" (SIGMOD 2016): counters are
//! ranked by how much more they move in what is to be explained than in the rest of the run. Three departures. A value is compared with those
//! around it, so that what drifts over the run names nothing. The scale is how far a counter moves in nine of ten other intervals, and not
//! its range: the start of a run widens that. And because a run has hundreds of counters and few stalls, a counter must pass the exact test
//! in `rank.rs`, corrected for the number of counters that were tested (Bonferroni).

mod places;
mod rank;
mod tracks;

use crate::course::series::all_counters;
use crate::finding::causes::{DipCause, DipKind, LimitShare, LoggedLine, StallCauses};
use crate::finding::units::Share;
use crate::math::stats::median;
use crate::recorded::window::Window;
use crate::{CounterSeries, Shape, Span};
use model::{CounterRole, EventKind, PointData};
use places::ComparedPlaces;
use rank::{agreeing, chance_of_rank};
use tracks::{Placed, Side, Track};

/// How many counters are named at most.
const CAUSES_MAX: usize = 8;
/// How many lines of the server's log are kept at most.
const LINES_MAX: usize = 20;
/// Of runs in which nothing moved with the stalls but by chance, a counter is named in no larger share.
const CHANCE_MAX: f64 = 0.02;
/// A counter must move at least as far as in nine of ten other intervals, unless it is nearly at its limit.
const SCORE_MIN: f64 = 1.0;
/// The highest score: a counter that moves in the dips only would have an infinite one.
const SCORE_MAX: f64 = 100.0;
/// A rate must be so many times that around the dip.
const RATE_TIMES_MIN: f64 = 1.2;
/// A level that is reached in more of the other intervals describes no stall.
const ELSEWHERE_MAX: f64 = 0.2;

/// What moved with the stalls and drops of `point`, and what its server logged at the time; `None` if neither is known.
pub fn find_causes(point: &PointData, window: &Window, shape: &Shape) -> Option<StallCauses> {
    let interval_s = point.trial.phases.interval.as_secs_f64();
    let dips = dip_spans(shape);
    let places = ComparedPlaces::new(&dips, seen_intervals(window, shape).into_iter(), interval_s);
    let (tested, mut causes) =
        places.as_ref().map_or((0, Vec::new()), |places| test_counters(places, all_counters(point, window)));
    let moved = causes.len();
    causes.truncate(CAUSES_MAX);
    let dips = places.map_or(dips, |places| places.dips);
    let log = lines_at(point, window, &dips, interval_s);
    let logged = dips.iter().filter(|dip| log.iter().any(|line| is_at(line.at_s, dip, interval_s))).count();
    let found = StallCauses { dips: kind_of(shape), count: dips.len(), tested, moved, causes, logged, log };
    (!found.causes.is_empty() || !found.log.is_empty()).then_some(found)
}

/// The whole intervals of the run phase in which plimsoll itself ran.
fn seen_intervals(window: &Window, shape: &Shape) -> Vec<Span> {
    let intervals = window.whole.iter().map(|tally| {
        let from_s = window.seconds_at(tally.start);
        Span { from_s, to_s: from_s + tally.length.as_secs_f64() }
    });
    intervals.filter(|span| !shape.own_gaps.has_delayed(span)).collect()
}

/// The stalls and drops in order of time.
fn dip_spans(shape: &Shape) -> Vec<Span> {
    let stalls = shape.stalls.iter().map(|stall| stall.span);
    let mut all: Vec<Span> = stalls.chain(shape.drops.iter().map(|drop| drop.span)).collect();
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    all
}

fn kind_of(shape: &Shape) -> DipKind {
    match (shape.stalls.is_empty(), shape.drops.is_empty()) {
        (false, true) => DipKind::Stalls,
        (true, _) => DipKind::Drops,
        (false, false) => DipKind::StallsAndDrops,
    }
}

/// How many counters were tested at `places`, and those that moved with the dips.
fn test_counters(places: &ComparedPlaces, counters: impl Iterator<Item = CounterSeries>) -> (usize, Vec<DipCause>) {
    let (mut tested, mut moved, mut limits) = (0, Vec::new(), Vec::new());
    for counter in counters {
        limits.extend(limit_in(&counter));
        for side in tracks::sides_of(&counter) {
            let Some(track) = Track::place(&counter, *side, places) else { continue };
            tested += 1;
            moved.extend(judge(&counter, *side, &track));
        }
    }
    let mut causes: Vec<DipCause> = moved
        .into_iter()
        .filter_map(|cause| {
            let chance = cause.chance * tested as f64;
            (chance <= CHANCE_MAX).then_some(DipCause { chance, ..cause })
        })
        .map(|cause| with_limit(cause, &limits))
        .filter(|cause| cause.is_full() || cause.score >= SCORE_MIN)
        .collect();
    causes.sort_by(|a, b| b.is_full().cmp(&a.is_full()).then(b.score.total_cmp(&a.score)));
    drop_twins(&mut causes);
    (tested, causes)
}

/// What `track` of `counter` shows, with the chance that one counter alone would do so; `None` if it moved too little.
fn judge(counter: &CounterSeries, side: Side, track: &Track) -> Option<DipCause> {
    let needed = agreeing(track.dips.len());
    let contrast_at = nth_highest(track.dips.iter().map(|place| place.contrast()), needed)?;
    let score = (track.median_of_dips(Placed::contrast)? / track.usual_move()).min(SCORE_MAX);
    let [during, usual] = [track.median_of_dips(|place| place.value)?, track.median_of_dips(|place| place.around)?];
    let moved_enough = counter.is_level() || during >= RATE_TIMES_MIN * usual;
    if contrast_at <= 0.0 || !moved_enough {
        return None;
    }
    let others = track.quiet.iter().filter(|place| place.contrast() >= contrast_at).count();
    let threshold = nth_highest(track.dips.iter().map(|place| place.value), needed)?;
    let elsewhere =
        track.quiet.iter().filter(|place| place.value >= threshold).count() as f64 / track.quiet.len() as f64;
    let dips = track.dips.iter().filter(|place| place.value >= threshold).count();
    Some(DipCause {
        source: counter.source.clone(),
        subject: counter.subject.clone(),
        counter: counter.name.clone(),
        unit: counter.unit.clone(),
        role: counter.role,
        form: side.form(elsewhere <= ELSEWHERE_MAX),
        dips,
        of: track.all_dips,
        threshold: side.written(threshold),
        limit: None,
        elsewhere: Share(elsewhere),
        during: side.written(during),
        usual: side.written(usual),
        score,
        chance: chance_of_rank(track.dips.len(), track.quiet.len(), others),
    })
}

/// The value that `needed` of `values` reach; `None` if there are fewer.
fn nth_highest(values: impl Iterator<Item = f64>, needed: usize) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(|a, b| b.total_cmp(a));
    all.get(needed.checked_sub(1)?).copied()
}

/// A gauge that limits another of its source.
struct GaugeLimit {
    source: (String, String),
    role: CounterRole,
    name: String,
    most: f64,
}

fn limit_in(counter: &CounterSeries) -> Option<GaugeLimit> {
    let role = counter.role?.limits()?;
    let levels: Vec<f64> = counter.values.iter().map(|(_, level)| *level).collect();
    let most = median(&levels).filter(|most| *most > 0.0)?;
    let source = (counter.source.clone(), counter.subject.clone());
    Some(GaugeLimit { source, role, name: counter.name.clone(), most })
}

/// `cause` with its threshold as a share of its limit, if it has one.
fn with_limit(cause: DipCause, limits: &[GaugeLimit]) -> DipCause {
    let is_own = |limit: &&GaugeLimit| {
        Some(limit.role) == cause.role && limit.source == (cause.source.clone(), cause.subject.clone())
    };
    let limit = limits
        .iter()
        .find(is_own)
        .map(|limit| LimitShare { counter: limit.name.clone(), share: Share(cause.threshold / limit.most) });
    DipCause { limit, ..cause }
}

/// Leaves one of several counters that are the same of different subjects, such as a partition and its disk: that which moved most.
fn drop_twins(causes: &mut Vec<DipCause>) {
    let mut seen: Vec<(String, String)> = Vec::new();
    causes.retain(|cause| {
        let name = (cause.source.clone(), cause.counter.clone());
        let is_new = !seen.contains(&name);
        seen.push(name);
        is_new
    });
}

/// The lines that the server logged at the time of a dip.
fn lines_at(point: &PointData, window: &Window, dips: &[Span], interval_s: f64) -> Vec<LoggedLine> {
    let logged = point.events.iter().filter(|event| event.kind == EventKind::Engine);
    let lines = logged.map(|event| LoggedLine { at_s: window.seconds_at(event.at), text: event.text.clone() });
    let at_dips = lines.filter(|line| dips.iter().any(|dip| is_at(line.at_s, dip, interval_s)));
    at_dips.take(LINES_MAX).collect()
}

/// Whether something that was seen at `at_s` happened in a dip: it is seen up to an interval later.
fn is_at(at_s: f64, dip: &Span, interval_s: f64) -> bool {
    (dip.from_s - interval_s..=dip.to_s + interval_s).contains(&at_s)
}

#[cfg(test)]
mod tests {
    //! Runs with a known answer: counters that cause stalls must be named, and in runs with random stalls none may be.

    use super::places::ComparedPlaces;
    use super::*;
    use crate::finding::causes::CauseForm;
    use crate::simulated::{NOISES, Random, SECOND, Simulation};
    use model::{CounterDef, CounterKind, CounterSample, Event, SourceDef, Tick};

    /// A counter of the source `engine`, read at the end of every second: `levels` of a gauge, or what a rate is in each second.
    fn with_counter(
        simulation: Simulation,
        (name, role): (&str, Option<CounterRole>),
        kind: CounterKind,
        values: &[f64],
    ) -> Simulation {
        simulation.with(|point| {
            let def = CounterDef {
                name: name.into(),
                unit: "bytes".into(),
                kind,
                help: String::new(),
                role,
                in_pages: false,
            };
            let source = point.sources.len() as u16;
            point.sources.push(SourceDef { name: "engine".into(), subject: "test".into(), counters: vec![def] });
            let mut sum = 0.0;
            let first = Some(if kind == CounterKind::Gauge { values[0] } else { 0.0 });
            let mut samples = vec![CounterSample { at: Tick(0), source, values: vec![first] }];
            for (second, value) in (1..).zip(values) {
                sum += value;
                let read = if kind == CounterKind::Gauge { *value } else { sum };
                samples.push(CounterSample { at: Tick(second * SECOND), source, values: vec![Some(read)] });
            }
            point.counters.extend(samples);
        })
    }

    /// So many seconds of about 1,000 operations, and none in those of `dips`.
    fn stalling(seed: u64, seconds: usize, dips: &[usize]) -> Simulation {
        let mut random = Random::new(seed);
        let count = |second: usize| if dips.contains(&second) { 0 } else { (1_000.0 + 30.0 * random.normal()) as u64 };
        Simulation::counts(&(0..seconds).map(count).collect::<Vec<_>>())
    }

    fn causes(simulation: &Simulation) -> StallCauses {
        simulation.figures()
    }

    /// A log that fills in `period` seconds, and is half empty after the stall at each end.
    fn log_age(seconds: usize, period: usize, most: f64) -> Vec<f64> {
        (1..=seconds).map(|second| most * (0.5 + 0.49 * (second % period) as f64 / (period - 1) as f64)).collect()
    }

    const PERIOD: usize = 12;

    fn full_log() -> Simulation {
        // The reading at the end of second 11 of each period is the highest.
        let dips: Vec<usize> = (0..120).filter(|second| second % PERIOD == PERIOD - 1).collect();
        let simulation = stalling(1, 120, &dips);
        let age = log_age(120, PERIOD, 100e6);
        let simulation = with_counter(simulation, ("age", Some(CounterRole::LogAge)), CounterKind::Gauge, &age);
        let most = ("age_max", Some(CounterRole::LogAgeMax));
        // The same source has the limit.
        with_counter(simulation, most, CounterKind::Gauge, &[100e6; 120])
    }

    #[test]
    fn a_log_that_is_full_when_stalls_begin_is_named_with_its_share() {
        let found = causes(&full_log());
        let first = &found.causes[0];
        assert_eq!((found.dips, found.count, first.form), (DipKind::Stalls, 10, CauseForm::LevelAtLeast), "{found:?}");
        let limit = first.limit.as_ref().expect("the source has it");
        assert_eq!((first.counter.as_str(), limit.counter.as_str()), ("age", "age_max"));
        assert!((0.9..1.0).contains(&limit.share.0) && first.is_full() && first.dips >= 8, "{first:?}");
        assert!(first.elsewhere.0 < 0.1, "{first:?}");
        assert_eq!(full_log().finding("stall-cause").next, crate::NextStep::EnlargeLog);
    }

    #[test]
    fn a_rate_that_rises_in_most_stalls_is_named_and_one_that_falls_with_the_operations_is_not() {
        let dips = [20, 41, 55, 78, 90];
        let mut random = Random::new(3);
        let flushed: Vec<f64> = (0..100)
            .map(|second| if dips[..4].contains(&second) { 80e6 } else { 20e6 + 2e6 * random.normal() })
            .collect();
        let made: Vec<f64> = (0..100).map(|second| if dips.contains(&second) { 0.0 } else { 5e6 }).collect();
        let simulation = stalling(2, 100, &dips);
        let simulation = with_counter(simulation, ("flushed", None), CounterKind::Counter, &flushed);
        let simulation = with_counter(simulation, ("log_made", None), CounterKind::Counter, &made);
        let found = causes(&simulation);
        let [only] = &found.causes[..] else { panic!("{found:?}") };
        assert_eq!((only.counter.as_str(), only.form, only.dips, only.of), ("flushed", CauseForm::RateRises, 4, 5));
        assert!((70e6..=80e6).contains(&only.during) && (18e6..22e6).contains(&only.usual), "{only:?}");
    }

    #[test]
    fn two_stalls_name_no_counter_and_have_what_the_server_logged() {
        let dips = [20, 60];
        let flushed: Vec<f64> = (0..100).map(|second| if dips.contains(&second) { 80e6 } else { 20e6 }).collect();
        let simulation = with_counter(stalling(2, 100, &dips), ("flushed", None), CounterKind::Counter, &flushed);
        assert!(simulation.findings("stall-cause").is_empty());
        let logging = simulation.with(|point| {
            let line = |second: u64, text: &str| Event::new(Tick(second * SECOND), EventKind::Engine, text);
            point.events = vec![line(5, "started"), line(21, "checkpoint starting"), line(75, "checkpoint complete")];
        });
        let found = causes(&logging);
        assert_eq!((found.causes.len(), found.tested, found.count, found.logged), (0, 0, 2, 1));
        let lines: Vec<&str> = found.log.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["checkpoint starting"]);
    }

    #[test]
    fn a_level_that_only_drifts_over_the_run_is_not_named_though_all_stalls_are_at_its_end() {
        let dips = [70, 76, 83, 89, 95];
        let grown: Vec<f64> = (0..100).map(|second| 1e6 * f64::from(second)).collect();
        let simulation = with_counter(stalling(2, 100, &dips), ("cached", None), CounterKind::Gauge, &grown);
        assert!(simulation.findings("stall-cause").is_empty(), "{:?}", simulation.findings("stall-cause"));
    }

    /// Dips of one to three seconds at random places of a run of so many seconds.
    fn random_dips(random: &mut Random, seconds: usize, count: usize) -> Vec<Span> {
        let mut dips: Vec<Span> = (0..count)
            .map(|_| {
                let from_s = (1.0 + random.uniform() * (seconds as f64 - 5.0)).floor();
                Span { from_s, to_s: from_s + 1.0 + (random.uniform() * 3.0).floor() }
            })
            .collect();
        dips.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
        dips
    }

    /// A counter that has nothing to do with any dip: noise, a walk, teeth, bursts or a drift, as a rate or as a gauge.
    fn noise(random: &mut Random, number: usize, seconds: usize) -> CounterSeries {
        let (_, noise) = NOISES[number % NOISES.len()];
        let white = noise(random, seconds);
        let period = 3 + (random.uniform() * 40.0) as usize;
        let values: Vec<f64> = match number / NOISES.len() % 5 {
            0 => white,
            1 => white
                .iter()
                .scan(0.0, |sum, step| {
                    *sum += step;
                    Some(*sum)
                })
                .collect(),
            2 => (0..seconds).map(|at| (at % period) as f64).collect(),
            3 => (0..seconds).map(|at| if at % period == 0 { 10.0 } else { random.uniform() }).collect(),
            _ => white.iter().enumerate().map(|(at, value)| at as f64 + value).collect(),
        };
        let is_gauge = number.is_multiple_of(2);
        let spans =
            (0..seconds).map(|at| Span { from_s: at as f64, to_s: at as f64 + if is_gauge { 0.0 } else { 1.0 } });
        let [source, subject, name, unit] = ["noise", "test", "n", "count"].map(str::to_owned);
        let name = format!("{name}{number}");
        CounterSeries { source, subject, name, role: None, unit, values: spans.zip(values).collect() }
    }

    /// In how many of so many runs with 100 counters of noise and random dips something is named.
    fn false_causes(runs: u64, seconds: usize, count: usize) -> usize {
        let named = |seed: &u64| {
            let mut random = Random::new(*seed);
            let dips = random_dips(&mut random, seconds, count);
            let intervals = (0..seconds).map(|at| Span { from_s: at as f64, to_s: at as f64 + 1.0 });
            let Some(places) = ComparedPlaces::new(&dips, intervals, 1.0) else { return false };
            let counters = (0..100).map(|number| noise(&mut random, number, seconds));
            !test_counters(&places, counters).1.is_empty()
        };
        (0..runs).filter(named).count()
    }

    #[test]
    fn in_at_most_5_percent_of_runs_with_random_stalls_and_100_counters_of_noise_is_a_cause_named() {
        for (seconds, count) in [(60, 4), (120, 8)] {
            let named = false_causes(20, seconds, count);
            assert!(named <= 1, "{seconds} s with {count} dips: {named} of 20 runs");
        }
    }

    #[test]
    fn a_counter_that_moves_with_three_of_four_stalls_is_found_among_100_of_noise_in_nearly_all_runs() {
        let found = (0..20).filter(|seed| {
            let mut random = Random::new(*seed);
            let dips = [17.0, 36.0, 58.0, 81.0, 103.0].map(|from_s| Span { from_s, to_s: from_s + 1.0 });
            let intervals = (0..120).map(|at| Span { from_s: f64::from(at), to_s: f64::from(at) + 1.0 });
            let places = ComparedPlaces::new(&dips, intervals, 1.0).expect("they are enough");
            let mut counters: Vec<CounterSeries> = (0..100).map(|number| noise(&mut random, number, 120)).collect();
            let cause = &mut counters[1];
            for (span, value) in &mut cause.values {
                let is_dip = dips[..4].iter().any(|dip| dip.overlap_s(span) > 0.0);
                *value = if is_dip { 40.0 } else { 10.0 } + 3.0 * random.normal();
            }
            test_counters(&places, counters.into_iter()).1.first().is_some_and(|first| first.counter == "n1")
        });
        assert!(found.count() >= 19);
    }
}
