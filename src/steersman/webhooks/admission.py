"""Admission webhooks: requests and responses of handlers, and their AdmissionReviews.

Pure but for the handler that is called: bytes of a review in, bytes of a review out.

Upstream: ``k8s.io/api/admission/v1`` and controller-runtime's ``pkg/webhook/admission``.
"""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

import msgspec

from steersman.apimachinery.errors import StatusError, bad_request, internal_error
from steersman.apimachinery.patch.json_diff import create_json_patch
from steersman.apimachinery.trees import Tree, copy_tree
from steersman.client.decoding import decoding_of
from steersman.client.errors import ClientError, UnexpectedResponse
from steersman.runtime.hooks import call_hook, check_hook
from steersman.webhooks.reviews import ReviewDecoder, ReviewError, encode_review
from steersman.webhooks.struct_changes import carry_changes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from steersman.client.resource_types import ResourceType

    AdmissionHandler = Callable[["AdmissionRequest[Any]"], "AdmissionResponse | Awaitable[AdmissionResponse]"]

_log = logging.getLogger(__name__)

T = TypeVar("T")

GROUP: Final = "admission.k8s.io"

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class GroupVersionKind(msgspec.Struct, frozen=True):
    """Kind in a group and version."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(msgspec.Struct, frozen=True):
    """Resource in a group and version."""

    group: str = ""
    version: str = ""
    resource: str = ""


class UserInfo(msgspec.Struct, frozen=True):
    """Authenticated user."""

    username: str = ""
    uid: str = ""
    groups: list[str] = msgspec.field(default_factory=list)
    extra: dict[str, list[str]] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AdmissionRequest(Generic[T]):
    """Request that the API server asks about.

    ``object`` and ``old_object`` are of the handler's resource: structs, or trees. They belong to the handler, which may
    change them. ``object`` is None for DELETE, ``old_object`` for CREATE and CONNECT.
    """

    uid: str
    kind: GroupVersionKind
    resource: GroupVersionResource
    #: ``status``, ``scale``, …; empty for the resource itself.
    subresource: str = ""
    #: Kind and resource of the client's request, which the webhook's rules may match in another version.
    request_kind: GroupVersionKind | None = None
    request_resource: GroupVersionResource | None = None
    request_subresource: str = ""
    #: May be empty for CREATE, if the server generates the name.
    name: str = ""
    #: Empty for cluster-scoped resources.
    namespace: str = ""
    operation: Operation
    user: UserInfo = field(default_factory=UserInfo)
    object: T | None = None
    old_object: T | None = None
    #: True: the handler must have no side effects.
    dry_run: bool = False
    #: ``CreateOptions``, ``UpdateOptions`` or ``DeleteOptions``.
    options: Tree | None = None


@dataclass(frozen=True, kw_only=True)
class AdmissionResponse:
    """Decision of a handler. Create one with ``allowed``, ``denied`` or ``mutated``."""

    is_allowed: bool
    #: ``metav1.Status`` of a denial, or message of a permission.
    status: Tree | None = None
    #: Changed object; None: unchanged.
    changed_object: Any = None
    #: Shown to the user by clients. Upstream recommends at most 120 characters each.
    warnings: Sequence[str] = ()
    #: Values by key, without the prefix with the webhook's name that the API server adds.
    audit_annotations: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.is_allowed, bool):
            raise TypeError("is_allowed must be a boolean")
        if not isinstance((self.status or {}).get("message", ""), str):
            raise TypeError("message must be a string")
        if isinstance(self.warnings, str) or not all(isinstance(warning, str) for warning in self.warnings):
            raise TypeError("warnings must be a sequence of strings")
        pairs = [*self.audit_annotations.keys(), *self.audit_annotations.values()]
        if not all(isinstance(text, str) for text in pairs):
            raise TypeError("audit_annotations must map strings to strings")


def allowed(
    message: str = "", *, warnings: Sequence[str] = (), audit_annotations: Mapping[str, str] | None = None
) -> AdmissionResponse:
    """Return a response that lets the request pass unchanged."""
    status = {"code": 200, "message": message} if message else None
    return AdmissionResponse(
        is_allowed=True, status=status, warnings=warnings, audit_annotations=audit_annotations or {}
    )


def denied(
    message: str,
    *,
    code: int = 403,
    reason: str = "Forbidden",
    causes: Sequence[Mapping[str, str]] = (),
    warnings: Sequence[str] = (),
    audit_annotations: Mapping[str, str] | None = None,
) -> AdmissionResponse:
    """Return a response that rejects the request with an HTTP status code from 400.

    ``causes`` have the keys ``field``, ``message`` and ``reason``. Raises ValueError for another code.
    """
    if not 400 <= code <= 599:
        raise ValueError(f"code must be from 400 to 599, not {code}")
    status: Tree = {"status": "Failure", "message": message, "reason": reason, "code": code}
    if causes:
        status["details"] = {"causes": [dict(cause) for cause in causes]}
    return AdmissionResponse(
        is_allowed=False, status=status, warnings=warnings, audit_annotations=audit_annotations or {}
    )


def mutated(
    changed_object: Any, *, warnings: Sequence[str] = (), audit_annotations: Mapping[str, str] | None = None
) -> AdmissionResponse:
    """Return a response that lets the request pass with a changed object: the request's own one, or a copy of it."""
    return AdmissionResponse(
        is_allowed=True,
        changed_object=changed_object,
        warnings=warnings,
        audit_annotations=audit_annotations or {},
    )


