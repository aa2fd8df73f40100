//! The list of the runs of a directory.
//!
//! In: a row for each run that is shown, and what the list is filtered by. Out: a page. Limits: it neither sorts nor filters.

use super::PageFrame;
use crate::format;
use crate::render::html::{coded, plain};
use crate::wording::quantity::plural;
use analysis::verdict::Tally;

const SCRIPT: &str = include_str!("list.js");
/// Beyond this many characters a verdict is cut: it is one of many lines.
const VERDICT_CHARS_MAX: usize = 280;

/// What the list shows.
#[derive(Clone, Debug, Default)]
pub struct LibraryPage {
    pub directory: String,
    /// The runs that are shown, the newest first.
    pub rows: Vec<LibraryRow>,
    /// How many runs fit the filter.
    pub fitting: usize,
    /// How many runs there are.
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
#[derive(Clone, Debug, Default)]
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
#[derive(Clone, Debug, Default)]
pub struct LibraryRow {
    /// The name of the run.
    pub name: String,
    /// Its name as a part of an address.
    pub key: String,
    pub title: String,
    /// When it was recorded, in milliseconds since 1970.
    pub started_unix_ms: Option<u64>,
    pub engines: Vec<String>,
    pub workloads: Vec<String>,
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

pub fn library_html(page: &LibraryPage, nonce: &str) -> String {
    let head = if page.is_changing {
        "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n".to_owned()
    } else {
        String::new()
    };
    let script = if page.is_changing {
        format!("<script nonce=\"{}\">{SCRIPT}</script>\n", plain(nonce))
    } else {
        String::new()
    };
    let main = format!(
        "<header>\n<p class=\"small\">plimsoll &middot; {}</p>\n<h1>Runs</h1>\n{}</header>\n<section>\n{}</section>\n",
        plain(&page.directory),
        filters(page),
        list(page)
    );
    PageFrame { title: "runs".to_owned(), head, main, script }.html(nonce)
}

fn filters(page: &LibraryPage) -> String {
    let option = |filter: &LibraryFilter, value: &String| {
        let selected = if *value == filter.chosen { " selected" } else { "" };
        format!("<option{selected}>{}</option>", plain(value))
    };
    let select = |filter: &LibraryFilter| {
        let options: String = filter.values.iter().map(|value| option(filter, value)).collect();
        format!(
            "<label>{} <select name=\"{}\"><option value=\"\">all</option>{options}</select></label>\n",
            filter.label, filter.key
        )
    };
    format!(
        "<form class=\"filters\" method=\"get\" action=\"/\">\n<label>Search <input type=\"search\" name=\"q\" value=\"{}\"></label>\n{}\
         <button type=\"submit\">Show</button> <a href=\"/\">Show all</a>\n</form>\n",
        plain(&page.search),
        page.filters.iter().map(select).collect::<String>()
    )
}

/// The runs, with what can be done with them.
fn list(page: &LibraryPage) -> String {
    let changing = if page.is_changing { " data-changing=\"yes\"" } else { "" };
    let counted = if page.fitting == page.total {
        plural(page.total as u64, "run")
    } else {
        format!("{} of {} runs", page.fitting, page.total)
    };
    let unread = match page.unread {
        0 => String::new(),
        1 => "; 1 is still being read".to_owned(),
        unread => format!("; {unread} are still being read"),
    };
    let rows: String = page.rows.iter().map(row).collect();
    let table = if !rows.is_empty() {
        format!(
            "<div class=\"scroll\"><table class=\"runs\">\n<thead><tr><th></th><th>run</th><th>engines</th><th>workload</th>\
             <th>machine</th><th class=\"n\">points</th><th>validity</th><th>verdict</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        )
    } else if page.total > 0 {
        "<p>No run fits. <a href=\"/\">Show all</a></p>\n".to_owned()
    } else {
        "<p>There are no runs in this directory yet; <code>plimsoll quick</code> records one.</p>\n".to_owned()
    };
    let link = |address: &Option<String>, text: &str| {
        address.as_ref().map_or(String::new(), |address| format!("<a href=\"{}\">{text}</a>", plain(address)))
    };
    let actions = if rows.is_empty() {
        String::new()
    } else {
        format!(
            "<div class=\"actions\"><button type=\"submit\">Compare the ticked runs</button><span class=\"small\">The oldest is what the \
             others are compared with.</span>{}{}</div>\n",
            link(&page.newer, "Newer runs"),
            link(&page.older, "Older runs")
        )
    };
    format!(
        "<form method=\"get\" action=\"/compare\">\n<div id=\"runs\"{changing}>\n<p class=\"small\">{counted}{unread}</p>\n{table}</div>\n\
         {actions}</form>\n"
    )
}

fn row(row: &LibraryRow) -> String {
    let (key, name) = (plain(&row.key), plain(&row.name));
    let tick = if row.state.is_empty() {
        format!("<input type=\"checkbox\" name=\"run\" value=\"{key}\" aria-label=\"compare {name}\">")
    } else {
        String::new()
    };
    let title = if row.title.is_empty() { String::new() } else { format!("<br>{}", coded(&row.title)) };
    let started = row.started_unix_ms.map(|ms| format!("<br><span class=\"small\">{}</span>", format::utc(ms)));
    let badges: String = badges(row)
        .iter()
        .map(|(text, class)| format!("<span class=\"badge {class}\">{}</span> ", plain(text)))
        .collect();
    format!(
        "<tr><td class=\"tick\">{tick}</td><td class=\"name\"><a href=\"/run/{key}\">{name}</a>{title}{}</td>\
         <td data-head=\"engines\">{}</td><td data-head=\"workload\">{}</td><td class=\"machine small\" data-head=\"machine\">{}</td>\
         <td class=\"n\" data-head=\"points\">{}</td><td>{badges}</td><td class=\"answer small\">{}</td></tr>\n",
        started.unwrap_or_default(),
        plain(&row.engines.join(", ")),
        plain(&row.workloads.join(", ")),
        plain(&row.machine),
        row.points.map_or_else(String::new, points_words),
        coded(&cut(&row.verdict))
    )
}

/// `13`, or `5 of 13` of a run that is not complete. A search is one trial of the plan and makes as many points as it needs.
fn points_words((complete, planned): (usize, usize)) -> String {
    if complete >= planned { complete.to_string() } else { format!("{complete} of {planned}") }
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
            let html = library_html(&hostile(text), "n0");
            for bad in ["<script>alert", "<img", "onerror=alert(1)>", "onload='", "\u{1b}", "\u{202e}"] {
                assert!(!html.contains(bad), "{bad}");
            }
        }
    }

    #[test]
    fn a_row_has_what_is_known_of_its_run() {
        let html = library_html(&hostile("plain"), "n0");
        for text in
            ["/run/a%20b", "1 of 2", "1 valid", "2 invalid", "1970-01-01", "1 of 2 runs", "<option selected>plain"]
        {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert!(!html.contains("indicative</span>") && !html.contains("http-equiv=\"refresh\""));
    }

    #[test]
    fn a_search_has_as_many_points_as_it_made() {
        assert_eq!([(19, 1), (13, 13), (5, 13)].map(points_words), ["19", "13", "5 of 13"]);
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
        let html = library_html(&page, "n0");
        assert!(html.contains("<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"), "{html}");
        assert!(html.contains("3 are still being read"), "{html}");
    }
}
