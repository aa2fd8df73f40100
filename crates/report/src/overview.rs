//! The comparison: a table for each workload, with a row for each thing that is compared and a column for each place.
//!
//! In: the rows of an analysis (repeats taken together), its colours and its relative tables. Out: [`Overview`]s with cells as text. A
//! place is a step, a mix, a number of clients or a depth. If there is one place only, the columns are metrics; if there is one thing
//! only, the rows are. Each cell has its ratio to the first row of the same settings, or to the first column.
//! Limits: if there are too many places, clients and depth are left out, and each cell is the best of them. The verdict on a ratio is that
//! of the relative tables; a ratio that they do not have is indicative.

use crate::format;
use crate::palette::Palette;
use crate::wording::label::phrase;
use crate::wording::list::capital;
use crate::wording::metric::{metric_head, metric_value, ops_word};
use crate::wording::quantity::{count, percent};
use crate::wording::relative::ratio_digits;
use crate::wording::work_done::work_done_mark;
use analysis::math::ratio::{Preference, RatioVerdict};
use analysis::math::repeats::half_width_share;
use analysis::points::metric::{Metric, shared_rate, shared_unit};
use analysis::points::relative::RelativeTable;
use analysis::points::sweep::{is_comparable, is_usable};
use analysis::recorded::dimensions::{independent, varying};
use analysis::{Analysis, Dimension, PointAnalysis, Role, Settings, Validity};
use model::{EngineProcess, Percentile};
use plot::figure::SeriesStyle;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// More columns do not fit on a screen.
const COLUMNS_MAX: usize = 9;
/// A wider interval is shown in the cell.
const WIDE: f64 = 0.05;

/// The comparison within one workload.
#[derive(Debug)]
pub struct Overview {
    /// What is counted, and of what: `Queries per second: oltp`.
    pub title: String,
    /// What the ratios are to; empty if there are none.
    pub base: String,
    /// The heads of the columns behind the name.
    pub heads: Vec<String>,
    pub rows: Vec<OverviewRow>,
}

#[derive(Debug)]
pub struct OverviewRow {
    pub name: String,
    /// Its colour in the charts; `None` for a metric.
    pub style: Option<SeriesStyle>,
    /// A cell for each column.
    pub cells: Vec<Option<OverviewCell>>,
}

#[derive(Clone, Debug)]
pub struct OverviewCell {
    /// The number in base units, to sort by.
    pub value: f64,
    /// The number in words.
    pub text: String,
    /// How wide its interval is, if that is wide; else empty.
    pub half_width: String,
    /// `base`, `0.66x`; empty if it has no base.
    pub ratio: String,
    /// `no difference shown`, `intervals overlap`, `invalid`, `cut short`, `16 clients`; may be empty.
    pub note: String,
    /// How much better (above 0) or worse than the base it is, in steps from 1 to 5.
    pub tone: i8,
    /// Whether its number must not be used.
    pub is_invalid: bool,
    /// Whether its number is only indicative.
    pub is_indicative: bool,
}

/// The tables of `rows`, whose repeats are taken together.
pub fn overviews(rows: &Analysis, palette: &Palette) -> Vec<Overview> {
    let mut workloads: Vec<&str> = Vec::new();
    for point in rows.points.iter().filter(|point| Metric::of_work(point).is_some()) {
        if !workloads.contains(&point.workload.as_str()) {
            workloads.push(&point.workload);
        }
    }
    workloads.into_iter().filter_map(|workload| overview(rows, workload, palette)).collect()
}

fn overview(rows: &Analysis, workload: &str, palette: &Palette) -> Option<Overview> {
    let own = |point: &&PointAnalysis| point.workload == workload && Metric::of_work(point).is_some();
    let points: Vec<&PointAnalysis> = rows.points.iter().filter(own).collect();
    let layout = OverviewLayout::new(&points, palette.compared(workload));
    let tables = rows.verdict.relative.as_slice();
    let table = WorkloadPoints { points, layout, tables, palette };
    match (table.things().len(), table.places().len()) {
        (0, _) | (_, 0) => None,
        (_, 1) => Some(table.by_metric(workload)),
        (1, _) => Some(table.of_one_thing(workload)),
        _ => Some(table.by_place(workload)),
    }
}

