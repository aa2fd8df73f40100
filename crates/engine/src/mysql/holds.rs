//! Connections and transactions that are held, in the words of MariaDB and MySQL.
//!
//! In: how many locks each transaction takes. Out: the statements, and an account that is no administrator's: to those the server gives one
//! connection more than `max_connections`. Limits: locks are shared ones on the same rows, so that no transaction waits for another; InnoDB
//! keeps them in its buffer pool, some bytes for each page with such rows and each transaction.

use super::wire::{MysqlWire, MysqlWireError};
use crate::server::private_network::LOOPBACK;
use crate::server::url::Password;
use crate::sql::admin_connection::AdminConnection;
use crate::sql::connections::HoldWords;
use workload::connect::HELD_TABLE;
use workload::program::HoldProgram;

/// What the server calls them.
pub const WORDS: HoldWords =
    HoldWords { count: "SHOW GLOBAL STATUS LIKE 'Threads_connected'", limit: "max_connections", usual_limit: "151" };

/// The account that holds them.
pub const ACCOUNT: &str = "plimsoll_client";

/// Makes the account on a private server, where it may use `database`.
pub fn make_account(admin: &mut MysqlWire, database: &str) -> Result<(), MysqlWireError> {
    admin.run_statement(&format!("CREATE USER IF NOT EXISTS {ACCOUNT}@localhost"))?;
    admin.run_statement(&format!("GRANT ALL ON {database}.* TO {ACCOUNT}@localhost"))
}

/// What a server that listens on a port executes at each start before it takes the first connection: the accounts without a password that
/// could come over the network are removed, and the clients' account has `password`. One statement a line, as the server demands.
pub fn startup_statements(database: &str, password: &Password) -> String {
    let (client, password) = (format!("{ACCOUNT}@'{LOOPBACK}'"), password.reveal());
    format!(
        "DROP USER IF EXISTS root@'{LOOPBACK}', root@'::1';\n\
         CREATE USER IF NOT EXISTS {client} IDENTIFIED BY '{password}';\n\
         ALTER USER {client} IDENTIFIED BY '{password}';\n\
         GRANT ALL ON {database}.* TO {client};\n"
    )
}

/// Locks the rows from 1 to `locks`: a scan also locks the row at which it ends, which must not be one that another transaction inserted.
pub fn lock_statement(locks: u64) -> String {
    format!("SELECT count(pad) FROM {HELD_TABLE} WHERE id < {locks} LOCK IN SHARE MODE")
}

/// Makes the rows from 1 to as many as are locked, by doubling.
pub fn lock_targets(hold: &HoldProgram) -> Vec<String> {
    let first = format!("INSERT INTO {HELD_TABLE} (id, pad) VALUES (1, REPEAT('x', 200))");
    let doubled = std::iter::successors(Some(1u64), |rows| rows.checked_mul(2)).take_while(|rows| *rows < hold.locks);
    let doubled = doubled.map(|rows| {
        let missing = rows.min(hold.locks - rows);
        format!("INSERT INTO {HELD_TABLE} (id, pad) SELECT id + {rows}, pad FROM {HELD_TABLE} WHERE id <= {missing}")
    });
    (hold.locks > 0).then_some(first).into_iter().chain(doubled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::HoldKind;

    #[test]
    fn rows_are_doubled_until_there_are_as_many_as_are_locked() {
        let targets = |locks| {
            let hold = HoldProgram { kind: HoldKind::Transactions, most: 1, locks, table: None };
            lock_targets(&hold)
        };
        let copied: Vec<String> =
            targets(7).into_iter().skip(1).map(|text| text.split_once("SELECT ").unwrap().1.to_owned()).collect();
        let expected = [(1, 1), (2, 2), (4, 3)];
        assert_eq!(copied, expected.map(|(by, rows)| format!("id + {by}, pad FROM held_rows WHERE id <= {rows}")));
        assert_eq!((targets(0).len(), targets(1).len()), (0, 1));
    }
}
