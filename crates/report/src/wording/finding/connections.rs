//! In words: connections that waited for the kernel, and servers that were gone.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: none.

use super::FindingWords;
use crate::wording::connections::spike_text;
use crate::wording::quantity::{counted, listed, or_unknown, percent, plural, range, seconds, time, whole};
use analysis::Span;
use analysis::finding::connections::{EndpointOutage, EndpointOutages, OutageEnd, Outages, RetrySpikes};
use analysis::finding::units::nanos;
use model::{FailureCounts, ListenBacklog, Nanos};

impl FindingWords for RetrySpikes {
    const SUMMARY: &'static str = "connections waited for a retry of the kernel: 1, 3 or 7 seconds";
    const EXPLANATION: &'static str = "The response times of `connect` form narrow spikes at the times at which the \
         kernel of a client sends its SYN again: 1, 3, 7, 15 and 31 s after the first, and since Linux 6.5 also 2, 4 and 5 s. The \
         segment before was dropped, nearly always because the queue of the listener was full: the server did not accept as \
         fast as connections arrived. The queue has the least of the server's backlog (`back_log` of MariaDB and MySQL; \
         PostgreSQL takes twice max_connections) and `net.core.somaxconn`. A server that is merely slow has no such spikes.\n\n\
         The evidence: how many connections are in each spike, SYN segments that the machine sent again, connections that found a \
         queue full (ListenOverflows), attempts that were dropped (ListenDrops, TCPReqQFullDrop). These are counts of the machine, so \
         those of a server elsewhere are not among them. Raise the backlog and somaxconn, or open fewer connections: keep them, or \
         use a pool. Packets that a network loses look the same in the times, but no queue overflows then.\n\n\
         How it is decided: in a stretch of 0.15 s behind a retry there are far more connections than the 0.4 s before and after it \
         let expect (chance below 1 in 100,000), and the kernel has sent SYN segments again for at least half of them.";

    fn title(alike: &[&Self]) -> String {
        let spikes: Vec<String> = match alike {
            [one] => one.spikes.iter().map(|spike| spike_text(spike.count, spike.retry_ns.as_secs_f64())).collect(),
            _ => Vec::new(),
        };
        let at = if spikes.is_empty() { String::new() } else { format!(": {}", spikes.join(", ")) };
        let queue = if let [one] = alike { queue_text(one.listen_overflows, &one.backlog) } else { String::new() };
        format!(
            "{} of the connections waited for the kernel to repeat a SYN{at}{queue}",
            range(alike, |one| one.delayed_share.0, percent)
        )
    }

    fn evidence(&self) -> String {
        let counted = |value: Option<u64>| or_unknown(value.map(|value| value as f64), whole);
        let set = |value: Option<u64>| value.map_or("unknown".to_owned(), |value| value.to_string());
        format!(
            "median {}; SYN sent again {}, queue full {}, dropped at a listener {}, half-open queue full {}; the listener's \
             queue holds {}; somaxconn {}, tcp_max_syn_backlog {}, tcp_syncookies {}, tcp_abort_on_overflow {}",
            time(self.usual_ns.0 as f64),
            counted(self.syn_retransmits),
            counted(self.listen_overflows),
            counted(self.listen_drops),
            counted(self.syn_queue_drops),
            set(self.backlog.queue_max),
            set(self.backlog.somaxconn),
            set(self.backlog.syn_backlog),
            set(self.backlog.syncookies),
            set(self.backlog.abort_on_overflow)
        )
    }
}

/// What the kernel counted of the queue and what it may hold, as the end of a title:
/// `; the listener's queue (holds 1, somaxconn 4096) was full 40 times`; empty if nothing was counted.
fn queue_text(overflows: Option<u64>, backlog: &ListenBacklog) -> String {
    match overflows {
        None => String::new(),
        // The settings here are not those of a server elsewhere.
        Some(0) => "; no queue of this machine was full".to_owned(),
        Some(times) => {
            let held = backlog.queue_max.map(|most| format!("holds {most}"));
            let bound = backlog.somaxconn.map(|most| format!("somaxconn {most}"));
            let set: Vec<String> = held.into_iter().chain(bound).collect();
            let set = if set.is_empty() { String::new() } else { format!(" ({})", set.join(", ")) };
            format!("; the listener's queue{set} was full {}", plural(times, "time"))
        }
    }
}

const OUTAGES_LISTED_MAX: usize = 6;

