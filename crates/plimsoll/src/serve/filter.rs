//! Which runs of the list are shown: by a text, an engine, a workload, a machine, and how valid they are.
//!
//! In: the query of a request. Out: whether a row fits, and the fields of the form. Limits: a run that has not been read yet fits only what is
//! known of it.

use analysis::verdict::Tally;
use report::library::{LibraryFilter, LibraryRow};
use std::collections::BTreeSet;
use web::{Request, percent_encoded};

/// What the list is filtered by. Empty texts fit everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Words that a row must have somewhere.
    pub search: String,
    engine: String,
    workload: String,
    machine: String,
    validity: String,
    /// Which page of the list, from 0.
    pub page: usize,
}

/// The choices for validity: the name and which points a run must have.
type ValidityChoice = (&'static str, fn(&LibraryRow) -> bool);

const VALIDITIES: [ValidityChoice; 5] = [
    ("all valid", |row| has(row, |tally| tally.valid > 0 && tally.indicative + tally.invalid == 0)),
    ("some indicative", |row| has(row, |tally| tally.indicative > 0)),
    ("some invalid", |row| has(row, |tally| tally.invalid > 0)),
    ("being recorded", |row| row.state == "recorded"),
    ("cannot be read", |row| row.state == "damaged"),
];

fn has(row: &LibraryRow, is_so: fn(&Tally) -> bool) -> bool {
    row.validity.as_ref().is_some_and(is_so)
}

impl RunFilter {
    /// What `request` asks for.
    pub fn from_request(request: &Request) -> RunFilter {
        RunFilter {
            search: request.query("q"),
            engine: request.query("engine"),
            workload: request.query("workload"),
            machine: request.query("machine"),
            validity: request.query("validity"),
            page: request.query("page").parse().unwrap_or(0),
        }
    }

    /// Whether `row` is shown.
    pub fn fits(&self, row: &LibraryRow) -> bool {
        let is_any = |asked: &str| asked.is_empty();
        let validity = VALIDITIES.iter().find(|(word, _)| *word == self.validity);
        (is_any(&self.engine) || row.engines.contains(&self.engine))
            && (is_any(&self.workload) || row.workloads.contains(&self.workload))
            && (is_any(&self.machine) || row.machine == self.machine)
            && (is_any(&self.validity) || validity.is_some_and(|(_, fits)| fits(row)))
            && self.has_words(row)
    }

    /// Whether each word that is searched for is in a text of `row`.
    fn has_words(&self, row: &LibraryRow) -> bool {
        let mut texts = vec![row.name.as_str(), &row.title, &row.machine, &row.verdict, row.state];
        texts.extend(row.engines.iter().chain(&row.workloads).map(String::as_str));
        let text = texts.join("\n").to_lowercase();
        self.search.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }

    /// The fields of the form, with the values that `rows` have.
    pub fn fields(&self, rows: &[LibraryRow]) -> Vec<LibraryFilter> {
        let of_lists = |list: fn(&LibraryRow) -> &Vec<String>| {
            let all: BTreeSet<&String> = rows.iter().flat_map(list).collect();
            all.into_iter().cloned().collect::<Vec<String>>()
        };
        let machines: BTreeSet<&String> = rows.iter().map(|row| &row.machine).filter(|text| !text.is_empty()).collect();
        let field = |key, label, chosen: &String, values| LibraryFilter { key, label, chosen: chosen.clone(), values };
        vec![
            field("engine", "Engine", &self.engine, of_lists(|row| &row.engines)),
            field("workload", "Workload", &self.workload, of_lists(|row| &row.workloads)),
            field("machine", "Machine", &self.machine, machines.into_iter().cloned().collect()),
            field(
                "validity",
                "Validity",
                &self.validity,
                VALIDITIES.iter().map(|(word, _)| (*word).to_owned()).collect(),
            ),
        ]
    }

    /// The address of another page of the same list.
    pub fn address(&self, page: usize) -> String {
        let pairs = [
            ("q", &self.search),
            ("engine", &self.engine),
            ("workload", &self.workload),
            ("machine", &self.machine),
            ("validity", &self.validity),
        ];
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let query: String =
            pairs.map(|(name, value)| format!("{name}={}&", percent_encoded(value.as_bytes()))).collect();
        format!("/?{query}page={page}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, engine: &str, validity: Option<Tally>) -> LibraryRow {
        LibraryRow {
            name: name.to_owned(),
            engines: vec![engine.to_owned(), "fjall".to_owned()],
            workloads: vec!["oltp".to_owned()],
            machine: "AMD EPYC, 2 CPUs".to_owned(),
            verdict: "SQLite does 1,234 ops/s.".to_owned(),
            validity,
            ..LibraryRow::default()
        }
    }

    fn fits(filter: RunFilter) -> bool {
        filter.fits(&row("20261122-quick", "sqlite", Some(Tally { valid: 2, indicative: 1, invalid: 0 })))
    }

    #[test]
    fn a_row_fits_if_it_has_all_that_is_asked_for() {
        let text = |value: &str| value.to_owned();
        assert!(fits(RunFilter::default()));
        assert!(fits(RunFilter { engine: text("sqlite"), workload: text("oltp"), ..RunFilter::default() }));
        assert!(!fits(RunFilter { engine: text("sqlite"), workload: text("insert"), ..RunFilter::default() }));
        assert!(!fits(RunFilter { machine: text("AMD"), ..RunFilter::default() }), "a machine is chosen whole");
        assert!(fits(RunFilter { search: text("QUICK 1,234 epyc"), ..RunFilter::default() }));
        assert!(!fits(RunFilter { search: text("quick slow"), ..RunFilter::default() }));
    }

    #[test]
    fn validity_is_that_of_the_points() {
        let by = |word: &str| fits(RunFilter { validity: word.to_owned(), ..RunFilter::default() });
        assert_eq!(VALIDITIES.map(|(word, _)| by(word)), [false, true, false, false, false]);
        assert!(!by("nonsense"));
        let unread = row("a", "sqlite", None);
        assert!(!RunFilter { validity: "all valid".to_owned(), ..RunFilter::default() }.fits(&unread));
    }

    #[test]
    fn the_form_has_each_value_once_and_the_address_keeps_the_filter() {
        let filter = RunFilter { search: "a&b=c".to_owned(), engine: "sqlite".to_owned(), ..RunFilter::default() };
        let fields = filter.fields(&[row("a", "sqlite", None), row("b", "mysql:innodb", None)]);
        assert_eq!(fields[0].values, ["fjall", "mysql:innodb", "sqlite"]);
        assert_eq!((fields[0].chosen.as_str(), fields[2].values.len()), ("sqlite", 1));
        assert_eq!(filter.address(2), "/?q=a%26b%3Dc&engine=sqlite&page=2");
    }
}
