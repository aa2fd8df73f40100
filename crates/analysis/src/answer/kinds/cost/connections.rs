//! Connections that are opened, asked once and closed: what each part takes.

use super::super::super::speech::{amount, name_words, number_word, plain, short_enough, spoken};
use super::super::super::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, Claim, ClaimKind};
use super::super::numbers::take_common;
use crate::answer::{AnswerParts, AskedRun};
use crate::findings::connect_retries::RetrySpikes;
use crate::points::work::WorkRate;
use crate::recorded::dimensions::ENGINE;
use crate::{Code, DetailKind, KindSummary, PointAnalysis, Role, Setting, Validity};
use model::{EngineProcess, Nanos};
use words::list::{capital, distinct, join_and};
use words::quantity::{count, number, range, time, whole};

/// The setting that names the way to the server.
const VIA: &str = "via";
/// Of more rows some are left to the details.
const ROWS_ALL_MAX: usize = 8;
/// Of fewer connections it says little that none waited.
const CONNECTIONS_TELLING: u64 = 1_000;

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let points = &run.analysis.points;
    let opens = |point: &PointAnalysis| point.summary.as_ref().is_none_or(|summary| !summary.kinds.is_empty());
    if points.is_empty() || !points.iter().all(opens) {
        return None;
    }
    let rows: Vec<&PointAnalysis> = run.usable().filter(|point| parts_of(point).next().is_some()).collect();
    let engines = distinct(rows.iter().map(|row| row.engine.clone()));
    let of_engine = |engine: &String| rows.iter().copied().filter(|row| row.engine == *engine).collect::<Vec<_>>();
    let of_ways = |engine: &String| {
        let rows = of_engine(engine);
        opening(run, &rows).into_iter().chain(unlike_logins(&rows)).collect::<Vec<_>>()
    };
    let mut claims: Vec<Claim> = engines.iter().flat_map(of_ways).collect();
    if let Some(together) = side_by_side(&engines.iter().map(of_engine).collect::<Vec<_>>()) {
        claims.retain(|claim| claim.kind != ClaimKind::Rate);
        claims.push(together);
    }
    let found =
        points.iter().find_map(|point| point.findings.iter().find_map(|one| RetrySpikes::in_detail(&one.detail)));
    // What each engine takes comes before what that costs, and whether a client had to ask again between them.
    claims.sort_by_key(|claim| match claim.kind {
        ClaimKind::Rate => 0,
        ClaimKind::Caution => 1,
        _ => 2,
    });
    let rates = claims.iter().filter(|claim| claim.kind == ClaimKind::Rate).count();
    claims.splice(rates..rates, found.map(retry_claim).or_else(|| none_waited(points)));
    claims.extend(engines.iter().filter_map(|engine| most(run, &of_engine(engine))));
    Some(AnswerParts {
        question: "What does it take to open a connection?".to_owned(),
        table: table(run, &rows),
        claims,
        next: None,
    })
}

/// The parts of a turn with their times, the opening first.
fn parts_of(point: &PointAnalysis) -> impl Iterator<Item = (&KindSummary, f64)> {
    let kinds = point.summary.iter().flat_map(|summary| &summary.kinds);
    kinds.filter_map(|kind| Some((kind, kind.response_ns?.p50 as f64)))
}

/// Of many rows those with the fewest clients, which wait for nothing but their connection.
fn table(run: &AskedRun, rows: &[&PointAnalysis]) -> Option<AnswerTable> {
    let fewest = rows.iter().map(|row| row.clients).min()?;
    let is_shown = |row: &&&PointAnalysis| rows.len() <= ROWS_ALL_MAX || row.clients == fewest;
    let row = |point: &&PointAnalysis| {
        let id = run.point_of(point);
        let cell = |figure: &str, ns: f64| AnswerCell::of(id, figure, ns, time(ns).to_string());
        let rate =
            WorkRate::of(point).map(|rate| AnswerCell::of(id, "ops_per_s", rate.value, count(rate.value).to_string()));
        let mut parts = parts_of(point);
        let first = parts.next();
        let p99 = first.and_then(|(kind, _)| kind.response_ns).map(|times| times.p99 as f64);
        let medians = [first.map(|(_, p50)| p50), parts.next().map(|(_, p50)| p50)];
        let [opening, asking] = medians.map(|p50| p50.map(|p50| cell("kind_response_p50_ns", p50)));
        let is_indicative = point.validity != Validity::Valid;
        let p99 = p99.map(|p99| AnswerCell { is_indicative, ..cell("kind_response_p99_ns", p99) });
        let cells = vec![rate, opening, p99, asking];
        AnswerRow { name: name_of(run, point), cells }
    };
    let longest = rows.iter().max_by_key(|row| parts_of(row).count())?;
    let parts: Vec<String> = parts_of(longest).map(|(kind, _)| plain(&kind.kind)).collect();
    let heads = ["per second".to_owned(), parts[0].clone(), "p99".to_owned()].into_iter().chain(parts.get(1).cloned());
    let columns: Vec<AnswerColumn> = heads.map(AnswerColumn::new).collect();
    let mut shown: Vec<AnswerRow> = rows.iter().filter(is_shown).map(row).collect();
    shown.iter_mut().for_each(|row| row.cells.truncate(columns.len()));
    let conditions = take_common(shown.iter_mut().map(|row| &mut row.name).collect()).join(", ");
    Some(AnswerTable { head: "medians".to_owned(), columns, rows: shown, rows_of: rows.len(), conditions })
}

