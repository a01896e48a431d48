"""Validation of claim specs."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.validate_claims import (
    check_access_modes,
    check_positive_quantity,
    validate_claim_spec,
)

P = Path("spec")
GOOD = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
SOURCE = {"kind": "PersistentVolumeClaim", "name": "c"}


def faults(**spec: object) -> list[str]:
    return error_texts(validate_claim_spec({**GOOD, **spec}, P))


def test_validate_claim_spec_accepts_valid_spec():
    assert faults(storageClassName="fast", dataSource=SOURCE, dataSourceRef=SOURCE) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"accessModes": []}, "spec.accessModes: Required value: at least 1 access mode is required"),
        ({"resources": {}}, "spec.resources[storage]: Required value"),
        (
            {"resources": {"requests": {"storage": "0"}}},
            'spec.resources[storage]: Invalid value: "0": must be greater than zero',
        ),
        ({"volumeMode": "Tape"}, 'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'),
        ({"dataSource": {"kind": "PersistentVolumeClaim"}}, "spec.dataSource.name: Required value"),
        (
            {"dataSource": {"kind": "Pod", "name": "p"}},
            "spec.dataSource: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        ),
        (
            {"dataSource": SOURCE, "dataSourceRef": {**SOURCE, "name": "d"}},
            "spec: Invalid value: {}: must match dataSourceRef",
        ),
        (
            {"dataSource": SOURCE, "dataSourceRef": {**SOURCE, "apiGroup": ""}},
            "spec: Invalid value: {}: must match dataSourceRef",
        ),
        (
            {"dataSource": SOURCE, "dataSourceRef": {**SOURCE, "namespace": "n"}},
            "spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified",
        ),
    ],
)
def test_validate_claim_spec_reports_single_error(spec: dict, fault: str):
    assert faults(**spec) == [fault]


@pytest.mark.parametrize("name", ["storageClassName", "volumeAttributesClassName"])
def test_validate_claim_spec_checks_storage_class_name(name: str):
    (fault,) = faults(**{name: "A_b"})
    assert fault.startswith(f'spec.{name}: Invalid value: "A_b": a lowercase RFC 1123 subdomain')
    assert faults(**{name: ""}) == []


@pytest.mark.parametrize(
    "modes", [None, [], ["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteOncePod"], ["ReadWriteOncePod"] * 2]
)
def test_check_access_modes_accepts_several_modes(modes: list[str] | None):
    assert error_texts(check_access_modes(modes, P)) == []


def test_check_access_modes_rejects_read_write_once_pod_with_others():
    assert error_texts(check_access_modes(["ReadWriteOncePod", "ReadWriteOnce"], P)) == [
        "spec: Forbidden: may not use ReadWriteOncePod with other access modes"
    ]


def test_check_access_modes_lists_supported_modes():
    assert error_texts(check_access_modes(["Write"], P)) == [
        (
            'spec: Unsupported value: "Write": '
            'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
        )
    ]


@pytest.mark.parametrize("amount", ["0", "-1", "-1Gi"])
def test_check_positive_quantity_rejects_zero(amount: str):
    assert error_texts(check_positive_quantity(amount, P)) == [
        f'spec: Invalid value: "{amount}": must be greater than zero'
    ]


def test_validate_claim_spec_accepts_legacy_values_of_old_claim():
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not a label"]}]}
    spec = {**GOOD, "selector": selector, "dataSource": {"apiGroup": "Not_a_group", "kind": "K", "name": "n"}}
    assert len(error_texts(validate_claim_spec(spec, P))) == 2
    assert (
        error_texts(validate_claim_spec(spec, P, allow_invalid_selector_values=True, allow_invalid_groups=True)) == []
    )
