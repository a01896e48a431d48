"""PersistentVolumes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import NOW, STAMP, context, defaulted, is_idempotent, told, tree

from steersman.apiserver.kinds.core.persistentvolume.strategy import PersistentVolumeStrategy

KIND = PersistentVolumeStrategy()
SPEC = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
EARLIER = "2025-01-01T00:00:00Z"


def test_volumes_are_retained_and_of_file_systems():
    obj = defaulted(KIND, tree(spec=SPEC))
    assert obj["spec"] == {
        **SPEC,
        "hostPath": {"path": "/a", "type": ""},
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
    }
    assert obj["status"] == {"phase": "Pending"}


@given(
    st.sampled_from(["hostPath", "rbd", "azureDisk", "scaleIO", "iscsi", "nfs"]), st.sampled_from(["1.5", "1Gi", "1u"])
)
def test_defaulting_again_changes_nothing(source: str, size: str):
    assert is_idempotent(KIND, tree(spec={source: {}, "capacity": {"storage": size}}))


def test_a_new_volume_is_pending_since_now():
    obj = tree(spec=SPEC, status={"phase": "Bound"})
    KIND.prepare_for_create(context(), obj)
    assert obj["status"] == {"phase": "Pending", "lastPhaseTransitionTime": STAMP}


@pytest.mark.parametrize(
    ("status", "time"),
    [
        ({"phase": "Bound"}, STAMP),
        ({"phase": "Pending"}, EARLIER),
        ({"phase": "Bound", "lastPhaseTransitionTime": EARLIER}, STAMP),
        ({"phase": "Bound", "lastPhaseTransitionTime": "2024-01-01T00:00:00Z"}, "2024-01-01T00:00:00Z"),
    ],
)
def test_the_status_tells_when_the_phase_changed(status: dict, time: str):
    old = tree(spec=SPEC, status={"phase": "Pending", "lastPhaseTransitionTime": EARLIER})
    obj = tree(spec={}, status=status)
    KIND.prepare_for_status_update(context(), obj, old)
    assert (obj["spec"], obj["status"]["lastPhaseTransitionTime"]) == (SPEC, time)


def test_what_is_wrong_is_told_at_updates_as_upstream_does():
    obj = defaulted(KIND, tree(spec={**SPEC, "accessModes": []}))
    assert told(KIND.validate(context(), obj)) == ["spec.accessModes: Required value"]
    assert told(KIND.validate_update(context(), obj, obj)) == ["spec.accessModes: Required value"] * 2


def test_old_ways_to_name_a_class_are_warned_about():
    obj = tree({"annotations": {"volume.beta.kubernetes.io/storage-class": "c"}}, spec=SPEC)
    (warning,) = KIND.warnings(context(), obj, None)
    assert warning.startswith("metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8")


def test_the_row_tells_whom_it_belongs_to():
    spec = {**SPEC, "claimRef": {"namespace": "n", "name": "c"}, "storageClassName": "fast", "volumeMode": "Block"}
    assert [c.name for c in KIND.columns if not c.priority] == [
        "Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass",
        "VolumeAttributesClass", "Reason", "Age",
    ]  # fmt: skip
    assert KIND.cells(tree(spec=spec, status={"phase": "Bound"}), NOW) == [
        "a", "1Gi", "RWO", "", "Bound", "n/c", "fast", "<unset>", "", "60s", "Block",
    ]  # fmt: skip


def test_the_row_of_one_that_goes_says_so():
    obj = tree({"deletionTimestamp": STAMP}, spec={}, status={"phase": "Bound"})
    assert KIND.cells(obj, NOW) == ["a", "0", "", "", "Terminating", "", "", "<unset>", "", "60s", "<unset>"]
