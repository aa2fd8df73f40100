//! `plimsoll doctor`: what this machine can do, what disturbs a measurement on it, and how fast plimsoll itself is: the ceiling of
//! every number.
//!
//! In: a directory. Out: whether the machine is fit for measurements, its facts, what disturbs, and the rate of the generator against the engine `null`, the page
//! cache and the disk. Limits: one second of load each; other work on the machine lowers the rates.

use super::workload::ENDLESS;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use crate::output::progress::chores::ProgressLine;
use crate::signals;
use clap::{ArgMatches, Command};
use engine::EngineDef;
use host::disturbance::{CpuTimes, Disturbance, Fitness, Gravity, Surroundings};
use host::privileged::system_change::wanted_settings;
use load::Stop;
use model::{Bytes, Fact, FileSystem, FileSystemSpec, IoScheduler, Limits, MachineSetup, SetState, Switch, Trial};
use plan::Overrides;
use runner::AdHocRun;
use std::path::Path;
use std::sync::Arc;

pub fn clap() -> Command {
    Command::new("doctor")
        .arg(flags::directory())
        .about("Check this machine: what can be measured on it, what would disturb a measurement, and how fast plimsoll itself is")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let dir = flags::options(matches).site.dir;
    host::safety::check_directory(&dir)?;
    let mut left = host::data_dir::sweep_abandoned(&dir, host::privileged::volume::release_volume).notes;
    left.extend(host::privileged::undo_abandoned());
    let half_made = host::data_set::all(&dir).into_iter().filter(|set| set.state == SetState::Making);
    left.extend(half_made.map(|set| host::data_set::half_made(&set.name).to_string()));
    let progress = ProgressLine::start(PROBES.len() as u64 + 2, context);
    progress.step("the machine");
    let before = CpuTimes::now();
    let mut facts = host::machine::facts();
    facts.extend(host::filesystem::find_mount(&dir).map(|mount| mount.facts()).unwrap_or_default());
    facts.extend(load::clock_facts());
    let missing_counters = missing_counters(&dir);
    let stop = Arc::new(Stop::default());
    signals::listen(&stop)?;
    let ceilings: Vec<ProbedCeiling> = PROBES
        .iter()
        .take_while(|_| stop.reason().is_none())
        .map(|probe| {
            progress.step(probe.name);
            ceiling(probe, &dir, &stop, context)
        })
        .collect();
    if stop.reason().is_some() {
        return Err(Fault::new(signals::exit(), "interrupted; its files were removed and no results were kept"));
    }
    progress.step("what can be measured here");
    let disturbances = Surroundings::inspect(&dir, before).disturbances();
    let abilities = abilities(&ceilings, &dir);
    drop(progress);
    let checkup = Checkup { facts, disturbances, missing_counters, ceilings, abilities, left };
    if context.json {
        output::json::print(&checkup.json())
    } else {
        output::print(&checkup.text(context.width()))
    }
    Ok(Exit::Done)
}

struct Checkup {
    facts: Vec<Fact>,
    disturbances: Vec<Disturbance>,
    missing_counters: Vec<String>,
    ceilings: Vec<ProbedCeiling>,
    abilities: Vec<Ability>,
    /// Notes about what earlier runs have left, which was undone, or not.
    left: Vec<String>,
}

/// One thing that a ceiling is measured with.
struct Probe {
    name: &'static str,
    workload: &'static str,
    flags: &'static [(&'static str, &'static str)],
}

const fn probe(name: &'static str, workload: &'static str, flags: &'static [(&'static str, &'static str)]) -> Probe {
    Probe { name, workload, flags }
}

const FILE: (&str, &str) = ("file_size", "64MiB");
const CACHED: (&str, &str) = ("direct", "false");
const SMALL: (&str, &str) = ("block", "4KiB");

const NULL: (&str, &str) = ("path", "/dev/null");
const WRITES: (&str, &str) = ("mode", "rndwr");
const STEP: (&str, &str) = ("step", "l.i1");
const SINGLE: (&str, &str) = ("rows_per_commit", "1");

/// The probe that shows whether io_uring and O_DIRECT can be used.
const DIRECT_URING: &str = "disk, 4 KiB io_uring depth 32";

