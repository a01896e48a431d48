"""Evaluation of JSONPath."""

import pytest

from steersman.apimachinery.jsonpath import JSONPathError, find, is_valid

TREE = {
    "spec": {"replicas": 3, "a.b": 1, "ratio": 0.5, "on": True, "empty": []},
    "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}, {"n": 1}]},
    "items": [{"name": "x", "n": 1}, {"name": "y", "n": 2}, {"name": "z", "n": 3}],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".spec.replicas", [3]),
        ("$.spec.replicas", [3]),
        (".spec.a\\.b", [1]),
        (".metadata.labels['app\\.kubernetes\\.io/name']", ["web"]),
        (".metadata.labels['app.kubernetes.io/name']", []),  # split at the dots
        ("['spec']['replicas']", [3]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type!='Ready')].status", ["False"]),
        (".status.conditions[?(@.type=='Gone')].status", []),
        (".status.conditions[?(@.type)].type", ["Ready", "Synced"]),
        (".items[?(@.n>1)].name", ["y", "z"]),
        (".items[?(@.n<=2)].name", ["x", "y"]),
        (".items[*].name", ["x", "y", "z"]),
        (".items.*.name", ["x", "y", "z"]),
        (".items[1].name", ["y"]),
        (".items[-1].name", ["z"]),
        (".items[-1:].name", ["z"]),
        (".items[0:2].name", ["x", "y"]),
        (".items[0:3:2].name", ["x", "z"]),
        (".items[0,2].name", ["x", "z"]),
        (".spec['replicas','ratio']", [3, 0.5]),
        ("..name", ["x", "y", "z"]),
        (".spec.empty[*]", []),
        (".spec.missing.deeper", []),
        (".spec.replicas.deeper", []),
        (".spec.replicas}{.spec.ratio", [3]),
    ],
)
def test_find_returns_the_values_at_a_path(path, values):
    assert find(path, TREE) == values


@pytest.mark.parametrize(
    "path",
    [
        ".items[3]",
        ".items[2:1]",
        ".items[0:3:0]",
        ".spec[*]",
        ".spec[?(@.a==1)]",
        ".items[?(@.n=='1')]",
        ".items[?(@.n==1.0)]",
        ".items[?(@.name==x)]",
        ".status.conditions[?(@.status<true)]",
    ],
)
def test_find_fails_for_values_that_do_not_fit(path):
    assert is_valid(path)
    with pytest.raises(JSONPathError):
        find(path, TREE)


@pytest.mark.parametrize(
    "path",
    [".a[", '.a["b"]', "....a", ".a[?(@.b", ".a[?(@.b==1)", ".a[x]", ".a[-]", ".a 'b", ".a}{.b["],
)
def test_malformed_path_is_not_valid(path):
    assert not is_valid(path)


def test_descent_returns_containers_and_texts():
    assert find("..", {"a": {"b": "x"}, "c": []}) == [{"a": {"b": "x"}, "c": []}, {"b": "x"}, "x"]
