"""Packs the packages of npm: the launcher `millrace`, and one with the program for each platform.

    npm.py FOLDER                    the launcher
    npm.py FOLDER PLATFORM LAYOUT    the package of a platform, with what `infra/dist/layout` made

REPOSITORY_URL is where the sources are; npm holds it against the origin of a published package.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from archive import write
from parts import CHECKOUT, TARGETS, version

SOURCES = CHECKOUT / "infra" / "dist" / "npm"
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")


def manifest(name, description):
    repository = os.environ.get("REPOSITORY_URL")
    return {
        "name": name,
        "version": version(),
        "description": description,
        "license": "MIT OR Apache-2.0",
        **({"homepage": repository, "repository": {"type": "git", "url": f"git+{repository}.git"}} if repository else {}),
    }


def launcher(folder):
    (folder / "bin").mkdir()
    shutil.copy(SOURCES / "millrace.js", folder / "bin" / "millrace.js")
    (folder / "bin" / "millrace.js").chmod(0o755)
    shutil.copy(SOURCES / "README.md", folder)
    for licence in LICENCES:
        shutil.copy(CHECKOUT / licence, folder)
    # `main` and `exports` are left to a client that this package may hold one day.
    return manifest("millrace", "Durable workflow runs, events, webhooks and data stores, as one program") | {
        "bin": {"millrace": "bin/millrace.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"@millrace/{platform}": version() for platform in TARGETS},
    }


def program(folder, platform, layout):
    shutil.copytree(layout, folder, dirs_exist_ok=True)
    system, processor = platform.split("-")
    return manifest(f"@millrace/{platform}", f"The program of millrace for {platform}") | {
        "os": [system],
        "cpu": [processor],
        **({"libc": ["glibc"]} if system == "linux" else {}),
        # Yarn would keep it zipped, where it cannot be started.
        "preferUnplugged": True,
    }


def main(out, platform=None, layout=None):
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "package")
        folder.mkdir()
        content = program(folder, platform, layout) if platform else launcher(folder)
        (folder / "package.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        file = Path(out, f"millrace-{f'{platform}-' if platform else ''}{version()}.tgz")
        # Not by `npm pack`, whose archive of the same files is another one each time that its version changes.
        write(folder, file)
    print(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
