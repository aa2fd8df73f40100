//! Answers the spellings of sysbench, fio and pgbench: our word, and the whole command line with our words.
//!
//! In: the words of a command line that was refused. Out: advice. Limits: a command line is offered only if clap takes it. Values are
//! checked later, with the plan. A flag that both have with different meanings is ours: nothing is refused that plimsoll takes.

mod spellings;

use crate::output::shell_word;
use spellings::{COMMANDS, FLAGS, Ours, STEPS_OF_SYSBENCH, Spelling};

/// What to type in place of `refused`, a flag or command of another program, and of the command line `arguments`. `None` if it is a
/// spelling of none.
pub fn advice(refused: &str, arguments: &[String]) -> Option<String> {
    let name = refused.split('=').next().unwrap_or_default();
    let spelling = find(COMMANDS, name).or_else(|| find(FLAGS, name))?;
    let ours = our_arguments(arguments);
    let is_taken = crate::cli::command().try_get_matches_from(&ours).is_ok();
    let try_this = if is_taken { format!(": {}", shell_line(&ours)) } else { String::new() };
    Some(format!("; {}{try_this}", meaning(spelling, name)))
}

fn find(spellings: &'static [Spelling], name: &str) -> Option<&'static Spelling> {
    spellings.iter().find(|spelling| spelling.theirs.contains(&name))
}

/// What `name`, one of the spellings, is here.
fn meaning(spelling: &Spelling, name: &str) -> String {
    let tool = spelling.tool.name();
    let (whose, is_tool) = (format!("`{name}` of {tool}"), name == tool);
    match spelling.ours {
        Ours::Words(words) if is_tool => format!("the command for what {tool} does is `{}`", words[0]),
        Ours::Value([], renames) => format!("{whose} is `{}` here", renames[0].1),
        Ours::Words(words) | Ours::Value(words, _) => format!("{whose} is `{}` here", words.join(" ")),
        Ours::Percent(flag) => format!("{whose} is `{flag}` here, a share of 1"),
        Ours::Nothing(why) | Ours::NothingAlone(why) => format!("leave out {whose}, because {why}"),
    }
}

/// `arguments` with our words in place of theirs.
fn our_arguments(arguments: &[String]) -> Vec<String> {
    let mut theirs = arguments.iter().skip(1).map(String::as_str).peekable();
    let mut command: Vec<String> = Vec::new();
    let mut flags: Vec<String> = Vec::new();
    while let Some(word) = theirs.next() {
        let (name, joined) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if let Some(value) = flags.last().and_then(|before| our_value(before, word)) {
            flags.push(value.to_owned());
        } else if let Some(Spelling { ours: Ours::Words(words), .. }) = find(COMMANDS, word) {
            command = merge_command(&command, words);
        } else if let Some(spelling) = find(FLAGS, name) {
            let next = || theirs.next_if(|next| !next.starts_with('-')).map(str::to_owned);
            let takes_value = matches!(spelling.ours, Ours::Value(..) | Ours::Percent(_) | Ours::Nothing(_));
            let value = joined.map(str::to_owned).or_else(|| takes_value.then(next).flatten());
            flags.extend(our_flag(spelling, value));
        } else if !STEPS_OF_SYSBENCH.contains(&word) || command.is_empty() {
            let to = if command.is_empty() && !word.starts_with('-') { &mut command } else { &mut flags };
            to.push(word.to_owned());
        }
    }
    [vec!["plimsoll".to_owned()], command, flags].concat()
}

/// The command that `words` is. `sysbench fileio` and `fio randread` name theirs twice: the later is the more exact.
fn merge_command(before: &[String], words: &[&str]) -> Vec<String> {
    let words = words.iter().map(|word| (*word).to_owned());
    let is_same =
        before.first().map(String::as_str).is_some_and(|first| words.clone().next().as_deref() == Some(first));
    if is_same { before.iter().cloned().chain(words.skip(1)).collect() } else { words.collect() }
}

/// Our words for a flag with `value`.
fn our_flag(spelling: &Spelling, value: Option<String>) -> Vec<String> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    match spelling.ours {
        Ours::Words(words) => owned(words),
        Ours::Value(words, renames) => {
            owned(words).into_iter().chain(value.map(|value| rename(renames, value))).collect()
        }
        Ours::Percent(flag) => owned(&[flag]).into_iter().chain(value.map(|value| share(&value))).collect(),
        Ours::Nothing(_) | Ours::NothingAlone(_) => Vec::new(),
    }
}

