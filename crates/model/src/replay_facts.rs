//! The facts of a replay that code reads again: how each is written and how it is read, side by side.
//!
//! In: what a replay has counted. Out: the text of a fact, for people, and the same counts from that text. Limits: times are read back with the three
//! digits that they are shown with. A key whose table or column has `; ` in its name is read back by another name.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The fact that tells by what the statements of a replay were compared with the recorded ones.
pub const REPLAY_COMPARED_FACT: &str = "replay_compared";
/// What the name of a fact begins with that tells how far statements of one kind diverged; the number of the kind follows.
pub const REPLAY_DIVERGENCE_FACT: &str = "replay_divergence.";
/// What the name of a fact begins with that tells with which message statements of a replay failed; its rank follows.
pub const REPLAY_FAILURES_FACT: &str = "replay_failures.";
/// What the name of a fact begins with that tells what one kind of statement of a replay has returned; the number of the kind follows.
pub const REPLAY_RESULTS_FACT: &str = "replay_results.";
/// The fact that tells how many statements of a replay failed of which the log does not say whether they failed then.
pub const REPLAY_UNTOLD_FACT: &str = "replay_failed_untold";
/// The fact that tells how many statements of a log are left out because triggers execute them.
pub const TRIGGERED_FACT: &str = "recorded.left_out_triggered";
/// The fact that has the number of statements that are left out although they stored rows, which the log does not have.
pub const LOADS_FACT: &str = "recorded.left_out_loads";
/// The fact that tells how many statements of a replay waited for one of another session on the same row.
pub const REPLAY_ORDER_FACT: &str = "replay_order";
/// The fact that tells of each key of a replay how many of its values each further copy has moved.
pub const REPLAY_KEYS_FACT: &str = "replay_keys";
/// The fact that begins with how often the server was told an id.
pub const REPLAY_IDS_FACT: &str = "replay_ids";
/// The fact that tells which ids the server had given last when a replay began.
pub const REPLAY_COUNTERS_FACT: &str = "replay_counters";

/// What a log has of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparedBy {
    /// None.
    #[default]
    Nothing,
    /// None, since its values are others than the recorded ones.
    Hashed,
    /// Whether statements failed.
    Errors,
    /// How many rows they returned and changed.
    Rows,
}

impl ComparedBy {
    /// The word used in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            ComparedBy::Nothing => "nothing",
            ComparedBy::Hashed => "hashed",
            ComparedBy::Errors => "errors",
            ComparedBy::Rows => "rows",
        }
    }

    /// What a fact says; nothing if it says something else.
    pub fn from_word(word: &str) -> ComparedBy {
        let known = [ComparedBy::Hashed, ComparedBy::Errors, ComparedBy::Rows];
        known.into_iter().find(|by| by.as_str() == word).unwrap_or_default()
    }
}

/// How far the statements of one kind did what the recorded ones did. Each of them counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindDivergence {
    /// The name of the kind.
    pub kind: String,
    /// How many were compared.
    pub compared: u64,
    /// Those that failed, and had not failed.
    pub failed: u64,
    /// Those that did not fail, and had failed.
    pub succeeded: u64,
    /// Those that returned another number of rows.
    pub returned: u64,
    /// Those that changed another number of rows.
    pub changed: u64,
    /// Those that made another id.
    pub other_id: u64,
}

impl fmt::Display for KindDivergence {
    /// The counts in the order of the fields, and the name of the kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KindDivergence { kind, compared, failed, succeeded, returned, changed, other_id } = self;
        write!(f, "{compared} {failed} {succeeded} {returned} {changed} {other_id} {kind}")
    }
}

impl KindDivergence {
    /// What a fact says; `None` if it says something else.
    pub fn from_text(text: &str) -> Option<KindDivergence> {
        let mut parts = text.splitn(7, ' ');
        let mut number = || parts.next()?.parse().ok();
        let [compared, failed, succeeded] = [number()?, number()?, number()?];
        let [returned, changed, other_id] = [number()?, number()?, number()?];
        let kind = parts.next()?.to_owned();
        Some(KindDivergence { kind, compared, failed, succeeded, returned, changed, other_id })
    }

    /// How many diverged in any way.
    pub fn diverged(&self) -> u64 {
        let ways = [self.failed, self.succeeded, self.returned, self.changed, self.other_id];
        ways.into_iter().fold(0, u64::saturating_add)
    }
}

