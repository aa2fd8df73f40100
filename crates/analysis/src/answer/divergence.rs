//! How far the statements of a replay did what the recorded ones did: a replay that takes another course is no measure of the recorded load.
//!
//! In: the points of a run. Out: a sentence of the trust line. Limits: the points are counted together, those of a search, too: copies of a load
//! that write the same rows diverge by their nature.

use super::asked::AskedRun;
use super::trust::percent_of_ops;
use model::{ComparedBy, KindDivergence, Nanos, ReplayDivergence};
use std::collections::BTreeSet;
use words::list::join_and;
use words::quantity::{plural, time, whole};

/// The share of statements on rows of other sessions that may be sent out of order before it is said.
const AHEAD_MAX: f64 = 0.01;
/// The share of the time of all clients in which plimsoll may hold statements back before it is said.
const HELD_BACK_MAX: f64 = 0.05;
/// How statements are counted whose character set is not known.
const TAKEN_FOR_LATIN1: &str = "statements_taken_for_latin1";
/// Waits in vain that are longer than this in all are said whatever their share: the server did nothing for these clients.
const IN_VAIN_MAX: Nanos = Nanos::from_secs(1);

/// The kind of those that were skipped because their ends were not captured.
const WITHOUT_END: &str = "statements_without_an_end";

/// `103 of 12,300 statements (0.8 %) diverged from the log: 52 failed, and 51 changed more or fewer rows.`; `None` if nothing was replayed.
pub(super) fn sentence(run: &AskedRun) -> Option<String> {
    let all: Vec<&ReplayDivergence> =
        run.analysis.points.iter().filter_map(|point| point.traits.outcome.replay_divergence.as_ref()).collect();
    let compared_by = all.iter().map(|one| one.compared_by).max()?;
    let sum = |of: fn(&ReplayDivergence) -> u64| all.iter().map(|one| of(one)).fold(0, u64::saturating_add);
    let (compared, diverged) = (sum(|one| one.compared), sum(|one| one.diverged));
    let counted = whole(compared as f64);
    let told = match (compared_by, diverged) {
        (ComparedBy::Nothing, _) => {
            "The log has no counts of rows and no errors: whether the statements did what was recorded is not known."
                .to_owned()
        }
        (ComparedBy::Hashed, _) => {
            "The workload file has no answers, since its values are hashed: whether the statements did what was recorded is not known."
                .to_owned()
        }
        (ComparedBy::Errors, 0) => {
            format!(
                "All {counted} statements ended as recorded, with an error or without; the log has no counts of rows."
            )
        }
        (ComparedBy::Rows, 0) => format!("All {counted} statements that were compared had as many rows as recorded."),
        (by, _) => {
            let (of, share) = (whole(diverged as f64), percent_of_ops(diverged as f64 / compared.max(1) as f64));
            let without_rows = if by == ComparedBy::Errors { ", which has no counts of rows" } else { "" };
            let ways = ways(all.iter().flat_map(|one| &one.kinds));
            let others = other_failures(run, &all);
            format!("{of} of {counted} statements ({share}) diverged from the log{without_rows}: {ways}.{others}")
        }
    };
    // Each point has left out the same ones.
    let told = told + &untold(sum(|one| one.untold)) + &triggered(all.iter().map(|one| one.triggered).max());
    let told = told + &left_out(run);
    let order = out_of_order(sum(|one| one.ordered), sum(|one| one.ahead));
    Some(told + &taken_for_latin1(run) + &order + &held_back(run) + &still_keys(&all) + &not_restored(&all))
}

/// ` 1,069 had no rows then and failed now: the log does not say which statements failed, so they count as done.`; empty if there are none.
fn untold(failed: u64) -> String {
    if failed == 0 {
        return String::new();
    }
    let failed = whole(failed as f64);
    format!(
        " {failed} had no rows then and failed now: the log does not say which statements failed, so they count as done."
    )
}

/// ` 1,041 statements were taken for those of triggers and left out: the copy executes them itself.`; empty if there are none.
fn triggered(statements: Option<u64>) -> String {
    match statements.unwrap_or(0) {
        0 => String::new(),
        1 => " One statement was taken for that of a trigger and left out: the copy executes it itself.".to_owned(),
        many => {
            let many = whole(many as f64);
            format!(" {many} statements were taken for those of triggers and left out: the copy executes them itself.")
        }
    }
}

