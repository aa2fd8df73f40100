//! A server that is being watched: what it does now, with the words of the tables of its report.
//!
//! In: a [`LiveRun`] that watches a server, and the analysis of its last intervals. Out: a [`LiveRunText`]. Limits: statements are those that the
//! watch has kept last, over all of the file; all else is of the last intervals.

use super::live::{LiveFigure, LiveRunText, LiveTable, Trend, intervals_of, so_far};
use crate::format;
use crate::table::{Column, InTerminal, Row, Table};
use crate::tables::observed;
use crate::wording::quantity::{percent, time};
use analysis::{Analysis, LimitedThing, PointAnalysis, WatchedCourse, limit_uses, watched_course};
use model::{LiveInterval, LiveRun, Nanos, Observation, ObservedCounts, Tick};

/// So many statements are shown.
const STATEMENTS: usize = 10;

/// `run` in words; `None` if it watches nothing.
pub fn text(run: &LiveRun, analysis: &Analysis) -> Option<LiveRunText> {
    let point = analysis.points.first()?;
    let seen = point.traits.observed.as_ref()?;
    let (intervals, course) = (intervals_of(run), watched_course(point));
    let disk = disk_name(point, analysis);
    Some(LiveRunText {
        place: place(run),
        figures: figures(run, seen, &course, &disk),
        trends: trends(intervals, seen, &course, &disk),
        tables: tables(analysis, seen, intervals),
        ..LiveRunText::default()
    })
}

/// `what MariaDB does: 12.5 min of 24 h`.
fn place(run: &LiveRun) -> String {
    let of = run.watched.as_ref().map(|point| time(point.trial.phases.run.0 as f64).to_string());
    let watched = run.phase.as_ref().map(|phase| so_far(phase).max(read_since(run, phase.start)));
    let watched = watched.map_or_else(format::dash, |all| time(all.0 as f64).to_string());
    format!("{}: {watched} of {}", run.meta.plan.title, of.unwrap_or_else(format::dash))
}

/// From `start` until anything was read last: the time goes on while the server does not answer.
fn read_since(run: &LiveRun, start: Tick) -> Nanos {
    let read = run.watched.as_ref().and_then(|point| point.counters.last_at());
    read.map_or(Nanos(0), |read| read.since(start))
}

/// What the operations of the watch are; `None` if it has none.
pub fn counted(seen: &Observation) -> Option<&'static str> {
    match seen.counts {
        ObservedCounts::Nothing => None,
        ObservedCounts::Statements => Some("statements"),
        ObservedCounts::Transactions => Some("transactions"),
    }
}

/// What is told of the disk: `disk vda busy`.
fn disk_name(point: &PointAnalysis, analysis: &Analysis) -> String {
    let uses = limit_uses(point, &analysis.meta.machine);
    let disk = uses.iter().find(|used| used.thing == LimitedThing::Disk);
    disk.map_or_else(|| "disk busy".to_owned(), |disk| format!("{} busy", observed::limit_name(disk)))
}

/// Whether the server has told nothing since the last interval: its machine is read on while it does not answer.
fn is_silent(run: &LiveRun) -> bool {
    let read = run.watched.as_ref().and_then(|point| point.counters.last_at());
    let behind = |(read, last): (Tick, &LiveInterval)| read.since(last.start + last.length) > last.length;
    read.zip(intervals_of(run).last()).is_some_and(behind)
}

fn figures(run: &LiveRun, seen: &Observation, course: &WatchedCourse, disk: &str) -> Vec<LiveFigure> {
    let share = |values: &[f64]| values.last().map(|share| percent(*share).to_string());
    let is_known = !is_silent(run);
    let last = intervals_of(run).last().filter(|_| is_known);
    let rate = last.map_or_else(format::dash, |last| format::number(last.per_s()));
    let rate = counted(seen).map(|noun| LiveFigure::new(format!("{noun}/s now"), rate));
    let mean = course.statement_ns.last().map(|ns| ns.filter(|_| is_known));
    let mean = mean.map(|ns| ns.map_or_else(format::dash, |ns| time(ns).to_string()));
    let mean = mean.map(|mean| LiveFigure::new("mean time of a statement now", mean));
    let cpu = share(&course.cpu).map(|cpu| LiveFigure::new("CPU now", cpu));
    let disk = share(&course.disk).map(|busy| LiveFigure::new(format!("{disk} now"), busy));
    [rate, mean, cpu, disk].into_iter().flatten().collect()
}

