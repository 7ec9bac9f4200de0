"""The SAM transform of the template.

Run by `infra/sam/validate`, it writes what two checks read into a folder, as JSON. `template.json` is the template with its YAML
merges written out, because checkov reads no merge. `translated.json` is what the transform makes of it: cfn-lint finds
mistakes there that it does not find in the template itself. `infra/ministack` deploys the same result to an emulator.
"""

import json
import logging
import os
import sys
from pathlib import Path

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator


def read(path):
    """The template of a file."""
    return yaml_parse(Path(path).read_text(encoding="utf-8"))


def translate(template, code_uri=lambda _binary: "s3://placeholder/code.zip"):
    """What the transform makes of a template.

    It accepts only code that is in S3; `code_uri` gives the place of each function's binary.
    """
    # The transform asks for a region, and its result is the same for each.
    os.environ.setdefault("AWS_DEFAULT_REGION", "eu-central-1")
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            properties = resource["Properties"]
            properties["CodeUri"] = code_uri(Path(properties["CodeUri"]).name)
    # No managed policies: the template names those it uses by ARN.
    return Translator({}, Parser()).translate(template, parameter_values={})


def main(path, folder):
    """Writes both files into a folder."""
    template = read(path)
    Path(folder, "template.json").write_text(json.dumps(template, indent=2), encoding="utf-8")
    Path(folder, "translated.json").write_text(json.dumps(translate(template), indent=2), encoding="utf-8")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    main(*sys.argv[1:])
