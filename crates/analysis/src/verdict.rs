//! The answer in at most five sentences: how much, how steadily, what held it back, and how far to trust it.
//!
//! In: the analysed points of a run. Out: sentences that fit a line of 78 characters, where there is one that does.
//! Limits: where a line cannot hold all groups of a workload it gives their range; the report has the rest. What no line can hold
//! is whole all the same: documents have room, and a terminal wraps. Groups are set side
//! by side and not ranked: what differs between them may be the work itself. Invalid points are only counted.

use crate::detect::loses_inserts::sentence;
use crate::detect::unlike_durability::durability;
use crate::finding::load::Overload;
use crate::finding::machine::{Limit, LimitEvidence};
use crate::finding::rates::Unsteadiness;
use crate::finding::{Code, DetailKind};
use crate::losses::{Loss, sentences};
use crate::sweep::{Axis, Step, Sweep, sweeps};
use crate::text::{count, megabytes, plural, rate, time};
use crate::{PointAnalysis, Validity};
use std::collections::BTreeMap;

/// What a line of a terminal holds.
pub const LINE_MAX: usize = 78;
/// The most sentences.
pub const LINES_MAX: usize = 5;
/// Lines left for how much, when the limits have theirs and steadiness and trust share one.
const SUBJECTS_MAX: usize = 3;

/// The verdict on `points`, all those of a run.
pub fn verdict(points: &[PointAnalysis]) -> Vec<String> {
    if points.is_empty() {
        return vec!["nothing was measured".to_string()];
    }
    let mut lines = how_much(&sweeps(points));
    lines.extend(what_is_lost(points).into_iter().take(LINES_MAX.saturating_sub(lines.len() + 2)));
    match lines.len() + 3 <= LINES_MAX {
        true => lines.extend([steadiness(points), held_back(points), trust(points)]),
        false => lines.extend([held_back(points), steadiness_and_trust(points)]),
    }
    lines
}

/// One line per group, or per workload where there are too many groups.
fn how_much(sweeps: &[Sweep]) -> Vec<String> {
    if sweeps.is_empty() {
        return vec!["no point has a result that can be used".to_string()];
    }
    if sweeps.len() <= SUBJECTS_MAX {
        return sweeps.iter().map(of_group).collect();
    }
    let mut workloads: Vec<&str> = Vec::new();
    for sweep in sweeps {
        if !workloads.contains(&sweep.workload) {
            workloads.push(sweep.workload);
        }
    }
    let left_out = workloads.len().saturating_sub(SUBJECTS_MAX);
    // Where some must be left out, the last line says how many.
    let shown = if left_out > 0 { SUBJECTS_MAX - 1 } else { workloads.len() };
    let mut lines: Vec<String> = workloads[..shown].iter().map(|workload| of_workload(workload, sweeps)).collect();
    if left_out > 0 {
        lines.push(format!("and {}: see the report", plural(workloads.len() - shown, "more workload")));
    }
    lines
}

/// `storage held to iops=2000: mariadb:innodb loses 64 %, mariadb:rocksdb 21 %`
fn what_is_lost(points: &[PointAnalysis]) -> Vec<String> {
    let line = |losses: &Vec<Loss>| {
        let briefly = |with_place| sentence(losses, Loss::told_briefly, with_place).replacen(" of its inserts", "", 1);
        let once = |text: String| {
            let (before, after) = text.split_once("loses").unwrap_or((&text, ""));
            format!(
                "{before}{}{}",
                if after.is_empty() { "" } else { "loses" },
                after.replace(" loses ", " ").replace("shows no loss", "none shown")
            )
        };
        fit(&[sentence(losses, Loss::told, true), once(briefly(true)), once(briefly(false))])
    };
    // Where nothing was shown there is nothing to say in five lines.
    let is_shown = |losses: &&Vec<Loss>| losses.iter().any(|loss| loss.told().starts_with("loses"));
    sentences(points).iter().filter(is_shown).map(line).collect()
}

