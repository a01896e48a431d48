"""Every built-in kind in protobuf, compared with objects of a real control plane and with an independent decoder."""

from __future__ import annotations

import base64
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.protobuf.trees import Trees

from steersman.apimachinery.typemodel import ListOf, MapOf, Struct, Type
from steersman.schema import protobuf
from steersman.schema.decoding import decode
from steersman.schema.loader import definitions, struct, struct_for
from steersman.schema.protobuf_encoding import encoder_of
from steersman.schema.protobuf_messages import fields_of, message_names
from steersman.schema.resources import table

#: Path of an object → response of a kube-apiserver 1.36, in JSON and in protobuf.
SAMPLES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "samples.json").read_text())
TOP_LEVEL = sorted({definition for gv in table().modules for definition in definitions(*gv)})
#: Lists have only their items.
KINDS = [name for name in TOP_LEVEL if {"kind", "metadata"} <= struct(name).fields.keys() and not name.endswith("List")]


@pytest.mark.parametrize("path", SAMPLES)
def test_recorded_object_encodes_to_recorded_bytes(path):
    assert protobuf.encode_body(SAMPLES[path]["json"]) == base64.b64decode(SAMPLES[path]["protobuf"])


@pytest.mark.parametrize("path", SAMPLES)
def test_recorded_bytes_decode_to_recorded_object(path):
    recorded = SAMPLES[path]["json"]
    group, _, version = recorded["apiVersion"].rpartition("/")
    tree = protobuf.decode_body(base64.b64decode(SAMPLES[path]["protobuf"]))
    decoded = decode(struct_for(group, version, recorded["kind"]), tree)
    assert decoded.unknown == []
    assert decoded.tree == without_embedded_kinds(recorded)


def without_embedded_kinds(tree: dict[str, Any]) -> dict[str, Any]:
    """Remove kind and apiVersion of volume claim templates: protobuf has none, defaulting adds them."""
    for template in tree.get("spec", {}).get("volumeClaimTemplates", ()):
        template.pop("kind", None)
        template.pop("apiVersion", None)
    return tree


def test_every_field_of_the_schema_has_a_number():
    missing = {definition: unnumbered_fields(definition) for definition in TOP_LEVEL}
    assert {definition: names for definition, names in missing.items() if names} == {}


def unnumbered_fields(definition: str) -> set[str]:
    numbered = names_of(definition)
    of_kind = {"kind", "apiVersion"} if {"metadata", "kind"} <= struct(definition).fields.keys() else set()
    if definition.startswith("io.k8s.apimachinery.") and "kind" not in numbered:
        of_kind = {"kind", "apiVersion"}
    return struct(definition).fields.keys() - of_kind - numbered


def test_numbered_fields_have_the_types_of_the_schema():
    fields = [(definition, field) for definition in TOP_LEVEL for field in all_fields(definition)]
    assert [
        f"{definition}: {field.json_name}" for definition, field in fields if not has_schema_type(definition, field)
    ] == []


def has_schema_type(definition: str, field: Any) -> bool:
    field_type = struct(definition).fields.get(field.json_name)
    if field_type is None:
        return True
    named_slice = field.type == "strings"  # a message in protobuf, a list in JSON
    inner = field_type.type.value if isinstance(field_type.type, MapOf) else field_type.type
    return (field.is_map, field.is_list, field.message) == (
        isinstance(field_type.type, MapOf),
        isinstance(inner, ListOf) and not named_slice,
        message_of(field_type.type),
    )


def message_of(type_: Type) -> str:
    inner = type_.item if isinstance(type_, ListOf) else type_.value if isinstance(type_, MapOf) else type_
    return inner.name if isinstance(inner, Struct) else ""


def all_fields(definition: str) -> list[Any]:
    fields = fields_of(definition)
    return [f for f in fields if f.json_name] + [g for f in fields if not f.json_name for g in all_fields(f.message)]


def names_of(definition: str) -> set[str]:
    return {field.json_name for field in all_fields(definition)}


def test_every_list_has_metadata_and_items_under_the_same_numbers():
    lists = [name for name in TOP_LEVEL if name.endswith("List") and "items" in struct(name).fields]
    assert len(lists) > 50
    for name in lists:
        assert {f.json_name: f.number for f in fields_of(name)} == {"metadata": 1, "items": 2}


def canonical(definition: str, seed: int) -> Any:
    """Return a random object as Go would hold it."""
    return decode(struct(definition), Trees(random.Random(seed)).of(struct(definition))).tree


@pytest.mark.parametrize("definition", KINDS)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_json_to_protobuf_to_json_is_the_identity(definition, seed):
    tree = canonical(definition, seed)
    raw = encoder_of(definition).encode(tree)
    again = decode(struct(definition), protobuf.decode_message(struct(definition), raw))
    assert again.unknown == []
    assert again.tree == tree


@cache
def independent_messages() -> dict[str, Any]:
    """Return definition name → class of ``google.protobuf``."""
    pytest.importorskip("google.protobuf", reason="the dev extra is not installed")
    from codegen.descriptors import descriptor_file, message_name
    from codegen.protobuf import definition_name, facts
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_file())
    classes = {}
    for name in facts():
        descriptor = pool.FindMessageTypeByName(message_name(name))
        classes[definition_name(name)] = message_factory.GetMessageClass(descriptor)
    return classes


@pytest.mark.parametrize("definition", KINDS)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_google_protobuf_reads_and_writes_the_same_fields(definition, seed):
    raw = encoder_of(definition).encode(canonical(definition, seed))
    message = independent_messages()[definition].FromString(raw)
    assert unknown_fields(message) == []
    # The order of map entries is implementation-defined; recorded bytes show upstream's.
    assert sorted(message.SerializeToString()) == sorted(raw)


def unknown_fields(message: Any) -> list[Any]:
    from google.protobuf.unknown_fields import UnknownFieldSet

    return [field.field_number for field in UnknownFieldSet(message)]


def test_google_protobuf_reads_the_values_of_recorded_objects():
    sample = SAMPLES["/api/v1/namespaces/default/pods/bare"]
    envelope = protobuf.open_envelope(protobuf.encode_body(sample["json"]))
    pod = independent_messages()["io.k8s.api.core.v1.Pod"].FromString(envelope.raw)
    assert pod.metadata.name == sample["json"]["metadata"]["name"]
    assert [c.image for c in pod.spec.containers] == [c["image"] for c in sample["json"]["spec"]["containers"]]


def test_every_message_has_an_encoder():
    for name in message_names():
        encoder_of(name).encode({})
