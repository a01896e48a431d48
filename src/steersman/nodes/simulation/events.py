"""Events of the kubelet about containers (upstream: ``pkg/kubelet/kuberuntime`` and ``pkg/kubelet/images``)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


class Event(NamedTuple):
    """An event of the kubelet about a container, or about the pod when ``container`` is empty."""

    type: str
    reason: str
    message: str
    container: str = ""


def start_events(container: Tree, *, is_pulled: bool) -> tuple[Event, ...]:
    """Return the events of a container that starts. ``is_pulled``: its image is pulled first."""
    name = container["name"]
    return (
        *_image_events(container, is_pulled=is_pulled),
        Event("Normal", "Created", "Container created", name),
        Event("Normal", "Started", "Container started", name),
    )


def config_error_events(container: Tree, message: str, *, is_pulled: bool) -> tuple[Event, ...]:
    """Return the events of a container that cannot be created, after its image was pulled."""
    failed = Event("Warning", "Failed", f"Error: {message}", container["name"])
    return (*_image_events(container, is_pulled=is_pulled), failed)


def _image_events(container: Tree, *, is_pulled: bool) -> tuple[Event, ...]:
    name, image = container["name"], container.get("image", "")
    if not is_pulled:
        present = f'Container image "{image}" already present on machine and can be accessed by the pod'
        return (Event("Normal", "Pulled", present, name),)
    pulled = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: 0 bytes.'
    return (
        Event("Normal", "Pulling", f'Pulling image "{image}"', name),
        Event("Normal", "Pulled", pulled, name),
    )


def stop_event(container: str) -> Event:
    """Return the event of a container that is stopped because its pod is deleted."""
    return Event("Normal", "Killing", f"Stopping container {container}", container)


def restart_event(container: str, *, is_resized: bool) -> Event:
    """Return the event of a container that is stopped because its resources, or other parts of its spec, changed."""
    reason = "resize requires restart" if is_resized else "definition changed, will be restarted"
    return Event("Normal", "Killing", f"Container {container} {reason}", container)


def resize_events(pod: Tree) -> tuple[Event, Event]:
    """Return the events of a resize that starts and completes (upstream: ``pkg/kubelet/events``)."""
    spec = pod.get("spec") or {}
    summary: dict[str, Any] = {
        kind: [
            {"name": container["name"], "resources": _ordered(container.get("resources") or {})}
            for container in spec[kind]
        ]
        for kind in ("initContainers", "containers")
        if spec.get(kind)
    }
    text = json.dumps({**summary, "generation": pod["metadata"].get("generation", 1)}, separators=(",", ":"))
    return (
        Event("Normal", "ResizeStarted", f"Pod resize started: {text}"),
        Event("Normal", "ResizeCompleted", f"Pod resize completed: {text}"),
    )


def _ordered(resources: Tree) -> Tree:
    """Return the amounts in the order in which Go encodes them."""
    return {kind: dict(sorted(resources[kind].items())) for kind in ("limits", "requests") if resources.get(kind)}
