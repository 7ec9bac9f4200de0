"""The preflight refuses each bad input with a sentence that says what to do."""

import tempfile
import unittest
from pathlib import Path
from unittest.mock import Mock

import boto3
from botocore.exceptions import NoCredentialsError
from botocore.stub import Stubber
from preflight import MAX_STACK_NAME, check, is_first, name_limit
from samcli.yamlhelper import yaml_parse
from settings import Refusal, Settings, pairs, read_settings, save

TEMPLATE = yaml_parse((Path(__file__).resolve().parents[2] / "template.yaml").read_text(encoding="utf-8"))
REQUIRED = {"JwksUrl": "https://id.example/jwks.json", "TokenIssuer": "https://id.example", "TokenAudience": "millrace"}
IDENTITY = '[{"preset":"auth0","issuer":"https://acme.eu.auth0.com/","audience":"millrace"}]'
ROLE = {"cloudwatchRoleArn": "arn:aws:iam::123456789012:role/logs"}
LOG_ROLE = {
    "Role": {"Path": "/", "RoleName": "logs", "RoleId": "AROA0123456789ABCDEF", "Arn": ROLE["cloudwatchRoleArn"], "CreateDate": 0}
}
CALLER = {"Arn": "arn:aws:iam::123456789012:user/ada"}
LARGE = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}


def parameters_of(**values):
    return [{"ParameterKey": name, "ParameterValue": value} for name, value in (REQUIRED | values).items()]


class Session:
    """The clients of a session, each with the answer that it gives."""

    def __init__(self, region="eu-central-1", caller=CALLER, stack=None, account=ROLE, limits=LARGE, role=LOG_ROLE):
        self.region_name = region
        self.clients, self.stubs = {}, {}
        self.answer("sts", "get_caller_identity", caller)
        if isinstance(stack, dict):
            stack = {"Stacks": [{"StackName": "s", "CreationTime": 0} | stack]}
        missing = ("ValidationError", "Stack with id s does not exist")
        self.answer("cloudformation", "describe_stacks", stack or missing)
        self.answer("apigateway", "get_account", account)
        self.answer("iam", "get_role", role)
        self.answer("lambda", "get_account_settings", {"AccountLimit": limits} if isinstance(limits, dict) else limits)

    def answer(self, service, operation, answer):
        """`answer` is a response, an error's code and message, or what botocore raises before it sends."""
        key = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
        client = boto3.client(service, region_name="eu-central-1", **key)
        self.clients[service] = client
        if isinstance(answer, Exception):
            setattr(client, operation, Mock(side_effect=answer))
            return
        stub = self.stubs[service] = Stubber(client)
        if isinstance(answer, tuple):
            stub.add_client_error(operation, service_error_code=answer[0], service_message=answer[1])
        else:
            stub.add_response(operation, answer)
        stub.activate()

    def client(self, service):
        return self.clients[service]


