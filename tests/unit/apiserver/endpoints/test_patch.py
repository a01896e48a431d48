from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.apiserver.writing import (
    APPLY_PATCH,
    CONFIG_MAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Server,
    causes,
    deployment,
)

A = f"{CONFIG_MAPS}/a"


@pytest.mark.parametrize("media_type", ["application/json", "application/yaml", "", "application/other-patch+json"])
async def test_patch_rejects_other_media_types(media_type):
    async with Server() as server:
        await server.make()
        answer = await server.call("PATCH", A, {"data": {}}, media_type=media_type)
        assert (answer.code, answer.body["message"]) == (415, "415: Unsupported Media Type")


async def test_patch_ignores_media_type_parameters():
    async with Server() as server:
        await server.make()
        answer = await server.call("PATCH", A, {"data": {"k": "v"}}, media_type=f"{MERGE_PATCH}; charset=UTF-8")
        assert answer.body["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("media_type", "patch"),
    [
        (MERGE_PATCH, {"data": {"k": None, "l": "w"}}),
        (STRATEGIC_PATCH, {"data": {"k": None, "l": "w"}}),
        (JSON_PATCH, [{"op": "remove", "path": "/data/k"}, {"op": "add", "path": "/data/l", "value": "w"}]),
    ],
)
async def test_json_merge_and_strategic_patches_agree(media_type, patch):
    async with Server() as server:
        await server.make(data={"k": "v"})
        answer = await server.call("PATCH", A, patch, media_type=media_type)
        assert (answer.code, answer.body["data"]) == (200, {"l": "w"})


@pytest.mark.parametrize("media_type", [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH])
async def test_patch_of_a_missing_object_is_404_before_the_patch_is_read(media_type):
    async with Server() as server:
        assert (await server.call("PATCH", A, b"nonsense", media_type=media_type)).code == 404


async def test_apply_creates_a_terminating_object_with_a_deletion_timestamp():
    metadata = {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/hold"]}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    async with Server() as server:
        answer = await server.apply(A, config)
        assert answer.code == 201
        assert answer.body["metadata"]["deletionTimestamp"] == metadata["deletionTimestamp"]
        assert (await server.call("POST", CONFIG_MAPS, config)).body["message"].startswith("object is being deleted")
        released = await server.merge(A, {"metadata": {"finalizers": None}})
        assert released.code == 200
        assert (await server.call("GET", A)).code == 404


async def test_apply_creates_a_missing_object():
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    async with Server() as server:
        assert (await server.apply(A, config, query="dryRun=All")).code == 201
        assert (await server.call("GET", A)).code == 404
        created = await server.apply(A, config)
        again = await server.apply(A, config)
        assert (created.code, again.code, again.body) == (201, 200, created.body)
        assert created.body["metadata"]["managedFields"][0]["operation"] == "Apply"


async def test_apply_of_a_missing_object_requires_the_create_permission():
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    async with Server(forbidden_verb="create") as server:
        answer = await server.apply(A, config)
        assert (answer.code, answer.body["reason"]) == (403, "Forbidden")


async def test_apply_with_a_uid_does_not_create():
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}}
    async with Server() as server:
        answer = await server.apply(A, config)
        assert (answer.code, answer.body["reason"]) == (409, "Conflict")


async def test_apply_conflicts_with_other_managers_unless_forced():
    async with Server() as server:
        await server.make(data={"k": "v"})
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "w"}}
        answer = await server.apply(A, config)
        assert causes(answer) == [("FieldManagerConflict", ".data.k")]
        assert (await server.apply(A, config, query="force=true")).body["data"] == {"k": "w"}


async def test_apply_to_a_subresource_does_not_create():
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "status": {"replicas": 1}}
    async with Server() as server:
        assert (await server.apply(f"{DEPLOYMENTS}/a/status", config)).code == 404


