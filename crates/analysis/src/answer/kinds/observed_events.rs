//! Conditions of the user that held while a server was watched: when, for how long, and who blocked whom.
//!
//! In: the events of a watched point. Out: a claim for the longest of them, one for what was seen in the gravest, and one for conditions that did
//! not hold. Limits: all of them are in the details; who blocks whom is what the server said at the moments at which it was asked.

use super::super::speech::short_enough;
use super::super::{Claim, ClaimKind, WORDS_MAX};
use model::{Observation, ObservedEvent, ObservedSession, ServerLook, WatchedFigure};
use words::cell::{seconds, utc};
use words::code::quoted_text;
use words::list::join_and;
use words::quantity::{count, percent, plural, time, whole};

/// The most characters of a statement in a claim.
const TEXT_CHARS: usize = 60;

/// What is claimed of the events of a point whose run began at `started_unix_ms`.
pub(super) fn claims(seen: &Observation, started_unix_ms: u64) -> Vec<Claim> {
    let all = &seen.events;
    let Some(longest) = all.iter().reduce(|most, event| if event.lasted > most.lasted { event } else { most }) else {
        return Vec::new();
    };
    let waits = |event: &ObservedEvent| event.telling_look().map_or(0, |look| look.waits.len());
    let gravest = all.iter().fold(longest, |most, event| if waits(event) > waits(most) { event } else { most });
    let held = Claim::new(ClaimKind::Disturbance, held_sentence(seen, longest, started_unix_ms));
    let blocked = gravest.telling_look().and_then(seen_sentence);
    let blocked = blocked.map(|sentence| Claim::new(ClaimKind::Disturbance, sentence));
    [Some(held), blocked].into_iter().flatten().collect()
}

/// `waiting>0 did not hold.`
pub(super) fn unheld_claim(seen: &Observation) -> Option<Claim> {
    let unheld = Some(&seen.unheld).filter(|unheld| !unheld.is_empty())?;
    let counted = format!("{} conditions of yours did not hold.", unheld.len());
    let sentence = short_enough(vec![format!("{} did not hold.", join_and(unheld)), counted]);
    Some(Claim::new(ClaimKind::Steadiness, sentence))
}

/// `waiting>0 held 3 times, the longest time for 12.0 s from 2026-11-29 22:58:03 UTC on: 4 at most.`
fn held_sentence(seen: &Observation, longest: &ObservedEvent, started_unix_ms: u64) -> String {
    let number = seen.events.len() as u64 + seen.events_left_out;
    let condition = &longest.condition;
    let times = match number {
        1 => format!("{condition} held for"),
        _ if seen.events.iter().all(|event| event.condition == *condition) => {
            format!("{condition} held {number} times, the longest time for")
        }
        _ => format!("Conditions of yours held {number} times, the longest time {condition} for"),
    };
    let lasted = time(longest.lasted.0 as f64);
    let from = utc(started_unix_ms.saturating_add(longest.at.0 / 1_000_000));
    let extreme = if condition.contains('<') { "at least" } else { "at most" };
    let end = if longest.goes_on { ", and went on" } else { "" };
    let value = figure(longest.figure, longest.worst);
    format!("{times} {lasted} from {from} on{end}: {value} {extreme}.")
}

/// `value` in the unit of `figure`.
fn figure(figure: WatchedFigure, value: f64) -> String {
    match figure {
        WatchedFigure::Mean => time(value).to_string(),
        WatchedFigure::Cpu | WatchedFigure::Disk => percent(value).to_string(),
        WatchedFigure::Qps => count(value).to_string(),
        WatchedFigure::Running | WatchedFigure::Waiting | WatchedFigure::Connections => whole(value).to_string(),
    }
}

