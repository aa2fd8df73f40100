//! Findings in the order in which people want them: the gravest first, each kind once, with all the points that it concerns.
//!
//! In: an analysis. Out: [`Group`]s. Limits: nothing is left out and nothing is judged; how much of it is shown is for the
//! page to decide.

use crate::wording::label::{group_label, point_label};
use analysis::dimensions::plain_words;
use analysis::{Analysis, Finding, PointAnalysis, Severity};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Findings of one code and severity.
pub struct Group<'a> {
    /// What they do to the numbers.
    pub severity: Severity,
    /// Each with its place, in the order of the points.
    pub members: Vec<Member<'a>>,
}

/// A finding in its place.
#[derive(Clone)]
pub struct Member<'a> {
    /// Where it was made: the point's label, the sweep or workload that a finding of the run is about, or `run`.
    pub place: String,
    /// What was found, without the place.
    pub title: &'a str,
    /// The whole finding.
    pub finding: &'a Finding,
}

// Findings of one code that say this many different things are told under one heading.
const SAYINGS_MAX: usize = 3;

/// The findings of the run and of its points.
pub fn grouped(analysis: &Analysis) -> Vec<Group<'_>> {
    let mut all = members(analysis);
    all.sort_by_key(|member| kind_of(member.finding)); // stable: the points keep their order
    all.chunk_by(|one, other| kind_of(one.finding) == kind_of(other.finding)).flat_map(by_saying).collect()
}

/// Every finding in its place, those of the run first.
pub fn members(analysis: &Analysis) -> Vec<Member<'_>> {
    let of_run = analysis.findings.iter().map(|finding| of_run(analysis, finding));
    let of_points = analysis.points.iter().flat_map(|point| {
        point.findings.iter().map(|finding| Member { place: point_label(point), title: &finding.title, finding })
    });
    of_run.chain(of_points).collect()
}

/// A finding of the run begins with the sweep or workload that it is about, where it is about one.
fn of_run<'a>(analysis: &'a Analysis, finding: &'a Finding) -> Member<'a> {
    let names = |point: &PointAnalysis| {
        [
            (plain_words(&point.label.group), group_label(point)),
            (point.target.clone(), point.target.clone()),
            (point.workload.clone(), point.workload.clone()),
        ]
    };
    let begun = analysis
        .points
        .iter()
        .flat_map(names)
        .filter_map(|(begin, name)| Some((name, finding.title.strip_prefix(&begin)?.strip_prefix(": ")?)));
    let named = begun.max_by_key(|(name, _)| name.len());
    let (place, title) = named.unwrap_or_else(|| ("run".to_owned(), &finding.title));
    Member { place, title, finding }
}

/// Findings of one kind, apart where they say different things and those are few.
fn by_saying<'a>(members: &[Member<'a>]) -> Vec<Group<'a>> {
    let mut sayings: Vec<Vec<String>> = Vec::new();
    for words in members.iter().map(|member| Saying::of(member.title).words) {
        if !sayings.contains(&words) {
            sayings.push(words);
        }
    }
    let group = |members: Vec<Member<'a>>| Group { severity: members_severity(&members), members };
    if sayings.len() > SAYINGS_MAX {
        return vec![group(members.to_vec())];
    }
    let says = |words: &Vec<String>| members.iter().filter(|m| Saying::of(m.title).words == *words).cloned().collect();
    sayings.iter().map(|words| group(says(words))).collect()
}

fn members_severity(members: &[Member]) -> Severity {
    members.iter().map(|member| member.finding.severity).max().unwrap_or(Severity::Note)
}

fn kind_of(finding: &Finding) -> (Reverse<Severity>, &str) {
    (Reverse(finding.severity), &finding.code)
}

impl Group<'_> {
    /// The code that all have in common.
    pub fn code(&self) -> &str {
        &self.members[0].finding.code
    }

    /// What all have in common, for a heading: what they say, with ranges for numbers that differ; or what findings of this
    /// code say in general.
    pub fn heading(&self) -> String {
        let first = &self.members[0];
        let sayings: Vec<Saying> = self.members.iter().map(|member| Saying::of(member.title)).collect();
        match sayings.iter().all(|saying| saying.words == sayings[0].words) {
            true => ranged(&sayings),
            false => analysis::explain(&first.finding.code).map_or(first.title, |known| known.help).to_owned(),
        }
    }

    /// What to do next, where all say the same.
    pub fn next_step(&self) -> Option<&str> {
        let steps: BTreeSet<&str> = self.members.iter().map(|member| member.finding.next_step.as_str()).collect();
        steps.first().filter(|step| steps.len() == 1 && !step.is_empty()).copied()
    }
}

/// A sentence taken apart: the words between its numbers, and the numbers as they were written.
struct Saying {
    /// One more than there are numbers.
    words: Vec<String>,
    numbers: Vec<String>,
}