const PROBES: &[Probe] = &[
    probe("engine null, 1 client", "file", &[("engine", "null")]),
    probe("engine null, 2 clients", "file", &[("engine", "null"), ("clients", "2")]),
    probe("/dev/null, 4 KiB pwrite", "file", &[("io", "sync"), CACHED, SMALL, FILE, NULL, WRITES]),
    probe(
        "/dev/null, 4 KiB io_uring depth 32",
        "file",
        &[("io", "uring"), ("depth", "32"), CACHED, SMALL, FILE, NULL, WRITES],
    ),
    probe("page cache, 4 KiB pread", "file", &[("io", "sync"), CACHED, SMALL, FILE]),
    probe("page cache, 4 KiB io_uring depth 32", "file", &[("io", "uring"), ("depth", "32"), CACHED, SMALL, FILE]),
    probe(DIRECT_URING, "file", &[("io", "uring"), ("depth", "32"), SMALL, FILE]),
    probe("insert generator alone", "insert", &[("engine", "null"), STEP, ENDLESS, SINGLE]),
    probe("oltp read_write generator alone", "oltp", &[("engine", "null"), ("mix", "read_write")]),
];

/// The width of the names of probes: lines with rates then fit a terminal of 80 columns.
const PROBE_WIDTH: usize = 35;

/// How fast plimsoll itself was.
struct ProbedCeiling {
    name: &'static str,
    measured: Result<LoopRate, Fault>,
}

struct LoopRate {
    ops_per_s: f64,
    cpu_ns_per_op: f64,
}

fn ceiling(probe: &Probe, dir: &Path, stop: &Arc<Stop>, context: &Context) -> ProbedCeiling {
    let flags = probe.flags.iter().chain(&[("time", "1s")]).map(|(key, value)| (key.to_string(), value.to_string()));
    let plan = plan::from_flags(probe.workload, &Overrides::from_flags(flags.collect()), 1.0, &context.catalogue);
    let measured = plan.map_err(Fault::from).and_then(|plan| rate(&plan.trials[0], dir, stop));
    ProbedCeiling { name: probe.name, measured }
}

/// Runs one trial without recording it.
fn rate(trial: &Trial, dir: &Path, stop: &Arc<Stop>) -> Result<LoopRate, Fault> {
    let mut run = AdHocRun::start(trial, dir, stop)?;
    let measured = run.measure(trial);
    run.stop()?;
    let sums = measured?;
    Ok(LoopRate { ops_per_s: sums.ops_per_s(), cpu_ns_per_op: sums.cpu_ns_per_op() })
}

/// Something that plimsoll can do on some machines.
struct Ability {
    what: String,
    /// What is used for it, or why it cannot be done.
    usable: Result<String, String>,
}

/// Ways of I/O, file systems, limits and engines.
fn abilities(ceilings: &[ProbedCeiling], dir: &Path) -> Vec<Ability> {
    let uring = ceilings.iter().find(|ceiling| ceiling.name == DIRECT_URING).map(|ceiling| match &ceiling.measured {
        Ok(_) => Ok("yes".to_owned()),
        Err(fault) => Err(fault.text.clone()),
    });
    let yes_unless =
        |checked: Result<(), host::TargetError>| checked.map(|()| "yes".to_owned()).map_err(|e| e.to_string());
    let ext4 = FileSystemSpec { kind: FileSystem::from_words("ext4").expect("plans name it so"), size: None };
    let memory = Limits { memory: Some(Bytes::from_gib(1)), ..Limits::default() };
    let machine = [
        ("io_uring with O_DIRECT", uring.unwrap_or_else(|| Err("not tried".to_owned()))),
        ("file systems (--fs)", yes_unless(host::privileged::volume::check_spec(&ext4, Bytes(0)))),
        ("limits (--memory-limit)", yes_unless(host::privileged::cgroup::check_limits(&memory))),
        ("SMT on and off (--smt)", settable(&MachineSetup { smt: Some(Switch::On), ..MachineSetup::default() })),
        ("turbo on and off (--turbo)", settable(&MachineSetup { turbo: Some(Switch::On), ..MachineSetup::default() })),
        ("schedulers (--scheduler)", schedulers(dir)),
    ];
    let machine = machine.into_iter().map(|(what, usable)| Ability { what: what.to_owned(), usable });
    let engines = engine::ENGINES.iter().filter(|def| !def.scripted);
    let engine = |def: &&EngineDef| Ability { what: format!("engine {}", def.entry.name), usable: (def.version)() };
    machine.chain(engines.map(engine)).collect()
}

/// Whether a setting of the kernel can be changed.
fn settable(setup: &MachineSetup) -> Result<String, String> {
    wanted_settings(setup, &[])
        .map(|_| "yes, with --allow-system-change".to_owned())
        .map_err(|why| why.split_once(": ").map_or(why.clone(), |(_, why)| why.to_owned()))
}