/// Who blocked whom; else what worked longest; else why that is not known.
fn seen_sentence(look: &ServerLook) -> Option<String> {
    if look.head_blocker().is_some() {
        return blocked_sentence(look);
    }
    if let Some(session) = look.sessions.iter().find(|session| !session.statement.is_empty()) {
        let others = match look.sessions.len() as u64 + look.sessions_left_out {
            1 => String::new(),
            all => format!(", the longest of {all} sessions"),
        };
        let done = format!("{} was at this for {}{others}", named(session), seconds(session.seconds));
        return Some(with_statement(&done, Some(session)));
    }
    let failed: String = look.failed.as_ref()?.chars().take(140).collect();
    Some(short_enough(vec![
        format!("What happened then was not seen: {failed}."),
        "It was not seen what happened then.".into(),
    ]))
}

/// `Session 12 of jo, idle in a transaction of 40 s, blocked 3 sessions; session 15 of ann waited for 8 s: update t set n = ?.`
fn blocked_sentence(look: &ServerLook) -> Option<String> {
    let (blocker, waits) = look.head_blocker()?;
    let head = match look.session(blocker) {
        _ if blocker == 0 => "A prepared transaction".to_owned(),
        None => format!("Session {blocker}"),
        Some(session) => match session.transaction_s.filter(|_| session.is_idle_in_transaction()) {
            Some(open_s) => format!("{}, idle in a transaction of {},", named(session), seconds(open_s)),
            None => format!("{}, at work for {},", named(session), seconds(session.seconds)),
        },
    };
    let first = waits.first()?;
    let waiter = look.session(first.waiter);
    let name = waiter.map_or_else(|| format!("session {}", first.waiter), |session| lower(named(session)));
    let waited = first.seconds.map_or(String::new(), |waited_s| format!(" for {}", seconds(waited_s)));
    let blocked = plural(waits.len() as u64, "session");
    Some(with_statement(&format!("{head} blocked {blocked}; {name} waited{waited}"), waiter))
}

/// `Session 12 of jo`.
fn named(session: &ObservedSession) -> String {
    if session.user.is_empty() {
        format!("Session {}", session.id)
    } else {
        format!("Session {} of {}", session.id, session.user)
    }
}

fn lower(name: String) -> String {
    name.replacen("Session", "session", 1)
}

