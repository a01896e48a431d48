from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, named, texts

from steersman.apiserver.kinds.storage.csinode.strategy import CSINodeStrategy

STRATEGY = CSINodeStrategy()


def node(*drivers: str) -> dict:
    return named(spec={"drivers": [{"name": name, "nodeID": "n", "topologyKeys": None} for name in drivers]})


@pytest.mark.parametrize("drivers", [[], ["a.com"], ["a.com", "b.com"]])
def test_cells_count_drivers(drivers):
    assert STRATEGY.cells(node(*drivers), NOW) == ["a", len(drivers), "60s"]


def test_validate_update_accepts_added_and_removed_drivers():
    assert texts(STRATEGY.validate_update(CONTEXT, node("b.com"), node("a.com"))) == []


def test_delete_returns_object():
    assert STRATEGY.returns_deleted_object is True
