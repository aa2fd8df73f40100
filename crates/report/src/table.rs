//! A table as a value: columns, rows and notes. The terminal, Markdown and HTML are renderers of it.
//!
//! A table of a run is best made by [`Table::of`]: each of its columns is one [`ColumnOf`], which has the head and how the cell of a row
//! is read.
//!
//! A document shows every column under its long head; a terminal shows those that fit, under their short heads. All text is escaped by the
//! renderers, for its place.

use crate::format;
use analysis::Validity;
use analysis::{Analysis, RepeatRows};
use std::borrow::Borrow;

/// A table, or several of one kind.
pub struct TableDef {
    /// Where a link to it leads.
    pub id: &'static str,
    /// The heading of its section.
    pub title: &'static str,
    /// Whether its section is open in the report, before the findings. Other tables are folded, behind them.
    pub is_open: bool,
    /// Whether a terminal that is too narrow for tables shows it, each column on a line of its own.
    pub in_narrow: bool,
    /// The chart behind which the same values are: a page that has it leaves out the table.
    pub chart: Option<&'static str>,
    /// The tables of an analysis, and of its rows, in which repeats are taken together. None if it has nothing of the kind.
    pub make: fn(&Analysis, &RepeatRows) -> Vec<Table>,
}

#[derive(Clone, Debug)]
pub struct Table {
    /// What it is of; empty if the section that it is in says that.
    pub title: String,
    /// What heads and cells mean, in a document.
    pub legend: String,
    /// The same for a terminal, shorter. Empty for none.
    pub short_legend: &'static str,
    /// The head of the names of groups, if rows are in groups.
    pub group_head: &'static str,
    /// The head of the labels.
    pub label_head: String,
    /// The head in a terminal, if that is another.
    pub short_label_head: Option<&'static str>,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Sentences below the table.
    pub notes: Vec<String>,
    /// What a reader must know before comparing any of its numbers.
    pub warnings: Vec<String>,
    /// Long texts that belong to it, each with a title, for documents.
    pub texts: Vec<(String, String)>,
    /// A terminal has so many rows; the others are in the report.
    pub most_rows: usize,
    /// A terminal leaves out columns that may be left out until labels have so many characters.
    pub label_least: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            title: String::new(),
            legend: String::new(),
            short_legend: "",
            group_head: "point",
            label_head: "point".to_owned(),
            short_label_head: None,
            columns: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
            texts: Vec::new(),
            most_rows: 30,
            label_least: 16,
        }
    }
}

/// A column behind the labels.
#[derive(Clone, Debug)]
pub struct Column {
    /// The head in a terminal.
    pub head: String,
    /// The head in a document, where it has more room.
    pub long_head: String,
    pub is_text: bool,
    pub terminal: InTerminal,
    /// It is at least so wide in a terminal, so that columns of tables below each other are in line.
    pub least_width: usize,
    /// A document has a table for each part, so that none is wider than a screen. The name of the part; empty if there is one only.
    pub part: &'static str,
}

/// A column of a table whose rows are each of a `T`, with the cell that it has for one.
pub struct ColumnOf<'a, T> {
    column: Column,
    cell: Box<dyn Fn(&T) -> Cell + 'a>,
}

impl<'a, T> ColumnOf<'a, T> {
    pub fn new<C: Into<Cell>>(column: Column, cell: impl Fn(&T) -> C + 'a) -> ColumnOf<'a, T> {
        ColumnOf { column, cell: Box::new(move |of| cell(of).into()) }
    }
}

/// Whether a terminal shows a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InTerminal {
    Always,
    /// The last such column is left out first.
    IfRoom,
    /// On a line below each row, with its head.
    Below,
    Never,
}

impl Column {
    pub fn number(head: impl Into<String>) -> Column {
        let head = head.into();
        let long_head = head.clone();
        Column { head, long_head, is_text: false, terminal: InTerminal::Always, least_width: 7, part: "" }
    }

    pub fn text(head: impl Into<String>) -> Column {
        Column { is_text: true, least_width: 0, ..Column::number(head) }
    }

    pub fn long_head(mut self, head: impl Into<String>) -> Column {
        self.long_head = head.into();
        self
    }

    pub fn least_width(mut self, width: usize) -> Column {
        self.least_width = width;
        self
    }

    pub fn part(mut self, part: &'static str) -> Column {
        self.part = part;
        self
    }

