//! How far a replay did what was recorded, and how punctually.
//!
//! In: facts of a replay. Out: [`ReplayDivergence`], [`RecordedStarts`] and [`RecordedContent`]. Limits: what the log does not have is not
//! compared.

use crate::replay_facts::{
    ComparedBy, KindDivergence, MovedKeys, REPLAY_COMPARED_FACT, REPLAY_COUNTERS_FACT, REPLAY_IDS_FACT,
    REPLAY_KEYS_FACT, REPLAY_ORDER_FACT, REPLAY_UNTOLD_FACT, ReplayCounters, RowOrder, TRIGGERED_FACT,
};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the names of facts begin with that tell what a recording of statements has.
pub(super) const RECORDED_FACT: &str = "recorded.";
/// What the rest of such a name begins with if it tells what was skipped; the kind follows.
const SKIPPED: &str = "skipped.";

/// How far the statements of a replay did what the recorded ones did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayDivergence {
    /// By what they were compared.
    pub compared_by: ComparedBy,
    /// How many were compared.
    pub compared: u64,
    /// How many of them diverged.
    pub diverged: u64,
    /// Each kind of which some were compared.
    pub kinds: Vec<KindDivergence>,
    /// How many failed of which the log does not say whether they failed then; they count as done.
    #[serde(default)]
    pub untold: u64,
    /// How many of the log were left out because triggers execute them.
    #[serde(default)]
    pub triggered: u64,
    /// How many name a row that another session wrote before them.
    #[serde(default)]
    pub ordered: u64,
    /// How many of these were sent before that write had ended.
    #[serde(default)]
    pub ahead: u64,
    /// How long statements waited for such a write, all clients together.
    #[serde(default)]
    pub held_back_ns: Nanos,
    /// How long those waited that did not see its end.
    #[serde(default)]
    pub in_vain_ns: Nanos,
    /// How many keys have values of their own in each copy.
    #[serde(default)]
    pub keys: u64,
    /// Those of them of which no value was moved.
    #[serde(default)]
    pub still_keys: Vec<String>,
    /// How often the server was told an id.
    #[serde(default)]
    pub told_ids: u64,
    /// How many ids the server had given when the point began, all counters together; `None` if no ids were worked out.
    #[serde(default)]
    pub given_ids: Option<u64>,
    /// By how much lower ids are that sessions say, if the server had given these already.
    #[serde(default)]
    pub ids_behind: u64,
}

/// How punctually the requests of a recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedStarts {
    /// Requests that began.
    pub begun: u64,
    /// Those of them that began later than `on_time_within_ns` after their time.
    pub late: u64,
    /// Within which time a request was on time.
    pub on_time_within_ns: Nanos,
    /// The longest time between the time of a request and its beginning.
    pub latest_ns: Nanos,
}

/// What a recording of statements has, and what is missing in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedContent {
    /// Statements of the whole recording that may be replayed: those of all its time, once.
    pub statements: u64,
    /// Those of them that failed when they were recorded.
    pub failed: u64,
    /// The sessions that were replayed.
    pub sessions: u64,
    /// Statements that could be read and were left out: they write, or do more than read.
    pub left_out: u64,
    /// Statements that were left out because their values are not known.
    pub unbound: u64,
    /// How many of these failed when they were recorded.
    pub failed_unbound: u64,
    /// Those that were left out although they stored rows, which no log has.
    pub loads: u64,
    /// How often each kind of thing was found that is no statement, or cannot be read.
    pub skipped: BTreeMap<String, u64>,
}

impl RecordedContent {
    /// Takes over a fact whose name goes on with `name`. What stands behind a number, as where its kind was found first, is for people.
    pub(super) fn learn(&mut self, name: &str, text: &str) {
        let Some(count) = text.split(',').next().and_then(|number| number.trim().parse::<u64>().ok()) else { return };
        match name {
            "log_statements" => self.statements = count,
            "log_failed" => self.failed = count,
            "sessions" => self.sessions = count,
            "left_out_unbound" => self.unbound = count,
            "left_out_failed_unbound" => self.failed_unbound = count,
            "left_out_loads" => self.loads = count,
            "left_out_writes" | "left_out_of_session" | "left_out_effects" => {
                self.left_out = self.left_out.saturating_add(count);
            }
            _ => {
                self.skipped.extend(name.strip_prefix(SKIPPED).map(|kind| (kind.to_owned(), count)));
            }
        }
    }
}

impl ReplayDivergence {
    pub(super) fn learn(&mut self, name: &str, text: &str) {
        if name == REPLAY_COMPARED_FACT {
            self.compared_by = ComparedBy::from_word(text);
        } else if name == REPLAY_UNTOLD_FACT {
            self.untold = text.parse().unwrap_or(0);
        } else if name == TRIGGERED_FACT {
            self.triggered = text.parse().unwrap_or(0);
        } else if name == REPLAY_ORDER_FACT {
            let order = RowOrder::from_text(text).unwrap_or_default();
            (self.ordered, self.ahead) = (order.named, order.ahead);
            (self.held_back_ns, self.in_vain_ns) = (order.waited_ns, order.in_vain_ns);
        } else if name == REPLAY_KEYS_FACT {
            let MovedKeys(keys) = MovedKeys::from_text(text);
            self.keys += keys.len() as u64;
            self.still_keys.extend(keys.into_iter().filter(|key| key.moved == 0).map(|key| key.name));
        } else if name == REPLAY_IDS_FACT {
            let told = text.split(' ').next().and_then(|count| count.parse().ok());
            self.told_ids = self.told_ids.saturating_add(told.unwrap_or(0));
        } else if name == REPLAY_COUNTERS_FACT {
            let ReplayCounters { lasts, behind } = ReplayCounters::from_text(text);
            self.given_ids = Some(lasts.into_iter().fold(0, |sum: u64, (_, last)| sum.saturating_add(last)));
            self.ids_behind = behind;
        } else if let Some(kind) = KindDivergence::from_text(text) {
            self.compared = self.compared.saturating_add(kind.compared);
            self.diverged = self.diverged.saturating_add(kind.diverged());
            self.kinds.push(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_in_a_recording_is_learnt_by_its_kinds() {
        let mut content = RecordedContent::default();
        for (name, text) in [
            ("log_statements", "767"),
            ("log_failed", "3"),
            ("sessions", "8"),
            ("left_out_writes", "10"),
            ("left_out_effects", "2"),
            ("left_out_unbound", "5"),
            ("left_out_failed_unbound", "3"),
            ("left_out_loads", "4"),
            ("statements", "1534"),
            ("skipped", "1722"),
            ("skipped.statements_that_are_cut", "1712"),
            ("skipped.entry_that_is_cut_off", "10, first in line 7"),
            ("version", "15.6"),
        ] {
            content.learn(name, text);
        }
        let skipped = [("entry_that_is_cut_off", 10), ("statements_that_are_cut", 1_712)];
        let expected = RecordedContent {
            statements: 767,
            failed: 3,
            sessions: 8,
            left_out: 12,
            unbound: 5,
            failed_unbound: 3,
            loads: 4,
            skipped: skipped.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect(),
        };
        assert_eq!(content, expected);
    }
}
