//! Values to positions between 0 and 1, and the ticks that make them readable.
//!
//! In: an axis and its data's least and greatest value. Out: positions and labelled ticks.
//! Limits: ticks are 1, 2 or 5 times a power of ten; a long time axis uses minutes, or hours.

use crate::figure::{Axis, AxisScale, AxisUnit, HOURS_FROM_S, MINUTES_FROM_S};
use crate::numbers::{plain_number, short_number, short_time};

/// An axis with its range decided.
#[derive(Clone, Debug)]
pub struct ScaledAxis<'a> {
    axis: &'a Axis,
    /// The least value on the axis.
    pub low: f64,
    pub high: f64,
}

/// A labelled place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisTick {
    /// From 0 to 1.
    pub position: f64,
    /// What is written there.
    pub label: String,
}

impl<'a> ScaledAxis<'a> {
    /// The range of a y axis: from 0 on a linear scale, round limits on a logarithmic one.
    pub fn for_y(axis: &'a Axis, data: Option<(f64, f64)>) -> Self {
        let (low, high) = axis.range.or(data).unwrap_or((1.0, 1.0));
        match axis.scale {
            AxisScale::Log | AxisScale::LogAt(_) => {
                // A tenth of room, so that no line lies on the axis.
                let low = round_down(0.9 * low.max(f64::MIN_POSITIVE));
                ScaledAxis { axis, low, high: round_up(high.max(low * 1.01)) }
            }
            _ if axis.range.is_some() => ScaledAxis { axis, low, high },
            // Some room above the greatest value, so that a line does not touch the upper edge.
            _ => ScaledAxis { axis, low: low.min(0.0), high: if high > 0.0 { high * 1.06 } else { 1.0 } },
        }
    }

    /// The range of an x axis: that of the data, with room at both ends of a scale with named or listed places.
    pub fn for_x(axis: &'a Axis, data: Option<(f64, f64)>) -> Self {
        let (low, high) = axis.range.or(data).unwrap_or((0.0, 1.0));
        match &axis.scale {
            AxisScale::Slots(names) => ScaledAxis { axis, low: -0.5, high: (names.len().max(1) as f64) - 0.5 },
            AxisScale::Log | AxisScale::LogAt(_) => {
                let low = low.max(f64::MIN_POSITIVE);
                ScaledAxis { axis, low: low / 1.12, high: high.max(low) * 1.12 }
            }
            // A single value needs a range, too: positions divide by it.
            AxisScale::Linear | AxisScale::Tail => {
                ScaledAxis { axis, low, high: if high > low { high } else { low + 1.0 } }
            }
        }
    }

    /// The place of `value`: 0 at the low end, 1 at the high end. Not finite if the scale has no place for it.
    pub fn position(&self, value: f64) -> f64 {
        let (low, high) = (self.transform(self.low), self.transform(self.high));
        (self.transform(value) - low) / (high - low)
    }

    /// `value` on a scale of equal distances.
    fn transform(&self, value: f64) -> f64 {
        match self.axis.scale {
            AxisScale::Linear | AxisScale::Slots(_) => value,
            AxisScale::Log | AxisScale::LogAt(_) => value.log10(),
            AxisScale::Tail => -(1.0 - value / 100.0).log10(),
        }
    }

    /// About `want` ticks.
    pub fn ticks(&self, want: usize) -> Vec<AxisTick> {
        let values = match &self.axis.scale {
            AxisScale::Slots(names) => return self.slot_ticks(names),
            AxisScale::Tail => [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999].into(),
            AxisScale::LogAt(values) => values.clone(),
            AxisScale::Log => log_ticks(self.low, self.high, want),
            AxisScale::Linear => linear_ticks(self.low, self.high, want, self.axis.unit),
        };
        let ticks = values.into_iter().map(|v| AxisTick { position: self.position(v), label: self.tick_label(v) });
        // A tick at either end of the axis may lie outside of it by the rounding of its position.
        ticks.filter(|tick| (-1e-9..=1.0 + 1e-9).contains(&tick.position)).collect()
    }

