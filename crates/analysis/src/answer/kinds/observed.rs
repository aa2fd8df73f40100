//! A server that others load: what it does, what is nearest to its limit, what disturbs it, and which statements cost most.
//!
//! In: a run of points that were watched. Out: the dearest statements as a table, or the kinds of statement if no more is known, or the limits of a
//! process; claims of the first point. Limits: a statement without an index is only suspected, by the rows that it reads for each row that it sends.

use super::super::disturbance::{self, Disturbed};
use super::super::speech::short_enough;
use super::super::{AnswerCell, AnswerColumn, AnswerParts, AnswerRow, AnswerTable, AskedRun, Claim, ClaimKind};
use super::observed_events;
use crate::points::limit_uses::{LimitUse, LimitedThing, limit_uses};
use crate::points::watched_course::watched_rate;
use crate::recorded::dimensions::ENGINE;
use crate::{Code, PointAnalysis};
use model::{CounterRole, Nanos, Observation, ObservedCounts, ObservedStatement, OpClass, PointState};
use std::collections::BTreeMap;
use words::cell::seconds;
use words::code::{brief_statement, quoted_text, without_needless_quotes};
use words::list::{capital, join_and};
use words::quantity::{count, plural, rate, time};

/// More rows leave no room for the claims.
const ROWS: usize = 7;
/// The most characters of a statement in the table.
const TEXT_CHARS: usize = 36;
/// The most characters of a message of the error log in a claim.
const MESSAGE_CHARS: usize = 100;
/// The limits that are named behind the nearest.
const OTHERS: usize = 3;
/// From so many rows read for each row sent on, an index is probably missing, if the statement takes the share [`DEAR`] of the time.
const ROWS_PER_ROW: f64 = 100.0;
const DEAR: f64 = 0.05;
/// The cost of so many of all statements must be known to tell their mean time. Readings of both are not at the same moment.
const COVERED: f64 = 0.9;

/// A share in percent: `62 %`.
fn percent(share: f64) -> String {
    words::quantity::percent(share).to_string()
}

/// Whether the run is one of watches.
fn is_observed(run: &AskedRun) -> bool {
    let points = &run.analysis.points;
    !points.is_empty() && points.iter().all(|point| point.traits.observed.is_some())
}

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    if !is_observed(run) {
        return None;
    }
    let point = run.analysis.points.first()?;
    let seen = point.traits.observed.as_ref()?;
    let name = name_of(point);
    let uses = limit_uses(point, &run.analysis.meta.machine);
    let disturbed = [Disturbed { point, subject: "It".to_owned() }];
    let mut claims: Vec<Claim> = [rate_claim(point, seen, name), away_claim(point, seen), limit_claim(point, &uses)]
        .into_iter()
        .flatten()
        .collect();
    claims.extend(restart_claim(point));
    claims.extend(replica_claim(point, seen));
    claims.extend(observed_events::claims(seen, run.analysis.meta.started_unix_ms));
    claims.extend(log_claim(seen));
    claims.extend(observed_events::unheld_claim(seen));
    claims.extend(uncovered_claim(point, seen));
    claims.extend(disturbance::claims(&disturbed, &[]));
    claims.extend(unindexed_claim(point, seen));
    claims.extend(missing_claim(seen));
    let question = format!("What does {name} do, and what is nearest to its limit?");
    Some(AnswerParts { question, table: table(point, seen, &uses), claims, next: next(seen) })
}

/// How long it was watched, and what that cost.
pub fn trust(run: &AskedRun) -> Vec<String> {
    let Some(point) = run.analysis.points.first() else { return Vec::new() };
    let is_partial = point.state == PointState::Partial && point.error.is_none();
    let mut all: Vec<String> =
        is_partial.then(|| "It is not complete: the watch was killed, or goes on.".to_owned()).into_iter().collect();
    let Some((summary, series)) = point.summary.as_ref().zip(point.series.as_ref()) else {
        all.push("It was not watched long enough to tell anything.".to_owned());
        return all;
    };
    let intervals = match series.intervals.iter().filter(|interval| interval.at_s >= 0.0).count() {
        0 => "less than an interval".to_owned(),
        intervals => plural(intervals as u64, "interval"),
    };
    let own = series.counters.iter().find(|one| one.role == Some(CounterRole::PlimsollCpu));
    let own = own.filter(|own| !own.values.is_empty());
    let own = own.map(|own| own.values.iter().map(|(_, ns)| ns / 1e9).sum::<f64>() / own.values.len() as f64);
    let cost = own.map_or(String::new(), |share| format!("; the watch took {} of one CPU", percent(share)));
    let watched = time(summary.seconds * 1e9);
    let away_ns = point.traits.observed.as_ref().map_or(0, |seen| seen.away_ns);
    let away =
        if away_ns > 0 { format!("; the server did not answer for {}", time(away_ns as f64)) } else { String::new() };
    all.push(format!("Watched for {watched} in {intervals}{away}{cost}."));
    all.extend(point.error.as_ref().map(|error| format!("It ended with: {}.", error.trim_end_matches('.'))));
    all
}

