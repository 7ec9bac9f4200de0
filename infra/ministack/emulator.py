"""MiniStack as a child that never outlives this program.

A keeper process holds MiniStack and the functions that MiniStack starts in one process group. It reads a pipe from this
program: the pipe ends with this program, however that ends, and then the keeper ends the group and removes the state.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

REGION = "us-east-1"
# The account that MiniStack takes a caller with these credentials for.
ACCOUNT = "000000000000"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": REGION, "AWS_REGION": REGION}
HEALTHY_WITHIN_S = 60
ENDED_WITHIN_S = 10


class Failure(Exception):
    """A sentence for the user."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Emulator:
    """A running MiniStack on a port of 127.0.0.1."""

    def __init__(self, python, port, state, log):
        self.port, self.log = port, log
        self.endpoint = f"http://127.0.0.1:{port}"
        environment = {name: os.environ[name] for name in ("HOME", "LANG", "PATH") if name in os.environ}
        environment |= CREDENTIALS
        # Nothing else may set AWS_ENDPOINT_URL here: MiniStack would put its own over that of each function.
        environment |= {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "LOG_LEVEL": "WARNING",
            "MINISTACK_REGION": REGION,
            "NO_PROXY": "*",
            "S3_DATA_DIR": str(state / "s3"),
            "SFTP_ENABLED": "0",
            "STATE_DIR": str(state / "state"),
            "TMPDIR": str(state),
        }
        with open(log, "ab") as output:
            self.keeper = subprocess.Popen(
                [sys.executable, __file__, str(state), python, "-m", "ministack"],
                stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment, start_new_session=True,
            )

    def wait_until_healthy(self):
        deadline = time.monotonic() + HEALTHY_WITHIN_S
        while time.monotonic() < deadline:
            if self.keeper.poll() is not None:
                raise Failure(f"MiniStack ended at its start. Its log says:\n{self.last_lines()}")
            try:
                with urllib.request.urlopen(f"{self.endpoint}/_ministack/health", timeout=2) as answer:
                    json.load(answer)
                    return
            except (OSError, ValueError):
                time.sleep(0.1)
        raise Failure(f"MiniStack is not healthy after {HEALTHY_WITHIN_S} s. Its log says:\n{self.last_lines()}")

    def last_lines(self):
        return "\n".join(Path(self.log).read_text(encoding="utf-8", errors="replace").splitlines()[-20:])

    def stop(self):
        self.keeper.stdin.close()
        self.keeper.wait(timeout=2 * ENDED_WITHIN_S)


def keep(state, command):
    """The keeper: runs `command` until standard input ends, then ends its own process group."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=heed_signals)
    threading.Thread(target=end_with_input, args=(child,), daemon=True).start()
    child.wait()
    subprocess.run(["rm", "-rf", state], check=False)
    os.killpg(0, signal.SIGKILL)


def heed_signals():
    for heeded in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(heeded, signal.SIG_DFL)


def end_with_input(child):
    sys.stdin.buffer.read()
    # MiniStack and its functions; the keeper ignores it.
    os.killpg(0, signal.SIGTERM)
    try:
        child.wait(ENDED_WITHIN_S)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    keep(sys.argv[1], sys.argv[2:])
