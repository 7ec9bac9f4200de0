//! Builds the events that Lambda passes to functions.

use serde_json::{Map, Value, json};

/// Returns a request to the API in the form of API Gateway.
pub fn api_request(method: &str, path: &str, token: &str, body: &Value) -> Value {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = format!("/api/v1{path}");
    let query: Map<String, Value> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), json!([value])))
        .collect();
    let body = (!body.is_null()).then(|| body.to_string());
    json!({
        "resource": "/api/v1/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": { "Authorization": format!("Bearer {token}"), "Content-Type": "application/json", "Host": "api.example" },
        "multiValueHeaders": {
            "Authorization": [format!("Bearer {token}")], "Content-Type": ["application/json"], "Host": ["api.example"],
        },
        "queryStringParameters": null,
        "multiValueQueryStringParameters": query,
        "pathParameters": {},
        "stageVariables": null,
        "requestContext": {
            "accountId": "000000000000", "apiId": "tests", "httpMethod": method, "path": format!("/dev{path}"),
            "protocol": "HTTP/1.1", "requestId": "tests", "resourceId": "tests", "resourcePath": "/api/v1/{proxy+}",
            "stage": "dev", "requestTimeEpoch": 0, "identity": { "sourceIp": "192.0.2.1" },
        },
        "body": body,
        "isBase64Encoded": false,
    })
}

/// Returns a request to a Function URL.
pub fn url_request(method: &str, path: &str, token: &str, body: &Value) -> Value {
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": { "authorization": format!("Bearer {token}"), "content-type": "application/json", "host": "ingest.example" },
        "requestContext": {
            "accountId": "anonymous", "apiId": "tests", "domainName": "ingest.example", "domainPrefix": "ingest",
            "http": {
                "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "tests",
            },
            "requestId": "tests", "routeKey": "$default", "stage": "$default", "time": "01/Jan/2026:00:00:00 +0000",
            "timeEpoch": 1_767_225_600_000_u64,
        },
        "body": body.to_string(),
        "isBase64Encoded": false,
    })
}

/// Returns a batch of messages of a queue.
pub fn messages(bodies: &[Value]) -> Value {
    let records = bodies.iter().enumerate().map(|(number, body)| {
        json!({
            "messageId": format!("message-{number}"), "receiptHandle": format!("receipt-{number}"),
            "body": body.to_string(), "attributes": { "ApproximateReceiveCount": "1", "SentTimestamp": "1767225600000" },
            "messageAttributes": {}, "md5OfBody": "", "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:tests", "awsRegion": "us-east-1",
        })
    });
    json!({ "Records": records.collect::<Vec<_>>() })
}
