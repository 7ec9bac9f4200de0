# Statements of a caller who means harm, one a line. The mark before a statement says what must come of it:
#   !  it is refused with 400, and validation calls it invalid
#   x  it is refused with 400 or 422
#   ^  it is refused as too heavy: 408, 413 or 422
#   ?  it is answered, or refused with 400 or 422, and harmless
#   =  it is answered with the rows that stand before it as JSON
# {secret} is a file that is there, {folder} its folder, {U+212A} a character, {9*ab} a text nine times, in
# which <n> is the number of the repetition, <m> the number before, and <end> a closing brace. {{name}} is a
# parameter of parameters.json.

# Readers of files, in every form of a call.
! SELECT * FROM read_csv(['{secret}', '{secret}'], union_by_name = true, filename = true)
! SELECT * FROM read_csv('{secret}', columns = {'a': 'VARCHAR'}, auto_detect = false)
! SELECT * FROM read_csv('{secret}', store_rejects = true)
! SELECT * FROM read_csv('/dev/stdin')
! SELECT * FROM read_csv('/dev/fd/0')
! SELECT * FROM read_text('file://{secret}')
! SELECT * FROM read_text('file://localhost{secret}')
! SELECT * FROM read_text('{folder}/data/../secret.csv')
! SELECT * FROM read_text('secret.csv')
! SELECT * FROM read_text(concat('{folder}', '/', 'secret.csv'))
! SELECT * FROM read_blob(['/etc/hostname', '{secret}'])
! SELECT * FROM read_blob('/proc/self/fd/0')
! SELECT * FROM read_blob('/proc/1/environ')
! SELECT * FROM read_text('/proc/self/root/etc/passwd')
! SELECT * FROM read_json_objects('{secret}')
! SELECT * FROM read_json_objects_auto('{secret}')
! SELECT * FROM read_ndjson_auto('{secret}')
! SELECT * FROM read_xlsx('{secret}', sheet = 'a')
! SELECT * FROM read_avro('{secret}')
! SELECT * FROM read_arrow('{secret}')
! SELECT * FROM st_read('{secret}')
! SELECT * FROM iceberg_scan('{folder}', allow_moved_paths = true)
! SELECT * FROM iceberg_metadata('{folder}')
! SELECT * FROM delta_scan('file://{folder}')
! SELECT * FROM postgres_scan('host=127.0.0.1 port=1', 'public', 'a')
! SELECT * FROM postgres_query('a', 'SELECT 1')
! SELECT * FROM mysql_query('a', 'SELECT 1')
! SELECT * FROM sqlite_query('{secret}', 'SELECT 1')
! SELECT * FROM parquet_bloom_probe('{folder}/a.parquet', 'a', 1)
! SELECT * FROM parquet_full_metadata('{folder}/a.parquet')
! SELECT * FROM read_parquet('{secret}', encryption_config = {footer_key: 'a'})
! SELECT * FROM read_csv('{secret}') AS t(a, b) WHERE a LIKE 's%'
! SELECT * FROM read_text('{secret}') WITH ORDINALITY
! SELECT * FROM read_text('{secret}') TABLESAMPLE 100%
! SELECT t.content[1:10] FROM "read_text" ( '{secret}' ) t
! SELECT * FROM ROWS FROM (read_text('{secret}'))
! SELECT * FROM TABLE(read_text('{secret}'))

# A reader of files in every place of a statement.
! SELECT * FROM kept ASOF JOIN read_csv('{secret}') s ON kept.name >= s.a
! SELECT * FROM kept NATURAL JOIN read_csv_auto('{secret}')
! SELECT * FROM kept SEMI JOIN read_text('{secret}') t ON true
! SELECT * FROM kept ANTI JOIN glob('{folder}/*') g ON kept.name = g.file
! SELECT * FROM kept LEFT JOIN (FROM read_blob('{secret}')) b ON true
! SELECT * FROM kept FULL JOIN read_text('{secret}') b USING (filename)
! SELECT * FROM kept POSITIONAL JOIN read_text('{secret}')
! SELECT * FROM (kept CROSS JOIN read_text('{secret}'))
! SELECT * FROM kept JOIN kept k ON k.name = (SELECT content FROM read_text('{secret}'))
! ((FROM read_text('{secret}') SELECT content))
! FROM read_text('{secret}') SELECT content WHERE true LIMIT 1
! VALUES ((SELECT content FROM read_text('{secret}')))
! SELECT ARRAY(SELECT content FROM read_text('{secret}'))
! SELECT list_transform([1], x -> (SELECT content FROM read_text('{secret}')))
! SELECT list_transform([1], lambda x: (SELECT content FROM read_text('{secret}')))
! SELECT list_reduce([1, 2], (a, b) -> a + (SELECT size FROM read_blob('{secret}')))
! SELECT [c FOR c IN (SELECT list(content) FROM read_text('{secret}'))]
! SELECT [1 FOR c IN [1, 2] IF (SELECT content FROM read_text('{secret}')) LIKE 's%']
! SELECT MAP {'a': (SELECT content FROM read_text('{secret}'))}
! SELECT * FROM unnest((SELECT list(file) FROM glob('{folder}/**')))
! SELECT * FROM generate_series(1, (SELECT count(*) FROM glob('/etc/*')))
! SELECT * FROM json_each((SELECT content FROM read_text('{secret}')))
! SELECT size FROM read_blob('{secret}') INTERSECT ALL SELECT 1
! SELECT content FROM read_text('{secret}') EXCEPT SELECT ''
! SELECT id FROM kept UNION BY NAME SELECT content AS id FROM read_text('{secret}')
! SELECT * FROM kept WHERE name < ALL (SELECT content FROM read_text('{secret}'))
! SELECT * FROM kept WHERE (id, name) IN (SELECT size, content FROM read_text('{secret}'))
! SELECT * FROM kept WHERE EXISTS (SELECT 1 FROM read_text('{secret}') WHERE content > kept.name)
! SELECT * FROM kept WHERE NOT EXISTS (FROM glob('{secret}'))
! SELECT * FROM kept ORDER BY (SELECT content FROM read_text('{secret}'))
! SELECT * FROM kept LIMIT (SELECT size FROM read_blob('{secret}'))
! SELECT * FROM kept LIMIT 1 OFFSET (SELECT size FROM read_blob('{secret}'))
! SELECT DISTINCT ON ((SELECT content FROM read_text('{secret}'))) * FROM kept
! SELECT CASE (SELECT content FROM read_text('{secret}')) WHEN 'a' THEN 1 END
! SELECT TRY((SELECT content FROM read_text('{secret}')))
! SELECT TRY_CAST((SELECT content FROM read_text('{secret}')) AS INTEGER)
! SELECT count(*) FILTER (WHERE name IN (SELECT content FROM read_text('{secret}'))) FROM kept
! SELECT string_agg(name, (SELECT content FROM read_text('{secret}')) ORDER BY id) FROM kept
! SELECT list(name ORDER BY (SELECT content FROM read_text('{secret}'))) FROM kept
! SELECT sum(id) OVER (ORDER BY id ROWS (SELECT size FROM read_blob('{secret}')) PRECEDING) FROM kept
! SELECT sum(id) OVER (PARTITION BY (SELECT content FROM read_text('{secret}'))) FROM kept
! SELECT name FROM kept GROUP BY ROLLUP (name, (SELECT content FROM read_text('{secret}')))
! SELECT id FROM kept GROUP BY ALL HAVING (SELECT content FROM read_text('{secret}')) > ''
! SELECT * FROM kept QUALIFY row_number() OVER (ORDER BY (SELECT content FROM read_text('{secret}'))) = 1
! WITH RECURSIVE r AS (SELECT content FROM read_text('{secret}') UNION ALL SELECT content FROM r) SELECT * FROM r
! WITH RECURSIVE r AS (SELECT '' AS c UNION ALL SELECT content FROM r, read_text('{secret}')) SELECT * FROM r LIMIT 2
! WITH RECURSIVE r(a, b) USING KEY (a) AS (SELECT 1, '' UNION SELECT 1, content FROM read_text('{secret}')) FROM r
! WITH a AS NOT MATERIALIZED (SELECT * FROM glob('{folder}/*')) SELECT count(*) FROM a, a b
! WITH a AS (WITH b AS (WITH c AS (FROM read_text('{secret}')) FROM c) FROM b) FROM a
! WITH unused AS (FROM read_text('{secret}')) SELECT 1
! WITH kept AS (FROM read_text('{secret}')) SELECT * FROM kept
! SELECT (WITH a AS (FROM read_text('{secret}')) SELECT content FROM a)
! FROM (VALUES ('{secret}')) t(f), LATERAL (SELECT * FROM read_text(f))
! FROM kept, LATERAL (SELECT * FROM glob(kept.name || '*'))
! PIVOT (FROM read_csv('{secret}')) ON b USING first(a)
! PIVOT kept ON name IN (SELECT content FROM read_text('{secret}')) USING first(id)
! PIVOT kept ON name USING max((SELECT content FROM read_text('{secret}')))
! FROM kept UNPIVOT (v FOR n IN (id, (SELECT content FROM read_text('{secret}'))))
! SELECT COLUMNS(c -> c IN (SELECT content FROM read_text('{secret}'))) FROM kept
! SELECT * EXCLUDE (id) REPLACE ((FROM read_text('{secret}') SELECT content) AS name) FROM kept
! SELECT {'a': {'b': [(SELECT content FROM read_text('{secret}'))]}}
! SELECT 'a' LIKE (SELECT content FROM read_text('{secret}')) ESCAPE '!'
! SELECT 1 BETWEEN 0 AND (SELECT size FROM read_blob('{secret}'))
! SELECT (SELECT content FROM read_text('{secret}'))::JSON ->> '$.a'
! SELECT (SELECT content FROM read_text('{secret}'))[1]
! SELECT (SELECT t FROM read_text('{secret}') t).content
! SELECT -(SELECT size FROM read_blob('{secret}'))
! SELECT INTERVAL ((SELECT size FROM read_blob('{secret}'))) DAY
! SELECT 'a' COLLATE NOCASE = (SELECT content FROM read_text('{secret}'))
! SELECT * FROM (VALUES (1), ((SELECT size FROM read_blob('{secret}')))) t(a)
! SELECT * FROM kept USING SAMPLE (SELECT size FROM read_blob('{secret}')) ROWS
! {100*(}SELECT content FROM read_text('{secret}'){100*)}

