//! The clock of a host and that of the run: how far they are apart, measured again and again.
//!
//! In: the clock of this process, that of the bus. Out: moments of this process as moments of the run, and back. Limits: a moment is off by the
//! bound of the last measurement, and by the drift since then: clocks that are disciplined by NTP drift by less than 1 us in 10 s.

use bus::{BusConnection, BusError, ClockOffset};
use load::{Clock, MonotonicClock};
use model::{CounterSample, EndpointInterval, Event, HostClock, HostRows, IntervalRow, Nanos, Tick};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the clock is compared with that of the bus.
const COMPARED_EACH: Duration = Duration::from_secs(10);
/// How much two clocks may drift apart: more is a jump. Kernels slew by 500 ppm at most, oscillators are off by 100.
const DRIFT_PPM: u64 = 600;

/// The clock of this process and that of the run.
pub(super) struct RunClock {
    clock: MonotonicClock,
    /// The time of the bus at Tick 0 of the run.
    origin_ns: u64,
    state: Mutex<ClockState>,
}

struct ClockState {
    offset: ClockOffset,
    compared: Instant,
    /// The best bound of all.
    best_ns: u64,
    /// The worst bound since the last point began.
    worst_ns: u64,
    /// A jump that is not recorded yet, in nanoseconds.
    jumped_ns: Option<i128>,
}

impl RunClock {
    /// A clock of this process, and how far it is from that of the run. It is about equal to it, or `ahead` by so much.
    pub fn follow(bus: &mut BusConnection, origin_ns: u64, ahead: Nanos) -> Result<RunClock, BusError> {
        let rough = bus.time_ns()?.saturating_sub(origin_ns);
        RunClock::new(bus, MonotonicClock::start_at(Tick(rough) + ahead), Some(origin_ns))
    }

    /// The clock of the run itself: that of the process which conducts it.
    pub fn lead(bus: &mut BusConnection, clock: MonotonicClock) -> Result<RunClock, BusError> {
        RunClock::new(bus, clock, None)
    }

