//! The pages of `plimsoll serve`: the runs of a directory, a run that is being recorded, and a message.
//!
//! In: rows of a list, a [`model::LiveRun`], texts. Out: complete pages. Limits: the pages have links to each other, so they are of no use
//! as files. A page names its style and its script by a nonce, so that a browser runs no other.

mod list;
mod live;
mod live_watch;

pub use list::{LibraryFilter, LibraryPage, LibraryRow, library_html};
pub use live::{LiveRunText, live_html, unit_of};

use crate::render::html::{coded, plain};

const STYLE: &str = include_str!("../render/report.css");
const OWN_STYLE: &str = include_str!("library.css");

/// What every page has around its content. All its texts are HTML already.
#[derive(Default)]
struct PageFrame {
    title: String,
    /// What is in the head besides title and style.
    head: String,
    main: String,
    script: String,
}

impl PageFrame {
    fn html(&self, nonce: &str) -> String {
        let PageFrame { title, head, main, script } = self;
        let (nonce, version) = (plain(nonce), env!("CARGO_PKG_VERSION"));
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>plimsoll: {title}</title>\n\
             <style nonce=\"{nonce}\">{STYLE}{OWN_STYLE}</style>\n{head}</head>\n<body>\n<main>\n{main}\
             <footer class=\"small\">Served by plimsoll {version} on this machine.</footer>\n</main>\n{script}</body>\n</html>\n"
        )
    }
}

/// A page with `text`, in place of one that cannot be shown.
pub fn message_html(title: &str, text: &str, nonce: &str) -> String {
    let (title, text) = (plain(title), coded(text));
    let main = format!(
        "<header>\n<p class=\"small\"><a href=\"/\">All runs</a></p>\n<h1>{title}</h1>\n<p>{text}</p>\n</header>\n"
    );
    PageFrame { title, main, ..PageFrame::default() }.html(nonce)
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
            let html = message_html(text, text, "n0");
            for bad in ["<script>alert", "<img", "onerror=alert(1)>", "\u{1b}", "\u{202e}"] {
                assert!(!html.contains(bad), "{bad}");
            }
        }
    }

    #[test]
    fn a_report_has_the_link_and_is_otherwise_unchanged() {
        let html = crate::html(&crate::testing::quick());
        let linked = with_link_to_list(&html);
        assert!(linked.contains("<a href=\"/\">All runs</a>") && linked.len() - html.len() < 80);
    }
}
