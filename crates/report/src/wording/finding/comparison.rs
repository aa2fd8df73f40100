//! In words: what several points, or the steps of an insert benchmark, show together.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: names of engines and settings are quoted as recorded.

use super::FindingWords;
use crate::wording::insert_slowdown;
use crate::wording::quantity::{bytes, kilobytes, number, or_unknown, percent, range, rate, time};
use analysis::ScalingAxis;
use analysis::finding::comparison::{
    BeyondKnee, CacheMismatch, InsertSlowdown, Knee, MixedDurability, PendingShare, StepRate, StepsWithoutGain,
    WriteDebt,
};
use analysis::points::insert_slowdown::EngineSlowdown;
use analysis::points::scaling_law::{NoLawReason, ScalingLaw, ScalingTerm};

impl FindingWords for WriteDebt {
    const SUMMARY: &'static str = "a part of the writes that the inserts caused was still pending at their end";
    const EXPLANATION: &'static str = "An engine answers before it has written everything: pages are dirty, memtables full, \
         compactions pending. No figure of a point contains the writes that are pending when it ends, so a short point looks \
         cheap and fast: a load of a million rows once wrote 0.23 KB per row, all of it redo log, and left 186 MB of dirty \
         pages. The finding is reported if more than 10 % of the writes that the inserts caused (done and pending) were \
         pending. The written KB per insert is then too low. It is a warning, or only a note if a `drain` in the same sequence \
         wrote the rest: the column `paid` of the drain has the full cost. Measure until the pending writes no longer grow, or \
         add the step `drain`: it reports what it wrote and how long it took. There is also a warning if an engine that was \
         asked to write everything (in that step, or after its data was loaded) made no progress for a minute.";

    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (WriteDebt::AfterInserts(one), WriteDebt::AfterInserts(other)) => one.is_paid() == other.is_paid(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0] {
            WriteDebt::AfterDrain { .. } => {
                format!("the drain is incomplete: {} were still pending", range(alike, |one| one.figure(), bytes))
            }
            WriteDebt::BeforeRun { .. } => format!(
                "the data had not settled when the run phase began: {} were still pending",
                range(alike, |one| one.figure(), bytes)
            ),
            WriteDebt::AfterInserts(found) => {
                let share = range(alike, |one| one.figure(), percent);
                let cost = match found.is_paid() {
                    true => "the full cost is in the row of the drain",
                    false => "KB written per insert is too low",
                };
                format!("{share} of the writes that these inserts caused were still pending at the end; {cost}")
            }
        }
    }

    fn evidence(&self) -> String {
        match self {
            WriteDebt::AfterInserts(found) => pending_writes(found),
            _ => "the engine made no progress with them".to_owned(),
        }
    }
}

/// The figure in the title: bytes, or a share.
trait DebtFigure {
    fn figure(&self) -> f64;
}

impl DebtFigure for WriteDebt {
    fn figure(&self) -> f64 {
        match self {
            WriteDebt::AfterDrain { left_bytes } | WriteDebt::BeforeRun { left_bytes } => *left_bytes,
            WriteDebt::AfterInserts(found) => found.pending_share.0,
        }
    }
}

