//! The sentences about arms, each on a simulated run with a known effect.

use crate::analyse;
use crate::answer::claim::WORDS_MAX;
use crate::answer::speech::words_in;
use crate::answer::{Answer, AnswerKind, COLUMNS_MAX, ClaimKind, ROWS_MAX, answer, comparison_cautions};
use crate::numbers::cost::InsertCost;
use crate::points::relative::relative_tables;
use crate::simulated::{Random, Simulation, params, run_of};
use model::{Arrivals, COMMAND_FACT, Fact, Pacing, PointData, PointState, Value};

/// What distinguishes a point, and its rate.
#[derive(Clone)]
struct Cell {
    engine: &'static str,
    clients: u32,
    /// A parameter of the workload, its value and how people say it.
    params: Vec<(&'static str, Value, &'static str)>,
    rate: f64,
}

fn cell(engine: &'static str, rate: f64) -> Cell {
    Cell { engine, clients: 1, params: Vec::new(), rate }
}

impl Cell {
    fn clients(self, clients: u32) -> Cell {
        Cell { clients, ..self }
    }

    fn with(mut self, name: &'static str, value: Value, phrase: &'static str) -> Cell {
        self.params.push((name, value, phrase));
        self
    }

    fn indexes(self, indexes: u64) -> Cell {
        self.with(
            "indexes",
            Value::Int(indexes),
            if indexes == 0 { "no secondary index" } else { "three secondary indexes" },
        )
    }

    fn mix(self, mix: &str) -> Cell {
        let phrase = if mix == "read_only" { "read-only transactions" } else { "write-only transactions" };
        self.with("mix", Value::Word(mix.into()), phrase)
    }

    /// Twelve seconds of transactions of 20 statements; repeats differ by some percent.
    fn point(&self, repeat: u32, nth: usize) -> PointData {
        const NOISE: [f64; 7] = [0.0, 2.7, 0.9, 3.6, 1.8, 0.3, 3.0];
        let rate = self.rate * (1.0 + NOISE[(repeat as usize * 3 + nth * 5) % 7] / 100.0);
        let simulation = Simulation::counts(&[rate as u64; 12]).with(|point| {
            point.trial.target.engine = self.engine.to_lowercase();
            point.traits.phrases.insert("engine".into(), self.engine.into());
            point.trial.workload.name = "oltp".into();
            point.kinds[0].queries_per_op = 20.0;
            let pairs: Vec<(&str, Value)> = self.params.iter().map(|(name, value, _)| (*name, value.clone())).collect();
            point.trial.workload.params = params(&pairs);
            let phrases = self.params.iter().map(|(name, _, phrase)| ((*name).to_owned(), (*phrase).to_owned()));
            point.traits.phrases.extend(phrases);
            point.trial.load.clients = self.clients;
            (point.trial.repeat, point.trial.seed) = (repeat, u64::from(repeat));
        });
        simulation.point()
    }
}

/// The points of `repeats` repeats, in the order A B B A.
fn points(cells: &[Cell], repeats: u32) -> Vec<PointData> {
    let repeat = |repeat: u32| {
        let mut own: Vec<PointData> = cells.iter().enumerate().map(|(nth, cell)| cell.point(repeat, nth)).collect();
        if repeat.is_multiple_of(2) {
            own.reverse();
        }
        own
    };
    (1..=repeats).flat_map(repeat).collect()
}

fn answer_of(points: Vec<PointData>, compare: Option<&str>) -> Answer {
    let mut run = run_of(points, Vec::new());
    run.meta.plan.asked.compare = compare.map(str::to_owned);
    answer(&analyse(&run))
}

fn sentences(answer: &Answer) -> Vec<&str> {
    answer.claims.iter().map(|claim| claim.sentence.as_str()).collect()
}

/// The sentences about the speed of `cells`: costs come after them.
fn told(cells: &[Cell], repeats: u32, claims: usize) -> Vec<String> {
    let answer = answer_of(points(cells, repeats), None);
    assert_eq!(answer.kind, AnswerKind::Arms);
    sentences(&answer).into_iter().take(claims).map(str::to_owned).collect()
}

