//! How to repeat a run: the command, what it ran on, and digests by which a reader knows that the files are the same.
//!
//! In: an analysis. Out: a [`RepeatGuide`]. Limits: a run that was recorded by an earlier version has no command; the one that measures the
//! plan in its run file takes its place. Settings of a server that no plan sets are under Conditions.

use crate::render::page::{PageBlock, PageFact};
use crate::wording::label::{ListedSetting, list_settings};
use analysis::{Analysis, PointAnalysis};
use model::{COMMAND_FACT, Fact, PLAN_DIGEST_FACT, Plan, RUN_DIGEST_FACT, RUN_FILE_FACT, RunMeta};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

pub const TITLE: &str = "How to repeat it";
/// The most values of a setting that are listed.
const VALUES_MAX: usize = 8;

/// How to repeat a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatGuide {
    /// The command; `None` if plimsoll did not measure the run.
    pub command: Option<String>,
    /// What the command needs, or why there is none.
    pub note: String,
    /// Versions, settings and digests: names with their values.
    pub facts: Vec<(String, String)>,
}

impl RepeatGuide {
    pub fn from_analysis(analysis: &Analysis) -> RepeatGuide {
        let (command, note) = command_of(analysis);
        RepeatGuide { command, note, facts: facts_of(analysis) }
    }

    /// As the blocks of a section.
    pub fn blocks(self) -> Vec<PageBlock> {
        let facts = self.facts.into_iter().map(|(name, value)| PageFact::new(name, value)).collect();
        let command = self.command.map(PageBlock::Code);
        command.into_iter().chain([PageBlock::Paragraph(self.note), PageBlock::Facts(facts)]).collect()
    }
}

/// States in `meta` which file the run was read from, with the digests of the file and of its plan.
///
/// # Errors
/// If the file cannot be read.
pub fn state_source(meta: &mut RunMeta, file: &Path) -> std::io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let digest = file_digest(file)?;
    meta.state_fact(PLAN_DIGEST_FACT, plan_digest(&meta.plan));
    meta.state_fact(RUN_FILE_FACT, name);
    meta.state_fact(RUN_DIGEST_FACT, digest);
    Ok(())
}

fn file_digest(path: &Path) -> std::io::Result<String> {
    let (mut file, mut digest) = (model::open_regular(path)?, Sha256::new());
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hex(&digest.finalize())),
            length => digest.update(&part[..length]),
        }
    }
}

