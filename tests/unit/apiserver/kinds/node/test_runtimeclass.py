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


def test_a_change_needs_the_version_it_is_based_on():
    assert STRATEGY.allow_unconditional_update is False


def test_what_is_valid():
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
def test_what_is_refused(edits, start):
    fault = texts(STRATEGY.validate(CONTEXT, edited(CLASS, edits)))[0]
    assert fault.startswith(start)


def test_the_handler_never_changes():
    assert texts(STRATEGY.validate_update(CONTEXT, edited(CLASS, {"handler": "other"}), CLASS)) == [
        'handler: Invalid value: "other": field is immutable'
    ]


def test_labels_with_newer_names_warn():
    old = "beta.kubernetes.io/os"
    new = edited(CLASS, {"scheduling": {"nodeSelector": {old: "linux"}, "tolerations": [{"key": old}]}})
    instead = 'deprecated since v1.14; use "kubernetes.io/os" instead'
    assert STRATEGY.warnings(CONTEXT, new, None) == [
        f"scheduling.nodeSelector: {instead}",
    ]


def test_the_row_shows_the_handler():
    assert STRATEGY.cells(CLASS, NOW) == ["a", "runc", "60s"]
