//! One point, or few one after the other, over time: the level, what disturbs it, how often, and where it shifts.
//!
//! In: a run of few points of one workload that differ at most in the sort of work. Out: their rates and times as a table, and claims from the
//! findings about their course. Limits: a rate with two levels is claimed as both, and never as their mean.

use super::super::disturbance::{self, Disturbed, are_steady, seconds_at};
use super::super::recorded_loss::load_words;
use super::super::speech::amount;
use super::super::thing::{Reached, Thing};
use super::super::{AnswerCell, AnswerColumn, AnswerParts, AnswerRow, AnswerTable, AskedRun, Claim, ClaimKind};
use super::super::{bottleneck, conditions::conditions};
use crate::findings::overload::Overload;
use crate::findings::stall::Stalls;
use crate::points::sweep::SweepStep;
use crate::{Code, Detail, DetailKind, PointAnalysis, Role};
use words::quantity::{percent, plural, time, whole};

/// More are no timeline.
const POINTS_MAX: usize = 4;
/// The most points that are described one after the other, if the plan asks nothing about clients.
const STEPS_MAX: usize = 2;
/// A point must be so long, in seconds, to be called steady.
const STEADY_MIN_S: f64 = 10.0;
/// A p99 of so many medians is not what its users call steady, however even the rate is.
const TAIL_LONG: f64 = 20.0;

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let things = Thing::all(run);
    let points = run.rows.points.len();
    let is_timeline = (1..=POINTS_MAX).contains(&points)
        && !things.is_empty()
        && (things.iter().all(|thing| thing.sweep.steps.len() == 1) || is_asked(run, &things))
        && things.iter().all(|thing| thing.first().workload == things[0].first().workload)
        && things.iter().all(|thing| thing.distinguishing.iter().all(|setting| setting.role == Role::Work));
    if run.stated_comparison().is_some() || !is_timeline || !run.analysis.searches.is_empty() {
        return None;
    }
    let mut claims: Vec<Claim> = Vec::new();
    for (thing, step) in steps_of(&things) {
        claims.extend(course(thing, step, points > 1));
    }
    // The level of each comes before what disturbs one of them.
    claims.sort_by_key(|claim| claim.kind == ClaimKind::Disturbance);
    // Of several the reader asks first which of them were steady.
    let at = if points > 1 { 0 } else { claims.len() };
    claims.splice(at..at, steadiness(run, &things));
    claims.extend(Thing::unusable(run));
    claims.extend(bottleneck::claims(run, &things.iter().collect::<Vec<_>>()));
    Some(AnswerParts {
        question: format!("How much does {} do, and how steadily?", things[0].who()),
        table: Some(table(&things)),
        claims,
        next: None,
    })
}

/// Whether the plan asks how few points went, one after the other: it has a question, and nothing along which it looks.
pub(super) fn is_asked(run: &AskedRun, things: &[Thing]) -> bool {
    run.stated_question().is_some()
        && run.stated_axis().is_none()
        && run.stated_comparison().is_none()
        && run.rows.points.len() <= POINTS_MAX
        && things.iter().all(|thing| thing.sweep.steps.len() <= STEPS_MAX)
}

fn steps_of<'t, 'a>(things: &'t [Thing<'a>]) -> impl Iterator<Item = (&'t Thing<'a>, &'t SweepStep<'a>)> {
    things.iter().flat_map(|thing| thing.sweep.steps.iter().map(move |step| (thing, step)))
}

/// The level of `step`, and what disturbs it.
fn course(thing: &Thing, step: &SweepStep, is_one_of_several: bool) -> Vec<Claim> {
    let level = level_claim(thing, step);
    let place = thing.place(step);
    let subject = match (is_one_of_several, place.is_empty()) {
        (false, _) => "It".to_owned(),
        (true, true) => format!("The rate of {}", thing.whose_work()),
        (true, false) => format!("The rate of {} {place}", thing.whose_work()),
    };
    let points = step.points.iter().map(|point| Disturbed { point, subject: subject.clone() });
    let mut claims = disturbance::claims(&points.collect::<Vec<_>>(), &level.findings);
    claims.insert(0, level);
    claims
}