/// How people call the server.
fn name_of(point: &PointAnalysis) -> &str {
    point.traits.phrases.get(ENGINE).map_or(&point.engine, |name| name)
}

/// `MariaDB executes 9.98k statements/s, 70 % of them reads and 20 % writes, in 310 us on average.`
fn rate_claim(point: &PointAnalysis, seen: &Observation, name: &str) -> Option<Claim> {
    let summary = point.summary.as_ref()?;
    let per_s = watched_rate(point)?;
    let noun = match seen.counts {
        ObservedCounts::Nothing => return None,
        ObservedCounts::Statements => "statement",
        ObservedCounts::Transactions => "transaction",
    };
    if summary.ops == 0 {
        let known = seen.known_of(Nanos((summary.seconds * 1e9) as u64))?;
        let sentence = format!("{name} was idle: no {noun} in {}.", time(known.0 as f64));
        return Some(Claim::new(ClaimKind::Rate, sentence).figure_of(point.id, "ops_per_s", per_s));
    }
    let share = |class| {
        let of_class = point.statements.iter().filter(|kind| kind.class == class);
        of_class.filter_map(|kind| kind.share).fold(0.0, |sum, share| sum + share)
    };
    let mix = if seen.counts == ObservedCounts::Statements {
        format!(", {} of them reads and {} writes", percent(share(OpClass::Read)), percent(share(OpClass::Write)))
    } else {
        String::new()
    };
    let all = seen.all_statements();
    let is_whole = covered(point, seen).is_some_and(|share| share >= COVERED);
    let mean_ns = (all.calls > 0 && is_whole).then(|| all.time_ns as f64 / all.calls as f64);
    let mean = mean_ns.map_or(String::new(), |ns| format!(", in {} on average", time(ns)));
    let sentence = format!("{name} executes {} {noun}s per second{mix}{mean}.", count(per_s));
    let claim = Claim::new(ClaimKind::Rate, sentence).figure_of(point.id, "ops_per_s", per_s);
    Some(mean_ns.map_or(claim.clone(), |ns| claim.figure_of(point.id, "statement_mean_ns", ns)))
}

/// `The server did not answer for 13.0 s of 17.0 s, up to the end.`
fn away_claim(point: &PointAnalysis, seen: &Observation) -> Option<Claim> {
    let away_ns = seen.away_ns as f64;
    let all = time(point.summary.as_ref().filter(|_| seen.away_ns > 0)?.seconds * 1e9);
    let end = if seen.unknown_ns > 0 { ", up to the end" } else { "" };
    let sentence = format!("The server did not answer for {} of {all}{end}.", time(away_ns));
    Some(Claim::new(ClaimKind::Disturbance, sentence).figure_of(point.id, "away_ns", away_ns))
}

/// `Nearest to its limit is the CPU: 62 % on average and 81 % at most, 48 % by the server; then connections (11 % of 151).`
fn limit_claim(point: &PointAnalysis, uses: &[LimitUse]) -> Option<Claim> {
    let nearest = uses.first()?;
    let engine = nearest.by_engine.map_or(String::new(), |share| format!(", {} by the server", percent(share)));
    let used = format!("{} on average and {} at most{engine}", percent(nearest.mean), percent(nearest.most));
    let others = |most: usize| {
        let named: Vec<String> = uses[1..].iter().take(most).map(short_use).collect();
        if named.is_empty() { String::new() } else { format!("; then {}", join_and(&named)) }
    };
    // Without the CPU it may be that which is full.
    let has_cpu = uses.iter().any(|used| used.thing == LimitedThing::Cpu);
    let nearest_words = if has_cpu { "Nearest to its limit" } else { "Of what is seen, nearest to its limit" };
    let first = format!("{nearest_words} {}: {used}", is_thing(nearest));
    let sentence = short_enough((0..=OTHERS).rev().map(|most| format!("{first}{}.", others(most))).collect());
    let claim = Claim::new(ClaimKind::Bottleneck, sentence);
    Some(claim.figure_of(point.id, "limit_share", nearest.mean).figure_of(point.id, "limit_share_max", nearest.most))
}

/// `is the CPU`, `are the connections`.
fn is_thing(used: &LimitUse) -> String {
    let of = used.of.as_deref().unwrap_or_default();
    match used.thing {
        LimitedThing::Cpu => "is the CPU".to_owned(),
        LimitedThing::Disk => format!("is the disk {of}, by the time in which it was busy"),
        LimitedThing::Connections => format!("are the connections, of which it takes {of}"),
        LimitedThing::Log => "is the age of the log".to_owned(),
        LimitedThing::Memory => "is the memory of the machine".to_owned(),
    }
}

