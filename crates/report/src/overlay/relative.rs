//! All arms relative to the first, in one table: a row for each place, green where an arm is better and red where it is worse.
//!
//! In: comparisons with one base. Out: a [`Table`]; none for two arms, whose ratios are a table of their own. Limits: rates, or the
//! times of steps that have a duration; the percentiles are in the tables of each arm.

use super::arm_names;
use crate::table::{Cell, Column, Look, Row, Table};
use crate::wording::compare::ratio_text;
use crate::wording::label::settings_label;
use crate::wording::metric::{metric_value, verdict_word};
use analysis::RatioVerdict;
use analysis::compare::{MetricRatio, RunComparison};

/// The table of `all`.
pub fn relative_table(all: &[RunComparison]) -> Option<Table> {
    if all.len() < 2 {
        return None;
    }
    let mut places: Vec<(String, String)> = Vec::new();
    for (place, speed) in all.iter().flat_map(RunComparison::speeds) {
        let name = settings_label(&place.label);
        if !places.iter().any(|(known, _)| *known == name) {
            places.push((name, metric_value(speed.metric, speed.base)));
        }
    }
    let row = |(place, base): (String, String)| {
        let ratios: Vec<Cell> = all.iter().map(|one| cell(one, &place)).collect();
        Row::new(place, [Cell::from(base)].into_iter().chain(ratios))
    };
    Some(Table {
        label_head: "place".to_owned(),
        columns: arm_names(all).into_iter().map(Column::number).collect(),
        rows: places.into_iter().map(row).collect(),
        ..Table::default()
    })
}

/// What the new arm of `one` did at a place.
fn cell(one: &RunComparison, place: &str) -> Cell {
    let found = one.speeds().find(|(own, _)| settings_label(&own.label) == place);
    found.map(|(_, speed)| coloured(speed)).into()
}

/// The number, with the word for its colour.
fn coloured(speed: &MetricRatio) -> Cell {
    let (ratio, verdict) = (ratio_text(speed.estimate.ratio), speed.estimate.verdict);
    let look = match verdict {
        RatioVerdict::Faster => Look::Better,
        RatioVerdict::Slower => Look::Worse,
        RatioVerdict::NoDifferenceShown | RatioVerdict::Indicative => return Cell::from(ratio),
    };
    Cell::from([ratio.as_str(), verdict_word(speed.metric, verdict)].join(" ")).look(look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::comparison_page;
    use crate::render::html::page_html;
    use crate::render::markdown::page_markdown;
    use crate::testing::compared;

    #[test]
    fn three_arms_have_a_table_relative_to_the_first_in_colour() {
        let mut all = [compared(), compared()];
        all[1].new.run = "newer".into();
        all[1].places[0].metrics.remove(0);
        let page = comparison_page(&all, &[]);
        let (html, markdown) = (page_html(&page), page_markdown(&page));
        assert!(html.contains("<td class=\"n worse\">0.50 slower</td>"), "{html}");
        assert!(markdown.contains("| place | old | new | newer |"), "{markdown}");
        assert!(markdown.contains("| postgres oltp | 1.01k/s | 0.50 slower | - |"), "{markdown}");
    }

    #[test]
    fn two_arms_need_no_table_of_their_own() {
        assert!(relative_table(&[compared()]).is_none());
    }
}
