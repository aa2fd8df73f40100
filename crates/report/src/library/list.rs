//! The list of the runs of a directory.
//!
//! In: a row for each run that is shown, and what the list is filtered by. Out: a page. Limits: it neither sorts nor filters.

use super::{PageFrame, filled};
use crate::ReportError;
use crate::format;
use analysis::verdict::Tally;
use serde::Serialize;

const TEMPLATE: &str = include_str!("list.html");
const SCRIPT: &str = include_str!("list.js");
/// Beyond this many characters a verdict is cut: it is one of many lines.
const VERDICT_CHARS_MAX: usize = 280;

/// What the list shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LibraryPage {
    /// The directory.
    pub directory: String,
    /// The runs that are shown, the newest first.
    pub rows: Vec<LibraryRow>,
    /// How many runs fit the filter,
    pub fitting: usize,
    /// and how many there are.
    pub total: usize,
    /// How many have not been read yet.
    pub unread: usize,
    /// The text that is searched for.
    pub search: String,
    /// What else it is filtered by.
    pub filters: Vec<LibraryFilter>,
    /// The address of the page before, if there is one.
    pub newer: Option<String>,
    /// The address of the next page, if there is one.
    pub older: Option<String>,
    /// Whether the page changes soon by itself: runs are being read or recorded.
    pub is_changing: bool,
}

/// One thing that the list can be filtered by.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LibraryFilter {
    /// Its name in the address.
    pub key: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// The chosen value; empty for all.
    pub chosen: String,
    /// The values that can be chosen.
    pub values: Vec<String>,
}

/// One run. What is not known yet, or not for this run, is empty.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LibraryRow {
    /// The name of the run.
    pub name: String,
    /// Its name as a part of an address.
    pub key: String,
    /// What was planned.
    pub title: String,
    /// When it was recorded, in milliseconds since 1970.
    pub started_unix_ms: Option<u64>,
    /// Its engines.
    pub engines: Vec<String>,
    /// Its workloads.
    pub workloads: Vec<String>,
    /// The machine.
    pub machine: String,
    /// Complete points and planned ones.
    pub points: Option<(usize, usize)>,
    /// `recorded` of a run that is being recorded, `unread`, `damaged`; else empty.
    pub state: &'static str,
    /// How many of its points are how valid.
    pub validity: Option<Tally>,
    /// The answer in a sentence, or why the run cannot be read.
    pub verdict: String,
}

#[derive(Serialize)]
struct ListContent<'a> {
    frame: PageFrame<'a>,
    page: &'a LibraryPage,
    rows: Vec<ShownRow<'a>>,
    script: &'static str,
}

/// A row in words.
#[derive(Serialize)]
struct ShownRow<'a> {
    row: &'a LibraryRow,
    started: Option<String>,
    engines: String,
    workloads: String,
    points: String,
    /// Words for its validity, each with its class.
    badges: Vec<(String, &'static str)>,
    verdict: String,
    can_be_compared: bool,
}

/// The page.
///
/// # Errors
/// If the template is wrong: a bug.
pub fn library_html(page: &LibraryPage, nonce: &str) -> Result<String, ReportError> {
    let rows = page.rows.iter().map(shown).collect();
    filled("list.html", TEMPLATE, ListContent { frame: PageFrame::new(nonce), page, rows, script: SCRIPT })
}

fn shown(row: &LibraryRow) -> ShownRow<'_> {
    ShownRow {
        row,
        started: row.started_unix_ms.map(format::utc),
        engines: row.engines.join(", "),
        workloads: row.workloads.join(", "),
        points: row.points.map_or_else(String::new, points_words),
        badges: badges(row),
        verdict: cut(&row.verdict),
        can_be_compared: row.state.is_empty(),
    }
}

/// `13`, or `5 of 13` of a run that is not complete.
fn points_words((complete, planned): (usize, usize)) -> String {
    if complete == planned { planned.to_string() } else { format!("{complete} of {planned}") }
}

fn badges(row: &LibraryRow) -> Vec<(String, &'static str)> {
    let state = match row.state {
        "" => None,
        "recorded" => Some(("being recorded".to_owned(), row.state)),
        "unread" => Some(("not read yet".to_owned(), row.state)),
        "damaged" => Some(("cannot be read".to_owned(), row.state)),
        word => Some((word.to_owned(), word)),
    };
    let tally = row.validity.unwrap_or_default();
    let counts = [(tally.valid, "valid"), (tally.indicative, "indicative"), (tally.invalid, "invalid")];
    let counted = counts.into_iter().filter(|(count, _)| *count > 0);
    state.into_iter().chain(counted.map(|(count, word)| (format!("{count} {word}"), word))).collect()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VERDICT_CHARS_MAX) {
        Some((end, _)) => format!("{}\u{2026}", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::HOSTILE;

    fn hostile(text: &str) -> LibraryPage {
        let texts = || vec![text.to_owned(), text.to_owned()];
        let row = LibraryRow {
            name: text.to_owned(),
            key: "a%20b".to_owned(),
            title: text.to_owned(),
            started_unix_ms: Some(0),
            engines: texts(),
            workloads: texts(),
            machine: text.to_owned(),
            points: Some((1, 2)),
            state: "",
            validity: Some(Tally { valid: 1, indicative: 0, invalid: 2 }),
            verdict: text.repeat(20),
        };
        let filter = LibraryFilter { key: "engine", label: "Engine", chosen: text.to_owned(), values: texts() };
        LibraryPage {
            directory: text.to_owned(),
            rows: vec![row],
            fitting: 1,
            total: 2,
            search: text.to_owned(),
            filters: vec![filter],
            ..LibraryPage::default()
        }
    }

    #[test]
    fn no_hostile_text_becomes_markup_or_leaves_its_attribute() {
        for text in HOSTILE {
            let html = library_html(&hostile(text), "n0").unwrap();
            for bad in ["<script>alert", "<img", "onerror=alert(1)>", "onload='", "\u{1b}", "\u{202e}"] {
                assert!(!html.contains(bad), "{bad}");
            }
        }
    }

    #[test]
    fn a_row_has_what_is_known_of_its_run() {
        let html = library_html(&hostile("plain"), "n0").unwrap();
        for text in
            ["/run/a%20b", "1 of 2", "1 valid", "2 invalid", "1970-01-01", "1 of 2 runs", "<option selected>plain"]
        {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert!(!html.contains("indicative</span>") && !html.contains("http-equiv=\"refresh\""));
    }

    #[test]
    fn a_long_verdict_is_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = "\u{e4}".repeat(VERDICT_CHARS_MAX + 1);
        assert_eq!(cut(&long).chars().count(), VERDICT_CHARS_MAX + 1);
    }

    #[test]
    fn a_page_that_changes_is_loaded_again_without_a_script_too() {
        let page = LibraryPage { is_changing: true, unread: 3, total: 3, ..LibraryPage::default() };
        let html = library_html(&page, "n0").unwrap();
        assert!(html.contains("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"), "{html}");
        assert!(html.contains("3 are still being read"), "{html}");
    }
}
