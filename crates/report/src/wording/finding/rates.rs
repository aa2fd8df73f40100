//! In words: how the rate moved over the run.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: times are as exact as the intervals are short.

use super::FindingWords;
use crate::wording::quantity::{Quantity, counted, listed, percent, plural, range, rate, seconds, time, whole};
use analysis::finding::rates::{
    BoundaryPattern, EventPeriod, HalfRates, LevelPair, LevelShifts, LongStalls, PartitionRates, RateBursts, RateDrops,
    RateTrend, RateVariation, RateWave, RoundsWindow, ShortStalls, Stalls, StarvedOps, SteadyRounds, Unsteadiness,
    UnsteadyRounds, VariationChange,
};
use analysis::{DropSpan, LevelSpan, Span};
use model::Nanos;

const SPANS_LISTED_MAX: usize = 6;

impl FindingWords for SteadyRounds {
    const SUMMARY: &'static str = "five rounds in a row are steady: the point reached steady state";
    const EXPLANATION: &'static str = "A point with `until = steady` is divided into rounds and ends when five in a row are \
         steady, by the rule of SNIA's Solid State Storage Performance Test Specification: their highest and lowest rate differ \
         by at most 20 % of their mean, and a straight line through them rises or falls by at most 10 % of it. Only these five \
         rounds count: throughput, percentiles and costs are theirs. The rounds before them are drawn but not counted.";

    fn title(alike: &[&Self]) -> String {
        format!(
            "steady at round {}: rounds {} to {} count, mean {}",
            range(alike, |one| one.window.last_round as f64, whole),
            range(alike, |one| one.window.first_round as f64, whole),
            range(alike, |one| one.window.last_round as f64, whole),
            range(alike, |one| one.window.mean_per_s, rate)
        )
    }

    fn evidence(&self) -> String {
        rounds(&self.window)
    }
}

fn rounds(window: &RoundsWindow) -> String {
    format!(
        "rounds {} to {} of {}: {}; range {} (limit {}), slope {} (limit {})",
        window.first_round,
        window.last_round,
        window.round_ns,
        rates(&window.ops_per_s),
        percent(window.range_share.0),
        percent(window.range_max.0),
        percent(window.slope_share.0),
        percent(window.slope_max.0)
    )
}

fn rates(all: &[f64]) -> String {
    all.iter().map(|one| rate(*one).to_string()).collect::<Vec<_>>().join(", ")
}

impl FindingWords for UnsteadyRounds {
    const SUMMARY: &'static str = "the point ended before five rounds in a row were steady";
    const EXPLANATION: &'static str = "The point was to last until five rounds in a row are steady (at most 20 % of their mean \
         between the highest and the lowest rate, at most 10 % between the ends of a straight line through them), but ended \
         earlier: after `rounds_max` rounds, or because something stopped it. The numbers are those of the last five rounds and \
         only indicative: the rate was still changing. Allow more rounds, make them longer if the rate jumps from round to \
         round, or write the data more often before the run phase (`precondition`).";

    fn is_like(&self, other: &Self) -> bool {
        let excess = |one: &Self| one.window.as_ref().map(Excess::of);
        excess(self) == excess(other)
    }

    fn title(alike: &[&Self]) -> String {
        let rounds = counted(alike, |one| one.rounds as u64, "round");
        let Some(window) = &alike[0].window else {
            return format!("not steady: {rounds} completed, {} needed", alike[0].rounds_min);
        };
        let of_window =
            |figure: fn(&RoundsWindow) -> f64| range(alike, |one| one.window.as_ref().map_or(0.0, figure), percent);
        let excess = Excess::of(window);
        let spread = excess.range.then(|| format!("range {}", of_window(|w| w.range_share.0)));
        let sign = if excess.falls { "-" } else { "" };
        let slope = excess.slope.then(|| format!("trend {sign}{}", of_window(|w| w.slope_share.0.abs())));
        let found: Vec<String> = spread.into_iter().chain(slope).collect();
        match found.is_empty() {
            true => format!("not steady after {rounds}: no operation was done in them"),
            false => format!("not steady after {rounds}: {}", found.join(", ") + " of the mean"),
        }
    }

