"""Writes a workflow type to begin with: its module, its line in the registry, a test and a case of the corpus.

    new.py NAME [FOLDER]

NAME is that of the module, such as `order` or `refund-order`; FOLDER is the crate, without it the one of this file.
"""

import pathlib
import re
import string
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Words that Rust takes for itself and that could be a module's name; `self` and so on are refused by it too.
KEYWORDS = set(
    "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in let loop macro "
    "match mod move mut override priv pub ref return self static struct super trait true try type typeof unsafe unsized use virtual "
    "where while yield".split()
)


class Refused(Exception):
    pass


def main(arguments):
    if len(arguments) not in (1, 2) or not arguments[0]:
        raise Refused("name the workflow type: make new-workflow NAME=order")
    folder = pathlib.Path(arguments[1]) if len(arguments) == 2 else HERE.parent
    module = arguments[0].replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", module) or len(module) > 60 or module in KEYWORDS | {"lib"}:
        raise Refused(f"'{arguments[0]}' cannot name a module: use lower-case letters, digits and hyphens, such as refund-order")
    if module in crates(folder):
        raise Refused(f"'{arguments[0]}' is the name of a crate, which a module of that name would hide: choose another NAME")
    names = {"module": module, "type": "".join(word.capitalize() for word in module.split("_"))}
    library, corpus = folder / "src/lib.rs", folder / "tests/corpus.rs"
    changed = {
        library: registered(library.read_text(encoding="utf-8"), module),
        corpus: with_case(corpus.read_text(encoding="utf-8"), names),
    }
    made = {folder / f"src/{module}.rs": "module.rs.txt", folder / f"tests/{module}.rs": "test.rs.txt"}
    for path in made:
        if path.exists() or (path.parent / module).exists():
            raise Refused(f"{path} is there already: choose another NAME")
    for path in sources(folder):
        if re.search(rf'(WorkflowType::new|\.workflow)\(\s*"{names["type"]}"', path.read_text(encoding="utf-8")):
            raise Refused(f"{path} has a workflow type '{names['type']}', and names are global: choose another NAME")
    for path, template in made.items():
        text = string.Template((HERE / template).read_text(encoding="utf-8")).substitute(names)
        path.write_text(text, encoding="utf-8")
        print(f"wrote    {path}")
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
        print(f"changed  {path}")
    print(
        f"""
Next:

  make test-workflows                                     its test, and its stored history
  make run                                                in one terminal; in another:
  millrace ops run start {names['type']} name=Ada

docs/workflow-types.md says what its code can do."""
    )


def crates(folder):
    """Names of the crates that the code may use."""
    manifest = (folder / "Cargo.toml").read_text(encoding="utf-8")
    dependencies = re.findall(r"^([a-z][\w-]*)(?:\.| =)", manifest.partition("dependencies]")[2], re.MULTILINE)
    return {"alloc", "core", "proc_macro", "runs", "std", "test"} | {name.replace("-", "_") for name in dependencies}


def sources(folder):
    """Files whose workflow types the local runner registers."""
    samples = HERE.parents[2] / "infra/samples/src"
    return [path for place in (folder / "src", samples) for path in sorted(place.glob("**/*.rs"))]


def registered(text, module):
    modules = re.findall(r"^pub mod (\w+);\n", text, re.MULTILINE)
    listed = re.search(r"(const TYPES: [^=]*= &\[)(.*?)(\];)", text, re.DOTALL)
    if not modules or not listed:
        raise Refused("src/lib.rs has no list of modules and TYPES to add to: add the module by hand")
    after = [name for name in modules if name < module]
    before = f"pub mod {after[-1]};\n" if after else ""
    at = text.index(before) + len(before) if before else text.index(f"pub mod {modules[0]};\n")
    types = sorted({entry.strip() for entry in listed[2].split(",") if entry.strip()} | {f"{module}::add"})
    line = f"{listed[1]}{', '.join(types)}{listed[3]}"
    if len(line) > 110:
        line = listed[1] + "\n" + "".join(f"    {entry},\n" for entry in types) + listed[3]
    return text[:at] + f"pub mod {module};\n" + text[at : listed.start()] + line + text[listed.end() :]


def with_case(text, names):
    opening = "    vec![\n"
    if text.count(opening) != 1:
        raise Refused("tests/corpus.rs has no list of cases to add to: add the case by hand")
    case = string.Template(
        """        (
            "$type-completed",
            last(TestRun::new(&registry(), "$type", &json!({ "name": "Ada" }))),
        ),
"""
    ).substitute(names)
    return text.replace(opening, opening + case)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Refused as refusal:
        sys.exit(f"new-workflow: {refusal}")
