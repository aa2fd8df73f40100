//! Which points belong on one sheet and which make one line.
//!
//! In: the points of an analysis. Out: [`Group`]s (one sweep over clients or depth), and [`FigurePoints`]: all of a workload where
//! that is little, else a group with several places, or all single places of one workload. The repeats of a place share a row.
//! Limits: at most seven rows to a sheet; the rest goes to a further sheet, so that every point is drawn somewhere.

use crate::format;
use crate::palette::Palette;
use crate::wording::label::{ListedSetting, group_label, list_settings, phrases};
use analysis::{Analysis, PointAnalysis, Role, Series, Setting};
use plot::figure::{Colour, SeriesStyle};
use plot::labels::{Ruler, fit_labels};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// As many as there are colours.
const ROWS_MAX: usize = Colour::ALL.len();
/// So many rows of one workload share a sheet, whatever their groups: fewer pictures, with similar things side by side.
const ROWS_TOGETHER_MAX: usize = 4;

/// What varies in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SweepAxis {
    /// The number of clients.
    Clients,
    /// The operations that one client keeps in flight.
    Depth,
}

impl SweepAxis {
    /// The word used everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            SweepAxis::Clients => "clients",
            SweepAxis::Depth => "depth",
        }
    }

    /// The value of `point` on it.
    pub fn value_at(self, point: &PointAnalysis) -> u32 {
        match self {
            SweepAxis::Clients => point.clients,
            SweepAxis::Depth => point.depth,
        }
    }
}

/// The points of one sweep.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// Its name: what its points have in common.
    pub name: String,
    pub workload: &'a str,
    /// Its points in the order in which they were measured.
    pub points: Vec<&'a PointAnalysis>,
}

impl Group<'_> {
    /// What varies; `None` for a single place. If both do, clients count: depth is then in the points' labels.
    pub fn dimension(&self) -> Option<SweepAxis> {
        [SweepAxis::Clients, SweepAxis::Depth].into_iter().find(|axis| varies(&self.points, |p| axis.value_at(p)))
    }

    /// The workload, and the step if it has any: `insert l.i1`.
    pub fn family(&self) -> String {
        let step = self.points[0].settings.step().map_or(String::new(), |step| format!(" {step}"));
        format!("{}{step}", self.workload)
    }
}

/// Points that are drawn together.
#[derive(Clone, Debug)]
pub struct FigurePoints<'a> {
    /// Part of the figures' ids, unique among the sheets.
    pub slug: String,
    /// What its points have in common.
    pub name: String,
    /// The places of one group by clients and depth, or those of several groups one after the other.
    pub rows: Vec<Row<'a>>,
    /// What varies between its rows, if they are of one group.
    pub dimension: Option<SweepAxis>,
}

/// One place in the matrix of a plan, with its repeats.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// What distinguishes it on its sheet.
    pub label: String,
    /// The repeats in their order; at least one.
    pub points: Vec<&'a PointAnalysis>,
    /// How it is drawn on its sheet.
    pub style: SeriesStyle,
}

impl<'a> FigurePoints<'a> {
    /// All points of all rows.
    pub fn points(&self) -> Vec<&'a PointAnalysis> {
        self.rows.iter().flat_map(|row| row.points.iter().copied()).collect()
    }
}

/// The groups in the order of their first points.
pub fn groups(analysis: &Analysis) -> Vec<Group<'_>> {
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for point in &analysis.points {
        let place = *places.entry(point.group).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group { name: group_label(point), workload: &point.workload, points: Vec::new() });
        }
        groups[place].points.push(point);
    }
    groups
}

/// The sheets: every point is on exactly one.
pub fn sheets(analysis: &Analysis) -> Vec<FigurePoints<'_>> {
    let groups = groups(analysis);
    let own: Vec<Vec<Vec<&PointAnalysis>>> = groups.iter().map(places).collect();
    let families = families(&groups, &own);
    let mut drafts: Vec<(String, Vec<Vec<&PointAnalysis>>)> = Vec::new();
    let mut shared: HashMap<String, usize> = HashMap::new();
    for (group, own) in groups.iter().zip(own) {
        let family = &families[&group.family()];
        let shares = family.rows <= ROWS_TOGETHER_MAX || own.len() == 1 && family.alone > 1;
        let name = if shares && family.groups > 1 { group.family() } else { group.name.to_owned() };
        let place = *shared.entry(name.clone()).or_insert(drafts.len());
        match drafts.get_mut(place).filter(|_| shares) {
            Some(draft) => draft.1.extend(own),
            None => drafts.push((name, own)),
        }
    }
    let (mut slugs, palette) = (BTreeMap::new(), Palette::new(analysis));
    drafts.iter().flat_map(|(name, places)| cut_up(name, places, (&mut slugs, &palette))).collect()
}

