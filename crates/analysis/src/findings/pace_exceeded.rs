//! Finds more new orders than the terminals of a warehouse can enter with their keying and think times.
//!
//! In: new orders and the length of the phase, the warehouses, the factor of the pauses. Out: an error. Limits: the most is reached if the
//! system answers at once and each warehouse has ten terminals; chance may exceed it by a little, which is allowed for.

use super::{Detects, Finding, FindingKind};
use crate::evidence::PointView;
use crate::judgement::{NextStep, Severity};
use crate::numbers::order_rates::OrderRates;
use serde::Serialize;
use words::quantity::{number, range};

/// More new orders than the terminals of a warehouse can enter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExceededPace {
    /// New orders of a warehouse per minute.
    pub per_minute_and_warehouse: f64,
    /// The most that ten terminals can enter.
    pub most_per_minute_and_warehouse: f64,
}

/// Standard deviations above the most that chance may reach.
const DEVIATIONS: f64 = 5.0;

fn detect(view: &PointView) -> Vec<Finding> {
    let found = view.measured.and_then(|measured| {
        let rates = OrderRates::of(view.point, measured.window)?;
        let most = rates.most_per_minute_and_warehouse?;
        // Pauses vary less than those of a Poisson process, whose number of events has itself as its variance.
        let expected = most * rates.warehouses as f64 * rates.minutes;
        let is_exceeded = rates.new_orders > expected + DEVIATIONS * expected.sqrt();
        let per_minute_and_warehouse = rates.per_minute_and_warehouse();
        is_exceeded.then_some(ExceededPace { per_minute_and_warehouse, most_per_minute_and_warehouse: most })
    });
    let finding = |pace| Finding::new(Severity::Error, pace).next(NextStep::FewerTerminals);
    found.map(finding).into_iter().collect()
}

impl FindingKind for ExceededPace {
    const SEVERITIES: &'static [Severity] = &[Severity::Error];
    const DETECTS: Detects = Detects::Point(detect);
    const REASON: &'static str = "entered more new orders than its terminals can";

    fn title(alike: &[&Self]) -> String {
        let found = range(alike, |one| one.per_minute_and_warehouse, number);
        let most = range(alike, |one| one.most_per_minute_and_warehouse, number);
        format!("{found} new orders a minute and warehouse; ten terminals enter {most} at most")
    }

    fn evidence(&self) -> String {
        let [found, most] = [self.per_minute_and_warehouse, self.most_per_minute_and_warehouse].map(number);
        format!("{found} of at most {most} a minute and warehouse")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Simulation;
    use model::{OpKind, OrderWork};

    /// Ten intervals of one second with so many new orders each.
    fn entered(each: u64, pauses: f64) -> Simulation {
        Simulation::counts(&[each; 10]).with(|point| {
            point.traits.work.orders = Some(OrderWork { warehouses: 100, pauses, new_order: OpKind(0) });
        })
    }

    #[test]
    fn more_than_ten_terminals_can_enter_is_wrong_and_what_they_can_is_not() {
        // 100 warehouses can enter 21.4 a second.
        assert!(entered(21, 1.0).findings("pace-exceeded").is_empty());
        assert_eq!(entered(40, 1.0).finding("pace-exceeded").severity, Severity::Error);
        let found: ExceededPace = entered(40, 1.0).figures();
        assert!((found.most_per_minute_and_warehouse - 12.86).abs() < 0.01);
        assert!((found.per_minute_and_warehouse - 24.0).abs() < 0.5, "{found:?}");
        // With a tenth of the pauses ten times as many are possible, and without them any number.
        assert!(entered(40, 0.1).findings("pace-exceeded").is_empty());
        assert!(entered(40_000, 0.0).findings("pace-exceeded").is_empty());
    }
}
