-- The run file: one run of plimsoll, format 1 (`PRAGMA user_version`), application_id 0x504C494D ("PLIM").
--
-- Times ending in _ns are nanoseconds of the monotonic clock. Those that name a moment (start_ns, end_ns, at_ns) count from
-- the beginning of the run; meta.started_unix_ms is that moment.
-- Rows of interval, histogram and generator are increments: a client that was blocked delivers its part late, as a further
-- row of an old interval. Sum them (lag_max_ns and max_ns: take the greatest). Percentiles are not stored: merge the histograms of the
-- rows that you want and compute percentiles from the result.
-- A column `host` names the host that a row is of: 0 is the machine that recorded the run, which is alone in most runs. Intervals of the
-- same number are the same time on all hosts of a point, so a sum over all rows is what the point did.

-- What is known of the run as a whole.
CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY, -- run_id, started_unix_ms, plimsoll_version, plan, environment (facts about the machine, as text),
                                   -- machine (the same facts as numbers, for programs)
    value TEXT NOT NULL            -- JSON
) STRICT;

-- One point of the matrix, measured once.
CREATE TABLE point (
    id INTEGER PRIMARY KEY,   -- 1, 2, ... in the order in which they were measured
    state TEXT NOT NULL,      -- 'complete', 'partial' (interrupted, or its recorder was killed) or 'failed'
    error TEXT,               -- why it is not complete, as text
    target TEXT NOT NULL,     -- the name of the engine, or the path that was measured
    workload TEXT NOT NULL,   -- the name of the workload
    clients INTEGER NOT NULL, -- number of concurrent clients
    depth INTEGER NOT NULL,   -- operations that one client kept in flight
    repeat INTEGER NOT NULL,  -- the number of the repeat, from 1
    params TEXT NOT NULL,     -- JSON object: the parameters of engine and workload, as they are written in a plan
    trial TEXT NOT NULL,      -- JSON: everything that was planned for this point (the code calls a planned point a trial)
    facts TEXT NOT NULL,      -- JSON array of {name, value}: what the engine reported about itself, as text
    traits TEXT NOT NULL      -- JSON object of numbers and words for programs: engine (its settings), work (the workload's parameters),
                              -- course (the place of the point in its run), outcome (what was counted once) and defaults (the names of
                              -- parameters that have their default). A key that is missing or null is not known. Sizes are in bytes
                              -- (_bytes), times in seconds (_s). imported (a program with its version) is there only if the point was
                              -- not measured but imported; observed (what was seen of a server that others load: its statements with
                              -- their cost, what could not be seen) only if it was watched
) STRICT;

-- A host of a point. Empty for a point that only the recording machine measured.
CREATE TABLE host (
    point INTEGER NOT NULL REFERENCES point (id),
    host INTEGER NOT NULL,     -- its number in the point; the columns of that name in other tables refer to it
    name TEXT NOT NULL,
    incarnation TEXT NOT NULL, -- which agent of that name: one that was started again is another
    role TEXT NOT NULL,        -- 'load' (clients run on it), 'observe' (a node of the database runs on it) or 'load-and-observe'
    clients INTEGER,           -- its clients; NULL if it has no part of the load, or it is not known
    part REAL,                 -- its part of all operations as it was planned, from 0 to 1; NULL with `clients`
    facts TEXT NOT NULL,       -- JSON array of {name, value}: what is known of the machine, as text
    clock_offset_ns INTEGER,   -- the clock of the bus was ahead of the host's by this; NULL if it was not measured
    clock_bound_ns INTEGER,    -- that offset was off by this at most, either way; NULL with it
    start_skew_ns INTEGER,     -- how much later than planned the host began the run phase, by its own clock; NULL if it is not known
    PRIMARY KEY (point, host)
) STRICT;

-- How far the rows of a host are in this file. It changes in the same transaction in which they are written.
CREATE TABLE bus_position (
    point INTEGER NOT NULL,
    host INTEGER NOT NULL,
    last_row INTEGER NOT NULL, -- the number of the last row of the host's agent (host.incarnation) that is in the file
    PRIMARY KEY (point, host),
    FOREIGN KEY (point, host) REFERENCES host (point, host)
) STRICT;

-- A kind of operation of a point.
CREATE TABLE kind (
    point INTEGER NOT NULL REFERENCES point (id),
    kind INTEGER NOT NULL,         -- its number in the point, from 0; the columns of that name in other tables refer to it
    name TEXT NOT NULL,            -- its name, as shown in tables and charts
    class TEXT NOT NULL,           -- 'read', 'write', 'read-write', 'sync', 'index', 'drain', 'connect' or 'step'
    background INTEGER NOT NULL,   -- 1 if clients perform it in the background of the run, at a rate of their own; else 0
    queries_per_op REAL NOT NULL,  -- statements of one operation, BEGIN and COMMIT included
    rows_per_op REAL NOT NULL,     -- rows that one operation inserts on average
    PRIMARY KEY (point, kind)
) STRICT;

-- A parameter of a point, as the engine or workload declares it. Its value is in point.params.
CREATE TABLE param (
    point INTEGER NOT NULL REFERENCES point (id),
    owner TEXT NOT NULL,   -- 'engine' or 'workload'
    name TEXT NOT NULL,
    role TEXT NOT NULL,    -- 'mode', 'mix' or 'step' (the kind of work), 'work' (a detail of an operation), 'ground' (how the data
                           -- and files are made), 'indexes' (number of secondary indexes), 'cache-size', 'data-size', 'size',
                           -- 'config-file' (other settings follow from it) or 'tuning'
    used INTEGER NOT NULL, -- 1 if its value has any effect at this point; else 0
    PRIMARY KEY (point, owner, name)
) STRICT;

-- A source of counters of a point.
CREATE TABLE source (
    point INTEGER NOT NULL REFERENCES point (id),
    source INTEGER NOT NULL, -- its number in the point, from 0
    name TEXT NOT NULL,      -- 'cpu', 'disk', ...
    subject TEXT NOT NULL,   -- the device or process that is observed, if there may be several
    counters TEXT NOT NULL,  -- JSON array of {name, unit, kind, help, role, in_pages}, in the order of counter."values"; role: what the
                             -- counter measures, for programs (null if only people read it); in_pages: the counter is in pages, not bytes
    host INTEGER NOT NULL DEFAULT 0, -- the host that it is read on
    PRIMARY KEY (point, source)
) STRICT;

-- A phase of a point. A phase that was not reached has no row.
CREATE TABLE phase (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,        -- 'prepare', 'warmup', 'run' or 'cleanup'
    start_ns INTEGER NOT NULL,  -- when it began
    end_ns INTEGER,             -- when it ended; NULL if the recorder was killed before
    offered INTEGER NOT NULL,   -- arrivals that fell due for all clients with an open loop: for the measured clients if the point has
                                -- a rate (point.trial, load.pacing), for the background clients if it has those (point.traits,
                                -- course.background: their number and rate), and the sum of both if it has both; 0 if it has neither
    unserved INTEGER NOT NULL,  -- arrivals among `offered` that were never started
    PRIMARY KEY (point, phase)
) STRICT;

-- The operations of one kind that ended in one interval: increments. An imported point whose times are known for the whole run only has
-- them in one interval after the end of the phase, in which no operation is counted.
CREATE TABLE interval (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,  -- its number in the phase, from 0
    start_ns INTEGER NOT NULL,  -- when it began
    length_ns INTEGER NOT NULL, -- how long it is
    kind INTEGER,               -- kind.kind; NULL if nothing ended (the other columns are then 0)
    ok INTEGER NOT NULL,        -- operations done
    failed INTEGER NOT NULL,    -- operations failed; they are in no histogram
    bytes INTEGER NOT NULL,     -- payload moved by the operations done
    late INTEGER NOT NULL,      -- operations among `ok` and `failed` that fell due while every client was busy (open loop)
    host INTEGER NOT NULL DEFAULT 0 -- whose clients did them
) STRICT;

-- Rows of the operations of one kind that ended in one interval: increments. Only of engines that tell them; of operations without any
-- there is no row here. Files of plimsoll 0.1.0 before its release have no such table.
CREATE TABLE interval_rows (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    returned INTEGER NOT NULL, -- rows in the answers to the operations done
    changed INTEGER NOT NULL,  -- rows that they inserted, updated or deleted, as the engine counts them
    missed INTEGER NOT NULL,   -- operations among `ok` of which a statement returned or changed another number of rows than it must
    idle INTEGER NOT NULL,     -- operations among `ok` of which a statement found no row, which may be, and is rare
    host INTEGER NOT NULL DEFAULT 0 -- whose clients did them
) STRICT;

-- Commits of changed rows by the operations of one kind that ended in one interval: increments. Where there were none there is no row here.
CREATE TABLE interval_commits (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    commits INTEGER NOT NULL,
    host INTEGER NOT NULL DEFAULT 0 -- whose clients committed
) STRICT;

-- Times of the operations of one kind that ended in one interval: increments.
CREATE TABLE histogram (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    what TEXT NOT NULL,      -- 'response' (finished - intended), 'service' (finished - started), or 'both' if the two are equal for
                             -- every operation (closed loop)
    count INTEGER NOT NULL,  -- operations in it
    sum_ns INTEGER NOT NULL, -- the exact sum of their times
    max_ns INTEGER NOT NULL, -- the exact longest time
    hdr BLOB NOT NULL,       -- HdrHistogram V2 with DEFLATE, lowest value 1 ns, three significant digits
    host INTEGER NOT NULL DEFAULT 0 -- whose clients did them
) STRICT;

-- What the generator itself used in one interval, summed over its client threads: increments.
CREATE TABLE generator (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    cpu_user_ns INTEGER NOT NULL,      -- CPU in user mode (an embedded engine's part included)
    cpu_system_ns INTEGER NOT NULL,    -- CPU in the kernel
    context_switches INTEGER NOT NULL, -- voluntary and not
    lag_count INTEGER NOT NULL,        -- arrivals for which a client was waiting in time but woke up late: their number,
    lag_sum_ns INTEGER NOT NULL,       -- the sum of started - intended over them,
    lag_max_ns INTEGER NOT NULL,       -- and the longest
    host INTEGER NOT NULL DEFAULT 0 -- whose clients they are
) STRICT;

-- One reading of one source.
CREATE TABLE counter (
    point INTEGER NOT NULL REFERENCES point (id),
    at_ns INTEGER NOT NULL,  -- when it was read
    source INTEGER NOT NULL, -- source.source
    "values" TEXT NOT NULL   -- JSON array of numbers in the order of source.counters; null is a gap
) STRICT;

-- What happened at a moment.
CREATE TABLE event (
    point INTEGER NOT NULL REFERENCES point (id),
    at_ns INTEGER NOT NULL, -- when
    kind TEXT NOT NULL,     -- 'phase', 'failure', 'missing', 'hung', 'source_gap', 'clock_gap', 'own_stop', 'own_wait', 'own_gap_end',
                            -- 'suspend', 'restart', 'setting', 'host_silent', 'host_lost', 'clock_step', 'stacks', 'stopped' or
                            -- 'engine'
    text TEXT NOT NULL,     -- what exactly, in words
    host INTEGER NOT NULL DEFAULT 0 -- where it happened
) STRICT;

-- The stacks of the engine's threads at one moment (key `stacks` of a plan).
CREATE TABLE stack_snapshot (
    point INTEGER NOT NULL REFERENCES point (id),
    at_ns INTEGER NOT NULL,      -- when the tool that took them was started
    reason TEXT NOT NULL,        -- 'stall' (almost nothing was done) or 'random' (a moment that does not depend on the load)
    tool TEXT NOT NULL,          -- 'eu-stack', 'gdb' or 'perf'
    took_ns INTEGER NOT NULL,    -- how long the tool ran
    stopped_ns INTEGER NOT NULL, -- for how much of that the engine, or a part of it, was stopped
    folded TEXT NOT NULL,        -- a line for each stack: the thread's name and its functions, the outermost first, with ';' between them,
                                 -- a space, and in how many threads it was seen (of perf: in how many samples)
    host INTEGER NOT NULL DEFAULT 0 -- where they were taken
) STRICT;

-- The operations that ended in one interval on one endpoint of an engine that has several (the nodes of a cluster): increments. All
-- clients are counted, those in the background, too.
CREATE TABLE endpoint_interval (
    point INTEGER NOT NULL REFERENCES point (id),
    phase TEXT NOT NULL,
    interval INTEGER NOT NULL,
    endpoint INTEGER NOT NULL, -- its number, from 0: the place of its name in point.traits, engine.endpoints
    failed TEXT NOT NULL,      -- JSON object: the number of operations failed, by class ('lost', 'conflict', ...)
    ok INTEGER NOT NULL,       -- operations done: those in the histogram
    hdr BLOB,                  -- their response times, as in histogram; NULL if `ok` is 0
    sum_ns INTEGER NOT NULL,   -- the exact sum of these times
    max_ns INTEGER NOT NULL,   -- the exact longest of them
    host INTEGER NOT NULL DEFAULT 0 -- whose clients did them
) STRICT;

-- For people: one row per point, phase, interval and kind of operation, all increments summed; kind is NULL if nothing ended. ops_per_s is
-- over the whole length of the interval, also of the last one, which the end of the phase may have cut short.
CREATE VIEW throughput_by_kind AS
SELECT i.point, p.target, p.workload, p.clients, p.depth, p.repeat, i.phase, i.interval,
       min(i.start_ns) AS start_ns, max(i.length_ns) AS length_ns,
       k.name AS kind, coalesce(k.class, '') AS class, coalesce(k.background, 0) AS background,
       sum(i.ok) AS ok, sum(i.failed) AS failed, sum(i.bytes) AS bytes, sum(i.late) AS late,
       sum(i.ok) * 1e9 / max(i.length_ns) AS ops_per_s
FROM interval i JOIN point p ON p.id = i.point LEFT JOIN kind k ON k.point = i.point AND k.kind = i.kind
GROUP BY i.point, i.phase, i.interval, i.kind;

-- For people: one row per point, phase and interval, as reports count: the operations of background clients (kind.background) are not
-- in it, syncs (kind.class 'sync') are.
CREATE VIEW throughput AS
SELECT point, target, workload, clients, depth, repeat, phase, interval,
       min(start_ns) AS start_ns, max(length_ns) AS length_ns,
       sum(iif(background, 0, ok)) AS ok, sum(iif(background, 0, failed)) AS failed,
       sum(iif(background, 0, bytes)) AS bytes, sum(iif(background, 0, late)) AS late,
       sum(iif(background, 0, ok)) * 1e9 / max(length_ns) AS ops_per_s
FROM throughput_by_kind
GROUP BY point, phase, interval;

-- For people: the same for each host of a point that has several.
CREATE VIEW throughput_by_host AS
SELECT i.point, h.name AS host, i.phase, i.interval, min(i.start_ns) AS start_ns, max(i.length_ns) AS length_ns,
       sum(iif(k.background, 0, i.ok)) AS ok, sum(iif(k.background, 0, i.failed)) AS failed,
       sum(iif(k.background, 0, i.ok)) * 1e9 / max(i.length_ns) AS ops_per_s
FROM interval i JOIN host h ON h.point = i.point AND h.host = i.host
LEFT JOIN kind k ON k.point = i.point AND k.kind = i.kind
GROUP BY i.point, i.host, i.phase, i.interval;

-- For people: one row per reading and counter, with the counter's name.
CREATE VIEW counter_long AS
SELECT c.point, c.at_ns, s.host, s.name AS source, s.subject,
       json_extract(d.value, '$.name') AS name, json_extract(d.value, '$.unit') AS unit,
       json_extract(d.value, '$.kind') AS kind, v.value AS value
FROM counter c
JOIN source s ON s.point = c.point AND s.source = c.source
JOIN json_each(c."values") v
JOIN json_each(s.counters) d ON d.key = v.key;