#[test]
fn the_better_engine_is_named_first_with_factor_and_interval() {
    let cells = [cell("MariaDB", 1000.0), cell("PostgreSQL", 1600.0)];
    assert_eq!(told(&cells, 6, 1), ["PostgreSQL does 1.6 times as many transactions as MariaDB."]);
    let cells = [cell("MariaDB", 1200.0), cell("PostgreSQL", 1000.0)];
    assert_eq!(told(&cells, 6, 1), ["MariaDB does 20 % (18 to 22) more transactions than PostgreSQL."]);
}

#[test]
fn a_server_on_which_the_replay_fell_behind_is_named_first() {
    let mut points = points(&[cell("MariaDB", 1000.0), cell("PostgreSQL", 1000.0)], 4);
    for point in &mut points {
        let is_behind = point.trial.target.engine == "postgresql";
        let seconds = if is_behind { 6.0 } else { 12.0 };
        let phase = &mut point.phases[0];
        phase.offered = phase.intervals.iter().flat_map(|interval| &interval.kinds).map(|kind| kind.ok).sum();
        let arrivals = Arrivals::Recorded { per_s: phase.offered as f64 / seconds };
        point.trial.load.pacing = Pacing::Open { arrivals };
        point.trial.phases.run = model::Nanos::from_secs(86_400);
        for row in phase.intervals.iter_mut().flat_map(|interval| &mut interval.kinds).filter(|_| is_behind) {
            let mut times = model::Times::default();
            times.record_n(3_000_000_000, row.ok);
            row.response = times;
        }
    }
    let answer = answer_of(points, None);
    let expected = "On PostgreSQL the replay fell behind: it took 12.0 s for 6.00 s of the recording.";
    assert_eq!(sentences(&answer)[0], expected);
    assert_eq!(sentences(&answer).iter().filter(|sentence| sentence.contains("fell behind")).count(), 1);
}

#[test]
fn kinds_of_statement_that_answer_differently_are_counted_first() {
    let cells = [cell("MariaDB", 1000.0), cell("PostgreSQL", 1600.0)];
    let first = |of_other: &[(&str, &str)]| {
        let mut points = points(&cells, 4);
        for point in &mut points {
            for kind in ["a", "b", "c"] {
                let is_other = point.trial.target.engine == "postgresql";
                let other = of_other.iter().find(|one| one.0 == kind).map(|one| one.1);
                let sum = if is_other { other } else { Some("aa") };
                if let Some(sum) = sum {
                    let text = format!("10 20 30 {sum} select {kind}");
                    point.traits.learn(&Fact::new(format!("replay_results.{kind}"), text));
                }
            }
        }
        sentences(&answer_of(points, None))[0].to_owned()
    };
    let differing = "1 of 2 kinds of statement answer differently on PostgreSQL than on MariaDB.";
    assert_eq!(first(&[("a", "aa"), ("b", "bb")]), differing);
    let alike = first(&[("a", "aa"), ("b", "aa")]);
    assert_eq!(alike, "PostgreSQL does 1.6 times (1.5 to 1.7) as many transactions as MariaDB.");
}

#[test]
fn a_setting_that_makes_all_slower_is_one_claim_over_all_places() {
    let of = |engine, rate: f64| [cell(engine, rate).indexes(0), cell(engine, rate / 4.3).indexes(3)];
    let cells = [of("SQLite", 66_500.0), of("fjall", 481_000.0)].concat();
    let answer = answer_of(points(&cells, 4), Some("indexes"));
    assert_eq!(
        sentences(&answer)[0],
        "Transactions are 4.3 times slower (4.2 to 4.4) with three secondary indexes than with no secondary index on both engines."
    );
}

#[test]
fn what_depends_on_the_number_of_clients_is_said_from_where_on() {
    let pair = |clients, ratio: f64| {
        [cell("MariaDB", 1000.0 * ratio).clients(clients), cell("PostgreSQL", 1000.0).clients(clients)]
    };
    let cells = [pair(1, 1.6), pair(4, 1.0), pair(16, 1.005)].concat();
    let expected = [
        "With one client, MariaDB does 1.6 times as many transactions as PostgreSQL.",
        "From four clients on, transactions show no difference of more than 3 % between MariaDB and PostgreSQL.",
    ];
    assert_eq!(told(&cells, 6, 2), expected);
}

