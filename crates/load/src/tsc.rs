//! The CPU's time stamp counter as the clock of a client: a third of what a call of the kernel's clock costs.
//!
//! In: the kernel's clock, which it follows. Out: the same [`Tick`]s, from a counter that one instruction reads.
//! Limits: x86-64 with a counter that the kernel itself keeps time by; elsewhere, and from the moment at which the two disagree,
//! every read asks the kernel. Within a client it never goes back; beside the kernel's clock it is off by what one reading of both
//! is uncertain by (20 ns here).
//!
//! A [`Calibration`] is a straight line from counts to time. It holds for 250 ms at most; the read after that takes a
//! [`ClockSample`] of both clocks, which costs about 0.3 us, and makes the next calibration. So the clock follows the kernel's when
//! that is slewed, and drift does not add up over hours. After a suspension or a migration to another machine no time comes from
//! an older calibration, unless the interruption was shorter than the calibration holds.
//!
//! Measured on an AMD EPYC: rdtsc 9.5 ns, rdtscp 18.1, lfence and rdtsc 18.4, clock_gettime 25.2. rdtsc may be read before earlier
//! instructions are done. For the start of an operation that is harmless: what it overtakes is the client's own bookkeeping, and
//! a start that is told too early makes a time longer and not shorter. The end of an operation is read by rdtscp, which waits
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
    /// Where both clocks were last read together.
    anchor: Cell<ClockSample>,
}

impl ClientClock {
    /// A clock that tells what `kernel` does.
    pub fn new(kernel: MonotonicClock) -> ClientClock {
        let counter = TimeStampCounter::get();
        let started = counter.started.filter(|_| counter.refused.is_none());
        let anchor = started.unwrap_or(ClockSample { count: 0, ns: 0, wide: 0 });
        ClientClock { kernel, calibration: Cell::new(Calibration::NONE), anchor: Cell::new(anchor) }
    }

    /// Looks at both clocks, and draws the next line where they agree.
    #[cold]
    fn recalibrate(&self) -> Tick {
        let (calibration, anchor) = (self.calibration.get(), self.anchor.get());
        let usable = anchor.ns > 0 && DISAGREED_NS.load(Relaxed) == 0;
        let Some(sample) = usable.then(ClockSample::narrow).flatten() else { return self.ask_kernel(&calibration) };
        match calibration.renewed(&anchor, &sample) {
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

    /// The kernel's time, but nothing before what the line has told.
    fn ask_kernel(&self, calibration: &Calibration) -> Tick {
        self.kernel.now().max(self.kernel.tick_of(calibration.told_ns()))
    }
}

impl Clock for ClientClock {
    #[inline]
    fn now(&self) -> Tick {
        match self.calibration.get().at(ordered_count()) {
            Some(ns) => self.kernel.tick_of(ns),
            None => self.recalibrate(),
        }
    }

    #[inline]
    fn now_unordered(&self) -> Tick {
        match self.calibration.get().at(count()) {
            Some(ns) => self.kernel.tick_of(ns),
            None => self.recalibrate(),
        }
    }

    fn wait_until(&self, at: Tick) {
        self.kernel.wait_until(at);
    }
}

/// Where the time of clients comes from in this process, and what a read of it costs.
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
    let run = || {
        let start = clock.now();
        for _ in 0..READS {
            std::hint::black_box(clock.now());
        }
        clock.now().since(start).0
    };
    (0..20).map(|_| run()).min().unwrap_or(0) as f64 / READS as f64
}

const TSC: &str = "tsc";

fn clock_of_clients() -> &'static str {
    match (TimeStampCounter::get().refused, DISAGREED_NS.load(Relaxed)) {
        (None, 0) => TSC,
        (None, _) => "CLOCK_MONOTONIC (the tsc disagreed with it)",
        (Some(reason), _) => reason,
    }
}

/// By how much the counter and the kernel's clock disagreed, where they did since this was last asked. Clients ask the kernel from
/// then on.
pub(crate) fn new_disagreement() -> Option<Nanos> {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    match DISAGREED_NS.load(Relaxed) {
        0 => None,
        by => (TOLD.swap(by, Relaxed) == 0).then_some(Nanos(by)),
    }
}

/// Not 0 once the counter is no longer believed. It is one for all CPUs, so this is one for all clients.
static DISAGREED_NS: AtomicU64 = AtomicU64::new(0);

/// What is known of the counter of this machine.
struct TimeStampCounter {
    /// Both clocks when this was asked first: far enough back for the first line when clients begin.
    started: Option<ClockSample>,
    /// Why clients ask the kernel, where they do.
    refused: Option<&'static str>,
}

impl TimeStampCounter {
    fn get() -> &'static TimeStampCounter {
        static COUNTER: OnceLock<TimeStampCounter> = OnceLock::new();
        COUNTER.get_or_init(|| match refusal() {
            Some(refused) => TimeStampCounter { started: None, refused: Some(refused) },
            None => TimeStampCounter { started: ClockSample::narrow(), refused: None },
        })
    }
}

