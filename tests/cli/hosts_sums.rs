//! What several hosts did adds up: the target's count, the run files of the agents and that of the coordinator agree.
//!
//! In: `redis-server` on PATH; for one test MariaDB. Out: equal counts and equal percentiles. Limits: without a server a test ends at once.

use crate::hosts_lab::{HostsLab, VISITOR, assert_all_arrived, end, own_ops};
use crate::lab::Lab;
use crate::servers::{ask_mariadb, is_here, measuring, socket_of};
use model::{Phase, Times};
use std::path::Path;

const NAMES: [&str; 4] = ["c1", "c2", "c3", "c4"];

/// The response times of all operations of the run phase in a run file.
fn response_times(file: &Path) -> Times {
    let run = store::read(file).unwrap();
    let phases = run.points.iter().flat_map(|point| &point.phases).filter(|phase| phase.phase == Phase::Run);
    let rows = phases.flat_map(|phase| &phase.intervals).flat_map(|interval| &interval.kinds);
    Times::merged(rows.map(|row| &row.response).collect::<Vec<_>>())
}

/// Runs a load of `arguments` on so many agents. Returns the point as the coordinator prints it.
fn measure(lab: &HostsLab, agents: &[&str], arguments: &[&str]) -> serde_json::Value {
    let started: Vec<_> = agents.iter().map(|name| lab.agent(name, "load")).collect();
    let count = agents.len().to_string();
    let common = ["--agents", &count, "--interval", "100ms", "--json", "--no-report"];
    let run = end(lab.command(&[arguments, &common].concat()).spawn().unwrap());
    assert_eq!(run.exit, 0, "{}", run.stderr);
    for agent in started.into_iter().map(end) {
        assert_eq!(agent.exit, 0, "{}", agent.stderr);
    }
    run.json()["points"][0].clone()
}

#[test]
fn the_operations_of_a_plan_are_done_once_whatever_the_number_of_agents() {
    for agents in [1, 2, 4] {
        let Some(lab) = HostsLab::new(None) else { return };
        let load = ["file", "--engine", "null", "--service", "100us", "--clients", "8", "--ops-max", "4001"];
        let point = measure(&lab, &NAMES[..agents], &[&load[..], &["--time", "600s"]].concat());
        assert_eq!(point["ops"], 4001, "{agents} agents");
        assert_all_arrived(&lab, &NAMES[..agents]);
    }
}

#[test]
fn percentiles_over_four_agents_are_those_of_their_run_files_together() {
    let Some(lab) = HostsLab::new(None) else { return };
    let load = ["file", "--engine", "null", "--service", "300us", "--clients", "5", "--rate", "4000", "--time", "1s"];
    let point = measure(&lab, &NAMES, &load);
    let own: Vec<Times> = NAMES.iter().map(|name| response_times(&lab.run_file(&format!("{name}-runs")))).collect();
    let together = Times::merged(&own);
    let recorded = response_times(&lab.lab.run_files().pop().unwrap());
    assert_eq!((recorded.len(), recorded.sum_ns(), recorded.max_ns()), {
        (together.len(), together.sum_ns(), together.max_ns())
    });
    let quantiles = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0];
    assert_eq!(recorded.values_at_quantiles(quantiles), together.values_at_quantiles(quantiles));
    // Different hosts saw different times: the equality above is none of equal parts.
    assert!(own.iter().any(|one| one != &own[0]));
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
        let (shown, exact) =
            (point["response_ns"][name].as_f64().unwrap(), together.value_at_quantile(quantile) as f64);
        assert!(
            (shown / exact - 1.0).abs() <= 2.0 * model::histogram::PERCENTILE_ERROR_MAX,
            "{name}: {shown} and {exact}"
        );
    }
}

#[test]
fn a_server_counts_the_operations_that_the_run_file_has() {
    let theirs = Lab::new();
    let Some(lab) = HostsLab::new(None).filter(|_| is_here(&theirs, "mariadb:innodb")) else { return };
    let _server = measuring(&theirs, &[]);
    let socket = socket_of(&theirs, "m.sock");
    ask_mariadb(
        &socket,
        &format!("CREATE USER visitor@localhost IDENTIFIED BY '{VISITOR}'; GRANT ALL ON *.* TO visitor@localhost"),
    );
    let updates = || -> u64 {
        let answer = ask_mariadb(&socket, "SHOW GLOBAL STATUS LIKE 'Com_update'");
        answer.split_whitespace().last().unwrap().parse().unwrap()
    };
    let (url, before) = (format!("mysql://visitor@localhost/?socket={socket}"), updates());
    let load = ["oltp", "--engine", &url, "--mix", "update_non_index", "--table-rows", "300", "--clients", "4"];
    let point = measure(&lab, &NAMES[..2], &[&load[..], &["--time", "600s", "--ops-max", "501"]].concat());
    assert_eq!((point["ops"].as_u64(), point["failed"].as_u64()), (Some(501), Some(0)), "{point}");
    assert_eq!(updates() - before, 501);
    let own: u64 = NAMES[..2].iter().map(|name| own_ops(&lab.run_file(&format!("{name}-runs")))).sum();
    assert_eq!(own_ops(&lab.lab.run_files().pop().unwrap()), own);
}
