//! The ids of rows that clients add during a run, and which of these rows are there already.
//!
//! In: how many rows there were before, the clients of this host. Out: ids that no other client and no other host takes, and a number of
//! them whose rows have all been inserted. Limits: a row whose insert failed counts as inserted, because sources of operations do not
//! learn how an operation ended.

use crate::ClientIndex;
use model::LoadPart;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// The ids of rows that are added. All clients take them in turn; if several hosts add rows to the same tables, each takes those whose
/// turn is that of one of its clients.
#[derive(Clone)]
pub(crate) struct NewIds {
    first: u64,
    clients: LoadPart,
    taken: Arc<AtomicU64>,
}

impl NewIds {
    /// The ids after the first `rows`, for a host with these `clients`.
    pub(crate) fn after(rows: u64, clients: LoadPart) -> NewIds {
        NewIds { first: rows + 1, clients, taken: Arc::default() }
    }

    #[inline]
    pub(crate) fn take(&self) -> i64 {
        self.id_of(self.taken.fetch_add(1, Relaxed)) as i64
    }

    /// The id that was taken after `before` others.
    #[inline]
    fn id_of(&self, before: u64) -> u64 {
        self.first + self.clients.number_of(before)
    }
}

/// New ids, and how many of them belong to rows that are there.
///
/// A client asks its source for operations when it has performed those that it had. So the rows of all its earlier ids are there, and
/// at most those of its present operations are not.
#[derive(Clone)]
pub(crate) struct InsertedIds {
    ids: NewIds,
    /// For each client, how many ids had been taken before the first whose row may not be there yet; [`NONE_PENDING`] if all are.
    pending: Arc<OnceLock<Box<[AtomicU64]>>>,
}

const NONE_PENDING: u64 = u64::MAX;

impl InsertedIds {
    pub(crate) fn new(ids: NewIds) -> InsertedIds {
        InsertedIds { ids, pending: Arc::default() }
    }

    /// Begins the next operations of the client in `slot`, who has performed all earlier ones, and counts the rows that are there.
    pub(crate) fn begin_batch(&self, slot: ClientIndex) -> u64 {
        let pending = self.pending.get_or_init(|| (0..slot.clients).map(|_| AtomicU64::new(NONE_PENDING)).collect());
        // The client's place comes first: who sees an id of these operations as taken must see that it is pending, too.
        pending[slot.client as usize].store(self.ids.taken.load(SeqCst), SeqCst);
        let taken = self.ids.taken.load(SeqCst);
        pending.iter().map(|first| first.load(SeqCst)).fold(taken, u64::min)
    }

    /// Ends the making of operations that the client in `slot` has begun. `took_ids`: whether any inserts a row.
    pub(crate) fn end_batch(&self, slot: ClientIndex, took_ids: bool) {
        if let (Some(pending), false) = (self.pending.get(), took_ids) {
            pending[slot.client as usize].store(NONE_PENDING, SeqCst);
        }
    }

    #[inline]
    pub(crate) fn take(&self) -> u64 {
        self.ids.id_of(self.ids.taken.fetch_add(1, SeqCst))
    }

    /// The id that was taken after `before` others.
    #[inline]
    pub(crate) fn id_of(&self, before: u64) -> u64 {
        self.ids.id_of(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(client: u32) -> ClientIndex {
        ClientIndex { client, clients: 2 }
    }

    #[test]
    fn a_row_is_there_when_its_client_has_asked_for_further_operations() {
        let ids = InsertedIds::new(NewIds::after(10, LoadPart::WHOLE));
        assert_eq!(ids.begin_batch(client(0)), 0);
        assert_eq!([ids.take(), ids.take()], [11, 12]);
        ids.end_batch(client(0), true);
        assert_eq!(ids.begin_batch(client(1)), 0, "the first client may not have performed them");
        assert_eq!(ids.take(), 13);
        ids.end_batch(client(1), true);
        assert_eq!(ids.begin_batch(client(0)), 2, "the third is the second client's");
        ids.end_batch(client(0), false);
        assert_eq!(ids.begin_batch(client(1)), 3);
    }

    #[test]
    fn no_client_sees_a_row_that_another_has_not_inserted() {
        let ids = InsertedIds::new(NewIds::after(0, LoadPart::WHOLE));
        let inserted: Box<[AtomicU64]> = (0..100_000).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (ids, inserted) = (&ids, &inserted);
                scope.spawn(move || insert_and_check(ids, inserted, ClientIndex { client: number, clients: 4 }));
            }
        });
    }

    /// Takes two ids at a time, marks them as inserted, and looks at all that must be there.
    fn insert_and_check(ids: &InsertedIds, inserted: &[AtomicU64], slot: ClientIndex) {
        for _ in 0..2_000 {
            let there = ids.begin_batch(slot);
            let last = (0..there).rev().take(50);
            last.for_each(|before| assert_eq!(inserted[ids.id_of(before) as usize].load(SeqCst), 1));
            let own = [ids.take(), ids.take()];
            ids.end_batch(slot, true);
            own.into_iter().for_each(|id| inserted[id as usize].store(1, SeqCst));
        }
    }
}