/// Which settings name the rows and which the columns.
struct OverviewLayout {
    things: Vec<Dimension>,
    places: Vec<Dimension>,
    compared: String,
    /// Whether clients and depth are left out because there are too many.
    is_best: bool,
}

/// The values that a point has of some settings; `None` of one that has no effect on it.
type Key = Vec<Option<String>>;

impl OverviewLayout {
    fn new(points: &[&PointAnalysis], compared: &str) -> OverviewLayout {
        let settings: Vec<&Settings> = points.iter().map(|point| &point.settings).collect();
        let mut all = varying(settings.iter().copied());
        all.retain(|one| one.role != Role::Repeat && one.role != Role::Workload);
        all.sort_by_key(|one| (one.name != compared, is_load(one)));
        let all = independent(&settings, all);
        let is_place = |one: &Dimension| one.name != compared && (one.role == Role::Work || is_load(one));
        let (places, things): (Vec<Dimension>, Vec<Dimension>) = all.into_iter().partition(is_place);
        let mut layout = OverviewLayout { things, places, compared: compared.to_owned(), is_best: false };
        if distinct(points, &layout.places).len() > COLUMNS_MAX && layout.places.iter().any(|one| !is_load(one)) {
            layout.places.retain(|one| !is_load(one));
            layout.is_best = true;
        }
        layout
    }
}

fn is_load(one: &Dimension) -> bool {
    matches!(one.role, Role::Clients | Role::Depth)
}

fn key_of(point: &PointAnalysis, dimensions: &[Dimension]) -> Key {
    dimensions.iter().map(|one| point.settings.text(&one.name)).collect()
}

/// Whether a point with the key `own` belongs to `other`: what has no effect on it agrees with everything.
fn agrees(own: &Key, other: &Key) -> bool {
    own.iter().zip(other).all(|(own, other)| own.is_none() || own == other)
}

/// The keys of `points` in the order of their first points; those that agree with a fuller one are left out.
fn distinct(points: &[&PointAnalysis], dimensions: &[Dimension]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    points.iter().map(|point| key_of(point, dimensions)).for_each(|key| {
        if !keys.contains(&key) {
            keys.push(key);
        }
    });
    let all = keys.clone();
    keys.retain(|key| !all.iter().any(|other| other != key && agrees(key, other)));
    keys
}

/// `key` in words, as labels have it.
fn key_text(points: &[&PointAnalysis], key: &Key, dimensions: &[Dimension]) -> String {
    let word = |(one, value): (&Dimension, &Option<String>)| {
        let value = value.as_ref()?;
        let own = points.iter().find(|point| point.settings.text(&one.name).as_ref() == Some(value))?;
        own.settings.get(&one.name).map(phrase)
    };
    dimensions.iter().zip(key).filter_map(word).collect::<Vec<_>>().join(" ")
}

/// The points of one workload, as rows and columns.
struct WorkloadPoints<'a> {
    points: Vec<&'a PointAnalysis>,
    layout: OverviewLayout,
    tables: &'a [RelativeTable],
    palette: &'a Palette<'a>,
}

impl<'a> WorkloadPoints<'a> {
    /// The rows, those that have all but what is compared in common below each other.
    fn things(&self) -> Vec<Key> {
        let mut keys = distinct(&self.points, &self.layout.things);
        let blocks: Vec<Key> = keys.iter().map(|key| self.block_of(key)).collect();
        let order: Vec<Key> = blocks
            .iter()
            .enumerate()
            .filter(|(nth, block)| !blocks[..*nth].contains(block))
            .map(|(_, block)| block.clone())
            .collect();
        keys.sort_by_key(|key| order.iter().position(|block| *block == self.block_of(key)));
        keys
    }

    /// What distinguishes a thing but what is compared.
    fn block_of(&self, thing: &Key) -> Key {
        let named = self.layout.things.iter().zip(thing);
        named.filter(|(one, _)| one.name != self.layout.compared).map(|(_, value)| value.clone()).collect()
    }

