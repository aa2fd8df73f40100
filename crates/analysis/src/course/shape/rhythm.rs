//! Moments at equal distances.
//!
//! In: the moments of events. Out: their [`Period`]. Limits: the events may come a quarter of the period too early or too late, and one of
//! five may be missing if there are many; fewer than three moments have no period. A gap that is two periods long counts as two.

use crate::math::stats::median;

/// Gaps that differ by less than this from each other make a period.
const SPREAD_MAX: f64 = 0.2;
/// Of five gaps at random all are equal to that degree in one case of three hundred: they may differ more.
const SPREAD_OF_MANY_MAX: f64 = 0.3;
const MANY_MOMENTS: usize = 6;
const MOMENTS_MIN: usize = 3;
/// So many of the events of a long regular series may be missing.
const MISSING_SHARE_MAX: f64 = 0.2;

/// The distance of events that come regularly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// The mean gap, from one beginning to the next.
    pub gap_s: f64,
    /// Half the range of the gaps.
    pub spread_s: f64,
}

/// The period of at least three moments in rising order, if the gaps between them are regular.
pub fn find_period(moments: &[f64]) -> Option<Period> {
    if moments.len() < MOMENTS_MIN {
        return None;
    }
    let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = median(&gaps).filter(|usual| *usual > 0.0)?;
    let is_many = moments.len() >= MANY_MOMENTS;
    let (spread_max, missing_max) = if is_many { (SPREAD_OF_MANY_MAX, MISSING_SHARE_MAX) } else { (SPREAD_MAX, 0.0) };
    let cycles: Vec<f64> = gaps.iter().map(|gap| if is_many { (gap / usual).round().max(1.0) } else { 1.0 }).collect();
    let all: f64 = cycles.iter().sum();
    // From the first to the last: early and late events in between do not move it.
    let gap_s = (moments[moments.len() - 1] - moments[0]) / all;
    let each = gaps.iter().zip(&cycles).map(|(gap, cycles)| gap / cycles);
    let (least, most) = each.fold((f64::MAX, 0f64), |(least, most), gap| (least.min(gap), most.max(gap)));
    let spread_s = (most - least) / 2.0;
    let is_regular = spread_s <= spread_max * gap_s && all - gaps.len() as f64 <= missing_max * all;
    is_regular.then_some(Period { gap_s, spread_s })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Random;

    #[test]
    fn equal_distances_are_a_period_and_others_are_none() {
        assert_eq!(find_period(&[5.0, 25.0, 45.5, 65.0]), Some(Period { gap_s: 20.0, spread_s: 0.5 }));
        assert_eq!(find_period(&[5.0, 9.0, 40.0, 77.0, 81.0]), None);
        assert_eq!(find_period(&[5.0, 25.0]), None);
    }

    #[test]
    fn one_of_six_may_be_missing_and_one_of_five_may_not() {
        assert_eq!(find_period(&[0.0, 20.0, 40.0, 80.0, 100.0, 120.0]), Some(Period { gap_s: 20.0, spread_s: 0.0 }));
        assert_eq!(find_period(&[0.0, 20.0, 40.0, 80.0, 100.0]), None);
    }

    #[test]
    fn six_events_of_which_each_is_a_tenth_early_or_late_have_their_period() {
        let found = (0..1_000).filter(|seed| {
            let mut random = Random::new(*seed);
            let moments: Vec<f64> =
                (0..6).map(|nth| 1_200.0 * (f64::from(nth) + 0.2 * (random.uniform() - 0.5))).collect();
            find_period(&moments).is_some_and(|period| (period.gap_s / 1_200.0 - 1.0).abs() < 0.04)
        });
        let found = found.count();
        assert!(found >= 970, "{found} of 1000");
    }

    #[test]
    fn moments_at_random_have_a_period_in_three_percent_of_cases_at_most() {
        for count in [5, 6, 8, 12] {
            let regular = (0..2_000).filter(|seed| {
                let mut random = Random::new(*seed);
                let mut moments: Vec<f64> = (0..count).map(|_| random.uniform()).collect();
                moments.sort_by(f64::total_cmp);
                find_period(&moments).is_some()
            });
            let regular = regular.count();
            assert!(regular <= 60, "{count} moments: {regular} of 2000");
        }
    }
}
