//! The first screen of a report: the answer with the one picture that shows it, the table in which it is seen, how far to trust it, and what to
//! do next; and the comparison below it.
//!
//! In: an analysis and its answer. Out: blocks of a page. Limits: the headline is the first claim, which the page has above these blocks.

use super::page::{PageBlock, PageSection};
use crate::inserts;
use crate::overview::{Overview, OverviewCell, OverviewRow, overviews};
use crate::palette::Palette;
use crate::render::chart_sections::ChartSection;
use crate::render::matrix::{Matrix, MatrixCell, MatrixRow};
use analysis::answer::{AnswerCell, AnswerRow, AnswerTable};
use analysis::{Analysis, Answer, PointAnalysis, Validity};

/// What follows the headline and its lead: the picture `main`, the table, trust, and the next step.
pub fn answer_blocks(analysis: &Analysis, answer: &Answer, main: Option<ChartSection>) -> Vec<PageBlock> {
    let mut blocks: Vec<PageBlock> = inserts::warnings(analysis).into_iter().map(PageBlock::Error).collect();
    blocks.extend(main.map(PageBlock::Main));
    if let Some(table) = &answer.table {
        blocks.push(PageBlock::Matrix(vec![answer_matrix(table)]));
        let cells = || table.rows.iter().flat_map(|row| &row.cells).flatten();
        let hint = if cells().any(|cell| cell.is_indicative) { "Dotted: only indicative." } else { "" };
        let notes = [table.conditions.as_str(), hint].into_iter().filter(|note| !note.is_empty());
        let notes = notes.collect::<Vec<_>>().join(". ");
        blocks.extend((!notes.is_empty()).then_some(PageBlock::Small(notes)));
    }
    blocks.push(PageBlock::Trust(badges(&analysis.points), answer.trust.join(" ")));
    blocks.extend(answer.next.clone().map(PageBlock::Next));
    blocks
}

/// The comparison of all that was measured; `None` if it has no more numbers than the table of `answer`. The repeats are taken together in
/// `rows`.
pub fn comparison_section(analysis: &Analysis, rows: &Analysis, answer: &Answer) -> Option<PageSection> {
    let tables = overviews(rows, &Palette::new(analysis));
    let told = answer.table.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells).flatten().count();
    let cells = tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells).flatten().count();
    let legend = legend(&tables);
    let mut blocks = vec![PageBlock::Matrix(tables.into_iter().map(matrix).collect())];
    blocks.extend((!legend.is_empty()).then_some(PageBlock::Small(legend)));
    let section = PageSection { id: "comparison", title: "All numbers compared".to_owned(), folded: None, blocks };
    (cells > told).then_some(section)
}

/// The gravest come first.
fn badges(points: &[PointAnalysis]) -> Vec<(usize, &'static str)> {
    let count = |v: Validity| (points.iter().filter(|p| p.validity == v).count(), v.as_str());
    [Validity::Invalid, Validity::Indicative, Validity::Valid].map(count).into_iter().filter(|b| b.0 > 0).collect()
}

/// What the cells mean that are there.
fn legend(tables: &[Overview]) -> String {
    let cells = || tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells).flatten();
    let notes = [
        (cells().any(|cell| cell.tone != 0), "Green: better than the base; red: worse; the stronger, the more."),
        (cells().any(|cell| !cell.half_width.is_empty()), "±: half of the 95 % confidence interval, if above 5 %."),
        (cells().any(|cell| cell.is_indicative), "Dotted: indicative only; the findings have the reason."),
        (cells().any(|cell| cell.is_invalid), "Struck out: invalid; the findings have the reason."),
    ];
    let shown = notes.iter().filter(|(is_there, _)| *is_there).map(|(_, words)| *words);
    shown.collect::<Vec<_>>().join(" ")
}

