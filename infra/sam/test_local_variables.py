"""`make run-sam` gives the functions the names of a stack."""

import unittest

from local_variables import stack_names, variables
from settings import Refusal
from test_preflight import TEMPLATE, Session, parameters_of


class LocalVariables(unittest.TestCase):
    def test_a_function_has_its_variables_and_no_other(self):
        names = {"Records": "stack-Records-1", "PageTokenKey": "arn:secret", "JwksUrl": "https://id.example/jwks.json"}
        found = variables(TEMPLATE, names)
        self.assertEqual(found["PromptsFunction"]["MILLRACE_RECORDS_TABLE"], "stack-Records-1")
        self.assertEqual(found["PromptsFunction"]["MILLRACE_JWKS"], "https://id.example/jwks.json")
        self.assertEqual(found["PromptsFunction"]["AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH"], "true")
        self.assertNotIn("MILLRACE_PAGE_TOKEN_SECRET", found["PromptsFunction"])
        self.assertEqual(found["WorkflowsFunction"]["MILLRACE_PAGE_TOKEN_SECRET"], "arn:secret")
        self.assertNotIn("MILLRACE_AUDIT_TABLE", found["PromptsFunction"])

    def test_names_are_those_of_the_stack(self):
        session = Session(stack={"StackStatus": "CREATE_COMPLETE", "Parameters": parameters_of(Stage="prod")})
        resource = {
            "LogicalResourceId": "Records",
            "PhysicalResourceId": "s-Records-1",
            "ResourceType": "AWS::DynamoDB::Table",
            "LastUpdatedTimestamp": 0,
            "ResourceStatus": "CREATE_COMPLETE",
        }
        session.stubs["cloudformation"].add_response("list_stack_resources", {"StackResourceSummaries": [resource]})
        names = stack_names(session, "s")
        self.assertEqual((names["Stage"], names["Records"]), ("prod", "s-Records-1"))

    def test_no_stack(self):
        with self.assertRaises(Refusal) as caught:
            stack_names(Session(), "s")
        self.assertIn("Deploy it first", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
