//! Labels in a narrow column: all of them cut alike, where that leaves most of them to be told apart.
//!
//! In: the labels of a table, and a width in characters. Out: what is shown of each. Limits: labels that differ in two places far
//! apart may still look alike; the documents have them whole.

use std::collections::{BTreeMap, BTreeSet};

/// The labels of one table, as they are shown in it.
pub struct Labels {
    width: usize,
    shown: BTreeMap<String, String>,
}

impl Labels {
    /// Those of `labels`, in a column of `width`.
    pub fn fitted(labels: impl Iterator<Item = String>, width: usize) -> Labels {
        let all: Vec<String> = labels.collect::<BTreeSet<_>>().into_iter().collect();
        let bare = without_common_words(&all);
        // As they are, unless fewer words leave more of them apart.
        let (whole, few) = (best_cut(&all, width), best_cut(&bare, width));
        let cut = if distinct(&few) > distinct(&whole) { few } else { whole };
        Labels { width, shown: all.into_iter().zip(cut).collect() }
    }

    /// `label` as it is shown, filled up with spaces.
    pub fn padded(&self, label: &str) -> String {
        let (shown, width) = (self.shown.get(label).map_or(label, String::as_str), self.width);
        format!("{shown:<width$}")
    }
}

/// All cut at the place that leaves most of them apart, as near to the middle as it can be.
fn best_cut(labels: &[String], width: usize) -> Vec<String> {
    let middle = width / 2;
    let mut tails: Vec<usize> = (0..=width.saturating_sub(2)).collect();
    tails.sort_by_key(|tail| tail.abs_diff(middle));
    let cut = |tail: usize| labels.iter().map(|label| cut_at(label, width, tail)).collect::<Vec<_>>();
    let mut best = cut(middle);
    for tail in tails {
        if distinct(&best) == labels.len() {
            break;
        }
        let other = cut(tail);
        if distinct(&other) > distinct(&best) {
            best = other;
        }
    }
    best
}

/// `text`, or what stands before and in the last `tail` characters of it.
fn cut_at(text: &str, width: usize, tail: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= width {
        return text.to_owned();
    }
    let head = chars[..width.saturating_sub(tail + 2)].iter();
    head.chain(&['.', '.']).chain(&chars[chars.len() - tail..]).collect()
}

fn distinct(labels: &[String]) -> usize {
    labels.iter().collect::<BTreeSet<_>>().len()
}

/// Without the words that stand in every label, which are mostly the names of dimensions.
fn without_common_words(labels: &[String]) -> Vec<String> {
    let words = |label: &'_ String| label.split(' ').map(str::to_owned).collect::<BTreeSet<String>>();
    let common = labels.iter().map(words).reduce(|common, own| &common & &own).unwrap_or_default();
    let kept = |label: &String| {
        let kept: Vec<&str> = label.split(' ').filter(|word| !common.contains(*word)).collect();
        kept.join(" ")
    };
    labels.iter().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(labels: &[&str], width: usize) -> Vec<String> {
        let fitted = Labels::fitted(labels.iter().map(|label| (*label).to_owned()), width);
        labels.iter().map(|label| fitted.padded(label)).collect()
    }

    #[test]
    fn what_fits_is_filled_up_and_what_is_too_long_is_cut_in_the_middle() {
        assert_eq!(
            shown(&["short", "sqlite oltp read_write clients 16"], 20),
            ["short               ", "sqlite o..clients 16"]
        );
    }

    #[test]
    fn the_place_of_the_cut_is_where_all_can_still_be_told_apart() {
        let labels = ["sqlite oltp read_only with 16 clients", "sqlite oltp write_only with 16 clients"];
        assert_eq!(shown(&labels, 20), ["sqlite oltp r..ients", "sqlite oltp w..ients"]);
        let late = ["mariadb:innodb insert l.i0 os", "mariadb:innodb insert l.i1 os"];
        assert_eq!(shown(&late, 14), ["maria..l.i0 os", "maria..l.i1 os"]);
    }

    #[test]
    fn words_that_stand_in_all_give_way_where_cutting_is_not_enough() {
        let labels = [
            "indexes 0 on mariadb:innodb clients 4 l.i0",
            "indexes 3 on mariadb:innodb clients 4 l.i0",
            "indexes 0 on mariadb:innodb clients 4 l.i1",
            "indexes 3 on mariadb:innodb clients 4 l.i1",
        ];
        assert_eq!(shown(&labels, 8), ["0 l.i0  ", "3 l.i0  ", "0 l.i1  ", "3 l.i1  "]);
    }
}
