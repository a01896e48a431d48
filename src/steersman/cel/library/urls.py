"""URL library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from steersman.apimachinery.gotext import quote as go_quote
from steersman.cel.functions import Function, Overload, member
from steersman.cel.standard import tenth
from steersman.cel.types import BOOL, STRING, list_of, map_of, object_type
from steersman.cel.values import EvalError, Opaque

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

URL: Final = object_type("kubernetes.URL", {})
TYPES: Final = {URL.name: URL}


class URLValue(Opaque):
    """A URL, absolute or a path."""

    type_name: ClassVar[str] = URL.name
    __slots__ = ("parts",)

    def __init__(self, parts: SplitResult) -> None:
        self.parts: Final = parts

    @property
    def key(self) -> Any:
        return self.parts.geturl()


def _read(text: str) -> SplitResult:
    """Parse as Go's ``url.ParseRequestURI``. Raises ValueError."""
    if not text:
        raise ValueError("empty url")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise ValueError("net/url: invalid control character in URL")
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError("invalid URI for request")
    if " " in parts.netloc:
        raise ValueError('invalid character " " in host name')
    if parts.port is not None and parts.port < 0:
        raise ValueError("invalid port")
    return parts


def _parse(text: str) -> URLValue:
    try:
        return URLValue(_read(text))
    except ValueError as error:
        raise EvalError(f"URL parse error during conversion from string: parse {go_quote(text)}: {error}") from None


def _is_url(text: str) -> bool:
    try:
        _read(text)
    except ValueError:
        return False
    return True


def _host(value: URLValue) -> str:
    return value.parts.netloc.rpartition("@")[2]


def _hostname(value: URLValue) -> str:
    host = _host(value)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(value: URLValue) -> str:
    return "" if value.parts.port is None else str(value.parts.port)


def _path(value: URLValue) -> str:
    return quote(unquote(value.parts.path), safe="/:@!$&'()*+,;=~-._")


def _query(value: URLValue) -> dict[str, list[str]]:
    return parse_qs(value.parts.query, keep_blank_values=True, max_num_fields=1000)


def _walk(args: Sequence[Any], _: Any) -> int:
    return tenth(len(args[0]))


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    yield Function("url", [Overload("string_to_url", (STRING,), URL, _parse)], cost=_walk)
    yield Function("isURL", [Overload("is_url_string", (STRING,), BOOL, _is_url)], cost=_walk)
    parts: dict[str, Callable[[URLValue], str]] = {
        "getScheme": lambda value: value.parts.scheme,
        "getHost": _host,
        "getHostname": _hostname,
        "getPort": _port,
        "getEscapedPath": _path,
    }
    for name, read in parts.items():
        yield Function(name, [member(f"url_{name}", (URL,), STRING, read)])
    yield Function("getQuery", [member("url_get_query", (URL,), map_of(STRING, list_of(STRING)), _query)])
