//! The points of a plan as a grid that fills up: a line for each group that is swept, a cell for each point.
//!
//! In: the group and the place of each trial, and how the points end. Out: lines in as much room as there is. Limits: if there is not room
//! for all groups, those around the current one are shown, and how many are left out.

use super::event::CellMark;
use super::words::{Looks, ScreenRow, TextTone, cut, fit};
use ratatui::text::{Line, Span};
use std::collections::BTreeSet;

pub struct PointGrid {
    groups: Vec<GridGroup>,
    marks: Vec<CellMark>,
    places: Vec<String>,
    current: usize,
}

struct GridGroup {
    name: String,
    /// The numbers of its trials in the plan.
    trials: Vec<usize>,
}

/// How a cell is written, from the widest to the narrowest form.
const FORMS: [CellForm; 3] = [CellForm::Named, CellForm::Spaced, CellForm::Dense];

#[derive(Clone, Copy, PartialEq, Eq)]
enum CellForm {
    /// `✓ depth 8`
    Named,
    /// `✓ ✓ ~`
    Spaced,
    /// `✓✓~`
    Dense,
}

impl PointGrid {
    /// The grid of trials, each with its group and its place in it, of which `done` were complete before.
    pub fn new(cells: Vec<(String, String)>, done: &BTreeSet<usize>) -> PointGrid {
        let mut groups: Vec<GridGroup> = Vec::new();
        let (names, places): (Vec<String>, Vec<String>) = cells.into_iter().unzip();
        for (trial, name) in names.into_iter().enumerate() {
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.trials.push(trial),
                None => groups.push(GridGroup { name, trials: vec![trial] }),
            }
        }
        PointGrid {
            groups,
            marks: (0..places.len())
                .map(|trial| if done.contains(&trial) { CellMark::Done } else { CellMark::ToDo })
                .collect(),
            places,
            current: 0,
        }
    }

    /// A point of this trial begins.
    pub fn begin(&mut self, trial: usize) {
        self.mark(trial, CellMark::Running);
        self.current = trial;
    }

    /// The cell of a trial changes.
    pub fn mark(&mut self, trial: usize, mark: CellMark) {
        self.marks.get_mut(trial).into_iter().for_each(|cell| *cell = mark);
    }

    /// What the cell of a trial shows.
    pub fn mark_of(&self, trial: usize) -> Option<CellMark> {
        self.marks.get(trial).copied()
    }

    /// The trial that is measured now.
    pub fn running(&self) -> Option<usize> {
        self.marks.iter().position(|mark| *mark == CellMark::Running)
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// How many of them are over.
    pub fn over(&self) -> usize {
        self.marks.iter().filter(|mark| !matches!(mark, CellMark::ToDo | CellMark::Running)).count()
    }

    /// How many lines [`PointGrid::rows`] takes if it may take `most`.
    pub fn height(&self, most: usize) -> usize {
        self.groups.len().min(most)
    }

    /// The marks of all points in lines of `width` columns, without names.
    pub fn dense_rows(&self, looks: Looks, width: usize, height: usize) -> Vec<ScreenRow> {
        let rows: Vec<&[CellMark]> = self.marks.chunks(width.max(1)).collect();
        let from = (self.current / width.max(1) + 1).saturating_sub(height).min(rows.len().saturating_sub(height));
        let shown = rows.into_iter().skip(from).take(height);
        shown.map(|marks| Line::from(marks.iter().map(|mark| looks.mark(*mark)).collect::<Vec<_>>())).collect()
    }

    /// The groups in `height` lines of `width` columns.
    pub fn rows(&self, looks: Looks, width: usize, height: usize) -> Vec<ScreenRow> {
        let name_width = self.groups.iter().map(|group| Span::raw(&group.name).width()).max().unwrap_or(0);
        let name_width = name_width.min(width * 2 / 5);
        let room = width.saturating_sub(name_width + 2);
        let form = FORMS
            .into_iter()
            .find(|form| self.groups.iter().all(|group| self.cells(group, *form, looks).width() <= room))
            .unwrap_or(CellForm::Dense);
        let own = self.groups.iter().position(|group| group.trials.contains(&self.current)).unwrap_or(0);
        let from = own.saturating_sub(height / 2).min(self.groups.len().saturating_sub(height));
        let hidden = self.groups.len().saturating_sub(height);
        let shown = self.groups.iter().skip(from).take(height).enumerate();
        let row = |(nth, group): (usize, &GridGroup)| {
            let name = fit(looks.row(ended(&group.name, name_width), TextTone::Plain), name_width);
            let cells = self.cells_around_current(group, form, looks, room);
            let more =
                (hidden > 0 && nth + 1 == height).then(|| looks.span(format!("  ({hidden} more)"), TextTone::Faint));
            let spans = name.spans.into_iter().chain([Span::raw("  ")]).chain(cells.spans).chain(more);
            fit(Line::from(spans.collect::<Vec<_>>()), width)
        };
        shown.map(row).collect()
    }

    /// The cells of `group`; if there is not room for all, those that end soon after the current one.
    fn cells_around_current(&self, group: &GridGroup, form: CellForm, looks: Looks, room: usize) -> ScreenRow {
        let all = self.cells(group, form, looks);
        let over = group.trials.iter().filter(|trial| **trial < self.current).count();
        let skipped = (over + room / 4).min(group.trials.len()).saturating_sub(room);
        if all.width() > room { Line::from(all.spans.into_iter().skip(skipped).collect::<Vec<_>>()) } else { all }
    }

    fn cells(&self, group: &GridGroup, form: CellForm, looks: Looks) -> ScreenRow {
        let place = group.trials.iter().map(|trial| Span::raw(&self.places[*trial]).width()).max().unwrap_or(0);
        let cell = |trial: &usize| {
            let mark = looks.mark(self.marks[*trial]);
            let tone = if self.marks[*trial] == CellMark::Running { TextTone::Strong } else { TextTone::Faint };
            let name = match form {
                CellForm::Named => Some(looks.span(format!(" {:<place$}  ", self.places[*trial]), tone)),
                CellForm::Spaced => Some(Span::raw(" ")),
                CellForm::Dense => None,
            };
            [Some(mark), name]
        };
        Line::from(group.trials.iter().flat_map(cell).flatten().collect::<Vec<_>>())
    }
}