/// What distinguishes it, part by part.
fn name_of(run: &AskedRun, point: &PointAnalysis) -> Vec<String> {
    let label = run.said(point.label.group.iter().chain(&point.label.place));
    let words: Vec<String> = label.into_iter().map(spoken).collect();
    if words.is_empty() { vec![engine_of(point)] } else { words }
}

fn engine_of(point: &PointAnalysis) -> String {
    point.settings.get(ENGINE).map_or_else(|| name_words(&point.engine), spoken)
}

/// `With one client MariaDB opens a connection in 152 us (a unix socket), 310 us (TCP) and 2.10 ms (TLS over TCP).` Of one way it says what
/// the other parts of a turn take, of several what they cost over the first.
fn opening(run: &AskedRun, rows: &[&PointAnalysis]) -> Vec<Claim> {
    opening_claims(run, rows).unwrap_or_default()
}

fn opening_claims(run: &AskedRun, rows: &[&PointAnalysis]) -> Option<Vec<Claim>> {
    let fewest = rows.iter().map(|row| row.clients).min()?;
    let own: Vec<&PointAnalysis> = rows.iter().copied().filter(|row| row.clients == fewest).collect();
    let clients = clients_words(fewest);
    let (engine, (_, first)) = (engine_of(own[0]), parts_of(own[0]).next()?);
    let begins = format!("With {clients} {engine} opens a connection in");
    let taken: Vec<String> =
        own.iter().filter_map(|row| Some(format!("{} ({})", time(parts_of(row).next()?.1), way_of(row)))).collect();
    let sentence = if let [only] = own.as_slice() {
        let others = parts_of(only).skip(1).map(|(kind, p50)| format!("{} takes {}", plain(&kind.kind), time(p50)));
        let others: Vec<String> = others.collect();
        let plain_one = format!("{begins} {} (median)", time(first));
        short_enough(vec![format!("{plain_one}; {}.", join_and(&others)), format!("{plain_one}.")])
    } else {
        let times = own.iter().filter_map(|row| Some(parts_of(row).next()?.1));
        let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| times.clone().fold(first, end));
        short_enough(vec![
            format!("{begins} {}.", join_and(&taken)),
            format!("{begins} {} to {}.", time(low), time(high)),
        ])
    };
    let claim = own.iter().fold(Claim::new(ClaimKind::Rate, sentence), |claim, row| match parts_of(row).next() {
        Some((_, p50)) => claim.figure_at(run.point_of(row), "kind_response_p50_ns", p50, None),
        None => claim,
    });
    let costs = own.iter().skip(1).filter_map(|row| {
        let times = parts_of(row).next()?.1 / first;
        Some((times, format!("{} takes {} times", way_of(row), number(times))))
    });
    let (ratios, costs): (Vec<f64>, Vec<String>) = costs.unzip();
    let sentence = short_enough(vec![
        format!("On {engine} {} as long as {}.", join_and(&costs), way_of(own[0])),
        format!("On {engine} the slowest takes {} times as long.", number(ratios.iter().copied().fold(1.0, f64::max))),
    ]);
    let cost = ratios
        .iter()
        .fold(Claim::new(ClaimKind::Difference, sentence), |claim, times| claim.figure("ratio", *times, None));
    let is_told = !ratios.is_empty();
    Some(std::iter::once(claim).chain(is_told.then_some(cost)).collect())
}

/// `With one client a connection takes 131 us (a unix socket) to 1.08 ms (TLS over TCP) on MariaDB, and 1.94 to 5.61 ms on PostgreSQL.` `None` of
/// one engine, or if the engines have different numbers of clients.
fn side_by_side(engines: &[Vec<&PointAnalysis>]) -> Option<Claim> {
    let fewest: Vec<u32> = distinct(engines.iter().filter_map(|rows| rows.iter().map(|row| row.clients).min()));
    let clients = fewest.first().copied().filter(|_| fewest.len() == 1 && engines.len() > 1)?;
    let mut claim = Claim::new(ClaimKind::Rate, String::new());
    let (mut named, mut short) = (Vec::new(), Vec::new());
    for rows in engines {
        let own = rows.iter().copied().filter(|row| row.clients == clients);
        let mut times: Vec<(f64, &PointAnalysis)> =
            own.filter_map(|row| Some((parts_of(row).next()?.1, row))).collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (first, last) = (times.first()?, times.last()?);
        let engine = engine_of(first.1);
        let range = range(&[&first.0, &last.0], |ns| *ns, time);
        let ends = [first, last].map(|(ns, row)| format!("{} ({})", time(*ns), way_of(row)));
        let is_named = times.len() > 1 && named.is_empty();
        named.push(if is_named {
            format!("{} on {engine}", ends.join(" to "))
        } else {
            format!("{range} on {engine}")
        });
        short.push(format!("{range} on {engine}"));
        claim = claim.figure("kind_response_p50_ns", first.0, None).figure("kind_response_p50_ns", last.0, None);
    }
    let begins = format!("With {} a connection takes", clients_words(clients));
    claim.sentence = short_enough([named, short].map(|parts| format!("{begins} {}.", join_and(&parts))).to_vec());
    Some(claim)
}

