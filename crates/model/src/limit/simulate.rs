//! Searches on simulated queues whose limit is known in closed form.
//!
//! In: the laws of a queue, and a seed. Out: what a search finds on it. Limits: time is simulated and exact; clients are never at fault
//! unless a test makes them so.

use super::debt::DebtCourse;
use super::*;
use crate::histogram::LatencyCounts;

const SECOND: f64 = 1e9;

/// A queue with `servers` servers, first come, first served.
#[derive(Clone, Copy)]
struct Queue {
    servers: usize,
    /// The mean service time.
    service_ns: f64,
    is_exponential: bool,
    /// Every so often nothing is served for so long.
    stall: Option<(f64, f64)>,
    /// Bytes of debt that an operation adds, and that are paid per second.
    debt: Option<(f64, f64)>,
    /// The hypervisor stops the machine once in so long on average, for 74 to 414 ms.
    stops_every_ns: Option<f64>,
    /// Each probe is slower or faster as a whole by a log-normal factor with this standard deviation.
    scatter: f64,
}

impl Queue {
    fn new(servers: usize, service_ns: f64, is_exponential: bool) -> Queue {
        Queue { servers, service_ns, is_exponential, stall: None, debt: None, stops_every_ns: None, scatter: 0.0 }
    }

    /// When an operation ends that could begin at `ready`, and works for `service`.
    fn end_of(&self, ready: f64, service: f64) -> f64 {
        let Some((every, length)) = self.stall else { return ready + service };
        let in_period = ready % every;
        // The stall is at the end of each period. An operation that it interrupts goes on after it.
        let working = (every - length - in_period).max(0.0);
        if service <= working { ready + service } else { ready - in_period + every + service - working }
    }

    /// When the machine is stopped in `length_ns`, from and to.
    fn stops(&self, length_ns: f64, random: &mut SplitMix) -> Vec<(f64, f64)> {
        let Some(every) = self.stops_every_ns else { return Vec::new() };
        let (mut stops, mut from) = (Vec::new(), every * random.exponential());
        while from < length_ns {
            let to = from + 74e6 + 340e6 * (-random.exponential()).exp();
            stops.push((from, to));
            from = to + every * random.exponential();
        }
        stops
    }

    /// What a probe shows: at `per_s`, or in a closed loop with a client for each server.
    fn perform(&self, per_s: Option<f64>, length: Nanos, random: &mut SplitMix) -> Observation {
        let length_ns = length.0 as f64;
        let window_ns = length_ns / 60.0;
        let mut windows: Vec<LatencyCounts> = vec![LatencyCounts::default(); 60];
        let stops = self.stops(length_ns, random);
        let mut free_at = vec![0.0f64; self.servers];
        let service_ns =
            self.service_ns * if self.scatter > 0.0 { (self.scatter * random.normal()).exp() } else { 1.0 };
        let (mut due, mut unserved, mut done) = (0.0, 0, 0u64);
        loop {
            let service = service_ns * if self.is_exponential { random.exponential() } else { 1.0 };
            let (server, free) = earliest(&free_at);
            due = match per_s {
                Some(per_s) => due + SECOND / per_s * random.exponential(),
                None => free,
            };
            if due >= length_ns {
                break;
            }
            if free >= length_ns {
                unserved += 1;
                continue;
            }
            let (ready, service) = behind_stops(&stops, due.max(free), service);
            let end = self.end_of(ready, service);
            free_at[server] = end;
            windows[((end / window_ns) as usize).min(59)].record((end - due) as u64);
            done += 1;
        }
        let stolen = |nth: usize| {
            let ended = stops.iter().filter(|(_, to)| ((to / window_ns) as usize).min(59) == nth);
            Nanos(ended.map(|(from, to)| to - from).sum::<f64>() as u64)
        };
        let windows = windows.iter_mut().enumerate().map(|(nth, counts)| ResponseWindow {
            length: Nanos(window_ns as u64),
            response: counts.take(),
            stolen: stolen(nth),
            ..ResponseWindow::default()
        });
        let rate = done as f64 / length.as_secs_f64();
        let debt = self.debt.map_or(DebtCourse::default(), |(per_op, paid_per_s)| {
            let growth = (rate * per_op - paid_per_s).max(0.0);
            DebtCourse(
                (0..60)
                    .map(|n| (Nanos(n * length.0 / 60), 1e6 + growth * length.as_secs_f64() / 60.0 * n as f64))
                    .collect(),
            )
        });
        Observation {
            offered_per_s: per_s,
            length,
            windows: windows.collect(),
            unserved,
            debt,
            ..Observation::default()
        }
    }
}

