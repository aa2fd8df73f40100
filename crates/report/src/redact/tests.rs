//! Tests of the replacement of names: runs that hold names in every field.
//!
//! In: made runs. Out: no text of them, or made of them, holds a name. Limits: a kind of name that is new needs a secret here.

use super::*;
use crate::testing::{meta, recorded};
use model::limit::{ArrivalLaw, LimitPart, LimitSpec, Objective};
use model::stacks::FoldedStack;
use model::{
    BrokenCondition, ChangedSetting, Event, EventKind, Fact, FailureMessage, HoldOutcome, HostData, HostId, HostRole,
    IoWorkers, KindDivergence, KindPlan, KindResults, MissingPart, Nanos, Observation, ObservedEvent, ObservedLog,
    ObservedMessage, ObservedReplica, ObservedSession, ObservedStatement, ObservedWait, OtherServerSeen, PointData,
    PointHost, ReplayDivergence, ServerLook, ServerSetting, SourceDef, StackReason, StackSnapshot, StatementResult,
    StepIndexes, StepWork, Tick, Trial, UsedSet, Value, VariantWork, WhySpec,
};

/// What a reader must not find, in any capitals.
const SECRETS: [&str; 6] = ["zacharias", "vault7", "corp.example", "10.77.66.55", "zebra-crossing", "qx99812"];

/// A sentence with all of them.
const PLANTED: &str = " zacharias at vault7.corp.example (10.77.66.55) in /srv/zebra-crossing/bench/f0 on SN-QX99812";

fn look() -> ServerLook {
    let session = ObservedSession {
        user: "jo".into(),
        database: Some("shop".into()),
        doing: "Query".into(),
        statement: "select a from t".into(),
        ..ObservedSession::default()
    };
    let wait = ObservedWait { lock: Some("shop.t".into()), ..ObservedWait::default() };
    let failed = Some("it did not answer".into());
    ServerLook { sessions: vec![session], waits: vec![wait], failed, ..ServerLook::default() }
}

fn full_observation() -> Observation {
    let statement = |text: &str| ObservedStatement {
        text: text.into(),
        database: Some("shop".into()),
        ..ObservedStatement::default()
    };
    Observation {
        statements: vec![statement("SELECT a FROM t")],
        others: Some(statement("others")),
        missing: vec![MissingPart { what: "statements".into(), mend: "a setting".into() }],
        url: Some("mysql://jo@db/".into()),
        log: Some(ObservedLog {
            file: "/var/log/error.log".into(),
            messages: vec![ObservedMessage { text: "it ended".into(), ..ObservedMessage::default() }],
            ..ObservedLog::default()
        }),
        replica: Some(ObservedReplica { stopped_by: "a thread".into(), ..ObservedReplica::default() }),
        events: vec![ObservedEvent { condition: "waiting>0".into(), looks: vec![look()], ..ObservedEvent::default() }],
        unheld: vec!["running>9".into()],
        ..Observation::default()
    }
}

/// A point with something in every field that holds text.
fn full_point() -> PointData {
    let mut point = recorded(1, "mariadb:innodb", 12, |_| 2_000);
    point.error = Some("it broke".to_owned());
    (point.trial.target.path, point.trial.target.programs) = (Some("acme/f0".into()), Some("/opt/x/bin".into()));
    point.trial.target.params.0.insert("url".into(), Value::Word("mysql://a@b/".into()));
    point.facts = vec![Fact::new("engine.version", "11.8"), Fact::new("durability", "os")];
    point.events = vec![Event::new(Tick(1_000_000_000), EventKind::Engine, "a line of the log")];
    point.sources = vec![SourceDef { name: "disk".into(), subject: "vda".into(), counters: Vec::new() }];
    point.stacks = vec![StackSnapshot {
        at: Tick(1),
        reason: StackReason::Stall,
        tool: "gdb".into(),
        took: Nanos(1),
        stopped: Nanos(1),
        stacks: vec![FoldedStack::new("main", ["work"])],
    }];
    point.hosts = vec![host()];
    let traits = &mut point.traits;
    (traits.engine.version, traits.engine.durability) = (Some("11.8".into()), Some("os".into()));
    traits.engine.limited_device = Some("vda".into());
    traits.engine.settings = vec![ServerSetting { name: "datadir".into(), value: "/srv/x".into(), matters: true }];
    traits.engine.endpoints = vec!["n1:3306".into()];
    traits.work.kernel = Some("crc".into());
    traits.work.step =
        Some(StepWork { name: "l.i0".into(), at: 0, drains: false, indexes: StepIndexes::default(), group: None });
    traits.work.variant = Some(VariantWork {
        name: "a".into(),
        param: "variant".into(),
        parts: Vec::new(),
        is_cold: false,
        timeout: None,
    });
    traits.course.replayed_steps = vec!["l.i0".into()];
    traits.defaults = vec!["block".into()];
    traits.imported = Some("fio 3.33".into());
    traits.observed = Some(full_observation());
    let outcome = &mut traits.outcome;
    outcome.changed_settings = vec![ChangedSetting { name: "x".into(), before: "1".into(), after: "2".into() }];
    outcome.server_ended = Some("killed".into());
    (outcome.data_set, outcome.data_set_changed) = (Some("a set".into()), Some("a run did".into()));
    outcome.broken_conditions = vec![BrokenCondition { number: 1, text: "a row of jo".into() }];
    outcome.other_server = Some(OtherServerSeen { first: "port `1`".into(), other: "port `2`".into() });
    outcome.io_workers = Some(IoWorkers { count: 1, cpu: Some("1 s".into()) });
    let steps = vec!["reads all of `jo`".into()];
    outcome.replay_plans = vec![KindPlan { kind: "select c from jo".into(), steps }];
    let results = KindResults { kind: "select c from jo".into(), checksum: "00".into(), ..KindResults::default() };
    outcome.replay_results = vec![results];
    outcome.replay_failures = vec![FailureMessage { failed: 1, message: "denied to jo".into() }];
    let kinds = vec![KindDivergence { kind: "select c from jo".into(), ..KindDivergence::default() }];
    let still_keys = vec!["jo.id".into()];
    outcome.replay_divergence = Some(ReplayDivergence { kinds, still_keys, ..ReplayDivergence::default() });
    outcome.result = Some(StatementResult { rows: 1, columns: 1, checksum: "00".into() });
    outcome.hold = Some(HoldOutcome { error: Some("too many".into()), ..HoldOutcome::default() });
    (outcome.built, outcome.plan) = (Some("a table".into()), Some("a plan".into()));
    point
}