/// The sentence with as much of the statement of `session` as there is room for.
fn with_statement(said: &str, session: Option<&ObservedSession>) -> String {
    let text = session.map_or("", |session| session.statement.as_str());
    let room = WORDS_MAX.saturating_sub(said.split_whitespace().count());
    let words: Vec<&str> = text.split_whitespace().take(room).collect();
    let part: String = words.join(" ").chars().take(TEXT_CHARS).collect();
    if part.is_empty() {
        format!("{said}.")
    } else if part.len() < text.len() {
        format!("{said}: {}..", quoted_text(part.trim_end()))
    } else {
        format!("{said}: {}.", quoted_text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Nanos, ObservedWait, Tick};

    fn session(id: u64, doing: &str, statement: &str, transaction_s: Option<f64>) -> ObservedSession {
        let (doing, statement) = (doing.to_owned(), statement.to_owned());
        ObservedSession { id, user: "jo".into(), doing, statement, seconds: 8.0, transaction_s, ..Default::default() }
    }

    fn event(at_s: u64, lasted_s: u64, looks: Vec<ServerLook>) -> ObservedEvent {
        ObservedEvent {
            at: Tick(at_s * 1_000_000_000),
            lasted: Nanos::from_secs(lasted_s),
            condition: "waiting>0".into(),
            figure: WatchedFigure::Waiting,
            worst: 4.0,
            looks,
            ..ObservedEvent::default()
        }
    }

    fn sentences(seen: &Observation) -> Vec<String> {
        let all: Vec<String> = claims(seen, 951_782_400_000).into_iter().map(|claim| claim.sentence).collect();
        for sentence in &all {
            assert!(sentence.split_whitespace().count() <= WORDS_MAX && sentence.ends_with('.'), "{sentence}");
        }
        all
    }

    #[test]
    fn an_event_is_told_with_its_time_and_both_sides_of_a_lock() {
        let look = ServerLook {
            sessions: vec![
                session(12, "Sleep", "", Some(40.0)),
                session(15, "Query: Updating", "update t set n = n + ? where id = ?", Some(8.0)),
            ],
            waits: vec![ObservedWait { waiter: 15, blocker: 12, seconds: Some(8.0), lock: None }],
            ..ServerLook::default()
        };
        let seen = Observation { events: vec![event(3, 12, vec![look])], ..Observation::default() };
        assert_eq!(
            sentences(&seen),
            [
                "waiting>0 held for 12.0 s from 2000-02-29 00:00:03 UTC on: 4 at most.",
                "Session 12 of jo, idle in a transaction of 40 s, blocked 1 session; session 15 of jo waited for 8 s: \
                 update t set n = n + ?..",
            ]
        );
    }

    #[test]
    fn of_several_events_the_longest_is_told_and_what_was_seen_in_the_gravest() {
        let waits = |blocker| ServerLook {
            waits: vec![ObservedWait { waiter: 9, blocker, ..ObservedWait::default() }],
            ..ServerLook::default()
        };
        let events = vec![event(1, 5, vec![waits(0)]), event(60, 30, vec![ServerLook::default()])];
        let seen = Observation { events, events_left_out: 2, ..Observation::default() };
        assert_eq!(
            sentences(&seen),
            [
                "waiting>0 held 4 times, the longest time for 30.0 s from 2000-02-29 00:01:00 UTC on: 4 at most.",
                "A prepared transaction blocked 1 session; session 9 waited.",
            ]
        );
    }

    #[test]
    fn without_locks_the_longest_work_is_told_and_without_an_answer_why() {
        let busy = ServerLook { sessions: vec![session(7, "Query", "select ?", None)], ..ServerLook::default() };
        let seen = Observation { events: vec![event(0, 2, vec![busy])], ..Observation::default() };
        assert_eq!(sentences(&seen)[1], "Session 7 of jo was at this for 8 s: select ?.");
        let silent = ServerLook { failed: Some("time out".into()), ..ServerLook::default() };
        let seen = Observation { events: vec![event(0, 2, vec![silent])], ..Observation::default() };
        assert_eq!(sentences(&seen)[1], "What happened then was not seen: time out.");
        assert!(sentences(&Observation::default()).is_empty());
    }

    #[test]
    fn conditions_that_did_not_hold_are_told() {
        let told = |conditions: &[&str]| {
            let unheld = conditions.iter().map(|condition| (*condition).to_owned()).collect();
            unheld_claim(&Observation { unheld, ..Observation::default() }).map(|claim| claim.sentence)
        };
        assert_eq!(told(&[]), None);
        assert_eq!(told(&["waiting>0"]).as_deref(), Some("waiting>0 did not hold."));
        assert_eq!(told(&["running>50", "cpu>90%"]).as_deref(), Some("running>50 and cpu>90% did not hold."));
        assert_eq!(told(&["running>50"; 40]).as_deref(), Some("40 conditions of yours did not hold."));
    }

    #[test]
    fn a_statement_keeps_the_quotes_of_a_name_that_needs_them() {
        let told = |statement: &str| with_statement("It waited", Some(&session(7, "Query", statement, None)));
        assert_eq!(
            told("update shop.`order lines` set n = ?"),
            "It waited: `` update shop.`order lines` set n = ? ``."
        );
        assert_eq!(told("update `t` set n = ?"), "It waited: update t set n = ?.");
    }

    #[test]
    fn long_statements_are_cut_and_figures_have_their_units() {
        let busy = ServerLook {
            sessions: vec![session(7, "Query", &"select a from b where ".repeat(9), None)],
            sessions_left_out: 11,
            ..ServerLook::default()
        };
        let seen = Observation { events: vec![event(0, 2, vec![busy])], ..Observation::default() };
        assert!(
            sentences(&seen)[1]
                .starts_with("Session 7 of jo was at this for 8 s, the longest of 12 sessions: select a")
        );
        let units = [(WatchedFigure::Mean, 5e7), (WatchedFigure::Cpu, 0.93), (WatchedFigure::Running, 21.0)];
        assert_eq!(units.map(|(of, value)| figure(of, value)), ["50.0 ms", "93 %", "21"]);
    }
}
