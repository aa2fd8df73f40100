//! `ab`: a comparison of two values of one key, measured in pairs.
//!
//! In: the merged settings of a sweep. Out: the same with the key of `ab` as the dimension that varies fastest, so that the two arms of a
//! pair are measured one right after the other, A B in odd repeats and B A in even ones. Limits: two arms; more values are a list and a
//! table. What an engine does before each point is its own parameter `between`, which an engine may lack.

use crate::common::{self, AB, BUDGET, DATA_SET};
use crate::document::{Written, WrittenSetting};
use crate::ending::{PAIRS_MAX, is_until_sure};
use crate::error::{Place, PlanError, listed, shown};
use crate::sweep::{self, own_name};
use model::{Catalogue, Entry, ParamDef, ParamKind, ParamRole};

/// So many pairs find a difference of 5 % in nine of ten tries if repeats differ by 2 %.
const PAIRS: &str = "6";
/// What may be written before a variable, as on the command line.
const SET: &str = "set.";
const BETWEEN: &str = "between";
/// They name what a point is, which one of several equal points, or what the machine costs: two of them are no arms of a comparison.
const NO_ARMS: [&str; 9] = ["workload", "repeat", "seed", "price", "watts", "link", DATA_SET, AB, BUDGET];
/// They say how and how long a point is measured: points that differ in nothing else are repeats of each other.
const OF_MEASURING: &str = "time warmup interval grace ops_max on_error stacks round rounds_max rate_max precondition";

/// The settings with `ab` replaced by what it asks for: the key with its two values, and defaults of `repeat` and `between`. Returns the
/// key, too.
pub(crate) fn unfold_arms<'a>(
    mut settings: Vec<WrittenSetting<'a>>,
    catalogue: &Catalogue,
) -> Result<(Vec<WrittenSetting<'a>>, Option<String>), PlanError> {
    let Some(at) = settings.iter().position(|setting| setting.key == AB) else { return Ok((settings, None)) };
    let ab = settings.remove(at);
    let arms = read_arms(&ab, catalogue)?;
    if let Some(at) = settings.iter().position(|setting| setting.key == arms.key) {
        let other = settings.remove(at);
        if other.place.is_command_line() || !ab.place.is_command_line() {
            let key = shown(&other.key);
            return Err(ab.place.error(format_args!("`{key}` is set as well; leave out one of `{AB}` and `{key}`")));
        }
    }
    let between = if are_sequences(&settings, catalogue) { "keep" } else { reset_between(&arms.key, catalogue) };
    let most = PAIRS_MAX.to_string();
    let pairs = if is_until_sure(&settings) { most.as_str() } else { PAIRS };
    let defaults = [("repeat", pairs), (BETWEEN, between)];
    let is_set = |key: &str| settings.iter().any(|setting| setting.key == key);
    // A budget is spent on as many pairs as it has time for.
    let is_left_open = |key: &str| key == "repeat" && is_set(BUDGET);
    let missing = defaults.into_iter().filter(|(key, _)| !is_set(key) && !is_left_open(key));
    let missing: Vec<WrittenSetting> = missing.map(|(key, text)| setting_of(key, text, ab.place)).collect();
    settings.extend(missing);
    let key = arms.key.clone();
    settings.push(arms);
    Ok((settings, Some(key)))
}

/// Whether `setting` is an `ab` that compares two values of `key`.
pub(crate) fn chooses_arms_of(setting: &WrittenSetting<'_>, key: &str) -> bool {
    let first = setting.values.first().and_then(|value| value.text.split_once('='));
    setting.key == AB && first.is_some_and(|(compared, _)| compared.trim() == key)
}

