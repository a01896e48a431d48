"""Status and retention of requests. Pure rules of ``pkg/controller/resourcepoolstatusrequest``."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from lightkube.models.meta_v1 import Condition
from lightkube.models.resource_v1alpha3 import PoolStatus, ResourcePoolStatusRequestStatus

from steersman.client.objects import metadata_field
from steersman.runtime.conditions import find_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from lightkube.models.resource_v1 import ResourceClaim, ResourceSlice
    from lightkube.models.resource_v1alpha3 import ResourcePoolStatusRequest

_COMPLETE: Final = "Complete"
_FAILED: Final = "Failed"
_LIMIT: Final = 100
_ERROR_BYTES_MAX: Final = 256
#: Seconds to wait for missing slices before they are reported as missing.
PATIENCE: Final = timedelta(seconds=5)
_ANSWERED_LIFE: Final = timedelta(hours=1)
_PENDING_LIFE: Final = timedelta(hours=24)


def answer(
    request: ResourcePoolStatusRequest,
    slices: Iterable[ResourceSlice],
    claims: Iterable[ResourceClaim],
    *,
    now: datetime,
) -> ResourcePoolStatusRequestStatus:
    """Return the status of a request. ``slices`` and ``claims``: all of the cluster."""
    requested = request.spec
    pools: dict[str, list[ResourceSlice]] = {}
    for slice_ in slices:
        if slice_.spec.driver == requested.driver and requested.poolName in (None, "", slice_.spec.pool.name):
            pools.setdefault(slice_.spec.pool.name, []).append(slice_)
    allocated = _allocated(requested.driver, claims)
    pool_statuses = [_pool(name, members, allocated[name]) for name, members in sorted(pools.items())]
    listed = pool_statuses[: _LIMIT if requested.limit is None else requested.limit]
    incomplete = sum(pool.validationError is not None for pool in listed)
    message = f"Calculated status for {len(listed)} pools" + (f" ({incomplete} incomplete)" if incomplete else "")
    condition = Condition(
        type=_COMPLETE, status="True", reason="CalculationComplete", message=message, lastTransitionTime=now
    )
    return ResourcePoolStatusRequestStatus(poolCount=len(pool_statuses), pools=listed or None, conditions=[condition])


def is_whole(status: ResourcePoolStatusRequestStatus) -> bool:
    """Report whether the status covers all slices of all pools."""
    return all(pool.validationError is None for pool in status.pools or ())


def _allocated(driver: str, claims: Iterable[ResourceClaim]) -> Counter[str]:
    """Return the allocated devices of a driver by pool."""
    allocations = [claim.status.allocation for claim in claims if claim.status and claim.status.allocation]
    results = [
        result for allocation in allocations if allocation.devices for result in allocation.devices.results or ()
    ]
    return Counter(result.pool for result in results if result.driver == driver)


def _pool(name: str, slices: Sequence[ResourceSlice], allocated: int) -> PoolStatus:
    """Return the status of a pool from the slices of its latest generation."""
    generation = max(slice_.spec.pool.generation for slice_ in slices)
    latest = [slice_ for slice_ in slices if slice_.spec.pool.generation == generation]
    nodes = {slice_.spec.nodeName or "" for slice_ in latest}
    driver, slice_count = latest[0].spec.driver, latest[0].spec.pool.resourceSliceCount
    status = PoolStatus(
        driver=driver,
        poolName=name,
        generation=generation,
        nodeName=(nodes.pop() or None) if len(nodes) == 1 else None,
    )
    if len(latest) < slice_count:
        error = f"pool {driver}/{name} is incomplete: observed {len(latest)}/{slice_count} slices at generation {generation}"
        status.validationError = error.encode()[:_ERROR_BYTES_MAX].decode(errors="ignore")
        return status
    total = sum(len(slice_.spec.devices or ()) for slice_ in latest)
    status.resourceSliceCount = len(latest)
    status.totalDevices = total
    status.allocatedDevices = allocated
    # Device health is not considered; upstream does not either.
    status.unavailableDevices = 0
    status.availableDevices = max(0, total - allocated)
    return status


def seconds_to_cleanup(request: ResourcePoolStatusRequest, *, now: datetime) -> float:
    """Return the seconds until the request is deleted; 0 or less if due."""
    since: datetime = metadata_field(request, "creationTimestamp")
    if request.status is None:
        return (since + _PENDING_LIFE - now).total_seconds()
    for type_ in (_COMPLETE, _FAILED):
        condition = find_condition(request.status.conditions, type_)
        if condition is not None:
            since = condition.lastTransitionTime
    return (since + _ANSWERED_LIFE - now).total_seconds()


def seconds_to_answer(request: ResourcePoolStatusRequest, *, now: datetime) -> float:
    """Return the seconds for which an incomplete status may be deferred."""
    created: datetime = metadata_field(request, "creationTimestamp")
    return (created + PATIENCE - now).total_seconds()
