//! Metrics of a run while it is measured, read as Prometheus reads them.

use crate::lab::{Lab, NULL, wait_until};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};

/// A run whose metrics are served.
struct Measured {
    child: Child,
    address: String,
    /// Kept, so that the run can go on to write to it.
    _stderr: BufReader<std::process::ChildStderr>,
}

fn measure(lab: &Lab) -> Measured {
    let arguments =
        [NULL, &["--clients", "2", "--think", "2ms", "--time", "600s", "--metrics", "127.0.0.1:0"]].concat();
    let mut child = lab.command(&arguments).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("metrics: ") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended without an address");
    }
    let address = line.trim().rsplit_once("http://").unwrap().1.strip_suffix("/metrics").unwrap().to_owned();
    Measured { child, address, _stderr: stderr }
}

impl Measured {
    fn ask(&self, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn scrape(&self) -> Scrape {
        let answer = self.ask("/metrics", &self.address);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
        Scrape::parse(body)
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The samples of one answer: name and labels, and the value.
struct Scrape(BTreeMap<(String, BTreeMap<String, String>), f64>);

impl Scrape {
    /// Reads every line, and takes none that the specification does not have.
    fn parse(body: &str) -> Scrape {
        assert!(body.ends_with("\n# EOF\n"), "{body}");
        let mut samples = BTreeMap::new();
        let (mut family, mut kind, mut seen) = (String::new(), String::new(), BTreeSet::new());
        for line in body.lines().take_while(|line| *line != "# EOF") {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            match words.as_slice() {
                ["#", "TYPE", name, of] => {
                    assert!(["info", "gauge", "counter", "histogram"].contains(of), "{line}");
                    assert!(seen.insert((*name).to_owned()), "a family comes once: {line}");
                    (family, kind) = ((*name).to_owned(), (*of).to_owned());
                }
                ["#", "UNIT", name, unit] => assert!(*name == family && name.ends_with(&format!("_{unit}")), "{line}"),
                ["#", "HELP", name, _] => assert_eq!(*name, family),
                _ => {
                    let (name, labels, value) = sample(line);
                    let suffixes: &[&str] = match kind.as_str() {
                        "info" => &["_info"],
                        "counter" => &["_total"],
                        "histogram" => &["_bucket", "_count", "_sum"],
                        _ => &[""],
                    };
                    assert!(suffixes.iter().any(|suffix| name == format!("{family}{suffix}")), "{line}");
                    assert!(samples.insert((name, labels), value).is_none(), "a sample comes once: {line}");
                }
            }
        }
        assert_eq!(body.matches("# EOF").count(), 1);
        Scrape(samples)
    }

    /// The values of the samples of `name` whose labels have all of `labels`.
    fn values(&self, name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
        let fits = |own: &BTreeMap<String, String>| {
            labels.iter().all(|(key, value)| own.get(*key).is_some_and(|own| own == value))
        };
        self.0.iter().filter(|((known, own), _)| known == name && fits(own)).map(|(_, value)| *value).collect()
    }

    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.values(name, labels).iter().sum()
    }
}

/// `name{key="value",...} number`.
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("{line}"));
    let (labels, value) = rest.rsplit_once("} ").unwrap_or_else(|| panic!("{line}"));
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{line}");
    let pairs = labels.split("\",").map(|pair| {
        let (key, value) = pair.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        (key.to_owned(), value.trim_end_matches('"').to_owned())
    });
    (name.to_owned(), pairs.collect(), value.parse().unwrap_or_else(|_| panic!("{line}")))
}

#[test]
fn a_run_has_metrics_that_grow_while_it_is_measured() {
    let lab = Lab::new();
    let run = measure(&lab);
    let of_run = [("engine", "null"), ("workload", "file"), ("phase", "run")];
    wait_until("ops of the run phase", || run.scrape().sum("plimsoll_ops_total", &of_run) > 0.0);
    let before = run.scrape();
    wait_until("more ops", || {
        run.scrape().sum("plimsoll_ops_total", &of_run) > before.sum("plimsoll_ops_total", &of_run)
    });
    let scrape = run.scrape();
    assert_eq!(scrape.values("plimsoll_points", &[("state", "planned")]), [1.0]);
    assert_eq!(scrape.values("plimsoll_points", &[("state", "complete")]), [0.0]);
    assert_eq!(scrape.sum("plimsoll_failed_ops_total", &of_run), 0.0);
    let ops = scrape.sum("plimsoll_ops_total", &of_run);
    assert_eq!(scrape.sum("plimsoll_response_time_seconds_count", &of_run), ops);
    let within = |bound: &str| scrape.sum("plimsoll_response_time_seconds_bucket", &[("le", bound)]);
    // The engine takes 100 us for each.
    assert_eq!((within("0.00005"), within("+Inf")), (0.0, ops));
    assert!(within("10.0") <= ops && within("0.001") <= within("10.0"));
    assert!(scrape.sum("plimsoll_response_time_seconds_sum", &of_run) >= 0.0001 * ops);
    let quantile = |q: &str| scrape.sum("plimsoll_interval_response_time_seconds", &[("quantile", q)]);
    // A quantile is the middle of its class, whose width is less than a hundredth of it.
    assert!(quantile("0.5") >= 0.000099 && quantile("1.0") >= quantile("0.99") && quantile("0.99") >= quantile("0.5"));
    assert!(scrape.sum("plimsoll_interval_ops_per_second", &of_run) > 0.0);

    assert!(run.ask("/", &run.address).starts_with("HTTP/1.1 404 "));
    assert!(run.ask("/metrics", "evil.example").starts_with("HTTP/1.1 421 "));
}

#[test]
fn viewers_that_never_read_do_not_end_a_run() {
    let lab = Lab::new();
    let mut run = measure(&lab);
    lab.wait_for_load(&mut run.child, 1);
    let mut dead: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(&run.address).unwrap()).collect();
    dead.iter_mut().take(5).for_each(|stream| stream.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap());
    let before = lab.intervals(1, "run");
    lab.wait_for_load(&mut run.child, before + 5);
    assert!(run.scrape().sum("plimsoll_ops_total", &[]) > 0.0, "others are answered");
    Command::new("kill").args(["-s", "INT", &run.child.id().to_string()]).status().unwrap();
    assert_eq!(run.child.wait().unwrap().code(), Some(130));
    assert!(TcpStream::connect(&run.address).is_err(), "the metrics end with the run");
}

#[test]
fn metrics_are_for_this_machine_only_and_an_address_in_use_stops_before_anything_is_measured() {
    let lab = Lab::new();
    let refused = |address: &str| {
        let finished = lab.run(&[NULL, &["--time", "300ms", "--metrics", address]].concat());
        (finished.exit, finished.stderr)
    };
    for address in ["0.0.0.0:9184", "[::]:9184", "10.0.0.1:9184", "9184", "localhost"] {
        let (exit, stderr) = refused(address);
        assert!(exit == 2 && stderr.contains("--metrics cannot be") && stderr.lines().count() == 1, "{stderr}");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (exit, stderr) = refused(&listener.local_addr().unwrap().to_string());
    assert!(exit == 3 && stderr.contains("cannot serve metrics at"), "{exit}: {stderr}");
    assert_eq!(lab.run_files().len(), 0);
}
