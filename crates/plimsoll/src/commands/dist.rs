//! `plimsoll dist [SPEC,...]`: draws from access distributions and shows what was drawn, next to what their laws expect.
//!
//! In: distributions as `--access` takes them, a number of keys and of draws. Out: the share of the draws on the most popular keys,
//! the number of keys that were hit, the most hit keys, how well the draws fit the law, and what a draw costs; with `--out`, the
//! charts of hits per key.
//!
//! Limits: only the time of the draws is measured, on one thread; it is true of this build and this machine. Counting takes 4 bytes
//! of memory a key up to 100 million keys and 8 bytes a draw above, one distribution after the other; charts take 16 bytes a key.
//! Keys count from 0: the row ids of `oltp` are higher by 1.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{Arg, ArgMatches, Command};
use model::{Access, units::three_digits};
use report::hits::Hits;
use report::with_separators;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;
use workload::distribution::fit::{ChiSquareFit, DENSE_MAX, DrawCounter, DrawCounts, FitVerdict, LawComparison};
use workload::distribution::{self, DISTRIBUTIONS, Distribution};

const KEYS_MAX: u64 = 1 << 40;
/// The most that a count of 32 bits holds, should all draws be one key.
const DRAWS_MAX: u64 = 4_000_000_000;
/// 1.6 GB of memory.
const KEPT_DRAWS_MAX: u64 = 200_000_000;
/// Drawn at a time, so that the clock is read once in so many draws and not for each.
const BATCH: usize = 4096;
const MOST_HIT: usize = 10;

pub fn clap() -> Command {
    let names: Vec<&str> = DISTRIBUTIONS.iter().map(|def| def.entry.name).collect();
    let forms: Vec<String> = DISTRIBUTIONS.iter().map(|def| def.entry.form()).collect();
    let specs =
        Arg::new("specs").value_name("SPEC,...").num_args(1..).default_value(names.join(",")).hide_default_value(true);
    let number = |name: &'static str, default: &'static str| {
        Arg::new(name).long(name).value_name("COUNT").default_value(default).allow_hyphen_values(true)
    };
    Command::new("dist")
        .about("Draw from access distributions and check the draws against the exact probabilities")
        .arg(specs.help(format!("Distributions: {} [default: all]", forms.join(", "))))
        .arg(number("n", "1e6").visible_alias("keys").help("Number of keys"))
        .arg(number("draws", "1e6").help("Number of draws from each distribution"))
        .arg(number("seed", "1").value_name("SEED").help("Seed of the random numbers"))
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("DIR")
                .help("Write charts of hits per key (SVG, PNG) to this directory"),
        )
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let asked = DistArguments::from_matches(matches, context)?;
    let out = matches.get_one::<String>("out").map(Path::new);
    out.map_or(Ok(()), host::safety::check_links)?;
    // A directory with other files in it is refused before the draws, which may take minutes.
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
    if context.json {
        output::json::print(&serde_json::json!({
            "schema": "plimsoll.dist/1", "keys": asked.keys, "draws": asked.draws, "seed": asked.seed,
            "distributions": all.iter().map(json).collect::<Vec<_>>(), "files": files,
        }))
    } else {
        output::print(&all.iter().map(|look| text(look, &asked)).collect::<Vec<_>>().join("\n"))
    }
    files.iter().for_each(|file| context.note(format!("written: `{}`", file.display())));
    Ok(Exit::Done)
}

/// What the command line asks for.
struct DistArguments {
    specs: Vec<Access>,
    keys: u64,
    draws: u64,
    seed: u64,
    charts: bool,
}

impl DistArguments {
    fn from_matches(matches: &ArgMatches, context: &Context) -> Result<DistArguments, Fault> {
        let given = |name| matches.get_one::<String>(name).expect("it has a default").as_str();
        let specs: Vec<&str> = matches.get_many::<String>("specs").into_iter().flatten().map(String::as_str).collect();
        if let [first, second, ..] = specs.as_slice() {
            let text = format!("SPEC is given twice; separate distributions by commas: `{first},{second}`");
            return Err(Fault::usage(text));
        }
        let specs = plan::accesses("SPEC", specs.first().unwrap_or(&""), &context.catalogue)?;
        let (keys, charts) = (plan::count("n", given("n"), 1, KEYS_MAX)?, matches.contains_id("out"));
        if charts && keys > DENSE_MAX {
            return Err(Fault::usage(format!("--out: charts take at most {DENSE_MAX} keys; use a smaller --n")));
        }
        let draws_max = if keys > DENSE_MAX { KEPT_DRAWS_MAX } else { DRAWS_MAX };
        let draws = plan::count("draws", given("draws"), 1, draws_max)?;
        Ok(DistArguments { specs, keys, draws, seed: plan::count("seed", given("seed"), 0, u64::MAX)?, charts })
    }
}

