from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged

from steersman.apiserver.admission.taint_nodes import NOT_READY, TaintNodesByCondition

NODES = "/api/v1/nodes"


@pytest.mark.parametrize(
    ("value", "taints"),
    [
        (None, [NOT_READY]),
        ([{"key": "x", "effect": "NoExecute"}], [{"key": "x", "effect": "NoExecute"}, NOT_READY]),
        ([NOT_READY], [NOT_READY]),
        ([{**NOT_READY, "effect": "NoExecute"}], [{**NOT_READY, "effect": "NoExecute"}, NOT_READY]),
    ],
)
async def test_new_node_is_tainted(value, taints):
    async with Plugged(lambda _: TaintNodesByCondition()) as server:
        node = await server.make(NODES, **({} if value is None else {"spec": {"taints": value}}))
        assert node["spec"]["taints"] == taints


async def test_taint_is_not_added_again_on_update():
    async with Plugged(lambda _: TaintNodesByCondition()) as server:
        await server.make(NODES)
        assert "taints" not in (await server.merge(f"{NODES}/a", {"spec": {"taints": None}})).body["spec"]