fn trends(intervals: &[LiveInterval], seen: &Observation, course: &WatchedCourse, disk: &str) -> Vec<Trend> {
    let rate = counted(seen).map(|noun| Trend::of_rate(format!("{noun} per second"), intervals));
    let shares = |title: &str, shares: &[f64]| {
        let values: Vec<Option<f64>> = shares.iter().copied().map(Some).collect();
        (!shares.is_empty()).then(|| Trend::new(title, intervals, &values, |share| percent(share).to_string()))
    };
    let means = &course.statement_ns;
    let mean = (!means.is_empty())
        .then(|| Trend::new("mean time of a statement", intervals, means, |ns| time(ns).to_string()));
    [rate, mean, shares("CPU", &course.cpu), shares(disk, &course.disk)].into_iter().flatten().collect()
}

fn tables(analysis: &Analysis, seen: &Observation, intervals: &[LiveInterval]) -> Vec<LiveTable> {
    let seconds: f64 = intervals.iter().map(|one| one.length.as_secs_f64()).sum();
    let window = format!("Over the last {}.", time(seconds * 1e9));
    let account = format!(
        "In the first {} of this file, by the server's own account: kept at least once a minute.",
        time(seen.statements_ns as f64)
    );
    let parts = [
        (&observed::STATEMENTS, observed::statements(analysis), STATEMENTS, account),
        (&observed::LIMITS, observed::limits(analysis), usize::MAX, window),
        (&observed::EVENTS, observed::events(analysis), usize::MAX, String::new()),
    ];
    let shown = parts.into_iter().filter_map(|(def, made, most, note)| {
        let table = made.into_iter().next()?;
        Some(live_table(def.title, &table, most, note))
    });
    shown.collect()
}

