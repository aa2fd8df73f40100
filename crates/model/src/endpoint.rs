//! What clients did on each endpoint of a database that has several: the nodes of a cluster, a primary server and its replicas.
//!
//! In: the load loop makes the rows, the engine the names and the counters. Out: the store keeps them, the reading half sums them.
//! Limits: rows are increments, as everywhere. An operation belongs to the endpoint on which it ended; an engine with one endpoint has
//! no rows at all.

use crate::histogram::Times;
use crate::op::FailureClass;
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// The most endpoints that an engine may have.
pub const ENDPOINTS_MAX: usize = 64;

/// The operations that ended on one endpoint in one interval: an increment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointRow {
    /// The number of the endpoint, from 0; the traits of the engine have the names.
    pub endpoint: u16,
    pub ok: u64,
    /// Operations failed, by class. They are in no histogram.
    pub failed: FailureCounts,
    /// Response times of the operations done.
    pub response: Times,
}

impl EndpointRow {
    /// A row of `endpoint` without any operation.
    pub fn empty(endpoint: u16) -> EndpointRow {
        EndpointRow { endpoint, ok: 0, failed: FailureCounts::default(), response: Times::default() }
    }
}

/// How many operations failed, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureCounts([u64; FailureClass::ALL.len()]);

impl FailureCounts {
    /// Counts one more failure of `class`.
    #[inline]
    pub fn count(&mut self, class: FailureClass) {
        self.0[class as usize] += 1;
    }

    /// Adds `number` failures of `class`.
    pub fn add_of(&mut self, class: FailureClass, number: u64) {
        self.0[class as usize] = self.0[class as usize].saturating_add(number);
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &FailureCounts) {
        other.by_class().for_each(|(class, number)| self.add_of(class, number));
    }

    pub fn total(&self) -> u64 {
        self.0.iter().copied().fold(0, u64::saturating_add)
    }

    /// The classes that occurred, each with its number.
    pub fn by_class(&self) -> impl Iterator<Item = (FailureClass, u64)> {
        FailureClass::ALL.into_iter().zip(self.0).filter(|(_, number)| *number > 0)
    }
}

impl Serialize for FailureCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.by_class().try_for_each(|(class, number)| map.serialize_entry(class.as_str(), &number))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for FailureCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FailureCounts, D::Error> {
        let mut counts = FailureCounts::default();
        for (word, number) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            let class = FailureClass::from_word(&word);
            let class = class.ok_or_else(|| D::Error::custom(format!("operations failed as `{word}`")))?;
            counts.add_of(class, number);
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_class_and_only_those_that_occurred_are_named() {
        let mut counts = FailureCounts::default();
        counts.count(FailureClass::Lost);
        counts.count(FailureClass::Lost);
        let mut more = FailureCounts::default();
        more.add_of(FailureClass::Conflict, 3);
        counts.add(&more);
        assert_eq!(counts.total(), 5);
        let text = r#"{"conflict":3,"lost":2}"#;
        assert_eq!(serde_json::to_string(&counts).unwrap(), text);
        assert_eq!(serde_json::from_str::<FailureCounts>(text).unwrap(), counts);
        let unknown = serde_json::from_str::<FailureCounts>(r#"{"bored":1}"#).unwrap_err();
        assert!(unknown.to_string().starts_with("operations failed as `bored`"), "{unknown}");
    }

    #[test]
    fn each_class_has_its_place_and_is_found_by_its_word() {
        for (place, class) in FailureClass::ALL.into_iter().enumerate() {
            assert_eq!((class as usize, FailureClass::from_word(class.as_str())), (place, Some(class)));
        }
        assert_eq!(FailureClass::from_word("gone"), None);
    }
}
