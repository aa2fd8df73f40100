//! New orders: what a point of order entry is judged by.
//!
//! In: a point, its run phase cut into what counts. Out: [`OrderRates`] for a detector, [`NewOrderRate`] for the summary. Limits: a new order
//! that ended by a rollback on purpose counts, one that failed does not.

use crate::math::repeats::{Repeated, combined};
use crate::math::stats::total;
use crate::numbers::rates::RateEstimate;
use crate::recorded::window::Window;
use model::{KindRow, OrderWork, PointData};
use serde::{Deserialize, Serialize};

/// New orders in the run phase of a point.
pub struct OrderRates {
    /// How many were done in the minutes below.
    pub new_orders: f64,
    pub minutes: f64,
    pub warehouses: u64,
    /// The most that a warehouse can have with the pauses of its terminals; `None` if these make none.
    pub most_per_minute_and_warehouse: Option<f64>,
}

impl OrderRates {
    /// Those of `point`, cut as `window`; `None` if it enters no orders.
    pub fn of(point: &PointData, window: &Window) -> Option<OrderRates> {
        let work = point.traits.work.orders?;
        let kinds = window.inside_intervals.iter().flat_map(|interval| &interval.kinds);
        Some(OrderRates {
            new_orders: total(kinds.map(|kind| count_in(&work, kind))),
            minutes: window.seconds() / 60.0,
            warehouses: work.warehouses.max(1),
            most_per_minute_and_warehouse: work.most_per_minute(),
        })
    }

    /// The mean of a warehouse.
    pub fn per_minute_and_warehouse(&self) -> f64 {
        self.new_orders / self.minutes.max(1e-9) / self.warehouses as f64
    }
}

fn count_in(work: &OrderWork, kind: &KindRow) -> f64 {
    if kind.kind == work.new_order { kind.ok as f64 } else { 0.0 }
}

/// The rate of new orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewOrderRate {
    /// New orders that were done per minute.
    pub per_minute: f64,
    /// The 95 % confidence interval of that rate.
    pub per_minute_ci95: Option<[f64; 2]>,
    /// The same of one warehouse, if terminals make pauses: then it is this that is limited.
    pub per_minute_and_warehouse: Option<f64>,
}

impl NewOrderRate {
    /// The mean of repeats; `None` if none enters orders.
    pub(crate) fn combine(all: &Repeated<NewOrderRate>) -> Option<NewOrderRate> {
        let (per_minute, ci95) = all.rate(|one| Some((one.per_minute, one.per_minute_ci95)));
        Some(combined!(
            all,
            NewOrderRate { per_minute: (per_minute?), per_minute_ci95: (ci95), per_minute_and_warehouse: mean }
        ))
    }

    /// That of `point`, cut as `window`; `None` if it enters no orders.
    pub fn measure(point: &PointData, window: &Window) -> Option<NewOrderRate> {
        let work = point.traits.work.orders?;
        let rate = RateEstimate::from_window(window, |kind| count_in(&work, kind));
        let per_minute = 60.0 * rate.per_s;
        Some(NewOrderRate {
            per_minute,
            per_minute_ci95: rate.ci95.map(|ci95| ci95.map(|per_s| 60.0 * per_s)),
            per_minute_and_warehouse: (work.pauses > 0.0).then(|| per_minute / work.warehouses.max(1) as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::NewOrderRate;
    use crate::simulated::Simulation;
    use model::{OpKind, OrderWork};

    fn new_orders(simulation: &Simulation) -> Option<NewOrderRate> {
        simulation.analysis().points.remove(0).summary.expect("it ran").new_orders
    }

    #[test]
    fn new_orders_are_counted_by_the_minute_and_by_warehouse_if_terminals_make_pauses() {
        let rate = |pauses, new_order| {
            let simulation = Simulation::counts(&[10; 10]).with(|point| {
                point.traits.work.orders = Some(OrderWork { warehouses: 4, pauses, new_order: OpKind(new_order) });
            });
            new_orders(&simulation).expect("order entry")
        };
        let found = rate(0.0, 0);
        assert_eq!((found.per_minute, found.per_minute_and_warehouse), (600.0, None));
        assert!(found.per_minute_ci95.is_some_and(|[low, high]| low <= 600.0 && high >= 600.0));
        assert_eq!(rate(1.0, 0).per_minute_and_warehouse, Some(150.0));
        assert_eq!(rate(0.0, 1).per_minute, 0.0, "operations of other kinds");
        assert_eq!(new_orders(&Simulation::counts(&[10; 10])), None);
    }
}
