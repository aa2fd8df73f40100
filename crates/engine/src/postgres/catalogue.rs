//! What a replay of reads asks of PostgreSQL about functions, views, types and operators, and about the role.
//!
//! Objects of users have numbers from 16384 on (`FirstNormalObjectId`). An aggregate is always IMMUTABLE, so its functions decide. `t.f` calls
//! f(t), a cast calls a function, and a domain its constraint: the names of all of these count wherever they stand.

use crate::sql::replay_catalogue::CatalogueWords;

pub(super) const WORDS: CatalogueWords = CatalogueWords {
    names: &[
        "SELECT p.proname, CASE WHEN bool_or(v.is_volatile) THEN 'suspicious' ELSE 'harmless' END, NULL \
         FROM pg_proc p, LATERAL (SELECT p.provolatile = 'v' OR p.prokind = 'p' OR EXISTS (SELECT FROM pg_aggregate a \
         JOIN pg_proc f ON f.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, \
         a.aggminvtransfn, a.aggmfinalfn) WHERE a.aggfnoid = p.oid AND f.provolatile = 'v' AND f.oid >= 16384) AS is_volatile) v \
         GROUP BY p.proname HAVING NOT bool_or(v.is_volatile) OR bool_or(v.is_volatile AND p.oid >= 16384)",
        "SELECT n, 'suspicious', NULL FROM (SELECT typname, format_type(oid, NULL) FROM pg_type t WHERE EXISTS (SELECT FROM pg_proc p \
         WHERE p.oid IN (t.typinput, t.typoutput, t.typmodin) AND p.provolatile = 'v' AND p.oid >= 16384) \
         UNION ALL SELECT t.typname, format_type(t.oid, NULL) FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc JOIN pg_type t ON t.oid = c.casttarget \
         WHERE p.provolatile = 'v' AND p.oid >= 16384) x (a, b), LATERAL (VALUES (a), (split_part(b, ' ', 1))) y (n)",
        // Whoever reads a foreign table starts a program, or acts over a connection that is not read-only.
        "SELECT relname, 'suspicious', NULL FROM pg_class WHERE relkind = 'f'",
    ],
    definitions: &[
        "SELECT relname, pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v' AND oid >= 16384",
        "SELECT tablename, 'SELECT ' || coalesce(qual, 'true') FROM pg_policies",
        "SELECT t.typname, 'SELECT ' || pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_type t ON t.oid = c.contypid",
    ],
    operators: &[
        "SELECT oprname FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode WHERE p.provolatile = 'v' AND p.oid >= 16384",
    ],
    powers: &[
        "SELECT 'SUPERUSER' FROM pg_roles WHERE rolname = current_user AND rolsuper UNION ALL SELECT r.rolname FROM pg_roles r \
               WHERE r.rolname IN ('pg_write_server_files', 'pg_execute_server_program', 'pg_signal_backend', 'pg_read_server_files') \
               AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AND pg_has_role(current_user, r.oid, 'member')",
    ],
    enough: "pg_read_all_data",
};
