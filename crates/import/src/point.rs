//! A point as another program has measured it, before it becomes one of a run file.
//!
//! In: parsers fill it in. Out: [`crate::ImportedRun`] writes it. Limits: what the program does not print is absent; nothing is derived
//! from what is usual.

use model::{Fact, IoWork, KindDef, Nanos, Params, Times};

/// A point of another program.
#[derive(Clone, Debug)]
pub struct ImportedPoint {
    /// The program with its version: `fio 3.33`.
    pub program: String,
    /// The name of the program alone.
    pub program_name: &'static str,
    /// The engine by its name in plimsoll; [`UNKNOWN_ENGINE`] if the output does not name it.
    pub engine: String,
    /// What is known of its parameters.
    pub engine_params: Params,
    /// The workload by its name in plimsoll, or the program's own.
    pub workload: String,
    /// What is known of its parameters.
    pub workload_params: Params,
    /// Reads and writes of a file, if that is what it did.
    pub io: Option<IoWork>,
    /// Clients at once, at least 1.
    pub clients: u32,
    /// Operations that one client kept in flight, at least 1.
    pub depth: u32,
    /// The rate that was asked for; `None` if the program went as fast as it could, or does not print it.
    pub rate_per_s: Option<f64>,
    /// When it began; `None` if the program does not print it.
    pub started_unix_ms: Option<u64>,
    /// How long it was measured.
    pub length: Nanos,
    /// The kinds of operation.
    pub kinds: Vec<ImportedKind>,
    /// The operations over time; `None` if the program did not print or log them.
    pub timeline: Option<Timeline>,
    /// Why it failed, in the program's words; `None` if it did not.
    pub error: Option<String>,
    /// All else that the program prints, for people.
    pub facts: Vec<Fact>,
}

/// The length of a run of which only rates per minute are printed.
pub(crate) const ASSUMED_LENGTH: Nanos = Nanos::from_secs(60);

/// The fact that says so.
pub(crate) fn assumed_length() -> Fact {
    Fact::new(
        "imported.length",
        "the output does not have it: a minute is taken, so rates are as printed and counts are those of a minute",
    )
}

/// The fact that the output does not have the number of clients.
pub(crate) fn unknown_clients() -> Fact {
    Fact::new("imported.clients", "the output does not have their number: 1 stands for it")
}

/// The name of an engine that the output does not name.
pub const UNKNOWN_ENGINE: &str = "unknown";

/// The name of the facts that say what of the output was left out, and why.
pub const LEFT_OUT_FACT: &str = "imported.left_out";
/// The name of the fact that says why there are no intervals.
pub const INTERVALS_FACT: &str = "imported.intervals";

impl ImportedPoint {
    /// A point of `program`, of which nothing is known yet: one client, and an engine that is not named.
    pub(crate) fn of(program_name: &'static str, version: &str, workload: &str) -> ImportedPoint {
        ImportedPoint {
            program: format!("{program_name} {version}").trim_end().to_owned(),
            program_name,
            engine: UNKNOWN_ENGINE.to_owned(),
            engine_params: Params::default(),
            workload: workload.to_owned(),
            workload_params: Params::default(),
            io: None,
            clients: 1,
            depth: 1,
            rate_per_s: None,
            started_unix_ms: None,
            length: Nanos(0),
            kinds: Vec::new(),
            timeline: None,
            error: None,
            facts: Vec::new(),
        }
    }

    /// Takes the operations over time, or says why there are none. `None` if the program printed none.
    pub(crate) fn set_timeline(&mut self, timeline: Option<Result<Timeline, String>>) {
        match timeline {
            Some(Ok(timeline)) => self.timeline = Some(timeline),
            Some(Err(why)) => self.facts.push(Fact::new(INTERVALS_FACT, format!("left out: {why}"))),
            None => {}
        }
    }

    /// What of the output was left out.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        let is_about = |fact: &&Fact| [LEFT_OUT_FACT, INTERVALS_FACT].contains(&fact.name.as_str());
        self.facts.iter().filter(is_about).map(|fact| fact.value.trim_start_matches("left out: "))
    }
}

/// The operations of one kind over the whole point.
#[derive(Clone, Debug)]
pub struct ImportedKind {
    /// The name of the kind and what its operations do.
    pub def: KindDef,
    /// Operations done, as the program has counted them.
    pub ok: u64,
    /// Operations that failed, as the program has counted them.
    pub failed: u64,
    /// Payload of the operations done.
    pub bytes: u64,
    /// Response times of the whole point; empty if they are not known, or known for each interval.
    pub response: Times,
    /// Service times, in the same way.
    pub service: Times,
}