/// A message with which statements of a replay failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureMessage {
    /// How many.
    pub failed: u64,
    /// What the server said, without numbers in quotes.
    pub message: String,
}

impl fmt::Display for FailureMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.failed, self.message)
    }
}

impl FailureMessage {
    /// What a fact says; `None` if it says something else.
    pub fn from_text(text: &str) -> Option<FailureMessage> {
        let (failed, message) = text.split_once(' ')?;
        Some(FailureMessage { failed: failed.parse().ok()?, message: message.to_owned() })
    }
}

/// What all statements of one kind have returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindResults {
    /// The name of the kind.
    pub kind: String,
    /// How many statements were answered.
    pub answers: u64,
    /// The rows of all answers.
    pub rows: u64,
    /// The columns of all answers.
    pub columns: u64,
    /// The sum of the hashes of all answers, each with its statement.
    pub checksum: String,
}

impl fmt::Display for KindResults {
    /// Answers, rows, columns, the checksum, and the name of the kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KindResults { kind, answers, rows, columns, checksum } = self;
        write!(f, "{answers} {rows} {columns} {checksum} {kind}")
    }
}

impl KindResults {
    /// What a fact says; `None` if it says something else.
    pub fn from_text(text: &str) -> Option<KindResults> {
        let mut parts = text.splitn(5, ' ');
        let mut number = || parts.next()?.parse().ok();
        let (answers, rows, columns) = (number()?, number()?, number()?);
        let (checksum, kind) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(KindResults { kind, answers, rows, columns, checksum })
    }
}

/// How statements of a replay kept the order of those of other sessions on the same rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowOrder {
    /// Statements that name a row which another session wrote before.
    pub named: u64,
    /// Those that waited for that write.
    pub waited: u64,
    /// How long, all clients together.
    pub waited_ns: Nanos,
    /// The longest of these waits.
    pub longest_ns: Nanos,
    /// Those that waited and did not see its end.
    pub in_vain: u64,
    /// How long these waited.
    pub in_vain_ns: Nanos,
    /// Those that were sent before that write had ended.
    pub ahead: u64,
    /// After how many waits in vain none was begun any more; `None` if there were fewer.
    pub given_up_after: Option<u64>,
}

const NAMED: &str = " statements name a row that another session wrote before";
const WAITED: &str = " waited for it";
const IN_VAIN: &str = " waited in vain";
const IN_ALL: &str = " in all";
const LONGEST: &str = ", the longest ";
const AHEAD: &str = " went ahead of it";
const AFTER: &str = "after ";
const NONE_BEGUN: &str = " waits in vain none was begun any more";

impl fmt::Display for RowOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{NAMED}; {}{WAITED}", self.named, self.waited)?;
        if self.waited > 0 {
            write!(f, ", {}{IN_ALL}{LONGEST}{}", self.waited_ns, self.longest_ns)?;
        }
        if self.in_vain > 0 {
            write!(f, "; {}{IN_VAIN}, {}{IN_ALL}", self.in_vain, self.in_vain_ns)?;
        }
        write!(f, "; {}{AHEAD}", self.ahead)?;
        self.given_up_after.iter().try_for_each(|many| write!(f, "; {AFTER}{many}{NONE_BEGUN}"))
    }
}

impl RowOrder {
    /// What a fact says; `None` if it says something else.
    pub fn from_text(text: &str) -> Option<RowOrder> {
        let mut parts = text.split("; ");
        let named = parts.next()?.strip_suffix(NAMED)?.parse().ok()?;
        let mut order = RowOrder { named, ..RowOrder::default() };
        parts.try_for_each(|part| order.take_part(part))?;
        Some(order)
    }

    fn take_part(&mut self, part: &str) -> Option<()> {
        if let Some(ahead) = part.strip_suffix(AHEAD) {
            self.ahead = ahead.parse().ok()?;
        } else if let Some((in_vain, time)) = part.split_once(IN_VAIN) {
            self.in_vain = in_vain.parse().ok()?;
            self.in_vain_ns = Nanos::parse(time.strip_prefix(", ")?.strip_suffix(IN_ALL)?)?;
        } else if let Some((waited, times)) = part.split_once(WAITED) {
            self.waited = waited.parse().ok()?;
            if let Some(times) = times.strip_prefix(", ") {
                let (in_all, longest) = times.split_once(LONGEST)?;
                self.waited_ns = Nanos::parse(in_all.strip_suffix(IN_ALL)?)?;
                self.longest_ns = Nanos::parse(longest)?;
            }
        } else {
            self.given_up_after = Some(part.strip_prefix(AFTER)?.strip_suffix(NONE_BEGUN)?.parse().ok()?);
        }
        Some(())
    }
}

