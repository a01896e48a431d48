"""Stored values of built-in kinds: reading one raises UnreadableValueError only; what is read is written in JSON and protobuf.

The first byte chooses the resource. A value that is neither JSON nor protobuf is drawn, with fields of the kind's type.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.fuzz.choices import Choices
from tests.fuzz.targets.protobuf_bodies import draw_message

from steersman.apimachinery.codec import encode
from steersman.apimachinery.protowire import length_delimited, string
from steersman.apiserver.generic.storage_codec import StorageCodec, UnreadableValueError
from steersman.apiserver.kinds.catalog import BuiltInKinds
from steersman.schema.loader import struct_for
from steersman.schema.protobuf import MAGIC, MEDIA_TYPE
from steersman.schema.resources import table

TOKENS = (b"k8s\x00", b"\x0a\x02v1", b"\x12\x03Pod", b'{"metadata":{}', b'"metadata":[]', b'"apiVersion":"v1"', b'"apiVersion":["v1"]', b'"kind":{}',
          b'"kind":"Pod"', b'"spec":{}', b'"apiVersion":"autoscaling/v1"', b"}", b"\xff\xff\xff\xff\x0f", b"k8s:enc:aescbc:v1:a:", b"null")  # fmt: skip
RESOURCES = (("", "v1", "pods"), ("", "v1", "secrets"), ("", "v1", "nodes"), ("apps", "v1", "deployments"),
             ("autoscaling", "v2", "horizontalpodautoscalers"), ("coordination.k8s.io", "v1", "leases"), ("events.k8s.io", "v1", "events"),
             ("apiextensions.k8s.io", "v1", "customresourcedefinitions"), ("batch", "v1", "cronjobs"), ("discovery.k8s.io", "v1", "endpointslices"),
             ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations"), ("networking.k8s.io", "v1", "ingresses"),
             ("rbac.authorization.k8s.io", "v1", "clusterroles"), ("policy", "v1", "poddisruptionbudgets"), ("apps", "v1", "statefulsets"))  # fmt: skip
KEY = "/registry/x/default/a"


def run(data: bytes) -> None:
    index, value = data[0] % len(RESOURCES) if data else 0, data[1:]
    codec, resource = _codec(index)
    if not value.startswith((MAGIC, b"{", b"[", b"k8s")):
        value = _value(Choices(value), resource)
    try:
        tree = codec.decode(KEY, value)
    except UnreadableValueError as error:
        assert str(error).startswith(KEY)
        return
    encode(tree)
    if not value.startswith(MAGIC) and tree.get("apiVersion") in (None, "", resource.storage_api_version):
        return  # JSON in the storage version is taken as it is
    stored = codec.encode(tree, encode(tree))
    again = codec.decode(KEY, stored)
    codec.encode(again, encode(again))


@cache
def _codec(index: int) -> tuple[StorageCodec, Any]:
    resource, kinds = table().get(*RESOURCES[index]), BuiltInKinds()
    codec = StorageCodec(
        resource.kind,
        resource.storage_api_version,
        stored_version=resource.stored_api_version,
        media_type=MEDIA_TYPE,
        default=kinds.strategy(resource).default,
        conversions=kinds.readable_versions(resource),
    )
    return codec, resource


def _value(choices: Choices, resource: Any) -> bytes:
    versions = (resource.stored_api_version or resource.storage_api_version, "autoscaling/v1", "v1", "x/v9", "")
    api_version = versions[0] if not choices.one_in(8) else choices.pick(versions)
    kind = resource.kind if not choices.one_in(16) else choices.text()
    if choices.one_in(2):
        raw = length_delimited(1, draw_message(choices, 4)) + draw_message(choices, 8)
        return MAGIC + length_delimited(1, string(1, api_version) + string(2, kind)) + length_delimited(2, raw)
    group, _, version = resource.storage_api_version.rpartition("/")
    tree = choices.typed(struct_for(group, version, resource.kind), 8)
    tree = tree if isinstance(tree, dict) else {}
    metadata = {"name": "a"} if not choices.one_in(8) else choices.tree(2)
    return encode({"apiVersion": api_version, "kind": kind, "metadata": metadata, **tree})
