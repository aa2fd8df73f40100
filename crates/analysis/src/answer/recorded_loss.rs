//! What is missing in the recording of a replay: a load of which much could not be read is not the recorded one.
//!
//! In: what the points of a replay know of their recording. Out: a [`RecordedLoss`]. Limits: `None` if less than one in a hundred is missing. What a
//! recording does not even show to be missing, such as a statement within a gap of a capture, is counted by nobody; then the gaps are.

use crate::PointAnalysis;
use model::RecordedContent;
use std::collections::BTreeSet;
use words::list::join_and;
use words::quantity::{plural, whole};

/// From this share on it is said what is missing.
const MISSING_MIN: f64 = 0.01;
/// More reasons are not named.
const REASONS_MAX: usize = 2;

/// What is missing in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLoss {
    /// What is missing, and why: one sentence.
    pub missing: String,
    /// What helps, in the words of an order, such as `begin earlier`; empty if nothing is known to help.
    pub remedy: String,
}

/// What can be missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    Statements,
    Connections,
    Gaps,
    /// Statements that were read and are left out, because nothing of them was left in the end.
    Undone,
}

/// What is known of one kind of what was skipped.
struct LostKind {
    /// What its name begins with.
    begins: &'static str,
    what: Lost,
    /// What is said of things of this kind, behind `they`.
    why: &'static str,
    /// What helps; empty if nothing is known to.
    remedy: &'static str,
}

const WHOLE_PACKETS: &str = "capture with tcpdump -s0 -B 65536";
const FROM_BEGINNING: &str = "begin to capture before the clients connect";
const ALL_VALUES: &str = "let the server log all values (PostgreSQL: log_parameter_max_length = -1)";

const fn statements(begins: &'static str, why: &'static str, remedy: &'static str) -> LostKind {
    LostKind { begins, what: Lost::Statements, why, remedy }
}

const KINDS: [LostKind; 17] = [
    statements("statements_that_are_cut", "are cut", WHOLE_PACKETS),
    statements("executions_of_statements", "were prepared before the capture began", FROM_BEGINNING),
    statements("statements_of_more_than", "are too long", ""),
    statements("statement_of_more_than", "are too long", ""),
    statements("statements_that_are_not_utf", "are not UTF-8", ""),
    statements("entry_that_is_cut_off", "are cut off", ""),
    statements("record_that_is_cut_off", "are cut off", ""),
    statements("entry_whose_time", "have times that cannot be read", ""),
    statements("statement_that_the_log_has_shortened", "were shortened by the server", "let the server log them whole"),
    statements("statement_with_an_open", "have a quote or comment that does not end", ""),
    statements("schema_with_a_name", "are in a schema whose name is too long", ""),
    statements("time_or_duration", "have times that cannot be", ""),
    statements("statement_whose_values", "have values that nothing replaces", "save them without --hash-values"),
    LostKind {
        begins: "connections_that_are_encrypted",
        what: Lost::Connections,
        why: "are encrypted",
        remedy: "capture while clients connect without TLS",
    },
    LostKind {
        begins: "connections_that_are_compressed",
        what: Lost::Connections,
        why: "are compressed",
        remedy: "capture with the compression of the clients off",
    },
    LostKind { begins: "gaps_in_the", what: Lost::Gaps, why: "have gaps", remedy: WHOLE_PACKETS },
    LostKind { begins: "statements_of_pipelines", what: Lost::Undone, why: "were rolled back", remedy: "" },
];

const VALUES_OF_FAILED: &str =
    "let the server log the values of statements that fail, too (PostgreSQL: log_parameter_max_length_on_error = -1)";

/// How sessions of a capture are counted that has nothing of what the server sent to them. All else that is missing then comes of that.
const UNANSWERED: &str = "connections_without_what_the_server_sent";

/// What is counted of statements of a capture whose values are not known; those that are left out for it are counted as such, too.
const UNKNOWN_VALUES: &str = "statements_with_values";

impl RecordedLoss {
    /// What is missing in the recording of the first of `points` that misses something.
    pub fn of<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> Option<RecordedLoss> {
        points.into_iter().find_map(|point| RecordedLoss::in_content(point.traits.outcome.recorded.as_ref()?))
    }

    fn in_content(content: &RecordedContent) -> Option<RecordedLoss> {
        let read = content.statements.saturating_add(content.left_out);
        let lost = unanswered(content).or_else(|| lost_statements(content, read));
        lost.or_else(|| lost_connections(content)).or_else(|| gaps(content, read)).or_else(|| undone(content, read))
    }
}

/// What is called the load of `points`: that of a recording is only the recorded one if little of it is missing.
pub fn load_words<'a>(points: impl IntoIterator<Item = &'a PointAnalysis>) -> &'static str {
    match RecordedLoss::of(points) {
        None => "the recorded load",
        Some(_) => "what is left of the recorded load",
    }
}

