//! Two watches of a server in words: which statement takes longer, which are new, and what load each of the two saw.
//!
//! In: a comparison of watches. Out: sentences, and the rows of a table. Limits: few statements at most; JSON has all.

use super::compare::{arm_name, ratio_text};
use super::compared_sweep::factor;
use super::list::join_and;
use super::quantity::{count, percent, small_number, time};
use analysis::compare::{
    CHANGE_MIN, EffortChange, RunComparison, SHARE_MIN, StatementChange, StatementFigures, WatchComparison, WatchedLoad,
};
use model::ObservedCounts;

/// The statements of a table.
const ROWS_MAX: usize = 5;
/// The statements that a sentence names.
const NAMED_MAX: usize = 2;
/// The most characters of a statement in a sentence.
const SENTENCE_CHARS: usize = 60;
/// The most of them in a table.
const TABLE_CHARS: usize = 120;

/// What changed, and then the load; nothing if the runs are not watches.
pub fn watch_sentences(comparison: &RunComparison) -> Vec<String> {
    let Some(watches) = &comparison.watches else { return Vec::new() };
    let names = [&comparison.base, &comparison.new].map(arm_name);
    if let Some(idle) = idle_sentence(watches, &names) {
        return vec![idle];
    }
    let mut all = unknown_sentence(watches, &names).map_or_else(|| changed_sentences(watches, &names), |one| vec![one]);
    all.extend(load_sentence(watches, &names));
    all.extend(cpu_sentence(watches, &names));
    all
}

fn idle_sentence(watches: &WatchComparison, [base, new]: &[String; 2]) -> Option<String> {
    let who = match watches.loads.map(|load| load.is_idle()) {
        [false, false] => return None,
        [true, true] => format!("neither in {base} nor in {new} did clients do anything"),
        [true, false] => format!("in {base} clients did nothing"),
        [false, true] => format!("in {new} clients did nothing"),
    };
    Some(format!("Nothing can be compared: {who}. Watch the server while they work."))
}

fn unknown_sentence(watches: &WatchComparison, names: &[String; 2]) -> Option<String> {
    let unknown = watches.loads.iter().zip(names).filter(|(load, _)| !load.has_statements);
    let unknown: Vec<String> = unknown.map(|(_, name)| name.clone()).collect();
    (!unknown.is_empty())
        .then(|| format!("The statements of {} are not known: they are not compared.", join_and(&unknown)))
}

fn changed_sentences(watches: &WatchComparison, names: &[String; 2]) -> Vec<String> {
    let telling: Vec<&StatementChange> = watches.statements.iter().filter(|one| one.is_telling()).collect();
    let mut all: Vec<String> = telling.first().and_then(|first| change_sentence(first, names)).into_iter().collect();
    if all.is_empty() {
        let share = percent(SHARE_MIN);
        all.push(format!(
            "No statement with {share} of the time or more became {CHANGE_MIN} times as slow or as fast."
        ));
    }
    let others: Vec<String> = telling.iter().skip(1).filter_map(|one| short_change(one)).collect();
    all.extend((!others.is_empty()).then(|| format!("Changed, too: {}.", named(&others))));
    all.extend((0..names.len()).filter_map(|side| only_sentence(watches, names, side)));
    all
}

/// `` `SELECT ...` takes 6.2 times as long in b as in a (358 us to 2.21 ms) and reads 8,000 rows for each row that it sends, not 0.26.``
fn change_sentence(change: &StatementChange, [base_name, new_name]: &[String; 2]) -> Option<String> {
    let ([Some(base), Some(new)], Some(ratio)) = (&change.sides, change.ratio()) else { return None };
    let verb = if ratio >= 1.0 {
        format!("takes {} times as long", factor(ratio))
    } else {
        format!("is {} times as fast", factor(1.0 / ratio))
    };
    let times = format!("{} to {}", time(base.mean_ns), time(new.mean_ns));
    let effort = match change.effort_change() {
        None => String::new(),
        Some(EffortChange::RowsRead([before, after])) => {
            let [before, after] = [before, after].map(small_number);
            format!(" and reads {after} rows for each row that it sends, not {before}")
        }
        Some(EffortChange::Pages([before, after])) => {
            let [before, after] = [before, after].map(small_number);
            format!(" and looks at {after} pages, not {before}")
        }
    };
    let index = if change.may_have_lost_index() { ": it may have lost an index" } else { "" };
    let text = code(change);
    Some(format!("{text} {verb} in {new_name} as in {base_name} ({times}){effort}{index}."))
}

/// `` `SELECT ...` (x 1.80)``
fn short_change(change: &StatementChange) -> Option<String> {
    Some(format!("{} (x {})", code(change), ratio_text(change.ratio()?)))
}

