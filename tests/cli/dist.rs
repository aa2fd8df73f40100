//! `plimsoll dist`: what is drawn is what the law says, the charts go where they are asked to, mistakes are named.

use crate::lab::Lab;

const SMALL: &[&str] = &["dist", "--n", "1e4", "--draws", "1e5"];

#[test]
fn every_distribution_is_drawn_from_and_fits_its_law_in_80_columns() {
    let lab = Lab::new();
    let finished = lab.run(&[SMALL, &["--quiet"]].concat());
    assert_eq!((finished.exit, finished.stderr.as_str()), (0, ""));
    let all = lab.json(SMALL)["distributions"].as_array().unwrap().clone();
    let names: Vec<&str> = all.iter().map(|drawn| drawn["access"].as_str().unwrap()).collect();
    assert!(["uniform", "zipf:0.9", "hotspot:0.2:0.8"].iter().all(|known| names.contains(known)), "{names:?}");
    let fits = finished.stdout.matches(" sigma: the draws match\n").count();
    assert_eq!(fits, names.len(), "{}", finished.stdout);
    for name in names {
        let head = format!("{name}: 100,000 draws of 10,000 keys, seed 1\n");
        assert!(finished.stdout.contains(&head), "{head}: {}", finished.stdout);
    }
    assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{}", finished.stdout);
    assert_eq!(lab.left_behind(), Vec::<String>::new(), "no files without --out");
}

#[test]
fn more_distributions_than_colours_and_a_trillion_keys_are_drawn_from() {
    let lab = Lab::new();
    let eight = "uniform,zipf:0.3,zipf:0.5,zipf:0.7,zipf:0.9,zipf:1,zipf:1.1,zipf:1.3";
    let dist = lab.json(&[SMALL, &[eight, "--out", "charts"]].concat());
    assert_eq!(dist["distributions"].as_array().unwrap().len(), 8);
    assert!(!dist["files"].as_array().unwrap().is_empty());
    let dist = lab.json(&["dist", "--n", "1099511627776", "--draws", "1e5"]);
    for distribution in dist["distributions"].as_array().unwrap() {
        let sigmas = distribution["chi_square_sigmas"].as_f64().unwrap();
        assert!(sigmas.abs() < 4.0, "{distribution}");
    }
}

#[test]
fn the_same_seed_draws_the_same_and_another_seed_does_not() {
    let lab = Lab::new();
    let most_hit =
        |seed| lab.json(&[SMALL, &["zipf", "--seed", seed]].concat())["distributions"][0]["most_hit"].clone();
    assert_eq!(most_hit("7"), most_hit("7"));
    assert_ne!(most_hit("7"), most_hit("8"));
}

#[test]
fn the_charts_of_the_published_experiment_go_to_the_directory_that_was_named() {
    let lab = Lab::new();
    let dist = lab.json(&[SMALL, &["zipf:0.5,zipf:0.9,zipf:1.1,uniform", "--out", "charts"]].concat());
    let mut files: Vec<&str> = dist["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    files.sort_unstable();
    let names = ["hits-by-rank", "hits-by-row", "hits-by-row-zoom-0"];
    let expected: Vec<String> =
        names.iter().flat_map(|name| ["png", "svg"].map(|e| format!("charts/{name}.{e}"))).collect();
    let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(files, expected);
    assert!(files.iter().all(|file| std::fs::metadata(lab.path().join(file)).unwrap().len() > 1_000));
    assert_eq!(lab.left_behind(), ["charts"]);
}

#[test]
fn what_cannot_be_drawn_is_refused_in_one_line_and_nothing_is_written() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("mine")).unwrap();
    std::fs::write(lab.path().join("mine/thesis"), "years of work").unwrap();
    for (arguments, exit, word) in [
        (&["zipff:0.9"][..], 2, "did you mean `zipf:0.9`?"),
        (&["zipf:101"], 2, "THETA a number from 0 to 100"),
        (&["special:1:75:12:1"], 2, "3 arguments at most"),
        (&["--n", "0"], 2, "--n cannot be `0`"),
        (&["uniform", "zipf"], 2, "separate distributions by commas: `uniform,zipf`"),
        (&["--n", "1e13"], 2, "from 1 to 1099511627776"),
        (&["--n", "1e12", "--draws", "1e9"], 2, "from 1 to 200000000"),
        (&["--n", "1e12", "--out", "charts"], 2, "charts take at most 100000000 keys"),
        (&["--draws", "1.5"], 2, "`1e6`"),
        (&["--seed", "-1"], 2, "--seed"),
        (&["uniform", "--n", "10", "--draws", "10", "--out", "mine"], 3, "`mine` is not empty"),
    ] {
        let finished = lab.run(&[&["dist", "--quiet"], arguments].concat());
        assert_eq!((finished.exit, finished.stderr.lines().count()), (exit, 1), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(word), "{arguments:?}: {}", finished.stderr);
        assert_eq!(finished.stdout, "", "{arguments:?}");
    }
    assert_eq!(lab.left_behind(), ["mine"]);
}

#[test]
fn the_load_takes_distributions_with_several_arguments_and_says_so_in_its_run() {
    let lab = Lab::new();
    for (workload, engine) in [("file", "null"), ("oltp", "null")] {
        let flags =
            [workload, "--engine", engine, "--access", "hotspot:0.1:0.9,special", "--time", "200ms", "--no-report"];
        let run = lab.json(&[&flags[..], &["--interval", "50ms", "--warmup", "0s"]].concat());
        let accesses: Vec<&str> =
            run["points"].as_array().unwrap().iter().map(|p| p["params"]["access"].as_str().unwrap()).collect();
        assert_eq!(accesses, ["hotspot:0.1:0.9", "special:1:75:12"], "{workload}");
        let last = lab.run_files().pop().unwrap();
        let shown = lab.run(&["show", last.to_str().unwrap(), "--details"]);
        assert!(shown.exit == 0 && shown.stdout.contains("special:1:75:12"), "{}{}", shown.stdout, shown.stderr);
    }
}
