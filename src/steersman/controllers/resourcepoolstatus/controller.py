"""Controller of ResourcePoolStatusRequests: watches requests and slices, and deletes expired requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from lightkube.models.resource_v1 import ResourceClaim, ResourceSlice
from lightkube.models.resource_v1alpha3 import ResourcePoolStatusRequest

from steersman.client import custom
from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.client.objects import key_of
from steersman.controllers.resourcepoolstatus.plan import answer, is_whole, seconds_to_answer, seconds_to_cleanup
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.client import ResourceType
    from steersman.controllers.context import ControllerContext

#: Alpha and off by default in 1.36: served only with ``--runtime-config``.
REQUESTS: Final[ResourceType[ResourcePoolStatusRequest]] = custom(
    "resource.k8s.io/v1alpha3",
    "ResourcePoolStatusRequest",
    plural="resourcepoolstatusrequests",
    namespaced=False,
    model=ResourcePoolStatusRequest,
)


class ResourcePoolStatusController(ManagedController):
    """Reconciles requests by name."""

    name: ClassVar[str] = "resourcepoolstatusrequest-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._requests = self.watch(REQUESTS, when=lambda change: not isinstance(change, Deleted))
        self._slices = self.watch(ResourceSlice, keys=self._waiting)
        self._claims = self.informer(ResourceClaim)

    def _waiting(self, slice_: ResourceSlice) -> list[str]:
        """Return the requests that may wait for the slice."""
        requests = self._requests.lister
        return [
            key_of(request)
            for request in requests
            if request.status is None and request.spec.driver == slice_.spec.driver
        ]

    async def reconcile(self, key: str) -> Result | None:
        """Write the status of a request, or delete an expired one."""
        request = self._requests.lister.get(key)
        if request is None:
            return None
        now = self.clock.now()
        seconds_left = seconds_to_cleanup(request, now=now)
        if seconds_left <= 0:
            await self.delete_seen(request)
            return None
        if request.status is not None:
            return Result(requeue_after_seconds=seconds_left)
        status = answer(request, self._slices.lister, self._claims.lister, now=self.now())
        wait = seconds_to_answer(request, now=now)
        if wait > 0 and not is_whole(status):
            return Result(requeue_after_seconds=wait)
        try:
            written = await self.client.update_status(msgspec.structs.replace(request, status=status))
        except NotFound:
            return None
        self.own_writes.note(key, self._requests, written)
        return None


def build(context: ControllerContext) -> ResourcePoolStatusController:
    """Construct the controller."""
    return ResourcePoolStatusController(context)
