//! Lines of a page: text in tones, cut and filled to columns.
//!
//! In: text that is fit for a terminal. Out: lines of exactly so many columns. Limits: tones are colours only where those are wanted; no
//! meaning is in a colour alone.

use super::event::CellMark;
use analysis::Severity;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// A line of a page.
pub type ScreenRow = Line<'static>;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTone {
    Plain,
    Strong,
    Faint,
    Good,
    /// To be careful with.
    Caution,
    Bad,
    /// A bar or a chart.
    Drawn,
    /// A head over all columns.
    Head,
}

/// How tones and marks look on this terminal.
#[derive(Clone, Copy)]
pub struct Looks {
    /// Whether to use colours.
    pub colour: bool,
    /// Whether the terminal takes more than ASCII.
    pub is_unicode: bool,
}

impl Looks {
    /// Those of the terminal of this process.
    pub fn of_terminal(colour: bool) -> Looks {
        Looks { colour, is_unicode: is_unicode(|name| std::env::var(name).ok()) }
    }

    fn style(self, tone: TextTone) -> Style {
        let (plain, bold) = (Style::new(), Style::new().add_modifier(Modifier::BOLD));
        match (tone, self.colour) {
            (TextTone::Plain, _) => plain,
            (TextTone::Strong, _) => bold,
            (TextTone::Faint, _) => plain.add_modifier(Modifier::DIM),
            (TextTone::Head, _) => plain.add_modifier(Modifier::REVERSED),
            (TextTone::Good | TextTone::Drawn, false) => plain,
            (TextTone::Caution | TextTone::Bad, false) => bold,
            (TextTone::Good, true) => plain.fg(Color::Green),
            (TextTone::Caution, true) => plain.fg(Color::Yellow),
            (TextTone::Bad, true) => plain.fg(Color::Red),
            (TextTone::Drawn, true) => plain.fg(Color::Cyan),
        }
    }

    /// A line of one tone.
    pub fn row(self, text: impl Into<String>, tone: TextTone) -> ScreenRow {
        Line::from(self.span(text, tone))
    }

    /// A part of a line.
    pub fn span(self, text: impl Into<String>, tone: TextTone) -> Span<'static> {
        Span::styled(text.into(), self.style(tone))
    }

    /// The sign of a cell in the grid.
    pub fn mark(self, mark: CellMark) -> Span<'static> {
        let (sign, plain, tone) = match mark {
            CellMark::ToDo => ("·", ".", TextTone::Faint),
            CellMark::Running => ("▸", ">", TextTone::Strong),
            CellMark::Done => ("•", "o", TextTone::Plain),
            CellMark::Valid => ("✓", "v", TextTone::Good),
            CellMark::Indicative => ("~", "~", TextTone::Caution),
            CellMark::Invalid => ("✗", "x", TextTone::Bad),
            CellMark::Failed => ("!", "!", TextTone::Bad),
            CellMark::Skipped => ("»", "-", TextTone::Caution),
        };
        self.span(if self.is_unicode { sign } else { plain }, tone)
    }

    /// A bar of `width` columns, of which `parts` are filled, each with a share of 1 and a sign of its own.
    pub fn bar(self, width: usize, parts: &[(f64, char, TextTone)]) -> Vec<Span<'static>> {
        let (mut spans, mut filled, mut sum) = (Vec::new(), 0, 0.0);
        for (share, sign, tone) in parts {
            sum += share.clamp(0.0, 1.0);
            let end = ((sum * width as f64).round() as usize).min(width);
            spans.push(self.span(sign.to_string().repeat(end - filled.min(end)), *tone));
            filled = end.max(filled);
        }
        spans.push(self.span(if self.is_unicode { "─" } else { "-" }.repeat(width - filled), TextTone::Faint));
        spans
    }

    /// What fills a bar.
    pub fn full(self) -> char {
        if self.is_unicode { '█' } else { '#' }
    }
}

/// Whether the locale is one of UTF-8; also if none is set, as in most containers.
fn is_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| variable(name).filter(|text| !text.is_empty()));
    set.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// The tone of a finding.
