//! `--metrics`: the numbers of a run while it is measured, for Prometheus and whatever else reads OpenMetrics.
//!
//! In: the events of the run. Out: `http://127.0.0.1:PORT/metrics`. Limits: an address of this machine only, and no token: every user of the
//! machine can read it.
//!
//! The thread that records must never wait for a viewer. It adds up what it gets, and hands over a finished state if the lock is free; if a
//! viewer holds it, the next interval hands over the sum of both. One more thread answers, with the least claim on a CPU.

mod state;
mod text;

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output::label;
use model::Plan;
use runner::{RunEvent, RunObserver};
use state::RunProgress;
use std::io::{self, PipeWriter};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use web::{Guard, Request, Response, Server, Status};

/// The type that Prometheus asks for.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const NICE: i32 = 19;

/// What the answering thread sees.
type Published = Arc<Mutex<Arc<RunProgress>>>;

/// The metrics of a run. They are served until this is dropped.
pub struct RunMetrics {
    state: RunProgress,
    published: Published,
    _stop: PipeWriter,
}

/// An address that other machines cannot reach.
///
/// # Errors
/// What to use instead.
pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "use an address with a port, such as 127.0.0.1:9184".to_owned())?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err("the metrics are for this machine only; use 127.0.0.1 with a port".to_owned())
    }
}

impl RunMetrics {
    /// Serves the metrics of `plan` at `address`, if there is one.
    ///
    /// # Errors
    /// If the address cannot be listened at.
    pub fn start(address: Option<SocketAddr>, plan: &Plan, context: &Context) -> Result<Option<RunMetrics>, Fault> {
        let Some(address) = address else { return Ok(None) };
        let cannot = |error: io::Error| {
            let why = model::system_words(&error);
            Fault::new(
                Exit::Refused,
                format!("cannot serve metrics at `{address}`: {why}; choose another port by --metrics"),
            )
        };
        let server = Server::bind(address).map_err(cannot)?;
        let guard = Guard::open(server.address());
        context.note(format_args!("metrics: {}metrics", guard.link()));
        let state = RunProgress::new(plan, label::all(plan));
        let published: Published = Arc::new(Mutex::new(Arc::new(state.clone())));
        let seen = published.clone();
        let (ended, stop) = io::pipe().map_err(cannot)?;
        let respond = Arc::new(move |request: &Request| respond(request, &guard, &seen));
        let serve = move || {
            // On Linux this is for the calling thread only.
            let _ = rustix::process::nice(NICE);
            server.serve(respond, 0, ended)
        };
        thread::Builder::new().name("metrics".to_owned()).spawn(serve).map_err(cannot)?;
        Ok(Some(RunMetrics { state, published, _stop: stop }))
    }
}

impl RunObserver for RunMetrics {
    fn on(&mut self, event: RunEvent<'_>) {
        if !self.state.take(event) {
            return;
        }
        // Never waits: a state that could not be handed over is part of the next.
        if let Ok(mut published) = self.published.try_lock() {
            *published = Arc::new(self.state.clone());
        }
    }
}

fn respond(request: &Request, guard: &Guard, published: &Published) -> Response {
    if let Err(status) = guard.check(request) {
        return Response::text(status, "this address is not that of the metrics; use 127.0.0.1 with its port");
    }
    if request.segments() != [b"metrics"] {
        return Response::text(Status::NotFound, "the metrics are at /metrics");
    }
    // Held for a copy of a pointer, so that the thread that records finds it free.
    let state = published.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Response::new(Status::Ok, OPEN_METRICS, text::open_metrics(&state).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_taken() {
        assert!(parse_address("127.0.0.1:0").is_ok() && parse_address("[::1]:9184").is_ok());
        for (address, advice) in
            [("0.0.0.0:1", "this machine only"), ("10.1.2.3:80", "this machine only"), ("9184", "such as 127.0.0.1")]
        {
            assert!(parse_address(address).is_err_and(|error| error.contains(advice)), "{address}");
        }
    }
}
