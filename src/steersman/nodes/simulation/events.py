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


def restart_event(container: str) -> Event:
    """Return the event of a container that is stopped because its spec changed."""
    return Event("Normal", "Killing", f"Container {container} definition changed, will be restarted", container)
