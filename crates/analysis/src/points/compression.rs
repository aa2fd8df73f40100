//! Files that were compressed: how small, how fast and at what cost, per file and of all files together, and which codecs nothing beats.
//!
//! In: the analysed points of a run. Out: for each file a [`CompressionTable`], and one of all files if there are several.
//! Limits: a row is of the repeats of one file and one codec; sizes and CPU times are their medians. Repeats that must not be used are
//! left out, unless all are such. What is compared are single threads.

use crate::findings::setting_words::phrase;
use crate::math::stats::median;
use crate::numbers::compression::{merged_blocks, ratio};
use crate::points::sweep::is_usable;
use crate::{BlockTimes, CompressionCost, PointAnalysis, Role, RunningCost, Setting, SettingValue};
use model::Value;
use std::collections::BTreeMap;

/// The codecs that one file went through.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressionTable {
    /// The file; `None` for all files of the run together.
    pub file: Option<String>,
    /// How many files it is of.
    pub files: usize,
    /// One for each codec, in the order of the run.
    pub rows: Vec<CompressionRow>,
}

/// One file and one codec, or all files and one codec.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressionRow {
    /// What distinguishes the codec from the others.
    pub arm: Vec<Setting>,
    /// Repeats, of each file.
    pub repeats: usize,
    /// Whether they may be used: what must not be is shown, and nothing is claimed of it.
    pub is_usable: bool,
    pub input_bytes: f64,
    pub output_bytes: f64,
    /// The shortest time until all was on disk, in seconds.
    pub best_s: Option<f64>,
    /// The median of these times.
    pub median_s: Option<f64>,
    pub cpu_s: Option<f64>,
    /// Seconds to read it back.
    pub back_s: Option<f64>,
    /// The times of ops on single blocks, of all repeats; of one file only.
    pub blocks: Vec<BlockTimes>,
    /// Whether no other codec of the table is both smaller and faster.
    pub on_front: bool,
    /// The price of the machine per hour, if it was stated.
    pub price_per_hour: Option<f64>,
    /// The power of the machine, stated or measured.
    pub watts: Option<f64>,
}

impl CompressionRow {
    /// What a GB of the file costs: the whole machine for the median time.
    pub fn cost(&self) -> RunningCost {
        let bytes_per_s = self.median_s.and_then(|median_s| ratio(self.input_bytes, median_s));
        RunningCost::at_rates(self.price_per_hour, self.watts, None, bytes_per_s)
    }

    /// How many times smaller it became.
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.input_bytes, self.output_bytes)
    }

    /// Bytes that went in per second of the best time.
    pub fn bytes_per_s(&self) -> Option<f64> {
        ratio(self.input_bytes, self.best_s?)
    }

    /// The name and the level of its codec or file system, if it has a level.
    pub fn leveled_name(&self) -> Option<(String, i32)> {
        self.arm.iter().find_map(|setting| {
            let text = match &setting.value {
                SettingValue::Param(Value::Word(word)) => word.clone(),
                SettingValue::FileSystem(kind) => kind.to_string(),
                _ => return None,
            };
            split_level(&text).map(|(name, level)| (name.to_owned(), level))
        })
    }

    /// What its codec shares with those that differ in level only: all of its settings with the level left out.
    fn family(&self) -> Option<(String, Vec<String>)> {
        let (name, level) = self.leveled_name()?;
        let is_own = |text: &String| split_level(text) == Some((&name, level));
        let others = self.arm.iter().map(|setting| setting.value.to_string()).filter(|text| !is_own(text)).collect();
        Some((name, others))
    }
}

/// `zstd` and -5 of `zstd:-5`; `zfs:gzip` and 9 of `zfs:gzip-9`, as ZFS writes it.
fn split_level(text: &str) -> Option<(&str, i32)> {
    let (name, level) = text.rsplit_once(':')?;
    let after_colon = level.parse().ok().map(|level| (name, level));
    after_colon.or_else(|| text.rsplit_once('-').and_then(|(name, level)| Some((name, level.parse().ok()?))))
}