    fn evidence(&self) -> String {
        match &self.window {
            Some(window) => rounds(window),
            None => format!("rounds of {}: {}", self.round_ns, rates(&self.ops_per_s)),
        }
    }
}

/// Which limits a window of rounds exceeds.
#[derive(PartialEq)]
struct Excess {
    range: bool,
    slope: bool,
    falls: bool,
}

impl Excess {
    fn of(window: &RoundsWindow) -> Excess {
        Excess {
            range: window.range_share.0 > window.range_max.0,
            slope: window.slope_share.0.abs() > window.slope_max.0,
            falls: window.slope_share.0 < 0.0,
        }
    }
}

impl FindingWords for Unsteadiness {
    const SUMMARY: &'static str = "the rate drifts over the run phase, or varies widely";
    const EXPLANATION: &'static str = "Drift: the rate rises or falls over the run phase. The mean then depends on when the \
         point ended, so the point is only indicative: use a longer warmup or a longer time. Wide variation: the rate changes \
         much from interval to interval. It describes the engine and does not weaken the numbers: the confidence interval \
         already contains it.\n\n\
         How it is decided: it is drift if the mean rates of the first and the second half, or the ends of a straight line \
         through all rates, differ by more than 10 % of the mean and by more than their 99.9 % confidence intervals \
         (autocorrelation included) allow. Variation is wide if the coefficient of variation of the rates is above 20 % after \
         the part that counting alone gives (Poisson) is taken off. A point with `until = steady` is judged by its rounds and \
         not for drift.";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (std::mem::discriminant(one), one.change_share() < 0.0);
        form(self) == form(other)
    }

    fn title(alike: &[&Self]) -> String {
        let change = || changed_by(alike);
        match alike[0] {
            Unsteadiness::Halves(_) if alike[0].change_share() < 0.0 => {
                format!("drift: the second half is {} slower than the first", change())
            }
            Unsteadiness::Halves(_) => format!("drift: the second half is {} faster than the first", change()),
            Unsteadiness::Trend(_) if alike[0].change_share() < 0.0 => {
                format!("drift: the rate falls by {} over the run phase", change())
            }
            Unsteadiness::Trend(_) => format!("drift: the rate rises by {} over the run phase", change()),
            Unsteadiness::Variation(_) => {
                let variation = range(alike, |one| one.variation(), percent);
                format!("the rate varies by {variation} from interval to interval")
            }
        }
    }

    fn evidence(&self) -> String {
        match self {
            Unsteadiness::Halves(halves) => halves_evidence(halves),
            Unsteadiness::Trend(line) => trend_evidence(line),
            Unsteadiness::Variation(found) => variation_evidence(found),
        }
    }
}

fn halves_evidence(halves: &HalfRates) -> String {
    format!(
        "first half {} ±{}, second half {} ±{} (99.9 % intervals)",
        rate(halves.first_per_s),
        rate(halves.first_half_width_per_s),
        rate(halves.second_per_s),
        rate(halves.second_half_width_per_s)
    )
}

fn trend_evidence(line: &RateTrend) -> String {
    format!(
        "a straight line from {} to {}, a change of {} ±{} (99.9 % interval)",
        rate(line.start_per_s),
        rate(line.end_per_s),
        rate(line.change_per_s),
        rate(line.change_half_width_per_s)
    )
}

fn variation_evidence(found: &RateVariation) -> String {
    format!(
        "{} of {}, from {} to {}",
        plural(found.intervals as u64, "interval"),
        found.interval_ns,
        rate(found.least_per_s),
        rate(found.most_per_s)
    )
}

/// The figures that the titles need.
trait DriftFigures {
    /// By which share of the beginning the rate changed; below 0 if it fell.
    fn change_share(&self) -> f64;
    fn variation(&self) -> f64;
}

