//! How far to trust an answer, and what to do next.

use super::asked::AskedRun;
use super::claim::{Claim, ClaimKind};

/// What is said if no point may be used: the reason that most points share.
pub(super) fn nothing_usable(run: &AskedRun) -> Claim {
    let points = run.analysis.points.len();
    let reason = run.analysis.verdict.trust.reasons.first();
    match (points, reason) {
        (0, _) => Claim::new(ClaimKind::Caution, "Nothing was measured."),
        (_, None) => Claim::new(ClaimKind::Caution, "No point can be used."),
        (_, Some(reason)) => Claim::new(ClaimKind::Caution, format!("No point can be used: {}.", reason.code.as_str()))
            .from_finding(reason.code),
    }
}

/// At most three sentences.
pub(super) fn sentences(run: &AskedRun) -> Vec<String> {
    let tally = run.analysis.verdict.trust.validity;
    vec![format!("{} of {} points are valid.", tally.valid, tally.points())]
}

/// The next step of the gravest finding that has one.
pub(super) fn next_step(run: &AskedRun) -> Option<String> {
    let findings = run.analysis.points.iter().flat_map(|point| &point.findings).chain(&run.analysis.findings);
    let gravest =
        findings.filter(|finding| !finding.next.sentence().is_empty()).max_by_key(|finding| finding.severity)?;
    Some(gravest.next.sentence().into_owned())
}
