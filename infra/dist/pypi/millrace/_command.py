"""The command `millrace`: becomes the program that lies beside this file, so that signals reach it."""

import os
import sys
from pathlib import Path


def main():
    # By uvx, the program is not on the path, so its messages name what is. uv sets this for what it runs.
    if "UV" in os.environ:
        os.environ.setdefault("MILLRACE_COMMAND", "uvx millrace")
    program = str(Path(__file__).resolve().parent / "_program" / "millrace")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"millrace: {program} does not start: {error.strerror}. Install the package again, on this platform.")
