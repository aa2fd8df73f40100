//! The search for the largest rate at which an objective holds: a state machine that is fed with one observation for each probe.
//!
//! In: what is asked, and observations. Out: the next [`LimitStep`], and a [`LimitResult`].
//!
//! A closed loop finds the order of magnitude; of a recorded load its multiples are tried, and the first is the load itself. From a share of it the rate is raised until the objective is missed, or halved until it is
//! kept; then the bracket is halved until it is narrow, and both of its ends are measured again. A rate is judged by all of its probes together,
//! so an end that is kept when it is measured again bounds nothing any more. If probes contradict each other, the target is
//! not the same from probe to probe: some more are made where the limit seems to be, and the result has an interval as wide as that scatter. The
//! best rate is held. If it misses the objective then, or if the write debt grows, a lower rate is held.
//! Limits: it assumes that a rate below one that is kept is kept, too. The method is that of Shivam and others ("Cutting Corners", USENIX
//! ATC 2008), with a hold in the end.

use super::objective::Judgement;
use super::observation::{Observation, ProbeFault};
use super::result::{
    FailureAbove, HoldCause, HoldDebt, LimitOutcome, LimitProbe, LimitResult, LowerBoundCause, NeededHold,
};
use super::scatter::{LimitFit, Sightings};
use super::{LimitSpec, ProbeKind, rounded};
use crate::units::Nanos;

/// While every rate is missed, the next is this share of it.
const LOWER: f64 = 0.5;
/// The lowest rate that is tried, as a share of what a closed loop did.
const LOWEST_SHARE: f64 = 0.001;
/// A bracket is narrow enough at this share if the probes at its upper end were void: three to five of them each time are a high price for a bound that is not the target's.
const VOID_RESOLUTION: f64 = 0.2;
/// A probe whose clients were late is measured so often at most: they will be late again.
const LATE_MAX: usize = 3;
/// A probe during which the machine or plimsoll stopped is measured so often at most. Stops come by chance.
const STOPPED_MAX: usize = 5;
/// Clients that are late at so many rates, each half of the one before, are late at any: this machine cannot measure the objective.
const LATE_RATES_MAX: usize = 3;
/// So many rates are held at most whose holds are void each time.
const VOID_HOLDS_MAX: usize = 3;
/// After a hold that missed its objective the next rate is lower by this share; by twice as much after the next.
const STEP_DOWN: f64 = 0.02;
/// Between a rate that was sustained and one that was not another is held, unless the upper is above the lower by this share or less: a hold
/// takes minutes.
const HOLD_RESOLUTION: f64 = 0.04;
/// After a hold whose debt grew the next rate is lower by this share, so that the growth of the two differs measurably.
const DEBT_STEP_DOWN: f64 = 0.1;
/// A debt whose growth would end only below this share of the rate held fills something up: it does not accumulate.
const FILLING_SHARE: f64 = 0.5;
/// A debt ends at a rate that is computed from two holds; a little below it there is none.
const DEBT_MARGIN: f64 = 0.97;
/// So many probes are made where the limit seems to be once two have contradicted each other.
const SCATTER_PROBES: usize = 4;
/// Then a rate is held that is so many standard deviations of the scatter below the limit: more probes keep it than miss it.
const SAFE_SPREADS: f64 = 0.5;
/// Operations that a probe needs above the percentile.
const TAIL_OPS: f64 = 1_000.0;
/// Periods of the target's rhythm that a probe needs.
const PERIODS: u64 = 3;
/// No probe is shorter, unless the longest is.
const PROBE_MIN: Nanos = Nanos::from_secs(5);

/// The first probe is at this share of the rate of the closed loop.
const FIRST_SHARE: f64 = 0.75;
/// While every rate is kept, the next is so many times as high: soon one is about what a closed loop did.
const RAISE: f64 = 4.0 / 3.0;
/// The same of multiples of a recorded load.
const RAISE_RECORDED: f64 = 2.0;
/// The bracket is narrow if its upper end is this share above its lower end, or less: four halvings of the first bracket, so that there is a
/// probe left for its upper end.
const RESOLUTION: f64 = 0.019;

