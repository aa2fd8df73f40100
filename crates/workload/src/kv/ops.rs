//! The operations of a run: which record, and what is done with it.
//!
//! In: a mix, the records, the access distribution. Out: sources of operations. A read takes about 40 ns to make.
//! Limits: a client learns of the records that it and others insert when it makes its next operations: up to 64 at a time, and one if the
//! newest records are read. A record is new until all that were begun before it are there.

use super::RecordAction::{self, Insert, Read, ReadModifyWrite, Scan, Update};
use super::RecordMix;
use super::records::{KEY_LEN, RecordData};
use crate::Workload;
use crate::distribution::Distribution;
use crate::new_ids::InsertedIds;
use crate::program::{ClientIndex, push_entry, push_text};
use crate::random::{LETTERS, Rng, Words, client_rng, number_below, push_random_text};
use model::{ExpectedRows, KvAction, KvOp, OpKind, SqlArg, SqlCall, SqlOp};

/// How one client picks records.
pub(super) struct RecordPicker {
    slot: ClientIndex,
    rng: Rng,
    access: Distribution,
    records: u64,
    inserted: InsertedIds,
    /// Whether the distribution is over the newest records and moves with them.
    follows_newest: bool,
    /// How many new records are there, if it does; 0 if not.
    newer: u64,
    /// Whether the operations that are being made insert records.
    took_ids: bool,
}

impl RecordPicker {
    pub(super) fn new(
        slot: ClientIndex,
        data: RecordData,
        access: Distribution,
        inserted: InsertedIds,
        follows_newest: bool,
    ) -> RecordPicker {
        let (rng, records) = (client_rng(data.seed, slot.client), data.records);
        RecordPicker { slot, rng, access, records, inserted, follows_newest, newer: 0, took_ids: false }
    }

    /// Begins operations; those before have been performed. Which new records are there matters only if the distribution follows them.
    fn begin_batch(&mut self) {
        if self.follows_newest {
            self.newer = self.inserted.begin_batch(self.slot);
            self.took_ids = false;
        }
    }

    fn end_batch(&self) {
        if self.follows_newest {
            self.inserted.end_batch(self.slot, self.took_ids);
        }
    }

    /// A record that is there.
    #[inline]
    fn pick_id(&mut self) -> u64 {
        let place = self.access.draw(&mut self.rng) + self.newer;
        match place.checked_sub(self.records) {
            None => 1 + place,
            Some(before) => self.inserted.id_of(before),
        }
    }

    #[inline]
    fn take_new_id(&mut self) -> u64 {
        self.took_ids = true;
        self.inserted.take()
    }
}

/// One client's operations of a mix.
pub(super) struct RecordOps {
    mix: &'static RecordMix,
    data: RecordData,
    picks: RecordPicker,
    scan_max: u64,
}

impl RecordOps {
    pub(super) fn new(mix: &'static RecordMix, data: RecordData, picks: RecordPicker, scan_max: u64) -> RecordOps {
        RecordOps { mix, data, picks, scan_max }
    }

    /// The next operation of the mix, by its share.
    #[inline]
    fn pick_action(&mut self) -> (OpKind, RecordAction) {
        let (first, share) = self.mix.actions[0];
        let is_first = number_below(self.picks.rng.next_u64(), 100) < share;
        if is_first { (OpKind(0), first) } else { (OpKind(1), self.mix.actions[1].0) }
    }

    #[inline]
    fn pick_field(&mut self) -> u64 {
        number_below(self.picks.rng.next_u64(), self.data.fields)
    }

    #[inline]
    fn pick_scan_length(&mut self) -> u64 {
        1 + number_below(self.picks.rng.next_u64(), self.scan_max)
    }
}

/// The statements of `mix`: those of its first operation, then those of its second.
pub(super) fn statements_of(mix: &RecordMix, data: RecordData) -> Vec<String> {
    mix.actions.iter().flat_map(|(action, _)| statements_of_action(*action, data)).collect()
}

/// The rows of each of them; a scan has at most `scan_max`. `others_change`: whether statements apart from the mix change records.
pub(super) fn rows_of(mix: &RecordMix, data: RecordData, scan_max: u64, others_change: bool) -> Vec<ExpectedRows> {
    // A record whose insert failed is not there, and others may have taken one.
    let if_there = |rows: ExpectedRows| if mix.inserts() || others_change { rows.or_fewer() } else { rows };
    let of_action = |action: RecordAction| {
        let rows = match action {
            Read => if_there(ExpectedRows::RETURNS_ONE),
            Scan => if_there(ExpectedRows::returns(1, scan_max)),
            Insert => ExpectedRows::CHANGES_ONE,
            // A few letters may be those that were there, and another run with the same seed writes the same.
            Update | ReadModifyWrite => if_there(ExpectedRows::CHANGES_ONE.or_repeated()),
        };
        vec![rows; statements_of_action(action, data).len()]
    };
    mix.actions.iter().flat_map(|(action, _)| of_action(*action)).collect()
}

