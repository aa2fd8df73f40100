//! A Galera cluster for soak and benches: nodes that are killed and come back, on this machine or each on a host of its own.
//!
//! In: the places of the nodes. Out: their URL, answers to SQL. Limits: MariaDB with galera-4, and rsync; root runs the nodes as the user `mysql`, and
//! has no password on them. Commits are not synced: the cluster is tried, not its disks.

use crate::bench::server::{ServerUser, find_program, option, run_quietly};
use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the library may be, besides the directories of servers.
const PROVIDERS: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib/x86_64-linux-gnu/galera/libgalera_smm.so",
];
/// Outside of the range from which the kernel takes ports. Each node has four.
const PORT: u16 = 23_400;
const JOIN_AT_MOST: Duration = Duration::from_secs(120);

/// Where a node runs.
#[derive(Clone, Debug)]
pub struct NodePlace {
    /// Its address for clients.
    pub address: String,
    /// Its address for the other nodes.
    pub group_address: String,
    /// The words in front of the program: `ip netns exec NAME`, or none.
    pub prefix: Vec<String>,
}

/// A running cluster. It ends when this is dropped.
pub struct GaleraCluster {
    user: ServerUser,
    dir: tempfile::TempDir,
    provider: &'static str,
    places: Vec<NodePlace>,
    nodes: Vec<Option<Child>>,
}

impl GaleraCluster {
    /// Whether the programs of a cluster are on this machine.
    pub fn is_possible() -> bool {
        find_program("mariadbd").is_ok() && find_program("rsync").is_ok() && find_provider().is_ok()
    }

    /// A cluster with a node in each of `places`.
    pub fn start(places: Vec<NodePlace>) -> Result<GaleraCluster> {
        let user = ServerUser::by_name("mysql")?;
        let (dir, provider) = (user.make_dir()?, find_provider()?);
        let nodes = places.iter().map(|_| None).collect();
        let mut cluster = GaleraCluster { user, dir, provider, places, nodes };
        for nth in 0..cluster.places.len() {
            cluster.install(nth)?;
            cluster.start_node(nth, nth == 0)?;
        }
        let grant = "CREATE DATABASE sbtest; CREATE USER root@'%'; GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION";
        cluster.ask(0, grant)?;
        Ok(cluster)
    }

    /// A cluster of `nodes` nodes on this machine, without hosts of their own.
    pub fn start_here(nodes: usize) -> Result<GaleraCluster> {
        let (address, group_address) = ("127.0.0.1".to_owned(), "127.0.0.1".to_owned());
        let here = NodePlace { address, group_address, prefix: Vec::new() };
        GaleraCluster::start(vec![here; nodes])
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        self.places.len()
    }

    /// Its URL, with all nodes as endpoints.
    pub fn url(&self) -> String {
        let node =
            |(nth, place): (usize, &NodePlace)| format!("{}:{}", place.address, self.port(nth, NodePort::Clients));
        let nodes: Vec<String> = self.places.iter().enumerate().map(node).collect();
        format!("mysql://root@{}/?ssl-mode=DISABLED", nodes.join(","))
    }

    pub fn kill(&mut self, nth: usize) -> Result<()> {
        let mut node = self.nodes[nth].take().context("the node is not there")?;
        node.kill()?;
        node.wait().map(drop).context("the node did not end")
    }

    /// Starts a node that was killed, and waits until it is one of the cluster again.
    pub fn restart(&mut self, nth: usize) -> Result<()> {
        self.start_node(nth, false)
    }

