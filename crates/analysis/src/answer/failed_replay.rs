//! That statements of a replay failed, before anything else is said of it: a server that refuses them is fast.
//!
//! In: the points of a run. Out: how many failed, with the most frequent message, and what to do. Limits: nothing if no more than one in a
//! hundred failed.

use super::asked::AskedRun;
use super::claim::{Claim, ClaimKind};
use super::losses;
use super::speech::unquoted;
use crate::findings::outage::Outages;
use crate::points::failed_replay::{FAILED_MAX, FailedReplay, failed_share};
use crate::{Code, DetailKind};
use model::{ComparedBy, Nanos};
use words::quantity::{percent, time, whole};

use Remedy::{Says, WentAway};

/// A longer message would be all that is read.
const MESSAGE_CHARS_MAX: usize = 120;

/// `1,204 of 24,080 statements failed (5.0 %), most of them with: Table 'shop.x' doesn't exist.`
pub fn failed_sentence(failed: &FailedReplay) -> String {
    let (message, times) = (unquoted(&failed.message.0), failed.message.1);
    let most = if times >= failed.failed {
        "all with"
    } else if 2 * times > failed.failed {
        "most of them with"
    } else {
        "most often with"
    };
    let cut: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
    let end = if cut.len() < message.len() { "..." } else { "." };
    format!(
        "{} of {} statements failed ({}), {most}: {}{end}",
        whole(failed.failed as f64),
        whole(failed.sent as f64),
        percent(failed.failed as f64 / failed.sent as f64),
        cut.trim_end_matches('.')
    )
}

/// What is probably wrong, and what to do. `gone_at`: when the server went away, after the replay began, if that is known.
pub fn remedy(failed: &FailedReplay, gone_at: Option<Nanos>) -> String {
    let message = &failed.message.0;
    let known = REMEDIES.iter().find(|(parts, _)| parts.iter().all(|part| message.contains(part)));
    match known.map_or(Says(LOOK), |(_, remedy)| *remedy) {
        Says(ROWS_THERE) if failed.has_keys => ROWS_OF_KEYS.to_owned(),
        Says(ROWS_THERE) if failed.told_ids > 0 => ROWS_OF_IDS.to_owned(),
        Says(OTHER_SYNTAX) if failed.compared_by == ComparedBy::Nothing => OTHER_SYNTAX_OR_FAILED.to_owned(),
        Says(remedy) => remedy.replace("{}", quoted_in(message).unwrap_or("that they name")),
        WentAway => went_away(gone_at),
    }
}

fn went_away(at: Option<Nanos>) -> String {
    let when = at.map_or("during the replay".to_owned(), |at| format!("{} into the replay", time(at.0 as f64)));
    format!("The server went away {when}: look at its error log, restore the copy, and replay again.")
}

/// What is claimed of `run` first. In a search that is only said if statements fail at every multiple of the load: else the load is the reason.
pub(super) fn claims(run: &AskedRun) -> Vec<Claim> {
    let points = || run.analysis.points.iter().filter(|point| point.summary.is_some());
    let is_of_load = !run.analysis.searches.is_empty()
        && points().any(|point| failed_share(point).is_none_or(|share| share <= FAILED_MAX));
    let Some(failed) = FailedReplay::of(points()).filter(|_| !is_of_load) else { return Vec::new() };
    let claim = |sentence| Claim::new(ClaimKind::Caution, sentence).from_finding(Code::Errors);
    let counted = claim(failed_sentence(&failed)).figure("failed", failed.failed as f64, None);
    let outages = points().flat_map(|point| &point.findings).filter_map(|one| Outages::in_detail(&one.detail));
    let gone_at = outages.map(|outages| outages.longest_at_ns).min();
    let remedy = losses::remedy(run).unwrap_or_else(|| claim(unquoted(&remedy(&failed, gone_at))));
    vec![counted, remedy]
}

const LACKS_TABLE: &str =
    "The copy lacks table {}: make it from a backup of the recorded server, or name its schema by --schemas.";
const OTHER_COLUMNS: &str =
    "Tables of the copy have other columns than those of the recorded server: make the copy from a backup of it.";
const LACKS_SCHEMA: &str = "The copy lacks schema {}: restore it there, or say what it is called by --schemas.";
const LACKS_FUNCTION: &str = "The copy lacks a function that statements call: restore functions and procedures, too.";
const NO_SCHEMA: &str =
    "The log does not say in which schema these statements are: name it in the URL, as mysql://USER@HOST/SCHEMA.";
const NO_RIGHTS: &str = "The account of the URL lacks rights on the copy: GRANT them, and replay again.";
const READ_ONLY: &str =
    "Statements write, and the replay is read-only: use --allow-writes true on a copy that you can throw away.";
