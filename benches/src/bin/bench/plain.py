"""Plain DuckDB: answers each line of standard input, a JSON object, with the time that its query took.

{"setup": [...], "threads": 2}   statements that make the tables, for everything that follows
{"tpch": "folder", "scale": 1}   makes the tables of TPC-H as files <table>.parquet, with DuckDB's defaults and zstd
{"sql": "...", "new": true}      over a connection of its own, whose opening counts
{"sql": "...", "new": false}     over the connection that stays open
"""

import json
import sys
import time

import duckdb

settings = None


def connect():
    connection = duckdb.connect(config={"threads": settings["threads"]})
    # A bar would stand between the answers.
    connection.execute("SET enable_progress_bar = false")
    for statement in settings["setup"]:
        connection.execute(statement)
    return connection


def make_tpch(folder, scale):
    import duckdb_extension_tpch

    extension = f"{duckdb_extension_tpch.__path__[0]}/extensions/v{duckdb.__version__}/tpch.duckdb_extension"
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"CALL dbgen(sf = {scale})")
    for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        connection.execute(f"COPY {table} TO '{folder}/{table}.parquet' (FORMAT parquet, COMPRESSION zstd)")


kept = None
for line in sys.stdin:
    asked = json.loads(line)
    if "tpch" in asked:
        make_tpch(asked["tpch"], asked["scale"])
        print("{}", flush=True)
        continue
    if "setup" in asked:
        settings = asked
        kept = connect()
        print(json.dumps({"version": duckdb.__version__}), flush=True)
        continue
    started = time.perf_counter()
    connection = connect() if asked["new"] else kept
    rows = connection.execute(asked["sql"]).fetchall()
    elapsed = time.perf_counter() - started
    print(json.dumps({"ms": elapsed * 1e3, "rows": len(rows)}), flush=True)
