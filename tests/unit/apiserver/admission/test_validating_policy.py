from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.policies import GROUP, Policed, told
from tests.unit.apiserver.writing import CONFIG_MAPS

NO = [{"expression": "false"}]


async def test_without_policies_everything_passes():
    async with Policed() as server:
        assert (await server.write()).code == 201


async def test_a_policy_that_fails_denies_with_422():
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


async def test_a_policy_without_a_binding_is_not_asked():
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
async def test_what_a_validation_tells(more, code, text):
    async with Policed() as server:
        await server.policy(validations=[{"expression": "false", **more}])
        await server.bind()
        answer = await server.write()
        assert (answer.code, told(answer)) == (code, text)


async def test_errors_deny_unless_they_are_to_be_ignored():
    async with Policed() as server:
        await server.enforce("object.data.none == 'x'", failurePolicy="Fail")
        assert told(await server.write()) == "expression 'object.data.none == 'x'' resulted in error: no such key: none"
        await server.merge(f"{GROUP}/validatingadmissionpolicies/p", {"spec": {"failurePolicy": "Ignore"}})
        assert (await server.write()).code == 201


async def test_actions_other_than_deny_let_the_write_pass():
    async with Policed() as server:
        await server.policy(validations=NO)
        await server.bind(validationActions=["Warn", "Audit"])
        answer = await server.write()
        assert answer.code == 201
        assert answer.warnings == [
            "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': failed expression: false"
        ]


async def test_match_conditions_say_whether_a_policy_is_asked():
    async with Policed() as server:
        conditions = [{"name": "c", "expression": "object.data.k == 'w'"}]
        await server.enforce("false", matchConditions=conditions)
        assert (await server.write()).code == 201
        assert (await server.write({"k": "w"}, name="b")).code == 422
        text = "expression 'object.data.k == 'w'' resulted in error: no such key: k"
        assert told(await server.write({"x": "w"}, name="c")) == text


async def test_variables_are_evaluated_when_they_are_used():
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
        assert told(await server.write({"k": "w"}, name="b")).endswith(text)


async def test_policies_know_who_asks_for_what_and_where():
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


async def test_changes_are_seen_with_what_was_before():
    async with Policed() as server:
        await server.enforce("oldObject == null || oldObject.data == object.data")
        assert (await server.write()).code == 201
        assert (await server.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"a": "b"}}})).code == 200
        assert (await server.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "w"}})).code == 422


async def test_audit_annotations_that_fail_deny():
    async with Policed() as server:
        notes = [{"key": "n", "valueExpression": "string(object.data.k)"}]
        await server.policy(validations=[], auditAnnotations=notes)
        await server.bind()
        assert (await server.write()).code == 201
        answer = await server.write({"x": "y"}, name="b")
        assert told(answer) == "expression 'string(object.data.k)' resulted in error: no such key: k"


async def test_policies_are_not_asked_about_policies():
    async with Policed() as server:
        everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
        await server.policy("all", match={"resourceRules": [everything]}, validations=NO)
        await server.bind("all")
        await server.policy("other", validations=NO)
        assert (await server.write()).code == 422
