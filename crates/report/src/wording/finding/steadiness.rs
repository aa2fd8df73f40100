//! In words: whether a rate stays what it is, over a run, over repeats, and over a sweep.
//!
//! In: the figures. Out: titles, evidence and explanations. Limits: times are as exact as the intervals are short.

use super::FindingWords;
use crate::wording::capacity;
use crate::wording::list::join_and;
use crate::wording::quantity::{listed, number, percent, plural, range, rate, seconds, small_number};
use analysis::finding::steadiness::{
    InconsistentRepeats, LeastSteady, RateBehaviour, RateSpread, RepeatSeen, Slowdown,
};
use analysis::points::step_steadiness::StepVariation;
use model::Nanos;
use std::collections::BTreeMap;

impl FindingWords for Slowdown {
    const SUMMARY: &'static str = "the rate is steady, but lower than at the beginning";
    const EXPLANATION: &'static str = "The rate fell slowly at the beginning of the run phase and is level since. The engine keeps the \
         later rate: quote that, with the time from which it holds. Usual reasons are a write cache or free blocks of a drive that \
         are used up, data that outgrows a cache, a memtable or a log that fills, a burst credit of a cloud volume, a CPU that \
         becomes hot. It is a warning if the mean over the run phase is more than 5 % above the rate that the engine keeps, else a \
         note. A longer warmup leaves the beginning out.\n\n\
         How it is decided: the mean of the first tenth of the intervals is compared with that of the second half. The rate fell if \
         they differ by more than 10 % and by more than chance allows at 99.9 % (autocorrelation included), the median of the \
         beginning, too. It is level if a straight line through the second half changes by less than 5 % of the mean and, with its \
         95 % interval, by less than half of the fall. Intervals of stalls and outages are left out; at least 40 must be left. A \
         rate that fell at once is a `level-shift`, one that still falls is `unsteady`, and neither is reported twice. Inserts \
         that differ between two settings are `insert-slowdown`. In 200 simulated runs without a fall (60 intervals; white noise, \
         AR(1) up to 0.7, heavy tails, 5 % deviation) it is found in 2 at most.";

    fn is_like(&self, other: &Self) -> bool {
        self.interval_ns == other.interval_ns
    }

    fn title(alike: &[&Self]) -> String {
        let interval = alike[0].interval_ns;
        let from = range(alike, |one| one.steady_from_ns.0 as f64, |ns| seconds(Nanos(ns as u64), interval));
        let steady = range(alike, |one| one.steady_per_s, rate);
        let begin = range(alike, |one| one.begin_per_s, rate);
        let fall = range(alike, |one| one.fall_share.0, percent);
        format!("steady from {from} on at {steady}, {fall} slower than at the beginning ({begin})")
    }

    fn evidence(&self) -> String {
        format!(
            "the first {} {}, the second half {} ±{} (99.9 % interval); the mean over the run phase is {} above that",
            seconds(self.begin_ns, self.interval_ns),
            rate(self.begin_per_s),
            rate(self.steady_per_s),
            rate(self.steady_half_width_per_s),
            percent(self.mean_above_share.0.max(0.0))
        )
    }
}

impl FindingWords for InconsistentRepeats {
    const SUMMARY: &'static str = "the repeats of a point disagree";
    const EXPLANATION: &'static str = "Repeats do the same work, so they should have the same rate and run alike. If they do not, the \
         mean over them describes none, and a comparison of two settings may show which repeat was lucky. Quote the range. Look at \
         the timelines of the repeats side by side, and for what differs between them: the state of the data or of the drive, \
         caches, the layout of memory and files, other load on the machine. More repeats show how often each kind occurs.\n\n\
         How it is decided: of at least three usable repeats, the rates disagree if the highest and the lowest differ by more than \
         20 % of the mean and by more than three times what their 95 % confidence intervals allow together. (These intervals show \
         the noise within a run; repeats always differ by a little more.) They behave differently if one is steady and another \
         slows down, drifts, shifts its level or jumps between two levels, by at least 20 %; this needs 20 intervals. Points that \
         a setting distinguishes which has no effect on them count as repeats. In 200 simulated points of three repeats (60 \
         intervals, AR(1) noise of 0.5, 5 % deviation) it is found in 2 at most.";

    fn is_like(&self, other: &Self) -> bool {
        let form = |one: &Self| (one.place, one.spread.is_some(), one.behaviours_differ, one.repeats.len());
        form(self) == form(other) && behaviours(&self.repeats) == behaviours(&other.repeats)
    }

