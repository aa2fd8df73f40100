//! Flags and `--set`: the strongest layer of a plan, and the small plan that flags alone make.
//!
//! In: keys and texts. Out: [`WrittenSetting`]s as if they were written in every sweep, and a plan file with the same effect.
//! Limits: a list is written with commas, so no value holds one: a path with a comma needs a plan file. Of a key given twice the
//! last text counts, at the position of the first.

use crate::common::AB;
use crate::document::{Written, WrittenSetting};
use crate::ending::{Ending, parse_until};
use crate::entries;
use crate::error::Place;
use crate::sweep::last_of_each;
use model::{Asked, Catalogue};
use std::fmt::Write as _;

/// Keys and texts from flags and `--set`: stronger than the plan file, for every sweep. Dashes and underscores in a key are the
/// same; a list is written `1,2,4`, a range `1..64`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides(Vec<Override>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Override {
    key: String,
    text: String,
    by: GivenBy,
}

/// How a key reached the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenBy {
    /// By a flag of its own.
    Flag,
    Set,
}

/// The small plan of one workload and flags as a plan file (`--print-plan`). At `scale` it parses to what [`crate::from_flags`] gives.
pub fn to_toml(workload: &str, overrides: &Overrides, scale: f64, catalogue: &Catalogue) -> String {
    let (name, title) = (quoted(&crate::plan_name(workload)), quoted(&title(workload, overrides)));
    let mut plan = format!("name = {name}\ntitle = {title}\n");
    // Flags that are refused are refused when they are used.
    let (asked, meant) = crate::flags_as_meant(workload, overrides, scale, catalogue)
        .map_or_else(|_| (Asked::default(), overrides.clone()), |(plan, meant)| (plan.asked, meant));
    let mut all = Overrides::from_flags(vec![("workload".to_owned(), workload.to_owned())]);
    all.0.extend(meant.0);
    for (key, text) in [("question", asked.question), ("compare", asked.compare), ("over", asked.over)] {
        if let Some(text) = text {
            writeln!(plan, "{key} = {}", quoted(&text)).expect("writing to a string does not fail");
        }
    }
    plan += "\n[[sweep]]\n";
    for setting in last_of_each(&all.settings(), catalogue) {
        let line = match setting.key.as_str() {
            AB => quoted(&joined(&setting)),
            _ => list_of(&setting),
        };
        writeln!(plan, "{} = {line}", toml_key(&setting.key)).expect("writing to a string does not fail");
    }
    plan
}

/// One value, or a list.
fn list_of(setting: &WrittenSetting<'_>) -> String {
    let values: Vec<String> = setting.values.iter().map(|value| literal(&value.text)).collect();
    match values.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// The values as they were written, with commas between them.
fn joined(setting: &WrittenSetting<'_>) -> String {
    setting.values.iter().map(|value| value.text.as_str()).collect::<Vec<_>>().join(",")
}

impl Overrides {
    /// Keys and texts of flags.
    pub fn from_flags(flags: Vec<(String, String)>) -> Overrides {
        Overrides(flags.into_iter().map(|(key, text)| Override { key, text, by: GivenBy::Flag }).collect())
    }

    /// Adds the flag `--key text`, stronger than those before it.
    pub fn flag(&mut self, key: &str, text: &str) {
        self.0.push(Override { key: key.to_owned(), text: text.to_owned(), by: GivenBy::Flag });
    }

    /// Adds `--key text`, weaker than all that was given, and before it.
    pub fn usual(&mut self, key: &str, text: &str) {
        self.0.insert(0, Override { key: key.to_owned(), text: text.to_owned(), by: GivenBy::Flag });
    }

    /// Adds `--set key=text`.
    pub fn set(&mut self, key: &str, text: &str) {
        self.0.push(Override { key: key.to_owned(), text: text.to_owned(), by: GivenBy::Set });
    }

    /// Whether `key` was given.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|one| one.key == key)
    }

    /// Whether `until` was given last as `sure`.
    pub fn asks_to_be_sure(&self) -> bool {
        self.has_ending(|ending| matches!(ending, Ending::Sure(_)))
    }

    /// Whether `until` was given last as `steady`.
    pub fn asks_to_be_steady(&self) -> bool {
        self.has_ending(|ending| ending == Ending::Steady)
    }

    /// Whether `until` was given last as `time` alone.
    pub(crate) fn asks_for_its_time(&self) -> bool {
        self.has_ending(|ending| ending == Ending::Time) && !self.asks_to_be_sure()
    }

    /// Whether an ending that `is_meant` is among those that were given last.
    fn has_ending(&self, is_meant: fn(Ending) -> bool) -> bool {
        let settings = self.settings();
        let last = settings.iter().rfind(|setting| setting.key == "until");
        last.is_some_and(|until| until.values.iter().any(|value| parse_until(value).is_ok_and(is_meant)))
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings in the order in which they were given. A key may be among them several times.
    pub(crate) fn settings(&self) -> Vec<WrittenSetting<'_>> {
        self.0.iter().map(setting).collect()
    }
}

