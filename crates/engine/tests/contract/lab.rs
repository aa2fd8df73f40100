//! A bench for the contract tests: small trials from the declared defaults, and instances driven as the binary drives them.

use engine::data_set::SetUse;
use engine::{ENGINES, EngineDef, EngineLocation, Instance, StartContext, WorkloadClients};
use host::TargetError;
use host::allocator::Allocator;
use host::cpu::EngineCpus;
use host::filesystem::{DirectAlignment, direct_alignment};
use load::{ArrivalParts, LoadEnd, LoadOutcome, MonotonicClock, PhasePlan, PhaseSetup, Sink, Stop, run_phases};
use model::{
    Bytes, Catalogue, CommonData, Event, Fact, Family, IntervalRow, Nanos, OpClass, ParamDef, ParamKind, Phase,
    RowCounts, Tick, Trial, UsedIf, UsefulValues,
};
use plan::Overrides;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use workload::{WORKLOADS, WorkloadDef};

/// The declared defaults, made small. Each is given to the engines and workloads that declare it.
/// Of the insert benchmark it is the one step that was all of it in 2012, a row a commit, and only time or operations end it.
const SMALL: [(&str, &str); 12] = [
    ("memory", "8MiB"),
    ("file_size", "8MiB"),
    ("table_rows", "500"),
    ("records", "500"),
    ("items", "1000"),
    ("customers", "30"),
    ("log_size", "32MiB"),
    ("step", "l.i1"),
    ("rows", "0"),
    ("rows_per_commit", "1"),
    ("schema", "iibench-2012"),
    ("file", concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs")),
];
/// The plan of the workload whose work no default can be: two variants of a statement.
const VARIANTS: &str = "
workload = 'sql'
[[data]]
name = 'small'
statements = 'CREATE TABLE small (k INT, v INT); INSERT INTO small VALUES (1, 10), (2, 20), (1, 30)'
[[variant]]
name = 'group'
statement = 'SELECT k FROM small GROUP BY k'
[[variant]]
name = 'distinct'
setup = 'CREATE TABLE other (k INT); INSERT INTO other SELECT k FROM small'
statement = 'SELECT DISTINCT k FROM other'
cleanup = 'DROP TABLE other'
";
/// The same of tables of the user's own.
const TABLES: &str = "
workload = 'own'
[[table]]
name = 'small'
rows = 500
primary_key = 'id'
column = [{ name = 'id', type = 'int', serial = true }, { name = 'v', type = 'varchar(20)', nulls = 0.1 }]
[[statement]]
name = 'look'
sql = 'SELECT v FROM small WHERE id = :small.id'
";
/// Operations end a run, however busy the machine is.
const SHORT: [(&str, &str); 3] = [("time", "60s"), ("interval", "50ms"), ("ops_max", "300")];
/// For many runs: an engine's commits may take milliseconds here, and a run ends at whichever comes first.
pub const MOMENT: (&str, &str) = ("time", "200ms");

/// The environment variable that names the directory in which all data are made.
const DIRECTORY: &str = "TESTS_OF_PLIMSOLL_DIR";

/// A directory on a disk, and not in a /tmp that may be memory: where [`DIRECTORY`] says, or else on the disk that the build is on. If
/// other users may not enter the build (a clone below root's home), it is in /var/tmp: servers run as users of their own.
pub fn directory() -> TempDir {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let usual = if may_be_entered(build) { build } else { Path::new("/var/tmp") };
    tempfile::tempdir_in(std::env::var_os(DIRECTORY).as_deref().map_or(usual, Path::new)).unwrap()
}

/// Whether every user may enter `dir`.
fn may_be_entered(dir: &Path) -> bool {
    let is_open = |dir: &Path| std::fs::metadata(dir).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 != 0);
    dir.ancestors().all(is_open)
}

/// Waits for a server, which does what it does in its own time.
pub fn until(mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !ready() {
        assert!(Instant::now() < end, "the server was not ready in time");
        std::thread::sleep(Duration::from_millis(20)); // the real time of another process: there is nothing to fake
    }
}

/// What is in `dir`.
pub fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.collect()
}