/// `file rndrd: 38.2k/s (626 MB/s) at depth 32; p99 1.20 ms; knee at depth 8`
fn of_group(sweep: &Sweep) -> String {
    let (reached, p99, scaling) = (reached(sweep), p99(sweep), scaling(sweep));
    let bodies = match overloaded(sweep) {
        true => vec![
            format!("{reached}: overloaded; percentiles are of served operations only"),
            format!("{reached}: overloaded; percentiles of served ops only"),
            format!("{reached}: overloaded; percentiles of served ops"),
            format!("{reached}: overloaded"),
        ],
        false => {
            let bodies = |reached: &str| {
                [[p99.as_str(), &scaling], [&scaling, ""], [&p99, ""], ["", ""]]
                    .map(|more| format!("{reached}{}", more.concat()))
            };
            let with_beside = beside(sweep).map(|beside| bodies(&format!("{reached}; {beside}")));
            with_beside.into_iter().flatten().chain(bodies(&reached)).collect()
        }
    };
    fit(&headed(sweep.group, &[sweep], &bodies))
}

/// The groups of a workload side by side, or the range of their rates where a line cannot hold them.
fn of_workload(workload: &str, sweeps: &[Sweep]) -> String {
    let own: Vec<&Sweep> = sweeps.iter().filter(|sweep| sweep.workload == workload).collect();
    if let [only] = own.as_slice() {
        return of_group(only);
    }
    let mut bodies = by_setting(&own);
    bodies.extend(one_by_one(&own));
    bodies.push(range(&own));
    fit(&headed(workload, &own, &bodies))
}

/// Each body behind `name`, with the durability that all `sweeps` share named where it is not `disk`: in full, or its word.
fn headed(name: &str, sweeps: &[&Sweep], bodies: &[String]) -> Vec<String> {
    let word = common_durability(sweeps).filter(|word| *word != "disk");
    let heads = match word {
        Some(word) => vec![format!("{name}, durability {word}"), format!("{name} ({word})")],
        None => vec![name.to_string()],
    };
    bodies.iter().flat_map(|body| heads.iter().map(move |head| format!("{head}: {body}"))).collect()
}

/// The durability of all points; `None` where they differ (their groups then have it in their names) or have none.
fn common_durability<'a>(sweeps: &[&Sweep<'a>]) -> Option<&'a str> {
    let points = || sweeps.iter().flat_map(|sweep| &sweep.steps).flat_map(|step| &step.points);
    let first = durability(points().next()?)?;
    points().all(|point| durability(point) == Some(first)).then_some(first)
}

/// `indexes 0: sqlite 8.40k/s, fjall 41.0k/s; indexes 3: 3.20k/s, 22.0k/s`, where each target was measured in each setting.
fn by_setting(own: &[&Sweep]) -> Vec<String> {
    let (mut targets, mut settings) = (Vec::new(), Vec::new());
    for sweep in own {
        let (target, setting) = (target(sweep), setting(sweep));
        if !targets.contains(&target) {
            targets.push(target);
        }
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    if targets.len() < 2 || settings.len() < 2 || targets.len() * settings.len() != own.len() {
        return Vec::new();
    }
    let rate_at = |of: &str, at: &str| {
        let place = own.iter().find(|sweep| target(sweep) == of && setting(sweep) == at);
        place.map_or(String::new(), |sweep| rate_of(sweep))
    };
    let named: Vec<String> = targets.iter().map(|name| format!("{name} {}", rate_at(name, &settings[0]))).collect();
    let first = named.join(", ");
    let rates = |at: &str| targets.iter().map(|name| rate_at(name, at)).collect::<Vec<_>>().join(", ");
    let others: Vec<String> = settings[1..].iter().map(|at| format!("{at}: {}", rates(at))).collect();
    let others = others.join("; ");
    vec![format!("{}: {first}; {others}", settings[0]), format!("{first}; {others}")]
}

/// `rndrd 25.8k/s (423 MB/s), rndwr 31.5k/s (516 MB/s), both at depth 32`
fn one_by_one(own: &[&Sweep]) -> Vec<String> {
    let places: Vec<String> = own.iter().map(|sweep| sweep.place(sweep.best())).collect();
    let same = places.iter().all(|place| *place == places[0]);
    let listed = |bytes: bool, place: bool| {
        let phrases = own.iter().zip(&places).map(|(sweep, own_place)| {
            let bytes = if bytes { amount_of(sweep) } else { String::new() };
            let at = if place && !own_place.is_empty() { format!(" at {own_place}") } else { String::new() };
            format!("{} {}{bytes}{at}", short_name(sweep), rate_of(sweep))
        });
        phrases.collect::<Vec<_>>().join(", ")
    };
    let together = match (same && !places[0].is_empty(), own.len()) {
        (true, 2) => format!(", both at {}", places[0]),
        (true, _) => format!(", all at {}", places[0]),
        (false, _) => String::new(),
    };
    [true, false].into_iter().map(|bytes| listed(bytes, !same) + &together).chain([listed(false, false)]).collect()
}

/// `12 groups, from 3.20k/s (sqlite indexes 3) to 41.0k/s (fjall indexes 0)`
fn range(own: &[&Sweep]) -> String {
    let by_rate = |a: &&&Sweep, b: &&&Sweep| a.best().ops_per_s().total_cmp(&b.best().ops_per_s());
    let shown = |sweep: &Sweep| format!("{} ({})", rate_of(sweep), short_name(sweep));
    let (least, most) = (own.iter().min_by(by_rate), own.iter().max_by(by_rate));
    let ends: Vec<String> = least.into_iter().chain(most).map(|sweep| shown(sweep)).collect();
    format!("{}, from {}", plural(own.len(), "group"), ends.join(" to "))
}

fn target<'a>(sweep: &Sweep<'a>) -> &'a str {
    &sweep.steps[0].points[0].target
}