/// The digest of `plan` as the run file holds it.
fn plan_digest(plan: &Plan) -> String {
    let text = serde_json::to_string(plan).expect("a plan is plain data");
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn command_of(analysis: &Analysis) -> (Option<String>, String) {
    let meta = &analysis.meta;
    if let Some(program) = analysis.points.iter().find_map(|point| point.traits.imported.as_deref()) {
        return (None, format!("The results of {program} were imported; how it was started is not known."));
    }
    let file = meta.fact(RUN_FILE_FACT).map_or_else(|| format!("{}.plimsoll", meta.run_id), str::to_owned);
    let of_file = match &meta.plan.why {
        Some(why) => format!("plimsoll why {} --point {}", why.run_id, why.point),
        None => format!("plimsoll run {file}"),
    };
    match meta.fact(COMMAND_FACT) {
        Some(command) if meta.plan.why.is_some() => {
            (Some(command.to_owned()), "This is the command as it was typed.".to_owned())
        }
        Some(command) => {
            let note = format!(
                "This is the command as it was typed. With the run file, `{of_file}` measures the same plan with the same seeds."
            );
            (Some(command.to_owned()), note)
        }
        None => {
            let note = "The command was not recorded. This one measures the plan that the run file holds, with the same seeds.";
            (Some(of_file), note.to_owned())
        }
    }
}

fn facts_of(analysis: &Analysis) -> Vec<(String, String)> {
    let meta = &analysis.meta;
    let fact = |name: &str| meta.fact(name).map(str::to_owned);
    let joined = |parts: [Option<String>; 2]| {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    let build = fact("plimsoll.build").filter(|build| build != "release").map(|build| format!("{build} build"));
    let cpus = fact("cpu.usable").map(|cpus| format!("{cpus} CPUs"));
    let mut all = vec![("plimsoll", joined([Some(meta.plimsoll_version.clone()), build]))];
    all.push(("engine", engines(&analysis.points)));
    all.push(("kernel", joined([fact("kernel.release"), fact("os")])));
    all.push(("machine", joined([fact("cpu.model"), cpus])));
    let mut all: Vec<(String, String)> =
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    all.extend(settings(&analysis.points));
    let digest = |name: &str| meta.fact(name).map(|digest| format!(", SHA-256 {digest}")).unwrap_or_default();
    all.push(("plan".to_owned(), format!("{}{}", meta.plan.name, digest(PLAN_DIGEST_FACT))));
    all.extend(fact(RUN_FILE_FACT).map(|file| ("run file".to_owned(), format!("{file}{}", digest(RUN_DIGEST_FACT)))));
    all
}

/// Each engine with its version.
fn engines(points: &[PointAnalysis]) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for point in points {
        let version = point.traits.engine.version.as_deref().filter(|version| !point.engine.ends_with(version));
        let engine = [Some(point.engine.as_str()), version].into_iter().flatten().collect::<Vec<_>>().join(" ");
        if !all.contains(&engine) {
            all.push(engine);
        }
    }
    (!all.is_empty()).then(|| all.join("; "))
}

/// The settings of each engine's points that have another value than their default.
fn settings(points: &[PointAnalysis]) -> Vec<(String, String)> {
    let mut engines: Vec<(&str, BTreeMap<String, Vec<String>>)> = Vec::new();
    for point in points {
        let at = engines.iter().position(|(engine, _)| *engine == point.engine).unwrap_or_else(|| {
            engines.push((&point.engine, BTreeMap::new()));
            engines.len() - 1
        });
        let is_told = |setting: &ListedSetting| setting.used && !setting.is_default && !setting.text.is_empty();
        for (name, setting) in list_settings(point).into_iter().filter(|(_, setting)| is_told(setting)) {
            let values = engines[at].1.entry(name).or_default();
            if !values.contains(&setting.text) {
                values.push(setting.text);
            }
        }
    }
    let text = |settings: &BTreeMap<String, Vec<String>>| {
        settings.iter().map(|(name, values)| format!("{name} = {}", listed(values))).collect::<Vec<_>>().join("; ")
    };
    let filled = engines.iter().filter(|(_, settings)| !settings.is_empty());
    filled.map(|(engine, settings)| (format!("settings of {engine}"), text(settings))).collect()
}

fn listed(values: &[String]) -> String {
    match values.len() {
        0..=VALUES_MAX => values.join(", "),
        all => format!("{} and {} more", values[..VALUES_MAX].join(", "), all - VALUES_MAX),
    }
}

/// Whether `fact` is shown by the guide and not among the conditions.
pub fn is_of_guide(fact: &Fact) -> bool {
    [COMMAND_FACT, PLAN_DIGEST_FACT, RUN_FILE_FACT, RUN_DIGEST_FACT].contains(&fact.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::markdown::page_markdown;
    use crate::render::page::{Page, PageSection};
    use crate::testing::{meta, quick};
    use analysis::Setting;
    use model::{ParamRole, Value};

    #[test]
    fn a_run_has_its_command_its_versions_and_the_digests_of_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.plimsoll");
        std::fs::write(&file, "abc").unwrap();
        let mut analysis = quick();
        state_source(&mut analysis.meta, &file).unwrap();
        analysis.meta.state_fact(COMMAND_FACT, "plimsoll quick /mnt");
        let guide = RepeatGuide::from_analysis(&analysis);
        assert_eq!(guide.command.as_deref(), Some("plimsoll quick /mnt"));
        assert!(guide.note.contains("`plimsoll run a.plimsoll` measures the same plan"), "{}", guide.note);
        let value = |name: &str| guide.facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        // FIPS 180-4's example `abc`.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(value("run file"), Some(format!("a.plimsoll, SHA-256 {digest}").as_str()));
        assert_eq!((value("plimsoll"), value("kernel")), (Some("0.1.0"), Some("6.18.0")));
        let sections = vec![PageSection { blocks: guide.blocks(), ..PageSection::default() }];
        let text = page_markdown(&Page { sections, ..Page::default() });
        assert!(
            text.contains("\n    plimsoll quick /mnt\n") && text.contains("- machine: AMD EPYC 7763, 2 CPUs\n"),
            "{text}"
        );
    }

    #[test]
    fn a_run_without_its_command_is_measured_again_from_its_file() {
        let analysis = quick();
        let guide = RepeatGuide::from_analysis(&analysis);
        assert_eq!(guide.command, Some("plimsoll run 20261121-030405-quick.plimsoll".to_owned()));
        assert!(guide.note.starts_with("The command was not recorded."), "{}", guide.note);
    }

    #[test]
    fn a_setting_without_a_value_is_left_out() {
        let mut analysis = quick();
        let mut told = |value: Value| {
            analysis.points[0].settings.put(Setting::of_workload("table", ParamRole::DataSize, value));
            settings(&analysis.points).into_iter().any(|(_, text)| text.contains("table = "))
        };
        assert!(!told(Value::Tables(Vec::new())) && told(Value::Int(5)));
    }

    #[test]
    fn equal_plans_have_equal_digests_and_others_do_not() {
        let (one, mut other) = (meta().plan, meta().plan);
        assert_eq!(plan_digest(&one), plan_digest(&other));
        other.scale = 0.5;
        assert_ne!(plan_digest(&one), plan_digest(&other));
    }
}
