//! Hits per key: the charts of an access distribution that was drawn from.
//!
//! In: how often each row was hit, and how often the law expects it to be. Out: [`Hits`], small whatever the number of rows, and its
//! figures: hits by row, the same zoomed to a tenth of the rows around the most popular one, and hits by rank on logarithmic scales.
//! Limits: by row, a bin of neighbours shows its most hit row and its mean, since there are more rows than pixels; by rank, a bin
//! shows its mean.

use crate::format::count;
use plot::figure::{
    Axis, AxisScale, AxisUnit, Colour, DataSeries, Figure, FigureBody, Mark, Panel, SeriesStyle, Stroke,
};
use plot::numbers::plain_number;

/// Bins by row: one for each unit of a wide picture.
const BINS: usize = 700;
/// Bins by rank to a decade.
const PER_DECADE: f64 = 12.0;
/// The share of a panel's height that the name next to a line takes.
const NAME_HEIGHT: f64 = 16.0;
/// Fewer hits per key than this are below the axis: two keys in a thousand were hit at all.
const LEAST: f64 = 0.002;

/// One distribution, reduced to what is drawn of it.
#[derive(Clone, Debug)]
pub struct Hits {
    name: String,
    rows: usize,
    draws: u64,
    most: u32,
    all: Vec<Bin>,
    zoom: Zoom,
    /// (rank from 1, mean hits drawn, mean hits expected) of each bin.
    by_rank: Vec<(f64, f64, f64)>,
}

/// A tenth of the rows.
#[derive(Clone, Debug)]
struct Zoom {
    from: usize,
    to: usize,
    bins: Vec<Bin>,
}

/// Some neighbouring rows, taken together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bin {
    middle: f64,
    most: u32,
    mean: f64,
}

impl Hits {
    /// Of the distribution `name`: `drawn` and `expected` hits of each row, and all rows from the most to the least popular.
    ///
    /// # Panics
    /// If the three differ in length, or there is no row: a bug.
    pub fn new(name: &str, drawn: &[u32], expected: &[f64], order: &[u32]) -> Hits {
        assert!(!drawn.is_empty() && drawn.len() == expected.len() && drawn.len() == order.len());
        let rows = drawn.len();
        let from = zoom_from(order[0] as usize, rows);
        let to = rows.min(from + rows.div_ceil(10));
        Hits {
            name: name.to_owned(),
            rows,
            draws: drawn.iter().map(|hits| u64::from(*hits)).sum(),
            most: drawn.iter().copied().max().unwrap_or(0),
            all: bins(drawn, 0, rows),
            zoom: Zoom { from, to, bins: bins(drawn, from, to) },
            by_rank: by_rank(drawn, expected, order),
        }
    }
}

/// Where the tenth with the row `peak` in its middle begins, in steps of half a tenth, so that figures may be shared.
fn zoom_from(peak: usize, rows: usize) -> usize {
    let tenth = rows.div_ceil(10);
    let half = (tenth / 2).max(1);
    let from = peak.saturating_sub(tenth / 2) + half / 2;
    (from / half * half).min(rows - tenth)
}

fn bins(drawn: &[u32], from: usize, to: usize) -> Vec<Bin> {
    let rows = to - from;
    let wanted = rows.min(BINS);
    let edge = |i: usize| from + (rows as u128 * i as u128 / wanted as u128) as usize;
    let bin = |i: usize| {
        let (first, end) = (edge(i), edge(i + 1));
        let hits = &drawn[first..end];
        let sum: u64 = hits.iter().map(|hits| u64::from(*hits)).sum();
        let middle = (first + end - 1) as f64 / 2.0;
        Bin { middle, most: hits.iter().copied().max().unwrap_or(0), mean: sum as f64 / hits.len() as f64 }
    };
    (0..wanted).map(bin).collect()
}

/// Each of the first ranks by itself, then bins that grow with the rank.
fn by_rank(drawn: &[u32], expected: &[f64], order: &[u32]) -> Vec<(f64, f64, f64)> {
    let (mut all, mut first) = (Vec::new(), 0);
    while first < order.len() {
        let end = ((first as f64 + 1.0) * 10f64.powf(1.0 / PER_DECADE)).ceil() as usize - 1;
        let rows = &order[first..end.clamp(first + 1, order.len())];
        let mean =
            |of: &dyn Fn(usize) -> f64| rows.iter().map(|row| of(*row as usize)).sum::<f64>() / rows.len() as f64;
        let rank = ((first as f64 + 1.0) * (first + rows.len()) as f64).sqrt();
        all.push((rank, mean(&|row| f64::from(drawn[row])), mean(&|row| expected[row])));
        first += rows.len();
    }
    all
}

/// The figures of `all`, which were drawn over equally many rows.
pub fn figures(all: &[Hits]) -> Vec<Figure> {
    let mut figures = vec![by_row(all)];
    let mut windows: Vec<usize> = all.iter().map(|hits| hits.zoom.from).collect();
    windows.sort_unstable();
    windows.dedup();
    for from in windows {
        let inside: Vec<&Hits> = all.iter().filter(|hits| hits.zoom.from == from).collect();
        figures.push(zoomed(&inside));
    }
    figures.push(ranks(all));
    figures
}

