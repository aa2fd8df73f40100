//! Ways to write one statement: which is the fastest, which gain nothing, and whether what is made for it pays.
//!
//! In: the verdict of the variants at each place. Out: claims over all places that are alike. Limits: the amounts that explain a time are those of
//! one execution, and of the first place that has them; what the optimizer built is what the engine says of it.

use super::arms::not_decided;
use crate::Validity;
use crate::answer::claim::{Claim, ClaimKind, WORDS_MAX};
use crate::answer::comparison::SHOWN_MAX;
use crate::answer::effect::{Branch, Is, PlaceEffect, inverse, split};
use crate::answer::places::{PlaceAxis, axes};
use crate::answer::speech::{self, fine, percent, size, spoken, words_in};
use crate::answer::{AnswerCell, AnswerColumn, AnswerParts, AnswerRow, AnswerTable, AskedRun, ROWS_MAX};
use crate::math::ratio::{RatioEstimate, RatioVerdict};
use crate::points::variants::{EffortContrast, VariantArm, VariantVerdict};
use crate::recorded::dimensions::{ENGINE, Setting};
use model::StatementEffort;
use words::list::{capital, distinct, join_and};
use words::quantity::{self, bytes, count, range, time, whole};

/// Whether a ratio of times shows a gain.
fn is_faster(ratio: Option<RatioEstimate>) -> bool {
    ratio.is_some_and(|ratio| ratio.verdict == RatioVerdict::Faster)
}

/// The engine at the place of `verdict`.
fn engine_of(verdict: &VariantVerdict) -> Option<String> {
    verdict.place.iter().find(|setting| setting.name == ENGINE).map(spoken)
}

/// The name of a variant in words: `temp-table` is `temp table`.
fn words_of(name: &str) -> String {
    name.replace(['-', '_'], " ")
}

/// The same in a sentence: `the temp table`; a name of one word, such as `exists`, stays as it is.
fn said(name: &str) -> String {
    let words = words_of(name);
    if words.contains(' ') { format!("the {words}") } else { words }
}

/// Who reads that a variant gains nothing expects that less than this share could be hidden in the noise.
const GAIN_SHOWN_MAX: f64 = 0.25;
/// The most claims about variants that are faster at some place.
const FASTER_MAX: usize = 2;
/// From so many places on it is counted at how many something holds.
const PLACES_COUNTED: usize = 3;
/// More places have a row each, and not a column.
const PLACES_BESIDE_MAX: usize = 4;

/// A variant and what it does to the base at each place.
struct Rival<'a> {
    name: &'a str,
    has_setup: bool,
    axes: Vec<PlaceAxis<'a>>,
    /// As a ratio of speeds.
    total: Branch<'a>,
}

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let verdicts: Vec<&VariantVerdict> =
        run.analysis.verdict.variants.iter().filter(|one| one.arms.len() > 1).collect();
    let base = verdicts.iter().find_map(|one| Some(one.arms[one.base?].name.as_str()));
    let names: Vec<String> = verdicts.first()?.arms.iter().map(|arm| arm.name.clone()).collect();
    let rivals = base.map_or_else(Vec::new, |base| rivals(&verdicts, base));
    let mut claims = Vec::new();
    if let Some(base) = base {
        let mut gains = rivals.iter().flat_map(|rival| rival.gains(base)).take(FASTER_MAX);
        claims.extend(gains.next());
        claims.extend(none_faster_elsewhere(&verdicts, base).filter(|_| !claims.is_empty()));
        if claims.is_empty() && !rivals.is_empty() && verdicts.len() < PLACES_COUNTED {
            let sentence = format!("No other way is proven faster than {}.", said(base));
            claims.push(Claim::new(ClaimKind::NoDifference, sentence));
        }
        // If no variant is faster, say what the engine builds, and what a variant gains without its set-up.
        if claims.is_empty() && verdicts.len() >= PLACES_COUNTED {
            claims.extend(made(&verdicts, base));
            for name in names.iter().filter(|name| *name != base) {
                claims.extend(without_setup(&verdicts, name));
                claims.extend(with_setup(&verdicts, name));
            }
        }
        // What gains nothing is asked for before what gains less.
        let nothing = no_gain(&rivals, base);
        claims.extend(if nothing.is_empty() { no_gain_there(&verdicts) } else { None });
        claims.extend(nothing);
        claims.extend(gains);
        claims.extend(rivals.iter().flat_map(|rival| rival.losses(base)).take(1));
        claims.extend(pays(&verdicts, base));
        claims.extend(explanation(&verdicts));
        let ratios = verdicts.iter().flat_map(|one| &one.arms).filter_map(|arm| arm.ratio);
        let pairs = ratios.filter(|one| one.verdict == RatioVerdict::Indicative).map(|one| one.n).max();
        if let Some(pairs) = pairs.filter(|_| rivals.is_empty()) {
            claims.insert(0, not_decided(run, pairs));
        }
    }
    claims.extend(verdicts.iter().flat_map(|one| &one.arms).filter(|arm| arm.timeouts > 0).map(cancelled));
    claims.iter_mut().for_each(|claim| claim.sentence = capital(&claim.sentence));
    Some(AnswerParts {
        question: format!(
            "Which is the fastest of {}?",
            join_and(&names.iter().map(|name| said(name)).collect::<Vec<_>>())
        ),
        table: base.and_then(|base| table(&verdicts, base)),
        claims,
        next: None,
    })
}

