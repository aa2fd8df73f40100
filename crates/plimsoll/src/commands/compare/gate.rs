//! What a pipeline asks of a comparison: may the change pass?
//!
//! In: comparisons, and the share of the base that is allowed. Out: a case for each rate, kind of statement, and lost place; an exit code; a JUnit
//! file, as Jenkins, GitLab and GitHub's actions read it. Limits: a kind of statement that is not decided is skipped and holds nothing up.

use super::own_file;
use crate::exit::{Exit, Fault};
use analysis::RatioVerdict;
use analysis::compare::{KindRatio, RunComparison, is_below};
use analysis::math::ratio::PAIRS_MIN;
use plot::escape::escape_xml;
use report::wording::compare::{arm_name, interval_text, listed, place_name, ratio_text, repeats_left};
use report::wording::compared_kinds::result_difference;
use report::wording::compared_plans::{COLUMNS, plan_text};
use std::fmt::Write as _;
use std::path::Path;

/// One thing that may fail.
#[derive(Debug, PartialEq)]
struct GateCase {
    /// The arm that is compared with the base.
    arm: String,
    name: String,
    kind: CaseKind,
    outcome: CaseOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaseKind {
    Rate,
    Statement,
    Results,
    Lost,
}

#[derive(Debug, PartialEq)]
enum CaseOutcome {
    Passed,
    Failed(String),
    /// There are too few pairs to tell.
    Undecided,
}

const JUNIT_HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"plimsoll compare\">\n";

/// All cases of some comparisons.
pub struct Gate {
    share: f64,
    cases: Vec<GateCase>,
}

impl Gate {
    /// The cases of `all`, in which a rate must be at least `share` of the base.
    pub fn new(all: &[RunComparison], share: f64) -> Gate {
        Gate { share, cases: all.iter().flat_map(|one| cases_of(one, share)).collect() }
    }

    /// Whether everything passes. What could not be concluded is no pass.
    pub fn judge(&self) -> Result<Exit, Fault> {
        let failed: Vec<String> = [CaseKind::Results, CaseKind::Rate, CaseKind::Statement, CaseKind::Lost]
            .into_iter()
            .filter_map(|kind| self.failed_sentence(kind))
            .collect();
        if !failed.is_empty() {
            let text = report::terminal_text(&failed.join("; "));
            return Err(Fault { reported: true, ..Fault::new(Exit::Slower, text) });
        }
        let rates = || self.cases.iter().filter(|case| case.kind == CaseKind::Rate);
        let all = rates().count();
        match rates().filter(|case| case.outcome == CaseOutcome::Undecided).count() {
            0 if all > 0 => Ok(Exit::Done),
            undecided => {
                let text = undecided_sentence(undecided, all);
                Err(Fault { reported: true, ..Fault::new(Exit::Undecided, text) })
            }
        }
    }

    /// `slower than 0.97 of the base: sqlite (0.90) and mariadb (0.95)`
    fn failed_sentence(&self, kind: CaseKind) -> Option<String> {
        let why = |case: &GateCase| match &case.outcome {
            CaseOutcome::Failed(why) if case.kind == kind => match case.name.as_str() {
                "" => Some(why.clone()),
                name => Some(format!("{name} ({why})")),
            },
            _ => None,
        };
        let all: Vec<String> = self.cases.iter().filter_map(why).collect();
        let what = match kind {
            CaseKind::Results => "statements that answer differently".to_owned(),
            CaseKind::Rate => format!("slower than {} of the base", ratio_text(self.share)),
            CaseKind::Statement => format!("statements slower than {} of the base", ratio_text(self.share)),
            CaseKind::Lost => "lost".to_owned(),
        };
        (!all.is_empty()).then(|| format!("{what}: {}", listed(&all)))
    }

    /// Writes the cases into `file`, in the place of those of an earlier comparison.
    pub fn write_junit(&self, file: &Path) -> Result<(), Fault> {
        own_file::replace(file, "--junit", JUNIT_HEAD, &self.junit())
    }