fn sizes(hits: &Hits) -> String {
    format!("n = {} draws of {} keys", count(hits.draws), count(hits.rows as u64))
}

fn by_row(all: &[Hits]) -> Figure {
    let first = &all[0];
    let caption = format!(
        "{}. Light: the most hit row of each bin of {} neighbours; dark: the mean of the bin. Rows are in the order of the law: \
         row 0 of zipf is its most popular, and the load scatters its rows over the keys.",
        sizes(first),
        bin_rows(first.rows)
    );
    let panels = all.iter().map(|hits| row_panel(hits, &hits.all, None)).collect();
    figure("hits-by-row", "Hits per key".to_owned(), caption, (0.0, first.rows as f64), panels)
}

fn bin_rows(rows: usize) -> String {
    count(rows.div_ceil(rows.min(BINS)) as u64)
}

fn zoomed(all: &[&Hits]) -> Figure {
    let Zoom { from, to, .. } = all[0].zoom;
    let tenth = to - from;
    let caption = format!(
        "{}. A tenth of the rows, around the most popular one; bins of {} rows. Light: the most hit row of each bin; dark: the \
         mean. An axis that a few rows would fill is cut, and marked so.",
        sizes(all[0]),
        bin_rows(tenth)
    );
    let panels = all.iter().map(|hits| row_panel(hits, &hits.zoom.bins, cut(&hits.zoom.bins))).collect();
    let title = format!("Hits per key: keys {} to {}", count(from as u64), count(to as u64 - 1));
    let id = format!("hits-by-row-zoom-{}", from * 100 / all[0].rows);
    figure(&id, title, caption, (from as f64, to as f64), panels)
}

/// Where the axis ends so that 98 % of the bins fill it; `None` unless the others are more than twice as high.
fn cut(bins: &[Bin]) -> Option<f64> {
    let mut most: Vec<u32> = bins.iter().map(|bin| bin.most).collect();
    most.sort_unstable();
    let usual = 1.2 * f64::from(most[(most.len() * 98 / 100).min(most.len() - 1)].max(1));
    (f64::from(*most.last()?) > 2.0 * usual).then_some(usual)
}

fn row_panel(hits: &Hits, bins: &[Bin], cut: Option<f64>) -> Panel {
    let most = bins.iter().map(|bin| (bin.middle, 0.0, f64::from(bin.most))).collect();
    // An area as narrow as a single bin is too faint to be seen without its outline.
    let outline = bins.iter().map(|bin| (bin.middle, f64::from(bin.most))).collect();
    let mean = bins.iter().map(|bin| (bin.middle, bin.mean)).collect();
    let peak = format!("most hit key: {} hits", count(u64::from(hits.most)));
    Panel {
        title: hits.name.clone(),
        note: if cut.is_some() { format!("axis cut; {peak}") } else { peak },
        y: Axis { range: cut.map(|high| (0.0, high)), ..Axis::from_zero("hits", AxisUnit::Count) },
        height: 130.0,
        series: vec![
            DataSeries::unnamed(Colour::Sky, vec![Mark::Area(most), Mark::Line(Stroke::Thin, outline)]),
            DataSeries::unnamed(Colour::Blue, vec![Mark::Line(Stroke::Solid, mean)]),
        ],
        shades: Vec::new(),
    }
}

fn ranks(all: &[Hits]) -> Figure {
    let series = all.iter().enumerate().flat_map(|(i, hits)| {
        let (style, points) = (SeriesStyle::nth(i), &hits.by_rank);
        let drawn = points.iter().filter(|p| p.1 > 0.0).map(|p| (p.0, p.1)).collect();
        // A row that is expected less than once in a million times the draws would stretch the axis for nothing.
        let law = points.iter().filter(|p| p.2 > 1e-6).map(|p| (p.0, p.2)).collect();
        let dots = DataSeries::named(hits.name.clone(), style, vec![Mark::Dots(2.6, drawn)]);
        [DataSeries::unnamed(style, vec![Mark::Line(Stroke::Dashed, law)]), dots]
    });
    let log = |label: &str| Axis { label: label.to_owned(), scale: AxisScale::Log, unit: AxisUnit::Count, range: None };
    let least =
        all.iter().flat_map(|hits| &hits.by_rank).filter(|p| p.1 > 0.0).map(|p| p.1).fold(f64::INFINITY, f64::min);
    let most = all.iter().map(|hits| f64::from(hits.most)).fold(1.0, f64::max);
    let panel = Panel {
        title: String::new(),
        note: String::new(),
        y: Axis { range: Some((least.clamp(LEAST, 1.0), most)), ..log("hits per key (log scale)") },
        // Each distribution has its name on the right.
        height: (NAME_HEIGHT * all.len() as f64).max(340.0),
        series: series.collect(),
        shades: Vec::new(),
    };
    let caption = format!(
        "{}. Dots: drawn, each the mean of a bin, {} bins to a factor of 10. Dashed: the law; of zipf, hits(k) = hits(1) / k^theta.",
        sizes(&all[0]),
        plain_number(PER_DECADE)
    );
    let x = Axis { range: Some((1.0, all[0].rows as f64)), ..log("rank of the key, 1 the most popular (log scale)") };
    let body = FigureBody::Panels { x, panels: vec![panel] };
    Figure {
        id: "hits-by-rank".to_owned(),
        title: "Hits per key by rank".to_owned(),
        conditions: String::new(),
        caption,
        body,
    }
}

