//! In words: connections that waited for the kernel.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: none.

use super::FindingWords;
use crate::wording::connections::spike_text;
use crate::wording::quantity::{or_unknown, percent, plural, range, time, whole};
use analysis::finding::connections::RetrySpikes;
use model::ListenBacklog;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_has_the_settings_of_the_queue_and_the_kernels_count_if_it_overflowed() {
        let backlog = ListenBacklog { queue_max: Some(1), somaxconn: Some(4096), ..ListenBacklog::default() };
        let full = queue_text(Some(40), &backlog);
        assert_eq!(full, "; the listener's queue (holds 1, somaxconn 4096) was full 40 times");
        assert_eq!(queue_text(Some(0), &backlog), "; no queue of this machine was full");
        assert_eq!(queue_text(None, &backlog), "");
    }
}