/// The variants that have enough pairs with the base, the fastest first.
fn rivals<'a>(verdicts: &[&'a VariantVerdict], base: &str) -> Vec<Rival<'a>> {
    let mut all: Vec<Rival> = Vec::new();
    for arm in verdicts.iter().flat_map(|one| &one.arms) {
        if arm.name == base || all.iter().any(|known| known.name == arm.name) {
            continue;
        }
        let at = |verdict: &&'a VariantVerdict| {
            let own = verdict.arms.iter().find(|one| one.name == arm.name)?;
            let ratio = own.ratio.filter(|ratio| ratio.verdict != RatioVerdict::Indicative)?;
            Some(PlaceEffect { place: verdict.place.iter().collect(), effect: inverse(ratio) })
        };
        let effects: Vec<PlaceEffect> = verdicts.iter().filter_map(at).collect();
        if !effects.is_empty() {
            let axes = axes(effects.iter().map(|one| &one.place));
            let total = split(&effects, &axes);
            all.push(Rival { name: &arm.name, has_setup: arm.setup_seconds.is_some(), axes, total });
        }
    }
    all.sort_by(|a, b| b.total.ends()[1].ratio.total_cmp(&a.total.ends()[1].ratio));
    all
}

impl Rival<'_> {
    /// What is claimed of the places at which it is faster.
    fn gains(&self, base: &str) -> Vec<Claim> {
        self.those(base, RatioVerdict::Faster)
    }

    /// What is claimed of the places at which it is slower.
    fn losses(&self, base: &str) -> Vec<Claim> {
        self.those(base, RatioVerdict::Slower)
    }

    fn those(&self, base: &str, verdict: RatioVerdict) -> Vec<Claim> {
        let parts = self.total.parts_by_weight();
        let has_verdict = |part: &&&Branch| part.ends().iter().all(|end| end.verdict == verdict);
        let own: Vec<&Branch> = parts.iter().filter(has_verdict).copied().collect();
        own.into_iter().map(|part| self.claim(base, part, verdict)).collect()
    }

    /// `temp-indexed is 6.2 times (5.8 to 6.6) as fast as derived, its set-up included.`
    fn claim(&self, base: &str, part: &Branch, verdict: RatioVerdict) -> Claim {
        let is_faster = verdict == RatioVerdict::Faster;
        let turned = |end: RatioEstimate| if is_faster { end } else { inverse(end) };
        let [mut low, mut high] = part.ends().map(turned);
        if low.ratio > high.ratio {
            std::mem::swap(&mut low, &mut high);
        }
        let how = if is_faster { "is" } else { "takes" };
        let than = if is_faster { "as fast as" } else { "as long as" };
        let amount = match (&part.is, low.telling_ci95()) {
            (Is::Alike(_), Some([from, to])) => format!("{} times ({} to {})", fine(low.ratio), fine(from), fine(to)),
            (Is::Alike(_), None) => format!("{} times", fine(low.ratio)),
            _ => {
                let [from, to] = if is_faster { part.range } else { part.range.map(|ratio| 1.0 / ratio) };
                format!("{} to {} times", fine(from.min(to)), fine(from.max(to)))
            }
        };
        let setup = if self.has_setup { ", its set-up included" } else { "" };
        let sentence = format!("{} {how} {amount} {than} {}{}{setup}.", said(self.name), said(base), self.place(part));
        let claim = Claim::new(ClaimKind::Difference, sentence);
        let ends = if part.alike().is_some() { vec![low] } else { vec![low, high] };
        ends.into_iter().fold(claim, |claim, end| claim.figure("ratio", end.ratio, end.ci95))
    }

    fn place(&self, part: &Branch) -> String {
        if part.path.is_empty() {
            let everywhere = self.axes.iter().find_map(PlaceAxis::everywhere);
            return everywhere.map_or(String::new(), |words| format!(" {words}"));
        }
        part.path.iter().map(|one| format!(" {}", one.words())).collect()
    }
}

