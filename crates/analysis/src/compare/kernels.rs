//! What a CPU is worth: the rates of the kernels with one client and with one for each CPU, per core, per GHz and per unit of money.
//!
//! In: an analysis whose points repeat computations. Out: a [`KernelTable`]; and of two runs a [`KernelComparison`]. Limits: a frequency
//! that a virtual machine shows is nominal: then a rate per GHz is one per nominal GHz, and the table has that. The geometric mean over the
//! kernels has no meaning of its own: it is there to compare runs of the same kernels.

use crate::compare::ComparedRun;
use crate::math::ratio::{Pairing, Preference, RatioEstimate, RepeatPair};
use crate::math::stats::mean;
use crate::points::sweep::is_usable;
use crate::{Analysis, PointAnalysis, RepeatRows, RepeatValue, Validity};
use model::Machine;
use serde::Serialize;
use std::collections::BTreeMap;

const SECONDS_PER_HOUR: f64 = 3_600.0;
/// Frequencies are the same if they differ by less: what the kernel shows of an unchanged CPU varies by as much.
const SAME_CLOCK: f64 = 0.02;

/// The kernels of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelTable {
    /// One row for each, in the order of measurement.
    pub rows: Vec<KernelRow>,
    /// The geometric mean of the rates with one client; `None` if a kernel has none.
    pub single_score: Option<f64>,
    /// The same with the most clients.
    pub all_score: Option<f64>,
    /// CPUs that plimsoll may use.
    pub cpus: Option<u64>,
    /// The mean frequency of the CPUs over all points, in MHz.
    pub mhz: Option<f64>,
    /// Whether that is measured, and not nominal; `None` if it is not known.
    pub frequency_is_measured: Option<bool>,
    /// The price of the machine per hour, if it was stated.
    pub price_per_hour: Option<f64>,
    /// The CPU quota that held plimsoll, in CPUs.
    pub cpu_quota: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    pub kernel: String,
    /// What one client did.
    pub single: Option<KernelRate>,
    /// What the most clients did; `None` if only one was measured.
    pub all: Option<KernelRate>,
    /// How many times the rate of one client they did.
    pub scaling: Option<f64>,
}

/// The rate of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelRate {
    pub clients: u32,
    /// Rounds of the kernel per second.
    pub ops_per_s: f64,
    /// Its 95 % confidence interval.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Rounds per second and core that was used.
    pub per_core: f64,
    /// Of that, what one GHz does.
    pub per_ghz: Option<f64>,
    /// Rounds for one unit of money.
    pub per_money: Option<f64>,
    /// How far to trust it.
    pub validity: Validity,
}

impl KernelTable {
    /// The kernels of `analysis`; `None` if it has none.
    pub fn from_analysis(analysis: &Analysis) -> Option<KernelTable> {
        let rows = RepeatRows::from_analysis(analysis).analysis.points;
        let points: Vec<&PointAnalysis> = rows.iter().filter(|point| kernel_of(point).is_some()).collect();
        let most = points.iter().map(|point| point.clients).max()?;
        let machine = &analysis.meta.machine;
        let mut kernels: Vec<&str> = Vec::new();
        for kernel in points.iter().filter_map(|point| kernel_of(point)) {
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
        let rate = |kernel: &str, clients: u32| {
            let point = points.iter().find(|point| kernel_of(point) == Some(kernel) && point.clients == clients)?;
            kernel_rate(point, machine)
        };
        let row = |kernel: &&str| {
            let (single, all) = (rate(kernel, 1), rate(kernel, most).filter(|_| most > 1));
            let scaling = single.zip(all).map(|(single, all)| all.ops_per_s / single.ops_per_s);
            KernelRow { kernel: (*kernel).to_owned(), single, all, scaling }
        };
        let rows: Vec<KernelRow> = kernels.iter().map(row).collect();
        let frequencies: Vec<f64> = points.iter().filter_map(|point| point.mhz).collect();
        Some(KernelTable {
            single_score: geometric_mean(rows.iter().map(|row| row.single)),
            all_score: geometric_mean(rows.iter().map(|row| row.all)),
            rows,
            cpus: machine.cpus,
            mhz: (!frequencies.is_empty()).then(|| mean(&frequencies)),
            frequency_is_measured: machine.frequency_is_measured,
            price_per_hour: machine.hourly.price,
            cpu_quota: machine.cpu_quota,
        })
    }

    /// The clients of the right half of the table.
    pub fn most_clients(&self) -> Option<u32> {
        self.rows.iter().find_map(|row| Some(row.all?.clients))
    }
}

/// The computation that `point` repeats.
fn kernel_of(point: &PointAnalysis) -> Option<&str> {
    point.traits.work.kernel.as_deref()
}

fn kernel_rate(point: &PointAnalysis, machine: &Machine) -> Option<KernelRate> {
    let summary = point.summary.as_ref().filter(|summary| summary.ops_per_s > 0.0)?;
    let cores = f64::from(point.clients).min(machine.cpus.map_or(f64::INFINITY, |cpus| cpus as f64));
    let per_core = summary.ops_per_s / cores;
    Some(KernelRate {
        clients: point.clients,
        ops_per_s: summary.ops_per_s,
        ops_per_s_ci95: summary.ops_per_s_ci95,
        per_core,
        per_ghz: point.mhz.filter(|mhz| *mhz > 0.0).map(|mhz| per_core * 1e3 / mhz),
        per_money: machine.hourly.price.map(|price| summary.ops_per_s * SECONDS_PER_HOUR / price),
        validity: point.validity,
    })
}

/// The geometric mean; `None` if a rate is missing.
fn geometric_mean(rates: impl Iterator<Item = Option<KernelRate>>) -> Option<f64> {
    let logs: Vec<f64> = rates.map(|rate| Some(rate?.ops_per_s.ln())).collect::<Option<_>>()?;
    (!logs.is_empty()).then(|| mean(&logs).exp())
}

/// The kernels of two runs: how much more work the second does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelComparison {
    /// With one client of each.
    pub single: Option<WorkRatio>,
    /// With the most clients that each has: one for each CPU of its machine.
    pub all: Option<WorkRatio>,
    /// Frequencies of both, in MHz, if both are known.
    pub mhz: Option<[f64; 2]>,
    /// Whether both frequencies are measured, and not nominal.
    pub frequency_is_measured: bool,
    /// The CPU quotas that held plimsoll.
    pub cpu_quotas: [Option<f64>; 2],
}