# Files and addresses in the place of a table.
! FROM 'secret.csv'
! FROM "secret.csv"
! FROM "SECRET.CSV"
! FROM './secret.csv'
! FROM 'secret.*'
! FROM "sec?et.csv"
! FROM '{folder}/s[e]cret.csv'
! FROM '{folder}/**'
! FROM '{folder}'
! FROM '{folder}/'
! FROM '~/.bashrc'
! FROM '{secret}' AS kept
! SELECT kept.* FROM '{secret}' kept(a, b)
! FROM 'secret.tsv'
! FROM '{secret}.gz'
! FROM '{secret}.zst'
! FROM '{folder}/secret.json'
! FROM '{folder}/secret.jsonl.gz'
! FROM '{folder}/secret.ndjson.zst'
! FROM '{folder}/secret.xlsx'
! FROM '{folder}/secret.db'
! FROM '{folder}/secret.duckdb'
! FROM '{folder}/secret.arrow'
! FROM '{folder}/data/cache/**/*.parquet'
! FROM E'{secret}'
! FROM E'secret\x2ecsv'
! FROM $${secret}$$
! FROM "main"."{secret}"
! FROM memory."{secret}"
! FROM memory.main."secret.csv"
! FROM ''
! FROM ""
! FROM '.'
! FROM '/'
! FROM '{U+202E}vsc.terces'
! FROM 'secret.csv{U+0000}.parquet'
! FROM 'secret.csv{U+200B}'
! FROM '{5000*a}.csv'
! FROM 'a.csv{1000*/..}/etc/passwd'
! FROM 'http://127.0.0.1:1/a.parquet'
! FROM 'http://169.254.169.254/latest/meta-data/a.json'
! FROM "https://127.0.0.1:1/a.csv?b=c.json"
! FROM 's3a://bucket/a.parquet'
! FROM 's3n://bucket/*.parquet'
! FROM 'gs://bucket/a.csv.gz'
! FROM 'gcs://bucket/a.json'
! FROM 'r2://bucket/a.parquet'
! FROM 'az://container/a.parquet'
! FROM 'abfss://container@account.dfs.core.windows.net/a.csv'
! FROM 'hf://datasets/a/b/c.csv'
! FROM 'ftp://127.0.0.1/a.csv'
! FROM 'file:///etc/passwd.csv'
! FROM 'data:text/csv;base64,YSxiCjEsMgo='
! FROM 'md:a.b'
! FROM "\\127.0.0.1\share\a.csv"
! WITH a AS (SELECT 1) FROM a, 'secret.csv'
! WITH "secret" AS (SELECT 1) FROM "secret.csv"
! WITH "secret.csv " AS (SELECT 1) FROM "secret.csv"
! FROM (WITH "secret.csv" AS (SELECT 1) FROM "secret.csv"), "secret.csv"
! (WITH "secret.csv" AS (SELECT 1) FROM "secret.csv") UNION ALL FROM "secret.csv"
! WITH a AS (FROM "secret.csv"), "secret.csv" AS (SELECT 1) FROM a
! WITH "secret.csv" AS (FROM "secret.csv") FROM "secret.csv"
= [[7]] WITH "secret.csv" AS (SELECT 7) FROM "secret.csv"

# A name of a WITH that another name matches only by the letter case of Unicode.
! WITH "k.csv" AS (SELECT 1) FROM "{U+212A}.csv"
! WITH "{U+212A}.csv" AS (SELECT 1) FROM "k.csv"
! WITH "i{U+0307}.csv" AS (SELECT 1) FROM "{U+0130}.csv"
! WITH "i.csv" AS (SELECT 1) FROM "{U+0130}.csv"
! WITH "{U+0131}.csv" AS (SELECT 1) FROM "I.csv"
! WITH "{U+017F}ecret.csv" AS (SELECT 1) FROM "secret.csv"
! WITH "secret.csv" AS (SELECT 1) FROM "{U+017F}ecret.csv"
! WITH "{U+00DF}.json" AS (SELECT 1) FROM "{U+1E9E}.json"
! WITH "ss.json" AS (SELECT 1) FROM "{U+00DF}.json"
! WITH "{U+00E5}.parquet" AS (SELECT 1) FROM "{U+212B}.parquet"
! WITH "{U+03C9}.parquet" AS (SELECT 1) FROM "{U+2126}.parquet"
! WITH "{U+00E9}.csv" AS (SELECT 1) FROM "{U+00C9}.csv"
! WITH "{U+00E9}.csv" AS (SELECT 1) FROM "e{U+0301}.csv"
! WITH "{U+03B1}{U+03C2}.csv" AS (SELECT 1) FROM "{U+0391}{U+03A3}.csv"
! WITH "{U+0434}.csv" AS (SELECT 1) FROM "{U+0414}.csv"
! WITH "{U+01C6}.csv" AS (SELECT 1) FROM "{U+01C5}.csv"
! WITH "{U+AB70}.csv" AS (SELECT 1) FROM "{U+13A0}.csv"
! WITH "{U+10428}.csv" AS (SELECT 1) FROM "{U+10400}.csv"
! WITH "{U+2170}.json" AS (SELECT 1) FROM "{U+2160}.json"
! WITH "{U+FF53}.csv" AS (SELECT 1) FROM "{U+FF33}.csv"
! WITH "{folder}/{U+00E9}.csv" AS (SELECT 1) FROM "{folder}/{U+00C9}.csv"
! WITH "http://127.0.0.1:1/k.csv" AS (SELECT 1) FROM "http://127.0.0.1:1/{U+212A}.csv"
! WITH RECURSIVE "k.csv" AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM "{U+212A}.csv" WHERE a < 3) FROM "k.csv"
! WITH "k.csv" AS (SELECT 1) SELECT (SELECT count(*) FROM "{U+212A}.csv")
! WITH "{U+212A}ept" AS (SELECT 1) FROM "{U+212A}EPT" k JOIN "{U+212A}ep{U+1E6B}" USING (a)
! FROM "{U+212A}ept"
! SELECT "{U+212A}urtosis"(id) FROM kept
! SELECT * FROM "gl{U+043E}b"('/*')
? WITH "duc{U+212A}db_settings" AS (SELECT 1) FROM "duc{U+212A}db_settings"
! WITH "duc{U+212A}db_settings" AS (SELECT 1) FROM "duckdb_settings"

