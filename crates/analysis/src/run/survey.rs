//! What one machine does of everything, if a run has measured it all: random reads and writes of its disk, inserts and transactions of engines.
//!
//! In: an analysis. Out: a [`Survey`] with the best rate of each. Limits: none of repeated points, of searches, or of a run that lacks one of
//! the four. If other users of the CPU made all points of a kind invalid, their best rate is a lower bound; what is invalid for another
//! reason is left out.

use crate::findings::Code;
use crate::findings::foreign_cpu::{CpuUser, ForeignCpu};
use crate::points::sweep::is_usable;
use crate::{Analysis, DetailKind, PointAnalysis, Severity};
use model::AccessPattern;

/// The best rate of each kind of work, in the order of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// Reads, writes, inserts and transactions; of inserts and transactions one for each engine.
    pub rows: Vec<SurveyRow>,
    /// The least and the greatest share of the CPU that the hypervisor took from points; `None` if it took too little to matter.
    pub stolen: Option<[f64; 2]>,
    /// The same of other processes.
    pub used_by_others: Option<[f64; 2]>,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SurveyedWork {
    /// Random reads of the disk.
    Reads,
    /// Random writes of the disk.
    Writes,
    /// Rows that an engine inserts.
    Inserts,
    /// Transactions of several statements.
    Transactions,
}

/// The best rate of one kind of work.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyRow {
    pub work: SurveyedWork,
    /// The engine, or the path.
    pub engine: String,
    /// The number of the point.
    pub point: u32,
    /// Reads, writes, rows or transactions per second.
    pub per_s: f64,
    /// Whether it is at least that: the point is invalid because others used the CPU.
    pub is_lower_bound: bool,
}

/// More rows are no answer in two sentences.
const ROWS_MAX: usize = 8;

impl Survey {
    /// That of `analysis`; `None` if it is no survey.
    pub fn from_analysis(analysis: &Analysis) -> Option<Survey> {
        let points = &analysis.points;
        if !analysis.searches.is_empty() || points.iter().any(|point| point.repeat > 1) {
            return None;
        }
        let mut rows: Vec<SurveyRow> = Vec::new();
        for row in points.iter().filter_map(row_of) {
            match rows.iter_mut().find(|known| (known.work, &known.engine) == (row.work, &row.engine)) {
                // What is no lower bound is better known, however low it is.
                Some(best) if (best.is_lower_bound, -best.per_s) > (row.is_lower_bound, -row.per_s) => *best = row,
                Some(_) => {}
                None => rows.push(row),
            }
        }
        rows.sort_by_key(|row| row.work); // stable: engines keep their order
        let has = |work: SurveyedWork| rows.iter().any(|row| row.work == work);
        let kinds = [SurveyedWork::Reads, SurveyedWork::Writes, SurveyedWork::Inserts, SurveyedWork::Transactions];
        let is_survey = kinds.into_iter().all(has) && rows.len() <= ROWS_MAX;
        let shares = |is_its: fn(&CpuUser) -> bool| share_range(points, is_its);
        is_survey.then(|| Survey {
            stolen: shares(|user| matches!(user, CpuUser::Hypervisor { .. })),
            used_by_others: shares(|user| matches!(user, CpuUser::OtherProcesses { .. })),
            rows,
        })
    }
}

/// What `point` did, if it is of a survey and its rate means something.
fn row_of(point: &PointAnalysis) -> Option<SurveyRow> {
    let is_lower_bound = match (is_usable(point), is_spoilt_by_cpu(point)) {
        (true, _) => false,
        (false, true) => true,
        (false, false) => return None,
    };
    let (work, per_s) = work_of(point)?;
    let engine = point.engine.clone();
    (per_s > 0.0 && per_s.is_finite()).then_some(SurveyRow { work, engine, point: point.id, per_s, is_lower_bound })
}

/// The kind of work of `point`, and its rate.
fn work_of(point: &PointAnalysis) -> Option<(SurveyedWork, f64)> {
    let is_closed = |summary: &&crate::Summary| summary.offered_per_s.is_none() && summary.background.is_empty();
    let summary = point.summary.as_ref().filter(is_closed).filter(|_| point.duration_s().is_none())?;
    if let Some(io) = &point.traits.work.io {
        let work = match io.read_share {
            1.0 => SurveyedWork::Reads,
            0.0 => SurveyedWork::Writes,
            _ => return None,
        };
        return (io.pattern == AccessPattern::Random).then_some((work, summary.ops_per_s));
    }
    match summary.rows_per_s.filter(|rows| *rows > 0.0) {
        Some(rows_per_s) => Some((SurveyedWork::Inserts, rows_per_s)),
        None if summary.queries_per_s > summary.ops_per_s && summary.has_queries() => {
            Some((SurveyedWork::Transactions, summary.ops_per_s))
        }
        None => None,
    }
}

