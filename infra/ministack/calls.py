"""Records which AWS calls each function makes, in the words of an IAM policy.

A call is a line `Function action resource`. The resource is a logical name of the template with what IAM tells apart below
it: `Records/index/gsi1`, `DataBucket/stores/*`.
"""

import json
import re
import threading
from urllib.parse import parse_qs, unquote, urlsplit

from proxy import Proxy

# A transaction needs the permissions of the writes in it.
TRANSACTION_ACTIONS = {"ConditionCheck": "ConditionCheckItem", "Delete": "DeleteItem", "Get": "GetItem", "Put": "PutItem", "Update": "UpdateItem"}
S3_ACTIONS = {"GET": "s3:GetObject", "HEAD": "s3:GetObject", "PUT": "s3:PutObject", "POST": "s3:PutObject", "DELETE": "s3:DeleteObject"}
S3_BUCKET_ACTIONS = {"GET": "s3:ListBucket", "HEAD": "s3:ListBucket", "POST": "s3:DeleteObject"}


class Calls:
    """The distinct calls so far."""

    def __init__(self):
        self.lock = threading.Lock()
        self.lines = set()
        # Physical name, URL, id or ARN to logical name; filled once the stack exists.
        self.logical = {}

    def add(self, function, action, resource):
        with self.lock:
            self.lines.add(f"{function} {action} {resource}")

    def named(self, physical):
        """The logical name of a resource. A name that the stack does not have is shown as it is, in angle brackets."""
        last = re.split(r"[/:]", physical.rstrip("/"))[-1]
        return self.logical.get(physical) or self.logical.get(last) or f"<{last}>"

    def sorted(self):
        with self.lock:
            return sorted(self.lines)


class Recorder(Proxy):
    """What one function sees as the endpoint of AWS."""

    def __init__(self, upstream, function, calls):
        super().__init__(0, upstream)
        self.function, self.calls = function, calls

    def seen(self, method, path, headers, body, status):
        for action, resource in called(method, path, headers, body, self.calls.named):
            self.calls.add(self.function, action, resource)


def called(method, path, headers, body, named):
    """The pairs of action and resource that a request needs permission for."""
    target = headers.get("X-Amz-Target")
    if target is None:
        return [s3_call(method, path, named)]
    service, operation = target.split(".", 1)
    content = json.loads(body or b"{}")
    if service.startswith("DynamoDB"):
        return dynamodb_calls(operation, content, named)
    if service == "AmazonSQS":
        action = operation.removesuffix("Batch")
        return [(f"sqs:{action}", named(content.get("QueueUrl", "*")))]
    if service == "AWSEvents":
        buses = {entry.get("EventBusName", "default") for entry in content.get("Entries", [])}
        return [(f"events:{operation}", named(bus)) for bus in buses]
    if service == "TrentService":
        return [(f"kms:{operation}", named(content.get("KeyId", "*")))]
    return [(f"{service}:{operation}", named(content.get("SecretId", "*")))]


def dynamodb_calls(operation, content, named):
    if operation in ("TransactWriteItems", "TransactGetItems"):
        items = [kind for item in content["TransactItems"] for kind in item.items()]
        return [(f"dynamodb:{TRANSACTION_ACTIONS[kind]}", named(item["TableName"])) for kind, item in items]
    if operation in ("BatchGetItem", "BatchWriteItem"):
        return [(f"dynamodb:{operation}", named(table)) for table in content["RequestItems"]]
    table = named(content.get("TableName", "*"))
    index = f"/index/{content['IndexName']}" if "IndexName" in content else ""
    return [(f"dynamodb:{operation}", table + index)]


def s3_call(method, path, named):
    """A key is reduced to its first segment, which is what the policies name."""
    url = urlsplit(path)
    bucket, _, key = unquote(url.path).lstrip("/").partition("/")
    query = parse_qs(url.query, keep_blank_values=True)
    if not key:
        return S3_BUCKET_ACTIONS.get(method, f"s3:{method}"), named(bucket)
    if "uploadId" in query and method in ("GET", "DELETE"):
        action = "s3:ListMultipartUploadParts" if method == "GET" else "s3:AbortMultipartUpload"
    else:
        action = S3_ACTIONS.get(method, f"s3:{method}")
    return action, f"{named(bucket)}/{key.split('/')[0]}/*"