fn host() -> HostData {
    let host = PointHost {
        id: HostId(1),
        name: "galactica".into(),
        incarnation: "4f".into(),
        role: HostRole::Load,
        share: None,
        facts: vec![Fact::new("cpu.model", "a CPU")],
        clock: None,
        start_skew_ns: None,
    };
    let mut recorded = HostData::unmeasured(host);
    recorded.sources = vec![SourceDef { name: "network".into(), subject: "eth0".into(), counters: Vec::new() }];
    recorded.events = vec![Event::new(Tick(1), EventKind::HostLost, "galactica is silent")];
    recorded
}

fn full_run() -> RunData {
    let point = full_point();
    let mut meta = meta();
    meta.plan.trials = vec![searching(&point.trial, "checkout")];
    meta.plan.ab = Some("engine".into());
    meta.plan.why = Some(WhySpec {
        run_id: "r".into(),
        point: 1,
        engine_version: Some("1".into()),
        rounds: 1,
        arms: Vec::new(),
        left_out: Vec::new(),
        parts: Vec::new(),
    });
    let machine = &mut meta.machine;
    (machine.disk, machine.ceilings_measured, machine.ceilings_kernel) =
        (Some("vda".into()), Some("today".into()), Some("6.1".into()));
    RunData { meta, points: vec![point] }
}

/// `trial` as a search for the largest rate, with a condition for the kind of operation `kind`, on a data set.
fn searching(trial: &Trial, kind: &str) -> Trial {
    let mut objective = Objective::parse("checkout:p99<50ms,p95<20ms").unwrap();
    objective.rename_kinds(|name| *name = kind.to_owned());
    let spec = LimitSpec { objective, hold: Nanos(1), rate_max: None, arrivals: ArrivalLaw::Constant };
    let data_set = Some(UsedSet { name: "a set".into(), seed: 1 });
    Trial { limit: Some(LimitPart { spec, probe: None }), data_set, ..trial.clone() }
}

/// A run that states its names once, and has them in every text.
fn planted_run() -> RunData {
    let mut run = full_run();
    run.meta.plan.why = None;
    visit_texts(&mut run, &mut |place, text| {
        if place == TextPlace::Other {
            text.push_str(PLANTED);
        }
    });
    run.points[0].facts.extend([
        Fact::new("server.url", "mysql://zacharias@vault7.corp.example:3306/x?socket=/srv/zebra-crossing/s.sock"),
        Fact::new("mariadb.bind_address", "10.77.66.55"),
        Fact::new("mariadb.datadir", "/srv/zebra-crossing/bench"),
        Fact::new("engine.note", PLANTED),
    ]);
    run.meta.environment.extend([
        Fact::new("disk.serial", "SN-QX99812"),
        Fact::new(
            COMMAND_FACT,
            "plimsoll file --path /dev/disk/by-id/x-QX99812 --dir ../zebra-crossing --destroy /dev/sda=SN-QX99812",
        ),
    ]);
    run.points[0].trial.target.path = Some("/srv/zebra-crossing/bench/f0".into());
    run.points[0].traits.imported = None;
    run
}

fn assert_clean(what: &str, text: &str) {
    let lower = text.to_lowercase();
    for secret in SECRETS {
        let at = lower.find(secret).map(|at| &lower[at.saturating_sub(60)..(at + 60).min(lower.len())]);
        assert!(at.is_none(), "{what} holds {secret}: {at:?}");
    }
}