fn figure(id: &str, title: String, caption: String, range: (f64, f64), panels: Vec<Panel>) -> Figure {
    let x = Axis { label: "key".to_owned(), scale: AxisScale::Linear, unit: AxisUnit::Count, range: Some(range) };
    Figure { id: id.to_owned(), title, conditions: String::new(), caption, body: FigureBody::Panels { x, panels } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10,000 rows, the row `peak` with `hits`, all others with one.
    fn peaked(peak: usize, hits: u32) -> Hits {
        let mut drawn = vec![1; 10_000];
        drawn[peak] = hits;
        let expected: Vec<f64> = drawn.iter().map(|hits| f64::from(*hits)).collect();
        let mut order: Vec<u32> = (0..10_000).collect();
        order.swap(0, peak);
        Hits::new("peak", &drawn, &expected, &order)
    }

    #[test]
    fn a_single_popular_row_stays_visible_among_bins() {
        let hits = peaked(4_321, 500);
        assert_eq!(hits.all.len(), BINS);
        assert_eq!(hits.all.iter().filter(|bin| bin.most == 500).count(), 1);
        let rows: f64 = hits.all.iter().map(|bin| bin.mean * 10_000.0 / BINS as f64).sum();
        assert!((rows - 10_499.0).abs() < 200.0, "{rows}");
    }

    #[test]
    fn the_zoom_is_on_the_tenth_with_the_most_popular_row_and_its_axis_is_cut_where_a_row_fills_it() {
        let hits = peaked(4_321, 500);
        assert_eq!((hits.zoom.from, hits.zoom.to), (4_000, 5_000));
        assert_eq!([0, 999, 1_250, 9_999].map(|peak| zoom_from(peak, 10_000)), [0, 500, 1_000, 9_000]);
        assert_eq!(cut(&hits.zoom.bins), Some(1.2));
        assert_eq!(cut(&peaked(4_321, 2).zoom.bins), None);
        let ids: Vec<String> = figures(&[hits, peaked(3, 9)]).into_iter().map(|figure| figure.id).collect();
        assert_eq!(ids, ["hits-by-row", "hits-by-row-zoom-0", "hits-by-row-zoom-40", "hits-by-rank"]);
    }

    #[test]
    fn an_eighth_distribution_differs_from_the_first_and_thirty_have_room_for_their_names() {
        let drawn = |count: usize| {
            let all: Vec<Hits> = (0..count).map(|nth| peaked(nth, 5)).collect();
            figures(&all).pop().unwrap()
        };
        let figure = drawn(8);
        let [panel] = crate::testing::panels(&figure) else { panic!("one panel") };
        let named: Vec<&DataSeries> = panel.series.iter().filter(|series| !series.label.is_empty()).collect();
        assert_eq!(named.len(), 8);
        assert_eq!(named[7].style.colour, named[0].style.colour);
        assert_ne!(named[7].style.pattern, named[0].style.pattern);
        let figure = drawn(30);
        assert!(crate::testing::panels(&figure)[0].height >= 30.0 * 15.0);
        assert!(plot::render_png(&figure).is_ok());
    }

    #[test]
    fn ranks_are_binned_by_the_logarithm_and_every_row_is_in_one_bin() {
        let drawn: Vec<u32> = vec![3; 1_000];
        let order: Vec<u32> = (0..1_000).rev().collect();
        let bins = by_rank(&drawn, &[2.5; 1_000], &order);
        assert!(bins.iter().all(|(_, drawn, expected)| (*drawn, *expected) == (3.0, 2.5)));
        assert_eq!((bins[0].0, bins[1].0), (1.0, 2.0));
        assert!(bins.len() < 40 && bins.last().unwrap().0 < 1_000.0, "{}", bins.len());
    }

    #[test]
    fn few_rows_and_rows_without_hits_draw_finite_numbers() {
        for rows in [1usize, 2, 11] {
            let order: Vec<u32> = (0..rows as u32).collect();
            for hits in [0, 7] {
                let all = [Hits::new("few", &vec![hits; rows], &vec![0.0; rows], &order)];
                for figure in figures(&all) {
                    let svg = plot::render_svg(&figure);
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{rows} rows, {hits} hits: {svg}");
                }
            }
        }
    }
}
