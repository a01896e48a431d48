"""``endpoints-controller``: watches Services, pods and Endpoints."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import Endpoints, Pod, Service

from steersman.apimachinery.errors import is_namespace_terminating
from steersman.client.changes import Added
from steersman.client.errors import ApiError, Conflict, NotFound
from steersman.client.objects import annotations_of, key_of, namespace_of, resource_version_of, split_key
from steersman.controllers.endpoints.endpoints_plan import plan_endpoints
from steersman.controllers.endpoints.services import LEADER, has_endpoints, selects, touched_keys
from steersman.controllers.endpoints.trigger import TriggerTimes
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext


class EndpointsController(ManagedController):
    """Reconciles Services."""

    name: ClassVar[str] = "endpoints-controller"
    queue_name: ClassVar[str] = "endpoint"
    component: ClassVar[str] = "endpoint-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_endpoint_syncs)
        self._times = TriggerTimes()
        self._services = self.watch(Service)
        self._pods = self.informer(Pod)
        self._pods.add_callback(self._pod_changed)
        self._endpoints = self.informer(Endpoints)
        self._endpoints.add_callback(self._endpoints_changed)

    def _pod_changed(self, change: Change[Pod]) -> None:
        for key in touched_keys(self._services.lister, change):
            self.queue.add_after(key, self.options.endpoint_updates_batch_period_seconds)

    def _endpoints_changed(self, change: Change[Endpoints]) -> None:
        """Enqueue Endpoints that another client changed; delete those without Service, except leader election locks."""
        found = change.latest
        is_left_over = isinstance(change, Added) and change.is_initial and LEADER not in annotations_of(found)
        if is_left_over or key_of(found) in self._services.lister.keys():  # noqa: SIM118 — a lister is no mapping
            self.queue.add(key_of(found))

    async def reconcile(self, key: str) -> None:
        """Create, update or delete the Endpoints of a Service."""
        service = self._services.lister.by_key(key)
        current = self._endpoints.lister.by_key(key)
        if service is None:
            self._times.forget(key)
            if current is not None:
                await self._delete(key)
            return
        if not has_endpoints(service):
            return
        pods = [pod for pod in self._pods.lister.list(namespace=namespace_of(service)) if selects(service, pod)]
        desired = plan_endpoints(service, pods, current, self._times.last_change_trigger_time(key, service, pods))
        if desired is not None:
            await self._write(key, desired)

    async def _write(self, key: str, desired: Endpoints) -> None:
        creates = not resource_version_of(desired)
        try:
            written = await (self.client.create(desired) if creates else self.client.update(desired))
        except Conflict:
            raise
        except ApiError as error:
            if creates and is_namespace_terminating(error):
                return
            reason = "FailedToCreateEndpoint" if creates else "FailedToUpdateEndpoint"
            operation = f"create endpoint for service {key}" if creates else f"update endpoint {key}"
            self.events.event(desired, "Warning", reason, f"Failed to {operation}: {error}")
            raise
        (self.record_created if creates else self.own_writes.note)(key, self._endpoints, written)

    async def _delete(self, key: str) -> None:
        namespace, name = split_key(key)
        with suppress(NotFound):
            await self.client.delete(Endpoints, name, namespace=namespace)


def build(context: ControllerContext) -> EndpointsController:
    """Construct the controller."""
    return EndpointsController(context)
