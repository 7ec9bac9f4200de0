"""What MiniStack lacks, put into what it is given.

docs/lambda-emulator.md lists the gaps that stay. Nothing here changes what a function does.
"""

import json

# Each environment of Lambda has a /tmp of its own; those of MiniStack share one folder. The shell becomes
# the program.
PROGRAM = "program"
OWN_TEMPORARY_FOLDER = f"""\
#!/bin/sh
TMPDIR=$(mktemp -d) exec "$LAMBDA_TASK_ROOT/{PROGRAM}"
"""
ANY = "x-amazon-apigateway-any-method"
METHODS = ("delete", "get", "head", "options", "patch", "post", "put")
GATEWAY_RESPONSES = "x-amazon-apigateway-gateway-responses"
BINARY_MEDIA_TYPES = "x-amazon-apigateway-binary-media-types"


def filled(template):
    """The translated template as MiniStack can take it."""
    # The transform's own kind of dict loses what is merged into it.
    template = json.loads(json.dumps(template))
    # An alarm on a query of metrics ends the deployment; functions call no alarm.
    alarms = [name for name, one in template["Resources"].items() if one["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in one["Properties"]]
    for name in alarms:
        del template["Resources"][name]
    # It compares the text of a parameter with a number.
    for one in template["Resources"].values():
        scaling = one["Properties"].get("ScalingConfig", {}) if one["Type"] == "AWS::Lambda::EventSourceMapping" else {}
        for setting, value in scaling.items():
            if isinstance(value, dict):
                scaling[setting] = int(template["Parameters"][value["Ref"]]["Default"])
    apis = {name: one for name, one in template["Resources"].items() if one["Type"] == "AWS::ApiGateway::RestApi"}
    for name, api in apis.items():
        body = api["Properties"]["Body"]
        for methods in body["paths"].values():
            if operation := methods.pop(ANY, None):
                methods |= {method: operation for method in METHODS}
        api["Properties"]["BinaryMediaTypes"] = body.pop(BINARY_MEDIA_TYPES, [])
        responses = {
            f"{name}{response.title().replace('_', '')}": gateway_response(name, response, properties)
            for response, properties in body.pop(GATEWAY_RESPONSES, {}).items()
        }
        template["Resources"] |= responses
        # A deployment takes a copy of those that there are.
        for deployment in template["Resources"].values():
            if deployment["Type"] == "AWS::ApiGateway::Deployment" and deployment["Properties"]["RestApiId"] == {"Ref": name}:
                deployment["DependsOn"] = [*deployment.get("DependsOn", []), *responses]
    return template


def gateway_response(api, response, properties):
    return {
        "Type": "AWS::ApiGateway::GatewayResponse",
        "Properties": {
            "RestApiId": {"Ref": api},
            "ResponseType": response,
            "ResponseParameters": properties.get("responseParameters", {}),
            "ResponseTemplates": properties.get("responseTemplates", {}),
            **({"StatusCode": str(properties["statusCode"])} if "statusCode" in properties else {}),
        },
    }