    /// What a node answers.
    pub fn ask(&self, nth: usize, sql: &str) -> Result<String> {
        let mut admin = Command::new("mariadb");
        admin.args(["--no-defaults", "--user=root", "-N", "-e", sql]).arg(option("socket", &self.socket(nth)));
        let output = admin.output().context("cannot start `mariadb`")?;
        ensure!(output.status.success(), "node {nth}: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn data(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("node{nth}"))
    }

    fn socket(&self, nth: usize) -> PathBuf {
        self.dir.path().join(format!("m{nth}.sock"))
    }

    fn port(&self, nth: usize, which: NodePort) -> u16 {
        PORT + 4 * nth as u16 + which as u16
    }

    fn install(&self, nth: usize) -> Result<()> {
        let mut install = self.user.command(Path::new("mariadb-install-db"));
        install.arg("--no-defaults").arg(option("datadir", &self.data(nth)));
        run_quietly(install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]))
    }

    fn start_node(&mut self, nth: usize, is_first: bool) -> Result<()> {
        let log = fs::File::create(self.dir.path().join(format!("log{nth}")))?;
        let mut command = self.node_command(nth)?;
        command.args(self.node_arguments(nth, is_first));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // SAFETY: between fork and exec only prctl is called, which is safe there.
        unsafe {
            command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        self.nodes[nth] = Some(command.spawn().with_context(|| format!("cannot start {command:?}"))?);
        let until = Instant::now() + JOIN_AT_MOST;
        while self.ask(nth, "SHOW STATUS LIKE 'wsrep_ready'").map_or(true, |answer| !answer.contains("ON")) {
            ensure!(
                Instant::now() < until,
                "node {nth} does not join: {}",
                fs::read_to_string(self.dir.path().join(format!("log{nth}"))).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(100)); // the real time of another process
        }
        Ok(())
    }

    /// The program of a node, on its host and as its user.
    fn node_command(&self, nth: usize) -> Result<Command> {
        let program = find_program("mariadbd")?;
        let Some((first, rest)) = self.places[nth].prefix.split_first() else { return Ok(self.user.command(&program)) };
        let mut command = Command::new(first);
        command.args(rest).arg(program).current_dir("/");
        Ok(command)
    }

    fn node_arguments(&self, nth: usize, is_first: bool) -> Vec<String> {
        let NodePlace { address, group_address, .. } = &self.places[nth];
        let port = |which| self.port(nth, which);
        let others = self.places.iter().enumerate().filter(|(other, _)| *other != nth);
        let others =
            others.map(|(other, place)| format!("{}:{}", place.group_address, self.port(other, NodePort::Group)));
        let others: Vec<String> = others.collect();
        let group = if is_first { String::new() } else { others.join(",") };
        let provider = [
            format!("gmcast.listen_addr=tcp://{group_address}:{}", port(NodePort::Group)),
            format!("ist.recv_addr={group_address}:{}", port(NodePort::CatchUp)),
            "gcache.size=64M".to_owned(),
        ];
        let named = [
            ("datadir", self.data(nth).display().to_string()),
            ("socket", self.socket(nth).display().to_string()),
            ("bind-address", address.clone()),
            ("port", port(NodePort::Clients).to_string()),
            ("wsrep-on", "ON".to_owned()),
            ("wsrep-provider", self.provider.to_owned()),
            ("wsrep-cluster-name", "plimsoll-bench".to_owned()),
            ("wsrep-cluster-address", format!("gcomm://{group}")),
            ("wsrep-node-name", format!("node{}", nth + 1)),
            ("wsrep-node-address", format!("{group_address}:{}", port(NodePort::Group))),
            ("wsrep-provider-options", provider.join(";")),
            ("wsrep-sst-method", "rsync".to_owned()),
            ("wsrep-sst-receive-address", format!("{group_address}:{}", port(NodePort::Copy))),
            ("binlog-format", "ROW".to_owned()),
            ("innodb-autoinc-lock-mode", "2".to_owned()),
            ("innodb-buffer-pool-size", "64M".to_owned()),
            ("innodb-flush-log-at-trx-commit", "0".to_owned()),
            ("max-connections", "500".to_owned()),
            ("character-set-server", "latin1".to_owned()),
        ];
        let named = named.into_iter().map(|(name, value)| format!("--{name}={value}"));
        // Root enters a namespace, and another user runs the server: it changes to that one by itself.
        let user = (!self.places[nth].prefix.is_empty()).then(|| "--user=mysql".to_owned());
        // The first word must be that no file of options is read.
        let plain = ["--no-defaults", "--skip-name-resolve"].map(str::to_owned);
        plain.into_iter().chain(user).chain(is_first.then(|| "--wsrep-new-cluster".to_owned())).chain(named).collect()
    }
}

/// What a node listens for.
#[derive(Clone, Copy)]
enum NodePort {
    Clients,
    Group,
    CatchUp,
    Copy,
}

fn find_provider() -> Result<&'static str> {
    let found = PROVIDERS.into_iter().find(|path| Path::new(path).is_file());
    match found {
        Some(path) => Ok(path),
        None => bail!("there is no Galera; on Debian: apt-get install galera-4"),
    }
}

impl Drop for GaleraCluster {
    fn drop(&mut self) {
        for node in self.nodes.iter_mut().flatten() {
            let _ = node.kill();
            let _ = node.wait();
        }
    }
}
