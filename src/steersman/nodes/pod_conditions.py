"""Conditions of a pod that follow from its containers (upstream: ``pkg/kubelet/status/generate.go``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import format_time
from steersman.nodes.pod_status import (
    ALL_CONTAINERS_RESTARTING,
    RESTART_ALL,
    RESTARTING_ALL,
    addresses,
    conditions,
    containers_of,
    init_containers_of,
    is_container_running,
    is_container_terminated,
    is_sidecar,
    not_created,
    readiness,
    status_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.stages import StageContext


#: Type, status as a boolean, reason and message.
Condition = tuple[str, bool, str, str]

_FINISHED: Final = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


def container_conditions(
    pod: Tree, statuses: Mapping[str, Tree], phase: str, *, has_sandbox: bool = True
) -> list[Condition]:
    """Return the conditions that the kubelet owns; ``statuses`` of init containers and containers, by name."""
    unready = _unready(pod, statuses, phase)
    ready = ("Ready", False, *unready) if unready is not None else readiness(pod)
    restarting = [_all_containers_restarting(statuses, phase)] if _may_restart_all_containers(pod) else []
    return [
        ("PodReadyToStartContainers", has_sandbox and phase not in _FINISHED, "", ""),
        _initialized(pod, statuses, phase),
        ready,
        ("ContainersReady", unready is None, *(unready or ("", ""))),
        ("PodScheduled", True, "", ""),
        *restarting,
    ]


def _unready(pod: Tree, statuses: Mapping[str, Tree], phase: str) -> tuple[str, str] | None:
    """Return reason and message if containers or sidecars of the pod are not ready; None otherwise."""
    if phase in _FINISHED:
        return _FINISHED[phase], ""
    sidecars = filter(is_sidecar, init_containers_of(pod))
    unready = [
        container["name"]
        for container in (*sidecars, *containers_of(pod))
        if not (statuses.get(container["name"]) or {}).get("ready")
    ]
    return ("ContainersNotReady", f"containers with unready status: {_listed(unready)}") if unready else None


def _initialized(pod: Tree, statuses: Mapping[str, Tree], phase: str) -> Condition:
    if phase == "Succeeded":
        return "Initialized", True, _FINISHED[phase], ""
    mains = (statuses.get(main["name"]) or {} for main in containers_of(pod))
    incomplete = [
        init["name"]
        for init in init_containers_of(pod)
        if not (statuses.get(init["name"]) or {}).get("started" if is_sidecar(init) else "ready")
    ]
    # Sidecars of a pod that was initialized may restart.
    if not incomplete or any(is_container_running(main) or is_container_terminated(main) for main in mains):
        return "Initialized", True, "", ""
    return "Initialized", False, "ContainersNotInitialized", f"containers with incomplete status: {_listed(incomplete)}"


def _may_restart_all_containers(pod: Tree) -> bool:
    return any(
        rule.get("action") == RESTART_ALL
        for container in (*init_containers_of(pod), *containers_of(pod))
        for rule in container.get("restartPolicyRules") or ()
    )


def _all_containers_restarting(statuses: Mapping[str, Tree], phase: str) -> Condition:
    """Return the condition of KEP-5532."""
    states = [(status.get("state") or {}).get("waiting") or {} for status in statuses.values()]
    if phase not in _FINISHED and any(state.get("reason") == RESTARTING_ALL for state in states):
        message = "container exited with restart policy rule"
        return ALL_CONTAINERS_RESTARTING, True, "RestartAllContainersStarted", message
    return ALL_CONTAINERS_RESTARTING, False, _FINISHED.get(phase, ""), ""


def _listed(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"


def waiting(pod: Tree, stage_context: StageContext, state: Tree) -> Tree:
    """Return the status of a pod none of whose containers can be created; ``state`` is their waiting state."""
    mains, inits = (
        [not_created(container, state) for container in containers]
        for containers in (containers_of(pod), init_containers_of(pod))
    )
    return {
        "phase": "Pending",
        "startTime": status_of(pod).get("startTime") or format_time(stage_context.now),
        **addresses(pod, stage_context, has_sandbox=False),
        "conditions": conditions(
            pod, container_conditions(pod, {}, "Pending", has_sandbox=False), now=stage_context.now
        ),
        "containerStatuses": mains,
        **({"initContainerStatuses": inits} if inits else {}),
        "observedGeneration": pod["metadata"].get("generation", 1),
    }
