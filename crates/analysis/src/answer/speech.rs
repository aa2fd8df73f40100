//! Settings and steps as people say them in a sentence: `three secondary indexes`, `ext4 without barriers`, `one client`.
//!
//! In: settings. Out: the phrase that the parameter declares, which is recorded with the point; without one the words of its label.

use super::claim::WORDS_MAX;
use crate::findings::setting_words::phrase;
use crate::recorded::dimensions::{Role, Setting, SettingValue};
use words::quantity::{number, whole};

/// `setting` as it is said in a sentence.
pub fn spoken(setting: &Setting) -> String {
    match (&setting.value, setting.role) {
        (SettingValue::Count(1), Role::Clients) => "one client".to_owned(),
        (SettingValue::Count(clients), Role::Clients) => format!("{} clients", number_word(*clients)),
        _ => setting.phrase.clone().unwrap_or_else(|| plain(&phrase(setting))),
    }
}

/// `words` without the signs of a command line: `read_write` is `read write`, `iops=500` is `iops 500`.
pub fn plain(words: &str) -> String {
    words.replace(['_', '='], " ")
}

/// The first of `wordings` that is short enough to be a claim, else the last; at least one.
pub fn short_enough(wordings: Vec<String>) -> String {
    let last = wordings.len() - 1;
    let fits = wordings.iter().position(|words| words.split_whitespace().count() <= WORDS_MAX);
    wordings.into_iter().nth(fits.unwrap_or(last)).unwrap_or_default()
}

/// An amount with three digits as it is said: `8.50`, `1,560`, `35,000`, `1.62 million`.
pub fn amount(value: f64) -> String {
    if value >= 999_500.0 {
        return format!("{} million", number(value / 1e6));
    }
    let zeros = 10f64.powi((value.abs().max(1.0).log10().floor() as i32 - 2).max(0));
    if value < 99.95 { number(value).to_string() } else { whole((value / zeros).round() * zeros).to_string() }
}

/// Numbers up to twelve in words, others in digits.
pub fn number_word(number: u32) -> String {
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    WORDS.get(number as usize).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits_and_are_said_in_full() {
        let all = [8.5, 99.0, 770.4, 1_563.0, 34_987.0, 999_400.0, 1_620_000.0].map(amount);
        assert_eq!(all, ["8.50", "99.0", "770", "1,560", "35,000", "999,000", "1.62 million"]);
    }

    #[test]
    fn the_first_wording_that_fits_is_said() {
        let long = "word ".repeat(WORDS_MAX + 1);
        assert_eq!(short_enough(vec![long.clone(), "short".to_owned()]), "short");
        assert_eq!(plain("read_write iops=500"), "read write iops 500");
    }
}
