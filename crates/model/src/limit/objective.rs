//! The objective of a search for the largest rate: its grammar, and whether an observation meets it.
//!
//! In: text such as `p99<10ms,errors<0.1%` or `checkout:p99<50ms`, and an [`Observation`]. Out: an [`Objective`] that prints as it was written,
//! and a [`Judgement`]. Limits: a percentile is judged with the scatter between windows of the observation; what happens less often than once
//! an observation is in none.

use super::observation::Observation;
use crate::quantiles::Percentile;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Two-sided 95 % of the normal distribution.
const Z: f64 = 1.96;
/// The share of operations that may fail if an objective names none: a rate is carried only by operations that succeed.
const ERRORS_USUAL: f64 = 0.001;
/// The longest time that an objective can name.
const TIME_MAX: Nanos = Nanos::from_secs(3_600);

/// All conditions that a rate must keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Objective(Vec<Criterion>);

/// One condition, of all operations or of those of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    /// A percentile of the response times is below a time.
    Percentile {
        /// The name of the kind; `None` for all operations.
        kind: Option<&'static str>,
        percentile: Percentile,
        below: Nanos,
    },
    /// The longest response time is below a time.
    Longest {
        /// The name of the kind; `None` for all operations.
        kind: Option<&'static str>,
        below: Nanos,
    },
    /// The share of operations that fail is below a share.
    Errors {
        /// The name of the kind; `None` for all operations.
        kind: Option<&'static str>,
        /// The share, from 0 to 1.
        below: f64,
    },
    /// No stall is as long as a time.
    Stall { below: Nanos },
}

/// What an observation shows of an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judgement {
    /// It keeps every criterion.
    Kept,
    /// It misses one: the first of the objective that it misses.
    Missed(Criterion),
    /// It shows neither: the 95 % interval of this criterion has the limit inside.
    Undecided {
        on: Criterion,
        /// Whether the value itself, without its interval, keeps it.
        value_keeps: bool,
    },
}

impl Judgement {
    /// Whether the objective is kept, by the value itself if its interval leaves it open.
    pub fn keeps(&self) -> bool {
        matches!(self, Judgement::Kept | Judgement::Undecided { value_keeps: true, .. })
    }

    /// The criterion that is missed, by the value itself if its interval leaves it open.
    pub fn missed(&self) -> Option<Criterion> {
        match *self {
            Judgement::Missed(criterion) | Judgement::Undecided { on: criterion, value_keeps: false } => {
                Some(criterion)
            }
            _ => None,
        }
    }
}

impl Objective {
    /// The objective that `text` describes; `None` if it is none. [`grammar`] describes what is read.
    pub fn parse(text: &str) -> Option<Objective> {
        let (mut criteria, mut begun): (Vec<Criterion>, String) = (Vec::new(), String::new());
        for part in text.split(',') {
            begun += part;
            match Criterion::parse(begun.trim()) {
                Some(criterion) => {
                    criteria.push(criterion);
                    begun.clear();
                }
                // The name of a statement may have commas in it.
                None => begun.push(','),
            }
        }
        let key = |criterion: &Criterion| (criterion.name(), criterion.kind());
        let is_named_twice = |nth: usize| criteria[..nth].iter().any(|other| key(other) == key(&criteria[nth]));
        let is_whole = begun.is_empty() && !(0..criteria.len()).any(is_named_twice);
        is_whole.then_some(Objective(criteria))
    }

