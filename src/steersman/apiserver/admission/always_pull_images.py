"""``AlwaysPullImages``: forces the pull policy ``Always``, so that running an image requires its pull credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.schema.resources import Resource


_ALWAYS: Final = "Always"
_SPEC: Final = Path("spec")


class AlwaysPullImages(Plugin):
    """Pods; updates only if they add an image."""

    name: ClassVar[str] = "AlwaysPullImages"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of pods."""
        is_pod = resource.group_resource == "pods" and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, attributes: Attributes) -> None:
        """Set the pull policy of every image to ``Always``."""
        pod = attributes.object
        if pod is None or not _has_new_images(attributes):
            return
        for _, _, key, holder in _images(pod["spec"]):
            holder[key] = _ALWAYS

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 if a later plugin changed a pull policy."""
        pod = attributes.object
        if pod is None or not _has_new_images(attributes):
            return
        for path, _, key, holder in _images(pod["spec"]):
            policy = holder.get(key) or ""
            if policy != _ALWAYS:
                raise attributes.forbidden(str(field.not_supported(path.child(key), policy, (_ALWAYS,))))


def _has_new_images(attributes: Attributes) -> bool:
    if attributes.operation is Operation.CREATE or attributes.old_object is None or attributes.object is None:
        return True
    before = {image for _, image, _, _ in _images(attributes.old_object["spec"])}
    return any(image not in before for _, image, _, _ in _images(attributes.object["spec"]))


def _images(spec: Tree) -> Iterator[tuple[Path, str, str, Tree]]:
    """Yield the path of each image, the image, the name of its pull policy field, and the object with that field."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            yield _SPEC.child(kind).index(position), container.get("image") or "", "imagePullPolicy", container
    for position, volume in enumerate(spec.get("volumes") or ()):
        source = volume.get("image")
        if source is not None:
            yield (
                _SPEC.child("volumes").index(position).child("image"),
                source.get("reference") or "",
                "pullPolicy",
                source,
            )
