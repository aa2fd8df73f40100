//! Whatever is measured, an answer is short, is made of words, and says nothing that its run does not show: a thousand simulated runs.

use super::{Answer, AnswerKind, CLAIMS_MAX, COLUMNS_MAX, Claim, ClaimKind, ROWS_MAX, WORDS_MAX, answer};
use crate::figures::POINT_FIGURES;
use crate::points::durability::durability;
use crate::simulated::endpoints::{with_endpoint_down, with_endpoints};
use crate::simulated::searches::searched_on;
use crate::simulated::{Random, Simulation, drain, inserting, kind, params, run_of};
use crate::{Analysis, PointAnalysis, Validity, analyse};
use model::limit::LimitOutcome;
use model::{
    Asked, Bytes, EngineProcess, HoldKind, HoldOutcome, KindDef, OpClass, ParamOwner, ParamRole, PointData, PointParam,
    PointState, RunData, SqlStep, SqlVariant, StepPart, Value, VariantWork,
};
use std::collections::BTreeSet;

/// Checks all that holds of every answer.
fn check(what: &str, analysis: &Analysis) {
    let Answer { kind, question, table, claims, trust, .. } = answer(analysis);
    let context = || format!("{what}, {kind:?}: {claims:#?}");
    assert!(!question.is_empty() && claims.len() <= CLAIMS_MAX && trust.len() <= 3, "{}", context());
    if let Some(table) = &table {
        let is_wide = table.rows.iter().any(|row| row.cells.len() > table.columns.len() || row.name.is_empty());
        let is_large =
            table.rows.len() > ROWS_MAX || table.columns.len() >= COLUMNS_MAX || table.rows_of < table.rows.len();
        assert!(!is_wide && !is_large && !table.rows.is_empty(), "{}: {table:#?}", context());
    }
    for claim in &claims {
        check_words(&claim.sentence, &context);
        check_figures(claim, analysis, &context);
        check_ranks(kind, claim, analysis, &context);
    }
    let is_disturbed = |point: &PointAnalysis| point.findings.iter().any(|one| one.code().is_disturbance());
    for claim in claims.iter().filter(|claim| claim.kind == ClaimKind::Steadiness) {
        let is_of_all = ["It ", "All ran "].iter().any(|begin| claim.sentence.starts_with(begin));
        let disturbed = analysis.points.iter().filter(|point| is_disturbed(point)).count();
        assert!(
            if is_of_all { disturbed == 0 } else { (1..analysis.points.len()).contains(&disturbed) },
            "{}",
            context()
        );
    }
}

fn check_words(sentence: &str, context: &dyn Fn() -> String) {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    assert!(words.len() <= WORDS_MAX, "{} words in `{sentence}`: {}", words.len(), context());
    assert!(sentence.ends_with('.') && !sentence.ends_with(".."), "no sentence: `{sentence}`: {}", context());
    assert!(!sentence.contains(['=', '_']) && !sentence.contains("  "), "signs in `{sentence}`: {}", context());
    let bare = |word: &&str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let is_step = |word: String| word.starts_with("l.i") || ["l.x", "qr", "qp"].contains(&word.as_str());
    assert!(!words.iter().map(bare).any(is_step), "a step in `{sentence}`: {}", context());
    assert!(!sentence.contains("NaN") && !sentence.contains("inf "), "no number in `{sentence}`: {}", context());
}

/// A figure that names a point is that of the point, and the point may be used. Probes of a search are no points of the run.
fn check_figures(claim: &Claim, analysis: &Analysis, context: &dyn Fn() -> String) {
    for figure in &claim.figures {
        assert!(figure.value.is_finite(), "{figure:?}: {}", context());
        let Some(id) = figure.point else { continue };
        let probes = analysis.searches.iter().flat_map(|search| &search.probes).map(|probe| &probe.point);
        let own = analysis.points.iter().find(|point| point.id == id);
        let point = own.or_else(|| probes.into_iter().find(|probe| probe.id == id));
        let point = point.unwrap_or_else(|| panic!("no point {id}: {}", context()));
        assert!(own.is_none_or(|own| own.validity != Validity::Invalid), "point {id} is invalid: {}", context());
        let Some(declared) = POINT_FIGURES.iter().find(|declared| declared.key == figure.name) else { continue };
        let value = declared.value(point).unwrap_or_else(|| panic!("point {id} has no {}: {}", figure.name, context()));
        assert!((value - figure.value).abs() <= 1e-9 * value.abs(), "{figure:?} is {value}: {}", context());
    }
}