/// The groups of one workload, and of one step if it has steps.
#[derive(Default)]
struct FamilySize {
    groups: usize,
    /// The places of all of them.
    rows: usize,
    /// The groups of a single place.
    alone: usize,
}

/// The families of `groups`, which have the places `own`.
fn families(groups: &[Group], own: &[Vec<Vec<&PointAnalysis>>]) -> HashMap<String, FamilySize> {
    let mut families: HashMap<String, FamilySize> = HashMap::new();
    for (group, places) in groups.iter().zip(own) {
        let family = families.entry(group.family()).or_default();
        family.groups += 1;
        family.rows += places.len();
        family.alone += usize::from(places.len() == 1);
    }
    families
}

/// The sheets that are drawn: a step that is timed as a whole, such as a drain, has a number and no picture.
pub fn drawn_sheets(analysis: &Analysis) -> Vec<FigurePoints<'_>> {
    let has_duration = |point: &&PointAnalysis| point.duration_s().is_some();
    sheets(analysis).into_iter().filter(|sheet| !sheet.points().iter().all(has_duration)).collect()
}

/// The points of `group` by their places in its sweep, each place with its repeats.
fn places<'a>(group: &Group<'a>) -> Vec<Vec<&'a PointAnalysis>> {
    let mut places: BTreeMap<(u64, u32), Vec<&PointAnalysis>> = BTreeMap::new();
    for point in &group.points {
        let in_flight = u64::from(point.clients) * u64::from(point.depth);
        places.entry((in_flight, point.clients)).or_default().push(point);
    }
    let in_order = |mut repeats: Vec<&'a PointAnalysis>| {
        repeats.sort_by_key(|point| point.repeat);
        repeats
    };
    places.into_values().map(in_order).collect()
}

/// Sheets of at most [`ROWS_MAX`] rows, of nearly equal numbers.
fn cut_up<'a>(
    name: &str,
    places: &[Vec<&'a PointAnalysis>],
    (slugs, palette): (&mut BTreeMap<String, u32>, &Palette),
) -> Vec<FigurePoints<'a>> {
    let sheets = places.len().div_ceil(ROWS_MAX);
    let firsts: Vec<&PointAnalysis> = places.iter().map(|place| place[0]).collect();
    let row = |(place, style): (&Vec<&'a PointAnalysis>, SeriesStyle)| Row {
        label: short_label(place[0], &firsts),
        points: place.clone(),
        style,
    };
    let rows = |part: &[Vec<&'a PointAnalysis>]| {
        let styles = palette.styles(&part.iter().map(|place| place[0]).collect::<Vec<_>>());
        part.iter().zip(styles).map(row).collect()
    };
    let one_group = !varies(&firsts, |p| p.group);
    let dimension = [SweepAxis::Clients, SweepAxis::Depth]
        .into_iter()
        .find(|axis| one_group && varies(&firsts, |p| axis.value_at(p)));
    let part = |(i, part): (usize, &[Vec<&'a PointAnalysis>])| FigurePoints {
        slug: unique(slugs, &format::slug(name)),
        name: if sheets > 1 { format!("{name}, part {}", i + 1) } else { name.to_owned() },
        rows: rows(part),
        dimension,
    };
    places.chunks(places.len().div_ceil(sheets.max(1)).max(1)).enumerate().map(part).collect()
}

/// A slug not given before: `oltp`, `oltp-2`.
fn unique(slugs: &mut BTreeMap<String, u32>, slug: &str) -> String {
    let base = if slug.is_empty() { "points" } else { slug };
    let seen = slugs.entry(base.to_owned()).or_insert(0);
    *seen += 1;
    if *seen == 1 { base.to_owned() } else { format!("{base}-{seen}") }
}

