//! The numbers of a run as OpenMetrics text 1.0.0
//! (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).
//!
//! In: a [`RunProgress`]. Out: text. Limits: no time stamps: a monitor takes the moment at which it asks.

use super::state::{BOUNDS_NS, KindSums, MeteredPoint, RunProgress};
use std::fmt::Write;

/// The quantiles of the last interval.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 1.0];

pub fn open_metrics(state: &RunProgress) -> String {
    let mut text = MetricsText::default();
    text.family("plimsoll_run", "info", "", "The run that is measured.");
    text.sample("plimsoll_run_info", &[("plan", &state.plan), ("version", env!("CARGO_PKG_VERSION"))], 1);
    text.family("plimsoll_points", "gauge", "", "Points of the run: planned, and complete so far.");
    text.sample("plimsoll_points", &[("state", "planned")], state.planned);
    text.sample("plimsoll_points", &[("state", "complete")], state.complete);
    if let Some(point) = &state.point {
        add_point(&mut text, point);
    }
    text.0 + "# EOF\n"
}

fn add_point(text: &mut MetricsText, point: &MeteredPoint) {
    let own = [
        ("point", point.label.as_str()),
        ("engine", &point.engine),
        ("workload", &point.workload),
        ("phase", point.phase.as_str()),
    ];
    let mut counter = |name: &str, unit: &str, help: &str, value: fn(&KindSums) -> u64| {
        text.family(name, "counter", unit, help);
        for sums in &point.sums {
            text.sample(&format!("{name}_total"), &with(&own, ("kind", &sums.kind)), value(sums));
        }
    };
    counter("plimsoll_ops", "", "Ops done in the phase of the point.", |sums| sums.ok);
    counter("plimsoll_failed_ops", "", "Ops failed in the phase of the point.", |sums| sums.failed);
    counter("plimsoll_late_ops", "", "Ops that fell due while every client was busy (open loop).", |sums| sums.late);
    counter("plimsoll_payload_bytes", "bytes", "Payload that the ops moved.", |sums| sums.bytes);
    add_histogram(text, point, &own);
    text.family("plimsoll_interval_ops_per_second", "gauge", "", "Ops per second in the last interval.");
    text.sample("plimsoll_interval_ops_per_second", &own, point.last.per_s);
    const TIMES: &str = "plimsoll_interval_response_time_seconds";
    text.family(TIMES, "gauge", "seconds", "Quantiles of the response times in the last interval; 1 is the longest.");
    for quantile in QUANTILES.iter().filter(|_| !point.last.times.is_empty()) {
        let ns = point.last.times.value_at_quantile(*quantile);
        text.sample(TIMES, &with(&own, ("quantile", &decimal(*quantile))), ns as f64 / 1e9);
    }
}

fn add_histogram(text: &mut MetricsText, point: &MeteredPoint, own: &[(&str, &str)]) {
    const NAME: &str = "plimsoll_response_time_seconds";
    text.family(NAME, "histogram", "seconds", "Response times of the ops done in the phase of the point.");
    for sums in &point.sums {
        let labels = with(own, ("kind", &sums.kind));
        let mut within = 0;
        let bounds = BOUNDS_NS.iter().map(|ns| decimal(*ns as f64 / 1e9)).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(sums.buckets) {
            within += count;
            text.sample(&format!("{NAME}_bucket"), &with(&labels, ("le", &bound)), within);
        }
        text.sample(&format!("{NAME}_count"), &labels, within);
        text.sample(&format!("{NAME}_sum"), &labels, sums.sum_ns as f64 / 1e9);
    }
}

fn with<'l>(labels: &[(&'l str, &'l str)], more: (&'l str, &'l str)) -> Vec<(&'l str, &'l str)> {
    [labels, &[more]].concat()
}

/// A number in the form that the specification asks of labels: `0.001`, `1.0`.
fn decimal(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.1}") } else { value.to_string() }
}

#[derive(Default)]
struct MetricsText(String);

