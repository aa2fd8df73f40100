//! Shortens labels that are too long for their place, so that they still differ.
//!
//! In: labels that are read together, and a width. Out: the text that is shown of each. Limits: labels that differ in two distant
//! places may still look alike in a narrow place; if you need their full text, show it elsewhere.

use std::collections::BTreeSet;

/// Measures text, in any unit.
pub struct Ruler<F: Fn(&str) -> f64> {
    /// The width of a text.
    pub measure: F,
    /// What replaces the part that is left out.
    pub ellipsis: &'static str,
}

impl<F: Fn(&str) -> f64> Ruler<F> {
    fn width_of(&self, text: &str) -> f64 {
        (self.measure)(text)
    }
}

/// `labels` within `width`: as they are if they fit; else without the words that all of them have, if that keeps more of them apart;
/// and all cut at the place that leaves most of them different.
pub fn fit_labels<F: Fn(&str) -> f64>(labels: &[String], width: f64, ruler: &Ruler<F>) -> Vec<String> {
    let labels: Vec<String> = labels.iter().map(|label| with_ends_only(label)).collect();
    if labels.iter().all(|label| ruler.width_of(label) <= width) {
        return labels;
    }
    let whole = cut_apart(&labels, width, ruler);
    let few = cut_apart(&without_common_words(&labels), width, ruler);
    if distinct(&few) > distinct(&whole) { few } else { whole }
}

/// A label that no picture has room for, without its middle: cuts are tried letter by letter.
fn with_ends_only(label: &str) -> String {
    const END_CHARS: usize = 300;
    let length = label.chars().count();
    if length > 2 * END_CHARS {
        label.chars().take(END_CHARS).chain(label.chars().skip(length - END_CHARS)).collect()
    } else {
        label.to_owned()
    }
}

/// All labels cut at one place, as near to the middle as possible: the one that keeps most of them different, and among those the one
/// that shows the differing part of most of them completely.
fn cut_apart<F: Fn(&str) -> f64>(labels: &[String], width: f64, ruler: &Ruler<F>) -> Vec<String> {
    // Places are tried in steps of an average character.
    let step = ruler.width_of("n");
    let most = ((width - ruler.width_of(ruler.ellipsis)) / step).max(0.0) as usize;
    let middle = (width / step / 2.0) as usize;
    let mut tails: Vec<usize> = (0..=most).collect();
    tails.sort_by_key(|tail| tail.abs_diff(middle));
    let ends = common_ends(labels);
    let (mut best, mut best_score) = (Vec::new(), (0, 0));
    for tail in tails {
        let cuts: Vec<CutLabel> =
            labels.iter().map(|label| cut_middle(label, width, tail as f64 * step, ruler)).collect();
        let whole = cuts.iter().filter(|cut| cut.keeps_difference(ends)).count();
        let cut: Vec<String> = cuts.into_iter().map(|cut| cut.text).collect();
        let score = (distinct(&cut), whole);
        if best.is_empty() || score > best_score {
            (best, best_score) = (cut, score);
        }
        // No other place can be better: every label differs, and shows all that it differs in.
        if best_score == (distinct(labels), labels.len()) {
            break;
        }
    }
    best
}

/// How many characters all labels have in common at their beginning and, in the rest, at their end.
fn common_ends(labels: &[String]) -> (usize, usize) {
    let all: Vec<Vec<char>> = labels.iter().map(|label| label.chars().collect()).collect();
    let Some((first, others)) = all.split_first() else { return (0, 0) };
    let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
    let head = (0..shortest).take_while(|at| others.iter().all(|other| other[*at] == first[*at])).count();
    // A character counts once: what is common at the beginning is not looked for at the end again.
    let tail =
        (0..shortest - head).take_while(|at| others.iter().all(|other| from_end(other, *at) == from_end(first, *at)));
    (head, tail.count())
}

fn from_end(label: &[char], at: usize) -> char {
    label[label.len() - 1 - at]
}

/// A label as it is shown.
struct CutLabel {
    text: String,
    /// How many characters it has in all, and how many of them are shown at its beginning and at its end.
    length: usize,
    head: usize,
    tail: usize,
}

impl CutLabel {
    /// Whether all that is between the common `head` and the common `tail` of the labels is shown.
    fn keeps_difference(&self, (head, tail): (usize, usize)) -> bool {
        self.length - tail <= self.head || head >= self.length - self.tail
    }
}

