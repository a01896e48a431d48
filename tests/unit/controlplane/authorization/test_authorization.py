"""Authorization out of options."""

import msgspec
import pytest

from steersman.apiserver.request import RequestInfo, UserInfo
from steersman.controlplane.authorization.authorization import Authorization
from steersman.controlplane.options import APIServerOptions
from steersman.testing import InProcessAPIServer


@pytest.mark.parametrize(
    ("modes", "allowed"),
    [(("AlwaysAllow",), True), (("AlwaysDeny",), False), (("RBAC",), False), (("Node", "RBAC", "AlwaysAllow"), True)],
)
def test_authorization_modes_are_evaluated_in_order(modes, allowed):
    authorizer = Authorization(APIServerOptions(authorization_mode=modes)).authorizer
    assert authorizer.authorize(UserInfo("alice"), RequestInfo("get", "/metrics")).allowed is allowed
    assert authorizer.authorize(UserInfo("root", ("system:masters",)), RequestInfo("get", "/metrics")).allowed


async def test_policies_may_name_only_parameters_that_their_writers_can_read():
    prefix = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    policy = {
        "metadata": {"name": "p"},
        "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "true"}],
        },
    }
    reference = {"name": "a", "namespace": "default", "parameterNotFoundAction": "Deny"}
    binding = {
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": ["Deny"], "paramRef": reference},
    }
    writes = [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)]
    rules = [{"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "policies"}
    grant = {"metadata": {"name": "policies"}, "roleRef": ref, "subjects": [{"kind": "User", "name": "alice"}]}
    async with InProcessAPIServer() as server:

        async def post(path: str, body: dict, **headers: str):
            return await server.request("POST", path, body=msgspec.json.encode(body), headers=headers)

        rbac = "/apis/rbac.authorization.k8s.io/v1"
        await post(f"{rbac}/clusterroles", {"metadata": {"name": "policies"}, "rules": rules})
        await post(f"{rbac}/clusterrolebindings", grant)
        refused = [await post(f"{prefix}/{plural}", body, **{"impersonate-user": "alice"}) for plural, body in writes]
        allowed = [await post(f"{prefix}/{plural}", body) for plural, body in writes]
    assert [answer.code for answer in (*refused, *allowed)] == [422, 422, 201, 201]
    causes = [answer.json()["details"]["causes"][0] for answer in refused]
    assert [cause["field"] for cause in causes] == ["spec.paramKind", "spec.paramRef"]
    assert {cause["reason"] for cause in causes} == {"FieldValueForbidden"}
