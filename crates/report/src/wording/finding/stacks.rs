//! In words: stops of the engine in which its stacks were taken.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: what the stacks show is in the chart and its table.

use super::FindingWords;
use crate::wording::quantity::{counted, percent, plural, range, time};
use analysis::detect::stacks_taken::SHARE_MAX;
use analysis::finding::machine::StackStops;

impl FindingWords for StackStops {
    const SUMMARY: &'static str = "the engine was stopped to take its stacks";
    const EXPLANATION: &'static str = "With `--stacks` a tool looks at all threads of the server, at stalls and at random moments. \
         `gdb` stops the whole server meanwhile, and `eu-stack` one thread after the other; the time in which any of them was stopped \
         counts. `perf` stops nothing. These stops are in the rate and in the longest response times, and nothing is subtracted. A stall that \
         begins with a snapshot is the tool's own; the events of the run file have the time and length of each. The tool also uses a \
         CPU while it runs. If the engine was stopped for more than 1 % of the run phase, the point is at most indicative.";

    fn title(alike: &[&Self]) -> String {
        let times = counted(alike, |one| (one.at_stalls + one.at_random) as u64, "time");
        let stopped = range(alike, |one| one.stopped_ns.0 as f64, time);
        let share = range(alike, |one| one.share.0, percent);
        format!("stacks of the engine were taken {times}, which stopped it for {stopped} ({share} of the run)")
    }

    fn evidence(&self) -> String {
        let limit =
            if self.share.0 > SHARE_MAX { format!("; the limit is {}", percent(SHARE_MAX)) } else { String::new() };
        format!(
            "{} at stalls and {} at random moments; longest stop {}; {} ran for {}{limit}",
            plural(self.at_stalls as u64, "snapshot"),
            self.at_random,
            time(self.longest_ns.0 as f64),
            self.tool,
            time(self.took_ns.0 as f64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::finding::units::Share;
    use model::Nanos;

    #[test]
    fn the_stops_are_told_with_their_share_of_the_run_and_the_limit_if_they_exceed_it() {
        let stops = |stopped_ms: u64, share| StackStops {
            tool: "gdb".to_owned(),
            at_stalls: 1,
            at_random: 3,
            stopped_ns: Nanos::from_millis(stopped_ms),
            longest_ns: Nanos::from_millis(80),
            took_ns: Nanos::from_secs(2),
            share: Share(share),
        };
        let few = stops(300, 0.005);
        let title = "stacks of the engine were taken 4 times, which stopped it for 300 ms (0.5 % of the run)";
        assert_eq!(StackStops::title(&[&few]), title);
        let evidence = "1 snapshot at stalls and 3 at random moments; longest stop 80.0 ms; gdb ran for 2.00 s";
        assert_eq!(few.evidence(), evidence);
        assert!(stops(300, 0.02).evidence().ends_with("; the limit is 1.0 %"), "{}", stops(300, 0.02).evidence());
    }
}
