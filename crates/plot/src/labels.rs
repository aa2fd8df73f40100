//! Labels that are too long for their place: shortened so that they can still be told apart.
//!
//! In: labels that are read together, and a width. Out: what is shown of each. Limits: labels that differ in two distant places may
//! still look alike in a narrow place; whoever needs them whole has to show them elsewhere.

use std::collections::{BTreeMap, BTreeSet};

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
    if labels.iter().all(|label| ruler.width_of(label) <= width) {
        return labels.to_vec();
    }
    let whole = cut_apart(labels, width, ruler);
    let few = cut_apart(&without_common_words(labels), width, ruler);
    if distinct(&few) > distinct(&whole) { few } else { whole }
}

/// All cut at the place that leaves most of them different, as near to the middle as possible.
fn cut_apart<F: Fn(&str) -> f64>(labels: &[String], width: f64, ruler: &Ruler<F>) -> Vec<String> {
    let step = ruler.width_of("n");
    let most = ((width - ruler.width_of(ruler.ellipsis)) / step).max(0.0) as usize;
    let middle = (width / step / 2.0) as usize;
    let mut tails: Vec<usize> = (0..=most).collect();
    tails.sort_by_key(|tail| tail.abs_diff(middle));
    let mut best = Vec::new();
    for tail in tails {
        let cut: Vec<String> = labels.iter().map(|label| cut_middle(label, width, tail as f64 * step, ruler)).collect();
        if best.is_empty() || distinct(&cut) > distinct(&best) {
            best = cut;
        }
        if distinct(&best) == distinct(labels) {
            break;
        }
    }
    best
}

/// `text`, or its beginning and so much of its end as fits into `tail`.
fn cut_middle<F: Fn(&str) -> f64>(text: &str, width: f64, tail: f64, ruler: &Ruler<F>) -> String {
    if ruler.width_of(text) <= width {
        return text.to_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let string = |part: &[char]| part.iter().collect::<String>();
    let mut begin = chars.len();
    while begin > 0 && ruler.width_of(&string(&chars[begin - 1..])) <= tail + 1e-9 {
        begin -= 1;
    }
    let end = format!("{}{}", ruler.ellipsis, string(&chars[begin..]));
    let mut head = String::new();
    for c in &chars[..begin] {
        head.push(*c);
        if ruler.width_of(&format!("{head}{end}")) > width + 1e-9 {
            head.pop();
            break;
        }
    }
    head + &end
}

fn distinct(labels: &[String]) -> usize {
    labels.iter().collect::<BTreeSet<_>>().len()
}

/// Without the words that every label has, which are mostly the names of dimensions.
fn without_common_words(labels: &[String]) -> Vec<String> {
    let words = |label: &'_ String| label.split(' ').map(str::to_owned).collect::<BTreeSet<String>>();
    let common = labels.iter().map(words).reduce(|common, own| &common & &own).unwrap_or_default();
    let kept = |label: &String| {
        let kept: Vec<&str> = label.split(' ').filter(|word| !common.contains(*word)).collect();
        kept.join(" ")
    };
    labels.iter().map(kept).collect()
}

/// The labels of one column of a table in a fixed-width font.
pub struct Labels {
    width: usize,
    shown: BTreeMap<String, String>,
}

impl Labels {
    /// Those of `labels`, in a column of `width` characters.
    pub fn fitted(labels: impl Iterator<Item = String>, width: usize) -> Labels {
        let all: Vec<String> = labels.collect::<BTreeSet<_>>().into_iter().collect();
        let ruler = Ruler { measure: |text: &str| text.chars().count() as f64, ellipsis: ".." };
        let fitted = fit_labels(&all, width as f64, &ruler);
        Labels { width, shown: all.into_iter().zip(fitted).collect() }
    }

    /// `label` as it is shown, filled up with spaces.
    pub fn padded(&self, label: &str) -> String {
        let (shown, width) = (self.shown.get(label).map_or(label, String::as_str), self.width);
        format!("{shown:<width$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(labels: &[&str], width: usize) -> Vec<String> {
        let fitted = Labels::fitted(labels.iter().map(|label| (*label).to_owned()), width);
        labels.iter().map(|label| fitted.padded(label)).collect()
    }

    #[test]
    fn short_labels_are_filled_up_and_long_ones_are_cut_in_the_middle() {
        assert_eq!(
            shown(&["short", "sqlite oltp read_write clients 16"], 20),
            ["short               ", "sqlite o..clients 16"]
        );
    }

    #[test]
    fn labels_are_cut_where_all_can_still_be_told_apart() {
        let labels = ["sqlite oltp read_only with 16 clients", "sqlite oltp write_only with 16 clients"];
        assert_eq!(shown(&labels, 20), ["sqlite oltp r..ients", "sqlite oltp w..ients"]);
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
        assert_eq!(shown(&labels, 8), ["0 l.i0  ", "3 l.i0  ", "0 l.i1  ", "3 l.i1  "]);
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
        assert!(distinct(&fitted) == 2 && fitted.iter().all(|url| (ruler.measure)(url) <= 190.0), "{fitted:?}");
    }
}