/// The first `most` rows of `table`, with the columns that a terminal has.
fn live_table(title: &str, table: &Table, most: usize, note: String) -> LiveTable {
    let is_known = |nth: usize| table.rows.iter().any(|row| row.cells[nth].text != format::dash());
    let is_shown = |(nth, column): &(usize, &Column)| column.terminal != InTerminal::Never && is_known(*nth);
    let shown: Vec<(usize, &Column)> = table.columns.iter().enumerate().filter(is_shown).collect();
    let cells = |row: &Row| shown.iter().map(|(nth, _)| row.cells[*nth].text.clone()).collect::<Vec<_>>();
    let row = |row: &Row| [vec![row.label_text()], cells(row)].concat();
    let heads = shown.iter().map(|(_, column)| column.head.clone());
    LiveTable {
        title: title.to_owned(),
        heads: std::iter::once(table.label_head.clone()).chain(heads).collect(),
        texts: std::iter::once(true).chain(shown.iter().map(|(_, column)| column.is_text)).collect(),
        rows: table.rows.iter().take(most).map(row).collect(),
        note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::live_html;
    use crate::testing::{HOSTILE, meta, recorded, with_counter, with_points};
    use model::{CounterKind, CounterRole, CounterSample, LivePhase, ObservedStatement, Phase, StatementCost};

    fn watched(counts: ObservedCounts, statement: &str) -> (LiveRun, Analysis) {
        let second = Nanos::from_secs(1);
        let interval = |nth: u64| LiveInterval {
            start: Tick(second.0 * nth),
            length: second,
            ops: 1_500,
            failed: 0,
            p99_ns: None,
        };
        let intervals = vec![interval(60), interval(61)];
        let phase = LivePhase { phase: Phase::Run, start: Tick(0), intervals };
        let cost = StatementCost { calls: 120, time_ns: 240_000_000, ..StatementCost::default() };
        let one = ObservedStatement { text: statement.to_owned(), cost, ..ObservedStatement::default() };
        let seen = Observation {
            counts,
            statements: vec![one; STATEMENTS + 1],
            statements_ns: 60 * second.0,
            ..Observation::default()
        };
        let mut analysis = with_points(1);
        analysis.points[0].traits.observed = Some(seen.clone());
        let mut point = recorded(1, "mysql", 2, |_| 0);
        point.traits.observed = Some(seen);
        let mut meta = meta();
        meta.plan.title = "what MariaDB does".to_owned();
        (LiveRun { meta, points: Vec::new(), phase: Some(phase), watched: Some(point) }, analysis)
    }

    fn with_statement_times(analysis: Analysis) -> Analysis {
        let calls = ("statements", CounterRole::StatementCalls, CounterKind::Counter, "ops");
        let time = ("statements", CounterRole::StatementTime, CounterKind::Counter, "ns");
        with_counter(with_counter(analysis, calls, |at_s| 100.0 * at_s), time, |at_s| 2e8 * at_s)
    }

    #[test]
    fn a_watch_has_its_rate_the_mean_time_and_the_dearest_statements() {
        let (run, analysis) = watched(ObservedCounts::Statements, "SELECT 1");
        let view = text(&run, &with_statement_times(analysis)).expect("it is a watch");
        assert!(view.place.starts_with("what MariaDB does: 62.0 s of "), "{}", view.place);
        let figures: Vec<(&str, &str)> =
            view.figures.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
        assert_eq!(figures[..2], [("statements/s now", "1,500"), ("mean time of a statement now", "2.00 ms")]);
        let table = &view.tables[0];
        assert_eq!((table.title.as_str(), table.rows.len()), ("Statements of the server", STATEMENTS));
        assert_eq!(table.heads[..4], ["statement", "time", "calls/s", "mean"]);
        assert_eq!(table.rows[0][2..4], ["2.00", "2.00 ms"]);
    }

    #[test]
    fn what_a_server_does_not_tell_is_not_there() {
        let (run, analysis) = watched(ObservedCounts::Transactions, "");
        let view = text(&run, &analysis).expect("it is a watch");
        assert_eq!(view.figures[0].name, "transactions/s now");
        assert!(view.figures.iter().all(|one| !one.name.starts_with("mean time")));
        let (run, analysis) = watched(ObservedCounts::Nothing, "");
        assert!(text(&run, &analysis).expect("it is a watch").figures.iter().all(|one| !one.name.contains("/s")));
        assert_eq!(text(&run, &with_points(1)).map(|view| view.place), None, "that is a load");
    }

    #[test]
    fn a_server_that_does_not_answer_has_no_rate_now_and_its_watch_goes_on() {
        let (mut run, analysis) = watched(ObservedCounts::Statements, "SELECT 1");
        let analysis = with_statement_times(analysis);
        let mut read_at = |ms: u64| {
            let sample = CounterSample { at: Tick(Nanos::from_millis(ms).0), source: 0, values: vec![None] };
            run.watched.as_mut().expect("it is a watch").counters.push(sample);
            let view = text(&run, &analysis).expect("it is a watch");
            let begins = view.place.split(" of ").next().unwrap_or_default().to_owned();
            [begins, view.figures[0].value.clone(), view.figures[1].value.clone()]
        };
        // The last interval ends after 62 s.
        assert_eq!(read_at(61_900), ["what MariaDB does: 62.0 s", "1,500", "2.00 ms"]);
        assert_eq!(read_at(62_900), ["what MariaDB does: 62.9 s", "1,500", "2.00 ms"]);
        assert_eq!(read_at(63_100), ["what MariaDB does: 63.1 s", "-", "-"]);
    }

    #[test]
    fn a_disk_of_which_nothing_is_known_yet_has_a_name() {
        let mut analysis = with_points(1);
        analysis.points[0].series = None;
        assert_eq!(disk_name(&analysis.points[0], &analysis), "disk busy");
    }

    #[test]
    fn no_hostile_statement_becomes_markup() {
        for hostile in HOSTILE {
            let (run, analysis) = watched(ObservedCounts::Statements, hostile);
            let html = live_html("a", "a", &text(&run, &analysis).expect("it is a watch"), "n0");
            for bad in ["<script>alert", "<img", "onerror=alert(1)>", "\u{1b}", "\u{202e}"] {
                assert!(!html.contains(bad), "{bad}");
            }
        }
    }
}
