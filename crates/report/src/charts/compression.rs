//! Ratio against speed: one dot for each codec, and the front of those that nothing beats.
//!
//! In: the files of a run that were compressed. Out: one figure per file, and one of all files. Limits: the levels of a codec share a
//! colour and are joined in the order of the run, in which the legend names them.

use super::chart::Chart;
use super::sweep::LINES_MAX;
use crate::format;
use crate::sheet::conditions;
use crate::wording::compression::{arm_name, file_name, front_names};
use analysis::{Analysis, CompressionRow, CompressionTable, PointAnalysis, compression_tables};
use plot::figure::{
    Axis, AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke,
};

pub const CHART: Chart = Chart {
    id: "compression",
    title: "Ratio against speed",
    help: "Each dot is a codec: the higher the smaller the result, the further right the sooner it is on disk. Nothing is both higher \
           and further right than the dashed line (the Pareto front).",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::compressed,
};

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let tables = compression_tables(&analysis.points);
    tables.iter().enumerate().filter_map(|(nth, table)| figure(analysis, nth + 1, table)).collect()
}

/// The levels of one codec: its name, the levels, and where each of them is.
type CodecFamily = (String, Vec<i32>, Vec<(f64, f64)>);

fn figure(analysis: &Analysis, nth: usize, table: &CompressionTable) -> Option<Figure> {
    let mut families: Vec<CodecFamily> = Vec::new();
    for row in &table.rows {
        let Some(place) = place(row) else { continue };
        let (name, level) =
            row.leveled_name().map_or_else(|| (arm_name(&row.arm), None), |(name, level)| (name, Some(level)));
        match families.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, levels, places)) => {
                levels.extend(level);
                places.push(place);
            }
            None => families.push((name, level.into_iter().collect(), vec![place])),
        }
    }
    if families.is_empty() {
        return None;
    }
    let front: Vec<(f64, f64)> = table.front().into_iter().filter_map(place).collect();
    let mut series =
        vec![DataSeries::named("Pareto front".to_owned(), Colour::Black, vec![Mark::Line(Stroke::Dashed, front)])];
    series.extend(families.into_iter().enumerate().map(|(nth, (name, levels, places))| {
        let levels: Vec<String> = levels.iter().map(i32::to_string).collect();
        let name = if levels.is_empty() { name } else { format!("{name} {}", levels.join(", ")) };
        let marks = vec![Mark::Line(Stroke::Thin, places.clone()), Mark::Dots(4.5, places)];
        DataSeries::named(name, SeriesStyle::nth(nth % LINES_MAX), marks)
    }));
    let y = Axis::from_zero("ratio", AxisUnit::Count);
    let panel = Panel { title: String::new(), note: String::new(), y, height: 320.0, series, shades: Vec::new() };
    let x = Axis {
        label: "MB/s until on disk (log scale)".to_owned(),
        scale: AxisScale::Log,
        unit: AxisUnit::Count,
        range: None,
    };
    let name = table.file.as_deref().map_or("all files together", file_name);
    let points: Vec<&PointAnalysis> = analysis.points.iter().filter(|point| point.compression.is_some()).collect();
    Some(Figure {
        id: format!("compression-{nth}-{}", format::slug(name)),
        title: format!("Ratio against speed: {name}"),
        conditions: conditions(analysis, &points),
        caption: format!(
            "n = {} repeats of each; the best time of them. On the front: {}.",
            table.rows.iter().map(|row| row.repeats).min().unwrap_or(0),
            front_names(table)
        ),
        body: FigureBody::Panels { x, panels: vec![panel] },
    })
}

/// Speed in MB/s, and ratio.
fn place(row: &CompressionRow) -> Option<(f64, f64)> {
    let (speed, ratio) = (row.bytes_per_s()? / 1e6, row.ratio()?);
    (speed > 0.0 && speed.is_finite() && ratio.is_finite()).then_some((speed, ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compressed, panels};

    #[test]
    fn the_front_goes_through_what_nothing_beats_and_levels_share_a_colour() {
        let figures = draw(&compressed());
        assert_eq!(figures.len(), 3);
        let series = &panels(&figures[0])[0].series;
        let names: Vec<&str> = series.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(names, ["Pareto front", "none", "lz4", "slow", "gzip 1, 9"]);
        let Mark::Line(Stroke::Dashed, front) = &series[0].marks[0] else { panic!("a line") };
        assert_eq!(front.len(), 3);
        assert!(front.is_sorted_by(|a, b| a.0 >= b.0 && a.1 <= b.1), "{front:?}");
    }
}
