//! The shape of the I/O that a point caused: what its device read and wrote, how large, how many at once, how often it was flushed.
//!
//! In: the counters of the device under the data, over the run phase. Out: an [`IoShape`]. Limits: what other programs did on the device
//! is in it, unless the data has a volume of its own (`fs`); if most of it was theirs, there is no shape. The kernel merges neighbouring I/Os before it counts them. A device without a
//! volatile cache is never flushed, so syncs cannot be seen there; whether I/Os follow one another cannot be seen either.

use crate::recorded::counters::growth_of_first;
use model::{CounterRole, Phase, PhaseData, PointData};
use serde::Serialize;

/// With fewer I/Os in the run phase there is no shape.
const IOS_MIN: f64 = 100.0;
/// If the engine's processes caused less than this share of the device's bytes, the I/O was that of others.
const OWN_SHARE_MIN: f64 = 0.1;
/// Blocks of a file system.
const BLOCK: f64 = 4096.0;
/// The largest I/O that a replay makes: larger ones are split by most devices.
const BLOCK_MAX: f64 = 1_048_576.0;
/// A smaller share than this is no part of the mix.
const SHARE_MIN: f64 = 0.005;
/// With fewer flushes per write than this they are the file system's own.
const FLUSH_SHARE_MIN: f64 = 0.001;

/// What the device did per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IoShape {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    /// Flushes of its cache; `None` if the kernel does not count them.
    pub flushes_per_s: Option<f64>,
    /// I/Os in flight on average while there was one; `None` if it was not busy.
    pub in_flight: Option<f64>,
}

impl IoShape {
    /// What the device under `point` did; `None` if it did hardly anything, or was not observed.
    pub fn from_point(point: &PointData) -> Option<IoShape> {
        let phase = point.phase(Phase::Run)?;
        let grown = |role| growth_of_first(point, role, phase.start, phase.end);
        let per_s = |role| grown(role).map(|growth| growth.per_second());
        let (busy, queue) = (grown(CounterRole::DeviceBusy), grown(CounterRole::DeviceQueue));
        let in_flight = busy.zip(queue).filter(|(busy, _)| busy.amount > 0.0);
        let ios = grown(CounterRole::DeviceReadOps)?.amount + grown(CounterRole::DeviceWriteOps)?.amount;
        let shape = IoShape {
            reads_per_s: per_s(CounterRole::DeviceReadOps)?,
            writes_per_s: per_s(CounterRole::DeviceWriteOps)?,
            read_bytes_per_s: per_s(CounterRole::DeviceReadBytes)?,
            write_bytes_per_s: per_s(CounterRole::DeviceWriteBytes)?,
            flushes_per_s: per_s(CounterRole::DeviceFlushOps),
            in_flight: in_flight.map(|(busy, queue)| queue.amount / busy.amount),
        };
        (ios >= IOS_MIN && is_of_engine(point, phase, &shape)).then_some(shape)
    }

    /// Reads and writes per second.
    pub fn ios_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }

    /// The share of reads among reads and writes: 0 or 1 if the others are too few to matter.
    pub fn read_share(&self) -> f64 {
        match self.reads_per_s / self.ios_per_s() {
            share if share < SHARE_MIN => 0.0,
            share if share > 1.0 - SHARE_MIN => 1.0,
            share => share,
        }
    }

    /// The mean size of an I/O in bytes, in whole blocks of 4 KiB.
    pub fn block_bytes(&self) -> u64 {
        let mean = (self.read_bytes_per_s + self.write_bytes_per_s) / self.ios_per_s();
        ((mean / BLOCK).round() * BLOCK).clamp(BLOCK, BLOCK_MAX) as u64
    }

    /// How many I/Os were in flight, at least 1.
    pub fn whole_in_flight(&self) -> u32 {
        self.in_flight.map_or(1, |mean| (mean.round() as u32).max(1))
    }

    /// Writes between two flushes, at least 1; `None` if there were hardly any flushes.
    pub fn writes_per_flush(&self) -> Option<u64> {
        let flushes = self.flushes_per_s.filter(|flushes| *flushes > FLUSH_SHARE_MIN * self.writes_per_s)?;
        let has_writes = self.read_share() < 1.0;
        has_writes.then(|| ((self.writes_per_s / flushes).round() as u64).max(1))
    }
}

