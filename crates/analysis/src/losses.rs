//! Which engine loses how much of its inserts when storage slows, and when data outgrows its cache.
//!
//! In: the points of a run that insert. Out: [`Loss`]es, each of one engine between two settings of one dimension, all else alike.
//! A loss is 1 - slower / faster rate. Its interval is that of a ratio of two independent means, by the delta method on the
//! logarithm (G. Casella and R. Berger, "Statistical Inference", section 5.5); repeats are averaged, and where they differ by more
//! than their own intervals say, by how much they differ counts.
//! Limits: points that cannot be used are left out. A rate without an interval gives a loss without one.

use crate::stats::{mean, variance};
use crate::{InsertCost, PointAnalysis, Validity};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What was changed between two rates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The storage: from the first limit to the second.
    Storage(String, String),
    /// The data outgrew the cache.
    Memory,
}

/// What an engine lost by a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// What was changed.
    pub change: Change,
    /// What else varies in the run, and what it was here: `step l.i1, cache 64 MiB`.
    pub place: String,
    /// The engine.
    pub target: String,
    /// Inserts per second before and after.
    pub rates: [f64; 2],
    /// The share that was lost; below 0 where the engine gained.
    pub share: f64,
    /// Its 95 % interval.
    pub share_ci95: Option<[f64; 2]>,
}

const STORAGE: &str = "storage_limit";
/// What decides whether data fits.
const SIZES: [&str; 3] = ["cache", "memory_limit", "rows"];
/// Steps that insert at a fixed rate.
const PACED: [&str; 2] = ["qr", "qp"];

/// The losses that `points`, all those of a run, show: the greatest first within a change and a place.
pub fn losses(points: &[PointAnalysis]) -> Vec<Loss> {
    let usable = points.iter().filter(|point| point.validity != Validity::Invalid && !is_paced(point));
    let usable: Vec<(&PointAnalysis, &InsertCost)> = usable.filter_map(|p| Some((p, p.inserts.as_ref()?))).collect();
    let rated = usable.into_iter().filter(|(_, cost)| cost.inserts_per_s.is_some());
    let mut by_target: BTreeMap<&str, Vec<(&PointAnalysis, &InsertCost)>> = BTreeMap::new();
    rated.for_each(|one| by_target.entry(&one.0.target).or_default().push(one));
    let mut all: Vec<Loss> =
        by_target.values().flat_map(|own| by_storage(own).into_iter().chain(by_memory(own))).collect();
    all.sort_by(|a, b| (&a.change, &a.place).cmp(&(&b.change, &b.place)).then(b.share.total_cmp(&a.share)));
    all
}

fn is_paced(point: &PointAnalysis) -> bool {
    point.params.get("step").is_some_and(|step| PACED.contains(&step.as_str()))
}

type Measured<'a> = (&'a PointAnalysis, &'a InsertCost);
/// Points by what is changed between them.
type Cells<'a, K> = Vec<(K, Vec<Measured<'a>>)>;

fn by_storage(own: &[Measured]) -> Vec<Loss> {
    let mut found = Vec::new();
    for (place, cells) in places(own, &[STORAGE], |(point, _)| Some(storage_of(point).to_owned())) {
        let rate = |cell: &(String, Vec<Measured>)| Rate::of(&cell.1).mean;
        // Where nothing ran without a limit, the fastest stands for it.
        let fastest = cells.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let Some(base) = cells.iter().find(|cell| cell.0 == "none").or(fastest) else { continue };
        for cell in cells.iter().filter(|cell| cell.0 != base.0) {
            found.push(loss(Change::Storage(base.0.clone(), cell.0.clone()), &place, &base.1, &cell.1));
        }
    }
    found
}

fn storage_of(point: &PointAnalysis) -> &str {
    point.params.get(STORAGE).map_or("none", String::as_str)
}

fn by_memory(own: &[Measured]) -> Vec<Loss> {
    let outgrown = |(_, cost): &Measured| Some(cost.data_per_cache? > 1.0);
    let places = places(own, &SIZES, outgrown);
    let pair = |(place, cells): (String, Cells<bool>)| {
        let of = |outgrown: bool| cells.iter().find(|cell| cell.0 == outgrown).map(|cell| &cell.1);
        Some(loss(Change::Memory, &place, of(false)?, of(true)?))
    };
    places.into_iter().filter_map(pair).collect()
}

