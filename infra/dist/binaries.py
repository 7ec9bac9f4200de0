"""Reads programs and libraries of Linux and macOS, on any machine."""

from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from macholib.mach_o import CPU_TYPE_NAMES, LC_RPATH
from macholib.MachO import MachO

MACHINES = {"EM_X86_64": "x64", "EM_AARCH64": "arm64", "x86_64": "x64", "ARM64": "arm64"}


@dataclass
class Binary:
    """What decides where a file runs."""

    system: str
    processors: set[str]
    run_paths: set[str]
    # Newest version of glibc that it needs; (0, 0) for none.
    glibc: tuple[int, int] = (0, 0)


def read(path):
    """The file as a binary; None for another kind of file."""
    with open(path, "rb") as file:
        magic = file.read(4)
        if magic == b"\x7fELF":
            return elf(ELFFile(file))
    if magic in (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"):
        return mach(MachO(str(path)))
    return None


def elf(file):
    run_paths, glibc = set(), (0, 0)
    for section in file.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            names = [version.name for _, versions in section.iter_versions() for version in versions]
            numbers = [name.removeprefix("GLIBC_") for name in names if name.startswith("GLIBC_")]
            glibc = max([glibc, *(tuple(map(int, number.split(".")[:2])) for number in numbers if number[0].isdigit())])
        if section.name == ".dynamic":
            for tag in section.iter_tags():
                if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                    run_paths |= set((tag.runpath if tag.entry.d_tag == "DT_RUNPATH" else tag.rpath).split(":"))
    return Binary("linux", {MACHINES.get(file["e_machine"], file["e_machine"])}, run_paths, glibc)


def mach(file):
    processors, run_paths = set(), set()
    for header in file.headers:
        name = CPU_TYPE_NAMES.get(header.header.cputype, str(header.header.cputype))
        processors.add(MACHINES.get(name, name))
        run_paths |= {
            data.rstrip(b"\0").decode() for command, _, data in header.commands if command.cmd == LC_RPATH
        }
    return Binary("darwin", processors, run_paths)
