//! `plimsoll compare BASE NEW...`: two or more runs side by side, or with `--by` the groups of one run.
//!
//! In: run files. Out: the first with each other one: ratios with intervals, what differs, which costs changed. Limits: whole runs are
//! read into memory, all at once.

mod gate;
mod own_file;

use super::list;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use crate::read_run::ReadRun;
use analysis::compare::{
    ComparedRun, CostChange, GroupingError, KindRatio, LostPlace, MetricRatio, PlaceComparison, ResultDifference,
    RunComparison, compare_groups, compare_runs, overlay_groups, overlay_runs,
};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use gate::Gate;
use report::wording::compare::{arm_name, condition_key, cost_key, effect_word};
use report::wording::compared_sweep::answers;
use report::wording::label::settings_label;
use report::wording::metric::verdict_word;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// By which a summary is known that may be replaced; readers of Markdown do not see it.
const MARKDOWN_HEAD: &str = "<!-- plimsoll compare -->\n";

pub fn clap() -> Command {
    let runs = Arg::new("run").value_name("RUN").required(true).num_args(1..).action(ArgAction::Append);
    let by = Arg::new("by").long("by").value_name("NAME[=BASE]");
    let fail_below = Arg::new("fail-below").long("fail-below").value_name("RATIO").value_parser(parse_share);
    let junit = Arg::new("junit").long("junit").value_name("FILE").value_parser(value_parser!(PathBuf));
    let markdown = Arg::new("markdown").long("markdown").value_name("FILE").value_parser(value_parser!(PathBuf));
    let out = Arg::new("out")
        .long("out")
        .value_name("DIR")
        .help("Write a report into this directory: HTML, charts of the runs over each other, Markdown, CSV");
    Command::new("compare")
        .arg(runs.help("Run files, names of runs in --runs, or `last`; the first is what the others are compared with"))
        .arg(by.help("Compare the groups of one RUN that differ in this parameter; BASE is the value that the others are compared with [default: the first measured]"))
        .arg(fail_below.help("Exit with code 10 if a rate or a kind of statement is shown to do less than this share of the base, such as 0.97, if it was lost, or if it answers differently; with code 11 if that cannot be decided"))
        .arg(junit.help("Write what passes and what fails into this file, as JUnit XML for a pipeline (the share is that of --fail-below, or 1)"))
        .arg(markdown.help("Write the verdict, what differs and how far to trust it into this file, as Markdown for a pull request, 40 lines at most"))
        .arg(out)
        .arg(flags::runs("Directory of run files"))
        .about("Compare runs, or the groups of one run: ratio with interval, what differs, which costs changed")
}

/// A share between 0 and 1.
fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "use a number above 0 and up to 1, such as 0.97".to_owned())
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let names: Vec<&String> = matches.get_many("run").into_iter().flatten().collect();
    let by = matches.get_one::<String>("by");
    check_arguments(&names, by)?;
    matches.get_one::<String>("out").map_or(Ok(()), |dir| host::safety::check_links(Path::new(dir)))?;
    let advice = "compare different runs, or use --by for the groups of one";
    let files = list::find_distinct(&names, flags::runs_dir(matches), advice)?;
    let runs: Vec<ReadRun> = files.iter().map(|file| ReadRun::read(file)).collect::<Result<_, _>>()?;
    let compared: Vec<ComparedRun> = runs.iter().map(ReadRun::as_compared).collect();
    let all = match by {
        Some(by) => by_groups(&compared[0], by)?,
        None => compare_runs(&compared),
    };
    let report = write_report(matches, &all, &compared)?;
    if context.json {
        output::json::print(&json(&all, report.as_deref()))
    } else {
        print_text(&all, report.as_deref(), context)
    }
    let share = matches.get_one::<f64>("fail-below").copied();
    let gate = Gate::new(&all, share.unwrap_or(1.0));
    if let Some(file) = matches.get_one::<PathBuf>("junit") {
        gate.write_junit(file)?;
    }
    if let Some(file) = matches.get_one::<PathBuf>("markdown") {
        own_file::replace(file, "--markdown", MARKDOWN_HEAD, &report::comparison_summary(&all))?;
    }
    share.map_or(Ok(Exit::Done), |_| gate.judge())
}

/// Writes the report, if it was asked for, and gives its path.
fn write_report(
    matches: &ArgMatches,
    all: &[RunComparison],
    compared: &[ComparedRun],
) -> Result<Option<PathBuf>, Fault> {
    let Some(dir) = matches.get_one::<String>("out") else { return Ok(None) };
    let overlays = match matches.get_one::<String>("by").map(|by| split_by_base(by)) {
        // That the run has such groups was found when they were compared.
        Some((name, base)) => overlay_groups(&compared[0], name, base).unwrap_or_default(),
        None => overlay_runs(compared),
    };
    Ok(Some(report::write_comparison(all, &overlays, Path::new(dir))?.html))
}