/// What was left out that changes what the others find, from the first one on.
fn left_out(run: &AskedRun) -> String {
    let contents = || run.analysis.points.iter().filter_map(|point| point.traits.outcome.recorded.as_ref());
    let without_end = contents().filter_map(|content| content.skipped.get(WITHOUT_END)).max();
    loads(contents().map(|content| content.loads).max().unwrap_or(0)) + &unended(without_end.copied().unwrap_or(0))
}

/// ` 2 statements were left out: the capture, or their sessions, ended before they were answered.`; empty if there are none.
fn unended(statements: u64) -> String {
    match statements {
        0 => String::new(),
        1 => " One statement was left out: the capture, or its session, ended before it was answered.".to_owned(),
        many => {
            let many = whole(many as f64);
            format!(
                " {many} statements were left out: the capture, or their sessions, ended before they were answered."
            )
        }
    }
}

/// ` 3 COPY and LOAD DATA statements were left out, since no log has their data: ...`; empty if there are none.
fn loads(statements: u64) -> String {
    match statements {
        0 => String::new(),
        1 => " One COPY or LOAD DATA was left out, since no log has its data: its rows are missing in the copy."
            .to_owned(),
        many => {
            let many = whole(many as f64);
            format!(
                " {many} COPY and LOAD DATA statements were left out, since no log has their data: their rows are missing in the copy."
            )
        }
    }
}

/// ` The bytes of 12 statements were taken for latin1: ...`; empty if the sets of all are known.
fn taken_for_latin1(run: &AskedRun) -> String {
    let recorded = run.analysis.points.iter().filter_map(|point| point.traits.outcome.recorded.as_ref());
    match recorded.filter_map(|recorded| recorded.skipped.get(TAKEN_FOR_LATIN1)).max() {
        None | Some(0) => String::new(),
        Some(count) => format!(
            " The bytes of {} were taken for latin1, since nothing says the character set of their sessions: letters of another set became others.",
            plural(*count, "statement")
        ),
    }
}

/// ` No value of orders.id was moved: the copies share its rows.`; empty if of each key some were.
fn still_keys(all: &[&ReplayDivergence]) -> String {
    let still: BTreeSet<&String> = all.iter().flat_map(|one| &one.still_keys).collect();
    if still.is_empty() {
        return String::new();
    }
    let names: Vec<String> = still.into_iter().cloned().collect();
    format!(" No value of {} was moved: the copies share its rows.", join_and(&names))
}

/// ` When some points began, the copy had given 500 more ids than when others did: ...`; empty if it is as the recorded server was.
fn not_restored(all: &[&ReplayDivergence]) -> String {
    let given = || all.iter().filter_map(|one| one.given_ids);
    let more = given().max().unwrap_or(0) - given().min().unwrap_or(0);
    let behind = all.iter().map(|one| one.ids_behind).max().unwrap_or(0);
    let [more_ids, lower] = [more, behind].map(|count| whole(count as f64));
    if more > 0 {
        return format!(
            " When some points began, the copy had given {more_ids} more ids than when others did: restore it with its counters before each, by --restore."
        );
    }
    if behind > 0 {
        return format!(
            " The copy is not as it was before the log: the ids that sessions say are about {lower} lower than its next ones. Restore it with its counters."
        );
    }
    String::new()
}

/// ` Plimsoll itself held statements back for 40.0 s in all, to keep their order on rows.`; empty if that is little.
fn held_back(run: &AskedRun) -> String {
    let (mut held_s, mut in_vain_s, mut clients_s) = (0.0, 0.0, 0.0);
    for point in &run.analysis.points {
        let Some(found) = &point.traits.outcome.replay_divergence else { continue };
        held_s += found.held_back_ns.as_secs_f64();
        in_vain_s += found.in_vain_ns.as_secs_f64();
        clients_s += point.summary.as_ref().map_or(0.0, |summary| summary.seconds * f64::from(point.clients));
    }
    if held_s <= clients_s * HELD_BACK_MAX && in_vain_s < IN_VAIN_MAX.as_secs_f64() {
        return String::new();
    }
    format!(" Plimsoll itself held statements back for {} in all, to keep their order on rows.", time(held_s * 1e9))
}

