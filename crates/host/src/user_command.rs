//! A command of the user's, which is run to its end without a shell.
//!
//! In: its words. Out: how long it took, or what it said last. Limits: words are split at blanks, and quotes keep blanks together; nothing is
//! replaced in them. What a command has started goes on after it, so that it may start a server; if it is ended, all that it has started is.

use crate::deadline::{end_child, end_group, has_ended, poll_until_interrupted};
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A large copy takes hours.
const ENDS_WITHIN: Duration = Duration::from_secs(24 * 3_600);
/// What is kept of what it prints.
const KEPT_BYTES: usize = 4 << 10;
const SHOWN_CHARS: usize = 200;
/// How often the pipe is read before whoever waits looks at the time.
const READS_AT_ONCE: usize = 64;

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCommand {
    text: String,
    words: Vec<String>,
}

impl UserCommand {
    /// The command that `text` is.
    ///
    /// # Errors
    /// What is wrong with it, in a few words.
    pub fn parse(text: &str) -> Result<UserCommand, &'static str> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in text.chars() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('\'' | '"', None) => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (c, None) if c.is_whitespace() => words.extend(word.take()),
                (c, _) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        match (quote, words.first()) {
            (Some(_), _) => Err("close the quote"),
            (None, None) => Err("name a program, such as `/usr/local/bin/restore`"),
            (None, Some(_)) => Ok(UserCommand { text: text.to_owned(), words }),
        }
    }

    /// It as the user wrote it: [`UserCommand::parse`] reads it again. It is recorded with the command line, and the command that resumes a run
    /// has it, too.
    pub fn as_written(&self) -> &str {
        &self.text
    }

    /// Its program, by which messages and facts about the command name it: arguments only make them long.
    pub fn program(&self) -> &str {
        &self.words[0]
    }

    /// Runs it to its end, with the variable `name` set to `value`.
    ///
    /// # Errors
    /// Why it failed: how it ended, and the last line that it printed.
    pub fn run_with(&self, name: &str, value: &str) -> Result<Duration, String> {
        self.run_within(ENDS_WITHIN, (name, value))
    }

    fn run_within(&self, allowed: Duration, variable: (&str, &str)) -> Result<Duration, String> {
        let began = Instant::now();
        let (status, last) = self.outcome(allowed, variable).map_err(|error| match error.kind() {
            ErrorKind::NotFound => "there is no such program".to_owned(),
            _ => model::system_words(&error),
        })?;
        let said = if last.is_empty() { String::new() } else { format!(": {last}") };
        match status {
            None => Err(format!("it did not end within {} s{said}", allowed.as_secs_f64())),
            Some(status) if status.success() => Ok(began.elapsed()),
            Some(status) => Err(format!("it ended with {status}{said}")),
        }
    }

    /// How it ended, and its last line; no status if it was ended.
    fn outcome(&self, allowed: Duration, (name, value): (&str, &str)) -> io::Result<(Option<ExitStatus>, String)> {
        let (mut reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).env(name, value).stdin(Stdio::null()).process_group(0);
        let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
        let mut printed = Vec::new();
        let ended = poll_until_interrupted(allowed, || {
            take_printed(&mut reader, &mut printed);
            has_ended(&child).then_some(())
        });
        let status = match ended {
            // What it has started goes on.
            Some(()) => end_child(&mut child),
            None => {
                end_group(&mut child);
                None
            }
        };
        take_printed(&mut reader, &mut printed);
        Ok((status, last_line(&printed)))
    }
}

/// Takes what is in the pipe, so that the program does not wait for room in it.
fn take_printed(reader: &mut PipeReader, printed: &mut Vec<u8>) {
    let mut bytes = [0; KEPT_BYTES];
    // Not for ever: whoever waits looks at the time in between.
    for _ in 0..READS_AT_ONCE {
        let Ok(read @ 1..) = reader.read(&mut bytes) else { return };
        printed.extend_from_slice(&bytes[..read]);
        printed.drain(..printed.len().saturating_sub(KEPT_BYTES));
    }
}

/// The last line with a word in it, as a message shows it.
fn last_line(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<String>, &'static str> {
        UserCommand::parse(text).map(|command| command.words)
    }

    #[test]
    fn words_are_split_at_blanks_outside_of_quotes() {
        assert_eq!(words(" rsync -a  '/a b/' \"it's\" x''y ''").unwrap(), ["rsync", "-a", "/a b/", "it's", "xy", ""]);
        assert_eq!(words("a $HOME;b|c").unwrap(), ["a", "$HOME;b|c"], "there is no shell");
        assert_eq!((words("a 'b"), words(" ").is_err()), (Err("close the quote"), true));
    }

    fn run(script: &str) -> Result<Duration, String> {
        let words = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let command = UserCommand { text: script.to_owned(), words };
        command.run_with("PLACE", "copy 1")
    }

    #[test]
    fn what_fails_is_told_with_its_last_line() {
        assert!(run("test \"$PLACE\" = 'copy 1'").is_ok());
        assert_eq!(run("echo one; echo two >&2; echo; exit 3").unwrap_err(), "it ended with exit status: 3: two");
        assert_eq!(run("exit 1").unwrap_err(), "it ended with exit status: 1");
        let missing = UserCommand::parse("/nowhere/restore").unwrap().run_with("A", "b");
        assert_eq!(missing.unwrap_err(), "there is no such program");
    }

    #[test]
    fn a_program_may_print_more_than_a_pipe_holds() {
        let printed = run("yes line | head -n 50000; echo last; exit 1").unwrap_err();
        assert_eq!(printed, "it ended with exit status: 1: last");
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let command = UserCommand::parse("sleep 600").unwrap();
        let late = command.run_within(Duration::from_millis(50), ("A", "b")).unwrap_err();
        assert!(late.contains("0.05 s"), "{late}");
    }
}