/// Whether `point` is invalid for no other reason than that others used the CPU.
fn is_spoilt_by_cpu(point: &PointAnalysis) -> bool {
    let mut errors = point.findings.iter().filter(|finding| finding.severity == Severity::Error).peekable();
    point.summary.is_some() && errors.peek().is_some() && errors.all(|finding| finding.code() == Code::ForeignCpu)
}

/// The least and the greatest share that such a user of the CPU took from any of `points`.
fn share_range(points: &[PointAnalysis], is_its: fn(&CpuUser) -> bool) -> Option<[f64; 2]> {
    let found = points.iter().flat_map(|point| &point.findings);
    let found = found.filter_map(|finding| ForeignCpu::in_detail(&finding.detail));
    let shares = found.filter(|one| is_its(&one.by)).map(|one| one.share.0);
    shares.map(|share| [share, share]).reduce(|all, one| [all[0].min(one[0]), all[1].max(one[1])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::units::Share;
    use crate::simulated::{Simulation, run_of};
    use crate::{Finding, Validity, analyse};
    use model::{Bytes, IoWork};

    /// Reads at two rates, writes, inserts of two engines and transactions.
    fn surveyed() -> Analysis {
        let rates = [2000, 8000, 1500, 4000, 9000, 700];
        let points = rates.map(|rate| Simulation::counts(&[rate; 12]).point());
        let mut analysis = analyse(&run_of(points.to_vec(), Vec::new()));
        for (point, read_share) in analysis.points.iter_mut().zip([1.0, 1.0, 0.0]) {
            let (block, pattern) = (Bytes(4096), AccessPattern::Random);
            point.traits.work.io = Some(IoWork { block, pattern, read_share, syncs: false });
        }
        analysis.points[4].engine = "fjall".into();
        for point in &mut analysis.points[3..5] {
            let summary = point.summary.as_mut().unwrap();
            summary.rows_per_s = Some(10.0 * summary.ops_per_s);
        }
        let summary = analysis.points[5].summary.as_mut().unwrap();
        summary.queries_per_s = 16.0 * summary.ops_per_s;
        analysis
    }

    fn told(analysis: &Analysis) -> Vec<(SurveyedWork, u32, bool)> {
        let rows = Survey::from_analysis(analysis).map_or(Vec::new(), |survey| survey.rows);
        rows.into_iter().map(|row| (row.work, row.point, row.is_lower_bound)).collect()
    }

    fn spoil(point: &mut PointAnalysis, share: f64) {
        let by = CpuUser::Hypervisor { share_max: Share(0.02) };
        point.findings.push(Finding::new(Severity::Error, ForeignCpu { share: Share(share), by }));
        point.validity = Validity::Invalid;
    }

    #[test]
    fn each_kind_of_work_has_its_best_rate_and_each_engine_its_own() {
        use SurveyedWork::{Inserts, Reads, Transactions, Writes};
        let expected = [(Reads, 2), (Writes, 3), (Inserts, 4), (Inserts, 5), (Transactions, 6)];
        assert_eq!(told(&surveyed()), expected.map(|(work, point)| (work, point, false)));
        let survey = Survey::from_analysis(&surveyed()).unwrap();
        assert_eq!((survey.stolen, survey.used_by_others), (None, None));
    }

    #[test]
    fn what_the_hypervisor_spoilt_is_a_lower_bound_and_what_it_did_not_spoil_is_preferred() {
        let mut analysis = surveyed();
        spoil(&mut analysis.points[1], 0.3);
        spoil(&mut analysis.points[2], 0.12);
        let found = told(&analysis);
        assert_eq!((found[0].1, found[0].2, found[1].1, found[1].2), (1, false, 3, true));
        assert_eq!(Survey::from_analysis(&analysis).unwrap().stolen, Some([0.12, 0.3]));
    }

    #[test]
    fn a_run_that_lacks_a_kind_of_work_or_has_repeats_is_no_survey() {
        let mut analysis = surveyed();
        analysis.points[5].validity = Validity::Invalid;
        assert!(told(&analysis).is_empty(), "its transactions are wrong");
        let mut analysis = surveyed();
        analysis.points[0].repeat = 2;
        assert!(told(&analysis).is_empty());
    }
}