fn print_text(all: &[RunComparison], report: Option<&Path>, context: &Context) {
    output::print(&report::terminal_comparison(all, context.width(), context.colour()));
    if let Some(report) = report {
        output::print(&format!("\nreport: {}\n", output::shown(report)));
    }
}

fn check_arguments(names: &[&String], by: Option<&String>) -> Result<(), Fault> {
    match (names.len(), by) {
        (1, None) => {
            Err(Fault::usage("compare needs two runs, or one and --by with the parameter in which its points differ"))
        }
        (2.., Some(_)) => Err(Fault::usage("--by compares the groups of one RUN; leave out the other runs, or --by")),
        _ => Ok(()),
    }
}

/// The name in `engine`, and in `engine=sqlite` that with the value of the base.
fn split_by_base(by: &str) -> (&str, Option<&str>) {
    by.split_once('=').map_or((by, None), |(name, base)| (name, Some(base)))
}

fn by_groups(run: &ComparedRun, by: &str) -> Result<Vec<RunComparison>, Fault> {
    let (name, base) = split_by_base(by);
    compare_groups(run, name, base).map_err(|error| {
        let (name, base) = (name.escape_debug(), base.unwrap_or_default().escape_debug());
        Fault::usage(match error {
            GroupingError::NotVaried(names) if names.is_empty() => {
                format!("the points of this run do not differ in `{name}`, nor in anything else; compare it with another run")
            }
            GroupingError::NotVaried(names) => {
                format!("the points of this run do not differ in `{name}`; use --by with one of {}", names.join(", "))
            }
            GroupingError::NoSuchValue(values) => {
                format!("no point of this run has {name} = `{base}`; use one of {}", values.join(", "))
            }
        })
    })
}

fn json(all: &[RunComparison], report: Option<&Path>) -> Value {
    let of = |list: fn(&RunComparison) -> Vec<Value>| all.iter().flat_map(list).collect::<Vec<Value>>();
    json!({
        "schema": "plimsoll.compare/1", "answer": all.iter().flat_map(answers).collect::<Vec<String>>(), "report": report, "unlike": of(unlike), "pairs": of(pairs), "causes": of(causes),
        "kernels": of(kernels), "watches": of(watches), "lost": of(lost), "statements": of(statements), "other_results": of(other_results),
    })
}

/// The places at which the new arm lost its repeats.
fn lost(one: &RunComparison) -> Vec<Value> {
    let place = |lost: &LostPlace| {
        json!({
            "base_arm": arm_name(&one.base), "new_arm": arm_name(&one.new), "point": settings_label(&lost.label),
            "base_usable": lost.usable[0], "new_usable": lost.usable[1],
        })
    };
    one.lost.iter().map(place).collect()
}

/// The kinds of statement of a replay, those that differ for sure first, the slowest at the top.
fn statements(one: &RunComparison) -> Vec<Value> {
    let of_place = |place: &PlaceComparison| -> Vec<Value> {
        let ratio = |kind: &KindRatio| {
            let (estimate, [base_plan, new_plan]) = (&kind.estimate, kind.plans.steps());
            let differs = base_plan.map(|base| Some(base) != new_plan);
            json!({
                "base_arm": arm_name(&one.base), "new_arm": arm_name(&one.new), "point": settings_label(&place.label),
                "kind": kind.kind, "metric": "service_mean_ns", "base": kind.base_ns, "new": kind.new_ns, "ratio": estimate.ratio,
                "ci95": estimate.ci95, "n": estimate.n, "verdict": estimate.verdict,
                "base_plan": base_plan, "new_plan": new_plan, "plan_differs": differs,
            })
        };
        place.kinds.iter().flat_map(|kinds| kinds.ratios.iter().map(ratio)).collect()
    };
    one.places.iter().flat_map(of_place).collect()
}

/// The kinds of statement that answer differently.
fn other_results(one: &RunComparison) -> Vec<Value> {
    let found = one.kinds().flat_map(|kinds| &kinds.other_results);
    let told = |found: &ResultDifference| {
        let of = |results: &model::KindResults| json!({"answers": results.answers, "rows": results.rows, "columns": results.columns, "checksum": results.checksum});
        json!({
            "base_arm": arm_name(&one.base), "new_arm": arm_name(&one.new), "kind": found.kind, "base": of(&found.base),
            "new": of(&found.new),
        })
    };
    found.map(told).collect()
}

fn unlike(one: &RunComparison) -> Vec<Value> {
    let condition = |condition: &analysis::compare::Condition| {
        json!({
            "new_arm": arm_name(&one.new), "what": condition_key(&condition.kind),
            "base": condition.base, "new": condition.new, "effect": effect_word(condition.effect),
        })
    };
    one.unlike.iter().map(condition).collect()
}

