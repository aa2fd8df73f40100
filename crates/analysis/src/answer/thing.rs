//! What was measured, at one or several numbers of clients or depths, as the subject, the verb and the object of a sentence.
//!
//! In: the usable points of a run. Out: a [`Thing`] for each group of them that has a rate. Limits: points that are timed as a whole are
//! in none.

use super::amounts::in_table;
use super::speech::{amount, begins, number_word, spoken};
use super::table::AnswerCell;
use super::{AskedRun, Claim, ClaimFigure, ClaimKind};
use crate::findings::knee::FALL_MIN;
use crate::math::repeats::{MeanOfRepeats, combine_looked_at};
use crate::point::errors_of_mean;
use crate::points::sweep::{ScalingAxis, Sweep, SweepStep, is_usable, sweeps};
use crate::points::work::{WorkRate, WorkUnit};
use crate::recorded::dimensions::ENGINE;
use crate::{Finding, PointAnalysis, Role, Setting, Severity, Validity};
use model::{AccessPattern, OpClass};
use std::collections::BTreeMap;
use words::list::capital;
use words::quantity::time;

/// Less than this share more is no gain.
pub(super) const GAIN_MIN: f64 = 0.02;

/// The points that differ at most in clients, depth and repetition.
pub(super) struct Thing<'a> {
    pub sweep: Sweep<'a>,
    /// What its work is counted in.
    pub unit: WorkUnit,
    /// What distinguishes it from the other things of the run.
    pub distinguishing: Vec<&'a Setting>,
}

/// What a step reached.
pub(super) struct Reached {
    /// In the unit of its thing.
    pub rate: MeanOfRepeats,
    /// Of the response times.
    pub p99_ns: Option<u64>,
    /// The point that it is of; `None` of repeats.
    pub point: Option<u32>,
}

impl<'a> Thing<'a> {
    /// Those of `run`, in the order in which they were measured.
    pub fn all(run: &AskedRun<'a>) -> Vec<Thing<'a>> {
        let with_rate = sweeps(&run.analysis.points).into_iter().filter_map(|sweep| {
            let unit = WorkUnit::of(sweep.steps[0].points[0])?;
            Some((sweep, unit))
        });
        let all: Vec<(Sweep, WorkUnit)> = with_rate.collect();
        let labels: Vec<&[Setting]> = all.iter().map(|(sweep, _)| sweep.label).collect();
        // The label of a run in which nothing varies has the engine and the workload.
        let is_common = |setting: &&Setting| labels.iter().all(|settings| settings.contains(setting));
        let of_sweep = |(sweep, unit): (Sweep<'a>, WorkUnit)| {
            let distinguishing = sweep.label.iter().filter(|setting| !is_common(setting)).collect();
            Thing { sweep, unit, distinguishing }
        };
        all.into_iter().map(of_sweep).collect()
    }

    /// Groups that were measured and none of whose points may be used, each with the reason.
    pub fn unusable(run: &AskedRun<'a>) -> Vec<Claim> {
        let mut groups: BTreeMap<usize, Vec<&PointAnalysis>> = BTreeMap::new();
        let measured = run.analysis.points.iter().filter(|point| point.summary.is_some());
        measured.for_each(|point| groups.entry(point.group).or_default().push(point));
        let spoilt = groups.into_values().filter(|own| !own.iter().any(|point| is_usable(point)));
        let claim = |own: Vec<&PointAnalysis>| {
            let findings = own[0].findings.iter().filter(|finding| finding.severity == Severity::Error);
            let code = findings.map(Finding::code).next()?;
            let unit = WorkUnit::of(own[0])?;
            let thing = Thing { sweep: Sweep::from_points(own), unit, distinguishing: Vec::new() };
            let sentence =
                format!("{} cannot be used: they {}.", capital(&thing.whose_work()), code.reason(Validity::Invalid));
            Some(Claim::new(ClaimKind::Caution, sentence).from_finding(code))
        };
        spoilt.filter_map(claim).collect()
    }

    pub fn first(&self) -> &'a PointAnalysis {
        self.sweep.steps[0].points[0]
    }

