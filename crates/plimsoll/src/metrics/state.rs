//! What a run has done so far, as numbers: the sums of the current phase, and its last interval.
//!
//! In: the events of the run. Out: a [`RunProgress`]. Limits: the current point and phase only: a monitor that looks less often than
//! once a phase misses some.

use model::{IntervalRow, KindDef, KindRow, OpClass, Phase, Plan, PointState, Times, Trial};
use runner::{PointEnd, RunEvent};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The upper bounds of the histogram's buckets: 1, 2 and 5 of each power of ten from 1 us to 100 s.
pub const BOUNDS_NS: [u64; 25] = bounds();

const fn bounds() -> [u64; 25] {
    let mut all = [0; 25];
    let mut least = 1_000;
    let mut nth = 0;
    while nth < all.len() {
        all[nth] = least * [1, 2, 5][nth % 3];
        if nth % 3 == 2 {
            least *= 10;
        }
        nth += 1;
    }
    all
}

/// A run as far as it is measured.
#[derive(Clone, Debug)]
pub struct RunProgress {
    /// The name of its plan.
    pub plan: String,
    /// How many points it has.
    pub planned: usize,
    /// How many of them were complete when the current one began.
    pub complete: usize,
    /// The point that is measured, or was measured last; `None` before the first.
    pub point: Option<MeteredPoint>,
    labels: Arc<Vec<String>>,
    trials: Arc<Vec<Trial>>,
}

/// A point as far as it is measured.
#[derive(Clone, Debug)]
pub struct MeteredPoint {
    pub label: String,
    pub engine: String,
    pub workload: String,
    pub phase: Phase,
    /// What its ops do, in the order of their kinds.
    kinds: Arc<Vec<KindDef>>,
    /// The sums of its phase, in the order of the kinds.
    pub sums: Vec<KindSums>,
    pub last: LastInterval,
    since: Instant,
}

/// What the ops of a kind have done in the phase.
#[derive(Clone, Debug)]
pub struct KindSums {
    /// The name of the kind.
    pub kind: String,
    pub ok: u64,
    pub failed: u64,
    /// Ops that fell due while all clients were busy.
    pub late: u64,
    pub bytes: u64,
    /// How many response times are within each of [`BOUNDS_NS`] and not within the one before, and the longer ones.
    pub buckets: [u64; BOUNDS_NS.len() + 1],
    /// The sum of all response times.
    pub sum_ns: u128,
}

/// What was done since the interval before.
#[derive(Clone, Debug, Default)]
pub struct LastInterval {
    /// Ops per second, without steps, which are parts of ops.
    pub per_s: f64,
    /// The response times of all kinds but steps.
    pub times: Times,
}

impl RunProgress {
    /// Nothing is measured yet.
    pub fn new(plan: &Plan, labels: Vec<String>) -> RunProgress {
        RunProgress {
            plan: plan.name.clone(),
            planned: plan.trials.len(),
            complete: 0,
            point: None,
            labels: Arc::new(labels),
            trials: Arc::new(plan.trials.clone()),
        }
    }

    /// Takes `event`. Whether anything has changed by it.
    pub fn take(&mut self, event: RunEvent<'_>) -> bool {
        match event {
            RunEvent::PointBegan { number, trial } => self.begin_point(number, trial),
            RunEvent::PointOpened { kinds, .. } => self.change(|point| point.kinds = Arc::new(kinds.to_vec())),
            RunEvent::PhaseBegan(phase) => self.change(|point| point.begin_phase(phase)),
            RunEvent::Interval { rows, .. } => self.change(|point| point.add_rows(rows)),
            RunEvent::PointEnded { end, .. } => {
                self.complete += usize::from(end == PointEnd::Recorded(PointState::Complete));
            }
            _ => return false,
        }
        true
    }

    fn begin_point(&mut self, complete: usize, trial: &Trial) {
        let probe = trial.limit.as_ref().and_then(|limit| limit.probe);
        let in_plan = self.trials.iter().position(|known| known == trial);
        // The probes of a search are no trials of the plan.
        let nth = in_plan.or(probe.map(|probe| probe.search as usize));
        let label = nth.and_then(|nth| self.labels.get(nth)).cloned().unwrap_or_default();
        self.complete = complete;
        self.point = Some(MeteredPoint {
            label,
            engine: trial.target.engine.clone(),
            workload: trial.workload.name.clone(),
            phase: Phase::Prepare,
            kinds: Arc::default(),
            sums: Vec::new(),
            last: LastInterval::default(),
            since: Instant::now(),
        });
    }

    fn change(&mut self, change: impl FnOnce(&mut MeteredPoint)) {
        if let Some(point) = &mut self.point {
            change(point);
        }
    }
}

impl MeteredPoint {
    fn begin_phase(&mut self, phase: Phase) {
        (self.phase, self.since) = (phase, Instant::now());
        (self.sums, self.last) = (Vec::new(), LastInterval::default());
    }

    fn add_rows(&mut self, rows: &[IntervalRow]) {
        let kinds: Vec<&KindRow> = rows.iter().flat_map(|row| &row.kinds).collect();
        kinds.iter().for_each(|row| self.sums_of(row).add(row));
        let ops: Vec<&&KindRow> = kinds.iter().filter(|row| !self.is_step(row)).collect();
        let passed = self.since.elapsed().max(Duration::from_millis(1)).as_secs_f64();
        self.last = LastInterval {
            per_s: ops.iter().map(|row| row.ok).sum::<u64>() as f64 / passed,
            times: Times::merged(ops.iter().map(|row| &row.response)),
        };
        self.since = Instant::now();
    }

    fn is_step(&self, row: &KindRow) -> bool {
        self.kinds.get(usize::from(row.kind.0)).is_some_and(|kind| kind.class == OpClass::Step)
    }

    fn sums_of(&mut self, row: &KindRow) -> &mut KindSums {
        let number = usize::from(row.kind.0);
        for nth in self.sums.len()..=number {
            // Rows that come before the kinds are known have a number for a name.
            let kind = self.kinds.get(nth).map_or_else(|| nth.to_string(), |kind| kind.name.clone());
            self.sums.push(KindSums::new(kind));
        }
        &mut self.sums[number]
    }
}

impl KindSums {
    fn new(kind: String) -> KindSums {
        KindSums { kind, ok: 0, failed: 0, late: 0, bytes: 0, buckets: [0; BOUNDS_NS.len() + 1], sum_ns: 0 }
    }

    fn add(&mut self, row: &KindRow) {
        self.ok += row.ok;
        self.failed += row.failed;
        self.late += row.late;
        self.bytes += row.bytes;
        self.sum_ns += row.response.sum_ns();
        for (ns, count) in row.response.recorded() {
            self.buckets[BOUNDS_NS.partition_point(|bound| *bound < ns)] += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_1_2_and_5_of_each_power_of_ten() {
        assert_eq!(BOUNDS_NS[..5], [1_000, 2_000, 5_000, 10_000, 20_000]);
        assert_eq!(BOUNDS_NS[24], 100_000_000_000);
    }
}
