//! What compressing files showed, in sentences.
//!
//! In: the tables of a run. Out: sentences, the answer first; names of codecs and files. Limits: of many files the first are named, or all
//! of them together.

pub use analysis::points::compression::arm_name;

use super::list::join_and;
use super::quantity::{Quantity, number, percent};
use super::verdict::seconds;
use analysis::points::compression::CodecLevels;
use analysis::{Analysis, CompressionRow, CompressionTable, compression_tables};

/// The most files that have sentences of their own.
const FILES_MAX: usize = 3;

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// The answers of a run that compressed files; none of another.
pub fn compression_sentences(analysis: &Analysis) -> Vec<String> {
    let tables = compression_tables(&analysis.points);
    let together = tables.iter().filter(|table| table.file.is_none());
    let each = tables.iter().filter(|table| table.file.is_some()).take(FILES_MAX);
    let named: Vec<&CompressionTable> = if tables.len() > FILES_MAX { together.collect() } else { each.collect() };
    let mut sentences: Vec<String> = named.iter().flat_map(|table| sentences_of(table)).collect();
    if tables.len() > 1 && tables.len() <= FILES_MAX {
        sentences.extend(tables.last().and_then(overall));
    }
    sentences
}

fn sentences_of(table: &CompressionTable) -> Vec<String> {
    let name = table.file.as_deref().map_or("All files", file_name);
    let smaller: Vec<&CompressionRow> =
        table.usable_rows().filter(|row| row.ratio().is_some_and(|ratio| ratio > 1.0)).collect();
    let Some(tightest) =
        smaller.iter().copied().max_by(|a, b| a.ratio().unwrap_or(0.0).total_cmp(&b.ratio().unwrap_or(0.0)))
    else {
        let is_known = table.usable_rows().next().is_some();
        return Vec::from_iter(is_known.then(|| format!("{name}: nothing made it smaller.")));
    };
    let mut all = vec![format!("{name}: {}.", smallest_clause(tightest))];
    let speed = |row: &CompressionRow| row.bytes_per_s().unwrap_or(0.0);
    let fastest = smaller.iter().copied().max_by(|a, b| speed(a).total_cmp(&speed(b)));
    if let Some(fastest) = fastest.filter(|fastest| *fastest != tightest) {
        all.push(format!(
            "{name}: of those that make it smaller {} is the fastest: {}.",
            arm_name(&fastest.arm),
            figures(fastest)
        ));
    }
    let plain = table.usable_rows().find(|row| row.ratio().is_some_and(|ratio| (0.99..=1.01).contains(&ratio)));
    all.extend(plain.zip(fastest).and_then(|(plain, fastest)| against_plain(name, plain, fastest)));
    all.extend(table.level_pairs().iter().filter_map(|pair| level_sentence(name, pair)));
    all
}

/// `zstd:19 makes it smallest: 4.10 times smaller in 12.3 s (16.2 MB/s), 12.1 s of CPU`
fn smallest_clause(row: &CompressionRow) -> String {
    format!("{} makes it smallest: {}", arm_name(&row.arm), figures(row))
}

fn figures(row: &CompressionRow) -> String {
    let times = number(row.ratio().unwrap_or(1.0));
    let took = row.best_s.map_or(String::new(), |s| format!(" in {}", seconds(s)));
    let speed = row.bytes_per_s().map_or(String::new(), |per_s| format!(" ({} MB/s)", number(per_s / 1e6)));
    let cpu = row.cpu_s.map_or(String::new(), |s| format!(", {} of CPU", seconds(s)));
    format!("{times} times smaller{took}{speed}{cpu}")
}

/// Whether the fastest codec is faster than the file as it is.
fn against_plain(name: &str, plain: &CompressionRow, fastest: &CompressionRow) -> Option<String> {
    let share = fastest.best_s? / plain.best_s?;
    let (codec, as_it_is) = (arm_name(&fastest.arm), arm_name(&plain.arm));
    Some(match share {
        share if share < 0.95 => format!("{name}: {codec} is on disk {} sooner than {as_it_is}.", percent(1.0 - share)),
        share if share > 1.05 => format!("{name}: {codec} takes {} times as long as {as_it_is}.", number(share)),
        _ => format!("{name}: {codec} takes as long as {as_it_is}, within 5 %."),
    })
}

/// `gzip:9 makes it 2.0 % smaller than gzip:1 and costs 5.1 times the CPU.`
fn level_sentence(name: &str, pair: &CodecLevels) -> Option<String> {
    let (least, most) = (pair.least, pair.most);
    let cpu: Quantity = number(most.cpu_s? / least.cpu_s.filter(|s| *s > 0.0)?);
    let share = most.output_bytes / least.output_bytes;
    let change = match share {
        share if share < 0.9995 => format!("{} smaller", percent(1.0 - share)),
        share if share > 1.0005 => format!("{} larger", percent(share - 1.0)),
        _ => "no smaller".to_owned(),
    };
    let names = [least, most].map(|row| arm_name(&row.arm));
    Some(format!("{name}: {} makes it {change} than {} and costs {cpu} times the CPU.", names[1], names[0]))
}

/// The ratio of all files together by the codec that packs them best.
fn overall(table: &CompressionTable) -> Option<String> {
    let ratio = |row: &&CompressionRow| row.ratio().unwrap_or(0.0);
    let best = table.usable_rows().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let codec = arm_name(&best.arm);
    Some(format!("All {} files together: {codec} makes them {} times smaller.", table.files, number(best.ratio()?)))
}

/// The codecs that nothing beats, for a caption.
pub fn front_names(table: &CompressionTable) -> String {
    join_and(&table.front().iter().map(|row| arm_name(&row.arm)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compressed;

    #[test]
    fn the_answer_names_the_smallest_the_fastest_and_what_levels_gain() {
        let sentences = compression_sentences(&compressed());
        assert_eq!(
            sentences[..4],
            [
                "a.ibd: gzip:9 makes it smallest: 2.56 times smaller in 20.0 s (5.00 MB/s), 20.0 s of CPU.",
                "a.ibd: of those that make it smaller lz4 is the fastest: 2.00 times smaller in 500 ms (200 MB/s), 500 ms of CPU.",
                "a.ibd: lz4 is on disk 50 % sooner than none.",
                "a.ibd: gzip:9 makes it 2.5 % smaller than gzip:1 and costs 5.00 times the CPU.",
            ]
        );
        assert_eq!(
            sentences.last().map(String::as_str),
            Some("All 2 files together: gzip:9 makes them 2.56 times smaller.")
        );
    }
}
