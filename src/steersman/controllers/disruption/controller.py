"""Disruption controller: watches budgets, pods, and the controllers of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
from lightkube.models.apps_v1 import Deployment, ReplicaSet, StatefulSet
from lightkube.models.core_v1 import Pod, ReplicationController
from lightkube.models.policy_v1 import PodDisruptionBudget

from steersman.apimachinery.gotext import label_selector_text, quote
from steersman.apimachinery.timestamps import format_time
from steersman.client.changes import Deleted, Updated
from steersman.client.errors import ClientError, Conflict, NotFound
from steersman.client.objects import key_of, labels_of, name_of, namespace_of, uid_of
from steersman.controllers.disruption.plan import (
    NoController,
    Scale,
    build_disrupted_pods,
    count_healthy_pods,
    expected_pod_count,
    fail_safe_status,
    is_written,
    matching,
    needs_scale,
    seconds_to_stale,
    selected,
    stale_patch,
    updated_pdb_status,
)
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.owners import controller_of
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.policy_v1 import PodDisruptionBudgetStatus

    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext
    from steersman.runtime.owners import Owner

_POD: Final = "pod:"


class DisruptionController(ManagedController):
    """Reconciles budgets by key, and pods with a ``DisruptionTarget`` condition by ``pod:`` and key."""

    name: ClassVar[str] = "disruption-controller"
    queue_name: ClassVar[str] = "disruption"
    component: ClassVar[str] = "controllermanager"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._budgets = self.watch(PodDisruptionBudget, when=lambda change: not isinstance(change, Deleted))
        self._pods = self.informer(Pod)
        self._pods.add_callback(self._pod_changed)
        #: Informers of the built-in kinds with a scale, by kind.
        self._scaled: dict[tuple[str, str], Informer[Any]] = {
            ("", "ReplicationController"): self.informer(ReplicationController),
            ("apps", "Deployment"): self.informer(Deployment),
            ("apps", "ReplicaSet"): self.informer(ReplicaSet),
            ("apps", "StatefulSet"): self.informer(StatefulSet),
        }
        for informer in self._scaled.values():
            informer.add_callback(self._scale_changed)

    async def start(self) -> None:
        """Enqueue all budgets, as pods may have been synced before them."""
        for budget in self._budgets.lister:
            self.enqueue(budget)

    def _pod_changed(self, change: Change[Pod]) -> None:
        pod = change.latest
        budgets = self._budgets.lister.list(namespace=namespace_of(pod))
        matching_budgets = matching(budgets, labels_of(pod)) if budgets else []
        if len(matching_budgets) > 1:
            self._report_several(pod, matching_budgets)
        if isinstance(change, Updated) and labels_of(change.old) != labels_of(change.new):
            matching_budgets += matching(budgets, labels_of(change.old))
        for budget in matching_budgets:
            self.enqueue(budget)
        if not isinstance(change, Deleted):
            wait = seconds_to_stale(pod, now=self.clock.now())
            if wait is not None:
                self.queue.add_after(_POD + key_of(pod), wait)

    def _report_several(self, pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> None:
        """Record the warning that evictions of the pod are impossible, for the budget that upstream recounts."""
        namespace, name, first = map(quote, (namespace_of(pod), name_of(pod), min(map(name_of, budgets))))
        text = f"Pod {namespace}/{name} matches multiple PodDisruptionBudgets.  Chose {first} arbitrarily."
        self.events.event(pod, "Warning", "MultiplePodDisruptionBudgets", text)

    def _scale_changed(self, change: Change[Any]) -> None:
        """Enqueue percentage budgets of a resized controller, before its pods change."""
        if isinstance(change, Updated) and _replicas(change.old) != _replicas(change.new):
            for budget in self._budgets.lister.list(namespace=namespace_of(change.new)):
                if needs_scale(budget):
                    self.enqueue(budget)

    async def reconcile(self, key: str) -> Result | None:
        """Compute the status, and write it if it changed.

        A failure is written to the status. Unless a request failed, it is not retried until the budget or its pods
        change, as it would be the same again. Upstream: ``failSafe``.
        """
        if key.startswith(_POD):
            return await self._sync_stale_disruption(key.removeprefix(_POD))
        budget = self._budgets.lister.by_key(key)
        if budget is None:
            return None
        try:
            return await self._try_sync(key, budget)
        except (Conflict, NotFound):
            raise
        except Exception as error:
            self.log.warning("failed to sync budget %s: %s", key, error)
            await self._update_pdb_status(key, budget, fail_safe_status(budget, str(error), now=self.now()))
            if isinstance(error, ClientError):
                raise
            return None

    async def _try_sync(self, key: str, budget: PodDisruptionBudget) -> Result | None:
        pods = selected(budget, self._pods.lister.list(namespace=namespace_of(budget)))
        if not pods:
            self.events.event(budget, "Normal", "NoPods", "No matching pods found")
        try:
            expected = expected_pod_count(budget, pods, await self._scales(budget, pods))
        except (LookupError, ValueError, ClientError) as error:
            text = f"Failed to calculate the number of expected pods: {error}"
            self.events.event(budget, "Warning", "CalculateExpectedPodCountFailed", text)
            raise
        if expected.unmanaged:
            self._report_unmanaged(budget)
        now = self.now()
        waiting = build_disrupted_pods(budget, pods, now=now)
        for pod in waiting.overdue:
            namespace = namespace_of(budget)  # twice, as upstream
            text = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
            self.events.event(pod, "Warning", "NotDeleted", text)
        new = updated_pdb_status(budget, expected, count_healthy_pods(pods, waiting.pods), waiting.pods, now=now)
        await self._update_pdb_status(key, budget, new)
        if waiting.seconds_to_recheck is None:
            return None
        return Result(requeue_after_seconds=waiting.seconds_to_recheck)

    def _report_unmanaged(self, budget: PodDisruptionBudget) -> None:
        selector = budget.spec.selector if budget.spec else None
        selector_text = label_selector_text(None if selector is None else msgspec.to_builtins(selector))
        text = (
            f"Pods selected by this PodDisruptionBudget (selector: {selector_text}) were found to be unmanaged. As a result, "
            "the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account "
            'for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
        )
        self.events.event(budget, "Warning", "UnmanagedPods", text)

    async def _scales(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> dict[str, Scale | None]:
        """Return the scales of the pods' controllers by UID. Raises NoController."""
        scales: dict[str, Scale | None] = {}
        for owner in filter(None, map(controller_of, pods if needs_scale(budget) else ())):
            if owner.uid not in scales:
                scales[owner.uid] = await self._scale(owner, namespace_of(budget))
        return scales

    async def _scale(self, owner: Owner, namespace: str) -> Scale | None:
        """Return the scale of a controller; None if it does not exist. Raises NoController.

        A ReplicaSet whose Deployment does not exist has its own. Upstream: ``finders`` of ``pkg/controller/disruption``.
        """
        scale = self._cached_scale(owner, namespace)
        return await self._scale_from_subresource(owner, namespace) if scale is None else scale

    def _cached_scale(self, owner: Owner, namespace: str) -> Scale | None:
        """Return the scale of a controller of a built-in kind, of a ReplicaSet that of its Deployment."""
        informer = self._scaled.get((owner.group, owner.kind))
        controller: Any = None if informer is None else informer.lister.get(owner.name, namespace=namespace)
        if controller is None or uid_of(controller) != owner.uid:
            return None
        above = controller_of(controller)
        if owner.kind == "ReplicaSet" and above is not None and above.kind == "Deployment":
            deployment: Any = self._scaled["apps", "Deployment"].lister.get(above.name, namespace=namespace)
            controller = deployment if deployment is not None and uid_of(deployment) == above.uid else None
        return Scale(uid_of(controller), _replicas(controller)) if controller is not None else None

    async def _scale_from_subresource(self, owner: Owner, namespace: str) -> Scale | None:
        """Return the scale by the subresource. Raises NoController if the kind has none."""
        try:
            resource = await self.client.discover(owner.api_version, owner.kind)
        except LookupError as error:
            raise NoController(str(error)) from error
        try:
            scale = await self.client.get_subresource(resource, owner.name, "scale", namespace=namespace)
        except NotFound as error:
            if await self.client.serves(resource, "scale"):
                return None
            raise NoController(f"{resource.info.group_resource} does not implement the scale subresource") from error
        if scale["metadata"].get("uid") != owner.uid:
            return None
        return Scale(owner.uid, int((scale.get("spec") or {}).get("replicas") or 0))

    async def _update_pdb_status(self, key: str, budget: PodDisruptionBudget, new: PodDisruptionBudgetStatus) -> None:
        if is_written(budget, new):
            return
        written = await self.client.update_status(msgspec.structs.replace(budget, status=new))
        self.own_writes.note(key, self._budgets, written)

    async def _sync_stale_disruption(self, key: str) -> Result | None:
        """Reset a stale ``DisruptionTarget`` condition of a pod."""
        pod = self._pods.lister.by_key(key)
        wait = seconds_to_stale(pod, now=self.clock.now()) if pod is not None else None
        if pod is None or wait is None:
            return None
        if wait > 0:
            return Result(requeue_after_seconds=wait)
        try:
            written = await self.patch_pod_status(pod, stale_patch(pod, now=format_time(self.clock.now())))
        except NotFound:
            return None
        self.own_writes.note(_POD + key, self._pods, written)
        return None


def _replicas(obj: Any) -> int:
    """Return ``spec.replicas``, by default 1."""
    replicas = obj.spec.replicas if obj.spec is not None else None
    return 1 if replicas is None else int(replicas)


def build(context: ControllerContext) -> DisruptionController:
    """Construct the controller."""
    return DisruptionController(context)
