"""Questions about access and identity, and what is wrong with them."""

import asyncio
import json

import pytest
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.apiserver.server.loopback import Loopback
from steersman.apiserver.workers import are_workers_busy
from steersman.asynckit.slices import next_turn

AUTHZ = "/apis/authorization.k8s.io/v1"
AUTHN = "/apis/authentication.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SAR = f"{AUTHZ}/subjectaccessreviews"
LOCAL = f"{AUTHZ}/namespaces/default/localsubjectaccessreviews"
PODS = {"verb": "get", "resource": "pods"}
PATH = {"verb": "get", "path": "/healthz"}


async def ask(server, path, tree, client=None):
    answer = await (client or server).request("POST", path, body=json.dumps(tree).encode())
    return answer.code, answer.json()


def as_alice(server):
    return Loopback(server.core.app, headers={**server.core.client._headers, "impersonate-user": "alice"})


async def test_subject_access_review_reports_the_granting_binding(server):
    spec = {"user": "alice", "groups": ["system:authenticated"], "nonResourceAttributes": PATH}
    code, review = await ask(server, SAR, {"spec": spec})
    assert code == 201
    assert review["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery"'
        ' to Group "system:authenticated"',
    }
    code, review = await ask(server, SAR, {"spec": {"user": "alice", "resourceAttributes": PODS}})
    assert (code, review["status"]) == (201, {"allowed": False})


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"user": "u"}, ["spec.resourceAttributes"]),
        ({"user": "u", "resourceAttributes": PODS, "nonResourceAttributes": PATH}, ["spec.nonResourceAttributes"]),
        ({"resourceAttributes": PODS}, ["spec.user"]),
        (
            {"user": "u", "resourceAttributes": {**PODS, "fieldSelector": {}}},
            ["spec.resourceAttributes.fieldSelector.requirements"],
        ),
        (
            {"user": "u", "resourceAttributes": {**PODS, "labelSelector": {"requirements": [{"operator": "In"}]}}},
            [
                "spec.resourceAttributes.labelSelector.requirements[0].values",
                "spec.resourceAttributes.labelSelector.requirements[0].key",
                "spec.resourceAttributes.labelSelector.requirements[0].key",
            ],
        ),
        (
            {
                "user": "u",
                "resourceAttributes": {
                    **PODS,
                    "labelSelector": {"rawSelector": "a", "requirements": [{"key": "k", "operator": "Exists"}]},
                },
            },
            ["spec.resourceAttributes.labelSelector.rawSelector"],
        ),
        (
            {
                "user": "u",
                "resourceAttributes": {
                    **PODS,
                    "labelSelector": {"requirements": [{"key": "k", "operator": "Exists", "values": ["v"]}]},
                },
            },
            ["spec.resourceAttributes.labelSelector.requirements[0].values"],
        ),
        (
            {
                "user": "u",
                "resourceAttributes": {
                    **PODS,
                    "fieldSelector": {"rawSelector": "a=b", "requirements": [{"operator": "In"}]},
                },
            },
            [
                "spec.resourceAttributes.fieldSelector.rawSelector",
                "spec.resourceAttributes.fieldSelector.requirements[0].key",
                "spec.resourceAttributes.fieldSelector.requirements[0].values",
            ],
        ),
        (
            {
                "user": "u",
                "resourceAttributes": {
                    **PODS,
                    "labelSelector": {"requirements": [{"key": "k", "operator": "In", "values": ["-"]}]},
                },
            },
            ["spec.resourceAttributes.labelSelector.requirements[0].values[0]"],
        ),
    ],
)
async def test_invalid_reviews_are_rejected(server, spec, fields):
    code, refused = await ask(server, SAR, {"spec": spec})
    assert code == 422
    assert [cause["field"] for cause in refused["details"]["causes"]] == fields


async def test_review_rejects_metadata(server):
    code, refused = await ask(
        server, SAR, {"metadata": {"name": "x"}, "spec": {"user": "u", "resourceAttributes": PODS}}
    )
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "metadata")


@pytest.mark.parametrize("name", ["fieldSelector", "labelSelector"])
async def test_review_reports_an_unparseable_selector_in_its_status(server, name):
    attributes = {**PODS, name: {"rawSelector": "a in (("}}
    code, review = await ask(server, SAR, {"spec": {"user": "u", "resourceAttributes": attributes}})
    message = f"spec.resourceAttributes.{name} ignored due to parse error"
    assert (code, review["status"]) == (201, {"allowed": False, "evaluationError": message})


