"""Secrets and ConfigMaps that a pod requires to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.trees import Tree


def references(pod: Tree) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each required (not optional) Secret and ConfigMap."""
    spec = pod.get("spec") or {}
    for volume in spec.get("volumes") or ():
        yield from _of_volume(volume)
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        for source in container.get("envFrom") or ():
            yield from _named("Secret", source.get("secretRef"))
            yield from _named("ConfigMap", source.get("configMapRef"))
        for variable in container.get("env") or ():
            value = variable.get("valueFrom") or {}
            yield from _named("Secret", value.get("secretKeyRef"))
            yield from _named("ConfigMap", value.get("configMapKeyRef"))


def _of_volume(volume: Tree) -> Iterator[tuple[str, str]]:
    yield from _named("Secret", volume.get("secret"), "secretName")
    yield from _named("ConfigMap", volume.get("configMap"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield from _named("Secret", source.get("secret"))
        yield from _named("ConfigMap", source.get("configMap"))


def _named(kind: str, source: Tree | None, field: str = "name") -> Iterator[tuple[str, str]]:
    if source and source.get(field) and not source.get("optional"):
        yield kind, source[field]


def missing_reference(pod: Tree, exists: Callable[[str, str, str], bool]) -> tuple[str, str] | None:
    """Return kind and name of the first missing reference; ``exists`` takes kind, namespace and name."""
    namespace = pod["metadata"].get("namespace", "")
    for kind, name in dict.fromkeys(references(pod)):
        if not exists(kind, namespace, name):
            return kind, name
    return None
