//! By how much the insert rate of each engine drops when storage slows, and when data outgrows its cache.
//!
//! In: the points of a run that insert. Out: a [`InsertComparison`]: [`EngineSlowdown`]s, each of one engine between two settings of one
//! dimension
//! while all others are equal, and the points that were left out. A slowdown is one minus the slower rate over the faster, with its
//! interval.
//! Limits: a slowdown needs an interval, so a rate needs its own interval or at least three repeats. Inserts at a fixed rate are left
//! out, because that rate is not the engine's.

use crate::math::ratio::PAIRS_MIN;
use crate::math::repeats::{MeanOfRepeats, REPEATS_MIN, RateDrop, combine, drop_between};
use crate::points::sweep::{is_comparable, is_usable};
use crate::recorded::dimensions::{Dimension, Role, STORAGE_LIMIT, Setting, SettingValue, Settings, varying};
use crate::{InsertCost, PointAnalysis};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a run shows of slowdowns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InsertComparison {
    /// The slowdowns: those of one change at one place together, the greatest first.
    pub slowdowns: Vec<EngineSlowdown>,
    /// The points that insert and are in none of them.
    pub left_out: Vec<LeftOutPoint>,
}

/// By how much the insert rate of one engine drops when one thing changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineSlowdown {
    pub change: Change,
    /// What else varies in the run, and what it was here.
    pub place: Vec<Setting>,
    /// The engine, or the path.
    pub engine: String,
    /// Rows inserted per second before the change.
    pub before: MeanOfRepeats,
    /// The same after the change.
    pub after: MeanOfRepeats,
    /// By how much the rate drops.
    pub drop: RateDrop,
}

/// What changed between two rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The storage was limited.
    Storage {
        /// The limit before; `Absent` for none.
        from: SettingValue,
        to: SettingValue,
    },
    /// The data outgrew the cache.
    CacheOutgrown,
}

/// A point that inserts and was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutPoint {
    pub point: u32,
    pub reason: LeftOutReason,
}

/// Why a point was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// Its numbers must not be used.
    Invalid,
    /// It did a part of its work, or ran on data of which a part was made.
    CutShort,
    /// It inserted at a fixed rate.
    FixedRate,
    /// Its insert rate is not known.
    NoRate,
    /// Neither its own intervals nor three repeats give its rate an interval.
    NoInterval,
    /// No point differs from it in storage or cache alone.
    NoPartner,
}

impl EngineSlowdown {
    /// Of how many repeats the rate with fewer of them is.
    pub fn repeats(&self) -> usize {
        self.before.repeats.min(self.after.repeats)
    }

    /// Whether there are enough repeats to claim anything: intervals within one run show nothing about the next.
    pub fn is_conclusive(&self) -> bool {
        self.repeats() >= PAIRS_MIN
    }

    /// Whether the interval has the spread of the repeats in it.
    pub fn is_repeated(&self) -> bool {
        self.repeats() >= REPEATS_MIN
    }

    /// Whether the interval excludes that nothing changed.
    pub fn is_shown(&self) -> bool {
        self.is_conclusive() && self.drop.ci95[0] > 0.0
    }

    /// Whether the rate rises, and the interval excludes that nothing changed.
    pub fn is_gain(&self) -> bool {
        self.is_conclusive() && self.drop.ci95[1] < 0.0
    }
}

impl InsertComparison {
    /// The slowdowns by one change at one place, together.
    pub fn by_change(&self) -> impl Iterator<Item = &[EngineSlowdown]> {
        self.slowdowns.chunk_by(|a, b| a.change == b.change && a.place == b.place)
    }
}

/// What does not distinguish a place: engines are compared separately, and repeats are combined.
const NO_PLACE: [Role; 2] = [Role::Engine, Role::Repeat];

type InsertingPoint<'a> = (&'a PointAnalysis, &'a InsertCost);

/// What `points`, all those of a run, show of slowdowns.
pub fn compare(points: &[PointAnalysis]) -> InsertComparison {
    let mut left_out = Vec::new();
    let mut by_engine: BTreeMap<&str, Vec<InsertingPoint>> = BTreeMap::new();
    for (point, cost) in points.iter().filter_map(|point| Some((point, point.inserts.as_ref()?))) {
        match reason_to_leave_out(point, cost) {
            Some(reason) => left_out.push(LeftOutPoint { point: point.id, reason }),
            None => by_engine.entry(&point.engine).or_default().push((point, cost)),
        }
    }
    let mut search = SlowdownSearch::default();
    by_engine.values().for_each(|own| search.add_engine(own));
    left_out.extend(by_engine.values().flatten().filter_map(|(point, _)| search.left_out(point.id)));
    let mut slowdowns = search.slowdowns;
    slowdowns.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)).then(b.drop.share.total_cmp(&a.drop.share)));
    InsertComparison { slowdowns, left_out }
}

fn reason_to_leave_out(point: &PointAnalysis, cost: &InsertCost) -> Option<LeftOutReason> {
    let summary = point.summary.as_ref();
    let is_paced = summary.is_some_and(|summary| summary.has_background_inserts() || summary.offered_per_s.is_some());
    match () {
        _ if !is_usable(point) => Some(LeftOutReason::Invalid),
        _ if !is_comparable(point) => Some(LeftOutReason::CutShort),
        _ if is_paced => Some(LeftOutReason::FixedRate),
        _ if cost.inserts_per_s.is_none() => Some(LeftOutReason::NoRate),
        _ => None,
    }
}