impl DriftFigures for Unsteadiness {
    fn change_share(&self) -> f64 {
        match self {
            Unsteadiness::Halves(halves) => halves.second_per_s / halves.first_per_s - 1.0,
            Unsteadiness::Trend(line) => line.end_per_s / line.start_per_s - 1.0,
            Unsteadiness::Variation(_) => 0.0,
        }
    }

    fn variation(&self) -> f64 {
        if let Unsteadiness::Variation(found) = self { found.variation_share.0 } else { 0.0 }
    }
}

/// A percentage of a rate near 0 has no meaning.
const MANIFOLD: f64 = 10.0;

fn changed_by(alike: &[&Unsteadiness]) -> String {
    match alike.iter().all(|one| one.change_share().abs() <= MANIFOLD) {
        true => range(alike, |one| one.change_share().abs(), percent),
        false => "more than tenfold".to_owned(),
    }
}

impl FindingWords for LevelShifts {
    const SUMMARY: &'static str = "the rate changed to another level and stayed there";
    const EXPLANATION: &'static str = "The rate was at one level for a while, and at another for the rest. Quote both levels \
         with their times, not the mean over them. Look for what began at that time: garbage collection of a drive that ran out \
         of free blocks, a full cache, a throttle. The finding describes the engine; `unsteady` judges whether the mean can be \
         used.\n\n\
         How it is decided: the rates of the intervals are cut into levels by penalised least squares (the change-point \
         search of Killick, Fearnhead and Eckley, JASA 107, 2012; the penalty is 4 ln(n) times the long-run variance of the \
         noise, outliers cut off). A shift counts if two levels differ by at least 10 % and by 1.2 robust standard deviations, \
         or by 5 % and three of them, and if a straight line does not fit the change better than a step. A level lasts at least \
         five intervals; one that returns to the old level is a drop if it lasts less than half the time of its neighbours or at \
         most a tenth of the run. If the rate swings (`wave`) or jumps back and forth (`two-levels`) no shift is reported. In \
         simulated noise without a shift (white, AR(1) up to 0.7, heavy tails; 60 intervals) it is found in at most 2 % of runs.";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| match one.levels[..] {
            [before, after] => (2, after.ops_per_s < before.ops_per_s, Some(one.variation())),
            _ => (one.levels.len().min(SHIFTS_LISTED_MAX + 1), false, None),
        };
        form(self) == form(other) && (alone_in_title(self) == alone_in_title(other))
    }

    fn title(alike: &[&Self]) -> String {
        let first = alike[0];
        let interval = first.interval_ns;
        match first.levels.len() {
            2 => {
                let from = |one: &Self| one.levels[1].span.from_s;
                let changed =
                    range(alike, |one| one.levels[1].ops_per_s / one.levels[0].ops_per_s - 1.0, signed_change);
                format!(
                    "{} until {}, then {} ({changed}{})",
                    range(alike, |one| one.levels[0].ops_per_s, rate),
                    range(alike, from, |at| at_second(at, interval)),
                    range(alike, |one| one.levels[1].ops_per_s, rate),
                    variation_words(first.variation())
                )
            }
            n if n <= SHIFTS_LISTED_MAX && alike.len() == 1 => {
                let level = |level: &LevelSpan| {
                    format!("{} from {}", rate(level.ops_per_s), at_second(level.span.from_s, interval))
                };
                let levels: Vec<String> = first.levels.iter().map(level).collect();
                format!("the rate shifted {} times: {}", n - 1, levels.join(", "))
            }
            _ => {
                let shifts = range(alike, |one| one.levels.len() as f64 - 1.0, whole);
                let least = |one: &Self| one.levels.iter().map(|level| level.ops_per_s).fold(f64::MAX, f64::min);
                let most = |one: &Self| one.levels.iter().map(|level| level.ops_per_s).fold(0.0, f64::max);
                let (least, most) = (range(alike, least, rate), range(alike, most, rate));
                format!("the rate shifted {shifts} times, between {least} and {most}")
            }
        }
    }

    fn evidence(&self) -> String {
        const LEVELS_LISTED_MAX: usize = 8;
        let one = |level: &LevelSpan| {
            format!("{} {} ±{}", span(&level.span, self.interval_ns), rate(level.ops_per_s), rate(level.deviation))
        };
        listed(&self.levels, LEVELS_LISTED_MAX, one)
    }
}