/// The files below `dir` with that name.
pub fn found(dir: &Path, name: &str) -> PathBuf {
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => waiting.push(path),
                path if entry.file_name() == name => return path,
                _ => {}
            }
        }
    }
    panic!("there is no `{name}`");
}

/// Every engine with every workload that it can run, as far as the engine is to be had here. A log is replayed on a server that has its tables:
/// `tests/cli/replaying_sql.rs` makes both.
pub fn pairs() -> impl Iterator<Item = (&'static EngineDef, &'static WorkloadDef)> {
    let here = ENGINES.iter().copied().filter(|engine| is_here(engine));
    let workloads = || WORKLOADS.iter().copied().filter(|workload| workload.entry.name != "replay-sql");
    let all = here.flat_map(move |engine| workloads().map(move |workload| (engine, workload)));
    all.filter(|(engine, workload)| engine.entry.families.iter().any(|f| workload.entry.families.contains(f)))
}

/// The same, with one workload only for each server: they take a second to start.
pub fn quick_pairs() -> impl Iterator<Item = (&'static EngineDef, &'static WorkloadDef)> {
    pairs().filter(|(engine, workload)| engine.runs != EngineLocation::Server || workload.entry.name == "oltp")
}

/// The servers among the engines, as far as they are to be had here.
pub fn servers() -> impl Iterator<Item = &'static EngineDef> {
    ENGINES.iter().copied().filter(|engine| engine.runs == EngineLocation::Server && is_here(engine))
}

/// One engine of each server program: for what its storage has no part in.
pub fn server_programs() -> impl Iterator<Item = &'static EngineDef> {
    servers().filter(|engine| !engine.entry.name.ends_with(":rocksdb"))
}

/// The SQL engines that are to be had here and run in a directory of plimsoll's own.
pub fn sql_engines() -> impl Iterator<Item = &'static str> {
    let with_oltp = pairs().filter(|(_, workload)| workload.entry.name == "oltp");
    let in_sql = with_oltp.filter(|(engine, _)| !engine.scripted && engine.entry.families.contains(&Family::Sql));
    in_sql.map(|(engine, _)| engine.entry.name)
}

/// The databases that work inside plimsoll, as far as it was built with them.
pub fn embedded() -> impl Iterator<Item = &'static str> {
    ENGINES
        .iter()
        .filter(|engine| engine.runs == EngineLocation::Embedded && keeps_data(engine) && is_here(engine))
        .map(|engine| engine.entry.name)
}

fn keeps_data(engine: &EngineDef) -> bool {
    engine.entry.families.iter().any(|family| matches!(family, Family::Sql | Family::Kv))
}

/// Those of them that keep keys and values.
pub fn key_value() -> impl Iterator<Item = &'static str> {
    embedded().filter(|name| engine::find(name).is_some_and(|engine| engine.entry.families == [Family::Kv]))
}

/// Whether `engine` is one of those.
pub fn is_key_value(engine: &str) -> bool {
    key_value().any(|name| name == engine)
}

/// The environment variable that names the one engine to test, for people who write an engine.
const ONLY: &str = "PLIMSOLL_TEST_ENGINE";
/// The engine that is tested only if it is asked for.
const CLUSTER: &str = "mariadb:galera";

/// Whether the engine is asked for and its programs are installed; if they are not, the test prints that and leaves it out.
fn is_here(engine: &EngineDef) -> bool {
    // A cluster takes ten seconds to start, and has tests of its own.
    let is_left_out =
        |only: Result<String, _>| only.map_or(engine.entry.name == CLUSTER, |only| only != engine.entry.name);
    if is_left_out(std::env::var(ONLY)) {
        return false;
    }
    let missing = &missing_programs()[engine.entry.name];
    missing.iter().for_each(|why| eprintln!("skipped: engine {}: {why}", engine.entry.name));
    missing.is_none()
}

/// What each engine lacks here, by its name. Their programs are asked once for all tests.
fn missing_programs() -> &'static BTreeMap<&'static str, Option<String>> {
    static MISSING: OnceLock<BTreeMap<&str, Option<String>>> = OnceLock::new();
    MISSING.get_or_init(|| ENGINES.iter().map(|engine| (engine.entry.name, (engine.version)().err())).collect())
}