    /// About `want` ticks of the second scale, in MB; none if the axis has no such scale.
    pub fn second_ticks(&self, want: usize) -> Vec<AxisTick> {
        let AxisUnit::CountOf(bytes) = self.axis.unit else { return Vec::new() };
        let mb = f64::from(bytes.max(1)) / 1e6;
        let values = linear_ticks(self.low * mb, self.high * mb, want, AxisUnit::Count);
        let ticks = values.into_iter().map(|v| AxisTick { position: self.position(v / mb), label: short_number(v) });
        ticks.collect()
    }

    fn slot_ticks(&self, names: &[String]) -> Vec<AxisTick> {
        let named = names.iter().enumerate();
        named.map(|(i, name)| AxisTick { position: self.position(i as f64), label: name.clone() }).collect()
    }

    fn tick_label(&self, value: f64) -> String {
        match self.axis.unit {
            AxisUnit::Nanos => short_time(value),
            AxisUnit::Percent => format!("{} %", plain_number(value)),
            AxisUnit::Seconds if value == 0.0 => "0".to_owned(),
            AxisUnit::Seconds if self.high - self.low > HOURS_FROM_S => format!("{} h", plain_number(value / 3_600.0)),
            AxisUnit::Seconds if self.high - self.low > MINUTES_FROM_S => format!("{} min", plain_number(value / 60.0)),
            AxisUnit::Seconds => plain_number(value),
            AxisUnit::Count | AxisUnit::CountOf(_) => short_number(value),
        }
    }
}

fn linear_ticks(low: f64, high: f64, want: usize, unit: AxisUnit) -> Vec<f64> {
    let rough = (high - low) / want.max(1) as f64;
    let step = match unit {
        AxisUnit::Seconds if high - low > MINUTES_FROM_S => {
            let minutes = [60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0];
            minutes.into_iter().find(|s| *s >= rough).unwrap_or_else(|| (rough / 3_600.0).ceil() * 3_600.0)
        }
        _ => round_up(rough),
    };
    // Multiplied and not added up, so that the rounding does not grow from tick to tick.
    let (first, last) = ((low / step).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// 1, 2 and 5 times the decades, else 1 and 3 times, else the decades, else some of them: as many as are wanted at most. If the range has
/// no two of them, multiples of a round step.
fn log_ticks(low: f64, high: f64, want: usize) -> Vec<f64> {
    const FACTORS: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    // One tick alone does not show a scale.
    let most = want.max(2);
    let choices = FACTORS.map(|factors| multiples_of_decades(low, high, factors));
    if let Some(fitting) = choices.iter().find(|ticks| (2..=most).contains(&ticks.len())) {
        return fitting.clone();
    }
    let [.., decades] = choices;
    // Less than a decade: equal steps.
    if decades.len() < 2 {
        return linear_ticks(low, high, most, AxisUnit::Count);
    }
    let every = decades.len().div_ceil(most).max(1);
    decades.into_iter().step_by(every).collect()
}

fn multiples_of_decades(low: f64, high: f64, factors: &[f64]) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let all = (first..=last).flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e)));
    all.filter(|v| (low * 0.999..=high * 1.001).contains(v)).collect()
}

/// The least 1, 2 or 5 times a power of ten that is not below `value`.
fn round_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.into_iter().map(|s| s * decade).find(|s| *s >= value * 0.999_999).unwrap_or(10.0 * decade)
}

