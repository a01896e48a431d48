from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, SELECTOR, edited, named, texts

from steersman.apiserver.kinds.storage.csistoragecapacity import CSIStorageCapacityStrategy

STRATEGY = CSIStorageCapacityStrategy()
VALID = named(storageClassName="fast", capacity="1Gi", nodeTopology=SELECTOR)
BAD_VALUE = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not valid"]}]}


def test_what_is_valid():
    assert texts(STRATEGY.validate(CONTEXT, VALID)) == []


def test_a_capacity_is_not_negative():
    assert texts(STRATEGY.validate(CONTEXT, edited(VALID, {"capacity": "-1Gi"}))) == [
        'capacity: Invalid value: "-1Gi": must be greater than or equal to 0'
    ]


def test_the_class_has_a_name():
    [fault] = texts(STRATEGY.validate(CONTEXT, edited(VALID, {"storageClassName": ""})))
    assert fault.startswith('storageClassName: Invalid value: "": a lowercase RFC 1123 subdomain')


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"storageClassName": "slow"}, 'storageClassName: Invalid value: "slow": field is immutable'),
        ({"nodeTopology": {}}, "nodeTopology: Invalid value: {}: field is immutable"),
    ],
)
def test_what_was_asked_never_changes(edits, fault):
    assert texts(STRATEGY.validate_update(CONTEXT, edited(VALID, edits), VALID)) == [fault]


def test_the_answer_changes():
    assert texts(STRATEGY.validate_update(CONTEXT, edited(VALID, {"capacity": "2Gi"}), VALID)) == []


def test_values_that_no_label_has_may_stay_in_the_topology():
    odd = edited(VALID, {"nodeTopology": BAD_VALUE})
    assert len(STRATEGY.validate(CONTEXT, odd)) == 1
    assert texts(STRATEGY.validate_update(CONTEXT, odd, odd)) == []


def test_labels_with_newer_names_warn():
    topology = {"matchLabels": {"failure-domain.beta.kubernetes.io/zone": "a"}}
    assert STRATEGY.warnings(CONTEXT, edited(VALID, {"nodeTopology": topology}), None) == [
        (
            "nodeTopology.matchLabels.failure-domain.beta.kubernetes.io/zone: "
            'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
        )
    ]