# The catalog and the settings, by tables and by table functions.
! FROM duckdb_constraints()
! FROM duckdb_dependencies()
! FROM duckdb_indexes()
! FROM duckdb_schemas()
! FROM duckdb_sequences()
! FROM duckdb_types()
! FROM duckdb_keywords()
! FROM duckdb_optimizers()
! FROM duckdb_prepared_statements()
! FROM duckdb_secret_types()
! FROM duckdb_log_contexts()
! FROM duckdb_logs_parsed('QueryLog')
! FROM duckdb_connection_count()
! FROM duckdb_approx_database_count()
! FROM duckdb_table_sample('kept')
! FROM duckdb_profiling_settings()
! FROM DUCKDB_Settings() AS s(a, b)
! FROM "duckdb_settings"() WHERE name = 'threads'
! SELECT value FROM kept, duckdb_settings() WHERE name = 'home_directory'
! FROM pragma_collations()
! FROM pragma_user_agent()
! FROM pragma_metadata_info('memory')
! FROM pragma_last_profiling_output()
! FROM pragma_detailed_profiling_output()
! FROM information_schema.schemata
! FROM information_schema.table_constraints
! FROM information_schema.key_column_usage
! FROM information_schema.referential_constraints
! FROM information_schema.character_sets
! FROM "information_schema"."tables" AS kept
! FROM pg_catalog.pg_settings
! FROM pg_attribute
! FROM pg_namespace
! FROM pg_proc
! FROM pg_index
! FROM pg_database
! FROM pg_type
! FROM pg_constraint
! FROM sqlite_temp_master
! FROM sqlite_temp_schema
! FROM system.pg_catalog.pg_class
! FROM system.main.sqlite_master
! FROM "system"."information_schema"."columns"
! FROM system.duckdb_settings
! FROM memory.information_schema.tables
! FROM memory.pg_catalog.pg_tables
! FROM temp.information_schema.tables
! FROM temp.main.sqlite_master
! FROM temp.kept
! FROM memory.kept
! FROM main . "kept"
! FROM main/* */./* */kept
! FROM "main.kept"
! FROM "memory.main.kept"
! FROM kept.kept
! FROM main.main.main.kept
! SELECT * FROM main.kept k, kept
! FROM system.main.range(3)
! FROM memory.range(3)
! FROM pg_catalog.generate_series(1, 3)
! FROM icu_calendar_names()
! FROM pg_timezone_names()
! FROM sql_auto_complete('SEL')
! FROM check_peg_parser('SELECT 1')
! FROM test_vector_types(NULL::INTEGER)
! FROM index_scan('kept')
! FROM arrow_scan_dumb(1, 2, 3)
! FROM python_map_function(1)
! FROM histogram_values(kept, id)
! FROM histogram(kept, id)
! FROM get_substrait('SELECT 1')
! FROM from_substrait_json('{}')
! FROM load_aws_credentials()
! FROM enable_profiling()
! FROM truncate_duckdb_logs()
! FROM start_ui()
! FROM tpch_queries()
! FROM dbgen(sf = 1)
! FROM query('SELECT content FROM read_text(''{secret}'')')
! FROM query('SELECT 1' || ' AS a')
! FROM kept, query('SELECT ' || kept.id)
! FROM query_table('k' || 'ept')
! FROM query_table(['kept', 'duckdb_settings'], true)
! FROM "query"($$FROM duckdb_settings()$$)

# Functions that read the session, the catalog, the environment or the disk, and those of other databases.
! SELECT current_connection_id()
! SELECT current_transaction_id()
! SELECT current_query_id()
! SELECT get_block_size('memory')
! SELECT inet_client_addr()
! SELECT inet_server_port()
! SELECT pg_postmaster_start_time()
! SELECT pg_conf_load_time()
! SELECT pg_my_temp_schema()
! SELECT has_schema_privilege('main', 'USAGE')
! SELECT in_search_path('memory', 'main')
! SELECT col_description(1, 1)
! SELECT format_type(23, -1)
! SELECT stats(id) FROM kept
! SELECT vector_type(id) FROM kept
! SELECT setseed(0.5)
! SELECT create_sort_key(id, 'ASC') FROM kept
! SELECT make_type('INTEGER')
! SELECT cast_to_type('1', NULL::INTEGER)
! SELECT can_cast_implicitly('1', 1)
! SELECT json_deserialize_sql(json_serialize_sql('SELECT 1'))
! SELECT parse_duckdb_log_message('QueryLog', 'a')
! SELECT icu_sort_key('a', 'de')
! SELECT __internal_decompress_string(1::UBIGINT)
! SELECT __internal_compress_integral_utinyint(7, 0)
! SELECT variant_normalize(1::VARIANT)
! SELECT st_geomfromwkb('\x01'::BLOB)
! SELECT map_to_pg_oid('integer')
! SELECT current_setting('home_directory') OVER ()
! SELECT max(current_setting('threads')) OVER (PARTITION BY id) FROM kept
! SELECT 'threads'.current_setting()
! SELECT name.getenv() FROM kept
! SELECT [name].list_transform(x -> x.getenv()) FROM kept
! SELECT list_transform(['HOME'], getenv)
! SELECT list_filter(['HOME'], x -> getenv(x) > '')
! SELECT apply(['HOME'], (x, i) -> getenv(x))
! SELECT list_reduce(['HOME', 'PATH'], (a, b) -> a || getenv(b), '')
! SELECT [[getenv(y) FOR y IN [x]] FOR x IN ['HOME']]
! SELECT COLUMNS(*)::VARCHAR || getenv('HOME') FROM kept
! SELECT TRY(getenv('HOME'))
! SELECT coalesce(NULL, getenv('HOME'))
! SELECT gEtEnV ('HOME')
! SELECT getenv/* */('HOME')
! SELECT getenv{U+00A0}('HOME')
! SELECT getenv --{U+000A} ('HOME')
! SELECT pg_catalog.version()
! SELECT system.version()
! SELECT memory.main.abs(-1)
! SELECT temp.main.lower('A')
! SELECT information_schema.abs(-1)
! SELECT pg_catalog.pg_typeof(1)
! SELECT "main"."getenv"('HOME')
= [[1]] SELECT main.abs(-1)
! SELECT lastval()
! SELECT setval('hostile', 1)
! SELECT nextval('main.hostile') FROM kept
! SELECT nextval(name) FROM kept
! SELECT pg_read_file('{secret}')
! SELECT pg_ls_dir('{folder}')
! SELECT lo_import('{secret}')
! SELECT load_file('{secret}')
! SELECT readfile('{secret}')
! SELECT writefile('{folder}/hostile.txt', 'a')
! SELECT write_blob('{folder}/hostile.txt', 'a')
! SELECT load_extension('{folder}/hostile')
! SELECT xp_cmdshell('id')
! EXEC xp_cmdshell 'id'
! SELECT system('id')
! SELECT dblink('host=127.0.0.1', 'SELECT 1')
! SELECT http_get('http://127.0.0.1:1/')
! SELECT sleep(100)
! SELECT benchmark(1000000000, md5('a'))
! WAITFOR DELAY '0:0:30'
! SELECT pg_sleep_for('1 minute')
! SELECT @@version
! SELECT @@datadir
! SELECT database()
! FROM sys.databases
! FROM mysql.user
! FROM dual
? SELECT current_localtimestamp(), today(), transaction_timestamp()
? SELECT current_role
? SELECT current_time, localtime, localtimestamp
? SELECT list_aggregate(['HOME'], 'current_setting')
? SELECT list_aggr([1], 'sum) FROM duckdb_settings() --')