/// What became of the keys of a replay; empty if one copy keeps its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedKeys(pub Vec<MovedKey>);

/// What became of the values of one key in the further copies of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedKey {
    /// As the user names it.
    pub name: String,
    /// Values up to this one stay; `None` if all move.
    pub above: Option<i64>,
    /// By how much values move in each further copy.
    pub range: i64,
    /// How many were moved.
    pub moved: u64,
    /// Those of them that are in the range of the next copy now.
    pub beyond: u64,
    /// How many were not moved, because the column cannot hold them.
    pub kept: u64,
}

const ONE_COPY: &str = "none: one copy keeps its values";
const ABOVE: &str = " above ";
const BY: &str = " by ";
const IN_EACH_COPY: &str = " in each further copy: ";
const VALUES: &str = " values";
const BEYOND: &str = " of them into the range of the next copy";
const STAYED: &str = " stayed because the column cannot hold them";

impl fmt::Display for MovedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(ONE_COPY);
        }
        let keys: Vec<String> = self.0.iter().map(MovedKey::to_string).collect();
        f.write_str(&keys.join("; "))
    }
}

impl MovedKeys {
    /// What a fact says, without the parts that say something else.
    pub fn from_text(text: &str) -> MovedKeys {
        MovedKeys(text.split("; ").filter_map(MovedKey::from_text).collect())
    }
}

impl fmt::Display for MovedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.above.iter().try_for_each(|above| write!(f, "{ABOVE}{above}"))?;
        write!(f, "{BY}{}{IN_EACH_COPY}{}{VALUES}", self.range, self.moved)?;
        if self.beyond > 0 {
            write!(f, ", {}{BEYOND}", self.beyond)?;
        }
        if self.kept > 0 {
            write!(f, ", and {}{STAYED}", self.kept)?;
        }
        Ok(())
    }
}

impl MovedKey {
    fn from_text(text: &str) -> Option<MovedKey> {
        let (key, counts) = text.split_once(IN_EACH_COPY)?;
        let (key, range) = key.rsplit_once(BY)?;
        // A name may have these words, too, and no number behind them.
        let bounded = key.rsplit_once(ABOVE).and_then(|(name, above)| Some((name, Some(above.parse().ok()?))));
        let (name, above) = bounded.unwrap_or((key, None));
        let mut counts = counts.split(", ");
        let moved = counts.next()?.strip_suffix(VALUES)?.parse().ok()?;
        let mut key = MovedKey { name: name.to_owned(), above, range: range.parse().ok()?, moved, beyond: 0, kept: 0 };
        for count in counts {
            match count.strip_suffix(BEYOND) {
                Some(beyond) => key.beyond = beyond.parse().ok()?,
                None => key.kept = count.strip_prefix("and ")?.strip_suffix(STAYED)?.parse().ok()?,
            }
        }
        Some(key)
    }
}

/// Where the counters behind ids stood when a replay began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounters {
    /// The columns into which the log inserts, and the last id of each.
    pub lasts: Vec<(String, u64)>,
    /// By how much lower ids are that sessions say, if the server has given these already.
    pub behind: u64,
}

const SAY_LOWER: &str = "; sessions say ids that are lower by about ";

impl fmt::Display for ReplayCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lasts: Vec<String> = self.lasts.iter().map(|(column, last)| format!("{column} {last}")).collect();
        f.write_str(&lasts.join(", "))?;
        if self.behind > 0 { write!(f, "{SAY_LOWER}{}", self.behind) } else { Ok(()) }
    }
}

