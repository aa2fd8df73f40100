//! A table on a terminal: as many of its columns as leave room for the labels. If not even those fit that are always shown, or the terminal is
//! narrow, each column is on a line of its own.

use super::{Paint, Tone, WIDTH_MIN, cut, safe, unquoted, wrap};
use crate::render::labels::Labels;
use crate::table::{Cell, Column, InTerminal, Look, Row, Table};
use analysis::Validity;

/// With fewer columns for them nothing is left of labels.
const LABEL_WIDTH_MIN: usize = 8;
/// A longer head is cut.
const HEAD_MAX: usize = 28;
/// The least width of a text that is cut, and of the name of a field.
const TEXT: usize = 12;
const FIELD: usize = 10;

/// All of `table`, whose section is called `title`. `said` is what the labels of an earlier table had in common.
pub fn table_lines(table: &Table, title: &str, paint: Paint, said: &mut Option<String>) -> Vec<String> {
    let warnings = table.warnings.iter().flat_map(|text| wrap(&safe(text), paint.width));
    let warnings: Vec<String> = warnings.map(|line| paint.text(&line, Tone::Bad)).collect();
    let all: Vec<&Row> = table.rows.iter().filter(|row| !row.documents_only).collect();
    let shown = &all[..all.len().min(table.most_rows)];
    if shown.is_empty() || !table.is_for_terminal() {
        return warnings;
    }
    let layout = FittedColumns::fitted(table, shown, paint.width);
    let caption = caption(table, title).into_iter().flat_map(|caption| wrap(&caption, paint.width));
    let mut lines: Vec<String> = caption.map(|line| paint.text(&line, Tone::Faint)).collect();
    match &layout {
        Some(layout) => lines.extend(layout.lines(shown, paint, said)),
        None => lines.extend(fields(table, shown, paint)),
    }
    if all.len() > shown.len() {
        lines.push(format!("({} more in the report)", all.len() - shown.len()));
    }
    lines.extend(table.notes.iter().flat_map(|note| wrap(&unquoted(note), paint.width)));
    [lines, warnings].concat()
}

/// `What an insert costs (r, w: read, written)`; `None` if the heads say it all.
fn caption(table: &Table, title: &str) -> Option<String> {
    match (table.title.as_str(), table.short_legend) {
        ("", "") => None,
        ("", legend) => Some(format!("{title} ({legend})")),
        (own, "") => Some(safe(own)),
        (own, legend) => Some(format!("{} ({legend})", safe(own))),
    }
}

/// The columns that fit, each with its width.
pub struct FittedColumns<'a> {
    table: &'a Table,
    columns: Vec<(usize, usize)>,
    label_width: usize,
    indent: usize,
}