class Preflight(unittest.TestCase):
    def accepts(self, session, stack="millrace-dev", parameters=None, guided=False, architecture="arm64"):
        settings = Settings(stack=stack, parameters=REQUIRED if parameters is None else parameters, guided=guided)
        notes = []
        check(settings, TEMPLATE, architecture, session, notes.append)
        return notes

    def refuses(self, session, *words, **settings):
        with self.assertRaises(Refusal) as caught:
            self.accepts(session, **settings)
        for word in words:
            self.assertIn(word, str(caught.exception))
        return str(caught.exception)

    def test_a_new_stack_and_an_update_pass(self):
        self.assertIn("makes the stack 'millrace-dev' in eu-central-1", self.accepts(Session())[-1])
        stack = {"StackStatus": "UPDATE_COMPLETE", "Parameters": parameters_of()}
        self.assertIn("updates the stack", self.accepts(Session(stack=stack), parameters={})[-1])

    def test_no_credentials(self):
        self.refuses(Session(caller=NoCredentialsError()), "no AWS credentials", "aws sso login")
        self.refuses(Session(caller=("ExpiredToken", "expired")), "have expired", "aws sso login")
        self.refuses(Session(caller=("InvalidClientTokenId", "invalid")), "InvalidClientTokenId")

    def test_no_region(self):
        self.refuses(Session(region=None), "No region", "AWS_DEFAULT_REGION")

    def test_the_name_of_the_stack(self):
        for name in ("1st", "my_stack", "prod/eu", "-x"):
            self.refuses(Session(), "malformed", stack=name)
        limit, reason = name_limit(TEMPLATE)
        self.assertLessEqual(limit, MAX_STACK_NAME)
        self.accepts(Session(), stack="a" * limit)
        self.refuses(Session(), f"at most {limit} fit", reason, stack="a" * (limit + 1))
        self.refuses(Session(), "No stack name", stack=None)

    def test_a_region_without_the_log_role(self):
        self.refuses(Session(account={}), "ApiLogRole=create")
        self.accepts(Session(account={}), parameters=REQUIRED | {"ApiLogRole": "create"})
        stack = {"StackStatus": "CREATE_COMPLETE", "Parameters": parameters_of(ApiLogRole="create")}
        self.accepts(Session(account={}, stack=stack), parameters={})

    def test_a_log_role_that_was_deleted(self):
        self.refuses(Session(role=("NoSuchEntity", "no such role")), "ApiLogRole=create")
        self.accepts(Session(role=("AccessDenied", "no")))

    def test_what_guided_asks_for_itself_is_not_checked(self):
        small = {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}
        self.accepts(Session(account={}, limits=small), parameters={}, guided=True)

    def test_the_states_of_a_stack(self):
        for status, advice in [
            ("ROLLBACK_COMPLETE", "delete-stack"),
            ("ROLLBACK_FAILED", "delete-stack"),
            ("CREATE_FAILED", "delete-stack"),
            ("DELETE_FAILED", "delete-stack"),
            ("DELETE_IN_PROGRESS", "wait stack-delete-complete"),
            ("CREATE_IN_PROGRESS", "describe-stacks"),
            ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "describe-stacks"),
            ("UPDATE_ROLLBACK_IN_PROGRESS", "describe-stacks"),
            ("UPDATE_FAILED", "rollback-stack"),
            ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback"),
            ("IMPORT_ROLLBACK_FAILED", "describe-stack-events"),
        ]:
            stack = {"StackStatus": status, "Parameters": parameters_of()}
            self.refuses(Session(stack=stack), status, advice, "--region eu-central-1")
        for status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS"):
            self.accepts(Session(stack={"StackStatus": status}))

    def test_a_small_quota(self):
        new_account = {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}
        text = self.refuses(Session(limits=new_account), "is 10", "request-service-quota-increase", "L-B99A9384")
        self.assertNotIn("or lower", text)
        nothing = {"IngestConcurrency": "0", "StreamConcurrency": "0", "SweeperConcurrency": "0"}
        self.assertIn(" ".join(f"{name}=0" for name in nothing), text.replace("StreamConcurrency=0 IngestConcurrency=0", "IngestConcurrency=0 StreamConcurrency=0"))
        notes = self.accepts(Session(limits=new_account), parameters=REQUIRED | nothing)
        self.assertIn("10 executions at a time", notes[0])
        some = {"ConcurrentExecutions": 120, "UnreservedConcurrentExecutions": 120}
        self.refuses(Session(limits=some), "or lower", "IngestConcurrency", "to 20 together")

    def test_what_the_stack_reserves_itself_is_free_for_it(self):
        reserved = sum(
            int(TEMPLATE["Parameters"][amount["Fn::If"][1]["Ref"]]["Default"])
            for resource in TEMPLATE["Resources"].values()
            if (amount := resource.get("Properties", {}).get("ReservedConcurrentExecutions"))
        )
        limits = {"ConcurrentExecutions": 100 + reserved, "UnreservedConcurrentExecutions": 100}
        self.refuses(Session(limits=limits), "of which 0 can be reserved")
        stack = {"StackStatus": "CREATE_COMPLETE", "Parameters": parameters_of()}
        self.accepts(Session(limits=limits, stack=stack))

    def test_parameters(self):
        self.refuses(Session(), "TokenIssuer, TokenAudience have no value", parameters={"JwksUrl": "x"})
        identity = {"Identity": IDENTITY}
        self.accepts(Session(), parameters=identity)
        self.refuses(Session(), "both name an identity provider", parameters=REQUIRED | identity)
        self.refuses(Session(), "JwksUrl, TokenIssuer, TokenAudience have no value", "docs/identity.md", parameters={"Stage": "dev"})
        self.refuses(Session(), "no parameter JwksURL", parameters=REQUIRED | {"JwksURL": "x"})
        self.refuses(Session(), "make deploy ARCH=arm64", architecture="x86_64")
        self.refuses(Session(), "not a whole number", parameters=REQUIRED | {"IngestConcurrency": "many"})
        self.accepts(Session(), parameters={}, guided=True)

    def test_runs_and_events_are_kept_as_long_as_deliveries(self):
        for name in ("RetainRunsDays", "RetainEventsDays"):
            text = self.refuses(Session(), f"{name} is 60, less than RetainDeliveriesDays (90)", parameters=REQUIRED | {name: "60"})
            self.assertEqual(text.count("less than"), 1)
            self.accepts(Session(), parameters=REQUIRED | {name: "60", "RetainDeliveriesDays": "60"})
        self.refuses(Session(), "RetainRunsDays is 90", "RetainEventsDays is 90", parameters=REQUIRED | {"RetainDeliveriesDays": "91"})
        # What the stack has counts where nothing is given.
        stack = {"StackStatus": "UPDATE_COMPLETE", "Parameters": parameters_of(RetainDeliveriesDays="120", RetainRunsDays="365", RetainEventsDays="120")}
        self.accepts(Session(stack=stack), parameters={})
        self.refuses(Session(stack=stack), "RetainEventsDays is 100", parameters={"RetainEventsDays": "100"})

    def test_parameters_that_need_another_one(self):
        for name, value, other in [
            ("DomainName", "api.example.com", "CertificateArn"),
            ("IngestDomainName", "events.example.com", "IngestCertificateArn"),
            ("IngestWebAclArn", "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/b", "IngestDomainName"),
            ("VpcSubnetIds", "subnet-1", "VpcSecurityGroupIds"),
            ("VpcSecurityGroupIds", "sg-1", "VpcSubnetIds"),
            ("MonthlyBudget", "100", "AlarmTopicArn"),
        ]:
            self.refuses(Session(), f"{name} needs {other}", "set both, or neither", parameters=REQUIRED | {name: value})
        both = {"DomainName": "api.example.com", "CertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/1"}
        self.accepts(Session(), parameters=REQUIRED | both)

    def test_a_key_replaces_another_one(self):
        old, new = (f"arn:aws:kms:eu-central-1:123456789012:key/{name}" for name in ("old", "new"))
        for name, earlier in [("ServiceKeyArn", "PreviousServiceKeyArn"), ("DigestKeyArn", "EarlierDigestKeyArns")]:
            self.refuses(Session(), f"{name} is also in {earlier}", parameters=REQUIRED | {name: new, earlier: new})
            self.accepts(Session(), parameters=REQUIRED | {name: new, earlier: old})
            # The new key is named before it signs, and the key of the stack may sign again.
            self.accepts(Session(), parameters=REQUIRED | {earlier: new})
        self.refuses(Session(), "also in Earlier", parameters=REQUIRED | {"DigestKeyArn": new, "EarlierDigestKeyArns": f"{old},{new}"})

    def test_the_language_model(self):
        for given, word in [
            ({"ModelProvider": "bedrock"}, "needs Model, which is empty"),
            ({"ModelProvider": "openai", "Model": "m"}, "needs ModelBaseUrl"),
            ({"Model": "m"}, "Model is set, and ModelProvider=none"),
            ({"ModelProvider": "bedrock", "Model": "m", "ModelBaseUrl": "https://x/v1"}, "ModelBaseUrl is set"),
            ({"ModelApiKeySecret": "key"}, "ModelApiKeySecret is set"),
        ]:
            self.refuses(Session(), word, parameters=REQUIRED | given)
        self.accepts(Session(), parameters=REQUIRED | {"ModelProvider": "bedrock", "Model": "m"})
        self.accepts(Session(), parameters=REQUIRED | {"ModelProvider": "openai", "Model": "m", "ModelBaseUrl": "https://x/v1"})

    def test_the_shape_of_identity(self):
        provider = '{"issuer": "https://id.example", "audience": "millrace"}'
        for text, word in [
            ('[{preset: auth0}]', "not valid JSON"),
            ('[{\\"preset\\": \\"auth0\\"}]', "backslash"),
            ("[]", "names no provider"),
            ('"auth0"', "Provider 1 of Identity is no object"),
            ('{"audience": "millrace"}', "neither `issuer` nor `preset`"),
            (f'[{provider}, {{"preset": "okta"}}]', "Provider 2 of Identity has no `audience`"),
            (f'[{provider}{" " * 2000}]', "characters, and at most 2000"),
        ]:
            self.refuses(Session(), word, parameters={"Identity": text})
        for text in (provider, f"[{provider}]", '{"preset": "google", "audience": "a", "memberships": true}'):
            self.accepts(Session(), parameters={"Identity": text})

    def test_the_keys_and_the_sign_in_of_the_console(self):
        for url in ("http://id.example/jwks.json", "id.example/jwks.json"):
            self.refuses(Session(), f"JwksUrl is '{url}'", "https", parameters=REQUIRED | {"JwksUrl": url})
        console = {"Identity": IDENTITY, "ConsoleClientId": "console"}
        self.refuses(Session(), "ConsoleClientId needs ConsoleIssuer", parameters=console)
        self.accepts(Session(), parameters=console | {"ConsoleIssuer": "https://acme.eu.auth0.com/"})
        self.accepts(Session(), parameters=REQUIRED | {"ConsoleClientId": "console"})

    def test_all_refusals_come_at_once(self):
        small = {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}
        self.refuses(Session(account={}, limits=small), "ApiLogRole=create", "is 10")

    def test_what_the_caller_may_not_read_is_not_checked(self):
        notes = self.accepts(Session(account=("AccessDeniedException", "no"), limits=("AccessDeniedException", "no")))
        self.assertIn("may not call GetAccount.", notes[0])
        self.assertIn("may not call GetAccountSettings.", notes[1])

    def test_what_is_asked_for(self):
        self.assertTrue(is_first(Settings(), Session()))
        self.assertTrue(is_first(Settings(stack="s"), Session()))
        self.assertFalse(is_first(Settings(stack="s"), Session(stack={"StackStatus": "CREATE_COMPLETE"})))
        self.assertFalse(is_first(Settings(stack="s", parameters=REQUIRED), Session()))