# Statements that change, alone and in the place of a query.
! (DELETE FROM kept)
! ((DROP VIEW kept))
! (SELECT 1; DROP VIEW kept)
! WITH a AS (SELECT 3) INSERT INTO kept SELECT *, 'c' FROM a
! WITH a AS (SELECT 1) DELETE FROM kept USING a
! WITH a AS (SELECT 1) UPDATE kept SET id = 9 FROM a
! WITH a AS MATERIALIZED (UPDATE kept SET name = 'c' RETURNING *) FROM a
! WITH a AS (SELECT 1), b AS (INSERT INTO kept SELECT 3, 'c' RETURNING id) FROM a, b
! WITH a AS (CREATE TABLE hostile (a INTEGER)) FROM a
! WITH a AS (COPY kept TO '{folder}/hostile.csv' (RETURN_FILES)) FROM a
! FROM kept INSERT INTO kept
! FROM (DELETE FROM kept RETURNING *)
! FROM (INSERT INTO kept VALUES (3, 'c') RETURNING *) t
! SELECT (UPDATE kept SET name = 'c' RETURNING id)
! SELECT EXISTS (DELETE FROM kept RETURNING 1)
! SELECT * INTO hostile FROM kept
! SELECT 1 INTO OUTFILE '{folder}/hostile.txt'
! INSERT INTO kept BY NAME SELECT 3 AS id
! INSERT INTO kept VALUES (1, 'c') ON CONFLICT DO UPDATE SET name = 'c'
! REPLACE INTO kept VALUES (1, 'c')
! UPSERT INTO kept VALUES (1, 'c')
! DELETE FROM kept RETURNING *
! CREATE VIEW hostile AS FROM '{secret}'
! CREATE TEMP VIEW kept AS SELECT 1
! CREATE OR REPLACE MACRO abs(x) AS getenv(x)
! CREATE MACRO hostile() AS TABLE FROM read_text('{secret}')
! CREATE TRIGGER hostile AFTER INSERT ON kept EXECUTE 'id'
! CREATE ROLE hostile
! CREATE EXTENSION httpfs
! ALTER DATABASE memory SET ALIAS TO hostile
! ALTER TABLE kept ALTER id SET DATA TYPE VARCHAR USING getenv('HOME')
! COMMENT ON COLUMN kept.id IS 'hostile'
! DROP MACRO TABLE hostile
! DROP SECRET IF EXISTS hostile
! COPY kept TO STDOUT
! COPY (SELECT 1) TO PROGRAM 'touch hostile'
! COPY kept FROM PROGRAM 'id'
! COPY (SELECT 1 AS a) TO '{folder}/hostile' (FORMAT csv, PARTITION_BY (a))
! COPY kept TO 'http://127.0.0.1:1/hostile.csv'
! COPY (DELETE FROM kept RETURNING *) TO '{folder}/hostile.csv'
! EXPORT DATABASE 's3://bucket/hostile' (FORMAT parquet)
! ATTACH IF NOT EXISTS 'hostile.db' AS kept
! ATTACH OR REPLACE ':memory:' AS memory
! ATTACH 'sqlite:{folder}/hostile.db'
! ATTACH 'ducklake:{folder}/hostile.ducklake'
! ATTACH 'postgres:host=127.0.0.1 port=1' AS hostile (TYPE postgres)
! ATTACH 'https://127.0.0.1:1/hostile.db' (READ_ONLY)
! ATTACH 'md:'
! INSTALL '{folder}/hostile.duckdb_extension'
! INSTALL hostile FROM community
! LOAD '{folder}/hostile.duckdb_extension'
! USE pg_catalog
! SET search_path = 'system,pg_catalog'
! SET SCHEMA 'information_schema'
! SET VARIABLE hostile = (SELECT content FROM read_text('{secret}'))
! SET LOCAL threads = 1000
! SET file_search_path = '{folder}'
! SET max_expression_depth TO 100000000
! SET TIME ZONE 'Asia/Tokyo'
! RESET GLOBAL allowed_paths
! PRAGMA show_tables
! PRAGMA add_parquet_key('a', '0123456789112345')
! PRAGMA "temp_directory" = '{folder}'
! PRAGMA import_database('{folder}')
! PRAGMA disable_optimizer
! CALL enable_logging('QueryLog')
! CALL pragma_database_size()
! CALL checkpoint(memory)
! CALL query('DROP VIEW kept')
! PREPARE hostile AS DROP VIEW kept
! EXECUTE hostile(1)
! EXECUTE IMMEDIATE 'DROP VIEW kept'
! DEALLOCATE ALL
! DECLARE hostile CURSOR FOR SELECT 1
! START TRANSACTION
! END
! SAVEPOINT hostile
! CHECKPOINT memory
! GRANT ALL ON kept TO PUBLIC
! LOCK TABLE kept
! DO $$ BEGIN DELETE FROM kept; END $$
! DISCARD ALL
! LISTEN hostile
! SHUTDOWN
! .shell id
! .open {folder}/hostile.db
! .read {secret}
! \copy kept TO '{folder}/hostile.csv'
! !id

# EXPLAIN, DESCRIBE, SHOW and SUMMARIZE in every place.
! EXPLAIN (FORMAT json) SELECT 1
! EXPLAIN (ANALYZE, FORMAT html) SELECT 1
! EXPLAIN VERBOSE SELECT 1
! EXPLAIN EXPLAIN SELECT 1
! EXPLAIN FROM '{secret}'
! EXPLAIN ANALYZE ATTACH 'hostile.db'
! EXPLAIN ANALYZE COPY kept TO '{folder}/hostile.csv'
! FROM (EXPLAIN SELECT 1)
! WITH a AS (EXPLAIN ANALYZE SELECT 1) FROM a
? DESC kept
! DESCRIBE
! DESCRIBE '{secret}'
! DESCRIBE TABLE '{secret}'
! DESCRIBE DELETE FROM kept
! SUMMARIZE '{secret}'
! SUMMARIZE SELECT content FROM read_text('{secret}')
! SELECT min FROM (SUMMARIZE '{secret}')
! SELECT column_name FROM (DESCRIBE duckdb_settings)
! SELECT (SELECT min(name) FROM (SHOW DATABASES))
? FROM (DESCRIBE SELECT 1) a, kept
? FROM kept, LATERAL (SUMMARIZE kept)
! FROM (FROM (SHOW ALL TABLES))
! WITH a AS (SUMMARIZE kept) FROM a
! WITH a AS (SHOW TABLES) SELECT count(*) FROM a
! SELECT 1 UNION ALL FROM (SHOW TABLES)
! (SHOW TABLES)
! SHOW threads
! SHOW VARIABLES
! SHOW SCHEMAS
! SHOW TABLES FROM system
! SHOW CREATE TABLE kept
? SHOW kept
! FROM (SHOW threads)
! FROM (CALL pragma_version())
! FROM (PRAGMA database_list)
! FROM (VALUES (1)) a, (PRAGMA table_info('kept')) b