/// `temp and view gain nothing against derived: a difference of 6 % would have shown.`, and those whose repeats differ too much to tell.
fn no_gain(rivals: &[Rival], base: &str) -> Vec<Claim> {
    let even = rivals.iter().filter_map(|one| Some((one.name, one.total.alike()?)));
    let even = even.filter(|(_, effect)| effect.verdict == RatioVerdict::NoDifferenceShown);
    let is_shown = |(_, effect): &(&str, &RatioEstimate)| effect.smallest_effect.is_none_or(|one| one <= SHOWN_MAX);
    let (told, open): (Vec<_>, Vec<_>) = even.partition(is_shown);
    let names = |all: &[(&str, &RatioEstimate)]| join_and(&all.iter().map(|one| said(one.0)).collect::<Vec<_>>());
    let bound = |all: &[(&str, &RatioEstimate)]| all.iter().filter_map(|one| one.1.smallest_effect).reduce(f64::max);
    let smallest = bound(&told).filter(|one| *one > 0.0);
    let gains = || {
        let against = format!(" against {}", said(base));
        let sentence = format!("{} {}.", names(&told), no_gain_words(told.len(), &against, smallest));
        let claim = Claim::new(ClaimKind::NoDifference, sentence);
        smallest.into_iter().fold(claim, |claim, one| claim.figure("smallest_effect", one, None))
    };
    let undecided = || {
        let sentence = format!(
            "Repeats of {} differ too much to tell it from {}: measure more of them.",
            names(&open),
            said(base)
        );
        Claim::new(ClaimKind::Undecided, sentence)
    };
    [(!told.is_empty()).then(gains), (!open.is_empty()).then(undecided)].into_iter().flatten().collect()
}

/// What so many variants do that gain nothing: `gain nothing: a difference of 6 % would have shown`. If more than a small gain could be hidden, it
/// says so.
fn no_gain_words(variants: usize, against: &str, smallest: Option<f64>) -> String {
    let s = if variants == 1 { "s" } else { "" };
    match smallest {
        None => format!("gain{s} nothing{against}"),
        Some(one) if one <= GAIN_SHOWN_MAX => {
            format!("gain{s} nothing{against}: a difference of {} would have shown", size(one))
        }
        Some(one) if one.is_finite() => {
            format!("show{s} no gain{against}, though less than {} is within the noise", size(one))
        }
        Some(_) => format!("show{s} no gain{against}, though repeats differ too much to be sure"),
    }
}

/// `On PostgreSQL and SQLite no other way is proven faster than the derived table.`, of engines on which none is at any place.
fn none_faster_elsewhere(verdicts: &[&VariantVerdict], base: &str) -> Option<Claim> {
    let gains = |engine: &String| {
        let own = verdicts.iter().filter(|one| engine_of(one).as_ref() == Some(engine));
        own.flat_map(|one| &one.arms).any(|arm| is_faster(arm.ratio))
    };
    let engines = distinct(verdicts.iter().filter_map(|one| engine_of(one)));
    let without: Vec<String> = engines.iter().filter(|engine| !gains(engine)).cloned().collect();
    let sentence = || format!("On {} no other way is proven faster than {}.", join_and(&without), said(base));
    (!without.is_empty() && without.len() < engines.len()).then(|| Claim::new(ClaimKind::NoDifference, sentence()))
}

/// `For MariaDB on fanout, view and the temp table gain nothing: a difference of 6 % would have shown.`, of the place at which most is gained.
fn no_gain_there(verdicts: &[&VariantVerdict]) -> Option<Claim> {
    let gain = |verdict: &&&VariantVerdict| {
        let faster = verdict.arms.iter().filter(|arm| is_faster(arm.ratio));
        faster.filter_map(|arm| Some(arm.ratio?.ratio)).reduce(f64::min)
    };
    let of_gain = verdicts.iter().filter_map(|verdict| Some((verdict, gain(&verdict)?)));
    let (verdict, _) = of_gain.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_even = |arm: &&VariantArm| arm.ratio.is_some_and(|one| one.verdict == RatioVerdict::NoDifferenceShown);
    let even: Vec<&VariantArm> = verdict.arms.iter().filter(is_even).collect();
    let smallest = even.iter().filter_map(|arm| arm.ratio?.smallest_effect).reduce(f64::max)?;
    let names = join_and(&even.iter().map(|arm| said(&arm.name)).collect::<Vec<_>>());
    let kind = if smallest <= GAIN_SHOWN_MAX { ClaimKind::NoDifference } else { ClaimKind::Undecided };
    let found = no_gain_words(even.len(), "", Some(smallest));
    let sentence = format!("{}{names} {found}.", head(verdict, verdicts));
    Some(Claim::new(kind, sentence).figure("smallest_effect", smallest, None))
}

