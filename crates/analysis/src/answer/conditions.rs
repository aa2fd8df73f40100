//! The conditions that all numbers of an answer share, in one line: `4 KiB, random, direct I/O, nothing synced, 1 client, 4 s a point`.
//!
//! In: points. Out: a line. Limits: what differs between the points is in the table, and is left out.

use super::speech::spoken;
use super::thing::Thing;
use crate::PointAnalysis;
use crate::points::durability::durability;
use crate::points::sweep::ScalingAxis;
use crate::recorded::dimensions::{DURABILITY, ENGINE, SettingValue};
use model::{AccessPattern, Bytes, FoundDataUse, IoWork, Value};
use words::quantity::{counted, plural, whole};

/// More parts do not fit into one line.
const PARTS_MAX: usize = 7;

pub(super) fn conditions(things: &[Thing]) -> String {
    let points: Vec<&PointAnalysis> = things.iter().flat_map(Thing::points).collect();
    let mut parts: Vec<Option<String>> = vec![
        common(&points, |point| point.traits.found_data.as_ref().map(found_words)),
        // If engines are compared, or one thing is measured, the rows and the claims name them.
        (things.len() > 1).then(|| common(&points, engine_words)).flatten(),
        common(&points, |point| {
            point.traits.work.io.as_ref().filter(|io| io.block.0 > 0).map(|io| io.block.to_string())
        }),
        common(&points, |point| point.traits.work.io.as_ref().map(pattern).map(str::to_owned)),
        common(&points, |point| point.traits.engine.direct_io.map(path_of_io).map(str::to_owned)),
        common(&points, |point| point.traits.work.io.as_ref().and_then(syncs).map(str::to_owned)),
        common(&points, durability_words),
        common(&points, size_words),
        common(&points, data_set_words),
    ];
    let varies = |axis: ScalingAxis| things.iter().any(|thing| [axis, ScalingAxis::Both].contains(&thing.sweep.axis));
    if !varies(ScalingAxis::Clients) {
        parts.push(common(&points, |point| Some(plural(u64::from(point.clients), "client"))));
    }
    if !varies(ScalingAxis::Depth) {
        let each = if points.iter().any(|point| point.clients > 1) { " for each client" } else { "" };
        parts.push(common(&points, |point| (point.depth > 1).then(|| format!("{} in flight{each}", point.depth))));
    }
    parts.push(common(&points, |point| {
        let seconds = point.summary.as_ref()?.seconds;
        (seconds >= 1.0).then(|| format!("{} s a point", whole(seconds)))
    }));
    let repeats = things.iter().flat_map(|thing| &thing.sweep.steps).map(|step| step.points.len());
    parts.push(repeat_words(&repeats.collect::<Vec<_>>()));
    parts.into_iter().flatten().take(PARTS_MAX).collect::<Vec<_>>().join(", ")
}

/// `4 repeats`, `3 to 4 repeats`, if all were repeated.
fn repeat_words(repeats: &[usize]) -> Option<String> {
    let are_repeated = repeats.iter().min().is_some_and(|least| *least > 1);
    are_repeated.then(|| counted(&repeats.iter().collect::<Vec<_>>(), |repeats| *repeats as u64, "repeat"))
}

/// What `words` says of each of `points`, if it is the same.
fn common(points: &[&PointAnalysis], words: impl Fn(&PointAnalysis) -> Option<String>) -> Option<String> {
    let first = words(points.first()?)?;
    points.iter().all(|point| words(point).as_ref() == Some(&first)).then_some(first)
}

/// The database that all arms have; a disk is named by the claims.
fn engine_words(point: &PointAnalysis) -> Option<String> {
    let is_database = point.traits.work.io.is_none() && point.compression.is_none();
    point.settings.get(ENGINE).filter(|_| is_database).map(spoken)
}

/// Whose the tables were, which decides about all other numbers.
fn found_words(data: &FoundDataUse) -> String {
    let tables = data.tables.as_ref().map_or("on your tables".to_owned(), |tables| format!("on your tables {tables}"));
    let rows = data.rows.map_or(String::new(), |rows| format!(" ({} rows each)", whole(rows as f64)));
    let changed = if data.is_changed { ", whose rows have changed" } else { "" };
    format!("{tables}{rows}{changed}")
}

fn pattern(io: &IoWork) -> &'static str {
    if io.pattern == AccessPattern::Random { "random" } else { "sequential" }
}

fn path_of_io(is_direct: bool) -> &'static str {
    if is_direct { "direct I/O" } else { "through the page cache" }
}

