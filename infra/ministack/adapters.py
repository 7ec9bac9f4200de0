"""Runs a command with MiniStack alone, without the functions: `make test-ministack`, for the adapters of AWS."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from emulator import Emulator, Failure, free_port


def main():
    python, *command = sys.argv[1:]
    # The keeper removes it.
    state = Path(tempfile.mkdtemp(prefix="millrace-ministack-"))
    log = state.with_suffix(".log")
    emulator = Emulator(python, free_port(), state, log)
    try:
        emulator.wait_until_healthy()
        return subprocess.run(command, env=os.environ | {"MINISTACK_ENDPOINT": emulator.endpoint}, check=False).returncode
    except Failure as failure:
        print(f"test-ministack: {failure}", file=sys.stderr)
        return 1
    finally:
        emulator.stop()
        log.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