/// `A temporary table is made on MariaDB for 5 of 5 (with-index 3), on PostgreSQL for none.` `None` if none is made anywhere.
fn made(verdicts: &[&VariantVerdict], base: &str) -> Option<Claim> {
    let makes = |arm: &VariantArm| {
        let says_so = arm.built.as_ref().is_some_and(|built| built.contains("temporary"));
        says_so || arm.efforts.get(&StatementEffort::TempTables).is_some_and(|tables| *tables >= 1.0)
    };
    let other = verdicts[0].arms.iter().map(|arm| arm.name.as_str()).find(|name| *name != base)?;
    let is_pair = verdicts.iter().all(|one| one.arms.len() == 2);
    let engines = distinct(verdicts.iter().filter_map(|one| engine_of(one)));
    let count = |engine: &String, name: &str| {
        let own = verdicts.iter().filter(|one| engine_of(one).as_ref() == Some(engine));
        let arms: Vec<&VariantArm> = own.flat_map(|one| &one.arms).filter(|arm| arm.name == name).collect();
        (arms.iter().filter(|arm| makes(arm)).count(), arms.len())
    };
    let of_engine = |(nth, engine): (usize, &String)| {
        let ((of_base, all), (of_other, _)) = (count(engine, base), count(engine, other));
        // The other variant is named once.
        let label = if nth == 0 { format!("{} ", said(other)) } else { String::new() };
        match (of_base, of_other, is_pair) {
            (0, 0, true) => format!("on {engine} for none"),
            (_, _, true) => format!("on {engine} for {of_base} of {all} ({label}{of_other})"),
            (_, _, false) => format!("on {engine} for {of_base} of {all}"),
        }
    };
    let told: Vec<String> = engines.iter().enumerate().map(of_engine).collect();
    let any = engines.iter().any(|engine| [base, other].iter().any(|name| count(engine, name).0 > 0));
    let sentence = format!("A temporary table is made {}.", join_and(&told));
    (any && words_in(&sentence) <= WORDS_MAX).then(|| Claim::new(ClaimKind::Bottleneck, sentence))
}

/// `Without its set-up with-index is faster in 8 of 15 cases: it takes 16 to 97 % less time there.` `None` if it is nowhere, or needs no set-up.
fn without_setup(verdicts: &[&VariantVerdict], name: &str) -> Option<Claim> {
    let arms: Vec<&VariantArm> = verdicts.iter().flat_map(|one| &one.arms).filter(|arm| arm.name == name).collect();
    let ratios: Vec<RatioEstimate> = arms.iter().filter_map(|arm| arm.statement_ratio).collect();
    let faster: Vec<&RatioEstimate> = ratios.iter().filter(|one| one.verdict == RatioVerdict::Faster).collect();
    if faster.is_empty() || arms.iter().all(|arm| arm.setup_seconds.is_none()) {
        return None;
    }
    let less = range(&faster, |one| 1.0 - one.ratio, quantity::percent);
    let sentence = format!(
        "Without its set-up {} is faster in {} of {} cases: it takes {less} less time there.",
        said(name),
        faster.len(),
        ratios.len()
    );
    let ends = [f64::max as fn(f64, f64) -> f64, f64::min].map(|end| faster.iter().map(|one| one.ratio).reduce(end));
    let claim = Claim::new(ClaimKind::Difference, sentence);
    Some(ends.into_iter().flatten().fold(claim, |claim, ratio| claim.figure("statement_ratio", ratio, None)))
}

/// `Its set-up included, the query with index is faster in 2 of 15 cases: up to 16 times as fast, for join-group-by-3 on MariaDB.` `None` if it is
/// nowhere, or needs no set-up.
fn with_setup(verdicts: &[&VariantVerdict], name: &str) -> Option<Claim> {
    let arms = verdicts.iter().flat_map(|verdict| verdict.arms.iter().map(move |arm| (*verdict, arm)));
    let own: Vec<(&VariantVerdict, &VariantArm)> = arms.filter(|(_, arm)| arm.name == name).collect();
    let faster = own.iter().filter(|(_, arm)| is_faster(arm.ratio) && arm.setup_seconds.is_some());
    let faster: Vec<(&VariantVerdict, f64)> = faster.filter_map(|(at, arm)| Some((*at, arm.ratio?.ratio))).collect();
    let (at, best) = faster.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let place = head(at, verdicts).trim_end_matches(", ").replacen("For", ", for", 1);
    let sentence = format!(
        "Its set-up included, {} is faster in {} of {} cases: up to {} times as fast{place}.",
        said(name),
        faster.len(),
        own.len(),
        fine(1.0 / best)
    );
    Some(Claim::new(ClaimKind::Difference, sentence).figure("ratio", 1.0 / best, None))
}

/// The place of `verdict` at the beginning of a sentence: `For group-by, `; nothing if there is one place.
fn head(verdict: &VariantVerdict, all: &[&VariantVerdict]) -> String {
    let names = without_common_words(all.iter().map(|one| one.place.iter().map(spoken).collect()).collect());
    let own = all.iter().zip(names).find(|(one, _)| std::ptr::eq(**one, verdict)).map(|(_, own)| own.join(" on "));
    own.filter(|own| !own.is_empty()).map_or(String::new(), |own| format!("For {own}, "))
}

