//! What an hour costs on disk: documentation that runs.

use crate::sample::*;
use model::*;
use store::{Batch, RunWriter, read_meta};

const SECONDS: u32 = 3_600;
const SOURCES: u16 = 6;
const COUNTERS: u64 = 10;

#[test]
fn an_hour_of_seconds_with_sixty_counters_is_below_12_mb() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hour.plimsoll");
    let mut run = RunWriter::create(&path, &meta()).unwrap();
    let point = run.begin_point(&trial(), &[], &kinds(), &sources()).unwrap();
    run.begin_phase(point, Phase::Run, Tick(0)).unwrap();
    for second in 0..SECONDS {
        let (intervals, counters) = ([busy_second(second)], readings(second));
        run.record(point, &Batch { intervals: &intervals, counters: &counters, events: &[] }).unwrap();
    }
    run.finish().unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    println!("an hour of seconds: {:.1} MB", bytes as f64 / 1e6);
    assert!(bytes < 12_000_000, "an hour is {bytes} bytes");
    assert_eq!(read_meta(&path).unwrap().points.len(), 1);
}

/// Two thousand transactions around 0.8 ms with a tail to 100 ms, as a closed loop on a small disk gives.
fn busy_second(second: u32) -> IntervalRow {
    let times = (0..2_000u64).map(|n| {
        let scattered = (n + u64::from(second) * 2_000).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        let uniform = (scattered as f64 + 0.5) / (1u64 << 53) as f64;
        (600_000.0 * (-uniform.ln()).powf(1.2)) as u64 + 150_000
    });
    let kind =
        KindRow { ok: 2_000, service: counts(times), response: None, ..row(Phase::Run, 0, 0, 1).kinds.remove(0) };
    IntervalRow { index: second, kinds: vec![kind], ..row(Phase::Run, second, 0, 1) }
}

/// Counters that grow by unlike steps, as in /proc.
fn readings(second: u32) -> Vec<CounterSample> {
    let value = |counter: u64| 7_000_000 * (counter + 1) + u64::from(second) * (counter * 1_237_001 + 17);
    let values = |source: u16| (0..COUNTERS).map(move |n| Some(value(u64::from(source) * COUNTERS + n) as f64));
    (0..SOURCES).map(|source| reading(second.into(), source, &values(source).collect::<Vec<_>>())).collect()
}
