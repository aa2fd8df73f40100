//! Which key is accessed: distributions over [0, n), the same for files, SQL and key-value engines.
//!
//! In: the number of keys and the distribution's arguments. Out: keys, one `draw` each, without allocation; and the law that they
//! follow, for tests and for people who want to see it.
//!
//! zipf ranks the keys (0 is the most popular) and scatters the ranks over them ([`crate::scatter`]): popular keys share no page
//! and no block. All others are defined on the keys themselves, most of them by sysbench or YCSB, and are left so: there popular
//! keys are neighbours, and a cache of pages holds more of them.
//!
//! Limits: keys are independent of each other and of time. Above n = 2^53 the non-uniform ones do not reach every key.
//!
//! A new distribution is one file (a [`DistributionDef`], a `Copy` type with a method `draw`, and its `HasLaw`) and one line at the
//! end of `distributions!`, which makes [`DISTRIBUTIONS`] and [`Distribution`] of it. A
//! draw in the hot path is a match and not a virtual call, so each distribution is a variant.

pub mod fit;
pub mod gaussian;
pub mod hotspot;
pub mod latest;
mod law;
pub mod pareto;
pub mod special;
pub mod uniform;
pub mod zipf;

pub use crate::random::{Rng, client_rng, client_rng_stream};

use model::{Access, DistributionEntry, Phrase};

/// How people say which keys are accessed.
pub(crate) const PHRASE: Phrase = Phrase::Words(&[
    ("uniform", "even access"),
    ("zipf:{}", "a Zipf law of {}"),
    ("latest:{}", "access to the newest"),
    ("{}", "the distribution {}"),
]);

/// Makes the slice of all distributions, and the enum of their types, from one line for each: `module::DEFINITION of Type`.
macro_rules! distributions {
    ($($module:ident::$definition:ident of $name:ident,)*) => {
        pub const DISTRIBUTIONS: &[&DistributionDef] = &[$(&$module::$definition,)*];

        /// A distribution over [0, n), ready to draw from.
        #[derive(Clone, Copy, Debug)]
        pub enum Distribution {
            $(#[doc = concat!("As the module `", stringify!($module), "` defines it.")]
            $name($module::$name),)*
        }

        impl Distribution {
            /// The next key, in [0, n).
            #[inline]
            pub fn draw(&self, rng: &mut Rng) -> u64 {
                match self {
                    $(Distribution::$name(own) => own.draw(rng),)*
                }
            }

            /// The key at `place` in the order in which the law is written, which must be below n.
            pub fn key_at(&self, place: u64) -> u64 {
                match self {
                    $(Distribution::$name(own) => HasLaw::key_at(own, place),)*
                }
            }

            /// The place of `key` in the order in which the law is written: the inverse of [`Distribution::key_at`]. Not for the hot path.
            pub fn place_of(&self, key: u64) -> u64 {
                match self {
                    $(Distribution::$name(own) => HasLaw::place_of(own, key),)*
                }
            }

            /// The law: gives the probability that a draw falls on a place below its argument.
            pub fn law(&self) -> Law {
                match self {
                    $(Distribution::$name(own) => own.law(),)*
                }
            }
        }
    };
}

distributions! {
    uniform::UNIFORM of Uniform,
    zipf::ZIPF of Zipf,
    gaussian::GAUSSIAN of Gaussian,
    special::SPECIAL of Special,
    pareto::PARETO of Pareto,
    latest::LATEST of Latest,
    hotspot::HOTSPOT of Hotspot,
}

/// One distribution: how it presents itself and how it is made.
pub struct DistributionDef {
    /// Name, help and arguments.
    pub entry: DistributionEntry,
    /// Arguments at which a test holds its draws against its law: the usual ones, and the ends.
    pub tested_at: &'static [&'static [f64]],
    /// Makes it over `n` keys (0 is taken as 1) with as many arguments as it declares. Takes constant time.
    pub make: fn(n: u64, args: &[f64]) -> Distribution,
}

/// The distribution of that name.
pub fn find(name: &str) -> Option<&'static DistributionDef> {
    DISTRIBUTIONS.iter().copied().find(|def| def.entry.name == name)
}

/// The distribution that `access` names, over `n` keys.
///
/// # Panics
/// If no distribution has that name: plans are checked before, so that is a bug.
pub fn from_access(access: &Access, n: u64) -> Distribution {
    let def = find(&access.name).unwrap_or_else(|| panic!("the plan let distribution `{}` pass", access.name));
    (def.make)(n, &def.entry.with_defaults(&access.args))
}

/// The probability that a draw falls on a place below the argument.
pub type Law = Box<dyn Fn(u64) -> f64>;