/// Keys whose value may have commas: several objectives need a plan file.
const ONE_VALUE: [&str; 1] = ["slo"];

fn setting(Override { key: flag, text, by }: &Override) -> WrittenSetting<'_> {
    let key = flag.replace('-', "_");
    let place = match by {
        GivenBy::Flag => Place::Flag(flag),
        GivenBy::Set => Place::Set,
    };
    let written = |text: &str| Written { key: key.clone(), text: text.trim().to_owned(), place };
    let values = if ONE_VALUE.contains(&key.as_str()) {
        vec![written(text)]
    } else if key == "engine" {
        split_engines(text).into_iter().map(written).collect()
    } else {
        text.split(',').map(written).collect()
    };
    WrittenSetting { key, place, values }
}

/// The engines of `text`. Commas in the hosts of a URL separate its endpoints: `mysql://u@n1,n2/,sqlite` is two engines. The list of
/// hosts ends with `/`; without one a comma begins the next engine.
fn split_engines(text: &str) -> Vec<&str> {
    let mut engines = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let end = end_of_hosts(text).unwrap_or(0);
        let comma = text[end..].find(',').map(|at| end + at);
        engines.push(&text[..comma.unwrap_or(text.len())]);
        rest = comma.map(|at| &text[at + 1..]);
    }
    engines
}

/// Where the hosts of the URL end that `text` begins with, if it does and they are followed by `/`.
fn end_of_hosts(text: &str) -> Option<usize> {
    let scheme = text.find("://").filter(|at| !text[..*at].contains(','))?;
    let hosts = scheme + "://".len();
    let end = hosts + text[hosts..].find('/')?;
    // `u@h,mariadb@/opt` and `u@h,mysql://` are a host and another engine.
    let is_host = |host: &str| !host.is_empty() && !host.ends_with(['@', ':']);
    text[hosts..end].split(',').all(is_host).then_some(end)
}

/// The title of the small plan of `workload`: `insert on sqlite, fjall`, or `insert` if no engine was given; and what it compares.
pub(crate) fn title(workload: &str, overrides: &Overrides) -> String {
    let compared = overrides.settings().into_iter().rfind(|setting| setting.key == AB).map(|setting| joined(&setting));
    // A path or a URL is not shown: it is long, and a password may be in it.
    let compared = compared.filter(|text| !text.contains(['/', '@'])).map_or(String::new(), |text| format!(": {text}"));
    format!("{}{compared}", title_of_engines(workload, overrides))
}

fn title_of_engines(workload: &str, overrides: &Overrides) -> String {
    let engines = overrides.settings().into_iter().rfind(|setting| setting.key == "engine");
    let engines = engines.map(|setting| without_folders(&setting.values));
    // A URL is not shown: a password may be in it.
    let is_name = |engine: &String| !engine.contains(['/', '@']);
    let is_short = |engines: &Vec<String>| engines.len() <= ENGINES_NAMED_MAX && *engines != [workload];
    match engines.filter(|engines| is_short(engines) && engines.iter().all(is_name)) {
        Some(engines) => format!("{workload} on {}", engines.join(", ")),
        None => workload.to_owned(),
    }
}

