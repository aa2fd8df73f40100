-- What a statement may have changed; changes nothing itself.
\echo == relations
SELECT format('SELECT %L, count(*), md5(coalesce(string_agg(h, '''' ORDER BY h),'''')) FROM (SELECT md5(%s::text) AS h FROM %I.%I x) y', n.nspname||'.'||c.relname, CASE WHEN c.relkind='S' THEN 'ROW(last_value,log_cnt,is_called)' ELSE 'record_out(x)' END, n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace
WHERE c.relkind IN ('r','S','m') AND c.relpersistence<>'t' AND n.nspname NOT LIKE 'pg_toast%' AND n.nspname<>'information_schema' AND (n.nspname<>'pg_catalog' OR c.relname NOT IN ('pg_largeobject')) ORDER BY 1 \gexec
SELECT 'large objects', m.oid, m.lomowner, (SELECT md5(string_agg(l::text,'' ORDER BY pageno)) FROM pg_largeobject l WHERE l.loid=m.oid) FROM pg_largeobject_metadata m ORDER BY 2;
SELECT 'temp', n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace WHERE relpersistence='t' ORDER BY 1,2,3;
\echo == file nodes
SELECT n.nspname, c.relname, pg_relation_filenode(c.oid), pg_relation_size(c.oid,'main') FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace WHERE relkind IN ('r','i','m','S') AND nspname NOT IN ('pg_catalog','pg_toast','information_schema') AND relpersistence<>'t' ORDER BY 1,2;
\echo == settings
SELECT name, setting, source, sourcefile, pending_restart FROM pg_settings WHERE name NOT IN ('application_name','search_path','client_min_messages','jit','lock_timeout','default_transaction_read_only','transaction_read_only','client_encoding') ORDER BY 1;
SELECT 'config loaded', pg_conf_load_time(), pg_postmaster_start_time();
\echo == wal file, checkpoint
-- No number of transactions: a schema of plimsoll's own, which it makes and removes, takes some.
SELECT pg_walfile_name(pg_current_wal_lsn()), (pg_control_checkpoint()).checkpoint_lsn;
\echo == other sessions
SELECT pid, datname, usename, application_name, state, backend_xid, (xact_start IS NOT NULL) FROM pg_stat_activity WHERE pid<>pg_backend_pid() AND backend_type NOT IN ('autovacuum worker','autovacuum launcher') AND backend_type NOT LIKE 'parallel%' ORDER BY backend_type, pid;
\echo == locks of others
SELECT pid, locktype, database, relation::regclass, classid, objid, objsubid, transactionid, mode, granted FROM pg_locks WHERE pid IS DISTINCT FROM pg_backend_pid() ORDER BY 1,2,3,4::text,5,6,7,8::text,9;
\echo == prepared transactions
SELECT gid, owner, database FROM pg_prepared_xacts ORDER BY 1;
\echo == replication
SELECT slot_name, plugin, slot_type, database, temporary, active, xmin, catalog_xmin, restart_lsn, confirmed_flush_lsn, two_phase FROM pg_replication_slots ORDER BY 1;
SELECT * FROM pg_replication_origin_status ORDER BY 1; SELECT usename, application_name, state FROM pg_stat_replication ORDER BY 1,2;
\echo == statistics resets
SELECT 'db', datname, stats_reset FROM pg_stat_database ORDER BY 2; SELECT 'bgwriter', stats_reset FROM pg_stat_bgwriter; SELECT 'archiver', stats_reset FROM pg_stat_archiver; SELECT 'wal', stats_reset FROM pg_stat_wal; SELECT 'slru', name, stats_reset FROM pg_stat_slru ORDER BY 2;
SELECT 'tables', relid::regclass, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, last_analyze, last_vacuum, analyze_count, vacuum_count FROM pg_stat_user_tables ORDER BY 2::text;
SELECT 'slots', slot_name, stats_reset FROM pg_stat_replication_slots ORDER BY 2;
SELECT 'recovery prefetch', stats_reset FROM pg_stat_recovery_prefetch;
SELECT 'statements', stats_reset FROM public.pg_stat_statements_info;
