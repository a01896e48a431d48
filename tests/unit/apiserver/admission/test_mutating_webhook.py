"""Mutating webhooks."""

import json
from types import SimpleNamespace

import pytest
from tests.unit.apiserver.admission.hooked import Hooked, patch_response
from tests.unit.apiserver.writing import MERGE_PATCH

from steersman.apiserver.admission.mutating_webhook import patched_object


def add(path: str, value: object) -> dict[str, object]:
    return {"op": "add", "path": path, "value": value}


async def test_mutating_webhooks_run_in_order_and_see_earlier_changes():
    responses = {"one": patch_response(add("/data/one", "1")), "two": patch_response(add("/data/two", "2"))}
    async with Hooked(**responses) as server:
        await server.configure("mutating", "two", configuration="b")
        await server.configure("mutating", "one", configuration="a")
        answer = await server.write()
        assert answer.body["data"] == {"k": "v", "one": "1", "two": "2"}
        assert server.called == ["one", "two"]
        assert server.calls[1][1]["object"]["data"] == {"k": "v", "one": "1"}


async def test_mutating_webhook_is_reinvoked_after_a_later_change():
    async with Hooked(first={"allowed": True}, later=patch_response(add("/data/x", "1"))) as server:
        await server.configure("mutating", "first", configuration="a", reinvocationPolicy="IfNeeded")
        await server.configure("mutating", "later", configuration="b")
        assert (await server.write()).code == 201
        assert server.called == ["first", "later", "first"]
        assert server.calls[2][1]["object"]["data"] == {"k": "v", "x": "1"}


async def test_mutating_webhook_is_not_reinvoked_without_a_later_change():
    async with Hooked(change=patch_response(add("/data/x", "1")), last={"allowed": True}) as server:
        await server.configure("mutating", "change", "last", reinvocationPolicy="IfNeeded")
        assert (await server.write()).code == 201
        assert server.called == ["change", "last"]


async def test_mutating_webhook_cannot_move_the_object():
    async with Hooked(move=patch_response(add("/metadata/namespace", "other"))) as server:
        await server.configure("mutating", "move")
        assert (await server.write()).code == 400


async def test_mutating_webhook_warns_and_denies():
    async with Hooked(no={"allowed": False, "warnings": ["careful"]}) as server:
        await server.configure("mutating", "no")
        answer = await server.write()
        message = 'admission webhook "no.example.com" denied the request without explanation'
        assert (answer.code, answer.body["message"]) == (400, message)
        assert list(answer.warnings) == ["careful"]


async def test_mutating_webhooks_are_annotated_by_their_position_among_all():
    no = {"allowed": False}
    async with Hooked(
        change=patch_response({"value": "1", **add("/data/x", "1")}), bad=None, no=no, other=no
    ) as server:
        await server.configure("mutating", "other", configuration="a", rules=[])
        await server.configure("mutating", "change", configuration="b")
        await server.configure("mutating", "bad", configuration="c", failurePolicy="Ignore")
        await server.configure("mutating", "no", configuration="d")
        assert (await server.write()).code == 400
        annotations = server.annotations.values
        marks = {key: json.loads(value) for key, value in annotations.items() if key.startswith("mutation.")}
        assert marks == {
            f"mutation.webhook.admission.k8s.io/round_0_index_{position}": {
                "configuration": configuration,
                "webhook": f"{name}.example.com",
                "mutated": name == "change",
            }
            for position, configuration, name in [(1, "b", "change"), (2, "c", "bad"), (3, "d", "no")]
        }
        assert annotations["failed-open.mutation.webhook.admission.k8s.io/round_0_index_2"] == "bad.example.com"
        patch = (
            '{"configuration":"b","webhook":"change.example.com","patch":[{"op":"add","path":"/data/x","value":"1"}],'
        )
        assert annotations["patch.webhook.admission.k8s.io/round_0_index_1"] == patch + '"patchType":"JSONPatch"}'