/// How much more work a run does, as the geometric mean over the kernels of both; the pairs are the repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkRatio {
    pub kernels: usize,
    /// The clients of the first and of the second.
    pub clients: [u32; 2],
    /// The ratio of the rates.
    pub work: RatioEstimate,
    /// The same for each GHz of a core.
    pub per_ghz: Option<RatioEstimate>,
    /// The same for a unit of money.
    pub per_money: Option<RatioEstimate>,
}

impl KernelComparison {
    /// Compares the kernels of both; `None` if one has none, or none that the other has.
    pub fn from_runs(base: &ComparedRun, new: &ComparedRun) -> Option<KernelComparison> {
        let tables = [base, new].map(|run| KernelTable::from_analysis(run.analysis));
        let [Some(of_base), Some(of_new)] = &tables else { return None };
        let most = [of_base, of_new].map(|table| table.most_clients().unwrap_or(1));
        let single = work_ratio(base, new, [1, 1]);
        let all = work_ratio(base, new, most).filter(|_| most != [1, 1]);
        single.or(all)?;
        Some(KernelComparison {
            single,
            all,
            mhz: of_base.mhz.zip(of_new.mhz).map(Into::into),
            frequency_is_measured: [of_base, of_new].iter().all(|table| table.frequency_is_measured == Some(true)),
            cpu_quotas: [of_base.cpu_quota, of_new.cpu_quota],
        })
    }

    /// Whether both CPUs run equally fast.
    pub fn is_same_clock(&self) -> bool {
        self.mhz.is_some_and(|[base, new]| (new / base - 1.0).abs() < SAME_CLOCK)
    }
}

/// What each kernel did in each repeat with so many clients.
type Rates<'a> = BTreeMap<(&'a str, u32), &'a PointAnalysis>;

fn rates<'a>(run: &ComparedRun<'a>, clients: u32) -> Rates<'a> {
    let points = run.analysis.points.iter().filter(|point| point.clients == clients && is_usable(point));
    points.filter_map(|point| Some(((kernel_of(point)?, point.repeat), point))).collect()
}

