//! The sentences about one arm against the base.
//!
//! In: what the arm does at some places. Out: a claim. Limits: a sentence that grew too long is said without its interval, which its figures have.

use crate::answer::claim::{Claim, ClaimKind, WORDS_MAX};
use crate::answer::comparison::SHOWN_MAX;
use crate::answer::effect::{Branch, Is, NEARLY_NONE, PlaceEffect, inverse};
use crate::answer::places::{AxisPart, PlaceAxis, leads_to};
use crate::answer::speech::{factor, fine, number_word, percent, size, spoken, under, words_in};
use crate::math::ratio::RatioEstimate;
use crate::recorded::dimensions::{Role, Setting};
use words::list::{capital, join_and};

/// From this factor on a ratio is said as a factor, below in percent.
const FACTOR_MIN: f64 = 1.5;
/// A loss of more is said as a factor.
const LOSS_MAX: f64 = 0.9;

/// The base and another arm.
pub(super) struct Pair<'a> {
    pub base: &'a Setting,
    pub arm: &'a Setting,
    /// What they do: `transactions`.
    pub noun: &'a str,
    /// In what the places differ.
    pub axes: Vec<PlaceAxis<'a>>,
    /// The places at which nothing is decided.
    pub open: Vec<Vec<&'a Setting>>,
}

