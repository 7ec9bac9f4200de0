"""Writes the licences of all that an artifact for a platform is made of: THIRD-PARTY.txt.

    licences.py PLATFORM FOLDER_OF_DUCKDB PACKAGES

A text that several parts share is written once, below their names. PACKAGES are those of the workspace, as one word.
"""

import re
import sys
from pathlib import Path

from parts import console, crates, settings, CHECKOUT

NAMES = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)")
RULE = "-" * 110


def texts(folder):
    """The licence files of a part, also those in a folder of their own."""
    files = [path for path in folder.iterdir() if NAMES.match(path.name)]
    files += [path for inner in files if inner.is_dir() for path in inner.iterdir()]
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(files) if path.is_file()]


def main(platform, duckdb, packages):
    shared = {}
    listed = []
    for part in [*crates(packages.split(), platform), *console()]:
        if part.own:
            continue
        listed.append(f"{part.name} {part.version}: {part.licence}")
        # The words decide, not how lines are broken.
        for text in texts(part.folder) or [f"{part.licence}; its package has no text of it. Authors: {', '.join(part.authors) or 'not named'}"]:
            shared.setdefault(" ".join(text.split()), (text, []))[1].append(f"{part.name} {part.version}")
    number = settings(CHECKOUT / "infra" / "duckdb" / "version.env")["DUCKDB_VERSION"]
    listed.append(f"DuckDB {number}: MIT")
    library = Path(duckdb, "LICENSE").read_text(encoding="utf-8").strip()
    shared.setdefault(" ".join(library.split()), (library, []))[1].append(f"DuckDB {number}")
    print("Millrace contains the work of others, under these licences.\n")
    print("\n".join(listed))
    for text, names in shared.values():
        print(f"\n{RULE}\n{', '.join(names)}\n{RULE}\n\n{text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