/// When an operation can begin that is ready at `ready`, and how long it works, with the stops that interrupt it.
fn behind_stops(stops: &[(f64, f64)], ready: f64, service: f64) -> (f64, f64) {
    stops.iter().fold((ready, service), |(ready, service), (from, to)| {
        if (*from..*to).contains(&ready) {
            (*to, service)
        } else if ready < *from && ready + service > *from {
            (ready, service + to - from)
        } else {
            (ready, service)
        }
    })
}

fn earliest(free_at: &[f64]) -> (usize, f64) {
    let first = free_at.iter().copied().enumerate();
    first.min_by(|(_, a), (_, b)| a.total_cmp(b)).expect("a queue has a server")
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Box and Muller, Annals of Mathematical Statistics 29, 1958.
    fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

fn spec(objective: &str, hold_s: u64) -> LimitSpec {
    LimitSpec {
        objective: Objective::parse(objective).expect("an objective"),
        hold: Nanos::from_secs(hold_s),
        rate_max: None,
        arrivals: ArrivalLaw::Poisson,
    }
}

/// What a search finds whose probes last for `probe_max` at most.
fn search_on(queue: &Queue, spec: &LimitSpec, probe_max_s: u64, seed: u64) -> LimitResult {
    let mut random = SplitMix(seed.wrapping_mul(0xD134_2543_DE82_EF95));
    let mut search = LimitSearch::new(spec, Nanos::from_secs(probe_max_s));
    while let LimitStep::Measure { per_s, length, .. } = search.next_step() {
        search.observe(queue.perform(per_s, length, &mut random));
    }
    search.result()
}

/// The rate at which `p99_s` reaches `limit_s`, by bisection up to `below_per_s`, at which the queue grows without end.
fn rate_of(limit_s: f64, below_per_s: f64, slower: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, below_per_s);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if slower(middle) > 0.01 { high = middle } else { low = middle }
    }
    assert!(limit_s > 0.0);
    low
}

/// The share of response times above `t` of an M/M/c queue (Gross and Harris, Fundamentals of Queueing Theory, 2.3.2), with the Erlang C
/// formula for the probability to wait.
fn mmc_above(servers: u32, service_s: f64, per_s: f64, t: f64) -> f64 {
    let (c, load, mu) = (f64::from(servers), per_s * service_s, 1.0 / service_s);
    let blocking = (1..=servers).fold(1.0, |b, k| load * b / (f64::from(k) + load * b));
    let waiting = blocking / (1.0 - load / c * (1.0 - blocking));
    let spare = c - 1.0 - load;
    (-mu * t).exp() * (1.0 + waiting * (1.0 - (-mu * t * spare).exp()) / spare)
}

/// The share of response times above `t` of an M/D/1 queue (Erlang 1909; Crommelin, P.O. Electrical Engineers' Journal 25, 1932).
fn md1_above(service_s: f64, per_s: f64, t: f64) -> f64 {
    let wait = t - service_s;
    let terms = (0..=(wait / service_s).floor() as u32).map(|k| {
        let x = per_s * (f64::from(k) * service_s - wait);
        (1..=k).fold(1.0, |power, n| power * x / f64::from(n)) * (-x).exp()
    });
    1.0 - (1.0 - per_s * service_s) * terms.sum::<f64>()
}

const SEEDS: u64 = 20;