/// Two rates whose ratio is below this are the same.
const SAME_RATE: f64 = 1.0 + 1e-9;

/// A search in progress.
#[derive(Clone, Debug)]
pub struct LimitSearch {
    spec: LimitSpec,
    probe_max: Nanos,
    /// Whether the highest rate that is tried is one that the target set, and not the user.
    is_refused: bool,
    /// Operations per second of the closed loop; `None` before it was measured.
    closed_per_s: Option<f64>,
    /// The highest rate that is kept, and the lowest above it that is not known to be.
    kept_per_s: Option<f64>,
    upper: Option<UpperRate>,
    /// What fails above the limit: that of the lowest rate that is missed, among the probes and in all.
    failure_of_probes: Option<FailureAbove>,
    failure: Option<FailureAbove>,
    /// The longest rhythm that was seen.
    rhythm: Option<Nanos>,
    /// The share of all operations that a percentile of the objective lets take longer, by the kinds of operation that were seen last.
    tail: Option<f64>,
    faults: usize,
    /// What each probe and hold has shown by itself.
    sightings: Sightings,
    /// What the probes of each rate have shown together.
    rates: Vec<ProbedRate>,
    /// Probes made since two have contradicted each other.
    scatter_probes: usize,
    /// Rates one after the other at which the clients of all probes were late.
    late_rates: usize,
    /// Rates at which all holds were void.
    void_holds: usize,
    holds: Vec<HeldRate>,
    probes: Vec<LimitProbe>,
    state: State,
}

/// What the search does next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Closed,
    Probe { per_s: f64 },
    Hold { per_s: f64 },
    Over(LimitOutcome),
}

/// A rate that is not known to be kept.
#[derive(Clone, Copy, Debug)]
struct UpperRate {
    per_s: f64,
    /// How a search ends that cannot get above it, if its probes were void; `None` if it missed the objective.
    void: Option<LimitOutcome>,
}

/// A rate that was tried, once or several times.
#[derive(Clone, Debug)]
struct ProbedRate {
    per_s: f64,
    /// All of its probes that were not void.
    seen: Observation,
    judgement: Judgement,
}

/// A rate that was held.
#[derive(Clone, Copy, Debug)]
struct HeldRate {
    per_s: f64,
    judgement: Judgement,
    /// The share of its operations that failed.
    failed: f64,
    /// By how many bytes a second the debt grew; `None` if it did not.
    growth_per_s: Option<f64>,
    length: Nanos,
}

impl UpperRate {
    /// How narrow the bracket below it is to be, as a share of its lower end.
    fn resolution(&self) -> f64 {
        self.void.map_or(RESOLUTION, |_| VOID_RESOLUTION)
    }
}

impl HeldRate {
    fn is_sustained(&self) -> bool {
        self.judgement.keeps() && self.growth_per_s.is_none()
    }
}

/// What is to be measured next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LimitStep {
    Measure {
        /// What it is for.
        kind: ProbeKind,
        /// The rate; `None` for a closed loop.
        per_s: Option<f64>,
        length: Nanos,
    },
    Over,
}

impl LimitSearch {
    /// So many rates are held at most.
    pub const HOLDS_MAX: usize = 6;
    /// So many probes are made at most.
    pub const PROBES_MAX: usize = 64;
    /// So many probes a search usually takes, that in a closed loop included.
    pub const PROBES_USUAL: usize = 10;
    /// So many rates a search usually holds.
    pub const HOLDS_USUAL: usize = 2;

    /// A search for what `spec` asks, whose probes last for `probe_max` at most if the target has no longer rhythm.
    pub fn new(spec: &LimitSpec, probe_max: Nanos) -> LimitSearch {
        LimitSearch {
            spec: spec.clone(),
            probe_max,
            is_refused: false,
            closed_per_s: None,
            kept_per_s: None,
            upper: None,
            failure_of_probes: None,
            failure: None,
            rhythm: None,
            tail: spec.objective.smallest_tail(|_| 1.0),
            faults: 0,
            sightings: Sightings::default(),
            rates: Vec::new(),
            scatter_probes: 0,
            late_rates: 0,
            void_holds: 0,
            holds: Vec::new(),
            probes: Vec::new(),
            state: first_state(spec),
        }
    }