/// A read-modify-write uses the read of its mix.
fn statements_of_action(action: RecordAction, data: RecordData) -> Vec<String> {
    match action {
        Read => vec![data.read_sql()],
        Scan => vec![data.scan_sql()],
        Insert => vec![data.insert_sql()],
        Update | ReadModifyWrite => data.update_sql().collect(),
    }
}

/// The first operation of each mix reads by one statement; those of the second follow.
const FIRST: u16 = 0;
const SECOND: u16 = 1;

impl RecordOps {
    /// Makes room for the largest operation of the mix, so that a slot allocates nothing when it gets a larger operation than before.
    fn reserve_sql(&self, op: &mut SqlOp) {
        op.calls.reserve(2);
        op.args.reserve(3 + self.data.fields as usize);
        op.text.reserve(2 * KEY_LEN + self.data.record_bytes());
    }

    fn push_key(&self, op: &mut SqlOp, id: u64) {
        push_text(op, |text| text.extend_from_slice(&self.data.key(id)));
    }

    /// Returns the record that is read.
    fn push_read(&mut self, op: &mut SqlOp) -> u64 {
        let id = self.picks.pick_id();
        op.calls.push(SqlCall { statement: FIRST, args: 1 });
        self.push_key(op, id);
        id
    }

    fn push_update(&mut self, op: &mut SqlOp, id: u64) {
        let field = self.pick_field() as u16;
        op.calls.push(SqlCall { statement: SECOND + field, args: 2 });
        push_text(op, |text| push_random_text(text, self.data.field_bytes as usize, LETTERS, &mut self.picks.rng));
        self.push_key(op, id);
    }

    fn push_scan(&mut self, op: &mut SqlOp) {
        let id = self.picks.pick_id();
        op.calls.push(SqlCall { statement: FIRST, args: 2 });
        self.push_key(op, id);
        op.args.push(SqlArg::Int(self.pick_scan_length() as i64));
    }
}

impl Workload<SqlOp> for RecordOps {
    fn fill_ops(&mut self, ops: &mut [SqlOp]) {
        self.picks.begin_batch();
        for op in ops {
            op.clear();
            self.reserve_sql(op);
            let (kind, action) = self.pick_action();
            (op.op_kind, op.writes) = (kind, !matches!(action, Read | Scan));
            match action {
                Read => {
                    self.push_read(op);
                }
                Scan => self.push_scan(op),
                Update => {
                    let id = self.picks.pick_id();
                    self.push_update(op, id);
                }
                Insert => {
                    let id = self.picks.take_new_id();
                    self.data.push_insert_call(op, SECOND, id, &mut self.picks.rng);
                }
                ReadModifyWrite => {
                    let id = self.push_read(op);
                    self.push_update(op, id);
                }
            }
        }
        self.picks.end_batch();
    }
}

impl Workload<KvOp> for RecordOps {
    fn fill_ops(&mut self, ops: &mut [KvOp]) {
        self.picks.begin_batch();
        // A record whose insert failed is not there.
        let get = if self.mix.inserts() { KvAction::Find } else { KvAction::Get };
        for op in ops {
            op.clear();
            op.entries.reserve(1);
            op.bytes.reserve(KEY_LEN + self.data.record_bytes());
            let (kind, action) = self.pick_action();
            op.op_kind = kind;
            match action {
                Insert => {
                    let id = self.picks.take_new_id();
                    self.data.push_record(op, id, &mut self.picks.rng);
                }
                Read => {
                    op.action = get;
                    push_entry(op, 0, &self.data.key(self.picks.pick_id()), |_| ());
                }
                Scan => {
                    op.action = KvAction::Scan { count: self.pick_scan_length() as u32 };
                    push_entry(op, 0, &self.data.key(self.picks.pick_id()), |_| ());
                }
                Update | ReadModifyWrite => {
                    let bytes = self.data.field_bytes;
                    op.action = KvAction::Replace { at: (self.pick_field() * bytes) as u32 };
                    let (key, rng) = (self.data.key(self.picks.pick_id()), &mut self.picks.rng);
                    push_entry(op, 0, &key, |value| push_random_text(value, bytes as usize, LETTERS, rng));
                }
            }
        }
        self.picks.end_batch();
    }
}
