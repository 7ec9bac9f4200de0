"""Checks, before anything is built or changed, that `make deploy` can succeed.

    preflight.py ARCHITECTURE [arguments of `sam deploy`]

The first time, when neither samconfig.toml nor the command line has parameters, it asks for what has no default and saves
the answers in samconfig.toml. It only reads from AWS.
"""

import re
import sys
from pathlib import Path

import boto3
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    InvalidRegionError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
from parameters import faults
from samcli.yamlhelper import yaml_parse
from settings import Refusal, Settings, read_settings, save

CHECKOUT = Path(__file__).resolve().parents[2]
# CloudFormation: at most 128 characters for the name of a stack.
MAX_STACK_NAME = 128
# What a name that the template makes of the stack's name may have, by its property. Names that
# CloudFormation makes itself are cut to fit, so they set no limit.
MAX_NAMES = {"Name": 256, "MetricName": 128, "DashboardName": 255, "Namespace": 255}
# Lambda refuses a reservation that leaves less than this to all other functions of the account and region.
UNRESERVED = 100
# Executions at a time below which a stack serves a few people.
FEW = 100
# Service Quotas: Lambda, "Concurrent executions".
CONCURRENCY_QUOTA = "L-B99A9384"
# One identity provider whose tokens have our claims.
PROVIDER = ("JwksUrl", "TokenIssuer", "TokenAudience")
LOGIN = (
    "Log in (`aws sso login`), or name a profile of ~/.aws/config in AWS_PROFILE; `aws sts get-caller-identity` shows"
    " whether it works."
)
NOT_ALLOWED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")


def values(template, settings, current):
    """The value of each parameter: given now, else as the stack has it, else the template's default."""
    defaults = {name: str(parameter.get("Default", "")) for name, parameter in template["Parameters"].items()}
    return defaults | current | settings.parameters


def name_limit(template):
    """Longest name of a stack, and the name that sets the limit."""
    limits = [(MAX_STACK_NAME, "the stack itself")]

    def walk(place, node):
        if isinstance(node, list):
            for each in node:
                walk(place, each)
        elif isinstance(node, dict):
            for key, value in node.items():
                text = value.get("Fn::Sub") if isinstance(value, dict) else None
                if key in MAX_NAMES and isinstance(text, str) and "${AWS::StackName}" in text:
                    added = len(text) - len("${AWS::StackName}")
                    shown = text.replace("${AWS::StackName}", "<stack>")
                    limits.append((MAX_NAMES[key] - added, f"the {key} '{shown}' of {place}"))
                walk(place, value)

    for name, resource in template["Resources"].items():
        walk(name, resource.get("Properties", {}))
    return min(limits)


def check_stack_name(template, stack):
    """Refuses a name that CloudFormation or the name of a resource does not allow."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", stack):
        raise Refusal(
            f"The stack name '{stack}' is malformed: it begins with a letter and has letters, digits and hyphens only."
            " Set stack_name in samconfig.toml or --stack-name in ARGS."
        )
    limit, reason = name_limit(template)
    if len(stack) > limit:
        raise Refusal(
            f"The stack name '{stack}' has {len(stack)} characters, and at most {limit} fit: {reason} ends there."
            " Choose a shorter one; a stack cannot be renamed."
        )


def check_parameters(template, given, architecture):
    """Refuses names that the template does not have, values that are missing, and another architecture than was built."""
    known = template["Parameters"]
    for name in given:
        if name not in known:
            raise Refusal(f"The template has no parameter {name}; its parameters are {', '.join(known)}.")
    missing = [name for name, parameter in known.items() if "Default" not in parameter and not given.get(name)]
    # CloudFormation's rule says the same, but only once everything is built.
    short_form = [name for name in PROVIDER if given.get(name)]
    if not given.get("Identity"):
        missing += [name for name in PROVIDER if not given.get(name)]
    elif short_form:
        raise Refusal(f"Identity and {', '.join(short_form)} both name an identity provider: remove one of them.")
    if missing:
        raise Refusal(
            f"The parameters {', '.join(missing)} have no value: set them in parameter_overrides of samconfig.toml. In the place of"
            f" {', '.join(PROVIDER)}, Identity can describe any identity provider (docs/identity.md)."
        )
    wanted = given.get("Architecture") or known["Architecture"]["Default"]
    if wanted != architecture:
        raise Refusal(
            f"The parameter Architecture is {wanted}, and what `make deploy` deploys is for {architecture}: run"
            f" `make deploy ARCH={wanted}`, or set Architecture={architecture}."
        )


def check_values(template, parameters):
    """Refuses values that do not go together."""
    sentences = list(faults(template, parameters))
    if sentences:
        raise Refusal("\n  ".join(sentences))


def reservations(template, parameters):
    """The functions with reserved concurrency, how much, and the parameter that sets it."""
    reserved = []
    for name, resource in template["Resources"].items():
        amount = resource.get("Properties", {}).get("ReservedConcurrentExecutions")
        if amount is None:
            continue
        # `!If [Reserves…, !Ref …Concurrency, !Ref AWS::NoValue]`: 0 reserves nothing.
        parameter = amount["Fn::If"][1]["Ref"]
        value = parameters[parameter]
        if not value.isdecimal():
            raise Refusal(f"The parameter {parameter} is '{value}', which is not a whole number.")
        if int(value) > 0:
            reserved.append((name, int(value), parameter))
    return reserved


def check_concurrency(template, parameters, current, limits, region, note):
    """Refuses reservations that the account's quota has no room for. `current` has the parameters of the stack, if it exists."""
    quota = limits["ConcurrentExecutions"]
    wanted = reservations(template, parameters)
    total = sum(amount for _, amount, _ in wanted)
    own = sum(amount for _, amount, _ in reservations(template, current)) if current else 0
    room = limits["UnreservedConcurrentExecutions"] + own - UNRESERVED
    if total == 0 and quota < FEW:
        note(
            f"Preflight: Lambda's quota in {region} is {quota} executions at a time for all functions. Open pages with a stream take"
            " one each, and callers get a 503 or 429 when it is used up: enough to try Millrace, and not for production."
        )
    if total <= max(room, 0):
        return
    shown = ", ".join(f"{name} {amount}" for name, amount, _ in wanted)
    text = (
        f"Lambda's quota of concurrent executions in {region} is {quota}, of which {max(room, 0)} can be reserved (Lambda keeps"
        f" {UNRESERVED} unreserved), and the template reserves {total} ({shown}). Raise the quota:"
        f" `aws service-quotas request-service-quota-increase --service-code lambda --quota-code {CONCURRENCY_QUOTA}"
        f" --desired-value {max(1000, quota - room + total)} --region {region}`"
    )
    parameters = [parameter for _, _, parameter in wanted]
    if room >= len(wanted):
        text += f"; or lower {', '.join(parameters)} to {room} together"
    none = " ".join(f"{parameter}=0" for parameter in parameters)
    raise Refusal(f"{text}; or set {none}, which reserves nothing: then all functions share the quota.")


