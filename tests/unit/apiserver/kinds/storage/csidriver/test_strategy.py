from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named

from steersman.apiserver.kinds.storage.csidriver.strategy import CSIDriverStrategy

STRATEGY = CSIDriverStrategy()
DRIVER = defaulted(STRATEGY, named(spec={}))


def test_default_sets_omitted_fields():
    assert DRIVER["spec"] == {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "requiresRepublish": False,
        "seLinuxMount": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
    }


def test_default_keeps_attach_required_false():
    assert defaulted(STRATEGY, {"spec": {"attachRequired": False}})["spec"]["attachRequired"] is False


def test_delete_returns_object():
    assert STRATEGY.returns_deleted_object is True


@pytest.mark.parametrize(
    ("before", "edits", "generation"),
    [
        ({}, {}, None),
        ({}, {"spec.storageCapacity": True}, 1),
        ({"metadata.generation": 1}, {"spec.storageCapacity": True}, 2),
        ({"metadata.generation": 1}, {"metadata.labels": {"a": "b"}}, 1),
    ],
)
def test_prepare_for_update_bumps_generation_on_spec_change_only(before, edits, generation):
    old = edited(DRIVER, before)
    new = edited(DRIVER, edits)
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["metadata"].get("generation") == generation


@pytest.mark.parametrize(
    ("edits", "cells"),
    [
        ({}, ["a", True, False, False, "<unset>", False, "Persistent", "60s"]),
        (
            {
                "spec.tokenRequests": [{"audience": "x"}, {"audience": "y"}],
                "spec.volumeLifecycleModes": ["Persistent", "Ephemeral"],
                "spec.podInfoOnMount": True,
            },
            ["a", True, True, False, "x,y", False, "Persistent,Ephemeral", "60s"],
        ),
    ],
)
def test_cells_show_capabilities(edits, cells):
    assert STRATEGY.cells(edited(DRIVER, edits), NOW) == cells


TOKENS = [{"audience": "a"}]


@pytest.mark.parametrize(
    ("edits", "old", "count"),
    [
        ({"spec.tokenRequests": TOKENS}, None, 1),
        ({"spec.tokenRequests": TOKENS, "spec.serviceAccountTokenInSecrets": False}, None, 0),
        ({"spec.tokenRequests": TOKENS}, DRIVER, 1),
        ({"spec.tokenRequests": TOKENS}, edited(DRIVER, {"spec.tokenRequests": TOKENS}), 0),
        ({}, None, 0),
    ],
)
def test_warnings_when_tokens_are_added(edits, old, count):
    assert len(STRATEGY.warnings(CONTEXT, edited(DRIVER, edits), old)) == count


def test_update_requires_resource_version():
    assert STRATEGY.allow_unconditional_update is False


def test_prepare_drops_the_field_of_a_disabled_feature_unless_the_old_object_has_it():
    wanting = edited(DRIVER, {"spec.preventPodSchedulingIfMissing": True})
    created, updated, in_use = edited(wanting, {}), edited(wanting, {}), edited(wanting, {})
    STRATEGY.prepare_for_create(CONTEXT, created)
    STRATEGY.prepare_for_update(CONTEXT, updated, DRIVER)
    STRATEGY.prepare_for_update(CONTEXT, in_use, wanting)
    assert created["spec"] == updated["spec"] == DRIVER["spec"]
    assert in_use["spec"]["preventPodSchedulingIfMissing"] is True