/// The name of what has a limit: `disk vda`.
fn thing_name(used: &LimitUse) -> String {
    let of = used.of.as_deref().unwrap_or_default();
    match used.thing {
        LimitedThing::Cpu => "CPU".to_owned(),
        LimitedThing::Disk => format!("disk {of} busy"),
        LimitedThing::Connections => format!("connections of {of}"),
        LimitedThing::Log => "log age".to_owned(),
        LimitedThing::Memory => "memory".to_owned(),
    }
}

fn short_use(used: &LimitUse) -> String {
    format!("{} ({})", thing_name(used), percent(used.mean))
}

fn restart_claim(point: &PointAnalysis) -> Option<Claim> {
    let found = point.findings.iter().find(|finding| finding.code() == Code::Restarted)?;
    let title = crate::findings::title(&[&found.detail]);
    Some(Claim::new(ClaimKind::Disturbance, format!("{}.", capital(&title))).from_finding(Code::Restarted))
}

/// `It is a replica, and replication stands still: the thread that applies does not run (error 1062).`
fn replica_claim(point: &PointAnalysis, seen: &Observation) -> Option<Claim> {
    let replica = seen.replica.as_ref()?;
    let behind = |behind_s: f64| format!("{} behind its primary", seconds(behind_s));
    let why = if replica.stopped_by.is_empty() { String::new() } else { format!(": {}", replica.stopped_by) };
    let (kind, said) = if replica.is_stopped {
        let behind = replica.behind_s.map_or(String::new(), |behind_s| format!(", {}", behind(behind_s)));
        (ClaimKind::Disturbance, format!("and replication stands still{behind}{why}"))
    } else if replica.stopped > 0 {
        let (stopped, all) = (replica.stopped, plural(replica.readings, "reading"));
        (ClaimKind::Disturbance, format!("and replication stood still at {stopped} of {all}{why}"))
    } else {
        let said = match replica.behind_s.zip(replica.behind_max_s) {
            Some((now, most)) => format!("{} at the end and {} at most", behind(now), seconds(most)),
            None => "and how far it is behind its primary is not known".to_owned(),
        };
        (ClaimKind::Caution, said)
    };
    let claim = Claim::new(kind, format!("It is a replica, {said}."));
    Some(match replica.behind_max_s {
        Some(most) => claim.figure_of(point.id, "replica_behind_max_s", most),
        None => claim,
    })
}

/// `Its error log has 12 errors and 3 warnings, most often (10 times): InnoDB: Page ? cannot be read.`; nothing without errors.
fn log_claim(seen: &Observation) -> Option<Claim> {
    let log = seen.log.as_ref().filter(|log| log.errors > 0)?;
    let warnings = if log.warnings > 0 { format!(" and {}", plural(log.warnings, "warning")) } else { String::new() };
    let counted = format!("Its error log has {}{warnings}", plural(log.errors, "error"));
    let most = log.messages.first().map(|most| {
        let text: String = most.text.chars().take(MESSAGE_CHARS).collect();
        let end = if text.len() < most.text.len() { "..." } else { "." };
        let text = quoted_text(text.trim_end_matches('.'));
        if most.count > 1 {
            format!("{counted}, most often ({} times): {text}{end}", most.count)
        } else {
            format!("{counted}: {text}{end}")
        }
    });
    let sentence = short_enough(most.into_iter().chain([format!("{counted}.")]).collect());
    Some(Claim::new(ClaimKind::Disturbance, sentence))
}

/// The share of all statements whose cost is known; `None` if no statement was executed.
fn covered(point: &PointAnalysis, seen: &Observation) -> Option<f64> {
    let all = watched_rate(point)? * seen.statements_ns as f64 / 1e9;
    (all > 0.0).then(|| seen.all_statements().calls as f64 / all)
}

/// That the cost of most statements is not known, as of prepared ones on MariaDB.
fn uncovered_claim(point: &PointAnalysis, seen: &Observation) -> Option<Claim> {
    let share = covered(point, seen).filter(|share| !seen.statements.is_empty() && *share < COVERED)?;
    let sentence = format!(
        "The cost of {} of the statements is known: the server counts no others by text, such as prepared ones on MariaDB.",
        percent(share)
    );
    Some(Claim::new(ClaimKind::Caution, sentence).figure_of(point.id, "statements_covered_share", share))
}

/// The dearest statement that reads many rows for each row that it sends.
fn unindexed_claim(point: &PointAnalysis, seen: &Observation) -> Option<Claim> {
    let all = seen.all_statements().time_ns as f64;
    let (place, statement) = suspect(seen)?;
    let share = statement.cost.time_ns as f64 / all.max(1.0);
    let ratio = statement.cost.rows_read_per_row_sent()?;
    let sentence = format!(
        "Statement {} takes {} of the time and reads {} rows for each row that it sends: it may lack an index.",
        place + 1,
        percent(share),
        count(ratio)
    );
    Some(Claim::new(ClaimKind::Caution, sentence).figure_of(point.id, "rows_read_per_row_sent", ratio))
}