const NO_CONNECTIONS: &str = "The server has too few connections: raise max_connections, or give fewer --clients.";
const ROWS_THERE: &str = "The copy has rows already that the log inserts: restore it before each replay, and if several copies of the log \
    insert, give each its own keys by --keys.";
const ROWS_OF_KEYS: &str = "The copy has rows already that the log inserts, although copies have keys of their own: restore it before each replay, \
    and name each unique column into which the log inserts by --keys; the fact replay_keys has how many values of each have moved.";
const ROWS_OF_IDS: &str = "The copy has rows already that the log inserts, or an id was told to it that it had given to a row which the log does not \
    show, as a trigger inserts it: restore it before each replay, give each of several copies of the log its own keys by --keys, and see the fact \
    replay_ids; a capture of packets has the ids themselves.";
const NO_PARENT: &str = "Rows name others that the copy lacks, such as rows whose ids the server made: restore the copy with its counters before each \
    replay, or capture packets, which have these ids; with --keys name the column that refers to a key behind it, as orders.id:order_lines.order_id.";
const LOCKED: &str = "Statements waited for locks of each other: that is what this server does under this load.";
const TIME_LIMIT: &str = "A time limit of the server ended them: set it as on the recorded server, and replay again.";
const OTHER_SYNTAX: &str =
    "The copy does not know these statements: compare its version and sql_mode with the recorded server's.";
const OTHER_SYNTAX_OR_FAILED: &str = "The copy does not know these statements, or they failed then, too, which the log does not say: compare \
    its version and sql_mode with the recorded server's.";
const NO_ANSWER: &str = "The server ended connections or did not answer: look at its error log.";
const LOOK: &str = "Mend what the message says, and replay again; --details has the kinds of statement that failed.";

/// What is said of a message.
#[derive(Clone, Copy)]
enum Remedy {
    /// These words, with the name that the message quotes in place of `{}`.
    Says(&'static str),
    /// When the server went away.
    WentAway,
}

/// By what a message has in it, in MySQL's and MariaDB's words or in PostgreSQL's. The first that fits counts.
const REMEDIES: &[(&[&str], Remedy)] = &[
    (&["Table '", "doesn't exist"], Says(LACKS_TABLE)),
    (&["relation \"", "does not exist"], Says(LACKS_TABLE)),
    (&["Unknown column"], Says(OTHER_COLUMNS)),
    (&["column ", "does not exist"], Says(OTHER_COLUMNS)),
    (&["Unknown database"], Says(LACKS_SCHEMA)),
    (&["schema \"", "does not exist"], Says(LACKS_SCHEMA)),
    (&["database \"", "does not exist"], Says(LACKS_SCHEMA)),
    (&["FUNCTION ", "does not exist"], Says(LACKS_FUNCTION)),
    (&["PROCEDURE ", "does not exist"], Says(LACKS_FUNCTION)),
    (&["function ", "does not exist"], Says(LACKS_FUNCTION)),
    (&["denied", "'information_schema'"], Says(NO_SCHEMA)),
    (&["denied"], Says(NO_RIGHTS)),
    (&["READ ONLY transaction"], Says(READ_ONLY)),
    (&["read-only"], Says(READ_ONLY)),
    (&["Too many connections"], Says(NO_CONNECTIONS)),
    (&["too many clients"], Says(NO_CONNECTIONS)),
    (&["connection slots"], Says(NO_CONNECTIONS)),
    (&["Duplicate entry"], Says(ROWS_THERE)),
    (&["duplicate key value"], Says(ROWS_THERE)),
    (&["violates foreign key constraint"], Says(NO_PARENT)),
    (&["a foreign key constraint fails"], Says(NO_PARENT)),
    (&["Lock wait timeout"], Says(LOCKED)),
    (&["eadlock"], Says(LOCKED)),
    (&["max_statement_time"], Says(TIME_LIMIT)),
    (&["maximum statement execution time"], Says(TIME_LIMIT)),
    (&["statement timeout"], Says(TIME_LIMIT)),
    (&["syntax"], Says(OTHER_SYNTAX)),
    (&["connection refused"], WentAway),
    (&["connection was lost"], Says(NO_ANSWER)),
    (&["did not answer"], Says(NO_ANSWER)),
];

/// The first name in quotes: `shop.x` of `Table 'shop.x' doesn't exist`.
fn quoted_in(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once(['\'', '"'])?;
    rest.split_once(['\'', '"']).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, replay_with_failures as replay, run_of};
    use crate::{Analysis, analyse, answer};

    fn of(points: Vec<Simulation>) -> Analysis {
        analyse(&run_of(points.into_iter().map(Simulation::point).collect(), Vec::new()))
    }