impl ReplayCounters {
    /// What a fact says, without the parts that say something else.
    pub fn from_text(text: &str) -> ReplayCounters {
        let (lasts, behind) = text.split_once(SAY_LOWER).unwrap_or((text, "0"));
        let last = |one: &str| {
            let (column, last) = one.rsplit_once(' ')?;
            Some((column.to_owned(), last.parse::<u64>().ok()?))
        };
        ReplayCounters { lasts: lasts.split(", ").filter_map(last).collect(), behind: behind.parse().unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_back_from_their_fact() {
        let lasts = vec![("lines.id".to_owned(), 5_000), ("orders.id".to_owned(), 2_000)];
        let counters = ReplayCounters { lasts, behind: 0 };
        assert_eq!(counters.to_string(), "lines.id 5000, orders.id 2000");
        let low = ReplayCounters { behind: 843, ..counters.clone() };
        assert_eq!(low.to_string(), "lines.id 5000, orders.id 2000; sessions say ids that are lower by about 843");
        for counters in [counters, low, ReplayCounters::default()] {
            assert_eq!(ReplayCounters::from_text(&counters.to_string()), counters);
        }
    }

    #[test]
    fn a_word_of_answers_comes_back_and_another_word_is_nothing() {
        for by in [ComparedBy::Nothing, ComparedBy::Hashed, ComparedBy::Errors, ComparedBy::Rows] {
            assert_eq!(ComparedBy::from_word(by.as_str()), by);
        }
        assert_eq!(ComparedBy::from_word("columns"), ComparedBy::Nothing);
    }

    #[test]
    fn counts_of_a_kind_and_of_a_message_come_back_from_their_facts() {
        let kind = || "select c from t where id = ?".to_owned();
        let counts = KindDivergence {
            kind: kind(),
            compared: 40,
            failed: 1,
            succeeded: 2,
            returned: 3,
            changed: 4,
            other_id: 5,
        };
        assert_eq!(counts.to_string(), "40 1 2 3 4 5 select c from t where id = ?");
        assert_eq!(KindDivergence::from_text(&counts.to_string()), Some(counts));
        assert_eq!(KindDivergence::from_text("40 1 2 3 4 select c"), None);
        let results = KindResults { kind: kind(), answers: 7, rows: 8, columns: 9, checksum: "00ff".to_owned() };
        assert_eq!(KindResults::from_text(&results.to_string()), Some(results));
        let failure = FailureMessage { failed: 3, message: "ERROR 1062: Duplicate entry ?".to_owned() };
        assert_eq!(FailureMessage::from_text(&failure.to_string()), Some(failure));
    }

    #[test]
    fn the_order_on_rows_comes_back_from_its_fact() {
        let none = RowOrder { named: 1_204, ..RowOrder::default() };
        let some = RowOrder {
            waited: 37,
            waited_ns: Nanos::from_millis(4_120),
            longest_ns: Nanos::from_millis(995),
            ahead: 45,
            ..none
        };
        let many = RowOrder { in_vain: 20, in_vain_ns: Nanos::from_millis(990), given_up_after: Some(20), ..some };
        assert_eq!(
            many.to_string(),
            "1204 statements name a row that another session wrote before; 37 waited for it, 4.12 s in all, the longest 995 ms; \
             20 waited in vain, 990 ms in all; 45 went ahead of it; after 20 waits in vain none was begun any more"
        );
        for order in [none, some, many] {
            assert_eq!(RowOrder::from_text(&order.to_string()), Some(order));
        }
        assert_eq!(RowOrder::from_text("1204 statements waited"), None);
    }

    #[test]
    fn moved_keys_come_back_from_their_fact() {
        let bounded = MovedKey {
            name: "orders.id:order_lines.order_id".to_owned(),
            above: Some(500),
            range: 1_000,
            moved: 12,
            beyond: 2,
            kept: 3,
        };
        let still = MovedKey { name: "goods above all.by id".to_owned(), range: 50, ..MovedKey::default() };
        let keys = MovedKeys(vec![bounded, still]);
        assert_eq!(
            keys.to_string(),
            "orders.id:order_lines.order_id above 500 by 1000 in each further copy: 12 values, 2 of them into the range of the next copy, \
             and 3 stayed because the column cannot hold them; goods above all.by id by 50 in each further copy: 0 values"
        );
        assert_eq!(MovedKeys::from_text(&keys.to_string()), keys);
        let none = MovedKeys::default();
        assert_eq!(none.to_string(), "none: one copy keeps its values");
        assert_eq!(MovedKeys::from_text(&none.to_string()), none);
    }
}
