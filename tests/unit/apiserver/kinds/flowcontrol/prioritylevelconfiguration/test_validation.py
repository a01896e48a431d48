from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, edited, named, texts

from steersman.apiserver.kinds.flowcontrol.prioritylevelconfiguration.strategy import PriorityLevelConfigurationStrategy
from steersman.apiserver.kinds.flowcontrol.prioritylevelconfiguration.validation import validate_priority_level
from steersman.apiserver.kinds.flowcontrol.shared.mandatory import PRIORITY_LEVELS

VALID = defaulted(
    PriorityLevelConfigurationStrategy(),
    named(spec={"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}),
)
LIMITED, QUEUING = "spec.limited", "spec.limited.limitResponse.queuing"
NEVER_EXEMPT = "must be 'Exempt' if and only if `name` is 'exempt'"


def test_validate_priority_level_accepts_valid_levels():
    assert texts(validate_priority_level(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({"spec": {"type": "Exempt"}}, [f'spec.type: Invalid value: "Exempt": {NEVER_EXEMPT}']),
        (
            {"spec": {"type": "Other"}},
            ['spec.type: Unsupported value: "Other": supported values: "Exempt", "Limited"'],
        ),
        ({"spec.exempt": {}}, ["spec.exempt: Forbidden: must be nil if the type is Limited"]),
        ({LIMITED: None}, [f"{LIMITED}: Required value: must not be empty when type is Limited"]),
        (
            {f"{LIMITED}.nominalConcurrencyShares": -1},
            [f"{LIMITED}.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer"],
        ),
        (
            {f"{LIMITED}.lendablePercent": 101},
            [f"{LIMITED}.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"],
        ),
        (
            {f"{LIMITED}.borrowingLimitPercent": -1},
            [f"{LIMITED}.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer"],
        ),
        (
            {f"{LIMITED}.limitResponse.type": "Reject"},
            [f"{QUEUING}: Forbidden: must be nil if limited.limitResponse.type is not Limited"],
        ),
        (
            {QUEUING: None},
            [f"{QUEUING}: Required value: must not be empty if limited.limitResponse.type is Limited"],
        ),
        (
            {f"{LIMITED}.limitResponse": {"type": "Wait"}},
            [f'{LIMITED}.limitResponse.type: Unsupported value: "Wait": supported values: "Queue", "Reject"'],
        ),
        ({f"{QUEUING}.queueLengthLimit": 0}, [f"{QUEUING}.queueLengthLimit: Invalid value: 0: must be positive"]),
        (
            {f"{QUEUING}.queues": 10_000_001, f"{QUEUING}.handSize": 1},
            [f"{QUEUING}.queues: Invalid value: 10000001: must not be greater than 10000000"],
        ),
        (
            {f"{QUEUING}.queues": 4},
            [f"{QUEUING}.handSize: Invalid value: 8: should not be greater than queues (4)"],
        ),
        (
            {f"{QUEUING}.handSize": 11},
            [
                (
                    f"{QUEUING}.handSize: Invalid value: 11: required entropy bits of deckSize 64 and handSize 11 should not be "
                    "greater than 60"
                )
            ],
        ),
    ],
)
def test_validate_priority_level_rejects_invalid_fields(edits, faults):
    assert texts(validate_priority_level(edited(VALID, edits))) == faults


def test_validate_priority_level_limits_entropy_of_hands():
    assert texts(validate_priority_level(edited(VALID, {f"{QUEUING}.handSize": 10}))) == []


def test_validate_priority_level_accepts_changed_shares_of_exempt():
    exempt = named("exempt", spec=PRIORITY_LEVELS["exempt"])
    assert texts(validate_priority_level(edited(exempt, {"spec.exempt.nominalConcurrencyShares": 5}))) == []


def test_validate_priority_level_rejects_other_changes_of_exempt():
    exempt = named("exempt", spec=PRIORITY_LEVELS["exempt"])
    limited = {"nominalConcurrencyShares": 1, "lendablePercent": 0, "limitResponse": {"type": "Reject"}}
    assert texts(validate_priority_level(edited(exempt, {LIMITED: limited}))) == [
        f"{LIMITED}: Forbidden: must be nil if the type is not Limited",
        (
            'spec: Invalid value: {"Type":"Exempt","Limited":{"NominalConcurrencyShares":1,"LimitResponse":{"Type":"Reject",'
            '"Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":{"NominalConcurrencyShares":0,'
            "\"LendablePercent\":0}}: spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
        ),
    ]


def test_validate_priority_level_rejects_changes_of_catch_all():
    catch_all = named("catch-all", spec=PRIORITY_LEVELS["catch-all"])
    [fault] = texts(validate_priority_level(edited(catch_all, {f"{LIMITED}.nominalConcurrencyShares": 6})))
    assert fault.endswith(": spec of 'catch-all' must equal the fixed value")
