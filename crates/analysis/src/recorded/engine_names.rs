//! The names of engines in labels: with the version, if a run has one engine from several folders.
//!
//! In: the points of a run, and those that were planned. Out: a name for each engine and folder of programs, which no other has. Limits: the version is that which the
//! running server reported. An engine that never ran has none, and is named by the part of its folder that others lack; so are
//! engines of equal versions.

use crate::recorded::dimensions::engine_or_path;
use model::{PointData, Trial};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

/// The names of a run's engines.
#[derive(Default)]
pub struct EngineNames(HashMap<(String, Option<PathBuf>), String>);

/// Where the programs of an engine are from, and the version that they reported.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ProgramSource<'a> {
    folder: Option<&'a Path>,
    version: Option<&'a str>,
}

impl EngineNames {
    /// The names of the engines of `points` and of `planned` trials, which may not have been measured.
    pub fn new(points: &[PointData], planned: &[Trial]) -> EngineNames {
        let mut engines: BTreeMap<String, Vec<ProgramSource>> = BTreeMap::new();
        let measured = points.iter().map(|point| (&point.trial, point.traits.engine.version.as_deref()));
        for (trial, version) in measured.chain(planned.iter().map(|trial| (trial, None))) {
            let folder = trial.target.programs.as_deref();
            let sources = engines.entry(engine_or_path(trial)).or_default();
            match sources.iter_mut().find(|source| source.folder == folder) {
                Some(known) => known.version = known.version.or(version),
                None => sources.push(ProgramSource { folder, version }),
            }
        }
        let named = engines.iter().flat_map(|(engine, sources)| {
            let folders = sources.iter().map(|source| source.folder.map(Path::to_owned));
            let keys = folders.map(|folder| (engine.clone(), folder));
            keys.zip(name_all(engine, sources)).collect::<Vec<_>>()
        });
        EngineNames(named.collect())
    }

    /// The name of the engine of `trial`, or the path that it is measured on.
    pub fn name_of(&self, trial: &Trial) -> String {
        let key = (engine_or_path(trial), trial.target.programs.clone());
        self.0.get(&key).cloned().unwrap_or_else(|| with_folder(&key.0, key.1.as_deref()))
    }
}

/// A name for `engine` from each of `sources`: the shortest that tell all of them apart.
fn name_all(engine: &str, sources: &[ProgramSource]) -> Vec<String> {
    if let [source] = sources {
        // A server that is reached by the protocol of another engine.
        let product = source.version.and_then(product_of);
        let other = product.filter(|product| !engine.to_lowercase().starts_with(&product.to_lowercase()));
        return vec![other.map_or_else(|| engine.to_owned(), |product| format!("{engine} ({product})"))];
    }
    let parts = distinguishing_parts(&sources.iter().map(|source| source.folder).collect::<Vec<_>>());
    let versions = |shown: fn(&str) -> &str| sources.iter().map(|source| source.version.map(shown)).collect::<Vec<_>>();
    let (short, full) = (versions(numbers_of), versions(|version| version));
    let is_alone = |all: &[Option<&str>], nth: usize| all.iter().filter(|version| **version == all[nth]).count() == 1;
    let names = (0..sources.len()).map(|nth| {
        let by_folder = || join_words([Some(engine), short[nth], parts[nth].as_deref()]);
        match (short[nth], full[nth]) {
            (Some(version), _) if is_alone(&short, nth) => [engine, version].join(" "),
            (_, Some(version)) if is_alone(&full, nth) => [engine, version].join(" "),
            _ => by_folder(),
        }
    });
    let names: Vec<String> = names.collect();
    if names.iter().collect::<HashSet<_>>().len() == names.len() {
        names
    } else {
        sources.iter().map(|source| with_folder(engine, source.folder)).collect()
    }
}

/// The name as it is written in a plan.
fn with_folder(engine: &str, folder: Option<&Path>) -> String {
    folder.map_or(engine.to_owned(), |folder| [engine, "@", &folder.to_string_lossy()].concat())
}

fn join_words<'a>(words: impl IntoIterator<Item = Option<&'a str>>) -> String {
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// `MariaDB` of `10.11.19-MariaDB-0+deb12u1`; `None` of a version that names no product.
fn product_of(version: &str) -> Option<&str> {
    let word = version.split('-').nth(1)?;
    (word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphabetic)).then_some(word)
}

/// `10.11.19` of `10.11.19-MariaDB-0+deb12u1`, `15.14` of `15.14 (Debian 15.14-0+deb12u1)`.
fn numbers_of(version: &str) -> &str {
    version.split(|c: char| c.is_whitespace() || c == '-').next().unwrap_or(version)
}