fn pending_writes(found: &PendingShare) -> String {
    let ended = [
        found.written_bytes_per_insert.map(|written| format!("{} written per insert", kilobytes(written))),
        found.pending_bytes.map(|pending| format!("{} pending at the end{}", bytes(pending), own_part(found))),
    ];
    let with_drain = found
        .written_with_drain_bytes_per_insert
        .map_or(String::new(), |written| format!(" ({} per insert with it)", kilobytes(written)));
    let drained = [
        found.drain_written_bytes.map(|written| format!("the drain wrote {}{with_drain}", bytes(written))),
        found.drain_left_bytes.map(|left| format!("the drain left {}", bytes(left))),
    ];
    let joined = |parts: [Option<String>; 2]| parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    [joined(ended), joined(drained)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// `, 2.04 MB of it from this step`, if earlier steps left the rest.
fn own_part(found: &PendingShare) -> String {
    let own = found.own_pending_bytes.filter(|own| found.pending_bytes.is_some_and(|all| bytes(all) != bytes(*own)));
    own.map_or(String::new(), |own| format!(", {} of it from this step", bytes(own)))
}

impl FindingWords for CacheMismatch {
    const SUMMARY: &'static str = "measured reads contradict what the data and cache sizes suggest";
    const EXPLANATION: &'static str = "Reads show whether data is in memory; sizes do not. If the data is larger than the \
         engine's cache and inserts read less than a page of 16 KiB for every hundred rows, something else held the data (the \
         page cache; a memory limit takes it away), or the inserts touched a small part of the data, or an LSM tree inserted \
         without reading. If the data fits and inserts read more than that, the cache was cold or holds other things, or \
         compactions caused the reads. The measured numbers are right. Call the test in-memory or larger-than-memory by its \
         reads, not by its sizes.";

    fn is_like(&self, other: &Self) -> bool {
        self.was_in_memory == other.was_in_memory
    }

    fn title(alike: &[&Self]) -> String {
        match alike[0].was_in_memory {
            true => format!(
                "the data is {} times the engine's cache, but inserts read almost nothing: the data was in memory, or the engine \
                 inserts without reading",
                range(alike, |one| one.data_per_cache, number)
            ),
            false => format!(
                "the data fits the engine's cache, but each insert read {}",
                range(alike, |one| one.read_bytes_per_insert, kilobytes)
            ),
        }
    }

    fn evidence(&self) -> String {
        let size = |size: Option<f64>| or_unknown(size, bytes);
        format!(
            "data {}, cache {}, memory {}; {} read per insert (below {} counts as none)",
            size(self.data_bytes),
            size(self.cache_bytes),
            size(self.memory_bytes),
            kilobytes(self.read_bytes_per_insert),
            kilobytes(self.read_bytes_per_insert_min)
        )
    }
}

impl FindingWords for MixedDurability {
    const SUMMARY: &'static str = "points of one workload differ in durability and must not be compared";
    const EXPLANATION: &'static str = "An engine that writes each commit to disk before it answers does more work than one that \
         leaves that to the operating system: in one measurement the first did 353 single-row inserts per second and the second \
         3,791. Compare points of one workload with different `durability` only if durability is what you want to compare. \
         Otherwise set it equal for all engines (`--durability`). Even then `os` promises less on PostgreSQL than on the \
         others: a crash of the server alone loses its last commits; `disk` is the same on all.";

    fn is_like(&self, other: &Self) -> bool {
        self.targets.keys().eq(other.targets.keys())
    }

    fn title(alike: &[&Self]) -> String {
        let words: Vec<&str> = alike[0].targets.keys().map(String::as_str).collect();
        format!("points differ in durability ({})", words.join(", "))
    }

    fn evidence(&self) -> String {
        let one = |(word, targets): (&String, &std::collections::BTreeSet<String>)| {
            format!("`{word}`: {}", targets.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
        };
        self.targets.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

impl FindingWords for InsertSlowdown {
    const SUMMARY: &'static str = "how much insert rates drop when storage slows or data outgrows the cache";
    const EXPLANATION: &'static str = "If a plan has the same inserts with and without a storage limit (`storage_limit`), or \
         with data that fits the cache and data that does not (`cache`, `memory_limit`, `rows`), each engine is compared with \
         itself: the drop is one minus the slower rate over the faster, with the 95 % confidence interval of the ratio. The \
         greatest drop comes first. If the confidence intervals of two engines overlap, treat the difference between them as \
         not shown. A drop whose interval contains zero has not been shown. Without a confidence interval there is no finding: \
         each rate needs at least eight intervals, or three repeats. With fewer than four repeats a drop is indicative. More \
         repeats make the confidence intervals narrower.";

    fn is_like(&self, other: &Self) -> bool {
        self == other
    }

    fn title(alike: &[&Self]) -> String {
        insert_slowdown::title(&alike[0].slowdowns)
    }

    fn evidence(&self) -> String {
        let one = |slowdown: &EngineSlowdown| {
            format!("{} {} instead of {}", slowdown.engine, rate(slowdown.after.mean), rate(slowdown.before.mean))
        };
        self.slowdowns.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

impl FindingWords for Knee {
    const SUMMARY: &'static str = "where adding clients or depth stops helping";
    const EXPLANATION: &'static str = "Among the points that differ only in clients or depth, the knee is the first that \
         reaches 90 % of the best rate. Beyond it operations mostly wait longer for the same throughput, so it is the best \
         operating point. If the knee is the last of them, the rate was still rising: measure more clients or a greater depth. That it rises \
         is claimed only if the last is faster than each other by more than the 95 % intervals of both allow. \
         If the rate falls more than 10 % below the best, the engine suffers from too many operations at once. From five counts \
         on, the Universal Scalability Law is fitted to the rates of a closed loop, repeats included: X(N) = l N / (1 + s (N - 1) \
         + k N (N - 1)). The contention s is the share of the work that only one client can do at a time: it makes the rate level \
         off. The coherency k is what each pair of clients costs each other (locks, shared caches): it makes the rate fall. The \
         curve peaks at sqrt((1 - s) / k) clients. The peak has a 95 % confidence interval and is given only if more clients than \
         that were measured. `38 or more` means that the interval does not end before the last count. With think time, N is the \
         number of clients that wait for an answer. The law is not shown if a term is below 0, if a step is further from it than \
         twice the spread of the repeats (10 % without repeats), or if a ceiling explains the rates as well: a rate that grows in \
         proportion to the clients up to a highest rate and stays there. Invalid points and open loops never count. The curve in \
         the chart goes 1.5 times as far as the last count at most. Separately, the finding gives the count beyond which more \
         clients only wait: the 95th percentile doubles, and the rate gains less than 10 % or less than its confidence interval.";

    fn is_like(&self, other: &Self) -> bool {
        let place =
            |one: &Self| (one.axis, one.beyond, (one.knee.clients, one.knee.depth), one.last.clients, one.last.depth);
        place(self) == place(other) && law_clause(self) == law_clause(other)
    }

    fn title(alike: &[&Self]) -> String {
        let first = alike[0];
        let at = |step: &StepRate| place(first.axis, step);
        let knee_share = |one: &Self| one.knee.ops_per_s / one.best.ops_per_s.max(f64::MIN_POSITIVE);
        let steps = match first.beyond {
            BeyondKnee::StillRising => format!("throughput is still rising at {}; measure more", at(&first.last)),
            BeyondKnee::RiseNotShown => {
                format!("best at {}, but its interval does not show that throughput still rises", at(&first.last))
            }
            BeyondKnee::Falling => {
                let fall = range(alike, Self::fall_share, percent);
                format!(
                    "best at {}; {} {} {fall} slower",
                    at(&first.best),
                    at(&first.last),
                    be(first.axis, &first.last)
                )
            }
            BeyondKnee::Level => {
                let share = range(alike, knee_share, percent);
                let best = range(alike, |one| one.best.ops_per_s, rate);
                match alike.iter().all(|one| one.knee == one.best) {
                    true => format!("best at {} ({best}); more does not help", at(&first.knee)),
                    false => {
                        let reach = if be(first.axis, &first.knee) == "is" { "reaches" } else { "reach" };
                        let (knee, fastest) = (at(&first.knee), at(&first.best));
                        format!("{knee} {reach} {share} of the best rate ({best} at {fastest})")
                    }
                }
            }
        };
        steps + &law_clause(first)
    }

    fn evidence(&self) -> String {
        let one = |step: &StepRate| format!("{} {}", place(self.axis, step), rate(step.ops_per_s));
        let steps = self.steps.iter().map(one).collect::<Vec<_>>().join(", ");
        let parts = [Some(steps), law_terms(self), self.without_gain.map(|pair| waiting(self.axis, &pair))];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// What the law adds to the title: `; the fitted curve peaks at 44 clients (38 to 52)`.
fn law_clause(found: &Knee) -> String {
    match &found.law {
        ScalingLaw::Fitted(law) => law.peak.map_or(String::new(), |peak| {
            let (low, high) = peak.at_ci95;
            let interval = match high {
                Some(high) => format!("{} to {}", count_at(low), count_at(high)),
                None => format!("{} or more", count_at(low)),
            };
            format!("; the fitted curve peaks at {} ({interval})", fitted_place(found.axis, peak.at))
        }),
        ScalingLaw::Ceiling(ceiling) => {
            format!("; from {} on the rate is at its ceiling", fitted_place(found.axis, ceiling.at))
        }
        ScalingLaw::NotFitted { .. } => String::new(),
    }
}

/// The terms of the law, and which of them takes most.
fn law_terms(found: &Knee) -> Option<String> {
    match &found.law {
        ScalingLaw::Fitted(law) => {
            let terms = format!(
                "contention {} ({}), coherency {} ({})",
                share_of(law.contention),
                share_interval(law.contention_ci95),
                share_of(law.coherency),
                share_interval(law.coherency_ci95)
            );
            let hurts = law.hurts.map_or_else(
                || "neither is shown".to_owned(),
                |term| {
                    let last = place(found.axis, &found.last);
                    let verb = be(found.axis, &found.last);
                    format!(
                        "{last} {verb} {} below a rate in proportion, {}",
                        percent(law.lost_share.0),
                        term_words(term)
                    )
                },
            );
            Some(format!("{terms}: {hurts}"))
        }
        ScalingLaw::Ceiling(ceiling) => Some(format!("ceiling {}", rate(ceiling.ops_per_s))),
        ScalingLaw::NotFitted { reason: NoLawReason::NoneFits } => Some("no scalability law fits".to_owned()),
        ScalingLaw::NotFitted { .. } => None,
    }
}

fn term_words(term: ScalingTerm) -> &'static str {
    match term {
        ScalingTerm::Contention => "mostly by contention (clients wait for their turn)",
        ScalingTerm::Coherency => "mostly by coherency (clients hinder each other)",
    }
}

/// `beyond 16 clients they wait: 64 clients have 4.1 times the p95 (5.02 ms) and 3.1 % more throughput`
fn waiting(axis: ScalingAxis, pair: &StepsWithoutGain) -> String {
    let (from, to) = (place(axis, &pair.from), place(axis, &pair.to));
    let [before, after] = [pair.from, pair.to].map(|step| step.p95_ns.unwrap_or(0) as f64);
    let gain = match pair.gain_share() {
        gain if gain < 0.0 => format!("{} slower", percent(-gain)),
        gain => format!("{} faster", percent(gain)),
    };
    let verb = be(axis, &pair.to);
    format!("more than {from} only wait: {to} {verb} {gain}, and p95 rises from {} to {}", time(before), time(after))
}

/// `44 clients`, `depth 12`: a place between the steps.
fn fitted_place(axis: ScalingAxis, at: f64) -> String {
    match axis {
        ScalingAxis::Depth => format!("depth {}", count_at(at)),
        _ => format!("{} clients", count_at(at)),
    }
}

/// A number of clients between two whole ones, as exactly as it is worth knowing.
fn count_at(at: f64) -> String {
    if at < 9.95 { format!("{at:.1}") } else { format!("{at:.0}") }
}

/// A share with two digits, however small: `2.0 %`, `0.050 %`.
fn share_of(share: f64) -> String {
    format!("{} %", two_digits(share * 100.0))
}

fn share_interval([low, high]: [f64; 2]) -> String {
    format!("{} to {} %", two_digits(low * 100.0), two_digits(high * 100.0))
}

fn two_digits(value: f64) -> String {
    let decimals = if value == 0.0 { 0.0 } else { 1.0 - value.abs().log10().floor() };
    format!("{value:.*}", decimals.clamp(0.0, 6.0) as usize)
}

/// The verb behind a [`place`].
fn be(axis: ScalingAxis, step: &StepRate) -> &'static str {
    if axis == ScalingAxis::Depth || step.clients == 1 { "is" } else { "are" }
}

/// `depth 8`, `4 clients`, `4 clients depth 8`.
fn place(axis: ScalingAxis, step: &StepRate) -> String {
    let clients = || match step.clients {
        1 => "1 client".to_owned(),
        n => format!("{n} clients"),
    };
    match axis {
        ScalingAxis::None => String::new(),
        ScalingAxis::Clients => clients(),
        ScalingAxis::Depth => format!("depth {}", step.depth),
        ScalingAxis::Both => format!("{} depth {}", clients(), step.depth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::finding::units::Share;
    use analysis::points::scaling_law::{FittedLaw, RateCeiling, ScalingPeak};

    fn scaled(law: ScalingLaw) -> Knee {
        let step = |clients, ops_per_s, p95_ns| StepRate { clients, depth: 1, ops_per_s, p95_ns: Some(p95_ns) };
        let steps = vec![step(1, 1e3, 1_000_000), step(32, 9.8e3, 4_000_000), step(128, 7.5e3, 20_000_000)];
        let without_gain = Some(StepsWithoutGain { from: steps[1], to: steps[2] });
        let (beyond, axis) = (BeyondKnee::Falling, ScalingAxis::Clients);
        Knee { axis, beyond, knee: steps[1], best: steps[1], last: steps[2], steps, law, without_gain }
    }

    #[test]
    fn a_fitted_law_gives_its_peak_its_terms_and_what_hurts() {
        let law = FittedLaw {
            single_per_s: 1e3,
            single_per_s_ci95: [990.0, 1_010.0],
            contention: 0.02,
            contention_ci95: [0.016, 0.024],
            coherency: 5e-4,
            coherency_ci95: [4.1e-4, 5.9e-4],
            hurts: Some(ScalingTerm::Coherency),
            lost_share: Share(0.93),
            peak: Some(ScalingPeak { at: 44.3, at_ci95: (38.2, Some(52.1)), ops_per_s: 1e4 }),
            curve: Vec::new(),
        };
        let open = ScalingPeak { at: 4.43, at_ci95: (3.8, None), ops_per_s: 1e4 };
        let found = scaled(ScalingLaw::Fitted(Box::new(law.clone())));
        let title = "best at 32 clients; 128 clients are 23 % slower; the fitted curve peaks at 44 clients (38 to 52)";
        assert_eq!(Knee::title(&[&found]), title);
        let evidence = "1 client 1.00k/s, 32 clients 9.80k/s, 128 clients 7.50k/s; contention 2.0 % (1.6 to 2.4 %), coherency \
                        0.050 % (0.041 to 0.059 %): 128 clients are 93 % below a rate in proportion, mostly by coherency \
                        (clients hinder each other); more than 32 clients only wait: 128 clients are 23 % slower, and p95 \
                        rises from 4.00 ms to 20.0 ms";
        assert_eq!(found.evidence(), evidence);
        let early = scaled(ScalingLaw::Fitted(Box::new(FittedLaw { peak: Some(open), ..law })));
        assert!(Knee::title(&[&early]).ends_with("peaks at 4.4 clients (3.8 or more)"));
        assert!(!found.is_like(&early), "each has a title of its own");
    }

    #[test]
    fn a_ceiling_gives_its_place_and_its_rate_and_what_fits_no_law_is_called_so() {
        let found = scaled(ScalingLaw::Ceiling(RateCeiling { at: 12.0, ops_per_s: 9.9e3 }));
        assert!(Knee::title(&[&found]).ends_with("; from 12 clients on the rate is at its ceiling"));
        assert!(found.evidence().contains("; ceiling 9.90k/s; "), "{}", found.evidence());
        let found = scaled(ScalingLaw::NotFitted { reason: NoLawReason::NoneFits });
        assert!(found.evidence().contains("; no scalability law fits; "), "{}", found.evidence());
        let found = scaled(ScalingLaw::NotFitted { reason: NoLawReason::FewCounts });
        assert!(!found.evidence().contains("law"), "{}", found.evidence());
    }

    #[test]
    fn a_rise_within_the_intervals_is_not_called_one() {
        let law = ScalingLaw::NotFitted { reason: NoLawReason::FewCounts };
        let unsure = Knee { beyond: BeyondKnee::RiseNotShown, ..scaled(law) };
        let expected = "best at 128 clients, but its interval does not show that throughput still rises";
        assert_eq!(Knee::title(&[&unsure]), expected);
    }

    #[test]
    fn writes_that_an_earlier_step_left_are_separate_from_those_of_this_one() {
        let found = |own: f64| PendingShare {
            pending_share: Share(0.42),
            written_bytes_per_insert: Some(140.0),
            pending_bytes: Some(4.08e6),
            own_pending_bytes: Some(own),
            drain_written_bytes: None,
            drain_left_bytes: None,
            written_with_drain_bytes_per_insert: None,
        };
        let evidence = |own| WriteDebt::AfterInserts(found(own)).evidence();
        let expected = "0.14 KB written per insert, 4.08 MB pending at the end, 2.04 MB of it from this step";
        assert_eq!(evidence(2.04e6), expected);
        assert_eq!(evidence(4.08e6), "0.14 KB written per insert, 4.08 MB pending at the end");
    }
}
