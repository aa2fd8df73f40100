//! Who used the CPUs: the engine, plimsoll's clients, the kernel's threads, other processes, the hypervisor.
//!
//! In: the CPU time of each owner at each point. Out: a figure with a bar for each place of the run, and a panel over time for the chart of
//! CPU and disk. Limits: means over the part of the run phase that counts, and over repeats; in percent of all CPUs of the machine.

use super::below::panel;
use super::chart::Chart;
use super::counters::mean_values;
use super::stack::{AreaBound, percent_axis, stacked_percent};
use crate::palette;
use crate::sheet::{Row, conditions, sheets};
use crate::wording::label::phrases;
use crate::wording::quantity::percent;
use analysis::{Analysis, CpuByOwner, CpuOwner, PointAnalysis, Role, Span};
use plot::figure::{Colour, DataSeries, Figure, FigureBody, Mark, Panel, StackRow};

pub const CHART: Chart = Chart {
    id: "owners",
    title: "Who used the CPUs",
    help: "A bar is the CPU time of the machine that was used. If others, or the hypervisor, used much of it, the engine had less.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::shared_cpus,
};

const ROWS_MAX: usize = 40;
/// What is nowhere more than this share cannot be seen.
const SEEN_MIN: f64 = 0.005;

/// The name and the colour of an owner.
fn look_of(owner: CpuOwner) -> (&'static str, Colour) {
    match owner {
        CpuOwner::Engine => ("engine", palette::SLATE),
        CpuOwner::Plimsoll => ("plimsoll", palette::LILAC),
        CpuOwner::PlimsollWithEngine => ("engine, clients", palette::MIST),
        CpuOwner::KernelThreads => ("kernel threads", palette::ROSE),
        CpuOwner::Interrupts => ("interrupts", palette::SAND),
        CpuOwner::Others => ("others", palette::CLAY),
        CpuOwner::OthersWithEngine => ("others, server", palette::CLAY),
        CpuOwner::Hypervisor => ("steal", palette::ASH),
    }
}

/// The mean shares of a place, in the order in which they are stacked.
type OwnedShares = Vec<(CpuOwner, f64)>;

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let sheets = sheets(analysis);
    let rows = sheets.iter().flat_map(|sheet| &sheet.rows);
    let mut measured: Vec<(&Row, OwnedShares)> = rows.filter_map(|row| Some((row, mean_shares(row)?))).collect();
    // Repeats are ordered by groups; without repeats the order of measurement stays.
    if measured.iter().all(|(row, _)| row.points.len() == 1) {
        measured.sort_by_key(|(row, _)| row.points[0].id);
    }
    let figures = measured.len().div_ceil(ROWS_MAX).max(1);
    let parts = measured.chunks(measured.len().div_ceil(figures).max(1)).enumerate();
    parts.map(|(nth, rows)| draw_part(analysis, nth, rows)).collect()
}

/// The means over the repeats of a place that have the owners of the first.
fn mean_shares(row: &Row) -> Option<OwnedShares> {
    let all: Vec<OwnedShares> = row.points.iter().filter_map(|point| shares_of(point)).collect();
    let owners: Vec<CpuOwner> = all.first()?.iter().map(|(owner, _)| *owner).collect();
    let alike: Vec<&OwnedShares> =
        all.iter().filter(|shares| shares.iter().map(|(owner, _)| owner).eq(&owners)).collect();
    let mean = |nth: usize| alike.iter().map(|shares| shares[nth].1).sum::<f64>() / alike.len() as f64;
    Some(owners.iter().enumerate().map(|(nth, owner)| (*owner, mean(nth))).collect())
}

fn shares_of(point: &PointAnalysis) -> Option<OwnedShares> {
    let by_owner = CpuByOwner::of_point(point)?;
    let means = by_owner.mean_in(&point.series.as_ref()?.counted)?;
    Some(by_owner.owners.into_iter().zip(means).collect())
}

