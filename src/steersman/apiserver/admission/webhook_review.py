"""AdmissionReview: the request to a webhook, and strict reading of its response.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.codec import DecodeError, decode_json, encode
from steersman.apimachinery.envelope import json_type
from steersman.apimachinery.errors import StatusError, bad_request
from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.admission_request import in_version, options_of, request_of

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.admission_request import FindServed
    from steersman.apiserver.admission.interface import Attributes
    from steersman.schema.resources import Resource

_GROUP: Final = "admission.k8s.io"
_KIND: Final = "AdmissionReview"


class ReviewDecodeError(Exception):
    """The response is no AdmissionReview of the requested version."""


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


def review_request(attributes: Attributes, matched: Resource, find: FindServed, *, version: str, uid: str) -> bytes:
    """Return the encoded AdmissionReview of a write, with its objects in the version of ``matched``."""
    request = {
        "uid": uid,
        **request_of(attributes, matched),
        "object": in_version(attributes.object, attributes, matched, find),
        "oldObject": in_version(attributes.old_object, attributes, matched, find),
        "options": options_of(attributes),
    }
    if "userInfo" not in request:
        request["userInfo"] = {}
    return encode({"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": request})


def read_response(body: bytes, *, version: str, uid: str, is_mutating: bool) -> Response:
    """Read and verify the answer of a webhook. Raises ``ReviewDecodeError``, ``InvalidResponseError``."""
    try:
        review = decode_json(body)
    except DecodeError as error:
        raise ReviewDecodeError(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(review, dict):
        raise ReviewDecodeError(_unfit(review, "struct { APIVersion string; Kind string }"))
    api_version, kind = _text(review, "apiVersion", _KIND), _text(review, "kind", _KIND)
    expected_version = f"{_GROUP}/{version}"
    if (api_version or expected_version, kind or _KIND) != (expected_version, _KIND):
        raise ReviewDecodeError(_conversion_error(api_version or expected_version, kind or _KIND, version))
    response = review.get("response")
    if response is not None and not isinstance(response, dict):
        raise ReviewDecodeError(
            _unfit(response, f"Go struct field {_KIND}.response of type {version}.AdmissionResponse")
        )
    fields = None if response is None else _decode_fields(response)
    if response is None or fields is None:
        raise InvalidResponseError("webhook response was absent")
    if version == "v1":
        _verify_v1(fields, api_version, kind, uid=uid, is_mutating=is_mutating)
    elif not is_mutating:
        fields = {**fields, "patch": b""}
    patch: bytes = fields["patch"]
    return Response(
        fields["allowed"],
        fields["status"],
        patch,
        # v1beta1 does not require a patch type.
        "" if not patch else fields["patchType"] if version == "v1" else "JSONPatch",
        tuple(fields["warnings"]),
        tuple(fields["auditAnnotations"].items()),
    )


def _conversion_error(api_version: str, kind: str, version: str) -> str:
    group, _, other = api_version.rpartition("/")
    if group == _GROUP and other in ("v1", "v1beta1") and kind == _KIND:
        return f"converting ({other}.{kind}) to ({version}.{_KIND}): unknown conversion"
    return f'no kind "{kind}" is registered for version "{api_version}"'


def _unfit(value: Any, what: str) -> str:
    return (
        f"json: cannot unmarshal {json_type(value)} into {'' if what.startswith('Go') else 'Go value of type '}{what}"
    )


def _text(tree: Tree, name: str, owner: str) -> str:
    value = tree.get(name)
    if value is not None and not isinstance(value, str):
        raise ReviewDecodeError(_unfit(value, f"Go struct field {owner}.{name} of type string"))
    return value or ""


def _decode_fields(response: Tree) -> dict[str, Any]:
    """Return the fields of a response with their types. Raises ``ReviewDecodeError``."""
    where = f"{_KIND}.response"
    allowed = response.get("allowed")
    if allowed is not None and not isinstance(allowed, bool):
        raise ReviewDecodeError(_unfit(allowed, f"Go struct field {where}.allowed of type bool"))
    try:
        patch = base64.b64decode(_text(response, "patch", where), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ReviewDecodeError(f"illegal base64 data in {where}.patch: {error}") from None
    status = response.get("status")
    if status is not None and not isinstance(status, dict):
        raise ReviewDecodeError(_unfit(status, f"Go struct field {where}.status of type v1.Status"))
    warnings = response.get("warnings") or []
    if not isinstance(warnings, list) or not all(isinstance(text, str) for text in warnings):
        raise ReviewDecodeError(_unfit(warnings, f"Go struct field {where}.warnings of type []string"))
    annotations = response.get("auditAnnotations") or {}
    if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
        raise ReviewDecodeError(
            _unfit(annotations, f"Go struct field {where}.auditAnnotations of type map[string]string")
        )
    return {
        "uid": _text(response, "uid", where),
        "allowed": bool(allowed),
        "patch": patch,
        "patchType": _text(response, "patchType", where),
        "hasPatchType": response.get("patchType") is not None,
        "status": None if status is None else _read_status(status, where),
        "warnings": warnings,
        "auditAnnotations": annotations,
    }


def _read_status(status: Tree, where: str) -> dict[str, Any]:
    code = status.get("code")
    if code is not None and (isinstance(code, bool) or not isinstance(code, int)):
        raise ReviewDecodeError(_unfit(code, f"Go struct field Status.{where}.status.code of type int32"))
    for name in ("status", "message", "reason"):
        _text(status, name, f"{where}.status")
    details = status.get("details")
    if details is not None and not isinstance(details, dict):
        raise ReviewDecodeError(_unfit(details, f"Go struct field {where}.status.details of type v1.StatusDetails"))
    return status


def _verify_v1(fields: dict[str, Any], api_version: str, kind: str, *, uid: str, is_mutating: bool) -> None:
    if fields["uid"] != uid:
        raise InvalidResponseError(f"expected response.uid={quote(uid)}, got {quote(fields['uid'])}")
    if (api_version, kind) != (f"{_GROUP}/v1", _KIND):
        got = f"{api_version or '/'}, Kind={kind}"
        raise InvalidResponseError(f"expected webhook response of {_GROUP}/v1, Kind={_KIND}, got {got}")
    has_patch, has_type = bool(fields["patch"]), fields["hasPatchType"]
    if not is_mutating:
        if has_patch:
            raise InvalidResponseError("validating webhook may not return response.patch")
        if has_type:
            raise InvalidResponseError("validating webhook may not return response.patchType")
    elif has_patch and not has_type:
        raise InvalidResponseError("webhook returned response.patch but not response.patchType")
    elif has_type and not has_patch:
        raise InvalidResponseError("webhook returned response.patchType but not response.patch")
    elif has_patch and not fields["patchType"]:
        raise InvalidResponseError('webhook returned invalid response.patchType of ""')


def denial(webhook: str, status: dict[str, Any] | None) -> StatusError:
    """Return the error of a write that a webhook denies. Upstream: ``ToStatusErr``."""
    fields = {key: value for key, value in (status or {}).items() if key in _STATUS_FIELDS and value is not None}
    code = fields.get("code") or 0
    fields["code"] = 400 if code < 400 else min(code, _CODE_MAX)
    if fields.get("status") in (None, "", "Success"):
        fields["status"] = "Failure"
    prefix = f"admission webhook {quote(webhook)} denied the request"
    why = fields.get("message") or fields.get("reason")
    fields["message"] = f"{prefix}: {why}" if why else f"{prefix} without explanation"
    return StatusError({"kind": "Status", "apiVersion": "v1", "metadata": {}, **fields})


_STATUS_FIELDS: Final = ("status", "message", "reason", "details", "code")
#: Greatest code that an HTTP response can have.
_CODE_MAX: Final = 999


def dry_run_unsupported(webhook: str) -> StatusError:
    """Return the error of a dry run that a webhook with side effects would see."""
    return bad_request(f"admission webhook {quote(webhook)} does not support dry run")