    /// The columns: sorts of work in their order, and by clients and depth within one.
    fn places(&self) -> Vec<Key> {
        let mut keys = distinct(&self.points, &self.layout.places);
        let load_from = self.layout.places.iter().position(is_load).unwrap_or(self.layout.places.len());
        let works: Vec<Key> = keys.iter().map(|key| key[..load_from].to_vec()).collect();
        keys.sort_by_key(|key| {
            let number = |value: &Option<String>| value.as_ref().and_then(|text| text.parse::<u64>().ok());
            let work = works.iter().position(|work| *work == key[..load_from]);
            (work, key[load_from..].iter().map(number).collect::<Vec<_>>())
        });
        keys
    }

    /// The point of a row and a column; the best of several.
    fn at(&self, thing: &Key, place: &Key) -> Option<&'a PointAnalysis> {
        let layout = &self.layout;
        let is_there = |point: &&&PointAnalysis| {
            agrees(&key_of(point, &layout.things), thing) && agrees(&key_of(point, &layout.places), place)
        };
        // Of those that are usable and were not cut short, the one with the highest rate or the shortest duration.
        let rank = |point: &PointAnalysis| {
            let metric = Metric::of_work(point)?;
            let value = metric.value(point)?.value;
            Some(if metric.better() == Preference::More { value } else { -value })
        };
        let goodness =
            |point: &PointAnalysis| (is_usable(point), is_comparable(point), rank(point).unwrap_or(f64::NEG_INFINITY));
        let mut there = self.points.iter().filter(is_there).copied();
        let first = there.next()?;
        Some(there.fold(first, |best, point| {
            let (own, other) = (goodness(point), goodness(best));
            if own.partial_cmp(&other).is_some_and(Ordering::is_gt) { point } else { best }
        }))
    }

    /// What counts for the work of `point`. If that is a rate, it is the one by which all points at its `place` can be compared.
    fn metric_at(&self, place: &Key, point: &PointAnalysis) -> Option<Metric> {
        let own = Metric::of_work(point)?;
        let there = self.points.iter().filter(|other| agrees(&key_of(other, &self.layout.places), place));
        let rates = there.filter_map(|other| Metric::of_work(other).filter(|metric| metric.is_rate()));
        if own.is_rate() { shared_rate(rates) } else { Some(own) }
    }

    /// What the numbers at `place` are; `None` if they say it themselves, as durations do.
    fn counted_at(&self, place: &Key) -> Option<String> {
        let there: Vec<&PointAnalysis> =
            self.points.iter().filter(|point| agrees(&key_of(point, &self.layout.places), place)).copied().collect();
        let metric =
            there.iter().filter_map(|point| self.metric_at(place, point)).find(|one| *one != Metric::Seconds)?;
        Some(match metric {
            Metric::LimitPerS => "largest rate per second".to_owned(),
            Metric::RowsPerS => "rows inserted per second".to_owned(),
            _ => format!("{} per second", ops_word(there)),
        })
    }

    /// What the numbers at most of `places` are, and the heads of all; a head says so if its numbers are something else.
    fn counted(&self, places: &[Key]) -> (String, Vec<String>) {
        let counted: Vec<Option<String>> = places.iter().map(|place| self.counted_at(place)).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        counted.iter().flatten().for_each(|one| *counts.entry(one).or_default() += 1);
        let usual = counts.into_iter().max_by_key(|(_, count)| *count).map_or("duration", |(one, _)| one).to_owned();
        let head = |(place, counted): (&Key, &Option<String>)| {
            let name = key_text(&self.points, place, &self.layout.places);
            let other = counted.as_ref().filter(|counted| **counted != usual);
            other.map_or(name.clone(), |counted| format!("{name}: {counted}"))
        };
        let heads = places.iter().zip(&counted).map(head).collect();
        (capital(&usual), heads)
    }

    /// The first thing with the same other settings as `thing`; `None` if that is the only one.
    fn base_of(&self, thing: &Key, things: &[Key]) -> Option<Key> {
        let block = self.block_of(thing);
        // Things that differ in ordered settings only have the first of all as their base.
        let is_alone = !self.layout.things.iter().any(|one| one.name == self.layout.compared);
        let kind = self.is_embedded(thing);
        let is_base = |other: &&Key| (is_alone || self.block_of(other) == block) && self.is_embedded(other) == kind;
        let mut alike = things.iter().filter(is_base);
        alike.next().filter(|_| alike.next().is_some()).cloned()
    }

    /// Whether the engine of `thing` is inside of plimsoll: it pays for no server, and is the base of no server.
    fn is_embedded(&self, thing: &Key) -> bool {
        let own = self.points.iter().find(|point| agrees(thing, &key_of(point, &self.layout.things)));
        own.is_some_and(|point| point.traits.engine.process == EngineProcess::Embedded)
    }

    fn by_place(&self, workload: &str) -> Overview {
        let (things, places) = (self.things(), self.places());
        let row = |thing: &Key| {
            let base = self.base_of(thing, &things);
            let cell = |place: &Key| {
                let point = self.at(thing, place)?;
                let base = base.as_ref().and_then(|base| self.at(base, place));
                self.cell(point, self.metric_at(place, point)?, base)
            };
            self.row(thing, places.iter().map(cell).collect())
        };
        let (counted, heads) = self.counted(&places);
        let rows = things.iter().map(row).collect();
        let best = if self.layout.is_best { self.best_words() } else { "" };
        Overview { title: format!("{counted}, {workload}{best}"), base: self.base_text(&things), heads, rows }
    }

    /// A single place: its columns are metrics.
    fn by_metric(&self, workload: &str) -> Overview {
        let (things, place) = (self.things(), self.places().remove(0));
        let main = self.points.iter().find_map(|point| self.metric_at(&place, point)).unwrap_or(Metric::OpsPerS);
        let has = |metric: &Metric| self.points.iter().any(|point| metric.value(point).is_some());
        let more = Metric::response_times().chain([Metric::WrittenBytesPerOp]).filter(has);
        let metrics: Vec<Metric> = std::iter::once(main).chain(more).collect();
        let row = |thing: &Key| {
            let point = self.at(thing, &place);
            let base = self.base_of(thing, &things).and_then(|base| self.at(&base, &place));
            self.row(thing, metrics.iter().map(|metric| self.cell(point?, *metric, base)).collect())
        };
        Overview {
            title: self.name_of(workload, &place),
            base: self.base_text(&things),
            heads: metrics
                .iter()
                .map(|metric| metric_head(*metric, shared_unit(self.points.iter().copied())))
                .collect(),
            rows: things.iter().map(row).collect(),
        }
    }

    /// A single thing: its rows are metrics, and the first place is the base.
    fn of_one_thing(&self, workload: &str) -> Overview {
        let (thing, places) = (self.things().remove(0), self.places());
        let first = self.at(&thing, &places[0]);
        let main = |point: &PointAnalysis| Metric::of_work(point).unwrap_or(Metric::OpsPerS);
        let cell = |place: &Key, metric: fn(&PointAnalysis, Metric) -> Metric| {
            let point = self.at(&thing, place)?;
            let metric = metric(point, main(point));
            // Steps and mixes have nothing in common; numbers of clients have.
            let base = first.filter(|_| self.layout.places.iter().all(is_load));
            Some(OverviewCell { tone: 0, ..self.cell(point, metric, base)? })
        };
        let cells =
            |metric: fn(&PointAnalysis, Metric) -> Metric| places.iter().map(|place| cell(place, metric)).collect();
        let mut rate = self.row(&thing, cells(|_, main| main));
        let times =
            OverviewRow { name: "p99".to_owned(), style: None, cells: cells(|_, _| Metric::Response(Percentile::P99)) };
        let (counted, heads) = self.counted(&places);
        let name = std::mem::replace(&mut rate.name, counted);
        let rows = [rate, times].into_iter().filter(|row| row.cells.iter().any(Option::is_some)).collect();
        let best = if self.layout.is_best { self.best_words() } else { "" };
        let base = if self.layout.places.iter().all(is_load) { "the first column".to_owned() } else { String::new() };
        Overview { title: format!("{name} {workload}{best}"), base, heads, rows }
    }

    fn row(&self, thing: &Key, cells: Vec<Option<OverviewCell>>) -> OverviewRow {
        let own = |thing: &Key| self.points.iter().find(|point| agrees(thing, &key_of(point, &self.layout.things)));
        let firsts: Vec<&PointAnalysis> = self.things().iter().filter_map(|thing| own(thing).copied()).collect();
        let styles = self.palette.styles(&firsts);
        let style = self.things().iter().position(|other| other == thing).and_then(|nth| styles.get(nth).copied());
        let name = key_text(&self.points, thing, &self.layout.things);
        let name = if name.is_empty() { self.points[0].engine.clone() } else { name };
        OverviewRow { name, style, cells }
    }

    fn cell(&self, point: &PointAnalysis, metric: Metric, base: Option<&PointAnalysis>) -> Option<OverviewCell> {
        let measured = metric.value(point).filter(|measured| measured.value.is_finite())?;
        if point.had_nothing_to_do() {
            return None;
        }
        let is_invalid = !is_usable(point);
        // Under unlike loads neither rates nor times tell which is better.
        let is_fair = |base: &&PointAnalysis| is_comparable(base) && offered(base) == offered(point);
        let base = base.filter(is_fair).filter(|_| is_comparable(point));
        let is_base = base.is_some_and(|base| base.id == point.id);
        let ratio = base.filter(|_| !is_base).and_then(|base| self.ratio(point, base, metric));
        let half = half_width_share((measured.value, measured.ci95)).filter(|half| *half > WIDE);
        Some(OverviewCell {
            value: measured.value,
            text: value_text(metric, measured.value),
            half_width: half.map_or(String::new(), |half| format!("±{}", percent(half))),
            ratio: match ratio {
                Some(ratio) => format!("{}x", ratio_digits(ratio.ratio)),
                None => if is_base { "base" } else { "" }.to_owned(),
            },
            note: self.note(point, ratio),
            tone: ratio.map_or(0, |ratio| ratio.tone(metric)),
            is_invalid,
            is_indicative: point.validity == Validity::Indicative,
        })
    }

    fn note(&self, point: &PointAnalysis, ratio: Option<JudgedRatio>) -> String {
        let place = if self.layout.is_best {
            format!("{} clients", format::count(u64::from(point.clients)))
        } else {
            String::new()
        };
        let judged = match (is_usable(point), ratio) {
            (false, _) => "invalid",
            (true, Some(JudgedRatio { verdict: Some(RatioVerdict::NoDifferenceShown), .. })) => "no difference shown",
            (true, Some(ratio)) if ratio.is_doubtful() => "intervals overlap",
            _ => work_done_mark(&point.work_done).unwrap_or_default(),
        };
        let parts = [place, judged.to_owned()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// The ratio of `point` to `base`, with the verdict of the relative tables if they have it.
    fn ratio(&self, point: &PointAnalysis, base: &PointAnalysis, metric: Metric) -> Option<JudgedRatio> {
        let (own, other) = (metric.value(point)?, metric.value(base)?);
        let judged = self.tables.iter().find_map(|table| judged(table, (point, base), metric));
        let known = JudgedRatio {
            ratio: judged.map_or(own.value / other.value, |judged| judged.0),
            verdict: judged.map(|judged| judged.1),
            has_overlap: own.ci95.zip(other.ci95).is_some_and(|(own, other)| overlap(own, other)),
        };
        (known.ratio.is_finite() && known.ratio > 0.0).then_some(known)
    }

    fn best_words(&self) -> &'static str {
        ", each at its best number of clients"
    }

    /// `innodb`: what the ratios of several rows are to.
    fn base_text(&self, things: &[Key]) -> String {
        let has_base = things.iter().any(|thing| self.base_of(thing, things).is_some());
        let Some(first) = things.first().filter(|_| has_base) else { return String::new() };
        if things.iter().any(|thing| self.is_embedded(thing) != self.is_embedded(first)) {
            return "the first engine of its kind: embedded, or a server".to_owned();
        }
        let is_compared = |one: &&Dimension| one.name == self.layout.compared;
        let own: Vec<Dimension> = self.layout.things.iter().filter(is_compared).cloned().collect();
        let key = self.layout.things.iter().zip(first).filter(|(one, _)| is_compared(one));
        let key: Key = key.map(|(_, value)| value.clone()).collect();
        match key_text(&self.points, &key, &own) {
            text if text.is_empty() => key_text(&self.points, first, &self.layout.things),
            text => text,
        }
    }

    fn name_of(&self, workload: &str, place: &Key) -> String {
        let place = key_text(&self.points, place, &self.layout.places);
        format!("{workload} {place}").trim_end().to_owned()
    }
}

