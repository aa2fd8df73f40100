//! A server or a node that was gone: for how long, what was lost, and how soon the rate was back.
//!
//! In: a run against several endpoints, or of a single point, in which one was gone. Out: a row for each endpoint, or for each point; what
//! the findings know of the longest outage. Limits: an outage of one of many points that differ in something else is not what was asked for.

use super::super::speech::{number_word, short_enough, spoken};
use super::super::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, Claim, ClaimKind};
use crate::answer::{AnswerParts, AskedRun};
use crate::findings::endpoint_outage::{EndpointOutage, EndpointOutages};
use crate::findings::host_lost::LostHosts;
use crate::findings::outage::{OutageEnd, Outages};
use crate::numbers::endpoints::FullRate;
use crate::points::metric::Metric;
use crate::points::sweep::is_usable;
use crate::{Code, DetailKind, EndpointSummary, PointAnalysis};
use model::{Nanos, Percentile};
use words::list::{capital, join_and};
use words::quantity::{count, percent, seconds, time};

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let points = &run.analysis.points;
    let is_gone = |point: &PointAnalysis| {
        found::<Outages>(point).is_some()
            || found::<EndpointOutages>(point).is_some()
            || found::<LostHosts>(point).is_some()
    };
    let has_endpoints = points.iter().all(|point| !point.endpoints.is_empty());
    let (longest, _) = points
        .iter()
        .filter(|point| is_usable(point) && is_gone(point) && (has_endpoints || run.rows.points.len() == 1))
        .map(|point| (point, longest_gone(point)))
        .max_by_key(|(_, gone)| *gone)?;
    let gone = points.iter().filter(|point| is_gone(point)).count();
    Some(AnswerParts {
        question: "How long was it gone, and what was lost?".to_owned(),
        table: table(longest),
        claims: claims(longest, (gone, points.len())),
        next: None,
    })
}

fn found<T: DetailKind>(point: &PointAnalysis) -> Option<&T> {
    point.findings.iter().find_map(|finding| T::in_detail(&finding.detail))
}

fn longest_gone(point: &PointAnalysis) -> Nanos {
    let of_endpoints = found::<EndpointOutages>(point).and_then(|all| all.outages.iter().map(|one| one.down_ns).max());
    let of_server = found::<Outages>(point).map(|all| all.longest_ns);
    of_endpoints.into_iter().chain(of_server).max().unwrap_or_default()
}

/// The endpoints next to each other, or the point alone.
fn table(point: &PointAnalysis) -> Option<AnswerTable> {
    let id = Some(point.id);
    let gone = |ns: f64| AnswerCell::of(id, "down_s", ns / 1e9, tenths(Nanos(ns as u64)));
    let failed = |failed: u64| AnswerCell::of(id, "failed", failed as f64, failed.to_string());
    let endpoint = |one: &EndpointSummary| AnswerRow {
        name: vec![one.endpoint.clone()],
        cells: vec![
            one.down_s.map(|s| gone(s * 1e9)),
            Some(failed(one.failed)),
            Some(AnswerCell::of(id, "endpoint_ops_per_s", one.ops_per_s, count(one.ops_per_s).to_string())),
            Some(AnswerCell::of(id, "share", one.share, percent(one.share).to_string())),
            one.response_ns.map(|times| {
                AnswerCell::of(id, "endpoint_response_max_ns", times.max as f64, time(times.max as f64).to_string())
            }),
        ],
    };
    let (heads, rows): (&[&str], Vec<AnswerRow>) = if point.endpoints.is_empty() {
        let summary = point.summary.as_ref()?;
        let p99 = Metric::Response(Percentile::P99).value(point).map(|p99| p99.value);
        let cells = vec![
            found::<Outages>(point).map(|outages| gone(outages.total_ns.0 as f64)),
            Some(failed(summary.failed)),
            Some(AnswerCell::of(id, "ops_per_s", summary.ops_per_s, count(summary.ops_per_s).to_string())),
            p99.map(|p99| AnswerCell::of(id, "response_p99_ns", p99, time(p99).to_string())),
        ];
        (&["gone for", "failed", "per second", "p99"], vec![AnswerRow { name: vec![point.engine.clone()], cells }])
    } else {
        let heads = &["gone for", "failed", "per second", "share", "longest"];
        (heads, point.endpoints.iter().map(endpoint).collect())
    };
    let columns = heads.iter().map(|head| AnswerColumn::new(*head)).collect();
    Some(AnswerTable { columns, rows_of: rows.len(), rows, ..AnswerTable::default() })
}