/// The engines of `values`, each once: the folder of its programs is part of the points.
fn without_folders(values: &[Written<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for value in values {
        let (name, _) = entries::split_folder(&value.text);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The most engines that a title names.
const ENGINES_NAMED_MAX: usize = 4;

/// A TOML value that is read as the same text.
fn literal(text: &str) -> String {
    let plain_number = text.parse::<i64>().is_ok_and(|value| value.to_string() == text);
    let plain_truth = text == "true" || text == "false";
    if plain_number || plain_truth { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn toml_key(key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { key.to_owned() } else { quoted(key) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, from_flags, parse};
    use proptest::prelude::*;

    fn overrides(pairs: &[(&str, &str)]) -> Overrides {
        Overrides::from_flags(pairs.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect())
    }

    #[test]
    fn the_last_ending_that_was_given_says_whether_it_is_to_be_sure() {
        let asks = |pairs: &[(&str, &str)]| overrides(pairs).asks_to_be_sure();
        assert!(asks(&[("until", "sure:5%"), ("clients", "4")]) && asks(&[("until", "time,sure")]));
        assert!(!asks(&[]) && !asks(&[("until", "steady")]) && !asks(&[("until", "sure"), ("until", "time")]));
        assert!(overrides(&[("until", "steady")]).asks_to_be_steady());
        let asks_for_time = |text: &str| overrides(&[("until", text)]).asks_for_its_time();
        assert!(asks_for_time("time") && !asks_for_time("time,sure") && !asks_for_time("steady"));
    }

    #[test]
    fn commas_among_the_hosts_of_a_url_separate_no_engines() {
        let split = |text: &str| split_engines(text).join(" ");
        assert_eq!(split("sqlite,fjall"), "sqlite fjall");
        assert_eq!(split("mysql://u@n1:3306,n2,n3/db,sqlite"), "mysql://u@n1:3306,n2,n3/db sqlite");
        assert_eq!(split("sqlite,mysql://u@n1,v@n2/"), "sqlite mysql://u@n1,v@n2/");
        assert_eq!(split("mysql://u@h/,postgres://u@h1,h2/"), "mysql://u@h/ postgres://u@h1,h2/");
        // Without a `/` behind the host nothing tells a host from an engine.
        assert_eq!(split("mysql://u@h,sqlite"), "mysql://u@h sqlite");
        assert_eq!(split("mysql://u@h,mariadb@/opt/m"), "mysql://u@h mariadb@/opt/m");
        assert_eq!(split("mysql://u@h,mysql://u@n1,n2/"), "mysql://u@h mysql://u@n1,n2/");
        assert_eq!(split(",a,"), " a ");
    }

    #[test]
    fn a_title_names_the_engines_and_no_url() {
        let title = |engine: &str| title("oltp", &overrides(&[("engine", engine)]));
        assert_eq!(title("sqlite,mariadb:innodb"), "oltp on sqlite, mariadb:innodb");
        assert_eq!([title("sqlite,mysql://root:secret@localhost"), title("a,b,c,d,e")], ["oltp", "oltp"]);
        assert_eq!(title("mariadb@/opt/a,mariadb@/opt/b,postgres"), "oltp on mariadb, postgres");
        assert_eq!(super::title("file", &overrides(&[("engine", "file")])), "file");
    }

    #[test]
    fn the_printed_plan_reads_like_one_that_a_person_wrote() {
        let flags = overrides(&[
            ("engine", "sqlite,fjall"),
            ("clients", "1..4"),
            ("rows-per-commit", "1,10"),
            ("time", "4s"),
            ("clients", "8"),
        ]);
        let expected = r#"name = "insert"
title = "insert on sqlite, fjall"
question = "SQLite or fjall?"
compare = "engine"

[[sweep]]
workload = "insert"
engine = ["sqlite", "fjall"]
clients = 8
rows_per_commit = [1, 10]
time = "4s"
"#;
        assert_eq!(to_toml("insert", &flags, 1.0, &fixture::catalogue()), expected);
    }

    #[test]
    fn the_printed_plan_parses_to_the_plan_of_the_flags() {
        let catalogue = fixture::catalogue();
        let cases = [
            ("insert", overrides(&[])),
            (
                "insert",
                overrides(&[("clients", "1, 2,4"), ("engine", "sqlite,fjall"), ("indexes", "0,3"), ("repeat", "2")]),
            ),
            ("file", overrides(&[("path", "/data/it's, \"mine\""), ("direct", "true,false"), ("depth", "1..32")])),
            ("oltp", overrides(&[("access", "uniform,zipf:0.9"), ("rate", "none,0.5,1e3"), ("arrivals", "poisson")])),
            ("oltp", overrides(&[("seed", "007"), ("cache", "16m,1 GiB"), ("table-rows", "1000..4000")])),
        ];
        for (workload, flags) in cases {
            let direct = from_flags(workload, &flags, 0.5, &catalogue).expect("valid flags");
            let printed = to_toml(workload, &flags, 0.5, &catalogue);
            let read = parse(&printed, "printed.toml", &Overrides::default(), 0.5, &catalogue).expect(&printed);
            assert_eq!(read, direct, "{printed}");
        }
    }

    proptest! {
        #[test]
        fn whatever_flags_are_accepted_survive_printing(
            keys in prop::collection::vec("clients|depth|seed|time|cache|indexes|path|title|a b|", 0..4),
            texts in prop::collection::vec("[0-9]{1,3}|[0-9]..[0-9]|[1-4],[5-8]|\\PC{0,4}|1[smk]", 4),
        ) {
            let catalogue = fixture::catalogue();
            let flags = Overrides::from_flags(keys.into_iter().zip(texts).collect());
            if let Ok(direct) = from_flags("insert", &flags, 1.0, &catalogue) {
                let printed = to_toml("insert", &flags, 1.0, &catalogue);
                prop_assert_eq!(parse(&printed, "printed.toml", &Overrides::default(), 1.0, &catalogue), Ok(direct));
            }
        }
    }
}
