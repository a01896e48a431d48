from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named

from steersman.apiserver.kinds.storage.csidriver.strategy import CSIDriverStrategy

STRATEGY = CSIDriverStrategy()
DRIVER = defaulted(STRATEGY, named(spec={}))


def test_what_is_left_out_is_filled_in():
    assert DRIVER["spec"] == {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "requiresRepublish": False,
        "seLinuxMount": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
    }


def test_a_driver_that_attaches_nothing_stays_so():
    assert defaulted(STRATEGY, {"spec": {"attachRequired": False}})["spec"]["attachRequired"] is False


def test_a_deleted_driver_is_shown():
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
def test_only_changes_of_the_spec_make_generations(before, edits, generation):
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
def test_the_row_shows_what_the_driver_can(edits, cells):
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
def test_new_tokens_in_volume_attributes_warn(edits, old, count):
    assert len(STRATEGY.warnings(CONTEXT, edited(DRIVER, edits), old)) == count


def test_a_change_needs_the_version_it_is_based_on():
    assert STRATEGY.allow_unconditional_update is False
