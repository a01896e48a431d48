"""Impersonation filter. Upstream: ``WithConstrainedImpersonation``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from steersman.apimachinery.errors import bad_request
from steersman.apiserver.authz.impersonation import Impersonation
from steersman.apiserver.authz.pending import with_decisions
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.http import Filter, Handler, Request, Response

_PREFIX = b"impersonate-"
_EXTRA_PREFIX = b"impersonate-extra-"
_MALFORMED_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")


def impersonation(authorizer: Authorizer, *, waits: bool = False) -> Filter:
    """Replace ``request.user`` by the user of ``Impersonate-*`` headers. Raises 400, 403.

    ``waits``: the authorizer may raise ``PendingDecisionError``.
    """
    rules = Impersonation(authorizer)

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            for name in request.first_headers:
                if name.startswith(_PREFIX):
                    if waits:
                        return impersonate_and_wait(request)
                    impersonate(request)
                    break
            return handler(request)

        async def impersonate_and_wait(request: Request) -> Response:
            await with_decisions(impersonate, request)
            return await handler(request)

        def impersonate(request: Request) -> None:
            target = requested_user(request)
            if target is not None:
                caller = request.user
                request.user = rules.impersonate(caller, target, request.info)
                if request.annotations is not None:
                    request.annotations.impersonation_constraint = rules.constraint(caller)

        return filtered

    return wrap


def requested_user(request: Request) -> UserInfo | None:
    """Return the user of the headers, None without any. Raises 400 if they lack a user name."""
    name = request.header(b"impersonate-user")
    uid = request.header(b"impersonate-uid")
    groups = tuple(request.header_all(b"impersonate-group"))
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in request.headers:
        if header.startswith(_EXTRA_PREFIX):
            key = _unescape_key(header[len(_EXTRA_PREFIX) :].decode("latin-1"))
            extra[key] = (*extra.get(key, ()), value.decode("latin-1"))
    if name:
        return UserInfo(name, groups, uid, extra)
    if uid or groups or extra:
        raise bad_request("impersonation headers for groups, uid or extra are given without impersonating a user name")
    return None


def _unescape_key(key: str) -> str:
    """Return a percent-decoded key of ``extra``; unchanged if any escape in it is malformed. Upstream: ``unescapeExtraKey``."""
    return key if _MALFORMED_ESCAPE.search(key) else unquote(key)
