//! The CPU's time stamp counter as the clock of a client: a third of what a call of the kernel's clock costs.
//!
//! In: the kernel's clock, which it follows. Out: the same [`Tick`]s, from a counter that one instruction reads.
//! Limits: x86-64 with a counter that the kernel itself keeps time by; elsewhere, and from the moment at which the two disagree,
//! every read asks the kernel. Within a client it never goes back; it differs from the kernel's clock by the uncertainty of one
//! reading of both (20 ns here).
//!
//! A [`Calibration`] is a straight line from counts to time. It holds for 250 ms at most; the read after that takes a
//! [`ClockSample`] of both clocks, which costs about 0.3 us, and makes the next calibration. So the clock follows the kernel's when
//! that is slewed, and drift does not add up over hours. After a suspension or a migration to another machine no time comes from
//! an older calibration, unless the interruption was shorter than the calibration holds.
//!
//! Measured on an AMD EPYC: rdtsc 9.5 ns, rdtscp 18.1, lfence and rdtsc 18.4, clock_gettime 25.2. rdtsc may be read before earlier
//! instructions are done. For the start of an operation that is harmless: what it overtakes is the client's own bookkeeping, and
//! a start that is read too early makes a time longer and not shorter. The end of an operation is read by rdtscp, which waits
//! until all of the operation has been executed. Nothing overtakes the return from a system call, so after one rdtsc does:
//! getppid takes 390 cycles by either.

use crate::clock::{Clock, MonotonicClock};
use model::{Fact, Nanos, Tick};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A client's clock. It belongs to one thread.
pub struct ClientClock {
    kernel: MonotonicClock,
    calibration: Cell<Calibration>,
    /// The last reading of both clocks together.
    anchor: Cell<ClockSample>,
}

impl ClientClock {
    /// A clock that follows `kernel`.
    pub fn new(kernel: MonotonicClock) -> ClientClock {
        let counter = TimeStampCounter::get();
        // The process read both clocks long ago: far enough back for a first rate, so that a new client need not wait for one.
        let started = counter.started.filter(|_| counter.refused.is_none());
        let anchor = started.unwrap_or(ClockSample { count: 0, ns: 0, wide: 0 });
        ClientClock { kernel, calibration: Cell::new(Calibration::NONE), anchor: Cell::new(anchor) }
    }

    /// Looks at both clocks, and draws the next line if they agree.
    #[cold]
    fn recalibrate(&self) -> Tick {
        let (calibration, anchor) = (self.calibration.get(), self.anchor.get());
        let usable = anchor.ns > 0 && DISAGREED_NS.load(Relaxed) == 0;
        let Some(sample) = usable.then(ClockSample::take_narrow).flatten() else {
            return self.ask_kernel(&calibration);
        };
        match calibration.continue_at(&anchor, &sample) {
            Recalibration::TooSoon => return self.ask_kernel(&calibration),
            Recalibration::Disagrees(by) => {
                DISAGREED_NS.store(by.0.max(1), Relaxed);
                return self.ask_kernel(&calibration);
            }
            Recalibration::Done(calibration) => self.calibration.set(calibration),
        }
        self.anchor.set(sample);
        self.kernel.tick_of(self.calibration.get().at_ns)
    }

    /// The kernel's time, but nothing before the latest time of the line.
    fn ask_kernel(&self, calibration: &Calibration) -> Tick {
        self.kernel.now().max(self.kernel.tick_of(calibration.latest_ns()))
    }
}

impl Clock for ClientClock {
    #[inline]
    fn now(&self) -> Tick {
        match self.calibration.get().time_at(read_counter_ordered()) {
            Some(ns) => self.kernel.tick_of(ns),
            None => self.recalibrate(),
        }
    }

    #[inline]
    fn now_unordered(&self) -> Tick {
        match self.calibration.get().time_at(read_counter()) {
            Some(ns) => self.kernel.tick_of(ns),
            None => self.recalibrate(),
        }
    }

    fn wait_until(&self, at: Tick) {
        self.kernel.wait_until(at);
    }
}