/// Has both clocks read now, so that their rates are known later.
pub(crate) fn prepare() {
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

/// An interruption between the three reads makes a sight wide: so several are taken.
const SAMPLES: usize = 4;
/// A sight wider than this (in ns) is no sight: a busy host was in between each time.
const WIDE_MAX_NS: u64 = 400;

impl ClockSample {
    fn take() -> ClockSample {
        let before = ordered_count();
        let ns = crate::clock::monotonic_ns();
        let wide = ordered_count().wrapping_sub(before);
        ClockSample { count: before.wrapping_add(wide / 2), ns, wide }
    }

    /// The narrowest of some; `None` where even that is too wide. No counter runs above 10 GHz or so: where it is slower the bound
    /// is the stricter.
    fn narrow() -> Option<ClockSample> {
        let narrowest = (0..SAMPLES).map(|_| ClockSample::take()).min_by_key(|sample| sample.wide)?;
        (narrowest.wide < WIDE_MAX_NS * COUNTS_PER_NS_MAX).then_some(narrowest)
    }
}

const COUNTS_PER_NS_MAX: u64 = 5;

/// The kernel's clock as a straight line over the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Calibration {
    /// Where it begins on the counter,
    from: u64,
    /// and on the clock.
    at_ns: u64,
    /// Nanoseconds per count, times 2^32.
    slope: u64,
    /// For how many counts it holds.
    holds: u64,
}

enum Recalibration {
    /// The rate of the counter is not known well enough yet.
    TooSoon,
    /// The clock is elsewhere than the counter says, by this much.
    Disagrees(Nanos),
    Done(Calibration),
}

const SLOPE_BITS: u32 = 32;
/// The longest that a line holds. At a rate known to 0.1 ppm (10 ns in 100 ms) it ends 25 ns off.
const HOLDS_NS: u64 = 250_000_000;
/// From this distance of two sights on the rate is known to about 2 ppm. A line holds for as long as the distance was, so each ends
/// about as exact as a sight is.
const RATE_NEEDS_NS: u64 = 10_000_000;
/// The clocks may differ by 10 us and by 0.1 % of the time since they were last seen together: adjustments of the kernel's clock
/// stay below (500 ppm), what a suspension or another machine makes of the counter does not.
const DISAGREE_NS: u64 = 10_000;
const DISAGREE_SHARE: u64 = 1_000;

impl Calibration {
    /// Tells no time.
    const NONE: Calibration = Calibration { from: 0, at_ns: 0, slope: 0, holds: 0 };

    /// The clock at `count`; `None` where the line does not hold. A count before its beginning wraps around and is far beyond its
    /// end. The product is below 2^61: `holds` counts are [`HOLDS_NS`] or less.
    #[inline]
    fn at(&self, count: u64) -> Option<u64> {
        let passed = count.wrapping_sub(self.from);
        (passed < self.holds).then(|| self.at_ns + ((passed * self.slope) >> SLOPE_BITS))
    }

    /// The latest time that it may have told.
    fn told_ns(&self) -> u64 {
        self.at_ns + ((self.holds * self.slope) >> SLOPE_BITS)
    }

    /// The time that it would tell at `count`, were it to hold so long.
    fn extended_ns(&self, count: u64) -> u64 {
        let passed = u128::from(count.wrapping_sub(self.from));
        self.at_ns + ((passed * u128::from(self.slope)) >> SLOPE_BITS) as u64
    }

    /// The line that goes on from here at `sample`, with the rate since `anchor`. Where the last line was ahead of the clock, this
    /// one begins where that one ended and is as much slower; where it was behind, it begins at the clock.
    fn renewed(&self, anchor: &ClockSample, sample: &ClockSample) -> Recalibration {
        let (real, counted) = (sample.ns.saturating_sub(anchor.ns), sample.count.wrapping_sub(anchor.count));
        if real < RATE_NEEDS_NS {
            return Recalibration::TooSoon;
        }
        if counted == 0 || counted > u64::MAX / 2 {
            return Recalibration::Disagrees(Nanos(real));
        }
        let mut told = sample.ns;
        if self.holds > 0 {
            let extended = self.extended_ns(sample.count);
            let by = extended.abs_diff(sample.ns);
            if by > DISAGREE_NS + real / DISAGREE_SHARE {
                return Recalibration::Disagrees(Nanos(by));
            }
            told = sample.ns.max(extended.min(self.told_ns()));
        }
        let holds_ns = real.min(HOLDS_NS);
        let rate = ((u128::from(real) << SLOPE_BITS) / u128::from(counted)) as u64;
        let slower = (u128::from(rate) * u128::from(told - sample.ns) / u128::from(holds_ns)) as u64;
        let holds = ((u128::from(holds_ns) << SLOPE_BITS) / u128::from(rate.max(1))) as u64;
        Recalibration::Done(Calibration { from: sample.count, at_ns: told, slope: rate.saturating_sub(slower), holds })
    }
}

