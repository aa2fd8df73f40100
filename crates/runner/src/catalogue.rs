//! Everything that a plan may name, collected from the slices.
//!
//! In: the slices of engines, workloads and distributions. Out: the catalogue that plans are checked against.

use model::{Catalogue, ParamDef, Params, PointParam, Trial, WorkTraits};
use std::collections::BTreeMap;
use std::path::Path;
use workload::DataReuse;

/// All engines, workloads and distributions of this binary.
pub fn all() -> Catalogue {
    Catalogue {
        engines: engine::ENGINES.iter().map(|def| def.entry).collect(),
        workloads: workload::WORKLOADS.iter().map(|def| def.entry).collect(),
        distributions: workload::distribution::DISTRIBUTIONS.iter().map(|def| def.entry).collect(),
        run_ops,
        load_rows,
        traits: work_traits,
        shares_data,
        usable_cpus: host::cpu::usable_cpus(),
        has_step: engine::has_step,
        engine_process: engine::process_of,
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
        let defs = entry.params.iter().filter(|def| plan::is_default(def, params, &distributions));
        defs.map(|def| def.name.to_owned())
    });
    defaults.collect()
}

/// How people say the values of the parameters of `trial`, and its engine under the name `engine`. A path that is measured has no such name.
///
/// # Panics
/// As [`declared_params`].
pub fn phrases(trial: &Trial) -> BTreeMap<String, String> {
    let (engine, workload) = (engine::engine_of(trial).entry, engine::workload_of(trial).entry);
    let name = trial.target.path.is_none().then(|| ("engine".to_owned(), engine.spoken.to_owned()));
    // Those of the workload last: of two with one name its own is the one that settings show.
    let owners = [(engine, &trial.target.params), (workload, &trial.workload.params)];
    let said = owners.into_iter().flat_map(|(entry, params)| {
        let said = |def: &ParamDef| Some((def.name.to_owned(), def.phrase.say(params.0.get(def.name)?)?));
        entry.params.iter().filter_map(said)
    });
    name.into_iter().chain(said).collect()
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
    model::read_regular_text(path).map_err(cannot)
}

fn run_ops(workload: &str, params: &Params) -> Option<u64> {
    workload::find(workload)?.run_ops(params)
}

fn load_rows(workload: &str, params: &Params) -> Option<u64> {
    workload::find(workload)?.load_rows(params)
}

fn work_traits(workload: &str, params: &Params) -> WorkTraits {
    workload::find(workload).map_or_else(WorkTraits::default, |def| (def.traits)(params))
}

fn shares_data(workload: &str, params: &Params) -> bool {
    workload::find(workload).is_some_and(|def| def.reuse_of(params) == DataReuse::Shared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Access, Bytes, Entry, ParamKind, Phrase, Value};

    /// Values of `def` that a plan could have.
    fn values(def: &ParamDef) -> Vec<Value> {
        let word = |word: &str| Value::Word(word.to_owned());
        match def.kind {
            ParamKind::Bool => vec![Value::Bool(true), Value::Bool(false)],
            ParamKind::Int { min, max } => [min, 1, 3, max].map(|n| Value::Int(n.clamp(min, max))).to_vec(),
            ParamKind::Bytes { min, max } => [min, max].map(|n| Value::Bytes(Bytes(n))).to_vec(),
            ParamKind::OneOf(words) | ParamKind::Steps(words) => words.iter().map(|text| word(text)).collect(),
            ParamKind::Leveled(words) => words.iter().flat_map(|one| one.all()).map(|text| word(&text)).collect(),
            ParamKind::Access => vec![
                Value::Access(Access { name: "uniform".into(), args: Vec::new() }),
                Value::Access(Access { name: "zipf".into(), args: vec![0.9] }),
                Value::Access(Access { name: "special".into(), args: vec![1.0, 75.0, 12.0] }),
            ],
            ParamKind::Speed => vec![Value::Float(1.0), Value::Float(2.0), word(model::SPEED_UNPACED)],
            ParamKind::Float { min, .. } => vec![Value::Float(min)],
            ParamKind::ConfigFile => vec![word("default"), word("a.cnf")],
            _ => Vec::new(),
        }
    }

    fn entries() -> Vec<Entry> {
        let all = all();
        all.engines.into_iter().chain(all.workloads).collect()
    }

    #[test]
    fn a_phrase_has_neither_underscores_nor_equals_signs_nor_the_key_before_the_value() {
        for entry in entries() {
            assert!(!entry.spoken.is_empty() && !entry.spoken.contains(['_', '=']), "{}: {}", entry.name, entry.spoken);
            for def in entry.params.iter().filter(|def| def.phrase != Phrase::None) {
                for value in values(def) {
                    let said = def.phrase.say(&value).unwrap_or_else(|| panic!("{} {}: no phrase", def.name, value));
                    let is_key = said == format!("{} {value}", def.name) || said == def.name;
                    assert!(
                        !said.is_empty() || def.kind == (ParamKind::Int { min: 0, max: 0 }),
                        "{} {value}",
                        def.name
                    );
                    assert!(!is_key && !said.contains(['_', '=']), "{} {value}: {said}", def.name);
                }
            }
        }
    }

    #[test]
    fn the_parameters_that_experiments_vary_have_phrases() {
        let varied = [
            "indexes",
            "rows_per_commit",
            "durability",
            "cache",
            "mode",
            "mix",
            "io",
            "direct",
            "codec",
            "kernel",
            "access",
            "via",
            "storage",
            "flush_method",
            "allocator",
            "block",
            "cursor",
            "fsync",
            "schema",
            "warehouses",
            "isolation",
        ];
        for name in varied {
            let defs: Vec<ParamDef> =
                entries().iter().flat_map(|entry| entry.params).filter(|def| def.name == name).copied().collect();
            assert!(!defs.is_empty() && defs.iter().all(|def| def.phrase != Phrase::None), "{name}");
        }
    }
}