async def test_mutating_webhook_matches_status_of_a_namespace_by_its_stored_labels():
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["namespaces/status"]}
    labels = {"x": "y"}
    async with Hooked(no={"allowed": False}) as server:
        await server.make("/api/v1/namespaces", metadata={"name": "b", "labels": labels})
        await server.configure("mutating", "no", rules=[rule], namespaceSelector={"matchLabels": labels})
        change = {"metadata": {"labels": labels}}
        for name, code in [("default", 200), ("b", 400)]:
            path = f"/api/v1/namespaces/{name}/status"
            assert (await server.call("PATCH", path, change, media_type=MERGE_PATCH)).code == code


async def test_mutating_webhook_that_changes_labels_makes_another_match():
    label = patch_response(add("/metadata/labels/x", "z"))
    async with Hooked(label=label, selected={"allowed": True}) as server:
        await server.configure("mutating", "label", configuration="a", objectSelector={"matchLabels": {"x": "y"}})
        await server.configure("mutating", "selected", configuration="b", objectSelector={"matchLabels": {"x": "z"}})
        assert (await server.write()).code == 201
        assert server.called == []
        assert (await server.write(name="b", labels={"x": "y"})).code == 201
        assert server.called == ["label", "selected"]


@pytest.mark.parametrize(
    ("response", "text", "ignored"),
    [
        (
            patch_response({"op": "remove", "path": "/data/none"}),
            "error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value",
            False,
        ),
        (patch_response(add("/data", "text")), "json: cannot unmarshal string into Go struct field", False),
        (patch_response(add("/data/a", "b"), patchType="MergePatch"), 'unsupported patch type "MergePatch"', True),
        (patch_response(add("/data/a", "b"), patchType=None), "but not response.patchType", True),
        ({"allowed": True, "patch": "e30=", "patchType": "JSONPatch"}, "received undecodable patch", True),
    ],
)
async def test_mutating_webhook_with_broken_patch_fails(response, text, ignored):
    async with Hooked(bad=response) as server:
        await server.configure("mutating", "bad", failurePolicy="Ignore", objectSelector={"matchLabels": {"x": "y"}})
        await server.configure("mutating", "bad", configuration="b", objectSelector={"matchLabels": {"x": "z"}})
        assert (await server.write(labels={"x": "y"})).code == (201 if ignored else 500)
        answer = await server.write(name="b", labels={"x": "z"})
        assert answer.code == 500
        assert text in answer.body["message"]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("/kind", "Secret", "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        ("/kind", "Foo", 'Internal error occurred: no kind "Foo" is registered for version "v1"'),
        (
            "/kind",
            1,
            "Internal error occurred: couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
        ),
        ("/apiVersion", "v2", 'Internal error occurred: no kind "ConfigMap" is registered for version "v2"'),
    ],
)
async def test_mutating_webhook_that_changes_the_kind_fails_the_request(field, value, text):
    async with Hooked(bad=patch_response(add(field, value))) as server:
        await server.configure("mutating", "bad", failurePolicy="Ignore")
        answer = await server.write()
        assert (answer.code, answer.body["message"]) == (500, text)


@pytest.mark.interpreted
def test_patched_custom_object_has_metadata_when_the_patch_removes_it():
    resource = SimpleNamespace(group="example.com", version="v1", kind="Shirt", subresources=())
    served = SimpleNamespace(
        decode=lambda tree: (tree, []),
        struct=None,
        is_custom=True,
        custom_versions=("example.com/v1",),
        resource=resource,
        strategy=SimpleNamespace(default=lambda *_: None),
    )
    before = {"apiVersion": "example.com/v1", "kind": "Shirt", "metadata": {"name": "a"}}
    operations = [{"op": "remove", "path": "/metadata"}]
    assert patched_object(before, operations, resource, served, "") == ({**before, "metadata": {}}, True)
