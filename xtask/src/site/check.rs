//! The links of a built site lead somewhere, to a file and to a place in it.
//!
//! In: a folder with HTML. Out: a line for each link that leads nowhere. Limits: links to the web are not followed.

use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A page: its links and the places that links can lead to.
struct SitePage {
    links: Vec<String>,
    places: BTreeSet<String>,
}

/// A line for each link that leads nowhere.
pub fn broken_links(html: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read_pages(html, &mut pages)?;
    let mut broken = Vec::new();
    for (path, page) in &pages {
        let faulty = page.links.iter().filter(|link| !leads_somewhere(link, path, &pages));
        broken.extend(faulty.map(|link| format!("{}: `{link}` leads nowhere", shown(path, html))));
    }
    broken.dedup();
    Ok(broken)
}

fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, SitePage>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|own| own == "html") {
            pages.insert(path.canonicalize()?, page_of(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn page_of(text: &str) -> SitePage {
    let links = ["href", "src"].iter().flat_map(|name| attributes(text, name));
    SitePage { links: links.collect(), places: attributes(text, "id").collect() }
}

/// The values of an attribute.
fn attributes<'a>(text: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let begin = format!(" {name}=\"");
    let values: Vec<String> =
        text.split(begin.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).map(plain).collect();
    values.into_iter()
}

/// The text of an attribute: `&amp;` and `%` escapes of letters that file names have here.
fn plain(value: &str) -> String {
    value.replace("&amp;", "&").replace("%20", " ")
}

fn leads_somewhere(link: &str, from: &Path, pages: &BTreeMap<PathBuf, SitePage>) -> bool {
    let is_elsewhere =
        link.contains("://") || ["mailto:", "data:", "javascript:"].iter().any(|begin| link.starts_with(begin));
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    if is_elsewhere || (path.is_empty() && place.is_empty()) {
        return true;
    }
    let file = if path.is_empty() {
        Ok(from.to_owned())
    } else {
        from.parent().expect("it is in a folder").join(path).canonicalize()
    };
    let Ok(file) = file else { return false };
    place.is_empty() || pages.get(&file).is_none_or(|page| page.places.contains(place))
}

fn shown(path: &Path, html: &Path) -> String {
    let html = html.canonicalize().unwrap_or_else(|_| html.to_owned());
    path.strip_prefix(html).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_and_a_missing_place_are_found_and_others_are_not() {
        let site = tempfile::tempdir().unwrap();
        fs::create_dir(site.path().join("guide")).unwrap();
        fs::write(site.path().join("index.html"), "<h1 id=\"top\">a</h1><a href=\"guide/one.html#here\">x</a>")
            .unwrap();
        let page = "<p id=\"here\"> <a href=\"#here\">1</a> <a href=\"https://example.org/x\">2</a> <img src=\"no.svg\"> \
                    <a href=\"../index.html#top\">3</a> <a href=\"../index.html#bottom\">4</a></p>";
        fs::write(site.path().join("guide/one.html"), page).unwrap();
        let broken = broken_links(site.path()).unwrap();
        assert_eq!(
            broken,
            ["guide/one.html: `../index.html#bottom` leads nowhere", "guide/one.html: `no.svg` leads nowhere"]
        );
    }
}
