//! What a replay of reads asks of MySQL and MariaDB about functions and views, and about the account.
//!
//! What a stored function is declared to be (`READS SQL DATA`, `NO SQL`) is not enforced: one may set a global variable or take a lock
//! nevertheless. So its body is read. One that may not be read counts as one that writes, as does a loadable function.

use crate::sql::replay_catalogue::CatalogueWords;

pub(super) const WORDS: CatalogueWords = CatalogueWords {
    names: &[
        "SELECT routine_name, IF(sql_data_access = 'MODIFIES SQL DATA' OR routine_definition IS NULL, 'suspicious', 'body'), \
         routine_definition FROM information_schema.routines WHERE routine_type = 'FUNCTION'",
        "SELECT name, 'suspicious', NULL FROM mysql.func",
        // Tables that are elsewhere: in files, or on servers over connections that are not read-only.
        "SELECT table_name, 'suspicious', NULL FROM information_schema.tables WHERE engine IN ('CONNECT', 'FEDERATED', 'SPIDER')",
    ],
    // Without the right SHOW VIEW the text is empty, which is no statement that reads.
    definitions: &["SELECT table_name, view_definition FROM information_schema.views"],
    operators: &[],
    powers: &["SELECT DISTINCT privilege_type FROM information_schema.user_privileges \
               WHERE grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''') AND privilege_type IN ('FILE', 'SUPER', 'SHUTDOWN', \
               'RELOAD', 'CREATE USER', 'SET USER', 'BINLOG ADMIN', 'CONNECTION ADMIN', 'READ_ONLY ADMIN', 'FEDERATED ADMIN', \
               'SYSTEM_VARIABLES_ADMIN', 'SESSION_VARIABLES_ADMIN', 'CONNECTION_ADMIN', 'BINLOG_ADMIN') ORDER BY 1"],
    enough: "SELECT, EXECUTE, SHOW VIEW",
};