/// `text`, or its beginning and so much of its end as fits into `tail`.
fn cut_middle<F: Fn(&str) -> f64>(text: &str, width: f64, tail: f64, ruler: &Ruler<F>) -> CutLabel {
    let chars: Vec<char> = text.chars().collect();
    if ruler.width_of(text) <= width {
        return CutLabel { text: text.to_owned(), length: chars.len(), head: chars.len(), tail: 0 };
    }
    let mut begin = chars.len();
    while begin > 0 && ruler.width_of(&String::from_iter(&chars[begin - 1..])) <= tail + 1e-9 {
        begin -= 1;
    }
    let end = format!("{}{}", ruler.ellipsis, String::from_iter(&chars[begin..]));
    let heads = (0..=begin).map(|head| (head, String::from_iter(&chars[..head]) + &end));
    let fitting = heads.take_while(|(_, text)| ruler.width_of(text) <= width + 1e-9);
    // Not even the ellipsis may fit: it is shown all the same, so that the label is not empty.
    let (head, text) = fitting.last().unwrap_or((0, end));
    CutLabel { text, length: chars.len(), head, tail: chars.len() - begin }
}

fn distinct(labels: &[String]) -> usize {
    labels.iter().collect::<BTreeSet<_>>().len()
}

/// The labels without the words that all of them have, which are mostly the names of dimensions.
fn without_common_words(labels: &[String]) -> Vec<String> {
    let words = labels.iter().map(|label| label.split(' ').collect::<BTreeSet<&str>>());
    let common = words.reduce(|common, own| &common & &own).unwrap_or_default();
    labels.iter().map(|label| without_words(label, &common)).collect()
}

fn without_words(label: &str, common: &BTreeSet<&str>) -> String {
    let kept: Vec<&str> = label.split(' ').filter(|word| !common.contains(word)).collect();
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels in a column of `width` characters.
    fn shown(labels: &[&str], width: usize) -> Vec<String> {
        let ruler = Ruler { measure: |text: &str| text.chars().count() as f64, ellipsis: ".." };
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        fit_labels(&labels, width as f64, &ruler)
    }

    #[test]
    fn labels_of_megabytes_keep_their_ends() {
        let [a, b] = ["a", "b"].map(|end| format!("{}{end}", "x".repeat(3_000_000)));
        assert_eq!(shown(&[&a, &b], 9), ["xxx..xxxa", "xxx..xxxb"]);
    }

    #[test]
    fn short_labels_stay_and_long_ones_are_cut_in_the_middle() {
        assert_eq!(shown(&["short", "sqlite oltp read_write clients 16"], 20), ["short", "sqlite o..clients 16"]);
    }

    #[test]
    fn labels_are_cut_where_all_can_still_be_told_apart() {
        let labels = ["sqlite oltp read_only with 16 clients", "sqlite oltp write_only with 16 clients"];
        assert_eq!(shown(&labels, 20), ["sqlite oltp read_..s", "sqlite oltp write..s"]);
        let late = ["mariadb:innodb insert l.i0 os", "mariadb:innodb insert l.i1 os"];
        assert_eq!(shown(&late, 14), ["maria..l.i0 os", "maria..l.i1 os"]);
    }

    #[test]
    fn words_that_all_labels_have_are_left_out_if_cutting_is_not_enough() {
        let labels = [
            "indexes 0 on mariadb:innodb clients 4 l.i0",
            "indexes 3 on mariadb:innodb clients 4 l.i0",
            "indexes 0 on mariadb:innodb clients 4 l.i1",
            "indexes 3 on mariadb:innodb clients 4 l.i1",
        ];
        assert_eq!(shown(&labels, 8), ["0 l.i0", "3 l.i0", "0 l.i1", "3 l.i1"]);
    }

    #[test]
    fn labels_of_a_picture_fit_their_width_and_differ_whatever_is_common_at_both_ends() {
        let label = |limit: &str| format!("mariadb:innodb storage limit {limit} l.i1 durability os");
        let labels: Vec<String> = ["none", "iops=2000", "iops=4000", "bytes=100"].map(label).into();
        let ruler = crate::text::ruler(14);
        let fitted = fit_labels(&labels, 150.0, &ruler);
        assert!(fitted.iter().all(|label| (ruler.measure)(label) <= 150.0), "{fitted:?}");
        assert_eq!(distinct(&fitted), 4, "{fitted:?}");
        let urls = ["a", "b"].map(|name| format!("mysql://root@localhost/?socket=/tmp/{name}/mysql.sock"));
        let fitted = fit_labels(&urls, 190.0, &ruler);
        assert!(fitted.iter().all(|url| (ruler.measure)(url) <= 190.0), "{fitted:?}");
        assert!(fitted[0].contains("/a/mysql.sock") && fitted[1].contains("/b/mysql.sock"), "{fitted:?}");
    }
}