#[test]
fn sorts_of_work_that_differ_have_a_claim_each() {
    let pair = |mix, ratio: f64| {
        let of = |durability: &'static str, phrase, rate: f64| {
            cell("MariaDB", rate).mix(mix).with("durability", Value::Word(durability.into()), phrase)
        };
        [of("disk", "commits that wait for the disk", 1000.0), of("os", "commits that do not wait", 1000.0 * ratio)]
    };
    let cells = [pair("read_only", 1.0), pair("write_only", 1.35)].concat();
    let expected = [
        "Write-only transactions are 35 % faster (33 to 38) with commits that do not wait than with commits that wait for the disk.",
        "Read-only transactions show no difference of more than 3 % between commits that wait for the disk and commits that do not wait.",
    ];
    assert_eq!(told(&cells, 6, 2), expected);
}

#[test]
fn a_setting_that_hurts_one_engine_alone_is_claimed_as_that() {
    let of = |engine, ratio: f64| [cell(engine, 5000.0).indexes(0), cell(engine, 5000.0 * ratio).indexes(3)];
    let cells = [of("InnoDB", 0.15), of("MyRocks", 1.0)].concat();
    let answer = answer_of(points(&cells, 6), Some("indexes"));
    assert_eq!(
        sentences(&answer)[0],
        "With three secondary indexes, InnoDB loses 85 % of its transactions, and MyRocks shows no difference of more than 3 %."
    );
    let kinds: Vec<ClaimKind> = answer.claims.iter().map(|claim| claim.kind).take(1).collect();
    assert_eq!(kinds, [ClaimKind::Difference]);
}

#[test]
fn a_split_within_a_split_is_one_sentence() {
    let of = |engine, rows: u64, factor: f64| {
        let phrase = if rows == 1 { "one row per commit" } else { "batches of 1,000 rows" };
        let base = |rate| cell(engine, rate).with("rows_per_commit", Value::Int(rows), phrase);
        [base(400_000.0).indexes(0), base(400_000.0 / factor).indexes(3)]
    };
    let cells = [of("SQLite", 1, 4.3), of("fjall", 1, 4.3), of("SQLite", 1000, 40.0), of("fjall", 1000, 15.0)].concat();
    let answer = answer_of(points(&cells, 4), Some("indexes"));
    let expected = [
        "With one row per commit, transactions are 4.3 times slower (4.2 to 4.4) with three secondary indexes than with no \
         secondary index on both engines.",
        "With batches of 1,000 rows, transactions are 40 times slower (39 to 41) on SQLite and 15 times slower (14 to 15) on \
         fjall.",
    ];
    assert_eq!(sentences(&answer)[..2], expected);
}

#[test]
fn equal_arms_are_claimed_with_the_difference_that_would_have_shown() {
    let cells = [cell("MariaDB", 1000.0), cell("PostgreSQL", 1000.0), cell("SQLite", 1001.0)];
    let expected = "Transactions show no difference of more than 3 % between MariaDB, PostgreSQL and SQLite.";
    assert_eq!(told(&cells, 6, 1), [expected]);
}

#[test]
fn one_pair_decides_nothing_and_says_so_once_and_first() {
    let cells = [cell("MariaDB", 1000.0), cell("PostgreSQL", 630.0)];
    let answer = answer_of(points(&cells, 1), None);
    let expected = [
        "Not decided: each comparison has one pair of measurements, and a difference needs four (--repeat 4).",
        "In these measurements MariaDB did 1.60 times as many transactions as PostgreSQL.",
        "The number of clients limits it: each waits for one operation (917 us to 1.47 ms) before it sends the next, and nothing else is full.",
    ];
    assert_eq!(sentences(&answer), expected);
    assert_eq!(answer.next.as_deref(), Some("Repeat it: the same command with --repeat 4."));
    assert_eq!(answer.question, "MariaDB or PostgreSQL?");
}

#[test]
fn only_who_asked_for_a_quick_look_is_told_to_leave_that_out() {
    let next = |command: &str| {
        let mut points = points(&[cell("MariaDB", 1000.0), cell("PostgreSQL", 630.0)], 1);
        points.iter_mut().for_each(|point| point.trial.phases.run = model::Nanos::from_secs(3));
        answer(&analyse(&run_of(points, vec![Fact::new(COMMAND_FACT, command)]))).next
    };
    let quick = "Repeat it: the same command with --repeat 4 and without --quick-look.";
    assert_eq!(next("plimsoll oltp --quick-look --ab engine=a,b").as_deref(), Some(quick));
    assert_eq!(next("plimsoll oltp --time 3s").as_deref(), Some("Repeat it: the same command with --repeat 4."));
}

