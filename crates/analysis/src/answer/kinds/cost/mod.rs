//! What one operation costs: a file through a codec, a connection, a computation, a step of a sequence.
//!
//! In: a run that measures just that. Out: a table with a row for each, and what they cost. Each sort of operation is one file.

mod compression;
mod connections;
mod held;
mod kernels;
mod steps;

use crate::answer::{AnswerParts, AskedRun};

pub(super) fn answer(run: &AskedRun) -> Option<AnswerParts> {
    let sorts = [compression::answer, held::answer, connections::answer, kernels::answer, steps::answer];
    sorts.iter().find_map(|sort| sort(run))
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::answer::{Answer, AnswerKind, answer};
    use crate::simulated::{Simulation, drain, inserting, params, run_of};
    use model::{Fact, HeldMemory, HoldKind, HoldOutcome, ParamOwner, ParamRole, Params, PointData, PointParam, Value};

    fn answered(points: Vec<PointData>) -> Answer {
        let answer = answer(&analyse(&run_of(points, Vec::new())));
        assert_eq!(answer.kind, AnswerKind::Cost);
        answer
    }

    fn said(answer: &Answer) -> Vec<&str> {
        answer.claims.iter().map(|claim| claim.sentence.as_str()).collect()
    }

    fn rows(answer: &Answer) -> Vec<String> {
        let cells = |cells: &[Option<crate::answer::AnswerCell>]| {
            cells.iter().map(|cell| cell.as_ref().map_or("-", |cell| &cell.text)).collect::<Vec<_>>().join(" | ")
        };
        let table = answer.table.as_ref().expect("there are numbers");
        table.rows.iter().map(|row| format!("{}: {}", row.name.join(" "), cells(&row.cells))).collect()
    }

    fn compressed(codec: &str, output: u64, seconds: f64) -> PointData {
        let simulation = Simulation::counts(&[2]).with(|point| {
            let pairs = [("file", "/data/a.ibd"), ("codec", codec)];
            point.trial.target.params =
                Params(pairs.map(|(name, text)| (name.to_owned(), Value::Word(text.into()))).into());
            let declared =
                |name: &str, role| PointParam { name: name.into(), owner: ParamOwner::Engine, role, used: true };
            point.params = vec![declared("file", ParamRole::Mode), declared("codec", ParamRole::Tuning)];
            let facts = [
                ("compress.input_bytes", "100000000".to_owned()),
                ("compress.output_bytes", output.to_string()),
                ("compress.durable_s", seconds.to_string()),
                ("compress.own_cpu_s", seconds.to_string()),
            ];
            point.facts.extend(facts.map(|(name, value)| Fact::new(name, value)));
        });
        simulation.point()
    }

    #[test]
    fn codecs_are_told_by_size_speed_and_what_a_level_costs() {
        let answer = answered(vec![
            compressed("none", 100_000_000, 1.0),
            compressed("lz4", 50_000_000, 0.5),
            compressed("gzip:1", 40_000_000, 4.0),
            compressed("gzip:9", 39_000_000, 20.0),
        ]);
        assert_eq!(
            said(&answer),
            [
                "It becomes smallest with gzip:9: 2.56 times smaller at 5.00 MB/s.",
                "Of what makes it smaller the fastest is lz4: 2.00 times smaller at 200 MB/s.",
                "With lz4 it is on disk 50 % sooner than as it is.",
                "From gzip:1 to gzip:9 it becomes 2.5 % smaller and costs 5.00 times the CPU.",
            ]
        );
        assert_eq!(rows(&answer)[1], "lz4: 2.00x | 200 | 500 ms | 500 ms");
    }

    fn connecting(via: &str, clients: u32, per_s: u64) -> PointData {
        let simulation = Simulation::counts(&[per_s; 20]).with_steps(&[("first_query", 48_000), ("close", 20_000)]);
        let simulation = simulation.with(|point| {
            point.trial.workload.name = "connect".into();
            point.trial.load.clients = clients;
            point.trial.target.params = params(&[("via", Value::Word(via.into()))]);
            let via = PointParam { name: "via".into(), owner: ParamOwner::Engine, role: ParamRole::Ground, used: true };
            point.params = vec![via];
        });
        simulation.point()
    }

    #[test]
    fn connections_are_told_by_the_way_they_go_and_by_their_parts() {
        let ways =
            answered(vec![connecting("socket", 1, 4_000), connecting("tcp", 1, 2_000), connecting("tcp", 8, 3_000)]);
        assert_eq!(
            said(&ways),
            [
                "With one client sqlite opens a connection in 237 us (socket) and 475 us (tcp).",
                "None of 180,000 connections took a second: no attempt had to be repeated.",
                "On sqlite tcp takes 2.00 times as long as socket.",
                "Sqlite opens at most 4,000 connections per second, with one client.",
            ]
        );
        let of = |engine: &str, mut point: PointData| {
            point.trial.target.engine = engine.into();
            point
        };
        let both = ["sqlite", "fjall"].map(|engine| {
            [("socket", 4_000), ("tcp", 2_000)].map(|(via, per_s)| of(engine, connecting(via, 1, per_s)))
        });
        let first =
            "With one client a connection takes 237 us (socket) to 475 us (tcp) on sqlite and 237 to 475 us on fjall.";
        assert_eq!(said(&answered(both.concat()))[0], first, "the first sentence has both");
        let one = answered(vec![connecting("tcp", 1, 2_000)]);
        let parts = "With one client sqlite opens a connection in 475 us (median); first query takes 48.0 us and close takes 20.0 us.";
        assert_eq!(said(&one), [parts, "None of 40,000 connections took a second: no attempt had to be repeated."]);
    }

    #[test]
    fn connections_that_waited_are_told_with_the_queue_that_was_full() {
        let mut point = connecting("tcp", 8, 4_000);
        for interval in &mut point.phases[0].intervals {
            let row = &mut interval.kinds[0];
            row.ok += 2;
            row.response.record_n(1_010_000_000, 2);
            row.service.record_n(1_010_000_000, 2);
        }
        assert_eq!(
            said(&answered(vec![point]))[1],
            "40 of 80,000 connections took 1 s, as long as the kernel waits until it asks again."
        );
    }

    #[test]
    fn what_is_held_is_told_with_the_refusal() {
        let simulation = Simulation::counts(&[1]).with(|point| {
            point.trial.workload.name = "connect".into();
            point.traits.work.hold = Some(HoldKind::Transactions);
            point.traits.outcome.hold = Some(HoldOutcome {
                reached: 596,
                connections: Some(600),
                connections_max: Some(600),
                error: Some("ERROR 1040: Too many connections".into()),
                memory: [(0, 80_000_000), (596, 139_600_000)].map(|(held, bytes)| HeldMemory { held, bytes }).into(),
                ..HoldOutcome::default()
            });
        });
        let answer = answered(vec![simulation.point()]);
        assert_eq!(
            said(&answer),
            [
                "Sqlite held 596 open transactions and refused the next: ERROR 1040: Too many connections.",
                "It then had 600 connections in all, as many as it allows.",
                "Each of them took 100 KB of the server's memory.",
            ]
        );
        assert_eq!(rows(&answer), ["sqlite: 596 | 600 | 600 | 100 KB"]);
    }

    #[test]
    fn cores_are_told_by_how_many_times_the_work_of_one_they_do() {
        let computing = |kernel: &str, clients: u32, per_s: u64| {
            let simulation = Simulation::counts(&[per_s; 20]).with(|point| {
                point.trial.workload.params = params(&[("kernel", Value::Word(kernel.into()))]);
                point.traits.work.kernel = Some(kernel.into());
                point.trial.load.clients = clients;
            });
            simulation.point()
        };
        let answer = answered(vec![
            computing("sort", 1, 100),
            computing("sort", 8, 800),
            computing("chase", 1, 50),
            computing("chase", 8, 100),
        ]);
        assert_eq!(
            said(&answer),
            [
                "Worth shows only beside another machine; alone, eight threads do 4.00 times the work of one on average, 2.00 times for chase and 8.00 times for sort."
            ]
        );
        assert_eq!(rows(&answer)[1], "chase: 50.0 | 100 | 2.00");
    }

    #[test]
    fn steps_are_told_in_plain_words() {
        let step = |name: &str| {
            let mut point = inserting(20, 0.0, 0.0, 0.0).recorded;
            point.trial.workload.params = params(&[("step", Value::Word(name.into()))]);
            point
        };
        let answer = answered(vec![step("l.i0"), step("l.i1"), drain(&[0, 0, 1]).point()]);
        assert_eq!(
            said(&answer),
            [
                "Inserts: 1,000 rows per second without indexes, 1,000 with them.",
                "Writing what was put off took 3.00 s.",
            ]
        );
    }

    #[test]
    fn steps_of_one_phrase_have_names_of_their_own() {
        let step = |name: &str, rows: &str| {
            let mut point = inserting(20, 0.0, 0.0, 0.0).recorded;
            point.trial.workload.params = params(&[("step", Value::Word(name.into()))]);
            point.facts = vec![Fact::new("rows_per_op.insert", rows)];
            point
        };
        let answer = answered(vec![step("l.i1", "100"), step("l.i2", "5"), step("qr", "0"), step("qp", "0")]);
        let rows = rows(&answer);
        let names: Vec<&str> = rows.iter().filter_map(|row| row.split(':').next()).collect();
        let expected = [
            "inserts with indexes, 100 rows per commit",
            "inserts with indexes, 5 rows per commit",
            "queries (qr)",
            "queries (qp)",
        ];
        assert_eq!(names, expected);
        assert_eq!(said(&answer)[1], "Inserts with indexes, 5 rows per commit: 5,000 rows per second.");
    }
}