    /// What is to be measured next.
    pub fn next_step(&self) -> LimitStep {
        let longest = self.spec.arrivals.recorded().map_or(Nanos(u64::MAX), |load| load.length);
        let measure = |kind, per_s, length: Nanos| LimitStep::Measure { kind, per_s, length: length.min(longest) };
        match self.state {
            // As long as the longest probe, because it is the first that can show a rhythm.
            State::Closed => measure(ProbeKind::Closed, None, self.probe_max),
            State::Probe { per_s } => measure(ProbeKind::Probe, Some(per_s), self.probe_length(per_s)),
            // A hold is no shorter than a probe: a shorter one could not confirm it.
            State::Hold { per_s } => {
                measure(ProbeKind::Hold, Some(per_s), self.spec.hold.max(self.probe_length(per_s)))
            }
            State::Over(_) => LimitStep::Over,
        }
    }

    /// The highest rate that can still be tried if what is to be measured next cannot be: the highest that was kept. `None` if none was, or if the
    /// next rate is no higher.
    pub fn below_refused(&self) -> Option<f64> {
        let State::Probe { per_s } = self.state else { return None };
        self.kept_per_s.filter(|kept| per_s > *kept && self.upper.is_none())
    }

    /// The highest rate that is tried.
    pub fn rate_max(&self) -> Option<f64> {
        self.spec.rate_max
    }

    /// Tries no rate above `rate_max` from here on, because the target refuses what a higher one needs. It changes nothing if none is tried
    /// above that anyway: a number may come back from a file with another last digit.
    pub fn limit_to(&mut self, rate_max: Option<f64>) {
        let Some(most) = rate_max.filter(|most| *most < self.spec.rate_max.unwrap_or(f64::INFINITY) / SAME_RATE) else {
            return;
        };
        (self.spec.rate_max, self.is_refused) = (Some(most), true);
        if matches!(self.state, State::Probe { per_s } if per_s > most) {
            self.state = self.next_probe();
        }
    }

    /// The last probe with its judgement.
    pub fn last_probe(&self) -> Option<&LimitProbe> {
        self.probes.last()
    }

    /// Takes what the step that was asked for has shown.
    pub fn observe(&mut self, seen: Observation) {
        self.rhythm = self.rhythm.max(seen.rhythm());
        self.tail = self.spec.objective.smallest_tail(|kind| seen.share_of(Some(kind)));
        let state = self.state;
        self.state = match state {
            State::Closed => self.observe_closed(&seen),
            State::Probe { per_s } => self.observe_probe(per_s, &seen),
            State::Hold { per_s } => self.observe_hold(per_s, &seen),
            State::Over(_) => state,
        };
        if self.probes.len() >= LimitSearch::PROBES_MAX && !matches!(self.state, State::Over(_)) {
            self.state = State::Over(LimitOutcome::SearchLimitReached);
        }
    }

    fn observe_closed(&mut self, seen: &Observation) -> State {
        self.note_probe(ProbeKind::Closed, seen, None, None, None);
        let closed = seen.done_per_s();
        self.closed_per_s = Some(closed);
        if closed > 0.0 {
            State::Probe { per_s: self.allowed(FIRST_SHARE * closed) }
        } else {
            State::Over(LimitOutcome::NoRateHolds)
        }
    }

    fn observe_probe(&mut self, per_s: f64, seen: &Observation) -> State {
        let judgement = self.spec.objective.judge(seen);
        if let Some(fault) = self.fault_of(seen, judgement) {
            self.note_probe(ProbeKind::Probe, seen, None, Some(fault), None);
            return self.after_fault(State::Probe { per_s }, fault);
        }
        self.sightings.add(per_s, &self.spec.objective, seen);
        let judgement = self.judge_rate(per_s, seen);
        self.note_probe(ProbeKind::Probe, seen, Some(judgement), None, None);
        (self.faults, self.late_rates) = (0, 0);
        self.note_bounds();
        if self.is_scattered() { self.next_of_scattered() } else { self.next_probe() }
    }

