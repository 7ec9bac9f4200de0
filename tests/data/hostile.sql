# Statements that a query must refuse, one a line. {secret} is a file that is there, {folder} the folder of the test.
INSERT INTO kept VALUES (3, 'c')
INSERT INTO kept SELECT * FROM kept
INSERT OR REPLACE INTO kept VALUES (1, 'c')
UPDATE kept SET name = 'c'
DELETE FROM kept
TRUNCATE kept
MERGE INTO kept USING (SELECT 1 AS id) s ON kept.id = s.id WHEN MATCHED THEN DELETE
DROP TABLE kept
DROP VIEW kept
DROP VIEW IF EXISTS kept CASCADE
DROP SCHEMA main CASCADE
CREATE TABLE hostile (a INTEGER)
CREATE TABLE hostile AS SELECT * FROM kept
CREATE TEMP TABLE hostile AS SELECT 1
CREATE OR REPLACE VIEW kept AS SELECT 1 AS id, 'x' AS name
CREATE SCHEMA hostile
CREATE SEQUENCE hostile
CREATE TYPE hostile AS ENUM ('a')
CREATE MACRO hostile(a) AS a + 1
CREATE OR REPLACE TEMP MACRO count(a) AS 7
CREATE FUNCTION hostile(a) AS TABLE SELECT a
CREATE INDEX hostile ON kept (id)
CREATE SECRET hostile (TYPE s3, KEY_ID 'a', SECRET 'b')
CREATE PERSISTENT SECRET hostile (TYPE s3, KEY_ID 'a', SECRET 'b')
ALTER TABLE kept ADD COLUMN c INTEGER
ALTER VIEW kept RENAME TO gone
COMMENT ON TABLE kept IS 'hostile'
COPY kept TO '{folder}/hostile.csv'
COPY (SELECT * FROM kept) TO '{folder}/hostile.parquet' (FORMAT parquet)
COPY (SELECT 1) TO 'hostile.csv'
COPY kept FROM '{secret}'
COPY (SELECT 1) TO '/dev/stdout'
COPY FROM DATABASE memory TO hostile
EXPORT DATABASE '{folder}/hostile'
IMPORT DATABASE '{folder}/hostile'
ATTACH '{folder}/hostile.db'
ATTACH ':memory:' AS hostile
ATTACH DATABASE 'hostile.db' AS hostile (READ_ONLY)
DETACH memory
USE memory.main
INSTALL httpfs
FORCE INSTALL httpfs FROM 'https://example.com'
LOAD httpfs
LOAD '{secret}'
UPDATE EXTENSIONS
SET memory_limit = '100GB'
SET GLOBAL enable_external_access = true
SET SESSION lock_configuration = false
SET allowed_directories = ['/']
SET VARIABLE hostile = 1
RESET memory_limit
RESET ALL
PRAGMA database_list
PRAGMA version
PRAGMA table_info('kept')
PRAGMA memory_limit = '100GB'
PRAGMA enable_profiling
CALL pragma_version()
CALL duckdb_settings()
CALL range(3)
VACUUM
VACUUM ANALYZE
ANALYZE
CHECKPOINT
FORCE CHECKPOINT
BEGIN
BEGIN TRANSACTION READ WRITE
COMMIT
ROLLBACK
ABORT
EXPLAIN SELECT * FROM kept
EXPLAIN ANALYZE SELECT * FROM kept
EXPLAIN ANALYZE DELETE FROM kept
PREPARE hostile AS SELECT 1
EXECUTE hostile
DEALLOCATE hostile
SHOW TABLES
SHOW ALL TABLES
SHOW DATABASES
SHOW VARIABLES
SHOW TABLES FROM main
DESCRIBE
DESCRIBE 'hostile.csv'
DESCRIBE '{secret}'
DESCRIBE "{secret}"
DESCRIBE TABLE '{secret}'
DESCRIBE FROM '{secret}'
DESCRIBE main.kept
DESCRIBE information_schema.tables
DESCRIBE duckdb_settings
DESCRIBE FROM duckdb_settings()
DESCRIBE SELECT getenv('HOME')
DESCRIBE SELECT * FROM read_csv('{secret}')
DESCRIBE (SUMMARIZE FROM '{secret}')
SUMMARIZE '{secret}'
SUMMARIZE FROM read_csv('{secret}')
SUMMARIZE duckdb_settings
SUMMARIZE FROM duckdb_settings()
SUMMARIZE information_schema.columns
SUMMARIZE SELECT getenv('HOME')
SELECT * FROM (SHOW ALL TABLES)
SELECT * FROM (DESCRIBE '{secret}')
SELECT * FROM (SUMMARIZE '{secret}')
SELECT * FROM (SUMMARIZE read_csv('{secret}'))
# Files.
SELECT * FROM read_csv('{secret}')
SELECT * FROM read_csv_auto('{secret}')
SELECT * FROM READ_CSV('{secret}', header = false)
SELECT * FROM read_text('{secret}')
SELECT content FROM read_blob('{secret}')
SELECT * FROM read_json('{secret}')
SELECT * FROM read_json_auto('{secret}')
SELECT * FROM read_ndjson('{secret}')
SELECT * FROM read_ndjson_objects('{secret}')
SELECT * FROM read_parquet('{folder}/**/*.parquet')
SELECT * FROM parquet_scan('{folder}/**/*.parquet')
SELECT * FROM parquet_metadata('{folder}/**/*.parquet')
SELECT * FROM parquet_schema('{folder}/**/*.parquet')
SELECT * FROM parquet_file_metadata('{folder}/**/*.parquet')
SELECT * FROM parquet_kv_metadata('{folder}/**/*.parquet')
SELECT * FROM sniff_csv('{secret}')
SELECT * FROM glob('{folder}/*')
SELECT * FROM glob('/*')
SELECT * FROM '{secret}'
SELECT * FROM "{secret}"
SELECT * FROM '{folder}/**/*.parquet'
SELECT * FROM 'hostile.csv'
SELECT * FROM "hostile.parquet"
SELECT * FROM 'https://example.com/a.csv'
SELECT * FROM 's3://bucket/a.parquet'
SELECT * FROM '/proc/self/environ'
SELECT * FROM read_text('/proc/self/environ')
SELECT * FROM read_blob('/proc/self/maps')
SELECT * FROM read_csv(['{secret}'])
SELECT * FROM kept, read_text('{secret}')
SELECT * FROM kept JOIN LATERAL (SELECT * FROM read_text('{secret}')) ON true
SELECT (SELECT content FROM read_text('{secret}'))
SELECT * FROM kept WHERE name IN (SELECT content FROM read_text('{secret}'))
WITH a AS (SELECT * FROM read_text('{secret}')) SELECT * FROM a
WITH a AS MATERIALIZED (FROM '{secret}') SELECT 1
SELECT 1 UNION ALL SELECT content FROM read_text('{secret}')
SELECT * FROM (VALUES (1)) t(a), LATERAL (FROM glob('/*'))
FROM read_text('{secret}')
FROM '{secret}'
TABLE '{secret}'
PIVOT '{secret}' ON a
PIVOT read_csv('{secret}') ON a USING count(*)
PIVOT (FROM read_csv('{secret}')) ON a USING count(*)
PIVOT kept ON name IN (SELECT a FROM read_csv('{secret}')) USING count(*)
PIVOT kept ON name IN (FROM '{secret}') USING count(*)
PIVOT kept ON (SELECT content FROM read_text('{secret}')) USING count(*)
PIVOT kept ON name USING max((SELECT content FROM read_text('{secret}')))
PIVOT kept JOIN read_csv('{secret}') ON true ON a USING count(*)
WITH a AS (PIVOT read_csv('{secret}') ON a USING count(*)) SELECT * FROM a
WITH a AS (FROM read_csv('{secret}')) PIVOT a ON a USING count(*)
UNPIVOT (FROM '{secret}') ON COLUMNS(*)
SELECT * FROM seq_scan('kept')
SELECT * FROM arrow_scan(1, 2, 3)
SELECT * FROM pandas_scan(1)
SELECT * FROM sqlite_scan('{secret}', 'a')
SELECT * FROM read_duckdb('{secret}')
# The catalog, the settings, the environment.
SELECT getenv('HOME')
SELECT GETENV('PATH')
SELECT "getenv"('HOME')
SELECT main.getenv('HOME')
SELECT system.main.getenv('HOME')
SELECT current_setting('memory_limit')
SELECT current_setting('temp_directory')
SELECT getvariable('hostile')
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_settings
SELECT * FROM duckdb_tables()
SELECT sql FROM duckdb_views()
SELECT * FROM duckdb_views
SELECT * FROM duckdb_functions()
SELECT * FROM duckdb_extensions()
SELECT * FROM duckdb_memory()
SELECT * FROM duckdb_temporary_files()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_databases()
SELECT * FROM duckdb_variables()
SELECT * FROM duckdb_logs()
SELECT * FROM duckdb_columns()
SELECT * FROM pragma_database_list
SELECT * FROM pragma_database_list()
SELECT * FROM pragma_table_info('kept')
SELECT * FROM pragma_storage_info('kept')
SELECT * FROM pragma_version()
SELECT * FROM pragma_platform()
SELECT * FROM pragma_show('kept')
SELECT * FROM information_schema.tables
SELECT * FROM information_schema.columns
SELECT * FROM pg_catalog.pg_tables
SELECT * FROM pg_views
SELECT * FROM pg_class
SELECT * FROM sqlite_master
SELECT * FROM sqlite_schema
SELECT * FROM main.kept
SELECT * FROM memory.main.kept
SELECT * FROM temp.main.kept
SELECT * FROM system.information_schema.tables
SELECT * FROM query('SELECT 1')
SELECT * FROM query('SELECT * FROM duckdb_settings()')
SELECT * FROM query_table('kept')
SELECT * FROM query_table(['duckdb_settings'])
SELECT nextval('hostile')
SELECT currval('hostile')
SELECT current_database()
SELECT current_schema()
SELECT current_schemas(true)
SELECT version()
SELECT txid_current()
SELECT current_query()
SELECT write_log('hostile')
SELECT set_config('memory_limit', '100GB', false)
SELECT pg_get_viewdef(1)
SELECT obj_description(1, 'kept')
SELECT has_table_privilege('kept', 'SELECT')
SELECT json_execute_serialized_sql('{"statements": []}')
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM duckdb_settings()'))
SELECT json_serialize_sql('SELECT 1')
SELECT json_serialize_plan('SELECT 1')
FROM from_substrait('x')
SELECT * FROM test_all_types()
SELECT * FROM summary((SELECT * FROM kept))
SELECT * FROM checkpoint()
SELECT * FROM force_checkpoint()
SELECT * FROM enable_logging()
SELECT * FROM repo_scan()
# Tricks.
WITH a AS (INSERT INTO kept VALUES (3, 'c') RETURNING *) SELECT * FROM a
WITH a AS (DELETE FROM kept RETURNING id) SELECT * FROM a
WITH duckdb_settings AS (SELECT * FROM duckdb_settings) SELECT * FROM duckdb_settings
WITH sqlite_master AS (SELECT 1) SELECT * FROM sqlite_master
WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a
SELECT 1; DROP VIEW kept
SELECT 1; SELECT * FROM duckdb_settings()
SELECT 1;;; ATTACH ':memory:' AS hostile
; DELETE FROM kept
/* SELECT */ DELETE FROM kept /* 1 */
/**/DROP/**/VIEW/**/kept
-- SELECT 1 DROP VIEW kept
SELECT 1 /* open
SELECT * FROM "read_text"('{secret}')
SELECT * FROM main."read_text"('{secret}')
SELECT * FROM Read_Text(file := '{secret}')
SELECT * FROM kept AT (VERSION => 1)
SELECT * FROM kept, LATERAL read_text(kept.name)
SELECT * FROM kept ORDER BY getenv('HOME')
SELECT count(*) FROM kept GROUP BY getenv('HOME')
SELECT count(*) FROM kept HAVING getenv('HOME') = 'a'
SELECT count(*) FILTER (WHERE getenv('HOME') = 'a') FROM kept
SELECT sum(1) OVER (ORDER BY getenv('HOME')) FROM kept
SELECT sum(1) OVER w FROM kept WINDOW w AS (PARTITION BY getenv('HOME'))
SELECT 1 FROM kept QUALIFY getenv('HOME') = 'a'
SELECT 1 LIMIT length(getenv('HOME'))
SELECT 1 OFFSET length(getenv('HOME'))
SELECT DISTINCT ON (getenv('HOME')) 1
SELECT CASE WHEN getenv('HOME') = 'a' THEN 1 END
SELECT list_transform([1], x -> getenv('HOME'))
SELECT [getenv(x) FOR x IN ['HOME']]
SELECT {'a': getenv('HOME')}
SELECT 'HOME'.getenv()
SELECT COLUMNS(c -> getenv('HOME') = 'a') FROM kept
SELECT * REPLACE (getenv('HOME') AS id) FROM kept
SELECT list_aggregate(['HOME'], 'getenv')
SELECT * FROM range(length(getenv('HOME')))
SELECT * FROM unnest([getenv('HOME')])
SELECT * FROM (VALUES (getenv('HOME')))
SELECT EXISTS (FROM duckdb_settings())
SELECT 1 = ANY (SELECT value FROM duckdb_settings())
SELECT CAST(getenv('HOME') AS VARCHAR)
SELECT getenv('HOME') COLLATE NOCASE
SELECT * FROM kept TABLESAMPLE reservoir(getenv('HOME') ROWS)
SELECT getenv(chr(72) || 'OME')
SELECT ('HOME').getenv()
SELECT name.getenv() FROM kept
SELECT kept.name.getenv() FROM kept
SELECT name.lower().getenv() FROM kept
SELECT "name"."getenv"() FROM kept
SELECT name.current_setting() FROM kept
SELECT ('{secret}').read_text()
SELECT ('{secret}').read_csv()
SELECT name.read_text() FROM kept
SELECT ['HOME'].list_transform(lambda x: x.getenv())
SELECT [x.getenv() FOR x IN ['HOME']]
SELECT * FROM kept WHERE name.getenv() = 'a'
SELECT * FROM kept ORDER BY name.getenv()
SELECT * FROM name.read_csv('{secret}')
SELECT system.main.lower('A')
PIVOT kept ON name.getenv() USING count(*)
PIVOT duckdb_settings() ON name USING count(*)
PIVOT kept ON name IN pivot_values_0_0 USING count(*)
PIVOT kept ON name; DROP VIEW kept
PIVOT kept ON name IN (SELECT 1); DROP VIEW kept; --) USING count(*)
SELECT 1; PIVOT kept ON name
CREATE TABLE hostile AS PIVOT kept ON name
COPY (PIVOT kept ON name) TO '{folder}/hostile.csv'
SELECT * FROM recurring.kept
SELECT * FROM recurring.duckdb_settings
WITH RECURSIVE t(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM recurring.kept) FROM t
WITH RECURSIVE t(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM recurring."{secret}") FROM t
WITH RECURSIVE "{secret}"(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM '{secret}') FROM t
WITH RECURSIVE t(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM t WHERE a < 0) FROM recurring.t
SELECT getenv('HOME')::VARIANT
SELECT 1::VARIANT FROM read_csv('{secret}')
SELECT union_value(a := getenv('HOME'))
SELECT ge/**/tenv('HOME')
SELECT ｇｅｔｅｎｖ('HOME')
SELECT 'kept'::regclass
# Statements that may be answered and do no harm, one a line.
? DESCRIBE kept
? SUMMARIZE kept
? SHOW kept
? SELECT * FROM (SUMMARIZE kept)
? PIVOT kept ON name
? PIVOT kept ON name IN (SELECT 'a; DROP VIEW kept') USING count(*)
? PIVOT (SELECT '''); DROP VIEW kept; --' AS a) ON a
? PIVOT (SELECT range AS a FROM range(100000)) ON a
? SELECT kept::VARIANT, '{secret}'::VARIANT FROM kept
? WITH RECURSIVE t(a, b) USING KEY (a) AS (SELECT 1, 1 UNION SELECT a, b FROM recurring.t WHERE b < 0) FROM t
? SELECT current_user
? SELECT session_user
? SELECT user
? SELECT current_catalog
? SELECT * FROM kept USING SAMPLE 1
? SELECT * FROM kept POSITIONAL JOIN kept k
? SELECT COLUMNS('.*') FROM kept
? SELECT kept FROM kept
? SELECT rowid FROM kept
? SELECT filename FROM kept
? SELECT file_row_number FROM kept
? SELECT now(), random(), uuid()
? SELECT error('hostile')
? SELECT pg_typeof(1), typeof(name) FROM kept
? SELECT parse_path('{folder}')
? SELECT '../../../etc/passwd'
? SELECT repeat('x', 1000000000000)
? SELECT length(repeat(repeat('x', 1000000), 100000))
? SELECT printf('%1000000000d', 1)
? SELECT range(10000000000000)
? SELECT 1 / 0, 0.0 / 0, ln(0)
? SELECT 9223372036854775807 + 1
? SELECT 1e400, -1e400, 0x1p4
? SELECT factorial(40)
? SELECT regexp_matches(repeat('a', 100000), '(a*)*b')
? SELECT 'a' LIKE repeat('%a', 100000)
? SELECT strptime('x', '%Z')
? SELECT ('[' || repeat('[', 100000))::JSON
? SELECT json_extract(repeat('[', 100000), '$[0]')
? SELECT '2024-01-01'::DATE + INTERVAL 1000000000 YEAR
? SELECT sum(1) FROM kept GROUP BY CUBE (id, name, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6)
? SELECT decode('\xFF'::BLOB)
? SELECT chr(55296)
? SELECT chr(-1)
? SELECT TIME '25:00'
? SELECT 'é' = 'é'
? SELECT * FROM kept AS "..", kept AS ";DROP"
