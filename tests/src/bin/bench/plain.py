"""Plain DuckDB: answers each line of standard input, a JSON object, with the time that its query took.

{"files": [...], "threads": 2}   the table `t`, for everything that follows
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
    files = ", ".join("'" + file.replace("'", "''") + "'" for file in settings["files"])
    connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet([{files}])")
    return connection


kept = None
for line in sys.stdin:
    asked = json.loads(line)
    if "files" in asked:
        settings = asked
        kept = connect()
        print(json.dumps({"version": duckdb.__version__}), flush=True)
        continue
    started = time.perf_counter()
    connection = connect() if asked["new"] else kept
    rows = connection.execute(asked["sql"]).fetchall()
    elapsed = time.perf_counter() - started
    print(json.dumps({"ms": elapsed * 1e3, "rows": len(rows)}), flush=True)
