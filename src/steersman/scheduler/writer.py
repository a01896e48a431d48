"""Writes to pods, claims and volumes: bindings, conditions, nominations and evictions."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod

from steersman.apimachinery.timestamps import format_time
from steersman.asynckit.timeouts import wait_for
from steersman.client.errors import ApiError, ClientError, NotFound
from steersman.client.objects import key_of
from steersman.client.requests import PatchType
from steersman.scheduler.preemption import BY_SCHEDULER, DISRUPTION_TARGET
from steersman.scheduler.read_back import is_rejected, read_back
from steersman.scheduler.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE, is_bound

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.client.client import Client
    from steersman.client.events import SeriesRecorder
    from steersman.scheduler.framework import Victims
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.volumes import Binding, VolumeCatalog

_log = logging.getLogger(__name__)

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"


class BindingTimeoutError(Exception):
    """The pod's PersistentVolumeClaims were not bound before the timeout."""


class Writer:
    """Write requests for the pods of one profile, with the events that upstream records for them."""

    def __init__(self, client: Client, recorder: SeriesRecorder, catalog: VolumeCatalog, *, scheduler: str) -> None:
        self._client = client
        self._recorder = recorder
        self._catalog = catalog
        self._scheduler = scheduler
        self._claims_changed = asyncio.Event()

    def claims_changed(self) -> None:
        """Wake waiters of ``bind_volumes`` to check the claims again."""
        self._claims_changed.set()
        self._claims_changed = asyncio.Event()

    # Success

    async def bind(self, pod: PodInfo, node: str) -> None:
        """Create the Binding. Raises ApiError, RequestFailed.

        After a lost response the pod is read back: its resources must stay reserved until the outcome is certain.
        """
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        try:
            await self._client.create_subresource(Pod, pod.name, "binding", body, namespace=pod.namespace)
        except ClientError as error:
            if is_rejected(error) or not await self.is_bound(pod, node):
                raise
        self.record_bound(pod, node)

    def record_bound(self, pod: PodInfo, node: str) -> None:
        """Record the event of a successful binding."""
        self._recorder.event(pod.pod, "Normal", "Scheduled", "Binding", f"Successfully assigned {pod.key} to {node}")

    async def is_bound(self, pod: PodInfo, node: str) -> bool:
        """Read the pod and report whether it is bound to ``node``."""
        read = partial(self._client.get, Pod, pod.name, namespace=pod.namespace)
        stored: Any = await read_back(read, clock=self._client.clock)
        return stored is not None and stored.metadata.uid == pod.uid and stored.spec.nodeName == node

    async def bind_volumes(self, binding: Binding, node: str, *, timeout_seconds: float) -> None:
        """Write the volume bindings and wait until the claims are bound.

        Raises ApiError, RequestFailed, BindingTimeoutError.
        """
        for claim, volume in binding.static:
            reference = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": claim.metadata.name,
                "namespace": claim.metadata.namespace,
                "uid": claim.metadata.uid,
            }
            patch = {
                "metadata": {
                    "annotations": {BOUND_BY_CONTROLLER: "yes"},
                    "resourceVersion": volume.metadata.resourceVersion,
                },
                "spec": {"claimRef": reference},
            }
            await self._client.patch(PersistentVolume, volume.metadata.name, patch)
        for claim in binding.provision:
            patch = {"metadata": {"annotations": {SELECTED_NODE: node}, "uid": claim.metadata.uid}}
            await self._client.patch(
                PersistentVolumeClaim, claim.metadata.name, patch, namespace=claim.metadata.namespace
            )
        await self._until_bound([*(claim for claim, _ in binding.static), *binding.provision], timeout_seconds)

    async def _until_bound(self, claims: list[Any], timeout_seconds: float) -> None:
        keys = [key_of(claim) for claim in claims]
        try:
            await wait_for(self._all_bound(keys), timeout_seconds, clock=self._client.clock)
        except TimeoutError:
            raise BindingTimeoutError("timed out waiting for the condition") from None

    async def _all_bound(self, keys: list[str]) -> None:
        while not all(self._is_bound(key) for key in keys):
            await self._claims_changed.wait()

    def _is_bound(self, key: str) -> bool:
        claim = self._catalog.claims.get(key)
        return claim is not None and is_bound(claim)

    def report_devices_pending(self, pod: PodInfo, node: str) -> None:
        """Record an event that the pod waits for device binding conditions (KEP-5007)."""
        message = f"waiting for binding conditions for device on node {node}"
        self._recorder.event(pod.pod, "Normal", "BindingConditionsPending", "Scheduling", message)

    async def nominate(self, pod: PodInfo, node: str) -> None:
        """Set ``nominatedNodeName`` before the PreBind plugins run (KEP-5278)."""
        if pod.nominated_node != node:
            await self._patch_status(pod, {"nominatedNodeName": node})

    # Failure

    async def report(self, pod: PodInfo, reason: str, message: str, *, nominated: str | None = None) -> None:
        """Record why the pod is pending, as an event and in the ``PodScheduled`` condition. Ignores deleted pods."""
        self._recorder.event(pod.pod, "Warning", "FailedScheduling", "Scheduling", message)
        condition = unscheduled(pod.pod, reason, message, now=self._client.clock.now())
        status: dict[str, Any] = {"conditions": [condition]} if condition is not None else {}
        if nominated is not None and nominated != pod.nominated_node:
            status["nominatedNodeName"] = nominated
        if status:
            await self._patch_status(pod, status)

    async def _patch_status(self, pod: PodInfo, status: dict[str, Any]) -> None:
        try:
            await patch_status(self._client, pod, status)
        except NotFound:
            return
        except ApiError as error:
            _log.warning("could not write the status of pod %s: %s", pod.key, error)

    async def evict(self, pod: PodInfo, victims: Victims) -> None:
        """Evict the victims of a preemption. Raises ApiError, RequestFailed."""
        for victim in victims.pods:
            if victim.is_terminating:
                continue
            message = f"{self._scheduler}: preempting to accommodate a higher priority pod"
            condition = disruption(victim.pod, message, now=self._client.clock.now())
            await self._patch_status(victim, {"conditions": [condition]})
            try:
                await self._client.delete_object(victim.pod, uid=victim.uid)
            except NotFound:
                continue
            self._recorder.event(
                victim.pod,
                "Normal",
                "Preempted",
                "Preempting",
                f"Preempted by pod {pod.uid} on node {victims.node}",
            )

    async def withdraw_nomination(self, pod: PodInfo) -> None:
        """Clear ``nominatedNodeName`` after a pod with higher priority took the node."""
        await self._patch_status(pod, {"nominatedNodeName": None})


