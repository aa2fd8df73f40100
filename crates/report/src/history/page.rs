//! The report of a history: what the terminal shows, with a picture of each series.
//!
//! In: a history. Out: a [`Page`]. Limits: plans with too few runs have their sentence and no picture.

use super::chart;
use crate::render::page::{Page, PageBlock, PageSection};
use crate::table::{Column, Row, Table};
use crate::wording::history::{
    cannot_tell_sentence, change_cell, change_clause, changes_by_run, conditions_sentence, left_out_sentence,
    metric_name, metric_value, outliers_sentence, run_heading, runs_phrase, series_label, too_few_sentence,
    verdict_sentence,
};
use crate::wording::quantity::plural;
use analysis::history::{
    CHANGE_MIN, History, HistoryLevel, HistoryOutcome, HistorySeries, P_MAX, PlanHistory, RUNS_MIN,
};

pub fn history_page(history: &History) -> Page {
    let (few, enough): (Vec<_>, Vec<_>) = history.plans.iter().partition(|plan| plan.has_too_few_runs());
    let numbered = (1..).zip(&enough);
    let mut sections: Vec<PageSection> = numbered.map(|(nth, plan)| plan_section(plan, nth)).collect();
    if !few.is_empty() {
        let sentences = few.iter().map(|plan| format!("{}: {}", plan.title, too_few_sentence(plan)));
        let blocks = vec![PageBlock::List(sentences.collect())];
        sections.push(PageSection { title: "Plans with too few runs".to_owned(), blocks, ..PageSection::default() });
    }
    sections.push(reading());
    let plans = plural(history.plans.len() as u64, "plan");
    let runs: usize = history.plans.iter().map(|plan| plan.runs.len()).sum();
    Page {
        title: "History".to_owned(),
        headline: format!("History of {plans}, {}", plural(runs as u64, "run")),
        lead: enough.iter().map(|plan| format!("{}: {}", plan.title, verdict_sentence(plan))).collect(),
        sections,
        ..Page::default()
    }
}

fn plan_section(plan: &PlanHistory, number: usize) -> PageSection {
    let mut blocks = vec![PageBlock::Paragraph(runs_phrase(plan) + "."), PageBlock::Table(series_table(plan))];
    for changes in changes_by_run(plan) {
        let clauses = changes.changes.iter().map(|(series, change)| change_clause(series, change) + ".");
        blocks.push(PageBlock::Heading(run_heading(plan, changes.run)));
        blocks.push(PageBlock::List(clauses.chain([conditions_sentence(&changes)]).collect()));
    }
    let notes = [outliers_sentence(plan), left_out_sentence(plan), cannot_tell_sentence(plan)];
    blocks.extend(notes.into_iter().flatten().map(PageBlock::Paragraph));
    blocks.push(PageBlock::Figures(chart::figures(plan, number)));
    blocks.push(PageBlock::Heading("Levels".to_owned()));
    blocks.push(PageBlock::Table(level_table(plan)));
    PageSection { title: plan.title.clone(), blocks, ..PageSection::default() }
}

fn series_table(plan: &PlanHistory) -> Table {
    let row = |series: &HistorySeries| {
        let [first, last] = [series.values.first(), series.values.last()]
            .map(|value| value.map_or(String::new(), |value| metric_value(series.metric, value.value.value)));
        let (metric, runs) = (metric_name(series.metric).to_owned(), series.values.len().to_string());
        Row::new(series_label(series), [metric, runs, first, last, change_cell(series)])
    };
    let numbers = ["runs", "first value", "last value", "change"].map(Column::number);
    let columns = [Column::text("metric")].into_iter().chain(numbers).collect();
    Table { columns, rows: plan.series.iter().map(row).collect(), ..Table::default() }
}

fn level_table(plan: &PlanHistory) -> Table {
    let row = |series: &HistorySeries, level: &HistoryLevel| {
        let [first, last] = [level.first, level.last].map(|at| series.values[at].run + 1);
        let value = |value: f64| metric_value(series.metric, value);
        let interval = format!("{} to {}", value(level.ci95[0]), value(level.ci95[1]));
        let runs = format!("{first} to {last}");
        Row::new(series_label(series), [metric_name(series.metric).to_owned(), runs, value(level.mean), interval])
    };
    let rows = plan.series.iter().flat_map(|series| match &series.outcome {
        HistoryOutcome::Judged { levels, .. } => levels.iter().map(|level| row(series, level)).collect(),
        HistoryOutcome::TooFew | HistoryOutcome::AlwaysZero | HistoryOutcome::SometimesZero => Vec::new(),
    });
    let numbers = ["runs", "mean", "95 % interval"].map(Column::number);
    let columns = [Column::text("metric")].into_iter().chain(numbers).collect();
    Table { columns, rows: rows.collect(), ..Table::default() }
}

fn reading() -> PageSection {
    let items = vec![
        "Runs share a plan if their expanded trials are equal, apart from seeds; the name of the plan does not matter.".to_owned(),
        format!(
            "A change is a place where E-divisive with means divides a series and Student's t on logarithms keeps it: chance makes so large \
             a difference at one place less often than once in {:.0}. Changes below {} % are not reported. A series needs {RUNS_MIN} runs.",
            1.0 / P_MAX,
            100.0 * CHANGE_MIN
        ),
        "A ratio is that of geometric means, with its 95 % confidence interval. Runs that resemble their neighbours count as fewer.".to_owned(),
        "A condition that changed with the same run is where to look first. It is not proven to be the cause.".to_owned(),
    ];
    PageSection { title: "How to read this".to_owned(), blocks: vec![PageBlock::List(items)], ..PageSection::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::html::page_html;
    use crate::render::markdown::page_markdown;

    #[test]
    fn the_documents_have_the_change_and_the_condition() {
        let page = history_page(&crate::history::fixture());
        let (html, markdown) = (page_html(&page), page_markdown(&page));
        for text in [&html, &markdown] {
            assert!(text.replace('\u{a0}', " ").contains("s of file rndrd depth 1 is 7.0 % lower"), "{text}");
            assert!(text.contains("Plans with too few runs") && text.contains("other plan: Cannot tell"), "{text}");
        }
        assert!(html.contains("<h1>History of 2 plans, 32 runs</h1>"), "{html}");
        assert!(html.contains("<code>20</code> to <code>5</code>") && html.contains("<svg"));
        assert!(markdown.contains("](charts/history-1-01-ops-s-file-rndrd-depth-1.png)"), "{markdown}");
    }

    #[test]
    fn plans_with_too_few_runs_are_counted() {
        let mut history = crate::history::fixture();
        history.plans.retain(PlanHistory::has_too_few_runs);
        assert_eq!(history_page(&history).headline, "History of 1 plan, 2 runs");
    }
}
