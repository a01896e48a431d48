"""Events of the kubelet about containers (upstream: ``pkg/kubelet/kuberuntime`` and ``pkg/kubelet/images``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


class Event(NamedTuple):
    """An event of the kubelet about a container, or about the pod when ``container`` is empty."""

    type: str
    reason: str
    message: str
    container: str = ""


def start_events(container: Tree, *, is_pulled: bool) -> tuple[Event, ...]:
    """Return the events of a container that starts. ``is_pulled``: its image is pulled first, in no time."""
    name, image = container["name"], container.get("image", "")
    image_events: tuple[Event, ...]
    if is_pulled:
        pulled = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: 0 bytes.'
        image_events = (
            Event("Normal", "Pulling", f'Pulling image "{image}"', name),
            Event("Normal", "Pulled", pulled, name),
        )
    else:
        present = f'Container image "{image}" already present on machine and can be accessed by the pod'
        image_events = (Event("Normal", "Pulled", present, name),)
    return (
        *image_events,
        Event("Normal", "Created", "Container created", name),
        Event("Normal", "Started", "Container started", name),
    )


def stop_event(container: str) -> Event:
    """Return the event of a container that is stopped because its pod is deleted."""
    return Event("Normal", "Killing", f"Stopping container {container}", container)


def restart_event(container: str) -> Event:
    """Return the event of a container that is stopped because its spec changed."""
    return Event("Normal", "Killing", f"Container {container} definition changed, will be restarted", container)
