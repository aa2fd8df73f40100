//! Serving: the list of runs, search, reports, comparisons, a run that grows, and those who may see none of it.

use crate::lab::{CALM, Lab, NULL, RecordedRuns, WAITS_AT_MOST, wait_until};
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::Duration;

/// A server of the runs of a lab, ended with it.
pub struct Served {
    child: Child,
    address: String,
    token: String,
}

impl Served {
    pub fn start(lab: &Lab, arguments: &[&str]) -> Served {
        let mut child = lab.command(&[&["serve", "--quiet"], arguments].concat()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        Served { address: address.to_owned(), token: token.to_owned(), child }
    }

    /// The answer to these bytes, whole.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(WAITS_AT_MOST)).unwrap();
        // Who is refused need not be read whole.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("no answer: {error}"),
            _ => String::from_utf8(answer).unwrap(),
        }
    }

    fn ask_with(&self, path: &str, headers: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\n{headers}\r\n"))
    }

    /// A page, with the cookie that a browser has.
    fn get(&self, path: &str) -> String {
        let port = self.address.rsplit_once(':').unwrap().1;
        self.ask_with(path, &format!("Host: {}\r\nCookie: plimsoll-{port}={}\r\n", self.address, self.token))
    }

    /// The body of a page that must be there.
    pub fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// The list as soon as every run has been read.
    fn list(&self, query: &str) -> String {
        let mut page = String::new();
        wait_until("the end of reading", || {
            page = self.page(&format!("/?{query}"));
            !page.contains("still being read")
        });
        page
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_status(answer: &str, status: u16) -> bool {
    answer.starts_with(&format!("HTTP/1.1 {status} "))
}

/// Two finished runs and the names of their files without the extension.
fn two_runs(lab: &Lab) -> [String; 2] {
    static RECORDED: OnceLock<(RecordedRuns, [String; 2])> = OnceLock::new();
    let (runs, names) = RECORDED.get_or_init(|| {
        let lab = Lab::new();
        let names = [&["--clients", "1"], &["--clients", "1,2"]].map(|clients| name_of_run(&lab, clients));
        (RecordedRuns::of(&lab), names)
    });
    runs.copy_into(lab);
    names.clone()
}

/// Measures for a moment, and gives the name of the run.
fn name_of_run(lab: &Lab, clients: &[&str]) -> String {
    let run = lab.json(&[NULL, &["--time", "500ms"], clients].concat());
    std::path::Path::new(run["run"].as_str().unwrap()).file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn runs_are_listed_searched_shown_and_compared() {
    let lab = Lab::new();
    let [first, second] = two_runs(&lab);
    let served = Served::start(&lab, &[]);
    let list = served.list("");
    for name in [&first, &second] {
        assert!(list.contains(&format!("<a href=\"/run/{name}\">{name}</a>")), "{list}");
    }
    // Of two runs of one second the name of one begins with that of the other.
    let row_of = |name: &str| list.find(&format!("/run/{name}\"")).expect("it is in the list");
    assert!(row_of(&second) < row_of(&first), "the newest first: {list}");
    assert!(list.contains("data-head=\"engines\">null<") && list.contains("data-head=\"points\">2<"), "{list}");
    assert!(!list.contains("class=\"answer small\"></td>"), "each has a verdict: {list}");
    assert_eq!(served.list("engine=null&workload=file").matches("<tr><td class=\"tick\">").count(), 2);
    assert_eq!(served.list("engine=sqlite").matches("<tr><td class=\"tick\">").count(), 0);
    assert_eq!(served.list(&format!("q={}", &second[..15])).matches(&format!("/run/{second}")).count(), 1);
    assert_eq!(served.list("validity=cannot+be+read").matches("<tr><td class=\"tick\">").count(), 0);

    let report = served.page(&format!("/run/{first}"));
    assert!(report.contains("<h2>Conditions</h2>") && report.contains("<a href=\"/\">All runs</a>"));
    assert_eq!(report, served.page(&format!("/run/{first}")), "the same from memory");
    let compared = served.page(&format!("/compare?run={second}&run={first}"));
    assert!(compared.contains(&format!("<h1>{second} against {first}</h1>")), "the oldest is the base");
    assert!(is_status(&served.get(&format!("/compare?run={first}&run={first}")), 400), "one run is no comparison");
    assert!(is_status(&served.get(&format!("/compare?run={first}&run=none")), 404));
}

#[test]
fn the_printed_address_opens_the_list_and_leaves_a_cookie() {
    let lab = Lab::new();
    let served = Served::start(&lab, &[]);
    let answer = served.ask_with(&format!("/?token={}", served.token), &format!("Host: {}\r\n", served.address));
    assert!(is_status(&answer, 200) && answer.contains("There are no runs in this directory yet"), "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert!(is_status(&served.ask_with("/", &format!("Host: {}\r\nCookie: {pair}\r\n", served.address)), 200));
    for header in
        ["Content-Security-Policy: default-src 'none'", "X-Frame-Options: DENY", "Referrer-Policy: no-referrer"]
    {
        assert!(answer.contains(header), "{header}");
    }
    assert!(lab.path().join("plimsoll-runs").metadata().is_err(), "nothing was written");
}

#[test]
fn strangers_see_nothing() {
    let lab = Lab::new();
    let [run, _] = two_runs(&lab);
    let served = Served::start(&lab, &[]);
    let host = format!("Host: {}\r\n", served.address);
    let port = served.address.rsplit_once(':').unwrap().1;
    let cookie = format!("Cookie: plimsoll-{port}={}\r\n", served.token);
    for path in ["/".to_owned(), format!("/run/{run}"), "/?token=".to_owned(), format!("/?token={}0", served.token)] {
        let answer = served.ask_with(&path, &host);
        assert!(is_status(&answer, 403) && !answer.contains(&run), "{path}: {answer}");
    }
    let wrong = served.token.replace(|c: char| c.is_ascii_digit(), "f").replace(|c: char| c != 'f', "0");
    assert!(is_status(&served.ask_with(&format!("/?token={wrong}"), &host), 403));
    for other in ["Host: evil.example\r\n".to_owned(), format!("Host: evil.example:{port}\r\n"), String::new()] {
        assert!(is_status(&served.ask_with("/", &(other + &cookie)), 421));
    }
    assert!(is_status(&served.ask_with("/", &format!("Host: localhost:{port}\r\n{cookie}")), 200));
    assert!(is_status(&served.ask(&format!("POST / HTTP/1.1\r\n{host}{cookie}Content-Length: 1\r\n\r\nx")), 405));
    assert!(is_status(
        &served.ask(&format!("GET / HTTP/1.1\r\n{host}{cookie}X: {}\r\n\r\n", "x".repeat(1 << 20))),
        431
    ));
    assert!(is_status(&served.ask(&format!("GET /{} HTTP/1.1\r\n{host}{cookie}\r\n", "x".repeat(9_000))), 414));
}

#[test]
fn nothing_outside_of_the_directory_can_be_reached() {
    let lab = Lab::new();
    let [run, _] = two_runs(&lab);
    let file = lab.path().join("plimsoll-runs").join(format!("{run}.plimsoll"));
    std::fs::copy(&file, lab.path().join("outside.plimsoll")).unwrap();
    std::os::unix::fs::symlink(lab.path().join("outside.plimsoll"), file.with_file_name("link.plimsoll")).unwrap();
    let served = Served::start(&lab, &[]);
    for path in [
        "/run/../outside",
        "/run/..%2foutside",
        "/run/%2e%2e%2foutside.plimsoll",
        "/run/..%5coutside",
        "/../../../../etc/passwd",
        "/run/%2fetc%2fpasswd",
        "/run/",
        "/compare?run=..%252foutside&run=..%252foutside.plimsoll",
    ] {
        let answer = served.get(path);
        assert!(is_status(&answer, 404), "{path}: {answer}");
    }
    let linked = served.get("/run/link");
    assert!(is_status(&linked, 422) && linked.contains("symbolic link"), "{linked}");
    assert!(served.list("").contains("it is a symbolic link, which is not followed"));
}

#[test]
fn a_slow_client_holds_up_no_other() {
    let lab = Lab::new();
    let served = Served::start(&lab, &[]);
    let mut slow: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    slow.iter_mut().for_each(|stream| stream.write_all(b"GET / HTTP/1.1\r\nHo").unwrap());
    assert!(served.page("/").contains("<h1>Runs</h1>"));
    let mut answer = String::new();
    slow[0].set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    slow[0].read_to_string(&mut answer).unwrap();
    assert!(is_status(&answer, 408), "{answer}");
}

/// Names of files and texts of plans come from others.
#[test]
fn a_corrupt_run_is_a_row_with_its_reason_and_no_name_becomes_markup() {
    const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&{{7*7}}%41 \u{1b}[2J";
    let lab = Lab::new();
    let [run, damaged] = two_runs(&lab);
    let runs = lab.path().join("plimsoll-runs");
    let file = |name: &str| runs.join(format!("{name}.plimsoll"));
    std::fs::write(file(HOSTILE), "no run").unwrap();
    std::fs::write(file("empty"), "").unwrap();
    let bytes = std::fs::read(file(&damaged)).unwrap();
    std::fs::write(file(&damaged), &bytes[..bytes.len() / 2]).unwrap();
    let db = rusqlite::Connection::open(file(&run)).unwrap();
    let title = "UPDATE meta SET value = json_replace(value, '$.title', ?1) WHERE key = 'plan'";
    assert_eq!(db.execute(title, ["</td><script>alert(1)</script>"]).unwrap(), 1);
    drop(db);
    let served = Served::start(&lab, &[]);
    let list = served.list("");
    for reason in ["it is not an SQLite database", "it is empty", "it is truncated"] {
        assert!(list.contains(reason), "{reason}: {list}");
    }
    assert_eq!(list.matches("<tr><td class=\"tick\">").count(), 4);
    for bad in ["<img", "<script>alert", "{{7*7}}\u{1b}", "\u{1b}", ">49<"] {
        assert!(!list.contains(bad), "{bad}: {list}");
    }
    assert!(list.contains("&lt;script&gt;alert(1)"), "the title is there, as text: {list}");
    // The link of the hostile name leads to its reason.
    let start = list.find("/run/%3Cimg").expect("its link");
    let link = &list[start..start + list[start..].find('"').unwrap()];
    let page = served.get(link);
    assert!(is_status(&page, 422) && page.contains("not an SQLite database") && !page.contains("<img"), "{page}");
    assert!(is_status(&served.get(&format!("/run/{run}")), 200), "the others are shown");
    assert_eq!(served.list("validity=cannot+be+read").matches("<tr><td class=\"tick\">").count(), 3);
}

#[test]
fn a_run_that_is_being_recorded_grows_and_becomes_its_report() {
    let lab = Lab::new();
    let mut recorder = lab.command(&[CALM, &["--clients", "1,2", "--time", "600s"]].concat()).spawn().unwrap();
    lab.wait_for_load(&mut recorder, 3);
    let served = Served::start(&lab, &[]);
    let mut list = String::new();
    wait_until("the run in the list", || {
        list = served.page("/");
        list.contains("being recorded</span>")
    });
    assert!(list.contains("data-head=\"points\">0 of 2<") && list.contains("data-changing"), "{list}");
    let name = lab.run_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let live = || -> Value { serde_json::from_str(&served.page(&format!("/run/{name}/live.json"))).unwrap() };
    let page = served.page(&format!("/run/{name}"));
    assert!(
        page.contains("being recorded") && page.contains("point 1 of 2: ") && page.contains("<noscript>"),
        "{page}"
    );
    let before = live();
    assert!(!before["trends"][0]["line"].as_str().unwrap().is_empty(), "{before}");
    wait_until("new intervals", || live()["figures"] != before["figures"]);
    Command::new("kill").args(["-s", "INT", &recorder.id().to_string()]).status().unwrap();
    recorder.wait().unwrap();
    assert_eq!(live()["is_over"], true);
    let report = served.page(&format!("/run/{name}"));
    assert!(report.contains("<h2>Conditions</h2>"), "the report of what was measured");
    assert!(served.list("").contains("data-head=\"points\">0 of 2<"));
}

#[test]
fn the_server_ends_by_a_signal_and_leaves_nothing() {
    let lab = Lab::new();
    let mut served = Served::start(&lab, &[]);
    assert!(is_status(&served.get("/"), 200));
    Command::new("kill").args(["-s", "TERM", &served.child.id().to_string()]).status().unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert_eq!(lab.left_behind(), Vec::<String>::new());
}

#[test]
fn an_address_for_others_is_given_and_warned_of() {
    let lab = Lab::new();
    let refused = lab.run(&["serve", "--bind", "203.0.113.7"]);
    assert_eq!(refused.exit, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot listen at `203.0.113.7:0`") && refused.stderr.contains("--bind"));
    assert_eq!(lab.run(&["serve", "--port", "70000"]).exit, 2);
    let mut child = lab.command(&["serve", "--bind", "0.0.0.0", "--json"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap();
    let ended = child.wait_with_output().unwrap();
    let printed: Value = serde_json::from_str(&line).unwrap();
    assert!(printed["url"].as_str().unwrap().starts_with("http://0.0.0.0:"), "{line}");
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert!(stderr.contains("warning: other machines can reach `0.0.0.0`"), "{stderr}");
}