    fn observe_hold(&mut self, per_s: f64, seen: &Observation) -> State {
        let judgement = self.spec.objective.judge(seen);
        if let Some(fault) = self.fault_of(seen, judgement) {
            self.note_probe(ProbeKind::Hold, seen, None, Some(fault), None);
            return self.after_fault(State::Hold { per_s }, fault);
        }
        self.faults = 0;
        let growth_per_s = seen.debt.growth_per_s();
        self.note_probe(ProbeKind::Hold, seen, Some(judgement), None, growth_per_s);
        let failed = if seen.failed() > 0 { seen.share_failed(None).value() } else { 0.0 };
        let held = HeldRate { per_s, judgement, failed, growth_per_s, length: seen.length };
        self.holds.push(held);
        self.sightings.add(per_s, &self.spec.objective, seen);
        if self.is_filling() {
            // The growth was no failure: what fails above is what the probes have shown.
            self.failure = self.failure_of_probes;
            return State::Over(self.outcome_when_held());
        }
        if !held.is_sustained() {
            let by_debt = growth_per_s.map(|growth_per_s| FailureAbove::WriteDebt { growth_per_s });
            self.failure = judgement.missed().map(FailureAbove::Objective).or(by_debt);
        }
        if !judgement.keeps() && self.is_scattered() { self.next_of_scattered() } else { self.next_hold() }
    }

    /// Whether the target is not the same from probe to probe, so that a narrower bracket would be chance.
    fn is_scattered(&self) -> bool {
        self.sightings.contradict()
    }

    /// What follows if probes contradict each other: some more where the limit seems to be, and then a rate is held that most of them keep.
    fn next_of_scattered(&mut self) -> State {
        let fit = self.sightings.fit();
        if self.scatter_probes < SCATTER_PROBES {
            self.scatter_probes += 1;
            return State::Probe { per_s: self.allowed(fit.middle_per_s) };
        }
        let safe = fit.middle_per_s * (-SAFE_SPREADS * fit.spread).exp();
        // What was held is not held again.
        let safe = self.holds.iter().map(|held| held.per_s * (1.0 - STEP_DOWN)).fold(safe, f64::min);
        match self.allowed(safe) {
            _ if self.holds.len() >= LimitSearch::HOLDS_MAX => State::Over(self.outcome_without_more_holds()),
            safe if safe < self.lowest() => State::Over(LimitOutcome::NoRateHolds),
            safe => State::Hold { per_s: safe },
        }
    }

    fn outcome_without_more_holds(&self) -> LimitOutcome {
        self.best_sustained().map_or(LimitOutcome::SearchLimitReached, |_| self.outcome_when_held())
    }

    /// How near to each other a rate that was sustained and one that was not may be before no rate between them is held.
    fn hold_resolution(&self) -> f64 {
        let spread = self.is_scattered().then(|| 2.0 * self.sightings.fit().spread);
        spread.map_or(HOLD_RESOLUTION, |spread| spread.max(HOLD_RESOLUTION))
    }

    /// The rate to hold after the last hold: a lower one, or one between the best that was sustained and the lowest that was not.
    fn next_hold(&self) -> State {
        let is_last = self.holds.len() >= LimitSearch::HOLDS_MAX;
        let failed =
            self.holds.iter().filter(|held| !held.is_sustained()).map(|held| held.per_s).min_by(f64::total_cmp);
        match (self.best_sustained(), failed) {
            (Some(best), Some(failed)) if failed / best.per_s > 1.0 + self.hold_resolution() && !is_last => {
                State::Hold { per_s: self.rounded((best.per_s * failed).sqrt()) }
            }
            (Some(_), _) => State::Over(self.outcome_when_held()),
            (None, _) if is_last => State::Over(LimitOutcome::SearchLimitReached),
            (None, _) => self.hold_lower(),
        }
    }

    /// The highest rate that was sustained for a whole hold.
    fn best_sustained(&self) -> Option<HeldRate> {
        let sustained = self.holds.iter().filter(|held| held.is_sustained());
        sustained.max_by(|a, b| a.per_s.total_cmp(&b.per_s)).copied()
    }

