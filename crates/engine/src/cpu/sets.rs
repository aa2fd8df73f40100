//! Kernels on rows: sort, hash join, walk of a B-tree.
//!
//! In: a seed. Out: kernels that share their input, each with space of its own, and the results that a second algorithm has computed.
//! Limits: sizes are fixed, and fit the caches of a core or its neighbours; what misses them all is in `memory`.

use super::kernel::{Kernel, fold, input_of};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::ClientIndex;

/// A key and a payload.
type KeyedRow = (u64, u64);

const SORTED_ROWS: usize = 32_768;
const BUILT_ROWS: usize = 16_384;
const PROBING_ROWS: usize = 65_536;
const TREE_ENTRIES: usize = 524_288;
const WALKS: usize = 512;
const ENTRIES_READ: usize = 8;
/// Different inputs of sort and join. More would be more memory; fewer could be learnt by a branch predictor.
const INPUTS: usize = 4;
/// Different sets of places in the tree.
const WALK_INPUTS: usize = 64;

fn generator(seed: u64, purpose: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed ^ (purpose << 56))
}

fn random_rows(rng: &mut Xoshiro256PlusPlus, count: usize) -> Vec<KeyedRow> {
    (0..count as u64).map(|row| (rng.random(), row)).collect()
}

/// Rows in random order and their checksums when sorted.
struct SortInput {
    rows: Vec<KeyedRow>,
    expected: u64,
}

/// Sorts rows by their keys.
pub(super) struct SortKernel {
    inputs: Arc<[SortInput]>,
    rows: Vec<KeyedRow>,
}

pub(super) fn sorts(seed: u64) -> impl Fn(ClientIndex) -> SortKernel {
    let mut rng = generator(seed, 1);
    let inputs: Arc<[SortInput]> = (0..INPUTS).map(|_| sort_input(random_rows(&mut rng, SORTED_ROWS))).collect();
    move |_| SortKernel { inputs: inputs.clone(), rows: Vec::new() }
}

fn sort_input(rows: Vec<KeyedRow>) -> SortInput {
    // A tree keeps them in order by another way than the sort.
    let in_order: BTreeMap<KeyedRow, ()> = rows.iter().map(|row| (*row, ())).collect();
    let expected = checksum_of_rows(in_order.keys());
    SortInput { rows, expected }
}

fn checksum_of_rows<'r>(rows: impl Iterator<Item = &'r KeyedRow>) -> u64 {
    rows.fold(0, |sum, (key, row)| fold(sum, key ^ row))
}

impl Kernel for SortKernel {
    fn open(&mut self) -> Result<(), String> {
        self.rows.resize(SORTED_ROWS, (0, 0));
        Ok(())
    }

    fn refill(&mut self, item: u64) {
        self.rows.copy_from_slice(&self.inputs[input_of(item, INPUTS)].rows);
    }

    fn perform(&mut self, _: u64) -> u64 {
        self.rows.sort_unstable();
        checksum_of_rows(self.rows.iter())
    }

    fn expected(&self, item: u64) -> u64 {
        self.inputs[input_of(item, INPUTS)].expected
    }

    fn bytes(&self) -> u32 {
        size_of::<[KeyedRow; SORTED_ROWS]>() as u32
    }
}

/// Two tables and the checksum of their join.
struct JoinInput {
    built: Vec<KeyedRow>,
    probing: Vec<KeyedRow>,
    expected: u64,
}

/// Joins two tables by hash.
pub(super) struct JoinKernel {
    inputs: Arc<[JoinInput]>,
    table: FxHashMap<u64, u64>,
}

pub(super) fn joins(seed: u64) -> impl Fn(ClientIndex) -> JoinKernel {
    let mut rng = generator(seed, 2);
    let inputs: Arc<[JoinInput]> = (0..INPUTS).map(|_| join_input(&mut rng)).collect();
    move |_| JoinKernel { inputs: inputs.clone(), table: FxHashMap::default() }
}

fn join_input(rng: &mut Xoshiro256PlusPlus) -> JoinInput {
    let built = random_rows(rng, BUILT_ROWS);
    let key = |rng: &mut Xoshiro256PlusPlus| {
        if rng.random::<bool>() { built[rng.random_range(0..BUILT_ROWS)].0 } else { rng.random() }
    };
    let probing: Vec<KeyedRow> = (0..PROBING_ROWS as u64).map(|row| (key(rng), row)).collect();
    let tree: BTreeMap<u64, u64> = built.iter().copied().collect();
    let expected = joined(&probing, |key| tree.get(&key).copied());
    JoinInput { built, probing, expected }
}

