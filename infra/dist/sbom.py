"""Writes the bill of materials of an artifact, as CycloneDX in JSON, and holds it against the schema.

    sbom.py NAME PLATFORM PACKAGES OUT

It has the crates that are compiled into the programs of PACKAGES (one word), the packages of npm that are bundled into the
console, and DuckDB's library with its hash. The artifact itself is not hashed here: SHA256SUMS has it.
"""

import base64
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from parts import CHECKOUT, console, crates, settings, version

YEAR_2000 = "946684800"


def component(kind, part):
    """A crate or a package of npm as a component; `kind` is its type in a package URL."""
    scope, _, name = part.name.rpartition("/")
    hashes = []
    if part.checksum and kind == "cargo":
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=part.checksum)]
    elif part.checksum.startswith("sha512-"):
        digest = base64.b64decode(part.checksum.removeprefix("sha512-")).hex()
        hashes = [HashType(alg=HashAlgorithm.SHA_512, content=digest)]
    return Component(
        name=name, group=scope or None, version=part.version, type=ComponentType.LIBRARY, hashes=hashes,
        bom_ref=f"{kind}:{part.identity}", licenses=licences(part.licence),
        # Those of this workspace are in no registry.
        purl=None if part.own else PackageURL(kind, scope or None, name, part.version),
    )


def licences(text):
    return [LicenseFactory().make_from_string(text)] if text else []


def duckdb(platform):
    pins = settings(CHECKOUT / "infra" / "duckdb" / "version.env")
    place = platform.replace("-", "_")
    package = PackageURL("npm", "@duckdb", f"node-bindings-{platform}", pins["DUCKDB_PACKAGE_VERSION"])
    return Component(
        name="libduckdb", version=pins["DUCKDB_VERSION"], type=ComponentType.LIBRARY, bom_ref="duckdb", licenses=licences("MIT"),
        purl=package, hashes=[HashType(alg=HashAlgorithm.SHA_256, content=pins[f"DUCKDB_LIBRARY_{place}"])],
    )


def bill(name, platform, packages):
    root = Component(
        name=name, version=version(), type=ComponentType.APPLICATION, bom_ref=name, licenses=licences("MIT OR Apache-2.0"),
    )
    bom = Bom()
    bom.metadata.component = root
    # The same sources have the same bill.
    time = int(os.environ.get("SOURCE_DATE_EPOCH") or YEAR_2000)
    bom.metadata.timestamp = datetime.fromtimestamp(time, timezone.utc)
    bom.serial_number = uuid5(NAMESPACE_URL, f"millrace/{name}/{version()}")
    direct = [library := duckdb(platform)]
    bom.components.add(library)
    for kind, parts in (("cargo", crates(packages.split(), platform)), ("npm", console())):
        components = {part.identity: component(kind, part) for part in parts}
        used = {other for part in parts for other in part.uses}
        for part in parts:
            bom.components.add(components[part.identity])
            bom.register_dependency(components[part.identity], [components[other] for other in part.uses])
            if part.identity not in used:
                direct.append(components[part.identity])
    bom.register_dependency(root, direct)
    return bom


def main(name, platform, packages, out):
    text = JsonV1Dot6(bill(name, platform, packages)).output_as_string(indent=2)
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"The bill of materials is not valid: {fault}")
    Path(out).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
