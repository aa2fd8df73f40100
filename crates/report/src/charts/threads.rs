//! Where the time of threads goes: stacked over time for each point, and over the clients of a sweep.
//!
//! In: the counters of thread time, and the shares of points. Out: a figure for each point, with a panel for the engine, one for
//! the clients and one for the waits that a server counts itself, and one for each sweep over clients. Limits: a sweep over clients of
//! several repeats has the mean of their shares.

use super::below::{Below, FIGURES_MAX, panel};
use super::chart::Chart;
use super::counters::{CounterLine, drawn_line, find_counter};
use super::shades::shades;
use super::stack::{StackedArea, percent_axis, stacked_areas, stacked_counters};
use super::throughput::{named, places, x_axis};
use crate::palette;
use crate::sheet::{SweepAxis, conditions};
use analysis::{Analysis, CounterSeries, PointAnalysis, StateShares};
use model::{CounterRole, ThreadOf, ThreadState, WaitClass};
use plot::figure::{Axis, AxisUnit, Colour, DataSeries, Figure, FigureBody, Panel, Shade};

pub const CHART: Chart = Chart {
    id: "threads",
    title: "Where the time goes",
    help: "What threads do, from the bottom: compute, wait for a CPU, for storage, for locks, for the other side. \
           The widest band is what to work on.",
    draw: sweeps,
    of_points: Some(&OVER_TIME),
    #[cfg(test)]
    fixture: crate::testing::waiting,
};

const OVER_TIME: Below = Below { subject: |_| CHART.title, panels, note: |_| String::new(), figures_max: FIGURES_MAX };

const HEIGHT: f64 = 110.0;
/// A band that is nowhere thicker than this many percent cannot be seen.
const SEEN_MIN: f64 = 0.5;

/// The states from the bottom of the stack; what clients wait for is the engine.
pub(super) const STATES: [(ThreadState, &str, Colour); 7] = [
    (ThreadState::Cpu, "on a CPU", palette::SLATE),
    (ThreadState::Runnable, "waiting for a CPU", palette::MIST),
    (ThreadState::Read, "reads", palette::LILAC),
    (ThreadState::Sync, "writes and syncs", palette::CLAY),
    (ThreadState::Lock, "locks, other threads", palette::ROSE),
    (ThreadState::Client, "clients", palette::SAND),
    (ThreadState::Other, "other", palette::ASH),
];

/// What clients wait for if the threads of an engine wait for clients.
const ENGINE: &str = "the engine";

const KINDS: [(ThreadOf, &str); 3] = [
    (ThreadOf::Engine, "Threads of the engine"),
    (ThreadOf::Session, "Sessions, by the engine's own account"),
    (ThreadOf::Client, "Clients"),
];

/// What a server waits for by its own account, next to what the kernel shows of its threads.
const WAITS: [(WaitClass, &str, Colour); 5] = [
    (WaitClass::FileIo, "files", Colour::Green),
    (WaitClass::Mutex, "mutexes", Colour::Purple),
    (WaitClass::ReadWriteLock, "shared locks", Colour::Sky),
    (WaitClass::TableLock, "table locks", Colour::Orange),
    (WaitClass::MetadataLock, "metadata locks", Colour::Vermillion),
];

fn panels(point: &PointAnalysis, range: (f64, f64)) -> Vec<Panel> {
    KINDS.into_iter().filter_map(|kind| time_panel(point, kind, range)).chain(waits_panel(point)).collect()
}

/// The classes of waits that the server counts, if a thread waited in any of them.
fn waits_panel(point: &PointAnalysis) -> Option<Panel> {
    let lines = WAITS.into_iter().filter_map(|(class, label, colour)| {
        let role = CounterRole::EngineWait(class);
        find_counter(point, role).filter(|counter| counter.values.iter().any(|(_, waited)| *waited > 0.0))?;
        drawn_line(point, &CounterLine { role, label, colour, factor: 1e-9 })
    });
    let lines: Vec<DataSeries> = lines.collect();
    let axis = Axis::from_zero("threads, on average", AxisUnit::Count);
    (!lines.is_empty()).then(|| panel(point, "Waits, by the engine's own account", axis, lines))
}

/// The shares of each sweep over clients.
fn sweeps(analysis: &Analysis) -> Vec<Figure> {
    let all = named(analysis, (CHART.id, CHART.title));
    let over_clients = all.into_iter().filter(|(sweep, _)| sweep.dimension == SweepAxis::Clients);
    let figures = over_clients.filter_map(|(sweep, (id, title))| {
        let lines = sweep.split.panels.iter().flat_map(|panel| {
            let named = panel.lines.iter().zip(&sweep.split.lines);
            named.map(move |(points, line)| (format!("{} {line}", panel.name).trim().to_owned(), points))
        });
        let panels: Vec<Panel> =
            lines.flat_map(|(name, points)| sweep_panels(&name, points, sweep.dimension)).collect();
        let points = sweep.split.points();
        (!panels.is_empty()).then(|| Figure {
            id,
            title,
            conditions: conditions(analysis, &points),
            caption: String::new(),
            body: FigureBody::Panels { x: x_axis(sweep.dimension, &points), panels },
        })
    });
    figures.collect()
}