async def patch_status(client: Client, pod: PodInfo, status: dict[str, Any]) -> None:
    """Patch the status of the pod with this UID. Raises ApiError, RequestFailed."""
    patch = {"metadata": {"uid": pod.uid}, "status": status}
    await client.patch(
        Pod, pod.name, patch, patch_type=PatchType.STRATEGIC, namespace=pod.namespace, subresource="status"
    )


def unscheduled(pod: Any, reason: str, message: str, *, now: datetime) -> dict[str, Any] | None:
    """Return the ``PodScheduled`` condition of a pending pod; None if it is up to date."""
    return _condition(pod, "PodScheduled", "False", reason, message, now=now)


def disruption(pod: Any, message: str, *, now: datetime) -> dict[str, Any]:
    """Return the ``DisruptionTarget`` condition of a preempted pod (KEP-3329)."""
    condition = _condition(pod, DISRUPTION_TARGET, "True", BY_SCHEDULER, message, now=now)
    return condition or {"type": DISRUPTION_TARGET}


def _condition(pod: Any, kind: str, status: str, reason: str, message: str, *, now: datetime) -> dict[str, Any] | None:
    present = (pod.status.conditions if pod.status is not None else None) or ()
    old = next((condition for condition in present if condition.type == kind), None)
    since = format_time(now)
    if old is not None and old.status == status:
        if (old.reason, old.message) == (reason, message):
            return None
        if old.lastTransitionTime is not None:
            since = format_time(old.lastTransitionTime)
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastProbeTime": None,
        "lastTransitionTime": since,
        "observedGeneration": pod.metadata.generation,
    }
