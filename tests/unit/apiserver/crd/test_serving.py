"""Definitions come, change and go on a whole server without sockets."""

import asyncio
import base64
from datetime import UTC, datetime

import msgspec
import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.asynckit.clock import FakeClock
from steersman.testing import InProcessAPIServer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SHIRTS = "/apis/example.com/v1/namespaces/default/shirts"


def definition(**version: object) -> bytes:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}},
    }
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "shirts", "kind": "Shirt"},
        "versions": [one],
    }
    return msgspec.json.encode({"metadata": {"name": "shirts.example.com"}, "spec": spec})


def shirt(**more: object) -> bytes:
    return msgspec.json.encode({"apiVersion": "example.com/v1", "kind": "Shirt", "metadata": {"name": "a"}, **more})


async def until(server: InProcessAPIServer, path: str, code: int):
    """Ask again, giving the server's loops their turns, until the answer has that code."""
    async with asyncio.timeout(HANG_SECONDS):
        while (answer := await server.request("GET", path)).code != code:  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
    return answer


@pytest.fixture
async def server():
    async with InProcessAPIServer() as started:
        assert (await started.request("POST", DEFINITIONS, body=definition())).code == 201
        await until(started, SHIRTS, 200)
        yield started


async def test_objects_are_defaulted_and_pruned_by_their_schema(server):
    created = (await server.request("POST", SHIRTS, body=shirt(spec={"typo": 1}))).json()
    assert created["spec"] == {"size": 1}


async def test_another_kind_is_rejected_after_the_version_of_an_update(server):
    created = (await server.request("POST", SHIRTS, body=shirt())).json()
    stale = shirt(kind="Coat", metadata={"name": "a", "resourceVersion": "1"})
    assert (await server.request("PUT", f"{SHIRTS}/a", body=stale)).code == 409
    current = shirt(kind="Coat", metadata={"name": "a", "resourceVersion": created["metadata"]["resourceVersion"]})
    answer = await server.request("PUT", f"{SHIRTS}/a", body=current)
    message = 'Coat.example.com "a" is invalid: kind: Invalid value: "Coat": must be Shirt'
    assert (answer.code, answer.json()["message"]) == (422, message)


async def test_objects_that_violate_the_schema_are_rejected(server):
    answer = await server.request("POST", SHIRTS, body=shirt(spec={"size": "large"}))
    assert answer.code == 422
    assert answer.json()["details"]["causes"][0]["field"] == "spec.size"


async def test_definition_is_served_once_until_what_affects_serving_changes():
    changes: list[tuple[str, str, str]] = []
    path = f"{DEFINITIONS}/shirts.example.com"
    headers = {"content-type": "application/merge-patch+json"}
    async with InProcessAPIServer() as server:
        server.core.resources.registry.listeners.append(lambda *resource: changes.append(resource))
        assert (await server.request("POST", DEFINITIONS, body=definition())).code == 201
        await until(server, SHIRTS, 200)
        for change in ({"metadata": {"labels": {"a": "b"}}}, {"spec": {"names": {"shortNames": ["sh"]}}}):
            assert changes == [("example.com", "v1", "shirts")]
            body = msgspec.json.encode(change)
            assert (await server.request("PATCH", path, body=body, headers=headers)).code == 200
        async with asyncio.timeout(HANG_SECONDS):
            while len(changes) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
        assert len(changes) == 3  # withdrawn, and served with the new name


async def test_lists_have_the_declared_kind():
    names = {"plural": "shirts", "kind": "Shirt", "listKind": "Wardrobe"}
    tree = msgspec.json.decode(definition())
    tree["spec"]["names"] |= names
    async with InProcessAPIServer() as server:
        assert (await server.request("POST", DEFINITIONS, body=msgspec.json.encode(tree))).code == 201
        assert (await until(server, SHIRTS, 200)).json()["kind"] == "Wardrobe"
        assert (await server.request("DELETE", SHIRTS)).json()["kind"] == "Wardrobe"