fn pairs(one: &RunComparison) -> Vec<Value> {
    let pair = |(place, metric): (&PlaceComparison, &MetricRatio)| {
        let estimate = &metric.estimate;
        json!({
            "base_arm": arm_name(&one.base), "new_arm": arm_name(&one.new), "point": settings_label(&place.label),
            "metric": metric.metric.key(), "base": metric.base, "new": metric.new, "ratio": estimate.ratio,
            "ci95": estimate.ci95, "n": estimate.n, "in_turn": place.is_interleaved,
            "smallest_effect": estimate.smallest_effect, "verdict": verdict_key(metric),
        })
    };
    one.ratios().map(pair).collect()
}

/// The verdict as a word: what runs at a lower cost is cheaper, not faster.
fn verdict_key(metric: &MetricRatio) -> Value {
    let verdict = metric.estimate.verdict;
    if metric.metric.is_running_cost() && verdict.is_difference() {
        json!(verdict_word(metric.metric, verdict))
    } else {
        json!(verdict)
    }
}

/// How much more work the new run does, over all kernels.
fn kernels(one: &RunComparison) -> Vec<Value> {
    let kernels = one.kernels.as_ref();
    kernels
        .map(|kernels| json!({"base_arm": arm_name(&one.base), "new_arm": arm_name(&one.new), "compared": kernels}))
        .into_iter()
        .collect()
}

/// What two watches saw of load and statements.
fn watches(one: &RunComparison) -> Vec<Value> {
    let watches = one.watches.as_ref();
    let told = watches
        .map(|watches| json!({"base_arm": arm_name(&one.base), "new_arm": arm_name(&one.new), "compared": watches}));
    told.into_iter().collect()
}

