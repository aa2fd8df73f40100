//! The commits of one host if several hosts insert into the same tables.
//!
//! In: the clients of this host among those of all, the tables as the step finds them, what the step inserts. Out: for each commit of this
//! host the ids that it inserts and those that it deletes. Limits: commits on a table are dealt out to the clients that work on it, in
//! turn, so the ids of all hosts together have no gap and none is there twice, whatever the speed of a host. Each host has its
//! share: a fast one does not help a slow one. A step that is ended by time leaves gaps where a host was slower than another.

use super::inserts::{Commits, TableTurns};
use super::rows::PurchaseData;
use crate::program::ClientIndex;
use model::LoadPart;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// All commits of a step that are this host's.
pub(super) struct DealtCommits {
    per_commit: u64,
    tables: Vec<DealtTable>,
}

/// Those on one table.
struct DealtTable {
    /// The clients of this host among those that work on the table.
    part: LoadPart,
    /// The commits of all hosts; `None` if they never end.
    commits: Option<u64>,
    /// The rows in the last of these.
    rows_of_last: u64,
    /// The ids that the step found.
    found: Range<u64>,
    /// The commits that this host has begun.
    begun: AtomicU64,
}

/// What one commit does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimedIds {
    /// The ids that it inserts.
    pub(super) inserted: Range<u64>,
    /// The ids that it may delete: as many of the oldest.
    pub(super) oldest: Range<u64>,
}

impl DealtCommits {
    /// Those of `commits` on the tables of `data`.
    pub(super) fn new(commits: Commits, data: &PurchaseData) -> DealtCommits {
        let (clients, tables) = (data.clients, data.schema.tables);
        let counts: Vec<Option<u64>> = (0..tables)
            .map(|table| commits.op_count().map(|all| commits_on(table, tables, clients.of().into(), all)))
            .collect();
        // One commit in all may be smaller than the others.
        let last = counts.iter().rposition(|count| count.is_some_and(|count| count > 0));
        let table = |(table, count): (usize, Option<u64>)| DealtTable {
            part: part_on(table as u64, tables, clients),
            commits: count,
            rows_of_last: if Some(table) == last { commits.rows_of_last() } else { commits.per_commit },
            found: data.present_ids(table as u64),
            begun: AtomicU64::new(0),
        };
        DealtCommits { per_commit: commits.per_commit, tables: counts.into_iter().enumerate().map(table).collect() }
    }

    /// How many there are; `None` if they never end.
    pub(super) fn op_count(&self) -> Option<u64> {
        self.tables.iter().map(|table| Some(table.part.dealt_of(table.commits?))).sum()
    }

    /// How many of them the client in `slot` performs, if they end.
    pub(super) fn ops_of(&self, slot: ClientIndex) -> u64 {
        let tables = self.tables.len() as u64;
        let of_table = |table: u64| {
            let on_table = LoadPart::new(slot.client, 1, slot.clients);
            part_on(table, tables, on_table).dealt_of(self.tables[table as usize].commits.unwrap_or(0))
        };
        TableTurns::new(slot, tables).all_tables().map(of_table).sum()
    }

    /// The next commit of this host on `table`; `None` if there is none.
    #[inline]
    pub(super) fn claim(&self, table: u64) -> Option<ClaimedIds> {
        let dealt = &self.tables[table as usize];
        if dealt.part.count() == 0 {
            return None;
        }
        let number = dealt.part.number_of(dealt.begun.fetch_add(1, Relaxed));
        let rows = match dealt.commits {
            Some(commits) if number >= commits => return None,
            Some(commits) if number + 1 == commits => dealt.rows_of_last,
            _ => self.per_commit,
        };
        let first = dealt.found.end + number * self.per_commit;
        Some(ClaimedIds { inserted: first..first + rows, oldest: self.oldest(dealt, number, rows) })
    }

    /// The oldest ids that commit `number` deletes. If the step found hardly any, it begins to delete one round later, when those of the
    /// first round are there.
    fn oldest(&self, dealt: &DealtTable, number: u64, rows: u64) -> Range<u64> {
        let round = u64::from(dealt.part.of());
        let has_round = dealt.found.end - dealt.found.start >= round * self.per_commit;
        let behind = if has_round { Some(number) } else { number.checked_sub(round) };
        behind.map_or(0..0, |behind| {
            let start = dealt.found.start + behind * self.per_commit;
            start..start + rows
        })
    }
}

