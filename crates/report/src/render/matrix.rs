//! A table of what is compared: a row for each thing, a column for each place where it was measured.
//!
//! In: a [`Matrix`]. Out: HTML with the colours of the things, and Markdown. Limits: what a colour means is also in words in the cell.

use super::html::plain as plain_html;
use crate::escape;
use plot::figure::SeriesStyle;

#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// What its numbers are; empty for none.
    pub title: String,
    /// What its ratios are to; empty if the title says it, or there are none.
    pub base: String,
    /// What is above the names; may be empty.
    pub corner: String,
    /// The heads of the columns behind the names.
    pub heads: Vec<String>,
    pub rows: Vec<MatrixRow>,
}

/// A thing that is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixRow {
    pub name: String,
    /// Its colour in the charts; `None` for a metric.
    pub style: Option<SeriesStyle>,
    /// A cell for each head; `None` if the thing was not measured there.
    pub cells: Vec<Option<MatrixCell>>,
}

/// What a thing did at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixCell {
    /// The value as a number, by which the table can be sorted.
    pub value: f64,
    /// The value with its unit.
    pub text: String,
    /// Half of its confidence interval; may be empty.
    pub half_width: String,
    /// What it is in relation to the base, a line each.
    pub notes: Vec<String>,
    /// From -5, much worse than the base, to 5, much better; 0 for no colour.
    pub tone: i8,
    /// Whether the value must not be used.
    pub is_invalid: bool,
    /// Whether the value is only indicative.
    pub is_indicative: bool,
}

/// The table as HTML.
pub fn matrix_html(matrix: &Matrix) -> String {
    let title = match matrix.title.as_str() {
        "" => String::new(),
        title => {
            let base = match matrix.base.as_str() {
                "" => String::new(),
                base => format!(" <span class=\"small\">relative to {}</span>", plain_html(base)),
            };
            format!("<h2>{}{base}</h2>\n", plain_html(title))
        }
    };
    let heads: String = matrix.heads.iter().map(|head| format!("<th class=\"n\">{}</th>", plain_html(head))).collect();
    let rows: String = matrix.rows.iter().map(row_html).collect();
    format!(
        "<div class=\"cmp\">{title}<div class=\"scroll\"><table class=\"cmp\">\n<thead><tr><th>{}</th>{heads}</tr></thead>\n<tbody>\n{rows}\
         </tbody></table></div></div>\n",
        plain_html(&matrix.corner)
    )
}

fn row_html(row: &MatrixRow) -> String {
    let cells: String = row
        .cells
        .iter()
        .map(|cell| cell.as_ref().map_or_else(|| "<td class=\"n\">-</td>".to_owned(), cell_html))
        .collect();
    format!(
        "<tr><th>{}{}</th>{cells}</tr>\n",
        row.style.map(plot::render_swatch).unwrap_or_default(),
        plain_html(&row.name)
    )
}

fn cell_html(cell: &MatrixCell) -> String {
    let hint = if cell.is_indicative { " indicative" } else { "" };
    let class = match cell.tone {
        _ if cell.is_invalid => " invalid".to_owned(),
        0 => String::new(),
        tone if tone > 0 => format!(" b{tone}"),
        tone => format!(" w{}", -tone),
    };
    let half = match cell.half_width.as_str() {
        "" => String::new(),
        half => format!(" <span class=\"half\">{}</span>", plain_html(half)),
    };
    let notes: String = cell.notes.iter().map(|note| format!("<i>{}</i>", plain_html(note))).collect();
    let text = plain_html(&cell.text);
    format!("<td class=\"n{hint}{class}\" data-value=\"{}\"><b>{text}</b>{half}{notes}</td>", cell.value)
}

/// The table as Markdown.
pub fn matrix_markdown(matrix: &Matrix) -> String {
    let title = match matrix.title.as_str() {
        "" => String::new(),
        title => format!("\n### {}\n", escape::markdown(title)),
    };
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = line(
        [escape::markdown(&matrix.corner)]
            .into_iter()
            .chain(matrix.heads.iter().map(|head| escape::markdown(head)))
            .collect(),
    );
    let rule = line((0..=matrix.heads.len()).map(|at| if at == 0 { "---" } else { "---:" }.to_owned()).collect());
    let row = |row: &MatrixRow| {
        let cells = row.cells.iter().map(|cell| cell.as_ref().map_or_else(|| "-".to_owned(), cell_markdown));
        line([escape::markdown(&row.name)].into_iter().chain(cells).collect())
    };
    let rows: String = matrix.rows.iter().map(row).collect();
    format!("{title}\n{heads}{rule}{rows}")
}

fn cell_markdown(cell: &MatrixCell) -> String {
    let half = Some(cell.half_width.clone()).filter(|half| !half.is_empty());
    let value = [Some(cell.text.clone()), half].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let parts = [value].into_iter().chain(cell.notes.iter().cloned());
    parts.map(|part| escape::markdown(&part)).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::HOSTILE;

    fn matrix(text: &str) -> Matrix {
        let cell = MatrixCell {
            value: 12.5,
            text: "12.5/s".to_owned(),
            half_width: "±1 %".to_owned(),
            notes: vec![text.to_owned()],
            tone: -2,
            is_invalid: false,
            is_indicative: false,
        };
        let rows = (0..2).map(|nth| MatrixRow {
            name: text.to_owned(),
            style: Some(SeriesStyle::nth(nth)),
            cells: vec![Some(cell.clone()), None],
        });
        Matrix {
            title: text.to_owned(),
            base: String::new(),
            corner: text.to_owned(),
            heads: vec![text.to_owned(), "b".to_owned()],
            rows: rows.collect(),
        }
    }

    #[test]
    fn a_row_has_its_colour_and_a_cell_its_value_its_ratio_and_what_it_means() {
        let html = matrix_html(&matrix("0.50, slower"));
        assert!(html.contains("<td class=\"n w2\" data-value=\"12.5\"><b>12.5/s</b>"), "{html}");
        assert!(html.contains("<i>0.50, slower</i>") && html.contains("<td class=\"n\">-</td>"), "{html}");
        assert_eq!(html.matches("class=\"swatch\"").count(), 2);
        let markdown = matrix_markdown(&matrix("slower"));
        assert!(markdown.contains("| slower | 12.5/s ±1 %; slower | - |\n"), "{markdown}");
    }

    #[test]
    fn no_hostile_text_becomes_markup() {
        for text in HOSTILE {
            let (html, markdown) = (matrix_html(&matrix(text)), matrix_markdown(&matrix(text)));
            assert!(!html.contains("<img") && !html.contains("<script"), "{html}");
            assert!(
                !markdown.contains("<script") && markdown.lines().filter(|line| line.starts_with('|')).count() == 4,
                "{markdown}"
            );
        }
    }
}