/// Of each folder the part in its middle that the others do not have: `11.4` and `11.4-debug` of `/opt/11.4/bin` and `/opt/11.4-debug/bin`.
fn distinguishing_parts(folders: &[Option<&Path>]) -> Vec<Option<String>> {
    let words = |folder: &Path| folder.components().map(word_of).collect::<Vec<String>>();
    let known: Vec<Vec<String>> = folders.iter().flatten().map(|folder| words(folder)).collect();
    let Some(shortest) = known.iter().map(Vec::len).min() else { return vec![None; folders.len()] };
    // At least one word is left of the shortest.
    let at_most = shortest.saturating_sub(1);
    let is_shared = |at: &dyn Fn(&[String]) -> String| known.iter().all(|words| at(words) == at(&known[0]));
    let before = (0..at_most).take_while(|nth| is_shared(&|words| words[*nth].clone())).count();
    let after = (0..at_most - before)
        .take_while(|nth| known.len() > 1 && is_shared(&|words| words[words.len() - 1 - nth].clone()));
    let after = after.count();
    folders
        .iter()
        .map(|folder| {
            folder.map(|folder| {
                let words = words(folder);
                Some(words[before..words.len() - after].join("/"))
                    .filter(|part| !part.is_empty())
                    .unwrap_or_else(|| "/".to_owned())
            })
        })
        .collect()
}

fn word_of(component: Component) -> String {
    match component {
        Component::RootDir => String::new(),
        other => other.as_os_str().to_string_lossy().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;

    fn point(engine: &str, folder: Option<&str>, version: Option<&str>) -> PointData {
        let simulation = Simulation::counts(&[1]).with(|point| {
            point.trial.target.engine = engine.into();
            point.trial.target.programs = folder.map(PathBuf::from);
            point.traits.engine.version = version.map(str::to_owned);
        });
        simulation.point()
    }

    fn names(all: &[(Option<&str>, Option<&str>)]) -> Vec<String> {
        let points: Vec<PointData> = all.iter().map(|(folder, version)| point("mariadb", *folder, *version)).collect();
        let names = EngineNames::new(&points, &[]);
        points.iter().map(|point| names.name_of(&point.trial)).collect()
    }

    #[test]
    fn an_engine_from_one_place_has_its_bare_name() {
        assert_eq!(names(&[(None, Some("10.11.19-MariaDB")); 2]), ["mariadb"; 2]);
        assert_eq!(names(&[(Some("/opt/a"), Some("11.4.5-MariaDB"))]), ["mariadb"]);
        let other = [point("mysql", Some("/m"), Some("9.7.4")), point("mariadb", None, Some("10.11.19-MariaDB"))];
        let names = EngineNames::new(&other, &[]);
        assert_eq!(other.map(|point| names.name_of(&point.trial)), ["mysql", "mariadb"]);
    }

    #[test]
    fn a_server_that_speaks_the_protocol_of_another_engine_is_named_with_its_product() {
        let by_url = point("mysql", None, Some("10.11.19-MariaDB-0+deb12u1"));
        assert_eq!(EngineNames::new(std::slice::from_ref(&by_url), &[]).name_of(&by_url.trial), "mysql (MariaDB)");
        let own = point("mysql", None, Some("8.0.36-debug"));
        assert_eq!(EngineNames::new(std::slice::from_ref(&own), &[]).name_of(&own.trial), "mysql");
    }

    #[test]
    fn several_versions_are_named_by_as_much_of_the_version_as_it_takes() {
        let ours = (None, Some("10.11.19-MariaDB-0+deb12u1"));
        assert_eq!(names(&[(Some("/opt/m"), Some("11.4.5-MariaDB")), ours]), ["mariadb 11.4.5", "mariadb 10.11.19"]);
        let debug = (Some("/opt/m"), Some("10.11.19-MariaDB-debug"));
        assert_eq!(names(&[debug, ours]), ["mariadb 10.11.19-MariaDB-debug", "mariadb 10.11.19-MariaDB-0+deb12u1"]);
    }

    #[test]
    fn equal_versions_and_unknown_ones_are_named_by_what_distinguishes_their_folders() {
        let version = Some("11.4.5-MariaDB");
        let equal = [(Some("/opt/plain/m"), version), (Some("/opt/pgo/m"), version), (None, version)];
        assert_eq!(names(&equal), ["mariadb 11.4.5 plain", "mariadb 11.4.5 pgo", "mariadb 11.4.5"]);
        let planned = [(Some("/opt/m-11"), None), (Some("/opt/m-12"), None), (None, None)];
        assert_eq!(names(&planned), ["mariadb m-11", "mariadb m-12", "mariadb"]);
        assert_eq!(names(&[(Some("/opt/m-11"), None), (None, None)]), ["mariadb m-11", "mariadb"]);
        assert_eq!(names(&[(Some("/"), None), (Some("/opt"), None)]), ["mariadb /", "mariadb /opt"]);
    }

    #[test]
    fn a_point_that_failed_has_the_name_of_those_of_its_folder_that_did_not() {
        let all = [(Some("/a"), None), (None, Some("10.6.1")), (Some("/a"), Some("11.4.5")), (Some("/b"), None)];
        assert_eq!(names(&all), ["mariadb 11.4.5", "mariadb 10.6.1", "mariadb 11.4.5", "mariadb b"]);
    }

    #[test]
    fn an_engine_that_was_planned_and_not_measured_has_a_name_of_its_own() {
        let (measured, planned) = (point("mariadb", Some("/a/b"), Some("11.4.5")), point("mariadb", None, None).trial);
        let names = EngineNames::new(std::slice::from_ref(&measured), std::slice::from_ref(&planned));
        assert_eq!([names.name_of(&measured.trial), names.name_of(&planned)], ["mariadb 11.4.5", "mariadb"]);
        let unknown = point("mariadb", Some("/c"), None);
        assert_eq!(names.name_of(&unknown.trial), "mariadb@/c");
    }
}
