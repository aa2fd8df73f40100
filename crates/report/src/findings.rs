//! Findings in the order in which people want them: the gravest first, each kind once, with all the points that it concerns.
//!
//! In: an analysis. Out: [`FindingGroup`]s. Limits: nothing is left out and nothing is judged; how much of it is shown is for
//! the page to decide.

use crate::wording::label::{group_label, point_label};
use analysis::findings::{evidence, is_alike, mixed_title, title};
use analysis::{Analysis, Code, Detail, Finding, PointAnalysis, Severity, Subject};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;

/// Findings of one code and severity.
pub struct FindingGroup<'a> {
    /// What they do to the numbers.
    pub severity: Severity,
    /// Each with its place, in the order of the points; at least one.
    pub members: Vec<Member<'a>>,
}

/// A finding in its place.
#[derive(Clone)]
pub struct Member<'a> {
    /// What it is about: the point's label, the sweep or workload, or `run`.
    pub place: String,
    pub finding: &'a Finding,
}

// Two names of so many characters together are as short as one with `and 1 more`.
const PAIR_LENGTH_MAX: usize = 48;
// More forms of one kind than this share one heading.
const FORMS_MAX: usize = 3;

/// The findings of the run and of its points.
pub fn grouped(analysis: &Analysis) -> Vec<FindingGroup<'_>> {
    let mut all = members(analysis);
    all.sort_by_key(|member| kind_of(member.finding)); // stable: the points keep their order
    all.chunk_by(|one, other| kind_of(one.finding) == kind_of(other.finding)).flat_map(by_form).collect()
}

/// Every finding in its place, those of the run first.
pub fn members(analysis: &Analysis) -> Vec<Member<'_>> {
    let of_run =
        analysis.findings.iter().map(|finding| Member { place: subject_name(analysis, &finding.subject), finding });
    let of_points = analysis
        .points
        .iter()
        .flat_map(|point| point.findings.iter().map(|finding| Member { place: place_name(point, finding), finding }));
    of_run.chain(of_points).collect()
}

/// The label of the point, with the host if it was found on one of several.
fn place_name(point: &PointAnalysis, finding: &Finding) -> String {
    match &finding.host {
        Some(host) => format!("{} on {host}", point_label(point)),
        None => point_label(point),
    }
}

fn subject_name(analysis: &Analysis, subject: &Subject) -> String {
    let run = || "run".to_owned();
    match subject {
        Subject::Sweep(group) => {
            let first = analysis.points.iter().find(|point| point.group == *group);
            first.map_or_else(run, group_label)
        }
        Subject::Workload(name) => name.clone(),
        Subject::Point | Subject::Run => run(),
    }
}

/// Findings of one kind, apart if they differ in more than their numbers and those forms are few.
fn by_form<'a>(members: &[Member<'a>]) -> Vec<FindingGroup<'a>> {
    let mut forms: Vec<Vec<Member<'a>>> = Vec::new();
    for member in members {
        match forms.iter_mut().find(|form| is_alike(&form[0].finding.detail, &member.finding.detail)) {
            Some(form) => form.push(member.clone()),
            None => forms.push(vec![member.clone()]),
        }
    }
    let severity = members[0].finding.severity;
    if forms.len() > FORMS_MAX {
        vec![FindingGroup { severity, members: members.to_vec() }]
    } else {
        forms.into_iter().map(|members| FindingGroup { severity, members }).collect()
    }
}

fn kind_of(finding: &Finding) -> (Reverse<Severity>, &'static str) {
    (Reverse(finding.severity), finding.code().as_str())
}

impl Member<'_> {
    /// One line: what was found.
    pub fn title(&self) -> String {
        title(&[&self.finding.detail])
    }

    /// The figures that show it.
    pub fn evidence(&self) -> String {
        evidence(self.finding)
    }

    /// What to do next; empty for nothing.
    pub fn next_step(&self) -> Cow<'static, str> {
        self.finding.next.sentence()
    }
}

