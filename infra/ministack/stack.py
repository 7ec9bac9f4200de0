"""Deploys template.yaml with built functions to a running MiniStack."""

import io
import json
import platform
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import WaiterError

from emulator import REGION, Failure
from gaps import OWN_TEMPORARY_FOLDER, PROGRAM, filled

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "infra" / "sam"))

from translate import read, translate  # noqa: E402

NAME = "millrace"
CODE_BUCKET = "millrace-code"
TEMPLATE_KEY = "template.json"
# Their archives hold DuckDB's library.
DUCKDB_FUNCTIONS = {"archiver", "audit", "datastores", "importer"}
# They know workflow types. Their programs are the programs `sample-…` of infra/lambda, which know the samples as well.
SAMPLE_FUNCTIONS = {"matcher", "subscriptions", "worker", "workflows"}
# They ask addresses that a caller names: here also those of this machine, where tests have their receivers.
ASKING_FUNCTIONS = {"DatastoresFunction", "ImporterFunction", "SubscriptionsFunction", "WorkerFunction"}
# Types of which a function calls one.
CALLED_TYPES = {"AWS::DynamoDB::Table", "AWS::Events::EventBus", "AWS::KMS::Key", "AWS::S3::Bucket", "AWS::SecretsManager::Secret", "AWS::SQS::Queue"}


class Stack:
    """The deployed template."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.s3, self.cloudformation = self.client("s3"), self.client("cloudformation")

    def client(self, service):
        return boto3.client(
            service, endpoint_url=self.endpoint, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test",
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, proxies={}, read_timeout=300),
        )

    def deploy(self, contents, parameters, api_url, ingest_url, endpoint_of):
        """Creates the stack. `contents` gives names and bytes of the files of a function, its program first. Runs call the API at `api_url`, and the console sends events to `ingest_url`; `endpoint_of` gives a function's endpoint of AWS by logical name."""
        self.s3.create_bucket(Bucket=CODE_BUCKET)
        template = filled(translate(read(ROOT / "template.yaml"), lambda binary: f"s3://{CODE_BUCKET}/{binary}.zip"))
        functions = {name: one for name, one in template["Resources"].items() if one["Type"] == "AWS::Lambda::Function"}
        endpoints = {name: endpoint_of(name) for name in functions}
        for name, function in functions.items():
            variables = function["Properties"]["Environment"]["Variables"]
            variables["AWS_ENDPOINT_URL"] = endpoints[name]
            if "MILLRACE_CONSOLE_INGEST_URL" in variables:
                variables["MILLRACE_CONSOLE_INGEST_URL"] = ingest_url
                # Links of uploads name the endpoint that made them.
                variables["MILLRACE_CONSOLE_CONNECT"] = endpoints["DatastoresFunction"]
            if "MILLRACE_API_URL" in variables:
                variables["MILLRACE_API_URL"] = api_url
            if name in ASKING_FUNCTIONS:
                variables["MILLRACE_LOCAL_TARGETS"] = "true"
        keys = {function["Properties"]["Code"]["S3Key"] for function in functions.values()}
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda key: self.upload(key, contents(key.removesuffix(".zip"))), sorted(keys)))
        self.s3.put_object(Bucket=CODE_BUCKET, Key=TEMPLATE_KEY, Body=json.dumps(template).encode())
        self.cloudformation.create_stack(
            StackName=NAME, TemplateURL=f"{self.endpoint}/{CODE_BUCKET}/{TEMPLATE_KEY}", Capabilities=["CAPABILITY_IAM"],
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        )
        try:
            self.cloudformation.get_waiter("stack_create_complete").wait(StackName=NAME, WaiterConfig={"Delay": 1, "MaxAttempts": 180})
        except WaiterError as error:
            raise Failure(f"The stack was not created:\n{self.reasons()}") from error

    def upload(self, key, content):
        archive = io.BytesIO()
        # Stored, because compressing takes longer than it saves on one machine.
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as files:
            write_program(files, "bootstrap", OWN_TEMPORARY_FOLDER.encode())
            for name, data in content:
                write_program(files, name, data)
        self.s3.put_object(Bucket=CODE_BUCKET, Key=key, Body=archive.getvalue())

    def reasons(self):
        events = self.cloudformation.describe_stack_events(StackName=NAME)["StackEvents"]
        failed = [event for event in events if event["ResourceStatus"].endswith("FAILED")]
        return "\n".join(f"  {event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}" for event in failed)

    def outputs(self):
        stack = self.cloudformation.describe_stacks(StackName=NAME)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def physical(self, logical):
        return self.cloudformation.describe_stack_resource(StackName=NAME, LogicalResourceId=logical)["StackResourceDetail"]["PhysicalResourceId"]

    def logical_names(self):
        """From what functions call a resource to its name in the template."""
        pages = self.cloudformation.get_paginator("list_stack_resources").paginate(StackName=NAME)
        resources = [resource for page in pages for resource in page["StackResourceSummaries"]]
        return {
            resource["PhysicalResourceId"].rstrip("/").split("/")[-1]: resource["LogicalResourceId"]
            for resource in resources
            if resource["ResourceType"] in CALLED_TYPES
        }


def built(binaries, duckdb, console):
    """The files of each function, of a build for this machine."""
    def content(function):
        yield PROGRAM, stripped(binaries / program_of(function))
        if function == "console":
            for file in sorted(file for file in console.rglob("*") if file.is_file()):
                yield f"console/{file.relative_to(console)}", file.read_bytes()
        if function in DUCKDB_FUNCTIONS:
            library = next(duckdb.glob("libduckdb.*"))
            yield f"lib/{library.name}", library.read_bytes()

    return content


def released(functions):
    """The files of each function of a release."""
    def content(function):
        folder = functions / function
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            name = file.relative_to(folder).as_posix()
            yield (PROGRAM if name == "bootstrap" else name), file.read_bytes()

    return content


def program_of(function):
    """The file name of the program that runs as this function."""
    return f"sample-{function}" if function in SAMPLE_FUNCTIONS else function


def architecture():
    return "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"


def stripped(path):
    """A binary without debug information, which makes a quarter of it."""
    strip = shutil.which("strip")
    if strip is None or platform.system() != "Linux":
        return path.read_bytes()
    target = path.with_name(f".{path.name}.stripped")
    try:
        subprocess.run([strip, "--strip-debug", "-o", target, path], check=True)
        return target.read_bytes()
    finally:
        target.unlink(missing_ok=True)


def write_program(files, name, content):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o100755 << 16
    files.writestr(entry, content)
