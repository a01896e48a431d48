"""Stored values in protobuf and in other API versions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apiserver.generic.entry import Layout, StaleEntry
from steersman.apiserver.generic.storage_codec import JSON, StorageCodec, UnreadableValueError
from steersman.apiserver.kinds.catalog import BuiltInKinds
from steersman.apiserver.kinds.stored_versions import stored_layout
from steersman.schema.protobuf import MEDIA_TYPE, decode_body, encode_body
from steersman.schema.resources import table
from steersman.storage.store import Put

CONFIG_MAP = {"metadata": {"name": "a", "namespace": "default", "resourceVersion": "7"}, "data": {"k": "v"}}
KEY = "/registry/configmaps/default/a"
AUTOSCALER = {
    "kind": "HorizontalPodAutoscaler",
    "apiVersion": "autoscaling/v1",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {
        "maxReplicas": 3,
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "targetCPUUtilizationPercentage": 50,
    },
}


def layout_of(kind: str, api_version: str, media_type: str = JSON, **parts: Any) -> Layout:
    return Layout(kind, api_version, StorageCodec(kind, api_version, media_type=media_type, **parts))


def built_in_layout(group: str, version: str, name: str, media_type: str = JSON) -> Layout:
    resource = table().get(group, version, name)
    kinds = BuiltInKinds()
    return layout_of(
        resource.kind,
        resource.storage_api_version,
        media_type,
        default=kinds.strategy(resource).default,
        conversions=kinds.readable_versions(resource),
    )


def test_layout_stores_json_with_upstreams_newline():
    value = layout_of("ConfigMap", "v1").stored(CONFIG_MAP)
    assert value.endswith(b'"data":{"k":"v"}}\n')
    assert b"resourceVersion" not in value


def test_layout_stores_protobuf_without_resource_version_and_self_link():
    tree = {**CONFIG_MAP, "metadata": {**CONFIG_MAP["metadata"], "selfLink": "/x"}}
    value = layout_of("ConfigMap", "v1", MEDIA_TYPE).stored(tree)
    assert value.startswith(b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12")
    assert value.endswith(b"\x1a\x00\x22\x00")
    decoded = decode_body(value)
    assert (decoded["metadata"]["resourceVersion"], decoded["metadata"]["selfLink"]) == ("", "")
    assert decoded["data"] == {"k": "v"}
    assert tree["metadata"]["resourceVersion"] == "7"


@pytest.mark.parametrize("written", [JSON, MEDIA_TYPE])
@pytest.mark.parametrize("configured", [JSON, MEDIA_TYPE])
def test_entry_is_the_same_for_both_encodings(written, configured):
    value = layout_of("ConfigMap", "v1", written).stored(CONFIG_MAP)
    entry = layout_of("ConfigMap", "v1", configured).entry(KEY, value, 5)
    assert json.loads(entry.raw) == {
        "metadata": {"resourceVersion": "5", "name": "a", "namespace": "default"},
        "data": {"k": "v"},
    }
    assert isinstance(entry, StaleEntry) is (written != configured)


def test_entry_of_a_value_that_this_process_encoded_is_decoded_again_to_the_same_bytes():
    layout = layout_of("ConfigMap", "v1", MEDIA_TYPE)
    value = layout.stored(CONFIG_MAP)
    recent = layout.entry(KEY, value, 5)
    decoded = layout_of("ConfigMap", "v1").entry(KEY, value, 5)  # a codec that writes JSON remembers nothing
    assert recent.raw == decoded.raw


def test_entry_is_stale_when_marked_by_the_store():
    layout = layout_of("ConfigMap", "v1")
    assert isinstance(layout.entry(KEY, layout.stored(CONFIG_MAP), 5, is_stale=True), StaleEntry)


@pytest.mark.parametrize("media_type", [JSON, MEDIA_TYPE])
def test_entry_converts_an_older_served_version(media_type):
    layout = built_in_layout("autoscaling", "v2", "horizontalpodautoscalers")
    value = json.dumps(AUTOSCALER).encode() if media_type == JSON else encode_body(AUTOSCALER)
    entry = layout.entry("/registry/horizontalpodautoscalers/default/a", value, 5)
    spec = layout.tree(entry)["spec"]
    assert layout.tree(entry)["apiVersion"] == "autoscaling/v2"
    assert spec["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    ]
    assert spec["minReplicas"] == 1  # defaulted as upstream's decoder does
    assert isinstance(entry, StaleEntry)


def test_entry_reads_an_older_version_with_the_same_fields():
    layout = built_in_layout("batch", "v1", "cronjobs")
    tree = {
        "kind": "CronJob",
        "apiVersion": "batch/v1beta1",
        "metadata": {"name": "a"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}}},
    }
    entry = layout.entry("/registry/cronjobs/default/a", json.dumps(tree).encode(), 5)
    spec = layout.tree(entry)["spec"]
    assert (spec["schedule"], spec["concurrencyPolicy"]) == ("@daily", "Allow")


@pytest.mark.parametrize("media_type", [JSON, MEDIA_TYPE])
def test_layout_stores_and_reads_the_older_version_that_upstream_stores(media_type):
    layout = stored_layout("mutatingadmissionpolicies.admissionregistration.k8s.io", media_type)
    value = layout.stored({"metadata": {"name": "a"}, "spec": {"reinvocationPolicy": "Never"}})
    assert b"admissionregistration.k8s.io/v1beta1" in value
    entry = layout.entry("/registry/mutatingadmissionpolicies/a", value, 5)
    assert not isinstance(entry, StaleEntry)
    assert layout.tree(entry)["apiVersion"] == "admissionregistration.k8s.io/v1"
    assert layout.tree(entry)["spec"]["reinvocationPolicy"] == "Never"


def test_value_in_a_newer_version_than_upstream_stores_is_stale():
    layout = stored_layout("mutatingadmissionpolicies.admissionregistration.k8s.io", JSON)
    value = layout.encode({"metadata": {"name": "a"}})
    assert b'"admissionregistration.k8s.io/v1"' in value
    assert isinstance(layout.entry("/registry/mutatingadmissionpolicies/a", value, 5), StaleEntry)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            json.dumps({**AUTOSCALER, "apiVersion": "autoscaling/v9"}).encode(),
            'is registered for version "autoscaling/v9"',
        ),
        (json.dumps({**AUTOSCALER, "kind": "Pod"}).encode(), "holds a Pod (autoscaling/v1)"),
        (encode_body({"kind": "Secret", "apiVersion": "v1", "metadata": {}}), "holds a Secret (v1)"),
        (encode_body(AUTOSCALER)[:40], "EOF"),
        (b"k8s:enc:aescbc:v1:key1:\xff\x00", "k8s:enc:aescbc:v1:key1:"),
        (json.dumps({**AUTOSCALER, "spec": 1}).encode(), "cannot unmarshal number"),
    ],
)
def test_entry_rejects_a_value_that_upstream_does_not_decode(value, message):
    layout = built_in_layout("autoscaling", "v2", "horizontalpodautoscalers")
    with pytest.raises(UnreadableValueError) as raised:
        layout.entry("/registry/horizontalpodautoscalers/default/a", value, 5)
    assert message in str(raised.value)


@pytest.mark.parametrize("resource", [r for r in table().resources if r.key_prefix and r.api_version == r.storage_api_version],
                         ids=lambda r: r.group_resource)  # fmt: skip
def test_every_kind_has_a_codec_that_writes_and_reads_protobuf(resource):
    layout = stored_layout(resource.group_resource, MEDIA_TYPE)
    tree = {"metadata": {"name": "a"}}
    value = layout.stored(tree)
    assert value.startswith(b"k8s\x00")
    assert layout.entry(f"{resource.key_prefix}/a", value, 1).tree()["metadata"]["name"] == "a"


async def test_update_without_change_rewrites_a_value_of_another_encoding():
    """This is how ``kubectl replace`` migrates stored objects."""
    async with Server(storage_media_type=MEDIA_TYPE) as server:
        value = Layout("ConfigMap", "v1").encode(
            {**CONFIG_MAP, "metadata": {"name": "a", "namespace": "default", "uid": "u"}}
        )
        await server.store.txn([Put(KEY, value)])
        objects = server.registry.stored("configmaps").objects
        read = objects.layout.tree(await objects.current(KEY))
        await server.call("PUT", f"{CONFIG_MAPS}/a", read)
        rewritten = await server.store.get(KEY)
        assert rewritten.value.startswith(b"k8s\x00")
        assert rewritten.mod_revision > int(read["metadata"]["resourceVersion"])
        read["metadata"]["resourceVersion"] = str(rewritten.mod_revision)
        await server.call("PUT", f"{CONFIG_MAPS}/a", read)
        assert await server.store.get(KEY) == rewritten


async def test_value_that_cannot_be_decoded_is_an_error_and_not_absent():
    async with Server() as server:
        await server.store.txn([Put(KEY, b"k8s:enc:aescbc:v1:key1:xxx")])
        answer = await server.call("GET", f"{CONFIG_MAPS}/a")
        listed = await server.call("GET", CONFIG_MAPS)
        created = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert (answer.code, answer.body["reason"]) == (500, "InternalError")
        assert answer.body["message"].startswith(
            f"Internal error occurred: StorageError: corrupt object, Code: 7, Key: {KEY}"
        )
        assert (listed.code, listed.body["reason"]) == (500, "StorageReadError")
        assert created.code == 500


@pytest.mark.parametrize(
    "value",
    [
        b'{"kind":"ConfigMap","apiVersion":["v1"],"metadata":{}}',
        b'{"kind":"ConfigMap","apiVersion":{},"metadata":{}}',
        b'{"kind":{"a":1},"apiVersion":"v1","metadata":{}}',
        b'{"metadata":' + b"[" * 100_000,
    ],
)
def test_value_of_other_types_is_unreadable(value):
    with pytest.raises(UnreadableValueError, match=KEY):
        StorageCodec("ConfigMap", "v1").decode(KEY, value)
