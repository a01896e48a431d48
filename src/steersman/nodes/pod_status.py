"""What a kubelet says of a pod: pure functions from the pod to its next status, as trees.

Times are ``2026-01-02T03:04:05Z``. What is not named stays as it is, for these are patches.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.timestamps import format_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from steersman.nodes.stages import Surroundings

    Tree = dict[str, Any]

_READY_MISSING: Final = 'corresponding condition of pod readiness gate "{}" does not exist.'
_READY_FALSE: Final = 'the status of pod readiness gate "{}" is not "True", but {}'


def spec_of(pod: Tree) -> Tree:
    """Never missing."""
    return pod.get("spec") or {}


def status_of(pod: Tree) -> Tree:
    """Empty where there is none."""
    return pod.get("status") or {}


def is_running(pod: Tree) -> bool:
    """Whether its phase is ``Running``."""
    return status_of(pod).get("phase") == "Running"


def is_finished(pod: Tree) -> bool:
    """Whether it has succeeded or failed."""
    return status_of(pod).get("phase") in ("Succeeded", "Failed")


def is_terminating(pod: Tree) -> bool:
    """Whether somebody has asked for its deletion."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def _containers(pod: Tree) -> list[Tree]:
    return spec_of(pod).get("containers") or []


def _init_containers(pod: Tree) -> list[Tree]:
    return spec_of(pod).get("initContainers") or []


def is_sidecar(container: Tree) -> bool:
    """True for an init container that keeps running beside the others."""
    return container.get("restartPolicy") == "Always"


def addresses(pod: Tree, around: Surroundings) -> Tree:
    """Return the addresses of a pod and of its node."""
    ip = around.host_ip if spec_of(pod).get("hostNetwork") else around.pod_ip
    return {
        "hostIP": around.host_ip,
        "hostIPs": [{"ip": around.host_ip}],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
    }


# Conditions


def conditions(pod: Tree, wanted: Iterable[tuple[str, bool, str, str]], *, now: datetime) -> list[Tree]:
    """Conditions by type, whether they hold, reason and message; one that has not turned keeps its time."""
    known = {each.get("type"): each for each in status_of(pod).get("conditions") or ()}
    made, stamp = [], format_time(now)
    for kind, holds, reason, message in wanted:
        status = "True" if holds else "False"
        old = known.get(kind)
        since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
        condition: Tree = {
            "type": kind,
            "status": status,
            "lastProbeTime": None,
            "lastTransitionTime": since or stamp,
            "observedGeneration": pod["metadata"].get("generation", 1),
        }
        condition["reason"] = reason or None
        condition["message"] = message or None
        made.append(condition)
    return made


def readiness(pod: Tree, *, containers_ready: bool, why: str = "") -> tuple[str, bool, str, str]:
    """The condition ``Ready``: containers, and the conditions that ``readinessGates`` name."""
    if not containers_ready:
        return "Ready", False, why, ""
    held = {each.get("type"): each.get("status") for each in status_of(pod).get("conditions") or ()}
    missing = []
    for gate in spec_of(pod).get("readinessGates") or ():
        name = gate.get("conditionType", "")
        if name not in held:
            missing.append(_READY_MISSING.format(name))
        elif held[name] != "True":
            missing.append(_READY_FALSE.format(name, f'"{held[name]}"'))
    return ("Ready", False, "ReadinessGatesNotReady", ", ".join(missing)) if missing else ("Ready", True, "", "")


# Statuses


def waiting(pod: Tree, around: Surroundings, *, reason: str, message: str) -> Tree:
    """Containers cannot be made; the pod stays ``Pending``."""
    names = ", ".join(each.get("name", "") for each in _containers(pod))
    unready = f"containers with unready status: [{names.replace(',', '')}]"
    return {
        "phase": "Pending",
        "startTime": status_of(pod).get("startTime") or format_time(around.now),
        "hostIP": around.host_ip,
        "hostIPs": [{"ip": around.host_ip}],
        "conditions": conditions(
            pod,
            [
                ("PodReadyToStartContainers", False, "", ""),
                ("Initialized", True, "", ""),
                ("Ready", False, "ContainersNotReady", unready),
                ("ContainersReady", False, "ContainersNotReady", unready),
            ],
            now=around.now,
        ),
        "containerStatuses": [
            {
                "name": each.get("name", ""),
                "image": each.get("image", ""),
                "imageID": "",
                "ready": False,
                "started": False,
                "restartCount": 0,
                "lastState": {},
                "state": {"waiting": {"reason": reason, "message": message}},
            }
            for each in _containers(pod)
        ],
        "observedGeneration": pod["metadata"].get("generation", 1),
    }


def gates_disagree(pod: Tree) -> bool:
    """Report whether the condition ``Ready`` of a running pod differs from its containers and readiness gates.

    Pods whose containers are not ready are left alone. The node lifecycle controller sets ``Ready`` to False when a node
    is lost; the kubelet sets it back when the node returns (upstream: pkg/kubelet/status, needsReconcile).
    """
    reported = {each.get("type"): each for each in status_of(pod).get("conditions") or ()}
    if (reported.get("ContainersReady") or {}).get("status") != "True":
        return False
    _, is_ready, _, message = readiness(pod, containers_ready=True)
    ready = reported.get("Ready") or {}
    return (ready.get("status") == "True") is not is_ready or (ready.get("message") or "") != message