/// What only one of the watches has.
fn only_sentence(watches: &WatchComparison, names: &[String; 2], side: usize) -> Option<String> {
    let own = watches.statements.iter().filter(|one| one.only_in() == Some(side));
    let told = |one: &StatementChange| {
        let share = one.sides[side].as_ref().map_or(0.0, |figures| figures.time_share);
        format!("{} ({} of the time)", code(one), percent(share))
    };
    let all: Vec<String> = own.map(told).collect();
    // The other one may have it among those that are kept as one sum.
    let among = if watches.loads[1 - side].has_others { " among its dearest statements" } else { "" };
    (!all.is_empty()).then(|| format!("Only {} has{among} {}.", names[side], named(&all)))
}

/// The first of `all`, and how many more there are.
fn named(all: &[String]) -> String {
    let mut parts: Vec<String> = all.iter().take(NAMED_MAX).cloned().collect();
    if all.len() > NAMED_MAX {
        parts.push(format!("{} more", all.len() - NAMED_MAX));
    }
    join_and(&parts)
}

/// `In a the server executed 812 statements per second for 60.0 s, in b 765 for 30.0 s of 62.0 s.`
fn load_sentence(watches: &WatchComparison, [base_name, new_name]: &[String; 2]) -> Option<String> {
    let [base, new] = &watches.loads;
    let noun = match (base.counts, new.counts) {
        (ObservedCounts::Statements, ObservedCounts::Statements) => "statements",
        (ObservedCounts::Transactions, ObservedCounts::Transactions) => "transactions",
        _ => return None,
    };
    let (base_s, new_s) = (rate_time(base)?, rate_time(new)?);
    let (base, new) = (count(base.per_s?), count(new.per_s?));
    Some(format!(
        "In {base_name} the server executed {base} {noun} per second for {base_s}, in {new_name} {new} for {new_s}."
    ))
}

/// What the rate of `load` is over: not what was watched after the last answer of the server.
fn rate_time(load: &WatchedLoad) -> Option<String> {
    let [known, all] = [load.known_seconds?, load.seconds].map(|seconds| time(seconds * 1e9).to_string());
    Some(if known == all { all } else { format!("{known} of {all}") })
}

fn cpu_sentence(watches: &WatchComparison, [base_name, new_name]: &[String; 2]) -> Option<String> {
    let share = |load: &WatchedLoad| load.cpu_share.map(percent);
    let (base, new) = (share(&watches.loads[0])?, share(&watches.loads[1])?);
    Some(format!("The CPUs of its machine were busy for {base} of the time in {base_name} and {new} in {new_name}."))
}

fn code(change: &StatementChange) -> String {
    format!("`{}`", shortened(&change.text, SENTENCE_CHARS))
}

/// The first characters of a statement. Quotes of names only take room.
fn shortened(text: &str, chars: usize) -> String {
    let text = text.replace(['`', '"'], "").replace(" . ", ".");
    if text.chars().count() <= chars {
        return text;
    }
    text.chars().take(chars - 2).collect::<String>() + ".."
}

