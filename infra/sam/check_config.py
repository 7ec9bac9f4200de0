"""Runs each built function with `--check-config` and the variables that the template gives it, before it is deployed.

    check_config.py PROGRAMS [arguments of `sam deploy`]

PROGRAMS is a path with `{}` for the name of a function, such as target/functions/{}/bootstrap.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from preflight import CHECKOUT, stack_of, values
from samcli.yamlhelper import yaml_parse
from settings import Refusal, Settings, read_settings

# What only a deployment knows. The functions connect to nothing while they read it.
PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-central-1",
    "AWS::StackName": "millrace",
    "AWS::URLSuffix": "amazonaws.com",
}
HOST = "name.s3.eu-central-1.amazonaws.com"
RESOURCE = "https://sqs.eu-central-1.amazonaws.com/123456789012/name"


class Values:
    """The values of a template's expressions for these parameters."""

    def __init__(self, template, parameters):
        self.conditions, self.parameters = template.get("Conditions", {}), parameters

    def name(self, name):
        return self.parameters.get(name, PSEUDO.get(name, RESOURCE))

    def attribute(self, name):
        return HOST if name.endswith("DomainName") else self.name(name)

    def of(self, node):
        if not isinstance(node, dict):
            return node
        (function, argument), = node.items()
        match function:
            case "Ref":
                return self.name(argument)
            case "Fn::GetAtt":
                return self.attribute(argument if isinstance(argument, str) else ".".join(argument))
            case "Fn::Sub":
                return re.sub(r"\$\{([^}]+)\}", lambda match: self.attribute(match[1]), argument)
            case "Fn::If":
                condition, then, otherwise = argument
                return self.of(then if self.holds(self.conditions[condition]) else otherwise)
            case "Fn::Join":
                separator, texts = argument
                texts = self.of(texts)
                texts = texts.split(",") if isinstance(texts, str) else [self.of(text) for text in texts]
                return separator.join(texts)
        raise Refusal(f"The expression {function} is not known to the check of the configuration.")

    def holds(self, condition):
        (function, argument), = condition.items()
        match function:
            case "Fn::Equals":
                left, right = argument
                return str(self.of(left)) == str(self.of(right))
            case "Fn::Not":
                return not self.holds(argument[0])
            case "Fn::And":
                return all(self.holds(each) for each in argument)
            case "Fn::Or":
                return any(self.holds(each) for each in argument)
            case "Condition":
                return self.holds(self.conditions[argument])
        raise Refusal(f"The condition {function} is not known to the check of the configuration.")


def functions(template):
    """The functions with their programs, memory and variables."""
    common = template["Globals"]["Function"]
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            own = resource["Properties"]
            variables = common["Environment"]["Variables"] | own.get("Environment", {}).get("Variables", {})
            yield name, Path(own["CodeUri"]).name, own.get("MemorySize", common["MemorySize"]), variables


def sentence(result):
    """What a program says that does not start."""
    error = re.search(r'ConfigError\(("(?:\\.|[^"\\])*")\)', result.stderr)
    return json.loads(error[1]) if error else result.stderr.strip() or f"exit code {result.returncode}"


def check(template, parameters, programs):
    """Runs every function. Raises a refusal with what each that does not start says."""
    known, refusals = Values(template, parameters), {}
    for name, program, memory, variables in functions(template):
        with tempfile.TemporaryDirectory() as folder:
            environment = {variable: str(known.of(value)) for variable, value in variables.items()}
            environment |= {
                "AWS_ACCESS_KEY_ID": "none",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(known.of(memory)),
                "AWS_LAMBDA_FUNCTION_NAME": name,
                "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
                "AWS_LAMBDA_LOG_GROUP_NAME": "logs",
                "AWS_LAMBDA_LOG_STREAM_NAME": "stream",
                "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
                # No server is there.
                "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9",
                "AWS_REGION": "eu-central-1",
                "AWS_SECRET_ACCESS_KEY": "none",
                "TMPDIR": folder,
            }
            if path := os.environ.get("LD_LIBRARY_PATH"):
                environment["LD_LIBRARY_PATH"] = path
            command = [programs.replace("{}", program), "--check-config"]
            result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        if result.returncode:
            refusals.setdefault(sentence(result), []).append(name)
    if refusals:
        raise Refusal("\n  ".join(f"{', '.join(names)}: {text}" for text, names in refusals.items()))


def main(programs, *arguments):
    template = yaml_parse((CHECKOUT / "template.yaml").read_text(encoding="utf-8"))
    try:
        settings = read_settings(arguments, CHECKOUT)
        current = {}
        if settings.stack:
            session = boto3.Session(profile_name=settings.profile, region_name=settings.region)
            current = stack_of(session, settings.stack)[1]
        check(template, values(template, settings, current), programs)
    except Refusal as refusal:
        sys.exit(f"The functions would not start with these parameters; nothing was deployed:\n  {refusal}")
    except (BotoCoreError, ClientError) as error:
        sys.exit(f"The configuration was not checked, because AWS does not answer as expected: {error}")
    print("Every function starts with these parameters.")


if __name__ == "__main__":
    main(*sys.argv[1:])
