"""What can go wrong when one talks to an API server; every refusal carries the server's ``Status``.

::

    ClientError
    ├── RequestFailed                the server gave no answer (a ``TransportError`` is its cause)
    ├── RequestTimedOut              nor within the request's time
    ├── UnreadableAnswer             the answer is not what was asked for
    └── ApiError                     the server said no: a ``StatusError`` too, so ``errors.is_*`` work
        ├── BadRequest 400   ├── Unauthorized 401   ├── Forbidden 403     ├── NotFound 404
        ├── MethodNotAllowed 405                    ├── NotAcceptable 406
        ├── AlreadyExists 409                       ├── Conflict 409
        ├── Gone 410         └── Expired: a version that is no longer kept
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

    from steersman.client.transport import Answer


class ClientError(Exception):
    """The root of all that the client raises, except ``ValueError`` and ``LookupError`` for wrong calls."""


class RequestFailed(ClientError):
    """No answer came; the request may or may not have had effect."""


class RequestTimedOut(RequestFailed):
    """No answer came in time; the request may or may not have had effect."""


class UnreadableAnswer(ClientError):
    """The server answered with something that is not what was asked for."""


class ApiError(StatusError, ClientError):
    """The server refused; ``status`` is the whole ``metav1.Status``."""

    def __str__(self) -> str:
        return self.message or f"{self.code} {self.reason}".strip()


class BadRequest(ApiError):
    """400: the request cannot be understood."""


class Unauthorized(ApiError):
    """401: the credentials are missing or wrong."""


class Forbidden(ApiError):
    """403: the caller may not do this."""


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class MethodNotAllowed(ApiError):
    """405: the resource does not know this verb."""


class NotAcceptable(ApiError):
    """406: no accepted media type is served."""


class AlreadyExists(ApiError):
    """409: the name is taken."""


class Conflict(ApiError):
    """409: the write was made against an old version, or a precondition does not hold, or a field is another's."""


class Gone(ApiError):
    """410: what was asked for will not come back."""


class Expired(Gone):
    """410: the asked version is no longer kept; list again."""


class RequestEntityTooLarge(ApiError):
    """413: the body is beyond a limit."""


class UnsupportedMediaType(ApiError):
    """415: the server does not read bodies of this type."""


class Invalid(ApiError):
    """422: the object breaks rules of its kind; ``causes`` tells which."""


class TooManyRequests(ApiError):
    """429: not now; ``retry_after_seconds`` may tell when."""


class InternalError(ApiError):
    """500: a fault of the server."""


class ServerTimeout(ApiError):
    """500: the server gave up for now; the same request may work later."""


class ServiceUnavailable(ApiError):
    """503: a part that the request needs is not there."""


class Timeout(ApiError):
    """504: the request was not done within the server's time; it may or may not have had effect."""


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

#: For a Status without a reason that is known.
_BY_CODE: Final[dict[int, type[ApiError]]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 405: MethodNotAllowed, 406: NotAcceptable,
    409: Conflict, 410: Gone, 413: RequestEntityTooLarge, 415: UnsupportedMediaType, 422: Invalid,
    429: TooManyRequests, 500: InternalError, 503: ServiceUnavailable, 504: Timeout,
}  # fmt: skip

#: How much of an answer that is no Status is kept, as client-go's ``maxUnstructuredResponseTextBytes``.
_SHOWN_BYTES: Final = 2048


def from_status(status: dict[str, Any], *, headers: Mapping[str, str] | None = None) -> ApiError:
    """The error that a Status means."""
    found = _BY_REASON.get(status.get("reason") or "") or _BY_CODE.get(status.get("code") or 0) or ApiError
    return found(status, headers=headers)


def from_answer(answer: Answer, *, method: str, group_resource: str = "", name: str = "") -> ApiError:
    """The error that an answer with a code of 400 or more means, whether or not its body is a Status."""
    retry_after = retry_after_seconds(answer.headers)
    try:
        tree = msgspec.json.decode(answer.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        tree = None
    if isinstance(tree, dict) and tree.get("kind") == "Status" and tree.get("status") != "Success":
        tree.setdefault("code", answer.status)
        if retry_after:
            tree["details"] = {"retryAfterSeconds": int(retry_after), **(tree.get("details") or {})}
        return from_status(tree, headers=answer.headers)
    made = generic_server_response(
        answer.status,
        verb=method,
        group_resource=group_resource,
        name=name,
        server_message=answer.body[:_SHOWN_BYTES].decode("utf-8", "replace").strip() or "unknown",
        retry_after_seconds=int(retry_after or 0),
        unexpected=True,
    )
    return from_status(made.status, headers=answer.headers)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """``Retry-After`` in whole seconds, the only form that Kubernetes uses; None where there is none."""
    text = headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdigit() else None
