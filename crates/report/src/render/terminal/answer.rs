//! The answer on one screen: the question, the table in which the answer is seen, what is claimed, how far to trust it, and what to do next.
//!
//! In: an [`Answer`], a width in columns, and whether colour is wanted. Out: at most [`LINES_MAX`] lines from 60 columns on. What has no room
//! there goes in this order: the later claims, the later sentences of trust, the last rows of the table; of a watch, whose claims tell what
//! disturbed it, the last rows first. The details have it all.

use super::{Paint, Tone, WIDTH_LEAST, WIDTH_MIN, cut, safe, unquoted, wrap};
use analysis::answer::{AnswerCell, AnswerTable};
use analysis::{Answer, AnswerKind};

/// With the lines that name the report and the details, and an empty one before them, a screen of 24.
const LINES_MAX: usize = 21;
/// So many claims, sentences of trust and rows stay before something more important goes.
const CLAIMS_KEPT: usize = 3;
const TRUST_KEPT: usize = 2;
const ROWS_KEPT: usize = 9;
const ROWS_LEAST: usize = 6;
/// A second claim is worth more than the rows beyond these.
const CLAIMS_LEAST: usize = 2;
const ROWS_FEW: usize = 4;
/// A longer question is read in the plan.
const QUESTION_LINES_MAX: usize = 2;
/// In less room than this the name of a row cannot be read.
const NAME_LEAST: usize = 14;
/// A longer head of the names has several lines.
const HEAD_MAX: usize = 40;
/// Blanks between two columns.
const GAP: usize = 2;

/// The answer. Ends with a line break.
pub fn answer(answer: &Answer, width: usize, colour: bool) -> String {
    let paint = Paint { width: width.max(WIDTH_LEAST), colour };
    let mut shown = answer.clone();
    if width >= WIDTH_MIN {
        while lines(&shown, paint).len() > LINES_MAX && shorten(&mut shown, paint) {}
    }
    lines(&shown, paint).join("\n") + "\n"
}

/// Takes the least important piece out of `answer`; `false` if there is none that may go.
fn shorten(answer: &mut Answer, paint: Paint) -> bool {
    let rows = answer.table.as_ref().map_or(0, |table| table.rows.len());
    let drop_row = |answer: &mut Answer| answer.table.iter_mut().for_each(|table| drop(table.rows.pop()));
    match answer {
        _ if answer.kind == AnswerKind::Observed && rows > ROWS_FEW => drop_row(answer),
        _ if answer.claims.len() > CLAIMS_KEPT => drop(answer.claims.pop()),
        _ if answer.trust.len() > TRUST_KEPT => drop(answer.trust.pop()),
        _ if rows > ROWS_KEPT => drop_row(answer),
        _ if answer.trust.len() > 1 => drop(answer.trust.pop()),
        _ if leave_out_times(answer, paint) || leave_out_intervals(answer, paint) => {}
        _ if rows > ROWS_LEAST => drop_row(answer),
        _ if answer.claims.len() > CLAIMS_LEAST => drop(answer.claims.pop()),
        _ if rows > ROWS_FEW => drop_row(answer),
        _ if answer.claims.len() > 1 => drop(answer.claims.pop()),
        _ if rows > 1 => drop_row(answer),
        _ => return false,
    }
    true
}

/// Takes the response times that stand next to rates out of the table, if they have no room there but on lines of their own.
fn leave_out_times(answer: &mut Answer, paint: Paint) -> bool {
    const HEAD: &str = " (p99)";
    let has_times = answer.table.as_ref().is_some_and(|table| table.head.contains(HEAD));
    has_times
        && leave_out_brackets(answer, paint, |cell| !is_ratio(cell), |table| table.head = table.head.replace(HEAD, ""))
}

/// Takes the intervals, which claims have, out of the ratios, if they stand on lines of their own.
fn leave_out_intervals(answer: &mut Answer, paint: Paint) -> bool {
    leave_out_brackets(answer, paint, is_ratio, |table| {
        table.columns.iter_mut().for_each(|column| column.head = column.head.replace(" (95 %)", ""));
    })
}

