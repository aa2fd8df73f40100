//! `plimsoll report --out`: several runs in one report, and a report without names.

use crate::lab::{Lab, NULL, is_usable};
use std::path::Path;

/// Measures the null engine, and gives the path of the run file.
fn measure(lab: &Lab, more: &[&str]) -> String {
    measure_usable(lab, more).0
}

/// The same, and whether the numbers of all points may be used: only then every point is compared.
fn measure_usable(lab: &Lab, more: &[&str]) -> (String, bool) {
    let run = lab.json(&[NULL, &["--time", "300ms"], more].concat());
    let file = run["run"].as_str().expect("a run has its file").to_owned();
    (file, run["points"].as_array().expect("a run has points").iter().all(is_usable))
}

fn read(lab: &Lab, file: &str) -> String {
    let text = std::fs::read_to_string(lab.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    // No line of a page ends between a number and its unit.
    text.replace('\u{a0}', " ")
}

/// Every file below `dir`.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let (mut folders, mut all) = (vec![dir.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { all.push(path) }
        }
    }
    all
}

#[test]
fn two_runs_are_one_report_in_which_they_have_the_names_of_what_they_differ_in() {
    let lab = Lab::new();
    let (base, is_base_usable) = measure_usable(&lab, &["--repeat", "2"]);
    let (new, is_new_usable) = measure_usable(&lab, &["--repeat", "2", "--set", "service=2ms"]);
    let report = lab.json(&["report", &base, &new, "-o", "out"]);
    assert_eq!(report["reports"][0], "out/index.html");
    let html = read(&lab, "out/index.html");
    for part in
        ["service 100 us", "service 2.00 ms", "href=\"runs/1-", "How to repeat it", "SHA-256", "class=\"caution\""]
    {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(html.contains("<pre>plimsoll file --engine null"), "the command is recorded: {html}");
    let csv = read(&lab, "out/data.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines.len() == 3 && lines[1].contains(",base,") && lines[2].contains("service 2.00 ms"), "{csv}");
    assert!(read(&lab, "out/tables.md").starts_with("# service 2.00 ms"));
    let charts = files(&lab.path().join("out/charts"));
    if is_base_usable && is_new_usable {
        assert!(["runs-01.svg", "runs-01.png"].iter().all(|name| charts.iter().any(|path| path.ends_with(name))));
        assert!(lines[2].contains(",indicative,"), "two pairs conclude nothing: {csv}");
    }
    let other = lab.json(&["report", &base, &new, "--base", &new, "-o", "out"]);
    assert_eq!(other["reports"][0], "out/index.html", "its own report is replaced");
    assert!(read(&lab, "out/tables.md").starts_with("# service 100 us"));
}

#[test]
fn a_single_run_has_the_same_four_things() {
    let lab = Lab::new();
    let run = measure(&lab, &[]);
    assert_eq!(lab.run(&["report", &run, "-o", "one"]).exit, 0);
    let mut names: Vec<String> = std::fs::read_dir(lab.path().join("one"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".plimsoll-report", "charts", "data.csv", "index.html", "tables.md"]);
}

#[test]
fn the_plan_of_a_run_file_is_measured_again() {
    let lab = Lab::new();
    let run = measure(&lab, &["--clients", "1,2"]);
    let again = lab.json(&["run", &run, "--no-report"]);
    let other = again["run"].as_str().unwrap();
    let digest = |run: &str| {
        assert_eq!(lab.run(&["report", run, "-o", "again"]).exit, 0);
        let text = read(&lab, "again/tables.md");
        text.lines().find(|line| line.starts_with("- plan: ")).unwrap().to_owned()
    };
    assert_eq!(digest(&run), digest(other), "the same points with the same seeds");
    let refused = lab.run(&["run", &run, "--time", "1s"]);
    assert!(refused.exit == 2 && refused.stderr.contains("--time: the plan of a run file"), "{}", refused.stderr);
}

#[test]
fn names_are_in_no_file_of_a_report_without_them() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("zebra-crossing")).unwrap();
    let data = lab.path().join("zebra-crossing").display().to_string();
    let runs = lab.path().join("zebra-runs").display().to_string();
    let run = lab.json(&[NULL, &["--time", "300ms", "--dir", &data, "--runs", &runs]].concat());
    let file = run["run"].as_str().unwrap();
    assert_eq!(lab.run(&["report", file, "-o", "out", "--redact", "hosts,users,paths"]).exit, 0);
    let texts =
        files(&lab.path().join("out")).into_iter().filter(|path| path.extension().is_none_or(|end| end != "png"));
    for path in texts {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("zebra"), "{}: {:?}", path.display(), text.lines().find(|line| line.contains("zebra")));
    }
    assert!(read(&lab, "out/tables.md").contains("--dir /path-"), "the command has the replacement");
    assert_eq!(lab.run(&["report", file, "-o", "plain"]).exit, 0);
    assert!(read(&lab, "plain/tables.md").contains("zebra-crossing"), "without the flag the names are there");
}

#[test]
fn what_cannot_be_written_or_understood_is_refused_in_one_line_and_nothing_is_written() {
    let lab = Lab::new();
    let run = measure(&lab, &[]);
    let mine = lab.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("work.txt"), "years").unwrap();
    std::os::unix::fs::symlink(&mine, lab.path().join("link")).unwrap();
    assert_eq!(lab.run(&["report", &run, "-o", "old"]).exit, 0);
    std::fs::write(lab.path().join("old/charts/mine.txt"), "years").unwrap();
    for (arguments, exit, said) in [
        (&["report", &run, "-o", "mine"][..], 3, "`mine` is not empty and no report"),
        (&["report", &run, "-o", "link"], 3, "`link` is a symbolic link"),
        (&["report", &run, "-o", "old"], 3, "`old/charts/mine.txt` is not of the report"),
        (&["report", &run, "-o", "."], 2, "has no name of its own"),
        (&["report", &run, &run, "-o", "new"], 2, "is named twice; name each run once"),
        (&["report", &run, "-o", "new", "--redact", "hosts,names"], 2, "`names` is unknown: use `hosts`"),
        (&["report", &run, "-o", "new", "--base", "nothing"], 2, "there is no run `nothing`"),
        (&["report", &run, "--redact", "hosts"], 2, "--out"),
    ] {
        let refused = lab.run(arguments);
        assert!(refused.exit == exit && refused.stderr.contains(said), "{arguments:?}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{arguments:?}: {}", refused.stderr);
    }
    assert!(!lab.path().join("new").exists());
    assert_eq!((std::fs::read_dir(&mine).unwrap().count(), read(&lab, "mine/work.txt").as_str()), (1, "years"));
    assert_eq!(read(&lab, "old/charts/mine.txt"), "years");
    let hidden = std::fs::read_dir(lab.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(hidden.filter(|name| name.starts_with('.')).count(), 0, "nothing half-written is left");
}
