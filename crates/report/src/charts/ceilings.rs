//! What limits each point: a strip for each, with how far it went towards every limit, and what the time of its threads was made of.
//!
//! In: the judged bottlenecks, the best rates of disks, and the shares of threads. Out: a figure for each forty points, repeats taken
//! together. Limits: a bar is full where the resource would be named the bottleneck, which is less than all of it; a resource without a
//! counter has no column, and only those that come nearest to their limits have one.

use super::chart::Chart;
use super::threads::STATES;
use crate::palette::Palette;
use crate::render::labels::short_names;
use crate::sheet::conditions;
use crate::wording::finding::bottleneck::{short_cause_name, short_name};
use crate::wording::label::point_phrases;
use crate::wording::list::join_and;
use crate::wording::quantity::percent;
use analysis::DetailKind;
use analysis::evidence::cause::{Bottlenecks, Limit};
use analysis::findings::load_line::CeilingUse;
use analysis::{Analysis, PointAnalysis, RepeatRows, StateShares};
use plot::figure::{Colour, Figure, FigureBody, StripCell, StripColumn, StripRow};
use std::collections::BTreeSet;

pub const CHART: Chart = Chart {
    id: "ceilings",
    title: "What limits each point",
    help: "A bar that reaches its line has reached the limit from which that resource is named, which is in the head of its column. The \
           last column is the time of the threads at work: of the engine if it has a process of its own, else of the clients.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: tests::judged,
};

/// More strips than this are begun on a further figure.
const ROWS_MAX: usize = 40;
/// More columns leave no room for bars.
const LIMITS_MAX: usize = 6;

/// One column: a limit, or the best rate that the disk has shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ceiling {
    Limit(Limit),
    BestRate,
}

/// How far a point went towards a limit.
struct LimitReached {
    ceiling: Ceiling,
    /// The figure that counters show.
    value: f64,
    /// The same as a share of what names the limit.
    share: f64,
    is_cause: bool,
}

fn draw(analysis: &Analysis) -> Vec<Figure> {
    let rows = RepeatRows::from_analysis(analysis);
    let judged = |point: &&PointAnalysis| point.bottlenecks.as_ref().is_some_and(|found| !found.causes.is_empty());
    let points: Vec<&PointAnalysis> = rows.analysis.points.iter().filter(judged).collect();
    let parts = points.chunks(points.len().div_ceil(points.len().div_ceil(ROWS_MAX).max(1)).max(1)).enumerate();
    parts.map(|(nth, part)| draw_part(analysis, nth, part)).collect()
}

fn draw_part(analysis: &Analysis, nth: usize, points: &[&PointAnalysis]) -> Figure {
    let (ceilings, left_out) = columns(points);
    let has_times = points.iter().any(|point| time_shares(point).is_some());
    let palette = Palette::new(analysis);
    let labels = points.iter().map(|point| point_phrases(point)).collect();
    let row =
        |(point, name): (&&PointAnalysis, String)| StripRow { name, ..strip(point, &ceilings, has_times, &palette) };
    let rows: Vec<StripRow> = points.iter().zip(short_names(labels)).map(row).collect();
    Figure {
        id: if nth == 0 { CHART.id.to_owned() } else { format!("{}-{}", CHART.id, nth + 1) },
        title: "Bottleneck, share of each limit, and where the time goes".to_owned(),
        conditions: conditions(analysis, points),
        caption: left_out,
        body: FigureBody::Strips {
            legend: if has_times { legend(points) } else { Vec::new() },
            columns: heads(&ceilings, points, has_times),
            rows,
        },
    }
}

/// The limits that some point came nearest to, in their order, and the words for those that are not drawn.
fn columns(points: &[&PointAnalysis]) -> (Vec<Ceiling>, String) {
    let mut nearest: Vec<(Ceiling, f64)> = Vec::new();
    for reached in points.iter().flat_map(|point| reached(point)) {
        match nearest.iter_mut().find(|known| known.0 == reached.ceiling) {
            Some(known) => known.1 = known.1.max(reached.share),
            None => nearest.push((reached.ceiling, reached.share)),
        }
    }
    nearest.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let rest = nearest.split_off(nearest.len().min(LIMITS_MAX));
    let names: Vec<String> = rest.iter().map(|(ceiling, _)| ceiling_name(*ceiling).to_owned()).collect();
    let note = rest.first().map(|(_, most)| {
        format!("Not drawn, all at most at {} of their limits: {}.", percent(*most), join_and(&names))
    });
    nearest.sort_by_key(|known| known.0);
    (nearest.into_iter().map(|known| known.0).collect(), note.unwrap_or_default())
}