fn draw_part(analysis: &Analysis, nth: usize, rows: &[(&Row, OwnedShares)]) -> Figure {
    let points: Vec<&PointAnalysis> = rows.iter().flat_map(|(row, _)| row.points.iter().copied()).collect();
    let mut owners: Vec<CpuOwner> = rows.iter().flat_map(|(_, shares)| seen(shares)).map(|(owner, _)| owner).collect();
    owners.sort();
    owners.dedup();
    let legend = owners.iter().map(|owner| look_of(*owner)).map(|(name, colour)| (name.to_owned(), colour));
    Figure {
        id: if nth == 0 { "owners".to_owned() } else { format!("owners-{}", nth + 1) },
        title: "Who used the CPUs".to_owned(),
        conditions: conditions(analysis, &points),
        caption: format!(
            "Percent of all CPUs of the machine, means over the part of the run phase that counts.{}",
            owners_note(rows.iter().flat_map(|(_, shares)| shares).map(|(owner, _)| *owner))
        ),
        body: FigureBody::Stacks { legend: legend.collect(), rows: rows.iter().map(bar).collect() },
    }
}

fn seen(shares: &OwnedShares) -> impl Iterator<Item = (CpuOwner, f64)> {
    shares.iter().copied().filter(|(_, share)| *share >= SEEN_MIN)
}

fn bar((row, shares): &(&Row, OwnedShares)) -> StackRow {
    let words: Vec<String> =
        seen(shares).map(|(owner, share)| format!("{} {}", look_of(owner).0, percent(share))).collect();
    StackRow {
        name: name(row),
        parts: seen(shares).map(|(owner, share)| (100.0 * share, look_of(owner).1)).collect(),
        whole: format!("{} used", percent(shares.iter().map(|(_, share)| share).sum())),
        detail: words.join("; "),
    }
}

/// The label of the point, or what its repeats have in common of it.
fn name(row: &Row) -> String {
    let first = row.points[0];
    let is_of_all = |role: Role| row.points.len() == 1 || role != Role::Repeat;
    let label = first.label.group.iter().chain(&first.label.place);
    phrases(label.filter(|setting| is_of_all(setting.role))).join(" ")
}

/// What the names of `owners` do not show, for captions.
fn owners_note(owners: impl Iterator<Item = CpuOwner>) -> String {
    let owners: Vec<CpuOwner> = owners.collect();
    let has = |owner| owners.contains(&owner);
    let mut note = String::new();
    if has(CpuOwner::PlimsollWithEngine) {
        note += " An embedded engine works in the threads of plimsoll's clients.";
    }
    if has(CpuOwner::OthersWithEngine) {
        note += " The server is not seen and counts as one of the others.";
    }
    if !has(CpuOwner::KernelThreads) {
        note += " Threads of the kernel count as others.";
    }
    note
}

/// The owners whose time at `point` cannot be separated, for captions.
pub(super) fn note_of_point(point: &PointAnalysis) -> String {
    CpuByOwner::of_point(point).map_or(String::new(), |by_owner| owners_note(by_owner.owners.into_iter()))
}

/// Who used the CPUs of `point` over time, stacked; `None` if it is not known.
pub(super) fn panel_over_time(point: &PointAnalysis, (from, to): (f64, f64)) -> Option<Panel> {
    let mut by_owner = CpuByOwner::of_point(point)?;
    by_owner.stretches.retain(|stretch| (from..=to).contains(&stretch.span.middle_s()));
    let areas = stacked_percent(&amounts(&by_owner));
    let series = by_owner.owners.iter().zip(areas).filter(|(_, bounds)| is_seen(bounds)).map(|(owner, bounds)| {
        let (name, colour) = look_of(*owner);
        DataSeries::named(name, colour, vec![Mark::Area(bounds)])
    });
    let series: Vec<DataSeries> = series.collect();
    let y = percent_axis("percent of all CPUs, stacked");
    (!series.is_empty()).then(|| panel(point, "CPU by owner", y, series))
}

