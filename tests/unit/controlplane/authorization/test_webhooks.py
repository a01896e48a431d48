"""Authorization mode Webhook in an API server: every place that asks the authorizer waits for the webhook."""

import json
from contextlib import asynccontextmanager

import pytest
from tests.unit.review_webhook import kubeconfig, review_webhook

from steersman.controlplane.options import APIServerOptions
from steersman.testing import InProcessAPIServer

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"


class API:
    """Client as alice, and the webhook that decides about her."""

    def __init__(self, server, webhook):
        self.webhook = webhook
        self._client = server.anonymous()

    async def __call__(self, method, path, body=None, **headers):
        encoded = None if body is None else json.dumps(body).encode()
        headers = {"authorization": "Bearer t", "content-type": "application/json", **headers}
        return await self._client.request(method, path, body=encoded, headers=headers)

    @property
    def reviewed(self):
        """Verb, resource and name of each review, or verb and path."""
        return [
            tuple(filter(None, map((spec.get("resourceAttributes") or {}).get, ("verb", "resource", "name"))))
            or tuple(spec["nonResourceAttributes"].values())
            for spec in self.webhook.specs
        ]


@asynccontextmanager
async def api(tmp_path, answer, **options):
    (tmp_path / "tokens").write_text('t,alice,u1,"devs"\n')
    async with review_webhook(tmp_path, answer) as (webhook, config):
        settings = {
            "authorization_mode": ("Webhook",),
            "authorization_webhook_config_file": config,
            "authorization_webhook_version": "v1",
            "token_auth_file": tmp_path / "tokens",
            "ephemeral": True,
        }
        async with InProcessAPIServer(options=APIServerOptions(**(settings | options))) as server:
            yield API(server, webhook)


def allow(spec):
    return {"allowed": True, "reason": "by webhook"}


async def test_webhook_allows_a_request_once_for_equal_ones(tmp_path):
    async with api(tmp_path, allow) as alice:
        for _ in range(2):
            assert (await alice("GET", "/api/v1/pods?labelSelector=app%3Dweb")).code == 200
        (spec,) = alice.webhook.specs
    assert spec["user"] == "alice"
    assert spec["groups"] == ["devs", "system:authenticated"]
    assert spec["resourceAttributes"] == {
        "verb": "list",
        "version": "v1",
        "resource": "pods",
        "labelSelector": {"requirements": [{"key": "app", "operator": "In", "values": ["web"]}]},
    }


async def test_v1beta1_is_the_default_version(tmp_path):
    async with api(tmp_path, allow, authorization_webhook_version="v1beta1") as alice:
        assert (await alice("GET", "/version")).code == 200
        assert alice.webhook.reviews[0]["apiVersion"] == "authorization.k8s.io/v1beta1"
        assert alice.webhook.specs[0]["group"] == ["devs", "system:authenticated"]
    assert APIServerOptions().authorization_webhook_version == "v1beta1"


@pytest.mark.parametrize("status", [{"allowed": False, "reason": "no"}, {"denied": True, "reason": "no"}])
async def test_refusal_has_the_reason_of_the_webhook(tmp_path, status):
    async with api(tmp_path, lambda _: status) as alice:
        answer = await alice("GET", "/api/v1/namespaces/default/pods/p")
    assert answer.code == 403
    assert answer.json()["message"].endswith('in API group "" in the namespace "default": no')


async def test_denial_precedes_later_modes_and_no_opinion_leaves_the_request_to_them(tmp_path):
    def answer(spec):
        return {"denied": spec["resourceAttributes"]["resource"] == "secrets"}

    async with api(tmp_path, answer, authorization_mode=("Webhook", "AlwaysAllow")) as alice:
        assert (await alice("GET", "/api/v1/secrets")).code == 403
        assert (await alice("GET", "/api/v1/pods")).code == 200


async def test_privileged_users_need_no_webhook(tmp_path):
    async with api(tmp_path, lambda _: FORBIDDEN) as alice:
        assert alice.webhook.reviews == []  # the server's own requests


@pytest.mark.parametrize(
    "answer",
    [
        FORBIDDEN,
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]",
        b"no HTTP\r\n\r\n",
    ],
)
async def test_webhook_without_a_valid_answer_allows_nothing(tmp_path, answer):
    async with api(tmp_path, lambda _: answer) as alice:
        refused = await alice("GET", "/api/v1/pods")
    assert refused.code == 500
    assert refused.json()["message"].startswith('Internal Server Error: "/api/v1/pods": ')


async def test_unreachable_webhook_leaves_requests_to_other_modes(tmp_path):
    (tmp_path / "closed").mkdir()
    config = kubeconfig(tmp_path / "closed", "http://127.0.0.1:1/")
    modes = ("Webhook", "AlwaysAllow")
    async with api(tmp_path, allow, authorization_webhook_config_file=config, authorization_mode=modes) as alice:
        assert (await alice("GET", "/api/v1/pods")).code == 200
        text = (await alice("GET", "/metrics")).body.decode()
    for name in ("evaluations_total", "evaluations_fail_open_total", "duration_seconds_count"):
        assert f'\napiserver_authorization_webhook_{name}{{name="default",result="error"}} ' in text
    assert 'apiserver_authorization_decisions_total{decision="allowed",name="alwaysallow",type="AlwaysAllow"}' in text


