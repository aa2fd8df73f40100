//! What the parameters of a workload mean at a point: reads and writes of a file, rows, a step, a variant, orders.
//!
//! In: nothing; each workload fills in what is its own. Out: [`WorkTraits`]. Limits: a workload that does none of it has `None`.

use crate::connections::HoldKind;
use crate::op::OpKind;
use crate::units::{Bytes, Nanos};
use crate::variant::StepPart;
use serde::{Deserialize, Serialize};

/// What a workload's parameters mean at a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkTraits {
    /// Reads and writes of a file; `None` for other families.
    pub io: Option<IoWork>,
    /// The rows that it inserts; `None` if it inserts none, or nothing is known of them.
    pub rows: Option<RowWork>,
    /// The step of a sequence that it is; `None` if it is in none.
    pub step: Option<StepWork>,
    /// The variant of a statement that it is; `None` if it is none.
    pub variant: Option<VariantWork>,
    /// What it opens and holds until the engine refuses one more; `None` if it holds nothing.
    pub hold: Option<HoldKind>,
    /// The computation that it repeats; `None` if it does anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The warehouses for which it enters orders; `None` if it enters none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orders: Option<OrderWork>,
}

/// Order entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderWork {
    /// How many warehouses there are.
    pub warehouses: u64,
    /// The keying and think times of the terminals, as a factor of those that are published; 0 for none.
    pub pauses: f64,
    /// The kind of operation that is a new order.
    pub new_order: OpKind,
}

impl OrderWork {
    /// The seconds of a transaction of a terminal with the published pauses, if the system answers at once (clause 4.2 of the
    /// specification).
    const PUBLISHED_CYCLE_S: f64 = 20.99;
    /// The most new orders that ten terminals of a warehouse can enter in a minute with these pauses: 45 of 100 transactions.
    const PUBLISHED_MAX: f64 = 10.0 * 0.45 * 60.0 / OrderWork::PUBLISHED_CYCLE_S;

    /// The most new orders that a warehouse can have in a minute; `None` without pauses.
    pub fn most_per_minute(&self) -> Option<f64> {
        (self.pauses > 0.0).then(|| OrderWork::PUBLISHED_MAX / self.pauses)
    }

    /// The most transactions that a client can have in a second; `None` without pauses.
    pub fn most_per_client_and_second(&self) -> Option<f64> {
        (self.pauses > 0.0).then(|| 1.0 / (OrderWork::PUBLISHED_CYCLE_S * self.pauses))
    }
}

/// A variant of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantWork {
    /// Its name.
    pub name: String,
    /// The parameter that names it.
    pub param: String,
    /// What each of its steps is for: those of the kinds of operation with the same numbers.
    pub parts: Vec<StepPart>,
    /// Whether it begins with cold caches.
    pub is_cold: bool,
    /// The time limit of each step, in nanoseconds; `None` for none.
    pub timeout: Option<Nanos>,
}

/// Whether operations follow one another on the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessPattern {
    /// Each goes to a block of its own choice.
    Random,
    /// Each begins where the one before it ended.
    Sequential,
}

/// Reads and writes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoWork {
    /// The size of each.
    pub block: Bytes,
    /// Where they go.
    pub pattern: AccessPattern,
    /// The share of reads among them, 0 to 1.
    pub read_share: f64,
    /// Whether clients sync what they wrote by calls of their own.
    pub syncs: bool,
}

/// Rows that a workload inserts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowWork {
    /// How many the run is to insert, over all clients; `None` if its time ends it.
    pub asked: Option<u64>,
    /// The widths of a row's columns, in bytes, without index entries.
    pub payload_bytes: Option<u64>,
    /// After so many rows over all tables these begin new partitions; `None` if they have none.
    pub partition_rows: Option<u64>,
    /// Whether rows are deleted, too.
    pub deletes: bool,
}

/// A step of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepWork {
    /// Its name.
    pub name: String,
    /// Its place in the order of all steps, from 0.
    pub at: u32,
    /// Whether it waits until the engine has written what it put off.
    pub drains: bool,
    /// What it does to secondary indexes.
    pub indexes: StepIndexes,
    /// The steps with which it belongs together in a table; `None` if the steps have no groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// What a step of a sequence does to the secondary indexes of its tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepIndexes {
    /// It leaves them as they are. If it is the first step, the tables have them from the start.
    #[default]
    Kept,
    /// It leaves them as they are. If it is the first step, the tables begin without them.
    NotAtStart,
    /// It makes them.
    Made,
}

impl StepIndexes {
    /// Whether the tables have their indexes when this step has begun; `before` is the state after the step before, `None` for
    /// the first step.
    pub fn present(self, before: Option<bool>) -> bool {
        match self {
            StepIndexes::Kept => before.unwrap_or(true),
            StepIndexes::NotAtStart => before.unwrap_or(false),
            StepIndexes::Made => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_indexes_from_the_start_or_once_a_step_has_made_them() {
        use StepIndexes::{Kept, Made, NotAtStart};
        let after = |steps: &[StepIndexes]| steps.iter().fold(None, |before, step| Some(step.present(before)));
        let all =
            [&[Kept][..], &[NotAtStart], &[NotAtStart, Kept], &[NotAtStart, Made, Kept], &[Kept, NotAtStart], &[]];
        let expected = [Some(true), Some(false), Some(false), Some(true), Some(true), None];
        assert_eq!(all.map(after), expected);
    }
}
