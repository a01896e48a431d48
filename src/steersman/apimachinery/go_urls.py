"""Parse errors of URLs, as Go's ``net/url.Parse`` reports them."""

from __future__ import annotations

import re
from typing import Final

from steersman.apimachinery.gotext import quote

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_BAD_HOST_CHARACTER: Final = re.compile(r"""[^\x80-\U0010ffffA-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"%]""")
_BAD_USER_CHARACTER: Final = re.compile(r"[^A-Za-z0-9\-._:~!$&'()*+,;=%@]")


def url_fault(url: str) -> str:
    """Return why a text is no URL; empty if it is one. Upstream: ``parse`` and ``parseAuthority`` of Go's ``net/url``."""
    fault = _fault(url)
    return f"parse {quote(url)}: {fault}" if fault else ""


def _fault(url: str) -> str:
    if _CONTROL.search(url):
        return "net/url: invalid control character in URL"
    rest, _, fragment = url.partition("#")
    if rest.startswith(":"):
        return "missing protocol scheme"
    scheme = _SCHEME.match(rest)
    rest = rest[scheme.end() :] if scheme else rest
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        if scheme:
            return ""
        if ":" in rest.partition("/")[0]:
            return "first path segment in URL cannot contain colon"
    elif rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        fault = _authority_fault(authority)
        if fault:
            return fault
        rest = slash + path
    return _escape_fault(rest) or _escape_fault(fragment)


def _authority_fault(authority: str) -> str:
    user, at, host = authority.rpartition("@")
    fault = _host_fault(host)
    if fault or not at:
        return fault
    if _BAD_USER_CHARACTER.search(user):
        return "net/url: invalid userinfo"
    return _escape_fault(user)


def _host_fault(host: str) -> str:
    if host.startswith("["):
        _, bracket, port = host.rpartition("]")
        if not bracket:
            return "missing ']' in host"
    else:
        _, colon, digits = host.rpartition(":")
        port = colon + digits if colon else ""
    if not _PORT.fullmatch(port):
        return f"invalid port {quote(port)} after host"
    bad = _BAD_HOST_CHARACTER.search(host)
    return _escape_fault(host) or (f"invalid character {quote(bad[0])} in host name" if bad else "")


def _escape_fault(text: str) -> str:
    bad = _BAD_ESCAPE.search(text)
    return f"invalid URL escape {quote(bad[0])}" if bad else ""