/// So many levels fit a title.
const SHIFTS_LISTED_MAX: usize = 4;

/// Whether the title lists each level with its time.
fn alone_in_title(shifts: &LevelShifts) -> bool {
    (3..=SHIFTS_LISTED_MAX).contains(&shifts.levels.len())
}

/// `40 % less`, `60 % more`.
fn signed_change(share: f64) -> Quantity {
    let percent = percent(share.abs());
    percent.with_suffix(if share < 0.0 { " % less" } else { " % more" })
}

fn variation_words(change: VariationChange) -> &'static str {
    match change {
        VariationChange::LessSteady => ", and less steady",
        VariationChange::Steadier => ", and steadier",
        VariationChange::Alike => "",
    }
}

/// A moment, in seconds since the run phase began.
fn at_second(at_s: f64, interval: Nanos) -> Quantity {
    seconds(Nanos((at_s.max(0.0) * 1e9).round() as u64), interval)
}

/// `3.0-6.0 s`
fn span(span: &Span, interval: Nanos) -> String {
    format!("{}-{}", at_second(span.from_s, interval).digits(), at_second(span.to_s, interval))
}

impl FindingWords for LevelPair {
    const SUMMARY: &'static str = "the rate jumps back and forth between two levels";
    const EXPLANATION: &'static str = "The engine has two rates and changes between them. The engine never has the mean of \
         both: quote both rates. Usual reasons are two states of a cache or a journal, or interference from another program. It \
         describes the engine.\n\n\
         How it is decided: the rates of the intervals are divided into the two tightest groups (two means, as in N. Otsu, IEEE \
         Transactions SMC 9, 1979). They are two levels if each has at least a tenth of the intervals, their medians are 20 % \
         and eight robust standard deviations of a group apart, at most 4 % of the intervals lie in the middle third between \
         them, the rate changes sides at least six times, and the lower is at least a quarter of the higher. In simulated noise \
         it is found in at most 1 % of runs.";

    fn title(alike: &[&Self]) -> String {
        let (low, high) = (range(alike, |one| one.low_per_s, rate), range(alike, |one| one.high_per_s, rate));
        format!("the rate jumps between {low} and {high}")
    }

    fn evidence(&self) -> String {
        format!(
            "{} of {} intervals of {} are near the lower; the rate changed sides {} times",
            percent(self.low_share.0),
            self.intervals,
            self.interval_ns,
            self.jumps
        )
    }
}

impl FindingWords for RateWave {
    const SUMMARY: &'static str = "the rate swings like a wave";
    const EXPLANATION: &'static str = "Something in the engine or the disk repeats, such as a cache that fills and is written \
         back, or garbage collection: look for work with that period. With fewer than ten waves the mean depends on where the \
         run phase ends, unless it ends after a whole wave; with more you can use the mean. It describes the engine.\n\n\
         How it is decided: one sine carries at least half of the variance of the rates (the highest peak of the periodogram; in 30,000 \
         simulated runs of 40 intervals, white noise never reaches that; by R. A. Fisher's test, Proc. Royal Society A 125, \
         1929) and swings by at least 10 % of the mean from top to bottom. There must be four waves, and four intervals to \
         each. The period may change: then the smoothed rate is cut where it crosses the middle, the longest wave may be two and \
         a half times as long as the shortest, each must have eight intervals, and the period is the mean. In simulated noise (white, AR(1) up to 0.7, heavy tails; 60 intervals) it is found in at most 1 % of runs.";

    fn title(alike: &[&Self]) -> String {
        format!(
            "the rate swings between {} and {}, one wave every {}",
            range(alike, |one| one.low_per_s, rate),
            range(alike, |one| one.high_per_s, rate),
            range(alike, |one| one.period_ns.0 as f64, time)
        )
    }

    fn evidence(&self) -> String {
        let share = percent(self.variance_share.0);
        format!("a sine of this period carries {share} of the variance; {} waves in the run phase", whole(self.waves))
    }
}

