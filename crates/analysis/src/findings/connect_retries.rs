//! Finds connections that waited for a retry of the kernel: their times form narrow spikes at 1, 3 and 7 seconds.
//!
//! In: the service times of the operations that open connections, the kernel's counts of repeated SYN segments and of full queues, the
//! settings of the queues. Out: a note: the times are those of the machine and its clients.
//! Limits: a client of TCP sends its SYN again 1, 3, 7, 15 and 31 s after the first (RFC 6298: the time-out is 1 s and doubles), and Linux from
//! 6.5 on also at 2, 4 and 5 s (`tcp_syn_linear_timeouts`). A spike is narrow and has little around it; times that are spread are none.
//! If the kernel counted no repeated SYN, an engine that takes a second to answer is none either. The counts are those of
//! the machine: other programs' connections are among them.

use super::{Detects, Finding, FindingKind};
use crate::computed_phase::Measured;
use crate::evidence::PointView;
use crate::evidence::retry_spikes::{RetrySpike, connect_times, find_spikes};
use crate::judgement::{NextStep, Severity};
use crate::math::units::Share;
use model::{CounterRole, ListenBacklog, Nanos};
use serde::Serialize;
use words::quantity::{or_unknown, percent, plural, range, time, whole};

/// Connections that took as long as the kernel waits before a retry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetrySpikes {
    /// Connections that were opened.
    pub connections: u64,
    /// The share of them that is in a spike.
    pub delayed_share: Share,
    /// The median time of all.
    pub usual_ns: Nanos,
    /// The spikes, in the order of their times; at least one.
    pub spikes: Vec<RetrySpike>,
    /// SYN and SYN-ACK segments that the machine sent again; `None` if that is not counted, here and below.
    pub syn_retransmits: Option<u64>,
    /// Connections that found the queue of a listener full.
    pub listen_overflows: Option<u64>,
    /// Connection attempts that a listener dropped, for this or another reason.
    pub listen_drops: Option<u64>,
    /// Connection attempts that found the queue of half-open connections full.
    pub syn_queue_drops: Option<u64>,
    /// The settings of the queues.
    #[serde(flatten)]
    pub backlog: ListenBacklog,
}

fn detect(view: &PointView) -> Vec<Finding> {
    let Some(measured) = view.measured else { return Vec::new() };
    let times = connect_times(view, &measured);
    let retransmitted = grown(view, &measured, CounterRole::SynRetransmits);
    let spikes = find_spikes(&times);
    let count: u64 = spikes.iter().map(|spike| spike.count).sum();
    // Half of them, because those of the last connections are repeated behind the last reading.
    if spikes.is_empty() || retransmitted.is_some_and(|segments| 2 * segments < count) {
        return Vec::new();
    }
    let detail = RetrySpikes {
        connections: times.len(),
        delayed_share: Share(count as f64 / times.len() as f64),
        usual_ns: Nanos(times.value_at_quantile(0.5)),
        spikes,
        syn_retransmits: retransmitted,
        listen_overflows: grown(view, &measured, CounterRole::ListenOverflows),
        listen_drops: grown(view, &measured, CounterRole::ListenDrops),
        syn_queue_drops: grown(view, &measured, CounterRole::SynQueueDrops),
        backlog: view.point.traits.outcome.backlog,
    };
    vec![Finding::new(Severity::Note, detail).next(NextStep::RaiseBacklog)]
}

fn grown(view: &PointView, measured: &Measured, role: CounterRole) -> Option<u64> {
    // What the last connections waited for was counted before the phase ended.
    measured.growth_of_all(view.point, role).map(|amount| amount as u64)
}

