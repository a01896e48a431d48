"""Envelopes of reviews: the versions, and the kind that a body must have.

Upstream: controller-runtime's ``pkg/webhook/admission/http.go`` and ``pkg/webhook/conversion/conversion.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree

T = TypeVar("T", bound=msgspec.Struct)

#: Versions of AdmissionReviews, ConversionReviews, TokenReviews and SubjectAccessReviews.
VERSIONS: Final = ("v1", "v1beta1")


class ReviewError(Exception):
    """The body of a request is no review that the webhook serves; the message is for its client."""


class _Review(msgspec.Struct, Generic[T]):
    """Review with the type of its request."""

    apiVersion: str  # noqa: N815 — as on the wire
    kind: str
    request: T


class ReviewDecoder(Generic[T]):
    """Decoder of the reviews of one kind."""

    def __init__(self, group: str, kind: str, model: type[T]) -> None:
        """``model``: type of the field ``request``."""
        self._group = group
        self._kind = kind
        self._decoder: msgspec.json.Decoder[_Review[T]] = msgspec.json.Decoder(_Review[model])  # type: ignore[valid-type]

    def decode(self, body: bytes) -> tuple[str, T]:
        """Return the version and the request of a review. Raises ``ReviewError``."""
        try:
            review = self._decoder.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ReviewError(f"the body is no {self._kind}: {error}") from None
        type_meta = {"apiVersion": review.apiVersion, "kind": review.kind}
        return check_kind(type_meta, self._group, self._kind), review.request


def check_kind(review: Tree, group: str, kind: str, versions: Sequence[str] = VERSIONS) -> str:
    """Return the version of a review. Raises ``ReviewError`` for one of another kind or version."""
    actual_group, _, version = str(review.get("apiVersion")).rpartition("/")
    if actual_group != group or version not in versions or review.get("kind") != kind:
        expected = f"{kind} of {group}/{' or '.join(versions)}"
        raise ReviewError(f"expected {expected}, not {review.get('kind')} of {review.get('apiVersion')}")
    return version


def encode_review(group: str, version: str, kind: str, **fields: Any) -> bytes:
    """Return a review as JSON."""
    return msgspec.json.encode({"apiVersion": f"{group}/{version}", "kind": kind, **fields})
