"""Gives Schemathesis ids of resources that exist and bodies near the examples, so that most requests reach a handler."""

import json
import os
import random
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import schemathesis
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation

ORIGIN = os.environ["ORIGIN"]
TOKEN = os.environ["TOKEN"]
EXAMPLES = Path(os.environ["EXAMPLES"])
# Workflow runs only start by the operator command: a list of their ids.
RUNS = json.loads(os.environ["RUNS"])

# Share of the requests that name what exists.
NAMED = 0.9
# Shares of the bodies that are an example, or an example with one generated field.
EXAMPLE, MIXED = 0.4, 0.3

chance = random.Random(int(os.environ["SEED"]))


def example(operation):
    return json.loads((EXAMPLES / f"{operation}.json").read_text())["request"].get("body")


def call(method, path, body=None):
    request = urllib.request.Request(
        f"{ORIGIN}/api/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def create(operation, path):
    body = example(operation)
    return call("POST", path, {**body, "name": f"{body['name']} {uuid.uuid4()}"})


def new_prompt():
    return {"pt_id": create("createPrompt", "/prompts")["id"], "version": 1}


def new_key():
    return {"key_id": create("createKey", "/keys")["id"]}


def new_member():
    body = example("addMember")
    return {"member_id": call("POST", "/members", {**body, "user_id": f"{body['user_id']} {uuid.uuid4()}"})["id"]}


def new_store():
    return {"store_id": create("createDataStore", "/data")["id"]}


def new_table(store):
    name = f"t_{uuid.uuid4().hex}"
    columns = example("createTables")["tables"][1]["columns"]
    call("POST", f"/data/{store}/tables", {"tables": [{"name": name, "columns": columns}]})
    return {"store_id": store, "table_name": name}


def new_dashboard(store):
    return {"store_id": store, "dashboard_id": create("createDashboard", f"/data/{store}/dashboards")["id"]}


def furnished_store():
    store = new_store()["store_id"]
    path = f"/data/{store}"
    call("POST", f"{path}/tables", example("createTables"))
    return {
        "store_id": store,
        "table_name": "orders",
        "import_id": call("POST", f"{path}/import", example("importRows"))["id"],
        "version_id": create("createStoreSnapshot", f"{path}/versions")["id"],
        **new_dashboard(store),
    }


def new_channel():
    made = create("createChannel", "/events/channels")
    path = {"account_id": made["account_id"], "project_id": made["project_id"]}
    return {**path, "channel_id": made["id"], "token": made["ingest_token"]}


def new_subscription():
    return {"subscription_id": create("createSubscription", "/events/subscriptions")["id"]}


def new_delivery():
    """A subscription with a test event, and its delivery."""
    subscription = new_subscription()
    event = call("POST", f"/events/subscriptions/{subscription['subscription_id']}/send", {})
    return {**subscription, "event_id": event["event_id"], "delivery_id": event["delivery_id"]}


def next_run():
    """The runs take turns, and one that is cancelled leaves its place to the next."""
    return RUNS.pop(0) if len(RUNS) > 1 else RUNS[0]


SHARED = {
    **new_prompt(),
    **furnished_store(),
    **new_channel(),
    **new_delivery(),
    **new_key(),
    **new_member(),
    **RUNS[-1],
    "query_name": "__stack",
    "signal_name": "Note",
}
# The tables of this store change, and it may be archived: `..` as a name of a table is the path of its store.
CHANGING = furnished_store()


def of_changing(make):
    """Makes something in the store whose tables change; in a new one if that is archived."""
    try:
        return make(CHANGING["store_id"])
    except urllib.error.HTTPError:
        CHANGING.update(furnished_store())
        return make(CHANGING["store_id"])


# What such an operation deletes or changes is its own, so that the requests of others find theirs.
MAKERS = {
    "actOnWorkflowRun": lambda: {**next_run(), "action": "cancel"},
    "alterTable": lambda: of_changing(new_table),
    "archiveDashboard": lambda: of_changing(new_dashboard),
    "archiveDataStore": new_store,
    "cancelDelivery": new_delivery,
    "createTables": lambda: CHANGING,
    "deleteChannel": new_channel,
    "removeMember": new_member,
    "revokeKey": new_key,
    "deletePrompt": new_prompt,
    "deleteSubscription": new_subscription,
    "dropTable": lambda: of_changing(new_table),
    "importRows": lambda: CHANGING,
    "updateSchema": lambda: CHANGING,
}
DASHBOARD = f"/data/{SHARED['store_id']}/dashboards/{SHARED['dashboard_id']}"
DASHBOARD_VERSION = call("GET", f"{DASHBOARD}/versions")[0]["id"]


def ids_of(operation):
    if operation in MAKERS:
        return MAKERS[operation]()
    if operation == "promoteDashboardVersion":
        return {**SHARED, "version_id": DASHBOARD_VERSION}
    return SHARED


def is_valid(case, place):
    """Whether Schemathesis made a part of the request to be accepted."""
    part = case.meta.components.get(place) if case.meta else None
    return part is None or part.mode == GenerationMode.POSITIVE


@schemathesis.hook
def filter_case(context, case):
    """An empty query parameter counts as one that is left out, whatever its type."""
    return not case.query or not any(value in ("", [], {}) for value in case.query.values())


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw["operationId"]
    if operation == "ingestEvent":
        case.operation.base_url = f"{ORIGIN}/ingest"
    if case.path_parameters and is_valid(case, ParameterLocation.PATH) and chance.random() < NAMED:
        ids = ids_of(operation)
        for name in case.path_parameters:
            case.path_parameters[name] = ids[name]
        if operation == "ingestEvent":
            case.headers["authorization"] = f"Bearer {ids['token']}"
    if is_valid(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        case.body = near_example(operation, case.body)


def near_example(operation, generated):
    sample = example(operation)
    kind = chance.random()
    if not sample or kind >= EXAMPLE + MIXED:
        return generated
    if "name" in sample and operation.startswith("create"):
        sample["name"] = f"{sample['name']} {chance.random()}"
    if kind >= EXAMPLE and generated:
        field = chance.choice(sorted(generated))
        sample[field] = generated[field]
    return sample
