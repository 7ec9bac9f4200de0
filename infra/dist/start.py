"""Starts a program of an artifact, asks it one query, and ends it.

Queries run in a child process with little memory, which QEMU does not start. There the answer is a record that was written and
read, and the library is known to be found, because the program is linked with it.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
READY_WITHIN_S = 240


class Fault(Exception):
    """A sentence that says what is wrong with an artifact."""


def this_platform():
    return subprocess.run([HERE / "platform"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def launcher(platform):
    """What starts a program of another processor, and the variables for it."""
    if platform == this_platform():
        return [], {}
    emulator = shutil.which("qemu-aarch64-static" if platform == "linux-arm64" else "qemu-x86_64-static")
    if not platform.startswith("linux") or emulator is None:
        raise Fault(f"This machine does not start programs for {platform}: give --unstarted, or install qemu-user-static for those of Linux.")
    root = subprocess.run([HERE / "root", platform], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return [emulator], {"QEMU_LD_PREFIX": root}


def query(program, platform):
    command, variables = launcher(platform)
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": os.environ["PATH"], "HOME": folder, **variables}
        log = Path(folder, "log")
        with open(log, "wb") as errors:
            process = subprocess.Popen(
                [*command, program, "--port", "0", "--data-dir", "data"],
                cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
            )
        watch = threading.Timer(READY_WITHIN_S, process.kill)
        watch.start()
        try:
            api, token = address(process.stdout)
            if not api or not token:
                raise Fault(f"{program.name} does not become ready: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
            answer = ask(api, token, bool(command))
            process.send_signal(signal.SIGTERM)
            process.stdout.read()
            if code := process.wait():
                raise Fault(f"{program.name} ends with the code {code} when it is asked to end.")
        finally:
            watch.cancel()
            process.kill()
            process.wait()
    return f"started{' by QEMU' if command else ''}, {answer}"


def address(lines):
    """The address and the token that the service prints when it is ready."""
    api = token = None
    for line in lines:
        name, _, value = line.strip().partition(" ")
        if name == "API":
            api = value.strip()
        if name == "export":
            token = value.removeprefix("TOKEN=")
        if line.strip() == "Try:":
            break
    return api, token


def ask(api, token, emulated):
    """One query of a new data store; in an emulator, the store."""
    def call(path, body=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{api}{path}", body and json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=READY_WITHIN_S) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise Fault(f"It answers {path} with {error.code}: {error.read().decode(errors='replace')}") from error

    with urllib.request.urlopen(f"{api.removesuffix('/api/v1')}/console", timeout=READY_WITHIN_S) as page:
        if b"<html" not in page.read():
            raise Fault("It serves no console.")
    store = call("/data", {"name": "Check"})["id"]
    if emulated:
        if (name := call(f"/data/{store}")["name"]) != "Check":
            raise Fault(f"It answers with the data store {name} in place of Check.")
        return "keeps a data store (queries were not tried)"
    rows = call(f"/data/{store}/query", {"sql": "SELECT 6 * 7 AS answer"})["rows"]
    if rows != [[42]]:
        raise Fault(f"It answers a query with {rows} in place of [[42]].")
    return "answers a query with 42"
