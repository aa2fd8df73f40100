//! The numbers as CSV: one row per point, one row per interval.
//!
//! In: an analysis. Out: text with a header line, all digits, units in the names. Limits: a value that could not be measured
//! is an empty field, never 0. Texts that a spreadsheet would take for formulas begin with `'`.

use crate::escape;
use crate::inserts::FIELDS;
use crate::wording::label::{list_settings, point_label};
use crate::wording::written::account_name;
use analysis::{Analysis, BackgroundSummary, IntervalPoint, PointAnalysis, Quantiles, Summary, WriteAccounts};

const POINT_HEADER: &str = "point,label,engine,workload,clients,depth,repeat,params,state,validity,findings,seconds,ops,failed,\
late,unserved,offered_per_s,ops_per_s,ops_per_s_low95,ops_per_s_high95,bytes_per_s,\
response_mean_ns,response_p50_ns,response_p95_ns,response_p99_ns,response_p999_ns,response_max_ns,\
service_mean_ns,service_p50_ns,service_p95_ns,service_p99_ns,service_p999_ns,service_max_ns,\
worst_at_s,worst_length_s,worst_ops_per_s,client_cpu_ns_per_op,client_cpu_user_ns_per_op,\
read_bytes_per_op,written_bytes_per_op,written_account,written_by_process_bytes,written_by_device_bytes,\
written_by_others_bytes,written_by_engine_bytes,engine_cpu_ns_per_op,context_switches_per_op,\
success_rate,queries_per_s,queries_per_s_low95,queries_per_s_high95,rows_per_s,rows_per_s_low95,rows_per_s_high95,\
read_bytes_per_query,written_bytes_per_query,engine_cpu_ns_per_query,context_switches_per_query,client_cpu_ns_per_query,\
background_asked_per_s,background_ops_per_s,background_ops_per_s_low95,background_ops_per_s_high95,background_rows_per_s,\
background_failed,background_late,background_unserved,background_response_p50_ns,background_response_p99_ns,background_response_max_ns";

const SUMMARY_FIELDS: usize = 59;

/// One row per point.
pub fn points_csv(analysis: &Analysis) -> String {
    let costs: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
    let mut out = format!("{POINT_HEADER},{}\n", costs.join(","));
    for point in &analysis.points {
        let mut fields = identity(point);
        fields.extend(match &point.summary {
            Some(summary) => numbers(summary),
            None => vec![String::new(); SUMMARY_FIELDS],
        });
        fields.extend(FIELDS.iter().map(|(_, value)| float(point.inserts.as_ref().and_then(value))));
        out.push_str(&fields.join(","));
        out.push('\n');
    }
    out
}

fn identity(point: &PointAnalysis) -> Vec<String> {
    let params: Vec<String> = list_settings(point).iter().map(|(name, one)| format!("{name}={}", one.text)).collect();
    let codes: Vec<&str> = point.findings.iter().map(|f| f.code().as_str()).collect();
    vec![
        point.id.to_string(),
        escape::csv(&point_label(point)),
        escape::csv(&point.engine),
        escape::csv(&point.workload),
        point.clients.to_string(),
        point.depth.to_string(),
        point.repeat.to_string(),
        escape::csv(&params.join(" ")),
        point.state.as_str().to_owned(),
        point.validity.as_str().to_owned(),
        escape::csv(&codes.join(" ")),
    ]
}

fn numbers(s: &Summary) -> Vec<String> {
    let mut fields = vec![float(Some(s.seconds))];
    fields.extend([s.ops, s.failed, s.late, s.unserved].map(|n| n.to_string()));
    let ci = |i: usize| s.ops_per_s_ci95.map(|ci| ci[i]);
    fields.extend([s.offered_per_s, Some(s.ops_per_s), ci(0), ci(1), Some(s.bytes_per_s)].map(float));
    fields.extend(quantiles(s.response_ns));
    fields.extend(quantiles(s.service_ns));
    fields.extend([s.worst.map(|w| w.at_s), s.worst.map(|w| w.length_s), s.worst.map(|w| w.ops_per_s)].map(float));
    fields.extend([s.client.cpu_ns_per_op, s.client.cpu_user_ns_per_op].map(float));
    let c = s.cost;
    fields.extend([c.read_bytes_per_op, c.written_bytes_per_op].map(float));
    fields.push(c.written_account.map_or("", account_name).to_owned());
    let WriteAccounts { process_bytes, device_bytes, others_bytes, engine_bytes } = c.written_accounts;
    fields.extend([process_bytes, device_bytes, others_bytes, engine_bytes].map(float));
    fields.extend([c.engine_cpu_ns_per_op, c.context_switches_per_op].map(float));
    fields.extend(amounts(s));
    fields.extend(background_fields(s.background.as_ref()));
    fields
}

/// Queries and rows, and what a query cost.
fn amounts(s: &Summary) -> Vec<String> {
    let (queries, rows, c) = (s.queries_per_s_ci95, s.rows_per_s_ci95, s.cost_per_query);
    let [queries_low, queries_high] = [0, 1].map(|i| queries.map(|ci| ci[i]));
    let [rows_low, rows_high] = [0, 1].map(|i| rows.map(|ci| ci[i]));
    let rates = [s.success_rate, Some(s.queries_per_s), queries_low, queries_high, s.rows_per_s, rows_low, rows_high];
    let reads_and_writes = [c.read_bytes_per_query, c.written_bytes_per_query];
    let rest = [c.engine_cpu_ns_per_query, c.context_switches_per_query, c.client_cpu_ns_per_query];
    rates.into_iter().chain(reads_and_writes).chain(rest).map(float).collect()
}

