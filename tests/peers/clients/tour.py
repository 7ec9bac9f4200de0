"""The tour (docs/tour.md) with the generated Python client."""

import os
import time
from typing import TypeVar
from urllib.request import urlopen

from millrace_client import AuthenticatedClient
from millrace_client.api.audit_trail import list_audit_events
from millrace_client.api.channels import create_channel
from millrace_client.api.data_stores import (
    create_data_store,
    create_tables,
    download_data_store,
    list_store_versions,
    query_data_store,
    roll_back_data_store,
)
from millrace_client.api.imports import import_rows
from millrace_client.api.ingest import ingest_event
from millrace_client.api.prompts import create_prompt, list_prompt_versions, update_prompt
from millrace_client.api.subscriptions import create_subscription, search_deliveries
from millrace_client.api.workflow_runs import get_workflow_run, list_workflow_runs, signal_workflow_run
from millrace_client import models
from millrace_client.models import ErrorBody

ORIGIN = os.environ["ORIGIN"]
client = AuthenticatedClient(base_url=ORIGIN, token=os.environ["TOKEN"], raise_on_unexpected_status=True)

T = TypeVar("T")


def ok(answer: T | ErrorBody | None) -> T:
    """The answer, which is no error."""
    assert answer is not None and not isinstance(answer, ErrorBody), answer
    return answer


def prompts() -> None:
    body = models.CreatePrompt.from_dict(
        {"name": "Greeting", "role": "user", "content_type": "handlebars", "content": "Hello {{name}}!", "test_data": {"name": "Ada"}}
    )
    prompt = ok(create_prompt.sync(client=client, body=body))
    updated = ok(update_prompt.sync(prompt.id, client=client, body=models.UpdatePrompt(content="Welcome, {{name}}!")))
    assert updated.version == 2
    versions = ok(list_prompt_versions.sync(prompt.id, client=client))
    assert [(version.version, version.latest) for version in versions] == [(2, True), (1, False)]
    refused = update_prompt.sync(prompt.id, client=client, body=models.UpdatePrompt(content="Welcome, {{name}!"))
    assert isinstance(refused, ErrorBody) and refused.error == "invalid_request", refused


def stores() -> None:
    store = ok(create_data_store.sync(client=client, body=models.CreateDataStore(name="Sales"))).id
    columns = [{"name": "id", "type": "BIGINT", "primary_key": True}, {"name": "city", "type": "STRING"}]
    tables = models.CreateTables.from_dict({"tables": [{"name": "orders", "columns": columns}]})
    ok(create_tables.sync(store, client=client, body=tables))
    rows = [{"id": 1, "city": "Lisbon"}, {"id": 2, "city": "Kyoto"}, {"id": 3, "city": "Lisbon"}]
    rows_of = models.ImportRequest.from_dict({"tables": {"orders": {"source": "inline", "data": rows}}})
    assert ok(import_rows.sync(store, client=client, body=rows_of)).status == "COMPLETED"
    sql = "SELECT city, count(*) AS orders FROM orders GROUP BY city HAVING count(*) >= {{least}} ORDER BY city"
    query = models.QueryRequest.from_dict({"sql": sql, "params": {"least": 2}})
    answer = query_data_store.sync(store, client=client, body=query)
    assert isinstance(answer, models.QueryResult) and answer.rows == [["Lisbon", 2]], answer
    conflict = create_data_store.sync(client=client, body=models.CreateDataStore(name="Sales"))
    assert isinstance(conflict, ErrorBody) and conflict.status == 409, conflict
    versions = ok(list_store_versions.sync(store, client=client))
    ok(roll_back_data_store.sync(store, versions[1].id, client=client))
    with urlopen(ok(download_data_store.sync(store, client=client)).url) as file:
        assert file.status == 200


def runs() -> None:
    workflow_id, run_id = os.environ["WORKFLOW_ID"], os.environ["RUN_ID"]
    listed = ok(list_workflow_runs.sync(client=client, body=models.ListRuns.from_dict({"type": "Approval"})))
    assert [run.run_id for run in listed.runs] == [run_id]
    ok(signal_workflow_run.sync(workflow_id, run_id, "Approve", client=client, body=models.SendSignal.from_dict({"message": "Yes."})))
    while (run := ok(get_workflow_run.sync(workflow_id, run_id, client=client, include_history=True))).status != "COMPLETED":
        time.sleep(0.05)
    assert isinstance(run.history, models.EventHistory), run.history


def events() -> None:
    target = {"type": "webhook", "url": os.environ["RECEIVER"], "signing_mode": "signed"}
    wanted = {"name": "Merged", "run_as_role": "reader", "filter": {"event_category": ["external"]}, "target": target}
    subscription = ok(create_subscription.sync(client=client, body=models.CreateSubscription.from_dict(wanted)))
    assert subscription.signing_secret
    channel = ok(create_channel.sync(client=client, body=models.CreateChannel(name="GitHub", source="github")))
    ingest = AuthenticatedClient(base_url=f"{ORIGIN}/ingest", token=str(channel.ingest_token))
    body = models.IngestEvent.from_dict({"action": "closed", "payload": {"number": 7}})
    event = ok(ingest_event.sync(channel.account_id, channel.project_id, channel.id, client=ingest, body=body)).event_id
    search = models.SearchDeliveries.from_dict({"event_id": event})
    while not any(delivery.status == "succeeded" for delivery in ok(search_deliveries.sync(client=client, body=search)).deliveries):
        time.sleep(0.05)


def audit() -> None:
    trail = ok(list_audit_events.sync(client=client, resource_types=["data_store"], limit=2))
    assert len(trail.events) == 2 and trail.has_next


prompts()
stores()
runs()
events()
audit()
