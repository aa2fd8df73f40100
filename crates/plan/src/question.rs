//! What a plan asks: the question, the key whose values are compared, and the key along which the comparison is looked at.
//!
//! In: the keys `question`, `compare` and `over` of a plan file, and the trials. Out: [`Asked`]; what is not written follows from the shape
//! of the trials. Limits: a plan of several workloads has no question of its own. All words are those that engines, workloads and
//! parameters declare.

use crate::common;
use crate::document::{Document, Written};
use crate::error::{PlanError, hint, listed, shown};
use crate::sweep::own_name;
use model::{
    Arrivals, Asked, Bytes, Catalogue, Entry, Family, Pacing, ParamDef, ParamKind, ParamRole, Params, Trial,
    common_phrase,
};

const QUESTION_CHARS_MAX: usize = 200;
/// More values are not named one by one in a question.
const NAMED_MAX: usize = 4;
const ENGINE: &str = "engine";
const CLIENTS: &str = "clients";
const DEPTH: &str = "depth";
const PACING: &str = "pacing";

/// What `trials`, made of `document`, ask. `ab` is the key that is compared in pairs, if one is. `is_changed` says that flags may have made
/// other trials of the file than its author meant. If what he compares is no difference any more, nothing of his question is left.
pub(crate) fn asked(
    document: &Document<'_>,
    trials: &[Trial],
    ab: Option<&str>,
    is_changed: bool,
    catalogue: &Catalogue,
) -> Result<Asked, PlanError> {
    let dimensions = dimensions(trials);
    // A list may be one value on this machine, as `clients = [1, "cores"]` is with one CPU.
    let settings = || document.sweeps.iter().flat_map(|sweep| &sweep.settings).chain(&document.defaults);
    let is_list = |key: &str| settings().any(|setting| setting.key == key && setting.values.len() > 1);
    let read = |written: &Option<Written<'_>>| {
        let one = |key: &Written<'_>| read_key(key, &dimensions, is_changed || is_list(&key.text), catalogue);
        written.as_ref().map(one).transpose()
    };
    let written = Asked {
        question: document.question.as_ref().map(read_question).transpose()?,
        compare: read(&document.compare)?,
        over: read(&document.over)?,
    };
    if let (Some(over), true) = (&document.over, written.over.is_some() && written.over == written.compare) {
        return Err(over.refused("another key than `compare`"));
    }
    let is_dimension = |key: &String| dimensions.iter().any(|own| own.key == *key);
    // Flags, or this machine, have left nothing to compare: the question is another one.
    let is_lost = written.compare.as_ref().is_some_and(|key| !is_dimension(key));
    let compares_other = ab.is_some_and(|ab| written.compare.as_deref().is_some_and(|compare| compare != ab));
    if is_lost || compares_other {
        return Ok(infer(trials, &dimensions, ab, &Asked::default(), catalogue));
    }
    let [compare, over] = [written.compare, written.over].map(|key| key.filter(is_dimension));
    let written = Asked { compare: compare.or(ab.map(str::to_owned)), over, ..written };
    // Who states a question says what it compares.
    Ok(if written.question.is_some() { written } else { infer(trials, &dimensions, ab, &written, catalogue) })
}

fn read_question(written: &Written<'_>) -> Result<String, PlanError> {
    let text = written.text.trim();
    let is_line = !text.is_empty() && text.chars().count() <= QUESTION_CHARS_MAX && !text.chars().any(char::is_control);
    is_line
        .then(|| text.to_owned())
        .ok_or_else(|| written.refused(format_args!("one line of 1 to {QUESTION_CHARS_MAX} characters")))
}

/// The key that `written` names, as settings are called. It must be one in which the points differ, unless they `may_agree`.
fn read_key(
    written: &Written<'_>,
    dimensions: &[Dimension],
    may_agree: bool,
    catalogue: &Catalogue,
) -> Result<String, PlanError> {
    let name = own_name(&written.text, catalogue);
    let key = setting_name(&name).to_owned();
    let names = || dimensions.iter().map(|dimension| plan_key(&dimension.key));
    let entries = catalogue.engines.iter().chain(&catalogue.workloads);
    let is_known = common::find(&name).is_some() || entries.flat_map(|entry| entry.params).any(|def| def.takes(&name));
    if dimensions.iter().any(|dimension| dimension.key == key) || is_known && may_agree {
        return Ok(key);
    }
    let found = format!("cannot be `{}`", shown(&written.text));
    Err(written.place.error_of(
        &written.key,
        match dimensions.is_empty() {
            true => format!("{found}: all points are alike"),
            false => format!("{found}; the points differ in {}{}", listed(names()), hint(&name, names())),
        },
    ))
}

