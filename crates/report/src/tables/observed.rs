//! The statements of a server that others load, how much of each of its limits it used, and what was seen when a condition of the user held.

use crate::format;
use crate::table::{Column, ColumnOf, Row, Table, TableDef};
use crate::wording::label::point_label;
use crate::wording::quantity::{count, percent, time};
use analysis::{Analysis, LimitUse, LimitedThing, PointAnalysis, limit_uses};
use model::{Observation, ObservedEvent, ObservedSession, ObservedStatement, ServerLook, ThreadState, WatchedFigure};
use std::collections::BTreeSet;

pub const STATEMENTS: TableDef = TableDef {
    id: "observed-statements",
    title: "Statements of the server",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| statements(analysis),
};

pub const LIMITS: TableDef = TableDef {
    id: "observed-limits",
    title: "What is nearest to its limit",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| limits(analysis),
};

pub const EVENTS: TableDef = TableDef {
    id: "observed-events",
    title: "When your conditions held",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| events(analysis),
};

pub const SESSIONS: TableDef = TableDef {
    id: "observed-sessions",
    title: "Who worked and who waited then",
    is_open: true,
    in_narrow: false,
    chart: None,
    make: |analysis, _| sessions(analysis),
};

const SHORT_LEGEND: &str = "by the server's own account; time: of all statements together, waits included";
const LEGEND: &str = "By the server's own account, without values. Time: the share of the time of all statements together, waits included. Rows read \
    per row sent: far above 1, an index may be missing; an aggregate sends one row for all that it reads. Pages: of tables and indexes, \
    looked at per execution.";
/// The most characters of a statement in a table.
const TEXT_CHARS: usize = 120;

fn observed(analysis: &Analysis) -> impl Iterator<Item = (String, &Observation)> {
    let is_one = analysis.points.len() == 1;
    let label = move |point: &PointAnalysis| if is_one { String::new() } else { point_label(point) };
    analysis.points.iter().filter_map(move |point| Some((label(point), point.traits.observed.as_ref()?)))
}

/// A statement among all that were seen.
type SeenStatement<'a> = (&'a ObservedStatement, &'a Observation);

fn statement_columns<'a>() -> Vec<ColumnOf<'static, SeenStatement<'a>>> {
    type StatementColumn<'a> = ColumnOf<'static, SeenStatement<'a>>;
    vec![
        StatementColumn::new(Column::number("time"), |(one, seen)| {
            percent(one.cost.time_ns as f64 / seen.all_statements().time_ns.max(1) as f64).to_string()
        }),
        StatementColumn::new(Column::number("calls/s"), |(one, seen)| {
            seen.calls_per_s(one.cost.calls).map(format::number)
        }),
        StatementColumn::new(Column::number("mean"), |(one, _)| {
            time(one.cost.time_ns as f64 / one.cost.calls.max(1) as f64).to_string()
        }),
        StatementColumn::new(Column::number("rows read/sent"), |(one, _)| {
            one.cost.rows_read_per_row_sent().map(|ratio| count(ratio).to_string())
        }),
        StatementColumn::new(Column::number("pages/call"), |(one, _)| {
            one.cost.pages_per_call().map(|pages| count(pages).to_string())
        }),
        StatementColumn::new(Column::number("errors"), |(one, _)| format::count(one.cost.errors)),
    ]
}

pub fn statements(analysis: &Analysis) -> Vec<Table> {
    let rows = observed(analysis).flat_map(|(group, seen)| {
        let others = seen.others.iter().map(|others| (others_label(seen), others));
        let all = seen.statements.iter().map(|one| (cut(&one.text), one)).chain(others);
        all.map(move |(label, one)| (Row::labelled(vec![label]).in_group(group.clone()), (one, seen)))
    });
    let label_head = "statement".to_owned();
    let table = Table::of(statement_columns(), rows);
    Table { legend: LEGEND.to_owned(), short_legend: SHORT_LEGEND, label_head, ..table }.if_any()
}

