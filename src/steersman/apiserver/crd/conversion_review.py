"""ConversionReview: the request to a conversion webhook, and verification of the objects that it returns.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import encode
from steersman.apimachinery.field import Path, aggregate
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.metadata_validation import validate_annotations, validate_labels
from steersman.apimachinery.reviews import ReviewDecodeError, read_review, text_field, type_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree

_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "ConversionReview"
_WHERE: Final = f"Go struct field {_KIND}.response"
_GO_TYPES: Final = {
    "NoneType": "<nil>",
    "bool": "bool",
    "str": "string",
    "float": "float64",
    "int": "int64",
    "list": "[]interface {}",
    "dict": "map[string]interface {}",
}


class MalformedResponseError(Exception):
    """The ConversionReview breaks a rule of the protocol, or reports a failure."""


class InvalidPart(Enum):
    """Part of a converted object that is invalid. Upstream has an error text for each."""

    #: It is not an object with a kind.
    CONTENT = auto()
    #: Version or kind.
    TYPE = auto()
    #: Name, namespace or UID.
    IDENTITY = auto()
    #: Labels, annotations, or metadata as a whole.
    METADATA = auto()


class InvalidObjectError(Exception):
    """A converted object differs from its source in more than the version allows."""

    def __init__(self, text: str, part: InvalidPart) -> None:
        super().__init__(text)
        self.part: Final = part


def review_request(objects: Sequence[Tree], *, version: str, api_version: str, uid: str) -> bytes:
    """Return the encoded ConversionReview that asks for ``objects`` in ``api_version``."""
    request = {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)}
    return encode({"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": request})


def read_response(body: bytes, *, version: str, uid: str) -> list[Any]:
    """Return the converted objects of an answer, not verified. Raises ``ReviewDecodeError``, ``MalformedResponseError``."""
    review, api_version, kind = read_review(body, group=_GROUP, version=version, kind=_KIND)
    response = review.get("response")
    if response is not None and not isinstance(response, dict):
        raise ReviewDecodeError(type_error(response, f"{_WHERE} of type {version}.ConversionResponse"))
    if version == "v1" and (api_version, kind) != (f"{_GROUP}/v1", _KIND):
        actual_type = f"{api_version or '/'}, Kind={kind}"
        raise MalformedResponseError(f"expected webhook response of {_GROUP}/v1, Kind={_KIND}, got {actual_type}")
    if response is None:
        raise MalformedResponseError("no response provided")
    response_uid = text_field(response, "uid", f"{_KIND}.response")
    if version == "v1" and response_uid != uid:  # v1beta1 does not require it
        raise MalformedResponseError(f"expected response.uid={quote(uid)}, got {quote(response_uid)}")
    result = response.get("result")
    if result is not None and not isinstance(result, dict):
        raise ReviewDecodeError(type_error(result, f"{_WHERE}.result of type v1.Status"))
    status, message = (text_field(result or {}, name, f"{_KIND}.response.result") for name in ("status", "message"))
    if status != "Success":
        raise MalformedResponseError(message or f"response.result.status was '{status}', not 'Success'")
    converted = response.get("convertedObjects") or []
    if not isinstance(converted, list):
        raise ReviewDecodeError(type_error(converted, f"{_WHERE}.convertedObjects of type []runtime.RawExtension"))
    return converted


def verified(source: Tree, converted: Any, *, api_version: str) -> Tree:
    """Return a converted object with the metadata of its source; only labels and annotations may change.

    Raises ``InvalidObjectError``.
    """
    if not isinstance(converted, dict) or not converted.get("kind"):
        raise InvalidObjectError(f"Object 'Kind' is missing in '{encode(converted).decode()}'", InvalidPart.CONTENT)
    actual = converted.get("apiVersion") or ""
    if actual != api_version:
        text = f"invalid groupVersion (expected {api_version}, received {actual or '/'})"
        raise InvalidObjectError(text, InvalidPart.TYPE)
    if converted["kind"] != source["kind"]:
        text = f"invalid kind (expected {source['kind']}, received {converted['kind']})"
        raise InvalidObjectError(text, InvalidPart.TYPE)
    if "metadata" not in converted:
        metadata: Any = {}
    else:
        metadata = converted["metadata"]
    before = source.get("metadata") or {}
    for field, name in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        expected, converted_value = before.get(field) or "", metadata.get(field) if isinstance(metadata, dict) else None
        if (converted_value or "") != expected:
            text = f"must have the same {name}: {expected} != {converted_value or ''}"
            raise InvalidObjectError(text, InvalidPart.IDENTITY)
    return {**converted, "metadata": _restored_metadata(before, converted)}


def _restored_metadata(before: Tree, converted: Tree) -> Tree:
    """Return the source's metadata with labels and annotations of the converted object. Upstream: ``restoreObjectMeta``."""
    if "metadata" not in converted:
        raise InvalidObjectError("missing metadata in converted object", InvalidPart.METADATA)
    after = converted["metadata"]
    if not isinstance(after, dict):
        text = f"invalid metadata of type {_go_type(after)} in converted object"
        raise InvalidObjectError(text, InvalidPart.METADATA)
    metadata = {key: value for key, value in before.items() if key not in ("labels", "annotations")}
    for field in ("labels", "annotations"):
        values = after.get(field)
        if values is not None:
            metadata[field] = _checked(field, values, before.get(field) or {})
    return metadata


def _checked(field: str, values: Any, before: Tree) -> Tree:
    if not isinstance(values, dict):
        text = f"invalid metadata.{field} of type {_go_type(values)} in converted object"
        raise InvalidObjectError(text, InvalidPart.METADATA)
    for key, value in values.items():
        if not isinstance(value, str):
            text = f"metadata.{field}[{key}] must be a string, but is {_go_type(value)} in converted object"
            raise InvalidObjectError(text, InvalidPart.METADATA)
    if values != before:
        if field == "labels":
            errors = validate_labels(values, Path("metadata", "labels"))
        else:
            errors = validate_annotations(values, Path("metadata", "annotation"))
        if errors:
            raise InvalidObjectError(aggregate(errors), InvalidPart.METADATA)
    return values


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type(value).__name__, "<nil>")
