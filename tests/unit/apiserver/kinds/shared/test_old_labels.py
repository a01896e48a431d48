from __future__ import annotations

import pytest

from steersman.apiserver.kinds.shared.old_labels import key_warning, label_warning, selector_warnings


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
def test_old_labels_warn(label, warnings):
    assert list(label_warning(label, "here")) == warnings


def test_a_place_that_does_not_name_the_label_has_it_named():
    assert list(key_warning("app.kubernetes.io/created-by", "here")) == [
        "here: app.kubernetes.io/created-by is deprecated since v1.9"
    ]
    assert list(key_warning("app.kubernetes.io/name", "here")) == []


def test_selectors_warn_of_expressions_and_labels_in_order():
    selector = {
        "matchLabels": {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64"},
        "matchExpressions": [{"key": "a"}, {"key": "beta.kubernetes.io/os"}],
    }
    assert [warning.partition(": ")[0] for warning in selector_warnings(selector, "s")] == [
        "s.matchExpressions[1].key",
        "s.matchLabels.beta.kubernetes.io/arch",
        "s.matchLabels.beta.kubernetes.io/os",
    ]


def test_no_selector_warns_of_nothing():
    assert list(selector_warnings(None, "s")) == []
