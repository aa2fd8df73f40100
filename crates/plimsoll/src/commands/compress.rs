//! `plimsoll compress FILE...`: files through codecs, and through file systems that compress.
//!
//! In: the flags of the workload, and the files by position. Out: what `plimsoll WORKLOAD` does, each file with each codec, five times,
//! in turns. Limits: `--codec` and `--fs` together are two sweeps: codecs write to the directory that is measured, and a file system gets
//! the file as it is.

use super::measure;
use super::workload::{self, PresetKeys};
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use ::workload::compress::COMPRESS;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use model::Plan;
use plan::Overrides;

/// The name of the command.
pub const NAME: &str = "compress";

/// What a comparison of codecs needs, and what a day is more than enough for: the run ends with its ops.
const USUAL: [(&str, &str); 2] = [("repeat", "5"), ("time", "1d")];
/// Flags that one thread with one file has no use for.
const NOT_USEFUL: [&str; 12] = [
    "clients",
    "depth",
    "rate",
    "think",
    "warmup",
    "until",
    "round",
    "rounds_max",
    "precondition",
    "path",
    "destroy",
    "file",
];

pub fn clap() -> Command {
    let files = Arg::new(flags::COMPRESSED_FILES).value_name("FILE").num_args(1..);
    let command = workload::clap(&COMPRESS)
        .arg(files.help("Files to compress; they are only read"))
        .mut_arg("repeat", |repeat| repeat.help("How often each file goes through each codec, in turns [default: 5]"))
        .mut_arg("time", |time| time.help("End a point after this time [default: when the file is done]"))
        .after_help(
            "Example: plimsoll compress table.ibd --codec none,lz4,zstd:3,gzip:1..9 --fs btrfs:zstd:3\n\n\
             A time is that until the result is on disk. CPU time is that of plimsoll and of the kernel's threads.",
        );
    let there = NOT_USEFUL.iter().filter(|flag| command.get_arguments().any(|arg| arg.get_id() == *flag));
    let there: Vec<&str> = there.copied().collect();
    there.into_iter().fold(command, |command, flag| command.mut_arg(flag, |flag| flag.hide(true)))
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let sweeps = sweeps_of(matches)?;
    let scale = flags::scale(matches)?;
    let mut plans = Vec::new();
    for overrides in &sweeps {
        let plan = plan::from_flags(NAME, overrides, scale, &context.catalogue);
        plans.push(plan.map_err(|error| Fault::usage(flags::in_flags(&error.to_string(), &clap())))?);
    }
    if matches.get_flag("print-plan") {
        output::print(&as_toml(&sweeps, context));
        return Ok(Exit::Done);
    }
    let done = measure::run_plan(&in_turns(plans), &flags::options(matches), context);
    done.map_err(|fault| Fault { text: flags::in_flags(&fault.text, &clap()), ..fault })
}

/// The flags of each sweep: one of codecs, and one of file systems if both are given.
fn sweeps_of(matches: &ArgMatches) -> Result<Vec<Overrides>, Fault> {
    let given = |id: &str| matches.value_source(id).is_some_and(|source| source != ValueSource::DefaultValue);
    let mut common: Vec<(&str, String)> = Vec::new();
    if let Some(files) = matches.get_many::<String>(flags::COMPRESSED_FILES) {
        let files: Vec<&str> = files.map(String::as_str).collect();
        if let Some(comma) = files.iter().find(|file| file.contains(',')) {
            return Err(Fault::usage(format!("FILE: `{comma}` has a comma in it; name it in a plan file")));
        }
        common.push(("file", files.join(",")));
    }
    let unset = USUAL.iter().filter(|(key, _)| !given(key));
    common.extend(unset.map(|(key, text)| (*key, (*text).to_owned())));
    let presets: &[PresetPair] = if given("codec") && given("fs") { &[("fs", "none"), ("codec", "none")] } else { &[] };
    let with = |preset: Option<&PresetPair>| -> Result<Overrides, Fault> {
        let mut overrides = flags::overrides(matches)?;
        common.iter().for_each(|(key, text)| overrides.flag(key, text));
        PresetKeys(preset.map_or(&[][..], std::slice::from_ref)).add_to(&mut overrides);
        Ok(overrides)
    };
    match presets {
        [] => Ok(vec![with(None)?]),
        several => several.iter().map(|preset| with(Some(preset))).collect(),
    }
}

