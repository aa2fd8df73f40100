//! Files through codecs: how small, how fast, at what cost of CPU.

use super::super::super::speech::{plain, short_enough};
use super::super::super::{AnswerCell, AnswerColumn, AnswerRow, AnswerTable, Claim, ClaimKind, ROWS_MAX};
use crate::answer::{AnswerParts, AskedRun};
use crate::points::compression::{CodecLevels, arm_name};
use crate::points::sweep::is_comparable;
use crate::{CompressionRow, CompressionTable, PointAnalysis, compression_tables};
use words::quantity::{megabytes_per_s, number, percent, time};

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let points = &run.analysis.points;
    if points.is_empty() || points.iter().any(|point| point.compression.is_none()) {
        return None;
    }
    let usable: Vec<PointAnalysis> = points.iter().filter(|point| is_comparable(point)).cloned().collect();
    // Of several files the last table is that of all together.
    let table = compression_tables(&usable).pop();
    Some(AnswerParts {
        question: "How small does it become, and at what cost?".to_owned(),
        claims: table.iter().flat_map(claims).collect(),
        table: table.as_ref().map(answer_table),
        next: None,
    })
}

fn answer_table(table: &CompressionTable) -> AnswerTable {
    let shown = if table.rows.len() > ROWS_MAX { table.front() } else { table.rows.iter().collect() };
    let cell = |figure: &str, value: Option<f64>, text: fn(f64) -> String| {
        value.map(|value| AnswerCell::of(None, figure, value, text(value)))
    };
    let took = |s: f64| time(s * 1e9).to_string();
    let row = |row: &&CompressionRow| AnswerRow {
        name: vec![arm_name(&row.arm)],
        cells: vec![
            cell("ratio", row.ratio(), |times| format!("{}x", number(times))),
            cell("bytes_per_s", row.bytes_per_s(), |per_s| megabytes_per_s(per_s).digits().to_owned()),
            cell("durable_seconds", row.best_s, took),
            cell("cpu_seconds", row.cpu_s, took),
        ],
    };
    let heads = ["smaller", "MB/s", "on disk in", "CPU"];
    AnswerTable {
        head: what(table),
        columns: heads.into_iter().map(AnswerColumn::new).collect(),
        rows: shown.iter().map(row).collect(),
        rows_of: table.rows.len(),
        conditions: "one thread; the shortest of the repeats".to_owned(),
    }
}

/// The file, or how many they are.
fn what(table: &CompressionTable) -> String {
    let name = table.file.as_deref().and_then(|path| path.rsplit('/').find(|part| !part.is_empty()));
    name.map_or_else(|| format!("{} files together", table.files), str::to_owned)
}

fn claims(table: &CompressionTable) -> Vec<Claim> {
    let smaller = || table.rows.iter().filter(|row| row.ratio().is_some_and(|ratio| ratio > 1.0));
    let by = |figure: fn(&CompressionRow) -> Option<f64>| {
        smaller().max_by(|a, b| figure(a).unwrap_or(0.0).total_cmp(&figure(b).unwrap_or(0.0)))
    };
    let (Some(tightest), Some(fastest)) = (by(CompressionRow::ratio), by(CompressionRow::bytes_per_s)) else {
        return vec![Claim::new(ClaimKind::Rate, "No codec made it smaller.")];
    };
    let mut claims = vec![size_claim(tightest, "It becomes smallest with")];
    if !std::ptr::eq(tightest, fastest) {
        claims.push(size_claim(fastest, "Of what makes it smaller the fastest is"));
    }
    let as_it_is = table.rows.iter().find(|row| row.ratio().is_some_and(|ratio| (0.99..=1.01).contains(&ratio)));
    claims.extend(as_it_is.and_then(|as_it_is| against(fastest, as_it_is)));
    claims.extend(table.level_pairs().iter().filter_map(level_claim));
    claims
}

/// `It becomes smallest with gzip:9: 2.56 times smaller at 5.00 MB/s.`
fn size_claim(row: &CompressionRow, what: &str) -> Claim {
    let times = row.ratio().unwrap_or(1.0);
    let speed = row.bytes_per_s().map_or(String::new(), |per_s| format!(" at {}", megabytes_per_s(per_s)));
    let sentence = format!("{what} {}: {} times smaller{speed}.", plain(&arm_name(&row.arm)), number(times));
    let claim = Claim::new(ClaimKind::Rate, sentence).figure("ratio", times, None);
    match row.bytes_per_s() {
        Some(per_s) => claim.figure("bytes_per_s", per_s, None),
        None => claim,
    }
}

/// Whether the fastest codec is faster than to copy the file as it is.
fn against(fastest: &CompressionRow, as_it_is: &CompressionRow) -> Option<Claim> {
    let share = fastest.best_s? / as_it_is.best_s?;
    let codec = plain(&arm_name(&fastest.arm));
    let sentence = if share < 0.95 {
        format!("With {codec} it is on disk {} sooner than as it is.", percent(1.0 - share))
    } else if share > 1.05 {
        format!("With {codec} it takes {} times as long as to copy it as it is.", number(share))
    } else {
        format!("With {codec} it takes as long as to copy it as it is, within 5 %.")
    };
    Some(Claim::new(ClaimKind::Difference, sentence).figure("ratio", share, None))
}

/// `From gzip:1 to gzip:9 it becomes 2.5 % smaller and costs 5.00 times the CPU.`
fn level_claim(pair: &CodecLevels) -> Option<Claim> {
    let cpu = pair.most.cpu_s? / pair.least.cpu_s.filter(|s| *s > 0.0)?;
    let share = pair.most.output_bytes / pair.least.output_bytes;
    let change = if share < 0.9995 {
        format!("{} smaller", percent(1.0 - share))
    } else if share > 1.0005 {
        format!("{} larger", percent(share - 1.0))
    } else {
        "no smaller".to_owned()
    };
    let [least, most] = [pair.least, pair.most].map(|row| plain(&arm_name(&row.arm)));
    let costs = format!("and costs {} times the CPU", number(cpu));
    let sentence = short_enough(vec![
        format!("From {least} to {most} it becomes {change} {costs}."),
        format!("From the lowest level to the highest it becomes {change} {costs}."),
    ]);
    Some(Claim::new(ClaimKind::Difference, sentence).figure("ratio", cpu, None))
}