impl Saying {
    /// A number begins a word: `p99` and `x2` are words.
    fn of(text: &str) -> Saying {
        let (mut words, mut numbers) = (vec![String::new()], Vec::new());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let word = words.last_mut().expect("there is a last one");
            let begins = word.chars().last().is_none_or(|before| before == ' ' || before == '(');
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let number = rest[..digits].trim_end_matches('.');
            if begins && number.starts_with(|c: char| c.is_ascii_digit()) {
                numbers.push(number.to_owned());
                words.push(String::new());
                rest = &rest[number.len()..];
            } else {
                word.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        Saying { words, numbers }
    }
}

/// The sentence that all of `sayings` have in common, with `2 to 5` where a number differs.
fn ranged(sayings: &[Saying]) -> String {
    let first = &sayings[0];
    let number = |nth: usize| {
        let value = |saying: &&Saying| saying.numbers[nth].parse::<f64>().unwrap_or(0.0);
        let by_value = |a: &&Saying, b: &&Saying| value(a).total_cmp(&value(b));
        let (least, most) = (sayings.iter().min_by(by_value), sayings.iter().max_by(by_value));
        let [low, high] = [least, most].map(|saying| saying.map_or("", |saying| saying.numbers[nth].as_str()));
        if low == high { low.to_owned() } else { format!("{low} to {high}") }
    };
    let mut text = first.words[0].clone();
    (0..first.numbers.len()).for_each(|nth| text += &(number(nth) + &first.words[nth + 1]));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::quick;

    /// The quick run with these findings at its first points, all of one code.
    fn with_titles(titles: &[&str]) -> Analysis {
        let mut analysis = quick();
        analysis.findings.clear();
        analysis.points.iter_mut().for_each(|point| point.findings.clear());
        for (point, title) in analysis.points.iter_mut().zip(titles) {
            let (code, title) = ("too-short".to_owned(), (*title).to_owned());
            let next_step = format!("do {}", title.len() % 2);
            point.findings =
                vec![Finding { code, severity: Severity::Warning, title, evidence: String::new(), next_step }];
        }
        analysis
    }

    fn headings(titles: &[&str]) -> Vec<String> {
        grouped(&with_titles(titles)).iter().map(Group::heading).collect()
    }

    #[test]
    fn every_finding_is_in_one_group_and_the_gravest_stand_first() {
        let analysis = quick();
        let groups = grouped(&analysis);
        let all: usize = analysis.findings.len() + analysis.points.iter().map(|p| p.findings.len()).sum::<usize>();
        assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), all);
        assert!(groups.is_sorted_by_key(|group| Reverse(group.severity)));
        assert!(groups.iter().all(|group| group.members.iter().all(|member| member.finding.code == group.code())));
    }

    #[test]
    fn numbers_that_differ_are_a_range_and_those_in_words_are_not() {
        assert_eq!(headings(&["too short: 1.44 s", "too short: 0.42 s"]), ["too short: 0.42 to 1.44 s"]);
        assert_eq!(headings(&["too short: 1.44 s"]), ["too short: 1.44 s"]);
        assert_eq!(headings(&["few above p99.", "few above p95."]), ["few above p99.", "few above p95."]);
        assert_eq!(headings(&["9 of 10 (3 s)", "12 of 10 (3 s)"]), ["9 to 12 of 10 (3 s)"]);
    }

    #[test]
    fn findings_that_say_many_things_are_told_by_what_their_code_means() {
        let help = analysis::explain("too-short").unwrap().help;
        assert_eq!(headings(&["one", "two", "three", "four"]), [help]);
        assert_eq!(headings(&["one", "two", "one"]), ["one", "two"]);
    }

    #[test]
    fn the_next_step_is_told_where_it_is_the_same_for_all() {
        let step = |titles: &[&str]| grouped(&with_titles(titles))[0].next_step().map(str::to_owned);
        assert_eq!(step(&["takes 1 s", "takes 2 s"]), Some("do 1".to_owned()));
        assert_eq!(step(&["takes 1 s", "takes 20 s"]), None);
    }

    #[test]
    fn a_finding_about_a_sweep_has_the_sweep_for_its_subject() {
        let mut analysis = quick();
        let mut finding = analysis.points.iter().find_map(|p| p.findings.first()).unwrap().clone();
        finding.title = "file rndrd: still rising".to_owned();
        analysis.findings = vec![finding.clone(), Finding { title: "something else".into(), ..finding }];
        let found = members(&analysis);
        assert_eq!((found[0].place.as_str(), found[0].title), ("file rndrd", "still rising"));
        assert_eq!((found[1].place.as_str(), found[1].title), ("run", "something else"));
    }
}