/// The setting that the text of `ab` means: `fs=ext4,xfs`.
fn read_arms<'a>(ab: &WrittenSetting<'a>, catalogue: &Catalogue) -> Result<WrittenSetting<'a>, PlanError> {
    let text = ab.values.iter().map(|value| value.text.as_str()).collect::<Vec<_>>().join(",");
    let malformed =
        || ab.place.error_of(AB, format_args!("cannot be `{}`; use KEY=A,B, such as `fs=ext4,xfs`", shown(&text)));
    let (key, values) = text.split_once('=').ok_or_else(malformed)?;
    let key = key.trim();
    let key = own_name(&key.strip_prefix(SET).unwrap_or(key).replace('-', "_"), catalogue);
    check_key(&key, ab.place, catalogue)?;
    let values: Vec<Written> = values
        .split(',')
        .map(|text| Written { key: key.clone(), text: text.trim().to_owned(), place: ab.place })
        .collect();
    match values.len() {
        2 => Ok(WrittenSetting { key, place: ab.place, values }),
        1 => Err(malformed()),
        n => Err(ab.place.error_of(
            AB,
            format_args!(
                "takes two values, and `{}` has {n}; for more use `repeat`, and `{key}` with a list",
                shown(&key)
            ),
        )),
    }
}

/// Refuses a key that there is not, or whose values are no arms of a comparison.
fn check_key(key: &str, place: Place<'_>, catalogue: &Catalogue) -> Result<(), PlanError> {
    sweep::check_known(key, place, catalogue)?;
    let mut defs = declarations(key, catalogue);
    if NO_ARMS.contains(&key) {
        Err(place.error_of(AB, format_args!("cannot compare `{key}`; name another key than {}", listed(NO_ARMS))))
    } else if OF_MEASURING.split(' ').any(|own| own == key) {
        Err(place.error_of(AB, format_args!("cannot compare `{key}`: it says how a point is measured, and not what")))
    } else if common::find(key).is_none()
        && defs.any(|def| {
            matches!(def.kind, ParamKind::Steps(_))
                || matches!(def.role, ParamRole::Step | ParamRole::Mode | ParamRole::Mix)
        })
    {
        Err(place.error_of(AB, format_args!("cannot compare `{key}`: another value asks for other work")))
    } else {
        Ok(())
    }
}

fn declarations<'c>(key: &'c str, catalogue: &'c Catalogue) -> impl Iterator<Item = &'static ParamDef> + 'c {
    let entries = catalogue.engines.iter().chain(&catalogue.workloads);
    entries.flat_map(|entry: &Entry| entry.params).filter(move |def| def.takes(key))
}

/// Whether all workloads of `settings` are sequences of steps. Each sequence begins with an engine and data of its own, and its steps go on
/// with both as the step before left them.
fn are_sequences(settings: &[WrittenSetting<'_>], catalogue: &Catalogue) -> bool {
    let mut named = settings.iter().filter(|setting| setting.key == "workload").flat_map(|one| &one.values).peekable();
    named.peek().is_some()
        && named.all(|name| catalogue.workloads.iter().any(|entry| entry.name == name.text && entry.steps().is_some()))
}

/// How the engine begins a point if nothing else is asked for: restarted, on data that no other arm has touched. Arms that differ in what
/// shapes the data have data of their own; the others begin with a copy of it.
fn reset_between(key: &str, catalogue: &Catalogue) -> &'static str {
    let is_place = ["engine", "path", "fs"].contains(&key);
    if is_place || declarations(key, catalogue).any(|def| def.shapes_data) { "restart" } else { "restore" }
}

