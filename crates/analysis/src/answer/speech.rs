//! Settings and steps as people say them in a sentence: `three secondary indexes`, `ext4 without barriers`, `one client`.
//!
//! In: settings. Out: the phrase that the parameter declares, which is recorded with the point; without one the words of its label.

use crate::findings::setting_words::phrase;
use crate::recorded::dimensions::{Role, Setting, SettingValue};

/// `setting` as it is said in a sentence.
pub fn spoken(setting: &Setting) -> String {
    match (&setting.value, setting.role) {
        (SettingValue::Count(1), Role::Clients) => "one client".to_owned(),
        (SettingValue::Count(clients), Role::Clients) => format!("{} clients", number_word(*clients)),
        _ => setting.phrase.clone().unwrap_or_else(|| phrase(setting)),
    }
}

/// Numbers up to twelve in words, others in digits.
pub fn number_word(number: u32) -> String {
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    WORDS.get(number as usize).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}
