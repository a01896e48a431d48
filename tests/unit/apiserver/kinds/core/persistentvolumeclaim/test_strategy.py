"""PersistentVolumeClaims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import NOW, STAMP, context, copy, defaulted, is_idempotent, told, tree

from steersman.apiserver.kinds.core.persistentvolumeclaim.strategy import (
    PersistentVolumeClaimStrategy,
    settle_data_sources,
)

KIND = PersistentVolumeClaimStrategy()
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
ELSE = {"apiGroup": "example.com", "kind": "Disk", "name": "d"}


def test_claims_are_of_file_systems_and_pending():
    assert defaulted(KIND, tree(spec={})) == tree(
        spec={"volumeMode": "Filesystem", "resources": {}}, status={"phase": "Pending"}
    )


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "volumeMode": st.sampled_from(["Block", None]),
            "resources": st.sampled_from([{}, {"requests": {"storage": "0.5"}}, {"limits": {"storage": "1u"}}]),
        },
    )
)
def test_defaulting_again_changes_nothing(spec: dict):
    assert is_idempotent(KIND, tree(spec=spec))


def test_a_new_claim_is_pending_whatever_its_client_says():
    obj = tree(spec=copy(SPEC), status={"phase": "Bound", "capacity": {"storage": "1Gi"}})
    KIND.prepare_for_create(context(), obj)
    assert obj["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("said", "source", "ref"),
    [
        ({"dataSource": SNAPSHOT}, SNAPSHOT, SNAPSHOT),
        ({"dataSourceRef": SNAPSHOT}, SNAPSHOT, SNAPSHOT),
        ({"dataSourceRef": ELSE}, ELSE, ELSE),
        ({"dataSource": ELSE}, None, None),
        ({"dataSource": ELSE, "dataSourceRef": ELSE}, ELSE, ELSE),
        ({"dataSourceRef": {**SNAPSHOT, "namespace": "n"}}, None, None),
        ({"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "namespace": "n"}}, SNAPSHOT, SNAPSHOT),
        ({"dataSource": {}}, None, None),
        ({}, None, None),
    ],
)
def test_both_names_of_the_source_say_the_same(said: dict, source: dict | None, ref: dict | None):
    spec = copy(said)
    settle_data_sources(spec, None)
    assert (spec.get("dataSource"), spec.get("dataSourceRef")) == (source, ref)


def test_what_a_claim_has_it_keeps():
    old = {"dataSource": ELSE, "dataSourceRef": ELSE}
    spec = {"dataSource": copy(ELSE)}
    settle_data_sources(spec, old)
    assert spec == old
    far = {"dataSourceRef": {**SNAPSHOT, "namespace": "n"}}
    spec = copy(far)
    settle_data_sources(spec, far)
    assert spec == far


def test_a_source_that_is_none_is_dropped_with_what_came_for_it():
    obj = tree(spec={**copy(SPEC), "dataSource": {}})
    KIND.prepare_for_update(context(), obj, tree(spec=SPEC, status={"phase": "Bound"}))
    assert obj == tree(spec=SPEC, status={"phase": "Bound"})


def test_what_is_wrong_is_told_at_updates_as_upstream_does():
    obj = tree(spec={**SPEC, "accessModes": []})
    fault = "spec.accessModes: Required value: at least 1 access mode is required"
    assert told(KIND.validate(context(), obj)) == [fault]
    assert told(KIND.validate_update(context(), obj, obj)) == [fault] * 2


def test_the_row_tells_the_volume_once_there_is_one():
    assert [c.name for c in KIND.columns if not c.priority] == [
        "Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", "Age",
    ]  # fmt: skip
    status = {"phase": "Bound", "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"]}
    bound = tree(spec={**SPEC, "volumeName": "v", "storageClassName": "fast"}, status=status)
    assert KIND.cells(bound, NOW) == ["a", "Bound", "v", "2Gi", "RWO", "fast", "<unset>", "60s", "Filesystem"]
    pending = tree({"deletionTimestamp": STAMP}, spec=SPEC, status={"phase": "Pending"})
    assert KIND.cells(pending, NOW) == ["a", "Terminating", "", "", "", "", "<unset>", "60s", "Filesystem"]
