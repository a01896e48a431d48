from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.policies import GROUP, Policed, denial
from tests.unit.apiserver.writing import CONFIG_MAPS

NO = [{"expression": "false"}]


async def test_writes_are_allowed_without_policies():
    async with Policed() as server:
        assert (await server.write()).code == 201


async def test_failed_validation_denies_with_422():
    async with Policed() as server:
        await server.enforce("object.data.k == 'w'")
        answer = await server.write()
        message = (
            "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: object.data.k == 'w'"
        )
        assert (answer.code, answer.body["reason"]) == (422, "Invalid")
        assert answer.body["message"] == f'configmaps "a" is forbidden: {message}'
        assert answer.body["details"] == {"name": "a", "kind": "configmaps", "causes": [{"message": message}]}
        assert (await server.write({"k": "w"})).code == 201


async def test_policy_without_a_binding_is_not_evaluated():
    async with Policed() as server:
        await server.policy(validations=NO)
        assert (await server.write()).code == 201


@pytest.mark.parametrize(
    ("more", "code", "text"),
    [
        ({"message": " no "}, 422, "no"),
        ({"messageExpression": "'k is ' + object.data.k", "message": "no"}, 422, "k is v"),
        ({"messageExpression": "string(object.data.none)", "message": "no"}, 422, "no"),
        ({"messageExpression": "'a\\nb'"}, 422, "failed expression: false"),
        ({"reason": "Forbidden", "message": "no"}, 403, "no"),
        ({"reason": "RequestEntityTooLarge", "message": "no"}, 413, "no"),
    ],
)
async def test_validation_sets_message_and_reason(more, code, text):
    async with Policed() as server:
        await server.policy(validations=[{"expression": "false", **more}])
        await server.bind()
        answer = await server.write()
        assert (answer.code, denial(answer)) == (code, text)


async def test_errors_follow_the_failure_policy():
    async with Policed() as server:
        await server.enforce("object.data.none == 'x'", failurePolicy="Fail")
        assert (
            denial(await server.write()) == "expression 'object.data.none == 'x'' resulted in error: no such key: none"
        )
        await server.merge(f"{GROUP}/validatingadmissionpolicies/p", {"spec": {"failurePolicy": "Ignore"}})
        assert (await server.write()).code == 201


async def test_warn_and_audit_actions_allow_the_write():
    async with Policed() as server:
        await server.policy(validations=NO)
        await server.bind(validationActions=["Warn", "Audit"])
        answer = await server.write()
        assert answer.code == 201
        assert answer.warnings == [
            "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': failed expression: false"
        ]


async def test_match_conditions_select_writes():
    async with Policed() as server:
        conditions = [{"name": "c", "expression": "object.data.k == 'w'"}]
        await server.enforce("false", matchConditions=conditions)
        assert (await server.write()).code == 201
        assert (await server.write({"k": "w"}, name="b")).code == 422
        text = "expression 'object.data.k == 'w'' resulted in error: no such key: k"
        assert denial(await server.write({"x": "w"}, name="c")) == text


async def test_variables_are_evaluated_lazily():
    async with Policed() as server:
        variables = [
            {"name": "bad", "expression": "object.data.none"},
            {"name": "n", "expression": "size(object.data)"},
            {"name": "double", "expression": "variables.n * 2"},
        ]
        await server.enforce(
            "variables.double == 2", "object.data.k == 'v' || variables.bad == ''", variables=variables
        )
        assert (await server.write()).code == 201
        text = 'resulted in error: composited variable "bad" fails to evaluate: no such key: none'
        assert denial(await server.write({"k": "w"}, name="b")).endswith(text)


async def test_expressions_have_request_authorizer_and_namespace():
    async with Policed(forbidden_verb="delete") as server:
        await server.enforce(
            "request.operation == 'CREATE' && request.userInfo.username == 'tester' && !request.dryRun",
            "request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap' && request.name == 'a'",
            "namespaceObject.metadata.name == 'default' && oldObject == null && object.kind == 'ConfigMap'",
            "authorizer.requestResource.check('create').allowed() && !authorizer.path('/x').check('delete').allowed()",
            "request.options.kind == 'CreateOptions' && !has(request.subResource)",
        )
        answer = await server.write()
        assert answer.code == 201, answer.body


async def test_matching_policy_denies_a_request_in_a_missing_namespace():
    async with Policed() as server:
        await server.enforce("true", failurePolicy="Ignore")
        body = {"metadata": {"name": "a"}}
        answer = await server.call("POST", CONFIG_MAPS.replace("default", "none"), body)
        assert (answer.code, answer.body["message"]) == (404, 'namespaces "none" not found')
        assert (await server.call("POST", "/api/v1/namespaces/none/secrets", body)).code == 201


async def test_expressions_have_the_old_object():
    async with Policed() as server:
        await server.enforce("oldObject == null || oldObject.data == object.data")
        assert (await server.write()).code == 201
        assert (await server.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200
        assert (await server.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "w"}})).code == 422


async def test_failing_audit_annotation_denies():
    async with Policed() as server:
        notes = [{"key": "n", "valueExpression": "string(object.data.k)"}]
        await server.policy(validations=[], auditAnnotations=notes)
        await server.bind()
        assert (await server.write()).code == 201
        answer = await server.write({"x": "y"}, name="b")
        assert denial(answer) == "expression 'string(object.data.k)' resulted in error: no such key: k"


async def test_denial_of_a_validation_comes_before_that_of_an_audit_annotation():
    async with Policed() as server:
        notes = [{"key": "n", "valueExpression": "string(object.data.missing)"}]
        await server.policy(validations=[{"expression": "false", "message": "no"}], auditAnnotations=notes)
        await server.bind()
        assert denial(await server.write()) == "no"


async def test_policies_are_exempt_from_policies():
    async with Policed() as server:
        everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
        await server.policy("all", match={"resourceRules": [everything]}, validations=NO)
        await server.bind("all")
        await server.policy("other", validations=NO)
        assert (await server.write()).code == 422
