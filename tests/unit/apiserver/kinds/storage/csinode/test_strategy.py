from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, named, texts

from steersman.apiserver.kinds.storage.csinode.strategy import CSINodeStrategy

STRATEGY = CSINodeStrategy()


def node(*drivers: str) -> dict:
    return named(spec={"drivers": [{"name": name, "nodeID": "n", "topologyKeys": None} for name in drivers]})


@pytest.mark.parametrize("drivers", [[], ["a.com"], ["a.com", "b.com"]])
def test_the_row_counts_drivers(drivers):
    assert STRATEGY.cells(node(*drivers), NOW) == ["a", len(drivers), "60s"]


def test_drivers_come_and_go():
    assert texts(STRATEGY.validate_update(CONTEXT, node("b.com"), node("a.com"))) == []


def test_a_deleted_node_is_shown():
    assert STRATEGY.returns_deleted_object is True
