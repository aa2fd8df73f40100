//! Settings and steps as people say them in a sentence: `three secondary indexes`, `ext4 without barriers`, `one client`.
//!
//! In: settings. Out: the phrase that the parameter declares, which is recorded with the point; without one the words of its label.

use crate::findings::setting_words::phrase;
use crate::recorded::dimensions::{Role, Setting, SettingValue};

/// `setting` as it is said in a sentence.
pub fn spoken(setting: &Setting) -> String {
    let counted = match setting.value {
        SettingValue::Count(count) => things(setting.role).map(|[one, many]| match count {
            1 => format!("one {one}"),
            count => format!("{} {many}", number_word(count)),
        }),
        _ => None,
    };
    // A server's variable is known by its name as it is.
    let of_label = || {
        let words = phrase(setting);
        if setting.name.contains('.') { words } else { words.replace('_', " ") }
    };
    counted.or_else(|| setting.phrase.clone()).unwrap_or_else(of_label)
}

/// What a setting of this role counts: one, and several.
pub fn things(role: Role) -> Option<[&'static str; 2]> {
    match role {
        Role::Clients => Some(["client", "clients"]),
        Role::Depth => Some(["request in flight", "requests in flight"]),
        Role::Instances => Some(["instance", "instances"]),
        _ => None,
    }
}

/// The circumstance that `setting` is: `with three secondary indexes`, `without hyper-threads`.
pub fn under(setting: &Setting) -> String {
    const PREPOSITIONS: [&str; 7] = ["with", "without", "in", "on", "at", "under", "over"];
    let words = spoken(setting);
    let is_circumstance = PREPOSITIONS.iter().any(|one| words.split(' ').next() == Some(one));
    if is_circumstance { words } else { format!("with {words}") }
}

/// How many words a sentence has.
pub fn words_in(sentence: &str) -> usize {
    sentence.split_whitespace().count()
}

/// Numbers up to twelve in words, others in digits.
pub fn number_word(number: u32) -> String {
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    WORDS.get(number as usize).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}