fn others_label(seen: &Observation) -> String {
    match seen.others_kinds {
        0 => "all others".to_owned(),
        kinds => format!("all others, {} kinds at most", format::count(kinds)),
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= TEXT_CHARS {
        return text.to_owned();
    }
    text.chars().take(TEXT_CHARS - 2).collect::<String>() + ".."
}

type UseColumn = ColumnOf<'static, LimitUse>;

pub fn limits(analysis: &Analysis) -> Vec<Table> {
    let is_one = analysis.points.len() == 1;
    let watched = analysis.points.iter().filter(|point| point.traits.observed.is_some());
    let rows = watched.flat_map(|point| {
        let group = if is_one { String::new() } else { point_label(point) };
        let uses = limit_uses(point, &analysis.meta.machine);
        uses.into_iter().map(move |used| (Row::labelled(vec![limit_name(&used)]).in_group(group.clone()), used))
    });
    let columns = vec![
        UseColumn::new(Column::number("mean"), |used| percent(used.mean).to_string()),
        UseColumn::new(Column::number("most"), |used| percent(used.most).to_string()),
        UseColumn::new(Column::number("by the server"), |used| used.by_engine.map(|share| percent(share).to_string())),
    ];
    let legend = "Shares of the limit, on average and in the interval in which it was most. Of a disk the time in which it was busy.";
    Table { legend: legend.to_owned(), label_head: "limit".to_owned(), ..Table::of(columns, rows) }.if_any()
}

pub fn limit_name(used: &LimitUse) -> String {
    let of = used.of.as_deref().unwrap_or_default();
    match used.thing {
        LimitedThing::Cpu => "CPU".to_owned(),
        LimitedThing::Disk => format!("disk {of}"),
        LimitedThing::Connections => format!("connections ({of})"),
        LimitedThing::Log => "age of the log".to_owned(),
        LimitedThing::Memory => "memory".to_owned(),
    }
}

/// The states of threads that the table of events has.
const EVENT_STATES: [(ThreadState, &str); 5] = [
    (ThreadState::Cpu, "threads: CPU"),
    (ThreadState::Runnable, "queue"),
    (ThreadState::Read, "read"),
    (ThreadState::Sync, "sync"),
    (ThreadState::Lock, "lock"),
];

type EventColumn = ColumnOf<'static, ObservedEvent>;

fn event_columns() -> Vec<EventColumn> {
    let number = |head, number: fn(&ServerLook) -> u64| {
        EventColumn::new(Column::number(head), move |event| {
            event.telling_look().map(|look| format::count(number(look)))
        })
    };
    let own = [
        EventColumn::new(Column::number("condition"), |event| event.condition.clone()),
        EventColumn::new(Column::number("lasted"), |event| {
            let lasted = time(event.lasted.0 as f64).to_string();
            if event.goes_on { format!("{lasted}, and went on") } else { lasted }
        }),
        EventColumn::new(Column::number("worst"), |event| match event.figure {
            WatchedFigure::Mean => time(event.worst).to_string(),
            WatchedFigure::Cpu | WatchedFigure::Disk => percent(event.worst).to_string(),
            _ => format::number(event.worst),
        }),
        number("sessions", |look| look.sessions.len() as u64 + look.sessions_left_out),
        number("waits", |look| look.waits.len() as u64 + look.waits_left_out),
    ];
    let states = EVENT_STATES.into_iter().map(|(state, head)| {
        EventColumn::new(Column::number(head).documents_only(), move |event| {
            event.telling_look().and_then(|look| look.threads_in(state)).map(format::number)
        })
    });
    own.into_iter().chain(states).collect()
}

pub fn events(analysis: &Analysis) -> Vec<Table> {
    let started = analysis.meta.started_unix_ms;
    let rows = observed(analysis).flat_map(|(group, seen)| {
        let label = move |event| Row::labelled(vec![moment(event, started)]).in_group(group.clone());
        seen.events.iter().map(move |event| (label(event), event))
    });
    let left_out: u64 = observed(analysis).map(|(_, seen)| seen.events_left_out).sum();
    let notes = match left_out {
        0 => Vec::new(),
        left_out => vec![format!("{} further events are not kept.", format::count(left_out))],
    };
    let legend = "From the beginning of the first interval in which a condition held to the end of the last. Worst: the value furthest beyond the \
        limit. Sessions and waits: those that the server named when it was asked, where it named most. Threads: how many of the server's were on a \
        CPU, waited for one, for a read, for a write or sync, and for another thread, on average over the interval before that.";
    let (legend, label_head) = (legend.to_owned(), "from".to_owned());
    let short_legend = "sessions and waits: those that the server named when it was asked";
    Table { legend, short_legend, label_head, notes, ..Table::of(event_columns(), rows) }.if_any()
}

/// When an event began.
fn moment(event: &ObservedEvent, started_unix_ms: u64) -> String {
    format::utc(started_unix_ms.saturating_add(event.at.0 / 1_000_000))
}

/// A session when the server named most.
type SeenSession<'a> = (&'a ObservedSession, &'a ServerLook);

fn session_columns<'a>() -> Vec<ColumnOf<'static, SeenSession<'a>>> {
    type SessionColumn<'a> = ColumnOf<'static, SeenSession<'a>>;
    let rows = |head, rows: fn(&ObservedSession) -> Option<u64>| {
        SessionColumn::new(Column::number(head).documents_only(), move |(one, _)| rows(one).map(format::count))
    };
    vec![
        SessionColumn::new(Column::number("waits for"), |(one, look)| {
            let waits = look.waits.iter().filter(|wait| wait.waiter == one.id);
            let blockers: Vec<String> = waits.map(|wait| wait.blocker.to_string()).collect();
            Some(blockers.join(", ")).filter(|blockers| !blockers.is_empty())
        }),
        SessionColumn::new(Column::number("in this for"), |(one, _)| format::seconds(one.seconds)),
        SessionColumn::new(Column::number("transaction"), |(one, _)| one.transaction_s.map(format::seconds)),
        rows("rows locked", |one| one.rows_locked),
        rows("rows changed", |one| one.rows_changed),
        rows("xmin age", |one| one.xmin_age),
        SessionColumn::new(Column::text("does").documents_only(), |(one, _)| one.doing.clone()),
    ]
}

