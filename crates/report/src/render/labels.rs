//! Labels in a narrow column: cut alike, at a place where they do not differ.
//!
//! In: the labels of a table as phrases, and a width in characters. Out: what is shown of each, and the rows of the table.
//! Limits: if no cut makes all of them fit and keeps them apart, what neighbours have in common is a heading above their rows. If most
//! labels fit, or not even their last phrases do, they stay as they are, and long ones go above their rows.

use crate::wrap::wrap;
use std::collections::{BTreeMap, BTreeSet};

/// The labels of one table, as they are shown in it.
pub struct Labels {
    width: usize,
    /// By the full label; those that are not here are shown in full.
    shown: BTreeMap<String, String>,
    /// What all have in common, if it is left out of what is shown.
    common: Option<String>,
    /// How many phrases are in the rows, if the others are headings above them.
    in_row: Option<usize>,
    /// The heading of the last row.
    heading: String,
}

/// In front of a label below a heading.
const INDENT: &str = "  ";

/// A phrase of fewer characters is not cut.
const PHRASE_CUT_MIN: usize = 12;

impl Labels {
    /// Those of `labels`, each a list of phrases, in a column of `width`.
    pub fn fitted(labels: impl Iterator<Item = Vec<String>>, width: usize) -> Labels {
        let all: Vec<Vec<String>> = labels.collect::<BTreeSet<_>>().into_iter().collect();
        let whole: Vec<String> = all.iter().map(|phrases| phrases.join(" ")).collect();
        let different = cut_phrases(&all);
        let count = distinct(&whole);
        let fits = |labels: &Vec<String>| longest(labels) <= width && distinct(labels) == count;
        let is_cut = !fits(&whole) && fits(&different) && different.iter().all(|label| !label.is_empty());
        let common = Some(common_phrases(&all)).filter(|common| is_cut && !common.is_empty());
        let in_row = if is_cut || fits(&whole) { None } else { phrases_in_row(&all, width) };
        let shown = if is_cut { whole.into_iter().zip(different).collect() } else { BTreeMap::new() };
        Labels { width, shown, common, in_row, heading: String::new() }
    }

    /// The phrases of all labels that no row shows, because the rows would be too long.
    pub fn common(&self) -> Option<&str> {
        self.common.as_deref()
    }

    /// The row of the label of these phrases, with its figures: one line, or more if there is a new heading or the label is too long for
    /// its column. No line of the label is longer than `page`.
    pub fn row(&mut self, phrases: &[String], cells: &str, page: usize) -> Vec<String> {
        match self.in_row {
            Some(in_row) => self.row_below_heading(phrases, in_row, cells, page),
            None => self.whole_row(phrases, cells, page),
        }
    }

    fn whole_row(&self, phrases: &[String], cells: &str, page: usize) -> Vec<String> {
        let (label, width) = (phrases.join(" "), self.width);
        let shown = self.shown.get(&label).unwrap_or(&label);
        if shown.chars().count() <= width {
            return vec![format!("{shown:<width$}{cells}")];
        }
        wrap(shown, page.max(1)).into_iter().chain([format!("{:width$}{cells}", "")]).collect()
    }

    fn row_below_heading(&mut self, phrases: &[String], in_row: usize, cells: &str, page: usize) -> Vec<String> {
        let (above, own) = phrases.split_at(phrases.len().saturating_sub(in_row));
        let (heading, width) = (above.join(" "), self.width);
        let label = format!("{INDENT}{}", own.join(" "));
        let row = format!("{label:<width$}{cells}");
        if heading == self.heading {
            return vec![row];
        }
        self.heading = heading;
        wrap(&self.heading, page.max(1)).into_iter().chain([row]).collect()
    }
}

