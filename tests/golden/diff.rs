//! The difference of two texts, line by line.
//!
//! In: what was expected and what came. Out: the lines that only one of them has, `-` and `+`, with the line before each
//! change. By the longest common subsequence of lines (Hunt and McIlroy, Bell Labs CSTR 41, 1976).
//! Limits: time and memory grow with the product of the numbers of lines; golden files have hundreds.

use std::fmt::Write;

/// The lines that differ.
pub fn lines(expected: &str, came: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), came.lines().collect());
    let common = common_lengths(&old, &new);
    let (mut i, mut j, mut text, mut in_change) = (0, 0, String::new(), false);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j, in_change) = (i + 1, j + 1, false);
            continue;
        }
        if !in_change {
            writeln!(text, "  line {}, after `{}`", i + 1, if i > 0 { old[i - 1] } else { "" }).unwrap();
            in_change = true;
        }
        if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            writeln!(text, "  - {}", old[i]).unwrap();
            i += 1;
        } else {
            writeln!(text, "  + {}", new[j]).unwrap();
            j += 1;
        }
    }
    if text.is_empty() { "  only the line breaks differ\n".into() } else { text }
}

/// How many lines `old[i..]` and `new[j..]` have in common, in order.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<usize>> {
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match old[i] == new[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    common
}

#[test]
fn a_changed_and_an_added_line_are_shown_with_the_line_before() {
    let shown = lines("one\ntwo\nthree\nfour\n", "one\n2\nthree\nfour\nfive\n");
    assert_eq!(shown, "  line 2, after `one`\n  - two\n  + 2\n  line 5, after `four`\n  + five\n");
}

#[test]
fn texts_without_a_common_line_are_shown_whole() {
    assert_eq!(lines("", "a\nb\n"), "  line 1, after ``\n  + a\n  + b\n");
    assert_eq!(lines("a", "b"), "  line 1, after ``\n  - a\n  + b\n");
}

#[test]
fn a_missing_line_break_is_told() {
    assert_eq!(lines("a\n", "a"), "  only the line breaks differ\n");
}