/// After how many runs a set-up has paid, if the statement alone is faster and the total is not, at the place at which it gains most: `Without
/// its set-up, with-index takes 55 % less time; the set-up costs 5.5 ms, so it pays after 8 to 10 runs.`
fn pays(verdicts: &[&VariantVerdict], base: &str) -> Option<Claim> {
    let arms = verdicts.iter().copied().flat_map(|verdict| {
        let base = verdict.arms.iter().find(|arm| arm.name == base);
        base.into_iter().flat_map(move |base| verdict.arms.iter().map(move |arm| (verdict, base, arm)))
    });
    let paying = arms.filter(|(_, _, arm)| is_faster(arm.statement_ratio) && !is_faster(arm.ratio));
    let gain = |arm: &VariantArm| arm.statement_ratio.map_or(1.0, |ratio| ratio.ratio);
    let (verdict, base, arm) = paying.min_by(|a, b| gain(a.2).total_cmp(&gain(b.2)))?;
    let (once, ratio) = (base.statement_seconds?, arm.statement_ratio?);
    let cost = arm.setup_seconds? + arm.cleanup_seconds.unwrap_or(0.0);
    let runs = |ratio: f64| (cost / (once * (1.0 - ratio))).ceil();
    let [few, many] = ratio.telling_ci95().unwrap_or([ratio.ratio; 2]).map(runs);
    if !(few.is_finite() && many.is_finite() && few > 0.0 && many > 0.0) {
        return None;
    }
    let runs =
        if few == many { format!("{} runs", whole(few)) } else { format!("{} to {} runs", whole(few), whole(many)) };
    let sentence = format!(
        "{}without its set-up {} takes {} % less time; the set-up costs {}, so it pays after {runs}.",
        head(verdict, verdicts),
        said(&arm.name),
        percent(1.0 - ratio.ratio),
        time(cost * 1e9),
    );
    let claim = Claim::new(ClaimKind::Difference, capital(&sentence));
    Some(claim.figure("statement_ratio", ratio.ratio, ratio.ci95).figure("setup_seconds", cost, None))
}

/// What the fastest does less of, and what is built for it: `derived compares 1.00M pairs of rows, and indexed 100.` If none is faster, what is
/// built for the one whose statement alone is.
fn explanation(verdicts: &[&VariantVerdict]) -> Vec<Claim> {
    for verdict in verdicts {
        let best = verdict.fastest.or_else(|| verdict.arms.iter().position(|arm| is_faster(arm.statement_ratio)));
        let Some((base, best)) = verdict.base.zip(best) else { continue };
        let (base, best) = (&verdict.arms[base], &verdict.arms[best]);
        let head = head(verdict, verdicts);
        let amounts = verdict.explanation.map(|contrast| amounts(&head, base, best, contrast));
        let all = amounts.into_iter().chain(built(&head, base, best));
        return all.filter(|claim| words_in(&claim.sentence) <= WORDS_MAX).collect();
    }
    Vec::new()
}

fn amounts(head: &str, base: &VariantArm, best: &VariantArm, contrast: EffortContrast) -> Claim {
    let (verb, things) = effort(contrast.effort);
    let amount = |value: f64| match contrast.effort {
        _ if value == 0.0 => "none".to_owned(),
        StatementEffort::TempBytes => bytes(value).to_string(),
        _ => count(value).to_string(),
    };
    let (much, little) = (amount(contrast.base), amount(contrast.arm));
    let sentence = format!("{head}{} {verb} {much} {things}, and {} {little}.", said(&base.name), said(&best.name));
    Claim::new(ClaimKind::Bottleneck, sentence).figure("base", contrast.base, None).figure(
        "variant",
        contrast.arm,
        None,
    )
}

/// What a statement does, and of what.
fn effort(effort: StatementEffort) -> (&'static str, &'static str) {
    match effort {
        StatementEffort::RowsRead => ("reads", "rows one after the other"),
        StatementEffort::IndexLookups => ("searches indexes", "times"),
        StatementEffort::RowsCompared => ("compares", "pairs of rows"),
        StatementEffort::TransientIndexRows => ("puts", "rows into an index of its own"),
        StatementEffort::TempTables => ("makes", "temporary tables"),
        StatementEffort::TempDiskTables => ("makes", "temporary tables on disk"),
        StatementEffort::TempBytes => ("writes", "to temporary files"),
        StatementEffort::Sorts => ("sorts", "times"),
        StatementEffort::SortedRows => ("sorts", "rows"),
        StatementEffort::MachineSteps => ("takes", "steps of the virtual machine"),
    }
}

