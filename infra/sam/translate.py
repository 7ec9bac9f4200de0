"""Writes what two checks of `make validate` read into a folder, as JSON.

`template.json` is the template with its YAML merges written out, because checkov reads no merge. `translated.json` is what
the SAM transform makes of it: cfn-lint finds mistakes there that it does not find in the template itself. The transform
wants code that is in S3 already, so every function is given a placeholder.
"""

import json
import logging
import os
import sys
from pathlib import Path

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

logging.disable(logging.WARNING)
# The transform asks for a region, and its result is the same for each.
os.environ.setdefault("AWS_DEFAULT_REGION", "eu-central-1")

template = yaml_parse(Path(sys.argv[1]).read_text(encoding="utf-8"))
folder = Path(sys.argv[2])
(folder / "template.json").write_text(json.dumps(template, indent=2), encoding="utf-8")
for resource in template["Resources"].values():
    if resource["Type"] == "AWS::Serverless::Function":
        resource["Properties"]["CodeUri"] = "s3://placeholder/code.zip"

# No managed policies: the template names those it uses by ARN.
translated = Translator({}, Parser()).translate(template, parameter_values={})
(folder / "translated.json").write_text(json.dumps(translated, indent=2), encoding="utf-8")
