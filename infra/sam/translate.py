"""Prints what the SAM transform makes of a template, as JSON.

For `make validate`: cfn-lint finds mistakes in the result that it does not find in the template itself.
`infra/ministack` deploys the same result to an emulator.
"""

import json
import logging
import os
import sys
from pathlib import Path

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator


def translate(path, code_uri=lambda _binary: "s3://placeholder/code.zip"):
    """The translated template of a file.

    The transform accepts only code that is in S3; `code_uri` gives the place of each function's binary.
    """
    # The transform asks for a region, and its result is the same for each.
    os.environ.setdefault("AWS_DEFAULT_REGION", "eu-central-1")
    template = yaml_parse(Path(path).read_text(encoding="utf-8"))
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            properties = resource["Properties"]
            properties["CodeUri"] = code_uri(Path(properties["CodeUri"]).name)
    # No managed policies: the template names those it uses by ARN.
    return Translator({}, Parser()).translate(template, parameter_values={})


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    json.dump(translate(sys.argv[1]), sys.stdout, indent=2)
