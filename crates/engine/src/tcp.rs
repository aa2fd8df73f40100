//! A bare listener: something that accepts TCP connections, of which nothing else is known.
//!
//! In: `tcp://host:port`. Out: connections that are opened and closed. Limits: nothing is sent, so a connection counts as open when the
//! kernel of the other side has it, accepted by its program or not; there is no first query, and no transaction to hold.

use crate::connect::backlog::backlog_facts;
use crate::connect::hold::{HoldReport, HoldTarget, hold_clients};
use crate::connect::{self, ConnectTarget, connect_clients, connect_program_of};
use crate::engine::{DataSpace, EngineDef, EngineLocation, Instance, InstanceReport, WorkloadClients, depth_one_only};
use crate::server::network::{PlainStream, Route};
use crate::server::url::URL;
use crate::sql::OpFailure;
use host::deadline::Deadline;
use host::error::TargetError;
use model::{Entry, Fact, FailureClass, Family, HoldKind, ParamDef, Params, Trial, WritePath};
use std::time::Duration;
use workload::program::HoldProgram;

pub static TCP: EngineDef = EngineDef {
    entry: Entry {
        name: "tcp",
        spoken: "the TCP server",
        help: "anything that accepts TCP connections, given as tcp://HOST:PORT: connect and close, no query",
        families: &[Family::Connection],
        params: &[LISTENER_URL],
    },
    runs: EngineLocation::Elsewhere,
    version: || Err(format!("give its address: --engine {EXAMPLE}")),
    check: check_trial,
    start: |start| Ok(Box::new(ListenerInstance::find(&start.trial.target.params)?)),
    ..EngineDef::BARE
};

const EXAMPLE: &str = "tcp://127.0.0.1:4000";
const LISTENER_URL: ParamDef =
    ParamDef { help: "address of the listener, usually given as the engine: `--engine tcp://127.0.0.1:4000`", ..URL };

fn check_trial(trial: &Trial) -> Result<(), TargetError> {
    depth_one_only(trial)?;
    address_in(&trial.target.params)?;
    if connect_program_of(trial, false).hold.is_some_and(|hold| hold.kind == HoldKind::Transactions) {
        let text = "a bare listener has no transactions; use held = `connections`, or the URL of a database";
        return Err(TargetError::Unsupported(text.into()));
    }
    connect::check_trial(trial)
}

/// Host and port of `tcp://host:port`.
fn address_in(params: &Params) -> Result<(String, u16), TargetError> {
    let url = params.word(URL.name);
    let parts = url.strip_prefix("tcp://").and_then(|rest| rest.trim_end_matches('/').rsplit_once(':'));
    let parts = parts.and_then(|(host, port)| Some((host, port.parse().ok().filter(|port| *port > 0)?)));
    match parts.filter(|(host, _): &(&str, u16)| is_host(host)) {
        Some((host, port)) => Ok((host.trim_matches(['[', ']']).to_owned(), port)),
        None => {
            Err(TargetError::Unsupported(format!("a listener needs a host and a port, such as `--engine {EXAMPLE}`")))
        }
    }
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._:[]%".contains(c))
}

/// A listener, which is not plimsoll's.
struct ListenerInstance {
    listener: Listener,
    report: HoldReport,
}

impl ListenerInstance {
    fn find(params: &Params) -> Result<ListenerInstance, TargetError> {
        let (host, port) = address_in(params)?;
        Ok(ListenerInstance { listener: Listener { host, port }, report: HoldReport::default() })
    }
}

#[derive(Clone)]
struct Listener {
    host: String,
    port: u16,
}

impl ConnectTarget for Listener {
    type Open = PlainStream;

    fn server_name(&self) -> String {
        format!("`tcp://{}:{}`", self.host, self.port)
    }

    fn open(&self, allowed: Duration) -> Result<PlainStream, OpFailure> {
        let opened =
            Route::Host(self.host.clone(), self.port, None).connect(Deadline::unless_interrupted(allowed), allowed);
        opened.map_err(|error| match crate::server::network::explanation(&error) {
            Some(text) => OpFailure::from_server(FailureClass::Lost, text),
            None => OpFailure::connection_lost(&error),
        })
    }

    fn ask(&self, _: &mut PlainStream) -> Result<(), OpFailure> {
        unreachable!("its program has no query")
    }
}

impl HoldTarget for Listener {
    fn begin(&self, _: &mut PlainStream, _: &HoldProgram, _: u64) -> Result<(), OpFailure> {
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }
}

impl Instance for ListenerInstance {
    fn report(&self) -> InstanceReport {
        let mut facts = vec![
            Fact::new("engine.version", "unknown"),
            Fact::new("connect.via", "tcp"),
            Fact::new("server.unseen", model::UnseenServer::NotFound.as_str()),
        ];
        facts.extend(backlog_facts(&self.listener.host, self.listener.port));
        let way = Route::Host(self.listener.host.clone(), self.listener.port, None).server_way();
        InstanceReport { facts, way, ..InstanceReport::default() }
    }

    fn write_path(&self, _: &Trial) -> WritePath {
        WritePath::Unknown
    }

    fn make_loaders(&mut self, _: &Trial) -> Result<Option<WorkloadClients>, TargetError> {
        Ok(None)
    }

    fn finish_load(&mut self) -> Result<Vec<Fact>, TargetError> {
        Ok(Vec::new())
    }

    fn make_clients(&mut self, trial: &Trial) -> Result<WorkloadClients, TargetError> {
        let program = connect_program_of(trial, false);
        Ok(match &program.hold {
            Some(hold) => hold_clients(&program, hold, &self.listener, &self.report),
            None => connect_clients(trial, &program, &self.listener),
        })
    }

    fn take_held(&mut self) -> Vec<Fact> {
        self.report.take_facts()
    }

    fn measure_space(&self) -> DataSpace {
        DataSpace::default()
    }

    fn stop(self: Box<Self>) -> Result<(), TargetError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    fn address(url: &str) -> Option<(String, u16)> {
        address_in(&Params([("url".to_owned(), Value::Word(url.into()))].into())).ok()
    }

    #[test]
    fn a_listener_has_a_host_and_a_port_and_nothing_else() {
        assert_eq!(address("tcp://127.0.0.1:4000"), Some(("127.0.0.1".into(), 4000)));
        assert_eq!(address("tcp://[::1]:4000/"), Some(("::1".into(), 4000)));
        for wrong in ["tcp://127.0.0.1", "tcp://:4000", "tcp://h:0", "tcp://h:99999", "tcp://u@h:1", "mysql://h:1", ""]
        {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }
}