/// The name of a parameter and a word for it.
pub type Setting = (&'static str, &'static str);

/// The setting that changes nothing.
pub const DEFAULTS: Setting = ("seed", "1");

/// The settings in which every word that engine and workload declare comes once, the others being the defaults. On a server
/// the defaults stand for themselves, and the engine's words are tried with one workload.
pub fn settings(engine: &EngineDef, workload: &WorkloadDef) -> Vec<Setting> {
    let all = [vec![DEFAULTS], words(engine, workload)].concat();
    if engine.runs != EngineLocation::Server {
        return all;
    }
    let is_default = |defs: &[ParamDef], (name, word): &(&str, &str)| {
        defs.iter().any(|def| def.name == *name && def.default == *word)
    };
    let mut all = all;
    // The clients' side is tried in `clients`, on one instance.
    all.retain(|(name, _)| !engine.entry.params.iter().any(|def| def.name == *name && !def.shapes_data));
    all.retain(|setting| !is_default(engine.entry.params, setting) && !is_default(workload.entry.params, setting));
    all.retain(|(name, _)| workload.entry.name == "insert" || !engine.entry.params.iter().any(|def| def.name == *name));
    all
}

fn words(engine: &EngineDef, workload: &WorkloadDef) -> Vec<Setting> {
    let defs = || engine.entry.params.iter().chain(workload.entry.params);
    let can_be_used =
        |def: &&ParamDef| def.used_if.is_none_or(|condition| defs().any(|other| other.name == condition.param));
    let words = defs().filter(can_be_used).filter_map(|def| match def.kind {
        ParamKind::OneOf(words) => Some(words.iter().map(|word| (def.name, *word))),
        _ => None,
    });
    // The mix that a plan file spells out and tables that are there already have tests of their own.
    words.flatten().filter(|word| ![("mix", "custom"), ("tables_of", "sysbench")].contains(word)).collect()
}

/// What is replayed: a tenth of a second of an InnoDB that inserted rows, on ext4.
const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../workload/tests/fixtures/innodb-insert.trace");

/// What a setting needs in addition, if the other defaults exclude it.
pub fn with_companions(setting: Setting) -> Vec<Setting> {
    match setting {
        ("io", "mmap") => vec![setting, ("direct", "false")],
        _ => vec![setting],
    }
}

/// The small trial of `engine` and `workload` with `settings`, as the crate `plan` makes it from flags.
pub fn trial(engine: &str, workload: &str, settings: &[(&str, &str)]) -> Trial {
    let overrides = overrides(engine, workload, settings);
    let plan = match workload {
        "sql" => plan::parse(VARIANTS, "variants.toml", &overrides, 1.0, &catalogue()),
        "own" => plan::parse(TABLES, "tables.toml", &overrides, 1.0, &catalogue()),
        _ => plan::from_flags(workload, &overrides, 1.0, &catalogue()),
    };
    let mut trials = plan.unwrap().trials;
    let mut steps = SMALL.iter().chain(settings).filter(|(name, _)| *name == "step").map(|(_, step)| *step);
    // The first, and of several steps, which the plan orders, the one that was asked for.
    match steps.next_back().filter(|_| workload == "insert") {
        Some(step) => trials.into_iter().find(|trial| trial.workload.params.word("step") == step).unwrap(),
        None => trials.remove(0),
    }
}

/// The same of oltp with the statements in `text`, the end of a plan file.
pub fn custom_trial(engine: &str, text: &str, settings: &[(&str, &str)]) -> Trial {
    let (text, overrides) = (format!("workload = 'oltp'\nmix = 'custom'\n{text}"), overrides(engine, "oltp", settings));
    plan::parse(&text, "custom.toml", &overrides, 1.0, &catalogue()).unwrap().trials.remove(0)
}

/// The same of the tables and statements in `text`, the end of a plan file, whose rows are multiplied by `scale`.
pub fn own_trial(engine: &str, text: &str, scale: f64, settings: &[(&str, &str)]) -> Trial {
    let (text, overrides) = (format!("workload = 'own'\n{text}"), overrides(engine, "own", settings));
    plan::parse(&text, "own.toml", &overrides, scale, &catalogue()).unwrap().trials.remove(0)
}