# Methods: the function after the dot is what counts.
! SELECT name.getenv() FROM kept
! SELECT kept.name.getenv() FROM kept
! SELECT "kept"."name"."getenv"() FROM kept
! SELECT name.lower().upper().getenv() FROM kept
! SELECT name.GetEnv() FROM kept
! SELECT name./**/getenv/**/() FROM kept
! SELECT (name).getenv() FROM kept
! SELECT (name || '').getenv() FROM kept
! SELECT ['HOME'][1].getenv()
! SELECT {'a': 'HOME'}.a.getenv()
! SELECT s.a.getenv() FROM (SELECT {'a': 'HOME'} AS s)
! SELECT name.read_text() FROM kept
! SELECT name.read_csv_auto() FROM kept
! SELECT ('{secret}').read_blob()
! SELECT ('{secret}').glob()
! SELECT name.query_table() FROM kept
! SELECT name.duckdb_settings() FROM kept
! SELECT name.current_setting() FROM kept
! SELECT name.pragma_table_info() FROM kept
! SELECT l.list_transform(lambda x: x.getenv()) FROM (SELECT ['HOME'] AS l)
! SELECT l.list_transform(lambda x: x.list_filter(lambda y: y.getenv() = 'a')) FROM (SELECT [['HOME']] AS l)
! SELECT l.list_aggregate('max').getenv() FROM (SELECT ['HOME'] AS l)
! SELECT name.max().getenv() FROM kept
! SELECT name.count() OVER () FROM kept
! SELECT count(*) FILTER (WHERE name.getenv() = 'a') FROM kept
! SELECT 1 FROM kept LIMIT ('HOME').getenv().length()
! FROM kept k JOIN kept l ON k.name.getenv() = l.name
! FROM kept SELECT CASE WHEN name.getenv() = 'a' THEN 1 END
! FROM kept SELECT name.lower(name.getenv())
! FROM kept.read_csv('{secret}')
! FROM kept.name.read_csv('{secret}')
! SELECT system.name.lower() FROM kept
! SELECT memory.main.upper('a')
! SELECT native1.main.upper('a')
! SELECT information_schema.upper('a')
? SELECT name.lower() FROM kept
? SELECT k.name.upper().lower() FROM kept k ORDER BY k.name.length()
? SELECT {U+212A}ept.name.lower() FROM kept
? SELECT nowhere.lower() FROM kept

# Recursive expressions with keys, and the name of what they found so far.
! FROM recurring.kept
! FROM recurring.t
! FROM recurring.sqlite_master
! FROM recurring."secret.csv"
! FROM memory.recurring.kept
! FROM recurring.main.kept
! WITH recurring AS (SELECT 1) FROM recurring.kept
! WITH t AS (SELECT 1) FROM recurring.t
! WITH RECURSIVE t(a) AS (SELECT 1 UNION SELECT a FROM recurring.t) FROM t
! WITH RECURSIVE t(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM t WHERE a < 0) FROM recurring.t
! WITH RECURSIVE t(a) USING KEY (a) AS (SELECT 1 UNION SELECT name FROM recurring.kept) FROM t
! WITH RECURSIVE kept(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM memory.recurring.kept) FROM kept
! WITH RECURSIVE "secret.csv"(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM '{secret}') FROM "secret.csv"
! WITH RECURSIVE k(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM recurring."{U+212A}") FROM k
! WITH RECURSIVE t(a) USING KEY (getenv('HOME')) AS (SELECT 1 UNION SELECT a FROM t) FROM t
! WITH RECURSIVE sqlite_master(a) USING KEY (a) AS (SELECT 'a' UNION SELECT sql FROM recurring.sqlite_master) FROM sqlite_master
? WITH RECURSIVE "secret.csv"(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM recurring."secret.csv" WHERE a < 0) FROM "secret.csv"

# PIVOT without its values, whose queries are made by the service.
! PIVOT (FROM '{secret}') ON a
! PIVOT (FROM duckdb_settings()) ON name
! PIVOT kept ON name.getenv()
! PIVOT kept ON (SELECT content FROM read_text('{secret}'))
! PIVOT kept ON name, getenv('HOME')
! PIVOT kept ON name USING count(*) GROUP BY id ORDER BY getenv('HOME')
! PIVOT kept ON name IN (SELECT a FROM '{secret}')
! PIVOT kept ON name IN (WITH a AS (FROM '{secret}') FROM a)
! PIVOT kept ON name IN (VALUES (getenv('HOME')))
! PIVOT kept ON name IN (SELECT 1) UNION ALL FROM duckdb_settings()
! PIVOT kept ON name IN pivot_values_0_0
! PIVOT kept ON name IN pivot_values_0_1, id
! PIVOT kept ON name IN "pivot_values_0_0", id
! PIVOT kept ON name; DROP VIEW kept
! PIVOT kept ON name IN (SELECT 1); DELETE FROM kept; --)
! PIVOT kept ON name) FROM duckdb_settings() --
! PIVOT kept ON name IN (SELECT 'a') IN (SELECT content FROM read_text('{secret}'))
! WITH a AS (FROM '{secret}') PIVOT a ON a
! WITH a AS (PIVOT '{secret}' ON a) FROM kept
! WITH a AS (PIVOT kept ON name), b AS (FROM duckdb_settings()) FROM a
! WITH kept AS (FROM duckdb_settings) PIVOT kept ON name
! FROM (PIVOT (PIVOT duckdb_settings() ON name) ON value)
! INSERT INTO kept PIVOT kept ON name
! CREATE OR REPLACE VIEW kept AS PIVOT kept ON name
! COPY (PIVOT kept ON name) TO '{folder}/hostile.csv'
! EXPLAIN ANALYZE PIVOT kept ON name
! DESCRIBE PIVOT duckdb_settings() ON name
! SUMMARIZE PIVOT kept ON getenv('HOME')
? PIVOT (SELECT 'a''); DROP VIEW kept; --' AS k) ON k
? PIVOT (SELECT '{{texts}}' AS k) ON k
? PIVOT kept ON name IN (SELECT 'pivot_values_0_0')
? PIVOT (SELECT repeat('a', 1000000) || range AS k FROM range(3)) ON k
? FROM (PIVOT kept ON name) a, (PIVOT kept ON id) b, (SUMMARIZE PIVOT kept ON name) c
? SELECT * FROM kept, LATERAL (PIVOT (SELECT kept.name AS k) ON k)
x PIVOT (SELECT range AS k FROM range(100000)) ON k
x PIVOT (SELECT range AS a, range AS b FROM range(1000)) ON a, b

