"""URLs as Go's ``net/url`` parses them, with its error messages."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import quote as percent_encode
from urllib.parse import unquote, unquote_plus

from steersman.apimachinery.gotext import quote

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_HOST_AND_PORT: Final = re.compile(r"(.*?)(?::([0-9]*))?", re.DOTALL)
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
#: ASCII characters alone: a set with all others takes most of the time of this module's import.
_BAD_HOST_CHARACTER: Final = re.compile(r"""(?![A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"%])[\x00-\x7f]""")
_BAD_USER_CHARACTER: Final = re.compile(r"[^A-Za-z0-9\-._:~!$&'()*+,;=%@]")
#: Path that is written as it is, and characters that are not escaped in another path.
_ENCODED_PATH: Final = re.compile(r"[A-Za-z0-9\-_.~!$&'()*+,;=:@\[\]/%]*")
_PATH_SAFE: Final = "-_.~$&+,/:;=@"


class URL(NamedTuple):
    """Parts of a URL; the path is still escaped."""

    scheme: str
    #: Rest of a URL with a scheme and without a leading slash.
    opaque: str
    user: str
    host: str
    path: str
    query: str
    fragment: str

    @property
    def hostname(self) -> str:
        """Return the host without port and brackets."""
        match = _HOST_AND_PORT.fullmatch(self.host)
        host = match[1] if match is not None else self.host
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        """Return the port's digits; empty without a port."""
        match = _HOST_AND_PORT.fullmatch(self.host)
        return (match[2] or "") if match is not None else ""

    @property
    def escaped_path(self) -> str:
        """Return the path with its own escapes if they are valid."""
        return self.path if _ENCODED_PATH.fullmatch(self.path) else percent_encode(unquote(self.path), safe=_PATH_SAFE)

    def query_values(self) -> dict[str, list[str]]:
        """Return the values of the query by key; malformed pairs are skipped."""
        values: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
                key, _, value = pair.partition("=")
                values.setdefault(unquote_plus(key), []).append(unquote_plus(value))
        return values


def parse_url(url: str) -> URL:
    """Return the parts of a text without faults. Upstream: ``url.Parse``."""
    rest, _, fragment = url.partition("#")
    match = _SCHEME.match(rest)
    scheme = match[0][:-1].lower() if match is not None else ""
    rest, _, query = (rest[match.end() :] if match is not None else rest).partition("?")
    user = host = opaque = ""
    if scheme and not rest.startswith("/"):
        opaque, rest = rest, ""
    elif rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, _, host = authority.rpartition("@")
        rest = slash + path
    return URL(scheme, opaque, user, unquote(host), rest, query, fragment)


def url_fault(url: str) -> str:
    """Return why a text is no URL; empty if it is one. Upstream: ``url.Parse``."""
    rest, _, fragment = url.partition("#")
    return _shown(url, _fault(rest, is_request=False) or _escape_fault(fragment))


def request_uri_fault(url: str) -> str:
    """Return why a text is no absolute URI or path; empty if it is one. Upstream: ``url.ParseRequestURI``."""
    return _shown(url, _fault(url, is_request=True) if url else "empty url")


def _shown(url: str, fault: str) -> str:
    return f"parse {quote(url)}: {fault}" if fault else ""


def _fault(url: str, *, is_request: bool) -> str:
    """Return the fault of a text, whose fragment is not separated in a request."""
    if _CONTROL.search(url):
        return "net/url: invalid control character in URL"
    if is_request and url == "*":
        return ""
    if url.startswith(":"):
        return "missing protocol scheme"
    scheme = _SCHEME.match(url)
    rest = (url[scheme.end() :] if scheme else url).partition("?")[0]
    if not rest.startswith("/"):
        if scheme:
            return ""
        if is_request:
            return "invalid URI for request"
        if ":" in rest.partition("/")[0]:
            return "first path segment in URL cannot contain colon"
    elif rest.startswith("//") and (scheme or not (is_request or rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        fault = _authority_fault(authority)
        if fault:
            return fault
        rest = slash + path
    return _escape_fault(rest)


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