/// How much `step` does: its level, or each of its levels; of a recorded load, whether it is served.
fn level_claim(thing: &Thing, step: &SweepStep) -> Claim {
    let reached = thing.reached(step);
    if step.points.iter().all(|point| point.is_recorded_load()) {
        return served_claim(thing, step, &reached);
    }
    let courses: Vec<_> = step.points.iter().filter_map(|point| Some((*point, course_of(point)?))).collect();
    // What one repeat of several shows is not how the thing is.
    let is_usual = 2 * courses.len() > step.points.len();
    let courses = courses.into_iter().filter(|_| is_usual);
    let Some((point, (code, course))) = courses.max_by_key(|(_, (code, _))| std::cmp::Reverse(*code as usize)) else {
        let p99 = reached.p99_ns.map_or(String::new(), |ns| format!(" (p99 {})", time(ns as f64)));
        let sentence = format!("{}{p99}.", thing.clause(reached.rate.mean, step));
        return thing.with_figure(Claim::new(ClaimKind::Rate, sentence), &reached);
    };
    // The course is one of operations; an operation may be many rows.
    let ops_per_s = point.summary.as_ref().map_or(0.0, |summary| summary.ops_per_s);
    let per_op = if ops_per_s > 0.0 { reached.rate.mean / ops_per_s } else { 1.0 };
    let per_op = if reached.point.is_some() { per_op } else { 1.0 };
    let clause = |value: f64| thing.clause(value * per_op, step);
    let (sentence, levels) = match course {
        RateLevel::Level(level) => {
            let between = if code == Code::Drops { "drops" } else { "stalls" };
            (format!("{} between {between}", clause(level)), vec![level])
        }
        RateLevel::Average(mean) => (format!("{} on average", clause(mean)), vec![mean]),
        RateLevel::Shift { before, at, after } => {
            let change = after / before - 1.0;
            let more = if change < 0.0 { "less" } else { "more" };
            let change = percent(change.abs());
            (
                format!("{} until {at}, then {} ({change} {more})", clause(before), amount(after * per_op)),
                vec![before, after],
            )
        }
        RateLevel::Shifts { least, most, count } => {
            let sentence = format!(
                "{} at least and {} at most: its level changes {}",
                clause(least),
                amount(most * per_op),
                plural(count, "time")
            );
            (sentence, vec![least, most])
        }
        RateLevel::Jumps { low, high } => {
            (format!("{} or {}: it jumps between the two", clause(low), amount(high * per_op)), vec![low, high])
        }
    };
    let claim = Claim::new(ClaimKind::Rate, format!("{sentence}."));
    let claim = if is_whole(code) { claim.from_finding(code) } else { claim };
    levels.into_iter().fold(claim, |claim, level| claim.figure_of(point.id, "level_per_s", level * per_op))
}

/// `MariaDB keeps up with the recorded load: 1,230 queries per second (p99 4.20 ms).`, or how much of it was done; if much of the recording is
/// missing, it is what is left of that load. Its levels are those of the recording.
fn served_claim(thing: &Thing, step: &SweepStep, reached: &Reached) -> Claim {
    let who = thing.who_begins();
    let (done, work) = (amount(reached.rate.mean), thing.object());
    let load = load_words(step.points.iter().copied());
    let findings = step.points.iter().flat_map(|point| &point.findings);
    let behind = findings.clone().find_map(|finding| Overload::in_detail(&finding.detail));
    let sentence = match behind {
        Some(Overload { replay: Some(replay), late_arrivals, arrivals, .. }) => format!(
            "{who} does not keep up with {load}: it took {} for {} of it, and {} of {} {work} began late.",
            time(replay.took_s * 1e9),
            time(replay.recorded_s * 1e9),
            whole(*late_arrivals as f64),
            whole(*arrivals as f64)
        ),
        Some(behind) => format!(
            "{who} does not keep up with {load}: it did {} of the {work} that were due.",
            percent(behind.done_per_s / behind.offered_per_s)
        ),
        None => {
            let p99 = reached.p99_ns.map_or(String::new(), |ns| format!(" (p99 {})", time(ns as f64)));
            format!("{who} keeps up with {load}: {done} {work} {}{p99}.", thing.unit.per())
        }
    };
    let claim = thing.with_figure(Claim::new(ClaimKind::Rate, sentence), reached);
    if behind.is_some() { claim.from_finding(Code::Overload) } else { claim }
}

