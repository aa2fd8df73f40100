//! A run without the names of hosts, users and paths, for a report that strangers may read.
//!
//! In: recorded runs. Out: the same with each of these names replaced, consistently over all of them: `host-1`, `user-1`, `/path-1/...`.
//! The names come from what the runs hold: URLs, accounts, facts, settings and paths. Because the runs themselves are changed before they
//! are analysed, no text, picture or table that is made of them can hold such a name. Limits: a name that occurs only in prose, such as
//! that of a company in the title of a plan, is not known to be one.

mod names;
mod paths;
mod texts;

use model::{COMMAND_FACT, RunData};
use names::{Names, ReplacedNames};
use paths::Paths;
use texts::{TextPlace, visit_texts};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Names and addresses of hosts.
    pub hosts: bool,
    pub users: bool,
    /// Paths, and the serial numbers of devices.
    pub paths: bool,
}

/// Adds what a word names.
type AddRedaction = fn(&mut Redaction);

/// The words for what is replaced.
const WORDS: [(&str, AddRedaction); 3] = [
    ("hosts", |redaction| redaction.hosts = true),
    ("users", |redaction| redaction.users = true),
    ("paths", |redaction| redaction.paths = true),
];

impl Redaction {
    /// What `words` name, which commas separate.
    ///
    /// # Errors
    /// The first word that names nothing, in one line.
    pub fn parse(words: &str) -> Result<Redaction, String> {
        let mut redaction = Redaction::default();
        for word in words.split(',').map(str::trim) {
            let (_, set) = WORDS.iter().find(|(known, _)| *known == word).ok_or_else(|| unknown(word))?;
            set(&mut redaction);
        }
        Ok(redaction)
    }

    fn names(self) -> ReplacedNames {
        ReplacedNames { hosts: self.hosts, users: self.users, serials: self.paths }
    }
}

fn unknown(word: &str) -> String {
    format!(
        "`{}` is unknown: use `hosts`, `users`, `paths`, or several of them with commas between",
        word.escape_debug()
    )
}

/// Replaces the names of some runs.
pub struct Redactor {
    redaction: Redaction,
    names: Names,
    paths: Paths,
}

impl Redactor {
    /// Replaces in `runs` what `redaction` names, everywhere in the same way.
    pub fn redact(redaction: Redaction, runs: &mut [&mut RunData]) -> Redactor {
        let mut redactor = Redactor { redaction, names: Names::default(), paths: Paths::default() };
        runs.iter_mut().for_each(|run| visit_texts(run, &mut |place, text| redactor.learn(place, text)));
        redactor.paths.number();
        runs.iter_mut().for_each(|run| visit_texts(run, &mut |place, text| *text = redactor.replace(place, text)));
        redactor
    }

    /// `text`, such as the name of a run file, with the same replacements.
    pub fn text(&self, text: &str) -> String {
        self.replace(TextPlace::Other, text)
    }

    fn learn(&mut self, place: TextPlace, text: &str) {
        self.names.learn(place, text);
        if place == TextPlace::Named(COMMAND_FACT) {
            self.paths.learn_command(text);
            consents(text).for_each(|serial| self.names.add_serial(serial));
        } else {
            self.paths.learn(place, text);
        }
    }

    /// Paths first: they are known by what they hold, such as the name of a user.
    fn replace(&self, place: TextPlace, text: &str) -> String {
        let text = match (self.redaction.paths, place == TextPlace::Named(COMMAND_FACT)) {
            (false, _) => text.to_owned(),
            (true, true) => self.paths.replace_in_command(text),
            (true, false) => self.paths.replace(place, text),
        };
        self.names.replace(self.redaction.names(), place, &text)
    }
}

/// The serial numbers of a command's `--destroy DEVICE=SERIAL`.
fn consents(command: &str) -> impl Iterator<Item = &str> {
    let values = command.split("--destroy").skip(1).map(|rest| rest.trim_start_matches([' ', '=', '\'']));
    values.filter_map(|value| value.split([' ', '\'']).next()?.split_once('=').map(|(_, serial)| serial))
}

#[cfg(test)]
mod tests;