impl FindingKind for RetrySpikes {
    const SEVERITIES: &'static [Severity] = &[Severity::Note];
    const DETECTS: Detects = Detects::Point(detect);

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

/// What a retry spike is, for titles: `40 at 1 s`.
pub fn spike_text(count_of: u64, retry_s: f64) -> String {
    format!("{count_of} at {retry_s:.0} s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{NOISES, Random, Simulation, costly_seeds};
    use model::{KindDef, OpClass};

    /// A thousand connections a second that take a millisecond, and `slow` of them.
    fn connecting(slow: impl IntoIterator<Item = u64>) -> Simulation {
        let mut simulation = Simulation::counts(&[1_000; 20]);
        slow.into_iter().for_each(|ns| {
            simulation.add(19, 1, ns, ns);
        });
        simulation.with(|point| {
            point.trial.load.clients = 64;
            point.kinds = vec![KindDef::new("connect", OpClass::Connect)];
        })
    }

    fn counting(simulation: Simulation, syn_per_s: f64) -> Simulation {
        let names = ["listen_overflows", "listen_drops", "syn_queue_drops", "timeouts", "syn_retransmits"];
        let values = move |second: f64| vec![2.0 * second, 2.0 * second, 0.0, second, syn_per_s * second];
        let roles = [
            CounterRole::ListenOverflows,
            CounterRole::ListenDrops,
            CounterRole::SynQueueDrops,
            CounterRole::TcpTimeouts,
            CounterRole::SynRetransmits,
        ];
        simulation.source("tcp", &names, values).with(|point| {
            point.sources[0].counters.iter_mut().zip(roles).for_each(|(counter, role)| counter.role = Some(role));
        })
    }

    fn retried() -> Vec<u64> {
        let at = |ms: u64, count: u64| (0..count).map(move |nth| (ms + 3 + nth % 30) * 1_000_000);
        at(1_000, 40).chain(at(3_000, 25)).chain(at(7_000, 6)).collect()
    }

    #[test]
    fn spikes_at_the_retry_times_are_found_with_their_counts() {
        let found: RetrySpikes = counting(connecting(retried()), 5.0).figures();
        let spikes: Vec<(u64, u64)> =
            found.spikes.iter().map(|spike| (spike.retry_ns.0 / 1_000_000_000, spike.count)).collect();
        assert_eq!(spikes, [(1, 40), (3, 25), (7, 6)]);
        assert_eq!((found.connections, found.syn_retransmits, found.listen_overflows), (20_071, Some(100), Some(40)));
        assert!(found.usual_ns < Nanos::from_millis(1), "{found:?}");
    }

    #[test]
    fn a_server_that_sleeps_a_second_repeats_no_segment() {
        assert!(counting(connecting(retried()), 0.0).findings("connect-retries").is_empty());
    }

    #[test]
    fn without_counters_the_times_alone_show_it() {
        let found = connecting(retried()).figures::<RetrySpikes>();
        assert_eq!((found.spikes.len(), found.syn_retransmits), (3, None));
    }

    #[test]
    fn times_that_are_spread_are_no_spikes_whatever_their_noise() {
        for (name, noise) in NOISES {
            for seed in costly_seeds() {
                let mut random = Random::new(seed);
                let values = noise(&mut random, 2_000);
                // No noise begins at just a retry time.
                let slow = values.into_iter().map(|value| ((0.37 + value.abs()) * 1e9).clamp(1e5, 4e10) as u64);
                assert!(counting(connecting(slow), 500.0).findings("connect-retries").is_empty(), "{name} {seed}");
            }
        }
        for seed in costly_seeds() {
            let mut random = Random::new(seed);
            let slow: Vec<u64> = (0..2_000).map(|_| random.exponential(2e9) as u64).collect();
            assert!(counting(connecting(slow), 500.0).findings("connect-retries").is_empty(), "exponential {seed}");
        }
        assert!(counting(connecting([]), 500.0).findings("connect-retries").is_empty());
    }

    #[test]
    fn slow_operations_that_open_no_connection_are_none() {
        let reads =
            counting(connecting(retried()), 5.0).with(|point| point.kinds = vec![crate::simulated::kind("read")]);
        assert!(reads.findings("connect-retries").is_empty());
    }

    #[test]
    fn the_title_has_the_settings_of_the_queue_and_the_kernels_count_if_it_overflowed() {
        let backlog = ListenBacklog { queue_max: Some(1), somaxconn: Some(4096), ..ListenBacklog::default() };
        let full = queue_text(Some(40), &backlog);
        assert_eq!(full, "; the listener's queue (holds 1, somaxconn 4096) was full 40 times");
        assert_eq!(queue_text(Some(0), &backlog), "; no queue of this machine was full");
        assert_eq!(queue_text(None, &backlog), "");
    }
}