/// What distinguishes `point` among `others`: the dimensions that vary, or its group if the groups differ.
fn short_label(point: &PointAnalysis, others: &[&PointAnalysis]) -> String {
    let mut parts = Vec::new();
    if varies(others, |p| p.group) {
        // The sheet's name has the workload, and what all its groups have in common.
        let is_common = |setting: &Setting| others.iter().all(|other| other.label.group.contains(setting));
        let names_it = |setting: &&Setting| setting.role != Role::Workload && !is_common(setting);
        parts.push(phrases(point.label.group.iter().filter(names_it)).join(" "));
    }
    for axis in [SweepAxis::Clients, SweepAxis::Depth] {
        if varies(others, |other| axis.value_at(other)) {
            parts.push(format!("{} {}", axis.as_str(), axis.value_at(point)));
        }
    }
    if parts.is_empty() { group_label(point) } else { parts.join(", ") }
}

fn varies<'a, T: Ord>(points: &[&'a PointAnalysis], value: impl Fn(&'a PointAnalysis) -> T) -> bool {
    points.iter().map(|p| value(p)).collect::<BTreeSet<T>>().len() > 1
}

/// What a run measured and on what, for the line above its headline: engines with versions, and the machine.
pub fn measured_on(analysis: &Analysis) -> String {
    let points: Vec<&PointAnalysis> = analysis.points.iter().collect();
    let engines = engine_versions(analysis, &points, SUBJECTS_MAX);
    engines.into_iter().chain(machine(analysis)).collect::<Vec<_>>().join("; ")
}

/// How `points` were measured, for the line below a title: n, times, pacing, and what they have in common.
pub fn conditions(analysis: &Analysis, points: &[&PointAnalysis]) -> String {
    let mut parts = vec![sample_size(points)];
    parts.extend(phases(points));
    parts.push(pacing(points));
    parts.extend(common_params(points));
    parts.extend(engine_versions(analysis, points, ENGINES_MAX));
    parts.extend(machine(analysis));
    parts.retain(|p| !p.is_empty());
    parts.join("; ")
}

fn sample_size(points: &[&PointAnalysis]) -> String {
    let measured: Vec<_> = points.iter().filter_map(|p| p.series.as_ref()).collect();
    let counts: BTreeSet<usize> = measured.iter().map(|s| s.counted_intervals().len()).collect();
    let lengths: Vec<f64> = measured.iter().filter_map(|s| s.intervals.first()).map(|i| i.length_s).collect();
    if lengths.is_empty() {
        return "n = 0 intervals".to_owned();
    }
    let each = if points.len() > 1 { " per point" } else { "" };
    let n = match (counts.first(), counts.last()) {
        (Some(low), Some(high)) if low != high => format!("{low} to {high}"),
        (Some(n), _) => n.to_string(),
        _ => "0".to_owned(),
    };
    format!("n = {n} intervals of {}{each}", seconds_range(&lengths))
}

/// `run 0.4 to 3 s, no warmup`: what is true of all the points.
fn phases(points: &[&PointAnalysis]) -> Option<String> {
    let measured = || points.iter().filter_map(|p| p.summary.as_ref().zip(p.series.as_ref()));
    let runs: Vec<f64> = measured().map(|(summary, _)| summary.seconds).collect();
    let first = |series: &Series| series.intervals.first().map_or(0.0, |i| i.at_s.min(0.0).abs());
    let warmups: Vec<f64> = measured().map(|(_, series)| first(series)).collect();
    let run = (!runs.is_empty()).then(|| seconds_range(&runs))?;
    let warmup = if warmups.iter().any(|warmup| *warmup > 0.0) {
        format!("run {run} after {} warmup", seconds_range(&warmups))
    } else {
        format!("run {run}, no warmup")
    };
    let before: Vec<f64> = measured().map(|(_, series)| series.counted.from_s).collect();
    Some(if before.iter().any(|before| *before > 0.0) {
        format!("{warmup}, {} of rounds before it not counted", seconds_range(&before))
    } else {
        warmup
    })
}

/// `3 s`, or `0.4 to 3 s` if they differ.
fn seconds_range(values: &[f64]) -> String {
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    let (from, to) = (format::seconds(low), format::seconds(high));
    if from == to { from } else { format!("{} to {to}", from.trim_end_matches(" s")) }
}

fn pacing(points: &[&PointAnalysis]) -> String {
    let offered: BTreeSet<Option<String>> =
        points.iter().filter_map(|p| p.summary.as_ref()).map(|s| s.offered_per_s.map(format::number)).collect();
    match (offered.len(), offered.first()) {
        (1, Some(None)) => "closed loop".to_owned(),
        (1, Some(Some(rate))) => format!("open loop, {rate} arrivals/s"),
        (0, _) => String::new(),
        _ => "closed and open loops".to_owned(),
    }
}

