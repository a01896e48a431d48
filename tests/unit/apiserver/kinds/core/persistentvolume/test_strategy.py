"""Strategy of PersistentVolumes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import NOW, STAMP, context, defaulted, error_texts, is_idempotent, tree

from steersman.apiserver.kinds.core.persistentvolume.strategy import PersistentVolumeStrategy

KIND = PersistentVolumeStrategy()
SPEC = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
EARLIER = "2025-01-01T00:00:00Z"


def test_default_sets_reclaim_policy_and_volume_mode():
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
def test_default_is_idempotent(source: str, size: str):
    assert is_idempotent(KIND, tree(spec={source: {}, "capacity": {"storage": size}}))


def test_prepare_for_create_sets_phase_pending_with_transition_time():
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
def test_prepare_for_status_update_sets_transition_time_on_phase_change(status: dict, time: str):
    old = tree(spec=SPEC, status={"phase": "Pending", "lastPhaseTransitionTime": EARLIER})
    obj = tree(spec={}, status=status)
    KIND.prepare_for_status_update(context(), obj, old)
    assert (obj["spec"], obj["status"]["lastPhaseTransitionTime"]) == (SPEC, time)


def test_validate_update_repeats_errors_as_upstream():
    obj = defaulted(KIND, tree(spec={**SPEC, "accessModes": []}))
    assert error_texts(KIND.validate(context(), obj)) == ["spec.accessModes: Required value"]
    assert error_texts(KIND.validate_update(context(), obj, obj)) == ["spec.accessModes: Required value"] * 2


def test_warnings_about_storage_class_annotation():
    obj = tree({"annotations": {"volume.beta.kubernetes.io/storage-class": "c"}}, spec=SPEC)
    (warning,) = KIND.warnings(context(), obj, None)
    assert warning.startswith("metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8")


def test_cells_show_claim():
    spec = {**SPEC, "claimRef": {"namespace": "n", "name": "c"}, "storageClassName": "fast", "volumeMode": "Block"}
    assert [c.name for c in KIND.columns if not c.priority] == [
        "Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass",
        "VolumeAttributesClass", "Reason", "Age",
    ]  # fmt: skip
    assert KIND.cells(tree(spec=spec, status={"phase": "Bound"}), NOW) == [
        "a", "1Gi", "RWO", "", "Bound", "n/c", "fast", "<unset>", "", "60s", "Block",
    ]  # fmt: skip


def test_cells_show_terminating():
    obj = tree({"deletionTimestamp": STAMP}, spec={}, status={"phase": "Bound"})
    assert KIND.cells(obj, NOW) == ["a", "0", "", "", "Terminating", "", "", "<unset>", "", "60s", "<unset>"]
