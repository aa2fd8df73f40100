//! Several instances in words: what each did, and whether one could have done it.
//!
//! In: typed [`InstanceShares`] and [`InstanceGain`]s. Out: a line, and sentences. Limits: that one instance cannot use a machine is
//! written only of a ratio that is shown, and if one instance was measured with as many clients.

use super::label::settings_label;
use super::quantity::{number, plural, rate};
use super::relative::ratio_text;
use analysis::findings::unfair_instances::fairness_text;
use analysis::math::ratio::RatioVerdict;
use analysis::{InstanceGain, InstanceShares};

/// A gain of less is no reason to start another instance.
const GAIN_MIN: f64 = 1.1;

/// `4 instances: 2.81k/s to 2.90k/s each, fairness 0.999`
pub fn instances_line(shares: &InstanceShares) -> String {
    let [least, most] = shares.range_per_s().map(|per_s| rate(per_s).to_string());
    let each = if least == most { most } else { format!("{least} to {most}") };
    let fairness = shares.fairness.map_or(String::new(), |index| format!(", fairness {}", fairness_text(index)));
    format!("{}: {each} each{fairness}", plural(shares.n as u64, "instance"))
}

/// What more instances carry, a sentence for each number of them.
pub(super) fn conclusions(gains: &[InstanceGain]) -> Vec<String> {
    gains.iter().map(sentence).collect()
}

/// `4 instances carry 2.90 times (95 % CI 2.71 to 3.08, 6 pairs) what one carries: one instance cannot use this machine.`
fn sentence(gain: &InstanceGain) -> String {
    let subject = match settings_label(&gain.label) {
        label if label.is_empty() => String::new(),
        label => format!("{label}: "),
    };
    let (more, base) = (plural(u64::from(gain.more.instances), "instance"), base_words(gain));
    let pairs = plural(gain.ratio.n as u64, "pair");
    let interval = gain.ratio.telling_ci95().map_or(pairs.clone(), |[low, high]| {
        format!("95 % CI {} to {}, {pairs}", ratio_text(low, None), ratio_text(high, None))
    });
    let ratio = ratio_text(gain.ratio.ratio, None);
    match gain.ratio.verdict {
        RatioVerdict::Indicative => {
            format!("{subject}{more} carry {ratio} times what {base} (indicative only: {pairs}).")
        }
        RatioVerdict::NoDifferenceShown => {
            let effect = gain.ratio.telling_effect().map_or(String::new(), |effect| {
                format!(" (9 of 10 tries would have shown a factor of {})", number(1.0 + effect))
            });
            format!("{subject}{more} show no difference to what {base}{effect}.")
        }
        RatioVerdict::Slower => {
            format!("{subject}{more} carry only {ratio} times ({interval}) what {base}: they hinder each other.")
        }
        RatioVerdict::Faster => {
            format!("{subject}{more} carry {ratio} times ({interval}) what {base}{}", gain_clause(gain))
        }
    }
}

/// `one carries`, `2 carry`
fn base_words(gain: &InstanceGain) -> String {
    match gain.base.instances {
        1 => "one carries".to_owned(),
        several => format!("{several} carry"),
    }
}

fn gain_clause(gain: &InstanceGain) -> String {
    let few =
        if gain.base.instances == 1 { "one instance".to_owned() } else { format!("{} instances", gain.base.instances) };
    let all_clients = gain.more.instances * gain.more.clients / gain.base.instances.max(1);
    match (gain.has_equal_clients, gain.ratio.ratio >= GAIN_MIN) {
        (true, true) => format!(": {few} cannot use this machine."),
        (true, false) => ".".to_owned(),
        (false, _) => {
            format!(
                ", with more clients in all; measure {few} with {all_clients} clients, too, to know whether that is enough."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::math::ratio::RatioEstimate;
    use analysis::points::instance_gain::InstanceStep;

    fn gain(ratio: f64, verdict: RatioVerdict, has_equal_clients: bool) -> InstanceGain {
        let n = if verdict == RatioVerdict::Indicative { 1 } else { 6 };
        let ci95 = (n > 1).then_some([ratio * 0.95, ratio * 1.05]);
        let step = |instances| InstanceStep { instances, clients: 4, ops_per_s: 1000.0 };
        InstanceGain {
            label: Vec::new(),
            base: step(1),
            more: step(4),
            ratio: RatioEstimate { ratio, ci95, n, smallest_effect: ci95.map(|_| 0.05), p_value: None, verdict },
            has_equal_clients,
        }
    }

    #[test]
    fn one_instance_cannot_use_the_machine_only_if_it_had_as_many_clients() {
        let expected = "4 instances carry 2.90 times (95 % CI 2.75 to 3.04, 6 pairs) what one carries: one instance cannot use this machine.";
        assert_eq!(sentence(&gain(2.9, RatioVerdict::Faster, true)), expected);
        let unknown = "4 instances carry 2.90 times (95 % CI 2.75 to 3.04, 6 pairs) what one carries, with more clients in all; measure one \
                       instance with 16 clients, too, to know whether that is enough.";
        assert_eq!(sentence(&gain(2.9, RatioVerdict::Faster, false)), unknown);
        assert!(sentence(&gain(1.04, RatioVerdict::Faster, true)).ends_with("what one carries."));
    }

    #[test]
    fn a_single_pair_is_indicative_and_no_difference_is_called_so() {
        let single = "4 instances carry 2.90 times what one carries (indicative only: 1 pair).";
        assert_eq!(sentence(&gain(2.9, RatioVerdict::Indicative, true)), single);
        let even = sentence(&gain(1.0, RatioVerdict::NoDifferenceShown, true));
        assert_eq!(
            even,
            "4 instances show no difference to what one carries (9 of 10 tries would have shown a factor of 1.05)."
        );
    }

    #[test]
    fn the_line_of_a_point_has_the_range_and_a_fairness_below_1_unless_all_are_equal() {
        let line = |ops_per_s: &[f64], fairness| {
            let (ops_per_s, ops) = (ops_per_s.to_vec(), vec![1; ops_per_s.len()]);
            instances_line(&InstanceShares {
                n: ops.len(),
                fairness: Some(fairness),
                least_to_most: None,
                ops_per_s,
                ops,
            })
        };
        assert_eq!(line(&[2_810.0, 2_900.0], 0.9998), "2 instances: 2.81k/s to 2.90k/s each, fairness 0.999");
        assert_eq!(line(&[500.0; 4], 1.0), "4 instances: 500/s each, fairness 1");
    }
}