def has_log_role(session):
    """Whether API Gateway has a role for logs that still exists: the setting outlives a role that was deleted."""
    role = session.client("apigateway").get_account().get("cloudwatchRoleArn")
    if not role:
        return False
    try:
        session.client("iam").get_role(RoleName=role.rsplit("/", 1)[-1])
    except ClientError as error:
        code = error.response["Error"]["Code"]
        # A caller that may not look at the role relies on the setting.
        if code not in ("NoSuchEntity", *NOT_ALLOWED):
            raise
        return code != "NoSuchEntity"
    return True


def check_log_role(has_role, parameters, region):
    """Refuses a stage with access logs where API Gateway has no role to write them with."""
    if not has_role and parameters["ApiLogRole"] != "create":
        raise Refusal(
            f"API Gateway has no role for writing logs in {region}, so a stage with an access log is refused. Add"
            " ApiLogRole=create to parameter_overrides."
        )


def check_state(stack, status, region):
    """Refuses a stack that CloudFormation does not update."""
    name = f"--stack-name {stack} --region {region}"
    delete = f"`aws cloudformation delete-stack {name}`, then `aws cloudformation wait stack-delete-complete {name}`"
    if status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED"):
        advice = f"Its first deployment failed, and it cannot be updated. Read why: `aws cloudformation describe-stack-events {name}`. Delete it: {delete}."
    elif status == "DELETE_FAILED":
        advice = f"It was only deleted in part. Delete it again: {delete}; what still refuses is named by `aws cloudformation describe-stack-events {name}`."
    elif status == "UPDATE_ROLLBACK_FAILED":
        advice = f"Remove the cause that `aws cloudformation describe-stack-events {name}` names, then `aws cloudformation continue-update-rollback {name}`."
    elif status == "UPDATE_FAILED":
        advice = f"Its last update was not rolled back. Roll it back: `aws cloudformation rollback-stack {name}`."
    elif status == "REVIEW_IN_PROGRESS" or not status.endswith(("_IN_PROGRESS", "_FAILED")):
        return
    elif status == "DELETE_IN_PROGRESS":
        advice = f"Wait until it is gone: `aws cloudformation wait stack-delete-complete {name}`."
    elif status.endswith("_IN_PROGRESS"):
        advice = f"Another deployment is under way. Wait until `aws cloudformation describe-stacks {name} --query 'Stacks[0].StackStatus'` shows that it has ended."
    else:
        advice = f"Read why: `aws cloudformation describe-stack-events {name}`."
    raise Refusal(f"The stack '{stack}' is in the state {status}. {advice}")