/// The most phrases at the end of each label that fit into a row below a heading; `None` if not even the last does, if a label has no other,
/// or if most labels fit in full.
fn phrases_in_row(labels: &[Vec<String>], width: usize) -> Option<usize> {
    let fewest = labels.iter().map(Vec::len).min()?;
    let too_long = labels.iter().filter(|phrases| phrases.join(" ").chars().count() > width).count();
    if 2 * too_long < labels.len() {
        return None;
    }
    (1..fewest).rev().find(|count| {
        let ends = labels.iter().map(|phrases| phrases[phrases.len() - count..].join(" "));
        ends.map(|end| INDENT.len() + end.chars().count()).all(|length| length <= width)
    })
}

/// The names of `labels`, each a list of phrases, without what all have in common if they are different and not empty then.
pub fn short_names(labels: Vec<Vec<String>>) -> Vec<String> {
    let whole: Vec<String> = labels.iter().map(|phrases| phrases.join(" ")).collect();
    if labels.len() < 2 {
        return whole;
    }
    let cut = cut_phrases(&labels);
    let is_good = distinct(&cut) == distinct(&whole) && cut.iter().all(|name| !name.is_empty());
    if is_good { cut } else { whole }
}

/// The labels without the phrases that all have, and without what the values of a long phrase have in common at both ends.
fn cut_phrases(labels: &[Vec<String>]) -> Vec<String> {
    let columns = labels.first().map_or(0, Vec::len);
    if labels.iter().any(|phrases| phrases.len() != columns) {
        return without_common_phrases(labels);
    }
    let cut: Vec<Option<(usize, usize)>> = (0..columns).map(|nth| common_ends(labels, nth)).collect();
    let shown = |phrases: &Vec<String>| {
        let parts = phrases.iter().zip(&cut).filter_map(|(phrase, ends)| Some(without_ends(phrase, (*ends)?)));
        parts.collect::<Vec<_>>().join(" ")
    };
    labels.iter().map(shown).collect()
}

fn without_common_phrases(labels: &[Vec<String>]) -> Vec<String> {
    let phrases = |label: &Vec<String>| label.iter().cloned().collect::<BTreeSet<String>>();
    let common = labels.iter().map(phrases).reduce(|common, own| &common & &own).unwrap_or_default();
    let kept = |label: &Vec<String>| {
        let kept: Vec<&str> = label.iter().filter(|one| !common.contains(*one)).map(String::as_str).collect();
        kept.join(" ")
    };
    labels.iter().map(kept).collect()
}

/// How many characters the values in column `nth` have in common at their beginning and at their end; `None` if they are all the same.
fn common_ends(labels: &[Vec<String>], nth: usize) -> Option<(usize, usize)> {
    let first: Vec<char> = labels[0][nth].chars().collect();
    let (mut head, mut tail) = (first.len(), first.len());
    for phrases in labels {
        let own: Vec<char> = phrases[nth].chars().collect();
        head = head.min(first.iter().zip(&own).take_while(|(a, b)| a == b).count());
        tail = tail.min(first.iter().rev().zip(own.iter().rev()).take_while(|(a, b)| a == b).count());
    }
    // A number is not cut: `1.` of 11.4 would be read as another version.
    while head > 0 && first[head - 1].is_ascii_digit() {
        head -= 1;
    }
    while tail > 0 && first[first.len() - tail].is_ascii_digit() {
        tail -= 1;
    }
    labels.iter().any(|phrases| phrases[nth] != labels[0][nth]).then_some((head, tail))
}

/// `..A..`, with nothing of the ends; short phrases stay as they are.
fn without_ends(phrase: &str, (head, tail): (usize, usize)) -> String {
    let chars: Vec<char> = phrase.chars().collect();
    if chars.len() < PHRASE_CUT_MIN || head + tail >= chars.len() {
        return phrase.to_owned();
    }
    let end = chars.len() - tail;
    let (before, after) = (if head > 2 { ".." } else { "" }, if tail > 2 { ".." } else { "" });
    let from = if head > 2 { head } else { 0 };
    let to = if tail > 2 { end } else { chars.len() };
    format!("{before}{}{after}", chars[from..to].iter().collect::<String>())
}

