//! The limit of a recorded load: how many times of it a target carries, and how much of the recording was replayed to know that.
//!
//! In: a search that tried multiples of a recording. Out: words and a claim. Limits: a rate of any other search stays a rate per second.

use super::long_time;
use crate::SearchAnalysis;
use crate::answer::recorded_loss::load_words;
use crate::answer::speech::{amount, fine};
use crate::answer::{Claim, ClaimKind};
use model::Nanos;
use model::limit::{LimitProbe, ProbeKind};

/// `3.4 times (3.1 to 3.7) the recorded load`, or what is left of it; `None` if no recording was replayed.
pub(super) fn times_carried(search: &SearchAnalysis, per_s: f64, between: Option<(f64, f64)>) -> Option<String> {
    let load = search.spec.arrivals.recorded()?;
    let [times, low, high] =
        [per_s, between.map_or(0.0, |it| it.0), between.map_or(0.0, |it| it.1)].map(|it| fine(it / load.per_s));
    let interval = between.map_or(String::new(), |_| format!(" ({low} to {high})"));
    let words = load_words(search.probes.iter().map(|probe| &probe.point));
    Some(format!("{times} times{interval} {words}"))
}

/// `1,680 per second`, or `3.4 times the recorded load`.
pub(super) fn spoken_rate(search: &SearchAnalysis, per_s: f64) -> String {
    times_carried(search, per_s, None).unwrap_or_else(|| format!("{} per second", amount(per_s)))
}

/// `Probes replayed up to 30 seconds of the log, and the hold 54 seconds.`
pub(super) fn replayed(search: &SearchAnalysis) -> Option<Claim> {
    search.spec.arrivals.recorded()?;
    let longest = |kind: ProbeKind| {
        let of_kind = search.result.probes.iter().filter(|probe: &&LimitProbe| probe.kind == kind);
        of_kind.map(|probe| probe.length).max().unwrap_or(Nanos(0))
    };
    let sentence = format!(
        "Each copy replayed up to {} of the log in a probe, and {} in the hold.",
        long_time(longest(ProbeKind::Probe)),
        long_time(longest(ProbeKind::Hold))
    );
    (longest(ProbeKind::Hold).0 > 0).then(|| Claim::new(ClaimKind::Caution, sentence))
}
