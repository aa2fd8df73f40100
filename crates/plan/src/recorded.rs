//! A plan that comes from a run file and not from text: is it one that this program could have made?
//!
//! In: a resolved plan, perhaps of a stranger or of another version. Out: nothing, or the first thing that does not fit. What is
//! below the plan relies on it: engines and workloads ask for parameters by name and type.
//! Limits: it asks for no more than that; whether the plan makes sense was asked when its text was read.

use crate::background;
use crate::common::{CLIENTS_MAX, DEPTH_MAX, INSTANCES_MAX, INTERVAL_MIN, PHASE_MAX, RATE_MAX};
use crate::error::{Place, PlanError};
use crate::limit;
use crate::point::longest_run;
use crate::statements;
use crate::sweep::TRIALS_MAX;
use crate::tables;
use crate::variants;
use model::limit::LimitPart;
use model::own_table::{OwnTable, ValueSource};
use model::sure::SurePlan;
use model::{
    Access, Catalogue, DistributionEntry, Entry, Pacing, ParamDef, ParamKind, Params, Phases, Plan, SPEED_MAX,
    SPEED_UNPACED, Trial, Until, Value,
};

/// Refuses `plan`, which `origin` holds, if this program could not have made it from text.
///
/// # Errors
/// The first point that does not fit, in one line.
pub fn check(plan: &Plan, origin: &str, catalogue: &Catalogue) -> Result<(), PlanError> {
    let refused = |nth: usize, what: String| Place::File(origin).error(format_args!("point {nth} of its plan: {what}"));
    if plan.trials.len() > TRIALS_MAX {
        return Err(Place::File(origin).error(format_args!("its plan has more than {TRIALS_MAX} points")));
    }
    if !plan.sure.is_none_or(could_be_asked_for) {
        return Err(Place::File(origin).error("its plan ends in a way that no plan can"));
    }
    let mut all = (1..).zip(&plan.trials);
    all.try_for_each(|(nth, trial)| fits(trial, catalogue).map_err(|what| refused(nth, what)))
}

/// Whether a plan can go on until it is sure in this way.
fn could_be_asked_for(sure: SurePlan) -> bool {
    let most = TRIALS_MAX as u32;
    let is_in_time = sure.budget.is_none_or(|budget| budget <= PHASE_MAX);
    sure.difference.is_allowed() && (2..=most).contains(&sure.pairs_max) && sure.comparisons <= most && is_in_time
}

fn fits(trial: &Trial, catalogue: &Catalogue) -> Result<(), String> {
    let engine = found(&trial.target.engine, "engine", &catalogue.engines)?;
    let workload = found(&trial.workload.name, "workload", &catalogue.workloads)?;
    if !engine.families.iter().any(|family| workload.families.contains(family)) {
        return Err(format!("engine `{}` cannot run workload `{}`", engine.name, workload.name));
    }
    all_declared(&engine, &trial.target.params, catalogue)?;
    all_declared(&workload, &trial.workload.params, catalogue)?;
    tables_can_be_made(&workload, &trial.workload.params, catalogue)?;
    let load = &trial.load;
    let within = |value: u32, most: u64| value > 0 && u64::from(value) <= most;
    if !within(load.clients, CLIENTS_MAX) || !within(load.depth, DEPTH_MAX) || trial.repeat == 0 || !paced(&load.pacing)
    {
        return Err("its load is none that a plan can have".to_owned());
    }
    if !within(trial.target.instances, INSTANCES_MAX) || u64::from(trial.all_clients()) > CLIENTS_MAX {
        return Err("its number of instances is none that a plan can have".to_owned());
    }
    if !trial.target.limits.cpu.is_none_or(limit::could_be_written) {
        return Err("its `cpu_limit` is none that a plan can have".to_owned());
    }
    if !trial.limit.as_ref().is_none_or(is_search) {
        return Err("its search is none that a plan can have".to_owned());
    }
    if !trial.share.is_none_or(|share| share.fits(load) && within(share.all.clients, CLIENTS_MAX)) {
        return Err("its share of a load is none that a host can have".to_owned());
    }
    in_time(&trial.phases).then_some(()).ok_or_else(|| "its phases are none that a plan can have".to_owned())
}

