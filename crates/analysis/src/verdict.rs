//! The answer in at most five lines: how much, how steadily, what held it back, and how far to trust it.
//!
//! In: the analysed points of a run. Out: lines of at most 78 characters.
//! Limits: names the best and the least of what was measured; the report has the rest. Invalid points are only counted.

use crate::detect::limit::Limit;
use crate::sweep::{Axis, Sweep, sweeps};
use crate::text::{megabytes, percent, plural, rate, time};
use crate::{PointAnalysis, Span, Validity};
use std::collections::BTreeMap;

/// The longest line.
pub const LINE_MAX: usize = 78;
/// The most lines.
pub const LINES_MAX: usize = 5;
/// Lines left for how much, when steadiness and trust have theirs.
const SUBJECTS_MAX: usize = 3;

/// The verdict on `points`, all those of a run.
pub fn verdict(points: &[PointAnalysis]) -> Vec<String> {
    if points.is_empty() {
        return vec!["nothing was measured".to_string()];
    }
    let mut lines = how_much(&sweeps(points));
    lines.push(steadiness(points));
    match lines.len() + 2 <= LINES_MAX {
        true => lines.extend([held_back(points), trust(points)]),
        false => lines.push(fit(&[format!("{}; {}", held_back(points), trust(points)), trust(points)])),
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

/// `file rndrd: 38.2k/s (626 MB/s) at depth 32; p99 1.20 ms; knee at depth 8`
fn of_group(sweep: &Sweep) -> String {
    let reached = format!("{}: {}", sweep.group, reached(sweep));
    let p99 = p99(sweep);
    let scaling = scaling(sweep);
    fit(&[format!("{reached}{p99}{scaling}"), format!("{reached}{p99}"), reached])
}

/// The best group of a workload, and the least.
fn of_workload(workload: &str, sweeps: &[Sweep]) -> String {
    let mut own: Vec<&Sweep> = sweeps.iter().filter(|sweep| sweep.workload == workload).collect();
    own.sort_by(|a, b| b.best().ops_per_s().total_cmp(&a.best().ops_per_s()));
    let best = own[0];
    if own.len() == 1 {
        return of_group(best);
    }
    let least = own[own.len() - 1];
    let share = least.best().ops_per_s() / best.best().ops_per_s();
    let head = format!("{workload}: {} {}", short_name(best, workload), reached(best));
    let tail = format!("{} {}", short_name(least, workload), rate(least.best().ops_per_s()));
    fit(&[
        format!("{head}{}; least {tail} ({})", p99(best), percent(share)),
        format!("{head}{}; least {tail}", p99(best)),
        format!("{head}; least {tail} ({})", percent(share)),
        format!("{head}; least {tail}"),
        head,
    ])
}

/// The group without the word of its workload, which the line begins with.
fn short_name(sweep: &Sweep, workload: &str) -> String {
    let words: Vec<&str> = sweep.group.split(' ').filter(|word| *word != workload).collect();
    words.join(" ")
}

/// The best rate and where it was reached.
fn reached(sweep: &Sweep) -> String {
    let best = sweep.best();
    let bytes = match best.bytes_per_s() {
        bytes if bytes > 0.0 => format!(" ({})", megabytes(bytes)),
        _ => String::new(),
    };
    let place = match sweep.axis {
        Axis::None => String::new(),
        _ => format!(" at {}", sweep.place(best)),
    };
    format!("{}{bytes}{place}", rate(best.ops_per_s()))
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

fn steadiness(points: &[PointAnalysis]) -> String {
    let with = |code: &str| points.iter().filter(|point| has(point, code)).count();
    let drifting = points.iter().filter(|point| {
        point.findings.iter().any(|finding| finding.code == "unsteady" && finding.title.starts_with("not steady"))
    });
    let drift = match drifting.count() {
        0 => String::new(),
        n => format!("; {n} not steady"),
    };
    let of = plural(points.len(), "point");
    let stalled = with("stall");
    let Some((worst, seconds)) = worst_stall(points) else {
        return fit(&[format!("steadiness: no stall in {of}{drift}")]);
    };
    let counted = format!("steadiness: {stalled} of {of} stalled{drift}");
    let longest = time(seconds * 1e9);
    fit(&[format!("{counted}; longest {longest}: {}", worst.label), format!("{counted}; longest {longest}"), counted])
}

fn has(point: &PointAnalysis, code: &str) -> bool {
    point.findings.iter().any(|finding| finding.code == code)
}

/// The point with the longest stall, and its length: a shaded stretch, or else the longest service time.
fn worst_stall(points: &[PointAnalysis]) -> Option<(&PointAnalysis, f64)> {
    let length = |span: &Span| span.to_s - span.from_s;
    let longest = |point: &PointAnalysis| {
        let spans = point.series.iter().flat_map(|series| &series.stalls);
        let stretch = spans.map(length).fold(0.0, f64::max);
        let slowest = point.summary.as_ref().and_then(|summary| summary.service_ns).map_or(0.0, |q| q.max as f64 / 1e9);
        if stretch > 0.0 { stretch } else { slowest }
    };
    let stalled = points.iter().filter(|point| has(point, "stall")).map(|point| (point, longest(point)));
    stalled.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// `held back by: disk 6, cpu 2, not shown 5 of 13 points`
fn held_back(points: &[PointAnalysis]) -> String {
    let mut counts: BTreeMap<Limit, usize> = BTreeMap::new();
    points
        .iter()
        .flat_map(|point| &point.findings)
        .filter_map(Limit::of)
        .for_each(|l| *counts.entry(l).or_default() += 1);
    let told: Vec<String> = counts.iter().map(|(limit, n)| format!("{} {n}", limit.as_str())).collect();
    match told.is_empty() {
        true => "held back by: not shown".to_string(),
        false => fit(&[format!("held back by: {} of {}", told.join(", "), plural(points.len(), "point"))]),
    }
}

/// `trust: 11 valid, 2 indicative (too-short 2)`
fn trust(points: &[PointAnalysis]) -> String {
    let mut parts = Vec::new();
    for validity in [Validity::Valid, Validity::Indicative, Validity::Invalid] {
        let own: Vec<&PointAnalysis> = points.iter().filter(|point| point.validity == validity).collect();
        if !own.is_empty() {
            parts.push((format!("{} {}", own.len(), validity.as_str()), reasons(&own)));
        }
    }
    let long: Vec<String> = parts.iter().map(|(count, why)| format!("{count}{why}")).collect();
    let short: Vec<String> = parts.into_iter().map(|(count, _)| count).collect();
    fit(&[format!("trust: {}", long.join(", ")), format!("trust: {}", short.join(", "))])
}

/// What weakens `points`, the most frequent first; empty where nothing does.
fn reasons(points: &[&PointAnalysis]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for point in points {
        let worst = point.findings.iter().map(|finding| finding.severity).max();
        let weakening =
            point.findings.iter().filter(|f| Some(f.severity) == worst && f.severity > crate::Severity::Note);
        let codes: std::collections::BTreeSet<&str> = weakening.map(|finding| finding.code.as_str()).collect();
        codes.into_iter().for_each(|code| *counts.entry(code).or_default() += 1);
    }
    let mut ordered: Vec<(&str, usize)> = counts.into_iter().collect();
    ordered.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told: Vec<String> = ordered.into_iter().map(|(code, count)| format!("{code} {count}")).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

/// The first of `candidates` that fits a line, or the last, cut.
fn fit(candidates: &[String]) -> String {
    if let Some(fitting) = candidates.iter().find(|line| line.chars().count() <= LINE_MAX) {
        return fitting.clone();
    }
    let last = candidates.last().expect("there is a candidate");
    last.chars().take(LINE_MAX - 3).chain("...".chars()).collect()
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
            "file: rndrd 38.2k/s (626 MB/s) at depth 32; p99 24.9 us; least rndwr 12.1k/s",
            "insert: fjall indexes 0 41.0k/s; p99 23.2 us; least sqlite indexes 3 3.20k/s",
            "sqlite oltp: 2.00k/s at 4 clients; p99 475 us; 16 clients add nothing",
            "steadiness: no stall in 13 points",
            "held back by: not shown 13 of 13 points; trust: 13 valid",
        ];
        assert_eq!(lines(quick()), expected);
    }

    #[test]
    fn a_single_point_says_how_much_how_steadily_and_what_held_it_back() {
        let got = lines(vec![Simulation::counts(&[1000; 12]).point()]);
        let expected = [
            "sqlite oltp: 1.00k/s; p99 950 us",
            "steadiness: no stall in 1 point",
            "held back by: not shown 1 of 1 point",
            "trust: 1 valid",
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
        let got = lines(points);
        assert_eq!(got[3], "steadiness: 1 of 13 points stalled; longest 3.00 s: sqlite oltp clients 16");
        assert!(got[4].ends_with("trust: 12 valid, 1 indicative (too-short 1)"), "{}", got[4]);
    }

    #[test]
    fn a_run_without_usable_points_says_so() {
        assert_eq!(lines(Vec::new()), ["nothing was measured"]);
        let got = lines(vec![Simulation::counts(&[0; 10]).point()]);
        assert_eq!(got[0], "no point has a result that can be used");
        assert_eq!(got.last().map(String::as_str), Some("trust: 1 invalid (few-samples 1)"));
    }

    #[test]
    fn no_line_is_too_long_and_there_are_never_more_than_five() {
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
            assert!(got.iter().all(|line| line.chars().count() <= LINE_MAX), "{got:?}");
        }
    }
}
