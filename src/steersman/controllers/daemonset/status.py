"""Status of a DaemonSet. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightkube.models.apps_v1 import DaemonSetStatus

from steersman.controllers.daemonset import rules
from steersman.runtime.structs import replaced
from steersman.workloads.pods import is_ready, seconds_to_available

if TYPE_CHECKING:
    from steersman.controllers.daemonset.plan import ObservedState


def plan_status(world: ObservedState, *, observed: bool, collisions: int) -> DaemonSetStatus:
    """Count nodes; the first Pod of ``rules.by_node`` represents its node.

    ``observed``: True if this generation was acted on.
    """
    desired = {
        name for name, node in world.nodes.items() if rules.node_should_run_daemon_pod(world.ds, node).should_run
    }
    scheduled = {name for name in world.nodes if world.pods.get(name)}
    first = [world.pods[name][0] for name in desired & scheduled]
    available = sum(map(world.available, first))
    old = world.ds.status or DaemonSetStatus(
        currentNumberScheduled=0, desiredNumberScheduled=0, numberMisscheduled=0, numberReady=0
    )  # fmt: skip
    generation = world.ds.metadata.generation if world.ds.metadata else None
    return replaced(
        old,
        desiredNumberScheduled=len(desired),
        currentNumberScheduled=len(first),
        numberMisscheduled=len(scheduled - desired),
        numberReady=sum(map(is_ready, first)),
        numberAvailable=available or None,
        numberUnavailable=(len(desired) - available) or None,
        updatedNumberScheduled=sum(map(world.updated, first)) or None,
        observedGeneration=generation if observed else old.observedGeneration,
        collisionCount=collisions or old.collisionCount,
    )


def seconds_to_requeue(world: ObservedState, status: DaemonSetStatus) -> float | None:
    """Return when the next ready Pod becomes available; at most ``minReadySeconds``, as nodes' clocks may differ."""
    least = rules.spec_of(world.ds).minReadySeconds or 0
    if not least or status.numberReady == (status.numberAvailable or 0):
        return None
    pods = (pod for of_node in world.pods.values() for pod in of_node)
    wait = seconds_to_available(pods, least, now=world.now)
    return float(least) if wait is None else wait
