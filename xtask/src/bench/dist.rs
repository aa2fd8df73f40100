//! `dist`: the cost of a draw from each access distribution, compared with the draws of the same name in sysbench.
//!
//! In: the release build, sysbench. Out: nanoseconds a draw of a million keys, and ratios if sysbench has the distribution.
//! Limits: one thread, no counting. sysbench's draws are called from its own Lua, as its workloads do, and that call is part of
//! their cost; they are of 32 bits, plimsoll's of 64.

use super::effort::Effort;
use super::statistics::{Ratio, median, ratio};
use super::{keep, plimsoll, process};
use crate::{needs, workspace};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

pub const NAME: &str = "dist";

/// Draws from each distribution in a second of effort: less than a second's worth of any.
const DRAWS_PER_SECOND: u64 = 10_000_000;

/// Nanoseconds a draw, by distribution. sysbench has no names with arguments: `special` is plimsoll's `special:1:75:12`.
type Costs = BTreeMap<String, f64>;

/// Measures, prints, and keeps the result.
pub fn run(root: &Path, effort: &Effort) -> Result<()> {
    if let [missing] = needs::install_missing(std::slice::from_ref(&needs::SYSBENCH))?[..] {
        bail!("`{}` is not there: {}; install the package `{}`", missing.binary, missing.what_for, missing.package);
    }
    workspace::run(workspace::cargo(root).args(["build", "--release", "--locked", "--package", "plimsoll"]))?;
    let draws = DRAWS_PER_SECOND * u64::from(effort.seconds(5, 2));
    let script = tempfile::Builder::new().suffix(".lua").tempfile()?;
    fs::write(script.path(), SCRIPT)?;
    println!("{NAME}: nanoseconds a draw, {draws} draws of a million keys");
    let mut pairs = Vec::new();
    for round in 1..=effort.rounds() {
        // A B B A.
        let (own, peer) = (measure_own(root, draws)?, measure_peer(script.path(), draws)?);
        println!("round {round}: plimsoll {own:.1?}, sysbench {peer:.1?}");
        pairs.push((own, peer));
        let (peer, own) = (measure_peer(script.path(), draws)?, measure_own(root, draws)?);
        pairs.push((own, peer));
    }
    let rows: Vec<String> = make_rows(&pairs).iter().map(DistRow::to_cells).collect();
    rows.iter().for_each(|row| println!("{row}"));
    keep::keep_rows(root, NAME, HEAD, &["sysbench"], &rows)
}

/// The cost of plimsoll's draws, as it reports them.
fn measure_own(root: &Path, draws: u64) -> Result<Costs> {
    let mut command = Command::new(plimsoll::binary(root));
    command.args(["dist", "--n", "1e6", "--json", "--quiet", "--draws"]).arg(draws.to_string());
    parse_own(&process::run(&mut command)?.stdout)
}

fn parse_own(json: &str) -> Result<Costs> {
    #[derive(Deserialize)]
    struct DistReport {
        distributions: Vec<DrawReport>,
    }
    #[derive(Deserialize)]
    struct DrawReport {
        access: String,
        ns_per_draw: f64,
        optimised: bool,
    }
    let report: DistReport =
        serde_json::from_str(json).context("plimsoll's JSON is not of the schema plimsoll.dist/1")?;
    if report.distributions.iter().all(|one| one.optimised) {
        Ok(report.distributions.into_iter().map(|one| (one.access, one.ns_per_draw)).collect())
    } else {
        bail!("plimsoll was built without optimisation")
    }
}

/// Draws with the defaults of sysbench, and prints name and nanoseconds in lines that begin with `draw`.
const SCRIPT: &str = r#"
function measure()
  local draws = tonumber(os.getenv("DRAWS"))
  for _, name in ipairs{"uniform", "gaussian", "special", "pareto"} do
    local draw = sysbench.rand[name]
    local begun = os.clock()
    for i = 1, draws do draw(1, 1000000) end
    print("draw " .. name .. " " .. (os.clock() - begun) * 1e9 / draws)
  end
end
sysbench.cmdline.commands = {measure = {measure}}
"#;

