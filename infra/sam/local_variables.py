"""Writes the environment of each function, as a stack has it, for `sam local`.

    local_variables.py FILE [arguments of `sam deploy` that name the stack]

`sam local` does not know the names of what CloudFormation made, so it would pass the names of the template.
"""

import json
import sys
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from preflight import CHECKOUT, caller, stack_of
from samcli.yamlhelper import yaml_parse
from settings import Refusal, read_settings


def variables(template, names):
    """The variables of each function that are a text or a reference. `names` has parameters and resources."""
    shared = template["Globals"]["Function"]["Environment"]["Variables"]
    functions = {}
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            own = resource["Properties"].get("Environment", {}).get("Variables", {})
            functions[name] = {
                variable: names[value["Ref"]] if isinstance(value, dict) else str(value)
                for variable, value in (shared | own).items()
                if not isinstance(value, dict) or value.get("Ref") in names
            }
    return functions


def stack_names(session, stack):
    """The values of a stack's parameters, and the physical names of its resources."""
    status, names = stack_of(session, stack)
    if not status:
        raise Refusal(f"There is no stack '{stack}' in {session.region_name}: the functions need its tables. Deploy it first.")
    pages = session.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    resources = [each for page in pages for each in page["StackResourceSummaries"]]
    return names | {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in resources}


def main(file, *arguments):
    template = yaml_parse((CHECKOUT / "template.yaml").read_text(encoding="utf-8"))
    try:
        settings = read_settings(arguments, CHECKOUT)
        session = boto3.Session(profile_name=settings.profile, region_name=settings.region)
        if not settings.stack or not session.region_name:
            raise Refusal("Set stack_name and region in samconfig.toml, or --stack-name and --region in ARGS.")
        caller(session)
        names = stack_names(session, settings.stack)
    except (Refusal, BotoCoreError, ClientError) as refusal:
        sys.exit(f"run-sam: {refusal}")
    Path(file).write_text(json.dumps(variables(template, names), indent=2), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