fn found(name: &str, what: &str, entries: &[Entry]) -> Result<Entry, String> {
    let entry = entries.iter().find(|entry| entry.name == name).copied();
    entry.ok_or_else(|| format!("there is no {what} `{}` here", crate::error::shown(name)))
}

fn all_declared(entry: &Entry, params: &Params, catalogue: &Catalogue) -> Result<(), String> {
    let is_there = |def: &&ParamDef| match (def.kind, params.0.get(def.name)) {
        // Its variables are parameters of their own.
        (ParamKind::Variables | ParamKind::ConfigFile | ParamKind::Background { .. }, None) => true,
        (ParamKind::Statements { if_word: Some((param, word)) }, value) if !is_word(params, param, word) => {
            value.is_none()
        }
        (_, Some(Value::Int(value))) if def.default_if.is_some_and(|other| other.value == *value) => true,
        (kind, value) => value.is_some_and(|value| holds(kind, value, &catalogue.distributions)),
    };
    let unfit =
        |def: &ParamDef| format!("`{}` of `{}` is missing or has a value that it cannot have", def.name, entry.name);
    if let Some(def) = entry.params.iter().find(|def| !is_there(def)) {
        return Err(unfit(def));
    }
    let takes = |name: &str, value: &Value| {
        let variable = |def: &ParamDef| def.kind == ParamKind::Variables && matches!(value, Value::Word(_));
        entry.params.iter().any(|def| def.name == name || def.takes(name) && variable(def))
    };
    match params.0.iter().find(|(name, value)| !takes(name, value)) {
        Some((unknown, _)) => Err(format!("`{}` has no parameter `{}`", entry.name, crate::error::shown(unknown))),
        None => Ok(()),
    }
}

/// Whether the tables of `params` can be made, and its statements be performed on them.
fn tables_can_be_made(workload: &Entry, params: &Params, catalogue: &Catalogue) -> Result<(), String> {
    let named =
        |is_kind: fn(ParamKind) -> bool| workload.params.iter().find(|def| is_kind(def.kind)).map(|def| def.name);
    let statements = named(|kind| matches!(kind, ParamKind::Statements { .. }));
    let ops = statements.map_or(&[][..], |name| params.statements(name));
    match named(|kind| matches!(kind, ParamKind::Tables { .. })) {
        None => statements::without_columns(ops),
        Some(_) => (catalogue.check_tables)(params).map_err(|fault| fault.text),
    }
}

fn is_word(params: &Params, param: &str, word: &str) -> bool {
    params.0.get(param).is_some_and(|value| value.to_string() == word)
}

/// Whether `value` is one that a parameter of `kind` can have.
fn holds(kind: ParamKind, value: &Value, distributions: &[DistributionEntry]) -> bool {
    match (kind, value) {
        (ParamKind::Int { min, max }, Value::Int(value)) => (min..=max).contains(value),
        (ParamKind::Float { min, max }, Value::Float(value)) => (min..=max).contains(value),
        (ParamKind::Bytes { min, max }, Value::Bytes(value)) => (min..=max).contains(&value.0),
        (ParamKind::OneOf(words) | ParamKind::Steps(words), Value::Word(value)) => words.contains(&value.as_str()),
        (ParamKind::Leveled(names), Value::Word(value)) => names.iter().any(|name| name.level_of(value).is_some()),
        (ParamKind::Access, Value::Access(access)) => is_distribution(access, distributions),
        (ParamKind::Path | ParamKind::ConfigFile, Value::Word(path)) => !path.contains('\0'),
        (ParamKind::Statements { .. }, Value::Statements(ops)) => statements::could_be_written(ops),
        (ParamKind::Background { rows }, Value::Background(entries)) => background::could_be_written(entries, rows),
        (ParamKind::Variants, Value::Variant(variant)) => variants::variant_could_be_written(variant),
        (ParamKind::DataSets, Value::Data(data)) => variants::data_could_be_written(data),
        (ParamKind::Tables { .. }, Value::Tables(tables)) => tables_could_be_written(tables, distributions),
        (ParamKind::Name, Value::Word(name)) => variants::is_name(name),
        (ParamKind::Recording, Value::Recording(summary)) => summary.ops > 0 && !summary.path.contains('\0'),
        (ParamKind::Speed, Value::Float(speed)) => *speed > 0.0 && *speed <= SPEED_MAX,
        (ParamKind::Speed, Value::Word(word)) => word == SPEED_UNPACED,
        (ParamKind::Bool, Value::Bool(_)) | (ParamKind::Duration, Value::Nanos(_)) => true,
        _ => false,
    }
}