/// Whether the level says all that the finding has.
fn is_whole(code: Code) -> bool {
    matches!(code, Code::LevelShift | Code::TwoLevels | Code::Slowdown)
}

/// The level that a rate kept to, in operations per second.
enum RateLevel {
    Level(f64),
    Average(f64),
    Shift { before: f64, at: String, after: f64 },
    Shifts { least: f64, most: f64, count: u64 },
    Jumps { low: f64, high: f64 },
}

/// The course that the findings of `point` tell, and the finding that does; `None` if its rate has one level, which is its mean.
fn course_of(point: &PointAnalysis) -> Option<(Code, RateLevel)> {
    let told = point.findings.iter().filter_map(|finding| {
        let course = match &finding.detail {
            Detail::LevelShift(found) => match found.levels.as_slice() {
                [before, after] => {
                    let at = seconds_at(after.span.from_s, found.interval_ns);
                    RateLevel::Shift { before: before.ops_per_s, at, after: after.ops_per_s }
                }
                levels => {
                    let [least, most] = found.extremes();
                    RateLevel::Shifts { least, most, count: levels.len() as u64 - 1 }
                }
            },
            Detail::TwoLevels(found) => RateLevel::Jumps { low: found.low_per_s, high: found.high_per_s },
            Detail::Slowdown(found) => {
                let at = seconds_at(found.steady_from_ns.as_secs_f64(), found.interval_ns);
                RateLevel::Shift { before: found.begin_per_s, at, after: found.steady_per_s }
            }
            Detail::Drops(found) => RateLevel::Level(found.from_per_s),
            Detail::Stall(Stalls::Rates(found)) => RateLevel::Level(found.usual_per_s),
            Detail::Wave(found) => RateLevel::Average((found.low_per_s + found.high_per_s) / 2.0),
            Detail::Bursts(found) => RateLevel::Average(found.mean_per_s),
            _ => return None,
        };
        Some((finding.code(), course))
    });
    // Several levels say more than the level that drops or stalls interrupt.
    told.max_by_key(|(code, _)| (is_whole(*code), std::cmp::Reverse(*code as usize)))
}

/// The length of the shortest point.
fn shortest_s(things: &[Thing]) -> f64 {
    let seconds = things.iter().flat_map(Thing::points).filter_map(|point| Some(point.summary.as_ref()?.seconds));
    seconds.fold(f64::INFINITY, f64::min)
}

/// `It ran steadily for 300 s: the rate did not stall, drop or drift.`, or which of several did not. `None` if none can be called steady: a
/// shorter run is too short for that, and what must not be used may have been disturbed all the same.
fn steadiness(run: &AskedRun, things: &[Thing]) -> Option<Claim> {
    let is_long = shortest_s(things) >= STEADY_MIN_S;
    let (steady, disturbed): (Vec<_>, Vec<_>) =
        steps_of(things).partition(|(_, step)| are_steady(step.points.iter().copied()));
    let is_disturbed = |point: &PointAnalysis| point.findings.iter().any(|finding| finding.code().is_disturbance());
    if !is_long || steady.is_empty() || disturbed.is_empty() && run.analysis.points.iter().any(is_disturbed) {
        return None;
    }
    let what = match disturbed.as_slice() {
        [] if steady.len() == 1 => "It".to_owned(),
        [] => "All".to_owned(),
        [(thing, step)] => format!("All but {}", [thing.whose_work(), thing.place(step)].join(" ").trim_end()),
        several => format!("{} of {} points", steady.len(), steady.len() + several.len()),
    };
    let shortest = whole(shortest_s(things));
    let sentence = format!("{what} ran steadily for {shortest} s: the rate did not stall, drop or drift.");
    let calm = Claim::new(ClaimKind::Steadiness, sentence);
    Some(if disturbed.is_empty() { long_tail(things).unwrap_or(calm) } else { calm })
}