/// What distinguishes the way to the server.
fn way_of(row: &PointAnalysis) -> String {
    let is_way = |setting: &&Setting| setting.name != ENGINE && setting.used && setting.role != Role::Workload;
    join_and(&row.label.group.iter().filter(is_way).map(spoken).collect::<Vec<_>>())
}

fn clients_words(clients: u32) -> String {
    if clients == 1 { "one client".to_owned() } else { format!("{} clients", number_word(clients)) }
}

/// `MariaDB opens at most 4,310 connections per second, with 16 clients.`
fn most(run: &AskedRun, rows: &[&PointAnalysis]) -> Option<Claim> {
    let clients: Vec<u32> = distinct(rows.iter().map(|row| row.clients));
    let rates = rows.iter().filter_map(|row| Some((*row, WorkRate::of(row)?)));
    let (best, rate) = rates.max_by(|a, b| a.1.value.total_cmp(&b.1.value)).filter(|_| clients.len() > 1)?;
    let with = clients_words(best.clients);
    let sentence =
        format!("{} opens at most {} connections per second, with {with}.", engine_of(best), amount(rate.value));
    Some(Claim::new(ClaimKind::Rate, capital(&sentence)).figure_at(
        run.point_of(best),
        rate.unit.figure(),
        rate.value,
        rate.ci95,
    ))
}

/// That the ways to a private PostgreSQL differ in more than the way: its socket asks for no password, and SCRAM computes thousands of hashes.
fn unlike_logins(rows: &[&PointAnalysis]) -> Option<Claim> {
    let first = rows.first()?;
    let is_private = first.traits.engine.process == EngineProcess::Own && first.engine.starts_with("postgres");
    let ways = distinct(rows.iter().filter_map(|row| row.settings.get(VIA).map(|way| way.value.to_string())));
    let is_mixed = ways.len() > 1 && ways.iter().any(|way| way == "socket");
    let sentence = format!(
        "Most of what TCP adds to {} is the login: it asks for a password by SCRAM except at its socket.",
        engine_of(first)
    );
    (is_private && is_mixed).then(|| Claim::new(ClaimKind::Caution, sentence))
}

/// `None of 87,000 connections took a second: no attempt had to be repeated.` `None` of few connections.
fn none_waited(points: &[PointAnalysis]) -> Option<Claim> {
    let opened = || points.iter().filter_map(|point| Some(parts_of(point).next()?.0));
    let all: u64 = opened().map(|kind| kind.ops).sum();
    let longest = opened().filter_map(|kind| Some(kind.response_ns?.max)).max()?;
    let asks_again_after = Nanos::from_secs(1);
    (all >= CONNECTIONS_TELLING && longest < asks_again_after.0).then(|| {
        let sentence =
            format!("None of {} connections took a second: no attempt had to be repeated.", amount(all as f64));
        Claim::new(ClaimKind::NoDifference, sentence).figure("connections", all as f64, None)
    })
}

/// `30 of 87,000 connections took 1 s, because the server's queue for new ones (1 long) was full.`
fn retry_claim(found: &RetrySpikes) -> Claim {
    let delayed: u64 = found.spikes.iter().map(|spike| spike.count).sum();
    let waits: Vec<String> = found.spikes.iter().map(|spike| format!("{} s", spike.retry_ns.as_secs_f64())).collect();
    let waits = match waits.as_slice() {
        [only] => only.clone(),
        [first, .., last] => format!("{first} to {last}"),
        [] => "long".to_owned(),
    };
    let is_full = found.listen_overflows.is_some_and(|times| times > 0);
    let queue = found.backlog.queue_max.map_or(String::new(), |most| format!(" ({} long)", whole(most as f64)));
    let why = if is_full {
        format!("because the server's queue for new ones{queue} was full")
    } else {
        "as long as the kernel waits until it asks again".to_owned()
    };
    let sentence =
        format!("{} of {} connections took {waits}, {why}.", amount_of(delayed), amount(found.connections as f64));
    Claim::new(ClaimKind::Disturbance, capital(&sentence)).from_finding(Code::ConnectRetries).figure(
        "delayed",
        delayed as f64,
        None,
    )
}

fn amount_of(count: u64) -> String {
    if count < 1_000 { count.to_string() } else { amount(count as f64) }
}
