"""Deploys Millrace to MiniStack on this machine, and keeps it there until it is stopped.

`make run-lambda` starts it, and `make test-lambda` with a command after `--`, which it gives the addresses and then ends
with. The functions are the `bootstrap` programs that Lambda runs; only AWS around them is emulated.
"""

import argparse
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from calls import Calls, Recorder
from emulator import CREDENTIALS, Emulator, Failure, free_port
from logs import FunctionLogs
from proxy import Gateway
from stack import ROOT, Stack, architecture, built, program_of, released

STAGE = "dev"
LOG_EVERY_S = 1
# Those of `infra/local/src/issuer.rs`, whose tokens the deployment takes.
ISSUER, AUDIENCE = "millrace-local", "millrace"
# Identity providers whose tokens the deployment takes as well; all sign with the key of the local runner.
PROVIDERS = ROOT / "tests" / "data" / "providers.json"
CALLS_HEADING = """\
# Which AWS calls each function makes, as `make test-lambda CALLS=<this file>` saw them: a line is the function, the action
# in the words of an IAM policy, and the resource by its name in template.yaml. The calls by which Lambda itself reads a
# queue, writes a log or sends a trace are not here."""
# A variable of the operator command, and the stack's output that it takes.
OPERATOR_VARIABLES = {
    "MILLRACE_RECORDS_TABLE": "RecordsTable",
    "MILLRACE_AUDIT_TABLE": "AuditTable",
    "MILLRACE_RUNS_TABLE": "RunsTable",
    "MILLRACE_EVENTS_TABLE": "EventsTable",
    "MILLRACE_DATA_BUCKET": "DataBucketName",
    "MILLRACE_EVENT_BUS": "EventBusName",
    "MILLRACE_TASK_QUEUE": "TaskQueueUrl",
    "MILLRACE_SEALING_KEY": "SealingKeyArn",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ministack", required=True, help="Python of the environment that MiniStack is installed in")
    parser.add_argument("--binaries", type=Path, required=True, help="folder of the built functions and of `millrace`")
    parser.add_argument("--duckdb", type=Path, required=True, help="folder of DuckDB's library")
    parser.add_argument("--console", type=Path, required=True, help="folder of the built console")
    parser.add_argument("--functions", type=Path, help="folder of the functions of a release, in place of those built here")
    parser.add_argument("--port", type=int, default=4566, help="port of 127.0.0.1; 0 for a free one")
    parser.add_argument("--json-file", type=Path, help="write the addresses to this file")
    parser.add_argument("--calls", type=Path, help="write the AWS calls of the functions to this file at the end")
    parser.add_argument("--log", type=Path, help="write the emulator's log to this file")
    parser.add_argument("command", nargs="*", help="run this and end with it")
    return parser.parse_args()


def main():
    given = arguments()
    # The transform warns of what only its authors can change.
    logging.disable(logging.WARNING)
    for asked in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(asked, lambda *_: sys.exit(143))
    try:
        return run(given)
    except Failure as failure:
        print(f"run-lambda: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(given):
    functions = sorted(path.parent.name for path in ROOT.glob("functions/*/Cargo.toml"))
    programs = [] if given.functions else map(program_of, functions)
    missing = [name for name in [*programs, "millrace"] if not (given.binaries / name).is_file()]
    if missing:
        raise Failure(f"There is no {', '.join(missing)} in {given.binaries}: run `cargo build --workspace --bins` first.")
    port = refuse_taken(given.port)
    log = given.log or Path(tempfile.gettempdir()) / f"millrace-lambda-{port}.log"
    log.write_bytes(b"")
    # The keeper removes it.
    state = Path(tempfile.mkdtemp(prefix="millrace-lambda-"))
    emulator = Emulator(given.ministack, free_port(), state, log)
    try:
        emulator.wait_until_healthy()
        calls, stack = Calls(), Stack(emulator.endpoint)
        variables = deployed(given, emulator, stack, state, port, calls)
        logs = FunctionLogs(stack.client("logs"), stack.physical("FunctionLogs"), log)
        if given.json_file:
            given.json_file.write_text(json.dumps(variables, indent=2), encoding="utf-8")
        try:
            if given.command:
                return subprocess.run(given.command, env=os.environ | variables, check=False).returncode
            exports = state / "environment"
            exports.write_text("".join(f"export {name}='{value}'\n" for name, value in variables.items()), encoding="utf-8")
            print(greeting(variables, log, given.binaries, exports), flush=True)
            while True:
                time.sleep(LOG_EVERY_S)
                logs.collect()
        finally:
            logs.collect()
            if given.calls:
                given.calls.write_text("".join(f"{line}\n" for line in [CALLS_HEADING, *calls.sorted()]), encoding="utf-8")
    finally:
        emulator.stop()
    return 0


def deployed(given, emulator, stack, state, port, calls):
    """Deploys, and returns what a caller has to know as environment variables."""
    keys = state / "keys"
    # The first token makes the keys.
    minted(given.binaries, keys)
    recorders = {}

    def endpoint_of(function):
        recorders[function] = Recorder(emulator.port, function, calls).start()
        return f"http://127.0.0.1:{recorders[function].port}"

    jwks = str(keys / "keys" / "jwks.json")
    ours = {"preset": "millrace", "issuer": ISSUER, "audience": AUDIENCE, "jwks": jwks}
    others = [provider["settings"] | {"jwks": jwks} for provider in json.loads(PROVIDERS.read_text(encoding="utf-8"))]
    parameters = {
        "Architecture": architecture(),
        "Identity": json.dumps([ours, *others], separators=(",", ":")),
        "Stage": STAGE,
    }
    base_url, ingest_url = f"http://127.0.0.1:{port}/{STAGE}/api/v1", f"http://127.0.0.1:{port}/ingest"
    contents = released(given.functions) if given.functions else built(given.binaries, given.duckdb, given.console)
    stack.deploy(contents, parameters, base_url, ingest_url, endpoint_of)
    calls.logical = stack.logical_names()
    outputs = stack.outputs()
    api_id, ingest_url_id = (outputs[name].split("//")[1].split(".")[0] for name in ("ApiBaseUrl", "IngestBaseUrl"))
    Gateway(port, emulator.port, STAGE, api_id, ingest_url_id).start()
    return {
        "BASE_URL": base_url,
        "INGEST_URL": ingest_url,
        "KEYS_DIR": str(keys),
        "WITHOUT_STREAMING": "true",
        "AWS_ENDPOINT_URL": emulator.endpoint,
        "MILLRACE_LOCAL_TARGETS": "true",
        **CREDENTIALS,
        **{variable: outputs[output] for variable, output in OPERATOR_VARIABLES.items()},
    }


def greeting(variables, log, binaries, exports):
    ops = f"{binaries}/millrace ops --data-dir {variables['KEYS_DIR']}"
    return f"""Millrace runs as Lambda functions in MiniStack.

  console     {variables['BASE_URL'].removesuffix('/api/v1')}/console
  API         {variables['BASE_URL']}
  ingest      {variables['INGEST_URL']}
  AWS         {variables['AWS_ENDPOINT_URL']}
  log         {log}

A token:

  TOKEN=$({ops} token)

Unlike a deployed stage it has the sample workflow types Steps and Approval, and its webhooks and imports reach this machine.
A run of one:

  (. {exports}; {binaries}/millrace ops --deployed run start Steps steps:=3)

Ctrl-C stops it and removes what it kept."""


def minted(binaries, keys):
    made = subprocess.run([binaries / "millrace", "ops", "--data-dir", keys, "token", "--make-keys"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Failure(f"The operator command makes no token: {made.stderr.strip()}")
    return made.stdout.strip()


def refuse_taken(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Failure(f"Port {port} of 127.0.0.1 cannot be used ({error.strerror}). Choose another: PORT=4567 make run-lambda.") from error
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
