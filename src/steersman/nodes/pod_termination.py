"""Status of a pod whose containers have all been stopped (upstream: ``TerminatePod`` in ``pkg/kubelet/status``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import add_seconds, format_time, parse_time
from steersman.nodes.pod_conditions import container_conditions
from steersman.nodes.pod_status import (
    addresses,
    conditions,
    container_statuses,
    containers_of,
    init_containers_of,
    is_container_running,
    is_container_terminated,
    is_sidecar,
    not_created,
    running_containers,
    status_of,
    terminated,
)
from steersman.nodes.simulation.programs import program_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.stages import StageContext


#: State of a container that never ran in a pod that was initialized.
_UNKNOWN: Final = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}


def stop_time(pod: Tree) -> datetime | None:
    """Return when SIGTERM is sent to the containers of a terminating pod; None: at once.

    The ``preStop`` hooks run before, at most for the grace period: ``sleep``, and commands that are interpreted.
    Upstream: ``killContainer`` in pkg/kubelet/kuberuntime.
    """
    running = set(running_containers(pod))
    hooks = (
        _hook_seconds((container.get("lifecycle") or {}).get("preStop") or {})
        for container in (*containers_of(pod), *init_containers_of(pod))
        if container["name"] in running
    )
    seconds = max(hooks, default=0.0)
    metadata = pod["metadata"]
    if not seconds or not metadata.get("deletionTimestamp"):
        return None
    grace_seconds = metadata.get("deletionGracePeriodSeconds") or 0
    # ``deletionTimestamp`` is the end of the grace period.
    return add_seconds(parse_time(metadata["deletionTimestamp"]), min(seconds, grace_seconds) - grace_seconds)


def _hook_seconds(hook: Tree) -> float:
    if hook.get("sleep"):
        return float(hook["sleep"].get("seconds") or 0)
    program = program_of(hook.get("exec") or {})
    return (program.seconds or 0.0) if program is not None else 0.0


def finished(pod: Tree, stage_context: StageContext, *, exit_code: int, reason: str = "", message: str = "") -> Tree:
    """Return the status of a pod whose running containers exit with a code; its phase is ``Succeeded`` or ``Failed``.

    Sidecars exit with 0. ``reason`` and ``message`` of a pod that fails regardless of its containers.
    """
    old = container_statuses(pod)
    ended = format_time(stage_context.now)
    mains = [_ended(old.get(main["name"]) or not_created(main, {}), ended, exit_code) for main in containers_of(pod)]
    inits = [
        _ended(old.get(init["name"]) or not_created(init, {}), ended, 0 if is_sidecar(init) else exit_code)
        for init in init_containers_of(pod)
    ]
    if _was_initialized(pod):
        mains = [_located(status) for status in mains]
    last = max((place for place, status in enumerate(inits) if is_container_terminated(status)), default=0)
    inits = [_located(status) if place <= last else status for place, status in enumerate(inits)]
    phase = "Failed" if reason or not all(map(_has_succeeded, mains)) else "Succeeded"
    statuses = {status["name"]: status for status in (*inits, *mains)}
    new_status: Tree = {
        "phase": phase,
        "startTime": status_of(pod).get("startTime") or ended,
        **addresses(pod, stage_context, has_sandbox=bool(status_of(pod).get("podIP"))),
        "conditions": conditions(pod, container_conditions(pod, statuses, phase), now=stage_context.now),
        "containerStatuses": mains,
        "observedGeneration": pod["metadata"].get("generation", 1),
    }
    ephemeral = [_ended(status, ended, 0) for status in status_of(pod).get("ephemeralContainerStatuses") or ()]
    for field, listed in (("initContainerStatuses", inits), ("ephemeralContainerStatuses", ephemeral)):
        if listed:
            new_status[field] = listed
    if reason:
        new_status["reason"], new_status["message"] = reason, message
    return new_status


def _ended(status: Tree, ended: str, exit_code: int) -> Tree:
    """Return the status of a stopped container, or that of its last run if a restart is pending."""
    if is_container_running(status):
        started_at = status["state"]["running"].get("startedAt") or ended
        state = terminated(exit_code, started_at, ended, status.get("containerID", ""))
        return {**status, "ready": False, "state": state, **({"started": False} if "started" in status else {})}
    last = (status.get("lastState") or {}).get("terminated")
    if last and not is_container_terminated(status):
        return {**status, "state": {"terminated": last}, "lastState": {}}
    return status


def _located(status: Tree) -> Tree:
    return status if is_container_terminated(status) else {**status, "state": {"terminated": _UNKNOWN}}


def _has_succeeded(status: Tree) -> bool:
    ended = (status.get("state") or {}).get("terminated")
    return ended is not None and not ended.get("exitCode", 0)


def _was_initialized(pod: Tree) -> bool:
    """Report whether the pod's containers could start (upstream: ``hasPodInitialized``)."""
    inits, statuses = init_containers_of(pod), container_statuses(pod)
    mains: Sequence[Tree] = [statuses.get(main["name"]) or {} for main in containers_of(pod)]
    if not inits or any(
        is_container_running(main) or is_container_terminated(main) or main.get("lastState") for main in mains
    ):
        return True
    last = statuses.get(inits[-1]["name"]) or {}
    return bool(last.get("started")) if is_sidecar(inits[-1]) else _has_succeeded(last)