impl FindingWords for Outages {
    const SUMMARY: &'static str = "the server was gone for a while";
    const EXPLANATION: &'static str = "Nothing finished for a while, and in that time clients lost their connections or the server was \
         restarted. The finding has when that was and how long it took until operations were done again; for a client that is the \
         time without the database. The server's log has the reason. The rate of the point contains the outage, so the point is at \
         most indicative; if the server was not back when the run phase ended, it is invalid. Caches are empty after a restart: \
         the rate may be lower for a while.\n\n\
         How it is decided: an outage is a stretch that is long and deep enough for a stall (below 20 % of the median rate) in \
         which operations failed and connections were lost, or in which the server was restarted. It begins with the first \
         connection that was lost, if that was reported, and ends with the first interval in which operations were done again, so \
         its end is known to an interval. It is reported once: it is no `stall`, its failures are not in `errors` and its restart \
         is not in `restarted`. This needs `on_error = count`: with `stop`, the default, the first lost connection ends the point. A \
         server that is frozen and goes on without losing connections has a `stall`.";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (one.end, one.restarts > 0, one.count == 1, one.interval_ns);
        form(self) == form(other)
    }

    fn title(alike: &[&Self]) -> String {
        let interval = alike[0].interval_ns;
        let in_seconds = |ns: f64| seconds(Nanos(ns as u64), interval);
        let longest = range(alike, |one| one.longest_ns.0 as f64, in_seconds);
        // Of several points a range of times would read as one outage.
        let at = match alike {
            [only] => format!(", at {}", in_seconds(only.longest_at_ns.0 as f64)),
            _ => String::new(),
        };
        let outages = match alike[0].count {
            1 if alike.len() == 1 => format!("an outage of {longest}{at}"),
            1 => format!("an outage each, of {longest}"),
            _ => {
                let total = range(alike, |one| one.total_ns.0 as f64, in_seconds);
                let count = counted(alike, |one| one.count as u64, "outage");
                format!("{count}, {total} in all; the longest {longest}{at}")
            }
        };
        let cause = if alike[0].restarts > 0 { "the server was restarted" } else { "connections were lost" };
        let end = match alike[0].end {
            OutageEnd::ServerBack => "",
            OutageEnd::EndOfRun => "; the server was not back at the end",
        };
        format!("{outages}: {cause}{end}")
    }

    fn evidence(&self) -> String {
        let failed = plural(self.failed_ops, "operation");
        let restarts = match self.restarts {
            0 => String::new(),
            restarts => format!(", {}", plural(restarts as u64, "restart")),
        };
        let first = match self.quoted.is_empty() {
            true => String::new(),
            false => format!("; first: {}", self.quoted.join("; ")),
        };
        format!("{} of the run phase, {failed} failed{restarts}{first}", percent(self.run_share.0))
    }

    fn times(&self, spans: &[Span]) -> String {
        let moment = |at_s: f64| seconds(nanos(at_s), self.interval_ns);
        let one = |span: &Span| format!("{}-{}", moment(span.from_s).digits(), moment(span.to_s));
        format!("; {}", listed(spans, OUTAGES_LISTED_MAX, one))
    }
}

impl FindingWords for EndpointOutages {
    const SUMMARY: &'static str = "one of several endpoints was down for a while";
    const EXPLANATION: &'static str = "Clients lost their connections to one of the endpoints and could not open them again. From then on \
         they used the next endpoint, and came back when the first one answered again. The finding has which endpoint it was, when it \
         was lost and for how long, the operations that failed there by their class, and after how long the endpoint did as much as \
         before: a node that comes back has cold caches and may have to fetch what it has missed. The rate of the point contains all of \
         this, so the point is at most indicative. The log of that server has the reason.\n\n\
         How it is decided: an endpoint is down from the first connection that is lost and cannot be opened again at once, until it \
         accepts a connection and performs statements; it is tried ten times a second. A server that freezes is lost only when a client \
         gives up waiting for it. Less than 0.2 s is no finding. The rate is full again in the first interval after that in which the \
         endpoint does at least 90 % of its median rate before. If no endpoint answers, that is an `outage`. This needs `on_error = \
         count`: with `stop`, the default, the first lost connection ends the point.";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (one.outages.len() == 1, one.interval_ns);
        form(self) == form(other)
    }

    fn title(alike: &[&Self]) -> String {
        match alike {
            [only] => {
                let clauses: Vec<String> =
                    only.outages.iter().map(|one| outage_clause(one, only.interval_ns)).collect();
                listed(&clauses, ENDPOINT_OUTAGES_MAX, String::clone)
            }
            several => {
                let longest = range(several, longest_ns, |ns| seconds(Nanos(ns as u64), TENTH));
                format!("single endpoints were down; the longest outage took {longest}")
            }
        }
    }

    fn evidence(&self) -> String {
        let failed = |one: &EndpointOutage| format!("{}: {}", one.endpoint, failed_clause(&one.failed));
        listed(&self.outages.iter().map(failed).collect::<Vec<_>>(), ENDPOINT_OUTAGES_MAX, String::clone)
    }
}

const ENDPOINT_OUTAGES_MAX: usize = 4;