fn work_ratio(base: &ComparedRun, new: &ComparedRun, clients: [u32; 2]) -> Option<WorkRatio> {
    let both = [rates(base, clients[0]), rates(new, clients[1])];
    let shared: Vec<(&str, u32)> = both[0].keys().filter(|key| both[1].contains_key(key)).copied().collect();
    let mut kernels: Vec<&str> = shared.iter().map(|(kernel, _)| *kernel).collect();
    kernels.dedup();
    // A repeat that lacks a kernel would be a mean of other work.
    let counts = |repeat: u32| shared.iter().filter(|(_, of)| *of == repeat).count();
    let repeats: Vec<u32> = shared.iter().map(|(_, repeat)| *repeat).collect();
    let whole: std::collections::BTreeSet<u32> =
        repeats.into_iter().filter(|repeat| counts(*repeat) == kernels.len()).collect();
    let estimate = |value: &dyn Fn(&PointAnalysis, usize) -> Option<f64>| {
        let [base, new] = [0, 1].map(|arm| {
            whole
                .iter()
                .filter_map(|repeat| {
                    let values = kernels.iter().map(|kernel| value(both[arm][&(*kernel, *repeat)], arm).map(f64::ln));
                    let logs: Vec<f64> = values.collect::<Option<_>>()?;
                    Some(RepeatValue { place: *repeat, value: mean(&logs).exp() })
                })
                .collect::<Vec<RepeatValue>>()
        });
        let pairs: Vec<RepeatPair> = Pairing::by_number(&base, &new).pairs;
        RatioEstimate::from_pairs(&pairs, Preference::More)
    };
    let machines = [base, new].map(|run| &run.analysis.meta.machine);
    let rate = |point: &PointAnalysis, arm: usize| kernel_rate(point, machines[arm]);
    Some(WorkRatio {
        kernels: kernels.len(),
        clients,
        work: estimate(&|point, arm| Some(rate(point, arm)?.ops_per_s))?,
        per_ghz: estimate(&|point, arm| rate(point, arm)?.per_ghz),
        per_money: estimate(&|point, arm| rate(point, arm)?.per_money),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Random, Simulation, run_of};
    use crate::{RatioVerdict, analyse};
    use model::RunData;

    /// A machine of two CPUs of `mhz` MHz that does `rate` rounds per second with one client, and `scaling` times as many with two; each
    /// of six repeats has 1 % noise.
    fn machine(seed: u64, rate: f64, scaling: f64, mhz: f64) -> RunData {
        let mut random = Random::new(seed);
        let mut points = Vec::new();
        for repeat in 1..=6 {
            for (kernel, factor) in [("sort", 1.0), ("chase", 3.0)] {
                for (clients, more) in [(1, 1.0), (2, scaling)] {
                    let count = rate * factor * more * (1.0 + 0.01 * random.normal());
                    let point = Simulation::counts(&[count.round() as u64; 10])
                        .source("frequency", &["mhz"], move |_| vec![mhz])
                        .with(|point| {
                            (point.trial.repeat, point.trial.load.clients) = (repeat, clients);
                            point.traits.work.kernel = Some(kernel.into());
                            point.trial.workload.params.0.insert("kernel".into(), model::Value::Word(kernel.into()));
                        });
                    points.push(point);
                }
            }
        }
        let mut run = run_of(points.into_iter().map(|point| point.recorded).collect(), Vec::new());
        run.meta.machine.cpus = Some(2);
        run
    }

    fn compared(base: &RunData, new: &RunData) -> KernelComparison {
        let analyses = [base, new].map(analyse);
        let run = |name, data, analysis| ComparedRun { name, data, analysis };
        let runs = [run("a", base, &analyses[0]), run("b", new, &analyses[1])];
        KernelComparison::from_runs(&runs[0], &runs[1]).expect("both have kernels")
    }

    #[test]
    fn rates_are_per_core_and_ghz_and_money_and_the_score_is_the_geometric_mean() {
        let mut run = machine(1, 1000.0, 1.8, 2500.0);
        run.meta.machine.hourly.price = Some(0.5);
        let table = KernelTable::from_analysis(&analyse(&run)).unwrap();
        let names: Vec<&str> = table.rows.iter().map(|row| row.kernel.as_str()).collect();
        assert_eq!((names, table.most_clients(), table.mhz), (vec!["sort", "chase"], Some(2), Some(2500.0)));
        let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 0.02, "{value} {expected}");
        let (single, all) = (table.rows[0].single.unwrap(), table.rows[0].all.unwrap());
        near(single.per_core, 1000.0);
        near(all.per_core, 900.0);
        near(single.per_ghz.unwrap(), 400.0);
        near(all.per_money.unwrap(), 1800.0 * 7200.0);
        near(table.rows[0].scaling.unwrap(), 1.8);
        near(table.single_score.unwrap(), 1000.0 * 3f64.sqrt());
    }

    #[test]
    fn a_faster_machine_is_told_from_a_higher_clock_and_from_the_same_one() {
        let base = machine(1, 1000.0, 1.9, 2000.0);
        let same = compared(&base, &machine(2, 1000.0, 1.9, 2000.0));
        assert_eq!(same.single.unwrap().work.verdict, RatioVerdict::NoDifferenceShown);
        assert!(same.is_same_clock());
        // Twice the work by twice the clock.
        let clocked = compared(&base, &machine(3, 2000.0, 1.9, 4000.0));
        let work = clocked.single.unwrap();
        assert_eq!((work.kernels, work.work.verdict), (2, RatioVerdict::Faster));
        assert_eq!(work.per_ghz.unwrap().verdict, RatioVerdict::NoDifferenceShown);
        assert!((work.work.ratio - 2.0).abs() < 0.03 && !clocked.is_same_clock());
    }

    #[test]
    fn a_cheaper_machine_is_ahead_for_the_money_though_it_is_slower() {
        let (mut base, mut new) = (machine(1, 1000.0, 1.9, 2000.0), machine(2, 700.0, 1.9, 2000.0));
        (base.meta.machine.hourly.price, new.meta.machine.hourly.price) = (Some(1.0), Some(0.5));
        let all = compared(&base, &new).all.unwrap();
        assert_eq!(all.work.verdict, RatioVerdict::Slower);
        assert!((all.per_money.unwrap().ratio - 1.4).abs() < 0.03);
        assert_eq!(all.per_money.unwrap().verdict, RatioVerdict::Faster);
    }
}
