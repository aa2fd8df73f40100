//! How much something does at several numbers of clients or depths: how much at most, from where on no more, and why.
//!
//! In: a run whose points differ in clients and depth, and at most in the sort of work besides. Out: the rates as a table over the steps, and
//! claims. Limits: three sorts of work; four steps besides the best have a column.

use super::super::disturbance::{self, Disturbed};
use super::super::speech::{amount, number_word, short_enough};
use super::super::thing::{GAIN_MIN, Thing, first_fall, is_clearly_below};
use super::super::{AnswerColumn, AnswerParts, AnswerRow, AnswerTable, AskedRun, COLUMNS_MAX, Claim, ClaimKind};
use super::super::{bottleneck, conditions::conditions, wakeups};
use super::{many_sweeps, timeline};
use crate::points::step_steadiness::{StepVariation, least_and_most_varied};
use crate::points::sweep::{ScalingAxis, SweepStep};
use crate::{Code, Role};
use words::quantity::{percent, time};

/// More sorts of work are no single sweep.
const THINGS_MAX: usize = 3;
/// The same of a plan that says that it is one.
const THINGS_ASKED_MAX: usize = 8;
/// More claims about disturbances are left to the details.
const DISTURBANCES_MAX: usize = 2;
/// Response times that grow by so much show that more clients only wait.
const WAITS: f64 = 1.5;

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let things = Thing::all(run);
    let is_asked_otherwise = run.stated_comparison().is_some_and(|key| !["clients", "depth"].contains(&key));
    let is_asked = run.asks_along_axis_only();
    let things_max = if is_asked { THINGS_ASKED_MAX } else { THINGS_MAX };
    let is_sweep = (1..=things_max).contains(&things.len())
        && things.iter().any(Thing::is_swept)
        && things.iter().all(|thing| thing.first().workload == things[0].first().workload)
        && (is_asked
            || things.iter().all(|thing| thing.distinguishing.iter().all(|setting| setting.role == Role::Work)));
    if is_asked_otherwise || !is_sweep || timeline::is_asked(run, &things) || !run.analysis.searches.is_empty() {
        return None;
    }
    let mut claims: Vec<Claim> = match rising_together(&things) {
        _ if things.len() > THINGS_MAX => many_sweeps::claims(&things),
        Some(both) => vec![both],
        None => things.iter().map(rate_claim).collect(),
    };
    claims.extend(steadiness(run, &things));
    claims.extend(Thing::unusable(run));
    claims.extend(wakeups::claim(&things));
    claims.extend(bottleneck::claims(run, &things.iter().collect::<Vec<_>>()));
    claims.extend(things.iter().find_map(|thing| bottleneck::claim_of_first_step(run, thing)));
    claims.extend(disturbances(&things));
    Some(AnswerParts {
        question: question(&things),
        table: Some(table(&things)),
        claims,
        next: things.iter().filter(|_| has_one_workload(run)).find_map(more_steps),
    })
}

/// `In intervals of 1 s its rate varies by 3.4 % with one client and by 12 % with 32 clients.`, of one sort of work, if the plan asks how steady it
/// is.
fn steadiness(run: &AskedRun, things: &[Thing]) -> Option<Claim> {
    let ([thing], true) = (things, run.stated_question().is_some_and(|question| question.contains("stead"))) else {
        return None;
    };
    let length_s = thing.first().series.as_ref()?.counted_intervals().first()?.length_s;
    let ends = least_and_most_varied(&thing.sweep)?;
    let at = |end: &StepVariation| -> Option<String> {
        let is_it = |step: &&SweepStep| thing.sweep.place(step) == end.place;
        Some(format!("{} {}", percent(end.variation.mean), thing.place(thing.sweep.steps.iter().find(is_it)?)))
    };
    let sentence = format!(
        "In intervals of {} its rate varies by {} and by {}.",
        time(length_s * 1e9),
        at(&ends[0])?,
        at(&ends[1])?
    );
    let claim = Claim::new(ClaimKind::Rate, sentence);
    Some(ends.iter().fold(claim, |claim, end| claim.figure("variation", end.variation.mean, None)))
}

fn question(things: &[Thing]) -> String {
    let of = match things[0].sweep.axis {
        ScalingAxis::Depth => "requests at a time",
        _ => "clients",
    };
    format!("How much does {} do, and with how many {of}?", things[0].who())
}

