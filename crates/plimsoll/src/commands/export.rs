//! `plimsoll export RUN`: the numbers of a recorded run for other programs.

use super::list;
use crate::context::Context;
use crate::exit::{Exit, Fault};
use crate::output;
use clap::{Arg, ArgMatches, Command};

pub fn clap() -> Command {
    let format =
        Arg::new("format").long("format").value_name("FORMAT").value_parser(["csv", "jsonl"]).default_value("csv");
    let what = Arg::new("what")
        .long("what")
        .value_name("WHAT")
        .value_parser(["points", "intervals", "statements", "endpoints", "hosts"])
        .default_value("points");
    list::run_arguments(Command::new("export"))
        .arg(format.help("CSV with a header, or one JSON object per line"))
        .arg(
            what.help(
                "One line per point, per interval of each point, or of points with several per kind of operation, endpoint or host",
            ),
        )
        .about("Print the numbers of a recorded run as CSV or JSON lines")
}

pub fn execute(matches: &ArgMatches, context: &Context) -> Result<Exit, Fault> {
    let word = |name| matches.get_one::<String>(name).expect("it has a default").as_str();
    let run = store::read(&list::run_file(matches)?)?;
    let analysis = analysis::analyse(&run);
    if context.json {
        return Err(Fault::usage(
            "export does not take --json: use `--format jsonl`, or `plimsoll show RUN --json` for one object",
        ));
    }
    output::print(&match (word("format"), word("what")) {
        ("csv", "points") => report::points_csv(&analysis),
        ("csv", "statements") => report::statements_csv(&analysis),
        ("csv", "endpoints") => report::endpoints_csv(&analysis),
        ("csv", "hosts") => report::hosts_csv(&analysis),
        ("csv", _) => report::intervals_csv(&analysis),
        (_, "points") => {
            lines(output::json::with_data(&analysis, &run).map(|(point, data)| output::json::point(point, &data.trial)))
        }
        (_, "statements") => lines(analysis.points.iter().flat_map(statements)),
        (_, "endpoints") => lines(analysis.points.iter().flat_map(endpoints)),
        (_, "hosts") => lines(analysis.points.iter().flat_map(hosts)),
        _ => lines(analysis.points.iter().flat_map(intervals)),
    });
    Ok(Exit::Done)
}

fn lines(values: impl Iterator<Item = serde_json::Value>) -> String {
    values.map(|value| format!("{value}\n")).collect()
}

fn endpoints(point: &analysis::PointAnalysis) -> Vec<serde_json::Value> {
    let line = |one: &analysis::EndpointSummary| {
        let mut all = serde_json::json!(one);
        all["point"] = point.id.into();
        all
    };
    point.endpoints.iter().map(line).collect()
}

fn hosts(point: &analysis::PointAnalysis) -> Vec<serde_json::Value> {
    let line = |one: &analysis::HostSummary| {
        let mut all = serde_json::json!(one);
        all["point"] = point.id.into();
        all
    };
    point.hosts.iter().map(line).collect()
}

fn statements(point: &analysis::PointAnalysis) -> Vec<serde_json::Value> {
    let line = |kind: &analysis::StatementSummary| {
        let mut all = serde_json::json!(kind);
        all["point"] = point.id.into();
        all
    };
    point.several_statements().iter().map(line).collect()
}

fn intervals(point: &analysis::PointAnalysis) -> Vec<serde_json::Value> {
    let intervals = point.series.iter().flat_map(|series| &series.intervals);
    let line = |interval: &analysis::IntervalPoint| {
        serde_json::json!({
            "point": point.id, "at_s": interval.at_s, "length_s": interval.length_s, "ops_per_s": interval.ops_per_s,
            "bytes_per_s": interval.bytes_per_s, "response_p50_ns": interval.p50_ns, "response_p95_ns": interval.p95_ns,
            "response_p99_ns": interval.p99_ns, "response_max_ns": interval.max_ns,
        })
    };
    intervals.map(line).collect()
}