/// `The engine builds a temporary table for derived, and nothing for indexed.`
fn built(head: &str, base: &VariantArm, best: &VariantArm) -> Option<Claim> {
    let (before, after) = (base.built.as_ref()?, best.built.as_ref()?);
    let (base, best) = (said(&base.name), said(&best.name));
    let sentence = format!("{head}the engine builds {before} for {base}, and {after} for {best}.");
    let is_sayable = [before, after].iter().all(|words| !words.contains(['=', '_']));
    (before != after && is_sayable).then(|| Claim::new(ClaimKind::Bottleneck, capital(&sentence)))
}

fn cancelled(arm: &VariantArm) -> Claim {
    let limit = arm.timeout_seconds.map_or(String::new(), |limit| format!(" of {}", time(limit * 1e9)));
    Claim::new(ClaimKind::Caution, format!("{} was cancelled at its time limit{limit}.", said(&arm.name)))
}

/// A row for each variant: at one place with its parts, at several with its time over that of the base, which has its times.
fn table(verdicts: &[&VariantVerdict], base: &str) -> Option<AnswerTable> {
    let cell = |arm: &VariantArm, seconds: Option<f64>, figure: &str| {
        let seconds = seconds.map(|value| AnswerCell::of(None, figure, value, time(value * 1e9).to_string()));
        seconds.map(|cell| AnswerCell { is_indicative: arm.validity != Validity::Valid, ..cell })
    };
    let total = |arm: &VariantArm| cell(arm, arm.total_seconds.map(|total| total.mean), "total_seconds");
    let columns = |heads: Vec<String>| heads.into_iter().map(AnswerColumn::new).collect();
    if let [only] = verdicts {
        let row = |arm: &VariantArm| {
            let setup = cell(arm, arm.setup_seconds, "setup_seconds");
            let statement = cell(arm, arm.statement_seconds, "statement_seconds");
            AnswerRow {
                name: vec![words_of(&arm.name)],
                cells: vec![setup, statement, total(arm), ratio_cell(only, arm)],
            }
        };
        let heads = ["set-up", "statement", "total"].map(str::to_owned).to_vec();
        let heads = [heads, vec!["of the first".to_owned()]].concat();
        let rows = only.arms.iter().map(row).collect();
        return Some(AnswerTable {
            head: "variant".to_owned(),
            columns: columns(heads),
            rows,
            ..AnswerTable::default()
        });
    }
    let places: Vec<Vec<&Setting>> = verdicts.iter().map(|one| one.place.iter().collect()).collect();
    let all = axes(&places);
    let parts = |place: &Vec<&Setting>, say: fn(&Setting) -> String| -> Vec<String> {
        let named = all.iter().filter_map(|axis| place.iter().find(|setting| setting.name == axis.name));
        named.map(|setting| say(setting)).collect()
    };
    let arms = verdicts.iter().flat_map(|one| &one.arms);
    let names = distinct([base].into_iter().chain(arms.map(|arm| arm.name.as_str())));
    let of_arm = |verdict: &VariantVerdict, name: &str| {
        let arm = verdict.arms.iter().find(|arm| arm.name == name)?;
        if name == base { total(arm) } else { ratio_cell(verdict, arm) }
    };
    let head = "time (x: times the first)".to_owned();
    if places.len() > names.len().max(PLACES_BESIDE_MAX) {
        let own = without_common_words(places.iter().map(|place| parts(place, speech::row)).collect());
        let cells = |verdict: &&VariantVerdict| names.iter().map(|name| of_arm(verdict, name)).collect();
        let rows = own.into_iter().zip(verdicts.iter().map(cells)).map(|(name, cells)| AnswerRow { name, cells });
        let heads = columns(names.iter().map(|name| words_of(name)).collect());
        let rows_of = places.len();
        return Some(AnswerTable {
            head,
            columns: heads,
            rows: rows.take(ROWS_MAX).collect(),
            rows_of,
            ..AnswerTable::default()
        });
    }
    let rows = names.iter().map(|name| AnswerRow {
        name: vec![words_of(name)],
        cells: verdicts.iter().map(|verdict| of_arm(verdict, name)).collect(),
    });
    let heads = without_common_words(places.iter().map(|place| parts(place, speech::column)).collect());
    let heads = heads.iter().map(|parts| parts.join(" ")).collect();
    Some(AnswerTable { head, columns: columns(heads), rows: rows.collect(), ..AnswerTable::default() })
}

/// `data schema count-distinct` and `data schema group-by` differ in their last word: the names of places without the words that all have.
fn without_common_words(names: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let has = |name: &Vec<String>, word: &str| name.iter().flat_map(|part| part.split(' ')).any(|own| own == word);
    let own_words = |part: &String| -> String {
        let own = part.split(' ').filter(|word| !names.iter().all(|name| has(name, word)));
        own.collect::<Vec<_>>().join(" ")
    };
    names.iter().map(|name| name.iter().map(own_words).filter(|part| !part.is_empty()).collect()).collect()
}

