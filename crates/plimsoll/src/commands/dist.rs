//! `plimsoll dist [SPEC,...]`: draws from access distributions and shows what comes, beside what their laws say.
//!
//! In: distributions as `--access` takes them, a number of keys and of draws. Out: the share of the draws on the most popular keys,
//! the keys hit at all, the most hit keys, how well the draws fit the law, and what a draw costs; with `--out`, the charts of hits
//! per row.
//!
//! Limits: nothing is measured but the time of the draws, on one thread; that is true of this build and this machine. Counting takes
//! 16 bytes of memory a key, one distribution after the other. Keys count from 0: the row ids of `oltp` are higher by 1.

use crate::cli::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{Arg, ArgMatches, Command};
use model::{Access, units::three_digits};
use report::hits::Hits;
use report::with_separators;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;
use workload::distribution::{self, DISTRIBUTIONS, Distribution};

/// 1.6 GB of memory.
const KEYS_MAX: u64 = 100_000_000;
/// What a count of 32 bits holds, should all draws be one key.
const DRAWS_MAX: u64 = 4_000_000_000;
/// Drawn at a time, so that the clock is read once in so many draws and not for each.
const BATCH: usize = 4096;
const MOST_HIT: usize = 10;

/// The command.
pub fn clap() -> Command {
    let names: Vec<&str> = DISTRIBUTIONS.iter().map(|def| def.entry.name).collect();
    let forms: Vec<String> = DISTRIBUTIONS.iter().map(|def| def.entry.form()).collect();
    let specs = Arg::new("specs").value_name("SPEC,...").default_value(names.join(",")).hide_default_value(true);
    let number = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("COUNT").default_value(default).allow_hyphen_values(true)
    };
    Command::new("dist")
        .about("Draw from access distributions and show what comes, beside what their laws say")
        .arg(specs.help(format!("Which: {} [default: all]", forms.join(", "))))
        .arg(number("n", "1e6").help("Number of keys"))
        .arg(number("draws", "1e6").help("Number of draws from each"))
        .arg(number("seed", "1").value_name("SEED").help("Where the random numbers begin"))
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("DIR")
                .help("Write the charts of hits per row (SVG, PNG) there; none without"),
        )
}

/// Does it.
pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let asked = Asked::read(matches, context)?;
    let out = matches.get_one::<String>("out").map(Path::new);
    // A directory of somebody else's is refused before the draws, which may take minutes.
    out.map_or(Ok(Vec::new()), |dir| report::write_figures(&[], dir))?;
    let mut all = Vec::new();
    for access in &asked.specs {
        context.note(format!("drawing {} keys from {access}", with_separators(asked.draws)));
        all.push(look_at(access, &asked));
    }
    let files = match out {
        Some(dir) => {
            let hits: Vec<Hits> = all.iter_mut().filter_map(|look: &mut Look| look.hits.take()).collect();
            report::write_figures(&report::hits::figures(&hits), dir)?
        }
        None => Vec::new(),
    };
    match context.json {
        true => output::json::print(&serde_json::json!({
            "schema": "plimsoll.dist/1", "keys": asked.keys, "draws": asked.draws, "seed": asked.seed,
            "distributions": all.iter().map(json).collect::<Vec<_>>(), "files": files,
        })),
        false => output::print(&all.iter().map(|look| text(look, &asked)).collect::<Vec<_>>().join("\n")),
    }
    files.iter().for_each(|file| context.note(format!("written: `{}`", file.display())));
    Ok(Exit::Done)
}

/// What the command line asks for.
struct Asked {
    specs: Vec<Access>,
    keys: u64,
    draws: u64,
    seed: u64,
    charts: bool,
}

impl Asked {
    fn read(matches: &ArgMatches, context: &Context) -> Result<Asked, Fault> {
        let given = |name| matches.get_one::<String>(name).expect("it has a default").as_str();
        let specs = plan::accesses("SPEC", given("specs"), &context.catalogue)?;
        Ok(Asked {
            specs,
            keys: plan::count("n", given("n"), 1, KEYS_MAX)?,
            draws: plan::count("draws", given("draws"), 1, DRAWS_MAX)?,
            seed: plan::count("seed", given("seed"), 0, u64::MAX)?,
            charts: matches.contains_id("out"),
        })
    }
}