    /// A fault counts only if it could have decided: the objective was not kept.
    fn fault_of(&self, seen: &Observation, judgement: Judgement) -> Option<ProbeFault> {
        if judgement == Judgement::Kept { None } else { seen.fault(&self.spec.objective) }
    }

    fn after_fault(&mut self, again: State, fault: ProbeFault) -> State {
        let (most, outcome) = match fault {
            ProbeFault::Lag { .. } => (LATE_MAX, LimitOutcome::LowerBound(LowerBoundCause::Generator)),
            ProbeFault::OwnGaps { .. } | ProbeFault::Stolen { .. } | ProbeFault::Foreign { .. } => {
                (STOPPED_MAX, LimitOutcome::BoundedByInvalidProbes)
            }
        };
        self.faults += 1;
        if self.faults < most {
            return again;
        }
        self.faults = 0;
        match again {
            State::Probe { per_s } => {
                // What it shows of the target is not known, but it can be at fault no further up.
                self.upper = Some(UpperRate { per_s, void: Some(outcome) });
                self.late_rates += usize::from(matches!(fault, ProbeFault::Lag { .. }));
                match self.kept_per_s {
                    None if self.late_rates >= LATE_RATES_MAX => State::Over(LimitOutcome::BoundedByInvalidProbes),
                    _ => self.next_probe(),
                }
            }
            State::Hold { per_s } => self.hold_below_void(per_s, outcome),
            _ => again,
        }
    }

    /// What follows the holds at `per_s`, which were void: a lower rate is held, unless one was sustained already.
    fn hold_below_void(&mut self, per_s: f64, outcome: LimitOutcome) -> State {
        self.void_holds += 1;
        self.upper = Some(UpperRate { per_s, void: Some(outcome) });
        let next = self.rounded(per_s / (1.0 + VOID_RESOLUTION));
        let is_last = self.void_holds >= VOID_HOLDS_MAX || next < self.lowest();
        match self.best_sustained() {
            None if !is_last => State::Hold { per_s: next },
            _ => State::Over(LimitOutcome::BoundedByInvalidProbes),
        }
    }

    /// What all probes at `per_s` show, with `seen` as the last of them.
    fn judge_rate(&mut self, per_s: f64, seen: &Observation) -> Judgement {
        let known = self.rates.iter_mut().find(|rate| rate.per_s == per_s);
        let seen = known.as_ref().map_or_else(|| seen.clone(), |rate| rate.seen.together_with(seen));
        let judgement = self.spec.objective.judge(&seen);
        match known {
            Some(rate) => (rate.seen, rate.judgement) = (seen, judgement),
            None => self.rates.push(ProbedRate { per_s, seen, judgement }),
        }
        judgement
    }

    /// Takes the bounds of the search from what is known of each rate: the lowest that is missed, and the highest below it that is kept. A rate
    /// whose probes were void stays the upper bound as long as none below it is missed.
    fn note_bounds(&mut self) {
        let missed = self.rates.iter().filter_map(|rate| Some((rate.per_s, rate.judgement.missed()?)));
        let lowest = missed.min_by(|a, b| a.0.total_cmp(&b.0));
        let void = self.upper.filter(|upper| upper.void.is_some());
        self.upper = match (lowest, void) {
            (Some((per_s, _)), Some(void)) if void.per_s < per_s => Some(void),
            (Some((per_s, _)), _) => Some(UpperRate { per_s, void: None }),
            (None, void) => void,
        };
        let upper_per_s = self.upper.map_or(f64::INFINITY, |upper| upper.per_s);
        let kept = self.rates.iter().filter(|rate| rate.judgement.keeps() && rate.per_s < upper_per_s);
        self.kept_per_s = kept.map(|rate| rate.per_s).max_by(f64::total_cmp);
        self.failure_of_probes = lowest.map(|(_, criterion)| FailureAbove::Objective(criterion));
        self.failure = self.failure_of_probes;
    }

