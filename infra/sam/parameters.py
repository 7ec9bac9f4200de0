"""What the values of parameters must be together, beyond what CloudFormation checks.

Its rules compare no numbers and read no JSON, and speak only once everything is built. A function that gets such a value does
not start.
"""

import json

# A parameter that says nothing without another one.
NEEDS = (
    ("DomainName", "CertificateArn"),
    ("IngestDomainName", "IngestCertificateArn"),
    ("IngestCertificateArn", "IngestDomainName"),
    ("IngestWebAclArn", "IngestDomainName"),
    ("VpcSubnetIds", "VpcSecurityGroupIds"),
    ("VpcSecurityGroupIds", "VpcSubnetIds"),
)
# By provider, the parameters of the language model that it needs, and those that it does not use.
MODEL = {
    "none": ((), ("Model", "ModelBaseUrl", "ModelApiKeySecret")),
    "bedrock": (("Model",), ("ModelBaseUrl", "ModelApiKeySecret")),
    "openai": (("Model", "ModelBaseUrl"), ()),
}


def faults(template, parameters):
    """A sentence for each fault of the values, which are given or default."""
    for name, other in NEEDS:
        if parameters[name] and not parameters[other]:
            yield f"{name} needs {other}: set both, or neither."
    if parameters["MonthlyBudget"] not in ("", "0") and not parameters["AlarmTopicArn"]:
        yield "MonthlyBudget needs AlarmTopicArn, which it notifies: set both, or neither."
    yield from faults_of_rotation(parameters)
    yield from faults_of_retention(parameters)
    yield from faults_of_model(parameters)
    yield from faults_of_identity(parameters["Identity"], template["Parameters"]["Identity"]["MaxLength"])
    keys = parameters["JwksUrl"]
    if keys and not keys.startswith("https://"):
        yield f"JwksUrl is '{keys}', and keys are read over https alone: set it to the URL of the provider's key set."
    if parameters["ConsoleClientId"] and parameters["Identity"] and not parameters["ConsoleIssuer"]:
        yield "ConsoleClientId needs ConsoleIssuer where Identity names the providers: set it to the URL at which people sign in."


def faults_of_rotation(parameters):
    """A key that replaced another one is not also the one before."""
    for name, earlier in (("ServiceKeyArn", "PreviousServiceKeyArn"), ("DigestKeyArn", "EarlierDigestKeyArns")):
        if parameters[name] and parameters[name] in parameters[earlier].split(","):
            yield f"{name} is also in {earlier}, which names keys that it replaced: take it out there (docs/runbook.md)."


def faults_of_retention(parameters):
    """A delivery names its run and its event."""
    kept = {name: parameters[name] for name in ("RetainRunsDays", "RetainEventsDays", "RetainDeliveriesDays")}
    # CloudFormation refuses what is no number.
    if not all(value.isdecimal() for value in kept.values()):
        return
    deliveries = kept.pop("RetainDeliveriesDays")
    for name, value in kept.items():
        if int(value) < int(deliveries):
            yield (
                f"{name} is {value}, less than RetainDeliveriesDays ({deliveries}), and deliveries name what it keeps: raise it, or"
                " lower RetainDeliveriesDays."
            )


def faults_of_model(parameters):
    provider = parameters["ModelProvider"]
    # CloudFormation refuses another provider.
    needed, unused = MODEL.get(provider, ((), ()))
    for name in needed:
        if not parameters[name]:
            yield f"ModelProvider={provider} needs {name}, which is empty."
    for name in unused:
        if parameters[name]:
            yield f"{name} is set, and ModelProvider={provider} does not use it: remove it, or choose another provider."


def faults_of_identity(text, longest):
    """The shape alone: what else is wrong with a provider, the functions say at their start (shared/identity)."""
    if not text:
        return
    if len(text) > longest:
        yield f"Identity has {len(text)} characters, and at most {longest} fit into the variables of a function: shorten it."
    try:
        providers = json.loads(text)
    except ValueError as error:
        yield (
            f"Identity is not valid JSON ({error}): in samconfig.toml and on the command line each quote in it has a backslash before"
            " it (docs/deploy.md)."
        )
        return
    providers = providers if isinstance(providers, list) else [providers]
    if not providers:
        yield "Identity names no provider: describe at least one (docs/identity.md)."
    for number, provider in enumerate(providers, 1):
        if not isinstance(provider, dict):
            yield f"Provider {number} of Identity is no object: describe it by its settings (docs/identity.md)."
            continue
        if not provider.get("issuer") and not provider.get("preset"):
            yield f"Provider {number} of Identity has neither `issuer` nor `preset`: set one of them (docs/identity.md)."
        if not provider.get("audience"):
            yield f"Provider {number} of Identity has no `audience`: set it to what the provider puts into `aud` (docs/identity.md)."