#[test]
fn an_engine_inside_plimsoll_is_not_ranked_with_servers_and_servers_are_among_themselves() {
    let embed = |mut points: Vec<PointData>| {
        for point in points.iter_mut().filter(|point| point.trial.target.engine == "sqlite") {
            point.facts = vec![Fact::new("engine.process", "embedded")];
            point.traits.learn_all(&point.facts);
        }
        points
    };
    let cells = [cell("SQLite", 9000.0), cell("MariaDB", 1000.0), cell("PostgreSQL", 1600.0)];
    let answer = answer_of(embed(points(&cells, 4)), None);
    let caution = "SQLite runs inside plimsoll, without a server: not ranked with MariaDB and PostgreSQL; `plimsoll limit` shows \
                   what each carries.";
    let all = sentences(&answer);
    assert!(all[0].starts_with("PostgreSQL does 1.6 times"), "{all:?}");
    assert!(all.contains(&caution), "{all:?}");
    assert!(all.iter().filter(|one| **one != caution).all(|one| !one.contains("SQLite")), "{all:?}");
    let rows = &answer.table.as_ref().expect("it has a table").rows;
    assert_eq!(rows.iter().map(|row| row.cells[2].is_some()).collect::<Vec<_>>(), [false, false, true], "{rows:?}");
    let two = answer_of(embed(points(&cells[..2], 4)), None);
    assert!(two.claims[0].sentence.contains("not ranked with MariaDB"));
    let table = two.table.as_ref().expect("the rates are there");
    assert!(table.columns.iter().all(|column| !column.head.contains("ratio")), "{table:?}");
    assert!(table.rows.iter().all(|row| row.cells.len() == 2 && row.cells.iter().all(Option::is_some)), "{table:?}");
    let more = [
        cells[0].clone().clients(1),
        cells[1].clone().clients(1),
        cells[0].clone().clients(4),
        cells[1].clone().clients(4),
    ];
    let table = answer_of(embed(points(&more, 4)), None).table.expect("the rates are there");
    assert!(table.rows.len() == 2 && table.rows.iter().flat_map(|row| &row.cells).all(Option::is_some), "{table:?}");
    assert!(two.claims[1..].iter().all(|claim| claim.kind == ClaimKind::Bottleneck), "{two:?}");
}

#[test]
fn engines_of_unlike_durability_are_not_ranked() {
    let mut all = points(&[cell("MariaDB", 1000.0), cell("PostgreSQL", 1600.0)], 4);
    for point in &mut all {
        let word = if point.trial.target.engine == "mariadb" { "disk" } else { "os" };
        point.traits.engine.durability = Some(word.into());
    }
    // No plan sets it, as of servers that are reached by a URL.
    let answer = answer_of(all, None);
    let expected = [
        "Not ranked: MariaDB and PostgreSQL promise different things of a commit; set it alike on the servers.",
        "The number of clients limits it: each waits for one operation (573 to 948 us) before it sends the next, and nothing else is full.",
    ];
    assert_eq!(sentences(&answer), expected);
}

/// A closed loop and an open one, whose operations take 20 ms.
fn closed_and_open(repeats: u32) -> Vec<PointData> {
    let closed = points(&[cell("MariaDB", 1000.0)], repeats);
    let mut open = closed.clone();
    for point in &mut open {
        point.trial.load.pacing = Pacing::Open { arrivals: Arrivals::Constant { per_s: 500.0 } };
        for row in point.phases.iter_mut().flat_map(|phase| &mut phase.intervals).flat_map(|i| &mut i.kinds) {
            let mut times = model::Times::default();
            times.record_n(20_000_000, row.ok);
            row.response = times;
        }
    }
    closed.into_iter().zip(open).flat_map(|(one, other)| [one, other]).collect()
}

