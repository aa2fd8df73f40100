//! The ratios of the arms of a relative table, in the terminal.
//!
//! In: a relative table, and the width of the page. Out: lines no wider than that. Limits: lines of detail are in the report only.

use super::{LABEL_WIDTH_MIN, TerminalPage, Tone, cut, safe, wrap};
use crate::relative::{RatioText, RelativeLine, RelativeView};
use crate::render::labels::short_names;

/// The most lines of a relative table without groups.
const RELATIVE_MAX: usize = 16;
/// The least width of a ratio with its interval, its sign and the number of pairs,
const RATIO: usize = 25;
/// and that of what the first arm did.
const BASE: usize = 9;
/// A longer name of an arm is cut.
const ARM_MAX: usize = 28;
/// What the signs behind a ratio mean.
const RATIO_SIGNS: &str = "ratio, 95 % CI, pairs; + better, - worse, = no difference shown, ? indicative";

/// The columns of a relative table.
#[derive(Clone, Copy)]
struct RelativeWidths {
    base: usize,
    ratio: usize,
}

impl RelativeWidths {
    /// As wide as what is in them.
    fn fitted_to(view: &RelativeView, shown: &[&RelativeLine]) -> RelativeWidths {
        let chars = |text: &str| text.chars().count();
        let arms = view.arms.iter().map(|arm| chars(arm).min(ARM_MAX));
        let cells = shown.iter().flat_map(|line| &line.cells).map(|cell| chars(&ratio_with_pairs(cell)));
        // The names of many lines need the room; the base is in the title.
        let arm_max = if view.is_grouped { BASE } else { ARM_MAX };
        RelativeWidths {
            base: chars(&view.base).clamp(BASE, arm_max),
            ratio: arms.chain(cells).fold(RATIO, usize::max),
        }
    }
}

/// `1.04 (1.02 to 1.06) +  6`
fn ratio_with_pairs(cell: &RatioText) -> String {
    match cell.sign {
        "" => cell.ratio.clone(),
        sign => format!("{} {sign} {:>2}", cell.ratio, cell.n),
    }
}

impl TerminalPage {
    /// Speed and p99 of each arm relative to the first. If the arms do not fit side by side, each has a line of its own.
    pub(super) fn relative(&self, view: &RelativeView) -> Vec<String> {
        let brief: Vec<&RelativeLine> = view.rows.iter().filter(|line| line.is_brief).collect();
        if brief.is_empty() {
            return Vec::new();
        }
        let most = if view.is_grouped { usize::MAX } else { RELATIVE_MAX };
        let title = format!("{} ({RATIO_SIGNS})", view.title);
        let mut lines = vec![String::new()];
        lines.extend(wrap(&safe(&title), self.width).iter().map(|line| self.paint(line, Tone::Faint)));
        let shown = &brief[..brief.len().min(most)];
        let widths = RelativeWidths::fitted_to(view, shown);
        let side_by_side = self.width.checked_sub(widths.base + 1 + view.arms.len() * (widths.ratio + 1));
        lines.extend(match side_by_side.filter(|width| *width >= LABEL_WIDTH_MIN) {
            Some(width) => self.arms_side_by_side(view, shown, width, widths),
            None => self.arms_below_each_other(view, shown, widths),
        });
        if brief.len() > most {
            lines.push(format!("and {} more lines in the report", brief.len() - most));
        }
        lines
    }

    fn arms_side_by_side(
        &self,
        view: &RelativeView,
        shown: &[&RelativeLine],
        width: usize,
        RelativeWidths { base, ratio }: RelativeWidths,
    ) -> Vec<String> {
        let label = |line: &RelativeLine| relative_label(line, view.is_grouped);
        let longest = shown.iter().map(|line| label(line).chars().count()).max().unwrap_or(0);
        let width = width.min(longest.max(LABEL_WIDTH_MIN));
        let (base_head, arm_heads) = heads(view, base, ratio);
        let arm_heads: String = arm_heads.iter().map(|arm| format!(" {arm:>ratio$}")).collect();
        let head = format!("{:<width$} {base_head:>base$}{arm_heads}", "");
        let cells = |line: &RelativeLine| {
            let cells: String = line.cells.iter().map(|cell| format!(" {}", self.ratio(cell, ratio))).collect();
            format!(" {:>base$}{cells}", line.base)
        };
        let rows = match view.is_grouped {
            true => shown.iter().flat_map(|line| self.line_in_group(line, &cells(line), width)).collect(),
            false => self.labelled_rows(shown.iter().map(|line| (vec![label(line)], cells(line))).collect(), width),
        };
        [self.paint(&head, Tone::Faint)].into_iter().chain(rows).collect()
    }

