"""ComponentStatuses."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, tree

from steersman.apiserver.kinds.core.componentstatus import ComponentStatusStrategy

KIND = ComponentStatusStrategy()


def test_columns_match_upstream():
    assert [column.name for column in KIND.columns] == ["Name", "Status", "Message", "Error"]


@pytest.mark.parametrize(
    ("conditions", "cells"),
    [
        (None, ["Unknown", "", ""]),
        ([{"type": "Other", "status": "True"}], ["Unknown", "", ""]),
        ([{"type": "Healthy", "status": "True", "message": "ok"}], ["Healthy", "ok", ""]),
        ([{"type": "Healthy", "status": "False", "error": "down"}], ["Unhealthy", "", "down"]),
    ],
)
def test_cells_show_health(conditions: list[dict] | None, cells: list[str]):
    assert KIND.cells(tree(conditions=conditions), NOW) == ["a", *cells]