/// `Its rate is steady, its response time is not: the p99 of 41.0 ms is 50 times the median.` `None` if the tail is short.
fn long_tail(things: &[Thing]) -> Option<Claim> {
    let tails = steps_of(things).filter_map(|(thing, step)| {
        let of = |quantile, figure| Some(thing.time_cell(step, quantile, figure)?.value).filter(|ns| *ns > 0.0);
        let (p50, p99) = (of(0.5, "response_p50_ns")?, of(0.99, "response_p99_ns")?);
        Some((thing, step, p99, p99 / p50))
    });
    let (thing, step, p99, factor) = tails.max_by(|a, b| a.3.total_cmp(&b.3)).filter(|tail| tail.3 >= TAIL_LONG)?;
    let place = if steps_of(things).count() > 1 { format!(" {}", thing.place(step)) } else { String::new() };
    let sentence = format!(
        "Its rate is steady, its response time is not: the p99 of {}{} is {} times the median.",
        time(p99),
        place.trim_end(),
        whole(factor)
    );
    Some(Claim::new(ClaimKind::Caution, sentence).figure("response_p99_ns", p99, None))
}

/// Rate, payload and response times of each step.
fn table(things: &[Thing]) -> AnswerTable {
    let steps: Vec<(&Thing, &SweepStep)> = steps_of(things).collect();
    let is_one_unit = things.iter().all(|thing| thing.unit == things[0].unit);
    let has_payload = steps.iter().any(|(thing, step)| thing.payload_cell(step).is_some());
    let mut heads = vec![if is_one_unit { things[0].unit.head() } else { "per second".to_owned() }];
    heads.extend(has_payload.then(|| "MB/s".to_owned()));
    heads.extend(["p50", "p99", "longest"].map(str::to_owned));
    let row = |(thing, step): &(&Thing, &SweepStep)| {
        let name = match thing.first().traits.work.io {
            Some(_) => thing.unit.plural().to_owned(),
            None => thing.object(),
        };
        let place = thing.short_place(step);
        let mut cells = vec![Some(level_cell(thing, step))];
        cells.extend(has_payload.then(|| thing.payload_cell(step)));
        let times = [(0.5, "response_p50_ns"), (0.99, "response_p99_ns"), (1.0, "response_max_ns")];
        cells.extend(times.map(|(quantile, figure)| thing.time_cell(step, quantile, figure)));
        AnswerRow { name: [name, place].into_iter().filter(|part| !part.is_empty()).collect(), cells }
    };
    AnswerTable {
        head: things[0].who(),
        columns: heads.into_iter().map(|head| AnswerColumn { head }).collect(),
        rows: steps.iter().map(row).collect(),
        rows_of: 0,
        conditions: conditions(things),
    }
}

