//! Names of sysbench, fio and the servers' own tools, and what they are called here.
//!
//! In: a key or a value that nothing here has. Out: the name that it was probably meant to be. Limits: a name is only suggested,
//! and only if the key or value is allowed there; nothing is read as something else.

/// What another tool calls something, and what it is called here.
const NAMES: &[(&str, &str)] = &[
    // fio: keys.
    ("rw", "mode"),
    ("readwrite", "mode"),
    ("bs", "block"),
    ("blocksize", "block"),
    ("size", "file_size"),
    ("filesize", "file_size"),
    ("iodepth", "depth"),
    ("ioengine", "io"),
    ("numjobs", "clients"),
    ("nrfiles", "files"),
    ("runtime", "time"),
    ("ramp_time", "warmup"),
    ("rwmixread", "read_share"),
    ("rate_iops", "rate"),
    ("filename", "path"),
    // fio: values.
    ("randread", "rndrd"),
    ("randwrite", "rndwr"),
    ("randrw", "rndrw"),
    ("read", "seqrd"),
    ("write", "seqwr"),
    ("libaio", "aio"),
    ("io_uring", "uring"),
    ("psync", "sync"),
    // sysbench: keys.
    ("threads", "clients"),
    ("table_size", "table_rows"),
    ("file_total_size", "file_size"),
    ("file_num", "files"),
    ("file_block_size", "block"),
    ("file_test_mode", "mode"),
    ("file_fsync_freq", "fsync_every"),
    ("rand_type", "access"),
    ("events", "ops_max"),
    // sysbench: values.
    ("oltp_read_write", "read_write"),
    ("oltp_read_only", "read_only"),
    ("oltp_write_only", "write_only"),
    ("oltp_point_select", "point_select"),
    ("oltp_insert", "insert"),
    ("oltp_delete", "delete"),
    ("oltp_update_index", "update_index"),
    ("oltp_update_non_index", "update_non_index"),
    // Engines.
    ("innodb", "mariadb:innodb"),
    ("myrocks", "mariadb:rocksdb"),
    ("percona", "mysql"),
    // The protocol of its URL is that of MySQL.
    ("mariadb", "mysql"),
    ("psql", "postgres"),
    ("sqlite3", "sqlite"),
    ("pg", "postgres"),
    ("pgsql", "postgres"),
];

/// The one of `names` that another tool calls `word`.
pub(crate) fn known_elsewhere<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let word = word.replace('-', "_");
    let mut here = NAMES.iter().filter(|(elsewhere, _)| *elsewhere == word).map(|(_, here)| *here);
    here.find_map(|here| names.iter().copied().find(|name| *name == here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_another_tool_is_found_where_its_meaning_is_taken() {
        assert_eq!(known_elsewhere("randread", &["rndrd", "rndwr"]), Some("rndrd"));
        assert_eq!(known_elsewhere("ramp-time", &["time", "warmup"]), Some("warmup"));
        assert_eq!(known_elsewhere("innodb", &["sqlite", "mariadb:innodb"]), Some("mariadb:innodb"));
        assert_eq!(known_elsewhere("innodb", &["sqlite", "file"]), None);
        assert_eq!(known_elsewhere("rndrd", &["rndrd"]), None);
    }
}
