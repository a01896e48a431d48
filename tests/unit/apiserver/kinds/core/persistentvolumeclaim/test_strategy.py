"""Strategy of PersistentVolumeClaims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import NOW, STAMP, context, copy, defaulted, error_texts, is_idempotent, tree

from steersman.apiserver.kinds.core.persistentvolumeclaim.strategy import (
    PersistentVolumeClaimStrategy,
    normalize_data_sources,
)

KIND = PersistentVolumeClaimStrategy()
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
ELSE = {"apiGroup": "example.com", "kind": "Disk", "name": "d"}


def test_default_sets_volume_mode_and_phase():
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
def test_default_is_idempotent(spec: dict):
    assert is_idempotent(KIND, tree(spec=spec))


def test_prepare_for_create_sets_phase_pending():
    obj = tree(spec=copy(SPEC), status={"phase": "Bound", "capacity": {"storage": "1Gi"}})
    KIND.prepare_for_create(context(), obj)
    assert obj["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("fields", "source", "ref"),
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
def test_normalize_data_sources_synchronizes_both_fields(fields: dict, source: dict | None, ref: dict | None):
    spec = copy(fields)
    normalize_data_sources(spec, None)
    assert (spec.get("dataSource"), spec.get("dataSourceRef")) == (source, ref)


def test_normalize_data_sources_keeps_existing_cross_namespace_reference():
    old = {"dataSource": ELSE, "dataSourceRef": ELSE}
    spec = {"dataSource": copy(ELSE)}
    normalize_data_sources(spec, old)
    assert spec == old
    far = {"dataSourceRef": {**SNAPSHOT, "namespace": "n"}}
    spec = copy(far)
    normalize_data_sources(spec, far)
    assert spec == far


def test_normalize_data_sources_drops_unsupported_data_source():
    obj = tree(spec={**copy(SPEC), "dataSource": {}})
    KIND.prepare_for_update(context(), obj, tree(spec=SPEC, status={"phase": "Bound"}))
    assert obj == tree(spec=SPEC, status={"phase": "Bound"})


def test_validate_update_reports_errors_once():
    obj = tree(spec={**SPEC, "accessModes": []})
    fault = "spec.accessModes: Required value: at least 1 access mode is required"
    assert error_texts(KIND.validate(context(), obj)) == [fault]
    assert error_texts(KIND.validate_update(context(), obj, obj)) == [fault]


def test_cells_show_bound_volume():
    assert [c.name for c in KIND.columns if not c.priority] == [
        "Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", "Age",
    ]  # fmt: skip
    status = {"phase": "Bound", "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"]}
    bound = tree(spec={**SPEC, "volumeName": "v", "storageClassName": "fast"}, status=status)
    assert KIND.cells(bound, NOW) == ["a", "Bound", "v", "2Gi", "RWO", "fast", "<unset>", "60s", "Filesystem"]
    pending = tree({"deletionTimestamp": STAMP}, spec=SPEC, status={"phase": "Pending"})
    assert KIND.cells(pending, NOW) == ["a", "Terminating", "", "", "", "", "<unset>", "60s", "Filesystem"]


def test_cells_show_the_empty_volume_attributes_class():
    claim = tree(spec={**SPEC, "volumeAttributesClassName": ""}, status={"phase": "Pending"})
    assert KIND.cells(claim, NOW)[6] == ""
