"""Pod statuses as a kubelet reports them: pure functions from a pod to a patch of its status, as trees.

Times are RFC 3339 with seconds. Fields that a patch does not contain are unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import add_seconds, format_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.stages import StageContext


#: Action of a restart rule, the reason for which containers then wait, and the pod's condition (KEP-5532).
RESTART_ALL: Final = "RestartAllContainers"
RESTARTING_ALL: Final = "RestartingAllContainers"
ALL_CONTAINERS_RESTARTING: Final = "AllContainersRestarting"

#: Exit code of a container that SIGTERM has ended.
SIGTERM_CODE: Final = 143

_READY_MISSING: Final = 'corresponding condition of pod readiness gate "{}" does not exist.'
_READY_FALSE: Final = 'the status of pod readiness gate "{}" is not "True", but {}'


def spec_of(pod: Tree) -> Tree:
    """Return the pod's spec; empty if missing."""
    return pod.get("spec") or {}


def status_of(pod: Tree) -> Tree:
    """Return the pod's status; empty if missing."""
    return pod.get("status") or {}


def is_running(pod: Tree) -> bool:
    """True if the pod's phase is ``Running``."""
    return status_of(pod).get("phase") == "Running"


def is_finished(pod: Tree) -> bool:
    """True if the pod's phase is ``Succeeded`` or ``Failed``."""
    return status_of(pod).get("phase") in ("Succeeded", "Failed")


def is_terminating(pod: Tree) -> bool:
    """True if the pod has a deletion timestamp."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def containers_of(pod: Tree) -> list[Tree]:
    """Return the pod's containers."""
    return spec_of(pod).get("containers") or []


def init_containers_of(pod: Tree) -> list[Tree]:
    """Return the pod's init containers, including sidecars."""
    return spec_of(pod).get("initContainers") or []


def container_statuses(pod: Tree) -> dict[str, Tree]:
    """Return the statuses of init containers and containers by name."""
    return {
        container_status.get("name", ""): container_status
        for kind in ("initContainerStatuses", "containerStatuses")
        for container_status in status_of(pod).get(kind) or ()
    }


def is_container_running(container_status: Tree) -> bool:
    """True if the container runs."""
    return (container_status.get("state") or {}).get("running") is not None


def is_container_terminated(container_status: Tree) -> bool:
    """True if the last run of the container has ended and no restart is pending."""
    return (container_status.get("state") or {}).get("terminated") is not None


def is_sidecar(container: Tree) -> bool:
    """True for a restartable init container (KEP-753)."""
    return container.get("restartPolicy") == "Always"


def addresses(pod: Tree, stage_context: StageContext, *, has_sandbox: bool = True) -> Tree:
    """Return the addresses of a pod's node, and those of the pod if it has a sandbox."""
    host = {"hostIP": stage_context.host_ip, "hostIPs": [{"ip": stage_context.host_ip}]}
    if not has_sandbox:
        return host
    ip = stage_context.host_ip if spec_of(pod).get("hostNetwork") else stage_context.pod_ip
    return {**host, "podIP": ip, "podIPs": [{"ip": ip}]}


# Conditions


def conditions(pod: Tree, desired: Iterable[tuple[str, bool, str, str]], *, now: datetime) -> list[Tree]:
    """Return conditions from type, status, reason and message; an unchanged status keeps its transition time."""
    conditions_by_type = {condition.get("type"): condition for condition in status_of(pod).get("conditions") or ()}
    new_conditions, stamp = [], format_time(now)
    for kind, holds, reason, message in desired:
        status = "True" if holds else "False"
        old = conditions_by_type.get(kind)
        since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
        condition: Tree = {
            "type": kind,
            "status": status,
            "lastProbeTime": None,
            "lastTransitionTime": since or stamp,
            "reason": reason or None,
            "message": message or None,
        }
        if kind != ALL_CONTAINERS_RESTARTING:
            condition["observedGeneration"] = pod["metadata"].get("generation", 1)
        new_conditions.append(condition)
    return new_conditions


def readiness(pod: Tree) -> tuple[str, bool, str, str]:
    """Return the condition ``Ready`` of a pod whose containers are ready, by the conditions in ``readinessGates``."""
    status_by_type = {
        condition.get("type"): condition.get("status") for condition in status_of(pod).get("conditions") or ()
    }
    missing = []
    for gate in spec_of(pod).get("readinessGates") or ():
        name = gate.get("conditionType", "")
        if name not in status_by_type:
            missing.append(_READY_MISSING.format(name))
        elif status_by_type[name] != "True":
            missing.append(_READY_FALSE.format(name, status_by_type[name]))
    return ("Ready", False, "ReadinessGatesNotReady", ", ".join(missing)) if missing else ("Ready", True, "", "")


# Statuses


def is_ready_condition_stale(pod: Tree) -> bool:
    """Report whether the condition ``Ready`` of a running pod differs from its containers and readiness gates.

    Pods whose containers are not ready are skipped. The node lifecycle controller sets ``Ready`` to False when a node
    is unreachable; the kubelet resets it when the node returns (upstream: pkg/kubelet/status, needsReconcile).
    """
    reported = {condition.get("type"): condition for condition in status_of(pod).get("conditions") or ()}
    if (reported.get("ContainersReady") or {}).get("status") != "True":
        return False
    _, is_ready, _, message = readiness(pod)
    ready = reported.get("Ready") or {}
    return (ready.get("status") == "True") is not is_ready or (ready.get("message") or "") != message


def ready_condition_patch(pod: Tree, stage_context: StageContext) -> Tree:
    """Return a status patch with the condition ``Ready`` that follows from the readiness gates."""
    return {"conditions": conditions(pod, [readiness(pod)], now=stage_context.now)}


