//! Lists and sentences as people write them.

/// `a`, `a and b`, `a, b and c`.
pub fn join_and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Each of `all` once, in the order in which they first come.
pub fn distinct<K: PartialEq>(all: impl IntoIterator<Item = K>) -> Vec<K> {
    let mut known: Vec<K> = Vec::new();
    for one in all {
        if !known.contains(&one) {
            known.push(one);
        }
    }
    known
}

/// The first `most` of `all`, and how many more there are.
pub fn listed<T>(all: &[T], most: usize, one: impl Fn(&T) -> String) -> String {
    let mut text = all.iter().take(most).map(one).collect::<Vec<_>>().join(", ");
    if all.len() > most {
        text += &format!(" and {} more", all.len() - most);
    }
    text
}

/// Where something holds of `all` points: ` at both points`, ` at all 3 points`, ` at 2 of 3 points`; nothing if there is one.
pub fn at_points(points: usize, all: usize) -> String {
    match (points, all) {
        (_, 1) => String::new(),
        (2, 2) => " at both points".to_owned(),
        (points, all) if points == all => format!(" at all {points} points"),
        (points, all) => format!(" at {points} of {all} points"),
    }
}

/// `text` as a sentence begins: with a capital. The name of the program keeps its small letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !text.starts_with("plimsoll") => first.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital_and_the_name_of_the_program_with_a_small_letter() {
        assert_eq!(
            ["the rate drifts", "plimsoll did not run", ""].map(capital),
            ["The rate drifts", "plimsoll did not run", ""]
        );
    }

    #[test]
    fn lists_end_with_and() {
        let list = |parts: &[&str]| join_and(&parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>());
        assert_eq!([list(&[]), list(&["a"]), list(&["a", "b"])], ["", "a", "a and b"]);
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn a_long_list_ends_with_how_many_it_leaves_out() {
        let list = |most| listed(&[1, 2, 3, 4], most, i32::to_string);
        assert_eq!([list(3), list(4)], ["1, 2, 3 and 1 more", "1, 2, 3, 4"]);
    }
}