/// A distribution whose law is known.
trait HasLaw: Copy + 'static {
    /// The probability of a place below `place`, in the order in which the law is written.
    fn probability_below(&self, place: u64) -> f64;

    /// The same as a function. What is equal for all places is computed once if that takes long.
    fn law(self) -> Law {
        Box::new(move |place| self.probability_below(place))
    }

    /// The key at `place` in the order in which the law is written. Only zipf scatters: in the others the place is the key.
    fn key_at(&self, place: u64) -> u64 {
        place
    }

    /// The place of `key`: the inverse of `key_at`.
    fn place_of(&self, key: u64) -> u64 {
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Numbers;
    use proptest::prelude::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    const DRAWS: u64 = 100_000;

    fn first_draws(def: &DistributionDef, n: u64, seed: u64) -> Vec<u64> {
        let (distribution, mut rng) = ((def.make)(n, &def.entry.with_defaults(&[])), client_rng(seed, 0));
        (0..100).map(|_| distribution.draw(&mut rng)).collect()
    }

    /// Every argument at `share` of the way from its least to its most.
    fn args_at(def: &DistributionDef, share: f64) -> Vec<f64> {
        let at = |arg: &model::ArgDef| match (arg.min + share * (arg.max - arg.min), arg.numbers) {
            (value, Numbers::Real) => value,
            (value, Numbers::Whole) => value.round(),
        };
        def.entry.args.iter().map(at).collect()
    }

    /// The places that cut the law into parts of about equal probability, or all places if there are few.
    fn cuts(n: u64, law: &dyn Fn(u64) -> f64) -> Vec<u64> {
        const PARTS: u64 = 200;
        let first_reaching = |probability: f64| {
            let (mut low, mut high) = (0, n);
            while low < high {
                let middle = low + (high - low) / 2;
                if law(middle) < probability { low = middle + 1 } else { high = middle }
            }
            low
        };
        let mut cuts: Vec<u64> = if n <= PARTS {
            (1..=n).collect()
        } else {
            (1..PARTS).map(|i| first_reaching(i as f64 / PARTS as f64)).chain([n]).collect()
        };
        cuts.dedup();
        cuts
    }

    /// The probability of draws as unlike the law as these, or more.
    fn p_value(distribution: &Distribution, place_of: impl Fn(u64) -> u64, n: u64, seed: u64) -> f64 {
        let (law, mut rng) = (distribution.law(), client_rng(seed, 0));
        let cuts = cuts(n, &*law);
        let mut counts = vec![0u64; cuts.len()];
        for _ in 0..DRAWS {
            let place = place_of(distribution.draw(&mut rng));
            counts[cuts.partition_point(|cut| *cut <= place)] += 1;
        }
        p_of_counts(&*law, &cuts, &counts)
    }

    /// Pearson's chi-square test of what was counted up to each cut. Parts are taken together until at least 20 draws are expected
    /// in them, so that its approximation holds.
    fn p_of_counts(law: &dyn Fn(u64) -> f64, cuts: &[u64], counts: &[u64]) -> f64 {
        let draws: u64 = counts.iter().sum();
        let (mut parts, mut expected_before) = (vec![(0.0, 0.0)], 0.0);
        for (cut, count) in cuts.iter().zip(counts) {
            let expected = draws as f64 * law(*cut);
            let part = parts.last_mut().expect("there is one");
            *part = (part.0 + *count as f64, part.1 + expected - expected_before);
            if part.1 >= 20.0 {
                parts.push((0.0, 0.0));
            }
            expected_before = expected;
        }
        // What is left over is too little for a part of its own.
        let left = parts.pop().expect("there is one");
        let last = parts.last_mut().expect("at least 20 draws were expected");
        *last = (last.0 + left.0, last.1 + left.1);
        let chi_square: f64 = parts.iter().map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
        if parts.len() < 2 { 1.0 } else { 1.0 - ChiSquared::new((parts.len() - 1) as f64).unwrap().cdf(chi_square) }
    }

    /// The place of each key, by trying all: [`Distribution::key_at`] the other way round.
    fn places(distribution: &Distribution, n: u64) -> impl Fn(u64) -> u64 {
        let mut places = vec![0; n as usize];
        (0..n).for_each(|place| places[distribution.key_at(place) as usize] = place);
        move |key| places[key as usize]
    }

    #[test]
    fn a_hundred_thousand_draws_follow_the_law_for_few_and_many_keys() {
        for (def, args) in DISTRIBUTIONS.iter().map(|def| (def, def.tested_at)) {
            assert!(!args.is_empty(), "{}: name arguments in `tested_at`", def.entry.name);
            for (args, n) in args.iter().flat_map(|args| [1, 2, 3, 100, 5_000, 1_000_003].map(|n| (*args, n))) {
                let distribution = (def.make)(n, args);
                let p = p_value(&distribution, places(&distribution, n), n, n);
                assert!((1e-4..=1.0).contains(&p), "{} {args:?}, n = {n}: p = {p}", def.entry.name);
            }
        }
    }

    #[test]
    fn draws_from_a_million_million_keys_follow_the_law() {
        let n = 1 << 40;
        for def in DISTRIBUTIONS {
            let distribution = (def.make)(n, &def.entry.with_defaults(&[]));
            // Scattered ranks are not found again among so many keys.
            if (0..1_000).any(|place| distribution.key_at(place) != place) {
                continue;
            }
            let p = p_value(&distribution, |key| key, n, 3);
            assert!(p > 1e-4, "{}: p = {p}", def.entry.name);
        }
    }

    #[test]
    fn the_real_sysbench_follows_the_laws_that_have_its_names() {
        // How often sysbench 1.0.20 drew each of 20 numbers: `sysbench.rand.NAME(0, 19)` a million times, --rand-seed=9.
        #[rustfmt::skip]
        let counted: [(&str, [u64; 20]); 3] = [
            ("gaussian", [0, 0, 1, 69, 923, 6496, 28213, 80851, 159630, 224113,
                222954, 159644, 81444, 28094, 6562, 927, 73, 6, 0, 0]),
            ("special", [0, 0, 1, 27, 404, 2639, 11242, 29327, 51094, 311327,
                550530, 29109, 11074, 2781, 413, 31, 1, 0, 0, 0]),
            ("pareto", [659998, 66784, 42189, 31388, 25024, 21194, 18170, 16231, 14536, 13121,
                12028, 11202, 10111, 9733, 9101, 8580, 8360, 7756, 7399, 7095]),
        ];
        for (name, counts) in counted {
            let def = find(name).unwrap();
            let law = (def.make)(20, &def.entry.with_defaults(&[])).law();
            let p = p_of_counts(&*law, &(1..=20).collect::<Vec<_>>(), &counts);
            assert!(p > 0.001, "{name}: p = {p}");
            let reversed: Vec<u64> = counts.iter().rev().copied().collect();
            let p = p_of_counts(&*law, &(1..=20).collect::<Vec<_>>(), &reversed);
            assert!(p < 1e-9 || name == "gaussian", "{name} the other way round: p = {p}");
        }
    }

    #[test]
    fn another_law_is_told_apart_from_the_same_draws() {
        let (drawn, other) = (pareto::Pareto::new(1_000, 0.2), pareto::Pareto::new(1_000, 0.21));
        // The draws of one through the keys of the other: a place is where the other law has the same probability.
        let place = |key: u64| {
            (0..1_000).find(|place| other.probability_below(place + 1) > drawn.probability_below(key)).unwrap_or(999)
        };
        assert!(p_value(&Distribution::Pareto(drawn), place, 1_000, 1) < 1e-6);
    }

    #[test]
    fn every_law_begins_at_0_ends_at_1_and_never_falls() {
        for (def, share) in DISTRIBUTIONS.iter().flat_map(|def| [0.0, 0.01, 0.5, 1.0].map(|share| (def, share))) {
            for n in [1u64, 2, 1_000, 1 << 40] {
                let law = (def.make)(n, &args_at(def, share)).law();
                let steps: Vec<f64> = (0..=100u64).map(|i| law((n as f64 / 100.0 * i as f64) as u64)).collect();
                let name = def.entry.name;
                assert!(steps[0] == 0.0 && (law(n) - 1.0).abs() < 1e-9, "{name}, n = {n}: {} to {}", steps[0], law(n));
                assert!(steps.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12), "{name}, n = {n}: {steps:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_keys_and_another_seed_others() {
        for def in DISTRIBUTIONS {
            assert_eq!(first_draws(def, 1_000_000, 1), first_draws(def, 1_000_000, 1));
            assert_ne!(first_draws(def, 1_000_000, 1), first_draws(def, 1_000_000, 2));
        }
    }

    #[test]
    fn every_distribution_is_found_by_its_name_and_its_defaults_are_within_their_bounds() {
        for def in DISTRIBUTIONS {
            assert!(std::ptr::eq(find(def.entry.name).expect("a registered distribution"), *def));
            assert!(def.entry.args.iter().all(|arg| (arg.min..=arg.max).contains(&arg.default)));
            assert!(def.entry.args.iter().all(|arg| def.entry.help.contains(arg.name)), "{}", def.entry.help);
        }
        assert!(find("none").is_none());
    }

    #[test]
    fn arguments_that_are_not_given_have_their_defaults() {
        let draws = |args: &[f64]| {
            let distribution = from_access(&Access { name: "special".into(), args: args.into() }, 1_000_000);
            let mut rng = client_rng(1, 0);
            (0..100).map(|_| distribution.draw(&mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(draws(&[]), draws(&[1.0, 75.0, 12.0]));
        assert_eq!(draws(&[5.0]), draws(&[5.0, 75.0, 12.0]));
        assert_ne!(draws(&[5.0]), draws(&[]));
    }

    proptest! {
        #[test]
        fn draws_and_keys_are_below_n(
            n in prop_oneof![1u64..100, 1u64..1 << 53, Just(1 << 53), Just(u64::MAX)],
            share in prop_oneof![0.0..=1.0f64, Just(0.0), Just(1.0)],
            seed: u64
        ) {
            for def in DISTRIBUTIONS {
                let (distribution, mut rng) = ((def.make)(n, &args_at(def, share)), client_rng(seed, 0));
                for _ in 0..50 {
                    let key = distribution.draw(&mut rng);
                    prop_assert!(key < n);
                    prop_assert!(distribution.key_at(key) < n);
                }
            }
        }
    }
}