    pub fn points(&self) -> impl Iterator<Item = &'a PointAnalysis> {
        self.sweep.steps.iter().flat_map(|step| step.points.iter().copied())
    }

    /// Whether anything varies within it.
    pub fn is_swept(&self) -> bool {
        self.sweep.axis != ScalingAxis::None
    }

    /// Whether its rate is shown to rise up to the last step.
    pub fn is_rising(&self) -> bool {
        let sweep = &self.sweep;
        let ends = [sweep.best(), sweep.knee()];
        self.is_swept() && ends.iter().all(|end| std::ptr::eq(*end, sweep.last())) && sweep.is_rise_shown()
    }

    pub fn reached(&self, step: &SweepStep) -> Reached {
        let rates = step.points.iter().filter_map(|point| WorkRate::of(point).map(|rate| (rate.value, rate.ci95)));
        let point = if let [only] = step.points.as_slice() { Some(only.id) } else { None };
        let rate = combine_looked_at(rates, errors_of_mean(&step.points)).unwrap_or_default();
        Reached { rate, p99_ns: step.p99_ns(), point }
    }

    /// Who does the work: `the disk`, `SQLite`.
    pub fn who(&self) -> String {
        let first = self.first();
        if first.traits.work.io.is_none() || first.traits.engine.scripted {
            return first.settings.get(ENGINE).map_or_else(|| first.engine.clone(), spoken);
        }
        if first.traits.engine.direct_io == Some(true) { "the disk".to_owned() } else { "the file".to_owned() }
    }

    /// The same at the beginning of a sentence.
    pub fn who_begins(&self) -> String {
        begins(&self.who())
    }

    /// What it does with its work.
    pub fn verb(&self) -> &'static str {
        match self.unit {
            WorkUnit::Reads => "reads",
            WorkUnit::Writes => "writes",
            WorkUnit::ReadsAndWrites => "reads and writes",
            WorkUnit::Rows => "inserts",
            WorkUnit::Transactions => "serves",
            WorkUnit::Queries => "answers",
            WorkUnit::Connections => "opens",
            _ => "does",
        }
    }

    /// What its work is: `random blocks of 4 KiB`, `read transactions`.
    pub fn object(&self) -> String {
        let first = self.first();
        if let Some(io) = &first.traits.work.io {
            let pattern = if io.pattern == AccessPattern::Random { "random" } else { "sequential" };
            let size = if io.block.0 > 0 { format!(" of {}", io.block) } else { String::new() };
            return format!("{pattern} blocks{size}");
        }
        // A sort of work that has a phrase is said by it; the step of a sequence is no sort of transaction.
        let sort = self.distinguishing.iter().find(|setting| setting.role == Role::Work && !setting.is_step());
        if let Some(phrase) = sort.and_then(|setting| setting.phrase.clone()) {
            return phrase;
        }
        let own = first.statements.iter().filter(|statement| !statement.background);
        let only_reads = self.unit == WorkUnit::Transactions && own.clone().all(|one| one.class == OpClass::Read);
        let noun = format!("{}{}", if only_reads { "read " } else { "" }, self.unit.plural());
        sort.map_or_else(|| noun.clone(), |setting| format!("{noun} ({})", spoken(setting)))
    }

    /// Its work in a word or two, if it is one of several: `the writes`, `SQLite's read transactions`.
    pub fn whose_work(&self) -> String {
        match self.unit {
            WorkUnit::Reads | WorkUnit::Writes | WorkUnit::ReadsAndWrites => format!("the {}", self.unit.plural()),
            _ => format!("{}'s {}", self.who(), self.object()),
        }
    }

    /// Where `step` is: `with four clients`, `with 32 requests at a time`; empty if nothing varies.
    pub fn place(&self, step: &SweepStep) -> String {
        let clients = number_word(step.clients) + if step.clients == 1 { " client" } else { " clients" };
        let requests = number_word(step.depth) + if step.depth == 1 { " request" } else { " requests" };
        match self.sweep.axis {
            ScalingAxis::None => String::new(),
            ScalingAxis::Clients => format!("with {clients}"),
            ScalingAxis::Depth => format!("with {requests} at a time"),
            ScalingAxis::Both if step.clients == 1 => format!("with {clients} and {requests} at a time"),
            ScalingAxis::Both => format!("with {clients} and {requests} of each at a time"),
        }
    }

    /// The step with so many clients and this depth.
    pub fn step_at(&self, (clients, depth): (u32, u32)) -> Option<&SweepStep<'a>> {
        self.sweep.steps.iter().find(|step| (step.clients, step.depth) == (clients, depth))
    }

    /// The same in a table: `4 clients`, `32 in flight`.
    pub fn short_place(&self, step: &SweepStep) -> String {
        let clients = format!("{} client{}", step.clients, if step.clients == 1 { "" } else { "s" });
        match self.sweep.axis {
            ScalingAxis::None => String::new(),
            ScalingAxis::Clients => clients,
            ScalingAxis::Depth => format!("{} in flight", step.depth),
            ScalingAxis::Both => format!("{clients}, {} in flight", step.depth),
        }
    }

    /// `The disk reads 79,200 random blocks of 4 KiB per second with 32 requests at a time`; of a step that is only indicative
    /// it is `about 79,200`.
    pub fn clause(&self, value: f64, step: &SweepStep) -> String {
        let place = self.place(step);
        let place = if place.is_empty() { place } else { format!(" {place}") };
        let about = if is_indicative(step) { "about " } else { "" };
        let (who, verb, per) = (self.who_begins(), self.verb(), self.unit.per());
        format!("{who} {verb} {about}{} {} {per}{place}", amount(value), self.object())
    }

    /// `claim` with what `step` reached as its figure.
    pub fn with_figure(&self, mut claim: Claim, reached: &Reached) -> Claim {
        let Reached { rate: MeanOfRepeats { mean, ci95, .. }, point, .. } = *reached;
        claim.figures.push(ClaimFigure { name: self.unit.figure().to_owned(), value: mean, ci95, point });
        claim
    }

    /// The cell of what `step` reached.
    pub fn rate_cell(&self, step: &SweepStep) -> AnswerCell {
        let Reached { rate, point, .. } = self.reached(step);
        let (text, figure) = (in_table(&rate), self.unit.figure().to_owned());
        AnswerCell { value: rate.mean, text, figure, point, is_indicative: is_indicative(step) }
    }

    /// The cell of the response time that the share `quantile` of the operations kept to.
    pub fn time_cell(&self, step: &SweepStep, quantile: f64, figure: &str) -> Option<AnswerCell> {
        let value = step.response_ns(quantile)? as f64;
        let point = self.reached(step).point;
        let (text, figure) = (time(value).to_string(), figure.to_owned());
        Some(AnswerCell { value, text, figure, point, is_indicative: is_indicative(step) })
    }

    /// The cell of the payload, in MB/s, of what moves blocks.
    pub fn payload_cell(&self, step: &SweepStep) -> Option<AnswerCell> {
        self.first().traits.work.io.as_ref()?;
        let bytes = step.estimate(|summary| Some((summary.bytes_per_s, None)))?.mean;
        let (text, figure) = (amount(bytes / 1e6), "bytes_per_s".to_owned());
        let point = self.reached(step).point;
        (bytes > 0.0).then_some(AnswerCell { value: bytes, text, figure, point, is_indicative: is_indicative(step) })
    }
}

/// Whether nothing must be concluded from `step`.
fn is_indicative(step: &SweepStep) -> bool {
    step.points.iter().any(|point| point.validity != Validity::Valid)
}

/// Whether `step` is below the best by more than the intervals of both allow, and by more than matters.
pub(super) fn is_clearly_below(best: &SweepStep, step: &SweepStep) -> bool {
    is_below(best, step, GAIN_MIN)
}

/// The first step beyond the best at which the rate is clearly lower.
pub(super) fn first_fall<'s, 'a>(sweep: &'s Sweep<'a>) -> Option<&'s SweepStep<'a>> {
    let best = sweep.best();
    let beyond = sweep.steps.iter().skip_while(|step| !std::ptr::eq(*step, best)).skip(1);
    beyond.into_iter().find(|step| is_below(best, step, FALL_MIN))
}

/// Whether `step` is below the best by more than this share, and by more than the intervals of both allow.
fn is_below(best: &SweepStep, step: &SweepStep, share: f64) -> bool {
    let gap = best.ops_per_s() - step.ops_per_s();
    let noise = best.half_width_per_s().zip(step.half_width_per_s()).map_or(0.0, |(a, b)| a.hypot(b));
    gap > noise && gap > share * best.ops_per_s()
}
