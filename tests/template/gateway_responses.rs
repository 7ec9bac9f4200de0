//! Tests that API Gateway's own answers look like those of a function.

use serde_json::Value;

use crate::translated::resources;

/// Fills in a template as API Gateway does; it quotes the variable that is a string already.
fn body(template: &str) -> Value {
    let filled = template
        .replace("$context.error.messageString", "\"message\"")
        .replace("$context.requestId", "id");
    serde_json::from_str(&filled).unwrap_or_else(|error| panic!("{template}: {error}"))
}

#[test]
fn every_gateway_response_has_the_body_and_headers_of_an_error() {
    let (_, api) = resources("AWS::ApiGateway::RestApi").remove(0);
    let responses = api["Body"]["x-amazon-apigateway-gateway-responses"]
        .as_object()
        .unwrap();
    assert!(responses.len() >= 6);
    for (name, response) in responses {
        let body = body(
            response["responseTemplates"]["application/json"]
                .as_str()
                .unwrap(),
        );
        assert_eq!(
            body["status"].to_string(),
            response["statusCode"].as_str().unwrap(),
            "{name}"
        );
        for field in ["error", "message", "request_id"] {
            assert!(body[field].is_string(), "{name} has no {field}");
        }
        let headers = &response["responseParameters"];
        assert_eq!(
            headers["gatewayresponse.header.X-Request-Id"], "context.requestId",
            "{name}"
        );
        let origin = &headers["gatewayresponse.header.Access-Control-Allow-Origin"]["Fn::If"];
        assert_eq!(origin[0], "HasCorsOrigins", "{name}");
        assert_eq!(origin[1], "method.request.header.Origin", "{name}");
        // No header rather than an empty one: what API Gateway makes of `''` is written nowhere.
        assert_eq!(origin[2]["Ref"], "AWS::NoValue", "{name}");
        let is_repeated = ["429", "503"].contains(&response["statusCode"].as_str().unwrap());
        assert_eq!(
            headers["gatewayresponse.header.Retry-After"].is_string(),
            is_repeated,
            "{name}"
        );
    }
}