/// One distribution, looked at.
struct Look {
    access: Access,
    shares: Vec<Share>,
    distinct: u64,
    distinct_expected: f64,
    most_hit: Vec<MostHit>,
    fit: Option<Fit>,
    ns_per_draw: f64,
    hits: Option<Hits>,
}

/// The share of the draws that fell on the keys that the law has as the most popular.
struct Share {
    keys: u64,
    of_all: Option<f64>,
    drawn: f64,
    expected: f64,
}

struct MostHit {
    key: u64,
    hits: u32,
    expected: f64,
}

fn look_at(access: &Access, asked: &Asked) -> Look {
    let distribution = distribution::of(access, asked.keys);
    let (by_key, ns_per_draw) = draw(&distribution, asked);
    // In the order in which the law is written.
    let drawn: Vec<u32> = (0..asked.keys).map(|place| by_key[distribution.key(place) as usize]).collect();
    drop(by_key);
    let expected = expected(&distribution, asked);
    let order = by_popularity(&expected);
    Look {
        access: access.clone(),
        shares: shares(&drawn, &expected, &order, asked),
        distinct: drawn.iter().filter(|hits| **hits > 0).count() as u64,
        distinct_expected: expected.iter().map(|hits| expected_to_be_hit(hits / asked.draws as f64, asked.draws)).sum(),
        most_hit: most_hit(&distribution, &drawn, &expected),
        fit: fit(&drawn, &expected, &order),
        ns_per_draw,
        hits: asked.charts.then(|| Hits::new(&access.to_string(), &drawn, &expected, &order)),
    }
}

/// The probability that a key is hit at all.
fn expected_to_be_hit(probability: f64, draws: u64) -> f64 {
    -(draws as f64 * (-probability.min(1.0)).ln_1p()).exp_m1()
}

/// How often each key is drawn, and the nanoseconds of a draw without counting: the median of the batches, because the scheduler
/// takes the CPU away in some of them.
fn draw(distribution: &Distribution, asked: &Asked) -> (Vec<u32>, f64) {
    let (mut counts, mut costs) = (vec![0u32; asked.keys as usize], Vec::new());
    let (mut rng, mut batch) = (distribution::rng(asked.seed, 0), [0u64; BATCH]);
    let mut left = asked.draws;
    while left > 0 {
        let keys = &mut batch[..left.min(BATCH as u64) as usize];
        let begun = Instant::now();
        keys.iter_mut().for_each(|key| *key = distribution.draw(&mut rng));
        costs.push(begun.elapsed().as_nanos() as f64 / keys.len() as f64);
        keys.iter().for_each(|key| counts[*key as usize] += 1);
        left -= keys.len() as u64;
    }
    let middle = costs.len() / 2;
    (counts, *costs.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// How many of the draws the law expects on each place.
fn expected(distribution: &Distribution, asked: &Asked) -> Vec<f64> {
    let law = distribution.law();
    let mut below = 0.0;
    let places = (1..=asked.keys).map(|end| {
        let (before, now) = (below, law(end));
        below = now;
        asked.draws as f64 * (now - before).max(0.0)
    });
    places.collect()
}

/// The places from the most to the least popular. Those that differ by the rounding of the law only are alike, and stay in order.
fn by_popularity(expected: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..expected.len() as u32).collect();
    let rounded = |place: &u32| expected[*place as usize] as f32;
    order.sort_by(|a, b| rounded(b).total_cmp(&rounded(a)));
    order
}

fn shares(drawn: &[u32], expected: &[f64], order: &[u32], asked: &Asked) -> Vec<Share> {
    let few = [1, 10, 100].map(|keys| (keys, None)).into_iter().filter(|(keys, _)| *keys <= asked.keys);
    let parts = [0.01, 0.1, 0.2, 0.5].map(|part| ((asked.keys as f64 * part).round().max(1.0) as u64, Some(part)));
    let share = |(keys, of_all): (u64, Option<f64>)| {
        let popular = &order[..keys as usize];
        let hits: u64 = popular.iter().map(|place| u64::from(drawn[*place as usize])).sum();
        let law: f64 = popular.iter().map(|place| expected[*place as usize]).sum();
        Share { keys, of_all, drawn: hits as f64 / asked.draws as f64, expected: law / asked.draws as f64 }
    };
    few.chain(parts).map(share).collect()
}

fn most_hit(distribution: &Distribution, drawn: &[u32], expected: &[f64]) -> Vec<MostHit> {
    let mut places: Vec<u32> = Vec::with_capacity(MOST_HIT + 1);
    for place in 0..drawn.len() as u32 {
        let hits = |place: &u32| drawn[*place as usize];
        if hits(&place) == 0 || (places.len() == MOST_HIT && hits(&place) <= places.last().map_or(0, hits)) {
            continue;
        }
        places.insert(places.partition_point(|better| hits(better) >= hits(&place)), place);
        places.truncate(MOST_HIT);
    }
    let row = |place: u32| {
        let at = place as usize;
        MostHit { key: distribution.key(u64::from(place)), hits: drawn[at], expected: expected[at] }
    };
    places.into_iter().map(row).collect()
}

/// Pearson's chi-square test of the draws against the law.
struct Fit {
    chi_square: f64,
    freedom: u32,
}

/// Popular places by themselves, the others together until 100 draws are expected in a part; `None` for less than two parts.
fn fit(drawn: &[u32], expected: &[f64], order: &[u32]) -> Option<Fit> {
    const EXPECTED_MIN: f64 = 100.0;
    let (mut parts, mut part) = (Vec::new(), (0.0, 0.0));
    for place in order {
        part = (part.0 + f64::from(drawn[*place as usize]), part.1 + expected[*place as usize]);
        if part.1 >= EXPECTED_MIN {
            parts.push(std::mem::take(&mut part));
        }
    }
    let last = parts.last_mut()?;
    *last = (last.0 + part.0, last.1 + part.1);
    let chi_square = parts.iter().map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
    let freedom = parts.len() as u32 - 1;
    (freedom > 0).then_some(Fit { chi_square, freedom })
}

impl Fit {
    /// The chi-square as standard deviations from what chance alone makes: Wilson and Hilferty 1931, "The distribution of
    /// chi-square", PNAS 17: the cube root of chi-square / freedom is nearly normal.
    fn z(&self) -> f64 {
        let variance = 2.0 / (9.0 * f64::from(self.freedom));
        ((self.chi_square / f64::from(self.freedom)).cbrt() - (1.0 - variance)) / variance.sqrt()
    }

    /// Chance alone goes beyond 3.3 once in a thousand times.
    fn verdict(&self) -> &'static str {
        match self.z() {
            z if z > 3.3 => "does not fit the law",
            z if z < -3.3 => "fits the law better than chance would",
            _ => "fits the law",
        }
    }
}