/// Engines that promise different things of a commit are not ranked, nor those inside of plimsoll with servers. How much they carry when
/// clients ask may be compared.
fn check_ranks(kind: AnswerKind, claim: &Claim, analysis: &Analysis, context: &dyn Fn() -> String) {
    if !matches!(claim.kind, ClaimKind::Difference | ClaimKind::NoDifference) {
        return;
    }
    let is_embedded = |point: &PointAnalysis| point.traits.engine.process == EngineProcess::Embedded;
    let named: Vec<&PointAnalysis> =
        analysis.points.iter().filter(|point| claim.sentence.contains(&point.engine)).collect();
    for (one, other) in named.iter().zip(named.iter().skip(1)) {
        if one.engine == other.engine {
            continue;
        }
        assert_eq!(durability(one), durability(other), "{}", context());
        assert!(kind == AnswerKind::Limit || is_embedded(one) == is_embedded(other), "{}", context());
    }
}

/// Draws of one run.
struct Draws(Random);

impl Draws {
    fn chance(&mut self, share: f64) -> bool {
        self.0.uniform() < share
    }

    fn below(&mut self, n: u64) -> u64 {
        ((self.0.uniform() * n as f64) as u64).min(n - 1)
    }

    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// The counts of `seconds` about `rate`: noise, and perhaps something that disturbs them.
    fn course(&mut self, seconds: u64, rate: f64) -> Vec<u64> {
        let noise = self.one(&[0.0, 0.01, 0.05, 0.3]);
        let disturbance = self.below(10);
        let (at, period) = (self.below(seconds), 3 + self.below(9));
        let level = |second: u64| match disturbance {
            0 if second >= at => 0.6,
            1 if second.is_multiple_of(period) => 0.3,
            2 => 1.0 + 0.4 * (std::f64::consts::TAU * second as f64 / period as f64).sin(),
            3 if (at..at + 3).contains(&second) => 0.0,
            4 => 1.0 - 0.6 * second as f64 / seconds as f64,
            _ => 1.0,
        };
        let mut count = |second| (rate * level(second) * (1.0 + noise * self.0.normal())).max(0.0) as u64;
        (0..seconds).map(&mut count).collect()
    }

    /// A point of about `rate`, changed by `set`, that may fail, be cut, or have errors.
    fn point(&mut self, rate: f64, set: impl FnOnce(&mut PointData)) -> PointData {
        let seconds = self.one(&[2, 12, 12, 24, 40]);
        let counts = self.course(seconds, rate);
        let (is_cut, is_failed, errs) = (self.chance(0.04), self.chance(0.04), self.chance(0.04));
        let simulation = Simulation::counts(&counts).with(set).with(|point| {
            if is_cut {
                point.state = PointState::Partial;
            }
            if is_failed {
                (point.state, point.error) = (PointState::Failed, Some("the server is gone".into()));
            }
            if errs {
                point.phases[0].intervals.iter_mut().for_each(|interval| interval.kinds[0].failed = 1 + counts[0]);
            }
        });
        simulation.point()
    }

    /// Points of every combination of `rates` by name and `repeats`, interleaved; `set` names them.
    fn repeated(&mut self, arms: &[(String, f64)], set: impl Fn(&mut PointData, &str)) -> Vec<PointData> {
        let repeats = 1 + self.below(6) as u32;
        let mut points = Vec::new();
        for repeat in 1..=repeats {
            for nth in 0..arms.len() {
                let nth = if repeat % 2 == 0 { arms.len() - 1 - nth } else { nth };
                let (name, rate) = &arms[nth];
                let drift = 1.0 + 0.02 * self.0.normal();
                points.push(self.point(rate * drift, |point| {
                    (point.trial.repeat, point.trial.seed) = (repeat, u64::from(repeat));
                    set(point, name);
                }));
            }
        }
        points
    }