fn rename(renames: spellings::Renames, value: String) -> String {
    let found = renames.iter().find(|(theirs, _)| *theirs == value);
    found.map_or(value, |(_, ours)| (*ours).to_owned())
}

fn share(percent: &str) -> String {
    percent.parse::<f64>().map_or_else(|_| percent.to_owned(), |percent| (percent / 100.0).to_string())
}

/// `refusal`, and the command line `arguments` with our words for the values that it quotes and that another program spells so.
pub fn with_our_values(refusal: String, arguments: &[String]) -> String {
    let ours = |flag: &str, values: &str| -> Option<String> {
        let one = |value: &str| our_value(flag, value).filter(|_| refusal.contains(&format!("`{value}`")));
        let all = values.split(',').map(|value| one(value).unwrap_or(value)).collect::<Vec<_>>().join(",");
        (all != values).then_some(all)
    };
    let mut line: Vec<String> = vec!["plimsoll".to_owned()];
    for word in arguments.iter().skip(1) {
        let before = line.last().map(String::as_str).unwrap_or_default();
        let joined = word.split_once('=').and_then(|(flag, value)| Some(format!("{flag}={}", ours(flag, value)?)));
        let word = joined.or_else(|| ours(before, word)).unwrap_or_else(|| word.clone());
        line.push(word);
    }
    let is_same = line.iter().skip(1).eq(arguments.iter().skip(1));
    if is_same || crate::cli::command().try_get_matches_from(&line).is_err() {
        return refusal;
    }
    let end = if refusal.ends_with('?') { "" } else { ";" };
    format!("{refusal}{end} try: {}", shell_line(&line))
}

/// Our word for a `value` of our flag that another program spells differently.
fn our_value(flag: &str, value: &str) -> Option<&'static str> {
    let renamed = FLAGS.iter().filter_map(|spelling| match spelling.ours {
        Ours::Value([only], renames) if *only == flag => renames.iter().find(|(theirs, _)| *theirs == value),
        _ => None,
    });
    let of_command = COMMANDS.iter().filter(|spelling| spelling.theirs.contains(&value));
    let of_command = of_command.filter_map(|spelling| match spelling.ours {
        Ours::Words([.., own, word]) if *own == flag => Some(*word),
        _ => None,
    });
    renamed.map(|(_, ours)| *ours).chain(of_command).next()
}