fn background_fields(background: Option<&BackgroundSummary>) -> Vec<String> {
    let Some(b) = background else { return vec![String::new(); 11] };
    let [low, high] = [0, 1].map(|i| b.ops_per_s_ci95.map(|ci| ci[i]));
    let rates = [Some(b.asked_per_s), Some(b.ops_per_s), low, high, b.rows_per_s].map(float);
    let times: [fn(Quantiles) -> u64; 3] = [|q| q.p50, |q| q.p99, |q| q.max];
    let times = times.map(|time| b.response_ns.map(|q| time(q).to_string()).unwrap_or_default());
    rates.into_iter().chain([b.failed, b.late, b.unserved].map(|n| n.to_string())).chain(times).collect()
}

fn quantiles(q: Option<Quantiles>) -> Vec<String> {
    let Some(q) = q else { return vec![String::new(); 6] };
    let exact = [q.p50, q.p95, q.p99, q.p999, q.max].map(|ns| ns.to_string());
    [float(Some(q.mean))].into_iter().chain(exact).collect()
}

/// One row per interval of warmup and run.
pub fn intervals_csv(analysis: &Analysis) -> String {
    let mut out = "point,label,phase,at_s,length_s,ops_per_s,bytes_per_s,p50_ns,p95_ns,p99_ns,max_ns\n".to_owned();
    for point in &analysis.points {
        let label = escape::csv(&point_label(point));
        for interval in point.series.iter().flat_map(|s| &s.intervals) {
            out.push_str(&format!("{},{label},{}\n", point.id, interval_fields(interval)));
        }
    }
    out
}

fn interval_fields(i: &IntervalPoint) -> String {
    let phase = if i.at_s < 0.0 { "warmup" } else { "run" };
    let rates = [i.at_s, i.length_s, i.ops_per_s, i.bytes_per_s].map(|v| float(Some(v)));
    let times = [i.p50_ns, i.p95_ns, i.p99_ns, i.max_ns].map(|t| t.map(|ns| ns.to_string()).unwrap_or_default());
    format!("{phase},{},{}", rates.join(","), times.join(","))
}

fn float(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map(|v| v.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{background_500, damaged, inserts, quick};

    /// Fields of a line, with quotes understood.
    fn fields(line: &str) -> usize {
        let mut quoted = false;
        1 + line
            .chars()
            .filter(|c| {
                quoted ^= *c == '"';
                *c == ',' && !quoted
            })
            .count()
    }

    #[test]
    fn every_row_has_as_many_fields_as_the_header_whatever_the_texts() {
        for (what, analysis) in damaged() {
            for csv in [points_csv(&analysis), intervals_csv(&analysis)] {
                let wanted = fields(csv.lines().next().unwrap());
                assert!(csv.lines().all(|l| fields(l) == wanted), "{what}: {csv}");
            }
        }
    }

    #[test]
    fn points_and_intervals_are_all_there() {
        let analysis = quick();
        assert_eq!(points_csv(&analysis).lines().count(), 14);
        assert_eq!(intervals_csv(&analysis).lines().count(), 1 + 13 * 20);
        let first = intervals_csv(&analysis).lines().nth(1).unwrap().to_owned();
        assert!(first.starts_with("1,file rndrd depth 1,warmup,-1,0.25,"), "{first}");
    }

    #[test]
    fn what_an_insert_cost_stands_behind_the_other_numbers() {
        let csv = points_csv(&inserts());
        let [head, first, second, ..] = csv.lines().collect::<Vec<_>>()[..] else { panic!("{csv}") };
        let value = |line: &str, name: &str| {
            let place = head.split(',').position(|field| field == name).unwrap();
            line.rsplit(',').nth(head.split(',').count() - 1 - place).unwrap().to_owned()
        };
        assert_eq!(value(first, "written_bytes_per_insert"), "10080");
        assert_eq!(
            (value(second, "pending_bytes"), value(first, "memory_per_cache")),
            (String::new(), "96".to_owned())
        );
    }

    #[test]
    fn what_was_not_measured_is_empty_and_not_zero() {
        let mut analysis = quick();
        analysis.points[0].summary.as_mut().unwrap().cost = Default::default();
        let csv = points_csv(&analysis);
        let costs = ["read_bytes_per_op", "written_account", "engine_cpu_ns_per_op", "context_switches_per_op"];
        assert_eq!(costs.map(|name| field(&csv, name)), ["", "", "", ""], "{csv}");
    }

    /// What the first point has in the column `name`. No text of the quick run has a comma.
    fn field<'a>(csv: &'a str, name: &str) -> &'a str {
        let mut lines = csv.lines().map(|line| line.split(','));
        let place = lines.next().unwrap().position(|head| head == name).unwrap();
        lines.next().unwrap().nth(place).unwrap()
    }

    #[test]
    fn the_rate_asked_of_background_clients_is_next_to_the_rate_reached() {
        let mut analysis = quick();
        assert_eq!(field(&points_csv(&analysis), "background_asked_per_s"), "");
        analysis.points[0].summary.as_mut().unwrap().background = Some(background_500());
        let csv = points_csv(&analysis);
        let names =
            ["background_asked_per_s", "background_ops_per_s", "background_rows_per_s", "background_response_p99_ns"];
        assert_eq!(names.map(|name| field(&csv, name)), ["500", "498", "2490", "12000000"]);
    }
}