    /// The names of the kinds that it has conditions of, each once.
    pub fn kinds(&self) -> Vec<&'static str> {
        let all: BTreeSet<&str> = self.0.iter().filter_map(Criterion::kind).collect();
        all.into_iter().collect()
    }

    /// Lets `rename` change the name of each kind that it has a condition of.
    pub fn rename_kinds(&mut self, mut rename: impl FnMut(&mut String)) {
        for criterion in &mut self.0 {
            let Some(kind) = criterion.kind() else { continue };
            let mut name = kind.to_owned();
            rename(&mut name);
            *criterion = criterion.of_kind(kept_name(&name));
        }
    }

    /// Its conditions, in the order in which they were written.
    pub fn criteria(&self) -> &[Criterion] {
        &self.0
    }

    /// The conditions by which it is judged: those that were written, and the usual share of errors if they name none.
    fn judged(&self) -> impl Iterator<Item = Criterion> {
        let names_errors = self.0.iter().any(|criterion| matches!(criterion, Criterion::Errors { kind: None, .. }));
        let usual = (!names_errors).then_some(Criterion::Errors { kind: None, below: ERRORS_USUAL });
        self.0.iter().copied().chain(usual)
    }

    /// The smallest share of the operations that a percentile of it lets take longer; `None` without a percentile. Of a kind of operation it is a
    /// share of all, if `share_of` gives that of the kind.
    pub fn smallest_tail(&self, share_of: impl Fn(&str) -> f64) -> Option<f64> {
        let tails = self.0.iter().filter_map(|criterion| match criterion {
            Criterion::Percentile { kind, percentile, .. } => Some(percentile.tail() * kind.map_or(1.0, &share_of)),
            _ => None,
        });
        tails.min_by(f64::total_cmp)
    }

    /// The shortest time that it names; `None` if it names errors only.
    pub fn shortest_time(&self) -> Option<Nanos> {
        self.0.iter().filter_map(Criterion::time).min()
    }

    /// Its conditions of one kind alone, or those of all operations; `None` if there are none.
    pub(super) fn part_of(&self, kind: Option<&str>) -> Option<Objective> {
        let own: Vec<Criterion> = self.0.iter().copied().filter(|criterion| criterion.kind() == kind).collect();
        (!own.is_empty()).then_some(Objective(own))
    }

    /// The 95 % interval of the share of operations of `seen` that are slower than its first percentile allows; `None` without a percentile, and
    /// if there are no operations of its kind.
    pub fn slow_share(&self, seen: &Observation) -> Option<[f64; 2]> {
        let first = self.0.iter().find(|criterion| matches!(criterion, Criterion::Percentile { .. }))?;
        let share = || Some(seen.share_above(first.kind(), first.time()?).interval());
        if first.kind().is_some() && seen.ended_of(first.kind()) == 0 { None } else { share() }
    }

    /// What `seen` shows of it.
    pub fn judge(&self, seen: &Observation) -> Judgement {
        let all: Vec<Judgement> = self.judged().map(|criterion| criterion.judge(seen)).collect();
        let missed = all.iter().find(|judgement| matches!(judgement, Judgement::Missed(_)));
        let missed = missed.or_else(|| all.iter().find(|judgement| judgement.missed().is_some()));
        let open = || all.iter().find(|judgement| **judgement != Judgement::Kept);
        missed.or_else(open).copied().unwrap_or(Judgement::Kept)
    }
}

impl Default for Objective {
    /// `p99<10ms,errors<0.1%`
    fn default() -> Objective {
        let below = Nanos::from_millis(10);
        Objective(vec![
            Criterion::Percentile { kind: None, percentile: Percentile::P99, below },
            Criterion::Errors { kind: None, below: ERRORS_USUAL },
        ])
    }
}

impl Criterion {
    fn parse(text: &str) -> Option<Criterion> {
        let (kind, text) = text.rsplit_once(':').map_or((None, text), |(kind, text)| (Some(kind.trim()), text));
        if kind.is_some_and(str::is_empty) {
            return None;
        }
        let (name, limit) = text.split_once('<')?;
        let (name, limit) = (name.trim(), limit.trim());
        let percentile = Percentile::ALL.iter().copied().find(|percentile| percentile.as_str() == name);
        let criterion = match (percentile, name) {
            (Some(percentile), _) => Criterion::Percentile { kind: None, percentile, below: parse_time(limit)? },
            (None, "max") => Criterion::Longest { kind: None, below: parse_time(limit)? },
            (None, "stall") if kind.is_none() => Criterion::Stall { below: parse_time(limit)? },
            (None, "errors") => Criterion::Errors { kind: None, below: parse_share(limit)? },
            _ => return None,
        };
        Some(kind.map_or(criterion, |kind| criterion.of_kind(kept_name(kind))))
    }

    fn of_kind(self, name: &'static str) -> Criterion {
        let kind = Some(name);
        match self {
            Criterion::Percentile { percentile, below, .. } => Criterion::Percentile { kind, percentile, below },
            Criterion::Longest { below, .. } => Criterion::Longest { kind, below },
            Criterion::Errors { below, .. } => Criterion::Errors { kind, below },
            Criterion::Stall { .. } => self,
        }
    }

