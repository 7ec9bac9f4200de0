"""What `sam deploy` will use: stack, region, profile and parameters, from the command line and samconfig.toml.

The command line comes before samconfig.toml. Parameters of the command line take the place of all those of the file.
"""

import argparse
import re
from dataclasses import dataclass, field
from pathlib import Path

import tomlkit


class Refusal(Exception):
    """A sentence that says what is wrong and what to do."""


@dataclass
class Settings:
    """What a deployment is made with."""

    stack: str | None = None
    region: str | None = None
    profile: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    guided: bool = False
    config_file: Path = Path("samconfig.toml")
    config_env: str = "default"


# As `sam deploy` reads them.
PAIR = re.compile(r'(?:ParameterKey=)?(\w+)(?:,ParameterValue)?=("(?:\\.|[^"\\])*"|\S*)')


def unquoted(value):
    """The value without the quotes around it, and without the backslashes before quotes and spaces in it."""
    if len(value) > 1 and value.startswith('"') and value.endswith('"'):
        value = value[1:-1]
    return value.replace("\\ ", " ").replace('\\"', '"')


def pairs(overrides):
    """Reads `Name=value` and `ParameterKey=Name,ParameterValue=value`. A value with a space is quoted, as for `sam deploy`."""
    text = overrides if isinstance(overrides, str) else " ".join(overrides)
    rest = PAIR.sub("", text).strip()
    if rest:
        raise Refusal(f"The parameter override '{rest}' is not of the form Name=value.")
    return {name: unquoted(value) for name, value in PAIR.findall(text)}


def read_settings(arguments, folder=Path(".")):
    """Reads the arguments of `sam deploy` that name what is deployed. The others pass."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--stack-name")
    parser.add_argument("--region")
    parser.add_argument("--profile")
    parser.add_argument("--parameter-overrides", nargs="+", default=[])
    parser.add_argument("--config-file", default="samconfig.toml")
    parser.add_argument("--config-env", default="default")
    parser.add_argument("--guided", "-g", action="store_true")
    given, _ = parser.parse_known_args(arguments)
    config_file = folder / given.config_file
    saved = {}
    if config_file.suffix == ".toml" and config_file.exists():
        environment = tomlkit.parse(config_file.read_text(encoding="utf-8")).unwrap().get(given.config_env, {})
        for command in ("global", "deploy"):
            saved |= environment.get(command, {}).get("parameters", {})
    return Settings(
        stack=given.stack_name or saved.get("stack_name"),
        region=given.region or saved.get("region"),
        profile=given.profile or saved.get("profile"),
        parameters=pairs(given.parameter_overrides or saved.get("parameter_overrides", [])),
        guided=given.guided,
        config_file=config_file,
        config_env=given.config_env,
    )


def save(settings):
    """Writes stack, region and parameters to the environment of the config file, where `sam deploy` reads them."""
    path = settings.config_file
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    document.setdefault("version", 0.1)

    def table(name):
        environment = document.setdefault(settings.config_env, tomlkit.table(is_super_table=True))
        return environment.setdefault(name, tomlkit.table(is_super_table=True)).setdefault(
            "parameters", tomlkit.table()
        )

    table("global")["stack_name"] = settings.stack
    table("global")["region"] = settings.region
    overrides = tomlkit.array()
    for name, value in settings.parameters.items():
        escaped = value.replace('"', '\\"')
        overrides.append(f'{name}="{escaped}"' if re.search(r'[ "]', value) else f"{name}={value}")
    table("deploy")["parameter_overrides"] = overrides.multiline(True)
    path.write_text(tomlkit.dumps(document), encoding="utf-8")
