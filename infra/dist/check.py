"""Checks an artifact, from its own bytes: that it holds what it must, runs where it says, and answers a query.

    check.py ARTIFACT [--unstarted] [--largest-mb 60] [--glibc 2.28]

`--unstarted` leaves out the start, for an artifact of another system. One of another processor of Linux is started by QEMU.
The functions of a release for Lambda say whether they would start with the variables of the template.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from binaries import read
from start import Fault, query, this_platform
from unpack import names, unpack

# What is promised of programs, also by the tag of the wheels; and what Amazon Linux 2023 has, and so Lambda.
GLIBC, GLIBC_OF_LAMBDA = "2.28", "2.34"
RUN_PATHS = {"linux": {"$ORIGIN/lib"}, "darwin": {"@loader_path/lib"}}
MEGABYTE = 1_000_000
LARGEST_MB = 60
# Lambda: a function's archive, unpacked.
LARGEST_FUNCTION_MB = 250
SECRETIVE = ("home/", "root/", "Users/", "tmp/", "target/", "private/", "runner/")
PLATFORM = re.compile(r"(linux|darwin)-(x64|arm64)")
TAGS = {"manylinux_2_28_x86_64": "linux-x64", "manylinux_2_28_aarch64": "linux-arm64", "macosx_11_0_x86_64": "darwin-x64", "macosx_11_0_arm64": "darwin-arm64"}
# An identity provider, without which no function starts.
PROVIDER = ("JwksUrl=https://id.example/jwks.json", "TokenIssuer=https://id.example", "TokenAudience=millrace")
ARCHITECTURES = {"x86_64": "linux-x64", "arm64": "linux-arm64"}
HELD = ("millrace", "console/index.html", "completions/millrace.bash", "completions/_millrace", "completions/millrace.fish")
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt")


def platform_of(name):
    """The platform that an artifact's name promises."""
    if name.startswith("millrace-lambda-"):
        return next(platform for architecture, platform in ARCHITECTURES.items() if architecture in name)
    if name.endswith(".whl"):
        return next(platform for tag, platform in TAGS.items() if tag in name)
    found = PLATFORM.search(name)
    if not found:
        raise Fault(f"{name} names no platform.")
    return found[0]


def check_names(listed):
    """No file is out of its folder, and no name tells of the machine that built it."""
    for name in listed:
        parts = Path(name).parts
        if name.startswith("/") or ".." in parts:
            raise Fault(f"The name {name} leads out of the archive.")
        inner = "/".join(parts[1:])
        if inner.startswith(SECRETIVE):
            raise Fault(f"The name {name} is a path of the machine that built it.")


def check_binary(path, platform, newest_glibc, library=False):
    """The file runs on the platform, and looks for libraries beside itself alone."""
    system, processor = platform.split("-")
    binary = read(path)
    if binary is None:
        raise Fault(f"{path.name} is no program: it has neither the form of Linux nor that of macOS.")
    if binary.system != system or processor not in binary.processors:
        raise Fault(f"{path.name} is for {binary.system} on {' and '.join(sorted(binary.processors))}, and the artifact for {platform}.")
    if binary.glibc > tuple(map(int, newest_glibc.split("."))):
        raise Fault(f"{path.name} needs glibc {'.'.join(map(str, binary.glibc))}, and {newest_glibc} must do.")
    allowed = set() if library else RUN_PATHS[system]
    # A library of others finds what is beside itself, which nothing is.
    if not library and binary.run_paths != allowed:
        raise Fault(f"{path.name} looks for libraries in {', '.join(sorted(binary.run_paths)) or 'no folder'}; only {', '.join(allowed)} is right.")
    return binary


