//! The experiments on the pages of `docs/experiments`: each is run as its page has it, and its charts and answer are written into the page.
//!
//! In: a page with a command and a line `<!-- measured CHART... -->`. Out: the same page with the charts, the answer and the machine below
//! that line, and the charts next to the page. Limits: the command is the last one before the line; the run stays in `target/site-runs` until
//! the page is measured again, so that a program which words its answers in another way can write them again; a page without such a line is
//! left as it is.

use crate::workspace;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const FOLDER: &str = "docs/experiments";
const BEGIN: &str = "<!-- measured ";
const END: &str = "<!-- /measured -->";

/// Where the answers of pages come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The experiments are run.
    NewRuns,
    /// The runs that the last measurement left.
    KeptRuns,
}

/// The time that a kept run took, in seconds, next to it.
const SECONDS: &str = "seconds";

/// The experiment of a page.
#[derive(Debug, PartialEq, Eq)]
struct PageExperiment {
    /// The words behind `plimsoll`.
    words: Vec<String>,
    /// How the names of its charts begin.
    charts: Vec<String>,
}

/// What a run of an experiment gave.
struct Measured {
    /// The names of the charts, without their ending, which are next to the page.
    charts: Vec<String>,
    /// The answer as Markdown: its table, what is claimed, and how far to trust it.
    answer: String,
    seconds: f64,
}

/// Writes the answers of `pages` into them.
pub fn write_answers(root: &Path, pages: &[String], source: Source) -> Result<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let program = build(root)?;
    let all = pages.iter().any(|page| page == "all");
    let pages = if all { all_pages(root)? } else { pages.to_vec() };
    pages
        .iter()
        .try_for_each(|page| write_answer(root, &program, page, source).with_context(|| format!("the page `{page}`")))
}

fn build(root: &Path) -> Result<PathBuf> {
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    Ok(root.join("target/release/plimsoll"))
}

fn all_pages(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER))? {
        let path = entry?.path();
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        names.extend(name.filter(|_| path.extension().is_some_and(|own| own == "md")));
    }
    names.sort();
    Ok(names)
}

fn write_answer(root: &Path, program: &Path, page: &str, source: Source) -> Result<()> {
    let file = root.join(FOLDER).join(format!("{page}.md"));
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let Some(experiment) = experiment_of(&text) else { return Ok(()) };
    let place = root.join("target/site-runs").join(page);
    if source == Source::NewRuns {
        println!("site: {page}: plimsoll {}", experiment.words.join(" "));
        measure(program, &experiment, &place)?;
    }
    let measured = answer_of(program, &experiment, &place, &root.join(FOLDER).join(page))?;
    Ok(fs::write(&file, with_results(&text, page, &measured, &machine())?)?)
}

/// The last command before the line of the results.
fn experiment_of(text: &str) -> Option<PageExperiment> {
    let (before, rest) = text.split_once(BEGIN)?;
    let charts = rest.split_once("-->")?.0.split_whitespace().map(str::to_owned).collect();
    let command = before.lines().rev().find_map(|line| line.strip_prefix("plimsoll "))?;
    let command = command.split(" #").next().unwrap_or(command);
    Some(PageExperiment { words: command.split_whitespace().map(str::to_owned).collect(), charts })
}

/// Runs `experiment` in `place`, from which the run before is removed.
fn measure(program: &Path, experiment: &PageExperiment, place: &Path) -> Result<()> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(&experiment.words).arg("--quiet").current_dir(place).stdin(Stdio::null()).stdout(Stdio::null());
    workspace::run(&mut command)?;
    Ok(fs::write(place.join(SECONDS), begun.elapsed().as_secs().to_string())?)
}

/// The answer and the charts of the run in `place`, by the present program.
fn answer_of(program: &Path, experiment: &PageExperiment, place: &Path, pictures: &Path) -> Result<Measured> {
    let json_of = |words: &[&str]| -> Result<Value> {
        let mut command = Command::new(program);
        let text = workspace::output_of(command.args(words).arg("--json").current_dir(place))?;
        serde_json::from_str(&text).context("plimsoll printed no JSON")
    };
    let report = json_of(&["report", "last"])?;
    let report = report["reports"][0].as_str().context("there is no report")?;
    let answer = json_of(&["show", "last"])?;
    let charts = copy_charts(&place.join(report), &experiment.charts, pictures)?;
    let seconds = fs::read_to_string(place.join(SECONDS)).context("no run was kept; --measure makes one")?;
    Ok(Measured { charts, answer: answer_markdown(&answer["answer"])?, seconds: seconds.trim().parse()? })
}

