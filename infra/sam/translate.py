"""Prints what the SAM transform makes of a template, as JSON.

For `make validate`: cfn-lint finds mistakes in the result that it does not find in the template itself. The transform
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
for resource in template["Resources"].values():
    if resource["Type"] == "AWS::Serverless::Function":
        resource["Properties"]["CodeUri"] = "s3://placeholder/code.zip"

# No managed policies: the template names those it uses by ARN.
translated = Translator({}, Parser()).translate(template, parameter_values={})
json.dump(translated, sys.stdout, indent=2)
