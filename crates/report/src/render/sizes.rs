//! How large the page of a report is: a sweep of servers with all that is drawn of their counters.
//!
//! In: a made-up sweep. Out: tests only. Limits: the values are noise, which packs worst; a real page has flat lines, too.

use crate::charts::all_figures;
use crate::testing::{set, with_counter, with_points_of};
use analysis::Analysis;
use model::CounterKind::{Counter, Gauge};
use model::CounterRole as Role;
use model::{CounterKind, EngineProcess, Fact, ThreadOf, ThreadState};

/// The most bytes of the page of 24 points.
const PAGE_MAX: usize = 2_000_000;
const POINTS: u32 = 24;
const INTERVALS: u32 = 40;
const FACTS: usize = 120;

/// Counters with what they are, or grow by in a second.
const COUNTERS: [(Role, CounterKind, &str, f64); 27] = [
    (Role::MachineCpuUser, Counter, "ns", 6e8),
    (Role::MachineCpuSystem, Counter, "ns", 3e8),
    (Role::MachineCpuSoftirq, Counter, "ns", 5e7),
    (Role::MachineCpuIowait, Counter, "ns", 2e8),
    (Role::MachineCpuSteal, Counter, "ns", 2e7),
    (Role::MachineCpuIdle, Counter, "ns", 8e8),
    (Role::PlimsollCpu, Counter, "ns", 1e8),
    (Role::KernelThreadsCpu, Counter, "ns", 4e7),
    (Role::EngineCpuUser, Counter, "ns", 4e8),
    (Role::EngineCpuSystem, Counter, "ns", 2e8),
    (Role::DeviceFlushOps, Counter, "ops", 400.0),
    (Role::DeviceReadBytes, Counter, "bytes", 1.5e7),
    (Role::DeviceWriteBytes, Counter, "bytes", 3e7),
    (Role::DeviceQueue, Counter, "ns", 2e9),
    (Role::NetworkSentBytes, Counter, "bytes", 6e6),
    (Role::LogAge, Gauge, "bytes", 5e7),
    (Role::LogAgeMax, Gauge, "bytes", 8e7),
    (Role::LogMade, Counter, "bytes", 9e6),
    (Role::LogWritten, Counter, "bytes", 1e7),
    (Role::DirtyPages, Gauge, "bytes", 4e7),
    (Role::PendingCompaction, Gauge, "bytes", 2e7),
    (Role::UnsortedTables, Gauge, "count", 6.0),
    (Role::WritersHeld, Counter, "ns", 2e8),
    (Role::FreePageWaits, Counter, "ops", 12.0),
    (Role::HistoryLength, Gauge, "count", 3_000.0),
    (Role::CacheHits, Counter, "ops", 50_000.0),
    (Role::CacheMisses, Counter, "ops", 900.0),
];

/// Three servers with two mixes and four numbers of clients.
fn sweep() -> Analysis {
    let mut run = with_points_of(POINTS, INTERVALS);
    for (nth, point) in (0usize..).zip(&mut run.points) {
        set(point, "engine", ["mariadb:innodb", "postgres", "mariadb:rocksdb"][nth % 3]);
        set(point, "clients", &(1 << (2 * (nth / 3 % 4))).to_string());
        set(point, "mix", ["read_write", "write_only"][nth / 12]);
        (point.group, point.traits.engine.process) = (nth % 3 + 3 * (nth / 12), EngineProcess::Own);
        let value = |fact: usize| if fact < 6 { format!("/tmp/{nth}/{fact}") } else { format!("{fact} MiB") };
        point.facts = (0..FACTS).map(|fact| Fact::new(format!("setting_{fact}"), value(fact))).collect();
        point.series.as_mut().expect("it ran").counters.clear();
    }
    for (role, kind, unit, amount) in COUNTERS {
        let amount_at = |at_s: f64| if kind == Gauge { amount } else { amount * (at_s + 10.0) };
        run = with_counter(run, ("made", role, kind, unit), amount_at);
    }
    let all = [ThreadOf::Engine, ThreadOf::Session, ThreadOf::Client].into_iter();
    for (of, state) in all.flat_map(|of| ThreadState::ALL.map(|state| (of, state))) {
        let counter = ("threads", Role::ThreadTime(of, state), Counter, "ns");
        run = with_counter(run, counter, |at_s| 1e9 * (at_s + 10.0));
    }
    with_noise(run)
}

/// The values of each counter of each point, up and down by some tenths.
fn with_noise(mut run: Analysis) -> Analysis {
    let mut state = 7u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.7 + 0.6 * (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let series = run.points.iter_mut().filter_map(|point| point.series.as_mut());
    let counters = series.flat_map(|series| &mut series.counters);
    counters.flat_map(|counter| &mut counter.values).for_each(|(_, value)| *value *= noise());
    run
}

/// The bytes of all that is between `open` and `close` in `page`.
fn bytes_between(page: &str, open: &str, close: &str) -> usize {
    page.split(open).skip(1).filter_map(|rest| rest.split(close).next()).map(str::len).sum()
}

#[test]
fn the_page_of_a_sweep_of_24_points_of_servers_stays_below_2_mb() {
    let run = sweep();
    let page = crate::report_page::html_with(&run, &all_figures(&run));
    let parts = [
        ("pictures", bytes_between(&page, "<svg", "</svg>")),
        ("paths", bytes_between(&page, " d=\"", "\"")),
        ("texts", bytes_between(&page, "<text", "</text>")),
        ("tables of pictures", bytes_between(&page, "<details class=\"data\"", "</details>")),
        ("values", bytes_between(&page, "id=\"chart-data\">", "</script>")),
        ("style", bytes_between(&page, "<style>", "</style>")),
        ("conditions", bytes_between(&page, "<div id=\"conditions\">", "</section>")),
    ];
    let figures: Vec<(&str, usize)> =
        all_figures(&run).iter().map(|(chart, figures)| (chart.id, figures.len())).collect();
    for (chart, figures) in all_figures(&run) {
        let bytes = |svg: fn(&plot::Figure) -> usize| figures.iter().map(svg).sum::<usize>();
        let wide = bytes(|figure| plot::render_page_svg(figure).len());
        println!(
            "{}: {wide} and {} narrow",
            chart.id,
            bytes(|f| plot::render_narrow_svg(f).map_or(0, |svg| svg.len()))
        );
    }
    println!("{} bytes: {parts:?} {figures:?}", page.len());
    let per_point = figures.iter().filter(|(_, count)| *count >= POINTS as usize).count();
    assert!(per_point >= 3, "resources, threads and engine of each point are drawn: {figures:?}");
    assert!(page.len() < PAGE_MAX, "{} bytes: {parts:?}", page.len());
}
