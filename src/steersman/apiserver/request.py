"""What is known of one request: who asks, what for, and what the answer must mention. Filled in by the filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from datetime import datetime


class UserInfo(msgspec.Struct, frozen=True):
    """Who asks, as authentication found out (``user.Info`` upstream)."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, tuple[str, ...]] = {}


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
    subresource: str = ""
    dry_run: bool = False
    #: Owner of what is written; from ``fieldManager`` or the User-Agent.
    field_manager: str = ""
    audit_id: str = ""
    #: Texts for ``Warning`` headers, in order, without duplicates.
    warnings: list[str] = msgspec.field(default_factory=list)
    #: As messages name what the path asks for: ``pods``, ``deployments.apps``.
    group_resource: str = ""

    def warn(self, text: str) -> None:
        """Tell the client something that does not stop the request."""
        if text not in self.warnings:
            self.warnings.append(text)
