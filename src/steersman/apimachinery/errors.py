"""Refusals as Kubernetes writes them: an exception that already is a complete ``Status`` object.

One class, told apart by its reason::

    StatusError
    ├── 400 BadRequest              bad_request
    ├── 401 Unauthorized            unauthorized
    ├── 403 Forbidden               forbidden
    ├── 404 NotFound                not_found
    ├── 405 MethodNotAllowed        method_not_supported
    ├── 406 NotAcceptable           not_acceptable
    ├── 409 AlreadyExists           already_exists, generate_name_conflict
    ├── 409 Conflict                conflict, apply_conflict
    ├── 410 Gone, Expired           gone, resource_expired
    ├── 413 RequestEntityTooLarge   request_entity_too_large
    ├── 415 UnsupportedMediaType    unsupported_media_type
    ├── 422 Invalid                 invalid
    ├── 429 TooManyRequests         too_many_requests
    ├── 500 InternalError           internal_error
    ├── 500 ServerTimeout           server_timeout
    ├── 500 (no reason)             plain_error
    ├── 503 ServiceUnavailable      service_unavailable
    └── 504 Timeout                 timeout, too_large_resource_version

A group resource is written ``pods`` or ``deployments.apps``, a group kind ``Pod`` or ``Deployment.apps``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.field import join_messages
from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.apimachinery.field import FieldError

#: Characters of the causes of one 422; as large as a request body may be.
_CAUSES_TEXT_MAX: Final = 3 * 1024 * 1024


class Reason(StrEnum):
    """Why a request failed, for machines (``Status.reason``)."""

    UNKNOWN = ""
    ALREADY_EXISTS = "AlreadyExists"
    BAD_REQUEST = "BadRequest"
    CONFLICT = "Conflict"
    EXPIRED = "Expired"
    FORBIDDEN = "Forbidden"
    GONE = "Gone"
    INTERNAL_ERROR = "InternalError"
    INVALID = "Invalid"
    METHOD_NOT_ALLOWED = "MethodNotAllowed"
    NOT_ACCEPTABLE = "NotAcceptable"
    NOT_FOUND = "NotFound"
    REQUEST_ENTITY_TOO_LARGE = "RequestEntityTooLarge"
    SERVER_TIMEOUT = "ServerTimeout"
    SERVICE_UNAVAILABLE = "ServiceUnavailable"
    STORE_READ_ERROR = "StorageReadError"
    TIMEOUT = "Timeout"
    TOO_MANY_REQUESTS = "TooManyRequests"
    UNAUTHORIZED = "Unauthorized"
    UNSUPPORTED_MEDIA_TYPE = "UnsupportedMediaType"


_KNOWN_REASONS: Final = frozenset(reason.value for reason in Reason if reason)

#: ``details.causes[].reason`` of a write that names a version newer than any the server has.
CAUSE_RESOURCE_VERSION_TOO_LARGE: Final = "ResourceVersionTooLarge"
CAUSE_NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
CAUSE_FIELD_MANAGER_CONFLICT: Final = "FieldManagerConflict"
CAUSE_UNEXPECTED_SERVER_RESPONSE: Final = "UnexpectedServerResponse"


class StatusError(Exception):
    """A request failed; ``status`` is the whole ``metav1.Status`` that answers it."""

    def __init__(self, status: dict[str, Any], *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status.get("message", ""))
        self.status: Final = status
        self._headers: Final = dict(headers or {})

    @property
    def code(self) -> int:
        """The HTTP code; 500 when the status tells none."""
        code = self.status.get("code")
        return code if isinstance(code, int) and code else 500

    @property
    def reason(self) -> str:
        """Empty when the status tells none."""
        return self.status.get("reason") or ""

    @property
    def message(self) -> str:
        """What went wrong, for people."""
        return self.status.get("message") or ""

    @property
    def details(self) -> dict[str, Any]:
        """What it is about; empty when the status tells nothing."""
        return self.status.get("details") or {}

    @property
    def causes(self) -> list[dict[str, Any]]:
        """The single faults; empty when the status tells none."""
        return self.details.get("causes") or []

    @property
    def retry_after_seconds(self) -> int | None:
        """When the client may try again; ``None`` when the status does not say."""
        return self.details.get("retryAfterSeconds") or None

    @property
    def headers(self) -> dict[str, str]:
        """Headers that the answer needs beside the usual ones (``Retry-After``)."""
        if self.retry_after_seconds is None:
            return self._headers
        return {"Retry-After": str(self.retry_after_seconds), **self._headers}

    def add_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """The answer needs these, too."""
        self._headers.update((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def failure(
    code: int,
    reason: Reason,
    message: str,
    *,
    details: dict[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> StatusError:
    """A failure put together by hand; prefer the constructors below. ``details`` is left out only when ``None``."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
    }
    if reason:
        status["reason"] = reason.value
    if details is not None:
        status["details"] = details
    status["code"] = code
    return StatusError(status, headers=headers)