    fn rate(&mut self) -> f64 {
        10f64.powf(1.0 + 3.0 * self.0.uniform())
    }

    fn engines(&mut self, n: usize) -> Vec<(String, f64)> {
        ["sqlite", "fjall", "mariadb", "postgres"][..n].iter().map(|name| ((*name).to_owned(), self.rate())).collect()
    }

    /// What the plan asks: nothing, or a question, and perhaps a comparison.
    fn ask(&mut self, run: &mut RunData, compare: &str) {
        let question = self.chance(0.5).then(|| "What does it cost?".to_owned());
        let compare = self.chance(0.5).then(|| compare.to_owned());
        let over = self.chance(0.3).then(|| "clients".to_owned());
        run.meta.plan.asked = Asked { question, compare, over };
    }
}

fn tuning(name: &str, owner: ParamOwner, role: ParamRole) -> Vec<PointParam> {
    vec![PointParam { name: name.into(), owner, role, used: true }]
}

fn word(name: &str, word: &str) -> model::Params {
    params(&[(name, Value::Word(word.into()))])
}

/// Engines next to each other, over clients.
fn engines(draws: &mut Draws) -> RunData {
    let arms = draws.engines(2);
    let (unlike, servers, clients) = (draws.chance(0.3), draws.below(3), draws.one(&[1u32, 2, 3]));
    let mut points = Vec::new();
    for clients in (0..clients).map(|nth| 4u32.pow(nth)) {
        points.extend(draws.repeated(&arms, |point, engine| {
            point.trial.target.engine = engine.into();
            point.trial.load.clients = clients;
            point.kinds[0].queries_per_op = 20.0;
            let is_first = engine == "sqlite";
            point.traits.engine.durability = Some(if is_first || !unlike { "disk" } else { "os" }.into());
            point.facts.clear();
            let is_server = servers == 0 || servers == 1 && !is_first;
            point.traits.engine.process = if is_server { EngineProcess::Own } else { EngineProcess::Embedded };
        }));
    }
    let mut run = run_of(points, Vec::new());
    draws.ask(&mut run, "engine");
    run
}

/// More and more clients, or depth, of one or two things.
fn sweeps(draws: &mut Draws) -> RunData {
    let (is_file, is_depth, overloads) = (draws.chance(0.5), draws.chance(0.5), draws.chance(0.1));
    let peak = draws.rate();
    let mut points = Vec::new();
    let shape = draws.below(3);
    for step in 0..1 + draws.below(7) as u32 {
        let n = 2u32.pow(step);
        let share = match shape {
            0 => f64::from(n) / 8.0,
            1 => f64::from(n.min(8)) / 8.0,
            _ => 1.0 / f64::from(n),
        };
        let modes = if is_file { &["rndrd", "rndwr"][..] } else { &["read_only"][..] };
        for mode in modes {
            points.extend(draws.repeated(&[((*mode).to_owned(), peak * share)], |point, mode| {
                let load = &mut point.trial.load;
                if is_depth {
                    load.depth = n
                } else {
                    load.clients = n
                }
                if is_file {
                    point.trial.workload.name = "file".into();
                    point.trial.workload.params =
                        params(&[("mode", Value::Word(mode.into())), ("block", Value::Bytes(Bytes(16_384)))]);
                    point.kinds = vec![kind(if mode == "rndrd" { "read" } else { "write" })];
                } else {
                    point.trial.workload.params = word("mix", mode);
                }
            }));
        }
    }
    if overloads {
        points.push(Simulation::open(20, 100, |_| 15_000_000).point());
    }
    let mut run = run_of(points, Vec::new());
    draws.ask(&mut run, "mode");
    run
}

