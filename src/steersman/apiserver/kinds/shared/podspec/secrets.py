"""Secret references of Pod specs. Upstream: ``VisitPodSecretNames``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree

#: Volume source → name of its field with a secret reference.
_VOLUME_REFS: Final = {
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "flexVolume": "secretRef",
    "rbd": "secretRef",
    "scaleIO": "secretRef",
    "iscsi": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}


def secret_names(spec: Tree) -> Iterator[str]:
    """Yield the names of referenced Secrets, in no particular order, with repetitions."""
    for ref in spec.get("imagePullSecrets") or ():
        yield ref.get("name", "")
    for containers in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(containers) or ():
            yield from _of_container(container)
    for volume in spec.get("volumes") or ():
        yield from _of_volume(volume)


def _of_container(container: Tree) -> Iterator[str]:
    for source in container.get("envFrom") or ():
        if (ref := source.get("secretRef")) is not None:
            yield ref.get("name", "")
    for variable in container.get("env") or ():
        if (ref := (variable.get("valueFrom") or {}).get("secretKeyRef")) is not None:
            yield ref.get("name", "")


def _of_volume(volume: Tree) -> Iterator[str]:
    if (file := volume.get("azureFile")) is not None:
        yield file.get("secretName", "")
    if (secret := volume.get("secret")) is not None:
        yield secret.get("secretName", "")
    for part in (volume.get("projected") or {}).get("sources") or ():
        if (secret := part.get("secret")) is not None:
            yield secret.get("name", "")
    for source, ref_field in _VOLUME_REFS.items():
        if (ref := (volume.get(source) or {}).get(ref_field)) is not None:
            yield ref.get("name", "")