    /// `line`, whose name is written in full, below the name of its group if it is the first of it.
    fn line_in_group(&self, line: &RelativeLine, cells: &str, width: usize) -> Vec<String> {
        let group = line.group.iter().map(|name| self.paint(&safe(name), Tone::Strong));
        let label = cut(&relative_label(line, true), width);
        group.chain([format!("{label:<width$}{cells}")]).collect()
    }

    fn arms_below_each_other(
        &self,
        view: &RelativeView,
        shown: &[&RelativeLine],
        RelativeWidths { ratio, .. }: RelativeWidths,
    ) -> Vec<String> {
        let width = self.width.saturating_sub(ratio + 1);
        let mut lines = Vec::new();
        for line in shown {
            lines.extend(line.group.iter().map(|name| self.paint(&safe(name), Tone::Strong)));
            lines.extend(wrap(&format!("{}: {}", relative_label(line, view.is_grouped), line.base), self.width));
            lines.extend(view.arms.iter().zip(&line.cells).map(|(arm, cell)| {
                let name = cut(&format!("  {}", safe(arm)), width);
                format!("{name:<width$} {}", self.ratio(cell, ratio))
            }));
        }
        lines
    }

    /// `1.04 (1.02 to 1.06) + 6`, as wide as its column.
    fn ratio(&self, cell: &RatioText, width: usize) -> String {
        let text = format!("{:>width$}", ratio_with_pairs(cell));
        match cell.tone {
            "better" => self.paint(&text, Tone::Good),
            "worse" => self.paint(&text, Tone::Bad),
            "indicative" => self.paint(&text, Tone::Caution),
            _ => text,
        }
    }
}

/// The heads of the columns: of the first arm in a column of `base`, of the others in columns of `ratio`. If one is too long, what all have in
/// common is left out, because the title has the first arm whole; what is then too long is cut.
fn heads(view: &RelativeView, base: usize, ratio: usize) -> (String, Vec<String>) {
    let names: Vec<String> = std::iter::once(&view.base).chain(&view.arms).map(|name| safe(name)).collect();
    let fits = |names: &[String]| {
        let widths = std::iter::once(base).chain(std::iter::repeat(ratio));
        names.iter().zip(widths).all(|(name, width)| name.chars().count() <= width)
    };
    let phrases = |name: &String| name.split(' ').map(str::to_owned).collect();
    let names = if fits(&names) { names } else { short_names(names.iter().map(phrases).collect()) };
    let (first, others) = names.split_first().expect("a table has a first arm");
    (cut(first, base), others.iter().map(|name| cut(name, ratio)).collect())
}

/// The place and the metric; in groups, which are of one metric, the place alone.
fn relative_label(line: &RelativeLine, is_grouped: bool) -> String {
    let place = safe(&line.place);
    match () {
        () if place.is_empty() => line.metric.to_owned(),
        () if is_grouped => place,
        () => format!("{place} {}", line.metric),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads_of(names: &[&str]) -> Vec<String> {
        let view = RelativeView {
            title: String::new(),
            base: names[0].to_owned(),
            arms: names[1..].iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
            has_intervals: true,
            is_long: false,
            is_grouped: true,
        };
        let (base, arms) = heads(&view, BASE, RATIO);
        [vec![base], arms].concat()
    }

    #[test]
    fn heads_that_are_too_long_lose_what_they_have_in_common() {
        assert_eq!(heads_of(&["ext4", "a much longer name of arm"]), ["ext4", "a much longer name of arm"]);
        assert_eq!(heads_of(&["secondary_index true", "secondary_index false"]), ["true", "false"]);
        assert_eq!(heads_of(&["mariadb:innodb", "mariadb:rocksdb"]), ["..innodb", "..rocksdb"]);
        let versions = ["mariadb:innodb@/opt/mariadb-10.11.6/bin", "mariadb:innodb@/opt/mariadb-11.4.2/bin"];
        assert_eq!(heads_of(&versions), ["..10.11..", "..11.4.2.."]);
        assert_eq!(heads_of(&["postgres", "sqlite cache 8 MiB with a very long name"])[0], "postgres");
    }
}