    /// The rate after the bounds have changed: higher, lower or between them, or the best is held.
    fn next_probe(&self) -> State {
        match (self.kept_per_s, self.upper) {
            (Some(kept), None) => match self.allowed(kept * self.raise()) {
                next if next > kept * SAME_RATE => State::Probe { per_s: next },
                _ => State::Hold { per_s: kept },
            },
            (None, Some(upper)) => match (self.rounded(upper.per_s * LOWER), upper.void) {
                (next, _) if next >= self.lowest() => State::Probe { per_s: next },
                (_, void) => {
                    State::Over(void.map_or(LimitOutcome::NoRateHolds, |_| LimitOutcome::BoundedByInvalidProbes))
                }
            },
            (Some(kept), Some(upper)) if upper.per_s / kept > 1.0 + upper.resolution() => {
                State::Probe { per_s: self.rounded((kept * upper.per_s).sqrt()) }
            }
            // A bisection never comes back to its ends: a second probe of each shows whether it does the same again.
            (Some(_), Some(upper)) if upper.void.is_none() && self.is_to_be_repeated(upper.per_s) => {
                State::Probe { per_s: upper.per_s }
            }
            (Some(kept), Some(_)) if self.is_to_be_repeated(kept) => State::Probe { per_s: kept },
            (Some(kept), Some(_)) => State::Hold { per_s: kept },
            (None, None) => first_state(&self.spec),
        }
    }

    /// Whether an end of the bracket is to be measured again: each once, and once more if its probes do not agree.
    fn is_to_be_repeated(&self, per_s: f64) -> bool {
        let count = self.sightings.count_at(per_s);
        count == 1 || count == 2 && self.sightings.disagree_at(per_s)
    }

    /// A lower rate than that of the last hold, which was not sustained.
    fn hold_lower(&self) -> State {
        let last = self.holds[self.holds.len() - 1];
        let failures = self.holds.iter().filter(|held| !held.judgement.keeps()).count() as i32;
        let next = match (last.judgement.keeps(), self.debt_free_rate()) {
            (false, _) => last.per_s * (1.0 - STEP_DOWN * 2f64.powi(failures - 1)),
            (true, Some(free)) if free > 0.0 => (free * DEBT_MARGIN).min(last.per_s * (1.0 - STEP_DOWN)),
            // A debt that grew as much at the higher rate, which missed the objective, may be one that fills up: the next hold shows it.
            (true, _) => last.per_s * (1.0 - DEBT_STEP_DOWN),
        };
        match self.rounded(next) {
            next if next < self.lowest() => State::Over(LimitOutcome::NoRateHolds),
            next => State::Hold { per_s: next },
        }
    }

    /// The rate at which the debt would not grow, on the line through the growth of the last two holds: a debt grows by what each
    /// operation adds, less what the engine can pay in the meantime. `None` before there are two.
    fn debt_free_rate(&self) -> Option<f64> {
        let [.., upper, lower] = self.holds[..] else { return None };
        let (above, below) = (upper.growth_per_s?, lower.growth_per_s?);
        let per_op = (above - below) / (upper.per_s - lower.per_s);
        Some(if per_op > 0.0 { (upper.per_s - above / per_op).max(0.0) } else { 0.0 })
    }

    /// Whether the debt of the last two holds fills something up instead of accumulating.
    fn is_filling(&self) -> bool {
        let [.., upper, lower] = self.holds[..] else { return false };
        upper.judgement.keeps()
            && lower.judgement.keeps()
            && self.debt_free_rate().is_some_and(|free| free < FILLING_SHARE * lower.per_s)
    }

    fn outcome_when_held(&self) -> LimitOutcome {
        match self.upper {
            // A hold that failed is below all probes.
            _ if self.holds.len() > 1 && !self.is_filling() => LimitOutcome::BoundaryFound,
            Some(UpperRate { void: None, .. }) => LimitOutcome::BoundaryFound,
            Some(UpperRate { void: Some(outcome), .. }) => outcome,
            None if self.is_refused => LimitOutcome::LowerBound(LowerBoundCause::Refused),
            None => LimitOutcome::LowerBound(LowerBoundCause::RateMax),
        }
    }

    /// The rate that is held is the result.
    fn held(&self) -> Option<HeldRate> {
        // The hold before the last was at the higher rate, and as good.
        if self.is_filling() { Some(self.holds[self.holds.len() - 2]) } else { self.best_sustained() }
    }

