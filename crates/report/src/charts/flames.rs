//! Flame graphs of an engine's stacks: at stalls and at random moments, each coloured by how it differs from the other.
//!
//! In: the stacks of points. Out: a figure for each point and sort of moment. Limits: a graph without the other sort has one colour. Drawn here
//! and not by a program for flame graphs: such pictures need a script, have no dark colours, and are no PNG.

use super::chart::Chart;
use crate::format;
use crate::sheet::conditions;
use crate::wording::label::point_label;
use crate::wording::quantity::{percent, plural, time};
use analysis::{Analysis, PointAnalysis, StackProfile, StackSample};
use model::FoldedStack;
use plot::figure::{Colour, Figure, FigureBody, FlameFrame};

pub const CHART: Chart = Chart {
    id: "stacks",
    title: "Stacks of the engine",
    help: "What the engine's threads do at stalls and at random moments. The top row has the names of the threads; below each function are \
           those that it calls. A bar is as wide as the number of threads that are in the function, on average over the snapshots. Orange bars \
           are in more threads at stalls, blue ones in fewer. Point at a bar for its whole name and its numbers.",
    draw,
    of_points: None,
    #[cfg(test)]
    fixture: crate::testing::stalled_stacks,
};

/// A difference below this share of the larger number is none.
const SHARE_MIN: f64 = 0.1;
/// The bars of functions that do not differ, and of those that cannot be compared.
const SAME: (Colour, f64) = (Colour::Black, 0.1);
const ALONE: (Colour, f64) = (Colour::Orange, 0.4);
/// How much of the paper the bar of a small difference hides, and of the greatest.
const FAINT: f64 = 0.2;
const FULL: f64 = 0.6;

fn draw(analysis: &Analysis) -> Vec<Figure> {
    analysis.points.iter().flat_map(|point| figures_of(analysis, point)).collect()
}

fn figures_of(analysis: &Analysis, point: &PointAnalysis) -> Vec<Figure> {
    let Some(profile) = &point.stacks else { return Vec::new() };
    let conditions = conditions(analysis, &[point]);
    let sorts = [(Moments::Stalls, &profile.stalls), (Moments::Random, &profile.random)];
    let drawn = sorts.into_iter().filter(|(_, sample)| !sample.stacks.is_empty());
    drawn
        .map(|(moments, sample)| {
            let figure = figure(point, profile, moments, sample);
            Figure { conditions: conditions.clone(), ..figure }
        })
        .collect()
}

/// Which snapshots a figure is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moments {
    Stalls,
    Random,
}

fn figure(point: &PointAnalysis, profile: &StackProfile, moments: Moments, sample: &StackSample) -> Figure {
    let (id, when) = match moments {
        Moments::Stalls => ("stalls", "at stalls"),
        Moments::Random => ("random", "at random moments"),
    };
    let is_compared = profile.stalls.snapshots > 0 && profile.random.snapshots > 0;
    let pair = StackPair { profile, moments, is_compared };
    let (own, other) = (by_frames(&pair.own().stacks), by_frames(&pair.other().stacks));
    let body = FigureBody::Flames { legend: legend(is_compared), roots: pair.frames(&own, &other, 0) };
    Figure {
        id: format!("{}-{}-{id}", CHART.id, point.id),
        title: format!("{}: what its threads do {when}", point_label(point)),
        conditions: String::new(),
        caption: caption(profile, sample, when),
        body,
    }
}

fn caption(profile: &StackProfile, sample: &StackSample, when: &str) -> String {
    let cost = &profile.cost;
    let stopped = format!("{} ({} of the run)", time(cost.stopped.0 as f64), percent(cost.share));
    let sees = if profile.sees_all_threads { "" } else { " It sees only threads on a CPU, several times each." };
    format!(
        "n = {} {when}, by {}.{sees} All {} of the point stopped the engine for {stopped}.",
        plural(sample.snapshots as u64, "snapshot"),
        profile.tool,
        plural((profile.stalls.snapshots + profile.random.snapshots) as u64, "snapshot"),
    )
}

fn legend(is_compared: bool) -> Vec<(String, Colour, f64)> {
    if !is_compared {
        return Vec::new();
    }
    vec![
        ("more threads at stalls".to_owned(), Colour::Vermillion, FULL),
        ("fewer".to_owned(), Colour::Blue, FULL),
        ("as many".to_owned(), SAME.0, SAME.1),
    ]
}

/// `stacks` in the order of their frames, in which those with the same beginning are neighbours.
fn by_frames(stacks: &[FoldedStack]) -> Vec<&FoldedStack> {
    let mut all: Vec<&FoldedStack> = stacks.iter().collect();
    all.sort_by(|a, b| a.frames.cmp(&b.frames));
    all
}

/// The stacks that are drawn, and those that they are compared with.
#[derive(Clone, Copy)]
struct StackPair<'a> {
    profile: &'a StackProfile,
    moments: Moments,
    is_compared: bool,
}