/// The I/O schedulers that the kernel offers for the disk of `dir`.
fn schedulers(dir: &Path) -> Result<String, String> {
    let disks = host::device::queues_below(dir);
    let offered = IoScheduler::ALL.into_iter().filter(|scheduler| {
        let setup = MachineSetup { scheduler: Some(*scheduler), ..MachineSetup::default() };
        wanted_settings(&setup, &disks).is_ok()
    });
    match offered.map(IoScheduler::as_str).collect::<Vec<_>>() {
        none if none.is_empty() => Err("the data is on no disk whose scheduler can be set".to_owned()),
        words => Ok(format!("{} on {}, with --allow-system-change", words.join(", "), disks.join(", "))),
    }
}

/// Sizes in units that a person reads: `memory.total` = `23.5 GiB` for `memory.total_bytes`.
fn shown_fact(fact: &Fact) -> (String, String) {
    let size = fact.name.strip_suffix("_bytes").zip(fact.value.parse().ok());
    match size {
        Some((name, bytes)) => (name.to_owned(), Bytes(bytes).to_string()),
        None => (fact.name.clone(), fact.value.clone()),
    }
}

fn missing_counters(dir: &Path) -> Vec<String> {
    let device = host::filesystem::find_mount(dir).ok().and_then(|place| place.device);
    observe::open_all(&observe::SamplingSubject {
        engine_pids: observe::EnginePids::Own,
        device,
        server: model::ServerWay::Inside,
    })
    .1
}

impl ProbedCeiling {
    fn line(&self) -> String {
        match &self.measured {
            Ok(LoopRate { ops_per_s, cpu_ns_per_op }) => {
                let ops_per_s = report::with_separators(*ops_per_s as u64);
                format!("{:PROBE_WIDTH$} {ops_per_s:>12} ops/s {cpu_ns_per_op:>9.0} ns CPU/op", self.name)
            }
            Err(fault) => format!("{:PROBE_WIDTH$} {}", self.name, fault.text),
        }
    }
}

impl Checkup {
    fn fitness(&self) -> Fitness {
        Fitness::with(&self.disturbances)
    }

    /// Whether to measure here, in a sentence or two.
    fn judgement(&self) -> String {
        let of = |gravity| self.disturbances.iter().filter(move |one| one.gravity == gravity);
        let names = |gravity| of(gravity).map(|one| one.what.as_str()).collect::<Vec<_>>().join("; ");
        match self.fitness() {
            Fitness::Fit => "Fit for measurements: nothing found here weakens results.".to_owned(),
            Fitness::WithCare => {
                format!("Fit for measurements with care, results will be weaker: {}.", names(Gravity::Weakening))
            }
            Fitness::Unfit => {
                let first = of(Gravity::Grave).next().map_or("", |one| one.remedy);
                format!("Do not measure here yet: {}. First {first}.", names(Gravity::Grave))
            }
        }
    }

    /// The rate above which a result of one client would be plimsoll's own limit.
    fn own_limit(&self) -> Option<String> {
        let rate = self.ceilings.first()?.measured.as_ref().ok()?.ops_per_s;
        let rate = report::with_separators(rate as u64);
        Some(format!("plimsoll itself does {rate} ops/s per client: a result near that is its own limit."))
    }

    fn text(&self, width: usize) -> String {
        let mut text = listed(&[self.judgement()], "", width);
        text += &self.own_limit().map(|line| listed(&[line], "", width)).unwrap_or_default();
        text += "\nmachine\n";
        for fact in &self.facts {
            let (name, value) = shown_fact(fact);
            text += &listed(&[format!("{name:28} {value}")], "", width);
        }
        text += "\nwhat can be measured here\n";
        for Ability { what, usable } in &self.abilities {
            let line = match usable {
                Ok(how) => format!("{what:28} {how}"),
                Err(why) => format!("{what:28} no: {why}"),
            };
            text += &listed(&[line], "", width);
        }
        text += "\nwhat disturbs a measurement here\n";
        text += &listed(&self.disturbance_lines(), "nothing here disturbs a measurement", width);
        text += "\ncounters\n";
        text += &listed(&self.missing_counters, "all counters are readable", width);
        text += "\nspeed of plimsoll, the kernel and this disk (one second each)\n";
        self.ceilings.iter().for_each(|ceiling| text += &listed(&[ceiling.line()], "", width));
        self.left.iter().for_each(|note| text.extend(["\n", note, "\n"]));
        text
    }

    fn disturbance_lines(&self) -> Vec<String> {
        self.disturbances.iter().map(Disturbance::line).collect()
    }

