//! Compares draws with the law that they should follow.
//!
//! In: the places that were drawn, a law. Out: the share of the draws on the most popular places, the places that were hit at all,
//! the most hit ones, and Pearson's chi-square test.
//!
//! Limits: up to [`EXACT_MAX`] places each is looked at by itself. Above, neighbours whose probabilities differ by a few percent at
//! most are looked at together; the most hit places are exact in any case. Counting takes 4 bytes a place, or 8 bytes a draw above
//! [`DENSE_MAX`] places.

use std::ops::Range;

/// Up to so many places each is looked at by itself.
pub const EXACT_MAX: u64 = 1_000_000;
/// Above so many places the draws are kept, not a count for each place.
pub const DENSE_MAX: u64 = 100_000_000;

/// Counts how often each place is drawn.
#[derive(Clone, Debug)]
pub struct DrawCounter(PlaceCounts);

#[derive(Clone, Debug)]
enum PlaceCounts {
    /// One for each place.
    Dense(Vec<u32>),
    /// The places that were drawn, each as often as it was; sorted when the draws are over.
    Sparse(Vec<u64>),
}

impl DrawCounter {
    /// For so many draws of `places` places. A place that is drawn more than 2^32 - 1 times stays at that.
    pub fn new(places: u64, draws: u64) -> DrawCounter {
        DrawCounter(if places <= DENSE_MAX {
            PlaceCounts::Dense(vec![0; places as usize])
        } else {
            PlaceCounts::Sparse(Vec::with_capacity(draws as usize))
        })
    }

    /// Counts one draw of `place`.
    pub fn count_draw(&mut self, place: u64) {
        match &mut self.0 {
            PlaceCounts::Dense(counts) => counts[place as usize] = counts[place as usize].saturating_add(1),
            PlaceCounts::Sparse(drawn) => drawn.push(place),
        }
    }

    /// The draws are over.
    pub fn finish(mut self) -> DrawCounts {
        if let PlaceCounts::Sparse(drawn) = &mut self.0 {
            drawn.sort_unstable();
        }
        DrawCounts(self.0)
    }
}

/// How often each place was drawn.
#[derive(Clone, Debug)]
pub struct DrawCounts(PlaceCounts);

impl DrawCounts {
    /// The count of each place, in order; `None` if the draws were kept instead.
    pub fn dense(&self) -> Option<&[u32]> {
        match &self.0 {
            PlaceCounts::Dense(counts) => Some(counts),
            PlaceCounts::Sparse(_) => None,
        }
    }

    /// How many draws fell on `places`.
    pub fn hits_in(&self, places: Range<u64>) -> u64 {
        match &self.0 {
            PlaceCounts::Dense(counts) => {
                counts[places.start as usize..places.end as usize].iter().map(|hits| u64::from(*hits)).sum()
            }
            PlaceCounts::Sparse(drawn) => {
                let [start, end] =
                    [places.start, places.end].map(|place| drawn.partition_point(|drawn| *drawn < place));
                (end - start) as u64
            }
        }
    }

    /// How many places were drawn at all.
    pub fn count_distinct(&self) -> u64 {
        let mut distinct = 0;
        self.for_each_place(|_, _| distinct += 1);
        distinct
    }

    /// The `most` places that were drawn most often, with their hits; equal ones in order.
    pub fn most_hit(&self, most: usize) -> Vec<(u64, u64)> {
        let mut best: Vec<(u64, u64)> = Vec::with_capacity(most + 1);
        self.for_each_place(|place, hits| {
            if best.len() == most && best.last().is_none_or(|(_, least)| hits <= *least) {
                return;
            }
            best.insert(best.partition_point(|(_, better)| *better >= hits), (place, hits));
            best.truncate(most);
        });
        best
    }