impl<'a> StackPair<'a> {
    fn own(self) -> &'a StackSample {
        if self.moments == Moments::Stalls { &self.profile.stalls } else { &self.profile.random }
    }

    fn other(self) -> &'a StackSample {
        if self.moments == Moments::Stalls { &self.profile.random } else { &self.profile.stalls }
    }

    /// The frames at `depth` of the stacks `own`, which have the same frames above, as has what is compared in `other`.
    fn frames(self, own: &[&FoldedStack], other: &[&FoldedStack], depth: usize) -> Vec<FlameFrame> {
        let frame_of = |stack: &FoldedStack| stack.frames.get(depth).cloned();
        let groups = own.chunk_by(|a, b| frame_of(a) == frame_of(b));
        let frames = groups.filter_map(|group| {
            let name = frame_of(group[0])?;
            let same = other.iter().filter(|stack| frame_of(stack).as_ref() == Some(&name)).copied();
            let same: Vec<&FoldedStack> = same.collect();
            let (here, there) = (mean(self.own(), group), mean(self.other(), &same));
            let (at_stalls, at_random) = if self.moments == Moments::Stalls { (here, there) } else { (there, here) };
            let (colour, opacity) = if self.is_compared { shade(at_stalls, at_random) } else { ALONE };
            let detail = self.detail(here, (at_stalls, at_random));
            Some(FlameFrame {
                name,
                value: here,
                detail,
                colour,
                opacity,
                callees: self.frames(group, &same, depth + 1),
            })
        });
        frames.collect()
    }

    fn detail(self, here: f64, (at_stalls, at_random): (f64, f64)) -> String {
        let what = if self.profile.sees_all_threads { "threads" } else { "samples" };
        if !self.is_compared {
            return format!("{} {what}", format::number(here));
        }
        format!("{} {what} at stalls, {} at random moments", format::number(at_stalls), format::number(at_random))
    }
}

/// The mean count of `stacks` over the snapshots of `sample`.
fn mean(sample: &StackSample, stacks: &[&FoldedStack]) -> f64 {
    sample.mean(stacks.iter().map(|stack| stack.count).sum())
}

fn shade(at_stalls: f64, at_random: f64) -> (Colour, f64) {
    let share = (at_stalls - at_random) / at_stalls.max(at_random).max(f64::MIN_POSITIVE);
    if share.abs() < SHARE_MIN {
        return SAME;
    }
    let colour = if share > 0.0 { Colour::Vermillion } else { Colour::Blue };
    (colour, FAINT + (FULL - FAINT) * share.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOSTILE, stalled_stacks};

    fn frame<'a>(frames: &'a [FlameFrame], path: &[&str]) -> &'a FlameFrame {
        let found = frames.iter().find(|frame| frame.name == path[0]).unwrap_or_else(|| panic!("no {}", path[0]));
        if path.len() == 1 { found } else { frame(&found.callees, &path[1..]) }
    }

    fn roots(figure: &Figure) -> &[FlameFrame] {
        let FigureBody::Flames { roots, .. } = &figure.body else { panic!("flames") };
        roots
    }

    #[test]
    fn a_frame_has_the_width_of_its_threads_and_the_colour_of_its_difference() {
        let figures = draw(&stalled_stacks());
        assert_eq!(figures.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["stacks-1-stalls", "stacks-1-random"]);
        let waits = frame(roots(&figures[0]), &["server", "main", "commit", "lock_wait"]);
        assert_eq!((waits.value, waits.colour), (3.0, Colour::Vermillion));
        assert_eq!(waits.detail, "3.00 threads at stalls, 0.50 at random moments");
        let works = frame(roots(&figures[1]), &["server", "main", "commit", "write"]);
        assert_eq!((works.value, works.colour), (2.5, Colour::Blue));
        let idle = frame(roots(&figures[1]), &["server", "main", "purge"]);
        assert_eq!((idle.colour, idle.opacity), SAME);
        assert!(figures[0].caption.contains("n = 2 snapshots at stalls, by gdb"), "{}", figures[0].caption);
    }

    #[test]
    fn without_the_other_sort_there_is_one_colour_and_no_legend() {
        let mut analysis = stalled_stacks();
        analysis.points[0].stacks.as_mut().unwrap().stalls = StackSample::default();
        let figures = draw(&analysis);
        assert_eq!(figures.len(), 1);
        let FigureBody::Flames { legend, roots } = &figures[0].body else { panic!("flames") };
        assert!(legend.is_empty() && roots[0].colour == ALONE.0);
    }

    #[test]
    fn names_of_strangers_have_no_power_over_the_picture() {
        for text in HOSTILE {
            let mut analysis = stalled_stacks();
            let profile = analysis.points[0].stacks.as_mut().unwrap();
            profile.stalls.stacks = vec![FoldedStack::new(text, [text, text])];
            let svg = plot::render_svg(&draw(&analysis)[0]);
            assert!(!svg.contains("<script") && !svg.contains("onload=\"") && !svg.contains("<img"), "{svg}");
        }
    }
}