impl FindingGroup<'_> {
    /// The code that all have in common.
    pub fn code(&self) -> Code {
        self.members[0].finding.code()
    }

    /// Whether the members differ in more than their numbers.
    pub fn is_mixed(&self) -> bool {
        self.members.iter().any(|member| !is_alike(&self.members[0].finding.detail, &member.finding.detail))
    }

    /// Where it was found: `file rndrd depth 1`, `all 13 points`, or the first name and how many more there are, of a run of `points`.
    pub fn places(&self, points: usize) -> String {
        let mut known = HashSet::new();
        let names = self.members.iter().map(|member| member.place.as_str());
        let names: Vec<&str> = names.filter(|name| known.insert(*name)).collect();
        let is_of_points =
            self.members.iter().all(|member| member.finding.subject == Subject::Point && member.finding.host.is_none());
        let is_all = is_of_points && names.len() == points;
        let length: usize = names.iter().map(|name| name.chars().count()).sum();
        match names.as_slice() {
            [only] => (*only).to_owned(),
            [_, _] if is_all => "both points".to_owned(),
            all if is_all => format!("all {} points", all.len()),
            [one, other] if length <= PAIR_LENGTH_MAX => format!("{one} and {other}"),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
            [] => String::new(),
        }
    }

    /// One line for all: what was found, with ranges for numbers that differ; or what findings of this code are in general.
    pub fn heading(&self) -> String {
        let details: Vec<&Detail> = self.members.iter().map(|member| &member.finding.detail).collect();
        let with_places = || self.members.iter().map(|member| (member.place.as_str(), &member.finding.detail));
        if self.is_mixed() { mixed_title(&with_places().collect::<Vec<_>>()) } else { title(&details) }
    }

    /// What to do next, if it is the same for all.
    pub fn next_step(&self) -> Option<Cow<'static, str>> {
        let first = self.members[0].next_step();
        let is_common = self.members.iter().all(|member| member.next_step() == first);
        Some(first).filter(|step| is_common && !step.is_empty())
    }
}

/// A group in words, as a document has it.
#[derive(Clone, Debug)]
pub struct FindingItem {
    pub severity: &'static str,
    pub code: &'static str,
    pub heading: String,
    /// Where it was found; `None` if the heading has it.
    pub places: Option<String>,
    /// What to do next, if it is the same for all members; else empty.
    pub next_step: String,
    pub members: Vec<MemberItem>,
}

/// A member of a group in words.
#[derive(Clone, Debug)]
pub struct MemberItem {
    pub place: String,
    pub title: String,
    pub evidence: String,
    /// Empty if all members have the same, or none.
    pub next_step: String,
}

impl FindingItem {
    /// `group`, found in a run of `points`.
    pub fn new(group: &FindingGroup, points: usize) -> FindingItem {
        let common = group.next_step();
        let member = |member: &Member| MemberItem {
            place: member.place.clone(),
            title: member.title(),
            evidence: member.evidence(),
            next_step: if common.is_none() { member.next_step().into_owned() } else { String::new() },
        };
        FindingItem {
            severity: group.severity.as_str(),
            code: group.code().as_str(),
            heading: group.heading(),
            places: (!group.is_mixed()).then(|| group.places(points)),
            members: group.members.iter().map(member).collect(),
            next_step: common.unwrap_or_default().into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::quick;
    use analysis::NextStep;
    use analysis::findings::few_samples::FewSamples;
    use analysis::findings::target_not_reached::MissedTarget;
    use analysis::findings::too_short::ShortRun;
    use model::Nanos;
    use model::Percentile;

    /// The quick run with these findings at its first points.
    fn with(details: Vec<Detail>) -> Analysis {
        let mut analysis = quick();
        analysis.findings.clear();
        analysis.points.iter_mut().for_each(|point| point.findings.clear());
        for (point, detail) in analysis.points.iter_mut().zip(details) {
            point.findings = vec![Finding::new(Severity::Warning, detail).next(NextStep::RunLonger)];
        }
        analysis
    }

    fn headings(details: Vec<Detail>) -> Vec<String> {
        grouped(&with(details)).iter().map(FindingGroup::heading).collect()
    }

    fn short(seconds: f64) -> Detail {
        let (interval_ns, length_ns) = (Nanos::from_millis(100), Nanos((seconds * 1e9) as u64));
        let length_min_ns = Nanos::from_secs(2);
        ShortRun { intervals: 14, intervals_min: 8, interval_ns, length_ns, length_min_ns }.into()
    }

    fn few(highest: Option<Percentile>) -> Detail {
        FewSamples { ops: 500, grace_ops: 0, highest, length_ns: Nanos::from_secs(1), failed_ops: 0 }.into()
    }

    #[test]
    fn every_finding_is_in_one_group_and_the_gravest_are_first() {
        let analysis = quick();
        let groups = grouped(&analysis);
        let all: usize = analysis.findings.len() + analysis.points.iter().map(|p| p.findings.len()).sum::<usize>();
        assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), all);
        assert!(groups.is_sorted_by_key(|group| Reverse(group.severity)));
        assert!(groups.iter().all(|group| group.members.iter().all(|member| member.finding.code() == group.code())));
    }