/// The parameters that all points have alike, what is asked for first, settings last. Left out are those that do nothing, and what is at
/// its default, but for the sort of work.
fn common_params(points: &[&PointAnalysis]) -> Vec<String> {
    let Some((first, rest)) = points.split_first() else { return Vec::new() };
    let others: Vec<BTreeMap<String, ListedSetting>> = rest.iter().map(|point| list_settings(point)).collect();
    let is_common = |name: &str, own: &ListedSetting| {
        others.iter().all(|other| other.get(name).is_some_and(|other| other.text == own.text))
    };
    let is_used = |name: &str, own: &ListedSetting| own.used || others.iter().any(|other| other[name].used);
    let role = |name: &str| first.settings.get(name).map_or(Role::Tuning, |setting| setting.role);
    // No partitions, or no limit: a size of 0 is what everybody expects.
    let is_plain =
        |name: &str, own: &ListedSetting| role(name) == Role::Size && own.text == "0" || does_nothing(&own.text);
    let own = list_settings(first);
    let common = own.iter().filter(|(name, own)| is_common(name, own) && is_used(name, own) && !is_plain(name, own));
    let is_usual = |(name, own): &(&String, &ListedSetting)| own.is_default && role(name) != Role::Work;
    let (usual, mut shown): (Vec<_>, Vec<_>) = common.partition(is_usual);
    shown.sort_by_key(|(name, _)| role(name));
    let named = shown.into_iter().map(|(name, own)| format!("{name} {}", shortened(&own.text))).take(PARAMS_MAX);
    named.chain((!usual.is_empty()).then(|| "otherwise defaults".to_owned())).collect()
}

/// Whether a value is empty, or a size or a time of 0. A bare 0 may be a number that counts, as that of indexes.
fn does_nothing(value: &str) -> bool {
    matches!(value.split_once(' '), Some(("0", _))) || value.is_empty()
}

/// The engines with their versions, if they are few.
fn engine_versions(analysis: &Analysis, points: &[&PointAnalysis], most: usize) -> Option<String> {
    // Files are read and written by the kernel, which is among the facts of the machine.
    let is_of_machine = |version: &String| analysis.meta.environment.iter().any(|fact| fact.value == *version);
    let is_engine = |point: &&&PointAnalysis| !point.traits.engine.version.as_ref().is_some_and(is_of_machine);
    let engines: BTreeSet<String> = points.iter().filter(is_engine).filter_map(|point| engine_version(point)).collect();
    let all = engines.into_iter().collect::<Vec<_>>();
    (1..=most).contains(&all.len()).then(|| all.join(", "))
}

fn engine_version(point: &PointAnalysis) -> Option<String> {
    let version = point.traits.engine.version.as_deref()?;
    // The name has the beginning of the version if the run has several.
    let name = point.engine.rsplit_once(' ').filter(|(_, shown)| version.starts_with(shown));
    let name = name.map_or(point.engine.as_str(), |(name, _)| name);
    Some(format!("{} {}", shortened(name), shortened(version)))
}

const ENGINES_MAX: usize = 3;
/// The most that the line above the headline names.
const SUBJECTS_MAX: usize = 8;

const PARAMS_MAX: usize = 8;

/// The few facts that belong to every number, with the words around them.
const MACHINE: [(&str, &str, &str); 4] = [
    ("cpu.usable", "", " CPUs"),
    ("kernel.release", "kernel ", ""),
    ("filesystem", "", ""),
    ("disk.device", "disk ", ""),
];

fn machine(analysis: &Analysis) -> Vec<String> {
    let facts = &analysis.meta.environment;
    let named = |name: &str| facts.iter().find(|f| f.name == name).map(|f| shortened(&f.value));
    let shown = |(name, before, after): &(&str, &str, &str)| named(name).map(|value| format!("{before}{value}{after}"));
    MACHINE.iter().filter_map(shown).collect()
}

