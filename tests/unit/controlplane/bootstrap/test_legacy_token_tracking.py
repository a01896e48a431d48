"""ConfigMap that says since when the use of legacy tokens is recorded."""

from datetime import date

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.bootstrap.legacy_token_tracking import CONFIG_MAPS, NAME, NAMESPACE, plan_tracking, track
from steersman.testing import InProcessAPIServer

TODAY = date(2026, 3, 4)


def test_plan_creates_the_config_map_with_todays_date():
    desired = plan_tracking(None, TODAY)
    assert desired["metadata"] == {"namespace": NAMESPACE, "name": NAME}
    assert desired["data"] == {"since": "2026-03-04"}


@pytest.mark.parametrize("data", [None, {}, {"since": ""}, {"since": "yesterday"}, {"since": "20260101"}])
def test_plan_repairs_a_missing_or_malformed_date(data):
    body = {"metadata": {"name": NAME, "resourceVersion": "7"}, "data": data}
    desired = plan_tracking(body, TODAY)
    assert desired["metadata"] is body["metadata"]
    assert desired["data"] == {"since": "2026-03-04"}


def test_plan_keeps_an_earlier_date():
    assert plan_tracking({"metadata": {}, "data": {"since": "2025-01-01"}}, TODAY) is None


async def test_config_map_exists_at_the_start_and_is_recreated():
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock, with_bootstrap_controller=True) as server:
        client = server.core.bootstrap.client
        config_map = await client.get(CONFIG_MAPS, NAME, namespace=NAMESPACE)
        assert config_map["data"] == {"since": clock.now().date().isoformat()}
        assert (
            "[+]poststarthook/start-legacy-token-tracking-controller ok"
            in (await server.request("GET", "/readyz?verbose")).body.decode()
        )
        await client.delete(CONFIG_MAPS, NAME, namespace=NAMESPACE)
        await track(client, clock.now().date())
        assert await client.get(CONFIG_MAPS, NAME, namespace=NAMESPACE)
