//! Finds where more clients or depth stop to pay.
//!
//! In: the points of each group. Out: a note per group with at least three steps.
//! Limits: a knee is one of the measured steps.

use super::detector::RunDetector;
use crate::dimensions::plain_words;
use crate::sweep::{Place, Sweep, sweeps};
use crate::text::{percent, plural, rate};
use crate::{Finding, PointAnalysis, Severity};

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector {
    code: "knee",
    help: "where more clients or depth stop to pay",
    explain: "Among the points that differ in clients or depth only, the knee is the first that reaches 90 % of the best rate. \
              Beyond it operations mostly wait longer for the same throughput, so it is the place to work at. Where the knee \
              is the last step the rate was still rising: measure more clients or depth. Where the rate falls behind the best \
              step by more than 10 %, the target suffers from too many at once.",
    detect,
};

const STEPS_MIN: usize = 3;
const FALL_MIN: f64 = 0.10;

fn detect(points: &[PointAnalysis]) -> Vec<Finding> {
    sweeps(points).iter().filter(|sweep| sweep.steps.len() >= STEPS_MIN).map(knee).collect()
}

fn knee(sweep: &Sweep) -> Finding {
    let (best, knee, last) = (sweep.best(), sweep.knee(), sweep.last());
    let fall = 1.0 - last.ops_per_s() / best.ops_per_s().max(f64::MIN_POSITIVE);
    let (group, at) = (plain_words(sweep.label), place_words(sweep.place(knee)));
    let title = match (std::ptr::eq(knee, last), fall > FALL_MIN) {
        (true, _) => format!("{group}: still rising at {at}"),
        (false, true) => {
            let last = place_words(sweep.place(last));
            format!("{group}: knee at {at}; at {last} it is {} below its best", percent(fall))
        }
        (false, false) => format!("{group}: knee at {at}; more adds nothing"),
    };
    let shown = |step| format!("{} {}", place_words(sweep.place(step)), rate(step.ops_per_s()));
    let evidence = sweep.steps.iter().map(shown).collect::<Vec<_>>().join(", ");
    let next_step = if std::ptr::eq(knee, last) { "measure more clients or depth" } else { "" };
    DETECTOR.finding(Severity::Note, title, evidence, next_step)
}

/// `depth 8`, `4 clients`.
fn place_words(place: Place) -> String {
    let clients = place.clients.map(|n| plural(n as usize, "client"));
    let depth = place.depth.map(|depth| format!("depth {depth}"));
    clients.into_iter().chain(depth).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::simulate::{Simulation, run_of};

    fn titles(rates: &[u64]) -> Vec<String> {
        let point = |(nth, rate): (u32, &u64)| {
            Simulation::counts(&[*rate; 10]).with(|point| point.trial.load.depth = 1 << nth).point()
        };
        let analysis = analyse(&run_of((0..).zip(rates).map(point).collect(), Vec::new()));
        analysis.findings.into_iter().filter(|finding| finding.code == "knee").map(|finding| finding.title).collect()
    }

    #[test]
    fn rates_that_level_off_have_a_knee_and_rising_ones_have_not() {
        assert_eq!(titles(&[1000, 1900, 2000, 2050]), ["sqlite oltp: knee at depth 2; more adds nothing"]);
        assert_eq!(titles(&[1000, 1900, 3500]), ["sqlite oltp: still rising at depth 4"]);
        assert_eq!(titles(&[1000, 2000, 1200]), ["sqlite oltp: knee at depth 2; at depth 4 it is 40 % below its best"]);
        assert!(titles(&[1000, 2000]).is_empty());
    }
}