/// Which clock the clients of this process read, and what a read of it costs.
pub fn clock_facts() -> [Fact; 2] {
    let clock = ClientClock::new(MonotonicClock::start());
    if clock_of_clients() == TSC {
        std::thread::sleep(std::time::Duration::from_nanos(RATE_NEEDS_NS)); // so that the first read draws a line
    }
    [Fact::new("clock.of_clients", clock_of_clients()), Fact::new("clock.read_ns", format!("{:.0}", read_ns(&clock)))]
}

/// The mean of the quickest of some runs of reads: others were interrupted.
fn read_ns(clock: &ClientClock) -> f64 {
    const READS: u64 = 1_000;
    (0..20).map(|_| time_reads(clock, READS)).min().unwrap_or(0) as f64 / READS as f64
}

/// How many nanoseconds so many reads take.
fn time_reads(clock: &ClientClock, reads: u64) -> u64 {
    let start = clock.now();
    for _ in 0..reads {
        std::hint::black_box(clock.now());
    }
    clock.now().since(start).0
}

const TSC: &str = "tsc";

fn clock_of_clients() -> &'static str {
    match (TimeStampCounter::get().refused, DISAGREED_NS.load(Relaxed)) {
        (None, 0) => TSC,
        (None, _) => "CLOCK_MONOTONIC (the tsc disagreed with it)",
        (Some(reason), _) => reason,
    }
}

/// By how much the counter and the kernel's clock disagreed, if they did since the last call. Clients ask the kernel from then on.
pub(crate) fn new_disagreement() -> Option<Nanos> {
    static REPORTED: AtomicU64 = AtomicU64::new(0);
    match DISAGREED_NS.load(Relaxed) {
        0 => None,
        by => (REPORTED.swap(by, Relaxed) == 0).then_some(Nanos(by)),
    }
}

/// Not 0 once the counter is no longer believed. It is one for all CPUs, so this is one for all clients.
static DISAGREED_NS: AtomicU64 = AtomicU64::new(0);

/// What is known of the counter of this machine.
struct TimeStampCounter {
    /// Both clocks when this was asked first: far enough back for the first line when clients begin.
    started: Option<ClockSample>,
    /// Why clients ask the kernel, if they do.
    refused: Option<&'static str>,
}

impl TimeStampCounter {
    fn get() -> &'static TimeStampCounter {
        static COUNTER: OnceLock<TimeStampCounter> = OnceLock::new();
        COUNTER.get_or_init(|| match why_refused() {
            Some(refused) => TimeStampCounter { started: None, refused: Some(refused) },
            None => TimeStampCounter { started: ClockSample::take_narrow(), refused: None },
        })
    }
}

/// Reads both clocks now, so that their rates are known later.
pub(crate) fn prepare_counter() {
    TimeStampCounter::get();
}

/// Both clocks, read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockSample {
    count: u64,
    ns: u64,
    /// Between the counts before and after the clock was read.
    wide: u64,
}

/// An interruption between the three reads makes a sample wide: so several are taken.
const SAMPLES: usize = 4;
/// A sample wider than this (in ns) is not used: a busy host interrupted each time.
const WIDE_MAX_NS: u64 = 400;

impl ClockSample {
    fn take_once() -> ClockSample {
        let before = read_counter_ordered();
        let ns = crate::clock::monotonic_ns();
        // The kernel read its clock somewhere between the two counts: half their distance is the error of this sample.
        let wide = read_counter_ordered().wrapping_sub(before);
        ClockSample { count: before.wrapping_add(wide / 2), ns, wide }
    }

    /// The narrowest of some samples; `None` if even that is too wide.
    fn take_narrow() -> Option<ClockSample> {
        let narrowest = (0..SAMPLES).map(|_| ClockSample::take_once()).min_by_key(|sample| sample.wide)?;
        (narrowest.wide < WIDE_MAX_NS * COUNTS_PER_NS_MAX).then_some(narrowest)
    }
}

/// No counter runs much faster: for a slower one the bound on the width is a longer time.
const COUNTS_PER_NS_MAX: u64 = 5;

