//! The names of points: what distinguishes each from the others of its run.
//!
//! In: the trials of a run. Out: per point the target, the parameters as text, a group and a label.
//! Limits: parameters of an engine are compared between points of the same engine and workload, those of a workload between
//! points of the same workload; what differs elsewhere is another thing anyway and named by its target or workload.

use model::{Arrivals, Nanos, Pacing, Params, PointData, Trial, Until, Value};
use std::collections::BTreeMap;

/// The names of one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The engine by name, or the path.
    pub target: String,
    /// The parameters of workload and engine as text.
    pub params: BTreeMap<String, String>,
    /// What distinguishes its sweep from the others.
    pub group: String,
    /// What distinguishes the point from the others: the group, then clients, depth and repeat where they vary.
    pub label: String,
}

/// The names of `point` among `all` the points of its run.
pub fn names(point: &PointData, all: &[PointData]) -> Names {
    let trial = &point.trial;
    let trials: Vec<&Trial> = all.iter().map(|point| &point.trial).collect();
    let group = group(trial, &trials);
    let label = format!("{group}{}", axes(trial, &trials));
    Names { target: target(trial), params: params(trial), group, label }
}

fn target(trial: &Trial) -> String {
    match &trial.target.path {
        Some(path) => path.display().to_string(),
        None => trial.target.engine.clone(),
    }
}

/// The workload's parameters and the engine's (where both have one of that name, the workload's), and what paces the load.
fn params(trial: &Trial) -> BTreeMap<String, String> {
    let both = trial.target.params.0.iter().chain(&trial.workload.params.0);
    let mut all: BTreeMap<String, String> = both.map(|(name, value)| (name.clone(), value.to_string())).collect();
    all.extend(trial.target.fs.map(|fs| ("fs".to_owned(), fs.kind.to_string())));
    all.extend(trial.target.limits.named().into_iter().map(|(name, value)| (name.to_owned(), value)));
    match trial.load.pacing {
        Pacing::Closed { think: Nanos(0) } => {}
        Pacing::Closed { think } => drop(all.insert("think".into(), think.to_string())),
        Pacing::Open { arrivals } => {
            all.insert("rate".into(), arrivals.per_s().to_string());
            all.insert("arrivals".into(), arrivals_word(&arrivals).into());
        }
    }
    if let Some(round) = trial.phases.round() {
        all.insert("until".into(), "steady".into());
        all.insert("round".into(), round.to_string());
    }
    all
}

fn arrivals_word(arrivals: &Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Constant { .. } => "constant",
        Arrivals::Poisson { .. } => "poisson",
    }
}

/// What paces the load, in the words of a label.
fn pacing(trial: &Trial) -> String {
    match trial.load.pacing {
        Pacing::Closed { think: Nanos(0) } => "closed loop".into(),
        Pacing::Closed { think } => format!("think {think}"),
        Pacing::Open { arrivals } => format!("{} arrivals, rate {}", arrivals_word(&arrivals), arrivals.per_s()),
    }
}

/// What ends the run, in the words of a label.
fn until(trial: &Trial) -> &'static str {
    match trial.phases.until {
        Until::Time => "until time",
        Until::Steady { .. } => "until steady",
    }
}

