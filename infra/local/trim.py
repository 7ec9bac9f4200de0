"""Keeps the debug builds of all checkouts in the shared cache below a size.

    trim.py <folder of the profile> <limit in GB>

Cargo never deletes what earlier sources left in its target directory: tens of gigabytes in a day of work. Past the limit, the
oldest of what our own crates left goes, until half of the limit is reached: incremental state and linked programs. Compiled
dependencies stay. Cargo builds again what it misses.
"""

import fcntl
import os
import shutil
import sys
from pathlib import Path

GB = 1_000_000_000


def on_disk(path):
    """Bytes on disk: blocks of 512 bytes, which POSIX fixes for st_blocks. Links to a counted file add nothing."""
    paths = [path, *path.rglob("*")] if path.is_dir() else [path]
    files = {status.st_ino: status.st_blocks * 512 for status in (entry.lstat() for entry in paths)}
    return sum(files.values())


def candidates(profile):
    """(time of the last write, path): what may go."""
    programs = [
        path
        for folder in ("deps", "examples")
        for path in (profile / folder).glob("*")
        if not path.suffix and path.is_file() and os.access(path, os.X_OK)
    ]
    return sorted((path.stat().st_mtime, path) for path in [*(profile / "incremental").glob("*"), *programs])


def trim(profile, limit):
    """Bytes that were freed."""
    size = on_disk(profile)
    if size <= limit:
        return 0
    freed = 0
    for _, path in candidates(profile):
        if size - freed <= limit / 2:
            break
        freed += on_disk(path)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return freed


def main(profile, limit):
    try:
        lock = open(profile / ".cargo-lock")
    except FileNotFoundError:
        return
    with lock:
        try:
            # Cargo's own lock: a build that runs is left alone.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        freed = trim(profile, limit)
    if freed:
        print(f"deleted {freed / GB:.0f} GB of old builds from the cache: {profile}", file=sys.stderr)


def gigabytes(text):
    try:
        limit = float(text)
    except ValueError:
        limit = -1
    if not 0 <= limit < float("inf"):
        sys.exit(f"CACHE_GB is a number of gigabytes, such as 30, and not '{text}'.")
    return limit * GB


if __name__ == "__main__":
    main(Path(sys.argv[1]), gigabytes(sys.argv[2]))
