"""System namespaces."""

from steersman.controlplane.bootstrap.namespaces import plan_namespaces
from steersman.controlplane.options import SYSTEM_NAMESPACES


def names(plan):
    return [tree["metadata"]["name"] for tree in plan]


def test_missing_namespaces_are_created():
    assert names(plan_namespaces(SYSTEM_NAMESPACES, ["default", "mine"])) == [
        "kube-system",
        "kube-public",
        "kube-node-lease",
    ]


def test_existing_namespaces_are_not_created_again():
    assert names(plan_namespaces(["a", "b", "a"], ["b"])) == ["a"]
    assert plan_namespaces(SYSTEM_NAMESPACES, SYSTEM_NAMESPACES) == []
