//! Moments at equal distances.
//!
//! In: the moments of events. Out: their [`Period`]. Limits: if one event of a regular series is missing, no period is found; fewer
//! than three moments have none.

use crate::stats::median;

// Gaps that differ by less than this from their median make a period.
const SPREAD_MAX: f64 = 0.2;
const MOMENTS_MIN: usize = 3;

/// The distance of events that come regularly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// The median gap, from one beginning to the next.
    pub gap_s: f64,
    /// Half the range of the gaps.
    pub spread_s: f64,
}

/// The period of at least three moments, if the gaps between them are regular.
pub fn find_period(moments: &[f64]) -> Option<Period> {
    if moments.len() < MOMENTS_MIN {
        return None;
    }
    let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = median(&gaps)?;
    let (least, most) = gaps.iter().fold((f64::MAX, 0f64), |(least, most), gap| (least.min(*gap), most.max(*gap)));
    let spread = (most - least) / 2.0;
    (spread <= SPREAD_MAX * usual).then_some(Period { gap_s: usual, spread_s: spread })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Random;

    #[test]
    fn equal_distances_are_a_period_and_others_are_none() {
        assert_eq!(find_period(&[5.0, 25.0, 45.5, 65.0]), Some(Period { gap_s: 20.0, spread_s: 0.5 }));
        assert_eq!(find_period(&[5.0, 9.0, 40.0, 77.0, 81.0]), None);
        assert_eq!(find_period(&[5.0, 25.0]), None);
    }

    #[test]
    fn five_moments_at_random_have_a_period_in_three_percent_of_cases_at_most() {
        let regular = (0..2_000).filter(|seed| {
            let mut random = Random::new(*seed);
            let mut moments: Vec<f64> = (0..5).map(|_| random.uniform()).collect();
            moments.sort_by(f64::total_cmp);
            find_period(&moments).is_some()
        });
        let regular = regular.count();
        assert!(regular <= 60, "{regular} of 2000");
    }
}