/// Whether a plan file could have spelt out `tables`; whether they can be made is asked elsewhere.
fn tables_could_be_written(tables: &[OwnTable], distributions: &[DistributionEntry]) -> bool {
    let columns = || tables.iter().flat_map(|table| &table.columns);
    let are_types = columns().all(|column| tables::type_could_be_written(column.kind));
    are_types
        && columns()
            .filter_map(|column| match &column.source {
                ValueSource::Drawn(drawn) => drawn.numbers.access.clone(),
                ValueSource::Reference { numbers, .. } => numbers.access.clone(),
                _ => None,
            })
            .all(|access| is_distribution(&access, distributions))
}

fn is_distribution(access: &Access, distributions: &[DistributionEntry]) -> bool {
    let Some(entry) = distributions.iter().find(|entry| entry.name == access.name) else { return false };
    let mut both = entry.args.iter().zip(&access.args);
    entry.args.len() == access.args.len() && both.all(|(def, arg)| (def.min..=def.max).contains(arg))
}

/// Whether a plan can ask for this search: it names no probe of it.
fn is_search(limit: &LimitPart) -> bool {
    let rate_fits = limit.spec.rate_max.is_none_or(|most| most > 0.0 && most <= RATE_MAX as f64);
    limit.probe.is_none() && rate_fits && limit.spec.hold.0 > 0 && limit.spec.hold <= PHASE_MAX
}

fn paced(pacing: &Pacing) -> bool {
    match *pacing {
        Pacing::Closed { think } => think <= PHASE_MAX,
        Pacing::Open { arrivals } => arrivals.per_s() > 0.0 && arrivals.per_s() <= RATE_MAX as f64,
    }
}