/// What paces a load is one setting, whichever key decides it; so is what is measured.
pub(crate) fn setting_name(key: &str) -> &str {
    match key {
        "rate" | "arrivals" | "think" => PACING,
        "path" => ENGINE,
        key => key,
    }
}

/// The key of a plan by which the setting that is recorded as `setting` is written.
pub fn plan_key(setting: &str) -> &str {
    if setting == PACING { "rate" } else { setting }
}

/// The keys in which `trials` differ, as a plan has them, and how many values each has.
pub fn differing_keys(trials: &[Trial]) -> Vec<(String, usize)> {
    let all = dimensions(trials).into_iter();
    all.map(|dimension| (plan_key(&dimension.key).to_owned(), dimension.values.len())).collect()
}

/// A key in which trials differ, with its values in their order.
struct Dimension {
    key: String,
    values: Vec<String>,
}

/// The keys in which `trials` differ. A parameter that a trial lacks is no difference, but a variable of a server that it leaves alone is.
fn dimensions(trials: &[Trial]) -> Vec<Dimension> {
    let mut all: Vec<Dimension> = Vec::new();
    let described: Vec<Vec<(String, String)>> = trials.iter().map(settings).collect();
    for (key, value) in described.iter().flatten() {
        match all.iter_mut().find(|known| known.key == *key) {
            Some(known) if known.values.contains(value) => {}
            Some(known) => known.values.push(value.clone()),
            None => all.push(Dimension { key: key.clone(), values: vec![value.clone()] }),
        }
    }
    for dimension in all.iter_mut().filter(|dimension| dimension.key.contains('.')) {
        if described.iter().any(|own| own.iter().all(|(key, _)| *key != dimension.key)) {
            dimension.values.push("default".to_owned());
        }
    }
    all.retain(|dimension| dimension.values.len() > 1);
    all
}

/// All settings of `trial` but its repetition, seed and times.
fn settings(trial: &Trial) -> Vec<(String, String)> {
    let target = &trial.target;
    let path = target.path.as_ref().map(|path| path.display().to_string());
    let programs = target.programs.as_ref().map(|folder| format!("@{}", folder.display())).unwrap_or_default();
    let (limits, machine) = (target.limits.named(), target.machine.named());
    let or = |all: &[(&str, String)], key: &str, without: &str| {
        all.iter().find(|(name, _)| *name == key).map_or(without.to_owned(), |(_, value)| value.clone())
    };
    let limit = |key: &'static str| (key, or(&limits, key, common::NONE));
    let kept = |key: &'static str| (key, or(&machine, key, common::KEEP));
    let pacing = match trial.load.pacing {
        Pacing::Open { arrivals } => format!("{arrivals:?}"),
        Pacing::Closed { think } => think.in_full(),
    };
    let of_trial = [
        (ENGINE, path.unwrap_or_else(|| format!("{}{programs}", target.engine))),
        ("workload", trial.workload.name.clone()),
        ("fs", target.fs.map_or(common::NONE.to_owned(), |fs| fs.kind.to_string())),
        ("fs_size", target.fs.and_then(|fs| fs.size).map_or(common::AUTO.to_owned(), Bytes::in_full)),
        limit("memory_limit"),
        limit("storage_limit"),
        limit("cpu_limit"),
        kept("cpus"),
        kept("smt"),
        kept("turbo"),
        kept("scheduler"),
        ("instances", target.instances.to_string()),
        (PACING, pacing),
        ("until", format!("{:?}", trial.phases.until)),
        ("slo", trial.limit.as_ref().map_or(String::new(), |part| part.spec.objective.to_string())),
        (CLIENTS, trial.load.clients.to_string()),
        (DEPTH, trial.load.depth.to_string()),
    ];
    let params =
        |params: &Params| params.0.iter().map(|(key, value)| (key.clone(), value.to_string())).collect::<Vec<_>>();
    let of_trial = of_trial.into_iter().map(|(key, value)| (key.to_owned(), value));
    of_trial.chain(params(&trial.workload.params)).chain(params(&target.params)).collect()
}

/// What the shape of `trials` asks, as far as `written` does not say it.
fn infer(
    trials: &[Trial],
    dimensions: &[Dimension],
    ab: Option<&str>,
    written: &Asked,
    catalogue: &Catalogue,
) -> Asked {
    let shape = Shape { trials, dimensions, catalogue };
    if trials.is_empty() || shape.find("workload").is_some() {
        return Asked { compare: ab.map(str::to_owned), ..Asked::default() };
    }
    let compare = written.compare.clone().or(ab.map(str::to_owned)).or_else(|| shape.compared());
    let over = [CLIENTS, DEPTH].into_iter().filter_map(|key| shape.find(key)).map(|dimension| dimension.key.clone());
    let over = written.over.clone().or_else(|| over.into_iter().find(|key| compare.as_ref() != Some(key)));
    let question = shape.question(compare.as_deref(), over.as_deref());
    Asked { question, compare, over }
}

