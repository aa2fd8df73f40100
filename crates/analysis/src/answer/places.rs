//! Where something holds, in words: `with one client`, `from eight clients on`, `on both engines`, `with batches of 1,000 rows`.
//!
//! In: the settings that name the places of a comparison. Out: the [`PlaceAxis`] that each of them makes, and words for a part of one.

use super::speech::{number_word, spoken, things, under};
use crate::recorded::dimensions::{Role, Setting, SettingValue};
use words::list::join_and;

/// So many numbers are said one by one.
const LISTED_MAX: usize = 3;

/// A setting in which places differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlaceAxis<'a> {
    pub name: &'a str,
    pub role: Role,
    /// Numbers in their order, others in that of the run.
    pub values: Vec<&'a Setting>,
}

/// Some values of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisPart<'a> {
    pub axis: PlaceAxis<'a>,
    pub values: Vec<&'a Setting>,
}

/// The settings in which `places` differ, the outermost first.
pub(super) fn axes<'a, 'p>(places: impl IntoIterator<Item = &'p Vec<&'a Setting>>) -> Vec<PlaceAxis<'a>>
where
    'a: 'p,
{
    let mut all: Vec<PlaceAxis> = Vec::new();
    for setting in places.into_iter().flatten().copied() {
        match all.iter_mut().find(|axis| axis.name == setting.name) {
            Some(axis) if axis.values.iter().any(|known| known.value == setting.value) => {}
            Some(axis) => axis.values.push(setting),
            None => all.push(PlaceAxis { name: &setting.name, role: setting.role, values: vec![setting] }),
        }
    }
    all.retain(|axis| axis.values.len() > 1);
    for axis in all.iter_mut().filter(|axis| axis.is_ordered()) {
        axis.values.sort_by_key(|setting| count(setting));
    }
    all.sort_by_key(|axis| axis.role);
    all
}

/// What distinguishes the places `some` from all others of `all`: `with 16 clients`, if none of `some` has one client.
pub(super) fn distinguishing<'a, 'p>(
    some: impl Iterator<Item = &'p Vec<&'a Setting>> + Clone,
    all: impl Iterator<Item = &'p Vec<&'a Setting>>,
) -> Vec<AxisPart<'a>>
where
    'a: 'p,
{
    let part_of = |axis: PlaceAxis<'a>| {
        let is_own =
            |value: &&Setting| some.clone().flatten().any(|own| own.name == value.name && own.value == value.value);
        let values: Vec<&Setting> = axis.values.iter().copied().filter(is_own).collect();
        (!values.is_empty() && values.len() < axis.values.len()).then_some(AxisPart { axis, values })
    };
    axes(all).into_iter().filter_map(part_of).collect()
}

/// Whether `path` leads to `place`.
pub(super) fn leads_to(path: &[AxisPart], place: &[&Setting]) -> bool {
    path.iter().all(|part| part.values.iter().any(|value| place.contains(value)))
}

fn count(setting: &Setting) -> Option<u32> {
    match setting.value {
        SettingValue::Count(count) => Some(count),
        _ => None,
    }
}

impl<'a> PlaceAxis<'a> {
    /// Whether its values are numbers of things, so that a part of it is from one of them to another.
    pub(super) fn is_ordered(&self) -> bool {
        things(self.role).is_some() && self.values.iter().all(|value| count(value).is_some())
    }

    /// What it is called: `the number of clients`.
    pub(super) fn spoken_name(&self) -> &'static str {
        match self.role {
            Role::Engine => "the engine",
            Role::Workload | Role::Work => "the work",
            Role::Ground => "what it runs on",
            Role::Instances => "the number of instances",
            Role::Size => "the sizes of data and caches",
            Role::Clients => "the number of clients",
            Role::Depth => "the number of requests in flight",
            Role::Tuning | Role::Pacing | Role::Until | Role::Repeat => "the other settings",
        }
    }

    /// All of it, as far as that is worth saying: `on both engines`.
    pub(super) fn everywhere(&self) -> Option<String> {
        match (self.role, self.values.len()) {
            (Role::Engine, 2) => Some("on both engines".to_owned()),
            (Role::Engine, all) => Some(format!("on all {} engines", number_word(all as u32))),
            (Role::Clients, ..=LISTED_MAX) => {
                let counts = self.values.iter().filter_map(|value| count(value)).map(number_word);
                Some(format!("at {} clients", join_and(&counts.collect::<Vec<_>>())))
            }
            (Role::Clients, _) => Some("at every number of clients".to_owned()),
            (Role::Depth, _) => Some("with any number of requests in flight".to_owned()),
            _ => None,
        }
    }
}

impl AxisPart<'_> {
    /// The part in words: `from eight clients on`.
    pub(super) fn words(&self) -> String {
        let (first, last) = (self.values[0], self.values[self.values.len() - 1]);
        let all = &self.axis.values;
        let spoken_all = || join_and(&self.values.iter().map(|value| spoken(value)).collect::<Vec<_>>());
        match self.values.as_slice() {
            [_, _, ..] if self.axis.is_ordered() && last == all[all.len() - 1] => format!("from {} on", spoken(first)),
            [_, _, ..] if self.axis.is_ordered() && first == all[0] => format!("up to {}", spoken(last)),
            [_, _, ..] if self.axis.is_ordered() => {
                format!("with {} to {}", number_word(count(first).unwrap_or_default()), spoken(last))
            }
            _ if self.axis.role == Role::Engine => format!("on {}", spoken_all()),
            [only] => under(only),
            several => {
                let first = under(several[0]);
                let others: Vec<String> = several[1..].iter().map(|value| spoken(value)).collect();
                join_and(&[&[first], &others[..]].concat())
            }
        }
    }
}