def caller(session):
    """Whose credentials these are. A refusal that says how to get some that work."""
    try:
        return session.client("sts").get_caller_identity()["Arn"]
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise Refusal(f"There are no AWS credentials ({error}). {LOGIN}") from error
    except (SSOError, TokenRetrievalError) as error:
        raise Refusal(f"The AWS session has expired ({error}). {LOGIN}") from error
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in ("ExpiredToken", "ExpiredTokenException", "RequestExpired"):
            raise Refusal(f"The AWS credentials have expired. {LOGIN}") from error
        raise Refusal(f"AWS refuses the credentials ({code}: {error.response['Error'].get('Message', '')}). {LOGIN}") from error
    except (ConnectTimeoutError, EndpointConnectionError, InvalidRegionError) as error:
        raise Refusal(
            f"AWS does not answer in the region '{session.region_name}' ({error}). Check the region's name and the network."
        ) from error


def stack_of(session, stack):
    """The state and the parameters of a stack; None for one that does not exist."""
    try:
        found = session.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in error.response["Error"].get("Message", ""):
            return None, {}
        raise
    parameters = {each["ParameterKey"]: each.get("ParameterValue", "") for each in found.get("Parameters", [])}
    return found["StackStatus"], parameters


def is_first(settings, session):
    """Whether `sam deploy` would lack the parameters: none are given or saved, and there is no stack to take them from."""
    if settings.parameters or settings.guided:
        return False
    if not settings.stack or not session.region_name:
        return True
    caller(session)
    return stack_of(session, settings.stack)[0] in (None, "REVIEW_IN_PROGRESS")


def ask(settings, template, architecture, region):
    """Asks for what a first deployment needs."""
    print("This is the first deployment. The answers are saved in samconfig.toml; other parameters keep their defaults.")

    def answer(question, default=None):
        while True:
            text = input(f"  {question}{f' [{default}]' if default else ''}: ").strip() or default
            if text:
                return text

    settings.region = answer("Region", region)
    settings.stack = answer("Stack name", settings.stack)
    settings.parameters["Architecture"] = architecture
    for name, parameter in template["Parameters"].items():
        if "Default" not in parameter or name in PROVIDER:
            settings.parameters[name] = answer(f"{name}: {parameter['Description']}")


def check(settings: Settings, template, architecture, session, note=print):
    """Every check. Raises the first refusal of those that the rest depends on, and one with all others."""
    if not session.region_name:
        raise Refusal("No region is set: set region in samconfig.toml, --region in ARGS, or AWS_DEFAULT_REGION.")
    region = session.region_name
    identity = caller(session)
    if not settings.stack:
        raise Refusal("No stack name is set: set stack_name in samconfig.toml or --stack-name in ARGS.")
    refusals = []

    def attempt(checked, *arguments):
        try:
            return checked(*arguments)
        except Refusal as refusal:
            refusals.append(str(refusal))
        except ClientError as error:
            if error.response["Error"]["Code"] not in NOT_ALLOWED:
                raise
            note(f"Preflight: not checked, because {identity} may not call {error.operation_name}.")
        return None

    attempt(check_stack_name, template, settings.stack)
    status, current = (None, {}) if refusals else attempt(stack_of, session, settings.stack) or (None, {})
    if status:
        attempt(check_state, settings.stack, status, region)
    exists = status not in (None, "REVIEW_IN_PROGRESS")
    current = current if exists else {}
    # `sam deploy --guided` asks for the parameters itself.
    if not settings.guided:
        attempt(check_parameters, template, current | settings.parameters, architecture)
    parameters = values(template, settings, current)

    def log_role():
        check_log_role(has_log_role(session), parameters, region)

    def concurrency():
        limits = session.client("lambda").get_account_settings()["AccountLimit"]
        own = values(template, Settings(), current) if exists else {}
        check_concurrency(template, parameters, own, limits, region, note)

    # The answers of --guided are not known yet.
    if not settings.guided:
        attempt(check_values, template, parameters)
        attempt(log_role)
        attempt(concurrency)
    if refusals:
        raise Refusal("\n  ".join(refusals))
    note(f"Preflight: {'updates' if exists else 'makes'} the stack '{settings.stack}' in {region} as {identity}.")


def main(architecture, *arguments):
    template = yaml_parse((CHECKOUT / "template.yaml").read_text(encoding="utf-8"))
    try:
        settings = read_settings(arguments, CHECKOUT)

        def session():
            return boto3.Session(profile_name=settings.profile, region_name=settings.region)

        asks = sys.stdin.isatty() and is_first(settings, session())
        if asks:
            ask(settings, template, architecture, session().region_name)
            caller(session())
            # Without it the first stage of a region is refused.
            if not has_log_role(session()):
                settings.parameters["ApiLogRole"] = "create"
        check(settings, template, architecture, session())
        if asks:
            save(settings)
    except (Refusal, ProfileNotFound) as refusal:
        sys.exit(f"Preflight, before anything is built or changed:\n  {refusal}")
    except (BotoCoreError, ClientError) as error:
        sys.exit(f"Preflight: AWS does not answer as expected: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
