"""How a running pod follows what may change in its spec: images, resources (KEP-1287), ephemeral containers (KEP-277).

A new image starts its container anew, as do new resources where ``resizePolicy`` says so; others are granted as they
stand, whatever the node has left. A new image that cannot be pulled stops its container. Ephemeral containers start when they are added, and never again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.timestamps import format_time
from steersman.nodes.pod_status import (
    container_id,
    spec_of,
    started,
    status_of,
    terminated,
    with_resources,
)
from steersman.nodes.simulation.behavior import annotations_of, behavior_of
from steersman.nodes.simulation.images import image_problem

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.nodes.stages import Surroundings

    Tree = dict[str, Any]


def is_behind(pod: Tree) -> bool:
    """Whether the status tells of an earlier spec; a status that names no generation was written by somebody else."""
    observed = status_of(pod).get("observedGeneration")
    return bool(observed) and observed < pod["metadata"].get("generation", 1)


def followed(pod: Tree, around: Surroundings) -> Tree:
    """The status of a running pod as the spec is now."""
    spec, status = spec_of(pod), status_of(pod)
    now = format_time(around.now)
    made: Tree = {"observedGeneration": pod["metadata"].get("generation", 1)}
    for field, kind in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
        known = {each.get("name"): each for each in status.get(kind) or ()}
        if spec.get(field) and known:
            made[kind] = [_follow(pod, each, known.get(each["name"]), around.now) for each in spec[field]]
    added = spec.get("ephemeralContainers")
    if added:
        known = {each.get("name"): each for each in status.get("ephemeralContainerStatuses") or ()}
        made["ephemeralContainerStatuses"] = [known.get(each["name"]) or _attached(pod, each, now) for each in added]
    return made


def _attached(pod: Tree, container: Tree, since: str) -> Tree:
    """Nothing waits for it, so it is never ready."""
    status = started(pod, container, since)
    del status["started"]
    return {**status, "ready": False}


def _follow(pod: Tree, container: Tree, status: Tree | None, now: datetime) -> Tree:
    if status is None:
        return started(pod, container, format_time(now))
    if "running" not in (status.get("state") or {}):
        return status
    followed_status = with_resources(status, container)
    if not _restarts(container, status):
        return followed_status
    begun, image = status["state"]["running"].get("startedAt"), container.get("image", "")
    last = terminated(0, begun or format_time(now), format_time(now), status["containerID"])
    followed_status |= {"image": image, "imageID": image, "lastState": last}
    behavior = behavior_of(annotations_of(pod), container["name"])
    if image_problem(container, behavior, since=now, now=now) is not None:
        waiting = {"waiting": {"reason": "ContainerCreating"}}
        return followed_status | {"ready": False, "started": False, "state": waiting}
    count = status.get("restartCount", 0) + 1
    return followed_status | {
        "restartCount": count,
        "containerID": container_id(pod, container["name"], count),
        "state": {"running": {"startedAt": format_time(now)}},
    }


def _restarts(container: Tree, status: Tree) -> bool:
    """Whether what changed cannot be had in the container that runs."""
    if container.get("image", "") != status.get("image"):
        return True
    wanted, had = container.get("resources") or {}, status.get("resources") or {}
    restarting = {
        each.get("resourceName")
        for each in container.get("resizePolicy") or ()
        if each.get("restartPolicy") == "RestartContainer"
    }
    return any(
        (wanted.get(kind) or {}).get(name) != (had.get(kind) or {}).get(name)
        for kind in ("requests", "limits")
        for name in restarting
    )