/// Two values of one setting in turns.
fn two_values(draws: &mut Draws) -> RunData {
    let base = draws.rate();
    let effect = draws.one(&[1.0, 1.0, 1.3, 0.2, 40.0]);
    let key = draws.one(&["durability", "innodb.x", "fsync_method", "indexes"]);
    let arms = [("os".to_owned(), base), ("disk".to_owned(), base * effect)];
    let points = draws.repeated(&arms, |point, value| {
        point.trial.target.params = word(key, value);
        point.params = tuning(key, ParamOwner::Engine, ParamRole::Tuning);
        if key == "durability" {
            point.traits.engine.durability = Some(value.into());
        }
    });
    let mut run = run_of(points, Vec::new());
    run.meta.plan.ab = draws.chance(0.7).then(|| key.to_owned());
    draws.ask(&mut run, key);
    run
}

/// One point over time.
fn timelines(draws: &mut Draws) -> RunData {
    let seconds = draws.one(&[3, 30, 60, 120]);
    let rate = draws.rate();
    let counts = draws.course(seconds, rate);
    run_of(vec![Simulation::counts(&counts).point()], Vec::new())
}

/// Ways to write one statement.
fn variants(draws: &mut Draws) -> RunData {
    let names = ["as-written", "with-index", "temp-table"];
    let times = names.map(|name| (name.to_owned(), draws.one(&[1.0, 1.0, 5.0, 60.0])));
    let points = draws.repeated(&times, |point, name| {
        let variant = SqlVariant {
            name: name.into(),
            steps: vec![SqlStep { part: StepPart::Statement, sql: "SELECT 1".into() }],
        };
        point.trial.workload.name = "sql".into();
        point.trial.workload.params = params(&[("variant", Value::Variant(variant))]);
        point.params = tuning("variant", ParamOwner::Workload, ParamRole::Tuning);
        point.kinds = vec![KindDef::new("statement", OpClass::Read)];
        let parts = vec![StepPart::Statement];
        let work = VariantWork { name: name.into(), param: "variant".into(), parts, is_cold: false, timeout: None };
        point.traits.work.variant = Some(work);
        point.traits.course.run_ops = Some(20);
    });
    let mut run = run_of(points, Vec::new());
    draws.ask(&mut run, "variant");
    run
}

/// Inserts step by step, with none or three indexes, on one or two engines.
fn steps(draws: &mut Draws) -> RunData {
    let (two_engines, two_counts) = (draws.chance(0.4), draws.chance(0.4));
    let mut points = Vec::new();
    for engine in &["mariadb", "fjall"][..1 + usize::from(two_engines)] {
        for indexes in &[3u64, 0][..1 + usize::from(two_counts)] {
            for step in ["l.i0", "l.x", "l.i1", "qr", "drain"] {
                let seconds = 10 + draws.below(20) as usize;
                let mut point = match step {
                    "l.x" | "drain" => drain(&[0, 0, 0, 1]).recorded,
                    _ => inserting(seconds, 1e5, 1e6, 10.0).recorded,
                };
                point.trial.target.engine = (*engine).into();
                point.trial.workload.params =
                    params(&[("step", Value::Word(step.into())), ("indexes", Value::Int(*indexes))]);
                points.push(point);
            }
        }
    }
    let mut run = run_of(points, Vec::new());
    draws.ask(&mut run, "indexes");
    run
}

/// A node that is gone for a while, or none.
fn nodes(draws: &mut Draws) -> RunData {
    let (at, down) = (5.0 + draws.below(20) as f64, draws.one(&[0.1, 3.0, 12.4, 100.0]));
    let simulation = with_endpoints(50, |endpoint, second| {
        let is_down = endpoint == 1 && second as f64 >= at && (second as f64) < at + down;
        if is_down { 0 } else { 100 + second % 5 }
    });
    let is_lost = draws.chance(0.8);
    let simulation = if is_lost { with_endpoint_down(simulation, 1, at, down) } else { simulation };
    let mut points = vec![simulation.clone().point()];
    if draws.chance(0.3) {
        points.push(simulation.with(|point| point.trial.load.clients = 8).point());
    }
    run_of(points, Vec::new())
}

