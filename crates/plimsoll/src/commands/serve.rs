//! `plimsoll serve`: the recorded runs of a directory as pages for a browser on this machine.
//!
//! In: a directory, an address. Out: pages, until Ctrl-C. Limits: wiring; the crate `web` is the server, and `serve/` makes the pages.

use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::flags;
use crate::output;
use crate::serve::Site;
use crate::signals;
use clap::{Arg, ArgMatches, Command, value_parser};
use serde_json::json;
use std::io::PipeReader;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use web::{AccessToken, Guard, Server};

/// As many requests are answered at once.
const THREADS: usize = 4;
/// The least claim on a CPU that a process can have.
const NICE: i32 = 19;
/// A run that is being copied when the server ends is waited for, so that no copy is left.
const COPY_WAIT: Duration = Duration::from_secs(5);

pub fn clap() -> Command {
    let port = Arg::new("port").long("port").value_name("PORT").default_value("0").value_parser(value_parser!(u16));
    let bind = Arg::new("bind").long("bind").value_name("ADDRESS").value_parser(value_parser!(IpAddr));
    Command::new("serve")
        .arg(flags::runs("Directory of run files"))
        .arg(port.help("Port to listen at; 0 for any that is free"))
        .arg(bind.help(
            "Address to listen at. Other machines can then reach the pages, unencrypted; whoever has the printed address can read them \
             [default: 127.0.0.1]",
        ))
        .about("Show the recorded runs in a browser: search, reports, comparisons, and the run that is being recorded")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let ip = matches.get_one::<IpAddr>("bind").copied().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let port = matches.get_one::<u16>("port").copied().expect("it has a default");
    let internal = |what: &str, error: std::io::Error| {
        Fault::new(Exit::Internal, format!("cannot {what}: {}", model::system_words(&error)))
    };
    let server = listen(SocketAddr::new(ip, port))?;
    // Before any thread is started: they all inherit it. A system that refuses it makes the pages no worse.
    let _ = rustix::process::nice(NICE);
    let stop = stop_by_signals().map_err(|error| internal("listen to signals", error))?;
    let token = AccessToken::random().map_err(|error| internal("make a token", error))?;
    let guard = Guard::with_token(server.address(), token);
    let site = Site::open(flags::runs_dir(matches), scratch(), guard);
    let site = Arc::new(site.map_err(|error| internal("start a thread", error))?);
    print_link(&site.link(), ip, context);
    let pages = site.clone();
    let served = server.serve(Arc::new(move |request| pages.respond(request)), THREADS, stop);
    site.wait_for_copies(COPY_WAIT);
    served.map_err(|error| internal("serve", error))?;
    Ok(Exit::Done)
}

fn listen(address: SocketAddr) -> Result<Server, Fault> {
    Server::bind(address).map_err(|error| {
        let (why, flag) = (model::system_words(&error), if address.port() == 0 { "--bind" } else { "--port" });
        Fault::new(Exit::Refused, format!("cannot listen at `{address}`: {why}; choose another by {flag}"))
    })
}

/// Can be read as soon as a signal asks to end.
fn stop_by_signals() -> std::io::Result<PipeReader> {
    let (stop, signalled) = std::io::pipe()?;
    for signal in signals::ending_signals() {
        signal_hook::low_level::pipe::register(signal, signalled.try_clone()?)?;
    }
    Ok(stop)
}

/// Where runs that are being recorded are copied to be read: in memory if the system has a place for that, because the disk may be the one
/// that is measured.
fn scratch() -> PathBuf {
    const MEMORY: &str = "/dev/shm";
    let is_usable = tempfile::tempfile_in(MEMORY).is_ok();
    if is_usable { PathBuf::from(MEMORY) } else { std::env::temp_dir() }
}

fn print_link(link: &str, ip: IpAddr, context: &Context) {
    if !ip.is_loopback() {
        context.note(format_args!(
            "warning: other machines can reach `{ip}`, and what is sent is not encrypted; give the address only to those who may read \
             all runs"
        ));
    }
    if context.json {
        output::json::print(&json!({"schema": "plimsoll.serve/1", "url": link}))
    } else {
        output::print(&format!("{link}\n"))
    }
    context.note("open this address in a browser; Ctrl-C ends the server");
}