fn longest_ns(found: &EndpointOutages) -> f64 {
    found.outages.iter().map(|one| one.down_ns.0 as f64).fold(0.0, f64::max)
}

/// `node 2 was down for 12.4 s from 31.0 s on; full rate again after 31.0 s`
fn outage_clause(one: &EndpointOutage, interval: Nanos) -> String {
    // Known to a tenth of a second, whatever the intervals of rates are.
    let known = |time: Nanos| seconds(time, TENTH);
    let again = match (one.end, one.full_rate_after_ns) {
        (OutageEnd::EndOfRun, _) => ", to the end of the run".to_owned(),
        (OutageEnd::ServerBack, Some(after)) => format!("; full rate again after {}", seconds(after, interval)),
        (OutageEnd::ServerBack, None) => "; it did not reach its full rate again".to_owned(),
    };
    format!("{} was down for {} from {} on{again}", one.endpoint, known(one.down_ns), known(one.at_ns))
}

const TENTH: Nanos = Nanos::from_millis(100);

/// `4 operations failed (lost 3, conflict 1)`
fn failed_clause(failed: &FailureCounts) -> String {
    let classes: Vec<String> =
        failed.by_class().map(|(class, number)| format!("{} {number}", class.as_str())).collect();
    match classes.is_empty() {
        true => "no operation failed".to_owned(),
        false => format!("{} failed ({})", plural(failed.total(), "operation"), classes.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outage_of_an_endpoint_is_a_sentence_with_its_length_and_its_recovery() {
        let mut failed = FailureCounts::default();
        failed.add_of(model::FailureClass::Lost, 4);
        let one = EndpointOutage {
            endpoint: "node 2".into(),
            at_ns: Nanos::from_secs(31),
            down_ns: Nanos::from_millis(12_400),
            end: OutageEnd::ServerBack,
            full_rate_after_ns: Some(Nanos::from_secs(31)),
            failed,
        };
        let found = |outages| EndpointOutages { endpoints: 3, outages, interval_ns: Nanos::from_secs(1) };
        let title = |outages| EndpointOutages::title(&[&found(outages)]);
        assert_eq!(title(vec![one.clone()]), "node 2 was down for 12.4 s from 31.0 s on; full rate again after 31.0 s");
        assert_eq!(found(vec![one.clone()]).evidence(), "node 2: 4 operations failed (lost 4)");
        let never = EndpointOutage { end: OutageEnd::EndOfRun, full_rate_after_ns: None, ..one.clone() };
        assert_eq!(title(vec![never]), "node 2 was down for 12.4 s from 31.0 s on, to the end of the run");
        let both = [found(vec![one.clone()]), found(vec![EndpointOutage { down_ns: Nanos::from_secs(2), ..one }])];
        let text = EndpointOutages::title(&both.each_ref());
        assert_eq!(text, "single endpoints were down; the longest outage took 2.0 to 12.4 s");
    }

    #[test]
    fn the_title_has_the_settings_of_the_queue_and_the_kernels_count_if_it_overflowed() {
        let backlog = ListenBacklog { queue_max: Some(1), somaxconn: Some(4096), ..ListenBacklog::default() };
        let full = queue_text(Some(40), &backlog);
        assert_eq!(full, "; the listener's queue (holds 1, somaxconn 4096) was full 40 times");
        assert_eq!(queue_text(Some(0), &backlog), "; no queue of this machine was full");
        assert_eq!(queue_text(None, &backlog), "");
    }

    #[test]
    fn an_outage_has_its_time_its_cause_and_whether_the_server_came_back() {
        let one = Outages {
            count: 1,
            total_ns: Nanos::from_millis(4_800),
            run_share: analysis::finding::units::Share(0.08),
            longest_ns: Nanos::from_millis(4_800),
            longest_at_ns: Nanos::from_millis(20_200),
            end: OutageEnd::ServerBack,
            failed_ops: 5,
            restarts: 1,
            quoted: vec!["lost: client 0: gone".into()],
            interval_ns: Nanos::from_secs(1),
        };
        assert_eq!(Outages::title(&[&one]), "an outage of 4.8 s, at 20.2 s: the server was restarted");
        let evidence = "8.0 % of the run phase, 5 operations failed, 1 restart; first: lost: client 0: gone";
        assert_eq!(one.evidence(), evidence);
        assert_eq!(one.times(&[Span { from_s: 20.2, to_s: 25.0 }]), "; 20.2-25.0 s");
        let longest_ns = Nanos::from_secs(3);
        let more = Outages { count: 2, longest_ns, restarts: 0, end: OutageEnd::EndOfRun, ..one };
        let expected = "2 outages, 4.8 s in all; the longest 3.0 s, at 20.2 s: connections were lost; the server was not back at the end";
        assert_eq!(Outages::title(&[&more]), expected);
    }
}