impl FindingWords for Stalls {
    const SUMMARY: &'static str = "times in which the engine did next to nothing";
    const EXPLANATION: &'static str = "The engine finished almost nothing for a while. The mean hides that; the worst second \
         and the longest response time show it. Three or more at equal distances have a period: look for something that happens \
         that often (checkpoints, compaction, garbage collection, a throttle). A stall describes the engine and does not weaken \
         the numbers.\n\n\
         How it is decided: a stall is a stretch of intervals below 20 % of the median rate, at least 100 ms long and long \
         enough for 30 operations to be expected in it. A shorter stall shows in the service times: operations of at least 50 \
         ms that took 100 times the median, and 10 times the 99.9th percentile unless only one operation is in flight at a \
         time. If they took so long that a stall of the engine would have shown in the rates, the engine served others \
         meanwhile, and the finding is `starvation`.";

    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Stalls::Rates(one), Stalls::Rates(other)) => one.period.is_some() == other.period.is_some(),
            (Stalls::Operations(_), Stalls::Operations(_)) => true,
            _ => false,
        }
    }

    fn title(alike: &[&Self]) -> String {
        let long: Vec<&LongStalls> = alike.iter().filter_map(|one| one.in_rates()).collect();
        let short: Vec<&ShortStalls> = alike.iter().filter_map(|one| one.in_operations()).collect();
        if long.is_empty() { short_stalls(&short) } else { long_stalls(&long) }
    }

    fn evidence(&self) -> String {
        match self {
            Stalls::Rates(found) => format!(
                "below 20 % of the median rate of {}, down to {} of it",
                rate(found.usual_per_s),
                percent(found.deepest_share.0)
            ),
            Stalls::Operations(found) => {
                let period = found
                    .period_ns
                    .map_or(String::new(), |period| format!("; one every {:.2} s on average", period.as_secs_f64()));
                let which = if found.slow.count == 1 { "it" } else { "the longest" };
                let at = found.slow.longest_at_ns as f64 / 1e9;
                let median = time(found.slow.median_ns as f64);
                format!("median service time {median}; {which} ended in the interval at {at:.1} s{period}")
            }
        }
    }

    fn times(&self, spans: &[Span]) -> String {
        match self.in_rates() {
            Some(found) => format!(": {}", listed(spans, SPANS_LISTED_MAX, |one| span(one, found.interval_ns))),
            None => String::new(),
        }
    }
}

/// The two forms of a stall.
trait StallForm {
    fn in_rates(&self) -> Option<&LongStalls>;
    fn in_operations(&self) -> Option<&ShortStalls>;
}

impl StallForm for Stalls {
    fn in_rates(&self) -> Option<&LongStalls> {
        if let Stalls::Rates(found) = self { Some(found) } else { None }
    }

    fn in_operations(&self) -> Option<&ShortStalls> {
        if let Stalls::Operations(found) = self { Some(found) } else { None }
    }
}