    /// What was found so far.
    pub fn result(&self) -> LimitResult {
        let held = self.held();
        let outcome = match self.state {
            State::Over(outcome) => outcome,
            _ => LimitOutcome::Interrupted,
        };
        let per_s = held.map(|held| held.per_s);
        let debt = held.and_then(|held| held.growth_per_s);
        LimitResult {
            outcome,
            per_s,
            failed_share: held.map_or(0.0, |held| held.failed),
            between: per_s.map(|per_s| self.bracket(per_s)),
            held: held.map(|held| held.length),
            needed_hold: held.and_then(|held| self.needed_hold(held.per_s, held.length)),
            debt: debt.map_or(HoldDebt::Steady, |growth_per_s| HoldDebt::Filling { growth_per_s }),
            failure: self.failure,
            change: self.sightings.change(),
            probes: self.probes.clone(),
        }
    }

    /// Between which rates the limit is if `per_s` was held.
    fn bracket(&self, per_s: f64) -> (f64, Option<f64>) {
        let (low, high) = self.certain_bracket(per_s);
        if !self.is_scattered() {
            return (low, high);
        }
        let LimitFit { interval_per_s: [from, to], .. } = self.sightings.fit();
        (from.min(per_s), Some(to.max(per_s)).filter(|_| self.upper.is_some_and(|upper| upper.void.is_none())))
    }

    /// The highest rate, up to `per_s`, that kept the objective for certain, and the lowest above it that missed it for certain: each rate by all
    /// of its probes, or by its hold.
    fn certain_bracket(&self, per_s: f64) -> (f64, Option<f64>) {
        let probed = || self.rates.iter().map(|rate| (rate.per_s, rate.judgement));
        let held = || self.holds.iter().map(|held| (held.per_s, held.judgement));
        let is_held = |rate: f64| self.holds.iter().any(|held| held.per_s == rate);
        let judged = || probed().filter(|(rate, _)| !is_held(*rate)).chain(held());
        let kept = judged().filter(|(rate, judgement)| *judgement == Judgement::Kept && *rate <= per_s);
        let missed = judged().filter(|(_, judgement)| matches!(judgement, Judgement::Missed(_))).map(|(rate, _)| rate);
        let in_debt = self.holds.iter().filter(|held| held.growth_per_s.is_some() && !self.is_filling());
        let missed = missed.chain(in_debt.map(|held| held.per_s)).filter(|rate| *rate > per_s);
        let low = kept.map(|(rate, _)| rate).max_by(f64::total_cmp);
        // A rate that was held without a certain judgement is known as well as the bracket is narrow.
        (low.unwrap_or(per_s * (1.0 - RESOLUTION)), missed.min_by(f64::total_cmp))
    }

    fn note_probe(
        &mut self,
        kind: ProbeKind,
        seen: &Observation,
        judgement: Option<Judgement>,
        fault: Option<ProbeFault>,
        debt_growth_per_s: Option<f64>,
    ) {
        self.probes.push(LimitProbe {
            kind,
            offered_per_s: seen.offered_per_s,
            done_per_s: seen.done_per_s(),
            length: seen.length,
            judgement,
            fault,
            debt_growth_per_s,
            ended_early: seen.ended_early,
        });
    }

    /// `per_s`, or the highest rate that is allowed.
    fn allowed(&self, per_s: f64) -> f64 {
        self.spec.rate_max.map_or(self.rounded(per_s), |most| self.rounded(per_s).min(most))
    }

    /// `per_s` with four digits; of a recorded load its multiple.
    fn rounded(&self, per_s: f64) -> f64 {
        self.spec.arrivals.recorded().map_or_else(|| rounded(per_s), |load| load.per_s * load.times(per_s))
    }

    /// While every rate is kept, the next is so many times as high. A recorded load is not known to be near to the limit.
    fn raise(&self) -> f64 {
        self.spec.arrivals.recorded().map_or(RAISE, |_| RAISE_RECORDED)
    }

