"""Exceptions of the client; every API error carries the server's ``Status``.

::

    ClientError
    ├── RequestFailed                no response (a ``TransportError`` is the cause)
    ├── RequestTimedOut              no response in time; a RequestFailed
    ├── UnexpectedResponse           a response that cannot be decoded
    └── ApiError                     an error status; a ``StatusError`` too, so ``errors.is_*`` work
        ├── BadRequest 400   ├── Unauthorized 401   ├── Forbidden 403     ├── NotFound 404
        ├── MethodNotAllowed 405                    ├── NotAcceptable 406
        ├── AlreadyExists 409                       ├── Conflict 409
        ├── Gone 410         └── Expired: a resource version or continue token that is too old
        ├── RequestEntityTooLarge 413               ├── UnsupportedMediaType 415
        ├── Invalid 422      ├── TooManyRequests 429
        ├── InternalError 500                       ├── ServerTimeout 500: try again later
        ├── ServiceUnavailable 503                  └── Timeout 504
"""
# ruff: noqa: N818 — the names are Kubernetes' reasons

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.errors import Reason, StatusError, generic_server_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.client.transport import Response


class ClientError(Exception):
    """Base class of the client's exceptions, except ``ValueError`` and ``LookupError`` for invalid calls."""


class RequestFailed(ClientError):
    """No response arrived; the request may or may not have had effect."""


class RequestTimedOut(RequestFailed):
    """No response arrived in time; the request may or may not have had effect."""


class UnexpectedResponse(ClientError):
    """The response cannot be decoded as the requested object."""


class ApiError(StatusError, ClientError):
    """The server responded with an error; ``status`` is the whole ``metav1.Status``."""

    def __str__(self) -> str:
        return self.message or f"{self.code} {self.reason}".strip()


class BadRequest(ApiError):
    """400: the request is malformed."""


class Unauthorized(ApiError):
    """401: the credentials are missing or invalid."""


class Forbidden(ApiError):
    """403: the caller is not authorized for the request."""


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class MethodNotAllowed(ApiError):
    """405: the resource does not support the verb."""


class NotAcceptable(ApiError):
    """406: the server supports none of the accepted media types."""


class AlreadyExists(ApiError):
    """409: an object of this name exists."""


class Conflict(ApiError):
    """409: the write is based on an old version, a precondition failed, or another manager owns an applied field."""


class Gone(ApiError):
    """410: the requested item is no longer available."""


class Expired(Gone):
    """410: the resource version or continue token is too old; list again."""


class RequestEntityTooLarge(ApiError):
    """413: the body exceeds a limit."""


class UnsupportedMediaType(ApiError):
    """415: the server does not support the media type of the body."""


class Invalid(ApiError):
    """422: validation of the object failed; ``causes`` lists the fields."""


class TooManyRequests(ApiError):
    """429: the client must wait; ``retry_after_seconds`` is the delay, if the server set one."""


class InternalError(ApiError):
    """500: an internal error of the server."""


class ServerTimeout(ApiError):
    """500: the server could not complete the request in time; retry later."""


class ServiceUnavailable(ApiError):
    """503: a service that the request needs is unavailable."""


class Timeout(ApiError):
    """504: the request exceeded the server's time limit; it may or may not have had effect."""


_BY_REASON: Final[dict[str, type[ApiError]]] = {
    Reason.ALREADY_EXISTS: AlreadyExists,
    Reason.BAD_REQUEST: BadRequest,
    Reason.CONFLICT: Conflict,
    Reason.EXPIRED: Expired,
    Reason.FORBIDDEN: Forbidden,
    Reason.GONE: Gone,
    Reason.INTERNAL_ERROR: InternalError,
    Reason.INVALID: Invalid,
    Reason.METHOD_NOT_ALLOWED: MethodNotAllowed,
    Reason.NOT_ACCEPTABLE: NotAcceptable,
    Reason.NOT_FOUND: NotFound,
    Reason.REQUEST_ENTITY_TOO_LARGE: RequestEntityTooLarge,
    Reason.SERVER_TIMEOUT: ServerTimeout,
    Reason.SERVICE_UNAVAILABLE: ServiceUnavailable,
    Reason.TIMEOUT: Timeout,
    Reason.TOO_MANY_REQUESTS: TooManyRequests,
    Reason.UNAUTHORIZED: Unauthorized,
    Reason.UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaType,
}

#: For a Status without a known reason.
_BY_CODE: Final[dict[int, type[ApiError]]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 405: MethodNotAllowed, 406: NotAcceptable,
    409: Conflict, 410: Gone, 413: RequestEntityTooLarge, 415: UnsupportedMediaType, 422: Invalid,
    429: TooManyRequests, 500: InternalError, 503: ServiceUnavailable, 504: Timeout,
}  # fmt: skip

#: Maximum bytes of a response that is not a Status in an error message. Upstream: ``maxUnstructuredResponseTextBytes``.
_EXCERPT_BYTES: Final = 2048


def from_status(status: dict[str, Any], *, headers: Mapping[str, str] | None = None) -> ApiError:
    """Return the exception for a Status."""
    error_class = _BY_REASON.get(status.get("reason") or "") or _BY_CODE.get(status.get("code") or 0) or ApiError
    return error_class(status, headers=headers)


def from_response(response: Response, *, method: str, group_resource: str = "", name: str = "") -> ApiError:
    """Return the exception for a response with a status code from 400, with or without a Status as body.

    Upstream: ``rest.Request.newUnstructuredResponseError``.
    """
    retry_after = retry_after_seconds(response.headers)
    try:
        tree = msgspec.json.decode(response.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        tree = None
    if isinstance(tree, dict) and tree.get("kind") == "Status" and tree.get("status") != "Success":
        tree.setdefault("code", response.status)
        if retry_after:
            tree["details"] = {"retryAfterSeconds": int(retry_after), **(tree.get("details") or {})}
        return from_status(tree, headers=response.headers)
    error = generic_server_response(
        response.status,
        verb=method,
        group_resource=group_resource,
        name=name,
        server_message=response.body[:_EXCERPT_BYTES].decode("utf-8", "replace").strip() or "unknown",
        retry_after_seconds=int(retry_after or 0),
        unexpected=True,
    )
    return from_status(error.status, headers=response.headers)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of ``Retry-After``; None without the header. Kubernetes uses no HTTP dates."""
    text = headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdigit() else None