impl<'a> FittedColumns<'a> {
    /// `None` if each column needs a line of its own.
    pub fn fitted(table: &'a Table, rows: &[&Row], page: usize) -> Option<FittedColumns<'a>> {
        let mut columns: Vec<(usize, usize)> = (0..table.columns.len())
            .filter(|nth| matches!(table.columns[*nth].terminal, InTerminal::Always | InTerminal::IfRoom))
            .map(|nth| (nth, natural_width(&table.columns[nth], rows.iter().map(|row| &row.cells[nth]))))
            .collect();
        let used = |columns: &[(usize, usize)]| -> usize {
            columns.iter().map(|(nth, width)| gap(&table.columns[*nth]) + width).sum()
        };
        while page < used(&columns) + table.label_least {
            let can_go = |(nth, _): &(usize, usize)| table.columns[*nth].terminal == InTerminal::IfRoom;
            match columns.iter().rposition(can_go) {
                Some(place) => columns.remove(place),
                None => break,
            };
        }
        let indent = if table.has_groups() { 2 } else { 0 };
        let longest =
            rows.iter().map(|row| chars(&row.label_text()) + indent).chain([chars(table.shown_label_head())]).max()?;
        let mut label_width = page.saturating_sub(used(&columns));
        // A text at the end gives way to the labels, and needs no room that they do not.
        if let Some((_, width)) = columns.last().copied().filter(|(nth, _)| table.columns[*nth].is_text) {
            let others = used(&columns) - width;
            let width = width.min(page.saturating_sub(others + longest.min(table.label_least)).max(TEXT));
            columns.last_mut()?.1 = width;
            label_width = page.saturating_sub(others + width).min(longest);
        }
        (page >= WIDTH_MIN && label_width >= LABEL_WIDTH_MIN.min(longest)).then_some(FittedColumns {
            table,
            columns,
            label_width,
            indent,
        })
    }

    pub fn head(&self) -> String {
        let heads = self.columns.iter().map(|(nth, width)| {
            padded(&self.table.columns[*nth], &cut(&head(&self.table.columns[*nth]), *width), *width)
        });
        let width = self.label_width;
        let label = cut(&safe(self.table.shown_label_head()), width);
        format!("{label:<width$}{}", heads.collect::<String>()).trim_end().to_owned()
    }

    /// What all labels have in common if it is left out, the head, and the rows.
    fn lines(&self, rows: &[&Row], paint: Paint, said: &mut Option<String>) -> Vec<String> {
        let mut labels = self.labels(rows);
        let (noun, rest) = self.table.label_head.split_once(' ').unwrap_or((&self.table.label_head, ""));
        let heads = format!("{noun}s {rest}");
        let common = labels.common().map(|common| format!("All {}: {common}", heads.trim_end()));
        let is_new = common != *said;
        let heads = common.iter().filter(|_| is_new).flat_map(|text| wrap(text, paint.width)).chain([self.head()]);
        let mut lines: Vec<String> = heads.map(|line| paint.text(&line, Tone::Faint)).collect();
        *said = common.or(said.take());
        let mut group = "";
        for row in rows {
            if row.group != group {
                lines.push(paint.text(&cut(&safe(&row.group), paint.width), Tone::Strong));
                group = &row.group;
            }
            lines.extend(self.row(row, &mut labels, paint));
        }
        lines
    }

    pub fn labels(&self, rows: &[&Row]) -> Labels {
        Labels::fitted(rows.iter().map(|row| phrases(row)), self.label_width.saturating_sub(self.indent))
    }

    /// A row with what is below it.
    pub fn row(&self, row: &Row, labels: &mut Labels, paint: Paint) -> Vec<String> {
        let cell = |(nth, width): &(usize, usize)| {
            let (column, cell) = (&self.table.columns[*nth], &row.cells[*nth]);
            let text = padded(column, &cut(&safe(cell.short_text()), *width), *width);
            tone(cell.look).map_or_else(|| text.clone(), |tone| paint.text(&text, tone))
        };
        let cells: String = self.columns.iter().map(cell).collect();
        let mut lines = labels.row(&phrases(row), cells.trim_end(), paint.width - self.indent);
        lines.iter_mut().for_each(|line| *line = format!("{:1$}{line}", "", self.indent));
        lines.extend(below(self.table, row, paint));
        lines
    }
}

fn phrases(row: &Row) -> Vec<String> {
    row.label.iter().map(|phrase| safe(phrase)).collect()
}

fn head(column: &Column) -> String {
    cut(&safe(&column.head), HEAD_MAX)
}

/// As wide as what is in it: a number is never cut.
fn natural_width<'a>(column: &Column, cells: impl Iterator<Item = &'a Cell>) -> usize {
    let longest = cells.map(|cell| chars(cell.short_text())).max().unwrap_or(0);
    longest.max(chars(&head(column))).max(column.least_width)
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn gap(column: &Column) -> usize {
    if column.is_text { 2 } else { 1 }
}

fn padded(column: &Column, text: &str, width: usize) -> String {
    if column.is_text { format!("  {text:<width$}") } else { format!(" {text:>width$}") }
}

fn tone(look: Look) -> Option<Tone> {
    match look {
        Look::Plain | Look::Bar(_) => None,
        Look::Better | Look::Badge(Validity::Valid) => Some(Tone::Good),
        Look::Caution | Look::Badge(Validity::Indicative) => Some(Tone::Caution),
        Look::Worse | Look::Badge(Validity::Invalid) => Some(Tone::Bad),
    }
}

/// What belongs to a row, on lines below it.
fn below(table: &Table, row: &Row, paint: Paint) -> Vec<String> {
    let own = table
        .columns
        .iter()
        .zip(&row.cells)
        .filter(|(column, cell)| column.terminal == InTerminal::Below && !matches!(cell.short_text(), "" | "-"));
    let own = own.map(|(column, cell)| (format!("{}: {}", column.head, cell.short_text()), None, 4));
    let others = row.below.iter().map(|cell| (cell.text.clone(), tone(cell.look), 2));
    let mut lines = Vec::new();
    for (text, tone, indent) in own.chain(others) {
        for line in wrap(&safe(&text), paint.width.saturating_sub(indent)) {
            let line = tone.map_or_else(|| line.clone(), |tone| paint.text(&line, tone));
            lines.push(format!("{:indent$}{line}", ""));
        }
    }
    lines
}

/// Each column on a line of its own, below the label of its row.
pub fn fields(table: &Table, rows: &[&Row], paint: Paint) -> Vec<String> {
    let shown: Vec<(usize, &Column)> = table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| matches!(column.terminal, InTerminal::Always | InTerminal::IfRoom))
        .collect();
    let longest = shown.iter().map(|(_, column)| chars(&head(column))).max().unwrap_or(0);
    let name_width = longest.max(FIELD).min((paint.width / 3).max(FIELD));
    let mut lines = Vec::new();
    let mut group = "";
    for row in rows {
        if row.group != group {
            lines.extend(wrap(&safe(&row.group), paint.width).iter().map(|line| paint.text(line, Tone::Strong)));
            group = &row.group;
        }
        lines.extend(wrap(&safe(&row.label_text()), paint.width));
        for (nth, column) in &shown {
            let cell = &row.cells[*nth];
            let values = wrap(safe(cell.short_text()).trim(), paint.width.saturating_sub(name_width + 3).max(1));
            for (nth, value) in values.iter().enumerate().filter(|_| !matches!(cell.short_text(), "" | "-")) {
                let name = if nth == 0 { cut(&head(column), name_width) } else { String::new() };
                let value = tone(cell.look).map_or_else(|| value.clone(), |tone| paint.text(value, tone));
                lines.push(format!("  {name:<name_width$} {value}"));
            }
        }
        lines.extend(below(table, row, paint));
    }
    lines
}