/// The first of `seen` that is dear and may lack an index, with its place.
fn suspect(seen: &Observation) -> Option<(usize, &ObservedStatement)> {
    let all = seen.all_statements().time_ns as f64;
    let is_suspect = |one: &&ObservedStatement| {
        let has_many = one.cost.rows_read_per_row_sent().is_some_and(|ratio| ratio >= ROWS_PER_ROW);
        has_many && !aggregates(&one.text) && one.class == Some(OpClass::Read) && one.cost.time_ns as f64 >= DEAR * all
    };
    seen.statements.iter().enumerate().find(|(_, one)| is_suspect(one))
}

/// Whether a statement sums up what it reads, so that it sends fewer rows with any index. Servers write `COUNT ( * )` or `count(*)`.
fn aggregates(text: &str) -> bool {
    let calls = text.to_lowercase().replace(['`', ' '], "");
    ["count(", "sum(", "min(", "max(", "avg("].iter().any(|call| calls.contains(call)) || calls.contains("groupby")
}

/// All that was not seen, with the reasons if there is room for them.
fn missing_claim(seen: &Observation) -> Option<Claim> {
    let listed = |text: &dyn Fn(&str) -> String| {
        let parts: Vec<String> = seen.missing.iter().map(|part| text(&part.what)).collect();
        format!("Not seen: {}.", parts.join("; "))
    };
    // The message of a server may be long; what mends it is the next step.
    let with_reasons = listed(&|what| what.chars().take(140).collect());
    let names = listed(&|what| what.split(": ").next().unwrap_or(what).chars().take(140).collect());
    let sentence = short_enough(vec![with_reasons, names, "Several parts were not seen.".to_owned()]);
    (!seen.missing.is_empty()).then(|| Claim::new(ClaimKind::Caution, sentence))
}

/// What turns on what is missing; else what tells more of a suspect, or what takes this load along.
fn next(seen: &Observation) -> Option<String> {
    if let Some(mend) = seen.missing.iter().map(|part| part.mend.as_str()).find(|mend| !mend.is_empty()) {
        return Some(mend.to_owned());
    }
    if seen.counts == ObservedCounts::Nothing {
        return Some("give the URL of the server to see its statements and counters, too".to_owned());
    }
    if let Some((_, statement)) = suspect(seen) {
        let text: String = without_needless_quotes(&statement.text, '`').chars().take(60).collect();
        return Some(quoted_text(&format!("EXPLAIN {text}")));
    }
    let url = seen.url.as_deref().filter(|_| !seen.statements.is_empty())?;
    let url = with_database(url, most_used_database(seen))?;
    Some(format!("plimsoll schema '{url}' --statements --out load.toml"))
}

/// The database in which the most statements were executed; `None` if those that did it had chosen none.
fn most_used_database(seen: &Observation) -> Option<&str> {
    let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
    for one in &seen.statements {
        if let Some(database) = one.database.as_deref() {
            *calls.entry(database).or_default() += one.cost.calls;
        }
    }
    calls.into_iter().max_by_key(|(_, calls)| *calls).map(|(database, _)| database)
}

/// `url`, with `database` if it names none; `None` if none is known.
fn with_database(url: &str, database: Option<&str>) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (place, options) =
        rest.split_once('?').map_or((rest, String::new()), |(place, more)| (place, format!("?{more}")));
    if place.split_once('/').is_some_and(|(_, named)| !named.is_empty()) {
        return Some(url.to_owned());
    }
    Some(format!("{scheme}://{}/{}{options}", place.trim_end_matches('/'), database?))
}

fn table(point: &PointAnalysis, seen: &Observation, uses: &[LimitUse]) -> Option<AnswerTable> {
    let table = if !seen.statements.is_empty() {
        statements_table(point, seen)
    } else if seen.counts == ObservedCounts::Nothing {
        limits_table(point, uses)
    } else {
        kinds_table(point)
    };
    Some(table).filter(|table| !table.rows.is_empty())
}

fn columns(heads: &[&str]) -> Vec<AnswerColumn> {
    heads.iter().map(|head| AnswerColumn::new(*head)).collect()
}