/// The words as they are typed in a shell.
fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn whole_command_lines_of_other_programs_become_ours() {
        for (theirs, ours) in [
            (
                "plimsoll sysbench oltp_read_write --threads=8 --time=60 --table-size=1000000 --tables=4 run",
                "plimsoll oltp --mix read_write --clients 8 --time=60 --table-rows 1000000 --tables=4",
            ),
            (
                "plimsoll fio --name=x --rw=randread --bs=4k --iodepth=32 --ioengine=libaio --size=1G --runtime=30 --time_based",
                "plimsoll file --mode rndrd --block 4k --depth 32 --io aio --file-size 1G --time 30",
            ),
            ("plimsoll randrw --rwmixread 70 --direct=0", "plimsoll file --mode rndrw --read-share 0.7 --direct false"),
            (
                "plimsoll pgbench -c 8 -j 2 -T 60 -S -M prepared",
                "plimsoll oltp --engine postgres --clients 8 --threads 2 --time 60 --mix point_select --statements prepared",
            ),
            (
                "plimsoll fileio --file-test-mode=rndwr --file-fsync-freq=10 run",
                "plimsoll file --mode rndwr --fsync fsync --fsync-every 10",
            ),
            ("plimsoll run last.toml --threads 2", "plimsoll run last.toml --clients 2"),
            ("plimsoll ycsb --workload workloada --duration 9", "plimsoll kv --mix a --time 9"),
            ("plimsoll tpcc --seconds 9", "plimsoll orders --time 9"),
            ("plimsoll oltp prepare --skip-trx", "plimsoll oltp --transaction false"),
        ] {
            assert_eq!(our_arguments(&words(theirs)), words(ours));
        }
    }

    #[test]
    fn each_spelling_is_answered_with_a_word_that_some_command_takes() {
        let mut all = crate::cli::command();
        all.build();
        let commands: Vec<&clap::Command> = all.get_subcommands().collect();
        let takes =
            |flag: &str| commands.iter().any(|command| command.get_arguments().any(|arg| arg.get_long() == Some(flag)));
        for spelling in FLAGS {
            let ours = our_flag(spelling, Some("1".to_owned()));
            for flag in ours.iter().filter_map(|word| word.strip_prefix("--")) {
                assert!(takes(flag), "{:?}: no command takes --{flag}", spelling.theirs);
            }
        }
        for spelling in COMMANDS {
            let Ours::Words(ours) = spelling.ours else { panic!("{:?} is no command", spelling.theirs) };
            let line = [&["plimsoll"], ours].concat();
            assert!(crate::cli::command().try_get_matches_from(line).is_ok(), "{:?}", spelling.theirs);
        }
    }

    #[test]
    fn no_flag_of_another_program_hides_one_of_ours_with_the_same_value() {
        // `--direct` and `--threads` are both; the command line is read by plimsoll first, and only refused words come here.
        let both: Vec<&str> = FLAGS
            .iter()
            .flat_map(|spelling| spelling.theirs)
            .copied()
            .filter(|flag| crate::cli::command().try_get_matches_from(["plimsoll", "file", flag, "true"]).is_ok())
            .collect();
        assert_eq!(both, ["--direct"]);
    }

    #[test]
    fn what_has_no_meaning_here_is_left_out_with_the_reason() {
        let told = advice("--percentile", &words("plimsoll oltp --percentile 99 --tables 2")).expect("sysbench has it");
        assert_eq!(
            told,
            "; leave out `--percentile` of sysbench, because all percentiles are recorded: plimsoll oltp --tables 2"
        );
        assert_eq!(advice("--clientz", &words("plimsoll oltp --clientz 99")), None);
    }

    #[test]
    fn a_value_of_another_program_is_answered_with_the_line_in_our_words() {
        let refused = |refusal: &str, line: &str| with_our_values(refusal.to_owned(), &words(line));
        let mode = "--mode cannot be `randread`; did you mean `rndrd`?";
        assert_eq!(
            refused(mode, "plimsoll file --mode randread,rndwr --io=sync"),
            format!("{mode} try: plimsoll file --mode rndrd,rndwr --io=sync")
        );
        let io = refused("--io cannot be `libaio`; use one of", "plimsoll file --io=libaio");
        assert!(io.ends_with("; try: plimsoll file --io=aio"), "{io}");
        let mix = refused("`oltp_read_write`", "plimsoll oltp --mix oltp_read_write");
        assert!(mix.ends_with("try: plimsoll oltp --mix read_write"), "{mix}");
        // What the refusal is not about stays: `mysql` is an engine here, too.
        let other = refused("--mix cannot be `x`", "plimsoll oltp --engine mysql --mix x");
        assert_eq!(other, "--mix cannot be `x`");
    }

    #[test]
    fn a_line_that_plimsoll_would_refuse_is_not_offered() {
        let told = advice("--bs", &words("plimsoll file --bs 4k --wrong 1")).expect("fio has it");
        assert_eq!(told, "; `--bs` of fio is `--block` here");
        let shell = advice("--directory", &words("plimsoll file --directory /a;b")).expect("fio has it");
        assert!(shell.ends_with("plimsoll file --dir '/a;b'"), "{shell}");
    }
}