fn text(look: &Look, asked: &Asked) -> String {
    let (draws, keys) = (with_separators(asked.draws), with_separators(asked.keys));
    let mut text = format!("{}: {draws} draws of {keys} keys, seed {}\n", look.access, asked.seed);
    let _ = writeln!(text, "  {:26} {:>9} {:>9}", "the most popular", "drawn", "expected");
    look.shares.iter().for_each(|share| text += &share_line(share));
    let (hit, expected) = (with_separators(look.distinct), with_separators(look.distinct_expected.round() as u64));
    let _ = writeln!(text, "  keys hit at all: {hit} ({expected} expected)");
    let _ = match &look.fit {
        Some(fit) => writeln!(
            text,
            "  chi-square {:.0} with {} degrees of freedom, {:+.1} sigma: {}",
            fit.chi_square,
            with_separators(u64::from(fit.freedom)),
            fit.z(),
            fit.verdict()
        ),
        None => writeln!(text, "  chi-square: too few draws or keys"),
    };
    let _ = writeln!(text, "  a draw: {} ns{}", three_digits(look.ns_per_draw), unoptimised());
    let _ = writeln!(text, "  {:>26} {:>9} {:>9}", "most hit keys", "hits", "expected");
    look.most_hit.iter().for_each(|hit| text += &most_hit_line(hit));
    text
}

fn unoptimised() -> &'static str {
    if cfg!(debug_assertions) { " (a build without optimisation)" } else { "" }
}

fn share_line(share: &Share) -> String {
    const BAR: f64 = 24.0;
    let keys = if share.keys == 1 { "key" } else { "keys" };
    let part = share.of_all.map_or(String::new(), |part| format!(" ({} %)", part * 100.0));
    let name = format!("{} {keys}{part}", with_separators(share.keys));
    let bar = "#".repeat((share.drawn * BAR).round() as usize);
    let (drawn, expected) = (percent(share.drawn), percent(share.expected));
    format!("  {name:26} {drawn:>9} {expected:>9}  {bar}").trim_end().to_owned() + "\n"
}

fn percent(share: f64) -> String {
    format!("{:.3} %", share * 100.0)
}

