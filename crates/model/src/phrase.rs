//! How people say the value of a parameter in a sentence: `three secondary indexes`, `ext4 without barriers`, `a cache of 64 MiB`.
//!
//! In: the [`Phrase`] that a parameter declares, and a value. Out: its phrase, which is recorded with the point, so that no reader of a run
//! needs to know the parameter. A phrase stands after a verb or a preposition, and has neither the parameter's key nor `=`.

use crate::units::number_word;

/// What a parameter declares of its values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Phrase {
    /// Nothing: its values are said as a plan has them.
    #[default]
    None,
    /// A number of things. `{}` in `many` stands for the number.
    Counted {
        /// Of none: `no secondary index`.
        zero: &'static str,
        /// Of one: `one secondary index`.
        one: &'static str,
        /// Of more: `{} secondary indexes`.
        many: &'static str,
    },
    /// A phrase for each value as a plan has it; `{}` in both stands for the same part, such as a level: `gzip:{}`, `gzip at level {}`.
    Words(&'static [(&'static str, &'static str)]),
    /// A phrase for all values, in which `{}` stands for the value: `a cache of {}`.
    Pattern(&'static str),
}

impl Phrase {
    /// A whole number in a sentence; `None` if nothing is declared for it.
    pub fn say_number(&self, number: u64) -> Option<String> {
        match self {
            Phrase::Counted { zero, one, many } => Some(counted(number, zero, one, many)),
            Phrase::Pattern(phrase) => Some(phrase.replace("{}", &number_word(number))),
            Phrase::Words(_) | Phrase::None => self.say_written(&number.to_string()),
        }
    }

    /// A value in a sentence that a plan has as `written`; `None` if nothing is declared for it.
    pub fn say_written(&self, written: &str) -> Option<String> {
        match self {
            Phrase::Words(all) => {
                all.iter().find_map(|(form, phrase)| Some(phrase.replace("{}", part_of(form, written)?)))
            }
            Phrase::Pattern(phrase) => Some(phrase.replace("{}", written)),
            Phrase::Counted { .. } | Phrase::None => None,
        }
    }

    /// What is counted, `secondary indexes`; `None` of a phrase that counts nothing, or does not begin with the number.
    pub fn things(&self) -> Option<&'static str> {
        match self {
            Phrase::Counted { many, .. } => many.strip_prefix("{} "),
            _ => None,
        }
    }
}

/// What stands for `{}` in `form` if `written` has that form; nothing if the form has no such part.
fn part_of<'w>(form: &str, written: &'w str) -> Option<&'w str> {
    match form.split_once("{}") {
        Some((before, after)) => written.strip_prefix(before)?.strip_suffix(after),
        None => (form == written).then_some(""),
    }
}

fn counted(number: u64, zero: &str, one: &str, many: &str) -> String {
    match number {
        0 => zero.to_owned(),
        1 => one.to_owned(),
        _ => many.replace("{}", &number_word(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_counted_in_words_and_large_numbers_have_separators() {
        let indexes =
            Phrase::Counted { zero: "no secondary index", one: "one secondary index", many: "{} secondary indexes" };
        let say = |number| indexes.say_number(number).unwrap();
        assert_eq!([0, 1, 3].map(say), ["no secondary index", "one secondary index", "three secondary indexes"]);
        assert_eq!([13_u64, 1_000, 1_234_567].map(number_word), ["13", "1,000", "1,234,567"]);
        assert_eq!(indexes.things(), Some("secondary indexes"));
    }

    #[test]
    fn words_have_a_phrase_each_and_levels_are_taken_over() {
        let codec = Phrase::Words(&[("none", "no compression"), ("gzip:{}", "gzip at level {}")]);
        let say = |word: &str| codec.say_written(word);
        assert_eq!(
            [say("none"), say("gzip:9"), say("lz4")],
            [Some("no compression".into()), Some("gzip at level 9".into()), None]
        );
        assert_eq!(Phrase::Pattern("a cache of {}").say_written("64 MiB"), Some("a cache of 64 MiB".into()));
        assert_eq!(Phrase::None.say_number(1), None);
    }
}