    /// Each place that was drawn, in order, with its hits.
    fn for_each_place(&self, mut take: impl FnMut(u64, u64)) {
        match &self.0 {
            PlaceCounts::Dense(counts) => {
                let hit = (0u64..).zip(counts).filter(|(_, hits)| **hits > 0);
                hit.for_each(|(place, hits)| take(place, u64::from(*hits)));
            }
            PlaceCounts::Sparse(drawn) => {
                drawn.chunk_by(|a, b| a == b).for_each(|equal| take(equal[0], equal.len() as u64));
            }
        }
    }
}

/// Neighbouring places of about equal probability.
#[derive(Clone, Debug, PartialEq)]
struct LawPart {
    places: Range<u64>,
    /// The probability that a draw falls on one of them.
    probability: f64,
}

impl LawPart {
    fn width(&self) -> f64 {
        (self.places.end - self.places.start) as f64
    }

    fn density(&self) -> f64 {
        self.probability / self.width()
    }
}

/// Draws, and what their law expects of them.
pub struct LawComparison<'a> {
    counts: &'a DrawCounts,
    draws: u64,
    /// The most popular first. Those that differ by the rounding of the law only are in the order of their places.
    parts: Vec<LawPart>,
}

impl LawComparison<'_> {
    /// `draws` draws of `places` places, and the law that they should follow.
    pub fn new<'a>(counts: &'a DrawCounts, places: u64, draws: u64, law: &dyn Fn(u64) -> f64) -> LawComparison<'a> {
        let mut parts = if places <= EXACT_MAX { single_places(places, law) } else { split_places(places, draws, law) };
        // As 32-bit numbers, so that places of equal probability stay in order in spite of the rounding of the law.
        parts.sort_by(|a, b| (b.density() as f32).total_cmp(&(a.density() as f32)));
        LawComparison { counts, draws, parts }
    }

    /// The shares of the draws that fell on the `places` most popular places, and that the law expects there.
    pub fn share_of_popular(&self, places: u64) -> (f64, f64) {
        let (mut left, mut hits, mut probability) = (places, 0, 0.0);
        for part in &self.parts {
            let taken = left.min(part.places.end - part.places.start);
            hits += self.counts.hits_in(part.places.start..part.places.start + taken);
            probability += part.density() * taken as f64;
            left -= taken;
            if left == 0 {
                break;
            }
        }
        (hits as f64 / self.draws as f64, probability)
    }

    /// How many places the law expects to be drawn at all.
    pub fn distinct_expected(&self) -> f64 {
        self.parts.iter().map(|part| part.width() * probability_of_a_hit(part.density(), self.draws)).sum()
    }

    /// Pearson's chi-square test: popular places by themselves, the others together until 100 draws are expected in a group; `None`
    /// for less than two groups.
    pub fn chi_square(&self) -> Option<ChiSquareFit> {
        const EXPECTED_MIN: f64 = 100.0;
        let (mut groups, mut group) = (Vec::new(), (0.0, 0.0));
        for part in &self.parts {
            let hits = self.counts.hits_in(part.places.clone()) as f64;
            group = (group.0 + hits, group.1 + part.probability * self.draws as f64);
            if group.1 >= EXPECTED_MIN {
                groups.push(std::mem::take(&mut group));
            }
        }
        // The rest is too small for a group of its own: the test needs enough expected draws in each.
        let last = groups.last_mut()?;
        *last = (last.0 + group.0, last.1 + group.1);
        let chi_square = groups.iter().map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
        let freedom = groups.len() as u32 - 1;
        (freedom > 0).then_some(ChiSquareFit { chi_square, freedom })
    }
}

/// The probability that a place of this probability is drawn at all.
fn probability_of_a_hit(probability: f64, draws: u64) -> f64 {
    -(draws as f64 * (-probability.min(1.0)).ln_1p()).exp_m1()
}

fn single_places(places: u64, law: &dyn Fn(u64) -> f64) -> Vec<LawPart> {
    let mut below = 0.0;
    let mut parts = Vec::with_capacity(places as usize);
    for place in 0..places {
        let before = std::mem::replace(&mut below, law(place + 1));
        // A law is a sum of rounded terms: its difference may come out a little below zero.
        parts.push(LawPart { places: place..place + 1, probability: (below - before).max(0.0) });
    }
    parts
}

