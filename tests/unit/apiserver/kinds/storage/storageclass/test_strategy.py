from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import NOW, defaulted, edited, named

from steersman.apiserver.kinds.storage.storageclass.strategy import StorageClassStrategy

STRATEGY = StorageClassStrategy()
CLASS = defaulted(STRATEGY, named(provisioner="example.com/disk"))


def test_default_sets_reclaim_policy_and_binding_mode():
    assert (CLASS["reclaimPolicy"], CLASS["volumeBindingMode"]) == ("Delete", "Immediate")


def test_default_keeps_given_fields():
    tree = {"reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer"}
    assert defaulted(STRATEGY, dict(tree)) == tree


@pytest.mark.parametrize(
    ("annotations", "name"),
    [
        ({}, "a"),
        ({"storageclass.kubernetes.io/is-default-class": "true"}, "a (default)"),
        ({"storageclass.beta.kubernetes.io/is-default-class": "true"}, "a (default)"),
        ({"storageclass.kubernetes.io/is-default-class": "false"}, "a"),
    ],
)
def test_cells_mark_default_class(annotations, name):
    row = STRATEGY.cells(edited(CLASS, {"metadata.annotations": annotations}), NOW)
    assert row == [name, "example.com/disk", "Delete", "Immediate", False, "60s"]