    /// The word for what it limits: `p99`, `errors`.
    pub fn name(&self) -> &'static str {
        match self {
            Criterion::Percentile { percentile, .. } => percentile.as_str(),
            Criterion::Longest { .. } => "max",
            Criterion::Errors { .. } => "errors",
            Criterion::Stall { .. } => "stall",
        }
    }

    /// The name of the kind of operation that it is of; `None` if it is of all.
    pub fn kind(&self) -> Option<&'static str> {
        match *self {
            Criterion::Percentile { kind, .. } | Criterion::Longest { kind, .. } | Criterion::Errors { kind, .. } => {
                kind
            }
            Criterion::Stall { .. } => None,
        }
    }

    /// The time that it names, if it limits one.
    pub fn time(&self) -> Option<Nanos> {
        match *self {
            Criterion::Percentile { below, .. } | Criterion::Longest { below, .. } | Criterion::Stall { below } => {
                Some(below)
            }
            Criterion::Errors { .. } => None,
        }
    }

    /// What `seen` shows of it.
    fn judge(&self, seen: &Observation) -> Judgement {
        if seen.ended_early && self.time().is_some() {
            return Judgement::Missed(*self);
        }
        // A kind that is rare may not be in a probe at all.
        if self.kind().is_some_and(|kind| seen.ended_of(Some(kind)) == 0) {
            return Judgement::Undecided { on: *self, value_keeps: true };
        }
        let decided = |keeps| if keeps { Judgement::Kept } else { Judgement::Missed(*self) };
        match *self {
            Criterion::Percentile { kind, percentile, below } => {
                self.judge_share(seen.share_above(kind, below), percentile.tail())
            }
            Criterion::Errors { kind, below } => self.judge_share(seen.share_failed(kind), below),
            Criterion::Longest { kind, below } => decided(seen.longest_response(kind) < below),
            Criterion::Stall { below } => decided(seen.longest_stall() < below),
        }
    }

    fn judge_share(&self, share: SampledShare, allowed: f64) -> Judgement {
        let [low, high] = share.interval();
        match (share.value() < allowed, low > allowed) {
            // An objective that is never missed is kept, however few operations there were.
            _ if share.hits == 0.0 && share.of > 0.0 => Judgement::Kept,
            (true, _) if high < allowed => Judgement::Kept,
            (_, true) => Judgement::Missed(*self),
            (value_keeps, false) => Judgement::Undecided { on: *self, value_keeps },
        }
    }
}

/// A share of operations as it was observed: so many of so many, and how much its variance exceeds that of independent operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledShare {
    /// Operations that are in the share.
    pub hits: f64,
    /// All operations that were observed.
    pub of: f64,
    /// The variance of the share over that of as many independent operations: 1 or more. Response times in a queue are alike for as
    /// long as the queue is, so that a million of them can tell as little as a thousand.
    pub clustering: f64,
    /// The degrees of freedom with which `clustering` is known.
    pub freedom: f64,
}

impl SampledShare {
    /// The share itself; 1 if nothing was observed, because a target that does nothing keeps no objective.
    pub fn value(&self) -> f64 {
        if self.of > 0.0 { self.hits / self.of } else { 1.0 }
    }

    /// Its 95 % interval: that of Wilson (JASA 22, 1927) for as many operations as were independent.
    ///
    /// For a percentile this is its order-statistics interval, read along the other axis: the upper bound of the 99th percentile is below X
    /// if and only if the upper bound of the share above X is below 1 %.
    pub fn interval(&self) -> [f64; 2] {
        if self.of <= 0.0 {
            return [1.0, 1.0];
        }
        // Student's t by the first term of its expansion (Fisher and Cornish, 1960).
        let t = Z + (Z.powi(3) + Z) / (4.0 * self.freedom.max(1.0));
        let (p, n) = (self.value(), self.of / self.clustering);
        let middle = (p + t * t / (2.0 * n)) / (1.0 + t * t / n);
        let half = t / (1.0 + t * t / n) * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt();
        [(middle - half).max(0.0), (middle + half).min(1.0)]
    }
}