/// A key and its text.
type PresetPair = (&'static str, &'static str);

/// The sweeps as one plan file.
fn as_toml(sweeps: &[Overrides], context: &Context) -> String {
    let all = sweeps.iter().map(|overrides| plan::to_toml(NAME, overrides, 1.0, &context.catalogue));
    let mut text = String::new();
    for toml in all {
        let from = if text.is_empty() { 0 } else { toml.find("\n[[sweep]]").unwrap_or(0) };
        text += &toml[from..];
    }
    text
}

/// One plan of several whose repeats take turns.
fn in_turns(plans: Vec<Plan>) -> Plan {
    let mut plans = plans.into_iter();
    let mut all = plans.next().expect("there is at least one sweep");
    all.trials.extend(plans.flat_map(|plan| plan.trials));
    // Stable: within a repeat the order of each sweep stays.
    all.trials.sort_by_key(|trial| trial.repeat);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweeps(arguments: &[&str]) -> Vec<Overrides> {
        let matches = clap().try_get_matches_from([&[NAME], arguments].concat()).expect("accepted");
        sweeps_of(&matches).expect("sweeps")
    }

    fn plan_of(arguments: &[&str]) -> Plan {
        let catalogue = runner::catalogue();
        let plans = sweeps(arguments);
        in_turns(plans.iter().map(|flags| plan::from_flags(NAME, flags, 1.0, &catalogue).expect("a plan")).collect())
    }

    #[test]
    fn codecs_and_file_systems_are_two_sweeps_that_take_turns_five_times() {
        let plan = plan_of(&["a", "b", "--codec", "lz4,gzip:1..3", "--fs", "btrfs:zlib:1..2"]);
        let told: Vec<String> = plan.trials.iter().filter(|trial| trial.repeat == 1).map(told).collect();
        let of = |file: &str| {
            let codecs = ["lz4", "gzip:1", "gzip:2", "gzip:3"].map(|codec| format!("{file} {codec} -"));
            let systems = ["btrfs:zlib:1", "btrfs:zlib:2"].map(|fs| format!("{file} none {fs}"));
            (codecs, systems)
        };
        let ((a, a_fs), (b, b_fs)) = (of("a"), of("b"));
        let mut expected = [&a[..], &b, &a_fs, &b_fs].concat();
        let mut sorted = told.clone();
        sorted.sort();
        expected.sort();
        assert_eq!(sorted, expected);
        assert_eq!((plan.trials.len(), plan.trials[12].repeat), (60, 2));
    }

    fn told(trial: &model::Trial) -> String {
        let fs = trial.target.fs.map_or("-".to_owned(), |fs| fs.kind.to_string());
        format!("{} {} {fs}", trial.target.params.word("file"), trial.target.params.word("codec"))
    }

    #[test]
    fn the_printed_plan_has_both_sweeps() {
        let catalogue = runner::catalogue();
        let all = sweeps(&["a", "--codec", "lz4", "--fs", "btrfs", "--repeat", "1"]);
        let text: Vec<String> = all.iter().map(|flags| plan::to_toml(NAME, flags, 1.0, &catalogue)).collect();
        assert!(text[0].contains("codec = \"lz4\"") && text[0].contains("fs = \"none\""), "{text:?}");
        assert!(text[1].contains("codec = \"none\"") && text[1].contains("fs = \"btrfs\""), "{text:?}");
    }
}