/// When operations were done, in intervals of one length from the start of the point.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The length of an interval.
    pub interval: Nanos,
    /// Operations done, for each kind and interval. The sum of a kind is its [`ImportedKind::ok`].
    pub counts: Vec<Vec<u64>>,
    /// Operations failed, likewise; empty if it is not known when they did.
    pub failed: Vec<Vec<u64>>,
    /// Response and service times, for each kind and interval; empty if they are not known by interval.
    pub times: Vec<Vec<(Times, Times)>>,
}

/// What the user knows and the files do not hold.
#[derive(Clone, Debug, Default)]
pub struct StatedSettings {
    /// The engine of the points that are of a database.
    pub engine: Option<String>,
    /// Parameters of that engine.
    pub engine_params: Params,
    /// Parameters of the workload [`STATED_WORKLOAD`].
    pub workload_params: Params,
}

/// The workload whose parameters can be stated: sysbench prints none of them.
pub const STATED_WORKLOAD: &str = "oltp";

impl StatedSettings {
    /// Adds what is stated to `point`, with a fact that it is stated.
    pub(crate) fn fill_in(&self, point: &mut ImportedPoint) {
        if point.io.is_some() || point.engine == FILE_ENGINE {
            return;
        }
        let mut state =
            |name: &str, value: String| point.facts.push(Fact::new(format!("imported.stated.{name}"), value));
        if let Some(engine) = &self.engine {
            point.engine.clone_from(engine);
            state("engine", engine.clone());
        }
        for (name, value) in &self.engine_params.0 {
            point.engine_params.0.insert(name.clone(), value.clone());
            state(name, value.to_string());
        }
        for (name, value) in self.workload_params.0.iter().filter(|_| point.workload == STATED_WORKLOAD) {
            point.workload_params.0.insert(name.clone(), value.clone());
            state(name, value.to_string());
        }
    }
}

/// The engine of fio's results.
pub(crate) const FILE_ENGINE: &str = "file";

impl ImportedKind {
    /// A kind of which nothing is counted yet.
    pub(crate) fn new(def: KindDef) -> ImportedKind {
        ImportedKind { def, ok: 0, failed: 0, bytes: 0, response: Times::default(), service: Times::default() }
    }
}

/// Takes the reads and updates that are parts of a read-modify-write from the counts of reads and updates: programs count such an operation in
/// all three. Returns the fact that says so, if there are any.
pub(crate) fn separate_parts_of_updates(kinds: &mut Vec<ImportedKind>) -> Option<Fact> {
    let name_of = |kind: &ImportedKind| kind.def.name.replace('-', "_");
    let whole = kinds.iter().find(|kind| name_of(kind) == "read_modify_write").map(|kind| kind.ok)?;
    for part in kinds.iter_mut().filter(|kind| ["read", "update"].contains(&kind.def.name.as_str())) {
        part.ok = part.ok.saturating_sub(whole);
    }
    kinds.retain(|kind| kind.ok > 0 || kind.failed > 0);
    let text = "the program counts a read-modify-write as a read and an update as well; here it is one operation";
    Some(Fact::new("imported.ops", text))
}

/// Times that were counted in classes of (nanoseconds, count), with their exact sum and longest. A class is known by one value of it, which may be
/// above the longest time; that time was counted once. If the longest is not known (0), it is the value of the highest class.
pub(crate) fn times_of_classes(mut classes: Vec<(u64, u64)>, sum_ns: u64, max_ns: u64) -> Times {
    classes.retain(|(_, count)| *count > 0);
    classes.sort_unstable();
    let highest = classes.last().map_or(0, |(value_ns, _)| *value_ns);
    let max_ns = if max_ns == 0 { highest } else { max_ns };
    classes.iter_mut().for_each(|(value_ns, _)| *value_ns = (*value_ns).min(max_ns));
    if let Some((_, count)) = classes.last_mut() {
        *count -= 1;
        classes.push((max_ns, 1));
    }
    Times::from_recorded(classes, sum_ns, max_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_time_is_exact_whatever_the_value_of_its_class() {
        for (classes, max_ns) in
            [(vec![(2_000_000, 3), (1_000, 2)], 1_990_000), (vec![(1_000, 2), (2_000_000, 3)], 2_100_000)]
        {
            let times = times_of_classes(classes, 6_000_000, max_ns);
            assert_eq!((times.len(), times.max_ns(), times.sum_ns()), (5, max_ns, 6_000_000));
        }
        assert_eq!(times_of_classes(vec![(7, 1)], 7, 0).max_ns(), 7);
        assert!(times_of_classes(Vec::new(), 0, 5).is_empty());
    }
}
