-- The workload file: the statements that a server was sent, to be replayed elsewhere. Format 3 (`PRAGMA user_version`),
-- application_id 0x504C574B ("PLWK").
--
-- Times ending in _us are microseconds; those that name a moment (began_us, ended_us) count from 1970, by the clock of the recorded
-- server, as its log or capture has them.

-- What is known of all of it: one row.
CREATE TABLE workload (
    family TEXT NOT NULL,           -- whose SQL it is: 'mysql' (MySQL, MariaDB) or 'postgres'
    version TEXT NOT NULL,          -- of the recorded server; empty if it is not known
    port INTEGER,                   -- of the recorded server, if it is known; so is the socket
    socket TEXT,
    whole_seconds INTEGER NOT NULL, -- 1 if its times have no fractions: a replay spreads the statements of a second over it
    hashed INTEGER NOT NULL,        -- 1 if values were replaced by others
    statements INTEGER NOT NULL,    -- the rows of `statement`
    sessions INTEGER NOT NULL,      -- the sessions in it
    unbound INTEGER NOT NULL,       -- statements that were left out because their values are not known
    repeated INTEGER NOT NULL,      -- statements that were left out because others repeat them, or that are none
    digest TEXT NOT NULL,           -- SHA-256 of all statements and of this row, by which a damaged file is known
    plimsoll_version TEXT NOT NULL
) STRICT;

-- What statements have in common.
CREATE TABLE template (
    id INTEGER PRIMARY KEY,
    shape TEXT NOT NULL, -- without blanks, comments and values, in small letters: all of one kind have one shape
    text TEXT NOT NULL,  -- as it was written, with ? in place of each value and each comment
    params TEXT          -- JSON array: for each value that came apart from a prepared statement the number of its parameter, and which token of
                         -- the statement is the first of it and which the first behind it; NULL if it was sent as text
) STRICT;

-- The schemas (of PostgreSQL: databases) that statements are in.
CREATE TABLE schema_name (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL -- empty for none
) STRICT;

-- The statements in the order of the log, those of transactions and sessions included.
CREATE TABLE statement (
    id INTEGER PRIMARY KEY,    -- 1, 2, ...
    line INTEGER NOT NULL,     -- where it began in the log; of a capture its number
    session INTEGER NOT NULL,  -- the session that sent it
    schema INTEGER NOT NULL REFERENCES schema_name (id),
    began_us INTEGER NOT NULL,
    took_us INTEGER,           -- NULL if the log does not have it in the same entry
    template INTEGER NOT NULL REFERENCES template (id),
    vals TEXT NOT NULL,        -- JSON array: what stands in place of each ? of the template
    failed INTEGER,            -- 1 if the server answered an error, 0 if not; this and what follows is NULL if the log does not have it
    sent INTEGER,              -- rows that it returned
    affected INTEGER,          -- rows that it changed
    made_id INTEGER,           -- the id that it made for the first row that it inserted (MySQL, MariaDB)
    last_id INTEGER,           -- what LAST_INSERT_ID() was
    made TEXT                  -- the ids of the rows that it inserted (PostgreSQL): their column and each of them, with tabs between
) STRICT;

-- What the log says of the end of a session or of its last statement in an entry of its own, in the order of the log.
CREATE TABLE session_end (
    id INTEGER PRIMARY KEY,
    after INTEGER NOT NULL,   -- the last statement before that entry
    session INTEGER NOT NULL,
    ended_us INTEGER,         -- when the last statement of the session ended; NULL if the session itself is over
    failed INTEGER NOT NULL   -- 1 if that statement ended with an error
) STRICT;

-- What of the log is no statement, cannot be kept, or is a question of plimsoll itself, by kind.
CREATE TABLE skipped (
    kind TEXT NOT NULL PRIMARY KEY,
    count INTEGER NOT NULL,
    first_line INTEGER NOT NULL -- 0 if there are no lines
) STRICT;

-- Settings of the server that was asked for them when the file was made; none if none was asked.
CREATE TABLE setting (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- The tables that statements name, as large as they were on that server.
CREATE TABLE table_size (
    name TEXT NOT NULL PRIMARY KEY,
    rows INTEGER, -- by the statistics of the server; NULL if they have none
    bytes INTEGER -- with its indexes
) STRICT;