/// Asserts that 20 searches find `true_per_s` within 3 %, and that most of their intervals hold it.
fn assert_found(queue: &Queue, objective: &str, probe_s: u64, true_per_s: f64) {
    let found = std::thread::scope(|scope| {
        let search = |seed| search_on(queue, &spec(objective, 2 * probe_s), probe_s, seed);
        let halves = [0, 1].map(|half| {
            scope.spawn(move || (0..SEEDS).filter(|seed| seed % 2 == half).map(search).collect::<Vec<_>>())
        });
        halves.into_iter().flat_map(|half| half.join().expect("it does not panic")).collect::<Vec<_>>()
    });
    let holding = found.iter().filter(|result| {
        let per_s = result.per_s.expect("a rate is held");
        assert_eq!(result.outcome, LimitOutcome::BoundaryFound);
        let off = per_s / true_per_s - 1.0;
        assert!(off.abs() <= 0.03, "{objective}: {per_s} instead of {true_per_s}: {off:+.4}");
        let (low, high) = result.between.expect("it has a rate");
        low <= true_per_s && high.is_none_or(|high| true_per_s <= high)
    });
    let holding = holding.count();
    // What `plan` estimates is what a search usually takes.
    let count = |is_hold: bool| {
        found.iter().flat_map(|one| &one.probes).filter(|probe| (probe.kind == ProbeKind::Hold) == is_hold).count()
    };
    assert!(count(false) as u64 <= SEEDS * LimitSearch::PROBES_USUAL as u64 * 11 / 10, "{} probes", count(false));
    assert!(count(true) as u64 <= SEEDS * LimitSearch::HOLDS_USUAL as u64, "{} holds", count(true));
    assert!(holding >= 17, "{holding} of {SEEDS} intervals hold the limit");
}

#[test]
fn the_limit_of_one_server_with_exponential_service_is_found_within_three_percent() {
    // The response time is exponential with the rate mu - lambda (Gross and Harris, 2.2.4): its 99th percentile is ln 100 / (mu - lambda).
    let (mu, limit_s) = (10_000.0, 0.005);
    let true_per_s = mu - 100f64.ln() / limit_s;
    assert!((mmc_above(1, 1.0 / mu, true_per_s, limit_s) - 0.01).abs() < 1e-9, "both formulas agree");
    assert_found(&Queue::new(1, 1e5, true), "p99<5ms,errors<0.1%", 30, true_per_s);
}

#[test]
fn the_limit_of_four_servers_with_exponential_service_is_found_within_three_percent() {
    let (service_s, limit_s) = (0.000_4, 0.005);
    let true_per_s = rate_of(limit_s, 4.0 / service_s, |per_s| mmc_above(4, service_s, per_s, limit_s));
    assert_found(&Queue::new(4, service_s * SECOND, true), "p99<5ms", 20, true_per_s);
}

#[test]
fn the_limit_of_one_server_with_constant_service_is_found_within_three_percent() {
    let (service_s, limit_s) = (0.000_1, 0.001);
    // Values of the table in Shortle and others, Fundamentals of Queueing Theory: half of the arrivals wait at a load of a half.
    assert!((md1_above(1.0, 0.5, 1.0) - 0.5).abs() < 1e-12);
    let true_per_s = rate_of(limit_s, 1.0 / service_s, |per_s| md1_above(service_s, per_s, limit_s));
    assert_found(&Queue::new(1, service_s * SECOND, false), "p99<1ms", 20, true_per_s);
}

#[test]
fn a_rate_that_only_lives_on_debt_is_refused_by_the_hold() {
    // The objective alone would allow 9,079 a second; above 6,000 what operations leave to be written is more than is paid.
    let queue = Queue { debt: Some((1_000.0, 6e6)), ..Queue::new(1, 1e5, true) };
    let found = search_on(&queue, &spec("p99<5ms", 30), 5, 1);
    let per_s = found.per_s.expect("a lower rate is held");
    assert!((5_600.0..=6_000.0).contains(&per_s), "{per_s}");
    assert!(matches!(found.failure, Some(FailureAbove::WriteDebt { .. })), "{:?}", found.failure);
    assert_eq!((found.outcome, found.debt), (LimitOutcome::BoundaryFound, HoldDebt::Steady));
    let upper = found.between.and_then(|(_, high)| high).expect("a rate above it failed");
    assert!(upper >= 6_000.0 && upper <= 1.06 * per_s, "{upper}");
}

