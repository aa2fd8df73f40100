//! Says which engine loses how much of its inserts when storage slows, and when data outgrows its cache.
//!
//! In: the points of a run that insert, on several storage limits or sizes of cache and data. Out: a note for each comparison.
//! Limits: whether data fits is by size here; what the reads show is the finding `cache-mismatch` of the points.

use super::detector::RunDetector;
use crate::finding::comparison::InsertSlowdown;
use crate::finding::{Code, Subject};
use crate::losses::{Loss, sentences};
use crate::{Finding, PointAnalysis, Severity};

/// The entry in the list of detectors of runs.
pub const DETECTOR: RunDetector = RunDetector { code: Code::InsertSlowdown, detect };

fn detect(points: &[PointAnalysis]) -> Vec<Finding> {
    let finding = |losses| Finding::new(Severity::Note, InsertSlowdown { losses }).about(Subject::Run);
    sentences(points).into_iter().map(finding).collect()
}

/// `storage held to iops=2000: mariadb:innodb loses 64 % (60 to 68) of its inserts, mariadb:rocksdb loses 21 % (18 to 24)`
pub fn sentence(losses: &[Loss], told: fn(&Loss) -> String, with_place: bool) -> String {
    let first = &losses[0];
    let place = if with_place && !first.place.is_empty() { format!(", {}", first.place) } else { String::new() };
    let one = |(nth, loss): (usize, &Loss)| {
        let whose = if nth == 0 { " of its inserts" } else { "" };
        format!("{} {}{whose}", loss.target, told(loss))
    };
    let told: Vec<String> = losses.iter().enumerate().map(one).collect();
    format!("{}{place}: {}", first.change.told(), told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DetailKind;
    use crate::simulate::{inserting_so_many, params, run_of};
    use crate::{Analysis, analyse};
    use model::{Bytes, Fact, PointData, Value};

    struct Cell {
        engine: &'static str,
        slow: bool,
        cache: u64,
        rate: u64,
    }

    /// Points with a little noise about their rate, whose data is 1 MB; a storage limit is written as engines' parameter.
    fn point(cell: &Cell) -> PointData {
        let counts: Vec<u64> = (0..30).map(|nth| cell.rate + [0, 40, 20, 30, 10][nth % 5] - 20).collect();
        let simulation = inserting_so_many(&counts, 0.0, 1e6, 0.0).with(|point| {
            let limit = Value::Word(if cell.slow { "iops=2000" } else { "none" }.into());
            point.trial.target.engine = cell.engine.into();
            point.trial.target.params = params(&[("storage_limit", limit), ("cache", Value::Bytes(Bytes(cell.cache)))]);
            point.facts.push(Fact::new("data.bytes", "1000000"));
        });
        simulation.point()
    }

    fn run(cells: &[Cell]) -> Analysis {
        analyse(&run_of(cells.iter().map(point).collect(), Vec::new()))
    }

    fn titles(cells: &[Cell]) -> Vec<String> {
        let found = run(cells).findings.into_iter().filter(|finding| finding.code() == crate::Code::InsertSlowdown);
        let figures = |finding: Finding| InsertSlowdown::in_detail(&finding.detail).cloned();
        found.filter_map(figures).map(|found| sentence(&found.losses, Loss::told, true)).collect()
    }

    const SMALL: u64 = 125_000;
    const LARGE: u64 = 8_000_000;

    fn cell(engine: &'static str, slow: bool, cache: u64, rate: u64) -> Cell {
        Cell { engine, slow, cache, rate }
    }

    #[test]
    fn engines_stand_in_one_sentence_with_the_greatest_loss_first() {
        let cells = [
            cell("mariadb:rocksdb", false, SMALL, 1_150),
            cell("mariadb:innodb", false, SMALL, 6_560),
            cell("mariadb:rocksdb", true, SMALL, 864),
            cell("mariadb:innodb", true, SMALL, 3_820),
        ];
        let expected = "storage held to iops=2000: mariadb:innodb loses 42 % (42 to 42) of its inserts, \
                        mariadb:rocksdb loses 25 % (24 to 25)";
        assert_eq!(titles(&cells), [expected]);
        let line = "storage held to iops=2000: mariadb:innodb loses 42 %, mariadb:rocksdb 25 %";
        assert!(run(&cells).verdict.iter().any(|told| told == line), "{:?}", run(&cells).verdict);
    }

    #[test]
    fn both_dimensions_of_a_matrix_are_told_at_each_place_of_the_other() {
        let mut cells = Vec::new();
        for (slow, cache, rate) in
            [(false, LARGE, 2_680), (false, SMALL, 656), (true, LARGE, 1_240), (true, SMALL, 382)]
        {
            cells.push(cell("mariadb:innodb", slow, cache, rate));
        }
        let told = titles(&cells);
        let begins = |text: &str| told.iter().any(|title| title.starts_with(text));
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(begins("storage held to iops=2000, cache 122 KiB: mariadb:innodb loses 42 %"), "{told:?}");
        assert!(begins("data larger than its cache, storage_limit none: mariadb:innodb loses 76 %"), "{told:?}");
    }

    #[test]
    fn an_engine_that_does_not_care_shows_no_loss_and_a_run_without_either_dimension_has_no_sentence() {
        let same = [cell("fjall", false, SMALL, 1_000), cell("fjall", true, SMALL, 1_000)];
        assert!(titles(&same)[0].starts_with("storage held to iops=2000: fjall shows no loss (-1 to 1 %)"));
        assert!(titles(&[cell("fjall", false, SMALL, 1_000), cell("sqlite", false, SMALL, 500)]).is_empty());
    }
}