    fn new(bus: &mut BusConnection, clock: MonotonicClock, origin_ns: Option<u64>) -> Result<RunClock, BusError> {
        let offset = ClockOffset::measure(bus, || clock.now().0)?;
        let own_origin = u64::try_from(offset.offset_ns).unwrap_or(0);
        let bound_ns = offset.bound_ns;
        let state =
            ClockState { offset, compared: Instant::now(), best_ns: bound_ns, worst_ns: bound_ns, jumped_ns: None };
        Ok(RunClock { clock, origin_ns: origin_ns.unwrap_or(own_origin), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock of this process.
    pub fn clock(&self) -> MonotonicClock {
        self.clock
    }

    /// The time of the bus at Tick 0 of the run.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Compares the clock with that of the bus again if the last comparison is old.
    pub fn compare(&self, bus: &mut BusConnection) -> Result<(), BusError> {
        if self.state().compared.elapsed() < COMPARED_EACH {
            return Ok(());
        }
        let best_ns = self.state().best_ns;
        let offset = ClockOffset::measure_again(bus, || self.clock.now().0, best_ns)?;
        let mut state = self.state();
        state.best_ns = best_ns.min(offset.bound_ns);
        let passed = state.compared.elapsed().as_nanos() as u64;
        let allowed = offset.bound_ns + state.offset.bound_ns + passed / 1_000_000 * DRIFT_PPM;
        let moved = offset.offset_ns - state.offset.offset_ns;
        if moved.unsigned_abs() > u128::from(allowed) {
            state.jumped_ns = Some(moved);
        }
        state.worst_ns = state.worst_ns.max(offset.bound_ns);
        (state.offset, state.compared) = (offset, Instant::now());
        Ok(())
    }

    /// A point begins: its bound is the worst from here on.
    pub fn begin_point(&self) {
        let mut state = self.state();
        state.worst_ns = state.offset.bound_ns;
    }

    /// The longest round trip to the bus that the last comparison has seen.
    pub fn slowest(&self) -> Nanos {
        Nanos(self.state().offset.slowest_ns)
    }

    /// How far the clock of the bus is ahead of a clock of this host that began with the run.
    pub fn host_clock(&self) -> HostClock {
        let state = self.state();
        HostClock { offset_ns: self.ahead_ns(&state.offset), bound_ns: state.worst_ns }
    }

    /// How far the clock of the run is ahead of that of this process.
    fn ahead_ns(&self, offset: &ClockOffset) -> i64 {
        i64::try_from(offset.offset_ns - i128::from(self.origin_ns)).unwrap_or(0)
    }

    /// The event of a jump of the clock since the last call.
    pub fn take_jump(&self) -> Option<Event> {
        let moved_ns = self.state().jumped_ns.take()?;
        let millis = moved_ns as f64 / 1e6;
        let text = format!("the clock of this host and that of the bus moved apart by {millis:.3} ms at once");
        Some(Event::new(self.clock.now(), model::EventKind::ClockStep, text))
    }

    /// Now, in the time of the run.
    pub fn run_now(&self) -> Tick {
        self.run_time(self.clock.now())
    }

    /// A moment of this process as one of the run.
    pub fn run_time(&self, own: Tick) -> Tick {
        let ahead = self.ahead_ns(&self.state().offset);
        Tick(own.0.saturating_add_signed(ahead))
    }

    /// A moment of the run as one of this process.
    pub fn own_time(&self, of_run: Tick) -> Tick {
        let ahead = self.ahead_ns(&self.state().offset);
        Tick(of_run.0.saturating_add_signed(-ahead))
    }

    /// `rows` with the moments of the run.
    pub fn in_run_time(&self, rows: HostRows) -> HostRows {
        let HostRows { sources, intervals, counters, events, mut stacks, endpoints } = rows;
        stacks.iter_mut().for_each(|snapshot| snapshot.at = self.run_time(snapshot.at));
        let endpoints: Vec<EndpointInterval> = endpoints;
        HostRows {
            sources,
            intervals: self.intervals_in_run_time(intervals),
            counters: counters.into_iter().map(|one| CounterSample { at: self.run_time(one.at), ..one }).collect(),
            events: events.into_iter().map(|one| Event { at: self.run_time(one.at), ..one }).collect(),
            stacks,
            endpoints,
        }
    }

    /// `rows` with the moments of the run.
    pub fn intervals_in_run_time(&self, rows: Vec<IntervalRow>) -> Vec<IntervalRow> {
        rows.into_iter().map(|row| IntervalRow { start: self.run_time(row.start), ..row }).collect()
    }
}

#[cfg(test)]
mod tests {
    //! On a real bus; without `redis-server` the test ends at once.

    use super::*;
    use bus::{BusAddress, BusConnector, RunSecret};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    /// A bus that ends with the test.
    struct TestBus(Child);

    impl Drop for TestBus {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn start_bus(socket: &Path) -> Option<TestBus> {
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(socket);
        let bus = TestBus(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?);
        let until = Instant::now() + Duration::from_secs(60);
        while std::os::unix::net::UnixStream::connect(socket).is_err() {
            assert!(Instant::now() < until, "the bus does not answer");
            std::thread::sleep(Duration::from_millis(5)); // the real time of another process
        }
        Some(bus)
    }

    #[test]
    fn clocks_that_differ_by_hours_agree_on_the_time_of_the_run_within_their_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let Some(_bus) = start_bus(&socket) else { return };
        let address = BusAddress::parse(&format!("redis+unix://{}", socket.display()), None).unwrap();
        let connector = BusConnector::new(address, RunSecret::new(b"0123456789abcdef"));
        let mut bus = connector.connect().unwrap();
        let lead = RunClock::lead(&mut bus, MonotonicClock::start_at(Tick(0))).unwrap();
        for hours in [0, 3, 7] {
            let ahead = Nanos::from_secs(hours * 3600);
            let own = RunClock::follow(&mut bus, lead.origin_ns(), ahead).unwrap();
            // All three are read on one machine: the time between the first and the last reading is known.
            let (before, seen, after) = (lead.run_now(), own.run_now(), lead.run_now());
            let bound = lead.host_clock().bound_ns + own.host_clock().bound_ns;
            assert!(
                seen.0 + bound >= before.0 && seen.0 <= after.0 + bound,
                "{hours} h: {before:?} {seen:?} {after:?} {bound}"
            );
            let offset_ns = own.host_clock().offset_ns + ahead.0 as i64;
            assert!(offset_ns.unsigned_abs() < 1_000_000_000, "{hours} h: {offset_ns}");
            let moment = Tick(90_000_000_000);
            assert_eq!(own.run_time(own.own_time(moment)), moment);
        }
    }
}
