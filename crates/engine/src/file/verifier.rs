//! Of one client: makes what it writes checkable, and checks what it reads.
//!
//! In: operations that begin and end, with their memory. Out: sealed units before a write, a judgement after a read. Limits:
//! both happen outside the time of the operation, on the client's thread: the client does less for it, and its CPU account
//! shows it.

use super::buffers::IoBuffers;
use super::errno::LastFailure;
use crate::verify::{BlockAddress, ExpectedUnit, UNIT, UnitDamage, UnitHeader, UnitJudgement, UnitState, UnitTable};
use model::{Bytes, IoKind, IoOp, Offset, Outcome};
use std::sync::Arc;

/// What a client with several slots knows of the units that its operations touch.
pub struct Verifier {
    table: Arc<UnitTable>,
    /// The operation in each slot.
    ops: Box<[IoOp]>,
    /// What was known of its units when it began, so many for each slot.
    before: Box<[UnitState]>,
    units: usize,
}

/// The memory for `op` in `slot`: to read into, or filled to write from.
#[inline]
pub fn prepare_memory(verifier: &mut Option<Verifier>, buffers: &mut IoBuffers, slot: u32, op: &IoOp) -> *mut u8 {
    let len = op.len.0 as usize;
    let memory = match (op.io, &verifier) {
        (IoKind::Write | IoKind::WriteFua, None) => buffers.fresh_to_write(slot, len),
        (IoKind::Write | IoKind::WriteFua, Some(_)) => buffers.room_to_write(slot, len), // the headers make it new
        (IoKind::Read | IoKind::Fsync | IoKind::Fdatasync, _) => buffers.room_to_read(slot, len),
    };
    if let Some(verifier) = verifier {
        // SAFETY: the buffers vouch for `len` bytes; they are initialised, and the slot has no operation in flight.
        verifier.begin_op(slot, op, unsafe { std::slice::from_raw_parts_mut(memory, len) });
    }
    memory
}

/// How the operation in `slot` counts that ended with `outcome`. If it read damage, `failure` describes it.
#[inline]
pub fn verified_outcome(
    verifier: &Option<Verifier>,
    buffers: &IoBuffers,
    slot: u32,
    outcome: Outcome,
    failure: &mut LastFailure,
) -> Outcome {
    let Some(verifier) = verifier else { return outcome };
    match verifier.end_op(slot, buffers, outcome) {
        Ok(outcome) => outcome,
        Err((op, damage)) => Outcome::Failed(failure.record_damage(&op, damage)),
    }
}

impl Verifier {
    /// For `depth` slots whose operations move at most `block`.
    pub fn new(table: Arc<UnitTable>, depth: u32, block: Bytes) -> Verifier {
        let units = block.0 as usize / UNIT;
        let before = vec![UnitState::default(); depth as usize * units].into();
        Verifier { table, ops: vec![IoOp::default(); depth as usize].into(), before, units }
    }

    fn begin_op(&mut self, slot: u32, op: &IoOp, memory: &mut [u8]) {
        self.ops[slot as usize] = *op;
        let (first, set) = (self.table.unit_at(op.file, op.at.0), self.table.head().set);
        let before = &mut self.before[slot as usize * self.units..];
        for ((nth, unit), before) in (0..).zip(memory.chunks_exact_mut(UNIT)).zip(before) {
            match op.io {
                // What was known before the read and after it bounds the generations that it may find.
                IoKind::Read => *before = self.table.state_of(first + nth),
                IoKind::Write | IoKind::WriteFua => {
                    let generation = self.table.begin_write(first + nth);
                    UnitHeader { place: address_of(set, op, nth), generation }.seal(unit);
                }
                IoKind::Fsync | IoKind::Fdatasync => {}
            }
        }
    }

    /// How the operation in `slot` counts that ended with `outcome`; the first damage if it read some.
    fn end_op(&self, slot: u32, buffers: &IoBuffers, outcome: Outcome) -> Result<Outcome, (IoOp, UnitDamage)> {
        let op = &self.ops[slot as usize];
        let (first, len) = (self.table.unit_at(op.file, op.at.0), op.len.0 as usize);
        match (op.io, outcome) {
            (IoKind::Write | IoKind::WriteFua, _) => {
                let well = matches!(outcome, Outcome::Ok { .. });
                (0..(len / UNIT) as u64).for_each(|nth| self.table.end_write(first + nth, well));
            }
            (IoKind::Read, Outcome::Ok { .. }) => {
                // SAFETY: the buffers vouch for `len` bytes; they are initialised, and the operation is over.
                let memory = unsafe { std::slice::from_raw_parts(buffers.block(slot, len), len) };
                self.check_units(slot, op, first, memory).map_err(|damage| (*op, damage))?;
            }
            (IoKind::Read | IoKind::Fsync | IoKind::Fdatasync, _) => {}
        }
        Ok(outcome)
    }

    fn check_units(&self, slot: u32, op: &IoOp, first: u64, memory: &[u8]) -> Result<(), UnitDamage> {
        let (set, before) = (self.table.head().set, &self.before[slot as usize * self.units..]);
        for ((nth, unit), before) in (0..).zip(memory.chunks_exact(UNIT)).zip(before) {
            let expected = ExpectedUnit::read(address_of(set, op, nth), *before, self.table.state_of(first + nth));
            if let UnitJudgement::Wrong(damage) = expected.judge(unit) {
                return Err(damage);
            }
        }
        Ok(())
    }
}

/// The place of the unit of `op` with that number.
fn address_of(set: u64, op: &IoOp, nth: u64) -> BlockAddress {
    BlockAddress { set, file: op.file, at: Offset(op.at.0 + nth * UNIT as u64) }
}