    pub fn terminal(mut self, terminal: InTerminal) -> Column {
        self.terminal = terminal;
        self
    }

    pub fn documents_only(self) -> Column {
        self.terminal(InTerminal::Never)
    }
}

/// A row: its label, and a cell for each column.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The group that it is in; empty for none.
    pub group: String,
    /// The label as phrases; a narrow column leaves out those that all labels have.
    pub label: Vec<String>,
    /// Whether the label is set off from others.
    pub is_marked: bool,
    pub cells: Vec<Cell>,
    /// What else belongs to it, a line each.
    pub below: Vec<Cell>,
    /// Whether it is in documents only.
    pub documents_only: bool,
}

impl Row {
    /// A row whose cells come from columns.
    pub fn labelled(label: Vec<String>) -> Row {
        Row { label, ..Row::default() }
    }

    pub fn new<C: Into<Cell>>(label: impl Into<String>, cells: impl IntoIterator<Item = C>) -> Row {
        Row::of_phrases(vec![label.into()], cells)
    }

    pub fn of_phrases<C: Into<Cell>>(label: Vec<String>, cells: impl IntoIterator<Item = C>) -> Row {
        Row { label, cells: cells.into_iter().map(Into::into).collect(), ..Row::default() }
    }

    pub fn in_group(mut self, group: impl Into<String>) -> Row {
        self.group = group.into();
        self
    }

    pub fn label_text(&self) -> String {
        self.label.join(" ")
    }
}

/// A text in a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    pub text: String,
    /// What a terminal has in its place, if that is shorter.
    pub short: Option<String>,
    pub look: Look,
    /// The place on the same page that it leads to.
    pub link: Option<String>,
}

/// How a cell is set off from others. What a colour means is in its words, too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Look {
    #[default]
    Plain,
    Better,
    Worse,
    Caution,
    Badge(Validity),
    /// Behind it is a bar of so many percent of its column.
    Bar(f64),
}

impl Cell {
    pub fn look(mut self, look: Look) -> Cell {
        self.look = look;
        self
    }

    pub fn short(mut self, short: impl Into<String>) -> Cell {
        self.short = Some(short.into());
        self
    }

    pub fn link(mut self, id: impl Into<String>) -> Cell {
        self.link = Some(id.into());
        self
    }

    /// What a terminal shows.
    pub fn short_text(&self) -> &str {
        self.short.as_ref().unwrap_or(&self.text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, ..Cell::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::from(text.to_owned())
    }
}

/// A dash for what is missing.
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Cell {
        cell.map_or_else(|| Cell::from(format::dash()), Into::into)
    }
}

impl Table {
    /// A table of `rows`, with the cells that `columns` have for each.
    pub fn of<T, B: Borrow<T>>(columns: Vec<ColumnOf<T>>, rows: impl IntoIterator<Item = (Row, B)>) -> Table {
        let filled = |(row, of): (Row, B)| {
            let cells = columns.iter().map(|column| (column.cell)(of.borrow())).collect();
            Row { cells, ..row }
        };
        let rows = rows.into_iter().map(filled).collect();
        Table { columns: columns.into_iter().map(|column| column.column).collect(), rows, ..Table::default() }
    }

    /// It, unless it has no row: a run that has nothing of its kind has no such table.
    pub fn if_any(self) -> Vec<Table> {
        if self.rows.is_empty() { Vec::new() } else { vec![self] }
    }

    /// The head of the labels in a terminal.
    pub fn shown_label_head(&self) -> &str {
        self.short_label_head.unwrap_or(&self.label_head)
    }

    /// Whether any row is in a group.
    pub fn has_groups(&self) -> bool {
        self.rows.iter().any(|row| !row.group.is_empty())
    }

    /// Whether a terminal shows any of it.
    pub fn is_for_terminal(&self) -> bool {
        self.columns.iter().any(|column| column.terminal != InTerminal::Never)
    }

    /// The parts of its columns in their order, each with the places of its columns.
    pub fn parts(&self) -> Vec<(&'static str, Vec<usize>)> {
        let mut parts: Vec<(&'static str, Vec<usize>)> = Vec::new();
        for (nth, column) in self.columns.iter().enumerate() {
            match parts.iter_mut().find(|(part, _)| *part == column.part) {
                Some((_, places)) => places.push(nth),
                None => parts.push((column.part, vec![nth])),
            }
        }
        parts
    }
}