/// The end of a name that is too long: names differ there.
fn ended(name: &str, width: usize) -> String {
    let chars: Vec<char> = name.chars().collect();
    if Span::raw(name).width() > width && width > 4 {
        format!("..{}", chars[chars.len().saturating_sub(width - 2)..].iter().collect::<String>())
    } else {
        cut(name, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Looks = Looks { colour: false, is_unicode: true };

    fn text(row: &ScreenRow) -> String {
        row.spans.iter().map(|span| span.content.as_ref()).collect::<String>().trim_end().to_owned()
    }

    fn grid(groups: usize, places: usize) -> PointGrid {
        let cells =
            (0..groups * places).map(|nth| (format!("group {}", nth / places), format!("depth {}", nth % places)));
        PointGrid::new(cells.collect(), &BTreeSet::from([0]))
    }

    #[test]
    fn cells_are_named_if_there_is_room() {
        let mut grid = grid(2, 2);
        grid.mark(1, CellMark::Indicative);
        grid.begin(2);
        let rows = |width| grid.rows(PLAIN, width, 2).iter().map(text).collect::<Vec<_>>();
        assert_eq!(rows(40), ["group 0  • depth 0  ~ depth 1", "group 1  ▸ depth 0  · depth 1"]);
        assert_eq!(rows(24), ["group 0  • ~", "group 1  ▸ ·"]);
        assert_eq!((grid.over(), grid.len(), grid.running()), (2, 4, Some(2)));
    }

    #[test]
    fn of_many_groups_those_around_the_current_one_are_shown() {
        let mut grid = grid(30, 1);
        grid.begin(20);
        let rows: Vec<String> = grid.rows(PLAIN, 40, 3).iter().map(text).collect();
        assert_eq!(rows, ["group 19  · depth 0", "group 20  ▸ depth 0", "group 21  · depth 0    (27 more)"]);
    }

    #[test]
    fn of_many_cells_the_current_one_is_shown() {
        let mut grid = grid(1, 200);
        grid.begin(150);
        let row = text(&grid.rows(PLAIN, 40, 1)[0]);
        assert!(row.contains('▸'), "{row}");
        let dense: Vec<String> = grid.dense_rows(PLAIN, 20, 2).iter().map(text).collect();
        assert!(dense.len() == 2 && dense[1].contains('▸'), "{dense:?}");
    }
}