@pytest.mark.parametrize(
    ("method", "path", "code", "message"),
    [
        ("PUT", SHIRTS, 400, "name must be provided"),
        ("PATCH", SHIRTS, 400, "name must be provided"),
        ("OPTIONS", f"{SHIRTS}/a", 405, ' is not supported on resources of kind "shirts.example.com"'),
        ("POST", f"{SHIRTS}/a/status", 405, 'create is not supported on resources of kind "shirts.example.com"'),
        ("DELETE", f"{SHIRTS}/a/status", 405, 'delete is not supported on resources of kind "shirts.example.com"'),
        ("PATCH", "/apis/example.com/v1/shirts", 404, None),
        ("HEAD", SHIRTS, 200, None),
        ("GET", f"{SHIRTS}/a/status/more", 200, None),
    ],
)
async def test_requests_for_objects_are_dispatched_by_verb(method, path, code, message):
    subresources = {"status": {}}
    async with InProcessAPIServer() as server:
        assert (await server.request("POST", DEFINITIONS, body=definition(subresources=subresources))).code == 201
        await until(server, SHIRTS, 200)
        created = await server.request("POST", f"{SHIRTS}/other", body=shirt())
        assert (created.code, created.json()["metadata"]["name"]) == (201, "a")
        headers = {"content-type": "application/merge-patch+json"} if method == "PATCH" else {}
        answer = await server.request(method, path, body=b"{}" if headers else b"", headers=headers)
        assert answer.code == code
        if (method, path) == ("PATCH", SHIRTS):
            assert (await server.request(method, path, body=b"{}")).code == 415
        if message is not None:
            assert answer.json()["message"] == message


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("HEAD", f"{SHIRTS}?watch=1"),
        ("HEAD", "/apis/example.com/v1/watch/namespaces/default/shirts"),
        ("POST", "/apis/example.com/v1/watch/namespaces/default/shirts"),
        ("DELETE", "/apis/example.com/v1/watch/shirts"),
    ],
)
async def test_watches_of_objects_are_dispatched_by_verb(server, method, path):
    async with server.open(method, path) as watch:
        assert watch.code == 200


async def test_new_default_applies_to_existing_objects(server):
    await server.request("POST", SHIRTS, body=shirt())
    schema = {"type": "object", "properties": {"color": {"type": "string", "default": "grey"}}}
    patch = [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema}]
    await server.request(
        "PATCH",
        f"{DEFINITIONS}/shirts.example.com",
        body=msgspec.json.encode(patch),
        headers={"content-type": "application/json-patch+json"},
    )
    async with asyncio.timeout(HANG_SECONDS):
        while (await server.request("GET", f"{SHIRTS}/a")).json().get("color") != "grey":  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn


async def test_fields_removed_from_the_schema_are_pruned_on_read(server):
    await server.request("POST", SHIRTS, body=shirt(spec={"size": 3}))
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    patch = [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema}]
    headers = {"content-type": "application/json-patch+json"}
    path = f"{DEFINITIONS}/shirts.example.com"
    await server.request("PATCH", path, body=msgspec.json.encode(patch), headers=headers)
    async with asyncio.timeout(HANG_SECONDS):
        while (await server.request("GET", f"{SHIRTS}/a")).json()["spec"]:  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn


async def test_versions_have_columns_and_selectable_fields_of_their_own(server):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    selectable = [{"jsonPath": ".spec.size"}]
    more = {"schema": {"openAPIV3Schema": schema}, "additionalPrinterColumns": [column], "selectableFields": selectable}
    v2 = {"name": "v2", "served": True, "storage": False, "deprecated": True, **more}
    patch = msgspec.json.encode([{"op": "add", "path": "/spec/versions/-", "value": v2}])
    headers = {"content-type": "application/json-patch+json"}
    await server.request("PATCH", f"{DEFINITIONS}/shirts.example.com", body=patch, headers=headers)
    newer = SHIRTS.replace("v1", "v2")
    answer = await until(server, newer, 200)
    assert answer.header("warning") == '299 - "example.com/v2 Shirt is deprecated"'
    await server.request("POST", SHIRTS, body=shirt(spec={"size": 3}))
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    shown = [(await server.request("GET", path, headers=table)).json() for path in (SHIRTS, newer)]
    assert [[c["name"] for c in entry["columnDefinitions"]] for entry in shown] == [["Name", "Age"], ["Name", "Size"]]
    body = (await server.request("GET", f"{newer}?fieldSelector=spec.size%3D3")).json()
    assert [item["apiVersion"] for item in body["items"]] == ["example.com/v2"]
    assert (await server.request("GET", f"{SHIRTS}?fieldSelector=spec.size%3D3")).code == 400


