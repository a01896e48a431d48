from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged

from steersman.apiserver.admission.extended_resource_toleration import ExtendedResourceToleration, with_tolerations

GPU = {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


async def test_requested_extended_resources_are_tolerated():
    async with Plugged(lambda _: ExtendedResourceToleration()) as server:
        resources = {"limits": {"example.com/gpu": "1", "cpu": "1", "example.com/fpga": "2"}}
        spec = (await server.pod(containers=[{"name": "c", "image": "i", "resources": resources}])).body["spec"]
        assert spec["tolerations"] == [{**GPU, "key": "example.com/fpga"}, GPU]


async def test_other_pods_get_no_tolerations():
    async with Plugged(lambda _: ExtendedResourceToleration()) as server:
        assert "tolerations" not in (await server.pod()).body["spec"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [GPU]),
        ([GPU], [GPU]),
        ([{**GPU, "tolerationSeconds": 5}, {"key": "b"}], [GPU, {"key": "b"}]),
        ([{**GPU, "effect": "NoExecute"}], [{**GPU, "effect": "NoExecute"}, GPU]),
    ],
)
def test_toleration_of_the_same_taint_is_replaced(before, after):
    assert with_tolerations(before, ["example.com/gpu"]) == after
