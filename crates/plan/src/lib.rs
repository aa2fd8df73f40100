//! Turns TOML text and flags into a fully resolved [`model::Plan`]: parse, merge, expand the matrix, check, estimate.
//!
//! In: the text of a plan file, [`Overrides`] from flags, a scale, and a [`Catalogue`] of what may be named. Out: a plan in
//! which nothing is defaulted later, or a [`PlanError`] of one line.
//! Limits: no I/O; it depends on no engine and no workload. Whether the machine can carry the plan is not its question.
//!
//! The layers, from weak to strong: the defaults ([`DEFAULTS`] and those of each parameter), the keys at the top of the file,
//! the keys of the sweep, the overrides.

mod arms;
mod background;
mod chain;
mod common;
mod difference;
mod document;
mod ending;
mod entries;
mod error;
mod estimate;
#[cfg(test)]
mod fixture;
mod foreign;
mod hourly;
mod indexes;
mod limit;
mod link;
mod overrides;
mod point;
mod question;
mod quick_look;
mod recorded;
mod statements;
mod sure;
mod sweep;
mod table_text;
mod tables;
mod text;
mod value;
mod variants;
mod watch;
mod why;

pub use chain::chains;
pub use common::{CommonKey, CommonKind, DEFAULTS};
pub use difference::{USUAL_SPREAD, smallest_difference, smallest_until_sure};
pub use entries::{default_engine, entry_named, offered_engines};
pub use error::{PlanError, hint};
pub use estimate::{Estimate, chains_with_new_data, estimate, expected_seconds, measured_points};
pub use indexes::missing_indexes;
pub use overrides::{Overrides, to_toml};
pub use point::has_no_time;
pub use question::{differing_keys, plan_key};
pub use quick_look::quick_look;
pub use recorded::check;
pub use sure::leave_room;
pub use table_text::tables_text;
pub use watch::{UNLIMITED, watch_condition, watch_interval, watch_roll, watch_time};
pub use why::{LEFT, RecordedPoint, Variation, check_closed, why_plan};

use document::{Document, Written, WrittenSetting};
use error::Place;
use model::{
    Access, Catalogue, DefaultIf, DistributionEntry, Entry, HourlyCost, InterfaceLink, LinkSpeed, Nanos, ParamDef,
    Params, Plan, Trial, Value,
};
use sweep::Point;

const NAME_CHARS_MAX: usize = 64;
const TITLE_CHARS_MAX: usize = 200;
const SCALE_MAX: u64 = 1_000;

/// The plan in `text`, called `origin` in messages.
///
/// # Errors
/// The first thing that is wrong with it, in one line with its place.
pub fn parse(
    text: &str,
    origin: &str,
    overrides: &Overrides,
    scale: f64,
    catalogue: &Catalogue,
) -> Result<Plan, PlanError> {
    let document = document::read_document(text, origin)?;
    let name = document.name.as_ref().map_or_else(|| Ok(plan_name(stem(origin))), named)?;
    let title = document.title.as_ref().map_or_else(|| Ok(name.clone()), titled)?;
    resolved(&document, overrides, Plan { scale, ..Plan::new(name, title) }, catalogue)
}

/// The small plan of one workload and flags.
///
/// # Errors
/// The first thing that is wrong with it, in one line with its flag.
pub fn from_flags(workload: &str, overrides: &Overrides, scale: f64, catalogue: &Catalogue) -> Result<Plan, PlanError> {
    flags_as_meant(workload, overrides, scale, catalogue).map(|(plan, _)| plan)
}

/// The same, and the flags that say all of it.
fn flags_as_meant(
    workload: &str,
    overrides: &Overrides,
    scale: f64,
    catalogue: &Catalogue,
) -> Result<(Plan, Overrides), PlanError> {
    let mut document = Document::empty(Place::Flag("workload"));
    let written = Written { key: "workload".into(), text: workload.into(), place: document.place };
    document.defaults.push(WrittenSetting { key: "workload".into(), place: document.place, values: vec![written] });
    let (name, title) = (plan_name(workload), overrides::title(workload, overrides));
    let empty = Plan { scale, ..Plan::new(name, title) };
    let plan = resolved(&document, overrides, empty.clone(), catalogue)?;
    if !may_be_divided(&plan, overrides, catalogue) {
        return Ok((plan, overrides.clone()));
    }
    let mut divided = overrides.clone();
    divided.usual("repeat", PAIRS_USUAL);
    divided.usual("time", TIME_OF_PAIRS);
    resolved(&document, &divided, empty, catalogue).map(|plan| (plan, divided))
}

/// A comparison of which nothing but the values is said spends the usual time of a point in so many pairs: one pair concludes nothing.
const PAIRS_USUAL: &str = "5";
const TIME_OF_PAIRS: &str = "6s";

/// Whether `plan` compares, for as long as is usual and once.
fn may_be_divided(plan: &Plan, overrides: &Overrides, catalogue: &Catalogue) -> bool {
    let is_said = ["time", "repeat", "until", "budget", "interval", "ops_max"].iter().any(|key| overrides.has(key));
    let is_timed = |trial: &Trial| {
        trial.limit.is_none() && (catalogue.run_ops)(&trial.workload.name, &trial.workload.params).is_none()
    };
    !is_said && plan.asked.compare.is_some() && plan.ab.is_none() && plan.trials.iter().all(is_timed)
}

/// The access distributions in `text`, with commas between them, given by the argument `key`.
///
/// # Errors
/// The first that is none or has a wrong argument, in one line.
pub fn accesses(key: &'static str, text: &str, catalogue: &Catalogue) -> Result<Vec<Access>, PlanError> {
    let written = |text: &str| Written { key: key.into(), text: text.trim().into(), place: Place::Argument(key) };
    text.split(',').map(|text| value::parse_access(&written(text), &catalogue.distributions)).collect()
}

/// Whether the parameter `def` has in `params` what it has if nothing is given, at full scale.
pub fn is_default(def: &ParamDef, params: &Params, distributions: &[DistributionEntry]) -> bool {
    let Some(value) = params.0.get(def.name) else { return false };
    let is_if = |other: &DefaultIf| params.0.get(other.param).is_some_and(|word| word.to_string() == other.word);
    if let Some(other) = def.default_if.filter(is_if) {
        return *value == Value::Int(other.value);
    }
    let written = point::default_value(def.name, def.default);
    value::parse_param(def, &written, 1.0, distributions).is_ok_and(|default| default == *value)
}

/// The engine in `text`, given by the argument `key`, and the folder of its programs if `text` names one.
///
/// # Errors
/// If there is no such engine, in one line.
pub fn engine(
    key: &'static str,
    text: &str,
    catalogue: &Catalogue,
) -> Result<(Entry, Option<std::path::PathBuf>), PlanError> {
    let written = Written { key: key.into(), text: text.into(), place: Place::Argument(key) };
    Ok((entries::find_engine(&written, &catalogue.engines)?, entries::folder_in(&written)?))
}

/// A count such as `1000000` or `1e6`, from `min` to `max`, given by the flag `key`.
///
/// # Errors
/// What it takes, in one line.
pub fn count(key: &'static str, text: &str, min: u64, max: u64) -> Result<u64, PlanError> {
    let written = Written { key: key.into(), text: text.into(), place: Place::Flag(key) };
    text::parse_count(text)
        .filter(|value| (min..=max).contains(value))
        .ok_or_else(|| written.refused(format!("a whole number such as `1000000` or `1e6`, from {min} to {max}")))
}

/// A length of the run phase, given by the flag `time`.
///
/// # Errors
/// What it takes, in one line.
pub fn run_time(text: &str) -> Result<Nanos, PlanError> {
    let written = Written { key: "time".into(), text: text.into(), place: Place::Flag("time") };
    value::parse_duration(&written, common::INTERVAL_MIN, common::PHASE_MAX)
}

/// What a machine costs per hour, given by the flags `price` and `watts`; a flag that is not given states nothing.
///
/// # Errors
/// What the flag takes, in one line.
pub fn hourly_cost(price: Option<&str>, watts: Option<&str>) -> Result<HourlyCost, PlanError> {
    let written =
        |key: &'static str, text: &str| Written { key: key.into(), text: text.trim().into(), place: Place::Flag(key) };
    let price = price.map(|text| hourly::parse_price(&written("price", text))).transpose()?.flatten();
    let watts = watts.map(|text| hourly::parse_watts(&written("watts", text))).transpose()?.flatten();
    Ok(HourlyCost { price, watts })
}

