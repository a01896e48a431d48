"""Headers with which a front proxy names the user of a forwarded request (``X-Remote-*``).

Upstream: ``k8s.io/client-go/transport/round_trippers.go``, ``SetAuthProxyHeaders``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.request import UserInfo

    Headers = list[tuple[bytes, bytes]]

_EXTRA: Final = b"x-remote-extra-"
_PREFIXES: Final = (_EXTRA, b"impersonate-")
_OWN: Final = frozenset((b"x-remote-user", b"x-remote-uid", b"x-remote-group"))
#: Characters of header names (RFC 9110, 5.6.2) but for the percent sign, which begins an escape.
_LEGAL: Final = frozenset(b"!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def remote_user_headers(user: UserInfo) -> Headers:
    """Return the headers that name a user."""
    headers = [(b"x-remote-user", user.name.encode())]
    if user.uid:
        headers.append((b"x-remote-uid", user.uid.encode()))
    headers += [(b"x-remote-group", group.encode()) for group in user.groups]
    for key, values in user.extra.items():
        name = _EXTRA + escape_key(key)
        headers += [(name, value.encode()) for value in values]
    return headers


def without_remote_user(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return headers of a client without those that name a user, impersonated or by a front proxy."""
    return [(name, value) for name, value in headers if name not in _OWN and not name.startswith(_PREFIXES)]


def escape_key(key: str) -> bytes:
    """Return a key of ``extra`` as a part of a header name, other bytes percent-encoded."""
    return b"".join(bytes((byte,)) if byte in _LEGAL else b"%%%02X" % byte for byte in key.encode())