/// The rate that was offered; `None` in a closed loop.
fn offered(point: &PointAnalysis) -> Option<f64> {
    point.summary.as_ref()?.offered_per_s
}

/// A rate without its unit, which the title has.
fn value_text(metric: Metric, value: f64) -> String {
    match metric {
        Metric::LimitPerS | Metric::RowsPerS | Metric::OpsPerS => count(value).to_string(),
        _ => metric_value(metric, value),
    }
}

/// A ratio with what was concluded from it.
#[derive(Clone, Copy)]
struct JudgedRatio {
    ratio: f64,
    verdict: Option<RatioVerdict>,
    /// Whether the confidence intervals of the two numbers have a part in common.
    has_overlap: bool,
}

/// The ratios from which the colour of a cell is the next stronger one.
const TONES: [f64; 5] = [1.05, 1.2, 1.5, 2.0, 4.0];

impl JudgedRatio {
    /// As [`tone_of`]. Only a difference that was shown has a colour.
    fn tone(&self, metric: Metric) -> i8 {
        if self.verdict.is_some_and(RatioVerdict::is_difference) { tone_of(self.ratio, metric) } else { 0 }
    }

    /// Whether chance may explain the difference, as no pairs of repeats show otherwise.
    fn is_doubtful(&self) -> bool {
        self.has_overlap && !self.verdict.is_some_and(RatioVerdict::is_difference)
    }
}

