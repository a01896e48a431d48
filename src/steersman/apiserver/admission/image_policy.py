"""``ImagePolicyWebhook``: a backend decides by ImageReviews which images pods may run.

Upstream: plugin/pkg/admission/imagepolicy/{admission,config}.go
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.codec import encode
from steersman.apimachinery.durations import format_duration
from steersman.apimachinery.names import check_qualified_name
from steersman.apimachinery.reviews import read_review
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.webhooks.client import WebhookCallError

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.schema.resources import Resource

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

_GROUP, _VERSION, _KIND = "imagepolicy.k8s.io", "v1alpha1", "ImageReview"
_AUDIT_PREFIX: Final = "imagepolicywebhook.image-policy.k8s.io/"
#: Part of the keys of annotations that reviews contain.
_ANNOTATIONS: Final = ".image-policy.k8s.io/"
_EPHEMERAL: Final = "ephemeralcontainers"
_ENTRIES_MAX: Final = 1024
_CACHE_BYTES: Final = 8 * 1024 * 1024
#: Value of the configuration that disables a cache or the delay of retries.
_DISABLED: Final = -1
_MINUTE: Final = 60.0


class ReviewWebhook(Protocol):
    """Client of a backend."""

    async def call(self, body: bytes, read: Callable[[bytes], T]) -> T:
        """Post a review and read the answer. Raises ``WebhookCallError``, also if ``read`` raises ``ValueError``."""


class _Review:
    """Status of an answer."""

    __slots__ = ("annotations", "expires", "is_allowed", "reason")

    def __init__(self, status: Tree) -> None:
        self.is_allowed: Final = _checked(status, "allowed", bool, default=False)
        self.reason: Final[str] = _checked(status, "reason", str, default="")
        self.annotations: Final[Tree] = _checked(status, "auditAnnotations", dict, default={})
        if not all(isinstance(value, str) for value in self.annotations.values()):
            raise ValueError("status.auditAnnotations must be a map of strings")
        #: Time until which it is cached.
        self.expires = 0.0


def _checked(tree: Tree, name: str, type_: type, *, default: Any) -> Any:
    value = tree.get(name)
    if value is None:
        return default
    if not isinstance(value, type_):
        raise ValueError(f"status.{name} is no {type_.__name__}")  # noqa: TRY004 — data, not a call's argument
    return value


class ImagePolicyWebhook(Plugin):
    """Pods and their ephemeral containers."""

    name: ClassVar[str] = "ImagePolicyWebhook"

    def __init__(
        self, configuration: Tree | None, *, clock: Clock, open_webhook: Callable[[str, float], ReviewWebhook]
    ) -> None:
        """``configuration``: ``imagePolicy`` of the plugin's configuration. Raises ValueError.

        ``open_webhook`` returns the client of a kubeconfig, given the first delay of retries in seconds.
        """
        settings = (configuration or {}).get("imagePolicy")
        if not isinstance(settings, dict):
            raise ValueError("ImagePolicyWebhook: imagePolicy must be an object")  # noqa: TRY004 — as above
        file = settings.get("kubeConfigFile") or ""
        if not isinstance(file, str) or not file:
            raise ValueError("ImagePolicyWebhook: imagePolicy.kubeConfigFile must name a file")
        default_allow = settings.get("defaultAllow") or False
        if not isinstance(default_allow, bool):
            raise ValueError("ImagePolicyWebhook: imagePolicy.defaultAllow must be a boolean")  # noqa: TRY004 — as above
        backoff = _seconds(settings, "retryBackoff", 1e-3, minimum=1e-9, maximum=5 * _MINUTE, default=0.5)
        self._allow_seconds: Final = _seconds(settings, "allowTTL", 1.0, default=5 * _MINUTE)
        self._deny_seconds: Final = _seconds(settings, "denyTTL", 1.0, default=30.0)
        self._is_default_allow: Final = default_allow
        self._clock: Final = clock
        self._cache: Final[BoundedCache[_Review]] = BoundedCache(
            entries_max=_ENTRIES_MAX, bytes_max=_CACHE_BYTES, name="image reviews"
        )
        self._webhook: Final = open_webhook(file, backoff)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of pods and of their ephemeral containers."""
        is_pod = resource.group_resource == "pods" and subresource in ("", _EPHEMERAL)
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 if the backend denies an image, or fails while ``defaultAllow`` is false."""
        pod = attributes.object
        if pod is None:
            return
        spec = encode(_spec_of(pod, attributes))
        review = self._cache.get(spec)
        if review is None or review.expires <= self._clock.monotonic():
            try:
                review = await self._ask(spec)
            except WebhookCallError as error:
                _log.warning("error contacting webhook backend: %s", error)
                if not self._is_default_allow:
                    raise attributes.forbidden(str(error)) from error
                attributes.ctx.annotate(f"{_AUDIT_PREFIX}failed-open", "true")
                return
        for name, value in review.annotations.items():
            key = f"{_AUDIT_PREFIX}{name}"
            if "/" in name or check_qualified_name(key):
                _log.warning("the audit annotation %r of an image review has no valid key", key)
            else:
                attributes.ctx.annotate(key, value)
        if not review.is_allowed:
            detail = f"image policy webhook backend denied one or more images: {review.reason}"
            raise attributes.forbidden(detail if review.reason else "one or more images rejected by webhook backend")

    async def _ask(self, spec: bytes) -> _Review:
        """Post a review and cache the answer. Raises ``WebhookCallError``."""
        head = f'{{"kind":"{_KIND}","apiVersion":"{_GROUP}/{_VERSION}","metadata":{{}},"spec":'
        review = await self._webhook.call(b'%b%b,"status":{"allowed":false}}' % (head.encode(), spec), _read)
        seconds = self._allow_seconds if review.is_allowed else self._deny_seconds
        if seconds > 0:
            review.expires = self._clock.monotonic() + seconds
            self._cache.put(spec, review, len(spec) + len(review.reason))
        return review


def _spec_of(pod: Tree, attributes: Attributes) -> Tree:
    """Return the spec of a pod's review."""
    kinds = ("ephemeralContainers",) if attributes.subresource == _EPHEMERAL else ("containers", "initContainers")
    containers = [container for kind in kinds for container in pod["spec"].get(kind) or ()]
    spec: Tree = {
        "containers": [{"image": container["image"]} if container.get("image") else {} for container in containers]
    }
    annotations = pod["metadata"].get("annotations") or {}
    if chosen := {key: value for key, value in annotations.items() if _ANNOTATIONS in key}:
        spec["annotations"] = chosen
    if attributes.namespace:
        spec["namespace"] = attributes.namespace
    return spec


def _read(body: bytes) -> _Review:
    """Read an answer. Raises ValueError."""
    review, _, _ = read_review(body, group=_GROUP, version=_VERSION, kind=_KIND)
    status = review.get("status")
    if status is not None and not isinstance(status, dict):
        raise ValueError("status is no object")
    return _Review(status or {})


def _seconds(
    settings: Tree,
    name: str,
    unit: float,
    *,
    minimum: float = 1.0,
    maximum: float = 30 * _MINUTE,
    default: float,
) -> float:
    """Return a time of the configuration; 0 if it is disabled. Raises ValueError. Upstream: ``normalizeConfigDuration``."""
    value = settings.get(name) or 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"ImagePolicyWebhook: imagePolicy.{name} must be an integer")  # noqa: TRY004 — as above
    if value == _DISABLED:
        return 0.0
    if not value:
        return default
    seconds = value * unit
    if not minimum < seconds <= maximum:
        bounds = f"{format_duration(minimum)} and {format_duration(maximum)}"
        raise ValueError(
            f"ImagePolicyWebhook: imagePolicy.{name}: valid value is between {bounds}, got {format_duration(seconds)}"
        )
    return seconds