# VARIANT and UNION, whose statements get casts around them.
! SELECT 1::VARIANT) FROM duckdb_settings(), (SELECT 1
! SELECT 1::VARIANT FROM duckdb_settings()
! SELECT 1::VARIANT; DROP VIEW kept
! SELECT getenv('HOME')::VARIANT
! SELECT union_value(a := getenv('HOME'))
? SELECT 1::VARIANT; -- ) FROM duckdb_settings(
? SELECT 1::VARIANT /* ) */ AS ") FROM duckdb_settings() --"
? SELECT kept::VARIANT, [kept::VARIANT], union_value(k := kept) FROM kept
? SELECT {'VARIANT': 1::VARIANT, 'a" VARIANT, b': [union_value("x y" := NULL::VARIANT)]}
? SELECT {'a': {60*{'b': }1::VARIANT{60*<end>}}

# PIVOT, aggregates that give away their state, and types.
! PIVOT kept ON name IN (FROM duckdb_settings()) USING first(id)
! PIVOT kept ON name USING max(getenv('HOME'))
! PIVOT duckdb_tables() ON schema_name USING count(*)
! PIVOT information_schema.tables ON table_name IN ('kept') USING count(*)
! FROM kept PIVOT (max(getenv('HOME')) FOR name IN ('a'))
! FROM kept PIVOT (count(*) FOR name IN duckdb_settings)
! UNPIVOT duckdb_settings ON COLUMNS(* EXCLUDE name) INTO NAME n VALUE v
! UNPIVOT kept ON getenv('HOME') INTO NAME n VALUE v
? PIVOT kept ON name USING first(id)
? FROM kept PIVOT (first(id) FOR name IN ('a', 'b', '; DROP VIEW kept'))
? UNPIVOT kept ON COLUMNS(*)::VARCHAR INTO NAME n VALUE v
? FROM (SELECT 1 AS a, 2 AS b) PIVOT (sum(b) FOR a IN ({1000*<n>, }0))
x SELECT sum(1) EXPORT_STATE
x SELECT count(*) EXPORT_STATE FROM kept
x SELECT string_agg(name, ',') EXPORT_STATE FROM kept
x SELECT avg(id) FILTER (WHERE id > 1) EXPORT_STATE FROM kept GROUP BY name
x SELECT id, quantile_cont(id, 0.5) EXPORT_STATE FROM kept GROUP BY id
x SELECT arg_max(name, id) EXPORT_STATE FROM kept
? SELECT typeof(sum(1) EXPORT_STATE)
x SELECT (sum(1) EXPORT_STATE)::VARCHAR
x SELECT [sum(1) EXPORT_STATE]
x WITH a AS (SELECT sum(id) EXPORT_STATE AS s FROM kept) SELECT s FROM a
! SELECT finalize(sum(id) EXPORT_STATE) FROM kept
! SELECT combine(a, a) FROM (SELECT sum(1) EXPORT_STATE AS a)
! SELECT NULL::AGGREGATE_STATE<sum(INTEGER)::HUGEINT>
! SELECT 1::"{secret}"
! SELECT CAST(1 AS memory.main.kept)
! SELECT CAST(1 AS information_schema.sql_identifier)
! SELECT 'kept'::regtype
! SELECT enum_range(NULL::hostile)
! SELECT 1 AS a ORDER BY a COLLATE "{secret}"
! SELECT 1::DECIMAL(39, 1)
! SELECT 1::DECIMAL(-1, 0)
! SELECT 1::VARCHAR[99999999999]
? SELECT 'a'::ENUM ('a', 'b')
? SELECT 1::VARIANT
? SELECT union_value(k := 1)
? SELECT {'a': 1}::STRUCT(a INTEGER, b VARCHAR)
? SELECT 'POINT(1 1)'::GEOMETRY
? SELECT DEFAULT
? SELECT TYPE 'INTEGER'
? SELECT #1, #999999999999 FROM kept

# Comments, semicolons, quotes and spaces that hide things.
! SELECT 1;{U+00A0}DROP VIEW kept
! SELECT 1;{U+3000}SELECT 2
! SELECT 1;{U+0000}DROP VIEW kept
! SELECT 1{U+000C};{U+000B}DROP VIEW kept
! {U+FEFF}DELETE FROM kept
! {U+200B}DROP VIEW kept
! {U+2060}ATTACH 'hostile.db'
! --{U+000D}DROP VIEW kept
! -- SELECT 1{U+000A}DELETE FROM kept
! -- SELECT 1{U+2028}DELETE FROM kept
! -- SELECT 1{U+0085}DELETE FROM kept
! /* /* */ DROP VIEW kept */
! /* /* */ */ DROP VIEW kept
! /*! DROP VIEW kept */
! /*!50000 SELECT */ 1
! SELECT 1 /* ; */ ; /* ; */ DROP VIEW kept
! SELECT 1 -- {{quote}}{U+000A}; DROP VIEW kept
! SELECT '1'';'; DROP VIEW kept
! SELECT 'a\'; DROP VIEW kept --'
! SELECT E'a\\'; DROP VIEW kept --'
! SELECT "a\"; DROP VIEW kept --"
! SELECT $a$ x $b$; DROP VIEW kept
! SELECT $$ x $; DROP VIEW kept
! SELECT $$ x $$; DROP VIEW kept
! SELECT $1$; DROP VIEW kept; $1$
! SELECT 'a' 'b'; DROP VIEW kept
! SELECT 1 # ; DROP VIEW kept
! SELECT 1{U+FF1B} DROP VIEW kept
! SELECT 1{U+037E} DROP VIEW kept
! SELECT 1 GO DROP VIEW kept
! SELECT 1{U+000A}/{U+000A}DROP VIEW kept
! ;;;;
! ; ; SELECT 1 ; ; SELECT 2
! /* */
! --
! {U+00A0}
! ()
! (())
! SELECT
! DR{U+200B}OP VIEW kept
! SEL{U+200D}ECT 1
! SELECT get{U+200B}env('HOME')
! SELECT get{U+00AD}env('HOME')
! SELECT ge{U+0301}tenv('HOME')
! SELECT {U+1D420}etenv('HOME')
! SELECT * FROM r{U+0435}ad_text('{secret}')
! SELECT * FROM read{U+FF3F}text('{secret}')
! FROM du{U+0441}kdb_settings()
! SELECT U&"ge\0074env"('HOME')
! {U+FF33}{U+FF25}{U+FF2C}{U+FF25}{U+FF23}{U+FF34} 1
! SELECT%201
! \x53ELECT 1
! +AFM-ELECT 1
! &#83;ELECT 1
! SELECT 1;%00DROP VIEW kept
! {U+202E}1 TCELES
! SELECT {5000*x}
! SELECT * FROM {5000*x}
! SELECT {5000*x}()
! SELECT 1 AS kept FROM kept WHERE {3000*"}
= [["a'; DROP VIEW kept; --"]] SELECT E'a\'; DROP VIEW kept; --'
= [["; DROP VIEW kept; "]] SELECT $$; DROP VIEW kept; $$
= [[" $$; DROP VIEW kept "]] SELECT $a$ $$; DROP VIEW kept $a$
= [["\\"]] SELECT '\' -- ' ; DROP VIEW kept
= [[1, "a"], [2, "b"]] SELECT * FROM kept WHERE name = '' OR 1 = 1 ORDER BY id; --' AND id = 0
= [[1]] SELECT 1 /* ; DROP VIEW kept */ --; DROP VIEW kept
= [[1]] ((((SELECT 1))));;;
= [[1]] {U+FEFF}SELECT{U+3000}1{U+00A0}
= [["\u2028"]] SELECT '{U+2028}' -- {U+2028}; DROP VIEW kept

# Parameters that try to leave their place, and parameters of odd types.
= [["'; DROP VIEW kept; --"]] SELECT {{quote}}
= [["\"; DROP VIEW kept; --"]] SELECT {{double}}
= [["\\'; DROP VIEW kept; --"]] SELECT {{backslash}}
= [["\u0000'; DROP VIEW kept; --"]] SELECT {{nul}}
= [["\u2028'; DROP VIEW kept; --"]] SELECT {{separator}}
= [["$$; DROP VIEW kept; $$"]] SELECT {{dollar}}
= [["*/ ; DROP VIEW kept; /*"]] SELECT /* {{comment}} */ {{comment}}
= [["{{quote}} $1 ? :x"]] SELECT {{brace}}
= [["\ufeff\u202e\u200b"]] SELECT {{invisible}}
= [] SELECT id FROM kept WHERE name = {{quote}} OR name IN ({{texts}})
= [["{{quote}}"]] SELECT $q${{quote}}$q$
= [[2]] SELECT 1 -{{negative}}
= [[null]] SELECT {{null}}
= [["18446744073709551615"]] SELECT {{big}}
= [[1]] SELECT '{"a": 1}'::JSON -> {{path}}
= [[true]] SELECT {{quote}} = {{quote}} AND {{file}} LIKE '%.csv'
= [["SELECT 1"]] SELECT {{sql}}
= [["*"]] SELECT {{star}} FROM kept LIMIT 1
x SELECT id FROM kept ORDER BY {{number}}
x SELECT id FROM kept ORDER BY {{column}} DESC, id
x SELECT id FROM kept ORDER BY {{null}} NULLS FIRST
? SELECT id FROM kept ORDER BY {{list}}
? SELECT id FROM kept ORDER BY {{fraction}}
x SELECT id FROM kept UNION ALL SELECT 3 ORDER BY {{number}}
! FROM {{file}}
! FROM read_text({{file}})
! FROM {{fn}}({{home}})
! SELECT {{fn}}({{home}})
! SELECT getenv({{home}})
! FROM query({{sql}})
! FROM query_table({{texts}})
! SELECT CAST(1 AS {{type}})
! SELECT 1::{{type}}
! SELECT DATE {{text}}
! SELECT kept.{{column}} FROM kept
! SELECT {{column}}.id FROM kept
! SELECT * EXCLUDE ({{column}}) FROM kept
! SELECT * FROM kept AS {{text}}
! WITH {{text}} AS (SELECT 1) SELECT 1
! SELECT {{text}} COLLATE {{text}}
! SELECT make_type({{type}})
! {{sql}}
! SELECT 1; {{sql}}
! SELECT {{nested}}
! SELECT 1 IN ({{nested}})
! SELECT {{object}}
= [["'; DROP VIEW kept; --"]] SELECT {{ quote }}
! SELECT {{quote.x}}
! SELECT {{}}
! SELECT {{QUOTE}}
! SELECT {{__proto__}}
! SELECT id{{column}} FROM kept
! SELECT e{{quote}}
! SELECT {{quote}}{{quote}}
! SELECT {{{quote}}}
! SELECT $0
! SELECT $2
! SELECT $99999999999999999999
! SELECT $"a b"
! SELECT :x
! SELECT @x
! SELECT ?1
! SELECT %s
! SELECT ${x}
! SELECT '{"a": 1}'::JSON ? 'a'
x SELECT count(*) FROM kept GROUP BY {{number}}
x SELECT count(*) FROM kept GROUP BY ROLLUP ({{number}})
x SELECT count(*) FROM kept GROUP BY CUBE ({{text}}, id)
x SELECT grouping({{null}}) FROM kept GROUP BY {{null}}
x SELECT DISTINCT ON ({{bool}}) id FROM kept
x SELECT ARRAY(SELECT id FROM kept ORDER BY {{text}})
x WITH a AS (SELECT id FROM kept ORDER BY {{big}}) FROM a
x VALUES ({{number}}) ORDER BY {{number}}
x SELECT unnest([1], max_depth := {{number}})
x SELECT list_grade_up({{number}})
x SELECT get_type({{text}})
x FROM repeat_row(1, num_rows = {{negative}}) LIMIT 2
x FROM repeat_row(1, num_rows = {{null}}) LIMIT 2
x SELECT id FROM kept ORDER BY ALL LIMIT (SELECT {{big}})
x SELECT count(*) FROM kept GROUP BY GROUPING SETS (({{text}}), ())
? SELECT count(*) FROM kept HAVING {{text}}
? SELECT id FROM kept LIMIT {{text}}
? SELECT id FROM kept LIMIT {{negative}}
? SELECT id FROM kept LIMIT {{huge}}
? SELECT id FROM kept LIMIT {{list}}
? SELECT id FROM kept LIMIT {{null}} OFFSET {{big}}
? SELECT id FROM kept OFFSET {{negative}}
? SELECT id FROM kept LIMIT {{negative}} PERCENT
? SELECT id FROM kept TABLESAMPLE {{number}} PERCENT
? SELECT id FROM kept USING SAMPLE {{negative}} ROWS
? SELECT COLUMNS({{text}}) FROM kept
? SELECT COLUMNS({{list}}) FROM kept
? SELECT * REPLACE ({{quote}} AS id) FROM kept
? SELECT name LIKE {{text}} ESCAPE {{text}} FROM kept
? SELECT json_extract('{"a": 1}', {{list}})
? SELECT json_extract('{"a": 1}', {{negative}})
? SELECT json_transform('{"a": 1}', {{quote}})
? SELECT list_aggregate([1], {{fn}})
? SELECT struct_extract({'id': 1}, {{column}})
? SELECT struct_extract_at({'id': 1}, {{negative}})
? SELECT date_part({{text}}, DATE '2024-01-01')
? SELECT date_trunc({{texts}}, DATE '2024-01-01')
? SELECT strftime(DATE '2024-01-01', {{nul}})
? SELECT strptime({{text}}, {{texts}})
? SELECT regexp_matches({{text}}, {{backslash}}, {{text}})
? SELECT regexp_extract({{text}}, {{text}}, {{list}})
? SELECT quantile_cont(id, {{fraction}}) FROM kept
? SELECT quantile_disc(id, {{negative}}) FROM kept
? SELECT approx_quantile(id, {{list}}) FROM kept
? SELECT reservoir_quantile(id, {{fraction}}, {{big}}) FROM kept
? SELECT histogram(id, {{list}}) FROM kept
? SELECT string_agg(name, {{null}}) FROM kept
? SELECT max(id, {{number}}) FROM kept
? SELECT ntile({{negative}}) OVER () FROM kept
? SELECT lag(id, {{huge}}) OVER (ORDER BY id) FROM kept
? SELECT nth_value(id, {{text}}) OVER () FROM kept
? SELECT sum(id) OVER (ORDER BY id ROWS {{negative}} PRECEDING) FROM kept
? SELECT sum(id) OVER (ORDER BY id RANGE BETWEEN {{text}} PRECEDING AND {{huge}} FOLLOWING) FROM kept
? SELECT round(1.5, {{big}})
? SELECT repeat({{text}}, {{big}})
? SELECT list_resize({{list}}, {{big}})
? SELECT {{text}}[1:{{huge}}]
? SELECT {{list}}[{{list}}]
? SELECT {{list}} || {{text}}
? SELECT map({{list}}, {{texts}})
? SELECT 1 IN {{list}}
? SELECT (1, 2) IN ({{list}})
? SELECT 1 = ANY ({{list}})
? SELECT unnest({{text}})
? FROM unnest({{list}})
? FROM range({{text}})
? FROM generate_series({{null}}, {{null}})
? FROM kept PIVOT (first(id) FOR name IN ({{texts}}))
? SELECT list_transform({{list}}, x -> x || {{quote}})
? SELECT CASE {{null}} WHEN {{list}} THEN {{bool}} ELSE {{text}} END
? SELECT INTERVAL {{text}} DAY
? SELECT {{list}} UNION ALL SELECT {{text}}
? VALUES ({{list}}), ({{number}})
? SELECT bar({{huge}}, {{null}}, {{negative}}, {{big}})
? SELECT make_date({{huge}}, {{null}}, {{negative}})
? SELECT 1{{number}}
? SELECT 1 LIMIT {{number}}{{number}}

# Texts, lists and numbers that grow out of a short statement.
? SELECT list_resize([1], 2000000000)
? SELECT list_resize(['x'], -1)
? SELECT list_resize([1], 9223372036854775807, 7)
? SELECT format('{:>2000000000}', 1)
? SELECT printf('%2000000000.2000000000f', 1.5)
? SELECT bitstring_agg(id, 0, 2000000000) FROM kept
? SELECT bitstring_agg(id, -9223372036854775808, 9223372036854775807) FROM kept
? SELECT to_base(255, 2, 2000000000)
? SELECT bar(1, 0, 1, 2000000000)
? SELECT equi_width_bins(0, 1e308, 2000000000, false)
? SELECT max(id, 2000000000) FROM kept
? SELECT arg_min(name, id, 9223372036854775807) FROM kept
? SELECT approx_top_k(id, 2000000000) FROM kept
? SELECT approx_quantile(id, 2.0) FROM kept
? SELECT histogram(id, [9223372036854775807, -9223372036854775808]) FROM kept
x SELECT reservoir_quantile(id, 0.5, 2000000000) FROM kept
x SELECT reservoir_quantile(id, [0.1, 0.9], 2147483647) FROM kept
x SELECT reservoir_quantile(id, 0.5, -1) FROM kept
x SELECT list_reservoir_quantile([1, 2], 0.5)
x SELECT list_reduce([], (a, b) -> a)
x SELECT list_grade_up(1)
x SELECT get_type(id) FROM kept
x FROM repeat_row(1, num_rows = -1)
x SELECT id FROM kept LIMIT (SELECT 18446744073709551615)
x SELECT id FROM kept OFFSET (SELECT 18446744073709551615)
x SELECT id FROM kept LIMIT (SELECT -1)
x SELECT id FROM kept LIMIT (SELECT id FROM kept)
? SELECT * FROM kept TABLESAMPLE reservoir(2000000000 ROWS)
! SELECT * FROM kept TABLESAMPLE 101 PERCENT
! SELECT * FROM kept USING SAMPLE -1 ROWS
! SELECT * FROM kept LIMIT -1
x SELECT * FROM kept LIMIT 101%
x SELECT * FROM kept LIMIT 'a'
? SELECT * FROM kept LIMIT 1e400
? SELECT * FROM kept LIMIT 99999999999999999999 OFFSET 9223372036854775807
? SELECT range(0, 9223372036854775807)
x FROM generate_series(1, 10, 0)
x FROM range(TIMESTAMP '2000-01-01', TIMESTAMP '9999-01-01', INTERVAL 0 DAY)
? FROM repeat('x', 9223372036854775807) LIMIT 1
? FROM repeat_row('x', num_rows = 9223372036854775807) LIMIT 1
? SELECT 9{1000*9}
? SELECT 1e{1000*9}
? SELECT 0.{1000*0}1
? SELECT 10::HUGEINT ^ 400, 2::HUGEINT << 200
? SELECT round(1.5, 2147483647), round(1.5::DECIMAL(38, 10), -2147483648)
? SELECT lcm(9223372036854775807, 9223372036854775806)
? SELECT (-9223372036854775808) // -1, (-9223372036854775808) % -1
? SELECT gamma(1e308), factorial(2147483647)
? SELECT chr(1114112), chr(2147483647), unicode('')
? SELECT INTERVAL 99999999999999999999 YEAR
? SELECT DATE '5881580-07-10' + 1, TIMESTAMP '294247-01-10 04:00:54.775806' + INTERVAL 1 DAY
? SELECT to_timestamp(1e300), make_date(999999999, 1, 1), epoch_ms(9223372036854775807)
? SELECT strftime(DATE '0001-01-01', repeat('%Y', 100000))
? SELECT strptime(repeat('1', 100000), repeat('%d', 100000))
? SELECT time_bucket(INTERVAL 0 DAY, TIMESTAMP '2024-01-01')
? SELECT date_diff('microsecond', TIMESTAMP '-290307-12-22', TIMESTAMP '294247-01-10')
? SELECT '{1000*%}' LIKE '{1000*%}' ESCAPE '%'
? SELECT regexp_matches('a', '((a{1000}){1000}){1000}')
? SELECT regexp_matches(repeat('a', 1000000), '(a|a|a|a)*$')
? SELECT regexp_matches('a', repeat('(', 100000))
? SELECT regexp_replace('a', '(a)', '\9\0\1')
? SELECT regexp_extract_all(repeat('a', 50000), '')
? SELECT json(repeat('[', 100000) || repeat(']', 100000))
? SELECT json_extract('{}', '$' || repeat('.a', 100000))
? SELECT json_extract('[[1]]', '$..*[0]..*')
? SELECT json_structure(repeat('[', 900) || repeat(']', 900))
? SELECT json_merge_patch(repeat('{"a":', 5000) || '1' || repeat('}', 5000), '{"a": null}')
? SELECT json_transform('[]', repeat('[', 300) || '"INTEGER"' || repeat(']', 300))
? SELECT from_json('1', '"DECIMAL(99,9)"')
? FROM json_tree(repeat('[', 900) || repeat(']', 900))
? SELECT decode(from_hex('C0AFEDA080FF')), encode('{U+10FFFF}')
? SELECT strip_accents(repeat('{U+1E69}', 1000000))[1:3], nfc_normalize(repeat('{U+0344}', 1000000))[1:3]
? SELECT url_decode('%00%FF%C0%AF'), from_base64('====')

# Statements that are deep or wide.
? SELECT {120*[}1{120*]}
? SELECT {60*{'a': }1{60*<end>}
? SELECT NULL::INTEGER{500*[]}
? SELECT NULL::INTEGER{20000*[]}
? SELECT NULL::{400*STRUCT(a }INTEGER{400*)}
? SELECT NULL::{300*MAP(INTEGER, }INTEGER{300*)}
? SELECT {8*list_transform([1], a<n> -> }1{8*)}
? SELECT {300*CAST(}1{300* AS VARCHAR)}
? SELECT 1{900* COLLATE NOCASE}
? SELECT 'a'{60* || 'a'}
? SELECT 1 WHERE {900*1 IN (SELECT }1{900*)}
? SELECT {2000*NOT }true
? SELECT {900*~}1
? SELECT [1]{300*[1:1]}
? SELECT {900*TRY(}1{900*)}
? {300*FROM (}FROM kept{300*)}
? FROM kept{40* JOIN kept k<n> ON true} LIMIT 1
? SELECT 1{500* UNION (SELECT 1}{500*)}
? SELECT 1{300* EXCEPT SELECT <n>}
? {200*WITH c<n> AS (}SELECT 1{200*) SELECT 1}
? WITH c0 AS (SELECT 1){1100*, c<n> AS (FROM c<m>)} FROM c1100
? SELECT 1 FROM kept WHERE {900*EXISTS (SELECT 1 FROM kept WHERE }true{900*)}
? SELECT {2500*1 AS c<n>, }1
? SELECT {2000**, }1 FROM kept
! SELECT {9*(SELECT *, * FROM }kept{9*)}
? {9*SELECT *, * FROM (}FROM kept{9*)}
? SELECT COLUMNS(*){60* + COLUMNS(*)} FROM (SELECT 1 AS a)
= [[1], [2]] SELECT id FROM kept WHERE id IN ({3000*<n>, }0) ORDER BY id
= [[null]] SELECT CASE {800*WHEN false THEN <n> }END
? SELECT count(*) FROM kept GROUP BY {16*CUBE (id, name), }()
? SELECT count(*) FROM kept GROUP BY CUBE ({30*id + <n>, }id)
? SELECT {30*sum(id) OVER (ORDER BY id + <n>), }1 FROM kept
? VALUES ({800*<n>, }0), ({800*<n>, }0)
? SELECT concat({1500*'<n>', }'')
? SELECT least({1500*<n>, }0)
? SELECT {'a0': 0{800*, 'a<n>': <n>}}
? SELECT 1 AS "{60000*a}"
? SELECT '{20000*''}'
= [[1]] SELECT 1{3000* -- <n>{U+000A}}
! SELECT {3000*/*}1{3000**/}

# Statements that need more time or memory than a query has. The first four use the whole time.
^ WITH RECURSIVE r AS (SELECT 'x' AS s UNION ALL SELECT s || s FROM r) SELECT max(length(s)) FROM r
^ WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT a.n FROM r a, r b, range(10)) SELECT count(*) FROM r
^ SELECT count(DISTINCT repeat(range::VARCHAR, 10000)) FROM range(1000000)
^ SELECT array_agg(repeat('x', 100000)) FROM range(100000)
^ SELECT list_reduce(list_transform(range(64), x -> 'xx'), (a, b) -> a || a)
^ SELECT list_aggregate(range(1000000), 'string_agg', repeat('x', 10000))
^ SELECT list_sort(range(500000000))[1]
^ SELECT repeat(range::VARCHAR, 100000) FROM range(1000000) ORDER BY 1
