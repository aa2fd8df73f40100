//! What every command knows: what plans may name, and the flags that all commands share.
//!
//! In: the matched arguments, the environment and the terminal. Out: a [`Context`]. Limits: it knows no command, so that a
//! command can be read without the others.

use crate::exit::Fault;
use clap::ArgMatches;
use model::Catalogue;
use std::io::IsTerminal;

/// What every command knows.
pub struct Context {
    /// What plans may name.
    pub catalogue: Catalogue,
    /// One JSON object on stdout and nothing else.
    pub json: bool,
    /// Nothing on stderr but errors.
    pub quiet: bool,
    /// Progress in lines, also on a terminal.
    pub plain: bool,
}

impl Context {
    /// The flags that all commands share.
    pub fn new(matches: &ArgMatches) -> Context {
        // `plimsoll limit oltp --json`: a flag may follow a command below a command.
        let mut levels = vec![matches];
        while let Some((_, below)) = levels[levels.len() - 1].subcommand() {
            levels.push(below);
        }
        let flag = |name| levels.iter().any(|matches| matches.get_flag(name));
        Context { catalogue: runner::catalogue(), json: flag("json"), quiet: flag("quiet"), plain: flag("plain") }
    }

    /// Whether stdout is a terminal that wants colours.
    pub fn colour(&self) -> bool {
        std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Columns of a table on stdout.
    pub fn width(&self) -> usize {
        width_of(std::io::stdout())
    }

    /// Columns of a table on stderr.
    pub fn width_of_stderr(&self) -> usize {
        width_of(std::io::stderr())
    }

    /// Whether a line on stderr can be written over: it is a terminal, and the user wants to see progress as it goes.
    pub fn has_progress_line(&self) -> bool {
        !self.quiet && !self.plain && std::io::stderr().is_terminal()
    }

    /// Refuses `--json` for `command`, which prints text for other programs.
    pub fn refuse_json(&self, command: &str) -> Result<(), Fault> {
        if self.json {
            Err(Fault::usage(format!("`plimsoll {command}` prints no JSON; leave out --json")))
        } else {
            Ok(())
        }
    }

    /// Prints a note for people, unless --quiet is given.
    pub fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            tell(format_args!("plimsoll: {text}"));
        }
    }
}

/// Prints `text` on stderr: on a terminal in lines that are broken between words, and else in one line, which other programs read.
pub fn tell(text: impl std::fmt::Display) {
    let text = text.to_string();
    if !std::io::stderr().is_terminal() {
        return crate::output::say(text);
    }
    told_lines(&text, width_of(std::io::stderr())).iter().for_each(crate::output::say);
}

/// `text` in lines of at most `width`, without what a terminal would obey.
fn told_lines(text: &str, width: usize) -> Vec<String> {
    report::wrapped(&crate::output::escaped(text), width)
}

fn width_of(output: impl std::os::fd::AsFd) -> usize {
    let columns = std::env::var("COLUMNS").ok();
    let terminal = rustix::termios::tcgetwinsize(output).ok();
    table_width(columns.as_deref(), terminal.map(|size| size.ws_col))
}

/// The variable COLUMNS if it is set, else the width of the terminal, within what a table can use; 80 if there is no terminal.
fn table_width(columns: Option<&str>, terminal: Option<u16>) -> usize {
    const NARROWEST: usize = 24;
    const USUAL: usize = 80;
    const WIDEST: usize = 200;
    let given = columns.and_then(|text| text.parse().ok());
    let terminal = terminal.filter(|columns| *columns > 0).map(usize::from);
    given.or(terminal).unwrap_or(USUAL).clamp(NARROWEST, WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_broken_between_words_and_has_no_line_breaks_of_its_own() {
        let lines = told_lines("plimsoll: the run goes\non without it", 24);
        assert_eq!(lines, ["plimsoll: the run", "goes\\non without it"]);
    }

    #[test]
    fn a_table_is_as_wide_as_the_terminal_unless_columns_is_set() {
        assert_eq!(table_width(None, Some(120)), 120);
        assert_eq!(table_width(Some("100"), Some(120)), 100);
        assert_eq!(table_width(None, None), 80);
        assert_eq!(table_width(None, Some(0)), 80, "a terminal that does not know its size");
        assert_eq!([table_width(None, Some(40)), table_width(None, Some(9))], [40, 24]);
        assert_eq!(table_width(None, Some(2000)), 200);
        assert_eq!(table_width(Some("wide"), Some(120)), 120);
    }
}
