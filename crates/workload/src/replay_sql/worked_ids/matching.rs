//! Which of the numbers that a session says are the ids of which of its INSERTs.
//!
//! In: the INSERTs of one session into tables with one counter, in their order, where the id of each is expected, and numbers. Out: which numbers are
//! first ids, so that they ascend as the INSERTs do, leave room for the rows in between, and explain as many numbers as possible; of several such
//! ways the one with the smallest distances. Limits: none of numbers that are no ids, if they fit as well as ids do.

/// An INSERT whose first id is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub expected: u64,
    pub rows: u64,
}

/// That a number is the first id of an INSERT, and what came before.
struct Pair {
    wanted: usize,
    number: usize,
    /// How many rows the INSERTs before it have.
    start: u64,
    /// How many numbers are explained so far, and by how much ids are elsewhere, as a loss.
    score: (usize, i64),
    /// The pair before.
    behind: Option<usize>,
}

/// The pairs of an INSERT and a number, by their places in `wanted` and `numbers`, in the order of the INSERTs. `may_be` says which pairs are possible.
pub(super) fn ascending(
    wanted: &[Wanted],
    numbers: &[u64],
    may_be: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut start = 0;
    for (nth, insert) in wanted.iter().enumerate() {
        // Of equal ones the last is taken: of the last INSERT, with the number that is said first.
        for number in (0..numbers.len()).rev().filter(|number| may_be(nth, *number)) {
            let value = numbers[number];
            let ids = value..value.saturating_add(insert.rows);
            let explained = numbers.iter().filter(|one| ids.contains(one)).count();
            let distance = i64::try_from(value.abs_diff(insert.expected)).unwrap_or(i64::MAX);
            let has_room = |before: &Pair| {
                let apart = value.checked_sub(numbers[before.number]);
                before.wanted < nth && apart.is_some_and(|apart| apart >= start - before.start)
            };
            let behind = (0..pairs.len()).filter(|at| has_room(&pairs[*at])).max_by_key(|at| pairs[*at].score);
            let (before, loss) = behind.map_or((0, 0), |at| pairs[at].score);
            let score = (before + explained, loss.saturating_sub(distance));
            pairs.push(Pair { wanted: nth, number, start, score, behind });
        }
        start += insert.rows;
    }
    let mut at = (0..pairs.len()).max_by_key(|at| pairs[*at].score);
    let mut found = Vec::new();
    while let Some(pair) = at.map(|at| &pairs[at]) {
        found.push((pair.wanted, pair.number));
        at = pair.behind;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first id of each INSERT with an expected id and a number of rows; 0 if none of `numbers` is it.
    fn firsts(wanted: &[(u64, u64)], numbers: &[u64]) -> Vec<u64> {
        let wanted: Vec<Wanted> =
            wanted.iter().map(|(expected, rows)| Wanted { expected: *expected, rows: *rows }).collect();
        let mut firsts = vec![0; wanted.len()];
        for (insert, number) in ascending(&wanted, numbers, |_, number| numbers[number] > 256) {
            firsts[insert] = numbers[number];
        }
        firsts
    }

    #[test]
    fn numbers_are_ids_in_the_order_of_the_inserts() {
        let two = [(2_001, 1), (2_002, 1)];
        assert_eq!(firsts(&two, &[2_001, 1, 1, 2_002, 2, 2]), [2_001, 2_002]);
        assert_eq!(firsts(&two, &[2_002, 2_001]), [2_001, 2_002]);
        // Others have taken one before.
        assert_eq!(firsts(&two, &[2_002, 2_003]), [2_002, 2_003]);
        assert_eq!(firsts(&two, &[]), [0, 0]);
    }

    #[test]
    fn a_number_alone_is_the_id_that_is_expected_most_nearly() {
        let two = [(2_003, 1), (2_004, 1)];
        assert_eq!(firsts(&two, &[2_003]), [2_003, 0]);
        assert_eq!(firsts(&two, &[2_004]), [0, 2_004]);
        assert_eq!(firsts(&[(2_003, 1), (2_005, 1)], &[2_004]), [0, 2_004], "as near to both: of the last");
    }

    #[test]
    fn an_insert_of_several_rows_explains_several_numbers() {
        assert_eq!(firsts(&[(850, 2)], &[849, 850]), [849]);
        assert_eq!(firsts(&[(501, 2), (503, 2)], &[502, 503, 504, 505]), [502, 504]);
        assert_eq!(firsts(&[(501, 2), (503, 1)], &[501, 502]), [501, 0], "there is no room for the second");
        assert_eq!(firsts(&[(501, 1), (502, 3), (505, 1)], &[501, 505]), [501, 0, 505]);
    }
}