#[test]
fn rates_that_are_given_are_compared_by_their_p99() {
    let answer = answer_of(closed_and_open(4), Some("pacing"));
    assert_eq!(answer.kind, AnswerKind::Arms);
    let first = &answer.claims[0].sentence;
    let begin = "With an open loop of 500 per second the p99 is 20.0 ms, with a closed loop ";
    assert!(first.starts_with(begin) && first.contains(": a client that waits sends nothing meanwhile"), "{first}");
    assert_eq!(answer.table.expect("their times").rows.len(), 2);
    let answer = answer_of(closed_and_open(2), Some("pacing"));
    let first = &answer.claims[0].sentence;
    let begin = "With an open loop of 500 per second the p99 was 20.0 ms, with a closed loop ";
    assert!(
        first.starts_with(begin) && first.ends_with(": with two pairs that is not proven, a difference needs four."),
        "{first}"
    );
}

#[test]
fn an_arm_without_a_result_is_named_here_and_in_the_details() {
    let cells = [cell("MariaDB", 1000.0), cell("PostgreSQL", 1600.0), cell("SQLite", 9000.0)];
    let mut all = points(&cells, 4);
    let failed = all.iter_mut().filter(|point| point.trial.target.engine == "sqlite");
    failed.for_each(|point| point.state = PointState::Failed);
    let analysis = analyse(&run_of(all, Vec::new()));
    let expected = "No result of SQLite can be used.";
    assert!(sentences(&answer(&analysis)).contains(&expected), "{:?}", answer(&analysis).claims);
    assert_eq!(comparison_cautions(&analysis).len(), 1);
    assert_eq!(comparison_cautions(&analysis)[0].sentence, expected);
}

/// `points` with those of `engine` as they are if its server was not reached.
fn unreached(mut points: Vec<PointData>, engine: &str) -> Vec<PointData> {
    for point in points.iter_mut().filter(|point| point.trial.target.engine == engine) {
        let error = "connection refused at host `127.0.0.1`, port 9; is the server running?";
        (point.state, point.error) = (PointState::Failed, Some(error.to_owned()));
        point.phases.clear();
    }
    points
}

#[test]
fn an_arm_that_was_not_measured_comes_first_with_its_reason_and_then_what_the_other_does() {
    let cells = [cell("SQLite", 9000.0), cell("MariaDB", 1000.0)];
    let mut all = points(&cells, 1);
    for point in &mut all {
        let process = if point.trial.target.engine == "sqlite" { "embedded" } else { "own" };
        point.facts = vec![Fact::new("engine.process", process)];
        point.traits.learn_all(&point.facts);
    }
    let answer = answer_of(unreached(all, "mariadb"), None);
    let told = sentences(&answer);
    assert_eq!(told[0], "MariaDB was not measured: connection refused at host 127.0.0.1, port 9.");
    assert!(told[1].starts_with("SQLite serves "), "{told:?}");
    assert!(told.iter().all(|sentence| !sentence.contains("not ranked")), "{told:?}");
}

#[test]
fn arms_are_compared_among_themselves_if_the_base_was_not_measured() {
    let cells = [cell("SQLite", 9000.0), cell("MariaDB", 1000.0), cell("PostgreSQL", 1600.0)];
    let answer = answer_of(unreached(points(&cells, 4), "sqlite"), None);
    let told = sentences(&answer);
    assert!(told[0].starts_with("SQLite was not measured: "), "{told:?}");
    assert!(told[1].starts_with("PostgreSQL does 1.6 times as many transactions as MariaDB"), "{told:?}");
}

#[test]
fn the_table_of_two_arms_has_rates_and_their_ratio_over_clients() {
    let pair = |clients| [cell("MariaDB", 1000.0).clients(clients), cell("PostgreSQL", 1600.0).clients(clients)];
    let table = answer_of(points(&[pair(1), pair(4)].concat(), 4), None).table.unwrap();
    let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
    assert_eq!(
        (table.head.as_str(), heads),
        ("transactions/s (p99), 4 times each", vec!["one client", "four clients"])
    );
    let names: Vec<&str> = table.rows.iter().map(|row| row.name[0].as_str()).collect();
    assert_eq!(names, ["MariaDB", "PostgreSQL", "PostgreSQL : MariaDB"]);
    let ratio = table.rows[2].cells[0].as_ref().unwrap();
    assert!(ratio.text.starts_with("1.6") || ratio.text.starts_with("1.5"), "{ratio:?}");
}