fn overrides(engine: &str, workload: &str, settings: &[(&str, &str)]) -> Overrides {
    let def = workload::find(workload).unwrap();
    let declared = || def.entry.params.iter().chain(engine::find(engine).unwrap().entry.params);
    // The rows and steps are those of the insert benchmark: rows end it, and those of variants are in their tables.
    let is_of_insert = |name: &str| ["rows", "step"].contains(&name);
    let is_for =
        |name: &str| declared().any(|param| param.name == name) && (workload == "insert" || !is_of_insert(name));
    let small = SMALL.iter().filter(|(name, _)| is_for(name));
    let all = small.chain(&SHORT).copied().chain([("engine", engine)]).chain(settings.iter().copied());
    let mut all: BTreeMap<&str, String> = all.map(|(name, text)| (name, text.to_string())).collect();
    if workload == "replay" {
        all.insert("trace", RECORDING.to_owned());
        all.remove("file_size");
    }
    // Once for the condition of a setting, once for the condition of that.
    for _ in 0..2 {
        declared().for_each(|def| make_effective(def, declared(), &mut all));
    }
    if ends_with_its_rows(&all) {
        all.remove("time");
    }
    Overrides::from_flags(all.into_iter().map(|(name, text)| (name.to_string(), text)).collect())
}

/// Whether `settings` are those of loads that end with their rows, which a time does not shorten.
fn ends_with_its_rows(settings: &BTreeMap<&str, String>) -> bool {
    let has_rows = settings.get("rows").is_some_and(|rows| rows != "0");
    let has_queries = |steps: &String| steps.split(',').any(|step| step.starts_with('q'));
    has_rows && settings.get("step").is_some_and(|steps| !has_queries(steps))
}

/// Adds a point on which the setting of `def` has an effect, if there is such a setting: without one a plan is refused, although a
/// sweep may well have points on which it has none.
fn make_effective<'d>(
    def: &ParamDef,
    mut declared: impl Iterator<Item = &'d ParamDef>,
    all: &mut BTreeMap<&str, String>,
) {
    let Some(UsedIf { param, values: UsefulValues::OneOf(words) }) = def.used_if else { return };
    if !all.contains_key(def.name) {
        return;
    }
    let default = declared.find(|other| other.name == param).map_or("", |other| other.default);
    let text = all.entry(param).or_insert_with(|| default.to_owned());
    if !text.split(',').any(|word| words.contains(&word)) {
        *text = format!("{text},{}", words[0]);
    }
}

fn catalogue() -> Catalogue {
    Catalogue {
        engines: ENGINES.iter().map(|def| def.entry).collect(),
        workloads: WORKLOADS.iter().map(|def| def.entry).collect(),
        distributions: workload::distribution::DISTRIBUTIONS.iter().map(|def| def.entry).collect(),
        run_ops: |name, params| workload::find(name)?.run_ops(params),
        load_rows: |name, params| workload::find(name)?.load_rows(params),
        traits: |_, _| model::WorkTraits::default(),
        shares_data: |_, _| true,
        usable_cpus: 2,
        has_step: engine::has_step,
        engine_process: engine::process_of,
        size_at: engine::size_at,
        read_config: engine::read_config,
        read_recording: engine::read_recording,
        read_text: |_| Err("no files".into()),
        check_tables: workload::own::check,
    }
}

/// Whether this machine lets the trial run at all; if it does not, the test prints that and leaves it out.
pub fn can_run(trial: &Trial, parent: &Path) -> bool {
    let params = &trial.target.params.0;
    let is = |name: &str, value: &str| params.get(name).is_some_and(|found| found.to_string() == value);
    if is("io", "uring") && io_uring::IoUring::new(2).is_err() {
        eprintln!("skipped: io_uring is not to be had here");
        return false;
    }
    let allocator = params.get("allocator").and_then(|word| Allocator::from_word(&word.to_string()));
    if let Some(Err(why)) = allocator.map(Allocator::find_library) {
        eprintln!("skipped: {why}");
        return false;
    }
    let file = tempfile::tempfile_in(parent).unwrap();
    file.set_len(1 << 16).unwrap();
    if is("direct", "true") && direct_alignment(&file) == DirectAlignment::BufferedOnly {
        eprintln!("skipped: no O_DIRECT in {}", parent.display());
        return false;
    }
    true
}

