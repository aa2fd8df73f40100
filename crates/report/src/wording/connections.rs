//! Connections in words: the steps of a turn, and what was held when one more was refused.
//!
//! In: the numbers of a point. Out: one line or sentence each. Limits: the text of a server is quoted as it is.

use super::label::settings_label;
use super::quantity::{bytes, plural, time};
use analysis::{Analysis, KindSummary, PointAnalysis};
use model::{HoldKind, HoldLimit, HoldOutcome};

/// `connect p50 152 us, p99 1.2 ms, max 3.01 s; first_query p50 48 us ...`; `None` for a point without steps.
pub fn steps_line(kinds: &[KindSummary]) -> Option<String> {
    let parts: Vec<String> = kinds.iter().map(step_text).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn step_text(kind: &KindSummary) -> String {
    let failed = if kind.failed > 0 { format!(", {} failed", kind.failed) } else { String::new() };
    match kind.response_ns {
        None => format!("{} none{failed}", kind.kind),
        Some(q) => {
            let [p50, p99, max] = [q.p50, q.p99, q.max].map(|ns| time(ns as f64));
            format!("{} p50 {p50}, p99 {p99}, max {max}{failed}", kind.kind)
        }
    }
}

/// What each point that held connections reached, as sentences.
pub fn hold_sentences(analysis: &Analysis) -> Vec<String> {
    analysis.points.iter().filter_map(|point| hold_sentence(point, analysis.points.len() > 1)).collect()
}

/// `mariadb held 57 connections and refused the next: Too many connections. ...`; `None` if `point` held nothing.
fn hold_sentence(point: &PointAnalysis, is_one_of_several: bool) -> Option<String> {
    let (kind, found) = (point.traits.work.hold?, point.traits.outcome.hold.as_ref()?);
    let name = if is_one_of_several { settings_label(&point.label.group) } else { point.engine.clone() };
    Some(format!("{name} {}{}{}", end_of(kind, found), total(found), memory(found)))
}

fn end_of(kind: HoldKind, found: &HoldOutcome) -> String {
    let held = plural(found.reached, noun(kind));
    let error = found.error.as_deref().unwrap_or("no reason was given");
    match found.limit {
        HoldLimit::Engine => format!("held {held} and refused the next: {}.", error.trim_end_matches('.')),
        HoldLimit::Asked => format!("held {held}, all that were asked for (held_max): its limit is higher."),
        HoldLimit::Interrupted => format!("held {held} when the run was ended: its limit is higher."),
        HoldLimit::Plimsoll => format!(
            "held {held}; then plimsoll could open no more, not the engine: {}. Raise the limit of open files (`ulimit -n`).",
            error.trim_end_matches('.')
        ),
    }
}

fn noun(kind: HoldKind) -> &'static str {
    match kind {
        HoldKind::Connections => "connection",
        HoldKind::Transactions => "open transaction",
    }
}

/// ` It then had 60 connections in all, 3 of them plimsoll's own or of others; max_connections is 60.`
fn total(found: &HoldOutcome) -> String {
    let limit = found.connections_max.map_or(String::new(), |most| format!("; max_connections is {most}"));
    match found.connections {
        Some(all) if all > found.reached => {
            let others = all - found.reached;
            format!(" It then had {all} connections in all, {others} of them for control or of others{limit}.")
        }
        Some(all) => format!(" It then had {all} connections in all{limit}."),
        None => String::new(),
    }
}

/// How memory is counted.
const COUNTED: &str = "anonymous PSS, the sum over its processes";

fn memory(found: &HoldOutcome) -> String {
    let Some(each) = found.memory_per_connection() else { return String::new() };
    let grown = |what: Option<[u64; 2]>, noun: &str| {
        what.filter(|[none, all]| all > none).map(|[none, all]| format!("{none} to {all} {noun}"))
    };
    let grown: Vec<String> =
        grown(found.threads, "threads").into_iter().chain(grown(found.processes, "processes")).collect();
    let grown = if grown.is_empty() { String::new() } else { format!("; from {}", grown.join(" and ")) };
    format!(" Each took {} of the server's memory ({COUNTED}){grown}.", bytes(each))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::HeldMemory;

    fn full() -> HoldOutcome {
        HoldOutcome {
            reached: 57,
            connections: Some(60),
            connections_max: Some(60),
            error: Some("Too many connections".into()),
            memory: [(0, 80_000_000), (57, 85_700_000)].map(|(held, bytes)| HeldMemory { held, bytes }).into(),
            threads: Some([9, 66]),
            processes: Some([1, 1]),
            ..HoldOutcome::default()
        }
    }

    #[test]
    fn the_answer_of_a_hold_has_its_number_the_reason_and_what_it_took() {
        let text = end_of(HoldKind::Connections, &full()) + &total(&full()) + &memory(&full());
        assert_eq!(
            text,
            "held 57 connections and refused the next: Too many connections. It then had 60 connections in all, 3 of them for \
             control or of others; max_connections is 60. Each took 100 KB of the server's memory (anonymous PSS, the sum \
             over its processes); from 9 to 66 threads."
        );
    }

    #[test]
    fn plimsolls_own_limit_is_not_the_engines() {
        let own = HoldOutcome { limit: HoldLimit::Plimsoll, error: Some("too many open files".into()), ..full() };
        assert!(end_of(HoldKind::Transactions, &own).contains("plimsoll could open no more, not the engine"));
        let asked = HoldOutcome { limit: HoldLimit::Asked, error: None, memory: Vec::new(), ..full() };
        assert!(end_of(HoldKind::Connections, &asked).ends_with("its limit is higher."));
        assert_eq!(memory(&asked), "");
        let ended = HoldOutcome { limit: HoldLimit::Interrupted, error: None, ..full() };
        let text = end_of(HoldKind::Connections, &ended);
        assert_eq!(text, "held 57 connections when the run was ended: its limit is higher.");
    }
}