pub fn tone_of(severity: Option<Severity>) -> TextTone {
    match severity {
        Some(Severity::Error) => TextTone::Bad,
        Some(Severity::Warning) => TextTone::Caution,
        Some(Severity::Note) | None => TextTone::Plain,
    }
}

/// `row` in exactly `width` columns: cut, or filled with spaces.
pub fn fit(row: ScreenRow, width: usize) -> ScreenRow {
    let mut left = width;
    let mut spans = Vec::new();
    for span in row.spans {
        let text = cut(&span.content, left);
        left -= Span::raw(text.as_str()).width();
        spans.push(Span::styled(text, span.style.patch(row.style)));
    }
    spans.push(Span::raw(" ".repeat(left)));
    Line::from(spans)
}

/// As much of `text` as `width` columns hold.
pub fn cut(text: &str, width: usize) -> String {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        if Span::raw(&text[..at + c.len_utf8()]).width() > width {
            break;
        }
        end = at + c.len_utf8();
    }
    text[..end].to_owned()
}

/// The same with two dots in place of what is cut off.
pub fn cut_with_dots(text: &str, width: usize) -> String {
    const DOTS: &str = "..";
    if Span::raw(text).width() > width { cut(text, width.saturating_sub(DOTS.len())) + DOTS } else { text.to_owned() }
}

/// `left` and `right` in one line of `width` columns; if there is no room for both, `right` is cut first.
pub fn spread(left: ScreenRow, right: ScreenRow, width: usize) -> ScreenRow {
    let gap = width.saturating_sub(left.width() + right.width());
    let between = if gap > 0 || left.width() + right.width() == width { gap } else { 1 };
    let spans = left.spans.into_iter().chain([Span::raw(" ".repeat(between))]).chain(right.spans);
    fit(Line::from(spans.collect::<Vec<_>>()), width)
}

/// Two blocks of lines next to each other.
pub fn side_by_side(
    left: Vec<ScreenRow>,
    left_width: usize,
    right: Vec<ScreenRow>,
    right_width: usize,
) -> Vec<ScreenRow> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let line = |_| {
        let own = fit(left.next().unwrap_or_default(), left_width);
        let other = fit(right.next().unwrap_or_default(), right_width);
        Line::from(own.spans.into_iter().chain([Span::raw("  ")]).chain(other.spans).collect::<Vec<_>>())
    };
    (0..rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(row: &ScreenRow) -> String {
        row.spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn lines_are_cut_and_filled_by_columns_and_not_by_letters() {
        assert_eq!(text(&fit(Line::from("ab"), 4)), "ab  ");
        assert_eq!(text(&fit(Line::from("数据库"), 5)), "数据 ");
        assert_eq!(text(&spread(Line::from("left"), Line::from("right"), 12)), "left   right");
        assert_eq!(text(&spread(Line::from("left"), Line::from("right"), 8)), "left rig");
        assert_eq!(["warning", "数据库", "fits"].map(|text| cut_with_dots(text, 5)), ["war..", "数..", "fits"]);
        let both = side_by_side(vec![Line::from("a")], 3, vec![Line::from("b"), Line::from("c")], 2);
        assert_eq!(both.iter().map(text).collect::<Vec<_>>(), ["a    b ", "     c "]);
    }

    #[test]
    fn a_bar_has_its_width_whatever_its_parts_are() {
        let looks = Looks { colour: false, is_unicode: false };
        let drawn = |parts: &[(f64, char, TextTone)]| text(&Line::from(looks.bar(10, parts)));
        assert_eq!(drawn(&[(0.25, '#', TextTone::Good), (0.5, '=', TextTone::Bad)]), "###=====--");
        assert_eq!(drawn(&[(0.9, '#', TextTone::Good), (7.0, '=', TextTone::Bad)]), "#########=");
        assert_eq!(drawn(&[]), "----------");
    }

    #[test]
    fn a_locale_without_utf_8_gets_ascii() {
        let locale =
            |name: &'static str, value: &'static str| move |asked: &str| (asked == name).then(|| value.to_owned());
        assert!(
            is_unicode(|_| None) && is_unicode(locale("LANG", "de_DE.UTF-8")) && is_unicode(locale("LC_ALL", "C.utf8"))
        );
        assert!(!is_unicode(locale("LC_CTYPE", "C")));
    }
}
