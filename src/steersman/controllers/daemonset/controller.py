"""DaemonSet controller: watches DaemonSets, Pods and Nodes, and executes the plan."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec
from lightkube.models.apps_v1 import DaemonSet
from lightkube.models.core_v1 import Node, Pod

from steersman.apimachinery.selectors import from_label_selector
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.errors import NotFound
from steersman.client.objects import key_of, labels_of, name_of, namespace_of, uid_of
from steersman.controllers.daemonset import plan, rules
from steersman.controllers.daemonset.failed_pods import FailedPods
from steersman.controllers.daemonset.status import plan_status, seconds_to_requeue
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.pod_control import RECHECK_SECONDS, PodControl
from steersman.controllers.shared.revision_control import RevisionControl
from steersman.runtime.dependents import candidates, controlled_by, index_dependents
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import controller_of, controller_reference
from steersman.runtime.references import ReferenceManager
from steersman.runtime.result import Result
from steersman.runtime.structs import replaced
from steersman.workloads.pod_events import PodEvents
from steersman.workloads.revisions import superfluous

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.apps_v1 import ControllerRevision, DaemonSetStatus

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext
    from steersman.controllers.shared.revision_control import CurrentRevision


class DaemonSetController(ManagedController):
    """``daemonset-controller``."""

    name = "daemonset-controller"
    queue_name = "daemonset"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_daemonset_syncs)
        self.sets: Final[Informer[DaemonSet]] = self.informer(DaemonSet)
        self.nodes: Final[Informer[Node]] = self.informer(Node)
        self.pods: Final[Informer[Pod]] = self.informer(Pod)
        self.revisions: Final = RevisionControl(
            self, DaemonSet, hash_label=rules.REVISION_HASH, hashed=rules.revision_hash
        )
        self.control: Final = PodControl(self, self.pods)
        self.pod_events: Final[PodEvents[DaemonSet]] = PodEvents(
            self, self.sets, self.control.expectations, kind="DaemonSet", selector_of=_selector
        )
        self.failed: Final = FailedPods()
        index_dependents(self.pods)
        self.sets.add_callback(self._set_changed)
        self.pods.add_callback(self.pod_events.changed)
        self.nodes.add_callback(self._node_changed)
        self.revisions.informer.add_callback(self._revision_changed)

    # Event handlers

    def _set_changed(self, change: Change[DaemonSet]) -> None:
        if isinstance(change, Deleted):
            self.control.forget(key_of(change.old))
        self.enqueue_change(change)

    def _revision_changed(self, change: Change[ControllerRevision]) -> None:
        """Enqueue the owner of a revision that another client changed or deleted."""
        ds = self.pod_events.owner_of(change.latest)
        if ds is not None:
            self.enqueue(ds)
        elif controller_of(change.latest) is None:
            self.pod_events.enqueue_adopters(change.latest)

    def _node_changed(self, change: Change[Node]) -> None:
        """Enqueue the DaemonSets for which the node's eligibility changed."""
        if isinstance(change, Updated) and _is_equal_for_daemonsets(change.old, change.new):
            return
        for ds in self.sets.lister:
            match change:
                case Added(new=node):
                    matters = rules.node_should_run_daemon_pod(ds, node).should_run
                case Deleted(old=node):
                    matters = rules.node_should_run_daemon_pod(ds, node).may_stay
                case Updated(old=old, new=node):
                    matters = rules.node_should_run_daemon_pod(ds, old) != rules.node_should_run_daemon_pod(ds, node)
            if matters:
                self.enqueue(ds)

    # Reconcile

    async def reconcile(self, key: str) -> Result | None:
        """Create and delete Pods for all nodes, execute one step of an update, and write the status."""
        ds = self.sets.lister.by_key(key)
        if ds is None:
            self.control.forget(key)
            return None
        selector = rules.spec_of(ds).selector
        if not selector.matchLabels and not selector.matchExpressions:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self.events.event(ds, "Warning", "SelectingAll", message)
            return None
        if is_being_deleted(ds):
            return None
        revisions = await self.revisions.with_hash_labels(key, await self.revisions.claim(ds, _selector(ds)))
        collisions = (ds.status.collisionCount if ds.status else None) or 0
        present = await self.revisions.settle(key, ds, revisions, collisions=collisions)
        may_write = await self.control.is_up_to_date(key, controlled_by(self.pods.lister, uid_of(ds)))
        pods = await self._claim(ds)
        await self._rename_duplicates(key, present, pods)
        world = plan.observe(
            ds, self.nodes.lister, pods, labels_of(present.revision)[rules.REVISION_HASH], now=self.clock.now()
        )
        waits = await self._work(key, world, pods, revisions, present) if may_write else _Outcome()
        status = plan_status(world, observed=may_write, collisions=present.collisions)
        await self._write_status(key, ds, status)
        if waits.error is not None:
            raise waits.error
        return self._next_look(key, world, status, waits)

    async def _claim(self, ds: DaemonSet) -> list[Pod]:
        selector = _selector(ds)
        references = ReferenceManager(self.client, ds, controller_resource=DaemonSet, dependents=Pod)
        return await references.claim(
            candidates(self.pods.lister, ds), lambda pod: selector.matches(labels_of(pod))
        )  # fmt: skip

    async def _rename_duplicates(self, key: str, present: CurrentRevision, pods: Sequence[Pod]) -> None:
        """Relabel the Pods of duplicate revisions to the current one, then delete the duplicates."""
        if not present.duplicates:
            return
        revision_hash = labels_of(present.revision)[rules.REVISION_HASH]
        others = {labels_of(revision).get(rules.REVISION_HASH) for revision in present.duplicates}
        for pod in pods:
            if labels_of(pod).get(rules.REVISION_HASH) in others:
                patch = {"metadata": {"uid": uid_of(pod), "labels": {rules.REVISION_HASH: revision_hash}}}
                written = await self.client.patch(Pod, name_of(pod), patch, namespace=namespace_of(pod))
                self.own_writes.note(key, self.pods, written)
        await self.revisions.delete(present.duplicates)

    async def _work(
        self,
        key: str,
        world: plan.ObservedState,
        pods: Sequence[Pod],
        revisions: Sequence[ControllerRevision],
        present: CurrentRevision,
    ) -> _Outcome:
        needs = plan.plan_nodes(world)
        failed, wait = self._due(world, needs.failed)
        for pod in needs.succeeded:
            message = (
                f"Found succeeded daemon pod {key_of(pod)} on node {rules.target_node(pod)}, will try to delete it"
            )
            self.events.event(world.ds, "Normal", "SucceededDaemonPod", message)
        delete = (*needs.delete, *failed, *needs.succeeded)
        error = await self._apply(key, world, needs.create, delete)
        outcome = _Outcome(error, _sooner(wait, needs.requeue_after_seconds))
        if error is None and not needs.create and not delete and rules.strategy_of(world.ds) == "RollingUpdate":
            step = plan.plan_update(world)
            outcome = _Outcome(await self._apply(key, world, step.create, step.delete), outcome.requeue_after_seconds)
        if outcome.error is None:
            await self._clean_history(world.ds, pods, revisions, present)
        return outcome

    def _due(self, world: plan.ObservedState, failed: Iterable[Pod]) -> tuple[list[Pod], float | None]:
        """Return failed Pods to replace now, and the seconds until the next replacement."""
        due: list[Pod] = []
        waits: list[float] = []
        now = self.clock.monotonic()
        for pod in failed:
            node = rules.target_node(pod)
            observed = world.ds.status.observedGeneration if world.ds.status else None
            key = (uid_of(world.ds), observed, node)
            seconds_left = self.failed.seconds_left(key, now=now)
            if seconds_left > 0:
                waits.append(seconds_left)
                continue
            self.failed.note(key, now=now)
            message = f"Found failed daemon pod {key_of(pod)} on node {node}, will try to kill it"
            self.events.event(world.ds, "Warning", "FailedDaemonPod", message)
            due.append(pod)
        return due, min(waits, default=None)

    async def _apply(
        self, key: str, world: plan.ObservedState, create: Sequence[str], delete: Sequence[Pod]
    ) -> Exception | None:  # fmt: skip
        create, delete = create[: plan.BURST], delete[: plan.BURST]
        if not create and not delete:
            return None
        self.control.expectations.expect(key, creations=len(create), deletions=map(uid_of, delete))
        reference = controller_reference(world.ds, api_version="apps/v1", kind="DaemonSet")
        pods = [rules.new_pod(world.ds, node, reference, world.revision_hash) for node in create]
        created, removed = await asyncio.gather(
            self.control.create(key, world.ds, pods), self.control.delete(key, world.ds, delete)
        )
        return created.error or removed.error

    async def _clean_history(
        self, ds: DaemonSet, pods: Sequence[Pod], revisions: Sequence[ControllerRevision], present: CurrentRevision
    ) -> None:  # fmt: skip
        """Delete unused revisions beyond ``revisionHistoryLimit``. Those of finished Pods that are being deleted are used."""
        living = {labels_of(pod).get(rules.REVISION_HASH) for pod in pods if rules.target_node(pod)}
        kept_uids = {uid_of(present.revision), *map(uid_of, present.duplicates)}
        old = [revision for revision in revisions if uid_of(revision) not in kept_uids]
        unused = [revision for revision in old if labels_of(revision).get(rules.REVISION_HASH) not in living]
        limit = rules.spec_of(ds).revisionHistoryLimit
        surplus = len(old) - (10 if limit is None else limit)
        if surplus > 0:
            await self.revisions.delete(superfluous(unused, keep=max(0, len(unused) - surplus)))

    async def _write_status(self, key: str, ds: DaemonSet, status: DaemonSetStatus) -> None:
        if status == ds.status:
            return
        try:
            written = await self.client.update_status(replaced(ds, status=status))
        except NotFound:
            pass
        else:
            self.own_writes.note(key, self.sets, written)

    def _next_look(self, key: str, world: plan.ObservedState, status: DaemonSetStatus, done: _Outcome) -> Result | None:
        seconds = _sooner(done.requeue_after_seconds, seconds_to_requeue(world, status))
        if not self.control.expectations.satisfied(key):
            seconds = _sooner(seconds, RECHECK_SECONDS)
        return None if seconds is None else Result(requeue_after_seconds=seconds)


class _Outcome(msgspec.Struct, frozen=True):
    """Result of the Pod writes of a reconcile."""

    error: Exception | None = None
    requeue_after_seconds: float | None = None


def _is_equal_for_daemonsets(old: Node, new: Node) -> bool:
    """Report whether two states of a node are equal for all DaemonSets, as after most status updates of its kubelet."""
    return labels_of(old) == labels_of(new) and (old.spec and old.spec.taints) == (new.spec and new.spec.taints)


def _selector(ds: DaemonSet) -> LabelSelector:
    return from_label_selector(msgspec.to_builtins(rules.spec_of(ds).selector))


def _sooner(one: float | None, other: float | None) -> float | None:
    return min((seconds for seconds in (one, other) if seconds is not None), default=None)


def build(context: ControllerContext) -> DaemonSetController:
    """Construct the controller."""
    return DaemonSetController(context)