def restart_action(pod: Tree, container: Tree, exit_code: int, *, is_init: bool = False) -> str:
    """Return ``Restart``, ``RestartAllContainers``, or nothing (upstream: ``ContainerShouldRestart``, KEP-5307)."""
    if is_init and not is_sidecar(container) and exit_code == 0:
        return ""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        if (exit_code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return str(rule.get("action") or "Restart")
    policy = container.get("restartPolicy") or spec_of(pod).get("restartPolicy") or "Always"
    return "Restart" if policy == "Always" or (policy == "OnFailure" and exit_code != 0) else ""


def deadline_of(pod: Tree) -> datetime | None:
    """Return the time at which ``activeDeadlineSeconds`` expire; None without a deadline or start time."""
    seconds, since = spec_of(pod).get("activeDeadlineSeconds"), status_of(pod).get("startTime")
    return add_seconds(parse_time(since), seconds) if seconds is not None and since else None


# Containers


def running_containers(pod: Tree) -> Iterator[str]:
    """Yield the names of running containers, init containers last."""
    for kind in ("containerStatuses", "initContainerStatuses"):
        for container_status in status_of(pod).get(kind) or ():
            if is_container_running(container_status):
                yield container_status["name"]


def not_created(container: Tree, state: Tree) -> Tree:
    """Return the status of a container that was never created."""
    return {
        "name": container.get("name", ""),
        "image": container.get("image", ""),
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "lastState": {},
        "state": {"waiting": state},
        **mounted_volumes(container),
    }


def mounted_volumes(container: Tree) -> Tree:
    """Return the field ``volumeMounts`` of a container's status, without the field if nothing is mounted.

    The nodes report no runtime handler with recursive read-only mounts, so that none is recursive.
    Upstream: ``convertToAPIContainerStatuses`` in pkg/kubelet/kubelet_pods.go.
    """
    mounts = []
    for mount in container.get("volumeMounts") or ():
        reported: Tree = {"name": mount["name"], "mountPath": mount["mountPath"]}
        if mount.get("readOnly"):
            reported |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
        mounts.append(reported)
    return {"volumeMounts": mounts} if mounts else {}


def container_id(pod: Tree, name: str, restarts_: int) -> str:
    """Return the ID of a container's run, which includes its restart count."""
    return f"simulated://{pod['metadata'].get('uid', '')}/{name}/{restarts_}"


def started(pod: Tree, container: Tree, since: str) -> Tree:
    """Return the status of a running container; ``since`` applies unless the status has a start time."""
    old = container_statuses(pod).get(container["name"]) or {}
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
        **mounted_volumes(container),
        **user_of(pod, container),
    }
    return with_resources(status, container)


def with_resources(status: Tree, container: Tree) -> Tree:
    """Return a container status with the container's resources as allocated ones.

    ``resources`` is present, empty if need be, in the status of every container that was created.
    """
    granted = {key: value for key, value in status.items() if key != "allocatedResources"}
    return granted | allocated(container)


def allocated(container: Tree) -> Tree:
    """Return the fields of a created container's status that report its resources. Upstream:
    ``convertContainerStatusResources``.
    """
    resources = container.get("resources") or {}
    requests = resources.get("requests")
    return {"resources": resources, "allocatedResources": requests} if requests else {"resources": resources}


def user_of(pod: Tree, container: Tree) -> Tree:
    """Return the field ``user`` of a container's status (KEP-3619), without the field if the user is unknown.

    Images are not pulled: the user of an image counts as root, and nothing is known of it if it may not be root.
    """
    merged = _security_context(pod, container)
    is_windows = (spec_of(pod).get("os") or {}).get("name") == "windows"
    if is_windows or (merged.get("runAsNonRoot") and not merged.get("runAsUser")):
        return {}
    uid, gid = merged.get("runAsUser", 0), merged.get("runAsGroup", 0)
    added = [merged["fsGroup"]] if "fsGroup" in merged else []
    groups = dict.fromkeys([gid, *added, *merged.get("supplementalGroups", ())])
    return {"user": {"linux": {"uid": uid, "gid": gid, "supplementalGroups": [*groups]}}}


def root_error(pod: Tree, container: Tree) -> str:
    """Return why a container that must not run as root cannot be created; empty if it can.

    Upstream: ``verifyRunAsNonRoot`` in pkg/kubelet/kuberuntime.
    """
    context = _security_context(pod, container)
    if not context.get("runAsNonRoot") or context.get("runAsUser") != 0:
        return ""
    metadata = pod["metadata"]
    pod_text = f"{metadata.get('name', '')}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"
    return f'container\'s runAsUser breaks non-root policy (pod: "{pod_text}", container: {container["name"]})'


def _security_context(pod: Tree, container: Tree) -> Tree:
    """Return the container's security context, merged over the pod's."""
    contexts = [spec_of(pod).get("securityContext") or {}, container.get("securityContext") or {}]
    return {key: value for context in contexts for key, value in context.items() if value is not None}


def container_field_path(pod: Tree, name: str) -> str:
    """Return the field path of a container for events about it; empty for none.

    Upstream: ``pkg/kubelet/container/ref.go``, ``fieldPath``.
    """
    spec = spec_of(pod)
    for field in ("containers", "initContainers", "ephemeralContainers"):
        if any(container["name"] == name for container in spec.get(field) or ()):
            return f"spec.{field}{{{name}}}"
    return ""


def terminated(exit_code: int, started_at: str, ended: str, container: str) -> Tree:
    """Return a terminated container state; times as texts, ``container`` is the container ID."""
    return {
        "terminated": {
            "exitCode": exit_code,
            "reason": "Completed" if exit_code == 0 else "Error",
            "startedAt": started_at,
            "finishedAt": ended,
            "containerID": container,
        }
    }