/// The greatest 1, 2 or 5 times a power of ten that is not above `value`.
fn round_down(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let steps = [5.0, 2.0, 1.0];
    steps.into_iter().map(|s| s * decade).find(|s| *s <= value * 1.000_001).unwrap_or(decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_axis() -> Axis {
        Axis::from_zero("per second", AxisUnit::Count)
    }

    fn labels(axis: &Axis, data: (f64, f64), want: usize) -> Vec<String> {
        ScaledAxis::for_y(axis, Some(data)).ticks(want).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn linear_axes_begin_at_zero_and_step_by_one_two_or_five() {
        assert_eq!(labels(&rate_axis(), (8_000.0, 9_000.0), 4), ["0", "5k"]);
        assert_eq!(labels(&rate_axis(), (0.0, 9_000.0), 5), ["0", "2k", "4k", "6k", "8k"]);
    }

    #[test]
    fn logarithmic_axes_begin_and_end_at_round_values() {
        assert_eq!(labels(&Axis::nanos("t"), (130e3, 1.7e6), 8), ["100 us", "200 us", "500 us", "1 ms", "2 ms"]);
        assert_eq!(
            labels(&Axis::nanos("t"), (1.3e3, 1.7e9), 9),
            ["1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"]
        );
    }

    #[test]
    fn a_logarithmic_axis_of_less_than_a_decade_has_labels_too() {
        let axis = Axis { label: String::new(), scale: AxisScale::Log, unit: AxisUnit::Count, range: None };
        let shown = |low: f64, high: f64| -> Vec<String> {
            ScaledAxis::for_x(&axis, Some((low, high))).ticks(6).into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(shown(29_090.0, 58_170.0), ["30k", "40k", "50k", "60k"]);
        assert_eq!(shown(205_400.0, 207_600.0).len(), 5);
        assert_eq!(shown(100.0, 900.0), ["100", "200", "500", "1k"]);
    }

    #[test]
    fn each_further_nine_takes_the_same_distance() {
        let axis =
            Axis { label: String::new(), scale: AxisScale::Tail, unit: AxisUnit::Percent, range: Some((0.0, 99.99)) };
        let ticks = ScaledAxis::for_x(&axis, None).ticks(9);
        let at = |label: &str| ticks.iter().find(|t| t.label == label).map(|t| t.position).unwrap();
        assert!(
            (at("90 %") - 0.25).abs() < 1e-9 && (at("99 %") - 0.5).abs() < 1e-9 && (at("99.99 %") - 1.0).abs() < 1e-9
        );
    }

    #[test]
    fn long_time_axes_use_minutes_and_longer_ones_hours() {
        let shown = |seconds: f64| -> Vec<String> {
            let axis = Axis::seconds("it began", (0.0, seconds));
            ScaledAxis::for_x(&axis, None).ticks(6).into_iter().map(|t| t.label).collect()
        };
        assert_eq!(shown(3_600.0), ["0", "10 min", "20 min", "30 min", "40 min", "50 min", "60 min"]);
        assert_eq!(shown(18_000.0), ["0", "1 h", "2 h", "3 h", "4 h", "5 h"]);
        assert_eq!(shown(20.0), ["0", "5", "10", "15", "20"]);
    }

    #[test]
    fn the_second_scale_counts_the_same_in_mb() {
        let axis = Axis { unit: AxisUnit::CountOf(16_384), ..rate_axis() };
        let scaled = ScaledAxis::for_y(&axis, Some((0.0, 10_000.0)));
        let ticks = scaled.second_ticks(4);
        assert_eq!(ticks.iter().map(|t| t.label.as_str()).collect::<Vec<_>>(), ["0", "50", "100", "150"]);
        assert!((ticks[2].position - scaled.position(100e6 / 16_384.0)).abs() < 1e-9);
        assert!(ScaledAxis::for_y(&rate_axis(), Some((0.0, 10_000.0))).second_ticks(4).is_empty());
    }

    #[test]
    fn an_axis_without_data_still_has_ticks() {
        assert!(!labels(&rate_axis(), (0.0, 0.0), 4).is_empty());
        assert!(!ScaledAxis::for_y(&Axis::nanos("t"), None).ticks(4).is_empty());
    }
}
