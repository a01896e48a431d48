"""What the scheduler tells the cluster: bindings, conditions, evictions, claims and their volumes."""

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
from steersman.scheduler.looking import is_refusal, look
from steersman.scheduler.preemption import BY_SCHEDULER, DISRUPTION_TARGET
from steersman.scheduler.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE, is_bound

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.client.client import Client
    from steersman.client.events import SeriesRecorder
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.preemption import Victims
    from steersman.scheduler.volumes import Binding, Catalog

_log = logging.getLogger(__name__)

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"


class BindingTimeoutError(Exception):
    """A pod's claims were not bound in time."""


class Writer:
    """All requests that change something, each a small one."""

    def __init__(self, client: Client, recorder: SeriesRecorder, catalog: Catalog, *, scheduler: str) -> None:
        self._client = client
        self._recorder = recorder
        self._catalog = catalog
        self._scheduler = scheduler
        self._claims_changed = asyncio.Event()

    def claims_changed(self) -> None:
        """A claim is another than before: those who wait for theirs look again."""
        self._claims_changed.set()
        self._claims_changed = asyncio.Event()

    # Success

    async def bind(self, pod: PodInfo, node: str) -> None:
        """Tell the cluster where a pod goes. Raises ApiError, RequestFailed.

        When the answer is lost, the pod itself tells whether it was bound: its room must not be another's before that is
        known, and the watch may tell late.
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
            if is_refusal(error) or not await self._is_on(pod, node):
                raise
        self._recorder.event(pod.pod, "Normal", "Scheduled", "Binding", f"Successfully assigned {pod.key} to {node}")

    async def _is_on(self, pod: PodInfo, node: str) -> bool:
        read = partial(self._client.get, Pod, pod.name, namespace=pod.namespace)
        found: Any = await look(read, clock=self._client.clock)
        return found is not None and found.metadata.uid == pod.uid and found.spec.nodeName == node

    async def bind_volumes(self, binding: Binding, node: str, *, timeout_seconds: float) -> None:
        """Have a pod's claims bound, and wait until they are. Raises ApiError, RequestFailed, BindingTimeoutError."""
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

    def devices_awaited(self, pod: PodInfo, node: str) -> None:
        """Tell that the pod's devices have to become ready first (KEP-5007)."""
        message = f"waiting for binding conditions for device on node {node}"
        self._recorder.event(pod.pod, "Normal", "BindingConditionsPending", "Scheduling", message)

    async def nominate(self, pod: PodInfo, node: str) -> None:
        """Tell where the pod will go, before what may take a while (KEP-5278)."""
        if pod.nominated_node != node:
            await self._patch_status(pod, {"nominatedNodeName": node})

    # Failure

    async def report(self, pod: PodInfo, reason: str, message: str, *, nominated: str | None = None) -> None:
        """Say in the pod's condition and in an event why it has no node. A pod that is gone needs no report."""
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
        """Make room for a pod. Raises ApiError, RequestFailed."""
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
        """Tell a pod that the node it was promised is another's now."""
        await self._patch_status(pod, {"nominatedNodeName": None})


async def patch_status(client: Client, pod: PodInfo, status: dict[str, Any]) -> None:
    """Write some of a pod's status, unless another pod has its name now. Raises ApiError, RequestFailed."""
    patch = {"metadata": {"uid": pod.uid}, "status": status}
    await client.patch(
        Pod, pod.name, patch, patch_type=PatchType.STRATEGIC, namespace=pod.namespace, subresource="status"
    )


def unscheduled(pod: Any, reason: str, message: str, *, now: datetime) -> dict[str, Any] | None:
    """The condition ``PodScheduled`` of a pod without a node; None when the pod has it like that already."""
    return _condition(pod, "PodScheduled", "False", reason, message, now=now)


def disruption(pod: Any, message: str, *, now: datetime) -> dict[str, Any]:
    """The condition that tells why a pod is deleted (KEP-3329)."""
    made = _condition(pod, DISRUPTION_TARGET, "True", BY_SCHEDULER, message, now=now)
    return made or {"type": DISRUPTION_TARGET}


def _condition(pod: Any, kind: str, status: str, reason: str, message: str, *, now: datetime) -> dict[str, Any] | None:
    present = (pod.status.conditions if pod.status is not None else None) or ()
    old = next((each for each in present if each.type == kind), None)
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