async def test_scale_update_of_a_custom_object_requires_replicas_but_no_resource_version(server):
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    patch = [
        {"op": "add", "path": "/spec/versions/0/subresources", "value": {"scale": scale}},
        {"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema},
    ]
    headers = {"content-type": "application/json-patch+json"}
    path = f"{DEFINITIONS}/shirts.example.com"
    await server.request("PATCH", path, body=msgspec.json.encode(patch), headers=headers)
    await server.request("POST", SHIRTS, body=shirt())
    answer = await until(server, f"{SHIRTS}/a/scale", 500)
    assert answer.json()["message"] == 'Internal error occurred: the spec replicas field ".spec.size" does not exist'
    merge_patch = {"content-type": "application/merge-patch+json"}
    answer = await server.request("PATCH", f"{SHIRTS}/a/scale", body=b"{}", headers=merge_patch)
    assert (answer.code, answer.json()["message"]) == (400, 'the spec replicas field ".spec.size" cannot be empty')
    expected = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
    answer = await server.request("PUT", f"{SHIRTS}/a/scale", body=msgspec.json.encode(expected))
    assert (answer.code, answer.json()["spec"]) == (200, {"replicas": 3})
    expected["spec"] = {"replicas": -1}
    answer = await server.request("PUT", f"{SHIRTS}/a/scale", body=msgspec.json.encode(expected))
    assert answer.json()["details"]["causes"][0]["field"] == ".spec.size"


def named(plural: str, **names: object) -> bytes:
    """Return a definition with these names."""
    tree = msgspec.json.decode(definition())
    tree["metadata"]["name"] = f"{plural}.example.com"
    tree["spec"]["names"] = {"plural": plural, **names}
    return msgspec.json.encode(tree)


async def names_condition(server: InProcessAPIServer, plural: str, reason: str) -> None:
    """Wait until the condition NamesAccepted of a definition has that reason."""
    path = f"{DEFINITIONS}/{plural}.example.com"
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            status = (await server.request("GET", path)).json()["status"]
            if any(c["type"] == "NamesAccepted" and c["reason"] == reason for c in status.get("conditions") or ()):
                return
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn


async def test_names_of_a_deleted_definition_are_free_for_others_of_its_group(server):
    await server.request("POST", DEFINITIONS, body=named("blouses", kind="Shirt"))
    await names_condition(server, "blouses", "ListKindConflict")
    await server.request("DELETE", f"{DEFINITIONS}/shirts.example.com")
    await names_condition(server, "blouses", "NoConflicts")
    await until(server, SHIRTS.replace("shirts", "blouses"), 200)


async def test_names_that_a_definition_gives_up_are_free_for_others_of_its_group(server):
    headers = {"content-type": "application/merge-patch+json"}
    path = f"{DEFINITIONS}/shirts.example.com"
    for short_name in ("sh", "shi"):
        body = msgspec.json.encode({"spec": {"names": {"shortNames": [short_name]}}})
        await server.request("PATCH", path, body=body, headers=headers)
        if short_name == "sh":
            async with asyncio.timeout(HANG_SECONDS):
                while "shortNames" not in (await server.request("GET", path)).json()["status"]["acceptedNames"]:  # noqa: ASYNC110
                    await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
            await server.request("POST", DEFINITIONS, body=named("shoes", kind="Shoe", shortNames=["sh"]))
            await names_condition(server, "shoes", "ShortNamesConflict")
    await names_condition(server, "shoes", "NoConflicts")


async def test_changed_short_names_keep_watches_of_objects(server):
    await server.request("POST", SHIRTS, body=shirt(spec={"size": 3}))
    assert (await server.request("GET", f"{SHIRTS}/a")).json()["spec"] == {"size": 3}


async def test_deleting_a_definition_deletes_its_objects_first(server):
    await server.request("POST", SHIRTS, body=shirt())
    await server.request("DELETE", f"{DEFINITIONS}/shirts.example.com")
    await until(server, f"{DEFINITIONS}/shirts.example.com", 404)
    await until(server, SHIRTS, 404)
    assert (await server.request("POST", DEFINITIONS, body=definition())).code == 201
    listed = await until(server, SHIRTS, 200)
    assert listed.json()["items"] == []


async def test_objects_of_a_definition_that_serves_no_version_go_with_it(server):
    await server.request("POST", SHIRTS, body=shirt())
    patch = msgspec.json.encode([{"op": "replace", "path": "/spec/versions/0/served", "value": False}])
    headers = {"content-type": "application/json-patch+json"}
    path = f"{DEFINITIONS}/shirts.example.com"
    await server.request("PATCH", path, body=patch, headers=headers)
    await until(server, SHIRTS, 404)
    await server.request("DELETE", path)
    await until(server, path, 404)
    assert (await server.request("POST", DEFINITIONS, body=definition())).code == 201
    listed = await until(server, SHIRTS, 200)
    assert listed.json()["items"] == []


async def test_unserved_version_can_be_served_again(server):
    await server.request("POST", SHIRTS, body=shirt())
    headers = {"content-type": "application/json-patch+json"}
    for served, code in ((False, 404), (True, 200)):
        patch = msgspec.json.encode([{"op": "replace", "path": "/spec/versions/0/served", "value": served}])
        await server.request("PATCH", f"{DEFINITIONS}/shirts.example.com", body=patch, headers=headers)
        await until(server, f"{SHIRTS}/a", code)


PENDING = "InstanceDeletionPending"


async def test_object_with_a_finalizer_keeps_its_definition(server):
    body = msgspec.json.decode(shirt(spec={}))
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await server.request("POST", SHIRTS, body=msgspec.json.encode(body))
    path = f"{DEFINITIONS}/shirts.example.com"
    await server.request("DELETE", path)
    async with asyncio.timeout(HANG_SECONDS):
        while (ends := [c for c in await conditions(server) if c["type"] == "Terminating"])[0]["reason"] == PENDING:  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
    assert (ends[0]["status"], ends[0]["reason"]) == ("True", "InstanceDeletionInProgress")
    body["metadata"]["name"] = "b"
    applied = {"content-type": "application/apply-patch+yaml"}
    for refused in (
        await server.request("POST", SHIRTS, body=msgspec.json.encode(body)),
        await server.request("PATCH", f"{SHIRTS}/b?fieldManager=m", body=msgspec.json.encode(body), headers=applied),
    ):
        assert (refused.code, refused.json()["message"]) == (
            403,
            'shirts.example.com "b" is forbidden: create not allowed while custom resource definition is terminating',
        )
    resources = (await server.request("GET", "/apis/example.com/v1")).json()["resources"]
    assert resources[0]["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
    answer = await server.request("GET", path)
    assert answer.json()["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    headers = {"content-type": "application/merge-patch+json"}
    freed = await server.request("PATCH", f"{SHIRTS}/a", body=b'{"metadata":{"finalizers":null}}', headers=headers)
    assert freed.code == 200


async def test_definition_is_served_at_once_while_another_one_must_be_retried():
    async with InProcessAPIServer(clock=FakeClock(datetime(2030, 1, 1, tzinfo=UTC))) as server:
        await server.request("POST", DEFINITIONS, body=definition())
        await until(server, SHIRTS, 200)
        held = msgspec.json.decode(shirt(spec={}))
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await server.request("POST", SHIRTS, body=msgspec.json.encode(held))
        await server.request("DELETE", f"{DEFINITIONS}/shirts.example.com")
        async with asyncio.timeout(HANG_SECONDS):
            while (await conditions(server))[-1]["reason"] == PENDING:  # noqa: ASYNC110
                await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
        await server.request(
            "POST", DEFINITIONS, body=definition().replace(b"shirt", b"sock").replace(b"Shirt", b"Sock")
        )
        await until(server, SHIRTS.replace("shirts", "socks"), 200)


async def conditions(server: InProcessAPIServer) -> list[dict]:
    definition = (await server.request("GET", f"{DEFINITIONS}/shirts.example.com")).json()
    return definition["status"]["conditions"]


async def test_definition_with_another_finalizer_reports_that_its_objects_are_deleted(server):
    headers = {"content-type": "application/merge-patch+json"}
    hold = msgspec.json.encode({"metadata": {"finalizers": ["example.com/hold"]}})
    path = f"{DEFINITIONS}/shirts.example.com"
    await server.request("PATCH", path, body=hold, headers=headers)
    await server.request("POST", SHIRTS, body=shirt())
    await server.request("DELETE", path)
    async with asyncio.timeout(HANG_SECONDS):
        while (await server.request("GET", path)).json()["metadata"]["finalizers"] != ["example.com/hold"]:  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn
    condition = next(c for c in await conditions(server) if c["type"] == "Terminating")
    assert (condition["status"], condition["reason"]) == ("False", "InstanceDeletionCompleted")
    assert (await server.request("GET", SHIRTS)).json()["items"] == []


async def test_schema_is_published_in_openapi(server):
    document = (await server.request("GET", "/openapi/v3/apis/example.com/v1")).json()
    shirts = document["components"]["schemas"]["com.example.v1.Shirt"]
    assert shirts["properties"]["spec"]["properties"]["size"]["default"] == 1
    assert shirts["x-kubernetes-group-version-kind"] == [{"group": "example.com", "kind": "Shirt", "version": "v1"}]


async def test_openapi_publishes_the_schema_of_a_definition_until_it_changes(server):
    async def published() -> dict:
        document = (await server.request("GET", "/openapi/v3/apis/example.com/v1")).json()
        return document["components"]["schemas"]["com.example.v1.Shirt"]["properties"]

    assert published_size(await published()) == {"type": "integer", "default": 1}
    assert "ObjectMeta" in str((await published())["metadata"])
    current = (await server.request("GET", f"{DEFINITIONS}/shirts.example.com")).json()
    schema = current["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["size"] = {"type": "string"}
    changed = await server.request("PUT", f"{DEFINITIONS}/shirts.example.com", body=msgspec.json.encode(current))
    assert changed.code == 200
    async with asyncio.timeout(HANG_SECONDS):
        while published_size(await published()) != {"type": "string"}:  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 — no time passes, others get their turn


def published_size(properties: dict) -> dict:
    return properties["spec"]["properties"]["size"]


@pytest.mark.parametrize(
    ("method", "kind", "body"),
    [
        ("PATCH", "application/merge-patch+json", {"spec": {"size": None}}),
        ("PATCH", "application/json-patch+json", [{"op": "remove", "path": "/spec/size"}]),
        ("PATCH", "application/apply-patch+yaml", {"apiVersion": "example.com/v1", "kind": "Shirt", "spec": {}}),
        ("PUT", "application/json", {"apiVersion": "example.com/v1", "kind": "Shirt", "spec": {}}),
    ],
)
async def test_every_write_applies_defaults_so_that_reads_show_what_is_stored(server, method, kind, body):
    created = (await server.request("POST", SHIRTS, body=shirt(spec={"size": 5}))).json()
    if isinstance(body, dict) and "kind" in body:
        body = {**body, "metadata": {"name": "a"}}
        if method == "PUT":
            body["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"]
    query = "?fieldManager=test&force=true" if "apply" in kind else ""
    answer = await server.request(
        method, f"{SHIRTS}/a{query}", body=msgspec.json.encode(body), headers={"content-type": kind}
    )
    expected = {"size": 5} if "apply" in kind else {"size": 1}
    assert (answer.code, answer.json()["spec"]) == (200, expected)
    assert (await server.request("GET", f"{SHIRTS}/a")).json()["spec"] == expected


async def test_missing_status_is_defaulted_on_reads():
    schema = {
        "type": "object",
        "properties": {"status": {"type": "object", "default": {}, "properties": {"ready": {"default": False}}}},
    }
    schema["properties"]["status"]["properties"]["ready"]["type"] = "boolean"
    async with InProcessAPIServer() as started:
        body = definition(schema={"openAPIV3Schema": schema}, subresources={"status": {}})
        assert (await started.request("POST", DEFINITIONS, body=body)).code == 201
        await until(started, SHIRTS, 200)
        await started.request("POST", SHIRTS, body=shirt())
        assert (await started.request("GET", f"{SHIRTS}/a")).json()["status"] == {"ready": False}


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        (
            {"op": "replace", "path": "/kind", "value": "Coat"},
            422,
            'Coat.example.com "a" is invalid: kind: Invalid value: "Coat": must be Shirt',
        ),
        (
            {"op": "remove", "path": "/kind"},
            500,
            'Internal error occurred: Object \'Kind\' is missing in \'{"apiVersion":"example.com/v1",',
        ),
        (
            {"op": "replace", "path": "/apiVersion", "value": "other.com/v1"},
            500,
            'other.com/v1, Kind=Shirt is unstructured and is not suitable for converting to "example.com/v1"',
        ),
        (
            {"op": "replace", "path": "/apiVersion", "value": "example.com/v9"},
            500,
            "request to convert CR from an invalid group/version: example.com/v9",
        ),
        (
            {"op": "remove", "path": "/apiVersion"},
            500,
            '/, Kind=Shirt is unstructured and is not suitable for converting to "example.com/v1"',
        ),
    ],
)
async def test_objects_whose_type_a_webhook_changes_are_rejected(server, patch, code, message):
    async def respond(_: str, review: dict) -> bytes:
        encoded = base64.b64encode(msgspec.json.encode([patch])).decode()
        response = {"allowed": True, "patchType": "JSONPatch", "patch": encoded, "uid": review["request"]["uid"]}
        return http_response({**review, "response": response})

    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["shirts"]}
    async with WebhookServer(respond) as mutating:
        hook = {
            "name": "change.example.com",
            "clientConfig": {"url": mutating.url, "caBundle": ca_bundle()},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        stored = (await server.request("POST", SHIRTS, body=shirt())).json()
        hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        body = msgspec.json.encode({"metadata": {"name": "change"}, "webhooks": [hook]})
        assert (await server.request("POST", hooks, body=body)).code == 201
        created = await server.request("POST", SHIRTS, body=shirt())
        stored["spec"] = {"size": 2}
        updated = await server.request("PUT", f"{SHIRTS}/a", body=msgspec.json.encode(stored))
    for answer in (created, updated):
        assert answer.code == code
        assert answer.json()["message"].startswith(message)