/// The group without the words of its workload and its target.
fn setting(sweep: &Sweep) -> String {
    let name = short_name(sweep);
    name.strip_prefix(target(sweep)).map_or(name.clone(), |rest| rest.trim_start().to_string())
}

/// The group without the word of its workload, which the line begins with.
fn short_name(sweep: &Sweep) -> String {
    let words: Vec<&str> = sweep.group.split(' ').filter(|word| *word != sweep.workload).collect();
    words.join(" ")
}

/// The best rate, what it amounts to, and where it was reached.
fn reached(sweep: &Sweep) -> String {
    let place = match sweep.axis {
        Axis::None => String::new(),
        _ => format!(" at {}", sweep.place(sweep.best())),
    };
    format!("{}{}{place}", rate_of(sweep), amount_of(sweep))
}

/// The best rate, and what was offered where that was more than could be served: `998/s of 5.00k/s offered`.
fn rate_of(sweep: &Sweep) -> String {
    let best = sweep.best();
    let done = best.ops_per_s();
    let offered = best.points.iter().find_map(|point| point.summary.as_ref()?.offered_per_s);
    match offered.filter(|_| is_overloaded(best)) {
        // Where three digits hide the difference there is none to be told.
        Some(offered) if count(offered) != count(done) => format!("{} of {} offered", rate(done), rate(offered)),
        _ => rate(done),
    }
}

fn overloaded(sweep: &Sweep) -> bool {
    is_overloaded(sweep.best())
}

fn is_overloaded(step: &Step) -> bool {
    step.points.iter().any(|point| {
        point.findings.iter().any(|f| Overload::in_detail(&f.detail).is_some_and(|found| found.is_lasting))
    })
}

/// What the best rate amounts to: rows or queries, where these are not as many, or else payload.
fn amount_of(sweep: &Sweep) -> String {
    let best = sweep.best();
    let differs = |per_s: &f64| count(*per_s) != count(best.ops_per_s());
    let rows = Some(best.rows_per_s()).filter(|rows| *rows > 0.0 && differs(rows));
    let queries = Some(best.queries_per_s()).filter(differs);
    match (rows, queries, best.bytes_per_s()) {
        (Some(rows), ..) => format!(" ({} rows/s)", count(rows)),
        (None, Some(queries), _) => format!(" ({} queries/s)", count(queries)),
        (None, None, bytes) if bytes > 0.0 => format!(" ({})", megabytes(bytes)),
        _ => String::new(),
    }
}

/// Whether clients beside the run kept their rate at the best step.
fn beside(sweep: &Sweep) -> Option<String> {
    let of = |point: &&PointAnalysis| Some(point.summary.as_ref()?.beside.as_ref()?.kept_line());
    sweep.best().points.iter().find_map(of)
}

fn p99(sweep: &Sweep) -> String {
    sweep.best().p99_ns().map_or(String::new(), |ns| format!("; p99 {}", time(ns as f64)))
}

/// Whether more clients or depth pay.
fn scaling(sweep: &Sweep) -> String {
    let (best, knee, last) = (sweep.best(), sweep.knee(), sweep.last());
    match sweep.axis {
        Axis::None => String::new(),
        _ if !std::ptr::eq(knee, best) => format!("; 90 % of it at {}", sweep.place(knee)),
        _ if std::ptr::eq(best, last) => "; still rising".to_string(),
        _ => format!("; {} add nothing", sweep.place(last)),
    }
}