    /// The cases as a JUnit file behind its head: a suite for each arm.
    fn junit(&self) -> String {
        let mut text = String::new();
        for cases in self.cases.chunk_by(|one, next| one.arm == next.arm) {
            let count = |is: fn(&CaseOutcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
            let failures = count(|outcome| matches!(outcome, CaseOutcome::Failed(_)));
            let skipped = count(|outcome| *outcome == CaseOutcome::Undecided);
            let (arm, tests) = (escape_xml(&cases[0].arm), cases.len());
            let _ = writeln!(
                text,
                "  <testsuite name=\"{arm}\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\" errors=\"0\">"
            );
            cases.iter().for_each(|case| text += &case.junit());
            text += "  </testsuite>\n";
        }
        text + "</testsuites>\n"
    }
}

impl GateCase {
    fn junit(&self) -> String {
        let class = match self.kind {
            CaseKind::Rate => "rate",
            CaseKind::Statement => "statement",
            CaseKind::Results => "results",
            CaseKind::Lost => "lost",
        };
        let name = if self.name.is_empty() { class } else { self.name.as_str() };
        let head = format!("    <testcase classname=\"{class}\" name=\"{}\"", escape_xml(name));
        match &self.outcome {
            CaseOutcome::Passed => format!("{head}/>\n"),
            CaseOutcome::Failed(why) => format!("{head}><failure message=\"{}\"/></testcase>\n", escape_xml(why)),
            CaseOutcome::Undecided => {
                format!(
                    "{head}><skipped message=\"not decided: it takes {PAIRS_MIN} pairs of comparable repeats\"/></testcase>\n"
                )
            }
        }
    }
}

fn cases_of(one: &RunComparison, share: f64) -> Vec<GateCase> {
    let arm = arm_name(&one.new);
    let case = |kind, name: String, outcome| GateCase { arm: arm.clone(), name, kind, outcome };
    let mut cases: Vec<GateCase> = Vec::new();
    for (place, metric) in one.speeds() {
        let outcome = match metric.estimate.verdict {
            _ if is_below(metric, share) => CaseOutcome::Failed(ratio_text(metric.estimate.ratio)),
            RatioVerdict::Indicative => CaseOutcome::Undecided,
            _ => CaseOutcome::Passed,
        };
        cases.push(case(CaseKind::Rate, place_name(place), outcome));
    }
    for kinds in one.kinds() {
        cases.extend(
            kinds.ratios.iter().map(|kind| case(CaseKind::Statement, kind.kind.clone(), of_statement(kind, share))),
        );
        let failing = kinds.failures.iter().filter(|(_, [_, in_new])| *in_new > 0);
        cases.extend(failing.map(|(kind, [_, in_new])| {
            let why = format!("fails {in_new} times in the new, never in the base");
            case(CaseKind::Results, kind.clone(), CaseOutcome::Failed(why))
        }));
        cases.extend(kinds.other_results.iter().map(|found| {
            let why = result_difference(found, ["the base", "the new"]);
            case(CaseKind::Results, found.kind.clone(), CaseOutcome::Failed(why))
        }));
    }
    cases.extend(one.lost.iter().map(|lost| {
        let name = report::wording::label::settings_label(&lost.label);
        case(CaseKind::Lost, name, CaseOutcome::Failed(repeats_left(lost)))
    }));
    cases
}

/// A kind of statement fails if it is shown to take longer, and so much longer that less than `share` of the work is done in the same time.
fn of_statement(kind: &KindRatio, share: f64) -> CaseOutcome {
    match kind.estimate.verdict {
        RatioVerdict::Slower if 1.0 / kind.estimate.ratio < share => {
            let times = ratio_text(kind.estimate.ratio);
            let plan = plan_text(&kind.plans, COLUMNS).map_or(String::new(), |plan| format!("; {plan}"));
            CaseOutcome::Failed(format!("takes {times} times as long, {}{plan}", interval_text(&kind.estimate)))
        }
        RatioVerdict::Indicative => CaseOutcome::Undecided,
        _ => CaseOutcome::Passed,
    }
}

/// Why a gate passes nothing.
fn undecided_sentence(undecided: usize, all: usize) -> String {
    let what = if undecided == all { "nothing".to_owned() } else { format!("{undecided} of {all} rates not") };
    format!("--fail-below decides {what}: it takes at least {PAIRS_MIN} pairs of comparable repeats")
}