#[test]
fn rates_of_more_repeats_than_there_are_pairs_are_said_to_be() {
    let mut all = points(&[cell("MariaDB", 1000.0), cell("PostgreSQL", 1600.0)], 5);
    let conditions = |all: &[PointData]| answer_of(all.to_vec(), None).table.expect("it compares").conditions;
    let beside = "rates are of all repeats, ratios of complete pairs";
    assert!(!conditions(&all).contains(beside), "{}", conditions(&all));
    all.pop();
    assert!(conditions(&all).ends_with(beside), "{}", conditions(&all));
}

#[test]
fn what_an_operation_writes_is_told_if_it_differs() {
    let mut analysis = analyse(&run_of(points(&[cell("SQLite", 1000.0), cell("fjall", 3000.0)], 4), Vec::new()));
    for point in &mut analysis.points {
        let written = if point.engine == "sqlite" { 1500.0 } else { 300.0 };
        point.summary.as_mut().unwrap().cost.per_op.written_bytes = Some(written + f64::from(point.id) / 10.0);
    }
    analysis.verdict.relative = relative_tables(&analysis.points, &analysis.meta.plan);
    let told = answer(&analysis);
    assert_eq!(sentences(&told)[1], "Per transaction, 1.50 KB are written on SQLite and 300 B on fjall.");
}

#[test]
fn what_a_row_costs_on_each_engine_is_told_where_another_setting_is_compared() {
    let of = |engine, rate: f64| [cell(engine, rate).indexes(0), cell(engine, rate / 4.0).indexes(3)];
    let told = |repeats: u32, durability: [&str; 2]| {
        let cells = [of("InnoDB", 1000.0), of("MyRocks", 1000.0)].concat();
        let mut run = run_of(points(&cells, repeats), Vec::new());
        run.meta.plan.asked.compare = Some("indexes".into());
        let mut analysis = analyse(&run);
        for point in &mut analysis.points {
            let is_first = point.engine == "innodb";
            let written = if is_first { 3600.0 } else { 230.0 } + f64::from(point.id) / 100.0;
            let mut cost = InsertCost::default();
            cost.per_row.written_bytes = Some(written);
            point.inserts = Some(cost);
            point.traits.engine.durability = Some(durability[usize::from(is_first)].into());
        }
        analysis.verdict.relative = relative_tables(&analysis.points, &analysis.meta.plan);
        answer(&analysis)
    };
    let has = |answer: &Answer, expected: &str| sentences(answer).contains(&expected);
    let shown = told(4, ["os", "os"]);
    assert!(has(&shown, "MyRocks writes 230 B a row, InnoDB 3.60 KB."), "{:?}", sentences(&shown));
    let few = told(1, ["os", "os"]);
    assert!(has(&few, "In these measurements MyRocks wrote 230 B a row, InnoDB 3.60 KB."), "{:?}", sentences(&few));
    let unlike = told(4, ["os", "disk"]);
    assert!(sentences(&unlike).iter().all(|one| !one.contains("a row")), "{:?}", sentences(&unlike));
}

#[test]
fn many_unlike_results_are_one_range_and_what_it_depends_on() {
    let pair = |clients: u32, mix, ratio: f64| {
        let of = |engine, rate| cell(engine, rate).mix(mix).clients(clients);
        [of("MariaDB", 1000.0), of("PostgreSQL", 1000.0 * ratio)]
    };
    let all = [(1, 0.4, 2.0), (2, 0.9, 1.5), (4, 1.5, 0.5), (8, 2.4, 3.1)];
    let cells: Vec<Cell> = all
        .iter()
        .flat_map(|(clients, a, b)| [pair(*clients, "read_only", *a), pair(*clients, "write_only", *b)].concat())
        .collect();
    let first = told(&cells, 6, 1).remove(0);
    let end = "as many write-only transactions as MariaDB, depending on the number of clients.";
    assert!(first.starts_with("PostgreSQL does 0.") && first.ends_with(end), "{first}");
}

