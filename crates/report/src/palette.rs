//! Colours: one for each thing that a run compares, the same in every chart and table of its report.
//!
//! In: an analysis. Out: [`SeriesStyle`]s for points. In each workload one setting is compared: the key of `--ab`, else the engine, else
//! what it works on, else any other setting without an order. Each of its values has a colour. Ordered values (indexes, clients, depth,
//! sizes) have ordered shades of it, and what else distinguishes the lines of one figure are their dashes.
//! Parts of a whole (uses of the CPU, states of threads, owners) have muted colours of their own, far from those of things in hue or in
//! strength, so that none looks like an engine.
//! Limits: with more than seven things colours return with other dashes. Steps of a sequence are never compared.

use analysis::recorded::dimensions::{ENGINE, independent, varying};
use analysis::{Analysis, Dimension, PointAnalysis, Role, SettingValue, Settings};
use model::Value;
use plot::figure::{Category, Colour, Pattern, SeriesStyle, Strength};
use std::collections::{BTreeSet, HashMap};

/// Work that is done: on a CPU, by the engine, reads.
pub const SLATE: Colour = Colour::Category(Category::Slate);
/// Work that waits for a CPU, or shares one.
pub const MIST: Colour = Colour::Category(Category::Mist);
/// What the clients do, and flushes.
pub const LILAC: Colour = Colour::Category(Category::Lilac);
/// Interrupts, and the other side.
pub const SAND: Colour = Colour::Category(Category::Sand);
/// What is written, and what others do.
pub const CLAY: Colour = Colour::Category(Category::Clay);
/// What waits: for locks, for I/O, in a queue.
pub const ROSE: Colour = Colour::Category(Category::Rose);
/// Everything that is none of these.
pub const ASH: Colour = Colour::Category(Category::Ash);

/// The colours of a run.
pub struct Palette<'a> {
    points: &'a [PointAnalysis],
    /// The name of the setting that is compared in each workload.
    compared: HashMap<&'a str, String>,
    /// The place of each thing that has a colour, in the order of their first points.
    things: HashMap<ColouredThing, usize>,
}

/// A setting with one of its values: what has a colour.
type ColouredThing = (String, String);