fn claims(point: &PointAnalysis, (gone, points): (usize, usize)) -> Vec<Claim> {
    let mut claims = Vec::new();
    if let Some(outages) = found::<Outages>(point) {
        claims.extend(server_claims(point, outages));
    }
    if let Some(all) = found::<EndpointOutages>(point) {
        claims.extend(endpoint_claims(all));
    }
    claims.extend(found::<LostHosts>(point).map(host_claim));
    if points > 1 {
        let place: Vec<String> = point.label.group.iter().chain(&point.label.place).map(spoken).collect();
        let of = format!(
            "This is the longest outage; {} of {} points had one",
            number_word(gone as u32),
            number_word(points as u32)
        );
        let sentence = short_enough(vec![format!("{of}. It was with {}.", join_and(&place)), format!("{of}.")]);
        claims.push(Claim::new(ClaimKind::Caution, sentence));
    }
    claims
}

fn server_claims(point: &PointAnalysis, found: &Outages) -> Vec<Claim> {
    let known = |time: Nanos| seconds(time, found.interval_ns).to_string();
    let (longest, at) = (known(found.longest_ns), known(found.longest_at_ns));
    let sentence = match found.count {
        1 => {
            let then = afterwards(found.end, found.full_rate, found.interval_ns);
            format!("The server was gone for {longest}, from {at} on{then}.")
        }
        times => format!(
            "The server was gone {} times, {} in all{}; the longest time was {longest}, from {at} on.",
            number_word(times as u32),
            known(found.total_ns),
            afterwards(found.end, FullRate::Unknown, found.interval_ns)
        ),
    };
    let gone = Claim::new(ClaimKind::Disturbance, sentence).from_finding(Code::Outage).figure_at(
        Some(point.id),
        "longest_ns",
        found.longest_ns.0 as f64,
        None,
    );
    let cause = if found.restarts > 0 { "the server was restarted" } else { "connections were lost" };
    let failed =
        Claim::new(ClaimKind::Disturbance, format!("{} meanwhile: {cause}.", capital(&failed_words(found.failed_ops))));
    vec![gone, failed.from_finding(Code::Outage).figure("failed_ops", found.failed_ops as f64, None)]
}

fn endpoint_claims(all: &EndpointOutages) -> Vec<Claim> {
    let longest = all.outages.iter().max_by_key(|one| one.down_ns).expect("there is an outage");
    let mut claims = vec![endpoint_claim(longest, all.interval_ns)];
    let failed: u64 = all.outages.iter().map(|one| one.failed.total()).sum();
    let sentence = format!(
        "{} while {} gone.",
        capital(&failed_words(failed)),
        if all.outages.len() == 1 { "it was" } else { "they were" }
    );
    claims.push(Claim::new(ClaimKind::Disturbance, sentence).from_finding(Code::EndpointOutage).figure(
        "failed",
        failed as f64,
        None,
    ));
    let others = all.outages.len() - 1;
    if others > 0 {
        let times = if others == 1 { "once more" } else { &format!("{} times more", number_word(others as u32)) };
        let sentence = format!("A node was gone {times}, for a shorter time.");
        claims.push(Claim::new(ClaimKind::Disturbance, sentence).from_finding(Code::EndpointOutage));
    }
    claims
}

/// `Node 2 was gone for 12.4 s, from 31.3 s on, and had its full rate again 28.2 s after it was lost; the others went on.`
fn endpoint_claim(one: &EndpointOutage, interval: Nanos) -> Claim {
    let then = afterwards(one.end, one.full_rate, interval);
    let (down, at) = (tenths(one.down_ns), tenths(one.at_ns));
    // A host has the name that the user gave it.
    let name = if one.endpoint.contains(' ') { capital(&one.endpoint) } else { one.endpoint.clone() };
    let sentence = format!("{name} was gone for {down}, from {at} on{then}; the others went on.");
    Claim::new(ClaimKind::Disturbance, sentence).from_finding(Code::EndpointOutage).figure(
        "down_ns",
        one.down_ns.0 as f64,
        None,
    )
}