    #[test]
    fn numbers_that_differ_are_a_range_and_other_differences_are_groups_of_their_own() {
        assert_eq!(headings(vec![short(1.44), short(0.42)]), ["too short: 420 ms to 1.44 s"]);
        assert_eq!(headings(vec![short(1.44)]), ["too short: 1.44 s"]);
        let percentiles = [few(Some(Percentile::P99)), few(Some(Percentile::P95)), few(Some(Percentile::P99))];
        let expected = ["too few operations for percentiles above p99", "too few operations for percentiles above p95"];
        assert_eq!(headings(percentiles.to_vec()), expected);
    }

    #[test]
    fn findings_of_many_forms_share_a_heading_that_describes_their_code() {
        let rate = MissedTarget::Rate(analysis::findings::target_not_reached::MissedArrivals {
            offered_per_s: 2_000.0,
            done_per_s: 1_600.0,
            missing_share: analysis::math::units::Share(0.2),
            arrivals: 16_000,
            expected_arrivals: 20_000.0,
            unserved_arrivals: 0,
        });
        let asked_in_flight = 32;
        let details = vec![
            rate.into(),
            MissedTarget::DepthAtSubmission { asked_in_flight }.into(),
            MissedTarget::Depth { asked_in_flight, reached_in_flight: 16.0 }.into(),
            MissedTarget::DeviceDepth { asked_in_flight, client_in_flight: None, device_in_flight: 0.4 }.into(),
        ];
        let expected = "depth, block size or rate differ from what you asked for: 4 points (see the report)";
        assert_eq!(headings(details), [expected]);
    }

    #[test]
    fn points_with_the_same_finding_are_named_or_counted() {
        let places = |n: usize, points: usize| grouped(&with(vec![short(1.44); n]))[0].places(points);
        assert_eq!(places(1, 13), "file rndrd depth 1");
        assert_eq!(places(2, 13), "file rndrd depth 1 and file rndrd depth 8");
        assert_eq!(places(3, 13), "file rndrd depth 1 and 2 more");
        assert_eq!([places(2, 2), places(3, 3)], ["both points", "all 3 points"]);
    }

    #[test]
    fn few_operations_share_a_heading_with_the_percentiles_that_hold() {
        let all = [Some(Percentile::P99), Some(Percentile::P95), Some(Percentile::P50), None].map(few);
        let expected = "too few operations for the high percentiles: the highest that holds is none to p99";
        assert_eq!(headings(all.to_vec()), [expected]);
    }

    #[test]
    fn the_next_step_is_given_once_if_it_is_the_same_for_all() {
        let mut analysis = with(vec![short(1.44), short(0.42)]);
        assert_eq!(grouped(&analysis)[0].next_step().as_deref(), Some("run longer"));
        analysis.points[1].findings[0].next = NextStep::MeasureAgain;
        assert_eq!(grouped(&analysis)[0].next_step(), None);
        analysis.points[1].findings[0].next = NextStep::None;
        assert_eq!(grouped(&analysis)[0].next_step(), None);
    }

    #[test]
    fn a_finding_about_a_sweep_has_the_sweep_for_its_place() {
        let mut analysis = with(vec![short(1.44)]);
        let finding = analysis.points[0].findings[0].clone();
        analysis.findings = vec![finding.clone().about(Subject::Sweep(0)), finding.about(Subject::Run)];
        let places: Vec<String> = members(&analysis).into_iter().map(|member| member.place).collect();
        assert_eq!(places[..2], ["file rndrd", "run"]);
    }
}