/// The shares of each owner over time, and last the share that was idle.
fn amounts(by_owner: &CpuByOwner) -> Vec<Vec<(f64, f64)>> {
    let over_time = |share: &dyn Fn(&[f64]) -> f64| {
        let values: Vec<(Span, f64)> =
            by_owner.stretches.iter().map(|stretch| (stretch.span, share(&stretch.shares))).collect();
        mean_values(&values).iter().map(|(span, value)| (span.middle_s(), *value)).collect::<Vec<_>>()
    };
    let owned = (0..by_owner.owners.len()).map(|nth| over_time(&|shares: &[f64]| shares[nth]));
    let unused = over_time(&|shares: &[f64]| (1.0 - shares.iter().sum::<f64>()).max(0.0));
    owned.chain([unused]).collect()
}

fn is_seen(bounds: &[AreaBound]) -> bool {
    bounds.iter().any(|(_, low, high)| high - low >= 100.0 * SEEN_MIN)
}

#[cfg(test)]
mod tests {
    use super::super::axes::time_range;
    use super::*;
    use crate::testing::{quick, shared_cpus};
    use model::CounterRole;

    #[test]
    fn each_place_has_a_bar_whose_parts_are_the_owners() {
        let figure = draw(&shared_cpus()).remove(0);
        let FigureBody::Stacks { legend, rows } = &figure.body else { panic!("bars") };
        assert_eq!(rows.len(), quick().points.len());
        let names: Vec<&str> = legend.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["engine", "plimsoll", "interrupts", "others", "steal"]);
        // 0.4 and 0.2 of two CPUs.
        let [(engine, palette::SLATE), (plimsoll, palette::LILAC), ..] = rows[0].parts[..] else {
            panic!("{:?}", rows[0])
        };
        assert!((engine - 20.0).abs() < 2.0 && (plimsoll - 10.0).abs() < 1.0, "{engine} {plimsoll}");
        assert!(figure.caption.ends_with(" Threads of the kernel count as others."), "{}", figure.caption);
    }

    #[test]
    fn the_panel_is_stacked_up_to_a_hundred_percent_at_most_within_the_time_that_is_drawn() {
        let analysis = shared_cpus();
        let point = &analysis.points[0];
        let (from, to) = time_range([point]).expect("it ran");
        let panel = panel_over_time(point, (from, to)).expect("it was counted");
        let mut below: Option<Vec<f64>> = None;
        for series in &panel.series {
            let Mark::Area(bounds) = &series.marks[0] else { panic!("an area") };
            assert!(bounds.iter().all(|(x, low, high)| (from..=to).contains(x) && low <= high && *high <= 100.1));
            let lows: Vec<f64> = bounds.iter().map(|bound| bound.1).collect();
            assert!(below.is_none_or(|below| below.iter().zip(&lows).all(|(high, low)| (high - low).abs() < 0.5)));
            below = Some(bounds.iter().map(|bound| bound.2).collect());
        }
        assert_eq!(panel.series.len(), 5);
    }

    #[test]
    fn what_cannot_be_told_apart_is_told() {
        use CpuOwner::{KernelThreads, Others, OthersWithEngine, Plimsoll, PlimsollWithEngine};
        let note = |owners: &[CpuOwner]| owners_note(owners.iter().copied());
        assert_eq!(note(&[Plimsoll, KernelThreads, Others]), "");
        assert!(note(&[PlimsollWithEngine, KernelThreads]).contains("embedded"));
        assert!(note(&[Plimsoll, OthersWithEngine, KernelThreads]).contains("not seen"));
    }

    #[test]
    fn without_plimsolls_own_time_nothing_is_drawn() {
        let mut analysis = quick();
        for series in analysis.points.iter_mut().filter_map(|point| point.series.as_mut()) {
            series.counters.retain(|counter| counter.role != Some(CounterRole::PlimsollCpu));
        }
        assert!(draw(&analysis).is_empty());
    }
}