/// `5 stalls, 15.0 s in all; the longest 3.0 s, at 97.0 s; one every 20.0 s (±0.0 s)`, or `1 stall of 3.0 s, at 3.0 s`.
fn long_stalls(alike: &[&LongStalls]) -> String {
    let interval = alike[0].interval_ns;
    let in_seconds = |ns: f64| seconds(Nanos(ns as u64), interval);
    let longest = range(alike, |one| one.longest_ns.0 as f64, in_seconds);
    let is_one_each = alike.iter().all(|one| one.count == 1);
    // Of several points a range of times would read as one stall.
    let at = match alike {
        [only] => format!(", at {}", in_seconds(only.longest_at_ns.0 as f64)),
        _ => String::new(),
    };
    match alike.len() {
        1 if is_one_each => return format!("1 stall of {longest}{at}"),
        _ if is_one_each => return format!("one stall each, of {longest}"),
        _ => {}
    }
    let stalls = counted(alike, |one| one.count as u64, "stall");
    let total = range(alike, |one| one.total_ns.0 as f64, in_seconds);
    let period = alike.iter().map(|one| one.period).collect::<Option<Vec<_>>>();
    let every = period.map_or(String::new(), |periods| format!("; {}", one_every(&periods, interval)));
    format!("{stalls}, {total} in all; the longest {longest}{at}{every}")
}

/// `one every 20.0 s (±0.0 s)`
fn one_every(periods: &[EventPeriod], interval: Nanos) -> String {
    let periods: Vec<&EventPeriod> = periods.iter().collect();
    let in_seconds = |ns: f64| seconds(Nanos(ns as u64), interval);
    let gap = range(&periods, |one| one.gap_ns.0 as f64, in_seconds);
    format!("one every {gap} (±{})", range(&periods, |one| one.spread_ns.0 as f64, in_seconds))
}

fn short_stalls(alike: &[&ShortStalls]) -> String {
    let is_one = alike.iter().all(|one| one.slow.count == 1);
    let ops = match alike.len() {
        1 => counted(alike, |one| one.slow.count, "operation"),
        _ if is_one => "one operation of each".to_owned(),
        _ => format!("{} of each", counted(alike, |one| one.slow.count, "operation")),
    };
    let took = if is_one { "took" } else { "took up to" };
    format!(
        "{ops} {took} {}, {} times the median",
        range(alike, |one| one.slow.longest_ns as f64, time),
        range(alike, |one| (one.slow.longest_ns / one.slow.median_ns.max(1)) as f64, whole)
    )
}

impl FindingWords for RateDrops {
    const SUMMARY: &'static str = "short drops of the rate far below its level";
    const EXPLANATION: &'static str = "The rate falls far below its level for a short time and returns to it. Drops at equal \
         distances have a cause that repeats as often: a checkpoint, a compaction, garbage collection of the drive, a scheduled \
         job. They describe the engine and do not weaken the numbers.\n\n\
         How it is decided: a drop is a stretch of intervals at least 20 % and 3.5 standard deviations below the level of the run \
         phase, and no stall. So that noise is not taken for drops, there must be five at equal distances, or they must last \
         (two intervals on average if there are several, three if there is one), or be a third deep and deeper than normal noise \
         reaches. Unless they are at equal distances, hardly any other interval may be nearly as far from the level, on either \
         side. Drops at equal distances may each be a quarter of the period early or late, and one of five may be missing. A drop \
         at the beginning or the end of the run counts only if there are others. If more than a quarter of the intervals are low, or \
         a third at equal distances, the finding is `two-levels`. In simulated noise (white, AR(1) up to 0.7; 60 intervals) drops \
         are found in at most 1 % of runs. Noise with a tail so heavy that single intervals fall to half of the median has drops.";

    fn is_like(&self, other: &Self) -> bool {
        self.period.is_some() == other.period.is_some()
    }

    fn title(alike: &[&Self]) -> String {
        let interval = alike[0].interval_ns;
        let first = if alike.iter().all(|one| one.drops.len() == 1) { "" } else { "the first " };
        let periods = alike.iter().map(|one| one.period).collect::<Option<Vec<_>>>();
        let when = match periods {
            Some(periods) => one_every(&periods, interval),
            None => {
                format!("{first}at {}", range(alike, |one| one.drops[0].span.from_s, |at| at_second(at, interval)))
            }
        };
        format!(
            "{} from {} to {} ({} less) for {}; {when}",
            counted(alike, |one| one.drops.len() as u64, "drop"),
            range(alike, |one| one.from_per_s, rate),
            range(alike, |one| one.to_per_s, rate),
            range(alike, |one| 1.0 - one.to_per_s / one.from_per_s.max(f64::MIN_POSITIVE), percent),
            range(alike, |one| one.length_ns.0 as f64, |ns| seconds(Nanos(ns as u64), interval))
        )
    }

