"""Local commands in place of images (``--process-images``): entry point and directory by image name.

images:
- image: registry.k8s.io/e2e-test-images/agnhost:*
command: [/opt/test-images/agnhost]
- image: my-operator
command: [python, -m, kopf, run, operator.py]
directory: /home/me/my-operator
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

_LATEST: Final = ":latest"


class ImagesError(ValueError):
    """Invalid file of images; the message names the field and the reason."""


class LocalImage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Local command in place of images."""

    #: Image name with or without tag; ``*`` and ``?`` are wildcards.
    image: str
    #: Entry point, for containers without ``command``; ``args`` follow it.
    command: list[str] = []
    #: Default working directory, first in ``PATH``.
    directory: str = ""

    def applied_to(self, container: Tree) -> Tree:
        """Return the container with the image's entry point and working directory as defaults."""
        command = container.get("command") or self.command
        directory = container.get("workingDir") or self.directory
        return {**container, "command": command, **({"workingDir": directory} if directory else {})}


class LocalImages:
    """Local images by name; the first matching entry applies."""

    def __init__(self, images: tuple[LocalImage, ...] = ()) -> None:
        self._images = images

    def find(self, name: str) -> LocalImage | None:
        """Return the entry of an image; a name without a tag also matches ``latest``."""
        names = {name, name.removesuffix(_LATEST)}
        return next(
            (image for image in self._images if any(fnmatchcase(candidate, image.image) for candidate in names)), None
        )


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    images: list[LocalImage]


def read_images(document: Any) -> LocalImages:
    """Return the images of a document. Raises ``ImagesError``."""
    try:
        images = msgspec.convert(document, _Document).images
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        raise ImagesError(f"{place.rstrip('`').lstrip('.') or 'document'}: {message}") from None
    for index, image in enumerate(images):
        if not image.image:
            raise ImagesError(f"images[{index}].image: must not be empty")
        if not image.command and not image.directory:
            raise ImagesError(f"images[{index}]: command or directory is required")
        if image.directory and not Path(image.directory).is_dir():
            raise ImagesError(f"images[{index}].directory: {image.directory} is not a directory")
    return LocalImages(tuple(images))