/// What a sink saw.
#[derive(Default)]
pub struct Seen {
    /// Operations done and failed, by phase and kind.
    pub counts: BTreeMap<(Phase, u8), (u64, u64)>,
    /// The kinds that follow in the turn of another operation.
    pub steps: Vec<u8>,
    /// The rows of each kind in the run phase.
    pub rows: BTreeMap<u8, RowCounts>,
    /// What was reported.
    pub events: Vec<String>,
    /// What the instance reported of the load when it was finished.
    pub load_facts: Vec<Fact>,
}

impl Seen {
    /// Operations done and failed in `phase`, without the steps of a turn.
    pub fn total(&self, phase: Phase) -> (u64, u64) {
        let own = self.counts.iter().filter(|((counted, kind), _)| *counted == phase && !self.steps.contains(kind));
        own.fold((0, 0), |(ok, failed), (_, counts)| (ok + counts.0, failed + counts.1))
    }
}

impl Sink for Seen {
    fn begin_phase(&mut self, _: Phase, _: Tick) {}
    fn interval(&mut self, rows: Vec<IntervalRow>, events: Vec<Event>, _: Tick) {
        for (phase, kind) in rows.iter().flat_map(|row| row.kinds.iter().map(|kind| (row.phase, kind))) {
            let counts = self.counts.entry((phase, kind.kind.0)).or_default();
            *counts = (counts.0 + kind.ok, counts.1 + kind.failed);
            if phase == Phase::Run {
                self.rows.entry(kind.kind.0).or_default().add(&kind.rows);
            }
        }
        self.events.extend(events.into_iter().map(|event| event.text));
    }
    fn end_phase(&mut self, _: Phase, _: Tick, _: u64, _: u64) {}
}

/// Starts an instance for `trial` in `parent`.
pub fn start(trial: &Trial, parent: &Path) -> Result<Box<dyn Instance>, TargetError> {
    start_on(trial, parent, None)
}

/// The same on the data that another instance has made.
pub fn join(trial: &Trial, parent: &Path, common: &CommonData) -> Result<Box<dyn Instance>, TargetError> {
    start_on(trial, parent, Some(common))
}

fn start_on(trial: &Trial, parent: &Path, joins: Option<&CommonData>) -> Result<Box<dyn Instance>, TargetError> {
    let data = format!("{} {}", trial.target.engine, trial.workload.name);
    let engine = engine::find(&trial.target.engine).unwrap();
    (engine.start)(&StartContext {
        engine,
        trial,
        parent,
        data: &data,
        destroy: &[],
        cgroups: None,
        cpus: &EngineCpus::default(),
        volume_daemon: None,
        joins,
        data_set: SetUse::None,
    })
}

/// Makes the data of `instance`, as far as it can be made, and seals it if it could.
pub fn prepare(instance: &mut dyn Instance, trial: &Trial) -> Result<(LoadOutcome, Seen), TargetError> {
    let (mut seen, mut outcome) =
        (Seen::default(), LoadOutcome { ended: LoadEnd::AsPlanned, hung: Vec::new(), done_by_part: Vec::new() });
    if let Some(loading) = instance.make_loaders(trial)? {
        outcome = perform(loading, &loading_phase(), trial, &mut seen);
    }
    if outcome.ended == LoadEnd::AsPlanned {
        seen.load_facts = instance.finish_load()?;
    }
    Ok((outcome, seen))
}

/// The phase in which data is made.
pub fn loading_phase() -> PhasePlan {
    let closed = model::Pacing::Closed { think: Nanos(0) };
    PhasePlan { phase: Phase::Prepare, length: Nanos::from_secs(600), ops_max: None, pacing: closed }
}

/// Makes data with loaders that are there already.
pub fn load_data(loading: WorkloadClients, trial: &Trial) -> LoadOutcome {
    perform(loading, &loading_phase(), trial, &mut Seen::default())
}

/// An instance for `trial` with its data.
pub fn prepared(trial: &Trial, parent: &Path) -> Box<dyn Instance> {
    prepared_with_facts(trial, parent).0
}