@pytest.mark.parametrize(
    ("name", "requirements", "part"),
    [
        ("labelSelector", [{"key": "k", "operator": "Near"}], "ignored"),
        ("labelSelector", [{"key": "k", "operator": "Near"}, {"key": "k", "operator": "Exists"}], "partially ignored"),
        ("fieldSelector", [{"key": "k", "operator": "Near"}], "ignored"),
        ("fieldSelector", [{"key": "k", "operator": "Exists"}], "ignored"),
        (
            "fieldSelector",
            [{"key": "k", "operator": "In", "values": ["a", "b"]}, {"key": "k", "operator": "In", "values": ["a"]}],
            "partially ignored",
        ),
    ],
)
async def test_review_reports_requirements_that_it_ignores(server, name, requirements, part):
    attributes = {**PODS, name: {"requirements": requirements}}
    code, review = await ask(server, SAR, {"spec": {"user": "u", "resourceAttributes": attributes}})
    message = f"spec.resourceAttributes.{name} {part} due to parse error"
    assert (code, review["status"]) == (201, {"allowed": False, "evaluationError": message})


@pytest.mark.parametrize(
    ("selector", "is_allowed"),
    [
        ({"rawSelector": "spec.nodeName=n"}, True),
        ({"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n"]}]}, True),
        ({"requirements": [{"key": "spec.nodeName", "operator": "NotIn", "values": ["n"]}]}, False),
        ({"rawSelector": "spec.nodeName=m"}, False),
    ],
)
async def test_review_of_a_node_regards_its_field_selector(server, selector, is_allowed):
    attributes = {"verb": "list", "resource": "pods", "fieldSelector": selector}
    spec = {"user": "system:node:n", "groups": ["system:nodes"], "resourceAttributes": attributes}
    _, review = await ask(server, SAR, {"spec": spec})
    assert review["status"]["allowed"] is is_allowed


async def test_local_review_is_bound_to_its_namespace(server):
    within = {"user": "u", "resourceAttributes": {**PODS, "namespace": "default"}}
    assert (await ask(server, LOCAL, {"spec": within}))[0] == 201
    for spec in ({"user": "u", "resourceAttributes": PODS}, {"user": "u", "nonResourceAttributes": PATH}):
        assert (await ask(server, LOCAL, {"spec": spec}))[0] == 422
    code, refused = await ask(server, LOCAL, {"metadata": {"labels": {"a": "b"}}, "spec": within})
    assert (code, "must be empty except for namespace" in refused["message"]) == (422, True)


async def test_self_subject_reviews_are_allowed_for_every_user(server):
    alice = as_alice(server)
    code, review = await ask(server, f"{AUTHZ}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": PODS}}, alice)
    assert (code, review["status"]) == (201, {"allowed": False})
    code, review = await ask(server, f"{AUTHZ}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, alice)
    own = {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]}
    assert own in review["status"]["resourceRules"]
    assert review["status"]["nonResourceRules"]
    assert (review["spec"], review["status"]["incomplete"]) == ({}, False)
    assert (await ask(server, f"{AUTHZ}/selfsubjectrulesreviews", {"spec": {}}, alice))[0] == 400
    code, review = await ask(server, f"{AUTHN}/selfsubjectreviews", {}, alice)
    assert review["status"]["userInfo"] == {"username": "alice", "groups": ["system:authenticated"]}
    assert (await ask(server, SAR, {"spec": {"user": "u", "resourceAttributes": PODS}}, alice))[0] == 403


