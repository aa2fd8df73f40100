//! Golden tests of the reading half: recorded runs, and what plimsoll says of them, whole.
//!
//! In: `*/run.plimsoll`, recorded by the real binary, but for the made `hosts`. Out: the findings, the Markdown report and the answer with its details on a terminal, each
//! compared with the file beside the run. `UPDATE_GOLDEN=1` rewrites these files: review the difference like code.
//! HTML and charts are compared with those of a second reading, byte by byte. Limits: what is in them is tested in the crate `report`. A run is never recorded again when the format changes: from the
//! first release on old runs stay readable, and that is part of what is tested.
//!
//! | run | recorded by |
//! |---|---|
//! | `stall` | `plimsoll run null-stall --time 6s --set interval=100ms` |
//! | `engines` | `plimsoll insert --engine sqlite,fjall --indexes 0,3 --time 2s --interval 100ms --durability os` |
//! | `killed` | `plimsoll oltp --engine sqlite --mix read_write --clients 1,4 --access zipf:0.9 --time 2s --interval 250ms --durability os`, on a busy machine, ended by `kill -9` in its second point: a database and its log |
//! | `repeats` | `plimsoll insert --engine sqlite --step l.i1 --indexes 0,3 --rows 0 --repeat 3 --time 2s --interval 250ms --durability os`: inserts without and with indexes, three times each |
//! | `steps` | `plimsoll insert --engine sqlite --rows 40000 --time 2s --interval 250ms --durability os`: all steps, the queries with inserts in the background |
//! | `sweep` | `plimsoll oltp --engine sqlite --mix read_write --clients 1,2,4 --repeat 2 --time 2s --interval 250ms --durability os`: a load curve |
//! | `limit` | `plimsoll limit file --engine null --set service=1ms --slo 'p99<5ms' --arrivals constant --rate-max 800 --time 2s --hold 2s --interval 250ms` |
//! | `ab` | `plimsoll oltp --engine sqlite --mix write_only --ab durability=disk,os --repeat 3 --time 2s --interval 250ms` |
//! | `hosts` | `cargo run -p store --example made_run -- run.plimsoll 1 12 hosts`: nothing was measured, the rows of three hosts are made up |

mod diff;
mod repeats;

use analysis::compare::{ComparedRun, compare_runs, overlay_runs};
use analysis::findings::{evidence, title};
use analysis::{Analysis, Finding, Severity};
use report::PublishedRun;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[test]
fn a_stall_of_known_length_seen_by_a_closed_and_an_open_loop() {
    check("stall");
}

#[test]
fn two_engines_with_and_without_indexes() {
    check("engines");
}

#[test]
fn a_run_whose_recorder_was_killed() {
    check("killed");
}

#[test]
fn a_point_that_three_hosts_measured_with_one_uneven_and_a_full_link() {
    check("hosts");
}

#[test]
fn inserts_without_and_with_indexes_three_times_each() {
    check("repeats");
}

#[test]
fn the_steps_of_a_sequence_and_queries_with_inserts_in_the_background() {
    check("steps");
}

#[test]
fn a_load_curve_with_repeats() {
    check("sweep");
}

#[test]
fn a_search_for_the_largest_rate() {
    check("limit");
}

#[test]
fn two_settings_compared_in_pairs() {
    check("ab");
}

#[test]
fn two_runs_in_one_report_are_byte_by_byte_the_same_each_time() {
    let home = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| published(&home.path().join(name)));
    let names: Vec<&String> = first.keys().collect();
    for name in ["index.html", "tables.md", "data.csv", "runs/1-stall.html", "runs/2-killed.html"] {
        assert!(first.contains_key(name), "{name}: {names:?}");
    }
    assert!(names.iter().filter(|name| name.ends_with(".svg")).count() > 10, "{names:?}");
    let different: Vec<&String> = first.keys().filter(|name| first.get(*name) != second.get(*name)).collect();
    assert!(different.is_empty() && first.len() == second.len(), "{different:?}");
    let page = String::from_utf8_lossy(&first["index.html"]).into_owned();
    assert!(page.contains("Nothing can be compared"), "the runs have no work in common");
    assert!(page.contains("run.plimsoll, SHA-256 "), "the digest of each file is there");
}

/// The files of the report of two runs in `dir`, by their paths.
fn published(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = ["stall", "killed"];
    let runs = names.map(|name| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name).join("run.plimsoll");
        let mut data = store::read(&file).unwrap();
        report::state_source(&mut data.meta, &file).unwrap();
        let analysis = analysis::analyse(&data);
        (data, analysis)
    });
    let all: Vec<ComparedRun> =
        names.iter().zip(&runs).map(|(name, (data, analysis))| ComparedRun { name, data, analysis }).collect();
    let published: Vec<PublishedRun> =
        names.iter().zip(&runs).map(|(file, (_, analysis))| PublishedRun { file, analysis }).collect();
    let written = report::publish(&published, compare_runs(&all), &overlay_runs(&all), dir, &|_| {}).unwrap();
    let name = |path: &Path| path.strip_prefix(dir).unwrap().display().to_string();
    written.files.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