#[test]
fn a_suite_says_how_many_lines_differ_and_which_most() {
    let lines = ["a", "b", "c", "d", "e", "f", "g"];
    let line = |nth: usize, name: &'static str| {
        let ratio = [1.0, 2.0, 1.0, 0.5, 1.0, 1.2, 1.0][nth];
        let of = |engine, rate| cell(engine, rate).with("mix", Value::Word(name.into()), name);
        [of("MariaDB", 1000.0), of("PostgreSQL", 1000.0 * ratio)]
    };
    let cells: Vec<Cell> = lines.iter().enumerate().flat_map(|(nth, name)| line(nth, name)).collect();
    let answer = answer_of(points(&cells, 6), None);
    assert_eq!(answer.kind, AnswerKind::Suite);
    let expected = [
        "PostgreSQL is faster than MariaDB in 2 of 7 tests, and slower in 1.",
        "PostgreSQL gains most against MariaDB in b (2.0 times as fast) and loses most in d (0.50 times as fast).",
        "Four tests show no difference; half of them would have shown one of 3 %.",
    ];
    assert_eq!(sentences(&answer), expected);
    let table = answer.table.unwrap();
    assert_eq!((table.rows.len(), table.rows_of), (5, 7));
}

#[test]
fn no_claim_is_long_or_has_a_key() {
    let mut random = Random::new(35);
    let keys = ["indexes ", "mix", "rows_per_commit", "clients ", "durability"];
    for nth in 0..40 {
        let choose = |random: &mut Random, all: &[f64]| all[(random.uniform() * all.len() as f64) as usize];
        let repeats = choose(&mut random, &[1.0, 2.0, 4.0, 6.0]) as u32;
        let compares_engines = nth % 2 == 0;
        let mut cells = Vec::new();
        for clients in [1, 4, 16].into_iter().take(1 + nth % 3) {
            for mix in ["read_only", "write_only"] {
                let ratio = choose(&mut random, &[1.0, 1.3, 4.0, 0.7, 0.05, 40.0]);
                if compares_engines {
                    cells.push(cell("MariaDB", 2000.0).mix(mix).clients(clients));
                    cells.push(cell("PostgreSQL", 2000.0 * ratio).mix(mix).clients(clients));
                } else {
                    for engine in ["MariaDB", "PostgreSQL"] {
                        cells.push(cell(engine, 2000.0).mix(mix).clients(clients).indexes(0));
                        cells.push(cell(engine, 2000.0 * ratio).mix(mix).clients(clients).indexes(3));
                    }
                }
            }
        }
        let answer = answer_of(points(&cells, repeats), (!compares_engines).then_some("indexes"));
        assert!(!answer.claims.is_empty(), "{answer:?}");
        for claim in &answer.claims {
            let sentence = claim.sentence.as_str();
            assert!(words_in(sentence) <= WORDS_MAX, "{} words: {sentence}", words_in(sentence));
            assert!(!sentence.contains(['=', '_']) && sentence.ends_with('.'), "{sentence}");
            let without = sentence.replace("secondary indexes ", "");
            assert!(keys.iter().all(|key| !without.contains(key) || *key == "clients "), "{sentence}");
        }
        let table = answer.table.as_ref().expect("it was measured");
        assert!(table.rows.len() <= ROWS_MAX && table.columns.len() < COLUMNS_MAX, "{table:?}");
    }
}

#[test]
fn above_the_table_is_how_often_the_arms_were_measured_if_that_differs_too() {
    let pair = |clients| [cell("MariaDB", 1000.0).clients(clients), cell("PostgreSQL", 1600.0).clients(clients)];
    let head = |repeats_at_four: u32| {
        let mut all = points(&[pair(1), pair(4)].concat(), 5);
        all.retain(|point| point.trial.load.clients == 1 || point.trial.repeat <= repeats_at_four);
        answer_of(all, None).table.unwrap().head
    };
    assert_eq!(head(5), "transactions/s (p99), 5 times each");
    assert_eq!(head(4), "transactions/s (p99), 4 to 5 times each");
}

/// The answer to `question` about the engines of `cells`.
fn asked(question: &str, cells: &[Cell]) -> Answer {
    let mut run = run_of(points(cells, 4), Vec::new());
    run.meta.plan.asked.question = Some(question.to_owned());
    run.meta.plan.asked.compare = Some("engine".to_owned());
    answer(&analyse(&run))
}