/// What disturbed the steps, with where that was.
pub(in super::super) fn disturbances(things: &[Thing]) -> Vec<Claim> {
    // How well a rate is known is a matter of trust.
    const OF_TRUST: [Code; 3] = [Code::WideInterval, Code::Unsteady, Code::NotSteady];
    let mut points = Vec::new();
    for thing in things {
        for step in &thing.sweep.steps {
            let subject = [thing.who_begins(), thing.place(step)].join(" ").trim_end().to_owned();
            points.extend(step.points.iter().map(|point| Disturbed { point, subject: subject.clone() }));
        }
    }
    let mut claims = disturbance::claims(&points, &OF_TRUST);
    claims.truncate(DISTURBANCES_MAX);
    claims
}

/// How much `thing` does at most, and what becomes of it beyond.
pub(in super::super) fn rate_claim(thing: &Thing) -> Claim {
    let sweep = &thing.sweep;
    let (best, knee, last) = (sweep.best(), sweep.knee(), sweep.last());
    let reached = thing.reached(best);
    let clause = thing.clause(reached.rate.mean, best);
    let claim = |kind: ClaimKind, tail: String| {
        let sentence = short_enough(vec![format!("{clause}{tail}."), format!("{clause}.")]);
        thing.with_figure(Claim::new(kind, sentence), &reached)
    };
    let p99 = || reached.p99_ns.map_or(String::new(), |ns| format!(" (p99 {})", time(ns as f64)));
    if !thing.is_swept() {
        return claim(ClaimKind::Rate, p99());
    }
    if let Some(fallen) = first_fall(sweep) {
        let lower = thing.reached(fallen);
        let less = percent(1.0 - lower.rate.mean / reached.rate.mean);
        let tail = format!(" and only {} {} ({less} less)", amount(lower.rate.mean), thing.place(fallen));
        return thing.with_figure(claim(ClaimKind::Scaling, tail), &lower);
    }
    if std::ptr::eq(best, last) && std::ptr::eq(knee, last) {
        let more = if thing.is_rising() { " and can do more" } else { "; whether more would help is not known" };
        return claim(ClaimKind::Scaling, more.to_owned());
    }
    let at_knee = thing.reached(knee);
    if !is_clearly_below(best, knee) {
        let tail = slight_gain(thing, knee).unwrap_or_else(|| no_gain(thing, knee));
        let sentence = format!("{}; {tail}.", thing.clause(at_knee.rate.mean, knee));
        return thing.with_figure(Claim::new(ClaimKind::Scaling, sentence), &at_knee);
    }
    let share = percent(at_knee.rate.mean / reached.rate.mean);
    let tail = format!(", and {share} of that already {}", thing.place(knee));
    thing.with_figure(claim(ClaimKind::Scaling, tail), &at_knee)
}

/// `32 clients add 8.3 %, no more than the noise, and wait longer (p99 1.35 ms)`, if the best is another step whose gain would matter.
fn slight_gain(thing: &Thing, knee: &SweepStep) -> Option<String> {
    let best = thing.sweep.best();
    let [reached, at_knee] = [best, knee].map(|step| thing.reached(step));
    let gain = reached.rate.mean / at_knee.rate.mean - 1.0;
    let place = thing.place(best);
    let more = place.strip_prefix("with ")?;
    let p99 = reached.p99_ns.map_or(String::new(), |ns| format!(" (p99 {})", time(ns as f64)));
    let waits = at_knee.p99_ns.zip(reached.p99_ns).is_some_and(|(few, many)| many as f64 >= WAITS * few as f64);
    let how = if waits { format!(" and wait longer{p99}") } else { p99 };
    (gain >= GAIN_MIN).then(|| format!("{more} add {}, no more than the noise,{how}", percent(gain)))
}

/// `more clients only wait longer (p99 25 ms with 16)`
fn no_gain(thing: &Thing, from: &SweepStep) -> String {
    let last = thing.sweep.last();
    let more = if thing.sweep.axis == ScalingAxis::Depth { "more requests" } else { "more clients" };
    let of = if thing.sweep.axis == ScalingAxis::Depth { last.depth } else { last.clients };
    match from.p99_ns().zip(last.p99_ns()) {
        Some((before, after)) if after as f64 >= WAITS * before as f64 => {
            format!("{more} only wait longer (p99 {} with {})", time(after as f64), number_word(of))
        }
        _ => format!("{more} do not help"),
    }
}