fn setting_of<'a>(key: &str, text: &str, place: Place<'a>) -> WrittenSetting<'a> {
    let value = Written { key: key.to_owned(), text: text.to_owned(), place };
    WrittenSetting { key: key.to_owned(), place, values: vec![value] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, fixture, from_flags, parse, to_toml};
    use model::{Family, Plan, Trial};

    fn flags(pairs: &[(&str, &str)]) -> Overrides {
        Overrides::from_flags(pairs.iter().map(|(key, text)| (key.to_string(), text.to_string())).collect())
    }

    fn with(text: &str, pairs: &[(&str, &str)]) -> Result<Plan, String> {
        parse(text, "p.toml", &flags(pairs), 1.0, &fixture::with_steps()).map_err(|error| error.to_string())
    }

    fn told(plan: &Plan) -> Vec<String> {
        let tell = |trial: &Trial| {
            let step = trial.workload.params.0.get("step").map_or(String::new(), |step| format!(" {step}"));
            format!("{} {} {}{step}", trial.repeat, trial.target.engine, trial.load.clients)
        };
        plan.trials.iter().map(tell).collect()
    }

    #[test]
    fn the_arms_of_a_pair_are_neighbours_and_swap_their_order_in_every_other_repeat() {
        let plan = with("workload = 'oltp'", &[("ab", "engine=sqlite,fjall"), ("clients", "1,8"), ("repeat", "2")]);
        let plan = plan.expect("a valid comparison");
        let expected = [
            "1 sqlite 1",
            "1 fjall 1",
            "1 sqlite 8",
            "1 fjall 8",
            "2 fjall 8",
            "2 sqlite 8",
            "2 fjall 1",
            "2 sqlite 1",
        ];
        assert_eq!((told(&plan), plan.ab.as_deref()), (expected.map(str::to_owned).to_vec(), Some("engine")));
    }

    #[test]
    fn there_are_six_pairs_unless_a_number_is_given_and_seeds_are_those_of_the_repeats() {
        let plan = with("workload = 'oltp'\nab = 'clients=1,8'", &[]).expect("a valid comparison");
        let seeds: Vec<u64> = plan.trials.iter().map(|trial| trial.seed).collect();
        assert_eq!(seeds, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
        assert_eq!(with("workload = 'oltp'\nab = 'clients=1,8'\nrepeat = 3", &[]).unwrap().trials.len(), 6);
        assert_eq!(with("workload = 'oltp'\nab = ['clients=1', '8']", &[]), Ok(plan));
    }

    #[test]
    fn rates_are_compared_by_the_setting_that_they_decide_and_are_no_result() {
        let plan = with("workload = 'oltp'", &[("ab", "rate=800,1600")]).expect("a valid comparison");
        assert_eq!((plan.ab.as_deref(), plan.asked.compare.as_deref()), (Some("pacing"), Some("pacing")));
        let asked = "How long do operations take with an open loop of 800 per second and with an open loop of 1,600 per second?";
        assert_eq!(plan.asked.question.as_deref(), Some(asked));
        let pauses = with("workload = 'oltp'", &[("ab", "think=1ms,5ms"), ("until", "sure")]).expect("closed loops");
        assert_eq!(pauses.sure.map(|sure| sure.comparisons), Some(1), "their rates are results");
        assert!(pauses.asked.question.is_some_and(|asked| asked.starts_with("Which is faster: a closed loop with")));
    }

    #[test]
    fn values_that_look_alike_with_three_digits_are_two_arms_with_two_names() {
        let arms = |ab: &str| with("workload = 'oltp'\nengine = 'fjall'", &[("ab", ab)]).expect("a valid comparison");
        let plan = arms("cache=200MiB,200.4MiB");
        assert_eq!(crate::differing_keys(&plan.trials), [("cache".to_owned(), 2)]);
        assert!(plan.asked.question.as_ref().is_some_and(|asked| asked.contains("200.4 MiB")), "{:?}", plan.asked);
        assert_eq!(crate::differing_keys(&arms("think=1ms,1001us").trials), [("rate".to_owned(), 2)]);
    }

    #[test]
    fn the_steps_of_an_arm_stay_together() {
        let plan = with("workload = 'chain'\nstep = ['l.i0', 'l.x']", &[("ab", "engine=sqlite,null"), ("repeat", "2")]);
        let told = told(&plan.expect("a valid comparison"));
        let one = ["1 sqlite 1 l.i0", "1 sqlite 1 l.x", "1 null 1 l.i0", "1 null 1 l.x"];
        let two = ["2 null 1 l.i0", "2 null 1 l.x", "2 sqlite 1 l.i0", "2 sqlite 1 l.x"];
        assert_eq!(told, [one, two].concat());
    }

    #[test]
    fn arms_of_the_command_line_replace_a_list_of_the_file() {
        let plan = with("workload = 'oltp'\nengine = ['sqlite', 'fjall', 'null']", &[("ab", "engine=fjall,null")]);
        let engines: Vec<String> = plan.unwrap().trials.iter().map(|trial| trial.target.engine.clone()).collect();
        assert_eq!((engines.len(), &engines[..4]), (12, &["fjall", "null", "null", "fjall"].map(str::to_owned)[..]));
    }

    #[test]
    fn an_engine_is_restarted_on_data_that_no_other_arm_has_touched() {
        let between = |key: &str| reset_between(key, &fixture::with_steps());
        assert_eq!(["engine", "fs", "indexes", "clients", "rows_per_commit"].map(between), {
            ["restart", "restart", "restart", "restore", "restore"]
        });
    }

    /// The engines of the fixture, and one that is reset as asked.
    fn with_resettable() -> Catalogue {
        const RESET: ParamDef =
            ParamDef::new(BETWEEN, ParamRole::Ground, ParamKind::OneOf(&["keep", "restart", "restore"]), "keep");
        let resettable =
            Entry { name: "resettable", spoken: "resettable", help: "", families: &[Family::Sql], params: &[RESET] };
        let with_steps = fixture::with_steps();
        Catalogue { engines: [with_steps.engines, vec![resettable]].concat(), ..fixture::with_steps() }
    }

    #[test]
    fn the_steps_of_a_sequence_go_on_with_the_engine_as_the_step_before_left_it() {
        let between = |workload: &str, pairs: &[(&str, &str)]| -> Vec<String> {
            let text = format!("workload = '{workload}'\nengine = 'resettable'");
            let plan = parse(&text, "p.toml", &flags(pairs), 1.0, &with_resettable()).expect("a valid comparison");
            plan.trials.iter().map(|trial| trial.target.params.word(BETWEEN).to_owned()).collect()
        };
        let arms = ("ab", "clients=1,2");
        assert!(between("chain", &[arms]).iter().all(|word| word == "keep"));
        assert!(between("oltp", &[arms]).iter().all(|word| word == "restore"));
        assert!(between("chain", &[arms, ("between", "restart")]).iter().all(|word| word == "restart"));
    }

    #[test]
    fn what_is_no_comparison_of_two_arms_is_refused_in_one_line() {
        let refused = |ab: &str| with("workload = 'oltp'", &[("ab", ab)]).expect_err(ab);
        assert_eq!(refused("fs"), "--ab cannot be `fs`; use KEY=A,B, such as `fs=ext4,xfs`");
        assert_eq!(refused("fs=ext4"), "--ab cannot be `fs=ext4`; use KEY=A,B, such as `fs=ext4,xfs`");
        let three = "--ab takes two values, and `clients` has 3; for more use `repeat`, and `clients` with a list";
        assert_eq!(refused("clients=1,2,4"), three);
        assert_eq!(refused("client=1,2"), "--ab: unknown key `client`; did you mean `clients`?");
        assert_eq!(refused("clients=4,4"), "--ab: `clients` names `4` twice: remove one");
        assert!(refused("seed=1,2").starts_with("--ab cannot compare `seed`; name another key than"));
        assert_eq!(
            refused("grace=5s,6s"),
            "--ab cannot compare `grace`: it says how a point is measured, and not what"
        );
        assert_eq!(refused("step=l.i0,l.x"), "--ab cannot compare `step`: another value asks for other work");
        assert_eq!(refused("mode=rndrd,rndwr"), "--ab cannot compare `mode`: another value asks for other work");
        assert_eq!(refused("indexes=0,3"), "--ab names a key that none of these engines and workloads takes");
        let both = with("workload = 'oltp'", &[("ab", "clients=1,2"), ("clients", "4")]).unwrap_err();
        assert_eq!(both, "--ab: `clients` is set as well; leave out one of `ab` and `clients`");
    }

    #[test]
    fn the_printed_plan_has_the_same_comparison() {
        let catalogue = fixture::with_steps();
        let flags = flags(&[("ab", "durability=os,disk"), ("time", "4s")]);
        let printed = to_toml("oltp", &flags, 1.0, &catalogue);
        assert!(printed.contains("ab = \"durability=os,disk\"\n"), "{printed}");
        let again = parse(&printed, "p.toml", &Overrides::default(), 1.0, &catalogue);
        assert_eq!(again.map(|plan| plan.trials), from_flags("oltp", &flags, 1.0, &catalogue).map(|plan| plan.trials));
    }
}
