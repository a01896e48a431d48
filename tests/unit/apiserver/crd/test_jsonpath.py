"""Paths of printer columns."""

import pytest

from steersman.apiserver.crd.jsonpath import JSONPathError, find

TREE = {
    "spec": {"replicas": 3, "a.b": 1},
    "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}]},
    "items": [{"name": "x"}, {"name": "y"}],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".spec.replicas", [3]),
        ("spec.replicas", [3]),
        (".spec.a\\.b", [1]),
        (".metadata.labels['app.kubernetes.io/name']", ["web"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Gone')].status", []),
        (".items[*].name", ["x", "y"]),
        (".items[1].name", ["y"]),
        (".items[-1].name", ["y"]),
        (".spec.missing.deeper", []),
        (".spec.replicas.deeper", []),
    ],
)
def test_values_at_a_path(path, values):
    assert find(path, TREE) == values


@pytest.mark.parametrize("path", [".items[1:2]", ".a[", "..name", ".items[?(@.x>1)]"])
def test_other_forms_are_refused(path):
    with pytest.raises(JSONPathError):
        find(path, TREE)
