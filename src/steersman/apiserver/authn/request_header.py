"""Users named by a front proxy in request headers, trusted by the proxy's client certificate.

Upstream: ``k8s.io/apiserver/pkg/authentication/request/headerrequest`` and ``…/x509.Verifier``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from steersman.apiserver.authn.client_certificate import check_time, common_name
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.authn.client_certificate import CertificateAuthorities
    from steersman.apiserver.http import Request
    from steersman.asynckit.clock import Clock


class RequestHeader:
    """Authenticator of requests from front proxies. Removes the user's headers from authenticated requests."""

    def __init__(
        self,
        authorities: CertificateAuthorities,
        *,
        clock: Clock,
        allowed_names: Sequence[str],
        username_headers: Sequence[str],
        uid_headers: Sequence[str] = (),
        group_headers: Sequence[str] = (),
        extra_prefixes: Sequence[str] = (),
    ) -> None:
        """``allowed_names``: common names of proxies; empty: any certificate signed by the CAs."""
        self._authorities: Final = authorities
        self._clock: Final = clock
        self._allowed_names: Final = frozenset(allowed_names)
        self._username_headers: Final = _lower(username_headers)
        self._uid_headers: Final = _lower(uid_headers)
        self._group_headers: Final = _lower(group_headers)
        self._extra_prefixes: Final = _lower(extra_prefixes)

    async def authenticate(self, request: Request) -> UserInfo | None:
        """Return the user; None without a proxy's certificate or a user name. Raises ``InvalidCredentials``."""
        extensions = request.scope.get("extensions")
        tls = extensions.get("tls") if extensions else None
        if not tls or not tls["client_cert_chain"]:
            return None
        signers: frozenset[str] = tls.get("client_cert_authorities") or frozenset()
        if self._authorities.front_proxies.isdisjoint(signers):
            return None
        check_time(tls, self._clock.now().timestamp())
        name = common_name(tls)
        if self._allowed_names and name not in self._allowed_names:
            raise InvalidCredentials(f"x509: subject with cn={name} is not in the allowed list")
        user = self._user(request)
        if user is not None:
            self._remove_headers(request)
        return user

    def _user(self, request: Request) -> UserInfo | None:
        name = _first(request, self._username_headers)
        if not name:
            return None
        groups = tuple(value for header in self._group_headers for value in _all(request, header))
        return UserInfo(name, groups, _first(request, self._uid_headers), self._extra(request))

    def _extra(self, request: Request) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in self._extra_prefixes:
            for header, value in request.headers:
                if header.startswith(prefix):
                    key = unquote(header[len(prefix) :].decode("latin-1"))
                    extra[key] = (*extra.get(key, ()), _text(value))
        return extra

    def _remove_headers(self, request: Request) -> None:
        names = {*self._username_headers, *self._uid_headers, *self._group_headers}
        request.headers = [
            (name, value)
            for name, value in request.headers
            if name not in names and not name.startswith(self._extra_prefixes)
        ]
        request.first_headers = dict(reversed(request.headers))


def _lower(names: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(name.strip().lower().encode() for name in names)


def _first(request: Request, headers: Sequence[bytes]) -> str:
    for header in headers:
        value = request.first_headers.get(header)
        if value:
            return _text(value)
    return ""


def _all(request: Request, header: bytes) -> list[str]:
    return [_text(value) for name, value in request.headers if name == header]


def _text(value: bytes) -> str:
    """Decode a header value as UTF-8, as Go does; invalid bytes as Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
