//! The best rates that a disk has shown, as lines in the panels of what it does.
//!
//! In: what the finding `load-line` compared a point with: measured by `plimsoll disk`, or by another point of the run. Out: a dashed line
//! for each, in the unit in which it was compared. Limits: a rate far above all that was drawn would press that to the floor; it is
//! written next to the title.

use super::axes::time_range;
use crate::format;
use crate::palette;
use analysis::evidence::{CeilingMix, ShownCeiling};
use analysis::findings::load_line::CeilingUse;
use analysis::{DetailKind, PointAnalysis};
use plot::figure::{Colour, DataSeries, Mark, Panel, SeriesStyle, Stroke};

/// What the panel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RateUnit {
    Operations,
    Megabytes,
}

/// A line higher than so many times what was drawn is written and not drawn.
const DRAWN_MAX: f64 = 4.0;

/// `panel` with the best rates that `point` was compared with in this unit.
pub(super) fn with_best_rates(mut panel: Panel, point: &PointAnalysis, unit: RateUnit) -> Panel {
    let Some((from, to)) = time_range([point]) else { return panel };
    let Some(used) = used_ceilings(point).filter(|used| unit_of(used) == unit) else { return panel };
    let drawn = panel.series.iter().flat_map(|series| &series.marks).filter_map(|mark| match mark {
        Mark::Line(_, points) => points.iter().map(|place| place.1).filter(|y| y.is_finite()).reduce(f64::max),
        _ => None,
    });
    let highest = drawn.fold(0.0, f64::max);
    let (near, far): (Vec<_>, Vec<_>) =
        used.ceilings.iter().partition(|ceiling| height_of(ceiling, unit) <= DRAWN_MAX * highest);
    panel.series.extend(near.into_iter().map(|ceiling| {
        let y = height_of(ceiling, unit);
        let (name, colour) = look_of(ceiling);
        DataSeries::named(
            name,
            SeriesStyle::of_line(colour),
            vec![Mark::Line(Stroke::Dashed, vec![(from, y), (to, y)])],
        )
    }));
    let written = far.iter().map(|ceiling| format!("{}: {}", look_of(ceiling).0, amount(ceiling, unit)));
    panel.note = written.collect::<Vec<_>>().join("; ");
    panel
}

/// What the dashed lines are, for captions; empty if there is none.
pub(super) fn best_rates_note(point: &PointAnalysis) -> String {
    let Some(used) = used_ceilings(point) else { return String::new() };
    let shown = used.ceilings.iter().map(|ceiling| {
        let origin = ceiling.point.map_or("measured by plimsoll disk".to_owned(), |id| format!("shown by point {id}"));
        format!("{}, {} blocks, {} in flight, {origin}", look_of(ceiling).0, ceiling.block_bytes, ceiling.depth)
    });
    format!(" Best rates of the disk: {}.", shown.collect::<Vec<_>>().join("; "))
}

fn used_ceilings(point: &PointAnalysis) -> Option<&CeilingUse> {
    point.findings.iter().find_map(|finding| CeilingUse::in_detail(&finding.detail))
}

/// Operations smaller than the blocks of the ceiling are compared by their number, larger ones by their bytes.
fn unit_of(used: &CeilingUse) -> RateUnit {
    let largest = used.ceilings.iter().map(|ceiling| ceiling.block_bytes.0).max().unwrap_or(0);
    if used.bytes_per_op <= largest as f64 { RateUnit::Operations } else { RateUnit::Megabytes }
}

fn height_of(ceiling: &ShownCeiling, unit: RateUnit) -> f64 {
    match unit {
        RateUnit::Operations => ceiling.ops_per_s,
        RateUnit::Megabytes => ceiling.ops_per_s * ceiling.block_bytes.0 as f64 / 1e6,
    }
}

fn amount(ceiling: &ShownCeiling, unit: RateUnit) -> String {
    let height = format::number(height_of(ceiling, unit));
    match unit {
        RateUnit::Operations => format!("{height}/s"),
        RateUnit::Megabytes => format!("{height} MB/s"),
    }
}

/// The name and the colour of the line, which are those of the operations that it is of.
fn look_of(ceiling: &ShownCeiling) -> (&'static str, Colour) {
    match ceiling.mix {
        CeilingMix::Reads => ("best reads", palette::SLATE),
        CeilingMix::Writes => ("best writes", palette::CLAY),
        CeilingMix::Both { .. } => ("best of both", Colour::Black),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{panels, quick};
    use analysis::math::units::Share;
    use analysis::{Analysis, Finding, Severity};
    use model::Bytes;

    /// The quick run, whose first point did 5,900 reads a second and is compared with a disk that did `best` of that block.
    fn compared(best: f64, bytes_per_op: f64) -> Analysis {
        let mut analysis = quick();
        analysis.points.truncate(1);
        let ceiling = ShownCeiling {
            mix: CeilingMix::Reads,
            block_bytes: Bytes(16_384),
            depth: 32,
            ops_per_s: best,
            point: None,
        };
        let used = CeilingUse {
            used_share: Share(5_900.0 / best),
            ceilings: vec![ceiling],
            ops_per_s: 5_900.0,
            bytes_per_op,
            counted_at_clients: false,
            measured: None,
            kernel: None,
        };
        analysis.points[0].findings.push(Finding::new(Severity::Note, used));
        analysis
    }

    fn disk_panels(analysis: &Analysis) -> Vec<Panel> {
        let figure = super::super::resources::CHART.figures(analysis, crate::charts::PointCharts::All).remove(0);
        assert!(
            figure.caption.contains(" Best rates of the disk: best reads, 16 KiB blocks, 32 in flight"),
            "{}",
            figure.caption
        );
        panels(&figure).iter().filter(|panel| panel.title.starts_with("Disk ")).cloned().collect()
    }

    fn dashed(panel: &Panel) -> Vec<f64> {
        let marks = panel.series.iter().flat_map(|series| &series.marks);
        let heights = marks.filter_map(|mark| match mark {
            Mark::Line(Stroke::Dashed, points) => Some(points[0].1),
            _ => None,
        });
        heights.collect()
    }

    #[test]
    fn the_best_rate_is_a_dashed_line_over_the_whole_time_in_the_unit_of_its_comparison() {
        let found = disk_panels(&compared(20_000.0, 16_384.0));
        assert_eq!((dashed(&found[0]), dashed(&found[1])), (vec![20_000.0], vec![]));
        let larger = disk_panels(&compared(10_000.0, 32_768.0));
        assert_eq!((dashed(&larger[0]), dashed(&larger[1])), (vec![], vec![163.84]));
    }

    #[test]
    fn a_rate_far_above_what_was_done_is_written_and_not_drawn() {
        let found = disk_panels(&compared(60_000.0, 16_384.0));
        assert_eq!((dashed(&found[0]), found[0].note.as_str()), (vec![], "best reads: 60,000/s"));
    }

    #[test]
    fn a_point_that_was_compared_with_nothing_has_no_line() {
        let figure = super::super::resources::CHART.figures(&quick(), crate::charts::PointCharts::All).remove(0);
        assert!(panels(&figure).iter().all(|panel| panel.title == "Throughput" || dashed(panel).is_empty()));
    }
}
