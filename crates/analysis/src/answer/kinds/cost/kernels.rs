//! Computations on one core and on all: what more cores give.

use super::super::super::speech::{number_word, plain, short_enough};
use super::super::super::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, Claim, ClaimKind};
use crate::answer::{AnswerParts, AskedRun};
use crate::compare::kernels::{KernelRate, KernelRow, KernelTable};
use crate::{Validity, math};
use words::list::{capital, join_and};
use words::quantity::{count, number};

/// Beyond so much of their number, threads gain more than there is of them.
const BEYOND_THREADS: f64 = 1.15;

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let points = &run.analysis.points;
    if points.is_empty() || points.iter().any(|point| point.traits.work.kernel.is_none()) {
        return None;
    }
    let kernels = KernelTable::from_analysis(run.analysis)?;
    let usable = |rate: &Option<KernelRate>| rate.filter(|rate| rate.validity != Validity::Invalid);
    let rows: Vec<KernelRow> = kernels
        .rows
        .iter()
        .map(|row| {
            let (single, all) = (usable(&row.single), usable(&row.all));
            KernelRow { single, all, scaling: row.scaling.filter(|_| single.is_some() && all.is_some()), ..row.clone() }
        })
        .collect();
    Some(AnswerParts {
        question: "What can the CPUs do?".to_owned(),
        claims: claims(&kernels, &rows),
        table: Some(table(&kernels, &rows)),
        next: (run.analysis.verdict.trust.validity.valid > 0)
            .then(|| "Run the same on another machine, and `plimsoll compare` both.".to_owned()),
    })
}

fn table(kernels: &KernelTable, rows: &[KernelRow]) -> AnswerTable {
    let rate = |rate: Option<KernelRate>| {
        rate.map(|rate| AnswerCell::of(None, "ops_per_s", rate.ops_per_s, count(rate.ops_per_s).to_string()))
    };
    let row = |row: &KernelRow| {
        let scaling = row.scaling.map(|times| AnswerCell::of(None, "ratio", times, number(times).to_string()));
        let all = [rate(row.single), rate(row.all), scaling];
        AnswerRow { name: vec![row.kernel.clone()], cells: all.into_iter().take(heads(kernels).len()).collect() }
    };
    AnswerTable {
        head: "rounds/s".to_owned(),
        columns: heads(kernels).into_iter().map(AnswerColumn::new).collect(),
        rows: rows.iter().map(row).collect(),
        rows_of: rows.len(),
        conditions: String::new(),
    }
}

fn heads(kernels: &KernelTable) -> Vec<String> {
    let most = kernels.most_clients().map(|most| vec![format!("{most} threads"), "times".to_owned()]);
    std::iter::once("one thread".to_owned()).chain(most.unwrap_or_default()).collect()
}

fn claims(kernels: &KernelTable, rows: &[KernelRow]) -> Vec<Claim> {
    let mut scaled: Vec<(&str, f64)> =
        rows.iter().filter_map(|row| Some((row.kernel.as_str(), row.scaling?))).collect();
    scaled.sort_by(|a, b| a.1.total_cmp(&b.1));
    // More threads do not do more than their share of the same work: such a kernel measures something else with one thread.
    let share_max = kernels.most_clients().map_or(f64::INFINITY, |most| f64::from(most) * BEYOND_THREADS);
    let beyond = scaled.split_off(scaled.partition_point(|(_, times)| *times <= share_max));
    let mut claims = Vec::new();
    if let (Some((least, low)), Some((best, high)), Some(most)) =
        (scaled.first(), scaled.last(), kernels.most_clients())
    {
        let logs: Vec<f64> = scaled.iter().map(|(_, times)| times.ln()).collect();
        let mean = math::stats::mean(&logs).exp();
        let work = format!("{} threads do {} times the work of one", number_word(most), number(mean));
        let without = beyond.iter().map(|(kernel, _)| plain(kernel)).collect::<Vec<_>>();
        let average = if without.is_empty() {
            "on average".to_owned()
        } else {
            format!("on average without {}", join_and(&without))
        };
        let sentence = if scaled.len() == 1 {
            capital(&format!("{work} ({}).", plain(best)))
        } else {
            short_enough(vec![
                format!(
                    "Worth shows only beside another machine; alone, {work} {average}, {} times for {} and {} times for {}.",
                    number(*low),
                    plain(least),
                    number(*high),
                    plain(best)
                ),
                format!("Worth shows only beside another machine; alone, {work} {average}."),
            ])
        };
        claims.push(Claim::new(ClaimKind::Scaling, sentence).figure("ratio", mean, None));
    }
    claims.extend(beyond.last().map(|(kernel, times)| {
        let sentence = format!(
            "{} gains {} times, more than threads can give: a pair of threads wakes another CPU at each turn, several pairs share one.",
            capital(&plain(kernel)),
            number(*times)
        );
        Claim::new(ClaimKind::Caution, sentence).figure("ratio", *times, None)
    }));
    if let [KernelRow { kernel, single: Some(rate), .. }] = rows {
        let sentence = format!("One thread does {} rounds of {} per second.", count(rate.ops_per_s), plain(kernel));
        claims.push(Claim::new(ClaimKind::Rate, sentence).figure("ops_per_s", rate.ops_per_s, rate.ops_per_s_ci95));
    } else if scaled.is_empty() && rows.iter().any(|row| row.single.is_some() || row.all.is_some()) {
        let sentence = "Worth shows only beside another machine: the rates have no meaning of their own.";
        claims.push(Claim::new(ClaimKind::Caution, sentence));
    }
    if let Some(quota) = kernels.cpu_quota {
        let sentence =
            format!("A quota of {} CPUs held plimsoll back: these are the rates of the quota.", number(quota));
        claims.push(Claim::new(ClaimKind::Caution, sentence));
    }
    claims
}