/// The time of a variant over that of the base: `0.16x`, `1.05x =` if no difference is shown, `0.9x ?` if too few pairs make it. It is as
/// indicative as the weaker of the two.
fn ratio_cell(verdict: &VariantVerdict, arm: &VariantArm) -> Option<AnswerCell> {
    let ratio = arm.ratio?;
    let base = verdict.base.map(|base| &verdict.arms[base]);
    let is_weak = base.into_iter().chain([arm]).any(|one| one.validity != Validity::Valid);
    let mark = match ratio.verdict {
        RatioVerdict::Faster | RatioVerdict::Slower => "",
        RatioVerdict::NoDifferenceShown => " =",
        RatioVerdict::Indicative => " ?",
    };
    let cell = AnswerCell::of(None, "ratio", ratio.ratio, format!("{}x{mark}", fine(ratio.ratio)));
    Some(AnswerCell { is_indicative: is_weak || ratio.verdict == RatioVerdict::Indicative, ..cell })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SettingValue;
    use crate::math::repeats::MeanOfRepeats;
    use crate::recorded::dimensions::Role;
    use crate::simulated::Simulation;

    /// The ratio of times, of `n` pairs.
    fn ratio(ratio: f64, n: usize) -> RatioEstimate {
        let verdict = match ratio {
            _ if n < 4 => RatioVerdict::Indicative,
            ratio if ratio < 0.9 => RatioVerdict::Faster,
            ratio if ratio > 1.1 => RatioVerdict::Slower,
            _ => RatioVerdict::NoDifferenceShown,
        };
        let ci95 = (n > 1).then_some([ratio * 0.95, ratio * 1.05]);
        RatioEstimate { ratio, ci95, n, smallest_effect: ci95.map(|_| 0.06), p_value: None, verdict }
    }

    /// A variant whose total and statement take these times of the base's 10 ms.
    fn arm(name: &str, total: f64, statement: f64, setup_ms: Option<f64>) -> VariantArm {
        let is_base = total == 1.0 && setup_ms.is_none();
        VariantArm {
            name: name.into(),
            total_seconds: Some(MeanOfRepeats { mean: 0.01 * total, ci95: None, repeats: 5 }),
            setup_seconds: setup_ms.map(|ms| ms / 1e3),
            statement_seconds: Some(0.01 * statement),
            cleanup_seconds: None,
            steps: Vec::new(),
            ratio: (!is_base).then(|| ratio(total, 5)),
            statement_ratio: (!is_base).then(|| ratio(statement, 5)),
            validity: Validity::Valid,
            result: None,
            built: Some(if is_base { "a temporary table" } else { "nothing" }.into()),
            efforts: Default::default(),
            timeouts: 0,
            timeout_seconds: None,
            plan: None,
        }
    }

    fn verdict(engine: &str, arms: Vec<VariantArm>, explanation: Option<EffortContrast>) -> VariantVerdict {
        let name = SettingValue::Name(engine.into());
        let fastest =
            (0..arms.len()).filter(|nth| arms[*nth].ratio.is_some_and(|it| it.verdict == RatioVerdict::Faster));
        let fastest = fastest.min_by(|a, b| {
            let of = |nth: usize| arms[nth].ratio.unwrap().ratio;
            of(*a).total_cmp(&of(*b))
        });
        let place = vec![Setting::of_run("engine", Role::Engine, name)];
        VariantVerdict { param: "variant".into(), place, arms, base: Some(0), fastest, explanation }
    }

    fn parts(verdicts: Vec<VariantVerdict>) -> (Vec<String>, AnswerTable) {
        let mut analysis = Simulation::counts(&[10]).analysis();
        analysis.verdict.variants = verdicts;
        let parts =
            answer(&AskedRun { analysis: &analysis, rows: &crate::RepeatRows::from_analysis(&analysis).analysis })
                .expect("there are variants");
        (parts.claims.into_iter().map(|claim| claim.sentence).collect(), parts.table.expect("they have times"))
    }

    #[test]
    fn the_fastest_has_its_factor_and_those_that_gain_nothing_are_named() {
        let arms = vec![
            arm("derived", 1.0, 1.0, None),
            arm("view", 1.02, 1.0, None),
            arm("temp", 1.05, 0.99, Some(0.1)),
            arm("temp-table-with-index", 0.16, 0.1, Some(0.5)),
        ];
        let contrast = EffortContrast { effort: StatementEffort::RowsCompared, base: 1e6, arm: 100.0 };
        let (claims, table) = parts(vec![verdict("mariadb", arms, Some(contrast))]);
        let expected = [
            "The temp table with index is 6.2 times (6.0 to 6.6) as fast as derived, its set-up included.",
            "View and temp gain nothing against derived: a difference of 6 % would have shown.",
            "Derived compares 1.00M pairs of rows, and the temp table with index 100.",
            "The engine builds a temporary table for derived, and nothing for the temp table with index.",
        ];
        assert_eq!(claims, expected);
        let cells: Vec<String> = table.rows[3].cells.iter().flatten().map(|cell| cell.text.clone()).collect();
        assert_eq!(cells, ["500 us", "1.00 ms", "1.60 ms", "0.16x"]);
    }

    #[test]
    fn a_set_up_that_costs_more_than_it_saves_pays_after_some_runs() {
        let arms = vec![arm("query-as-written", 1.0, 1.0, None), arm("query-with-index", 4.1, 0.45, Some(50.0))];
        let (claims, _) = parts(vec![verdict("mariadb", arms, None)]);
        let expected = [
            "No other way is proven faster than the query as written.",
            "The query with index takes 4.1 times (3.9 to 4.3) as long as the query as written, its set-up included.",
            "Without its set-up the query with index takes 55 % less time; the set-up costs 50.0 ms, so it pays after 9 to 10 runs.",
            "The engine builds a temporary table for the query as written, and nothing for the query with index.",
        ];
        assert_eq!(claims, expected);
    }

    #[test]
    fn engines_on_which_a_variant_does_something_else_are_told_apart() {
        let arms = |total| vec![arm("derived", 1.0, 1.0, None), arm("indexed", total, total, Some(0.1))];
        let (claims, table) = parts(vec![
            verdict("mariadb", arms(0.2), None),
            verdict("postgres", arms(1.0), None),
            verdict("sqlite", arms(0.2), None),
        ]);
        assert_eq!(
            claims[0],
            "Indexed is 5.0 times (4.8 to 5.3) as fast as derived on mariadb and sqlite, its set-up included."
        );
        assert_eq!(table.rows[1].cells[1].as_ref().unwrap().text, "1.00x =");
        assert_eq!((table.rows[1].name[0].as_str(), table.columns[1].head.as_str()), ("indexed", "postgres"));
    }

    #[test]
    fn what_a_disturbed_repeat_went_into_is_only_indicative() {
        let mut view = arm("view", 0.5, 0.5, None);
        view.validity = Validity::Indicative;
        let arms = vec![arm("derived", 1.0, 1.0, None), view, arm("temp", 0.8, 0.7, Some(0.1))];
        let (_, table) = parts(vec![verdict("mariadb", arms, None)]);
        let marks =
            |row: usize| table.rows[row].cells.iter().flatten().map(|cell| cell.is_indicative).collect::<Vec<_>>();
        assert_eq!((marks(0), marks(1), marks(2)), (vec![false; 2], vec![true; 3], vec![false; 4]));
    }

    #[test]
    fn one_pair_decides_nothing() {
        let mut other = arm("view", 0.5, 0.5, None);
        other.ratio = Some(ratio(0.5, 1));
        other.statement_ratio = Some(ratio(0.5, 1));
        let (claims, table) = parts(vec![verdict("mariadb", vec![arm("derived", 1.0, 1.0, None), other], None)]);
        assert_eq!(
            claims,
            ["Not decided: each comparison has one pair of measurements, and a difference needs four (--repeat 4)."]
        );
        assert_eq!(table.rows[1].cells[3].as_ref().unwrap().text, "0.50x ?");
    }

    #[test]
    fn where_nothing_pays_it_is_told_what_is_built_and_what_it_would_gain_without_its_setup() {
        let engines = ["mariadb", "postgres", "sqlite"];
        let of = |engine: &str, places: usize| -> Vec<VariantVerdict> {
            let arms = || {
                let mut as_written = arm("query-as-written", 1.0, 1.0, None);
                let statement = if engine == "postgres" { 1.0 } else { 0.5 };
                as_written.built = Some(if engine == "postgres" { "HashAggregate" } else { "temporary table" }.into());
                vec![as_written, arm("query-with-index", 6.0, statement, Some(40.0))]
            };
            (0..places).map(|_| verdict(engine, arms(), None)).collect()
        };
        let (claims, table) = parts(engines.iter().flat_map(|engine| of(engine, 2)).collect());
        assert_eq!(
            claims[..2],
            [
                "A temporary table is made on mariadb for 2 of 2 (the query with index 0), on postgres for none and on sqlite for 2 of 2 (0).",
                "Without its set-up the query with index is faster in 4 of 6 cases: it takes 50 % less time there.",
            ]
        );
        assert_eq!((table.rows.len(), table.columns.len(), table.rows[1].name[0].as_str()), (6, 2, "mariadb"));
    }
}