/// The speed of the link to the server, given by the flag `link`; without it nothing is stated.
///
/// # Errors
/// What the flag takes, in one line.
pub fn link_speed(link: Option<&str>) -> Result<Option<LinkSpeed>, PlanError> {
    let written = |text: &str| Written { key: "link".into(), text: text.trim().into(), place: Place::Flag("link") };
    Ok(link.map(|text| link::parse_speed(&written(text))).transpose()?.flatten())
}

/// The speeds of the links of one machine, given by the flag `link`: `SPEED` for all interfaces, and `NAME=SPEED` for one.
///
/// # Errors
/// What the flag takes, in one line; or that a speed is there twice.
pub fn machine_links(flags: &[String]) -> Result<(Option<LinkSpeed>, Vec<InterfaceLink>), PlanError> {
    link::parse_all(flags)
}

/// How long to wait, given by the flag `name`: from 1 s to a day.
///
/// # Errors
/// What the flag takes, in one line.
pub fn waiting_time(name: &'static str, text: &str) -> Result<Nanos, PlanError> {
    let written = Written { key: name.into(), text: text.trim().into(), place: Place::Flag(name) };
    value::parse_duration(&written, Nanos::from_secs(1), Nanos::from_secs(24 * 3600))
}

/// `plan` with the trials of `document`.
fn resolved(
    document: &Document<'_>,
    overrides: &Overrides,
    plan: Plan,
    catalogue: &Catalogue,
) -> Result<Plan, PlanError> {
    let text = plan.scale.to_string();
    value::parse_above_zero(&Written { key: "scale".into(), text, place: Place::Flag("scale") }, SCALE_MAX)?;
    if overrides.has(common::BUDGET) && overrides.asks_for_its_time() {
        let why = "a run with a budget goes on until it is sure; leave one out";
        return Err(Place::Flag("budget").error(format_args!("`budget` and until = `time` exclude each other: {why}")));
    }
    let mut matrix = sweep::expand_plan(document, &overrides.settings(), plan.scale, catalogue)?;
    let (ab, hourly, link) = (matrix.compared.take(), matrix.hourly, matrix.link);
    // Points have the name of the setting, not of the key that decides it: a rate is their pacing.
    let ab = ab.map(|key| question::setting_name(&key).to_owned());
    let trials = interleaved(&matrix.points, catalogue, |_, repeat| repeat.is_multiple_of(2));
    let asked = question::asked(document, &trials, ab.as_deref(), !overrides.is_empty(), catalogue)?;
    let sure = sure::make_sure(&mut matrix, asked.compare.as_deref(), catalogue)?;
    let trials = match sure {
        Some(_) => interleaved(&matrix.points, catalogue, sure::is_reversed),
        None => trials,
    };
    Ok(Plan { asked, ab, hourly, link, sure, trials, ..plan })
}