    fn lowest(&self) -> f64 {
        let recorded = self.spec.arrivals.recorded();
        let known = self.closed_per_s.or_else(|| Some(recorded?.per_s));
        // Less than a session is no load.
        let session = recorded.and_then(|load| Some(load.per_s / f64::from(load.sessions?.max(1))));
        (LOWEST_SHARE * known.unwrap_or(0.0)).max(session.unwrap_or(0.0))
    }

    /// How long a probe at `per_s` lasts: for enough operations above the percentile, and for three periods of the rhythm.
    fn probe_length(&self, per_s: f64) -> Nanos {
        let usual = self.length_for_ops(per_s).max(PROBE_MIN).min(self.probe_max);
        usual.max(self.length_for_rhythm())
    }

    /// As long as it takes for enough operations above the percentile to fall due.
    fn length_for_ops(&self, per_s: f64) -> Nanos {
        Nanos((TAIL_OPS / self.tail.unwrap_or(1.0) / per_s * 1e9) as u64)
    }

    /// Three periods of the rhythm, if that is no longer than a hold or two probes.
    fn length_for_rhythm(&self) -> Nanos {
        let longest = self.spec.hold.max(Nanos(self.probe_max.0.saturating_mul(2)));
        Nanos(self.rhythm.map_or(0, |rhythm| rhythm.0.saturating_mul(PERIODS))).min(longest)
    }

    /// How long a hold at `per_s` needs to be, if one of `length` has too few operations or too few periods of the rhythm.
    fn needed_hold(&self, per_s: f64, length: Nanos) -> Option<NeededHold> {
        let (for_ops, for_rhythm) = (self.length_for_ops(per_s), self.length_for_rhythm());
        let (needed, cause) = if for_ops >= for_rhythm {
            (for_ops, HoldCause::Operations { needed: (TAIL_OPS / self.tail?).round() as u64 })
        } else {
            (for_rhythm, HoldCause::Rhythm { period: self.rhythm? })
        };
        (length.0 + length.0 / 100 < needed.0).then_some(NeededHold { length: needed, cause })
    }
}

/// A search begins with a closed loop; of a recorded load with that load itself.
fn first_state(spec: &LimitSpec) -> State {
    let most = spec.rate_max.unwrap_or(f64::INFINITY);
    spec.arrivals.recorded().map_or(State::Closed, |load| State::Probe { per_s: load.per_s.min(most) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{ArrivalLaw, Objective};

    #[test]
    fn a_rate_has_four_digits() {
        let shown = [386.679_999_999, 12_345.6, 0.123_456, 7.0, 9_999.9, 1e6].map(|rate| rounded(rate).to_string());
        assert_eq!(shown, ["386.7", "12350", "0.1235", "7", "10000", "1000000"]);
        assert_eq!([0.0, -1.0, f64::NAN, f64::INFINITY].map(rounded), [0.0; 4]);
    }

    /// A hold of 10 s at `per_s`, which kept or missed its objective, and whose debt grew by so many bytes a second.
    fn held(per_s: f64, keeps: bool, growth_per_s: f64) -> HeldRate {
        let criterion = *Objective::default().criteria().first().expect("it has one");
        let judgement = if keeps { Judgement::Kept } else { Judgement::Missed(criterion) };
        HeldRate { per_s, judgement, failed: 0.0, growth_per_s: Some(growth_per_s), length: Nanos::from_secs(10) }
    }

    #[test]
    fn after_a_miss_a_debt_that_grew_as_much_is_held_once_more_at_a_lower_rate() {
        let spec = LimitSpec {
            objective: Objective::default(),
            hold: Nanos::from_secs(10),
            rate_max: None,
            arrivals: ArrivalLaw::Poisson,
        };
        let mut search = LimitSearch::new(&spec, Nanos::from_secs(4));
        search.closed_per_s = Some(1_500.0);
        search.holds = vec![held(954.0, false, 930e3), held(877.7, true, 923e3)];
        let State::Hold { per_s } = search.hold_lower() else { panic!("it goes on") };
        assert_eq!(per_s, 789.9, "a tenth lower");
        search.holds.push(held(per_s, true, 920e3));
        assert!(search.is_filling(), "two holds in a row with the same growth");
    }
}