fn sessions(analysis: &Analysis) -> Vec<Table> {
    let started = analysis.meta.started_unix_ms;
    let rows = observed(analysis).flat_map(|(_, seen)| seen.events.iter()).flat_map(|event| {
        let looks = event.telling_look().into_iter();
        let all = looks.flat_map(|look| look.sessions.iter().map(move |session| (session, look)));
        all.map(move |seen| (Row::labelled(vec![session_name(seen.0)]).in_group(moment(event, started)), seen))
    });
    let looks = observed(analysis).flat_map(|(_, seen)| &seen.events).filter_map(ObservedEvent::telling_look);
    let unseen: BTreeSet<&String> = looks.filter_map(|look| look.failed.as_ref()).collect();
    let notes = unseen.into_iter().map(|what| format!("Not seen: {what}.")).collect();
    let legend = "The sessions that executed a statement or held a transaction, at the moment of the event at which the server named most. \
        Waits for: the number of the session whose lock it waits for. Transaction: for how long it is open. Statements are without values. Xmin \
        age: how many transactions have begun since the oldest one that it can still see.";
    let legend = legend.to_owned();
    let (group_head, label_head) = ("event", "session".to_owned());
    let short_legend = "at the moment at which the server named most; statements are without values";
    Table { legend, short_legend, group_head, label_head, notes, ..Table::of(session_columns(), rows) }.if_any()
}

fn session_name(session: &ObservedSession) -> String {
    let whose: Vec<&str> = std::iter::once(session.user.as_str()).chain(session.database.as_deref()).collect();
    cut(format!("{} {} {}", session.id, whose.join("/"), session.statement).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_points;
    use model::{Nanos, ObservedThreads, ObservedWait, Tick};

    fn watched(seen: Observation) -> Analysis {
        let mut analysis = with_points(1);
        analysis.points[0].traits.observed = Some(seen);
        analysis
    }

    fn cells(row: &Row) -> Vec<&str> {
        row.cells.iter().map(|cell| cell.text.as_str()).collect()
    }

    fn blocked() -> Observation {
        let session = |id, statement: &str, transaction_s| ObservedSession {
            id,
            user: "jo".into(),
            database: Some("shop".into()),
            doing: "Query".into(),
            seconds: 8.0,
            statement: statement.into(),
            transaction_s,
            ..ObservedSession::default()
        };
        let look = ServerLook {
            sessions: vec![session(12, "", Some(40.0)), session(15, "update t set n = ?", None)],
            sessions_left_out: 3,
            waits: vec![ObservedWait { waiter: 15, blocker: 12, ..ObservedWait::default() }],
            threads: vec![ObservedThreads { state: ThreadState::Lock, threads: 2.0 }],
            ..ServerLook::default()
        };
        let event = ObservedEvent {
            at: Tick(2_000_000_000),
            lasted: Nanos::from_secs(9),
            condition: "waiting>0".into(),
            figure: WatchedFigure::Waiting,
            worst: 1.0,
            looks: vec![ServerLook::default(), look],
            ..ObservedEvent::default()
        };
        Observation { events: vec![event], events_left_out: 4, ..Observation::default() }
    }

    #[test]
    fn an_event_has_its_length_and_the_sessions_that_were_seen_in_it() {
        let analysis = watched(blocked());
        let all = events(&analysis);
        let expected = ["waiting>0", "9.00 s", "1.00", "5", "1", "-", "-", "-", "-", "2.00"];
        assert_eq!(cells(&all[0].rows[0]), expected);
        assert_eq!(all[0].notes, ["4 further events are not kept."]);
        let all = sessions(&analysis);
        let labels: Vec<String> = all[0].rows.iter().map(Row::label_text).collect();
        assert_eq!(labels, ["12 jo/shop", "15 jo/shop update t set n = ?"]);
        assert_eq!(cells(&all[0].rows[0])[..3], ["-", "8 s", "40 s"]);
        assert_eq!(cells(&all[0].rows[1])[..3], ["12", "8 s", "-"]);
        assert_eq!(all[0].rows[0].group, all[0].rows[1].group);
    }

    #[test]
    fn what_a_server_did_not_tell_is_said_below_its_sessions() {
        let mut seen = blocked();
        assert!(sessions(&watched(seen.clone()))[0].notes.is_empty());
        seen.events[0].looks[1].failed = Some("who waits for whom: no right".into());
        assert_eq!(sessions(&watched(seen))[0].notes, ["Not seen: who waits for whom: no right."]);
    }

    #[test]
    fn a_watch_without_events_has_no_such_table() {
        let analysis = watched(Observation::default());
        assert!(events(&analysis).is_empty() && sessions(&analysis).is_empty());
        assert!(events(&with_points(1)).is_empty());
    }
}