#[test]
fn how_many_is_answered_with_amounts_and_three_arms_have_a_column_each() {
    let at = |clients, rates: [f64; 3]| {
        let engines = ["MariaDB", "MyRocks", "PostgreSQL"];
        engines.into_iter().zip(rates).map(move |(engine, rate)| cell(engine, rate).clients(clients))
    };
    let cells: Vec<Cell> = at(1, [1000.0, 500.0, 1000.0]).chain(at(4, [3000.0, 1500.0, 4500.0])).collect();
    let told = asked("How many transactions does each carry?", &cells);
    assert!(
        told.claims[0].sentence.starts_with("MariaDB serves up to 3,0")
            && told.claims[0].sentence.contains(" transactions per second, MyRocks 1,5")
            && told.claims[0].figures.len() == 3,
        "{told:?}"
    );
    let table = told.table.as_ref().unwrap();
    let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
    assert_eq!(table.head, "transactions/s (ratio to MariaDB), 4 times each");
    assert_eq!(heads, ["MariaDB", "MyRocks", "PostgreSQL"]);
    let text = |row: usize, nth: usize| table.rows[row].cells[nth].as_ref().unwrap().text.clone();
    assert!(text(0, 1).ends_with(" (0.50)") && text(0, 2).ends_with(" ="), "{table:?}");
    assert!(!text(1, 0).contains('(') && text(1, 2).ends_with(" (1.50)"), "{table:?}");
    let better = asked("Which one is better?", &cells);
    assert!(!better.claims[0].sentence.contains("serves up to"), "{better:?}");
}

#[test]
fn a_client_alone_that_is_much_slower_than_its_share_is_told_before_its_rate_is_used() {
    let cells = [
        cell("MariaDB", 1000.0),
        cell("MariaDB", 7000.0).clients(2),
        cell("PostgreSQL", 1100.0),
        cell("PostgreSQL", 7700.0).clients(2),
    ];
    let told = asked("Which one is better?", &cells);
    assert!(told.claims[1].sentence.starts_with("Two clients do up to 7.0"), "{told:?}");
    let even = [cell("MariaDB", 1000.0), cell("MariaDB", 2000.0).clients(2), cell("PostgreSQL", 1000.0)];
    let told = asked("Which one is better?", &even);
    assert!(told.claims.iter().all(|claim| !claim.sentence.contains("wakes a thread")), "{told:?}");
}

#[test]
fn places_that_are_too_noisy_are_told_apart_from_those_that_are_known() {
    let repeat = |repeat: u32| {
        let wild = if repeat.is_multiple_of(2) { 0.1 } else { 8.0 };
        let other = if repeat.is_multiple_of(3) { 0.1 } else { 6.0 };
        let cells = [
            cell("MariaDB", 1000.0 * wild),
            cell("PostgreSQL", 2000.0 * other),
            cell("MariaDB", 1000.0).clients(4),
            cell("PostgreSQL", 2000.0).clients(4),
        ];
        cells.iter().enumerate().map(|(nth, cell)| cell.point(repeat, nth)).collect::<Vec<_>>()
    };
    let all = (1..=6).flat_map(repeat).collect();
    let told = answer_of(all, Some("engine"));
    let sentences = sentences(&told);
    assert!(sentences[0].starts_with("With four clients, PostgreSQL does 2.0 times"), "{sentences:?}");
    let noisy = "With one client, repeats differ too much to tell";
    assert!(sentences.iter().any(|sentence| sentence.starts_with(noisy)), "{sentences:?}");
}

#[test]
fn an_arm_that_helps_at_some_places_only_is_not_claimed_with_what_is_not_proven() {
    let repeat = |repeat: u32| {
        // With 16 clients one pair says the contrary of the next.
        let noise = if repeat.is_multiple_of(2) { 0.75 } else { 1.15 };
        let of = |engine, clients, gain: f64| {
            [cell(engine, 1000.0).clients(clients).indexes(0), cell(engine, 1000.0 * gain).clients(clients).indexes(3)]
        };
        let all =
            [of("MariaDB", 4, 1.6), of("MariaDB", 16, 1.6), of("PostgreSQL", 4, 1.23), of("PostgreSQL", 16, noise)];
        all.concat().iter().enumerate().map(|(nth, cell)| cell.point(repeat, nth)).collect::<Vec<_>>()
    };
    let told = answer_of((1..=6).flat_map(repeat).collect(), Some("indexes"));
    let sentences = sentences(&told);
    assert!(sentences[1].starts_with("On PostgreSQL, transactions are 23 % faster"), "{sentences:?}");
    assert!(
        sentences[1].ends_with(" with four clients, and show no proven difference with 16 clients."),
        "{sentences:?}"
    );
}
