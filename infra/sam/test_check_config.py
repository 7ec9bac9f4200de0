"""The check of the configuration finds what a function refuses, and says it in the function's words."""

import tempfile
import unittest
from pathlib import Path

from check_config import Values, check, functions
from preflight import CHECKOUT, values
from samcli.yamlhelper import yaml_parse
from settings import Refusal, Settings

TEMPLATE = yaml_parse((CHECKOUT / "template.yaml").read_text(encoding="utf-8"))
# Refuses, as a function that tells who is calling does, a missing issuer; and a variable that is not resolved.
PROGRAM = """#!/bin/sh
[ "$1" = --check-config ] || exit 9
env | grep -q "'Ref'\\|Fn::" && exit 8
[ -z "${MILLRACE_IDENTITY+set}" ] || [ -n "$MILLRACE_TOKEN_ISSUER" ] || { echo 'Error: ConfigError("The variable \\"ISSUER\\" is missing.")' >&2; exit 1; }
"""
PROVIDER = {"JwksUrl": "https://id.example/jwks.json", "TokenIssuer": "https://id.example", "TokenAudience": "millrace"}


class CheckConfig(unittest.TestCase):
    def check(self, parameters):
        with tempfile.TemporaryDirectory() as folder:
            for _, program, _, _ in functions(TEMPLATE):
                path = Path(folder, program)
                path.write_text(PROGRAM, encoding="utf-8")
                path.chmod(0o700)
            check(TEMPLATE, values(TEMPLATE, Settings(parameters=parameters), {}), f"{folder}/{{}}")

    def test_every_variable_of_the_template_gets_a_value(self):
        self.check(PROVIDER)

    def test_a_refusal_names_the_functions_and_what_they_say(self):
        with self.assertRaises(Refusal) as caught:
            self.check({})
        self.assertIn('PromptsFunction', str(caught.exception))
        self.assertIn('The variable "ISSUER" is missing.', str(caught.exception))

    def test_expressions(self):
        known = Values({"Conditions": {"Has": {"Fn::Not": [{"Fn::Equals": [{"Ref": "A"}, ""]}]}}}, {"A": "x", "B": "1,2"})
        for node, value in [
            ("text", "text"),
            ({"Ref": "A"}, "x"),
            ({"Ref": "AWS::Partition"}, "aws"),
            ({"Fn::Sub": "https://${Bucket.RegionalDomainName}/${A}"}, "https://name.s3.eu-central-1.amazonaws.com/x"),
            ({"Fn::If": ["Has", {"Ref": "A"}, "no"]}, "x"),
            ({"Fn::Join": ["-", {"Ref": "B"}]}, "1-2"),
        ]:
            self.assertEqual(known.of(node), value, node)
        with self.assertRaises(Refusal):
            known.of({"Fn::Select": [0, ["a"]]})


if __name__ == "__main__":
    unittest.main()