fn in_time(phases: &Phases) -> bool {
    let round_fits = match phases.until {
        Until::Time => true,
        Until::Steady { round, precondition } => round >= phases.interval && precondition > 0,
        Until::Sure(within) => within.is_allowed(),
    };
    let run_fits = phases.interval >= INTERVAL_MIN && phases.run <= longest_run(phases.interval) && phases.run.0 > 0;
    let waits_fit = phases.grace <= PHASE_MAX && phases.longest_silence() <= PHASE_MAX;
    round_fits && run_fits && phases.warmup <= PHASE_MAX && waits_fit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, fixture, parse};
    use model::statement::{CustomOp, CustomStatement, CustomValue, Draw};
    use model::{Bytes, Nanos};

    fn plan(text: &str) -> Plan {
        parse(text, "p.toml", &Overrides::default(), 1.0, &fixture::with_servers()).expect("a valid plan")
    }

    #[test]
    fn whatever_a_plan_file_makes_can_come_back_from_a_run_file() {
        for text in [
            include_str!("../../../plans/filesystems-oltp.toml"),
            include_str!("../../../plans/file-depth.toml"),
            include_str!("../../../plans/null-stall.toml"),
            include_str!("../../../plans/ssd-write-steadiness.toml"),
        ] {
            let plan = plan(text);
            assert_eq!(check(&plan, "run", &fixture::with_servers()), Ok(()));
        }
    }

    #[test]
    fn statements_stand_where_they_are_asked_for_and_are_such_as_a_plan_spells_out() {
        let mut plan =
            plan("workload = 'oltp'\nmix = 'custom'\n[[statement]]\nname = 'look'\nsql = 'SELECT :id, :int(1,9)'");
        let check = |plan: &Plan| check(plan, "r", &fixture::with_servers()).is_ok();
        assert!(check(&plan));
        let mut set = |value: Value| {
            plan.trials[0].workload.params.0.insert("statement".into(), value);
            check(&plan)
        };
        assert!(!set(Value::Statements(Vec::new())));
        assert!(!set(Value::Bool(true)));
        let values = vec![CustomValue { draw: Draw::Int(9, 1), nth: 1 }];
        let statements = vec![CustomStatement { text: "SELECT ?".into(), values }];
        assert!(!set(Value::Statements(vec![CustomOp { name: "x".into(), weight: 1, statements }])));
        let unfit = vec![CustomStatement { text: "SELECT ?".into(), values: Vec::new() }];
        assert!(!set(Value::Statements(vec![CustomOp { name: "x".into(), weight: 1, statements: unfit }])));
        plan.trials[0].workload.params.0.remove("statement");
        assert!(!check(&plan));
    }

    #[test]
    fn what_no_plan_file_makes_is_refused_with_the_point() {
        let refused = |change: &dyn Fn(&mut Trial)| {
            let mut plan = plan("workload = 'oltp'\nclients = [1, 2]");
            change(&mut plan.trials[1]);
            check(&plan, "r.plimsoll", &fixture::catalogue()).expect_err("a refusal").to_string()
        };
        let of = |what: &str| format!("r.plimsoll: point 2 of its plan: {what}");
        assert_eq!(refused(&|trial| trial.target.engine = "oracle".into()), of("there is no engine `oracle` here"));
        assert_eq!(
            refused(&|trial| trial.target.engine = "file".into()),
            of("engine `file` cannot run workload `oltp`")
        );
        let unfit = |name: &str, entry: &str| {
            of(&format!("`{name}` of `{entry}` is missing or has a value that it cannot have"))
        };
        let set = |trial: &mut Trial, name: &str, value| drop(trial.workload.params.0.insert(name.into(), value));
        assert_eq!(refused(&|trial| set(trial, "tables", Value::Int(0))), unfit("tables", "oltp"));
        assert_eq!(refused(&|trial| set(trial, "tables", Value::Bool(true))), unfit("tables", "oltp"));
        assert_eq!(refused(&|trial| set(trial, "mix", Value::Word("all".into()))), unfit("mix", "oltp"));
        let wrong = || Value::Access(Access { name: "zipf".into(), args: vec![-1.0] });
        assert_eq!(refused(&|trial| set(trial, "access", wrong())), unfit("access", "oltp"));
        assert_eq!(refused(&|trial| set(trial, "more", Value::Int(1))), of("`oltp` has no parameter `more`"));
        let cache = |trial: &mut Trial| drop(trial.target.params.0.insert("cache".into(), Value::Bytes(Bytes(1))));
        assert_eq!(refused(&cache), unfit("cache", "sqlite"));
        assert_eq!(refused(&|trial| trial.load.clients = 0), of("its load is none that a plan can have"));
        assert_eq!(refused(&|trial| trial.phases.interval = Nanos(0)), of("its phases are none that a plan can have"));
        let mut many = plan("workload = 'oltp'");
        many.trials = vec![many.trials[0].clone(); TRIALS_MAX + 1];
        let refused = check(&many, "r", &fixture::catalogue()).expect_err("a refusal").to_string();
        assert_eq!(refused, "r: its plan has more than 10000 points");
    }
}