#[test]
fn names_in_every_field_of_a_run_are_in_no_text_that_is_made_of_it() {
    let mut run = planted_run();
    let redaction = Redaction::parse("hosts, users,paths").unwrap();
    let redactor = Redactor::redact(redaction, &mut [&mut run]);
    assert_clean("the run", &format!("{run:?}"));
    assert_clean("a name", &redactor.text("run-of-Zacharias-on-VAULT7"));
    let analysis = analysis::analyse(&run);
    let html = crate::html(&analysis);
    assert!(html.contains("host-1") && html.contains("user-1") && html.contains("path-"));
    assert_clean("report.html", &html);
    assert_clean("report.md", &crate::markdown(&analysis));
    assert_clean("points.csv", &crate::points_csv(&analysis));
    assert_clean("intervals.csv", &crate::intervals_csv(&analysis));
    for figure in crate::charts::all_figures(&analysis).into_iter().flat_map(|(_, figures)| figures) {
        assert_clean(&figure.id, &plot::render_svg(&figure));
    }
}

#[test]
fn a_kind_has_the_same_name_in_an_objective_as_in_the_list_of_kinds() {
    let mut run = full_run();
    run.meta.plan.title = "on mysql://zacharias@vault7/".into();
    run.points[0].kinds[0].name = "orders of zacharias".into();
    run.points[0].trial = searching(&run.points[0].trial, "orders of zacharias");
    Redactor::redact(Redaction::parse("users").unwrap(), &mut [&mut run]);
    let limit = run.points[0].trial.limit.as_ref().unwrap();
    assert_eq!(limit.spec.objective.to_string(), "orders of user-1:p99<50ms,p95<20ms");
    assert_eq!(limit.spec.objective.kinds(), [run.points[0].kinds[0].name.as_str()]);
}

#[test]
fn what_was_not_asked_for_stays() {
    let mut run = planted_run();
    Redactor::redact(Redaction::parse("users").unwrap(), &mut [&mut run]);
    let text = format!("{run:?}");
    assert!(!text.contains("zacharias") && text.contains("vault7") && text.contains("/srv/zebra-crossing"), "{text}");
    let error = Redaction::parse("hosts,names").unwrap_err();
    assert!(error.starts_with("`names` is unknown: use `hosts`"), "{error}");
    assert!(Redaction::parse("").is_err());
}

#[test]
fn several_runs_have_one_number_for_one_name() {
    let (mut one, mut other) = (full_run(), full_run());
    one.meta.plan.title = "on mysql://ann@alpha/".into();
    other.meta.plan.title = "on mysql://ben@beta/ and mysql://ann@alpha/".into();
    let redaction = Redaction { hosts: true, users: true, paths: false };
    Redactor::redact(redaction, &mut [&mut one, &mut other]);
    let user = one.meta.plan.title.trim_start_matches("on ");
    assert!(
        other.meta.plan.title.ends_with(user) && !other.meta.plan.title.contains("beta"),
        "{}",
        other.meta.plan.title
    );
}

/// The texts in a value, apart from the names of its fields.
fn leaves(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(all) => all.iter().flat_map(leaves).collect(),
        serde_json::Value::Object(all) => all.values().flat_map(leaves).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_text_of_a_run_is_visited() {
    const SEEN: &str = "visited";
    /// Words of types, which are no texts.
    const WORDS: [&str; 19] = [
        "constant",
        "visited:p99<50ms,p95<20ms",
        "none",
        "nothing",
        "kept",
        "unknown",
        "stop",
        "time",
        "engine",
        "workload",
        "read-write",
        "write",
        "disk",
        "tuning",
        "other",
        "stall",
        "load",
        "qps",
        "note",
    ];
    let mut run = full_run();
    visit_texts(&mut run, &mut |_, text| *text = SEEN.to_owned());
    let point = &run.points[0];
    let values = [
        serde_json::to_value(&run.meta),
        serde_json::to_value(&point.trial),
        serde_json::to_value(&point.traits),
        serde_json::to_value(&point.facts),
        serde_json::to_value(&point.params),
        serde_json::to_value(&point.kinds),
        serde_json::to_value(&point.sources),
        serde_json::to_value(&point.events),
        serde_json::to_value(&point.hosts[0].host),
        serde_json::to_value(&point.hosts[0].sources),
        serde_json::to_value(point.hosts[0].events.iter().map(|event| &event.text).collect::<Vec<_>>()),
    ];
    let all: Vec<String> = values.into_iter().flat_map(|value| leaves(&value.unwrap())).collect();
    let missed: Vec<&String> = all.iter().filter(|text| *text != SEEN && !WORDS.contains(&text.as_str())).collect();
    assert!(missed.is_empty(), "add them to texts.rs: {missed:?}");
    assert!(all.iter().filter(|text| *text == SEEN).count() > 30);
}