def _details(
    what: str = "",
    name: str = "",
    *,
    causes: Sequence[Mapping[str, Any]] = (),
    retry_after_seconds: int = 0,
) -> dict[str, Any]:
    """Empty parts are left out, as Go's ``omitempty`` does."""
    kind, _, group = what.partition(".")
    parts = {
        "name": name,
        "group": group,
        "kind": kind,
        "causes": [dict(cause) for cause in causes],
        "retryAfterSeconds": retry_after_seconds,
    }
    return {key: value for key, value in parts.items() if value}


def bad_request(message: str) -> StatusError:
    """400: the request cannot be understood."""
    return failure(400, Reason.BAD_REQUEST, message)


def unauthorized(message: str = "") -> StatusError:
    """401: the credentials are missing or wrong."""
    return failure(401, Reason.UNAUTHORIZED, message or "not authorized")


def forbidden(group_resource: str, name: str, why: str, *, causes: Sequence[Mapping[str, Any]] = ()) -> StatusError:
    """403: the caller or an admission rule says no. Without a resource the request was for a bare path."""
    if not group_resource:
        message = f"forbidden: {why}"
    elif not name:
        message = f"{group_resource} is forbidden: {why}"
    else:
        message = f"{group_resource} {quote(name)} is forbidden: {why}"
    return failure(403, Reason.FORBIDDEN, message, details=_details(group_resource, name, causes=causes))


def not_found(group_resource: str, name: str) -> StatusError:
    """404: no object of this name."""
    return failure(
        404, Reason.NOT_FOUND, f"{group_resource} {quote(name)} not found", details=_details(group_resource, name)
    )


def path_not_found() -> StatusError:
    """404: nothing is served at this path."""
    return generic_server_response(404)


def method_not_supported(group_resource: str, action: str) -> StatusError:
    """405: the resource does not know this verb."""
    message = f"{action} is not supported on resources of kind {quote(group_resource)}"
    return failure(405, Reason.METHOD_NOT_ALLOWED, message, details=_details(group_resource))


def method_not_allowed() -> StatusError:
    """405: the path does not know this HTTP method."""
    return generic_server_response(405)


def not_acceptable(accepted: Iterable[str]) -> StatusError:
    """406: none of the media types that the client accepts is served."""
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return failure(406, Reason.NOT_ACCEPTABLE, message)


def unsupported_media_type(accepted: Iterable[str]) -> StatusError:
    """415: the body's media type is none of the accepted ones."""
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return failure(415, Reason.UNSUPPORTED_MEDIA_TYPE, message)


def already_exists(group_resource: str, name: str) -> StatusError:
    """409: the name is taken."""
    message = f"{group_resource} {quote(name)} already exists"
    return failure(409, Reason.ALREADY_EXISTS, message, details=_details(group_resource, name))


def generate_name_conflict(group_resource: str, name: str, *, retry_after_seconds: int) -> StatusError:
    """409: every name made from ``generateName`` was taken."""
    return failure(
        409,
        Reason.ALREADY_EXISTS,
        f"{group_resource} {quote(name)} already exists, the server was not able to generate a unique name for the object",
        details=_details(group_resource, name, retry_after_seconds=retry_after_seconds),
    )


#: Why most conflicts happen.
MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(group_resource: str, name: str, why: str = MODIFIED) -> StatusError:
    """409: the write was made against an old version, or a precondition does not hold."""
    message = f"Operation cannot be fulfilled on {group_resource} {quote(name)}: {why}"
    return failure(409, Reason.CONFLICT, message, details=_details(group_resource, name))


def apply_conflict(message: str, causes: Sequence[Mapping[str, Any]]) -> StatusError:
    """409: other managers own applied fields; a cause for each field."""
    return failure(409, Reason.CONFLICT, message, details=_details(causes=causes))


def gone(message: str) -> StatusError:
    """410: what is asked for will not come back."""
    return failure(410, Reason.GONE, message)


def resource_expired(message: str) -> StatusError:
    """410: the asked version is no longer kept; list again."""
    return failure(410, Reason.EXPIRED, message)


def request_entity_too_large(message: str) -> StatusError:
    """413: the body, or what it asks for, is beyond a limit."""
    return failure(413, Reason.REQUEST_ENTITY_TOO_LARGE, f"Request entity too large: {message}")


