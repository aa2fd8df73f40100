//! Settings and steps as people say them in a sentence: `three secondary indexes`, `ext4 without barriers`, `one client`.
//!
//! In: settings. Out: the phrase that the parameter declares, which is recorded with the point; without one the words of its label.

use super::claim::WORDS_MAX;
use crate::findings::setting_words::phrase;
use crate::recorded::dimensions::{Role, Setting, SettingValue};
use model::Value;
use model::own_table::OwnTable;
use words::list::{capital, join_and};
use words::quantity::{number, plural, whole};

pub use model::number_word;

/// `setting` as it is said in a sentence.
pub fn spoken(setting: &Setting) -> String {
    let counted = match setting.value {
        SettingValue::Count(count) => things(setting.role).map(|[one, many]| match count {
            1 => format!("one {one}"),
            count => format!("{} {many}", number_word(count)),
        }),
        _ => None,
    };
    counted.or_else(|| setting.phrase.clone()).unwrap_or_else(|| words_of_label(setting))
}

/// The words of its label, without the signs of a command line. Names that the user chose stay as they are.
fn words_of_label(setting: &Setting) -> String {
    let (words, value) = (phrase(setting), setting.value.to_string());
    match &setting.value {
        SettingValue::Param(Value::Tables(tables)) if !tables.is_empty() => tables_words(tables),
        // A server's variable is known by its name as it is.
        _ if setting.name.contains('.') => words.replace('=', " "),
        chosen if is_of_user(setting, chosen) => match words.strip_suffix(&value) {
            Some(name) => plain(name) + &value,
            None => plain(&words),
        },
        _ => plain(&words),
    }
}

/// `5,000 rows in order_items and 200 rows in shops`; tables that were there have rows that no plan states.
fn tables_words(tables: &[OwnTable]) -> String {
    let words = tables.iter().map(|table| match table.keys {
        None => format!("{} in {}", plural(table.rows, "row"), table.name),
        Some(_) => format!("table {}", table.name),
    });
    join_and(&words.collect::<Vec<_>>())
}

/// Whether `value` consists of names that the user chose: of statements, variants and data sets, and of files, hosts and databases.
fn is_of_user(setting: &Setting, value: &SettingValue) -> bool {
    match value {
        SettingValue::Param(value) => match value {
            Value::Statements(_) | Value::Background(_) | Value::Variant(_) | Value::Data(_) | Value::Recording(_) => {
                true
            }
            Value::Word(word) => setting.is_named_by_user() || is_place(word),
            _ => false,
        },
        SettingValue::Name(name) => is_place(name),
        _ => false,
    }
}

/// `name` as it is said: a path and an address as they are, a word of plimsoll's without its signs.
pub fn name_words(name: &str) -> String {
    if is_place(name) { name.to_owned() } else { plain(name) }
}

/// Whether it is a path, the name of a file, or an address: no word of plimsoll's has such signs.
fn is_place(word: &str) -> bool {
    word.contains(['/', '.'])
}

/// `setting` as it is said; as its label has it, if the phrase is longer than `length_max` characters.
pub fn short(setting: &Setting, length_max: usize) -> String {
    let words = spoken(setting);
    if words.chars().count() <= length_max { words } else { phrase(setting) }
}

/// `setting` above a column.
pub fn column(setting: &Setting) -> String {
    short(setting, 24)
}

/// `setting` as the name of a row.
pub fn row(setting: &Setting) -> String {
    short(setting, 24)
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

/// Where an arm is: `on SQLite`, `with three secondary indexes`.
pub fn with(arm: &Setting) -> String {
    if arm.role == Role::Engine { format!("on {}", spoken(arm)) } else { under(arm) }
}

/// `who` at the beginning of a sentence. A path and the address of a server stay as they are.
pub fn begins(who: &str) -> String {
    if who.contains('/') { who.to_owned() } else { capital(who) }
}

/// How many words a sentence has.
pub fn words_in(text: &str) -> usize {
    text.split_whitespace().count()
}

/// `text` without marks of code, which a sentence for a terminal has not.
pub fn unquoted(text: &str) -> String {
    text.replace('`', "")
}

/// `text` without marks of code; what was marked, a word of plimsoll's, is said without its signs.
pub fn code_in_words(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(nth, part)| if nth % 2 == 1 { plain(part) } else { part.to_owned() }).collect()
}