/// `steadiness: 2 of 13 points stalled; 1 not steady; longest 1.85 s: sqlite oltp clients 16`
fn steadiness(points: &[PointAnalysis]) -> String {
    let of = plural(points.len(), "point");
    let [stalled, starved] =
        [Code::Stall, Code::Starvation].map(|code| points.iter().filter(|point| has(point, code)).count());
    let kept_waiting = match (stalled, starved) {
        (0, 0) => format!("no stall in {of}"),
        (0, n) => format!("clients starved in {n} of {of}"),
        (n, 0) => format!("{n} of {of} stalled"),
        (n, m) => format!("{n} of {of} stalled; clients starved in {m}"),
    };
    let drift = match points.iter().filter(|point| drifts(point)).count() {
        0 => String::new(),
        n => format!("; {n} not steady"),
    };
    let counted = format!("steadiness: {kept_waiting}{drift}");
    let Some((worst, seconds)) = longest_wait(points) else { return fit(&[counted]) };
    let longest = time(seconds * 1e9);
    fit(&[format!("{counted}; longest {longest}: {}", worst.label), format!("{counted}; longest {longest}"), counted])
}

/// `steady: 11 of 13 points, longest wait 1.85 s; trust: 11 valid, 2 indicative (too-short 2); 100 % ok`
fn steadiness_and_trust(points: &[PointAnalysis]) -> String {
    let unsteady = |point: &&PointAnalysis| has(point, Code::Stall) || has(point, Code::Starvation) || drifts(point);
    let steady = points.len() - points.iter().filter(unsteady).count();
    let counted = format!("steady: {steady} of {}", plural(points.len(), "point"));
    let brief = format!("steady: {steady} of {}", points.len());
    let longest = longest_wait(points).map(|(_, seconds)| time(seconds * 1e9));
    let wait = longest.as_ref().map_or(String::new(), |longest| format!(", longest wait {longest}"));
    let brief_wait = longest.as_ref().map_or(String::new(), |longest| format!(", longest {longest}"));
    let both = |trust: &String| [format!("{counted}{wait}; {trust}"), format!("{brief}{brief_wait}; {trust}")];
    fit(&trusts(points).iter().flat_map(both).collect::<Vec<_>>())
}

fn has(point: &PointAnalysis, code: Code) -> bool {
    point.findings.iter().any(|finding| finding.code() == code)
}

fn drifts(point: &PointAnalysis) -> bool {
    let drifted = point.findings.iter().any(|f| Unsteadiness::in_detail(&f.detail).is_some_and(Unsteadiness::is_drift));
    drifted || has(point, Code::NotSteady)
}

