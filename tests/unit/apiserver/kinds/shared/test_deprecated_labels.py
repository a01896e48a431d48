from __future__ import annotations

import pytest

from steersman.apiserver.kinds.shared.deprecated_labels import key_warning, label_warning, selector_warnings


@pytest.mark.parametrize(
    ("label", "warnings"),
    [
        ("beta.kubernetes.io/arch", ['here: deprecated since v1.14; use "kubernetes.io/arch" instead']),
        ("beta.kubernetes.io/os", ['here: deprecated since v1.14; use "kubernetes.io/os" instead']),
        (
            "failure-domain.beta.kubernetes.io/region",
            ['here: deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
        ),
        (
            "beta.kubernetes.io/instance-type",
            ['here: deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
        ),
        ("node-role.kubernetes.io/master", ['here: use "node-role.kubernetes.io/control-plane" instead']),
        ("kubernetes.io/arch", []),
    ],
)
def test_label_warning_for_deprecated_labels(label, warnings):
    assert list(label_warning(label, "here")) == warnings


def test_key_warning_includes_label():
    assert list(key_warning("app.kubernetes.io/created-by", "here")) == [
        "here: app.kubernetes.io/created-by is deprecated since v1.9"
    ]
    assert list(key_warning("app.kubernetes.io/name", "here")) == []


def test_selector_warnings_order_expressions_before_labels():
    selector = {
        "matchLabels": {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64"},
        "matchExpressions": [{"key": "a"}, {"key": "beta.kubernetes.io/os"}],
    }
    assert [warning.partition(": ")[0] for warning in selector_warnings(selector, "s")] == [
        "s.matchExpressions[1].key",
        "s.matchLabels.beta.kubernetes.io/arch",
        "s.matchLabels.beta.kubernetes.io/os",
    ]


def test_selector_warnings_is_empty_without_selector():
    assert list(selector_warnings(None, "s")) == []
