//! A server lies, hangs, dies or changes.

mod again;
mod conflicts;
mod ends;
mod hangs;
mod lies;
mod others;
mod programs;
mod shared;
mod skew;
mod work;

use crate::fault::{Family, Fault, FaultElsewhere, Kept, Length};
use crate::lab::{Finished, Lab};
use crate::liar::{CLOSED, SILENT, mysql, postgres};

pub const SERVER: Family = Family {
    name: "server",
    about: "A server lies, hangs, dies or changes. A row of lying servers stands for several of them, each of which is tried.",
    faults: &[
        lying(
            "mysql_malformed",
            "MySQL: packets that are malformed, too long or numbered wrongly, at each stage",
            "the server breaks the MySQL protocol",
            |lab| mysql::measure_each(lab, mysql::MALFORMED),
        ),
        lying(
            "mysql_wrong_values",
            "MySQL: text, NULL or control characters for a number",
            "answered `abc` where",
            |lab| mysql::measure_each(lab, mysql::WRONG_VALUES),
        ),
        lying("mysql_endless", "MySQL: rows or columns without end", "the server", |lab| {
            mysql::measure_each(lab, mysql::ENDLESS)
        }),
        lying("mysql_slow", "MySQL: a byte a second", LATE, |lab| mysql::measure_each(lab, mysql::SLOW)),
        lying("mysql_silent", "MySQL: silence, at each stage", LATE, |lab| mysql::measure_each(lab, SILENT)),
        lying("mysql_closed", "MySQL: the connection is closed, at each stage", LOST, |lab| {
            mysql::measure_each(lab, CLOSED)
        }),
        lying(
            "mysql_thief",
            "MySQL: another login plugin, the password in clear text or a local file is asked for",
            "plugin `mysql_clear_password`",
            |lab| mysql::measure_each(lab, mysql::THIEVES),
        ),
        lying(
            "mysql_errors",
            "MySQL: errors with control characters, without a number, or of 64 KiB",
            "no [2J  forged: line",
            |lab| mysql::measure_each(lab, mysql::ERRORS),
        ),
        lying(
            "postgres_malformed",
            "PostgreSQL: messages that are malformed or too long, at each stage",
            "the server breaks the PostgreSQL protocol",
            |lab| postgres::measure_each(lab, postgres::MALFORMED),
        ),
        Fault {
            kept: Kept::MeasuredUntilThen,
            ..lying(
                "postgres_wrong_values",
                "PostgreSQL: text or control characters for the number of rows",
                "answered `many` where",
                |lab| postgres::measure_each(lab, postgres::WRONG_VALUES),
            )
        },
        lying("postgres_endless", "PostgreSQL: rows, notices or parameters without end", "the server", |lab| {
            postgres::measure_each(lab, postgres::ENDLESS)
        }),
        lying("postgres_slow", "PostgreSQL: a byte a second", LATE, |lab| postgres::measure_each(lab, postgres::SLOW)),
        lying("postgres_silent", "PostgreSQL: silence, at each stage", LATE, |lab| postgres::measure_each(lab, SILENT)),
        lying("postgres_closed", "PostgreSQL: the connection is closed, at each stage", LOST, |lab| {
            postgres::measure_each(lab, CLOSED)
        }),
        lying(
            "postgres_thief",
            "PostgreSQL: the password in clear text, or a method that plimsoll does not have",
            "clear text",
            |lab| postgres::measure_each(lab, postgres::THIEVES),
        ),
        lying(
            "postgres_errors",
            "PostgreSQL: errors with control characters, or of 64 KiB",
            "no [2J  forged: line",
            |lab| postgres::measure_each(lab, postgres::ERRORS),
        ),
        Fault {
            name: "default_deadline",
            what: "A server accepts the connection and is silent: it is left after 5 s",
            exit: 4,
            message: "the server gave no complete answer within 5 s",
            kept: Kept::NoRun,
            length: Length::Short,
            make: lies::silent_for_the_usual_time,
        },
        Fault {
            name: "ctrl_c_while_silent",
            what: "Ctrl-C while a server is silent, at each stage: plimsoll ends within 2 s",
            exit: 130,
            message: "",
            kept: Kept::NoRun,
            length: Length::Short,
            make: hangs::interrupted_at_each_stage,
        },
        Fault {
            name: "version_is_never_printed",
            what: "The program of a server is asked for its version and does not end: it is ended with what it has started",
            exit: 2,
            message: "printed no version within 20 s",
            kept: Kept::NothingBegun,
            length: Length::Long,
            make: programs::version_is_never_printed,
        },
        Fault {
            name: "files_are_never_made",
            what: "The program that makes the files of a private server does not end: the same, after two minutes",
            exit: 4,
            message: "`mariadb-install-db` did not end within 120 s",
            kept: Kept::NoRun,
            length: Length::Long,
            make: programs::files_are_never_made,
        },
        Fault {
            name: "ctrl_c_while_files_are_made",
            what: "Ctrl-C while that program does not end: the same, at once",
            exit: 130,
            message: "",
            kept: Kept::NoRun,
            length: Length::Short,
            make: programs::interrupted_while_files_are_made,
        },
        Fault {
            name: "stopped_across_the_end",
            what: "A server is stopped across the end of the run: time and grace time are kept, and the schema that is left is named",
            exit: 4,
            message: "was left: the server does not answer; drop it by hand",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: hangs::stopped_across_the_end,
        },
        Fault {
            name: "mysql_statement_hangs",
            what: "MySQL: a statement hangs beyond the grace time: it is cancelled at the server, and the schema is removed",
            exit: 4,
            message: "still blocked at the end of the grace time",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: hangs::statement_of_mysql,
        },
        Fault {
            name: "postgres_statement_hangs",
            what: "PostgreSQL: a statement hangs beyond the grace time: it is cancelled at the server, and the schema is removed",
            exit: 4,
            message: "still blocked at the end of the grace time",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: hangs::statement_of_postgres,
        },
        Fault {
            name: "mysql_connection_killed",
            what: "MySQL: KILL ends a client's connection: a failure `killed`",
            exit: 4,
            message: "was killed",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: ends::connection_of_mysql,
        },
        Fault {
            name: "postgres_connection_killed",
            what: "PostgreSQL: `pg_terminate_backend` ends a client's connection: a failure `killed`",
            exit: 4,
            message: "terminating connection due to administrator command",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: ends::connection_of_postgres,
        },
        Fault {
            name: "killed",
            what: "A server by URL is killed under the load: the schema that is left is named as well",
            exit: 4,
            message: "was left: ",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: ends::server_killed,
        },
        Fault {
            name: "restarted_with_another_setting",
            what: "A server is restarted under a load that counts failures, with another setting: the point is invalid and names it",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: ends::restarted_with_another_setting,
        },
        Fault {
            name: "mariadb_all_connections_killed",
            what: "MariaDB: KILL ends all connections, under a load that counts failures: no reading of a counter is missing, and the next \
                   point knows its server",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: again::connections_of_mariadb,
        },
        Fault {
            name: "postgres_all_connections_killed",
            what: "PostgreSQL: `pg_terminate_backend` ends all connections: the same",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: again::connections_of_postgres,
        },
        Fault {
            name: "restarted_before_the_next_point",
            what: "A server by URL is restarted under a load that counts failures: the next point has its counters, threads and processes",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: again::server_of_the_next_point,
        },
        Fault {
            name: "failover_behind_a_proxy",
            what: "A proxy leads to another server with the same data: the point is invalid and names both, and the schema on the first is named",
            exit: 4,
            message: "another server answers in its place",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: again::failover_behind_a_proxy,
        },
        Fault {
            name: "read_only",
            what: "A server turns read-only under the load, as after a failover: a failure `read-only`, and the schema that is left is named",
            exit: 4,
            message: "read-only",
            kept: Kept::MeasuredUntilThen,
            length: Length::Short,
            make: ends::turned_read_only,
        },
        Fault {
            name: "mariadb_undoes_updates",
            what: "MariaDB: a trigger puts back what UPDATEs change: the point is invalid, with the statement and its rows",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: work::update_undone_by_mariadb,
        },
        Fault {
            name: "postgres_drops_changes",
            what: "PostgreSQL: a trigger takes away the rows of UPDATEs: the point is invalid, with the statement and its rows",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: work::changes_dropped_by_postgres,
        },
        Fault {
            name: "rows_taken_away",
            what: "Someone empties the table that is read: the point is invalid, with the statement and its rows",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: work::rows_taken_away,
        },
        Fault {
            name: "mariadb_conflicts",
            what: "MariaDB: deadlocks and lock-wait timeouts: performed again within their response times, and more than 1 % is a warning",
            exit: 0,
            message: "retries after conflicts",
            kept: Kept::All,
            length: Length::Short,
            make: conflicts::of_mariadb,
        },
        Fault {
            name: "postgres_conflicts",
            what: "PostgreSQL: serialization failures: the same",
            exit: 0,
            message: "retries after conflicts",
            kept: Kept::All,
            length: Length::Short,
            make: conflicts::of_postgres,
        },
        Fault {
            name: "fails_for_ever",
            what: "Transactions fail again and again and are counted: the share that succeeded is in the verdict, and the point is invalid",
            exit: 0,
            message: "The only point cannot be used",
            kept: Kept::All,
            length: Length::Short,
            make: conflicts::for_ever,
        },
        Fault {
            name: "low_limits",
            what: "A server takes fewer connections or prepared statements than the plan has: it is refused before data is made; if it keeps \
                   fewer tables open, that is reported",
            exit: 2,
            message: "max_connections = `30`",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: shared::with_low_limits,
        },
        Fault {
            name: "mariadb_measured_twice",
            what: "MariaDB: another plimsoll measures the server",
            exit: 3,
            message: "is being measured by another plimsoll",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: shared::at_once_on_mariadb,
        },
        Fault {
            name: "postgres_measured_twice",
            what: "PostgreSQL: another plimsoll measures the server",
            exit: 3,
            message: "is being measured by another plimsoll",
            kept: Kept::NothingBegun,
            length: Length::Short,
            make: shared::at_once_on_postgres,
        },
        Fault {
            name: "mariadb_loaded_by_others",
            what: "MariaDB: another client loads the server from the middle of the run on: its share of the statements is named",
            exit: 0,
            message: "other clients used the server",
            kept: Kept::All,
            length: Length::Short,
            make: others::of_mariadb,
        },
        Fault {
            name: "postgres_loaded_by_others",
            what: "PostgreSQL: the same, of the transactions",
            exit: 0,
            message: "other clients used the server",
            kept: Kept::All,
            length: Length::Short,
            make: others::of_postgres,
        },
        Fault {
            name: "unknown_version",
            what: "A server is of an unknown product and version, and lacks counters and settings: these are missing, and the run is whole",
            exit: 0,
            message: "",
            kept: Kept::All,
            length: Length::Short,
            make: skew::unknown_version,
        },
    ],
};