/// Trials of one workload, and the keys in which they differ.
struct Shape<'a> {
    trials: &'a [Trial],
    dimensions: &'a [Dimension],
    catalogue: &'a Catalogue,
}

impl Shape<'_> {
    fn find(&self, key: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.key == key)
    }

    /// The key that is compared if none is named: the engine, else the first that changes what the work is done on or with. Another sort of
    /// work is no comparison, and more clients are a sweep.
    fn compared(&self) -> Option<String> {
        const NEVER: [&str; 6] = [CLIENTS, DEPTH, "fs_size", "until", "slo", "url"];
        let candidates = self.dimensions.iter().filter(|dimension| !NEVER.contains(&dimension.key.as_str()));
        let candidates: Vec<&Dimension> =
            candidates.filter(|dimension| !self.asks_for_other_work(&dimension.key)).collect();
        // What one engine or one kind of point has and another has not follows from that; all points have a key that was meant.
        let everywhere = |key: &str| self.trials.iter().all(|trial| settings(trial).iter().any(|(own, _)| own == key));
        let first = candidates.iter().find(|dimension| dimension.key == ENGINE);
        let meant = first.or_else(|| candidates.iter().find(|dimension| everywhere(&dimension.key)));
        meant.or(candidates.first()).map(|dimension| dimension.key.clone())
    }

    fn asks_for_other_work(&self, key: &str) -> bool {
        let is_work = |role| matches!(role, ParamRole::Mode | ParamRole::Mix | ParamRole::Step | ParamRole::DataSize);
        self.def(key).is_some_and(|def| is_work(def.role) && def.kind != ParamKind::Variants)
    }

    /// The declaration of the parameter `key` of some trial.
    fn def(&self, key: &str) -> Option<&ParamDef> {
        let of = |entries: &'_ [Entry], name: &str| {
            entries.iter().find(|entry| entry.name == name).map(|entry| entry.params)
        };
        let first = &self.trials[0];
        let workload = of(&self.catalogue.workloads, &first.workload.name).into_iter();
        let engines = self.trials.iter().filter_map(|trial| of(&self.catalogue.engines, &trial.target.engine));
        workload.chain(engines).flatten().find(|def| def.takes(key))
    }

    fn question(&self, compare: Option<&str>, over: Option<&str>) -> Option<String> {
        let work = self.work();
        let who = self.engine_of(&self.trials[0])?.spoken;
        let kept = self.trials[0].limit.as_ref().map(|part| part.spec.objective.to_string());
        let with = kept.map(|objective| format!(" with {}", objective.replace('<', " under ").replace(',', " and ")));
        let with = with.unwrap_or_default();
        let question = match (compare.and_then(|key| self.find(key)), over) {
            (Some(dimension), _) if dimension.key == ENGINE => self.which_engine(&work, &with),
            (Some(dimension), _) => self.which_value(dimension),
            (None, Some(DEPTH)) => format!("How many {work} does {who} carry{with}, and with how many in flight?"),
            (None, Some(CLIENTS)) => format!("How many {work} does {who} carry{with}, and with how many clients?"),
            _ if self.is_task() => format!("How fast is {who}?"),
            _ if self.is_recorded() && with.is_empty() => format!("Does {who} keep up with the recorded load?"),
            _ => format!("How many {work} per second does {who} carry{with}?"),
        };
        Some(question).filter(|text| text.chars().count() <= QUESTION_CHARS_MAX && !text.chars().any(char::is_control))
    }

    fn is_task(&self) -> bool {
        let workload = self.catalogue.workloads.iter().find(|entry| entry.name == self.trials[0].workload.name);
        workload.is_some_and(|entry| entry.families.iter().all(|family| matches!(family, Family::Task(_))))
    }

    /// Whether all operations have the times of a recording.
    fn is_recorded(&self) -> bool {
        let is_of_recording = |pacing| matches!(pacing, Pacing::Open { arrivals: Arrivals::Recorded { .. } });
        self.trials.iter().all(|trial| is_of_recording(trial.load.pacing))
    }

    fn engine_of(&self, trial: &Trial) -> Option<&Entry> {
        self.catalogue.engines.iter().find(|entry| entry.name == trial.target.engine)
    }

    /// What is done: `random reads`, `read-only transactions and write-only transactions`; `transactions` if it is more than two sorts.
    fn work(&self) -> String {
        let first = &self.trials[0];
        let spoken = self.catalogue.workloads.iter().find(|entry| entry.name == first.workload.name);
        let spoken = spoken.map_or("operations", |entry| entry.spoken);
        let sorts = spoken_sorts(self.trials, |key| self.def(key));
        if sorts.is_empty() || sorts.len() > 2 { spoken.to_owned() } else { sorts.join(" and ") }
    }

    /// `MariaDB or PostgreSQL?`, and of more engines than can be named `Which of 5 engines carries most transactions?`.
    fn which_engine(&self, work: &str, with: &str) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in self.trials.iter().filter_map(|trial| self.engine_of(trial)).map(|entry| entry.spoken) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let has_paths = self.trials.iter().any(|trial| trial.target.path.is_some());
        let versions = self.find(ENGINE).map_or(0, |dimension| dimension.values.len());
        let better = if with.is_empty() { String::new() } else { format!("Which carries more {work}{with}: ") };
        match names.as_slice() {
            _ if has_paths => format!("Which of {versions} files or devices carries more {work}{with}?"),
            [one] => format!("Which version of {one} carries more {work}{with}?"),
            some if some.len() <= NAMED_MAX && versions == some.len() => {
                let names = or_list(&shortened(some));
                // Names are written as they are; an article begins with a capital letter.
                match names.strip_prefix("the ").filter(|_| better.is_empty()) {
                    Some(rest) => format!("The {rest}?"),
                    None => format!("{better}{names}?"),
                }
            }
            _ => format!("Which of {versions} engines carries most {work}{with}?"),
        }
    }

    /// `What do secondary indexes cost?`, `Which is faster: ext4, ext4 without barriers or XFS?`.
    fn which_value(&self, dimension: &Dimension) -> String {
        let (key, count) = (dimension.key.as_str(), dimension.values.len());
        let def = self.def(key);
        if let Some(things) = def.and_then(|def| def.phrase.things()) {
            return format!("What do {things} cost?");
        }
        if def.is_some_and(|def| def.kind == ParamKind::Variants) {
            return format!("Which of {count} ways to write the statement is the fastest?");
        }
        let mut said: Vec<String> = Vec::new();
        for trial in self.trials {
            let value = trial.workload.params.0.get(key).or_else(|| trial.target.params.0.get(key));
            let one = common_phrase(key, trial).or_else(|| def?.phrase.say(value?));
            // A value without a phrase has its key before it.
            let one = one.or_else(|| Some(format!("{} {}", key.replace('_', " "), value?)));
            said.extend(one.filter(|one| !said.contains(one)));
        }
        let is_open = |trial: &Trial| matches!(trial.load.pacing, Pacing::Open { .. });
        if said.len() == count && count <= NAMED_MAX {
            match key == PACING && self.trials.iter().any(is_open) {
                // A rate that is given is no result.
                true => format!("How long do operations take with {}?", said.join(" and with ")),
                false => format!("Which is faster: {}?", or_list(&said)),
            }
        } else {
            format!("Which of {count} values of {} is the fastest?", key.replace('_', " "))
        }
    }
}