    fn title(alike: &[&Self]) -> String {
        let first = alike[0];
        let repeats = plural(first.repeats.len() as u64, "repeat");
        let spreads: Vec<&RateSpread> = alike.iter().filter_map(|one| one.spread.as_ref()).collect();
        let parts = [
            (!spreads.is_empty()).then(|| spread_words(&spreads)),
            first.behaviours_differ.then(|| format!("run differently: {}", behaviours(&first.repeats))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{}{repeats} {}", at_place(first), parts.join("; they "))
    }

    fn evidence(&self) -> String {
        const REPEATS_LISTED_MAX: usize = 8;
        let one = |repeat: &RepeatSeen| {
            let behaviour = repeat.behaviour.map_or(String::new(), |kind| format!(" ({})", behaviour_word(kind)));
            format!("point {} {}{behaviour}", repeat.point, rate(repeat.ops_per_s))
        };
        listed(&self.repeats, REPEATS_LISTED_MAX, one)
    }
}

/// `at 4 clients: `; empty if nothing varies in the sweep.
fn at_place(found: &InconsistentRepeats) -> String {
    capacity::place(&found.place).map_or(String::new(), |place| format!("at {place}: "))
}

// The ratio has no meaning if the repeats have no noise.
const TIMES_MAX: f64 = 100.0;

/// `differ by 33 % (700 to 1,000/s), 12.3 times what their intervals allow`
fn spread_words(spreads: &[&RateSpread]) -> String {
    let (least, most) = (range(spreads, |one| one.least_per_s, rate), range(spreads, |one| one.most_per_s, rate));
    let times = match spreads.iter().any(|one| one.times_interval > TIMES_MAX) {
        true => format!("more than {TIMES_MAX}"),
        false => range(spreads, |one| one.times_interval, number),
    };
    let share = range(spreads, |one| one.share.0, percent);
    format!("differ by {share} (from {least} to {most}), {times} times what their intervals allow")
}

/// `2 steady and 1 with two levels`, of those that can be judged.
fn behaviours(repeats: &[RepeatSeen]) -> String {
    let mut counts: BTreeMap<RateBehaviour, u64> = BTreeMap::new();
    repeats.iter().filter_map(|repeat| repeat.behaviour).for_each(|kind| *counts.entry(kind).or_default() += 1);
    join_and(&counts.iter().map(|(kind, count)| format!("{count} {}", behaviour_word(*kind))).collect::<Vec<_>>())
}

fn behaviour_word(behaviour: RateBehaviour) -> &'static str {
    match behaviour {
        RateBehaviour::Steady => "steady",
        RateBehaviour::Slowdown => "with a slowdown",
        RateBehaviour::Drift => "with a drift",
        RateBehaviour::LevelShift => "with a shift of the level",
        RateBehaviour::TwoLevels => "with two levels",
    }
}

impl FindingWords for LeastSteady {
    const SUMMARY: &'static str = "some points of a sweep run clearly less steadily than the others";
    const EXPLANATION: &'static str = "At some numbers of clients, or depths, the rate varies much more from interval to interval than \
         at the others. Response times vary there, too. If you plan a server, prefer a steadier number with nearly the same rate. The \
         evidence has the coefficient of variation of each (standard deviation over mean of the rates of the intervals) and the \
         consistency (mean over standard deviation), as tests of disks give it.\n\n\
         How it is decided: of at least three steps with 16 intervals or more, those above the widest gap are compared with the \
         least steady of the others. They are named if they vary by more than 5 %, by 1.5 times as much, by more than counting alone \
         gives, and by more than chance allows at 99.9 % (the noise of the variances, with autocorrelation). At most half of the \
         steps can be named. A single stall is too rare to decide this: it is the finding `stall`. The verdict names the two ends of \
         a sweep and whether repeats show their order. In 200 simulated sweeps of five equal steps (60 intervals, AR(1) noise of \
         0.5, 5 % deviation) it is found in 2 at most.";

    fn is_like(&self, other: &Self) -> bool {
        let places = |one: &Self| one.least_steady.iter().map(|step| step.place).collect::<Vec<_>>();
        places(self) == places(other)
    }

    fn title(alike: &[&Self]) -> String {
        let named: Vec<String> = alike[0].least_steady.iter().map(place_of).collect();
        let varying: Vec<&StepVariation> = alike.iter().flat_map(|one| &one.least_steady).collect();
        let varies = range(&varying, |step| step.variation.mean, percent);
        let most = range(alike, |one| one.others[0].variation.mean, percent);
        format!(
            "least steady at {}: the rate varies by {varies} from interval to interval, elsewhere by {most} at most",
            join_and(&named)
        )
    }

