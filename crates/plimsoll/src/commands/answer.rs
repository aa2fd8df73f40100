//! The answer of a run on stdout, and where the rest of it is.

use super::list;
use super::measure::report_dir;
use crate::context::Context;
use crate::flags;
use crate::output::{self, escaped, shell_word, shown};
use analysis::Analysis;
use report::wording::run_time::run_time;
use std::path::{Path, PathBuf};

/// Prints the answer of the run in `run_file`, behind it the details if they are asked for, and a line that names its report.
pub fn print(analysis: &Analysis, run_file: &Path, details: bool, context: &Context) {
    let (width, colour) = (context.width(), context.colour());
    let answer = analysis::answer(analysis);
    output::print(&report::terminal::answer(&answer, width, colour));
    if details {
        output::print(&format!("\n{}", report::terminal::details(analysis, &answer, width, colour)));
    }
    let spent = analysis.time.as_ref().filter(|_| details).map(run_time);
    let spent = spent.map(|text| report::wrapped(&text, width).join("\n") + "\n").unwrap_or_default();
    output::print(&format!("\n{spent}{}\n", whereabouts(run_file, details)));
}

/// The report of the run in `run_file`, if one was written.
pub fn page_of(run_file: &Path) -> Option<PathBuf> {
    Some(report_dir(run_file).join("report.html")).filter(|page| page.is_file())
}

/// `Report: r/x-report/report.html  (details: plimsoll show last --details)`
fn whereabouts(run_file: &Path, has_details: bool) -> String {
    let page = page_of(run_file);
    let (what, file) = page.as_deref().map_or(("Run file", run_file), |page| ("Report", page));
    if has_details {
        return format!("{what}: {}", shown(file));
    }
    let last = list::find("last", Path::new(flags::RUNS)).ok().and_then(|last| last.canonicalize().ok());
    let is_last = last.is_some() && last == run_file.canonicalize().ok();
    let path = run_file.display().to_string();
    let run = if is_last { "last".into() } else { shell_word(&path) };
    format!("{what}: {}  (details: plimsoll show {} --details)", shown(file), escaped(&run))
}
