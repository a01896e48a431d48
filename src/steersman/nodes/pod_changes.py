"""Status updates of a running pod after changes of its spec: images, in-place resize (KEP-1287), ephemeral containers
(KEP-277).

A new image restarts its container, and so do new resources if ``resizePolicy`` requires it; other resizes are granted without a
check of the node's allocatable resources. An image that cannot be pulled stops its container. Ephemeral
containers start when they are added, and are never restarted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.timestamps import format_time
from steersman.nodes.pod_conditions import container_conditions
from steersman.nodes.pod_status import (
    SIGTERM_CODE,
    conditions,
    container_id,
    container_statuses,
    is_container_running,
    spec_of,
    started,
    status_of,
    terminated,
    with_resources,
)
from steersman.nodes.simulation.behavior import annotations_of, behavior_of
from steersman.nodes.simulation.events import resize_events, restart_event, start_events
from steersman.nodes.simulation.images import image_problem, is_pulled

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.simulation.events import Event
    from steersman.nodes.stages import StageContext


def is_spec_unobserved(pod: Tree) -> bool:
    """True if the status was observed at an earlier generation; a status without a generation was written by another component."""
    observed = status_of(pod).get("observedGeneration")
    return bool(observed) and observed < pod["metadata"].get("generation", 1)


def status_for_spec(pod: Tree, stage_context: StageContext) -> tuple[Tree, list[Event]]:
    """Return the status of a running pod for its current spec, and the events of containers that stop or start by it."""
    spec, status = spec_of(pod), status_of(pod)
    events: list[Event] = []
    now = format_time(stage_context.now)
    new_status: Tree = {"observedGeneration": pod["metadata"].get("generation", 1)}
    for field, kind in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
        previous_statuses = {status.get("name"): status for status in status.get(kind) or ()}
        if spec.get(field) and previous_statuses:
            new_status[kind] = [
                _follow(pod, container, previous_statuses.get(container["name"]), stage_context.now, events)
                for container in spec[field]
            ]
    statuses = container_statuses({"status": {**status, **new_status}})
    if any(_is_resized(old, statuses.get(name, old)) for name, old in container_statuses(pod).items()):
        resize_started, resize_completed = resize_events(pod)
        events = [resize_started, *events, resize_completed]
    new_status["conditions"] = conditions(
        pod, container_conditions(pod, statuses, status.get("phase", "")), now=stage_context.now
    )
    added = spec.get("ephemeralContainers")
    if added:
        previous_statuses = {status.get("name"): status for status in status.get("ephemeralContainerStatuses") or ()}
        new_status["ephemeralContainerStatuses"] = [
            previous_statuses.get(container["name"]) or _attached(pod, container, now, events) for container in added
        ]
    return new_status, events


def _attached(pod: Tree, container: Tree, since: str, events: list[Event]) -> Tree:
    """Return the status of an ephemeral container; it has no readiness, so it is never ready."""
    events += _start_events(pod, container)
    status = started(pod, container, since)
    del status["started"]
    return {**status, "ready": False}


def _start_events(pod: Tree, container: Tree) -> tuple[Event, ...]:
    behavior = behavior_of(annotations_of(pod), container["name"])
    return start_events(container, is_pulled=is_pulled(container, behavior))


def _follow(pod: Tree, container: Tree, status: Tree | None, now: datetime, events: list[Event]) -> Tree:
    if status is None:
        events += _start_events(pod, container)
        return started(pod, container, format_time(now))
    if "running" not in (status.get("state") or {}):
        return status
    updated = with_resources(status, container)
    if not _restarts(container, status):
        return updated
    has_same_image = container.get("image", "") == status.get("image")
    events.append(restart_event(container["name"], is_resized=has_same_image))
    started_at, image = status["state"]["running"].get("startedAt"), container.get("image", "")
    last = terminated(SIGTERM_CODE, started_at or format_time(now), format_time(now), status["containerID"])
    updated |= {"image": image, "imageID": image, "lastState": last}
    behavior = behavior_of(annotations_of(pod), container["name"])
    if image_problem(container, behavior, since=now, now=now) is not None:
        waiting = {"waiting": {"reason": "ContainerCreating"}}
        return updated | {"ready": False, "started": False, "state": waiting}
    events += _start_events(pod, container)
    count = status.get("restartCount", 0) + 1
    return updated | {
        "restartCount": count,
        "containerID": container_id(pod, container["name"], count),
        "state": {"running": {"startedAt": format_time(now)}},
    }


def _is_resized(old: Tree, new: Tree) -> bool:
    return is_container_running(old) and (old.get("resources") or {}) != (new.get("resources") or {})


def _restarts(container: Tree, status: Tree) -> bool:
    """True if the change of image or resources requires a restart of the container."""
    if container.get("image", "") != status.get("image"):
        return True
    desired, allocated = container.get("resources") or {}, status.get("resources") or {}
    restarting = {
        policy.get("resourceName")
        for policy in container.get("resizePolicy") or ()
        if policy.get("restartPolicy") == "RestartContainer"
    }
    return any(
        (desired.get(kind) or {}).get(name) != (allocated.get(kind) or {}).get(name)
        for kind in ("requests", "limits")
        for name in restarting
    )