/// The dearest statements, those that took the most time first.
fn statements_table(point: &PointAnalysis, seen: &Observation) -> AnswerTable {
    let all = seen.all_statements();
    let cell = |figure: &str, value: f64, text: String| Some(AnswerCell::of(Some(point.id), figure, value, text));
    let effort = Effort::known_of(&seen.statements);
    let row = |(place, one): (usize, &ObservedStatement)| {
        let cost = &one.cost;
        let share = cost.time_ns as f64 / all.time_ns.max(1) as f64;
        let per_s = seen.calls_per_s(cost.calls);
        let mean = cost.time_ns as f64 / cost.calls.max(1) as f64;
        let mut cells = vec![
            cell("time_share", share, percent(share)),
            per_s.and_then(|per_s| cell("calls_per_s", per_s, rate(per_s).digits().to_owned())),
            cell("statement_mean_ns", mean, time(mean).to_string()),
        ];
        if let Some(effort) = effort {
            let spent = effort.of(one);
            cells.push(spent.and_then(|spent| cell(effort.figure(), spent, count(spent).to_string())));
        }
        AnswerRow { name: vec![format!("{} {}", place + 1, cut(&one.text))], cells }
    };
    AnswerTable {
        head: "the dearest statements".to_owned(),
        columns: columns(&[&["time", "calls/s", "mean"][..], effort.map(Effort::head).as_slice()].concat()),
        rows: seen.statements.iter().enumerate().take(ROWS).map(row).collect(),
        rows_of: seen.statements.len(),
        conditions: String::new(),
    }
}

/// What a server tells of the work that a statement makes.
#[derive(Clone, Copy)]
enum Effort {
    RowsRead,
    Pages,
}

impl Effort {
    /// The first that is known of any of `statements`.
    fn known_of(statements: &[ObservedStatement]) -> Option<Effort> {
        let known = |effort: &Effort| statements.iter().any(|one| effort.of(one).is_some());
        [Effort::RowsRead, Effort::Pages].into_iter().find(known)
    }

    fn of(self, one: &ObservedStatement) -> Option<f64> {
        match self {
            Effort::RowsRead => one.cost.rows_read_per_row_sent(),
            Effort::Pages => one.cost.pages_per_call(),
        }
    }

    fn head(self) -> &'static str {
        match self {
            Effort::RowsRead => "rows read/sent",
            Effort::Pages => "pages/call",
        }
    }

    fn figure(self) -> &'static str {
        match self {
            Effort::RowsRead => "rows_read_per_row_sent",
            Effort::Pages => "pages_per_call",
        }
    }
}

/// The first characters of a statement. The quotes of most names only take room.
fn cut(text: &str) -> String {
    let text = brief_statement(text);
    if text.chars().count() <= TEXT_CHARS {
        return text;
    }
    text.chars().take(TEXT_CHARS - 2).collect::<String>() + ".."
}

/// How much of each kind was done. It has no rows if nothing is known.
fn kinds_table(point: &PointAnalysis) -> AnswerTable {
    let is_known = watched_rate(point).is_some();
    let row = |kind: &crate::StatementSummary| {
        let per_s = AnswerCell::of(Some(point.id), "ops_per_s", kind.ops_per_s, count(kind.ops_per_s).to_string());
        let share = kind.share.map(|share| AnswerCell::of(Some(point.id), "share", share, percent(share)));
        AnswerRow { name: vec![kind.kind.clone()], cells: vec![Some(per_s), share] }
    };
    let rows: Vec<AnswerRow> = point.statements.iter().filter(|_| is_known).map(row).collect();
    AnswerTable {
        head: "statements".to_owned(),
        columns: columns(&["per second", "share"]),
        rows_of: rows.len(),
        rows,
        conditions: String::new(),
    }
}