/// What was drawn from one distribution.
struct Look {
    access: Access,
    shares: Vec<PopularShare>,
    distinct: u64,
    distinct_expected: f64,
    most_hit: Vec<MostHit>,
    fit: Option<ChiSquareFit>,
    ns_per_draw: f64,
    hits: Option<Hits>,
}

/// The share of the draws that fell on the keys that the law has as the most popular.
struct PopularShare {
    keys: u64,
    of_all: Option<f64>,
    drawn: f64,
    expected: f64,
}

struct MostHit {
    key: u64,
    hits: u64,
    expected: f64,
}

fn look_at(access: &Access, asked: &DistArguments) -> Look {
    let distribution = distribution::from_access(access, asked.keys);
    let (counts, ns_per_draw) = draw(&distribution, asked);
    let law = distribution.law();
    let comparison = LawComparison::new(&counts, asked.keys, asked.draws, &*law);
    Look {
        access: access.clone(),
        shares: shares(&comparison, asked.keys),
        distinct: counts.count_distinct(),
        distinct_expected: comparison.distinct_expected(),
        most_hit: most_hit(&distribution, &counts, &*law, asked.draws),
        fit: comparison.chi_square(),
        ns_per_draw,
        hits: counts.dense().filter(|_| asked.charts).map(|drawn| hits_to_draw(access, drawn, &*law, asked)),
    }
}

/// How often each key is drawn, and the nanoseconds of a draw without counting: the median of the batches, because the scheduler
/// takes the CPU away in some of them.
fn draw(distribution: &Distribution, asked: &DistArguments) -> (DrawCounts, f64) {
    let (mut counter, mut costs) = (DrawCounter::new(asked.keys, asked.draws), Vec::new());
    let (mut rng, mut batch) = (distribution::client_rng(asked.seed, 0), [0u64; BATCH]);
    let mut left = asked.draws;
    while left > 0 {
        let keys = &mut batch[..left.min(BATCH as u64) as usize];
        let begun = Instant::now();
        keys.iter_mut().for_each(|key| *key = distribution.draw(&mut rng));
        costs.push(begun.elapsed().as_nanos() as f64 / keys.len() as f64);
        keys.iter().for_each(|key| counter.count_draw(distribution.place_of(*key)));
        left -= keys.len() as u64;
    }
    let middle = costs.len() / 2;
    (counter.finish(), *costs.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The hits of each row with what the law expects of it, reduced to what the charts show.
fn hits_to_draw(access: &Access, drawn: &[u32], law: &dyn Fn(u64) -> f64, asked: &DistArguments) -> Hits {
    let mut below = 0.0;
    let expected: Vec<f64> = (1..=asked.keys)
        .map(|end| {
            let before = std::mem::replace(&mut below, law(end));
            asked.draws as f64 * (below - before).max(0.0)
        })
        .collect();
    Hits::new(&access.to_string(), drawn, &expected, &by_popularity(&expected))
}

/// The places from the most to the least popular. Those that differ by the rounding of the law only stay in order.
fn by_popularity(expected: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..expected.len() as u32).collect();
    let rounded = |place: &u32| expected[*place as usize] as f32;
    order.sort_by(|a, b| rounded(b).total_cmp(&rounded(a)));
    order
}

fn shares(comparison: &LawComparison, all: u64) -> Vec<PopularShare> {
    let few = [1, 10, 100].map(|keys| (keys, None)).into_iter().filter(|(keys, _)| *keys <= all);
    let parts = [0.01, 0.1, 0.2, 0.5].map(|part| ((all as f64 * part).round().max(1.0) as u64, Some(part)));
    // Each number of keys once, with its share if it has one.
    let is_part = |keys: u64| parts.iter().any(|(of_part, _)| *of_part == keys);
    few.filter(|(keys, _)| !is_part(*keys))
        .chain(parts)
        .map(|(keys, of_all)| {
            let (drawn, expected) = comparison.share_of_popular(keys);
            PopularShare { keys, of_all, drawn, expected }
        })
        .collect()
}

fn most_hit(distribution: &Distribution, counts: &DrawCounts, law: &dyn Fn(u64) -> f64, draws: u64) -> Vec<MostHit> {
    let expected = |place: u64| draws as f64 * (law(place + 1) - law(place)).max(0.0);
    let found = counts.most_hit(MOST_HIT).into_iter();
    found.map(|(place, hits)| MostHit { key: distribution.key_at(place), hits, expected: expected(place) }).collect()
}

fn verdict_text(verdict: FitVerdict) -> &'static str {
    match verdict {
        FitVerdict::Fits => "the draws match",
        FitVerdict::DoesNotFit => "the draws do not match",
        FitVerdict::TooGood => "the draws match better than chance allows",
    }
}