/// Connections, what is held, computations.
fn costs(draws: &mut Draws) -> RunData {
    let sort = draws.below(3);
    let arms: Vec<(String, f64)> =
        ["socket", "tcp", "tls_1_3"].iter().map(|name| ((*name).into(), draws.rate())).collect();
    let arms = &arms[..1 + draws.below(3) as usize];
    let points = draws.repeated(arms, |point, name| match sort {
        0 => {
            point.trial.workload.name = "connect".into();
            point.trial.target.params = word("via", name);
            point.params = tuning("via", ParamOwner::Engine, ParamRole::Ground);
            point.kinds = vec![kind("connect"), kind("first_query")];
            for interval in &mut point.phases[0].intervals {
                let row = model::KindRow { kind: model::OpKind(1), ..interval.kinds[0].clone() };
                interval.kinds.push(row);
            }
        }
        1 => {
            point.trial.workload.params = word("kernel", name);
            point.traits.work.kernel = Some(name.into());
            point.trial.load.clients = if name == "tcp" { 8 } else { 1 };
        }
        _ => {
            point.trial.workload.name = "connect".into();
            point.trial.target.params = word("via", name);
            point.traits.work.hold = Some(HoldKind::Connections);
            let error = Some("ERROR 1040 (08004): too many ".repeat(9));
            point.traits.outcome.hold = Some(HoldOutcome { reached: 57, error, ..HoldOutcome::default() });
        }
    });
    let mut run = run_of(points, Vec::new());
    draws.ask(&mut run, "via");
    run
}

/// Searches for the largest rate, some of which do not end.
fn searches(draws: &mut Draws) -> RunData {
    let servers = [("sqlite", 1e6), ("postgres", draws.one(&[1e6, 4e6]))];
    let objective = draws.one(&["p99<20ms", "p99<20ms,errors<1%", "p50<3ms", "p99<1us"]);
    let most = draws.one(&[3, usize::MAX]);
    let highest = draws.chance(0.2).then_some(100.0);
    searched_on(&servers[..1 + draws.below(2) as usize], objective, highest, most)
}

/// A shape of a run by name.
type Shape = (&'static str, fn(&mut Draws) -> RunData);

fn hold_for(seeds: std::ops::Range<u64>, shapes: &[Shape]) {
    let holds = |seed: &u64| {
        let (name, make) = shapes[*seed as usize % shapes.len()];
        let check_one = || check(&format!("{name} of seed {seed}"), &analyse(&make(&mut Draws(Random::new(*seed)))));
        std::panic::catch_unwind(check_one).is_ok()
    };
    // All that fail are shown, and not the first only.
    let failed: Vec<u64> = seeds.filter(|seed| !holds(seed)).collect();
    assert!(failed.is_empty(), "see above what does not hold of the seeds {failed:?}");
}

#[test]
fn five_hundred_runs_that_compare_have_answers_that_hold() {
    hold_for(0..500, &[("engines", engines), ("sweeps", sweeps), ("two values", two_values), ("variants", variants)]);
}

#[test]
fn five_hundred_other_runs_have_answers_that_hold() {
    hold_for(500..1_000, &[("timelines", timelines), ("steps", steps), ("nodes", nodes), ("costs", costs)]);
}

#[test]
fn searches_have_answers_that_hold() {
    hold_for(1_000..1_012, &[("searches", searches)]);
}

#[test]
fn runs_of_all_kinds_are_among_those_that_are_tried() {
    let shapes: [fn(&mut Draws) -> RunData; 6] = [engines, sweeps, timelines, steps, nodes, costs];
    let kinds = shapes.iter().map(|make| answer(&analyse(&make(&mut Draws(Random::new(3))))).kind);
    let kinds: BTreeSet<AnswerKind> = kinds.collect();
    assert!(kinds.contains(&AnswerKind::Cost) && kinds.contains(&AnswerKind::Failover), "{kinds:?}");
    let searched = analyse(&searches(&mut Draws(Random::new(4))));
    assert_eq!(answer(&searched).kind, AnswerKind::Limit);
    assert!(
        searched.searches.iter().any(|search| search.result.outcome != LimitOutcome::Interrupted)
            || searched.points.is_empty()
    );
}
