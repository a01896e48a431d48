from __future__ import annotations

import pytest

from steersman.apiserver.admission.node_labels import forbidden_labels


def node(**labels):
    return {"metadata": {"labels": labels}}


@pytest.mark.parametrize(
    ("key", "forbidden"),
    [
        ("plain", False),
        ("example.com/x", False),
        ("kubernetes.io/hostname", False),
        ("kubelet.kubernetes.io/x", False),
        ("a.node.kubernetes.io/x", False),
        ("kubernetes.io/x", True),
        ("x.k8s.io/y", True),
        ("node-restriction.kubernetes.io/x", True),
        ("a.node-restriction.kubernetes.io/x", True),
        ("notkubernetes.io/x", False),
    ],
)
def test_forbidden_labels_of_a_kubelet(key, forbidden):
    assert bool(forbidden_labels(node(**{key: "v"}), None)) == forbidden


def test_removed_labels_are_checked_and_unchanged_ones_are_not():
    before = node(**{"kubernetes.io/a": "1", "kubernetes.io/b": "1", "kubernetes.io/c": "1"})
    after = node(**{"kubernetes.io/a": "1", "kubernetes.io/b": "2"})
    assert forbidden_labels(after, before) == ["kubernetes.io/b", "kubernetes.io/c"]