    fn said(points: Vec<Simulation>) -> Vec<String> {
        answer(&of(points)).claims.into_iter().map(|claim| claim.sentence).collect()
    }

    const NO_TABLE: &str = "Table 'shop.orders' doesn't exist";

    #[test]
    fn failures_are_the_first_claim_with_their_message_and_what_to_do() {
        let told = said(vec![replay(1_000, &[(900, NO_TABLE), (100, "Unknown column 'a' in 'field list'")])]);
        assert_eq!(
            told[..2],
            [
                "1,000 of 21,000 statements failed (4.8 %), most of them with: Table 'shop.orders' doesn't exist.",
                "The copy lacks table shop.orders: make it from a backup of the recorded server, or name its schema by --schemas.",
            ]
        );
        assert!(answer(&of(vec![replay(1_000, &[(1_000, NO_TABLE)])])).begins_with_failures());
    }

    #[test]
    fn a_server_that_went_away_has_the_moment_in_the_advice() {
        use model::{Event, FailureClass, FailureMessage, Tick};
        let counts: Vec<u64> = (0..60).map(|at| if (20..25).contains(&at) { 0 } else { 1_000 + at % 7 }).collect();
        let gone = Simulation::counts(&counts).with(|point| {
            point.phases[0].intervals[20..25].iter_mut().for_each(|interval| interval.kinds[0].failed = 400);
            let lost = "client 0: the connection was lost";
            point.events.push(Event::failure(Tick(20_200_000_000), FailureClass::Lost, lost));
            let message = "connection refused at host `h`, port 3306".to_owned();
            point.traits.outcome.replay_failures = vec![FailureMessage { failed: 2_000, message }];
        });
        assert_eq!(
            said(vec![gone])[1],
            "The server went away 20.2 s into the replay: look at its error log, restore the copy, and replay again."
        );
    }

    #[test]
    fn one_in_a_hundred_and_failures_of_other_loads_are_not_told_first() {
        let few = answer(&of(vec![replay(100, &[(100, NO_TABLE)])]));
        assert!(!few.begins_with_failures(), "{:?}", few.claims);
        let other = said(vec![replay(1_000, &[])]);
        assert!(other.iter().all(|sentence| !sentence.contains("statements failed")), "{other:?}");
    }

    #[test]
    fn a_remedy_is_for_the_message_in_the_words_of_each_server() {
        let remedy_of = |message: &str, has_keys, told_ids| {
            let message = (message.to_owned(), 1);
            let compared_by = ComparedBy::Nothing;
            remedy(&FailedReplay { failed: 1, sent: 1, message, has_keys, told_ids, compared_by }, None)
        };
        let remedy = |message: &str| remedy_of(message, false, 0);
        assert!(remedy("relation \"orders\" does not exist").starts_with("The copy lacks table orders:"));
        assert!(remedy("Unknown database 'shop'").starts_with("The copy lacks schema shop:"));
        assert_eq!(remedy("column o.total does not exist"), OTHER_COLUMNS);
        assert_eq!(remedy("function f(integer) does not exist"), LACKS_FUNCTION);
        assert_eq!(remedy("SELECT command denied to user 'a'@'b' for table 't'"), NO_RIGHTS);
        assert_eq!(remedy("Access denied for user ? to database 'information_schema'"), NO_SCHEMA);
        assert_eq!(remedy("cannot execute UPDATE in a read-only transaction"), READ_ONLY);
        let refused = remedy("connection refused at host `127.0.0.1`, port 3306; is the server there?");
        assert!(refused.starts_with("The server went away during the replay: look at its error log"), "{refused}");
        let there = "ERROR 1062 (23000): Duplicate entry ? for key 'PRIMARY'";
        assert!(remedy(there).ends_with("its own keys by --keys."));
        assert_eq!(remedy_of(there, true, 7), ROWS_OF_KEYS);
        assert_eq!(remedy_of(there, false, 7), ROWS_OF_IDS);
        for server in [
            "insert or update on table \"a\" violates foreign key constraint \"b\"",
            "a foreign key constraint fails (`a`)",
        ] {
            assert_eq!(remedy(server), NO_PARENT);
        }
        assert_eq!(remedy("it is broken"), LOOK);
        let syntax = "ERROR 1064 (42000): You have an error in your SQL syntax";
        assert_eq!(remedy(syntax), OTHER_SYNTAX_OR_FAILED);
        let message = (syntax.to_owned(), 1);
        let compared_by = ComparedBy::Errors;
        let failed = FailedReplay { failed: 1, sent: 1, message, has_keys: false, told_ids: 0, compared_by };
        assert_eq!(super::remedy(&failed, None), OTHER_SYNTAX);
    }
}
