"""Writes a folder as a .tar.gz whose bytes depend on names, modes and contents alone.

    archive.py FOLDER ARCHIVE [NAME]

NAME is the one folder in the archive, by default that of FOLDER. SOURCE_DATE_EPOCH is the time of all files, by default the
year 2000. DIST_COMPRESSION (9) is lowered by tests, which have no time.
"""

import gzip
import os
import sys
import tarfile
from pathlib import Path

YEAR_2000 = "946684800"


def write(folder, archive, name=None):
    time = int(os.environ.get("SOURCE_DATE_EPOCH") or YEAR_2000)
    level = int(os.environ.get("DIST_COMPRESSION") or 9)
    folder = Path(folder)
    # The name that gzip would note is that of this machine's file.
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", level, file, mtime=time) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, dereference=True) as files:
            for path in [folder, *sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix())]:
                place = Path(name or folder.name, path.relative_to(folder))
                entry = files.gettarinfo(path, place.as_posix())
                executable = entry.isdir() or entry.mode & 0o100
                entry.mode, entry.mtime = 0o755 if executable else 0o644, time
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = "root"
                with open(path, "rb") if entry.isfile() else open(os.devnull, "rb") as content:
                    files.addfile(entry, content if entry.isfile() else None)


if __name__ == "__main__":
    write(*sys.argv[1:])