fn overlap(one: [f64; 2], other: [f64; 2]) -> bool {
    one[0] <= other[1] && other[0] <= one[1]
}

/// How much better a value of `metric` is that is `ratio` of the base's: from -5, much worse, to 5, much better.
pub fn tone_of(ratio: f64, metric: Metric) -> i8 {
    let better = if metric.better() == Preference::More { ratio } else { 1.0 / ratio };
    let steps = TONES.iter().filter(|from| better.max(1.0 / better) >= **from).count() as i8;
    if better >= 1.0 { steps } else { -steps }
}

/// The ratio and the verdict that `table` has of `point` and `base`, if the one is an arm and the other the first arm.
fn judged(
    table: &RelativeTable,
    (point, base): (&PointAnalysis, &PointAnalysis),
    metric: Metric,
) -> Option<(f64, RatioVerdict)> {
    let name = &table.arms[0].name;
    let arm_of =
        |point: &PointAnalysis| table.arms.iter().position(|arm| point.settings.value(name) == Some(&arm.value));
    let (arm, first) = (arm_of(point)?, arm_of(base)?);
    let is_place = |point: &PointAnalysis, place: &[analysis::Setting]| {
        place.iter().all(|one| point.settings.value(&one.name) == Some(&one.value))
    };
    let row = table
        .rows
        .iter()
        .find(|row| row.metric == metric && is_place(point, &row.place) && is_place(base, &row.place))?;
    let cell = row.cells.get(arm.checked_sub(1)?).filter(|_| first == 0)?.as_ref()?;
    Some((cell.ratio.ratio, cell.ratio.verdict))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserting, label, quick, set, with_points, with_verdict};
    use analysis::{RepeatRows, Validity};

    fn tables(analysis: &Analysis) -> Vec<Overview> {
        let rows = RepeatRows::from_analysis(analysis);
        overviews(&rows.analysis, &Palette::new(analysis))
    }

    fn names(overview: &Overview) -> Vec<&str> {
        overview.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn only_a_ratio_that_is_decided_has_a_colour() {
        let doubtful = JudgedRatio { ratio: 1.71, verdict: None, has_overlap: overlap([11.0, 35.0], [34.0, 45.0]) };
        assert!(doubtful.is_doubtful() && doubtful.tone(Metric::OpsPerS) == 0);
        let shown = JudgedRatio { verdict: Some(RatioVerdict::Faster), ..doubtful };
        assert!(!shown.is_doubtful() && shown.tone(Metric::OpsPerS) == 3);
        let apart = JudgedRatio { has_overlap: overlap([11.0, 33.0], [34.0, 45.0]), ..doubtful };
        let undecided = [None, Some(RatioVerdict::Indicative), Some(RatioVerdict::NoDifferenceShown)];
        for verdict in undecided {
            assert_eq!(JudgedRatio { verdict, ..apart }.tone(Metric::OpsPerS), 0, "{verdict:?}");
        }
    }

    #[test]
    fn engines_are_rows_and_places_are_columns_with_ratios_to_the_first_of_the_same_settings() {
        let dimensions: [(&str, &[&str]); 3] =
            [("engine", &["innodb", "rocksdb"]), ("mix", &["read", "write"]), ("indexes", &["0", "3"])];
        let mut analysis = inserting(&dimensions, 30);
        analysis.points.iter_mut().for_each(|point| label(point, &["engine", "workload", "mix", "indexes"], &[]));
        let all = tables(&with_verdict(analysis));
        let [table] = all.as_slice() else { panic!("one workload: {all:?}") };
        assert_eq!(table.heads, ["read", "write"]);
        assert_eq!(names(table), ["innodb indexes 0", "rocksdb indexes 0", "innodb indexes 3", "rocksdb indexes 3"]);
        let ratios: Vec<&str> =
            table.rows.iter().map(|row| row.cells[0].as_ref().map_or("", |cell| &cell.ratio)).collect();
        assert!(ratios[0] == "base" && ratios[2] == "base" && ratios[1].ends_with('x'), "{ratios:?}");
        assert_eq!(table.base, "innodb");
        let (one, other) = (table.rows[0].style.unwrap(), table.rows[1].style.unwrap());
        assert!(one.colour != other.colour && one.strength == other.strength);
    }

    #[test]
    fn an_engine_that_is_slower_is_red_and_an_invalid_one_has_no_ratio() {
        let mut analysis = quick();
        analysis.points.retain(|point| point.workload == "insert" && point.engine != "file");
        let judged = |verdict: RatioVerdict| {
            let mut rows = RepeatRows::from_analysis(&with_verdict(analysis.clone())).analysis;
            let cells =
                rows.verdict.relative.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| &mut row.cells);
            cells.flatten().for_each(|cell| cell.ratio.verdict = verdict);
            overviews(&rows, &Palette::new(&analysis))[0].rows[1].cells[0].clone().unwrap()
        };
        let faster = judged(RatioVerdict::Faster);
        assert!(faster.tone > 0 && faster.ratio == "1.36x", "{faster:?}");
        assert_eq!(judged(RatioVerdict::Indicative).tone, 0, "of a single pair nothing is concluded");
        let id = analysis.points.iter().position(|point| point.engine == "fjall").unwrap();
        analysis.points[id].validity = Validity::Invalid;
        let all = tables(&with_verdict(analysis));
        let cell = all[0].rows[1].cells[0].as_ref().unwrap();
        assert!(cell.is_invalid && cell.ratio.is_empty() && cell.tone == 0 && cell.note == "invalid", "{cell:?}");
    }

    #[test]
    fn a_single_thing_has_its_tail_below_its_rate() {
        let all = tables(&with_points(3));
        let [table] = all.as_slice() else { panic!("one table") };
        assert_eq!(table.heads, ["clients 1", "clients 2", "clients 3"]);
        let names: Vec<&str> = table.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["Operations per second", "p99"]);
        assert!(!table.title.contains("per second"), "{}", table.title);
        assert!(table.rows[0].cells.iter().flatten().all(|cell| cell.tone == 0));
    }

    #[test]
    fn a_single_place_has_metrics_as_columns() {
        let all = tables(&with_points(1));
        assert_eq!(all[0].heads[..2], ["ops/s", "p50"]);
        assert_eq!(all[0].rows.len(), 1);
    }

    #[test]
    fn engines_that_need_unlike_numbers_of_queries_are_in_operations_of_which_each_has_a_ratio() {
        let mut analysis = inserting(&[("engine", &["a", "b"]), ("mix", &["x", "y"])], 30);
        for point in &mut analysis.points {
            point.inserts = None;
            let is_one_call = point.engine == "a" || point.settings.text("mix").as_deref() == Some("x");
            let summary = point.summary.as_mut().expect("it ran");
            (summary.rows_per_s, summary.ops_per_s) = (None, 1_000.0);
            summary.queries_per_s = if is_one_call { 1_000.0 } else { 1_500.0 };
        }
        let all = tables(&analysis);
        let values: Vec<f64> = all[0].rows.iter().flat_map(|row| &row.cells).flatten().map(|cell| cell.value).collect();
        assert_eq!((all[0].title.starts_with("Operations per second"), values), (true, vec![1_000.0; 4]));
        assert!(all[0].rows[1].cells.iter().flatten().all(|cell| cell.ratio == "1.00x"), "{:?}", all[0].rows[1]);
    }

    #[test]
    fn a_column_that_counts_something_else_than_the_title_says_so() {
        let mut analysis = inserting(&[("engine", &["a", "b"]), ("step", &["l.i0", "l.i1", "qr"])], 30);
        for point in analysis.points.iter_mut().filter(|point| point.settings.word("step") == Some("qr")) {
            point.inserts = None;
            let summary = point.summary.as_mut().expect("it ran");
            (summary.rows_per_s, summary.queries_per_s) = (None, summary.ops_per_s);
        }
        let all = tables(&analysis);
        assert!(all[0].title.starts_with("Rows inserted per second, "), "{}", all[0].title);
        assert_eq!(all[0].heads, ["l.i0", "l.i1", "qr: operations per second"]);
        let rate = all[0].rows[0].cells[2].as_ref().map(|cell| cell.value);
        assert_eq!(
            rate,
            analysis.points.iter().find(|p| p.settings.word("step") == Some("qr")).map(|p| p
                .summary
                .as_ref()
                .unwrap()
                .ops_per_s)
        );
    }

    #[test]
    fn too_many_places_are_shown_at_their_best() {
        let mut analysis =
            inserting(&[("engine", &["a", "b"]), ("mix", &["x", "y", "z"]), ("n", &["1", "2", "4", "8"])], 30);
        for point in &mut analysis.points {
            let clients = point.settings.text("n").unwrap();
            point.settings.remove("n");
            set(point, "clients", &clients);
        }
        let all = tables(&analysis);
        assert_eq!(all[0].heads, ["x", "y", "z"]);
        assert!(all[0].title.ends_with("each at its best number of clients"));
        assert!(all[0].rows[0].cells[0].as_ref().unwrap().note.ends_with(" clients"));
    }

    #[test]
    fn what_has_no_effect_on_a_step_is_no_row_of_its_own() {
        let mut analysis =
            inserting(&[("engine", &["a", "b"]), ("step", &["l.i0", "l.i1"]), ("indexes", &["0", "3"])], 30);
        for point in &mut analysis.points {
            if point.settings.word("step") == Some("l.i0") {
                point.settings.remove("indexes");
            }
        }
        let all = tables(&analysis);
        assert_eq!(names(&all[0]).len(), 4, "{:?}", names(&all[0]));
        assert!(all[0].rows.iter().all(|row| row.cells.iter().all(Option::is_some)), "each row has its load");
    }
}