/// What slowdowns are sorted by: what changed, and the place.
fn sort_key(slowdown: &EngineSlowdown) -> (u8, [String; 2], Vec<(String, String)>) {
    let place = slowdown.place.iter().map(|one| (one.name.clone(), one.value.to_string())).collect();
    match &slowdown.change {
        Change::Storage { from, to } => (0, [from.to_string(), to.to_string()], place),
        Change::CacheOutgrown => (1, Default::default(), place),
    }
}

/// Slowdowns found so far, and the points that were looked at for them.
#[derive(Default)]
struct SlowdownSearch {
    slowdowns: Vec<EngineSlowdown>,
    in_one: BTreeSet<u32>,
    without_interval: BTreeSet<u32>,
}

/// The points of an engine at one place, by what is changed between them.
struct PlaceCells<'a, K> {
    place: Vec<Setting>,
    cells: BTreeMap<K, Vec<InsertingPoint<'a>>>,
}

impl SlowdownSearch {
    fn add_engine(&mut self, own: &[InsertingPoint]) {
        for at in
            group_by_place(own, |dimension| dimension.name == STORAGE_LIMIT, |(point, _)| Some(storage_key(point)))
        {
            self.add_storage(&at);
        }
        // Rows, cache and memory limit are not compared by themselves: what matters is whether the data fits the cache.
        for at in group_by_place(own, |dimension| dimension.decides_fit, |(_, cost)| Some(cost.data_per_cache? > 1.0)) {
            if let (Some(fits), Some(outgrown)) = (at.cells.get(&false), at.cells.get(&true)) {
                self.add_slowdown(Change::CacheOutgrown, &at.place, fits, outgrown);
            }
        }
    }

    fn add_storage(&mut self, at: &PlaceCells<(bool, String)>) {
        // If nothing ran without a limit, the fastest is what the others are compared with.
        let fastest = at.cells.iter().max_by(|a, b| mean_insert_rate(a.1).total_cmp(&mean_insert_rate(b.1)));
        let Some((base, before)) = at.cells.iter().find(|((is_limited, _), _)| !is_limited).or(fastest) else { return };
        for (_, after) in at.cells.iter().filter(|(key, _)| *key != base) {
            let change = Change::Storage { from: storage_of(before[0].0), to: storage_of(after[0].0) };
            self.add_slowdown(change, &at.place, before, after);
        }
    }

    fn add_slowdown(&mut self, change: Change, place: &[Setting], before: &[InsertingPoint], after: &[InsertingPoint]) {
        let ids = before.iter().chain(after).map(|(point, _)| point.id);
        let rates = insert_rate(before).zip(insert_rate(after));
        let Some((before_rate, after_rate, drop)) = rates.and_then(|(a, b)| Some((a, b, drop_between(&a, &b)?))) else {
            self.without_interval.extend(ids);
            return;
        };
        self.in_one.extend(ids);
        let engine = before[0].0.engine.clone();
        let place = place.to_vec();
        self.slowdowns.push(EngineSlowdown { change, place, engine, before: before_rate, after: after_rate, drop });
    }

    fn left_out(&self, point: u32) -> Option<LeftOutPoint> {
        // A point may lack an interval in one comparison and be in another: then it was compared.
        let reason = match self.without_interval.contains(&point) {
            _ if self.in_one.contains(&point) => return None,
            true => LeftOutReason::NoInterval,
            false => LeftOutReason::NoPartner,
        };
        Some(LeftOutPoint { point, reason })
    }
}

/// The insert rate of some repeats.
fn insert_rate(repeats: &[InsertingPoint]) -> Option<MeanOfRepeats> {
    combine(repeats.iter().filter_map(|(_, cost)| Some((cost.inserts_per_s?, cost.inserts_per_s_ci95))))
}

fn mean_insert_rate(repeats: &[InsertingPoint]) -> f64 {
    insert_rate(repeats).map_or(0.0, |rate| rate.mean)
}

/// The limit of the storage of `point`; `Absent` for none.
fn storage_of(point: &PointAnalysis) -> SettingValue {
    point.settings.value(STORAGE_LIMIT).cloned().unwrap_or(SettingValue::Absent)
}

fn storage_key(point: &PointAnalysis) -> (bool, String) {
    let limit = storage_of(point);
    (limit != SettingValue::Absent, limit.to_string())
}

/// The points by what varies among them, without the dimensions that `is_changed` selects, and within such a place by their `cell`.
fn group_by_place<'a, K: Ord>(
    own: &[InsertingPoint<'a>],
    is_changed: impl Fn(&Dimension) -> bool,
    cell: impl Fn(&InsertingPoint<'a>) -> Option<K>,
) -> Vec<PlaceCells<'a, K>> {
    let names: Vec<String> = varying(own.iter().map(|(point, _)| &point.settings))
        .into_iter()
        .filter(|dimension| !is_changed(dimension) && !NO_PLACE.contains(&dimension.role))
        .map(|dimension| dimension.name)
        .collect();
    let mut places: BTreeMap<Vec<Option<String>>, PlaceCells<K>> = BTreeMap::new();
    for one in own {
        let Some(key) = cell(one) else { continue };
        let settings = &one.0.settings;
        let texts = names.iter().map(|name| settings.text(name)).collect();
        let place = places
            .entry(texts)
            .or_insert_with(|| PlaceCells { place: chosen_settings(settings, &names), cells: BTreeMap::new() });
        place.cells.entry(key).or_default().push(*one);
    }
    places.into_values().collect()
}

fn chosen_settings(settings: &Settings, names: &[String]) -> Vec<Setting> {
    settings.used().filter(|setting| names.contains(&setting.name)).cloned().collect()
}
