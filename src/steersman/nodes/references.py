"""Secrets and ConfigMaps, and keys of them, required for the start of a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.nodes.object_keys import ObjectKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.object_keys import Keys

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


class Reference(NamedTuple):
    """A required (not optional) Secret or ConfigMap, or a key of it, and the volume or the container that needs it."""

    kind: str
    name: str
    #: Empty if no key is required.
    key: str = ""
    volume: str = ""
    container: str = ""

    def error(self, keys: Keys | None, *, namespace: str) -> str:
        """Return the kubelet's error for a missing object (without ``keys``) or a missing key; empty if present.

        Upstream: ``makeEnvironmentVariables`` of pkg/kubelet/kubelet_pods.go, ``MakePayload`` of pkg/volume.
        """
        if keys is None:
            return f'{self.kind.lower()} "{self.name}" not found'
        if not self.key or not isinstance(keys, ObjectKeys):
            return ""
        if self.container:
            is_missing = self.key not in keys.text
            return f"couldn't find key {self.key} in {self.kind} {namespace}/{self.name}" if is_missing else ""
        return "" if self.key in keys.files else missing_file_error(self.kind, self.key)


class MissingReference(NamedTuple):
    """A reference to a missing object or key, and the kubelet's error."""

    reference: Reference
    error: str


def missing_file_error(kind: str, key: str) -> str:
    """Return the kubelet's error for an item of a volume whose key is missing."""
    if kind == "Secret":
        return f"references non-existent secret key: {key}"
    return f"configmap references non-existent config key: {key}"


def references(pod: Tree) -> Iterator[Reference]:
    """Yield the references of mounted volumes, then those of containers, in the order of the spec."""
    spec = pod.get("spec") or {}
    for volume in mounted_volumes(pod):
        for reference in _of_volume(volume):
            yield reference._replace(volume=volume.get("name", ""))
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        for reference in _of_container(container):
            yield reference._replace(container=container.get("name", ""))


def mounted_volumes(pod: Tree) -> Iterator[Tree]:
    """Yield the volumes that a container uses; the kubelet ignores the others.

    Upstream: ``GetPodVolumeNames`` of pkg/volume/util.
    """
    spec = pod.get("spec") or {}
    containers = [container for field in _CONTAINERS for container in spec.get(field) or ()]
    used = {mount.get("name") for container in containers for mount in container.get("volumeMounts") or ()}
    used |= {device.get("name") for container in containers for device in container.get("volumeDevices") or ()}
    return (volume for volume in spec.get("volumes") or () if volume.get("name") in used)


def _of_volume(volume: Tree) -> Iterator[Reference]:
    yield from _with_items("Secret", volume.get("secret"), "secretName")
    yield from _with_items("ConfigMap", volume.get("configMap"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield from _with_items("Secret", source.get("secret"))
        yield from _with_items("ConfigMap", source.get("configMap"))


def _of_container(container: Tree) -> Iterator[Reference]:
    for source in container.get("envFrom") or ():
        yield from _named("ConfigMap", source.get("configMapRef"))
        yield from _named("Secret", source.get("secretRef"))
    for variable in container.get("env") or ():
        value = variable.get("valueFrom") or {}
        for kind, field in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
            source = value.get(field) or {}
            for reference in _named(kind, source):
                yield reference._replace(key=source.get("key", ""))


def _with_items(kind: str, source: Tree | None, field: str = "name") -> Iterator[Reference]:
    for reference in _named(kind, source, field):
        keys = [item.get("key", "") for item in (source or {}).get("items") or ()]
        yield from (reference._replace(key=key) for key in keys or [""])


def _named(kind: str, source: Tree | None, field: str = "name") -> Iterator[Reference]:
    if source and source.get(field) and not source.get("optional"):
        yield Reference(kind, source[field])


def missing_references(pod: Tree, keys: Mapping[tuple[str, str], Keys]) -> list[MissingReference]:
    """Return the references whose object or key is missing; ``keys``: of the existing objects, by kind and name.

    A missing object is reported once for each volume.
    """
    namespace = pod["metadata"].get("namespace", "")
    missing: dict[tuple[Reference, str], MissingReference] = {}
    for reference in references(pod):
        object_keys = keys.get((reference.kind, reference.name))
        error = reference.error(object_keys, namespace=namespace)
        if error:
            identity = reference._replace(key="") if object_keys is None else reference
            missing.setdefault((identity, error), MissingReference(reference, error))
    return list(missing.values())


def missing_pull_secrets(pod: Tree, exists: Callable[[str, str, str], bool]) -> list[str]:
    """Return the names of missing Secrets in ``imagePullSecrets``, which a pod does not wait for.

    ``exists`` takes kind, namespace and name.
    """
    namespace = pod["metadata"].get("namespace", "")
    names = [secret.get("name", "") for secret in (pod.get("spec") or {}).get("imagePullSecrets") or ()]
    return [name for name in names if not exists("Secret", namespace, name)]
