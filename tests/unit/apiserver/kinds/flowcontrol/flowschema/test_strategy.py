from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named

from steersman.apiserver.kinds.flowcontrol.flowschema.strategy import FlowSchemaStrategy

STRATEGY = FlowSchemaStrategy()
SCHEMA = defaulted(STRATEGY, named(spec={"priorityLevelConfiguration": {"name": "p"}}))


@pytest.mark.parametrize(
    ("fields", "precedence"), [({}, 1000), ({"matchingPrecedence": 0}, 1000), ({"matchingPrecedence": 5}, 5)]
)
def test_default_sets_matching_precedence_1000(fields, precedence):
    assert defaulted(STRATEGY, named(spec=dict(fields)))["spec"] == {"matchingPrecedence": precedence}


def test_prepare_for_status_update_keeps_spec_and_metadata():
    new = edited(SCHEMA, {"metadata.labels": {"a": "b"}, "spec.matchingPrecedence": 5, "status.conditions": []})
    STRATEGY.prepare_for_status_update(CONTEXT, new, SCHEMA)
    assert new == {**SCHEMA, "status": {"conditions": []}}


@pytest.mark.parametrize(
    ("edits", "cells"),
    [
        ({}, ["a", "p", 1000, "<none>", "60s", "?"]),
        (
            {
                "spec.distinguisherMethod": {"type": "ByUser"},
                "status.conditions": [{"type": "Dangling", "status": "False"}],
            },
            ["a", "p", 1000, "ByUser", "60s", "False"],
        ),
    ],
)
def test_cells_show_priority_level_and_dangling(edits, cells):
    assert STRATEGY.cells(edited(SCHEMA, edits), NOW) == cells


def test_row_sort_key_orders_by_precedence_then_name():
    schemas = [
        edited(SCHEMA, {"metadata.name": name, "spec.matchingPrecedence": precedence})
        for name, precedence in (("b", 9), ("a", 10), ("a", 9))
    ]
    schemas.sort(key=STRATEGY.row_sort_key)
    assert [STRATEGY.cells(schema, NOW)[::2][:2] for schema in schemas] == [["a", 9], ["b", 9], ["a", 10]]