/// How many of `commits` commits are on `table` of `tables`, if each of `clients` clients has an equal share for its tables in turn.
fn commits_on(table: u64, tables: u64, clients: u64, commits: u64) -> u64 {
    let share = |client: u64| {
        let cut = LoadPart::new(client as u32, 1, clients as u32).cut_of(commits);
        cut.end - cut.start
    };
    if tables <= clients {
        // Client c works on table c modulo the number of tables.
        return (table..clients).step_by(tables as usize).map(share).sum();
    }
    // Each table has one client, and that has several tables.
    let (client, nth) = (table % clients, table / clients);
    let own_tables = (tables - client).div_ceil(clients);
    LoadPart::new(nth as u32, 1, own_tables as u32).dealt_of(share(client))
}

/// The part of `clients` among the clients that work on `table` of `tables`.
fn part_on(table: u64, tables: u64, clients: LoadPart) -> LoadPart {
    let [first, end, all] = [clients.first(), clients.first() + clients.count(), clients.of()].map(u64::from);
    if tables <= all {
        // Of the clients below `client` those that work on the table.
        let below = |client: u64| (client + tables - 1 - table) / tables;
        return LoadPart::new(below(first) as u32, (below(end) - below(first)) as u32, below(all) as u32);
    }
    let is_own = (first..end).contains(&(table % all));
    LoadPart::new(0, u32::from(is_own), 1)
}

#[cfg(test)]
mod tests {
    use super::super::{INSERT, InsertStep, step_data};
    use super::*;
    use crate::SequenceState;
    use crate::program::ProgramInput;
    use crate::tests::params;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// What hosts insert: rows (0 for rows without end), rows in a commit, tables.
    #[derive(Clone, Copy, Debug)]
    struct Asked(u64, u64, u64);

    /// The commits of the host with `clients`, on tables of which `sequence` has the ids.
    fn dealt(asked: Asked, clients: LoadPart, sequence: &SequenceState) -> DealtCommits {
        let words = [asked.0, asked.1, asked.2].map(|number| number.to_string());
        let changes = [("step", "l.i1"), ("rows", &*words[0]), ("rows_per_commit", &*words[1]), ("tables", &*words[2])];
        let params = params(&INSERT.entry, &changes);
        let input = ProgramInput { clients, ..ProgramInput::new(&params, 1, sequence) };
        let commits = InsertStep::Insert.commits(&input).expect("the step inserts");
        DealtCommits::new(commits, &step_data(&input))
    }

    /// The hosts of `clients` clients in all.
    fn hosts_of(clients: u32, hosts: u32) -> Vec<LoadPart> {
        let first = |host: u32| host * (clients / hosts) + host.min(clients % hosts);
        (0..hosts).map(|host| LoadPart::new(first(host), first(host + 1) - first(host), clients)).collect()
    }

    /// What each table gets of the commits that `clients` claim, each as many as it has.
    fn claim_all(dealt: &DealtCommits, clients: LoadPart, into: &mut BTreeMap<u64, Vec<ClaimedIds>>) -> u64 {
        let tables = dealt.tables.len() as u64;
        let mut ops = 0;
        for slot in ClientIndex::all_in(clients) {
            let mut turns = TableTurns::new(slot, tables);
            for _ in 0..dealt.ops_of(slot) {
                let table = turns.next_table();
                let claimed = dealt.claim(table).expect("a client has as many commits as it performs");
                into.entry(table).or_default().push(claimed);
                ops += 1;
            }
        }
        ops
    }