/// Costs of an operation, what changed most for sure first. The ratio is null if one of the two has none of it.
fn causes(one: &RunComparison) -> Vec<Value> {
    let cause = |place: &PlaceComparison, cost: &CostChange| {
        json!({
            "new_arm": arm_name(&one.new), "point": settings_label(&place.label), "metric": cost_key(&cost.metric),
            "base": cost.base, "new": cost.new, "ratio": cost.ratio.map(|estimate| estimate.ratio),
            "ci95": cost.ratio.and_then(|estimate| estimate.ci95), "n": cost.pairs(), "changed": cost.is_shown,
        })
    };
    one.places.iter().flat_map(|place| place.costs.iter().map(move |cost| cause(place, cost))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::compare::{ArmSummary, KindComparison, PlanComparison};
    use analysis::math::ratio::Preference;
    use analysis::points::metric::Metric;
    use analysis::points::work::WorkUnit;
    use analysis::{RatioEstimate, RepeatPair};
    use model::KindResults;

    /// A comparison at one place, in which the new arm did `share` of the base's work in each of `n` repeats.
    fn one_place(share: f64, n: usize) -> Vec<RunComparison> {
        let (run, engines, hourly) = ("a".to_owned(), Vec::new(), model::HourlyCost::default());
        let arm = || ArmSummary { run: run.clone(), group: None, engines: engines.clone(), repeats: n, hourly };
        let pairs: Vec<RepeatPair> =
            (0..n).map(|nth| RepeatPair { base: 100.0, new: share * (100.0 + nth as f64 / 10.0) }).collect();
        let metrics = MetricRatio::from_pairs(Metric::OpsPerS, &pairs).into_iter().collect();
        let place = PlaceComparison {
            label: Vec::new(),
            points: Default::default(),
            unit: WorkUnit::Operations,
            pairs: n,
            is_interleaved: true,
            metrics,
            costs: Vec::new(),
            kinds: None,
        };
        let (unlike, places) = (Vec::new(), vec![place]);
        vec![RunComparison {
            base: arm(),
            new: arm(),
            unlike,
            places,
            unpaired_kinds: Vec::new(),
            usable: [n, n],
            unmatched: 0,
            kernels: None,
            watches: None,
            left_out: 0,
            lost: Vec::new(),
            failed_replays: [None, None],
        }]
    }

    fn exit_of(all: &[RunComparison], share: f64) -> (Exit, String) {
        Gate::new(all, share).judge().map_or_else(|fault| (fault.exit, fault.text), |exit| (exit, String::new()))
    }

    #[test]
    fn a_rate_below_the_share_ends_with_code_10_and_one_above_it_does_not() {
        assert_eq!(exit_of(&one_place(0.9, 4), 0.97), (Exit::Slower, "slower than 0.97 of the base: 0.90".into()));
        assert_eq!(exit_of(&one_place(0.98, 4), 0.97), (Exit::Done, String::new()));
        assert_eq!((Exit::Slower.code(), exit_of(&one_place(1.2, 4), 1.0).0), (10, Exit::Done));
    }

    #[test]
    fn repeats_that_were_lost_end_with_code_10_whatever_the_others_show() {
        let mut all = one_place(1.0, 4);
        all[0].lost.push(LostPlace { label: Vec::new(), usable: [4, 0] });
        assert_eq!(exit_of(&all, 0.97), (Exit::Slower, "lost: 4 usable repeats in the base, none in the new".into()));
    }

    #[test]
    fn a_place_that_is_not_decided_is_no_pass_for_the_others() {
        let mut all = one_place(1.0, 4);
        all[0].places.extend(one_place(1.0, 3).remove(0).places);
        let (exit, text) = exit_of(&all, 0.97);
        assert!(exit == Exit::Undecided && text.contains("1 of 2 rates not"), "{text}");
    }

    #[test]
    fn too_few_pairs_pass_nothing() {
        let (exit, text) = exit_of(&one_place(0.9, 3), 0.97);
        assert_eq!((exit, exit.code()), (Exit::Undecided, 11), "a pipeline tells it from a wrong command line");
        assert!(text.contains("at least 4 pairs"), "{text}");
        let mut unlike = one_place(0.9, 4);
        unlike[0].places.clear();
        assert_eq!(exit_of(&unlike, 0.97).0, Exit::Undecided);
    }

    /// One place at which one statement takes twice as long, one is as fast, one answers differently, and one fails.
    fn replays() -> Vec<RunComparison> {
        let ratio = |kind: &str, times: f64| {
            let pairs: Vec<RepeatPair> =
                (0..6).map(|nth| RepeatPair { base: 100.0, new: times * (100.0 + f64::from(nth) / 10.0) }).collect();
            let estimate = RatioEstimate::from_pairs(&pairs, Preference::Less).expect("there are pairs");
            let plans = PlanComparison::Other([vec!["reads a <t>".into()], vec!["reads b".into()]]);
            KindRatio { kind: kind.into(), base_ns: 100.0, new_ns: 100.0 * times, estimate, plans }
        };
        let results = |rows| KindResults { kind: "select <c>".into(), answers: 1, rows, ..KindResults::default() };
        let mut all = one_place(1.0, 4);
        all[0].places[0].kinds = Some(KindComparison {
            ratios: vec![ratio("select a", 2.0), ratio("select b", 1.0)],
            other_results: vec![ResultDifference { kind: "select <c>".into(), base: results(1), new: results(2) }],
            failures: vec![("insert d".into(), [0, 3]), ("insert e".into(), [1, 0])],
            ..KindComparison::default()
        });
        all
    }

    #[test]
    fn statements_that_take_longer_fail_or_answer_differently_end_with_code_10() {
        let (exit, text) = exit_of(&replays(), 0.97);
        assert_eq!(exit, Exit::Slower);
        let other = "statements that answer differently: insert d (fails 3 times in the new, never in the base) and \
                     select <c> (1 row in the base, 2 in the new); statements slower than 0.97 of the base: \
                     select a (takes 2.00 times as long";
        assert!(text.starts_with(other), "{text}");
        assert!(!exit_of(&replays(), 0.4).1.contains("slower than"), "twice as long is above 0.4 of the base");
    }

    #[test]
    fn a_junit_file_has_a_case_for_each_rate_and_statement_and_replaces_only_its_own_kind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("compare.xml");
        let gate = Gate::new(&replays(), 0.97);
        (0..2).for_each(|_| gate.write_junit(&file).expect("it is new, or of an earlier comparison"));
        let text = std::fs::read_to_string(&file).unwrap();
        let parsed = roxmltree::Document::parse(&text).unwrap();
        let count = |tag: &str| parsed.descendants().filter(|node| node.has_tag_name(tag)).count();
        assert_eq!(["testsuite", "testcase", "failure", "skipped"].map(count), [1, 5, 3, 0], "{text}");
        std::fs::write(&file, "mine").unwrap();
        let refused = gate.write_junit(&file).expect_err("it is of somebody else").text;
        assert!(refused.contains("compare.xml") && refused.contains("use another name"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }

    #[test]
    fn a_pair_in_json_has_its_ratio_its_interval_and_its_verdict() {
        let json = json(&one_place(0.9, 4), None);
        let pair = &json["pairs"][0];
        assert_eq!((&json["schema"], &pair["metric"]), (&json!("plimsoll.compare/1"), &json!("ops_per_s")));
        assert_eq!((&pair["verdict"], &pair["n"]), (&json!("slower"), &json!(4)));
        assert!(pair["ci95"][1].as_f64().is_some_and(|high| high < 0.92) && pair["smallest_effect"].is_f64(), "{pair}");
        assert_eq!((&json["unlike"], &json["causes"]), (&json!([]), &json!([])));
    }
}