class ReadingSettings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, text):
        (self.folder / "samconfig.toml").write_text(text, encoding="utf-8")

    def test_parameters_are_read_as_sam_reads_them(self):
        self.assertEqual(pairs("A=1 B=\"x y\" C="), {"A": "1", "B": "x y", "C": ""})
        self.assertEqual(pairs(r'I="[{\"a\": \"b\"}]" B=1'), {"I": '[{"a": "b"}]', "B": "1"})
        self.assertEqual(pairs(["ParameterKey=A,ParameterValue=s3://b/,gs://c/", "B=2"]), {"A": "s3://b/,gs://c/", "B": "2"})
        with self.assertRaises(Refusal):
            pairs("A=1 B")

    def test_the_command_line_comes_first(self):
        self.write(
            'version = 0.1\n[default.global.parameters]\nstack_name = "a"\nregion = "eu-west-1"\n'
            '[default.deploy.parameters]\nparameter_overrides = ["Stage=dev"]\n[prod.deploy.parameters]\nstack_name = "p"\n'
        )
        read = read_settings([], self.folder)
        self.assertEqual((read.stack, read.region, read.parameters), ("a", "eu-west-1", {"Stage": "dev"}))
        read = read_settings(["--stack-name", "b", "--region=us-east-1", "--no-confirm-changeset"], self.folder)
        self.assertEqual((read.stack, read.region), ("b", "us-east-1"))
        read = read_settings(["--parameter-overrides", "Stage=x", "JwksUrl=y", "--guided"], self.folder)
        self.assertEqual((read.parameters, read.guided), ({"Stage": "x", "JwksUrl": "y"}, True))
        self.assertEqual(read_settings(["--config-env", "prod"], self.folder).stack, "p")

    def test_what_is_saved_is_read_again_and_the_rest_stays(self):
        self.write('# kept\nversion = 0.1\n\n[default.deploy.parameters]\nresolve_s3 = true\n')
        settings = read_settings([], self.folder)
        settings.stack, settings.region, settings.parameters = "s", "eu-west-1", {"A": "1", "B": "x y"}
        save(settings)
        read = read_settings([], self.folder)
        self.assertEqual((read.stack, read.region, read.parameters), ("s", "eu-west-1", {"A": "1", "B": "x y"}))
        text = (self.folder / "samconfig.toml").read_text(encoding="utf-8")
        self.assertIn("# kept", text)
        self.assertIn("resolve_s3 = true", text)


if __name__ == "__main__":
    unittest.main()