    fn evidence(&self) -> String {
        let one = |drop: &DropSpan| format!("{} {}", span(&drop.span, self.interval_ns), rate(drop.to_per_s));
        let medians = if self.drops.len() == 1 { "" } else { "medians of all drops; " };
        format!("{medians}{}", listed(&self.drops, SPANS_LISTED_MAX, one))
    }
}

impl FindingWords for PartitionRates {
    const SUMMARY: &'static str = "the insert rate drops or peaks where a new partition begins";
    const EXPLANATION: &'static str = "The insert rate changes where the next partition begins. A short drop is the work of the \
         change itself (a table is opened, pages are flushed); a rate that falls while a partition fills and jumps when the \
         next begins is the cost of indexes that outgrow the cache. It describes the engine.\n\n\
         How it is decided: for each \
         boundary between partitions, half a partition on both sides of it is examined. If the lowest interval of that stretch \
         is within 5 % of a partition from the boundary, the boundary has a drop; if the highest is, a peak. If boundaries were \
         nothing special, the lowest interval could be anywhere, and would be near the boundary as often as its share of the \
         rows. The binomial test gives the probability of so many by chance; there is no finding if it is 1 in 1,000 or more, \
         or if the drops are less than 10 % of the level around them. In simulated noise (white, AR(1), heavy tails) it is \
         found in at most 1 % of runs.";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (one.drops.is_some(), one.peaks.is_some());
        form(self) == form(other)
    }

    fn title(alike: &[&Self]) -> String {
        let drops: Vec<&BoundaryPattern> = alike.iter().filter_map(|one| one.drops.as_ref()).collect();
        let peaks: Vec<&BoundaryPattern> = alike.iter().filter_map(|one| one.peaks.as_ref()).collect();
        match (drops.is_empty(), peaks.is_empty()) {
            (false, false) => format!(
                "the insert rate falls to {} while a partition fills and jumps to {} when the next begins ({} and {} of {} \
                 boundaries)",
                range(&drops, |one| one.rows_per_s, rate),
                range(&peaks, |one| one.rows_per_s, rate),
                range(&drops, |one| one.found as f64, whole),
                range(&peaks, |one| one.found as f64, whole),
                range(&drops, |one| one.boundaries as f64, whole)
            ),
            (false, true) => boundary_title(&drops, "drops", "below", alike[0].interval_ns),
            _ => boundary_title(&peaks, "peaks", "above", alike[0].interval_ns),
        }
    }

    fn evidence(&self) -> String {
        let test = |(pattern, word): (&Option<BoundaryPattern>, &str)| {
            let p = pattern.as_ref()?;
            Some(format!("the {word} interval is there at {} of {} (p {})", p.found, p.boundaries, chance(p.chance)))
        };
        let tests: Vec<String> =
            [(&self.drops, "lowest"), (&self.peaks, "highest")].into_iter().filter_map(test).collect();
        let share = self.drops.or(self.peaks).map_or(0.0, |pattern| pattern.near_share.0);
        let passed = |at: &Nanos| seconds(*at, self.interval_ns).to_string();
        format!(
            "a boundary every {} rows; {} of the rows are near one; {}; passed at {}",
            whole(self.partition_rows as f64),
            percent(share),
            tests.join(", "),
            listed(&self.passed_at_ns, SPANS_LISTED_MAX, passed)
        )
    }
}

