//! How far a replay did what was recorded, and how punctually.
//!
//! In: facts of a replay. Out: [`ReplayDivergence`] and [`RecordedStarts`]. Limits: what the log does not have is not compared.

use crate::replay_facts::{
    ComparedBy, KindDivergence, MovedKeys, REPLAY_COMPARED_FACT, REPLAY_COUNTERS_FACT, REPLAY_IDS_FACT,
    REPLAY_KEYS_FACT, REPLAY_ORDER_FACT, ReplayCounters, RowOrder,
};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

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

impl ReplayDivergence {
    pub(super) fn learn(&mut self, name: &str, text: &str) {
        if name == REPLAY_COMPARED_FACT {
            self.compared_by = ComparedBy::from_word(text);
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
