//! What an hour costs on disk and in memory: documentation that runs.

use crate::sample::*;
use model::*;
use std::path::Path;
use store::{Batch, NewPoint, RunWriter, read};

const SECONDS: u32 = 3_600;
const SOURCES: u16 = 6;
const COUNTERS: u64 = 10;

#[test]
fn an_hour_of_seconds_with_sixty_counters_is_below_12_mb_on_disk_and_its_times_below_40_mb_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hour.plimsoll");
    write_hour(&path);
    let on_disk = std::fs::metadata(&path).unwrap().len();
    let data = read(&path).unwrap();
    let kinds = data.points[0].phases[0].intervals.iter().flat_map(|interval| &interval.kinds);
    // In a closed loop the response times are the service times, also in memory.
    let in_memory: u64 = kinds.map(|kind| kind.service.memory().0).sum();
    println!("an hour of seconds: {:.1} MB on disk, times {:.1} MB", on_disk as f64 / 1e6, in_memory as f64 / 1e6);
    assert!(on_disk < 12_000_000, "an hour is {on_disk} bytes");
    assert!(in_memory < 40_000_000, "the times of an hour are {in_memory} bytes");
}

fn write_hour(path: &Path) {
    let mut run = RunWriter::create(path, &meta()).unwrap();
    let point = run
        .begin_point(&NewPoint { sources: &six_of_ten(), kinds: &kinds(), ..bare(&trial(), &PointTraits::default()) })
        .unwrap();
    run.begin_phase(point, Phase::Run, Tick(0)).unwrap();
    for second in 0..SECONDS {
        let (intervals, counters) = ([busy_second(second)], readings(second));
        run.record(point, &Batch { intervals: &intervals, counters: &counters, ..Batch::default() }).unwrap();
    }
    run.finish().unwrap();
}

/// Two thousand transactions around 0.8 ms with a tail to 100 ms, as a closed loop on a small disk gives.
fn busy_second(second: u32) -> IntervalRow {
    let times = (0..2_000u64).map(|n| {
        let scattered = (n + u64::from(second) * 2_000).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        let uniform = (scattered as f64 + 0.5) / (1u64 << 53) as f64;
        (600_000.0 * (-uniform.ln()).powf(1.2)) as u64 + 150_000
    });
    let service = times_of(times);
    let kind = KindRow { ok: 2_000, response: service.clone(), service, ..row(Phase::Run, 0, 0, 1).kinds.remove(0) };
    IntervalRow { index: second, kinds: vec![kind], ..row(Phase::Run, second, 0, 1) }
}

/// Six sources of ten counters.
fn six_of_ten() -> Vec<SourceDef> {
    let counter = sources().remove(0).counters.remove(0);
    let named = |n: u64| CounterDef { name: format!("counter_{n}"), ..counter.clone() };
    let source = |n: u16| SourceDef {
        name: format!("source_{n}"),
        subject: String::new(),
        counters: (0..COUNTERS).map(named).collect(),
    };
    (0..SOURCES).map(source).collect()
}

/// Counters that grow by unlike steps, as in /proc.
fn readings(second: u32) -> Vec<CounterSample> {
    let value = |counter: u64| 7_000_000 * (counter + 1) + u64::from(second) * (counter * 1_237_001 + 17);
    let values = |source: u16| (0..COUNTERS).map(move |n| Some(value(u64::from(source) * COUNTERS + n) as f64));
    (0..SOURCES).map(|source| reading(second.into(), source, &values(source).collect::<Vec<_>>())).collect()
}
