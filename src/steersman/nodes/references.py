"""Secrets and ConfigMaps required for the start of a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.trees import Tree


class Reference(NamedTuple):
    """A required (not optional) Secret or ConfigMap, and the volume or the container that needs it."""

    kind: str
    name: str
    volume: str = ""
    container: str = ""

    @property
    def error(self) -> str:
        """Error of the kubelet for a missing object."""
        return f'{self.kind.lower()} "{self.name}" not found'


def references(pod: Tree) -> Iterator[Reference]:
    """Yield the references of the pod's volumes, then those of its containers, in the order of the spec."""
    spec = pod.get("spec") or {}
    for volume in spec.get("volumes") or ():
        for kind, name in _of_volume(volume):
            yield Reference(kind, name, volume=volume.get("name", ""))
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        for kind, name in _of_container(container):
            yield Reference(kind, name, container=container.get("name", ""))


def _of_volume(volume: Tree) -> Iterator[tuple[str, str]]:
    yield from _named("Secret", volume.get("secret"), "secretName")
    yield from _named("ConfigMap", volume.get("configMap"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield from _named("Secret", source.get("secret"))
        yield from _named("ConfigMap", source.get("configMap"))


def _of_container(container: Tree) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or ():
        yield from _named("ConfigMap", source.get("configMapRef"))
        yield from _named("Secret", source.get("secretRef"))
    for variable in container.get("env") or ():
        value = variable.get("valueFrom") or {}
        yield from _named("ConfigMap", value.get("configMapKeyRef"))
        yield from _named("Secret", value.get("secretKeyRef"))


def _named(kind: str, source: Tree | None, field: str = "name") -> Iterator[tuple[str, str]]:
    if source and source.get(field) and not source.get("optional"):
        yield kind, source[field]


def missing_references(pod: Tree, exists: Callable[[str, str, str], bool]) -> list[Reference]:
    """Return the references whose object is missing; ``exists`` takes kind, namespace and name."""
    namespace = pod["metadata"].get("namespace", "")
    return [reference for reference in references(pod) if not exists(reference.kind, namespace, reference.name)]


def missing_pull_secrets(pod: Tree, exists: Callable[[str, str, str], bool]) -> list[str]:
    """Return the names of missing Secrets in ``imagePullSecrets``, which a pod does not wait for."""
    namespace = pod["metadata"].get("namespace", "")
    names = [secret.get("name", "") for secret in (pod.get("spec") or {}).get("imagePullSecrets") or ()]
    return [name for name in names if not exists("Secret", namespace, name)]
