"""Unpacks an artifact, of whichever kind, without trust in it."""

import tarfile
import zipfile
from pathlib import Path


def names(artifact):
    if artifact.suffix == ".whl":
        with zipfile.ZipFile(artifact) as files:
            return files.namelist()
    with tarfile.open(artifact) as files:
        return files.getnames()


def unpack(artifact, folder):
    """Unpacks into an empty folder, and returns where the programs lie."""
    if artifact.suffix == ".whl":
        with zipfile.ZipFile(artifact) as files:
            for entry in files.infolist():
                # Python leaves out modes.
                path = Path(files.extract(entry, folder))
                path.chmod(entry.external_attr >> 16 & 0o777)
        return folder / "millrace" / "_program"
    with tarfile.open(artifact) as files:
        # A fault of this release's maker or of the download, never a file elsewhere.
        for entry in files:
            if not (entry.isfile() or entry.isdir()) or entry.name.startswith("/") or ".." in Path(entry.name).parts:
                raise tarfile.ReadError(f"the entry {entry.name} is neither a file nor a folder within the archive")
        # Older Pythons have no filters.
        files.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (root,) = folder.iterdir()
    return root