impl Pair<'_> {
    fn are_engines(&self) -> bool {
        self.arm.role == Role::Engine
    }

    /// `, where that is proven`, if one of the places that `branch` names is not decided.
    fn where_proven(&self, branch: &Branch) -> &'static str {
        if self.open.iter().any(|place| leads_to(&branch.path, place)) { ", where that is proven" } else { "" }
    }

    /// What is done at the places of `branch`: the work that distinguishes them, else what is done everywhere.
    fn work_at(&self, branch: &Branch) -> String {
        let work = branch.path.iter().find(|part| part.axis.role == Role::Work);
        let named = |part: &AxisPart| join_and(&part.values.iter().map(|value| spoken(value)).collect::<Vec<_>>());
        work.map_or_else(|| self.noun.to_owned(), named)
    }

    /// `sentence` with the place where it holds; engines that do not tell places apart are mentioned.
    fn placed(&self, branch: &Branch, sentence: &str) -> String {
        let is_said = |axis: &&PlaceAxis| branch.path.is_empty() || axis.role == Role::Engine;
        let free = self.axes.iter().filter(|axis| branch.path.iter().all(|part| part.axis.name != axis.name));
        let everywhere: String =
            free.filter(is_said).filter_map(PlaceAxis::everywhere).map(|words| format!(" {words}")).collect();
        at(&branch.path, &format!("{sentence}{everywhere}."))
    }

    /// What the arm does at the places of `branch`, whatever it is.
    pub(super) fn claim(&self, branch: &Branch) -> Claim {
        match &branch.is {
            Is::Alike(effect) if effect.verdict.is_difference() => self.difference(effect, branch),
            Is::Alike(effect) => self.no_difference(&[self.arm], effect, branch),
            // What is not proven is in no range of what is.
            Is::Split(parts) if !parts.iter().all(Branch::is_all_different) => self.claim(branch.parts_by_weight()[0]),
            Is::Split(_) | Is::Unlike(_) => self.range(branch),
        }
    }

    /// The same after another claim about the same arm, so that it need not be named again.
    pub(super) fn further(&self, branch: &Branch) -> Claim {
        let Is::Split(parts) = &branch.is else { return self.claim(branch) };
        let effects: Option<Vec<(&Branch, &RatioEstimate)>> =
            parts.iter().map(|part| Some((part, part.alike()?))).collect();
        let Some(effects) = effects.filter(|all| all.len() < 4 && !self.are_engines()) else {
            return self.claim(branch);
        };
        let (effects, even): (Vec<_>, Vec<_>) = effects.into_iter().partition(|(_, one)| one.verdict.is_difference());
        if effects.is_empty() {
            return self.claim(branch);
        }
        let work = self.work_at(branch);
        let own_path = |part: &Branch| path_words(&part.path[branch.path.len()..]);
        let show = if is_plural(&work) { "show" } else { "shows" };
        let at_even = join_and(&even.iter().map(|(part, _)| own_path(part).trim().to_owned()).collect::<Vec<_>>());
        let even = if even.is_empty() { String::new() } else { format!(", and {show} no proven difference {at_even}") };
        let each = |with_interval| {
            let one = |(part, effect): &(&Branch, &RatioEstimate)| {
                format!("{}{}", change(effect, with_interval).0, own_path(part))
            };
            join_and(&effects.iter().map(one).collect::<Vec<_>>())
        };
        let sentence =
            fitting(|with_interval| at(&branch.path, &format!("{work} {} {}{even}.", be(&work), each(with_interval))));
        if words_in(&sentence) > WORDS_MAX {
            return self.claim(branch);
        }
        effects.iter().fold(Claim::new(ClaimKind::Difference, sentence), |claim, (_, effect)| figure(claim, effect))
    }

    fn difference(&self, effect: &RatioEstimate, branch: &Branch) -> Claim {
        let work = self.work_at(branch);
        let sentence = fitting(|with_interval| {
            if self.are_engines() {
                let ranked = self.ranked(effect, &work, with_interval) + self.where_proven(branch);
                return self.placed(branch, &ranked);
            }
            let (change, than) = change(effect, with_interval);
            let (arm, base) = (under(self.arm), under(self.base));
            let proven = self.where_proven(branch);
            self.placed(branch, &format!("{work} {} {change} {arm} {than} {base}{proven}", be(&work)))
        });
        figure(Claim::new(ClaimKind::Difference, sentence), effect)
    }

    /// `MariaDB does 1.6 times (1.5 to 1.7) as many transactions as PostgreSQL`, the better one first.
    fn ranked(&self, effect: &RatioEstimate, work: &str, with_interval: bool) -> String {
        let is_faster = effect.ratio >= 1.0;
        let (best, other) = if is_faster { (self.arm, self.base) } else { (self.base, self.arm) };
        let effect = if is_faster { *effect } else { inverse(*effect) };
        let (best, other) = (spoken(best), spoken(other));
        let is_factor = effect.ratio >= FACTOR_MIN;
        let amount = if is_factor {
            format!("{} times{}", factor(effect.ratio), interval(&effect, with_interval, factor))
        } else {
            format!("{} %{}", percent(effect.ratio - 1.0), interval(&effect, with_interval, |end| percent(end - 1.0)))
        };
        match (is_plural(work), is_factor) {
            (true, true) => format!("{best} does {amount} as many {work} as {other}"),
            (true, false) => format!("{best} does {amount} more {work} than {other}"),
            (false, true) => format!("{best} is {amount} as fast as {other} at the {work}"),
            (false, false) => format!("{best} is {amount} faster than {other} at the {work}"),
        }
    }

    /// That `arms` do the same as the base, and how small a difference would have shown.
    pub(super) fn no_difference(&self, arms: &[&Setting], effect: &RatioEstimate, branch: &Branch) -> Claim {
        let work = self.work_at(branch);
        let show = if is_plural(&work) { "show" } else { "shows" };
        let all = join_and(&[self.base].iter().chain(arms).map(|arm| spoken(arm)).collect::<Vec<_>>());
        let smallest = effect.smallest_effect.filter(|one| *one > 0.0 && one.is_finite());
        let claim = match smallest {
            Some(one) if arms.len() == 1 && (effect.ratio - 1.0).abs() >= NEARLY_NONE && one >= NEARLY_NONE => {
                let measured = self.spread(&work, branch.range, true);
                let sentence = format!(
                    "in these measurements {measured}, which is not proven: less than {} is within the noise",
                    size(one)
                );
                Claim::new(ClaimKind::Undecided, self.placed(branch, &sentence)).figure(
                    "ratio",
                    effect.ratio,
                    effect.ci95,
                )
            }
            Some(one) if one > SHOWN_MAX => {
                let differ =
                    format!("repeats differ too much to tell {all} apart: less than {} is within the noise", size(one));
                Claim::new(ClaimKind::Undecided, self.placed(branch, &differ))
            }
            _ => {
                let bound = smallest.map_or(String::new(), |one| format!(" of more than {}", size(one)));
                let sentence = format!("{work} {show} no difference{bound} between {all}");
                Claim::new(ClaimKind::NoDifference, self.placed(branch, &sentence))
            }
        };
        smallest.iter().fold(claim, |claim, one| claim.figure("smallest_effect", *one, None))
    }

    /// That what the arm does differs, from where to where, and on what it depends.
    pub(super) fn range(&self, branch: &Branch) -> Claim {
        let [low, high] = branch.ends();
        let spread = self.spread(&self.work_at(branch), branch.range, false);
        let sentence = at(&branch.path, &format!("{spread}{}.", self.depends_on(branch)));
        figure(figure(Claim::new(ClaimKind::Difference, sentence), &low), &high)
    }

    /// What was measured in too few pairs.
    pub(super) fn as_measured(&self, effects: &[PlaceEffect]) -> Option<Claim> {
        let ratios = || effects.iter().map(|one| one.effect.ratio);
        let (low, high) = (ratios().reduce(f64::min)?, ratios().reduce(f64::max)?);
        let sentence = format!("In these measurements {}.", self.spread(self.noun, [low, high], true));
        let claim = Claim::new(ClaimKind::Undecided, sentence).figure("ratio", low, None);
        Some(if low == high { claim } else { claim.figure("ratio", high, None) })
    }

    /// `PostgreSQL does 1.2 to 2.4 times as many transactions as MariaDB`, or `12 to 40 % more`: the better one first if one is better at both
    /// ends.
    fn spread(&self, work: &str, [low, high]: [f64; 2], is_past: bool) -> String {
        let is_loss = high < 1.0;
        let is_one_sided = (low >= 1.0 || is_loss) && (low - high).abs().max((1.0 - low).abs()) >= 0.005;
        let is_percent = is_one_sided && low > 1.0 / FACTOR_MIN && high < FACTOR_MIN;
        let between = |from: String, to: String| if from == to { from } else { format!("{from} to {to}") };
        let [slow, fast] = if is_loss { [1.0 / high, 1.0 / low] } else { [low, high] };
        let times = format!("{} times", between(fine(slow), fine(fast)));
        let more = format!("{} %", between(percent(slow - 1.0), percent(fast - 1.0)));
        let plural = is_plural(work);
        if self.are_engines() {
            let (who, other) = if is_loss { (self.base, self.arm) } else { (self.arm, self.base) };
            let (who, other) = (spoken(who), spoken(other));
            let verb = match (plural, is_past) {
                (true, false) => "does",
                (true, true) => "did",
                (false, false) => "is",
                (false, true) => "was",
            };
            return match (plural, is_percent) {
                (true, true) => format!("{who} {verb} {more} more {work} than {other}"),
                (false, true) => format!("{who} {verb} {more} faster than {other}"),
                (true, false) => format!("{who} {verb} {times} as many {work} as {other}"),
                (false, false) => format!("{who} {verb} {times} as fast as {other}"),
            };
        }
        let be = match (plural, is_past) {
            (true, true) => "were",
            (false, true) => "was",
            (_, false) => be(work),
        };
        let less = format!("{} %", between(percent(1.0 - high), percent(1.0 - low)));
        let (how, than) = match (is_percent, is_loss) {
            (true, true) => (format!("{less} slower"), "than"),
            (true, false) => (format!("{more} faster"), "than"),
            (false, true) => (format!("{times} slower"), "than"),
            (false, false) => (format!("{times} as fast"), "as"),
        };
        format!("{work} {be} {how} {} {than} {}", under(self.arm), under(self.base))
    }

    /// `, depending on the engine and the number of clients`
    fn depends_on(&self, branch: &Branch) -> String {
        let mut names: Vec<String> = Vec::new();
        let mut add = |axis: &PlaceAxis| {
            let name = axis.spoken_name().to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        };
        let mut open = vec![branch];
        while let Some(one) = open.pop() {
            match &one.is {
                Is::Split(parts) => {
                    parts.iter().filter_map(|part| part.path.get(one.path.len())).for_each(|part| add(&part.axis));
                    open.extend(parts);
                }
                Is::Unlike(_) => self.axes.iter().for_each(&mut add),
                Is::Alike(_) => {}
            }
        }
        names.truncate(2);
        if names.is_empty() { String::new() } else { format!(", depending on {}", join_and(&names)) }
    }

    /// What the arm does to each of several engines, if it does something else to each: `With a slow disk, InnoDB loses 85 % (82 to 88) of
    /// its inserts, and MyRocks shows no difference of more than 6 %.`
    pub(super) fn interaction(&self, root: &Branch) -> Option<Claim> {
        let parts = root.parts_by_weight();
        let of_engines = |part: &&Branch| part.path.len() == 1 && part.path[0].axis.role == Role::Engine;
        let effects: Vec<(&AxisPart, &RatioEstimate)> = parts
            .iter()
            .filter(|part| of_engines(part))
            .filter_map(|part| Some((&part.path[0], part.alike()?)))
            .collect();
        if effects.len() != parts.len() || !(2..=3).contains(&parts.len()) {
            return None;
        }
        let each = |with_interval| {
            let one = |(nth, (part, effect)): (usize, &(&AxisPart, &RatioEstimate))| {
                let names = join_and(&part.values.iter().map(|value| spoken(value)).collect::<Vec<_>>());
                let is_one = part.values.len() == 1;
                format!("{names} {}", self.fate(effect, is_one, nth == 0, with_interval))
            };
            let all: Vec<String> = effects.iter().enumerate().map(one).collect();
            let (last, first) = all.split_last().expect("there are two");
            format!("{}, and {last}", first.join(", "))
        };
        let sentence = fitting(|with_interval| format!("{}, {}.", capital(&under(self.arm)), each(with_interval)));
        let claim = Claim::new(ClaimKind::Difference, sentence);
        Some(effects.iter().fold(claim, |claim, (_, effect)| figure(claim, effect)))
    }

    /// `loses 85 % (82 to 88) of its inserts`
    fn fate(&self, effect: &RatioEstimate, is_one: bool, is_first: bool, with_interval: bool) -> String {
        let (s, its) = if is_one { ("s", "its") } else { ("", "their") };
        let of_work = if is_first { format!(" of {its} {}", self.noun) } else { String::new() };
        let ratio = effect.ratio;
        if !effect.verdict.is_difference() {
            let bound = effect.telling_effect().map_or(String::new(), |one| format!(" of more than {}", size(one)));
            return format!("show{s} no difference{bound}");
        }
        if !(1.0 - LOSS_MAX..2.0).contains(&ratio) {
            return format!("become{s} {}", change(effect, with_interval).0);
        }
        let share = |ratio: f64| percent((1.0 - ratio).abs());
        // The smaller share first: of a loss it is that of the larger ratio.
        let (verb, ends) =
            if ratio < 1.0 { ("lose", effect.ci95.map(|[low, high]| [high, low])) } else { ("gain", effect.ci95) };
        let ends = interval(&RatioEstimate { ci95: ends, ..*effect }, with_interval, share);
        format!("{verb}{s} {} %{ends}{of_work}", share(ratio))
    }
}