/// A statement as a table shows it.
pub struct WatchRow {
    pub statement: String,
    /// Whether it has changed.
    pub is_telling: bool,
    /// What is known of it: the name of a figure; its values in the base and in the other, and their ratio.
    pub figures: Vec<(&'static str, [String; 3])>,
}

/// What is above the table.
pub const WATCHES_HEADING: &str = "Statements, the largest change first:";

/// The first statements, and how many more there are.
pub fn watch_rows(watches: &WatchComparison) -> (Vec<WatchRow>, usize) {
    let rows: Vec<WatchRow> = watches.statements.iter().take(ROWS_MAX).map(row).collect();
    let rest = watches.statements.len() - rows.len();
    (rows, rest)
}

fn row(change: &StatementChange) -> WatchRow {
    let figures = [
        figure(change, "mean time", |side| Some(side.mean_ns), |ns| time(ns).to_string()),
        figure(change, "calls per second", |side| side.calls_per_s, |per_s| count(per_s).to_string()),
        figure(change, "share of the time", |side| Some(side.time_share), |share| percent(share).to_string()),
        figure(change, "rows read per row sent", |side| side.rows_read_per_row_sent, small_number),
        figure(change, "pages per call", |side| side.pages_per_call, small_number),
    ];
    WatchRow {
        statement: shortened(&change.text, TABLE_CHARS),
        is_telling: change.is_telling(),
        figures: figures.into_iter().flatten().collect(),
    }
}

/// `None` if no watch has it.
fn figure(
    change: &StatementChange,
    name: &'static str,
    value: impl Fn(&StatementFigures) -> Option<f64>,
    written: impl Fn(f64) -> String,
) -> Option<(&'static str, [String; 3])> {
    let [base, new] = change.sides.each_ref().map(|side| side.as_ref().and_then(&value));
    let ratio = base.zip(new).filter(|(base, new)| *base > 0.0 && *new > 0.0).map(|(base, new)| ratio_text(new / base));
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), &written);
    (base.is_some() || new.is_some()).then(|| (name, [cell(base), cell(new), ratio.unwrap_or_else(|| "-".to_owned())]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wording::compare::{WATCH_NEXT, WATCH_TRUST, design_sentence, introduction};
    use crate::wording::compared_sweep::answers;

    fn side(mean_ns: f64, time_share: f64, rows: f64) -> Option<StatementFigures> {
        Some(StatementFigures {
            calls: 1_000,
            calls_per_s: Some(100.0),
            mean_ns,
            time_share,
            rows_read_per_row_sent: Some(rows),
            pages_per_call: None,
        })
    }

    fn change(text: &str, sides: [Option<StatementFigures>; 2]) -> StatementChange {
        StatementChange { text: text.into(), database: None, sides }
    }

    fn watched(per_s: [f64; 2], statements: Vec<StatementChange>) -> RunComparison {
        let load = |per_s: f64| WatchedLoad {
            seconds: 60.0,
            known_seconds: Some(60.0),
            counts: ObservedCounts::Statements,
            per_s: Some(per_s),
            cpu_share: Some(0.4),
            has_statements: true,
            has_others: false,
        };
        let watches = Some(WatchComparison { loads: per_s.map(load), statements });
        RunComparison { watches, ..crate::testing::compared() }
    }

    #[test]
    fn the_answer_of_two_watches_is_the_statement_that_changed_and_then_the_load() {
        let statements = vec![
            change("SELECT COUNT ( * ) FROM `pt` WHERE `a` = ?", [side(358e3, 0.2, 0.26), side(2.21e6, 0.6, 8_000.0)]),
            change("UPDATE t SET n = ?", [side(2e6, 0.3, 1.0), side(1e6, 0.2, 1.0)]),
            change("SELECT 1", [side(1e6, 0.3, 1.0), None]),
        ];
        let one = watched([812.0, 765.0], statements);
        assert_eq!(
            answers(&one),
            [
                "`SELECT COUNT ( * ) FROM pt WHERE a = ?` takes 6.2 times as long in new as in old (358 us to 2.21 ms) and reads 8,000 rows \
                 for each row that it sends, not 0.26: it may have lost an index.",
                "Changed, too: `UPDATE t SET n = ?` (x 0.50).",
                "Only old has `SELECT 1` (30 % of the time).",
                "In old the server executed 812 statements per second for 60.0 s, in new 765 for 60.0 s.",
                "The CPUs of its machine were busy for 40 % of the time in old and 40 % in new.",
            ]
        );
        let trust = introduction(&one).join(" ");
        assert!(trust.contains(WATCH_TRUST) && !trust.contains("repeat") && !trust.contains("in turn"), "{trust}");
        assert_eq!(design_sentence(&one).as_deref(), Some(WATCH_NEXT));
        let (rows, rest) = watch_rows(one.watches.as_ref().unwrap());
        assert_eq!((rows.len(), rest), (3, 0));
        let expected = ("mean time", ["358 us", "2.21 ms", "6.17"].map(str::to_owned));
        assert_eq!(rows[0].figures[0], expected);
        assert_eq!(rows[2].figures[0].1[1..], ["-", "-"]);
        let text = crate::terminal_comparison(std::slice::from_ref(&one), 80, false);
        let line = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
        assert!(line("mean time").ends_with("358 us    2.21 ms       6.17"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains("--repeat"), "{text}");
        let summary = crate::comparison_summary(&[one]);
        assert!(summary.contains("one sample") && summary.contains(WATCH_NEXT), "{summary}");
    }

    #[test]
    fn the_rate_of_a_watch_whose_server_ended_is_told_with_the_time_that_it_is_over() {
        let mut one = watched([400.0, 765.0], Vec::new());
        one.watches.as_mut().unwrap().loads[0].known_seconds = Some(30.0);
        let told = answers(&one).join(" ");
        let rates = "In old the server executed 400 statements per second for 30.0 s of 60.0 s, in new 765 for 60.0 s.";
        assert!(told.contains(rates), "{told}");
    }

    #[test]
    fn a_watch_that_saw_nothing_is_the_reason_that_is_given() {
        let told = |per_s| answers(&watched(per_s, Vec::new())).join(" ");
        let none = "Nothing can be compared: neither in old nor in new did clients do anything. Watch the server while they work.";
        assert_eq!(told([0.0, 0.0]), none);
        assert!(told([5.0, 0.0]).starts_with("Nothing can be compared: in new clients did nothing."));
        let alike = "No statement with 1.0 % of the time or more became 1.25 times as slow or as fast.";
        assert!(told([5.0, 5.0]).starts_with(alike), "{}", told([5.0, 5.0]));
    }
}
