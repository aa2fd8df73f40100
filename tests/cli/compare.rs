//! `plimsoll compare`: two runs, and the groups of one.

use crate::lab::{Lab, NULL, is_usable};

/// Measures the null engine, and gives the path of the run file.
fn measure(lab: &Lab, more: &[&str]) -> String {
    measure_usable(lab, more).0
}

/// The same, and whether the numbers of all points may be used: only then every pair is compared.
fn measure_usable(lab: &Lab, more: &[&str]) -> (String, bool) {
    let run = lab.json(&[NULL, &["--time", "300ms"], more].concat());
    let file = run["run"].as_str().expect("a run has its file").to_owned();
    (file, run["points"].as_array().expect("a run has points").iter().all(is_usable))
}

/// The number of pairs of the first ratio in `compared`.
fn pairs_of(compared: &serde_json::Value) -> u64 {
    compared["pairs"][0]["n"].as_u64().unwrap_or(0)
}

#[test]
fn two_runs_are_compared_by_the_setting_in_which_they_differ() {
    let lab = Lab::new();
    let (base, is_base_usable) = measure_usable(&lab, &["--repeat", "4"]);
    let (new, is_new_usable) = measure_usable(&lab, &["--repeat", "4", "--set", "service=2ms"]);
    let json = lab.json(&["compare", &base, &new]);
    assert_eq!(json["schema"], "plimsoll.compare/1");
    if !(is_base_usable && is_new_usable) {
        return assert!(pairs_of(&json) < 4, "a spoilt point is in a pair: {json}");
    }
    let metrics: Vec<&str> =
        json["pairs"].as_array().unwrap().iter().filter_map(|pair| pair["metric"].as_str()).collect();
    // 300 ms at 2 ms each are 150 operations at most: too few for the other percentiles.
    assert_eq!(metrics, ["ops_per_s", "p50_ns"]);
    let pair = &json["pairs"][0];
    assert!(pair["n"] == 4 && pair["ratio"].is_f64() && pair["ci95"][1].is_f64() && pair["in_turn"] == false, "{pair}");
    let compared: Vec<&serde_json::Value> =
        json["unlike"].as_array().unwrap().iter().filter(|one| one["effect"] == "compared").collect();
    assert!(compared.len() == 1 && compared[0]["what"] == "service", "{json}");
    let text = lab.run(&["compare", &base, &new]);
    assert!(
        text.exit == 0 && text.stdout.contains("in nothing but service (100 us against 2.00 ms)"),
        "{}",
        text.stdout
    );
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
    assert_eq!(lab.run(&["compare", &base, &new, "--out", "side"]).exit, 0);
    let written = |name: &str| std::fs::read_to_string(lab.path().join("side").join(name)).expect("it was written");
    assert!(written("report.html").contains("<table") && written("report.md").contains("service"));
    assert_eq!(written("ratios.csv").lines().count(), 3, "a header, the rate and the median");
}

#[test]
fn the_groups_of_one_run_are_compared_in_turn() {
    let lab = Lab::new();
    let (run, is_usable) = measure_usable(&lab, &["--repeat", "2", "--clients", "1,2"]);
    let json = lab.json(&["compare", &run, "--by", "clients=2"]);
    if !is_usable {
        return assert!(pairs_of(&json) < 2, "a spoilt point is in a pair: {json}");
    }
    let pair = &json["pairs"][0];
    assert!(pair["n"] == 2 && pair["verdict"] == "indicative" && pair["in_turn"] == true, "{pair}");
    assert_eq!((&pair["base_arm"], &pair["new_arm"]), (&"clients 2".into(), &"clients 1".into()));
    let undecided = lab.run(&["compare", "last", "--by", "clients", "--fail-below", "0.9"]);
    assert!(undecided.exit == 11 && undecided.stderr.contains("at least 4 pairs"), "{}", undecided.stderr);
}

#[test]
fn a_report_has_the_arms_over_each_other_and_every_ratio() {
    let lab = Lab::new();
    let (run, is_usable) = measure_usable(&lab, &["--repeat", "2", "--clients", "1,2"]);
    let json = lab.json(&["compare", &run, "--by", "clients", "--out", "side-by-side"]);
    assert_eq!(json["report"], "side-by-side/report.html");
    let dir = lab.path().join("side-by-side");
    if is_usable {
        let charts = std::fs::read_dir(dir.join("charts")).unwrap();
        let charts: Vec<String> = charts.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        for start in ["ratios-01", "overlay-rate-01", "overlay-percentiles-01"] {
            assert!(charts.iter().any(|name| name.starts_with(start) && name.ends_with(".png")), "{start}: {charts:?}");
        }
    }
    let rows = std::fs::read_to_string(dir.join("ratios.csv")).unwrap().lines().count();
    assert_eq!(rows, json["pairs"].as_array().unwrap().len() + 1);
    let rows_of = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap().lines().count();
    assert_eq!(rows_of("costs.csv"), json["causes"].as_array().unwrap().len() + 1);
    assert_eq!(rows_of("conditions.csv"), json["unlike"].as_array().unwrap().len() + 1);
    assert!(dir.join("report.md").exists());
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let lab = Lab::new();
    let run = measure(&lab, &["--clients", "1,2"]);
    for (arguments, exit, said) in [
        (&["compare", &run][..], 2, "compare needs two runs, or one and --by"),
        (&["compare", &run, &run, "--by", "clients"], 2, "--by compares the groups of one RUN"),
        (&["compare", &run, "--by", "depth"], 2, "do not differ in `depth`; use --by with one of clients"),
        (&["compare", &run, "--by", "clients=7"], 2, "no point of this run has clients = `7`; use one of 1, 2"),
        (&["compare", &run, &run, "--fail-below", "1.5"], 2, "--fail-below cannot be `1.5`; use a number above 0"),
        (&["compare", &run, "nothing"], 2, "there is no run `nothing`"),
        (&["compare", &run, "last"], 2, "is named twice; compare different runs"),
    ] {
        let refused = lab.run(arguments);
        assert!(refused.exit == exit && refused.stderr.contains(said), "{arguments:?}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{arguments:?}: {}", refused.stderr);
    }
    let seeks = measure(&lab, &["--mode", "rndwr"]);
    let unlike = lab.run(&["compare", &run, &seeks]);
    assert!(
        unlike.exit == 0 && unlike.stdout.starts_with("Nothing can be compared") && !unlike.stdout.contains("Lost"),
        "{}{}",
        unlike.stdout,
        unlike.stderr
    );
}
