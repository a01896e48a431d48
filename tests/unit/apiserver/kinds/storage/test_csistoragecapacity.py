from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, SELECTOR, edited, named, texts

from steersman.apiserver.kinds.storage.csistoragecapacity import CSIStorageCapacityStrategy

STRATEGY = CSIStorageCapacityStrategy()
VALID = named(storageClassName="fast", capacity="1Gi", nodeTopology=SELECTOR)
BAD_VALUE = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not valid"]}]}


def test_validate_accepts_valid_object():
    assert texts(STRATEGY.validate(CONTEXT, VALID)) == []


def test_validate_rejects_negative_capacity():
    assert texts(STRATEGY.validate(CONTEXT, edited(VALID, {"capacity": "-1Gi"}))) == [
        'capacity: Invalid value: "-1Gi": must be greater than or equal to 0'
    ]


def test_validate_checks_storage_class_name():
    [fault] = texts(STRATEGY.validate(CONTEXT, edited(VALID, {"storageClassName": ""})))
    assert fault.startswith('storageClassName: Invalid value: "": a lowercase RFC 1123 subdomain')


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"storageClassName": "slow"}, 'storageClassName: Invalid value: "slow": field is immutable'),
        ({"nodeTopology": {}}, "nodeTopology: Invalid value: {}: field is immutable"),
    ],
)
def test_validate_update_rejects_change_of_topology_and_class(edits, fault):
    assert texts(STRATEGY.validate_update(CONTEXT, edited(VALID, edits), VALID)) == [fault]


def test_validate_update_accepts_change_of_capacity():
    assert texts(STRATEGY.validate_update(CONTEXT, edited(VALID, {"capacity": "2Gi"}), VALID)) == []


def test_validate_update_accepts_stored_invalid_topology_values():
    odd = edited(VALID, {"nodeTopology": BAD_VALUE})
    assert len(STRATEGY.validate(CONTEXT, odd)) == 1
    assert texts(STRATEGY.validate_update(CONTEXT, odd, odd)) == []


def test_warnings_about_deprecated_labels():
    topology = {"matchLabels": {"failure-domain.beta.kubernetes.io/zone": "a"}}
    assert STRATEGY.warnings(CONTEXT, edited(VALID, {"nodeTopology": topology}), None) == [
        (
            "nodeTopology.matchLabels.failure-domain.beta.kubernetes.io/zone: "
            'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
        )
    ]
