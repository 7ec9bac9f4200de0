"""Unpacks a release for Lambda whose checksum is right, and prints its folder.

    open.py RELEASE ARCHITECTURE

RELEASE is a version, which is downloaded; an archive, with SHA256SUMS beside it; or a folder of both. Of several archives it
takes that of ARCHITECTURE. RELEASES_URL is where releases are, by default those of the checkout's origin on GitHub. It needs
Python alone.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from unpack import unpack

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "millrace" / "releases"
SUMS = "SHA256SUMS"
GITHUB = re.compile(r"(?:https://|git@)github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?$")


class Refusal(Exception):
    """A sentence that says what is wrong and what to do."""


def releases_url():
    if url := os.environ.get("RELEASES_URL"):
        return url.rstrip("/")
    origin = subprocess.run(["git", "remote", "get-url", "origin"], capture_output=True, text=True, check=False)
    if found := GITHUB.match(origin.stdout.strip()):
        return f"https://github.com/{found[1]}/releases"
    raise Refusal("This checkout has no origin on GitHub: set RELEASES_URL to the address of the releases, https://…/releases.")


def download(version, architecture, folder):
    """Fetches the archive of a version and its checksums."""
    base = f"{releases_url()}/download/v{version}"
    archive = f"millrace-lambda-{version}-{architecture}.tar.gz"
    for name in (SUMS, archive):
        if not base.startswith("https://"):
            raise Refusal(f"RELEASES_URL is '{base}', and releases are fetched over https alone.")
        try:
            with urllib.request.urlopen(f"{base}/{name}", timeout=60) as response, open(folder / name, "wb") as file:
                # Where it redirects to, too.
                if not response.url.startswith("https://"):
                    raise Refusal(f"{base}/{name} leads to {response.url}, and releases are fetched over https alone.")
                shutil.copyfileobj(response, file)
        except (OSError, urllib.error.URLError) as error:
            raise Refusal(f"{base}/{name} cannot be fetched ({error}): check the version, or download it and give its folder.") from error
    return folder / archive


def chosen(release, architecture):
    """The archive of a file or a folder."""
    if release.is_file():
        return release
    archives = sorted(release.glob("millrace-lambda-*.tar.gz"))
    matching = [path for path in archives if path.name.endswith(f"-{architecture}.tar.gz")] if len(archives) > 1 else archives
    if len(matching) != 1:
        raise Refusal(f"{release} has {len(matching)} archives millrace-lambda-*-{architecture}.tar.gz: name one of them in RELEASE.")
    return matching[0]


def digest(archive):
    with open(archive, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(archive):
    """Refuses an archive that is not the one of SHA256SUMS beside it. Returns its checksum."""
    sums = archive.parent / SUMS
    if not sums.is_file():
        raise Refusal(f"There is no {SUMS} beside {archive}: download it from the same release.")
    lines = [line.split() for line in sums.read_text(encoding="utf-8").splitlines()]
    expected = [line[0] for line in lines if len(line) == 2 and line[1].lstrip("*") == archive.name]
    if len(expected) != 1:
        raise Refusal(f"{SUMS} has no line for {archive.name}: download both from the same release.")
    actual = digest(archive)
    if actual != expected[0]:
        raise Refusal(f"{archive.name} has the SHA-256 {actual}, and {SUMS} says {expected[0]}: it is not used. Download it again.")
    return actual


def opened(archive):
    """Unpacks into the cache, under the checksum."""
    folder = CACHE / verify(archive)[:16]
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as work:
            unpack(archive, Path(work))
            try:
                Path(work).rename(folder)
            except OSError:
                # Another deployment was first.
                if not folder.exists():
                    raise
    (root,) = folder.iterdir()
    return root


def main(release, architecture):
    try:
        with tempfile.TemporaryDirectory() as work:
            if Path(release).exists():
                archive = chosen(Path(release), architecture)
            elif re.fullmatch(r"v?\d+\.\d+\.\d+[\w.+-]*", release):
                archive = download(release.removeprefix("v"), architecture, Path(work))
            else:
                raise Refusal(f"RELEASE is '{release}', which is neither a version, such as 0.1.0, nor a file or folder.")
            print(opened(archive))
    except Refusal as refusal:
        sys.exit(f"The release is not used: {refusal}")
    except (OSError, tarfile.TarError, ValueError) as error:
        sys.exit(f"The release is not used: {release} is no archive of a release: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
