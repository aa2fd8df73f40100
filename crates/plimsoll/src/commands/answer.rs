//! The answer of a run on stdout, and where the rest of it is.

use super::list;
use super::measure::report_dir;
use crate::context::Context;
use crate::flags;
use crate::output::{self, escaped, shown};
use analysis::Analysis;
use report::wording::run_time::run_time;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Prints the answer of the run in `run_file`, behind it the details if they are asked for, and a line that names `page`, its report, if there is one.
pub fn print(analysis: &Analysis, run_file: &Path, page: Option<&Path>, details: bool, context: &Context) {
    let (width, colour) = (context.width(), context.colour());
    let answer = analysis::answer(analysis);
    output::print(&report::terminal::answer(&answer, width, colour));
    if details {
        output::print(&format!("\n{}", report::terminal::details(analysis, &answer, width, colour)));
    }
    let spent = analysis.time.as_ref().filter(|_| details).map(run_time);
    let spent = spent.map(|text| report::wrapped(&text, width).join("\n") + "\n").unwrap_or_default();
    output::print(&format!("\n{spent}{}\n", whereabouts(run_file, page, details)));
}

/// Whether the error `text` is in the answer of `analysis`, on the screen on which it would be printed once more.
pub fn is_on_screen(analysis: &Analysis, text: &str) -> bool {
    let is_one_screen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    is_one_screen && tell(&analysis::answer(analysis).trust, text)
}

/// Whether the sentences `trust` have the error `text`. They have no marks of code.
fn tell(trust: &[String], text: &str) -> bool {
    let bare = |text: &str| text.replace('`', "");
    let reason = bare(text.trim_end_matches("; what was measured is kept"));
    bare(&trust.join(" ")).contains(reason.trim_end_matches('.'))
}

/// The report of the run in `run_file`, if one was written.
pub fn page_of(run_file: &Path) -> Option<PathBuf> {
    Some(report_dir(run_file).join("report.html")).filter(|page| page.is_file())
}

/// `Report: r/x-report/report.html`, and in the next line `Details: plimsoll show last --details`: in one line with a path no terminal has room for
/// the command.
fn whereabouts(run_file: &Path, page: Option<&Path>, has_details: bool) -> String {
    let (what, file) = page.map_or(("Run file", run_file), |page| ("Report", page));
    let place = format!("{what}: {}", shown(file));
    if has_details {
        return place;
    }
    let run = list::name_to_type(run_file, Path::new(flags::RUNS));
    format!("{place}\nDetails: plimsoll show {} --details", escaped(&run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_shows_the_details_has_a_line_of_its_own() {
        let file = Path::new("r/a b.plimsoll");
        assert_eq!(
            whereabouts(file, None, false),
            "Run file: r/a b.plimsoll\nDetails: plimsoll show 'r/a b.plimsoll' --details"
        );
        assert_eq!(whereabouts(file, None, true), "Run file: r/a b.plimsoll");
        assert_eq!(whereabouts(file, Some(Path::new("r/report.html")), true), "Report: r/report.html");
    }

    #[test]
    fn an_error_is_known_again_in_the_answer() {
        let trust = ["The point is invalid.", "It ended with: statement by_key was rejected: no such column."];
        let trust = trust.map(str::to_owned);
        assert!(tell(&trust, "statement `by_key` was rejected: no such column; what was measured is kept"));
        assert!(!tell(&trust, "the disk is full"));
    }
}