def gates_followed(pod: Tree, around: Surroundings) -> Tree:
    """The condition ``Ready`` as the readiness gates have it."""
    return {"conditions": conditions(pod, [readiness(pod, containers_ready=True)], now=around.now)}


def finished(pod: Tree, around: Surroundings, *, exit_code: int = 0, reason: str = "", message: str = "") -> Tree:
    """All containers have ended for good: the pod has succeeded, or failed."""
    succeeded = exit_code == 0 and not reason
    text = "PodCompleted" if succeeded else "PodFailed"
    status: Tree = {
        "phase": "Succeeded" if succeeded else "Failed",
        "startTime": status_of(pod).get("startTime") or format_time(around.now),
        **addresses(pod, around),
        "conditions": conditions(
            pod,
            [
                ("PodReadyToStartContainers", False, "", ""),
                ("Initialized", True, "PodCompleted" if succeeded else "", ""),
                ("Ready", False, text, ""),
                ("ContainersReady", False, text, ""),
            ],
            now=around.now,
        ),
        "containerStatuses": [_ended(pod, each, around.now, exit_code) for each in _containers(pod)],
        **_optional("initContainerStatuses", _ended_init_containers(pod, around.now)),
        **_optional("ephemeralContainerStatuses", _ended_ephemeral_containers(pod, around.now)),
        "observedGeneration": pod["metadata"].get("generation", 1),
    }
    if reason:
        status["reason"], status["message"] = reason, message
    return status


def restarts(pod: Tree, exit_code: int) -> bool:
    """Whether the pod's restart policy starts a container again that ended so."""
    policy = spec_of(pod).get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def deadline_of(pod: Tree) -> datetime | None:
    """When ``activeDeadlineSeconds`` are over."""
    seconds, since = spec_of(pod).get("activeDeadlineSeconds"), status_of(pod).get("startTime")
    return parse_time(since) + timedelta(seconds=seconds) if seconds is not None and since else None


# Containers


def _optional(name: str, statuses: Iterable[Tree]) -> Tree:
    found = list(statuses)
    return {name: found} if found else {}


def _status_of_container(pod: Tree, name: str) -> Tree:
    for kind in ("containerStatuses", "initContainerStatuses"):
        for each in status_of(pod).get(kind) or ():
            if each.get("name") == name:
                found: Tree = each
                return found
    return {}


def container_id(pod: Tree, name: str, restarts_: int) -> str:
    """Of a container that was started again so many times."""
    return f"simulated://{pod['metadata'].get('uid', '')}/{name}/{restarts_}"


def started(pod: Tree, container: Tree, since: str) -> Tree:
    """Of a container that runs: since then, or since it says that it does."""
    old = _status_of_container(pod, container["name"])
    count = old.get("restartCount", 0)
    status: Tree = {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": container.get("image", ""),
        "containerID": container_id(pod, container["name"], count),
        "ready": True,
        "started": True,
        "restartCount": count,
        "lastState": old.get("lastState") or {},
        "state": old["state"] if "running" in (old.get("state") or {}) else {"running": {"startedAt": since}},
    }
    return with_resources(status, container)


def with_resources(status: Tree, container: Tree) -> Tree:
    """The status of a container that was granted what it asks for."""
    resources = container.get("resources") or {}
    granted = {key: value for key, value in status.items() if key not in ("resources", "allocatedResources")}
    if resources:
        granted["resources"] = resources
    if resources.get("requests"):
        granted["allocatedResources"] = resources["requests"]
    return granted


def terminated(exit_code: int, begun: str, ended: str, container: str) -> Tree:
    """The state of a container that has ended; times as texts, and its id."""
    return {
        "terminated": {
            "exitCode": exit_code,
            "reason": "Completed" if exit_code == 0 else "Error",
            "startedAt": begun,
            "finishedAt": ended,
            "containerID": container,
        }
    }


def _ended(pod: Tree, container: Tree, now: datetime, exit_code: int) -> Tree:
    """Stop a container; one that has ended before keeps its state."""
    old = _status_of_container(pod, container["name"])
    if "terminated" in (old.get("state") or {}):
        return old
    ended = format_time(now)
    begun = ((old.get("state") or {}).get("running") or {}).get("startedAt") or ended
    status = {**started(pod, container, ended), "ready": False, "started": False}
    status["state"] = terminated(exit_code, begun, ended, status["containerID"])
    return status


def _ended_init_containers(pod: Tree, now: datetime) -> Iterator[Tree]:
    for each in _init_containers(pod):
        yield _ended(pod, each, now, 0)


def _ended_ephemeral_containers(pod: Tree, now: datetime) -> Iterator[Tree]:
    for each in status_of(pod).get("ephemeralContainerStatuses") or ():
        begun = ((each.get("state") or {}).get("running") or {}).get("startedAt")
        yield {**each, "state": terminated(0, begun, format_time(now), each.get("containerID", ""))} if begun else each
