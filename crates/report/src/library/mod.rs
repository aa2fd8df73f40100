//! The pages of `plimsoll serve`: the runs of a directory, a run that is being recorded, and a message.
//!
//! In: rows of a list, a [`model::LiveRun`], texts. Out: whole pages. Limits: the pages have links to each other, so they are of no use
//! as files. A page names its style and its script by a nonce, so that a browser runs no other.

mod list;
mod live;

pub use list::{LibraryFilter, LibraryPage, LibraryRow, library_html};
pub use live::{LiveRunText, live_html};

use crate::ReportError;
use crate::render::html::new_environment;
use minijinja::value::Serde;
use serde::Serialize;

const STYLE: &str = include_str!("../render/report.css");
const OWN_STYLE: &str = include_str!("library.css");

/// What every page has.
#[derive(Serialize)]
struct PageFrame<'a> {
    style: &'static str,
    own_style: &'static str,
    nonce: &'a str,
    version: &'static str,
}

impl<'a> PageFrame<'a> {
    fn new(nonce: &'a str) -> PageFrame<'a> {
        PageFrame { style: STYLE, own_style: OWN_STYLE, nonce, version: env!("CARGO_PKG_VERSION") }
    }
}

/// The page that `template` makes of `content`.
fn filled(name: &'static str, template: &'static str, content: impl Serialize) -> Result<String, ReportError> {
    let mut templates = new_environment();
    templates.add_template("frame.html", include_str!("frame.html"))?;
    templates.add_template(name, template)?;
    Ok(templates.get_template(name)?.render(Serde(content))?)
}

/// A page with `text`, in place of one that cannot be shown.
///
/// # Errors
/// If the template is wrong: a bug.
pub fn message_html(title: &str, text: &str, nonce: &str) -> Result<String, ReportError> {
    #[derive(Serialize)]
    struct Message<'a> {
        frame: PageFrame<'a>,
        title: &'a str,
        text: &'a str,
    }
    filled("message.html", include_str!("message.html"), Message { frame: PageFrame::new(nonce), title, text })
}

/// Adds a link to the list of runs at the top of a report that was made to be a file.
pub fn with_link_to_list(html: &str) -> String {
    with_link(html, "/", "All runs")
}

/// `html` with a link called `text` above all else. Neither is escaped here.
pub(crate) fn with_link(html: &str, href: &str, text: &str) -> String {
    let link = format!("\n<p class=\"small\"><a href=\"{href}\">{text}</a></p>");
    let start = html.find("<main").and_then(|main| Some(main + html[main..].find('>')? + 1));
    match start.map(|start| html.split_at(start)) {
        Some((before, after)) => [before, &link, after].concat(),
        None => html.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::HOSTILE;

    #[test]
    fn no_hostile_text_becomes_markup_in_a_message() {
        for text in HOSTILE {
            let html = message_html(text, text, "n0").unwrap();
            for bad in ["<script>alert", "<img", "onerror=alert(1)>", "\u{1b}", "\u{202e}"] {
                assert!(!html.contains(bad), "{bad}");
            }
        }
    }

    #[test]
    fn a_report_has_the_link_and_is_otherwise_unchanged() {
        let html = crate::html(&crate::testing::quick()).unwrap();
        let linked = with_link_to_list(&html);
        assert!(linked.contains("<a href=\"/\">All runs</a>") && linked.len() - html.len() < 80);
    }
}