/// Halves the places until the halves are alike and few draws are expected in them, or the rest is too rare to matter.
fn split_places(places: u64, draws: u64, law: &dyn Fn(u64) -> f64) -> Vec<LawPart> {
    /// Halves are alike that differ by less than this share of their mean.
    const UNLIKE: f64 = 0.02;
    // Few enough for the chi-square test, and a million parts at most.
    let probable = 200.0 / draws.min(200_000_000) as f64;
    // A tenth of a draw is expected there.
    let rare = 0.1 / draws as f64;
    let (mut parts, mut left) = (Vec::new(), vec![(0, places, 0.0, law(places))]);
    while let Some((first, end, below, until)) = left.pop() {
        let part = LawPart { places: first..end, probability: (until - below).max(0.0) };
        let middle = first + (end - first) / 2;
        let at_middle = law(middle);
        let halves = [(first, middle, below, at_middle), (middle, end, at_middle, until)];
        let [a, b] = halves.map(|(first, end, below, until)| (until - below) / (end - first).max(1) as f64);
        let unlike = (a - b).abs() > UNLIKE * part.density() && part.probability > rare;
        if end - first > 1 && (unlike || part.probability > probable) {
            left.extend(halves);
        } else {
            parts.push(part);
        }
    }
    parts.sort_unstable_by_key(|part| part.places.start);
    parts
}

/// The result of Pearson's chi-square test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquareFit {
    /// The sum of (hits - expected)^2 / expected.
    pub chi_square: f64,
    /// Its degrees of freedom.
    pub freedom: u32,
}

/// Whether draws follow their law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitVerdict {
    /// As chance makes it.
    Fits,
    /// Chance alone makes such differences less than once in a thousand times.
    DoesNotFit,
    /// Chance alone makes so small differences less than once in a thousand times.
    TooGood,
}

impl ChiSquareFit {
    /// The chi-square as standard deviations from what chance alone makes: Wilson and Hilferty 1931, "The distribution of
    /// chi-square", PNAS 17: the cube root of chi-square / freedom is nearly normal.
    pub fn sigmas(&self) -> f64 {
        let variance = 2.0 / (9.0 * f64::from(self.freedom));
        ((self.chi_square / f64::from(self.freedom)).cbrt() - (1.0 - variance)) / variance.sqrt()
    }