def invalid(group_kind: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """422: the object breaks rules of its kind; a cause for each.

    Causes beyond 3 MiB of text are counted and not shown: an error shows the value it is about, so that errors about each
    item of a list that show the whole list would have a quadratic size.
    """
    causes: list[Mapping[str, Any]] = []
    size = 0
    for error in errors:
        if size > _CAUSES_TEXT_MAX:
            break
        causes.append(cause := error.cause())
        size += len(cause["message"]) + len(cause["field"])
    message = f"{group_kind} {quote(name)} is invalid"
    if causes:
        texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
        if len(errors) > len(causes):
            texts.append(f"and {len(errors) - len(causes)} more errors")
        message = f"{message}: {join_messages(texts)}"
    return failure(422, Reason.INVALID, message, details=_details(group_kind, name, causes=causes))


def too_many_requests(
    message: str, *, retry_after_seconds: int = 0, causes: Sequence[Mapping[str, Any]] = ()
) -> StatusError:
    """429: not now."""
    details = _details(retry_after_seconds=retry_after_seconds, causes=causes)
    return failure(429, Reason.TOO_MANY_REQUESTS, message, details=details)


def plain_error(message: str, *, code: int = 500) -> StatusError:
    """500 without a reason: what upstream answers for faults it has no Status for, and clients know as such."""
    return failure(code, Reason.UNKNOWN, message)


def internal_error(why: str) -> StatusError:
    """500: a fault of the server."""
    return failure(
        500,
        Reason.INTERNAL_ERROR,
        f"Internal error occurred: {why}",
        details=_details(causes=[{"message": why}]),
    )


def server_timeout(group_resource: str, operation: str, *, retry_after_seconds: int = 0) -> StatusError:
    """500: the server gave up for now; the same request may work later."""
    return failure(
        500,
        Reason.SERVER_TIMEOUT,
        f"The {operation} operation against {group_resource} could not be completed at this time, please try again.",
        details=_details(group_resource, operation, retry_after_seconds=retry_after_seconds),
    )


def service_unavailable(message: str) -> StatusError:
    """503: a part that the request needs is not there."""
    return failure(503, Reason.SERVICE_UNAVAILABLE, message)


def timeout(message: str, *, retry_after_seconds: int = 0) -> StatusError:
    """504: the request was not done within its time; it may or may not have had effect."""
    details = _details(retry_after_seconds=retry_after_seconds)
    return failure(504, Reason.TIMEOUT, f"Timeout: {message}", details=details)


def too_large_resource_version(minimum: int, current: int, *, retry_after_seconds: int = 1) -> StatusError:
    """504: the client asks for a version that the server has not reached."""
    cause = {"reason": CAUSE_RESOURCE_VERSION_TOO_LARGE, "message": "Too large resource version"}
    return failure(
        504,
        Reason.TIMEOUT,
        f"Timeout: Too large resource version: {minimum}, current: {current}",
        details=_details(retry_after_seconds=retry_after_seconds, causes=[cause]),
    )


#: What is known of an answer from its code alone. ``None``: the server's own words are the message.
_BY_CODE: Final[dict[int, tuple[Reason, str | None]]] = {
    400: (Reason.BAD_REQUEST, "the server rejected our request for an unknown reason"),
    401: (Reason.UNAUTHORIZED, "the server has asked for the client to provide credentials"),
    403: (Reason.FORBIDDEN, None),
    404: (Reason.NOT_FOUND, "the server could not find the requested resource"),
    405: (Reason.METHOD_NOT_ALLOWED, "the server does not allow this method on the requested resource"),
    406: (Reason.NOT_ACCEPTABLE, None),
    409: (Reason.CONFLICT, "the server reported a conflict"),
    415: (Reason.UNSUPPORTED_MEDIA_TYPE, None),
    422: (Reason.INVALID, "the server rejected our request due to an error in our request"),
    429: (
        Reason.TOO_MANY_REQUESTS,
        "the server has received too many requests and has asked us to try again later",
    ),
    503: (Reason.SERVICE_UNAVAILABLE, "the server is currently unable to handle the request"),
    504: (
        Reason.TIMEOUT,
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}


def generic_server_response(
    code: int,
    *,
    verb: str = "",
    group_resource: str = "",
    name: str = "",
    server_message: str = "",
    retry_after_seconds: int = 0,
    unexpected: bool = False,
) -> StatusError:
    """A failure of which little more than the HTTP code is known (an answer that is no Status, a refused method).

    ``unexpected`` keeps the server's words as a cause.
    """
    reason, message = _BY_CODE.get(code, (Reason.UNKNOWN, ""))
    if code == 409 and verb == "POST":
        reason = Reason.ALREADY_EXISTS
    if code == 406 and server_message in ("", "unknown"):
        message = "the server was unable to respond with a content type that the client supports"
    if message is None:
        message = server_message
    if not reason and code >= 500:
        reason = Reason.INTERNAL_ERROR
        message = f"an error on the server ({quote(server_message)}) has prevented the request from succeeding"
    if not reason:
        message = f"the server responded with the status code {code} but did not return more information"
    if group_resource:
        message += f" ({' '.join(filter(None, (verb.lower(), group_resource, name)))})"
    causes = [{"reason": CAUSE_UNEXPECTED_SERVER_RESPONSE, "message": server_message}] if unexpected else []
    details = _details(group_resource, name, causes=causes, retry_after_seconds=retry_after_seconds)
    return failure(code, reason, message, details=details)


def _has(error: BaseException | None, reason: Reason, code: int = 0) -> bool:
    """By reason; an answer with a reason nobody knows is told by its code."""
    if not isinstance(error, StatusError):
        return False
    return error.reason == reason or (bool(code) and error.code == code and error.reason not in _KNOWN_REASONS)


def is_not_found(error: BaseException | None) -> bool:
    """Whether an object or path does not exist."""
    return _has(error, Reason.NOT_FOUND, 404)


def is_already_exists(error: BaseException | None) -> bool:
    """Whether the name was taken."""
    return _has(error, Reason.ALREADY_EXISTS)


def is_conflict(error: BaseException | None) -> bool:
    """Whether a write lost against another, or a precondition failed."""
    return _has(error, Reason.CONFLICT, 409)


def is_invalid(error: BaseException | None) -> bool:
    """Whether an object broke its kind's rules."""
    return _has(error, Reason.INVALID, 422)


def is_gone(error: BaseException | None) -> bool:
    """Whether what was asked for will not come back."""
    return _has(error, Reason.GONE, 410)


def is_resource_expired(error: BaseException | None) -> bool:
    """Whether the asked version is no longer kept."""
    return _has(error, Reason.EXPIRED)


def is_not_acceptable(error: BaseException | None) -> bool:
    """Whether no accepted media type is served."""
    return _has(error, Reason.NOT_ACCEPTABLE, 406)


def is_unsupported_media_type(error: BaseException | None) -> bool:
    """Whether the body's media type was not understood."""
    return _has(error, Reason.UNSUPPORTED_MEDIA_TYPE, 415)


def is_method_not_supported(error: BaseException | None) -> bool:
    """Whether the resource does not know the verb."""
    return _has(error, Reason.METHOD_NOT_ALLOWED, 405)


def is_service_unavailable(error: BaseException | None) -> bool:
    """Whether a needed part was not there."""
    return _has(error, Reason.SERVICE_UNAVAILABLE, 503)


def is_bad_request(error: BaseException | None) -> bool:
    """Whether the request could not be understood."""
    return _has(error, Reason.BAD_REQUEST, 400)


def is_unauthorized(error: BaseException | None) -> bool:
    """Whether credentials were missing or wrong."""
    return _has(error, Reason.UNAUTHORIZED, 401)


def is_forbidden(error: BaseException | None) -> bool:
    """Whether the caller may not do this."""
    return _has(error, Reason.FORBIDDEN, 403)


def is_timeout(error: BaseException | None) -> bool:
    """Whether the request was not done within its time."""
    return _has(error, Reason.TIMEOUT, 504)


def is_server_timeout(error: BaseException | None) -> bool:
    """Whether the server gave up for now."""
    return _has(error, Reason.SERVER_TIMEOUT)


def is_internal_error(error: BaseException | None) -> bool:
    """Whether it was the server's fault."""
    return _has(error, Reason.INTERNAL_ERROR, 500)


def is_too_many_requests(error: BaseException | None) -> bool:
    """Whether the client should slow down."""
    if not isinstance(error, StatusError):
        return False
    return error.reason == Reason.TOO_MANY_REQUESTS or error.code == 429


def is_request_entity_too_large(error: BaseException | None) -> bool:
    """Whether the body was beyond the limit."""
    if not isinstance(error, StatusError):
        return False
    return error.reason == Reason.REQUEST_ENTITY_TOO_LARGE or error.code == 413


def has_cause(error: BaseException | None, cause: str) -> bool:
    """Whether one of the causes carries this reason (``ResourceVersionTooLarge``, ``NamespaceTerminating``, …)."""
    return isinstance(error, StatusError) and any(entry.get("reason") == cause for entry in error.causes)


def is_namespace_terminating(error: BaseException | None) -> bool:
    """Whether something could not be made as its namespace ends: no later try can make it, and nothing needs it."""
    return has_cause(error, CAUSE_NAMESPACE_TERMINATING)
