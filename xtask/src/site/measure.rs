//! The experiments on the pages of `docs/experiments`: each is run as its page has it, and its charts and answer are written into the page.
//!
//! In: a page with a command and a line `<!-- measured CHART... -->`. Out: the same page with the charts, the verdict and the machine below
//! that line, and the charts next to the page. Limits: the command is the last one before the line, and the data is made in `target`; a
//! page without such a line is left as it is.

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
    /// The verdict, sentence by sentence.
    verdict: Vec<String>,
    seconds: f64,
}

/// Runs the experiments of `pages`.
pub fn measure_pages(root: &Path, pages: &[String]) -> Result<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let program = build(root)?;
    let all = pages.iter().any(|page| page == "all");
    let pages = if all { all_pages(root)? } else { pages.to_vec() };
    pages.iter().try_for_each(|page| measure_page(root, &program, page).with_context(|| format!("the page `{page}`")))
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

fn measure_page(root: &Path, program: &Path, page: &str) -> Result<()> {
    let file = root.join(FOLDER).join(format!("{page}.md"));
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let Some(experiment) = experiment_of(&text) else { return Ok(()) };
    println!("site: {page}: plimsoll {}", experiment.words.join(" "));
    let place = root.join("target/site-runs").join(page);
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let measured = run_experiment(program, &experiment, &place, &root.join(FOLDER).join(page))?;
    fs::write(&file, with_results(&text, page, &measured, &machine())?)?;
    Ok(fs::remove_dir_all(&place)?)
}

/// The last command before the line of the results.
fn experiment_of(text: &str) -> Option<PageExperiment> {
    let (before, rest) = text.split_once(BEGIN)?;
    let charts = rest.split_once("-->")?.0.split_whitespace().map(str::to_owned).collect();
    let command = before.lines().rev().find_map(|line| line.strip_prefix("plimsoll "))?;
    let command = command.split(" #").next().unwrap_or(command);
    Some(PageExperiment { words: command.split_whitespace().map(str::to_owned).collect(), charts })
}

fn run_experiment(program: &Path, experiment: &PageExperiment, place: &Path, pictures: &Path) -> Result<Measured> {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(&experiment.words).args(["--json", "--quiet"]).current_dir(place).stdin(Stdio::null());
    let output = command.stderr(Stdio::inherit()).output().context("cannot start plimsoll")?;
    let answer: Value = serde_json::from_slice(&output.stdout).context("plimsoll printed no JSON")?;
    ensure!(output.status.success(), "plimsoll ended with {}: {answer}", output.status);
    let seconds = begun.elapsed().as_secs_f64();
    let report = answer["report"].as_str().context("there is no report")?;
    let charts = copy_charts(&place.join(report), &experiment.charts, pictures)?;
    let sentences = answer["verdict"].as_array().context("there is no verdict")?;
    let verdict = sentences.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Measured { charts, verdict, seconds })
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
    if pictures.exists() {
        fs::remove_dir_all(pictures)?;
    }
    fs::create_dir_all(pictures)?;
    let first = |beginning: &String| {
        let found = names.iter().find(|name| name.starts_with(beginning.as_str()));
        found.with_context(|| format!("no chart begins with `{beginning}`; there are {}", names.join(", ")))
    };
    let chosen = beginnings.iter().map(|beginning| first(beginning).cloned()).collect::<Result<Vec<_>>>()?;
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
    let verdict: String = measured.verdict.iter().map(|sentence| format!("> {sentence}\n>\n")).collect();
    let verdict = verdict.trim_end_matches("\n>\n");
    Ok(format!(
        "{before}{BEGIN}{charts}-->\n{pictures}plimsoll's answer to this run, of {:.0} s on {machine}:\n\n{verdict}\n{END}{after}",
        measured.seconds
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
    fn results_take_the_place_of_older_ones_and_a_second_time_changes_nothing() {
        let measured = Measured {
            charts: vec!["curve-file".into()],
            verdict: vec!["It is fast.".into(), "Sure.".into()],
            seconds: 2.2,
        };
        let once = with_results(PAGE, "a", &measured, "a machine").unwrap();
        assert!(once.contains("![curve file](a/curve-file.svg)\n\nplimsoll's answer to this run, of 2 s on a machine:\n\n> It is fast.\n>\n> Sure.\n<!-- /measured -->\n\nend\n"), "{once}");
        assert!(!once.contains("old"));
        assert_eq!(with_results(&once, "a", &measured, "a machine").unwrap(), once);
    }
}
