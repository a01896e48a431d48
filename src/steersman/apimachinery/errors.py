"""API errors: an exception that carries a complete ``metav1.Status``. Upstream: ``k8s.io/apimachinery/pkg/api/errors``.

One class; reasons differ::

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

#: Maximum characters of the causes of one 422: the size limit of a request body.
_CAUSES_TEXT_MAX: Final = 3 * 1024 * 1024


class Reason(StrEnum):
    """Machine-readable reason of a failure (``Status.reason``)."""

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

#: ``details.causes[].reason`` of a write that names a version newer than any of the server.
CAUSE_RESOURCE_VERSION_TOO_LARGE: Final = "ResourceVersionTooLarge"
CAUSE_NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
CAUSE_FIELD_MANAGER_CONFLICT: Final = "FieldManagerConflict"
CAUSE_UNEXPECTED_SERVER_RESPONSE: Final = "UnexpectedServerResponse"


class StatusError(Exception):
    """Failure of a request; ``status`` is the ``metav1.Status`` of the response."""

    def __init__(self, status: dict[str, Any], *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status.get("message", ""))
        self.status: Final = status
        self._headers: Final = dict(headers or {})

    @property
    def code(self) -> int:
        """HTTP status code; 500 if the status has none."""
        code = self.status.get("code")
        return code if isinstance(code, int) and code else 500

    @property
    def reason(self) -> str:
        """Reason; empty if the status has none."""
        return self.status.get("reason") or ""

    @property
    def message(self) -> str:
        """Human-readable message."""
        return self.status.get("message") or ""

    @property
    def details(self) -> dict[str, Any]:
        """Details; empty if the status has none."""
        return self.status.get("details") or {}

    @property
    def causes(self) -> list[dict[str, Any]]:
        """Causes of the details; empty if the status has none."""
        return self.details.get("causes") or []

    @property
    def retry_after_seconds(self) -> int | None:
        """Seconds until the client may retry; ``None`` if the status has no value."""
        return self.details.get("retryAfterSeconds") or None

    @property
    def headers(self) -> dict[str, str]:
        """Additional response headers (``Retry-After``)."""
        if self.retry_after_seconds is None:
            return self._headers
        return {"Retry-After": str(self.retry_after_seconds), **self._headers}

    def add_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Add response headers."""
        self._headers.update((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def failure(
    code: int,
    reason: Reason,
    message: str,
    *,
    details: dict[str, Any] | None = None,
) -> StatusError:
    """Return an error from its parts; prefer the constructors below. ``details`` is omitted only if ``None``."""
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
    return StatusError(status)


def _details(
    qualified_kind: str = "",
    name: str = "",
    *,
    causes: Sequence[Mapping[str, Any]] = (),
    retry_after_seconds: int = 0,
) -> dict[str, Any]:
    """Return ``Status.details`` without its empty fields, as with Go's ``omitempty``."""
    kind, _, group = qualified_kind.partition(".")
    parts = {
        "name": name,
        "group": group,
        "kind": kind,
        "causes": [dict(cause) for cause in causes],
        "retryAfterSeconds": retry_after_seconds,
    }
    return {key: value for key, value in parts.items() if value}


def bad_request(message: str) -> StatusError:
    """Return 400 BadRequest: the request is malformed."""
    return failure(400, Reason.BAD_REQUEST, message)


def unauthorized(message: str = "") -> StatusError:
    """Return 401 Unauthorized: credentials are missing or invalid."""
    return failure(401, Reason.UNAUTHORIZED, message or "not authorized")


def forbidden(group_resource: str, name: str, detail: str, *, causes: Sequence[Mapping[str, Any]] = ()) -> StatusError:
    """Return 403 Forbidden: rejected by authorization or admission.

    Without a resource the request was for a non-resource path.
    """
    if not group_resource:
        message = f"forbidden: {detail}"
    elif not name:
        message = f"{group_resource} is forbidden: {detail}"
    else:
        message = f"{group_resource} {quote(name)} is forbidden: {detail}"
    return failure(403, Reason.FORBIDDEN, message, details=_details(group_resource, name, causes=causes))


def not_found(group_resource: str, name: str) -> StatusError:
    """Return 404 NotFound: no object of this name exists."""
    return failure(
        404, Reason.NOT_FOUND, f"{group_resource} {quote(name)} not found", details=_details(group_resource, name)
    )


def path_not_found() -> StatusError:
    """Return 404 for a path that is not served."""
    return generic_server_response(404)


def method_not_supported(group_resource: str, action: str) -> StatusError:
    """Return 405 MethodNotAllowed: the resource does not support this verb."""
    message = f"{action} is not supported on resources of kind {quote(group_resource)}"
    return failure(405, Reason.METHOD_NOT_ALLOWED, message, details=_details(group_resource))


def method_not_allowed() -> StatusError:
    """Return 405 for a path that does not support this HTTP method."""
    return generic_server_response(405)


def not_acceptable(accepted: Iterable[str]) -> StatusError:
    """Return 406 NotAcceptable: none of the client's media types is served."""
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return failure(406, Reason.NOT_ACCEPTABLE, message)


def unsupported_media_type(accepted: Iterable[str]) -> StatusError:
    """Return 415 UnsupportedMediaType: the body's media type is not accepted."""
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return failure(415, Reason.UNSUPPORTED_MEDIA_TYPE, message)


def already_exists(group_resource: str, name: str) -> StatusError:
    """Return 409 AlreadyExists: the name is in use."""
    message = f"{group_resource} {quote(name)} already exists"
    return failure(409, Reason.ALREADY_EXISTS, message, details=_details(group_resource, name))


def generate_name_conflict(group_resource: str, name: str, *, retry_after_seconds: int) -> StatusError:
    """Return 409 AlreadyExists: every name generated from ``generateName`` was in use."""
    return failure(
        409,
        Reason.ALREADY_EXISTS,
        f"{group_resource} {quote(name)} already exists, the server was not able to generate a unique name for the object",
        details=_details(group_resource, name, retry_after_seconds=retry_after_seconds),
    )


#: Message of most conflicts.
MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(group_resource: str, name: str, reason: str = MODIFIED) -> StatusError:
    """Return 409 Conflict: the write was based on an old version, or a precondition failed."""
    message = f"Operation cannot be fulfilled on {group_resource} {quote(name)}: {reason}"
    return failure(409, Reason.CONFLICT, message, details=_details(group_resource, name))


def apply_conflict(message: str, causes: Sequence[Mapping[str, Any]]) -> StatusError:
    """Return 409 Conflict of server-side apply: other managers own applied fields; one cause for each field."""
    return failure(409, Reason.CONFLICT, message, details=_details(causes=causes))


def gone(message: str) -> StatusError:
    """Return 410 Gone: the requested item will not be available again."""
    return failure(410, Reason.GONE, message)


def resource_expired(message: str) -> StatusError:
    """Return 410 Expired: the requested version is compacted; the client must list again."""
    return failure(410, Reason.EXPIRED, message)


def request_entity_too_large(message: str) -> StatusError:
    """Return 413 RequestEntityTooLarge: the body, or what it asks for, exceeds a limit."""
    return failure(413, Reason.REQUEST_ENTITY_TOO_LARGE, f"Request entity too large: {message}")


def invalid(group_kind: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """Return 422 Invalid: the object violates rules of its kind; one cause for each error.

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
    """Return 429 TooManyRequests."""
    details = _details(retry_after_seconds=retry_after_seconds, causes=causes)
    return failure(429, Reason.TOO_MANY_REQUESTS, message, details=details)


def plain_error(message: str, *, code: int = 500) -> StatusError:
    """Return a 500 without a reason, as upstream responds to errors that are not a Status."""
    return failure(code, Reason.UNKNOWN, message)


def internal_error(detail: str) -> StatusError:
    """Return 500 InternalError."""
    return failure(
        500,
        Reason.INTERNAL_ERROR,
        f"Internal error occurred: {detail}",
        details=_details(causes=[{"message": detail}]),
    )


def server_timeout(group_resource: str, operation: str) -> StatusError:
    """Return 500 ServerTimeout: the operation did not complete; the client may retry."""
    return failure(
        500,
        Reason.SERVER_TIMEOUT,
        f"The {operation} operation against {group_resource} could not be completed at this time, please try again.",
        details=_details(group_resource, operation),
    )


def service_unavailable(message: str) -> StatusError:
    """Return 503 ServiceUnavailable."""
    return failure(503, Reason.SERVICE_UNAVAILABLE, message)


def timeout(message: str) -> StatusError:
    """Return 504 Timeout: the request did not complete in time; it may or may not have taken effect."""
    return failure(504, Reason.TIMEOUT, f"Timeout: {message}", details=_details())


def too_large_resource_version(minimum: int, current: int) -> StatusError:
    """Return 504 Timeout: the requested version is newer than the server's."""
    cause = {"reason": CAUSE_RESOURCE_VERSION_TOO_LARGE, "message": "Too large resource version"}
    return failure(
        504,
        Reason.TIMEOUT,
        f"Timeout: Too large resource version: {minimum}, current: {current}",
        details=_details(retry_after_seconds=1, causes=[cause]),
    )


#: Reason and message derived from a status code alone. ``None``: the server's own text is the message.
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
    """Return an error for a response that is not a Status. Upstream: ``NewGenericServerResponse``.

    ``unexpected`` keeps the server's text as a cause.
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
    """Report whether the error has the reason; a response with an unknown reason is compared by its code."""
    if not isinstance(error, StatusError):
        return False
    return error.reason == reason or (bool(code) and error.code == code and error.reason not in _KNOWN_REASONS)


def is_not_found(error: BaseException | None) -> bool:
    """Report whether an object or path does not exist."""
    return _has(error, Reason.NOT_FOUND, 404)


def is_already_exists(error: BaseException | None) -> bool:
    """Report whether the name was in use."""
    return _has(error, Reason.ALREADY_EXISTS)


def is_conflict(error: BaseException | None) -> bool:
    """Report whether a write was based on an old version, or a precondition failed."""
    return _has(error, Reason.CONFLICT, 409)


def is_invalid(error: BaseException | None) -> bool:
    """Report whether an object violated rules of its kind."""
    return _has(error, Reason.INVALID, 422)


def is_gone(error: BaseException | None) -> bool:
    """Report whether the requested item will not be available again."""
    return _has(error, Reason.GONE, 410)


def is_resource_expired(error: BaseException | None) -> bool:
    """Report whether the requested version is compacted."""
    return _has(error, Reason.EXPIRED)


def is_not_acceptable(error: BaseException | None) -> bool:
    """Report whether no accepted media type is served."""
    return _has(error, Reason.NOT_ACCEPTABLE, 406)


def is_unsupported_media_type(error: BaseException | None) -> bool:
    """Report whether the body's media type was not accepted."""
    return _has(error, Reason.UNSUPPORTED_MEDIA_TYPE, 415)


def is_method_not_supported(error: BaseException | None) -> bool:
    """Report whether the resource does not support the verb."""
    return _has(error, Reason.METHOD_NOT_ALLOWED, 405)


def is_service_unavailable(error: BaseException | None) -> bool:
    """Report whether a required component was unavailable."""
    return _has(error, Reason.SERVICE_UNAVAILABLE, 503)


def is_bad_request(error: BaseException | None) -> bool:
    """Report whether the request was malformed."""
    return _has(error, Reason.BAD_REQUEST, 400)


def is_unauthorized(error: BaseException | None) -> bool:
    """Report whether credentials were missing or invalid."""
    return _has(error, Reason.UNAUTHORIZED, 401)


def is_forbidden(error: BaseException | None) -> bool:
    """Report whether the request was not allowed."""
    return _has(error, Reason.FORBIDDEN, 403)


def is_timeout(error: BaseException | None) -> bool:
    """Report whether the request did not complete in time."""
    return _has(error, Reason.TIMEOUT, 504)


def is_server_timeout(error: BaseException | None) -> bool:
    """Report whether the server did not complete the operation; the client may retry."""
    return _has(error, Reason.SERVER_TIMEOUT)


def is_internal_error(error: BaseException | None) -> bool:
    """Report whether it was an internal error of the server."""
    return _has(error, Reason.INTERNAL_ERROR, 500)


def is_too_many_requests(error: BaseException | None) -> bool:
    """Report whether the client must slow down."""
    if not isinstance(error, StatusError):
        return False
    return error.reason == Reason.TOO_MANY_REQUESTS or error.code == 429


def is_request_entity_too_large(error: BaseException | None) -> bool:
    """Report whether the body exceeded a limit."""
    if not isinstance(error, StatusError):
        return False
    return error.reason == Reason.REQUEST_ENTITY_TOO_LARGE or error.code == 413


def has_cause(error: BaseException | None, cause: str) -> bool:
    """Report whether a cause has this reason (``ResourceVersionTooLarge``, ``NamespaceTerminating``, …)."""
    return isinstance(error, StatusError) and any(entry.get("reason") == cause for entry in error.causes)


def is_namespace_terminating(error: BaseException | None) -> bool:
    """Report whether a create failed because its namespace is terminating; retrying is useless."""
    return has_cause(error, CAUSE_NAMESPACE_TERMINATING)
