"""Validation of an applied tree against its type."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.validate import faults_of, faults_text
from steersman.schema.openapi_types import from_openapi

CASES = {
    "text for a number": ({"replicas": "3"}, ".spec.replicas: expected numeric (int or float), got string"),
    "a boolean is no number": ({"replicas": True}, ".spec.replicas: expected numeric (int or float), got bool"),
    "a number for text": (
        {"limits": {"a": 1}},
        ".spec.limits.a: expected string, got &value.valueUnstructured{Value:1}",
    ),
    "text for a boolean": ({"enabled": "yes"}, ".spec.enabled: expected boolean, got &{yes}"),
    "a map for a list": ({"parts": {"name": "a"}}, ".spec.parts: expected list, got &{map[name:a]}"),
    "a list for a map": ({"limits": ["a"]}, ".spec.limits: expected map, got &{[a]}"),
    "a list for a quantity": ({"size": []}, ".spec.size: expected any scalar, got &{[]}"),
    "a map for a time": ({"since": {}}, ".spec.since: expected any scalar, got &{map[]}"),
    "an undeclared field": ({"replicaz": 3}, ".spec.replicaz: field not declared in schema"),
    "an undeclared field in an atomic part": ({"ref": {"nam": "x"}}, ".spec.ref.nam: field not declared in schema"),
    "a wrong item of an atomic list": (
        {"args": ["a", 1]},
        ".spec.args[1]: expected string, got &value.valueUnstructured{Value:1}",
    ),
    "two items of one key": (
        {"parts": [{"name": "a"}, {"name": "a"}]},
        '.spec.parts: duplicate entries for key [name="a"]',
    ),
    "two items of one key by its default": (
        {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]},
        '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
    ),
    "a set item twice": ({"tags": ["x", "x"]}, '.spec.tags: duplicate entries for key [="x"]'),
    "an item without its key": (
        {"parts": [{"size": 1}]},
        (
            ".spec.parts: element 0: associative list with keys has an element that omits all key fields "
            '["name"] (and doesn\'t have default values for any key fields)'
        ),
    ),
    "inside an item": (
        {"parts": [{"name": "a", "tags": [None]}]},
        '.spec.parts[name="a"].tags: element 0: associative list without keys has an element that\'s an explicit null',
    ),
}


@pytest.mark.parametrize(("spec", "text"), CASES.values(), ids=CASES)
def test_faults_of_reports_path_and_error(widget, spec, text):
    assert faults_text(faults_of({"spec": spec}, widget)) == text


def test_faults_text_joins_errors(widget):
    faults = faults_of({"spec": {"replicas": "x", "enabled": 1}}, widget)
    assert (
        faults_text(faults)
        == "errors:\n  .spec.replicas: expected numeric (int or float), got string\n  .spec.enabled: expected boolean, got &{1}"
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": None, "limits": None, "parts": None, "ref": None},
        {"replicas": 1.5},
        {"extra": {"free": [{"x": 1}, None]}, "anything": [1, {"a": None}]},
        {"ports": [{"port": 1, "target": "x"}, {"port": 2, "target": 3}, {"port": 3, "target": {"decoded": "later"}}]},
        {"size": 1, "since": 5},
    ],
)
def test_faults_of_accepts_nulls_and_untyped_values(widget, spec):
    assert faults_of({"spec": spec}, widget) == []


CUSTOM = from_openapi(
    {
        "type": "object",
        "properties": {
            "strict": {"type": "object", "properties": {"a": {"type": "string"}}},
            "free": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {
                    "strict": {"type": "object", "properties": {"a": {"type": "string"}}},
                    "items": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    "resource": {"type": "object", "x-kubernetes-embedded-resource": True},
                },
            },
            "since": {"type": "string", "format": "date-time"},
            "bytes": {"type": "string", "format": "byte"},
            "either": {"x-kubernetes-int-or-string": True},
        },
    },
    "Widget",
)


@pytest.mark.parametrize(
    "tree",
    [
        {"free": {"unknown": 1, "strict": {"unknown": 1}, "items": [{"unknown": 1}]}},
        {"since": 5},
        {"either": {"a": 1}},
    ],
)
def test_faults_of_custom_resource_leave_it_to_schema_validation(tree):
    assert faults_of(tree, CUSTOM) == []


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({"strict": {"unknown": 1}}, ".strict.unknown: field not declared in schema"),
        (
            {"free": {"resource": {"metadata": {"unknown": 1}}}},
            ".free.resource.metadata.unknown: field not declared in schema",
        ),
        ({"bytes": 5}, ".bytes: expected string, got &value.valueUnstructured{Value:5}"),
        ({"since": {}}, ".since: expected any scalar, got &{map[]}"),
    ],
)
def test_faults_of_custom_resource_name_what_the_schema_excludes(tree, text):
    assert faults_text(faults_of(tree, CUSTOM)) == text