/// How often each kind of `what` was found, the most frequent first.
fn counted(content: &RecordedContent, what: Lost) -> Vec<(u64, &'static str, &'static str)> {
    let kinds = KINDS.iter().filter(|kind| kind.what == what);
    let mut found: Vec<_> = kinds.map(|kind| (skipped(content, kind.begins), kind.why, kind.remedy)).collect();
    if what == Lost::Statements {
        let of_capture = skipped(content, UNKNOWN_VALUES);
        let remedy = if of_capture > 0 { FROM_BEGINNING } else { ALL_VALUES };
        let unbound = content.unbound.max(of_capture).saturating_sub(content.failed_unbound);
        found.push((unbound, "have values that are not known", remedy));
        found.push((content.failed_unbound, "failed with values that the log does not have", VALUES_OF_FAILED));
    }
    found.retain(|(count, ..)| *count > 0);
    found.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    found
}

fn skipped(content: &RecordedContent, begins: &str) -> u64 {
    let of_kind = content.skipped.iter().filter(|(kind, _)| kind.starts_with(begins));
    of_kind.map(|(_, count)| *count).fold(0, u64::saturating_add)
}

fn is_much(missing: u64, there: u64) -> bool {
    missing > 0 && missing as f64 >= MISSING_MIN * (missing as f64 + there as f64)
}

/// `The capture lacks what the server sent in 8 connections.`
fn unanswered(content: &RecordedContent) -> Option<RecordedLoss> {
    let connections = skipped(content, UNANSWERED);
    is_much(connections, content.sessions.saturating_sub(connections)).then(|| RecordedLoss {
        missing: format!("The capture lacks what the server sent in {}.", plural(connections, "connection")),
        remedy: "capture both directions".to_owned(),
    })
}

/// `1,712 of 2,479 recorded statements could not be read: they are cut.`
fn lost_statements(content: &RecordedContent, read: u64) -> Option<RecordedLoss> {
    let found = counted(content, Lost::Statements);
    let missing = found.iter().map(|(count, ..)| *count).fold(0, u64::saturating_add);
    let all = whole(missing.saturating_add(read) as f64);
    let missing_words = whole(missing as f64);
    is_much(missing, read).then(|| RecordedLoss {
        missing: format!("{missing_words} of {all} recorded statements could not be read: {}.", reasons(&found)),
        remedy: remedy(&found),
    })
}

/// `12 connections of the capture could not be read: they are encrypted.`
fn lost_connections(content: &RecordedContent) -> Option<RecordedLoss> {
    let found = counted(content, Lost::Connections);
    let missing = found.iter().map(|(count, ..)| *count).fold(0, u64::saturating_add);
    is_much(missing, content.sessions).then(|| RecordedLoss {
        missing: format!("{} of the capture could not be read: {}.", plural(missing, "connection"), reasons(&found)),
        remedy: remedy(&found),
    })
}

/// `The capture has 2,503 gaps, in which statements may be missing.`
fn gaps(content: &RecordedContent, read: u64) -> Option<RecordedLoss> {
    let found = counted(content, Lost::Gaps);
    let (missing, ..) = *found.first()?;
    is_much(missing, read).then(|| RecordedLoss {
        missing: format!("The capture has {}, in which statements may be missing.", plural(missing, "gap")),
        remedy: remedy(&found),
    })
}

/// `12 statements of pipelines that failed are left out, because the server rolled them back.`
fn undone(content: &RecordedContent, read: u64) -> Option<RecordedLoss> {
    let (missing, ..) = *counted(content, Lost::Undone).first()?;
    let statements = plural(missing, "statement");
    is_much(missing, read).then(|| RecordedLoss {
        missing: format!("{statements} of pipelines that failed are left out, because the server rolled them back."),
        remedy: String::new(),
    })
}

/// `they are cut`, `1,200 are cut and 500 were prepared before the capture began`, and how many for other reasons.
fn reasons(found: &[(u64, &str, &str)]) -> String {
    if let [(_, why, _)] = found {
        return format!("they {why}");
    }
    let (told, others) = found.split_at(found.len().min(REASONS_MAX));
    let others = others.iter().map(|(count, ..)| *count).fold(0, u64::saturating_add);
    let told = told.iter().map(|(count, why, _)| format!("{} {why}", whole(*count as f64)));
    let others = (others > 0).then(|| format!("{} could not for other reasons", whole(others as f64)));
    join_and(&told.chain(others).collect::<Vec<_>>())
}