#[test]
fn a_hold_that_fails_is_followed_by_one_between_it_and_the_next_that_does_not() {
    // Probes of 5 s with few arrivals begin with an empty queue, and allow more than a hold of 200 s does.
    let queue = Queue::new(4, 1e8, true);
    let found: Vec<LimitResult> = (0..SEEDS).map(|seed| search_on(&queue, &spec("p95<600ms", 200), 30, seed)).collect();
    let mut tried_between = 0;
    for result in &found {
        let per_s = result.per_s.expect("a rate is held");
        // 34.2 a second by the formula of M/M/4; a hold of 200 s has some 7,000 operations.
        assert!((per_s / 34.217 - 1.0).abs() <= 0.15, "{result:?}");
        let holds: Vec<&LimitProbe> = result.probes.iter().filter(|probe| probe.kind == ProbeKind::Hold).collect();
        tried_between += usize::from(holds.windows(2).any(|pair| pair[1].offered_per_s > pair[0].offered_per_s));
    }
    assert!(tried_between > 0, "{found:?}");
}

#[test]
fn a_log_that_fills_up_at_any_rate_refuses_none() {
    // Nothing is paid back during the hold: the growth is in proportion to the rate.
    let queue = Queue { debt: Some((1_000.0, 0.0)), ..Queue::new(1, 1e5, true) };
    let found = search_on(&queue, &spec("p99<5ms", 30), 5, 1);
    assert!((found.per_s.expect("it is held") / 9_079.0 - 1.0).abs() < 0.05, "{found:?}");
    assert!(matches!(found.debt, HoldDebt::Filling { .. }), "{:?}", found.debt);
    assert!(matches!(found.failure, Some(FailureAbove::Objective(_))), "{:?}", found.failure);
    let holds = found.probes.iter().filter(|probe| probe.kind == ProbeKind::Hold).count();
    assert_eq!((found.outcome, holds), (LimitOutcome::BoundaryFound, 2));
}

#[test]
fn a_stall_every_7_3_seconds_is_in_every_probe() {
    let period = Nanos::from_millis(7_300);
    let queue = Queue { stall: Some((7.3e9, 150e6)), ..Queue::new(4, 1e6, true) };
    // 2 % of all arrivals fall into a stall: at no rate are 99 % of them faster than 20 ms.
    let found = search_on(&queue, &spec("p99<20ms", 60), 30, 1);
    assert_eq!((found.outcome, found.per_s), (LimitOutcome::NoRateHolds, None));
    // 1.3 % wait for longer than 50 ms at any rate, and fewer than 1 % for longer than 120 ms at a moderate one.
    let found = search_on(&queue, &spec("p99<120ms", 60), 30, 1);
    assert!(found.per_s.is_some_and(|per_s| per_s > 1_000.0), "{found:?}");
    let short = found.probes.iter().filter(|probe| probe.length < Nanos(3 * period.0) && !probe.ended_early);
    assert_eq!(short.count(), 0, "{found:?}");
}

#[test]
fn an_objective_that_no_rate_keeps_is_reported_as_such() {
    let found = search_on(&Queue::new(1, 20e6, false), &spec("p99<10ms", 10), 5, 1);
    assert_eq!((found.outcome, found.per_s, found.between), (LimitOutcome::NoRateHolds, None, None));
    assert!(matches!(found.failure, Some(FailureAbove::Objective(Criterion::Percentile { .. }))), "{found:?}");
}

#[test]
fn the_highest_rate_allowed_is_a_lower_bound_if_it_is_kept() {
    let asked = LimitSpec { rate_max: Some(2_000.0), ..spec("p99<5ms", 10) };
    let found = search_on(&Queue::new(1, 1e5, true), &asked, 5, 1);
    assert_eq!(found.outcome, LimitOutcome::LowerBound(LowerBoundCause::RateMax));
    assert_eq!((found.per_s, found.between, found.failure), (Some(2_000.0), Some((2_000.0, None)), None));
    assert_eq!(found.held, Some(Nanos::from_secs(10)));
}

/// A search whose observations above `per_s` are spoilt by `spoil`.
fn search_spoilt(per_s: f64, spoil: impl Fn(&mut Observation)) -> LimitResult {
    let (queue, mut random) = (Queue::new(1, 1e5, true), SplitMix(3));
    let mut search = LimitSearch::new(&spec("p99<5ms", 10), Nanos::from_secs(5));
    while let LimitStep::Measure { per_s: offered, length, .. } = search.next_step() {
        let mut seen = queue.perform(offered.map(|offered| offered.min(9_500.0)), length, &mut random);
        if offered.is_some_and(|offered| offered > per_s) {
            spoil(&mut seen);
        }
        seen.offered_per_s = offered;
        search.observe(seen);
    }
    search.result()
}

