"""Lets a caller act as another user (``WithConstrainedImpersonation``)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from steersman.apimachinery.errors import bad_request
from steersman.apiserver.authz.impersonation import Impersonation
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.http import Filter, Handler, Request, Response

_PREFIX = b"impersonate-"
_EXTRA_PREFIX = b"impersonate-extra-"


def impersonation(authorizer: Authorizer) -> Filter:
    """Replaces ``request.user`` when ``Impersonate-*`` headers ask for it. Raises 400, 403."""
    rules = Impersonation(authorizer)

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            for name in request.first_headers:
                if name.startswith(_PREFIX):
                    act_as_wanted(request)
                    break
            return handler(request)

        def act_as_wanted(request: Request) -> None:
            wanted = wanted_user(request)
            if wanted is not None:
                caller = request.user
                request.user = rules.impersonate(caller, wanted, request.info)
                if request.annotations is not None:
                    request.annotations.impersonation_constraint = rules.constraint(caller)

        return filtered

    return wrap


def wanted_user(request: Request) -> UserInfo | None:
    """The user that the headers name, as they name it. Raises 400 when they say everything but the name."""
    name = request.header(b"impersonate-user")
    uid = request.header(b"impersonate-uid")
    groups = tuple(request.header_all(b"impersonate-group"))
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in request.headers:
        if header.startswith(_EXTRA_PREFIX):
            key = unquote(header[len(_EXTRA_PREFIX) :].decode("latin-1"))
            extra[key] = (*extra.get(key, ()), value.decode("latin-1"))
    if name:
        return UserInfo(name, groups, uid, extra)
    if uid or groups or extra:
        raise bad_request("impersonation headers for groups, uid or extra are given without impersonating a user name")
    return None