async def test_impersonation_waits_for_each_of_its_decisions(tmp_path):
    async with api(tmp_path, allow) as alice:
        headers = {"impersonate-user": "bob", "impersonate-group": "ops"}
        assert (await alice("GET", "/api/v1/nodes", **headers)).code == 200
        assert alice.webhook.specs[-1]["user"] == "bob"
        assert alice.reviewed[-1] == ("list", "nodes")
        assert {"users", "groups"} <= {attributes[1] for attributes in alice.reviewed}
        text = (await alice("GET", "/metrics")).body.decode()
    name = 'apiserver_authorization_decisions_total{decision="allowed",name="default",type="Webhook"}'
    assert f"\n{name} {len(alice.reviewed)}\n" in text


async def test_impersonation_that_the_webhook_refuses_is_forbidden(tmp_path):
    def answer(spec):
        return {"allowed": spec["resourceAttributes"]["resource"] == "users"}

    async with api(tmp_path, answer) as alice:
        refused = await alice("GET", "/api/v1/nodes", **{"impersonate-user": "bob", "impersonate-group": "ops"})
    assert refused.code == 403
    assert 'User "alice" cannot impersonate' in refused.json()["message"]


async def test_access_reviews_report_the_decision_of_the_webhook(tmp_path):
    def answer(spec):
        resource = spec["resourceAttributes"]["resource"]
        return FORBIDDEN if resource == "lost" else {"denied": resource == "secrets", "allowed": resource != "secrets"}

    async with api(tmp_path, answer) as alice:
        path = f"{REVIEWS}/selfsubjectaccessreviews"
        statuses = {}
        for resource in ("pods", "secrets", "lost"):
            selector = {"requirements": [{"key": "app", "operator": "Exists"}]}
            attributes = {"verb": "list", "resource": resource, "labelSelector": selector}
            statuses[resource] = (await alice("POST", path, {"spec": {"resourceAttributes": attributes}})).json()[
                "status"
            ]
        attributes = alice.webhook.specs[-1]["resourceAttributes"]
        rules = await alice("POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
    assert attributes["labelSelector"] == {"requirements": [{"key": "app", "operator": "Exists"}]}
    assert statuses["pods"] == {"allowed": True}
    assert statuses["secrets"] == {"allowed": False, "denied": True}
    assert statuses["lost"]["allowed"] is False
    assert statuses["lost"]["evaluationError"]
    status = rules.json()["status"]
    assert status["incomplete"] is True
    assert status["evaluationError"] == "webhook authorizer does not support user rule resolution"


async def test_writes_of_roles_wait_for_the_permission_to_escalate(tmp_path):
    role = {"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}

    def answer(spec):
        return {"allowed": spec["resourceAttributes"]["verb"] != "escalate" or permitted[0]}

    permitted = [False]
    options = {"authorization_webhook_cache_unauthorized_ttl_seconds": 0.0}
    async with api(tmp_path, answer, **options) as alice:
        assert (await alice("POST", f"{RBAC}/clusterroles", role)).code == 403
        permitted[0] = True
        created = await alice("POST", f"{RBAC}/clusterroles", role)
        assert created.code == 201
        assert alice.reviewed.count(("escalate", "clusterroles")) == 2
    assert created.json()["rules"] == role["rules"]


async def test_policies_wait_for_checks_of_their_expressions(tmp_path):
    policy = {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ]
            },
            "validations": [
                {
                    "expression": "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"
                    " && !authorizer.group('').resource('secrets').check('delete').allowed()"
                }
            ],
        },
    }
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}

    def answer(spec):
        attributes = spec["resourceAttributes"]
        return {"allowed": (attributes["verb"], attributes["resource"]) != ("delete", "secrets")}

    async with api(tmp_path, answer, authorization_webhook_cache_authorized_ttl_seconds=0.0) as alice:
        assert (await alice("POST", f"{ADMISSION}/validatingadmissionpolicies", policy)).code == 201
        assert (await alice("POST", f"{ADMISSION}/validatingadmissionpolicybindings", binding)).code == 201
        created = await alice("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
        assert created.code == 201
        assert alice.reviewed[-2:] == [("get", "secrets"), ("delete", "secrets")]


async def test_update_that_creates_waits_for_the_permission_to_create(tmp_path):
    lease = {"metadata": {"name": "l"}, "apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    async with api(tmp_path, allow) as alice:
        assert (await alice("PUT", path, lease)).code == 201
        assert alice.reviewed == [("update", "leases", "l"), ("create", "leases", "l")]


async def test_owner_references_wait_for_permissions_on_owners(tmp_path):
    plugins = ("OwnerReferencesPermissionEnforcement",)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "blockOwnerDeletion": True}
    body = {"metadata": {"name": "c", "ownerReferences": [owner]}}
    async with api(tmp_path, allow, enable_admission_plugins=plugins) as alice:
        assert (await alice("POST", "/api/v1/namespaces/default/configmaps", body)).code == 201
        assert alice.reviewed[-1] == ("update", "pods", "p")
