//! Findings in the order in which people want them: the gravest first, each kind once, with all the points that it concerns.
//!
//! In: an analysis. Out: [`Group`]s. Limits: nothing is left out and nothing is judged; how much of it is shown is for the
//! page to decide.

use analysis::{Analysis, Finding, Severity};
use std::cmp::Reverse;

/// All findings of one code and severity.
pub struct Group<'a> {
    /// What they do to the numbers.
    pub severity: Severity,
    /// Where each was made, in the order of the points: `run`, or the point's label.
    pub members: Vec<(&'a str, &'a Finding)>,
}

/// The findings of the run and of its points.
pub fn grouped(analysis: &Analysis) -> Vec<Group<'_>> {
    let of_run = analysis.findings.iter().map(|finding| ("run", finding));
    let of_points = analysis.points.iter().flat_map(|p| p.findings.iter().map(|finding| (p.label.as_str(), finding)));
    let mut all: Vec<(&str, &Finding)> = of_run.chain(of_points).collect();
    all.sort_by_key(|(_, finding)| kind_of(finding)); // stable: the points keep their order
    let groups = all.chunk_by(|(_, one), (_, other)| kind_of(one) == kind_of(other));
    groups.map(|members| Group { severity: members[0].1.severity, members: members.to_vec() }).collect()
}

fn kind_of(finding: &Finding) -> (Reverse<Severity>, &str) {
    (Reverse(finding.severity), &finding.code)
}

impl Group<'_> {
    /// The code that all have in common.
    pub fn code(&self) -> &str {
        &self.members[0].1.code
    }

    /// What all have in common, for a heading: the title of the only one, or what findings of this code say.
    pub fn heading(&self) -> &str {
        match self.members.as_slice() {
            [(_, only)] => &only.title,
            [(_, first), ..] => analysis::explain(&first.code).map_or(&first.title, |known| known.help),
            [] => "",
        }
    }

    /// What to do next, where all say the same; the first advice otherwise.
    pub fn next_step(&self) -> &str {
        &self.members[0].1.next_step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::quick;

    #[test]
    fn every_finding_is_in_one_group_and_the_gravest_stand_first() {
        let analysis = quick();
        let groups = grouped(&analysis);
        let all: usize = analysis.findings.len() + analysis.points.iter().map(|p| p.findings.len()).sum::<usize>();
        assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), all);
        assert!(groups.is_sorted_by_key(|group| Reverse(group.severity)));
        assert!(groups.iter().all(|group| group.members.iter().all(|(_, finding)| finding.code == group.code())));
    }
}