/// `, and had its full rate again 5.3 s after it was lost`; nothing if that is not known.
fn afterwards(end: OutageEnd, full_rate: FullRate, interval: Nanos) -> String {
    match (end, full_rate) {
        (OutageEnd::EndOfRun, _) => ", and was not back when the run ended".to_owned(),
        (OutageEnd::ServerBack, FullRate::After(after)) => {
            format!(", and had its full rate again {} after it was lost", seconds(after, interval))
        }
        (OutageEnd::ServerBack, FullRate::NotReached) => ", and did not reach its full rate again".to_owned(),
        (OutageEnd::ServerBack, FullRate::Unknown) => String::new(),
    }
}

/// Outages of endpoints are known to a tenth of a second.
fn tenths(time: Nanos) -> String {
    seconds(time, Nanos::from_millis(100)).to_string()
}

fn host_claim(lost: &LostHosts) -> Claim {
    let names: Vec<String> = lost.lost.iter().map(|one| one.host.clone()).collect();
    let at = lost.lost[0].at_ns.map_or(" before it began".to_owned(), |at| format!(" {} after it began", tenths(at)));
    let rest = if lost.went_on { "; the point went on without it" } else { "" };
    let sentence = short_enough(match names.as_slice() {
        [only] => vec![format!("Host {only} was lost{at}{rest}.")],
        several => vec![
            format!("{} of {} hosts were lost: {}.", several.len(), lost.hosts, join_and(several)),
            format!("{} of {} hosts were lost.", several.len(), lost.hosts),
        ],
    });
    Claim::new(ClaimKind::Disturbance, sentence).from_finding(Code::HostLost)
}

/// `four operations failed`
fn failed_words(failed: u64) -> String {
    match failed {
        0 => "no operation failed".to_owned(),
        1 => "one operation failed".to_owned(),
        more => format!("{} operations failed", number_word(u32::try_from(more).unwrap_or(u32::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use crate::answer::{Answer, AnswerKind, answer};
    use crate::simulated::endpoints::{with_endpoint_down, with_endpoints};
    use crate::simulated::{SECOND, Simulation};
    use model::{Event, FailureClass, Tick};

    fn told(simulation: &Simulation) -> (AnswerKind, Vec<String>) {
        let Answer { kind, claims, .. } = answer(&simulation.analysis());
        (kind, claims.into_iter().map(|claim| claim.sentence).collect())
    }

    #[test]
    fn a_node_that_was_gone_is_told_with_how_long_what_was_lost_and_when_it_was_back() {
        let rates = |endpoint: usize, second: u64| match (endpoint, second) {
            (1, 31..=42) => 0,
            (1, 43..=58) => 50,
            _ => 100,
        };
        let simulation = with_endpoint_down(with_endpoints(70, rates), 1, 31.25, 12.4);
        let (kind, claims) = told(&simulation);
        assert_eq!(kind, AnswerKind::Failover);
        let full = "Node 2 was gone for 12.4 s, from 31.2 s on, and had its full rate again 28.2 s after it was lost; the others went on.";
        assert_eq!(claims, [full, "Four operations failed while it was gone."]);
    }

    #[test]
    fn a_server_that_was_gone_is_told_with_when_and_what_failed() {
        let counts: Vec<u64> = (0..60).map(|at| if (20..25).contains(&at) { 0 } else { 1_000 + at % 7 }).collect();
        let simulation = Simulation::counts(&counts).with(|point| {
            point.phases[0].intervals[20..25].iter_mut().for_each(|interval| interval.kinds[0].failed = 1);
            let lost = "client 0: the connection was lost";
            point.events.push(Event::failure(Tick(20 * SECOND + SECOND / 5), FailureClass::Lost, lost));
        });
        let (kind, claims) = told(&simulation);
        assert_eq!(kind, AnswerKind::Failover);
        assert_eq!(
            claims,
            [
                "The server was gone for 4.8 s, from 20.2 s on, and had its full rate again 5.3 s after it was lost.",
                "Five operations failed meanwhile: connections were lost."
            ]
        );
    }

    #[test]
    fn a_run_in_which_nothing_was_gone_is_no_failover() {
        let up = with_endpoints(30, |_, second| 100 + second % 7);
        assert_ne!(told(&up).0, AnswerKind::Failover);
    }
}