#[test]
fn the_pages_and_the_charts_of_a_run_are_the_same_to_the_byte_whenever_they_are_written() {
    for run in ["stall", "engines", "killed", "repeats", "steps", "sweep", "limit", "ab"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(run);
        let (first, second) = (documents(&folder), documents(&folder));
        assert!(first.len() > 3, "{run}: {} documents", first.len());
        for ((name, first), (_, second)) in first.iter().zip(&second) {
            assert!(first == second, "{run}: {name} differs:\n{}", diff::lines(first, second));
        }
        assert_eq!(first.len(), second.len(), "{run}");
    }
}

/// The page of the run in `folder` and the SVG files of its charts, by their names.
fn documents(folder: &Path) -> Vec<(String, String)> {
    let analysis = analysis::analyse(&store::read(&folder.join("run.plimsoll")).unwrap());
    let figures = report::charts::all_figures(&analysis).into_iter().flat_map(|(_, figures)| figures);
    let charts = figures.map(|figure| (format!("{}.svg", figure.id), plot::render_svg(&figure)));
    let page = ("report.html".to_owned(), report::html(&analysis));
    std::iter::once(page).chain(charts).collect()
}

#[test]
fn the_answer_of_every_run_is_one_screen_however_wide_the_terminal_is() {
    // An empty line and the lines that name the report and the details follow it.
    const LINES_MAX: usize = 24 - 3;
    for run in ["stall", "engines", "killed", "hosts", "repeats", "steps", "sweep", "limit", "ab"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(run).join("run.plimsoll");
        let answer = analysis::answer(&analysis::analyse(&store::read(&file).unwrap()));
        for width in [60, 80, 132] {
            let shown = report::terminal::answer(&answer, width, false);
            assert!(shown.lines().count() <= LINES_MAX, "{run}, {width} columns:\n{shown}");
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{run}, {width} columns:\n{shown}");
        }
    }
}

/// Compares all that is said of a run with the files beside it.
fn check(run: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(run);
    let said = texts(&folder);
    assert!(said == texts(&folder), "the same run gives another text the second time");
    let differences: Vec<String> = said.iter().filter_map(|(name, text)| compare(folder.join(name), text)).collect();
    assert!(
        differences.is_empty(),
        "{}\nIf this is as it should be: UPDATE_GOLDEN=1 cargo test -p plimsoll --test golden",
        differences.join("\n")
    );
}

/// What is said of the run in `folder`, by the name of the golden file.
fn texts(folder: &Path) -> [(&'static str, String); 3] {
    let run = store::read(&folder.join("run.plimsoll")).unwrap();
    let analysis = analysis::analyse(&run);
    let answer = analysis::answer(&analysis);
    let screen = report::terminal::answer(&answer, 80, false);
    [
        ("findings.txt", findings(&analysis)),
        ("report.md", report::markdown(&analysis)),
        ("terminal.txt", format!("{screen}\n{}", report::terminal::details(&analysis, &answer, 80, false))),
    ]
}

/// The difference between the golden file and `text`, if there is one; with `UPDATE_GOLDEN=1` it is removed instead.
fn compare(golden: PathBuf, text: &str) -> Option<String> {
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|set| set == "1") {
        std::fs::write(&golden, text).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    (expected != text).then(|| format!("{}:\n{}", golden.display(), diff::lines(&expected, text)))
}

/// All findings with their evidence, and the verdict.
fn findings(analysis: &Analysis) -> String {
    let mut text = String::new();
    for point in &analysis.points {
        let state = point.state.as_str();
        writeln!(
            text,
            "point {} `{}`: {state}, {}",
            point.id,
            report::wording::label::point_label(point),
            point.validity.as_str()
        )
        .unwrap();
        point.findings.iter().for_each(|finding| text.push_str(&one_finding(finding)));
    }
    writeln!(text, "run").unwrap();
    analysis.findings.iter().for_each(|finding| text.push_str(&one_finding(finding)));
    writeln!(text, "verdict").unwrap();
    report::wording::verdict::sentences(analysis).iter().for_each(|line| writeln!(text, "    {line}").unwrap());
    text
}

fn one_finding(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let mut text = format!("    {} ({severity}): {}\n", finding.code().as_str(), title(&[&finding.detail]));
    let next = finding.next.sentence().into_owned();
    let details = [("evidence", evidence(finding)), ("next step", next)];
    for (what, detail) in details.into_iter().filter(|(_, detail)| !detail.is_empty()) {
        writeln!(text, "        {what}: {detail}").unwrap();
    }
    text
}