def check_program(root, platform, newest_glibc, licences):
    """A folder that `infra/dist/layout` made."""
    library = "libduckdb.so" if platform.startswith("linux") else "libduckdb.dylib"
    for name in (*HELD, f"lib/{library}", *licences):
        if not (root / name).is_file():
            raise Fault(f"There is no {name} in it.")
    programs = [path for path in sorted(root.iterdir()) if path.is_file() and path.stat().st_mode & 0o100]
    binaries = [check_binary(path, platform, newest_glibc) for path in programs]
    if root / "millrace" not in programs:
        raise Fault("millrace cannot be executed.")
    binaries.append(check_binary(root / "lib" / library, platform, newest_glibc, library=True))
    return max(binary.glibc for binary in binaries)


def check_functions(root, platform, newest_glibc):
    """The functions of a release for Lambda."""
    for name in ("template.yaml", "deploy", "release.env", "infra/sam/preflight.py", *LICENCES):
        if not (root / name).is_file():
            raise Fault(f"There is no {name} in it.")
    wanted = set(re.findall(r"CodeUri: functions/(\S+)", (root / "template.yaml").read_text(encoding="utf-8")))
    present = {path.name for path in (root / "functions").iterdir()}
    if not wanted or wanted != present:
        raise Fault(f"The template wants other functions than there are: {', '.join(sorted(wanted ^ present)) or 'none'}.")
    newest = (0, 0)
    for function in sorted((root / "functions").iterdir()):
        size = sum(path.stat().st_size for path in function.rglob("*") if path.is_file())
        if size > LARGEST_FUNCTION_MB * MEGABYTE:
            raise Fault(f"The function {function.name} has {size / MEGABYTE:.0f} MB, and Lambda takes {LARGEST_FUNCTION_MB}.")
        newest = max(newest, check_binary(function / "bootstrap", platform, newest_glibc).glibc)
        for library in function.glob("lib/*"):
            newest = max(newest, check_binary(library, platform, newest_glibc, library=True).glibc)
    return newest


def start_functions(root):
    """The functions read the template's variables, by the check that the release does before it is deployed."""
    run = {"cwd": root, "check": False, "text": True, "capture_output": True}
    python = subprocess.run(["infra/tools/python", "infra/sam/requirements.txt"], **run).stdout.strip()
    command = [f"{python}/python", "-B", "infra/sam/check_config.py", "functions/{}/bootstrap", "--config-file", "none.toml"]
    checked = subprocess.run([*command, "--parameter-overrides", *PROVIDER], **run)
    if checked.returncode:
        raise Fault(checked.stderr.strip())
    return "every function starts"


def check(artifact, unstarted, largest_mb, glibc):
    platform = platform_of(artifact.name)
    functions = artifact.name.startswith("millrace-lambda-")
    size = artifact.stat().st_size
    # Fifteen functions, four of them with DuckDB, are no download of a visitor.
    if size > largest_mb * MEGABYTE and not functions:
        raise Fault(f"It has {size / MEGABYTE:.1f} MB, and at most {largest_mb} are allowed.")
    check_names(names(artifact))
    with tempfile.TemporaryDirectory() as folder:
        root = unpack(artifact, Path(folder))
        if functions:
            newest = check_functions(root, platform, glibc or GLIBC_OF_LAMBDA)
            # QEMU would need a root for each of the programs that the check starts.
            said = "not started" if unstarted or platform != this_platform() else start_functions(root)
        else:
            # Those of a wheel are among its metadata.
            newest = check_program(root, platform, glibc or GLIBC, () if artifact.suffix == ".whl" else LICENCES)
            said = "not started" if unstarted else query(root / "millrace", platform)
    needs = f"glibc {newest[0]}.{newest[1]}" if platform.startswith("linux") else "macOS 11"
    print(f"{artifact.name}: {platform}, {size / MEGABYTE:.1f} MB, needs {needs}; {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("--unstarted", action="store_true")
    parser.add_argument("--largest-mb", type=int, default=LARGEST_MB)
    parser.add_argument("--glibc", help="newest version that it may need")
    given = parser.parse_args()
    try:
        check(given.artifact, given.unstarted, given.largest_mb, given.glibc)
    except Fault as fault:
        sys.exit(f"{given.artifact.name} is not fit to be shipped: {fault}")


if __name__ == "__main__":
    main()