/// How much of each limit was used.
fn limits_table(point: &PointAnalysis, uses: &[LimitUse]) -> AnswerTable {
    let row = |used: &LimitUse| {
        let cell = |figure: &str, share: f64| Some(AnswerCell::of(Some(point.id), figure, share, percent(share)));
        AnswerRow {
            name: vec![thing_name(used)],
            cells: vec![cell("limit_share", used.mean), cell("limit_share_max", used.most)],
        }
    };
    AnswerTable {
        head: "of the limit".to_owned(),
        columns: columns(&["mean", "most"]),
        rows: uses.iter().map(row).collect(),
        rows_of: uses.len(),
        conditions: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, kind};
    use crate::{Answer, AnswerKind, answer};
    use model::{
        CounterDef, CounterKind, KindRow, LogSeverity, MissingPart, ObservedLog, ObservedMessage, ObservedReplica,
        OpKind, SourceDef, StatementCost,
    };

    fn statement(text: &str, calls: u64, time_ns: u64, read: u64, sent: u64) -> ObservedStatement {
        let cost = StatementCost { calls, time_ns, rows_read: Some(read), rows_sent: sent, ..StatementCost::default() };
        ObservedStatement { text: text.into(), database: Some("shop".into()), class: Some(OpClass::Read), cost }
    }

    /// 60 s of 400 reads and 100 writes a second.
    fn watched(seen: Observation) -> Simulation {
        Simulation::counts(&[0; 60]).with(|point| {
            point.kinds = vec![kind("read"), kind("write")];
            (point.kinds[0].class, point.kinds[1].class) = (OpClass::Read, OpClass::Write);
            for interval in &mut point.phases[0].intervals {
                let row = |number: u8, ok: u64| KindRow { ok, ..KindRow::empty(OpKind(number)) };
                interval.kinds = vec![row(0, 400), row(1, 100)];
            }
            point.traits.phrases.insert(ENGINE.into(), "MariaDB".into());
            point.traits.observed = Some(Observation { url: Some("mysql://jo@db1".into()), ..seen });
        })
    }

    fn answered(simulation: &Simulation) -> Answer {
        answer(&simulation.analysis())
    }

    fn statements() -> Observation {
        Observation {
            counts: ObservedCounts::Statements,
            statements: vec![
                statement("SELECT * FROM `orders` WHERE `note` = ?", 600, 6_000_000_000, 600_000, 600),
                statement("SELECT 1", 29_400, 3_000_000_000, 29_400, 29_400),
            ],
            statements_ns: 60_000_000_000,
            ..Observation::default()
        }
    }

    #[test]
    fn a_watch_tells_rate_mix_and_time_and_the_statements_that_cost_most() {
        let found = answered(&watched(statements()));
        assert_eq!(found.kind, AnswerKind::Observed);
        assert_eq!(
            found.claims[0].sentence,
            "MariaDB executes 500 statements per second, 80 % of them reads and 20 % writes, in 300 us on average."
        );
        let table = found.table.expect("statements are known");
        let first: Vec<&str> = table.rows[0].cells.iter().flatten().map(|cell| cell.text.as_str()).collect();
        assert_eq!(first, ["67 %", "10.0", "10.0 ms", "1.00k"]);
        assert_eq!(table.rows[0].name, ["1 SELECT * FROM orders WHERE note = ?"]);
        let suspected = found.claims.iter().any(|claim| claim.sentence.contains("may lack an index"));
        assert!(suspected && found.next.expect("it is suspected").starts_with("EXPLAIN SELECT * FROM"));
    }

    #[test]
    fn a_server_that_does_nothing_is_idle() {
        let idle = |counts| {
            let simulation = watched(Observation { counts, ..Observation::default() })
                .with(|point| point.phases[0].intervals.iter_mut().for_each(|interval| interval.kinds.clear()));
            answered(&simulation).claims[0].sentence.clone()
        };
        assert_eq!(idle(ObservedCounts::Statements), "MariaDB was idle: no statement in 60.0 s.");
        assert_eq!(idle(ObservedCounts::Transactions), "MariaDB was idle: no transaction in 60.0 s.");
    }

    #[test]
    fn a_name_that_needs_its_quotes_keeps_them() {
        let told = |text: &str| {
            let mut seen = statements();
            seen.statements[0].text = text.into();
            let found = answered(&watched(seen));
            (found.table.expect("statements are known").rows[0].name[0].clone(), found.next.expect("it is suspected"))
        };
        let (name, next) = told(r#"SELECT "amount EUR", "id" FROM "shop""#);
        assert_eq!(name, r#"1 SELECT "amount EUR", id FROM shop"#);
        assert_eq!(next, r#"EXPLAIN SELECT "amount EUR", "id" FROM "shop""#);
        let (name, next) = told("SELECT `id` FROM `shop` . `order lines`");
        assert_eq!(name, "1 SELECT id FROM shop.`order lines`");
        assert_eq!(next, "`` EXPLAIN SELECT id FROM shop . `order lines` ``");
    }

    #[test]
    fn where_the_server_counts_no_rows_read_the_table_has_pages_or_nothing() {
        let heads = |pages: Option<u64>| {
            let mut seen = statements();
            seen.statements.iter_mut().for_each(|one| (one.cost.rows_read, one.cost.pages) = (None, pages));
            let table = answered(&watched(seen)).table.expect("statements are known");
            let last = table.rows[0].cells.last().expect("it has cells").as_ref().map(|cell| cell.text.clone());
            (table.columns.last().expect("it has columns").head.clone(), last.unwrap_or_default())
        };
        assert_eq!(heads(Some(1_200)), ("pages/call".to_owned(), "2.00".to_owned()));
        assert_eq!(heads(None), ("mean".to_owned(), "10.0 ms".to_owned()));
    }

    #[test]
    fn a_statement_that_sums_up_what_it_reads_lacks_no_index() {
        for text in
            ["SELECT SUM ( `k` ) FROM `t` WHERE `id` BETWEEN ? AND ?", "select note, count(*) from t group by note"]
        {
            let mut seen = statements();
            seen.statements[0].text = text.into();
            let found = answered(&watched(seen));
            assert!(found.claims.iter().all(|claim| !claim.sentence.contains("may lack an index")), "{found:?}");
        }
    }

    #[test]
    fn nothing_calls_a_watch_invalid_because_it_has_no_operations() {
        let process = Observation::default();
        let simulation = watched(process).with(|point| {
            point.kinds.clear();
            point.phases[0].intervals.iter_mut().for_each(|interval| interval.kinds.clear());
        });
        let analysis = simulation.analysis();
        assert_eq!(analysis.points[0].validity, crate::Validity::Valid, "{:?}", analysis.points[0].findings);
        let found = answered(&simulation);
        assert!(found.claims.iter().all(|claim| !claim.sentence.contains("cannot be used")), "{:?}", found.claims);
        assert!(found.trust[0].starts_with("Watched for 60.0 s in 60 intervals"), "{:?}", found.trust);
    }

    #[test]
    fn what_is_missing_is_said_with_what_would_show_it() {
        let missing =
            vec![MissingPart { what: "statements: performance_schema is off".into(), mend: "turn it on".into() }];
        let found =
            answered(&watched(Observation { counts: ObservedCounts::Statements, missing, ..Observation::default() }));
        assert_eq!(
            found.claims.last().expect("it is told").sentence,
            "Not seen: statements: performance_schema is off."
        );
        assert_eq!(found.next.as_deref(), Some("turn it on"), "a command can be pasted");
        let rows: Vec<String> =
            found.table.expect("kinds are known").rows.into_iter().map(|row| row.name.join(" ")).collect();
        assert_eq!(rows, ["read", "write"]);
    }

    #[test]
    fn a_server_that_did_not_answer_is_told_and_its_rate_is_of_the_time_that_is_known() {
        let away = |away_s: u64, unknown_s: u64| {
            let (away_ns, unknown_ns) = (away_s * 1_000_000_000, unknown_s * 1_000_000_000);
            let simulation = watched(Observation { away_ns, unknown_ns, ..statements() });
            let found = answered(&simulation);
            let sentences: Vec<String> = found.claims.iter().take(2).map(|claim| claim.sentence.clone()).collect();
            (sentences, found.trust[0].clone(), simulation.analysis().verdict.steadiness().disturbed)
        };
        let (sentences, trust, disturbed) = away(20, 30);
        assert!(sentences[0].starts_with("MariaDB executes 1.00k statements per second"), "{sentences:?}");
        assert_eq!(sentences[1], "The server did not answer for 20.0 s of 60.0 s, up to the end.");
        assert!(
            trust.starts_with("Watched for 60.0 s in 60 intervals; the server did not answer for 20.0 s"),
            "{trust}"
        );
        assert_eq!(disturbed, 1);
        let (sentences, ..) = away(20, 0);
        assert!(sentences[0].starts_with("MariaDB executes 500 statements per second"), "{sentences:?}");
        assert_eq!(sentences[1], "The server did not answer for 20.0 s of 60.0 s.");
        let (sentences, ..) = away(60, 60);
        assert_eq!(sentences[0], "The server did not answer for 60.0 s of 60.0 s, up to the end.");
        assert_eq!(away(0, 0).2, 0);
    }

    #[test]
    fn a_watch_that_was_killed_or_goes_on_says_so_and_claims_no_cost_of_its_own_that_nobody_has_read() {
        let counter = CounterDef {
            name: "cpu".into(),
            unit: "ns".into(),
            kind: CounterKind::Counter,
            help: String::new(),
            role: Some(CounterRole::PlimsollCpu),
            in_pages: false,
        };
        let partial = watched(statements()).with(|point| {
            point.state = PointState::Partial;
            let source = SourceDef { name: "plimsoll".into(), subject: String::new(), counters: vec![counter] };
            point.sources.push(source);
        });
        let trust = answered(&partial).trust;
        assert_eq!(trust[0], "It is not complete: the watch was killed, or goes on.");
        assert_eq!(trust[1], "Watched for 60.0 s in 60 intervals.");
    }

    #[test]
    fn a_watch_that_was_ended_at_once_has_no_intervals_to_count() {
        let short = watched(statements()).with(|point| {
            point.phases[0].intervals.truncate(1);
            point.phases[0].end = point.phases[0].start + Nanos::from_millis(300);
        });
        let trust = answered(&short).trust;
        assert!(trust[0].starts_with("Watched for 300 ms in less than an interval"), "{trust:?}");
    }

    #[test]
    fn all_that_is_missing_is_named_and_without_the_cpu_nothing_is_nearest_for_sure() {
        let part = |what: &str| MissingPart { what: what.into(), mend: String::new() };
        let told = |missing: Vec<MissingPart>| {
            missing_claim(&Observation { missing, ..Observation::default() }).expect("it is missing").sentence
        };
        let machine = "CPU, memory and disk of the server's machine: it is another one";
        let both = told(vec![part("statements: performance_schema is off"), part(machine)]);
        assert_eq!(both, format!("Not seen: statements: performance_schema is off; {machine}."));
        let long = told(vec![part(&format!("statements: {}", "a message ".repeat(30))), part(machine)]);
        assert_eq!(long, "Not seen: statements; CPU, memory and disk of the server's machine.");
        assert!(missing_claim(&Observation::default()).is_none());
        let used = |thing, mean| LimitUse { thing, mean, most: mean, by_engine: None, of: None };
        let analysis = watched(statements()).analysis();
        let told = |uses: &[LimitUse]| limit_claim(&analysis.points[0], uses).expect("a limit is known").sentence;
        let log = used(LimitedThing::Log, 0.046);
        let unsure = told(std::slice::from_ref(&log));
        assert!(unsure.starts_with("Of what is seen, nearest to its limit is the age of the log: 4.6 %"), "{unsure}");
        assert!(told(&[log, used(LimitedThing::Cpu, 0.01)]).starts_with("Nearest to its limit is the age of the log"));
    }

    #[test]
    fn of_a_replica_it_is_told_how_far_it_is_behind_or_that_it_stands_still() {
        let told = |replica| {
            let found = answered(&watched(Observation { replica: Some(replica), ..statements() }));
            found.claims.into_iter().map(|claim| claim.sentence).find(|sentence| sentence.contains("replica"))
        };
        let runs =
            ObservedReplica { readings: 60, behind_s: Some(2.0), behind_max_s: Some(40.0), ..Default::default() };
        let expected = "It is a replica, 2 s behind its primary at the end and 40 s at most.";
        assert_eq!(told(runs.clone()).as_deref(), Some(expected));
        let stopped_by = "the thread that applies does not run (error 1062)".to_owned();
        let stopped = ObservedReplica { stopped: 7, stopped_by, ..runs };
        let expected = "It is a replica, and replication stood still at 7 of 60 readings: the thread that applies does not run (error 1062).";
        assert_eq!(told(stopped.clone()).as_deref(), Some(expected));
        let stands = told(ObservedReplica { is_stopped: true, behind_s: None, ..stopped });
        let expected =
            "It is a replica, and replication stands still: the thread that applies does not run (error 1062).";
        assert_eq!(stands.as_deref(), Some(expected));
    }

    #[test]
    fn errors_of_the_log_are_told_and_warnings_alone_are_not() {
        let message = |count| ObservedMessage {
            severity: LogSeverity::Error,
            text: "InnoDB: Page ? of `t` cannot be read".into(),
            count,
        };
        let told = |errors, warnings, messages| {
            let log = Some(ObservedLog { errors, warnings, messages, ..ObservedLog::default() });
            let found = answered(&watched(Observation { log, ..statements() }));
            found.claims.into_iter().map(|claim| claim.sentence).find(|sentence| sentence.contains("error log"))
        };
        assert_eq!(
            told(12, 3, vec![message(10)]).as_deref(),
            Some(
                "Its error log has 12 errors and 3 warnings, most often (10 times): InnoDB: Page ? of t cannot be read."
            )
        );
        let one = told(1, 0, vec![message(1)]);
        assert_eq!(one.as_deref(), Some("Its error log has 1 error: InnoDB: Page ? of t cannot be read."));
        assert_eq!(told(0, 5, Vec::new()), None);
    }

    #[test]
    fn a_load_that_is_known_can_be_taken_along() {
        let mut seen = statements();
        seen.statements.remove(0);
        let next = answered(&watched(seen)).next.expect("statements are known");
        assert_eq!(next, "plimsoll schema 'mysql://jo@db1/shop' --statements --out load.toml");
        let named = |url: &str, database| with_database(url, database).unwrap_or_default();
        assert_eq!(named("postgres://a@b/c?x=1", Some("d")), "postgres://a@b/c?x=1");
        assert_eq!(named("postgres://a@b/c", None), "postgres://a@b/c");
        assert_eq!(named("mysql://a@b/?socket=/s", Some("d")), "mysql://a@b/d?socket=/s");
    }

    #[test]
    fn a_load_is_taken_along_from_the_database_that_is_used_most_and_not_without_one() {
        let next = |databases: [Option<&str>; 3]| {
            let mut seen = statements();
            seen.statements = (1..).zip(databases).map(|(calls, _)| statement("SELECT 1", calls, 1, 1, 1)).collect();
            for (one, database) in seen.statements.iter_mut().zip(databases) {
                one.database = database.map(str::to_owned);
            }
            answered(&watched(seen)).next
        };
        let most = next([Some("shop"), Some("logs"), None]).expect("a database is known");
        assert!(most.contains("'mysql://jo@db1/logs'"), "{most}");
        assert_eq!(next([None; 3]), None, "plimsoll schema would refuse the URL");
    }
}
