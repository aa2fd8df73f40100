//! Connections: what was held until an engine refused one more, and the queues in which they wait at a listener.
//!
//! In: facts of a point (`hold.*`, `backlog.*`). Out: [`HoldOutcome`] and [`ListenBacklog`], typed for the analysis.
//! Limits: a value that is not stated is `None`, never a guess.

use serde::{Deserialize, Serialize};

/// Connections or transactions, held until an engine refuses one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldKind {
    Connections,
    /// Connections with an open transaction that has written.
    Transactions,
}

impl HoldKind {
    /// The word used in parameters and facts.
    pub fn as_str(self) -> &'static str {
        match self {
            HoldKind::Connections => "connections",
            HoldKind::Transactions => "transactions",
        }
    }

    /// The kind that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<HoldKind> {
        [HoldKind::Connections, HoldKind::Transactions].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Which limit ended a hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldLimit {
    /// The engine refused one more.
    #[default]
    Engine,
    /// Plimsoll could open no more: its files or ports were used up.
    Plimsoll,
    /// As many were open as were asked for.
    Asked,
    /// The run was ended before a limit was reached.
    Interrupted,
}

impl HoldLimit {
    /// The word used in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            HoldLimit::Engine => "engine",
            HoldLimit::Plimsoll => "plimsoll",
            HoldLimit::Asked => "asked",
            HoldLimit::Interrupted => "interrupted",
        }
    }

    fn from_word(word: &str) -> HoldLimit {
        let known = [HoldLimit::Engine, HoldLimit::Plimsoll, HoldLimit::Asked, HoldLimit::Interrupted];
        known.into_iter().find(|limit| limit.as_str() == word).unwrap_or_default()
    }
}

/// What a hold reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HoldOutcome {
    /// How many were held at the end: when one more was refused, if the limit is the engine's.
    pub reached: u64,
    /// The connections of the engine at that moment, those of others and plimsoll's own among them; `None` if they cannot be counted.
    pub connections: Option<u64>,
    /// The limit of the engine on connections, as it states it.
    pub connections_max: Option<u64>,
    /// Which limit it was.
    pub limit: HoldLimit,
    /// The text of the refusal.
    pub error: Option<String>,
    /// The memory of the engine's processes at some numbers held, from none on; empty if it is not seen.
    pub memory: Vec<HeldMemory>,
    /// The threads of the engine's processes with none held, and with all.
    pub threads: Option<[u64; 2]>,
    /// The number of these processes with none held, and with all.
    pub processes: Option<[u64; 2]>,
}

/// The memory of an engine while so many connections were held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldMemory {
    pub held: u64,
    /// Bytes of its own that are resident, shared pages divided by the processes that share them (the kernel's PSS).
    pub bytes: u64,
}

impl HoldOutcome {
    /// The memory that each of them took, in bytes: the median slope between all pairs of readings (Theil and Sen), which a jump at the
    /// beginning does not change; `None` if it is not seen, or if it did not grow.
    pub fn memory_per_connection(&self) -> Option<f64> {
        let pairs = self.memory.iter().enumerate().flat_map(|(nth, one)| {
            let later = self.memory[nth + 1..].iter().filter(|other| other.held > one.held);
            later.map(|other| (other.bytes as f64 - one.bytes as f64) / (other.held - one.held) as f64)
        });
        let mut slopes: Vec<f64> = pairs.collect();
        slopes.sort_by(f64::total_cmp);
        slopes.get(slopes.len() / 2).copied().filter(|slope| *slope > 0.0)
    }

    /// Takes over what the fact `hold.NAME` states.
    pub(crate) fn learn(&mut self, name: &str, text: &str) {
        let whole = || text.parse().ok();
        let pair = || text.split_once(' ').and_then(|(none, all)| Some([none.parse().ok()?, all.parse().ok()?]));
        match name {
            "reached" => self.reached = whole().unwrap_or_default(),
            "connections" => self.connections = whole(),
            "connections_max" => self.connections_max = whole(),
            "limit" => self.limit = HoldLimit::from_word(text),
            "error" => self.error = Some(text.to_owned()),
            "memory" => self.memory = text.split(' ').filter_map(HeldMemory::parse).collect(),
            "threads" => self.threads = pair(),
            "processes" => self.processes = pair(),
            _ => {}
        }
    }
}

impl HeldMemory {
    /// `16:81788928` as a fact has it.
    fn parse(text: &str) -> Option<HeldMemory> {
        let (held, bytes) = text.split_once(':')?;
        Some(HeldMemory { held: held.parse().ok()?, bytes: bytes.parse().ok()? })
    }
}

/// The queues of a listener: as it asked for them, and as the kernel bounds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListenBacklog {
    /// The most connections that may wait to be accepted, as the kernel holds it for the listener.
    pub queue_max: Option<u64>,
    /// Connections that waited to be accepted when the point began.
    pub queued: Option<u64>,
    /// `net.core.somaxconn`.
    pub somaxconn: Option<u64>,
    /// `net.ipv4.tcp_max_syn_backlog`.
    pub syn_backlog: Option<u64>,
    /// `net.ipv4.tcp_syncookies`.
    pub syncookies: Option<u64>,
    /// `net.ipv4.tcp_abort_on_overflow`.
    pub abort_on_overflow: Option<u64>,
}

impl ListenBacklog {
    /// Takes over what the fact `backlog.NAME` states.
    pub(crate) fn learn(&mut self, name: &str, value: Option<u64>) {
        match name {
            "queue_max" => self.queue_max = value,
            "queued" => self.queued = value,
            "somaxconn" => self.somaxconn = value,
            "tcp_max_syn_backlog" => self.syn_backlog = value,
            "tcp_syncookies" => self.syncookies = value,
            "tcp_abort_on_overflow" => self.abort_on_overflow = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_is_read_back_from_its_facts_and_memory_is_shared_out_among_the_connections() {
        let mut found = HoldOutcome::default();
        for (name, text) in [
            ("reached", "58"),
            ("connections", "60"),
            ("limit", "engine"),
            ("error", "Too many connections"),
            ("memory", "0:1000000 4:1400000 58:6800000"),
            ("threads", "9 67"),
        ] {
            found.learn(name, text);
        }
        assert_eq!((found.reached, found.connections, found.limit), (58, Some(60), HoldLimit::Engine));
        assert_eq!(
            (found.memory_per_connection(), found.threads, found.processes),
            (Some(100_000.0), Some([9, 67]), None)
        );
        assert_eq!(HoldOutcome::default().memory_per_connection(), None);
    }
}