/// Two levels of one codec: the least and the most of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodecLevels<'t> {
    pub least: &'t CompressionRow,
    pub most: &'t CompressionRow,
}

impl CompressionTable {
    /// The rows of which something may be claimed.
    pub fn usable_rows(&self) -> impl Iterator<Item = &CompressionRow> {
        self.rows.iter().filter(|row| row.is_usable)
    }

    /// For each codec with several levels the least and the most of them.
    pub fn level_pairs(&self) -> Vec<CodecLevels<'_>> {
        let mut families: BTreeMap<_, Vec<(i32, &CompressionRow)>> = BTreeMap::new();
        for row in self.usable_rows() {
            if let (Some(family), Some((_, level))) = (row.family(), row.leveled_name()) {
                families.entry(family).or_default().push((level, row));
            }
        }
        let several = families.into_values().filter(|rows| rows.len() > 1);
        let ends = several.filter_map(|rows| {
            let least = rows.iter().min_by_key(|(level, _)| *level)?.1;
            Some(CodecLevels { least, most: rows.iter().max_by_key(|(level, _)| *level)?.1 })
        });
        ends.collect()
    }

    /// The rows on the Pareto front, the fastest first.
    pub fn front(&self) -> Vec<&CompressionRow> {
        let mut front: Vec<&CompressionRow> = self.rows.iter().filter(|row| row.on_front).collect();
        front.sort_by(|a, b| b.bytes_per_s().unwrap_or(0.0).total_cmp(&a.bytes_per_s().unwrap_or(0.0)));
        front
    }
}

/// The tables of `points`: one for each file, and one of all if there are several.
pub fn compression_tables(points: &[PointAnalysis]) -> Vec<CompressionTable> {
    let mut tables: Vec<(String, Vec<Vec<&PointAnalysis>>)> = Vec::new();
    for point in points.iter().filter(|point| point.compression.is_some()) {
        let file = file_of(point);
        let at = tables.iter().position(|(known, _)| *known == file).unwrap_or_else(|| {
            tables.push((file, Vec::new()));
            tables.len() - 1
        });
        let rows = &mut tables[at].1;
        match rows.iter_mut().find(|row| arm_of(row[0]) == arm_of(point)) {
            Some(row) => row.push(point),
            None => rows.push(vec![point]),
        }
    }
    let table = |(file, rows): &(String, Vec<Vec<&PointAnalysis>>)| {
        let rows = rows.iter().map(|repeats| row_of(repeats)).collect();
        with_front(CompressionTable { file: Some(file.clone()), files: 1, rows })
    };
    let mut all: Vec<CompressionTable> = tables.iter().map(table).collect();
    all.extend(total_of(&all));
    all
}

/// What the point compressed: the setting that asks for other work.
fn file_of(point: &PointAnalysis) -> String {
    let files = point.settings.iter().filter(|setting| setting.role == Role::Work);
    files.map(|setting| setting.value.to_string()).collect::<Vec<_>>().join(", ")
}

/// What distinguishes it from the others of its file; if nothing does, what it was asked for beyond the defaults.
fn arm_of(point: &PointAnalysis) -> Vec<Setting> {
    let is_of_arm = |role: Role| !matches!(role, Role::Engine | Role::Workload | Role::Work);
    let differs: Vec<Setting> = point.label.group.iter().filter(|setting| is_of_arm(setting.role)).cloned().collect();
    if !differs.is_empty() {
        return differs;
    }
    let asked = |setting: &&Setting| match setting.role {
        Role::Tuning => setting.used && !setting.is_default,
        Role::Ground => matches!(setting.value, SettingValue::FileSystem(_)),
        _ => false,
    };
    point.settings.iter().filter(asked).cloned().collect()
}

