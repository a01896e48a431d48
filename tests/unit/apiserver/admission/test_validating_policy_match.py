from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.policies import RULE, Policed

from steersman.apiserver.admission.validating_policy_match import _names

NO = [{"expression": "false"}]


async def code(match, **metadata):
    """Return the status of a ConfigMap create under a policy with this match."""
    async with Policed() as server:
        await server.policy(validations=NO, match=match)
        await server.bind()
        return (await server.write(**metadata)).code


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({}, 422),
        ({"apiGroups": ["apps"]}, 201),
        ({"apiVersions": ["v2"]}, 201),
        ({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}, 422),
        ({"operations": ["UPDATE"]}, 201),
        ({"resources": ["configmaps/status"]}, 201),
        ({"resources": ["pods", "configmaps"]}, 422),
        ({"scope": "Namespaced"}, 422),
        ({"scope": "Cluster"}, 201),
        ({"resourceNames": ["a"]}, 422),
        ({"resourceNames": ["b"]}, 201),
    ],
)
async def test_resource_rules_match(rule, expected):
    assert await code({"resourceRules": [{**RULE, **rule}]}) == expected


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({"excludeResourceRules": [RULE]}, 201),
        ({"objectSelector": {"matchLabels": {"l": "1"}}}, 422),
        ({"objectSelector": {"matchLabels": {"l": "2"}}}, 201),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, 422),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}, 201),
    ],
)
async def test_selectors_match(match, expected):
    assert await code(match, labels={"l": "1"}) == expected


@pytest.mark.parametrize(
    ("text", "subresource", "expected"),
    [
        ("pods", "", True),
        ("pods", "status", False),
        ("pods/status", "status", True),
        ("pods/*", "status", True),
        ("pods/*", "", True),
        ("*", "", True),
        ("*", "status", False),
        ("*/*", "status", True),
        ("*/status", "", False),
        ("nodes", "", False),
    ],
)
def test_resource_names_match(text, subresource, expected):
    assert _names(text, "pods", subresource) is expected


async def test_equivalent_versions_match_and_convert_the_object():
    hpa = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    rule = {**RULE, "apiGroups": ["autoscaling"], "apiVersions": ["v2"], "resources": ["horizontalpodautoscalers"]}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    expression = "request.requestKind.version == 'v1' && request.kind.version == 'v2' && size(object.spec.metrics) == 2"
    async with Policed() as server:
        await server.policy(validations=[{"expression": expression}], match={"resourceRules": [rule]})
        await server.bind()
        answer = await server.call("POST", hpa, {"metadata": {"name": "a"}, "spec": spec})
        assert answer.code == 422
        exact = {"resourceRules": [rule], "matchPolicy": "Exact"}
        await server.policy("q", validations=NO, match=exact)
        await server.bind("q", matchResources={"resourceRules": [rule]})
        assert "policy 'q'" not in answer.body["message"]