#[test]
fn probes_that_plimsoll_itself_spoilt_bound_the_search_and_decide_nothing() {
    let stopped = search_spoilt(8_000.0, |seen| {
        seen.own_gaps = Nanos(seen.length.0 / 10);
        seen.windows.iter_mut().for_each(|window| window.response.record_n(100_000_000, 50));
    });
    assert_eq!((stopped.outcome, stopped.failure), (LimitOutcome::BoundedByInvalidProbes, None));
    assert!(stopped.per_s.is_some_and(|per_s| per_s <= 8_000.0), "{stopped:?}");
    let (void, judged): (Vec<_>, Vec<_>) = stopped.probes.iter().skip(1).partition(|probe| probe.fault.is_some());
    assert!(void.iter().all(|probe| probe.judgement.is_none() && probe.offered_per_s > Some(8_000.0)), "{void:?}");
    assert!(judged.iter().all(|probe| probe.judgement == Some(Judgement::Kept)) && void.len() % 5 == 0, "{judged:?}");
    let late = search_spoilt(8_000.0, |seen| {
        (seen.lag_count, seen.lag_sum) = (seen.done(), Nanos(seen.done() * 2_000_000));
        seen.windows.iter_mut().for_each(|window| window.response.record_n(100_000_000, 50));
    });
    assert_eq!(late.outcome, LimitOutcome::LowerBound(LowerBoundCause::Generator));
    let from_the_start = search_spoilt(1_000.0, |seen| {
        seen.own_gaps = seen.length;
        seen.windows.iter_mut().for_each(|window| window.response.record_n(100_000_000, 50));
    });
    assert_eq!(from_the_start.outcome, LimitOutcome::BoundedByInvalidProbes);
    assert!(from_the_start.per_s.is_some_and(|per_s| (800.0..=1_000.0).contains(&per_s)), "{from_the_start:?}");
}

#[test]
fn clients_that_are_late_at_every_rate_end_the_search_soon() {
    let late = |seen: &mut Observation| {
        (seen.lag_count, seen.lag_sum) = (seen.done(), Nanos(seen.done() * 2_000_000));
        seen.windows.iter_mut().for_each(|window| window.response.record_n(100_000_000, 50));
    };
    let found = search_spoilt(0.0, late);
    assert_eq!((found.outcome, found.per_s), (LimitOutcome::BoundedByInvalidProbes, None));
    assert_eq!(found.probes.len(), 1 + 3 * 3, "three rates, three times each: {:?}", found.probes);
}

#[test]
fn no_less_than_one_session_of_a_recorded_load_is_tried() {
    let load = RecordedLoad { per_s: 40.0, length: Nanos::from_secs(25), clients: None, sessions: Some(10) };
    let spec = LimitSpec { arrivals: ArrivalLaw::Recorded(load), ..spec("p99<10ms", 10) };
    let found = search_on(&Queue::new(1, 20e6, false), &spec, 5, 1);
    let rates: Vec<f64> = found.probes.iter().filter_map(|probe| probe.offered_per_s).collect();
    assert_eq!((found.outcome, rates), (LimitOutcome::NoRateHolds, vec![40.0, 20.0, 10.0, 5.0]));
}

#[test]
fn a_lower_rate_is_held_if_the_holds_at_the_best_were_void() {
    let (queue, mut random) = (Queue::new(1, 1e5, true), SplitMix(3));
    let mut search = LimitSearch::new(&spec("p99<5ms", 10), Nanos::from_secs(5));
    let mut void_per_s = None;
    while let LimitStep::Measure { kind, per_s, length } = search.next_step() {
        let mut seen = queue.perform(per_s, length, &mut random);
        if kind == ProbeKind::Hold && per_s == *void_per_s.get_or_insert(per_s) {
            (seen.lag_count, seen.lag_sum) = (seen.done(), Nanos(seen.done() * 2_000_000));
            seen.windows.iter_mut().for_each(|window| window.response.record_n(100_000_000, 50));
        }
        search.observe(seen);
    }
    let (found, void_per_s) = (search.result(), void_per_s.flatten().expect("a rate was held"));
    assert_eq!(found.outcome, LimitOutcome::LowerBound(LowerBoundCause::Generator));
    let per_s = found.per_s.expect("a lower rate is held");
    assert!((per_s * 1.2 / void_per_s - 1.0).abs() < 0.001, "{per_s} below {void_per_s}");
}

