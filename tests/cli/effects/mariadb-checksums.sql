-- Prints the statements that print the contents of all tables and sequences.
SET SESSION group_concat_max_len=1000000;
SELECT CONCAT('CHECKSUM TABLE ',GROUP_CONCAT(CONCAT('`',table_schema,'`.`',table_name,'`') ORDER BY table_schema,table_name),' EXTENDED;') FROM information_schema.tables WHERE table_type IN ('BASE TABLE','SYSTEM VERSIONED') AND table_schema NOT IN ('information_schema','performance_schema','sys');
SELECT CONCAT('SELECT ''seq ',table_schema,'.',table_name,''', s.* FROM `',table_schema,'`.`',table_name,'` s;') FROM information_schema.tables WHERE table_type='SEQUENCE' ORDER BY 1;
