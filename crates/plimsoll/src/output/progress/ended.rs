//! The points of a run that are over: how they are judged while it goes on, and their rows.
//!
//! In: the run file, and the numbers of the points in it. Out: each point as the analysis sees it, and what was found. Limits: a point is
//! judged with the others of its sequence and without the rest of the run, so the report may find more. A run file that cannot be read
//! now has no rows; the end of the run reports that.

use super::machine::DiskCeilings;
use crate::output::live::{CellMark, EndedPoint, Note};
use crate::output::so_far;
use analysis::{Analysis, PointAnalysis};
use model::{Fact, PointState, RunData, RunMeta, Trial};
use runner::PointEnd;
use std::path::{Path, PathBuf};
use store::PointId;

/// The points that are over.
pub struct EndedPoints {
    run_file: Option<PathBuf>,
    /// What is known of the run as a whole, once it was read: that takes the longer the more points the run has.
    meta: Option<RunMeta>,
    /// Those that are not judged yet.
    pending: Vec<PendingPoint>,
    /// Columns of the terminal.
    width: usize,
    is_headed: bool,
}

struct PendingPoint {
    id: PointId,
    /// The number of its trial in the plan, from 0.
    trial: usize,
    label: String,
}

impl EndedPoints {
    /// No point is over yet; the rows have `width` columns.
    pub fn new(width: usize) -> EndedPoints {
        EndedPoints { run_file: None, meta: None, pending: Vec::new(), width, is_headed: false }
    }

    /// Points are read from `run_file` from now on.
    pub fn follow(&mut self, run_file: &Path) {
        self.run_file = Some(run_file.to_owned());
    }

    /// The best rates that the run knows of its disk, if all `trials` work on that disk itself.
    pub fn ceilings(&self, trials: &[Trial]) -> DiskCeilings {
        let is_direct = trials.iter().all(|trial| trial.target.fs.is_none() && trial.target.path.is_none());
        let head = self.run_file.as_ref().filter(|_| is_direct).and_then(|file| store::read_meta(file).ok());
        head.map_or_else(DiskCeilings::default, |head| ceilings_in(&head.meta.environment))
    }

    /// `point` is over, if it was opened.
    pub fn extend(&mut self, point: Option<PointId>, trial: usize, label: &str) {
        self.pending.extend(point.map(|id| PendingPoint { id, trial, label: label.to_owned() }));
    }

    /// The points that are over since the last call, and what was found in them.
    pub fn judge(&mut self) -> (Vec<EndedPoint>, Vec<Note>) {
        let pending = std::mem::take(&mut self.pending);
        let Some(analysis) = self.analyse(&pending) else { return Default::default() };
        let label = pending.first().map_or("", |point| point.label.as_str());
        let found = report::terminal::ended_findings(&analysis, label);
        let notes = found.into_iter().map(|(severity, text)| Note { severity: Some(severity), text }).collect();
        let ended = |analysed: PointAnalysis| {
            let PendingPoint { trial, label, .. } = pending.iter().find(|pending| pending.id.0 == analysed.id)?;
            // The series and the shape of a long point are large, and no row shows them.
            let analysis = PointAnalysis { series: None, shape: None, facts: Vec::new(), ..analysed };
            Some(EndedPoint { trial: *trial, label: label.clone(), analysis })
        };
        (analysis.points.into_iter().filter_map(ended).collect(), notes)
    }

    fn analyse(&mut self, pending: &[PendingPoint]) -> Option<Analysis> {
        let (first, file) = (pending.first()?.id, self.run_file.as_ref()?);
        if self.meta.is_none() {
            self.meta = Some(store::read_meta(file).ok()?.meta);
        }
        let meta = self.meta.clone()?;
        let mut points = store::read_points_from(file, first.0).ok()?;
        points.retain(|point| pending.iter().any(|pending| pending.id.0 == point.id));
        Some(analysis::analyse(&RunData { meta, points }))
    }

    /// The table of the answer so far; empty if there is none.
    pub fn table_so_far(&self) -> Vec<String> {
        self.run_file.as_deref().map(|file| so_far::table(file, self.width)).unwrap_or_default()
    }

    /// Columns of the terminal.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows of `points`, with the head of the table before the first of all.
    pub fn lines(&mut self, points: &[EndedPoint]) -> Vec<String> {
        let is_first = !points.is_empty() && !std::mem::replace(&mut self.is_headed, true);
        let head = is_first.then(|| report::terminal::ended_head(self.width)).flatten();
        head.into_iter().chain(points.iter().flat_map(|point| point.lines(self.width, false))).collect()
    }
}

/// How a point ended, in the grid. What it is worth is known when it is judged.
pub fn mark_of(end: PointEnd) -> CellMark {
    match end {
        PointEnd::Recorded(PointState::Complete) => CellMark::Done,
        PointEnd::Recorded(PointState::Failed | PointState::Partial) => CellMark::Failed,
        PointEnd::Skipped => CellMark::Skipped,
    }
}

/// The facts `ceiling.OPERATION.BLOCK.DEPTH`: of each block the highest.
fn ceilings_in(facts: &[Fact]) -> DiskCeilings {
    let of = |operation: &str| {
        let mut best: Vec<(f64, f64)> = Vec::new();
        for fact in facts {
            let Some((block, per_s)) = ceiling_in(fact, operation) else { continue };
            match best.iter_mut().find(|(known, _)| *known == block) {
                Some((_, known)) => *known = per_s.max(*known),
                None => best.push((block, per_s)),
            }
        }
        best.sort_by(|a, b| a.0.total_cmp(&b.0));
        best
    };
    DiskCeilings { reads: of("read"), writes: of("write") }
}

fn ceiling_in(fact: &Fact, operation: &str) -> Option<(f64, f64)> {
    let (block, _depth) =
        fact.name.strip_prefix("ceiling.")?.strip_prefix(operation)?.strip_prefix('.')?.split_once('.')?;
    let per_s: f64 = fact.value.strip_suffix(" ops/s")?.parse().ok()?;
    let block: f64 = block.parse().ok()?;
    (block.is_finite() && per_s > 0.0 && per_s.is_finite()).then_some((block, per_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_block_the_highest_rate_is_the_ceiling() {
        let fact = |name: &str, value: &str| Fact::new(format!("ceiling.{name}"), value);
        let facts = [
            fact("read.16384.1", "500 ops/s"),
            fact("read.4096.1", "100 ops/s"),
            fact("read.4096.32", "900 ops/s"),
            fact("measured", "2026-11-19 14:53 UTC"),
            fact("write.4096.1", "0 ops/s"),
            fact("read.4096.64", "inf ops/s"),
            fact("read.NaN.1", "700 ops/s"),
        ];
        let known = ceilings_in(&facts);
        assert_eq!((known.reads, known.writes), (vec![(4096.0, 900.0), (16384.0, 500.0)], Vec::new()));
    }
}