/// What the counters of `point` show of each limit.
fn reached(point: &PointAnalysis) -> Vec<LimitReached> {
    let Some(found) = &point.bottlenecks else { return Vec::new() };
    let causes = found.causes.iter().filter(|cause| is_resource(cause.limit())).map(|cause| LimitReached {
        ceiling: Ceiling::Limit(cause.limit()),
        value: cause.share.0,
        share: 1.0,
        is_cause: true,
    });
    let others =
        found.ruled_out.iter().filter(|one| is_resource(one.code) && !found.has(one.code)).map(|one| LimitReached {
            ceiling: Ceiling::Limit(one.code),
            value: one.value,
            share: if one.limit > 0.0 { one.value / one.limit } else { 0.0 },
            is_cause: false,
        });
    let best = point.findings.iter().filter_map(|finding| CeilingUse::in_detail(&finding.detail)).map(|used| {
        LimitReached { ceiling: Ceiling::BestRate, value: used.used_share.0, share: used.used_share.0, is_cause: false }
    });
    causes.chain(others).chain(best).collect()
}

/// Whether a limit is something of which a share is used.
fn is_resource(limit: Limit) -> bool {
    limit.is_cause() && !limit.is_latency()
}

fn ceiling_name(ceiling: Ceiling) -> &'static str {
    match ceiling {
        Ceiling::Limit(limit) => short_name(limit),
        Ceiling::BestRate => "best rate of the disk",
    }
}

fn heads(ceilings: &[Ceiling], points: &[&PointAnalysis], has_times: bool) -> Vec<StripColumn> {
    let head = |label: &str, width: f64| StripColumn { label: label.to_owned(), width };
    let limits = ceilings.iter().map(|ceiling| head(&head_of(*ceiling, points), 1.0));
    let times = has_times.then(|| head("where the time of threads goes", 2.4));
    std::iter::once(head("bottleneck", 2.1)).chain(limits).chain(times).collect()
}

/// `locks (30 %)`: the name, with the share from which it is named if some point shows it.
fn head_of(ceiling: Ceiling, points: &[&PointAnalysis]) -> String {
    let name = ceiling_name(ceiling);
    let ruled_out = points.iter().flat_map(|point| &point.bottlenecks).flat_map(|found| &found.ruled_out);
    let mut limits = ruled_out.filter(|one| ceiling == Ceiling::Limit(one.code)).map(|one| one.limit);
    match limits.next() {
        // No line of a head ends before a percent sign.
        Some(limit) if limits.all(|other| other == limit) => {
            format!("{name} ({})", percent(limit).to_string().replace(' ', "\u{a0}"))
        }
        _ => name.to_owned(),
    }
}

fn strip(point: &PointAnalysis, ceilings: &[Ceiling], has_times: bool, palette: &Palette) -> StripRow {
    let own = reached(point);
    let limit = |ceiling: &Ceiling| match own.iter().find(|reached| reached.ceiling == *ceiling) {
        None => StripCell::Missing,
        Some(reached) => {
            let text = percent(reached.value).to_string();
            StripCell::Share { share: reached.share, text, is_reached: reached.is_cause }
        }
    };
    let words = point.bottlenecks.as_ref().map_or(String::new(), names);
    let times =
        has_times.then(|| time_shares(point).map_or(StripCell::Missing, |shares| StripCell::Parts(parts(shares))));
    StripRow {
        name: String::new(),
        style: palette.style(point),
        cells: std::iter::once(StripCell::Words(words)).chain(ceilings.iter().map(limit)).chain(times).collect(),
    }
}