async def test_apply_owns_no_defaulted_fields():
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": deployment()}
    async with Server() as server:
        created = (await server.apply(f"{DEPLOYMENTS}/a", config)).body
        assert created["spec"]["replicas"] == 1
        assert "f:replicas" not in created["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]


@pytest.mark.parametrize("body", [b"- a\n", b"hello", b"a: [", b""])
async def test_apply_of_a_body_that_is_no_object_is_400(body):
    async with Server() as server:
        answer = await server.call("PATCH", A, body, media_type=APPLY_PATCH, query="fieldManager=m")
        assert answer.code == 400


async def test_apply_warns_of_or_rejects_duplicate_keys():
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: v\n  k: w\n"
    async with Server() as server:
        for query, code, warnings in (
            ("fieldManager=m&fieldValidation=Strict", 400, []),
            ("fieldManager=m", 201, ['line 6: key "k" already set in map']),
            ("fieldManager=m&fieldValidation=Ignore", 200, []),
        ):
            answer = await server.call("PATCH", A, body, media_type=APPLY_PATCH, query=query)
            assert (answer.code, answer.warnings) == (code, warnings)


async def test_patch_cannot_change_identity():
    async with Server() as server:
        await server.make()
        assert (await server.merge(A, {"metadata": {"name": "b"}})).code == 400
        assert (await server.merge(A, {"metadata": {"namespace": "other"}})).code == 400
        assert (await server.merge(A, {"metadata": None})).code == 400
        assert set(causes(await server.merge(A, {"metadata": {"uid": "u"}}))) == {("FieldValueInvalid", "metadata.uid")}
        assert (await server.merge(A, {"metadata": {"namespace": None, "uid": None}})).code == 200


async def test_merge_patch_rejects_and_strategic_patch_ignores_another_kind():
    async with Server() as server:
        await server.make()
        assert causes(await server.merge(A, {"kind": "Secret"})) == [("FieldValueInvalid", "patch")]
        answer = await server.call("PATCH", A, {"kind": "Secret"}, media_type=STRATEGIC_PATCH)
        assert (answer.code, answer.body["kind"]) == (200, "ConfigMap")


async def test_patch_with_a_wrong_type_is_422_with_the_patched_object():
    async with Server() as server:
        await server.make()
        answer = await server.merge(A, {"data": {"k": 1}})
        assert causes(answer) == [("FieldValueInvalid", "patch")]
        assert "cannot unmarshal number into Go struct field ConfigMap.data" in answer.body["message"]


@pytest.mark.parametrize("media_type", [MERGE_PATCH, STRATEGIC_PATCH])
async def test_patch_field_validation_covers_unknown_and_duplicate_fields(media_type):
    patch = b'{"typo": 1, "data": {"k": "v", "k": "w"}}'
    async with Server() as server:
        await server.make()
        warned = await server.call("PATCH", A, patch, media_type=media_type)
        assert warned.warnings == ['duplicate field "data.k"', 'unknown field "typo"']
        strict = await server.call("PATCH", A, patch, media_type=media_type, query="fieldValidation=Strict")
        assert (strict.code, causes(strict)) == (422, [("FieldValueInvalid", "patch")])
        ignored = await server.call("PATCH", A, patch, media_type=media_type, query="fieldValidation=Ignore")
        assert (ignored.code, ignored.warnings) == (200, [])


async def test_field_validation_covers_unknown_members_of_json_patch_operations():
    operations = [{"op": "add", "path": "/data", "value": {"k": "v"}, "typo": 1}]
    async with Server() as server:
        await server.make()
        answer = await server.call("PATCH", A, operations, media_type=JSON_PATCH)
        assert answer.warnings == ['json patch unknown field "[0].typo"']


async def test_resource_version_in_a_patch_is_a_precondition():
    async with Server() as server:
        old = (await server.make())["metadata"]["resourceVersion"]
        await server.merge(A, {"data": {"k": "v"}})
        answer = await server.merge(A, {"metadata": {"resourceVersion": old}, "data": {"k": "w"}})
        assert (answer.code, answer.body["reason"]) == (409, "Conflict")


async def test_patch_dry_run_returns_the_outcome_at_the_old_version():
    async with Server() as server:
        created = await server.make(data={"k": "v"})
        answer = await server.merge(A, {"data": {"k": "w"}}, query="dryRun=All")
        assert answer.body["data"] == {"k": "w"}
        assert answer.body["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
        assert (await server.call("GET", A)).body == created


async def test_force_is_rejected_for_other_patches_than_apply():
    async with Server() as server:
        await server.make()
        assert causes(await server.merge(A, {}, query="force=false")) == [("FieldValueForbidden", "force")]


_leaf = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4)
_key = st.sampled_from(["metadata", "name", "labels", "data", "finalizers", "kind", "$patch", "$retainKeys", "x"])
_tree = st.recursive(
    _leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_key, inner, max_size=4), max_leaves=12
)
_path = st.lists(st.sampled_from(["metadata", "labels", "data", "k", "0", "-", "~1"]), max_size=3).map("/".join)
_operation = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]),
        "path": _path.map("/{}".format) | st.just(""),
        "from": _path.map("/{}".format),
        "value": _tree,
    },
)