/// `Reads and writes still rise at depth 64: 50,100 and 54,700 per second.`
fn rising_together(things: &[Thing]) -> Option<Claim> {
    let [one, other] = things else { return None };
    let is_rising = |thing: &Thing| {
        let sweep = &thing.sweep;
        std::ptr::eq(sweep.knee(), sweep.last()) && sweep.is_rise_shown()
    };
    let [last, other_last] = [one, other].map(|thing| thing.sweep.last());
    let is_one_place = (last.clients, last.depth) == (other_last.clients, other_last.depth);
    if !(is_rising(one)
        && is_rising(other)
        && is_one_place
        && one.unit != other.unit
        && one.unit.per() == other.unit.per())
    {
        return None;
    }
    let [rate, other_rate] = [one.reached(last), other.reached(other_last)];
    let sentence = format!(
        "{} and {} still rise {}: {} and {} {}.",
        words::list::capital(one.unit.plural()),
        other.unit.plural(),
        one.place(last),
        amount(rate.rate.mean),
        amount(other_rate.rate.mean),
        one.unit.per()
    );
    let claim = one.with_figure(Claim::new(ClaimKind::Scaling, sentence), &rate);
    Some(other.with_figure(claim, &other_rate))
}

/// Whether all of its plan is of one workload. What measures several, such as `plimsoll quick`, takes no numbers of clients or depths.
fn has_one_workload(run: &AskedRun) -> bool {
    let trials = &run.analysis.meta.plan.trials;
    trials.iter().all(|trial| trial.workload.name == trials[0].workload.name)
}

/// `Go on: --depth 128,256.`, if the rate still rises at the last step.
fn more_steps(thing: &Thing) -> Option<String> {
    let sweep = &thing.sweep;
    if !std::ptr::eq(sweep.knee(), sweep.last()) || sweep.steps.len() < 2 {
        return None;
    }
    let (flag, last) = match sweep.axis {
        ScalingAxis::Clients => ("--clients", sweep.last().clients),
        ScalingAxis::Depth => ("--depth", sweep.last().depth),
        ScalingAxis::None | ScalingAxis::Both => return None,
    };
    Some(format!("Go on: {flag} {},{}.", last.saturating_mul(2), last.saturating_mul(4)))
}

/// Where a step is: clients and depth.
type ClientsAndDepth = (u32, u32);

/// Rate, payload and p99 of each thing over the steps.
fn table(things: &[Thing]) -> AnswerTable {
    let places = columns(things);
    let all = steps_of(things).len();
    let axis = things.iter().map(|thing| thing.sweep.axis).find(|axis| *axis != ScalingAxis::None);
    let (head, heads): (&str, fn(&ClientsAndDepth) -> String) = match axis {
        Some(ScalingAxis::Depth) => ("depth", |(_, depth)| depth.to_string()),
        Some(ScalingAxis::Both) => ("clients x depth", |(clients, depth)| format!("{clients} x {depth}")),
        _ => ("clients", |(clients, _)| clients.to_string()),
    };
    let mut conditions = conditions(things);
    if places.len() < all {
        let shown = format!("{} of {all} steps shown", places.len());
        conditions = if conditions.is_empty() { shown } else { format!("{conditions}; {shown}") };
    }
    let rows = if things.len() > THINGS_MAX {
        many_sweeps::rows(things, &places)
    } else {
        things.iter().flat_map(|thing| rows(thing, &places, things.len() > 1)).collect()
    };
    let unit = if things.len() > THINGS_MAX { "per second, by " } else { "" };
    AnswerTable {
        head: format!("{unit}{head}"),
        columns: places.iter().map(|place| AnswerColumn { head: heads(place) }).collect(),
        rows,
        rows_of: 0,
        conditions,
    }
}

fn rows(thing: &Thing, places: &[ClientsAndDepth], is_named: bool) -> Vec<AnswerRow> {
    let name = |what: &str| if is_named { vec![thing.object(), what.to_owned()] } else { vec![what.to_owned()] };
    let is_io = thing.first().traits.work.io.is_some();
    let name =
        |what: &str| if is_named && is_io { vec![thing.unit.plural().to_owned(), what.to_owned()] } else { name(what) };
    let rate = if is_io { "per second".to_owned() } else { thing.unit.head() };
    let row = |what: &str, cell: &dyn Fn(&SweepStep) -> Option<super::super::AnswerCell>| AnswerRow {
        name: name(what),
        cells: places.iter().map(|place| thing.step_at(*place).and_then(cell)).collect(),
    };
    let all = [
        row(&rate, &|step| Some(thing.rate_cell(step))),
        row("MB/s", &|step| thing.payload_cell(step)),
        row("p99", &|step| thing.time_cell(step, 0.99, "response_p99_ns")),
    ];
    all.into_iter().filter(|row| row.cells.iter().any(Option::is_some)).collect()
}