#[cfg(target_arch = "x86_64")]
mod cpu {
    use std::arch::x86_64::{__cpuid, __rdtscp, _rdtsc};

    /// The counter, perhaps before earlier instructions are done.
    #[inline]
    pub fn count() -> u64 {
        // SAFETY: every x86-64 has the instruction, and `refusal` saw that this process may use it.
        unsafe { _rdtsc() }
    }

    /// The counter when all earlier instructions are done.
    #[inline]
    pub fn ordered_count() -> u64 {
        let mut cpu = 0;
        // SAFETY: `refusal` saw that this CPU has the instruction and that this process may use it.
        unsafe { __rdtscp(&mut cpu) }
    }

    /// Why the counter is no clock here.
    pub fn refusal() -> Option<&'static str> {
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
        let has = |leaf, bit| __cpuid(0x8000_0000).eax >= leaf && __cpuid(leaf).edx & bit != 0;
        has(0x8000_0001, RDTSCP) && has(0x8000_0007, INVARIANT)
    }

    /// A process may have asked that reading the counter kills it (prctl(2), PR_SET_TSC), and its children inherit that.
    fn is_allowed() -> bool {
        let mut mode: libc::c_int = 0;
        // SAFETY: the kernel writes one int to a place of ours.
        let asked = unsafe { libc::prctl(PR_GET_TSC, &raw mut mode) };
        asked == 0 && mode == PR_TSC_ENABLE
    }

    /// Of linux/prctl.h.
    const PR_GET_TSC: libc::c_int = 25;
    const PR_TSC_ENABLE: libc::c_int = 1;
}

#[cfg(not(target_arch = "x86_64"))]
mod cpu {
    pub fn count() -> u64 {
        0
    }

    pub fn ordered_count() -> u64 {
        0
    }

    pub fn refusal() -> Option<&'static str> {
        Some("CLOCK_MONOTONIC (there is no tsc on this architecture)")
    }
}

use cpu::{count, ordered_count, refusal};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    /// The sight of a counter of `mhz` that was 0 when the clock was.
    fn sample(mhz: u64, ns: u64) -> ClockSample {
        ClockSample { count: (u128::from(ns) * u128::from(mhz) / 1_000) as u64, ns, wide: 0 }
    }

    fn calibration(renewed: Recalibration) -> Calibration {
        match renewed {
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
            let calibration = calibration(Calibration::NONE.renewed(&anchor, &begin));
            let passed = (calibration.holds as f64 * share) as u64;
            let told = calibration.at(begin.count + passed).unwrap();
            let exact = from + (u128::from(passed) * 1_000 / u128::from(mhz)) as u64;
            // The rate is known to one count in half a second.
            prop_assert!(told.abs_diff(exact) <= 2 + 1_000 / mhz, "{told} instead of {exact}");
            prop_assert_eq!(calibration.at(begin.count + calibration.holds), None);
            prop_assert_eq!(calibration.at(begin.count.wrapping_sub(1)), None);
        }

        #[test]
        fn time_never_goes_back_from_one_line_to_the_next(
            mhz in 100u64..5_000, late_ns in 0u64..10 * SECOND, ppm in -400i64..400,
        ) {
            let begin = sample(mhz, SECOND);
            let first = calibration(Calibration::NONE.renewed(&sample(mhz, SECOND / 2), &begin));
            // The kernel's clock is slewed from here on, and the next look comes late.
            let passed = HOLDS_NS + late_ns;
            let count = begin.count + first.holds + (u128::from(late_ns) * u128::from(mhz) / 1_000) as u64;
            let ns = (SECOND + passed).checked_add_signed(passed as i64 * ppm / 1_000_000).unwrap();
            let next = calibration(first.renewed(&begin, &ClockSample { count, ns, wide: 0 }));
            let last_told = first.at(begin.count + first.holds - 1).unwrap();
            prop_assert!(next.at(count).unwrap() >= last_told);
            prop_assert!(next.slope > 0);
            // And by its end it has caught up with the clock, which goes on at its new rate.
            let end = ns + HOLDS_NS;
            prop_assert!(next.told_ns().abs_diff(end) <= 2 + HOLDS_NS / 1_000_000, "{} at {end}", next.told_ns());
        }
    }

    #[test]
    fn a_counter_that_stood_still_or_went_back_or_ran_away_is_not_believed() {
        let begin = sample(2_000, 10 * SECOND);
        let first = calibration(Calibration::NONE.renewed(&sample(2_000, 9 * SECOND), &begin));
        let at =
            |counted: u64| ClockSample { count: begin.count.wrapping_add(counted), ns: begin.ns + SECOND, wide: 0 };
        let disagrees = |counted| matches!(first.renewed(&begin, &at(counted)), Recalibration::Disagrees(_));
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
