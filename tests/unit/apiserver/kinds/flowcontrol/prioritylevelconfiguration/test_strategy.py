from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named

from steersman.apiserver.kinds.flowcontrol.prioritylevelconfiguration.strategy import PriorityLevelConfigurationStrategy

STRATEGY = PriorityLevelConfigurationStrategy()
QUEUE = {"type": "Queue", "queuing": {}}


def level(**spec: object) -> dict:
    return defaulted(STRATEGY, edited(named(spec=spec), {}))


@pytest.mark.parametrize(
    ("fields", "filled"),
    [
        ({"exempt": {}}, {"nominalConcurrencyShares": 0, "lendablePercent": 0}),
        ({"exempt": {"nominalConcurrencyShares": 5}}, {"nominalConcurrencyShares": 5, "lendablePercent": 0}),
        ({"limited": {}}, {"nominalConcurrencyShares": 30, "lendablePercent": 0}),
        ({"limited": {"nominalConcurrencyShares": 0}}, {"nominalConcurrencyShares": 0, "lendablePercent": 0}),
    ],
)
def test_default_sets_shares(fields, filled):
    assert list(level(**fields)["spec"].values()) == [filled]


def test_default_sets_queuing():
    limited = level(limited={"limitResponse": QUEUE})["spec"]["limited"]
    assert limited["limitResponse"]["queuing"] == {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


def test_prepare_for_status_update_keeps_spec_and_metadata():
    old = level(type="Limited", limited={})
    new = edited(old, {"metadata.labels": {"a": "b"}, "spec.type": "Exempt", "status.conditions": []})
    STRATEGY.prepare_for_status_update(CONTEXT, new, old)
    assert new == {**old, "status": {"conditions": []}}


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        (
            {"type": "Limited", "limited": {"limitResponse": QUEUE}},
            ["a", "Limited", 30, 64, 8, 50, "60s"],
        ),
        (
            {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
            ["a", "Limited", 30, "<none>", "<none>", "<none>", "60s"],
        ),
        ({"type": "Exempt", "exempt": {}}, ["a", "Exempt", "<none>", "<none>", "<none>", "<none>", "60s"]),
    ],
)
def test_cells_show_shares_and_queues(spec, cells):
    assert STRATEGY.cells(level(**spec), NOW) == cells
