//! Everything that a plan may name, collected from the slices.
//!
//! In: the slices of engines, workloads and distributions. Out: the catalogue that plans are checked against.

use model::{Catalogue, Params, PointParam, Trial, WorkTraits};
use std::path::Path;
use workload::DataReuse;

/// All engines, workloads and distributions of this binary.
pub fn all() -> Catalogue {
    Catalogue {
        engines: engine::ENGINES.iter().map(|def| def.entry).collect(),
        workloads: workload::WORKLOADS.iter().map(|def| def.entry).collect(),
        distributions: workload::distribution::DISTRIBUTIONS.iter().map(|def| def.entry).collect(),
        run_ops,
        traits: work_traits,
        shares_data,
        usable_cpus: host::cpu::usable_cpus(),
        has_step: engine::has_step,
        size_at: engine::size_at,
        read_config: engine::read_config,
        read_recording: engine::read_recording,
        read_text,
        check_tables: workload::own::check,
    }
}

/// The parameters of `trial` as its engine and its workload declare them.
///
/// # Panics
/// If the trial names an engine or a workload that this binary lacks; a plan is checked against the catalogue before.
pub fn declared_params(trial: &Trial) -> Vec<PointParam> {
    PointParam::of_trial(trial, &engine::engine_of(trial).entry, &engine::workload_of(trial).entry)
}

/// The names of the parameters of `trial` that have their default.
///
/// # Panics
/// As [`declared_params`].
pub fn default_params(trial: &Trial) -> Vec<String> {
    let distributions = all().distributions;
    let (engine, workload) = (engine::engine_of(trial).entry, engine::workload_of(trial).entry);
    let owners = [(engine, &trial.target.params), (workload, &trial.workload.params)];
    let defaults = owners.into_iter().flat_map(|(entry, params)| {
        let defs = entry.params.iter().filter_map(|def| Some((def, params.0.get(def.name)?)));
        defs.filter(|(def, value)| plan::is_default(def, value, &distributions)).map(|(def, _)| def.name.to_owned())
    });
    defaults.collect()
}

/// The text of the file `path`, which a person wrote.
fn read_text(path: &Path) -> Result<String, String> {
    const BYTES_MAX: u64 = 16 << 20;
    let name = host::error::shown(path);
    let cannot = |error: std::io::Error| format!("cannot read `{name}`: {}", host::error::system_words(&error));
    let size = std::fs::metadata(path).map_err(cannot)?.len();
    if size > BYTES_MAX {
        return Err(format!("`{name}` has {size} bytes; a file of SQL may have {BYTES_MAX}"));
    }
    std::fs::read_to_string(path).map_err(cannot)
}

fn run_ops(workload: &str, params: &Params) -> Option<u64> {
    workload::find(workload)?.run_ops(params)
}

fn work_traits(workload: &str, params: &Params) -> WorkTraits {
    workload::find(workload).map_or_else(WorkTraits::default, |def| (def.traits)(params))
}

fn shares_data(workload: &str, params: &Params) -> bool {
    workload::find(workload).is_some_and(|def| def.reuse_of(params) == DataReuse::Shared)
}
