//! What is missing in the recording of a replay: a copy that keeps up with a fifth of a load was not shown to keep up with it.
//!
//! In: the points of a run. Out: a sentence of the trust line, and claims. Limits: those of [`RecordedLoss`].

use super::asked::AskedRun;
use super::claim::{Claim, ClaimKind};
use super::recorded_loss::RecordedLoss;
use words::list::capital;
use words::quantity::whole;

/// `1,712 of 2,479 recorded statements could not be read: they are cut. Capture with tcpdump -s0 -B 65536.`; `None` if little is missing.
pub(super) fn sentence(run: &AskedRun) -> Option<String> {
    let RecordedLoss { missing, remedy } = RecordedLoss::of(&run.analysis.points)?;
    Some(if remedy.is_empty() { missing } else { format!("{missing} {}.", capital(&remedy)) })
}

/// What to do about statements that fail, if much of their recording is missing: what the server says of them is what comes of that.
pub(super) fn remedy(run: &AskedRun) -> Option<Claim> {
    let RecordedLoss { remedy, .. } = RecordedLoss::of(&run.analysis.points).filter(|loss| !loss.remedy.is_empty())?;
    let sentence = format!("Much of the recording is missing, which may be why: {remedy}.");
    Some(Claim::new(ClaimKind::Caution, sentence))
}

/// That a log has failures only; `None` if a statement of it succeeded.
pub(super) fn only_failures(run: &AskedRun) -> Option<Claim> {
    let content = run.analysis.points.iter().find_map(|point| point.traits.outcome.recorded.as_ref())?;
    let is_all = content.failed >= content.statements && content.left_out == 0 && content.unbound == 0;
    (content.statements > 0 && is_all).then(|| {
        let sentence = format!(
            "No statement that succeeded is in the log, only {} that failed: PostgreSQL logs the others with \
             log_min_duration_statement = 0.",
            whole(content.statements as f64)
        );
        Claim::new(ClaimKind::Caution, sentence)
    })
}

#[cfg(test)]
mod tests {
    use crate::simulated::{Simulation, replay_with_failures, run_of};
    use crate::{Answer, analyse, answer};
    use model::Fact;

    fn answered(simulation: Simulation, facts: &[(&str, &str)]) -> Answer {
        let point =
            simulation.with(|point| facts.iter().for_each(|(name, text)| point.traits.learn(&Fact::new(*name, *text))));
        answer(&analyse(&run_of(vec![point.point()], Vec::new())))
    }

    const CUT: [(&str, &str); 2] =
        [("recorded.log_statements", "767"), ("recorded.skipped.statements_that_are_cut", "1712")];

    #[test]
    fn what_is_missing_stands_behind_the_validity_and_before_what_the_rest_did() {
        let rows = [("replay_compared", "rows"), ("replay_divergence.1", "767 0 0 0 0 0 select ?")];
        let told = answered(Simulation::counts(&[2_000; 20]), &[&CUT[..], &rows[..]].concat());
        assert_eq!(
            told.trust,
            [
                "The point is valid.",
                "1,712 of 2,479 recorded statements could not be read: they are cut. Capture with tcpdump -s0 -B 65536.",
                "All 767 statements that were compared had as many rows as recorded.",
            ]
        );
        let whole = answered(Simulation::counts(&[2_000; 20]), &[("recorded.log_statements", "767")]);
        assert_eq!(whole.trust, ["The point is valid."]);
    }

    #[test]
    fn what_is_missing_is_why_statements_fail_before_any_other_advice() {
        let failures = [(1_000, "ERROR 25P01: SAVEPOINT can only be used in transaction blocks")];
        let prepared = ("recorded.skipped.executions_of_statements_that_were_prepa", "1774");
        let told = answered(replay_with_failures(1_000, &failures), &[("recorded.log_statements", "1196"), prepared]);
        let claims: Vec<&str> = told.claims.iter().map(|claim| claim.sentence.as_str()).collect();
        assert!(
            told.begins_with_failures() && claims[0].starts_with("1,000 of 21,000 statements failed"),
            "{claims:?}"
        );
        let expected =
            "Much of the recording is missing, which may be why: begin to capture before the clients connect.";
        assert_eq!(claims[1], expected);
        assert!(claims.iter().all(|claim| !claim.contains("Mend what")), "{claims:?}");
        assert!(told.trust[1].starts_with("1,774 of 2,970 recorded statements could not be read"), "{:?}", told.trust);
    }

    #[test]
    fn a_log_of_failures_alone_is_no_load() {
        let log = |failed: &str| {
            let facts = [("recorded.log_statements", "17"), ("recorded.log_failed", failed)];
            answered(Simulation::counts(&[2_000; 20]), &facts).claims
        };
        let claims = log("17");
        assert_eq!(claims.len(), 1);
        assert_eq!(
            claims[0].sentence,
            "No statement that succeeded is in the log, only 17 that failed: PostgreSQL logs the others with \
             log_min_duration_statement = 0."
        );
        assert!(log("16").iter().all(|claim| !claim.sentence.contains("that succeeded")));
    }
}