/// What [`Objective::parse`] reads.
pub fn grammar() -> String {
    let percentiles: Vec<String> = Percentile::ALL.iter().map(|one| format!("`{}`", one.as_str())).collect();
    format!(
        "{}, `max` or `stall` with a time, or `errors` with a share, joined by commas, such as `p99<10ms,errors<0.1%`; for one kind of operation its \
         name and a colon before it, such as `checkout:p99<50ms`",
        percentiles.join(", ")
    )
}

/// A time in one of the units of response times: `p99<10` could be seconds or milliseconds, and who writes `5m` may mean 5 ms.
fn parse_time(text: &str) -> Option<Nanos> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let time = ["us", "ms", "s"].contains(&unit).then(|| Nanos::parse(text))?;
    time.filter(|time| (Nanos(1)..=TIME_MAX).contains(time))
}

/// `name`, kept as long as the program runs, once however often it is read: criteria are copied for each probe.
fn kept_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name).copied() {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}

fn parse_share(text: &str) -> Option<f64> {
    let share = parse_number(text.strip_suffix('%')?)? / 100.0;
    (share > 0.0 && share < 1.0).then_some(share)
}

/// A number in digits with at most one point, above 0.
fn parse_number(text: &str) -> Option<f64> {
    let is_plain =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|value: &f64| is_plain && *value > 0.0 && value.is_finite())
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(Criterion::to_string).collect();
        f.write_str(&parts.join(","))
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind() {
            write!(f, "{kind}:")?;
        }
        match *self {
            // The product of a share and 100 has digits that nobody wrote: 0.07 % is 0.07000000000000001.
            Criterion::Errors { below, .. } => write!(f, "errors<{}%", (below * 100.0 * 1e9).round() / 1e9),
            _ => write!(f, "{}<{}", self.name(), exact_time(self.time().unwrap_or_default())),
        }
    }
}

/// The time in the largest unit that keeps it above 1, with all its digits.
fn exact_time(time: Nanos) -> String {
    match time.0 {
        ns if ns >= 1_000_000_000 => format!("{}s", ns as f64 / 1e9),
        ns if ns >= 1_000_000 => format!("{}ms", ns as f64 / 1e6),
        ns => format!("{}us", ns as f64 / 1e3),
    }
}