    /// The ids of ranges that must not overlap, in order.
    fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                Some(last) => {
                    assert!(last.end < range.start, "{last:?} and {range:?} have ids in common");
                    joined.push(range);
                }
                None => joined.push(range),
            }
        }
        joined
    }

    proptest! {
        #[test]
        fn hosts_insert_every_row_of_a_step_once_and_the_next_step_goes_on_behind_them(
            rows in 1u64..3_000, per_commit in 1u64..40, tables in 1u64..7, clients in 2u32..20, hosts in 2u32..6
        ) {
            prop_assume!(clients >= hosts);
            let asked = Asked(rows, per_commit, tables);
            let sequence = SequenceState::default();
            for step in 1..=2u64 {
                let (mut by_table, mut ops) = (BTreeMap::new(), 0);
                let per_commit = per_commit.min(rows);
                for part in hosts_of(clients, hosts) {
                    let own = dealt(asked, part, &sequence);
                    let claimed = claim_all(&own, part, &mut by_table);
                    prop_assert_eq!(Some(claimed), own.op_count());
                    prop_assert!((0..tables).all(|table| own.claim(table).is_none()));
                    ops += claimed;
                }
                prop_assert_eq!(ops, rows.div_ceil(per_commit));
                let mut inserted = 0;
                for (table, claimed) in by_table {
                    let found = sequence.dealt_rows(table as usize).load(Relaxed) + 1;
                    let all = joined(claimed.into_iter().map(|ids| ids.inserted).collect());
                    prop_assert_eq!(all.len(), 1, "no gap: {:?}", all);
                    prop_assert_eq!(all[0].start, found);
                    inserted += all[0].end - all[0].start;
                    sequence.set_present(table as usize, 1..all[0].end);
                }
                prop_assert_eq!(inserted, rows);
                let present: u64 = (0..tables).map(|table| sequence.dealt_rows(table as usize).load(Relaxed)).sum();
                prop_assert_eq!(present, step * rows);
            }
        }

        #[test]
        fn hosts_that_go_on_without_end_take_ids_of_their_own(
            tables in 1u64..5, clients in 2u32..12, hosts in 2u32..5, begun in prop::collection::vec(0u64..50, 5)
        ) {
            prop_assume!(clients >= hosts);
            let sequence = SequenceState::default();
            let mut by_table: BTreeMap<u64, Vec<Range<u64>>> = BTreeMap::new();
            for (part, begun) in hosts_of(clients, hosts).into_iter().zip(begun) {
                let own = dealt(Asked(0, 10, tables), part, &sequence);
                prop_assert_eq!(own.op_count(), None);
                for slot in ClientIndex::all_in(part) {
                    let mut turns = TableTurns::new(slot, tables);
                    for _ in 0..begun {
                        let table = turns.next_table();
                        let ids = own.claim(table).expect("there is always one more");
                        by_table.entry(table).or_default().push(ids.inserted);
                    }
                }
            }
            by_table.into_values().for_each(|ranges| drop(joined(ranges)));
        }

        #[test]
        fn hosts_delete_the_oldest_rows_once_and_as_many_as_they_insert(
            there in 0u64..2_000, rows in 1u64..2_000, per_commit in 1u64..40, clients in 2u32..12, hosts in 2u32..5
        ) {
            prop_assume!(clients >= hosts);
            let sequence = SequenceState::default();
            sequence.set_present(0, 101..101 + there);
            let mut claimed = BTreeMap::new();
            for part in hosts_of(clients, hosts) {
                claim_all(&dealt(Asked(rows, per_commit, 1), part, &sequence), part, &mut claimed);
            }
            let claimed = claimed.remove(&0).expect("there is one table");
            prop_assert!(claimed.iter().all(|ids| ids.oldest.is_empty() || ids.oldest.end <= ids.inserted.start));
            let deleted = joined(claimed.into_iter().map(|ids| ids.oldest).collect());
            let round = u64::from(clients) * per_commit.min(rows);
            let expected = if there >= round { rows } else { rows.saturating_sub(round) };
            let all: Vec<Range<u64>> = (expected > 0).then_some(101..101 + expected).into_iter().collect();
            prop_assert_eq!(deleted, all);
        }
    }

    #[test]
    fn a_host_works_on_the_tables_of_its_clients_only() {
        // Of 8 clients on 3 tables, those of the second host work on the tables 1, 2, 0, 1.
        let counts = |table| {
            let part = part_on(table, 3, LoadPart::new(4, 4, 8));
            (part.first(), part.count(), part.of())
        };
        assert_eq!([counts(0), counts(1), counts(2)], [(2, 1, 3), (1, 2, 3), (1, 1, 2)]);
        // Of 2 clients on 3 tables, the second has the table 1 alone.
        let owned = [0, 1, 2].map(|table| part_on(table, 3, LoadPart::new(1, 1, 2)).count());
        assert_eq!(owned, [0, 1, 0]);
    }
}