/// `sentence` behind the place where it holds.
fn at(path: &[AxisPart], sentence: &str) -> String {
    let place = path_words(path);
    if place.is_empty() { capital(sentence) } else { format!("{}, {sentence}", capital(place.trim_start())) }
}

/// Where `path` leads, with a space before it; the work is said elsewhere. Of two parts of an axis the second is within the first.
pub(super) fn path_words(path: &[AxisPart]) -> String {
    let is_last =
        |(nth, part): &(usize, &AxisPart)| path[nth + 1..].iter().all(|other| other.axis.name != part.axis.name);
    let parts = path.iter().enumerate().filter(is_last).map(|(_, part)| part);
    parts.filter(|part| part.axis.role != Role::Work).map(|part| format!(" {}", part.words())).collect()
}

fn figure(claim: Claim, effect: &RatioEstimate) -> Claim {
    claim.figure("ratio", effect.ratio, effect.ci95)
}

/// The sentence with intervals, or without if it is too long.
fn fitting(sentence: impl Fn(bool) -> String) -> String {
    let full = sentence(true);
    if words_in(&full) <= WORDS_MAX { full } else { sentence(false) }
}

/// `4.3 times slower (3.9 to 4.8)`, and the word that connects it with what it is compared to.
fn change(effect: &RatioEstimate, with_interval: bool) -> (String, &'static str) {
    let (ratio, inverse) = (effect.ratio, inverse(*effect));
    let given = |effect: &RatioEstimate, digits: fn(f64) -> String| interval(effect, with_interval, digits);
    if ratio >= FACTOR_MIN {
        (format!("{} times as fast{}", factor(ratio), given(effect, factor)), "as")
    } else if ratio >= 1.0 {
        (format!("{} % faster{}", percent(ratio - 1.0), given(effect, |end| percent(end - 1.0))), "than")
    } else if inverse.ratio < FACTOR_MIN {
        (format!("{} % slower{}", percent(1.0 - ratio), given(&inverse, |end| percent(1.0 - 1.0 / end))), "than")
    } else {
        (format!("{} times slower{}", factor(inverse.ratio), given(&inverse, factor)), "than")
    }
}

/// ` (3.9 to 4.8)`, if it is wanted, known, and wider than the digits.
fn interval(effect: &RatioEstimate, is_wanted: bool, digits: impl Fn(f64) -> String) -> String {
    let Some([low, high]) = effect.ci95.filter(|_| is_wanted).map(|ends| ends.map(&digits)) else {
        return String::new();
    };
    if low == high { String::new() } else { format!(" ({low} to {high})") }
}

/// Whether `work` is several things: `inserts with indexes`, and not `building of the indexes`.
fn is_plural(work: &str) -> bool {
    let head = [" of ", " with ", " without ", " while ", " in ", " from "]
        .iter()
        .fold(work, |head, word| head.split(word).next().unwrap_or(head));
    head.ends_with('s')
}

fn be(work: &str) -> &'static str {
    if is_plural(work) { "are" } else { "is" }
}

/// `one pair`, `four pairs`
pub(super) fn pairs(n: usize) -> String {
    if n == 1 { "one pair".to_owned() } else { format!("{} pairs", number_word(n as u32)) }
}
