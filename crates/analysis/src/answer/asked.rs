//! A run as its question sees it: what is compared, over what, and its points with their repeats taken together.

use crate::math::ratio::PAIRS_MIN;
use crate::points::sweep::is_comparable;
use crate::recorded::dimensions::ENGINE;
use crate::{Analysis, PointAnalysis, Role, Setting};
use model::COMMAND_FACT;

/// `question` with the product that `phrase` names, `the MySQL server (MariaDB)`; `None` if it names none, or the question no such server.
fn with_product(question: &str, phrase: &str) -> Option<String> {
    let (reached, product) = phrase.strip_suffix(')')?.split_once(" (")?;
    let protocol = reached.strip_prefix("the ")?.strip_suffix(" server")?;
    let [reached, found] = [protocol, product].map(|name| format!("he {name} server"));
    // With a small and with a capital letter.
    question.contains(&reached).then(|| question.replace(&reached, &found))
}

/// A run and its question.
pub struct AskedRun<'a> {
    /// Each point by itself.
    pub analysis: &'a Analysis,
    /// The same with the repeats of each point taken together.
    pub rows: &'a Analysis,
}

impl<'a> AskedRun<'a> {
    /// The question that the plan states.
    pub fn stated_question(&self) -> Option<&str> {
        self.analysis.meta.plan.asked.question.as_deref()
    }

    /// What names the run in a command. Whoever reads the answer later may have run another meanwhile, which is then the last one.
    pub fn name_to_type(&self) -> String {
        let name = &self.analysis.meta.run_id;
        let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if is_word { name.clone() } else { format!("'{}'", name.replace('\'', r"'\''")) }
    }

    /// The same, in which a server is called what it has turned out to be: the plan knows only how it is reached.
    pub fn told_question(&self) -> Option<String> {
        let question = self.stated_question()?;
        let mut phrases = self.analysis.points.iter().filter_map(|point| point.settings.get(ENGINE)?.phrase.as_deref());
        Some(phrases.find_map(|phrase| with_product(question, phrase)).unwrap_or_else(|| question.to_owned()))
    }

    /// Whether the plan asks what limits the work, and not how much it is.
    pub fn asks_what_limits(&self) -> bool {
        let begins = |question: &str| {
            ["Which is full", "What is full", "What limits"].iter().any(|words| question.starts_with(words))
        };
        self.stated_question().is_some_and(begins)
    }

    /// The name of the setting that the plan compares: what it states, or the two values of an A/B run.
    pub fn stated_comparison(&self) -> Option<&str> {
        let plan = &self.analysis.meta.plan;
        plan.asked.compare.as_deref().or(plan.ab.as_deref())
    }

    /// The name of the setting along which the plan looks at the comparison.
    pub fn stated_axis(&self) -> Option<&str> {
        self.analysis.meta.plan.asked.over.as_deref()
    }

    /// Whether the plan asks how its points go along an axis, and compares nothing.
    pub fn asks_along_axis_only(&self) -> bool {
        self.stated_question().is_some() && self.stated_axis().is_some() && self.stated_comparison().is_none()
    }

    /// Whether the plan has the repeats that a comparison needs. If pairs are missing all the same, points could not be used.
    pub fn has_enough_repeats(&self) -> bool {
        self.analysis.meta.plan.trials.iter().any(|trial| trial.repeat as usize >= PAIRS_MIN)
    }

    /// Whether the command that measured it has `--quick-look`, which has no repeats.
    pub fn is_quick_look(&self) -> bool {
        let command = self.analysis.meta.fact(COMMAND_FACT);
        command.is_some_and(|command| format!("{command} ").contains(" --quick-look "))
    }

    /// The point that the figures of `row` are of; `None` if they are of several repeats.
    pub fn point_of(&self, row: &PointAnalysis) -> Option<u32> {
        let is_repeat =
            |point: &&PointAnalysis| (point.group, point.clients, point.depth) == (row.group, row.clients, row.depth);
        let mut repeats = self.analysis.points.iter().filter(is_repeat);
        repeats.next().filter(|_| repeats.next().is_none()).map(|only| only.id)
    }

    /// Those of `label` that a person would say: a workload that all points have goes without saying.
    pub fn said<'l>(&self, label: impl IntoIterator<Item = &'l Setting>) -> Vec<&'l Setting> {
        let trials = &self.analysis.meta.plan.trials;
        let varies = trials.iter().any(|trial| trial.workload.name != trials[0].workload.name);
        label.into_iter().filter(|setting| varies || setting.role != Role::Workload).collect()
    }

    /// The rows that claims may be made of. A step that writes what others put off completes their costs, and is no work that is asked about.
    pub fn usable(&self) -> impl Iterator<Item = &PointAnalysis> {
        let comparable = || self.rows.points.iter().filter(|point| is_comparable(point));
        let has_work = comparable().any(|point| !point.is_drain());
        comparable().filter(move |point| !has_work || !point.is_drain())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    #[test]
    fn the_name_of_a_run_is_one_word_of_a_command() {
        let named = |name: &str| {
            let mut analysis = Simulation::counts(&[1; 10]).analysis();
            analysis.meta.run_id = name.to_owned();
            AskedRun { analysis: &analysis, rows: &analysis }.name_to_type()
        };
        assert_eq!([named("20261201-quick"), named("it's"), named("")], ["20261201-quick", r"'it'\''s'", "''"]);
    }

    #[test]
    fn a_question_calls_a_server_what_it_has_turned_out_to_be() {
        let told = |question: &str| with_product(question, "the MySQL server (MariaDB)");
        let both = told("The MySQL server or the PostgreSQL server?");
        assert_eq!(both.as_deref(), Some("The MariaDB server or the PostgreSQL server?"));
        let alone = told("How many transactions does the MySQL server carry?");
        assert_eq!(alone.as_deref(), Some("How many transactions does the MariaDB server carry?"));
        assert_eq!(told("Is it fast?"), None);
        assert_eq!(with_product("The MySQL server or SQLite?", "the MySQL server"), None);
    }
}
