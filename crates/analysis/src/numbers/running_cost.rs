//! What a point cost in money and in energy: per million operations, per GB, per year.
//!
//! In: what the machine costs per hour, as stated or as its counters of energy show it, and the rates of a point. Out: a [`RunningCost`].
//! Limits: the whole machine is charged to the point, idle or not. Nothing is guessed: without a price or a power there is no cost. Energy
//! that is measured is that of CPU and memory, without disks and fans.

use crate::recorded::counters::growth_of_all;
use crate::recorded::window::Window;
use model::{CounterRole, HOURS_PER_YEAR, PointData};
use serde::{Deserialize, Serialize};

const SECONDS_PER_HOUR: f64 = 3_600.0;
const WATTS_PER_KW: f64 = 1_000.0;
const GB: f64 = 1e9;

/// What a point cost. `None` if the price or the power is not known, or the point has no such rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunningCost {
    /// The price of the machine per hour.
    pub price_per_hour: Option<f64>,
    /// Money per million operations.
    pub per_million_ops: Option<f64>,
    /// Money per GB: of payload, or for inserts of data that the rows take on disk.
    pub per_gb: Option<f64>,
    /// Money per year of the machine.
    pub per_year: Option<f64>,
    /// The power of the machine: as stated, or the measured mean.
    pub watts: Option<f64>,
    /// Energy per million operations, in kWh.
    pub kwh_per_million_ops: Option<f64>,
    /// Energy per GB, as the money.
    pub kwh_per_gb: Option<f64>,
    /// Energy per year at this power, in kWh.
    pub kwh_per_year: Option<f64>,
}

impl RunningCost {
    /// The cost at these rates.
    pub fn at_rates(
        price_per_hour: Option<f64>,
        watts: Option<f64>,
        ops_per_s: Option<f64>,
        bytes_per_s: Option<f64>,
    ) -> RunningCost {
        let kw = watts.map(|watts| watts / WATTS_PER_KW);
        // Of a cost per hour, what so many of something take that is done at `per_s`.
        let share = |hourly: Option<f64>, many: f64, per_s: Option<f64>| {
            let per_s = per_s.filter(|rate| *rate > 0.0)?;
            Some(hourly? * many / (per_s * SECONDS_PER_HOUR))
        };
        RunningCost {
            price_per_hour,
            per_million_ops: share(price_per_hour, 1e6, ops_per_s),
            per_gb: share(price_per_hour, GB, bytes_per_s),
            per_year: price_per_hour.map(|price| price * HOURS_PER_YEAR),
            watts,
            kwh_per_million_ops: share(kw, 1e6, ops_per_s),
            kwh_per_gb: share(kw, GB, bytes_per_s),
            kwh_per_year: kw.map(|kw| kw * HOURS_PER_YEAR),
        }
    }

    /// Whether nothing is known.
    pub fn is_none(&self) -> bool {
        self.price_per_hour.is_none() && self.watts.is_none()
    }
}

/// The mean power over the run phase, by the machine's own counters.
pub(crate) fn measure_watts(point: &PointData, window: &Window) -> Option<f64> {
    let [start, end] = [window.phase.start, window.phase.end];
    growth_of_all(point, CounterRole::MachineEnergy, start, end).map(|growth| growth.per_second()).filter(|w| *w > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Simulation, run_of};
    use model::HourlyCost;

    const STATED: HourlyCost = HourlyCost { price: Some(0.36), watts: Some(100.0) };

    fn cost(simulation: Simulation, hourly: HourlyCost) -> RunningCost {
        let mut run = run_of(vec![simulation.point()], Vec::new());
        run.meta.machine.hourly = hourly;
        crate::analyse(&run).points[0].summary.as_ref().expect("it ran").cost.running
    }

    #[test]
    fn a_million_operations_cost_the_time_that_they_take() {
        // 1000/s: a million takes 1000 s, 0.2778 h.
        let found = cost(Simulation::counts(&[1000; 10]), STATED);
        let near = |value: Option<f64>, wanted: f64| assert!((value.unwrap() / wanted - 1.0).abs() < 1e-9, "{value:?}");
        near(found.per_million_ops, 0.1);
        near(found.kwh_per_million_ops, 0.1 * 1000.0 / 3600.0);
        near(found.per_year, 3153.6);
        near(found.kwh_per_year, 876.0);
    }

    #[test]
    fn nothing_is_guessed() {
        assert!(cost(Simulation::counts(&[1000; 10]), HourlyCost::default()).is_none());
        let priced = cost(Simulation::counts(&[1000; 10]), HourlyCost { watts: None, ..STATED });
        assert_eq!((priced.watts, priced.kwh_per_million_ops, priced.kwh_per_year), (None, None, None));
        let nothing_done = RunningCost::at_rates(Some(1.0), None, Some(0.0), None);
        assert_eq!((nothing_done.per_million_ops, nothing_done.per_gb), (None, None));
    }

    #[test]
    fn a_gb_is_of_payload() {
        let found = RunningCost::at_rates(Some(3.6), Some(1000.0), Some(1.0), Some(1e6));
        assert_eq!((found.per_gb, found.kwh_per_gb), (Some(1.0), Some(1e9 / 3.6e9)));
    }

    #[test]
    fn power_is_measured_by_the_counters_of_energy_unless_it_is_stated() {
        let with_energy = || {
            Simulation::counts(&[1000; 10]).source("power", &["energy_joules"], |s| vec![42.0 * s]).with(|point| {
                point.sources[0].counters[0].role = Some(CounterRole::MachineEnergy);
            })
        };
        let watts = cost(with_energy(), HourlyCost::default()).watts.expect("it was measured");
        assert!((watts - 42.0).abs() < 0.5, "{watts}");
        assert_eq!(cost(with_energy(), STATED).watts, Some(100.0));
    }
}
