"""AdmissionReviews that webhooks answer with."""

from __future__ import annotations

from typing import Any, Final

import msgspec


class AdmissionResponse(msgspec.Struct, rename="camel", gc=False):
    """Field ``response`` of an AdmissionReview."""

    uid: str | None = None
    allowed: bool | None = None
    status: dict[str, Any] | None = None
    #: In base64.
    patch: str | None = None
    patch_type: str | None = None
    warnings: list[str] | None = None
    audit_annotations: dict[str, str] | None = None


class AdmissionReview(msgspec.Struct, rename="camel", gc=False):
    """AdmissionReview that a webhook answers with."""

    api_version: str | None = None
    kind: str | None = None
    response: AdmissionResponse | None = None


_decode_admission_review: Final = msgspec.json.Decoder(AdmissionReview).decode


def read_admission_review(body: bytes) -> AdmissionReview | None:
    """Return an AdmissionReview; None if it must be decoded as a tree, which finds the error if there is one."""
    try:
        return _decode_admission_review(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
