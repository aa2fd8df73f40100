//! Which repeats of two arms belong to each other.
//!
//! In: the values of repeats, each with its place in the order of measurement. Out: a [`Pairing`]. The runner decides by pairs when a comparison is
//! over, and the analysis computes their ratio, so both ask here. Limits: a repeat is in one pair at most; what has no partner is left out.

/// One repeat: when in the run it was measured, and what it gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatValue {
    /// Its place in the order of measurement.
    pub place: u32,
    pub value: f64,
}

/// Two repeats that are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatPair {
    /// What the baseline gave.
    pub base: f64,
    /// What the other arm gave.
    pub new: f64,
}

impl RepeatPair {
    /// The logarithm of new : base; `None` if one of them is not above 0.
    pub fn log_ratio(&self) -> Option<f64> {
        let log = (self.new / self.base).ln();
        (self.base > 0.0 && self.new > 0.0 && log.is_finite()).then_some(log)
    }
}

/// The pairs of two arms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairing {
    /// The pairs in the order of measurement.
    pub pairs: Vec<RepeatPair>,
    /// Whether the arms were measured in turn. If not, a drift of the machine looks like a difference between them.
    pub is_interleaved: bool,
}

impl Pairing {
    /// The pairs of repeats of one run. Each repeat belongs to the next one if that is of the other arm. If this leaves half of the
    /// repeats without a partner, the arms were not measured in turn: the first then belongs to the first, the second to the second.
    pub fn adjacent(base: &[RepeatValue], new: &[RepeatValue]) -> Pairing {
        let pairs = neighbours(base, new);
        match pairs.len() * 2 > base.len().min(new.len()) {
            true => Pairing { pairs, is_interleaved: true },
            false => Pairing::by_order(base, new),
        }
    }

    /// The pairs of repeats that were not measured in turn: the first with the first.
    fn by_order(base: &[RepeatValue], new: &[RepeatValue]) -> Pairing {
        let in_order = |repeats: &[RepeatValue]| {
            let mut sorted = repeats.to_vec();
            sorted.sort_by_key(|repeat| repeat.place);
            sorted
        };
        let pairs = in_order(base).into_iter().zip(in_order(new));
        let pairs = pairs.map(|(base, new)| RepeatPair { base: base.value, new: new.value }).collect();
        Pairing { pairs, is_interleaved: false }
    }

    /// Pairs the repeats of two runs by their numbers, which are their places. If two repeats of a run have the same number, the repeats
    /// are paired by their order.
    pub fn by_number(base: &[RepeatValue], new: &[RepeatValue]) -> Pairing {
        let is_unique = |repeats: &[RepeatValue]| {
            let mut places: Vec<u32> = repeats.iter().map(|repeat| repeat.place).collect();
            places.sort_unstable();
            places.windows(2).all(|two| two[0] != two[1])
        };
        if !is_unique(base) || !is_unique(new) {
            return Pairing::by_order(base, new);
        }
        let has = |repeats: &[RepeatValue], place: u32| repeats.iter().any(|repeat| repeat.place == place);
        let common = |own: &[RepeatValue], others: &[RepeatValue]| -> Vec<RepeatValue> {
            own.iter().filter(|repeat| has(others, repeat.place)).copied().collect()
        };
        Pairing::by_order(&common(base, new), &common(new, base))
    }
}

/// The pairs of neighbours that are of different arms; each repeat is in one pair at most.
fn neighbours(base: &[RepeatValue], new: &[RepeatValue]) -> Vec<RepeatPair> {
    let of_arm = |repeats: &[RepeatValue], is_new: bool| repeats.iter().map(|repeat| (*repeat, is_new)).collect();
    let both: [Vec<(RepeatValue, bool)>; 2] = [of_arm(base, false), of_arm(new, true)];
    let mut order = both.concat();
    order.sort_by_key(|(repeat, is_new)| (repeat.place, *is_new));
    let mut pairs = Vec::new();
    let mut waiting: Option<(f64, bool)> = None;
    for (RepeatValue { value, .. }, is_new) in order {
        waiting = match waiting {
            Some((first, false)) if is_new => {
                pairs.push(RepeatPair { base: first, new: value });
                None
            }
            Some((first, true)) if !is_new => {
                pairs.push(RepeatPair { base: value, new: first });
                None
            }
            _ => Some((value, is_new)),
        };
    }
    pairs
}
