//! The probes of a search for the largest rate, in words.
//!
//! In: the probe that is measured, or that was judged. Out: a part of a line, or a line. Limits: the table of all probes is the report's.

use super::left::per_s;
use model::limit::{Judgement, LimitProbe, ProbeFault, ProbeKind, ProbePart};
use model::params::TIMES;
use model::{Arrivals, Bytes, Pacing, Trial};

/// `probe 3 at 1.44k/s`: which probe of a search is measured.
pub fn probe_words(trial: &Trial, probe: ProbePart) -> String {
    let rate = match trial.load.pacing {
        Pacing::Closed { .. } => "as fast as it can".to_owned(),
        Pacing::Open { arrivals: Arrivals::Recorded { .. } } => {
            format!("of {} times the load", trial.workload.params.float(TIMES))
        }
        Pacing::Open { arrivals } => format!("at {}/s", per_s(arrivals.per_s())),
    };
    match probe.kind {
        ProbeKind::Hold => format!("hold {rate}"),
        ProbeKind::Closed | ProbeKind::Probe => format!("probe {} {rate}", probe.nth),
    }
}

/// `probe   1.44k/s   kept`: what a search makes of a probe.
pub fn probe_line(probe: &LimitProbe) -> String {
    let rate = probe.offered_per_s.map_or_else(
        || format!("closed loop: {}/s at most", per_s(probe.done_per_s)),
        |offered| format!("{:<6} {:>7}/s", probe.kind.as_str(), per_s(offered)),
    );
    let verdict = match (&probe.fault, &probe.judgement) {
        (Some(ProbeFault::OwnGaps { length }), _) => format!("  void: plimsoll itself did not run for {length}"),
        (Some(ProbeFault::Stolen { length }), _) => format!("  void: the hypervisor took {length} of CPU time"),
        (Some(ProbeFault::Foreign { length }), _) => format!("  void: other programs used {length} of CPU time"),
        (Some(ProbeFault::Lag { mean }), _) => format!("  void: the clients woke up {mean} late on average"),
        (None, None) => String::new(),
        (None, Some(Judgement::Kept)) => "  kept".to_owned(),
        (None, Some(Judgement::Missed(criterion))) => format!("  missed: {criterion}"),
        // Another measurement decides a probe, but not a hold.
        (None, Some(Judgement::Undecided { on, value_keeps })) => match (probe.kind, value_keeps) {
            (ProbeKind::Hold, true) => "  kept, but only just: it is within the error of the measurement".to_owned(),
            (ProbeKind::Hold, false) => format!("  missed, but only just: {on} is within the error of the measurement"),
            _ => format!("  undecided: {on}"),
        },
    };
    let debt = probe
        .debt_growth_per_s
        .map_or_else(String::new, |growth| format!("; the writes put off grew by {} a second", Bytes(growth as u64)));
    let cut = if probe.ended_early { " (ended early: the backlog grew)" } else { "" };
    format!("{rate}{verdict}{cut}{debt}")
}