/// The kernel's clock as a straight line over the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Calibration {
    /// Its beginning on the counter.
    from: u64,
    /// Its beginning on the clock.
    at_ns: u64,
    /// Nanoseconds per count, times 2^32.
    slope: u64,
    /// For how many counts it holds.
    holds: u64,
}

enum Recalibration {
    /// The rate of the counter is not known well enough yet.
    TooSoon,
    /// The clock differs from the counter by this much.
    Disagrees(Nanos),
    Done(Calibration),
}

const SLOPE_BITS: u32 = 32;
/// The longest that a line holds. At a rate known to 0.1 ppm (10 ns in 100 ms) it ends 25 ns off.
const HOLDS_NS: u64 = 250_000_000;
/// From this distance of two samples on the rate is known to about 2 ppm. A line holds for as long as the distance was, so each
/// ends about as exact as a sample is.
const RATE_NEEDS_NS: u64 = 10_000_000;
/// The clocks may differ by 10 us and by 0.1 % of the time since they were last seen together: adjustments of the kernel's clock
/// stay below that (500 ppm); a suspension or a move to another machine changes the counter by more.
const DISAGREE_NS: u64 = 10_000;
const DISAGREE_SHARE: u64 = 1_000;

impl Calibration {
    const NONE: Calibration = Calibration { from: 0, at_ns: 0, slope: 0, holds: 0 };

    /// The clock at `count`; `None` if the line does not hold. A count before its beginning wraps around and is far beyond its
    /// end. The product is below 2^61: `holds` counts are [`HOLDS_NS`] or less.
    #[inline]
    fn time_at(&self, count: u64) -> Option<u64> {
        let passed = count.wrapping_sub(self.from);
        (passed < self.holds).then(|| self.at_ns + ((passed * self.slope) >> SLOPE_BITS))
    }

    /// The latest time that it may have given.
    fn latest_ns(&self) -> u64 {
        self.at_ns + ((self.holds * self.slope) >> SLOPE_BITS)
    }

    /// The time that it would give at `count` if it held so long.
    fn extended_ns(&self, count: u64) -> u64 {
        let passed = u128::from(count.wrapping_sub(self.from));
        self.at_ns + ((passed * u128::from(self.slope)) >> SLOPE_BITS) as u64
    }

    /// The line that goes on from here at `sample`, with the rate since `anchor`. If the last line was ahead of the clock, this one
    /// begins at its end and is as much slower; if it was behind, this one begins at the clock.
    fn continue_at(&self, anchor: &ClockSample, sample: &ClockSample) -> Recalibration {
        let (real, counted) = (sample.ns.saturating_sub(anchor.ns), sample.count.wrapping_sub(anchor.count));
        if real < RATE_NEEDS_NS {
            return Recalibration::TooSoon;
        }
        // A counter that has not moved, or went back, was reset, as by a suspension or a migration.
        if counted == 0 || counted > u64::MAX / 2 {
            return Recalibration::Disagrees(Nanos(real));
        }
        let mut begin_ns = sample.ns;
        if self.holds > 0 {
            let extended = self.extended_ns(sample.count);
            let by = extended.abs_diff(sample.ns);
            if by > DISAGREE_NS + real / DISAGREE_SHARE {
                return Recalibration::Disagrees(Nanos(by));
            }
            begin_ns = sample.ns.max(extended.min(self.latest_ns()));
        }
        let holds_ns = real.min(HOLDS_NS);
        // In 128 bits, since nanoseconds of minutes shifted by 32 bits do not fit into 64.
        let rate = ((u128::from(real) << SLOPE_BITS) / u128::from(counted)) as u64;
        let slower = (u128::from(rate) * u128::from(begin_ns - sample.ns) / u128::from(holds_ns)) as u64;
        let holds = ((u128::from(holds_ns) << SLOPE_BITS) / u128::from(rate.max(1))) as u64;
        Recalibration::Done(Calibration {
            from: sample.count,
            at_ns: begin_ns,
            slope: rate.saturating_sub(slower),
            holds,
        })
    }
}