impl TryFrom<String> for Objective {
    type Error = String;
    fn try_from(text: String) -> Result<Objective, String> {
        Objective::parse(&text).ok_or_else(|| format!("`{text}` is no objective"))
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> String {
        objective.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_objective_prints_as_it_is_read() {
        for text in [
            "p99<10ms,errors<0.1%",
            "p50<850us",
            "p95<1.5ms",
            "p99.9<2s",
            "max<1s,stall<500ms",
            "errors<0.07%",
            "errors<5%,p50<1us",
            "checkout:p99<50ms",
            "p99<10ms,new_order:p95<2s,new_order:max<5s,payment:errors<0.5%",
            "select a, b from t where id = ? and n < ?:p99<5ms,p99<1s",
            "select a::text from t:p50<1ms",
        ] {
            let objective = Objective::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(objective.to_string(), text);
            let kept = serde_json::to_string(&objective).unwrap();
            assert_eq!(serde_json::from_str::<Objective>(&kept).unwrap(), objective);
        }
        assert_eq!(Objective::parse("p99<10ms,errors<0.1%"), Some(Objective::default()));
        assert_eq!(Objective::parse(" p99 < 1500us , max < 0.5s ").unwrap().to_string(), "p99<1.5ms,max<500ms");
    }

    #[test]
    fn what_is_no_objective_is_refused() {
        for text in [
            "",
            "p99",
            "p99<",
            "p99<10",
            "p99<ms",
            "p99>10ms",
            "p98<10ms",
            "p99<-1ms",
            "p99<0ms",
            "p99<1e3ms",
            "p99<infs",
            "errors<1",
            "errors<0%",
            "errors<100%",
            "errors<10ms",
            "p99<10%",
            "p99<10ms,",
            "p99<10ms,p99<20ms",
            "p99<2h",
            "p99<5m",
            "p99<10ns",
            "p99<10 ms",
            "stall<3601s",
            "p99<10ms errors<1%",
            "p99<.ms",
            ":p99<10ms",
            "checkout:p99",
            "checkout:",
            "checkout:stall<1s",
            "checkout:p99<10ms,checkout:p99<20ms",
            "checkout:errors<10ms",
        ] {
            assert_eq!(Objective::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_share_is_told_from_a_limit_only_if_its_interval_ends_before_it() {
        let p99 = Criterion::Percentile { kind: None, percentile: Percentile::P99, below: Nanos::from_millis(10) };
        let share = |hits, of, clustering| SampledShare { hits, of, clustering, freedom: 39.0 };
        let judge = |share| p99.judge_share(share, 0.01);
        assert_eq!(judge(share(800.0, 100_000.0, 1.0)), Judgement::Kept);
        assert_eq!(judge(share(1_200.0, 100_000.0, 1.0)), Judgement::Missed(p99));
        // The same shares of operations that came a hundred at a time.
        assert_eq!(judge(share(800.0, 100_000.0, 100.0)), Judgement::Undecided { on: p99, value_keeps: true });
        assert_eq!(judge(share(1_200.0, 100_000.0, 100.0)), Judgement::Undecided { on: p99, value_keeps: false });
        assert_eq!(judge(share(0.0, 40.0, 1.0)), Judgement::Kept, "it was never missed");
        assert_eq!(judge(share(0.0, 0.0, 1.0)), Judgement::Missed(p99), "nothing was done");
    }

    /// What a probe shows of which so many of 10,000 operations failed; the others took 1 ms.
    fn with_failed(failed: u64) -> Observation {
        let windows = (0..10).map(|_| {
            let mut window = super::super::ResponseWindow { failed: failed / 10, ..Default::default() };
            window.response.record_n(1_000_000, 1_000 - failed / 10);
            window
        });
        Observation { offered_per_s: Some(1_000.0), windows: windows.collect(), ..Observation::default() }
    }

    #[test]
    fn operations_that_fail_are_in_every_objective() {
        let errors = |below| Judgement::Missed(Criterion::Errors { kind: None, below });
        for (objective, failed, expected) in [
            ("p99<10ms", 0, Judgement::Kept),
            ("p99<10ms", 9_000, errors(0.001)),
            ("stall<1s", 100, errors(0.001)),
            ("p99<10ms,errors<95%", 9_000, Judgement::Kept),
            ("errors<5%", 900, errors(0.05)),
        ] {
            let asked = Objective::parse(objective).unwrap();
            assert_eq!(asked.judge(&with_failed(failed)), expected, "{objective}: {failed} of 10,000 failed");
            assert_eq!(asked.to_string(), objective, "it prints as it was written");
        }
    }

    #[test]
    fn an_objective_of_one_kind_is_judged_by_the_operations_of_that_kind() {
        let window = || {
            let mut window = super::super::ResponseWindow::default();
            window.response.record_n(1_000_000, 900);
            window.response.record_n(80_000_000, 100);
            let mut checkout = super::super::KindWindow::default();
            checkout.response.record_n(80_000_000, 100);
            window.kinds.insert("checkout", checkout);
            window
        };
        let windows = (0..10).map(|_| window()).collect();
        let seen = Observation { offered_per_s: Some(1_000.0), windows, ..Observation::default() };
        let judge = |objective: &str| Objective::parse(objective).expect(objective).judge(&seen);
        assert_eq!(judge("checkout:p99<100ms,p50<10ms"), Judgement::Kept);
        assert_eq!(judge("p99<100ms"), Judgement::Kept);
        let missed = judge("p50<10ms,checkout:p50<50ms").missed().expect("each of them takes 80 ms");
        assert_eq!((missed.kind(), missed.to_string().as_str()), (Some("checkout"), "checkout:p50<50ms"));
        assert!(judge("checkout:max<50ms").missed().is_some() && judge("checkout:errors<1%") == Judgement::Kept);
        let rare = judge("refund:p99<1ms");
        assert!(rare.keeps() && rare != Judgement::Kept, "there was none: {rare:?}");
    }

    #[test]
    fn the_interval_of_a_share_is_that_of_wilson() {
        // Newcombe (Statistics in Medicine 17, 1998), table I: 81 of 263 has 0.2553 to 0.3662.
        let [low, high] = SampledShare { hits: 81.0, of: 263.0, clustering: 1.0, freedom: f64::INFINITY }.interval();
        assert!((low - 0.2553).abs() < 1e-4 && (high - 0.3662).abs() < 1e-4, "{low} {high}");
    }
}