/// Whether the engine's processes caused the I/O, as far as that is known. What they are charged is too much rather than too little.
fn is_of_engine(point: &PointData, phase: &PhaseData, shape: &IoShape) -> bool {
    let per_s = |role| growth_of_first(point, role, phase.start, phase.end).map(|growth| growth.per_second());
    let own = per_s(CounterRole::ProcessReadBytes).zip(per_s(CounterRole::ProcessWriteBytes));
    let device_bytes = shape.read_bytes_per_s + shape.write_bytes_per_s;
    own.is_none_or(|(read, written)| read + written >= OWN_SHARE_MIN * device_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, declared};

    fn point(reads: f64, writes: f64, bytes_each: f64, flushes: f64) -> PointData {
        let names = ["read_ops", "read_bytes", "write_ops", "write_bytes", "flush_ops", "busy_ns", "queue_ns"];
        let values = move |s: f64| {
            let (read, written) = (reads * bytes_each * s, writes * bytes_each * s);
            vec![reads * s, read, writes * s, written, flushes * s, 5e8 * s, 2e9 * s]
        };
        declared(Simulation::counts(&[100; 10]).source("disk", &names, values).point())
    }

    #[test]
    fn the_mix_its_size_and_its_concurrency_are_those_of_the_device() {
        let shape = IoShape::from_point(&point(300.0, 100.0, 16_000.0, 25.0)).expect("there was I/O");
        assert!((shape.ios_per_s() - 400.0).abs() < 1.0 && (shape.read_share() - 0.75).abs() < 1e-9, "{shape:?}");
        assert_eq!((shape.block_bytes(), shape.whole_in_flight(), shape.writes_per_flush()), (16_384, 4, Some(4)));
    }

    #[test]
    fn a_point_that_did_hardly_any_io_has_no_shape() {
        assert_eq!(IoShape::from_point(&point(4.0, 0.0, 4096.0, 0.0)), None);
        assert_eq!(IoShape::from_point(&Simulation::counts(&[100; 10]).point()), None);
    }

    #[test]
    fn io_that_others_caused_is_no_shape_of_the_point() {
        let shape_with = |own_bytes_per_s: f64| {
            let names = ["read_ops", "read_bytes", "write_ops", "write_bytes", "flush_ops", "busy_ns", "queue_ns"];
            let device = |s: f64| vec![1000.0 * s, 4e6 * s, 0.0, 0.0, 0.0, 5e8 * s, 2e9 * s];
            let own = move |s: f64| vec![own_bytes_per_s * s, 0.0];
            let made = Simulation::counts(&[100; 10]).source("disk", &names, device);
            let made = made.source("process", &["read_bytes", "write_bytes"], own);
            IoShape::from_point(&declared(made.point()))
        };
        assert_eq!((shape_with(3e5).is_some(), shape_with(4e6).is_some()), (false, true));
    }

    #[test]
    fn a_few_writes_of_others_do_not_make_a_mix_and_reads_have_no_flushes() {
        let shape = IoShape::from_point(&point(1000.0, 1.0, 4096.0, 1.0)).expect("there was I/O");
        assert_eq!((shape.read_share(), shape.writes_per_flush()), (1.0, None));
        let writes = IoShape::from_point(&point(0.0, 1000.0, 3_000_000.0, 0.0)).expect("there was I/O");
        assert_eq!((writes.read_share(), writes.block_bytes(), writes.writes_per_flush()), (0.0, 1 << 20, None));
    }
}
