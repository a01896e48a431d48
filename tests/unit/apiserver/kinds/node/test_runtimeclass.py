from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.node.runtimeclass import RuntimeClassStrategy

STRATEGY = RuntimeClassStrategy()
TOLERATION = {"key": "a", "operator": "Exists"}
CLASS = named(
    handler="runc",
    overhead={"podFixed": {"cpu": "10m"}},
    scheduling={"nodeSelector": {"a": "b"}, "tolerations": [TOLERATION]},
)


def test_update_requires_resource_version():
    assert STRATEGY.allow_unconditional_update is False


def test_put_to_missing_name_creates():
    assert STRATEGY.allow_create_on_update is True


def test_validate_accepts_valid_classes():
    assert texts(STRATEGY.validate(CONTEXT, CLASS)) == []


@pytest.mark.parametrize(
    ("edits", "start"),
    [
        ({"handler": "Run_C"}, 'handler: Invalid value: "Run_C": a lowercase RFC 1123 label must consist of'),
        (
            {"overhead.podFixed": {"cpu": "-1"}},
            'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        ({"scheduling.nodeSelector": {"a": "not valid"}}, 'scheduling.nodeSelector: Invalid value: "not valid": '),
        (
            {"scheduling.tolerations": [TOLERATION, {**TOLERATION, "tolerationSeconds": 5, "effect": "NoExecute"}] * 2},
            (
                'scheduling.tolerations[2]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"",'
                '"TolerationSeconds":null}'
            ),
        ),
        (
            {"scheduling.tolerations.0.operator": "Likes"},
            'scheduling.tolerations.tolerations[0].operator: Unsupported value: "Likes": supported values: "Equal", "Exists"',
        ),
    ],
)
def test_validate_rejects_invalid_fields(edits, start):
    fault = texts(STRATEGY.validate(CONTEXT, edited(CLASS, edits)))[0]
    assert fault.startswith(start)


def test_validate_update_rejects_change_of_handler():
    assert texts(STRATEGY.validate_update(CONTEXT, edited(CLASS, {"handler": "other"}), CLASS)) == [
        'handler: Invalid value: "other": field is immutable'
    ]


def test_warnings_about_deprecated_labels():
    old = "beta.kubernetes.io/os"
    new = edited(CLASS, {"scheduling": {"nodeSelector": {old: "linux"}, "tolerations": [{"key": old}]}})
    instead = 'deprecated since v1.14; use "kubernetes.io/os" instead'
    assert STRATEGY.warnings(CONTEXT, new, None) == [
        f"scheduling.nodeSelector: {instead}",
    ]


def test_cells_show_handler():
    assert STRATEGY.cells(CLASS, NOW) == ["a", "runc", "60s"]