class AdmissionWebhook:
    """Handler of the AdmissionReviews of one path."""

    group: Final = GROUP

    def __init__(self, handler: AdmissionHandler, resource: ResourceType[Any] | None, *, is_mutating: bool) -> None:
        """``resource``: the only one that is accepted; None: objects of any resource, as trees.

        Raises TypeError for a handler that does not take a request.
        """
        check_hook("a handler of admission requests", handler, "request")
        self._handler = handler
        self._resource = resource
        self._is_mutating = is_mutating

    async def review(self, body: bytes) -> bytes:
        """Return the review with the handler's response. Raises ``ReviewError`` for a body that is no review.

        A handler that raises ``StatusError`` denies the request with that status. After any other exception, and for a
        result that is no response, the request is denied with code 500.
        """
        version, request = _decoder.decode(body)
        try:
            response = await self._respond(request)
        except ReviewError:
            raise
        except Exception as error:  # noqa: BLE001 — a handler that fails must not let the request pass
            response = _wire_denial(request.uid, self._denial(error, request.uid))
        return encode_review(GROUP, version, "AdmissionReview", response=response)

    def _denial(self, error: Exception, uid: str) -> Tree:
        """Return the status of a denial for an exception. A client's error is a failure of the handler, no denial."""
        if isinstance(error, StatusError) and not isinstance(error, ClientError):
            return error.status
        name = getattr(self._handler, "__qualname__", type(self._handler).__name__)
        _log.error("the admission handler %s failed for request %s", name, uid, exc_info=error)
        return internal_error("the handler of the webhook failed, see its log").status

    async def _respond(self, request: _WireRequest) -> _WireResponse:
        self._check_kind(request)
        objects = [_DecodedObject(raw, self._resource, request) for raw in (request.object, request.old_object)]
        response = await call_hook(self._handler, request.typed(*(decoded.value for decoded in objects)))
        if not isinstance(response, AdmissionResponse):
            raise TypeError(f"the handler returned {type(response).__name__} in place of AdmissionResponse")
        patch = None
        if response.changed_object is not None:
            if not self._is_mutating:
                raise TypeError("the handler of a validating webhook returned a changed object")
            patch = objects[0].patch(response.changed_object)
        return _WireResponse(
            uid=request.uid,
            allowed=response.is_allowed,
            status=response.status,
            patch=base64.b64encode(msgspec.json.encode(patch)).decode() if patch else None,
            patch_type="JSONPatch" if patch else None,
            warnings=list(response.warnings) or None,
            audit_annotations=dict(response.audit_annotations) or None,
        )

    def _check_kind(self, request: _WireRequest) -> None:
        if self._resource is None:
            return
        info, kind = self._resource.info, request.kind
        if (kind.group, kind.version, kind.kind) != (info.group, info.version, info.kind):
            api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
            raise bad_request(f"this webhook is for {info.api_version} {info.kind}, not {api_version} {kind.kind}")


class _DecodedObject:
    """Object of a request as the handler receives it."""

    def __init__(self, raw: msgspec.Raw, resource: ResourceType[Any] | None, request: _WireRequest) -> None:
        self._is_struct = resource is not None and not resource.is_tree
        self._stored: Tree | None = _decode_tree(bytes(raw))
        self.value: Any = None
        self._before: Any = None
        if self._stored is None:
            return
        if resource is None or resource.is_tree:
            self.value = copy_tree(self._stored)
            return
        try:
            self.value = decoding_of(resource).decode_object(raw)
        except UnexpectedResponse as error:
            _log.warning("the object of request %s cannot be decoded: %s", request.uid, error)
            raise bad_request(f"the webhook cannot decode the object: {error}") from None
        self._before = msgspec.to_builtins(self.value)

    def patch(self, changed: Any) -> list[Tree]:
        """Return the JSON patch of the handler's changes. Raises TypeError if they are not those of an object."""
        after = msgspec.to_builtins(changed)
        if self._stored is None or not isinstance(after, dict) or isinstance(changed, dict) == self._is_struct:
            raise TypeError(f"the handler returned {type(changed).__name__} as changed object")
        if self._is_struct:
            after = carry_changes(self._stored, self._before, after)
        return create_json_patch(self._stored, after)


class _WireRequest(msgspec.Struct, rename="camel"):
    """Field ``request`` of an AdmissionReview."""

    uid: str
    kind: GroupVersionKind
    resource: GroupVersionResource
    operation: Operation
    sub_resource: str = ""
    request_kind: GroupVersionKind | None = None
    request_resource: GroupVersionResource | None = None
    request_sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: UserInfo = msgspec.field(default_factory=UserInfo)
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")
    dry_run: bool | None = None
    options: Tree | None = None

    def typed(self, new: Any, old: Any) -> AdmissionRequest[Any]:
        """Return the request for a handler with its decoded objects."""
        return AdmissionRequest(
            uid=self.uid,
            kind=self.kind,
            resource=self.resource,
            subresource=self.sub_resource,
            request_kind=self.request_kind,
            request_resource=self.request_resource,
            request_subresource=self.request_sub_resource,
            name=self.name,
            namespace=self.namespace,
            operation=self.operation,
            user=self.user_info,
            object=new,
            old_object=old,
            dry_run=bool(self.dry_run),
            options=self.options,
        )


_decoder: Final = ReviewDecoder(GROUP, "AdmissionReview", _WireRequest)


class _WireResponse(msgspec.Struct, rename="camel", omit_defaults=True):
    """Field ``response`` of an AdmissionReview."""

    uid: str
    allowed: bool
    status: Tree | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: list[str] | None = None
    audit_annotations: dict[str, str] | None = None


def _wire_denial(uid: str, status: Tree) -> _WireResponse:
    return _WireResponse(uid=uid, allowed=False, status=status)


def _decode_tree(raw: bytes) -> Tree | None:
    try:
        return msgspec.json.decode(raw, type=Tree | None)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewError(f"an object of the review is no JSON object: {error}") from None
