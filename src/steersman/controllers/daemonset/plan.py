"""Nodes that need a Pod, and Pods to delete. Pure rules of ``pkg/controller/daemon``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lightkube.models.core_v1 import Pod

from steersman.client.objects import name_of
from steersman.controllers.daemonset import rules
from steersman.runtime.finalizers import is_being_deleted
from steersman.workloads.pods import is_available, is_finished, is_ready, node_of, phase_of, seconds_to_available

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from lightkube.models.apps_v1 import DaemonSet
    from lightkube.models.core_v1 import Node

#: Maximum number of Pods that one step creates, and deletes.
BURST: Final = 250


@dataclass(frozen=True, slots=True)
class ObservedState:
    """A DaemonSet with its Pods and nodes."""

    ds: DaemonSet
    #: Nodes by name.
    nodes: Mapping[str, Node]
    #: Pods by node; see ``rules.by_node``. Nodes without Pods are absent.
    pods: Mapping[str, Sequence[Pod]]
    revision_hash: str
    now: datetime

    def available(self, pod: Pod) -> bool:
        """Report whether a Pod has been ready for ``minReadySeconds``."""
        return is_available(pod, rules.spec_of(self.ds).minReadySeconds or 0, now=self.now)

    def updated(self, pod: Pod) -> bool:
        """Report whether a Pod has the current template."""
        return rules.is_updated(pod, self.revision_hash)


@dataclass(frozen=True, slots=True)
class PodsPlan:
    """Pods to create and delete."""

    #: Names of nodes.
    create: tuple[str, ...] = ()
    delete: tuple[Pod, ...] = ()
    #: Failed Pods to delete, with backoff and an event.
    failed: tuple[Pod, ...] = ()
    #: Succeeded Pods to delete, with an event.
    succeeded: tuple[Pod, ...] = ()
    #: Time at which the next Pod becomes available.
    requeue_after_seconds: float | None = None


def observe(
    ds: DaemonSet, nodes: Iterable[Node], pods: Iterable[Pod], revision_hash: str, *, now: datetime
) -> ObservedState:
    """Return the state to plan with. ``pods``: those that the DaemonSet controls.

    Finished Pods that are being deleted are ignored.
    """
    present = (pod for pod in pods if not (is_finished(pod) and is_being_deleted(pod)))
    return ObservedState(ds, {name_of(node): node for node in nodes}, rules.by_node(present), revision_hash, now)


def plan_nodes(world: ObservedState) -> PodsPlan:
    """Return the Pods to create and delete on each node, apart from updates."""
    create: list[str] = []
    delete: list[Pod] = []
    failed: list[Pod] = []
    succeeded: list[Pod] = []
    waits: list[float] = []
    surges = rules.allows_surge(world.ds)
    for name, node in world.nodes.items():
        eligibility, pods = rules.node_should_run_daemon_pod(world.ds, node), world.pods.get(name, ())
        staying = [pod for pod in pods if not is_being_deleted(pod)]
        running = [pod for pod in staying if not is_finished(pod)]
        # One that ends keeps its place, but where a node may have two at once.
        if eligibility.should_run and not (running if surges else pods):
            create.append(name)
        if not eligibility.may_stay:
            delete += staying
            continue
        failed += [pod for pod in staying if phase_of(pod) == "Failed"]
        succeeded += [pod for pod in staying if phase_of(pod) == "Succeeded"]
        delete += _surplus(world, running)
        waits += _wait_for_surge(world, running)
    delete += [
        pod
        for name, pods in world.pods.items()
        if name not in world.nodes
        for pod in pods
        if not node_of(pod) and not is_being_deleted(pod)  # no kubelet deletes an unassigned Pod
    ]
    return PodsPlan(tuple(create), tuple(delete), tuple(failed), tuple(succeeded), min(waits, default=None))


def _surplus(world: ObservedState, running: Sequence[Pod]) -> list[Pod]:
    """Return all Pods except the oldest; during a surge the oldest new and the oldest old Pod stay until the new one is available."""
    if len(running) <= 1 or not rules.allows_surge(world.ds):
        return list(running[1:])
    new = [pod for pod in running if world.updated(pod)]
    old = [pod for pod in running if not world.updated(pod)]
    surplus = [*new[1:], *old[1:]]
    if new and old and (not is_ready(old[0]) or world.available(new[0])):
        surplus.append(old[0])
    return surplus


def _wait_for_surge(world: ObservedState, running: Sequence[Pod]) -> list[float]:
    least = rules.spec_of(world.ds).minReadySeconds or 0
    new = [pod for pod in running if world.updated(pod)]
    if len(running) <= 1 or not least or not rules.allows_surge(world.ds):
        return []
    wait = seconds_to_available(new[:1], least, now=world.now)
    return [] if wait is None else [wait]


def plan_update(world: ObservedState) -> PodsPlan:
    """Return one step of a rolling update, when each node has the Pods it needs."""
    desired = [
        name for name, node in world.nodes.items() if rules.node_should_run_daemon_pod(world.ds, node).should_run
    ]
    surge, unavailable = rules.fenceposts(world.ds, len(desired))
    of_nodes = {name: world.pods.get(name, ()) for name in dict.fromkeys([*world.pods, *desired])}
    if surge:
        of_nodes = {name: pods for name, pods in of_nodes.items() if name in world.nodes}
        return _surge(world, of_nodes, frozenset(desired), surge)
    return _replace(world, of_nodes, unavailable)


def _new_and_old(world: ObservedState, pods: Iterable[Pod]) -> tuple[Pod | None, Pod | None] | None:
    """Return the new and the old Pod of a node; None with several of one kind, which are removed first."""
    staying = [pod for pod in pods if not is_being_deleted(pod)]
    new = [pod for pod in staying if world.updated(pod)]
    old = [pod for pod in staying if not world.updated(pod)]
    if len(new) > 1 or len(old) > 1:
        return None
    return (new[0] if new else None), (old[0] if old else None)


def _replace(world: ObservedState, of_nodes: Mapping[str, Sequence[Pod]], most: int) -> PodsPlan:
    """Delete old Pods: unavailable ones now, and others up to the allowed number."""
    useless: list[Pod] = []
    useful: list[Pod] = []
    unavailable = 0
    for pods in of_nodes.values():
        match _new_and_old(world, pods):
            case None, Pod() as old if world.available(old):
                useful.append(old)
            case None, Pod() as old:
                useless.append(old)
                unavailable += 1
            case Pod() as new, None if world.available(new):
                pass
            case _:
                unavailable += 1
    return PodsPlan(delete=(*useless, *useful[: max(0, most - unavailable)]))


def _surge(
    world: ObservedState, of_nodes: Mapping[str, Sequence[Pod]], desired: Collection[str], most: int
) -> PodsPlan:
    """Create new Pods beside old ones, and delete an old one when the new one is available.

    Old Pods of nodes that are no longer eligible are deleted as soon as enough others are available.
    """
    at_once: list[str] = []
    candidates: list[str] = []
    delete: list[Pod] = []
    leaving: list[Pod] = []
    surging = available = 0
    for name, pods in of_nodes.items():
        new_and_old = _new_and_old(world, pods)
        if new_and_old is None:
            surging += 1
            continue
        new, old = new_and_old
        counted = old or new
        available += counted is not None and world.available(counted)
        if old is None:
            continue
        if new is not None and world.available(new):
            delete.append(old)
        elif new is not None:
            surging += 1
        elif name not in desired:
            (leaving if world.available(old) else delete).append(old)
        else:
            (candidates if world.available(old) else at_once).append(name)
    delete += leaving[: max(0, available - len(desired))]
    return PodsPlan(create=(*at_once, *candidates[: max(0, most - surging)]), delete=tuple(delete))