/// The rate, or both levels.
fn level_cell(thing: &Thing, step: &SweepStep) -> AnswerCell {
    let cell = thing.rate_cell(step);
    let [point] = step.points.as_slice() else { return cell };
    let ops_per_s = point.summary.as_ref().map_or(0.0, |summary| summary.ops_per_s);
    let per_op = if ops_per_s > 0.0 { cell.value / ops_per_s } else { 1.0 };
    let text = match course_of(point) {
        Some((_, RateLevel::Shift { before, after, .. })) => {
            format!("{}, then {}", amount(before * per_op), amount(after * per_op))
        }
        Some((_, RateLevel::Jumps { low, high } | RateLevel::Shifts { least: low, most: high, .. })) => {
            format!("{} to {}", amount(low * per_op), amount(high * per_op))
        }
        _ => return cell,
    };
    AnswerCell { text, ..cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer as answer_of;
    use crate::answer::Answer;
    use crate::answer::AnswerKind;
    use crate::known_answers::series::{SeriesNoise, simulate_counts};
    use crate::simulated::{Random, Simulation, noisy, swinging};

    fn answered(simulation: &Simulation) -> Answer {
        let answer = answer_of(&simulation.analysis());
        assert_eq!(answer.kind, AnswerKind::Timeline);
        answer
    }

    fn told(simulation: &Simulation) -> Vec<String> {
        let claims = answered(simulation).claims;
        claims.into_iter().filter(|claim| claim.kind != ClaimKind::Bottleneck).map(|claim| claim.sentence).collect()
    }

    #[test]
    fn a_quiet_point_has_its_rate_and_is_steady() {
        let told = told(&noisy(1, 300, 20.0, |_| 1_000.0));
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("Sqlite does 1,000 operations per second (p99 "), "{told:?}");
        assert_eq!(told[1], "It ran steadily for 300 s: the rate did not stall, drop or drift.");
    }

    #[test]
    fn an_even_rate_of_operations_some_of_which_take_long_is_not_called_steady() {
        let with_tail = |slow_ns: u64| {
            noisy(1, 300, 20.0, |_| 1_000.0).with(|point| {
                for row in point.phases.iter_mut().flat_map(|phase| &mut phase.intervals).flat_map(|i| &mut i.kinds) {
                    let mut times = model::Times::default();
                    times.record_n(200_000, row.ok - row.ok / 20);
                    times.record_n(slow_ns, row.ok / 20);
                    (row.response, row.service) = (times.clone(), times);
                }
            })
        };
        let told_of = |slow_ns| told(&with_tail(slow_ns)).pop().expect("it has claims");
        assert!(told_of(1_000_000).starts_with("It ran steadily"));
        let long = told_of(10_000_000);
        assert!(
            long.starts_with("Its rate is steady, its response time is not: the p99 of 10.0 ms is 50 times"),
            "{long}"
        );
    }

    #[test]
    fn a_replay_that_took_longer_than_its_recording_did_not_keep_up() {
        use model::{Arrivals, Fact, Nanos, Pacing};
        let replay_with = |service_ns: u64, cut: &str| {
            let due = (0..360_u64).map(|nth| nth * 1_000_000_000 / 60);
            let seconds = if service_ns > 20_000_000 { 29 } else { 7 };
            told(&Simulation::queue(seconds, 1, 60.0, due, |_| service_ns).with(|point| {
                point.trial.load.pacing = Pacing::Open { arrivals: Arrivals::Recorded { per_s: 60.0 } };
                point.trial.phases.run = Nanos::from_secs(86_400);
                point.traits.learn(&Fact::new("recorded.skipped.statements_that_are_cut", cut));
            }))
        };
        let replay = |service_ns: u64| replay_with(service_ns, "0");
        let expected =
            "Sqlite does not keep up with the recorded load: it took 29.0 s for 6.00 s of it, and 359 of 360 ";
        let behind = replay(80_000_000);
        assert!(behind[0].starts_with(expected) && behind[0].ends_with(" began late."), "{behind:?}");
        assert!(replay(1_000_000)[0].starts_with("Sqlite keeps up with the recorded load: "));
        assert!(replay_with(1_000_000, "9")[0].starts_with("Sqlite keeps up with what is left of the recorded load: "));
    }

    #[test]
    fn a_short_point_has_its_rate_and_nothing_is_said_of_steadiness() {
        let told = told(&Simulation::counts(&[2_000; 3]));
        assert_eq!(told.len(), 1, "{told:?}");
    }

    #[test]
    fn a_shift_is_claimed_as_both_levels() {
        let told = told(&noisy(5, 100, 3.0, |at| if at < 40 { 3_920.0 } else { 3_090.0 }));
        assert_eq!(told[0], "Sqlite does 3,920 operations per second until 40.0 s, then 3,090 (21 % less).");
    }

    #[test]
    fn drops_have_their_number_depth_length_and_period() {
        let told = told(&noisy(1, 140, 2.0, |at| if at % 10 == 9 { 2_410.0 } else { 3_880.0 }));
        assert!(told[0].starts_with("Sqlite does 3,880 operations per second"), "{told:?}");
        let drops = "It drops 14 times from 3.88k/s to 2.41k/s (38 % less) for 1.0 s, once every 10.0 s.";
        assert!(told.contains(&drops.to_owned()), "{told:?}");
    }

    #[test]
    fn stalls_waves_and_jumps_are_told_with_what_is_known_of_them() {
        let stalls = told(&noisy(3, 1_800, 5.0, |at| if at % 300 >= 275 { 0.0 } else { 323.0 }));
        assert!(stalls[0].starts_with("Sqlite does 32"), "the level and not the mean: {stalls:?}");
        let expected = "It stood still six times, 150.0 s in all and 25.0 s at most, once every 300.0 s.";
        assert!(stalls.contains(&expected.to_owned()), "{stalls:?}");
        assert!(stalls.iter().all(|one| !one.contains("varies")), "the stalls are why: {stalls:?}");
        let wave = told(&Simulation::counts(&swinging(1_800, 190.0, 25.0, 6.0)));
        assert!(wave[0].ends_with(" operations per second on average."), "{wave:?}");
        assert!(
            wave[1].starts_with("It swings between 35") && wave[1].ends_with(", one wave every 190 s."),
            "{wave:?}"
        );
        let jumps = told(&noisy(1, 200, 3.0, |at| if at / 20 % 2 == 0 { 200.0 } else { 400.0 }));
        assert_eq!(jumps[0], "Sqlite does 200 operations per second or 400: it jumps between the two.");
    }

    /// Courses of 300 intervals as shares of their level, each with the level that must be claimed.
    fn courses(random: &mut Random) -> Vec<Vec<f64>> {
        let at = 60 + (random.uniform() * 180.0) as usize;
        let deep = 0.1 + 0.4 * random.uniform();
        let every = 10 + (random.uniform() * 40.0) as usize;
        let of = |level: &dyn Fn(usize) -> f64| (0..300).map(level).collect::<Vec<f64>>();
        vec![
            of(&|_| 1.0),
            of(&|nth| if nth < at { 1.0 } else { 1.0 - deep }),
            of(&|nth| if nth % every == every - 1 { deep } else { 1.0 }),
            of(&|nth| if nth % every == every - 1 { 0.0 } else { 1.0 }),
            of(&|nth| 1.0 + 0.2 * (std::f64::consts::TAU * nth as f64 / every as f64).sin()),
            of(&|nth| if nth / 15 % 2 == 0 { 1.0 } else { 0.5 }),
            of(&|nth| 1.0 + nth as f64 / 600.0),
        ]
    }

    #[test]
    fn no_claim_contradicts_a_finding() {
        for seed in 0..12 {
            let random = &mut Random::new(seed);
            for (nth, levels) in courses(random).iter().enumerate() {
                let noise = SeriesNoise::white([0.01, 0.05, 0.1][seed as usize % 3]);
                let simulation = simulate_counts(&noise.counts(random, levels), 1);
                let analysis = simulation.analysis();
                let (point, answer) = (&analysis.points[0], answer_of(&analysis));
                let disturbed = point.findings.iter().any(|finding| finding.code().is_disturbance());
                let is_steady = answer.claims.iter().any(|claim| claim.kind == ClaimKind::Steadiness);
                assert!(!(is_steady && disturbed), "seed {seed}, course {nth}: {answer:?}");
                assert_eq!(is_steady, analysis.verdict.steadiness().disturbed == 0, "seed {seed}, course {nth}");
                let levels = point.shape.as_ref().map_or(&[][..], |shape| &shape.levels);
                let has = |code: Code| point.findings.iter().any(|finding| finding.code() == code);
                if has(Code::LevelShift) {
                    let claimed: Vec<f64> = answer.claims[0].figures.iter().map(|figure| figure.value).collect();
                    let known = |value: &f64| levels.iter().any(|level| (level.ops_per_s / value - 1.0).abs() < 0.01);
                    assert!(claimed.len() == 2 && claimed.iter().all(known), "seed {seed}, course {nth}: {answer:?}");
                }
                for claim in &answer.claims {
                    let words = claim.sentence.split_whitespace().count();
                    assert!(words <= crate::answer::WORDS_MAX && claim.sentence.ends_with('.'), "{}", claim.sentence);
                    assert!(claim.findings.iter().all(|code| has(*code)), "{claim:?}");
                }
            }
        }
    }
}