/// The phrases that all labels have, in their order.
fn common_phrases(labels: &[Vec<String>]) -> String {
    let Some((first, others)) = labels.split_first() else { return String::new() };
    let common = first.iter().filter(|phrase| others.iter().all(|other| other.contains(phrase)));
    common.map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn longest(labels: &[String]) -> usize {
    labels.iter().map(|label| label.chars().count()).max().unwrap_or(0)
}

fn distinct(labels: &[String]) -> usize {
    labels.iter().collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels as they are shown; a bar separates phrases.
    fn shown(labels: &[&str], width: usize) -> Vec<String> {
        let phrases = |label: &&str| label.split('|').map(str::to_owned).collect::<Vec<_>>();
        let mut fitted = Labels::fitted(labels.iter().map(phrases), width);
        labels.iter().map(|label| fitted.row(&phrases(label), "", width).join("/")).collect()
    }

    #[test]
    fn what_fits_is_filled_up_and_phrases_that_all_have_give_way() {
        assert_eq!(shown(&["short", "sqlite|clients 16"], 18), ["short             ", "sqlite clients 16 "]);
        let labels = ["sqlite|oltp|read_only|clients 16", "sqlite|oltp|write_only|clients 16"];
        assert_eq!(shown(&labels, 20), ["read_only           ", "write_only          "]);
        let ragged = ["mariadb:innodb|l.i0|os", "mariadb:innodb|l.i1|os|indexes 3"];
        assert_eq!(shown(&ragged, 14), ["l.i0          ", "l.i1 indexes 3"]);
    }

    #[test]
    fn a_long_phrase_is_cut_where_its_values_are_the_same() {
        let labels = [
            "mysql://root@localhost/?socket=/tmp/a/sock|clients 1",
            "mysql://root@localhost/?socket=/tmp/b/sock|clients 16",
        ];
        assert_eq!(shown(&labels, 20), ["..a.. clients 1     ", "..b.. clients 16    "]);
        let versions = ["mariadb@/opt/mariadb-10.11.6/bin", "mariadb@/opt/mariadb-11.4.2/bin"];
        assert_eq!(shown(&versions, 12), ["..10.11.6.. ", "..11.4.2..  "]);
    }

    #[test]
    fn short_names_lose_what_all_have_and_stay_whole_if_that_is_all() {
        let names =
            |labels: &[&str]| short_names(labels.iter().map(|l| l.split('|').map(str::to_owned).collect()).collect());
        assert_eq!(names(&["a|oltp|clients 1", "b|oltp|clients 4"]), ["a clients 1", "b clients 4"]);
        assert_eq!((names(&["a|oltp"]), names(&["a", "a"])), (vec!["a oltp".to_owned()], vec!["a".to_owned(); 2]));
    }

    #[test]
    fn labels_that_no_cut_keeps_apart_stand_whole_above_their_row() {
        let labels = ["abcd|xy", "abce|x|y", "abcf|z"];
        assert_eq!(shown(&labels, 3), ["abc/d/xy/   ", "abc/e x/y/   ", "abc/f z/   "]);
    }

    #[test]
    fn what_neighbours_have_in_common_is_a_heading_if_no_cut_fits() {
        let labels = ["innodb|oltp|reads|clients 1", "innodb|oltp|reads|clients 16", "sqlite|oltp|reads|clients 1|os"];
        let all: Vec<Vec<String>> = labels.iter().map(|label| label.split('|').map(str::to_owned).collect()).collect();
        let mut fitted = Labels::fitted(all.iter().cloned(), 13);
        let rows: Vec<Vec<String>> = all.iter().map(|phrases| fitted.row(phrases, "", 80)).collect();
        assert_eq!(rows[0], ["innodb oltp reads", "  clients 1  "]);
        assert_eq!(rows[1], ["  clients 16 "]);
        assert_eq!(rows[2], ["sqlite oltp reads clients 1", "  os         "]);
    }
}
