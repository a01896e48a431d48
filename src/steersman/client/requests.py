"""Construction of Kubernetes API requests as plain values, independent of a client.

Paths and parameters follow the API conventions; names are Kubernetes' own.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, cast

import msgspec

from steersman.client.transport import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.schema.resources import Resource

FieldValidation = Literal["Strict", "Warn", "Ignore"]
PropagationPolicy = Literal["Foreground", "Background", "Orphan"]

JSON: Final = "application/json"


class PatchType(StrEnum):
    """Patch format; the value is its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class ApplyOptions(TypedDict, total=False):
    """Options of server-side apply."""

    dry_run: bool
    #: Treatment of unknown fields; the server defaults to ``Warn``.
    field_validation: FieldValidation


class WriteOptions(ApplyOptions, total=False):
    """Options of create, update and patch."""

    #: Owner of the written fields; the server defaults to the user agent up to the first slash.
    field_manager: str


class ListOptions(TypedDict, total=False):
    """Options of list and watch."""

    label_selector: str | Mapping[str, str]
    field_selector: str | Mapping[str, str]
    resource_version: str
    resource_version_match: Literal["Exact", "NotOlderThan"]
    #: Bound for a list on the server, or for the duration of a watch.
    timeout_seconds: int


class DeleteOptions(TypedDict, total=False):
    """Options of delete and delete_collection."""

    grace_period_seconds: int
    propagation_policy: PropagationPolicy
    #: Precondition: UID of the object.
    uid: str
    #: Precondition: version of the object.
    resource_version: str
    dry_run: bool


def resource_path(info: Resource, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Return the path of a collection, an object or a subresource.

    Raises ValueError for a name or namespace that would change the path.
    """
    for text in (namespace, name):
        if "/" in text or "%" in text or text in (".", ".."):  # ``ValidatePathSegmentName``
            raise ValueError(f"{text!r} cannot be part of a path")
    if namespace and not info.namespaced:
        raise ValueError(f"{info.group_resource} are not in namespaces")
    parts = ["/apis", info.group, info.version] if info.group else ["/api", info.version]
    if namespace:
        parts += ["namespaces", namespace]
    return "/".join([*parts, info.name, *([name] if name else []), *([subresource] if subresource else [])])


def named_path(info: Resource, *, namespace: str, name: str, subresource: str = "") -> str:
    """Return the path of one object. Raises ValueError if name or namespace are missing."""
    if not name:
        raise ValueError("resource name may not be empty")
    if info.namespaced and not namespace:
        raise ValueError("an empty namespace may not be set when a resource name is provided")
    return resource_path(info, namespace=namespace if info.namespaced else "", name=name, subresource=subresource)


def accept_header(accept_as: str) -> str:
    """Return the ``Accept`` header for objects as a kind of ``meta.k8s.io/v1``; for plain objects if empty."""
    return f"{JSON};as={accept_as};g=meta.k8s.io;v=v1" if accept_as else JSON


def read(path: str, *, query: tuple[tuple[str, str], ...] = (), accept: str = JSON) -> Request:
    """Return a GET request."""
    return Request("GET", path, query, {"accept": accept})


def write(
    method: str,
    path: str,
    body: Any,
    *,
    content_type: str = JSON,
    query: tuple[tuple[str, str], ...] = (),
    accept: str = JSON,
) -> Request:
    """Return a POST, PUT or PATCH request; ``body`` is a tree, a struct or encoded bytes."""
    encoded = body if isinstance(body, bytes) else encode(body)
    return Request(method, path, query, {"accept": accept, "content-type": content_type}, encoded)


#: Kinds with ``MicroTime`` fields.
_WITH_MICRO_TIMES: Final = frozenset({"Lease", "LeaseCandidate", "Event"})
_WHOLE_SECONDS: Final = re.compile(
    rb'("(?:acquireTime|renewTime|pingTime|eventTime|lastObservedTime)":"[0-9-]{10}T[0-9:]{8})Z"'
)


def encode(body: Any) -> bytes:
    """Encode a tree or a struct as JSON.

    A ``MicroTime`` always has six fractional digits: Go's parser requires them, and msgspec omits zeros.
    """
    encoded = msgspec.json.encode(body)
    if isinstance(body, msgspec.Struct) and type(body).__name__ in _WITH_MICRO_TIMES:
        return _WHOLE_SECONDS.sub(rb'\1.000000Z"', encoded)
    return encoded


def delete(path: str, options: DeleteOptions, *, query: tuple[tuple[str, str], ...] = ()) -> Request:
    """Return a DELETE request, with the options as its body if any are set."""
    body = delete_body(options)
    if not body:
        return Request("DELETE", path, query, {"accept": JSON})
    return write("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", **body}, query=query)


def delete_body(options: DeleteOptions) -> dict[str, Any]:
    """Return ``metav1.DeleteOptions`` without kind."""
    preconditions = {"uid": options.get("uid"), "resourceVersion": options.get("resource_version")}
    body: dict[str, Any] = {
        "gracePeriodSeconds": options.get("grace_period_seconds"),
        "propagationPolicy": options.get("propagation_policy"),
        "preconditions": {key: value for key, value in preconditions.items() if value is not None} or None,
        "dryRun": ["All"] if options.get("dry_run") else None,
    }
    return {key: value for key, value in body.items() if value is not None}


def write_query(
    options: WriteOptions | ApplyOptions, *, field_manager: str = "", force: bool | None = None
) -> tuple[tuple[str, str], ...]:
    """Return the query parameters of a write."""
    parameters: dict[str, str | None] = {
        "dryRun": "All" if options.get("dry_run") else None,
        "fieldManager": field_manager or cast("WriteOptions", options).get("field_manager"),
        "fieldValidation": options.get("field_validation"),
        "force": None if force is None else _bool(value=force),
    }
    return _without_none(parameters)


def list_query(
    options: ListOptions, *, limit: int | None = None, continue_token: str = ""
) -> tuple[tuple[str, str], ...]:
    """Return the query parameters of a LIST."""
    return _without_none(_list_parameters(options) | {"limit": _int(limit), "continue": continue_token or None})


def watch_query(
    options: ListOptions, *, bookmarks: bool = True, send_initial_events: bool | None = None
) -> tuple[tuple[str, str], ...]:
    """Return the query parameters of a WATCH."""
    extra = {
        "watch": "true",
        "allowWatchBookmarks": "true" if bookmarks else None,
        "sendInitialEvents": None if send_initial_events is None else _bool(value=send_initial_events),
    }
    return _without_none(_list_parameters(options) | extra)


def selector_text(selector: str | Mapping[str, str] | None) -> str | None:
    """Return a selector in the query format; a mapping requires equality of each entry."""
    if selector is None or isinstance(selector, str):
        return selector or None
    return ",".join(f"{key}={value}" for key, value in selector.items()) or None


def _list_parameters(options: ListOptions) -> dict[str, str | None]:
    return {
        "labelSelector": selector_text(options.get("label_selector")),
        "fieldSelector": selector_text(options.get("field_selector")),
        "resourceVersion": options.get("resource_version") or None,
        "resourceVersionMatch": options.get("resource_version_match"),
        "timeoutSeconds": _int(options.get("timeout_seconds")),
    }


def _without_none(parameters: Mapping[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in parameters.items() if value is not None)


def _int(value: int | None) -> str | None:
    return None if value is None else str(value)


def _bool(*, value: bool) -> str:
    return "true" if value else "false"