/// The checksum of the rows that have a partner.
fn joined(probing: &[KeyedRow], find: impl Fn(u64) -> Option<u64>) -> u64 {
    let pairs = probing.iter().filter_map(|(key, row)| Some((find(*key)?, row)));
    pairs.fold(0, |sum, (partner, row)| fold(sum, partner << 32 | row))
}

impl Kernel for JoinKernel {
    fn open(&mut self) -> Result<(), String> {
        self.table.reserve(BUILT_ROWS);
        Ok(())
    }

    fn perform(&mut self, item: u64) -> u64 {
        let input = &self.inputs[input_of(item, INPUTS)];
        self.table.clear();
        self.table.extend(input.built.iter().copied());
        joined(&input.probing, |key| self.table.get(&key).copied())
    }

    fn expected(&self, item: u64) -> u64 {
        self.inputs[input_of(item, INPUTS)].expected
    }

    fn bytes(&self) -> u32 {
        ((BUILT_ROWS + PROBING_ROWS) * size_of::<KeyedRow>()) as u32
    }
}

/// A tree, and what is found from which places.
struct WalkInput {
    tree: BTreeMap<u64, u64>,
    places: Vec<u64>,
    expected: Vec<u64>,
}

/// Finds places in a B-tree and reads on from them.
pub(super) struct WalkKernel(Arc<WalkInput>);

pub(super) fn walks(seed: u64) -> impl Fn(ClientIndex) -> WalkKernel {
    let input = Arc::new(walk_input(seed));
    move |_| WalkKernel(input.clone())
}

fn walk_input(seed: u64) -> WalkInput {
    let mut rng = generator(seed, 3);
    let mut entries = random_rows(&mut rng, TREE_ENTRIES);
    entries.sort_unstable();
    let places: Vec<u64> = (0..WALK_INPUTS * WALKS).map(|_| rng.random()).collect();
    let found = |place: u64| {
        let first = entries.partition_point(|(key, _)| *key < place);
        entries[first..].iter().take(ENTRIES_READ).map(|(_, value)| *value).sum()
    };
    let expected = places.chunks(WALKS).map(|places| walked(places, found)).collect();
    WalkInput { tree: entries.into_iter().collect(), places, expected }
}

fn walked(places: &[u64], found: impl Fn(u64) -> u64) -> u64 {
    places.iter().fold(0, |sum, place| fold(sum, found(*place)))
}

impl Kernel for WalkKernel {
    fn perform(&mut self, item: u64) -> u64 {
        let WalkInput { tree, places, .. } = &*self.0;
        let places = &places[input_of(item, WALK_INPUTS) * WALKS..][..WALKS];
        walked(places, |place| tree.range(place..).take(ENTRIES_READ).map(|(_, value)| *value).sum())
    }

    fn expected(&self, item: u64) -> u64 {
        self.0.expected[input_of(item, WALK_INPUTS)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernel::tests::hold_the_contract;

    const ALONE: ClientIndex = ClientIndex { client: 0, clients: 1 };

    /// The numbers are those of the first machine: input or algorithm must not change without notice, or runs could no longer be compared.
    #[test]
    fn rounds_on_rows_give_the_known_results_on_every_machine() {
        let results = [
            hold_the_contract(sorts(1)(ALONE))[0],
            hold_the_contract(joins(1)(ALONE))[0],
            hold_the_contract(walks(1)(ALONE))[0],
        ];
        assert_eq!(results, [3_930_957_953_016_084_279, 10_626_550_673_742_931_468, 16_520_399_031_732_069_541]);
    }

    #[test]
    fn half_of_the_probing_rows_have_a_partner() {
        let input = join_input(&mut generator(1, 2));
        let keys: std::collections::HashSet<u64> = input.built.iter().map(|(key, _)| *key).collect();
        let partners = input.probing.iter().filter(|(key, _)| keys.contains(key)).count();
        assert!((partners as f64 / PROBING_ROWS as f64 - 0.5).abs() < 0.02, "{partners}");
    }
}