/// What helps against those that are named, each once.
fn remedy(found: &[(u64, &str, &str)]) -> String {
    let told: BTreeSet<&str> = found.iter().take(REASONS_MAX).map(|(_, _, remedy)| *remedy).collect();
    let told: Vec<String> = told.into_iter().filter(|remedy| !remedy.is_empty()).map(str::to_owned).collect();
    join_and(&told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(statements: u64, skipped: &[(&str, u64)]) -> RecordedContent {
        let skipped = skipped.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
        RecordedContent { statements, sessions: 8, skipped, ..RecordedContent::default() }
    }

    fn told(content: &RecordedContent) -> Option<(String, String)> {
        RecordedLoss::in_content(content).map(|loss| (loss.missing, loss.remedy))
    }

    fn some(missing: &str, remedy: &str) -> Option<(String, String)> {
        Some((missing.to_owned(), remedy.to_owned()))
    }

    #[test]
    fn statements_that_could_not_be_read_are_told_from_one_in_a_hundred_on_with_what_helps() {
        let cut = |count| content(990, &[("statements_that_are_cut", count), ("command_quit", 500)]);
        assert_eq!(told(&cut(9)), None);
        let expected = "10 of 1,000 recorded statements could not be read: they are cut.";
        assert_eq!(told(&cut(10)), some(expected, "capture with tcpdump -s0 -B 65536"));
        assert_eq!(told(&content(0, &[])), None);
    }

    #[test]
    fn of_several_reasons_the_two_most_frequent_are_named() {
        let skipped = [
            ("statements_that_are_cut", 200),
            ("executions_of_statements_that_were_prepa", 1_700),
            ("statements_that_are_not_utf_8", 5),
            ("statements_with_values_that_are_not_know", 95),
        ];
        let many = RecordedContent { unbound: 90, left_out: 300, ..content(700, &skipped) };
        let expected = "2,000 of 3,000 recorded statements could not be read: 1,700 were prepared before the capture began, 200 are cut and \
                        100 could not for other reasons.";
        let helps = "begin to capture before the clients connect and capture with tcpdump -s0 -B 65536";
        assert_eq!(told(&many), some(expected, helps));
    }

    #[test]
    fn values_that_a_log_lacks_and_those_that_a_capture_lacks_have_other_remedies() {
        let log = RecordedContent { unbound: 100, ..content(900, &[]) };
        let expected = "100 of 1,000 recorded statements could not be read: they have values that are not known.";
        let helps = "let the server log all values (PostgreSQL: log_parameter_max_length = -1)";
        assert_eq!(told(&log), some(expected, helps));
        let skipped = [("statements_with_values_that_are_not_know", 100)];
        let capture = RecordedContent { unbound: 100, ..content(900, &skipped) };
        assert_eq!(told(&capture), some(expected, "begin to capture before the clients connect"));
    }

    #[test]
    fn values_of_statements_that_failed_have_a_remedy_of_their_own() {
        let all = RecordedContent { unbound: 100, failed_unbound: 100, ..content(900, &[]) };
        let expected =
            "100 of 1,000 recorded statements could not be read: they failed with values that the log does not have.";
        assert_eq!(told(&all), some(expected, VALUES_OF_FAILED));
        let some_of_them = RecordedContent { failed_unbound: 40, ..all };
        let expected = "100 of 1,000 recorded statements could not be read: 60 have values that are not known and 40 failed with values that \
                        the log does not have.";
        let (missing, remedy) = told(&some_of_them).unwrap();
        assert_eq!(missing, expected);
        assert!(
            remedy.contains("log_parameter_max_length = -1") && remedy.contains("length_on_error = -1"),
            "{remedy}"
        );
    }

    #[test]
    fn connections_and_gaps_are_told_if_no_statement_is_known_to_be_missing() {
        let encrypted = content(900, &[("connections_that_are_encrypted", 2), ("gaps_in_the_captured_streams", 500)]);
        let expected = "2 connections of the capture could not be read: they are encrypted.";
        assert_eq!(told(&encrypted), some(expected, "capture while clients connect without TLS"));
        let gaps = content(900, &[("gaps_in_the_captured_streams", 500)]);
        let expected = "The capture has 500 gaps, in which statements may be missing.";
        assert_eq!(told(&gaps), some(expected, "capture with tcpdump -s0 -B 65536"));
    }

    #[test]
    fn a_capture_of_one_direction_is_told_before_the_gaps_that_come_of_it() {
        let one_way = |count| {
            let gaps = ("gaps_in_the_captured_streams", 500);
            content(900, &[(UNANSWERED, count), gaps, ("executions_of_statements_that_were_prepa", 100)])
        };
        let expected = "The capture lacks what the server sent in 8 connections.";
        assert_eq!(told(&one_way(8)), some(expected, "capture both directions"));
        let expected =
            "100 of 1,000 recorded statements could not be read: they were prepared before the capture began.";
        assert_eq!(told(&one_way(0)), some(expected, "begin to capture before the clients connect"));
    }

    #[test]
    fn what_was_rolled_back_with_its_pipeline_is_told_as_left_out() {
        let undone = content(900, &[("statements_of_pipelines_that_failed__whi", 12)]);
        let expected = "12 statements of pipelines that failed are left out, because the server rolled them back.";
        assert_eq!(told(&undone), some(expected, ""));
    }

    #[test]
    fn counts_of_a_damaged_file_saturate() {
        let skipped = [("statements_that_are_cut", u64::MAX), ("entry_that_is_cut_off", u64::MAX)];
        assert!(told(&content(u64::MAX, &skipped)).is_some());
    }
}
