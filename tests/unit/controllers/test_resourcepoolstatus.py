from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from lightkube.models.resource_v1 import ResourceClaim, ResourceSlice
from lightkube.models.resource_v1alpha3 import ResourcePoolStatusRequest

from steersman.controllers.resourcepoolstatus.controller import REQUESTS, build
from steersman.controllers.resourcepoolstatus.plan import answer, is_whole, seconds_to_answer, seconds_to_cleanup

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KIND = ("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest")
SLICE = ("resource.k8s.io/v1", "ResourceSlice")


def request(*, age=0, status=None, **spec):
    created = (NOW - timedelta(seconds=age)).isoformat()
    body = {"metadata": {"name": "r", "creationTimestamp": created}, "spec": {"driver": "d.com", **spec}}
    return msgspec.convert({**body, "status": status}, ResourcePoolStatusRequest)


def slice_spec(pool="a", *, devices=1, driver="d.com", generation=1, slices=1, node="n"):
    return {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": slices},
        "nodeName": node,
        "devices": [{"name": f"gpu-{number}"} for number in range(devices)],
    }


def slice_of(*args, **more):
    return msgspec.convert({"metadata": {"name": "s"}, "spec": slice_spec(*args, **more)}, ResourceSlice)


def claim(*pools, driver="d.com"):
    results = [{"request": "r", "driver": driver, "pool": pool, "device": "gpu-0"} for pool in pools]
    status = {"allocation": {"devices": {"results": results}}}
    return msgspec.convert({"metadata": {"name": "c"}, "spec": {}, "status": status}, ResourceClaim)


def answered(slices, claims=(), **spec):
    return answer(request(**spec), slices, claims, now=NOW)


def test_devices_of_a_pool_are_counted_over_its_slices():
    status = answered([slice_of(devices=2, slices=2), slice_of(devices=3, slices=2)], [claim("a"), claim("a", "b")])
    (pool,) = status.pools
    assert (pool.poolName, pool.nodeName, pool.generation, pool.resourceSliceCount) == ("a", "n", 1, 2)
    assert (pool.totalDevices, pool.allocatedDevices, pool.availableDevices, pool.unavailableDevices) == (5, 2, 3, 0)
    condition = status.conditions[0]
    assert (condition.type, condition.status, condition.reason) == ("Complete", "True", "CalculationComplete")
    assert condition.message == "Calculated status for 1 pools"


@pytest.mark.parametrize(
    ("slices", "claims"),
    [([slice_of(), slice_of(driver="other.com")], [claim("a", driver="other.com")]), ([slice_of()], [ResourceClaim(spec=None)])],
)  # fmt: skip
def test_allocated_devices_exclude_other_drivers_and_pending_claims(slices, claims):
    status = answered(slices, claims)
    assert (status.poolCount, status.pools[0].allocatedDevices) == (1, 0)


def test_pool_status_uses_the_latest_generation():
    (pool,) = answered([slice_of(devices=9), slice_of(devices=1, generation=2)]).pools
    assert (pool.generation, pool.totalDevices) == (2, 1)


def test_pool_status_has_no_negative_availability():
    (pool,) = answered([slice_of()], [claim("a", "a")]).pools
    assert pool.availableDevices == 0


def test_pool_status_of_several_nodes_has_no_node_name():
    assert answered([slice_of(slices=2), slice_of(slices=2, node="other")]).pools[0].nodeName is None


@pytest.mark.parametrize(
    ("spec", "pools"), [({}, ["a", "b"]), ({"poolName": "b"}, ["b"]), ({"limit": 1}, ["a"]), ({"driver": "x"}, None)]
)
def test_pool_status_has_the_requested_pools_in_order(spec, pools):
    status = answered([slice_of("b"), slice_of("a")], **spec)
    assert (status.pools and [pool.poolName for pool in status.pools]) == pools


def test_pool_status_reports_the_number_of_pools_beyond_the_limit():
    assert answered([slice_of("b"), slice_of("a")], limit=1).poolCount == 2
    assert answered([]).poolCount == 0


def test_pool_status_of_an_incomplete_pool_has_no_counts():
    status = answered([slice_of(slices=3), slice_of("whole")])
    incomplete = status.pools[0]
    assert incomplete.validationError == "pool d.com/a is incomplete: observed 1/3 slices at generation 1"
    assert (incomplete.totalDevices, incomplete.resourceSliceCount) == (None, None)
    assert status.conditions[0].message == "Calculated status for 2 pools (1 incomplete)"
    assert not is_whole(status)
    assert is_whole(answered([slice_of("whole")]))


def test_errors_are_truncated_to_the_limit_of_the_api():
    assert len(answered([slice_of("a" * 253, slices=3)]).pools[0].validationError) == 256


DONE = {"poolCount": 0, "conditions": [{"type": "Complete", "status": "True", "reason": "x", "message": "",
                                        "lastTransitionTime": NOW.isoformat()}]}  # fmt: skip


@pytest.mark.parametrize(
    ("of", "seconds"),
    [
        (request(), 24 * 3600),
        (request(age=25 * 3600), -3600),
        (request(age=60, status=DONE), 3600),
        (request(age=60, status={"poolCount": 0}), 3540),
    ],
)
def test_answers_are_kept_for_an_hour_and_questions_for_a_day(of, seconds):
    assert seconds_to_cleanup(of, now=NOW) == seconds


def test_plan_waits_for_missing_slices():
    assert seconds_to_answer(request(age=2), now=NOW) == 3


async def conditions(cluster):
    result = await cluster.client.get(REQUESTS, "r")
    return result.status


async def test_reconcile_writes_the_status_once_and_deletes_when_due(cluster):
    await cluster.define(REQUESTS)
    await cluster.make(*SLICE, "s", spec=slice_spec(devices=2))
    await cluster.start(build)
    await cluster.make(*KIND, "r", spec={"driver": "d.com"})
    status = await cluster.until(lambda: conditions(cluster), within_seconds=3)
    assert status.pools[0].totalDevices == 2
    await cluster.make(*SLICE, "t", spec=slice_spec("b"))
    await cluster.clock.advance(3000)
    assert await conditions(cluster) == status

    async def none_remains():
        return not await cluster.client.list(REQUESTS)

    await cluster.until(none_remains, step_seconds=10, within_seconds=700)


async def test_reconcile_waits_for_a_late_slice(cluster):
    await cluster.define(REQUESTS)
    await cluster.make(*SLICE, "s", spec=slice_spec(slices=2))
    await cluster.start(build)
    await cluster.make(*KIND, "r", spec={"driver": "d.com"})
    await cluster.clock.advance(2)
    assert await conditions(cluster) is None
    await cluster.make(*SLICE, "t", spec=slice_spec(slices=2, devices=3))
    status = await cluster.until(lambda: conditions(cluster), within_seconds=2)
    assert status.pools[0].totalDevices == 4


async def test_reconcile_reports_a_missing_slice(cluster):
    await cluster.define(REQUESTS)
    await cluster.make(*SLICE, "s", spec=slice_spec(slices=2))
    await cluster.start(build)
    await cluster.make(*KIND, "r", spec={"driver": "d.com"})
    status = await cluster.until(lambda: conditions(cluster), within_seconds=10)
    assert status.pools[0].validationError == "pool d.com/a is incomplete: observed 1/2 slices at generation 1"
