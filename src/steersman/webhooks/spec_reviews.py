"""Webhooks whose reviews ask in ``spec`` and are answered in ``status``: TokenReview, SubjectAccessReview, ImageReview.

Upstream: ``k8s.io/apiserver/plugin/pkg/authenticator/token/webhook``, ``plugin/pkg/authorizer/webhook`` and
``plugin/pkg/admission/imagepolicy``; controller-runtime's ``pkg/webhook/authentication``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from lightkube.models.authentication_v1 import TokenReviewSpec, TokenReviewStatus
from lightkube.models.authorization_v1 import SubjectAccessReviewSpec, SubjectAccessReviewStatus

from steersman.client.zero_values import fit
from steersman.runtime.hooks import call_hook, check_hook
from steersman.webhooks.reviews import VERSIONS, ReviewError, check_kind, encode_review

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    SpecHandler = Callable[[Any], Any | Awaitable[Any]]


class ImageReviewContainerSpec(msgspec.Struct, omit_defaults=True):
    """Container of a pod that is created."""

    image: str = ""


class ImageReviewSpec(msgspec.Struct, omit_defaults=True):
    """Images of a pod that is created."""

    containers: list[ImageReviewContainerSpec] = msgspec.field(default_factory=list)
    #: Those of the pod that match ``*.image-policy.k8s.io/*``.
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    namespace: str = ""


class ImageReviewStatus(msgspec.Struct):
    """Decision about the images of a pod."""

    allowed: bool
    reason: str | None = None
    auditAnnotations: dict[str, str] | None = None  # noqa: N815 — as on the wire


class SpecReview(NamedTuple):
    """Kind of a review, and the classes of its fields."""

    group: str
    kind: str
    spec: type[msgspec.Struct]
    status: type[msgspec.Struct]
    versions: tuple[str, ...] = VERSIONS


TOKEN_REVIEW: Final = SpecReview("authentication.k8s.io", "TokenReview", TokenReviewSpec, TokenReviewStatus)
SUBJECT_ACCESS_REVIEW: Final = SpecReview(
    "authorization.k8s.io", "SubjectAccessReview", SubjectAccessReviewSpec, SubjectAccessReviewStatus
)
IMAGE_REVIEW: Final = SpecReview(
    "imagepolicy.k8s.io", "ImageReview", ImageReviewSpec, ImageReviewStatus, versions=("v1alpha1",)
)


REVIEWS: Final = {review.kind: review for review in (TOKEN_REVIEW, SUBJECT_ACCESS_REVIEW, IMAGE_REVIEW)}


class SpecWebhook:
    """Handler of the reviews of one path."""

    def __init__(self, handler: SpecHandler, review: SpecReview) -> None:
        """Raises TypeError for a handler that does not take a spec."""
        check_hook(f"a handler of {review.kind}s", handler, "spec")
        self._handler = handler
        self._review = review

    async def review(self, body: bytes) -> bytes:
        """Return the review with the handler's status. Raises ``ReviewError``, what the handler raises, and TypeError for a
        result of another class: the server answers with 500, about which the API server's configuration decides.
        """
        try:
            review = msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ReviewError(f"the body is no {self._review.kind}: {error}") from None
        version = check_kind(review, self._review.group, self._review.kind, self._review.versions)
        status = await call_hook(self._handler, self._spec(review.get("spec"), version))
        if not isinstance(status, self._review.status):
            raise TypeError(f"the handler returned {type(status).__name__} in place of {self._review.status.__name__}")
        encoded = {name: value for name, value in msgspec.to_builtins(status).items() if value is not None}
        return encode_review(self._review.group, version, self._review.kind, status=encoded)

    def _spec(self, spec: Any, version: str) -> Any:
        if not isinstance(spec, dict):
            raise ReviewError(f"the {self._review.kind} has no spec")
        if self._review is SUBJECT_ACCESS_REVIEW and version == "v1beta1" and "group" in spec:
            spec["groups"] = spec.pop("group")  # upstream's name of the field in this version
        try:
            return fit(spec, self._review.spec)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ReviewError(f"the spec of the {self._review.kind} cannot be decoded: {error}") from None
