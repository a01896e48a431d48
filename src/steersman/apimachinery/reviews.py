"""Reading of the reviews that webhooks answer with, as strict as Go's decoder and with its errors.

Upstream: ``runtime.Decode`` of k8s.io/apimachinery/pkg/runtime, for the types of one group and kind
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.envelope import json_type

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


class ReviewDecodeError(ValueError):
    """The response is no review of the requested version."""


def read_review(body: bytes, *, group: str, version: str, kind: str) -> tuple[Tree, str, str]:
    """Return a review with its apiVersion and kind, which may be empty. Raises ``ReviewDecodeError``."""
    try:
        review = decode_json(body)
    except DecodeError as error:
        raise ReviewDecodeError(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(review, dict):
        raise ReviewDecodeError(type_error(review, "struct { APIVersion string; Kind string }"))
    api_version, actual_kind = text_field(review, "apiVersion", kind), text_field(review, "kind", kind)
    verify_kind(api_version, actual_kind, f"{group}/{version}", kind)
    return review, api_version, actual_kind


def verify_kind(api_version: str, kind: str, expected: str, expected_kind: str) -> None:
    """Raise ``ReviewDecodeError`` unless apiVersion and kind of a review are the expected ones, or empty."""
    if (api_version or expected, kind or expected_kind) != (expected, expected_kind):
        raise ReviewDecodeError(
            _conversion_error(api_version or expected, kind or expected_kind, expected, expected_kind)
        )


def _conversion_error(api_version: str, kind: str, expected: str, expected_kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    expected_group, _, expected_version = expected.rpartition("/")
    if group == expected_group and version in ("v1", "v1beta1") and kind == expected_kind:
        return f"converting ({version}.{kind}) to ({expected_version}.{kind}): unknown conversion"
    return f'no kind "{kind}" is registered for version "{api_version}"'


def type_error(value: Any, expected: str) -> str:
    """Return the message of Go's decoder for a value of another type."""
    prefix = "" if expected.startswith("Go") else "Go value of type "
    return f"json: cannot unmarshal {json_type(value)} into {prefix}{expected}"


def text_field(tree: Tree, name: str, owner: str) -> str:
    """Return a text; empty if it is missing. Raises ``ReviewDecodeError``."""
    value = tree.get(name)
    if value is not None and not isinstance(value, str):
        raise ReviewDecodeError(type_error(value, f"Go struct field {owner}.{name} of type string"))
    return value or ""