#[cfg(target_arch = "x86_64")]
mod cpu {
    use std::arch::x86_64::{__cpuid, __rdtscp, _rdtsc};

    /// The counter, perhaps before earlier instructions are done.
    #[inline]
    pub fn read_counter() -> u64 {
        // SAFETY: every x86-64 has the instruction, and `why_refused` saw that this process may use it.
        unsafe { _rdtsc() }
    }

    /// The counter when all earlier instructions are done.
    #[inline]
    pub fn read_counter_ordered() -> u64 {
        let mut cpu = 0;
        // SAFETY: `why_refused` saw that this CPU has the instruction and that this process may use it.
        unsafe { __rdtscp(&mut cpu) }
    }

    /// Why the counter is no clock here.
    pub fn why_refused() -> Option<&'static str> {
        let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        if !source.is_ok_and(|name| name.trim() == "tsc") {
            return Some("CLOCK_MONOTONIC (the kernel does not keep time by the tsc)");
        }
        if !is_invariant() {
            return Some("CLOCK_MONOTONIC (the tsc does not run evenly)");
        }
        if !is_allowed() {
            return Some("CLOCK_MONOTONIC (this process may not read the tsc)");
        }
        None
    }

    /// That it runs at one rate in all states of the CPU, and that it can be read in order.
    fn is_invariant() -> bool {
        const RDTSCP: u32 = 1 << 27;
        const INVARIANT: u32 = 1 << 8;
        has_feature(0x8000_0001, RDTSCP) && has_feature(0x8000_0007, INVARIANT)
    }

    /// Whether `bit` of EDX is set in that extended leaf of cpuid. A CPU that does not know the leaf has none of its features.
    fn has_feature(leaf: u32, bit: u32) -> bool {
        __cpuid(0x8000_0000).eax >= leaf && __cpuid(leaf).edx & bit != 0
    }

    /// A process may have asked that reading the counter kills it (prctl(2), PR_SET_TSC), and its children inherit that.
    fn is_allowed() -> bool {
        let mut mode: libc::c_int = 0;
        // SAFETY: the kernel writes one int to a place of ours.
        let asked = unsafe { libc::prctl(PR_GET_TSC, &raw mut mode) };
        asked == 0 && mode == PR_TSC_ENABLE
    }

    /// From the header linux/prctl.h.
    const PR_GET_TSC: libc::c_int = 25;
    const PR_TSC_ENABLE: libc::c_int = 1;
}

#[cfg(not(target_arch = "x86_64"))]
mod cpu {
    pub fn read_counter() -> u64 {
        0
    }

    pub fn read_counter_ordered() -> u64 {
        0
    }

    pub fn why_refused() -> Option<&'static str> {
        Some("CLOCK_MONOTONIC (there is no tsc on this architecture)")
    }
}