    fn evidence(&self) -> String {
        let one = |step: &&StepVariation| {
            let consistency = small_number(step.consistency());
            format!("{} {} (consistency {consistency})", place_of(step), percent(step.variation.mean))
        };
        let all: Vec<&StepVariation> = self.least_steady.iter().chain(&self.others).collect();
        listed(&all, all.len(), one)
    }
}

fn place_of(step: &StepVariation) -> String {
    capacity::place(&step.place).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::ScalingAxis;
    use analysis::finding::units::Share;
    use analysis::math::repeats::MeanOfRepeats;
    use analysis::points::sweep::StepPlace;

    fn at(clients: u32) -> StepPlace {
        StepPlace { clients: Some(clients), depth: None }
    }

    fn slowdown(steady_per_s: f64, fall: f64) -> Slowdown {
        Slowdown {
            begin_per_s: 1_000.0,
            begin_ns: Nanos::from_secs(12),
            steady_per_s,
            steady_half_width_per_s: 4.1,
            steady_from_ns: Nanos::from_secs(35),
            fall_share: Share(fall),
            mean_above_share: Share(0.032),
            interval_ns: Nanos::from_secs(1),
        }
    }

    #[test]
    fn a_slowdown_has_the_rate_that_is_kept_and_since_when() {
        let (one, other) = (slowdown(803.0, 0.197), slowdown(900.0, 0.1));
        let expected = "steady from 35.0 s on at 803/s, 20 % slower than at the beginning (1.00k/s)";
        assert_eq!(Slowdown::title(&[&one]), expected);
        let both = "steady from 35.0 s on at 803 to 900/s, 10 to 20 % slower than at the beginning (1.00k/s)";
        assert_eq!(Slowdown::title(&[&one, &other]), both);
        let evidence = "the first 12.0 s 1.00k/s, the second half 803/s ±4.10/s (99.9 % interval); the mean over the run phase is \
                        3.2 % above that";
        assert_eq!(one.evidence(), evidence);
    }

    fn repeats(kinds: [Option<RateBehaviour>; 3], spread: Option<RateSpread>) -> InconsistentRepeats {
        let seen = |(nth, behaviour): (u32, Option<RateBehaviour>)| RepeatSeen {
            point: nth,
            ops_per_s: 400.0 + 100.0 * f64::from(nth),
            behaviour,
        };
        let behaviours_differ = kinds.iter().any(|kind| *kind != kinds[0]);
        InconsistentRepeats { place: at(4), repeats: (1..).zip(kinds).map(seen).collect(), spread, behaviours_differ }
    }

    #[test]
    fn repeats_that_disagree_are_told_by_rate_and_by_kind() {
        let spread = RateSpread { least_per_s: 500.0, most_per_s: 700.0, share: Share(0.333), times_interval: 12.34 };
        let rates = repeats([None; 3], Some(spread));
        let differ = "3 repeats differ by 33 % (from 500/s to 700/s), 12.3 times what their intervals allow";
        assert_eq!(InconsistentRepeats::title(&[&rates]), format!("at 4 clients: {differ}"));
        assert_eq!(rates.evidence(), "point 1 500/s, point 2 600/s, point 3 700/s");
        let (steady, jumping) = (Some(RateBehaviour::Steady), Some(RateBehaviour::TwoLevels));
        let kinds = InconsistentRepeats { place: StepPlace::default(), ..repeats([steady, jumping, steady], None) };
        assert_eq!(InconsistentRepeats::title(&[&kinds]), "3 repeats run differently: 2 steady and 1 with two levels");
        let both = repeats([steady, jumping, steady], Some(RateSpread { times_interval: 1e6, ..spread }));
        let title = InconsistentRepeats::title(&[&both]);
        assert!(title.contains("more than 100 times what their intervals allow; they run differently: 2 "), "{title}");
    }

    #[test]
    fn the_least_steady_steps_are_named_with_the_most_that_others_vary() {
        let step = |clients: u32, mean: f64| StepVariation {
            place: at(clients),
            variation: MeanOfRepeats { mean, ci95: None, repeats: 1 },
        };
        let one = LeastSteady {
            axis: ScalingAxis::Clients,
            least_steady: vec![step(4, 0.2)],
            others: vec![step(1, 0.041), step(32, 0.02)],
        };
        let expected =
            "least steady at 4 clients: the rate varies by 20 % from interval to interval, elsewhere by 4.1 % at most";
        assert_eq!(LeastSteady::title(&[&one]), expected);
        let evidence =
            "4 clients 20 % (consistency 5.00), 1 client 4.1 % (consistency 24.4), 32 clients 2.0 % (consistency 50.0)";
        assert_eq!(one.evidence(), evidence);
        let two = LeastSteady { least_steady: vec![step(4, 0.2), step(8, 0.15)], ..one };
        let title = LeastSteady::title(&[&two]);
        assert!(
            title.starts_with("least steady at 4 clients and 8 clients: the rate varies by 15 to 20 % "),
            "{title}"
        );
    }
}