/// The cost of sysbench's draws, by its own clock.
fn measure_peer(script: &Path, draws: u64) -> Result<Costs> {
    let mut command = Command::new("sysbench");
    command.arg(script).arg("measure").env("DRAWS", draws.to_string());
    parse_peer(&process::run(&mut command)?.stdout)
}

fn parse_peer(text: &str) -> Result<Costs> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("draw ")?.split_once(' '));
    let costs = lines.map(|(name, ns)| Ok((name.to_owned(), ns.trim().parse()?))).collect::<Result<Costs>>()?;
    if costs.is_empty() {
        bail!("sysbench drew nothing: {}", text.trim());
    }
    Ok(costs)
}

struct DistRow {
    access: String,
    own_ns: f64,
    peer: Option<(f64, Ratio)>,
}

fn make_rows(pairs: &[(Costs, Costs)]) -> Vec<DistRow> {
    let Some((first, _)) = pairs.first() else { return Vec::new() };
    let rows = first.keys().map(|access| {
        let own: Vec<f64> = pairs.iter().filter_map(|(own, _)| own.get(access).copied()).collect();
        let name = access.split(':').next().unwrap_or_default();
        let peer: Vec<f64> = pairs.iter().filter_map(|(_, peer)| peer.get(name).copied()).collect();
        let both: Vec<(f64, f64)> = own.iter().copied().zip(peer.iter().copied()).collect();
        DistRow { access: access.clone(), own_ns: median(own), peer: ratio(&both).map(|ratio| (median(peer), ratio)) }
    });
    rows.collect()
}

impl DistRow {
    fn to_cells(&self) -> String {
        let peer = match &self.peer {
            Some((ns, ratio)) => format!("{ns:.1} | {ratio}"),
            None => "- | -".to_owned(),
        };
        format!("{} | {:.1} | {peer}", self.access, self.own_ns)
    }
}

const HEAD: &str = "\
# dist

What a draw from each access distribution costs: a million keys, the defaults, one thread, nothing done with the key.
`cargo xtask bench dist` adds its lines here. plimsoll's time is that of `plimsoll dist` in the release build, the median of batches of 4,096;
sysbench's is the CPU time of `sysbench.rand.NAME` called from its Lua, as its workloads call it; in interleaved pairs (A B B A). The ratio is plimsoll : sysbench,
the geometric mean over the pairs with its 95 % confidence interval (Student's t on the logarithms); below 1 plimsoll costs less.
Nanoseconds are medians, and true of that machine in those minutes only. A dash: sysbench 1.0 has no such distribution.

| date | versions | kernel | distribution | plimsoll ns | sysbench ns | ratio |
|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = r#"{"schema":"plimsoll.dist/1","keys":1000000,"distributions":[
        {"access":"uniform","ns_per_draw":2.0,"optimised":true},{"access":"special:1:75:12","ns_per_draw":5.0,"optimised":true},
        {"access":"zipf:0.9","ns_per_draw":25.5,"optimised":true}]}"#;
    const PEER: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\ndraw uniform 4.0\ndraw special 10.0\n";

    #[test]
    fn a_distribution_is_paired_with_its_name_in_sysbench_and_one_that_it_has_not_stands_alone() {
        let pair = || (parse_own(OWN).unwrap(), parse_peer(PEER).unwrap());
        let cells: Vec<String> = make_rows(&[pair(), pair()]).iter().map(DistRow::to_cells).collect();
        let half = "0.500 (95 %: 0.500 to 0.500, n = 2 pairs)";
        assert_eq!(cells[0], format!("special:1:75:12 | 5.0 | 10.0 | {half}"));
        assert_eq!(cells[1..], [format!("uniform | 2.0 | 4.0 | {half}"), "zipf:0.9 | 25.5 | - | -".to_owned()]);
        let columns = HEAD.lines().last().unwrap().matches('|').count() - 1;
        assert!(cells.iter().all(|cells| cells.matches(" | ").count() + 4 == columns));
    }

    #[test]
    fn a_build_without_optimisation_and_a_sysbench_that_drew_nothing_have_no_cost() {
        assert!(parse_own(&OWN.replace("true", "false")).is_err());
        assert!(parse_peer("sysbench 1.0.20\nFATAL: no such file\n").is_err());
    }
}