/// The full name in each row: a table in a page can be sorted.
fn answer_matrix(table: &AnswerTable) -> Matrix {
    let row = |row: &AnswerRow| MatrixRow {
        name: row.name.join(" "),
        style: None,
        cells: row
            .cells
            .iter()
            .map(|cell| cell.as_ref().filter(|cell| cell.value.is_finite()).map(answer_cell))
            .collect(),
    };
    Matrix {
        title: String::new(),
        base: String::new(),
        corner: table.head.clone(),
        heads: table.columns.iter().map(|column| column.head.clone()).collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}

/// An interval is below its number.
fn answer_cell(cell: &AnswerCell) -> MatrixCell {
    let (text, interval) =
        cell.text.split_once(" (").map_or((cell.text.as_str(), None), |(text, rest)| (text, Some(rest)));
    MatrixCell {
        value: cell.value,
        text: text.to_owned(),
        half_width: String::new(),
        notes: interval.map(|interval| format!("({interval}")).into_iter().collect(),
        tone: 0,
        is_invalid: false,
        is_indicative: cell.is_indicative,
    }
}

fn matrix(table: Overview) -> Matrix {
    let Overview { title, base, heads, rows } = table;
    let row = |row: OverviewRow| MatrixRow {
        name: row.name,
        style: row.style,
        cells: row.cells.into_iter().map(|cell| cell.map(matrix_cell)).collect(),
    };
    Matrix { title, base, corner: String::new(), heads, rows: rows.into_iter().map(row).collect() }
}

fn matrix_cell(cell: OverviewCell) -> MatrixCell {
    let OverviewCell { value, text, half_width, ratio, note, tone, is_invalid, is_indicative } = cell;
    let notes = [ratio, note].into_iter().filter(|note| !note.is_empty()).collect();
    MatrixCell { value, text, half_width, notes, tone, is_invalid, is_indicative }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{made_answer, quick};
    use analysis::RepeatRows;

    fn comparison(analysis: &Analysis, answer: &Answer) -> Option<PageSection> {
        comparison_section(analysis, &RepeatRows::from_analysis(analysis).analysis, answer)
    }

    #[test]
    fn a_number_that_is_only_a_hint_is_marked_and_the_mark_is_explained() {
        let mut analysis = quick();
        let answer = Answer { table: None, ..made_answer() };
        let marks = |analysis: &Analysis| -> (Vec<bool>, String) {
            let section = comparison(analysis, &answer).expect("it has numbers");
            let [PageBlock::Matrix(tables), PageBlock::Small(legend)] = section.blocks.as_slice() else {
                panic!("tables and a legend: {:?}", section.blocks)
            };
            let cells = tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.cells.iter().flatten());
            (cells.map(|cell| cell.is_indicative).collect(), legend.clone())
        };
        analysis.points.iter_mut().for_each(|point| point.validity = Validity::Indicative);
        let (hints, legend) = marks(&analysis);
        assert!(hints.iter().all(|mark| *mark) && legend.contains("Dotted: indicative"), "{hints:?} {legend}");
        analysis.points.iter_mut().for_each(|point| point.validity = Validity::Valid);
        let (valid, legend) = marks(&analysis);
        assert!(!legend.contains("Dotted") && !valid.contains(&true));
    }

    #[test]
    fn the_answer_has_its_table_its_trust_with_the_gravest_first_and_its_next_step() {
        let (analysis, answer) = (quick(), made_answer());
        let blocks = answer_blocks(&analysis, &answer, None);
        let [
            PageBlock::Matrix(tables),
            PageBlock::Small(conditions),
            PageBlock::Trust(badges, trust),
            PageBlock::Next(_),
        ] = blocks.as_slice()
        else {
            panic!("{blocks:?}")
        };
        let table = answer.table.as_ref().expect("it has a table");
        assert_eq!((tables[0].rows.len(), tables[0].corner.as_str()), (table.rows.len(), table.head.as_str()));
        assert!(conditions.starts_with(&table.conditions) && *trust == answer.trust.join(" "));
        assert_eq!(badges[0].1, "invalid");
    }

    #[test]
    fn a_comparison_that_has_no_more_numbers_than_the_answer_is_left_out() {
        let (mut analysis, mut small) = (quick(), made_answer());
        small.table.iter_mut().for_each(|table| table.rows.truncate(1));
        assert!(comparison(&analysis, &small).is_some());
        analysis.points.truncate(1);
        assert!(comparison(&analysis, &made_answer()).is_none());
        analysis.points.clear();
        assert!(comparison(&analysis, &Answer { table: None, ..made_answer() }).is_none());
    }
}