impl MetricsText {
    /// What the samples after it are.
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {}", escaped(help));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }
}

/// `text` within quotes: backslash, quote and line feed are escaped; other control characters become spaces.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::label;
    use model::{Generator, IntervalRow, KindDef, KindRow, Nanos, OpClass, OpKind, Phase, PointState, Tick, Times};
    use runner::{PointEnd, RunEvent};

    fn measured(name: &str) -> RunProgress {
        let plan = plan::from_flags("file", &plan::Overrides::default(), 1.0, &runner::catalogue()).unwrap();
        let mut state = RunProgress::new(&plan, label::all(&plan));
        let mut response = Times::default();
        let recorded = [(900, 1), (1_500, 2), (3_000_000, 5), (200_000_000_000, 1)];
        recorded.into_iter().for_each(|(ns, count)| response.record_n(ns, count));
        let row = KindRow { ok: 9, failed: 1, bytes: 4_096, response, ..KindRow::empty(OpKind(1)) };
        let interval = IntervalRow {
            phase: Phase::Run,
            index: 0,
            start: Tick(0),
            length: Nanos::from_secs(1),
            kinds: vec![row],
            generator: Generator::default(),
        };
        let kinds = [KindDef::new("read", OpClass::Read), KindDef::new(name, OpClass::Write)];
        let events = [
            RunEvent::PointBegan { number: 0, trial: &plan.trials[0] },
            RunEvent::PointOpened { kinds: &kinds, sources: &[], process: model::EngineProcess::Unknown },
            RunEvent::PhaseBegan(Phase::Run),
            RunEvent::Interval { rows: std::slice::from_ref(&interval), counters: &[], events: &[], at: None },
            RunEvent::Interval { rows: std::slice::from_ref(&interval), counters: &[], events: &[], at: None },
        ];
        assert!(events.into_iter().all(|event| state.take(event)));
        state
    }

    #[test]
    fn the_sums_of_a_phase_are_counters_and_a_histogram() {
        let text = open_metrics(&measured("write"));
        let value = |start: &str, end: &str| {
            let line = text.lines().find(|line| line.starts_with(start) && line.contains(end));
            line.unwrap_or_else(|| panic!("{start} {end}: {text}")).rsplit_once(' ').unwrap().1.to_owned()
        };
        assert_eq!(value("plimsoll_ops_total", "kind=\"write\""), "18");
        assert_eq!(value("plimsoll_failed_ops_total", "kind=\"write\""), "2");
        assert_eq!(value("plimsoll_ops_total", "kind=\"read\""), "0");
        let bucket = |le: &str| value("plimsoll_response_time_seconds_bucket", &format!("kind=\"write\",le=\"{le}\""));
        assert_eq!(
            ["0.000001", "0.000002", "0.001", "0.005", "100.0", "+Inf"].map(bucket),
            ["2", "6", "6", "16", "16", "18"]
        );
        assert_eq!(value("plimsoll_response_time_seconds_count", "kind=\"write\""), "18");
        assert_eq!(value("plimsoll_interval_response_time_seconds", "quantile=\"1.0\""), "200");
        assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1);
    }

    #[test]
    fn another_phase_begins_from_nothing_and_points_are_counted() {
        let mut state = measured("write");
        state.take(RunEvent::PhaseBegan(Phase::Cleanup));
        let text = open_metrics(&state);
        assert!(!text.contains("phase=\"run\"") && !text.contains("_total{"), "{text}");
        let end = PointEnd::Recorded(PointState::Complete);
        state.take(RunEvent::PointEnded { point: None, end, is_continued: false });
        assert!(open_metrics(&state).contains("plimsoll_points{state=\"complete\"} 1\n"));
    }

    #[test]
    fn a_name_stays_within_its_quotes_and_its_line() {
        let text = open_metrics(&measured("a\"} 1\nb\\\u{1b}"));
        assert!(text.contains("kind=\"a\\\"} 1\\nb\\\\ \""), "{text}");
    }
}