fn syncs(io: &IoWork) -> Option<&'static str> {
    (io.read_share < 1.0).then_some(if io.syncs { "writes synced" } else { "nothing synced" })
}

/// What is said of commits, by the word of the durability that a server has by its own settings.
const COMMITS: [(&str, &str); 3] = [
    ("disk", "synced to disk"),
    ("os", "handed to the operating system"),
    ("none", "acknowledged before they are written"),
];

/// The durability as its parameter's phrase has it. A server that plimsoll did not start has one by its own settings, if these can be read.
fn durability_words(point: &PointAnalysis) -> Option<String> {
    let durability = durability(point)?;
    let (word, when) = COMMITS.iter().find(|(word, _)| *word == durability)?;
    Some(match point.settings.used().find(|setting| setting.name == DURABILITY) {
        None => format!("commits {when} (the server's setting)"),
        Some(setting) => setting.phrase.clone().unwrap_or_else(|| format!("durability {word}")),
    })
}

/// The data set that was used, and how far it is from what was made.
fn data_set_words(point: &PointAnalysis) -> Option<String> {
    let outcome = &point.traits.outcome;
    let (name, changed) = (outcome.data_set.as_ref()?, outcome.data_set_changed.as_ref());
    Some(changed.map_or(format!("data set {name}"), |how| format!("data set {name} (changed {how})")))
}

/// How large the data is.
fn size_words(point: &PointAnalysis) -> Option<String> {
    // A size of nothing leaves the choice to another setting, and no table to the statements.
    let is_stated = |value: &SettingValue| {
        !matches!(value, SettingValue::Absent | SettingValue::Default | SettingValue::Param(Value::Bytes(Bytes(0))))
            && !value.to_string().is_empty()
    };
    let sizes = point.settings.used().filter(|setting| setting.is_data_size() && is_stated(&setting.value));
    let sizes: Vec<String> = sizes.map(spoken).collect();
    (!sizes.is_empty()).then(|| sizes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use crate::{Setting, Settings};
    use model::ParamRole;

    /// A point without settings.
    fn bare_point() -> PointAnalysis {
        let point = Simulation::counts(&[1]).analysis().points.remove(0);
        PointAnalysis { settings: Settings::default(), ..point }
    }

    #[test]
    fn repeats_of_which_some_have_more_are_a_range() {
        assert_eq!(repeat_words(&[4, 4, 3]).as_deref(), Some("3 to 4 repeats"));
        assert_eq!(repeat_words(&[4, 4]).as_deref(), Some("4 repeats"));
        assert_eq!([repeat_words(&[1, 4]), repeat_words(&[])], [None, None]);
    }

    #[test]
    fn a_size_of_nothing_is_left_out() {
        let mut point = bare_point();
        let mut words = |name: &str, value: Value| {
            point.settings.put(Setting::of_workload(name, ParamRole::DataSize, value));
            size_words(&point)
        };
        assert_eq!(words("table", Value::Tables(Vec::new())), None);
        assert_eq!(words("file_size", Value::Bytes(Bytes(0))), None);
        assert_eq!(words("rows", Value::Int(5)).as_deref(), Some("rows 5"));
    }

    #[test]
    fn the_durability_of_a_server_that_nobody_configured_is_told_as_its_own_and_only_if_it_is_known() {
        let mut point = bare_point();
        point.traits.engine.durability = Some("unknown".to_owned());
        assert_eq!(durability_words(&point), None);
        point.traits.engine.durability = Some("disk".to_owned());
        assert_eq!(durability_words(&point).as_deref(), Some("commits synced to disk (the server's setting)"));
        point.traits.engine.durability = Some("os".to_owned());
        assert_eq!(
            durability_words(&point).as_deref(),
            Some("commits handed to the operating system (the server's setting)")
        );
        point.settings.put(Setting::of_workload(DURABILITY, ParamRole::Ground, Value::Word("os".to_owned())));
        assert_eq!(durability_words(&point).as_deref(), Some("durability os"));
    }

    #[test]
    fn tables_of_the_user_are_named_with_their_rows_and_whether_these_have_changed() {
        let words = |tables: Option<&str>, rows, is_changed| {
            found_words(&FoundDataUse { tables: tables.map(str::to_owned), rows, is_changed })
        };
        assert_eq!(
            words(Some("sbtest1 to sbtest4"), Some(1_000_000), false),
            "on your tables sbtest1 to sbtest4 (1,000,000 rows each)"
        );
        assert_eq!(words(None, None, true), "on your tables, whose rows have changed");
    }
}