/// The name of a codec, or of the file system that compresses in its place.
pub fn arm_name(arm: &[Setting]) -> String {
    let on_file_system = arm.iter().any(|setting| matches!(setting.value, SettingValue::FileSystem(_)));
    let shown = |setting: &&Setting| match &setting.value {
        SettingValue::Absent | SettingValue::Default => false,
        // The file as it is, for a file system that may compress it.
        // No blocks: the file as one stream.
        SettingValue::Param(value) => !(value.is_zero() || on_file_system && value.to_string() == "none"),
        _ => true,
    };
    // The codec first, and how it is used after it.
    let is_codec = |setting: &&Setting| own_words(setting) == setting.value.to_string();
    let (codecs, others): (Vec<&Setting>, Vec<&Setting>) = arm.iter().filter(shown).partition(is_codec);
    let words: Vec<String> = codecs.into_iter().chain(others).map(own_words).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

/// Its value alone if that is a word.
fn own_words(setting: &Setting) -> String {
    match &setting.value {
        SettingValue::Param(model::Value::Word(word)) => word.clone(),
        _ => phrase(setting),
    }
}

fn row_of(repeats: &[&PointAnalysis]) -> CompressionRow {
    let usable: Vec<&PointAnalysis> = repeats.iter().copied().filter(|point| is_usable(point)).collect();
    let kept = if usable.is_empty() { repeats } else { &usable };
    let found: Vec<&CompressionCost> = kept.iter().filter_map(|point| point.compression.as_ref()).collect();
    let median_of = |value: fn(&CompressionCost) -> Option<f64>| {
        median(&found.iter().filter_map(|one| value(one)).collect::<Vec<_>>())
    };
    let costs: Vec<RunningCost> =
        kept.iter().filter_map(|point| point.summary.as_ref()).map(|summary| summary.cost.running).collect();
    CompressionRow {
        arm: arm_of(repeats[0]),
        repeats: found.len(),
        is_usable: !usable.is_empty(),
        input_bytes: median_of(|one| Some(one.input_bytes as f64)).unwrap_or(0.0),
        output_bytes: median_of(|one| Some(one.output_bytes as f64)).unwrap_or(0.0),
        best_s: found.iter().filter_map(|one| one.durable_seconds).reduce(f64::min),
        median_s: median_of(|one| one.durable_seconds),
        cpu_s: median_of(|one| one.cpu_seconds),
        back_s: median_of(|one| one.decompress_seconds),
        blocks: merged_blocks(&found),
        on_front: false,
        price_per_hour: costs.iter().find_map(|cost| cost.price_per_hour),
        watts: median(&costs.iter().filter_map(|cost| cost.watts).collect::<Vec<_>>()),
    }
}

/// The codecs that all files went through, with the sums of what they took.
fn total_of(tables: &[CompressionTable]) -> Option<CompressionTable> {
    let (first, others) = tables.split_first().filter(|(_, others)| !others.is_empty())?;
    let rows = first.rows.iter().filter_map(|row| {
        let same = others.iter().map(|table| table.rows.iter().find(|other| other.arm == row.arm));
        let rows: Vec<&CompressionRow> = std::iter::once(Some(row)).chain(same).collect::<Option<_>>()?;
        let sum = |value: fn(&CompressionRow) -> Option<f64>| rows.iter().map(|row| value(row)).sum::<Option<f64>>();
        Some(CompressionRow {
            arm: row.arm.clone(),
            repeats: rows.iter().map(|row| row.repeats).min().unwrap_or(0),
            is_usable: rows.iter().all(|row| row.is_usable),
            input_bytes: rows.iter().map(|row| row.input_bytes).sum(),
            output_bytes: rows.iter().map(|row| row.output_bytes).sum(),
            best_s: sum(|row| row.best_s),
            median_s: sum(|row| row.median_s),
            cpu_s: sum(|row| row.cpu_s),
            back_s: sum(|row| row.back_s),
            blocks: Vec::new(),
            on_front: false,
            price_per_hour: row.price_per_hour,
            watts: row.watts,
        })
    });
    Some(with_front(CompressionTable { file: None, files: tables.len(), rows: rows.collect() }))
}

/// Marks the usable rows that no other beats in both size and time: none is at least as good in both and better in one.
fn with_front(mut table: CompressionTable) -> CompressionTable {
    let places: Vec<Option<(f64, f64)>> =
        table.rows.iter().map(|row| Some((row.ratio()?, row.bytes_per_s()?)).filter(|_| row.is_usable)).collect();
    for (row, place) in table.rows.iter_mut().zip(&places) {
        let Some((ratio, speed)) = *place else { continue };
        let beats = |other: &(f64, f64)| other.0 >= ratio && other.1 >= speed && (other.0 > ratio || other.1 > speed);
        row.on_front = !places.iter().flatten().any(beats);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::simulated::{Simulation, run_of};
    use model::{CompressionOutcome, Fact, ParamOwner, ParamRole, Params, PointParam};

    /// A point of `file` and `codec` with its output and seconds; the file has 1000 bytes.
    fn point(id: u32, file: &str, codec: &str, repeat: u32, (output, seconds): (u64, f64)) -> model::PointData {
        let simulation = Simulation::counts(&[2]).with(|point| {
            let params =
                [("file", file), ("codec", codec)].map(|(name, text)| (name.to_owned(), Value::Word(text.into())));
            point.trial.target.params = Params(params.into());
            let declared =
                |name: &str, role| PointParam { name: name.into(), owner: ParamOwner::Engine, role, used: true };
            point.params = vec![declared("file", ParamRole::Mode), declared("codec", ParamRole::Tuning)];
            (point.id, point.trial.repeat) = (id, repeat);
            let facts = [
                ("compress.input_bytes", "1000".to_owned()),
                ("compress.output_bytes", output.to_string()),
                ("compress.durable_s", seconds.to_string()),
                ("compress.own_cpu_s", (seconds / 2.0).to_string()),
                ("compress.kernel_cpu_s", "0.25".to_owned()),
            ];
            point.facts.extend(facts.map(|(name, value)| Fact::new(name, value)));
        });
        simulation.recorded
    }

    fn tables(points: Vec<model::PointData>) -> Vec<CompressionTable> {
        compression_tables(&analyse(&run_of(points, Vec::new())).points)
    }

    fn codecs(rows: &[&CompressionRow]) -> Vec<String> {
        rows.iter().map(|row| row.arm.iter().map(|one| one.value.to_string()).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_level_follows_a_colon_or_in_names_of_zfs_a_dash() {
        assert_eq!(["zstd:-5", "btrfs:zlib:9"].map(split_level), [Some(("zstd", -5)), Some(("btrfs:zlib", 9))]);
        assert_eq!(["zfs:gzip-9", "zfs:lzjb", "lz4"].map(split_level), [Some(("zfs:gzip", 9)), None, None]);
    }

    #[test]
    fn the_time_of_a_process_that_is_the_file_system_is_cpu_time_of_the_point() {
        let outcome = CompressionOutcome {
            input_bytes: Some(1000),
            output_bytes: Some(500),
            own_cpu_s: Some(1.0),
            kernel_cpu_s: Some(0.5),
            daemon_cpu_s: Some(4.0),
            decompress_own_cpu_s: Some(0.25),
            decompress_daemon_cpu_s: Some(2.0),
            ..CompressionOutcome::default()
        };
        let cost = CompressionCost::from_outcome(&outcome).unwrap();
        assert_eq!((cost.cpu_seconds, cost.decompress_cpu_seconds), (Some(5.5), Some(2.25)));
    }

    #[test]
    fn a_file_that_takes_long_and_blocks_that_follow_are_no_stall_and_no_shift_of_a_rate() {
        let counts = [0, 0, 0, 0, 1, 0, 0, 1, 900, 910, 905, 900, 915, 905, 900, 910, 905, 900, 910, 905];
        let codes = |is_file: bool| -> Vec<crate::findings::Code> {
            let simulation = Simulation::counts(&counts).with(|point| {
                let facts = [("compress.input_bytes", "1000"), ("compress.output_bytes", "500")];
                point.facts.extend(facts.into_iter().filter(|_| is_file).map(|(name, text)| Fact::new(name, text)));
            });
            let point = simulation.analysis().points.remove(0);
            point.findings.iter().map(crate::Finding::code).collect()
        };
        use crate::findings::Code::{Bottleneck, CoordinatedOmission, Stall};
        let of_rhythm = codes(false);
        assert!(of_rhythm.contains(&Stall) && of_rhythm.contains(&CoordinatedOmission), "{of_rhythm:?}");
        assert_eq!(codes(true), [Bottleneck], "seconds for a file are its result");
    }

    #[test]
    fn a_row_has_the_best_and_the_median_of_its_repeats() {
        let times = [4.0, 2.0, 3.0];
        let points = (1..).zip(times).map(|(id, seconds)| point(id, "a", "lz4", id, (500, seconds)));
        let tables = tables(points.collect());
        let [table] = tables.as_slice() else { panic!("one file: {tables:?}") };
        let row = &table.rows[0];
        assert_eq!((row.repeats, row.best_s, row.median_s, row.ratio()), (3, Some(2.0), Some(3.0), Some(2.0)));
        assert_eq!((row.cpu_s, row.bytes_per_s()), (Some(1.75), Some(500.0)));
    }

    #[test]
    fn the_front_is_of_those_that_nothing_beats_and_levels_are_paired() {
        let all =
            [("none", 1000, 1.0), ("lz4", 500, 2.0), ("slow", 600, 3.0), ("gzip:1", 400, 4.0), ("gzip:9", 390, 20.0)];
        let points = (1..).zip(all).map(|(id, (codec, output, s))| point(id, "a", codec, 1, (output, s))).collect();
        let table = tables(points).remove(0);
        assert_eq!(codecs(&table.front()), ["none", "lz4", "gzip:1", "gzip:9"]);
        let pairs = table.level_pairs();
        let [pair] = pairs.as_slice() else { panic!("one codec has levels: {pairs:?}") };
        assert_eq!(codecs(&[pair.least, pair.most]), ["gzip:1", "gzip:9"]);
    }

    #[test]
    fn a_codec_that_has_only_invalid_repeats_beats_nothing() {
        let all = [("none", 1000, 1.0), ("lz4", 500, 2.0), ("zstd", 80, 1.0)];
        let points = (1..).zip(all).map(|(id, (codec, output, s))| point(id, "a", codec, 1, (output, s))).collect();
        let mut points = analyse(&run_of(points, Vec::new())).points;
        points[2].validity = crate::Validity::Invalid;
        let table = compression_tables(&points).remove(0);
        assert_eq!((codecs(&table.front()), table.rows.len()), (vec!["none".to_owned(), "lz4".to_owned()], 3));
    }

    #[test]
    fn all_files_together_are_the_sums_of_those_codecs_that_all_went_through() {
        let all = [("a", "lz4", 500), ("b", "lz4", 250), ("a", "gzip:1", 200)];
        let points =
            (1..).zip(all).map(|(id, (file, codec, output))| point(id, file, codec, 1, (output, 1.0))).collect();
        let tables = tables(points);
        let total = tables.last().unwrap();
        assert_eq!((tables.len(), total.file.as_deref(), total.files, total.rows.len()), (3, None, 2, 1));
        let row = &total.rows[0];
        assert_eq!((row.input_bytes, row.output_bytes, row.best_s), (2000.0, 750.0, Some(2.0)));
    }

    #[test]
    fn a_point_that_compressed_nothing_has_no_table() {
        assert!(compression_tables(&Simulation::counts(&[2]).analysis().points).is_empty());
        assert_eq!(CompressionCost::from_outcome(&CompressionOutcome::default()), None);
    }
}