    /// What that means. Chance alone goes beyond 3.3 standard deviations once in a thousand times.
    pub fn verdict(&self) -> FitVerdict {
        match self.sigmas() {
            sigmas if sigmas > 3.3 => FitVerdict::DoesNotFit,
            sigmas if sigmas < -3.3 => FitVerdict::TooGood,
            _ => FitVerdict::Fits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{DISTRIBUTIONS, Distribution, DistributionDef, client_rng};

    fn drawn(distribution: &Distribution, places: u64, draws: u64) -> DrawCounts {
        let (mut counter, mut rng) = (DrawCounter::new(places, draws), client_rng(1, 0));
        (0..draws).for_each(|_| counter.count_draw(distribution.place_of(distribution.draw(&mut rng))));
        counter.finish()
    }

    fn default_of(def: &DistributionDef, places: u64) -> Distribution {
        (def.make)(places, &def.entry.with_defaults(&[]))
    }

    #[test]
    fn sigmas_of_0_are_the_middle_of_chi_square_and_of_3_its_thousandth_at_the_top() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4: for 100 degrees of freedom.
        let sigmas = |chi_square| ChiSquareFit { chi_square, freedom: 100 }.sigmas();
        assert!((sigmas(118.498) - 1.2816).abs() < 0.01 && (sigmas(149.449) - 3.0902).abs() < 0.01);
        assert!(sigmas(99.334).abs() < 0.01);
        assert_eq!(ChiSquareFit { chi_square: 200.0, freedom: 100 }.verdict(), FitVerdict::DoesNotFit);
        assert_eq!(ChiSquareFit { chi_square: 40.0, freedom: 100 }.verdict(), FitVerdict::TooGood);
    }

    /// Few places, each by itself; places in parts; and places of which only the draws are kept.
    #[test]
    fn every_distribution_fits_its_law_and_the_most_popular_places_get_what_it_says() {
        const DRAWS: u64 = 200_000;
        for (def, places) in DISTRIBUTIONS.iter().flat_map(|def| [10_000, 3_000_000, 1 << 40].map(|n| (def, n))) {
            let (name, distribution) = (def.entry.name, default_of(def, places));
            let counts = drawn(&distribution, places, DRAWS);
            let comparison = LawComparison::new(&counts, places, DRAWS, &*distribution.law());
            let fit = comparison.chi_square().expect("enough draws");
            assert_eq!(fit.verdict(), FitVerdict::Fits, "{name} of {places}: {}", fit.sigmas());
            for popular in [1, 100, places / 100, places / 5, places / 2, places] {
                let (drawn, expected) = comparison.share_of_popular(popular);
                let sigma = (expected * (1.0 - expected).max(0.0) / DRAWS as f64).sqrt();
                assert!((drawn - expected).abs() < 5.0 * sigma + 1e-5, "{name}: {popular} of {places}");
            }
            // A place more or less is hit with the variance of its probability at most, and places are not positively correlated.
            let (distinct, expected) = (counts.count_distinct() as f64, comparison.distinct_expected());
            assert!((distinct - expected).abs() < 5.0 * expected.sqrt() + 1e-3 * expected, "{name} of {places}");
        }
    }

    #[test]
    fn draws_of_another_law_do_not_fit() {
        for places in [10_000, 1 << 40] {
            let [zipf, uniform] =
                ["zipf", "uniform"].map(|name| default_of(crate::distribution::find(name).unwrap(), places));
            let counts = drawn(&zipf, places, 100_000);
            let comparison = LawComparison::new(&counts, places, 100_000, &*uniform.law());
            assert_eq!(comparison.chi_square().unwrap().verdict(), FitVerdict::DoesNotFit);
        }
    }

    #[test]
    fn draws_that_are_kept_count_as_those_that_are_counted() {
        let drawn = [7, 3, 7, 9, 3, 7];
        let [mut dense, mut sparse] = [DrawCounter::new(10, 6), DrawCounter::new(DENSE_MAX + 1, 6)];
        drawn
            .iter()
            .for_each(|place| [&mut dense, &mut sparse].into_iter().for_each(|counter| counter.count_draw(*place)));
        let [dense, sparse] = [dense, sparse].map(DrawCounter::finish);
        assert!(dense.dense().is_some() && sparse.dense().is_none());
        for counts in [dense, sparse] {
            assert_eq!((counts.count_distinct(), counts.hits_in(0..8), counts.hits_in(7..8)), (3, 5, 3));
            assert_eq!(counts.most_hit(2), [(7, 3), (3, 2)]);
        }
    }

    #[test]
    fn one_place_and_one_draw_are_no_test() {
        let distribution = default_of(crate::distribution::find("special").unwrap(), 1);
        let counts = drawn(&distribution, 1, 1);
        let comparison = LawComparison::new(&counts, 1, 1, &*distribution.law());
        assert_eq!((comparison.chi_square(), comparison.share_of_popular(1)), (None, (1.0, 1.0)));
    }

    #[test]
    fn the_parts_of_a_law_cover_all_places_once_and_are_not_too_many() {
        for def in DISTRIBUTIONS {
            let (places, draws) = (1u64 << 40, 1_000_000);
            let parts = split_places(places, draws, &*default_of(def, places).law());
            assert!(parts.len() < 100_000, "{}: {}", def.entry.name, parts.len());
            assert_eq!((parts[0].places.start, parts.last().unwrap().places.end), (0, places));
            assert!(parts.windows(2).all(|pair| pair[0].places.end == pair[1].places.start));
        }
    }
}