/// ` 45 of 1,204 statements that name a row which another session wrote before were sent ahead of that write.`; empty if there are few.
fn out_of_order(ordered: u64, ahead: u64) -> String {
    if ahead as f64 <= ordered as f64 * AHEAD_MAX {
        return String::new();
    }
    let [ahead, ordered] = [ahead, ordered].map(|count| whole(count as f64));
    format!(
        " {ahead} of {ordered} statements that name a row which another session wrote before were sent ahead of that write."
    )
}

/// ` 13 more failed; of these the log says that they failed, too, or nothing.`: all failures are more than those that diverged. What fails without an
/// answer is a failure, whatever the recorded one did.
fn other_failures(run: &AskedRun, all: &[&ReplayDivergence]) -> String {
    let failed = run.analysis.points.iter().filter_map(|point| Some(point.summary.as_ref()?.failed));
    let diverged = all.iter().flat_map(|one| &one.kinds).map(|kind| kind.failed);
    match failed.fold(0_u64, u64::saturating_add).saturating_sub(diverged.fold(0_u64, u64::saturating_add)) {
        0 => String::new(),
        others => {
            format!(" {} more failed; of these the log says that they failed, too, or nothing.", whole(others as f64))
        }
    }
}

/// `52 failed and 51 changed more or fewer rows`.
fn ways<'a>(kinds: impl Iterator<Item = &'a KindDivergence> + Clone) -> String {
    type Way = (fn(&KindDivergence) -> u64, &'static str);
    const WAYS: [Way; 5] = [
        (|kind| kind.failed, "failed"),
        (|kind| kind.succeeded, "did not fail"),
        (|kind| kind.returned, "returned more or fewer rows"),
        (|kind| kind.changed, "changed more or fewer rows"),
        (|kind| kind.other_id, "made another id"),
    ];
    let counted = WAYS.iter().filter_map(|(of, words)| {
        let count = kinds.clone().map(of).fold(0, u64::saturating_add);
        (count > 0).then(|| format!("{} {words}", whole(count as f64)))
    });
    join_and(&counted.collect::<Vec<String>>())
}

#[cfg(test)]
mod tests {
    use super::sentence;
    use crate::answer::AskedRun;
    use crate::simulated::{Simulation, run_of};
    use crate::{RepeatRows, analyse, answer};
    use model::Fact;

    fn trust(facts: &[(&str, &str)]) -> Vec<String> {
        let point = Simulation::counts(&[2_000; 20])
            .with(|point| facts.iter().for_each(|(name, text)| point.traits.learn(&Fact::new(*name, *text))));
        answer(&analyse(&run_of(vec![point.point()], Vec::new()))).trust
    }

    #[test]
    fn the_share_that_diverged_stands_behind_the_validity_with_what_differs() {
        let rows = ("replay_compared", "rows");
        let told = |facts: &[(&str, &str)]| trust(facts)[1].clone();
        assert_eq!(
            told(&[
                rows,
                ("replay_divergence.1", "12000 50 0 10 0 0 select c from t where id = ?"),
                ("replay_divergence.2", "300 2 1 0 40 0 update t set c = ?"),
            ]),
            "103 of 12,300 statements (0.8 %) diverged from the log: 52 failed, 1 did not fail, 10 returned more or fewer rows and 40 \
             changed more or fewer rows."
        );
        let one = told(&[rows, ("replay_divergence.1", "65363 0 0 0 1 0 update t set c = ?")]);
        assert!(one.starts_with("1 of 65,363 statements (fewer than 0.01 %) diverged"), "{one}");
        assert_eq!(
            told(&[rows, ("replay_divergence.1", "12000 0 0 0 0 0 select ?")]),
            "All 12,000 statements that were compared had as many rows as recorded."
        );
        assert_eq!(
            told(&[("replay_compared", "errors"), ("replay_divergence.1", "100 5 0 0 0 0 select ?")]),
            "5 of 100 statements (5.0 %) diverged from the log, which has no counts of rows: 5 failed."
        );
        let with_failures = Simulation::counts(&[2_000; 20]).with(|point| {
            point.phases[0].intervals[3].kinds[0].failed = 18;
            let facts = [("replay_compared", "errors"), ("replay_divergence.1", "100 5 0 0 0 0 select ?")];
            facts.iter().for_each(|(name, text)| point.traits.learn(&Fact::new(*name, *text)));
        });
        let said = answer(&analyse(&run_of(vec![with_failures.point()], Vec::new()))).trust;
        let expected = ": 5 failed. 13 more failed; of these the log says that they failed, too, or nothing.";
        assert!(said.iter().any(|sentence| sentence.ends_with(expected)), "{said:?}");
        let open = told(&[rows, ("replay_divergence.1", "12000 0 0 0 0 0 selec ?"), ("replay_failed_untold", "1069")]);
        let expected = " 1,069 had no rows then and failed now: the log does not say which statements failed, so they count as done.";
        assert!(open.ends_with(expected), "{open}");
        let fired = ("recorded.left_out_triggered", "1041");
        let fired = told(&[rows, ("replay_divergence.1", "12000 0 0 0 0 0 select ?"), fired]);
        assert!(
            fired.contains(" recorded. 1,041 statements were taken for those of triggers and left out: "),
            "{fired}"
        );
        let latin1 = ("recorded.skipped.statements_taken_for_latin1", "12, first in line 3");
        let latin1 = told(&[rows, ("replay_divergence.1", "12000 0 0 0 0 0 select ?"), latin1]);
        assert!(latin1.contains(" recorded. The bytes of 12 statements were taken for latin1, since "), "{latin1}");
        let order = |ahead: u64| {
            let text = format!(
                "1204 statements name a row that another session wrote before; 37 waited for it, 12.0 ms in all, the longest 3.00 ms; \
                 {ahead} went ahead of it"
            );
            told(&[rows, ("replay_divergence.1", "9 0 0 0 0 0 select ?"), ("replay_order", text.as_str())])
        };
        assert!(order(12).ends_with("as recorded."), "{}", order(12));
        let expected =
            " 45 of 1,204 statements that name a row which another session wrote before were sent ahead of that write.";
        assert!(order(45).ends_with(expected), "{}", order(45));
        assert_eq!(
            told(&[("replay_compared", "nothing")]),
            "The log has no counts of rows and no errors: whether the statements did what was recorded is not known."
        );
        assert_eq!(
            told(&[("replay_compared", "hashed")]),
            "The workload file has no answers, since its values are hashed: whether the statements did what was recorded is not known."
        );
        assert_eq!(trust(&[]), ["The point is valid."]);
    }

    #[test]
    fn rows_that_the_copy_lacks_are_told_from_the_first_statement_on() {
        let told = |loads: &str| {
            let compared = [("replay_compared", "errors"), ("replay_divergence.1", "34 0 0 0 0 0 select ?")];
            trust(&[compared[0], compared[1], ("recorded.left_out_loads", loads)])[1].clone()
        };
        assert!(told("0").ends_with("has no counts of rows."), "{}", told("0"));
        let one = " One COPY or LOAD DATA was left out, since no log has its data: its rows are missing in the copy.";
        assert!(told("1").ends_with(one), "{}", told("1"));
        assert!(told("1200").contains(" 1,200 COPY and LOAD DATA statements were left out"), "{}", told("1200"));
    }

    #[test]
    fn statements_that_nobody_saw_end_are_told() {
        let told = |count: &str| {
            let open = ("recorded.skipped.statements_without_an_end", count);
            trust(&[("replay_compared", "rows"), ("replay_divergence.1", "34 0 0 0 0 0 select ?"), open])[1].clone()
        };
        let one = " One statement was left out: the capture, or its session, ended before it was answered.";
        assert!(told("1").ends_with(one), "{}", told("1"));
        assert!(told("2").ends_with(
            " 2 statements were left out: the capture, or their sessions, ended before they were answered."
        ));
    }

    #[test]
    fn counts_of_a_damaged_file_saturate() {
        let facts = [("replay_compared", "errors"), ("replay_divergence.1", "100 5 0 0 0 0 select ?")];
        let point = Simulation::counts(&[2_000; 20]).with(|point| {
            facts.iter().for_each(|(name, text)| point.traits.learn(&Fact::new(*name, *text)));
        });
        let mut analysis = analyse(&run_of(vec![point.clone().point(), point.point()], Vec::new()));
        let rows = RepeatRows::from_analysis(&analysis).analysis;
        let summaries = analysis.points.iter_mut().filter_map(|point| point.summary.as_mut());
        summaries.for_each(|summary| summary.failed = u64::MAX);
        let said = sentence(&AskedRun { analysis: &analysis, rows: &rows }).expect("it is a replay");
        assert!(said.contains(" more failed; of these the log says"), "{said}");
    }

    #[test]
    fn a_key_of_which_nothing_was_moved_is_told() {
        let told = |keys: &str| trust(&[("replay_compared", "nothing"), ("replay_keys", keys)])[1].clone();
        let (moved, still) =
            ("orders.id above 500 by 1000 in each further copy: 12 values", "by 50 in each further copy: 0 values");
        assert!(told(moved).ends_with(" is not known."), "{}", told(moved));
        assert!(told("none: one copy keeps its values").ends_with(" is not known."));
        let both = told(&format!("{moved}; orders.customer {still}"));
        assert!(both.ends_with(" No value of orders.customer was moved: the copies share its rows."), "{both}");
        let two =
            told(&format!("a.x:b.y above 7 {still}, and 3 stayed because the column cannot hold them; c.z {still}"));
        assert!(two.ends_with(" No value of a.x:b.y and c.z was moved: the copies share its rows."), "{two}");
    }

    #[test]
    fn a_copy_that_was_not_restored_is_told() {
        let told = |counters: &[&str]| {
            let point = |counters: &&str| {
                let facts = [("replay_compared", "rows"), ("replay_ids", "9 set"), ("replay_counters", *counters)];
                let point = Simulation::counts(&[2_000; 20]).with(|point| {
                    facts.iter().for_each(|(name, text)| point.traits.learn(&Fact::new(*name, *text)));
                });
                point.point()
            };
            let analysis = analyse(&run_of(counters.iter().map(point).collect(), Vec::new()));
            let rows = RepeatRows::from_analysis(&analysis).analysis;
            sentence(&AskedRun { analysis: &analysis, rows: &rows }).expect("it is a replay")
        };
        let (first, later) = ("lines.id 5000, orders.id 2000", "lines.id 5300, orders.id 2200");
        assert!(!told(&[first, first]).contains("restore"), "{}", told(&[first, first]));
        let more = told(&[first, later]);
        assert!(
            more.contains(" When some points began, the copy had given 500 more ids than when others did: restore it"),
            "{more}"
        );
        let low = told(&["orders.id 2000; sessions say ids that are lower by about 843"]);
        assert!(low.ends_with(" are about 843 lower than its next ones. Restore it with its counters."), "{low}");
    }

    #[test]
    fn statements_that_plimsoll_held_back_for_long_are_told() {
        // Of 40 s of one client.
        let told = |times: &str| {
            let text =
                format!("9 statements name a row that another session wrote before; {times}; 0 went ahead of it");
            let facts = [
                ("replay_compared", "rows"),
                ("replay_divergence.1", "9 0 0 0 0 0 s"),
                ("replay_order", text.as_str()),
            ];
            let point = Simulation::counts(&[2_000; 40]).with(|point| {
                facts.iter().for_each(|(name, text)| point.traits.learn(&Fact::new(*name, *text)));
            });
            answer(&analyse(&run_of(vec![point.point()], Vec::new()))).trust[1].clone()
        };
        let says = |times: &str, time: &str| {
            let expected =
                format!(" Plimsoll itself held statements back for {time} in all, to keep their order on rows.");
            assert!(told(times).ends_with(&expected), "{}", told(times));
        };
        let is_silent = |times: &str| assert!(told(times).ends_with("as recorded."), "{}", told(times));
        is_silent("4 waited for it, 1.90 s in all, the longest 400 ms");
        says("4 waited for it, 2.10 s in all, the longest 400 ms", "2.10 s");
        is_silent("4 waited for it, 1.50 s in all, the longest 990 ms; 1 waited in vain, 990 ms in all");
        says("4 waited for it, 1.50 s in all, the longest 1.00 s; 1 waited in vain, 1.00 s in all", "1.50 s");
    }
}