/// The points by what varies among them but `changed`, and there by what `cell` says of them.
fn places<'a, K: Ord + Clone>(
    own: &[Measured<'a>],
    changed: &[&str],
    cell: impl Fn(&Measured<'a>) -> Option<K>,
) -> Vec<(String, Cells<'a, K>)> {
    let varying = varying(own, changed);
    let mut places: BTreeMap<String, BTreeMap<K, Vec<Measured>>> = BTreeMap::new();
    for one in own {
        let Some(key) = cell(one) else { continue };
        places.entry(place(one.0, &varying)).or_default().entry(key).or_default().push(*one);
    }
    places.into_iter().map(|(place, cells)| (place, cells.into_iter().collect())).collect()
}

/// The parameters that do not have one value in all points.
fn varying<'a>(own: &[Measured<'a>], changed: &[&str]) -> BTreeSet<&'a str> {
    let names: BTreeSet<&str> = own.iter().flat_map(|(point, _)| point.params.keys().map(String::as_str)).collect();
    let value = |point: &'a PointAnalysis, name: &str| point.params.get(name).map(String::as_str);
    let varies = |name: &&str| own.iter().any(|(point, _)| value(point, name) != value(own[0].0, name));
    let mut varying: BTreeSet<&str> = names.into_iter().filter(|name| !changed.contains(name)).filter(varies).collect();
    varying.extend(own.iter().any(|(point, _)| point.clients != own[0].0.clients).then_some("clients"));
    varying
}

fn place(point: &PointAnalysis, varying: &BTreeSet<&str>) -> String {
    let word = |name: &&str| match *name {
        "clients" => format!("clients {}", point.clients),
        name => format!("{name} {}", point.params.get(name).map_or("none", String::as_str)),
    };
    varying.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn loss(change: Change, place: &str, before: &[Measured], after: &[Measured]) -> Loss {
    let [fast, slow] = [before, after].map(Rate::of);
    let ratio = slow.mean / fast.mean;
    let deviation = fast.relative_error.zip(slow.relative_error).map(|(fast, slow)| fast.hypot(slow));
    let interval = |deviation: f64| {
        let factor = (1.96 * deviation).exp();
        [1.0 - ratio * factor, 1.0 - ratio / factor]
    };
    Loss {
        change,
        place: place.to_owned(),
        target: before[0].0.target.clone(),
        rates: [fast.mean, slow.mean],
        share: 1.0 - ratio,
        share_ci95: deviation.map(interval),
    }
}

/// The mean of the repeats, and its standard error as a share of it.
struct Rate {
    mean: f64,
    relative_error: Option<f64>,
}

impl Rate {
    fn of(repeats: &[Measured]) -> Rate {
        let rates: Vec<f64> = repeats.iter().filter_map(|(_, cost)| cost.inserts_per_s).collect();
        let (mean, n) = (mean(&rates), rates.len() as f64);
        let error = |(_, cost): &Measured| cost.inserts_per_s_ci95.map(|[low, high]| (high - low) / 2.0 / 1.96);
        let within: Option<f64> = repeats.iter().map(|one| Some(error(one)?.powi(2))).sum();
        let within = within.map(|squares: f64| squares.sqrt() / n);
        let between = (rates.len() > 1).then(|| (variance(&rates) / n).sqrt());
        let error = within.map(|within| within.max(between.unwrap_or(0.0))).or(between);
        Rate { mean, relative_error: error.filter(|_| mean > 0.0).map(|error| error / mean) }
    }
}

impl Loss {
    /// `loses 64 % (60 to 68)`
    pub fn told(&self) -> String {
        let percent = |share: f64| format!("{:.0}", share * 100.0);
        match self.share_ci95 {
            Some([low, high]) if low <= 0.0 && high >= 0.0 => {
                format!("shows no loss ({} to {} %)", percent(low), percent(high))
            }
            Some([low, high]) if high < 0.0 => {
                format!("gains {} % ({} to {})", percent(-self.share), percent(-high), percent(-low))
            }
            Some([low, high]) => format!("loses {} % ({} to {})", percent(self.share), percent(low), percent(high)),
            None if self.share < 0.0 => format!("gains {} %", percent(-self.share)),
            None => format!("loses {} %", percent(self.share)),
        }
    }

    /// The same without the interval.
    pub fn told_briefly(&self) -> String {
        let told = self.told();
        told.split_once(" (").map_or(told.clone(), |(brief, _)| brief.to_owned())
    }
}

impl Change {
    /// What happened, for a sentence.
    pub fn told(&self) -> String {
        match self {
            Change::Storage(from, to) if from == "none" => format!("storage held to {to}"),
            Change::Storage(from, to) => format!("storage held to {to} and not to {from}"),
            Change::Memory => "data larger than its cache".to_owned(),
        }
    }
}

/// The losses by one change at one place, together.
pub fn sentences(points: &[PointAnalysis]) -> Vec<Vec<Loss>> {
    let all = losses(points);
    all.chunk_by(|a, b| (&a.change, &a.place) == (&b.change, &b.place)).map(<[Loss]>::to_vec).collect()
}