    fn json(&self) -> serde_json::Value {
        let fitness = match self.fitness() {
            Fitness::Fit => "fit",
            Fitness::WithCare => "with-care",
            Fitness::Unfit => "unfit",
        };
        let ceiling = |ceiling: &ProbedCeiling| {
            let rate = ceiling.measured.as_ref().ok();
            serde_json::json!({
                "what": ceiling.name, "ops_per_s": rate.map(|r| r.ops_per_s), "cpu_ns_per_op": rate.map(|r| r.cpu_ns_per_op),
                "error": ceiling.measured.as_ref().err().map(|fault| &fault.text),
            })
        };
        let ability = |ability: &Ability| {
            let (how, why_not) = (ability.usable.as_ref().ok(), ability.usable.as_ref().err());
            serde_json::json!({"what": ability.what, "usable": ability.usable.is_ok(), "detail": how.or(why_not)})
        };
        serde_json::json!({
            "schema": "plimsoll.doctor/1", "fitness": fitness, "judgement": self.judgement(), "facts": self.facts,
            "disturbances": self.disturbance_lines(),
            "abilities": self.abilities.iter().map(ability).collect::<Vec<_>>(),
            "counters_missing": self.missing_counters, "ceilings": self.ceilings.iter().map(ceiling).collect::<Vec<_>>(),
            "abandoned": self.left,
        })
    }
}

/// The lines, wrapped to `width` with further lines indented, or `none` if there are none.
fn listed(lines: &[String], none: &str, width: usize) -> String {
    if lines.is_empty() {
        return format!("  {none}\n");
    }
    let wrapped = lines.iter().map(|line| report::terminal::wrap(line, width.saturating_sub(4)).join("\n    "));
    wrapped.map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_judgement_names_what_weakens_and_what_to_do_first() {
        let checkup = |disturbances: &[(Gravity, &str, &'static str)]| {
            let one = |(gravity, what, remedy): &(Gravity, &str, &'static str)| Disturbance {
                gravity: *gravity,
                what: (*what).to_owned(),
                effect: "it is worse",
                remedy,
            };
            let disturbances = disturbances.iter().map(one).collect();
            let (facts, missing_counters, ceilings) = (Vec::new(), Vec::new(), Vec::new());
            Checkup { facts, disturbances, missing_counters, ceilings, abilities: Vec::new(), left: Vec::new() }
        };
        let told = checkup(&[
            (Gravity::Weakening, "the hypervisor took 3 % of the CPU time", "wait"),
            (Gravity::Weakening, "little free memory (1 GiB of 16 GiB)", "wait"),
            (Gravity::Slight, "not root", "wait"),
        ]);
        assert_eq!(
            told.judgement(),
            "Fit for measurements with care, results will be weaker: the hypervisor took 3 % of the CPU time; little free \
             memory (1 GiB of 16 GiB)."
        );
        let told = checkup(&[(Gravity::Grave, "debug build", "use a release build")]);
        assert_eq!(told.judgement(), "Do not measure here yet: debug build. First use a release build.");
        let told = checkup(&[(Gravity::Slight, "not root", "wait")]);
        assert!(told.judgement().starts_with("Fit for measurements: nothing"), "{}", told.judgement());
    }

    #[test]
    fn sizes_have_units() {
        let shown = |name: &str, value: &str| shown_fact(&Fact::new(name, value));
        assert_eq!(shown("disk.max_request_bytes", "4194304"), ("disk.max_request".into(), "4 MiB".into()));
        assert_eq!(shown("cpu.count", "2"), ("cpu.count".into(), "2".into()));
    }

    #[test]
    fn rates_stand_in_one_line_each_of_a_terminal_of_80_columns() {
        for probe in PROBES {
            let measured = Ok(LoopRate { ops_per_s: 123_456_789.0, cpu_ns_per_op: 1_234_567.0 });
            let line = ProbedCeiling { name: probe.name, measured }.line();
            assert!(probe.name.chars().count() <= PROBE_WIDTH, "{}", probe.name);
            let shown = listed(std::slice::from_ref(&line), "", 80);
            assert!(shown.lines().count() == 1 && shown.contains(&line), "{shown}");
        }
    }

    #[test]
    fn lines_are_wrapped_and_their_absence_is_named() {
        assert_eq!(listed(&[], "nothing disturbs", 80), "  nothing disturbs\n");
        let long = "swap in use: an engine may wait for memory".to_owned();
        assert_eq!(listed(&[long], "", 30), "  swap in use: an engine may\n    wait for memory\n");
    }
}