fn is_ratio(cell: &AnswerCell) -> bool {
    cell.figure.ends_with("ratio")
}

/// Takes what is in brackets out of the cells that are meant, and out of the heads by `mend_heads`, if that makes the table lower.
fn leave_out_brackets(
    answer: &mut Answer,
    paint: Paint,
    is_meant: fn(&AnswerCell) -> bool,
    mend_heads: impl Fn(&mut AnswerTable),
) -> bool {
    let Some(table) = &mut answer.table else { return false };
    let mut without = table.clone();
    mend_heads(&mut without);
    let cells = without.rows.iter_mut().flat_map(|row| row.cells.iter_mut().flatten());
    for cell in cells.filter(|cell| is_meant(cell)) {
        cell.text.truncate(cell.text.find(" (").unwrap_or(cell.text.len()));
    }
    let is_lower = paint.table(&without).len() < paint.table(table).len();
    if is_lower {
        *table = without;
    }
    is_lower
}

fn lines(answer: &Answer, paint: Paint) -> Vec<String> {
    let claims: Vec<String> = answer.claims.iter().map(|claim| unquoted(&claim.sentence)).collect();
    let mut last = paint.claims(&claims);
    last.extend(paint.labelled("Trust", &answer.trust.join(" ")));
    last.extend(paint.labelled("Next", answer.next.as_deref().unwrap_or_default()));
    let table = answer.table.as_ref().map_or(Vec::new(), |table| paint.table(table));
    let question = paint.question(&answer.question);
    let parts = if answer.begins_with_failures() { [question, last, table] } else { [question, table, last] };
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
        let mut lines = wrap(&format!("{label}: {}", unquoted(text)), self.width);
        lines[0] = lines[0].replacen(label, &self.text(label, Tone::Faint), 1);
        lines
    }

    /// The conditions, the heads and the rows; below it what a mark means and how many rows are left out.
    fn table(self, table: &AnswerTable) -> Vec<String> {
        let mut lines: Vec<String> = wrap(&safe(&table.conditions), self.width);
        lines.retain(|line| !line.is_empty());
        lines.iter_mut().for_each(|line| *line = self.text(line, Tone::Faint));
        let is_marked = has_both(table);
        let mut fitting = table.clone();
        let grid = loop {
            match Grid::fitted(&fitting, is_marked, self.width) {
                None if self.width >= WIDTH_MIN && fitting.columns.len() > 1 => drop(fitting.columns.pop()),
                grid => break grid,
            }
        };
        let columns_left_out = if grid.is_some() { table.columns.len() - fitting.columns.len() } else { 0 };
        lines.extend(grid.map_or_else(|| listed(table, is_marked, self.width), |grid| grid.lines(self)));
        let more = |left_out: usize, noun: &str| {
            (left_out > 0)
                .then(|| format!("{left_out} more {noun}{}: --details.", if left_out == 1 { "" } else { "s" }))
        };
        let notes = [
            is_marked.then(|| "?: only indicative.".to_owned()),
            has_text(table, " =").then(|| "=: no difference is proven.".to_owned()),
            more(table.rows_of.saturating_sub(table.rows.len()), "row"),
            more(columns_left_out, "column"),
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

/// Whether some cell ends with `mark`.
fn has_text(table: &AnswerTable, mark: &str) -> bool {
    table.rows.iter().flat_map(|row| &row.cells).flatten().any(|cell| cell.text.ends_with(mark))
}

fn cell_text(cell: &AnswerCell, is_marked: bool) -> String {
    let mark = if is_marked && cell.is_indicative && !cell.text.contains('?') { "?" } else { "" };
    safe(&cell.text) + mark
}

/// Each cell on a line of its own, below the name of its row: for a terminal in which they have no room next to each other.
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

/// How the texts of a table are set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextSetting {
    /// Each in one line.
    Whole,
    /// Intervals below their numbers, and heads in several lines.
    Split,
    /// The same, with the names of the rows in several lines, too, so that the table has this width.
    Within(usize),
}

/// The table as lines of texts in columns.
struct Grid {
    /// The width of each part of a name.
    names: Vec<usize>,
    /// The width of each column behind them.
    columns: Vec<usize>,
    blocks: Vec<LineBlock>,
}

/// The heads, or a row: the lines of its name, each in its parts, and the lines of its cells.
struct LineBlock {
    name: Vec<Vec<String>>,
    cells: Vec<Vec<String>>,
    is_head: bool,
}

impl Grid {
    /// The first setting that is not too wide; `None` if all are.
    fn fitted(table: &AnswerTable, is_marked: bool, width: usize) -> Option<Grid> {
        let settings = [TextSetting::Whole, TextSetting::Split, TextSetting::Within(width)];
        let mut grids = settings.into_iter().map(|setting| Grid::new(table, is_marked, setting));
        grids.find(|grid| grid.width() <= width && width >= WIDTH_MIN)
    }

    fn new(table: &AnswerTable, is_marked: bool, setting: TextSetting) -> Grid {
        let rows = table.rows.iter().map(|row| {
            let texts = (0..table.columns.len()).map(|nth| row.cells.get(nth).and_then(Option::as_ref));
            in_lines(texts.map(|cell| match cell.map(|cell| cell_text(cell, is_marked)) {
                None => vec!["-".to_owned()],
                Some(text) if setting == TextSetting::Whole => vec![text],
                Some(text) => split_interval(&text),
            }))
        });
        let rows: Vec<Vec<Vec<String>>> = rows.collect();
        let heads = table.columns.iter().enumerate().map(|(nth, column)| {
            let head = safe(&column.head);
            let words = head.split(' ').map(chars).max().unwrap_or(0);
            let below = rows.iter().flatten().map(|cells| chars(&cells[nth])).max().unwrap_or(0);
            if setting == TextSetting::Whole { vec![head] } else { wrap(&head, words.max(below).max(1)) }
        });
        let heads = in_lines(heads.collect::<Vec<_>>().into_iter());
        let columns: Vec<usize> = (0..table.columns.len())
            .map(|nth| heads.iter().chain(rows.iter().flatten()).map(|cells| chars(&cells[nth])).max().unwrap_or(0))
            .collect();
        let room = match setting {
            TextSetting::Whole | TextSetting::Split => usize::MAX,
            TextSetting::Within(width) => width.saturating_sub(1 + columns_width(&columns)).max(NAME_LEAST),
        };
        let mut above: &[String] = &[];
        let mut blocks = Vec::new();
        for (row, cells) in table.rows.iter().zip(rows) {
            let name = match setting {
                TextSetting::Within(_) => wrapped_name(&safe(&row.name.join(" ")), room),
                TextSetting::Whole | TextSetting::Split => vec![new_parts(&row.name, above)],
            };
            blocks.push(LineBlock { name, cells, is_head: false });
            above = &row.name;
        }
        let parts = blocks.iter().flat_map(|block| &block.name).map(Vec::len).max().unwrap_or(0);
        let widest = |nth: usize| {
            let parts = blocks.iter().flat_map(|block| &block.name).filter_map(|name| name.get(nth));
            parts.map(|part| chars(part)).max().unwrap_or(0)
        };
        let names = (0..parts).map(widest).collect();
        if !table.head.is_empty() || heads.iter().flatten().any(|head| !head.is_empty()) {
            blocks.insert(0, head_block(wrapped_name(&safe(&table.head), room.min(HEAD_MAX)), heads));
        }
        Grid { names, columns, blocks }
    }

    /// The head of the names may be wider than they are.
    fn names_width(&self) -> usize {
        let own = self.names.iter().sum::<usize>() + self.names.len().saturating_sub(1);
        let heads = self.blocks.iter().filter(|block| block.is_head).flat_map(|block| &block.name);
        heads.map(|name| chars(&name.concat())).chain([own]).max().unwrap_or(0)
    }

    fn width(&self) -> usize {
        1 + self.names_width() + columns_width(&self.columns)
    }

    fn lines(&self, paint: Paint) -> Vec<String> {
        self.blocks.iter().flat_map(|block| self.block_lines(block, paint)).collect()
    }

    fn block_lines(&self, block: &LineBlock, paint: Paint) -> Vec<String> {
        let names_width = self.names_width();
        let line = |nth: usize| {
            let parts = block.name.get(nth).into_iter().flatten();
            let name: Vec<String> = if block.is_head {
                parts.cloned().collect()
            } else {
                parts.zip(&self.names).map(|(part, width)| format!("{part:<width$}")).collect()
            };
            let cells = block.cells.get(nth).into_iter().flatten().zip(&self.columns);
            let cells: String = cells.map(|(cell, width)| format!("{:GAP$}{cell:>width$}", "")).collect();
            let text = format!(" {:<names_width$}{cells}", name.join(" ")).trim_end().to_owned();
            if block.is_head { paint.text(&text, Tone::Faint) } else { text }
        };
        (0..block.name.len().max(block.cells.len())).map(line).collect()
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn columns_width(columns: &[usize]) -> usize {
    columns.iter().map(|width| GAP + width).sum()
}

/// Lines of texts from texts of lines: the shorter ones are filled at their end.
fn in_lines(texts: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let texts: Vec<Vec<String>> = texts.collect();
    let most = texts.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).map(|nth| texts.iter().map(|lines| lines.get(nth).cloned().unwrap_or_default()).collect()).collect()
}

/// `1.35x (1.22 to 1.49)` with its interval in a second line.
fn split_interval(text: &str) -> Vec<String> {
    match text.split_once(" (") {
        Some((number, interval)) => vec![number.to_owned(), format!("({interval}")],
        None => vec![text.to_owned()],
    }
}

/// The parts of a name; those that the name `above` has, too, are left out.
fn new_parts(name: &[String], above: &[String]) -> Vec<String> {
    let same = name.iter().zip(above).take_while(|(own, above)| own == above).count();
    let is_new = |nth: usize| nth >= same || same == name.len();
    name.iter().enumerate().map(|(nth, part)| if is_new(nth) { safe(part) } else { String::new() }).collect()
}

/// A name without parts in lines of at most `width`.
fn wrapped_name(name: &str, width: usize) -> Vec<Vec<String>> {
    wrap(name, width).into_iter().map(|line| vec![line]).collect()
}

/// The head of the names is as low as the last line of the other heads.
fn head_block(mut name: Vec<Vec<String>>, mut cells: Vec<Vec<String>>) -> LineBlock {
    let (names, heads, columns) = (name.len(), cells.len(), cells.first().map_or(0, Vec::len));
    name.splice(0..0, std::iter::repeat_n(Vec::new(), heads.saturating_sub(names)));
    cells.splice(0..0, std::iter::repeat_n(vec![String::new(); columns], names.saturating_sub(heads)));
    LineBlock { name, cells, is_head: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, made_answer};

    fn text(made: &Answer, width: usize) -> String {
        answer(made, width, false)
    }

    #[test]
    fn response_times_that_need_lines_of_their_own_go_before_a_claim_and_ratios_keep_their_intervals() {
        let mut made = made_answer();
        made.claims.truncate(2);
        for (nth, claim) in made.claims.iter_mut().enumerate() {
            claim.sentence = format!("Claim number {nth} is one of those that were asked for.");
        }
        let table = made.table.as_mut().expect("it has one");
        table.head = "per second (p99)".to_owned();
        table.rows.truncate(9);
        for row in &mut table.rows {
            row.name[0] = "reads".to_owned();
        }
        for rate in table.rows[..8].iter_mut().flat_map(|row| row.cells.iter_mut().flatten()) {
            (rate.text, rate.figure) = ("1.23k (10.9 ms)".to_owned(), "ops_per_s".to_owned());
        }
        let told = text(&made, 80);
        assert!(told.contains("Claim number 1") && told.contains("1.22 to 1.49"), "{told}");
        assert!(!told.contains("10.9 ms") && !told.contains("(p99)"), "{told}");
    }

    #[test]
    fn who_blocked_whom_stays_and_the_cheaper_statements_go() {
        let mut made = made_answer();
        made.kind = AnswerKind::Observed;
        made.trust.truncate(1);
        for (nth, claim) in made.claims.iter_mut().enumerate() {
            claim.sentence = format!("Claim number {nth} is a sentence that has about as many words as most of them.");
        }
        let table = made.table.as_mut().expect("it has one");
        (table.head, table.conditions) = ("the dearest statements".to_owned(), String::new());
        table.rows.truncate(7);
        for (nth, row) in table.rows.iter_mut().enumerate() {
            row.name = vec![format!("{} SELECT c FROM t", nth + 1)];
            row.cells.iter_mut().flatten().for_each(|cell| cell.text = "1.63 ms".to_owned());
        }
        // Lines may break anywhere in a claim.
        let in_a_line = |made: &Answer| text(made, 80).split_whitespace().collect::<Vec<_>>().join(" ");
        let told = in_a_line(&made);
        assert!(told.contains("Claim number 4") && told.contains("4 SELECT"), "{told}");
        made.kind = AnswerKind::Arms;
        made.claims.iter_mut().for_each(|claim| claim.sentence = format!("{} {}", claim.sentence, claim.sentence));
        let told = in_a_line(&made);
        assert!(!told.contains("Claim number 4") && told.contains("7 SELECT"), "{told}");
        made.kind = AnswerKind::Observed;
        let told = in_a_line(&made);
        assert!(told.contains("Claim number 3") && !told.contains("7 SELECT"), "{told}");
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
        let mut low = made_answer();
        low.claims.truncate(1);
        low.table.iter_mut().for_each(|table| table.rows.truncate(4));
        let shown = text(&low, 80);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            lines[3].split_whitespace().collect::<Vec<_>>().join(" "),
            "against no index, 4 pairs read only write only read and write"
        );
        assert!(
            lines[4].starts_with(" sqlite batches of 10 rows") && lines[5].trim_start().starts_with("(1.22 to 1.49)"),
            "{shown}"
        );
        let tall = text(&made_answer(), 80);
        assert!(!tall.contains("(1.22 to 1.49)") && tall.contains(" 1.35x"), "they go before rows do: {tall}");
        let mut long = made_answer();
        long.table
            .iter_mut()
            .flat_map(|table| &mut table.rows)
            .for_each(|row| row.name = vec!["a name of many words ".repeat(3)]);
        let shown = text(&long, 80);
        assert!(shown.contains("\n many words\n"), "names go on in the next line: {shown}");
        for row in long.table.iter_mut().flat_map(|table| &mut table.rows) {
            row.cells.iter_mut().flatten().for_each(|cell| cell.text = "a text as wide as a third".to_owned());
        }
        let shown = text(&long, 80);
        assert!(shown.contains("1 more column: --details.") && !shown.contains("\n  read only: "), "no list: {shown}");
        assert!(text(&made_answer(), 40).contains("\n  read only: 1.35x (1.22 to 1.49)?\n"));
    }

    #[test]
    fn one_screen_holds_every_answer_and_says_what_is_left_out() {
        for width in [60, 80, 132, 200] {
            let shown = text(&made_answer(), width);
            assert!(shown.lines().count() <= LINES_MAX, "{width}: {shown}");
            assert!(
                shown.contains("?: only indicative.") && shown.contains(" more rows: --details."),
                "{width}: {shown}"
            );
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
        assert!(!text(&made, 132).contains(")?") && !text(&made, 132).contains("only indicative"));
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
