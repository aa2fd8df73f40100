//! Facts as people read them: their values, and what their names mean.
//!
//! In: a recorded fact. Out: text with its unit; a sentence about the name. Limits: what the name of a fact does not tell stays as it was
//! recorded; settings that are read back from an engine have its own names, and one explanation for all.

use super::quantity::{bytes, time};
use model::{Bytes, Fact, READ_BACK_FACT, TIME_OVER_FACT};

/// What a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactMeaning {
    /// Its name; with a `*` at the end all names that begin so.
    pub name: &'static str,
    /// What its value is.
    pub meaning: &'static str,
}

const fn fact(name: &'static str, meaning: &'static str) -> FactMeaning {
    FactMeaning { name, meaning }
}

/// Every fact that plimsoll records: first those of the machine and its disk, then those of points. The first that fits a name counts.
pub static FACTS: &[FactMeaning] = &[
    fact("compress.library", "the library behind the codec, and its format"),
    fact("compress.input_bytes", "length of the file that was compressed"),
    fact(
        "compress.output_bytes",
        "size of the result, read after it was synced: of the file, or what it takes of the file system that was made for it",
    ),
    fact("compress.source_read_bytes", "bytes of the file that had to be read from its disk while it was compressed"),
    fact("compress.durable_s", "seconds until the result was on disk"),
    fact("compress.own_cpu_s", "CPU time of plimsoll until the result was on disk, in seconds"),
    fact(
        "compress.kernel_cpu_s",
        "CPU time of the kernel's own threads in the same time, which compress for a file system and write back",
    ),
    fact("compress.daemon_cpu_s", "CPU time of the process that is the file system (zfs-fuse) in the same time"),
    fact("decompress.seconds", "seconds to read the result back from the disk"),
    fact("decompress.own_cpu_s", "CPU time of plimsoll for that, in seconds"),
    fact("decompress.kernel_cpu_s", "CPU time of the kernel's own threads in the same time"),
    fact("decompress.daemon_cpu_s", "CPU time of the process that is the file system in the same time"),
    fact("data.origin", "the tables of the database that were used; plimsoll made and removed none"),
    fact("data.origin_rows", "rows of each of these tables that were used"),
    fact("data.origin_count", "how it is known that no row is missing"),
    fact("data.origin_index", "whether these tables have an index on column k"),
    fact("data.origin_changed", "whether the run was to change their rows"),
    fact(
        "data.keys",
        "rows that were read of your tables for the values in statements, of each table in the order of the plan",
    ),
    fact("observe.missing", "a part of a watched server that could not be seen, and why"),
    fact("os", "operating system, as /etc/os-release names it"),
    fact("kernel.release", "version of the kernel"),
    fact(
        "kernel.transparent_hugepage",
        "whether the kernel gives huge pages to processes: `always`, `madvise`, `never`",
    ),
    fact(
        "kernel.parameters",
        "parameters of the kernel's command line that change its speed, such as `mitigations=off`; or `none`",
    ),
    fact("kernel.vm.*", "setting of the kernel's memory management, as sysctl names it (`vm.dirty_ratio`)"),
    fact("kernel.*", "setting of the kernel, as sysctl names it (`kernel.numa_balancing`)"),
    fact("cpu.model", "model of the CPU"),
    fact("cpu.arch", "architecture of the CPU"),
    fact("cpu.count", "CPUs that are online"),
    fact("cpu.usable", "CPUs that plimsoll may use"),
    fact(
        "cpu.frequency",
        "whether the frequency that the kernel shows is `measured`; in most virtual machines it is `nominal`, and never changes",
    ),
    fact(
        "cgroup.cpu_quota",
        "CPU quota of the cgroup that plimsoll was started in, in CPUs; `none` if it may use all of them",
    ),
    fact("cpu.instructions", "instructions that the kernels of the engine `cpu` are made of"),
    fact("cpu.smt", "whether hyper-threading is on"),
    fact("cpu.sockets", "sockets whose CPUs plimsoll may use"),
    fact("cpu.cores", "cores of which plimsoll may use a CPU"),
    fact("cpu.topology", "how these CPUs are arranged: sockets, cores, threads of a core"),
    fact("cpu.turbo", "whether CPUs may run above their base frequency, if the machine shows it"),
    fact(
        "cpu.governor",
        "frequency governors of the CPUs; `unknown` if the machine shows none, as most virtual machines",
    ),
    fact("machine.virtualised", "whether this is a virtual machine"),
    fact("memory.total_bytes", "memory of the machine"),
    fact("memory.swap_bytes", "swap space of the machine"),
    fact("clock.source", "clock of the kernel"),
    fact("clock.of_clients", "clock that timed the operations: the CPU's counter (`tsc`), or the kernel's"),
    fact("clock.read_ns", "how long it takes to read that clock"),
    fact("cost.price_per_hour", "price of the machine per hour, as it was given (`price`)"),
    fact("cost.watts", "power of the machine, as it was given (`watts`)"),
    fact("network.interface", "network interface between clients and server"),
    fact(
        "network.link_bits_per_s",
        "speed of the link to the server in bits per second and direction: as it was given (`link`), or of a point as the network \
         card reports it",
    ),
    fact(
        "network.link_bits_per_s.*",
        "speed of the link of one interface in bits per second and direction, as it was given to an agent (`--link NAME=SPEED`)",
    ),
    fact("plimsoll.build", "how plimsoll was compiled: `release` or `debug`, which is slower"),
    fact(
        "plimsoll.allocator",
        "memory allocator of plimsoll, and so of its clients and of the engines inside it: `system` (that of the C library), or the library that is loaded",
    ),
    fact("plan.command", "command that measured the run, as it was typed, with the variables PLIMSOLL_* that were set"),
    fact(
        "plan.sha256",
        "SHA-256 of the plan in the run file: equal if the same trials were planned with the same seeds",
    ),
    fact("plan.restore", "program that brought the server back to what its data was before each point (`--restore`)"),
    fact("run.file", "name of the run file"),
    fact("run.sha256", "SHA-256 of the run file when the report was written"),
    fact(
        "plan.left_out",
        "values of the plan that this machine lacks, or that mean the same on it as others, which were not measured",
    ),
    fact("filesystem", "file system of the data"),
    fact("filesystem.options", "mount options of that file system"),
    fact("filesystem.barrier", "whether its barriers are on, if the mount options show it"),
    fact("filesystem.total_bytes", "its size"),
    fact("disk.device", "block device under the file system of the data"),
    fact("disk.model", "model of the disk"),
    fact("disk.bytes", "size of the device that was measured"),
    fact("disk.scheduler", "I/O scheduler of the disk"),
    fact("disk.write_cache", "cache mode that the disk reports: `write back` or `write through`"),
    fact(
        "disk.rotational",
        "whether the kernel believes that the disk rotates; of many virtual disks it does so wrongly",
    ),
    fact("disk.physical_block_bytes", "physical block of the disk"),
    fact("disk.logical_block_bytes", "logical block of the disk, the least that direct I/O can read or write"),
    fact("disk.max_request_bytes", "largest request that the kernel sends to the disk"),
    fact("ceiling.measured", "when `plimsoll disk` measured the best rates of this disk; the oldest counts"),
    fact("ceiling.kernel", "kernel when the best rates of this disk were measured"),
    fact(
        "ceiling.*",
        "best rate of this disk: `ceiling.` and the operation, the block size in bytes, and the number in flight at which it was reached",
    ),
    fact(
        "instances",
        "instances that ran at once, each with its own data and clients; other facts are those of the first, or sums",
    ),
    fact("instances.ops", "operations that each of them did in the run phase"),
    fact("engine.version", "version of the engine; for `file` that of the kernel"),
    fact(
        "engine.process",
        "where the engine works: `own` (a private server), `embedded` (a library in the process of plimsoll), `none` (no engine but the kernel) or `elsewhere` (an existing server)",
    ),
    fact(
        "engine.writes",
        "how the engine's writes reach the disk: past the page cache (`direct`), through it to the ends of files (`append`), through it over what was there (`buffered`), or `unknown`",
    ),
    fact("page_cache.synced", "`yes` if the page cache was written to the disk before the load and after it"),
    fact("durability", "durability, as read back from the engine: `disk`, `os`, `none`, or `unknown`"),
    fact("isolation", "isolation level of the clients' transactions, as read back from the engine"),
    fact(
        "sequence",
        "number of the point with which the sequence of this step began; steps with the same number used the same data",
    ),
    fact("run.ops", "operations after which the point ended by itself: the work of the step"),
    fact("prepare.steps", "steps that were repeated before this one, because the run was resumed"),
    fact("queries_per_op.*", "statements of one operation of this kind, BEGIN and COMMIT included if they are sent"),
    fact("rows_per_op.*", "rows that one operation of this kind inserts"),
    fact("background.clients", "clients that worked in the background while others were measured"),
    fact("background.kinds", "kinds of operation of these clients"),
    fact("background.per_s", "operations per second that they were to do, all together"),
    fact("load.rows", "rows that were loaded, as the engine counts them"),
    fact("load.way", "the statement by which a server took them"),
    fact("load.bytes", "size of the data on disk after that"),
    fact("load.log_bytes", "the part of it that is logs"),
    fact("load.all_s", "time to make the data, its indexes and all that follows included"),
    fact("load.settle_s", "time for indexes, flushes, checkpoints, statistics and counting after the load"),
    fact("load.index_s", "the part of it in which the indexes were made, those of some tables at once"),
    fact("load.index_s.*", "how long the indexes of this table took"),
    fact("load.copy", "how the copy for `between = restore` was made: `reflink` (blocks are shared) or `copy`"),
    fact("load.copy_s", "how long that copy took"),
    fact(
        "data.state",
        "the data at the beginning of the point: as loaded, after a restart, restored (a new copy, and how it was made), or kept (a copy \
         that points before have only read)",
    ),
    fact("data.restore_s", "how long restoring it took"),
    fact("data.set", "the data set that the point used in place of a load"),
    fact("data.set_made", "when that was made, in UTC"),
    fact("data.set_changed", "how runs before have changed the rows of a data set on a server"),
    fact("data.bytes", "size of the data on disk at the end of the point, logs included"),
    fact("data.log_bytes", "the part of it that is logs"),
    fact(
        "drain.pending_bytes",
        "writes that were still pending when a drain, or the flush after a load, made no more progress",
    ),
    fact("stacks.tool", "tool that took the stacks of the engine's threads"),
    fact("stacks.missing", "why no stacks of the engine could be taken"),
    fact("counters.missing", "sources of counters that could not be read, with the reason"),
    fact("fs.image_bytes", "size of the image of the file system that was made"),
    fact("fs.loop_direct", "whether its loop device bypasses the page cache of the file system below"),
    fact("fs.made_by", "program that made it, with its version"),
    fact("cpus.clients", "CPUs that plimsoll was pinned to (`cpus`), as read back: its clients, and engines inside it"),
    fact("cpus.engine", "CPUs that the processes of the private server were pinned to (`cpus`)"),
    fact("cpus.count", "how many CPUs these are in all"),
    fact("set.smt", "what hyper-threading was set to for the point (`smt`)"),
    fact("set.turbo", "what turbo was set to for the point (`turbo`)"),
    fact("set.scheduler.*", "I/O scheduler that the disk of this name was set to for the point (`scheduler`)"),
    fact("limit.memory_bytes", "memory limit, as the kernel rounded it"),
    fact("limit.memory_peak_bytes", "most memory that was used"),
    fact("limit.memory_hits", "how often the kernel had to reclaim memory to stay within the limit"),
    fact("limit.memory_kills", "processes that the kernel killed for lack of memory"),
    fact("limit.cpu", "CPU limit of the point: CPUs of the engine, or the speed of all CPUs"),
    fact("limit.storage", "I/O limit of the point"),
    fact("limit.storage_device", "device that was limited"),
    fact("limit.storage_holds", "what the limit covers: `all`, or `reads and synced writes`"),
    fact("file.direct_alignment", "alignment that direct I/O needs on these files"),
    fact("file.device", "`null` if /dev/null was measured"),
    fact("file.written_whole", "full passes that were written before the run phase (`precondition`)"),
    fact("file.fsync_end", "time of the sync of all files after the load (`fsync_end`)"),
    fact(
        "replay.*",
        "the recording that was replayed: its requests by kind, its bytes, its length, and what was left out of it",
    ),
    fact("uring.registered_buffers", "whether io_uring used registered buffers"),
    fact("uring.deferred_taskrun", "whether io_uring completed operations in the client's own thread (DEFER_TASKRUN)"),
    fact("uring.punted", "whether the kernel handed operations of io_uring to worker threads"),
    fact("uring.workers", "threads of the kernel that performed what io_uring could not do without blocking"),
    fact("uring.workers_cpu", "CPU time of these threads, which is counted for no client"),
    fact("verify.table", "file with the generations of the blocks, which `plimsoll verify` reads"),
    fact(TIME_OVER_FACT, "the `budget` of the run, of which too little was left after this point to measure more"),
    fact(READ_BACK_FACT, "result of reading back all data after the load"),
    fact("verify.corrupt", "blocks that did not match their checksum"),
    fact("verify.stale", "blocks that held an earlier write"),
    fact("verify.misdirected", "blocks that belonged to another place"),
    fact("verify.unsure", "blocks that were being written when the load ended, of which either content is right"),
    fact("conditions.checked", "result of checking the consistency conditions of the workload after the run"),
    fact("conditions.broken.*", "the consistency condition of this number, and the first row that breaks it"),
    fact("client.threads", "threads that the measured clients shared; a load in the background has threads of its own"),
    fact("client.sockets", "how clients that share threads sent and received: by io_uring or by epoll"),
    fact("client.pipeline", "operations that each client sent before the first of them was answered"),
    fact("endpoints", "names of the endpoints, in the order of their numbers, if the engine has several"),
    fact(
        "endpoints.cluster",
        "what the endpoints have in common: the state of a Galera cluster, or the system identifier of PostgreSQL",
    ),
    fact("node.*", "how a node of a private cluster ended, if it ended by itself (`node.2.ended`)"),
    fact("client.retries", "operations that were retried after a conflict"),
    fact("client.reconnects", "connections that were opened again after a loss"),
    fact("recorded.statements", "statements of the log that were replayed"),
    fact("recorded.log_statements", "statements of the whole log, before a part of it or several copies were taken"),
    fact("recorded.log_failed", "those of them that failed when they were recorded, as far as the log says it"),
    fact("recorded.sessions", "sessions that sent them when they were recorded"),
    fact("recorded.sessions_at_once", "the most of these sessions that were open at once"),
    fact("recorded.left_out_writes", "statements of the log that write or lock, which were left out"),
    fact("recorded.left_out_of_session", "statements of transactions and settings that were left out"),
    fact(
        "recorded.left_out_repeated",
        "statements that were left out because another line of the log has them with their values, their transaction had been aborted so that the server refused them, their data is elsewhere, or they are commands to the server itself",
    ),
    fact("recorded.left_out_unbound", "statements that were left out because the log has not their values"),
    fact("recorded.left_out_failed_unbound", "those of them that failed when they were recorded"),
    fact(
        "recorded.left_out_loads",
        "COPY and LOAD DATA statements of the log that were left out because no log has their data: their rows are missing in the copy",
    ),
    fact(
        "recorded.left_out_effects",
        "reads of the log that were left out because they name a function, a view or an operator that does more than read",
    ),
    fact(
        "recorded.left_out_own",
        "questions of the log that plimsoll itself asked when it watched or loaded the server, which were left out",
    ),
    fact(
        "recorded.left_out_triggered",
        "statements of a general log that were taken for those of triggers and left out, because the copy executes them itself",
    ),
    fact("recorded.effects", "what these reads name, and how many name it"),
    fact(
        "recorded.set_again",
        "statements that were sent once more at the beginning of sessions which are replayed from their middle on: what they had set and prepared",
    ),
    fact("recorded.version", "version of the recorded server"),
    fact("recorded.times", "what the times of the log are"),
    fact(
        "recorded.copies",
        "how many copies of the sessions were replayed at once, how much of the log each is, and where in it each begins",
    ),
    fact(
        "replay_results.*",
        "what one kind of statement has returned: answers, rows, columns of all answers, a checksum that does not depend on their order, and the name of the kind",
    ),
    fact(
        "replay_plans",
        "of how many kinds of statement the server has told its plan after the load, and why not of the others",
    ),
    fact(
        "replay_plan.*",
        "the name of one kind of statement, and the steps of its plan, a line each, without estimates and values",
    ),
    fact(
        "replay_failures.*",
        "how many statements failed with one message of the server, the most frequent message first",
    ),
    fact(
        "restore",
        "the program that brought the server back to what its data was before the point, and how long it took",
    ),
    fact(
        "replay_compared",
        "by what the statements of a replay were compared with the recorded ones: `rows`, `errors`, or `nothing` if the log has no answers; `hashed` if a workload file has none because its values are hashed",
    ),
    fact(
        "replay_divergence.*",
        "of one kind of statement how many were compared with the recorded ones; how many failed and had not; did not fail and had; returned, or changed, more or fewer rows; made another id; and the name of the kind",
    ),
    fact(
        "replay_failed_as_recorded",
        "statements that failed as they did when they were recorded, which count as done",
    ),
    fact(
        "replay_failed_untold",
        "statements that failed by an error of their own and had no rows when they were recorded, in a log that does not say which failed: they count as done",
    ),
    fact(
        "replay_ids",
        "how often the server was told which id to make, as the recorded one made it, and how ids were worked out that the log does not have",
    ),
    fact(
        "replay_counters",
        "the last ids that the server had given when the point began, of the columns into which the log inserts, and whether sessions say lower ones of theirs",
    ),
    fact(
        "replay_order",
        "how many statements name a row that another session wrote before, how many of them waited until it had and how long, how many did so in vain, and how many went ahead",
    ),
    fact(
        "replay_keys",
        "of each key that `keys` names, which values moved by how much in each further copy of the sessions, and how many did",
    ),
    fact("recorded.prepared", "how many statements were prepared when they were recorded, and are prepared again"),
    fact("recorded.room", "room that the statements take in a file while they are replayed"),
    fact("recorded.skipped", "what of the log is no statement, or cannot be read"),
    fact("recorded.skipped.*", "how often that was of this kind, and where first"),
    fact("connect.via", "how connections reach the engine: `socket`, `tcp` or `tls`"),
    fact(
        "backlog.*",
        "how connections queue at the listener: settings of the kernel, and the queue as it was when the point began",
    ),
    fact(
        "hold.*",
        "what was held when the engine refused one more: number, limit, text of the refusal, connections of the engine, and its memory, threads \
         and processes on the way (number held:bytes)",
    ),
    fact("flush.fastest_ns", "least time in which plimsoll wrote and synced a block on the device before the load"),
    fact("flush.counted", "whether the kernel counted each of these syncs as a flush of the device"),
    fact("flush.durable_writes", "whether the device may have writes that are durable without a flush"),
    fact("server.url", "URL of the existing server"),
    fact("server.socket", "unix socket through which it was reached"),
    fact("server.process", "program and process of the existing server, if it runs on this machine and is seen"),
    fact("server.further_process", "further nodes of the server on this machine"),
    fact("server.device", "block device under its data directory"),
    fact("server.identity", "what the existing server reports of itself, by which it is known again"),
    fact(
        "server.port",
        "port at which the server says that it listens, if the URL has another one: something is between it and plimsoll",
    ),
    fact("server.first", "what the server reported of itself that was measured, if another one answered later"),
    fact("server.other", "what the other one reported of itself"),
    fact("server.answered_by", "program at the other end of the connection, if it is not the server"),
    fact(
        "server.unseen",
        "why the existing server, or a part of it, is not seen: `remote`, `not-permitted`, `io-not-permitted`, `not-found`, `other-program` or `restarted`",
    ),
    fact("server.program", "program of the private server"),
    fact(
        "server.allocator",
        "memory allocator of the running private server: `system` (its own), or the library that is loaded",
    ),
    fact("server.endpoint", "which of several endpoints of the database runs on this host"),
    fact("server.schema", "schema that plimsoll made on it"),
    fact(
        "server.other_clients",
        "other connections that were active in the 5 s before, as far as the account may see them",
    ),
    fact("server.replication", "`hidden from the account` if the account may not see whether the server is a replica"),
    fact("server.left_schemas", "schemas that an earlier run left on it"),
    fact("server.removed_schemas", "how many schemas of earlier runs were removed from it"),
    fact("server.tls", "version and cipher of the encryption, or `none`"),
    fact("server.tls_verified", "what was verified: `issuer and name`, `issuer` or `nothing`"),
    fact("server.user", "user that the private server ran as"),
    fact(
        "server.ended",
        "how the server ended, if it ended by itself; `gone` for an existing one, whose end only its parent sees",
    ),
    fact("settings.last_reading", "`failed` if the server's settings could not be read after the load"),
    fact("result.rows", "rows that the statement of the variant has returned"),
    fact("result.columns", "columns of these rows"),
    fact("result.checksum", "sum of the hashes of these rows, whatever their order"),
    fact("statement.timeouts", "steps that were cancelled at the time limit (`statement_timeout`)"),
    fact("statement.*", "what one execution of the statement cost inside the engine, outside of what was measured"),
    fact("status.*", "change of a counter of the session (SHOW STATUS) by that execution"),
    fact("explain.built", "what the optimizer built for the statement alone"),
    fact("explain.missing", "why the engine did not give the plan of the statement"),
    fact("explain.*", "what the optimizer does with the statement: its plan, the analysed execution, its trace"),
    fact("sqlite.*", "setting of SQLite (a PRAGMA), as read back; a negative `cache_size` is in KiB"),
    fact("fjall.cache_bytes", "size of the block cache"),
    fact("fjall.persist_each_batch", "what is done with the journal at each commit"),
    fact("rocksdb.*", "option of RocksDB, as read back"),
    fact("mariadb.*", "variable of MariaDB, as read back"),
    fact("mysql.*", "variable of MySQL, or of an existing MySQL or MariaDB server, as read back"),
    fact("postgres.*", "setting of PostgreSQL, as read back"),
];