/// `disk, locks`
fn names(found: &Bottlenecks) -> String {
    let names: Vec<&str> = found.causes.iter().map(short_cause_name).collect();
    names.join(", ")
}

/// Of the engine if it has threads of its own, else of the clients.
fn time_shares(point: &PointAnalysis) -> Option<&StateShares> {
    [model::ThreadOf::Engine, model::ThreadOf::Client].into_iter().find_map(|of| point.threads.of(of))
}

fn parts(shares: &StateShares) -> Vec<(f64, Colour)> {
    STATES.iter().map(|(state, _, colour)| (shares.share(*state), *colour)).filter(|part| part.0 > 0.0).collect()
}

/// The states that are seen in any strip.
fn legend(points: &[&PointAnalysis]) -> Vec<(String, Colour)> {
    let seen: BTreeSet<usize> = points
        .iter()
        .filter_map(|point| time_shares(point))
        .flat_map(|shares| (0..STATES.len()).filter(|nth| shares.share(STATES[*nth].0) >= 0.005))
        .collect();
    seen.into_iter().map(|nth| (STATES[nth].1.to_owned(), STATES[nth].2)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{quick, waiting};
    use analysis::evidence::cause::{Cause, LimitEvidence, RuledOut};
    use analysis::math::units::Share;

    /// A run of which every point is bound by its clients.
    pub(crate) fn judged() -> Analysis {
        let mut analysis = waiting();
        let evidence = LimitEvidence::Client { cores_share: Share(0.84) };
        let ruled_out = vec![
            RuledOut { code: Limit::Disk, value: 0.45, limit: 0.9 },
            RuledOut { code: Limit::Cpu, value: 0.3, limit: 0.9 },
        ];
        for point in &mut analysis.points {
            let causes = vec![Cause::new(evidence, 0.84)];
            point.bottlenecks = Some(Bottlenecks { causes, ruled_out: ruled_out.clone() });
        }
        analysis
    }

    #[test]
    fn a_bar_is_its_share_of_the_limit_and_the_bottleneck_is_full() {
        let figure = draw(&judged()).remove(0);
        let FigureBody::Strips { columns, rows, legend } = &figure.body else { panic!("strips") };
        let heads: Vec<&str> = columns.iter().map(|column| column.label.as_str()).collect();
        assert_eq!(heads[..4], ["bottleneck", "disk (90\u{a0}%)", "CPU (90\u{a0}%)", "clients"]);
        let StripCell::Share { share, text, is_reached } = &rows[0].cells[1] else { panic!("{:?}", rows[0]) };
        assert!((share - 0.5).abs() < 1e-9 && text == "45 %" && !is_reached, "{share} {text}");
        let StripCell::Share { share, text, is_reached } = &rows[0].cells[3] else { panic!("{:?}", rows[0]) };
        assert!((*share, text.as_str(), *is_reached) == (1.0, "84 %", true));
        assert!(!legend.is_empty() && rows.iter().any(|row| matches!(row.cells.last(), Some(StripCell::Parts(_)))));
    }

    #[test]
    fn only_the_limits_that_are_nearest_have_columns_and_the_others_are_named() {
        let mut analysis = judged();
        let all = [Limit::Network, Limit::Memory, Limit::Locks, Limit::Compaction, Limit::Checkpoint, Limit::Sync];
        for point in &mut analysis.points {
            let more = all.iter().enumerate().map(|(nth, code)| RuledOut {
                code: *code,
                value: 0.01 * nth as f64,
                limit: 1.0,
            });
            point.bottlenecks.as_mut().unwrap().ruled_out.extend(more);
        }
        let figure = draw(&analysis).remove(0);
        let FigureBody::Strips { columns, .. } = &figure.body else { panic!("strips") };
        assert!(columns.len() <= LIMITS_MAX + 2);
        assert!(
            figure.caption.contains("network and memory") || figure.caption.contains("memory and network"),
            "{}",
            figure.caption
        );
    }

    #[test]
    fn points_without_a_judgement_have_no_strip() {
        let mut analysis = quick();
        analysis.points.iter_mut().for_each(|point| point.bottlenecks = None);
        assert!(draw(&analysis).is_empty());
    }
}
