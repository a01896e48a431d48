"""Authentication and authorization out of options."""

import msgspec
import pytest

from steersman.apiserver.http import Request
from steersman.apiserver.request import RequestInfo, UserInfo
from steersman.asynckit.clock import FakeClock
from steersman.controlplane.access import Authentication, Authorization
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.service_account_keys import ServiceAccountKeys
from steersman.testing import InProcessAPIServer


def authenticator(**options):
    keys = ServiceAccountKeys(None)
    authentication = Authentication(APIServerOptions(**options), keys=keys, clock=FakeClock(), loopback_token="own")
    return authentication.authenticator


def request(token: str = "") -> Request:
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    return Request({"method": "GET", "path": "/", "query_string": b"", "headers": headers}, receive=None)


async def test_tokens_of_the_file_and_of_the_server_itself_authenticate(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("t,alice,u\n")
    user = authenticator(token_auth_file=path)
    assert (await user.authenticate(request("t"))).name == "alice"
    assert (await user.authenticate(request("own"))).name == "system:apiserver"
    assert (await user.authenticate(request())).name == "system:anonymous"


async def test_anonymous_requests_may_be_refused():
    assert await authenticator(anonymous_auth=False).authenticate(request()) is None


def test_malformed_token_file_is_an_option_error(tmp_path):
    with pytest.raises(OptionError, match="none"):
        authenticator(token_auth_file=tmp_path / "none")


@pytest.mark.parametrize(
    ("modes", "allowed"),
    [(("AlwaysAllow",), True), (("AlwaysDeny",), False), (("RBAC",), False), (("Node", "RBAC", "AlwaysAllow"), True)],
)
def test_authorization_modes_are_evaluated_in_order(modes, allowed):
    authorizer = Authorization(APIServerOptions(authorization_mode=modes)).authorizer
    assert authorizer.authorize(UserInfo("alice"), RequestInfo("get", "/metrics")).allowed is allowed
    assert authorizer.authorize(UserInfo("root", ("system:masters",)), RequestInfo("get", "/metrics")).allowed


async def test_oidc_provider_is_not_contacted_before_its_first_token():
    user = authenticator(oidc_issuer_url="https://idp.invalid", oidc_client_id="c")
    assert (await user.authenticate(request("own"))).name == "system:apiserver"


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


@pytest.mark.parametrize(("resource", "name"), [("pods", "p"), ("serviceaccounts", "robot")])
async def test_bound_token_is_invalid_after_the_deletion_of_its_object(resource, name):
    namespace = "/api/v1/namespaces/default"

    async with InProcessAPIServer() as server:

        async def create(path, tree):
            answer = await server.request("POST", f"{namespace}/{path}", body=msgspec.json.encode(tree))
            assert answer.code == 201
            return answer.json()

        await create("serviceaccounts", {"metadata": {"name": "robot"}})
        spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
        pod = await create("pods", {"metadata": {"name": "p"}, "spec": spec})
        bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"]}
        review = await create("serviceaccounts/robot/token", {"spec": {"boundObjectRef": bound, "audiences": []}})
        headers = {"authorization": f"Bearer {review['status']['token']}"}

        async def code():
            return (await server.anonymous().request("GET", "/version", headers=headers)).code

        assert [await code(), await code()] == [200, 200]
        await server.request("DELETE", f"{namespace}/{resource}/{name}?gracePeriodSeconds=0")
        assert await code() == 401