use cpu::{read_counter, read_counter_ordered, why_refused};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    /// The sight of a counter of `mhz` that was 0 when the clock was.
    fn sample(mhz: u64, ns: u64) -> ClockSample {
        ClockSample { count: (u128::from(ns) * u128::from(mhz) / 1_000) as u64, ns, wide: 0 }
    }

    fn calibration(continue_at: Recalibration) -> Calibration {
        match continue_at {
            Recalibration::Done(calibration) => calibration,
            Recalibration::TooSoon => panic!("too soon"),
            Recalibration::Disagrees(by) => panic!("off by {by}"),
        }
    }

    proptest! {
        #[test]
        fn a_line_tells_the_clock_to_the_nanosecond_for_as_long_as_it_holds(
            mhz in 10u64..10_000, from in SECOND..1_000_000 * SECOND, share in 0.0..1.0f64,
        ) {
            let (anchor, begin) = (sample(mhz, from - SECOND / 2), sample(mhz, from));
            let calibration = calibration(Calibration::NONE.continue_at(&anchor, &begin));
            let passed = (calibration.holds as f64 * share) as u64;
            let begin_ns = calibration.time_at(begin.count + passed).unwrap();
            let exact = from + (u128::from(passed) * 1_000 / u128::from(mhz)) as u64;
            // The rate is known to one count in half a second.
            prop_assert!(begin_ns.abs_diff(exact) <= 2 + 1_000 / mhz, "{begin_ns} instead of {exact}");
            prop_assert_eq!(calibration.time_at(begin.count + calibration.holds), None);
            prop_assert_eq!(calibration.time_at(begin.count.wrapping_sub(1)), None);
        }

        #[test]
        fn time_never_goes_back_from_one_line_to_the_next(
            mhz in 100u64..5_000, late_ns in 0u64..10 * SECOND, ppm in -400i64..400,
        ) {
            let begin = sample(mhz, SECOND);
            let first = calibration(Calibration::NONE.continue_at(&sample(mhz, SECOND / 2), &begin));
            // The kernel's clock is slewed from here on, and the next look comes late.
            let passed = HOLDS_NS + late_ns;
            let count = begin.count + first.holds + (u128::from(late_ns) * u128::from(mhz) / 1_000) as u64;
            let ns = (SECOND + passed).checked_add_signed(passed as i64 * ppm / 1_000_000).unwrap();
            let next = calibration(first.continue_at(&begin, &ClockSample { count, ns, wide: 0 }));
            let last_told = first.time_at(begin.count + first.holds - 1).unwrap();
            prop_assert!(next.time_at(count).unwrap() >= last_told);
            prop_assert!(next.slope > 0);
            // And by its end it has caught up with the clock, which goes on at its new rate.
            let end = ns + HOLDS_NS;
            prop_assert!(next.latest_ns().abs_diff(end) <= 2 + HOLDS_NS / 1_000_000, "{} at {end}", next.latest_ns());
        }
    }

    #[test]
    fn a_counter_that_stood_still_or_went_back_or_ran_away_is_not_believed() {
        let begin = sample(2_000, 10 * SECOND);
        let first = calibration(Calibration::NONE.continue_at(&sample(2_000, 9 * SECOND), &begin));
        let at =
            |counted: u64| ClockSample { count: begin.count.wrapping_add(counted), ns: begin.ns + SECOND, wide: 0 };
        let disagrees = |counted| matches!(first.continue_at(&begin, &at(counted)), Recalibration::Disagrees(_));
        assert!(!disagrees(2_000_000_000));
        assert!(!disagrees(2_001_000_000), "500 ppm");
        assert!(disagrees(2_010_000_000), "0.5 %");
        assert!(disagrees(0) && disagrees(u64::MAX) && disagrees(20_000_000_000));
    }

    #[test]
    fn a_client_tells_the_time_of_the_kernel() {
        // Across several lines, with the kernel's clock read before and after each read of the client's.
        let kernel = MonotonicClock::start();
        let client = ClientClock::new(kernel);
        let (mut last, mut lines) = (Tick(0), 0);
        // On a busy host it may have to be looked at for longer.
        let is_drawing = |lines| clock_of_clients() == TSC && lines < 3;
        while last < Tick(SECOND * 3 / 5) || is_drawing(lines) && last < Tick(SECOND * 60) {
            let from = client.calibration.get().from;
            let (before, now, after) = (kernel.now(), client.now(), kernel.now());
            assert!(now >= last, "{now:?} after {last:?}");
            // 2 us: a sight may be 0.4 us wide and the first lines are drawn from sights that are only 10 ms apart.
            assert!(now + Nanos(2_000) >= before && now <= after + Nanos(2_000), "{before:?} {now:?} {after:?}");
            lines += usize::from(client.calibration.get().from != from);
            last = now;
        }
        assert!(clock_of_clients() != TSC || lines >= 3, "{lines} lines were drawn");
    }

    #[test]
    fn a_clock_that_has_no_counter_asks_the_kernel() {
        let kernel = MonotonicClock::start();
        let unanchored = Cell::new(ClockSample { count: 0, ns: 0, wide: 0 });
        let client = ClientClock { kernel, calibration: Cell::new(Calibration::NONE), anchor: unanchored };
        let (before, now, after) = (kernel.now(), client.now(), kernel.now());
        assert!(before <= now && now <= after);
        assert_eq!(client.calibration.get(), Calibration::NONE);
    }
}