/// The same, and the facts about its load.
pub fn prepared_with_facts(trial: &Trial, parent: &Path) -> (Box<dyn Instance>, Vec<Fact>) {
    let mut instance = start(trial, parent).unwrap();
    let (outcome, seen) = prepare(&mut *instance, trial).unwrap();
    assert_eq!(outcome.ended, LoadEnd::AsPlanned, "{:?}", seen.events);
    (instance, seen.load_facts)
}

/// Runs `trial` on `instance`.
pub fn run(instance: &mut dyn Instance, trial: &Trial) -> Result<(LoadOutcome, Seen), TargetError> {
    Ok(run_loading(instance.make_clients(trial)?, trial))
}

/// Runs `trial` with clients that are there already.
pub fn run_loading(loading: WorkloadClients, trial: &Trial) -> (LoadOutcome, Seen) {
    let steps = (0..).zip(&loading.kinds).filter(|(_, kind)| kind.class == OpClass::Step).map(|(nth, _)| nth);
    let mut seen = Seen { steps: steps.collect(), ..Seen::default() };
    let outcome = perform(loading, &run_phase(trial), trial, &mut seen);
    // Whatever a test runs: nobody takes rows away, so no operation may miss any.
    assert!(seen.rows.values().all(|rows| rows.missed == 0), "{:?}, {:?}", seen.rows, seen.events);
    (outcome, seen)
}

/// The run phase of `trial`.
pub fn run_phase(trial: &Trial) -> PhasePlan {
    let phases = trial.phases;
    PhasePlan { phase: Phase::Run, length: phases.run, ops_max: phases.ops_max, pacing: trial.pacing_of_all() }
}

/// Runs one phase with clients that are there already.
pub fn perform(loading: WorkloadClients, phase: &PhasePlan, trial: &Trial, seen: &mut dyn Sink) -> LoadOutcome {
    let setup = PhaseSetup {
        kinds: loading.kinds.len(),
        interval: trial.phases.interval,
        grace: trial.phases.grace,
        silence: None,
        on_error: trial.on_error,
        seed: trial.arrival_seed(),
        parts: ArrivalParts { foreground: trial.host_part(), background: trial.client_part() },
    };
    run_phases(loading, &[*phase], &setup, &MonotonicClock::start(), &Arc::new(Stop::default()), seen)
}

/// How many operations the load part of `trial` has; `None` if nothing is loaded.
pub fn load_ops(trial: &Trial) -> Option<u64> {
    let def = workload::find(&trial.workload.name).unwrap();
    let engine = engine::find(&trial.target.engine).unwrap();
    let sequence = workload::SequenceState::default();
    let input = workload::ProgramInput::from_trial(trial, &sequence);
    match def.entry.families.iter().find(|family| engine.entry.families.contains(family)).unwrap() {
        _ if engine.scripted => None,
        Family::Io => def.io.unwrap()(&input).load.ops,
        Family::Sql => def.sql.unwrap()(&input).load.and_then(|load| load.ops().ops),
        Family::Task(_) => None,
        Family::Kv => def.kv.unwrap()(&input).unwrap().load.and_then(|load| load.ops),
        Family::Connection => None,
    }
}

/// Whether the workload exists for the engine with these parameters.
pub fn exists(trial: &Trial) -> bool {
    let def = workload::find(&trial.workload.name).unwrap();
    let engine = engine::find(&trial.target.engine).unwrap();
    let kv_only = engine.entry.families == [Family::Kv];
    let sequence = workload::SequenceState::default();
    let is_had = (engine.check)(trial).is_ok();
    is_had && (!kv_only || def.kv.unwrap()(&workload::ProgramInput::from_trial(trial, &sequence)).is_ok())
}

/// The value of the fact `name`.
pub fn fact(instance: &dyn Instance, name: &str) -> Option<String> {
    instance.report().facts.into_iter().find(|fact| fact.name == name).map(|fact| fact.value)
}

/// A file that plimsoll did not make.
pub fn foreign_file(path: &Path, size: Bytes) -> Vec<u8> {
    let content: Vec<u8> = (0..size.0).map(|at| (at * 31 / 7) as u8).collect();
    std::fs::write(path, &content).unwrap();
    content
}