/// A panel for each kind of thread that two places of the line have shares of.
fn sweep_panels(name: &str, points: &[&PointAnalysis], dimension: SweepAxis) -> Vec<Panel> {
    let panel = |(of, title): (ThreadOf, &str)| {
        let at = places(points, dimension).into_iter().filter_map(|(x, repeats)| {
            let shares: Vec<&StateShares> = repeats.iter().filter_map(|point| point.threads.of(of)).collect();
            (!shares.is_empty()).then_some((f64::from(x), shares))
        });
        let at: Vec<(f64, Vec<&StateShares>)> = at.collect();
        let values = STATES.map(|(state, _, _)| {
            let mean = |all: &[&StateShares]| all.iter().map(|one| one.share(state)).sum::<f64>() / all.len() as f64;
            at.iter().map(|(x, all)| (*x, mean(all))).collect::<Vec<_>>()
        });
        let title = if name.is_empty() { title.to_owned() } else { format!("{title}, {name}") };
        (at.len() > 1).then(|| stacked_panel((of, title), stacked_areas(&values), Vec::new()))
    };
    KINDS.into_iter().filter_map(panel).collect()
}

fn time_panel(point: &PointAnalysis, (of, title): (ThreadOf, &str), range: (f64, f64)) -> Option<Panel> {
    let counter = |(state, _, _): (ThreadState, _, _)| find_counter(point, CounterRole::ThreadTime(of, state));
    let counters: Vec<&CounterSeries> = STATES.into_iter().filter_map(counter).collect();
    // An account that lacks a state has no whole to be stacked up to.
    if counters.len() < STATES.len() {
        return None;
    }
    let areas = stacked_counters(&counters, range);
    (!areas[0].bounds.is_empty()).then(|| stacked_panel((of, title.to_owned()), areas, shades(point)))
}

/// A panel of the states, with an area for each.
fn stacked_panel((of, title): (ThreadOf, String), areas: Vec<StackedArea>, shades: Vec<Shade>) -> Panel {
    let areas = STATES.iter().zip(areas);
    // What cannot be seen needs no place in the legend.
    let seen = areas.filter(|(_, area)| area.bounds.iter().any(|(_, low, high)| high - low >= SEEN_MIN));
    let series = seen.map(|((state, label, colour), area)| {
        let label = if (of, *state) == (ThreadOf::Client, ThreadState::Client) { ENGINE } else { label };
        DataSeries::named(label, *colour, area.into_marks())
    });
    let (y, series) = (percent_axis("percent of their time, stacked"), series.collect());
    Panel { title, note: String::new(), y, height: HEIGHT, shades, series }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::PointCharts;
    use crate::testing::{panels, quick, waiting};
    use plot::figure::Mark;

    fn draw(analysis: &Analysis) -> Vec<Figure> {
        CHART.figures(analysis, PointCharts::All)
    }

    #[test]
    fn a_point_has_a_panel_for_the_engine_and_one_for_its_clients() {
        let figures = draw(&waiting());
        let figure = figures.iter().find(|figure| figure.id.starts_with("threads-1")).expect("the first point");
        let titles: Vec<&str> = panels(figure).iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["Throughput", "Threads of the engine", "Clients"]);
    }

    #[test]
    fn the_stack_reaches_a_hundred_percent_and_has_only_what_happened() {
        let figures = draw(&waiting());
        let figure = figures.iter().find(|figure| figure.id.starts_with("threads-1")).expect("the first point");
        let engine = &panels(figure)[1];
        assert_eq!(engine.series.len(), 6, "nothing was in the last state");
        let Some(Mark::Area(top)) = engine.series.last().and_then(|series| series.marks.first()) else {
            panic!("an area")
        };
        assert!(top.iter().all(|(_, _, high)| (high - 100.0).abs() < 1e-6), "{top:?}");
    }

    #[test]
    fn a_sweep_over_clients_has_its_shares_at_each_number_of_them() {
        let figures = draw(&waiting());
        let sweep = figures.iter().find(|figure| figure.id.ends_with("clients")).expect("a sweep");
        let Mark::Area(bounds) = &panels(sweep)[0].series[0].marks[0] else { panic!("an area") };
        assert!(
            bounds.len() > 1 && bounds.iter().all(|(_, low, high)| (*low, high.round()) == (0.0, 25.0)),
            "{bounds:?}"
        );
    }

    #[test]
    fn waits_that_a_server_counts_are_below_the_states_of_its_threads() {
        let counted = |class, threads: f64| {
            let counter = ("server-waits", CounterRole::EngineWait(class), model::CounterKind::Counter, "ns");
            move |run| crate::testing::with_counter(run, counter, |at_s| threads * 1e9 * at_s)
        };
        let run = counted(WaitClass::FileIo, 2.0)(waiting());
        let run = counted(WaitClass::Idle, 5.0)(counted(WaitClass::Mutex, 0.0)(run));
        let figures = draw(&run);
        let figure = figures.iter().find(|figure| figure.id.starts_with("threads-1")).expect("the first point");
        let last = panels(figure).last().unwrap();
        assert_eq!((last.title.as_str(), last.series.len()), ("Waits, by the engine's own account", 1));
        let Mark::Line(_, dots) = &last.series[0].marks[0] else { panic!("a line") };
        assert!(dots.iter().all(|(_, threads)| (threads - 2.0).abs() < 1e-6), "{dots:?}");
    }

    #[test]
    fn without_counters_of_threads_nothing_is_drawn() {
        assert!(draw(&quick()).is_empty());
    }
}
