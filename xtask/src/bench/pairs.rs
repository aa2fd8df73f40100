//! Two programs on one server, one right after the other: the cost of an operation and the rate of each.
//!
//! In: two functions that run a program and watch it. Out: ratios of CPU per operation and of operations per second, with
//! intervals, and whether they meet a goal. Limits: one pair has no interval.

use super::statistics::{Ratio, median, ratio};
use super::watch::WatchedRun;
use anyhow::{Context, Result};

/// What an operation costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// CPU of the whole process per operation.
    pub cpu_us: f64,
    /// The part of it outside of the kernel.
    pub user_us: f64,
    pub per_s: f64,
}

/// plimsoll compared with a peer.
pub struct PairComparison {
    /// Both prices are medians.
    pub own: Price,
    pub peer: Price,
    /// The ratio of plimsoll to the peer.
    pub cpu: Ratio,
    pub rate: Ratio,
}

/// The price of a unit in a run whose operations are `units` each, such as the rows of a batch.
pub fn price_of(run: &WatchedRun, units: f64) -> Price {
    let units = run.operations * units;
    Price { cpu_us: run.cpu_ns / units / 1e3, user_us: run.user_ns / units / 1e3, per_s: units / run.seconds }
}

/// The medians of several runs.
pub fn median_price(prices: &[Price]) -> Price {
    Price {
        cpu_us: median(prices.iter().map(|price| price.cpu_us)),
        user_us: median(prices.iter().map(|price| price.user_us)),
        per_s: median(prices.iter().map(|price| price.per_s)),
    }
}

/// `rounds` of A B B A.
pub fn compare(
    rounds: u32,
    mut own: impl FnMut() -> Result<Price>,
    mut peer: impl FnMut() -> Result<Price>,
) -> Result<PairComparison> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        ours.push(own()?);
        theirs.push(peer()?);
        theirs.push(peer()?);
        ours.push(own()?);
        for nth in [2 * round - 2, 2 * round - 1] {
            println!(
                "  round {round}: plimsoll {} : {}",
                price_line(&ours[nth as usize]),
                price_line(&theirs[nth as usize])
            );
        }
    }
    let cpu = ratio_by(&ours, &theirs, |price| price.cpu_us)?;
    let rate = ratio_by(&ours, &theirs, |price| price.per_s)?;
    Ok(PairComparison { own: median_price(&ours), peer: median_price(&theirs), cpu, rate })
}

fn ratio_by(ours: &[Price], theirs: &[Price], value: fn(&Price) -> f64) -> Result<Ratio> {
    let pairs: Vec<_> = ours.iter().map(value).zip(theirs.iter().map(value)).collect();
    ratio(&pairs).context("one pair has no interval")
}

/// `7.91 us (0.62 user), 57182/s`.
pub fn price_line(price: &Price) -> String {
    format!("{:.2} us ({:.2} user), {:.0}/s", price.cpu_us, price.user_us, price.per_s)
}

/// Whether the whole interval of a ratio meets a goal: at most so much, or with `at_least` no less.
pub fn judge_goal(goal: f64, at_least: bool, ratio: &Ratio) -> &'static str {
    let (sure, worst) =
        if at_least { (ratio.low >= goal, ratio.high < goal) } else { (ratio.high <= goal, ratio.low > goal) };
    match (sure, worst) {
        (true, _) => "met",
        (_, true) => "missed",
        _ => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::watch::MemoryUse;

    #[test]
    fn a_price_is_per_unit_of_what_is_counted() {
        let memory = MemoryUse::default();
        let run = WatchedRun { operations: 10.0, seconds: 2.0, cpu_ns: 8e6, user_ns: 2e6, memory };
        assert_eq!(price_of(&run, 1000.0), Price { cpu_us: 0.8, user_us: 0.2, per_s: 5_000.0 });
    }

    #[test]
    fn programs_take_turns_a_b_b_a_and_are_compared_in_pairs() {
        let order = std::cell::RefCell::new(String::new());
        let run = |name, cpu_us: f64| {
            order.borrow_mut().push(name);
            Ok(Price { cpu_us, user_us: 0.0, per_s: 1.0 / cpu_us })
        };
        let compared = compare(2, || run('a', 2.0), || run('b', 4.0)).unwrap();
        assert_eq!(*order.borrow(), "abbaabba");
        assert!((compared.cpu.mean - 0.5).abs() < 1e-12 && (compared.rate.mean - 2.0).abs() < 1e-12);
        assert_eq!((compared.cpu.pairs, compared.own.cpu_us, compared.peer.cpu_us), (4, 2.0, 4.0));
    }

    #[test]
    fn a_goal_is_met_or_missed_where_the_whole_interval_is_on_one_side() {
        let ratio = |low, high| Ratio { mean: 1.0, low, high, pairs: 8 };
        let at_most = [ratio(0.7, 0.9), ratio(0.9, 1.1), ratio(1.1, 1.2)].map(|ratio| judge_goal(1.0, false, &ratio));
        assert_eq!(at_most, ["met", "open", "missed"]);
        let at_least = [ratio(0.7, 0.9), ratio(0.9, 1.1), ratio(1.1, 1.2)].map(|ratio| judge_goal(1.0, true, &ratio));
        assert_eq!(at_least, ["missed", "open", "met"]);
    }
}
