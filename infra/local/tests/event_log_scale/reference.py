"""Generates events, and aggregates them by reading each one: what the service's answers are held against.

generate COUNT SEED            lines of { project, received_at, envelope } to standard output, repeats and late ones among them
aggregate FILE <REQUESTS       a line of JSON for each line of { account: [projects], request }, with `rows` and `truncated`
"""

import datetime
import json
import random
import sys

UTC = datetime.timezone.utc
FIRST = datetime.datetime(2026, 9, 28, tzinfo=UTC)
DAYS = 20
PAIRS = [
    ("processing", "documents"), ("processing", "pages"), ("processing", "ocr_pages"), ("processing", "vision_pages"),
    ("extraction", "properties"), ("extraction", "citations"), ("verification", "digitally_verified"),
    ("verification", "ai_verified"), ("verification", "unverified"), ("review", "issues"),
    ("own", "it's"), ("processing", "issues"),
]
# Beginnings and ends of days, weeks and months, to the millisecond.
EDGES = ["2026-09-30T23:59:59.999Z", "2026-10-01T00:00:00.000Z", "2026-10-04T23:59:59.999Z", "2026-10-05T00:00:00.000Z"]
VERDICTS = ["ok", "needs_review", "it's \"odd\"", "ä 🌊", None]


def text_of(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def time_of(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def generate(count, seed):
    chance = random.Random(seed)
    recent = []
    for number in range(count):
        if recent and chance.random() < 0.04:
            print(chance.choice(recent))
            continue
        at = FIRST + datetime.timedelta(milliseconds=chance.randrange(DAYS * 86_400_000))
        timestamp = chance.choice(EDGES) if chance.random() < 0.02 else text_of(at)
        late = chance.choice([0, 0, 0, 1, 3_600, 5 * 86_400])
        verdict = chance.choice(VERDICTS)
        details = {"verification": {"total": chance.randrange(4)}, "list": [chance.choice(["a", "b"])], "reviewed": chance.random() < 0.5}
        if verdict is not None or chance.random() < 0.5:
            details["verdict"] = verdict
        meters = []
        for category, kind in chance.sample(PAIRS, chance.randrange(5)):
            for _ in range(chance.choice([1, 1, 1, 2])):
                # Quarters, so that every order of addition has the same sum.
                meters.append({"category": category, "type": kind, "quantity": chance.randrange(400) / 4})
        project = chance.choice(["one", "two", "two", "three"])
        envelope = {
            "event_id": f"{chance.getrandbits(64):016x}-{number}",
            "event_category": chance.choice(["content", "workflow", "billing", "external"]),
            "action": chance.choice(["created", "updated", "removed", "it's"]),
            "resource_type": chance.choice(["content_object", "workflow_run"]), "resource_id": f"r{chance.randrange(50)}",
            "account_id": "acme", "project_id": project, "tenant_id": chance.choice([None, "eu", "us"]), "timestamp": timestamp,
            "source": chance.choice(["documents", "external:crm"]), "resource_data": {}, "details": details, "meters": meters,
        }
        received = text_of(time_of(timestamp) + datetime.timedelta(seconds=late))
        line = json.dumps({"project": project, "received_at": received, "envelope": envelope})
        recent = recent[-999:] + [line]
        print(line)


def begin(time, resolution):
    hour = time.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    return {
        "hour": hour, "day": day, "week": day - datetime.timedelta(days=day.weekday()), "month": day.replace(day=1),
    }[resolution]


def following(time, resolution):
    if resolution == "month":
        return (time.replace(day=1) + datetime.timedelta(days=32)).replace(day=1)
    return time + {"hour": datetime.timedelta(hours=1), "day": datetime.timedelta(days=1), "week": datetime.timedelta(days=7)}[resolution]


def value(event, name):
    if not name.startswith("details."):
        return event[name]
    found = event["details"]
    for step in name.removeprefix("details.").split("."):
        if isinstance(found, list):
            found = found[int(step)] if step.isdigit() and int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found if found is None or isinstance(found, str) else json.dumps(found)


def dimension(event, group):
    if group["dimension"] == "time":
        return text_of(begin(event["time"], group.get("resolution", "day")))
    return value(event, group["dimension"])


def metric(events, asked):
    if asked["operation"] == "count":
        return len(events)
    if asked["operation"] == "count_distinct":
        return len({found for found in (value(event, asked["field"]) for event in events) if found is not None})
    pair = (asked["meterCategory"], asked["meterType"])
    quantities = [event["sums"][pair] for event in events if pair in event["sums"]]
    if asked["operation"] == "sum_meter":
        return sum(quantities)
    return sum(quantities) / len(quantities) if quantities else None


def matches(event, conditions):
    if not conditions:
        return True
    columns = {
        "actions": "action", "eventCategories": "event_category", "resourceTypes": "resource_type", "resourceIds": "resource_id",
        "sources": "source",
    }
    for name, column in columns.items():
        if conditions.get(name) and event[column] not in conditions[name]:
            return False
    return all(value(event, "details." + one["field"]) in one["values"] for one in conditions.get("details", []))


def aggregate(events, request):
    first, last = time_of(request["from"]), time_of(request["to"])
    events = [event for event in events if first <= event["time"] <= last and matches(event, request.get("filter", {}))]
    groups = request.get("groupBy", [])
    found = {}
    for event in events:
        found.setdefault(tuple(dimension(event, group) for group in groups), []).append(event)
    if not groups:
        found.setdefault((), [])
    if len(groups) == 1 and groups[0]["dimension"] == "time":
        resolution = groups[0].get("resolution", "day")
        period = begin(first, resolution)
        while period <= last:
            found.setdefault((text_of(period),), [])
            period = following(period, resolution)
    # Time first, and none last.
    order = sorted(range(len(groups)), key=lambda index: groups[index]["dimension"] != "time")
    keys = sorted(found, key=lambda key: [(key[index] is None, key[index] or "") for index in order])
    rows = [
        {
            "dimensions": {group["dimension"]: part for group, part in zip(groups, key)},
            "metrics": {asked["id"]: metric(found[key], asked) for asked in request["metrics"]},
        }
        for key in keys
    ]
    limit = request.get("limit", 50)
    return {"rows": rows[:limit], "truncated": len(rows) > limit}


def main():
    if sys.argv[1] == "generate":
        return generate(int(sys.argv[2]), int(sys.argv[3]))
    events = {}
    with open(sys.argv[2], encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            event = told["envelope"]
            event["time"] = time_of(event["timestamp"])
            event["sums"] = {}
            for meter in event["meters"]:
                pair = (meter["category"], meter["type"])
                event["sums"][pair] = event["sums"].get(pair, 0) + meter["quantity"]
            # The first one of an id counts.
            events.setdefault((told["project"], event["event_id"]), event)
    for line in sys.stdin:
        asked = json.loads(line)
        chosen = [event for (project, _), event in events.items() if asked["project"] in (None, project)]
        print(json.dumps(aggregate(chosen, asked["request"])))


main()
