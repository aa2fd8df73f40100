//! The answer on one screen: the question, the table in which the answer is seen, what is claimed, how far to trust it, and what to do next.
//!
//! In: an [`Answer`], a width in columns, and whether colour is wanted. Out: at most [`LINES_MAX`] lines from 60 columns on. What has no room
//! there goes in this order: the later claims, the later sentences of trust, the last rows of the table. The details have it all.

use super::{Paint, Tone, WIDTH_LEAST, WIDTH_MIN, cut, safe, wrap};
use analysis::Answer;
use analysis::answer::{AnswerCell, AnswerRow, AnswerTable};

/// With the line that names the report, and an empty one before it, a screen of 24.
const LINES_MAX: usize = 22;
/// So many claims, sentences of trust and rows stay before something more important goes.
const CLAIMS_KEPT: usize = 3;
const TRUST_KEPT: usize = 2;
const ROWS_KEPT: usize = 6;
/// A longer question is read in the plan.
const QUESTION_LINES_MAX: usize = 2;
/// A narrow column has at least so much room for its head.
const HEAD_LEAST: usize = 8;
/// Blanks between columns.
const GAP: usize = 2;

/// The answer. Ends with a line break.
pub fn answer(answer: &Answer, width: usize, colour: bool) -> String {
    let paint = Paint { width: width.max(WIDTH_LEAST), colour };
    let mut shown = answer.clone();
    if width >= WIDTH_MIN {
        while lines(&shown, paint).len() > LINES_MAX && shorten(&mut shown) {}
    }
    lines(&shown, paint).join("\n") + "\n"
}

/// Takes the least important piece out of `answer`; `false` if there is none that may go.
fn shorten(answer: &mut Answer) -> bool {
    let rows = answer.table.as_ref().map_or(0, |table| table.rows.len());
    let drop_row = |answer: &mut Answer| answer.table.iter_mut().for_each(|table| drop(table.rows.pop()));
    match answer {
        _ if answer.claims.len() > CLAIMS_KEPT => drop(answer.claims.pop()),
        _ if answer.trust.len() > TRUST_KEPT => drop(answer.trust.pop()),
        _ if rows > ROWS_KEPT => drop_row(answer),
        _ if answer.claims.len() > 1 => drop(answer.claims.pop()),
        _ if answer.trust.len() > 1 => drop(answer.trust.pop()),
        _ if rows > 1 => drop_row(answer),
        _ => return false,
    }
    true
}

fn lines(answer: &Answer, paint: Paint) -> Vec<String> {
    let claims: Vec<String> = answer.claims.iter().map(|claim| safe(&claim.sentence)).collect();
    let mut last = paint.claims(&claims);
    last.extend(paint.labelled("Trust", &answer.trust.join(" ")));
    last.extend(paint.labelled("Next", answer.next.as_deref().unwrap_or_default()));
    let table = answer.table.as_ref().map_or(Vec::new(), |table| paint.table(table));
    let parts = [paint.question(&answer.question), table, last];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&String::new())
}

impl Paint {
    fn question(self, question: &str) -> Vec<String> {
        let mut lines = wrap(&safe(question), self.width);
        if lines.len() > QUESTION_LINES_MAX {
            lines.truncate(QUESTION_LINES_MAX);
            lines
                .iter_mut()
                .skip(QUESTION_LINES_MAX - 1)
                .for_each(|line| *line = cut(&format!("{line}  "), self.width));
        }
        lines.retain(|line| !line.is_empty());
        lines.iter().map(|line| self.text(line, Tone::Faint)).collect()
    }

    /// One paragraph, whose first sentence is the answer.
    fn claims(self, claims: &[String]) -> Vec<String> {
        let mut strong = claims.first().map_or(0, |first| first.chars().count());
        let lines = wrap(&claims.join(" "), self.width).into_iter().filter(|line| !line.is_empty());
        let paint_line = |line: String| {
            let (head, tail) = line.split_at(line.char_indices().nth(strong).map_or(line.len(), |(at, _)| at));
            // The blank at the end of a line is one of the sentence.
            strong = strong.saturating_sub(line.chars().count() + 1);
            if head.is_empty() { line } else { self.text(head, Tone::Strong) + tail }
        };
        lines.map(paint_line).collect()
    }

    /// `Trust: 9 of 10 points are valid.`; nothing without a text.
    fn labelled(self, label: &str, text: &str) -> Vec<String> {
        if text.is_empty() {
            return Vec::new();
        }
        let mut lines = wrap(&format!("{label}: {}", safe(text)), self.width);
        lines[0] = lines[0].replacen(label, &self.text(label, Tone::Faint), 1);
        lines
    }

