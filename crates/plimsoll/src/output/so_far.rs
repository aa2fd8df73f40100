//! The answer of a run while it is measured, of the points that are complete.
//!
//! In: the run file. Out: an answer without a next step, or the lines of its table. Limits: all complete points are read and analysed, so it is
//! asked for between two points, or by a thread that gives way to the load. A run file that cannot be read now has none.

use analysis::Answer;
use model::{PointState, RunData};
use std::path::Path;

/// The answer of the complete points in `run_file`, without what is still to be measured; `None` if there is none, or it cannot be read now.
pub fn answer(run_file: &Path) -> Option<Answer> {
    let meta = store::read_meta(run_file).ok()?.meta;
    let mut points = store::read_points_from(run_file, 0).ok()?;
    points.retain(|point| point.state == PointState::Complete);
    let mut run = RunData { meta, points };
    run.meta.plan.trials = run.points.iter().map(|point| point.trial.clone()).collect();
    (!run.points.is_empty()).then(|| Answer { next: None, ..analysis::answer(&analysis::analyse(&run)) })
}

/// The table of that answer in lines of at most `width` columns; empty without one.
pub fn table(run_file: &Path, width: usize) -> Vec<String> {
    let Some(answer) = answer(run_file).filter(|answer| answer.table.is_some()) else { return Vec::new() };
    table_lines(&answer, width)
}

fn table_lines(answer: &Answer, width: usize) -> Vec<String> {
    let (claims, trust) = (Vec::new(), Vec::new());
    let alone = Answer { question: String::new(), claims, trust, next: None, ..answer.clone() };
    let text = report::terminal::answer(&alone, width, false);
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::AnswerKind;
    use analysis::answer::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable};

    #[test]
    fn a_table_so_far_has_its_heads_and_rows_and_nothing_else_of_the_answer() {
        let row = |name: &str, text: &str| AnswerRow {
            name: vec![name.to_owned()],
            cells: vec![Some(AnswerCell::of(None, "ops_per_s", 1.0, text))],
        };
        let table = AnswerTable {
            head: "ops/s".to_owned(),
            columns: vec![AnswerColumn::new("sqlite")],
            rows: vec![row("1 client", "910"), row("4 clients", "2.31k")],
            rows_of: 2,
            conditions: String::new(),
        };
        let answer = Answer {
            kind: AnswerKind::Sweep,
            question: "How many?".to_owned(),
            table: Some(table),
            claims: Vec::new(),
            trust: vec!["All 2 points are valid.".to_owned()],
            next: Some("Repeat it.".to_owned()),
        };
        let lines = table_lines(&answer, 80);
        let words: Vec<String> =
            lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(words, ["ops/s sqlite", "1 client 910", "4 clients 2.31k"]);
    }
}
