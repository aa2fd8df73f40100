//! What the kernel charges to this process is the engine's only as far as the engine caused it.
//!
//! In: a session with the engine null, alone in this process: the I/O of other tests would count as the engine's. Out: it wrote
//! nothing. Limits: on a file system in memory the kernel accounts for no writes, so the run file is next to the sources.

use load::Stop;
use model::{Phase, PointData};
use plan::Overrides;
use runner::{RunEvent, RunObserver, RunSession, RunSite};
use std::sync::Arc;

struct Silent;

impl RunObserver for Silent {
    fn on(&mut self, _: RunEvent<'_>) {}
}

/// By how much a counter grew in the run phase of `point`, at its last reading.
fn growth(point: &PointData, source: &str, counter: &str) -> f64 {
    let number = point.sources.iter().position(|def| def.name == source).unwrap();
    let nth = point.sources[number].counters.iter().position(|def| def.name == counter).unwrap();
    let phase = point.phase(Phase::Run).unwrap();
    let readings = point.counters.of_counter(number as u16, nth);
    let inside = readings.filter(|(at, _)| phase.start <= *at && *at <= phase.end);
    let values: Vec<f64> = inside.map(|(_, value)| value).collect();
    values.last().unwrap() - values.first().unwrap()
}

#[test]
fn what_is_written_to_the_run_file_is_not_charged_to_the_engine() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let site = RunSite {
        dir: dir.path().into(),
        runs: dir.path().join("runs"),
        destroy: Vec::new(),
        system_changes: Default::default(),
        writes: Default::default(),
        if_held: Default::default(),
        restore: None,
    };
    let keys = [("engine", "null"), ("time", "1s"), ("interval", "50ms"), ("warmup", "0s"), ("service", "1ms")];
    let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let catalogue = runner::catalogue();
    let plan = plan::from_flags("file", &Overrides::from_flags(keys.into()), 1.0, &catalogue).unwrap();
    let (run_file, mut writer) = runner::create_run(&plan, &[], None, &site, &mut Silent).unwrap();
    let (stop, observer) = (Arc::<Stop>::default(), &mut Silent);
    let session = RunSession { plan: &plan, site: &site, writer: &mut writer, stop, observer, interruption: None };
    session.measure_all(&catalogue).unwrap();
    writer.finish().unwrap();
    let run = store::read(&run_file).unwrap();
    assert!(run.points[0].phase(Phase::Run).unwrap().intervals.len() >= 20, "something was recorded");
    assert_eq!(growth(&run.points[0], "process", "write_bytes"), 0.0);
}