/// The sorts of work of `trials` as people say them, each once.
fn spoken_sorts<'d>(trials: &[Trial], def: impl Fn(&str) -> Option<&'d ParamDef>) -> Vec<String> {
    let mut sorts: Vec<String> = Vec::new();
    for (key, value) in trials.iter().flat_map(|trial| &trial.workload.params.0) {
        let said = def(key).filter(|def| matches!(def.role, ParamRole::Mode | ParamRole::Mix));
        sorts.extend(said.and_then(|def| def.phrase.say(value)).filter(|said| !sorts.contains(said)));
    }
    sorts
}

/// Names of engines without what they store their tables in, if that leaves them apart: `MariaDB` for `MariaDB with InnoDB`.
fn shortened(names: &[&str]) -> Vec<String> {
    let short: Vec<&str> = names.iter().map(|name| name.split(" with ").next().unwrap_or(name)).collect();
    let is_alone = |name: &str| short.iter().filter(|other| **other == name).count() == 1;
    names.iter().zip(&short).map(|(name, short)| if is_alone(short) { *short } else { *name }.to_owned()).collect()
}

/// `a, b or c`.
fn or_list(all: &[String]) -> String {
    match all {
        [one] => one.clone(),
        [some @ .., last] => format!("{} or {last}", some.join(", ")),
        [] => String::new(),
    }
}
