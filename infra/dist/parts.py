"""What a shipped artifact is made of: crates, packages of npm, and the library of DuckDB.

The crates are those that cargo compiles into the programs for a target, without those that only build or test it.
"""

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CONSOLE = CHECKOUT / "infra" / "console"
TARGETS = {
    "linux-x64": "x86_64-unknown-linux-gnu",
    "linux-arm64": "aarch64-unknown-linux-gnu",
    "darwin-x64": "x86_64-apple-darwin",
    "darwin-arm64": "aarch64-apple-darwin",
}

# A crate of a registry in Cargo.lock.
LOCKED = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = [^\n]+\nchecksum = "(\w+)"')


@dataclass(order=True)
class Part:
    """A crate or a package of npm."""

    name: str
    version: str
    licence: str
    folder: Path
    authors: list[str] = field(default_factory=list)
    # Identities of the parts that it uses.
    uses: list[str] = field(default_factory=list)
    # SHA-256 in hex, of a crate; SHA-512 in base64, of a package.
    checksum: str = ""
    # Whether it is a member of this workspace.
    own: bool = False

    @property
    def identity(self):
        return f"{self.name}@{self.version}"


def settings(path):
    """The variables of a shell file that only assigns."""
    pairs = re.findall(r"^(\w+)=(?:'([^']*)'|(\S*))$", Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    return {name: quoted or plain for name, quoted, plain in pairs}


def version():
    manifest = (CHECKOUT / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', manifest, re.MULTILINE)[1]


def run(*command, folder=CHECKOUT):
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def crates(packages, platform):
    """The crates of these packages of the workspace, sorted."""
    target = TARGETS[platform]
    chosen = [argument for package in packages for argument in ("-p", package)]
    # Only `cargo tree` knows the features that are chosen, and so the optional crates.
    listed = run("cargo", "tree", "--locked", "-e", "normal", "--target", target, "--prefix", "none", "--format", "{p}", *chosen)
    compiled = {tuple(line.split()[:2]) for line in listed.splitlines() if line}
    metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target))
    checksums = {(name, number): checksum for name, number, checksum in LOCKED.findall(lock())}
    found = {package["id"]: package for package in metadata["packages"] if (package["name"], f"v{package['version']}") in compiled}
    used = {
        node["id"]: [
            dependency["pkg"] for dependency in node["deps"] if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    name_of = {key: f"{package['name']}@{package['version']}" for key, package in found.items()}
    return sorted(
        Part(
            package["name"], package["version"], (package["license"] or "").replace("/", " OR "), Path(package["manifest_path"]).parent,
            package["authors"], sorted(name_of[other] for other in used[key] if other in name_of),
            checksums.get((package["name"], package["version"]), ""), package["source"] is None,
        )
        for key, package in found.items()
    )


def lock():
    return (CHECKOUT / "Cargo.lock").read_text(encoding="utf-8")


def console():
    """The packages of npm that are bundled into the console: what its sources import, and what that needs."""
    run(CONSOLE / "build", "--modules")
    packages = json.loads((CONSOLE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    imports = re.compile(r"""(?:from|import)\s*\(?\s*['"]((?:@[\w.-]+/)?[\w.-]+)""")
    sources = [path for path in (CONSOLE / "src").rglob("*") if path.suffix in (".ts", ".js", ".svelte", ".css")]
    names = {name for path in sources for name in imports.findall(path.read_text(encoding="utf-8"))}
    # The compiler of Svelte adds its runtime.
    waiting = [f"node_modules/{name}" for name in sorted(names | {"svelte"}) if f"node_modules/{name}" in packages]
    found = {}
    while waiting:
        place = waiting.pop()
        if place in found:
            continue
        package = packages[place]
        needed = [where for name in package.get("dependencies", {}) if (where := resolved(packages, place, name))]
        found[place] = (package, needed)
        waiting += needed
    identity = {place: f"{name_at(place)}@{package['version']}" for place, (package, _) in found.items()}
    return sorted(
        Part(
            name_at(place), package["version"], package.get("license", ""), CONSOLE / place, [],
            sorted(identity[other] for other in needed), package.get("integrity", ""),
        )
        for place, (package, needed) in found.items()
    )


def name_at(place):
    return place.rpartition("node_modules/")[2]


def resolved(packages, place, name):
    """Where Node finds a package from another one: the nearest folder upwards."""
    while True:
        where = f"{place}/node_modules/{name}" if place else f"node_modules/{name}"
        if where in packages:
            return where
        if not place:
            return None
        place = place.rpartition("/node_modules/")[0] if "/node_modules/" in place else ""


if __name__ == "__main__":
    print(version())