/// The file system that was made for the trial, in the words of a label.
fn file_system(trial: &Trial, all: &[&Trial]) -> Option<String> {
    let of = |trial: &Trial| trial.target.fs.map_or("fs none".to_owned(), |fs| fs.kind.to_string());
    let size =
        |trial: &Trial| trial.target.fs.and_then(|fs| fs.size).map_or("auto".to_owned(), |size| size.to_string());
    let kind = all.iter().any(|other| of(other) != of(trial)).then(|| of(trial));
    let sizes =
        trial.target.fs.filter(|_| all.iter().any(|other| other.target.fs.is_some() && size(other) != size(trial)));
    let words: Vec<String> = kind.into_iter().chain(sizes.map(|_| format!("fs_size {}", size(trial)))).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// What the engine may have of memory and storage, where that varies, in the words of a label.
fn limits(trial: &Trial, all: &[&Trial]) -> Vec<String> {
    let of = |trial: &Trial| {
        let memory = trial.target.limits.memory.map_or("none".to_owned(), |limit| limit.to_string());
        [("memory", memory), ("storage", trial.target.limits.storage.to_string())]
    };
    let varies = |nth: usize, value: &str| all.iter().any(|other| of(other)[nth].1 != value);
    let told = of(trial).into_iter().enumerate().filter(|(nth, (_, value))| varies(*nth, value));
    told.map(|(_, (name, value))| format!("{name} limit {value}")).collect()
}

fn group(trial: &Trial, all: &[&Trial]) -> String {
    let same_workload: Vec<&Trial> =
        all.iter().copied().filter(|other| other.workload.name == trial.workload.name).collect();
    let same_engine: Vec<&Trial> =
        same_workload.iter().copied().filter(|other| other.target.engine == trial.target.engine).collect();
    let mut words = Vec::new();
    if all.iter().any(|other| target(other) != target(trial)) {
        words.push(target(trial));
    }
    words.extend(file_system(trial, all));
    words.extend(limits(trial, all));
    if all.iter().any(|other| other.workload.name != trial.workload.name) {
        words.push(trial.workload.name.clone());
    }
    words.extend(varying(&same_workload, &trial.workload.params, |other| &other.workload.params));
    words.extend(varying(&same_engine, &trial.target.params, |other| &other.target.params));
    if same_workload.iter().any(|other| pacing(other) != pacing(trial)) {
        words.push(pacing(trial));
    }
    if same_workload.iter().any(|other| until(other) != until(trial)) {
        words.push(until(trial).into());
    }
    if words.is_empty() {
        words = vec![target(trial), trial.workload.name.clone()];
        words.extend(trial.workload.params.0.get("mode").map(Value::to_string));
    }
    words.dedup();
    words.join(" ")
}

/// The parameters that do not have the same value in all of `others`, as words of a label, the mode or step first. Those that
/// the mode does not use make no difference.
fn varying(others: &[&Trial], own: &Params, of: impl Fn(&Trial) -> &Params) -> Vec<String> {
    let used = |name: &str, params: &Params| is_used(name, params.0.get("mode").map(Value::to_string).as_deref());
    let differs = |name: &String, value: &Value| {
        let theirs = others.iter().map(|other| of(other)).filter(|theirs| used(name, theirs));
        used(name, own) && theirs.filter_map(|theirs| theirs.0.get(name)).any(|theirs| theirs != value)
    };
    let mut told: Vec<(&String, &Value)> = own.0.iter().filter(|(name, value)| differs(name, value)).collect();
    told.sort_by_key(|(name, _)| *name != "mode" && *name != "step");
    told.into_iter().map(|(name, value)| spoken(name, value)).collect()
}

/// Parameters that a workload has always and uses in some of its modes only.
const USED_IN_MODES: [(&str, &[&str]); 7] = [
    ("access", &["rndrd", "rndwr", "rndrw"]),
    ("cursor", &["seqrd", "seqwr"]),
    ("fsync", WRITING),
    ("fsync_end", WRITING),
    ("fsync_every", WRITING),
    ("read_share", &["rndrw"]),
    ("sync", WRITING),
];
const WRITING: &[&str] = &["rndwr", "rndrw", "seqwr"];

/// Whether the parameter `name` has any effect in `mode`; a workload without modes uses all it has.
pub fn is_used(name: &str, mode: Option<&str>) -> bool {
    let bound = USED_IN_MODES.iter().find(|(param, _)| *param == name);
    bound.zip(mode).is_none_or(|((_, modes), mode)| modes.contains(&mode))
}

/// Words that could be those of anything.
const NEED_THEIR_NAME: [&str; 8] = ["none", "os", "disk", "default", "keep", "kept", "again", "stop"];

/// A word speaks for itself (`rndrd`), unless it could be that of anything (`none`, a server's variable); other values need
/// their name.
fn spoken(name: &str, value: &Value) -> String {
    match value {
        Value::Word(word) if !name.contains('.') && !NEED_THEIR_NAME.contains(&word.as_str()) => word.clone(),
        Value::Access(access) => access.to_string(),
        other => format!("{name} {other}"),
    }
}

/// Clients, depth and repeat, where they vary among the points of the same workload.
fn axes(trial: &Trial, all: &[&Trial]) -> String {
    let same: Vec<&&Trial> = all.iter().filter(|other| other.workload.name == trial.workload.name).collect();
    let axis = |name: &str, of: fn(&Trial) -> u32| match same.iter().any(|other| of(other) != of(trial)) {
        true => format!(" {name} {}", of(trial)),
        false => String::new(),
    };
    let clients = axis("clients", |trial| trial.load.clients);
    let depth = axis("depth", |trial| trial.load.depth);
    format!("{clients}{depth}{}", axis("repeat", |trial| trial.repeat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Simulation, access, params};
    use model::Bytes;
    use std::path::PathBuf;

    fn point(engine: &str, workload: &str, pairs: &[(&str, Value)], clients: u32, depth: u32) -> PointData {
        let simulation = Simulation::counts(&[1]).with(|point| {
            point.trial.target.engine = engine.into();
            point.trial.target.params = params(&[("cache", Value::Bytes(Bytes(engine.len() as u64)))]);
            point.trial.workload.name = workload.into();
            point.trial.workload.params = params(pairs);
            (point.trial.load.clients, point.trial.load.depth) = (clients, depth);
        });
        simulation.point()
    }

    fn labels(points: &[PointData]) -> Vec<String> {
        points.iter().map(|point| names(point, points).label).collect()
    }

    fn word(word: &str) -> Value {
        Value::Word(word.into())
    }

    #[test]
    fn a_mixed_run_names_what_varies_and_nothing_else() {
        let block = ("block", Value::Bytes(Bytes(16384)));
        let points = [
            point("file", "file", &[("mode", word("rndrd")), block.clone()], 1, 8),
            point("file", "file", &[("mode", word("rndwr")), block], 1, 32),
            point("sqlite", "insert", &[("indexes", Value::Int(0))], 1, 1),
            point("fjall", "insert", &[("indexes", Value::Int(3))], 1, 1),
            point("sqlite", "oltp", &[("access", access("zipf", 0.9))], 1, 1),
            point("sqlite", "oltp", &[("access", access("zipf", 0.9))], 16, 1),
        ];
        let expected = [
            "file rndrd depth 8",
            "file rndwr depth 32",
            "sqlite insert indexes 0",
            "fjall insert indexes 3",
            "sqlite oltp clients 1",
            "sqlite oltp clients 16",
        ];
        assert_eq!(labels(&points), expected);
        assert_eq!(names(&points[0], &points).group, "file rndrd");
        assert_eq!(names(&points[0], &points).params["block"], "16 KiB");
    }

    #[test]
    fn a_closed_and_an_open_loop_are_two_groups() {
        let open = |per_s| Pacing::Open { arrivals: Arrivals::Poisson { per_s } };
        let mut points: Vec<PointData> = (0..2).map(|_| point("null", "file", &[], 1, 1)).collect();
        points[1].trial.load.pacing = open(5_000.0);
        assert_eq!(labels(&points), ["closed loop", "poisson arrivals, rate 5000"]);
        let params = names(&points[1], &points).params;
        assert_eq!((params["rate"].as_str(), params["arrivals"].as_str()), ("5000", "poisson"));
    }

    #[test]
    fn what_ends_the_run_is_in_the_label_where_it_differs_and_in_the_parameters_where_it_is_not_time() {
        let mut points: Vec<PointData> = (0..2).map(|_| point("file", "file", &[], 1, 1)).collect();
        points[1].trial.phases.until = Until::Steady { round: Nanos::from_secs(60), precondition: 2 };
        assert_eq!(labels(&points), ["until time", "until steady"]);
        let params = [0, 1].map(|nth: usize| names(&points[nth], &points).params);
        assert_eq!((params[0].get("until"), params[1]["until"].as_str()), (None, "steady"));
        assert_eq!(params[1]["round"], "60.0 s");
    }

    #[test]
    fn a_lone_sweep_is_named_by_target_and_workload() {
        let points = [point("sqlite", "oltp", &[], 1, 1), point("sqlite", "oltp", &[], 4, 1)];
        assert_eq!(labels(&points), ["sqlite oltp clients 1", "sqlite oltp clients 4"]);
        assert_eq!(names(&points[1], &points).group, "sqlite oltp");
    }

    #[test]
    fn a_parameter_that_the_mode_does_not_use_is_not_in_the_label() {
        let of = |mode, cursor| point("file", "file", &[("mode", word(mode)), ("cursor", word(cursor))], 1, 1);
        let points = [of("rndrd", "region"), of("seqrd", "region"), of("seqrd", "shared")];
        assert_eq!(labels(&points), ["rndrd", "seqrd region", "seqrd shared"]);
        assert_eq!(labels(&[of("rndrd", "region"), of("seqrd", "shared")]), ["rndrd", "seqrd"]);
    }

    #[test]
    fn a_path_is_the_target() {
        let mut named = point("file", "file", &[], 1, 1);
        named.trial.target.path = Some(PathBuf::from("/data/f0"));
        assert_eq!(names(&named, std::slice::from_ref(&named)).target, "/data/f0");
    }

    #[test]
    fn places_side_by_side_are_groups_of_their_own() {
        let at = |path: &str| {
            let mut point = point("file", "file", &[], 1, 1);
            point.trial.target.path = Some(PathBuf::from(path));
            point
        };
        assert_eq!(labels(&[at("/mnt/a/f"), at("/mnt/b/f")]), ["/mnt/a/f", "/mnt/b/f"]);
        let on = |words: Option<&str>, mib: Option<u64>| {
            let mut point = point("sqlite", "oltp", &[], 1, 1);
            let kind = words.and_then(model::FileSystem::from_words);
            point.trial.target.fs = kind.map(|kind| model::FileSystemSpec { kind, size: mib.map(Bytes::from_mib) });
            point
        };
        let kinds = [on(None, None), on(Some("ext4:nobarrier"), None), on(Some("btrfs:zstd:3"), None)];
        assert_eq!(labels(&kinds), ["fs none", "ext4:nobarrier", "btrfs:zstd:3"]);
        assert_eq!(names(&kinds[1], &kinds).params["fs"], "ext4:nobarrier");
        let sizes = [on(Some("xfs"), None), on(Some("xfs"), Some(512))];
        assert_eq!(labels(&sizes), ["fs_size auto", "fs_size 512 MiB"]);
    }

    #[test]
    fn durability_keeps_its_name_in_a_label() {
        let of = |durability: &str| point("sqlite", "oltp", &[("durability", word(durability))], 1, 1);
        assert_eq!(labels(&[of("disk"), of("none")]), ["durability disk", "durability none"]);
    }
}