/// The point in which somebody was kept waiting longest by a stall or by others, and for how long: the longest stretch or
/// service time, whichever is longer.
fn longest_wait(points: &[PointAnalysis]) -> Option<(&PointAnalysis, f64)> {
    let longest = |point: &PointAnalysis| {
        let stalls = point.shape.iter().flat_map(|shape| &shape.stalls);
        let slowest = point.summary.as_ref().and_then(|summary| summary.service_ns).map_or(0.0, |q| q.max as f64 / 1e9);
        stalls.map(|stall| stall.span.length_s()).fold(slowest, f64::max)
    };
    let kept = points.iter().filter(|point| has(point, Code::Stall) || has(point, Code::Starvation));
    kept.map(|point| (point, longest(point))).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// `held back by: disk 6, cpu 2, not shown 5 of 13 points`
fn held_back(points: &[PointAnalysis]) -> String {
    let mut counts: BTreeMap<Limit, usize> = BTreeMap::new();
    points
        .iter()
        .flat_map(|point| &point.findings)
        .filter_map(|f| LimitEvidence::in_detail(&f.detail).map(LimitEvidence::limit))
        .for_each(|l| *counts.entry(l).or_default() += 1);
    let words: Vec<&str> = counts.keys().map(|limit| limit.as_str()).collect();
    let told: Vec<String> = counts.iter().map(|(limit, n)| format!("{} {n}", limit.as_str())).collect();
    match told.is_empty() {
        true => "held back by: not shown".to_string(),
        false if points.len() == 1 => fit(&[format!("held back by: {}", words.join(", "))]),
        false => fit(&[format!("held back by: {} of {}", told.join(", "), plural(points.len(), "point"))]),
    }
}

/// `trust: 11 valid, 2 indicative (too-short 2); 100 % ok`
fn trust(points: &[PointAnalysis]) -> String {
    fit(&trusts(points))
}

/// How far the points can be trusted: with all that weakens them, with the most frequent of it, with none. The share of operations
/// that succeeded is left out where all did and a line cannot hold it with what weakens the points.
fn trusts(points: &[PointAnalysis]) -> Vec<String> {
    let mut parts = Vec::new();
    for validity in [Validity::Valid, Validity::Indicative, Validity::Invalid] {
        let own: Vec<&PointAnalysis> = points.iter().filter(|point| point.validity == validity).collect();
        if !own.is_empty() {
            parts.push((format!("{} {}", own.len(), validity.as_str()), reasons(&own)));
        }
    }
    let told = |most: usize| {
        let of = |(counted, why): &(String, Vec<String>)| match why.len() {
            0 => counted.clone(),
            _ if most == 0 => counted.clone(),
            n => format!("{counted} ({})", why[..n.min(most)].join(", ")),
        };
        format!("trust: {}", parts.iter().map(of).collect::<Vec<_>>().join(", "))
    };
    let (success, all_did) = success(points);
    let with_success = |most: usize| {
        let alone = told(most);
        let both = format!("{alone}{success}");
        if all_did { vec![both, alone] } else { vec![both] }
    };
    [usize::MAX, 1, 0].into_iter().flat_map(with_success).collect()
}

/// The share of operations that succeeded, from the lowest to the highest of `points`, and whether all did everywhere.
fn success(points: &[PointAnalysis]) -> (String, bool) {
    let rates = || points.iter().filter_map(|point| point.summary.as_ref()?.success_rate);
    let (least, most) = rates().fold((1.0f64, 0.0f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let text = match (floored(least), floored(most)) {
        _ if rates().next().is_none() => String::new(),
        (least, most) if least == most => format!("; {least} % ok"),
        (least, most) => format!("; {least} to {most} % ok"),
    };
    (text, least >= 1.0)
}

/// A share in percent, rounded downwards: one failure of a million leaves less than 100.
fn floored(share: f64) -> String {
    match share {
        share if share >= 1.0 => "100".into(),
        share if share >= 0.99 => format!("{:.2}", (share * 1e4).floor() / 1e2),
        share => format!("{:.1}", (share * 1e3).floor() / 1e1),
    }
}

/// What weakens `points`, the most frequent first; empty where nothing does.
fn reasons(points: &[&PointAnalysis]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for point in points {
        let worst = point.findings.iter().map(|finding| finding.severity).max();
        let weakening =
            point.findings.iter().filter(|f| Some(f.severity) == worst && f.severity > crate::Severity::Note);
        let codes: std::collections::BTreeSet<&str> = weakening.map(|finding| finding.code().as_str()).collect();
        codes.into_iter().for_each(|code| *counts.entry(code).or_default() += 1);
    }
    let mut ordered: Vec<(&str, usize)> = counts.into_iter().collect();
    ordered.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    ordered.into_iter().map(|(code, count)| format!("{code} {count}")).collect()
}

/// The first of `candidates` that fits a line, else the first that fits two, or the last as it is.
fn fit(candidates: &[String]) -> String {
    let fitting = |lines: usize| candidates.iter().find(|text| text.chars().count() <= lines * LINE_MAX);
    fitting(1).or_else(|| fitting(2)).or(candidates.last()).expect("there is a candidate").clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulate::{Simulation, params, run_of};
    use model::{Nanos, Pacing, PointData, Value};

    struct Made {
        engine: &'static str,
        workload: &'static str,
        param: (&'static str, Value),
        clients: u32,
        depth: u32,
        rate: u64,
    }

    fn made(made: Made) -> PointData {
        let simulation = Simulation::counts(&[made.rate; 10]).with(|point| {
            point.trial.target.engine = made.engine.into();
            point.trial.workload.name = made.workload.into();
            point.trial.workload.params = params(&[made.param]);
            point.trial.load.pacing = Pacing::Closed { think: Nanos(1) };
            (point.trial.load.clients, point.trial.load.depth) = (made.clients, made.depth);
        });
        simulation.point()
    }

    fn word(word: &str) -> Value {
        Value::Word(word.into())
    }

    fn file(mode: &str, depth: u32, rate: u64) -> PointData {
        let param = ("mode", word(mode));
        let mut point = made(Made { engine: "file", workload: "file", param, clients: 1, depth, rate });
        point.phases[0].intervals.iter_mut().for_each(|interval| interval.kinds[0].bytes = rate * 16384);
        point
    }

    fn insert(engine: &'static str, indexes: u64, rate: u64) -> PointData {
        let param = ("indexes", Value::Int(indexes));
        made(Made { engine, workload: "insert", param, clients: 1, depth: 1, rate })
    }

    fn oltp(clients: u32, rate: u64) -> PointData {
        made(Made { engine: "sqlite", workload: "oltp", param: ("mix", word("read_write")), clients, depth: 1, rate })
    }

    fn quick() -> Vec<PointData> {
        let mut points = vec![file("rndrd", 1, 9_000), file("rndrd", 8, 31_000), file("rndrd", 32, 38_200)];
        points.extend([file("rndwr", 1, 8_000), file("rndwr", 8, 12_000), file("rndwr", 32, 12_100)]);
        points.extend([insert("sqlite", 0, 8_400), insert("sqlite", 3, 3_200)]);
        points.extend([insert("fjall", 0, 41_000), insert("fjall", 3, 22_000)]);
        points.extend([oltp(1, 1_500), oltp(4, 2_000), oltp(16, 1_950)]);
        points
    }

    fn lines(points: Vec<PointData>) -> Vec<String> {
        analyse(&run_of(points, Vec::new())).verdict
    }

    #[test]
    fn a_mixed_run_is_answered_in_five_lines_by_workload() {
        let expected = [
            "file: rndrd 38.2k/s (626 MB/s), rndwr 12.1k/s (198 MB/s), both at depth 32",
            "insert: indexes 0: sqlite 8.40k/s, fjall 41.0k/s; indexes 3: 3.20k/s, 22.0k/s",
            "sqlite oltp: 2.00k/s at 4 clients; p99 475 us; 16 clients add nothing",
            "held back by: not shown 13 of 13 points",
            "steady: 13 of 13 points; trust: 13 valid; 100 % ok",
        ];
        assert_eq!(lines(quick()), expected);
    }

    #[test]
    fn a_single_point_says_how_much_how_steadily_and_what_held_it_back() {
        let got = lines(vec![Simulation::counts(&[1000; 12]).point()]);
        let expected = [
            "sqlite oltp: 1.00k/s; p99 950 us",
            "steadiness: no stall in 1 point",
            "held back by: one at a time",
            "trust: 1 valid; 100 % ok",
        ];
        assert_eq!(got, expected);
    }

    #[test]
    fn stalls_and_weak_points_are_counted_and_the_worst_is_named() {
        let mut points = quick();
        points[12] = Simulation { recorded: oltp(16, 1_950), environment: Vec::new() }
            .with(|point| {
                for interval in &mut point.phases[0].intervals[4..7] {
                    interval.kinds.clear();
                }
            })
            .point();
        points[0].phases[0].intervals.truncate(4);
        points[0].phases[0].end.0 = 4_000_000_000;
        let got = lines(points.clone());
        let together = "steady: 12 of 13, longest 3.00 s; trust: 11 valid, 2 indicative (too-short 1)";
        assert_eq!(got[3..], ["held back by: not shown 13 of 13 points", together]);
        let alone = lines(vec![points[12].clone()]);
        assert_eq!(alone[1], "steadiness: 1 of 1 point stalled; longest 3.00 s: sqlite oltp");
    }

    #[test]
    fn a_client_that_starved_is_the_longest_wait_though_no_interval_stalled() {
        let mut simulation = Simulation::counts(&[2_000; 10]);
        simulation.add(7, 30, 1_850_000_000, 1_850_000_000);
        let got = lines(vec![simulation.with(|point| point.trial.load.clients = 16).point()]);
        assert_eq!(got[1], "steadiness: clients starved in 1 of 1 point; longest 1.85 s: sqlite oltp");
    }

    #[test]
    fn an_overload_is_said_with_what_was_offered_and_what_held_it_back() {
        let got = lines(vec![Simulation::open(10, 5_000, |_| 1_000_000).point()]);
        assert_eq!(got[0], "sqlite oltp: 1.00k/s of 5.00k/s offered: overloaded; percentiles of served ops");
        assert_eq!(got[2], "held back by: the target or its clients");
    }

    #[test]
    fn transactions_and_commits_are_said_with_the_queries_and_rows_that_they_are() {
        let told = |fact: &str| {
            let fact = model::Fact::new(fact, "20");
            lines(vec![Simulation::counts(&[1000; 12]).with(|point| point.facts.push(fact)).point()]).remove(0)
        };
        assert_eq!(told("queries_per_op.transaction"), "sqlite oltp: 1.00k/s (20.0k queries/s); p99 950 us");
        assert_eq!(told("rows_per_op.transaction"), "sqlite oltp: 1.00k/s (20.0k rows/s); p99 950 us");
    }

    #[test]
    fn what_was_kept_of_a_rate_beside_stands_behind_that_of_the_run() {
        let got = lines(vec![Simulation::counts(&[1000; 12]).beside(4, 500, 498).point()]);
        assert_eq!(got[0], "sqlite oltp: 1.00k/s; insert beside: 498 of 500/s (99.6 %); p99 950 us");
    }

    #[test]
    fn failures_are_in_the_share_that_succeeded_however_few() {
        let failing = |failed| {
            let simulation = Simulation::counts(&[1000; 12]);
            simulation.with(|point| point.phases[0].intervals[3].kinds[0].failed = failed).point()
        };
        let trust = |failed: &[u64]| lines(failed.iter().map(|failed| failing(*failed)).collect()).pop();
        assert_eq!(trust(&[1]).as_deref(), Some("trust: 1 indicative (errors 1); 99.99 % ok"));
        assert_eq!(trust(&[200]).as_deref(), Some("trust: 1 invalid (errors 1); 98.3 % ok"));
        let both = "trust: 1 valid, 1 invalid (errors 1); 98.3 to 100 % ok";
        assert_eq!(trust(&[0, 200]).as_deref(), Some(both));
    }

    #[test]
    fn a_durability_other_than_disk_is_named() {
        let unsynced = |points: Vec<PointData>, word: &str| -> Vec<PointData> {
            let with = |mut point: PointData| {
                let durability = Value::Word(word.into());
                point.trial.target.params = params(&[("durability", durability)]);
                point
            };
            points.into_iter().map(with).collect()
        };
        let expected = "insert (os): indexes 0: sqlite 8.40k/s, fjall 41.0k/s; indexes 3: 3.20k/s, 22.0k/s";
        assert!(expected.len() > LINE_MAX);
        let got = lines(unsynced(quick(), "os"));
        assert_eq!(got[1], "insert (os): sqlite 8.40k/s, fjall 41.0k/s; indexes 3: 3.20k/s, 22.0k/s");
        assert_eq!(got[2], "sqlite oltp (os): 2.00k/s at 4 clients; p99 475 us; 16 clients add nothing");
        assert_eq!(
            lines(unsynced(vec![oltp(1, 1_500)], "none"))[0],
            "sqlite oltp, durability none: 1.50k/s; p99 633 us"
        );
        assert_eq!(lines(unsynced(vec![oltp(1, 1_500)], "disk"))[0], "sqlite oltp: 1.50k/s; p99 633 us");
    }

    #[test]
    fn groups_that_no_line_can_hold_are_given_as_their_range() {
        let points = (0..9).map(|n| insert("sqlite", n, 9_000 - 100 * n)).collect();
        assert_eq!(lines(points)[0], "insert: 9 groups, from 8.20k/s (indexes 8) to 9.00k/s (indexes 0)");
    }

    #[test]
    fn a_run_without_usable_points_says_so() {
        assert_eq!(lines(Vec::new()), ["nothing was measured"]);
        let got = lines(vec![Simulation::counts(&[0; 10]).point()]);
        assert_eq!(got[0], "no point has a result that can be used");
        assert_eq!(got.last().map(String::as_str), Some("trust: 1 invalid (few-samples 1)"));
    }

    #[test]
    fn there_are_never_more_than_five_sentences_and_none_is_cut() {
        let long = "a_parameter_with_a_name_that_is_longer_than_any_line_could_be_in_a_terminal_of_eighty";
        for workloads in 1..7 {
            let names = ["one", "two", "three", "four", "five", "six"];
            let points = (0..workloads * 2).map(|n| {
                let mut point = oltp(1, 1000 + n as u64);
                point.trial.workload.name = names[n / 2].into();
                point.trial.workload.params = params(&[(long, Value::Int(n as u64))]);
                point
            });
            let got = lines(points.collect());
            assert!(got.len() <= LINES_MAX, "{got:?}");
            assert!(got.iter().all(|line| !line.ends_with("...")), "{got:?}");
        }
    }
}