#[test]
fn stops_of_the_machine_are_no_limit_of_the_target() {
    let (service_s, limit_s) = (0.002, 0.025);
    let true_per_s = rate_of(limit_s, 4.0 / service_s, |per_s| mmc_above(4, service_s, per_s, limit_s));
    // Nearly half of the probes and holds of 12 s are stopped, most of them for long enough to miss the objective.
    let queue = Queue { stops_every_ns: Some(20e9), ..Queue::new(4, service_s * SECOND, true) };
    let found: Vec<LimitResult> = (0..SEEDS).map(|seed| search_on(&queue, &spec("p99<25ms", 12), 12, seed)).collect();
    let (bounded, invalid): (Vec<_>, Vec<_>) =
        found.iter().partition(|result| result.outcome == LimitOutcome::BoundaryFound);
    for result in &bounded {
        let share = result.per_s.expect("a rate is held") / true_per_s;
        assert!((0.9..=1.03).contains(&share), "{share}");
    }
    assert!(invalid.iter().all(|result| result.outcome == LimitOutcome::BoundedByInvalidProbes), "{invalid:?}");
    assert!(bounded.len() >= 16, "{} of {SEEDS} found their boundary", bounded.len());
    let void = found.iter().flat_map(|result| &result.probes).filter(|probe| probe.fault.is_some()).count();
    assert!(void > found.len(), "{void} probes were void");
}

#[test]
fn a_search_that_is_not_over_is_interrupted_and_keeps_its_probes() {
    let (queue, mut random) = (Queue::new(1, 1e5, true), SplitMix(3));
    let mut search = LimitSearch::new(&spec("p99<5ms", 10), Nanos::from_secs(5));
    for _ in 0..3 {
        let LimitStep::Measure { per_s, length, .. } = search.next_step() else { panic!("it is not over") };
        search.observe(queue.perform(per_s, length, &mut random));
    }
    let result = search.result();
    assert_eq!((result.outcome, result.per_s, result.probes.len()), (LimitOutcome::Interrupted, None, 3));
}

/// Searches on a target that is slower or faster before each probe by a log-normal factor, and the rate that half of its probes keep.
fn scattered_searches(scatter: f64) -> (Vec<LimitResult>, f64) {
    let (service_s, limit_s) = (0.001, 0.05);
    let queue = Queue { scatter, ..Queue::new(1, service_s * SECOND, true) };
    let found = (0..2 * SEEDS).map(|seed| search_on(&queue, &spec("p99<50ms", 60), 30, seed)).collect();
    (found, 1.0 / service_s - 100f64.ln() / limit_s)
}

/// The share of all pairs of `found` whose intervals have a rate in common.
fn overlapping(found: &[LimitResult]) -> f64 {
    let intervals: Vec<(f64, f64)> = found
        .iter()
        .filter_map(|result| result.between.map(|(low, high)| (low, high.unwrap_or(f64::INFINITY))))
        .collect();
    assert_eq!(intervals.len(), found.len(), "each holds a rate");
    let pairs =
        intervals.iter().enumerate().flat_map(|(nth, one)| intervals[..nth].iter().map(move |other| (one, other)));
    let overlap: Vec<bool> = pairs.map(|(one, other)| one.0 <= other.1 && other.0 <= one.1).collect();
    overlap.iter().filter(|overlap| **overlap).count() as f64 / overlap.len() as f64
}

/// The interval in the middle of all, by its upper end over its lower one, less 1.
fn usual_width(found: &[LimitResult]) -> f64 {
    let mut widths: Vec<f64> =
        found.iter().filter_map(|result| result.between).map(|(low, high)| high.unwrap_or(low) / low - 1.0).collect();
    widths.sort_by(f64::total_cmp);
    widths[widths.len() / 2]
}