/// `answer` of the JSON of a run, quoted: the claims, the table, and how far to trust it.
fn answer_markdown(answer: &Value) -> Result<String> {
    let texts = |all: &Value, key: &str| -> Vec<String> {
        let all = all.as_array().into_iter().flatten();
        all.filter_map(|one| one.get(key).unwrap_or(one).as_str().map(str::to_owned)).collect()
    };
    let (claims, trust) = (texts(&answer["claims"], "sentence"), texts(&answer["trust"], ""));
    ensure!(!claims.is_empty(), "the run claims nothing: {}", trust.join(" "));
    let table = &answer["table"];
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let mut lines = vec![claims.join(" "), String::new()];
    if let Some(rows) = table["rows"].as_array() {
        let head = table["head"].as_str().unwrap_or_default().to_owned();
        let heads: Vec<String> = [head].into_iter().chain(texts(&table["columns"], "head")).collect();
        let rule = (0..heads.len()).map(|nth| if nth == 0 { "---" } else { "---:" }.to_owned()).collect();
        lines.extend([line(heads), line(rule)]);
        for row in rows {
            let cells = row["cells"].as_array().into_iter().flatten();
            let cells = cells.map(|cell| cell["text"].as_str().unwrap_or("-").to_owned());
            lines.push(line([texts(&row["name"], "").join(" ")].into_iter().chain(cells).collect()));
        }
        lines.push(String::new());
    }
    lines.push(format!("Trust: {}", trust.join(" ")));
    Ok(lines.iter().map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n"))
}

/// Copies the first chart of each beginning, and returns their names.
fn copy_charts(report: &Path, beginnings: &[String], pictures: &Path) -> Result<Vec<String>> {
    let folder = if report.is_dir() { report } else { report.parent().context("the report has no folder")? };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder.join("charts"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".svg").map(str::to_owned));
    }
    names.sort();
    let first = |beginning: &String| {
        let found = names.iter().find(|name| name.starts_with(beginning.as_str()));
        found.with_context(|| format!("no chart begins with `{beginning}`; there are {}", names.join(", ")))
    };
    let chosen = beginnings.iter().map(|beginning| first(beginning).cloned()).collect::<Result<Vec<_>>>()?;
    if pictures.exists() {
        fs::remove_dir_all(pictures)?;
    }
    fs::create_dir_all(pictures)?;
    for name in &chosen {
        let svg = fs::read(folder.join("charts").join(format!("{name}.svg")))?;
        fs::write(pictures.join(format!("{name}.svg")), svg)?;
    }
    Ok(chosen)
}

/// The page with the results in the place of those that it had.
fn with_results(text: &str, page: &str, measured: &Measured, machine: &str) -> Result<String> {
    let (before, rest) = text.split_once(BEGIN).context("there is no place for results")?;
    let (charts, rest) = rest.split_once("-->").context("the line of the results does not end")?;
    let after = rest.split_once(END).map_or(rest, |(_, after)| after);
    let pictures: String =
        measured.charts.iter().map(|name| format!("![{}]({page}/{name}.svg)\n\n", name.replace('-', " "))).collect();
    Ok(format!(
        "{before}{BEGIN}{charts}-->\n{pictures}plimsoll's answer to this run, of {:.0} s on {machine}:\n\n{}\n{END}{after}",
        measured.seconds, measured.answer
    ))
}

/// This machine, as a reader would describe it.
fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, model)| model);
    format!("a virtual machine with {processors} CPUs ({})", model.unwrap_or("unknown").trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n```\nplimsoll plan x\nplimsoll run x --time 2s   # short\n```\n\n<!-- measured curve timeline -->\nold\n\
                        <!-- /measured -->\n\nend\n";

    #[test]
    fn the_last_command_before_the_results_is_run() {
        let experiment = experiment_of(PAGE).unwrap();
        assert_eq!(experiment.words, ["run", "x", "--time", "2s"]);
        assert_eq!(experiment.charts, ["curve", "timeline"]);
        assert_eq!(experiment_of("# A\n\n```\nplimsoll run x\n```\n"), None);
    }

    #[test]
    fn the_answer_is_quoted_with_its_table_and_its_trust() {
        let cell = |text: &str| serde_json::json!({"text": text});
        let answer = serde_json::json!({
            "claims": [{"sentence": "It is fast."}, {"sentence": "One core limits it."}],
            "table": {"head": "rows/s", "columns": [{"head": "1"}, {"head": "2"}],
                "rows": [{"name": ["sqlite", "commit"], "cells": [cell("9"), null]}]},
            "trust": ["All points are valid."],
        });
        let expected = "> It is fast. One core limits it.\n>\n> | rows/s | 1 | 2 |\n> | --- | ---: | ---: |\n> | sqlite commit | 9 | - |\n\
                        >\n> Trust: All points are valid.";
        assert_eq!(answer_markdown(&answer).unwrap(), expected);
        assert!(answer_markdown(&serde_json::json!({"claims": []})).is_err());
    }

    #[test]
    fn results_take_the_place_of_older_ones_and_a_second_time_changes_nothing() {
        let measured = Measured {
            charts: vec!["curve-file".into()],
            answer: "> It is fast.\n>\n> Trust: Sure.".into(),
            seconds: 2.2,
        };
        let once = with_results(PAGE, "a", &measured, "a machine").unwrap();
        assert!(once.contains("![curve file](a/curve-file.svg)\n\nplimsoll's answer to this run, of 2 s on a machine:\n\n> It is fast.\n>\n> Trust: Sure.\n<!-- /measured -->\n\nend\n"), "{once}");
        assert!(!once.contains("old"));
        assert_eq!(with_results(&once, "a", &measured, "a machine").unwrap(), once);
    }
}
