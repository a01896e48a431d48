"""Image references and failing pulls (upstream: ``pkg/kubelet/images/image_manager.go``).

Every image is present on every simulated node, except those whose registry ends in ``.invalid`` (RFC 2606), and those
whose tag or last path component is one of ``ABSENT_NAMES``.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.timestamps import add_seconds
from steersman.nodes.simulation.events import Event

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.simulation.behavior import Behavior


#: Tags, and names of repositories, that exist in no registry.
ABSENT_NAMES: Final = frozenset({"does-not-exist", "doesnotexist", "nonexistent", "no-such-image", "no-such-tag"})

ERR_IMAGE_PULL: Final = "ErrImagePull"
IMAGE_PULL_BACK_OFF: Final = "ImagePullBackOff"
ERR_IMAGE_NEVER_PULL: Final = "ErrImageNeverPull"
INVALID_IMAGE_NAME: Final = "InvalidImageName"

#: Back-off between pulls (``MaxImageBackOff``), and how long ``ErrImagePull`` precedes ``ImagePullBackOff``.
_BACK_OFF_SECONDS: Final = 10
_BACK_OFF_MAX_SECONDS: Final = 300
_ERROR_SECONDS: Final = 1

_DOCKER_HUB: Final = "docker.io"
# The grammar of distribution/reference.
_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN: Final = r"(?:\[[0-9a-fA-F:]+\]|[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?)(?::[0-9]+)?"
_REFERENCE: Final = re.compile(
    rf"(?P<domain>{_DOMAIN})/(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")


class InvalidReferenceError(ValueError):
    """Invalid image reference; the message is that of distribution/reference."""


class ImageReference(NamedTuple):
    """A normalized image reference."""

    domain: str
    path: str
    tag: str
    digest: str

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.domain}/{self.path}{tag}{f'@{self.digest}' if self.digest else ''}"


@lru_cache(maxsize=4096)
def parse_reference(image: str) -> ImageReference:
    """Normalize an image name, as ``ParseNormalizedNamed`` and the default tag do. Raises InvalidReferenceError."""
    if _IDENTIFIER.fullmatch(image):
        raise InvalidReferenceError(f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings")
    first, slash, rest = image.partition("/")
    if not slash or not (any(sign in first for sign in ".:") or first == "localhost" or first.lower() != first):
        first, rest = _DOCKER_HUB, image
    if first == _DOCKER_HUB and "/" not in rest:
        rest = f"library/{rest}"
    name = rest.partition("@")[0].partition(":")[0]
    if name.lower() != name:
        raise InvalidReferenceError(f"invalid reference format: repository name ({name}) must be lowercase")
    match = _REFERENCE.fullmatch(f"{first}/{rest}")
    if match is None:
        raise InvalidReferenceError("invalid reference format")
    tag, digest = match["tag"] or "", match["digest"] or ""
    return ImageReference(match["domain"], match["path"], tag or ("" if digest else "latest"), digest)


@lru_cache(maxsize=4096)
def registry_error(reference: ImageReference) -> str:
    """Return the error of a pull of an absent image; empty for a present image."""
    host = reference.domain.partition(":")[0]
    if host == "invalid" or host.endswith(".invalid"):
        cause = f'failed to do request: Head "https://{reference.domain}/v2/{reference.path}/manifests/{reference.tag}"'
        return _pull_error(reference, "Unknown", f"{cause}: dial tcp: lookup {host}: no such host")
    if reference.tag in ABSENT_NAMES or reference.path.rpartition("/")[2] in ABSENT_NAMES:
        return _pull_error(reference, "NotFound", f"{reference}: not found")
    return ""


def _pull_error(reference: ImageReference, code: str, cause: str) -> str:
    """Format an error as containerd does."""
    return (
        f'rpc error: code = {code} desc = failed to pull and unpack image "{reference}": '
        f'failed to resolve reference "{reference}": {cause}'
    )


class ImageProblem(NamedTuple):
    """Reason why a container cannot start now."""

    reason: str
    message: str
    #: Time at which the problem changes; None if only by a change of the spec.
    until: datetime | None
    events: tuple[Event, ...]


def image_problem(container: Tree, behavior: Behavior, *, since: datetime, now: datetime) -> ImageProblem | None:
    """Return why the container's image cannot be used; None if it is present. ``since``: the first pull."""
    image, name = container.get("image") or "", container.get("name", "")
    try:
        reference = parse_reference(image)
    except InvalidReferenceError as invalid:
        message = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": {invalid}'
        events = (
            Event("Warning", "InspectFailed", message, name),
            Event("Warning", "Failed", f"Error: {INVALID_IMAGE_NAME}", name),
        )
        return ImageProblem(INVALID_IMAGE_NAME, message, None, events)
    error = registry_error(reference)
    healed = None
    if behavior.image_pull_error:
        pull_error = behavior.image_pull_error
        error = _pull_error(reference, "NotFound", f"{reference}: not found") if pull_error == "true" else pull_error
        if behavior.image_pull_error_seconds is not None:
            healed = add_seconds(since, behavior.image_pull_error_seconds)
    if not error or (healed is not None and now >= healed):
        return None
    if container.get("imagePullPolicy") == "Never":
        message = f'Container image "{image}" is not present with pull policy of Never'
        events = (
            Event("Warning", ERR_IMAGE_NEVER_PULL, message, name),
            Event("Warning", "Failed", f"Error: {ERR_IMAGE_NEVER_PULL}", name),
        )
        return ImageProblem(ERR_IMAGE_NEVER_PULL, message, healed, events)
    return _failing_pull(image, name, error, since=since, now=now)


def is_pulled(container: Tree, behavior: Behavior) -> bool:
    """True if a container whose image can be used pulls it before it starts."""
    return container.get("imagePullPolicy") == "Always" or bool(behavior.image_pull_error)


def _failing_pull(image: str, name: str, error: str, *, since: datetime, now: datetime) -> ImageProblem:
    # The kubelet does not pull again before the back-off ends, even if the image is available by then.
    reason, until = pull_attempt(since, now)
    if reason == ERR_IMAGE_PULL:
        events = (
            Event("Normal", "Pulling", f'Pulling image "{image}"', name),
            Event("Warning", "Failed", f'Failed to pull image "{image}": {error}', name),
            Event("Warning", "Failed", f"Error: {ERR_IMAGE_PULL}", name),
        )
        return ImageProblem(reason, error, until, events)
    back_off = f'Back-off pulling image "{image}"'
    backing_off = (
        Event("Normal", "BackOff", back_off, name),
        Event("Warning", "Failed", f"Error: {IMAGE_PULL_BACK_OFF}", name),
    )
    return ImageProblem(reason, f"{back_off}: {ERR_IMAGE_PULL}: {error}", until, backing_off)


def pull_attempt(since: datetime, now: datetime) -> tuple[str, datetime]:
    """Return the waiting reason of failing pulls at a time, and when the reason changes.

    Pulls follow one another after 10, 20, 40, 80, 160 and then every 300 seconds.
    """
    attempt, delay = since, _BACK_OFF_SECONDS
    while True:
        if now < attempt + timedelta(seconds=_ERROR_SECONDS):
            return ERR_IMAGE_PULL, attempt + timedelta(seconds=_ERROR_SECONDS)
        following = attempt + timedelta(seconds=delay)
        if now < following:
            return IMAGE_PULL_BACK_OFF, following
        attempt, delay = following, min(2 * delay, _BACK_OFF_MAX_SECONDS)
        if delay == _BACK_OFF_MAX_SECONDS:
            attempt += max(0, (now - attempt) // timedelta(seconds=delay)) * timedelta(seconds=delay)
