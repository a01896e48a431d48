"""AdmissionReview: the request to a webhook, and strict reading of its response.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.codec import DecodeError, encode
from steersman.apimachinery.errors import StatusError, bad_request
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.reviews import ReviewDecodeError, read_review, text_field, type_error, verify_kind
from steersman.apiserver.admission.admission_request import fields_of_write
from steersman.apiserver.kinds.shared.webhook_clients import REVIEW_VERSIONS
from steersman.apiserver.webhooks.review import AdmissionResponse, AdmissionReview, read_admission_review
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.webhook_index import Candidate

_GROUP: Final = "admission.k8s.io"
_KIND: Final = "AdmissionReview"
#: Beginning of a review up to the value of ``uid``, by version.
_HEADS: Final = {
    version: f'{{"kind":"{_KIND}","apiVersion":"{_GROUP}/{version}","request":{{"uid":"'.encode()
    for version in REVIEW_VERSIONS
}


class InvalidResponseError(Exception):
    """The AdmissionReview breaks a rule of the protocol."""


class Response(NamedTuple):
    """Verified response of a webhook."""

    is_allowed: bool
    status: dict[str, Any] | None = None
    patch: bytes = b""
    patch_type: str = ""
    warnings: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()


def review_request(
    attributes: Attributes, candidate: Candidate, objects: tuple[Tree | None, Tree | None], *, uid: str
) -> bytes:
    """Return the encoded AdmissionReview of a write; ``objects``: the new and the old one in the version of the webhook."""
    new, old = objects
    return b"".join(
        (
            _HEADS[candidate.webhook.review_version],
            uid.encode(),
            b'",',
            candidate.request_fields(attributes)[1:-1],
            b",",
            encode(fields_of_write(attributes))[1:-1],
            b',"object":',
            b"null" if new is None else encode(new),
            b',"oldObject":',
            b"null" if old is None else encode(old),
            b"}}",
        )
    )


def read_response(body: bytes, *, version: str, uid: str, is_mutating: bool) -> Response:
    """Read and verify the answer of a webhook. Raises ``ReviewDecodeError``, ``InvalidResponseError``."""
    review = read_admission_review(body)
    if review is None:
        review = _read_as_tree(body, version)
    else:
        verify_kind(review.api_version or "", review.kind or "", f"{_GROUP}/{version}", _KIND)
    response = review.response
    if response is None:
        raise InvalidResponseError("webhook response was absent")
    try:
        patch = base64.b64decode(response.patch, validate=True) if response.patch else b""
    except (binascii.Error, ValueError) as error:
        raise ReviewDecodeError(f"illegal base64 data in {_KIND}.response.patch: {error}") from None
    status = None if response.status is None else _read_status(response.status)
    if version == "v1":
        _verify_v1(review, response, uid=uid, is_mutating=is_mutating)
    elif not is_mutating:
        patch = b""
    # v1beta1 does not require a patch type.
    patch_type = "" if not patch else response.patch_type or "" if version == "v1" else "JSONPatch"
    warnings, annotations = response.warnings, response.audit_annotations
    return Response(
        bool(response.allowed),
        status,
        patch,
        patch_type,
        tuple(warnings) if warnings else (),
        tuple(annotations.items()) if annotations else (),
    )


def _read_as_tree(body: bytes, version: str) -> AdmissionReview:
    """Return a review that the fast decoder rejects. Raises ``ReviewDecodeError``."""
    review, api_version, kind = read_review(body, group=_GROUP, version=version, kind=_KIND)
    tree = review.get("response")
    if tree is None:
        return AdmissionReview(api_version, kind)
    if not isinstance(tree, dict):
        raise ReviewDecodeError(
            type_error(tree, f"Go struct field {_KIND}.response of type {version}.AdmissionResponse")
        )
    prefix = f"{_KIND}.response"
    allowed = tree.get("allowed")
    if allowed is not None and not isinstance(allowed, bool):
        raise ReviewDecodeError(type_error(allowed, f"Go struct field {prefix}.allowed of type bool"))
    status = tree.get("status")
    if status is not None and not isinstance(status, dict):
        raise ReviewDecodeError(type_error(status, f"Go struct field {prefix}.status of type v1.Status"))
    warnings = tree.get("warnings") or []
    if not isinstance(warnings, list) or not all(isinstance(text, str) for text in warnings):
        raise ReviewDecodeError(type_error(warnings, f"Go struct field {prefix}.warnings of type []string"))
    annotations = tree.get("auditAnnotations") or {}
    if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
        raise ReviewDecodeError(
            type_error(annotations, f"Go struct field {prefix}.auditAnnotations of type map[string]string")
        )
    response = AdmissionResponse(
        text_field(tree, "uid", prefix),
        allowed,
        status,
        text_field(tree, "patch", prefix),
        None if tree.get("patchType") is None else text_field(tree, "patchType", prefix),
        warnings,
        annotations,
    )
    return AdmissionReview(api_version, kind, response)


def _read_status(status: Tree) -> Tree:
    try:
        decoded: Tree = decode(struct_for("", "v1", "Status"), status).tree
    except DecodeError as error:
        text = str(error).replace(".", ".response.status.", 1)  # the path of the field begins at the review
        raise ReviewDecodeError(text) from None
    return decoded


def _verify_v1(review: AdmissionReview, response: AdmissionResponse, *, uid: str, is_mutating: bool) -> None:
    actual_uid, api_version, kind = response.uid or "", review.api_version or "", review.kind or ""
    if actual_uid != uid:
        raise InvalidResponseError(f"expected response.uid={quote(uid)}, got {quote(actual_uid)}")
    if (api_version, kind) != (f"{_GROUP}/v1", _KIND):
        actual_type = f"{api_version or '/'}, Kind={kind}"
        raise InvalidResponseError(f"expected webhook response of {_GROUP}/v1, Kind={_KIND}, got {actual_type}")
    has_patch, has_type = bool(response.patch), response.patch_type is not None
    if not is_mutating:
        if has_patch:
            raise InvalidResponseError("validating webhook may not return response.patch")
        if has_type:
            raise InvalidResponseError("validating webhook may not return response.patchType")
    elif has_patch and not has_type:
        raise InvalidResponseError("webhook returned response.patch but not response.patchType")
    elif has_type and not has_patch:
        raise InvalidResponseError("webhook returned response.patchType but not response.patch")
    elif has_patch and not response.patch_type:
        raise InvalidResponseError('webhook returned invalid response.patchType of ""')


def denial(webhook: str, status: dict[str, Any] | None) -> StatusError:
    """Return the error of a write that a webhook denies. Upstream: ``ToStatusErr``."""
    fields = {key: value for key, value in (status or {}).items() if key in _STATUS_FIELDS and value is not None}
    code = fields.get("code") or 0
    fields["code"] = 400 if code < 400 else min(code, _CODE_MAX)
    if fields.get("status") in (None, "", "Success"):
        fields["status"] = "Failure"
    prefix = f"admission webhook {quote(webhook)} denied the request"
    detail = fields.get("message") or fields.get("reason")
    fields["message"] = f"{prefix}: {detail}" if detail else f"{prefix} without explanation"
    return StatusError({"kind": "Status", "apiVersion": "v1", "metadata": {}, **fields})


_STATUS_FIELDS: Final = ("status", "message", "reason", "details", "code")
#: Greatest code that an HTTP response can have.
_CODE_MAX: Final = 999


def dry_run_unsupported(webhook: str) -> StatusError:
    """Return the error of a dry run that a webhook with side effects would see."""
    return bad_request(f"admission webhook {quote(webhook)} does not support dry run")