/// The steps of all things, by the operations in flight.
fn steps_of(things: &[Thing]) -> Vec<ClientsAndDepth> {
    let mut all: Vec<ClientsAndDepth> =
        things.iter().flat_map(|thing| &thing.sweep.steps).map(|step| (step.clients, step.depth)).collect();
    all.sort_by_key(|(clients, depth)| (u64::from(*clients) * u64::from(*depth), *clients));
    all.dedup();
    all
}

/// The steps that have a column: all if they are few; else the first, the last, those that claims name, and some between them.
fn columns(things: &[Thing]) -> Vec<ClientsAndDepth> {
    let all = steps_of(things);
    let most = COLUMNS_MAX - 1;
    if all.len() <= most {
        return all;
    }
    let named = things.iter().flat_map(|thing| {
        let sweep = &thing.sweep;
        [Some(sweep.best()), first_fall(sweep), Some(sweep.knee())].into_iter().flatten()
    });
    let ends = [all[0], all[all.len() - 1]];
    let named = ends.into_iter().chain(named.map(|step| (step.clients, step.depth)));
    let mut kept: Vec<usize> = Vec::new();
    for place in named {
        let at = all.iter().position(|other| *other == place).unwrap_or(0);
        if kept.len() < most && !kept.contains(&at) {
            kept.push(at);
        }
    }
    while kept.len() < most {
        let distance = |at: &usize| kept.iter().map(|other| at.abs_diff(*other)).min().unwrap_or(0);
        let farthest = (0..all.len()).max_by_key(distance).unwrap_or(0);
        kept.push(farthest);
    }
    kept.sort_unstable();
    kept.into_iter().map(|at| all[at]).collect()
}

#[cfg(test)]
mod tests {
    use crate::answer::Answer;
    use crate::answer::{AnswerKind, AskedRun};
    use crate::simulated::{Simulation, params, run_of};
    use crate::{analyse, answer as answer_of};
    use model::{Bytes, Nanos, Pacing, Value};

    /// Steps of a file's reads or writes at these depths.
    fn file(mode: &str, steps: &[(u32, u64)]) -> Vec<Simulation> {
        let point = |(depth, rate): &(u32, u64)| {
            Simulation::counts(&[*rate; 20]).with(|point| {
                (point.trial.target.engine, point.trial.workload.name) = ("file".into(), "file".into());
                point.trial.workload.params = params(&[
                    ("mode", Value::Word(mode.into())),
                    ("block", Value::Bytes(Bytes(16_384))),
                    ("direct", Value::Bool(true)),
                ]);
                point.trial.load.pacing = Pacing::Closed { think: Nanos(1) };
                point.trial.load.depth = *depth;
                let rows = point.phases[0].intervals.iter_mut().flat_map(|interval| &mut interval.kinds);
                rows.for_each(|row| row.bytes = row.ok * 16_384);
            })
        };
        steps.iter().map(point).collect()
    }

    /// Steps of transactions at these numbers of clients, whose operations take so long.
    fn transactions(steps: &[(u32, u64, u64)]) -> Vec<Simulation> {
        let point = |(clients, rate, ns): &(u32, u64, u64)| {
            let mut simulation = Simulation::counts(&[0; 20]);
            (0..20).for_each(|at| {
                simulation.add(at, *rate, *ns, *ns);
            });
            simulation.with(|point| {
                point.trial.load.clients = *clients;
                point.trial.load.pacing = Pacing::Closed { think: Nanos(1) };
                point.kinds[0].queries_per_op = 16.0;
            })
        };
        steps.iter().map(point).collect()
    }

    fn answered(points: Vec<Simulation>) -> Answer {
        answer_of(&analyse(&run_of(points.into_iter().map(Simulation::point).collect(), Vec::new())))
    }

    fn first(points: Vec<Simulation>) -> String {
        let answer = answered(points);
        assert_eq!(answer.kind, AnswerKind::Sweep);
        answer.claims[0].sentence.clone()
    }

    #[test]
    fn a_rate_that_levels_says_from_where_on_and_that_more_only_wait() {
        let told = first(transactions(&[(1, 20_300, 40_000), (4, 35_234, 100_000), (16, 34_800, 440_000)]));
        let expected = "Sqlite serves 35,200 transactions per second with four clients; more clients only wait longer (p99 440 us with 16).";
        assert_eq!(told, expected);
        let later = first(transactions(&[(1, 20_300, 40_000), (4, 34_500, 100_000), (8, 36_000, 150_000)]));
        assert_eq!(
            later,
            "Sqlite serves 36,000 transactions per second with eight clients, and 96 % of that already with four clients."
        );
    }