#[test]
fn a_probe_that_something_spoilt_once_bounds_nothing_when_its_rate_was_kept() {
    // M/M/1 whose p99 is 5 ms at 9,079 a second.
    let true_per_s = 10_000.0 - 100f64.ln() / 0.005;
    let queue = Queue::new(1, 1e5, true);
    for seed in 0..SEEDS {
        let mut random = SplitMix(seed.wrapping_mul(0xD134_2543_DE82_EF95));
        let mut search = LimitSearch::new(&spec("p99<5ms", 40), Nanos::from_secs(20));
        let mut spoilt = None;
        while let LimitStep::Measure { kind, per_s, length } = search.next_step() {
            let mut seen = queue.perform(per_s, length, &mut random);
            // The first probe between 90 and 97 % of the limit is slow for a twentieth of its time.
            let is_near = per_s.is_some_and(|per_s| (0.9..0.97).contains(&(per_s / true_per_s)));
            if kind == ProbeKind::Probe && spoilt.is_none() && is_near {
                spoilt = per_s;
                seen.windows[20..23].iter_mut().for_each(|window| {
                    let done = window.response.len();
                    window.response = crate::histogram::Times::default();
                    window.response.record_n(20_000_000, done);
                });
            }
            search.observe(seen);
        }
        let found = search.result();
        let (low, high) = found.between.expect("a rate is held");
        let is_bound = |spoilt: f64| high == Some(spoilt) && found.per_s.is_some_and(|per_s| per_s < spoilt);
        let kept_again = |spoilt: f64| {
            let own = found.probes.iter().filter(|probe| probe.offered_per_s == Some(spoilt));
            own.filter_map(|probe| probe.judgement).any(|judgement| judgement == Judgement::Kept)
        };
        assert!(spoilt.is_none_or(|spoilt| !(is_bound(spoilt) && kept_again(spoilt))), "{spoilt:?} {found:?}");
        assert!(low <= true_per_s * 1.02, "{found:?}");
    }
}

/// A search on a queue that serves so much more slowly from probe `from` on.
fn search_changing(factor: f64, from: usize, seed: u64) -> LimitResult {
    let mut random = SplitMix(seed.wrapping_mul(0xD134_2543_DE82_EF95));
    let mut search = LimitSearch::new(&spec("p99<50ms", 60), Nanos::from_secs(30));
    let mut nth = 0;
    while let LimitStep::Measure { per_s, length, .. } = search.next_step() {
        let service_ns = if nth < from { 1e6 } else { factor * 1e6 };
        search.observe(Queue::new(1, service_ns, true).perform(per_s, length, &mut random));
        nth += 1;
    }
    search.result()
}

#[test]
fn a_target_that_carries_half_from_the_middle_of_a_search_on_is_said_to_have_changed() {
    let changed = (0..SEEDS).map(|seed| search_changing(2.0, 6, seed)).collect::<Vec<_>>();
    let said = changed.iter().filter_map(|found| found.change);
    let said = said.filter(|change| change.after_per_s < 0.75 * change.before_per_s).count();
    assert!(said >= 18, "{said} of {SEEDS}");
    assert!(changed.iter().all(|found| found.per_s.is_none_or(|per_s| per_s < 500.0)), "{changed:?}");
    let steady = (0..SEEDS).filter(|seed| search_changing(1.0, 6, *seed).change.is_some()).count();
    let scattered = scattered_searches(0.15).0.iter().filter(|found| found.change.is_some()).count();
    assert!(
        steady == 0 && scattered <= 2,
        "{steady} of {SEEDS} steady ones, {scattered} of {} that scatter",
        2 * SEEDS
    );
}

#[test]
fn searches_on_a_target_that_scatters_agree_within_intervals_as_wide_as_the_scatter() {
    for scatter in [0.05, 0.15] {
        let (found, true_per_s) = scattered_searches(scatter);
        let (overlap, width) = (overlapping(&found), usual_width(&found));
        assert!(overlap >= 0.9, "{scatter}: {overlap} of the pairs overlap");
        let holding = found.iter().filter_map(|result| result.between);
        let holding =
            holding.filter(|(low, high)| *low <= true_per_s && high.is_none_or(|high| true_per_s <= high)).count();
        assert!(holding * 10 >= found.len() * 8, "{scatter}: {holding} of {} hold the limit", found.len());
        assert!((scatter..0.6).contains(&width), "{scatter}: a usual interval is {width} wide");
    }
}