/// A value of at most 36 characters, cut in its middle: paths and URLs differ at their ends.
fn shortened(value: &str) -> String {
    const LENGTH_MAX: usize = 36;
    let ruler = Ruler { measure: |text: &str| text.chars().count() as f64, ellipsis: "..." };
    fit_labels(&[value.to_owned()], LENGTH_MAX as f64, &ruler).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{label, quick, set, setting, settled, with_points};
    use analysis::SettingValue;

    fn labels<'a>(sheet: &'a FigurePoints) -> Vec<&'a str> {
        sheet.rows.iter().map(|row| row.label.as_str()).collect()
    }

    #[test]
    fn repeats_share_a_row_and_rows_stand_by_clients_whatever_was_measured_first() {
        let mut analysis = with_points(6);
        for (point, (clients, repeat)) in
            analysis.points.iter_mut().zip([(8, 1), (1, 1), (64, 1), (64, 2), (1, 2), (8, 2)])
        {
            (point.clients, point.repeat) = (clients, repeat);
        }
        let sheets = sheets(&analysis);
        let [sheet] = sheets.as_slice() else { panic!("one sheet") };
        assert_eq!(labels(sheet), ["clients 1", "clients 8", "clients 64"]);
        let repeats = |row: &Row| row.points.iter().map(|p| p.repeat).collect::<Vec<_>>();
        assert!(sheet.rows.iter().all(|row| repeats(row) == [1, 2]));
    }

    #[test]
    fn a_sweep_of_ten_places_is_cut_into_halves() {
        let analysis = with_points(10);
        let sizes: Vec<usize> = sheets(&analysis).iter().map(|sheet| sheet.rows.len()).collect();
        assert_eq!(sizes, [5, 5]);
    }

    #[test]
    fn few_points_of_a_workload_share_a_sheet_whatever_their_groups() {
        let mut analysis = quick();
        analysis.points.drain(2..); // two of a sweep
        let mut other = analysis.points[0].clone();
        (other.id, other.group) = (3, 1);
        set(&mut other, "mode", "rndwr");
        label(&mut other, &["engine", "mode"], &["depth"]);
        analysis.points.push(other);
        let sheets = sheets(&analysis);
        assert_eq!((sheets.len(), sheets[0].name.as_str(), sheets[0].dimension), (1, "file", None));
        assert_eq!(labels(&sheets[0]), ["rndrd, depth 1", "rndrd, depth 8", "rndwr, depth 1"]);
    }

    #[test]
    fn the_steps_of_a_sequence_are_on_sheets_of_their_own() {
        let mut analysis = quick();
        analysis.points.drain(..6);
        analysis.points.truncate(4);
        for (point, step) in analysis.points.iter_mut().zip(["l.i0", "qr", "l.i0", "qr"]) {
            set(point, "step", step);
            label(point, &["engine", "step", "indexes"], &[]);
        }
        let names: Vec<(String, usize)> = sheets(&analysis).iter().map(|s| (s.name.clone(), s.rows.len())).collect();
        assert_eq!(names, [("insert l.i0".to_owned(), 2), ("insert qr".to_owned(), 2)]);
        assert_eq!(drawn_sheets(&analysis).len(), 2);
        for nth in [1, 3] {
            analysis.points[nth].summary.as_mut().unwrap().ops = 1;
        }
        assert_eq!(drawn_sheets(&analysis).len(), 1, "one operation has no picture");
    }

    #[test]
    fn every_point_is_on_exactly_one_sheet() {
        for analysis in [quick(), with_points(40)] {
            let mut ids: Vec<u32> = sheets(&analysis).iter().flat_map(FigurePoints::points).map(|p| p.id).collect();
            ids.sort_unstable();
            assert_eq!(ids, analysis.points.iter().map(|p| p.id).collect::<Vec<_>>());
        }
    }

    #[test]
    fn single_points_of_one_workload_share_a_sheet_and_are_told_apart() {
        let analysis = quick();
        let sheets = sheets(&analysis);
        let insert = sheets.iter().find(|s| s.name == "insert").unwrap();
        assert_eq!(labels(insert), ["sqlite indexes 0", "sqlite indexes 3", "fjall indexes 0", "fjall indexes 3"]);
    }

    #[test]
    fn sweeps_are_told_apart_by_what_varies() {
        let analysis = quick();
        let sheets = sheets(&analysis);
        assert_eq!(labels(&sheets[0]), ["depth 1", "depth 8", "depth 32"]);
        assert_eq!(
            (groups(&analysis)[0].dimension(), sheets[0].dimension),
            (Some(SweepAxis::Depth), Some(SweepAxis::Depth))
        );
    }

    #[test]
    fn sheets_of_like_names_have_unlike_slugs() {
        let mut analysis = quick();
        for point in &mut analysis.points {
            let name = SettingValue::Name("\u{e9}".repeat(1 + point.group % 2));
            point.settings.put(setting("engine", name));
            label(point, &["engine"], &[]);
        }
        let all = sheets(&analysis);
        let slugs: BTreeSet<&str> = all.iter().map(|s| s.slug.as_str()).collect();
        assert_eq!(slugs.len(), all.len());
    }

    #[test]
    fn conditions_say_n_times_pacing_and_machine() {
        let analysis = quick();
        let points: Vec<_> = analysis.points.iter().take(3).collect();
        let text = conditions(&analysis, &points);
        for part in [
            "n = 16 intervals of 0.25 s per point",
            "run 4 s after 1 s warmup",
            "closed loop",
            "block 16 KiB",
            "kernel 6.18",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn conditions_of_a_run_until_steady_are_those_of_its_window() {
        let analysis = settled();
        let text = conditions(&analysis, &[&analysis.points[0]]);
        assert!(text.starts_with("n = 150 intervals of 1 s; run 150 s after "), "{text}");
        assert!(text.contains(" warmup, 210 s of rounds before it not counted; "), "{text}");
    }

    #[test]
    fn conditions_that_differ_between_points_are_given_as_ranges() {
        let mut analysis = quick();
        for (point, seconds) in analysis.points.iter_mut().zip([0.4, 3.0, 1.2]) {
            point.summary.as_mut().unwrap().seconds = seconds;
            set(point, "read_share", "0.6");
        }
        let of = |analysis: &Analysis| conditions(analysis, &analysis.points.iter().take(3).collect::<Vec<_>>());
        assert!(of(&analysis).contains("; run 0.4 to 3 s after 1 s warmup; "), "{}", of(&analysis));
        for point in &mut analysis.points {
            point.series.as_mut().unwrap().intervals.retain(|i| i.at_s >= 0.0 || point.depth == 1);
        }
        assert!(of(&analysis).contains("; run 0.4 to 3 s after 0 to 1 s warmup; "), "{}", of(&analysis));
    }

    #[test]
    fn conditions_begin_with_what_is_asked_and_leave_out_what_does_nothing() {
        let mut analysis = quick();
        let url = "mysql://root@localhost/?socket=/var/run/a/very/long/path/mysql.sock";
        let params = [
            ("between", "keep"),
            ("connection", "kept"),
            ("drop_every", "0 ns"),
            ("mix", "read_write"),
            ("password_file", ""),
            ("stall", "500 ms"),
            ("zone", url),
        ];
        for (name, value) in params {
            set(&mut analysis.points[0], name, value);
        }
        let text = conditions(&analysis, &[&analysis.points[0]]);
        assert!(text.contains("closed loop; mix read_write; mode rndrd; "), "{text}");
        assert!(text.contains("stall 500 ms") && text.contains("file 3.50.4"), "{text}");
        assert!(!text.contains("drop_every") && !text.contains("password_file"), "{text}");
        assert!(text.contains("zone mysql://") && text.contains("mysql.sock"), "{text}");
    }

    #[test]
    fn what_is_at_its_default_is_no_condition_but_for_the_sort_of_work() {
        let mut analysis = quick();
        let point = &mut analysis.points[0];
        set(point, "compressible", "50");
        for name in ["mode", "block"] {
            let mut own = point.settings.get(name).expect("it is a point on files").clone();
            own.is_default = true;
            point.settings.put(own);
        }
        let text = conditions(&analysis, &[&analysis.points[0]]);
        assert!(text.contains("mode rndrd; compressible 50; otherwise defaults; "), "{text}");
        assert!(!text.contains("block"), "{text}");
    }

    #[test]
    fn a_parameter_that_the_mode_does_not_use_is_no_condition() {
        let mut analysis = quick();
        analysis.points.truncate(1);
        for (mode, is_told) in [("rndrd", false), ("rndrw", true)] {
            set(&mut analysis.points[0], "mode", mode);
            set(&mut analysis.points[0], "read_share", "0.6");
            let text = conditions(&analysis, &[&analysis.points[0]]);
            assert_eq!(text.contains("read_share 0.6"), is_told, "{text}");
        }
    }
}
