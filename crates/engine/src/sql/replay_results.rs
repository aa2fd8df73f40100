//! What the statements of a replay have returned: of each kind how many rows, and a checksum that depends neither on the order of the rows nor
//! on that of the statements.
//!
//! In: the answer of one statement after the other, from all clients. Out: a fact for each kind. Limits: an answer counts together
//! with the session and the time of its statement, so that two statements which have exchanged their answers are found. Values are compared as
//! texts, as the server writes them.

use super::variant::rows::ResultSummary;
use model::{Fact, KindResults, OpKind, REPLAY_RESULTS_FACT};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The sums of all clients, by the numbers of the kinds.
pub struct ReplayResults {
    kinds: Vec<(&'static str, KindSums)>,
}

#[derive(Default)]
struct KindSums {
    answers: AtomicU64,
    rows: AtomicU64,
    columns: AtomicU64,
    checksum: AtomicU64,
}

impl ReplayResults {
    /// Of kinds with these names nothing yet.
    pub fn new(names: impl Iterator<Item = &'static str>) -> ReplayResults {
        ReplayResults { kinds: names.map(|name| (name, KindSums::default())).collect() }
    }

    /// Adds what one statement of `kind` has returned, whose session and time are these: whatever the copy calls its schemas, they are the same.
    pub fn add(&self, kind: OpKind, statement: [i64; 2], result: &ResultSummary) {
        let Some((_, sums)) = self.kinds.get(usize::from(kind.0)) else { return };
        // Its keys are fixed, so that runs of one program can be compared.
        let mut hasher = DefaultHasher::new();
        (statement, result.rows, result.columns, result.checksum).hash(&mut hasher);
        sums.answers.fetch_add(1, Relaxed);
        sums.rows.fetch_add(result.rows, Relaxed);
        sums.columns.fetch_add(result.columns, Relaxed);
        sums.checksum.fetch_add(hasher.finish(), Relaxed);
    }

    /// One fact for each kind that was answered.
    pub fn facts(&self) -> Vec<Fact> {
        let numbered = (1..).zip(&self.kinds);
        let facts = numbered.filter_map(|(nth, (name, sums))| {
            let text = sums.of_kind(name)?.to_string();
            Some(Fact::new(format!("{REPLAY_RESULTS_FACT}{nth}"), text))
        });
        facts.collect()
    }
}

impl KindSums {
    /// `None` if none was answered.
    fn of_kind(&self, name: &str) -> Option<KindResults> {
        let [answers, rows, columns, checksum] =
            [&self.answers, &self.rows, &self.columns, &self.checksum].map(|sum| sum.load(Relaxed));
        (answers > 0).then(|| KindResults {
            kind: name.to_owned(),
            answers,
            rows,
            columns,
            checksum: format!("{checksum:016x}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(answers: &[(i64, u64)]) -> Vec<Fact> {
        let results = ReplayResults::new(["select ?", "select ? from t"].into_iter());
        let add = |(due, checksum): &(i64, u64)| {
            results.add(OpKind(1), [7, *due], &ResultSummary { rows: 2, columns: 3, checksum: *checksum });
        };
        answers.iter().for_each(add);
        results.facts()
    }

    #[test]
    fn the_order_of_statements_does_not_matter_and_what_each_returned_does() {
        let [one] = &facts(&[(10, 1), (20, 2)])[..] else { panic!("one kind was answered") };
        assert_eq!(one.name, "replay_results.2");
        assert!(one.value.starts_with("2 4 6 ") && one.value.ends_with(" select ? from t"), "{}", one.value);
        assert_eq!(facts(&[(20, 2), (10, 1)])[0], *one);
        assert_ne!(facts(&[(10, 2), (20, 1)])[0], *one, "they have exchanged their answers");
        assert!(facts(&[]).is_empty());
    }
}
