//! The recipes by which others start agents: the script is run as it is, and the files for systemd and Kubernetes ask for what plimsoll
//! has.
//!
//! In: the files in `packaging`; `redis-server` and `systemd-analyze`. Limits: ssh, Slurm, Open MPI and Kubernetes are not started here.

use crate::lab::{Finished, Lab};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PLAN: &str =
    "name = \"hosts\"\nengine = \"null\"\nservice = \"1ms\"\nworkload = \"file\"\nclients = 4\ntime = \"1s\"\n";

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// Whether the program is installed. If it is not, the test names it and ends.
fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).stdout(Stdio::null()).status();
    let is_there = found.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: {program} is not installed");
    }
    is_there
}

/// `program` in the directory of `lab`, with plimsoll on its PATH.
fn with_plimsoll(lab: &Lab, program: &Path) -> Command {
    let bin = lab.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let _ = symlink(env!("CARGO_BIN_EXE_plimsoll"), bin.join("plimsoll")); // it may be there
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(program);
    command.current_dir(lab.path()).env("PATH", path).env("TMPDIR", lab.path()).stdin(Stdio::null());
    command
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn the_commands_of_the_guide_run_as_they_are() {
    if !is_installed("redis-server") {
        return;
    }
    let (lab, port) = (Lab::new(), free_port());
    let guide = recipe("../docs/guide/many-hosts.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let commands = guide.split("```\n").nth(1).unwrap();
    assert!(commands.contains("7379") && commands.contains("--time 10s"), "{commands}");
    // Another port, because others use that one, and less time.
    let commands = commands.replace("7379", &port.to_string()).replace("--time 10s", "--time 1s");
    // They make a directory of their own, in which the run is.
    let commands = commands + "plimsoll show last --details\n";
    let measured: Finished =
        with_plimsoll(&lab, Path::new("sh")).args(["-e", "-c", &commands]).output().unwrap().into();
    assert_eq!(measured.exit, 0, "{}", measured.stderr);
    let words: Vec<&str> = measured.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("All operations succeeded"), "{}", measured.stdout);
    assert!(measured.stderr.contains("agents: c1, c2"), "{}", measured.stderr);
}

#[test]
fn the_script_starts_bus_agents_and_run_and_leaves_nothing_behind() {
    if !is_installed("redis-server") {
        return;
    }
    let (lab, port) = (Lab::new(), free_port());
    std::fs::write(lab.path().join("plan.toml"), PLAN).unwrap();
    let run = |plan: &str| -> Finished {
        let mut script = with_plimsoll(&lab, &recipe("hosts.sh"));
        script.args(["here", plan, "2"]).env("BUS_PORT", port.to_string());
        script.env("RUN_FLAGS", "--json --no-report").env("AGENT_FLAGS", "--wait 20s");
        script.output().unwrap().into()
    };
    let measured = run("plan.toml");
    assert_eq!(measured.exit, 0, "{}", measured.stderr);
    assert_eq!((&measured.json()["state"], lab.run_files().len()), (&"complete".into(), 1));
    let mut own: Vec<String> = std::fs::read_dir(lab.path().join("plimsoll-agents"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    own.sort();
    assert!(own.len() == 2 && own[0].ends_with("-here-1.plimsoll") && own[1].ends_with("-here-2.plimsoll"), "{own:?}");
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "the bus is gone");
    let refused = run("no-such.toml");
    assert!(refused.exit == 2 && refused.stderr.contains("no-such.toml"), "{}: {}", refused.exit, refused.stderr);
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "the bus is gone");
}

#[test]
fn systemd_understands_the_unit() {
    if !is_installed("systemd-analyze") {
        return;
    }
    let lab = Lab::new();
    let unit = std::fs::read_to_string(recipe("systemd/plimsoll-agent@.service")).unwrap();
    // The program is not installed on this machine.
    let unit = unit.replace("ExecStart=plimsoll ", &format!("ExecStart={} ", env!("CARGO_BIN_EXE_plimsoll")));
    std::fs::write(lab.path().join("plimsoll-agent@.service"), unit).unwrap();
    let mut analyze = Command::new("systemd-analyze");
    let verified: Finished = analyze
        .args(["verify", "--man=no", "./plimsoll-agent@c1.service"])
        .current_dir(lab.path())
        .output()
        .unwrap()
        .into();
    let about_it: Vec<&str> = verified.stderr.lines().filter(|line| line.contains("plimsoll")).collect();
    assert_eq!((verified.exit, about_it), (0, vec![]));
}

/// The arguments of each container in the manifest, which has one in each line behind `args:`.
fn container_arguments(manifest: &str) -> Vec<Vec<&str>> {
    let mut all = Vec::new();
    let mut lines = manifest.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if line == "args:" {
            all.push(
                std::iter::from_fn(|| lines.next_if(|line| line.starts_with("- "))).map(|line| &line[2..]).collect(),
            );
        }
    }
    all
}

#[test]
fn the_flags_in_the_manifest_and_in_the_unit_are_those_of_plimsoll() {
    let manifest = std::fs::read_to_string(recipe("kubernetes/plimsoll.yaml")).unwrap();
    let unit = std::fs::read_to_string(recipe("systemd/plimsoll-agent@.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=plimsoll ")).unwrap();
    let started: Vec<&str> = start.split(' ').filter(|word| !word.starts_with("$P")).collect();
    let mut all = container_arguments(&manifest);
    assert_eq!(all.iter().map(|arguments| arguments[0]).collect::<Vec<_>>(), ["agent", "run"]);
    all.push(started);
    let lab = Lab::new();
    std::fs::write(lab.path().join("plan.toml"), PLAN).unwrap();
    for arguments in all {
        let here =
            |word: &&str| word.replace("/plan/", "").replace("${CREDENTIALS_DIRECTORY}", "/bus").replace("%i", "c1");
        let arguments: Vec<String> = arguments.iter().map(here).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = lab.command(&arguments);
        let refused: Finished = command.env("PLIMSOLL_BUS", "redis://bus/").output().unwrap().into();
        // All flags were understood; the secrets are not here.
        assert!(
            refused.exit == 2 && refused.stderr.contains("cannot read the key of the bus from `/bus/"),
            "{}",
            refused.stderr
        );
    }
}
