"""Duplicate keys in JSON texts of built-in kinds."""

from __future__ import annotations

import json

import pytest

from steersman.schema.duplicates import merged_tree, strict_messages
from steersman.schema.loader import struct_for

DEPLOYMENT = struct_for("apps", "v1", "Deployment")
DEFINITION = struct_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def _schema(text: str) -> bytes:
    return f'{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{text}}}}}]}}}}'.encode()


@pytest.mark.parametrize(
    ("schema", "messages"),
    [
        ('{"items":{"type":"a","type":"b"},"default":{"a":1,"a":2},"additionalProperties":{"x":1}}', []),
        (
            '{"properties":{"a":{"type":"b","type":"c","x":{"y":1,"y":2}}}}',
            ['duplicate field "{}.properties.a.type"', 'unknown field "{}.properties.a.x"'],
        ),
    ],
)
def test_strict_messages_skip_unknown_fields_and_types_with_their_own_decoder(schema, messages):
    path = "spec.versions[0].schema.openAPIV3Schema"
    assert strict_messages(DEFINITION, _schema(schema)) == [message.format(path) for message in messages]


def test_strict_messages_are_limited():
    raw = json.dumps({f"x{number}": 1 for number in range(120)}).encode()
    assert len(strict_messages(DEPLOYMENT, raw)) == 100


@pytest.mark.parametrize(
    ("raw", "spec"),
    [
        (b'{"spec":{"replicas":1,"replicas":null}}', {"replicas": None}),
        (b'{"spec":{"minReadySeconds":1,"minReadySeconds":null}}', {"minReadySeconds": 1}),
        (b'{"spec":{"paused":true},"spec":{"replicas":2}}', {"paused": True, "replicas": 2}),
        (b'{"spec":{"template":{"spec":{"hostPID":true}},"template":null}}', {"template": {"spec": {"hostPID": True}}}),
        (b'{"spec":{"selector":{"matchLabels":{"a":"1"}},"selector":null}}', {"selector": None}),
        (
            b'{"spec":{"selector":{"matchExpressions":[{"key":"a"},{"key":"b"}],"matchExpressions":[{"operator":"In"}]}}}',
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
        ),
    ],
)
def test_merged_tree_decodes_into_earlier_values(raw, spec):
    assert merged_tree(DEPLOYMENT, raw) == {"spec": spec}


def test_merged_tree_replaces_elements_of_maps():
    raw = b'{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"a":{"type":"x"},"a":{"title":"y"}}}}}]}}'
    schema = merged_tree(DEFINITION, raw)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema == {"properties": {"a": {"title": "y"}}}