/// What the fact `name` is; `None` if it is none of today's.
pub fn fact_meaning(name: &str) -> Option<&'static str> {
    let fits = |known: &&FactMeaning| match known.name.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => known.name == name,
    };
    FACTS.iter().find(fits).map(|known| known.meaning)
}

/// The name of `fact` for people: without the unit, which its value has.
pub fn fact_name(fact: &Fact) -> &str {
    let unit =
        ["_bytes", "_ns", "_s"].into_iter().find(|unit| fact.name.ends_with(unit) && !fact.name.ends_with("per_s"));
    match unit.filter(|_| fact.value.parse::<f64>().is_ok_and(f64::is_finite)) {
        Some(unit) => fact.name.trim_end_matches(unit),
        None => &fact.name,
    }
}

/// The facts of a machine that are worth a line: what it does not show is none.
pub fn known_facts(facts: &[Fact]) -> impl Iterator<Item = &Fact> {
    facts.iter().filter(|fact| fact.value != "unknown")
}

/// The value of `fact`: bytes, seconds and nanoseconds with the unit that fits, yes and no for true and false.
pub fn fact_value(fact: &Fact) -> String {
    let (name, value) = (fact.name.as_str(), fact.value.as_str());
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
    match (number, value) {
        (_, "true") => "yes".to_owned(),
        (_, "false") => "no".to_owned(),
        // Sizes of blocks are powers of two.
        (Some(number), _) if name.ends_with("block_bytes") => Bytes(number as u64).to_string(),
        (Some(number), _) if name.ends_with("bytes") => bytes(number).to_string(),
        (Some(seconds), _) if name.ends_with("_s") && !name.ends_with("per_s") => time(seconds * 1e9).to_string(),
        (Some(ns), _) if name.ends_with("_ns") => time(ns).to_string(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_explained_by_itself_or_by_its_beginning() {
        assert_eq!(fact_meaning("ceiling.measured").map(|text| text.starts_with("when ")), Some(true));
        assert_eq!(fact_meaning("ceiling.randread.4096.32").map(|text| text.starts_with("best rate")), Some(true));
        assert_eq!(fact_meaning("postgres.fsync").map(|text| text.contains("PostgreSQL")), Some(true));
        assert_eq!(fact_meaning("nosuch.fact"), None);
        let names: std::collections::BTreeSet<&str> = FACTS.iter().map(|known| known.name).collect();
        assert!(names.len() == FACTS.len() && FACTS.iter().all(|known| !known.meaning.ends_with('.')));
    }

    #[test]
    fn a_name_has_no_unit_that_its_value_has_and_what_is_unknown_has_no_line() {
        let facts = [
            ("memory.total_bytes", "25276510208", "memory.total"),
            ("clock.read_ns", "25", "clock.read"),
            ("load.settle_s", "0.2", "load.settle"),
            ("background.per_s", "100", "background.per_s"),
            ("memory.total_bytes", "none", "memory.total_bytes"),
            ("cpu.model", "EPYC", "cpu.model"),
        ];
        for (name, value, shown) in facts {
            assert_eq!(fact_name(&Fact::new(name, value)), shown);
        }
        let facts = [Fact::new("cpu.governor", "unknown"), Fact::new("cpu.count", "2")];
        assert_eq!(known_facts(&facts).map(|fact| fact.name.as_str()).collect::<Vec<_>>(), ["cpu.count"]);
    }

    #[test]
    fn a_value_has_the_unit_that_its_name_carries() {
        let shown = |name: &str, value: &str| fact_value(&Fact::new(name, value));
        assert_eq!(shown("memory.total_bytes", "25276510208"), "25.3 GB");
        assert_eq!(shown("disk.physical_block_bytes", "4096"), "4 KiB");
        assert_eq!(shown("load.rest_s", "0.011"), "11.0 ms");
        assert_eq!(shown("uring.deferred_taskrun", "true"), "yes");
        assert_eq!(shown("disk.rotational", "true"), "yes");
        assert_eq!(shown("sqlite.cache_size", "-65536"), "-65536");
        assert_eq!(shown("memory.total_bytes", "unknown"), "unknown");
        assert_eq!(shown("done_per_s", "100"), "100");
    }
}