/// Words of plimsoll's own without the signs of a command line: `read_write` is `read write`, `iops=500` is `iops 500`. Names that the
/// user or a server chose are not for it.
pub fn plain(words: &str) -> String {
    words.replace(['_', '='], " ")
}

/// The first of `wordings` that is short enough to be a claim, else the last; at least one.
pub fn short_enough(wordings: Vec<String>) -> String {
    let last = wordings.len() - 1;
    let fits = wordings.iter().position(|words| words_in(words) <= WORDS_MAX);
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

/// A factor with two digits: `1.6`, `40`.
pub fn factor(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}") } else { whole(factor).to_string() }
}

/// A ratio that may be below 1: `0.48`, `2.4`.
pub fn fine(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.0995 => format!("{ratio:.3}"),
        ratio if ratio < 1.95 => format!("{ratio:.2}"),
        ratio => factor(ratio),
    }
}

/// A share in percent, without its sign: `4.2`, `35`.
pub fn percent(share: f64) -> String {
    if share.abs() < 0.0995 { format!("{:.1}", share * 100.0) } else { format!("{:.0}", share * 100.0) }
}

/// A smallest effect: `5 %`, `a factor of 2.3`.
pub fn size(effect: f64) -> String {
    if effect < 1.0 {
        format!("{:.0} %", (effect * 100.0).ceil())
    } else {
        format!("a factor of {}", factor(1.0 + effect))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ParamRole;
    use model::own_table::OwnKeys;

    #[test]
    fn amounts_have_three_digits_and_are_said_in_full() {
        let all = [8.5, 99.0, 770.4, 1_563.0, 34_987.0, 999_400.0, 1_620_000.0].map(amount);
        assert_eq!(all, ["8.50", "99.0", "770", "1,560", "35,000", "999,000", "1.62 million"]);
    }

    fn table(name: &str, rows: u64) -> OwnTable {
        let (columns, primary_key, indexes) = (Vec::new(), Vec::new(), Vec::new());
        OwnTable { name: name.to_owned(), rows, columns, primary_key, indexes, partitions: None, keys: None }
    }

    #[test]
    fn names_that_the_user_chose_are_said_as_they_are() {
        let said = |name: &str, role: ParamRole, value: Value| spoken(&Setting::of_workload(name, role, value));
        let size = |tables: Vec<OwnTable>| said("table", ParamRole::DataSize, Value::Tables(tables));
        assert_eq!(size(vec![table("order_items", 5_000)]), "5,000 rows in order_items");
        assert_eq!(size(vec![table("__", 3_000), table("___2", 1)]), "3,000 rows in __ and 1 row in ___2");
        let keys = Some(OwnKeys { sql: String::new(), columns: Vec::new() });
        assert_eq!(size(vec![OwnTable { keys, ..table("a_b", 0) }]), "table a_b");
        let word = |name: &str, role, word: &str| said(name, role, Value::Word(word.to_owned()));
        assert_eq!(word("question", ParamRole::Mix, "of_last_week"), "of_last_week");
        assert_eq!(word("config", ParamRole::ConfigFile, "my_small"), "my_small");
        assert_eq!(word("log_file", ParamRole::Ground, "/mnt/my_disk"), "log file /mnt/my_disk");
        assert_eq!(word("mode", ParamRole::Mix, "read_write"), "read write");
        let engine = |name: &str| Setting::of_run("engine", Role::Engine, SettingValue::Name(name.to_owned()));
        assert_eq!(["/mnt/my_disk", "one_more"].map(|name| spoken(&engine(name))), ["/mnt/my_disk", "one more"]);
    }

    #[test]
    fn of_a_sentence_only_the_words_of_code_lose_their_signs() {
        assert_eq!(code_in_words("limited by `cpu_limit` (host db_1)"), "limited by cpu limit (host db_1)");
    }

    #[test]
    fn the_first_wording_that_fits_is_said() {
        let long = "word ".repeat(WORDS_MAX + 1);
        assert_eq!(short_enough(vec![long.clone(), "short".to_owned()]), "short");
        assert_eq!(plain("read_write iops=500"), "read write iops 500");
    }
}