@given(patch=_tree, operations=st.lists(_operation, max_size=4))
@settings(max_examples=120, deadline=None)
async def test_no_patch_causes_a_server_error(patch, operations):
    async with Server() as server:
        await server.make(data={"k": "v"}, metadata={"labels": {"a": "b"}})
        merged = await server.call("PATCH", A, json.dumps(patch).encode(), media_type=MERGE_PATCH)
        assert merged.code in (200, 400, 409, 422)
        changed = await server.call("PATCH", A, operations, media_type=JSON_PATCH)
        assert changed.code in (200, 400, 409, 422)
        strategic = await server.call("PATCH", A, json.dumps(patch).encode(), media_type=STRATEGIC_PATCH)
        assert strategic.code < 500 or strategic.body["message"].startswith("unknown patch type")
        applied = await server.apply(f"{CONFIG_MAPS}/b", patch)
        assert applied.code in (200, 201, 400, 422) or applied.body["message"].startswith("failed to create typed")


async def test_event_written_through_the_other_group_changes_its_owner():
    async with Server() as server:
        path = "/apis/events.k8s.io/v1/namespaces/default/events"
        event = {
            "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "example.com/c",
            "reportingInstance": "i",
            "action": "Test",
            "reason": "Test",
            "type": "Normal",
        }
        await server.make(path, **event)
        answer = await server.merge("/api/v1/namespaces/default/events/a", {"message": "m"})
        owners = [(entry["apiVersion"], entry["fieldsV1"]) for entry in answer.body["metadata"]["managedFields"]]
        assert owners == [("v1", {"f:message": {}})]


@pytest.mark.parametrize(
    ("media_type", "patch"),
    [
        (
            MERGE_PATCH,
            {"apiVersion": "autoscaling/v1", "spec": {"metrics": None, "targetCPUUtilizationPercentage": 60}},
        ),
        (
            JSON_PATCH,
            [
                {"op": "replace", "path": "/apiVersion", "value": "autoscaling/v1"},
                {"op": "add", "path": "/spec/targetCPUUtilizationPercentage", "value": 60},
            ],
        ),
    ],
)
async def test_patch_to_an_equivalent_version_is_decoded_in_that_version(media_type, patch):
    autoscalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    async with Server() as server:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
        await server.make(autoscalers, spec={"maxReplicas": 5, "scaleTargetRef": target})
        patched = await server.call("PATCH", f"{autoscalers}/a", patch, media_type=media_type)
        assert (patched.code, patched.body["apiVersion"]) == (200, "autoscaling/v2")
        [metric] = patched.body["spec"]["metrics"]
        assert metric["resource"]["target"]["averageUtilization"] == 60