@pytest.mark.parametrize(("count", "is_in_worker"), [(100, False), (10_000, True)])
async def test_many_rules_are_listed_in_a_worker(server, count, is_in_worker):
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": [f"r{number}"]} for number in range(count)]
    binding = {
        "metadata": {"name": "a"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    }
    assert (await ask(server, f"{RBAC}/clusterroles", {"metadata": {"name": "a"}, "rules": rules}))[0] == 201
    assert (await ask(server, f"{RBAC}/clusterrolebindings", binding))[0] == 201
    review = {"spec": {"namespace": "default"}}
    asking = asyncio.create_task(ask(server, f"{AUTHZ}/selfsubjectrulesreviews", review, as_alice(server)))
    was_busy = False
    while not asking.done():
        was_busy |= are_workers_busy()
        await next_turn()
    code, review = asking.result()
    listed = [rule for rule in review["status"]["resourceRules"] if rule in (rules[0], rules[-1])]
    assert (code, listed, was_busy) == (201, [rules[0], rules[-1]], is_in_worker)


async def test_token_review_reports_an_unknown_token_and_rejects_an_empty_one(server):
    code, review = await ask(server, f"{AUTHN}/tokenreviews", {"spec": {"token": "nonsense"}})
    assert (code, review["status"]) == (201, {"user": {}, "error": "invalid bearer token"})
    assert (await ask(server, f"{AUTHN}/tokenreviews", {"spec": {}}))[0] == 400


async def test_token_review_accepts_server_audience_only(server):
    token = server.core.client._headers["authorization"].removeprefix("Bearer ")
    _, review = await ask(server, f"{AUTHN}/tokenreviews", {"spec": {"token": token}})
    assert review["status"]["user"]["groups"] == ["system:masters", "system:authenticated"]
    assert review["status"]["audiences"] == ["https://kubernetes.default.svc"]
    _, review = await ask(server, f"{AUTHN}/tokenreviews", {"spec": {"token": token, "audiences": ["vault"]}})
    assert "authenticated" not in review["status"]


async def test_token_review_reports_why_a_service_account_token_is_invalid(server):
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert (await ask(server, accounts, {"metadata": {"name": "robot"}}))[0] == 201
    code, issued = await ask(server, f"{accounts}/robot/token", {"spec": {}})
    assert code == 201, issued
    spec = {"token": issued["status"]["token"], "audiences": ["vault"]}
    _, review = await ask(server, f"{AUTHN}/tokenreviews", {"spec": spec})
    message = 'token audiences ["https://kubernetes.default.svc"] is invalid for the target audiences ["vault"]'
    assert review["status"] == {"user": {}, "error": f"[invalid bearer token, {message}]"}


async def test_reviews_are_not_stored(server):
    assert (await server.request("GET", SAR)).code == 405
    assert (await server.request("GET", f"{SAR}/x")).code == 404


def as_kind(kind):
    return {"accept": f"application/json;as={kind};g=meta.k8s.io;v=v1"}


POSTED = {
    f"{AUTHZ}/selfsubjectaccessreviews": {"resourceAttributes": PODS},
    SAR: {"user": "alice", "resourceAttributes": PODS},
    LOCAL: {"user": "alice", "resourceAttributes": {**PODS, "namespace": "default"}},
    f"{AUTHZ}/selfsubjectrulesreviews": {"namespace": "default"},
    f"{AUTHN}/selfsubjectreviews": {},
    f"{AUTHN}/tokenreviews": {"token": "x"},
    "/api/v1/namespaces/default/serviceaccounts/default/token": {"audiences": ["a"]},
}


@pytest.mark.parametrize("path", POSTED)
async def test_reviews_have_no_table_form_but_partial_metadata(server, path):
    account = json.dumps({"metadata": {"name": "default"}}).encode()
    await server.request("POST", "/api/v1/namespaces/default/serviceaccounts", body=account)
    body = json.dumps({"spec": POSTED[path]}).encode()

    async def ask_as(accept):
        return await server.request("POST", path, body=body, headers=accept)

    table = await ask_as(as_kind("Table"))
    assert (table.code, table.json()["reason"]) == (406, "NotAcceptable")
    partial = await ask_as(as_kind("PartialObjectMetadata"))
    assert (partial.code, partial.json()["kind"]) == (201, "PartialObjectMetadata")
    assert partial.json().keys() == {"kind", "apiVersion", "metadata"}
    either = await ask_as({"accept": f"{as_kind('Table')['accept']},application/json"})
    assert (either.code, "status" in either.json()) == (201, True)


@pytest.mark.parametrize(
    ("path", "spec", "status"),
    [
        (SAR, {"user": "alice", "resourceAttributes": PODS}, {"allowed": False}),
        (
            LOCAL,
            {"user": "alice", "resourceAttributes": {**PODS, "namespace": "default"}},
            {"allowed": False},
        ),
        (f"{AUTHZ}/selfsubjectaccessreviews", {"resourceAttributes": PODS}, {"allowed": False}),
        (
            f"{AUTHZ}/selfsubjectrulesreviews",
            {"namespace": "default"},
            {"resourceRules": None, "nonResourceRules": None, "incomplete": False},
        ),
        (f"{AUTHN}/selfsubjectreviews", None, {"userInfo": {}}),
        (f"{AUTHN}/tokenreviews", {"token": "t"}, {"user": {}}),
    ],
    ids=lambda value: value.rpartition("/")[2] if isinstance(value, str) else "",
)
async def test_review_is_admitted_by_webhooks_before_its_answer(server, path, spec, status):
    reviewed = []

    async def deny(_, review):
        reviewed.append(review["request"])
        return http_response({**review, "response": {"uid": review["request"]["uid"], "allowed": False}})

    async with WebhookServer(deny) as hook:
        rule = {"apiGroups": ["authentication.k8s.io", "authorization.k8s.io"], "apiVersions": ["v1"]}
        webhook = {
            "name": "deny.example.com",
            "clientConfig": {"url": f"{hook.url}/deny", "caBundle": ca_bundle()},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": [{**rule, "operations": ["CREATE"], "resources": ["*"]}],
        }
        configuration = {"metadata": {"name": "deny"}, "webhooks": [webhook]}
        kinds = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        assert (await ask(server, kinds, configuration))[0] == 201
        local = {"metadata": {"namespace": "default"}} if path is LOCAL else {}
        code, refusal = await ask(server, path, {**local, "spec": spec} if spec else {})
    assert (code, refusal["message"]) == (
        400,
        'admission webhook "deny.example.com" denied the request without explanation',
    )
    [request] = reviewed
    assert request["operation"] == "CREATE"
    assert request["object"]["status"] == status
    assert request["object"].get("spec") == spec


async def test_review_has_managed_fields_without_the_status_that_the_client_sends(server):
    spec = {"user": "alice", "resourceAttributes": PODS}
    _, review = await ask(server, SAR, {"spec": spec, "status": {"allowed": True}})
    [entry] = review["metadata"]["managedFields"]
    assert entry["fieldsV1"].keys() == {"f:spec"}
    assert review["status"] == {"allowed": False}