pub const ELSEWHERE: &[FaultElsewhere] = &[
    FaultElsewhere {
        what: "A COMMIT is answered by ROLLBACK, or the transaction is over before its COMMIT although no statement failed",
        then: "the operation fails, and says that its changes are lost",
        file: "crates/engine/src/sql/mod.rs",
        test: "a_commit_that_is_answered_by_a_rollback_or_comes_too_late_fails",
    },
    FaultElsewhere {
        what: "The database of a URL holds tables, perhaps of another load",
        then: "refuses it, and touches nothing",
        file: "crates/engine/tests/contract/schemas.rs",
        test: "an_empty_database_in_the_url_is_worked_in_and_stays_and_any_other_is_refused",
    },
    FaultElsewhere {
        what: "A schema on a server has plimsoll's kind of name, and was made by others, or by a run that was killed",
        then: "refuses the server, or names the schema; and leaves it",
        file: "crates/engine/tests/contract/schemas.rs",
        test: "a_server_that_has_a_schema_of_plimsolls_name_is_refused_and_left_as_it_is",
    },
    FaultElsewhere {
        what: "plimsoll is killed while it measures a server by URL",
        then: "names the schema that is left at the next start, and never uses it",
        file: "tests/cli/sql.rs",
        test: "variants_leave_nothing_on_a_mariadb_by_url",
    },
    FaultElsewhere {
        what: "A MariaDB of others feeds replicas",
        then: "refuses it, and touches nothing",
        file: "tests/cli/servers.rs",
        test: "a_mariadb_that_feeds_replicas_is_refused",
    },
    FaultElsewhere {
        what: "A PostgreSQL of others follows another server, feeds one or takes no writes",
        then: "refuses it, and touches nothing",
        file: "tests/cli/servers.rs",
        test: "a_postgresql_that_follows_feeds_or_takes_no_writes_is_refused",
    },
    FaultElsewhere {
        what: "A password is wrong",
        then: "ends at once with what the server answered, and leaves nothing on it",
        file: "tests/cli/servers.rs",
        test: "connections_to_a_mariadb_by_url_are_held_over_tcp_and_tls_and_a_wrong_password_leaves_nothing",
    },
    FaultElsewhere {
        what: "The certificate of a server is not trusted, or has another name",
        then: "ends before anything is sent, and names the reason",
        file: "crates/engine/tests/contract/tls.rs",
        test: "mariadb_is_measured_over_tls_that_is_verified_and_not_where_it_cannot_be",
    },
    FaultElsewhere {
        what: "A name of a table, a column or a schema has quotes of its server in it",
        then: "quotes it so that it stays one name",
        file: "crates/engine/src/mysql/tables.rs",
        test: "a_name_cannot_end_its_own_quotes",
    },
    FaultElsewhere {
        what: "A server stands still under the load",
        then: "finds the stall and its length; a closed loop carries a note that its times hide waiting",
        file: "crates/analysis/src/findings/stall.rs",
        test: "a_server_frozen_for_three_seconds_is_found_where_it_was",
    },
    FaultElsewhere {
        what: "Operations fail while the largest rate is searched",
        then: "counts only those that succeed, and carries no rate of which 0.1 % or more fail, unless you allow it",
        file: "crates/model/src/limit/objective.rs",
        test: "operations_that_fail_are_in_every_objective",
    },
    FaultElsewhere {
        what: "A target carries half as much from the middle of a search on",
        then: "says that it changed, and how much it carried before and after",
        file: "crates/model/src/limit/simulate.rs",
        test: "a_target_that_carries_half_from_the_middle_of_a_search_on_is_said_to_have_changed",
    },
    FaultElsewhere {
        what: "Other programs use the CPUs during a probe of a search",
        then: "does not count the probe, and measures the rate again",
        file: "crates/model/src/limit/observation.rs",
        test: "a_miss_is_that_of_other_programs_if_only_windows_in_which_they_ran_missed",
    },
    FaultElsewhere {
        what: "A run lost all repeats of a place that another run has, or so many that too few are left",
        then: "`compare --fail-below` ends with exit code 10, and names the place",
        file: "crates/analysis/src/compare/mod.rs",
        test: "repeats_that_the_new_run_lost_are_named_and_those_that_it_was_never_to_have_are_not",
    },
    FaultElsewhere {
        what: "Threads wait for a time, for thinking clients or for the next connection",
        then: "names no lock",
        file: "crates/analysis/src/bottleneck/mod.rs",
        test: "threads_that_wait_while_clients_think_or_connect_wait_for_no_lock",
    },
    FaultElsewhere {
        what: "A storage limit that was set is reached in bursts",
        then: "names the limit, whatever the engine waits for",
        file: "crates/analysis/src/bottleneck/throttled.rs",
        test: "a_storage_limit_that_bursts_reach_is_named_by_the_time_at_it",
    },
    FaultElsewhere {
        what: "The flow control of a cluster pauses it",
        then: "names that as the bottleneck",
        file: "crates/analysis/src/bottleneck/mod.rs",
        test: "a_cluster_that_pauses_is_named_whatever_its_threads_wait_for",
    },
    FaultElsewhere {
        what: "The listen queue of a server is full",
        then: "names that as the bottleneck, if connections waited for it for long",
        file: "crates/analysis/src/bottleneck/mod.rs",
        test: "a_full_listen_queue_is_named_by_the_time_that_connections_wait_for_a_retry",
    },
    FaultElsewhere {
        what: "A server has as many connections as it may have, and refuses others",
        then: "names that as the bottleneck",
        file: "crates/analysis/src/bottleneck/mod.rs",
        test: "a_server_at_its_connection_limit_is_named",
    },
    FaultElsewhere {
        what: "Answers take a hundred times as long for some seconds, while operations end all the time",
        then: "says that they were slow, and calls it no stall",
        file: "crates/analysis/src/findings/stall.rs",
        test: "answers_that_are_slow_while_operations_end_all_the_time_are_no_stall",
    },
];

const LATE: &str = "the server gave no complete answer within 1 s";
const LOST: &str = "the connection was lost";

/// A row of lying servers: each ends with exit code 4 and one line that names the server, within its deadline and 300 MiB.
const fn lying(
    name: &'static str,
    what: &'static str,
    message: &'static str,
    make: fn(&Lab) -> Option<Finished>,
) -> Fault {
    Fault { name, what, exit: 4, message, kept: Kept::NothingBegun, length: Length::Short, make }
}
