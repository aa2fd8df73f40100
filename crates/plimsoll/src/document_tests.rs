//! The commands in the documents are commands of this plimsoll: each one is parsed, and its plan is made, but nothing is run.
//!
//! In: the code blocks of README.md and of the pages below `docs/guide` and `docs/experiments`. Out: nothing. Limits: lines of shell
//! programs that use variables or the output of programs are left out; so is whether a file, a server or a program is there.

use crate::cli;
use crate::commands::plans::{self, PLANS};
use crate::commands::workload::plan_of;
use crate::context::Context;
use crate::exit::Fault;
use crate::flags;
use clap::ArgMatches;
use clap::error::ErrorKind;
use std::path::{Path, PathBuf};

/// A command in a document, without the word `plimsoll`.
struct DocumentedCommand {
    /// The file and the line.
    place: String,
    words: Vec<String>,
}

#[test]
fn every_command_in_the_documents_is_one_of_plimsoll_and_its_plan_is_right() {
    let commands: Vec<DocumentedCommand> = documents().iter().flat_map(|file| commands_in(file)).collect();
    assert!(commands.len() > 80, "only {} commands were found", commands.len());
    let faults: Vec<String> = commands.iter().filter_map(fault_of).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// README.md, the guides and the experiments.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = ["docs/guide", "docs/experiments"].map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let pages = pages.into_iter().flatten().map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|own| own == "md");
    pages.filter(is_page).chain([root.join("README.md")]).collect()
}

fn commands_in(file: &Path) -> Vec<DocumentedCommand> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut in_block = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block && !line.contains("${") && !line.contains("$(") {
            let place = format!("{}:{number}", file.file_name().unwrap().display());
            found.extend(command_of(line).map(|words| DocumentedCommand { place, words }));
        }
    }
    found
}

/// The words behind `plimsoll` if the line is a command, maybe with variables before it.
fn command_of(line: &str) -> Option<Vec<String>> {
    let words = shell_words(line);
    let is_variable = |word: &&String| word.starts_with("PLIMSOLL_") && word.contains('=');
    let variables = words.iter().take_while(is_variable).count();
    let (program, rest) = words[variables..].split_first()?;
    (program == "plimsoll").then(|| rest.to_vec())
}

/// The words of a line as a shell splits it, up to a comment, a pipe, a redirection or the end of the command.
fn shell_words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '|' | '>' | ';' | '&') => break,
            (None, '#') if word.is_none() => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// What is wrong with the command, with its place.
fn fault_of(command: &DocumentedCommand) -> Option<String> {
    let words = std::iter::once("plimsoll")
        .chain(command.words.iter().map(String::as_str))
        .chain(bus_of(&command.words).iter().copied());
    let why = match cli::command().try_get_matches_from(words) {
        Err(error) if error.kind() == ErrorKind::DisplayVersion => return None,
        Err(error) => error.to_string(),
        Ok(matches) => make_plan(&matches).err().map(|fault| fault.text).filter(|why| !is_about_a_missing_file(why))?,
    };
    Some(format!("{}: plimsoll {}: {why}", command.place, command.words.join(" ")))
}

/// The bus of a command that takes it from `PLIMSOLL_BUS`, which a line before has set.
fn bus_of(words: &[String]) -> &'static [&'static str] {
    let has = |flag: &str| words.iter().any(|word| word == flag);
    if has("--bus-key-file") && !has("--bus") { &["--bus", "redis://bus/"] } else { &[] }
}

fn is_about_a_missing_file(why: &str) -> bool {
    why.contains("cannot read the configuration file") || why.ends_with("No such file or directory")
}

/// Makes the plan of a command that has one.
fn make_plan(matches: &ArgMatches) -> Result<(), Fault> {
    let context = Context::new(matches);
    let (name, matches) = matches.subcommand().expect("clap requires a command");
    let plan = matches.try_get_one::<String>("plan").ok().flatten();
    let built_in = plan.filter(|plan| PLANS.iter().any(|(name, _)| name == plan));
    let workload = workload::WORKLOADS.iter().find(|def| def.entry.name == name);
    match (built_in, workload) {
        (Some(plan), _) => plans::load(plan, &flags::overrides(matches)?, flags::scale(matches)?, &context).map(drop),
        // Those with arguments of their own make more of them than a plan.
        (None, Some(def)) if !["sql", "compress"].contains(&name) => {
            let given = flags::overrides(matches)?;
            Ok(plan_of(def, &given, flags::scale(matches)?, &context.catalogue).map(drop)?)
        }
        _ => Ok(()),
    }
}

#[test]
fn a_wrong_flag_a_wrong_value_and_an_unknown_command_are_found() {
    let faulty = |line: &str| {
        let words = command_of(line).expect("it is a command");
        fault_of(&DocumentedCommand { place: "a.md:1".into(), words }).is_some()
    };
    let right = "plimsoll run quick --scale 0.1   # a comment";
    assert!(!faulty(right));
    assert!(!faulty("PLIMSOLL_PASSWORD=... plimsoll limit file --slo 'p99<10ms' > out"));
    for line in
        ["plimsoll fly", "plimsoll file --mod rndrd", "plimsoll file --mode sideways", "plimsoll run quick --set x=1"]
    {
        assert!(faulty(line), "{line}");
    }
    assert_eq!(command_of("docker run plimsoll"), None);
    assert_eq!(command_of("plimsoll a 'b c' \"\" d#e | f").unwrap(), ["a", "b c", "", "d#e"]);
}