impl<'a> Palette<'a> {
    /// The colours of `analysis`.
    pub fn new(analysis: &'a Analysis) -> Palette<'a> {
        let points = analysis.points.as_slice();
        let workloads: BTreeSet<&str> = points.iter().map(|point| point.workload.as_str()).collect();
        let ab = analysis.meta.plan.ab.as_deref();
        let compared = workloads.into_iter().map(|workload| (workload, compared_in(points, workload, ab))).collect();
        let mut palette = Palette { points, compared, things: HashMap::new() };
        for point in points {
            let (thing, next) = (palette.thing(point), palette.things.len());
            palette.things.entry(thing).or_insert(next);
        }
        palette
    }

    /// The name of the setting that is compared in `workload`.
    pub fn compared(&self, workload: &str) -> &str {
        self.compared.get(workload).map_or(ENGINE, String::as_str)
    }

    /// The colour of `point`.
    pub fn style(&self, point: &PointAnalysis) -> SeriesStyle {
        SeriesStyle::nth(self.things.get(&self.thing(point)).copied().unwrap_or(0))
    }

    /// A style for each line of a figure, of which `lines` has one point each.
    pub fn styles(&self, lines: &[&PointAnalysis]) -> Vec<SeriesStyle> {
        let dimensions = self.other_dimensions(lines);
        let shaded_by = dimensions.iter().find(|one| is_ordered(lines, &one.name));
        let dashed_by: Vec<&Dimension> = dimensions.iter().filter(|one| Some(*one) != shaded_by).collect();
        let mut dashes: Vec<Vec<Option<String>>> = Vec::new();
        let style = |point: &&PointAnalysis| {
            let own: Vec<Option<String>> = dashed_by.iter().map(|one| point.settings.text(&one.name)).collect();
            let nth = dashes.iter().position(|known| *known == own).unwrap_or_else(|| {
                dashes.push(own);
                dashes.len() - 1
            });
            let strength = shaded_by.map_or(Strength::FULL, |by| self.strength(point, &by.name));
            SeriesStyle { strength, pattern: dashed(self.style(point).pattern, nth), ..self.style(point) }
        };
        lines.iter().map(style).collect()
    }

    /// What varies between `lines` but what has colours.
    fn other_dimensions(&self, lines: &[&PointAnalysis]) -> Vec<Dimension> {
        let settings: Vec<&Settings> = lines.iter().map(|point| &point.settings).collect();
        let (coloured, others): (Vec<Dimension>, Vec<Dimension>) =
            varying(settings.iter().copied()).into_iter().partition(|one| self.has_colours(lines, &one.name));
        let colours = coloured.len();
        // What follows from the thing itself, as a parameter that only one engine has, adds nothing.
        let all = independent(&settings, coloured.into_iter().chain(others).collect());
        all.into_iter().skip_while(|one| colours > 0 && self.has_colours(lines, &one.name)).collect()
    }

    fn has_colours(&self, lines: &[&PointAnalysis], name: &str) -> bool {
        lines.iter().any(|point| self.compared(&point.workload) == name)
    }

    fn thing(&self, point: &PointAnalysis) -> ColouredThing {
        let name = self.compared(&point.workload);
        (name.to_owned(), point.settings.text(name).unwrap_or_default())
    }

    /// The shade of the value that `point` has of `name`, among all values of the run.
    fn strength(&self, point: &PointAnalysis, name: &str) -> Strength {
        let all: BTreeSet<u64> = self.points.iter().filter_map(|point| order_of(point, name)).collect();
        let rank = order_of(point, name).and_then(|own| all.iter().position(|one| *one == own));
        rank.map_or(Strength::FULL, |rank| Strength::of_rank(rank, all.len()))
    }
}

/// The next dashes but `nth`.
fn dashed(first: Pattern, nth: usize) -> Pattern {
    let at = Pattern::ALL.iter().position(|one| *one == first).unwrap_or(0);
    Pattern::ALL[(at + nth) % Pattern::ALL.len()]
}

/// The setting of `workload` whose values are compared.
fn compared_in(points: &[PointAnalysis], workload: &str, ab: Option<&str>) -> String {
    let own: Vec<&PointAnalysis> = points.iter().filter(|point| point.workload == workload).collect();
    let mut dimensions = varying(own.iter().map(|point| &point.settings));
    if let Some(ab) = ab.filter(|ab| dimensions.iter().any(|one| one.name == *ab)) {
        return ab.to_owned();
    }
    let is_step = |name: &str| own.iter().any(|p| p.settings.get(name).is_some_and(|setting| setting.is_step()));
    let is_place = |role| matches!(role, Role::Workload | Role::Until | Role::Repeat);
    dimensions.retain(|one| !is_place(one.role) && !is_step(&one.name) && !is_ordered(&own, &one.name));
    // A sort of work, or what paces it, is compared if nothing else is.
    dimensions.sort_by_key(|one| (matches!(one.role, Role::Work | Role::Pacing), !one.is_complete));
    dimensions.first().map_or_else(|| ENGINE.to_owned(), |one| one.name.clone())
}

/// Whether all values of `name` have an order.
fn is_ordered(points: &[&PointAnalysis], name: &str) -> bool {
    let mut used = points.iter().filter(|point| point.settings.value(name).is_some()).peekable();
    used.peek().is_some() && used.all(|point| order_of(point, name).is_some())
}

/// A number that grows with the value of `name`; `None` if its values have no order.
fn order_of(point: &PointAnalysis, name: &str) -> Option<u64> {
    match point.settings.value(name)? {
        SettingValue::Count(count) => Some(u64::from(*count)),
        SettingValue::Time(time) => Some(time.0),
        SettingValue::Param(Value::Int(number)) => Some(*number),
        SettingValue::Param(Value::Bytes(bytes)) => Some(bytes.0),
        SettingValue::Param(Value::Nanos(time)) => Some(time.0),
        // The bits of numbers from 0 on are in the order of the numbers.
        SettingValue::Param(Value::Float(number)) if *number >= 0.0 => Some(number.to_bits()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{inserting, quick, set, with_points};
    use plot::figure::Colour;

    #[test]
    fn every_engine_has_one_colour_and_its_ordered_values_have_ordered_shades() {
        let analysis = inserting(&[("engine", &["innodb", "rocksdb"]), ("indexes", &["0", "3"])], 30);
        let palette = Palette::new(&analysis);
        assert_eq!(palette.compared(&analysis.points[0].workload), "engine");
        let lines: Vec<&PointAnalysis> = analysis.points.iter().collect();
        let styles = palette.styles(&lines);
        let colours: Vec<Colour> = styles.iter().map(|style| style.colour).collect();
        assert_eq!(colours, [Colour::Blue, Colour::Blue, Colour::Vermillion, Colour::Vermillion]);
        assert!(styles[0].strength < styles[1].strength && styles[0].strength == styles[2].strength);
        // One line of each engine: nothing else varies, so it has the colour itself.
        let alone = palette.styles(&[lines[1], lines[3]]);
        assert!(alone.iter().all(|style| style.strength == Strength::FULL), "{alone:?}");
        assert_eq!(alone[1].colour, Colour::Vermillion);
    }

    #[test]
    fn workloads_that_compare_different_things_share_no_colour_but_that_of_the_same_thing() {
        let analysis = quick();
        let palette = Palette::new(&analysis);
        let of = |engine: &str, workload: &str| {
            let point = analysis.points.iter().find(|p| p.engine == engine && p.workload == workload).unwrap();
            palette.style(point)
        };
        assert_eq!(of("sqlite", "insert"), of("sqlite", "oltp"));
        let file: Vec<SeriesStyle> =
            analysis.points.iter().filter(|p| p.workload == "file").map(|p| palette.style(p)).collect();
        assert!(file[0] != file[5], "random reads and writes differ");
        assert!(file.iter().all(|style| *style != of("sqlite", "oltp") && *style != of("fjall", "insert")));
    }

    #[test]
    fn a_sweep_of_one_engine_has_shades_of_one_colour_by_its_clients() {
        let analysis = with_points(4);
        let lines: Vec<&PointAnalysis> = analysis.points.iter().collect();
        let styles = Palette::new(&analysis).styles(&lines);
        assert!(styles.windows(2).all(|two| two[0].colour == two[1].colour && two[0].strength < two[1].strength));
    }

    #[test]
    fn what_has_no_order_and_no_colour_has_dashes() {
        let mut analysis = inserting(&[("engine", &["a", "b"]), ("fs", &["ext4", "xfs"])], 30);
        set(&mut analysis.points[0], "note", "x");
        let lines: Vec<&PointAnalysis> = analysis.points.iter().collect();
        let styles = Palette::new(&analysis).styles(&lines);
        assert!(styles[0].colour == styles[1].colour && styles[0].pattern != styles[1].pattern);
        assert!(styles[0].pattern == styles[2].pattern && styles[0].colour != styles[2].colour);
    }
}