    /// The conditions, the heads and the rows; below it what a mark means and how many rows are left out.
    fn table(self, table: &AnswerTable) -> Vec<String> {
        let mut lines: Vec<String> = wrap(&safe(&table.conditions), self.width);
        lines.retain(|line| !line.is_empty());
        lines.iter_mut().for_each(|line| *line = self.text(line, Tone::Faint));
        let is_marked = has_both(table);
        lines.extend(match Grid::fitted(table, is_marked, self.width) {
            Some(grid) => grid.lines(self),
            None => listed(table, is_marked, self.width),
        });
        let left_out = table.rows_of.saturating_sub(table.rows.len());
        let notes = [
            is_marked.then(|| "?: only a hint.".to_owned()),
            (left_out > 0)
                .then(|| format!("{left_out} more {}: --details.", if left_out == 1 { "row" } else { "rows" })),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let notes = wrap(&notes.join(" "), self.width).into_iter().filter(|line| !line.is_empty());
        lines.extend(notes.map(|line| self.text(&line, Tone::Faint)));
        lines
    }
}

/// Whether some cells may be concluded from and others not: then those are marked. If all are alike, the trust says it.
fn has_both(table: &AnswerTable) -> bool {
    let mut cells = table.rows.iter().flat_map(|row| &row.cells).flatten();
    let first = cells.next().map(|cell| cell.is_indicative);
    cells.any(|cell| Some(cell.is_indicative) != first)
}

fn cell_text(cell: &AnswerCell, is_marked: bool) -> String {
    let mark = if is_marked && cell.is_indicative && !cell.text.contains('?') { "?" } else { "" };
    safe(&cell.text) + mark
}

/// Each cell on a line of its own, below the name of its row: for a terminal in which they have no room beside each other.
fn listed(table: &AnswerTable, is_marked: bool, width: usize) -> Vec<String> {
    let mut lines = wrap(&safe(&table.head), width);
    for row in &table.rows {
        lines.extend(wrap(&safe(&row.name.join(" ")), width));
        let named = table.columns.iter().map(|column| safe(&column.head)).zip(&row.cells);
        let named = named.filter_map(|(head, cell)| Some((head, cell_text(cell.as_ref()?, is_marked))));
        let texts = named.map(|(head, text)| if head.is_empty() { text } else { format!("{head}: {text}") });
        lines.extend(texts.flat_map(|text| wrap(&text, width - GAP)).map(|line| format!("{:GAP$}{line}", "")));
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// The table as lines of texts in columns that fit.
struct Grid {
    /// The width of each part of a name.
    names: Vec<usize>,
    /// The width of each column behind them.
    columns: Vec<usize>,
    /// The heads, a line each, and then the rows: the parts of the name, and the cells.
    lines: Vec<GridLine>,
}

struct GridLine {
    name: Vec<String>,
    cells: Vec<String>,
    is_head: bool,
}

impl Grid {
    /// The whole texts; if they are too wide, with intervals below their numbers. `None` if that is too wide, too.
    fn fitted(table: &AnswerTable, is_marked: bool, width: usize) -> Option<Grid> {
        let grids = [false, true].map(|is_split| Grid::new(table, is_marked, is_split));
        grids.into_iter().find(|grid| grid.width() <= width && width >= WIDTH_MIN)
    }

    fn new(table: &AnswerTable, is_marked: bool, is_split: bool) -> Grid {
        let parts = table.rows.iter().map(|row| row.name.len()).max().unwrap_or(1);
        let mut lines: Vec<GridLine> = Vec::new();
        let mut above: &[String] = &[];
        for row in &table.rows {
            lines.extend(row_lines(row, above, (table.columns.len(), is_marked, is_split)));
            above = &row.name;
        }
        let widest_name =
            |nth: usize| lines.iter().filter_map(|line| line.name.get(nth)).map(|part| chars(part)).max().unwrap_or(0);
        let names = (0..parts).map(widest_name).collect();
        let columns: Vec<usize> = (0..table.columns.len()).map(|nth| widest_cell(&lines, nth)).collect();
        let heads: Vec<Vec<String>> =
            table
                .columns
                .iter()
                .zip(&columns)
                .map(|(column, width)| {
                    if is_split {
                        wrap(&safe(&column.head), (*width).max(HEAD_LEAST))
                    } else {
                        vec![safe(&column.head)]
                    }
                })
                .collect();
        let head_lines = heads.iter().map(Vec::len).max().unwrap_or(1).max(1);
        // Short heads stand directly above their numbers.
        let head_at = |nth: usize| GridLine {
            name: vec![if nth + 1 == head_lines { safe(&table.head) } else { String::new() }],
            cells: heads
                .iter()
                .map(|head| (nth + head.len()).checked_sub(head_lines).map_or(String::new(), |at| head[at].clone()))
                .collect(),
            is_head: true,
        };
        let has_heads = !table.head.is_empty() || heads.iter().flatten().any(|head| !head.is_empty());
        let lines: Vec<GridLine> = (0..head_lines).filter(|_| has_heads).map(head_at).chain(lines).collect();
        let columns = (0..table.columns.len()).map(|nth| widest_cell(&lines, nth)).collect();
        Grid { names, columns, lines }
    }

    /// The head of the names may be wider than they are.
    fn names_width(&self) -> usize {
        let own = self.names.iter().sum::<usize>() + self.names.len().saturating_sub(1);
        let heads = self.lines.iter().filter(|line| line.is_head).map(|line| chars(&line.name[0]));
        heads.chain([own]).max().unwrap_or(0)
    }

    fn width(&self) -> usize {
        1 + self.names_width() + self.columns.iter().map(|width| GAP + width).sum::<usize>()
    }

    fn lines(&self, paint: Paint) -> Vec<String> {
        let names_width = self.names_width();
        let line = |line: &GridLine| {
            let name = if line.is_head {
                line.name[0].clone()
            } else {
                let parts = line.name.iter().zip(&self.names).map(|(part, width)| format!("{part:<width$}"));
                parts.collect::<Vec<_>>().join(" ")
            };
            let cells = line.cells.iter().zip(&self.columns).map(|(cell, width)| format!("{:GAP$}{cell:>width$}", ""));
            let text = format!(" {name:<names_width$}{}", cells.collect::<String>()).trim_end().to_owned();
            if line.is_head { paint.text(&text, Tone::Faint) } else { text }
        };
        self.lines.iter().map(line).collect()
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn widest_cell(lines: &[GridLine], nth: usize) -> usize {
    lines.iter().map(|line| chars(&line.cells[nth])).max().unwrap_or(0)
}

/// The lines of one row: one, or two if intervals are below their numbers. What the row `above` has of its name is left out.
fn row_lines(row: &AnswerRow, above: &[String], (columns, is_marked, is_split): (usize, bool, bool)) -> Vec<GridLine> {
    let same = row.name.iter().zip(above).take_while(|(own, above)| own == above).count();
    let is_new = |nth: usize| nth >= same || same == row.name.len();
    let name = row.name.iter().enumerate().map(|(nth, part)| if is_new(nth) { safe(part) } else { String::new() });
    let mut cells: Vec<(String, String)> = (0..columns)
        .map(|nth| match row.cells.get(nth).and_then(Option::as_ref) {
            None => ("-".to_owned(), String::new()),
            Some(cell) => match cell_text(cell, is_marked) {
                text if is_split && text.contains(" (") => {
                    let (number, interval) = text.split_once(" (").expect("it has one");
                    (number.to_owned(), format!("({interval}"))
                }
                text => (text, String::new()),
            },
        })
        .collect();
    let second: Vec<String> = cells.iter_mut().map(|cell| std::mem::take(&mut cell.1)).collect();
    let first = cells.into_iter().map(|cell| cell.0).collect();
    let mut lines = vec![GridLine { name: name.collect(), cells: first, is_head: false }];
    if second.iter().any(|text| !text.is_empty()) {
        lines.push(GridLine { name: Vec::new(), cells: second, is_head: false });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, made_answer};

    fn text(made: &Answer, width: usize) -> String {
        answer(made, width, false)
    }

    #[test]
    fn the_question_comes_first_then_the_table_the_claims_trust_and_the_next_step() {
        let mut made = made_answer();
        made.claims.truncate(2);
        made.trust.truncate(1);
        made.table.iter_mut().for_each(|table| {
            (table.rows_of, table.conditions) = (3, String::new());
            table.rows.truncate(3);
            table
                .rows
                .iter_mut()
                .flat_map(|row| row.cells.iter_mut().flatten())
                .for_each(|cell| cell.is_indicative = false);
            table.rows[2].name[0] = "fjall".to_owned();
        });
        let expected = "\
What do secondary indexes cost?

 against no index, 4 pairs             read only            write only        read and write
 sqlite batches of 10 rows  1.35x (1.22 to 1.49)  2.35x (1.22 to 1.49)  3.35x (1.22 to 1.49)
        batches of 20 rows  2.35x (1.22 to 1.49)  3.35x (1.22 to 1.49)  4.35x (1.22 to 1.49)
 fjall  batches of 30 rows  3.35x (1.22 to 1.49)  4.35x (1.22 to 1.49)  5.35x (1.22 to 1.49)

Three secondary indexes make inserts four times slower on both engines if each row is a commit, and
forty times slower if a batch of one thousand rows is one. Three secondary indexes make inserts four
times slower on both engines if each row is a commit, and forty times slower if a batch of one
thousand rows is one.
Trust: 9 of 12 points are valid.
Next: plimsoll run insert-engines --repeat 6
";
        assert_eq!(text(&made, 100), expected);
    }

    #[test]
    fn intervals_stand_below_their_numbers_where_they_have_no_room_beside_them() {
        let shown = text(&made_answer(), 80);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            lines[3].split_whitespace().collect::<Vec<_>>().join(" "),
            "against no index, 4 pairs read only write only read and write"
        );
        assert!(
            lines[4].starts_with(" sqlite batches of 10 rows") && lines[5].trim_start().starts_with("(1.22 to 1.49)"),
            "{shown}"
        );
        assert!(text(&made_answer(), 40).contains("\n  read only: 1.35x (1.22 to 1.49)?\n"));
    }

    #[test]
    fn one_screen_holds_every_answer_and_says_what_is_left_out() {
        for width in [60, 80, 132, 200] {
            let shown = text(&made_answer(), width);
            assert!(shown.lines().count() <= LINES_MAX, "{width}: {shown}");
            assert!(shown.contains("?: only a hint.") && shown.contains(" more rows: --details."), "{width}: {shown}");
            assert!(
                shown.contains("Trust: ") && shown.contains("Next: ") && shown.contains("Three secondary"),
                "{shown}"
            );
        }
        for width in [24, 40, 59, 60, 80, 132] {
            let shown = text(&made_answer(), width);
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{width}: {shown}");
        }
    }

    #[test]
    fn a_mark_tells_hints_from_results_and_is_left_out_where_all_are_alike() {
        let mut made = made_answer();
        assert!(text(&made, 132).contains(" 1.35x (1.22 to 1.49)? "));
        let cells =
            made.table.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| row.cells.iter_mut().flatten());
        cells.for_each(|cell| cell.is_indicative = true);
        assert!(!text(&made, 132).contains(")?") && !text(&made, 132).contains("only a hint"));
    }

    #[test]
    fn an_answer_without_a_table_or_claims_is_no_empty_screen() {
        let bare = Answer { table: None, claims: Vec::new(), trust: Vec::new(), next: None, ..made_answer() };
        assert_eq!(text(&bare, 80), "What do secondary indexes cost?\n");
        let long = Answer { question: "what ".repeat(60), ..bare };
        assert!(
            text(&long, 80).lines().count() == QUESTION_LINES_MAX && text(&long, 80).ends_with("..\n"),
            "{}",
            text(&long, 80)
        );
    }

    #[test]
    fn colour_adds_only_colour_and_the_first_claim_is_strong_whole() {
        let coloured = answer(&made_answer(), 80, true);
        let strong: Vec<&str> =
            coloured.split("\u{1b}[1m").skip(1).filter_map(|rest| rest.split("\u{1b}[0m").next()).collect();
        assert_eq!(strong.join(" "), made_answer().claims[0].sentence);
        let plain = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m"].iter().fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(plain, text(&made_answer(), 80));
    }

    #[test]
    fn no_text_controls_the_terminal() {
        for hostile in HOSTILE {
            let mut made = made_answer();
            made.question = (*hostile).to_owned();
            made.claims[0].sentence = (*hostile).to_owned();
            made.trust[0] = (*hostile).to_owned();
            made.next = Some((*hostile).to_owned());
            let table = made.table.as_mut().expect("it has a table");
            (table.head, table.conditions) = ((*hostile).to_owned(), (*hostile).to_owned());
            (table.columns[0].head, table.rows[0].name[0]) = ((*hostile).to_owned(), (*hostile).to_owned());
            table.rows[0].cells[0].as_mut().expect("a cell").text = (*hostile).to_owned();
            for width in [24, 60, 132] {
                let shown = text(&made, width);
                assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
            }
        }
    }
}
