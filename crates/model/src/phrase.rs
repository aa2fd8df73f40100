//! How people say the value of a parameter in a sentence: `three secondary indexes`, `ext4 without barriers`, `a cache of 64 MiB`.
//!
//! In: the [`Phrase`] that a parameter declares, and a value. Out: its phrase, which is recorded with the point, so that no reader of a run
//! needs to know the parameter. A phrase stands after a verb or a preposition, and has neither the parameter's key nor `=`.

use crate::limits::CpuLimit;
use crate::machine_setup::{CpuAssignment, CpuChoice, IoScheduler, Switch};
use crate::params::Value;
use crate::trial::{Arrivals, Pacing, Trial};
use crate::units::Nanos;

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
    /// `value` in a sentence; `None` if nothing is declared for it.
    pub fn say(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Phrase::None, _) => None,
            (Phrase::Counted { zero, one, many }, Value::Int(number)) => Some(counted(*number, zero, one, many)),
            (Phrase::Counted { .. }, _) => None,
            (Phrase::Words(all), _) => {
                let written = value.to_string();
                all.iter().find_map(|(form, phrase)| Some(phrase.replace("{}", part_of(form, &written)?)))
            }
            (Phrase::Pattern(phrase), Value::Int(number)) => Some(phrase.replace("{}", &number_word(*number))),
            (Phrase::Pattern(phrase), _) => Some(phrase.replace("{}", &value.to_string())),
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

const CLIENTS: Phrase = Phrase::Counted { zero: "no client", one: "one client", many: "{} clients" };
const DEPTH: Phrase =
    Phrase::Counted { zero: "nothing in flight", one: "one request in flight", many: "{} requests in flight" };
const INSTANCES: Phrase = Phrase::Counted { zero: "no instance", one: "one instance", many: "{} instances" };
const FILE_SYSTEMS: Phrase = Phrase::Words(&[
    ("ext4", "ext4"),
    ("ext4:nobarrier", "ext4 without barriers"),
    ("xfs", "XFS"),
    ("btrfs", "Btrfs"),
    ("btrfs:{}", "Btrfs with {}"),
    ("zfs", "ZFS"),
    ("zfs:{}", "ZFS with {}"),
]);

/// How people say the setting `key` of `trial`, one of those that every trial has; `None` for any other key.
pub fn common_phrase(key: &str, trial: &Trial) -> Option<String> {
    let (limits, machine) = (&trial.target.limits, &trial.target.machine);
    let count = |phrase: Phrase, number: u32| phrase.say(&Value::Int(u64::from(number)));
    let said = match key {
        "fs" => match &trial.target.fs {
            None => "the file system of the directory".to_owned(),
            Some(fs) => FILE_SYSTEMS.say(&Value::Word(fs.kind.to_string()))?,
        },
        "memory_limit" => limits.memory.map_or("all memory".to_owned(), |bytes| format!("{bytes} of memory")),
        "storage_limit" => limits.storage.phrase(),
        "cpu_limit" => match limits.cpu {
            None => "all of the CPU".to_owned(),
            Some(CpuLimit::SpeedPercent(percent)) => format!("CPUs at {percent} % of their speed"),
            Some(limit) => format!("{limit} CPUs"),
        },
        "cpus" => machine.cpus.as_ref().map_or("any CPU".to_owned(), cpus_phrase),
        "smt" => switch_phrase("hyper-threads", machine.smt),
        "turbo" => switch_phrase("turbo", machine.turbo),
        "scheduler" => match machine.scheduler {
            None => "the scheduler as it is".to_owned(),
            Some(IoScheduler::None) => "no I/O scheduler".to_owned(),
            Some(scheduler) => format!("the scheduler {}", scheduler.as_str()),
        },
        "instances" => return count(INSTANCES, trial.target.instances),
        "clients" => return count(CLIENTS, trial.load.clients),
        "depth" => return count(DEPTH, trial.load.depth),
        "pacing" => match trial.load.pacing {
            Pacing::Closed { think: Nanos(0) } => "a closed loop".to_owned(),
            Pacing::Closed { think } => format!("a closed loop with pauses of {think}"),
            Pacing::Open { arrivals: Arrivals::Recorded { .. } } => "the recorded times".to_owned(),
            Pacing::Open { arrivals } => format!("a rate of {} per second", arrivals.per_s()),
        },
        _ => return None,
    };
    Some(said)
}

fn switch_phrase(of: &str, switch: Option<Switch>) -> String {
    match switch {
        None => format!("{of} as they are"),
        Some(switch) => format!("{of} {}", switch.as_str()),
    }
}

fn cpus_phrase(cpus: &CpuAssignment) -> String {
    let one = |choice: &CpuChoice| match choice {
        CpuChoice::Cores => "one thread per core".to_owned(),
        CpuChoice::All => "all threads of all cores".to_owned(),
        CpuChoice::Listed(list) if list.numbers().len() == 1 => "one CPU".to_owned(),
        CpuChoice::Listed(list) => format!("{} CPUs", number_word(list.numbers().len() as u64)),
    };
    if cpus.client == cpus.engine {
        one(&cpus.client)
    } else {
        format!("{} for the clients and {} for the engine", one(&cpus.client), one(&cpus.engine))
    }
}

/// A number in a sentence: in words up to twelve, else in digits with separators, as 1,000.
pub fn number_word(number: u64) -> String {
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let digits = number.to_string();
    let separated = || {
        let groups: Vec<&str> = digits
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(|group| std::str::from_utf8(group).expect("digits are ASCII"))
            .collect();
        groups.join(",")
    };
    usize::try_from(number).ok().and_then(|at| WORDS.get(at)).map_or_else(separated, |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn things_are_counted_in_words_and_large_numbers_have_separators() {
        let indexes =
            Phrase::Counted { zero: "no secondary index", one: "one secondary index", many: "{} secondary indexes" };
        let say = |number| indexes.say(&Value::Int(number)).unwrap();
        assert_eq!([0, 1, 3].map(say), ["no secondary index", "one secondary index", "three secondary indexes"]);
        assert_eq!([13, 1_000, 1_234_567].map(number_word), ["13", "1,000", "1,234,567"]);
        assert_eq!(indexes.things(), Some("secondary indexes"));
    }

    #[test]
    fn words_have_a_phrase_each_and_levels_are_taken_over() {
        let codec = Phrase::Words(&[("none", "no compression"), ("gzip:{}", "gzip at level {}")]);
        let say = |word: &str| codec.say(&Value::Word(word.into()));
        assert_eq!(
            [say("none"), say("gzip:9"), say("lz4")],
            [Some("no compression".into()), Some("gzip at level 9".into()), None]
        );
        assert_eq!(
            Phrase::Pattern("a cache of {}").say(&Value::Bytes(Bytes::from_mib(64))),
            Some("a cache of 64 MiB".into())
        );
        assert_eq!(Phrase::None.say(&Value::Int(1)), None);
    }
}