fn most_hit_line(hit: &MostHit) -> String {
    let expected = if hit.expected < 100.0 {
        format!("{:.1}", hit.expected)
    } else {
        with_separators(hit.expected.round() as u64)
    };
    format!("  {:>26} {:>9} {expected:>9}\n", hit.key, with_separators(u64::from(hit.hits)))
}

fn json(look: &Look) -> serde_json::Value {
    let share = |share: &Share| serde_json::json!({"keys": share.keys, "share_drawn": share.drawn, "share_expected": share.expected});
    let most_hit = |hit: &MostHit| serde_json::json!({"key": hit.key, "hits": hit.hits, "hits_expected": hit.expected});
    serde_json::json!({
        "access": look.access.to_string(),
        "most_popular": look.shares.iter().map(share).collect::<Vec<_>>(),
        "keys_hit": look.distinct, "keys_hit_expected": look.distinct_expected,
        "most_hit": look.most_hit.iter().map(most_hit).collect::<Vec<_>>(),
        "chi_square": look.fit.as_ref().map(|fit| fit.chi_square),
        "degrees_of_freedom": look.fit.as_ref().map(|fit| fit.freedom),
        "chi_square_sigmas": look.fit.as_ref().map(Fit::z),
        "ns_per_draw": look.ns_per_draw, "optimised": !cfg!(debug_assertions),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(name: &str, args: &[f64], keys: u64, draws: u64) -> Look {
        let access = Access { name: name.into(), args: args.into() };
        look_at(&access, &Asked { specs: Vec::new(), keys, draws, seed: 1, charts: false })
    }

    #[test]
    fn a_z_of_0_is_the_middle_of_chi_square_and_of_3_its_thousandth_at_the_top() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4: for 100 degrees of freedom.
        let z = |chi_square| Fit { chi_square, freedom: 100 }.z();
        assert!((z(118.498) - 1.2816).abs() < 0.01 && (z(149.449) - 3.0902).abs() < 0.01, "{}", z(149.449));
        assert!((z(99.334) - 0.0).abs() < 0.01);
        assert_eq!(Fit { chi_square: 200.0, freedom: 100 }.verdict(), "does not fit the law");
    }

    #[test]
    fn every_distribution_fits_its_law_and_the_most_popular_keys_get_what_it_says() {
        for def in DISTRIBUTIONS {
            let look = look(def.entry.name, &[], 10_000, 200_000);
            let fit = look.fit.as_ref().expect("enough draws");
            assert_eq!(fit.verdict(), "fits the law", "{}: {}", def.entry.name, fit.z());
            for share in &look.shares {
                let sigma = (share.expected * (1.0 - share.expected).max(0.0) / 200_000.0).sqrt();
                assert!((share.drawn - share.expected).abs() < 5.0 * sigma + 1e-9, "{}", def.entry.name);
            }
            // A key more or less is hit with the variance of its probability at most, and keys are not positively correlated.
            let sigma = look.distinct_expected.sqrt();
            assert!((look.distinct as f64 - look.distinct_expected).abs() < 5.0 * sigma, "{}", def.entry.name);
        }
    }

    #[test]
    fn the_most_hit_keys_are_the_keys_that_the_load_hits() {
        let look = look("zipf", &[0.9], 1_000_000, 100_000);
        let first = &look.most_hit[0];
        // Rank 0 of a million is scattered to this key, for every seed.
        assert_eq!(first.key, 907_037);
        assert!((first.expected - 3_291.57).abs() < 0.01 && (f64::from(first.hits) - first.expected).abs() < 300.0);
        assert!(look.most_hit.windows(2).all(|pair| pair[0].hits >= pair[1].hits));
    }

    #[test]
    fn one_key_and_one_draw_are_looked_at_without_a_fit() {
        let look = look("special", &[], 1, 1);
        assert!(look.fit.is_none() && look.distinct == 1 && look.most_hit.len() == 1);
        assert!(look.shares.iter().all(|share| (share.drawn, share.keys) == (1.0, 1)));
    }

    #[test]
    fn a_line_fits_80_columns() {
        let share = Share { keys: 20_000_000, of_all: Some(0.2), drawn: 1.0, expected: 1.0 };
        assert!(share_line(&share).len() <= 80, "{}", share_line(&share));
        let hit = MostHit { key: 99_999_999, hits: u32::MAX, expected: 4e9 };
        assert!(most_hit_line(&hit).len() <= 80);
    }
}