    #[test]
    fn a_rate_that_falls_names_the_first_step_after_which_it_does() {
        let told =
            first(transactions(&[(1, 5_630, 100_000), (2, 614, 900_000), (4, 600, 2_000_000), (8, 610, 4_000_000)]));
        let expected =
            "Sqlite serves 5,630 transactions per second with one client and only 614 with two clients (89 % less).";
        assert_eq!(told, expected);
    }

    #[test]
    fn reads_and_writes_that_still_rise_are_one_claim_and_the_next_depths_the_next_step() {
        let reads = file("rndrd", &[(1, 11_416), (4, 17_551), (16, 32_794), (64, 50_119)]);
        let writes = file("rndwr", &[(1, 11_026), (4, 21_945), (16, 28_081), (64, 54_716)]);
        let answer = answered([reads.clone(), writes].concat());
        let expected = "Reads and writes still rise with 64 requests at a time: 50,100 and 54,700 per second.";
        assert_eq!(answer.claims[0].sentence, expected);
        assert_eq!(answer.claims[0].figures.len(), 2);
        assert_eq!(answer.next.as_deref(), Some("Go on: --depth 128,256."));
        let table = answer.table.unwrap();
        assert_eq!((table.head.as_str(), table.rows.len()), ("depth", 6));
        assert_eq!(table.rows[0].name, ["reads", "per second"]);
        assert_eq!(table.rows[0].cells[3].as_ref().unwrap().text, "50,100");
        assert_eq!(table.conditions, "16 KiB, random, direct I/O, 1 client, 20 s a point");
        let alone = first(reads);
        let expected =
            "The disk reads 50,100 random blocks of 16 KiB per second with 64 requests at a time and can do more.";
        assert_eq!(alone, expected);
    }

    #[test]
    fn a_plan_of_several_workloads_is_not_told_to_go_on_with_more_steps() {
        let points = file("rndrd", &[(16, 20_000), (64, 50_000)]).into_iter().map(Simulation::point);
        let mut analysis = analyse(&run_of(points.collect(), Vec::new()));
        let goes_on = |analysis: &crate::Analysis| super::has_one_workload(&AskedRun { analysis, rows: analysis });
        assert!(goes_on(&analysis));
        let mut other = analysis.meta.plan.trials[0].clone();
        other.workload.name = "oltp".into();
        analysis.meta.plan.trials.push(other);
        assert!(!goes_on(&analysis));
    }

    #[test]
    fn of_many_steps_the_table_has_five_with_the_first_the_best_and_the_last() {
        let rates = [1_000, 2_000, 3_000, 4_000, 5_000, 5_500, 5_000, 4_500, 4_000];
        let steps: Vec<(u32, u64)> = rates.iter().enumerate().map(|(nth, rate)| (1 << nth, *rate)).collect();
        let table = answered(file("rndrd", &steps)).table.unwrap();
        let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
        assert_eq!(heads.len(), 5);
        assert!(["1", "32", "128", "256"].iter().all(|head| heads.contains(head)), "{heads:?}");
        assert!(table.conditions.ends_with("; 5 of 9 steps shown"), "{}", table.conditions);
    }

    #[test]
    fn a_plan_that_asks_how_steady_it_is_is_told_by_how_much_the_rate_varies() {
        let step = |(clients, swing): (u32, u64)| {
            let counts: Vec<u64> =
                (0..40).map(|nth| if nth % 2 == 0 { 1_000 + swing } else { 1_000 - swing }).collect();
            Simulation::counts(&counts).with(|point| point.trial.load.clients = clients).point()
        };
        let mut run = run_of([(1, 20), (4, 50), (8, 200)].map(step).to_vec(), Vec::new());
        let claims = |run: &model::RunData| answer_of(&analyse(run)).claims;
        assert!(claims(&run).iter().all(|claim| !claim.sentence.contains("varies by")));
        run.meta.plan.asked.question = Some("How steady is it, and do more clients help?".into());
        let varied = "In intervals of 1.00 s its rate varies by 2.0 % with one client and by 20 % with eight clients.";
        assert_eq!(claims(&run)[1].sentence, varied);
    }

    #[test]
    fn other_settings_that_vary_make_no_sweep() {
        let mut points = transactions(&[(1, 2_000, 100_000), (4, 3_000, 100_000)]);
        points.extend(transactions(&[(1, 2_000, 100_000), (4, 3_000, 100_000)]));
        for point in &mut points[2..] {
            point.recorded.trial.target.engine = "fjall".into();
        }
        assert_ne!(answered(points).kind, AnswerKind::Sweep);
    }
}