/// `the insert rate drops at 8 of 9 partition boundaries: to 6.10k/s for 3.0 s, 38 % below the level around them`
fn boundary_title(alike: &[&BoundaryPattern], verb: &str, side: &str, interval: Nanos) -> String {
    format!(
        "the insert rate {verb} at {} of {} partition boundaries: to {} for {}, {} {side} the level around them",
        range(alike, |one| one.found as f64, whole),
        range(alike, |one| one.boundaries as f64, whole),
        range(alike, |one| one.rows_per_s, rate),
        range(alike, |one| one.length_ns.0 as f64, |ns| seconds(Nanos(ns as u64), interval)),
        range(alike, |one| one.depth_share.0, percent)
    )
}

/// `< 0.000001`, `= 0.0004`
fn chance(chance: f64) -> String {
    if chance < 1e-6 { "< 0.000001".to_owned() } else { format!("= {chance:.6}") }
}

impl FindingWords for RateBursts {
    const SUMMARY: &'static str = "the engine works in bursts, with nothing between them";
    const EXPLANATION: &'static str = "The engine works for a moment and then waits, many times a second. This is how a limit \
         with time slices works: the operations that a slice allows are done at its beginning, and later ones wait for the next \
         slice (limits of a Linux cgroup have slices of 100 ms; those of cloud volumes are similar). Mean and median hide it: \
         the median response time is that of the unlimited device, and the percentiles of the operations that wait are as long \
         as the slice. It describes the engine and does not weaken the numbers.\n\n\
         How it is decided: in 20 to 90 % of the \
         intervals next to nothing was done (below 5 % of the mean rate, where ten operations were expected), and the bursts \
         between them are regular, at most 250 ms apart: of at least 12 gaps, six in ten are within 15 % or half an interval of \
         their median. In simulated noise it is found in none of 1600 runs.";

    fn title(alike: &[&Self]) -> String {
        format!(
            "in bursts, one about every {} ms; next to nothing was done in {} of the time",
            range(alike, |one| one.period_ns.as_secs_f64() * 1e3, whole),
            range(alike, |one| one.off_share.0, percent)
        )
    }

    fn evidence(&self) -> String {
        let quantiles = self.service_ns.map_or(String::new(), |q| {
            let [p50, p99, p999] = [q.p50, q.p99, q.p999].map(|ns| time(ns as f64));
            format!("; service times: p50 {p50}, p99 {p99}, p99.9 {p999}")
        });
        format!(
            "{} bursts in {} intervals of {}, mean {}{quantiles}",
            self.count,
            self.intervals,
            seconds(self.interval_ns, self.interval_ns),
            rate(self.mean_per_s)
        )
    }
}

impl FindingWords for StarvedOps {
    const SUMMARY: &'static str = "some operations waited very long while others were served";
    const EXPLANATION: &'static str = "Some operations waited for very long while the engine served others. Throughput and \
         median hide it. The usual reason is a lock without a queue, which a client that has just released it can take again \
         before those that wait (retries with a back-off behave like that), or an unfair scheduler. It describes the engine and \
         does not weaken the numbers.\n\n\
         How it is decided: operations of at least 50 ms took 100 times the median, and also a \
         second, a quarter of the run phase, or 10 times the 99.9th percentile; if the engine had stalled for so long, the rate \
         of an interval would show it, and the finding would be `stall`.";

    fn title(alike: &[&Self]) -> String {
        let is_one = alike.iter().all(|one| one.slow.count == 1);
        format!(
            "{} waited {} ({} times the median) while others were served",
            counted(alike, |one| one.slow.count, "operation"),
            if is_one { String::new() } else { "up to ".to_owned() }
                + &range(alike, |one| one.slow.longest_ns as f64, time),
            range(alike, |one| (one.slow.longest_ns / one.slow.median_ns.max(1)) as f64, whole)
        )
    }

    fn evidence(&self) -> String {
        let run_s = self.length_ns.as_secs_f64();
        format!(
            "median service time {}; the longest took {} of the run phase of {run_s:.1} s; {}, depth {}",
            time(self.slow.median_ns as f64),
            percent(self.slow.longest_ns as f64 / 1e9 / run_s.max(f64::MIN_POSITIVE)),
            plural(u64::from(self.clients), "client"),
            self.depth
        )
    }
}