fn text(look: &Look, asked: &DistArguments) -> String {
    let (draws, keys) = (with_separators(asked.draws), with_separators(asked.keys));
    let mut text = format!("{}: {draws} draws of {keys} keys, seed {}\n", look.access, asked.seed);
    let _ = writeln!(text, "  {:26} {:>9} {:>9}", "the most popular", "drawn", "expected");
    look.shares.iter().for_each(|share| text += &share_line(share));
    let (hit, expected) = (with_separators(look.distinct), with_separators(look.distinct_expected.round() as u64));
    let _ = writeln!(text, "  distinct keys drawn: {hit} ({expected} expected)");
    let _ = match &look.fit {
        Some(fit) => writeln!(
            text,
            "  chi-square {:.0} with {} degrees of freedom, {:+.1} sigma: {}",
            fit.chi_square,
            with_separators(u64::from(fit.freedom)),
            fit.sigmas(),
            verdict_text(fit.verdict())
        ),
        None => writeln!(text, "  chi-square: too few draws or keys"),
    };
    let _ = writeln!(text, "  time per draw: {} ns{}", three_digits(look.ns_per_draw), unoptimised());
    let _ = writeln!(text, "  {:>26} {:>9} {:>9}", "most hit keys", "hits", "expected");
    look.most_hit.iter().for_each(|hit| text += &most_hit_line(hit));
    text
}

fn unoptimised() -> &'static str {
    if cfg!(debug_assertions) { " (a build without optimisation)" } else { "" }
}

fn share_line(share: &PopularShare) -> String {
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
    format!("  {:>26} {:>9} {expected:>9}\n", hit.key, with_separators(hit.hits))
}

fn json(look: &Look) -> serde_json::Value {
    let share = |share: &PopularShare| serde_json::json!({"keys": share.keys, "share_drawn": share.drawn, "share_expected": share.expected});
    let most_hit = |hit: &MostHit| serde_json::json!({"key": hit.key, "hits": hit.hits, "hits_expected": hit.expected});
    serde_json::json!({
        "access": look.access.to_string(),
        "most_popular": look.shares.iter().map(share).collect::<Vec<_>>(),
        "keys_hit": look.distinct, "keys_hit_expected": look.distinct_expected,
        "most_hit": look.most_hit.iter().map(most_hit).collect::<Vec<_>>(),
        "chi_square": look.fit.as_ref().map(|fit| fit.chi_square),
        "degrees_of_freedom": look.fit.as_ref().map(|fit| fit.freedom),
        "chi_square_sigmas": look.fit.as_ref().map(ChiSquareFit::sigmas),
        "ns_per_draw": look.ns_per_draw, "optimised": !cfg!(debug_assertions),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(name: &str, args: &[f64], keys: u64, draws: u64) -> Look {
        let access = Access { name: name.into(), args: args.into() };
        look_at(&access, &DistArguments { specs: Vec::new(), keys, draws, seed: 1, charts: false })
    }

    #[test]
    fn the_most_hit_keys_are_the_keys_that_the_load_hits() {
        let look = look("zipf", &[0.9], 1_000_000, 100_000);
        let first = &look.most_hit[0];
        // Rank 0 of a million is scattered to this key, for every seed.
        assert_eq!(first.key, 907_037);
        assert!((first.expected - 3_291.57).abs() < 0.01 && (first.hits as f64 - first.expected).abs() < 300.0);
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
        let share = PopularShare { keys: 200_000_000_000, of_all: Some(0.2), drawn: 1.0, expected: 1.0 };
        assert!(share_line(&share).len() <= 80, "{}", share_line(&share));
        let hit = MostHit { key: 1 << 40, hits: u64::from(u32::MAX), expected: 4e9 };
        assert!(most_hit_line(&hit).len() <= 80);
    }
}