#[test]
fn the_limit_of_a_recorded_load_is_found_from_the_load_itself_up_and_down() {
    let (mu, limit_s) = (10_000.0, 0.005);
    let true_per_s = mu - 100f64.ln() / limit_s;
    for recorded_per_s in [2_500.0, 40_000.0] {
        let load =
            RecordedLoad { per_s: recorded_per_s, length: Nanos::from_secs(25), clients: Some(8), sessions: None };
        let spec = LimitSpec { arrivals: ArrivalLaw::Recorded(load), ..spec("p99<5ms", 60) };
        let found = search_on(&Queue::new(1, 1e5, true), &spec, 20, 1);
        let per_s = found.per_s.expect("a rate is held");
        assert!((per_s / true_per_s - 1.0).abs() < 0.04, "{per_s} instead of {true_per_s}");
        let first = &found.probes[0];
        assert_eq!((first.kind, first.offered_per_s), (ProbeKind::Probe, Some(recorded_per_s)), "no closed loop");
        assert!(found.probes.iter().all(|probe| probe.length <= load.length), "no probe is longer than the log");
        let times = load.times(per_s);
        assert!((times * 1e4 - (times * 1e4).round()).abs() < 1e-6, "{times} has four digits");
    }
}

#[test]
fn the_best_rate_is_held_if_the_target_refuses_what_a_higher_one_needs() {
    let load = RecordedLoad { per_s: 100.0, length: Nanos::from_secs(25), clients: Some(8), sessions: None };
    let spec = LimitSpec { arrivals: ArrivalLaw::Recorded(load), ..spec("p99<5ms", 60) };
    let (queue, mut random) = (Queue::new(1, 1e5, true), SplitMix(3));
    let mut search = LimitSearch::new(&spec, Nanos::from_secs(5));
    let mut measured = Vec::new();
    while let LimitStep::Measure { kind, per_s, length } = search.next_step() {
        if per_s > Some(1_600.0) {
            let below = search.below_refused();
            assert_eq!(below, Some(1_600.0));
            search.limit_to(below);
            continue;
        }
        measured.push((kind, search.rate_max(), queue.perform(per_s, length, &mut random)));
        search.observe(measured[measured.len() - 1].2.clone());
    }
    let found = search.result();
    assert_eq!((found.outcome, found.per_s), (LimitOutcome::LowerBound(LowerBoundCause::Refused), Some(1_600.0)));
    assert_eq!(measured.iter().map(|(kind, ..)| *kind).filter(|kind| *kind == ProbeKind::Hold).count(), 1);
    let mut again = LimitSearch::new(&spec, Nanos::from_secs(5));
    for (_, rate_max, seen) in measured {
        // As it may come back from a file.
        again.limit_to(rate_max.map(|most| most * (1.0 + f64::EPSILON)));
        again.observe(seen);
    }
    assert_eq!(again.result().outcome, found.outcome);
    assert_eq!(again.result().per_s, found.per_s);
    assert_eq!(LimitSearch::new(&spec, Nanos::from_secs(5)).below_refused(), None, "the load itself is refused");
}

#[test]
fn a_probe_of_a_recorded_load_has_its_copies_and_their_clients() {
    let load = RecordedLoad { per_s: 100.0, length: Nanos::from_secs(25), clients: Some(8), sessions: None };
    let simple = Trial::simple("null", "replay-sql");
    let mut asked = Trial { load: crate::Load { clients: 8, ..simple.load }, ..simple };
    asked.limit = Some(LimitPart {
        spec: LimitSpec { arrivals: ArrivalLaw::Recorded(load), ..spec("p99<5ms", 60) },
        probe: None,
    });
    let probe = |load: RecordedLoad| {
        let mut asked = asked.clone();
        asked.limit.as_mut().unwrap().spec.arrivals = ArrivalLaw::Recorded(load);
        probe_trial(&asked, 0, 1, ProbeKind::Probe, Some(340.0), Nanos::from_secs(5))
    };
    let made = probe(load);
    assert_eq!((made.workload.params.float("times"), made.load.clients), (3.4, 32));
    assert_eq!(made.load.pacing, Pacing::Open { arrivals: Arrivals::Recorded { per_s: 340.0 } });
    assert_eq!(probe(RecordedLoad { clients: None, ..load }).load.clients, 8, "as many as were asked for");
}
