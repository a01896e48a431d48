"""What is known of one request: who asks, what for, and what the answer must mention. Filled in by the filters."""

from __future__ import annotations

import logging
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from datetime import datetime

_log: Final = logging.getLogger(__name__)


class AuditLevel(IntEnum):
    """How much of a request is recorded (``audit.Level`` upstream); each tells all that the ones before it tell."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


class Annotations:
    """What is noted of one request for the audit log, by whoever knows. Upstream's ``AuditContext`` annotations."""

    __slots__ = ("impersonation_constraint", "level", "values")

    def __init__(self) -> None:
        #: The right by which the caller acts as another, when it is one of the constrained kinds.
        self.impersonation_constraint = ""
        #: What the policy says; before it has been asked everything is noted.
        self.level = AuditLevel.REQUEST_RESPONSE
        #: Key → text; keys look like ``authorization.k8s.io/reason``.
        self.values: dict[str, str] = {}

    def add(self, key: str, value: str, *, level: AuditLevel = AuditLevel.METADATA) -> None:
        """Note something, if at least ``level`` is recorded. What has been noted stays: a second word is not heard."""
        if self.level < level:
            return
        kept = self.values.setdefault(key, value)
        if kept != value:
            _log.warning("the audit annotation %s is %r already, not %r", key, kept, value)


class UserInfo(msgspec.Struct, frozen=True):
    """Who asks, as authentication found out (``user.Info`` upstream)."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, tuple[str, ...]] = {}


#: Who writes when the server does something of its own accord, past its endpoints.
SERVER_USER: Final = UserInfo("system:apiserver", groups=("system:masters", "system:authenticated"))


class RequestInfo(msgspec.Struct, frozen=True):
    """What a URL and a method ask for, as authorization and the endpoints see it."""

    #: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``, ``deletecollection``; for paths that
    #: name no resource the HTTP method in lower case.
    verb: str
    path: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    #: What follows the subresource (``proxy/a/b`` → ``("a", "b")``).
    parts: tuple[str, ...] = ()
    #: Of a collection's request: what its field selector demands, as (field, value, whether it must be equal).
    fields: tuple[tuple[str, str, bool], ...] = ()


class RequestContext(msgspec.Struct):
    """One request's facts as the registry, strategies and admission need them. Not shared between requests."""

    user: UserInfo
    #: The server's time at which the request is served; every stamp in one write is this one.
    now: datetime
    namespace: str = ""
    #: The object's name as the path has it; empty when the path is a collection's.
    path_name: str = ""
    #: Version that the client speaks (``v1``), of the group of the resource.
    version: str = ""
    #: What authorization was asked for: ``create``, ``update``, ``patch``, …
    verb: str = ""
    subresource: str = ""
    dry_run: bool = False
    #: Owner of what is written; from ``fieldManager`` or the User-Agent.
    field_manager: str = ""
    audit_id: str = ""
    #: Texts for ``Warning`` headers, in order, without duplicates.
    warnings: list[str] = msgspec.field(default_factory=list)
    #: As messages name what the path asks for: ``pods``, ``deployments.apps``.
    group_resource: str = ""
    #: What the strategy found out about the object when it prepared it, for its next steps in the same write.
    found: object = None
    #: Where ``annotate`` notes; None when nobody records the request.
    annotations: Annotations | None = None

    def annotate(self, key: str, value: str, *, level: AuditLevel = AuditLevel.METADATA) -> None:
        """Note something for the audit log, if it records at least ``level`` of this request."""
        if self.annotations is not None:
            self.annotations.add(key, value, level=level)

    def warn(self, text: str) -> None:
        """Tell the client something that does not stop the request."""
        if text not in self.warnings:
            self.warnings.append(text)
