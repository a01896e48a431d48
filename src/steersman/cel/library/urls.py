"""URL library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery import go_urls
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

    def __init__(self, parts: go_urls.URL) -> None:
        self.parts: Final = parts

    @property
    def key(self) -> Any:
        return self.parts._replace(path=self.parts.escaped_path)


def _parse(text: str) -> URLValue:
    fault = go_urls.request_uri_fault(text) or go_urls.url_fault(text)
    if fault:
        raise EvalError(f"URL parse error during conversion from string: {fault}")
    return URLValue(go_urls.parse_url(text))


def _is_url(text: str) -> bool:
    return not go_urls.request_uri_fault(text)


def _query(value: URLValue) -> dict[str, list[str]]:
    return value.parts.query_values()


def _walk(args: Sequence[Any], _: Any) -> int:
    return tenth(len(args[0]))


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    yield Function("url", [Overload("string_to_url", (STRING,), URL, _parse)], cost=_walk)
    yield Function("isURL", [Overload("is_url_string", (STRING,), BOOL, _is_url)])
    parts: dict[str, Callable[[URLValue], str]] = {
        "getScheme": lambda value: value.parts.scheme,
        "getHost": lambda value: value.parts.host,
        "getHostname": lambda value: value.parts.hostname,
        "getPort": lambda value: value.parts.port,
        "getEscapedPath": lambda value: value.parts.escaped_path,
    }
    for name, read in parts.items():
        yield Function(name, [member(f"url_{name}", (URL,), STRING, read)])
    yield Function("getQuery", [member("url_get_query", (URL,), map_of(STRING, list_of(STRING)), _query)])