/// Every repetition of every point: odd repetitions in order, even ones reversed (A B B A), so that a machine that slowly
/// changes favours neither end of the list; or those reversed that `is_reversed` says by the seed of the plan. The steps of a sequence stay together
/// and in their order. Repetition r has the seed of the plan + r - 1, whatever the point.
fn interleaved(points: &[Point<'_>], catalogue: &Catalogue, is_reversed: fn(u64, u32) -> bool) -> Vec<Trial> {
    let repeats_max = points.iter().map(|point| point.repeats).max().unwrap_or(0);
    let seed = points.first().map_or(0, |point| point.trial.seed);
    let chains: Vec<_> =
        points.chunk_by(|before, point| chain::continues(&before.trial, &point.trial, catalogue)).collect();
    let mut trials = Vec::new();
    for repeat in 1..=repeats_max {
        let mut chains = chains.clone();
        if is_reversed(seed, repeat) {
            chains.reverse();
        }
        let due = chains.into_iter().flatten().filter(|point| point.repeats >= repeat);
        trials.extend(due.map(|Point { trial, .. }| {
            let seed = if draws(trial) { trial.seed + u64::from(repeat) - 1 } else { trial.seed };
            Trial { repeat, seed, ..trial.clone() }
        }));
    }
    trials
}

/// Whether the workload of `trial` draws anything from its seed. Variants of a statement do not: their repeats share one data set.
fn draws(trial: &Trial) -> bool {
    !trial.workload.params.0.values().any(|value| matches!(value, Value::Variant(_)))
}

fn named(written: &Written<'_>) -> Result<String, PlanError> {
    let name = written.text.as_str();
    let allowed = name.len() <= NAME_CHARS_MAX && !name.is_empty() && name.chars().all(in_name);
    allowed
        .then(|| name.to_owned())
        .ok_or_else(|| written.refused(format_args!("letters, digits and dashes, at most {NAME_CHARS_MAX}")))
}

fn titled(written: &Written<'_>) -> Result<String, PlanError> {
    let title = written.text.as_str();
    let allowed = title.chars().count() <= TITLE_CHARS_MAX && !title.chars().any(char::is_control);
    allowed
        .then(|| title.to_owned())
        .ok_or_else(|| written.refused(format_args!("one line of at most {TITLE_CHARS_MAX} characters")))
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

/// `plans/quick.toml` -> `quick`.
fn stem(origin: &str) -> &str {
    let file = origin.rsplit(['/', '\\']).next().unwrap_or(origin);
    file.strip_suffix(".toml").unwrap_or(file)
}

/// The nearest allowed plan name to `text`.
fn plan_name(text: &str) -> String {
    let name: String = text.chars().take(NAME_CHARS_MAX).map(|c| if in_name(c) { c } else { '-' }).collect();
    if name.is_empty() { "plan".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::limit::{ArrivalLaw, LimitPart};
    use model::{Arrivals, Bytes, Load, Nanos, OnError, Pacing, ParamRole, Phases, Until};
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Plan, PlanError> {
        with(text, &[])
    }

    fn with(text: &str, overrides: &[(&str, &str)]) -> Result<Plan, PlanError> {
        let overrides =
            Overrides::from_flags(overrides.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect());
        parse(text, "p.toml", &overrides, 1.0, &fixture::catalogue())
    }

    /// Each trial in a few words: what the test is about, named by `keys`.
    fn told(plan: Result<Plan, PlanError>, keys: &[&str]) -> Vec<String> {
        let tell = |trial: &Trial| {
            let words = keys.iter().map(|key| match *key {
                "engine" => trial.target.engine.clone(),
                "workload" => trial.workload.name.clone(),
                "clients" => trial.load.clients.to_string(),
                "depth" => trial.load.depth.to_string(),
                "repeat" => trial.repeat.to_string(),
                "seed" => trial.seed.to_string(),
                "rate" => match trial.load.pacing {
                    Pacing::Closed { .. } => "closed".to_owned(),
                    Pacing::Open { arrivals: Arrivals::Constant { per_s } } => format!("constant {per_s}"),
                    Pacing::Open { arrivals: Arrivals::Poisson { per_s } } => format!("poisson {per_s}"),
                    Pacing::Open { arrivals: Arrivals::Recorded { per_s } } => format!("recorded {per_s}"),
                },
                param => {
                    let value = trial.workload.params.0.get(param).or(trial.target.params.0.get(param));
                    value.map_or("-".to_owned(), ToString::to_string)
                }
            });
            words.collect::<Vec<_>>().join(" ")
        };
        plan.expect("a valid plan").trials.iter().map(tell).collect()
    }

    fn refusal(text: &str) -> String {
        read(text).expect_err("a plan that is to be refused").to_string()
    }

    #[test]
    fn distributions_are_read_one_by_one_and_the_first_that_is_none_is_named() {
        let catalogue = fixture::catalogue();
        let read = |text| accesses("SPEC", text, &catalogue).map_err(|error| error.to_string());
        let all = read("zipf:0.5, uniform,special:2").unwrap();
        assert_eq!(all.iter().map(Access::to_string).collect::<Vec<_>>(), ["zipf:0.5", "uniform", "special:2:75:12"]);
        let takes = "use one of `uniform`, `zipf`, `special`; did you mean `zipf`?";
        assert_eq!(read("uniform,zipff").unwrap_err(), format!("there is no distribution `zipff`; {takes}"));
        assert!(read("").is_err() && read("zipf,").is_err());
    }

    #[test]
    fn a_count_may_be_written_with_an_exponent_and_is_whole_and_within_its_bounds() {
        let read = |text| count("n", text, 1, 100_000_000).ok();
        assert_eq!(["1e6", "1.5e3", "1000000", "1E2", "0", "1e9", "1.5", "-1", "1e400", "", "x"].map(read), {
            [Some(1_000_000), Some(1_500), Some(1_000_000), Some(100), None, None, None, None, None, None, None]
        });
    }

    #[test]
    fn a_plan_of_one_line_is_fully_resolved() {
        let plan = read("workload = 'file'").expect("a valid plan");
        assert_eq!((plan.name.as_str(), plan.title.as_str(), plan.trials.len()), ("p", "p", 1));
        let trial = &plan.trials[0];
        assert_eq!((trial.target.engine.as_str(), trial.target.path.as_ref()), ("file", None));
        assert_eq!(trial.target.params.word("io"), "uring");
        assert_eq!(trial.workload.params.bytes("file_size"), Bytes::from_gib(1));
        assert_eq!(trial.load, Load { clients: 1, depth: 1, pacing: Pacing::Closed { think: Nanos(0) } });
        let phases = Phases {
            warmup: Nanos(0),
            run: Nanos::from_secs(30),
            ops_max: None,
            interval: Nanos::from_secs(1),
            grace: Nanos::from_secs(10),
            silence: None,
            until: Until::Time,
        };
        assert_eq!(trial.phases, phases);
        assert_eq!((trial.on_error, trial.repeat, trial.seed), (OnError::Stop, 1, 1));
    }

    #[test]
    fn every_default_is_accepted_as_a_value() {
        let others = [
            "engine",
            "workload",
            "fs_size",
            "arrivals",
            "slo",
            "hold",
            "rate_max",
            "round",
            "rounds_max",
            "precondition",
            "ab",
            "budget",
        ];
        let named = DEFAULTS.iter().filter(|key| !others.contains(&key.name));
        let keys: String = named.map(|key| format!("{} = '{}'\n", key.name, key.default)).collect();
        let mut written = read(&format!("workload = 'file'\n{keys}")).expect("the defaults, written out");
        written.name = "p".into();
        assert_eq!(Ok(written), read("workload = 'file'"));
    }

    #[test]
    fn the_reference_lists_every_common_key_as_it_is() {
        let reference = include_str!("../../../docs/reference/plan-file.md");
        for key in DEFAULTS {
            let row = format!("| `{}` | {} | {} |\n", key.name, key.shown_default(), key.help);
            assert!(reference.contains(&row), "docs/reference/plan-file.md lacks: {row}");
        }
    }

    #[test]
    fn the_first_key_of_a_sweep_varies_slowest() {
        let text = "[[sweep]]\nengine = ['sqlite', 'fjall']\nclients = [1, 4]\nworkload = 'insert'\nindexes = [0, 3]";
        let expected = [
            "sqlite 1 0",
            "sqlite 1 3",
            "sqlite 4 0",
            "sqlite 4 3",
            "fjall 1 0",
            "fjall 1 3",
            "fjall 4 0",
            "fjall 4 3",
        ];
        assert_eq!(told(read(text), &["engine", "clients", "indexes"]), expected);
    }

    #[test]
    fn keys_at_the_top_are_defaults_and_come_before_those_of_the_sweep() {
        let text = "clients = [1, 2]\ndepth = 3\n[[sweep]]\nworkload = 'file'\nmode = ['rndrd', 'rndwr']\n\
                    [[sweep]]\nworkload = 'oltp'\nclients = 5";
        let expected = ["file 1 3 rndrd", "file 1 3 rndwr", "file 2 3 rndrd", "file 2 3 rndwr", "oltp 5 3 -"];
        assert_eq!(told(read(text), &["workload", "clients", "depth", "mode"]), expected);
    }

    #[test]
    fn overrides_replace_values_in_every_sweep_and_leave_the_order() {
        let text = "[[sweep]]\nclients = 7\nworkload = 'insert'\nindexes = [0, 3]\n[[sweep]]\nworkload = 'oltp'";
        let plan = with(text, &[("clients", "1,2"), ("rows-per-commit", "8")]);
        let expected = ["insert 1 0 8", "insert 1 3 8", "insert 2 0 8", "insert 2 3 8", "oltp 1 - -", "oltp 2 - -"];
        assert_eq!(told(plan, &["workload", "clients", "indexes", "rows_per_commit"]), expected);
    }

    #[test]
    fn an_engine_by_flag_replaces_that_of_the_sweeps_that_it_can_run_and_of_no_other() {
        let text = "[[sweep]]\nworkload = 'oltp'\nengine = 'null'\n[[sweep]]\nworkload = 'file'\nengine = 'file'";
        let engines = |flag: &str| told(with(text, &[("engine", flag)]), &["workload", "engine"]);
        assert_eq!(engines("sqlite"), ["oltp sqlite", "file file"]);
        assert_eq!(engines("sqlite,null"), ["oltp sqlite", "oltp null", "file null"]);
        assert_eq!(engines("file"), ["oltp null", "file file"]);
        let refused = |text, flag| with(text, &[("engine", flag)]).unwrap_err().to_string();
        let error = refused("workload = 'file'", "sqlite");
        assert!(error.starts_with("--engine: engine `sqlite` cannot run workload `file`"), "{error}");
        assert!(refused(text, "nope").starts_with("--engine cannot be `nope`"), "{}", refused(text, "nope"));
    }

    #[test]
    fn a_search_for_a_rate_is_refused_where_nothing_carries_a_load() {
        let catalogue = fixture::with_servers();
        let error = |text: &str| parse(text, "p.toml", &Overrides::default(), 1.0, &catalogue).unwrap_err().to_string();
        let own = error("workload = 'cpu'\nrate = 'limit'");
        assert!(
            own.contains("rate = `limit` cannot be used with `cpu`: it computes in plimsoll's own process"),
            "{own}"
        );
        let steps = error("workload = 'insert'\nrate = 'limit'");
        assert!(steps.contains("`insert`: it is a sequence of steps"), "{steps}");
    }

    #[test]
    fn ranges_are_powers_of_two_and_may_stand_in_lists() {
        assert_eq!(told(read("workload = 'file'\nclients = '1..8'"), &["clients"]), ["1", "2", "4", "8"]);
        let text = "workload = 'file'\ndepth = [1, '4..8', 100]\nblock = '4KiB..8KiB'";
        let expected = ["1 4 KiB", "1 8 KiB", "4 4 KiB", "4 8 KiB", "8 4 KiB", "8 8 KiB", "100 4 KiB", "100 8 KiB"];
        assert_eq!(told(read(text), &["depth", "block"]), expected);
    }

    #[test]
    fn cores_are_as_many_clients_as_usable_cpus_and_no_second_point_of_a_number_that_is_there() {
        // The fixture has two CPUs.
        for (clients, expected) in [("[1, 'cores']", "1 2"), ("['cores', 1]", "2 1"), ("['1..4', 'cores']", "1 2 4")] {
            let plan = read(&format!("workload = 'file'\nclients = {clients}"));
            assert_eq!(told(plan, &["clients"]).join(" "), expected, "{clients}");
        }
    }

    #[test]
    fn a_parameter_applies_to_those_that_have_it_and_makes_no_points_of_others() {
        let text = "engine = ['null', 'sqlite']\nworkload = ['insert', 'oltp']\n\
                    durability = ['os', 'disk']\nindexes = [0, 3]";
        let expected = [
            "null insert - 0",
            "null insert - 3",
            "null oltp - -",
            "sqlite insert os 0",
            "sqlite insert os 3",
            "sqlite insert disk 0",
            "sqlite insert disk 3",
            "sqlite oltp os -",
            "sqlite oltp disk -",
        ];
        assert_eq!(told(read(text), &["engine", "workload", "durability", "indexes"]), expected);
    }

    #[test]
    fn a_parameter_of_engine_and_workload_is_set_in_both() {
        const SHARED: &[model::ParamDef] = &[model::ParamDef {
            shapes_data: true,
            ..model::ParamDef::new("tables", ParamRole::Size, model::ParamKind::Int { min: 1, max: 9 }, "1")
        }];
        let mut catalogue = fixture::catalogue();
        catalogue.engines[2].params = SHARED;
        let text = "workload = 'oltp'\nengine = 'sqlite'\ntables = 4";
        let plan = parse(text, "p.toml", &Overrides::default(), 1.0, &catalogue).expect("a valid plan");
        let trial = &plan.trials[0];
        assert_eq!((trial.target.params.int("tables"), trial.workload.params.int("tables")), (4, 4));
    }

    #[test]
    fn without_an_engine_the_one_made_for_the_workload_is_taken() {
        assert_eq!(told(read("workload = ['file', 'insert', 'oltp']"), &["engine"]), ["file", "sqlite", "sqlite"]);
    }

    #[test]
    fn a_rate_makes_an_open_loop_and_none_a_closed_one() {
        let text = "workload = 'oltp'\nrate = ['none', 100, 2.5]\narrivals = ['constant', 'poisson']";
        let expected = ["closed", "constant 100", "poisson 100", "constant 2.5", "poisson 2.5"];
        assert_eq!(told(read(text), &["rate"]), expected);
    }

    /// The searches of a plan: objective, hold, highest rate, arrivals, and what a failed operation does.
    fn searches(text: &str) -> Vec<(String, u64, Option<f64>, ArrivalLaw, OnError)> {
        let plan = read(text).expect("a valid plan");
        let search = |trial: &Trial| {
            let LimitPart { spec, probe: None } = trial.limit.clone()? else { panic!("a plan has no probes") };
            Some((
                spec.objective.to_string(),
                spec.hold.0 / 1_000_000_000,
                spec.rate_max,
                spec.arrivals,
                trial.on_error,
            ))
        };
        plan.trials.iter().filter_map(search).collect()
    }

    #[test]
    fn the_rate_limit_is_a_search_with_an_objective_that_sweeps_like_any_other_key() {
        let (poisson, count) = (ArrivalLaw::Poisson, OnError::Count);
        let default = ("p99<10ms,errors<0.1%".to_owned(), 300, None, poisson, count);
        assert_eq!(searches("workload = 'oltp'\nrate = ['limit', 1000]"), [default]);
        let text = "workload = 'oltp'\nrate = 'limit'\nslo = ['p99<10ms,errors<1%', 'p50<500us']\nhold = '1m'\n\
                    rate_max = 5e3\narrivals = 'constant'\non_error = 'stop'";
        let with = |slo: &str| (slo.to_owned(), 60, Some(5_000.0), ArrivalLaw::Constant, OnError::Stop);
        assert_eq!(searches(text), [with("p99<10ms,errors<1%"), with("p50<500us")]);
        let flags = with_flags(&[("rate", "limit"), ("slo", "max<1s,stall<1s")]);
        assert_eq!(
            flags.trials[0].limit.as_ref().map(|limit| limit.spec.objective.to_string()),
            Some("max<1s,stall<1s".into())
        );
    }

    fn with_flags(flags: &[(&str, &str)]) -> Plan {
        with("workload = 'oltp'", flags).expect("a valid plan")
    }

    #[test]
    fn a_search_without_an_objective_or_on_a_sequence_of_steps_is_refused() {
        let refused = refusal("workload = 'oltp'\nrate = 'limit'\nslo = 'p98<1ms'");
        assert!(
            refused.starts_with("p.toml:3: `slo` cannot be `p98<1ms`: `p98` is not recorded; use `p50`, `p95`, "),
            "{refused}"
        );
        let refused = refusal("workload = 'oltp'\nrate = 'limit'\nslo = 'latency'");
        assert!(refused.starts_with("p.toml:3: `slo` cannot be `latency`; use `p50`, `p95`, "), "{refused}");
        let text = "workload = 'chain'\nrate = 'limit'";
        let refused = parse(text, "p.toml", &Overrides::default(), 1.0, &fixture::with_steps()).expect_err("a refusal");
        let refused = refused.to_string();
        let expected = "p.toml:2: rate = `limit` cannot be used with `chain`: it is a sequence of steps";
        assert!(refused.starts_with(expected), "{refused}");
    }

    #[test]
    fn repeats_are_interleaved_there_and_back_and_count_the_seed_up() {
        let text = "seed = 10\n[[sweep]]\nworkload = 'insert'\nengine = ['sqlite', 'fjall']\nrepeat = 3\n\
                    [[sweep]]\nworkload = 'file'\nrepeat = 2";
        let expected = [
            "sqlite 1 10",
            "fjall 1 10",
            "file 1 10",
            "file 2 11",
            "fjall 2 11",
            "sqlite 2 11",
            "sqlite 3 12",
            "fjall 3 12",
        ];
        assert_eq!(told(read(text), &["engine", "repeat", "seed"]), expected);
    }

    #[test]
    fn scale_shrinks_what_scales_defaults_too() {
        let text = "workload = 'oltp'\ntable_rows = [5000, 20000]\nclients = 8\ncache = '1GB'";
        let plan = parse(text, "p.toml", &Overrides::default(), 0.01, &fixture::catalogue());
        assert_eq!(told(plan, &["table_rows", "cache", "clients"]), ["50 10 MiB 8", "200 10 MiB 8"]);
        let plan = from_flags("oltp", &Overrides::default(), 0.5, &fixture::catalogue());
        assert_eq!(told(plan, &["table_rows", "cache"]), ["5000 32 MiB"]);
    }

    #[test]
    fn an_interval_that_is_not_set_is_at_most_a_twentieth_of_the_run() {
        let plan = read("workload = 'file'\ntime = '400ms'").expect("a valid plan");
        assert_eq!(plan.trials[0].phases.interval, Nanos::from_millis(20));
    }

    #[test]
    fn until_steady_is_rounds_for_as_long_as_they_may_take() {
        let phases = |text: &str| read(&format!("until = 'steady'\n{text}")).expect("a valid plan").trials[0].phases;
        let file = phases("workload = 'file'");
        let until = |round, precondition| Until::Steady { round, precondition };
        assert_eq!(file.until, until(Nanos::from_secs(60), 2));
        assert_eq!((file.run, file.interval), (Nanos::from_secs(25 * 60), Nanos::from_secs(1)));
        let short = phases("workload = 'file'\nround = '400ms'\nrounds_max = 6\nprecondition = 1");
        assert_eq!((short.until, short.interval), (until(Nanos::from_millis(400), 1), Nanos::from_millis(100)));
        assert_eq!(short.run, Nanos::from_millis(2400));
        assert_eq!(
            phases("workload = 'oltp'").until,
            until(Nanos::from_secs(60), 1),
            "there are no files to overwrite"
        );
    }

    #[test]
    fn what_cannot_be_beside_until_is_refused() {
        let steady = "workload = 'file'\nuntil = 'steady'\n";
        let cases = [
            ("time = 30", "`time` has no effect with until = `steady`; use `round` and `rounds_max`"),
            ("ops_max = 9", "`ops_max` has no effect with until = `steady`; use `round` and `rounds_max`"),
            ("rate = 9", "`rate` and until = `steady` exclude each other; leave one out"),
            ("rounds_max = 4", "`rounds_max` cannot be `4`; use a whole number from 5 to 10000"),
            ("round = '5500ms'", "`round` cannot be `5500ms`; use a whole number of `interval`s of 1s"),
            ("interval = '40s'", "`interval` cannot be `40s`; use at most half of the `round`, 30s"),
            ("round = '1d'\nrounds_max = 31", "`round` cannot be `1d`; use at most 30d for `rounds_max` = 31"),
            (
                "round = 500\ninterval = '10ms'",
                "`round` = `500` gives more than 1000000 intervals of 10ms; use a longer `interval`",
            ),
            ("precondition = 0", "`precondition` cannot be `0`; use a whole number from 1 to 100"),
        ];
        for (text, expected) in cases {
            let told = read(&format!("{steady}{text}")).map_err(|e| e.to_string());
            assert_eq!(told, Err(format!("p.toml:3: {expected}")));
        }
        let timed = [
            ("round = 60", "`round` needs until = `steady`"),
            ("rounds_max = 9", "`rounds_max` needs until = `steady`"),
            ("precondition = 2", "`precondition` needs until = `steady` and a workload on files"),
            (
                "until = 'stable'",
                "`until` cannot be `stable`; use `time`, `steady`, `sure` or `sure:` with a precision from 0.1% to 50%, such as `sure:2%`",
            ),
        ];
        for (text, expected) in timed {
            let told = read(&format!("workload = 'file'\n{text}")).map_err(|e| e.to_string());
            assert_eq!(told, Err(format!("p.toml:2: {expected}")));
        }
    }

    #[test]
    fn a_plan_of_both_ends_takes_the_keys_of_both() {
        let text = "workload = 'file'\ntime = 20\nround = 30\n[[sweep]]\nuntil = ['time', 'steady']";
        let plan = read(text).expect("a valid plan");
        let runs: Vec<Nanos> = plan.trials.iter().map(|trial| trial.phases.run).collect();
        assert_eq!(runs, [Nanos::from_secs(20), Nanos::from_secs(25 * 30)]);
    }

    #[test]
    fn a_path_is_for_engines_that_work_on_files() {
        let plan = read("workload = ['file', 'oltp']\npath = '/dev/null'").expect("a valid plan");
        let paths: Vec<_> = plan.trials.iter().map(|trial| trial.target.path.as_deref()).collect();
        assert_eq!(paths, [Some(std::path::Path::new("/dev/null")), None]);
    }

    #[test]
    fn a_file_that_is_there_is_measured_in_its_own_size_unless_another_is_written() {
        let sizes = |text: &str| -> Vec<Bytes> {
            let plan = read(text).expect("a valid plan");
            plan.trials.iter().map(|trial| trial.workload.params.bytes("file_size")).collect()
        };
        let both = "workload = 'file'\npath = ['/there/f', '/absent/f']";
        assert_eq!(sizes(both), [Bytes(2 << 40), Bytes::from_gib(1)]);
        assert_eq!(sizes(&format!("{both}\nfile_size = '3GiB'")), [Bytes::from_gib(3); 2]);
    }

    #[test]
    fn several_paths_and_several_file_systems_are_points_of_their_own() {
        let plan = read("workload = 'file'\npath = ['/mnt/a/f', '/mnt/b/f']").expect("a valid plan");
        let paths: Vec<_> = plan.trials.iter().map(|trial| trial.target.path.as_ref().unwrap().to_str()).collect();
        assert_eq!(paths, [Some("/mnt/a/f"), Some("/mnt/b/f")]);
        let plan =
            read("workload = 'oltp'\nfs = ['none', 'ext4', 'btrfs:zstd:3']\nfs_size = '1g'").expect("a valid plan");
        let told = |trial: &Trial| trial.target.fs.map(|fs| format!("{} {}", fs.kind, fs.size.unwrap()));
        let told: Vec<_> = plan.trials.iter().map(told).collect();
        assert_eq!(told, [None, Some("ext4 1 GiB".into()), Some("btrfs:zstd:3 1 GiB".into())]);
    }

    #[test]
    fn file_systems_that_cannot_be_made_are_refused_with_those_that_can() {
        let xfs =
            "p.toml:2: `xfs:nobarrier` is refused by every kernel since Linux 4.19: use `xfs`, or `ext4:nobarrier`";
        let both = "p.toml:3: `fs` and `path` exclude each other; leave one out";
        let cases = [
            ("workload = 'file'\nfs = 'xfs:nobarrier'", xfs),
            ("workload = 'file'\npath = '/x'\nfs = 'ext4'", both),
            ("workload = 'file'\nfs_size = '1g'", "p.toml:2: `fs_size` needs `fs`"),
        ];
        for (text, message) in cases {
            assert_eq!(refusal(text), message);
        }
        let level = refusal("workload = 'file'\nfs = 'btrfs:zstd:30'");
        assert!(
            level.ends_with("cannot be `btrfs:zstd:30`; use a level from 1 to 15, such as `btrfs:zstd:3`"),
            "{level}"
        );
        let unknown = refusal("workload = 'file'\nfs = 'ext44'");
        assert!(unknown.contains("`zfs:gzip-N` (N from 1 to 9) or `none`; did you mean `ext4`?"), "{unknown}");
        let small = refusal("workload = 'file'\nfs = 'ext4'\nfs_size = '1m'");
        assert!(small.ends_with("use a size from 16 MiB to 16 TiB, or `auto`"), "{small}");
    }

    #[test]
    fn a_key_without_an_effect_on_any_point_is_refused_with_what_it_needs() {
        let cases = [
            ("read_share = 0.5", "`read_share` has no effect; it needs mode = `rndrw`"),
            ("mode = 'rndwr'\ncursor = 'shared'", "`cursor` has no effect; it needs mode = `seqrd` or `seqwr`"),
            (
                "mode = ['rndrd', 'rndwr']\nread_share = [0.5, 0.6]",
                "`read_share` has no effect; it needs mode = `rndrw`",
            ),
        ];
        for (keys, message) in cases {
            let refused = refusal(&format!("workload = 'file'\n{keys}"));
            assert!(refused.ends_with(message), "{refused}");
        }
        let flag = with("workload = 'file'", &[("cursor", "shared")]).unwrap_err().to_string();
        assert_eq!(flag, "--cursor has no effect; it needs mode = `seqrd` or `seqwr`");
        let stall = refusal("engine = 'null'\nworkload = 'oltp'\nstall = '5ms'");
        assert_eq!(stall, "p.toml:3: `stall` has no effect; it needs `stall_every` above 0");
        // If some points use it, it stays, and makes the points that it always made.
        let some = "workload = 'file'\nmode = ['rndrd', 'rndrw']\nread_share = [0.5, 0.6]";
        assert_eq!(told(read(some), &["mode", "read_share"]), ["rndrd 0.5", "rndrd 0.6", "rndrw 0.5", "rndrw 0.6"]);
        let sweeps = "workload = 'file'\nread_share = 0.5\n[[sweep]]\nmode = 'rndrd'\n[[sweep]]\nmode = 'rndrw'";
        assert!(read(sweeps).is_ok());
    }

    #[test]
    fn a_key_of_the_file_for_one_of_its_engines_is_no_error_if_another_is_measured_alone() {
        let text = "workload = 'file'\nengine = ['file', 'null']\ndirect = true";
        assert_eq!(told(with(text, &[("engine", "null")]), &["engine"]), ["null"]);
        let ab = with(text, &[("engine", "null"), ("ab", "clients=1,2"), ("repeat", "1")]);
        assert_eq!(told(ab, &["engine"]), ["null", "null"]);
        let refused = |text, overrides| with(text, overrides).unwrap_err().to_string();
        let flag = refused(text, &[("engine", "null"), ("direct", "true")]);
        assert!(flag.starts_with("--direct is a parameter of neither engine `null`"), "{flag}");
        let alone = refused("workload = 'file'\nengine = 'null'\ndirect = true", &[("engine", "null")]);
        assert!(alone.starts_with("p.toml:3: `direct` is a parameter of neither"), "{alone}");
    }

    #[test]
    fn what_set_gives_is_refused_by_the_name_of_that_flag() {
        let set = |key: &str, text: &str| {
            let mut overrides = Overrides::default();
            overrides.set(key, text);
            from_flags("oltp", &overrides, 1.0, &fixture::catalogue()).unwrap_err().to_string()
        };
        assert_eq!(set("clients", "0"), "--set: `clients` cannot be `0`; use a whole number from 1 to 16384");
        assert!(set("io", "sync").starts_with("--set: `io` is a parameter of neither engine `sqlite`"));
        assert_eq!(set("table-row", "5"), "--set: unknown key `table_row`; did you mean `table_rows`?");
    }

    #[test]
    fn wrong_keys_are_refused_with_their_line() {
        let cases = [
            ("workload = 'file'\n\nclient = 4", "p.toml:3: unknown key `client`; did you mean `clients`?"),
            ("titel = 'x'\nworkload = 'file'", "p.toml:1: unknown key `titel`; did you mean `title`?"),
            (
                "[[sweep]]\nworkload = 'file'\nfilesize = 1",
                "p.toml:3: unknown key `filesize`; did you mean `file_size`?",
            ),
            (
                "workload = 'file'\n\"p\\nq\" = 1",
                "p.toml:2: unknown key `p\\nq`: allowed are `name`, `title`, `question`, `compare`, `over`, `sweep`, `engine`, `workload`, `path`, `fs`, `fs_size`, `data_set`, `memory_limit`, `storage_limit`, `cpu_limit`, `instances`, \
                 `cpus`, `smt`, `turbo`, `scheduler`, `clients`, `depth`, `think`, `rate`, `arrivals`, `slo`, `hold`, `rate_max`, `time`, `until`, `round`, `rounds_max`, `precondition`, \
                 `warmup`, `interval`, `grace`, `ops_max`, `on_error`, `stacks`, `ab`, `repeat`, `budget`, `price`, `watts`, `link`, `seed` and the parameters of engine and workload",
            ),
            (
                "workload = 'file'\ncache = '1g'",
                "p.toml:2: `cache` is a parameter of neither engine `file` nor workload `file`: they take `access`, `block`, \
                 `cursor`, `direct`, `file_size`, `files`, `fsync`, `io`, `mode`, `read_share`, `stamp`",
            ),
            (
                "[[sweep]]\nworkload = 'insert'\nengine = ['sqlite', 'fjall']\nio = 'sync'\n[[sweep]]\nworkload = 'file'",
                "p.toml:4: `io` is a parameter of neither engine `fjall`, `sqlite` nor workload `insert`: they take `background`, `cache`, \
                 `durability`, `indexes`, `rows_per_commit`",
            ),
            ("workload = 'oltp'\narrivals = 'poisson'", "p.toml:2: `arrivals` needs `rate`"),
            ("workload = 'oltp'\nrate = 5\nslo = 'p99<1ms'", "p.toml:3: `slo` needs rate = `limit`"),
            (
                "workload = 'oltp'\nrate = 'limit'\nops_max = 5",
                "p.toml:3: `ops_max` has no effect with rate = `limit`; use `time`, the longest that a probe lasts",
            ),
            ("workload = 'oltp'\npath = '/x'", "p.toml:2: `path` needs an engine that works on files, not `sqlite`"),
            ("", "p.toml: `workload` is missing: name one of `file`, `insert`, `oltp`"),
            ("clients = 1\n\n[[sweep]]\n", "p.toml:3: `workload` is missing: name one of `file`, `insert`, `oltp`"),
        ];
        for (text, message) in cases {
            assert_eq!(refusal(text), message);
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    #[test]
    fn wrong_values_are_refused_with_their_line_and_what_is_allowed() {
        let cases = [
            (
                "workload = 'fil'",
                "`workload` cannot be `fil`; use one of `file`, `insert`, `oltp`; did you mean `file`?",
            ),
            (
                "engine = 'sqlit'",
                "`engine` cannot be `sqlit`; use one of `null`, `sqlite`, `fjall`; did you mean `sqlite`?",
            ),
            ("engine = 'oracle'", "`engine` cannot be `oracle`; use one of `null`, `sqlite`, `fjall`"),
            ("engine = 'file'", "engine `file` cannot run workload `oltp`; use one of `null`, `sqlite`, `fjall`"),
            ("clients = 0", "`clients` cannot be `0`; use a whole number from 1 to 16384"),
            ("clients = 1.5", "`clients` cannot be `1.5`; use a whole number from 1 to 16384"),
            (
                "clients = '8..4'",
                "`clients` cannot be `8..4`; use a range from the lower to the higher number, such as `1..64` (the powers of two in it are used)",
            ),
            ("clients = [1, 2, 1]", "`clients` names `1` twice: remove one"),
            ("clients = []", "`clients` is an empty list: name at least one value"),
            (
                "clients = [[1]]",
                "`clients` cannot be a list of lists; use text in quotes, a number, `true` or `false`, or a list of these",
            ),
            (
                "clients = 1979-05-27",
                "`clients` cannot be a date; use text in quotes, a number, `true` or `false`, or a list of these",
            ),
            ("depth = 5000", "`depth` cannot be `5000`; use a whole number from 1 to 4096"),
            ("think = '2h'", "`think` cannot be `2h`; use a time from 0s to 1h"),
            ("think = '1ms'\nrate = 5", "`think` needs a closed loop; leave out `rate` or `think`"),
            ("rate = 0", "`rate` cannot be `0`; use a number above 0, at most 1000000000, or `none`, or `limit`"),
            ("rate = -5", "`rate` cannot be `-5`; use a number above 0, at most 1000000000, or `none`, or `limit`"),
            ("rate = inf", "`rate` cannot be `inf`; use a number above 0, at most 1000000000, or `none`, or `limit`"),
            ("rate = nan", "`rate` cannot be `nan`; use a number above 0, at most 1000000000, or `none`, or `limit`"),
            (
                "arrivals = 'poison'\nrate = 5",
                "`arrivals` cannot be `poison`; use one of `constant`, `poisson`; did you mean `poisson`?",
            ),
            ("time = 0", "`time` cannot be `0`; use a time from 10ms to 30d"),
            (
                "time = '4 parsecs'",
                "`time` cannot be `4 parsecs`; use a time such as `30s`, `250ms`, `5m` or a number of seconds",
            ),
            ("warmup = '31d'", "`warmup` cannot be `31d`; use a time from 0s to 30d"),
            ("interval = '9ms'", "`interval` cannot be `9ms`; use a time from 10ms to 30d"),
            ("interval = '31s'", "`interval` cannot be `31s`; use at most the `time` of the run phase, 30s"),
            (
                "time = '1d'\ninterval = '10ms'",
                "`time` = `1d` gives more than 1000000 intervals of 10ms; use a longer `interval`",
            ),
            ("time = '30d'", "`time` = `30d` gives more than 1000000 intervals of 1s; use a longer `interval`"),
            ("grace = 0", "`grace` cannot be `0`; use a time from 10ms to 30d"),
            ("ops_max = 0", "`ops_max` cannot be `0`; use a whole number from 1 to 9007199254740991, or `none`"),
            ("on_error = 'ignore'", "`on_error` cannot be `ignore`; use one of `stop`, `count`"),
            ("repeat = 0", "`repeat` cannot be `0`; use a whole number from 1 to 1000"),
            ("repeat = [1, 2]", "`repeat` cannot be a list; use one value"),
            ("seed = [1, 2]", "`seed` cannot be a list; use one value"),
            (
                "seed = 0xffffffffffffffffff",
                "`seed` cannot be `4722366482869645213695`; use a whole number from 0 to 9007199254740991",
            ),
            (
                "mix = 'readwrite'",
                "`mix` cannot be `readwrite`; use one of `point_select`, `read_only`, `write_only`, `read_write`, `custom`; did you mean `read_write`?",
            ),
            (
                "access = 'zip:0.9'",
                "`access` cannot be `zip:0.9`; use one of `uniform`, `zipf`, `special`; did you mean \
                 `zipf:0.9`?",
            ),
            ("cache = '1k'", "`cache` cannot be `1k`; use a size from 1 MiB to 16 TiB"),
        ];
        for (line, message) in cases {
            let workload = if line.starts_with("workload") { "" } else { "\nworkload = 'oltp'" };
            assert_eq!(refusal(&format!("{line}{workload}")), format!("p.toml:1: {message}"));
        }
    }

    #[test]
    fn what_concerns_the_whole_plan_is_refused_too() {
        let many = "[[sweep]]\nworkload = 'oltp'\nclients = '1..8192'\ntable_rows = '1..8192'\ntables = '1..512'\n";
        let (wide, often) = (format!("{many}depth = '1..32'"), format!("{many}repeat = 6"));
        let sweep = "[[sweep]]\nworkload = 'oltp'\n";
        let cases = [
            (wide.as_str(), "p.toml:1: the plan has 11760 points; at most 10000 are allowed"),
            (often.as_str(), "p.toml:1: the plan has 11760 points; at most 10000 are allowed"),
            (
                &format!("{sweep}{sweep}cache = '65536KiB'"),
                "p.toml:3: two points are the same: `oltp` on `sqlite`, clients 1, depth 1; remove one, or set `repeat`",
            ),
            (
                &format!("{sweep}cache = ['1m', '1MiB']"),
                "p.toml:1: two points are the same: `oltp` on `sqlite`, clients 1, depth 1; remove one, or set `repeat`",
            ),
            ("name = 'a b'", "p.toml:1: `name` cannot be `a b`; use letters, digits and dashes, at most 64"),
            ("name = 5", "p.toml:1: `name` must be text in quotes"),
            ("title = \"a\\nb\"", "p.toml:1: `title` cannot be `a\\nb`; use one line of at most 200 characters"),
            ("[sweep]\n", "p.toml:1: `sweep` is not a list of tables: begin each sweep with `[[sweep]]`"),
            ("sweep = [1]\n", "p.toml:1: `sweep` is not a list of tables: begin each sweep with `[[sweep]]`"),
            ("seed = 1\n\nclients 4\n", "p.toml:3: `clients 4` is not `key = value`"),
            ("seed = 1\nseed = 2\n", "p.toml:2: `seed` is set twice; remove one"),
            ("workload = file\n", "p.toml:1: `file` needs quotes: `workload = \"file\"`"),
            ("clients = 1..8 # some\n", "p.toml:1: `1..8` needs quotes: `clients = \"1..8\"`"),
            ("name = \"x\n", "p.toml:1: `name = \"x` lacks a quote"),
            (&"#".repeat(1 << 21), "p.toml: the plan has more than 1 MiB"),
        ];
        for (text, message) in cases {
            assert_eq!(refusal(text), message);
        }
    }

    #[test]
    fn wrong_flags_are_refused_by_their_name() {
        let cases = [
            (("clients", "1,x"), "--clients cannot be `x`; use a whole number from 1 to 16384"),
            (("clients", ""), "--clients has an empty value; use a whole number from 1 to 16384"),
            (("table-row", "5"), "--set: unknown key `table_row`; did you mean `table_rows`?"),
            (
                ("name", "x"),
                "--set: unknown key `name`: allowed are `engine`, `workload`, `path`, `fs`, `fs_size`, `data_set`, `memory_limit`, \
                 `storage_limit`, `cpu_limit`, `instances`, `cpus`, `smt`, `turbo`, `scheduler`, `clients`, `depth`, \
                 `think`, `rate`, `arrivals`, `slo`, `hold`, `rate_max`, `time`, `until`, `round`, `rounds_max`, `precondition`, `warmup`, `interval`, \
                 `grace`, `ops_max`, `on_error`, `stacks`, `ab`, `repeat`, `budget`, `price`, `watts`, `link`, `seed` and the parameters of engine and workload",
            ),
            (
                ("io", "sync"),
                "--io is a parameter of neither engine `sqlite` nor workload `oltp`: they take `access`, `background`, `cache`, \
                 `durability`, `mix`, `statement`, `table_rows`, `tables`",
            ),
        ];
        for (flag, message) in cases {
            assert_eq!(with("workload = 'oltp'", &[flag]).expect_err("a refusal").to_string(), message);
        }
        let none = Overrides::default();
        let catalogue = fixture::catalogue();
        let unknown = from_flags("oltpp", &none, 1.0, &catalogue).expect_err("a refusal").to_string();
        let expected = "--workload cannot be `oltpp`; use one of `file`, `insert`, `oltp`; did you mean `oltp`?";
        assert_eq!(unknown, expected);
        for (scale, shown) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
            let refusal = from_flags("oltp", &none, scale, &catalogue).expect_err("a refusal").to_string();
            assert_eq!(refusal, format!("--scale cannot be `{shown}`; use a number above 0, at most 1000"));
        }
    }

    #[test]
    fn a_default_that_its_own_declaration_refuses_is_reported_as_such() {
        const BROKEN: &[model::ParamDef] =
            &[model::ParamDef::new("tables", ParamRole::Size, model::ParamKind::Int { min: 1, max: 9 }, "10")];
        let mut catalogue = fixture::catalogue();
        catalogue.workloads[2].params = BROKEN;
        let refusal = from_flags("oltp", &Overrides::default(), 1.0, &catalogue).expect_err("a refusal").to_string();
        assert_eq!(refusal, "default of `tables`: `tables` cannot be `10`; use a whole number from 1 to 9");
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_read_or_refused_in_one_line(text in "\\PC{0,200}|(\\PC|\n|[\\[\\]=\"'.#,0-9]){0,200}") {
            one_line(read(&text));
        }

        #[test]
        fn arbitrary_values_of_known_keys_are_read_or_refused_in_one_line(
            lines in prop::collection::vec(("[a-z_]{1,3}|workload|engine|clients|rate|time|interval|cache|access|path|repeat",
                "[0-9]{1,12}|-?[0-9]+\\.[0-9]|'[^']{0,8}'|\\[.{0,8}\\]|'file'|'oltp'|'sqlite'|'1..9'|true|inf"), 0..8),
            sweeps in 0..3usize,
        ) {
            let body: String = lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
            one_line(read(&format!("{body}{}", format!("[[sweep]]\n{body}").repeat(sweeps))));
        }
    }

    #[test]
    fn a_time_from_a_flag_shortens_the_interval_and_the_warmup_of_the_file() {
        let text = "workload = 'oltp'\ntime = '30m'\ninterval = '10s'\nwarmup = '1m'\n";
        let phases = |flags: &[(&str, &str)]| {
            let Phases { warmup, run, interval, .. } = with(text, flags).expect("a valid plan").trials[0].phases;
            (warmup, run, interval)
        };
        let (seconds, millis) = (Nanos::from_secs, Nanos::from_millis);
        assert_eq!(phases(&[]), (seconds(60), seconds(1800), seconds(10)));
        assert_eq!(phases(&[("time", "3s")]), (seconds(3), seconds(3), millis(150)));
        assert_eq!(phases(&[("time", "5h")]), (seconds(60), seconds(18_000), seconds(10)));
        assert_eq!(phases(&[("time", "20ms")]), (millis(20), millis(20), millis(10)));
        let all = [("time", "20s"), ("interval", "5s"), ("warmup", "40s")];
        assert_eq!(phases(&all), (seconds(40), seconds(20), seconds(5)));
    }

    #[test]
    fn the_storage_plans_can_be_tried_on_a_small_machine_in_a_short_time() {
        for text in [
            include_str!("../../../plans/ssd-timeline.toml"),
            include_str!("../../../plans/ssd-threads.toml"),
            include_str!("../../../plans/ssd-write-steadiness.toml"),
            include_str!("../../../plans/array-threads.toml"),
        ] {
            let flags =
                Overrides::from_flags([("time", "3s"), ("clients", "1,4")].map(|(k, v)| (k.into(), v.into())).into());
            let plan = parse(text, "p.toml", &flags, 0.01, &fixture::catalogue()).expect("a valid plan");
            assert_eq!(estimate(&plan, &fixture::catalogue()).warnings, Vec::<String>::new());
            for trial in &plan.trials {
                assert!(trial.workload.params.bytes("file_size") <= Bytes::from_mib(1024));
                assert_eq!(
                    (trial.phases.run, trial.load.clients == 1 || trial.load.clients == 4),
                    (Nanos::from_secs(3), true)
                );
            }
        }
    }

    #[test]
    fn every_ready_plan_is_valid_and_bears_its_file_name() {
        let plans = [
            ("quick", include_str!("../../../plans/quick.toml"), 10),
            ("null-stall", include_str!("../../../plans/null-stall.toml"), 8),
            ("insert-engines", include_str!("../../../plans/insert-engines.toml"), 64),
            ("file-depth", include_str!("../../../plans/file-depth.toml"), 28),
            ("ssd-timeline", include_str!("../../../plans/ssd-timeline.toml"), 3),
            ("ssd-threads", include_str!("../../../plans/ssd-threads.toml"), 7),
            ("ssd-write-steadiness", include_str!("../../../plans/ssd-write-steadiness.toml"), 7),
            ("array-threads", include_str!("../../../plans/array-threads.toml"), 245),
            ("array-schedulers", include_str!("../../../plans/array-schedulers.toml"), 320),
            ("smt-oltp", include_str!("../../../plans/smt-oltp.toml"), 168),
            ("smt-schedulers", include_str!("../../../plans/smt-schedulers.toml"), 320),
            ("filesystems-oltp", include_str!("../../../plans/filesystems-oltp.toml"), 144),
            ("oltp-cpu", include_str!("../../../plans/oltp-cpu.toml"), 112),
            ("cpu-price", include_str!("../../../plans/cpu-price.toml"), 96),
            ("instances", include_str!("../../../plans/instances.toml"), 108),
            ("limits", include_str!("../../../plans/limits.toml"), 24),
            ("insert-2012", include_str!("../../../plans/insert-2012.toml"), 8),
            ("insert-larger-than-memory", include_str!("../../../plans/insert-larger-than-memory.toml"), 64),
        ];
        for (name, text, points) in plans {
            let plan = parse(text, "other.toml", &Overrides::default(), 1.0, &fixture::with_servers()).expect(name);
            let estimate = estimate(&plan, &fixture::with_servers());
            assert_eq!((plan.name.as_str(), estimate.points, estimate.warnings), (name, points, vec![]));
            assert!(plan.asked.question.is_some_and(|question| question.ends_with('?')), "{name} asks nothing");
            let repeats = plan.trials.iter().map(|trial| trial.repeat).max();
            assert!(plan.asked.compare.is_none() || repeats >= Some(4), "{name} compares and cannot conclude");
        }
    }

    #[test]
    fn the_question_of_a_file_is_taken_over_and_what_it_lacks_follows_from_the_shape() {
        let text = "question = 'What do indexes cost?'\ncompare = 'indexes'\nover = 'clients'\n\
                    workload = 'insert'\nindexes = [0, 3]\nclients = [1, 4]";
        let asked = |text: &str, flags: &[(&str, &str)]| with(text, flags).expect("a valid plan").asked;
        let stated = asked(text, &[]);
        let all = [stated.question.as_deref(), stated.compare.as_deref(), stated.over.as_deref()];
        assert_eq!(all, [Some("What do indexes cost?"), Some("indexes"), Some("clients")]);
        assert_eq!(
            asked("compare = 'rate'\nworkload = 'oltp'\nrate = ['none', 5]", &[]).compare.as_deref(),
            Some("pacing")
        );
        // Flags have left nothing to compare: the question is another one.
        let narrowed = asked(text, &[("indexes", "3")]);
        assert_eq!((narrowed.compare, narrowed.over.as_deref()), (None, Some("clients")));
        assert_eq!(
            narrowed.question.as_deref(),
            Some("How many inserts does SQLite carry, and with how many clients?")
        );
        assert_eq!(
            asked(text, &[("ab", "durability=os,disk"), ("indexes", "3")]).compare.as_deref(),
            Some("durability")
        );
    }

    #[test]
    fn a_question_that_cannot_be_answered_is_refused_with_its_line() {
        let long = format!("question = '{}'\nworkload = 'oltp'", "x".repeat(201));
        let shape = "workload = 'oltp'\nengine = ['sqlite', 'null']\nclients = [1, 2]";
        let cases = [
            (long.as_str(), "one line of 1 to 200 characters"),
            ("question = ''\nworkload = 'oltp'", "`question` has an empty value; use one line of 1 to 200 characters"),
            ("question = \"a\\u0007\"\nworkload = 'oltp'", "one line of 1 to 200 characters"),
            ("question = 5\nworkload = 'oltp'", "p.toml:1: `question` must be text in quotes"),
            (
                &format!("compare = 'engin'\n{shape}"),
                "p.toml:1: `compare` cannot be `engin`; the points differ in `engine`, `clients`; did you mean `engine`?",
            ),
            (
                &format!("over = 'depth'\n{shape}"),
                "p.toml:1: `over` cannot be `depth`; the points differ in `engine`, `clients`",
            ),
            ("compare = 'depth'\nworkload = 'oltp'", "p.toml:1: `compare` cannot be `depth`: all points are alike"),
            (
                &format!("compare = 'engine'\nover = 'engine'\n{shape}"),
                "p.toml:2: `over` cannot be `engine`; use another key than `compare`",
            ),
        ];
        for (text, expected) in cases {
            let refused = refusal(text);
            assert!(
                refused.ends_with(expected) && refused.starts_with("p.toml:") && !refused.contains('\n'),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_comparison_of_which_only_the_values_are_said_has_five_pairs_in_the_usual_time() {
        let planned = |flags: &[(&str, &str)]| {
            let flags =
                Overrides::from_flags(flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect());
            let trials = from_flags("oltp", &flags, 1.0, &fixture::catalogue()).expect("valid flags").trials;
            (trials.len(), trials[0].phases.run)
        };
        let engines = ("engine", "sqlite,null");
        assert_eq!(planned(&[engines]), (10, Nanos::from_secs(6)));
        assert_eq!(planned(&[engines, ("time", "20s")]), (2, Nanos::from_secs(20)));
        assert_eq!(planned(&[engines, ("repeat", "2")]), (4, Nanos::from_secs(30)));
        assert_eq!(planned(&[("clients", "1,4")]), (2, Nanos::from_secs(30)), "a sweep compares nothing");
    }

    #[test]
    fn commands_of_flags_ask_in_plain_words() {
        let asked = |workload: &str, flags: &[(&str, &str)]| {
            let flags =
                Overrides::from_flags(flags.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect());
            let asked = from_flags(workload, &flags, 1.0, &fixture::catalogue()).expect("valid flags").asked;
            [asked.question.unwrap_or_default(), asked.compare.unwrap_or_default(), asked.over.unwrap_or_default()]
        };
        let case =
            |workload: &str, flags: &[(&str, &str)], expected: [&str; 3]| assert_eq!(asked(workload, flags), expected);
        case(
            "oltp",
            &[("engine", "sqlite,null"), ("clients", "1..4")],
            ["SQLite or the null engine?", "engine", "clients"],
        );
        case("oltp", &[("engine", "null,sqlite")], ["The null engine or SQLite?", "engine", ""]);
        let reads = "How many reads and writes does the disk carry, and with how many in flight?";
        case("file", &[("depth", "1..8")], [reads, "", "depth"]);
        case(
            "oltp",
            &[("clients", "1,4")],
            ["How many transactions does SQLite carry, and with how many clients?", "", "clients"],
        );
        let faster = "Which is faster: durability os or durability disk?";
        case("oltp", &[("ab", "durability=os,disk")], [faster, "durability", ""]);
        let systems = "Which is faster: ext4, ext4 without barriers or XFS?";
        case("oltp", &[("fs", "ext4,ext4:nobarrier,xfs"), ("clients", "1,2")], [systems, "fs", "clients"]);
        let rate = "How many transactions per second does SQLite carry with p99 under 10ms?";
        case("oltp", &[("rate", "limit"), ("slo", "p99<10ms")], [rate, "", ""]);
        case("oltp", &[], ["How many transactions per second does SQLite carry?", "", ""]);
        // Another sort of work is no comparison.
        case(
            "oltp",
            &[("mix", "read_only,read_write")],
            ["How many transactions per second does SQLite carry?", "", ""],
        );
    }

    #[test]
    fn an_engine_by_flag_narrows_a_plan_to_the_sweeps_that_name_it() {
        let text = "workload = 'oltp'\n[[sweep]]\nengine = ['sqlite', 'null']\nclients = [4, 16]\n[[sweep]]\nengine = 'fjall'\nclients = [1, 4]\ncache = '64MiB'";
        let told = |flag: &str| told(with(text, &[("engine", flag)]), &["engine", "clients"]);
        assert_eq!(told("sqlite"), ["sqlite 4", "sqlite 16"]);
        assert_eq!(told("fjall"), ["fjall 1", "fjall 4"]);
        // A key whose condition a flag has switched off is no mistake of the file.
        let file = "workload = 'file'\nmode = ['rndrd', 'rndrw']\nread_share = 0.5";
        assert_eq!(super::tests::told(with(file, &[("mode", "rndrd")]), &["mode"]), ["rndrd"]);
    }

    #[test]
    fn the_benchmark_of_2012_is_scaled_with_its_partitions_and_its_cache() {
        let text = include_str!("../../../plans/insert-2012.toml");
        let plan = parse(text, "p.toml", &Overrides::default(), 0.001, &fixture::with_servers()).expect("a valid plan");
        for trial in &plan.trials {
            let (of, cache) = (|name| trial.workload.params.int(name), trial.target.params.bytes("cache"));
            assert_eq!((of("rows"), of("partition_rows"), of("rows_per_commit")), (1_000_000, 100_000, 1));
            assert!(cache > Bytes::from_mib(55) && cache < Bytes::from_mib(57), "{cache}");
        }
    }

    #[test]
    fn quick_measures_for_a_minute_at_most_and_limits_what_it_writes() {
        let text = include_str!("../../../plans/quick.toml");
        let plan =
            parse(text, "quick.toml", &Overrides::default(), 1.0, &fixture::with_servers()).expect("a valid plan");
        assert!(estimate(&plan, &fixture::with_servers()).seconds <= 60.0);
        let writing: Vec<&Trial> = plan.trials.iter().filter(|trial| written_per_op(trial) > 0).collect();
        assert_eq!(writing.len(), 3);
        // A warmup would write beyond the limit.
        let limited = |trial: &&Trial| trial.phases.ops_max.is_some() && trial.phases.warmup == Nanos(0);
        assert!(writing.iter().all(limited));
        let bytes: u64 = writing.iter().map(|trial| written_per_op(trial) * trial.phases.ops_max.unwrap()).sum();
        assert!(bytes + (256 << 20) <= 2 << 30, "{bytes} bytes and the file");
    }

    /// The figures of plans/quick.toml, rounded up. Those of fjall's inserts include what its drain writes.
    fn written_per_op(trial: &Trial) -> u64 {
        let param = |name: &str| trial.workload.params.0.get(name).map(ToString::to_string).unwrap_or_default();
        match (trial.workload.name.as_str(), trial.target.engine.as_str(), param("rows_per_commit").as_str()) {
            ("file", ..) if param("mode") == "rndwr" => 4 << 10,
            ("insert", ..) if param("step") == "drain" => 0,
            ("insert", "sqlite", "100") => 100 * 220,
            ("insert", "fjall", "100") => 100 * 100,
            ("oltp", ..) if param("mix") != "read_only" => 35_000,
            _ => 0,
        }
    }

    fn one_line(plan: Result<Plan, PlanError>) {
        if let Err(refusal) = plan {
            let message = refusal.to_string();
            assert!(message.starts_with("p.toml") && !message.contains('\n'), "{message:?}");
        }
    }
}
