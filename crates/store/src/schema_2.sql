-- The tables of format 2, which is read and no longer written. schema.sql explains what is still there today.

CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE point (
    id INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    error TEXT,
    target TEXT NOT NULL,
    workload TEXT NOT NULL,
    clients INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    params TEXT NOT NULL,
    trial TEXT NOT NULL,
    facts TEXT NOT NULL,
    traits TEXT NOT NULL
) STRICT;

CREATE TABLE kind (
    point INTEGER NOT NULL REFERENCES point (id),
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    class TEXT NOT NULL,
    background INTEGER NOT NULL,
    queries_per_op REAL NOT NULL,
    rows_per_op REAL NOT NULL,
    PRIMARY KEY (point, kind)
) STRICT;

CREATE TABLE param (
    point INTEGER NOT NULL REFERENCES point (id),
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (point, owner, name)
) STRICT;

CREATE TABLE source (
    point INTEGER NOT NULL REFERENCES point (id),
    source INTEGER NOT NULL,
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    counters TEXT NOT NULL,
    PRIMARY KEY (point, source)
) STRICT;

CREATE TABLE phase (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER,
    offered INTEGER NOT NULL,
    unserved INTEGER NOT NULL,
    PRIMARY KEY (point, phase)
) STRICT;

CREATE TABLE interval (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    kind INTEGER,
    ok INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    late INTEGER NOT NULL
) STRICT;

CREATE TABLE histogram (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    what TEXT NOT NULL,
    count INTEGER NOT NULL,
    sum_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL,
    hdr BLOB NOT NULL
) STRICT;

CREATE TABLE generator (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    cpu_user_ns INTEGER NOT NULL,
    cpu_system_ns INTEGER NOT NULL,
    context_switches INTEGER NOT NULL,
    lag_count INTEGER NOT NULL,
    lag_sum_ns INTEGER NOT NULL,
    lag_max_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE counter (
    point INTEGER NOT NULL REFERENCES point (id),
    at_ns INTEGER NOT NULL,
    source INTEGER NOT NULL,
    "values" TEXT NOT NULL
) STRICT;

CREATE TABLE event (
    point INTEGER NOT NULL REFERENCES point (id),
    at_ns INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE stack_snapshot (
    point INTEGER NOT NULL REFERENCES point (id),
    at_ns INTEGER NOT NULL,
    reason TEXT NOT NULL,
    tool TEXT NOT NULL,
    took_ns INTEGER NOT NULL,
    stopped_ns INTEGER NOT NULL,
    folded TEXT NOT NULL
) STRICT;

CREATE TABLE endpoint_interval (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    failed TEXT NOT NULL,
    ok INTEGER NOT NULL,
    hdr BLOB,
    sum_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL
) STRICT;
